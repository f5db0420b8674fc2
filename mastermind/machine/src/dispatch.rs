//! Which code a library chose for this processor.

mod ask;
mod known;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::Level;

pub use ask::{Gemm, ask, load, time_gemm};
pub use known::{KnownLibrary, STEERING, known};

/// Answer of a library.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The code that it runs, by its own name: `SkylakeX`, `haswell`.
    pub code: String,
    /// The instructions that this code needs; `None` if its name is not known.
    pub level: Option<Level>,
    /// The library's own version text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Threads that it computes with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
}

/// A library of a run, and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Library {
    /// Its file.
    pub path: PathBuf,
    /// Its name: `OpenBLAS`.
    pub name: String,
    /// The code that it chose.
    #[serde(flatten)]
    pub answer: Answer,
    /// The code it chooses instead on request, if that needs newer instructions that the processor has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Other>,
}

/// A code that a library holds and did not choose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The variable of the environment that has it chosen, and its value.
    pub variable: String,
    /// Value of the variable.
    pub value: String,
    /// The library's answer then.
    pub answer: Answer,
}

/// The libraries of a run that choose their code, and the variables that steered them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Dispatch {
    /// Instruction set of the processor.
    pub offered: Option<Level>,
    /// Libraries that answered, by path.
    pub libraries: Vec<Library>,
    /// Libraries that are known and did not answer, with the reason.
    pub unanswered: BTreeMap<PathBuf, String>,
    /// Variables of [`STEERING`] that were set, with their values.
    pub variables: BTreeMap<String, String>,
}

impl Library {
    /// The file's name.
    pub fn file(&self) -> String {
        let name = self.path.file_name().unwrap_or(self.path.as_os_str());
        name.to_string_lossy().into_owned()
    }

    /// Whether it is worth reporting: not the C library and OpenSSL, which every program has, if these run their newest
    /// code.
    ///
    /// # Arguments
    /// * `offered` - instruction set of the processor
    pub fn is_worth_a_line(&self, offered: Option<Level>) -> bool {
        !self.is_everywhere() || self.is_below(offered)
    }

    /// Whether every program has it: the C library and OpenSSL.
    pub fn is_everywhere(&self) -> bool {
        let everywhere = [KnownLibrary::LibC, KnownLibrary::OpenSsl].map(KnownLibrary::name);
        everywhere.contains(&&*self.name)
    }

    /// Whether its code needs older instructions than the processor has.
    ///
    /// # Arguments
    /// * `offered` - instruction set of the processor
    pub fn is_below(&self, offered: Option<Level>) -> bool {
        matches!((self.answer.level, offered), (Some(own), Some(offered)) if own < offered)
    }
}

impl Dispatch {
    /// Libraries of one name that chose other codes, versions or numbers of threads in another run. Libraries that
    /// every program has are left out: they differ between most processors, and take little of the time.
    ///
    /// # Returns
    /// As [`Dispatch::differences`].
    pub fn other_codes(&self, other: &Self) -> Vec<(String, [String; 2])> {
        let chosen = self.libraries.iter().filter(|of| !of.is_everywhere());
        let own = Self {
            libraries: chosen.cloned().collect(),
            variables: other.variables.clone(),
            ..Self::default()
        };
        own.differences(other)
    }

    /// Differences between two runs: libraries of one name that chose other codes or numbers of threads, and
    /// variables.
    ///
    /// # Returns
    /// Each difference and its two values, `not set` for a variable that one run does not have. A library that only one
    /// of the runs loaded is no difference: components bring libraries of their own.
    pub fn differences(&self, other: &Self) -> Vec<(String, [String; 2])> {
        let mut found = Vec::new();
        for own in &self.libraries {
            let same = |library: &&Library| library.file() == own.file();
            let Some(theirs) = other.libraries.iter().find(same) else {
                continue;
            };
            let mut add = |what: &str, values: [String; 2]| {
                if values[0] != values[1] {
                    found.push((format!("{what} of {}", own.file()), values));
                }
            };
            let answers = [&own.answer, &theirs.answer];
            add("code", answers.map(|answer| answer.code.clone()));
            let version = |answer: &Answer| answer.version.clone().unwrap_or_default();
            add("version", answers.map(version));
            if let [Some(one), Some(other)] = answers.map(|answer| answer.threads) {
                add("threads", [one, other].map(|n| n.to_string()));
            }
        }
        let names = self.variables.keys().chain(other.variables.keys());
        let names: std::collections::BTreeSet<_> = names.collect();
        for name in names {
            let value = |of: &Self| of.variables.get(name).cloned();
            let values = [value(self), value(other)];
            if values[0] != values[1] {
                let shown = values.map(|value| value.unwrap_or_else(|| "not set".into()));
                found.push((name.clone(), shown));
            }
        }
        found
    }
}

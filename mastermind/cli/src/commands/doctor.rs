//! `mastermind doctor`: the capabilities of this machine, and what to install for missing ones.
//!
//! Each feature of the program depends on something outside it: a constant time-stamp counter, an
//! MPI with its launcher, counters that the kernel opens, a C compiler, local storage. When one is
//! missing, the feature fails late or measures less. This verb tries each of them in the same way
//! as the feature does, and prints a line with the result and, where something is missing, the
//! remedy.
//!
//! ```text
//! WHAT                     FOUND
//! clock                    time-stamp counter at 2400.0 MHz, in steps of 0.417 ns
//! Open MPI launcher        none; on Debian or Ubuntu: apt-get install openmpi-bin libopenmpi-dev
//! record storage .         12.3 GiB free, local
//! ```
//!
//! A finding is never an error: the verb ends with 0 on a machine that has nothing.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use cca_comm::{MpiKind, find_launcher, version_of};
use clap::Args;
use mastermind_machine::dispatch::{Library, Other};
use mastermind_measurement::{Clock, counter_names, probe_counters};
use serde::Serialize;

use crate::session::{asking, back_end};
use crate::{output, recorded_dispatch};

/// Report what this machine offers.
#[derive(Args)]
#[command(after_help = "Example: mastermind doctor --records records")]
pub struct Doctor {
    /// Where records would go
    #[arg(long, value_name = "DIR", default_value = ".")]
    records: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Finding {
    what: String,
    found: String,
    /// How to get it, if it is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<String>,
}

impl Finding {
    fn new(what: impl Into<String>, found: impl Into<String>) -> Self {
        Finding {
            what: what.into(),
            found: found.into(),
            advice: None,
        }
    }

    fn missing(what: impl Into<String>, found: &str, advice: impl Into<String>) -> Self {
        Finding {
            advice: Some(advice.into()),
            ..Finding::new(what, found)
        }
    }
}

impl Doctor {
    /// Checks and reports.
    ///
    /// # Errors
    /// The system does not report the path of this program.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let mut findings = vec![processors(), clock()];
        for kind in back_end::KINDS {
            findings.extend(mpi(kind)?);
        }
        findings.extend(counters()?);
        findings.extend(libraries());
        findings.push(compiler());
        findings.push(storage(&self.records));
        if self.json {
            output::json(&findings)?;
        } else {
            let rows = findings.iter().map(|finding| {
                let Finding {
                    what,
                    found,
                    advice,
                } = finding;
                let advice = advice
                    .as_ref()
                    .map_or_else(String::new, |advice| format!("; {advice}"));
                vec![what.clone(), format!("{found}{advice}")]
            });
            output::line(output::table(&["WHAT", "FOUND"], &[], rows));
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn processors() -> Finding {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    Finding::new(
        "processors",
        format!("{cores} usable, {}", std::env::consts::ARCH),
    )
}

fn clock() -> Finding {
    let clock = Clock::detect();
    let found = match clock.name() {
        "tsc" => format!(
            "time-stamp counter at {:.1} MHz",
            clock.ticks_per_second() / 1e6
        ),
        name => format!("{name}: the processor's time-stamp counter is not constant"),
    };
    let found = format!("{found}, in steps of {:.3} ns", clock.step_ns());
    Finding::new("clock", found)
}

/// The counters that can be opened, and the others with the reason.
fn counters() -> anyhow::Result<Vec<Finding>> {
    let (mut open, mut closed) = (Vec::new(), Vec::<(String, Vec<&str>)>::new());
    for name in counter_names() {
        // Each by itself: the processor may not have room for all at once.
        let definition = probe_counters([name])?.into_iter().next();
        match definition.and_then(|definition| definition.unavailable) {
            None => open.push(name),
            Some(why) => match closed.iter_mut().find(|(known, _)| *known == why) {
                Some((_, names)) => names.push(name),
                None => closed.push((why, vec![name])),
            },
        }
    }
    let mut findings = vec![Finding::new("counters", open.join(", "))];
    for (why, names) in closed {
        findings.push(Finding::missing(
            "counters that do not open",
            &names.join(", "),
            why,
        ));
    }
    Ok(findings)
}

fn mpi(kind: MpiKind) -> anyhow::Result<[Finding; 2]> {
    let package = match kind {
        MpiKind::OpenMpi => "openmpi-bin libopenmpi-dev",
        MpiKind::Mpich => "mpich libmpich-dev",
    };
    let launcher = match find_launcher(kind, version_of) {
        Some(program) => Finding::new(format!("{kind} launcher"), program),
        None => Finding::missing(
            format!("{kind} launcher"),
            "none",
            format!("on Debian or Ubuntu: apt-get install {package}"),
        ),
    };
    let library = back_end::library(kind)?;
    let what = format!("{kind} back end");
    let back_end = if library.exists() {
        Finding::new(what, library.display().to_string())
    } else {
        Finding::missing(
            what,
            "none",
            "build it where the launcher is: cargo xtask build",
        )
    };
    Ok([launcher, back_end])
}

/// Libraries that programs link by these names, where the machine has them.
const LIBRARIES: [&str; 5] = [
    "libblas.so.3",
    "libopenblas.so.0",
    "libblis.so.4",
    "libmkl_rt.so.2",
    "libfftw3.so.3",
];

/// The code that each library runs on this processor, and how fast another variant of it multiplies matrices.
fn libraries() -> Vec<Finding> {
    let found = asking::dispatch_by_name(&LIBRARIES);
    let finding = |library: &Library| {
        let text = recorded_dispatch::running(library);
        let what = "code of a library";
        match &library.other {
            None => Finding::new(what, text),
            Some(other) => Finding::missing(what, &text, faster(library, other)),
        }
    };
    let shown = found.libraries.iter();
    let shown = shown.filter(|library| library.is_worth_a_line(found.offered));
    shown.map(finding).collect()
}

/// The gain of a library from another of its code variants.
fn faster(library: &Library, other: &Other) -> String {
    let Other {
        variable,
        value,
        answer,
    } = other;
    let time = |with| asking::time_gemm(&library.path, with).ok().flatten();
    let times = (time(None), time(Some((variable, value))));
    let gain = match times {
        (Some(own), Some(with)) => {
            format!(", {:.1} times as fast in multiplying matrices", own / with)
        }
        _ => String::new(),
    };
    format!("{variable}={value} has it run {}{gain}", answer.code)
}

fn compiler() -> Finding {
    let version = Command::new("cc")
        .arg("--version")
        .stdin(Stdio::null())
        .output();
    let first_line = |text: Vec<u8>| {
        String::from_utf8_lossy(&text)
            .lines()
            .next()
            .map(str::to_owned)
    };
    match version.ok().and_then(|output| first_line(output.stdout)) {
        Some(line) => Finding::new("C compiler", line),
        None => Finding::missing(
            "C compiler",
            "none",
            "for components in C: apt-get install gcc",
        ),
    }
}

/// File systems on which memory-mapped writing is slow or unreliable.
const NETWORK: [(i64, &str); 4] = [
    (0x6969, "NFS"),
    (0x0bd0_0bd0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0xff53_4d42, "CIFS"),
];

fn storage(directory: &Path) -> Finding {
    let existing = directory
        .ancestors()
        .find(|path| path.exists() || path.as_os_str().is_empty());
    let existing = existing
        .filter(|path| !path.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    let what = format!("record storage {}", directory.display());
    match (rustix::fs::statvfs(existing), rustix::fs::statfs(existing)) {
        (Ok(space), Ok(kind)) => {
            let gib = space.f_bavail as f64 * space.f_frsize as f64 / (1_u64 << 30) as f64;
            let found = format!("{gib:.1} GiB free");
            match NETWORK.iter().find(|(magic, _)| *magic == kind.f_type) {
                Some((_, name)) => Finding::missing(
                    what,
                    &format!("{found} on {name}"),
                    "use a local disk: mapped writing is slow or wrong there",
                ),
                None => Finding::new(what, format!("{found}, local")),
            }
        }
        _ => Finding::missing(what, "cannot be read", "choose another directory"),
    }
}

//! `mastermind recommend`: what to do next about the time of a run, with the expected saving of each action and its
//! interval.
//!
//! ```text
//! facts.rs     facts from the records, the models and the libraries
//! parallel.rs  work and waiting of the ranks, and the run simulated again with messages that take no time
//! settings.rs  times of other runs with other values of a setting
//! carrying.rs  an action as a command; the original and the changed run, in turns
//! scores.rs    how recommendations turned out, kept in the history
//! ```
//!
//! The rules themselves are `mastermind-recommend`'s.

mod carrying;
mod facts;
mod parallel;
mod scores;
mod settings;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use mastermind_recommend::{Calibration, Efficiency, Recommendation, Saving, Score, recommend};
use serde::Serialize;

use self::carrying::{Carrying, Command};
use self::scores::Scores;
use crate::errors::WrongUse;
use crate::output;

/// Say what to do next about the time of a run, and what that would save.
///
/// In a record directory it examines how work is spread over the ranks, messages, processors and libraries; with --models, at methods that
/// take longer than their models say; of an assembly with alternatives also at other classes; with --runs, at other values of a setting. Each
/// action comes with its saving and a 95 % interval, what it is concluded from, and the command that carries it out where there is one.
#[derive(Args)]
#[command(after_help = "Example: mastermind recommend records\n         \
                        mastermind recommend examples/shock/shock.toml --records records --models models.json --runs planned\n         \
                        mastermind recommend records --runs runs --free arg:2 --run")]
pub struct Recommend {
    /// A record directory, or an assembly file with its --records
    target: PathBuf,
    /// The records of a run of the assembly
    #[arg(long, value_name = "DIR")]
    records: Option<PathBuf>,
    /// Models, as fit writes them
    #[arg(long, value_name = "FILE")]
    models: Option<PathBuf>,
    /// A folder with a folder of records for each of several runs: of the assembly, as plan --run makes them, or with other values of the
    /// settings of --free
    #[arg(long, value_name = "DIR")]
    runs: Option<PathBuf>,
    /// A folder of runs of any assemblies recorded on this machine before: how much repeated ones differ there is weighed in
    #[arg(long, value_name = "DIR", requires = "models")]
    earlier: Option<PathBuf>,
    /// Settings that may have any value, since the result does not depend on them: INSTANCE.KEY, a NAME of wrap or run --set, arg:1 (the first
    /// argument of a wrapped program), or ranks
    #[arg(
        long,
        value_name = "SETTINGS",
        value_delimiter = ',',
        requires = "runs"
    )]
    free: Vec<String>,
    /// Print at most so many actions
    #[arg(long, value_name = "N", default_value = "10")]
    top: NonZeroUsize,
    /// The action that --run carries out and --after scores, by its number
    #[arg(long, value_name = "K", default_value = "1")]
    action: NonZeroUsize,
    /// Carry the action out: run the program as it was and changed, in turns and without recording, and say what that saves
    #[arg(long, conflicts_with = "after")]
    run: bool,
    /// Run each so often
    #[arg(long, value_name = "N", default_value = "3", requires = "run")]
    repeat: NonZeroUsize,
    /// What starts the program's ranks, "mpirun -n 4"; it is put before the command
    #[arg(long, value_name = "WORDS", requires = "run")]
    launcher: Option<String>,
    /// Records of the run with the action carried out by hand: says what it saved
    #[arg(long, value_name = "DIR")]
    after: Option<PathBuf>,
    /// A history: what recommendations saved before widens or narrows the intervals, and what this one saves is kept there
    #[arg(long, value_name = "STORE")]
    history: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// An action with its command.
#[derive(Serialize)]
struct ListedAction {
    #[serde(flatten)]
    recommendation: Recommendation,
    /// Number of scores of its type from which the interval was learned.
    scores: usize,
    /// Cost of trying it: seconds of a run; `None` if somebody has to change the program.
    try_s: Option<f64>,
    /// The command that carries it out; `None` if no command can.
    command: Option<Command>,
}

/// The JSON document.
#[derive(Serialize)]
struct Document<'a> {
    /// How long the run took, seconds.
    elapsed_s: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    efficiency: Option<Efficiency>,
    recommendations: &'a [ListedAction],
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<&'a Score>,
}

impl Recommend {
    /// Gathers the facts, and prints the recommendations.
    ///
    /// # Errors
    /// A file or records cannot be read; options do not go together; an action cannot be carried out.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let (assembly, records) = self.inputs()?;
        let facts = facts::gather(&facts::Sources {
            assembly,
            records,
            models: self.models.as_deref(),
            runs: self.runs.as_deref(),
            earlier: self.earlier.as_deref(),
            free: &self.free,
        })?;
        let kept = self.history.as_deref().map(Scores::new);
        let known = kept.as_ref().map(Scores::read).transpose()?;
        let calibration = Calibration::new(known.unwrap_or_default());
        let carrying = Carrying::of(records, assembly)?;
        let shown = |mut recommendation: Recommendation| {
            let factor = calibration.factor(recommendation.kind);
            recommendation.saving = recommendation.saving.map(|saving| saving.stretched(factor));
            let command = carrying.changed(&recommendation.change, self.launcher.as_deref());
            ListedAction {
                scores: calibration.n_of(recommendation.kind),
                try_s: command.as_ref().ok().map(|_| facts.elapsed_s),
                command: command.ok(),
                recommendation,
            }
        };
        let mut all: Vec<ListedAction> = recommend(&facts).into_iter().map(shown).collect();
        all.truncate(self.top.get());
        let efficiency = facts.efficiency();
        if !self.json {
            if let Some(efficiency) = &efficiency {
                output::line(efficiency.to_string());
            }
            print(&all, facts.elapsed_s);
        }
        let score = self.score(&all, &carrying)?;
        if let (Some(score), Some(kept)) = (&score, &kept) {
            kept.keep(score)?;
        }
        match (self.json, &score) {
            (true, score) => output::json(&Document {
                elapsed_s: facts.elapsed_s,
                efficiency,
                recommendations: &all,
                score: score.as_ref(),
            })?,
            (false, Some(score)) => print_score(score),
            (false, None) => {}
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The assembly, if there is one, and the records.
    fn inputs(&self) -> anyhow::Result<(Option<&Path>, &Path)> {
        let is_records = super::profile::selected(&self.target).0.is_dir();
        match (is_records, &self.records) {
            (true, None) => Ok((None, &self.target)),
            (true, Some(_)) => bail!(WrongUse(
                "--records is for an assembly, expected one record directory"
            )),
            (false, Some(_)) if self.models.is_none() => bail!(WrongUse(
                "nothing is known of the classes of an assembly without models, expected --models"
            )),
            (false, Some(records)) => Ok((Some(&self.target), records)),
            (false, None) if self.target.exists() => bail!(WrongUse(
                "an assembly alone says nothing of a run, expected --records with those of one"
            )),
            (false, None) => bail!(
                "cannot recommend for \"{}\": no such file or folder, expected a record directory or an assembly file",
                self.target.display()
            ),
        }
    }

    /// The measured saving of the action, if it is or was carried out.
    fn score(&self, all: &[ListedAction], carrying: &Carrying) -> anyhow::Result<Option<Score>> {
        if !self.run && self.after.is_none() {
            return Ok(None);
        }
        let act = "cannot score a recommendation";
        let number = self.action.get();
        let Some(shown) = all.get(number - 1) else {
            bail!(
                "{act}: --action {number}, expected one of the {} that there are",
                all.len()
            );
        };
        let recommendation = &shown.recommendation;
        let Some(predicted) = recommendation.saving else {
            bail!(
                "{act}: nothing is known of what action {number} saves, expected one that says so"
            );
        };
        let (measured, runs) = match &self.after {
            Some(after) => {
                let [before_s, after_s] = [carrying.records(), after].map(facts::own_s);
                (Saving::of_single_runs(before_s?, after_s?), [1, 1])
            }
            None => {
                let changed = carrying.changed(&recommendation.change, self.launcher.as_deref());
                let changed =
                    changed.with_context(|| format!("cannot carry out action {number}"))?;
                let present = carrying.present(self.launcher.as_deref())?;
                let repeat = self.repeat.get();
                (carrying::in_turns(&present, &changed, repeat)?, [repeat; 2])
            }
        };
        Ok(Some(Score {
            kind: recommendation.kind,
            action: recommendation.action.clone(),
            predicted,
            measured_s: measured.seconds,
            measured_interval_s: measured.interval_s,
            runs,
        }))
    }
}

/// Columns of the text.
const WIDTH: usize = 100;

fn print(all: &[ListedAction], elapsed_s: f64) {
    if all.is_empty() {
        output::line(format!(
            "nothing to recommend: no rule finds an action that is expected to save 1 % of the {elapsed_s:.3} s that the run took"
        ));
        return;
    }
    output::line(format!("the run took {elapsed_s:.3} s"));
    for (place, shown) in all.iter().enumerate() {
        let Recommendation {
            action,
            saving,
            evidence,
            may_slow_down,
            ..
        } = &shown.recommendation;
        output::line(output::wrapped(
            &format!("{:>2}. ", place + 1),
            action,
            WIDTH,
        ));
        output::line(output::wrapped(
            "    ",
            &saving_line(saving.as_ref(), elapsed_s, shown.scores),
            WIDTH,
        ));
        if *may_slow_down {
            output::line("    it may slow the run down by more than 2 %");
        }
        for line in evidence {
            output::line(output::wrapped("    - ", line, WIDTH));
        }
        if let Some(command) = &shown.command {
            output::line(format!("    try it: {command}"));
        }
    }
}

fn saving_line(saving: Option<&Saving>, elapsed_s: f64, scores: usize) -> String {
    let Some(saving) = saving else {
        return "what it saves is not known".into();
    };
    let percent = 100.0 * saving.seconds / elapsed_s.max(f64::MIN_POSITIVE);
    if saving.is_limit {
        return format!("saves up to {:.3} s ({percent:.0} %)", saving.seconds);
    }
    let [low, high] = saving.interval_s;
    let learned = match scores {
        0 => String::new(),
        1 => ", with what one such action saved before".into(),
        n => format!(", with what {n} such actions saved before"),
    };
    format!(
        "saves {:.3} s ({percent:.0} %), within {low:.3} to {high:.3} s{learned}",
        saving.seconds
    )
}

fn print_score(score: &Score) {
    let [low, high] = score.measured_interval_s;
    let between = match score.runs {
        [1, 1] => String::new(),
        [before, after] => format!(
            " ({low:.3} to {high:.3}, by {before} runs as it was and {after} changed, in turns)"
        ),
    };
    let within = match (score.predicted.is_limit, score.is_within()) {
        (true, true) => "within the limit",
        (true, false) => "not within the limit",
        (false, true) => "within the interval",
        (false, false) => "not within the interval",
    };
    output::line(format!(
        "measured: saves {:.3} s{between}; predicted {:.3} s: {within}",
        score.measured_s, score.predicted.seconds
    ));
}

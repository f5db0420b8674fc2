//! `mastermind compare`: two runs side by side.
//!
//! Two totals cannot be compared: the second run may have other sizes, and one late call moves a
//! sum. Calls are therefore compared at equal parameters, by medians, and every difference has an
//! interval. The verdict follows from the interval and a margin, as in an equivalence test, so
//! "same" is a finding and not the absence of one.
//!
//! ```text
//!                     -margin    0    +margin
//! faster   |--------|    :       :       :
//! same                   :  |--------|   :
//! slower                 :       :       :   |-----|
//! cannot tell            :     |-------------|
//! ```
//!
//! The statistics are `compare_calls` of the crate `mastermind-records`. A launcher may start the
//! verb on several processes: each reads its share of the ranks, and the first one prints.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use mastermind_records::{
    Compared, EFFECT_LEVEL, Effect, MARGIN_PERCENT, Overall, RunCalls, RunInfo, Side, Verdict,
    compare_calls, overall,
};
use serde::{Deserialize, Serialize};

use crate::run_facts::{self, Lacking};
use crate::run_notes::Settings;
use crate::session::team::Team;
use crate::{output, recorded_dispatch, run_notes};

/// Compare two runs, method by method.
///
/// Calls are compared at equal parameters, by their medians, so that a few late calls decide nothing and a run of other sizes is
/// not called slower. The interval is that of the difference, estimated from blocks of calls that follow one another. Faster and
/// slower: the whole interval lies beyond the margin; same: within it; else these runs cannot decide. A machine in another
/// state makes a whole run slower: where most other methods differ alike, the interval also holds what is left without that. What
/// makes one method slower in one run and not in the next, such as where its data lie, is in no interval: repeat the runs where
/// much depends on it, and keep them with `mastermind history`.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind compare godunov efm\n         mastermind compare before after --fail-above 5%"
)]
pub struct Compare {
    /// Records of the first run
    first: PathBuf,
    /// Records of the second run
    second: PathBuf,
    /// Difference that does not matter, per cent
    #[arg(long, value_name = "PERCENT", default_value_t = MARGIN_PERCENT, value_parser = percent)]
    margin: f64,
    /// End with 1 if a method, or all together, became slower by more than this with the whole interval, per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_above: Option<f64>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// Reads both and shows the table.
    ///
    /// # Errors
    /// There are no records in one of them; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let team = Team::of_launch("compare")?;
        let first = OneRun::read(&self.first, &team)?;
        let second = OneRun::read(&self.second, &team)?;
        let (Some(first), Some(second)) = (first, second) else {
            // The first process prints.
            return Ok(ExitCode::SUCCESS);
        };
        for lacking in [first.lacking, second.lacking] {
            lacking.warn(
                "their times are in the sums and means, and the comparison at equal parameters is of the others",
            );
        }
        let programs = [first.facts.settings, second.facts.settings].concat();
        let act = "methods are compared at equal parameters, those without any as they are";
        run_notes::note_unlike(&programs, &[], act, false);
        run_notes::warn_of_other_circumstances([&first.facts.info, &second.facts.info]);
        let compared = compare_calls(first.facts.calls, second.facts.calls, self.margin);
        recorded_dispatch::warn_of_differences(&self.first, &self.second);
        let together = overall(&compared, self.margin);
        if self.json {
            output::json(&serde_json::json!({ "methods": compared, "overall": together }))?;
            return Ok(self.end(&compared, &together));
        }
        let header = [
            "CALLS",
            "",
            "EXCLUSIVE ms",
            "",
            "MPI ms",
            "",
            "us/CALL",
            "",
            "DIFFERENCE",
            "AT EQUAL PARAMETERS",
            "NAME",
            "VERDICT",
        ];
        let numbers: Vec<usize> = (0..10).collect();
        output::line(output::table(&header, &numbers, compared.iter().map(cells)));
        output::line(format!(
            "first {}, second {}; times without measured calls made from a method, calls and sums mean over the ranks; \
             at equal parameters: medians, with an interval of {} %; same: within {} %",
            self.first.display(),
            self.second.display(),
            100.0 * EFFECT_LEVEL,
            self.margin
        ));
        output::line(together_line(&together));
        Ok(self.end(&compared, &together))
    }

    /// Whether something became slower by more than is allowed.
    fn end(&self, compared: &[Compared], together: &Overall) -> ExitCode {
        let Some(limit) = self.fail_above else {
            return ExitCode::SUCCESS;
        };
        let is_above = |effect: Option<Effect>| {
            // The whole interval must lie beyond the limit, not only the estimate.
            let lower = effect?.lower_percent.filter(|lower| *lower > limit)?;
            Some((effect?.percent, lower))
        };
        let methods = compared.iter().map(|of| (&*of.name, of.effect));
        let all = methods.chain([("all methods together", together.effect)]);
        let mut code = ExitCode::SUCCESS;
        for (name, effect) in all {
            let Some((percent, lower)) = is_above(effect) else {
                continue;
            };
            output::complain!(
                "slower: {name} by {percent:.1} % (at least {lower:.1}), expected at most {limit} %"
            );
            code = ExitCode::FAILURE;
        }
        code
    }
}

/// One of the two runs: its logs are closed before those of the other are opened, since each takes some kilobytes.
struct OneRun {
    facts: Facts,
    lacking: Lacking,
}

/// Calls and circumstances of a run, or of the ranks that one of several processes has read.
#[derive(Serialize, Deserialize)]
struct Facts {
    calls: RunCalls,
    info: RunInfo,
    /// Each once.
    settings: Vec<Settings>,
}

impl OneRun {
    /// Reads a team's run. Collective.
    ///
    /// # Returns
    /// `None` on all processes except the first.
    ///
    /// # Errors
    /// As [`run_facts::open`].
    fn read(records: &Path, team: &Team) -> anyhow::Result<Option<Self>> {
        let run = team.together(run_facts::open(records, team))?;
        let own = Facts {
            calls: RunCalls::of(&run),
            info: RunInfo::of(&run),
            settings: run_notes::settings(&run),
        };
        let facts = team.join(own, Facts::append)?;
        let lacking = run_facts::lacking(&run, team)?;
        Ok(facts
            .zip(lacking)
            .map(|(facts, lacking)| Self { facts, lacking }))
    }
}

impl Facts {
    fn append(&mut self, later: Self) {
        self.calls.append(later.calls);
        self.info.append(later.info);
        for settings in later.settings {
            if !self.settings.contains(&settings) {
                self.settings.push(settings);
            }
        }
    }
}

/// A number of at least 0, with or without `%`.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').trim_end().parse();
    let number = number.ok().filter(|x: &f64| (0.0..1e6).contains(x));
    number.ok_or_else(|| "expected a number of at least 0, such as 5%".into())
}

/// The verdict over both runs.
fn together_line(together: &Overall) -> String {
    let word = match together.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Same => "same",
        _ => "cannot tell",
    };
    match together.effect {
        Some(effect) => format!(
            "all methods together, at equal parameters: {}: {word}",
            effect_and_interval(&effect)
        ),
        None => format!(
            "all methods together, at equal parameters: {word}: {:.0} % of the time can be compared",
            100.0 * together.share
        ),
    }
}

/// The effect and its interval, or its known end.
fn effect_and_interval(effect: &Effect) -> String {
    let percent = effect.percent;
    match (effect.lower_percent, effect.upper_percent) {
        (Some(lower), Some(upper)) => format!("{percent:+.1} % ({lower:+.1} to {upper:+.1})"),
        (Some(lower), None) => format!("{percent:+.1} % (at least {lower:+.1})"),
        (None, Some(upper)) => format!("{percent:+.1} % (at most {upper:+.1})"),
        (None, None) => "no interval".into(),
    }
}

fn cells(compared: &Compared) -> Vec<String> {
    let Compared { first, second, .. } = compared;
    let mut cells = Vec::new();
    let mut both = |cell: &dyn Fn(&Side) -> String| {
        cells.extend([first, second].map(|side| {
            if side.calls > 0.0 {
                cell(side)
            } else {
                String::new()
            }
        }));
    };
    both(&|side| match side.calls {
        calls if calls.fract() == 0.0 => format!("{calls}"),
        calls => format!("{calls:.2}"),
    });
    both(&|side| format!("{:.3}", side.exclusive_ns * 1e-6));
    both(&|side| {
        side.mpi_ns
            .map_or_else(String::new, |ns| format!("{:.3}", ns * 1e-6))
    });
    both(&|side| format!("{:.3}", side.mean_ns * 1e-3));
    let percent = compared.difference_percent;
    cells.push(percent.map_or_else(String::new, |percent| format!("{percent:+.1} %")));
    let effect = compared.effect.as_ref();
    cells.push(effect.map_or_else(String::new, effect_and_interval));
    cells.push(compared.name.clone());
    cells.push(verdict(compared));
    cells
}

/// Share of a method's calls without a record, in the run with more of them.
fn without_record(compared: &Compared) -> f64 {
    let (first, second) = (&compared.first, &compared.second);
    first.without_record.max(second.without_record)
}

fn verdict(compared: &Compared) -> String {
    match compared.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Unknown if compared.first.calls == 0.0 => "only in second",
        Verdict::Unknown if compared.second.calls == 0.0 => "only in first",
        Verdict::Unknown if without_record(compared) > 0.0 => {
            let percent = 100.0 * without_record(compared);
            return format!("cannot tell: {percent:.0} % of the calls have no record");
        }
        Verdict::Unknown if compared.effect.is_none() => {
            "cannot tell: too few calls at equal parameters"
        }
        Verdict::Unknown if compared.effect.is_some_and(|of| !of.has_interval()) => {
            "cannot tell: the calls differ too much within each run"
        }
        Verdict::Unknown => "cannot tell",
        _ => "same",
    }
    .into()
}

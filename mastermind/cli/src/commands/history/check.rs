//! Which component became slower or faster, at equal parameters.
//!
//! The crate `mastermind-history` finds changes of level in the series of each component's time at
//! equal parameters. This file is the gate for continuous integration around it: it selects the
//! program and the reference run, prints the table as text, Markdown or JSON, and turns a slow-down
//! above `--fail-above` into exit code 1. Noise may pass for a slow-down; with `--confirm` the
//! program therefore runs again before the check fails, and the added runs decide.
//!
//! ```text
//! $ mastermind history check --fail-above 5% --confirm './bench.sh'
//! slower: running again, 1 of 3: ./bench.sh
//! …
//! slower: flux.compute of shock by 12.4 %, expected at most 5 %
//! ```
//!
//! A component whose measurements are too noisy to show a change of that size gets a warning
//! instead of a silent pass.

use std::io;
use std::os::fd::AsFd;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use clap::Args;
use mastermind_history::{
    Check as Checked, ComponentReport, Options, ProgramReport, Shape, StoredRun, Verdict, check,
    rename,
};

use super::At;
use crate::commands::compare::percent;
use crate::output;
use crate::session::assignment;

/// Change of the machine's state from which it is reported, percent.
const MACHINE_PERCENT: f64 = 5.0;

#[derive(Args)]
#[command(after_help = "Example: mastermind history check history --since 1a2b3c --fail-above 5%")]
pub(super) struct Check {
    #[command(flatten)]
    at: At,
    /// Compare with the level before the first run of this name or commit [default: with the first level of the history]
    #[arg(long, value_name = "RUN|COMMIT")]
    since: Option<String>,
    /// End with 1 if a component became slower by more than this, per cent
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_above: Option<f64>,
    /// A component got another name: an instance or instance.method, in earlier runs and now
    #[arg(long, value_name = "OLD=NEW", value_parser = assignment)]
    renamed: Vec<(String, String)>,
    /// Before a slow-down counts, run this in a shell, which must add a run of the same program to the history; see --confirm-n
    #[arg(long, value_name = "COMMAND", requires = "fail_above")]
    confirm: Option<String>,
    /// How often --confirm runs its command
    #[arg(long, value_name = "N", default_value_t = 3, requires = "confirm", value_parser = clap::value_parser!(u32).range(1..))]
    confirm_n: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Print Markdown, for a merge request
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl Check {
    pub(super) fn execute(self) -> anyhow::Result<ExitCode> {
        let mut checked = self.check()?;
        if let (Some(command), Some(limit)) = (&self.confirm, self.fail_above)
            && !checked.slower_than(limit).is_empty()
        {
            self.run_again(command)?;
            checked = self.check()?;
        }
        self.report(&checked)
    }

    /// Runs the command that adds a run, as often as requested.
    ///
    /// # Errors
    /// It cannot be run, fails, or has added no run.
    fn run_again(&self, command: &str) -> anyhow::Result<()> {
        for n in 1..=self.confirm_n {
            let before = self.at.read()?.1.len();
            output::complain!(
                "slower: running again, {n} of {}: {command}",
                self.confirm_n
            );
            // Its output is not ours, and standard output may be a document.
            let status = Command::new("sh")
                .args(["-c", command])
                .stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?))
                .status()
                .context("cannot confirm: sh cannot be started")?;
            if !status.success() {
                bail!("cannot confirm: \"{command}\" ended with {status}, expected success");
            }
            if self.at.read()?.1.len() <= before {
                bail!(
                    "cannot confirm: \"{command}\" added no run of the program to history \"{}\", expected one, as by --history of run and wrap",
                    self.at.store.display()
                );
            }
        }
        Ok(())
    }

    fn check(&self) -> anyhow::Result<Checked> {
        let (_, mut runs) = self.at.read()?;
        for (old, new) in &self.renamed {
            rename(&mut runs, old, new)?;
        }
        let mut programs = Vec::new();
        let mut is_since_known = self.since.is_none();
        let is_one = |a: &StoredRun, b: &StoredRun| {
            let (a, b) = (&a.sums.circumstances, &b.sums.circumstances);
            (&a.program, &a.machine) == (&b.program, &b.machine)
        };
        for runs in runs.chunk_by(is_one) {
            let since = self.since.as_deref().and_then(|since| place(runs, since));
            is_since_known |= since.is_some();
            let runs: Vec<_> = runs.iter().map(|run| (&*run.id, &run.sums)).collect();
            programs.push(check(&runs, &Options { since }));
        }
        if let (Some(since), false) = (&self.since, is_since_known) {
            bail!(
                "cannot compare with \"{since}\": no run of this name or commit in history \"{}\", expected one of `mastermind history list`",
                self.at.store.display()
            );
        }
        Ok(Checked { programs })
    }

    fn report(&self, checked: &Checked) -> anyhow::Result<ExitCode> {
        if self.json {
            output::json(checked)?;
        } else {
            for program in &checked.programs {
                self.show(program);
            }
        }
        let Some(limit) = self.fail_above else {
            return Ok(ExitCode::SUCCESS);
        };
        for (program, component) in checked.blind_to(limit) {
            output::complain!(
                "warning: {} of {} could be slower by more than {limit} %: only a change of {:.1} % would be seen",
                component.name,
                program.program,
                component.resolution_percent.unwrap_or(f64::INFINITY)
            );
        }
        let slower = checked.slower_than(limit);
        for (program, component) in &slower {
            output::complain!(
                "slower: {} of {} by {:.1} %, expected at most {limit} %",
                component.name,
                program.program,
                component.percent.unwrap_or(0.0)
            );
        }
        Ok(match slower[..] {
            [] => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        })
    }

    fn show(&self, program: &ProgramReport) {
        let since = program.since.as_ref().map_or_else(
            || "against the first level".to_owned(),
            |since| format!("against the level before {since}"),
        );
        let runs = match program.runs {
            1 => "1 run".to_owned(),
            n => format!("{n} runs"),
        };
        let title = format!(
            "{} on {}: {runs}, {since}",
            program.program, program.machine
        );
        let header = [
            "VERDICT",
            "AT EQUAL PARAMETERS",
            "TIME",
            "CALLS",
            "SHARE",
            "SEEN FROM",
            "COMPONENT",
            "SINCE",
        ];
        let rows = program.components.iter().map(cells);
        if self.markdown {
            output::line(format!("### {title}\n\n{}", markdown(&header, rows)));
        } else {
            output::line(&title);
            output::line(output::table(&header, &[1, 2, 3, 4, 5], rows));
        }
        for note in notes(program) {
            output::line(note);
        }
    }
}

/// Place of the first run of a name or commit.
fn place(runs: &[StoredRun], since: &str) -> Option<usize> {
    let of_commit = |run: &StoredRun| {
        let commit = run.sums.circumstances.commit.as_deref();
        commit.is_some_and(|commit| commit.starts_with(since))
    };
    let by_name = runs.iter().position(|run| run.id.starts_with(since));
    by_name.or_else(|| runs.iter().position(of_commit))
}

fn verdict(component: &ComponentReport) -> String {
    let is_drift = component
        .changes
        .iter()
        .any(|change| change.shape == Shape::Drift);
    let word = match component.verdict {
        Verdict::Slower => "slower",
        Verdict::Faster => "faster",
        Verdict::Same => "no change seen",
        Verdict::WithSettings => return format!("with {}", component.with.join(", ")),
        Verdict::Unknown => "cannot tell",
    };
    match component.verdict {
        Verdict::Slower | Verdict::Faster if is_drift => format!("{word}, drifts"),
        _ => word.into(),
    }
}

fn cells(component: &ComponentReport) -> Vec<String> {
    let signed = |percent: Option<f64>| percent.map_or_else(String::new, |p| format!("{p:+.1} %"));
    let interval = component.lower_percent.zip(component.upper_percent);
    let interval = interval.map_or_else(String::new, |(lower, upper)| {
        format!(" ({lower:+.1} to {upper:+.1})")
    });
    let change = component
        .changes
        .last()
        .filter(|_| component.verdict != Verdict::Same);
    let since = change.map_or_else(String::new, |change| match &change.commit {
        Some(commit) => format!("{} {commit}", change.run),
        None => change.run.clone(),
    });
    vec![
        verdict(component),
        signed(component.percent) + &interval,
        signed(component.time_percent),
        signed(component.calls_percent),
        format!("{:.1} %", 100.0 * component.share),
        component
            .resolution_percent
            .map_or_else(String::new, |p| format!("{p:.1} %")),
        component.name.clone(),
        since,
    ]
}

/// Notes that the table has no room for.
fn notes(program: &ProgramReport) -> Vec<String> {
    let mut notes = vec![
        "at equal parameters: a call against the level before, with an interval of 95 %, or of what would not be seen; time and calls: of a run, with the workload; \
         seen from: the smallest change that 5 runs like the latest show"
            .to_owned(),
    ];
    let machine = program
        .machine_percent
        .filter(|percent| percent.abs() > MACHINE_PERCENT);
    if let Some(percent) = machine {
        notes.push(format!(
            "note: all components are {percent:+.0} % off their usual time in the latest runs: the machine is in another state, or all of \
             them were built otherwise; runs in such a state count less"
        ));
    }
    if program.machine_percent.is_none() {
        notes.push(
            "note: the state of the machine is not known, which takes 3 components and 8 runs: a slower machine may be called a slower component"
                .to_owned(),
        );
    }
    for component in &program.components {
        if let Some((low, high)) = component.calls_of_ns {
            notes.push(format!(
                "{}: only calls of about {:.3} to {:.3} us changed",
                component.name,
                low * 1e-3,
                high * 1e-3
            ));
        }
        if let Some(reason) = &component.reason {
            notes.push(format!("{}: {reason}", component.name));
        }
        if let Some(pending) = &component.pending {
            notes.push(format!(
                "{}: off since run {pending}, too few runs to call it a change",
                component.name
            ));
        }
    }
    notes
}

fn markdown(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    // A cell is one line, and a bar in it must not end it.
    let cell = |text: &str| text.replace('|', "\\|").replace(['\n', '\r'], " ");
    let line = |cells: &mut dyn Iterator<Item = String>| {
        let cells: Vec<String> = cells.collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&mut header.iter().map(|name| name.to_lowercase()));
    text += &line(&mut header.iter().map(|_| "---".to_owned()));
    for row in rows {
        text += &line(&mut row.iter().map(|text| cell(text)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_may_have_its_sign() {
        assert_eq!(percent("5%"), Ok(5.0));
        assert_eq!(percent("0.5 %"), Ok(0.5));
        for wrong in ["-1", "x", "%", "nan", "1e9"] {
            assert!(percent(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_bar_in_a_name_is_no_cell() {
        let rows = [vec!["a|b".to_owned(), "c\nd".to_owned()]];
        let text = markdown(&["X", "Y"], rows.into_iter());
        assert_eq!(text, "| x | y |\n| --- | --- |\n| a\\|b | c d |\n");
    }
}

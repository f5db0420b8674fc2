//! `mastermind plan`: the runs that show every pair of connected alternatives, and their cost; executes them on
//! request.

use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressDrawTarget};
use mastermind_component::interacting_pairs;
use mastermind_composition::plan;
use mastermind_records::Run;
use serde::Serialize;

use crate::output;
use crate::session::{read_assembly, setting};

/// Plan the fewest runs that show every pair of connected alternatives.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind plan examples/shock/shock.toml\n         \
                  mastermind plan examples/shock/shock.toml --run --records planned --repeat 5 --set mesh.nx=120"
)]
pub struct Plan {
    /// The assembly file, with its [alternatives]
    assembly: PathBuf,
    /// Run them, one after the other, each assembly once before any is run again
    #[arg(long, requires = "records")]
    run: bool,
    /// A new folder for the records, with a folder for each run
    #[arg(long, value_name = "DIR", requires = "run")]
    records: Option<PathBuf>,
    /// Run each assembly so often
    #[arg(long, value_name = "N", default_value = "5")]
    repeat: NonZeroU32,
    /// Records of an earlier run with the same settings: its time gives an estimate of the cost
    #[arg(long, value_name = "DIR")]
    like: Option<PathBuf>,
    /// Number of ranks of each run
    #[arg(long, value_name = "N")]
    ranks: Option<NonZeroU32>,
    /// Set a parameter in each run; KEY may be PORT.KEY
    #[arg(long, value_name = "INSTANCE.KEY=VALUE", value_parser = setting)]
    set: Vec<(String, String)>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The plan and its cost.
#[derive(Serialize)]
struct Planned {
    #[serde(flatten)]
    plan: mastermind_composition::Plan,
    /// How often each run is repeated.
    repeat: u32,
    /// Runs with their repetitions.
    total_runs: usize,
    /// Expected seconds of all of them, if an earlier run gives an estimate.
    expected_s: Option<f64>,
}

impl Plan {
    /// Plans the runs, and executes them on request.
    ///
    /// # Errors
    /// The assembly cannot be read, or has no alternatives; the folder for records exists; a run fails.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let (assembly, _) = read_assembly(&self.assembly, &[], &[], false)?;
        let plan = plan(
            &assembly.alternatives,
            &assembly.instances,
            &interacting_pairs(&assembly),
        )?;
        let run_s = self.like.as_deref().map(length_s).transpose()?;
        let total_runs = plan.runs.len() * self.repeat.get() as usize;
        let planned = Planned {
            plan,
            repeat: self.repeat.get(),
            total_runs,
            expected_s: run_s.map(|run_s| run_s * total_runs as f64),
        };
        if self.json {
            output::json(&planned)?;
        } else {
            print(&planned);
        }
        if let Some(records) = self.records.as_deref().filter(|_| self.run) {
            self.run_all(&planned, records)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn run_all(&self, planned: &Planned, records: &Path) -> anyhow::Result<()> {
        if records.exists() {
            bail!(
                "cannot record planned runs in \"{}\": it exists, expected a new folder",
                records.display()
            );
        }
        let act = || format!("cannot make folder \"{}\"", records.display());
        std::fs::create_dir_all(records).with_context(act)?;
        let bar = ProgressBar::new(planned.total_runs as u64);
        if !output::shows_progress() {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        }
        let started = Instant::now();
        for round in 1..=planned.repeat {
            for (number, classes) in planned.plan.runs.iter().enumerate() {
                let folder = records.join(format!("run{}-{round}", number + 1));
                self.run_one(classes, &folder)?;
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        if !self.json {
            let seconds = started.elapsed().as_secs_f64();
            let n = planned.total_runs;
            output::line(format!(
                "{n} runs in {seconds:.1} s, records in {}",
                records.display()
            ));
        }
        Ok(())
    }

    fn run_one(
        &self,
        classes: &mastermind_composition::Assembly,
        folder: &Path,
    ) -> anyhow::Result<()> {
        let own = std::env::current_exe().context("cannot find this program")?;
        let mut command = Command::new(own);
        command
            .arg("run")
            .arg(&self.assembly)
            .arg("--records")
            .arg(folder);
        for (instance, class) in classes {
            command.args(["--replace", &format!("{instance}={class}")]);
        }
        for (key, value) in &self.set {
            command.args(["--set", &format!("{key}={value}")]);
        }
        if let Some(ranks) = self.ranks {
            command.args(["--ranks", &ranks.to_string()]);
        }
        let act = || format!("cannot run planned assembly in \"{}\"", folder.display());
        let ended = command.stdin(Stdio::null()).output().with_context(act)?;
        if ended.status.success() {
            return Ok(());
        }
        output::message(String::from_utf8_lossy(&ended.stderr).trim_end());
        let replaced: Vec<_> = classes
            .iter()
            .map(|(i, class)| format!("{i}={class}"))
            .collect();
        bail!(
            "cannot run planned assembly \"{}\": {}, expected it to end well; the runs before it are recorded",
            replaced.join(" "),
            ended.status
        )
    }
}
/// Time from the first recorded call to the end of the last one, on the rank that took longest, seconds.
fn length_s(directory: &Path) -> anyhow::Result<f64> {
    let run: Run = super::profile::open(directory)?;
    let length_ns = |log: &mastermind_records::Log| {
        let (mut first, mut last) = (u64::MAX, 0);
        for record in log.records() {
            first = first.min(record.start_ns);
            last = last.max(record.start_ns + record.wall_ns);
        }
        last.saturating_sub(first)
    };
    let longest = run.logs().iter().map(length_ns).max().unwrap_or(0);
    Ok(longest as f64 * 1e-9)
}

fn print(planned: &Planned) {
    let rows = planned.plan.runs.iter().enumerate().map(|(at, classes)| {
        let classes: Vec<_> = classes
            .iter()
            .map(|(i, class)| format!("{i}={class}"))
            .collect();
        vec![(at + 1).to_string(), classes.join(" ")]
    });
    output::line(output::table(&["RUN", "ASSEMBLY"], &[0], rows));
    let pairs = match planned.plan.pairs {
        0 => "every alternative".to_owned(),
        pairs => format!("every alternative, and all {pairs} pairs of connected ones"),
    };
    let n = planned.plan.runs.len();
    let least = match planned.plan.least_runs {
        least if least == n => "no fewer would do".to_owned(),
        least => format!("at least {least} are needed"),
    };
    output::line(format!("{n} runs show {pairs}; {least}"));
    let cost = match planned.expected_s {
        Some(seconds) => format!("about {seconds:.1} s"),
        None => "of unknown length: --like DIR takes it from the records of one".into(),
    };
    let (repeat, total) = (planned.repeat, planned.total_runs);
    output::line(format!("{repeat} times each: {total} runs, {cost}"));
}

//! Two programs under MPI, predicted and measured: the machine calibrated, the methods' models fitted to runs of other
//! sizes, the programs simulated on 1, 2 and 4 ranks, and run.
//!
//! A method is recorded with as many ranks as processors will be busy, since processors share memory and clock. The
//! runs are short, many, and alternate between predicted ones and those to learn from, so that other load on the
//! machine affects all alike; of equal runs, both to learn from and to compare with, the one with the median elapsed
//! time counts. Nothing to learn from is recorded on more ranks than processors.

use std::fs;
use std::thread::available_parallelism;

use crate::build::back_ends;
use crate::demo::Demo;
use crate::steps::StepError;
use crate::system::System;

/// How often each run is repeated.
const ROUNDS: u32 = 5;

/// Ranks that are predicted.
const RANKS: [u32; 3] = [1, 2, 4];

/// A program: its assembly, its model, its recorded cases and its predicted cases.
struct Program {
    name: &'static str,
    /// Parameters of the driver and variables of the model, by the same names.
    trained: &'static [&'static [&'static str]],
    target: &'static [&'static str],
}

const PROGRAMS: [Program; 2] = [
    Program {
        name: "heat",
        trained: &[
            &["nx=500", "ny=600", "steps=60"],
            &["nx=900", "ny=800", "steps=30"],
            &["nx=1200", "ny=1300", "steps=15"],
        ],
        target: &["nx=1024", "ny=1024", "steps=120"],
    },
    Program {
        name: "transport",
        trained: &[
            &["cells=56", "k_block=14", "angle_group=6", "iterations=3"],
            &["cells=80", "k_block=16", "angle_group=6", "iterations=2"],
            &["cells=112", "k_block=16", "angle_group=6", "iterations=1"],
        ],
        target: &["cells=96", "k_block=16", "angle_group=6", "iterations=4"],
    },
];

/// Maximum error of a predicted time, percent: if each rank has a processor, and if they share some.
const TOLERANCES_PERCENT: [f64; 2] = [10.0, 20.0];

/// Most tries of a program under an MPI: a machine that is busy with other work makes a prediction wrong.
const TRIES: u32 = 3;

/// Calibrates, records, fits, simulates and runs under each MPI, or under the one named. A program with a prediction
/// that misses the tolerance is calibrated, recorded and run again, up to three times.
///
/// # Errors
/// A step failed; a program had a prediction beyond the tolerance in each try.
pub fn prediction(demo: &Demo<'_>, system: &System, mpi: Option<&str>) -> Result<(), StepError> {
    let folder = demo.path("prediction");
    fs::create_dir_all(demo.full_path("prediction")).map_err(|source| StepError::File {
        act: "make folder",
        path: folder.clone(),
        source,
    })?;
    let names: Vec<_> = back_ends(system)
        .map(|mpi| mpi.kind.name())
        .filter(|name| mpi.is_none_or(|mpi| mpi == *name))
        .collect();
    if names.is_empty() {
        let which = mpi.map_or_else(
            || "No MPI".to_owned(),
            |name| format!("No MPI named \"{name}\""),
        );
        println!("{which} on this machine: nothing to predict.");
    }
    // A missed program is tried again after all the others.
    let each = |name| PROGRAMS.iter().map(move |program| (name, program));
    let mut missed: Vec<_> = names.into_iter().flat_map(each).collect();
    for nth in 1..=TRIES {
        let mut calibrated = None;
        let mut again = Vec::new();
        for (name, program) in missed {
            let machine = format!("{folder}/{name}.toml");
            if calibrated.replace(name) != Some(name) {
                let calibrate = ["calibrate", "--mpi", name, "-o", &machine, "--force"];
                demo.step(&format!("the machine under {name}"), &calibrate)?;
            }
            println!(
                "\n==> {} under {name}, try {nth}: {ROUNDS} rounds of runs",
                program.name
            );
            let run = Runs {
                demo,
                mpi: name,
                program,
                folder: &folder,
            };
            let recorded = run.record()?;
            if !run.compare(&machine, &recorded)? {
                again.push((name, program));
            }
        }
        missed = again;
        if missed.is_empty() {
            return Ok(());
        }
    }
    Err(StepError::Refuted {
        what: "a prediction was off by more than the tolerance in each of three tries",
    })
}

/// The runs of a program under an MPI.
struct Runs<'a> {
    demo: &'a Demo<'a>,
    mpi: &'a str,
    program: &'a Program,
    folder: &'a str,
}

/// Directories of records, each list of runs that are the same.
struct Recorded {
    /// By the number of busy processors less one, and by the parameters of the case.
    trained: Vec<Vec<Vec<String>>>,
    /// By [`RANKS`].
    targets: Vec<Vec<String>>,
}

impl Runs<'_> {
    /// Runs everything, round after round.
    fn record(&self) -> Result<Recorded, StepError> {
        let busy = self.busy(u32::MAX);
        let mut recorded = Recorded {
            trained: vec![vec![Vec::new(); self.program.trained.len()]; busy as usize],
            targets: vec![Vec::new(); RANKS.len()],
        };
        for round in 0..ROUNDS {
            for (nth, settings) in self.program.trained.iter().enumerate() {
                for ranks in 1..=busy {
                    let what = format!("trained-{ranks}-{nth}-{round}");
                    let directory = self.run(&what, ranks, settings)?;
                    recorded.trained[ranks as usize - 1][nth].push(directory);
                }
                // Those that are predicted are between the others.
                if let Some(ranks) = RANKS.get(nth) {
                    let what = format!("target-{ranks}-{round}");
                    let directory = self.run(&what, *ranks, self.program.target)?;
                    recorded.targets[nth].push(directory);
                }
            }
        }
        Ok(recorded)
    }

    /// Processors that `ranks` ranks keep busy, as far as a model is made for them.
    fn busy(&self, ranks: u32) -> u32 {
        let processors = available_parallelism().map_or(1, |n| n.get() as u32);
        ranks.min(processors).min(4)
    }

    fn run(&self, what: &str, ranks: u32, settings: &[&str]) -> Result<String, StepError> {
        let name = self.program.name;
        let directory = format!("{}/{}-{name}-{what}", self.folder, self.mpi);
        let assembly = format!("examples/{name}/{name}.toml");
        let ranks = ranks.to_string();
        let mut arguments = vec!["run", &assembly, "--records", &directory, "--overwrite"];
        arguments.extend(["--mpi", self.mpi, "--ranks", &ranks]);
        let settings: Vec<_> = settings.iter().map(|s| format!("driver.{s}")).collect();
        arguments.extend(
            settings
                .iter()
                .flat_map(|setting| ["--set", setting.as_str()]),
        );
        self.demo.quiet(&arguments)?;
        Ok(directory)
    }

    /// Fits, simulates, and prints the prediction next to the measurement.
    ///
    /// # Returns
    /// Whether all predictions are within the tolerance.
    fn compare(&self, machine: &str, recorded: &Recorded) -> Result<bool, StepError> {
        let name = self.program.name;
        println!(
            "program    MPI      ranks  measured s   (least, most)  predicted s  error %  at most"
        );
        let mut holds = true;
        for (ranks, targets) in RANKS.into_iter().zip(&recorded.targets) {
            let busy = self.busy(ranks);
            let models = format!("{}/{}-{name}-{busy}.json", self.folder, self.mpi);
            let trained = recorded.trained[busy as usize - 1].iter();
            let middle = trained.map(|runs| Ok(self.by_time(runs)?.1));
            self.fit(&models, &middle.collect::<Result<Vec<_>, StepError>>()?)?;
            let model = format!("examples/{name}/model.toml");
            let count = ranks.to_string();
            let mut simulate = vec![
                "simulate",
                &model,
                "--machine",
                machine,
                "--models",
                &models,
            ];
            // Steps that ranks take together take as long as the slowest.
            simulate.extend(["--spread", "--ranks", &count, "--json"]);
            simulate.extend(self.program.target.iter().flat_map(|set| ["--set", set]));
            let simulated = self.demo.json(&simulate)?;
            let predicted_s = simulated["makespan_ns"].as_f64().unwrap_or(f64::NAN) / 1e9;
            let ([least_s, measured_s, most_s], _) = self.by_time(targets)?;
            let error = 100.0 * (predicted_s / measured_s - 1.0);
            let [alone, shared] = TOLERANCES_PERCENT;
            let tolerance = if busy == ranks { alone } else { shared };
            // A value without a measurement is NaN, and within no tolerance.
            let is_within = error.abs() <= tolerance;
            holds &= is_within;
            let verdict = if is_within { "reached" } else { "MISSED" };
            println!(
                "{name:<10} {:<8} {ranks:>5}  {measured_s:>10.3}  ({least_s:.3}, {most_s:.3})  {predicted_s:>11.3}  {error:>+7.1}  {tolerance:>7}  {verdict}",
                self.mpi
            );
        }
        Ok(holds)
    }

    /// Elapsed time of runs that are the same, the least, the middle and the most, seconds, and the records of the one in the
    /// middle.
    fn by_time(&self, runs: &[String]) -> Result<([f64; 3], String), StepError> {
        let timed = runs.iter().map(|run| Ok((self.elapsed_s(run)?, run)));
        let mut timed = timed.collect::<Result<Vec<_>, StepError>>()?;
        timed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let at = |place: usize| timed.get(place).map_or(f64::NAN, |(s, _)| *s);
        let middle = timed.len() / 2;
        let times = [0, middle, timed.len().saturating_sub(1)].map(at);
        Ok((
            times,
            timed
                .get(middle)
                .map_or_else(String::new, |(_, run)| (*run).clone()),
        ))
    }

    /// Models of all methods, by simple forms: a line if it fits.
    fn fit(&self, models: &str, records: &[String]) -> Result<(), StepError> {
        let mut fit = vec!["fit", "-o", models, "--force"];
        fit.extend(records.iter().map(String::as_str));
        self.demo.quiet(&fit)
    }

    /// Time of the driver's `go`, mean over the ranks, seconds.
    fn elapsed_s(&self, records: &str) -> Result<f64, StepError> {
        let profile = self.demo.json(&["profile", records, "--json"])?;
        let rows = profile["rows"].as_array().into_iter().flatten();
        let mut go = rows.filter(|row| row["name"] == "driver.go");
        let ns = go.next().and_then(|row| row["inclusive_ns"].as_f64());
        Ok(ns.map_or(f64::NAN, |ns| ns / 1e9))
    }
}

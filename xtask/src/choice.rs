//! The last part of the demonstration: models from some runs, a prediction of others, and the choice compared with
//! measurements.
//!
//! The models come from three mesh sizes, the workload from a fourth that is in none of them and whose array sizes are
//! between theirs. The runs are short, many, and alternate between predicted ones and those to learn from, so that
//! other load on the machine affects all alike.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use crate::demo::{ASSEMBLY, Demo};
use crate::steps::StepError;

/// Meshes, cells along x and y, that the models are fitted to.
const TRAINING: [[u32; 2]; 3] = [[72, 24], [120, 40], [168, 56]];

/// The mesh that is predicted.
const TARGET: [u32; 2] = [144, 48];

/// How often each run is repeated.
const ROUNDS: u32 = 6;

/// Time at which each run ends: the shock has met the interface.
const END_TIME: &str = "driver.end_time=0.3";

/// Implementations of the flux, each with an implementation of the states, so that all of both are measured.
const IMPLEMENTATIONS: [[&str; 2]; 3] = [
    ["hydro.GodunovFlux", "hydro.StatesConstructor"],
    ["hydro.EfmFlux", "hydro.MinmodStates"],
    ["hydro.EfmFluxC", "hydro.StatesConstructor"],
];

/// The implementation that needs a C compiler, and its library.
const IN_C: (&str, &str) = ("hydro.EfmFluxC", "libhydro_efm_flux_c.so");

/// The instance that is chosen for.
const INSTANCE: &str = "flux";

/// Most that a predicted total may be off the measured one, in percent.
const TOLERANCE_PERCENT: f64 = 10.0;

/// Two implementations whose measured totals differ by less, in percent, are equally fast.
const TIE_PERCENT: f64 = 5.0;

/// Most tries: a machine that is busy with other work makes a prediction wrong.
const TRIES: u32 = 3;

/// Records, fits, chooses, measures, compares; all of it again where a prediction does not hold, up to three times.
///
/// # Errors
/// A step failed; in no try the choice was right and no prediction off by more than the tolerance.
pub fn choice(demo: &Demo<'_>) -> Result<(), StepError> {
    for nth in 1..=TRIES {
        if holds(demo)? {
            return Ok(());
        }
        if nth < TRIES {
            println!(
                "    on a machine that is busy with other work: try {} of {TRIES}",
                nth + 1
            );
        }
    }
    Err(StepError::Refuted {
        what: "the choice or a prediction was wrong in each of three tries",
    })
}

/// One try.
///
/// # Returns
/// Whether the choice was right and no prediction off by more than the tolerance.
fn holds(demo: &Demo<'_>) -> Result<bool, StepError> {
    let (training, targets) = record(demo)?;
    let models = demo.path("models.json");
    let mut fit = vec!["fit", "-o", &models, "--force", "--method", "compute"];
    fit.extend(training.iter().map(String::as_str));
    demo.step("a model for each implementation and mode", &fit)?;
    let [nx, ny] = TARGET;
    let title = format!("the choice for a mesh of {nx} x {ny} cells, which no model has seen");
    // The first implementation's run is the workload; the other runs are there to be compared with.
    let folder = demo.path("choice");
    let choose = |records: &str| -> Vec<String> {
        let words = ["choose", ASSEMBLY, "--models", &models, "--runs", &folder];
        let words = words.into_iter().chain(["--records", records]);
        words.map(str::to_owned).collect()
    };
    let words = choose(&targets[0]);
    demo.step(
        &title,
        &words.iter().map(String::as_str).collect::<Vec<_>>(),
    )?;
    let chosen = choice_of(demo, choose(&targets[0]))?;
    let is_right = compare(&predicted(&chosen), &measured(demo, &targets)?);
    let n_classes = implementations(demo).len();
    let mut measured_s = [0.0; 2];
    for (round, present) in (0..ROUNDS).zip(targets.iter().step_by(n_classes)) {
        let best = record_best(demo, &chosen, round)?;
        for (sum_s, directory) in measured_s.iter_mut().zip([present, &best]) {
            *sum_s += total_s(&choice_of(demo, choose(directory))?) / f64::from(ROUNDS);
        }
    }
    Ok(compare_totals(&chosen, measured_s) && is_right)
}

/// The JSON document of a choice.
fn choice_of(demo: &Demo<'_>, mut words: Vec<String>) -> Result<Value, StepError> {
    words.push("--json".into());
    demo.json(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Total time of the recorded calls of a run, seconds.
fn total_s(choice: &Value) -> f64 {
    let rows = choice["instances"].as_array().into_iter().flatten();
    rows.filter_map(|row| row["measured_s"].as_f64()).sum()
}

/// Runs the assembly that was chosen, on the mesh that is predicted.
fn record_best(demo: &Demo<'_>, choice: &Value, round: u32) -> Result<String, StepError> {
    let class = |instance: &str| choice["best"][instance].as_str().unwrap_or_default();
    let directory = demo.path(&format!("best/{round}"));
    record_run(demo, TARGET, [class(INSTANCE), class("states")], &directory)?;
    Ok(directory)
}

/// Predicted and measured total of the present assembly and of the chosen one, seconds.
///
/// # Returns
/// Whether the chosen one is no slower, except for a tie.
fn compare_totals(choice: &Value, measured_s: [f64; 2]) -> bool {
    println!("\n==> all calls of the components");
    let rows = [
        ("present assembly", "current_s"),
        ("best assembly", "predicted_s"),
    ];
    for ((name, key), measured_s) in rows.into_iter().zip(measured_s) {
        let predicted_s = choice[key].as_f64().unwrap_or_default();
        println!("    {name:<20} predicted {predicted_s:>9.4} s, measured {measured_s:>9.4} s");
    }
    let [present_s, best_s] = measured_s;
    let slower = 100.0 * (best_s / present_s - 1.0);
    if slower >= TIE_PERCENT {
        println!(
            "    the choice is wrong: the best assembly takes {slower:.1} % longer than the present one"
        );
    }
    slower < TIE_PERCENT
}

/// Runs every implementation on every mesh, round after round.
///
/// # Returns
/// The record directories to learn from, and those of the predicted mesh, implementation fastest.
fn record(demo: &Demo<'_>) -> Result<(Vec<String>, Vec<String>), StepError> {
    let implementations = implementations(demo);
    let n_runs = ROUNDS as usize * (TRAINING.len() + 1) * implementations.len();
    println!(
        "\n==> {n_runs} runs of {} implementations",
        implementations.len()
    );
    let start = Instant::now();
    let (mut training, mut targets) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        // The prediction's runs are in the middle of the others.
        let [small, middle, large] = TRAINING;
        record_mesh(demo, small, round, &mut training)?;
        record_mesh(demo, middle, round, &mut training)?;
        record_mesh(demo, TARGET, round, &mut targets)?;
        record_mesh(demo, large, round, &mut training)?;
    }
    println!("    {n_runs} runs: {:.1} s", start.elapsed().as_secs_f64());
    Ok((training, targets))
}

/// Those there are: without a C compiler there is no flux in C.
fn implementations(demo: &Demo<'_>) -> Vec<[&'static str; 2]> {
    let (class, library) = IN_C;
    let has_c = demo.has_library(library);
    let there = |names: &[&str; 2]| names[0] != class || has_c;
    IMPLEMENTATIONS.into_iter().filter(there).collect()
}

fn record_mesh(
    demo: &Demo<'_>,
    [nx, ny]: [u32; 2],
    round: u32,
    directories: &mut Vec<String>,
) -> Result<(), StepError> {
    for [flux, states] in implementations(demo) {
        let directory = demo.path(&format!("choice/{flux}-{nx}x{ny}-{round}"));
        record_run(demo, [nx, ny], [flux, states], &directory)?;
        directories.push(directory);
    }
    Ok(())
}

fn record_run(
    demo: &Demo<'_>,
    [nx, ny]: [u32; 2],
    [flux, states]: [&str; 2],
    directory: &str,
) -> Result<(), StepError> {
    let [nx, ny] = [format!("mesh.nx={nx}"), format!("mesh.ny={ny}")];
    let [flux, states] = [format!("flux={flux}"), format!("states={states}")];
    demo.quiet(&[
        "run",
        ASSEMBLY,
        "--records",
        directory,
        "--overwrite",
        "--set",
        &nx,
        "--set",
        &ny,
        "--set",
        END_TIME,
        "--replace",
        &flux,
        "--replace",
        &states,
    ])
}

/// Predicted total of the calls by class, seconds.
fn predicted(choice: &Value) -> BTreeMap<String, f64> {
    let rows = choice["instances"].as_array().into_iter().flatten();
    let rows = rows.filter(|row| row["instance"] == INSTANCE);
    rows.filter_map(|row| Some((row["class"].as_str()?.into(), row["predicted_s"].as_f64()?)))
        .collect()
}

/// Measured total of the calls by class, seconds, mean over the rounds.
fn measured(demo: &Demo<'_>, directories: &[String]) -> Result<BTreeMap<String, f64>, StepError> {
    let mut totals = BTreeMap::new();
    for directory in directories {
        let profile = demo.json(&["profile", directory, "--json"])?;
        let rows = profile["rows"].as_array().into_iter().flatten();
        for row in rows.filter(|row| row["name"] == format!("{INSTANCE}.compute")) {
            let class = row["class"].as_str().unwrap_or_default().to_string();
            let seconds = row["exclusive_ns"].as_f64().unwrap_or_default() * 1e-9;
            *totals.entry(class).or_default() += seconds / f64::from(ROUNDS);
        }
    }
    Ok(totals)
}

fn compare(predicted: &BTreeMap<String, f64>, measured: &BTreeMap<String, f64>) -> bool {
    println!("\n==> predicted and measured total of all calls of {INSTANCE}.compute");
    println!(
        "    {:<20} {:>12} {:>12} {:>8}",
        "class", "predicted s", "measured s", "off by"
    );
    let mut worst: f64 = 0.0;
    let mut unknown = measured.keys().any(|class| !predicted.contains_key(class));
    for (class, predicted) in predicted {
        let Some(measured) = measured.get(class) else {
            println!("    {class:<20} {predicted:>12.4}   not measured");
            unknown = true;
            continue;
        };
        let off = 100.0 * (predicted / measured - 1.0);
        worst = worst.max(off.abs());
        println!("    {class:<20} {predicted:>12.4} {measured:>12.4} {off:>+7.1}%");
    }
    let fastest = |times: &BTreeMap<String, f64>| {
        let least = times.iter().min_by(|a, b| a.1.total_cmp(b.1));
        least.map_or_else(String::new, |(class, _)| class.clone())
    };
    let (chosen, best) = (fastest(predicted), fastest(measured));
    let time = |class: &str| measured.get(class).copied().unwrap_or(f64::INFINITY);
    let slower = 100.0 * (time(&chosen) / time(&best) - 1.0);
    let is_right = slower < TIE_PERCENT;
    if unknown || measured.is_empty() {
        println!("    what was measured is not what was predicted: no verdict");
        return false;
    }
    if chosen == best {
        println!("    the choice is right: {chosen} was predicted to be the fastest, and is");
    } else if is_right {
        println!(
            "    the choice is right: {chosen} was predicted to be the fastest, and is as fast as {best} to {slower:.1} %"
        );
    } else {
        println!(
            "    the choice is wrong: {chosen} was predicted to be the fastest, but {best} is, by {slower:.1} %"
        );
    }
    if worst > TOLERANCE_PERCENT {
        println!("    a prediction is {worst:.1} % off, more than {TOLERANCE_PERCENT} %");
    }
    is_right && worst <= TOLERANCE_PERCENT
}

impl Demo<'_> {
    /// A command of the binary whose output matters only if it fails.
    pub fn quiet(&self, arguments: &[&str]) -> Result<(), StepError> {
        self.output(arguments).map(|_| ())
    }

    /// The JSON document that a command of the binary prints.
    pub fn json(&self, arguments: &[&str]) -> Result<Value, StepError> {
        let text = self.output(arguments)?;
        serde_json::from_slice(&text).map_err(|source| StepError::File {
            act: "read output of",
            path: arguments.join(" "),
            source: source.into(),
        })
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>, StepError> {
        let title = format!("mastermind {}", arguments.join(" "));
        let mut command: Command = self.command(arguments);
        let output = command.stderr(std::process::Stdio::inherit()).output();
        let output = output.map_err(|source| StepError::Start {
            title: title.clone(),
            program: "mastermind".into(),
            source,
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(StepError::Failed {
            title,
            status: output.status,
        })
    }
}

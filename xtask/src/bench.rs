//! `cargo xtask bench`: the benchmarks that answer a question, each next to its baseline, and at the end every figure
//! with its limit.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::build;
use crate::processors;
use must_reach::{Figures, MUST_REACH};

use crate::steps::{StepError, run_step, run_step_collecting, run_step_judged};
use crate::workspace::Workspace;

/// Package, bench target and arguments of each.
const BENCHES: &[(&str, &str, &[&str])] = &[
    ("mastermind-component", "port_call", &[]),
    ("mastermind-component", "dispatch", &[]),
    ("mastermind-component", "swap_under_fire", &[]),
    ("mastermind-measurement", "append", &[]),
    ("mastermind-measurement", "sustained", &[]),
    ("proxy-mpi", "wrapper", &[]),
    ("mastermind-records", "read", &[]),
    ("cca-core", "scale", &[]),
    ("mastermind-models", "summarise", &[]),
    ("mastermind-composition", "optimiser", &[]),
    ("mastermind-queueing", "networks", &[]),
];

/// The benchmark that takes a number of calls, and its number for `--full`.
const SUSTAINED: (&str, [&str; 2]) = ("sustained", ["--calls", "100000000"]);

/// Packages whose examples are libraries that a benchmark loads.
const LIBRARIES: [&str; 2] = ["mastermind-component", "proxy-mpi"];

/// Most bytes a record of the case study in Parquet.
const PARQUET_BYTES: f64 = 10.0;

/// Builds the libraries that the benchmarks load, runs them one by one, and repeats the limits and figures. A missed
/// figure ends it with an error, after all have been measured.
///
/// # Arguments
/// * `full` - 10⁸ calls in a row, which write 4.8 GB beneath the folder for temporary files, instead of 10⁷
pub fn bench(workspace: &Workspace, full: bool) -> Result<(), StepError> {
    build::build_programs(workspace)?;
    for package in LIBRARIES {
        run_step(
            &format!("libraries of {package}"),
            &mut workspace.cargo(&["build", "--release", "-p", package, "--examples"]),
        )?;
    }
    let (mut reached, mut nothing) = (Vec::new(), Vec::new());
    for (package, bench, arguments) in BENCHES {
        let (sustained, many) = SUSTAINED;
        let arguments = match full && *bench == sustained {
            true => &many[..],
            false => arguments,
        };
        let words = [&["bench", "-p", package, "--bench", bench, "--"], arguments].concat();
        let title = format!("bench {bench}");
        let (text, status) = run_step_judged(&title, &mut workspace.cargo(&words))?;
        let lines = figures(&text);
        let is_explained = lines.iter().any(|line| is_missed(line)) || has_measured_nothing(&lines);
        if !status.success() && !is_explained {
            return Err(StepError::Failed { title, status });
        }
        if has_measured_nothing(&lines) {
            nothing.push(StepError::Failed { title, status });
        }
        reached.extend(lines);
    }
    let mut size = Figures::default();
    parquet(workspace, &mut size)?;
    reached.extend(figures(&size.lines().join("\n")));
    println!("\n==> what is to be reached, on this machine");
    reached.iter().for_each(|line| println!("    {line}"));
    processors::keep(workspace, &reached)?;
    if reached.iter().any(|line| is_missed(line)) {
        return Err(StepError::Refuted {
            what: "a figure that is to be reached is missed",
        });
    }
    match nothing.len() {
        0 => Ok(()),
        _ => Err(StepError::Several { failed: nothing }),
    }
}

/// The lines of a benchmark with its figures.
fn figures(text: &str) -> Vec<String> {
    let lines = text.lines();
    let figures = lines.filter_map(|line| line.strip_prefix(MUST_REACH));
    figures.map(str::to_owned).collect()
}

fn is_missed(figure: &str) -> bool {
    figure.starts_with("MISSED")
}

/// Whether a benchmark that prints figures reached no verdict on any of them.
fn has_measured_nothing(figures: &[String]) -> bool {
    !figures.is_empty() && figures.iter().all(|figure| figure.starts_with("unknown"))
}

/// Bytes a record of the case study as Parquet.
fn parquet(workspace: &Workspace, figures: &mut Figures) -> Result<(), StepError> {
    let folder = workspace.target.join("bench");
    let file_error = |act, path: &Path| {
        let path = path.display().to_string();
        move |source| StepError::File { act, path, source }
    };
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(file_error("remove", &folder))?;
    }
    let [records, dataset] = ["records", "parquet"].map(|name| folder.join(name));
    let [records_text, dataset_text] = [&records, &dataset].map(|path| path.display().to_string());
    let mastermind = |title: &str, arguments: &[&str]| {
        let mut command = Command::new(workspace.release().join("mastermind"));
        command.current_dir(&workspace.root).args(arguments);
        run_step_collecting(title, &mut command)
    };
    let assembly = crate::demo::ASSEMBLY;
    let run = mastermind(
        "records of the case study",
        &["run", assembly, "--records", &records_text],
    )?;
    mastermind(
        "the same as Parquet",
        &[
            "export",
            &records_text,
            "--format",
            "parquet",
            "-o",
            &dataset_text,
        ],
    )?;
    let bytes = bytes(&dataset).map_err(file_error("read", &dataset))? as f64;
    let what = "a record of the case study in Parquet";
    match recorded(&run) {
        Some(n) if n > 0 => figures.fact(what, bytes / n as f64, ..=PARQUET_BYTES, " bytes"),
        _ => figures.unknown(what, "the run does not say how many it recorded"),
    }
    Ok(())
}

/// The number of written records that a run prints: `rank 0: N records, …`.
fn recorded(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("rank 0: "))?;
    line.split(' ').next()?.parse().ok()
}

/// Bytes of all files beneath a folder.
fn bytes(folder: &Path) -> std::io::Result<u64> {
    let mut sum = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        sum += match path.is_dir() {
            true => bytes(&path)?,
            false => fs::metadata(&path)?.len(),
        };
    }
    Ok(sum)
}

/// The table of model fitting: 10⁸ records to models, then Extra-P and ours on the same measurements and functions.
pub fn extrap(workspace: &Workspace) -> Result<(), StepError> {
    run_step(
        "bench summarise",
        &mut workspace.cargo(&["bench", "-p", "mastermind-models", "--bench", "summarise"]),
    )?;
    let script = |arguments: &[&str]| {
        let mut script = Command::new("sh");
        script
            .arg(workspace.root.join("benches/extrap/run.sh"))
            .args(arguments)
            .env("CARGO_TARGET_DIR", &workspace.target);
        script
    };
    // Both are shown, whichever misses something.
    let measured = run_step("Extra-P and ours on measurements", &mut script(&["--real"]));
    run_step("Extra-P and ours", &mut script(&[]))?;
    measured
}

/// The policy of adaptation in simulated worlds; a run in which a component becomes slow; and the policies that choose
/// while a program runs, replayed on measured times.
pub fn adapt(workspace: &Workspace) -> Result<(), StepError> {
    let of_worlds = [
        "test",
        "--release",
        "-p",
        "mastermind-composition",
        "--test",
        "all",
        "worlds::long",
        "--",
        "--ignored",
        "--nocapture",
    ];
    let simulated = run_step("simulated worlds", &mut workspace.cargo(&of_worlds));
    let script = |name: &str| {
        let mut script = Command::new("sh");
        script
            .arg(workspace.root.join("benches/adapt").join(name))
            .env("CARGO_TARGET_DIR", &workspace.target);
        script
    };
    let replaced = "a component that becomes slow is replaced";
    let replaced = run_step(replaced, &mut script("replaced.sh"));
    let on_line = run_step("policies that choose on line", &mut script("run.sh"));
    let failed: Vec<_> = [simulated, replaced, on_line]
        .into_iter()
        .filter_map(Result::err)
        .collect();
    match failed.is_empty() {
        true => Ok(()),
        false => Err(StepError::Several { failed }),
    }
}

/// Every assembly of the case study, predicted and then run.
pub fn assemblies(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/case-study/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("every assembly, predicted and run", &mut script)
}

/// Formulas of contention compared with LINE's and simulations, and sensitivities compared with simulations with
/// other parameters.
pub fn queueing(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/queueing/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("contention by formula", &mut script)
}

/// How often `history check` calls equal runs slower, and how soon it finds a component that is, next to Apache Otava.
pub fn history(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/history/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("series of equal runs", &mut script)
}

/// Models of recorded runs on few ranks, next to runs on more; dry runs next to real ones.
pub fn end_to_end(workspace: &Workspace) -> Result<(), StepError> {
    let step = |name: &str, script: &str| {
        let mut command = Command::new("python3");
        command
            .arg(workspace.root.join("benches/end-to-end").join(script))
            .arg(workspace.release());
        run_step(name, &mut command)
    };
    // Both run, even if the first fails.
    let of_runs = step("models of recorded runs", "run.py");
    step("dry runs", "dry.py").and(of_runs)
}

/// Whether libraries that run other code are found, whether the processor is measured alike twice, and whether models carried to another
/// machine hold there.
pub fn machines(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/machines/run.py"))
        .arg(workspace.release());
    run_step("machines", &mut script)
}

/// Checks whether the first recommendation for a seeded problem is the best one, and saves its
/// output.
pub fn recommend(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/recommend/run.py"))
        .arg(workspace.release());
    run_step("recommend", &mut script)
}

/// Results of `fit` and `compare` on records that were taken next to a busy process.
pub fn busy(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/busy/run.py"))
        .arg(workspace.release());
    run_step("records of a busy machine", &mut script)
}

/// Cost of packing and reading records of large runs.
pub fn scale(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/scale/run.py"))
        .arg(workspace.release());
    run_step("records of large runs", &mut script)
}

/// How soon the page answers.
pub fn page(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/page/run.py"))
        .arg(workspace.release());
    run_step("answers of the page", &mut script)
}

/// Seconds in MPI and numbers of calls as `wrap` reports them, compared with mpiP's.
///
/// # Arguments
/// * `library` - libmpiP.so
pub fn mpip(workspace: &Workspace, library: &str) -> Result<(), StepError> {
    let mut script = Command::new("python3");
    script
        .arg(workspace.root.join("benches/mpip/run.py"))
        .arg(library)
        .arg(workspace.release());
    run_step("wrap and mpiP", &mut script)
}

/// The Python package from its wheel.
pub fn python(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/python/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("the Python package", &mut script)
}

/// Proxies of Debian's libraries: the prototypes of their headers, the results of their calls, and programs under `wrap`.
pub fn libraries(workspace: &Workspace) -> Result<(), StepError> {
    for (title, script) in [
        ("headers of Debian's libraries", "headers.py"),
        ("results through proxies", "same.py"),
        ("programs under wrap", "programs.py"),
    ] {
        let mut python = Command::new("python3");
        python
            .arg(workspace.root.join("benches/libraries").join(script))
            .arg(workspace.target.join("release"));
        run_step(title, &mut python)?;
    }
    Ok(())
}

/// The tables of the error correction, and the cost of a run compared with Operon's.
pub fn mecp(workspace: &Workspace) -> Result<(), StepError> {
    let mut script = Command::new("sh");
    script
        .arg(workspace.root.join("benches/mecp/run.sh"))
        .env("CARGO_TARGET_DIR", &workspace.target);
    run_step("corrected formulas, and Operon", &mut script)
}

#[cfg(test)]
mod tests {
    use super::{figures, is_missed, recorded};

    #[test]
    fn a_figure_that_is_missed_is_seen() {
        let text = "x 3 ns\nmust reach: reached  a: 1.00, at most 2\nmust reach: MISSED   b: 3.00, at most 2\n";
        let missed: Vec<_> = figures(text).iter().map(|line| is_missed(line)).collect();
        assert_eq!(missed, [false, true]);
        assert!(!is_missed("unknown  c: MISSED no round"));
    }

    #[test]
    fn a_run_says_what_it_recorded() {
        let text = "x: done on 1 rank in 2.00 s\nrank 0: 12036 records, 596496 bytes, in r\n";
        assert_eq!(recorded(text), Some(12036));
        assert_eq!(recorded("nothing"), None);
    }
}

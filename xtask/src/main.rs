//! `cargo xtask demo|test|bench`: the two commands of the README, and the measurements behind them.
//!
//! Each command is a list of [`steps`]: a heading, a program, the time it took. The first step
//! that fails ends the command with its name and a non-zero exit. [`system`] finds or installs the
//! system packages, [`build`] makes everything the binary loads.

mod axe;
mod bench;
mod build;
mod choice;
mod demo;
mod figures;
mod install;
mod notices;
mod prediction;
mod processors;
mod steps;
mod system;
mod test;
mod workspace;

use std::process::ExitCode;

use steps::StepError;
use system::System;
use workspace::Workspace;

const USAGE: &str = "usage: cargo xtask demo|figures|choice|prediction|test|tidy|bench|extrap|mecp|adapt|assemblies|queueing|end-to-end|history|machines|recommend|busy|scale|page|mpip|python|libraries|build|install|dist|system|examples [--no-install] [--full]

  demo          build, run the shock problem, fit, and choose an implementation
  figures       each figure of the case study's paper, from the adaptive case with either flux
  choice        the last part of the demo by itself; fails if a prediction does
  prediction    two programs under MPI simulated and run, predicted beside measured times; on a quiet machine;
                prediction openmpi or prediction mpich under that one alone
  test          every check there is, with MPI and with MPI hidden
  tidy          the rules of the sources alone, which need no build; tidy --figures prints how readable the sources are
  bench         the cost of a call, of a recorded call, and the like
  extrap        how well and how fast models are fitted, beside Extra-P; needs python3 and a package index
  mecp          how well corrected formulas predict, and what the search costs beside Operon's; as extrap
  adapt         what adaptation loses and saves in simulated worlds, SEEDS runs of each (50); how near to an oracle the choice of an
                implementation comes while it is learnt what each takes, beside other policies, as extrap; and what a run takes
                where a component becomes slow
  assemblies    every assembly of the case study predicted before it is run, in processor seconds; about ten minutes
  queueing      formulas of contention beside LINE's and beside simulations, and what simulated times depend on; as extrap
  end-to-end    models of runs recorded on few ranks, next to runs on more; dry runs next to real ones; as extrap
  history       false and missed alarms of history check over series of runs, beside Apache Otava's; as extrap
  machines      whether libraries that run other code are found, whether the processor is measured alike twice, and whether models
                carried to another machine hold there; as extrap
  recommend     whether the first recommendation for a seeded problem is the best one, and saves what it says; needs python3
  busy          what fit and compare make of the adaptive case's records where another process keeps a processor busy
  scale         records of large runs: bytes a call packed, speed of packing and reading, a profile of 100,000 ranks; needs python3
  page          how soon the page answers about a run of 10^8 records and large files, and what watching a run costs; needs python3
  mpip          wrap beside mpiP: mpip LIBMPIP, the libmpiP.so of the MPI that mpicc and mpirun are of
  python        the Python package: wheel, notebooks, tables in pandas, Polars and DuckDB, 10^7 records; as extrap
  libraries     proxies of Debian's libraries: prototypes, results, programs that nobody here wrote; names what is not installed
  build         the binary, the component libraries, the MPI back ends
  install       all of them with headers, examples, completions and manual pages, into --prefix DIR
  dist          the same as an archive in target/dist, to be unpacked anywhere; dist --glibc 2.28 makes one for systems with
                that glibc or a newer one, and needs cargo-zigbuild (python3 -m pip install cargo-zigbuild ziglang)
  system        what this machine lacks, installed where that is possible
  examples      the libraries that examples/fft and examples/sparse are over, installed where that is possible

  --no-install  do not install system packages
  --no-build    install, dist: what is built already
  --full        bench: 10^8 calls in a row, which write 4.8 GB, instead of 10^7";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let install = !arguments.iter().any(|a| a == "--no-install");
    let full = arguments.iter().any(|a| a == "--full");
    let is_built = arguments.iter().any(|a| a == "--no-build");
    let words: Vec<&str> = arguments
        .iter()
        .map(String::as_str)
        .filter(|a| !["--no-install", "--no-build", "--full"].contains(a))
        .collect();
    let (command, argument) = match *words.as_slice() {
        ["install"] => ("install without --prefix", None),
        ["mpip"] => ("mpip without LIBMPIP", None),
        [command] => (command, None),
        ["prediction" | "mpip", argument] => (words[0], Some(argument)),
        ["install", "--prefix", prefix] => ("install", Some(prefix)),
        ["tidy", "--figures"] => ("tidy --figures", None),
        ["dist", "--glibc", version] if version.starts_with("2.") => ("dist", Some(version)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if matches!(command, "help" | "--help" | "-h") {
        println!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match run(command, argument, [install, full, is_built]) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\nxtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command of the [`USAGE`].
fn run(
    command: &str,
    argument: Option<&str>,
    [install, full, is_built]: [bool; 3],
) -> Result<(), StepError> {
    let prepared = || -> Result<(Workspace, System), StepError> {
        Ok((Workspace::find()?, system::prepare(install)?))
    };
    match command {
        "examples" => system::prepare_examples(),
        "system" => system::prepare_tests(install).map(|_| ()),
        "build" => prepared().and_then(|(workspace, system)| build::build(&workspace, &system)),
        "install" => prepared().and_then(|(workspace, system)| {
            let prefix = std::path::absolute(argument.unwrap_or_default());
            let prefix = prefix.map_err(|source| StepError::File {
                act: "find",
                path: argument.unwrap_or_default().to_owned(),
                source,
            })?;
            install::install(&workspace, &system, &prefix, is_built)
        }),
        "dist" => prepared().and_then(|(workspace, system)| {
            let workspace = match argument {
                Some(glibc) => workspace.for_glibc(glibc),
                None => workspace,
            };
            install::dist(&workspace, &system, is_built)
        }),
        "demo" => Workspace::find().and_then(|workspace| {
            let system = system::prepare_during(install, || build::begin(&workspace))?;
            demo::demo(&workspace, &system)
        }),
        "figures" => {
            prepared().and_then(|(workspace, system)| figures::figures(&workspace, &system))
        }
        "choice" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            choice::choice(&demo::Demo::new(&workspace)?)
        }),
        "prediction" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            prediction::prediction(&demo::Demo::new(&workspace)?, &system, argument)
        }),
        "tidy" => Workspace::find().and_then(|workspace| test::rules(&workspace)),
        "tidy --figures" => Workspace::find().and_then(|workspace| test::figures(&workspace)),
        "test" => test::test(&Workspace::find()?, &system::prepare_tests(install)?),
        "bench" => Workspace::find().and_then(|workspace| bench::bench(&workspace, full)),
        "extrap" => Workspace::find().and_then(|workspace| bench::extrap(&workspace)),
        "mecp" => Workspace::find().and_then(|workspace| bench::mecp(&workspace)),
        "adapt" => Workspace::find().and_then(|workspace| bench::adapt(&workspace)),
        "assemblies" => Workspace::find().and_then(|workspace| bench::assemblies(&workspace)),
        "queueing" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::queueing(&workspace)
        }),
        "end-to-end" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::end_to_end(&workspace)
        }),
        "history" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::history(&workspace)
        }),
        "machines" => Workspace::find().and_then(|workspace| bench::machines(&workspace)),
        "recommend" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::recommend(&workspace)
        }),
        "busy" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::busy(&workspace)
        }),
        "scale" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::scale(&workspace)
        }),
        "page" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::page(&workspace)
        }),
        "mpip" => existing(argument.unwrap_or_default()).and_then(|library| {
            let (workspace, system) = prepared()?;
            build::build(&workspace, &system)?;
            bench::mpip(&workspace, library)
        }),
        "python" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::python(&workspace)
        }),
        "libraries" => prepared().and_then(|(workspace, system)| {
            build::build(&workspace, &system)?;
            bench::libraries(&workspace)
        }),
        other => Err(StepError::Usage {
            found: other.to_owned(),
            usage: USAGE,
        }),
    }
}

/// The file, checked before minutes of building.
fn existing(path: &str) -> Result<&str, StepError> {
    let found = std::fs::metadata(path).map_err(|source| StepError::File {
        act: "find",
        path: path.to_owned(),
        source,
    });
    found.map(|_| path)
}

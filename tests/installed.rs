//! The installed programs run from any folder, without the sources and without the build folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir, compile_mpi, mpi_fixture, mpirun, mpis_with, output};

/// Installs the build, and moves it elsewhere.
fn installed(scratch: &Scratch) -> PathBuf {
    let (prefix, moved) = (scratch.path("prefix"), scratch.path("moved"));
    let mut xtask = Command::new(bin_dir().join("xtask"));
    xtask.args(["install", "--no-build", "--no-install", "--prefix"]);
    scratch.run(xtask.arg(&prefix)).well();
    fs::rename(prefix, &moved).expect("another place");
    moved
}

fn mastermind(prefix: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(prefix.join("bin/mastermind"));
    command.args(words).env_remove("CCA_COMPONENT_PATH");
    command
}

#[test]
fn an_installation_finds_its_own_parts() {
    let scratch = Scratch::new();
    let prefix = installed(&scratch);
    let described = scratch.run(&mut mastermind(
        &prefix,
        &["describe", "hydro.RK2", "--json"],
    ));
    let library = prefix.join("lib/mastermind/libhydro_rk2.so");
    let described = described.well();
    assert!(
        described.contains(&library.display().to_string()),
        "{described}"
    );

    // The shock assembly, which names its libraries relative to itself, from a folder of its own.
    let assembly = prefix.join("share/mastermind/examples/shock/shock.toml");
    let assembly = assembly.display().to_string();
    let run = [
        "run",
        &assembly,
        "--set",
        "driver.max_steps=2",
        "--records",
        "records",
    ];
    scratch.run(&mut mastermind(&prefix, &run)).well();
    let info = scratch
        .run(&mut mastermind(&prefix, &["info", "records"]))
        .well();
    assert!(info.contains("shock"), "{info}");

    let size = |path: &Path| path.metadata().expect("a file").len();
    let binary = prefix.join("bin/mastermind");
    assert!(
        size(&binary) < size(&bin_dir().join("mastermind")),
        "{}",
        size(&binary)
    );
    for part in [
        "include/mastermind/cca.h",
        "include/mastermind/cca_proxy.h",
        "share/man/man1/mastermind-run.1",
        "share/bash-completion/completions/mastermind",
        "share/zsh/site-functions/_mastermind",
        "share/fish/vendor_completions.d/mastermind.fish",
        "share/doc/mastermind/LICENSE-MIT",
        "share/doc/mastermind/THIRD-PARTY.txt",
        "share/doc/mastermind/guide/introduction.md",
        "lib/mastermind/python/mastermind/_mastermind.abi3.so",
    ] {
        assert!(size(&prefix.join(part)) > 100, "{part}");
    }
    // New crates depend on the crates that were installed.
    let new = ["new", "component", "demo.Solver", "-o", "solver"];
    scratch
        .run(mastermind(&prefix, &new).current_dir(scratch.path(".")))
        .well();
    let manifest = scratch.read("solver/Cargo.toml");
    let paths = manifest.split("path = \"").skip(1);
    let paths: Vec<_> = paths.filter_map(|rest| rest.split('"').next()).collect();
    let source = prefix.join("share/mastermind/source");
    for path in paths.iter().map(Path::new) {
        assert!(
            path.starts_with(&source) && path.join("Cargo.toml").is_file(),
            "{path:?}"
        );
    }
    assert!(paths.len() > 1, "{manifest}");
    // All that they need of one another is there, too; of other systems nothing has been downloaded.
    let solver = scratch.path("solver");
    let mut tree = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    tree.args(["tree", "--offline", "--manifest-path"]);
    let packages = scratch.run(tree.arg(solver.join("Cargo.toml"))).well();
    assert!(packages.contains("demo-solver"), "{packages}");

    // Where the dynamic linker cannot take its path, the program is not started without its measurement.
    let blank = scratch.path("a blank");
    fs::rename(&prefix, &blank).expect("another place");
    let wrap = ["wrap", "--records", "wrapped", "--", "echo", "started"];
    let ended = scratch.run(&mut mastermind(&blank, &wrap));
    assert_eq!(ended.stdout, "");
    let error = ended.error();
    assert!(error.contains("a colon or a blank in its path"), "{error}");
}

#[test]
fn an_installation_measures_programs_under_each_mpi() {
    let scratch = Scratch::new();
    let prefix = installed(&scratch);
    for mpi in mpis_with("mpicc") {
        let report = scratch.path("report.o");
        let mut cc = Command::new("cc");
        cc.args(["-c", "-o"])
            .arg(&report)
            .arg(mpi_fixture("report.c"));
        output(&mut cc);
        let program = compile_mpi(mpi, "calls.c", &[], &[report], &scratch.path(""));
        let records = format!("records-{mpi}");
        let mut command = mpirun(mpi, 2, &scratch.path(""));
        command.arg(prefix.join("bin/mastermind"));
        command
            .args(["wrap", "--records", &records, "--"])
            .arg(program);
        scratch.run(&mut command).well();
        let profile = scratch
            .run(&mut mastermind(&prefix, &["profile", &records]))
            .well();
        assert!(profile.contains("MPI_Allreduce()"), "{profile}");

        let assembly = prefix.join("share/mastermind/examples/shock/shock.toml");
        let assembly = assembly.display().to_string();
        let run = ["run", &assembly, "--ranks", "2", "--mpi", mpi];
        let short = ["--set", "driver.max_steps=2"];
        scratch.run(mastermind(&prefix, &run).args(short)).well();
    }
}

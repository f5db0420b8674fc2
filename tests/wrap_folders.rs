//! Where the records of a wrapped program go: to a directory that belongs to one run; foreign files in it are not
//! changed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};

use mastermind_tests::{
    Scratch, bin_dir, compile_mpi, ended, mpi_fixture, mpirun, mpis_with, output, root,
};
use serde_json::Value;

fn ranks(records: &str) -> Value {
    let mut command = Command::new(bin_dir().join("mastermind"));
    let text = output(command.args(["profile", records, "--json"]));
    let profile: Value = serde_json::from_str(&text).expect("JSON");
    profile["ranks"].clone()
}

fn wrap(scratch: &Scratch) -> Command {
    let mut command = Command::new(bin_dir().join("mastermind"));
    command.current_dir(scratch.path(""));
    command.args(["wrap", "--records", "records", "--"]);
    command
}

/// A program under `wrap` that waits for its input to end.
fn waiting(scratch: &Scratch) -> (Child, ChildStdin) {
    let mut command = wrap(scratch);
    command.args(["sh", "-c", "echo begun; cat"]);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a program");
    let mut line = [0; 6];
    let stdout = child.stdout.as_mut().expect("its output");
    std::io::Read::read_exact(stdout, &mut line).expect("a line");
    let stdin = child.stdin.take().expect("its input");
    (child, stdin)
}

/// Neither has called MPI yet.
#[test]
fn two_programs_begun_in_one_directory_do_not_share_it() {
    let Some(mpi) = mpis_with("mpicc").into_iter().next() else {
        return;
    };
    let scratch = Scratch::new();
    let report = scratch.path("report.o");
    let mut cc = Command::new("cc");
    output(
        cc.args(["-c", "-o"])
            .arg(&report)
            .arg(mpi_fixture("report.c")),
    );
    let program = compile_mpi(mpi, "calls.c", &[], &[report], &scratch.path(""));
    let (mut first, stdin) = waiting(&scratch);
    let launcher = mpirun(mpi, 2, &scratch.path(""));
    let mut second = wrap(&scratch);
    second.arg(launcher.get_program()).args(launcher.get_args());
    scratch.run(second.arg(&program)).well();
    assert_eq!(ranks(&scratch.text("records.2")), 2);
    drop(stdin);
    assert!(first.wait().expect("a program").success());
    // It left no records, so its directory is gone.
    assert!(!scratch.path("records").exists());
}

#[test]
fn ranks_that_ranks_start_are_a_world_of_their_own() {
    for mpi in mpis_with("mpicc") {
        let scratch = Scratch::new();
        let program = scratch.path("spawn");
        let mut cc = Command::new(format!("mpicc.{mpi}"));
        let guest = root().join("tests/fixtures/guest");
        cc.arg("-o").arg(&program).arg(guest.join("mpi_spawn.c"));
        cc.arg("-I").arg(root().join("tests/fixtures/round_about"));
        cc.arg("-Wl,--unresolved-symbols=ignore-all");
        output(&mut cc);
        let mut alone = mpirun(mpi, 1, &scratch.path(""));
        let alone = ended(alone.arg(&program));
        if !alone.status.success() {
            println!("skipped: {mpi} starts no ranks here");
            continue;
        }
        let launcher = mpirun(mpi, 1, &scratch.path(""));
        let mut command = wrap(&scratch);
        command
            .arg(launcher.get_program())
            .args(launcher.get_args());
        command.envs(
            launcher
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        );
        let ended = scratch.run(command.arg(&program));
        assert!(
            ended.stderr.contains("spawned: <dir>/records.2"),
            "{ended:?}"
        );
        ended.well();
        let found = ["records", "records.2"].map(|name| ranks(&scratch.text(name)));
        assert_eq!(found, [1, 3]);
    }
}

#[test]
fn no_link_is_followed() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("records")).expect("a folder");
    let foreign = scratch.write("foreign", "of another");
    let names = ["rank0000.mapped", "rank0000.error", "claim"];
    for name in names {
        let link = scratch.path("records").join(name);
        symlink(&foreign, link).expect("a link");
    }
    scratch.run(wrap(&scratch).arg("true")).well();
    assert_eq!(scratch.read("foreign"), "of another");
}

/// A loop in a batch script.
#[test]
fn a_directory_without_records_is_used_again() {
    let scratch = Scratch::new();
    for _ in 0..3 {
        scratch.run(wrap(&scratch).arg("true")).well();
    }
    let left: Vec<PathBuf> = fs::read_dir(scratch.path(""))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
}

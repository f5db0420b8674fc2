//! Launchers and MPIs that do not match: an error, never several runs of one rank, and never a run that hangs.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use cca_comm::MpiKind;
use mastermind_tests::{Ended, Scratch, bin_dir, mpis};

fn shock(scratch: &Scratch) -> PathBuf {
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 2");
    scratch.example("shock/shock.toml", &[], &[edit])
}

/// Runs it under a launcher, and again if the launcher itself dies of a signal: MPICH's occasionally does when all its
/// processes end at once.
fn launched(scratch: &Scratch, command: &mut Command) -> Ended {
    let mut tries = (0..5).map(|_| scratch.run(command));
    let ended = tries.find(|ended| ended.code.is_some());
    ended.expect("a launcher that ends by itself")
}

/// Our own lines: launchers print many of their own.
fn errors(ended: &Ended) -> Vec<&str> {
    assert!(ended.code.is_some_and(|code| code != 0), "{ended:#?}");
    assert!(!ended.stdout.contains("done on"), "{ended:#?}");
    let lines = ended.stderr.lines();
    lines.filter(|line| line.starts_with("error: ")).collect()
}

#[test]
fn a_wrong_launcher() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let mpis = mpis();
    let [open_mpi, mpich] = &mpis[..] else {
        // The function that searched has reported which of them is missing.
        return;
    };
    for (launcher, name, starter, other) in [
        (open_mpi, "mpich", "Open MPI's mpirun", "MPICH"),
        (mpich, "openmpi", "MPICH's mpiexec", "Open MPI"),
    ] {
        let mut command = launcher.launch(2);
        command.arg(bin_dir().join("mastermind"));
        command.arg("run").arg(&assembly);
        command.args(["--mpi", name, "--records", "records"]);
        let ended = launched(&scratch, &mut command);
        let expected = format!(
            "error: cannot run 2 ranks: {other} has 1, expected the 2 that {starter} started; \
             start with {other}'s own launcher, or choose the other MPI with --mpi"
        );
        assert_eq!(errors(&ended), [expected]);
        assert!(!scratch.path("records").exists());
    }
}

#[test]
fn a_missing_back_end() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let lone = scratch.path("mastermind");
    fs::copy(bin_dir().join("mastermind"), &lone).expect("a copy");
    for mpi in mpis() {
        let mut command = mpi.launch(2);
        command.arg(&lone).arg("run").arg(&assembly);
        let ended = launched(&scratch, &mut command);
        let starter = match mpi.kind {
            MpiKind::OpenMpi => "Open MPI's mpirun",
            MpiKind::Mpich => "MPICH's mpiexec",
        };
        let expected = format!(
            "error: cannot run 2 ranks: no MPI back end found, expected one for {starter}; build it \
             with cargo xtask build, or run without a launcher"
        );
        assert_eq!(errors(&ended), [expected]);
    }
    let mut command = Command::new(&lone);
    let ended = scratch.run(command.arg("run").arg(&assembly).args(["--ranks", "2"]));
    let [error] = errors(&ended)[..] else {
        panic!("{ended:#?}");
    };
    let (start, end) = (
        "error: cannot run 2 ranks: no ",
        ", expected an MPI with its back end; run mastermind doctor",
    );
    assert!(error.starts_with(start) && error.ends_with(end), "{error}");
    // One rank needs no launcher, whatever started it.
    for mpi in mpis() {
        let mut command = mpi.launch(1);
        command.arg(&lone).arg("run").arg(&assembly);
        scratch.run(&mut command).well();
    }
}

#[test]
fn a_back_end_that_is_no_library() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let lone = scratch.path("mastermind");
    fs::copy(bin_dir().join("mastermind"), &lone).expect("a copy");
    for mpi in mpis() {
        let name = mpi.kind.name();
        fs::create_dir_all(scratch.path(&format!("mpi/{name}"))).expect("a folder");
        scratch.write(&format!("mpi/{name}/libcca_comm_mpi.so"), "nothing");
        let mut command = mpi.launch(2);
        command.arg(&lone).arg("run").arg(&assembly);
        let ended = launched(&scratch, &mut command);
        let found = errors(&ended);
        assert!(
            found.len() == 1 && found[0].contains("cannot open library"),
            "{ended:#?}"
        );
    }
}

#[test]
fn another_number_than_the_launcher_started() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    for mpi in mpis() {
        let mut command = mpi.launch(2);
        command.arg(bin_dir().join("mastermind"));
        command.arg("run").arg(&assembly).args(["--ranks", "3"]);
        let ended = launched(&scratch, &mut command);
        let found = errors(&ended);
        let start = "error: cannot run 3 ranks: ";
        assert!(
            found.len() == 1 && found[0].starts_with(start),
            "{ended:#?}"
        );
    }
}

#[test]
fn more_ranks_than_patches() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let patches = ["--set", "mesh.patches_x=2", "--set", "mesh.patches_y=1"];
    for mpi in mpis() {
        let ranks = ["--ranks", "3", "--mpi", mpi.kind.name()];
        let ended = scratch.verb("run", &assembly, &[&patches[..], &ranks].concat());
        // Every rank has the error; it is reported once.
        assert_eq!(errors(&ended).len(), 1);
        let wanted =
            "cannot split mesh \"96 x 32\": 2 patches for 3 ranks, expected at least one a rank";
        assert!(ended.stderr.contains(wanted), "{ended:#?}");
    }
}

/// The patch with the vacuum is one rank's; the others wait for its ghost cells.
#[test]
fn an_error_on_one_rank_ends_all() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let apart = ["--set", "ic.left_u=-20", "--set", "ic.right_u=20"];
    for mpi in mpis() {
        for ranks in ["2", "3"] {
            let ranks = ["--ranks", ranks, "--mpi", mpi.kind.name()];
            let ended = scratch.verb("run", &assembly, &[&apart[..], &ranks].concat());
            assert!(!errors(&ended).is_empty());
            assert!(ended.stderr.contains("vacuum"), "{ended:#?}");
        }
    }
}

/// A failure in a step that only the first rank executes.
#[test]
fn an_error_on_the_first_rank_ends_all() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    let output = [
        "--set",
        "output.csv=gone/field.csv",
        "--set",
        "driver.output_every=1",
    ];
    for mpi in mpis() {
        let ranks = ["--ranks", "2", "--mpi", mpi.kind.name()];
        let ended = scratch.verb("run", &assembly, &[&output[..], &ranks].concat());
        assert!(!errors(&ended).is_empty());
        assert!(ended.stderr.contains("gone/field.csv"), "{ended:#?}");
    }
}

#[test]
fn what_the_first_rank_finds_wrong_is_reported_once() {
    let scratch = Scratch::new();
    let assembly = shock(&scratch);
    for mpi in mpis() {
        for (arguments, start) in [
            (
                &["--set", "driver.cfk=1"][..],
                "error: cannot set parameter \"driver.cfk\"",
            ),
            (
                &["--records", "records", "--monitor", "flux.x"],
                "error: cannot monitor \"flux.x\"",
            ),
        ] {
            let mut command = mpi.launch(2);
            command.arg(bin_dir().join("mastermind"));
            command.arg("run").arg(&assembly).args(arguments);
            let ended = launched(&scratch, &mut command);
            let found = errors(&ended);
            assert!(
                found.len() == 1 && found[0].starts_with(start),
                "{ended:#?}"
            );
            assert!(!scratch.path("records").exists());
        }
        // A failing measurement never ends the program that it measures.
        let mut command = mpi.launch(2);
        command.arg(bin_dir().join("mastermind"));
        let unwritable = ["--records", "/proc/records"];
        command.arg("run").arg(&assembly).args(unwritable);
        let ended = launched(&scratch, &mut command);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let warning = "warning: nothing is recorded, the run goes on";
        assert_eq!(ended.stderr.matches(warning).count(), 1, "{ended:#?}");
    }
}

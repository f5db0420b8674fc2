//! `run`, `check`, `shell` and `graph` with rc scripts and wrong input, as a user calls them.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use mastermind_tests::{bin_dir, root};

fn mastermind(arguments: &[&str], input: &str) -> (i32, String, String) {
    let mut child = Command::new(bin_dir().join("mastermind"))
        .args(arguments)
        .env("CCA_COMPONENT_PATH", bin_dir())
        .current_dir(root())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("mastermind; run `cargo xtask test`");
    let mut stdin = child.stdin.take().expect("an input");
    // It may end before it has read everything.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let Output {
        status,
        stdout,
        stderr,
    } = child.wait_with_output().expect("an end");
    let text = |bytes| String::from_utf8(bytes).expect("a text");
    (status.code().expect("a code"), text(stdout), text(stderr))
}

fn script(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a script");
    path.display().to_string()
}

#[test]
fn a_walk_through_the_shell() {
    let walk = "\
repository get hydro.GodunovFlux
repository get hydro.InviscidFlux
repository get hydro.StatesConstructor
instantiate hydro.GodunovFlux flux
instantiate hydro.InviscidFlux rhs
instantiate hydro.StatesConstructor states
connect rhs flux flux flux
connect rhs flux flux flux
links
disconnect rhs flux flux flux
links
remove flux
remove flux
arena
go rhs go
frobnicate
exit 7
";
    let (code, shown, errors) = mastermind(&["shell"], walk);
    assert_eq!(code, 7, "{errors}");
    let expected = "rhs.flux -> flux.flux\nno connection\nrhs of type hydro.InviscidFlux\nstates of type hydro.StatesConstructor\n";
    assert!(shown.starts_with(expected), "{shown}");
    for wrong in [
        "connected already",
        "cannot find instance \"flux\": unknown, expected one of rhs, states",
        "cannot run command \"frobnicate\": undefined",
        "cannot go \"rhs.go\"",
    ] {
        assert!(errors.contains(wrong), "{wrong}\n{errors}");
    }
}

/// The case study from scratch: made, connected, configured, run, changed, run again, taken apart.
#[test]
fn the_case_study_by_hand() {
    let script = std::fs::read_to_string(root().join("examples/shock/shock.rc"));
    let script = script.expect("a script");
    let until_go = script.split("go driver go").next().expect("a part");
    let walk = format!(
        "{until_go}
configure driver parameters ALL
configure driver parameters max_steps 2
configure driver parameters cfl 7
configure driver parameters cfl
go driver go
repository get hydro.EfmFlux
instantiate hydro.EfmFlux efm
disconnect rhs flux flux flux
go driver go
connect rhs flux efm flux
remove flux
go driver go
display component rhs
links
remove driver
configure driver parameters cfl 0.2
nuke all
arena
"
    );
    let (code, shown, errors) = mastermind(&["shell"], &walk);
    assert_eq!(code, 1, "{errors}");
    let went = |line: &&str| line.contains("specific go command");
    let went: Vec<_> = shown.lines().filter(went).collect();
    let (good, bad) = (
        "##specific go command successful",
        "#specific go command failed",
    );
    assert_eq!(went, [good, bad, good], "{shown}{errors}");
    for line in [
        "max_steps = 0 steps",
        "cfl = 0.4",
        "  uses flux: hydro.Flux/1.0",
        "rhs.flux -> efm.flux",
    ] {
        assert!(shown.lines().any(|l| l == line), "{line}\n{shown}");
    }
    assert!(!shown.contains("-> comm"), "{shown}");
    assert_eq!(shown.lines().last(), Some("no instance"));
    let wrong = [
        "error: cannot set parameter \"driver.parameters.cfl\": 7, expected 0.001 to 1",
        "error: cannot go \"driver.go\"",
        "error: cannot find instance \"driver\": unknown, expected one of bc, characteristics, efm, ic, mesh, output, rhs, rk2, states, statistics",
    ];
    let found = errors.lines().filter(|line| line.starts_with("error: "));
    assert_eq!(found.collect::<Vec<_>>(), wrong);
    assert!(
        errors.contains("port \"flux\" of \"rhs\": not connected"),
        "{errors}"
    );
}

#[test]
fn the_shell_runs_a_script_and_then_its_input() {
    let folder = tempfile::tempdir().expect("a folder");
    let text =
        "repository get hydro.GodunovFlux\ninstantiate hydro.GodunovFlux flux\neof\nremove flux\n";
    let file = script(folder.path(), "flux.rc", text);
    let (code, shown, errors) = mastermind(&["shell", &file], "arena\n");
    assert_eq!((code, errors.as_str()), (0, ""));
    assert_eq!(shown, "flux of type hydro.GodunovFlux\n");
    let (code, _, _) = mastermind(&["shell"], "wrong\n");
    assert_eq!(code, 1);
    let (_, shown, _) = mastermind(&["shell", "--enable-shell"], "shell echo a  b\n");
    assert_eq!(shown, "a b\n");
}

#[test]
fn errors_of_a_script_have_its_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "# one\nfrobnicate\nrepository get hydro.Nobody\ninstantiate hydro.Nobody x\n";
    let file = script(folder.path(), "wrong.rc", text);
    let (code, shown, errors) = mastermind(&["check", &file], "");
    assert_eq!(
        (code, shown.trim_end()),
        (1, "wrong: 2 problems"),
        "{errors}"
    );
    assert!(errors.contains("warning: line 2: cannot run command \"frobnicate\""));
    assert!(
        errors.contains("error: line 3: cannot load class \"hydro.Nobody\""),
        "{errors}"
    );
    let (code, shown, _) = mastermind(&["check", &file, "--strict"], "");
    assert_eq!((code, shown.trim_end()), (1, "wrong: 3 problems"));
    let (code, _, errors) = mastermind(&["run", &file], "");
    assert_eq!(code, 1);
    assert!(errors.contains("line 3"), "{errors}");
    let unknown = script(folder.path(), "unknown.rc", "frobnicate\nexit 4\n");
    assert_eq!(mastermind(&["run", &unknown], "").0, 4);
    assert_eq!(mastermind(&["run", &unknown, "--strict"], "").0, 1);
    let builder = script(folder.path(), "shock.bld", "instantiate x y\n");
    let (code, _, errors) = mastermind(&["run", &builder], "");
    assert_eq!(code, 1);
    assert!(
        errors.contains("a .bld file of the graphical builder"),
        "{errors}"
    );
}

#[test]
fn the_case_study_runs_from_its_script_with_the_options_of_run() {
    let file = "examples/shock/shock.rc";
    let (code, shown, errors) = mastermind(&["check", file], "");
    assert_eq!(
        (code, shown.as_str()),
        (0, "shock: 11 instances, 13 connections, no problem\n"),
        "{errors}"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let records = folder.path().join("records").display().to_string();
    let (code, shown, errors) = mastermind(
        &[
            "run",
            file,
            "--set",
            "driver.max_steps=3",
            "--replace",
            "flux=hydro.EfmFlux",
            "--records",
            &records,
        ],
        "",
    );
    assert_eq!(code, 0, "{errors}");
    assert!(shown.contains("shock: done on 1 rank"), "{shown}");
    assert!(
        shown.contains("##specific go command successful"),
        "{shown}"
    );
    let (_, profile, _) = mastermind(&["profile", &records], "");
    assert!(profile.contains("flux.compute"), "{profile}");
}

#[test]
fn the_wiring_is_drawn_in_every_format() {
    for file in ["examples/shock/shock.toml", "examples/shock/shock.rc"] {
        let graph = |format| mastermind(&["graph", file, "--format", format], "").1;
        assert!(graph("dot").contains("\"rhs\":\"u_flux\" -> \"flux\":\"p_flux\""));
        assert_eq!(graph("svg").matches("class=\"wire\"").count(), 13);
        let json = graph("json");
        assert!(json.contains("\"go\": \"driver.go\""), "{json}");
        assert_eq!(json.matches("\"uses\": \"").count(), 13);
    }
}

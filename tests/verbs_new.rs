//! `new component` and `new port` in C: what they make builds, loads, passes `check`, and its test passes.

use std::path::Path;
use std::process::Command;

use mastermind_tests::bin_dir;

fn succeeds(command: &mut Command) {
    let output = command.output().expect("a program");
    let (out, error) = (&output.stdout, &output.stderr);
    assert!(
        output.status.success(),
        "{command:?}\n{}{}",
        String::from_utf8_lossy(out),
        String::from_utf8_lossy(error)
    );
}

fn mastermind(arguments: &[&str], folder: &Path) {
    succeeds(
        Command::new(bin_dir().join("mastermind"))
            .args(arguments)
            .current_dir(folder),
    );
}

#[test]
fn a_component_and_a_port_in_c() {
    let folder = tempfile::tempdir().expect("a folder");
    let begin = |what: &str, name: &str| {
        mastermind(&["new", what, name, "--language", "c"], folder.path());
    };
    begin("component", "demo.Solver");
    let made = folder.path().join("demo_solver");
    let make = |arguments: &[&str], folder: &Path| {
        let warnings = "CFLAGS=-O2 -std=c11 -Wall -Wextra -Werror -pedantic -fPIC";
        succeeds(
            Command::new("make")
                .arg(warnings)
                .args(arguments)
                .current_dir(folder),
        );
    };
    make(&["test"], &made);
    make(&[], &made);
    mastermind(&["check", "assembly.toml"], &made);
    mastermind(&["run", "assembly.toml"], &made);
    begin("port", "demo.Sum");
    make(&["test"], &folder.path().join("demo_sum"));
}

//! `new component` and `new port`, in Rust and C: the result builds, loads, passes `check`, and its test passes.

use std::path::Path;
use std::process::Command;

use mastermind_tests::{bin_dir, cargo, mastermind, root, succeeds};

#[test]
fn a_component_and_a_port_in_rust() {
    let folder = tempfile::tempdir().expect("a folder");
    let sources = root().join("framework").display().to_string();
    let begin = |what: &str, name: &str| {
        mastermind(&["new", what, name, "--framework", &sources], folder.path());
    };
    begin("component", "demo.fast-solver");
    let made = folder.path().join("demo-fast-solver");
    cargo(&["test"], &made);
    cargo(&["build"], &made);
    // Where the assembly would find it without the target folder that the tests share.
    let release = made.join("target/release");
    std::fs::create_dir_all(&release).expect("a folder");
    let library = "libdemo_fast_solver.so";
    let built = bin_dir().with_file_name("new").join("debug").join(library);
    std::fs::copy(built, release.join(library)).expect("a library");
    mastermind(&["check", "assembly.toml"], &made);
    mastermind(
        &["describe", "target/release/libdemo_fast_solver.so"],
        &made,
    );
    mastermind(&["run", "assembly.toml", "--set", "x.steps=5"], &made);
    begin("port", "demo.Sum");
    cargo(&["test"], &folder.path().join("demo-sum-ports"));
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

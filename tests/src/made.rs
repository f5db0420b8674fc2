//! Crates and projects that the binary generates, built.

use std::path::Path;
use std::process::Command;

use crate::bin_dir;

/// Runs a command.
///
/// # Returns
/// Its standard output.
///
/// # Panics
/// If it fails, with its output.
pub fn succeeds(command: &mut Command) -> String {
    let output = command.output().expect("a program");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}\n{out}{error}");
    out
}

/// Runs the binary in a folder.
///
/// # Panics
/// If it does not end well.
pub fn mastermind(arguments: &[&str], folder: &Path) -> String {
    succeeds(
        Command::new(bin_dir().join("mastermind"))
            .args(arguments)
            .current_dir(folder),
    )
}

/// Runs Cargo in a new crate; its dependencies are built once for all tests.
///
/// # Panics
/// If it does not end well.
pub fn cargo(arguments: &[&str], folder: &Path) -> String {
    let target = bin_dir();
    let target = target.parent().expect("a target folder");
    let (command, words) = arguments.split_first().expect("a command of Cargo");
    succeeds(
        Command::new(env!("CARGO"))
            .args([command, "--offline"])
            .args(words)
            .env("CARGO_TARGET_DIR", target.join("new"))
            // Nobody needs line numbers of what is built here.
            .env("CARGO_PROFILE_DEV_DEBUG", "false")
            .env_remove("RUSTFLAGS")
            .current_dir(folder),
    )
}

//! Printed output: lost output is reported, a reader that has gone away is no error, and names are shown whatever they
//! contain.

use std::fs;
use std::process::Command;

use mastermind_tests::{Scratch, bin_dir};

/// A program under `sh`, such as `mastermind … > /dev/full`.
fn shell(scratch: &Scratch, line: &str) -> mastermind_tests::Ended {
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", bin_dir().display());
    scratch.run(Command::new("sh").args(["-c", line]).env("PATH", path))
}

/// Records of a short run.
fn recorded(scratch: &Scratch) {
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let short = ["--set", "driver.max_steps=2", "--records", "records"];
    scratch.verb("run", &assembly, &short).well();
}

#[test]
fn output_that_is_lost_is_an_error() {
    let scratch = Scratch::new();
    recorded(&scratch);
    let assembly = scratch.text("sod.toml");
    let bin = bin_dir().display().to_string();
    for verb in [
        "profile records --json",
        "profile records",
        "compare records records",
        "fit records --json",
        "doctor",
        "--help",
        "profile --help",
        &format!("list {bin}"),
        &format!("describe hydro.RK2 --path {bin}"),
        &format!("check {assembly}"),
        &format!("graph {assembly} --format svg"),
        &format!("run {assembly} --set driver.max_steps=1"),
    ] {
        let ended = shell(&scratch, &format!("mastermind {verb} > /dev/full"));
        assert_eq!(ended.code, Some(1), "{verb}: {ended:?}");
        let error = "error: cannot write standard output: No space left on device";
        assert!(ended.stderr.contains(error), "{verb}: {ended:?}");
    }
}

#[test]
fn a_reader_that_has_gone_away_ends_it_quietly() {
    let scratch = Scratch::new();
    let bin = bin_dir().display().to_string();
    for arguments in [
        &["list", &bin][..],
        &["describe", "nobody"],
        &["check", "gone.toml"],
        &["nonsense"],
        &["--help"],
    ] {
        // As `2>&1 | head` does once it has read enough.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = Command::new(bin_dir().join("mastermind"));
        command.args(arguments).current_dir(scratch.path("."));
        command
            .stdout(writer.try_clone().expect("a pipe"))
            .stderr(writer);
        let code = command.status().expect("mastermind").code();
        // A panic would be 101, and a signal would give none.
        assert!(matches!(code, Some(0..=2)), "{arguments:?}: {code:?}");
    }
}

#[test]
fn names_are_shown_and_not_obeyed() {
    let scratch = Scratch::new();
    let text = "#!ccaffeine\nfrob\u{1b}[31mnicate\u{7}\nrepository get \u{1b}]0;title\u{7}\n";
    let script = scratch.write("script.rc", text);
    let ended = scratch.verb("run", &script, &[]);
    let all = ended.stdout + &ended.stderr;
    assert!(all.contains("frob\\u{1b}[31mnicate\\u{7}"), "{all}");
    assert!(!all.contains('\u{1b}') && !all.contains('\u{7}'), "{all}");
}

#[test]
fn a_picture_is_well_formed_whatever_names_hold() {
    let scratch = Scratch::new();
    let assembly =
        "[assembly]\nname = \"a\\u001bb\\u0000<c\"\n[instances]\n\"x\\u0007&\" = \"\\u0008y\"\n";
    let assembly = scratch.write("names.toml", assembly);
    let svg = ["--format", "svg", "-o", "names.svg"];
    scratch.verb("graph", &assembly, &svg).well();
    let svg = fs::read(scratch.path("names.svg")).expect("a picture");
    let svg = String::from_utf8(svg).expect("UTF-8");
    let forbidden = |c: char| c < ' ' && !matches!(c, '\n' | '\t' | '\r');
    assert!(!svg.contains(forbidden), "{svg:?}");
    assert!(
        svg.contains("a␛b␀&lt;c") && svg.contains("x␇&amp;"),
        "{svg}"
    );
}

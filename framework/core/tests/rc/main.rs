//! A corpus of scripts, each with its output: `tests/fixtures/rc`. `BLESS=1` rewrites the output.

#[path = "../framework/components.rs"]
#[expect(dead_code, reason = "shared with the tests of the framework")]
mod components;

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use cca_core::rc::{COMMANDS, Command, Host, Interpreter, Script, Step};
use cca_core::{Endpoint, Framework};
use cca_loader::Library;
use cca_ports::GoPort;
use components::{NumberPort, framework};
use proptest::prelude::*;

/// Collects the output.
#[derive(Default)]
struct Transcript(String);

impl Host for Transcript {
    fn say(&mut self, text: &str) {
        self.0 += &format!("{text}\n");
    }

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let Endpoint { instance, port } = start;
        if port == "number" {
            let framework = interpreter.framework();
            let number = framework.with_port::<dyn NumberPort, _>(instance, port, |p| p.number());
            self.say(&format!("number {}", number??));
            return Ok(());
        }
        let framework = interpreter.framework();
        Ok(framework.with_port::<dyn GoPort, _>(instance, port, |port| port.go())??)
    }
}

fn run(framework: &Framework, script: &Script, folder: &Path) -> (String, Step) {
    let mut transcript = Transcript::default();
    let mut interpreter = Interpreter::new(framework, Vec::new(), folder);
    for line in script.commands() {
        transcript.0 += &format!("{:>3}> {}\n", line.number, line.text);
        match interpreter.line(&line.text, &mut transcript) {
            Ok(Step::Next) => {}
            Ok(step) => return (transcript.0, step),
            Err(error) => {
                let mut words = format!("error: {error}");
                let mut cause = error.source();
                while let Some(source) = cause {
                    words += &format!(": {source}");
                    cause = source.source();
                }
                transcript.0 += &format!("{words}\n");
            }
        }
    }
    (transcript.0, Step::End)
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/rc")
}

/// A framework with one instance of the program's own. Its classes are linked in, and so on no path: they are loaded.
fn compare(name: &str, expected: Step) {
    let framework = framework();
    let _host = framework.services("host", "test.Host", "1").unwrap();
    let script = Script::read(&fixtures().join(format!("{name}.rc"))).unwrap();
    let (shown, step) = run(&framework, &script, Path::new("."));
    assert_eq!(step, expected);
    let golden = fixtures().join(format!("{name}.out"));
    if std::env::var_os("BLESS").is_some() {
        fs::write(&golden, &shown).unwrap();
    }
    let wanted = fs::read_to_string(&golden).unwrap_or_default();
    assert!(
        shown == wanted,
        "{name} differs, BLESS=1 rewrites it:\n{shown}"
    );
}

#[test]
fn every_command_does_what_it_says() {
    compare("commands", Step::Exit(3));
}

#[test]
fn every_alias_does_what_its_command_does() {
    compare("aliases", Step::Exit(0));
}

#[test]
fn a_beginning_of_a_name_is_enough() {
    compare("abbreviations", Step::Exit(0));
}

#[test]
fn comments_and_directives_are_passed_over_and_eof_ends() {
    compare("comments", Step::End);
}

#[test]
fn scripts_for_ccaffeine_do_what_they_do_there() {
    compare("ccaffeine", Step::End);
}

#[test]
fn wrong_lines_are_reported_and_passed_over() {
    compare("wrong", Step::End);
}

#[test]
fn the_corpus_has_every_name_of_every_command() {
    let files =
        ["commands", "aliases", "comments"].map(|name| fixtures().join(format!("{name}.rc")));
    let text = files
        .map(|file| fs::read_to_string(file).unwrap())
        .join("\n");
    let has = |name: &str| {
        text.lines()
            .any(|line| line.split_whitespace().next() == Some(name))
    };
    let ends = ["x", "quit"];
    for name in COMMANDS.iter().flat_map(|command| command.names) {
        assert!(has(name) || ends.contains(name), "{name}");
    }
    for name in ends {
        assert_eq!(Command::parse(name).unwrap(), Command::Exit(0));
    }
}

proptest! {
    #[test]
    fn no_line_panics(line in ".*") {
        let _ = Command::parse(&line);
        let _ = Script::parse(&line).commands().count();
    }

    #[test]
    fn no_script_panics(lines in prop::collection::vec(line(), 0..40)) {
        let framework = Framework::new();
        framework.add_library(&Library::of_program().unwrap());
        run(&framework, &Script::parse(&lines.join("\n")), Path::new("."));
    }
}

/// Lines near enough to commands that they do something, `shell` and `path` aside.
fn line() -> impl Strategy<Value = String> {
    let names: Vec<_> = COMMANDS.iter().flat_map(|command| command.names).collect();
    let name = prop::sample::select(names).prop_map(|name| name.to_string());
    let words = [
        "a",
        "b",
        "test.Adder",
        "test.Maker",
        "next",
        "number",
        "parameters",
        "own",
        "ALL",
        "all",
        "5",
        "int",
        "bool",
        "component",
        "chain",
        "state",
        "go",
        "x y",
        "é",
        "get",
        "list",
        "init",
    ];
    let word = prop_oneof![
        9 => prop::sample::select(words.to_vec()).prop_map(String::from),
        1 => "\\PC{0,4}",
    ];
    (name, prop::collection::vec(word, 0..6))
        .prop_map(|(name, words)| format!("{name} {}", words.join(" ")))
}

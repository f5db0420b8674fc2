//! The case study from an rc script is the case study from its TOML file, to the last bit.

use std::error::Error;

use cca_core::Endpoint;
use cca_core::rc::{Host, Interpreter, Script, Step};
use cca_ports::GoPort;
use mastermind_tests::{Application, RankComm, Scratch, bin_dir, example, mpis, root};

/// Starts, and shows nothing.
struct Quiet;

impl Host for Quiet {
    fn say(&mut self, _: &str) {}

    fn go(
        &mut self,
        interpreter: &Interpreter<'_>,
        start: &Endpoint,
    ) -> Result<(), Box<dyn Error + Send + Sync>> {
        let framework = interpreter.framework();
        let (instance, port) = (&start.instance, &start.port);
        Ok(framework.with_port::<dyn GoPort, _>(instance, port, |port| port.go())??)
    }
}

#[test]
fn the_script_runs_to_the_same_bits() {
    let script = Script::read(&root().join("examples/shock/shock.rc")).expect("a script");
    let application = Application::new(RankComm::alone());
    let path = vec![bin_dir()];
    let mut interpreter = Interpreter::new(&application.framework, path, root());
    let mut ended = None;
    for line in script.commands() {
        if line.text.starts_with("go ") {
            let fewer = "configure driver parameters max_steps 25";
            interpreter.line(fewer, &mut Quiet).expect("a parameter");
        }
        let step = interpreter.line(&line.text, &mut Quiet);
        ended = Some(step.unwrap_or_else(|error| panic!("line {}: {error}", line.number)));
    }
    assert_eq!(ended, Some(Step::Exit(0)));
    let expected = example("shock/shock.toml", &["driver.max_steps=25"]);
    let made = interpreter.assembly("shock-godunov");
    assert_eq!(made.instances, expected.instances);
    assert_eq!(made.connections, expected.connections);
    assert_eq!(made.go, expected.go);
    let from_toml = Application::run(&expected, RankComm::alone());
    let bits = |application: &Application| {
        let cells = application.cells().into_values().flatten();
        cells.map(f64::to_bits).collect::<Vec<_>>()
    };
    assert_eq!(bits(&application).len(), 96 * 32 * 5);
    assert!(bits(&application) == bits(&from_toml));
}

/// On several ranks, by the program: both write the same, byte for byte.
#[test]
fn the_script_runs_to_the_same_bits_on_several_ranks() {
    let scratch = Scratch::new();
    let file = scratch.example("shock/shock.toml", &[], &[]);
    let script = root().join("examples/shock/shock.rc");
    for mpi in mpis() {
        let run = |assembly, table: &str| {
            let output = format!("output.csv={table}");
            let steps = ["--set", "driver.max_steps=20", "--set", &output];
            let ranks = ["--ranks", "3", "--mpi", mpi.kind.name()];
            let ended = scratch.verb("run", assembly, &[&steps[..], &ranks].concat());
            let shown = ended.well();
            assert!(shown.contains("done on 3 ranks of"), "{shown}");
            (shown, scratch.read(table))
        };
        let (_, from_toml) = run(&file, "toml.csv");
        let (shown, from_script) = run(&script, "script.csv");
        assert_eq!(from_script.lines().count(), 1 + 96 * 32);
        assert!(from_script == from_toml, "under {}", mpi.kind);
        // The first rank reports for all of them.
        let n_messages = shown.matches("##specific go command successful").count();
        assert_eq!(n_messages, 1, "{shown}");
    }
}

//! `run --adapt` of rc scripts: the classes of `#!alternatives` are swapped while the started components run, over all
//! starts of the script.

use std::fs;

use mastermind_tests::{Ended, Scratch, mpis, root, rust_library};
use serde_json::Value;

/// The script of the case study, with a flux of the fixture that delegates its computation, and other lines in place of
/// its start.
fn script(scratch: &Scratch, name: &str, flux: &str, end: &str) -> String {
    let library = rust_library("adapting").display().to_string();
    let text = fs::read_to_string(root().join("examples/shock/shock.rc")).expect("the script");
    let own = format!(
        "path append {library}\nrepository get-global {flux}\nrepository get-global hydro.EfmFlux\n\
         instantiate {flux} flux\ninstantiate hydro.EfmFlux kernel\n"
    );
    let text = text
        .replace("instantiate hydro.GodunovFlux flux\n", &own)
        .replace(
            "connect rhs flux flux flux\n",
            "connect rhs flux flux flux\nconnect flux kernel kernel flux\n",
        )
        .replace(
            "go driver go\n",
            &format!("configure driver parameters max_steps 60\n{end}"),
        );
    scratch.write(name, text);
    scratch.path(name).display().to_string()
}

fn adapt(scratch: &Scratch, script: &str, more: &[&str]) -> Ended {
    let run = [
        "run",
        script,
        "--records",
        "records",
        "--overwrite",
        "--adapt",
    ];
    scratch.mastermind(&[&run, more].concat())
}

fn decisions(scratch: &Scratch, rank: u32) -> Vec<Value> {
    let text = scratch.read(&format!("records/decisions.{rank}.jsonl"));
    let lines = text.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("a line of JSON")
}

fn kept(decisions: &[Value], class: &str) -> bool {
    let mut kept = decisions
        .iter()
        .filter(|decision| decision["act"] == "keep");
    kept.any(|decision| decision["to"] == class)
}

/// The flux is slow from its first call on; the class that takes its place is named in the comment only.
const ALTERNATIVES: &str = "#!alternatives flux = test.SlowingFlux test.SteadyFlux\nconfigure flux parameters slow_after 0\n";

#[test]
fn a_script_is_adapted_over_all_its_starts() {
    let scratch = Scratch::new();
    let end = format!("{ALTERNATIVES}go driver go\ngo driver go\n");
    let script = script(&scratch, "s.rc", "test.SlowingFlux", &end);
    let ended = adapt(&scratch, &script, &["--explore", "100%"]);
    let (output, decided) = (ended.well(), decisions(&scratch, 0));
    assert!(kept(&decided, "test.SteadyFlux"), "{decided:?}");
    // Each start is half of the run.
    let fractions = decided.iter().map(|decision| decision["fraction"].as_f64());
    let fractions: Vec<_> = fractions
        .map(|fraction| fraction.expect("a number"))
        .collect();
    assert!(fractions.is_sorted() && fractions[0] < 0.5, "{fractions:?}");
    let steps = output
        .lines()
        .find_map(|line| line.split_once(" in ")?.1.split_once(" steps"));
    assert_eq!(steps.map(|(steps, _)| steps), Some("120"), "{output}");
    // The script with the chosen class, and the assembly of its last start.
    assert!(
        output.contains("--replace flux=test.SteadyFlux"),
        "{output}"
    );
    let adapted = scratch.read("records/adapted.toml");
    assert!(adapted.contains("flux = \"test.SteadyFlux\""), "{adapted}");
    scratch
        .mastermind(&["check", "records/adapted.toml"])
        .well();
}

/// Records from before belong to no step, and reading them does not count as a cost of adapting.
#[test]
fn what_was_recorded_before_all_alternatives_are_there_is_left_out() {
    let scratch = Scratch::new();
    let end = format!(
        "{ALTERNATIVES}disconnect rhs flux flux flux\nconnect rhs flux kernel flux\nremove flux\n\
         configure driver parameters max_steps 600\ngo driver go\nconfigure driver parameters max_steps 60\n\
         disconnect rhs flux kernel flux\ninstantiate test.SlowingFlux flux\nconfigure flux parameters slow_after 0\n\
         connect rhs flux flux flux\nconnect flux kernel kernel flux\ngo driver go\n"
    );
    let script = script(&scratch, "s.rc", "test.SlowingFlux", &end);
    let output = adapt(&scratch, &script, &["--explore", "100%"]).well();
    let decided = decisions(&scratch, 0);
    assert!(kept(&decided, "test.SteadyFlux"), "{output}");
}

#[test]
fn ranks_of_a_script_swap_at_the_same_step() {
    let scratch = Scratch::new();
    let end = format!("{ALTERNATIVES}go driver go\ngo driver go\n");
    let script = script(&scratch, "s.rc", "test.SlowingFlux", &end);
    for mpi in mpis() {
        let ranks = [
            "--ranks",
            "2",
            "--mpi",
            mpi.kind.name(),
            "--explore",
            "100%",
        ];
        adapt(&scratch, &script, &ranks).well();
        let decided = decisions(&scratch, 0);
        assert!(kept(&decided, "test.SteadyFlux"), "{decided:?}");
        assert_eq!(decisions(&scratch, 1), decided);
    }
}

#[test]
fn an_instance_that_the_script_makes_anew_is_not_adapted_any_more() {
    let scratch = Scratch::new();
    let end = format!(
        "{ALTERNATIVES}go driver go\nremove flux\ninstantiate test.SlowingFlux flux\nconnect rhs flux flux flux\n\
         connect flux kernel kernel flux\ngo driver go\n"
    );
    let script = script(&scratch, "s.rc", "test.SlowingFlux", &end);
    let ended = adapt(&scratch, &script, &["--explore", "100%"]);
    let warned = ended.stderr.clone();
    ended.well();
    assert!(warned.contains("has made another \"flux\""), "{warned}");
    let decided = decisions(&scratch, 0);
    assert!(kept(&decided, "test.SteadyFlux"), "{decided:?}");
    let fractions = decided
        .iter()
        .filter_map(|decision| decision["fraction"].as_f64());
    assert!(
        fractions.into_iter().all(|fraction| fraction <= 0.5),
        "{decided:?}"
    );
}

#[test]
fn what_cannot_be_adapted_is_refused_before_anything_starts() {
    let scratch = Scratch::new();
    let plain = script(&scratch, "p.rc", "test.SlowingFlux", "go driver go\n");
    let error = adapt(&scratch, &plain, &[]).error();
    assert!(error.contains("#!alternatives"), "{error}");
    let end = format!("{ALTERNATIVES}go driver go\n");
    let script = script(&scratch, "s.rc", "test.SlowingFlux", &end);
    let ended = adapt(&scratch, &script, &["--dispatch"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let end = format!("{ALTERNATIVES}go driver go\nremove flux\ngo driver go\n");
    let gone = self::script(&scratch, "g.rc", "test.SlowingFlux", &end);
    let error = adapt(&scratch, &gone, &[]).error();
    assert!(error.contains("no instance \"flux\""), "{error}");
    assert!(!scratch.path("records").exists());
    // Records of another run: that is the only thing reported.
    scratch
        .mastermind(&["run", &script, "--records", "records"])
        .well();
    let run = ["run", &script, "--records", "records", "--adapt"];
    let ended = scratch.mastermind(&run);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(!ended.stderr.contains("nothing was adapted"), "{ended:?}");
}

/// Components that ask `cca.PerfModel` get answers in a script too.
#[test]
fn models_answer_in_a_script() {
    let scratch = Scratch::new();
    let end = "go driver go\n";
    let script = script(&scratch, "s.rc", "test.SteadyFlux", end);
    let models = [
        "run",
        &script,
        "--records",
        "records",
        "--models",
        "nothing.json",
    ];
    let ended = scratch.mastermind(&models);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("nothing.json"), "{ended:?}");
}

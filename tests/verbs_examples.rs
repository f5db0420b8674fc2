//! `examples`, and verbs with earlier names.

use mastermind_tests::Scratch;
use serde_json::Value;

#[test]
fn an_example_is_copied_whole_and_runs_where_it_is() {
    let scratch = Scratch::new();
    let list = scratch.mastermind(&["examples", "--json"]).well();
    let list: Value = serde_json::from_str(&list).expect("JSON");
    let examples = list["examples"].as_array().expect("examples");
    assert!(examples.len() > 10, "{list}");
    for example in examples {
        let about = example["about"].as_str().expect("a line");
        assert!(!about.is_empty() && !about.contains('\n'), "{example}");
    }
    scratch.mastermind(&["examples", "sod", "deep/er"]).well();
    let run = ["run", "deep/er/sod.toml", "--set", "driver.max_steps=2"];
    scratch.mastermind(&run).well();
    // No file is overwritten, and a failed copy leaves nothing.
    let before = scratch.read("deep/er/sod.toml");
    scratch.mastermind(&["examples", "sod", "deep/er"]).error();
    assert_eq!(scratch.read("deep/er/sod.toml"), before);
    let unknown = scratch.mastermind(&["examples", "sodd"]).error();
    assert!(unknown.contains("the nearest is \"sod\""), "{unknown}");
    let left = std::fs::read_dir(scratch.path("deep")).expect("a folder");
    assert_eq!(left.count(), 1);
}

/// A copied example that reads files of another one names it, until that is there.
#[test]
fn an_example_names_the_others_that_it_reads() {
    let scratch = Scratch::new();
    let ended = scratch.mastermind(&["examples", "system"]);
    assert!(
        ended.code == Some(0) && ended.stderr.contains("sweep3d"),
        "{ended:#?}"
    );
    scratch.mastermind(&["examples", "sweep3d"]).well();
    scratch
        .mastermind(&["system", "check", "system/sweep3d.toml"])
        .well();
    let again = scratch.mastermind(&["examples", "system", "again"]);
    assert!(again.stderr.is_empty(), "{again:#?}");
}

#[test]
fn earlier_names_of_verbs_say_the_present_ones() {
    let scratch = Scratch::new();
    for (earlier, present) in [("transform", "convert"), ("use", "redirect")] {
        let ended = scratch.mastermind(&[earlier, "--help"]);
        let now = scratch.mastermind(&[present, "--help"]);
        assert_eq!((ended.code, &ended.stdout), (Some(0), &now.stdout));
        assert_eq!(ended.stderr.lines().count(), now.stderr.lines().count() + 1);
        assert!(ended.stderr.contains(present), "{}", ended.stderr);
        let help = scratch.mastermind(&["--help"]).well();
        assert!(!help.contains(&format!("\n  {earlier} ")), "{help}");
    }
    let evolve = scratch.mastermind(&["fit", "--evolve", "gone.toml", "gone.csv"]);
    let correct = scratch.mastermind(&["correct", "gone.toml", "gone.csv"]);
    assert_eq!((evolve.code, evolve.stderr), (correct.code, correct.stderr));
}

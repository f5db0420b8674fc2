//! Wrong use ends with 2, an operation that fails with 1, and neither with a panic.

use mastermind_tests::{Scratch, bin_dir};

#[test]
fn wrong_use_ends_with_2() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let assembly = assembly.to_str().expect("a path");
    for arguments in [
        &[][..],
        &["runn"],
        &["run"],
        &["run", assembly, "--rank", "2"],
        &["run", assembly, "--ranks", "0"],
        &["run", assembly, "--ranks", "two"],
        &["run", assembly, "--set", "driver.cfl"],
        &["run", assembly, "--set", "=0.4"],
        &["run", assembly, "--replace", "flux"],
        &["run", assembly, "--mpi", "lam"],
        &[
            "run",
            assembly,
            "--monitor",
            "flux.flux,,states.states",
            "--records",
            "records",
        ],
        &["run", assembly, "--overwrite"],
        &[
            "run",
            assembly,
            "--records",
            "records",
            "--records-limit",
            "much",
        ],
        &["run", assembly, "--monitor", "flux.flux"],
        &["check"],
        &["check", assembly, "--set", "x"],
        &["profile"],
        &["profile", "records", "--top", "few"],
        &["export", "records", "-o", "csv"],
        &["export", "records", "--format", "text", "-o", "csv"],
        &["fit"],
        &["fit", "records", "--metric", " "],
        &["choose", assembly],
        &[
            "choose",
            assembly,
            "--models",
            "m",
            "--records",
            "r",
            "--require",
            "flux.order >=",
        ],
        &[
            "choose",
            assembly,
            "--models",
            "m",
            "--records",
            "r",
            "--best",
            "0",
        ],
        &["plan"],
        &["plan", assembly, "--run"],
        &["plan", assembly, "--repeat", "0"],
        &["fit", "t.csv", "--unit", "days"],
        &["predict"],
        &["predict", "models.json", "--at", "q"],
        &[
            "predict",
            "models.json",
            "--at",
            "q=1",
            "--against",
            "records",
        ],
    ] {
        let ended = scratch.mastermind(arguments);
        assert_eq!(ended.code, Some(2), "{arguments:?}: {ended:#?}");
        assert!(
            !ended.stderr.is_empty() && ended.stdout.is_empty(),
            "{arguments:?}"
        );
        assert!(!scratch.path("records").exists());
    }
}

#[test]
fn each_verb_has_help_with_an_example() {
    let scratch = Scratch::new();
    for verb in [
        "doctor", "list", "describe", "check", "run", "profile", "export", "fit", "predict",
        "choose", "suggest", "plan",
    ] {
        let help = scratch.mastermind(&[verb, "--help"]).well();
        assert!(
            help.contains(&format!("Example: mastermind {verb}")) || verb == "doctor",
            "{help}"
        );
    }
}

#[test]
fn what_is_not_there_ends_with_1() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let assembly = assembly.to_str().expect("a path");
    scratch.write("models.json", "{ \"models\": [");
    std::fs::create_dir(scratch.path("empty")).expect("a folder");
    for arguments in [
        &["profile", "gone"][..],
        &["profile", "empty"],
        &["export", "empty", "--format", "csv", "-o", "csv"],
        &["fit", "gone"],
        &["fit", "empty"],
        &[
            "choose",
            assembly,
            "--models",
            "gone.json",
            "--records",
            "empty",
        ],
        &[
            "choose",
            assembly,
            "--models",
            "models.json",
            "--records",
            "empty",
        ],
        &["list", "gone"],
        &["list", "empty"],
        &["describe", "hydro.Gone"],
        &["describe", "./gone.so"],
    ] {
        let error = scratch.mastermind(arguments).error();
        assert!(
            error.starts_with("error: cannot "),
            "{arguments:?}: {error}"
        );
        assert!(!scratch.path("csv").exists());
    }
    let error = scratch.mastermind(&["fit", "gone"]).error();
    assert!(error.contains("No such file"), "{error}");
}

#[test]
fn list_goes_on_past_a_library_that_is_none() {
    let scratch = Scratch::new();
    let library = bin_dir().join("libhydro_rk2.so");
    let listed = scratch.mastermind(&["list", "/etc/passwd", library.to_str().expect("a path")]);
    assert_eq!(listed.code, Some(1));
    assert!(listed.stdout.contains("hydro.RK2") && listed.stderr.contains("/etc/passwd"));
}

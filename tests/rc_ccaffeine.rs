//! Ccaffeine scripts as people have them: commands that Ccaffeine ignores are ignored, failures are reported, and
//! `check` judges a script where it starts something, not by the state at its end.

use std::process::Command;

use mastermind_tests::{Ended, Scratch, bin_dir, mpis};

/// A flux solver alone, which is made, displayed and removed, as Bocca's test scripts for a component do.
const SHOWN_AND_REMOVED: &str = "#!ccaffeine bootstrap file.
# ------- don't change anything ABOVE this line.-------------
path append no/such/folder
repo l
repository get-global hydro.StatesConstructor
instantiate hydro.StatesConstructor states
display component states
remove states
quit
";

/// The shock of the examples, without the script's end.
fn shock(end: &str) -> String {
    let text = include_str!("../examples/shock/shock.rc");
    let (before, _) = text.split_once("\ngo driver go").expect("the start");
    format!("{before}\nconfigure driver parameters max_steps 2\n{end}")
}

fn on(scratch: &Scratch, verb: &str, text: &str, arguments: &[&str]) -> Ended {
    let script = scratch.write("script.rc", text).display().to_string();
    let mut command = Command::new(bin_dir().join("mastermind"));
    let path = std::env::join_paths([scratch.path("gone"), bin_dir()]).expect("a path");
    let command = command.args([verb, &script]).args(arguments);
    scratch.run(command.env("CCA_COMPONENT_PATH", path))
}

#[test]
fn a_script_is_judged_where_it_starts_something() {
    let scratch = Scratch::new();
    let ended = on(&scratch, "check", SHOWN_AND_REMOVED, &[]);
    assert!(
        ended
            .stderr
            .contains("no/such/folder\": no such folder; passed over"),
        "{ended:?}"
    );
    ended.well();
    on(&scratch, "run", SHOWN_AND_REMOVED, &[]).well();
    // Complete when it starts, and then removed.
    let whole = shock("go driver go\nnuke all\nquit\n");
    let shown = on(&scratch, "check", &whole, &[]).well();
    assert!(
        shown.contains("11 instances") && shown.contains("no problem"),
        "{shown}"
    );
    // Incomplete when it starts, which only a call would show.
    let part = shock("disconnect rk2 mesh mesh mesh\ngo driver go\nconnect rk2 mesh mesh mesh\n");
    let ended = on(&scratch, "check", &part, &[]);
    let warning = "warning: line 60: uses port \"mesh\" of \"rk2\" is unconnected";
    assert!(ended.stderr.contains(warning), "{ended:?}");
    ended.well();
    // The changes that the options make are checked, too.
    let wrong = ["--set", "driver.max_stepps=3"];
    let error = on(&scratch, "check", &whole, &wrong).error();
    assert!(error.contains("max_stepps"), "{error}");
}

#[test]
fn what_fails_is_reported_and_passed_over() {
    let scratch = Scratch::new();
    let text =
        shock("connect driver mesh mesh mesh\nfrobnicate\ngo driver go\nremove nobody\nlinks\n");
    let ended = on(&scratch, "run", &text, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("script: done on 1 rank"), "{ended:?}");
    assert!(
        ended.stdout.contains("driver.mesh -> mesh.mesh"),
        "{ended:?}"
    );
    let messages = [
        "cannot connect uses port \"mesh\" of \"driver\"",
        "cannot run command \"frobnicate\": undefined",
        "cannot find instance \"nobody\"",
        "2 lines failed and passed over",
    ];
    for text in messages {
        assert!(ended.stderr.contains(text), "{text}: {ended:?}");
    }
    let ended = on(&scratch, "run", &text, &["--strict"]);
    assert!(!ended.stdout.contains("done on"), "{ended:?}");
    let error = ended.error();
    assert!(error.contains("connected already"), "{error}");
    // A run of an error alone goes on as well: Ccaffeine's words for it are there.
    let twice = shock("configure driver parameters end_time -1\ngo driver nothing\ngo driver go\n");
    let ended = on(&scratch, "run", &twice, &[]);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("#specific go command failed"),
        "{ended:?}"
    );
}

#[test]
fn ranks_run_the_scripts_that_one_rank_runs() {
    let scratch = Scratch::new();
    for mpi in mpis() {
        let ranks = ["--ranks", "2", "--mpi", mpi.kind.name()];
        on(&scratch, "run", SHOWN_AND_REMOVED, &ranks).well();
        let text = shock("remove nobody\ngo driver go\nnuke all\nquit\n");
        let ended = on(&scratch, "run", &text, &ranks);
        assert_ne!(ended.code, Some(0), "{ended:?}");
        assert!(ended.stdout.contains("done on 2 ranks"), "{ended:?}");
        let n_messages = ended
            .stderr
            .matches("cannot find instance \"nobody\"")
            .count();
        assert_eq!(n_messages, 1, "{ended:?}");
    }
}

#[test]
fn a_script_without_its_first_line_is_an_error_that_names_it() {
    let scratch = Scratch::new();
    let script = scratch.write("script", "# mine\nrepository list\n");
    for verb in ["run", "check", "graph"] {
        let error = scratch.verb(verb, &script, &[]).error();
        assert!(
            error.contains("an rc script, expected an assembly file"),
            "{error}"
        );
        assert!(error.contains("#!ccaffeine"), "{error}");
        assert!(!error.contains("TOML"), "{error}");
    }
}

#[test]
fn an_index_file_names_classes() {
    let scratch = Scratch::new();
    let folder = scratch.path("index");
    std::fs::create_dir(&folder).expect("a folder");
    let index = format!(
        "# generated\n!date=today\n!componentType=classic\n!location={}/\nlibhydro_godunov_flux.so\n\
         create_hydro_GodunovFlux SomeFlux\n",
        bin_dir().display()
    );
    std::fs::write(folder.join("flux.cca"), index).expect("an index");
    let text =
        "#!ccaffeine\npath set index\nrepository get SomeFlux\ncreate someflux flux\narena\n";
    let shown = on(&scratch, "run", text, &[]).well();
    assert_eq!(shown, "flux of type SomeFlux\n");
    std::fs::write(folder.join("flux.cca"), "libgone.so\ncreate_Gone Gone\n").expect("an index");
    let ended = on(
        &scratch,
        "run",
        "#!ccaffeine\npath set index\nrepository list\n",
        &[],
    );
    assert!(ended.stderr.contains("libgone.so"), "{ended:?}");
    assert_eq!(ended.well(), "no class\n");
}

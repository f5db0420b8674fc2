//! Manners of the command line: no file is overwritten unasked, `-o -` is standard output and nothing else is printed
//! there, the file's ending decides the format, and verbs are grouped by purpose.

use std::fs;
use std::path::Path;

use mastermind_tests::{Ended, Scratch, bin_dir, root};

/// Records of a few steps, models of them, and the assembly.
fn prepared() -> (Scratch, String) {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let short = ["--set", "driver.max_steps=6", "--records", "records"];
    scratch.verb("run", &assembly, &short).well();
    let fit = ["fit", "records", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    (scratch, assembly.display().to_string())
}

fn example(path: &str) -> String {
    root().join("examples").join(path).display().to_string()
}

/// Each verb with an output: its words, without the option and the file for the output, and the option.
fn writers(assembly: &str) -> Vec<(Vec<String>, &'static str, &'static str)> {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let sample = example("sample/sample.puml");
    let machine = example("sample/machine.toml");
    let simulate = format!("simulate {sample} --machine {machine} --ranks 4");
    let evh1 = example("semi-empirical/evh1.toml");
    let correct = format!(
        "correct {evh1} {} --case 1 --trials 1 --population 20 --generations 1",
        evh1.replace(".toml", ".csv")
    );
    let choose = format!("choose {assembly} --models models.json --records records");
    vec![
        (words("fit records"), "-o", "m.json"),
        (words("plot records --kind graph"), "-o", "g.svg"),
        (words("plot records --kind graph"), "-o", "g.png"),
        (words(&format!("graph {assembly}")), "-o", "w.dot"),
        (words(&format!("graph {assembly}")), "-o", "w.pdf"),
        (words("export records --format perfetto"), "-o", "t.json"),
        (words(&choose), "-o", "best.toml"),
        (words(&choose), "--export", "problem.cfn"),
        (words(&simulate), "--html", "s.html"),
        (words(&simulate), "--trace", "s.json"),
        (words(&correct), "-o", "c.json"),
        (words("proxy string.h --suggest-markup"), "-o", "s.toml"),
    ]
}

fn run(scratch: &Scratch, words: &[String], more: &[&str]) -> Ended {
    let words: Vec<&str> = words
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    scratch.mastermind(&words)
}

#[test]
fn nothing_is_written_over_unasked() {
    let (scratch, assembly) = prepared();
    for (words, option, file) in writers(&assembly) {
        run(&scratch, &words, &[option, file]).well();
        let made = fs::read(scratch.path(file)).expect("the output");
        assert!(!made.is_empty(), "{words:?}");
        scratch.write(file, "mine");
        let refused = run(&scratch, &words, &[option, file]).error();
        assert!(
            refused.contains("it exists, expected a new file"),
            "{words:?}: {refused}"
        );
        assert_eq!(scratch.read(file), "mine", "{words:?}");
        run(&scratch, &words, &[option, file, "--force"]).well();
        let again = fs::read(scratch.path(file)).expect("the output");
        assert_eq!(made[..4], again[..4], "{words:?}");
    }
}

#[test]
fn folders_are_not_written_into_unasked() {
    let (scratch, _) = prepared();
    let sample = example("sample/sample.puml");
    let sources = root().join("mastermind/simulation").display().to_string();
    let lines: [&[&str]; 5] = [
        &["export", "records", "--format", "csv", "-o", "made"],
        &["export", "records", "--format", "parquet", "-o", "made"],
        &["export", "records", "--format", "extrap", "-o", "made"],
        &[
            "new",
            "component",
            "demo.Solver",
            "--language",
            "c",
            "-o",
            "made",
        ],
        &["convert", &sample, "--simulation", &sources, "-o", "made"],
    ];
    for words in lines {
        scratch.mastermind(words).well();
        let refused = scratch.mastermind(words).error();
        let reasons = ["it is not empty", "it exists"];
        assert!(
            reasons.iter().any(|reasons| refused.contains(reasons)),
            "{words:?}: {refused}"
        );
        scratch.mastermind(&[words, &["--force"]].concat()).well();
        fs::remove_dir_all(scratch.path("made")).expect("a folder");
    }
}

#[test]
fn a_dash_is_standard_output_and_a_document_has_it_alone() {
    let (scratch, assembly) = prepared();
    for (words, option, file) in writers(&assembly) {
        if Path::new(file)
            .extension()
            .is_some_and(|e| e == "png" || e == "pdf")
        {
            continue;
        }
        run(&scratch, &words, &[option, file]).well();
        let (in_file, printed) = (
            scratch.read(file),
            run(&scratch, &words, &[option, "-"]).well(),
        );
        // Times of two runs of a verb differ, their beginnings do not.
        let start = |text: &str| text.chars().take(12).collect::<String>();
        assert_eq!(start(&in_file), start(&printed), "{words:?}");
        if file.ends_with(".json") {
            serde_json::from_str::<serde_json::Value>(&printed).expect("one document");
        }
        if words
            .iter()
            .any(|word| ["choose", "simulate", "correct"].contains(&word.as_str()))
        {
            let both = run(&scratch, &words, &[option, "-", "--json"]);
            assert_eq!(both.code, Some(2), "{both:?}");
        }
    }
}

#[test]
fn the_ending_decides_the_format() {
    let (scratch, assembly) = prepared();
    for (file, start) in [
        ("a.dot", "digraph"),
        ("a.gv", "digraph"),
        ("a.json", "{"),
        ("a.svg", "<svg"),
        ("a.png", "\u{fffd}PNG"),
        ("a.pdf", "%PDF"),
    ] {
        scratch.mastermind(&["graph", &assembly, "-o", file]).well();
        let bytes = fs::read(scratch.path(file)).expect("a file");
        assert!(String::from_utf8_lossy(&bytes).starts_with(start), "{file}");
    }
    let graph = ["graph", &assembly, "--format", "svg", "-o", "b.png"];
    assert_eq!(scratch.mastermind(&graph).code, Some(2));
    let graph = ["graph", &assembly, "-o", "b.gif"];
    assert!(
        scratch
            .mastermind(&graph)
            .error()
            .contains("no format of ending .gif")
    );
}

#[test]
fn shells_and_manuals_know_every_verb() {
    let scratch = Scratch::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = scratch.mastermind(&["completions", shell]).well();
        assert!(script.contains("MASTERMIND_COMPLETE"), "{script}");
        assert_eq!(scratch.mastermind(&["--completions", shell]).well(), script);
    }
    scratch.mastermind(&["man", "man1"]).well();
    let page = scratch.read("man1/mastermind-profile.1");
    assert!(
        page.contains("mastermind profile") && page.contains("records"),
        "{page}"
    );
    assert!(scratch.path("man1/mastermind.1").exists());
}

#[test]
fn the_path_of_components_counts_where_classes_are_looked_for() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("own")).expect("a folder");
    let library = bin_dir().join("libhydro_rk2.so");
    fs::copy(library, scratch.path("own/libhydro_rk2.so")).expect("a copy");
    let own = scratch.text("own");
    let with_path = |words: &[&str]| {
        let binary = bin_dir().join("mastermind");
        let mut command = std::process::Command::new(binary);
        scratch.run(command.args(words).env("CCA_COMPONENT_PATH", &own))
    };
    let listed = with_path(&["list", "--json"]).well();
    let listed: serde_json::Value = serde_json::from_str(&listed).expect("JSON");
    let classes = listed.as_array().expect("a list");
    assert!(
        !classes.is_empty()
            && classes.iter().all(|class| class["library"]
                .as_str()
                .is_some_and(|path| path.starts_with(&own))),
        "{listed}"
    );
    let described = with_path(&["describe", "hydro.RK2", "--json"]).well();
    assert!(described.contains(&own), "{described}");
}

/// The completions that bash gets for the last word.
fn completed(scratch: &Scratch, words: &[&str]) -> Vec<String> {
    let mut asked = std::process::Command::new(bin_dir().join("mastermind"));
    asked.arg("--").arg("mastermind").args(words);
    asked
        .env("MASTERMIND_COMPLETE", "bash")
        .env("_CLAP_IFS", "\n");
    asked.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    asked.env("_CLAP_COMPLETE_COMP_TYPE", "9");
    asked.env("_CLAP_COMPLETE_SPACE", "true");
    let lines = scratch.run(&mut asked).well();
    lines.lines().map(str::to_owned).collect()
}

/// Completed names come from the files on the line.
#[test]
fn a_shell_completes_names_from_files() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let assembly = assembly.to_str().expect("a path");
    scratch
        .mastermind(&[
            "run",
            assembly,
            "--records",
            "records",
            "--set",
            "driver.max_steps=2",
        ])
        .well();
    fs::create_dir(scratch.path("other")).expect("a folder");
    assert!(completed(&scratch, &["pro"]).contains(&"profile".to_owned()));
    assert!(completed(&scratch, &["run", "--records-l"]).contains(&"--records-limit".to_owned()));
    let folders = completed(&scratch, &["profile", ""]);
    assert!(
        folders[0] == "records" && !folders.iter().any(|name| name.starts_with("other")),
        "{folders:?}"
    );
    let methods = completed(&scratch, &["fit", "records", "--method", "flux."]);
    assert_eq!(methods, ["flux.flux.compute"]);
    let classes = completed(&scratch, &["run", assembly, "--replace", "flux=hydro.E"]);
    assert!(
        classes.iter().any(|class| class.ends_with("hydro.EfmFlux")),
        "{classes:?}"
    );
    let keys = completed(&scratch, &["run", assembly, "--set", "driver.c"]);
    assert_eq!(keys, ["driver.cfl="]);
    assert!(
        completed(&scratch, &["describe", "hydro.EfmFlux"]).contains(&"hydro.EfmFlux".to_owned())
    );
}

/// With `--quiet`, only errors remain on standard error.
#[test]
fn a_quiet_verb_prints_errors_only() {
    let scratch = Scratch::new();
    let noted = scratch.mastermind(&["transform", "gone.toml", "-o", "x"]);
    let quiet = scratch.mastermind(&["transform", "gone.toml", "-o", "x", "-q"]);
    assert_eq!(noted.code, quiet.code);
    assert!(
        noted.stderr.starts_with("note: ") && quiet.stderr.starts_with("error: "),
        "{noted:#?}"
    );
    let colored = scratch.mastermind(&["profile", "gone", "--color", "always"]);
    assert!(
        colored.stderr.starts_with("\u{1b}[1;31merror:\u{1b}[0m"),
        "{colored:#?}"
    );
    let plain = scratch.mastermind(&["profile", "gone"]);
    assert!(plain.stderr.starts_with("error:"), "{plain:#?}");
}

/// One word for each concept: counts are `--n` and overwriting is `--force` in every verb; earlier words still work.
#[test]
fn counts_and_force_have_one_word_in_every_verb() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let assembly = assembly.to_str().expect("a path");
    let run = [
        "run",
        assembly,
        "--records",
        "records",
        "--set",
        "driver.max_steps=2",
    ];
    scratch.mastermind(&run).well();
    scratch.mastermind(&run).error();
    scratch
        .mastermind(&[&run[..], &["--force"]].concat())
        .well();
    scratch
        .mastermind(&[&run[..], &["--overwrite"]].concat())
        .well();
    let rows = |option: &str| {
        let text = scratch
            .mastermind(&["profile", "records", "--json", option, "2"])
            .well();
        let profile: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        profile["rows"].as_array().expect("rows").len()
    };
    assert_eq!((rows("--n"), rows("--top")), (2, 2));
}

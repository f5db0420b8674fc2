//! The code that a library runs on this processor: kept with the records of a run, compared, and tried with a variable.

use std::process::Command;

use mastermind_machine::Level;
use mastermind_machine::dispatch::Dispatch;
use mastermind_tests::{Ended, Scratch, bin_dir, output, root};
use serde_json::Value;

const VARIABLE: &str = "OPENBLAS_CORETYPE";

/// A program over a library that says that it is OpenBLAS, and the proxy of one of its functions.
struct Program {
    scratch: Scratch,
}

impl Program {
    fn new(options: &[&str]) -> Self {
        let scratch = Scratch::new();
        let fixture = |name: &str| root().join("tests/fixtures/library_codes").join(name);
        let cc = |result: &str, source: &str, options: &[&str]| {
            let mut cc = Command::new("cc");
            cc.args(["-O1", "-o"]).arg(scratch.path(result));
            cc.arg(fixture(source)).arg("-L").arg(scratch.path(""));
            output(cc.args(options));
        };
        let library = ["-shared", "-fPIC", "-Wl,-soname,libopenblas.so.0"];
        cc("libopenblas.so.0", "blas.c", &[&library, options].concat());
        cc(
            "program",
            "program.c",
            &["-l:libopenblas.so.0", "-Wl,-rpath,$ORIGIN"],
        );
        let header = fixture("scale.h").display().to_string();
        let proxy = ["proxy", &header, "-o", "proxies"];
        scratch.mastermind(&proxy).well();
        Self { scratch }
    }

    /// Wraps it, with a value of the variable if there is one.
    fn wrap(&self, records: &str, value: Option<&str>, options: &[&str]) -> Ended {
        let mut command = Command::new(bin_dir().join("mastermind"));
        command
            .env_remove(VARIABLE)
            .envs(value.map(|value| (VARIABLE, value)))
            .args([
                "wrap",
                "--proxy",
                "proxies/libscale_proxy.so",
                "--records",
                records,
            ])
            .args(options)
            .args(["--", "./program"]);
        self.scratch.run(&mut command)
    }

    /// The libraries of a run, as `info` shows them.
    fn dispatch(&self, records: &str) -> Dispatch {
        let info = self.scratch.mastermind(&["info", records, "--json"]).well();
        let info: Value = serde_json::from_str(&info).expect("JSON");
        serde_json::from_value(info["dispatch"].clone()).expect("the libraries' codes")
    }

    /// Makes the proxy again, so that the size is a parameter of its calls.
    fn with_sizes(self) -> Self {
        let header = root().join("tests/fixtures/library_codes/scale.h");
        let header = header.display().to_string();
        let marks = "[functions.scale]\nparameters = { n = \"n\" }\n";
        self.scratch.write("marks.toml", marks);
        let proxy = [
            "proxy",
            &header,
            "--markup",
            "marks.toml",
            "--force",
            "-o",
            "proxies",
        ];
        self.scratch.mastermind(&proxy).well();
        self
    }

    fn differs(&self, first: &str, second: &str) -> bool {
        let compared = self.scratch.mastermind(&["compare", first, second]);
        assert_eq!(compared.code, Some(0));
        compared.stderr.contains("libraries of the runs differ")
    }
}

/// The value to ask such a library for on this processor.
fn best(offered: Option<Level>) -> Option<&'static str> {
    match offered? {
        Level::Avx512 => Some("SkylakeX"),
        Level::Avx2 => Some("Haswell"),
        Level::Avx | Level::Sse42 => Some("Nehalem"),
        Level::Baseline => None,
    }
}

#[test]
fn a_run_keeps_the_code_of_its_libraries() {
    let program = Program::new(&[]);
    let ended = program.wrap("plain", None, &[]);
    assert_eq!(ended.code, Some(0));
    let found = program.dispatch("plain");
    let library = |found: &Dispatch| {
        let mut libraries = found.libraries.iter();
        let library = libraries.find(|library| library.name == "OpenBLAS");
        library.expect("the library").clone()
    };
    let plain = library(&found);
    assert_eq!(plain.answer.code, "Prescott");
    assert_eq!(plain.answer.version.as_deref(), Some("0.0.1"));
    let other = plain.other.as_ref().map(|other| other.value.as_str());
    assert_eq!(other, best(found.offered));
    if let Some(value) = other {
        let asked = format!("{VARIABLE}={value}");
        assert!(ended.stderr.contains(&asked), "{ended:?}");
        let profile = program.scratch.mastermind(&["profile", "plain"]);
        assert!(profile.stderr.contains(&asked), "{profile:?}");
    }
    program.wrap("again", None, &[]).well();
    assert!(!program.differs("plain", "again"));
    program.wrap("with", Some("Haswell"), &[]).well();
    let with = program.dispatch("with");
    assert_eq!(library(&with).answer.code, "Haswell");
    assert_eq!(with.variables[VARIABLE], "Haswell");
    assert!(program.differs("plain", "with"));
}

#[test]
fn a_variable_is_tried() {
    let program = Program::new(&[]);
    let tried = program.wrap("records", None, &["--try", "OPENBLAS_CORETYPE=Haswell"]);
    assert_eq!(tried.code, Some(0));
    let compared = [
        "compare",
        "records",
        "records.with-OPENBLAS_CORETYPE",
        "--json",
    ];
    program.scratch.mastermind(&compared).well();
    assert!(program.differs(compared[1], compared[2]));
    // Nothing is written over.
    let again = program.wrap("records", None, &["--try", "OPENBLAS_CORETYPE=Haswell"]);
    assert_eq!(again.code, Some(1));
    // An argument of the program is none of ours.
    let mut named = Command::new(bin_dir().join("mastermind"));
    named.args(["wrap", "--try", "A=1", "--records", "records", "--"]);
    named.args(["./program", "--overwrite"]);
    assert_eq!(program.scratch.run(&mut named).code, Some(1));
    // A rank starts once.
    let mut rank = Command::new(bin_dir().join("mastermind"));
    rank.envs([("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "1")]);
    rank.args(["wrap", "--try", "A=1", "--records", "r", "--", "./program"]);
    let refused = program.scratch.run(&mut rank);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(!program.scratch.path("r").exists());
}

#[test]
fn a_library_that_dies_when_it_is_asked_harms_nobody() {
    let program = Program::new(&["-DDIES"]);
    let ended = program.wrap("records", None, &[]);
    assert_eq!(ended.code, Some(0));
    let found = program.dispatch("records");
    let library = program.scratch.path("libopenblas.so.0");
    assert!(found.unanswered.contains_key(&library), "{found:?}");
}

#[test]
fn a_method_without_a_call_is_not_known_where_other_code_runs() {
    let program = Program::new(&[]).with_sizes();
    for (records, value) in [("here", None), ("again", None), ("there", Some("Haswell"))] {
        program.wrap(records, value, &[]).well();
    }
    let scratch = &program.scratch;
    let other = (1..7).map(|n| format!("other,{n}000,{n}e-3\n"));
    let other: String = other.collect();
    scratch.write("other.csv", format!("kernel,n,seconds\n{other}"));
    let fit = ["fit", "here", "other.csv", "-o", "models.json"];
    scratch.mastermind(&fit).well();
    let file = root().join("examples/carry/here.toml");
    let file = file.to_str().expect("a path");
    let known = |there: &str| {
        let carry = [
            "carry",
            "models.json",
            "--from",
            file,
            "--to",
            file,
            "--force",
            "-o",
            "c.json",
        ];
        let with = ["--fitted-to", "here", "--measured", there, "--json"];
        let shown = scratch.mastermind(&[&carry[..], &with].concat()).well();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let rows = shown["models"].as_array().expect("models").iter();
        let known = rows.map(|row| {
            let end = row["method"].as_str().expect("a name").ends_with("scale");
            (
                end,
                row["known_by"].as_str().expect("how").to_owned(),
                row["deviation"].is_null(),
            )
        });
        let found = known
            .filter(|(is_scale, ..)| !is_scale)
            .map(|(_, how, is_unknown)| (how, is_unknown));
        (
            found.collect::<Vec<_>>().pop().expect("the other"),
            shown["other_code"].as_array().map_or(0, Vec::len),
        )
    };
    assert_eq!(known("again"), (("other-methods".into(), false), 0));
    let (other, n_codes) = known("there");
    assert_eq!(other, ("nothing".into(), true));
    assert!(n_codes > 0);
    let predict = [
        "predict", "c.json", "--method", "other", "--at", "n=3000", "--json",
    ];
    let predicted = scratch.mastermind(&predict);
    let predicted: Value = serde_json::from_str(&predicted.well()).expect("JSON");
    assert!(predicted["upper_s"].is_null() && predicted["lower_s"] == 0.0);
}

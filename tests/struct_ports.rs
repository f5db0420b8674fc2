//! A struct of functions that take it as their first argument becomes a port: two models that a library has behind such
//! a struct are components, and a component in C's calls of them are measured.

use std::collections::BTreeMap;
use std::process::Command;

use mastermind_records::Run;
use mastermind_tests::{Scratch, root, succeeds};

fn compile(
    scratch: &Scratch,
    name: &str,
    sources: &[std::path::PathBuf],
    include: &[String],
) -> String {
    let library = scratch.path(name);
    let mut command = Command::new("cc");
    command.args([
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-std=gnu11",
        "-fPIC",
        "-shared",
        "-o",
    ]);
    command.arg(&library);
    command.args(include.iter().map(|folder| format!("-I{folder}")));
    succeeds(command.args(sources));
    library.display().to_string()
}

#[test]
fn structs_of_functions_are_ports() {
    let scratch = Scratch::new();
    let fixtures = root().join("tests/fixtures");
    let libraries = fixtures.join("libraries");
    let text = |name: &str| libraries.join(name).display().to_string();
    let output = scratch
        .mastermind(&[
            "proxy",
            &text("model.h"),
            "--markup",
            &text("model.toml"),
            "-o",
            "made",
        ])
        .well();
    assert!(
        output.contains("port model.Model with 6 methods"),
        "{output}"
    );
    assert!(
        output.contains("left out: Model.print: variadic"),
        "{output}"
    );
    let ports = scratch.path("made/ports");
    let include = [ports.display().to_string(), libraries.display().to_string()];
    let model = compile(
        &scratch,
        "libmodel.so",
        &[libraries.join("model.c")],
        &include,
    );
    let driver = [fixtures.join("modelling.c"), ports.join("model_ports.c")];
    let driver = compile(&scratch, "libmodelling.so", &driver, &include);
    let components = ports.join("libmodel_component.so").display().to_string();
    let assembly = format!(
        "[assembly]\nname = \"modelling\"\npath = [{driver:?}, {components:?}]\n\n[instances]\ndriver = \"model.Modelling\"\n\
         first = \"model.Halving\"\nsecond = \"model.Model\"\n\n[parameters.first]\npath = {model:?}\n\n\
         [parameters.second]\npath = {model:?}\nregister = \"register_doubling\"\n\n\
         [connections]\n\"driver.first\" = \"first.model\"\n\"driver.second\" = \"second.model\"\n\n[go]\nport = \"driver.go\"\n"
    );
    let file = scratch.write("modelling.toml", assembly);
    scratch.verb("check", &file, &[]).well();
    scratch.verb("run", &file, &[]).well();
    let output = scratch.verb("run", &file, &["--records", "records"]).well();
    assert!(!output.contains("no proxy"), "{output}");
    let run = Run::open(&scratch.path("records")).expect("records");
    let mut calls = BTreeMap::<(&str, &str), Vec<(String, bool)>>::new();
    for record in run.logs().iter().flat_map(|log| log.records()) {
        let values: Vec<_> = record
            .parameters()
            .map(|value| value.as_f64().to_string())
            .collect();
        let method = (record.method.class.as_str(), record.method.method.as_str());
        calls
            .entry(method)
            .or_default()
            .push((values.join(" "), record.failed));
    }
    for class in ["model.Halving", "model.Model"] {
        let of = |method: &str| calls.get(&(class, method)).cloned().unwrap_or_default();
        // The second one begins with a missing file, and reports that by its result.
        let begun = [(String::new(), false), (String::new(), true)];
        assert_eq!(of("initialize"), begun, "{class}");
        assert_eq!(of("update").len(), 3, "{class}");
        // With a count of 0 the parameters make no sense: the call is counted as lost.
        let read = ["4 1 3", "2 1 6"].map(|values| (values.to_owned(), false));
        assert_eq!(of("get_value"), read, "{class}");
        assert_eq!(of("get_names"), [(String::new(), true)], "{class}");
        assert_eq!(of("get_time").len() + of("finalize").len(), 2, "{class}");
    }
    let warnings = scratch.mastermind(&["profile", "records"]).stderr;
    let reason = "have no record: an expression of the mark-up of first.get_value divides by zero";
    assert!(warnings.contains(reason), "{warnings}");
    let wrong = scratch.write(
        "wrong.toml",
        std::fs::read_to_string(&file)
            .expect("the assembly")
            .replace("register_doubling", "nothing"),
    );
    let error = scratch.verb("run", &wrong, &[]).error();
    assert!(
        error.contains("has no function \"nothing\", expected one that fills it"),
        "{error}"
    );
}

//! `wrap --call-sites`: where the calls of a C library come from.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use mastermind_tests::{Scratch, bin_dir, output, root};
use serde_json::Value;

#[test]
fn calls_are_distinguished_by_function_file_and_line() {
    let scratch = Scratch::new();
    let fixture = |name: &str| root().join("tests/fixtures/round_about").join(name);
    let cc = |options: &[&str], result: &str, source: &str| {
        let mut cc = Command::new("cc");
        cc.args(["-O1", "-fno-inline", "-o"])
            .arg(scratch.path(result));
        cc.arg(fixture(source)).arg("-L").arg(scratch.path(""));
        output(cc.args(options));
    };
    cc(&["-shared", "-fPIC"], "libtally.so", "tally.c");
    let linked = ["-DLINKED", "-ltally", "-Wl,-rpath,$ORIGIN"];
    cc(&[&linked[..], &["-g"]].concat(), "known", "program.c");
    cc(&[&linked[..], &["-s"]].concat(), "stripped", "program.c");
    let header = fixture("tally.h").display().to_string();
    let markup = fixture("tally.toml").display().to_string();
    let proxy = ["proxy", &header, "--markup", &markup, "-o", "proxies"];
    scratch.mastermind(&proxy).well();

    let source = std::fs::read_to_string(fixture("program.c")).expect("a source");
    let line_of = |part: &str| {
        1 + source
            .lines()
            .position(|line| line.contains(part))
            .expect(part)
    };
    let in_a_thread = format!("in_a_thread (program.c:{})", line_of("*answer += tally(i)"));
    let linked = format!(
        "linked (program.c:{})",
        line_of("tally(1), tally_twice(3))")
    );
    // From within the library, without debug information: by its own symbols.
    let rows = |program: &str, way: &str| sites(&scratch, program, way);
    assert_eq!(rows("known", "threads"), [format!("{in_a_thread} 400")]);
    let inner = rows("known", "inner");
    assert_eq!(inner[0], format!("{linked} 1"));
    assert_eq!(inner.len(), 3);
    for row in &inner[1..] {
        assert!(row.starts_with("tally_twice (libtally.so+0x"), "{row}");
    }
    // No symbols: the place in the file.
    let stripped = rows("stripped", "tail");
    assert!(stripped[0].starts_with("stripped+0x"), "{stripped:?}");
    // A program that is killed writes no more, and has its call sites all the same.
    let killed = line_of("strcmp(way, \"killed\")") + 1;
    assert_eq!(
        rows("known", "killed"),
        [format!("linked (program.c:{killed}) 1")]
    );

    let plain = [
        "wrap",
        "--proxy",
        "proxies/libtally_proxy.so",
        "--records",
        "plain",
        "--",
    ];
    scratch
        .mastermind(&[&plain[..], &[&scratch.text("known"), "tail"]].concat())
        .well();
    let shown = scratch
        .mastermind(&["profile", "plain", "--call-sites"])
        .error();
    assert!(
        shown.contains("0 calls with one, expected some; record with wrap --call-sites"),
        "{shown}"
    );

    // Two runs compare at equal parameters, wherever the calls come from.
    let compared = scratch
        .mastermind(&["compare", "threads", "threads", "--json"])
        .well();
    let compared: Value = serde_json::from_str(&compared).expect("JSON");
    let methods = compared["methods"].as_array().expect("methods");
    let tally = methods
        .iter()
        .find(|method| method["name"] == "tally.tally");
    assert!(
        tally.expect("the method")["effect"].is_object(),
        "{compared}"
    );
    let without = scratch.mastermind(&["profile", "threads"]).well();
    assert!(without.contains("tally.tally"), "{without}");
}

#[test]
fn call_sites_of_a_run_that_was_killed_are_found_when_they_are_read() {
    let scratch = Scratch::new();
    let fixture = |name: &str| root().join("tests/fixtures/round_about").join(name);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(scratch.path("libtally.so"));
    output(cc.arg(fixture("tally.c")));
    let source = "#include <stdio.h>\n#include <unistd.h>\nint tally(int n);\n\
                  static inline __attribute__((always_inline)) int inlined(int n) {\nreturn tally(n) + 1;\n}\n\
                  int main(void) {\nint sum = inlined(3);\nprintf(\"called %d\\n\", sum);\nfflush(stdout);\nfor (;;) pause();\n}\n";
    scratch.write("hangs.c", source);
    let mut cc = Command::new("cc");
    cc.args(["-g", "-O1", "-o"]).arg(scratch.path("hangs"));
    cc.arg(scratch.path("hangs.c"))
        .arg("-L")
        .arg(scratch.path(""));
    output(cc.args(["-ltally", "-Wl,-rpath,$ORIGIN"]));
    let header = fixture("tally.h").display().to_string();
    scratch
        .mastermind(&["proxy", &header, "-o", "proxies"])
        .well();
    let mut wrap = Command::new(bin_dir().join("mastermind"));
    wrap.current_dir(scratch.path(""));
    wrap.args(["wrap", "--call-sites", "--records", "r", "--proxy"]);
    wrap.args(["proxies/libtally_proxy.so", "--", "./hangs"]);
    let mut wrap = wrap.stdout(Stdio::piped()).spawn().expect("a process");
    let mut line = String::new();
    let mut stdout = BufReader::new(wrap.stdout.take().expect("its output"));
    stdout.read_line(&mut line).expect("a line");
    assert!(line.starts_with("called"), "{line}");
    let rows = || {
        let shown = ["profile", "r", "--call-sites", "--json"];
        let shown = scratch.mastermind(&shown).well();
        let shown: Value = serde_json::from_str(&shown).expect("JSON");
        let rows = shown["call_sites"].as_array().expect("rows").iter();
        rows.map(|row| row["call_site"].as_str().expect("a text").to_owned())
            .collect::<Vec<_>>()
    };
    let expected = ["inlined (hangs.c:5) < main (hangs.c:8)"];
    assert_eq!(rows(), expected, "while it runs");
    wrap.kill().expect("a process");
    wrap.wait().expect("a process");
    assert_eq!(rows(), expected, "killed");
}

#[test]
fn functions_of_cpp_are_named_as_in_their_source() {
    let scratch = Scratch::new();
    let fixture = |name: &str| root().join("tests/fixtures/round_about").join(name);
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(scratch.path("libtally.so"));
    output(cc.arg(fixture("tally.c")));
    let source = "extern \"C\" int tally(int);\n\
                  namespace grid { template <class T> struct Field { __attribute__((noinline)) int sum(T n) {\n\
                  return tally(n) + 1;\n} }; }\n\
                  int main() { return grid::Field<short>().sum(1) == 0; }\n";
    std::fs::write(scratch.path("field.cpp"), source).expect("a source");
    let mut cpp = Command::new("c++");
    cpp.args(["-g", "-O1", "-o"]).arg(scratch.path("field"));
    cpp.arg(scratch.path("field.cpp"))
        .arg("-L")
        .arg(scratch.path(""));
    output(cpp.args(["-ltally", "-Wl,-rpath,$ORIGIN"]));
    let header = fixture("tally.h").display().to_string();
    let markup = fixture("tally.toml").display().to_string();
    let proxy = ["proxy", &header, "--markup", &markup, "-o", "proxies"];
    scratch.mastermind(&proxy).well();
    assert_eq!(
        sites(&scratch, "field", "linked"),
        ["grid::Field<short>::sum (field.cpp:3) 1"]
    );
}

/// Call sites of `tally`, each with its calls.
fn sites(scratch: &Scratch, program: &str, way: &str) -> Vec<String> {
    let program = scratch.text(program);
    let wrap = [
        "wrap",
        "--call-sites",
        "--proxy",
        "proxies/libtally_proxy.so",
        "--records",
        way,
        "--overwrite",
        "--",
    ];
    scratch.mastermind(&[&wrap[..], &[&program, way]].concat());
    let shown = scratch
        .mastermind(&["profile", way, "--call-sites", "--json"])
        .well();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    let rows = shown["call_sites"].as_array().expect("rows").iter();
    let mut rows: Vec<_> = rows
        .filter(|row| row["name"] == "tally.tally")
        .map(|row| {
            format!(
                "{} {}",
                row["call_site"].as_str().expect("a text"),
                row["calls"]
            )
        })
        .collect();
    rows.sort();
    rows
}

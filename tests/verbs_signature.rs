//! `mastermind signature`: what a call does, counted under valgrind.

use std::process::Command;

use mastermind_tests::{Scratch, output};
use serde_json::Value;

/// Calls a function twice that reads `n * n` numbers, and one that is called once.
const PROGRAM: &str = r#"
#include <stdlib.h>
static double numbers[1 << 20];
__attribute__((noinline)) double square(int n) {
    double sum = 0;
    for (int i = 0; i < n * n; i++) sum += *(volatile double *)&numbers[i];
    return sum;
}
__attribute__((noinline)) double once(int n) { return square(n) + 1; }
int main(int argc, char **argv) {
    int n = atoi(argv[argc - 1]);
    if (n > 900) return 3;
    return once(1) + square(n) + square(n) < 0;
}
"#;

fn has_valgrind() -> bool {
    let has = Command::new("valgrind").arg("--version").output().is_ok();
    if !has {
        mastermind_tests::skip("signatures", "no valgrind");
    }
    has
}

fn program() -> Scratch {
    let scratch = Scratch::new();
    scratch.write("program.c", PROGRAM);
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-o"]).arg(scratch.path("program"));
    output(cc.arg(scratch.path("program.c")));
    // The caches of a machine file, so that counts are of no machine in particular.
    let file = mastermind_tests::root().join("examples/carry/here.toml");
    let text = std::fs::read_to_string(file).expect("a machine");
    let cache = |level: u32, bytes: u32| {
        format!(
            "\n[[processor.caches]]\nlevel = {level}\nbytes = {bytes}\nways = 8\nline_bytes = 64\nshared_by = 1\n"
        )
    };
    scratch.write("m.toml", text + &cache(1, 32_768) + &cache(2, 1 << 20));
    scratch
}

fn sign(scratch: &Scratch, method: &str, at: &str, program: &[&str]) -> mastermind_tests::Ended {
    let words = [
        "signature",
        "--method",
        method,
        "--at",
        at,
        "--machine",
        "m.toml",
    ];
    let words = [
        &words[..],
        &["--json", "-o", "s.json", "--force", "--"],
        program,
    ]
    .concat();
    scratch.mastermind(&words)
}

#[test]
fn counts_are_exact_and_go_over_the_size() {
    if !has_valgrind() {
        return;
    }
    let scratch = program();
    let ended = sign(&scratch, "once", "n=100,200,400", &["./program", "{n}"]);
    assert!(ended.stderr.contains("warning"), "{ended:?}");
    let ended = sign(&scratch, "square", "n=100,200,400", &["./program", "{n}"]);
    let found: Value = serde_json::from_str(&ended.stdout).expect("JSON");
    let stored: Value = serde_json::from_str(&scratch.read("s.json")).expect("JSON");
    assert_eq!(found, stored);
    // A call of another size came before: it is warned of, and the last one is taken.
    assert!(ended.stderr.contains("another size"), "{ended:?}");
    for size in found["sizes"].as_array().expect("sizes") {
        let (n, loads) = (size["n"].as_f64(), size["counts"]["loads"].as_f64());
        let (n, loads) = (n.expect("one"), loads.expect("one"));
        assert!((n * n..n * n + 20.0).contains(&loads), "{size}");
    }
    let loads = &found["quantities"]["loads"];
    assert_eq!(loads["terms"][1][0], "n^2", "{loads}");
    assert!(loads["left_out"].as_f64().expect("one") < 0.01);
}

#[test]
fn what_cannot_be_counted_is_an_error() {
    if !has_valgrind() {
        return;
    }
    let scratch = program();
    for (method, at, program) in [
        ("none", "n=100,200,400", ["./program", "{n}"]),
        ("square", "n=100,200", ["./program", "{n}"]),
        ("square", "n=100,200,400", ["./program", "100"]),
        ("square", "n=100,200,999", ["./program", "{n}"]),
        ("square", "n=100,200,400", ["./missing", "{n}"]),
    ] {
        let ended = sign(&scratch, method, at, &program);
        assert_eq!(ended.code, Some(1), "{ended:?}");
    }
    assert_eq!(
        sign(&scratch, "square", "n=0,1,2", &["./program", "{n}"]).code,
        Some(2)
    );
}

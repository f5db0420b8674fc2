//! `mastermind signature`: the operations of a call, counted under valgrind.

use std::path::Path;
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
    let read = |bytes: u32, rate: u32| {
        format!(
            "\n[[processor.read]]\nbytes = {bytes}\nthreads = 1\nbytes_per_ns = {{ best = {rate}, quartile = {rate}, \
             passes = [{rate}], unstable = false }}\n"
        )
    };
    let text = text.replace("read = []\n", "") + &cache(1, 32_768) + &cache(2, 1 << 20);
    scratch.write(
        "m.toml",
        text + &read(16_384, 200) + &read(262_144, 100) + &read(1 << 23, 10),
    );
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

/// Signs with distances; `None` where valgrind's headers are missing.
fn sign_distances(scratch: &Scratch) -> Option<Value> {
    if !Path::new("/usr/include/valgrind/pub_tool_basics.h").exists() {
        mastermind_tests::skip("distances of signatures", "no headers of valgrind");
        return None;
    }
    let words = [
        "signature",
        "--method",
        "square",
        "--at",
        "n=100,200,400",
        "--machine",
        "m.toml",
    ];
    let words = [
        &words[..],
        &["--distances", "--json", "-o", "s.json", "--force", "--"],
        &["./program", "{n}"],
    ]
    .concat();
    let ended = scratch.mastermind(&words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    Some(serde_json::from_str(&ended.stdout).expect("JSON"))
}

#[test]
fn distances_give_hits_of_any_cache_at_any_size() {
    if !has_valgrind() {
        return;
    }
    let scratch = program();
    let Some(found) = sign_distances(&scratch) else {
        return;
    };
    // The caches of the machine file by callgrind, and by the stacks of their sets.
    let hits = |at: &str, caches: &[&str]| -> Vec<Value> {
        let caches = caches.iter().flat_map(|of| ["--cache", *of]);
        let words = ["signature", "--read", "s.json", "--json", "--at", at];
        let words: Vec<&str> = words.into_iter().chain(caches).collect();
        serde_json::from_str(&scratch.mastermind(&words).stdout).expect("JSON")
    };
    let counts = &found["sizes"][2]["counts"];
    let by_callgrind = counts["misses of the first cache"].as_f64().expect("one");
    let [first, second] = &hits("n=400", &[])[..] else {
        panic!("two caches");
    };
    assert_eq!((&first["exact"], &first["ways"]), (&true.into(), &8.into()));
    assert!(
        (first["misses"].as_f64().expect("one") - by_callgrind).abs() < 20.0,
        "{first} {by_callgrind}"
    );
    // 160 000 numbers in sequence are 1.28 MB: more than 1 MiB holds, less than 2.
    let (misses, lines) = (second["misses"].as_f64().expect("one"), 160_000.0 / 8.0);
    assert!((misses / lines - 1.0).abs() < 0.01, "{second}");
    // Never traced: 300 * 300 numbers are 720 kB, 600 * 600 are 2.88 MB.
    for (at, cache, expected) in [
        ("n=300", "1M,16", 0.0),
        ("n=300", "512K,16", 11_250.0),
        ("n=600", "2M,16", 45_000.0),
    ] {
        let computed = &hits(at, &[cache])[0];
        assert_eq!(computed["exact"], false);
        assert_eq!(computed["outside"], at == "n=600");
        let misses = computed["misses"].as_f64().expect("one");
        assert!((misses - expected).abs() < 0.02 * 45_000.0, "{computed}");
    }
}

#[test]
fn hits_that_cannot_be_computed_are_an_error() {
    if !has_valgrind() {
        return;
    }
    let scratch = program();
    sign(&scratch, "square", "n=100,200,400", &["./program", "{n}"]);
    scratch.write("none.json", "{}");
    for (words, code) in [
        (&["--read", "s.json", "--at", "n=100"][..], 1),
        (&["--read", "s.json", "--at", "m=100"], 1),
        (&["--read", "none.json", "--at", "n=100"], 1),
        (&["--read", "missing.json", "--at", "n=100"], 1),
        (&["--read", "s.json", "--at", "n=100", "--cache", "32K"], 2),
        (
            &["--read", "s.json", "--at", "n=100", "--cache", "32K,7"],
            2,
        ),
        (&["--at", "n=100", "--cache", "32K,8"], 2),
        (&["--at", "n=100"], 2),
    ] {
        let ended = scratch.mastermind(&[&["signature"], words].concat());
        assert_eq!(ended.code, Some(code), "{words:?} {ended:?}");
    }
}

#[test]
fn a_call_beyond_a_cache_is_predicted_by_its_signature() {
    if !has_valgrind() {
        return;
    }
    let scratch = program();
    if sign_distances(&scratch).is_none() {
        return;
    }
    // A nanosecond an element, all of them within the first cache of 32 KiB.
    let row = |n: u64| format!("square,{n},{}\n", 1e-9 * (n * n) as f64);
    let rows: String = [20, 26, 32, 40, 50, 60].map(row).concat();
    scratch.write("times.csv", "kernel,n,seconds\n".to_owned() + &rows);
    let fitted = scratch.mastermind(&["fit", "times.csv", "-o", "models.json"]);
    assert_eq!(fitted.code, Some(0), "{fitted:?}");
    let predict = |at: &str, more: &[&str]| {
        let words = [
            "predict",
            "models.json",
            "--method",
            "square",
            "--json",
            "--at",
            at,
        ];
        scratch.mastermind(&[&words[..], &["--signature", "s.json"], more].concat())
    };
    let value = |at: &str| -> Value {
        let ended = predict(at, &["--machine", "m.toml"]);
        serde_json::from_str(&ended.stdout).expect("JSON")
    };
    let within = value("n=40");
    assert_eq!(
        (&within["by_signature"], &within["extrapolated"]),
        (&false.into(), &false.into())
    );
    let beyond = value("n=1000");
    assert_eq!(beyond["by_signature"], true);
    let number = |name: &str| beyond[name].as_f64().expect("one");
    // A million numbers are 8 MB: reading them from beyond the caches adds to the millisecond that the formula gives.
    assert!(number("value_s") > 1.02 * number("without_s"), "{beyond}");
    assert!(
        beyond["parts"]["sequential"].as_f64().expect("one") > 0.02,
        "{beyond}"
    );
    assert!(number("lower_s") < number("value_s") && number("value_s") < number("upper_s"));
    // A first cache that holds half as much: the larger of the measured sizes miss it.
    let there = scratch
        .read("m.toml")
        .replace("bytes = 32768\nways", "bytes = 16384\nways");
    scratch.write("there.toml", there);
    let carry = |to: &str, signature: &str| {
        let words = [
            "carry",
            "models.json",
            "--from",
            "m.toml",
            "--to",
            to,
            "--json",
            "--force",
        ];
        let ended = scratch
            .mastermind(&[&words[..], &["-o", "there.json", "--signature", signature]].concat());
        let document: Option<Value> = serde_json::from_str(&ended.stdout).ok();
        (ended.code, document)
    };
    let factor = |to: &str| {
        let (_, document) = carry(to, "square=s.json");
        document.expect("JSON")["levels"][0]["factor"]
            .as_f64()
            .expect("one")
    };
    assert!((factor("m.toml") - 1.0).abs() < 1e-9);
    assert!(factor("there.toml") > 1.0005, "{}", factor("there.toml"));
    assert_eq!(carry("m.toml", "other=s.json").0, Some(1));
    assert_eq!(carry("m.toml", "square").0, Some(2));
    assert_eq!(predict("n=1000", &[]).code, Some(2));
    sign(&scratch, "square", "n=100,200,400", &["./program", "{n}"]);
    let ended = predict("n=1000", &["--machine", "m.toml"]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.contains("--distances"), "{ended:?}");
}

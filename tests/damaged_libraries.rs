//! Damaged component libraries: each is named, the others are listed, and nothing dies or hangs.

use std::fs;

use mastermind_tests::{Scratch, c_library};

/// A linear congruential generator (Knuth's MMIX), so that the damage is the same each time.
fn next(state: &mut u64) -> usize {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*state >> 33) as usize
}

#[test]
fn a_damaged_library_is_named_and_the_others_are_listed() {
    let scratch = Scratch::new();
    let Some(library) = c_library(&scratch, "flux", "flux", &[]) else {
        return;
    };
    let whole = fs::read(&library).expect("a file");
    let folder = scratch.path("libraries");
    fs::create_dir(&folder).expect("a folder");
    fs::copy(&library, folder.join("libwhole.so")).expect("a copy");
    let mut state = 39;
    for n in 0..30 {
        let mut bytes = whole.clone();
        let at = next(&mut state) % bytes.len();
        match n % 3 {
            0 => bytes.truncate(at),
            1 => bytes[at..].fill(0),
            _ => {
                for _ in 0..64 {
                    let at = next(&mut state) % bytes.len();
                    bytes[at] ^= 1 << (next(&mut state) % 8);
                }
            }
        }
        let copy = folder.join(format!("libdamaged{n:02}.so"));
        fs::write(&copy, bytes).expect("a file");
        let text = copy.display().to_string();
        let alone = scratch.mastermind(&["describe", &text]);
        assert!(matches!(alone.code, Some(0 | 1)), "{n}: {alone:?}");
    }
    let listed = scratch.mastermind(&["list", &folder.display().to_string()]);
    assert!(matches!(listed.code, Some(0 | 1)), "{listed:?}");
    assert!(listed.stdout.contains("libwhole.so"), "{listed:?}");
    let assembly = scratch.example("sod/sod.toml", &[&folder], &[]);
    for verb in ["check", "run"] {
        let ended = scratch.verb(verb, &assembly, &[]);
        assert!(matches!(ended.code, Some(0 | 1)), "{verb}: {ended:?}");
    }
}

/// The constructor hangs or dies, so inspecting the file would not show it.
#[test]
fn a_library_that_dies_is_named() {
    let scratch = Scratch::new();
    let source = scratch.write(
        "dying.c",
        "__attribute__((constructor)) static void die(void) { *(volatile int *)8 = 1; }\n\
         int cca_component_v2(void) { return 0; }\n",
    );
    let library = scratch.path("libdying.so");
    let mut cc = std::process::Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(source);
    mastermind_tests::output(&mut cc);
    let error = scratch
        .mastermind(&["describe", &library.display().to_string()])
        .error();
    assert!(
        error.contains("<dir>/libdying.so\": a process that tried it died by signal 11"),
        "{error}"
    );
}

/// Each harms the process that opens it: this one must not be that process.
#[test]
fn the_others_are_listed_next_to_a_library_that_harms_its_process() {
    let scratch = Scratch::new();
    let Some(whole) = c_library(&scratch, "flux", "flux", &[]) else {
        return;
    };
    for (name, way, says) in [
        (
            "exits",
            "__attribute__((constructor)) static void way(void) { exit(0); }",
            "it ended the process, expected it to return",
        ),
        (
            "exits_at_once",
            "__attribute__((constructor)) static void way(void) { _exit(7); }",
            "it ended the process, expected it to return",
        ),
        (
            "closes",
            "__attribute__((constructor)) static void way(void) { for (int i = 0; i < 1024; i++) close(i); }",
            "it ended the process, expected it to return",
        ),
        (
            "moves",
            "__attribute__((constructor)) static void way(void) { if (chdir(\"/\")) abort(); }",
            "no description, expected one",
        ),
        (
            "never_ends",
            "__attribute__((destructor)) static void way(void) { for (;;) pause(); }",
            "no description, expected one",
        ),
    ] {
        let folder = scratch.path(name);
        fs::create_dir(&folder).expect("a folder");
        fs::copy(&whole, folder.join("libwhole.so")).expect("a copy");
        let source = scratch.write(
            &format!("{name}.c"),
            format!(
                "#include <stdlib.h>\n#include <unistd.h>\n{way}\nvoid *cca_component_v2(void) {{ return 0; }}\n"
            ),
        );
        let mut cc = std::process::Command::new("cc");
        cc.args(["-shared", "-fPIC", "-o"])
            .arg(folder.join("libharms.so"))
            .arg(source);
        mastermind_tests::output(&mut cc);
        let listed = scratch.mastermind(&["list", name]);
        assert_eq!(listed.code, Some(1), "{name}: {listed:?}");
        assert!(listed.stdout.contains("libwhole.so"), "{name}: {listed:?}");
        let names = format!("<dir>/{name}/libharms.so\": {says}");
        assert!(listed.stderr.contains(&names), "{name}: {listed:?}");
    }
}

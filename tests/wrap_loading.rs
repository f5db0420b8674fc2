//! A program that starts alone also starts under `wrap`, measured or not.

use std::fs;
use std::path::Path;
use std::process::Command;

use mastermind_tests::{Scratch, output};

/// More thread-local memory than glibc keeps in reserve, at a fixed distance from the thread's pointer.
const LIBRARY: &str = "static __thread __attribute__((tls_model(\"initial-exec\"))) char room[60000];\n\
                       int touch(void) { return ++room[sizeof room - 1]; }\n";

const PROGRAM: &str = "#include <stdio.h>\nint touch(void);\nint main(void) { printf(\"%d\\n\", touch()); return 5; }\n";

/// `DT_FLAGS` and its bit `DF_STATIC_TLS` (the ELF specification).
const FLAGS: u64 = 30;
const STATIC_TLS: u64 = 0x10;

/// Has a library say nothing of its thread-local memory.
fn forget_flag(library: &Path) {
    let mut bytes = fs::read(library).expect("a library");
    let word =
        |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("a word"));
    let ends = (0..bytes.len() / 8 - 1).map(|n| n * 8);
    let mut places = ends.filter(|at| {
        let value = word(&bytes, at + 8);
        word(&bytes, *at) == FLAGS && value & STATIC_TLS != 0 && value < 1 << 6
    });
    let at = places.next().expect("an entry") + 8;
    let value = word(&bytes, at) & !STATIC_TLS;
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
    fs::write(library, bytes).expect("a library");
}

#[test]
fn much_thread_local_memory_is_no_hindrance() {
    let scratch = Scratch::new();
    let (library, program) = (scratch.path("libroom.so"), scratch.path("program"));
    let library_source = scratch.write("room.c", LIBRARY);
    let program_source = scratch.write("program.c", PROGRAM);
    let mut cc = Command::new("cc");
    output(
        cc.args(["-shared", "-fPIC", "-o"])
            .arg(&library)
            .arg(library_source),
    );
    let mut cc = Command::new("cc");
    cc.arg("-o").arg(&program).arg(program_source).arg(&library);
    output(&mut cc);
    let program = program.display().to_string();
    for says_nothing in [false, true] {
        if says_nothing {
            forget_flag(&library);
        }
        let alone = scratch.run(&mut Command::new(&program));
        assert_eq!((alone.code, &*alone.stdout), (Some(5), "1\n"));
        let wrapped = scratch.mastermind(&["wrap", "--records", "records", "--", &program]);
        assert_eq!(
            (wrapped.code, &*wrapped.stdout),
            (Some(5), "1\n"),
            "{wrapped:?}"
        );
        // A name that the file does not give cannot be handled: the program runs without a measurement, and `wrap` says
        // so.
        let said = wrapped.stderr.contains("the program runs without");
        assert_eq!(said, says_nothing, "{wrapped:?}");
    }
}

/// One that does not start alone is not started twice.
#[test]
fn a_program_without_a_library_ends_as_alone() {
    let scratch = Scratch::new();
    let source = scratch.write(
        "program.c",
        "int f(void);\nint main(void) { return f(); }\n",
    );
    let library = scratch.write("f.c", "int f(void) { return 0; }\n");
    let (gone, program) = (scratch.path("libgone.so"), scratch.path("program"));
    let mut cc = Command::new("cc");
    output(cc.args(["-shared", "-fPIC", "-o"]).arg(&gone).arg(library));
    let mut cc = Command::new("cc");
    output(cc.arg("-o").arg(&program).arg(source).arg(&gone));
    fs::remove_file(&gone).expect("a file");
    let program = program.display().to_string();
    let alone = scratch.run(&mut Command::new(&program));
    let wrapped = scratch.mastermind(&["wrap", "--records", "records", "--", &program]);
    assert_eq!((alone.code, wrapped.code), (Some(127), Some(127)));
    assert_eq!(
        wrapped.stderr.matches("libgone.so").count(),
        1,
        "{wrapped:?}"
    );
}

/// A program with another dynamic linker than glibc's runs without the libraries of `wrap`, also if another program
/// starts it.
#[test]
fn a_program_of_another_c_library_runs_unmeasured() {
    const PROGRAM: &str = "#include <stdio.h>\nint main(void) { puts(\"here\"); return 3; }\n";
    let scratch = Scratch::new();
    // glibc's, by another name: musl's would not do with any library of ours.
    let linker = scratch.path("ld-other.so.1");
    fs::copy("/lib64/ld-linux-x86-64.so.2", &linker).expect("the dynamic linker");
    let (source, program) = (scratch.write("program.c", PROGRAM), scratch.path("program"));
    let mut cc = Command::new("cc");
    cc.arg(format!("-Wl,--dynamic-linker={}", linker.display()));
    output(cc.arg("-o").arg(&program).arg(source));
    let program = &*program.display().to_string();
    for words in [&[program][..], &["env", program]] {
        let wrap = ["wrap", "--records", "records", "--"];
        let wrapped = scratch.mastermind(&[&wrap[..], words].concat());
        assert_eq!((wrapped.code, &*wrapped.stdout), (Some(3), "here\n"));
        let said = "its dynamic linker is ld-other.so.1, expected ld-linux-x86-64.so.2";
        assert!(wrapped.stderr.contains(said), "{wrapped:?}");
    }
}

//! A component that ends the process, anywhere and by any means: the run never succeeds, and always names the
//! component.

use std::fs;
use std::path::PathBuf;

use mastermind_tests::{Ended, Scratch, bin_dir, c_library};

/// Sod's tube with a flux that ends the process in the given way; none without a C compiler.
fn assembly(scratch: &Scratch, way: &str) -> Option<PathBuf> {
    let name = way.to_lowercase();
    let library = c_library(scratch, &name, "ending", &[&format!("WAY={way}")])?;
    let flux = ("hydro.GodunovFlux\"\nbc", "test.Ending\"\nbc");
    Some(scratch.example("sod/sod.toml", &[&library], &[flux]))
}

fn run(way: &str) -> Option<Ended> {
    let scratch = Scratch::new();
    let assembly = assembly(&scratch, way)?;
    Some(scratch.verb("run", &assembly, &[]))
}

#[test]
fn by_exit_with_the_code_of_success() {
    for (way, doing) in [
        ("EXIT_AT_LOAD", "open library \"<dir>/libexit_at_load.so\""),
        (
            "EXIT_IN_CREATE",
            "create instance \"flux\" of class test.Ending",
        ),
        (
            "EXIT_IN_SET_SERVICES",
            "set services of instance \"flux\" of class test.Ending",
        ),
    ] {
        let scratch = Scratch::new();
        let Some(assembly) = assembly(&scratch, way) else {
            return;
        };
        let expected =
            format!("error: cannot {doing}: it ended the process, expected it to return\n");
        for verb in ["run", "check"] {
            assert_eq!(scratch.verb(verb, &assembly, &[]).error(), expected);
        }
    }
}

#[test]
fn by_a_signal_in_a_call() {
    for (way, what) in [
        (
            "NULL_WRITE",
            "invalid memory reference (SIGSEGV) at address 0x0",
        ),
        (
            "NULL_CALL",
            "invalid memory reference (SIGSEGV) at address 0x0",
        ),
        ("ABORT", "abort (SIGABRT)"),
        ("DEEP", "invalid memory reference (SIGSEGV) at address 0x"),
    ] {
        let Some(ended) = run(way) else {
            return;
        };
        assert_eq!(ended.code, None, "{ended:#?}");
        let begins = format!("error: cannot run instance \"flux\" of class test.Ending: {what}");
        let found = ended
            .stderr
            .find(&begins)
            .unwrap_or_else(|| panic!("{ended:#?}"));
        let callers =
            ["InviscidFlux", "RK2", "ShockDriver"].map(|class| format!("of class hydro.{class}\n"));
        let mut rest = &ended.stderr[found..];
        // The part of an exhausted stack that is examined has no room for the callers.
        for class in callers.iter().filter(|_| way != "DEEP") {
            let at = rest
                .find(class.as_str())
                .unwrap_or_else(|| panic!("{class} {ended:#?}"));
            rest = &rest[at..];
        }
    }
}

#[test]
fn by_a_signal_before_any_call() {
    let Some(ended) = run("NULL_WRITE_IN_CREATE") else {
        return;
    };
    assert_eq!(ended.code, None, "{ended:#?}");
    let begins = "error: cannot create instance \"flux\" of class test.Ending: invalid memory reference (SIGSEGV) at address 0x0";
    assert!(ended.stderr.starts_with(begins), "{ended:#?}");
    // Another process opened it first.
    let Some(ended) = run("NULL_WRITE_AT_LOAD") else {
        return;
    };
    let begins = "error: cannot open library \"<dir>/libnull_write_at_load.so\": a process that tried it died by signal 11";
    assert!(ended.error().starts_with(begins));
}

#[test]
fn a_handler_of_a_component_is_left_alone() {
    let Some(ended) = run("OWN_HANDLER") else {
        return;
    };
    assert_eq!(
        (ended.code, &*ended.stderr),
        (Some(9), "my own words\n"),
        "{ended:#?}"
    );
}

#[test]
fn not_by_a_name_that_is_no_text() {
    for way in ["NULL_NAME", "JUNK_NAME", "ENDLESS_NAME"] {
        let Some(ended) = run(way) else {
            return;
        };
        let error = ended.error();
        assert!(
            error.contains("class \"test.Ending\" failed in set_services"),
            "{error}"
        );
        assert!(error.contains("name that is no text, expected"), "{error}");
    }
}

#[test]
fn not_by_a_library_that_is_cut() {
    let scratch = Scratch::new();
    let whole = fs::read(bin_dir().join("libhydro_godunov_flux.so")).expect("a library");
    for share in [2, 3, 10, 100] {
        let cut = scratch.write("libcut.so", &whole[..whole.len() / share]);
        let ended = scratch.mastermind(&["describe", &cut.display().to_string()]);
        // Output that is only for debuggers may be missing.
        assert!(matches!(ended.code, Some(0 | 1)), "{share}: {ended:?}");
    }
    let cut = scratch.write("libcut.so", &whole[..whole.len() / 20]);
    let error = scratch
        .mastermind(&["describe", &cut.display().to_string()])
        .error();
    assert!(
        error.contains(&format!(
            "cut at {} bytes, expected at least",
            whole.len() / 20
        )),
        "{error}"
    );
}

#[test]
fn a_library_of_another_processor_says_so() {
    let scratch = Scratch::new();
    let mut library = fs::read(bin_dir().join("libhydro_godunov_flux.so")).expect("a library");
    let (machine, name) = match std::env::consts::ARCH {
        "aarch64" => (62_u16, "x86_64"),
        _ => (183, "aarch64"),
    };
    // `e_machine` of the ELF header.
    library[18..20].copy_from_slice(&machine.to_le_bytes());
    let library = scratch.write("libforeign.so", library);
    let error = scratch
        .mastermind(&["describe", &library.display().to_string()])
        .error();
    let expected = format!("built for {name}, expected {}", std::env::consts::ARCH);
    assert!(error.contains(&expected), "{error}");
}

/// Only the symbols of a folder's other libraries are read: one of two gigabytes takes no memory.
#[test]
fn a_large_library_in_a_folder_takes_no_memory() {
    let scratch = Scratch::new();
    let folder = scratch.path("libraries");
    fs::create_dir(&folder).expect("a folder");
    for name in ["libhydro_godunov_flux.so", "libhydro_efm_flux.so"] {
        let path = folder.join(name);
        fs::copy(bin_dir().join(name), &path).expect("a copy");
        // The bytes after a library's end are a hole.
        let file = fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("a library");
        file.set_len(2 << 30).expect("a hole");
    }
    let mastermind = bin_dir().join("mastermind").display().to_string();
    let list = format!("ulimit -v 1500000; exec {mastermind} list libraries");
    let ended = scratch.run(std::process::Command::new("sh").args(["-c", &list]));
    let shown = ended.well();
    assert!(
        shown.contains("hydro.EfmFlux") && shown.contains("hydro.GodunovFlux"),
        "{shown}"
    );
}

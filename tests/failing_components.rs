//! A component that fails, with its own message, in any place: a non-zero exit code, and never an abort.

use mastermind_tests::{Scratch, assert_golden, c_library, root, rust_library};

/// Takes out the lines that Rust itself prints where a panic is raised.
fn without_panic_notes(stderr: &str) -> String {
    let (mut lines, mut left) = (stderr.lines(), String::new());
    while let Some(line) = lines.next() {
        if line.starts_with("thread '") && line.contains("panicked at") {
            // The panic's own message, which is in the error as well.
            lines.next();
        } else if !line.is_empty() && !line.starts_with("note: run with `RUST_BACKTRACE") {
            left += &format!("{line}\n");
        }
    }
    left
}

#[test]
fn in_set_services() {
    let scratch = Scratch::new();
    let library = rust_library("failing");
    let mut errors = String::new();
    for class in [
        "PanicsInSetServices",
        "FailsInSetServices",
        "AddsAPortTwice",
    ] {
        let class = format!("test.{class}\"\nbc");
        let flux = ("hydro.GodunovFlux\"\nbc", &class[..]);
        let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
        for verb in ["run", "check"] {
            errors += &without_panic_notes(&scratch.verb(verb, &assembly, &[]).error());
        }
    }
    assert_golden("component-set-services", &errors);
}

#[test]
fn in_a_call() {
    let scratch = Scratch::new();
    let library = rust_library("failing");
    let flux = ("hydro.GodunovFlux\"\nbc", "test.PanicsInCompute\"\nbc");
    let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
    scratch.verb("check", &assembly, &[]).well();
    for arguments in [&[][..], &["--records", "records"]] {
        let error = scratch.verb("run", &assembly, arguments).error();
        assert_golden("component-panic", &without_panic_notes(&error));
    }
}

#[test]
fn at_the_end() {
    let scratch = Scratch::new();
    let library = rust_library("failing");
    let assembly = scratch.write(
        "end.toml",
        format!(
            "[assembly]\nname = \"end\"\npath = [{library:?}]\n[instances]\nx = \"test.PanicsAtTheEnd\"\n[go]\nport = \"x.go\"\n"
        ),
    );
    // It has done its work; how it ends afterwards is its own affair.
    scratch.verb("run", &assembly, &[]).well();
}

#[test]
fn in_c_without_a_message() {
    let scratch = Scratch::new();
    let mut errors = String::new();
    for status in ["1", "-7", "17"] {
        let name = format!("silent{status}");
        let definition = format!("STATUS={status}");
        let Some(library) = c_library(&scratch, &name, "flux", &[&definition]) else {
            return;
        };
        let flux = ("hydro.GodunovFlux\"\nbc", "test.Flux\"\nbc");
        let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
        errors += &scratch.verb("run", &assembly, &[]).error();
    }
    assert_golden("component-no-message", &errors);
}

/// An error names the instance where it occurred, and not those that pass it on: from Rust, from C, and if a script
/// starts the application; also if it is recorded, through proxies.
#[test]
fn an_error_names_its_instance() {
    let scratch = Scratch::new();
    let rust = rust_library("failing");
    let c = c_library(&scratch, "silent", "flux", &[]);
    let script = std::fs::read_to_string(root().join("examples/shock/shock.rc")).expect("a script");
    let libraries = [
        Some((rust, "test.PanicsInCompute")),
        c.map(|c| (c, "test.Flux")),
    ];
    for (library, class) in libraries.into_iter().flatten() {
        let words = [
            "get-global hydro.GodunovFlux",
            "instantiate hydro.GodunovFlux flux",
        ];
        let others = [
            format!("get-global {class}"),
            format!("instantiate {class} solver"),
        ];
        let script = script.replace(words[0], &others[0]);
        let script = script.replace(words[1], &others[1]);
        let script = script.replace("rhs flux flux flux", "rhs flux solver flux");
        // A folder of its own, since the path of a script consists of folders.
        let folder = scratch.path(class);
        std::fs::create_dir(&folder).expect("a folder");
        let copy = folder.join(library.file_name().expect("a name"));
        std::fs::copy(&library, copy).expect("a copy");
        let path = format!("\npath append {}\nrepository ", folder.display());
        let script = script.replacen("\nrepository ", &path, 1);
        let script = scratch.write("failing.rc", script);
        for arguments in [&["--strict"][..], &["--strict", "--records", class]] {
            let error = without_panic_notes(&scratch.verb("run", &script, arguments).error());
            let named = error.matches("instance \"").count();
            assert!(error.contains(": instance \"solver\": "), "{error}");
            assert_eq!(named, 1, "{error}");
        }
    }
}

#[test]
fn a_vacuum_in_the_riemann_solver() {
    let scratch = Scratch::new();
    let assembly = scratch.example("sod/sod.toml", &[], &[]);
    let apart = ["--set", "ic.left_u=-20", "--set", "ic.right_u=20"];
    let error = scratch.verb("run", &assembly, &apart).error();
    assert_golden("component-vacuum", &error);
    let output = ["--set", "output.csv=field.csv", "--records", "records"];
    let error = scratch.verb("run", &assembly, &[&apart[..], &output].concat());
    assert_golden("component-vacuum", &error.error());
    assert!(!scratch.path("field.csv").exists());
    // The records up to that point can be shown.
    let profile = scratch.mastermind(&["profile", "records"]).well();
    assert!(profile.contains("flux.compute"), "{profile}");
}

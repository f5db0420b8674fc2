//! A file that is no library, or no component library of ours: one clear error, and nothing is run.

use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_tests::{Scratch, assert_golden, bin_dir, c_library, root, rust_library, skip};

/// The errors of `run` for an assembly with this library on its path, and of `describe` for the library itself.
fn errors(scratch: &Scratch, library: &Path) -> [String; 2] {
    let assembly = scratch.example("sod/sod.toml", &[library], &[]);
    let records = ["--records", "records"];
    let run = scratch.verb("run", &assembly, &records).error();
    assert!(!scratch.path("records").exists());
    let describe = scratch.mastermind(&["describe", &library.display().to_string()]);
    [run, describe.error()]
}

#[test]
fn a_missing_library() {
    let scratch = Scratch::new();
    let errors = errors(&scratch, &scratch.path("libgone.so"));
    assert_golden("library-missing", &errors.concat());
}

#[test]
fn a_file_that_is_no_library() {
    let scratch = Scratch::new();
    let errors = errors(&scratch, Path::new("/etc/passwd"));
    assert_golden("library-passwd", &errors.concat());
    let folder = scratch.path("libraries");
    std::fs::create_dir(&folder).expect("a folder");
    std::fs::write(folder.join("libcut.so"), "\x7fELF cca_component_v2").expect("a file");
    let error = scratch.verb(
        "run",
        &scratch.example("sod/sod.toml", &[&folder], &[]),
        &[],
    );
    assert_golden("library-cut", &error.error());
}

/// The mathematics library, found as the linker would find it.
fn libm() -> Option<PathBuf> {
    let asked = Command::new("cc")
        .arg("-print-file-name=libm.so.6")
        .output();
    let asked = asked.ok().map(|output| {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        PathBuf::from(text.trim())
    });
    let usual = [
        "/lib/x86_64-linux-gnu/libm.so.6",
        "/lib/aarch64-linux-gnu/libm.so.6",
        "/lib64/libm.so.6",
    ];
    let paths = asked.into_iter().chain(usual.map(PathBuf::from));
    paths
        .filter(|path| path.is_absolute())
        .find(|path| path.exists())
}

#[test]
fn a_library_of_something_else() {
    let Some(libm) = libm() else {
        return skip("libm", "no libm.so.6");
    };
    for error in errors(&Scratch::new(), &libm) {
        let end = ": no function cca_component_v2, expected a component library\n";
        assert!(
            error.starts_with("error: cannot open library \""),
            "{error}"
        );
        assert!(
            error.ends_with(end) && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn a_library_with_something_wrong_in_its_description() {
    let scratch = Scratch::new();
    for defect in [
        "NEXT_VERSION_SYMBOL",
        "NEXT_VERSION_NUMBER",
        "NO_DESCRIPTOR",
        "NO_CLASS",
        "NULL_CLASSES",
        "TOO_MANY_CLASSES",
        "JUNK_NAME",
        "BLANK_NAME",
        "NULL_NAME",
        "ENDLESS_NAME",
        "NO_CREATE",
    ] {
        let name = defect.to_lowercase().replace('_', "-");
        let definition = format!("DEFECT={defect}");
        let Some(library) = c_library(&scratch, &name, "library", &[&definition]) else {
            return;
        };
        assert_golden(
            &format!("library-{name}"),
            &errors(&scratch, &library).concat(),
        );
    }
}

#[test]
fn a_class_that_makes_no_instance() {
    let scratch = Scratch::new();
    for defect in [
        "NO_TABLE",
        "SHORT_TABLE",
        "NO_SET_SERVICES",
        "FAILING_CREATE",
    ] {
        let name = defect.to_lowercase().replace('_', "-");
        let definition = format!("DEFECT={defect}");
        let Some(library) = c_library(&scratch, &name, "library", &[&definition]) else {
            return;
        };
        let flux = ("hydro.GodunovFlux\"\nbc", "test.Wrong\"\nbc");
        let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
        assert_golden(
            &format!("class-{name}"),
            &scratch.verb("run", &assembly, &[]).error(),
        );
    }
}

#[test]
fn another_interface() {
    let scratch = Scratch::new();
    for (name, definitions) in [
        ("other-name", &["NAME=\"hydro.Flows\""][..]),
        ("other-version", &["VERSION=\"2.0\""]),
        ("other-hash", &["HASH=UINT64_C(0x0123456789abcdef)"]),
        ("other-size", &["EXTRA=8"]),
        ("no-function", &["FUNCTION=NULL"]),
    ] {
        let Some(library) = c_library(&scratch, name, "flux", definitions) else {
            return;
        };
        let flux = ("hydro.GodunovFlux\"\nbc", "test.Flux\"\nbc");
        let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
        let error = scratch.verb("run", &assembly, &[]).error();
        assert_eq!(scratch.verb("check", &assembly, &[]).code, Some(1));
        assert_golden(&format!("interface-{name}"), &error);
    }
}

#[test]
fn another_layout_of_what_an_interface_passes() {
    let scratch = Scratch::new();
    let library = rust_library("other-layout");
    let flux = ("hydro.GodunovFlux\"\nbc", "test.OtherLayout\"\nbc");
    let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
    assert_golden(
        "interface-other-layout",
        &scratch.verb("run", &assembly, &[]).error(),
    );
}

#[test]
fn the_environment_names_folders_that_are_searched_first() {
    let scratch = Scratch::new();
    let example = std::fs::read_to_string(root().join("examples/sod/sod.toml")).expect("sod");
    // At its present place there is no target folder.
    let assembly = scratch.write("sod.toml", example).display().to_string();
    let check = |path: &Path| {
        let mut command = Command::new(bin_dir().join("mastermind"));
        scratch.run(
            command
                .args(["check", &assembly])
                .env("CCA_COMPONENT_PATH", path),
        )
    };
    check(&bin_dir()).well();
    let gone = check(&scratch.path("gone")).error();
    assert!(gone.contains("gone"), "{gone}");
    assert!(
        scratch
            .mastermind(&["check", &assembly])
            .error()
            .contains("target/release")
    );
}

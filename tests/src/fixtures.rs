//! Libraries made for a test: in C, compiled on the spot, and in Rust, built once for all tests.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use crate::{Scratch, root, skip};

/// Compiles `tests/fixtures/<source>.c` into `lib<name>.so`.
///
/// # Arguments
/// * `definitions` - for the preprocessor, `NAME` or `NAME=VALUE`
///
/// # Returns
/// `None`, with a note, where there is no C compiler.
///
/// # Panics
/// If it does not compile.
pub fn c_library(
    scratch: &Scratch,
    name: &str,
    source: &str,
    definitions: &[&str],
) -> Option<PathBuf> {
    let source = format!("{source}.c");
    compiled("cc", "c99", scratch, name, &source, definitions)
}

/// As [`c_library`], from `tests/fixtures/<source>.cpp`.
pub fn cpp_library(
    scratch: &Scratch,
    name: &str,
    source: &str,
    definitions: &[&str],
) -> Option<PathBuf> {
    let source = format!("{source}.cpp");
    compiled("c++", "c++17", scratch, name, &source, definitions)
}

fn compiled(
    compiler: &str,
    standard: &str,
    scratch: &Scratch,
    name: &str,
    source: &str,
    definitions: &[&str],
) -> Option<PathBuf> {
    let library = scratch.path(&format!("lib{name}.so"));
    let mut command = Command::new(compiler);
    command
        .arg(format!("-std={standard}"))
        .args(["-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"])
        .args(
            definitions
                .iter()
                .map(|definition| format!("-D{definition}")),
        )
        .arg("-I")
        .arg(root().join("framework/abi/include"))
        .arg("-I")
        .arg(root().join("components/hydro-ports/include"))
        .arg("-o")
        .arg(&library)
        .arg(root().join("tests/fixtures").join(source));
    match command.status() {
        Ok(status) => assert!(status.success(), "{command:?}"),
        Err(error) => {
            skip(compiler, format_args!("no compiler {compiler}: {error}"));
            return None;
        }
    }
    Some(library)
}

/// Builds the crate `tests/fixtures/<name>`, a workspace of its own, from the sources and versions of this one.
///
/// # Returns
/// Its dynamic library.
///
/// # Panics
/// If it cannot be built.
pub fn rust_library(name: &str) -> PathBuf {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one = ONE_AT_A_TIME.lock();
    // `<target>/release/deps/<test>`.
    let program = env::current_exe().expect("own path");
    let target = program.ancestors().nth(3).expect("a target folder");
    // Their dependencies are built once, for these and for the crates that the binary generates.
    let target = target.join("new");
    let folder = target.join("fixtures").join(name);
    copy_crate(&root().join("tests/fixtures").join(name), &folder);
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(["build", "--offline", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"))
        .env("CARGO_TARGET_DIR", &target)
        // The same setting as for the crates that the binary makes, so that shared dependencies are built once.
        .env("CARGO_PROFILE_DEV_DEBUG", "false")
        .env_remove("RUSTFLAGS");
    let status = command.status().expect("cargo");
    assert!(status.success(), "{command:?}");
    target.join(format!("debug/lib{}.so", name.replace('-', "_")))
}

/// Copies sources, paths into the workspace made absolute. A file that is the same already keeps its time.
fn copy_crate(from: &Path, to: &Path) {
    let root = root().canonicalize().expect("the root");
    let root = root.display();
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a fixture") {
        let path = entry.expect("an entry").path();
        let copy = to.join(path.file_name().expect("a name"));
        if path.is_dir() {
            copy_crate(&path, &copy);
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let text = match path.ends_with("Cargo.toml") {
            true => ["\"../../../../", "\"../../../"]
                .iter()
                .fold(text, |text, up| text.replace(up, &format!("\"{root}/"))),
            false => text,
        };
        if fs::read_to_string(&copy).ok().as_deref() != Some(&text) {
            fs::write(copy, text).expect("a copy");
        }
    }
}

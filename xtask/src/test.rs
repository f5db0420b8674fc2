//! `cargo xtask test`: every check there is, and those that depend on MPI again, with MPI hidden.
//!
//! The steps are in the order of their cost: what fails in seconds is not found after minutes of
//! building. The first failure ends the sequence, but all tests run even if one of them fails.
//!
//! ```text
//! rustfmt, tidy, layers      rules of the sources
//! clippy                     all packages; export without Parquet; the MPI back end
//! build                      what the tests load and start
//! tests                      all packages
//! tests, MPI back end        once for each MPI that is there
//! tests, MPI hidden          the end-to-end tests that depend on MPI, on a PATH without it
//! ```
//!
//! A test that needs a compiler, an MPI or a library skips itself where it is missing.
//! `MASTERMIND_TEST_WITH` names what this machine has, so that such a skip is a failure, and
//! nothing is skipped by mistake. The last step checks the opposite case, a machine without MPI;
//! only tests whose source names what MPI could change run again.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::axe;
use crate::build::{self, back_end_cargo, back_ends};
use crate::steps::{StepError, run_step};
use crate::system::{MpiKind, System, on_path};
use crate::workspace::Workspace;

/// The tests of the sources' own rules, in this package since it is built before all others.
const RULES: [&str; 2] = ["tidy", "layers"];

/// Runs all tests, also after one that fails.
const TEST: [&str; 3] = ["test", "--release", "--no-fail-fast"];

/// The program of the end-to-end tests; each file is a module of it.
const END_TO_END: &str = "end_to_end";

/// Words in the source of an end-to-end test whose outcome may differ without MPI: it queries the MPIs of the machine,
/// starts ranks, or calibrates; or its verb reports the machine's tools. The others need not run again.
const SIGNS_OF_MPI: [&str; 6] = [
    "mpis(",
    "mpis_with(",
    "\"--ranks\"",
    "\"--mpi\"",
    "\"doctor\"",
    "\"calibrate\"",
];

/// Names, for the tests, of the available and the hidden requirements, separated by blanks.
const WITH: &str = "MASTERMIND_TEST_WITH";
const WITHOUT: &str = "MASTERMIND_TEST_WITHOUT";

/// Name of the libraries that the test of `examples/fft` needs: a machine without them skips it, and says so.
const TRANSFORMS: &str = "fftw";

/// Number of tests at a time, an environment variable of the test harness.
const AT_ONCE: &str = "RUST_TEST_THREADS";

/// Seed of the property tests' cases: the same at each run, unless the user sets another.
const SEED: (&str, &str) = ("PROPTEST_RNG_SEED", "1");

/// Runs all checks: first those that take seconds, then those that build. The first failure ends it, except for the
/// tests themselves: all of them run, and the failed ones are listed at the end.
pub fn test(workspace: &Workspace, system: &System) -> Result<(), StepError> {
    rules(workspace)?;
    let clippy = ["clippy", "--release", "--all-targets"];
    let deny = ["--", "-D", "warnings"];
    run_step(
        "clippy",
        &mut workspace.cargo(&[&clippy[..], &deny].concat()),
    )?;
    // In the command line itself only two functions depend on its features, in this crate a whole module.
    let words = ["-p", "mastermind-export", "--no-default-features", "--lib"];
    let mut without = workspace.cargo(&[&clippy[..2], &words, &deny].concat());
    run_step("clippy, without Parquet", &mut without)?;
    // The sources are the same for each MPI.
    if let Some(mpi) = back_ends(system).next() {
        let arguments = [&clippy[..], &["-p", "cca-comm-mpi"], &deny].concat();
        run_step(
            "clippy, MPI back end",
            &mut back_end_cargo(workspace, mpi, &arguments),
        )?;
    }
    build::build_with_tests(workspace, system)?;
    let with = there(system).join(" ");
    let at_once = tests_at_once();
    let seed = env::var_os(SEED.0).unwrap_or_else(|| SEED.1.into());
    let mut failed = Vec::new();
    let mut run = |title: &str, command: &mut Command| {
        command.env(WITH, &with).env(AT_ONCE, &at_once);
        command.env(SEED.0, &seed);
        failed.extend(run_step(title, command).err());
    };
    let mut tests = workspace.cargo(&TEST);
    let transforms = (!system.transforms).then_some(TRANSFORMS);
    let has_axe = axe::get(workspace);
    if !has_axe {
        println!("passed over: accessibility of the page, since pip cannot get axe-core");
    }
    let without: Vec<_> = transforms
        .into_iter()
        .chain((!has_axe).then_some(axe::AXE))
        .chain(system.lacks_of_tests())
        .collect();
    if !without.is_empty() {
        tests.env(WITHOUT, without.join(" "));
    }
    run("tests", &mut tests);
    for mpi in back_ends(system) {
        let title = format!("tests, MPI back end for {}", mpi.kind.name());
        let arguments = [&TEST[..], &["-p", "cca-comm-mpi"]].concat();
        run(&title, &mut back_end_cargo(workspace, mpi, &arguments));
    }
    run("tests, MPI hidden", &mut serial(workspace)?);
    match failed.len() {
        0 => Ok(()),
        _ => Err(StepError::Several { failed }),
    }
}

/// One test more at a time than there are processors, unless the user sets another number: many wait for programs that
/// they start (138 s in place of 163 s on two processors).
fn tests_at_once() -> OsString {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    env::var_os(AT_ONCE).unwrap_or_else(|| (processors + 1).to_string().into())
}

/// Checks the format and the rules of the sources, for which nothing need be built.
///
/// # Errors
/// A rule is broken.
pub fn rules(workspace: &Workspace) -> Result<(), StepError> {
    run_step(
        "rustfmt",
        &mut workspace.cargo(&["fmt", "--all", "--check"]),
    )?;
    let select = RULES.iter().flat_map(|name| ["--test", name]);
    let words: Vec<_> = ["test", "--release", "-p", "xtask"]
        .into_iter()
        .chain(select)
        .collect();
    run_step("rules of the sources", &mut workspace.cargo(&words))
}

/// Prints how readable the sources are.
///
/// # Errors
/// The rules cannot be built.
pub fn figures(workspace: &Workspace) -> Result<(), StepError> {
    let select = ["test", "--release", "-p", "xtask", "--test", "tidy", "--"];
    let print = ["print_figures", "--ignored", "--nocapture"];
    run_step(
        "figures",
        &mut workspace.cargo(&[&select[..], &print].concat()),
    )
}

/// Requirements that tests must not skip, by the tests' name.
fn there(system: &System) -> Vec<&'static str> {
    let mpis = back_ends(system).map(|mpi| mpi.kind.name());
    let compilers = ["cc", "c++", "python3"]
        .into_iter()
        .filter(|name| on_path(name));
    let transforms = system.transforms.then_some(TRANSFORMS);
    let of_tests = system.of_tests.iter().copied();
    mpis.chain(compilers)
        .chain(transforms)
        .chain(of_tests)
        .collect()
}

/// The end-to-end tests that depend on MPI, as on a machine without it: no MPI program on PATH, no MPI library
/// on LD_LIBRARY_PATH, and binaries without the back ends next to them.
fn serial(workspace: &Workspace) -> Result<Command, StepError> {
    let folder = workspace.target.join("serial");
    let file_error = |act, folder: &Path| {
        let path = folder.display().to_string();
        move |source| StepError::File { act, path, source }
    };
    let hidden = hide_mpi(workspace, &folder).map_err(file_error("prepare", &folder))?;
    let tests = workspace.root.join("tests");
    let with_mpi = functions_of_tests_with_mpi(&tests).map_err(file_error("read", &tests))?;
    // All packages are selected, as for the other tests: a part of them would be built with other features.
    let mut command = workspace.cargo(&[&TEST[..], &["--test", END_TO_END]].concat());
    command
        .arg("--")
        .args(&with_mpi)
        .env("PATH", &hidden.path)
        .env("MASTERMIND_TEST_BIN_DIR", &hidden.binaries)
        .env(WITHOUT, MpiKind::ALL.map(MpiKind::name).join(" "));
    match hidden.library_path {
        Some(path) => command.env("LD_LIBRARY_PATH", path),
        None => command.env_remove("LD_LIBRARY_PATH"),
    };
    Ok(command)
}

/// The end-to-end tests that depend on MPI, and the functions of their files that do, as filters.
fn functions_of_tests_with_mpi(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for file in files(&folder.to_owned()) {
        let text = match file.extension() {
            Some(extension) if extension == "rs" => fs::read_to_string(&file)?,
            _ => continue,
        };
        let module = file.file_stem().unwrap_or_default().to_string_lossy();
        let functions = functions_with_mpi(&text).into_iter();
        names.extend(functions.map(|function| format!("{module}::{function}")));
    }
    names.sort();
    Ok(names)
}

/// The functions of a source that depend on MPI, or name one that does; all of them if text in front of the first does.
fn functions_with_mpi(text: &str) -> Vec<&str> {
    let mut functions: Vec<(&str, Vec<&str>)> = Vec::new();
    let mut before = Vec::new();
    for line in text.lines() {
        let code = line.trim_start();
        let code = code.strip_prefix("pub ").unwrap_or(code);
        let name = code
            .strip_prefix("fn ")
            .and_then(|rest| rest.split(['(', '<']).next());
        match (name, functions.last_mut()) {
            // Its own name would name it.
            (Some(name), _) => functions.push((
                name,
                vec![code.split_once('(').map_or("", |(_, rest)| rest)],
            )),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => before.push(line),
        }
    }
    let depends = |line: &&str| SIGNS_OF_MPI.iter().any(|words| line.contains(words));
    // A constant in front of the functions may be used in any of them.
    let everywhere = before.iter().any(depends);
    let (mut with_mpi, mut others): (Vec<_>, Vec<_>) = functions
        .into_iter()
        .partition(|(_, lines)| everywhere || lines.iter().any(depends));
    let mut next = 0;
    // Also functions that call one that depends on MPI, and those that call them, up to the tests.
    while let Some((name, _)) = with_mpi.get(next).cloned() {
        let names_it = |line: &&str| {
            line.split(|c: char| !c.is_alphanumeric() && c != '_')
                .any(|word| word == name)
        };
        let (more, rest) = others
            .into_iter()
            .partition(|(_, lines)| lines.iter().any(names_it));
        with_mpi.extend::<Vec<_>>(more);
        others = rest;
        next += 1;
    }
    with_mpi.into_iter().map(|(name, _)| name).collect()
}

/// The environment of a machine without MPI.
struct Hidden {
    path: PathBuf,
    binaries: PathBuf,
    library_path: Option<OsString>,
}

fn hide_mpi(workspace: &Workspace, folder: &Path) -> io::Result<Hidden> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    // A target folder of its own, in which xtask finds its installed files.
    let (path, binaries) = (folder.join("path"), folder.join("release"));
    fs::create_dir_all(&path)?;
    fs::create_dir_all(&binaries)?;
    for program in on(env::var_os("PATH")).iter().flat_map(files) {
        let Some(name) = program.file_name() else {
            continue;
        };
        let link = path.join(name);
        // The first on PATH is used.
        if !is_mpi_program(&name.to_string_lossy()) && link.symlink_metadata().is_err() {
            symlink(
                fs::canonicalize(program.parent().unwrap_or(&path))?.join(name),
                link,
            )?;
        }
    }
    for file in files(&workspace.release()) {
        let Some(name) = file.file_name() else {
            continue;
        };
        let copy = binaries.join(name);
        fs::hard_link(&file, &copy).or_else(|_| fs::copy(&file, &copy).map(|_| ()))?;
    }
    let library_path = env::var_os("LD_LIBRARY_PATH").map(|value| {
        let kept = on(Some(value))
            .into_iter()
            .filter(|folder| !holds_mpi(folder));
        env::join_paths(kept).unwrap_or_default()
    });
    Ok(Hidden {
        path,
        binaries,
        library_path,
    })
}

/// The folders of a search path.
fn on(search_path: Option<OsString>) -> Vec<PathBuf> {
    search_path
        .map(|value| env::split_paths(&value).collect())
        .unwrap_or_default()
}

/// The files directly in `folder`, links to files included.
fn files(folder: &PathBuf) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_file())
}

fn holds_mpi(folder: &PathBuf) -> bool {
    files(folder).any(|file| {
        file.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("libmpi"))
    })
}

/// Whether a program of this name belongs to an MPI, its launcher or its compilers.
fn is_mpi_program(name: &str) -> bool {
    const PREFIXES: [&str; 10] = [
        "mpi", "ompi", "orte", "opal", "osh", "shmem", "hydra", "prte", "prun", "pmix",
    ];
    name == "srun" || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_that_look_for_mpi_are_known_by_their_source() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
        let names = functions_of_tests_with_mpi(&folder).unwrap();
        let has = |name: &str| names.iter().any(|found| found.starts_with(name));
        for name in [
            "call_paths::",
            "launchers::",
            "mpi_proxy::",
            "verbs_calibrate::",
            "amr_ranks::under_mpi",
        ] {
            assert!(has(name), "{name} of {names:?}");
        }
        for name in ["sod::", "tidy::", "fit_and_predict::", "toggled::"] {
            assert!(!has(name), "{name} of {names:?}");
        }
        assert!(names.len() > 50, "{names:?}");
    }

    #[test]
    fn callers_of_a_function_with_mpi_depend_on_it() {
        let text = "const A: u8 = 0;\n\nfn ranks(a: u8) {\n    verb(&[\"--ranks\"]);\n}\n\nfn check() {\n    ranks(1)\n}\n\n\
                    #[test]\nfn one() {\n    [1].map(|_| check());\n}\n\n#[test]\nfn two() {\n    checked()\n}\n";
        assert_eq!(functions_with_mpi(text), ["ranks", "check", "one"]);
        let all = format!("const A: &str = \"doctor\";\n{text}");
        assert_eq!(functions_with_mpi(&all).len(), 4);
        assert!(functions_with_mpi("fn f() {}").is_empty());
    }

    #[test]
    fn programs_of_mpi_are_known_by_name() {
        for name in [
            "mpirun",
            "mpicc.mpich",
            "orted",
            "hydra_pmi_proxy",
            "prterun",
            "srun",
        ] {
            assert!(is_mpi_program(name), "{name}");
        }
        for name in ["cargo", "cc", "prename", "git", "opam"] {
            assert!(!is_mpi_program(name), "{name}");
        }
    }
}

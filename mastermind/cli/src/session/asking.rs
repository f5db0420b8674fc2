//! Asks libraries which code they run, in another process, which loads them with the environment of this one.
//!
//! The other process is this program, started with [`ARGUMENT`], the question and the library's path. It answers on its
//! standard input, which is a socket. One process asks one library: a library reads a variable when it is loaded, and
//! never again.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use mastermind_machine::dispatch::{
    self, Answer, Dispatch, KnownLibrary, Library, Other, STEERING,
};
use mastermind_machine::{Level, offered};
use serde::de::DeserializeOwned;

use super::spare_process;

/// Has this program ask a library.
const ARGUMENT: &str = "--ask-library";

/// The questions: the code, the time of a multiplication of matrices, or which files are mapped once it is loaded.
const CODE: &str = "code";
const TIME: &str = "time";
const FILES: &str = "files";

/// A variable of the environment and its value.
pub type Variable<'a> = (&'a str, &'a str);

/// Whether this process was started to ask a library.
pub fn is_asked() -> bool {
    env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == ARGUMENT)
}

/// Asks the library that the arguments name, and answers.
pub fn serve() -> ExitCode {
    let mut arguments = env::args_os().skip(2);
    let (what, path) = (arguments.next(), arguments.next().unwrap_or_default());
    let path = Path::new(&path);
    let answer = match what.as_ref().and_then(|what| what.to_str()) {
        Some(TIME) => {
            let gemm = dispatch::time_gemm(path);
            serde_json::to_vec(&gemm.map(|gemm| gemm.map(|gemm| gemm.seconds)))
        }
        Some(FILES) => serde_json::to_vec(&dispatch::load(path).map(|()| own_objects())),
        _ => {
            let answer = dispatch::ask(path);
            let answer = answer.map(|found| found.map(|(known, answer)| (known.name(), answer)));
            serde_json::to_vec(&answer)
        }
    };
    if let (Ok(mut stream), Ok(answer)) = (spare_process::stream(), answer) {
        let _ = stream.write_all(&answer);
    }
    // SAFETY: no exit handler of the library runs, and this program has nothing left to do.
    unsafe { libc::_exit(0) }
}

/// Which code a library runs.
///
/// # Arguments
/// * `with` - a variable that is set for it, in addition to those of this process
///
/// # Returns
/// Its name, and its answer; `None` if it is no library that answers.
///
/// # Errors
/// It cannot be loaded, or ends the process that asks it, and why.
fn ask(path: &Path, with: Option<Variable>) -> Result<Option<(String, Answer)>, String> {
    if with.is_none() && is_own_libc(path) {
        let answer = dispatch::ask(path)?;
        return Ok(answer.map(|(known, answer)| (known.name().to_owned(), answer)));
    }
    request(CODE, path, with.as_slice())
}

/// Make a library compute in one thread: the speed of several depends on other work on the machine.
const SINGLE: [Variable; 4] = [
    ("OPENBLAS_NUM_THREADS", "1"),
    ("BLIS_NUM_THREADS", "1"),
    ("MKL_NUM_THREADS", "1"),
    ("OMP_NUM_THREADS", "1"),
];

/// The time that a library takes to multiply two small matrices of double precision; the least of several, seconds.
///
/// # Returns
/// `None` if it cannot.
///
/// # Errors
/// As for the question of [`dispatch_of`].
pub fn time_gemm(path: &Path, with: Option<Variable>) -> Result<Option<f64>, String> {
    let variables = SINGLE.iter().copied().chain(with);
    request(TIME, path, &Vec::from_iter(variables))
}

/// The C library of this process need not be loaded again: most programs have no other library that answers.
fn is_own_libc(path: &Path) -> bool {
    dispatch::known(path) == Some(KnownLibrary::LibC) && own_objects().contains(path)
}

/// The files that this process has mapped.
pub fn own_objects() -> BTreeSet<PathBuf> {
    let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let files = maps
        .lines()
        .filter_map(|line| Some(&line[line.find('/')?..]));
    files.map(PathBuf::from).collect()
}

fn request<T: DeserializeOwned>(what: &str, path: &Path, with: &[Variable]) -> Result<T, String> {
    let asked = || -> std::io::Result<Vec<u8>> {
        let (mut command, mut stream) = spare_process::command(ARGUMENT)?;
        let mut process = command
            .arg(what)
            .arg(path)
            .envs(with.iter().copied())
            .spawn()?;
        // The other end belongs to this command: the stream ends only with the process.
        drop(command);
        let mut answer = Vec::new();
        let read = stream.read_to_end(&mut answer);
        let _ = process.kill();
        process.wait()?;
        read.map(|_| answer)
    };
    let answer = asked().map_err(|error| error.to_string())?;
    if answer.is_empty() {
        return Err("it ended the process that loaded it".into());
    }
    serde_json::from_slice::<Result<T, String>>(&answer).map_err(|error| error.to_string())?
}

/// The code of the libraries of a program that answer, with the environment of this process.
///
/// # Arguments
/// * `objects` - files that the program has mapped
pub fn dispatch_of(objects: impl IntoIterator<Item = PathBuf>) -> Dispatch {
    let files = objects
        .into_iter()
        .filter(|path| dispatch::known(path).is_some());
    // One library may have several names.
    let files: BTreeSet<PathBuf> = files.filter_map(|path| path.canonicalize().ok()).collect();
    let variables = STEERING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?)));
    let mut found = Dispatch {
        offered: offered(),
        variables: variables.collect(),
        ..Dispatch::default()
    };
    for path in files {
        match ask(&path, None) {
            Ok(Some((name, answer))) => {
                let other = other(&path, &answer, found.offered);
                found.libraries.push(Library {
                    path,
                    name,
                    answer,
                    other,
                });
            }
            Ok(None) => {}
            Err(why) => {
                found.unanswered.insert(path, why);
            }
        }
    }
    found
}

/// The code that libraries run which the dynamic linker finds by their names; libraries that it does not find are left
/// out.
pub fn dispatch_by_name(names: &[&str]) -> Dispatch {
    let files = |name: &&str| request::<BTreeSet<PathBuf>>(FILES, Path::new(name), &[]);
    dispatch_of(names.iter().filter_map(|name| files(name).ok()).flatten())
}

/// A code variant of a library that needs newer instructions than the running one, and that the processor supports.
fn other(path: &Path, own: &Answer, offered: Option<Level>) -> Option<Other> {
    let (level, offered) = (own.level?, offered?);
    let (variable, values) = dispatch::known(path)?.others()?;
    let newer = values
        .iter()
        .filter(|(_, needs)| *needs > level && *needs <= offered);
    newer.into_iter().find_map(|(value, _)| {
        let (_, answer) = ask(path, Some((variable, value))).ok()??;
        let is_newer = answer
            .level
            .is_some_and(|found| found > level && found <= offered);
        is_newer.then(|| Other {
            variable: variable.into(),
            value: (*value).into(),
            answer,
        })
    })
}

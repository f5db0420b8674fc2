//! Settings of the dynamic linker with which a program starts under `wrap` whenever it starts alone.
//!
//! # Thread-local memory
//! With an audit library the linker reserves room for the thread-local memory of libraries that need it at a fixed
//! distance before it knows them; without one it reserves what the libraries need. So [`variables`] adds that sum, over
//! the libraries that the linker itself lists for the program, to the reserve (`glibc.rtld.optional_static_tls`). Each
//! thread then has as much as without `wrap`, and the rest of its stack for itself.
//!
//! # Other C libraries
//! A program of musl has a dynamic linker that cannot load libraries of glibc, and ends if it is asked to. Its name
//! differs from that of this program's own ([`Loading::obstacle`]), and such a program runs without ours.
//!
//! # Sanitizers
//! AddressSanitizer ends a program if another library comes before its own, in case functions are defined twice.
//! Preloaded proxies define none of those that it replaces, so this check is switched off (`verify_asan_link_order`).
//! LeakSanitizer as a separate library looks for its thread-local memory when it frees; with an audit library the
//! dynamic linker frees while it makes that memory, so the two call each other endlessly (glibc 2.36, GCC 12). Such a
//! program runs without our libraries, and so does one under Valgrind, which reports the memory of an audit library as
//! a fault. Programs of MemorySanitizer, and Valgrind behind a script, are detected in `preload`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cca_loader::Startup;

use super::{LAUNCHERS, is_program, round_about};

/// Bytes that glibc reserves beyond its own needs by default, the default of its tunable.
const DEFAULT_BYTES: u64 = 512;

/// Bytes that are added for programs that a shell or a launcher starts, whose libraries are not known here. Except for
/// sanitizers, the largest need among the libraries of Debian 12 is jemalloc's 2.7 kB. More would be missing from a
/// thread with the smallest stack that POSIX knows, 16 KiB.
const UNKNOWN_BYTES: u64 = 4096;

/// Programs that start others, in addition to launchers of MPI.
const STARTERS: [&str; 21] = [
    "ash", "bash", "busybox", "dash", "env", "ksh", "make", "nice", "ninja", "nohup", "numactl",
    "parallel", "perl", "python3", "setsid", "sh", "taskset", "time", "timeout", "xargs", "zsh",
];

/// Maximum number of words of a command that are examined as programs: each is read, and its libraries are listed.
const MAX_PROGRAMS: usize = 4;

/// A program that runs others in a simulated memory.
const VALGRIND: &str = "valgrind";

/// Prefix of the file name of GCC's LeakSanitizer; clang's is part of the program, and does no harm.
const LEAK_SANITIZER: &[u8] = b"liblsan.so";

const TUNABLES: &str = "GLIBC_TUNABLES";
const STATIC_TLS: &str = "glibc.rtld.optional_static_tls";
const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// The programs of a command, as far as they can be seen in it.
pub(super) struct Loading {
    /// Bytes that the reserve must have beyond its default.
    bytes: u64,
    /// Whether the dynamic linker finds all libraries of the first program.
    is_whole: bool,
    /// Why the programs cannot run with libraries of ours.
    obstacle: Option<String>,
}

impl Loading {
    /// Asks the dynamic linker for the libraries of the started programs.
    pub(super) fn of(words: &[OsString]) -> Self {
        let first = words.first().map(Path::new).and_then(round_about::found);
        let name = first.as_deref().and_then(Path::file_name);
        let is_starter = name.and_then(OsStr::to_str).is_some_and(is_starter);
        let others = words.iter().skip(1).filter(|_| is_starter).map(Path::new);
        let others = others
            .filter(|word| is_program(word))
            .filter_map(round_about::found);
        let programs: Vec<_> = first.into_iter().chain(others.take(MAX_PROGRAMS)).collect();
        let libraries: Vec<_> = programs.iter().map(|path| libraries(path)).collect();
        let needs: Vec<_> = libraries
            .iter()
            .map(|list| static_tls(list.as_deref()?))
            .collect();
        let mut obstacles = programs.iter().zip(&libraries);
        let n_named = if is_starter { words.len() } else { 1 };
        let mut named = words.iter().take(n_named).map(Path::new);
        let valgrind = named.find(|word| word.file_name() == Some(OsStr::new(VALGRIND)));
        let unknown = if is_starter { UNKNOWN_BYTES } else { 0 };
        Self {
            bytes: needs.iter().flatten().copied().fold(unknown, u64::max),
            is_whole: needs.first().is_some_and(Option::is_some),
            obstacle: valgrind
                .map(of_valgrind)
                .or_else(|| obstacles.find_map(|(path, list)| obstacle(path, list.as_deref()))),
        }
    }

    /// Why the programs cannot run with libraries of ours; they run without then.
    pub(super) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// Whether the program starts alone, as far as its libraries go.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Variables of the program's environment.
    ///
    /// # Arguments
    /// * `preloaded` - libraries of ours
    pub(super) fn variables(&self, preloaded: &[&PathBuf]) -> Vec<(&'static str, OsString)> {
        let asan = appended(std::env::var_os(ASAN_OPTIONS), "verify_asan_link_order=0");
        let before = std::env::var_os(TUNABLES);
        let reserved = reserved(before.as_deref()).unwrap_or(DEFAULT_BYTES);
        // A file that cannot be read is no library, and needs nothing.
        let ours = static_tls(preloaded).unwrap_or(0);
        let bytes = self.bytes + ours + reserved;
        let tunables = appended(before, &format!("{STATIC_TLS}={bytes}"));
        vec![(ASAN_OPTIONS, asan), (TUNABLES, tunables)]
    }
}

fn of_valgrind(word: &Path) -> String {
    let name = word.display();
    format!(
        "cannot measure a program under \"{name}\": it reports memory of the dynamic linker, which `wrap` watches, as faults of the program"
    )
}

fn obstacle(program: &Path, libraries: Option<&[PathBuf]>) -> Option<String> {
    let name = program.display();
    let linker = |program: &Path| {
        let interpreter = Startup::read(program).ok()??.interpreter?;
        let name = interpreter.file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let (its, ours) = (linker(program)?, linker(Path::new("/proc/self/exe"))?);
    if its != ours {
        return Some(format!(
            "cannot measure \"{name}\": its dynamic linker is {its}, expected {ours}; a program of another C library cannot load the \
             libraries of wrap"
        ));
    }
    let is_lsan = |path: &&PathBuf| {
        let file = path.file_name().map(OsStr::as_bytes);
        file.is_some_and(|file| file.starts_with(LEAK_SANITIZER))
    };
    let library = libraries?.iter().find(is_lsan)?.display();
    Some(format!(
        "cannot measure \"{name}\": it allocates by {library}, which hangs where the dynamic linker is watched; compile it with \
         -fsanitize=address, which finds leaks too, or without -fsanitize=leak"
    ))
}

fn is_starter(name: &str) -> bool {
    // As in `mpirun.openmpi`, `python3.11`, `bash`.
    let stem = name.split('.').next().unwrap_or_default();
    STARTERS.contains(&stem) || LAUNCHERS.contains(&stem)
}

/// The user's value of the same tunable.
fn reserved(tunables: Option<&OsStr>) -> Option<u64> {
    let text = tunables?.to_str()?;
    let value = |part: &str| {
        part.strip_prefix(STATIC_TLS)?
            .strip_prefix('=')?
            .parse()
            .ok()
    };
    text.split(':').filter_map(value).next_back()
}

/// A setting appended to the existing ones; the last one of a name counts.
fn appended(before: Option<OsString>, setting: &str) -> OsString {
    let mut all = before.unwrap_or_default();
    if !all.is_empty() {
        all.push(":");
    }
    all.push(setting);
    all
}

/// Files that a program starts with, by the dynamic linker's own list; `None` if it does not find them all.
fn libraries(program: &Path) -> Option<Vec<PathBuf>> {
    let linker = Startup::read(program).ok()??.interpreter?;
    let mut list = Command::new(linker);
    // None of our libraries: the list is of the program alone.
    list.arg("--list").arg(program).env_remove("LD_AUDIT");
    let listed = list
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let mut libraries = Vec::new();
    for line in listed.stdout.split(|byte| *byte == b'\n') {
        match library(line) {
            Listed::Library(path) => libraries.push(path),
            Listed::Missing => return None,
            Listed::Nothing => {}
        }
    }
    listed.status.success().then_some(libraries)
}

/// Thread-local memory at a fixed distance that libraries need, bytes; `None` if one cannot be read.
fn static_tls(libraries: &[impl AsRef<Path>]) -> Option<u64> {
    let needs = libraries.iter().map(|path| {
        let found = Startup::read(path.as_ref()).ok()?;
        Some(found.map_or(0, |found| found.static_tls_bytes))
    });
    needs.sum()
}

/// The content of a line of the list.
enum Listed {
    Library(PathBuf),
    Missing,
    Nothing,
}

/// Lines `NAME => PATH (ADDRESS)`, `PATH (ADDRESS)`, `NAME => not found`.
fn library(line: &[u8]) -> Listed {
    let text = OsStr::from_bytes(line).to_string_lossy();
    if text.ends_with("=> not found") {
        return Listed::Missing;
    }
    let start = text.find("=> ").map_or(0, |at| at + 3);
    let path = text[start..]
        .trim_start()
        .rsplit_once(" (")
        .map(|(path, _)| path);
    match path.filter(|path| path.starts_with('/')) {
        Some(path) => Listed::Library(PathBuf::from(OsString::from_vec(path.as_bytes().to_vec()))),
        None => Listed::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_comes_behind_those_that_are_there() {
        let all = |before: Option<&str>| appended(before.map(OsString::from), "a=1");
        assert_eq!(all(None), "a=1");
        assert_eq!(all(Some("b=2:c=3")), "b=2:c=3:a=1");
    }

    #[test]
    fn what_a_user_reserved_is_kept() {
        let of = |text: &str| reserved(Some(OsStr::new(text)));
        assert_eq!(of("glibc.rtld.optional_static_tls=4096"), Some(4096));
        assert_eq!(
            of("glibc.rtld.optional_static_tls=1:glibc.malloc.check=3"),
            Some(1)
        );
        assert_eq!(of("glibc.malloc.check=3"), None);
        assert_eq!(reserved(None), None);
    }

    #[test]
    fn lines_of_the_dynamic_linker() {
        let path = |line: &str| match library(line.as_bytes()) {
            Listed::Library(path) => path.display().to_string(),
            Listed::Missing => "missing".into(),
            Listed::Nothing => String::new(),
        };
        assert_eq!(
            path("\tlibm.so.6 => /lib/libm.so.6 (0x00007f)"),
            "/lib/libm.so.6"
        );
        assert_eq!(
            path("\t/lib64/ld-linux-x86-64.so.2 (0x00007f)"),
            "/lib64/ld-linux-x86-64.so.2"
        );
        assert_eq!(path("\tlinux-vdso.so.1 (0x00007f)"), "");
        assert_eq!(path("\tlibx.so => not found"), "missing");
    }
}

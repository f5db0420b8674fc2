//! What the dynamic linker is to be told, so that a program starts under `wrap` whenever it starts alone.
//!
//! # Thread-local memory
//! With an audit library the linker reserves room for the thread-local memory of libraries that need it at a fixed distance before it
//! knows them; alone it reserves what the libraries at hand need. So [`variables`] adds that sum, over the libraries that the linker
//! itself lists for the program, to the reserve (`glibc.rtld.optional_static_tls`): each thread has as much as alone, and the rest
//! of its stack for itself.
//!
//! # Other C libraries
//! A program of musl has a dynamic linker that cannot load libraries of glibc, and ends where it is told to. Its name differs from that of
//! this program's own ([`Loading::of_other_library`]), and such a program runs without ours.
//!
//! # Sanitizers
//! AddressSanitizer ends a program where another library comes before its own, for fear that functions are defined twice. Preloaded
//! proxies define none of those that it replaces, so it is asked not to (`verify_asan_link_order`).

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use cca_loader::Startup;

use super::{LAUNCHERS, is_program, round_about};

/// Bytes that glibc reserves beyond its own needs where nothing is said, the default of its tunable.
const DEFAULT_BYTES: u64 = 512;

/// Bytes that are added for programs which a shell or a launcher starts, whose libraries are not known here: what the libraries
/// of Debian 12 other than sanitizers need at most is jemalloc's 2.7 kB. More would be missing from a thread with the smallest
/// stack that POSIX knows, 16 KiB.
const UNKNOWN_BYTES: u64 = 4096;

/// Programs that start others, besides launchers of MPI.
const STARTERS: [&str; 21] = [
    "ash", "bash", "busybox", "dash", "env", "ksh", "make", "nice", "ninja", "nohup", "numactl",
    "parallel", "perl", "python3", "setsid", "sh", "taskset", "time", "timeout", "xargs", "zsh",
];

/// Words of a command that are taken for programs, at most: each is read, and its libraries are listed.
const MAX_PROGRAMS: usize = 4;

const TUNABLES: &str = "GLIBC_TUNABLES";
const STATIC_TLS: &str = "glibc.rtld.optional_static_tls";
const ASAN_OPTIONS: &str = "ASAN_OPTIONS";

/// A command's programs, as far as they can be seen in it.
pub(super) struct Loading {
    /// Bytes that the reserve must have beyond its default.
    bytes: u64,
    /// Whether the dynamic linker finds all libraries of the first program.
    is_whole: bool,
    /// The first program with a dynamic linker of another C library, and the names of that linker and of ours.
    of_other_library: Option<[String; 3]>,
}

impl Loading {
    /// Asks the dynamic linker for the libraries of what is started.
    pub(super) fn of(words: &[OsString]) -> Self {
        let first = words.first().map(Path::new).and_then(round_about::found);
        let name = first.as_deref().and_then(Path::file_name);
        let is_starter = name.and_then(OsStr::to_str).is_some_and(is_starter);
        let others = words.iter().skip(1).filter(|_| is_starter).map(Path::new);
        let others = others
            .filter(|word| is_program(word))
            .filter_map(round_about::found);
        let programs: Vec<_> = first.into_iter().chain(others.take(MAX_PROGRAMS)).collect();
        let needs: Vec<_> = programs.iter().map(|path| static_tls(path)).collect();
        let unknown = if is_starter { UNKNOWN_BYTES } else { 0 };
        Self {
            bytes: needs.iter().flatten().copied().fold(unknown, u64::max),
            is_whole: needs.first().is_some_and(Option::is_some),
            of_other_library: programs.iter().find_map(|path| of_other_library(path)),
        }
    }

    /// A program, the name of its dynamic linker, and the one that is expected, where it is another C library's.
    pub(super) fn of_other_library(&self) -> Option<&[String; 3]> {
        self.of_other_library.as_ref()
    }

    /// Whether the program starts alone, as far as its libraries go.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Variables of the program's environment.
    pub(super) fn variables(&self) -> Vec<(&'static str, OsString)> {
        let asan = appended(std::env::var_os(ASAN_OPTIONS), "verify_asan_link_order=0");
        let mut variables = vec![(ASAN_OPTIONS, asan)];
        if self.bytes > 0 {
            let before = std::env::var_os(TUNABLES);
            let bytes = self.bytes + reserved(before.as_deref()).unwrap_or(DEFAULT_BYTES);
            variables.push((TUNABLES, appended(before, &format!("{STATIC_TLS}={bytes}"))));
        }
        variables
    }
}

fn of_other_library(program: &Path) -> Option<[String; 3]> {
    let linker = |program: &Path| {
        let interpreter = Startup::read(program).ok()??.interpreter?;
        let name = interpreter.file_name()?;
        Some(name.to_string_lossy().into_owned())
    };
    let (its, ours) = (linker(program)?, linker(Path::new("/proc/self/exe"))?);
    (its != ours).then(|| [program.display().to_string(), its, ours])
}

fn is_starter(name: &str) -> bool {
    // As in `mpirun.openmpi`, `python3.11`, `bash`.
    let stem = name.split('.').next().unwrap_or_default();
    STARTERS.contains(&stem) || LAUNCHERS.contains(&stem)
}

/// What a user asked for in the same variable.
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

/// A setting behind those that are there; of one setting the last counts.
fn appended(before: Option<OsString>, setting: &str) -> OsString {
    let mut all = before.unwrap_or_default();
    if !all.is_empty() {
        all.push(":");
    }
    all.push(setting);
    all
}

/// Thread-local memory at a fixed distance that the libraries of a program need, bytes; `None` if its dynamic linker does not find
/// them all.
fn static_tls(program: &Path) -> Option<u64> {
    let linker = Startup::read(program).ok()??.interpreter?;
    let mut list = Command::new(linker);
    // No library of ours: the list is that of the program alone.
    list.arg("--list").arg(program).env_remove("LD_AUDIT");
    let listed = list
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let libraries = listed.stdout.split(|byte| *byte == b'\n').map(library);
    let needs = libraries.map(|library| match library {
        Listed::Library(path) => Startup::read(&path)
            .ok()?
            .map_or(Some(0), |found| Some(found.static_tls_bytes)),
        Listed::Missing => None,
        Listed::Nothing => Some(0),
    });
    needs
        .sum::<Option<u64>>()
        .filter(|_| listed.status.success())
}

/// What a line of the list says.
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

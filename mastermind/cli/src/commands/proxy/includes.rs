//! Which headers are included before one that cannot be read by itself, and in which folders they are.
//!
//! ```text
//! jpeglib.h    uses size_t and FILE                      stdio.h
//! HYPRE.h      declares nothing: its family does         HYPRE_IJ_mv.h, HYPRE_parcsr_ls.h, …
//!              these include mpi.h                       the folders that mpicc knows
//! ```

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Proxy, run};

/// Headers of C whose types other headers use without including them; each is tried alone, then all.
const STANDARD: [&str; 8] = [
    "stddef.h",
    "stdint.h",
    "stdio.h",
    "stdlib.h",
    "sys/types.h",
    "time.h",
    "stdarg.h",
    "string.h",
];

/// Wrappers of the C compiler that know where MPI's header is.
const MPI_COMPILERS: [&str; 3] = ["mpicc", "mpicc.openmpi", "mpicc.mpich"];

/// Maximum number of neighbouring headers that are tried: each costs a run of the C compiler.
const MAX_NEIGHBOURS: usize = 200;

/// Headers and folders that are needed to read a header.
#[derive(Debug, Default)]
pub struct Needs {
    /// Headers to include before it.
    pub before: Vec<String>,
    /// Further folders of headers.
    pub folders: Vec<PathBuf>,
}

impl Proxy {
    /// Finds the needs of a header; empty if it can be read by itself, or if nothing that was tried suffices.
    pub(super) fn needs(&self, include: &str, folders: &[PathBuf]) -> Needs {
        let mut needs = Needs::default();
        if self
            .refusal_with_folders(&[], include, folders, &mut needs)
            .is_none()
        {
            return needs;
        }
        let folders = [folders, &needs.folders].concat();
        let alone = STANDARD.iter().map(|name| vec![(*name).to_owned()]);
        let all = STANDARD.map(str::to_owned).to_vec();
        let neighbours = self.neighbours(include, &folders).into_iter();
        let with_all = neighbours.map(|name| [all.clone(), vec![name]].concat());
        let tried = alone.chain([all.clone()]).chain(with_all);
        for before in tried {
            if self.refusal(&before, include, &folders).is_none() {
                needs.before = before;
                return needs;
            }
        }
        needs
    }

    /// The headers whose names begin with the name of one that declares nothing itself (`HYPRE_krylov.h` next to
    /// `HYPRE.h`), as far as they can be read after it.
    pub(super) fn family(&self, include: &str, folders: &[PathBuf]) -> Needs {
        let mut needs = Needs::default();
        let stem = file_name(include);
        let stem = stem.strip_suffix(".h").unwrap_or(stem);
        let neighbours = self.neighbours(include, folders).into_iter();
        for name in neighbours.filter(|name| file_name(name).starts_with(stem)) {
            let error = self.refusal_with_folders(&[], &name, folders, &mut needs);
            let all = [folders, &needs.folders].concat();
            if error.is_none() && self.refusal(&needs.before, &name, &all).is_none() {
                needs.before.push(name);
            }
        }
        needs
    }

    /// The files of the C library's headers.
    pub(super) fn files_of_c(&self, folders: &[PathBuf]) -> BTreeSet<String> {
        let include =
            |name: &&str| format!("#if __has_include(<{name}>)\n#include <{name}>\n#endif\n");
        let text: String = STANDARD.iter().chain(&OF_C).map(include).collect();
        let mut command = self.compiler(folders);
        command.args(["-x", "c", "-E", "-"]);
        let text = run(&mut command, &text).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let files = text.lines().filter(|line| line.starts_with("# "));
        let files = files.filter_map(|line| line.split('"').nth(1));
        files.map(str::to_owned).collect()
    }

    /// Why the C compiler refuses a header; `None` if it accepts it.
    fn refusal(&self, before: &[String], include: &str, folders: &[PathBuf]) -> Option<String> {
        let mut command = self.compiler(folders);
        command.args(["-x", "c", "-fsyntax-only", "-"]);
        let text = including(before, include);
        run(&mut command, &text)
            .err()
            .map(|error| error.to_string())
    }

    /// As [`Proxy::refusal`], with further folders for headers that it includes: MPI's header from MPI's compiler, any
    /// other in the folder of the including header, as for `<HYPRE_config.h>`. These folders are added to `needs`.
    fn refusal_with_folders(
        &self,
        before: &[String],
        include: &str,
        folders: &[PathBuf],
        needs: &mut Needs,
    ) -> Option<String> {
        loop {
            let all = [folders, &needs.folders].concat();
            let error = self.refusal(before, include, &all)?;
            let found = match missing(&error) {
                Some((_, "mpi.h")) => mpi_folders(),
                Some((folder, name)) if folder.join(name).is_file() => vec![folder.to_owned()],
                _ => Vec::new(),
            };
            let new = found.into_iter().filter(|folder| !all.contains(folder));
            let new: Vec<_> = new.collect();
            if new.is_empty() {
                return Some(error);
            }
            needs.folders.extend(new);
        }
    }

    /// The other headers in the folder of one, as they are included, by name.
    fn neighbours(&self, include: &str, folders: &[PathBuf]) -> Vec<String> {
        let Ok(preprocessed) = self.preprocess(&[], include, folders, &[]) else {
            return Vec::new();
        };
        let file = Path::new(super::file_of(&preprocessed, include));
        let Some(folder) = file.parent() else {
            return Vec::new();
        };
        let before_name = include.strip_suffix(file_name(include)).unwrap_or_default();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let is_other = |name: &String| name.ends_with(".h") && name != file_name(include);
        let mut names: Vec<_> = names.filter(is_other).collect();
        names.sort();
        // In a folder for headers of many libraries they are unrelated to the header.
        if names.len() > MAX_NEIGHBOURS {
            let stem = file_name(include);
            let stem = stem.strip_suffix(".h").unwrap_or(stem);
            names.retain(|name| name.starts_with(stem));
            names.truncate(MAX_NEIGHBOURS);
        }
        names
            .into_iter()
            .map(|name| format!("{before_name}{name}"))
            .collect()
    }
}

/// Headers of the C library, whose functions belong to no other library.
const OF_C: [&str; 36] = [
    "arpa/inet.h",
    "assert.h",
    "complex.h",
    "ctype.h",
    "dirent.h",
    "dlfcn.h",
    "errno.h",
    "fcntl.h",
    "fenv.h",
    "float.h",
    "inttypes.h",
    "limits.h",
    "locale.h",
    "math.h",
    "netdb.h",
    "netinet/in.h",
    "poll.h",
    "pthread.h",
    "sched.h",
    "setjmp.h",
    "signal.h",
    "stdbool.h",
    "strings.h",
    "sys/ioctl.h",
    "sys/mman.h",
    "sys/select.h",
    "sys/socket.h",
    "sys/stat.h",
    "sys/time.h",
    "sys/uio.h",
    "sys/wait.h",
    "termios.h",
    "unistd.h",
    "wchar.h",
    "wctype.h",
    "endian.h",
];

/// The files that a file includes itself, in their order, by the markers of preprocessed text.
///
/// # Source
/// GCC, "Preprocessor Output": flag 1 begins a new file, flag 2 returns to one.
pub fn included_by(preprocessed: &str, file: &str) -> Vec<String> {
    let (mut found, mut now) = (Vec::new(), "");
    for line in preprocessed.lines().filter(|line| line.starts_with("# ")) {
        let mut parts = line.split('"');
        let (Some(_), Some(next), Some(flags)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let is_begin = flags.split_whitespace().any(|flag| flag == "1");
        if is_begin && now == file && !found.iter().any(|known| known == next) {
            found.push(next.to_owned());
        }
        now = next;
    }
    found
}

/// The header that the C compiler does not find, and the folder of the one that includes it, from GCC's or Clang's
/// message.
fn missing(error: &str) -> Option<(&Path, &str)> {
    let (before, after) = error.split_once(": fatal error: ")?;
    let name = match after.strip_prefix('\'') {
        Some(quoted) => quoted.split_once("' file not found")?.0,
        None => after.split_once(": No such file")?.0,
    };
    // `FILE:LINE:COLUMN`, after the name of the failed command.
    let file = before.rsplitn(3, ':').nth(2)?;
    let file = file.rsplit(' ').next().unwrap_or(file);
    Some((Path::new(file).parent()?, name))
}

/// A source that includes headers.
pub fn including(before: &[String], include: &str) -> String {
    let names = before.iter().map(String::as_str).chain([include]);
    names.map(|name| format!("#include <{name}>\n")).collect()
}

/// The folders of MPI's header, from the command line of its compiler wrapper.
fn mpi_folders() -> Vec<PathBuf> {
    for compiler in MPI_COMPILERS {
        let Ok(output) = Command::new(compiler).arg("-show").output() else {
            continue;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = text.split_whitespace();
        let folders = words.filter_map(|word| word.strip_prefix("-I"));
        let folders: Vec<_> = folders.map(PathBuf::from).collect();
        if output.status.success() && !folders.is_empty() {
            return folders;
        }
    }
    Vec::new()
}

fn file_name(include: &str) -> &str {
    include.rsplit('/').next().unwrap_or(include)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_header_is_searched_next_to_the_one_that_includes_it() {
        let expected = Some((Path::new("/usr/include/hypre"), "HYPRE_config.h"));
        let gcc = "the C compiler says: /usr/include/hypre/HYPRE_utilities.h:17:10: fatal error: HYPRE_config.h: No such file or directory";
        assert_eq!(missing(gcc), expected);
        let clang = "the C compiler says: /usr/include/hypre/HYPRE_utilities.h:17:10: fatal error: 'HYPRE_config.h' file not found";
        assert_eq!(missing(clang), expected);
        assert_eq!(
            missing("the C compiler says: a.h:3:1: error: unknown type name"),
            None
        );
    }

    #[test]
    fn only_what_a_file_includes_itself_is_its_part() {
        let text = "# 1 \"/a/all.h\" 1\n# 1 \"/a/one.h\" 1\n# 1 \"/a/deep.h\" 1\n# 2 \"/a/one.h\" 2\n# 2 \"/a/all.h\" 2\n# 1 \"/a/two.h\" 1\n";
        assert_eq!(included_by(text, "/a/all.h"), ["/a/one.h", "/a/two.h"]);
    }
}

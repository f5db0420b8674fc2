//! The file in which `wrap` finds the objects that the processes of the program have mapped, and the bindings that
//! bypass the proxies.
//!
//! A line each, its fields separated by tabulators, in one `write` to the file's end:
//!
//! ```text
//! program    PROCESS  PATH  ADDRESS   a process began to run a program, which was moved by ADDRESS bytes (hexadecimal)
//! linked     PROCESS                  the program's own code is about to run: all its first libraries are mapped
//! object     PROCESS  PATH  ADDRESS   a library that it mapped
//! elsewhere  PROCESS  PATH            a library that it mapped by dlmopen, whose calls no preloaded library sees
//! dlsym      PROCESS  FROM  NAME  TO  a name that was looked up: another definition than the one that the proxy replaces
//! call       PROCESS  FROM  NAME  TO  a call that was bound to such a definition
//! slot       PROCESS  FROM  NAME  TO  a reference that is bound to another object than the proxy
//! definition PROCESS  NAME  NUMBER  TO  VERSION   the definition that a function of a proxy for other definitions replaces from now on
//! ```
//!
//! If the file cannot be written, nothing is written: the program continues.

use std::ffi::{CStr, CString};
use std::mem;
use std::sync::OnceLock;

use crate::mapped::{Mapped, Role};

/// The environment variable with the file's path; the same as `mastermind_component::TRACE_VARIABLE`.
const VARIABLE: &CStr = c"MASTERMIND_WRAP_TRACE";

/// Longest file, bytes: a build system starts very many processes.
const MAX_BYTES: u64 = 16 << 20;

static PATH: OnceLock<Option<CString>> = OnceLock::new();

pub(crate) fn mapped(mapped: &Mapped) {
    let address = format!("{:x}", mapped.object.address());
    match mapped.role {
        Role::Main => append(&["program", &mapped.path, &address]),
        Role::Program => append(&["object", &mapped.path, &address]),
        Role::Proxy | Role::Own => {}
    }
}

pub(crate) fn linked() {
    append(&["linked"]);
}

pub(crate) fn elsewhere(path: &str) {
    append(&["elsewhere", path]);
}

pub(crate) fn bound_elsewhere(how: &str, from: &Mapped, name: &CStr, to: &Mapped) {
    append(&[how, &from.path, &name.to_string_lossy(), &to.path]);
}

pub(crate) fn slot(from: &Mapped, name: &CStr, to: &Mapped) {
    append(&["slot", &from.path, &name.to_string_lossy(), &to.path]);
}

/// The definition that the function of a proxy with this number replaces, `NAME@NUMBER` in the
/// records.
pub(crate) fn definition(name: &CStr, number: u32, to: &Mapped, version: Option<&CStr>) {
    let (name, version) = (name.to_string_lossy(), version.unwrap_or_default());
    let (number, version) = (number.to_string(), version.to_string_lossy());
    append(&["definition", &name, &number, &to.path, &version]);
}

/// Appends a line, whole or not at all.
fn append(fields: &[&str]) {
    let Some(Some(path)) = PATH.get().or_else(|| Some(PATH.get_or_init(path))) else {
        return;
    };
    let (kind, rest) = fields.split_first().unwrap_or((&"", &[]));
    let mut line = format!("{kind}\t{}", std::process::id());
    for field in rest {
        line.push('\t');
        line.extend(
            field
                .chars()
                .filter(|letter| !matches!(letter, '\t' | '\n')),
        );
    }
    line.push('\n');
    // SAFETY: plain calls of the system; the file is this function's own, and the path ends with 0.
    unsafe {
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let file = libc::open(path.as_ptr(), flags);
        if file < 0 {
            return;
        }
        let mut status: libc::stat = mem::zeroed();
        let mut limit: libc::rlimit = mem::zeroed();
        let known = libc::fstat(file, &mut status) == 0
            && libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0;
        let end = status.st_size as u64 + line.len() as u64;
        // The signal of a file that is too large would end the program.
        if known && end <= limit.rlim_cur.min(MAX_BYTES) {
            libc::write(file, line.as_ptr().cast(), line.len());
        }
        libc::close(file);
    }
}

fn path() -> Option<CString> {
    // SAFETY: nothing changes the environment of this namespace.
    let value = unsafe { libc::getenv(VARIABLE.as_ptr()) };
    // SAFETY: a text of the environment.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) }.to_owned())
}

//! Notes which programs the process starts, so that `wrap` can report those that it cannot see into.
//!
//! A program that is linked statically, runs with the rights of another user, or is started without the environment of
//! `wrap` gets no library preloaded, and so leaves no message itself. Therefore the functions of the C library that
//! start programs first write a line into the file of `proxies/audit` (`trace.rs`), and are then called as they are:
//!
//! ```text
//! started    PROCESS  FOLDER  PATH  kept | cleared
//! stack      PROCESS  NUMBER  ADDRESS ADDRESS …        calls that led to a call of MPI, for `call_site.rs`
//! restricted PROCESS                                   it restricts its system calls (`restricted.rs`): no record from then on
//! ```
//!
//! They may be called between `fork` and the new program, where hardly anything is allowed, and by a handler on a small
//! stack of its own. So no memory is allocated, no lock taken, and the line is made on a stack of ours.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::{Cursor, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::variable;
use cca_abi::guest;
use mastermind_component::TRACE_VARIABLE;

type Text = *const c_char;
type Texts = *const *const c_char;

/// Longest line; a longer one is not written.
const MAX_LINE_BYTES: usize = 3 * 4096;
/// Longest file, bytes; the same as in `proxies/audit`.
const MAX_BYTES: u64 = 16 << 20;
/// Identifies the environment of `wrap`.
const PRELOADED: &[u8] = b"libmastermind_preload.so";

/// The file, if `wrap` named one.
static FILE: OnceLock<CString> = OnceLock::new();

unsafe extern "C" {
    static environ: Texts;
}

/// A function of the C library that this library intercepts.
pub(crate) struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    pub(crate) const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            address: AtomicPtr::new(ptr::null_mut()),
        }
    }

    pub(crate) fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Acquire);
        if !known.is_null() {
            return known;
        }
        // SAFETY: a name of the C library.
        let found = unsafe { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) };
        self.address.store(found, Ordering::Release);
        found
    }
}

static EXECVE: Real = Real::new(c"execve");
static EXECV: Real = Real::new(c"execv");
static EXECVP: Real = Real::new(c"execvp");
static EXECVPE: Real = Real::new(c"execvpe");
static EXECL: Real = Real::new(c"execl");
static EXECLP: Real = Real::new(c"execlp");
static EXECLE: Real = Real::new(c"execle");
static SYSTEM: Real = Real::new(c"system");
static POPEN: Real = Real::new(c"popen");
static SPAWN: Real = Real::new(c"posix_spawn");
static SPAWNP: Real = Real::new(c"posix_spawnp");

/// Finds the file and the addresses, since they may not be looked up later.
pub(crate) fn prepare() {
    if let Some(path) = variable(TRACE_VARIABLE).and_then(|path| CString::new(path).ok()) {
        let _ = FILE.set(path);
    }
    let all = [
        &EXECVE, &EXECV, &EXECVP, &EXECVPE, &EXECL, &EXECLP, &EXECLE, &SYSTEM, &POPEN, &SPAWN,
        &SPAWNP,
    ];
    for real in all {
        real.address();
    }
}

/// Whether the environment preloads this library.
///
/// # Safety
/// Null, or C strings ended by null.
unsafe fn keeps(environment: Texts) -> bool {
    // SAFETY: required of the caller.
    unsafe {
        let mut at = environment;
        while !at.is_null() && !(*at).is_null() {
            let text = CStr::from_ptr(*at).to_bytes();
            if text.starts_with(b"LD_PRELOAD=") {
                return text.windows(PRELOADED.len()).any(|part| part == PRELOADED);
            }
            at = at.add(1);
        }
    }
    false
}

/// Writes the line of a program that is about to be started.
///
/// # Safety
/// `path` is null or a C string, `environment` as in [`keeps`].
unsafe fn note(path: Text, environment: Texts) {
    let Some(file) = FILE.get().filter(|_| !path.is_null()) else {
        return;
    };
    // SAFETY: required of the caller.
    guest::run(|| unsafe { note_in(file, path, environment) });
}

/// # Safety
/// As for [`note`]; the path is not null.
unsafe fn note_in(file: &CStr, path: Text, environment: Texts) {
    // SAFETY: required of the caller; plain calls of the system on buffers of this function's own.
    unsafe {
        let mut folder = [0u8; 4096];
        let known = libc::getcwd(folder.as_mut_ptr().cast(), folder.len());
        let folder = if known.is_null() {
            c""
        } else {
            CStr::from_ptr(known)
        };
        let kept: &[u8] = if keeps(environment) {
            b"kept"
        } else {
            b"cleared"
        };
        let mut line = [0u8; MAX_LINE_BYTES];
        let mut cursor = Cursor::new(&mut line[..]);
        let fields = [folder.to_bytes(), CStr::from_ptr(path).to_bytes(), kept];
        let mut is_whole = write!(cursor, "started\t{}", libc::getpid()).is_ok();
        for field in fields {
            is_whole &= !field.iter().any(|byte| matches!(byte, b'\t' | b'\n'));
            is_whole &= cursor.write_all(b"\t").is_ok() && cursor.write_all(field).is_ok();
        }
        is_whole &= cursor.write_all(b"\n").is_ok();
        let n_bytes = cursor.position() as usize;
        if is_whole {
            append(file, &line[..n_bytes]);
        }
    }
}

/// Writes the line of a process that restricts its system calls.
pub(crate) fn note_restricted() {
    let mut line = [0u8; 64];
    let mut cursor = Cursor::new(&mut line[..]);
    let is_whole = writeln!(cursor, "restricted\t{}", std::process::id()).is_ok();
    let n_bytes = cursor.position() as usize;
    if let Some(file) = FILE.get().filter(|_| is_whole) {
        append(file, &line[..n_bytes]);
    }
}

/// Writes the process and its user into a file that `wrap` lets every user write.
pub(crate) fn note_refused(file: &Path) {
    // SAFETY: a number of the process.
    let user = unsafe { libc::geteuid() };
    if let Ok(file) = CString::new(file.as_os_str().as_bytes()) {
        append(
            &file,
            format!("{}\t{user}\n", std::process::id()).as_bytes(),
        );
    }
}

/// Writes the line of a stack of calls.
///
/// # Returns
/// Whether it was written.
pub(crate) fn note_stack(number: u64, addresses: &[usize]) -> bool {
    let Some(file) = FILE.get() else {
        return false;
    };
    let mut line = format!("stack\t{}\t{number:x}\t", std::process::id());
    for (place, address) in addresses.iter().enumerate() {
        let blank = if place > 0 { " " } else { "" };
        line += &format!("{blank}{address:x}");
    }
    line.push('\n');
    append(file, line.as_bytes())
}

/// Appends to the file up to its maximum size; leaves `errno` unchanged.
///
/// # Returns
/// Whether the whole line was written.
fn append(file: &CStr, line: &[u8]) -> bool {
    let mut is_written = false;
    // SAFETY: plain calls of the system; the file is this function's own.
    unsafe {
        let errno = *libc::__errno_location();
        let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        let file = libc::open(file.as_ptr(), flags);
        if file >= 0 {
            let mut status: libc::stat = std::mem::zeroed();
            let mut limit: libc::rlimit = std::mem::zeroed();
            let known = libc::fstat(file, &mut status) == 0
                && libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) == 0;
            // The signal of a file that is too large would end the program.
            if known && status.st_size as u64 + line.len() as u64 <= limit.rlim_cur.min(MAX_BYTES) {
                let n = libc::write(file, line.as_ptr().cast(), line.len());
                is_written = n == line.len() as isize;
            }
            libc::close(file);
        }
        *libc::__errno_location() = errno;
    }
    is_written
}

/// Without the C library's function, behaves as if the system call did not exist.
pub(crate) fn none() -> c_int {
    // SAFETY: the thread's own word.
    unsafe { *libc::__errno_location() = libc::ENOSYS };
    -1
}

/// The C library's `execve`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execve(path: Text, arguments: Texts, environment: Texts) -> c_int {
    type Function = unsafe extern "C" fn(Text, Texts, Texts) -> c_int;
    // SAFETY: required of the caller; the function of that name has that type.
    unsafe {
        note(path, environment);
        let real: Option<Function> = std::mem::transmute(EXECVE.address());
        real.map_or_else(none, |real| real(path, arguments, environment))
    }
}

/// The C library's `execvpe`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvpe(path: Text, arguments: Texts, environment: Texts) -> c_int {
    type Function = unsafe extern "C" fn(Text, Texts, Texts) -> c_int;
    // SAFETY: as for `execve`.
    unsafe {
        note(path, environment);
        let real: Option<Function> = std::mem::transmute(EXECVPE.address());
        real.map_or_else(none, |real| real(path, arguments, environment))
    }
}

/// The C library's `execv`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execv(path: Text, arguments: Texts) -> c_int {
    type Function = unsafe extern "C" fn(Text, Texts) -> c_int;
    // SAFETY: as for `execve`.
    unsafe {
        note(path, environ);
        let real: Option<Function> = std::mem::transmute(EXECV.address());
        real.map_or_else(none, |real| real(path, arguments))
    }
}

/// The C library's `execvp`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn execvp(path: Text, arguments: Texts) -> c_int {
    type Function = unsafe extern "C" fn(Text, Texts) -> c_int;
    // SAFETY: as for `execve`.
    unsafe {
        note(path, environ);
        let real: Option<Function> = std::mem::transmute(EXECVP.address());
        real.map_or_else(none, |real| real(path, arguments))
    }
}

/// The shell of `system` and `popen`.
const SHELL: &CStr = c"/bin/sh";

/// The C library's `system`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn system(command: Text) -> c_int {
    type Function = unsafe extern "C" fn(Text) -> c_int;
    // SAFETY: as for `execve`.
    unsafe {
        // Without a command it only checks whether there is a shell.
        if !command.is_null() {
            note(SHELL.as_ptr(), environ);
        }
        let real: Option<Function> = std::mem::transmute(SYSTEM.address());
        real.map_or_else(none, |real| real(command))
    }
}

/// The C library's `popen`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn popen(command: Text, mode: Text) -> *mut c_void {
    type Function = unsafe extern "C" fn(Text, Text) -> *mut c_void;
    // SAFETY: as for `execve`.
    unsafe {
        note(SHELL.as_ptr(), environ);
        let real: Option<Function> = std::mem::transmute(POPEN.address());
        real.map_or(ptr::null_mut(), |real| real(command, mode))
    }
}

#[cfg(target_arch = "x86_64")]
mod variadic {
    //! `execl`, `execlp` and `execle`, which take a variable number of arguments. Rust has no such functions, so each
    //! is a few instructions: all registers that may hold an argument are saved, the line is written, and the C
    //! library's function is jumped to with everything unchanged.
    //!
    //! ```text
    //! saved: path (rdi), then the arguments in rsi, rdx, rcx, r8, r9; the others on the caller's stack
    //! ```

    use super::{EXECL, EXECLE, EXECLP, Text, Texts, c_void, environ, note, ptr};

    /// Registers with arguments, the path's the first.
    const N_REGISTERS: usize = 6;
    /// Maximum number of arguments that are searched for the last one.
    const MAX_ARGUMENTS: usize = 1 << 20;

    /// Notes the program that is about to be started.
    ///
    /// # Returns
    /// The C library's function.
    ///
    /// # Safety
    /// The arguments of a call of one of these functions: those in registers, those on the stack.
    unsafe extern "C" fn note_list(
        registers: *const Text,
        stack: *const Text,
        which: usize,
    ) -> *mut c_void {
        // SAFETY: required of the caller; the arguments end with null, and behind it `execle` has its environment.
        unsafe {
            let argument = |place: usize| match place {
                0..N_REGISTERS => registers.add(place).read(),
                _ => stack.add(place - N_REGISTERS).read(),
            };
            let environment = match which {
                2 => {
                    let end = (1..MAX_ARGUMENTS).find(|place| argument(*place).is_null());
                    end.map_or(ptr::null(), |end| argument(end + 1).cast())
                }
                _ => environ,
            };
            note(argument(0), environment as Texts);
        }
        let real = [&EXECL, &EXECLP, &EXECLE][which];
        match real.address() {
            none if none.is_null() => missing as *mut c_void,
            address => address,
        }
    }

    extern "C" fn missing() -> std::ffi::c_int {
        super::none()
    }

    macro_rules! list_function {
        ($name:ident, $which:literal) => {
            #[doc = concat!("The C library's `", stringify!($name), "`.")]
            ///
            /// # Safety
            /// As there.
            #[unsafe(naked)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name() -> std::ffi::c_int {
                // `rax` has the number of vector registers with arguments: none.
                core::arch::naked_asm!(
                    "endbr64",
                    "sub rsp, 56",
                    "mov [rsp], rdi",
                    "mov [rsp + 8], rsi",
                    "mov [rsp + 16], rdx",
                    "mov [rsp + 24], rcx",
                    "mov [rsp + 32], r8",
                    "mov [rsp + 40], r9",
                    "mov rdi, rsp",
                    "lea rsi, [rsp + 64]",
                    concat!("mov edx, ", $which),
                    "call {note}",
                    "mov r11, rax",
                    "mov rdi, [rsp]",
                    "mov rsi, [rsp + 8]",
                    "mov rdx, [rsp + 16]",
                    "mov rcx, [rsp + 24]",
                    "mov r8, [rsp + 32]",
                    "mov r9, [rsp + 40]",
                    "add rsp, 56",
                    "xor eax, eax",
                    "jmp r11",
                    note = sym note_list,
                )
            }
        };
    }

    list_function!(execl, 0);
    list_function!(execlp, 1);
    list_function!(execle, 2);
}

type Spawn = unsafe extern "C" fn(
    *mut libc::pid_t,
    Text,
    *const c_void,
    *const c_void,
    Texts,
    Texts,
) -> c_int;

/// The C library's `posix_spawn`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawn(
    process: *mut libc::pid_t,
    path: Text,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: as for `execve`.
    unsafe {
        note(path, environment);
        let real: Option<Spawn> = std::mem::transmute(SPAWN.address());
        real.map_or(libc::ENOSYS, |real| {
            real(process, path, actions, attributes, arguments, environment)
        })
    }
}

/// The C library's `posix_spawnp`.
///
/// # Safety
/// As there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn posix_spawnp(
    process: *mut libc::pid_t,
    path: Text,
    actions: *const c_void,
    attributes: *const c_void,
    arguments: Texts,
    environment: Texts,
) -> c_int {
    // SAFETY: as for `execve`.
    unsafe {
        note(path, environment);
        let real: Option<Spawn> = std::mem::transmute(SPAWNP.address());
        real.map_or(libc::ENOSYS, |real| {
            real(process, path, actions, attributes, arguments, environment)
        })
    }
}

//! Reports whose code it was when a signal ends the process: a null pointer in a component, an `abort`, a bus
//! error.
//!
//! A handler is installed in front of the existing ones. It writes a few lines about the stack, and passes the signal
//! on to them, so the process ends as it would have: by Rust's own handler, MPI's, or the system's default. It uses
//! only functions that a signal handler may use: it allocates no memory and takes no lock, and writes text by `write`.
//!
//! Each address on the stack is looked up in a list of the libraries' code that only grows; while no code is known yet,
//! the report names the action that the thread has a library do (`activity`). A damaged library is refused before it is
//! opened, by its own segments (`image.rs`), so no child process is needed to try it.

use std::cell::UnsafeCell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use crate::activity;
use crate::regions::{add_program, label_of};

/// The signals, and their names.
const SIGNALS: [(c_int, &str); 5] = [
    (libc::SIGSEGV, "invalid memory reference (SIGSEGV)"),
    (libc::SIGBUS, "bus error (SIGBUS)"),
    (libc::SIGILL, "illegal instruction (SIGILL)"),
    (libc::SIGFPE, "arithmetic exception (SIGFPE)"),
    (libc::SIGABRT, "abort (SIGABRT)"),
];

/// Stack of the handler: unwinding needs some, and an overflowed stack is unusable.
const STACK_BYTES: usize = 128 << 10;

/// Frames of the stack that are searched.
const MAX_FRAMES: usize = 256;

/// Callers that are named.
const MAX_CALLERS: usize = 32;

/// The former handlers, in the order of [`SIGNALS`]; leaked.
static BEFORE: [AtomicPtr<libc::sigaction>; SIGNALS.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS.len()];

/// Whether a crash was reported already: crashes that follow from it are not reported.
static IS_REPORTED: AtomicBool = AtomicBool::new(false);

/// From now on a signal that ends the process because of a component's code is reported on standard error. May be
/// called again if others, such as MPI, may have installed their handlers in front; theirs are then called after ours.
pub fn report_crashes() {
    static HAS_PROGRAM: AtomicBool = AtomicBool::new(false);
    if !HAS_PROGRAM.swap(true, Ordering::AcqRel) {
        add_program();
        warm_up();
    }
    own_stack();
    for (index, (signal, _)) in SIGNALS.iter().enumerate() {
        install(index, *signal);
    }
}

fn install(index: usize, signal: c_int) {
    let mut before = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: reads the handler of the signal; the result has its type.
    let before = unsafe {
        if libc::sigaction(signal, ptr::null(), before.as_mut_ptr()) != 0 {
            return;
        }
        before.assume_init()
    };
    if before.sa_sigaction == on_signal as *const () as usize {
        return;
    }
    let before = Box::into_raw(Box::new(before));
    BEFORE[index].store(before, Ordering::Release);
    // SAFETY: all zero is an action; its members are set as `sigaction` documents, and the handler has the right type.
    unsafe {
        let mut own = MaybeUninit::<libc::sigaction>::zeroed().assume_init();
        own.sa_sigaction = on_signal as *const () as usize;
        own.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
        libc::sigemptyset(&raw mut own.sa_mask);
        libc::sigaction(signal, &raw const own, ptr::null_mut());
    }
}

/// Gives this thread a stack for handlers, unless it has one that is large enough.
fn own_stack() {
    // SAFETY: reads the present stack, and installs one that is leaked, and so never freed.
    unsafe {
        let mut present = MaybeUninit::<libc::stack_t>::zeroed().assume_init();
        libc::sigaltstack(ptr::null(), &raw mut present);
        if present.ss_flags & libc::SS_DISABLE == 0 && present.ss_size >= STACK_BYTES {
            return;
        }
        let memory = vec![0_u8; STACK_BYTES].leak();
        let own = libc::stack_t {
            ss_sp: memory.as_mut_ptr().cast(),
            ss_flags: 0,
            ss_size: STACK_BYTES,
        };
        libc::sigaltstack(&raw const own, ptr::null_mut());
    }
}

/// The library that unwinds loads parts of itself at its first use, which a handler must not do.
fn warm_up() {
    let mut frames = Frames::new(0);
    frames.walk();
}

type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

extern "C" fn on_signal(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    if !IS_REPORTED.swap(true, Ordering::AcqRel) {
        // SAFETY: the system passes the context of the interrupted code. The report is this call's alone.
        unsafe {
            let interrupted = Interrupted::of(context);
            let (frames, text) = &mut *REPORT.0.get();
            write_report(signal, info, interrupted.at, frames, text);
            interrupted.restore(context);
        }
    }
    let Some(index) = SIGNALS.iter().position(|(known, _)| *known == signal) else {
        return;
    };
    // SAFETY: leaked when it was stored, which was before this handler was installed.
    let before = unsafe { BEFORE[index].load(Ordering::Acquire).as_ref() };
    match before.map_or(libc::SIG_DFL, |before| before.sa_sigaction) {
        libc::SIG_IGN => {}
        libc::SIG_DFL => {
            // SAFETY: allowed in a handler; the signal is raised when this one returns, and ends the process.
            unsafe {
                libc::signal(signal, libc::SIG_DFL);
                libc::raise(signal);
            }
        }
        // SAFETY: a former handler. A handler without information takes the first argument only, and ignores the
        // others.
        handler => unsafe { std::mem::transmute::<usize, Handler>(handler)(signal, info, context) },
    }
}

/// Registers that were changed so that the stack can be walked from a call of a null pointer.
struct Interrupted {
    /// Address of the instruction, or of the caller if a call went to an invalid address.
    at: usize,
    /// The instruction and stack pointers at that time.
    #[cfg(all(target_os = "linux", target_arch = "x86_64"))]
    before: [i64; 2],
}

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
impl Interrupted {
    /// # Safety
    /// `context` is a signal handler's third argument.
    unsafe fn of(context: *mut c_void) -> Self {
        // SAFETY: the caller's promise.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        let (rip, rsp) = (libc::REG_RIP as usize, libc::REG_RSP as usize);
        let before = [registers[rip], registers[rsp]];
        if registers[rip] == 0 && registers[rsp] != 0 {
            // A call of a null pointer has just pushed its return, as if that function had returned at once.
            // SAFETY: the top of the stack is there.
            registers[rip] = unsafe { (registers[rsp] as *const i64).read() };
            registers[rsp] += 8;
        }
        let at = registers[rip] as usize;
        Interrupted { at, before }
    }

    /// Puts the registers back.
    ///
    /// # Safety
    /// As for [`Interrupted::of`], which returned `self`.
    unsafe fn restore(self, context: *mut c_void) {
        // SAFETY: the caller's promise.
        let registers = unsafe { &mut (*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs };
        registers[libc::REG_RIP as usize] = self.before[0];
        registers[libc::REG_RSP as usize] = self.before[1];
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
impl Interrupted {
    /// # Safety
    /// None; as where the registers are known.
    unsafe fn of(_: *mut c_void) -> Self {
        Interrupted { at: 0 }
    }

    /// # Safety
    /// None.
    unsafe fn restore(self, _: *mut c_void) {}
}

/// Memory of the one report that there is: a thread's stack for handlers may be small.
struct Report(UnsafeCell<(Frames, Text)>);

// SAFETY: only the first thread to set `IS_REPORTED` uses it.
unsafe impl Sync for Report {}

static REPORT: Report = Report(UnsafeCell::new((Frames::new(0), Text::new())));

/// Writes whose code failed, and its callers.
fn write_report(
    signal: c_int,
    info: *mut libc::siginfo_t,
    at: usize,
    frames: &mut Frames,
    text: &mut Text,
) {
    (frames.at, frames.is_past) = (at, at == 0);
    frames.walk();
    let mut labels = [at].into_iter().chain(frames.found.iter().copied());
    let first = labels.by_ref().find_map(label_of);
    let is_ours = |label: &str| label.starts_with("this program");
    let has_activity = activity::with_text(|doing| text.add(&["error: cannot ", doing])).is_some();
    if !has_activity {
        match first {
            Some(label) => text.add(&["error: cannot run ", label]),
            None => return,
        }
    }
    let mut last = first.unwrap_or_default();
    let mut callers = [""; MAX_CALLERS];
    let mut n_callers = 0;
    for label in labels.filter_map(label_of) {
        if label != last && n_callers < MAX_CALLERS {
            callers[n_callers] = label;
            n_callers += 1;
            last = label;
        }
    }
    let callers = &callers[..n_callers];
    let of_component = first
        .into_iter()
        .chain(callers.iter().copied())
        .any(|label| !is_ours(label));
    if !has_activity && !of_component {
        return;
    }
    let name = SIGNALS.iter().find(|(known, _)| *known == signal);
    text.add(&[": ", name.map_or("signal", |(_, name)| name)]);
    if matches!(signal, libc::SIGSEGV | libc::SIGBUS) && !info.is_null() {
        // SAFETY: for these signals the system passes the address.
        let address = unsafe { (*info).si_addr() } as usize;
        text.add(&[" at address 0x"]);
        text.add_hex(address);
    }
    text.add(&[", expected it to return\n"]);
    if let Some(label) = first.filter(|_| has_activity) {
        text.add(&["  in ", label, "\n"]);
    }
    for label in callers {
        text.add(&["  called by ", label, "\n"]);
    }
    text.write();
}

/// Return addresses on the stack, from the interrupted code outwards.
struct Frames {
    /// Where it was interrupted; frames before it are the handler's own.
    at: usize,
    is_past: bool,
    found: FrameList,
}

struct FrameList {
    addresses: [usize; MAX_FRAMES],
    n: usize,
}

impl FrameList {
    fn iter(&self) -> std::slice::Iter<'_, usize> {
        self.addresses[..self.n].iter()
    }
}

#[repr(C)]
struct UnwindContext {
    _private: [u8; 0],
}

type Visit = extern "C" fn(*mut UnwindContext, *mut c_void) -> c_int;

unsafe extern "C" {
    /// Of the unwinder that Rust's standard library is linked with: visits each frame.
    fn _Unwind_Backtrace(visit: Visit, argument: *mut c_void) -> c_int;

    /// The address at which a frame continues.
    fn _Unwind_GetIP(context: *mut UnwindContext) -> usize;
}

impl Frames {
    const fn new(at: usize) -> Self {
        Frames {
            at,
            is_past: at == 0,
            found: FrameList {
                addresses: [0; MAX_FRAMES],
                n: 0,
            },
        }
    }

    fn walk(&mut self) {
        // SAFETY: the function gets the argument with its true type.
        unsafe { _Unwind_Backtrace(visit, ptr::from_mut(self).cast()) };
    }
}

extern "C" fn visit(context: *mut UnwindContext, frames: *mut c_void) -> c_int {
    const GO_ON: c_int = 0;
    const END_OF_STACK: c_int = 5;
    // SAFETY: `walk` passes itself, and the unwinder a frame.
    let (frames, address) = unsafe { (&mut *frames.cast::<Frames>(), _Unwind_GetIP(context)) };
    if frames.is_past && frames.found.n < MAX_FRAMES {
        // It is the address after the call, which may be the next function's.
        frames.found.addresses[frames.found.n] = address.wrapping_sub(1);
        frames.found.n += 1;
    }
    frames.is_past |= address == frames.at;
    if frames.found.n == MAX_FRAMES {
        END_OF_STACK
    } else {
        GO_ON
    }
}

/// A text in the handler's own memory, cut where it is full.
struct Text {
    bytes: [u8; 8192],
    length: usize,
}

impl Text {
    const fn new() -> Self {
        Text {
            bytes: [0; 8192],
            length: 0,
        }
    }

    fn add(&mut self, parts: &[&str]) {
        for byte in parts.iter().flat_map(|part| part.bytes()) {
            if self.length < self.bytes.len() {
                // Names may contain any character; the output must be safe on a terminal.
                let is_shown = byte >= b' ' || byte == b'\n';
                self.bytes[self.length] = if is_shown { byte } else { b'?' };
                self.length += 1;
            }
        }
    }

    fn add_hex(&mut self, number: usize) {
        let digits = (usize::BITS - number.leading_zeros()).div_ceil(4).max(1);
        for place in (0..digits).rev() {
            let digit = (number >> (4 * place) & 0xf) as u8;
            let digit = if digit < 10 {
                b'0' + digit
            } else {
                b'a' + digit - 10
            };
            if self.length < self.bytes.len() {
                self.bytes[self.length] = digit;
                self.length += 1;
            }
        }
    }

    fn write(&self) {
        let mut rest = &self.bytes[..self.length];
        while !rest.is_empty() {
            // SAFETY: allowed in a handler; the bytes are there.
            let n = unsafe { libc::write(libc::STDERR_FILENO, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(n) {
                Ok(n) if n > 0 => rest = &rest[n.min(rest.len())..],
                _ => return,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_and_shows_what_it_holds() {
        let mut text = Text::new();
        text.add(&["a\u{1b}é\n", "b 0x"]);
        for number in [0, 0x1f, usize::MAX] {
            text.add_hex(number);
            text.add(&[" "]);
        }
        let shown = String::from_utf8_lossy(&text.bytes[..text.length]).into_owned();
        assert_eq!(shown, format!("a?é\nb 0x0 1f {:x} ", usize::MAX));
        text.add(&["c".repeat(10_000).as_str()]);
        assert_eq!(text.length, text.bytes.len());
    }

    #[test]
    fn the_stack_leads_to_the_program() {
        add_program();
        let mut frames = Frames::new(0);
        frames.walk();
        let labels: Vec<_> = frames.found.iter().filter_map(|at| label_of(*at)).collect();
        assert!(labels.len() > 2 && labels.iter().all(|label| *label == "this program"));
    }
}

//! Runs the program as if no process stood in between, waits for it, and ends the same way.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, ExitCode, ExitStatus};
use std::{mem, ptr};

use anyhow::Context;

use super::inherited;
use super::signals::Signals;

/// Added to the number of the signal that ended the program, as shells do.
const SIGNALLED: i32 = 128;

/// A program that has ended.
pub(super) struct Ended {
    /// The number of its process.
    pub(super) process: u32,
    pub(super) status: ExitStatus,
}

/// Runs the program: signals that are sent to this process reach it, and this process is stopped while it is.
///
/// # Errors
/// It cannot be started.
pub(super) fn run(mut command: Command, signals: &mut Signals) -> anyhow::Result<Ended> {
    let act = format!(
        "cannot start program \"{}\"",
        command.get_program().to_string_lossy()
    );
    let before = signals.before();
    let own = std::process::id();
    // SAFETY: calls of the system only, which allocate nothing and take no lock.
    unsafe {
        command.pre_exec(move || {
            // If this process is killed, it could not pass on any signal.
            if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                return Err(io::Error::last_os_error());
            }
            if libc::getppid() as u32 != own {
                libc::_exit(SIGNALLED + libc::SIGKILL);
            }
            inherited::restore(&before)
        });
    }
    let child = command.spawn().context(act)?;
    let program = child.id() as libc::pid_t;
    loop {
        let arrived = signals.wait().context("cannot pass signals on")?;
        if arrived.is_of_child() {
            if let Some(status) = changed(program, signals) {
                let process = child.id();
                return Ok(Ended { process, status });
            }
        } else if !(signals.is_of_group(&arrived) && is_in_own_group(program)) {
            arrived.pass_on(program);
        }
    }
}

/// Whether a limit on processes, open files or memory keeps the program from starting in a process of its own.
pub(super) fn is_of_limit(error: &anyhow::Error) -> bool {
    let causes = error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>());
    let mut numbers = causes.filter_map(io::Error::raw_os_error);
    let limits = [libc::EAGAIN, libc::EMFILE, libc::ENFILE, libc::ENOMEM];
    numbers.any(|number| limits.contains(&number))
}

/// Becomes the program: that needs no second process and no open file.
///
/// # Returns
/// The error, if it cannot be started.
pub(super) fn become_program(mut command: Command, signals: &mut Signals) -> anyhow::Error {
    let name = command.get_program().to_string_lossy().into_owned();
    let before = signals.before();
    signals.end_witness();
    // SAFETY: the process executes a program next.
    unsafe { command.pre_exec(move || inherited::restore(&before)) };
    anyhow::Error::new(command.exec()).context(format!("cannot start program \"{name}\""))
}

/// How the program ended, if it did; while it is stopped, this process is too.
fn changed(program: libc::pid_t, signals: &Signals) -> Option<ExitStatus> {
    loop {
        let mut status = 0;
        let options = libc::WNOHANG | libc::WUNTRACED;
        // SAFETY: a child of this process, and a number that is filled in.
        if unsafe { libc::waitpid(program, &mut status, options) } != program {
            return None;
        }
        if !libc::WIFSTOPPED(status) {
            return Some(ExitStatus::from_raw(status));
        }
        signals.stop_with(program);
    }
}

/// Whether a signal to this process's group reaches the program.
fn is_in_own_group(program: libc::pid_t) -> bool {
    // SAFETY: only asks.
    unsafe { libc::getpgid(program) == libc::getpgrp() }
}

/// Whether a program may have ended because the dynamic linker could not start it: by the linker's exit code for that,
/// or by a fault.
pub(super) fn is_of_linker(status: ExitStatus) -> bool {
    const CANNOT_LOAD: i32 = 127;
    let faults = [libc::SIGSEGV, libc::SIGBUS, libc::SIGABRT];
    status.code() == Some(CANNOT_LOAD)
        || status
            .signal()
            .is_some_and(|signal| faults.contains(&signal))
}

/// Ends as the program did: with its code, or by its signal.
pub fn end_as(status: ExitStatus) -> ExitCode {
    if let Some(signal) = status.signal() {
        die_by(signal);
    }
    let code = status
        .code()
        .or_else(|| Some(SIGNALLED + status.signal()?))
        .unwrap_or(1);
    ExitCode::from(code as u8)
}

/// Ends by a signal, if the signal ends a process; the program leaves a core, not this process.
fn die_by(signal: i32) {
    // SAFETY: numbers and sets of this function's own.
    unsafe {
        let none = libc::rlimit {
            rlim_cur: 0,
            rlim_max: 0,
        };
        libc::setrlimit(libc::RLIMIT_CORE, &none);
        libc::prctl(libc::PR_SET_DUMPABLE, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut only = mem::zeroed();
        libc::sigemptyset(&mut only);
        libc::sigaddset(&mut only, signal);
        libc::raise(signal);
        libc::sigprocmask(libc::SIG_UNBLOCK, &only, ptr::null_mut());
    }
}

//! The signals that this process gets while the program runs.
//!
//! All signals are blocked and taken one by one, so that none is lost and each comes with its sender. A signal to this
//! process alone is meant for the program and is passed on. A signal to the whole process group, by a terminal, a shell
//! or a launcher, has reached the program already. [`Signals::is_of_group`] distinguishes them by a witness, a process
//! of the same group that only reports the signals that it got.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr;

/// How long the witness may take to answer, milliseconds: it has nothing else to do. A witness that was stopped with
/// the whole group continues with the whole group.
const PATIENCE_MS: i32 = 1000;

/// How often the witness observes a stopped program, milliseconds.
const OBSERVE_MS: i32 = 20;

/// Signals have numbers below this.
const N_SIGNALS: usize = 65;

/// Number of descriptors that are closed one by one if the system (Linux before 5.9) has no call for all; the usual
/// limit of a process.
const MAX_DESCRIPTORS: i32 = 1024;

/// Asks the witness for its signals.
const ASK: i32 = 0;

/// Blocked signals, and the witness.
pub(super) struct Signals {
    /// The signals that were blocked before.
    before: libc::sigset_t,
    witness: Option<Witness>,
    /// Signals that the witness got and this process has not yet taken, by number.
    seen: [u8; N_SIGNALS],
}

struct Witness {
    process: libc::pid_t,
    socket: OwnedFd,
}

/// A signal and where it comes from.
#[derive(Clone, Copy)]
pub(super) struct Arrived {
    /// Its number.
    pub(super) number: i32,
    code: i32,
    sender: libc::pid_t,
    value: libc::sigval,
}

impl Arrived {
    /// Whether it is the system's report of a change of a child.
    pub(super) fn is_of_child(&self) -> bool {
        self.number == libc::SIGCHLD && self.code > 0
    }

    /// Sends it to a process.
    pub(super) fn pass_on(&self, process: libc::pid_t) {
        // SAFETY: a number and a process. A process that has just ended needs no signal.
        unsafe {
            if self.code == libc::SI_QUEUE {
                libc::sigqueue(process, self.number, self.value);
            } else {
                libc::kill(process, self.number);
            }
        }
    }
}

impl Signals {
    /// Blocks all signals for this thread and the threads that it starts from now on.
    pub(super) fn block() -> Self {
        // SAFETY: sets and actions of this function's own. A child's end is not noticed where SIGCHLD is ignored.
        let before = unsafe {
            let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
            libc::sigfillset(&mut all);
            libc::sigprocmask(libc::SIG_SETMASK, &all, &mut before);
            libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            before
        };
        Self {
            before,
            witness: Witness::start().ok(),
            seen: [0; N_SIGNALS],
        }
    }

    /// Ends the witness: the program must not find it as a child of its own.
    pub(super) fn end_witness(&mut self) {
        self.witness = None;
    }

    /// The signals that were blocked before.
    pub(super) fn before(&self) -> libc::sigset_t {
        self.before
    }

    /// Waits for a signal.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn wait(&self) -> io::Result<Arrived> {
        loop {
            match take(None) {
                // A write of this process into a pipe without a reader, or SIGCONT by the witness.
                Ok(arrived) if self.is_own(&arrived) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }

    fn is_own(&self, arrived: &Arrived) -> bool {
        let own = std::process::id() as libc::pid_t;
        let witness = self.witness.as_ref().map(|witness| witness.process);
        !arrived.is_of_child()
            && arrived.code == libc::SI_USER
            && (arrived.sender == own || Some(arrived.sender) == witness)
    }

    /// Whether a signal was sent to the whole process group of this process.
    pub(super) fn is_of_group(&mut self, arrived: &Arrived) -> bool {
        let Some(witness) = &self.witness else {
            return is_of_terminal(arrived);
        };
        // This call locks the system's list of processes, so a sender that is going through the group has finished.
        // SAFETY: the group stays.
        unsafe { libc::setpgid(0, libc::getpgrp()) };
        let Some(got) = witness.ask() else {
            return is_of_terminal(arrived);
        };
        for (seen, got) in self.seen.iter_mut().zip(got) {
            *seen = seen.saturating_add(got);
        }
        let seen = &mut self.seen[arrived.number as usize % N_SIGNALS];
        let is_of_group = *seen > 0;
        *seen = seen.saturating_sub(1);
        is_of_group
    }

    /// Stops this process until it is sent SIGCONT, or the program goes on or ends.
    pub(super) fn stop_with(&self, program: libc::pid_t) {
        if let Some(witness) = &self.witness {
            witness.send(program);
        }
        // SAFETY: as a shell expects it of a program that was stopped.
        unsafe { libc::raise(libc::SIGSTOP) };
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // Signals that arrived after the program had ended were meant for it.
        while take(Some(0)).is_ok() {}
        // SAFETY: the set that was blocked before.
        unsafe { libc::sigprocmask(libc::SIG_SETMASK, &self.before, ptr::null_mut()) };
    }
}

/// Takes a signal that has arrived; waits for one without a limit.
fn take(limit_ms: Option<i32>) -> io::Result<Arrived> {
    // SAFETY: a set, and a structure to fill; the fields are only read for a signal that was sent.
    unsafe {
        let (mut all, mut info): (libc::sigset_t, libc::siginfo_t) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&mut all);
        let number = match limit_ms {
            None => libc::sigwaitinfo(&all, &mut info),
            Some(limit_ms) => {
                let limit = libc::timespec {
                    tv_sec: 0,
                    tv_nsec: libc::c_long::from(limit_ms) * 1_000_000,
                };
                libc::sigtimedwait(&all, &mut info, &limit)
            }
        };
        if number < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Arrived {
            number,
            code: info.si_code,
            sender: info.si_pid(),
            value: info.si_value(),
        })
    }
}

/// Without a witness: whether a terminal sent it, which sends to the whole group.
fn is_of_terminal(arrived: &Arrived) -> bool {
    let sent = [
        libc::SIGINT,
        libc::SIGQUIT,
        libc::SIGTSTP,
        libc::SIGTTIN,
        libc::SIGTTOU,
        libc::SIGHUP,
        libc::SIGCONT,
        libc::SIGWINCH,
    ];
    arrived.code == libc::SI_KERNEL && sent.contains(&arrived.number)
}

impl Witness {
    /// Starts it; all signals are blocked.
    fn start() -> io::Result<Self> {
        let mut ends: [RawFd; 2] = [0; 2];
        let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
        // SAFETY: two numbers are filled in.
        if unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, ends.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: they were just opened, for nobody else.
        let [own, other] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        let parent = std::process::id() as libc::pid_t;
        // SAFETY: this process has one thread; the child only makes calls of the system and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: this is the child, which has the one thread that it was forked by.
            0 => unsafe { witness(parent, other.as_raw_fd()) },
            process => Ok(Self {
                process,
                socket: own,
            }),
        }
    }

    fn send(&self, word: i32) -> bool {
        let bytes = word.to_ne_bytes();
        // SAFETY: as many bytes as there are.
        let n = unsafe {
            libc::send(
                self.socket.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        n == bytes.len() as isize
    }

    /// Number of each signal that it got since the last question; `None` if it does not answer.
    fn ask(&self) -> Option<[u8; N_SIGNALS]> {
        let mut got = [0; N_SIGNALS];
        if !self.send(ASK) || !is_readable(self.socket.as_raw_fd(), PATIENCE_MS) {
            return None;
        }
        // SAFETY: as many bytes as there are.
        let n = unsafe {
            libc::recv(
                self.socket.as_raw_fd(),
                got.as_mut_ptr().cast(),
                got.len(),
                libc::MSG_DONTWAIT,
            )
        };
        (n == got.len() as isize).then_some(got)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // SAFETY: a child of this process, which has nothing to finish.
        unsafe {
            libc::kill(self.process, libc::SIGKILL);
            libc::waitpid(self.process, ptr::null_mut(), 0);
        }
    }
}

fn is_readable(descriptor: RawFd, patience_ms: i32) -> bool {
    let mut wanted = libc::pollfd {
        fd: descriptor,
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one entry.
    unsafe { libc::poll(&mut wanted, 1, patience_ms) > 0 }
}

/// The main loop of the witness: it answers until its socket is closed.
///
/// # Safety
/// The process has just been forked, all signals are blocked.
unsafe fn witness(parent: libc::pid_t, socket: RawFd) -> ! {
    // SAFETY: system calls. No stream of the program is kept open, and it ends with its parent.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        libc::dup2(socket, 0);
        if libc::syscall(libc::SYS_close_range, 1, u32::MAX, 0) != 0 {
            (1..MAX_DESCRIPTORS).for_each(|descriptor| {
                libc::close(descriptor);
            });
        }
        if libc::getppid() != parent {
            libc::_exit(0);
        }
        // The stopped program that is watched; 0 for none.
        let mut program: libc::pid_t = 0;
        loop {
            let patience = if program == 0 { -1 } else { OBSERVE_MS };
            if !is_readable(0, patience) {
                if program != 0 && !is_stopped(program) {
                    program = 0;
                    libc::kill(parent, libc::SIGCONT);
                }
                continue;
            }
            let mut word = [0u8; 4];
            if libc::read(0, word.as_mut_ptr().cast(), word.len()) != word.len() as isize {
                libc::_exit(0);
            }
            program = i32::from_ne_bytes(word);
            if program != ASK {
                continue;
            }
            let mut got = [0u8; N_SIGNALS];
            while let Ok(arrived) = take(Some(0)) {
                let got = &mut got[arrived.number as usize % N_SIGNALS];
                *got = got.saturating_add(1);
            }
            libc::send(0, got.as_ptr().cast(), got.len(), libc::MSG_NOSIGNAL);
        }
    }
}

/// Whether a process is stopped, from `/proc/PROCESS/stat`: the letter behind the name in parentheses.
fn is_stopped(process: libc::pid_t) -> bool {
    let mut path = *b"/proc/\0\0\0\0\0\0\0\0\0\0\0\0/stat\0";
    let mut digits = [0u8; 12];
    let (mut n, mut rest) = (0, process.unsigned_abs());
    while rest > 0 && n < digits.len() {
        digits[n] = b'0' + (rest % 10) as u8;
        rest /= 10;
        n += 1;
    }
    let end = b"/stat\0";
    for (at, digit) in digits[..n].iter().rev().enumerate() {
        path[6 + at] = *digit;
    }
    path[6 + n..6 + n + end.len()].copy_from_slice(end);
    let mut text = [0u8; 256];
    // SAFETY: a path with its end, and as many bytes as there are.
    let length = unsafe {
        let file = libc::open(path.as_ptr().cast(), libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return false;
        }
        let length = libc::read(file, text.as_mut_ptr().cast(), text.len());
        libc::close(file);
        length
    };
    let text = &text[..length.max(0) as usize];
    let name_end = text.iter().rposition(|byte| *byte == b')');
    let state = name_end.and_then(|end| text.get(end + 2));
    state.is_some_and(|state| matches!(state, b'T' | b't'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_runs_is_not_stopped() {
        assert!(!is_stopped(std::process::id() as libc::pid_t));
        assert!(!is_stopped(0));
    }
}

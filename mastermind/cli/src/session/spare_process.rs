//! Another process of this program, for work that may end it: it opens libraries and asks them.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Signal, set_parent_process_death_signal};

/// Longest time that a library may take to be opened: far more than any needs, even from a slow disk.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Defers `close_range` to the execution of the next program (`CLOSE_RANGE_CLOEXEC`).
const CLOSE_ON_EXEC: u32 = 4;

/// This program as another process, not yet started.
///
/// # Arguments
/// * `argument` - its first argument, which selects its work
///
/// # Returns
/// Its command, and a stream whose other end is its standard input; its output is discarded, since libraries may print.
///
/// # Errors
/// The system does not report the path of this program, or gives no stream.
pub fn command(argument: &str) -> io::Result<(Command, UnixStream)> {
    let (stream, other) = UnixStream::pair()?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut command = Command::new(std::env::current_exe()?);
    command
        .arg(argument)
        .env_remove("PMI_FD")
        .stdin(Stdio::from(OwnedFd::from(other)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // SAFETY: system calls only, which allocate nothing and take no lock.
    unsafe {
        command.pre_exec(|| {
            // Nobody reads a core of it, and nobody waits for one when its parent has gone.
            let none = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 0,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &none);
            // Launchers communicate over inherited descriptors, and treat a process that has them as a rank.
            libc::syscall(libc::SYS_close_range, 3, u32::MAX, CLOSE_ON_EXEC);
            Ok(set_parent_process_death_signal(Some(Signal::KILL))?)
        });
    }
    Ok((command, stream))
}

/// The stream that the process has in place of standard input.
///
/// # Errors
/// Its standard input is closed.
pub fn stream() -> io::Result<UnixStream> {
    let input: OwnedFd = rustix::io::dup(io::stdin())?;
    Ok(input.into())
}

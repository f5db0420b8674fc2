//! What `mastermind use` says to a running program: one line `INTERFACE=LIBRARY`, answered by one line.

use std::io::{Read, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use std::{mem, ptr, thread};

use mastermind_component::control_name;

use crate::{RUNNING, opening};

/// Longest line that is read, bytes.
const MAX_LINE_BYTES: usize = 8192;

/// How long a line may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Listens, in a thread of its own, as long as the process lives.
pub(crate) fn listen() {
    let name = control_name(std::process::id());
    let Ok(listener) =
        SocketAddr::from_abstract_name(name).and_then(|at| UnixListener::bind_addr(&at))
    else {
        return;
    };
    with_signals_blocked(|| {
        let builder = thread::Builder::new().name("mastermind-use".into());
        let _ = builder.spawn(move || {
            for stream in listener.incoming().flatten() {
                let _ = catch_unwind(|| answer(&stream));
            }
        });
    });
}

/// Runs `spawn` so that the thread it makes gets none of the program's signals.
pub(crate) fn with_signals_blocked(spawn: impl FnOnce()) {
    // SAFETY: zeros are a valid set; both sets are the calling thread's own.
    unsafe {
        let (mut all, mut before) = (mem::zeroed(), mem::zeroed());
        libc::sigfillset(&mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before);
        spawn();
        libc::pthread_sigmask(libc::SIG_SETMASK, &before, ptr::null_mut());
    }
}

fn answer(stream: &UnixStream) {
    // Before a byte of it is read.
    let text = if is_foreign(stream) {
        "error another user asks, expected the program's own".into()
    } else if let Some(line) = line_of(stream) {
        swap(&line)
    } else {
        "error nothing was asked".into()
    };
    let mut stream = stream;
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.write_all(format!("{}\n", text.replace('\n', "; ")).as_bytes());
}

/// The line, without its end; `None` if it does not come in time, whole.
fn line_of(mut stream: &UnixStream) -> Option<String> {
    let began = Instant::now();
    let mut line = Vec::new();
    while line.len() < MAX_LINE_BYTES {
        // However slowly its bytes come.
        let left = PATIENCE
            .checked_sub(began.elapsed())
            .filter(|left| !left.is_zero())?;
        stream.set_read_timeout(Some(left)).ok()?;
        let mut bytes = [0; 512];
        let n = stream.read(&mut bytes).ok().filter(|n| *n > 0)?;
        line.extend_from_slice(&bytes[..n]);
        if let Some(end) = line.iter().position(|byte| *byte == b'\n') {
            line.truncate(end);
            return String::from_utf8(line).ok();
        }
    }
    None
}

/// Whether another user than the program's is on the other side.
fn is_foreign(stream: &UnixStream) -> bool {
    use std::os::fd::AsRawFd;
    // SAFETY: zeros are valid credentials, and as many bytes are offered.
    unsafe {
        let mut peer: libc::ucred = mem::zeroed();
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        let asked = libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut bytes,
        );
        asked != 0 || (peer.uid != libc::geteuid() && peer.uid != 0)
    }
}

fn swap(line: &str) -> String {
    let Some((interface, library)) = line.split_once('=') else {
        return "error no interface, expected INTERFACE=LIBRARY".into();
    };
    let mut running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(wrapped) = running.as_mut() else {
        return "error the program has ended its recording".into();
    };
    match opening(|| wrapped.use_library(interface, Path::new(library))) {
        Ok(missing) if missing.is_empty() => "used".into(),
        Ok(missing) => format!("used {}", missing.join(" ")),
        Err(error) => {
            let cause = std::error::Error::source(&error);
            let cause = cause.map_or(String::new(), |cause| format!(": {cause}"));
            format!("error {error}{cause}")
        }
    }
}

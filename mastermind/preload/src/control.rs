//! Answers `mastermind redirect` in a running program: one line `INTERFACE=LIBRARY`, answered by one line.
//!
//! One thread listens, with a table of open files of its own. Another thread, which shares the program's table, opens
//! the library: files that the library opens as it is loaded are then the program's.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::panic::catch_unwind;
use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use mastermind_component::control_name;
use mastermind_component::own_thread::run_apart;

use crate::{RUNNING, opening, threads};

/// Longest line that is read, bytes.
const MAX_LINE_BYTES: u64 = 8192;

/// How long a line may take, and its answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait when the system has no more open files, or no more memory.
const PAUSE: Duration = Duration::from_secs(1);

/// A line, and where its answer goes.
type Question = (String, SyncSender<String>);

/// Questions that wait for the thread that opens libraries. A channel of the standard library would make that thread
/// allocate from the C library, and so reserve 64 MB of addresses (`thread_local.rs`).
struct Questions {
    /// The waiting questions; `None` once no more can come.
    waiting: Mutex<Option<VecDeque<Question>>>,
    changed: Condvar,
}

impl Questions {
    fn locked(&self) -> MutexGuard<'_, Option<VecDeque<Question>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self, question: Question) {
        if let Some(waiting) = self.locked().as_mut() {
            waiting.push_back(question);
        }
        self.changed.notify_one();
    }

    fn end(&self) {
        *self.locked() = None;
        self.changed.notify_one();
    }

    /// The next one, once there is one.
    fn next(&self) -> Option<Question> {
        let is_empty =
            |waiting: &mut Option<VecDeque<_>>| waiting.as_ref().is_some_and(VecDeque::is_empty);
        let waited = self.changed.wait_while(self.locked(), is_empty);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner);
        waiting.as_mut()?.pop_front()
    }
}

/// Listens as long as the process lives; the socket is ready before it returns.
pub(crate) fn listen() {
    let questions = Arc::new(Questions {
        waiting: Mutex::new(Some(VecDeque::new())),
        changed: Condvar::new(),
    });
    let asked = Arc::clone(&questions);
    let (report, is_listening) = sync_channel(1);
    let listening = threads::spawn("mastermind-use", move || {
        let listener = address().and_then(|address| UnixListener::bind_addr(&address));
        let _ = report.send(listener.is_ok());
        if let Ok(listener) = listener {
            serve(&listener, &questions);
        }
        questions.end();
    });
    if listening.is_ok() && is_listening.recv() == Ok(true) {
        let opening = Arc::clone(&asked);
        // Without that thread no question gets an answer, and each client gets an error.
        if threads::spawn_among_files("mastermind-open", move || open_asked(&opening)).is_err() {
            asked.end();
        }
    }
}

fn address() -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(control_name(std::process::id()))
}

/// Ends both threads, if they exist: a connection from the process itself is the signal.
pub(crate) fn stop() {
    // Nobody listens where it fails.
    let _ = run_apart(|| UnixStream::connect_addr(&address()?).map(drop));
}

/// Answers until the process itself connects, or the system takes the socket away.
fn serve(listener: &UnixListener, questions: &Questions) {
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                let peer = peer(&stream);
                if peer.is_some_and(|peer| peer.pid == std::process::id().cast_signed()) {
                    return;
                }
                let _ = catch_unwind(|| answer(&stream, peer, questions));
            }
            Err(error) => match error.raw_os_error() {
                Some(libc::EINTR | libc::ECONNABORTED) => {}
                Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM) => {
                    std::thread::sleep(PAUSE);
                }
                _ => return,
            },
        }
    }
}

/// Carries out the questions in sequence.
fn open_asked(asked: &Questions) {
    while let Some((line, answer)) = asked.next() {
        let text = catch_unwind(|| swap(&line));
        let text = text.unwrap_or_else(|_| "error the library cannot be opened".into());
        // The client may be gone.
        let _ = answer.send(text);
    }
}

fn answer(stream: &UnixStream, peer: Option<libc::ucred>, questions: &Questions) {
    let text = if peer.is_none_or(is_foreign) {
        "error another user asks, expected the program's own".into()
    } else {
        match read_line(stream) {
            Ok(line) => ask(line, questions),
            Err(_) => "error nothing was asked".into(),
        }
    };
    let mut stream = stream;
    let _ = stream.set_write_timeout(Some(PATIENCE));
    let _ = stream.write_all(format!("{}\n", text.replace('\n', "; ")).as_bytes());
}

fn ask(line: String, questions: &Questions) -> String {
    let (answer, answered) = sync_channel(1);
    questions.ask((line, answer));
    // If no thread answers, the question is dropped, and with it the sender of the answer.
    let text = answered.recv().ok();
    text.unwrap_or_else(|| "error the program has no thread that opens libraries".into())
}

/// The client's line, without its end, if all of it arrives within [`PATIENCE`].
fn read_line(stream: &UnixStream) -> io::Result<String> {
    let begin = Instant::now();
    let limited = Limited { stream, begin };
    let mut line = String::new();
    BufReader::new(limited.take(MAX_LINE_BYTES)).read_line(&mut line)?;
    Ok(line.trim_end_matches('\n').to_owned())
}

/// A stream with a total limit on the time to read, however few bytes come at a time.
struct Limited<'a> {
    stream: &'a UnixStream,
    begin: Instant,
}

impl Read for Limited<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let left = PATIENCE.saturating_sub(self.begin.elapsed());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        let mut stream = self.stream;
        stream.read(bytes)
    }
}

/// The credentials of the process on the other side, from the system.
fn peer(stream: &UnixStream) -> Option<libc::ucred> {
    // SAFETY: zeros are valid credentials, and the buffer has the given size.
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
        (asked == 0).then_some(peer)
    }
}

/// Whether the client is another user than the program's.
fn is_foreign(peer: libc::ucred) -> bool {
    // SAFETY: a number of the process.
    peer.uid != unsafe { libc::geteuid() } && peer.uid != 0
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

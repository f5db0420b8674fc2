//! Swaps by hand: `mastermind redirect PID INSTANCE=CLASS` asks a run that was begun with `--redirectable`.
//!
//! One thread listens on an abstract socket named after the process, answers a line at a time, and has the framework
//! replace the old instance by one of the new class, as its replacement service does for components. Other users are
//! refused. Several ranks would have to swap at the same step, so they do not listen.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::fd::AsRawFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use cca_core::Framework;

use crate::session::framework::Session;
use crate::{errors, output};

/// Longest line that is read, bytes: an instance and a class.
const MAX_LINE_BYTES: u64 = 8192;

/// How long a line may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Name of the abstract socket on which a run listens.
pub fn run_control_name(process: u32) -> String {
    format!("mastermind: swap in {process}")
}

/// A run that listens.
pub struct Control {
    listener: UnixListener,
    address: SocketAddr,
    is_over: AtomicBool,
}

impl Control {
    /// Starts to listen.
    ///
    /// # Errors
    /// Several ranks; the system's.
    pub fn open(session: &Session) -> anyhow::Result<Self> {
        if session.size > 1 {
            bail!(
                "cannot take swaps by hand: {} ranks, expected one; run --adapt swaps on several",
                session.size
            );
        }
        let act = "cannot listen for swaps";
        let name = run_control_name(std::process::id());
        let address = SocketAddr::from_abstract_name(name).context(act)?;
        let listener = UnixListener::bind_addr(&address).context(act)?;
        Ok(Self {
            listener,
            address,
            is_over: AtomicBool::new(false),
        })
    }

    /// Answers until [`Control::end`].
    pub fn serve(&self, framework: &Framework) {
        while let Ok((stream, _)) = self.listener.accept() {
            if self.is_over.load(Ordering::Acquire) {
                return;
            }
            let text = if is_own(&stream) {
                answer(&stream, framework)
            } else {
                "error another user asks, expected the run's own".to_owned()
            };
            let mut stream = stream;
            let _ = stream.set_write_timeout(Some(PATIENCE));
            // The client may be gone.
            let _ = writeln!(stream, "{}", text.replace('\n', "; "));
        }
    }

    /// Ends [`Control::serve`].
    pub fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        let _ = UnixStream::connect_addr(&self.address);
    }
}

fn answer(stream: &UnixStream, framework: &Framework) -> String {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut line = String::new();
    let read = BufReader::new(stream.take(MAX_LINE_BYTES)).read_line(&mut line);
    let Some((instance, class)) = line.trim_end().split_once('=').filter(|_| read.is_ok()) else {
        return "error no swap, expected INSTANCE=CLASS".to_owned();
    };
    match framework.replace_instance(instance, class) {
        Ok(()) => {
            output::message(&format!("{instance}: {class} from now on, by hand"));
            "used".to_owned()
        }
        Err(error) => {
            let worded = errors::worded(&anyhow::Error::from(error));
            format!("error {}", worded.trim_start_matches("error: ").trim_end())
        }
    }
}

/// Whether this user is on the other side.
fn is_own(stream: &UnixStream) -> bool {
    // SAFETY: zeros are valid credentials, and as many bytes are offered.
    unsafe {
        let mut peer: libc::ucred = std::mem::zeroed();
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        let asked = libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut bytes,
        );
        asked == 0 && (peer.uid == libc::geteuid() || peer.uid == 0)
    }
}

//! `mastermind redirect`: another library for an interface in a wrapped program that is running, or another class for an instance in a
//! run of an assembly.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::mem;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use mastermind_component::control_name;

use super::run::control::run_control_name;
use crate::errors::WrongUse;
use crate::output;

/// Swap a library in a running wrapped program, or a class in a running assembly.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind wrap --proxy libblas_proxy.so -- ./solver & mastermind redirect $! blas=/opt/libopenblas.so"
)]
pub struct Redirect {
    /// The program, by the number of its process; or that of `mastermind wrap`, or of `mastermind run --redirectable`
    #[arg(value_name = "PID")]
    process: u32,
    /// The interface of a proxy, and the library that its calls are to go to; of a run an instance and a class
    #[arg(value_name = "INTERFACE=LIB|INSTANCE=CLASS")]
    library: String,
}

impl Redirect {
    /// Asks the program.
    ///
    /// # Errors
    /// No such program; a library that does not fit.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let Some((interface, path)) = self.library.split_once('=') else {
            return Err(WrongUse(
                "no interface and library, expected INTERFACE=LIB, or INSTANCE=CLASS of a run",
            )
            .into());
        };
        if let Some(stream) = self.connect(run_control_name)? {
            self.ask(stream, &self.library)?;
            output::line(format!("{interface}: {path}"));
            return Ok(ExitCode::SUCCESS);
        }
        let Some(stream) = self.connect(control_name)? else {
            bail!(
                "cannot ask process {}: it does not listen, expected a program under wrap --proxy that has called a proxied function, \
                 or a run with --redirectable",
                self.process
            )
        };
        let act = || format!("cannot open library \"{path}\"");
        let path: PathBuf = Path::new(path).canonicalize().with_context(act)?;
        if path.to_string_lossy().contains('\n') {
            bail!("{}: a new line in its name, expected none", act());
        }
        let answer = self.ask(stream, &format!("{interface}={}", path.display()))?;
        match answer.split_once(' ') {
            None => output::line(format!("{interface}: {}", path.display())),
            Some(("used", missing)) => {
                output::line(format!(
                    "{interface}: {}, without {missing}; a call of one ends the program",
                    path.display()
                ));
            }
            Some(_) => bail!(
                "cannot ask process {}: no answer, expected one",
                self.process
            ),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Requests a swap.
    ///
    /// # Returns
    /// `used`, perhaps followed by a text.
    ///
    /// # Errors
    /// The answer is an error, or there is none.
    fn ask(&self, mut stream: UnixStream, line: &str) -> anyhow::Result<String> {
        let act = || format!("cannot ask process {}", self.process);
        writeln!(stream, "{line}").with_context(act)?;
        let mut answer = String::new();
        BufReader::new(stream.take(MAX_ANSWER_BYTES))
            .read_line(&mut answer)
            .with_context(act)?;
        let answer = answer.trim_end();
        match answer.split_once(' ') {
            None if answer == "used" => Ok(answer.to_owned()),
            Some(("used", _)) => Ok(answer.to_owned()),
            Some(("error", text)) => bail!("{text}"),
            _ => bail!("{}: no answer, expected one", act()),
        }
    }

    /// Connects to the process, or to one that it started; `None` if none of them listens.
    fn connect(&self, name: fn(u32) -> String) -> anyhow::Result<Option<UnixStream>> {
        let mut processes = vec![self.process];
        let (mut at, mut imposter) = (0, None);
        while let Some(process) = processes.get(at).copied() {
            if let Ok(stream) = connected(&name(process)) {
                match check_peer(&stream, process) {
                    Ok(()) => return Ok(Some(stream)),
                    Err(error) => imposter = Some(error),
                }
            }
            processes.extend(children(process));
            at += 1;
        }
        if let Some(error) = imposter {
            return Err(error);
        }
        Ok(None)
    }
}

/// Longest time that a process may take to answer: it opens a library, and may wait for the end of a call.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longest answer, bytes: the names of all functions that a library lacks.
const MAX_ANSWER_BYTES: u64 = 1 << 20;

/// A connection to any process that listens under a name.
///
/// # Errors
/// Nobody listens, or nobody accepts within [`PATIENCE`].
fn connected(name: &str) -> io::Result<UnixStream> {
    // SAFETY: zeros are a valid address; its name has no terminator, its length is given, and it is shorter than the
    // field.
    unsafe {
        let socket = libc::socket(libc::AF_UNIX, libc::SOCK_STREAM | libc::SOCK_CLOEXEC, 0);
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        let stream = UnixStream::from_raw_fd(socket);
        // The timeout for writing also limits `connect`.
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let mut address: libc::sockaddr_un = mem::zeroed();
        address.sun_family = libc::AF_UNIX as libc::sa_family_t;
        let bytes = name.bytes().zip(&mut address.sun_path[1..]);
        bytes.for_each(|(byte, place)| *place = byte as libc::c_char);
        let length = mem::offset_of!(libc::sockaddr_un, sun_path) + 1 + name.len();
        let address = (&raw const address).cast();
        match libc::connect(socket, address, length as libc::socklen_t) {
            0 => Ok(stream),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Checks that the process itself listens, and that it is this user's: any process may take any name.
fn check_peer(stream: &UnixStream, process: u32) -> anyhow::Result<()> {
    let act = || format!("cannot ask process {process}");
    // SAFETY: zeros are valid credentials, and the buffer has the given size.
    let (peer, own) = unsafe {
        let mut peer: libc::ucred = mem::zeroed();
        let mut bytes = size_of::<libc::ucred>() as libc::socklen_t;
        let asked = libc::getsockopt(
            stream.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut peer).cast(),
            &mut bytes,
        );
        if asked != 0 {
            return Err(io::Error::last_os_error()).with_context(act);
        }
        (peer, libc::geteuid())
    };
    if peer.pid as u32 != process {
        bail!(
            "{}: process {} has taken its name, expected it to listen itself",
            act(),
            peer.pid
        );
    }
    // Root may ask any process, and anybody may ask a process of root, which can do more than answer anyway.
    if peer.uid != own && peer.uid != 0 && own != 0 {
        bail!(
            "{}: it is user {}'s, expected one of user {own}",
            act(),
            peer.uid
        );
    }
    Ok(())
}

/// The processes that a process has started and that run.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

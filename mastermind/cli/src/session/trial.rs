//! Opens libraries in another process first: a damaged one ends that process, and not this one.
//!
//! The other process is this program, started with [`ARGUMENT`]. It reads requests and answers each, so one process
//! suffices for all libraries, and a new one is started only after a death. Only a library that it can open is then
//! opened here: the constructors of a library may close descriptors, change the working directory or exit, and its
//! destructors may never return. One that the dynamic linker refuses is opened here too: it may need what only this
//! process has loaded, such as an MPI back end.
//!
//! ```text
//! request   o | i, path, line end          opens the library; makes an instance of each of its classes as well
//! answer    four bytes, and text           the length of the error that refuses the library, 0 for none, and the error
//! request   p, interface, path, line end   makes an instance of each class, until one can make a proxy of the interface
//! answer    four bytes                     the number of that class, from 1; 0 for none
//! ```

use std::ffi::OsStr;
use std::io::{self, BufRead, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitCode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cca_abi::InterfaceDescriptor;
use cca_loader::{Class, Library, LoadError};

use super::spare_process::{self, PATIENCE};
use crate::commands::list::look;

/// Has this program try libraries.
const ARGUMENT: &str = "--try-libraries";

/// The exit code of the dynamic linker where it finds that it cannot go on (glibc, `_dl_fatal_printf`).
const REFUSED: i32 = 127;

/// Whether instances are made as well.
static MAKES_INSTANCES: AtomicBool = AtomicBool::new(false);

/// The process that tries, if one was started.
static TRIER: Mutex<Option<Trier>> = Mutex::new(None);

struct Trier {
    process: Child,
    stream: UnixStream,
}

/// The result for a library.
enum Outcome {
    /// The process opened it, or the dynamic linker refused it.
    Survived,
    /// It is no component library of this version.
    Refused(String),
    /// It called `exit`.
    Ended,
    /// It was ended, so.
    Died(String),
    /// It did not answer.
    Hangs,
}

/// Makes instances of the classes of each library that is tried, as `list` will.
pub fn make_instances() {
    MAKES_INSTANCES.store(true, Ordering::Relaxed);
}

/// Whether this process is to try libraries.
pub fn is_asked() -> bool {
    std::env::args_os()
        .nth(1)
        .is_some_and(|argument| argument == ARGUMENT)
}

/// Tries libraries until nobody asks any more.
pub fn serve() -> ExitCode {
    // Standard input is the socket, the others lead nowhere: libraries may print.
    let mut requests = io::stdin().lock();
    let Ok(mut answers) = spare_process::stream() else {
        return ExitCode::FAILURE;
    };
    let mut request = Vec::new();
    while requests
        .read_until(b'\n', &mut request)
        .is_ok_and(|n| n > 1)
    {
        let (mode, words) = (request[0], &request[1..request.len() - 1]);
        let (wanted, path) = match mode {
            b'p' => Wanted::read(words).unzip(),
            _ => (None, Some(words)),
        };
        let path = Path::new(OsStr::from_bytes(path.unwrap_or_default()));
        let library = Library::open_untried(path);
        let mut answer = Vec::new();
        if mode == b'p' {
            let number = library.ok().zip(wanted).and_then(|(library, wanted)| {
                let classes = library.classes();
                classes
                    .iter()
                    .position(|class| wanted.of_class(class).is_some())
            });
            let number = number.map_or(0, |place| place as u32 + 1);
            answer.extend(number.to_le_bytes());
        } else {
            if let (Ok(library), b'i') = (&library, mode) {
                library.classes().iter().for_each(|class| drop(look(class)));
            }
            let refusal = library.err().and_then(|error| refusal(&error));
            let refusal = refusal.unwrap_or_default();
            answer.extend((refusal.len() as u32).to_le_bytes());
            answer.extend(refusal.as_bytes());
        }
        if answers.write_all(&answer).is_err() {
            break;
        }
        request.clear();
    }
    // SAFETY: nothing that a library left for the end is run, and nothing of this program is left to be done.
    unsafe { libc::_exit(0) }
}

/// The message of an error that another process would find too.
fn refusal(error: &LoadError) -> Option<String> {
    let is_everywhere = matches!(
        error,
        LoadError::NoComponent { .. }
            | LoadError::AbiVersion { .. }
            | LoadError::LayoutAbi { .. }
            | LoadError::Malformed { .. }
    );
    is_everywhere.then(|| error.to_string())
}

/// Ends the trial process, and waits for it: a process that becomes another program must not leave it an unknown child.
pub fn end() {
    drop(TRIER.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// An interface that somebody is to make a proxy of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wanted {
    name: String,
    version: String,
    hash: u64,
}

impl Wanted {
    /// The interface that a description is of.
    pub fn of(interface: &InterfaceDescriptor) -> Self {
        Self {
            name: interface.name.to_string(),
            version: interface.version.to_string(),
            hash: interface.hash,
        }
    }

    /// Words of a request, before the path.
    fn words(&self) -> Vec<u8> {
        let Self {
            name,
            version,
            hash,
        } = self;
        format!("{name}\0{version}\0{hash:x}\0").into_bytes()
    }

    /// From words; also returns the rest.
    fn read(words: &[u8]) -> Option<(Self, &[u8])> {
        let mut parts = words.splitn(4, |byte| *byte == 0);
        let mut word = || std::str::from_utf8(parts.next()?).ok();
        let (name, version) = (word()?.to_owned(), word()?.to_owned());
        let hash = u64::from_str_radix(word()?, 16).ok()?;
        let wanted = Self {
            name,
            version,
            hash,
        };
        Some((wanted, parts.next()?))
    }

    /// The interface as a class describes it, with which a proxy can be made: an instance of the class is made for that.
    pub fn of_class(&self, class: &Class) -> Option<&'static InterfaceDescriptor> {
        let (_session, info) = look(class).ok()?;
        let ports = info.provides.iter().chain(&info.uses);
        let mut interfaces = ports.map(|port| port.interface);
        interfaces.find(|found| found.new_proxy.is_some() && Wanted::of(found) == *self)
    }
}

/// Asks the other process which class of a library can make a proxy of an interface.
///
/// # Returns
/// Its index among the library's classes; `None` if no class can, or if the process did not survive the question.
pub fn class_that_knows(path: &Path, wanted: &Wanted) -> Option<usize> {
    let mut trier = TRIER.lock().unwrap_or_else(PoisonError::into_inner);
    if trier.is_none() {
        *trier = Trier::start().ok();
    }
    let running = trier.as_mut()?;
    let number = running.ask_for(path, wanted);
    if number.is_none() {
        *trier = None;
    }
    (number? as usize).checked_sub(1)
}

/// Has a library opened by the other process.
///
/// # Errors
/// [`LoadError::Damaged`]: that process died of it, or did not come to an end; [`LoadError::Ended`]: it called `exit`;
/// [`LoadError::Refused`]: it is no component library of this version.
pub fn try_library(path: &Path) -> Result<(), LoadError> {
    let mut trier = TRIER.lock().unwrap_or_else(PoisonError::into_inner);
    let mut how = String::new();
    // The process ends with the thread that started it, and then had nothing to do with the library.
    for _ in 0..2 {
        if trier.is_none() {
            *trier = Trier::start().ok();
        }
        // Where no process can be started the library is opened untried.
        let Some(running) = trier.as_mut() else {
            return Ok(());
        };
        how = match running.ask(path) {
            Outcome::Survived => return Ok(()),
            Outcome::Refused(message) => return Err(LoadError::Refused { message }),
            Outcome::Ended => {
                *trier = None;
                return Err(LoadError::Ended { path: path.into() });
            }
            Outcome::Died(how) => how,
            Outcome::Hangs => {
                *trier = None;
                how = format!("did not end within {} s", PATIENCE.as_secs());
                break;
            }
        };
        *trier = None;
    }
    Err(LoadError::Damaged {
        path: path.into(),
        how,
    })
}

impl Trier {
    fn start() -> io::Result<Self> {
        let (mut command, stream) = spare_process::command(ARGUMENT)?;
        let process = command.spawn()?;
        Ok(Self { process, stream })
    }

    fn ask_for(&mut self, path: &Path, wanted: &Wanted) -> Option<u32> {
        let request = [&b"p"[..], &wanted.words(), path.as_os_str().as_bytes()].concat();
        if request.contains(&b'\n') {
            return Some(0);
        }
        self.stream.write_all(&request).ok()?;
        self.stream.write_all(b"\n").ok()?;
        let mut number = [0; 4];
        self.stream.read_exact(&mut number).ok()?;
        Some(u32::from_le_bytes(number))
    }

    fn ask(&mut self, path: &Path) -> Outcome {
        let mode = match MAKES_INSTANCES.load(Ordering::Relaxed) {
            true => b"i",
            false => b"o",
        };
        let bytes = path.as_os_str().as_bytes();
        // A path with a line break cannot be sent as a request.
        if bytes.contains(&b'\n') {
            return Outcome::Survived;
        }
        let request = [mode, bytes, b"\n"].concat();
        let answered = self.stream.write_all(&request).and_then(|()| {
            let mut length = [0; 4];
            self.stream.read_exact(&mut length)?;
            let length = u32::from_le_bytes(length).into();
            let mut refusal = String::new();
            (&self.stream).take(length).read_to_string(&mut refusal)?;
            Ok(refusal)
        });
        match answered {
            Ok(refusal) if refusal.is_empty() => Outcome::Survived,
            Ok(refusal) => Outcome::Refused(refusal),
            Err(error) if is_timeout(&error) => Outcome::Hangs,
            Err(_) => self.end(),
        }
    }

    /// How the process ended that does not answer any more.
    fn end(&mut self) -> Outcome {
        let began = Instant::now();
        let status = loop {
            match self.process.try_wait() {
                Ok(Some(status)) => break status,
                // A library may have closed its streams.
                _ if began.elapsed() > PATIENCE => return Outcome::Hangs,
                _ => sleep(Duration::from_millis(1)),
            }
        };
        match (status.signal(), status.code()) {
            (Some(signal), _) => Outcome::Died(format!("died by signal {signal}")),
            (_, Some(REFUSED)) => Outcome::Died("was ended by the dynamic linker".into()),
            _ => Outcome::Ended,
        }
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

impl Drop for Trier {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interface_is_read_back() {
        let wanted = Wanted {
            name: "test.Touch".into(),
            version: "1.0".into(),
            hash: 0x1234,
        };
        let mut words = wanted.words();
        words.extend(b"/a folder/lib.so");
        let (read, path) = Wanted::read(&words).unwrap();
        assert_eq!((read, path), (wanted, &b"/a folder/lib.so"[..]));
        assert_eq!(Wanted::read(b"one\0two"), None);
    }
}

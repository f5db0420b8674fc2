//! Why a library or a class cannot be used.

use std::io;
use std::path::PathBuf;

use cca_abi::PortError;

/// Why a library or a class cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// There is no such file, or it cannot be read.
    #[error("cannot open library \"{}\": no readable file, expected a component library", path.display())]
    NoFile {
        /// The path as given.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The dynamic linker refuses it.
    #[error("cannot open library \"{}\": not loadable, expected a shared library", path.display())]
    NotLoadable {
        /// Absolute path.
        path: PathBuf,
        /// The dynamic linker's words.
        source: LinkerError,
    },
    /// It is for another processor.
    #[error("cannot open library \"{}\": built for {found}, expected {expected}", path.display())]
    Architecture {
        /// Absolute path.
        path: PathBuf,
        /// The machine it was built for.
        found: String,
        /// The machine of this process.
        expected: &'static str,
    },
    /// Its end is missing.
    #[error("cannot open library \"{}\": cut at {found} bytes, expected at least {expected}; copy or build it again", path.display())]
    Cut {
        /// Absolute path.
        path: PathBuf,
        /// Bytes that it has.
        found: u64,
        /// Bytes that its own head speaks of.
        expected: u64,
    },
    /// A process that opened it crashed, or did not end.
    #[error("cannot open library \"{}\": a process that tried it {how}, expected a whole library; copy or build it again", path.display())]
    Damaged {
        /// Absolute path.
        path: PathBuf,
        /// How that process ended.
        how: String,
    },
    /// A process that opened it called `exit`.
    #[error("cannot open library \"{}\": it ended the process, expected it to return", path.display())]
    Ended {
        /// Absolute path.
        path: PathBuf,
    },
    /// A process that opened it refused it, so that its code need not run in this one.
    #[error("{message}")]
    Refused {
        /// The error of that process.
        message: String,
    },
    /// It is a library, but of something else.
    #[error("cannot open library \"{}\": no function {symbol}, expected a component library", path.display())]
    NoComponent {
        /// Absolute path.
        path: PathBuf,
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// It is a library, but not the proxy of MPI.
    #[error("cannot open library \"{}\": no function {symbol}, expected the proxy of MPI", path.display())]
    NoMpiProxy {
        /// Absolute path.
        path: PathBuf,
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// It is a library, but not the proxy of OpenMP.
    #[error("cannot open library \"{}\": no function {symbol}, expected the proxy of OpenMP", path.display())]
    NoOpenMpProxy {
        /// Absolute path.
        path: PathBuf,
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// The proxy of OpenMP has nothing to offer on this processor.
    #[error("cannot measure OpenMP by \"{}\": built for {}, expected x86_64", path.display(), std::env::consts::ARCH)]
    NoOpenMpInterception {
        /// Absolute path.
        path: PathBuf,
    },
    /// It is a library, but not the generated proxy of one.
    #[error("cannot open proxy \"{}\": no function {symbol}, expected a library made by mastermind proxy", path.display())]
    NoLibraryProxy {
        /// Absolute path.
        path: PathBuf,
        /// Name of the missing function.
        symbol: &'static str,
    },
    /// The proxy of a library was built for another version.
    #[error("cannot open proxy \"{}\": version {found}, expected {expected}; generate it anew", path.display())]
    LibraryProxyVersion {
        /// Absolute path.
        path: PathBuf,
        /// The proxy's version.
        found: u64,
        /// Ours.
        expected: u64,
    },
    /// A library has no function of an interface.
    #[error("cannot use library \"{}\" as {interface}: 0 of its {n_functions} functions there, expected all", path.display())]
    NoAlternative {
        /// Absolute path.
        path: PathBuf,
        /// Name of the interface.
        interface: String,
        /// Number of its functions.
        n_functions: usize,
    },
    /// The proxy of MPI has nothing to offer on this processor.
    #[error("cannot measure MPI by \"{}\": built for {}, expected x86_64", path.display(), std::env::consts::ARCH)]
    NoMpiInterception {
        /// Absolute path.
        path: PathBuf,
    },
    /// The proxy of MPI was built for recorders of another version.
    #[error("cannot measure MPI: the proxy of MPI records in another version; build it anew")]
    MpiProxyVersion,
    /// It was built against other layouts.
    #[error("cannot open library \"{}\": component interface version {found}, expected {expected}; build it against cca-abi {expected}", path.display())]
    AbiVersion {
        /// Absolute path.
        path: PathBuf,
        /// The library's version.
        found: u32,
        /// Ours.
        expected: u32,
    },
    /// Its structural layouts cannot be compared with ours.
    #[error("cannot open library \"{}\": type layouts of \"{found}\", expected \"{expected}\"; build it with the same version", path.display())]
    LayoutAbi {
        /// Absolute path.
        path: PathBuf,
        /// The library's.
        found: String,
        /// Ours.
        expected: &'static str,
    },
    /// The result of its entry function is invalid.
    #[error("cannot open library \"{}\": {what}", path.display())]
    Malformed {
        /// Absolute path.
        path: PathBuf,
        /// The problem, and the expected value.
        what: String,
    },
    /// A `.cca` index file cannot be used.
    #[error("cannot read index \"{}\": {what}", path.display())]
    Index {
        /// The file.
        path: PathBuf,
        /// The problem, and the expected value.
        what: String,
    },
    /// A class did not make an instance.
    #[error("cannot create instance of class \"{class}\"")]
    Create {
        /// The class.
        class: String,
        /// The component's words.
        source: PortError,
    },
}

/// The dynamic linker's words; libloading keeps them in its own source.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct LinkerError(pub(crate) String);

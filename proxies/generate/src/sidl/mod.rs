//! From SIDL, the interface language of CCA and Babel, to ports: in Rust, as a header and a source for C, and as a module over
//! these for Fortran.
//!
//! ```text
//! text ──► tokens ──► declarations ──► ports ──► Rust source
//!           lex         parse         resolve  ├► C header and source
//!                                              └► Fortran module
//! ```
//!
//! The types of SIDL cross a border like this:
//!
//! | SIDL | as an argument | returned, `out` |
//! |---|---|---|
//! | `bool`, `char`, `int`, `long`, `float`, `double`, `opaque` | itself | itself |
//! | `fcomplex`, `dcomplex`, a struct of numbers | itself | itself |
//! | an enumeration, numbered from 0 | itself, checked | its number |
//! | `string` | lent | given |
//! | `array<T>`, `rarray<T,N> a(m, n)` | lent, elements side by side | given |
//! | `array<T,N>` | lent, with lower bounds, extents and strides | given |
//! | an interface or a class | a port with its share of the object | the same |
//!
//! An `inout` array is lent to be written to, and keeps its extents; any other `inout` goes in as an argument and comes back
//! in the result. A method that returns several values returns one struct of them.
//!
//! Performance parameters are, without any mark-up, the extents of raw arrays, the lengths of other arrays, and modes
//! (enumerations and `bool`); `@perf Q=len(A) mode=dir` in the comment before a method names others instead.

mod c;
mod error;
mod fortran;
mod lex;
mod names;
mod parameters;
mod parse;
mod resolve;
mod rust;
mod stand_in;

pub use c::CSource;
pub use error::SidlError;
pub use resolve::{LeftOut, Library, Port};

/// A file of SIDL as text.
#[derive(Clone, Copy, Debug)]
pub struct SidlFile<'a> {
    /// Its name, for errors.
    pub name: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// Reads SIDL.
///
/// # Arguments
/// * `file` - the file whose interfaces become ports
/// * `others` - files with symbols that it uses
///
/// # Errors
/// [`SidlError`]: it is not SIDL, a symbol is defined twice or inherits from itself, `@perf` names an unknown
/// argument.
///
/// # Example
/// ```
/// use proxy_generate::sidl::{SidlFile, read};
///
/// let text = "package demo version 1.0 { interface Sum { double of(in int n, in rarray<double> a(n)); } }";
/// let library = read(SidlFile { name: "sum.sidl", text }, &[])?;
/// assert!(library.rust().contains("fn of(&self, n: i32, a: RSlice<'_, f64>) -> Result<f64, PortError>;"));
/// # Ok::<(), proxy_generate::sidl::SidlError>(())
/// ```
pub fn read(file: SidlFile<'_>, others: &[SidlFile<'_>]) -> Result<Library, SidlError> {
    let parsed = parse::parse(file.name, file.text)?;
    let others = others
        .iter()
        .map(|file| parse::parse(file.name, file.text))
        .collect::<Result<Vec<_>, _>>()?;
    resolve::resolve(&parsed, &others)
}

impl Library {
    /// The ports as a crate root in Rust, over `cca-abi` and `cca-ports`.
    pub fn rust(&self) -> String {
        rust::source(self)
    }

    /// The ports for C, C++ and other languages that call C.
    ///
    /// # Arguments
    /// * `stem` - prefix of the names of the files, such as `solver` for `solver_ports.h`
    pub fn c(&self, stem: &str) -> CSource {
        c::source(self, stem)
    }

    /// The module for Fortran 2008 with ISO_C_BINDING; it is compiled after `cca.f90`, and linked with the source in C.
    ///
    /// # Arguments
    /// * `stem` - as for [`Library::c`]
    pub fn fortran(&self, stem: &str) -> String {
        fortran::source(self, stem)
    }
}

//! From a C header and a mark-up to the source of a proxy.
//!
//! ```text
//! preprocessed header ──► declarations ──► interface ──► source of the proxy, one file of C
//!        lang-c             text, parse      plan           source
//!                                             ▲
//!                            mark-up: which arguments matter
//! ```
//!
//! A pure function of text: the same header and mark-up give the same source, nothing is read and nothing is run. The
//! source includes the header itself, and `cca_proxy.h` of `cca-abi` for all that proxies have in common; it is built
//! with the machine's C compiler.
//!
//! * [`generate`] makes the source, and reports for each function whether its calls are recorded, and if not
//!   why;
//! * [`struct_ports`] makes ports of structs of functions that act as interfaces;
//! * [`suggest_markup`] writes a first mark-up;
//! * [`declarations`] reads the declarations of the header that both need.
//!
//! # Decisions
//!
//! A C library's proxy has a symbol for each function, one jump through an entry: to a resolver at
//! first, then to the implementation itself, or to a wrapper that records. The current
//! implementation is one pointer to an immutable object (functions and methods), read once per
//! call: a swap needs no lock, no call is torn, and the record names the class that ran. Variadic
//! functions and those that do not return are forwarded only. Another library is opened with
//! `RTLD_DEEPBIND`, so that its own calls stay in it. Of several definitions of a name the proxy
//! replaces one; if the mark-up declares their number, additional functions (`cca_spare_2_NAME`)
//! replace the others, as they are bound, and those calls are never redirected. Expressions of a
//! mark-up are compiled into guarded C; a call whose expression divides by zero or reads a null
//! pointer is counted as lost. `mastermind redirect` talks to a thread of the wrapped process
//! through an abstract socket, which accepts only its own user; either side checks the other's
//! identity before it reads.

mod error;
mod expression;
mod markup;
mod parse;
mod plan;
mod ports;
pub mod sidl;
mod source;
mod suggest;
mod text;
mod types;

pub use error::GenerateError;
pub use expression::Kind;
pub use markup::{
    ClassMarkup, EmptyArguments, FunctionChoice, FunctionMarkup, InterfaceMarkup, Markup,
    ProxyMarkup, SkipMarkup,
};
pub use parse::{Declarations, Prototype, declarations};
pub use plan::{Function, Header, Interface, Parameter, Treatment};
pub use ports::StructPorts;
pub use suggest::suggest_markup;
pub use text::SourceLocation;
pub use types::{Argument, Enumeration, Signature, Type, TypeKind, Types};

/// Makes the source of a proxy.
///
/// # Errors
/// [`GenerateError`]: a header that is not C or declares no function, a mark-up that does not fit it.
///
/// # Example
/// ```
/// use std::collections::BTreeSet;
/// use proxy_generate::{Header, Markup, generate};
///
/// let header = Header {
///     include: "sums.h",
///     before: &[],
///     parts: &[],
///     file: "/usr/include/sums.h",
///     preprocessed: "# 1 \"/usr/include/sums.h\"\ndouble sum(int n, const double *x);\n",
///     macros: &BTreeSet::new(),
/// };
/// let markup = Markup::read("[functions.sum]\nparameters = { n = \"n\" }")?;
/// let (interface, source) = generate(&header, &markup)?;
/// assert_eq!(interface.name, "sums");
/// assert!(source.contains("static double record_sum(int n, const double *x)"));
/// # Ok::<(), proxy_generate::GenerateError>(())
/// ```
pub fn generate(
    header: &Header<'_>,
    markup: &Markup,
) -> Result<(Interface, String), GenerateError> {
    let declarations = declarations(header.preprocessed)?;
    let interface = plan::plan(header, markup, &declarations)?;
    let source = source::source(header, &interface, &declarations.types);
    Ok((interface, source))
}

/// Makes ports of the structs of functions that act as interfaces: those that the mark-up names, or all of a header that declares no
/// function of a library.
///
/// # Returns
/// `None` if the header has none.
///
/// # Errors
/// [`GenerateError`]: a header that is not C, a mark-up that does not fit it.
pub fn struct_ports(
    header: &Header<'_>,
    markup: &Markup,
) -> Result<Option<StructPorts>, GenerateError> {
    let declarations = declarations(header.preprocessed)?;
    let has_functions = !matches!(
        plan::plan(header, markup, &declarations),
        Err(GenerateError::NoFunctions { .. })
    );
    if markup.interfaces.is_empty() && has_functions {
        return Ok(None);
    }
    ports::ports(header, markup, &declarations)
}

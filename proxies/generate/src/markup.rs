//! The mark-up of a header: which arguments matter.
//!
//! ```toml
//! [proxy]
//! interface = "zlib"                       # default: the header's name
//! functions = "named"                      # only those below; default: "all"
//! stateless = true                         # nothing is kept between calls: any call may go to any library
//! definitions = 2                          # of each function, as below
//! arguments = "void"                       # `f()` means `f(void)`; also of one function
//!
//! [functions.crc32]                      # of the header, or of another that it includes
//! parameters = { n = "len" }               # name = expression of the arguments
//! [functions.dgemm_]
//! parameters = { m = "*m", n = "*n", k = "*k" }
//! group = "level3"
//! failed = "result < 0"                    # when a call counts as failed
//! definitions = 2                          # symbol versions, or libraries with the name, whose calls are recorded
//!
//! [skip]
//! functions = ["gzprintf"]
//!
//! [interfaces.Bmi]                         # a struct of functions that take the struct first: a port
//! functions.get_value_at_indices = { parameters = { count = "count" }, failed = "result != 0" }
//! classes."heat.Heat" = { library = "libbmiheatc.so", register = "register_bmi_heat" }
//! ```

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::error::GenerateError;

/// A mark-up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Markup {
    /// The interface as a whole.
    pub proxy: ProxyMarkup,
    /// Functions by name.
    pub functions: BTreeMap<String, FunctionMarkup>,
    /// Structs of functions that are interfaces, by tag.
    pub interfaces: BTreeMap<String, InterfaceMarkup>,
    /// Names that are left alone.
    pub skip: SkipMarkup,
}

/// Mark-up of a struct of functions.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct InterfaceMarkup {
    /// Its functions by name; their groups are the port's.
    pub functions: BTreeMap<String, FunctionMarkup>,
    /// Classes of components by name.
    pub classes: BTreeMap<String, ClassMarkup>,
}

/// A class of components that provide an interface out of a library.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassMarkup {
    /// File of the library, as `dlopen` takes it.
    pub library: String,
    /// Its function that fills the struct.
    pub register: String,
}

/// Mark-up of the interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ProxyMarkup {
    /// Name of the interface.
    pub interface: Option<String>,
    /// Which functions are in it.
    pub functions: FunctionChoice,
    /// Further headers by the ends of their paths, whose functions belong to it as well.
    pub headers: Vec<String>,
    /// Whether the library keeps no state between calls, neither in itself nor in the objects it returns, so that one
    /// call may go to one library and the next one to another.
    pub stateless: bool,
    /// Meaning of `f()`, which does not define whether there are arguments.
    pub arguments: Option<EmptyArguments>,
    /// Maximum number of simultaneous definitions of a function whose calls are recorded; 1 by default.
    pub definitions: Option<u32>,
}

/// Meaning of a declaration without a prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EmptyArguments {
    /// The function takes no arguments.
    Void,
}

/// Which functions of a header are in the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FunctionChoice {
    /// All that it declares.
    #[default]
    All,
    /// Those that the mark-up names.
    Named,
}

/// Mark-up of a function.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FunctionMarkup {
    /// Names of performance parameters, with expressions of the arguments.
    pub parameters: toml::Table,
    /// The name it is grouped under.
    pub group: Option<String>,
    /// Expression of `result` that is not 0 where the call failed.
    pub failed: Option<String>,
    /// Meaning of `f()`; by default the interface's.
    pub arguments: Option<EmptyArguments>,
    /// Maximum number of simultaneous definitions of its name, symbol versions or libraries, whose calls are recorded;
    /// by default the interface's.
    pub definitions: Option<u32>,
}

/// Upper limit for the number of definitions whose calls are recorded.
pub(crate) const MAX_DEFINITIONS: u32 = 8;

/// Names that a mark-up leaves alone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SkipMarkup {
    /// Functions by name; a name that ends with `*` matches all with that beginning.
    pub functions: Vec<String>,
}

impl Markup {
    /// Reads a mark-up.
    ///
    /// # Errors
    /// [`GenerateError::Markup`] if it is not TOML or has other keys.
    pub fn read(text: &str) -> Result<Self, GenerateError> {
        toml::from_str(text).map_err(|error: toml::de::Error| GenerateError::Markup {
            message: error.to_string().trim_end().to_owned(),
        })
    }

    /// Whether a function is left alone.
    pub fn skips(&self, function: &str) -> bool {
        self.skip
            .functions
            .iter()
            .any(|name| match name.strip_suffix('*') {
                Some(start) => function.starts_with(start),
                None => name == function,
            })
    }
}

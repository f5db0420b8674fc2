//! What an object's debug information says of its source, and names of functions as sources have them.

use std::path::Path;

use addr2line::Loader;
use cpp_demangle::DemangleOptions;

use super::CallSite;

/// Whether lines can be found.
///
/// # Errors
/// Never: `without_source.rs` does.
pub fn check() -> anyhow::Result<()> {
    Ok(())
}

/// The lines of an object: its debug information, in a file of its own or not.
pub struct Lines(Option<Loader>);

impl Lines {
    /// Of the object of this file; none where there is no debug information.
    pub fn of(path: &Path) -> Self {
        Self(Loader::new(path).ok())
    }

    /// Adds file and line of the call at an address.
    ///
    /// # Returns
    /// The function: where there are lines, there are the symbols of all functions.
    pub fn describe(&self, call: u64, site: &mut CallSite) -> Option<&str> {
        let lines = self.0.as_ref()?;
        let location = lines.find_location(call).ok()??;
        site.file = location.file.map(str::to_owned);
        site.line = location.line;
        lines.find_symbol(call)
    }
}

/// The name of a function as its source has it: of C++ and Rust with the scope and without arguments, of a Fortran module as
/// `module::procedure`; any other as it is.
pub fn as_in_source(symbol: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(symbol) {
        // Without the hash at its end.
        return format!("{name:#}");
    }
    if let Ok(name) = cpp_demangle::Symbol::new(symbol) {
        let options = DemangleOptions::new().no_params().no_return_type();
        if let Ok(name) = name.demangle_with_options(&options) {
            return name;
        }
    }
    in_a_fortran_module(symbol).unwrap_or_else(|| symbol.to_owned())
}

/// Of `__module_MOD_procedure` (gfortran) and `module_mp_procedure_` (Intel).
fn in_a_fortran_module(symbol: &str) -> Option<String> {
    let gfortran = symbol
        .strip_prefix("__")
        .and_then(|name| name.split_once("_MOD_"));
    let intel = || {
        symbol
            .strip_suffix('_')
            .and_then(|name| name.split_once("_mp_"))
    };
    let (module, procedure) = gfortran.or_else(intel)?;
    // In GNU Fortran a procedure within another ends with a number.
    let procedure = procedure
        .split('.')
        .next()
        .filter(|name| !name.is_empty())?;
    (!module.is_empty()).then(|| format!("{module}::{procedure}"))
}

#[cfg(test)]
mod tests {
    use super::as_in_source;

    #[test]
    fn names_are_those_of_the_source() {
        let names = [
            ("main", "main"),
            (
                "_Z12ExchangeHaloRK19SparseMatrix_STRUCTR13Vector_STRUCT",
                "ExchangeHalo",
            ),
            ("_ZN4grid5Solve3runEi", "grid::Solve::run"),
            ("_ZNK4grid6FieldsIdE4normEv", "grid::Fields<double>::norm"),
            (
                "_ZN4grid12_GLOBAL__N_14haloEv.constprop.0",
                "grid::(anonymous namespace)::halo",
            ),
            (
                "_ZN3std2io5stdio6_print17h0123456789abcdefE",
                "std::io::stdio::_print",
            ),
            ("_RNvC6_123foo3bar", "123foo::bar"),
            ("__transport_MOD_exchange_halo", "transport::exchange_halo"),
            ("transport_mp_exchange_halo_", "transport::exchange_halo"),
            ("dgemm_", "dgemm_"),
            ("_mp_", "_mp_"),
            ("_Z", "_Z"),
            ("__libc_start_main", "__libc_start_main"),
        ];
        for (symbol, expected) in names {
            assert_eq!(as_in_source(symbol), expected, "{symbol}");
        }
    }
}

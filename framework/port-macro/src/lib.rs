//! `#[port]`, `#[component]` and `#[derive(PerfValue)]`: generate the code at a library's border.
//!
//! Items that `#[port]` generates from a trait `FluxPort`, in the order of `port/`:
//!
//! * `FluxPortVtable`: the C table ([`port/vtable.rs`]);
//! * `FluxPortStub`: the caller's side ([`port/stub.rs`]);
//! * the provider's adaptor, which catches panics ([`port/provider.rs`]);
//! * `FluxPortProxy`, which records each call and forwards it ([`port/proxy.rs`]);
//! * `FluxPortDispatcher`, which sends each call to one of several providers ([`port/dispatcher.rs`]);
//! * the interface's description: methods, performance parameters, hash, layouts ([`port/descriptor.rs`]).
//!
//! Golden copies of the generated code are in `tests/golden/`.

mod component;
mod perf_value;
mod port;
#[cfg(test)]
mod tests;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Makes a port interface of a trait.
///
/// Every method takes `&self`, arguments that may cross the border (`StableAbi` types, `Copy`, by value), and returns
/// `Result<T, PortError>`. `#[perf(name = expression, …, units(name = "unit"))]` on a method names its performance
/// parameters: an argument of a `PerfValue` type, or an expression of the arguments, which is an integer by default
/// (`name: f64 = …` makes it a real number). An expression that has the word `result` refers to the method's result (a
/// reference to `T`), and is 0 if the method fails.
///
/// ```ignore
/// #[port(name = "hydro.Flux", version = "1.0")]
/// pub trait FluxPort {
///     /// Computes the fluxes through the faces of a patch.
///     #[perf(q = left.len(), axis = axis, units(q = "doubles"))]
///     fn compute(&self, axis: Axis, left: States<'_>, right: States<'_>, flux: StatesMut<'_>) -> Result<(), PortError>;
/// }
/// ```
#[proc_macro_attribute]
pub fn port(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as port::Arguments);
    let item = parse_macro_input!(item as syn::ItemTrait);
    port::expand(arguments, item)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

/// Makes a component class of a struct that implements `Component`; the library then exports it.
///
/// ```ignore
/// /// The exact Riemann solver of Godunov's method.
/// #[component(class = "hydro.GodunovFlux", version = "1.0")]
/// pub struct GodunovFlux { … }
/// ```
#[proc_macro_attribute]
pub fn component(arguments: TokenStream, item: TokenStream) -> TokenStream {
    let arguments = parse_macro_input!(arguments as component::Arguments);
    let item = parse_macro_input!(item as syn::ItemStruct);
    component::expand(&arguments, &item).into()
}

/// Lets an enumeration without fields be a performance parameter; its labels are its variants in lower case.
#[proc_macro_derive(PerfValue)]
pub fn perf_value(item: TokenStream) -> TokenStream {
    let item = parse_macro_input!(item as syn::DeriveInput);
    perf_value::expand(&item)
        .unwrap_or_else(|error| error.to_compile_error())
        .into()
}

//! `#[port]`: parsed once, then expanded part by part.

mod descriptor;
mod dispatcher;
mod parse;
mod provider;
mod proxy;
mod stub;
mod vtable;

pub use parse::{Arguments, documentation};

use parse::Port;
use proc_macro2::{Span, TokenStream};
use quote::quote;

/// The trait and everything generated for it.
pub fn expand(arguments: Arguments, item: syn::ItemTrait) -> syn::Result<TokenStream> {
    let port = Port::new(arguments, item)?;
    let item = &port.item;
    let parts = [
        vtable::expand(&port),
        stub::expand(&port),
        provider::expand(&port),
        proxy::expand(&port),
        dispatcher::expand(&port),
        descriptor::expand(&port),
    ];
    Ok(quote! { #item #(#parts)* })
}

/// The text from which the interface hash is computed.
#[cfg(test)]
pub fn signature_text(arguments: Arguments, item: syn::ItemTrait) -> syn::Result<String> {
    Ok(Port::new(arguments, item)?.signature_text())
}

/// Span of generated code: its local names never clash with those of the trait's arguments.
fn hygienic() -> Span {
    Span::mixed_site()
}

//! The dispatcher of a port: sends each call to the provider that a table has for its performance parameters. In a dry
//! run there may be no provider (`cca_abi::StandIn`): the call returns at once.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::hygienic;
use super::parse::{Method, Port};
use super::proxy::words;
use super::vtable;

/// `enum FluxPortDispatcher`, which has no value: the same table, each function of which looks up the provider of the
/// call.
pub fn expand(port: &Port) -> TokenStream {
    let (dispatcher, table) = (port.derived("Dispatcher"), port.derived("Vtable"));
    let header = vtable::header(port);
    let name = &port.item.ident;
    let n_methods = port.methods.len();
    let entries = port.methods.iter().map(|method| &method.name);
    let methods = port
        .methods
        .iter()
        .enumerate()
        .map(|(index, method)| expand_method(port, index, method));
    quote_spanned! { hygienic() =>
        enum #dispatcher {}

        impl #dispatcher {
            const TABLE: &'static #table = &#table {
                header: #header,
                #(#entries: Self::#entries,)*
            };

            unsafe extern "C" fn new(
                providers: *const ::cca_abi::SlotPointer,
                decisions: ::cca_abi::RSlice<'_, ::cca_abi::Decision>,
                dispatcher: *mut ::cca_abi::OwnedPort,
                error: *mut ::cca_abi::ErrorBuffer,
            ) -> i32 {
                // SAFETY: `NewDispatcher` promises slots and whole trees that outlive the dispatcher, and space for port and error.
                unsafe {
                    ::cca_abi::guard_value(dispatcher, error, || {
                        let dispatcher = ::cca_abi::Dispatcher::<#dispatcher, #n_methods>::new(providers, decisions)?;
                        Ok(::cca_abi::OwnedPort::shared(
                            ::std::sync::Arc::new(dispatcher),
                            &raw const Self::TABLE.header,
                            <dyn #name as ::cca_abi::Interface>::descriptor(),
                        ))
                    })
                }
            }

            #(#methods)*
        }
    }
}

fn expand_method(port: &Port, index: usize, method: &Method) -> TokenStream {
    let (dispatcher, table) = (port.derived("Dispatcher"), port.derived("Vtable"));
    let n_methods = port.methods.len();
    let name = &method.name;
    let parameters = vtable::parameters(method);
    let names = method.argument_names();
    let out = (!method.is_unit()).then(|| quote_spanned! { hygienic() => out, });
    let words = words(method);
    let left_out = left_out(method);
    quote_spanned! { hygienic() =>
        unsafe extern "C-unwind" fn #name(#parameters) -> i32 {
            // SAFETY: the object is the dispatcher this table belongs to; its slots are connected as long as it is.
            unsafe {
                let dispatcher = &*object.cast::<::cca_abi::Dispatcher<#dispatcher, #n_methods>>();
                let target = dispatcher.target(#index, [#(#words),*]);
                if let ::core::option::Option::Some(stand_in) = target.stand_in() {
                    #left_out
                }
                ((*target.vtable.cast::<#table>()).#name)(target.object, #(#names,)* #out error)
            }
        }
    }
}

/// Code for a call that is left out: outputs are unchanged or poisoned, and the result is its type's default.
fn left_out(method: &Method) -> TokenStream {
    let outputs = method.argument_names().map(|name| {
        quote_spanned! { hygienic() =>
            let mut #name = #name;
            ::cca_abi::Output(&mut #name).poison_lent(stand_in);
        }
    });
    let result = match method.is_unit() {
        true => quote_spanned! { hygienic() => return 0; },
        false => {
            let name = method.name.to_string();
            quote_spanned! { hygienic() =>
                return ::cca_abi::guard_value(out, error, || {
                    let mut value = ::cca_abi::Outcome::of(out).value(#name)?;
                    ::cca_abi::Output(&mut value).poison(stand_in);
                    ::core::result::Result::Ok(value)
                });
            }
        }
    };
    quote_spanned! { hygienic() =>
        #[allow(unused_imports, reason = "which of them is needed depends on the types")]
        use ::cca_abi::{AnyOutcome as _, AnyOutput as _};
        #(#outputs)*
        #result
    }
}

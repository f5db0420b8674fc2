//! The provider's side of a port.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::hygienic;
use super::parse::{Method, Port};
use super::vtable;

/// The adaptor from the C table to any type that implements the trait.
pub fn expand(port: &Port) -> TokenStream {
    let name = &port.item.ident;
    let (adaptor, table) = (port.derived("Provider"), port.derived("Vtable"));
    let header = vtable::header(port);
    let entries = port.methods.iter().map(|method| &method.name);
    let methods = port.methods.iter().map(expand_method);
    quote_spanned! { hygienic() =>
        struct #adaptor<T>(::core::marker::PhantomData<T>);

        impl<T: #name + Send + Sync + 'static> #adaptor<T> {
            const TABLE: &'static #table = &#table {
                header: #header,
                #(#entries: Self::#entries,)*
            };

            #(#methods)*
        }

        // SAFETY: the table's functions are the adaptor's, which take an `Arc<T>`'s pointer, and that is what the port holds.
        unsafe impl<T: #name + Send + Sync + 'static> ::cca_abi::ProvidedBy<T> for dyn #name {
            fn provide(object: ::std::sync::Arc<T>) -> ::cca_abi::OwnedPort {
                let table = &raw const #adaptor::<T>::TABLE.header;
                let interface = <dyn #name as ::cca_abi::Interface>::descriptor();
                ::cca_abi::OwnedPort::shared(object, table, interface)
            }
        }
    }
}

fn expand_method(method: &Method) -> TokenStream {
    let name = &method.name;
    let parameters = vtable::parameters(method);
    let names = method.argument_names();
    let call = quote_spanned! { hygienic() => || (*object.cast::<T>()).#name(#(#names),*) };
    let guarded = if method.is_unit() {
        quote_spanned! { hygienic() => ::cca_abi::guard(error, #call) }
    } else {
        quote_spanned! { hygienic() => ::cca_abi::guard_value(out, error, #call) }
    };
    quote_spanned! { hygienic() =>
        unsafe extern "C-unwind" fn #name(#parameters) -> i32 {
            // SAFETY: the object is the `T` of the port this table belongs to; result and error are the caller's space.
            unsafe { #guarded }
        }
    }
}

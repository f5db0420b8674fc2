//! The caller's side of a port.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::hygienic;
use super::parse::{Method, Port};

/// `struct FluxPortStub`: implements the trait by calls through a slot.
pub fn expand(port: &Port) -> TokenStream {
    let stub = port.derived("Stub");
    let (vis, name) = (&port.item.vis, &port.item.ident);
    let doc = format!(
        "Caller's side of [`{name}`]: each call goes to the provider that the slot points to then."
    );
    let methods = port
        .methods
        .iter()
        .map(|method| expand_method(port, method));
    quote_spanned! { hygienic() =>
        #[doc = #doc]
        #[derive(Clone, Copy, Debug)]
        #vis struct #stub {
            slot: ::cca_abi::SlotPointer,
        }

        impl #name for #stub {
            #(#methods)*
        }
    }
}

fn expand_method(port: &Port, method: &Method) -> TokenStream {
    let vtable = port.derived("Vtable");
    let (name, result) = (&method.name, &method.result);
    let arguments = method
        .arguments
        .iter()
        .map(|(name, ty)| quote_spanned! { hygienic() => #name: #ty });
    let names = method.argument_names();
    let out = (!method.is_unit()).then(|| quote_spanned! { hygienic() => out, });
    quote_spanned! { hygienic() =>
        #[inline(always)]
        fn #name(&self, #(#arguments),*) -> ::core::result::Result<#result, ::cca_abi::PortError> {
            // SAFETY: stubs are made for connected slots (`get_port`); the table is this interface's (checked on connecting).
            unsafe {
                let connected = self.slot.target();
                let target = (*connected).port();
                let method = (*target.vtable.cast::<#vtable>()).#name;
                ::cca_abi::call_connected(
                    connected,
                    #[inline(always)]
                    |out: *mut #result, error| {
                        let _ = out;
                        method(target.object, #(#names,)* #out error)
                    },
                )
            }
        }
    }
}

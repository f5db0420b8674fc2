//! The C table of a port.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote_spanned};
use syn::Type;

use super::hygienic;
use super::parse::{Method, Port};

/// `struct FluxPortVtable`: a header, then one C function a method, which an exception of C++ may leave.
pub fn expand(port: &Port) -> TokenStream {
    let vtable = port.derived("Vtable");
    let vis = &port.item.vis;
    let doc = format!(
        "Table of functions of [`{}`]; its layout is the interface.",
        port.item.ident
    );
    let methods = port.methods.iter().map(|method| {
        let (name, pointer) = (&method.name, function_pointer(method));
        let doc = format!("[`{}::{name}`].", port.item.ident);
        quote_spanned! { hygienic() => #[doc = #doc] pub #name: #pointer }
    });
    quote_spanned! { hygienic() =>
        #[doc = #doc]
        #[repr(C)]
        #vis struct #vtable {
            /// Which interface this is a table of.
            pub header: ::cca_abi::VtableHeader,
            #(#methods,)*
        }
    }
}

/// Type of the table's entry for `method`: object, arguments, place for the result, place for the error; returns a status.
fn function_pointer(method: &Method) -> TokenStream {
    let parameters = parameters(method);
    quote_spanned! { hygienic() => unsafe extern "C-unwind" fn(#parameters) -> i32 }
}

/// Parameters of the table's function for `method`, with their names.
pub fn parameters(method: &Method) -> TokenStream {
    parameters_as(method, |ty| ty.to_token_stream())
}

/// As [`parameters`], the types of the arguments changed.
pub fn parameters_as(method: &Method, change: impl Fn(&Type) -> TokenStream) -> TokenStream {
    let arguments = method.arguments.iter().map(|(name, ty)| {
        let ty = change(ty);
        quote_spanned! { hygienic() => #name: #ty }
    });
    let result = &method.result;
    let out = (!method.is_unit()).then(|| quote_spanned! { hygienic() => out: *mut #result, });
    quote_spanned! { hygienic() =>
        object: *const ::core::ffi::c_void,
        #(#arguments,)*
        #out
        error: *mut ::cca_abi::ErrorBuffer
    }
}

/// The constant header of a port's table.
pub fn header(port: &Port) -> TokenStream {
    let vtable = port.derived("Vtable");
    let (name, version) = (&port.arguments.name, &port.arguments.version);
    let signature = port.signature_text();
    quote_spanned! { hygienic() =>
        ::cca_abi::VtableHeader {
            size: ::core::mem::size_of::<#vtable>(),
            interface: ::cca_abi::RStr::from_str(#name),
            version: ::cca_abi::RStr::from_str(#version),
            hash: ::cca_abi::hash_signature(#signature),
        }
    }
}

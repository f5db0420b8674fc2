//! The description of an interface: `describe` shows it, connecting compares it, and proxies are made from it.

use proc_macro2::TokenStream;
use quote::quote;

use super::parse::{Method, Perf, Port, static_type};

/// `impl Interface for dyn FluxPort`.
pub fn expand(port: &Port) -> TokenStream {
    let name = &port.item.ident;
    let (stub, vtable) = (port.derived("Stub"), port.derived("Vtable"));
    let (proxy, dispatcher) = (port.derived("Proxy"), port.derived("Dispatcher"));
    let (interface, version) = (&port.arguments.name, &port.arguments.version);
    let signature = port.signature_text();
    let methods = port.methods.iter().map(method);
    let layouts = layouts(port);
    quote! {
        // SAFETY: descriptor and stub are generated from the same trait.
        unsafe impl ::cca_abi::Interface for dyn #name {
            type Stub = #stub;

            fn descriptor() -> &'static ::cca_abi::InterfaceDescriptor {
                static DESCRIPTOR: ::cca_abi::InterfaceDescriptor = ::cca_abi::InterfaceDescriptor {
                    name: ::cca_abi::RStr::from_str(#interface),
                    version: ::cca_abi::RStr::from_str(#version),
                    hash: ::cca_abi::hash_signature(#signature),
                    vtable_size: ::core::mem::size_of::<#vtable>(),
                    methods: ::cca_abi::RSlice::from_slice(&[#(#methods),*]),
                    layouts: ::cca_abi::RSlice::from_slice(&[#(#layouts),*]),
                    new_proxy: Some(#proxy::new),
                    new_dispatcher: Some(#dispatcher::new),
                };
                &DESCRIPTOR
            }

            fn stub(slot: ::cca_abi::SlotPointer) -> #stub {
                #stub { slot }
            }
        }
    }
}

fn method(method: &Method) -> TokenStream {
    let (name, signature, doc) = (method.name.to_string(), &method.signature, &method.doc);
    let parameters = method.perf.iter().map(perf);
    quote! {
        ::cca_abi::MethodDescriptor {
            name: ::cca_abi::RStr::from_str(#name),
            signature: ::cca_abi::RStr::from_str(#signature),
            doc: ::cca_abi::RStr::from_str(#doc),
            parameters: ::cca_abi::RSlice::from_slice(&[#(#parameters),*]),
        }
    }
}

fn perf(perf: &Perf) -> TokenStream {
    let (name, unit) = (perf.name.to_string(), &perf.unit);
    let ty = match &perf.kind {
        Some(ty) => static_type(ty),
        None => quote! { usize },
    };
    quote! {
        ::cca_abi::PerfDescriptor {
            name: ::cca_abi::RStr::from_str(#name),
            kind: <#ty as ::cca_abi::recording::PerfValue>::KIND,
            unit: ::cca_abi::RStr::from_str(#unit),
            labels: ::cca_abi::RSlice::from_slice(<#ty as ::cca_abi::recording::PerfValue>::LABELS),
        }
    }
}

/// Layout of every type that a method passes, each once.
fn layouts(port: &Port) -> Vec<TokenStream> {
    let mut seen = std::collections::BTreeSet::new();
    let types = port.methods.iter().flat_map(|method| {
        method
            .arguments
            .iter()
            .map(|(_, ty)| ty)
            .chain([&method.result])
    });
    types
        .map(static_type)
        .filter(|ty| seen.insert(ty.to_string()))
        .map(|ty| quote! { <#ty as ::cca_abi::StableAbi>::LAYOUT })
        .collect()
}

//! The proxy of a port: placed in front of a provider, it records each call and forwards it
//! unchanged.

use proc_macro2::TokenStream;
use quote::quote_spanned;

use super::hygienic;
use super::parse::{Method, Perf, Port};
use super::vtable;

/// `struct FluxPortProxy`: the same table, each function of which records its call.
pub fn expand(port: &Port) -> TokenStream {
    let (proxy, table) = (port.derived("Proxy"), port.derived("Vtable"));
    let header = vtable::header(port);
    let n_methods = port.methods.len();
    let entries = port.methods.iter().map(|method| &method.name);
    let methods = port
        .methods
        .iter()
        .enumerate()
        .map(|(index, method)| expand_method(port, index, method));
    let new = new(port);
    quote_spanned! { hygienic() =>
        struct #proxy {
            target: ::cca_abi::SlotPointer,
            recorder: *const ::cca_abi::recording::Recorder,
            methods: [::cca_abi::recording::MethodPointer; #n_methods],
        }

        // SAFETY: recorder and methods serve every thread (their contract); the rest is atomic or immutable.
        unsafe impl Send for #proxy {}
        // SAFETY: as for `Send`.
        unsafe impl Sync for #proxy {}

        impl #proxy {
            const TABLE: &'static #table = &#table {
                header: #header,
                #(#entries: Self::#entries,)*
            };

            #new

            #(#methods)*
        }
    }
}

fn new(port: &Port) -> TokenStream {
    let (proxy, name) = (port.derived("Proxy"), &port.item.ident);
    quote_spanned! { hygienic() =>
        unsafe extern "C" fn new(
            target: *const ::cca_abi::Slot,
            recorder: *const ::cca_abi::recording::Recorder,
            methods: ::cca_abi::RSlice<'_, ::cca_abi::recording::MethodPointer>,
            proxy: *mut ::cca_abi::OwnedPort,
            error: *mut ::cca_abi::ErrorBuffer,
        ) -> i32 {
            // SAFETY: `NewProxy` promises a slot, a recorder and methods that outlive the proxy, and space for port and error.
            unsafe {
                ::cca_abi::guard_value(proxy, error, || {
                    (*recorder).check_version()?;
                    let proxy = #proxy {
                        target: ::cca_abi::SlotPointer::new(target),
                        recorder,
                        methods: ::cca_abi::proxy_methods(methods)?,
                    };
                    Ok(::cca_abi::OwnedPort::shared(
                        ::std::sync::Arc::new(proxy),
                        &raw const Self::TABLE.header,
                        <dyn #name as ::cca_abi::Interface>::descriptor(),
                    ))
                })
            }
        }
    }
}

fn expand_method(port: &Port, index: usize, method: &Method) -> TokenStream {
    let (proxy, table) = (port.derived("Proxy"), port.derived("Vtable"));
    let name = &method.name;
    let parameters = vtable::parameters(method);
    let names: Vec<_> = method.argument_names().collect();
    let out = (!method.is_unit()).then(|| quote_spanned! { hygienic() => out, });
    let words = words(method);
    let end = end(method);
    let guarded = expand_guarded(port, index, method);
    // The recorded path is a function of its own, reached by a jump, so that a method that is switched off saves and
    // restores nothing.
    quote_spanned! { hygienic() =>
        unsafe extern "C-unwind" fn #name(#parameters) -> i32 {
            #[inline(never)]
            unsafe extern "C-unwind" fn recorded(#parameters) -> i32 {
                // SAFETY: as below.
                unsafe {
                    let proxy = &*object.cast::<#proxy>();
                    let target = proxy.target.load();
                    let Some(recording) = ::cca_abi::recording::Recording::begin(
                        &*proxy.recorder,
                        &*proxy.methods[#index].0,
                        #[inline(always)]
                        || [#(#words),*],
                    ) else {
                        return ((*target.vtable.cast::<#table>()).#name)(target.object, #(#names,)* #out error);
                    };
                    // Behind the clock's reading, which waits for all loads before it.
                    let forward = (*target.vtable.cast::<#table>()).#name;
                    let status = forward(target.object, #(#names,)* #out error);
                    #end
                    status
                }
            }
            #guarded
            // SAFETY: the object is the proxy this table belongs to; its slot is connected while the proxy is part of a
            // connection.
            unsafe {
                let proxy = &*object.cast::<#proxy>();
                let method = &*proxy.methods[#index].0;
                if method.is_simply_enabled() {
                    return recorded(object, #(#names,)* #out error);
                }
                if method.is_enabled() {
                    return guarded(object, #(#names,)* #out error);
                }
                let target = proxy.target.load();
                ((*target.vtable.cast::<#table>()).#name)(target.object, #(#names,)* #out error)
            }
        }
    }
}

/// Ends the recording, with the parameters that are computed from the result.
fn end(method: &Method) -> TokenStream {
    let of_result = method.perf.iter().enumerate();
    let of_result = of_result.filter(|(_, perf)| perf.result().is_some());
    let (places, of_result): (Vec<_>, Vec<_>) = of_result.unzip();
    let Some(result) = of_result.first().and_then(|perf| perf.result()) else {
        return quote_spanned! { hygienic() => recording.end(status != 0); };
    };
    let words = of_result.into_iter().map(word);
    quote_spanned! { hygienic() =>
        if status == 0 {
            // The method has succeeded, so its result has been written.
            let #result = &*out;
            recording.end_with(false, |words| {
                #(words[#places] = #words;)*
            });
        } else {
            recording.end(true);
        }
    }
}

/// `fn guarded`: records too, and calls the former provider if the call fails and there is one, or if the call is not
/// admitted to the present provider.
fn expand_guarded(port: &Port, index: usize, method: &Method) -> TokenStream {
    let (proxy, table) = (port.derived("Proxy"), port.derived("Vtable"));
    let name = &method.name;
    let parameters = vtable::parameters(method);
    let names: Vec<_> = method.argument_names().collect();
    let out = (!method.is_unit()).then(|| quote_spanned! { hygienic() => out, });
    let words = words(method);
    quote_spanned! { hygienic() =>
        #[cold]
        #[inline(never)]
        unsafe extern "C-unwind" fn guarded(#parameters) -> i32 {
            // SAFETY: as below; arguments that own nothing may be passed twice, one call after the
            // other.
            unsafe {
                let proxy = &*object.cast::<#proxy>();
                if let Some(before) = (*proxy.methods[#index].0).instead(|| [#(#words),*]) {
                    return ((*before.vtable.cast::<#table>()).#name)(before.object, #(#names,)* #out error);
                }
                if !(true #(&& ::cca_abi::owns_nothing(&#names))*) {
                    return recorded(object, #(#names,)* #out error);
                }
                let again = (0_u8, #(::core::ptr::read(&raw const #names),)*);
                let status = recorded(object, #(#names,)* #out error);
                if status == 0 {
                    return status;
                }
                let Some(before) = (*proxy.methods[#index].0).before() else {
                    return status;
                };
                let (_, #(#names,)*) = again;
                ((*before.vtable.cast::<#table>()).#name)(before.object, #(#names,)* #out error)
            }
        }
    }
}

/// The words of a method's parameters as far as they are known before the call.
pub fn words(method: &Method) -> Vec<TokenStream> {
    let word = |perf: &Perf| match perf.result() {
        // Not known yet.
        Some(_) => quote_spanned! { hygienic() => 0 },
        None => word(perf),
    };
    method.perf.iter().map(word).collect()
}

fn word(perf: &Perf) -> TokenStream {
    let expression = &perf.expression;
    match &perf.kind {
        Some(ty) => {
            quote_spanned! { hygienic() => <#ty as ::cca_abi::recording::PerfValue>::to_word(#expression) }
        }
        None => {
            quote_spanned! { hygienic() => <usize as ::cca_abi::recording::PerfValue>::to_word(#expression) }
        }
    }
}

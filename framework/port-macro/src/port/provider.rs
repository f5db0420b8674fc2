//! The provider's side of a port.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::Type;

use super::hygienic;
use super::parse::{Method, Port};
use super::vtable;

/// The adaptor from the C table to any type that implements the trait.
pub fn expand(port: &Port) -> TokenStream {
    let name = &port.item.ident;
    let (adaptor, table) = (port.derived("Provider"), port.derived("Vtable"));
    let header = vtable::header(port);
    let entries = port.methods.iter().map(entry);
    let methods = port.methods.iter().map(expand_method);
    quote_spanned! { hygienic() =>
        struct #adaptor<T>(::core::marker::PhantomData<T>);

        impl<T: #name + Send + Sync + 'static> #adaptor<T> {
            const TABLE: &'static #table = &#table {
                header: #header,
                #(#entries,)*
            };

            #(#methods)*
        }

        // SAFETY: the table's functions are the adaptor's, which take an `Arc<T>`'s pointer, and the port contains
        // that.
        unsafe impl<T: #name + Send + Sync + 'static> ::cca_abi::ProvidedBy<T> for dyn #name {
            fn provide(object: ::std::sync::Arc<T>) -> ::cca_abi::OwnedPort {
                let table = &raw const #adaptor::<T>::TABLE.header;
                let interface = <dyn #name as ::cca_abi::Interface>::descriptor();
                ::cca_abi::OwnedPort::shared(object, table, interface)
            }
        }
    }
}

/// The table's entry for `method`. To a caller, a function that takes an argument as bits is the same function.
fn entry(method: &Method) -> TokenStream {
    let name = &method.name;
    if !method
        .arguments
        .iter()
        .any(|(_, ty)| may_be_enumeration(ty))
    {
        return quote_spanned! { hygienic() => #name: Self::#name };
    }
    let (typed, bits) = (vtable::parameters(method), parameters(method));
    quote_spanned! { hygienic() =>
        // SAFETY: `MaybeUninit<A>` is passed as `A` is, so both function types have the same calling convention.
        #name: unsafe {
            ::core::mem::transmute::<
                unsafe extern "C-unwind" fn(#bits) -> i32,
                unsafe extern "C-unwind" fn(#typed) -> i32,
            >(Self::#name)
        }
    }
}

/// Whether a type may be an enumeration, by its text: a name without arguments that is no number's.
fn may_be_enumeration(ty: &Type) -> bool {
    const NUMBERS: [&str; 12] = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "f32", "f64",
    ];
    let Type::Path(path) = ty else {
        return false;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| last.arguments.is_none() && !NUMBERS.iter().any(|n| last.ident == n))
}

/// Parameters of the provider's function: an argument that may be an enumeration comes as bits, since C may pass
/// any value.
fn parameters(method: &Method) -> TokenStream {
    let bits = |ty: &Type| match may_be_enumeration(ty) {
        true => quote_spanned! { hygienic() => ::core::mem::MaybeUninit<#ty> },
        false => quote_spanned! { hygienic() => #ty },
    };
    vtable::parameters_as(method, bits)
}

fn expand_method(method: &Method) -> TokenStream {
    let name = &method.name;
    let parameters = parameters(method);
    let names = method.argument_names();
    let call = quote_spanned! { hygienic() => (*object.cast::<T>()).#name(#(#names),*) };
    let checked = method
        .arguments
        .iter()
        .filter(|(_, ty)| may_be_enumeration(ty));
    let checks: Vec<_> = checked
        .map(|(name, _)| {
            let text = name.to_string();
            quote_spanned! { hygienic() => let #name = ::cca_abi::Argument(#name).checked(#text)?; }
        })
        .collect();
    let call = match checks.is_empty() {
        true => quote_spanned! { hygienic() => || #call },
        false => quote_spanned! { hygienic() =>
            || {
                use ::cca_abi::AnyArgument as _;
                #(#checks)*
                #call
            }
        },
    };
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

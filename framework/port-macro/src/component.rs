//! `#[component]`: the class descriptor of a struct, and the C functions behind it.

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, ItemStruct, LitStr, Token};

use crate::port::documentation;

/// `class = "…", version = "…"`.
pub struct Arguments {
    class: LitStr,
    version: LitStr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let [class, version] = named_strings(input, ["class", "version"])?;
        Ok(Arguments { class, version })
    }
}

/// Parses `name = "…"` pairs, each of `names` exactly once, in any order.
pub fn named_strings<const N: usize>(
    input: ParseStream<'_>,
    names: [&str; N],
) -> syn::Result<[LitStr; N]> {
    let mut values: [Option<LitStr>; N] = [const { None }; N];
    while !input.is_empty() {
        let name: Ident = input.parse()?;
        let index = names.iter().position(|known| name == known);
        let index = index.ok_or_else(|| {
            syn::Error::new(
                name.span(),
                format!("expected one of: {}", names.join(", ")),
            )
        })?;
        input.parse::<Token![=]>()?;
        values[index] = Some(input.parse()?);
        if !input.is_empty() {
            input.parse::<Token![,]>()?;
        }
    }
    let missing = names.iter().zip(&values).find(|(_, value)| value.is_none());
    if let Some((name, _)) = missing {
        return Err(input.error(format!("`{name} = \"…\"` is missing")));
    }
    let empty = || LitStr::new("", input.span());
    Ok(values.map(|value| value.unwrap_or_else(empty)))
}

/// The struct, and its registration as a component class.
pub fn expand(arguments: &Arguments, item: &ItemStruct) -> TokenStream {
    let name = &item.ident;
    let (class, version) = (&arguments.class, &arguments.version);
    let doc = documentation(&item.attrs);
    quote! {
        #item

        const _: () = {
            unsafe extern "C-unwind" fn create(
                component: *mut ::cca_abi::RawComponent,
                error: *mut ::cca_abi::ErrorBuffer,
            ) -> i32 {
                // SAFETY: the framework passes space for both (`ClassDescriptor::create`).
                unsafe { ::cca_ports::component_border::create::<#name>(component, error) }
            }

            ::cca_abi::inventory::submit! {
                ::cca_abi::RegisteredClass(::cca_abi::ClassDescriptor {
                    class: ::cca_abi::RStr::from_str(#class),
                    version: ::cca_abi::RStr::from_str(#version),
                    doc: ::cca_abi::RStr::from_str(#doc),
                    create,
                })
            }
        };
    }
}

//! `#[derive(PerfValue)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Data, DeriveInput, Error, Fields};

/// The implementation of `PerfValue` for an enumeration.
pub fn expand(item: &DeriveInput) -> syn::Result<TokenStream> {
    let Data::Enum(data) = &item.data else {
        return Err(Error::new_spanned(
            item,
            "only an enumeration can be a `PerfValue` by derive",
        ));
    };
    let mut labels = Vec::new();
    for (value, variant) in data.variants.iter().enumerate() {
        let in_order = match &variant.discriminant {
            None => true,
            Some((_, syn::Expr::Lit(literal))) => is_value(literal, value),
            Some(_) => false,
        };
        if !in_order || !matches!(variant.fields, Fields::Unit) {
            let message = "variants must be without fields and numbered 0, 1, 2, … in order";
            return Err(Error::new_spanned(variant, message));
        }
        labels.push(variant.ident.to_string().to_lowercase());
    }
    let name = &item.ident;
    let count = labels.len() as u64;
    Ok(quote! {
        // SAFETY: the variants have no fields and are numbered from 0.
        unsafe impl ::cca_abi::Enumeration for #name {
            const COUNT: u64 = #count;
        }

        impl ::cca_abi::recording::PerfValue for #name {
            const KIND: ::cca_abi::recording::ParameterKind =
                ::cca_abi::recording::ParameterKind::Enumeration;
            const LABELS: &'static [::cca_abi::RStr<'static>] =
                &[#(::cca_abi::RStr::from_str(#labels)),*];
            #[inline(always)]
            fn to_word(self) -> u64 {
                self as u64
            }
        }
    })
}

fn is_value(literal: &syn::ExprLit, value: usize) -> bool {
    matches!(&literal.lit, syn::Lit::Int(n) if n.base10_parse::<usize>().ok() == Some(value))
}

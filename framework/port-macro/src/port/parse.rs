//! Parses the input of `#[port]`: the trait, its methods, and their performance parameters.
//!
//! A port is written as a Rust trait, but crosses the border as a table of C functions, so the
//! trait may use only what such a table has: methods with `&self`, named arguments, a `Result`, no
//! generics and no bodies. This module refuses the rest, with the error at the place in the source,
//! and gives the code generator plain data. It generates nothing.
//!
//! ```text
//! #[port(name = "demo.Flux", version = "1.0")]
//! trait FluxPort {
//!     #[perf(cells = state.len(), units(cells = "1"), error: f64 = result)]
//!     fn compute(&self, state: RSlice<'_, f64>) -> Result<f64, PortError>;
//! }
//!
//! signature hashed:  demo.Flux 1.0; compute(state: RSlice<'_, f64>) -> f64
//! ```
//!
//! The text of the signature decides the interface's hash, and the hash decides whether two
//! libraries fit; it is built from tokens without white space, so that formatting the source
//! changes nothing.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Error, Expr, FnArg, Ident, ItemTrait, LitStr, Pat, Token, TraitItem, TraitItemFn,
    Type,
};

use crate::component::named_strings;

/// `name = "…", version = "…"`.
pub struct Arguments {
    pub name: LitStr,
    pub version: LitStr,
}

impl Parse for Arguments {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let [name, version] = named_strings(input, ["name", "version"])?;
        Ok(Arguments { name, version })
    }
}

/// A port interface as read: the trait to emit, and its methods in a form from which tables and
/// proxies are written.
pub struct Port {
    pub arguments: Arguments,
    /// The trait without our attributes.
    pub item: ItemTrait,
    pub methods: Vec<Method>,
}

/// One method as read.
pub struct Method {
    pub name: Ident,
    pub arguments: Vec<(Ident, Type)>,
    /// `T` of `Result<T, PortError>`.
    pub result: Type,
    pub perf: Vec<Perf>,
    pub doc: String,
    /// The signature as text, for people and for the hash.
    pub signature: String,
}

/// One performance parameter as read: an expression of the arguments or the result, which a proxy
/// evaluates at each call.
pub struct Perf {
    pub name: Ident,
    pub expression: Expr,
    /// Its type: given, the argument's, or `usize`'s place-holder `None` for an integer expression.
    pub kind: Option<Type>,
    pub unit: String,
}

/// Name that refers to the method's result in an expression.
const RESULT: &str = "result";

impl Perf {
    /// The name `result` where the expression has it: its value is known when the method has succeeded.
    pub fn result(&self) -> Option<Ident> {
        named(self.expression.to_token_stream(), RESULT)
    }
}

/// The first word of this name.
fn named(stream: TokenStream, name: &str) -> Option<Ident> {
    stream.into_iter().find_map(|token| match token {
        proc_macro2::TokenTree::Ident(word) if word == name => Some(word),
        proc_macro2::TokenTree::Group(group) => named(group.stream(), name),
        _ => None,
    })
}

impl Port {
    pub fn new(arguments: Arguments, mut item: ItemTrait) -> syn::Result<Self> {
        if !item.generics.params.is_empty() {
            return Err(Error::new_spanned(
                &item.generics,
                "a port has no generic parameters",
            ));
        }
        let mut methods = Vec::new();
        for entry in &mut item.items {
            let TraitItem::Fn(method) = entry else {
                return Err(Error::new_spanned(entry, "a port has only methods"));
            };
            methods.push(Method::new(method)?);
        }
        Ok(Port {
            arguments,
            item,
            methods,
        })
    }

    /// A name derived from the trait's.
    pub fn derived(&self, suffix: &str) -> Ident {
        format_ident!("{}{suffix}", self.item.ident)
    }

    /// The text from which the interface hash is computed.
    pub fn signature_text(&self) -> String {
        let (name, version) = (self.arguments.name.value(), self.arguments.version.value());
        let methods: Vec<_> = self.methods.iter().map(|m| m.signature.as_str()).collect();
        format!("{name} {version}; {}", methods.join("; "))
    }
}

impl Method {
    fn new(method: &mut TraitItemFn) -> syn::Result<Self> {
        let signature = &method.sig;
        if signature
            .receiver()
            .is_none_or(|r| r.reference.is_none() || r.mutability.is_some())
        {
            return Err(Error::new_spanned(
                signature,
                "a port's method takes `&self`",
            ));
        }
        if !signature.generics.params.is_empty() || method.default.is_some() {
            let message = "a port's method has no generic parameters and no body";
            return Err(Error::new_spanned(signature, message));
        }
        let arguments = signature
            .inputs
            .iter()
            .skip(1)
            .map(argument)
            .collect::<Result<Vec<_>, _>>()?;
        let result = result_type(&signature.output)?;
        let perf = take_perf(&mut method.attrs, &arguments)?;
        let typed: Vec<_> = arguments
            .iter()
            .map(|(n, t)| format!("{n}: {}", text(t)))
            .collect();
        Ok(Method {
            signature: format!(
                "{}({}) -> {}",
                method.sig.ident,
                typed.join(", "),
                text(&result)
            ),
            doc: documentation(&method.attrs),
            name: method.sig.ident.clone(),
            arguments,
            result,
            perf,
        })
    }

    /// Whether the method returns only success or an error.
    pub fn is_unit(&self) -> bool {
        matches!(&self.result, Type::Tuple(tuple) if tuple.elems.is_empty())
    }

    /// Names of the arguments.
    pub fn argument_names(&self) -> impl Iterator<Item = &Ident> {
        self.arguments.iter().map(|(name, _)| name)
    }
}

fn argument(input: &FnArg) -> syn::Result<(Ident, Type)> {
    if let FnArg::Typed(argument) = input
        && let Pat::Ident(name) = &*argument.pat
    {
        return Ok((name.ident.clone(), (*argument.ty).clone()));
    }
    Err(Error::new_spanned(
        input,
        "an argument has a name and a type",
    ))
}

fn result_type(output: &syn::ReturnType) -> syn::Result<Type> {
    if let syn::ReturnType::Type(_, ty) = output
        && let Type::Path(path) = &**ty
        && let Some(last) = path.path.segments.last()
        && last.ident == "Result"
        && let syn::PathArguments::AngleBracketed(generics) = &last.arguments
        && let Some(syn::GenericArgument::Type(result)) = generics.args.first()
    {
        return Ok(result.clone());
    }
    Err(Error::new_spanned(
        output,
        "a port's method returns `Result<T, PortError>`",
    ))
}

/// Type text without white space that only formatting put there.
fn text(ty: &Type) -> String {
    let spaced = ty.to_token_stream().to_string();
    let mut text = String::new();
    let mut characters = spaced.chars().peekable();
    while let Some(c) = characters.next() {
        // A blank stays only where it separates two words, as in `dyn Port`.
        let between_words = text.ends_with(word) && characters.peek().is_some_and(|n| word(*n));
        if !c.is_whitespace() || between_words {
            text.push(c);
        }
    }
    text.replace(',', ", ")
}

fn word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// First paragraph of the documentation, on one line.
pub fn documentation(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|a| a.path().is_ident("doc")) {
        if let syn::Meta::NameValue(meta) = &attribute.meta
            && let Expr::Lit(literal) = &meta.value
            && let syn::Lit::Str(line) = &literal.lit
        {
            let line = line.value().trim().to_string();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
    }
    lines.join(" ")
}

/// Takes `#[perf(…)]` off a method and reads it.
fn take_perf(
    attributes: &mut Vec<Attribute>,
    arguments: &[(Ident, Type)],
) -> syn::Result<Vec<Perf>> {
    let mut perf = Vec::new();
    let mut error = None;
    // The compiler does not know `#[perf]`, so it must not stay on the trait.
    attributes.retain(|attribute| {
        let ours = attribute.path().is_ident("perf");
        if ours {
            match attribute.parse_args::<Entries>() {
                Ok(entries) => perf.extend(entries.0),
                Err(wrong) => error = Some(wrong),
            }
        }
        !ours
    });
    if let Some(error) = error {
        return Err(error);
    }
    if let Some((name, _)) = arguments.iter().find(|(name, _)| name == RESULT)
        && perf.iter().any(|parameter| parameter.result().is_some())
    {
        return Err(Error::new(
            name.span(),
            "an argument is named as what the method returns is in `perf`",
        ));
    }
    // An expression that is an argument has its type, which an enumeration needs.
    for parameter in perf.iter_mut().filter(|p: &&mut Perf| p.kind.is_none()) {
        if let Expr::Path(path) = &parameter.expression
            && let Some((_, ty)) = arguments.iter().find(|(name, _)| path.path.is_ident(name))
        {
            parameter.kind = Some(ty.clone());
        }
    }
    Ok(perf)
}

struct Entries(Vec<Perf>);

enum Entry {
    Perf(Box<Perf>),
    Units(Vec<(Ident, LitStr)>),
}

impl Parse for Entries {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut perf: Vec<Perf> = Vec::new();
        for entry in Punctuated::<Entry, Token![,]>::parse_terminated(input)? {
            match entry {
                Entry::Perf(parameter) => perf.push(*parameter),
                Entry::Units(units) => {
                    for (name, unit) in units {
                        let parameter = perf.iter_mut().find(|p| p.name == name);
                        let parameter = parameter.ok_or_else(|| {
                            Error::new(name.span(), "no parameter of that name before `units`")
                        })?;
                        parameter.unit = unit.value();
                    }
                }
            }
        }
        Ok(Entries(perf))
    }
}

impl Parse for Entry {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let name: Ident = input.parse()?;
        if name == "units" && input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let units = Punctuated::<_, Token![,]>::parse_terminated_with(&content, unit)?;
            return Ok(Entry::Units(units.into_iter().collect()));
        }
        let kind = match input.parse::<Option<Token![:]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        input.parse::<Token![=]>()?;
        let expression = input.parse()?;
        Ok(Entry::Perf(Box::new(Perf {
            name,
            expression,
            kind,
            unit: String::new(),
        })))
    }
}

fn unit(input: ParseStream<'_>) -> syn::Result<(Ident, LitStr)> {
    let name = input.parse()?;
    input.parse::<Token![=]>()?;
    Ok((name, input.parse()?))
}

/// A type with every lifetime `'static`, for constants.
pub fn static_type(ty: &Type) -> TokenStream {
    fn walk(stream: TokenStream) -> TokenStream {
        let mut out = Vec::new();
        let mut tokens = stream.into_iter().peekable();
        while let Some(token) = tokens.next() {
            match token {
                proc_macro2::TokenTree::Punct(p) if p.as_char() == '\'' => {
                    tokens.next();
                    out.extend(quote::quote!('static));
                }
                proc_macro2::TokenTree::Group(g) => {
                    let group = proc_macro2::Group::new(g.delimiter(), walk(g.stream()));
                    out.push(proc_macro2::TokenTree::Group(group));
                }
                other => out.push(other),
            }
        }
        out.into_iter().collect()
    }
    walk(ty.to_token_stream())
}

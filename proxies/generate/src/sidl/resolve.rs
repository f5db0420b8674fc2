//! Declarations as ports: symbols found, methods gathered along inheritance, types as they cross a border.
//!
//! [`resolve`] takes the declarations of a file (`parse`) and of those that it uses, and returns a [`Library`]: a port
//! for each interface or class of that file, with the enumerations and structs that its methods pass. Names are
//! searched from the inner package outwards, then by the imports. A method that cannot cross a border is no error: it
//! is left out, with the reason, in [`Library::left`]. A symbol that is defined twice is an error, and so is a method
//! of two forms without an overload extension. `rust`, `c` and `fortran` write the contents of the library.
//!
//! ```text
//! package demo version 1.0 {
//!   struct Label { string text; };             left out: demo.Label: "text" is not a number, and a struct is passed by value
//!   interface Named { string getName(); };     demo.Named    get_name
//!   interface Vector extends Named {           demo.Vector   get_name, dot_product
//!     double dot[Product](in array<double> v);
//!     Label label();                           left out: demo.Vector.label: returns the struct demo.Label, which holds more
//!   };                                                   than numbers
//! }
//! ```

use std::collections::{BTreeMap, BTreeSet};

use super::SidlError;
use super::names::{camel, snake, upper};
use super::parameters::{self, Parameter};
use super::parse::{self, File, Mode, SymbolKind};

/// The ports and types of a file of SIDL.
#[derive(Debug, Default)]
pub struct Library {
    /// Name of the file, as it was given.
    pub file: String,
    /// One an interface or class that has methods.
    pub ports: Vec<Port>,
    pub(super) enumerations: Vec<Enumeration>,
    pub(super) structs: Vec<Struct>,
    /// Symbols that are left out, and why.
    pub left: Vec<LeftOut>,
}

/// A method, an interface or a type that has no place in a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// Its whole name.
    pub name: String,
    /// Why.
    pub reason: String,
}

/// A port.
#[derive(Debug)]
pub struct Port {
    /// Its whole name, such as `gov.cca.ports.GoPort`.
    pub name: String,
    /// Version of its package; `1.0` if it has none.
    pub version: String,
    pub(super) doc: String,
    /// Name of the Rust type for it, such as `GoPort`.
    pub(super) ty: String,
    pub(super) methods: Vec<Method>,
}

#[derive(Clone, Debug)]
pub struct Method {
    /// As SIDL has it.
    pub sidl: String,
    pub name: String,
    pub doc: String,
    pub notes: Vec<String>,
    pub arguments: Vec<(String, Ty)>,
    /// Its results, by name; `result` is the result of SIDL's method itself.
    pub results: Vec<(String, Ty)>,
    /// Name of the struct for its results if it returns several values.
    pub result_type: Option<String>,
    pub parameters: Vec<Parameter>,
}

/// A type as it crosses a border.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ty {
    Plain(Plain),
    /// By its place among the enumerations.
    Enumeration(usize),
    /// By its place among the structs.
    Struct(usize),
    /// Text, lent.
    Text,
    /// Text, given.
    OwnedText,
    /// Elements side by side; whether they may be written to.
    Slice(Element, bool),
    /// Elements in an array that is given.
    OwnedSlice(Element),
    /// Elements by several indices.
    Array(Element, u32, Access),
    /// A port with its share of its object.
    Object,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    Read,
    Write,
    Given,
}

/// An element of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Element {
    Plain(Plain),
    /// Text: borrowed in a borrowed array, owned in an owned one.
    Text,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plain {
    Bool,
    Char,
    Int,
    Long,
    Float,
    Double,
    FComplex,
    DComplex,
    Opaque,
    /// The number of an enumeration's value, if it cannot be checked.
    Number,
}

#[derive(Debug)]
pub struct Enumeration {
    pub name: String,
    pub ty: String,
    pub doc: String,
    /// Names, as SIDL has them, and numbers.
    pub values: Vec<(String, i64)>,
}

impl Enumeration {
    /// Whether the values are numbered from 0 in their order, so that it can be a type of its own.
    pub fn is_counted(&self) -> bool {
        let numbers = self.values.iter().map(|(_, number)| *number);
        !self.values.is_empty() && numbers.eq(0..self.values.len() as i64)
    }
}

#[derive(Debug)]
pub struct Struct {
    pub name: String,
    pub ty: String,
    pub doc: String,
    pub fields: Vec<(String, Plain)>,
}

/// A symbol with the package that it is in.
#[derive(Clone, Copy)]
struct ScopedSymbol<'a> {
    package: &'a parse::Package,
    symbol: &'a parse::Symbol,
    imports: &'a [String],
}

impl ScopedSymbol<'_> {
    fn name(&self) -> String {
        format!("{}.{}", self.package.name, self.symbol.name)
    }
}

struct Resolver<'a> {
    symbols: BTreeMap<String, ScopedSymbol<'a>>,
    enumerations: BTreeMap<String, usize>,
    structs: BTreeMap<String, usize>,
    library: Library,
    types: BTreeSet<String>,
}

/// The ports of a file.
///
/// # Errors
/// [`SidlError::Symbol`].
pub fn resolve(file: &File, others: &[File]) -> Result<Library, SidlError> {
    let mut resolver = Resolver {
        symbols: BTreeMap::new(),
        enumerations: BTreeMap::new(),
        structs: BTreeMap::new(),
        library: Library {
            file: file.name.clone(),
            ..Library::default()
        },
        types: BTreeSet::new(),
    };
    let mut own = Vec::new();
    for (is_own, file) in [(true, file)]
        .into_iter()
        .chain(others.iter().map(|f| (false, f)))
    {
        for package in &file.packages {
            for symbol in &package.symbols {
                let found = ScopedSymbol {
                    package,
                    symbol,
                    imports: &file.imports,
                };
                let name = found.name();
                // A file that is read again along with others is the same.
                let before = resolver.symbols.get(&name).copied();
                match before {
                    Some(_) if is_own => {
                        return Err(wrong(&name, "it is defined twice", "one definition"));
                    }
                    Some(_) => {}
                    None => {
                        resolver.symbols.insert(name, found);
                        if is_own {
                            own.push(found);
                        }
                    }
                }
            }
        }
    }
    for found in &own {
        resolver.define(*found)?;
    }
    for found in &own {
        resolver.port(*found)?;
    }
    Ok(resolver.library)
}

fn wrong(symbol: &str, found: impl Into<String>, expected: impl Into<String>) -> SidlError {
    SidlError::Symbol {
        symbol: symbol.to_owned(),
        found: found.into(),
        expected: expected.into(),
    }
}

impl<'a> Resolver<'a> {
    /// A name for a type that none has yet: the last part, or more of them.
    fn type_name(&mut self, name: &str, ending: &str) -> String {
        let parts: Vec<&str> = name.split('.').collect();
        for first in (0..parts.len()).rev() {
            let mut text = camel(&parts[first..].join("_"));
            if !text.ends_with(ending) {
                text += ending;
            }
            if self.types.insert(text.clone()) {
                return text;
            }
        }
        let mut text = camel(name) + ending;
        while !self.types.insert(text.clone()) {
            text.push('_');
        }
        text
    }

    fn left(&mut self, name: &str, reason: impl Into<String>) {
        let left = LeftOut {
            name: name.to_owned(),
            reason: reason.into(),
        };
        if !self.library.left.contains(&left) {
            self.library.left.push(left);
        }
    }

    /// Defines an enumeration or a struct; does nothing for other symbols.
    fn define(&mut self, found: ScopedSymbol<'a>) -> Result<(), SidlError> {
        let name = found.name();
        let doc = parameters::without_marks(&found.symbol.doc);
        match &found.symbol.kind {
            SymbolKind::Enumeration(values) if !self.enumerations.contains_key(&name) => {
                for (place, (value, _)) in values.iter().enumerate() {
                    if values[..place]
                        .iter()
                        .any(|(before, _)| upper(before) == upper(value))
                    {
                        return Err(wrong(
                            &name,
                            format!("two values \"{value}\""),
                            "other names",
                        ));
                    }
                }
                let ty = self.type_name(&name, "");
                self.enumerations
                    .insert(name.clone(), self.library.enumerations.len());
                self.library.enumerations.push(Enumeration {
                    name,
                    ty,
                    doc,
                    values: values.clone(),
                });
            }
            SymbolKind::Struct(members) if !self.structs.contains_key(&name) => {
                let mut fields = Vec::new();
                for (ty, field) in members {
                    let plain = match ty {
                        parse::Type::Named(word) => self.plain(found, word)?,
                        _ => None,
                    };
                    match plain {
                        Some(plain) => fields.push((snake(field), plain)),
                        None => {
                            self.left(
                                &name,
                                format!(
                                    "\"{field}\" is not a number, and a struct is passed by value"
                                ),
                            );
                            return Ok(());
                        }
                    }
                }
                if fields.is_empty() {
                    self.left(&name, "it has no members");
                    return Ok(());
                }
                if let Some(field) = twice(fields.iter().map(|(field, _)| field)) {
                    return Err(wrong(
                        &name,
                        format!("two members \"{field}\""),
                        "other names",
                    ));
                }
                let ty = self.type_name(&name, "");
                self.structs
                    .insert(name.clone(), self.library.structs.len());
                self.library.structs.push(Struct {
                    name,
                    ty,
                    doc,
                    fields,
                });
            }
            _ => {}
        }
        Ok(())
    }

    /// A number, as a member of a struct or an element of an array; none for anything else.
    fn plain(&mut self, within: ScopedSymbol<'a>, word: &str) -> Result<Option<Plain>, SidlError> {
        if let Some(plain) = plain_word(word) {
            return Ok(Some(plain));
        }
        let is_number = matches!(
            self.find(within, word).map(|found| &found.symbol.kind),
            Some(SymbolKind::Enumeration(_))
        );
        Ok(is_number.then_some(Plain::Number))
    }

    /// The symbol that a name means within a package: from the inside outwards, then by the imports.
    fn find(&self, within: ScopedSymbol<'a>, name: &str) -> Option<ScopedSymbol<'a>> {
        let mut outer = within.package.name.as_str();
        loop {
            if let Some(found) = self.symbols.get(&format!("{outer}.{name}")) {
                return Some(*found);
            }
            match outer.rsplit_once('.') {
                Some((rest, _)) => outer = rest,
                None => break,
            }
        }
        if let Some(found) = self.symbols.get(name) {
            return Some(*found);
        }
        let imported = within.imports.iter().find_map(|import| {
            let is_symbol = import.rsplit('.').next() == Some(name);
            let symbol = is_symbol.then(|| self.symbols.get(import)).flatten();
            symbol.or_else(|| self.symbols.get(&format!("{import}.{name}")))
        });
        imported.copied()
    }

    /// The port of an interface or a class.
    fn port(&mut self, found: ScopedSymbol<'a>) -> Result<(), SidlError> {
        if !matches!(found.symbol.kind, SymbolKind::Object { .. }) {
            return Ok(());
        }
        let name = found.name();
        let mut gathered = Vec::new();
        self.gather(found, &mut vec![], &mut gathered)?;
        let mut methods: Vec<Method> = Vec::new();
        let mut n_left = 0;
        for (owner, method) in gathered {
            match self.method(owner, method)? {
                Ok(made) => {
                    if let Some(before) = methods.iter().find(|before| before.name == made.name) {
                        // The same method inherited twice, or repeated by an heir.
                        let types = |names: &[(String, Ty)]| -> Vec<Ty> {
                            names.iter().map(|(_, ty)| ty.clone()).collect()
                        };
                        let is_same = types(&before.arguments) == types(&made.arguments)
                            && types(&before.results) == types(&made.results);
                        if !is_same {
                            let which = format!("\"{}\" has two forms", method.name);
                            return Err(wrong(
                                &name,
                                which,
                                "an overload extension, such as name[Twice]",
                            ));
                        }
                        continue;
                    }
                    methods.push(made);
                }
                Err(reason) => {
                    n_left += 1;
                    self.left(&format!("{name}.{}", method.name), reason);
                }
            }
        }
        if methods.is_empty() {
            let reason = match n_left {
                0 => "it has no methods",
                _ => "none of its methods is left",
            };
            self.left(&name, reason);
            return Ok(());
        }
        let ty = self.type_name(&name, "Port");
        for method in &mut methods {
            if method.results.len() > 1 {
                let object = ty.trim_end_matches("Port");
                let result = self.type_name(&format!("{object}_{}", method.name), "Result");
                method.result_type = Some(result);
            }
        }
        self.library.ports.push(Port {
            name,
            version: found
                .package
                .version
                .clone()
                .unwrap_or_else(|| "1.0".into()),
            doc: parameters::without_marks(&found.symbol.doc),
            ty,
            methods,
        });
        Ok(())
    }

    /// The methods of all symbols that a symbol inherits from, then its own.
    fn gather(
        &mut self,
        found: ScopedSymbol<'a>,
        path: &mut Vec<String>,
        methods: &mut Vec<(ScopedSymbol<'a>, &'a parse::Method)>,
    ) -> Result<(), SidlError> {
        let name = found.name();
        if path.contains(&name) {
            return Err(wrong(&name, "it inherits of itself", "another parent"));
        }
        let SymbolKind::Object {
            parents,
            methods: own,
        } = &found.symbol.kind
        else {
            return Err(wrong(
                &name,
                "something inherits of it",
                "an interface or a class there",
            ));
        };
        path.push(name.clone());
        for parent in parents {
            match self.find(found, parent) {
                Some(parent) => self.gather(parent, path, methods)?,
                // Methods that every object or port has in Babel do not belong to the port.
                None if parent.starts_with("sidl.") || parent.starts_with("gov.cca.") => {}
                None => {
                    let reason = format!(
                        "what it has of \"{parent}\" is missing: no file defines it (-I DIR)"
                    );
                    self.left(&path[0].clone(), reason);
                }
            }
        }
        path.pop();
        for method in own {
            // A repeated method replaces the inherited one, at its position.
            match methods
                .iter_mut()
                .find(|(_, before)| before.name == method.name && is_alike(before, method))
            {
                Some(before) => *before = (found, method),
                None => methods.push((found, method)),
            }
        }
        Ok(())
    }

    /// A method as a port has it, or why it cannot be one.
    fn method(
        &mut self,
        owner: ScopedSymbol<'a>,
        method: &'a parse::Method,
    ) -> Result<Result<Method, String>, SidlError> {
        let whole = format!("{}.{}", owner.name(), method.name);
        let (mut arguments, mut results) = (Vec::new(), Vec::new());
        if method.result != parse::Type::Named("void".into()) {
            match self.given(owner, &method.result)? {
                Ok(ty) => results.push(("result".to_owned(), ty)),
                Err(reason) => return Ok(Err(format!("returns {reason}"))),
            }
        }
        for argument in &method.arguments {
            let name = snake(&argument.name);
            let named = |reason: String| format!("\"{}\" is {reason}", argument.name);
            let is_array = matches!(argument.ty, parse::Type::Array(..) | parse::Type::Raw(..));
            if argument.mode != Mode::Out {
                match self.lent(owner, &argument.ty, argument.mode)? {
                    Ok(ty) => arguments.push((name.clone(), ty)),
                    Err(reason) => return Ok(Err(named(reason))),
                }
            }
            if argument.mode == Mode::Out || argument.mode == Mode::Inout && !is_array {
                match self.given(owner, &argument.ty)? {
                    Ok(ty) => results.push((name, ty)),
                    Err(reason) => return Ok(Err(named(reason))),
                }
            }
        }
        for names in [&arguments, &results] {
            if let Some(name) = twice(names.iter().map(|(name, _)| name)) {
                return Err(wrong(
                    &whole,
                    format!("two arguments \"{name}\""),
                    "other names",
                ));
            }
        }
        let parameters = parameters::of(&whole, method, &arguments, &results)?;
        let mut notes = Vec::new();
        if !method.throws.is_empty() {
            notes.push(format!("SIDL: throws {}.", method.throws.join(", ")));
        }
        notes.extend(method.contract.iter().map(|text| format!("SIDL: {text}.")));
        Ok(Ok(Method {
            sidl: method.name.clone(),
            name: snake(&method.name),
            doc: parameters::without_marks(&method.doc),
            notes,
            arguments,
            results,
            result_type: None,
            parameters,
        }))
    }

    /// A type as an argument.
    fn lent(
        &mut self,
        within: ScopedSymbol<'a>,
        ty: &parse::Type,
        mode: Mode,
    ) -> Result<Result<Ty, String>, SidlError> {
        let is_written = mode == Mode::Inout;
        Ok(match ty {
            parse::Type::Named(word) if word == "string" => Ok(Ty::Text),
            parse::Type::Named(word) => self.named(within, word, false)?,
            parse::Type::Raw(element, _, _) => self
                .element(within, element)?
                .map(|element| Ty::Slice(element, is_written)),
            parse::Type::Array(Some(element), 1) => self
                .element(within, element)?
                .map(|element| Ty::Slice(element, is_written)),
            parse::Type::Array(Some(element), dimension) => {
                let access = if is_written {
                    Access::Write
                } else {
                    Access::Read
                };
                self.element(within, element)?
                    .map(|element| Ty::Array(element, *dimension, access))
            }
            parse::Type::Array(None, _) => Err("an array of any type".into()),
        }
        .and_then(|ty| match &ty {
            Ty::Slice(Element::Text, true) | Ty::Array(Element::Text, _, Access::Write) => {
                Err("an array of texts to be written to".to_owned())
            }
            _ => Ok(ty),
        }))
    }

    /// A type as a result.
    fn given(
        &mut self,
        within: ScopedSymbol<'a>,
        ty: &parse::Type,
    ) -> Result<Result<Ty, String>, SidlError> {
        Ok(match ty {
            parse::Type::Named(word) if word == "string" => Ok(Ty::OwnedText),
            parse::Type::Named(word) => self.named(within, word, true)?,
            parse::Type::Raw(..) => Err("a raw array that is given".into()),
            parse::Type::Array(Some(element), 1) => {
                self.element(within, element)?.map(Ty::OwnedSlice)
            }
            parse::Type::Array(Some(element), dimension) => self
                .element(within, element)?
                .map(|element| Ty::Array(element, *dimension, Access::Given)),
            parse::Type::Array(None, _) => Err("an array of any type".into()),
        })
    }

    fn named(
        &mut self,
        within: ScopedSymbol<'a>,
        word: &str,
        is_given: bool,
    ) -> Result<Result<Ty, String>, SidlError> {
        if let Some(plain) = plain_word(word) {
            return Ok(Ok(Ty::Plain(plain)));
        }
        if word == "void" || word.starts_with("iterator") {
            return Ok(Err(format!("of type {word}")));
        }
        let Some(found) = self.find(within, word) else {
            // A symbol of a file that is not available: its port is determined when it is used.
            return Ok(Ok(Ty::Object));
        };
        self.define(found)?;
        let name = found.name();
        Ok(match &found.symbol.kind {
            SymbolKind::Object { .. } => Ok(Ty::Object),
            SymbolKind::Enumeration(_) => match self.enumerations.get(&name) {
                Some(place) if !is_given && self.library.enumerations[*place].is_counted() => {
                    Ok(Ty::Enumeration(*place))
                }
                _ => Ok(Ty::Plain(Plain::Number)),
            },
            SymbolKind::Struct(_) => match self.structs.get(&name) {
                Some(place) => Ok(Ty::Struct(*place)),
                None => Err(format!("the struct {name}, which holds more than numbers")),
            },
        })
    }

    fn element(
        &mut self,
        within: ScopedSymbol<'a>,
        ty: &parse::Type,
    ) -> Result<Result<Element, String>, SidlError> {
        let parse::Type::Named(word) = ty else {
            return Ok(Err("an array of arrays".into()));
        };
        if word == "string" {
            return Ok(Ok(Element::Text));
        }
        Ok(match self.plain(within, word)? {
            Some(plain) => Ok(Element::Plain(plain)),
            None => Err(format!("an array of {word}")),
        })
    }
}

/// Whether two methods of one name take the same arguments, so that the second repeats the first.
fn is_alike(before: &parse::Method, method: &parse::Method) -> bool {
    let types = |method: &parse::Method| -> Vec<_> {
        method
            .arguments
            .iter()
            .map(|argument| (argument.mode, argument.ty.clone()))
            .collect()
    };
    types(before) == types(method)
}

fn plain_word(word: &str) -> Option<Plain> {
    Some(match word {
        "bool" => Plain::Bool,
        "char" => Plain::Char,
        "int" => Plain::Int,
        "long" => Plain::Long,
        "float" => Plain::Float,
        "double" => Plain::Double,
        "fcomplex" => Plain::FComplex,
        "dcomplex" => Plain::DComplex,
        "opaque" => Plain::Opaque,
        _ => return None,
    })
}

/// The first that is there twice.
fn twice<'a>(names: impl Iterator<Item = &'a String>) -> Option<&'a String> {
    let mut seen = BTreeSet::new();
    names.into_iter().find(|name| !seen.insert(*name))
}

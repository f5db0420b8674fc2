//! Structs of functions that act as interfaces, as ports: each function takes the struct as its first argument, and a library has a
//! function that fills it (CSDMS's Basic Model Interface, `bmi.h`, is one).
//!
//! ```text
//! struct Bmi { void *data; int (*update)(struct Bmi *self); … };
//!   └► STEM_ports.h      the port's table, and calls through a uses port      bmi_bmi_update(slot, &result, &error)
//!      STEM_ports.c      its description, proxy and dispatcher                as those of SIDL
//!      STEM_component.c  classes that fill the struct out of a library, and provide the port on it
//! ```

use std::collections::BTreeMap;
use std::fmt::Write;

use cca_abi::hash_signature;

use crate::error::GenerateError;
use crate::expression::Kind;
use crate::markup::{ClassMarkup, FunctionMarkup, InterfaceMarkup, Markup};
use crate::parse::{Declarations, Prototype};
use crate::plan::{Header, Parameter, check_name, failed, parameters};
use crate::text::SourceLocation;
use crate::types::{Signature, Type, TypeKind, Types};

mod component;
pub(crate) mod source;

/// The ports of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructPorts {
    /// Prefix of the names of the files.
    pub stem: String,
    /// Name of each port, with the number of its methods.
    pub ports: Vec<(String, usize)>,
    /// Functions that are in no port, with the reason.
    pub left_out: Vec<(String, String)>,
    /// `STEM_ports.h`.
    pub header: String,
    /// `STEM_ports.c`.
    pub source: String,
    /// `STEM_component.c`, a component library.
    pub component: String,
}

/// A struct of functions.
struct Interface<'a> {
    types: &'a Types,
    /// Name of the port, `bmi.Bmi`.
    name: String,
    /// Prefix of the names in C, `bmi_bmi`.
    stem: String,
    /// Tag of the struct.
    tag: String,
    methods: Vec<Method>,
    classes: BTreeMap<String, ClassMarkup>,
}

/// A function of a struct.
struct Method {
    name: String,
    /// Without the struct.
    signature: Signature,
    /// As the header has it, without the struct.
    declaration: String,
    parameters: Vec<Parameter>,
    failed: Option<String>,
}

/// The structs of a header that are interfaces, by tag.
///
/// # Arguments
/// * `headers` - further headers, as of [`crate::ProxyMarkup`]
pub(crate) fn interfaces(
    header: &Header<'_>,
    headers: &[String],
    declarations: &Declarations,
) -> Vec<String> {
    let types = &declarations.types;
    let records = types.records.keys();
    let tags = records.filter_map(|name| {
        let file = types.record_files.get(name)?;
        let tag = name.strip_prefix("struct ")?;
        let is_own = header.owns(file, headers);
        let mut functions = functions(tag, types).map(|(_, signature)| signature);
        let is_interface = functions.next().is_some() && functions.next().is_some();
        (is_own && is_interface).then(|| tag.to_owned())
    });
    tags.collect()
}

/// The members of a struct that are functions of it, without their first argument.
pub(crate) fn functions<'a>(
    tag: &'a str,
    types: &'a Types,
) -> impl Iterator<Item = (&'a str, Signature)> + 'a {
    let fields = types.records.get(&format!("struct {tag}"));
    fields.into_iter().flatten().filter_map(move |(name, ty)| {
        let TypeKind::Pointer(target) = &types.resolve(ty).kind else {
            return None;
        };
        let TypeKind::Function(signature) = &types.resolve(target).kind else {
            return None;
        };
        let (first, others) = signature.parameters.split_first()?;
        let TypeKind::Pointer(object) = &types.resolve(&first.ty).kind else {
            return None;
        };
        let is_own = types.resolve(object).kind == TypeKind::Record("struct", tag.to_owned());
        let mut signature = (**signature).clone();
        signature.parameters = others.to_vec();
        is_own.then_some((name.as_str(), signature))
    })
}

/// Makes the ports that a mark-up names, or all if it names none; `None` if the header has none.
///
/// # Errors
/// [`GenerateError`]: a struct that is no interface, an expression that cannot be evaluated.
pub(crate) fn ports(
    header: &Header<'_>,
    markup: &Markup,
    declarations: &Declarations,
) -> Result<Option<StructPorts>, GenerateError> {
    let stem = markup.proxy.interface.clone();
    let stem = stem.unwrap_or_else(|| header.stem());
    check_name(&stem, "the name of an interface")?;
    let all = interfaces(header, &markup.proxy.headers, declarations);
    let tags: Vec<_> = match markup.interfaces.is_empty() {
        true => all.iter().collect(),
        false => markup.interfaces.keys().collect(),
    };
    if tags.is_empty() {
        return Ok(None);
    }
    let mut left_out = Vec::new();
    let mut interfaces = Vec::new();
    for tag in tags {
        let nothing = InterfaceMarkup::default();
        let marked = markup.interfaces.get(tag).unwrap_or(&nothing);
        let found = interface(&stem, tag, marked, &declarations.types, &mut left_out)?;
        interfaces.push(found);
    }
    Ok(Some(StructPorts {
        ports: interfaces
            .iter()
            .map(|interface| (interface.name.clone(), interface.methods.len()))
            .collect(),
        left_out,
        header: source::header(header, &stem, &interfaces),
        source: source::source(header, &stem, &interfaces),
        component: component::source(header, &stem, &interfaces),
        stem,
    }))
}

fn interface<'a>(
    stem: &str,
    tag: &str,
    markup: &InterfaceMarkup,
    types: &'a Types,
    left_out: &mut Vec<(String, String)>,
) -> Result<Interface<'a>, GenerateError> {
    let no_interface = |problem| GenerateError::NoInterface {
        interface: tag.into(),
        problem,
    };
    if !types.records.contains_key(&format!("struct {tag}")) {
        return Err(no_interface("no such struct"));
    }
    for class in markup.classes.keys() {
        check_name(&class.replace('.', "_"), "the name of a class")?;
    }
    let mut methods = Vec::new();
    for (name, signature) in functions(tag, types) {
        let all = signature.parameters.iter().map(|argument| &argument.ty);
        let unwritable = all
            .chain([&signature.result])
            .find_map(|ty| types.unwritable(ty));
        let reason = match unwritable {
            _ if signature.is_variadic => Some("variadic".to_owned()),
            unwritable => unwritable.map(|text| format!("passes {text}")),
        };
        match reason {
            Some(reason) => left_out.push((format!("{tag}.{name}"), reason)),
            None => methods.push(method(tag, name, signature, markup, types)?),
        }
    }
    if methods.is_empty() {
        return Err(no_interface("none of its functions takes it"));
    }
    let known = |name: &String| methods.iter().any(|method| method.name == *name);
    if let Some(function) = markup.functions.keys().find(|name| !known(name)) {
        return Err(GenerateError::UnknownFunction {
            function: format!("{tag}.{function}"),
            similar: None,
        });
    }
    Ok(Interface {
        types,
        name: format!("{stem}.{tag}"),
        stem: format!("{stem}_{tag}").to_ascii_lowercase(),
        tag: tag.to_owned(),
        methods,
        classes: markup.classes.clone(),
    })
}

fn method(
    tag: &str,
    name: &str,
    mut signature: Signature,
    markup: &InterfaceMarkup,
    types: &Types,
) -> Result<Method, GenerateError> {
    // Without arguments it is declared with `void` now.
    signature.has_prototype = true;
    let nothing = FunctionMarkup::default();
    let marked = markup.functions.get(name).unwrap_or(&nothing);
    let prototype = Prototype {
        name: format!("{tag}.{name}"),
        symbol: name.to_owned(),
        signature,
        place: SourceLocation {
            file: String::new(),
            line: 0,
        },
        is_inline: false,
        attributes: Vec::new(),
    };
    let arguments = types.arguments(&prototype.signature);
    let declared = types.declare(&prototype.signature.result, &format!("{name}({arguments})"));
    Ok(Method {
        name: name.to_owned(),
        declaration: declared,
        parameters: parameters(&prototype, marked, types)?,
        failed: failed(&prototype, marked, types)?,
        signature: prototype.signature,
    })
}

impl Interface<'_> {
    fn hash(&self) -> u64 {
        let mut text = format!("{} 1.0\n", self.name);
        for method in &self.methods {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{}", method.declaration);
        }
        hash_signature(&text)
    }

    /// Names in upper case.
    fn macros(&self) -> String {
        self.stem.to_ascii_uppercase()
    }

    /// The arguments of a method's function, `first` in front. Our own names end with an underscore.
    fn arguments(&self, method: &Method, first: &str) -> String {
        let mut text = first.to_owned();
        for argument in &method.signature.parameters {
            let _ = write!(
                text,
                ", {}",
                self.types.declare(&argument.ty, &argument.name)
            );
        }
        if let Some(result) = method.result() {
            let pointer = self.types.declare(&result.pointer(), "result_");
            let _ = write!(text, ", {pointer}");
        }
        text + ", cca_error *error_"
    }
}

impl Method {
    /// Its result type, without qualifiers.
    fn result(&self) -> Option<Type> {
        let result = &self.signature.result;
        (result.kind != TypeKind::Void).then(|| Type::plain(result.kind.clone()))
    }

    /// The arguments as they are passed on, each behind a comma.
    fn passed(&self) -> String {
        let names = self.signature.parameters.iter();
        names
            .map(|argument| format!(", {}", argument.name))
            .collect()
    }

    /// All of them, with where result and error go.
    fn all_passed(&self) -> String {
        let result = self.result().map_or("", |_| ", result_");
        format!("{}{result}, error_", self.passed())
    }

    /// C of the parameters' words.
    fn words(&self) -> Vec<String> {
        let word = |parameter: &Parameter| match parameter.kind {
            Kind::Integer => format!("(uint64_t)(int64_t){}", parameter.text),
            Kind::Real => format!("cca_real_word({})", parameter.text),
            Kind::Enumeration(place) => {
                format!("cca_label_{place}((int64_t){})", parameter.text)
            }
        };
        self.parameters.iter().map(word).collect()
    }
}

/// A text as a literal of C.
fn literal(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    let one_line: String = escaped.chars().filter(|c| !c.is_control()).collect();
    format!("\"{one_line}\"")
}

//! Ports as Rust: one crate root, over `cca-abi` and `cca-ports`.
//!
//! The generated crate contains no code of its own: enumerations, structs and `#[port]` traits,
//! from which the macro makes tables, proxies and dispatchers. It may be built by anyone with the
//! framework's sources, so it uses only names of `cca-ports`, and imports just those that the text
//! mentions.
//!
//! ```text
//! package demo version 1.0 {            #[port(name = "demo.Solver", version = "1.0")]
//!   interface Solver extends Port {     pub trait SolverPort {
//!     double solve(in array<double> a);     #[perf(a: i64 = a.len() as i64)]
//!   }                                       fn solve(&self, a: …) -> Result<f64, PortError>;
//! }                                     }
//! ```
//!
//! `signature` must give the text that `#[port]` hashes for the same trait, character by character:
//! the C and Fortran ports carry a hash computed from it.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::names::{camel, upper};
use super::parameters::{Kind, Parameter, Value};
use super::resolve::{Access, Element, Enumeration, Library, Method, Plain, Port, Struct, Ty};

/// The crate root.
pub fn source(library: &Library) -> String {
    let mut text = format!(
        "//! The ports of `{}`: made by `mastermind proxy`. Edit the SIDL and make them again.\n\n",
        library.file
    );
    let body = body(library);
    let known = [
        "DComplex",
        "FComplex",
        "GivenArray",
        "LentArray",
        "LentArrayMut",
        "OwnedArray",
        "OwnedPort",
        "OwnedText",
        "PerfValue",
        "PortError",
        "RSlice",
        "RSliceMut",
        "RStr",
        "StableAbi",
        "port",
    ];
    // An unused import would be a warning in the user's build.
    let words: BTreeSet<&str> = body
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .collect();
    let used: Vec<_> = known
        .into_iter()
        .filter(|name| words.contains(name))
        .collect();
    if !used.is_empty() {
        let _ = writeln!(text, "use cca_ports::{{{}}};\n", used.join(", "));
    }
    text + "cca_abi::shared_types!();\n" + &body
}

fn body(library: &Library) -> String {
    let mut text = String::new();
    for enumeration in &library.enumerations {
        text += &enumeration_source(enumeration);
    }
    for structure in &library.structs {
        text += &struct_source(structure);
    }
    for port in &library.ports {
        for method in &port.methods {
            text += &result_struct(library, port, method).unwrap_or_default();
        }
        text += &port_source(library, port);
    }
    text
}

/// Lines of documentation, each with its indent.
fn doc(indent: &str, paragraphs: &[String]) -> String {
    let mut text = String::new();
    for (place, paragraph) in paragraphs.iter().filter(|p| !p.is_empty()).enumerate() {
        if place > 0 {
            let _ = writeln!(text, "{indent}///");
        }
        for line in paragraph.lines() {
            let line = format!("{indent}/// {}", escaped(line));
            let _ = writeln!(text, "{}", line.trim_end());
        }
    }
    text
}

/// A line of a comment, escaped so that rustdoc sees neither a link nor code.
fn escaped(line: &str) -> String {
    let mut text = String::new();
    for c in line.trim().chars() {
        if matches!(c, '[' | ']' | '<' | '>' | '`' | '*' | '_') {
            text.push('\\');
        }
        // Characters that change the direction of writing have no place in a source.
        if !c.is_control() && !('\u{200e}'..='\u{206f}').contains(&c) {
            text.push(c);
        }
    }
    text
}

fn or_name(doc: &str, name: &str) -> String {
    match doc.is_empty() {
        true => format!("{name} of the SIDL."),
        false => doc.to_owned(),
    }
}

fn enumeration_source(enumeration: &Enumeration) -> String {
    let Enumeration {
        name, ty, values, ..
    } = enumeration;
    let mut text = format!("\n{}", doc("", &[or_name(&enumeration.doc, name)]));
    if !enumeration.is_counted() {
        let _ = writeln!(text, "pub type {ty} = i64;");
        for (value, number) in values {
            let constant = format!("{}_{}", upper(ty), upper(value));
            let _ = writeln!(
                text,
                "/// `{value}` of [`{ty}`].\npub const {constant}: {ty} = {number};"
            );
        }
        return text;
    }
    let _ = write!(
        text,
        "#[repr(u32)]\n#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi, PerfValue)]\npub enum {ty} {{\n"
    );
    for (value, number) in values {
        let _ = writeln!(text, "    /// `{value}`.\n    {} = {number},", camel(value));
    }
    let _ = write!(
        text,
        "}}\n\nimpl {ty} {{\n    /// The value of a number that a method returned; none for any other.\n    \
         pub fn from_number(number: i64) -> Option<Self> {{\n        match number {{\n"
    );
    for (value, number) in values {
        let _ = writeln!(
            text,
            "            {number} => Some(Self::{}),",
            camel(value)
        );
    }
    text + "            _ => None,\n        }\n    }\n}\n"
}

fn struct_source(structure: &Struct) -> String {
    let mut text = format!("\n{}", doc("", &[or_name(&structure.doc, &structure.name)]));
    let _ = write!(
        text,
        "#[repr(C)]\n#[derive(Clone, Copy, Debug, PartialEq, StableAbi)]\npub struct {} {{\n",
        structure.ty
    );
    for (field, plain) in &structure.fields {
        let _ = writeln!(
            text,
            "    /// Member `{field}`.\n    pub {field}: {},",
            plain_type(*plain)
        );
    }
    text + "}\n"
}

/// The struct for results of a method that returns several values.
fn result_struct(library: &Library, port: &Port, method: &Method) -> Option<String> {
    let name = method.result_type.as_ref()?;
    let mut text = format!(
        "\n/// What `{}` of [`{}`] returns.\n#[repr(C)]\n#[derive(Debug, StableAbi)]\npub struct {name} {{\n",
        method.sidl, port.ty
    );
    for (field, ty) in &method.results {
        let what = match field.as_str() {
            "result" => "The result itself.".to_owned(),
            _ => format!("Argument `{field}`, as it comes back."),
        };
        let _ = writeln!(
            text,
            "    /// {what}\n    pub {field}: {},",
            type_text(library, ty)
        );
    }
    Some(text + "}\n")
}

fn port_source(library: &Library, port: &Port) -> String {
    let mut text = format!("\n{}", doc("", &[or_name(&port.doc, &port.name)]));
    let _ = write!(
        text,
        "#[port(name = \"{}\", version = \"{}\")]\npub trait {} {{\n",
        port.name, port.version, port.ty
    );
    for (place, method) in port.methods.iter().enumerate() {
        if place > 0 {
            text.push('\n');
        }
        text += &method_source(library, method);
    }
    text + "}\n"
}

fn method_source(library: &Library, method: &Method) -> String {
    let mut paragraphs = vec![or_name(&method.doc, &format!("Method {}", method.sidl))];
    paragraphs.extend(method.notes.iter().cloned());
    let mut text = doc("    ", &paragraphs);
    text += "    ///\n    /// # Errors\n    /// The provider's.\n";
    if !method.parameters.is_empty() {
        let parameters: Vec<_> = method
            .parameters
            .iter()
            .map(|parameter| parameter_source(library, method, parameter))
            .collect();
        let _ = writeln!(text, "    #[perf({})]", parameters.join(", "));
    }
    let signature = signature(library, method);
    let (head, result) = signature.rsplit_once(" -> ").unwrap_or((&signature, "()"));
    let head = head
        .replacen('(', "(&self, ", 1)
        .replace("(&self, )", "(&self)");
    let _ = writeln!(text, "    fn {head} -> Result<{result}, PortError>;");
    text
}

/// A method's part of the text from which the interface's hash is computed, in the form of
/// `#[port]`.
pub fn signature(library: &Library, method: &Method) -> String {
    let arguments: Vec<_> = method
        .arguments
        .iter()
        .map(|(name, ty)| format!("{name}: {}", type_text(library, ty)))
        .collect();
    let result = match (&method.result_type, method.results.as_slice()) {
        (Some(name), _) => name.clone(),
        (None, [(_, ty)]) => type_text(library, ty),
        (None, _) => "()".into(),
    };
    format!("{}({}) -> {result}", method.name, arguments.join(", "))
}

/// The text from which the interface's hash is computed.
pub fn signature_text(library: &Library, port: &Port) -> String {
    let methods: Vec<_> = port
        .methods
        .iter()
        .map(|method| signature(library, method))
        .collect();
    format!("{} {}; {}", port.name, port.version, methods.join("; "))
}

fn type_text(library: &Library, ty: &Ty) -> String {
    match ty {
        Ty::Plain(plain) => plain_type(*plain).into(),
        Ty::Enumeration(place) => library.enumerations[*place].ty.clone(),
        Ty::Struct(place) => library.structs[*place].ty.clone(),
        Ty::Text => "RStr<'_>".into(),
        Ty::OwnedText => "OwnedText".into(),
        Ty::Slice(element, false) => format!("RSlice<'_, {}>", element_type(*element, false)),
        Ty::Slice(element, true) => format!("RSliceMut<'_, {}>", element_type(*element, false)),
        Ty::OwnedSlice(element) => format!("OwnedArray<{}>", element_type(*element, true)),
        Ty::Array(element, n, Access::Read) => {
            format!("LentArray<'_, {}, {n}>", element_type(*element, false))
        }
        Ty::Array(element, n, Access::Write) => {
            format!("LentArrayMut<'_, {}, {n}>", element_type(*element, false))
        }
        Ty::Array(element, n, Access::Given) => {
            format!("GivenArray<{}, {n}>", element_type(*element, true))
        }
        Ty::Object => "OwnedPort".into(),
    }
}

fn element_type(element: Element, is_given: bool) -> &'static str {
    match element {
        Element::Plain(plain) => plain_type(plain),
        Element::Text if is_given => "OwnedText",
        Element::Text => "RStr<'_>",
    }
}

fn plain_type(plain: Plain) -> &'static str {
    match plain {
        Plain::Bool => "bool",
        Plain::Char => "u8",
        Plain::Int => "i32",
        Plain::Long | Plain::Number => "i64",
        Plain::Float => "f32",
        Plain::Double => "f64",
        Plain::FComplex => "FComplex",
        Plain::DComplex => "DComplex",
        Plain::Opaque => "usize",
    }
}

fn parameter_source(library: &Library, method: &Method, parameter: &Parameter) -> String {
    let name = &parameter.name;
    if let Value::Argument(place) = parameter.value
        && matches!(parameter.kind, Kind::Bool | Kind::Enumeration(_))
    {
        // The parameter has the argument's type.
        return format!("{name} = {}", method.arguments[place].0);
    }
    let value = value_source(method, &parameter.value, parameter.kind);
    match parameter.kind {
        Kind::Integer => format!("{name}: i64 = {value}"),
        Kind::Real => format!("{name}: f64 = {value}"),
        Kind::Bool => format!("{name}: bool = {value}"),
        Kind::Enumeration(place) => format!("{name}: {} = {value}", library.enumerations[place].ty),
    }
}

fn value_source(method: &Method, value: &Value, kind: Kind) -> String {
    let is_several = method.result_type.is_some();
    let number = |text: String, ty: &Ty| match (kind, ty) {
        (Kind::Integer, Ty::Plain(Plain::Long | Plain::Number)) => text,
        (Kind::Integer, _) => format!("i64::from({text})"),
        (Kind::Real, Ty::Plain(Plain::Double)) => text,
        (Kind::Real, _) => format!("{text} as f64"),
        _ => text,
    };
    match value {
        Value::Number(n) if kind == Kind::Real => format!("{n}.0"),
        Value::Number(n) => format!("{n}_i64"),
        Value::Argument(place) => {
            let (name, ty) = &method.arguments[*place];
            number(name.clone(), ty)
        }
        Value::Result(place) => {
            let (name, ty) = &method.results[*place];
            let text = if is_several {
                format!("result.{name}")
            } else {
                "*result".into()
            };
            number(text, ty)
        }
        Value::Length(place) => format!("{}.len() as i64", method.arguments[*place].0),
        Value::ResultLength(place) => {
            let name = &method.results[*place].0;
            let text = if is_several {
                format!("result.{name}")
            } else {
                "result".into()
            };
            format!("{text}.len() as i64")
        }
        Value::Binary(left, sign, right) => {
            let (left, right) = (
                value_source(method, left, kind),
                value_source(method, right, kind),
            );
            if kind == Kind::Real {
                return format!("({left}) {sign} ({right})");
            }
            match sign {
                // A measurement never fails the measured call: no overflow and no division by zero
                // may panic.
                '+' => format!("({left}).wrapping_add({right})"),
                '-' => format!("({left}).wrapping_sub({right})"),
                '*' => format!("({left}).wrapping_mul({right})"),
                '/' => format!("({left}).checked_div({right}).unwrap_or(0)"),
                _ => format!("({left}).checked_rem({right}).unwrap_or(0)"),
            }
        }
    }
}

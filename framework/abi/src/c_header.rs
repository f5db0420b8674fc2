//! An interface that was written in Rust, as a header for C: a pure function of its description.
//!
//! The structs come from the layouts that the structural check compares, so they match the data that crosses the
//! border; sizes are asserted in the header itself. A method that needs a type without a form in C (`RVec`, `RString`,
//! enumerations with fields) cannot be called from C: it keeps its place in the table.
//!
//! ```
//! use cca_abi::{InterfaceDescriptor, RSlice, RStr, c_header};
//!
//! // An interface as C describes it has no methods to write down.
//! static FROM_C: InterfaceDescriptor = InterfaceDescriptor {
//!     name: RStr::from_str("demo.Sum"),
//!     version: RStr::from_str("1.0"),
//!     hash: 0x2a,
//!     vtable_size: 48,
//!     methods: RSlice::EMPTY,
//!     layouts: RSlice::EMPTY,
//!     new_proxy: None,
//!     new_dispatcher: None,
//! };
//! assert!(c_header(&FROM_C).contains("#define DEMO_SUM_HASH UINT64_C(0x000000000000002a)"));
//! ```
//!
//! # Decisions
//!
//! Components in languages other than Rust use only the C functions of the table of `cca.Services`:
//! the functions from `component_name` on repeat the earlier ones with plain values instead of Rust
//! types. `c_header` of `abi` makes the header of any interface from its signatures and the layouts
//! that the structural check compares. An argument that may be an enumeration reaches a provider in
//! Rust as bits, which the provider checks (`abi/src/argument.rs`): C may pass any number.

use std::collections::BTreeMap;
use std::fmt::Write;

use abi_stable::type_layout::{TLData, TLFields, TLPrimitive, TypeLayout};

use crate::{InterfaceDescriptor, MethodDescriptor};

/// The header of an interface, guarded, to be compiled as C99 or C++; it includes `cca.h`.
pub fn c_header(interface: &'static InterfaceDescriptor) -> String {
    let (name, version) = (interface.name.as_str(), interface.version.as_str());
    let stem = identifier(name);
    let upper = stem.to_uppercase();
    let mut types = Types::of(interface, &stem);
    let functions: Vec<_> = interface
        .methods()
        .iter()
        .map(|method| types.function(method))
        .collect();
    let mut text = format!(
        "/* The interface {name} {version} for C: made from its description by `mastermind describe --format c`. */\n\
         #ifndef {upper}_H\n#define {upper}_H\n\n#include <stdbool.h>\n\n#include \"cca.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n\
         #define {upper}_NAME \"{name}\"\n#define {upper}_VERSION \"{version}\"\n\
         #define {upper}_HASH UINT64_C(0x{:016x})\n\n",
        interface.hash
    );
    text += &types.definitions;
    let _ = writeln!(
        text,
        "/* The interface's table: each method returns CCA_OK, or another status after cca_fail(). */\n\
         typedef struct {{\n    cca_vtable_header header;\n{}}} {stem}_vtable;\n",
        functions.concat()
    );
    types.assert_size(&format!("{stem}_vtable"), interface.vtable_size);
    let _ = writeln!(
        text,
        "#if defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L\n{}#endif\n\n\
         #ifdef __cplusplus\n}}\n#endif\n\n#endif",
        types.assertions
    );
    text
}

/// A name that C takes, such as `hydro_flux` of `hydro.Flux` and `shape_mut` of `ShapeMut`.
fn identifier(name: &str) -> String {
    let mut text = String::new();
    let mut before = '_';
    for c in name.chars() {
        let is_next_word = c.is_uppercase() && (before.is_lowercase() || before.is_numeric());
        if !c.is_ascii_alphanumeric() {
            text.push('_');
        } else {
            if is_next_word {
                text.push('_');
            }
            text.push(c.to_ascii_lowercase());
        }
        before = c;
    }
    match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("_{text}"),
        false => text,
    }
}

/// The types of an interface as C has them.
struct Types<'a> {
    stem: &'a str,
    /// By the text of the type in a signature, lifetimes made one.
    layouts: BTreeMap<String, &'static TypeLayout>,
    /// By the address of a layout; `None` for a type that C has no form for.
    known: BTreeMap<usize, Option<String>>,
    definitions: String,
    assertions: String,
}

impl<'a> Types<'a> {
    fn of(interface: &'static InterfaceDescriptor, stem: &'a str) -> Self {
        // The layouts of the arguments and results, in their order, each once.
        let mut texts: Vec<String> = Vec::new();
        for method in interface.methods() {
            let (arguments, result) = parts(&method.signature);
            let types = arguments.into_iter().map(|(_, ty)| ty).chain([result]);
            for ty in types.map(without_lifetimes) {
                if !texts.contains(&ty) {
                    texts.push(ty);
                }
            }
        }
        let layouts = interface.layouts().iter().copied();
        Types {
            stem,
            layouts: texts.into_iter().zip(layouts).collect(),
            known: BTreeMap::new(),
            definitions: String::new(),
            assertions: String::new(),
        }
    }

    fn assert_size(&mut self, name: &str, bytes: usize) {
        let _ = writeln!(
            self.assertions,
            "_Static_assert(sizeof({name}) == {bytes}, \"{name}\");"
        );
    }

    /// A method as a member of the table.
    fn function(&mut self, method: &MethodDescriptor) -> String {
        let (arguments, result) = parts(&method.signature);
        let name = method.name.as_str();
        let mut declared = vec!["const void *object".to_string()];
        let mut missing = None;
        for (argument, ty) in &arguments {
            match self.named(ty) {
                Some(ty) => declared.push(format!("{ty} {argument}")),
                None => missing = missing.or(Some(*ty)),
            }
        }
        if result != "()" {
            match self.named(result) {
                Some(ty) => declared.push(format!("{ty} *result")),
                None => missing = missing.or(Some(result)),
            }
        }
        declared.push("cca_error *error".into());
        let doc = method.doc.as_str().replace("*/", "* /");
        let doc = if doc.is_empty() {
            doc
        } else {
            format!("    /* {doc} */\n")
        };
        match missing {
            Some(ty) => format!("{doc}    void (*{name})(void); /* passes {ty}: not from C */\n"),
            None => format!("{doc}    int32_t (*{name})({});\n", declared.join(", ")),
        }
    }

    fn named(&mut self, ty: &str) -> Option<String> {
        let layout = *self.layouts.get(&without_lifetimes(ty))?;
        self.name(layout)
    }

    /// The C type of a layout, defined if it must be.
    fn name(&mut self, layout: &'static TypeLayout) -> Option<String> {
        let key = std::ptr::from_ref(layout) as usize;
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        // A type that contains itself has no form of its own.
        self.known.insert(key, None);
        let name = self.define(layout);
        self.known.insert(key, name.clone());
        name
    }

    fn define(&mut self, layout: &'static TypeLayout) -> Option<String> {
        match (layout.name(), layout.data()) {
            ("RStr", _) => return Some("cca_text".into()),
            ("RSlice", TLData::Struct { fields }) => return self.slice(fields, "const "),
            ("RSliceMut", TLData::Struct { fields }) => return self.slice(fields, ""),
            (_, TLData::Primitive(primitive)) => return self.primitive(primitive, layout),
            // Vectors, texts and boxes of Rust own memory of Rust's allocator.
            _ if layout.package().as_str() == "abi_stable" => return None,
            _ => {}
        }
        let name = format!("{}_{}", self.stem, identifier(layout.name()));
        if self.definitions.contains(&format!("}} {name};\n")) {
            // One of its name is another type, such as the same with other arguments.
            return None;
        }
        let definition = match layout.data() {
            TLData::Struct { fields } => {
                let mut members = String::new();
                for field in fields.iter() {
                    // A marker takes no room.
                    if field.layout().size() > 0 {
                        let ty = self.name(field.layout())?;
                        let _ = writeln!(members, "    {ty} {};", identifier(field.name()));
                    }
                }
                if members.is_empty() {
                    return None;
                }
                format!("typedef struct {{\n{members}}} {name};\n\n")
            }
            TLData::Enum(values) if values.field_count.iter().all(|n| *n == 0) => {
                // The only access to the values is their `Debug` output: `[0, 1]`.
                let numbers = format!("{:?}", values.discriminants);
                let numbers = numbers.trim_matches(['[', ']']).split(", ");
                let upper = name.to_uppercase();
                let members: Vec<_> = values
                    .variant_names_iter()
                    .zip(numbers)
                    .map(|(value, n)| format!("{upper}_{} = {n}", identifier(value).to_uppercase()))
                    .collect();
                let bits = 8 * layout.size();
                format!(
                    "/* Any other value is an error. */\nenum {{ {} }};\ntypedef uint{bits}_t {name};\n\n",
                    members.join(", ")
                )
            }
            _ => return None,
        };
        self.definitions += &definition;
        self.assert_size(&name, layout.size());
        Some(name)
    }

    /// A pointer and a number of elements.
    fn slice(&mut self, fields: TLFields, mutability: &str) -> Option<String> {
        let pointer = fields.iter().next()?.layout();
        let element = pointer.generics().type_params().first()?();
        let element = self.name(element)?;
        let short = element.trim_end_matches("_t").replace([' ', '*'], "_");
        let ending = if mutability.is_empty() {
            "slice_mut"
        } else {
            "slice"
        };
        let name = format!(
            "{}_{}_{ending}",
            self.stem,
            short.trim_start_matches(&format!("{}_", self.stem))
        );
        if !self.definitions.contains(&format!("}} {name};\n")) {
            let _ = writeln!(
                self.definitions,
                "/* {} {element}, lent for the call. */\ntypedef struct {{\n    {mutability}{element} *data;\n    size_t length;\n}} {name};\n",
                if mutability.is_empty() {
                    "To be written:"
                } else {
                    "To be read:"
                }
            );
        }
        Some(name)
    }

    fn primitive(&mut self, primitive: TLPrimitive, layout: &'static TypeLayout) -> Option<String> {
        let pointee = |types: &mut Self| {
            let inner = layout.generics().type_params().first()?();
            types.name(inner)
        };
        Some(match primitive {
            TLPrimitive::U8 => "uint8_t".into(),
            TLPrimitive::I8 => "int8_t".into(),
            TLPrimitive::U16 => "uint16_t".into(),
            TLPrimitive::I16 => "int16_t".into(),
            TLPrimitive::U32 => "uint32_t".into(),
            TLPrimitive::I32 => "int32_t".into(),
            TLPrimitive::U64 => "uint64_t".into(),
            TLPrimitive::I64 => "int64_t".into(),
            TLPrimitive::Usize => "size_t".into(),
            TLPrimitive::Isize => "ptrdiff_t".into(),
            TLPrimitive::F32 => "float".into(),
            TLPrimitive::F64 => "double".into(),
            TLPrimitive::Bool => "bool".into(),
            TLPrimitive::SharedRef | TLPrimitive::ConstPtr => {
                format!("const {} *", pointee(self)?)
            }
            TLPrimitive::MutRef | TLPrimitive::MutPtr => format!("{} *", pointee(self)?),
            TLPrimitive::Array => return None,
        })
    }
}

/// Arguments, name and type, and the result's type, of `name(a: A, b: B<'_, C>) -> R`.
fn parts(signature: &str) -> (Vec<(&str, &str)>, &str) {
    let (call, result) = signature.rsplit_once(" -> ").unwrap_or((signature, "()"));
    let list = call.split_once('(').map_or("", |(_, rest)| rest);
    let list = list.strip_suffix(')').unwrap_or(list);
    let (mut depth, mut begin, mut arguments) = (0_i32, 0, Vec::new());
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 0 || at == list.len() => {
                arguments.extend(list[begin..at].trim().split_once(": "));
                begin = at + 1;
            }
            _ => {}
        }
    }
    (arguments, result)
}

/// A type's text with every lifetime the same.
fn without_lifetimes(ty: &str) -> String {
    let mut text = String::new();
    let mut characters = ty.chars().peekable();
    while let Some(c) = characters.next() {
        text.push(c);
        if c == '\'' {
            while characters
                .peek()
                .is_some_and(|c| c.is_alphanumeric() || *c == '_')
            {
                characters.next();
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_has_arguments_and_a_result() {
        let (arguments, result) =
            parts("m(a: Axis, left: RSlice<'_, (f64, u8)>) -> RVec<RVec<f64>>");
        assert_eq!(
            arguments,
            [("a", "Axis"), ("left", "RSlice<'_, (f64, u8)>")]
        );
        assert_eq!(result, "RVec<RVec<f64>>");
        assert_eq!(parts("go() -> ()"), (vec![], "()"));
        assert_eq!(without_lifetimes("A<'_, B<'static>>"), "A<', B<'>>");
    }

    #[test]
    fn names_are_those_that_c_takes() {
        for (name, expected) in [
            ("hydro.Flux", "hydro_flux"),
            ("StatesMut", "states_mut"),
            ("demo.fast-2D", "demo_fast_2_d"),
            ("3d", "_3d"),
            ("nx", "nx"),
        ] {
            assert_eq!(identifier(name), expected);
        }
    }
}

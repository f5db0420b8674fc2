//! Ports for C, C++ and other languages that call C: a header with tables and calls, and a source with the description
//! of each port and its proxy, which records each call and forwards it.
//!
//! [`source`] takes the ports that `resolve` found and returns both texts: `header` has the types that the methods
//! pass, then for each port its table and a function to call each method; `implementation` has the parts that the
//! framework needs. Names begin with the file's stem for types and with the package's for ports, and no two are equal.
//! The hash of a port must equal that of the Rust source (`rust`), so that components in both languages connect;
//! `fortran` makes a module over the header.
//!
//! ```text
//! package demo version 1.0 {                   solver_ports.h    typedef struct { int32_t steps; ... } solver_effort;
//!   interface Solver {                                           demo_solver_vtable: int32_t (*get_effort)(
//!     /** What the last solution took. */                            const void *object, solver_effort *result, cca_error *error);
//!     Effort getEffort();                                        demo_solver_get_effort(slot, result, error)   to call it
//!   };                                         solver_ports.c    demo_solver_record_get_effort                 the proxy
//! }                                                              demo_solver_interface                         the description
//! ```

use std::collections::BTreeSet;
use std::fmt::Write;

use cca_abi::hash_signature;

use super::names::{camel, stem, upper};
use super::parameters::{Kind, Parameter, Value};
use super::resolve::{Access, Element, Enumeration, Library, Method, Plain, Port, Struct, Ty};
use super::rust;
use super::stand_in::left_out;
use crate::ports::source::instead;

/// A header and a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CSource {
    /// Prefix of the names of both files: `STEM_ports.h`, `STEM_ports.c`.
    pub file_stem: String,
    /// The types and tables; includes `cca.h` and `stdbool.h`. For C99 and C++11.
    pub header: String,
    /// The descriptions and proxies; includes `cca_recording.h`. For C99 with GNU's extensions.
    pub source: String,
}

/// A port with the prefix of its names.
pub(super) struct Named<'a> {
    pub(super) library: &'a Library,
    /// Of the files.
    pub(super) file: String,
    pub(super) port: &'a Port,
    pub(super) stem: String,
}

/// The ports of a library with their names.
pub(super) fn named<'a>(library: &'a Library, file: &str) -> Vec<Named<'a>> {
    let mut stems = BTreeSet::new();
    let mut named = Vec::new();
    for port in &library.ports {
        // `a.BC` and `a.b.C` would be one name.
        let mut stem = stem(&port.name);
        // Names with that prefix belong to `cca.h`.
        if stem.starts_with("cca_") {
            stem.insert_str(0, "sidl_");
        }
        while !stems.insert(stem.clone()) {
            stem += "_port";
        }
        named.push(Named {
            library,
            file: file.to_owned(),
            port,
            stem,
        });
    }
    named
}

/// Makes both.
pub fn source(library: &Library, file: &str) -> CSource {
    let file = stem(file);
    let named = named(library, &file);
    CSource {
        file_stem: file.clone(),
        header: header(library, &file, &named),
        source: implementation(library, &file, &named),
    }
}

fn header(library: &Library, file: &str, ports: &[Named<'_>]) -> String {
    let guard = format!("{}_PORTS_H", file.to_ascii_uppercase());
    let mut text = format!(
        "/* The ports of {} for C: made by `mastermind proxy`. Edit the SIDL and make them again.\n \
         * Each method returns CCA_OK, or another status after cca_fail(); what it gives back is in *result. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <stdbool.h>\n\n#include \"cca.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
        comment(&library.file)
    );
    for enumeration in &library.enumerations {
        text += &enumeration_source(file, enumeration);
    }
    text += &array_types(library, file);
    for structure in &library.structs {
        text += &struct_source(file, structure);
    }
    for port in ports {
        for method in &port.port.methods {
            text += &port.result_struct(method).unwrap_or_default();
        }
        text += &port.declarations();
    }
    text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
}

/// A text that ends no comment.
fn comment(text: &str) -> String {
    let printed = text.chars().filter(|c| !c.is_control() || *c == '\n');
    printed
        .collect::<String>()
        .replace("*/", "* /")
        .replace("/*", "/ *")
        .replace("??/", "?? /")
}

/// A text as a literal of C.
pub(super) fn literal(text: &str) -> String {
    let mut out = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => {
                out.push('\\');
                out.push(byte.into());
            }
            b' '..=b'~' if byte != b'?' => out.push(byte.into()),
            // Three octal digits end by themselves.
            _ => {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out + "\""
}

fn doc(indent: &str, text: &str) -> String {
    let lines: Vec<_> = text.lines().map(|line| comment(line.trim())).collect();
    match lines.is_empty() {
        true => String::new(),
        false => format!("{indent}/* {} */\n", lines.join(&format!("\n{indent} * "))),
    }
}

fn enumeration_source(file: &str, enumeration: &Enumeration) -> String {
    let Enumeration { ty, values, .. } = enumeration;
    let prefix = format!("{}_{}", file.to_ascii_uppercase(), upper(ty));
    let values: Vec<_> = values
        .iter()
        .map(|(value, number)| format!("#define {prefix}_{} INT64_C({number})\n", upper(value)))
        .collect();
    let mut text = format!("\n{}", doc("", &enumeration.doc));
    if enumeration.is_counted() {
        let _ = writeln!(
            text,
            "/* As an argument; any number but these is an error. */\ntypedef uint32_t {file}_{};",
            stem(ty)
        );
    }
    text + &values.concat()
}

fn struct_source(file: &str, structure: &Struct) -> String {
    let fields: Vec<_> = structure
        .fields
        .iter()
        .map(|(field, plain)| format!("    {} {field};\n", plain_type(file, *plain)))
        .collect();
    format!(
        "\n{}typedef struct {{\n{}}} {file}_{};\n",
        doc("", &structure.doc),
        fields.concat(),
        stem(&structure.ty)
    )
}

/// All types of the methods, each once.
pub(super) fn used(library: &Library) -> BTreeSet<&Ty> {
    let methods = library.ports.iter().flat_map(|port| &port.methods);
    let both = methods.flat_map(|method| method.arguments.iter().chain(&method.results));
    both.map(|(_, ty)| ty).collect()
}

/// Complex numbers, slices and arrays, as far as they are used.
fn array_types(library: &Library, file: &str) -> String {
    let mut text = String::new();
    let types = used(library);
    let fields = library
        .structs
        .iter()
        .flat_map(|structure| &structure.fields);
    let plains = types.iter().filter_map(|ty| match ty {
        Ty::Plain(plain)
        | Ty::Slice(Element::Plain(plain), _)
        | Ty::OwnedSlice(Element::Plain(plain))
        | Ty::Array(Element::Plain(plain), ..) => Some(*plain),
        _ => None,
    });
    let plains: BTreeSet<Plain> = plains.chain(fields.map(|(_, plain)| *plain)).collect();
    for (plain, number) in [(Plain::FComplex, "float"), (Plain::DComplex, "double")] {
        if plains.contains(&plain) {
            let name = plain_type(file, plain);
            let _ = write!(
                text,
                "\ntypedef struct {{\n    {number} re;\n    {number} im;\n}} {name};\n"
            );
        }
    }
    let is_text = |ty: &&Ty| {
        matches!(
            ty,
            Ty::OwnedText
                | Ty::OwnedSlice(Element::Text)
                | Ty::Array(Element::Text, _, Access::Given)
        )
    };
    if types.iter().any(is_text) {
        let _ = write!(
            text,
            "\n/* A text that the caller gets and gives back by `release`, which may be null. */\n\
             typedef struct {{\n    char *data;\n    size_t length;\n    \
             void (*release)(char *data, size_t length);\n}} {file}_owned_text;\n"
        );
    }
    // Lists before the arrays that contain them.
    let mut flat = BTreeSet::new();
    for ty in &types {
        match ty {
            Ty::Slice(element, is_written) => {
                flat.insert((
                    *element,
                    if *is_written {
                        Access::Write
                    } else {
                        Access::Read
                    },
                ));
            }
            Ty::OwnedSlice(element) => {
                flat.insert((*element, Access::Given));
            }
            Ty::Array(element, _, access) => {
                flat.insert((*element, *access));
            }
            _ => {}
        }
    }
    for (element, access) in flat {
        let ty = element_type(file, element, access);
        let name = slice_name(file, element, access);
        let (what, pointer, release) = match access {
            Access::Read => ("Lent for the call", format!("const {ty} *"), String::new()),
            Access::Write => (
                "Lent for the call, to be written to",
                format!("{ty} *"),
                String::new(),
            ),
            Access::Given => (
                "The caller gets it, and gives it back by `release`, which may be null",
                format!("{ty} *"),
                format!("    void (*release)({ty} *data, size_t length);\n"),
            ),
        };
        let _ = write!(
            text,
            "\n/* {what}. */\ntypedef struct {{\n    {pointer}data;\n    size_t length;\n{release}}} {name};\n"
        );
    }
    for ty in &types {
        if let Ty::Array(element, n, access) = ty {
            let (name, elements) = (
                array_name(file, *element, *n, *access),
                slice_name(file, *element, *access),
            );
            let _ = write!(
                text,
                "\n/* Elements from the one with the least indices on; where each lies: the least value of each index, how many\n \
                 * values it takes, and elements from one to the next. */\n\
                 typedef struct {{\n    {elements} elements;\n    int64_t lower[{n}];\n    uint64_t extent[{n}];\n    \
                 uint64_t stride[{n}];\n}} {name};\n"
            );
        }
    }
    text
}

fn plain_type(file: &str, plain: Plain) -> String {
    match plain {
        Plain::Bool => "bool".into(),
        Plain::Char => "uint8_t".into(),
        Plain::Int => "int32_t".into(),
        Plain::Long | Plain::Number => "int64_t".into(),
        Plain::Float => "float".into(),
        Plain::Double => "double".into(),
        Plain::FComplex => format!("{file}_fcomplex"),
        Plain::DComplex => format!("{file}_dcomplex"),
        Plain::Opaque => "uintptr_t".into(),
    }
}

fn element_type(file: &str, element: Element, access: Access) -> String {
    match (element, access) {
        (Element::Plain(plain), _) => plain_type(file, plain),
        (Element::Text, Access::Given) => format!("{file}_owned_text"),
        (Element::Text, _) => "cca_text".into(),
    }
}

fn element_name(element: Element) -> &'static str {
    match element {
        Element::Text => "text",
        Element::Plain(plain) => match plain {
            Plain::Bool => "bool",
            Plain::Char => "char",
            Plain::Int => "int",
            Plain::Long => "long",
            Plain::Float => "float",
            Plain::Double => "double",
            Plain::FComplex => "fcomplex",
            Plain::DComplex => "dcomplex",
            Plain::Opaque => "opaque",
            Plain::Number => "number",
        },
    }
}

pub(super) fn slice_name(file: &str, element: Element, access: Access) -> String {
    let kind = match access {
        Access::Read => "slice",
        Access::Write => "slice_mut",
        Access::Given => "owned",
    };
    format!("{file}_{}_{kind}", element_name(element))
}

pub(super) fn array_name(file: &str, element: Element, n: u32, access: Access) -> String {
    let kind = match access {
        Access::Read => "",
        Access::Write => "_mut",
        Access::Given => "_owned",
    };
    format!("{file}_{}_array{n}{kind}", element_name(element))
}

impl Named<'_> {
    fn ty(&self, ty: &Ty) -> String {
        let file = &self.file;
        match ty {
            Ty::Plain(plain) => plain_type(file, *plain),
            Ty::Enumeration(place) => {
                format!("{file}_{}", stem(&self.library.enumerations[*place].ty))
            }
            Ty::Struct(place) => format!("{file}_{}", stem(&self.library.structs[*place].ty)),
            Ty::Text => "cca_text".into(),
            Ty::OwnedText => format!("{file}_owned_text"),
            Ty::Slice(element, false) => slice_name(file, *element, Access::Read),
            Ty::Slice(element, true) => slice_name(file, *element, Access::Write),
            Ty::OwnedSlice(element) => slice_name(file, *element, Access::Given),
            Ty::Array(element, n, access) => array_name(file, *element, *n, *access),
            Ty::Object => "cca_owned_port".into(),
        }
    }

    fn result_struct(&self, method: &Method) -> Option<String> {
        let name = method.result_type.as_ref()?;
        let fields: Vec<_> = method
            .results
            .iter()
            .map(|(field, ty)| format!("    {} {field};\n", self.ty(ty)))
            .collect();
        Some(format!(
            "\n/* What {} of {} returns. */\ntypedef struct {{\n{}}} {}_{};\n",
            method.sidl,
            self.port.name,
            fields.concat(),
            self.file,
            stem(name)
        ))
    }

    fn result(&self, method: &Method) -> Option<String> {
        match (&method.result_type, method.results.as_slice()) {
            (Some(name), _) => Some(format!("{}_{}", self.file, stem(name))),
            (None, [(_, ty)]) => Some(self.ty(ty)),
            (None, _) => None,
        }
    }

    /// The arguments of a method's function, `first` in front.
    fn arguments(&self, method: &Method, first: &str) -> String {
        let mut text = first.to_owned();
        for (name, ty) in &method.arguments {
            let _ = write!(text, ", {} {name}", self.ty(ty));
        }
        if let Some(result) = self.result(method) {
            let _ = write!(text, ", {result} *result");
        }
        text + ", cca_error *error"
    }

    fn passed(&self, method: &Method) -> String {
        let names = method.arguments.iter().map(|(name, _)| name.as_str());
        let result = (!method.results.is_empty()).then_some("result");
        names
            .chain(result)
            .chain(["error"])
            .map(|name| format!(", {name}"))
            .collect()
    }

    fn declarations(&self) -> String {
        let Named { port, stem, .. } = self;
        let macros = stem.to_ascii_uppercase();
        let hash = hash_signature(&rust::signature_text(self.library, port));
        let mut text = format!(
            "\n{}#define {macros}_NAME {}\n#define {macros}_VERSION {}\n#define {macros}_HASH UINT64_C(0x{hash:016x})\n\n\
             typedef struct {{\n    cca_vtable_header header;\n",
            doc("", &port.doc),
            literal(&port.name),
            literal(&port.version)
        );
        for method in &port.methods {
            let paragraphs: Vec<_> = [&method.doc]
                .into_iter()
                .chain(&method.notes)
                .filter(|text| !text.is_empty())
                .map(String::as_str)
                .collect();
            text += &doc("    ", &paragraphs.join("\n"));
            let _ = writeln!(
                text,
                "    int32_t (*{})({});",
                method.name,
                self.arguments(method, "const void *object")
            );
        }
        let _ = write!(
            text,
            "}} {stem}_vtable;\n\n\
             /* Begins a table: static const {stem}_vtable table = {{ {macros}_HEADER, … }}; */\n\
             #define {macros}_HEADER {{ sizeof({stem}_vtable), CCA_TEXT({macros}_NAME), CCA_TEXT({macros}_VERSION), {macros}_HASH }}\n\n\
             /* For add_provides_port and register_uses_port; defined in {}_ports.c. */\n\
             extern const cca_interface {stem}_interface;\n",
            self.file
        );
        for method in &port.methods {
            let _ = write!(
                text,
                "\nstatic inline int32_t {stem}_{}({}) {{\n    cca_port target_ = cca_target(slot);\n    \
                 return ((const {stem}_vtable *)(const void *)target_.vtable)->{}(target_.object{});\n}}\n",
                method.name,
                self.arguments(method, "const cca_slot *slot"),
                method.name,
                self.passed(method)
            );
        }
        text
    }

    /// The proxy's function for a method. Its own names end with an underscore, as no argument's does but those that are words
    /// of a language.
    fn recorded(&self, place: usize, method: &Method) -> String {
        let (stem, name, passed) = (&self.stem, &method.name, self.passed(method));
        let n = method.parameters.len();
        let parameters = method.parameters.iter().enumerate();
        let results = parameters.filter(|(_, parameter)| parameter.is_result);
        let mut text = format!(
            "\nstatic int32_t {stem}_record_{name}({}) {{\n    const {stem}_proxy *proxy_ = (const {stem}_proxy *)object;\n    \
             const cca_proxy_method *method_ = proxy_->methods[{place}];\n    cca_port target_ = cca_target(proxy_->target);\n    \
             const {stem}_vtable *table_ = (const {stem}_vtable *)(const void *)target_.vtable;\n",
            self.arguments(method, "const void *object")
        );
        text += "    cca_recording call_;\n";
        text += &words(method);
        let words = if n > 0 { "words_" } else { "NULL" };
        text += &instead(stem, name, &passed, (words, n));
        let _ = write!(
            text,
            "    int recorded_ = cca_recording_begin(&call_, proxy_->recorder, method_, {words}, {n});\n    \
             int32_t status_ = table_->{name}(target_.object{passed});\n"
        );
        let after: Vec<_> = results
            .map(|(word, parameter)| {
                format!(
                    "        words_[{word}] = {};\n",
                    word_source(method, parameter)
                )
            })
            .collect();
        if !after.is_empty() {
            let _ = write!(
                text,
                "    if (recorded_ && status_ == CCA_OK) {{\n{}    }}\n",
                after.concat()
            );
        }
        let _ = writeln!(
            text,
            "    if (recorded_) cca_recording_end(&call_, {n}, status_ != CCA_OK);"
        );
        // The owned arguments went to the provider that failed.
        if !method.arguments.iter().any(|(_, ty)| *ty == Ty::Object) {
            let _ = write!(
                text,
                "    const cca_port *before_ = cca_before(method_);\n    if (status_ != CCA_OK && before_ != NULL)\n        \
                 return ((const {stem}_vtable *)(const void *)before_->vtable)->{name}(before_->object{passed});\n"
            );
        }
        text + "    return status_;\n}\n"
    }

    fn proxy(&self) -> String {
        let Named { port, stem, .. } = self;
        let (macros, n) = (stem.to_ascii_uppercase(), port.methods.len());
        let mut text = format!(
            "\ntypedef struct {{\n    const cca_slot *target;\n    const cca_recorder *recorder;\n    \
             const cca_proxy_method *methods[{n}];\n}} {stem}_proxy;\n"
        );
        for (place, method) in port.methods.iter().enumerate() {
            text += &self.recorded(place, method);
        }
        let functions: Vec<_> = port
            .methods
            .iter()
            .map(|method| format!(", {stem}_record_{}", method.name))
            .collect();
        let _ = write!(
            text,
            "\nstatic const {stem}_vtable {stem}_proxy_table = {{ {macros}_HEADER{} }};\n\n\
             static int32_t {stem}_new_proxy(const cca_slot *target, const cca_recorder *recorder, cca_proxy_methods methods,\n    \
             cca_owned_port *proxy, cca_error *error) {{\n    \
             if (recorder->version != CCA_RECORDING_VERSION || methods.length != {n})\n        \
             return cca_fail(error, \"cannot make a proxy: its source is of another version, expected this one's; make it again\");\n    \
             {stem}_proxy *made = ({stem}_proxy *)malloc(sizeof *made);\n    \
             if (made == NULL) return cca_fail(error, \"cannot make a proxy: no memory\");\n    \
             made->target = target;\n    made->recorder = recorder;\n    \
             for (size_t place = 0; place < {n}; place++) made->methods[place] = methods.data[place];\n    \
             proxy->port.object = made;\n    proxy->port.vtable = &{stem}_proxy_table.header;\n    \
             proxy->release = cca_release_made;\n    proxy->interface = &{stem}_interface;\n    return CCA_OK;\n}}\n",
            functions.concat()
        );
        text
    }

    /// The functions that look up the provider of a call, and the functions that make a port of
    /// them.
    fn dispatcher(&self) -> String {
        let Named { port, stem, .. } = self;
        let (macros, n) = (stem.to_ascii_uppercase(), port.methods.len());
        let mut text = String::new();
        let mut functions = String::new();
        for (place, method) in port.methods.iter().enumerate() {
            let name = &method.name;
            let given = match method.parameters.is_empty() {
                true => "NULL",
                false => "words_",
            };
            let _ = write!(
                text,
                "\nstatic int32_t {stem}_dispatch_{name}({}) {{\n{}    \
                 cca_port target_ = cca_decided((const cca_dispatcher *)object, {place}, {given});\n    \
                 if (target_.vtable == NULL) {{\n{}    }}\n    \
                 return ((const {stem}_vtable *)(const void *)target_.vtable)->{name}(target_.object{});\n}}\n",
                self.arguments(method, "const void *object"),
                words(method),
                left_out(method),
                self.passed(method)
            );
            let _ = write!(functions, ", {stem}_dispatch_{name}");
        }
        let _ = write!(
            text,
            "\nstatic const {stem}_vtable {stem}_dispatcher_table = {{ {macros}_HEADER{functions} }};\n\n\
             static int32_t {stem}_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, cca_owned_port *dispatcher,\n    \
             cca_error *error) {{\n    \
             return cca_new_dispatcher(providers, decisions, {n}, &{stem}_dispatcher_table.header, &{stem}_interface, dispatcher, error);\n}}\n"
        );
        text
    }

    fn description(&self) -> String {
        let Named {
            library,
            port,
            stem,
            ..
        } = self;
        let macros = stem.to_ascii_uppercase();
        let mut text = String::new();
        let mut methods = Vec::new();
        for method in &port.methods {
            let mut parameters = Vec::new();
            for parameter in &method.parameters {
                let (kind, labels) = match parameter.kind {
                    Kind::Integer => ("CCA_PARAMETER_INTEGER", "{ NULL, 0 }".to_owned()),
                    Kind::Real => ("CCA_PARAMETER_REAL", "{ NULL, 0 }".to_owned()),
                    Kind::Bool => (
                        "CCA_PARAMETER_ENUMERATION",
                        "{ cca_bool_labels, 2 }".to_owned(),
                    ),
                    Kind::Enumeration(place) => {
                        let enumeration = &library.enumerations[place];
                        let labels = format!("{}_labels", super::names::stem(&enumeration.ty));
                        let n = enumeration.values.len();
                        ("CCA_PARAMETER_ENUMERATION", format!("{{ {labels}, {n} }}"))
                    }
                };
                parameters.push(format!(
                    "    {{ CCA_TEXT({}), {kind}, CCA_TEXT(\"\"), {labels} }},\n",
                    literal(&parameter.name)
                ));
            }
            let name = format!("{stem}_{}_parameters", method.name);
            let list = match parameters.len() {
                0 => "{ NULL, 0 }".to_owned(),
                n => {
                    let _ = write!(
                        text,
                        "\nstatic const cca_parameter_description {name}[] = {{\n{}}};\n",
                        parameters.concat()
                    );
                    format!("{{ {name}, {n} }}")
                }
            };
            let summary = method
                .doc
                .split("\n\n")
                .next()
                .unwrap_or_default()
                .replace('\n', " ");
            methods.push(format!(
                "    {{ CCA_TEXT({}), CCA_TEXT({}), CCA_TEXT({}), {list} }},\n",
                literal(&method.name),
                literal(&rust::signature(library, method)),
                literal(&summary)
            ));
        }
        let _ = write!(
            text,
            "\nstatic const cca_method_description {stem}_methods[] = {{\n{}}};\n\n\
             const cca_interface {stem}_interface = {{ CCA_TEXT({macros}_NAME), CCA_TEXT({macros}_VERSION), {macros}_HASH,\n    \
             sizeof({stem}_vtable), {stem}_methods, {}, NULL, 0, (void (*)(void)){stem}_new_proxy,\n    (void (*)(void)){stem}_new_dispatcher }};\n",
            methods.concat(),
            methods.len()
        );
        text
    }
}

fn implementation(library: &Library, file: &str, ports: &[Named<'_>]) -> String {
    let mut text = format!(
        "/* The ports of {} described, with their proxies and dispatchers: made by `mastermind proxy`. To be compiled with a component. */\n\
         #include \"{file}_ports.h\"\n\n#include <stdlib.h>\n\n#include \"cca_port_proxy.h\"\n",
        comment(&library.file)
    );
    let parameters = || {
        library
            .ports
            .iter()
            .flat_map(|port| &port.methods)
            .flat_map(|method| &method.parameters)
    };
    for (place, enumeration) in library.enumerations.iter().enumerate() {
        if parameters().any(|parameter| parameter.kind == Kind::Enumeration(place)) {
            let labels: Vec<_> = enumeration
                .values
                .iter()
                .map(|(value, _)| format!("CCA_TEXT({})", literal(&camel(value).to_lowercase())))
                .collect();
            let name = stem(&enumeration.ty);
            let _ = write!(
                text,
                "\nstatic const cca_text {name}_labels[] = {{ {} }};\n",
                labels.join(", ")
            );
        }
    }
    for port in ports {
        let _ = write!(text, "\n/* {} */\n", comment(&port.port.name));
        text += &port.proxy();
        text += &port.dispatcher();
        text += &port.description();
    }
    text
}

/// The words of a method's parameters as far as they are known before the call.
fn words(method: &Method) -> String {
    let n = method.parameters.len();
    if n == 0 {
        return String::new();
    }
    let mut text = format!("    uint64_t words_[{n}] = {{ 0 }};\n");
    let parameters = method.parameters.iter().enumerate();
    for (word, parameter) in parameters.filter(|(_, parameter)| !parameter.is_result) {
        let source = word_source(method, parameter);
        let _ = writeln!(text, "    words_[{word}] = {source};");
    }
    text
}

/// A parameter's word.
fn word_source(method: &Method, parameter: &Parameter) -> String {
    let value = value_source(method, &parameter.value, parameter.kind);
    match parameter.kind {
        Kind::Real => format!("cca_real_word({value})"),
        _ => format!("(uint64_t)({value})"),
    }
}

fn value_source(method: &Method, value: &Value, kind: Kind) -> String {
    let cast = if kind == Kind::Real {
        "(double)"
    } else {
        "(int64_t)"
    };
    let result = |place: usize| match &method.result_type {
        Some(_) => format!("result->{}", method.results[place].0),
        None => "(*result)".into(),
    };
    let length = |text: &str, ty: &Ty| match ty {
        Ty::Array(_, n, _) => {
            let extents: Vec<_> = (0..*n)
                .map(|place| format!("{text}.extent[{place}]"))
                .collect();
            format!("{cast}({})", extents.join(" * "))
        }
        _ => format!("{cast}{text}.length"),
    };
    match value {
        Value::Number(n) => format!("{cast}INT64_C({n})"),
        Value::Argument(place) => format!("{cast}{}", method.arguments[*place].0),
        Value::Result(place) => format!("{cast}{}", result(*place)),
        Value::Length(place) => {
            let (name, ty) = &method.arguments[*place];
            length(name, ty)
        }
        Value::ResultLength(place) => length(&result(*place), &method.results[*place].1),
        Value::Binary(left, sign, right) => {
            let (left, right) = (
                value_source(method, left, kind),
                value_source(method, right, kind),
            );
            match (kind, sign) {
                (Kind::Real, _) => format!("({left} {sign} {right})"),
                (_, '/') => format!("cca_port_quotient({left}, {right})"),
                (_, '%') => format!("cca_port_remainder({left}, {right})"),
                // Without a sign it may overflow.
                _ => format!("(int64_t)((uint64_t)({left}) {sign} (uint64_t)({right}))"),
            }
        }
    }
}

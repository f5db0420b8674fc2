//! Ports for Fortran: a module over `cca.f90` with the types, tables and calls that the header for C has. The description of
//! each port and its proxy are the C source's, to which the module is linked.

use std::collections::BTreeSet;

use cca_abi::hash_signature;

use super::c::{Named, array_name, named, slice_name, used};
use super::names::{stem, upper};
use super::resolve::{Access, Element, Enumeration, Library, Method, Plain, Struct, Ty};
use super::rust;

/// Longest name in Fortran 2003 and later.
const MAX_NAME_LENGTH: usize = 63;
/// Longest line of a source in free form.
const MAX_LINE_LENGTH: usize = 132;

/// Makes the module.
pub fn source(library: &Library, file: &str) -> String {
    let file = stem(file);
    let ports = named(library, &file);
    let mut text = Lines::default();
    text.line(
        0,
        &format!(
            "! The ports of {} for Fortran: made by `mastermind proxy`. Edit the SIDL and make them again.",
            printed(&library.file)
        ),
    );
    text.line(
        0,
        "! Each function returns CCA_OK, or another status after cca_fail(). To be linked with what the C compiler makes of",
    );
    text.line(0, &format!("! {file}_ports.c, and compiled after cca.f90."));
    text.line(0, &format!("module {}", fit(&format!("{file}_ports"))));
    for line in [
        "use, intrinsic :: iso_c_binding",
        "use cca",
        "implicit none",
        "private",
    ] {
        text.line(1, line);
    }
    for enumeration in &library.enumerations {
        text.enumeration(&file, enumeration);
    }
    text.arrays(library, &file);
    for structure in &library.structs {
        text.structure(&file, structure);
    }
    for port in &ports {
        text.results(port);
        text.table(library, port);
    }
    text.interfaces(library, &ports);
    text.line(0, "");
    text.line(0, "contains");
    text.lenders(library, &file);
    for port in &ports {
        text.descriptions(port);
        for method in &port.port.methods {
            text.call(port, method);
        }
    }
    text.line(0, "end module");
    text.text
}

/// A valid name in Fortran: a name that is too long ends with a number that distinguishes it from
/// others.
fn fit(name: &str) -> String {
    if name.len() <= MAX_NAME_LENGTH {
        return name.to_owned();
    }
    let number = hash_signature(name) & 0xffff_ffff;
    format!("{}_{number:08x}", &name[..MAX_NAME_LENGTH - 9])
}

/// Text for a comment or between quotation marks.
fn printed(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}

/// A type of numbers.
fn plain_type(file: &str, plain: Plain) -> String {
    match plain {
        Plain::Bool => "logical(c_bool)".into(),
        Plain::Char => "integer(c_int8_t)".into(),
        Plain::Int => "integer(c_int32_t)".into(),
        Plain::Long | Plain::Number => "integer(c_int64_t)".into(),
        Plain::Float => "real(c_float)".into(),
        Plain::Double => "real(c_double)".into(),
        Plain::FComplex => format!("type({})", fit(&format!("{file}_fcomplex"))),
        Plain::DComplex => format!("type({})", fit(&format!("{file}_dcomplex"))),
        Plain::Opaque => "integer(c_intptr_t)".into(),
    }
}

fn type_of(port: &Named<'_>, ty: &Ty) -> String {
    let file = &port.file;
    let name = match ty {
        Ty::Plain(plain) => return plain_type(file, *plain),
        Ty::Enumeration(_) => return "integer(c_int32_t)".into(),
        Ty::Text => return "type(cca_text)".into(),
        Ty::Object => return "type(cca_owned_port)".into(),
        Ty::Struct(place) => format!("{file}_{}", stem(&port.library.structs[*place].ty)),
        Ty::OwnedText => format!("{file}_owned_text"),
        Ty::Slice(element, is_written) => slice_name(file, *element, access(*is_written)),
        Ty::OwnedSlice(element) => slice_name(file, *element, Access::Given),
        Ty::Array(element, n, access) => array_name(file, *element, *n, *access),
    };
    format!("type({})", fit(&name))
}

fn access(is_written: bool) -> Access {
    match is_written {
        true => Access::Write,
        false => Access::Read,
    }
}

/// The type of a method's result.
fn result_type(port: &Named<'_>, method: &Method) -> Option<String> {
    match (&method.result_type, method.results.as_slice()) {
        (Some(name), _) => {
            let name = format!("{}_{}", port.file, stem(name));
            Some(format!("type({})", fit(&name)))
        }
        (None, [(_, ty)]) => Some(type_of(port, ty)),
        (None, _) => None,
    }
}

/// Source that grows by lines.
#[derive(Default)]
struct Lines {
    text: String,
}

impl Lines {
    /// Adds a line, or several if it is too long.
    fn line(&mut self, depth: usize, line: &str) {
        let indent = "    ".repeat(depth);
        let mut rest = line;
        let mut more = "";
        while !line.starts_with('!') && indent.len() + more.len() + rest.len() > MAX_LINE_LENGTH {
            let room = MAX_LINE_LENGTH - indent.len() - more.len() - " &".len();
            let Some(at) = rest[..room].rfind(", ") else {
                break;
            };
            let (now, later) = rest.split_at(at + 1);
            self.put(&format!("{indent}{more}{now} &"));
            (rest, more) = (later.trim_start(), "    ");
        }
        self.put(&format!("{indent}{more}{rest}"));
    }

    fn put(&mut self, line: &str) {
        self.text += line.trim_end();
        self.text.push('\n');
    }

    fn doc(&mut self, depth: usize, text: &str) {
        for line in text.lines() {
            self.line(depth, &format!("! {}", printed(line.trim())));
        }
    }

    fn enumeration(&mut self, file: &str, enumeration: &Enumeration) {
        let prefix = format!("{}_{}", file.to_ascii_uppercase(), upper(&enumeration.ty));
        let kind = match enumeration.is_counted() {
            true => "c_int32_t",
            false => "c_int64_t",
        };
        self.line(0, "");
        self.doc(1, &enumeration.doc);
        for (value, number) in &enumeration.values {
            let name = fit(&format!("{prefix}_{}", upper(value)));
            // The least number has no literal of its own.
            let number = match *number {
                i64::MIN => "-huge(0_c_int64_t) - 1_c_int64_t".into(),
                number => format!("{number}_{kind}"),
            };
            let line = format!("integer({kind}), parameter, public :: {name} = {number}");
            self.line(1, &line);
        }
    }

    /// A type with these members.
    fn record(&mut self, name: &str, members: &[String]) {
        self.line(0, "");
        self.line(1, &format!("type, bind(c), public :: {}", fit(name)));
        for member in members {
            self.line(2, member);
        }
        self.line(1, "end type");
    }

    /// Complex numbers, texts, slices and arrays, as far as they are used.
    fn arrays(&mut self, library: &Library, file: &str) {
        let types = used(library);
        let is_complex = |plain: Plain| matches!(plain, Plain::FComplex | Plain::DComplex);
        let fields = library.structs.iter().flat_map(|found| &found.fields);
        let of_types = types.iter().filter_map(|ty| match ty {
            Ty::Plain(plain)
            | Ty::Slice(Element::Plain(plain), _)
            | Ty::OwnedSlice(Element::Plain(plain))
            | Ty::Array(Element::Plain(plain), ..) => Some(*plain),
            _ => None,
        });
        let plains = of_types.chain(fields.map(|(_, plain)| *plain));
        let complex: BTreeSet<Plain> = plains.filter(|plain| is_complex(*plain)).collect();
        for plain in complex {
            let (name, number) = match plain {
                Plain::FComplex => ("fcomplex", "real(c_float)"),
                _ => ("dcomplex", "real(c_double)"),
            };
            self.record(&format!("{file}_{name}"), &[format!("{number} :: re, im")]);
        }
        let owned = [
            "type(c_ptr) :: data = c_null_ptr".to_owned(),
            "integer(c_size_t) :: length = 0".to_owned(),
            "type(c_funptr) :: release = c_null_funptr".to_owned(),
        ];
        if types.contains(&Ty::OwnedText) {
            self.record(&format!("{file}_owned_text"), &owned);
        }
        for (element, access) in flat(&types) {
            let members = match access {
                Access::Given => &owned[..],
                _ => &owned[..2],
            };
            self.record(&slice_name(file, element, access), members);
        }
        for ty in &types {
            if let Ty::Array(element, n, access) = ty {
                let elements = fit(&slice_name(file, *element, *access));
                let members = [
                    format!("type({elements}) :: elements"),
                    format!("integer(c_int64_t) :: lower({n}), extent({n}), stride({n})"),
                ];
                self.record(&array_name(file, *element, *n, *access), &members);
            }
        }
    }

    fn structure(&mut self, file: &str, structure: &Struct) {
        let fields = structure.fields.iter();
        let fields: Vec<_> = fields
            .map(|(field, plain)| format!("{} :: {}", plain_type(file, *plain), fit(field)))
            .collect();
        self.record(&format!("{file}_{}", stem(&structure.ty)), &fields);
    }

    /// The types for results of methods that return several values.
    fn results(&mut self, port: &Named<'_>) {
        for method in &port.port.methods {
            if let Some(name) = &method.result_type {
                let fields = method.results.iter();
                let fields: Vec<_> = fields
                    .map(|(field, ty)| format!("{} :: {}", type_of(port, ty), fit(field)))
                    .collect();
                self.record(&format!("{}_{}", port.file, stem(name)), &fields);
            }
        }
    }

    fn table(&mut self, library: &Library, port: &Named<'_>) {
        let macros = port.stem.to_ascii_uppercase();
        let hash = hash_signature(&rust::signature_text(library, port.port));
        self.line(0, "");
        self.doc(1, &port.port.doc);
        for (what, text) in [("NAME", &port.port.name), ("VERSION", &port.port.version)] {
            let (name, text) = (fit(&format!("{macros}_{what}")), printed(text));
            self.line(
                1,
                &format!(
                    "character(kind=c_char, len={}), target, save, public :: {name} = '{}'",
                    text.len(),
                    text.replace('\'', "''")
                ),
            );
        }
        let name = fit(&format!("{macros}_HASH"));
        let line = format!(
            "integer(c_int64_t), parameter, public :: {name} = int(z'{hash:016x}', c_int64_t)"
        );
        self.line(1, &line);
        let mut members = vec!["type(cca_vtable_header) :: header".to_owned()];
        let methods = port.port.methods.iter();
        members.extend(
            methods.map(|method| format!("type(c_funptr) :: {} = c_null_funptr", method.name)),
        );
        self.record(&format!("{}_vtable", port.stem), &members);
    }

    /// How the functions of each table are called, and where its description is.
    fn interfaces(&mut self, library: &Library, ports: &[Named<'_>]) {
        self.line(0, "");
        self.line(1, "abstract interface");
        for port in ports {
            for method in &port.port.methods {
                self.function_type(port, method);
            }
        }
        self.line(1, "end interface");
        self.line(0, "");
        self.line(
            1,
            "! What the C source defines. These are no procedures, but Fortran has no other name for what lies elsewhere.",
        );
        self.line(1, "interface");
        for Named { stem, .. } in ports {
            let name = fit(&format!("described_{stem}"));
            let line = format!("subroutine {name}() bind(c, name='{stem}_interface')");
            self.line(2, &line);
            self.line(2, "end subroutine");
        }
        self.line(1, "end interface");
        self.line(0, "");
        let file = ports.first().map_or("", |port| port.file.as_str());
        for (name, ..) in lent(library, file) {
            self.line(1, &format!("public :: {}", fit(&format!("{name}_of"))));
        }
        for port in ports {
            let functions = port.port.methods.iter().flat_map(|method| {
                let name = format!("{}_{}", port.stem, method.name);
                [fit(&name), fit(&format!("{name}_function"))]
            });
            let names = [
                fit(&format!("{}_interface", port.stem)),
                fit(&format!("{}_header", port.stem)),
            ];
            let names: Vec<_> = names.into_iter().chain(functions).collect();
            self.line(1, &format!("public :: {}", names.join(", ")));
        }
    }

    fn function_type(&mut self, port: &Named<'_>, method: &Method) {
        let name = fit(&format!("{}_{}_function", port.stem, method.name));
        let paragraphs = [&method.doc].into_iter().chain(&method.notes);
        for text in paragraphs.filter(|text| !text.is_empty()) {
            self.doc(2, text);
        }
        let names = names_of(method);
        self.line(
            2,
            &format!("function {name}(object, {names}error) result(status_) bind(c)"),
        );
        self.line(3, "import");
        self.line(3, "type(c_ptr), value :: object");
        self.declared(port, method, "value");
        self.line(2, "end function");
        self.line(0, "");
    }

    /// The arguments of a method, those that go in with this attribute, and its status.
    fn declared(&mut self, port: &Named<'_>, method: &Method, attribute: &str) {
        for (name, ty) in &method.arguments {
            let ty = type_of(port, ty);
            self.line(3, &format!("{ty}, {attribute} :: {}", fit(name)));
        }
        if let Some(ty) = result_type(port, method) {
            self.line(3, &format!("{ty}, intent(out) :: result"));
        }
        self.line(3, "type(cca_error), intent(inout) :: error");
        self.line(3, "integer(c_int32_t) :: status_");
    }

    /// Functions that lend arrays of Fortran.
    fn lenders(&mut self, library: &Library, file: &str) {
        for (name, plain, access, n) in lent(library, file) {
            let values = (plain_type(file, plain), access);
            match n {
                None => {
                    self.lender(
                        &name,
                        &values,
                        1,
                        &["lent%length = size(values, kind=c_size_t)"],
                    );
                }
                Some(n) => {
                    let lines = [
                        "lent%elements%length = size(values, kind=c_size_t)",
                        "lent%lower = 1",
                        "lent%extent = shape(values, kind=c_int64_t)",
                        "lent%stride(1) = 1",
                    ];
                    self.lender(&name, &values, n, &lines);
                }
            }
        }
    }

    fn lender(&mut self, name: &str, (ty, access): &(String, Access), n: u32, lines: &[&str]) {
        let shape = vec![":"; n as usize].join(", ");
        let first = vec!["1"; n as usize].join(", ");
        let (function, name) = (fit(&format!("{name}_of")), fit(name));
        let intent = match access {
            Access::Read => "in",
            _ => "inout",
        };
        let is_array = lines.len() > 1;
        self.line(0, "");
        self.line(
            1,
            "! Lends an array, which must live as long as it is used.",
        );
        self.line(1, &format!("function {function}(values) result(lent)"));
        self.line(
            2,
            &format!("{ty}, target, contiguous, intent({intent}) :: values({shape})"),
        );
        self.line(2, &format!("type({name}) :: lent"));
        for line in lines {
            self.line(2, line);
        }
        for place in 2..=n {
            let before = place - 1;
            self.line(
                2,
                &format!("lent%stride({place}) = lent%stride({before})*lent%extent({before})"),
            );
        }
        let data = if is_array { "elements%data" } else { "data" };
        self.line(
            2,
            &format!("if (size(values) > 0) lent%{data} = c_loc(values({first}))"),
        );
        self.line(1, "end function");
    }

    /// The functions that a port is provided and used with.
    fn descriptions(&mut self, port: &Named<'_>) {
        let Named { stem, .. } = port;
        let macros = stem.to_ascii_uppercase();
        let [interface, header, described, table, name, version, hash] = [
            format!("{stem}_interface"),
            format!("{stem}_header"),
            format!("described_{stem}"),
            format!("{stem}_vtable"),
            format!("{macros}_NAME"),
            format!("{macros}_VERSION"),
            format!("{macros}_HASH"),
        ]
        .map(|name| fit(&name));
        self.line(0, "");
        self.line(1, "! For cca_add_provides_port and cca_register_uses_port.");
        self.line(1, &format!("function {interface}() result(address)"));
        self.line(2, "type(c_ptr) :: address");
        let line = format!("address = transfer(c_funloc({described}), address)");
        self.line(2, &line);
        self.line(1, "end function");
        self.line(0, "");
        self.line(1, "! What a table of functions begins with.");
        self.line(1, &format!("function {header}() result(header)"));
        self.line(2, "type(cca_vtable_header) :: header");
        self.line(2, &format!("type({table}) :: table"));
        self.line(2, "header%size = c_sizeof(table)");
        self.line(2, &format!("header%interface = cca_text_of({name})"));
        self.line(2, &format!("header%version = cca_text_of({version})"));
        self.line(2, &format!("header%hash = {hash}"));
        self.line(1, "end function");
    }

    /// The function that calls a method of a uses port's provider.
    fn call(&mut self, port: &Named<'_>, method: &Method) {
        let Named { stem, .. } = port;
        let name = format!("{stem}_{}", method.name);
        let names = names_of(method);
        self.line(0, "");
        let line = format!(
            "function {}(slot, {names}error) result(status_)",
            fit(&name)
        );
        self.line(1, &line);
        self.line(3, "type(c_ptr), intent(in) :: slot");
        self.declared(port, method, "intent(in)");
        self.line(3, "type(cca_port) :: target_");
        let table = fit(&format!("{stem}_vtable"));
        self.line(3, &format!("type({table}), pointer :: table_"));
        let function = fit(&format!("{name}_function"));
        let line = format!("procedure({function}), pointer :: function_");
        self.line(3, &line);
        self.line(2, "target_ = cca_target(slot)");
        self.line(2, "call c_f_pointer(target_%vtable, table_)");
        let line = format!("call c_f_procpointer(table_%{}, function_)", method.name);
        self.line(2, &line);
        let line = format!("status_ = function_(target_%object, {names}error)");
        self.line(2, &line);
        self.line(1, "end function");
    }
}

/// The names of a method's arguments and of its result, each with a comma after it.
fn names_of(method: &Method) -> String {
    let names = method.arguments.iter().map(|(name, _)| fit(name));
    let result = (!method.results.is_empty()).then(|| "result".to_owned());
    names
        .chain(result)
        .map(|name| format!("{name}, "))
        .collect()
}

/// The element types of lists and of arrays, each with its access.
fn flat(types: &BTreeSet<&Ty>) -> BTreeSet<(Element, Access)> {
    let flat = types.iter().filter_map(|ty| match ty {
        Ty::Slice(element, is_written) => Some((*element, access(*is_written))),
        Ty::OwnedSlice(element) => Some((*element, Access::Given)),
        Ty::Array(element, _, access) => Some((*element, *access)),
        _ => None,
    });
    flat.collect()
}

/// Types as which arrays of Fortran are passed: name of the type, its numbers, their access, and the number of indices
/// of an array.
fn lent(library: &Library, file: &str) -> Vec<(String, Plain, Access, Option<u32>)> {
    let types = used(library);
    let slices = flat(&types).into_iter();
    let slices = slices.filter_map(|(element, access)| match element {
        Element::Plain(plain) => Some((slice_name(file, element, access), plain, access, None)),
        Element::Text => None,
    });
    let arrays = types.iter().filter_map(|ty| match ty {
        Ty::Array(element @ Element::Plain(plain), n, access) => {
            let name = array_name(file, *element, *n, *access);
            Some((name, *plain, *access, Some(*n)))
        }
        _ => None,
    });
    slices
        .chain(arrays)
        .filter(|(_, _, access, _)| *access != Access::Given)
        .collect()
}

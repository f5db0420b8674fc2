//! The table of a port made of a struct of functions, its calls, its description, proxy and
//! dispatcher.
//!
//! A struct of function pointers is C's interface (`struct solver { int (*solve)(…); … }`), and
//! becomes a port: a table with one function for each field. This file writes its two generated
//! files. The header has what every user of the port needs, table type and inline calls; the source
//! defines the interface once for a component, with a proxy that records and a dispatcher that
//! finds a provider for each call. Golden tests compare both texts.
//!
//! ```text
//! STEM_ports.h   NAME, VERSION, HASH; STEM_vtable; STEM_METHOD(slot, …) calls through the slot
//! STEM_ports.c   STEM_record_METHOD     begin, call the target, end with status and `failed`
//!                STEM_dispatch_METHOD   cca_decided(words) -> target
//!                STEM_interface         description with constructors of both
//! ```
//!
//! Names of locals end in an underscore, so that they differ from the arguments' names, which come
//! from the user's header.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::{Interface, Method, literal};
use crate::expression::Kind;
use crate::plan::Header;

/// Writes `STEM_ports.h`.
pub(super) fn header(header: &Header<'_>, stem: &str, interfaces: &[Interface<'_>]) -> String {
    let guard = format!("{}_PORTS_H", stem.to_ascii_uppercase());
    let mut text = format!(
        "/* Structs of functions of {0} as ports: made by `mastermind proxy`.\n \
         * Each method returns CCA_OK, or another status after cca_fail(); what the function returns is in *result_. */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <{0}>\n\n#include \"cca.h\"\n\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\n",
        header.include
    );
    for interface in interfaces {
        interface.write_table(&mut text, stem);
    }
    text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
}

/// Writes `STEM_ports.c`.
pub(super) fn source(header: &Header<'_>, stem: &str, interfaces: &[Interface<'_>]) -> String {
    let mut text = format!(
        "/* The ports of {} described, with their proxies and dispatchers: made by `mastermind proxy`. To be compiled with a\n \
         * component that uses them. */\n#define _GNU_SOURCE\n#include \"{stem}_ports.h\"\n\n#include <stdlib.h>\n\n\
         #include \"cca_expression.h\"\n#include \"cca_port_proxy.h\"\n",
        header.include
    );
    text += &labels(interfaces);
    for interface in interfaces {
        let _ = write!(text, "\n/* {} */\n", interface.name);
        interface.write_proxy(&mut text);
        interface.write_dispatcher(&mut text);
        interface.write_description(&mut text);
    }
    text
}

/// The enumerations that parameters are of.
fn labels(interfaces: &[Interface<'_>]) -> String {
    let mut text = String::new();
    let mut written = BTreeSet::new();
    for interface in interfaces {
        let parameters = interface
            .methods
            .iter()
            .flat_map(|method| &method.parameters);
        for parameter in parameters {
            let Kind::Enumeration(place) = parameter.kind else {
                continue;
            };
            let Some(enumeration) = interface.types.enumerations.get(place) else {
                continue;
            };
            // Several interfaces may use an enumeration; its table is written once.
            if !written.insert(place) {
                continue;
            }
            let names = &enumeration.names;
            let labels: Vec<_> = names
                .iter()
                .map(|name| format!("CCA_TEXT(\"{name}\")"))
                .collect();
            let _ = write!(
                text,
                "\nstatic const cca_text cca_labels_{place}[] = {{ {}, CCA_TEXT(\"(other)\") }};\n\
                 static inline uint64_t cca_label_{place}(int64_t value) {{\n",
                labels.join(", ")
            );
            for (index, name) in names.iter().enumerate() {
                let _ = writeln!(text, "    if (value == (int64_t){name}) return {index};");
            }
            let _ = write!(text, "    return {};\n}}\n", names.len());
        }
    }
    text
}

impl Interface<'_> {
    fn write_table(&self, text: &mut String, file: &str) {
        let (stem, macros) = (&self.stem, self.macros());
        let _ = write!(
            text,
            "\n#define {macros}_NAME {}\n#define {macros}_VERSION \"1.0\"\n#define {macros}_HASH UINT64_C(0x{:016x})\n\n\
             typedef struct {{\n    cca_vtable_header header;\n",
            literal(&self.name),
            self.hash()
        );
        for method in &self.methods {
            let arguments = self.arguments(method, "const void *object_");
            let _ = writeln!(text, "    int32_t (*{})({arguments});", method.name);
        }
        let _ = write!(
            text,
            "}} {stem}_vtable;\n\n\
             /* Begins a table: static const {stem}_vtable table = {{ {macros}_HEADER, … }}; */\n\
             #define {macros}_HEADER {{ sizeof({stem}_vtable), CCA_TEXT({macros}_NAME), CCA_TEXT({macros}_VERSION), {macros}_HASH }}\n\n\
             /* For add_provides_port and register_uses_port; defined in {file}_ports.c. */\n\
             extern const cca_interface {stem}_interface;\n"
        );
        for method in &self.methods {
            let name = &method.name;
            let _ = write!(
                text,
                "\nstatic inline int32_t {stem}_{name}({}) {{\n    cca_port target_ = cca_target(slot_);\n    \
                 return ((const {stem}_vtable *)(const void *)target_.vtable)->{name}(target_.object{});\n}}\n",
                self.arguments(method, "const cca_slot *slot_"),
                method.all_passed()
            );
        }
    }

    /// The proxy's function for a method.
    fn write_recorded(&self, text: &mut String, place: usize, method: &Method) {
        let (stem, name, passed) = (&self.stem, &method.name, method.all_passed());
        let n = method.parameters.len();
        let _ = write!(
            text,
            "\nstatic int32_t {stem}_record_{name}({}) {{\n    const {stem}_proxy *proxy_ = (const {stem}_proxy *)object_;\n    \
             const cca_proxy_method *method_ = proxy_->methods[{place}];\n    cca_port target_ = cca_target(proxy_->target);\n    \
             const {stem}_vtable *table_ = (const {stem}_vtable *)(const void *)target_.vtable;\n    cca_recording call_;\n",
            self.arguments(method, "const void *object_")
        );
        let begin = |words: &str| {
            format!("cca_recording_begin(&call_, proxy_->recorder, method_, {words}, {n})")
        };
        if n == 0 {
            // Before the record begins: a call that the former component answers is not one of this
            // class.
            *text += &instead(stem, name, &passed, ("NULL", n));
            let _ = writeln!(text, "    int recorded_ = {};", begin("NULL"));
        } else {
            let _ = write!(
                text,
                "    int cca_is_valid = 1;\n    uint64_t words_[] = {{ {} }};\n{}    \
                 /* A call whose parameters make no sense is counted as lost. */\n    \
                 if (!cca_is_valid)\n        \
                 cca_lose_parameters(proxy_->recorder, cca_thread_context(proxy_->recorder), method_);\n    \
                 int recorded_ = cca_is_valid && {};\n",
                method.words().join(", "),
                instead(stem, name, &passed, ("cca_is_valid ? words_ : NULL", n)),
                begin("words_")
            );
        }
        let _ = writeln!(
            text,
            "    int32_t status_ = table_->{name}(target_.object{passed});"
        );
        match &method.failed {
            None => {
                let _ = writeln!(
                    text,
                    "    if (recorded_) cca_recording_end(&call_, {n}, status_ != CCA_OK);"
                );
            }
            Some(failed) => {
                let is_valid = if n == 0 {
                    "    int cca_is_valid = 1;\n"
                } else {
                    ""
                };
                let _ = write!(
                    text,
                    "{is_valid}    if (recorded_) {{\n        int failed_ = status_ != CCA_OK;\n        if (!failed_) {{\n            \
                     __typeof__(*result_) result = *result_;\n            failed_ = {failed} != 0 && cca_is_valid;\n        }}\n        \
                     cca_recording_end(&call_, {n}, failed_);\n    }}\n"
                );
            }
        }
        let _ = write!(
            text,
            "    const cca_port *before_ = cca_before(method_);\n    if (status_ != CCA_OK && before_ != NULL)\n        \
             return ((const {stem}_vtable *)(const void *)before_->vtable)->{name}(before_->object{passed});\n    \
             return status_;\n}}\n"
        );
    }

    fn write_proxy(&self, text: &mut String) {
        let (stem, macros, n) = (&self.stem, self.macros(), self.methods.len());
        let _ = write!(
            text,
            "\ntypedef struct {{\n    const cca_slot *target;\n    const cca_recorder *recorder;\n    \
             const cca_proxy_method *methods[{n}];\n}} {stem}_proxy;\n"
        );
        for (place, method) in self.methods.iter().enumerate() {
            self.write_recorded(text, place, method);
        }
        let _ = write!(
            text,
            "\nstatic const {stem}_vtable {stem}_proxy_table = {{\n    {macros}_HEADER,\n{}}};\n\n\
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
            self.functions("record")
        );
    }

    /// The functions of a table, each on a line.
    fn functions(&self, kind: &str) -> String {
        let names = self.methods.iter();
        names
            .map(|method| format!("    {}_{kind}_{},\n", self.stem, method.name))
            .collect()
    }

    /// The functions that look up the provider of a call, and the functions that make a port of
    /// them.
    fn write_dispatcher(&self, text: &mut String) {
        let (stem, macros, n) = (&self.stem, self.macros(), self.methods.len());
        for (place, method) in self.methods.iter().enumerate() {
            let name = &method.name;
            let (words, given) = match method.parameters.is_empty() {
                true => (String::new(), "NULL"),
                false => (
                    format!(
                        "    int cca_is_valid = 1;\n    uint64_t words_[] = {{ {} }};\n    (void)cca_is_valid;\n",
                        method.words().join(", ")
                    ),
                    "words_",
                ),
            };
            let _ = write!(
                text,
                "\nstatic int32_t {stem}_dispatch_{name}({}) {{\n{words}    \
                 cca_port target_ = cca_decided((const cca_dispatcher *)object_, {place}, {given});\n    \
                 if (target_.vtable == NULL) {{\n{}        return CCA_OK;\n    }}\n    \
                 return ((const {stem}_vtable *)(const void *)target_.vtable)->{name}(target_.object{});\n}}\n",
                self.arguments(method, "const void *object_"),
                left_out(method),
                method.all_passed()
            );
        }
        let _ = write!(
            text,
            "\nstatic const {stem}_vtable {stem}_dispatcher_table = {{\n    {macros}_HEADER,\n{}}};\n\n\
             static int32_t {stem}_new_dispatcher(const cca_slot *const *providers, cca_decisions decisions, cca_owned_port *dispatcher,\n    \
             cca_error *error) {{\n    \
             return cca_new_dispatcher(providers, decisions, {n}, &{stem}_dispatcher_table.header, &{stem}_interface, dispatcher, error);\n}}\n",
            self.functions("dispatch")
        );
    }

    fn write_description(&self, text: &mut String) {
        let (stem, macros) = (&self.stem, self.macros());
        let mut methods = String::new();
        for method in &self.methods {
            let name = format!("{stem}_{}_parameters", method.name);
            let list = match method.parameters.len() {
                0 => "{ NULL, 0 }".to_owned(),
                n => {
                    let _ = write!(
                        text,
                        "\nstatic const cca_parameter_description {name}[] = {{\n"
                    );
                    for parameter in &method.parameters {
                        let (kind, labels) = match parameter.kind {
                            Kind::Integer => ("INTEGER", "{ NULL, 0 }".to_owned()),
                            Kind::Real => ("REAL", "{ NULL, 0 }".to_owned()),
                            Kind::Enumeration(place) => {
                                let names = self.types.enumerations.get(place);
                                let n = names.map_or(0, |found| found.names.len()) + 1;
                                ("ENUMERATION", format!("{{ cca_labels_{place}, {n} }}"))
                            }
                        };
                        let _ = writeln!(
                            text,
                            "    {{ CCA_TEXT({}), CCA_PARAMETER_{kind}, CCA_TEXT(\"\"), {labels} }},",
                            literal(&parameter.name)
                        );
                    }
                    *text += "};\n";
                    format!("{{ {name}, {n} }}")
                }
            };
            let _ = writeln!(
                methods,
                "    {{ CCA_TEXT({}), CCA_TEXT({}), CCA_TEXT(\"\"), {list} }},",
                literal(&method.name),
                literal(&method.declaration)
            );
        }
        let _ = write!(
            text,
            "\nstatic const cca_method_description {stem}_methods[] = {{\n{methods}}};\n\n\
             const cca_interface {stem}_interface = {{ CCA_TEXT({macros}_NAME), CCA_TEXT({macros}_VERSION), {macros}_HASH,\n    \
             sizeof({stem}_vtable), {stem}_methods, {}, NULL, 0, (void (*)(void)){stem}_new_proxy,\n    \
             (void (*)(void)){stem}_new_dispatcher }};\n",
            self.methods.len()
        );
    }
}

/// Calls that are not to go to the component that is there are answered by the one before.
///
/// # Arguments
/// * `words` - the parameter words, and how many there are
pub(crate) fn instead(stem: &str, name: &str, passed: &str, (words, n): (&str, usize)) -> String {
    format!(
        "    const cca_port *instead_ = cca_instead(method_, {words}, {n});\n    if (instead_ != NULL)\n        \
         return ((const {stem}_vtable *)(const void *)instead_->vtable)->{name}(instead_->object{passed});\n"
    )
}

/// Dispatcher code for a call that is left out: the result is 0, or NaN. The length of an array behind a pointer is
/// unknown.
fn left_out(method: &Method) -> String {
    let Some(result) = method.result() else {
        return String::new();
    };
    let clear = "        memset(result_, 0, sizeof *result_);\n";
    match result.kind {
        crate::types::TypeKind::Real(real) if real == "double" || real == "float" => {
            format!("{clear}        cca_poison_{real}(target_, result_, 1);\n")
        }
        _ => clear.into(),
    }
}

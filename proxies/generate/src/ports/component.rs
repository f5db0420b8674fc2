//! Classes of components that provide a struct of functions out of a library that fills it.

use std::fmt::Write;

use super::{Interface, literal};
use crate::markup::ClassMarkup;
use crate::plan::Header;

/// Common part of all classes of a library; no name that a header defines follows `STRUCT` there.
const COMMON: &str = include_str!("component.c.txt");

/// Writes `STEM_component.c`.
pub(super) fn source(header: &Header<'_>, stem: &str, interfaces: &[Interface<'_>]) -> String {
    let mut text = format!(
        "/* Components that provide the structs of functions of {} out of a library that fills them: made by `mastermind proxy`.\n \
         * To be compiled with {stem}_ports.c. */\n#define _GNU_SOURCE\n#include \"{stem}_ports.h\"\n\n{COMMON}",
        header.include
    );
    let mut entries = String::new();
    let mut n = 0;
    for interface in interfaces {
        interface.write_provider(&mut text);
        let any = [(interface.name.clone(), ClassMarkup::default())];
        let named = interface.classes.clone().into_iter();
        for (name, class) in named.chain(any) {
            interface.write_class(&mut text, n, &class);
            let doc = match class.library.is_empty() {
                true => "What a library fills the struct with.".to_owned(),
                false => format!(
                    "What {} of {} fills the struct with.",
                    class.register, class.library
                ),
            };
            let _ = writeln!(
                entries,
                "    {{ CCA_TEXT({}), CCA_TEXT(\"1.0\"), CCA_TEXT({}), create_{n} }},",
                literal(&name),
                literal(&doc)
            );
            n += 1;
        }
    }
    let _ = write!(
        text,
        "\nstatic const cca_class CLASSES[] = {{\n{entries}}};\n\
         static const cca_library LIBRARY = {{ CCA_ABI_VERSION, {n}, CLASSES, {{ NULL, 0 }} }};\n\
         __attribute__((visibility(\"default\"))) const cca_library *cca_component_v2(void);\n\
         const cca_library *cca_component_v2(void) {{ return &LIBRARY; }}\n"
    );
    text
}

impl Interface<'_> {
    /// The table of functions that call those of the struct.
    fn write_provider(&self, text: &mut String) {
        let (stem, tag) = (&self.stem, &self.tag);
        let _ = write!(
            text,
            "\n/* {}, as the library fills it. */\nstatic struct {tag} *{stem}_of(const void *object_, cca_error *error_) {{\n    \
             return (struct {tag} *)filled((struct instance *)(uintptr_t)object_, sizeof(struct {tag}), error_);\n}}\n",
            self.name
        );
        for method in &self.methods {
            let name = &method.name;
            let result = method.result().map_or("", |_| "*result_ = ");
            let _ = write!(
                text,
                "\nstatic int32_t {stem}_provide_{name}({}) {{\n    struct {tag} *self_ = {stem}_of(object_, error_);\n    \
                 if (self_ == NULL) return CCA_FAILED;\n    \
                 if (self_->{name} == NULL) return cca_fail(error_, \"cannot call \\\"{name}\\\": the library has left it out of the struct\");\n    \
                 {result}self_->{name}(self_{});\n    return CCA_OK;\n}}\n",
                self.arguments(method, "const void *object_"),
                method.passed()
            );
        }
        let functions: Vec<_> = self
            .methods
            .iter()
            .map(|method| format!("    {stem}_provide_{},\n", method.name))
            .collect();
        let _ = write!(
            text,
            "\nstatic const {stem}_vtable {stem}_provided = {{\n    {}_HEADER,\n{}}};\n",
            self.macros(),
            functions.concat()
        );
    }

    fn write_class(&self, text: &mut String, n: usize, class: &ClassMarkup) {
        let stem = &self.stem;
        let _ = write!(
            text,
            "\nstatic int32_t create_{n}(cca_component *component, cca_error *error) {{\n    \
             static const struct class class = {{ {}, {}, {}, &{stem}_provided.header, &{stem}_interface }};\n    \
             return create(&class, component, error);\n}}\n",
            literal(&self.tag.to_ascii_lowercase()),
            literal(&class.library),
            literal(&class.register)
        );
    }
}

//! Dispatcher code of a port in C for a dry run, in which no provider is called: arrays that the method would write are
//! left as they are or poisoned, and numbers that it returns are 0. A method that returns more than numbers cannot be
//! left out.

use std::fmt::Write;

use super::c::literal;
use super::resolve::{Element, Method, Plain, Ty};

/// The statements, from the outputs to the `return`.
pub(super) fn left_out(method: &Method) -> String {
    const NO_VALUE: &str = "returns more than numbers, expected numbers alone";
    let real = |plain: &Plain| match plain {
        Plain::Double => Some("double"),
        Plain::Float => Some("float"),
        _ => None,
    };
    let mut text = String::new();
    for (name, ty) in &method.arguments {
        if let Ty::Slice(Element::Plain(plain), true) = ty
            && let Some(real) = real(plain)
        {
            let _ = writeln!(
                text,
                "        cca_poison_{real}(target_, {name}.data, {name}.length);"
            );
        }
    }
    let is_number = |ty: &Ty| matches!(ty, Ty::Plain(_) | Ty::Enumeration(_) | Ty::Struct(_));
    if !method.results.iter().all(|(_, ty)| is_number(ty)) {
        let message = literal(&format!(
            "cannot leave out method \"{}\": it {NO_VALUE}",
            method.name
        ));
        let _ = writeln!(text, "        return cca_fail(error, {message});");
        return text;
    }
    if !method.results.is_empty() {
        text += "        memset(result, 0, sizeof *result);\n";
    }
    for (field, ty) in &method.results {
        if let Ty::Plain(plain) = ty
            && let Some(real) = real(plain)
        {
            let place = match method.result_type {
                Some(_) => format!("&result->{field}"),
                None => "result".into(),
            };
            let _ = writeln!(text, "        cca_poison_{real}(target_, {place}, 1);");
        }
    }
    text + "        return CCA_OK;\n"
}

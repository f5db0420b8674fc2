//! Values from the words of a line.

use cca_ports::{DComplex, FComplex, ParameterValue, TypeKind, TypeMap, TypeValue};

use super::error::RcError;
use super::interpreter::Host;

const TRUE: [&str; 5] = ["true", "t", "yes", "y", "1"];
const FALSE: [&str; 5] = ["false", "f", "no", "n", "0"];

/// A truth, in the words that Ccaffeine takes and others use.
fn truth(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    let is_in = |words: &[&str]| words.contains(&text.as_str());
    match (is_in(&TRUE), is_in(&FALSE)) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// A parameter's value of the same type as another, as an assembly's file would write it.
pub fn of_kind(like: &ParameterValue, text: &str) -> Option<toml::Value> {
    Some(match like {
        ParameterValue::Bool(_) => toml::Value::Boolean(truth(text)?),
        ParameterValue::Integer(_) => toml::Value::Integer(text.parse().ok()?),
        ParameterValue::Real(_) => toml::Value::Float(text.parse().ok()?),
        ParameterValue::Text(_) => toml::Value::String(text.into()),
    })
}

/// A property of a type; arrays have no form on a line.
fn value(kind: TypeKind, text: &str) -> Option<TypeValue> {
    let mut numbers = text.split_whitespace();
    let mut number = || {
        numbers
            .next()
            .map_or(Some(0.0), |word| word.parse::<f64>().ok())
    };
    Some(match kind {
        TypeKind::Int => TypeValue::Int(text.parse().ok()?),
        TypeKind::Long => TypeValue::Long(text.parse().ok()?),
        TypeKind::Float => TypeValue::Float(text.parse().ok()?),
        TypeKind::Double => TypeValue::Double(text.parse().ok()?),
        TypeKind::Fcomplex => TypeValue::Fcomplex(FComplex {
            re: number()? as f32,
            im: number()? as f32,
        }),
        TypeKind::Dcomplex => TypeValue::Dcomplex(DComplex {
            re: number()?,
            im: number()?,
        }),
        TypeKind::String => TypeValue::String(text.into()),
        TypeKind::Bool => TypeValue::Bool(truth(text)?),
        _ => return None,
    })
}

/// Shows all properties or one, or puts one, of the type given, of the one it has, or else a string.
///
/// # Returns
/// Whether the map has changed.
pub fn show_or_put(
    command: &'static str,
    map: &mut TypeMap,
    key: Option<String>,
    put: Option<(Option<String>, String)>,
    host: &mut dyn Host,
) -> Result<bool, RcError> {
    let shown = |map: &TypeMap, key: &str| {
        let value = map.value(key).map_or_else(String::new, ToString::to_string);
        format!("{key} ({}) = {value}", map.type_of(key))
    };
    let Some(key) = key else {
        let keys = map.get_all_keys(TypeKind::NoType);
        let lines: Vec<_> = keys.iter().map(|key| shown(map, key)).collect();
        host.say(&super::show::list("no property", &lines));
        return Ok(false);
    };
    let Some((kind, text)) = put else {
        host.say(&if map.has_key(&key) {
            shown(map, &key)
        } else {
            format!("{key}: no property")
        });
        return Ok(false);
    };
    let refuse = |found: String, expected: String| RcError::BadArgument {
        command,
        found,
        expected,
    };
    let kind = match kind {
        Some(word) => {
            let known = TypeKind::ALL.iter().find(|kind| kind.to_string() == word);
            *known.ok_or_else(|| {
                let scalars = TypeKind::ALL.iter().map(ToString::to_string);
                let scalars: Vec<_> = scalars.filter(|name| !name.contains(' ')).collect();
                refuse(word, format!("one of {}", scalars.join(", ")))
            })?
        }
        None if map.has_key(&key) => map.type_of(&key),
        None => TypeKind::String,
    };
    let value = value(kind, &text).ok_or_else(|| refuse(text, kind.to_string()))?;
    map.put_value(&key, value)
        .map_err(crate::FrameworkError::from)?;
    Ok(true)
}

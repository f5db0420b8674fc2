//! Properties of type maps in plain types: integers, real numbers, texts, and the number of their type.

use cca_abi::{ErrorCode, PortError, RSlice, RSliceMut, RStr, checked_text};
use cca_ports::{DComplex, FComplex, PlainValue, TypeKind, TypeValue, plain_kind};

/// A text that came across the border, if it is one: C may pass anything.
pub fn text<'a>(what: &str, text: &RStr<'a>) -> Result<&'a str, PortError> {
    checked_text(text).ok_or_else(|| {
        let message = format!("cannot read {what}: no text, expected a pointer to UTF-8");
        PortError::new(ErrorCode::BadParameter, message)
    })
}

pub fn bad_property(key: &str, found: impl std::fmt::Display, expected: &str) -> PortError {
    let message = format!("cannot use property \"{key}\": {found}, expected {expected}");
    PortError::new(ErrorCode::BadProperties, message)
}

/// CCA's number of a type: 1 for int, and so on in the order of `TypeKind`.
pub fn number_of(kind: TypeKind) -> u32 {
    let place = TypeKind::ALL.iter().position(|known| *known == kind);
    place.map_or(0, |place| place as u32 + 1)
}

pub fn kind_of(number: u32) -> Result<TypeKind, PortError> {
    if number == 0 {
        return Ok(TypeKind::NoType);
    }
    let kind = TypeKind::ALL.get(number as usize - 1).copied();
    kind.ok_or_else(|| {
        let most = TypeKind::ALL.len();
        let message = format!("cannot use type {number}: unknown, expected 0 to {most}");
        PortError::new(ErrorCode::BadProperties, message)
    })
}

/// The integers of an array, or of one number.
pub fn integers(value: &TypeValue) -> Option<Vec<i64>> {
    Some(match value {
        TypeValue::Int(value) => vec![(*value).into()],
        TypeValue::Long(value) => vec![*value],
        TypeValue::Bool(value) => vec![(*value).into()],
        TypeValue::IntArray(values) => values.iter().map(|value| (*value).into()).collect(),
        TypeValue::LongArray(values) => values.to_vec(),
        TypeValue::BoolArray(values) => values.iter().map(|value| (*value).into()).collect(),
        _ => return None,
    })
}

/// The real numbers of an array or of one number; a complex number gives two.
pub fn reals(value: &TypeValue) -> Option<Vec<f64>> {
    let single = |z: &FComplex| [z.re.into(), z.im.into()];
    let double = |z: &DComplex| [z.re, z.im];
    Some(match value {
        TypeValue::Float(value) => vec![(*value).into()],
        TypeValue::Double(value) => vec![*value],
        TypeValue::Fcomplex(value) => single(value).to_vec(),
        TypeValue::Dcomplex(value) => double(value).to_vec(),
        TypeValue::FloatArray(values) => values.iter().map(|value| (*value).into()).collect(),
        TypeValue::DoubleArray(values) => values.to_vec(),
        TypeValue::FcomplexArray(values) => values.iter().flat_map(single).collect(),
        TypeValue::DcomplexArray(values) => values.iter().flat_map(double).collect(),
        _ => return None,
    })
}

pub fn of_integers(key: &str, kind: TypeKind, values: &[i64]) -> Result<TypeValue, PortError> {
    let small = |value: &i64| {
        i32::try_from(*value).map_err(|_| bad_property(key, value, "a number of 32 bits"))
    };
    Ok(match kind {
        TypeKind::IntArray => {
            let values: Result<Vec<_>, _> = values.iter().map(small).collect();
            TypeValue::IntArray(values?.into())
        }
        TypeKind::LongArray => TypeValue::LongArray(values.to_vec().into()),
        TypeKind::BoolArray => {
            TypeValue::BoolArray(values.iter().map(|value| *value != 0).collect())
        }
        other => {
            return Err(bad_property(
                key,
                format!("type {other}"),
                "an array of int, long or bool",
            ));
        }
    })
}

pub fn of_reals(key: &str, kind: TypeKind, values: &[f64]) -> Result<TypeValue, PortError> {
    let is_complex = matches!(
        kind,
        TypeKind::Fcomplex | TypeKind::Dcomplex | TypeKind::FcomplexArray | TypeKind::DcomplexArray
    );
    if is_complex && !values.len().is_multiple_of(2) {
        let found = format!("{} parts", values.len());
        return Err(bad_property(key, found, "two of each complex number"));
    }
    let singles = || {
        values.chunks_exact(2).map(|z| FComplex {
            re: z[0] as f32,
            im: z[1] as f32,
        })
    };
    let doubles = || {
        values
            .chunks_exact(2)
            .map(|z| DComplex { re: z[0], im: z[1] })
    };
    let one = || bad_property(key, format!("{} parts", values.len()), "2");
    Ok(match kind {
        TypeKind::FloatArray => TypeValue::FloatArray(values.iter().map(|x| *x as f32).collect()),
        TypeKind::DoubleArray => TypeValue::DoubleArray(values.to_vec().into()),
        TypeKind::FcomplexArray => TypeValue::FcomplexArray(singles().collect()),
        TypeKind::DcomplexArray => TypeValue::DcomplexArray(doubles().collect()),
        TypeKind::Fcomplex if values.len() == 2 => {
            TypeValue::Fcomplex(singles().next().ok_or_else(one)?)
        }
        TypeKind::Dcomplex if values.len() == 2 => {
            TypeValue::Dcomplex(doubles().next().ok_or_else(one)?)
        }
        TypeKind::Fcomplex | TypeKind::Dcomplex => return Err(one()),
        other => {
            let expected = "an array of float or double, a complex number, or an array of these";
            return Err(bad_property(key, format!("type {other}"), expected));
        }
    })
}

/// One value as a property of a type.
pub fn of_value(key: &str, kind: TypeKind, value: PlainValue<'_>) -> Result<TypeValue, PortError> {
    let wrong = || {
        bad_property(
            key,
            format!("a value of kind {}", value.kind),
            &format!("one of type {kind}"),
        )
    };
    let is = |expected: u32| {
        if value.kind == expected {
            Ok(())
        } else {
            Err(wrong())
        }
    };
    Ok(match kind {
        TypeKind::Int => {
            is(plain_kind::INTEGER)?;
            let value = i32::try_from(value.integer);
            TypeValue::Int(value.map_err(|_| wrong())?)
        }
        TypeKind::Long => is(plain_kind::INTEGER).map(|()| TypeValue::Long(value.integer))?,
        TypeKind::Float => is(plain_kind::REAL).map(|()| TypeValue::Float(value.real as f32))?,
        TypeKind::Double => is(plain_kind::REAL).map(|()| TypeValue::Double(value.real))?,
        TypeKind::Bool => is(plain_kind::BOOL).map(|()| TypeValue::Bool(value.integer != 0))?,
        TypeKind::String => {
            is(plain_kind::TEXT)?;
            TypeValue::String(text("property", &value.text)?.into())
        }
        other => {
            let expected = "int, long, float, double, string or bool";
            return Err(bad_property(key, format!("type {other}"), expected));
        }
    })
}

/// A slice from C, which may pass a null pointer for no elements.
pub fn lent<'a, T>(values: &'a RSlice<'_, T>) -> &'a [T] {
    match values.len() {
        0 => &[],
        _ => values.as_slice(),
    }
}

/// As [`lent`], to be written.
pub fn lent_mut<'a, T>(values: &'a mut RSliceMut<'_, T>) -> &'a mut [T] {
    match values.len() {
        0 => &mut [],
        _ => values.as_mut_slice(),
    }
}

pub fn copy<T: Copy>(
    key: &str,
    found: Option<Vec<T>>,
    into: &mut [T],
    what: &str,
) -> Result<(), PortError> {
    let found = found.ok_or_else(|| bad_property(key, "another type or none", what))?;
    if found.len() != into.len() {
        let (has, room) = (found.len(), into.len());
        return Err(bad_property(
            key,
            format!("{has} elements"),
            &format!("the {room} that there is room for"),
        ));
    }
    into.copy_from_slice(&found);
    Ok(())
}

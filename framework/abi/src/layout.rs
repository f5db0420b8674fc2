//! The structural check: do two libraries agree on the types that an interface passes?

use abi_stable::abi_stability::abi_checking::{
    AbiInstability, AbiInstabilityError, check_layout_compatibility,
};
use abi_stable::type_layout::{TLFieldOrFunction, TypeLayout};

use crate::InterfaceDescriptor;

/// Compares the layouts of two descriptions of one interface; a description without layouts (C) agrees with any.
///
/// # Errors
/// The place where they differ, condensed: `type "Shape": field "ghost": size 4, expected 8`.
pub fn compare_layouts(
    expected: &'static InterfaceDescriptor,
    found: &'static InterfaceDescriptor,
) -> Result<(), String> {
    let (expected, found) = (expected.layouts(), found.layouts());
    if expected.is_empty() || found.is_empty() {
        return Ok(());
    }
    if expected.len() != found.len() {
        return Err(format!(
            "{} types, expected {}",
            found.len(),
            expected.len()
        ));
    }
    for (expected, found) in expected.iter().zip(found) {
        if let Err(errors) = check_layout_compatibility(expected, found) {
            // The error deepest inside the type is the cause; those above it follow from it.
            let deepest = errors
                .errors
                .iter()
                .max_by_key(|error| error.stack_trace.len());
            let what = deepest.map_or_else(|| "layout differs".into(), condense);
            return Err(format!("type \"{}\": {what}", expected.name()));
        }
    }
    Ok(())
}

fn condense(error: &AbiInstabilityError) -> String {
    let mut text = String::new();
    for place in error.stack_trace.iter() {
        if let TLFieldOrFunction::Field(field) = &place.expected {
            text += &format!("field \"{}\": ", field.name());
        }
    }
    text + &error
        .errs
        .first()
        .map_or_else(|| "differs".into(), difference)
}

fn difference(difference: &AbiInstability) -> String {
    use AbiInstability as D;
    match difference {
        D::Size(d) => format!("size {}, expected {}", d.found, d.expected),
        D::Alignment(d) => format!("alignment {}, expected {}", d.found, d.expected),
        D::Name(d) => format!("type {}, expected {}", d.found, d.expected),
        D::Package(d) => format!("package {}, expected {}", d.found, d.expected),
        D::PackageVersion(d) => format!("package version {}, expected {}", d.found, d.expected),
        D::MismatchedPrimitive(d) => format!("{:?}, expected {:?}", d.found, d.expected),
        D::FieldCountMismatch(d) => format!("{} fields, expected {}", d.found, d.expected),
        D::UnexpectedField(d) => {
            format!(
                "field \"{}\", expected \"{}\"",
                d.found.name(),
                d.expected.name()
            )
        }
        D::TooManyVariants(d) => format!("{} variants, expected {}", d.found, d.expected),
        D::UnexpectedVariant(d) => format!("variant \"{}\", expected \"{}\"", d.found, d.expected),
        other => {
            let text = format!("{other:?}");
            let short: String = text.chars().take(120).collect();
            short.split_whitespace().collect::<Vec<_>>().join(" ")
        }
    }
}

impl InterfaceDescriptor {
    /// Layouts of the types that the methods pass; none from C.
    pub fn layouts(&'static self) -> &'static [&'static TypeLayout] {
        // C leaves a null pointer with length 0, which must not become a slice.
        if self.layouts.is_empty() {
            &[]
        } else {
            self.layouts.as_slice()
        }
    }
}

//! Types of C as a header writes them.
//!
//! A wrapper must have exactly the signature of the function it replaces, so types are kept as they
//! are written: a typedef stays a typedef, and is resolved only for a question about the type
//! behind it. A type is a chain that begins at the name (pointer to array of …); `declare` writes
//! such a chain back into C's syntax, which grows around the name in both directions.
//!
//! ```text
//! declare(Array(Pointer(Function(char *s -> int)), "4"), "handlers")
//!    handlers
//!    handlers[4]
//!   *handlers[4]
//!  (*handlers[4])(char *s)        parentheses, since a function binds tighter than *
//! int (*handlers[4])(char *s)
//! ```
//!
//! Types that have no name cannot be written again; `unwritable` says so, and the function is
//! forwarded only.

use std::collections::BTreeMap;

/// A type with its qualifiers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// The type without its qualifiers.
    pub kind: TypeKind,
    /// `const`, `volatile`, `restrict`, in this order, each with a space after it; empty for none.
    pub qualifiers: String,
}

/// A type without its qualifiers, as the header spells it: names that a `typedef` gave are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// `void`.
    Void,
    /// An integer or character type, spelled as C's standard lists it first (`unsigned long`).
    Integer(&'static str),
    /// `float`, `double`, `long double`, `_Float128` and the like.
    Real(String),
    /// A complex type.
    Complex(String),
    /// A name that the header gave to a type.
    Typedef(String),
    /// A structure or union, with its keyword and its tag.
    Record(&'static str, String),
    /// An enumeration: its place among [`Types::enumerations`].
    Enumeration(usize),
    /// A pointer.
    Pointer(Box<Type>),
    /// An array, with the text between its brackets.
    Array(Box<Type>, String),
    /// A function.
    Function(Box<Signature>),
    /// A type without a name, or one that is not understood; the text gives the reason.
    Unnamed(String),
}

/// Arguments and result of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Type of the result.
    pub result: Type,
    /// The parameters, in order; arrays and functions are pointers.
    pub parameters: Vec<Argument>,
    /// Whether more arguments may follow.
    pub is_variadic: bool,
    /// Whether the declaration lists the arguments.
    pub has_prototype: bool,
}

/// One parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    /// Its name, `argument1` and so on where the header gives none.
    pub name: String,
    /// Its type.
    pub ty: Type,
}

/// An enumeration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Enumeration {
    /// Its tag; empty for none.
    pub tag: String,
    /// The names of its values.
    pub names: Vec<String>,
}

/// The types that a header and its included files define, by which names are resolved and
/// declarations written.
#[derive(Clone, Debug, Default)]
pub struct Types {
    /// The type behind each `typedef`.
    pub typedefs: BTreeMap<String, Type>,
    /// All enumerations.
    pub enumerations: Vec<Enumeration>,
    /// Fields of each structure and union that is defined, by keyword and tag.
    pub records: BTreeMap<String, Vec<(String, Type)>>,
    /// The file that defines each of them.
    pub record_files: BTreeMap<String, String>,
}

impl Type {
    /// The type without qualifiers.
    pub fn plain(kind: TypeKind) -> Self {
        Self {
            kind,
            qualifiers: String::new(),
        }
    }

    /// A pointer to this type.
    pub fn pointer(self) -> Self {
        Self::plain(TypeKind::Pointer(Box::new(self)))
    }

    /// A signed integer of 64 bits, as expressions of mark-ups are reckoned.
    pub fn integer() -> Self {
        Self::plain(TypeKind::Integer("long"))
    }

    /// A number with a fraction.
    pub fn real() -> Self {
        Self::plain(TypeKind::Real("double".into()))
    }
}

impl Types {
    /// The type behind all names that were given to it.
    pub fn resolve<'a>(&'a self, ty: &'a Type) -> &'a Type {
        let mut resolved = ty;
        // A header cannot define a name by itself; the limit is for input that only resembles a
        // header.
        for _ in 0..64 {
            match &resolved.kind {
                TypeKind::Typedef(name) => match self.typedefs.get(name) {
                    Some(next) => resolved = next,
                    None => break,
                },
                _ => break,
            }
        }
        resolved
    }

    /// Writes the declaration of `name` with a type, or the type alone if the name is empty.
    pub fn declare(&self, ty: &Type, name: &str) -> String {
        let (base, declarator) = self.declarator(ty, name.to_owned());
        if declarator.is_empty() {
            base
        } else if declarator.starts_with('*') && base.ends_with('*') {
            format!("{base}{declarator}")
        } else {
            format!("{base} {declarator}")
        }
    }

    fn declarator(&self, ty: &Type, inner: String) -> (String, String) {
        // Brackets after a declarator bind tighter than a star before it.
        let is_pointer = inner.starts_with('*');
        let grouped = |inner: String| {
            if is_pointer {
                format!("({inner})")
            } else {
                inner
            }
        };
        match &ty.kind {
            TypeKind::Pointer(target) => {
                let space = if ty.qualifiers.is_empty() { "" } else { " " };
                let mut qualifiers = ty.qualifiers.clone();
                if inner.is_empty() {
                    qualifiers = qualifiers.trim_end().to_owned();
                }
                self.declarator(target, format!("*{space}{qualifiers}{inner}"))
            }
            TypeKind::Array(element, size) => {
                self.declarator(element, format!("{}[{size}]", grouped(inner)))
            }
            TypeKind::Function(signature) => {
                let arguments = self.arguments(signature);
                self.declarator(
                    &signature.result,
                    format!("{}({arguments})", grouped(inner)),
                )
            }
            _ => (format!("{}{}", ty.qualifiers, self.base(&ty.kind)), inner),
        }
    }

    /// The parameters between the parentheses of a declaration.
    pub fn arguments(&self, signature: &Signature) -> String {
        if !signature.has_prototype {
            return String::new();
        }
        let mut arguments: Vec<_> = signature
            .parameters
            .iter()
            .map(|a| self.declare(&a.ty, &a.name))
            .collect();
        if signature.is_variadic {
            arguments.push("...".into());
        }
        if arguments.is_empty() {
            return "void".into();
        }
        arguments.join(", ")
    }

    fn base(&self, kind: &TypeKind) -> String {
        match kind {
            TypeKind::Void => "void".into(),
            TypeKind::Integer(name) => (*name).into(),
            TypeKind::Real(name) | TypeKind::Complex(name) | TypeKind::Typedef(name) => {
                name.clone()
            }
            TypeKind::Record(keyword, tag) => format!("{keyword} {tag}"),
            TypeKind::Enumeration(place) => match self.enumerations.get(*place) {
                Some(enumeration) if !enumeration.tag.is_empty() => {
                    format!("enum {}", enumeration.tag)
                }
                _ => "int".into(),
            },
            TypeKind::Unnamed(text) => format!("/* {text} */ int"),
            TypeKind::Pointer(_) | TypeKind::Array(..) | TypeKind::Function(_) => String::new(),
        }
    }

    /// Why a function with this type cannot be written down again; `None` if it can.
    pub fn unwritable(&self, ty: &Type) -> Option<String> {
        match &ty.kind {
            TypeKind::Unnamed(text) => Some(text.clone()),
            TypeKind::Record(keyword, tag) if tag.starts_with('(') => {
                Some(format!("a {keyword} without a name"))
            }
            TypeKind::Pointer(inner) | TypeKind::Array(inner, _) => self.unwritable(inner),
            TypeKind::Function(signature) => {
                let parameters = signature.parameters.iter().map(|argument| &argument.ty);
                parameters
                    .chain([&signature.result])
                    .find_map(|ty| self.unwritable(ty))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_are_written_as_c_has_them() {
        let types = Types::default();
        let int = || Type::plain(TypeKind::Integer("int"));
        let array = Type::plain(TypeKind::Array(Box::new(int()), "3".into()));
        assert_eq!(types.declare(&int().pointer().pointer(), "a"), "int **a");
        assert_eq!(types.declare(&array.clone().pointer(), "a"), "int (*a)[3]");
        let signature = Signature {
            result: array.pointer(),
            parameters: vec![Argument {
                name: "x".into(),
                ty: Type::real(),
            }],
            is_variadic: true,
            has_prototype: true,
        };
        let function = Type::plain(TypeKind::Function(Box::new(signature)));
        assert_eq!(
            types.declare(&function.pointer(), "f"),
            "int (*(*f)(double x, ...))[3]"
        );
    }
}

//! Properties of components, ports and connections: names with values of CCA's types.
//!
//! CCA attaches free-form properties to everything that a builder sees, in a map whose values keep
//! the type they were put as. Reading one as another type is an error rather than a conversion, as
//! the standard asks. The map crosses the border between libraries by value, so it is a `repr(C)`
//! vector sorted by key instead of a map of the standard library, whose layout may differ between
//! compilers. One macro, `types!`, writes the value enum, the type enum and the two accessors of
//! each of CCA's sixteen types, so that a type cannot be missing in one of them.

use std::fmt;

use crate::{ErrorCode, PortError, RString, RVec, StableAbi};

/// A complex number of single precision.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, StableAbi)]
pub struct FComplex {
    /// Real part.
    pub re: f32,
    /// Imaginary part.
    pub im: f32,
}

/// A complex number of double precision.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, StableAbi)]
pub struct DComplex {
    /// Real part.
    pub re: f64,
    /// Imaginary part.
    pub im: f64,
}

/// A property with its name.
#[repr(C)]
#[derive(Clone, Debug, PartialEq, StableAbi)]
struct Property {
    key: RString,
    value: TypeValue,
}

/// `gov.cca.TypeMap`: a value is read as the type it was put as, and keeps that type until it is removed.
///
/// ```
/// use cca_ports::TypeMap;
///
/// let mut map = TypeMap::default();
/// map.put_double("cfl", 0.4)?;
/// assert_eq!(map.get_double("cfl", 1.0)?, 0.4);
/// assert_eq!(map.get_int("steps", 10)?, 10);
/// assert!(map.get_int("cfl", 1).is_err());
/// # Ok::<(), cca_ports::TypeMismatch>(())
/// ```
#[repr(C)]
#[derive(Clone, Debug, Default, PartialEq, StableAbi)]
pub struct TypeMap {
    // Sorted by key.
    properties: RVec<Property>,
}

/// `gov.cca.TypeMismatchException`: a property was read or put as another type than it has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot use property \"{key}\": type {actual}, expected {requested}")]
pub struct TypeMismatch {
    /// Name of the property.
    pub key: String,
    /// The requested type.
    pub requested: TypeKind,
    /// The type it has.
    pub actual: TypeKind,
}

impl From<TypeMismatch> for PortError {
    fn from(mismatch: TypeMismatch) -> Self {
        PortError::new(ErrorCode::BadProperties, mismatch)
    }
}

/// A Rust type that a property can have.
pub trait TypeMapValue: Sized {
    /// Its name in CCA.
    const KIND: TypeKind;

    /// The value, to be put.
    fn into_value(self) -> TypeValue;

    /// The value, if it is of this type.
    fn from_value(value: &TypeValue) -> Option<Self>;
}

/// The types, each with its accessors' names.
macro_rules! types {
    ($($variant:ident $word:literal $type:ty, $get:ident, $put:ident;)*) => {
        /// The value of a property.
        #[repr(u8)]
        #[derive(Clone, Debug, PartialEq, StableAbi)]
        pub enum TypeValue {
            $(#[doc = concat!("CCA's ", $word, ".")] $variant($type),)*
        }

        /// The type of a property (`gov.cca.Type`).
        #[repr(u8)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
        pub enum TypeKind {
            /// There is no such property.
            NoType,
            $(#[doc = concat!("CCA's ", $word, ".")] $variant,)*
        }

        impl TypeKind {
            /// All types, in CCA's order.
            pub const ALL: &'static [TypeKind] = &[$(TypeKind::$variant),*];
        }

        impl fmt::Display for TypeKind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self {
                    TypeKind::NoType => "none",
                    $(TypeKind::$variant => $word,)*
                })
            }
        }

        impl TypeValue {
            /// Its type.
            pub fn kind(&self) -> TypeKind {
                match self { $(TypeValue::$variant(_) => TypeKind::$variant,)* }
            }
        }

        $(impl TypeMapValue for $type {
            const KIND: TypeKind = TypeKind::$variant;

            fn into_value(self) -> TypeValue {
                TypeValue::$variant(self)
            }

            fn from_value(value: &TypeValue) -> Option<Self> {
                match value {
                    TypeValue::$variant(value) => Some(value.clone()),
                    _ => None,
                }
            }
        })*

        impl TypeMap {
            $(
                #[doc = concat!("The property as ", $word, ", or `default` if there is none.")]
                ///
                /// # Errors
                /// It is of another type.
                pub fn $get(&self, key: &str, default: $type) -> Result<$type, TypeMismatch> {
                    self.get(key, default)
                }

                #[doc = concat!("Puts a property of type ", $word, ".")]
                ///
                /// # Errors
                /// It is there already, of another type.
                pub fn $put(&mut self, key: &str, value: $type) -> Result<(), TypeMismatch> {
                    self.put(key, value)
                }
            )*
        }
    };
}

types! {
    Int "int" i32, get_int, put_int;
    Long "long" i64, get_long, put_long;
    Float "float" f32, get_float, put_float;
    Double "double" f64, get_double, put_double;
    Fcomplex "fcomplex" FComplex, get_fcomplex, put_fcomplex;
    Dcomplex "dcomplex" DComplex, get_dcomplex, put_dcomplex;
    String "string" RString, get_string, put_string;
    Bool "bool" bool, get_bool, put_bool;
    IntArray "int array" RVec<i32>, get_int_array, put_int_array;
    LongArray "long array" RVec<i64>, get_long_array, put_long_array;
    FloatArray "float array" RVec<f32>, get_float_array, put_float_array;
    DoubleArray "double array" RVec<f64>, get_double_array, put_double_array;
    FcomplexArray "fcomplex array" RVec<FComplex>, get_fcomplex_array, put_fcomplex_array;
    DcomplexArray "dcomplex array" RVec<DComplex>, get_dcomplex_array, put_dcomplex_array;
    StringArray "string array" RVec<RString>, get_string_array, put_string_array;
    BoolArray "bool array" RVec<bool>, get_bool_array, put_bool_array;
}

impl TypeMap {
    /// A map with the same properties (`cloneTypeMap`).
    pub fn clone_type_map(&self) -> Self {
        self.clone()
    }

    /// A map without properties (`cloneEmpty`).
    pub fn clone_empty(&self) -> Self {
        Self::default()
    }

    /// Removes a property, whatever its type; does nothing if none has that name.
    pub fn remove(&mut self, key: &str) {
        if let Ok(at) = self.place(key) {
            self.properties.remove(at);
        }
    }

    /// Names of the properties of a type, sorted; of all types for [`TypeKind::NoType`].
    pub fn get_all_keys(&self, kind: TypeKind) -> Vec<&str> {
        let of_kind = |p: &&Property| kind == TypeKind::NoType || p.value.kind() == kind;
        let properties = self.properties.iter().filter(of_kind);
        properties.map(|property| property.key.as_str()).collect()
    }

    /// Whether there is a property of that name.
    pub fn has_key(&self, key: &str) -> bool {
        self.place(key).is_ok()
    }

    /// Type of a property; [`TypeKind::NoType`] if there is none.
    pub fn type_of(&self, key: &str) -> TypeKind {
        self.value(key).map_or(TypeKind::NoType, TypeValue::kind)
    }

    /// The property, of whatever type.
    pub fn value(&self, key: &str) -> Option<&TypeValue> {
        let at = self.place(key).ok()?;
        Some(&self.properties[at].value)
    }

    /// The property as a `T`, or `default` if there is none.
    ///
    /// # Errors
    /// It is of another type.
    pub fn get<T: TypeMapValue>(&self, key: &str, default: T) -> Result<T, TypeMismatch> {
        let Some(value) = self.value(key) else {
            return Ok(default);
        };
        T::from_value(value).ok_or_else(|| mismatch(key, T::KIND, value))
    }

    /// Puts a property.
    ///
    /// # Errors
    /// It is there already, of another type.
    pub fn put<T: TypeMapValue>(&mut self, key: &str, value: T) -> Result<(), TypeMismatch> {
        self.put_value(key, value.into_value())
    }

    /// Puts a property of whatever type.
    ///
    /// # Errors
    /// It is there already, of another type.
    pub fn put_value(&mut self, key: &str, value: TypeValue) -> Result<(), TypeMismatch> {
        match self.place(key) {
            Ok(at) => {
                let old = &mut self.properties[at].value;
                if old.kind() != value.kind() {
                    return Err(mismatch(key, value.kind(), old));
                }
                *old = value;
            }
            Err(at) => {
                let key = key.into();
                self.properties.insert(at, Property { key, value });
            }
        }
        Ok(())
    }

    fn place(&self, key: &str) -> Result<usize, usize> {
        self.properties
            .binary_search_by(|property| property.key.as_str().cmp(key))
    }
}

fn mismatch(key: &str, requested: TypeKind, value: &TypeValue) -> TypeMismatch {
    TypeMismatch {
        key: key.into(),
        requested,
        actual: value.kind(),
    }
}

impl fmt::Display for TypeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TypeValue::Int(value) => value.fmt(f),
            TypeValue::Long(value) => value.fmt(f),
            TypeValue::Float(value) => value.fmt(f),
            TypeValue::Double(value) => value.fmt(f),
            TypeValue::Fcomplex(value) => write!(f, "({}, {})", value.re, value.im),
            TypeValue::Dcomplex(value) => write!(f, "({}, {})", value.re, value.im),
            TypeValue::String(value) => f.write_str(value),
            TypeValue::Bool(value) => value.fmt(f),
            TypeValue::IntArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::LongArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::FloatArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::DoubleArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::FcomplexArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::DcomplexArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::StringArray(values) => f.debug_list().entries(values).finish(),
            TypeValue::BoolArray(values) => f.debug_list().entries(values).finish(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_property_keeps_its_type_until_it_is_removed() {
        let mut map = TypeMap::default();
        map.put_int("n", 3).unwrap();
        let wrong = map.put_double("n", 3.0).unwrap_err();
        let message = "cannot use property \"n\": type int, expected double";
        assert_eq!(wrong.to_string(), message);
        assert_eq!(PortError::from(wrong).code(), ErrorCode::BadProperties);
        assert_eq!(map.get_int("n", 0), Ok(3));
        map.remove("n");
        map.remove("n");
        assert_eq!(map.type_of("n"), TypeKind::NoType);
        map.put_double("n", 3.0).unwrap();
        assert_eq!(map.type_of("n"), TypeKind::Double);
    }

    #[test]
    fn keys_are_sorted_and_filtered_by_type() {
        let mut map = TypeMap::default();
        map.put_string("b", "x".into()).unwrap();
        map.put_bool("c", true).unwrap();
        map.put_string("a", "y".into()).unwrap();
        map.put_int_array("d", vec![1, 2].into()).unwrap();
        assert_eq!(map.get_all_keys(TypeKind::NoType), ["a", "b", "c", "d"]);
        assert_eq!(map.get_all_keys(TypeKind::String), ["a", "b"]);
        assert!(map.has_key("d") && !map.has_key("e"));
        assert_eq!(map.value("d").unwrap().to_string(), "[1, 2]");
        assert_eq!(map.clone_type_map(), map);
        assert_eq!(map.clone_empty(), TypeMap::default());
    }
}

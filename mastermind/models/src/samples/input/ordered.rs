//! JSON objects in the order of the file, and JSON values of several types.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The pairs of an object, in their order.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ordered<T, K = String>(pub Vec<(K, T)>);

impl<'de, T: Deserialize<'de>, K: Deserialize<'de>> Deserialize<'de> for Ordered<T, K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OrderedVisitor(PhantomData))
    }
}

struct OrderedVisitor<T, K>(PhantomData<(T, K)>);

impl<'de, T: Deserialize<'de>, K: Deserialize<'de>> Visitor<'de> for OrderedVisitor<T, K> {
    type Value = Ordered<T, K>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ordered<T, K>, A::Error> {
        let mut pairs = Vec::with_capacity(1);
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Ordered(pairs))
    }
}

/// A text borrowed from the input; a text with escapes is copied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Text<'a>(pub Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(TextVisitor).map(Text)
    }
}

struct TextVisitor;

impl<'de> Visitor<'de> for TextVisitor {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(text))
    }

    fn visit_str<E>(self, text: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(text.into()))
    }
}

/// Value of a parameter.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Scalar {
    Number(f64),
    Label(String),
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a label")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar::Number(value as f64))
    }

    fn visit_str<E>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar::Label(value.into()))
    }
}

/// One value or several.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Values(pub Vec<f64>);

impl<'de> Deserialize<'de> for Values {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValuesVisitor)
    }
}

struct ValuesVisitor;

impl<'de> Visitor<'de> for ValuesVisitor {
    type Value = Values;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number or a list of numbers")
    }

    fn visit_f64<E>(self, value: f64) -> Result<Values, E> {
        Ok(Values(vec![value]))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Values, E> {
        Ok(Values(vec![value as f64]))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Values, E> {
        Ok(Values(vec![value as f64]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Values, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element()? {
            values.push(value);
        }
        Ok(Values(values))
    }
}

//! Numbers with units: a value in base units, and the dimension that names these.
//!
//! The base units are the second, the byte, and every counted thing that a system file declares (cells, blocks, messages). Values are
//! always in base units; a [`Unit`] is read from text, and only texts have other ones.

use std::collections::BTreeMap;
use std::fmt;

/// Units that every file knows: name, value in base units, powers of the second and the byte.
const KNOWN: [(&str, f64, i32, i32); 21] = [
    ("s", 1.0, 1, 0),
    ("ms", 1e-3, 1, 0),
    ("us", 1e-6, 1, 0),
    ("ns", 1e-9, 1, 0),
    ("ps", 1e-12, 1, 0),
    ("min", 60.0, 1, 0),
    ("h", 3600.0, 1, 0),
    ("Hz", 1.0, -1, 0),
    ("kHz", 1e3, -1, 0),
    ("MHz", 1e6, -1, 0),
    ("GHz", 1e9, -1, 0),
    ("B", 1.0, 0, 1),
    ("kB", 1e3, 0, 1),
    ("MB", 1e6, 0, 1),
    ("GB", 1e9, 0, 1),
    ("TB", 1e12, 0, 1),
    ("KiB", 1024.0, 0, 1),
    ("MiB", 1_048_576.0, 0, 1),
    ("GiB", 1_073_741_824.0, 0, 1),
    ("TiB", 1_099_511_627_776.0, 0, 1),
    ("1", 1.0, 0, 0),
];

/// Largest power of a unit: beyond it a text is a slip of the pen.
const MAX_POWER: i32 = 12;

/// Powers of base units, none of them 0.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Dimension(BTreeMap<String, i32>);

impl Dimension {
    /// The dimension of a plain number.
    pub fn none() -> Self {
        Self::default()
    }

    /// The dimension of one base unit.
    pub fn of(base: &str) -> Self {
        Self(BTreeMap::from([(base.to_owned(), 1)]))
    }

    /// The dimension of a time.
    pub fn time() -> Self {
        Self::of("s")
    }

    /// Whether a number of it is plain.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The product with a power of another one.
    #[must_use]
    pub fn times(&self, other: &Self, power: i32) -> Self {
        let mut powers = self.0.clone();
        for (base, exponent) in &other.0 {
            let sum = powers.entry(base.clone()).or_insert(0);
            *sum = sum.saturating_add(exponent.saturating_mul(power));
        }
        powers.retain(|_, power| *power != 0);
        Self(powers)
    }

    /// The square root; `None` where a power is odd.
    pub fn root(&self) -> Option<Self> {
        let halves = self
            .0
            .iter()
            .map(|(base, power)| (power % 2 == 0).then(|| (base.clone(), power / 2)));
        halves.collect::<Option<_>>().map(Self)
    }
}

/// `s/cell`; `a plain number` without a unit.
impl fmt::Display for Dimension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_none() {
            return f.write_str("a plain number");
        }
        let factors = |sign: i32| {
            let of_sign = self.0.iter().filter(move |(_, power)| **power * sign > 0);
            let factors = of_sign.map(|(base, power)| match power.abs() {
                1 => base.clone(),
                power => format!("{base}^{power}"),
            });
            factors.collect::<Vec<_>>()
        };
        let (above, below) = (factors(1), factors(-1));
        let above = if above.is_empty() {
            "1".to_owned()
        } else {
            above.join("*")
        };
        f.write_str(&above)?;
        below.iter().try_for_each(|factor| write!(f, "/{factor}"))
    }
}

/// A value with its dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Quantity {
    /// In base units.
    pub value: f64,
    /// Which.
    pub dimension: Dimension,
}

impl Quantity {
    /// A plain number.
    pub fn plain(value: f64) -> Self {
        let dimension = Dimension::none();
        Self { value, dimension }
    }

    /// A time.
    pub fn seconds(value: f64) -> Self {
        let dimension = Dimension::time();
        Self { value, dimension }
    }
}

/// A unit as a text has it: names with their powers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// The text.
    pub text: String,
    factors: Vec<(String, i32)>,
}

impl Unit {
    /// Reads `s`, `ns/cell`, `B/s`, `1/s^2`; `None` for another form.
    pub fn read(text: &str) -> Option<Self> {
        let mut factors = Vec::new();
        let mut sign = 1;
        let mut rest = text.trim();
        loop {
            let end = rest.find(['*', '/']).unwrap_or(rest.len());
            let (name, power) = match rest[..end].split_once('^') {
                Some((name, power)) => (name, power.trim().parse::<i32>().ok()?),
                None => (&rest[..end], 1),
            };
            let name = name.trim();
            let is_one = name == "1" && factors.is_empty();
            if !(is_one || is_name(name)) || power.abs() > MAX_POWER {
                return None;
            }
            factors.push((name.to_owned(), sign * power));
            if end == rest.len() {
                break;
            }
            sign = if rest[end..].starts_with('/') { -1 } else { 1 };
            rest = &rest[end + 1..];
        }
        Some(Self {
            text: text.trim().to_owned(),
            factors,
        })
    }

    /// One of it, in base units.
    ///
    /// # Arguments
    /// * `declared` - one of a unit that is not known everywhere
    ///
    /// # Errors
    /// The name that is not a unit, or the problem with it.
    pub fn quantity<E: From<UnknownUnit>>(
        &self,
        declared: &mut impl FnMut(&str) -> Result<Option<Quantity>, E>,
    ) -> Result<Quantity, E> {
        let mut product = Quantity::plain(1.0);
        for (name, power) in &self.factors {
            let known = KNOWN.iter().find(|(known, ..)| known == name);
            let one = match known {
                Some((_, value, seconds, bytes)) => Quantity {
                    value: *value,
                    dimension: Dimension::none()
                        .times(&Dimension::time(), *seconds)
                        .times(&Dimension::of("B"), *bytes),
                },
                None => declared(name)?.ok_or_else(|| UnknownUnit { name: name.clone() })?,
            };
            product.value *= one.value.powi(*power);
            product.dimension = product.dimension.times(&one.dimension, *power);
        }
        Ok(product)
    }

    /// Whether a name is a unit that every file knows.
    pub fn is_known(name: &str) -> bool {
        KNOWN.iter().any(|(known, ..)| *known == name)
    }
}

/// An unknown unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no unit \"{name}\", expected one of [units], or s, ms, us, ns, min, h, Hz, B, kB, KiB and their likes"
)]
pub struct UnknownUnit {
    /// Its name.
    pub name: String,
}

/// Whether a text can be a name in an expression.
pub fn is_name(text: &str) -> bool {
    let mut letters = text.chars();
    let first = letters.next();
    first.is_some_and(|letter| letter.is_ascii_alphabetic() || letter == '_')
        && letters.all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Option<Quantity> {
        let mut declared = |name: &str| -> Result<_, UnknownUnit> {
            Ok((name == "cell").then(|| Quantity {
                value: 1.0,
                dimension: Dimension::of("cell"),
            }))
        };
        Unit::read(text)?.quantity(&mut declared).ok()
    }

    #[test]
    fn units_are_products_of_powers() {
        for (text, value, dimension) in [
            ("s", 1.0, "s"),
            ("ns/cell", 1e-9, "s/cell"),
            ("MB/ms", 1e9, "B/s"),
            ("1/s", 1.0, "1/s"),
            ("s * Hz", 1.0, "a plain number"),
            ("cell^2/s^3", 1.0, "cell^2/s^3"),
        ] {
            let unit = one(text).expect(text);
            assert!((unit.value / value - 1.0).abs() < 1e-12, "{text}");
            assert_eq!(unit.dimension.to_string(), dimension);
        }
        for text in ["", "s/", "/s", "2 s", "s^99", "s+s", "block", "s/1"] {
            assert_eq!(one(text), None, "{text}");
        }
    }

    #[test]
    fn roots_are_of_even_powers() {
        let square = Dimension::none().times(&Dimension::time(), 4);
        assert_eq!(square.root().expect("a root").to_string(), "s^2");
        assert_eq!(Dimension::time().root(), None);
    }
}

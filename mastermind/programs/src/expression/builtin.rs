//! The functions that every expression has.

/// A built-in function of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Builtin {
    /// Absolute value.
    Abs,
    /// Greatest whole number not above.
    Floor,
    /// Least whole number not below.
    Ceil,
    /// Nearest whole number, halves away from 0.
    Round,
    /// Square root.
    Sqrt,
    /// Natural exponential.
    Exp,
    /// Natural logarithm.
    Ln,
    /// Logarithm to base 2.
    Log2,
    /// Logarithm to base 10.
    Log10,
    /// The lesser of two.
    Min,
    /// The greater of two.
    Max,
    /// Quotient rounded down, `div(7, 2)` = 3.
    Div,
    /// Bitwise exclusive or of two whole numbers ≥ 0.
    Xor,
    /// Bitwise and of two whole numbers ≥ 0.
    Bits,
    /// Milliseconds as seconds.
    Ms,
    /// Microseconds as seconds.
    Us,
    /// Nanoseconds as seconds.
    Ns,
}

impl Builtin {
    /// Each with its name and its number of arguments.
    pub const ALL: [(&'static str, Self, usize); 17] = [
        ("abs", Self::Abs, 1),
        ("floor", Self::Floor, 1),
        ("ceil", Self::Ceil, 1),
        ("round", Self::Round, 1),
        ("sqrt", Self::Sqrt, 1),
        ("exp", Self::Exp, 1),
        ("ln", Self::Ln, 1),
        ("log2", Self::Log2, 1),
        ("log10", Self::Log10, 1),
        ("min", Self::Min, 2),
        ("max", Self::Max, 2),
        ("div", Self::Div, 2),
        ("xor", Self::Xor, 2),
        ("bits", Self::Bits, 2),
        ("ms", Self::Ms, 1),
        ("us", Self::Us, 1),
        ("ns", Self::Ns, 1),
    ];

    /// The function of that name and its number of arguments.
    pub fn named(name: &str) -> Option<(Self, usize)> {
        let found = Self::ALL.iter().find(|(known, ..)| *known == name);
        found.map(|(_, builtin, n)| (*builtin, *n))
    }

    /// The value for `a`, and for `b` if it takes two.
    #[inline]
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Abs => a.abs(),
            Self::Floor => a.floor(),
            Self::Ceil => a.ceil(),
            Self::Round => a.round(),
            Self::Sqrt => a.sqrt(),
            Self::Exp => a.exp(),
            Self::Ln => a.ln(),
            Self::Log2 => a.log2(),
            Self::Log10 => a.log10(),
            Self::Min => a.min(b),
            Self::Max => a.max(b),
            Self::Div => floor(a / b),
            Self::Xor => bitwise(a, b, |a, b| a ^ b),
            Self::Bits => bitwise(a, b, |a, b| a & b),
            Self::Ms => a / 1e3,
            Self::Us => a / 1e6,
            Self::Ns => a / 1e9,
        }
    }
}

/// The largest whole number not above `x`: [`f64::floor`], without a call where the processor has no instruction for it.
#[inline]
pub(super) fn floor(x: f64) -> f64 {
    // Zero keeps its sign; numbers larger than these are whole, or have no whole number below them
    // that fits.
    if x == 0.0 || !(-WHOLE..=WHOLE).contains(&x) {
        return x.floor();
    }
    let towards_zero = (x as i64) as f64;
    if towards_zero > x {
        towards_zero - 1.0
    } else {
        towards_zero
    }
}

/// Largest number whose bits are read: up to here each whole number is an `f64`.
const WHOLE: f64 = 9_007_199_254_740_992.0;

/// From here on every `f64` is whole, and up to twice this the next whole number is the next one: a lesser whole number that is added to
/// it is in the low bits of the sum.
const ALL_WHOLE: f64 = 4_503_599_627_370_496.0;

#[inline(always)]
fn bitwise(a: f64, b: f64, operation: impl Fn(u64, u64) -> u64) -> f64 {
    let exponent = ALL_WHOLE.to_bits();
    let (x, y) = (a + ALL_WHOLE, b + ALL_WHOLE);
    let [low_x, low_y] = [x, y].map(|sum| sum.to_bits() ^ exponent);
    if x - ALL_WHOLE == a && y - ALL_WHOLE == b && (low_x | low_y) >> 52 == 0 {
        return f64::from_bits(operation(low_x, low_y) | exponent) - ALL_WHOLE;
    }
    bitwise_of_any(a, b, operation)
}

/// The same, if one of them is large, or no whole number.
#[cold]
fn bitwise_of_any(a: f64, b: f64, operation: impl Fn(u64, u64) -> u64) -> f64 {
    let is_whole = |x: f64| (0.0..=WHOLE).contains(&x) && x.trunc() == x;
    if is_whole(a) && is_whole(b) {
        operation(a as u64, b as u64) as f64
    } else {
        f64::NAN
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bits_of_whole_numbers_are_theirs(a in 0..1_u64 << 53, b in 0..1_u64 << 53, shift in 0..53_u32, part in -1.0..1.0_f64) {
            let edges = [0, 1, (1 << 52) - 1, 1 << 52, (1 << 52) + 1, (1 << 53) - 1, 1 << 53];
            let small = [a >> shift, b >> shift, a, b];
            for (a, b) in edges.iter().chain(&small).flat_map(|a| edges.iter().chain(&small).map(move |b| (*a, *b))) {
                prop_assert_eq!(Builtin::Xor.apply(a as f64, b as f64), (a ^ b) as f64);
                prop_assert_eq!(Builtin::Bits.apply(a as f64, b as f64), (a & b) as f64);
            }
            let none = [-1.0, -0.25, 0.5, 9_007_199_254_740_994.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MIN_POSITIVE];
            for none in none.into_iter().chain([part].into_iter().filter(|part| *part != 0.0)) {
                prop_assert!(Builtin::Xor.apply(none, 3.0).is_nan() && Builtin::Bits.apply(a as f64, none).is_nan(), "{none}");
            }
        }

        #[test]
        fn the_floor_is_that_of_the_standard_library(x in any::<f64>(), small in -1e6..1e6_f64, whole in -100..100_i32) {
            let edges = [0.0, -0.0, 0.5, -0.5, WHOLE, -WHOLE, f64::INFINITY, f64::NEG_INFINITY];
            for x in edges.into_iter().chain([x, small, f64::from(whole)]) {
                // A whole part of zero has the sign of the number in `floor`, and none here.
                let expected = if x > 0.0 && x < 1.0 { 0.0 } else { x.floor() };
                prop_assert!(floor(x).to_bits() == expected.to_bits() || x.is_nan(), "{x}");
            }
        }
    }
}

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

    /// The value for `a`, and `b` where there are two.
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
    // Zero keeps its sign; larger numbers than these are whole, or have none below them that fits.
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

#[inline(always)]
fn bitwise(a: f64, b: f64, operation: impl Fn(i64, i64) -> i64) -> f64 {
    // Signed words, to which and from which numbers are converted faster.
    let whole = |x: f64| (0.0..=WHOLE).contains(&x) && (x as i64) as f64 == x;
    if whole(a) && whole(b) {
        operation(a as i64, b as i64) as f64
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

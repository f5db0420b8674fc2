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
            Self::Div => (a / b).floor(),
            Self::Xor => bitwise(a, b, |a, b| a ^ b),
            Self::Bits => bitwise(a, b, |a, b| a & b),
            Self::Ms => a / 1e3,
            Self::Us => a / 1e6,
            Self::Ns => a / 1e9,
        }
    }
}

/// Largest number whose bits are read: up to here each whole number is an `f64`.
const WHOLE: f64 = 9_007_199_254_740_992.0;

fn bitwise(a: f64, b: f64, operation: fn(u64, u64) -> u64) -> f64 {
    let whole = |x: f64| x.fract() == 0.0 && (0.0..=WHOLE).contains(&x);
    if whole(a) && whole(b) {
        operation(a as u64, b as u64) as f64
    } else {
        f64::NAN
    }
}

//! Performance parameters as words.

use abi_stable::StableAbi;
use abi_stable::std_types::RStr;

/// How the word of a parameter is read.
#[repr(u32)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, StableAbi)]
pub enum ParameterKind {
    /// A signed integer in two's complement.
    Integer = 0,
    /// The bits of an `f64`.
    Real = 1,
    /// An index into the labels.
    Enumeration = 2,
}

/// A value that can be a performance parameter.
pub trait PerfValue {
    /// How the word is read.
    const KIND: ParameterKind;
    /// Names of the values of an enumeration, by their word; empty for numbers.
    const LABELS: &'static [RStr<'static>] = &[];
    /// The value as a word of the record. Integers beyond `i64` saturate.
    fn to_word(self) -> u64;
}

macro_rules! integers {
    ($($type:ty),*) => {$(
        impl PerfValue for $type {
            const KIND: ParameterKind = ParameterKind::Integer;
            #[inline(always)]
            fn to_word(self) -> u64 {
                i64::try_from(self).unwrap_or(if self > 0 { i64::MAX } else { i64::MIN }).cast_unsigned()
            }
        }
    )*};
}
integers!(
    u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize
);

impl PerfValue for f64 {
    const KIND: ParameterKind = ParameterKind::Real;
    #[inline(always)]
    fn to_word(self) -> u64 {
        self.to_bits()
    }
}

impl PerfValue for f32 {
    const KIND: ParameterKind = ParameterKind::Real;
    #[inline(always)]
    fn to_word(self) -> u64 {
        f64::from(self).to_bits()
    }
}

impl PerfValue for bool {
    const KIND: ParameterKind = ParameterKind::Enumeration;
    const LABELS: &'static [RStr<'static>] = &[RStr::from_str("false"), RStr::from_str("true")];
    #[inline(always)]
    fn to_word(self) -> u64 {
        u64::from(self)
    }
}

impl<T: PerfValue + Copy> PerfValue for &T {
    const KIND: ParameterKind = T::KIND;
    const LABELS: &'static [RStr<'static>] = T::LABELS;
    #[inline(always)]
    fn to_word(self) -> u64 {
        (*self).to_word()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_keep_their_sign_and_saturate() {
        assert_eq!((-3i32).to_word().cast_signed(), -3);
        assert_eq!(usize::MAX.to_word().cast_signed(), i64::MAX);
        assert_eq!(i128::MIN.to_word().cast_signed(), i64::MIN);
        assert_eq!(0u8.to_word(), 0);
    }

    #[test]
    fn numbers_and_flags() {
        assert_eq!(f64::from_bits(1.5f32.to_word()), 1.5);
        assert_eq!(bool::LABELS[(&true).to_word() as usize].as_str(), "true");
    }
}

//! The four cases of the procedure.

use serde::{Serialize, Serializer};

/// How the term enters, and whether the parameters of the base are searched again.
///
/// # Source
/// The paper's Table 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Case {
    /// Integrated term, parameters kept.
    One,
    /// Added term, parameters kept.
    Two,
    /// Integrated term, parameters searched near the fit.
    Three,
    /// Added term, parameters searched near the fit.
    Four,
}

impl Case {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::One, Self::Two, Self::Three, Self::Four];

    /// 1 to 4.
    pub fn number(self) -> u8 {
        self as u8 + 1
    }

    /// The case of a number from 1 to 4.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.number() == number)
    }

    /// The term is a function of the base as well and takes its place (cases 1 and 3); else it is added.
    pub fn is_integrated(self) -> bool {
        matches!(self, Self::One | Self::Three)
    }

    /// The base has a factor of its own (case 1); if its parameters are searched, they set its size.
    pub fn scales_base(self) -> bool {
        self == Self::One
    }

    /// The parameters of the base are searched near their fit (cases 3 and 4).
    pub fn searches_parameters(self) -> bool {
        matches!(self, Self::Three | Self::Four)
    }
}

impl Serialize for Case {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u8(self.number())
    }
}

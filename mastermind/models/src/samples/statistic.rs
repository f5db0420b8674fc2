//! The statistic of the calls at a coordinate that is fitted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value that represents the calls at a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// The mean of the calls that were not delayed, if a mixture with delayed calls is likelier than scatter; else their mean.
    #[default]
    Clean,
    /// Their mean, without the calls that are set aside.
    Mean,
    /// Their median, which a few slow calls do not move.
    Median,
    /// Their minimum: the undisturbed time.
    Minimum,
}

impl Statistic {
    /// Whether it is one of the calls, and not a mean of many.
    pub(crate) fn is_one_call(self) -> bool {
        matches!(self, Self::Median | Self::Minimum)
    }
}

/// `median`.
impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Clean | Self::Mean => "mean",
            Self::Median => "median",
            Self::Minimum => "minimum",
        })
    }
}

//! Which value of the calls at a coordinate is fitted.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The value that stands for the calls at a coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Statistic {
    /// Their mean, without the calls that are set aside. Sums over calls need this one.
    #[default]
    Mean,
    /// Their median, which a few slow calls do not move.
    Median,
    /// Their minimum: the time without any disturbance.
    Minimum,
}

/// `median`.
impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mean => "mean",
            Self::Median => "median",
            Self::Minimum => "minimum",
        })
    }
}

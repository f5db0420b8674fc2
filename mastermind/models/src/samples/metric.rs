//! The metric of a call: a time, or the increase of a counter.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::samples::input::{times, with_unit};

/// The quantity of a call that is measured and modelled.
///
/// Names that end in `_s` hold seconds if the metric is a time; for a counter they hold values in the counter's own unit.
///
/// As text and in JSON a time is `wall`, `mpi`, `compute` or `inclusive`; a counter is its name, followed by its unit in brackets if it
/// has one: `page-faults`, `ru_utime [ns]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// The whole call.
    Wall,
    /// The part inside MPI routines.
    Mpi,
    /// Wall time less MPI time.
    Compute,
    /// The whole recorded call with all calls made from it; models of a component's own time use [`Metric::Wall`].
    Inclusive,
    /// A counter, over the whole call.
    Counter {
        /// Its name.
        name: String,
        /// Its unit; empty for a pure number.
        unit: String,
    },
}

impl Metric {
    /// The metric with this name; a counter if it is none of the times.
    pub fn named(text: &str) -> Self {
        match text {
            "wall" => Self::Wall,
            "mpi" => Self::Mpi,
            "compute" => Self::Compute,
            "inclusive" => Self::Inclusive,
            _ => {
                let (name, unit) = with_unit(text);
                Self::Counter {
                    name: name.into(),
                    unit: unit.into(),
                }
            }
        }
    }

    /// The metric with this name in another tool: a time under one of its usual names, such as `runtime`, else a counter.
    pub fn called(text: &str) -> Self {
        let name = text.to_ascii_lowercase();
        let is_time = |time: &Self| times(time).contains(&name.as_str());
        let known = [Self::Wall, Self::Mpi, Self::Compute]
            .into_iter()
            .find(is_time);
        known.unwrap_or_else(|| Self::named(text))
    }

    /// Whether it is a time, in seconds.
    pub fn is_time(&self) -> bool {
        !matches!(self, Self::Counter { .. })
    }

    /// Its name without its unit.
    pub fn name(&self) -> &str {
        match self {
            Self::Wall => "wall",
            Self::Mpi => "mpi",
            Self::Compute => "compute",
            Self::Inclusive => "inclusive",
            Self::Counter { name, .. } => name,
        }
    }

    /// Unit of its values; empty for a pure number.
    pub fn unit(&self) -> &str {
        match self {
            Self::Counter { unit, .. } => unit,
            _ => "s",
        }
    }

    /// Name of the quantity: `wall time`, `time in MPI`, `page-faults`.
    pub fn quantity(&self) -> String {
        match self {
            Self::Mpi => "time in MPI".into(),
            Self::Counter { name, .. } => name.clone(),
            time => format!("{time} time"),
        }
    }

    /// A value or formula followed by the unit.
    pub fn with_unit(&self, value: &str) -> String {
        match self.unit() {
            "" => value.into(),
            unit => format!("{value} {unit}"),
        }
    }
}

/// `wall`, `page-faults`.
impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Counter { name, unit } if !unit.is_empty() => {
                serializer.collect_str(&format_args!("{name} [{unit}]"))
            }
            metric => serializer.serialize_str(metric.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        match text.trim() {
            "" => Err(serde::de::Error::invalid_value(
                serde::de::Unexpected::Str(&text),
                &"wall, mpi, compute or the name of a counter",
            )),
            name => Ok(Self::named(name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_text() {
        for (text, unit, quantity) in [
            ("wall", "s", "wall time"),
            ("mpi", "s", "time in MPI"),
            ("inclusive", "s", "inclusive time"),
            ("page-faults", "", "page-faults"),
            ("ru_utime [ns]", "ns", "ru_utime"),
        ] {
            let metric = Metric::named(text);
            assert_eq!(
                (metric.unit(), metric.quantity()),
                (unit, quantity.to_owned())
            );
            let json = serde_json::to_string(&metric).unwrap();
            assert_eq!(json, format!("\"{text}\""));
            assert_eq!(serde_json::from_str::<Metric>(&json).unwrap(), metric);
        }
        assert!(serde_json::from_str::<Metric>("\" \"").is_err());
        assert_eq!(Metric::called("Runtime"), Metric::Wall);
        assert_eq!(Metric::called("visits"), Metric::named("visits"));
    }
}

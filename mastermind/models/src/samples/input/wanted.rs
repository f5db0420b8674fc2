//! The data to take from an input: the time, its unit, and the parameters.

use std::fmt;
use std::str::FromStr;

use crate::samples::metric::Metric;

/// Unit of times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// Seconds.
    #[default]
    Second,
    /// Milliseconds.
    Millisecond,
    /// Microseconds.
    Microsecond,
    /// Nanoseconds.
    Nanosecond,
}

impl TimeUnit {
    /// A time in this unit, in seconds.
    pub fn to_s(self, time: f64) -> f64 {
        // Dividing gives the nearest double to the decimal number; multiplying by 1e-9 does not.
        match self {
            Self::Second => time,
            Self::Millisecond => time / 1e3,
            Self::Microsecond => time / 1e6,
            Self::Nanosecond => time / 1e9,
        }
    }
}

impl FromStr for TimeUnit {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "s" | "sec" | "second" | "seconds" => Ok(Self::Second),
            "ms" | "msec" | "millisecond" | "milliseconds" => Ok(Self::Millisecond),
            "us" | "µs" | "μs" | "usec" | "microsecond" | "microseconds" => Ok(Self::Microsecond),
            "ns" | "nsec" | "nanosecond" | "nanoseconds" => Ok(Self::Nanosecond),
            _ => Err(()),
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Second => "s",
            Self::Millisecond => "ms",
            Self::Microsecond => "us",
            Self::Nanosecond => "ns",
        })
    }
}

/// The data to take from inputs.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The metric of a call.
    pub metric: Metric,
    /// Column of a table, or metric of Extra-P, with the time; `None`: the one named like the metric.
    pub time: Option<String>,
    /// Unit of times whose name has none, unlike `time_us` or `time [us]`.
    pub unit: TimeUnit,
    /// Columns of a table that are the parameters; empty: all columns that are neither times nor known to be something else.
    pub params: Vec<String>,
    /// Parameters whose numbers are labels, each a category.
    pub labels: Vec<String>,
    /// Column of a table with the method; `None`: a column with a usual name, such as `method`, else the file has one method.
    pub method: Option<String>,
}

impl Wanted {
    /// The values of a metric, with everything else inferred from the names in the inputs.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            time: None,
            unit: TimeUnit::default(),
            params: Vec::new(),
            labels: Vec::new(),
            method: None,
        }
    }

    /// Whether `name`, without its unit, is a name of the wanted time.
    pub(crate) fn is_time(&self, name: &str) -> bool {
        if let Some(time) = &self.time {
            return time == name;
        }
        match &self.metric {
            Metric::Counter { name: counter, .. } => counter == name,
            time => times(time).contains(&name.to_ascii_lowercase().as_str()),
        }
    }

    /// Converts a value to seconds; the value of a counter is unchanged.
    pub(crate) fn value(&self, value: f64) -> f64 {
        match self.metric.is_time() {
            true => self.unit.to_s(value),
            false => value,
        }
    }

    /// Name of the wanted column of a table or metric of Extra-P.
    pub(crate) fn looked_for(&self) -> &str {
        match (&self.time, &self.metric) {
            (Some(time), _) => time,
            (None, Metric::Counter { name, .. }) => name,
            (None, time) => times(time)[0],
        }
    }
}

/// Usual names of columns and metrics with a time, in lower case.
pub(crate) fn times(metric: &Metric) -> &'static [&'static str] {
    match metric {
        Metric::Mpi => &["mpi", "mpi_time"],
        Metric::Compute => &["compute", "compute_time"],
        Metric::Inclusive => &["inclusive", "inclusive_time"],
        _ => &[
            "wall",
            "time",
            "wall_time",
            "walltime",
            "wall time",
            "runtime",
            "run_time",
            "real_time",
            "elapsed",
            "duration",
            "seconds",
        ],
    }
}

/// A column's name and unit: of `q [double]` and `q (double)`, `q` and `double`.
pub(crate) fn with_unit(header: &str) -> (&str, &str) {
    let header = header.trim();
    for [open, close] in [['[', ']'], ['(', ')']] {
        if let Some(inner) = header.strip_suffix(close)
            && let Some((name, unit)) = inner.rsplit_once(open)
            && !name.trim().is_empty()
        {
            return (name.trim(), unit.trim());
        }
    }
    (header, "")
}

/// Name and unit of a column of times: as [`with_unit`], or `time_us`.
pub(crate) fn timed(header: &str) -> (&str, Option<TimeUnit>) {
    let (name, unit) = with_unit(header);
    if !unit.is_empty() {
        return (name, unit.parse().ok());
    }
    match name.rsplit_once('_') {
        Some((base, ending)) if !base.is_empty() => match ending.parse() {
            Ok(unit) => (base, Some(unit)),
            Err(()) => (name, None),
        },
        _ if name.eq_ignore_ascii_case("seconds") => (name, Some(TimeUnit::Second)),
        _ => (name, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_stand_in_names() {
        assert_eq!(with_unit("q [double]"), ("q", "double"));
        assert_eq!(with_unit("f(x) (cells)"), ("f(x)", "cells"));
        assert_eq!(with_unit("(x)"), ("(x)", ""));
        assert_eq!(timed("wall_ns"), ("wall", Some(TimeUnit::Nanosecond)));
        assert_eq!(timed("time [ms]"), ("time", Some(TimeUnit::Millisecond)));
        assert_eq!(timed("time (fortnights)"), ("time", None));
        assert_eq!(timed("wall_time"), ("wall_time", None));
        assert_eq!(TimeUnit::Nanosecond.to_s(12.0), 12e-9);
    }
}

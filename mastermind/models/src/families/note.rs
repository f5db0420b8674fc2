//! Notes that a user of a model should read with it.
//!
//! A fit collects notes on its data (calls set aside, collinear parameters), on its quality (a poor fit, too few sizes) and on
//! what was done (enumerations fitted together). They are stored with the model and printed with it:
//!
//! ```text
//! Note::Zero { n_records: 3 }                 3 calls of 0 s, too short for the clock or not timed
//! Note::Shared { param: "axis".into() }       "axis" makes no difference
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::statistic::Statistic;

/// A remark on the fit of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// At no point do two parameters both differ from their usual values, so their interaction was not measured.
    Apart {
        /// The parameters and their usual values.
        params: [(String, f64); 2],
    },
    /// The model is a constant because nothing varied.
    NoVaryingParameter {
        /// Distinct coordinates.
        n_points: usize,
    },
    /// The model is a constant because the method has no numeric parameter, as is usual for drivers.
    NoSize {
        /// Number of calls.
        n_records: u64,
    },
    /// There are as many coefficients as coordinates: the family is a guess.
    NotValidated {
        /// Distinct coordinates measured.
        n_points: usize,
        /// Distinct coordinates that would validate it.
        needed: usize,
    },
    /// There are too few sizes to extrapolate with confidence.
    FewSizes {
        /// Distinct coordinates measured.
        n_points: usize,
    },
    /// Held-out sizes are predicted badly from the others.
    LeftOutFar {
        /// Average error, per cent: the `cv_smape` of the model.
        percent: f64,
    },
    /// An exponential follows the points nearly as well as the formula that is shown.
    MaySoar {
        /// Its probability, per cent.
        percent: f64,
    },
    /// A parameter is a linear combination of those before it and was left out.
    Collinear {
        /// The parameter.
        param: String,
    },
    /// A varying parameter was not searched for normal forms: there are too many parameters, or it is negative somewhere.
    LeftOut {
        /// The parameter.
        param: String,
    },
    /// Another statistic than the mean of the calls at a coordinate was fitted.
    Statistic {
        /// The statistic.
        statistic: Statistic,
    },
    /// There are too many coordinates to fit each of them, so they were thinned.
    Thinned {
        /// Distinct coordinates.
        n_points: usize,
        /// Points that the formula was fitted to: means of neighbours with one parameter, a sample of the coordinates with several.
        n_fitted: usize,
    },
    /// The formula does not follow the points, and the spread of the calls does not explain it.
    Poor {
        /// Share of the variance between coordinates that is explained, per cent.
        r2_percent: f64,
    },
    /// The formula explains little of the variance between coordinates, and the spread of the calls is as large as the residuals.
    Scattered {
        /// Share of the variance between coordinates that is explained, per cent.
        r2_percent: f64,
    },
    /// The likeliest formula is farther from the points than their mean is, and the spread of the calls does not explain the distance: the
    /// model is the mean.
    NoModel,
    /// Calls far above the others at their coordinate, for example preempted ones, were not fitted.
    SetAside {
        /// Number of these calls.
        n_records: u64,
        /// Their share of the time of all calls, per cent.
        percent: f64,
    },
    /// The machine delayed some calls: the formula describes the others.
    HeldUp {
        /// Their share of the calls, per cent.
        percent: f64,
        /// How much longer they took on average, seconds.
        mean_s: f64,
    },
    /// The machine has two speeds: some calls take a constant factor longer than the others. The formula describes the fast ones.
    TwoSpeeds {
        /// Share of slow calls, per cent.
        percent: f64,
        /// Time of a slow call over that of a fast one.
        slower: f64,
    },
    /// Few calls take most of the time, at coordinates where the others take far less.
    Uneven {
        /// Number of these calls.
        n_records: u64,
        /// Number of all calls.
        of: u64,
        /// Their share of the time of all calls, per cent.
        percent: f64,
    },
    /// The formula, fitted to means, differs by more than a quarter from the median of the calls at many coordinates.
    BesideMedians {
        /// Coordinates where it differs.
        n_points: usize,
        /// Coordinates with enough calls for a median.
        of: usize,
    },
    /// An unknown of a written formula has the same effect on the times as a combination of others: its value is one of many.
    Entangled {
        /// The unknown.
        unknown: String,
    },
    /// Calls whose wall time is 0 were fitted like the others.
    Zero {
        /// Number of these calls.
        n_records: u64,
    },
    /// The free fit was negative somewhere on the range, or fell where it must not. The model is the nearest fit within the limits, and
    /// the standard errors cover the directions that the limits leave free.
    Held,
    /// The times of the labels of an enumeration parameter do not differ: one model covers all labels.
    Shared {
        /// The parameter.
        param: String,
    },
    /// One model covers all labels of an enumeration parameter, as requested; whether their times differ was not tested.
    Together {
        /// The parameter.
        param: String,
    },
}

impl Note {
    /// Whether the note concerns the distance between the formula and the times.
    pub fn is_of_fit(&self) -> bool {
        matches!(
            self,
            Self::NotValidated { .. }
                | Self::FewSizes { .. }
                | Self::LeftOutFar { .. }
                | Self::Entangled { .. }
                | Self::NoModel
                | Self::Poor { .. }
                | Self::Scattered { .. }
        )
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apart {
                params: [(p, x), (q, y)],
            } => write!(
                f,
                "\"{p}\" and \"{q}\" were never varied together: where neither {p} = {x} nor {q} = {y} the time may be far longer; \
                 measure a point there"
            ),
            Self::NoVaryingParameter { n_points: 1 } => {
                f.write_str("constant: 1 coordinate was measured; measure another size")
            }
            Self::NoVaryingParameter { n_points } => {
                write!(
                    f,
                    "constant: no parameter varies over {n_points} coordinates"
                )
            }
            Self::NoSize { n_records } => {
                let calls = if *n_records == 1 { "call" } else { "calls" };
                write!(
                    f,
                    "constant, the mean of {n_records} {calls}: no parameter is a number"
                )
            }
            Self::NotValidated { n_points, needed } => write!(
                f,
                "not validated: {n_points} coordinates, at least {needed} would tell families apart"
            ),
            Self::FewSizes { n_points } => write!(
                f,
                "{n_points} sizes only: beyond them the time may be far from what is predicted; measure 5 or more"
            ),
            Self::LeftOutFar { percent } => write!(
                f,
                "a size left out is predicted {percent:.0} % off on average: between and beyond the sizes the time may be as far off"
            ),
            Self::MaySoar { percent } => write!(
                f,
                "an exponential follows the points nearly as well (weight {percent:.0} %): beyond the sizes the time may be far longer"
            ),
            Self::Collinear { param } => {
                write!(
                    f,
                    "parameter \"{param}\" left out: it follows from those before it"
                )
            }
            Self::LeftOut { param } => write!(
                f,
                "parameter \"{param}\" is in no normal form that was tried: more vary than are searched, or it is negative"
            ),
            Self::Statistic { statistic } => {
                write!(
                    f,
                    "fitted to the {statistic} of the calls at each coordinate"
                )
            }
            Self::Thinned { n_points, n_fitted } => {
                write!(
                    f,
                    "fitted to {n_fitted} coordinates that stand for {n_points}"
                )
            }
            Self::Poor { r2_percent } => write!(
                f,
                "poor: it explains {r2_percent:.0} % of the variance between coordinates, and the calls at one scatter less than it is off; \
                 a parameter may be missing, or more sizes are needed"
            ),
            Self::Scattered { r2_percent } => write!(
                f,
                "it explains {r2_percent:.0} % of the variance between coordinates, and the spread of the calls may be the rest: more \
                 calls, or sizes farther apart, would tell"
            ),
            Self::NoModel => f.write_str(
                "no model: the times do not follow the parameters, so the formula is their mean; a parameter may be missing",
            ),
            Self::SetAside { n_records, percent } => {
                let calls = if *n_records == 1 { "call" } else { "calls" };
                write!(
                    f,
                    "{n_records} {calls} far above the others set aside, {percent:.2} % of the time"
                )?;
                if *percent > 50.0 {
                    f.write_str(": the formula is of the rest; sums over calls count them again")?;
                }
                Ok(())
            }
            Self::HeldUp { percent, mean_s } => {
                let (value, unit) = in_unit(*mean_s);
                write!(
                    f,
                    "{percent:.0} % of the calls were held up, by {value} {unit} on average: the formula is of the others; sums over calls \
                     count the delays again, as in the measured run"
                )?;
                match *percent > 50.0 {
                    true => f.write_str("; those are the most: the calls may rather have two speeds, see --statistic mean"),
                    false => Ok(()),
                }
            }
            Self::TwoSpeeds { percent, slower } => write!(
                f,
                "two speeds: {percent:.0} % of the calls take {slower:.2} times as long as the others, which the formula is of; sums over \
                 calls count both"
            ),
            Self::Uneven {
                n_records,
                of,
                percent,
            } => write!(
                f,
                "{n_records} of {of} calls hold {percent:.0} % of the time: the mean is mostly theirs, and few calls take it"
            ),
            Self::BesideMedians { n_points, of } => {
                if *of > 1 {
                    write!(f, "at {n_points} of {of} sizes ")?;
                }
                f.write_str(
                    "half of the calls are more than a quarter below or above it, since it is of means: --statistic median is of \
                     typical calls",
                )
            }
            Self::Entangled { unknown } => write!(
                f,
                "the points do not tell \"{unknown}\" from the other unknowns: its value is one of many"
            ),
            Self::Zero { n_records } => {
                let calls = if *n_records == 1 { "call" } else { "calls" };
                write!(
                    f,
                    "{n_records} {calls} of 0 s, too short for the clock or not timed"
                )
            }
            Self::Held => {
                f.write_str("held at its limits: the free fit is negative or falls on the range")
            }
            Self::Shared { param } => write!(f, "\"{param}\" makes no difference"),
            Self::Together { param } => write!(f, "all of \"{param}\" together, as asked"),
        }
    }
}

/// Formats a time to two digits, in the largest unit in which its value is at least one.
fn in_unit(seconds: f64) -> (String, &'static str) {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let fits = |(unit, _): &(f64, &str)| seconds >= *unit;
    let (unit, name) = units.into_iter().find(fits).unwrap_or((1e-9, "ns"));
    let value = seconds / unit;
    let digits = if value < 10.0 { 1 } else { 0 };
    (format!("{value:.digits$}"), name)
}

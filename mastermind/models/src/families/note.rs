//! What a user of a model should know of its fit.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::samples::statistic::Statistic;

/// Something a user of a model should know of its fit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "note", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// No point has two parameters both beside their usual values, so what both do at once is not known.
    Apart {
        /// The parameters and their usual values.
        params: [(String, f64); 2],
    },
    /// The model is a constant because nothing varied.
    NoVaryingParameter {
        /// Distinct coordinates.
        n_points: usize,
    },
    /// The model is a constant because the method has no number among its parameters, as drivers have none.
    NoSize {
        /// Calls there are.
        n_records: u64,
    },
    /// The coordinates are as many as the coefficients: the family is a guess.
    NotValidated {
        /// Distinct coordinates there are.
        n_points: usize,
        /// Distinct coordinates that would validate it.
        needed: usize,
    },
    /// There are so few sizes that what is predicted beyond them may be anything near.
    FewSizes {
        /// Distinct coordinates there are.
        n_points: usize,
    },
    /// A size left out is predicted badly from the others.
    LeftOutFar {
        /// By how much, per cent, on average: the `cv_smape` of the model.
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
    /// A parameter that varies is in no normal form that was tried: there are too many, or it is negative somewhere.
    LeftOut {
        /// The parameter.
        param: String,
    },
    /// Not the mean of the calls at a coordinate was fitted.
    Statistic {
        /// What was.
        statistic: Statistic,
    },
    /// There are more coordinates than are fitted one by one.
    Thinned {
        /// Distinct coordinates.
        n_points: usize,
        /// Those that the formula was fitted to: of one parameter means of neighbours, of several one in so many.
        n_fitted: usize,
    },
    /// The formula does not follow the points, and the spread of the calls does not explain it.
    Poor {
        /// Share of the variance between coordinates that is explained, per cent.
        r2_percent: f64,
    },
    /// The formula explains little of how the points differ, and the spread of the calls is as large as what it leaves.
    Scattered {
        /// Share of the variance between coordinates that is explained, per cent.
        r2_percent: f64,
    },
    /// The likeliest formula is farther from the points than their mean is, and the spread of the calls does not explain it: the model is
    /// the mean.
    NoModel,
    /// Calls far above the others at their coordinate, as preemption makes them, were not fitted.
    SetAside {
        /// How many.
        n_records: u64,
        /// Their share of the time of all calls, per cent.
        percent: f64,
    },
    /// The machine held up some calls: the formula is of the others.
    HeldUp {
        /// Their share of the calls, per cent.
        percent: f64,
        /// How much longer they took on average, seconds.
        mean_s: f64,
    },
    /// The machine has two speeds: some calls take so many times as long as the others. The formula is the law of the fast ones.
    TwoSpeeds {
        /// The slow ones' share of the calls, per cent.
        percent: f64,
        /// How many times as long they take.
        slower: f64,
    },
    /// Few calls hold most of the time, at coordinates where the others take far less.
    Uneven {
        /// How many.
        n_records: u64,
        /// Of how many.
        of: u64,
        /// Their share of the time of all calls, per cent.
        percent: f64,
    },
    /// The formula, which is of means, is more than a quarter from the median of the calls at many coordinates.
    BesideMedians {
        /// Coordinates where it is.
        n_points: usize,
        /// Of how many that have calls enough for a median.
        of: usize,
    },
    /// An unknown of a written formula changes the times as others do together: its value is one of many.
    Entangled {
        /// The unknown.
        unknown: String,
    },
    /// Calls whose wall time is 0: they were fitted like the others.
    Zero {
        /// How many.
        n_records: u64,
    },
    /// The free fit was negative somewhere on the range, or fell where it must not; this is the nearest that
    /// does not, and the standard errors are of what the limits leave free.
    Held,
    /// The times of the labels of an enumeration parameter do not differ: one model is for all.
    Shared {
        /// The parameter.
        param: String,
    },
    /// One model is for all labels of an enumeration parameter, as was asked for: whether they differ was not.
    Together {
        /// The parameter.
        param: String,
    },
}

impl Note {
    /// Whether it says how far a formula may be from the times.
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

/// A time to two digits in the largest unit of which it is at least one.
fn in_unit(seconds: f64) -> (String, &'static str) {
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")];
    let fits = |(unit, _): &(f64, &str)| seconds >= *unit;
    let (unit, name) = units.into_iter().find(fits).unwrap_or((1e-9, "ns"));
    let value = seconds / unit;
    let digits = if value < 10.0 { 1 } else { 0 };
    (format!("{value:.digits$}"), name)
}

//! Errors of samples, models and predictions.
//!
//! Every expected error is a variant of [`Error`]; its text names the method, what was found and what to do, and
//! needs no context from the caller. Comma lists in a variant contain the names that would have been valid.
//!
//! ```text
//! cannot predict "flux.compute": no number for parameter "q", expected one; add q=VALUE
//! ```

use crate::formula::arithmetic::ArithmeticError;
use crate::formula::family::Family;
use crate::samples::sample::Refused;

/// An expected error of this crate.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nothing usable was measured.
    #[error(
        "cannot fit \"{method}\": {}",
        nothing_taken(*refused)
    )]
    NoSamples {
        /// The method, with its mode.
        method: String,
        /// Calls refused as negative, not finite or of an unknown label.
        refused: u64,
    },
    /// A family asked for needs more distinct coordinates.
    #[error(
        "cannot fit \"{method}\": {found} {}, expected at least {needed}; measure {} more {}",
        plural(*found, "point"), needed - found, plural(needed - found, "coordinate")
    )]
    TooFewPoints {
        /// The method, with its mode.
        method: String,
        /// Distinct coordinates there are.
        found: usize,
        /// Distinct coordinates the family needs.
        needed: usize,
    },
    /// A family asked for does not fit these samples at all.
    #[error(
        "cannot fit \"{method}\": no {family} is positive and finite{limits} at all {n_points} points, expected one; let the family be chosen"
    )]
    Unsuitable {
        /// The method, with its mode.
        method: String,
        /// The family asked for.
        family: Family,
        /// What else was asked for, ` and does not fall with "q"`; empty where nothing was.
        limits: String,
        /// Distinct coordinates.
        n_points: usize,
    },
    /// A written formula that is no arithmetic.
    #[error(transparent)]
    Formula(#[from] ArithmeticError),
    /// A written formula names what is neither a parameter nor an unknown.
    #[error(
        "cannot fit formula \"{text}\": \"{name}\" is unknown, expected a parameter ({known}) or a declared unknown"
    )]
    UnknownName {
        /// The name.
        name: String,
        /// The formula.
        text: String,
        /// The numeric parameters, a comma list.
        known: String,
    },
    /// A name in a formula that is nearly that of a parameter which the formula does not use.
    #[error(
        "cannot fit formula \"{text}\": \"{name}\" is unknown, expected a parameter ({known}), perhaps \"{meant}\"; \
         give \"{name}\" bounds if it is a number to be found"
    )]
    Misspelt {
        /// The name.
        name: String,
        /// The formula.
        text: String,
        /// The parameter.
        meant: String,
        /// The numeric parameters, a comma list.
        known: String,
    },
    /// A formula that omits a parameter and has more unknowns than the points can determine without it.
    #[error(
        "cannot fit formula \"{text}\": the points do not tell \"{unknown}\" from the other unknowns ({others}), \
         expected a parameter that varies ({unused}) in place of one; give all of them bounds if they are meant"
    )]
    NoParameter {
        /// An unknown that others stand for as well.
        unknown: String,
        /// The other unknowns, a comma list.
        others: String,
        /// The formula.
        text: String,
        /// The numeric parameters that vary and are not in it, a comma list.
        unused: String,
    },
    /// A formula calculates with labels.
    #[error(
        "cannot fit formula \"{text}\": \"{name}\" has labels, expected a numeric parameter ({known}) or a number \
         to be found; modes are fitted apart"
    )]
    LabelsInFormula {
        /// The enumeration parameter.
        name: String,
        /// The formula.
        text: String,
        /// The numeric parameters, a comma list.
        known: String,
    },
    /// Bounds of what is measured.
    #[error(
        "cannot fit unknown \"{name}\" of formula \"{text}\": it is a parameter of the samples, expected the name of a number to be found"
    )]
    BoundsOfParameter {
        /// The parameter.
        name: String,
        /// The formula.
        text: String,
    },
    /// An unknown that the formula does not hold, or that has no room.
    #[error(
        "cannot fit unknown \"{name}\": from {lower} to {upper} in formula \"{text}\", expected a name in it and bounds with room between"
    )]
    UnusedUnknown {
        /// The unknown.
        name: String,
        /// Its lower bound.
        lower: f64,
        /// Its upper bound.
        upper: f64,
        /// The formula.
        text: String,
    },
    /// There is nothing to choose a point by.
    #[error(
        "cannot suggest points for \"{method}\": no parameter varies among {known}, expected one; measure a second size first"
    )]
    NothingVaries {
        /// The method.
        method: String,
        /// The numeric parameters, a comma list.
        known: String,
    },
    /// There is nothing that a measurement would make surer.
    #[error(
        "cannot suggest points for \"{method}\": its formula has no coefficient that is unsure, expected one; \
         fit one with unknowns"
    )]
    NothingUnsure {
        /// The method.
        method: String,
    },
    /// A parameter was asked to be monotone that the method does not have as a number.
    #[error(
        "cannot fit \"{method}\": no numeric parameter \"{parameter}\", expected one of {known}"
    )]
    NoSuchParameter {
        /// The method.
        method: String,
        /// The name given.
        parameter: String,
        /// The numeric parameters, a comma list.
        known: String,
    },
    /// One method was declared twice with other parameters.
    #[error(
        "cannot take samples of \"{method}\": parameters {found}, expected {expected} as in the samples before; fit the runs apart"
    )]
    ParametersDiffer {
        /// The method.
        method: String,
        /// Names and units given now.
        found: String,
        /// Names and units declared before.
        expected: String,
    },
    /// A call was not taken into the samples; the set has counted it.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// No model of this method and metric.
    #[error(
        "cannot predict \"{method}\": no model of its {}, expected {known}; record it and fit",
        metric.quantity()
    )]
    NoModel {
        /// The method asked for.
        method: String,
        /// The metric asked for.
        metric: crate::Metric,
        /// Methods that have a model, a comma list.
        known: String,
    },
    /// The method has models, but none for this mode.
    #[error(
        "cannot predict \"{method}\": no model where {found}, expected {known}; record that mode and fit"
    )]
    NoMode {
        /// The method asked for.
        method: String,
        /// The enumeration values asked for.
        found: String,
        /// The modes that have a model.
        known: String,
    },
    /// The method has a model for each of several modes, and the coordinate names none.
    #[error("cannot predict \"{method}\": no mode is named, expected {known}; add it")]
    NoLabel {
        /// The method asked for.
        method: String,
        /// The modes that have a model.
        known: String,
    },
    /// A coordinate lacks a parameter, or gives a label for a number.
    #[error(
        "cannot predict \"{method}\": no number for parameter \"{parameter}\", expected one; add {parameter}=VALUE"
    )]
    MissingParameter {
        /// The method.
        method: String,
        /// The parameter that has no number.
        parameter: String,
    },
    /// A coordinate names what the model does not know.
    #[error("cannot predict \"{method}\": parameter \"{parameter}\" is unknown, expected {known}")]
    UnknownParameter {
        /// The method.
        method: String,
        /// The name given.
        parameter: String,
        /// The names it has, a comma list.
        known: String,
    },
    /// The formula has no finite value there.
    #[error(
        "cannot predict \"{method}\": {value} s at {coordinate}, expected a finite time; stay within the measured range"
    )]
    NotFinite {
        /// The method.
        method: String,
        /// What the formula gives.
        value: f64,
        /// Where.
        coordinate: String,
    },
    /// A residual that cannot enter the variance between runs: not finite, or with a variance that is not above 0.
    #[error(
        "cannot tell the variance between runs: {log_ratio} with variance {variance} of site {site} in run {run}, expected finite \
         numbers and a variance above 0"
    )]
    Residual {
        /// The site.
        site: usize,
        /// The run.
        run: usize,
        /// What it is off by.
        log_ratio: f64,
        /// Its variance.
        variance: f64,
    },
    /// Text that is not a set of models.
    #[error("cannot read models: the text has not the form that `fit` writes")]
    Json(#[from] serde_json::Error),
    /// A set of models that contradicts itself.
    #[error("cannot read model \"{method}\": {found}, expected {expected}; fit again")]
    Inconsistent {
        /// The model's method.
        method: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}

/// What was found where no call was taken, and what to do.
fn nothing_taken(refused: u64) -> String {
    match refused {
        0 => "0 samples, expected at least 1; record a run that calls it".into(),
        n => format!(
            "0 samples, as {n} {} not taken, expected at least 1 with a finite time not below 0 and all parameters",
            if n == 1 { "was" } else { "were" }
        ),
    }
}

/// `word` with an "s" unless `n` is one.
fn plural(n: usize, word: &str) -> String {
    format!("{word}{}", if n == 1 { "" } else { "s" })
}

/// A comma list; "nothing" where it is empty.
pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    if items.is_empty() {
        "nothing".into()
    } else {
        items.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wording_follows_the_style() {
        let error = Error::TooFewPoints {
            method: "states.compute".into(),
            found: 3,
            needed: 4,
        };
        assert_eq!(
            error.to_string(),
            "cannot fit \"states.compute\": 3 points, expected at least 4; measure 1 more coordinate"
        );
    }
}

//! The JSON document of `correct`.

use std::collections::BTreeMap;

use mastermind_correction::{
    Case, Corrected, End, Errors, Finding, HeldOut, Outcome, Refusal, Report, SemiEmpirical,
    Specification, Summary,
};
use serde::Serialize;

use super::Elsewhere;

/// All that `correct` found.
#[derive(Serialize)]
pub struct Document<'a> {
    name: &'a str,
    base: Base,
    base_relative: Option<Base>,
    /// The base that the corrections start from: `squared` or `relative`.
    chosen: mastermind_correction::Residuals,
    good_enough: bool,
    /// Relative error at the test points of interpolating the ratio to the base.
    control_rrmse_test: Option<f64>,
    trials: Vec<Trial>,
    summary: &'a [Summary],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    platform: Vec<Platform>,
}

#[derive(Serialize)]
struct Base {
    parameters: BTreeMap<String, Parameter>,
    #[serde(flatten)]
    errors: Errors,
    correlation: Option<Vec<Vec<f64>>>,
    findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Parameter {
    value: f64,
    std_error: Option<f64>,
    at_bound: Option<End>,
    unit: String,
}

#[derive(Serialize)]
struct Trial {
    case: Case,
    seed: u64,
    /// With `t_comm` for the base; `t_comm` alone if the term was refused.
    expression: String,
    /// The term alone.
    term: Option<String>,
    /// Least and greatest ratio of the corrected time to the base.
    ratio: Option<[f64; 2]>,
    /// Part of the correction that is applied, on its logarithm.
    share: Option<f64>,
    /// Relative errors at training points that the search did not use, of the base, the mean and its first tree.
    held_out: Option<HeldOut>,
    #[serde(flatten)]
    errors: Errors,
    accepted: bool,
    refused: Option<String>,
}

#[derive(Serialize)]
struct Platform {
    case: Case,
    parameters: BTreeMap<String, f64>,
    #[serde(flatten)]
    errors: Errors,
}

/// The document.
pub fn of<'a>(
    specification: &'a Specification,
    report: &'a Report,
    elsewhere: &[Elsewhere],
) -> Document<'a> {
    let base = |(fit, errors): &(SemiEmpirical, Errors)| base(specification, fit, *errors);
    Document {
        name: &specification.name,
        base: base(&report.squared),
        base_relative: report.relative.as_ref().map(base),
        chosen: report.chosen,
        good_enough: report.is_good_enough,
        control_rrmse_test: report.control,
        trials: report
            .trials
            .iter()
            .map(|t| trial(specification, t))
            .collect(),
        summary: &report.summary,
        platform: elsewhere
            .iter()
            .map(|e| platform(specification, e))
            .collect(),
    }
}

fn base(specification: &Specification, fit: &SemiEmpirical, errors: Errors) -> Base {
    let unknowns = specification.unknowns.iter().enumerate();
    let parameters = unknowns.map(|(place, (name, unknown))| {
        let parameter = Parameter {
            value: fit.values[place],
            std_error: fit.std_errors[place],
            at_bound: fit.at_bound[place],
            unit: unknown.unit.clone(),
        };
        (name.clone(), parameter)
    });
    Base {
        parameters: parameters.collect(),
        errors,
        correlation: fit.correlation.clone(),
        findings: fit.findings.clone(),
    }
}

fn trial(specification: &Specification, trial: &mastermind_correction::Trial) -> Trial {
    let corrected = trial.corrected();
    Trial {
        case: trial.case,
        seed: trial.seed,
        expression: corrected.map_or_else(|| "t_comm".into(), |c| c.shown(specification)),
        term: corrected.map(|c| c.term(specification)),
        ratio: corrected.map(|c| c.ratio_range()),
        share: corrected.map(|c| c.share()),
        held_out: corrected.and_then(Corrected::held_out).copied(),
        errors: trial.errors,
        accepted: corrected.is_some(),
        refused: match &trial.outcome {
            Outcome::Accepted(_) => None,
            Outcome::Refused(why) => Some(refusal(why)),
        },
    }
}

/// Why a term was refused.
pub fn refusal(why: &Refusal) -> String {
    match why {
        Refusal::HeldOut { base, corrected } => format!(
            "its error at points held out of the search is {:.1} %, that of the base {:.1} %{}",
            100.0 * corrected,
            100.0 * base,
            if corrected < base {
                ", which may be chance"
            } else {
                ""
            }
        ),
        Refusal::TooLittle { base, gain } => format!(
            "the error of the base is {:.1} %, and the term gains no more than its size costs (by {gain:.1} in the deviance)",
            100.0 * base
        ),
        _ => "no term is finite everywhere near the points".into(),
    }
}

fn platform(specification: &Specification, elsewhere: &Elsewhere) -> Platform {
    let names = specification.unknowns.keys().cloned();
    let values = elsewhere.model.unknowns.iter().copied();
    Platform {
        case: elsewhere.case,
        parameters: names.zip(values).collect(),
        errors: elsewhere.errors,
    }
}

//! Models as text: a sheet to read, LaTeX, and functions in Rust and C.
//!
//! ```
//! # use mastermind_models::{Metric, Parameter, SampleSet, fit};
//! use mastermind_models::{Language, render};
//!
//! # let mut set = SampleSet::new(Metric::Wall);
//! # let method = set.declare("hydro.EfmFlux::flux.compute", &[Parameter::integer("q", "double")])?;
//! # for q in [1000.0, 2000.0, 4000.0, 8000.0] {
//! #     set.push(method, &[q], 2e-6 + 1e-9 * q)?;
//! # }
//! # let models = fit(&set.finish()[0])?;
//! let source = render(&models, Language::C);
//! assert!(source.contains("double flux_compute(double q)"), "{source}");
//! # Ok::<(), mastermind_models::Error>(())
//! ```

mod code;
mod latex;
mod names;
mod node;
mod text;

use crate::select::model::Model;

/// The languages that models are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    /// Plain text: formula, deviation, coefficients with their errors, measures of the fit, range.
    Text,
    /// The formulas as LaTeX equations.
    Latex,
    /// One Rust function per model.
    Rust,
    /// One C99 function per model.
    C,
}

/// Writes models out.
///
/// The functions in Rust and C take the numeric parameters that matter, in the order of [`Model::params`], and return
/// the value of [`predict`](crate::predict) in seconds, or in the unit of the counter; one with `_deviation` behind its name returns the standard
/// deviation of one call.
pub fn render(models: &[Model], language: Language) -> String {
    match language {
        Language::Text => text::sheets(models),
        Language::Latex => latex::equations(models),
        Language::Rust => code::functions(models, &code::RUST),
        Language::C => code::functions(models, &code::C),
    }
}

/// `hydro.EfmFlux::flux.compute where axis = x`.
fn title(model: &Model) -> String {
    let mode = model.mode.iter();
    let mode: Vec<_> = mode
        .map(|(name, label)| format!("{name} = {label}"))
        .collect();
    match mode.is_empty() {
        true => model.method.clone(),
        false => format!("{} where {}", model.method, mode.join(", ")),
    }
}

/// The unit in words: `seconds`.
fn unit(model: &Model) -> &str {
    match (model.metric.is_time(), model.metric.unit()) {
        (true, _) => "seconds",
        (false, "") => "a count",
        (false, unit) => unit,
    }
}

/// `q from 1000 to 4e6 double`.
fn range(model: &Model) -> String {
    let ranges = model.range.iter().map(|(name, [low, high])| {
        let short = crate::formula::sum::short;
        format!("{name} from {} to {}", short(*low), short(*high))
    });
    ranges.collect::<Vec<_>>().join(", ")
}

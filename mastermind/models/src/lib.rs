//! Samples to fitted models: how the time of a method grows with the work it is given.
//!
//! Pure functions; nothing here prints, reads a file or the environment, or knows a component.
//!
//! * [`SampleSet`] takes (method, coordinate, seconds) one call at a time and keeps a summary for
//!   each distinct coordinate, so that memory does not grow with the number of calls;
//! * [`fit`] turns the [`Samples`] of a method into one [`Model`] a mode (a mode is one combination
//!   of the enumeration parameters that matter, say `axis = y`): every [`Family`] is tried, the simplest
//!   that predicts left-out points as well as the best is shown, the credible ones are weighed, and the
//!   standard deviation of a call is a function of its own; [`fit_with`] takes wishes;
//! * [`predict`] gives the time of one call with its interval, averaged over the credible forms, and
//!   [`Total`] that of many; [`ModelSet`] is what is stored;
//! * [`carry`] makes models of one machine those of another;
//! * [`suggest`] says where to measure next.
//!
//! ```
//! use mastermind_models::{Coordinate, Metric, Parameter, SampleSet, fit, predict};
//!
//! let mut set = SampleSet::new(Metric::Wall);
//! let method = set.declare("hydro.EfmFlux::flux.compute", &[Parameter::integer("q", "double")])?;
//! for q in [1000.0, 2000.0, 4000.0, 8000.0] {
//!     set.push(method, &[q], 2e-6 + 1e-9 * q)?;
//! }
//! let samples = set.finish();
//! let models = fit(&samples[0])?;
//! let prediction = predict(&models[0], &Coordinate::new().with("q", 6000.0))?;
//! assert!((prediction.value_s - 8e-6).abs() < 1e-12);
//! # Ok::<(), mastermind_models::Error>(())
//! ```

mod error;
mod families;
mod formula;
mod predict;
mod samples;
mod select;
mod solve;

pub use error::Error;
pub use families::candidate::Alternative;
pub use families::note::Note;
pub use families::written::{Unknown, UserFormula};
pub use formula::arithmetic::{Arithmetic, ArithmeticError, function};
pub use formula::exponent::Exponent;
pub use formula::expression;
pub use formula::family::Family;
pub use formula::sum::{Factor, Formula, Regime, Term};
pub use formula::written::Written;
pub use predict::call::{Prediction, Predictor, predict, predict_value_s};
pub use predict::carry::{BY_CALL, BY_COMMON, BY_PROCESSORS, Carriage, Expected, Measured, carry};
pub use predict::clean_calls::clean_calls;
pub use predict::rendering::{Language, render};
pub use predict::suggest::{SuggestOptions, Suggestion, suggest};
pub use predict::total::Total;
pub use samples::call_sink::CallSink;
pub use samples::input::{
    Format, InputError, LeftOut, SetAside, Survey, TimeUnit, Wanted, Why, metric_names,
};
pub use samples::metric::Metric;
pub use samples::modes::Modes;
pub use samples::parameter::{Coordinate, Parameter, ParameterKind, Value};
pub use samples::sample::{Refused, SampleSet, Samples, Summary};
pub use samples::statistic::Statistic;
pub use select::between_runs::{BetweenRuns, RunResidual, between_runs};
pub use select::carried::{Carried, KnownBy, NamedMachine};
pub use select::fit::{FitOptions, fit, fit_family, fit_with};
pub use select::model::{Coefficient, Freedom, HeldUp, Model, ModelSet, ModelWriter};
pub use solve::covariance::Covariance;
pub use solve::uncertainty::{LEVEL, Uncertainty};

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

mod arithmetic;
mod calibration;
mod call_sink;
mod choice;
mod constrained;
mod error;
mod exponent;
pub mod expression;
mod families;
mod fit;
mod formula;
mod hypothesis;
mod input;
mod least_squares;
mod limits;
mod metric;
mod mixture;
mod model;
mod modes;
mod noise;
mod normal_form;
mod parameter;
mod points;
mod predict;
mod quality;
mod rendering;
mod sample;
mod searched;
mod shown;
mod sigma;
mod spikes;
mod suggest;
mod total;
mod uncertainty;
mod user_formula;
mod written;
mod written_fit;
mod written_within;

pub use arithmetic::{Arithmetic, ArithmeticError, function};
pub use call_sink::CallSink;
pub use error::Error;
pub use exponent::Exponent;
pub use fit::{FitOptions, fit, fit_family, fit_with};
pub use formula::{Factor, Formula, Regime, Term};
pub use input::{Format, InputError, SetAside, Survey, TimeUnit, Wanted, Why};
pub use metric::Metric;
pub use model::{Coefficient, Family, Freedom, Model, ModelSet, Note};
pub use modes::Modes;
pub use parameter::{Coordinate, Parameter, ParameterKind, Value};
pub use predict::{LEVEL, Prediction, predict};
pub use rendering::{Language, render};
pub use sample::{Refused, SampleSet, Samples, Summary};
pub use shown::Alternative;
pub use suggest::{SuggestOptions, Suggestion, suggest};
pub use total::Total;
pub use uncertainty::Uncertainty;
pub use user_formula::{Unknown, UserFormula};
pub use written::Written;

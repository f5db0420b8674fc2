//! Samples to fitted models: how the time of a method grows with the work it is given.
//!
//! Pure functions; nothing here prints, reads a file or the environment, or knows a component.
//!
//! * [`SampleSet`] takes (method, coordinate, seconds) one call at a time and keeps a summary for
//!   each distinct coordinate, so that memory does not grow with the number of calls;
//! * [`fit`] turns the [`Samples`] of a method into one [`Model`] a mode (a mode is one combination
//!   of the enumeration parameters, say `axis = y`), choosing the family by cross-validation:
//!   constant, line, power law, or the performance model normal form, whose credible forms it weighs;
//! * [`predict`] gives the time of one call with its interval, averaged over the credible forms, and
//!   [`Total`] that of many; [`ModelSet`] is what is stored.
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

mod call_sink;
mod error;
mod fit;
mod formula;
mod hypothesis;
mod input;
mod least_squares;
mod mixture;
mod model;
mod normal_form;
mod parameter;
mod points;
mod predict;
mod quality;
mod rendering;
mod sample;
mod shown;
mod sigma;
mod total;
mod uncertainty;

pub use call_sink::CallSink;
pub use error::Error;
pub use fit::{fit, fit_family};
pub use formula::{Exponent, Factor, Formula, Term};
pub use input::{Format, InputError, SetAside, Survey, TimeUnit, Wanted, Why};
pub use model::{Coefficient, Family, Freedom, Model, ModelSet, Note};
pub use parameter::{Coordinate, Parameter, ParameterKind, Value};
pub use predict::{LEVEL, Prediction, predict};
pub use rendering::{Language, render};
pub use sample::{Metric, Refused, SampleSet, Samples, Summary};
pub use shown::Alternative;
pub use total::Total;
pub use uncertainty::Uncertainty;

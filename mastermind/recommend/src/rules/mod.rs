//! The rules. Each knows one type of loss and recommends how to avoid it.
//!
//! ```text
//! implementation  other classes in the assembly, by models of all of them; more runs, if these do not decide
//! library         newer code of a library, by its speed-up
//! setting         another value of a free setting, or number of ranks, by a model of whole runs over it
//! processors      ranks that share processors, or wait for them
//! work            uneven work, work of one rank that all wait for, ranks that take turns: by a replay
//! messages        many small messages, by the cost of one of them
//! off_model       methods that take longer than their models predict
//! ```

mod implementation;
mod library;
mod messages;
mod off_model;
mod processors;
mod setting;
mod work;

use crate::facts::Facts;
use crate::order::Recommendation;

/// A rule.
pub(crate) type Rule = fn(&Facts) -> Vec<Recommendation>;

/// All of them.
pub(crate) const RULES: &[Rule] = &[
    implementation::best,
    implementation::runs,
    library::newer_code,
    setting::other_values,
    processors::own_processors,
    work::divided,
    messages::merged,
    off_model::slower,
];

/// Seconds with three digits.
pub(crate) fn seconds(seconds: f64) -> String {
    let magnitude = seconds.abs();
    match magnitude {
        _ if magnitude >= 100.0 => format!("{seconds:.0} s"),
        _ if magnitude >= 10.0 => format!("{seconds:.1} s"),
        _ if magnitude >= 1.0 => format!("{seconds:.2} s"),
        _ if magnitude >= 1e-3 => format!("{:.*} ms", ms_digits(magnitude), seconds * 1e3),
        _ => format!("{:.1} us", seconds * 1e6),
    }
}

fn ms_digits(seconds: f64) -> usize {
    match seconds * 1e3 {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

//! pytest-benchmark's JSON: the values that parametrize a test are its parameters.
//!
//! # Source
//! pytest-benchmark 5, documentation, "Comparing past runs".

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Measured, TIME, parameters};

#[derive(Deserialize)]
pub(super) struct Pytest {
    name: String,
    params: Option<Map<String, Value>>,
    stats: PytestStats,
}

#[derive(Deserialize)]
struct PytestStats {
    /// Seconds of each round; present with `--benchmark-save-data`.
    data: Option<Vec<f64>>,
    mean: f64,
}

/// The rounds of a test, or their mean if the file has no rounds.
pub(super) fn measured(row: &Pytest) -> Measured {
    let method = match row.name.split_once('[') {
        Some((function, _)) if row.params.is_some() => function,
        _ => &row.name,
    };
    let data = row.stats.data.clone().filter(|data| !data.is_empty());
    Measured {
        method: method.to_owned(),
        metric: TIME,
        parameters: parameters(row.params.iter().flatten()),
        values_s: data.unwrap_or_else(|| vec![row.stats.mean]),
    }
}

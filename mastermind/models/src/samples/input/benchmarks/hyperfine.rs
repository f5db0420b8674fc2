//! hyperfine's JSON and comma-separated values: a command is a method, with the names of its `-P` and `-L` parameters in place of their
//! values.
//!
//! # Source
//! hyperfine 1.18, `src/export/json.rs`, `src/export/csv.rs`, `src/benchmark/benchmark_result.rs`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::{Measured, TIME, parameters};

#[derive(Deserialize)]
pub(super) struct Hyperfine {
    command: String,
    mean: Option<f64>,
    times: Option<Vec<f64>>,
    exit_codes: Option<Vec<Option<i64>>>,
    #[serde(default)]
    parameters: Map<String, Value>,
    /// Written by versions 1.6 to 1.10, which do not write the name.
    parameter: Option<Value>,
}

/// The runs of a command, or their mean if the file has no runs. A failed run has no time.
pub(super) fn measured(row: &Hyperfine) -> Measured {
    let nameless = "parameter".to_owned();
    let nameless = row.parameter.as_ref().map(|value| (&nameless, value));
    let given: Vec<_> = row.parameters.iter().chain(nameless).collect();
    let mut method = row.command.clone();
    for (name, value) in &given {
        let text = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        method = with_name(&method, &text, name);
    }
    let times = row.times.clone().filter(|times| !times.is_empty());
    let mut values_s = times.unwrap_or_else(|| row.mean.into_iter().collect());
    let codes = row.exit_codes.iter().flatten();
    for (value, _) in values_s
        .iter_mut()
        .zip(codes)
        .filter(|(_, code)| **code != Some(0))
    {
        *value = f64::NAN;
    }
    Measured {
        method,
        metric: TIME,
        parameters: parameters(given),
        values_s,
    }
}

/// A command with the value of a parameter replaced by its name, as the user of hyperfine wrote it.
pub(super) fn with_name(command: &str, value: &str, name: &str) -> String {
    if value.is_empty() {
        return command.to_owned();
    }
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut named = String::new();
    let mut rest = command;
    while let Some(at) = rest.find(value) {
        let (before, after) = (&rest[..at], &rest[at + value.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        named.push_str(before);
        match is_whole {
            true => named.extend(["{", name, "}"]),
            false => named.push_str(value),
        }
        rest = after;
    }
    named + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_in_a_command_is_its_parameter() {
        for (value, expected) in [
            ("4", "gzip -{n} x.14 4.5 {n}"),
            ("gzip", "{n} -4 x.14 4.5 4"),
            ("", "gzip -4 x.14 4.5 4"),
        ] {
            assert_eq!(with_name("gzip -4 x.14 4.5 4", value, "n"), expected);
        }
    }
}

//! `mastermind suggest`: where to measure next.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;
use std::str::FromStr;

use clap::Args;
use mastermind_models::{Metric, Model, SuggestOptions, Suggestion, Value, suggest};
use serde::Serialize;

use crate::commands::predict::read_models;
use crate::output;
use mastermind_component::names::{self, Names};

/// Suggest the points whose measurement improves a model most for its cost.
#[derive(Args)]
#[command(after_help = "Example: mastermind suggest models.json --method flux.compute --n 5")]
pub struct Suggest {
    /// Models, as fit writes them
    #[arg(value_name = "MODELS")]
    models: PathBuf,
    /// The method: CLASS::PORT.METHOD, or an end of it
    #[arg(long, value_name = "NAME")]
    method: String,
    /// How many points for each model of the method
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = at_least_1::<usize>)]
    n: usize,
    /// How far above the measured range predictions are wanted, as a factor
    #[arg(long, value_name = "FACTOR", default_value_t = 2.0, value_parser = reach)]
    reach: f64,
    /// Calls to be measured at a point
    #[arg(long, value_name = "CALLS", default_value_t = 5, value_parser = at_least_1::<u32>)]
    repetitions: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The largest reach; no model predicts anything useful beyond it.
const FARTHEST: f64 = 1e6;

fn reach(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|x| (1.0..=FARTHEST).contains(x));
    factor.ok_or_else(|| format!("expected a factor of 1 to {FARTHEST:e}"))
}

fn at_least_1<N: FromStr + From<u8> + PartialOrd>(text: &str) -> Result<N, String> {
    let number = text.parse::<N>().ok().filter(|n| *n >= N::from(1));
    number.ok_or_else(|| "expected a whole number of at least 1".into())
}

/// A suggestion as it is printed.
#[derive(Serialize)]
struct Row {
    method: String,
    metric: Metric,
    /// Values of all parameters.
    at: std::collections::BTreeMap<String, Value>,
    time_s: f64,
    cost_s: f64,
    unsure_percent: f64,
    gain_percent: f64,
    extrapolated: bool,
}

impl Suggest {
    /// Suggests points.
    ///
    /// # Errors
    /// The models cannot be read; none is of the method.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let models = read_models(&self.models, false)?;
        let meant = names::of_models(&models, &self.method);
        // A suggestion depends on the time that a measurement costs, which models of counters do not give.
        let named = |model: &&Model| model.metric.is_time() && meant.contains(&model.method);
        let chosen: Vec<&Model> = models.models.iter().filter(named).collect();
        if chosen.is_empty() {
            let of_time = models.models.iter().filter(|model| model.metric.is_time());
            let known: BTreeSet<_> = of_time.map(|model| model.method.as_str()).collect();
            let known: Vec<_> = known.into_iter().map(Names::of_model).collect();
            let act = "suggest points for";
            return Err(names::unknown(act, &self.method, "no model of its time", &known).into());
        }
        let options = SuggestOptions {
            n: self.n,
            reach: self.reach,
            repetitions: self.repetitions,
            setup_s: None,
        };
        let mut rows = Vec::new();
        let mut exit = ExitCode::SUCCESS;
        for model in chosen {
            match suggest(model, &options) {
                Ok(found) => rows.extend(found.iter().map(|suggestion| row(model, suggestion))),
                Err(error) => {
                    crate::output::complain!("{}", crate::errors::worded(&error.into()));
                    exit = ExitCode::FAILURE;
                }
            }
        }
        if self.json {
            output::json(&serde_json::json!({ "suggestions": rows }))?;
        } else if !rows.is_empty() {
            output::line(table(&rows));
        }
        Ok(exit)
    }
}

fn row(model: &Model, suggestion: &Suggestion) -> Row {
    Row {
        method: model.method.clone(),
        metric: model.metric.clone(),
        at: suggestion.coordinate.values.clone(),
        time_s: suggestion.time_s,
        cost_s: suggestion.cost_s,
        unsure_percent: 100.0 * suggestion.unsure,
        gain_percent: 100.0 * suggestion.gain,
        extrapolated: suggestion.extrapolated,
    }
}

fn table(rows: &[Row]) -> String {
    let header = [
        "METHOD", "AT", "TIME s", "COST s", "UNSURE %", "GAIN %", "WHY",
    ];
    let rows = rows.iter().map(|row| {
        let at: Vec<String> = row.at.iter().map(|(k, v)| format!("{k}={v}")).collect();
        let place = if row.extrapolated {
            "beyond the measured range"
        } else {
            "within the range"
        };
        vec![
            row.method.clone(),
            at.join(","),
            format!("{:.3e}", row.time_s),
            format!("{:.3e}", row.cost_s),
            format!("{:.2}", row.unsure_percent),
            format!("{:.1}", row.gain_percent),
            format!(
                "{place}: takes {:.0} % of the variance left",
                row.gain_percent
            ),
        ]
    });
    output::table(&header, &[2, 3, 4, 5], rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_models::{Parameter, SampleSet, fit};

    #[test]
    fn the_table_says_where_and_why() {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set
            .declare("C::p.m", &[Parameter::integer("q", "double")])
            .unwrap();
        for (i, q) in [1e3, 2e3, 4e3, 8e3, 1.6e4, 3.2e4].into_iter().enumerate() {
            let seconds = (1e-6 + 1e-9 * q) * (1.0 + 0.05 * (i as f64 * 2.3).sin());
            set.push(method, &[q], seconds).unwrap();
        }
        let model = fit(&set.finish()[0]).unwrap().remove(0);
        let found = suggest(&model, &SuggestOptions::default()).unwrap();
        let rows: Vec<Row> = found.iter().map(|s| row(&model, s)).collect();
        let text = table(&rows);
        assert!(
            text.starts_with("METHOD") && text.contains("C::p.m  q="),
            "{text}"
        );
        assert!(text.contains("of the variance left"), "{text}");
    }
}

//! Predictions against measurements that were not fitted.
//!
//! A model's interval is a promise about calls that it has not seen: 95 % of them should lie
//! inside. `predict --against` checks the promise with measurements that were not fitted. Every
//! call is compared with the interval at its own coordinate, and each model gets a row for the
//! calls within its measured range and one for those outside, since only the first tests the fit.
//!
//! ```text
//! METHOD                       POINTS  CALLS  INSIDE %  HALF-WIDTH %  ERROR %
//! hydro.EfmFlux::flux.compute       8    960      94.8           6.1      1.2
//! hydro.EfmFlux::flux.compute       2    240      88.3          11.0      4.5  extrapolated
//! ```
//!
//! The share inside must be read together with the half-width: an interval that is wide enough
//! contains everything. Calls are streamed; memory grows with the number of distinct coordinates,
//! since each needs one prediction.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::bail;
use mastermind_models::{
    CallSink, Coordinate, Error, LEVEL, Metric, Model, ModelSet, Parameter, ParameterKind,
    Prediction, Refused, predict,
};
use serde::Serialize;

use crate::measurements::{Reading, each_call};
use crate::output;
use mastermind_component::names;

/// How well the predictions of one model agree with calls that were not fitted.
#[derive(Serialize)]
struct Row {
    method: String,
    /// The mode.
    #[serde(rename = "where")]
    mode: String,
    /// Distinct coordinates, within the measured range or, if `extrapolated`, outside of it.
    points: usize,
    /// Calls there.
    calls: u64,
    /// Share of calls within the interval for a call, per cent.
    inside_percent: f64,
    /// Half the interval's width relative to the value, per cent: the median over the coordinates.
    half_width_percent: f64,
    /// Distance of the mean of a coordinate from the value, per cent of the value: the median over the coordinates.
    error_percent: f64,
    /// Whether all this is outside the measured range.
    extrapolated: bool,
}

#[derive(Serialize)]
struct Document<'a> {
    level: f64,
    rows: &'a [Row],
}

/// Compares every call with the interval for a call like it, and prints the shares.
///
/// # Errors
/// The measurements cannot be read; no model is of a method in them.
pub fn check(
    models: &ModelSet,
    method: Option<&str>,
    metric: &Metric,
    (inputs, reading): (&[PathBuf], &Reading),
    is_json: bool,
) -> anyhow::Result<ExitCode> {
    let mut held_out = HeldOut {
        models,
        metric: metric.clone(),
        methods: Vec::new(),
        points: HashMap::new(),
        key: Vec::new(),
    };
    each_call(inputs, reading, metric, &mut held_out)?;
    let rows = held_out.rows(method);
    if rows.is_empty() {
        let known: Vec<_> = held_out
            .methods
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        bail!(
            "cannot check models: none is of a method measured, expected one of {}",
            known.join(", ")
        );
    }
    if is_json {
        output::json(&Document {
            level: LEVEL,
            rows: &rows,
        })?;
    } else {
        print(&rows);
    }
    Ok(ExitCode::SUCCESS)
}

/// Calls compared with models, by method and coordinate.
struct HeldOut<'m> {
    models: &'m ModelSet,
    metric: Metric,
    methods: Vec<(String, Vec<Parameter>)>,
    /// Method and bits of the coordinate → observations there; `None` without a model.
    points: HashMap<Vec<u64>, Option<Point<'m>>>,
    key: Vec<u64>,
}

struct Point<'m> {
    model: &'m Model,
    prediction: Prediction,
    calls: u64,
    inside: u64,
    sum_s: f64,
}

impl CallSink for HeldOut<'_> {
    fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        let same = |(name, known): &(String, Vec<Parameter>)| name == method && known == parameters;
        if let Some(place) = self.methods.iter().position(same) {
            return Ok(place);
        }
        self.methods.push((method.into(), parameters.to_vec()));
        Ok(self.methods.len() - 1)
    }

    fn take(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        if !(seconds.is_finite() && seconds >= 0.0) {
            return Err(Refused::Time(seconds));
        }
        if let Some(index) = coordinate.iter().position(|x| !x.is_finite()) {
            let value = coordinate[index];
            return Err(Refused::Parameter { index, value });
        }
        self.key.clear();
        self.key.push(method as u64);
        self.key
            // Adding 0 makes -0 and 0 the same key.
            .extend(coordinate.iter().map(|x| (x + 0.0).to_bits()));
        if !self.points.contains_key(&self.key) {
            let point = self.point(method, coordinate);
            self.points.insert(self.key.clone(), point);
        }
        if let Some(Some(point)) = self.points.get_mut(&self.key) {
            let Prediction {
                lower_s, upper_s, ..
            } = point.prediction;
            point.calls += 1;
            point.inside += u64::from((lower_s..=upper_s).contains(&seconds));
            point.sum_s += seconds;
        }
        Ok(())
    }
}

impl<'m> HeldOut<'m> {
    /// The prediction at a coordinate, if a model covers it.
    fn point(&self, method: usize, values: &[f64]) -> Option<Point<'m>> {
        let (name, parameters) = &self.methods[method];
        let mut coordinate = Coordinate::new();
        for (parameter, &value) in parameters.iter().zip(values) {
            coordinate = match &parameter.kind {
                ParameterKind::Enumeration(labels) => {
                    coordinate.with(&parameter.name, labels.get(value as usize)?.as_str())
                }
                _ => coordinate.with(&parameter.name, value),
            };
        }
        let model = self
            .models
            .find(name, self.metric.clone(), &coordinate)
            .ok()?;
        let prediction = predict(model, &coordinate).ok()?;
        Some(Point {
            model,
            prediction,
            calls: 0,
            inside: 0,
            sum_s: 0.0,
        })
    }

    /// A row for each model with the calls within its measured range, and one with those outside.
    fn rows(&self, method: Option<&str>) -> Vec<Row> {
        let mut rows = Vec::new();
        let meant = method.map(|name| names::of_models(self.models, name));
        for model in &self.models.models {
            if meant
                .as_ref()
                .is_some_and(|meant| !meant.contains(&model.method))
            {
                continue;
            }
            for extrapolated in [false, true] {
                let points = self.points.values().flatten();
                let points: Vec<_> = points
                    .filter(|point| std::ptr::eq(point.model, model))
                    .filter(|point| point.prediction.extrapolated == extrapolated)
                    .collect();
                if !points.is_empty() {
                    rows.push(row(model, &points, extrapolated));
                }
            }
        }
        rows
    }
}

fn row(model: &Model, points: &[&Point<'_>], extrapolated: bool) -> Row {
    let calls: u64 = points.iter().map(|point| point.calls).sum();
    let inside: u64 = points.iter().map(|point| point.inside).sum();
    let half = |point: &&Point<'_>| {
        let Prediction {
            value_s,
            lower_s,
            upper_s,
            ..
        } = point.prediction;
        50.0 * (upper_s - lower_s) / value_s
    };
    let error = |point: &&Point<'_>| {
        let value_s = point.prediction.value_s;
        100.0 * (point.sum_s / point.calls as f64 - value_s).abs() / value_s
    };
    let mode = model
        .mode
        .iter()
        .map(|(name, label)| format!("{name}={label}"));
    Row {
        method: model.method.clone(),
        mode: mode.collect::<Vec<_>>().join(" "),
        points: points.len(),
        calls,
        inside_percent: 100.0 * inside as f64 / calls as f64,
        half_width_percent: median(points.iter().map(half).collect()),
        error_percent: median(points.iter().map(error).collect()),
        extrapolated,
    }
}

/// The median of the values.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => f64::NAN,
        _ if n % 2 == 1 => values[n / 2],
        _ => 0.5 * (values[n / 2 - 1] + values[n / 2]),
    }
}

fn print(rows: &[Row]) {
    let cells = rows.iter().map(|row| {
        vec![
            row.method.clone(),
            row.mode.clone(),
            row.points.to_string(),
            row.calls.to_string(),
            format!("{:.1}", row.inside_percent),
            format!("{:.1}", row.half_width_percent),
            format!("{:.1}", row.error_percent),
            if row.extrapolated { "extrapolated" } else { "" }.into(),
        ]
    });
    let header = [
        "METHOD",
        "MODE",
        "POINTS",
        "CALLS",
        "INSIDE %",
        "HALF-WIDTH %",
        "ERROR %",
        "",
    ];
    output::line(output::table(&header, &[2, 3, 4, 5, 6], cells));
    let percent = 100.0 * LEVEL;
    output::line(format!(
        "inside: calls within the {percent} % interval for a call; half-width and error: medians over the points"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}

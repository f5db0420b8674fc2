//! Mean and deviation of the times of a method, and what a model says of a parameter.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use clap::ValueEnum;
use mastermind_component::method_name;
use mastermind_models::{
    Coordinate, Metric, Model, ModelSet, ParameterKind, Samples, Summary, Value, fit, predict,
};
use mastermind_records::Run;

use crate::figures::fitted::CurvePoint;
use crate::figures::mean::{Mean, Point, Series};
use crate::measurements::means;

/// Points of a curve.
const STEPS: usize = 240;

/// Whether the modes of a method, combinations of its labels, are drawn for themselves.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum Modes {
    /// A series for each
    Apart,
    /// All calls of an array size as one, as the paper's Figures 4 and 5 have it
    Together,
}

/// Keeps the samples of the one method that a name means: INSTANCE.METHOD of a run, CLASS::PORT.METHOD or an end of it.
///
/// # Errors
/// It means none, or several.
pub fn one(mut found: Vec<Samples>, name: &str, run: Option<&Run>) -> anyhow::Result<Samples> {
    let methods = run.into_iter().flat_map(Run::logs);
    let methods = methods.flat_map(|log| log.definitions().methods());
    let of_instance: Vec<_> = methods
        .filter(|method| method.name() == name)
        .map(|method| method_name(method))
        .collect();
    let known: Vec<_> = found.iter().map(|samples| samples.method.clone()).collect();
    found.retain(|s| match of_instance.is_empty() {
        true => means(&s.method, name),
        false => of_instance.contains(&s.method),
    });
    if found.len() > 1 {
        let found: Vec<_> = found.iter().map(|s| format!("\"{}\"", s.method)).collect();
        bail!(
            "cannot draw \"{name}\": {} methods of this name, expected one; name {}",
            found.len(),
            found.join(" or ")
        );
    }
    found.pop().with_context(|| {
        format!(
            "cannot draw \"{name}\": no calls of it, expected one of {}",
            known.join(", ")
        )
    })
}

/// The figure of a method's samples.
///
/// # Arguments
/// * `parameter` - of the x axis; `None`: the first that is a number and varies
/// * `models` - what the curves are of; `None`: fitted to the samples
///
/// # Errors
/// No such parameter; the samples cannot be fitted; no model of the method.
pub fn mean(
    samples: &Samples,
    parameter: Option<&str>,
    modes: Modes,
    models: Option<&ModelSet>,
) -> anyhow::Result<Mean> {
    let samples = match modes {
        Modes::Apart => samples.clone(),
        Modes::Together => together(samples),
    };
    let place = place(&samples, parameter)?;
    let fitted;
    let models = match models {
        Some(models) => models,
        None => {
            fitted = ModelSet {
                models: fit(&samples)?,
            };
            &fitted
        }
    };
    let by_mode = by_mode(&samples);
    let is_log =
        crate::figures::style::Axis::spans_decades(samples.coordinates.iter().map(|x| x[place]));
    let mut series = Vec::new();
    for (mode, rows) in &by_mode {
        let points = points(&samples, rows, place);
        let others = others(&samples, rows, place);
        let (curve, formula, deviation) =
            match models.find(&samples.method, samples.metric, &others) {
                Ok(model) => {
                    let range = [points[0].x, points[points.len() - 1].x];
                    let name = &samples.parameters[place].name;
                    (
                        curve(model, &others, name, range, is_log)?,
                        text("T", &model.expression),
                        deviation(model),
                    )
                }
                Err(error) if modes == Modes::Apart => return Err(error.into()),
                // Models of the modes say nothing of all of them together.
                Err(_) => (Vec::new(), String::new(), String::new()),
            };
        series.push(Series {
            name: mode.clone(),
            points,
            curve,
            formula,
            deviation,
        });
    }
    let calls: u64 = samples.times.iter().map(|summary| summary.count).sum();
    let parameter = &samples.parameters[place];
    Ok(Mean {
        title: format!("{}  ({calls} calls)", samples.method),
        x_label: match parameter.unit.as_str() {
            "" => parameter.name.clone(),
            unit => format!("{} [{unit}]", parameter.name),
        },
        time: match samples.metric {
            Metric::Mpi => "time in MPI".into(),
            metric => format!("{metric} time"),
        },
        series,
    })
}

fn text(symbol: &str, expression: &str) -> String {
    format!("{symbol} = {expression} s")
}

fn deviation(model: &Model) -> String {
    let sigma = model.sigma.as_ref();
    sigma.map_or_else(String::new, |sigma| text("sigma", &sigma.to_string()))
}

fn is_label(kind: &ParameterKind) -> bool {
    matches!(kind, ParameterKind::Enumeration(_))
}

/// Place of the x axis's parameter.
fn place(samples: &Samples, name: Option<&str>) -> anyhow::Result<usize> {
    let varies = |&place: &usize| {
        samples
            .coordinates
            .iter()
            .any(|x| x[place] != samples.coordinates[0][place])
    };
    let mut numbers =
        (0..samples.parameters.len()).filter(|&place| !is_label(&samples.parameters[place].kind));
    let found = match name {
        Some(name) => numbers
            .clone()
            .find(|&place| samples.parameters[place].name == name),
        None => numbers
            .clone()
            .find(varies)
            .or_else(|| numbers.clone().next()),
    };
    found.with_context(|| {
        let known: Vec<_> = numbers
            .by_ref()
            .map(|place| samples.parameters[place].name.as_str())
            .collect();
        let method = &samples.method;
        match name {
            Some(name) => format!(
                "cannot draw \"{method}\": no number \"{name}\", expected one of {}",
                known.join(", ")
            ),
            None => {
                format!("cannot draw \"{method}\": no parameter that is a number, expected one")
            }
        }
    })
}

/// The samples without their labels: the calls at equal numbers are one.
fn together(samples: &Samples) -> Samples {
    let kept: Vec<usize> = (0..samples.parameters.len())
        .filter(|&place| !is_label(&samples.parameters[place].kind))
        .collect();
    let mut points: Vec<(Vec<f64>, Summary)> = Vec::new();
    let mut index = std::collections::HashMap::new();
    for (x, summary) in samples.coordinates.iter().zip(&samples.times) {
        let x: Vec<f64> = kept.iter().map(|&place| x[place]).collect();
        let bits: Vec<u64> = x.iter().map(|x| x.to_bits()).collect();
        let at = *index.entry(bits).or_insert(points.len());
        if at == points.len() {
            points.push((x, Summary::EMPTY));
        }
        points[at].1.merge(summary);
    }
    points.sort_by(|(a, _), (b, _)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let (coordinates, times) = points.into_iter().unzip();
    Samples {
        parameters: kept
            .iter()
            .map(|&place| samples.parameters[place].clone())
            .collect(),
        coordinates,
        times,
        ..samples.clone()
    }
}

/// The rows of each mode by its name: `axis = x`.
fn by_mode(samples: &Samples) -> BTreeMap<String, Vec<usize>> {
    let mut modes: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for row in 0..samples.coordinates.len() {
        let coordinate = samples.coordinate(row);
        let labels = coordinate
            .values
            .iter()
            .filter_map(|(name, value)| match value {
                Value::Label(label) => Some(format!("{name} = {label}")),
                Value::Number(_) => None,
            });
        let name = labels.collect::<Vec<_>>().join(", ");
        modes.entry(name).or_default().push(row);
    }
    modes
}

/// Mean and deviation by the parameter, over whatever the others are.
fn points(samples: &Samples, rows: &[usize], place: usize) -> Vec<Point> {
    let mut sums: Vec<(f64, Summary)> = Vec::new();
    let mut rows = rows.to_vec();
    rows.sort_by(|&a, &b| samples.coordinates[a][place].total_cmp(&samples.coordinates[b][place]));
    for row in rows {
        let x = samples.coordinates[row][place];
        match sums.last_mut() {
            Some((last, summary)) if *last == x => summary.merge(&samples.times[row]),
            _ => sums.push((x, samples.times[row])),
        }
    }
    let point = |(x, summary): &(f64, Summary)| Point {
        x: *x,
        mean_us: summary.mean_s * 1e6,
        deviation_us: (summary.count > 1)
            .then(|| (summary.m2_s2 / (summary.count - 1) as f64).sqrt() * 1e6),
    };
    sums.iter().map(point).collect()
}

/// A coordinate of the mode with the other numbers at their medians.
fn others(samples: &Samples, rows: &[usize], place: usize) -> Coordinate {
    let mut coordinate = samples.coordinate(rows[0]);
    for (other, parameter) in samples.parameters.iter().enumerate() {
        if other == place || is_label(&parameter.kind) {
            continue;
        }
        let mut values: Vec<f64> = rows
            .iter()
            .map(|&row| samples.coordinates[row][other])
            .collect();
        values.sort_by(f64::total_cmp);
        coordinate = coordinate.with(&parameter.name, values[values.len() / 2]);
    }
    coordinate
}

/// A model over a range of a parameter.
///
/// # Errors
/// The model has no value there.
pub fn curve(
    model: &Model,
    others: &Coordinate,
    parameter: &str,
    [low, high]: [f64; 2],
    is_log: bool,
) -> anyhow::Result<Vec<CurvePoint>> {
    let at = |step: usize| {
        let share = step as f64 / STEPS as f64;
        match is_log {
            true => low * (high / low).powf(share),
            false => low + (high - low) * share,
        }
    };
    let point = |step: usize| {
        let x = at(step);
        let coordinate = others.clone().with(parameter, x);
        let prediction = predict(model, &coordinate)?;
        Ok(CurvePoint {
            x,
            us: prediction.value_s * 1e6,
            interval_us: [prediction.lower_s * 1e6, prediction.upper_s * 1e6],
            deviation_us: model.deviation_s(&coordinate)? * 1e6,
        })
    };
    (0..=STEPS).map(point).collect()
}

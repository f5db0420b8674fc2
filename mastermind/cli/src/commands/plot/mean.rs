//! Mean and deviation of the times of a method, and the curve of a model over a parameter.
//!
//! `plot --kind mean` compares a model with the measurements it describes, so both must be the same
//! quantity. The points are the calls that the model was fitted to: without interrupted calls, with
//! the statistic that the model predicts. A model may follow several parameters but the figure has
//! one axis; a curve would then be compared with points of other planes. `slice` therefore selects
//! the points of one combination of the other parameters, the one with the most values on the axis.
//!
//! ```text
//! samples ─ one method ─▶ for each model (a mode):
//!     Aside::drawn   the calls to draw, and how many were set aside
//!     slice          rows with equal values of the other parameters
//!     points         mean and deviation for each x
//!     curve          predictions at STEPS values of x
//!     spread         a model of the deviations, for the lower panel
//! ```

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, bail};
use clap::ValueEnum;
use mastermind_models::{
    Coordinate, Error, FitOptions, Formula, Metric, Model, ModelSet, Modes, Note, ParameterKind,
    SampleSet, Samples, Statistic, Summary, clean_calls, fit_with, predict,
};
use mastermind_records::Run;

use crate::figures::fitted::CurvePoint;
use crate::figures::mean::{Mean, Point, Series};
use crate::figures::style::{Axis, number};
use mastermind_component::names::{self, Names};

/// Points of a curve.
const STEPS: usize = 240;

/// Whether the modes of a method, combinations of its labels, are drawn for themselves.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub enum ModesDrawn {
    /// A series for each
    Apart,
    /// All calls of a size as one, as the paper's Figures 4 and 5 have it
    Together,
}

impl From<ModesDrawn> for Modes {
    fn from(drawn: ModesDrawn) -> Self {
        match drawn {
            ModesDrawn::Apart => Modes::Apart,
            ModesDrawn::Together => Modes::Together,
        }
    }
}

/// Keeps the samples of the one method that a name means: INSTANCE.PORT.METHOD of a run, CLASS::PORT.METHOD, or the end
/// of such a name.
///
/// # Errors
/// It means no method, or several.
pub fn one(mut found: Vec<Samples>, name: &str, run: Option<&Run>) -> anyhow::Result<Samples> {
    let known = found.iter().map(|samples| {
        let names = Names::of_model(&samples.method);
        match run {
            Some(run) => names.and_of_run(run),
            None => names,
        }
    });
    let known: Vec<_> = known.collect();
    let place = names::one("draw", name, "no calls of it", &known)?;
    Ok(found.swap_remove(place))
}

/// The statistic of the calls at a coordinate that the models of a method were fitted to.
pub fn statistic(models: Option<&ModelSet>, samples: &Samples) -> Statistic {
    let of_method =
        |model: &&Model| model.method == samples.method && model.metric == samples.metric;
    let models = models.iter().flat_map(|set| &set.models).filter(of_method);
    let of_note = |note: &Note| match note {
        Note::Statistic { statistic } => Some(*statistic),
        _ => None,
    };
    let mut notes = models.flat_map(|model| &model.notes);
    notes.find_map(of_note).unwrap_or_default()
}

/// The figure of a method's samples. It shows the calls that the models describe: without interrupted calls and those
/// far above the others.
///
/// # Arguments
/// * `parameter` - for the x axis; `None`: the first that is a number and varies
/// * `shown` - the curves are of the shown formula alone
/// * `models` - models for the curves; `None`: models fitted to the samples
///
/// # Errors
/// No such parameter; the samples cannot be fitted; no model of the method.
pub fn mean(
    samples: &Samples,
    parameter: Option<&str>,
    (modes, shown): (ModesDrawn, bool),
    models: Option<&ModelSet>,
) -> anyhow::Result<Mean> {
    let place = place(samples, parameter)?;
    let models = match models {
        Some(models) => of_method(models, samples)?,
        None => {
            let options = FitOptions {
                modes: modes.into(),
                ..FitOptions::default()
            };
            let models = fit_with(samples, &options)?;
            match shown {
                true => ModelSet { models }.shown_alone().models,
                false => models,
            }
        }
    };
    let is_log = Axis::spans_decades(samples.coordinates.iter().map(|x| x[place]));
    let mut series = Vec::new();
    let mut aside = Aside::default();
    for model in &models {
        let calls = aside.drawn(model, samples);
        let rows: Vec<usize> = (0..samples.coordinates.len())
            .filter(|&row| calls[row].count > 0 && model.matches(&samples.coordinate(row)))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let rows = slice(samples, model, rows, place);
        let points = points(samples, &calls, &rows, place);
        // Points are sorted by the parameter.
        let range = [points[0].x, points[points.len() - 1].x];
        let name = &samples.parameters[place].name;
        let labels = model
            .mode
            .iter()
            .map(|(name, label)| format!("{name} = {label}"));
        let others = others(samples, &rows, place);
        let mut curve = curve(model, &others, name, range, is_log)?;
        let spread = spread(samples, &points, place);
        if let Some(spread) = &spread {
            let scale = scale(&samples.metric);
            // The lower panel shows the spread about the points' own means, not about the formula.
            for point in &mut curve {
                let at = Coordinate::new().with(name, point.x);
                point.deviation = predict(spread, &at)?.value_s * scale;
            }
        }
        series.push(Series {
            name: labels.collect::<Vec<_>>().join(", "),
            curve,
            at: held(model, &others, name),
            points,
            formula: label(model),
            deviation: spread.as_ref().map_or_else(
                || deviation(model),
                |spread| text(spread, "sigma", &spread.expression),
            ),
        });
    }
    if series.is_empty() {
        bail!(
            "cannot draw \"{}\": no calls of the modes that have a model, expected some",
            samples.method
        );
    }
    let calls: u64 = samples.times.iter().map(|summary| summary.count).sum();
    let parameter = &samples.parameters[place];
    Ok(Mean {
        title: format!("{}  ({calls} calls{aside})", samples.method),
        x_label: super::axis_label(&parameter.name, &parameter.unit),
        statistic: samples.statistic,
        quantity: samples.metric.quantity(),
        unit: match samples.metric.is_time() {
            true => "µs".into(),
            false => samples.metric.unit().into(),
        },
        series,
    })
}

/// Calls that are not drawn.
#[derive(Default)]
struct Aside {
    held_up: u64,
    far_above: u64,
}

impl Aside {
    /// The drawn calls at each coordinate, shape `[n_coordinates]`: the clean ones of a model that was fitted to these
    /// samples, otherwise those that are not far above the others. Counts the other calls of the model's mode.
    fn drawn(&mut self, model: &Model, samples: &Samples) -> Vec<Summary> {
        let rows = (0..samples.times.len()).filter(|&row| model.matches(&samples.coordinate(row)));
        let rows: Vec<usize> = rows.collect();
        let n: u64 = rows.iter().map(|&row| samples.times[row].count).sum();
        // Another number of calls: the model is from other samples, whose held-up calls say nothing
        // about these.
        let is_of_clean = model.held_up.is_some() && n == model.n_records;
        let (calls, aside) = match is_of_clean {
            true => (clean_calls(model, samples), &mut self.held_up),
            false => (samples.kept.clone(), &mut self.far_above),
        };
        *aside += n - rows.iter().map(|&row| calls[row].count).sum::<u64>().min(n);
        calls
    }
}

impl std::fmt::Display for Aside {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.held_up, "held up"),
            (self.far_above, "far above the others"),
        ];
        for (n, what) in parts.into_iter().filter(|(n, _)| *n > 0) {
            write!(f, ", {n} {what} set aside")?;
        }
        Ok(())
    }
}

/// The models of the method.
fn of_method(models: &ModelSet, samples: &Samples) -> anyhow::Result<Vec<Model>> {
    // If there are none, the error of the library is returned.
    let first = samples.coordinate(0);
    if let Err(error @ Error::NoModel { .. }) =
        models.find(&samples.method, samples.metric.clone(), &first)
    {
        return Err(error.into());
    }
    let of_method =
        |model: &&Model| model.method == samples.method && model.metric == samples.metric;
    Ok(models.models.iter().filter(of_method).cloned().collect())
}

fn text(model: &Model, symbol: &str, expression: &str) -> String {
    format!("{symbol} = {}", model.metric.with_unit(expression))
}

/// Factor from values to drawn values: times are drawn in microseconds.
fn scale(metric: &Metric) -> f64 {
    if metric.is_time() { 1e6 } else { 1.0 }
}

fn deviation(model: &Model) -> String {
    let sigma = model.sigma.as_ref();
    sigma.map_or_else(String::new, |sigma| {
        text(model, "sigma", &sigma.to_string())
    })
}

/// A model of the standard deviation of the calls at the points about their own mean; `None` if no value of the
/// parameter was called twice.
///
/// The deviation that a model has itself is about its formula. It includes the misfit of the formula, up to a hundred
/// times as much.
fn spread(samples: &Samples, points: &[Point], place: usize) -> Option<Model> {
    let mut set = SampleSet::new(samples.metric.clone());
    let parameter = samples.parameters[place].clone();
    let method = set.declare(&samples.method, &[parameter]).ok()?;
    let scale = scale(&samples.metric);
    for point in points {
        if let Some(deviation) = point.deviation.filter(|deviation| *deviation > 0.0) {
            set.push(method, &[point.x], deviation / scale).ok()?;
        }
    }
    let deviations = set.finish();
    fit_with(deviations.first()?, &FitOptions::default())
        .ok()?
        .pop()
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

/// Mean and deviation by the parameter, over all values of the others in these rows.
fn points(samples: &Samples, calls: &[Summary], rows: &[usize], place: usize) -> Vec<Point> {
    let mut sums: Vec<(f64, Summary)> = Vec::new();
    // Sorted by the parameter, equal values follow each other and are merged.
    let mut rows = rows.to_vec();
    rows.sort_by(|&a, &b| samples.coordinates[a][place].total_cmp(&samples.coordinates[b][place]));
    for row in rows {
        let x = samples.coordinates[row][place];
        match sums.last_mut() {
            Some((last, summary)) if *last == x => summary.merge(&calls[row]),
            _ => sums.push((x, calls[row])),
        }
    }
    let scale = scale(&samples.metric);
    let point = |(x, summary): &(f64, Summary)| Point {
        x: *x,
        mean: summary.mean_s * scale,
        deviation: (summary.count > 1)
            .then(|| (summary.m2_s2 / (summary.count - 1) as f64).sqrt() * scale),
    };
    sums.iter().map(point).collect()
}

/// The rows that a curve may be compared with: those of one combination of the other numbers that the model depends on.
/// It is the combination with most values of the parameter, the middle one among equals. If none has half of the
/// values, as when calls differ in everything, all rows.
fn slice(samples: &Samples, model: &Model, rows: Vec<usize>, place: usize) -> Vec<usize> {
    let followed = followed(model);
    let names = samples.parameters.iter().enumerate();
    let others: Vec<usize> = names
        .filter(|(other, p)| *other != place && followed.contains(p.name.as_str()))
        .map(|(other, _)| other)
        .collect();
    let mut slices: BTreeMap<Vec<u64>, Vec<usize>> = BTreeMap::new();
    for &row in &rows {
        // Positive numbers have the same order as their bits.
        let key = others
            .iter()
            .map(|&other| samples.coordinates[row][other].to_bits());
        slices.entry(key.collect()).or_default().push(row);
    }
    let n_values = |rows: &[usize]| {
        let values = rows
            .iter()
            .map(|&row| samples.coordinates[row][place].to_bits());
        values.collect::<BTreeSet<u64>>().len()
    };
    let most = slices
        .values()
        .map(|rows| n_values(rows))
        .max()
        .unwrap_or(0);
    let mut fullest: Vec<Vec<usize>> = slices.into_values().collect();
    fullest.retain(|rows| n_values(rows) == most);
    match 2 * most >= n_values(&rows) && !fullest.is_empty() {
        true => fullest.swap_remove(fullest.len() / 2),
        false => rows,
    }
}

/// Names of the parameters that a model depends on.
fn followed(model: &Model) -> BTreeSet<&str> {
    let alternatives = model.alternatives.iter().map(|other| &other.formula);
    let formulas = std::iter::once(&model.formula).chain(alternatives);
    formulas
        .chain(&model.sigma)
        .flat_map(Formula::params)
        .collect()
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

/// The fixed values of the other numbers that the model of a curve depends on: `bytes = 5888, level = 1`; empty if
/// there are none.
///
/// # Arguments
/// * `others` - the coordinate that the curve goes through
/// * `parameter` - the parameter of the x axis
pub fn held(model: &Model, others: &Coordinate, parameter: &str) -> String {
    let mut names = followed(model);
    names.remove(parameter);
    let held = names.into_iter().filter_map(|name| {
        let value = others.number(name)?;
        Some(format!("{name} = {}", number(&value)))
    });
    held.collect::<Vec<_>>().join(", ")
}

/// Label for the curve of a model: its formula, or the median over several formulas, with the likeliest.
fn label(model: &Model) -> String {
    let formula = text(model, "T", &model.expression);
    match model.alternatives.first() {
        Some(first) => format!(
            "median of {} formulas, the likeliest ({:.0} %) {formula}",
            model.alternatives.len(),
            100.0 * first.weight
        ),
        None => formula,
    }
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
    let scale = scale(&model.metric);
    let point = |step: usize| {
        let x = at(step);
        let coordinate = others.clone().with(parameter, x);
        let prediction = predict(model, &coordinate)?;
        Ok(CurvePoint {
            x,
            value: prediction.value_s * scale,
            interval: [prediction.lower_s * scale, prediction.upper_s * scale],
            deviation: model.deviation_s(&coordinate)? * scale,
        })
    };
    (0..=STEPS).map(point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mastermind_models::Parameter;

    /// Times a third off any formula, with five calls of each size within a per cent.
    #[test]
    fn the_deviation_that_is_drawn_is_that_of_the_calls_not_of_the_formula() {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &[Parameter::real("n", "")]).unwrap();
        for i in 1..=10 {
            let n = f64::from(100 * i);
            let off = [1.0, 0.6, 1.5, 0.8, 1.3][i as usize % 5];
            for call in -2..=2 {
                let seconds = 1e-6 * n * off * (1.0 + 0.005 * f64::from(call));
                set.push(method, &[n], seconds).unwrap();
            }
        }
        let samples = set.finish().remove(0);
        let drawn = mean(&samples, None, (ModesDrawn::Apart, false), None).unwrap();
        let series = &drawn.series[0];
        let most = series.points.iter().filter_map(|point| point.deviation);
        let most = most.fold(0.0, f64::max);
        for point in &series.curve {
            assert!(point.deviation < 2.0 * most, "{} {most}", point.deviation);
        }
    }

    /// With two parameters the points are those of the slice that the curve shows, not means over the other parameter.
    #[test]
    fn points_lie_on_the_slice_that_the_curve_is_of() {
        let mut set = SampleSet::new(Metric::Wall);
        let parameters = [Parameter::real("n", ""), Parameter::real("m", "")];
        let method = set.declare("mix", &parameters).unwrap();
        let time_s = |n: f64, m: f64| 3e-6 + 2e-9 * n * m;
        for n in (1..=8).map(|i| f64::from(1000 * i * i)) {
            for m in [2.0, 4.0, 8.0, 16.0, 256.0] {
                set.push(method, &[n, m], time_s(n, m)).unwrap();
            }
        }
        let samples = set.finish().remove(0);
        let drawn = mean(&samples, None, (ModesDrawn::Apart, false), None).unwrap();
        let series = &drawn.series[0];
        assert_eq!((series.at.as_str(), series.points.len()), ("m = 8", 8));
        for point in &series.points {
            let there_us = 1e6 * time_s(point.x, 8.0);
            assert!((point.mean / there_us - 1.0).abs() < 1e-9, "{}", point.x);
        }
    }
}

//! `predict --along`: predictions over the values of one parameter, as a curve is drawn from them.

use mastermind_models::{Coordinate, Model, Prediction, predict};
use serde::Serialize;

use super::digits;
use crate::output;

/// Number of values, both ends included: a curve through as many looks smooth, and a table of them fits on a page.
const VALUES: usize = 41;

/// Factor of the last value over the measured range; the same as the reach of `suggest`.
const REACH: f64 = 2.0;

/// A prediction and where it is.
#[derive(Serialize)]
struct Row {
    at: Coordinate,
    #[serde(flatten)]
    prediction: Prediction,
}

#[derive(Serialize)]
struct Curve<'a> {
    model: &'a str,
    along: &'a str,
    /// The measured values, from the least to the greatest.
    measured: [f64; 2],
    rows: Vec<Row>,
}

/// Predicts for values of `along` from the least measured one to twice the greatest, the others as in `coordinate`.
///
/// # Errors
/// The model has no such parameter, or lacks another one.
pub fn print(
    model: &Model,
    coordinate: &Coordinate,
    along: &str,
    json: bool,
) -> anyhow::Result<()> {
    let Some(measured) = model.range.get(along).copied() else {
        let known: Vec<_> = model.range.keys().map(String::as_str).collect();
        anyhow::bail!(
            "cannot predict \"{}\" along \"{along}\": no such parameter, expected one of {}",
            model.method,
            known.join(", ")
        );
    };
    let [low, high] = measured;
    let step = (REACH * high - low) / (VALUES - 1) as f64;
    let rows: Result<Vec<_>, _> = (0..VALUES)
        .map(|place| {
            let at = coordinate.clone().with(along, low + step * place as f64);
            predict(model, &at).map(|prediction| Row { at, prediction })
        })
        .collect();
    let curve = Curve {
        model: &model.method,
        along,
        measured,
        rows: rows?,
    };
    if json {
        return output::json(&curve);
    }
    output::line(format!("{} along {along}", curve.model));
    let rows = curve.rows.iter().map(|row| {
        let Prediction {
            value_s,
            lower_s,
            upper_s,
            extrapolated,
            ..
        } = row.prediction;
        let end = |value: f64| match value.is_finite() {
            true => digits(value),
            false => "-".into(),
        };
        vec![
            format!("{:.6}", row.at.number(along).unwrap_or(f64::NAN)),
            digits(value_s),
            end(lower_s),
            end(upper_s),
            if extrapolated {
                "outside the measured range"
            } else {
                ""
            }
            .to_owned(),
        ]
    });
    let unit = match model.metric.is_time() {
        true => "s",
        false => model.metric.unit(),
    };
    let header = [along, unit, "lower", "upper", ""];
    output::line(output::table(&header, &[0, 1, 2, 3], rows));
    Ok(())
}

//! Extra-P's own experiments, `.extra-p`: a ZIP archive with a JSON document and sometimes the individual values.

use std::io::{Cursor, Read};

use serde::Deserialize;
use zip::ZipArchive;
use zip::result::ZipError;

use super::error::{InputError, Place, quoted};
use super::extrap_json::one;
use super::json_lines::plain;
use super::ordered::Ordered;
use super::wanted::Wanted;
use super::{Named, Row};

/// The document of an archive.
const DOCUMENT: &str = "experiment.json";

/// Greatest size of a document to read, since a small archive may unpack to any size.
const MAX_DOCUMENT_BYTES: u64 = 1 << 30;

/// Most values to represent one measurement.
const MAX_VALUES: u32 = 1000;

#[derive(Deserialize)]
struct Document {
    parameters: Vec<String>,
    /// Call path → metric → measurements.
    measurements: Ordered<Ordered<Vec<Measured>>>,
}

#[derive(Deserialize)]
struct Measured {
    coordinate: Vec<f64>,
    mean: f64,
    /// Population standard deviation of the values.
    #[serde(default)]
    std: f64,
    repetitions: Option<u32>,
}

/// Passes each measurement to `sink` as its number of repetitions of values with the same mean and standard deviation. Models in the
/// archive, and the individual values, are ignored.
///
/// # Source
/// Extra-P 4.2.5, `fileio/experiment_io.py`, `entities/experiment.py` and `entities/measurement.py`.
pub(super) fn rows(
    name: &str,
    mut input: impl Read,
    wanted: &Wanted,
    sink: &mut dyn FnMut(&Row<'_>) -> Result<(), InputError>,
) -> Result<(), InputError> {
    let mut bytes = Vec::new();
    input
        .read_to_end(&mut bytes)
        .map_err(InputError::io(name))?;
    let document = document(name, bytes)?;
    let document: Document =
        serde_json::from_slice(&document).map_err(|error| InputError::json(name, 1, error))?;
    let names: Vec<Named> = document.parameters.iter().map(|p| plain(p)).collect();
    let mut is_empty = true;
    for (callpath, metrics) in &document.measurements.0 {
        for (metric, measurements) in &metrics.0 {
            for measured in measurements {
                if measured.coordinate.len() != names.len() {
                    let n = measured.coordinate.len();
                    let found = format!("{n} coordinates at a point of {}", quoted(callpath));
                    let expected = format!("{}, one a parameter", names.len());
                    return Err(InputError::content(name, Place::default(), found, expected));
                }
                let at = &measured.coordinate;
                one(
                    [callpath, metric],
                    &names,
                    at,
                    &measured.values(),
                    wanted,
                    sink,
                )?;
                is_empty = false;
            }
        }
    }
    if is_empty {
        return Err(InputError::Empty {
            input: name.into(),
            expected: "an experiment with measurements",
        });
    }
    Ok(())
}

/// Unpacks the document from the archive.
fn document(name: &str, archive: Vec<u8>) -> Result<Vec<u8>, InputError> {
    let wrong = |error: ZipError| match error {
        ZipError::Io(source) => InputError::io(name)(source),
        _ => InputError::content(
            name,
            Place::default(),
            "no archive, or a damaged one",
            format!("a ZIP archive with {DOCUMENT}, as Extra-P writes it"),
        ),
    };
    let mut archive = ZipArchive::new(Cursor::new(archive)).map_err(wrong)?;
    let file = archive.by_name(DOCUMENT).map_err(wrong)?;
    let mut document = Vec::new();
    file.take(MAX_DOCUMENT_BYTES + 1)
        .read_to_end(&mut document)
        .map_err(InputError::io(name))?;
    if document.len() as u64 > MAX_DOCUMENT_BYTES {
        let (found, expected) = (format!("{DOCUMENT} of more than 1 GiB"), "less");
        return Err(InputError::content(name, Place::default(), found, expected));
    }
    Ok(document)
}

impl Measured {
    /// Values with the given mean and standard deviation: pairs symmetric about the mean, and the mean itself if their number is odd. No
    /// value is negative unless the mean is.
    fn values(&self) -> Vec<f64> {
        let n = self.repetitions.unwrap_or(1).clamp(1, MAX_VALUES);
        let n_pairs = n / 2;
        let mut values = vec![self.mean; n as usize];
        if n_pairs > 0 {
            let distance = self.std * (f64::from(n) / f64::from(2 * n_pairs)).sqrt();
            let distance = distance.min(self.mean.abs());
            for pair in values.chunks_exact_mut(2) {
                pair[0] -= distance;
                pair[1] += distance;
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_mean_and_the_deviation() {
        for n in [1, 2, 5, 8] {
            let measured = Measured {
                coordinate: Vec::new(),
                mean: 3.0,
                std: 0.2,
                repetitions: Some(n),
            };
            let values = measured.values();
            let count = values.len() as f64;
            let mean = values.iter().sum::<f64>() / count;
            let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
            assert_eq!(values.len(), n as usize);
            assert!((mean - 3.0).abs() < 1e-12, "{values:?}");
            assert!(
                n == 1 || (variance.sqrt() - 0.2).abs() < 1e-12,
                "{values:?}"
            );
        }
    }
}

//! Cells: the parameters of calls, exact or cut to a few bits, and the sums of each.
//!
//! If a method is called with ever new parameters, numbers are cut to as many bits behind the leading one as leave at most
//! [`MAX_CELLS`](crate::MAX_CELLS) cells are left: so the bounds of cells are the same in all runs, and those of a
//! coarser cut are bounds of all finer ones.

use std::collections::HashMap;

use mastermind_records::Value;
use serde_json::{Map, Number, Value as Json};

use crate::quantiles::Quantiles;
use crate::segments::{CallSegments, Segments};

/// Bits behind the leading one at first, once exact parameters are too many: values of a cell differ by at most a sixteenth.
const MAX_BITS: i64 = 4;

/// One parameter of a cell's key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Part {
    Integer(i64),
    /// Bits of an `f64`.
    Real(u64),
    Label(String),
}

impl Part {
    pub(crate) fn of(value: Value<'_>) -> Self {
        match value {
            Value::Integer(value) => Self::Integer(value),
            Value::Real(value) => Self::Real(value.to_bits()),
            Value::Label(word, None) => Self::Label(word.to_string()),
            Value::Label(_, Some(label)) => Self::Label(label.to_owned()),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Self::Integer(value) => Some(*value as f64),
            Self::Real(bits) => Some(f64::from_bits(*bits)),
            Self::Label(_) => None,
        }
    }

    /// Its lower bound in a cut.
    fn cut(&self, bits: i64) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(cut(*value as f64, bits) as i64),
            Self::Real(real) => Self::Real(cut(f64::from_bits(*real), bits).to_bits()),
            Self::Label(label) => Self::Label(label.clone()),
        }
    }

    fn json(&self) -> Json {
        match self {
            Self::Integer(value) => Json::from(*value),
            Self::Real(bits) => real(f64::from_bits(*bits)),
            Self::Label(label) => Json::from(label.as_str()),
        }
    }
}

/// A number as JSON; infinities and NaN as text.
fn real(x: f64) -> Json {
    Number::from_f64(x).map_or_else(|| Json::from(x.to_string()), Json::Number)
}

/// A number with only `bits` bits behind the leading one, the others 0.
fn cut(x: f64, bits: i64) -> f64 {
    const BITS: i64 = f64::MANTISSA_DIGITS as i64 - 1;
    let drop = (BITS - bits).clamp(0, BITS);
    f64::from_bits(x.to_bits() >> drop << drop)
}

/// Sums of one cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sums {
    pub(crate) times: Quantiles,
    pub(crate) failed: u64,
    /// Of the calls' own time, where others were made from them.
    pub(crate) segments: Segments,
    /// Calls that have segments.
    pub(crate) n_segmented: u64,
    /// Sums of the parameters that are numbers.
    parameters: Vec<f64>,
}

impl Sums {
    fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.failed += other.failed;
        self.segments.merge(&other.segments);
        self.n_segmented += other.n_segmented;
        for (sum, of_other) in self.parameters.iter_mut().zip(&other.parameters) {
            *sum += of_other;
        }
    }

    fn n(&self) -> u64 {
        self.times.n() + self.failed
    }

    /// Own time of a call, of its segments; not numbers where not all calls have segments.
    pub(crate) fn segments_ns(&self) -> [f64; 3] {
        let n = self.times.n();
        match self.n_segmented == n && n > 0 {
            true => self.segments.sums().map(|sum| sum / n as f64),
            false => [f64::NAN; 3],
        }
    }
}

/// The cells of a method.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    names: Vec<String>,
    max_cells: usize,
    /// -1 while parameters are exact.
    pub(crate) bits: i64,
    cells: HashMap<Vec<Part>, Sums>,
}

impl Cells {
    /// # Arguments
    /// * `names` - names of the parameters
    /// * `max_cells` - maximum number of cells, except that labels are never merged
    pub(crate) fn new(names: Vec<String>, max_cells: usize) -> Self {
        Self {
            names,
            max_cells,
            bits: -1,
            cells: HashMap::new(),
        }
    }

    /// Names of the parameters.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Adds a call.
    ///
    /// # Arguments
    /// * `ns` - its time; `None` if it failed
    /// * `segments` - segments of its own time, if it has any
    pub(crate) fn add(
        &mut self,
        parameters: Vec<Part>,
        ns: Option<f64>,
        segments: Option<&CallSegments>,
    ) {
        let numbers: Vec<f64> = parameters
            .iter()
            .map(|p| p.number().unwrap_or(0.0))
            .collect();
        let key = match self.bits {
            -1 => parameters,
            bits => parameters.iter().map(|part| part.cut(bits)).collect(),
        };
        let sums = self.cells.entry(key).or_insert_with(|| Sums {
            parameters: vec![0.0; numbers.len()],
            ..Sums::default()
        });
        for (sum, x) in sums.parameters.iter_mut().zip(&numbers) {
            *sum += x;
        }
        match ns {
            Some(ns) => sums.times.add(ns),
            None => sums.failed += 1,
        }
        if let (Some(_), Some(segments)) = (ns, segments) {
            sums.segments.add_call(segments);
            sums.n_segmented += 1;
        }
        while self.cells.len() > self.max_cells && self.bits != 0 {
            self.coarsen();
        }
    }

    /// Adds the cells of another log or call path.
    pub(crate) fn merge(&mut self, mut other: Self) {
        while self.bits != other.bits {
            // Exact is finer than any cut.
            let fineness = |cells: &Self| if cells.bits < 0 { i64::MAX } else { cells.bits };
            match fineness(self) > fineness(&other) {
                true => self.coarsen(),
                false => other.coarsen(),
            }
        }
        for (key, sums) in other.cells {
            self.put(key, sums);
        }
        while self.cells.len() > self.max_cells && self.bits != 0 {
            self.coarsen();
        }
    }

    fn put(&mut self, key: Vec<Part>, sums: Sums) {
        match self.cells.get_mut(&key) {
            Some(known) => known.merge(&sums),
            None => drop(self.cells.insert(key, sums)),
        }
    }

    /// One bit less.
    fn coarsen(&mut self) {
        self.bits = match self.bits {
            -1 => MAX_BITS,
            bits => bits - 1,
        };
        for (key, sums) in std::mem::take(&mut self.cells) {
            let key = key.iter().map(|part| part.cut(self.bits)).collect();
            self.put(key, sums);
        }
    }

    /// Each cell: its parameters and their means as JSON objects, and its sums.
    pub(crate) fn finish(self) -> Vec<(String, String, Sums)> {
        let names = &self.names;
        let is_exact = self.bits < 0;
        let cells = self.cells.into_iter().map(|(key, sums)| {
            let object = |values: Vec<Json>| {
                let pairs: Map<String, Json> = names.iter().cloned().zip(values).collect();
                Json::Object(pairs).to_string()
            };
            let means = key.iter().zip(&sums.parameters).map(|(part, sum)| {
                match (is_exact, part.number()) {
                    (false, Some(_)) => real(sum / sums.n() as f64),
                    _ => part.json(),
                }
            });
            let means = object(means.collect());
            (object(key.iter().map(Part::json).collect()), means, sums)
        });
        let mut cells: Vec<_> = cells.collect();
        cells.sort_by(|(a, ..), (b, ..)| a.cmp(b));
        cells
    }
}

/// Parameters of a cell, read from the store's text.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameters(Vec<(String, Json)>);

impl Parameters {
    /// `None` where the text is no JSON object.
    pub fn read(text: &str) -> Option<Self> {
        let object: Map<String, Json> = serde_json::from_str(text).ok()?;
        Some(Self(object.into_iter().collect()))
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The parameters that are numbers.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, f64)> {
        let parameters = self.0.iter();
        parameters.filter_map(|(name, value)| Some((name.as_str(), value.as_f64()?)))
    }
}

impl std::fmt::Display for Parameters {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (place, (name, value)) in self.0.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            match value {
                Json::String(text) => write!(f, "{comma}{name}={text}")?,
                other => write!(f, "{comma}{name}={other}")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_parameters_become_few_cells_with_the_same_bounds() {
        let mut runs = [3_i64, 7].map(|step| {
            let mut cells = Cells::new(vec!["n".into()], 60);
            for n in 1..2000 {
                cells.add(vec![Part::Integer(n * step)], Some(n as f64), None);
            }
            cells
        });
        let bits = runs.each_ref().map(|cells| cells.bits);
        assert_eq!(bits, [2, 2]);
        let [first, second] = runs.each_mut().map(|cells| cells.clone().finish());
        let calls: u64 = first.iter().map(|(_, _, sums)| sums.n()).sum();
        assert_eq!(calls, 1999);
        assert!(first.len() <= 60);
        let bounds = |cells: &[(String, String, Sums)]| {
            let texts = cells.iter().map(|(parameters, ..)| parameters.clone());
            texts.collect::<std::collections::BTreeSet<_>>()
        };
        let common = bounds(&first).intersection(&bounds(&second)).count();
        assert!(common > 20, "{common}");
    }

    #[test]
    fn a_cut_is_towards_zero_and_keeps_labels() {
        assert_eq!(cut(1000.0, 0), 512.0);
        assert_eq!(cut(1000.0, 1), 768.0);
        assert_eq!(cut(-1000.0, 0), -512.0);
        assert_eq!(cut(0.0, 2), 0.0);
        assert_eq!(Part::Label("x".into()).cut(0), Part::Label("x".into()));
        let text = "{\"n\":3,\"axis\":\"x\"}";
        let parameters = Parameters::read(text).unwrap();
        assert_eq!(parameters.numbers().collect::<Vec<_>>(), [("n", 3.0)]);
        assert!(Parameters::read("[1]").is_none());
    }
}

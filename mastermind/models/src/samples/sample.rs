//! Samples: times of a method, summarised for each distinct coordinate as they stream in.
//!
//! A [`SampleSet`] takes calls one at a time, of any number of methods, and keeps a histogram for each distinct coordinate, so
//! memory does not grow with the calls. [`SampleSet::finish`] sets spikes aside and returns the [`Samples`] of each method:
//!
//! ```text
//! declare("sort", n)  push([1000], 31 µs) push([1000], 33 µs) push([2000], 66 µs) …
//!
//! Samples { method: "sort", coordinates: [[1000], [2000]], times: [2 calls, mean 32 µs; 1 call, mean 66 µs], … }
//! ```

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher};

use foldhash::fast::FixedState;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::samples::clock::common_step_s;
use crate::samples::few_calls;
use crate::samples::metric::Metric;
use crate::samples::parameter::{Coordinate, Parameter, ParameterKind, Value};
use crate::samples::spikes::{Histogram, Spikes, are_the_method};
use crate::samples::statistic::Statistic;

/// Count, mean and spread of the times at one coordinate, or of the values of a counter in its own unit.
///
/// # Source
/// B.P. Welford, Technometrics 4 (1962) 419; the merge is Chan, Golub and LeVeque's (1979)
/// (recalled, not looked up).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Calls.
    pub count: u64,
    /// Mean time of a call, seconds.
    pub mean_s: f64,
    /// Sum of squared deviations from the mean, s².
    pub m2_s2: f64,
    /// Shortest call, seconds.
    pub min_s: f64,
    /// Longest call, seconds.
    pub max_s: f64,
}

impl Summary {
    /// The summary of no calls.
    pub const EMPTY: Self = Self {
        count: 0,
        mean_s: 0.0,
        m2_s2: 0.0,
        min_s: f64::INFINITY,
        max_s: f64::NEG_INFINITY,
    };

    /// Adds one call of `seconds`.
    pub fn push(&mut self, seconds: f64) {
        self.count += 1;
        let delta = seconds - self.mean_s;
        self.mean_s += delta / self.count as f64;
        self.m2_s2 += delta * (seconds - self.mean_s);
        self.min_s = self.min_s.min(seconds);
        self.max_s = self.max_s.max(seconds);
    }

    /// Adds all calls of `other`.
    pub fn merge(&mut self, other: &Self) {
        let count = self.count + other.count;
        if other.count == 0 {
            return;
        }
        let (n, m) = (self.count as f64, other.count as f64);
        let delta = other.mean_s - self.mean_s;
        self.mean_s += delta * m / count as f64;
        self.m2_s2 += other.m2_s2 + delta * delta * n * m / count as f64;
        self.count = count;
        self.min_s = self.min_s.min(other.min_s);
        self.max_s = self.max_s.max(other.max_s);
    }

    /// The same calls with all times multiplied by a factor.
    pub(crate) fn times(&self, factor: f64) -> Self {
        Self {
            count: self.count,
            mean_s: factor * self.mean_s,
            m2_s2: factor * factor * self.m2_s2,
            min_s: factor * self.min_s,
            max_s: factor * self.max_s,
        }
    }

    /// Time of all calls together, seconds.
    pub fn total_s(&self) -> f64 {
        self.mean_s * self.count as f64
    }
}

/// The times of one method, with one summary for each distinct coordinate.
#[derive(Debug, Clone, PartialEq)]
pub struct Samples {
    /// The method, `CLASS::PORT.METHOD`.
    pub method: String,
    /// The metric sampled.
    pub metric: Metric,
    /// Its parameters, shape `[n_params]`.
    pub parameters: Vec<Parameter>,
    /// Distinct coordinates in ascending order, shape `[n_points][n_params]`; enumerations as the
    /// index of the label.
    pub coordinates: Vec<Vec<f64>>,
    /// Times at each coordinate, shape `[n_points]`.
    pub times: Vec<Summary>,
    /// Times at each coordinate without the calls set aside, shape `[n_points]`.
    ///
    /// Calls far above the others at their coordinate, for example preempted ones, are set aside; with fewer than three calls at a
    /// coordinate, those far above the neighbouring coordinates. The summary is empty if the only call is set aside. Equal to `times` if
    /// there are no such calls, or if they recur and take most of the time.
    pub kept: Vec<Summary>,
    /// The calls at each coordinate, binned by ascending time, from which their distribution is estimated.
    pub bins: Vec<Vec<Summary>>,
    /// Statistic that represents the calls at a coordinate; the mean of each summary in `kept` is this statistic.
    pub statistic: Statistic,
    /// Calls refused, see [`Refused`].
    pub n_refused: u64,
    /// Step of the clock, seconds, the largest if there were several clocks; 0 if unknown, and for a counter.
    pub clock_step_s: f64,
}

impl Samples {
    /// Sum of squared deviations of calls from their mean, s², at least the contribution of the clock's step.
    ///
    /// Equal readings of a clock that steps are not equal times: a wall time has a variance of a sixth of the step squared, averaged
    /// over the positions of the call's begin and end within a step (a fraction `f` of a step beyond whole steps reads as one more step
    /// with probability `f`, which has the variance `f (1 − f)`).
    pub(crate) fn squares(&self, summary: &Summary) -> f64 {
        let variance = self.clock_step_s * self.clock_step_s / 6.0;
        summary.m2_s2.max(variance * summary.count as f64)
    }

    /// The named values of point `index`.
    pub fn coordinate(&self, index: usize) -> Coordinate {
        let values = self
            .parameters
            .iter()
            .zip(&self.coordinates[index])
            .map(|(p, &value)| {
                let value = match &p.kind {
                    ParameterKind::Enumeration(labels) => {
                        Value::Label(labels[value as usize].clone())
                    }
                    _ => Value::Number(value),
                };
                (p.name.clone(), value)
            });
        Coordinate {
            values: values.collect(),
        }
    }
}

/// Reason why a call was refused.
#[derive(Debug, Clone, Copy, PartialEq, thiserror::Error)]
pub enum Refused {
    /// A time below zero, infinite or not a number.
    #[error("cannot take a sample: time {0} s, expected a finite time of at least 0 s")]
    Time(f64),
    /// A parameter that is not finite, or not an index of a label.
    #[error(
        "cannot take a sample: parameter {index} is {value}, expected a finite number or the index of a label"
    )]
    Parameter {
        /// Position of the parameter.
        index: usize,
        /// Its value.
        value: f64,
    },
    /// A coordinate of the wrong length.
    #[error("cannot take a sample: {found} parameters, expected {expected}")]
    Length {
        /// Values given.
        found: usize,
        /// Parameters declared.
        expected: usize,
    },
}

/// Samples of any number of methods, filled one call at a time.
///
/// Memory grows with the distinct coordinates, not with the calls.
///
/// Sets filled by several threads or processes can be merged ([`SampleSet::merge`]); processes exchange sets in serialised form.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SampleSet {
    metric: Metric,
    methods: Vec<Method>,
    /// Position of each method by name; empty in a deserialised set until a method is declared.
    #[serde(skip)]
    index: HashMap<String, usize>,
    clock_step_s: f64,
    statistic: Statistic,
    /// Beginning of method names, and the other statistic that these methods have.
    others: Option<(String, Statistic)>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Method {
    name: String,
    statistic: Statistic,
    parameters: Vec<Parameter>,
    /// Hash table of positions in `points`, by coordinate, with linear probing and at most half full; empty in a deserialised set, like
    /// [`SampleSet::index`].
    #[serde(skip)]
    places: Vec<u32>,
    points: Vec<(Vec<f64>, Histogram)>,
    n_refused: u64,
}

impl SampleSet {
    /// An empty set of times of one metric.
    pub fn new(metric: Metric) -> Self {
        Self {
            metric,
            methods: Vec::new(),
            index: HashMap::new(),
            clock_step_s: 0.0,
            statistic: Statistic::default(),
            others: None,
        }
    }

    /// Sets the statistic that represents the calls at a coordinate.
    ///
    /// Spikes among three or more calls are set aside for [`Statistic::Clean`] and [`Statistic::Mean`] only; the other statistics are robust
    /// against them.
    pub fn with_statistic(mut self, statistic: Statistic) -> Self {
        self.statistic = statistic;
        self
    }

    /// Sets another statistic for the methods whose names start with `beginning`; call it before any method is declared.
    pub fn with_statistic_of(mut self, beginning: &str, statistic: Statistic) -> Self {
        self.others = Some((beginning.to_owned(), statistic));
        self
    }

    /// Sets the step of the clock, seconds; of several clocks the coarsest counts. Ignored for a counter.
    pub fn set_clock_step(&mut self, step_s: f64) {
        if !matches!(self.metric, Metric::Counter { .. }) && step_s.is_finite() {
            self.clock_step_s = self.clock_step_s.max(step_s);
        }
    }

    /// Declares a method and returns its number for [`SampleSet::push`]. Declaring it again with the same parameters (for another run or
    /// rank) returns the same number.
    ///
    /// # Errors
    /// [`Error::ParametersDiffer`] if the method is known with other parameters.
    pub fn declare(&mut self, method: &str, parameters: &[Parameter]) -> Result<usize, Error> {
        if self.index.len() < self.methods.len() {
            let names = self.methods.iter().map(|method| method.name.clone());
            self.index = names.zip(0..).collect();
        }
        if let Some(&known) = self.index.get(method) {
            let expected = &self.methods[known].parameters;
            if expected == parameters {
                return Ok(known);
            }
            return Err(Error::ParametersDiffer {
                method: method.into(),
                found: describe(parameters),
                expected: describe(expected),
            });
        }
        self.index.insert(method.into(), self.methods.len());
        let other = self.others.as_ref();
        let other = other.filter(|(beginning, _)| method.starts_with(beginning));
        self.methods.push(Method {
            name: method.into(),
            statistic: other.map_or(self.statistic, |(_, statistic)| *statistic),
            parameters: parameters.to_vec(),
            places: Vec::new(),
            points: Vec::new(),
            n_refused: 0,
        });
        Ok(self.methods.len() - 1)
    }

    /// Adds one call.
    ///
    /// # Arguments
    /// * `method` - number from [`SampleSet::declare`]
    /// * `coordinate` - shape `[n_params]`, enumerations as the index of the label
    /// * `seconds` - the time of the call, or the value of a counter; finite, ≥ 0
    ///
    /// # Errors
    /// [`Refused`] with the reason; the set counts refused calls, so the caller may ignore the error.
    ///
    /// # Panics
    /// If `method` was not declared in this set.
    pub fn push(&mut self, method: usize, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        self.methods[method].push(coordinate, seconds)
    }

    /// Adds several calls of a method, one after the other; refused calls are counted.
    ///
    /// # Arguments
    /// * `coordinates` - shape `[n_calls][n_params]`
    /// * `seconds` - shape `[n_calls]`
    ///
    /// # Panics
    /// If `method` was not declared in this set.
    pub fn push_all(&mut self, method: usize, coordinates: &[f64], seconds: &[f64]) {
        let method = &mut self.methods[method];
        let n_params = coordinates.len() / seconds.len().max(1);
        for (call, seconds) in seconds.iter().enumerate() {
            let _ = method.push(&coordinates[call * n_params..][..n_params], *seconds);
        }
    }

    /// Adds all calls of another set of the same metric and statistics after its own calls. Methods that only the other set has are appended.
    ///
    /// # Errors
    /// [`Error::ParametersDiffer`] if both sets have a method with different parameters; this set then lacks some of the other's calls.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.set_clock_step(other.clock_step_s);
        for method in other.methods {
            let number = self.declare(&method.name, &method.parameters)?;
            self.methods[number].merge(method);
        }
        Ok(())
    }

    /// The samples of each method, in the order of declaration, coordinates ascending.
    pub fn finish(self) -> Vec<Samples> {
        let (metric, step_s) = (self.metric, self.clock_step_s);
        self.methods
            .into_iter()
            .map(|method| method.finish(metric.clone(), step_s))
            .collect()
    }
}

impl Method {
    #[inline]
    fn push(&mut self, coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
        let statistic = self.statistic;
        // A known coordinate was accepted before, so only the time is checked.
        if let Some(position) = self.find(coordinate)
            && seconds.is_finite()
            && seconds >= 0.0
        {
            self.points[position].1.push(seconds, statistic);
            return Ok(());
        }
        if let Err(refused) = check(&self.parameters, coordinate, seconds) {
            self.n_refused += 1;
            return Err(refused);
        }
        self.at(coordinate).push(seconds, statistic);
        Ok(())
    }

    /// The histogram at `coordinate`, empty if the coordinate is new.
    fn at(&mut self, coordinate: &[f64]) -> &mut Histogram {
        if self.places.len() < 2 * (self.points.len() + 1) {
            self.grow();
        }
        let position = self.find(coordinate).unwrap_or_else(|| {
            self.points
                .push((coordinate.to_vec(), Histogram::default()));
            self.note(self.points.len() - 1);
            self.points.len() - 1
        });
        &mut self.points[position].1
    }

    /// Enlarges the hash table for one point more.
    #[cold]
    fn grow(&mut self) {
        let n_places = (4 * (self.points.len() + 1)).next_power_of_two();
        self.places.clear();
        self.places.resize(n_places, NOWHERE);
        (0..self.points.len()).for_each(|position| self.note(position));
    }

    /// Enters a point, which the hash table does not contain yet.
    fn note(&mut self, position: usize) {
        let mask = self.places.len() - 1;
        let mut place = hash(&self.points[position].0) & mask;
        while self.places[place] != NOWHERE {
            place = (place + 1) & mask;
        }
        self.places[place] = position as u32;
    }

    /// Position of a coordinate in `points`.
    #[inline]
    fn find(&self, coordinate: &[f64]) -> Option<usize> {
        let mask = self.places.len().wrapping_sub(1);
        let mut place = hash(coordinate) & mask;
        loop {
            // At least half of the table is empty, which ends the loop; a new table has no place at all.
            let position = *self.places.get(place)? as usize;
            let (values, _) = self.points.get(position)?;
            if values == coordinate {
                return Some(position);
            }
            place = (place + 1) & mask;
        }
    }

    fn merge(&mut self, other: Self) {
        self.n_refused += other.n_refused;
        if self.points.is_empty() {
            self.points = other.points;
            return;
        }
        for (coordinate, calls) in other.points {
            self.at(&coordinate).merge(calls);
        }
    }

    fn finish(mut self, metric: Metric, clock_step_s: f64) -> Samples {
        let statistic = self.statistic;
        // Freed early: with a million coordinates the table takes megabytes.
        drop(std::mem::take(&mut self.places));
        self.points.sort_by(|(a, _), (b, _)| {
            let pairs = a.iter().zip(b).map(|(a, b)| a.total_cmp(b));
            pairs.fold(std::cmp::Ordering::Equal, std::cmp::Ordering::then)
        });
        let clock_step_s = match clock_step_s == 0.0 && metric == Metric::Wall {
            true => common_step_s(self.points.iter().map(|(_, calls)| calls.bins())),
            false => clock_step_s,
        };
        let spikes = Spikes::of(self.points.iter().map(|(_, calls)| calls), clock_step_s);
        let mut few = few_calls::spikes(&self.parameters, &self.points, &spikes)
            .into_iter()
            .peekable();
        let n = self.points.len();
        let mut samples = Samples {
            method: self.name,
            metric,
            parameters: self.parameters,
            times: Vec::with_capacity(n),
            kept: Vec::with_capacity(n),
            bins: Vec::with_capacity(n),
            coordinates: Vec::with_capacity(n),
            n_refused: self.n_refused,
            clock_step_s,
            statistic,
        };
        for (row, (values, calls)) in self.points.into_iter().enumerate() {
            samples.times.push(calls.all());
            samples.bins.push(calls.bins());
            let calls = match few.next_if_eq(&row) {
                Some(_) => calls.without_longest(),
                None => calls,
            };
            samples.kept.push(match statistic {
                Statistic::Clean | Statistic::Mean => spikes.kept(&calls),
                other => calls.about(other),
            });
            samples.coordinates.push(values);
        }
        if !statistic.is_one_call() && are_the_method(&samples.kept, &samples.times) {
            samples.kept.clone_from(&samples.times);
        }
        samples
    }
}

/// Marks an empty place of the hash table. So many points, of more than 64 bytes each, exceed the memory.
const NOWHERE: u32 = u32::MAX;

/// Hash of a coordinate. Adding 0 makes -0 the same coordinate as 0.
#[inline]
fn hash(coordinate: &[f64]) -> usize {
    let mut hasher = FixedState::default().build_hasher();
    for value in coordinate {
        hasher.write_u64((value + 0.0).to_bits());
    }
    hasher.finish() as usize
}

fn check(parameters: &[Parameter], coordinate: &[f64], seconds: f64) -> Result<(), Refused> {
    if coordinate.len() != parameters.len() {
        return Err(Refused::Length {
            found: coordinate.len(),
            expected: parameters.len(),
        });
    }
    if !(seconds.is_finite() && seconds >= 0.0) {
        return Err(Refused::Time(seconds));
    }
    match parameters
        .iter()
        .zip(coordinate)
        .position(|(p, &value)| !p.accepts(value))
    {
        Some(index) => Err(Refused::Parameter {
            index,
            value: coordinate[index],
        }),
        None => Ok(()),
    }
}

/// `q (double), axis (x|y)`.
fn describe(parameters: &[Parameter]) -> String {
    let list = parameters.iter().map(|p| match &p.kind {
        ParameterKind::Enumeration(labels) => format!("{} ({})", p.name, labels.join("|")),
        _ => format!(
            "{} ({})",
            p.name,
            if p.unit.is_empty() { "1" } else { &p.unit }
        ),
    });
    format!("[{}]", list.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Vec<Parameter> {
        vec![
            Parameter::integer("q", "double"),
            Parameter::enumeration("axis", &["x", "y"]),
        ]
    }

    #[test]
    fn calls_at_one_coordinate_become_one_point() {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &parameters()).unwrap();
        for (q, axis, seconds) in [
            (8.0, 1.0, 4.0),
            (8.0, 0.0, 1.0),
            (8.0, 0.0, 3.0),
            (4.0, 0.0, 2.0),
        ] {
            set.push(method, &[q, axis], seconds).unwrap();
        }
        let samples = set.finish().remove(0);
        assert_eq!(samples.coordinates, [[4.0, 0.0], [8.0, 0.0], [8.0, 1.0]]);
        let summary = samples.times[1];
        assert_eq!(
            (summary.count, summary.mean_s, summary.m2_s2),
            (2, 2.0, 2.0)
        );
        assert_eq!(
            (summary.min_s, summary.max_s, summary.total_s()),
            (1.0, 3.0, 4.0)
        );
        assert_eq!(samples.coordinate(2).to_string(), "axis=y, q=8");
    }

    #[test]
    fn merged_sets_are_those_of_all_calls() {
        // Times and means are exact, so that both orders of addition give the same bits.
        let calls: Vec<([f64; 2], f64)> = (0..64)
            .map(|k| ([f64::from(k % 5), f64::from(k % 2)], f64::from(1 + k % 4)))
            .collect();
        let filled = |calls: &[([f64; 2], f64)]| {
            let mut set = SampleSet::new(Metric::Wall);
            let method = set.declare("m", &parameters()).unwrap();
            for (coordinate, seconds) in calls {
                set.push(method, coordinate, *seconds).unwrap();
            }
            let _ = set.push(method, &[1.0, 0.0], f64::NAN);
            set
        };
        let mut merged = SampleSet::new(Metric::Wall);
        for part in calls.chunks(10) {
            // A round trip through JSON, as between processes.
            let text = serde_json::to_string(&filled(part)).unwrap();
            let part: SampleSet = serde_json::from_str(&text).unwrap();
            let text = serde_json::to_string(&merged).unwrap();
            merged = serde_json::from_str(&text).unwrap();
            merged.merge(part).unwrap();
        }
        let (merged, whole) = (merged.finish().remove(0), filled(&calls).finish().remove(0));
        assert_eq!((merged.n_refused, whole.n_refused), (7, 1));
        assert_eq!(merged.coordinates, whole.coordinates);
        for (merged, whole) in merged.times.iter().zip(&whole.times) {
            assert_eq!(
                (merged.count, merged.min_s, merged.max_s),
                (whole.count, whole.min_s, whole.max_s)
            );
            assert!((merged.mean_s - whole.mean_s).abs() < 1e-12);
            assert!((merged.m2_s2 - whole.m2_s2).abs() < 1e-9);
        }
    }

    #[test]
    fn sets_of_unlike_parameters_do_not_merge() {
        let mut set = SampleSet::new(Metric::Wall);
        set.declare("m", &parameters()).unwrap();
        let mut other = SampleSet::new(Metric::Wall);
        other.declare("m", &parameters()[..1]).unwrap();
        let error = set.merge(other).unwrap_err();
        assert!(matches!(error, Error::ParametersDiffer { .. }), "{error}");
    }

    #[test]
    fn bad_calls_are_refused_and_counted() {
        let mut set = SampleSet::new(Metric::Wall);
        let method = set.declare("m", &parameters()).unwrap();
        assert!(matches!(
            set.push(method, &[1.0, 0.0], f64::NAN),
            Err(Refused::Time(_))
        ));
        assert_eq!(
            set.push(method, &[1.0, 0.0], -1.0),
            Err(Refused::Time(-1.0))
        );
        let refused = Refused::Parameter {
            index: 1,
            value: 2.0,
        };
        assert_eq!(set.push(method, &[1.0, 2.0], 1.0), Err(refused));
        assert_eq!(
            set.push(method, &[1.0], 1.0),
            Err(Refused::Length {
                found: 1,
                expected: 2
            })
        );
        let samples = set.finish().remove(0);
        assert_eq!((samples.n_refused, samples.times.len()), (4, 0));
    }

    #[test]
    fn another_unit_is_another_method() {
        let mut set = SampleSet::new(Metric::Wall);
        assert_eq!(set.declare("m", &parameters()).unwrap(), 0);
        assert_eq!(set.declare("m", &parameters()).unwrap(), 0);
        let error = set
            .declare("m", &[Parameter::integer("q", "byte")])
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot take samples of \"m\": parameters [q (byte)], \
             expected [q (double), axis (x|y)] as in the samples before; fit the runs apart"
        );
    }

    #[test]
    fn merging_equals_pushing() {
        let times = [3.0, 1.0, 4.0, 1.5, 9.0, 2.6];
        let (mut all, mut left, mut right) = (Summary::EMPTY, Summary::EMPTY, Summary::EMPTY);
        times.iter().for_each(|&t| all.push(t));
        times[..2].iter().for_each(|&t| left.push(t));
        times[2..].iter().for_each(|&t| right.push(t));
        left.merge(&right);
        assert!((left.m2_s2 - all.m2_s2).abs() < 1e-12 && (left.mean_s - all.mean_s).abs() < 1e-12);
        assert_eq!((left.count, left.min_s, left.max_s), (6, 1.0, 9.0));
    }

    #[test]
    fn methods_of_one_beginning_have_a_statistic_of_their_own() {
        let mut set = SampleSet::new(Metric::Wall).with_statistic_of("MPI::", Statistic::Median);
        let methods = ["MPI::MPI.MPI_Recv", "A::a.b", "B::MPI::c.d"];
        for method in methods {
            let method = set.declare(method, &[]).expect("a method");
            for seconds in [1.0, 1.0, 1.0, 4.0, 8.0] {
                set.push(method, &[], seconds).expect("a call");
            }
        }
        let samples = set.finish();
        let statistics = samples.iter().map(|samples| samples.statistic);
        let (median, usual) = (Statistic::Median, Statistic::default());
        assert!(statistics.eq([median, usual, usual]));
        // Totals cover all calls.
        for (samples, expected) in samples.iter().zip([1.0, 3.0, 3.0]) {
            assert!(
                (samples.kept[0].mean_s - expected).abs() < 1e-3,
                "{samples:?}"
            );
            assert!((samples.times[0].mean_s - 3.0).abs() < 1e-9, "{samples:?}");
        }
    }
}

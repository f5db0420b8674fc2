//! Comparison of two processors: the ratio of their times.
//!
//! Three groups of numbers make up the ratio: dependent instructions, independent instructions, and loads over the
//! working set from the nearest cache to memory. A program is an unknown mixture of them, so each group has the same
//! weight. The value of a group is the geometric mean of its ratios, for loads over the logarithm of the working set.
//! Numbers that are unstable in either are left out.
//!
//! # Source
//! P.J. Fleming, J.J. Wallace, "How not to lie with statistics", CACM 29 (1986) 218, for the geometric mean of ratios, which is the same
//! whichever machine is the reference (from memory, not checked).

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Latency, Number, Processor};

/// Share of unstable numbers from which on a machine counts as busy during the measurement.
///
/// # Source
/// On a shared machine with another program compiling 28 of 129 numbers were unstable, nearly all of them of the larger caches; the bound
/// itself is arbitrary.
pub const BUSY: f64 = 0.5;

/// Ratio of the times of two processors.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ratio {
    /// Time on the second by time on the first.
    pub factor: f64,
    /// Standard deviation of the logarithms of the groups: how much the ratio depends on the program.
    pub deviation: f64,
    /// The groups of numbers.
    pub kinds: Vec<Kind>,
}

/// A group of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Time on the second by time on the first.
    pub factor: f64,
    /// Numbers that both have and that are stable.
    pub n_numbers: usize,
}

impl Processor {
    /// Time of another processor, relative to this one.
    ///
    /// # Returns
    /// `None` if they have no number in common that is stable in both.
    pub fn ratio_to(&self, other: &Self) -> Option<Ratio> {
        let named = |own: &BTreeMap<String, Number>, others: &BTreeMap<String, Number>| {
            let pairs = own.iter().map(|(name, one)| (one, others.get(name)));
            logarithms(pairs)
        };
        let same_load = |of: &Latency| {
            let mut loads = other.load.iter();
            loads.find(|load| (load.bytes, load.huge_pages) == (of.bytes, of.huge_pages))
        };
        // Sizes are as far apart as each other on the scale of the logarithm.
        let loads = self.load.iter().filter(|of| !of.huge_pages);
        let loads = loads.map(|of| (&of.ns, same_load(of).map(|load| &load.ns)));
        let kinds = [
            (
                "instructions that wait for each other",
                named(&self.latency_ns, &other.latency_ns),
            ),
            (
                "instructions that do not",
                named(&self.throughput_ns, &other.throughput_ns),
            ),
            ("loads", logarithms(loads)),
        ];
        let kinds: Vec<Kind> = kinds
            .into_iter()
            .filter(|(_, logs)| !logs.is_empty())
            .map(|(name, logs)| Kind {
                name,
                factor: mean(&logs).exp(),
                n_numbers: logs.len(),
            })
            .collect();
        if kinds.is_empty() {
            return None;
        }
        let logs: Vec<f64> = kinds.iter().map(|kind| kind.factor.ln()).collect();
        let middle = mean(&logs);
        let squares: Vec<f64> = logs.iter().map(|log| (log - middle).powi(2)).collect();
        Some(Ratio {
            factor: middle.exp(),
            deviation: mean(&squares).sqrt(),
            kinds,
        })
    }

    /// Whether it was measured while something else ran, by the numbers that are unstable.
    pub fn is_of_busy_machine(&self) -> bool {
        let named = [&self.latency_ns, &self.throughput_ns, &self.penalty_ns];
        let named = named.into_iter().flat_map(|of| of.values());
        let loads = self.load.iter().map(|of| &of.ns);
        let reads = self.read.iter().map(|of| &of.bytes_per_ns);
        let all: Vec<&Number> = named.chain(loads).chain(reads).collect();
        let n_unstable = all.iter().filter(|number| number.unstable).count();
        n_unstable as f64 > BUSY * all.len() as f64
    }
}

/// Logarithms of the second by the first, of pairs that are there and stable.
fn logarithms<'n>(pairs: impl Iterator<Item = (&'n Number, Option<&'n Number>)>) -> Vec<f64> {
    let log = |(one, other): (&Number, Option<&Number>)| {
        let other = other.filter(|other| !other.unstable && !one.unstable)?;
        let log = (other.best / one.best).ln();
        log.is_finite().then_some(log)
    };
    pairs.filter_map(log).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::Identity;
    use super::*;

    fn number(best: f64) -> Number {
        Number {
            best,
            quartile: best,
            passes: vec![best],
            unstable: false,
        }
    }

    /// A processor with times of its groups in proportion to three numbers.
    fn processor([waiting, others, loads]: [f64; 3]) -> Processor {
        let named = |ns: f64| {
            let names = ["addition", "multiplication"];
            BTreeMap::from(names.map(|name| (name.to_owned(), number(ns))))
        };
        Processor {
            identity: Identity::default(),
            clock_hz: number(1e9 / waiting),
            latency_ns: named(4.0 * waiting),
            throughput_ns: named(0.5 * others),
            penalty_ns: BTreeMap::new(),
            load: (12..20)
                .map(|power| Latency {
                    bytes: 1 << power,
                    huge_pages: false,
                    ns: number(loads * f64::from(power - 10)),
                })
                .collect(),
            read: Vec::new(),
        }
    }

    #[test]
    fn another_clock_is_one_factor() {
        let (slow, fast) = (processor([1.0; 3]), processor([0.5; 3]));
        let ratio = slow.ratio_to(&fast).unwrap();
        assert!((ratio.factor - 0.5).abs() < 1e-12, "{ratio:?}");
        assert!(ratio.deviation < 1e-12);
        let back = fast.ratio_to(&slow).unwrap();
        assert!((back.factor * ratio.factor - 1.0).abs() < 1e-12);
        assert_eq!(slow.ratio_to(&slow).unwrap().factor, 1.0);
    }

    #[test]
    fn kinds_that_differ_make_the_factor_less_sure() {
        let ratio = processor([1.0; 3]).ratio_to(&processor([0.5, 1.0, 2.0]));
        let ratio = ratio.unwrap();
        assert!((ratio.factor - 1.0).abs() < 1e-12, "{ratio:?}");
        let expected = 2_f64.ln() * (2.0_f64 / 3.0).sqrt();
        assert!((ratio.deviation - expected).abs() < 1e-12, "{ratio:?}");
    }

    #[test]
    fn what_is_unstable_says_nothing() {
        let (one, mut other) = (processor([1.0; 3]), processor([0.5, 0.5, 9.0]));
        other.load.iter_mut().for_each(|of| of.ns.unstable = true);
        let ratio = one.ratio_to(&other).unwrap();
        assert!((ratio.factor - 0.5).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.kinds.len(), 2);
        assert!(other.is_of_busy_machine() && !one.is_of_busy_machine());
        other.latency_ns.clear();
        other.throughput_ns.clear();
        assert_eq!(one.ratio_to(&other), None);
    }
}

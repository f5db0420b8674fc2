//! Interactions of coupled instances: the time they cost together beyond their separate times, estimated from runs.
//!
//! Caller and callee share data layout and cache, so a class may take longer with one class of its neighbour than with
//! another. For instance `i` with class `c` in run `r`, the logarithm of its seconds relative to the model's prediction
//! for the run's own calls is modelled as
//!
//! ```text
//! y = μ(i, c) + b(r) + Σⱼ θ(i, c, j, class of j) + e
//! ```
//!
//! with `b` the effect that all instances of the run share, and `θ` the interaction with each coupled instance `j`.
//! Since the model predicts the run's own calls, a class that changes how often, or with which parameters, another one
//! is called does not appear to slow it down. An interaction is kept if an F test separates it from the spread `e` of
//! runs, at a level shared among all tests. It is then shrunk to the share of its variance that is not due to that
//! spread, so few runs give no interaction rather than noise.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// Probability of reporting any interaction if there is none.
const LEVEL: f64 = 0.05;

/// The time of one instance in a run.
#[derive(Debug, Clone, PartialEq)]
pub struct SiteTime {
    /// Its class there.
    pub class: String,
    /// Exclusive time of its calls divided by the model's prediction for them.
    pub ratio: f64,
}

/// The instances of a run.
pub type RunTimes = BTreeMap<String, SiteTime>;

/// The change of an instance's time if another instance has a certain class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Interaction {
    /// The instance.
    pub instance: String,
    /// Its class.
    pub class: String,
    /// The other instance.
    pub beside: String,
    /// Its class.
    pub beside_class: String,
    /// Logarithm of the time with that class over the mean with all classes of the other instance.
    pub ln_ratio: f64,
    /// Runs that show both.
    pub runs: usize,
}

/// Estimates the interactions of coupled instances.
///
/// # Arguments
/// * `runs` - runs of one workload; several runs of each assembly are needed, otherwise nothing can be estimated
/// * `joined` - pairs of coupled instances, which may affect one another
///
/// # Returns
/// The significant interactions, of each instance with each instance that affects it.
pub fn interactions(runs: &[RunTimes], joined: &BTreeSet<[String; 2]>) -> Vec<Interaction> {
    let mut residuals = residuals(runs);
    let mut tests = Vec::new();
    for [a, b] in joined {
        tests.extend([(a, b), (b, a)]);
    }
    let n_tests: usize = tests
        .iter()
        .map(|(instance, beside)| {
            let groups = groups(runs, &residuals, instance, beside);
            groups.values().filter(|groups| groups.len() > 1).count()
        })
        .sum();
    let level = 1.0 - LEVEL / n_tests.max(1) as f64;
    let mut told = Vec::new();
    for (instance, beside) in tests {
        let groups = groups(runs, &residuals, instance, beside);
        for (class, groups) in groups {
            let found = effects(&groups, level);
            for ((beside_class, rows), ln_ratio) in groups.iter().zip(found) {
                // Subtracted, so that the next test does not explain the same variance again.
                for (run, _) in rows {
                    if let Some(residual) = residuals[*run].get_mut(instance) {
                        *residual -= ln_ratio;
                    }
                }
                if ln_ratio != 0.0 {
                    told.push(Interaction {
                        instance: instance.clone(),
                        class: class.to_owned(),
                        beside: beside.clone(),
                        beside_class: (*beside_class).to_owned(),
                        ln_ratio,
                        runs: rows.len(),
                    });
                }
            }
        }
    }
    told
}

/// Logarithms of times, minus the mean of the class at its site and the effect that all sites of a run share; by run.
pub(crate) fn residuals(runs: &[RunTimes]) -> Vec<BTreeMap<String, f64>> {
    let mut means: BTreeMap<(&str, &str), (f64, f64)> = BTreeMap::new();
    let known = |time: &SiteTime| time.ratio > 0.0 && time.ratio.is_finite();
    for (instance, time) in runs.iter().flatten().filter(|(_, time)| known(time)) {
        let mean = means.entry((instance, &time.class)).or_default();
        *mean = (mean.0 + time.ratio.ln(), mean.1 + 1.0);
    }
    let of_run = |run: &RunTimes| {
        let times = run.iter().filter(|(_, time)| known(time));
        let mut off: BTreeMap<String, f64> = times
            .filter_map(|(instance, time)| {
                let (sum, n) = means.get(&(instance.as_str(), time.class.as_str()))?;
                Some((instance.clone(), time.ratio.ln() - sum / n))
            })
            .collect();
        let shared = median(off.values().copied().collect());
        off.values_mut().for_each(|off| *off -= shared);
        off
    };
    runs.iter().map(of_run).collect()
}

/// Run and residual.
pub(crate) type Rows = Vec<(usize, f64)>;

/// Residuals of an instance, grouped by its class and by the class of another instance.
pub(crate) fn groups<'r>(
    runs: &'r [RunTimes],
    residuals: &[BTreeMap<String, f64>],
    instance: &str,
    beside: &str,
) -> BTreeMap<&'r str, BTreeMap<&'r str, Rows>> {
    let mut groups: BTreeMap<&str, BTreeMap<&str, Rows>> = BTreeMap::new();
    for (number, run) in runs.iter().enumerate() {
        let residual = residuals[number].get(instance);
        if let (Some(own), Some(other), Some(residual)) =
            (run.get(instance), run.get(beside), residual)
        {
            let of_class = groups.entry(&own.class).or_default();
            let rows = of_class.entry(&other.class).or_default();
            rows.push((number, *residual));
        }
    }
    groups
}

/// Shrunken deviation of each group's mean from the mean of all groups; zeros where the differences are not
/// significant.
///
/// # Arguments
/// * `level` - value of the F distribution below which the differences count as spread
fn effects(groups: &BTreeMap<&str, Rows>, level: f64) -> Vec<f64> {
    let none = vec![0.0; groups.len()];
    let n: usize = groups.values().map(Vec::len).sum();
    let (between, within) = (
        groups.len().saturating_sub(1),
        n.saturating_sub(groups.len()),
    );
    if between == 0 || within == 0 {
        return none;
    }
    let mean = |rows: &Rows| rows.iter().map(|(_, y)| y).sum::<f64>() / rows.len() as f64;
    let means: Vec<f64> = groups.values().map(mean).collect();
    let middle = means.iter().sum::<f64>() / means.len() as f64;
    let squares = groups.values().zip(&means);
    let squares =
        squares.flat_map(|(rows, mean)| rows.iter().map(move |(_, y)| (y - mean).powi(2)));
    let spread = squares.sum::<f64>() / within as f64;
    let weighted = groups.values().zip(&means);
    let weighted = weighted.map(|(rows, mean)| rows.len() as f64 * (mean - middle).powi(2));
    let explained = weighted.sum::<f64>() / between as f64;
    if spread <= 0.0 {
        return means.iter().map(|mean| mean - middle).collect();
    }
    let Ok(fisher) = FisherSnedecor::new(between as f64, within as f64) else {
        return none;
    };
    if fisher.cdf(explained / spread) < level {
        return none;
    }
    // The share of the variance of the group means that the spread of their runs does not explain.
    let share = (1.0 - spread / explained).max(0.0);
    means.iter().map(|mean| share * (mean - middle)).collect()
}

pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    match values.len() {
        0 => 0.0,
        n => f64::midpoint(values[(n - 1) / 2], values[n / 2]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Approximately normal random numbers: the sum of twelve uniform ones.
    fn normal(numbers: &mut fastrand::Rng) -> f64 {
        (0..12).map(|_| numbers.f64()).sum::<f64>() - 6.0
    }

    /// Three sites with two classes each and two without a choice, every assembly `repeat` times; class "B" of `flux`
    /// takes longer by `theta` if `states` has "B".
    fn runs(theta: f64, repeat: usize, seed: u64) -> Vec<RunTimes> {
        let mut numbers = fastrand::Rng::with_seed(seed);
        let mut runs = Vec::new();
        for turn in 0..8 * repeat {
            let class = |bit: usize| if turn >> bit & 1 == 1 { "B" } else { "A" };
            let classes = [
                ("flux", class(0)),
                ("states", class(1)),
                ("icc", class(2)),
                ("mesh", "M"),
                ("rk2", "R"),
            ];
            let shared = 0.05 * normal(&mut numbers);
            let run = classes.map(|(instance, class)| {
                let apart = if class == "B" { 0.3 } else { 0.0 };
                let together = instance == "flux" && classes[0].1 == "B" && classes[1].1 == "B";
                let together = if together { theta } else { 0.0 };
                let ln = -2.0 + apart + together + shared + 0.01 * normal(&mut numbers);
                let time = SiteTime {
                    class: class.into(),
                    ratio: ln.exp(),
                };
                (instance.to_owned(), time)
            });
            runs.push(BTreeMap::from(run));
        }
        runs
    }

    fn joined() -> BTreeSet<[String; 2]> {
        let pairs = [
            ["flux", "states"],
            ["flux", "icc"],
            ["icc", "states"],
            ["flux", "mesh"],
        ];
        pairs.map(|pair| pair.map(String::from)).into()
    }

    #[test]
    fn what_two_classes_cost_together_is_found() {
        let told = interactions(&runs(0.1, 5, 1), &joined());
        let of = |beside_class: &str| {
            let is_it = |i: &&Interaction| {
                i.beside_class == beside_class && i.class == "B" && i.instance == "flux"
            };
            told.iter()
                .find(is_it)
                .unwrap_or_else(|| panic!("{told:#?}"))
        };
        let (slow, fast) = (of("B"), of("A"));
        assert_eq!((slow.beside.as_str(), slow.runs), ("states", 10));
        let difference = slow.ln_ratio - fast.ln_ratio;
        assert!((difference - 0.1).abs() < 0.015, "{told:#?}");
        assert_eq!(told.len(), 2, "{told:#?}");
    }

    #[test]
    fn spread_is_no_interaction() {
        let false_ones =
            (0..100).filter(|seed| !interactions(&runs(0.0, 5, *seed), &joined()).is_empty());
        let n = false_ones.count();
        assert!(n <= 12, "{n} of 100, 5 are expected");
        // One run of each does not show their spread.
        assert_eq!(interactions(&runs(0.1, 1, 3)[..4], &joined()), []);
    }
}

//! Plans runs that together show every pair of alternatives at coupled instances.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::Error;
use crate::optimise::{Problem, SearchOptions, optimise};
use crate::workload::{Alternatives, Assembly};

/// Runs that show what the models need: every class of each instance, and every pair of classes at coupled instances.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Class of each instance with alternatives, for each run; the current assembly first.
    pub runs: Vec<Assembly>,
    /// Lower bound of the number of runs that show all of it.
    pub least_runs: usize,
    /// Coupled instances with alternatives, whose pairs of classes are shown.
    pub joined: Vec<[String; 2]>,
    /// Number of pairs of classes that are shown, over all coupled instances.
    pub pairs: usize,
}

/// Plans runs: a covering array of strength 2 over the coupled instances. Each run shows as many combinations that no
/// earlier run has shown as a single run can.
///
/// The number of runs is minimal, `least_runs`, unless some three instances are all coupled with one another; then it
/// may be slightly larger.
///
/// # Arguments
/// * `alternatives` - classes for some instances of `current`
/// * `current` - the current assembly, which is the first run
/// * `joined` - coupled instances, which call one another or share data; those without alternatives are ignored
///
/// # Errors
/// [`Error::UnknownInstance`], [`Error::NoAlternatives`].
///
/// # Source
/// D. M. Cohen, S. R. Dalal, M. L. Fredman, G. C. Patton, The AETG system, IEEE TSE 23 (1997): covering arrays built
/// one row at a time. Here each row is optimal.
pub fn plan(
    alternatives: &Alternatives,
    current: &Assembly,
    joined: &BTreeSet<[String; 2]>,
) -> Result<Plan, Error> {
    let sites = sites(alternatives, current)?;
    if sites.is_empty() {
        return Err(Error::NoAlternatives);
    }
    let at: BTreeMap<&str, usize> = sites.iter().enumerate().map(|(i, s)| (s.0, i)).collect();
    let ends = joined.iter().filter_map(|[a, b]| {
        let (a, b) = (*at.get(a.as_str())?, *at.get(b.as_str())?);
        (a != b).then_some([a.min(b), a.max(b)])
    });
    let ends: BTreeSet<[usize; 2]> = ends.collect();
    let mut missing = Missing::new(&sites, &ends);
    let least_runs = missing.least_runs();
    let pairs = missing.pairs.values().flatten().filter(|m| **m).count();
    let mut rows = vec![vec![0; sites.len()]];
    missing.show(&rows[0]);
    while !missing.is_empty() {
        let row = optimise(&missing.problem(&sites)?, &SearchOptions::default())?;
        let row = row.best[0].choice.clone();
        missing.show(&row);
        rows.push(row);
    }
    let run = |row: &Vec<usize>| {
        let classes = sites.iter().zip(row);
        classes
            .map(|((i, classes), &c)| ((*i).to_owned(), classes[c].to_owned()))
            .collect()
    };
    Ok(Plan {
        runs: rows.iter().map(run).collect(),
        least_runs,
        joined: ends
            .iter()
            .map(|ends| ends.map(|s| sites[s].0.to_owned()))
            .collect(),
        pairs,
    })
}

type Sites<'a> = Vec<(&'a str, Vec<&'a str>)>;

/// Instances with two or more classes, the current class first.
fn sites<'a>(alternatives: &'a Alternatives, current: &'a Assembly) -> Result<Sites<'a>, Error> {
    let mut sites = Vec::new();
    for (instance, listed) in alternatives {
        let Some(class) = current.get(instance) else {
            return Err(Error::unknown_instance(instance, current));
        };
        let mut classes = vec![class.as_str()];
        for class in listed {
            if !classes.contains(&class.as_str()) {
                classes.push(class);
            }
        }
        if classes.len() > 1 {
            sites.push((instance.as_str(), classes));
        }
    }
    Ok(sites)
}

/// Classes and pairs that no run has shown yet.
struct Missing {
    /// For each site and class.
    singles: Vec<Vec<bool>>,
    /// For each pair of coupled sites and their classes, row-major.
    pairs: BTreeMap<[usize; 2], Vec<bool>>,
}

impl Missing {
    fn new(sites: &Sites<'_>, ends: &BTreeSet<[usize; 2]>) -> Self {
        let n = |site: usize| sites[site].1.len();
        Self {
            singles: (0..sites.len()).map(|site| vec![true; n(site)]).collect(),
            pairs: ends
                .iter()
                .map(|&[a, b]| ([a, b], vec![true; n(a) * n(b)]))
                .collect(),
        }
    }

    /// Each run shows exactly one combination of each pair, so this is the largest number of combinations of a pair.
    fn least_runs(&self) -> usize {
        let singles = self.singles.iter().map(Vec::len);
        singles
            .chain(self.pairs.values().map(Vec::len))
            .max()
            .unwrap_or(0)
    }

    fn is_empty(&self) -> bool {
        let mut all = self.singles.iter().chain(self.pairs.values()).flatten();
        !all.any(|missing| *missing)
    }

    fn show(&mut self, row: &[usize]) {
        for (single, &class) in self.singles.iter_mut().zip(row) {
            single[class] = false;
        }
        for (&[a, b], pair) in &mut self.pairs {
            pair[row[a] * self.singles[b].len() + row[b]] = false;
        }
    }

    /// The problem whose optimum is the next run: each class or pair that a run shows for the first time lowers its
    /// cost.
    fn problem(&self, sites: &Sites<'_>) -> Result<Problem, Error> {
        let costs = |missing: &[bool]| -> Vec<f64> {
            missing
                .iter()
                .map(|missing| if *missing { -1.0 } else { 0.0 })
                .collect()
        };
        let mut problem = Problem::new();
        for ((instance, classes), single) in sites.iter().zip(&self.singles) {
            problem.add_site(instance, classes, &costs(single))?;
        }
        for (&[a, b], pair) in &self.pairs {
            problem.add_pair(a, b, &costs(pair))?;
        }
        Ok(problem)
    }
}

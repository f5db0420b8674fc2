//! Which runs show every pair of joined alternatives.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::error::Error;
use crate::optimise::{Problem, SearchOptions, optimise};
use crate::workload::{Alternatives, Assembly};

/// Runs that show what models need: every class of each instance, and every two classes of joined instances together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Class of each instance that has alternatives, for each run; the current assembly first.
    pub runs: Vec<Assembly>,
    /// No fewer runs can show all of it.
    pub least_runs: usize,
    /// Pairs of instances whose classes are shown together.
    pub joined: Vec<[String; 2]>,
    /// Combinations of two classes that are shown, at each of these.
    pub pairs: usize,
}

/// Plans runs: a covering array of strength 2 over the joined instances, each run taken so that it shows as many combinations
/// as one run can that none before it has shown.
///
/// The number of runs is the least one, `least_runs`, where every two joined instances have no third joined to both; elsewhere it may
/// be some more.
///
/// # Arguments
/// * `alternatives` - classes for some instances of `current`
/// * `current` - the assembly as it stands, which is the first run
/// * `joined` - instances that call one another or work on the same data; those without alternatives are passed over
///
/// # Errors
/// [`Error::UnknownInstance`], [`Error::NoAlternatives`].
///
/// # Source
/// D. M. Cohen, S. R. Dalal, M. L. Fredman, G. C. Patton, The AETG system, IEEE TSE 23 (1997), for covering arrays one row at a time;
/// here each row is the optimum.
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

/// Instances with two or more classes, the current one first.
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

/// What no run has shown yet.
struct Missing {
    /// For each site and class.
    singles: Vec<Vec<bool>>,
    /// For each two joined sites and their classes, row-major.
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

    /// A run shows one combination of each pair.
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

    /// A run costs less for all that it shows first.
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

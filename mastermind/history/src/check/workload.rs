//! Workload of the runs: calls, time and settings, by run.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::noise::median;
use crate::run_sums::RunSums;

/// Relative difference in calls beyond which runs had another workload. Half of the change to be detected: a component
/// without parameters that does 2.5 % more is slower by as much.
const MAX_OTHER_WORK: f64 = 0.025;

/// Number of latest runs from which the share of the time is computed.
const LATEST: usize = 5;

/// Runs at the edge of a level that may belong to the other one.
const EDGE: usize = 2;

/// Calls and nanoseconds.
type Sum = (f64, f64);

/// Workload of the runs.
pub(super) struct Workload<'r> {
    methods: HashMap<&'r str, Vec<Sum>>,
    /// Methods of the cells; a cell is a method and parameters.
    cells: Vec<&'r str>,
    /// Cells and calls, by run.
    runs: Vec<Vec<(usize, f64)>>,
    settings: Vec<BTreeMap<String, String>>,
}

impl<'r> Workload<'r> {
    pub(super) fn new(all: &[&'r RunSums]) -> Self {
        let mut methods = HashMap::<&str, Vec<Sum>>::new();
        let mut known = HashMap::<(&str, &str), usize>::new();
        let (mut cells, mut runs) = (Vec::new(), Vec::new());
        for (place, run) in all.iter().enumerate() {
            let mut of_run = Vec::new();
            for cell in &run.cells {
                let sums = methods
                    .entry(&cell.method)
                    .or_insert_with(|| vec![(0.0, 0.0); all.len()]);
                sums[place].0 += cell.calls as f64;
                sums[place].1 += cell.total_ns;
                let of_cell = *known
                    .entry((&cell.method, &cell.parameters))
                    .or_insert_with(|| {
                        cells.push(&*cell.method);
                        cells.len() - 1
                    });
                of_run.push((of_cell, cell.calls as f64));
            }
            runs.push(of_run);
        }
        Self {
            methods,
            cells,
            runs,
            settings: all.iter().map(|run| settings(run)).collect(),
        }
    }

    /// Share of a method in the time of the latest runs.
    pub(super) fn share(&self, method: &str) -> f64 {
        let n_runs = self.runs.len();
        let latest = n_runs.saturating_sub(LATEST)..n_runs;
        let all = |run: usize| self.methods.values().map(|of| of[run].1).sum::<f64>();
        let own = |run: usize| self.methods.get(method).map_or(0.0, |of| of[run].1);
        let shares = latest.map(|run| (own(run), all(run)));
        median(
            shares
                .filter(|(_, all)| *all > 0.0)
                .map(|(own, all)| own / all),
        )
    }

    /// Median time of a method in some runs and in others, nanoseconds.
    pub(super) fn times(&self, method: &str, before: &[usize], after: &[usize]) -> (f64, f64) {
        self.medians(method, before, after, |sum| sum.1)
    }

    /// Median number of its calls.
    pub(super) fn calls(&self, method: &str, before: &[usize], after: &[usize]) -> (f64, f64) {
        self.medians(method, before, after, |sum| sum.0)
    }

    fn medians(
        &self,
        method: &str,
        before: &[usize],
        after: &[usize],
        of: impl Fn(&Sum) -> f64,
    ) -> (f64, f64) {
        let Some(sums) = self.methods.get(method) else {
            return (0.0, 0.0);
        };
        let over = |runs: &[usize]| median(runs.iter().map(|run| of(&sums[*run])));
        (over(before), over(after))
    }

    /// Settings that were one value in all runs before and another in the last one after.
    pub(super) fn changed_settings(&self, before: &[usize], after: &[usize]) -> Vec<String> {
        // A change may be found a few runs away from its place.
        let before = &before[..before.len() - EDGE.min(before.len().saturating_sub(1))];
        let Some(last) = after.last() else {
            return Vec::new();
        };
        let names = before.iter().chain([last]);
        let names: BTreeSet<&String> = names.flat_map(|run| self.settings[*run].keys()).collect();
        let names = names.into_iter().filter(|name| {
            let values = before.iter().map(|run| self.settings[*run].get(*name));
            let values: BTreeSet<Option<&String>> = values.collect();
            values.len() == 1 && !values.contains(&self.settings[*last].get(*name))
        });
        names.cloned().collect()
    }

    /// Whether the calls of other methods were of another number or of other parameters, for a call of this one.
    pub(super) fn has_other_work(&self, method: &str, before: &[usize], after: &[usize]) -> bool {
        // Calls of each cell, and of all, for a call of the method.
        let mean = |runs: &[usize]| {
            let mut sums = vec![0.0; self.cells.len()];
            let (mut own, mut all) = (0.0, 0.0);
            for (cell, calls) in runs.iter().flat_map(|run| &self.runs[*run]) {
                match self.cells[*cell] == method {
                    true => own += calls,
                    false => {
                        sums[*cell] += calls;
                        all += calls;
                    }
                }
            }
            sums.iter_mut().for_each(|calls| *calls /= own);
            (sums, all / own)
        };
        let ((one, n), (other, _)) = (mean(before), mean(after));
        let moved = one
            .iter()
            .zip(&other)
            .map(|(one, other)| (one - other).abs());
        moved.sum::<f64>() > MAX_OTHER_WORK * n
    }
}

/// Settings and machine of a run, as far as they are the same for all its calls.
fn settings(run: &RunSums) -> BTreeMap<String, String> {
    let circumstances = &run.circumstances;
    let mut settings = circumstances.settings.clone();
    let mut add = |name: &str, value: Option<String>| {
        settings.extend(value.map(|value| (name.to_owned(), value)));
    };
    add("MPI library", circumstances.mpi_library.clone());
    add("recorder", circumstances.recorder.clone());
    let processors = circumstances.processors_usable;
    add("processors", processors.map(|n| n.to_string()));
    settings
}

//! A component's runs and cells as a table of logarithms, and the effects of the runs in it.
//!
//! ```text
//! y_rc = a_c + x_r      over the cells c that run r has, weighed by how little a cell differs from run to run
//! ```
//!
//! Runs need not have the same cells: a chain of runs with common cells is enough to compare its ends, as in a chained price index. Runs that no
//! chain connects with the latest one have other parameters only, and are not compared with it.

use std::collections::HashMap;

use super::noise;
use crate::run_sums::Cell;

/// Means of cut parameters count as equal within this, a logarithm: a cubic cost differs by 3 % then.
const EQUAL_MEANS: f64 = 0.01;

/// Nanoseconds by which a call may seem longer or shorter in another run by its measurement alone.
const MEASURING_NS: f64 = 2.0;

/// Least scale of the noise of a cell, a logarithm: less is no matter.
pub(super) const MIN_SCALE: f64 = 1e-3;

/// Sweeps of the alternating fit at most, and the change at which it has converged.
const MAX_SWEEPS: usize = 100;
const CONVERGED: f64 = 1e-7;

/// Where the greatest time of a call is this many times the least, groups of cells are looked at by themselves.
const MIN_RANGE: f64 = 8.0;

/// Groups by time of a call, of equal width of the logarithm. Arbitrary: more of them have fewer cells and more series to be sure of.
const N_GROUPS: usize = 3;

/// Share of a component's time from which a cell is looked at by itself: at most as many cells as an eighth has room for.
const OWN_SHARE: f64 = 0.125;

/// A method over all runs.
#[derive(Debug)]
pub(super) struct Panel {
    /// Whether calls have parameters.
    pub(super) has_parameters: bool,
    /// Logarithm of a call's nanoseconds, by run: cell and value.
    runs: Vec<Vec<(usize, f64)>>,
    /// By number.
    cells: Vec<TypicalCell>,
}

/// A cell over all runs.
#[derive(Debug)]
struct TypicalCell {
    /// Median logarithm of a call.
    log: f64,
    /// One by the variance between runs.
    weight: f64,
    /// Share of the component's time, over all runs.
    share: f64,
}

/// Effects of the runs that can be compared with the latest, over some cells.
#[derive(Clone, Debug)]
pub(super) struct Effects {
    /// Runs, ascending.
    pub(super) runs: Vec<usize>,
    /// Logarithms, one a run; only differences mean something.
    pub(super) values: Vec<f64>,
    /// Shortest and longest typical time of a call in the cells, nanoseconds.
    pub(super) range_ns: (f64, f64),
}

impl Panel {
    /// The table of a method.
    ///
    /// # Arguments
    /// * `by_run` - its cells in each run
    pub(super) fn new(by_run: &[Vec<&Cell>]) -> Self {
        let mut known = HashMap::<(&str, i64, Vec<i64>), usize>::new();
        let mut has_parameters = false;
        let mut of_cells = Vec::<Vec<f64>>::new();
        let mut times = Vec::<f64>::new();
        let mut runs = Vec::new();
        for cells in by_run {
            let mut of_run = HashMap::<usize, (f64, f64)>::new();
            for cell in cells {
                has_parameters |= cell.parameters != "{}";
                let Some(log) = typical_log(cell) else {
                    continue;
                };
                let key = (&*cell.parameters, cell.bits, rounded_means(cell));
                let n = known.len();
                let place = *known.entry(key).or_insert(n);
                // Two classes of one instance may have calls at the same parameters.
                let (sum, calls) = of_run.entry(place).or_default();
                *sum += cell.calls as f64 * log;
                *calls += cell.calls as f64;
                times.resize(known.len(), 0.0);
                times[place] += cell.total_ns;
            }
            let mut of_run: Vec<(usize, f64)> = of_run
                .into_iter()
                .map(|(place, (sum, calls))| (place, sum / calls))
                .collect();
            of_run.sort_by_key(|(place, _)| *place);
            of_cells.resize(known.len(), Vec::new());
            of_run
                .iter()
                .for_each(|(place, y)| of_cells[*place].push(*y));
            runs.push(of_run);
        }
        let scales: Vec<_> = of_cells.iter().map(|y| noise::between_runs(y)).collect();
        let usual = noise::median(scales.iter().flatten().copied()).max(MIN_SCALE);
        let all: f64 = times.iter().sum();
        let cell = |((y, scale), time): ((&Vec<f64>, &Option<f64>), &f64)| {
            let log = noise::median(y.iter().copied());
            let measuring = MEASURING_NS / log.exp().max(1.0);
            let scale = scale.unwrap_or(usual).max(MIN_SCALE).max(measuring);
            TypicalCell {
                log,
                weight: 1.0 / (scale * scale),
                share: time / all,
            }
        };
        Self {
            has_parameters,
            runs,
            cells: of_cells.iter().zip(&scales).zip(&times).map(cell).collect(),
        }
    }

    /// The effects over all cells; then, where calls are of very different length, those of groups of cells of about the same length, and of
    /// single cells that take much of the time.
    pub(super) fn effects(&self) -> Vec<Effects> {
        let everything = vec![true; self.cells.len()];
        let mut all: Vec<Effects> = self.fit(&everything).into_iter().collect();
        let Some((low, high)) = all.first().map(|effects| effects.range_ns) else {
            return all;
        };
        // What is called no more says nothing of the latest runs.
        let latest = all.iter().flat_map(|of| &of.runs).max();
        let current = latest.map_or(0, |latest| latest.saturating_sub(super::LATEST));
        let mut groups = vec![everything];
        let mut add = |is_of: Vec<bool>| {
            if !groups.contains(&is_of) {
                let is_current = |of: &Effects| of.runs.last() >= Some(&current);
                all.extend(self.fit(&is_of).filter(is_current));
                groups.push(is_of);
            }
        };
        if high / low >= MIN_RANGE {
            let group = |cell: &TypicalCell| {
                let part = (cell.log - low.ln()) / (high / low).ln();
                ((part * N_GROUPS as f64) as usize).min(N_GROUPS - 1)
            };
            for wanted in 0..N_GROUPS {
                add(self
                    .cells
                    .iter()
                    .map(|cell| group(cell) == wanted)
                    .collect());
            }
        }
        for place in 0..self.cells.len() {
            if self.cells[place].share >= OWN_SHARE {
                add((0..self.cells.len()).map(|of| of == place).collect());
            }
        }
        all
    }

    /// # Arguments
    /// * `is_of` - which cells count
    fn fit(&self, is_of: &[bool]) -> Option<Effects> {
        let cells_of = |run: usize| self.runs[run].iter().filter(|(cell, _)| is_of[*cell]);
        let latest = (0..self.runs.len())
            .rev()
            .find(|run| cells_of(*run).next().is_some())?;
        let runs = self.connected(latest, is_of);
        let mut typical: Vec<f64> = self.cells.iter().map(|cell| cell.log).collect();
        let mut values = vec![0.0; self.runs.len()];
        for _ in 0..MAX_SWEEPS {
            let mut change = 0.0_f64;
            for run in &runs {
                let weighed =
                    cells_of(*run).map(|(cell, y)| (self.cells[*cell].weight, y - typical[*cell]));
                let value = mean(weighed);
                change = change.max((value - values[*run]).abs());
                values[*run] = value;
            }
            let mut sums = vec![(0.0, 0.0); typical.len()];
            for run in &runs {
                for (cell, y) in cells_of(*run) {
                    sums[*cell].0 += y - values[*run];
                    sums[*cell].1 += 1.0;
                }
            }
            for (typical, (sum, n)) in typical.iter_mut().zip(sums).filter(|(_, (_, n))| *n > 0.0) {
                *typical = sum / n;
            }
            if change < CONVERGED {
                break;
            }
        }
        let used = || {
            runs.iter()
                .flat_map(|run| cells_of(*run))
                .map(|(cell, _)| self.cells[*cell].log.exp())
        };
        let low = used().fold(f64::INFINITY, f64::min);
        let high = used().fold(0.0, f64::max);
        Some(Effects {
            values: runs.iter().map(|run| values[*run]).collect(),
            runs,
            range_ns: (low, high),
        })
    }

    /// The runs that a chain of common cells connects with one.
    fn connected(&self, run: usize, is_of: &[bool]) -> Vec<usize> {
        let mut runs_of = vec![Vec::new(); self.cells.len()];
        for (run, cells) in self.runs.iter().enumerate() {
            cells.iter().for_each(|(cell, _)| runs_of[*cell].push(run));
        }
        let mut is_reached = vec![false; self.runs.len()];
        let mut is_seen = vec![false; self.cells.len()];
        let mut open = vec![run];
        is_reached[run] = true;
        while let Some(run) = open.pop() {
            for (cell, _) in self.runs[run].iter().filter(|(cell, _)| is_of[*cell]) {
                if std::mem::replace(&mut is_seen[*cell], true) {
                    continue;
                }
                for next in &runs_of[*cell] {
                    if !std::mem::replace(&mut is_reached[*next], true) {
                        open.push(*next);
                    }
                }
            }
        }
        (0..self.runs.len())
            .filter(|run| is_reached[*run])
            .collect()
    }
}

/// Weighed mean; 0 of nothing.
fn mean(weighed: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (weights, sum) = weighed.fold((0.0, 0.0), |(weights, sum), (weight, x)| {
        (weights + weight, sum + weight * x)
    });
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Logarithm of the median call, or of the mean where single calls are unknown.
fn typical_log(cell: &Cell) -> Option<f64> {
    let [_, _, median, _, _] = cell.quantiles_ns;
    let calls = cell.calls.saturating_sub(cell.failed) as f64;
    let ns = match median.is_finite() {
        true => median,
        false => cell.total_ns / calls,
    };
    (ns.is_finite() && ns > 0.0 && calls > 0.0).then(|| ns.ln())
}

/// Means of cut parameters, to within what counts as equal.
fn rounded_means(cell: &Cell) -> Vec<i64> {
    if cell.bits < 0 {
        return Vec::new();
    }
    let means = crate::cells::Parameters::read(&cell.means);
    let numbers = means.iter().flat_map(|means| means.numbers());
    let log = |x: f64| x.signum() * (1.0 + x.abs()).ln() / EQUAL_MEANS;
    numbers.map(|(_, x)| log(x).round() as i64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_sums::RunSums;

    fn run(cells: &[(i64, f64)]) -> RunSums {
        let cell = |(n, ns): &(i64, f64)| Cell {
            method: "m".into(),
            parameters: format!("{{\"n\":{n}}}"),
            bits: -1,
            calls: 10,
            total_ns: 10.0 * ns,
            quantiles_ns: [*ns; 5],
            ..Cell::default()
        };
        RunSums {
            cells: cells.iter().map(cell).collect(),
            ..RunSums::default()
        }
    }

    fn effects(runs: &[RunSums]) -> Vec<Effects> {
        let runs: Vec<Vec<&Cell>> = runs.iter().map(|run| run.cells.iter().collect()).collect();
        Panel::new(&runs).effects()
    }

    #[test]
    fn a_chain_of_common_sizes_compares_its_ends() {
        let runs = [
            run(&[(1, 100.0), (2, 200.0)]),
            run(&[(2, 200.0), (3, 300.0)]),
            run(&[(3, 330.0), (4, 440.0)]),
        ];
        let all = effects(&runs);
        let all = &all[0];
        assert_eq!(all.runs, [0, 1, 2]);
        let difference = all.values[2] - all.values[0];
        assert!((difference - 1.1_f64.ln()).abs() < 1e-4, "{difference}");
    }

    #[test]
    fn runs_of_other_sizes_are_left_out() {
        let runs = [run(&[(1, 100.0)]), run(&[(2, 200.0)]), run(&[(2, 210.0)])];
        assert_eq!(effects(&runs)[0].runs, [1, 2]);
    }

    #[test]
    fn calls_of_very_different_length_have_groups() {
        let runs = [
            run(&[(1, 100.0), (2, 1e4), (3, 1e6)]),
            run(&[(1, 100.0), (2, 1e4), (3, 2e6)]),
        ];
        let all = effects(&runs);
        assert_eq!(all.len(), 4);
        let change = |of: &Effects| of.values[1] - of.values[0];
        assert!(change(&all[1]).abs() < 1e-6 && change(&all[2]).abs() < 1e-6);
        assert!((change(&all[3]) - 2.0_f64.ln()).abs() < 1e-6);
        assert!(all[3].range_ns.0 > 1e5);
    }
}

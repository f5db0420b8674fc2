//! A component's runs and cells as a table of logarithms, and the effects of the runs in it.
//!
//! ```text
//! y_rc = a_c + x_r + noise      over the cells c that run r has; Student's noise with the cell's own scale
//! ```
//!
//! The time of a cell in a run is a figure that other work moves little ([`figures`](super::figures)).
//!
//! Runs need not have the same cells: a chain of runs with common cells is enough to compare its ends, as in a chained price index. Runs that no
//! chain connects with the latest one have other parameters only, and are not compared with it.

use std::collections::HashMap;

use super::figures::{CellRuns, logs};
use super::noise;
use crate::run_sums::Cell;

/// Means of cut parameters count as equal within this, a logarithm: a cubic cost differs by 3 % then.
const EQUAL_MEANS: f64 = 0.01;

/// Nanoseconds by which a call may seem longer or shorter in another run by its measurement alone: clocks have steps of
/// 10 ns (seen), and the least or a quartile of many equal calls is on one of two steps.
const MEASURING_NS: f64 = 5.0;

/// Least scale of the noise of a cell, a logarithm: less is no matter.
pub(super) const MIN_SCALE: f64 = 1e-3;

/// Sweeps of the alternating fit at most, and the change at which it has converged.
const MAX_SWEEPS: usize = 100;
const CONVERGED: f64 = 1e-5;

/// If the greatest time of a call is this many times the least, groups of cells are checked separately.
const MIN_RANGE: f64 = 8.0;

/// Groups by time of a call, of equal width of the logarithm. Arbitrary: more of them have fewer cells and more series to be sure of.
const N_GROUPS: usize = 3;

/// If the longest cell is this many times the shortest, the longer half of the cells is checked separately. Arbitrary.
const HALF_RANGE: f64 = 1.5;

/// Share of a component's time from which a cell is checked separately: at most as many cells as fit into an eighth.
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
    /// Standard deviation between runs.
    scale: f64,
    /// Share of the component's time, over all runs.
    share: f64,
    /// Largest part of the waiting for a processor that it may suffer, 0 to 1.
    suffers: f64,
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
    /// Largest part of the waiting for a processor that they may suffer, 0 to 1.
    pub(super) suffers: f64,
}

impl Panel {
    /// The table of a method.
    ///
    /// # Arguments
    /// * `by_run` - its cells in each run
    /// * `shares` - share of the processor that each run got, 0 to 1; 1 if it is unknown
    pub(super) fn new(by_run: &[Vec<&Cell>], shares: &[f64]) -> Self {
        let mut known = HashMap::<(&str, i64, Vec<i64>), usize>::new();
        let mut has_parameters = false;
        let mut of_cells = Vec::<CellRuns>::new();
        for (run, (cells, share)) in by_run.iter().zip(shares).enumerate() {
            for cell in cells {
                has_parameters |= cell.parameters != "{}";
                let Some(logs) = logs(cell, *share) else {
                    continue;
                };
                let key = (&*cell.parameters, cell.bits, rounded_means(cell));
                let n = known.len();
                let place = *known.entry(key).or_insert(n);
                if place == of_cells.len() {
                    of_cells.push(CellRuns::default());
                }
                of_cells[place].add(run, cell, logs);
            }
        }
        let chosen: Vec<_> = of_cells.iter().map(CellRuns::choose).collect();
        let scales = chosen.iter().filter_map(|(_, scale)| *scale);
        let usual = noise::median(scales).max(MIN_SCALE);
        let all: f64 = of_cells.iter().map(|of| of.total_ns).sum();
        let mut runs = vec![Vec::new(); by_run.len()];
        let mut typical = Vec::new();
        for (place, (of_cell, (figure, scale))) in of_cells.iter().zip(chosen).enumerate() {
            let values = of_cell.values(figure);
            for (run, y) in of_cell.runs.iter().zip(&values) {
                runs[*run].push((place, *y));
            }
            let log = noise::median(values);
            let measuring = MEASURING_NS / log.exp().max(1.0);
            typical.push(TypicalCell {
                log,
                scale: scale.unwrap_or(usual).max(MIN_SCALE).max(measuring),
                share: of_cell.total_ns / all,
                suffers: figure.suffers(log.exp()),
            });
        }
        Self {
            has_parameters,
            runs,
            cells: typical,
        }
    }

    /// The effects over all cells; then, if calls are of very different length, those of groups of cells of about the
    /// same length, of the longer half, and of single cells that take much of the time.
    pub(super) fn effects(&self) -> Vec<Effects> {
        let everything = vec![true; self.cells.len()];
        let mut all: Vec<Effects> = self.fit(&everything).into_iter().collect();
        let Some((low, high)) = all.first().map(|effects| effects.range_ns) else {
            return all;
        };
        // Methods that are no longer called give no information about the latest runs.
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
        if high / low >= HALF_RANGE {
            let half = noise::median(self.cells.iter().map(|cell| cell.log));
            add(self.cells.iter().map(|cell| cell.log >= half).collect());
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
                let before = values[*run];
                let weighed = cells_of(*run).map(|(cell, y)| {
                    let (scale, off) = (self.cells[*cell].scale, y - typical[*cell]);
                    (weight(scale, off - before), off)
                });
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
        let weighed = (0..self.cells.len()).filter(|cell| is_of[*cell]);
        let weighed = weighed.map(|cell| &self.cells[cell]);
        let suffers = mean(weighed.map(|cell| (weight(cell.scale, 0.0), cell.suffers)));
        let low = used().fold(f64::INFINITY, f64::min);
        let high = used().fold(0.0, f64::max);
        Some(Effects {
            values: runs.iter().map(|run| values[*run]).collect(),
            runs,
            range_ns: (low, high),
            suffers,
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

/// Weight of a value in the mean of Student's distribution of 5 degrees of freedom.
///
/// # Source
/// Lange, Little, Taylor, *Robust statistical modeling using the t distribution*, JASA 84 (1989), 881–896, section 3.
fn weight(scale: f64, off: f64) -> f64 {
    6.0 / (5.0 * scale * scale + off * off)
}

/// Weighed mean; 0 of nothing.
fn mean(weighed: impl Iterator<Item = (f64, f64)>) -> f64 {
    let (weights, sum) = weighed.fold((0.0, 0.0), |(weights, sum), (weight, x)| {
        (weights + weight, sum + weight * x)
    });
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// Means of cut parameters, rounded so that about equal means are equal.
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
            segments_ns: [f64::NAN; 3],
            ..Cell::default()
        };
        RunSums {
            cells: cells.iter().map(cell).collect(),
            ..RunSums::default()
        }
    }

    fn effects(runs: &[RunSums]) -> Vec<Effects> {
        let runs: Vec<Vec<&Cell>> = runs.iter().map(|run| run.cells.iter().collect()).collect();
        Panel::new(&runs, &vec![1.0; runs.len()]).effects()
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

    /// Values of the chosen figure, for runs whose calls have these quantiles.
    fn chosen(runs: &[([f64; 5], u64)]) -> Vec<f64> {
        let run = |(quantiles_ns, calls): &([f64; 5], u64)| {
            let mut run = run(&[(1, quantiles_ns[2])]);
            run.cells[0].quantiles_ns = *quantiles_ns;
            run.cells[0].calls = *calls;
            run.cells[0].total_ns = quantiles_ns[2] * *calls as f64;
            run
        };
        let runs: Vec<RunSums> = runs.iter().map(run).collect();
        effects(&runs)[0].values.clone()
    }

    /// A component whose median call is delayed in every other run.
    fn held_up(n: usize, calls: impl Fn(usize) -> u64) -> Vec<([f64; 5], u64)> {
        let run = |run: usize| {
            let more = 1.0 + (run % 2) as f64;
            let lower = 1.0 + 0.1 * (run % 2) as f64;
            let quantiles = [1e4, 1e4 * lower, 1e4 * more, 2e4, 3e4];
            (quantiles, calls(run))
        };
        (0..n).map(run).collect()
    }

    #[test]
    fn the_shortest_calls_are_compared_where_others_are_held_up() {
        let values = chosen(&held_up(12, |_| 20));
        assert!(values.iter().all(|x| (x - values[0]).abs() < 1e-6));
    }

    #[test]
    fn the_shortest_of_more_calls_is_not_compared() {
        let values = chosen(&held_up(12, |run| 20 + run as u64));
        assert!((values[1] - values[0] - 1.1_f64.ln()).abs() < 1e-3);
    }

    #[test]
    fn a_rare_kind_of_call_that_takes_most_of_the_time_is_in_the_figure() {
        let run = |n: usize| {
            let mut run = run(&[(1, 1000.0)]);
            // One call in ten takes a thousand times as long.
            run.cells[0].total_ns = 1e6 * (1.0 + 0.05 * (n % 2) as f64);
            run
        };
        let runs: Vec<RunSums> = (0..12).map(run).collect();
        let values = effects(&runs)[0].values.clone();
        assert!((values[1] - values[0] - 1.05_f64.ln()).abs() < 1e-3);
    }

    #[test]
    fn calls_of_very_different_length_have_groups() {
        let runs = [
            run(&[(1, 100.0), (2, 1e4), (3, 1e6)]),
            run(&[(1, 100.0), (2, 1e4), (3, 2e6)]),
        ];
        let all = effects(&runs);
        assert_eq!(all.len(), 5);
        let change = |of: &Effects| of.values[1] - of.values[0];
        assert!(change(&all[1]).abs() < 1e-6 && change(&all[2]).abs() < 1e-6);
        assert!((change(&all[3]) - 2.0_f64.ln()).abs() < 1e-6);
        assert!(all[3].range_ns.0 > 1e5);
    }
}

//! The figure of a cell that is used as its time in a run.
//!
//! When other work takes the processor away, calls that are shorter than a time slice are either left alone or delayed:
//! the shortest repeat to a thousandth while the means differ by a third. A call that lasts through many slices is
//! delayed by the share of the processor that the run did not get; a caller's own time consists of many short segments.
//! The runs of a cell show which of these it is: of the figures that account for enough of its time, the one that
//! differs least between runs is used.

use super::noise;
use crate::run_sums::Cell;

/// The shortest of more calls is shorter: the least is compared only where the runs have the same number of calls of a cell, up to this factor.
/// Arbitrary.
const SAME_CALLS: f64 = 1.25;

/// Share of a cell's processor time that a figure must account for in the tenth of the runs where it accounts for most,
/// which other work disturbs least. Arbitrary: if calls with the same parameters, or the segments of a caller, are of
/// two forms, the quantile of the frequent form leaves out the other, whose slow-down it would not show.
const MIN_PART: f64 = 1.0 / 3.0;

/// A call of this length or longer does not escape other work, nanoseconds.
///
/// # Source
/// Linux 6.6, `kernel/sched/fair.c`, `sysctl_sched_base_slice`: 0.75 ms times 1 + log2 of the number of processors, at
/// most 8.
const SLICE_NS: f64 = 3e6;

/// Figures of a cell in a run that its time may be taken from.
#[derive(Clone, Copy, Debug)]
pub(super) enum Figure {
    /// The shortest call.
    Least,
    LowerQuartile,
    Median,
    /// The mean call, times the share of the processor that the run got.
    Processor,
    /// Own time if all segments were as long as the shortest of their group.
    LeastSegments,
    LowerQuartileSegments,
    MedianSegments,
}

impl Figure {
    /// Largest part of the waiting for a processor that the figure of a call may suffer, 0 to 1.
    pub(super) fn suffers(self, ns: f64) -> f64 {
        match self {
            Self::Least | Self::LowerQuartile => (ns / SLICE_NS).min(1.0),
            _ => 1.0,
        }
    }
}

/// In the order of [`logs`].
const FIGURES: [Figure; 7] = [
    Figure::Least,
    Figure::LowerQuartile,
    Figure::Median,
    Figure::Processor,
    Figure::LeastSegments,
    Figure::LowerQuartileSegments,
    Figure::MedianSegments,
];

/// Logarithms of the figures of a cell in a run, nanoseconds.
pub(super) type Logs = [f64; FIGURES.len()];

/// A cell in the runs that have it.
#[derive(Default)]
pub(super) struct CellRuns {
    /// Places of the runs, ascending.
    pub(super) runs: Vec<usize>,
    /// Calls, and the figures, by run.
    logs: Vec<(f64, Logs)>,
    /// Time in all runs, nanoseconds.
    pub(super) total_ns: f64,
}

impl CellRuns {
    pub(super) fn add(&mut self, run: usize, cell: &Cell, logs: Logs) {
        self.total_ns += cell.total_ns;
        let calls = cell.calls as f64;
        // Two classes of one instance may have calls at the same parameters.
        if let (Some(last), true) = (self.logs.last_mut(), self.runs.last() == Some(&run)) {
            let part = calls / (last.0 + calls);
            for (known, more) in last.1.iter_mut().zip(logs) {
                *known += part * (more - *known);
            }
            last.0 += calls;
        } else {
            self.runs.push(run);
            self.logs.push((calls, logs));
        }
    }

    /// The figure in each run.
    pub(super) fn values(&self, figure: Figure) -> Vec<f64> {
        let place = figure as usize;
        self.logs.iter().map(|(_, logs)| logs[place]).collect()
    }

    /// The figure that differs least between runs, and by how much; the lower quartile of too few runs.
    pub(super) fn choose(&self) -> (Figure, Option<f64>) {
        let calls = || self.logs.iter().map(|(calls, _)| *calls);
        let most = calls().fold(0.0, f64::max);
        let fewest = calls().fold(f64::INFINITY, f64::min);
        let is_comparable = |figure: &Figure| match figure {
            Figure::Least | Figure::LeastSegments => most <= SAME_CALLS * fewest,
            _ => true,
        };
        let is_known = |figure: &Figure| {
            let parts = self.logs.iter().map(|(_, logs)| {
                let processor = logs[Figure::Processor as usize];
                logs[*figure as usize] - processor
            });
            let mut parts: Vec<f64> = parts.collect();
            parts.sort_unstable_by(f64::total_cmp);
            let is_finite = parts.iter().all(|part| part.is_finite());
            is_finite && noise::quantile(&parts, 0.9) >= MIN_PART.ln()
        };
        let figures = FIGURES.into_iter().filter(is_comparable).filter(is_known);
        let scales = figures.filter_map(|figure| {
            let scale = noise::between_runs(&self.values(figure))?;
            Some((figure, scale))
        });
        let least = scales.min_by(|(_, a), (_, b)| a.total_cmp(b));
        least.map_or((Figure::LowerQuartile, None), |(figure, scale)| {
            (figure, Some(scale))
        })
    }
}

/// The figures of a cell; the mean call in place of all if single calls are unknown.
pub(super) fn logs(cell: &Cell, share: f64) -> Option<Logs> {
    let calls = cell.calls.saturating_sub(cell.failed) as f64;
    let mean = cell.total_ns / calls;
    let [least, lower, median, ..] = match cell.quantiles_ns[2].is_finite() {
        true => cell.quantiles_ns,
        false => [mean; 5],
    };
    let is_known = mean.is_finite() && median > 0.0 && calls > 0.0;
    // A time below the clock's resolution was about as long as the resolution.
    let log = |ns: f64| if ns.is_nan() { ns } else { ns.max(1.0).ln() };
    let [least_own, lower_own, median_own] = cell.segments_ns;
    let figures = [
        least,
        lower,
        median,
        mean * share,
        least_own,
        lower_own,
        median_own,
    ];
    is_known.then(|| figures.map(log))
}

//! Whether a series went from one level to another at once, or drifted.

use super::levels::{Segment, density};

/// Minimum number of runs of a drift: a change within fewer is a step.
const MIN_RUNS: usize = 8;

/// Whether levels that follow one another in one direction are better described by a line between the first and the last.
///
/// Both are compared by Schwarz's criterion: a line has two levels and two places, n steps have n + 1 levels and n places.
///
/// # Arguments
/// * `segments` - at least two, each higher than the one before, or each lower
pub(super) fn is_drift(series: &[f64], scales: &[f64], segments: &[Segment]) -> bool {
    let (Some(first), Some(last)) = (segments.first(), segments.last()) else {
        return false;
    };
    let (begin, end) = (first.start, last.end);
    let n = end - begin;
    if n < 2 * MIN_RUNS {
        return false;
    }
    let log_likelihood = |level: &dyn Fn(usize) -> f64| -> f64 {
        let runs = begin..end;
        runs.map(|run| density(series[run] - level(run), scales[run]).ln())
            .sum()
    };
    let step = |run: usize| {
        let of = segments.iter().find(|segment| run < segment.end);
        of.unwrap_or(last).mean
    };
    let price = |n_numbers: usize| 0.5 * n_numbers as f64 * (n as f64).ln();
    let steps = log_likelihood(&step) - price(2 * segments.len() - 1);
    // Places and lengths of a line, a sixteenth of the runs apart.
    let apart = (n / 16).max(1);
    let mut line = f64::NEG_INFINITY;
    for from in (begin..end).step_by(apart) {
        for to in (from + MIN_RUNS..=end).step_by(apart) {
            let share = |run: usize| {
                let along = run as f64 - from as f64;
                (along / (to - from) as f64).clamp(0.0, 1.0)
            };
            let Some((low, high)) = ends(series, scales, begin..end, &share) else {
                continue;
            };
            let level = |run: usize| low + (high - low) * share(run);
            line = line.max(log_likelihood(&level));
        }
    }
    line - price(4) > steps
}

/// The ends of a line by least squares, weighed by the noise, without the runs that are furthest off.
fn ends(
    series: &[f64],
    scales: &[f64],
    runs: std::ops::Range<usize>,
    share: &dyn Fn(usize) -> f64,
) -> Option<(f64, f64)> {
    let mut found = None;
    for pass in 0..2 {
        let (mut w, mut s, mut ss, mut y, mut sy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for run in runs.clone() {
            let (x, z) = (share(run), series[run]);
            // Weights of Student's likelihood of 5 degrees of freedom around the line of the pass before.
            let off = found.map_or(0.0, |(low, high): (f64, f64)| z - low - (high - low) * x);
            let weight = match pass {
                0 => 1.0 / scales[run].powi(2),
                _ => 6.0 / (5.0 * scales[run].powi(2) + off * off),
            };
            w += weight;
            s += weight * x;
            ss += weight * x * x;
            y += weight * z;
            sy += weight * x * z;
        }
        let determinant = w * ss - s * s;
        if determinant <= 1e-9 * w * ss {
            return None;
        }
        let slope = (w * sy - s * y) / determinant;
        let low = (y - slope * s) / w;
        found = Some((low, low + slope));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::generator::Generator;
    use crate::check::levels::levels;

    fn drift_of(series: &[f64]) -> Option<bool> {
        let scales = vec![0.01; series.len()];
        let found = levels(series, &scales, 0.0005);
        (found.segments.len() > 1).then(|| is_drift(series, &scales, &found.segments))
    }

    #[test]
    fn a_drift_is_no_step_and_a_step_no_drift() {
        let (mut drifts, mut steps) = (0, 0);
        for seed in 0..40 {
            let mut random = Generator::new(seed);
            let noise: Vec<f64> = (0..120).map(|_| 0.01 * random.normal()).collect();
            let runs = noise.iter().enumerate();
            let drift: Vec<f64> = runs.map(|(run, z)| z + 0.15 * run as f64 / 120.0).collect();
            drifts += usize::from(drift_of(&drift) == Some(true));
            let mut step = noise;
            step[60..].iter_mut().for_each(|z| *z += 0.08);
            steps += usize::from(drift_of(&step) == Some(false));
        }
        assert!(drifts >= 36 && steps >= 38, "{drifts} {steps}");
    }
}

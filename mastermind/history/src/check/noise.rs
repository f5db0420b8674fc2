//! Scatter of the runs of a series without a change, estimated from the series itself.
//!
//! The variance between runs matters: calls of one run share the placement of its data and the other load of the
//! machine. Differences of consecutive runs, or of runs a few apart, contain a lasting step only at its place; slow
//! fluctuation is larger in those further apart, so the largest scale over the distances is used.

/// Runs for each unit of the distance: a step affects as many differences as the distance, a tenth of all then, which
/// hardly moves either quantile.
const N_PER_LAG: usize = 10;

/// Distances of the runs whose differences are used. Arbitrary powers of two.
const LAGS: [usize; 4] = [1, 2, 4, 8];

/// Fewest runs from which a scale is estimated.
pub(super) const MIN_RUNS: usize = 4;

/// Quantiles of the absolute differences, each with its value for a normal distribution of standard deviation 1:
/// √2·Φ⁻¹((1 + p)/2). The median is robust against outliers; if runs are in one of two states, 4 in 5 differences show
/// it.
const QUANTILES: [(f64, f64); 2] = [(0.5, 0.953_87), (0.8, 1.812_39)];

/// Standard deviation of a run from its level; `None` of fewer runs than [`MIN_RUNS`].
pub(super) fn between_runs(series: &[f64]) -> Option<f64> {
    if series.len() < MIN_RUNS {
        return None;
    }
    let lags = LAGS
        .into_iter()
        .filter(|lag| *lag == 1 || lag * N_PER_LAG <= series.len());
    let scales = lags.flat_map(|lag| {
        let differences = series.iter().zip(&series[lag..]);
        let mut differences: Vec<f64> = differences.map(|(a, b)| (a - b).abs()).collect();
        differences.sort_unstable_by(f64::total_cmp);
        QUANTILES.map(|(p, of_normal)| quantile(&differences, p) / of_normal)
    });
    scales.reduce(f64::max)
}

/// The same of runs that follow one another: of a machine that is busy for an afternoon it shows little.
pub(super) fn from_run_to_run(series: &[f64]) -> Option<f64> {
    let differences = series.windows(2).map(|pair| (pair[1] - pair[0]).abs());
    (series.len() >= MIN_RUNS).then(|| median(differences) / QUANTILES[0].1)
}

/// A quantile of sorted numbers, interpolated; 0 of none.
pub(super) fn quantile(sorted: &[f64], p: f64) -> f64 {
    let place = p * (sorted.len().saturating_sub(1)) as f64;
    let (low, part) = (place.floor() as usize, place.fract());
    let Some(first) = sorted.get(low) else {
        return 0.0;
    };
    let second = sorted.get(low + 1).unwrap_or(first);
    first + part * (second - first)
}

/// The median; 0 of none.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    quantile(&values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::generator::Generator;

    #[test]
    fn neither_a_step_nor_outliers_are_noise() {
        let mut random = Generator::new(1);
        let plain: Vec<f64> = (0..200).map(|_| 0.01 * random.normal()).collect();
        let scale = |series: &[f64]| between_runs(series).unwrap();
        assert!((0.009..0.013).contains(&scale(&plain)), "{}", scale(&plain));
        let with = |run: usize| match run {
            r if r.is_multiple_of(20) => 1.0,
            r if r > 150 => 0.2,
            _ => 0.0,
        };
        let mut moved = plain.clone();
        moved
            .iter_mut()
            .enumerate()
            .for_each(|(run, x)| *x += with(run));
        assert!(scale(&moved) < 1.8 * scale(&plain), "{}", scale(&moved));
        assert_eq!(between_runs(&[0.0; 3]), None);
    }

    #[test]
    fn two_states_are_noise() {
        let mut random = Generator::new(2);
        let states: Vec<f64> = (0..200)
            .map(|_| if random.uniform() < 0.3 { 0.1 } else { 0.0 })
            .collect();
        assert!(between_runs(&states).unwrap() > 0.05);
    }
}

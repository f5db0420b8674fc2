//! Quantiles of positive numbers in bounded memory: counts in bins of equal width of the logarithm.
//!
//! A quantile is interpolated within its bin, so it is off by less than a bin's width; of numbers that are spread smoothly over a bin by
//! far less. Least and greatest are exact.
//!
//! # Source
//! Masson, Rim, Lee, *DDSketch*, PVLDB 12 (2019), section 2, without its limit on the number of bins: between 1 ns and a day there are 12,000.

use std::collections::BTreeMap;

/// Bins per octave: a bin is 0.27 % wide, a nineteenth of a change of 5 %.
const PER_OCTAVE: f64 = 256.0;

/// Numbers counted in bins.
#[derive(Clone, Debug)]
pub(crate) struct Quantiles {
    bins: BTreeMap<i32, u64>,
    n: u64,
    least: f64,
    greatest: f64,
    sum: f64,
    sum_log: f64,
    squares_log: f64,
}

impl Default for Quantiles {
    fn default() -> Self {
        Self {
            bins: BTreeMap::new(),
            n: 0,
            least: f64::INFINITY,
            greatest: 0.0,
            sum: 0.0,
            sum_log: 0.0,
            squares_log: 0.0,
        }
    }
}

impl Quantiles {
    /// Counts a number; less than 1 counts as 1 in bins and logarithms.
    pub(crate) fn add(&mut self, x: f64) {
        let at_least_one = x.max(1.0);
        let log = at_least_one.ln();
        let bin = (at_least_one.log2() * PER_OCTAVE).floor() as i32;
        *self.bins.entry(bin).or_default() += 1;
        self.n += 1;
        self.least = self.least.min(x);
        self.greatest = self.greatest.max(x);
        self.sum += x;
        self.sum_log += log;
        self.squares_log += log * log;
    }

    /// Adds the counts of another.
    pub(crate) fn merge(&mut self, other: &Self) {
        for (bin, n) in &other.bins {
            *self.bins.entry(*bin).or_default() += n;
        }
        self.n += other.n;
        self.least = self.least.min(other.least);
        self.greatest = self.greatest.max(other.greatest);
        self.sum += other.sum;
        self.sum_log += other.sum_log;
        self.squares_log += other.squares_log;
    }

    /// How many were counted.
    pub(crate) fn n(&self) -> u64 {
        self.n
    }

    /// Their sum.
    pub(crate) fn sum(&self) -> f64 {
        self.sum
    }

    /// Mean and standard deviation of the logarithms.
    pub(crate) fn log_moments(&self) -> (f64, f64) {
        let n = self.n as f64;
        let mean = self.sum_log / n;
        let variance = (self.squares_log / n - mean * mean).max(0.0);
        (mean, variance.sqrt())
    }

    /// Least, lower quartile, median, upper quartile, greatest.
    pub(crate) fn five(&self) -> [f64; 5] {
        [0.0, 0.25, 0.5, 0.75, 1.0].map(|p| self.quantile(p))
    }

    /// # Arguments
    /// * `p` - 0 to 1
    fn quantile(&self, p: f64) -> f64 {
        if p <= 0.0 || self.n == 0 {
            return self.least;
        }
        let (rank, mut before) = (p * self.n as f64, 0.0);
        for (bin, n) in &self.bins {
            let n = *n as f64;
            if before + n >= rank {
                let within = (rank - before) / n;
                let x = ((f64::from(*bin) + within) / PER_OCTAVE).exp2();
                return x.clamp(self.least, self.greatest);
            }
            before += n;
        }
        self.greatest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bin() {
        let mut all = Quantiles::default();
        let mut halves = [Quantiles::default(), Quantiles::default()];
        for n in 0..=10_000_u32 {
            let x = 100.0 + f64::from(n);
            all.add(x);
            halves[(n % 2) as usize].add(x);
        }
        let [mut first, second] = halves;
        first.merge(&second);
        let expected = [100.0, 2600.0, 5100.0, 7600.0, 10_100.0];
        for quantiles in [all.five(), first.five()] {
            for (found, expected) in quantiles.into_iter().zip(expected) {
                assert!((found / expected - 1.0).abs() < 0.003, "{quantiles:?}");
            }
        }
        assert_eq!((all.n(), all.sum()), (first.n(), first.sum()));
    }

    #[test]
    fn one_number_is_all_its_quantiles() {
        let mut one = Quantiles::default();
        one.add(0.0);
        assert_eq!(one.five(), [0.0; 5]);
        assert_eq!(one.log_moments(), (0.0, 0.0));
    }
}

//! Estimates the times of several classes at one site, from stored models and from the calls seen so far.
//!
//! The logarithm of a time is a Gaussian process over the class and the call kind (method, labels, sizes). It has a part that all classes share,
//! because a large call is long whichever class answers, and a part for each class. So a call of one size informs about that class at other sizes,
//! less so the further away they are, and the growth of a class with size stays uncertain after one size. [`Scales`] can estimate from the times
//! themselves, by maximum likelihood, how far times differ from size to size and which classes differ alike.
//!
//! ```text
//! observed 1 µs (arm 0, n = 100), 100 µs (arm 0, n = 10000), 0.5 µs (arm 1, n = 100): at n = 10000 arm 1 is uncertain by more than a factor of 1.6
//! ```
//!
//! # Source
//! C.E. Rasmussen, C.K.I. Williams, *Gaussian Processes for Machine Learning* (2006), equations 2.25, 2.26 and 5.8.

use std::collections::VecDeque;
use std::sync::Arc;

use nalgebra::{Cholesky, DMatrix, DVector, Dyn};
use serde::{Deserialize, Serialize};

use super::noise::{Level, Noise, Normal, WOBBLE};
use super::posterior::{Posterior, Ratio, half_solve};
use super::spread::{OWN_OF_OTHERS, OWN_STORED, REACHES, SHARED_STORED, Scales, Spread};

/// The reference class. Others are compared with it alone, because one far slower class says nothing about the next.
const FIRST: usize = 0;

/// A call kind: calls of one kind count as alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Kind {
    /// Number of its method and labels; another group is another method or has other labels.
    pub group: usize,
    /// Logarithms of its sizes, shape `[n_sizes]`; `n_sizes` is the same within a group.
    pub x: Vec<f64>,
}

/// Number of observed cells at which the scales are first estimated, and the factor by which it must grow before they are estimated again.
const LEAST_SCALED: usize = 6;
const SCALED_AGAIN: f64 = 1.25;

/// Standard deviation of the error that calls share, whatever their number: that of the machine's state.
const MEAN_NOISE: f64 = 0.01;

/// Maximum weight of a mean, in calls, so that it follows the latest calls.
pub const MOST_CALLS: f64 = 200.0;

/// Number of recent batches that determine a level. Source: chosen on the synthetic worlds of `tests/worlds.rs`, where 31 was tried too.
const RECENT: usize = 15;

/// Part of the oldest batch's calls that a batch must be worth to take its place. Arbitrary.
const LEAST_PART: f64 = 0.1;

/// Standard deviations by which a level must move before the posterior is computed again. Arbitrary: smaller moves hardly change a decision.
const MOVED: f64 = 2.0;

/// Part of the calls that must be undelayed for their level to be trusted. Arbitrary.
const PLAIN: f64 = 0.75;

/// Minimum number of other cells of a class with calls to check one of its cells: the offset of the class is unknown before. And rounds of it.
const LEAST_JUDGING: usize = 2;
const ROUNDS: usize = 2;

/// Number of batches from which the majority counts as undelayed: if one in five is delayed, three of five are with a probability of 6 %.
const LEAST_ROBUST: usize = 5;

/// Number of standard deviations between the errors of two classes' stored models beyond which the models are rejected instead of corrected.
/// Arbitrary: with the spreads here that is a factor of 3.4; models that are off by 3 at some sizes are still of use.
const WRONG_MODELS: f64 = 4.0;

/// Part of a class's offset variance that is common to all groups.
const COMMON_TO_GROUPS: f64 = 0.8;

/// Prior relation of one call kind to another.
#[derive(Debug, Clone, Copy)]
struct Pair {
    /// Sum over the sizes of the product of both distances from the first kind of the group; `None` across groups.
    slopes: Option<f64>,
    /// Correlation of the smooth part for each of [`REACHES`].
    near: [f64; REACHES.len()],
}

/// The calls of one class at one kind.
#[derive(Debug, Clone, Default)]
struct Cell {
    calls: f64,
    /// Level of the recent calls.
    level: Level,
    /// The level at the last fit.
    fitted: Level,
    /// Estimate of the level from the other cells, at the latest fit.
    known: Option<Normal>,
    /// Number of calls and logarithm of the time of each recent batch, oldest first.
    recent: VecDeque<(f64, f64)>,
    /// The same batches, sorted by the logarithm.
    sorted: Vec<(f64, f64)>,
}

impl Cell {
    fn add(&mut self, (calls, ln_mean): (f64, f64), noise: &Noise) {
        self.calls = (self.calls + calls).min(MOST_CALLS);
        let oldest = self.recent.front().map_or(0.0, |(calls, _)| *calls);
        if self.recent.len() == RECENT && calls < LEAST_PART * oldest {
            return;
        }
        if self.recent.len() == RECENT
            && let Some(oldest) = self.recent.pop_front()
        {
            let place = self.sorted.iter().position(|batch| *batch == oldest);
            place.map(|place| self.sorted.remove(place));
        }
        self.recent.push_back((calls, ln_mean));
        let place = self.sorted.partition_point(|(_, other)| *other < ln_mean);
        self.sorted.insert(place, (calls, ln_mean));
        self.locate(noise);
    }

    fn locate(&mut self, noise: &Noise) {
        self.level = noise.level(&self.sorted, self.known);
    }

    /// Shifts the level by the logarithm of a factor. Earlier calls count as at most `most_calls` from now on.
    fn shift(&mut self, by: f64, most_calls: f64, noise: &Noise) {
        let calls = self.calls.min(most_calls);
        if calls > 0.0 {
            let ln_mean = self.level.likeliest + by;
            *self = Cell::default();
            self.add((calls, ln_mean), noise);
        }
    }

    /// Whether the level has moved since the last fit by more than the spread explains.
    fn has_moved(&self) -> bool {
        let off = self.level.likeliest - self.fitted.likeliest;
        off * off > MOVED * MOVED * (WOBBLE * WOBBLE + self.level.says.1)
    }

    /// Whether delayed calls may be the majority of the recent calls.
    fn is_doubtful(&self) -> bool {
        let all: f64 = self.recent.iter().map(|(calls, _)| calls).sum();
        self.recent.len() < LEAST_ROBUST || self.level.clean < PLAIN * all
    }
}

/// Summary of the calls of one class at one kind, for the next run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Kept {
    /// Number of recent calls.
    pub calls: f64,
    /// Median logarithm of their seconds.
    pub ln_s: f64,
}

/// Times of several classes at several sizes; each class and each call kind has a number from 0.
#[derive(Debug, Clone)]
pub struct Beliefs {
    kinds: Vec<Kind>,
    /// Relation of each kind to itself and to each one before it.
    pairs: Vec<Vec<Pair>>,
    /// Logarithms of the predictions of stored models, shape `[n_arms][n_kinds]`.
    stored: Vec<Vec<Option<f64>>>,
    /// Sum of the changes of each class's level, in logarithms, in which other classes have no part. Shape `[n_arms]`.
    pub(super) changed: Vec<f64>,
    /// Deviation of recent calls of any kind from their stored models, shape `[n_arms]`; empty once the models are rejected.
    off_stored: Vec<Cell>,
    /// Shape `[n_arms][n_kinds]`.
    cells: Vec<Vec<Cell>>,
    noise: Noise,
    /// Scales of the prior where no stored model exists.
    scales: Scales,
    /// Number of observed cells when the scales were last estimated; `None` if the scales are fixed.
    n_scaled: Option<usize>,
    posterior: Option<Arc<Posterior>>,
    /// Cached posterior for [`Self::look`].
    looked_at: Option<Arc<Posterior>>,
    /// Number of posteriors computed: they take nearly all of the time of a decision.
    #[cfg(test)]
    pub n_fits: usize,
}

impl Beliefs {
    /// Creates beliefs about `n_arms` classes without any calls, with fixed scales.
    pub fn new(n_arms: usize) -> Self {
        Beliefs {
            kinds: Vec::new(),
            pairs: Vec::new(),
            stored: vec![Vec::new(); n_arms],
            changed: vec![0.0; n_arms],
            off_stored: vec![Cell::default(); n_arms],
            cells: vec![Vec::new(); n_arms],
            noise: Noise::default(),
            scales: Scales::new(n_arms),
            n_scaled: None,
            posterior: None,
            looked_at: None,
            #[cfg(test)]
            n_fits: 0,
        }
    }

    /// Like [`Self::new`], but estimates the scales as well, which takes milliseconds with dozens of sizes.
    pub fn with_scales(n_arms: usize) -> Self {
        Beliefs {
            n_scaled: Some(0),
            ..Self::new(n_arms)
        }
    }

    /// Number of classes.
    pub fn n_arms(&self) -> usize {
        self.cells.len()
    }

    /// Number of call kinds.
    pub fn n_kinds(&self) -> usize {
        self.kinds.len()
    }

    /// Adds a call kind.
    ///
    /// # Arguments
    /// * `stored_s` - what the stored model of each class predicts for it, seconds, > 0; shape `[n_arms]`
    ///
    /// # Returns
    /// Its number.
    pub fn add_kind(&mut self, kind: Kind, stored_s: &[Option<f64>]) -> usize {
        self.kinds.push(kind);
        let new = self.kinds.len() - 1;
        self.pairs
            .push((0..=new).map(|other| self.pair(new, other)).collect());
        for (arm, stored) in self.stored.iter_mut().enumerate() {
            let known = stored_s.get(arm).copied().flatten();
            let known = known.filter(|_| !self.off_stored.is_empty());
            stored.push(known.filter(|s| *s > 0.0 && s.is_finite()).map(f64::ln));
        }
        for cells in &mut self.cells {
            cells.push(Cell::default());
        }
        self.forget_posterior();
        self.kinds.len() - 1
    }

    /// A known kind.
    pub fn kind(&self, kind: usize) -> &Kind {
        &self.kinds[kind]
    }

    /// The kind of a group with the nearest sizes.
    pub fn nearest(&self, group: usize, x: &[f64]) -> Option<usize> {
        let distance = |kind: &Kind| {
            let pairs = kind.x.iter().zip(x);
            pairs.map(|(a, b)| (a - b) * (a - b)).sum::<f64>()
        };
        let kinds = self.kinds.iter().enumerate();
        let of_group = kinds.filter(|(_, kind)| kind.group == group);
        let distances = of_group.map(|(place, kind)| (place, distance(kind)));
        let nearest = distances.min_by(|a, b| a.1.total_cmp(&b.1));
        nearest.map(|(place, _)| place)
    }

    /// Takes in calls of one class at one kind.
    ///
    /// # Arguments
    /// * `calls` - how many, > 0
    /// * `ln_mean` - mean logarithm of their time in seconds
    pub fn observe(&mut self, arm: usize, kind: usize, calls: f64, ln_mean: f64) {
        self.count(arm, kind, calls, ln_mean);
        self.believe((arm, kind), calls, (calls, ln_mean));
    }

    /// The part of [`Self::observe`] that updates the spread of calls, whether or not the calls also move the level.
    pub fn count(&mut self, arm: usize, kind: usize, calls: f64, ln_mean: f64) {
        let cell = &self.cells[arm][kind];
        if cell.calls > 0.0 {
            let off = ln_mean - cell.level.likeliest;
            self.noise.add(calls, off, cell.calls);
        }
    }

    /// The part of [`Self::observe`] that updates the time of the class; `counted` of the calls count as seen.
    pub fn believe(&mut self, (arm, kind): (usize, usize), counted: f64, batch: (f64, f64)) {
        let (calls, ln_mean) = batch;
        let cell = &mut self.cells[arm][kind];
        let before = cell.calls;
        cell.add((calls, ln_mean), &self.noise);
        cell.calls = (before + counted).min(MOST_CALLS);
        if let (Some(stored), Some(off)) = (self.stored[arm][kind], self.off_stored.get_mut(arm)) {
            off.add((calls, ln_mean - stored - self.changed[arm]), &self.noise);
        }
        let doubled = before == 0.0 || cell.calls.log2().floor() > before.log2().floor();
        if doubled || cell.has_moved() {
            self.forget_posterior();
        }
    }

    pub(super) fn noise(&self) -> &Noise {
        &self.noise
    }

    /// Standard deviation of a call about the mean of its kind, in logarithms.
    pub fn deviation(&self) -> f64 {
        self.noise.deviation()
    }

    /// Rejects all stored models if the ratio of a class's time to that of the first class contradicts their models.
    ///
    /// # Arguments
    /// * `calls` - number of calls of each of both classes that this needs
    ///
    /// # Returns
    /// The logarithm of the factor by which the ratio is off, if the models were rejected.
    pub fn drop_wrong_models(&mut self, arm: usize, calls: f64) -> Option<f64> {
        let [of_arm, of_first] = [arm, FIRST].map(|arm| self.off_stored.get(arm));
        let (of_arm, of_first) = of_arm.zip(of_first)?;
        let off = of_arm.level.likeliest - of_first.level.likeliest;
        let variance = 2.0 * OWN_STORED.variance();
        let is_seen = of_arm.calls >= calls && of_first.calls >= calls;
        if !is_seen || off.abs() < WRONG_MODELS * variance.sqrt() {
            return None;
        }
        self.off_stored.clear();
        self.stored
            .iter_mut()
            .flatten()
            .for_each(|stored| *stored = None);
        self.forget_posterior();
        Some(off)
    }

    /// Whether a class has neither calls nor a stored model.
    pub fn is_unknown(&self, arm: usize) -> bool {
        self.cells[arm].iter().all(|cell| cell.calls == 0.0)
            && self.stored[arm].iter().all(Option::is_none)
    }

    /// Whether a class has a stored model for at least one kind.
    pub fn is_stored(&self, arm: usize) -> bool {
        self.stored[arm].iter().any(Option::is_some)
    }

    /// Ratio of the seconds of a class to those of another one over calls of every kind.
    ///
    /// # Arguments
    /// * `calls` - number of calls of each kind
    pub fn ratio(&mut self, [arm, other]: [usize; 2], calls: &[f64]) -> Ratio {
        let posterior = self.posterior();
        let of = |arm: usize, kind: usize| calls[kind] * posterior.ln_mean(arm, kind).exp();
        let n_kinds = calls.len();
        let seconds = |arm: usize| (0..n_kinds).map(|kind| of(arm, kind)).sum::<f64>();
        let sums = [seconds(arm), seconds(other)];
        // Derivative of the logarithm of the ratio with respect to that of each kind.
        let gradient = |arm: usize, sum: f64| {
            DVector::from_fn(n_kinds, |kind, _| match sum > 0.0 {
                true => of(arm, kind) / sum,
                false => 0.0,
            })
        };
        let gradients = [gradient(arm, sums[0]), gradient(other, sums[1])];
        let mut variance = 0.0;
        for i in 0..n_kinds {
            for j in 0..n_kinds {
                let together = |a: usize, b: usize| self.covariance(&self.scales, (a, i), (b, j));
                let [g, h] = &gradients;
                variance += g[i] * g[j] * together(arm, arm) + h[i] * h[j] * together(other, other)
                    - (g[i] * h[j] + h[i] * g[j]) * together(arm, other);
            }
        }
        if let [Some(own), Some(of_other)] = [arm, other].map(|arm| posterior.told.get(arm)) {
            let told = own * &gradients[0] - of_other * &gradients[1];
            variance -= told.norm_squared();
        }
        Ratio {
            ln_mean: (sums[0] / sums[1]).ln(),
            deviation: (variance.max(0.0) + MEAN_NOISE * MEAN_NOISE).sqrt(),
        }
    }

    /// Observed calls of a class, at most [`MOST_CALLS`] per kind.
    pub fn calls(&self, arm: usize) -> f64 {
        self.cells[arm].iter().map(|cell| cell.calls).sum()
    }

    /// Observed calls of a class at a kind, at most [`MOST_CALLS`].
    pub fn calls_at(&self, arm: usize, kind: usize) -> f64 {
        self.cells[arm][kind].calls
    }

    /// Whether a class has enough batches at a kind to attribute a deviation to the calls rather than to the estimate.
    pub fn is_settled(&self, arm: usize, kind: usize) -> bool {
        self.cells[arm][kind].recent.len() >= LEAST_ROBUST
    }

    /// Logarithm of the time of the observed calls of a class at a kind, likeliest level; `None` before the first call.
    pub fn seen_ln(&self, arm: usize, kind: usize) -> Option<f64> {
        let cell = &self.cells[arm][kind];
        (cell.calls > 0.0).then_some(cell.level.likeliest)
    }

    /// Shifts a class's time at every kind.
    ///
    /// # Arguments
    /// * `by` - logarithm of the factor
    /// * `calls` - maximum weight of its earlier calls from now on
    pub fn shift(&mut self, arm: usize, by: f64, calls: f64) {
        for cell in &mut self.cells[arm] {
            cell.shift(by, calls, &self.noise);
        }
        self.changed[arm] += by;
        if let Some(off) = self.off_stored.get_mut(arm) {
            *off = Cell::default();
        }
        self.forget_posterior();
    }

    /// Forgets the calls of a class.
    pub fn forget(&mut self, arm: usize) {
        for cell in &mut self.cells[arm] {
            *cell = Cell::default();
        }
        self.forget_posterior();
    }

    /// Summary of a class at a kind for the next run; `None` before its first call.
    pub fn kept(&self, arm: usize, kind: usize) -> Option<Kept> {
        let cell = &self.cells[arm][kind];
        (cell.calls > 0.0).then_some(Kept {
            calls: cell.calls,
            ln_s: cell.level.likeliest,
        })
    }

    /// Takes in the summary of an earlier run.
    ///
    /// # Arguments
    /// * `most_calls` - maximum number of calls that it counts as
    pub fn recall(&mut self, arm: usize, kind: usize, kept: Kept, most_calls: f64) {
        let cell = &mut self.cells[arm][kind];
        *cell = Cell::default();
        let calls = kept.calls.clamp(1.0, most_calls);
        cell.add((calls, kept.ln_s), &self.noise);
        self.forget_posterior();
    }

    /// The posterior of each class at each kind.
    pub fn posterior(&mut self) -> Arc<Posterior> {
        let posterior = match self.posterior.take() {
            Some(known) => known,
            None => Arc::new(self.fit()),
        };
        Arc::clone(self.posterior.insert(posterior))
    }

    /// A posterior that no decision may use: it leaves [`Self::posterior`] unchanged, which must be the same on all ranks.
    pub fn look(&mut self) -> Arc<Posterior> {
        let known = self.posterior.clone().or_else(|| self.looked_at.take());
        let known = known.unwrap_or_else(|| Arc::new(self.solve(&self.seen())));
        Arc::clone(self.looked_at.insert(known))
    }

    fn forget_posterior(&mut self) {
        (self.posterior, self.looked_at) = (None, None);
    }

    /// The observed cells: pairs of class and kind.
    fn seen(&self) -> Vec<(usize, usize)> {
        (0..self.n_arms())
            .flat_map(|arm| (0..self.n_kinds()).map(move |kind| (arm, kind)))
            .filter(|&(arm, kind)| self.cells[arm][kind].calls > 0.0)
            .collect()
    }

    /// Cholesky factor of the covariance of the observed levels.
    fn factor(&self, seen: &[(usize, usize)], scales: &Scales) -> Option<Cholesky<f64, Dyn>> {
        let n = seen.len();
        let mut covariance = DMatrix::zeros(n, n);
        for j in 0..n {
            for i in j..n {
                covariance[(i, j)] = self.covariance(scales, seen[i], seen[j]);
            }
            let (arm, kind) = seen[j];
            covariance[(j, j)] += self.said_variance(arm, kind);
        }
        Cholesky::new(covariance)
    }

    /// Residuals of the observed levels from the prior.
    fn off(&self, seen: &[(usize, usize)]) -> DVector<f64> {
        DVector::from_fn(seen.len(), |i, _| {
            let (arm, kind) = seen[i];
            self.cells[arm][kind].level.says.0 - self.prior(arm, kind)
        })
    }

    /// Variance of the level of a class at a kind.
    fn said_variance(&self, arm: usize, kind: usize) -> f64 {
        self.cells[arm][kind].level.says.1 + MEAN_NOISE * MEAN_NOISE
    }

    /// Corrects levels that may be those of delayed calls by the estimates from all other cells (leave-one-out).
    fn judge(&mut self, seen: &[(usize, usize)]) {
        for &(arm, kind) in seen {
            self.cells[arm][kind].locate(&self.noise);
        }
        for _ in 0..ROUNDS {
            let is_doubtful = |(arm, kind): (usize, usize)| {
                let of_class = seen.iter().filter(|(other, _)| *other == arm);
                of_class.count() > LEAST_JUDGING && self.cells[arm][kind].is_doubtful()
            };
            let places = 0..seen.len();
            let doubtful: Vec<_> = places.filter(|place| is_doubtful(seen[*place])).collect();
            if doubtful.is_empty() {
                return;
            }
            let Some(cholesky) = self.factor(seen, &self.scales) else {
                return;
            };
            let off = self.off(seen);
            let solved = cholesky.solve(&off);
            let mut has_changed = false;
            for place in doubtful {
                let (arm, kind) = seen[place];
                let unit = DVector::from_fn(seen.len(), |i, _| f64::from(u8::from(i == place)));
                let precision = cholesky.solve(&unit)[place];
                let variance = 1.0 / precision - self.said_variance(arm, kind);
                let mean = off[place] - solved[place] / precision + self.prior(arm, kind);
                let cell = &mut self.cells[arm][kind];
                let before = cell.level;
                cell.known = Some((mean, variance.max(MEAN_NOISE * MEAN_NOISE)));
                cell.locate(&self.noise);
                let off = cell.level.says.0 - before.says.0;
                has_changed |= off * off > WOBBLE * WOBBLE + before.says.1.min(cell.level.says.1);
            }
            if !has_changed {
                return;
            }
        }
    }

    /// Logarithm of the posterior density of the scales: likelihood of the levels plus prior.
    fn ln_likelihood(&self, seen: &[(usize, usize)], off: &DVector<f64>, scales: &Scales) -> f64 {
        let Some(cholesky) = self.factor(seen, scales) else {
            return f64::NEG_INFINITY;
        };
        let off = DMatrix::from_column_slice(seen.len(), 1, off.as_slice());
        let ln_determinant: f64 = cholesky.l_dirty().diagonal().iter().map(|d| d.ln()).sum();
        scales.ln_prior() - 0.5 * half_solve(&cholesky, off).norm_squared() - ln_determinant
    }

    /// Finds the likeliest scales, once enough cells are new.
    fn scale(&mut self, seen: &[(usize, usize)], off: &DVector<f64>) {
        let Some(n_before) = self.n_scaled else {
            return;
        };
        if seen.len() < LEAST_SCALED || (seen.len() as f64) < SCALED_AGAIN * n_before as f64 {
            return;
        }
        self.n_scaled = Some(seen.len());
        let mut scales = self.scales.clone();
        scales.climb(|scales| self.ln_likelihood(seen, off, scales));
        self.scales = scales;
    }

    fn fit(&mut self) -> Posterior {
        #[cfg(test)]
        {
            self.n_fits += 1;
        }
        let seen = self.seen();
        self.judge(&seen);
        for &(arm, kind) in &seen {
            let cell = &mut self.cells[arm][kind];
            cell.fitted = cell.level;
        }
        let off = self.off(&seen);
        self.scale(&seen, &off);
        self.solve(&seen)
    }

    fn solve(&self, seen: &[(usize, usize)]) -> Posterior {
        let n = seen.len();
        let off = self.off(seen);
        let cholesky = self.factor(seen, &self.scales);
        let off = DMatrix::from_column_slice(n, 1, off.as_slice());
        let off = cholesky
            .as_ref()
            .map(|cholesky| half_solve(cholesky, off.clone()));
        let (n_arms, n_kinds) = (self.n_arms(), self.n_kinds());
        let mut posterior = Posterior {
            ln_mean: vec![vec![0.0; n_kinds]; n_arms],
            variance: Vec::with_capacity(n_arms),
            unknown: Vec::new(),
            told: Vec::new(),
        };
        for arm in 0..n_arms {
            let own = |i: usize, j: usize| self.covariance(&self.scales, (arm, i), (arm, j));
            let mut means = DVector::from_fn(n_kinds, |kind, _| self.prior(arm, kind));
            let told = match (&cholesky, &off) {
                (Some(cholesky), Some(off)) if n > 0 => {
                    let to_seen = DMatrix::from_fn(n, n_kinds, |i, kind| {
                        self.covariance(&self.scales, seen[i], (arm, kind))
                    });
                    let told = half_solve(cholesky, to_seen);
                    means += told.tr_mul(off).column(0);
                    Some(told)
                }
                _ => None,
            };
            posterior.ln_mean[arm].copy_from_slice(means.as_slice());
            let squares =
                |kind: usize| told.as_ref().map_or(0.0, |t| t.column(kind).norm_squared());
            let variances = (0..n_kinds).map(|kind| own(kind, kind) - squares(kind));
            posterior.variance.push(variances.collect());
            if self.n_scaled.is_some() {
                let prior = DMatrix::from_fn(n_kinds, n_kinds, own);
                posterior.unknown.push(match &told {
                    Some(told) => prior - told.tr_mul(told),
                    None => prior,
                });
            } else {
                posterior.told.extend(told);
            }
        }
        posterior
    }

    /// Prior mean: the stored model, else the mean of the other models, else a time that grows with each size.
    fn prior(&self, arm: usize, kind: usize) -> f64 {
        let changed = self.changed[arm];
        if let Some(stored) = self.stored[arm][kind] {
            return stored + changed;
        }
        let others = self.stored.iter().filter_map(|stored| stored[kind]);
        let (sum, n) = others.fold((0.0, 0.0), |(sum, n), value| (sum + value, n + 1.0));
        if n > 0.0 {
            return sum / n + changed;
        }
        let x = &self.kinds[kind].x;
        x.iter().sum::<f64>() / (x.len().max(1) as f64) + changed
    }

    /// Prior covariance of a class at one kind with a class at another.
    fn covariance(&self, scales: &Scales, (a, i): (usize, usize), (b, j): (usize, usize)) -> f64 {
        let is_stored = |arm: usize, kind: usize| self.stored[arm][kind].is_some();
        let any_stored = |kind: usize| self.stored.iter().any(|stored| stored[kind].is_some());
        let shared = match any_stored(i) && any_stored(j) {
            true => SHARED_STORED,
            false => scales.shared(),
        };
        let own = match (is_stored(a, i), is_stored(b, j)) {
            (true, true) => (a == b).then_some(OWN_STORED),
            _ if self.n_scaled.is_none() => (a == b && a != FIRST).then_some(OWN_OF_OTHERS),
            (false, false) => scales.own(a, b),
            _ => (a == b).then(|| scales.own(a, a)).flatten(),
        };
        let own = own.map_or(0.0, |own| self.together(&own, i, j));
        self.together(&shared, i, j) + own
    }

    /// Prior relation of one kind to another; sizes are relative to the group's first kind.
    fn pair(&self, i: usize, j: usize) -> Pair {
        let (one, other) = (&self.kinds[i], &self.kinds[j]);
        let origin = self.kinds.iter().find(|kind| kind.group == one.group);
        let origin = origin.map_or(&one.x, |kind| &kind.x);
        let (mut slopes, mut distance) = (0.0, 0.0);
        for ((x, y), from) in one.x.iter().zip(&other.x).zip(origin) {
            slopes += (x - from) * (y - from);
            distance += (x - y) * (x - y);
        }
        Pair {
            slopes: (one.group == other.group).then_some(slopes),
            near: REACHES.map(|reach| (-distance / (2.0 * reach * reach)).exp()),
        }
    }

    fn together(&self, spread: &Spread, i: usize, j: usize) -> f64 {
        let Pair { slopes, near } = self.pairs[i.max(j)][i.min(j)];
        let offset = spread.offset * spread.offset;
        let Some(slopes) = slopes else {
            return COMMON_TO_GROUPS * offset;
        };
        let smooth = spread.smooth * spread.smooth * near[spread.reach];
        let rough = if i == j { spread.rough } else { 0.0 };
        offset + spread.slope * spread.slope * slopes + smooth + rough * rough
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(size: f64) -> Kind {
        Kind {
            group: 0,
            x: vec![size.ln()],
        }
    }

    #[test]
    fn one_size_says_little_of_another() {
        let mut beliefs = Beliefs::new(2);
        let sizes = [100.0, 10_000.0];
        let kinds = sizes.map(|size| beliefs.add_kind(kind(size), &[None, None]));
        for kind in kinds {
            beliefs.observe(0, kind, 50.0, (sizes[kind] * 1e-9).ln());
        }
        beliefs.observe(1, kinds[0], 50.0, (sizes[0] * 0.5e-9).ln());
        let posterior = beliefs.posterior();
        let ratio = |kind| (posterior.ln_mean(1, kind) - posterior.ln_mean(0, kind)).exp();
        assert!((ratio(0) - 0.5).abs() < 0.03, "{}", ratio(0));
        assert!((0.45..0.75).contains(&ratio(1)), "{}", ratio(1));
        let deviation = |kind| posterior.variance(1, kind).sqrt();
        assert!(deviation(0) < 0.05, "{}", deviation(0));
        assert!(deviation(1) > 0.5, "{}", deviation(1));
    }

    #[test]
    fn a_stored_model_is_believed_until_calls_say_otherwise() {
        let mut beliefs = Beliefs::new(2);
        let place = beliefs.add_kind(kind(100.0), &[Some(1e-3), Some(2e-3)]);
        let ratio = |beliefs: &mut Beliefs| {
            let posterior = beliefs.posterior();
            (posterior.ln_mean(1, place) - posterior.ln_mean(0, place)).exp()
        };
        assert!((ratio(&mut beliefs) - 2.0).abs() < 1e-9);
        beliefs.observe(0, place, 100.0, 1e-3_f64.ln());
        beliefs.observe(1, place, 100.0, 0.5e-3_f64.ln());
        let found = ratio(&mut beliefs);
        assert!((0.45..0.65).contains(&found), "{found}");
    }

    /// Beliefs after calls of four classes at 24 sizes; the third class was not called at the last one.
    ///
    /// # Arguments
    /// * `ln_ratio` - deviation of a class at a size's number from proportional growth
    fn after_24_sizes(ln_ratio: impl Fn(usize, usize) -> f64) -> Beliefs {
        let mut beliefs = Beliefs::with_scales(4);
        for number in 0..24 {
            let size = 2.0_f64.powf(4.0 + 0.3 * number as f64);
            let place = beliefs.add_kind(kind(size), &[None; 4]);
            for arm in (0..4).filter(|arm| (*arm, number) != (2, 23)) {
                let ln_mean = (1e-9 * size).ln() + ln_ratio(arm, number);
                beliefs.observe(arm, place, 50.0, ln_mean);
            }
        }
        beliefs
    }

    /// Jumps from size to size.
    fn rough(number: usize) -> f64 {
        0.5 * (7.0 * (number * number) as f64).sin()
    }

    #[test]
    fn how_far_sizes_differ_is_told_by_those_seen() {
        let deviation = |mut beliefs: Beliefs| beliefs.posterior().variance(2, 23).sqrt();
        let smooth = after_24_sizes(|arm, _| 0.2 * arm as f64);
        let jumping = after_24_sizes(|arm, number| rough(number + 100 * arm));
        let (smooth, jumping) = (deviation(smooth), deviation(jumping));
        assert!(smooth < 0.1, "{smooth}");
        assert!((0.25..1.0).contains(&jumping), "{jumping}");
    }

    #[test]
    fn of_two_classes_that_are_alike_one_tells_of_the_other() {
        // The second and the third class jump alike; the first and the fourth share other jumps.
        let mut beliefs = after_24_sizes(|arm, number| match arm {
            1 | 2 => 0.3 * arm as f64 + rough(number),
            _ => rough(number + 100),
        });
        let posterior = beliefs.posterior();
        let found = posterior.ln_mean(2, 23) - posterior.ln_mean(1, 23);
        assert!((found - 0.3).abs() < 0.1, "{found}");
        let deviation = posterior.variance(2, 23).sqrt();
        assert!(deviation < 0.2, "{deviation}");
    }

    #[test]
    fn a_spike_moves_no_mean() {
        let mut beliefs = Beliefs::new(1);
        let place = beliefs.add_kind(kind(10.0), &[None]);
        for _ in 0..20 {
            beliefs.observe(0, place, 1.0, 0.0);
        }
        beliefs.observe(0, place, 1.0, 10.0);
        let mean = beliefs.seen_ln(0, place).expect("calls");
        assert!(mean < 0.03, "{mean}");
    }

    /// Thousands of short calls between two decisions.
    #[test]
    fn more_calls_than_a_mean_counts_for_do_not_carry_it_beyond_them() {
        let mut beliefs = Beliefs::new(1);
        let place = beliefs.add_kind(kind(10.0), &[None]);
        for turn in 0..100 {
            let off = if turn % 2 == 0 { 0.02 } else { -0.02 };
            beliefs.observe(0, place, 5000.0, off);
            let mean = beliefs.seen_ln(0, place).expect("calls");
            assert!(mean.abs() <= 0.02, "{turn}: {mean}");
        }
    }
}

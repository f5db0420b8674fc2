//! Estimates the state of the machine in a step: the factor by which all calls are slower than usual at the moment.
//!
//! Each instance shows by how much its calls of the step differ from their usual time. Their common part is the state
//! of the machine, which may be of any size: another tenant of the machine slows all calls down several times. What
//! remains of one instance belongs to that instance.
//!
//! ```text
//! r_i = m + e_i     r_i: logarithm of how much slower than usual instance i runs
//! e_i  ~ (1 − p_i) N(0, σ_i²/calls + ω² + s²) + p_i / 8          noise and delays of the instance ([`noise`](super::noise))
//! m    ~ 0.8 N(m before, ω²) + 0.15 N(0, ω²) + 0.05 U(−8, 8)     it lasts, ends, or is a new one
//! s    one of 0, 0.1, 0.3, 1                                     the state slows calls down unequally
//! ```
//!
//! The posterior of `m` and `s` is a mixture of normal numbers (Laplace's approximation at each local maximum). For a
//! site, the others' residuals determine the maxima, and its own one only their weights: a site that has changed
//! itself does not hide that, and in a pair of instances that differ, neither counts as the machine.
//!
//! ```text
//! others at 2.0, 2.1 and 2.0     a site at 2.05: m = 2.03, nothing remains     a site at 4: m = 2.03, it is 2 slower
//! the other at 2.0               a site at 2.0: m = 2.0                        a site at 0: m = 0
//! the other at 2.0               a site without usual times: m = 1 ± 1
//! ```

use std::f64::consts::TAU;

use super::noise::{Noise, RANGE, WOBBLE};

/// Probabilities that the state lasts for another step, that the usual one returns, and that another one begins.
/// Arbitrary: states last for some steps, and a run of some hundred steps sees several.
const LASTS: f64 = 0.8;
const RETURNS: f64 = 0.15;
const BEGINS: f64 = 0.05;

/// Standard deviations of how unequally a state slows down the instances, and their probabilities. Arbitrary: from
/// equal to anything.
const UNEQUAL: [(f64, f64); 4] = [(0.0, 0.8), (0.1, 0.1), (0.3, 0.07), (1.0, 0.03)];

/// Probability of being undelayed from which on a residual needs no other explanation. Arbitrary.
const CLEAN: f64 = 0.75;

/// Standard deviation of the logarithm of a time up to which calls distinguish classes. Arbitrary: two classes with the
/// ratio that a trial seeks, 1.35.
const TELLING: f64 = 0.3;

/// Steps towards a maximum; three are as good as ten.
const ROUNDS: usize = 3;

/// Weight of earlier steps in an instance's noise, in steps. Arbitrary: it is then known to 15 %.
const KNOWN: f64 = 50.0;

/// Deviation of an instance from its usual time in a step.
#[derive(Debug, Clone, Copy)]
pub struct Residual {
    /// Number of the instance.
    pub instance: usize,
    pub calls: f64,
    /// Logarithm of how much slower than usual they were.
    pub ln: f64,
}

/// State of the machine in a step, for one instance.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct State {
    /// Logarithm of the factor by which calls are slower.
    pub ln: f64,
    /// Variance of that factor's logarithm for the calls of the instance, beyond the usual one.
    pub variance: f64,
    /// Whether other instances show it; otherwise it is assumed to be the usual one.
    pub is_seen: bool,
}

impl State {
    /// Number of calls that count as seen: half of them where the instances differ by [`TELLING`].
    pub fn counted(&self, calls: f64) -> f64 {
        calls / (1.0 + self.variance / (TELLING * TELLING))
    }

    /// Number of undisturbed calls with as much information as some calls in this state.
    pub fn worth(&self, calls: f64, noise: &Noise) -> f64 {
        match self.variance > 0.0 {
            true => calls / (1.0 + calls * self.variance / noise.variance()),
            false => calls,
        }
    }
}

/// The state before and the noise of each instance, by its number.
#[derive(Debug, Default)]
pub struct Machine {
    before: f64,
    noises: Vec<Noise>,
}

/// A local maximum of the posterior.
struct Mode {
    ln: f64,
    /// Variance of the state, and of the instances about it.
    variance: f64,
    unequal: f64,
    ln_weight: f64,
}

impl Machine {
    /// State of the machine for the instances that are `own`; the usual one if there are no others.
    ///
    /// # Arguments
    /// * `residuals` - of all instances whose usual time is known
    pub fn state(&self, residuals: &[Residual], is_own: impl Fn(usize) -> bool) -> State {
        let (own, others): (Vec<_>, Vec<_>) = residuals.iter().partition(|r| is_own(r.instance));
        if others.is_empty() {
            return State::default();
        }
        let usual = [(LASTS, self.before), (RETURNS, 0.0)];
        for (_, center) in usual {
            let (ln, precision) = self.climb(&others, center, Some(center), 0.0);
            if others.iter().all(|r| self.clean(r, ln, 0.0) > CLEAN) {
                return state_of(ln, 1.0 / precision);
            }
        }
        // Of one instance nothing shows whether the machine or itself is slower.
        if let ([other], true) = (&others[..], own.is_empty()) {
            let half = 0.5 * other.ln;
            return state_of(half, half * half);
        }
        let mut modes: Vec<Mode> = Vec::new();
        for (unequal, probability) in UNEQUAL {
            let mut add = |begin: f64, center: Option<f64>, ln_prior: f64| {
                let (ln, precision) = self.climb(&others, begin, center, unequal);
                let off = center.map_or(0.0, |center| ln - center);
                let density = |r: &&Residual| {
                    self.noise(r.instance)
                        .ln_density(r.calls, r.ln - ln, unequal * unequal)
                };
                let densities = others.iter().chain(&own).map(density);
                modes.push(Mode {
                    ln,
                    variance: 1.0 / precision,
                    unequal,
                    ln_weight: ln_prior + probability.ln() - 0.5 * off * off / (WOBBLE * WOBBLE)
                        + densities.sum::<f64>()
                        + 0.5 * (TAU / precision).ln(),
                });
            };
            for (probability, center) in usual {
                let ln_peak = -0.5 * (TAU * WOBBLE * WOBBLE).ln();
                add(center, Some(center), probability.ln() + ln_peak);
            }
            let begins = (BEGINS / (2.0 * RANGE)).ln() - (others.len() as f64).ln();
            for residual in &others {
                add(residual.ln, None, begins);
            }
        }
        mixed(&modes)
    }

    /// Takes in the residuals of a step.
    ///
    /// # Arguments
    /// * `state` - the state of all instances together
    pub fn learn(&mut self, residuals: &[Residual], state: State) {
        self.before = state.ln;
        for residual in residuals {
            if self.noises.len() <= residual.instance {
                self.noises.resize(residual.instance + 1, Noise::default());
            }
            let noise = &mut self.noises[residual.instance];
            let calls = state.worth(residual.calls, noise);
            noise.add(calls, residual.ln - state.ln, KNOWN * calls);
        }
    }

    /// [`State::worth`] of calls of an instance.
    pub fn worth(&self, state: State, instance: usize, calls: f64) -> f64 {
        state.worth(calls, &self.noise(instance))
    }

    fn noise(&self, instance: usize) -> Noise {
        self.noises.get(instance).cloned().unwrap_or_default()
    }

    fn clean(&self, residual: &Residual, ln: f64, unequal: f64) -> f64 {
        let noise = self.noise(residual.instance);
        noise.clean(residual.calls, residual.ln - ln, unequal * unequal)
    }

    /// Maximum near `begin` and its precision, given the others' residuals.
    ///
    /// # Arguments
    /// * `center` - mean of the prior, if it is normal
    fn climb(
        &self,
        others: &[&Residual],
        begin: f64,
        center: Option<f64>,
        unequal: f64,
    ) -> (f64, f64) {
        let of_prior = center.map_or(1e-3, |_| 1.0 / (WOBBLE * WOBBLE));
        let (mut ln, mut precision) = (begin, of_prior);
        for _ in 0..ROUNDS {
            precision = of_prior;
            let mut sum = of_prior * center.unwrap_or(ln);
            for residual in others {
                let spread = self.noise(residual.instance).spread(residual.calls);
                let weight = self.clean(residual, ln, unequal) / (spread + unequal * unequal);
                precision += weight;
                sum += weight * residual.ln;
            }
            ln = sum / precision;
        }
        (ln, precision)
    }
}

/// The noise of the site's calls contains [`WOBBLE`] already.
fn state_of(ln: f64, variance: f64) -> State {
    State {
        ln,
        variance: (variance - WOBBLE * WOBBLE).max(0.0),
        is_seen: true,
    }
}

/// Mean and variance of a mixture.
fn mixed(modes: &[Mode]) -> State {
    let most = modes.iter().map(|mode| mode.ln_weight);
    let most = most.fold(f64::NEG_INFINITY, f64::max);
    let weight = |mode: &Mode| (mode.ln_weight - most).exp();
    let all: f64 = modes.iter().map(weight).sum();
    let mean = modes.iter().map(|m| weight(m) * m.ln).sum::<f64>() / all;
    let variance = modes.iter().map(|mode| {
        let off = mode.ln - mean;
        weight(mode) * (off * off + mode.variance + mode.unequal * mode.unequal)
    });
    state_of(mean, variance.sum::<f64>() / all)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// State for the first instance, of which the usual noise is known.
    fn state(residuals: &[f64]) -> State {
        let of = |all: &[f64]| {
            let all = all.iter().enumerate();
            let all = all.map(|(instance, ln)| Residual {
                instance,
                calls: 5.0,
                ln: *ln,
            });
            all.collect::<Vec<_>>()
        };
        let mut machine = Machine::default();
        for step in 0..50 {
            let wobble = |at: usize| 0.05 * ((step * 7 + at * 3) as f64).sin();
            let usual: Vec<_> = (0..residuals.len()).map(wobble).collect();
            let usual = of(&usual);
            let found = machine.state(&usual, |_| false);
            machine.learn(&usual, found);
        }
        machine.state(&of(residuals), |instance| instance == 0)
    }

    #[test]
    fn what_all_have_in_common_is_the_machine() {
        let found = state(&[2.05, 2.0, 2.1, 2.0]);
        assert!((found.ln - 2.03).abs() < 0.05, "{found:?}");
        let found = state(&[4.0, 2.0, 2.1, 2.0]);
        assert!((found.ln - 2.03).abs() < 0.05, "{found:?}");
        // Its calls may have come before the state began.
        let found = state(&[-0.02, 2.0, 2.1, 2.0]);
        assert!(found.variance > 0.5, "{found:?}");
        let found = state(&[0.0, 0.01, 3.0, 0.0]);
        assert!(found.ln.abs() < 0.05 && found.variance < 0.01, "{found:?}");
        assert_eq!(state(&[2.0]), State::default());
    }

    #[test]
    fn of_two_that_differ_neither_is_the_machine() {
        let found = state(&[2.0, 2.0]);
        assert!((found.ln - 2.0).abs() < 0.15, "{found:?}");
        let found = state(&[0.0, 2.0]);
        assert!(found.ln.abs() < 0.15, "{found:?}");
        let found = state(&[2.0, 0.0]);
        assert!(found.ln.abs() < 0.05, "{found:?}");
    }

    #[test]
    fn where_it_slows_calls_down_unequally_they_are_worth_little() {
        let found = state(&[1.5, 2.4, 1.7, 2.5, 1.8]);
        assert!((found.ln - 2.0).abs() < 0.3, "{found:?}");
        assert!((0.02..0.5).contains(&found.variance), "{found:?}");
        let noise = Noise::of(0.05);
        assert!(found.worth(10.0, &noise) < 0.5);
    }
}

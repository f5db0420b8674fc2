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
//! itself does not hide that, and in a pair of instances that differ, neither counts as the machine. The maxima are
//! found once for all sites ([`Maxima`]); for each, the part of its own residual is subtracted from their sums.
//!
//! ```text
//! others at 2.0, 2.1 and 2.0     a site at 2.05: m = 2.03, nothing remains     a site at 4: m = 2.03, it is 2 slower
//! the other at 2.0               a site at 2.0: m = 2.0                        a site at 0: m = 0
//! the other at 2.0               a site without usual times: m = 1 ± 1
//! ```

use std::f64::consts::TAU;

use super::noise::{Density, Noise, RANGE, WOBBLE};

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

/// Residual of an instance, and its distribution about the state.
struct Observed<'a> {
    residual: &'a Residual,
    density: Density,
}

/// A local maximum of the posterior.
struct Mode {
    ln: f64,
    precision: f64,
    unequal: f64,
    ln_weight: f64,
    /// Weight of each residual in the precision, shape `[n_residuals]`.
    weights: Vec<f64>,
    /// The residual at which the search began, if it is not one of the usual states.
    begun_at: Option<usize>,
}

/// Local maxima of the posterior of the state in a step, given all residuals.
pub struct Maxima<'a> {
    residuals: &'a [Residual],
    /// The maximum near the state before or the usual one, if that explains all residuals.
    plain: Option<Mode>,
    /// Otherwise all of them.
    modes: Vec<Mode>,
    machine: &'a Machine,
}

impl Maxima<'_> {
    /// State of the machine for the instances that are `own`; the usual one if there are no others.
    pub fn state(&self, is_own: impl Fn(usize) -> bool) -> State {
        let is_own = |place: usize| is_own(self.residuals[place].instance);
        let places = 0..self.residuals.len();
        let (own, others): (Vec<usize>, Vec<usize>) = places.partition(|place| is_own(*place));
        if others.is_empty() {
            return State::default();
        }
        if let Some(plain) = &self.plain {
            let (ln, precision) = plain.without(&own, self.residuals);
            return state_of(ln, 1.0 / precision);
        }
        let others: Vec<_> = others.iter().map(|place| &self.residuals[*place]).collect();
        if let Some(plain) = self.machine.plain(&others) {
            return state_of(plain.ln, 1.0 / plain.precision);
        }
        // Of one instance nothing shows whether the machine or itself is slower.
        if let ([other], true) = (&others[..], own.is_empty()) {
            let half = 0.5 * other.ln;
            return state_of(half, half * half);
        }
        let ln_others = (others.len() as f64).ln();
        let modes = self
            .modes
            .iter()
            .filter(|mode| mode.begun_at.is_none_or(|place| !is_own(place)));
        let modes = modes.map(|mode| {
            let (ln, precision) = mode.without(&own, self.residuals);
            let off = ln - mode.ln;
            // The density at the maximum without the own residual, of all residuals.
            let ln_peak = mode.ln_weight - 0.5 * mode.precision * off * off;
            let of_prior = mode.begun_at.map_or(0.0, |_| -ln_others);
            Part {
                ln,
                variance: 1.0 / precision + mode.unequal * mode.unequal,
                ln_weight: ln_peak + of_prior + 0.5 * (TAU / precision).ln(),
            }
        });
        mixed(&modes.collect::<Vec<_>>())
    }
}

impl Mode {
    /// The maximum without some residuals, and its precision.
    fn without(&self, own: &[usize], residuals: &[Residual]) -> (f64, f64) {
        let (mut sum, mut precision) = (self.precision * self.ln, self.precision);
        for place in own {
            let weight = self.weights[*place];
            precision -= weight;
            sum -= weight * residuals[*place].ln;
        }
        (sum / precision, precision)
    }
}

/// A normal number in a mixture.
struct Part {
    ln: f64,
    variance: f64,
    ln_weight: f64,
}

impl Machine {
    /// Maxima of the posterior of the state in a step.
    ///
    /// # Arguments
    /// * `residuals` - of all instances whose usual time is known
    pub fn maxima<'a>(&'a self, residuals: &'a [Residual]) -> Maxima<'a> {
        let all: Vec<_> = residuals.iter().collect();
        let plain = self.plain(&all);
        let modes = match plain {
            Some(_) => Vec::new(),
            None => self.modes(&all),
        };
        Maxima {
            residuals,
            plain,
            modes,
            machine: self,
        }
    }

    /// The maximum near the state before or the usual one, if that explains all residuals.
    fn plain(&self, residuals: &[&Residual]) -> Option<Mode> {
        let observed = self.observed(residuals, 0.0);
        let modes = [self.before, 0.0]
            .into_iter()
            .map(|center| climb(&observed, center, Some(center), 0.0));
        let explains = |mode: &Mode| {
            let mut all = observed.iter();
            all.all(|of| of.density.clean(of.residual.ln - mode.ln) > CLEAN)
        };
        let mut modes = modes.filter(explains);
        modes.next()
    }

    fn modes(&self, residuals: &[&Residual]) -> Vec<Mode> {
        let ln_peak = -0.5 * (TAU * WOBBLE * WOBBLE).ln();
        let mut modes: Vec<Mode> = Vec::new();
        for (unequal, probability) in UNEQUAL {
            let observed = self.observed(residuals, unequal);
            let mut add = |begin: f64, center: Option<f64>, ln_prior: f64| {
                let mut mode = climb(&observed, begin, center, unequal);
                let off = center.map_or(0.0, |center| mode.ln - center);
                let densities = observed.iter();
                let densities = densities.map(|of| of.density.ln(of.residual.ln - mode.ln));
                mode.ln_weight = ln_prior + probability.ln() - 0.5 * off * off / (WOBBLE * WOBBLE)
                    + densities.sum::<f64>();
                modes.push(mode);
            };
            for (probability, center) in [(LASTS, self.before), (RETURNS, 0.0)] {
                add(center, Some(center), probability.ln() + ln_peak);
            }
            let begins = (BEGINS / (2.0 * RANGE)).ln();
            residuals
                .iter()
                .for_each(|residual| add(residual.ln, None, begins));
            let of_usual = modes.len() - residuals.len();
            for (place, mode) in modes[of_usual..].iter_mut().enumerate() {
                mode.begun_at = Some(place);
            }
        }
        modes
    }

    fn observed<'a>(&self, residuals: &[&'a Residual], unequal: f64) -> Vec<Observed<'a>> {
        let observed = residuals.iter().map(|residual| {
            let noise = self.noise(residual.instance);
            Observed {
                residual,
                density: noise.density(residual.calls, unequal * unequal),
            }
        });
        observed.collect()
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
}

/// Maximum near `begin`, given the residuals.
///
/// # Arguments
/// * `center` - mean of the prior, if it is normal
fn climb(observed: &[Observed<'_>], begin: f64, center: Option<f64>, unequal: f64) -> Mode {
    let of_prior = center.map_or(1e-3, |_| 1.0 / (WOBBLE * WOBBLE));
    let (mut ln, mut precision) = (begin, of_prior);
    let mut weights = vec![0.0; observed.len()];
    for _ in 0..ROUNDS {
        precision = of_prior;
        let mut sum = of_prior * center.unwrap_or(ln);
        for (of, weight) in observed.iter().zip(&mut weights) {
            let clean = of.density.clean(of.residual.ln - ln);
            *weight = clean / of.density.variance;
            precision += *weight;
            sum += *weight * of.residual.ln;
        }
        ln = sum / precision;
    }
    Mode {
        ln,
        precision,
        unequal,
        ln_weight: 0.0,
        weights,
        begun_at: None,
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
fn mixed(parts: &[Part]) -> State {
    let most = parts.iter().map(|part| part.ln_weight);
    let most = most.fold(f64::NEG_INFINITY, f64::max);
    let weight = |part: &Part| (part.ln_weight - most).exp();
    let all: f64 = parts.iter().map(weight).sum();
    let mean = parts.iter().map(|part| weight(part) * part.ln).sum::<f64>() / all;
    let variance = parts.iter().map(|part| {
        let off = part.ln - mean;
        weight(part) * (off * off + part.variance)
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
            let found = machine.maxima(&usual).state(|_| false);
            machine.learn(&usual, found);
        }
        machine
            .maxima(&of(residuals))
            .state(|instance| instance == 0)
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

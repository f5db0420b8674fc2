//! The state of the machine in each run: quiet, or busy with something else.
//!
//! The figures of a component are chosen so that other work hardly changes them ([`panel`](super::panel)). The
//! remaining disturbances affect many components at once, for minutes or for an afternoon, but not equally: one by
//! nothing, another by three times as much. So they cannot be subtracted; a run counts less for a component the more
//! the *other* components deviated in it.
//!
//! ```text
//! s_r    weighed median over the other components of their deviation from their median
//! g_r    how many times their usual noise the other components deviate, at least 1
//! u_r    by how much the component itself was off in the runs where the others were off by s_r or more, but at least s_r
//! w_r    by how much it was off in the runs that waited for a processor as much as this one or more, but at most by as much as this
//!        one waited more than usual: a slower component may make a run wait
//! noise of the run: sqrt((g_r sigma)^2 + u_r^2 + w_r^2)
//! ```
//!
//! A program of one or two components has no others; there only `w_r` reveals a busy machine.

use super::noise::{self, median};

/// Minimum number of other components for an estimate of the state.
pub(super) const MIN_OTHERS: usize = 2;

/// Components differ by this factor in how much they are disturbed (seen): this factor is assumed until there
/// are two such runs.
const SUFFERS: f64 = 3.0;

/// Least scale of a component among those that show the state, a logarithm: that one repeats itself better makes it no better a witness, as others
/// suffer otherwise.
const WITNESS_SCALE: f64 = 0.01;

/// Standard errors by which the median of the others must be off to be off.
const SURE: f64 = 2.0;

/// Standard error of a median of normal noise relative to that of a mean.
const OF_MEDIAN: f64 = 1.2533;

/// Median of the absolute normal distribution of standard deviation 1.
const HALF_NORMAL: f64 = 0.674_49;

/// How many components of usual noise are counted with those that show how noisy a run is. Arbitrary.
const USUAL_OTHERS: f64 = 4.0;

/// How much the others are off, or a run waited, from which a run may be off by it, a logarithm: half of the smallest change that matters.
const MIN_DEVIATION: f64 = 0.01;

/// Width of a class of runs that are off, or waited, as much, a logarithm. Arbitrary.
const CLASS: f64 = 0.25;

/// Effects or another figure, by run; `None` in runs without it.
pub(super) type ByRun = Vec<Option<f64>>;

/// Indicators of the machine's state.
#[derive(Debug)]
pub(super) struct State {
    /// Components, each against its usual.
    components: Vec<Witness>,
    /// By how much more than usual the logarithm of ready time over time on a processor is.
    waiting: Vec<f64>,
}

/// A component that shows the machine's state.
#[derive(Debug)]
struct Witness {
    deviations: ByRun,
    scale: f64,
}

/// Effect of the machine's state on a series.
pub(super) struct Noise {
    /// Its contribution to the deviation of each run.
    pub(super) unlike: Vec<f64>,
    /// Deviation in quiet runs; `None` of too few.
    pub(super) scale: Option<f64>,
}

impl State {
    /// # Arguments
    /// * `components` - effects of each over the same runs
    /// * `shares` - of the processor that each run got, 0 to 1
    pub(super) fn new(components: &[ByRun], shares: &[f64]) -> Self {
        let witness = |values: &ByRun| {
            let known: Vec<f64> = values.iter().flatten().copied().collect();
            let usual = median(known.iter().copied());
            let scale = noise::from_run_to_run(&known).unwrap_or(f64::INFINITY);
            Witness {
                deviations: values.iter().map(|x| Some((*x)? - usual)).collect(),
                scale: scale.max(WITNESS_SCALE),
            }
        };
        let waiting: Vec<f64> = shares.iter().map(|share| -share.ln()).collect();
        let usual = median(waiting.iter().copied());
        Self {
            components: components.iter().map(witness).collect(),
            waiting: waiting.iter().map(|x| (x - usual).max(0.0)).collect(),
        }
    }

    /// How much slower than usual the components were in a run, a logarithm; `None` if there are too few.
    pub(super) fn machine(&self, run: usize) -> Option<f64> {
        let seen = self.seen(None, run);
        (seen.len() > MIN_OTHERS).then(|| weighed_median(seen))
    }

    /// Deviation and scale of the components but one.
    fn seen(&self, without: Option<usize>, run: usize) -> Vec<(f64, f64)> {
        let others = self.components.iter().enumerate();
        let others = others.filter(|(of, _)| Some(*of) != without);
        let seen = others.filter_map(|(_, of)| Some((of.deviations[run]?, of.scale)));
        seen.filter(|(_, scale)| scale.is_finite()).collect()
    }

    /// The machine's state as all components but one see it.
    pub(super) fn others(&self, component: usize) -> Others<'_> {
        let of_run = |run: usize| {
            let seen = self.seen(Some(component), run);
            if seen.len() < MIN_OTHERS {
                return (0.0, 1.0);
            }
            let precision: f64 = seen.iter().map(|(_, scale)| scale.powi(-2)).sum();
            let error = SURE * OF_MEDIAN / precision.sqrt();
            let n = seen.len() as f64;
            let times = seen.iter().map(|(off, scale)| (off / scale).abs());
            let times = median(times) / HALF_NORMAL;
            let noisy = (n * times * times + USUAL_OTHERS) / (n + USUAL_OTHERS);
            let off = weighed_median(seen);
            let off = (off * off - error * error).max(0.0).sqrt();
            (off, noisy.sqrt().max(1.0))
        };
        Others {
            seen: (0..self.waiting.len()).map(of_run).collect(),
            waiting: &self.waiting,
        }
    }
}

/// The machine's state without a component.
pub(super) struct Others<'s> {
    /// By run how much the others were off, and how many times as noisy as usual.
    seen: Vec<(f64, f64)>,
    waiting: &'s [f64],
}

impl Others<'_> {
    /// The noise of a series of the component.
    ///
    /// # Arguments
    /// * `runs` - the runs of the series
    /// * `suffers` - largest part of the waiting for a processor that may be contained in the
    ///   component's time, 0 to 1
    pub(super) fn noise(&self, runs: &[usize], values: &[f64], suffers: f64) -> Noise {
        let pairs = runs.iter().zip(values);
        let quiet: Vec<f64> = pairs
            .filter(|(run, _)| self.seen[**run].0 == 0.0)
            .map(|(_, x)| *x)
            .collect();
        let scale = noise::between_runs(&quiet).or_else(|| noise::between_runs(values));
        let usual = median(values.iter().copied());
        let off: Vec<f64> = values.iter().map(|x| (x - usual).abs()).collect();
        let of = |figure: &dyn Fn(usize) -> f64, prior: f64| {
            let figure: Vec<f64> = runs.iter().map(|run| figure(*run)).collect();
            in_such_runs(&figure, &off, prior, scale.unwrap_or(0.0))
        };
        let seen = of(&|run| self.seen[run].0, SUFFERS);
        let waited = of(&|run| self.waiting[run], suffers);
        // Nothing is off by more than the run waited.
        let pairs = waited.iter().zip(runs);
        let waited: Vec<f64> = pairs
            .map(|(off, run)| off.min(suffers * self.waiting[*run]))
            .collect();
        let unlike = |(place, run): (usize, &usize)| {
            let noisy = self.seen[*run].1;
            let noise = scale.unwrap_or(0.0) * (noisy * noisy - 1.0).sqrt();
            let seen = seen[place].max(self.seen[*run].0);
            noise.hypot(seen).hypot(waited[place])
        };
        Noise {
            unlike: runs.iter().enumerate().map(unlike).collect(),
            scale,
        }
    }
}

/// For each run, the deviation beyond its noise of a component in the runs with at least as large a figure; 0 for a
/// small figure.
///
/// # Arguments
/// * `off` - absolute deviation in each run
/// * `prior` - deviation that is assumed at first for a run with a figure of 1; it counts as one
///   run
fn in_such_runs(figure: &[f64], off: &[f64], prior: f64, scale: f64) -> Vec<f64> {
    let class = |x: f64| (x / MIN_DEVIATION).ln() / CLASS;
    let n_classes = figure.iter().fold(0.0_f64, |n, x| n.max(class(*x) + 1.0));
    let of_class = |of: usize| {
        let such = figure.iter().zip(off);
        let such = such.filter(|(x, _)| class(**x) >= of as f64);
        let first = prior * MIN_DEVIATION * (CLASS * (of as f64 + 0.5)).exp();
        let off = median(such.map(|(_, off)| *off).chain([first])) / HALF_NORMAL;
        (off * off - scale * scale).max(0.0).sqrt()
    };
    let classes: Vec<f64> = (0..n_classes as usize).map(of_class).collect();
    let of_run = |x: &f64| match *x >= MIN_DEVIATION {
        true => classes.get(class(*x) as usize).copied().unwrap_or(0.0),
        false => 0.0,
    };
    figure.iter().map(of_run).collect()
}

/// Median of values, weighed by one over the square of their scale; 0 of none.
fn weighed_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let weight = |scale: f64| scale.powi(-2);
    let half = 0.5 * values.iter().map(|(_, scale)| weight(*scale)).sum::<f64>();
    let mut below = 0.0;
    for (value, scale) in values {
        below += weight(scale);
        if below >= half {
            return value;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::generator::Generator;

    /// Components that suffer by other factors; the machine is busy from run 40 to 60.
    fn busy(factors: &[f64], busy: f64) -> Vec<ByRun> {
        let mut random = Generator::new(8);
        let component = |factor: &f64| {
            let runs = (0..80).map(|run| {
                let state = if (40..60).contains(&run) { busy } else { 0.0 };
                Some(factor * state + 0.01 * random.normal())
            });
            runs.collect()
        };
        factors.iter().map(component).collect()
    }

    fn noise_of(state: &State, component: usize, values: &ByRun) -> Noise {
        let runs: Vec<usize> = (0..80).collect();
        let values: Vec<f64> = values.iter().flatten().copied().collect();
        state.others(component).noise(&runs, &values, 1.0)
    }

    #[test]
    fn busy_runs_say_less_by_what_a_component_suffers() {
        let factors = [0.0, 0.2, 1.0, 0.6, 2.0];
        let components = busy(&factors, 0.3);
        let state = State::new(&components, &[1.0; 80]);
        for (place, values) in components.iter().enumerate() {
            let noise = noise_of(&state, place, values);
            let unlike = noise.unlike[50];
            assert!(unlike > 0.3 * factors[place], "{place}: {unlike}");
            let is_busy = |unlike: &&f64| **unlike > 0.2 * factors[place].max(0.1);
            let n_busy = noise.unlike.iter().filter(is_busy).count();
            assert!((20..28).contains(&n_busy), "{place}: {n_busy}");
            assert!(noise.scale.is_some_and(|scale| scale < 0.016));
        }
        assert!(state.machine(50).is_some_and(|s| s > 0.15));
        assert!(state.machine(20).is_some_and(|s| s.abs() < 0.05));
        assert!(
            State::new(&components[..2], &[1.0; 80])
                .machine(50)
                .is_none()
        );
    }

    #[test]
    fn one_component_that_changed_makes_no_run_busy() {
        let mut components = busy(&[0.0; 4], 0.0);
        components[0][50..]
            .iter_mut()
            .flatten()
            .for_each(|x| *x += 0.3);
        let state = State::new(&components, &[1.0; 80]);
        for (place, values) in components.iter().enumerate() {
            let noise = noise_of(&state, place, values);
            let n_busy = noise.unlike.iter().filter(|unlike| **unlike > 0.03).count();
            assert!(n_busy < 10, "{place}: {n_busy}");
        }
    }

    #[test]
    fn runs_that_waited_say_less_where_a_component_was_off_in_them() {
        let components = busy(&[0.0; 1], 0.0);
        let shares: Vec<f64> = (0..80)
            .map(|run| if run < 70 { 0.98 } else { 0.5 })
            .collect();
        let state = State::new(&components, &shares);
        let noise = noise_of(&state, 0, &components[0]);
        assert!(noise.unlike.iter().all(|unlike| *unlike == 0.0));
        let mut slower: Vec<f64> = components[0].iter().flatten().copied().collect();
        slower[70..].iter_mut().for_each(|x| *x += 0.2);
        let noise = noise_of(&state, 0, &slower.into_iter().map(Some).collect());
        assert!(noise.unlike[..70].iter().all(|unlike| *unlike == 0.0));
        assert!(noise.unlike[70..].iter().all(|unlike| *unlike > 0.1));
    }
}

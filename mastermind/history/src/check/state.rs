//! The state of the machine in each run: quiet, or busy with something else.
//!
//! Another program on the other thread of a core makes most components slower, for minutes or for an afternoon, but not alike: one by nothing,
//! another by a half, and the same one by nothing in the next run (seen). So what it costs cannot be taken out; a run in such a state says
//! little of a component, by as much as that component was off in such runs before. A run is busy where the median component is slower than in the
//! quiet ones, where it had to wait for a processor, or where equal calls differed more within it than usual: for each component
//! as the others see it, so that one which changed makes no run busy.

use super::noise::{self, median, quantile};

/// Fewest other components from which the state is told.
pub(super) const MIN_OTHERS: usize = 2;

/// Distances of the lower quartile of a figure from its twentieth by which a busy run lies above the quartile: of a normal distribution
/// one run in 70 does.
const BEYOND: f64 = 3.0;

/// Least such distance, a logarithm: where hardly any run differs, a run that differs by less is not busy.
const MIN_DISTANCE: f64 = 0.01;

/// Deviation of a busy run where none was seen before, a logarithm, and times the median component's: components differ by a factor of three in what they suffer
/// (seen). It counts as so many runs.
const PRIOR: f64 = 0.1;
const PRIOR_TIMES: f64 = 3.0;
const PRIOR_RUNS: f64 = 1.0;

/// Of the deviations in busy runs this quantile counts, so many times.
const OFF_QUANTILE: f64 = 0.8;
const OFF_TIMES: f64 = 2.0;

/// Width of a class of severity, a logarithm, and the last class: from 1 % to a factor of three.
const CLASS: f64 = 0.4;
const MAX_SEVERITY: usize = 12;

/// Effects or another figure, by run; `None` in runs without it.
pub(super) type ByRun = Vec<Option<f64>>;

/// What shows the machine's state.
#[derive(Debug)]
pub(super) struct State {
    /// Components, each against its usual.
    components: Vec<ByRun>,
    /// Which runs are busy by a figure that is no component's.
    is_busy: Vec<bool>,
}

/// What the machine's state does to a series.
pub(super) struct Noise {
    /// What it adds to the deviation of each run; 0 in quiet runs.
    pub(super) unlike: Vec<f64>,
    /// Deviation in quiet runs; `None` of too few.
    pub(super) scale: Option<f64>,
}

impl State {
    /// # Arguments
    /// * `components` - effects of each over the same runs
    /// * `figures` - more of which is worse
    pub(super) fn new(components: &[ByRun], figures: &[ByRun]) -> Self {
        let n_runs = figures.iter().chain(components).map(Vec::len).max();
        let mut is_busy = vec![false; n_runs.unwrap_or(0)];
        for figure in figures {
            let beyond = beyond(figure);
            let runs = is_busy.iter_mut().zip(beyond);
            runs.for_each(|(is_busy, beyond)| *is_busy |= beyond > 0.0);
        }
        let against = |values: &ByRun| {
            let usual = median(values.iter().flatten().copied());
            values.iter().map(|x| Some((*x)? - usual)).collect()
        };
        Self {
            components: components.iter().map(against).collect(),
            is_busy,
        }
    }

    /// How much slower than usual the median of the components but one was in a run, a logarithm; `None` where there are too few.
    fn seen_without(&self, component: Option<usize>, run: usize) -> Option<f64> {
        let others = self.components.iter().enumerate();
        let others = others.filter(|(of, _)| Some(*of) != component);
        let seen: Vec<f64> = others.filter_map(|(_, values)| values[run]).collect();
        (seen.len() >= MIN_OTHERS).then(|| median(seen))
    }

    /// How much slower than usual the median of the components was in a run; `None` where there are too few.
    pub(super) fn machine(&self, run: usize) -> Option<f64> {
        let seen = self.components.iter().filter_map(|values| values[run]);
        let seen: Vec<f64> = seen.collect();
        (seen.len() > MIN_OTHERS).then(|| median(seen))
    }

    /// The machine's state as all components but one see it.
    pub(super) fn others(&self, component: usize) -> Others {
        let all = 0..self.is_busy.len();
        let seen: ByRun = all
            .map(|run| self.seen_without(Some(component), run))
            .collect();
        let beyond = beyond(&seen);
        let is_busy = self.is_busy.iter().zip(beyond);
        Others {
            is_busy: is_busy
                .map(|(is_busy, beyond)| *is_busy || beyond > 0.0)
                .collect(),
            seen,
        }
    }
}

/// The machine's state without a component.
pub(super) struct Others {
    is_busy: Vec<bool>,
    /// How much slower than usual the median component was.
    seen: ByRun,
}

impl Others {
    /// The noise of a series of the component.
    ///
    /// # Arguments
    /// * `runs` - those of the series
    pub(super) fn noise(&self, runs: &[usize], values: &[f64]) -> Noise {
        let (is_busy, seen) = (|run: usize| self.is_busy[run], &self.seen);
        let pairs = || runs.iter().copied().zip(values.iter().copied());
        let quiet: Vec<f64> = pairs()
            .filter(|(run, _)| !is_busy(*run))
            .map(|(_, x)| x)
            .collect();
        let scale = noise::between_runs(&quiet).or_else(|| noise::between_runs(values));
        let usual = median(quiet.iter().copied());
        let severity = |run: usize| severity(seen[run].unwrap_or(0.0));
        let off = pairs().filter(|(run, _)| is_busy(*run));
        let off = off.map(|(run, x)| (severity(run), (x - usual).abs()));
        let off: Vec<_> = off.collect();
        let of_class = |class: usize| {
            let as_severe = off.iter().filter(|(of, _)| *of >= class);
            let mut as_severe: Vec<f64> = as_severe.map(|(_, off)| *off).collect();
            as_severe.sort_by(f64::total_cmp);
            let typical = OFF_TIMES * quantile(&as_severe, OFF_QUANTILE);
            (as_severe.len() as f64, typical)
        };
        let classes: Vec<_> = (0..=MAX_SEVERITY).map(of_class).collect();
        let unlike = |run: &usize| {
            if !is_busy(*run) {
                return 0.0;
            }
            let (n, typical) = classes[severity(*run)];
            let prior = PRIOR.max(PRIOR_TIMES * seen[*run].unwrap_or(0.0).abs());
            let squares = n * typical * typical + PRIOR_RUNS * prior * prior;
            (squares / (n + PRIOR_RUNS)).sqrt()
        };
        Noise {
            unlike: runs.iter().map(unlike).collect(),
            scale,
        }
    }
}

/// Class of a run by how much slower the median component was: a run says what busy runs of its class and of more severe ones say, not
/// what those say that were hardly busy.
fn severity(seen: f64) -> usize {
    let classes = (seen.abs() / MIN_DISTANCE).max(1.0).ln() / CLASS;
    (classes as usize).min(MAX_SEVERITY)
}

/// By how much each run is beyond the quiet ones; 0 of those.
fn beyond(figure: &ByRun) -> Vec<f64> {
    let mut sorted: Vec<f64> = figure.iter().flatten().copied().collect();
    sorted.sort_by(f64::total_cmp);
    let quarter = quantile(&sorted, 0.25);
    let distance = (quarter - quantile(&sorted, 0.05)).max(MIN_DISTANCE);
    let limit = quarter + BEYOND * distance;
    let of_run = |x: &Option<f64>| x.map_or(0.0, |x| (x - limit).max(0.0));
    figure.iter().map(of_run).collect()
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
        state.others(component).noise(&runs, &values)
    }

    #[test]
    fn busy_runs_say_less_by_what_a_component_suffers() {
        let factors = [0.0, 0.2, 1.0, 0.6, 2.0];
        let components = busy(&factors, 0.3);
        let state = State::new(&components, &[]);
        for (place, values) in components.iter().enumerate() {
            let noise = noise_of(&state, place, values);
            let unlike = noise.unlike[50];
            assert!(unlike > 1.5 * 0.3 * factors[place], "{place}: {unlike}");
            let n_busy = noise.unlike.iter().filter(|unlike| **unlike > 0.0).count();
            assert!((20..28).contains(&n_busy), "{place}: {n_busy}");
            assert!(noise.scale.is_some_and(|scale| scale < 0.016));
        }
        assert!(state.machine(50).is_some_and(|s| s > 0.15));
        assert!(state.machine(20).is_some_and(|s| s.abs() < 0.05));
        assert!(State::new(&components[..2], &[]).machine(50).is_none());
    }

    #[test]
    fn one_component_that_changed_makes_no_run_busy() {
        let mut components = busy(&[0.0; 4], 0.0);
        components[0][50..]
            .iter_mut()
            .flatten()
            .for_each(|x| *x += 0.3);
        let state = State::new(&components, &[]);
        for (place, values) in components.iter().enumerate() {
            let noise = noise_of(&state, place, values);
            let n_busy = noise.unlike.iter().filter(|unlike| **unlike > 0.0).count();
            assert!(n_busy < 10, "{place}: {n_busy}");
        }
    }

    #[test]
    fn a_run_that_waited_is_busy() {
        let components = busy(&[0.0; 1], 0.0);
        let waited: ByRun = (0..80)
            .map(|run| Some(if run < 70 { 0.02 } else { 0.7 }))
            .collect();
        let state = State::new(&components, &[waited]);
        let noise = noise_of(&state, 0, &components[0]);
        assert!(noise.unlike[..70].iter().all(|unlike| *unlike == 0.0));
        assert!(noise.unlike[70..].iter().all(|unlike| *unlike > 0.01));
    }
}

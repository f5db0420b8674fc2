//! The state of the machine in each run: what all components share.
//!
//! Another program on the other thread of a core makes everything slower, for minutes or for an afternoon. The median over the components is
//! taken for it, without the component in question: one that changed moves no median of three. It is taken out as far as it is more than the
//! components' own noise; components do not all suffer alike, so a run in another state says less of each.

use super::noise::{self, median};

/// Fewest other components from which the state is told.
const MIN_OTHERS: usize = 2;

/// Components whose noise is this many times the usual say nothing of the state.
const MAX_NOISE: f64 = 3.0;

/// How differently components suffer: the standard deviation of their share in the state. One that waits for memory loses 1.2 where one that
/// computes loses 1.6 to the other thread of the core (seen).
const UNLIKE: f64 = 0.3;

/// A component's effects, by run; `None` in runs without it.
pub(super) type ByRun = Vec<Option<f64>>;

/// Effects of the components against their usual.
#[derive(Debug)]
pub(super) struct State {
    /// Those that say something of the state.
    components: Vec<(usize, ByRun)>,
}

impl State {
    /// # Arguments
    /// * `components` - effects of each, over the same runs
    pub(super) fn new(components: &[ByRun]) -> Self {
        let scale = |effects: &ByRun| {
            let values: Vec<f64> = effects.iter().flatten().copied().collect();
            noise::between_runs(&values)
        };
        let scales: Vec<_> = components.iter().map(scale).collect();
        let limit = MAX_NOISE * median(scales.iter().flatten().copied());
        let mut steady = Vec::new();
        for (place, effects) in components.iter().enumerate() {
            let n_runs = effects.iter().flatten().count();
            let is_steady = scales[place].is_none_or(|scale| scale <= limit);
            if is_steady && 2 * n_runs > effects.len() {
                let usual = median(effects.iter().flatten().copied());
                let against = effects.iter().map(|x| Some((*x)? - usual));
                steady.push((place, against.collect()));
            }
        }
        Self { components: steady }
    }

    /// The state in a run as components other than one see it, a logarithm, and what it adds to the deviation of the run.
    pub(super) fn seen_without(&self, component: Option<usize>, run: usize) -> (f64, f64) {
        let others = self
            .components
            .iter()
            .filter(|(of, _)| Some(*of) != component);
        let mut seen: Vec<f64> = others.filter_map(|(_, effects)| effects[run]).collect();
        if seen.len() < MIN_OTHERS {
            return (0.0, 0.0);
        }
        seen.sort_by(f64::total_cmp);
        // Of an even number the middle one that is nearer to none: of two others one may have changed.
        let middle = [seen[(seen.len() - 1) / 2], seen[seen.len() / 2]];
        let state = match middle[0] * middle[1] > 0.0 {
            true if middle[0].abs() < middle[1].abs() => middle[0],
            true => middle[1],
            false => 0.0,
        };
        // As much of it as is no noise of the median (Stein's estimator, its positive part).
        let spread = median(seen.iter().map(|x| (x - state).abs())) / 0.6745;
        let error = spread * spread * 1.57 / seen.len() as f64;
        let kept = (1.0 - error / (state * state).max(f64::MIN_POSITIVE)).max(0.0);
        let state = kept * state;
        (state, UNLIKE * state.abs())
    }

    /// Whether there are components enough to tell it.
    pub(super) fn is_known(&self) -> bool {
        self.components.len() > MIN_OTHERS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_component_that_changed_is_no_state() {
        let mut components = vec![vec![Some(0.0); 10]; 4];
        for run in 5..10 {
            components[0][run] = Some(0.3);
        }
        let state = State::new(&components);
        for run in 0..10 {
            for component in [None, Some(0), Some(1)] {
                let (seen, _) = state.seen_without(component, run);
                assert!(seen.abs() < 1e-9, "{seen}");
            }
        }
    }

    #[test]
    fn what_all_share_is_the_state() {
        let with = |own: f64| {
            let runs = (0..10).map(|run| Some(if run < 7 { own } else { own + 0.4 }));
            runs.collect::<ByRun>()
        };
        let state = State::new(&[with(0.0), with(1.0), with(-2.0)]);
        assert!(state.is_known());
        assert_eq!(state.seen_without(Some(1), 0).0, 0.0);
        let (seen, error) = state.seen_without(Some(1), 8);
        assert!((seen - 0.4).abs() < 1e-9 && error > 0.1, "{seen} {error}");
        assert!(!State::new(&[with(0.0), with(1.0)]).is_known());
    }
}

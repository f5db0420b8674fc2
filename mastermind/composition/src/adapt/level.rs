//! Whether a class takes another time than it used to, at equal parameters.
//!
//! Residuals are gathered in windows of calls. A window whose median is further off than noise explains is a suspicion; the
//! next one, of other calls, confirms it or does not. So a spike, or a slow stretch shorter than a window, changes nothing. Calls of one step
//! share the state that the machine and its caches were in, so a window that is off by no more than such a state explains is of several steps,
//! however many calls each of them has.

/// Calls of a window.
const WINDOW: f64 = 20.0;

/// Steps of a window: the state of a single one moves the median of three by nothing.
const STEPS: u64 = 3;

/// By how much the state of a step may move its calls, in logarithms: a neighbour on the same core takes no more than half of its speed, and
/// what a call waits for a processor is not in its time. What is further off is known after one step.
const STATE: f64 = std::f64::consts::LN_2;

/// Smallest change of a level that is looked for, in logarithms: 15 %.
const LEAST: f64 = 0.14;

/// Standard deviations that are no noise.
const FAR: f64 = 4.0;

/// What the median of a window is off by although nothing has changed: the machine's state.
const WOBBLE: f64 = 0.03;

/// How far two windows may differ, as a share of the first one, and still say the same.
const SAME: f64 = 0.5;

/// What the residuals so far say.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Level {
    /// As it was.
    Same,
    /// Perhaps another: what was seen is not to be believed yet.
    Suspected,
    /// Another one, by this logarithm of a factor.
    Changed(f64),
}

/// Watches the residuals of one class at one place.
#[derive(Debug, Clone, Default)]
pub struct LevelWatch {
    /// Calls and residual of each batch of the present window.
    window: Vec<(f64, f64)>,
    /// Steps that these were made in, and the last of them.
    steps: (u64, u64),
    /// Median of the last window, if it was far off.
    suspicion: Option<f64>,
}

impl LevelWatch {
    /// Takes in calls.
    ///
    /// # Arguments
    /// * `calls` - in which step, and how many
    /// * `residual` - mean logarithm of their time over what was expected
    /// * `deviation` - standard deviation of a call
    pub fn take(&mut self, (step, calls): (u64, f64), residual: f64, deviation: f64) -> Level {
        self.window.push((calls, residual));
        let (n_steps, last) = self.steps;
        let is_new = n_steps == 0 || step != last;
        self.steps = (n_steps + u64::from(is_new), step);
        let n: f64 = self.window.iter().map(|(calls, _)| calls).sum();
        if n < WINDOW {
            return self.standing();
        }
        let median = weighted_median(&mut self.window);
        if self.steps.0 < STEPS && median.abs() < STATE {
            return self.standing();
        }
        self.window.clear();
        self.steps = (0, 0);
        let noise = (deviation * deviation / n + WOBBLE * WOBBLE).sqrt();
        if median.abs() <= LEAST.max(FAR * noise) {
            self.suspicion = None;
            return Level::Same;
        }
        match self.suspicion {
            Some(first) if (median - first).abs() <= SAME * first.abs() => {
                self.suspicion = None;
                Level::Changed(f64::midpoint(first, median))
            }
            _ => {
                self.suspicion = Some(median);
                Level::Suspected
            }
        }
    }

    /// Whether the last window was far off.
    pub fn is_suspecting(&self) -> bool {
        self.suspicion.is_some()
    }

    /// Calls until the present window is full.
    pub fn missing(&self) -> f64 {
        let n: f64 = self.window.iter().map(|(calls, _)| calls).sum();
        WINDOW - n
    }

    fn standing(&self) -> Level {
        match self.suspicion {
            Some(_) => Level::Suspected,
            None => Level::Same,
        }
    }
}

/// The value with half of the weight on either side.
///
/// # Arguments
/// * `weighted` - weight and value, in any order; sorted by this
pub fn weighted_median(weighted: &mut [(f64, f64)]) -> f64 {
    weighted.sort_by(|a, b| a.1.total_cmp(&b.1));
    sorted_median(weighted)
}

/// [`weighted_median`] of what is sorted.
pub(super) fn sorted_median(weighted: &[(f64, f64)]) -> f64 {
    let half = weighted.iter().map(|(weight, _)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (weight, value) in weighted.iter() {
        sum += weight;
        if sum >= half {
            return *value;
        }
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_believed_after_two_windows() {
        let mut watch = LevelWatch::default();
        for call in 0..100 {
            assert_eq!(watch.take((call / 5, 1.0), 0.01, 0.05), Level::Same);
        }
        let told = (0..40).map(|call| watch.take((call / 5, 1.0), 0.7, 0.05));
        let told: Vec<_> = told.collect();
        assert_eq!(told[18], Level::Same);
        assert_eq!(told[19], Level::Suspected);
        let Level::Changed(by) = told[39] else {
            panic!("{:?}", told[39]);
        };
        assert!((by - 0.7).abs() < 1e-9, "{by}");
    }

    #[test]
    fn a_slow_stretch_and_spikes_change_nothing() {
        let mut watch = LevelWatch::default();
        for call in 0..1000 {
            let residual = match call {
                100..115 => 0.8,
                _ if call % 7 == 0 => 3.0,
                _ => 0.0,
            };
            let level = watch.take((call / 5, 1.0), residual, 0.1);
            assert!(!matches!(level, Level::Changed(_)), "{call}: {level:?}");
        }
    }

    /// Forty calls in each step, all of which the state of a step moves alike.
    #[test]
    fn a_slow_step_of_many_calls_is_no_change() {
        let mut watch = LevelWatch::default();
        for step in 0..200 {
            let residual = if step % 10 == 7 { 0.6 } else { 0.0 };
            for _ in 0..10 {
                let level = watch.take((step, 4.0), residual, 0.05);
                assert!(matches!(level, Level::Same), "{step}: {level:?}");
            }
        }
    }
}

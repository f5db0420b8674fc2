//! Methods that take longer than their models predict.

use crate::facts::{Facts, OffModelFacts};
use crate::order::{Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// Relative difference of a component's time between runs without a cause. Arbitrary: models describe the scatter of
/// calls within runs, and nothing describes the scatter of runs on a shared machine.
const BETWEEN_RUNS: f64 = 0.1;

/// Find out why a method is slower than it was: at most the difference can be saved.
pub(super) fn slower(facts: &Facts) -> Vec<Recommendation> {
    let most_s = |one: &OffModelFacts| one.predicted_s.1[1] + BETWEEN_RUNS * one.predicted_s.0;
    let beyond = facts
        .off_models
        .iter()
        .filter(|one| one.measured_s > most_s(one));
    beyond.map(one).collect()
}

fn one(off: &OffModelFacts) -> Recommendation {
    let OffModelFacts {
        method,
        calls,
        measured_s,
        predicted_s: (predicted_s, [low_s, high_s]),
    } = off;
    let mut found = Recommendation::new(
        Kind::OffModel,
        format!(
            "find out why {method} takes {:.2} times what its model says",
            measured_s / predicted_s
        ),
        Some(Saving::up_to(measured_s - predicted_s)),
    );
    found.evidence = vec![format!(
        "{calls} calls took {}, and {} by the model ({} to {}): another state of the machine, other data, or other code",
        seconds(*measured_s),
        seconds(*predicted_s),
        seconds(*low_s),
        seconds(*high_s)
    )];
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend;

    #[test]
    fn only_what_no_fresh_run_takes_is_off() {
        let with = |measured_s| Facts {
            elapsed_s: 10.0,
            off_models: vec![OffModelFacts {
                method: "Flux::flux.compute".into(),
                calls: 10,
                measured_s,
                predicted_s: (2.0, [1.5, 2.5]),
            }],
            ..Facts::default()
        };
        assert!(recommend(&with(2.65)).is_empty());
        assert_eq!(recommend(&with(5.0))[0].saving, Some(Saving::up_to(3.0)));
    }
}

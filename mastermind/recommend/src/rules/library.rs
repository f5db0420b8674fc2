//! Newer code of a library.

use crate::facts::{Facts, LibraryFacts};
use crate::order::{Carried, Kind, Recommendation};
use crate::rules::seconds;
use crate::saving::Saving;

/// A variable that has a library run code for newer instructions.
///
/// Calls that are `g` times as fast save `t (1 − 1/g)` of their time `t`. Where the calls of the library were not recorded, `t` is at most the
/// time of the run.
pub(super) fn newer_code(facts: &Facts) -> Vec<Recommendation> {
    let one = |library: &LibraryFacts| {
        let (variable, value) = &library.change;
        let saving = library.gain.map(|[least, most]| {
            let share = |gain: f64| 1.0 - 1.0 / gain.max(1.0);
            match library.recorded_s {
                Some(recorded_s) => {
                    let middle = 0.5 * (share(least) + share(most));
                    Saving::predicted(
                        recorded_s * middle,
                        [least, most].map(|gain| recorded_s * share(gain)),
                    )
                }
                None => Saving::up_to(facts.elapsed_s * share(most)),
            }
        });
        let mut found =
            Recommendation::new(Kind::Library, format!("set {variable}={value}"), saving);
        found.evidence = vec![library.running.clone()];
        found.evidence.extend(library.gain.map(|[least, most]| {
            format!("multiplying matrices, one thread: {least:.1} to {most:.1} times as fast with the newer code, measured here")
        }));
        found.evidence.push(match library.recorded_s {
            Some(recorded_s) => format!("its recorded calls took {}", seconds(recorded_s)),
            None => "its calls were not recorded: which part of the run they are is not known; wrap --proxy records them".into(),
        });
        found.change = Carried::Variable(variable.clone(), value.clone());
        found
    };
    facts.libraries.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recommend;

    fn library(recorded_s: Option<f64>, gain: Option<[f64; 2]>) -> Facts {
        Facts {
            elapsed_s: 4.0,
            libraries: vec![LibraryFacts {
                running: "libopenblas runs its code Prescott".into(),
                change: ("OPENBLAS_CORETYPE".into(), "SkylakeX".into()),
                gain,
                recorded_s,
            }],
            ..Facts::default()
        }
    }

    #[test]
    fn recorded_calls_show_what_newer_code_saves() {
        let found = &recommend(&library(Some(2.0), Some([4.0, 5.0])))[0];
        let saving = found.saving.expect("the gain is known");
        assert!(!saving.is_limit && saving.interval_s == [1.5, 1.6]);
        assert_eq!(
            found.change,
            Carried::Variable("OPENBLAS_CORETYPE".into(), "SkylakeX".into())
        );
    }

    #[test]
    fn without_records_of_the_library_only_a_limit_is_known() {
        let saving = recommend(&library(None, Some([4.0, 4.0])))[0].saving;
        assert_eq!(saving, Some(Saving::up_to(3.0)));
        let unmeasured = &recommend(&library(None, None))[0];
        assert_eq!(unmeasured.saving, None);
    }
}

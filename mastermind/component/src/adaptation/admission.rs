//! Decides for each call whether an explored class gets it: a table of `mastermind-composition` over the words of a
//! record, which the proxies query.
//!
//! Admitted calls go to the explored class and all others to the previous one; each is recorded under the name of the
//! class that answers it. A call costs some tens of nanoseconds more during the trial, and nothing after it.

use std::ptr::NonNull;
use std::slice;

use cca_abi::RawPort;
use cca_abi::recording::Admission;
use mastermind_composition::adapt::Admitted;
use mastermind_composition::{Decisions, Next, Split};
use mastermind_records::definition::{ParameterDefinition, ParameterKind};

/// Admitted calls of one method.
#[repr(C)]
pub struct AdmittedCalls {
    /// The part that proxies see.
    seen: Admission,
    steps: Vec<Step>,
}

// SAFETY: immutable, the function takes no state but this, and ports serve every thread.
unsafe impl Send for AdmittedCalls {}
// SAFETY: as for `Send`.
unsafe impl Sync for AdmittedCalls {}

struct Step {
    /// Index of the parameter's word.
    place: usize,
    is_real: bool,
    split: Ranges,
    next: Vec<End>,
}

enum Ranges {
    /// Lower bounds of the second and later ranges, ascending.
    Bounds(Vec<f64>),
    /// The word of the label of each range.
    Words(Vec<u64>),
}

#[derive(Clone, Copy)]
enum End {
    Step(usize),
    IsAdmitted(bool),
}

impl AdmittedCalls {
    /// # Arguments
    /// * `instead` - port that answers the other calls
    /// * `admitted` - `None` for an unknown method
    /// * `class` - the explored class, as the table names it
    /// * `parameters` - of the method, in the order of their words
    ///
    /// # Returns
    /// `None` if all calls are admitted.
    pub fn new(
        admitted: Option<&Admitted>,
        class: &str,
        parameters: &[ParameterDefinition],
        instead: NonNull<RawPort>,
    ) -> Option<Self> {
        let steps = match admitted {
            Some(Admitted::All) => return None,
            Some(Admitted::By(table)) => steps(table, class, parameters),
            _ => Vec::new(),
        };
        let instead = instead.as_ptr();
        let seen = Admission { admits, instead };
        Some(AdmittedCalls { seen, steps })
    }

    /// Pointer for the proxies.
    pub fn seen(&self) -> NonNull<Admission> {
        NonNull::from(self).cast()
    }

    fn is_admitted(&self, words: &[u64]) -> bool {
        let mut at = 0;
        // Steps lead only to later steps, so the loop ends.
        while let Some(step) = self.steps.get(at) {
            let Some(word) = words.get(step.place) else {
                return false;
            };
            let range = match &step.split {
                Ranges::Bounds(bounds) => {
                    let value = match step.is_real {
                        true => f64::from_bits(*word),
                        false => word.cast_signed() as f64,
                    };
                    Some(bounds.partition_point(|bound| *bound <= value))
                }
                Ranges::Words(labels) => labels.iter().position(|label| label == word),
            };
            match range.and_then(|range| step.next.get(range)) {
                Some(End::Step(later)) if *later > at => at = *later,
                Some(End::IsAdmitted(is_admitted)) => return *is_admitted,
                _ => return false,
            }
        }
        false
    }
}

/// The steps of a table; empty if it uses a parameter or label that the method does not have.
fn steps(table: &Decisions, class: &str, parameters: &[ParameterDefinition]) -> Vec<Step> {
    let end = |next: &Next| match next {
        Next::Step(place) => End::Step(*place),
        Next::Class(name) => End::IsAdmitted(name == class),
    };
    let steps = table.steps.iter().map(|step| {
        let place = parameters.iter().position(|p| p.name == step.parameter)?;
        let parameter = &parameters[place];
        let word = |label: &String| parameter.labels.iter().position(|known| known == label);
        let split = match &step.split {
            Split::Bounds(bounds) => Ranges::Bounds(bounds.clone()),
            Split::Labels(labels) => {
                let words = labels.iter().map(|label| Some(word(label)? as u64));
                Ranges::Words(words.collect::<Option<_>>()?)
            }
        };
        Some(Step {
            place,
            is_real: parameter.kind == ParameterKind::Real,
            split,
            next: step.next.iter().map(end).collect(),
        })
    });
    steps.collect::<Option<_>>().unwrap_or_default()
}

/// # Safety
/// `this` points into an [`AdmittedCalls`], and `words` has `n_words` words.
unsafe extern "C" fn admits(this: *const Admission, words: *const u64, n_words: usize) -> u32 {
    if words.is_null() && n_words > 0 {
        // The parameters are invalid; the given class reports that.
        return 0;
    }
    // SAFETY: `seen` is the first field, at the address of the whole; the words are the caller's.
    let (calls, words) = unsafe {
        let words = match n_words {
            0 => &[],
            _ => slice::from_raw_parts(words, n_words),
        };
        (&*this.cast::<AdmittedCalls>(), words)
    };
    u32::from(calls.is_admitted(words))
}

#[cfg(test)]
mod tests {
    use mastermind_composition::DecisionStep;

    use super::*;

    fn parameter(name: &str, kind: ParameterKind, labels: &[&str]) -> ParameterDefinition {
        ParameterDefinition {
            name: name.into(),
            kind,
            labels: labels.iter().map(|label| (*label).into()).collect(),
            ..ParameterDefinition::default()
        }
    }

    fn table() -> Decisions {
        let class = |name: &str| Next::Class(name.into());
        let step = |parameter: &str, split: Split, next: Vec<Next>| DecisionStep {
            parameter: parameter.into(),
            split,
            next,
        };
        let labels = Split::Labels(vec!["rows".into(), "columns".into()]);
        Decisions {
            steps: vec![
                step("layout", labels, vec![Next::Step(1), class("new")]),
                step(
                    "n",
                    Split::Bounds(vec![8.0, 100.0]),
                    vec![class("old"), Next::Step(2), class("old")],
                ),
                step(
                    "x",
                    Split::Bounds(vec![-0.5]),
                    vec![class("old"), class("new")],
                ),
            ],
        }
    }

    fn asked(calls: &AdmittedCalls, words: &[u64]) -> bool {
        let seen = calls.seen();
        // SAFETY: `seen` points into `calls`.
        unsafe { (seen.as_ref().admits)(seen.as_ptr(), words.as_ptr(), words.len()) == 1 }
    }

    #[test]
    fn calls_are_let_through_as_the_table_says() {
        let parameters = [
            parameter("n", ParameterKind::Integer, &[]),
            parameter(
                "layout",
                ParameterKind::Enumeration,
                &["columns", "rows", "tiles"],
            ),
            parameter("x", ParameterKind::Real, &[]),
        ];
        let table = table();
        let by = Admitted::By(table.clone());
        let calls = AdmittedCalls::new(Some(&by), "new", &parameters, NonNull::dangling())
            .expect("a table");
        let is =
            |n: i64, layout: u64, x: f64| asked(&calls, &[n.cast_unsigned(), layout, x.to_bits()]);
        assert!(is(8, 1, 0.0) && is(99, 1, -0.5) && is(-5, 0, -7.0));
        assert!(!is(7, 1, 0.0) && !is(-8, 1, 0.0) && !is(100, 1, 0.0) && !is(50, 1, -0.6));
        assert!(!is(50, 2, 0.0), "a label that is not in it");
        assert!(!is(50, 1, f64::NAN), "no number is below no bound");
        // SAFETY: no words are read.
        let of_nothing = unsafe { admits(calls.seen().as_ptr(), std::ptr::null(), 3) };
        assert_eq!(of_nothing, 0);
        assert!(!asked(&calls, &[50]), "fewer words than parameters");
        let other = AdmittedCalls::new(Some(&by), "new", &parameters[..1], NonNull::dangling())
            .expect("a table");
        assert!(!asked(&other, &[50]), "a parameter that the method has not");
    }

    #[test]
    fn all_and_none() {
        assert!(
            AdmittedCalls::new(Some(&Admitted::All), "new", &[], NonNull::dangling()).is_none()
        );
        for admitted in [None, Some(&Admitted::None)] {
            let calls = AdmittedCalls::new(admitted, "new", &[], NonNull::dangling())
                .expect("none is let through");
            assert!(!asked(&calls, &[]));
        }
    }
}

//! Which calls a class on trial gets, as its proxies ask for each of them: a table of `mastermind-composition` over the words of a record.
//!
//! What it lets through goes to the class on trial, all else to the class before it, and is recorded under the name of who answers. A call
//! costs some tens of nanoseconds more as long as the trial goes on, and nothing after it.

use std::ptr::NonNull;
use std::slice;

use cca_abi::RawPort;
use cca_abi::recording::Admission;
use mastermind_composition::adapt::Admitted;
use mastermind_composition::{Decisions, Next, Split};
use mastermind_records::definition::{ParameterDefinition, ParameterKind};

/// Calls of one method that are let through.
#[repr(C)]
pub struct AdmittedCalls {
    /// What proxies see of it.
    seen: Admission,
    steps: Vec<Step>,
}

// SAFETY: immutable, the function takes no state but this, and ports serve every thread.
unsafe impl Send for AdmittedCalls {}
// SAFETY: as for `Send`.
unsafe impl Sync for AdmittedCalls {}

struct Step {
    /// Place of the parameter's word.
    place: usize,
    is_real: bool,
    split: Ranges,
    next: Vec<End>,
}

enum Ranges {
    /// Where the next range begins, ascending.
    Bounds(Vec<f64>),
    /// The words of labels, one for each range.
    Words(Vec<u64>),
}

#[derive(Clone, Copy)]
enum End {
    Step(usize),
    IsAdmitted(bool),
}

impl AdmittedCalls {
    /// # Arguments
    /// * `instead` - what answers the others
    /// * `admitted` - `None` for a method of which nothing is known
    /// * `class` - on trial, as the table names it
    /// * `parameters` - of the method, in the order of their words
    ///
    /// # Returns
    /// `None` where all calls are let through.
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

    /// What proxies are given.
    pub fn seen(&self) -> NonNull<Admission> {
        NonNull::from(self).cast()
    }

    fn is_admitted(&self, words: &[u64]) -> bool {
        let mut at = 0;
        // Steps lead to later ones only, so it ends.
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

/// The steps of a table; none where it looks at what the method has not.
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
/// `this` is of an [`AdmittedCalls`], and there are `n_words` words.
unsafe extern "C" fn admits(this: *const Admission, words: *const u64, n_words: usize) -> u32 {
    if words.is_null() && n_words > 0 {
        // Its parameters make no sense: it is the given class's to say so.
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
        // SAFETY: it is of `calls`.
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
        // SAFETY: no words are looked at.
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

//! Findings and warnings as they come up.

use super::{DiagramError, Reading};
use mastermind_programs::{Finding, Model, Rule};

/// Most findings, and most warnings, that are kept.
const MAX_FINDINGS: usize = 1000;

/// Subject of a finding, and its position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) element: &'a str,
    pub(crate) at: &'a str,
}

/// Findings and warnings of a reader so far.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(crate) findings: Vec<Finding>,
    pub(crate) warnings: Vec<Finding>,
}

impl Collected {
    /// Something that is wrong.
    pub(crate) fn find(&mut self, rule: Rule, place: Subject<'_>, reason: impl Into<String>) {
        push(&mut self.findings, rule, place, reason.into());
    }

    /// A warning of something that is ignored or assumed.
    pub(crate) fn warn(&mut self, rule: Rule, place: Subject<'_>, reason: impl Into<String>) {
        push(&mut self.warnings, rule, place, reason.into());
    }

    /// The model, unless something is wrong.
    ///
    /// # Errors
    /// [`DiagramError::Findings`].
    pub(crate) fn reading(self, model: Model) -> Result<Reading, DiagramError> {
        let Self { findings, warnings } = self;
        if findings.is_empty() {
            Ok(Reading { model, warnings })
        } else {
            Err(DiagramError::Findings { findings })
        }
    }
}

fn push(list: &mut Vec<Finding>, rule: Rule, place: Subject<'_>, reason: String) {
    if list.len() < MAX_FINDINGS {
        list.push(Finding {
            rule,
            element: place.element.to_owned(),
            place: place.at.to_owned(),
            reason,
        });
    }
}

//! The model checker: all that is wrong with a model, by rule.

use std::collections::BTreeSet;
use std::fmt;

use mastermind_models::ModelSet;

use crate::lower::Lowering;
use crate::model::Model;
use crate::symbols::System;

/// A rule of the checker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Rule {
    /// Names in expressions exist, with their arguments, and their types fit.
    Expression,
    /// Only variables are assigned, and no name has two meanings.
    Variable,
    /// Activities that are used exist.
    UnknownActivity,
    /// No activity contains itself.
    Recursion,
    /// Every activity can be reached from the main one.
    UnreachableActivity,
    /// Every element can be reached.
    UnreachableElement,
    /// No two guards of a decision are the same.
    OverlappingGuards,
    /// A cost is a number of seconds ≥ 0.
    NegativeCost,
    /// Messages and regions are not inside a parallel region.
    ParallelBody,
    /// Critical sections are inside a parallel region.
    CriticalOutside,
    /// A tag that is sent is received.
    UnmatchedSend,
    /// A tag that is received is sent.
    UnmatchedReceive,
    /// The machine form has a bounded size.
    TooLarge,
    /// The file follows the form of its type.
    Syntax,
    /// Stereotypes, words and notes of an element are understood.
    Annotation,
    /// Every edge has two ends, and each of them takes it.
    DanglingEdge,
    /// An activity begins in one place.
    InitialNode,
    /// Paths meet in a merge or a join.
    MissingMerge,
    /// Paths split in a decision or a fork.
    MissingDecision,
    /// Branches of a fork meet in a join.
    ForkWithoutJoin,
    /// For all values, one guard of a decision holds.
    GuardGap,
    /// Every element has a path to an end.
    EndlessLoop,
    /// Loops and decisions are disjoint or nested.
    Unstructured,
    /// A flow ends in a final node. Only a warning.
    NoWayOn,
    /// An action has a cost. Only a warning.
    NoCost,
    /// A model of a recorded run has the ranks of that run.
    RecordedRanks,
    /// All parts of a file are used. Only a warning.
    Ignored,
    /// A condition is an expression. Only a warning: it gets a probability.
    Prose,
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expression => "expression",
            Self::Variable => "variable",
            Self::UnknownActivity => "unknown-activity",
            Self::Recursion => "recursion",
            Self::UnreachableActivity => "unreachable-activity",
            Self::UnreachableElement => "unreachable-element",
            Self::OverlappingGuards => "overlapping-guards",
            Self::NegativeCost => "negative-cost",
            Self::ParallelBody => "parallel-body",
            Self::CriticalOutside => "critical-outside",
            Self::UnmatchedSend => "unmatched-send",
            Self::UnmatchedReceive => "unmatched-receive",
            Self::TooLarge => "too-large",
            Self::Syntax => "syntax",
            Self::Annotation => "annotation",
            Self::DanglingEdge => "dangling-edge",
            Self::InitialNode => "initial-node",
            Self::MissingMerge => "missing-merge",
            Self::MissingDecision => "missing-decision",
            Self::ForkWithoutJoin => "fork-without-join",
            Self::GuardGap => "guard-gap",
            Self::EndlessLoop => "endless-loop",
            Self::Unstructured => "unstructured",
            Self::NoWayOn => "no-way-on",
            Self::NoCost => "no-cost",
            Self::RecordedRanks => "recorded-ranks",
            Self::Ignored => "ignored",
            Self::Prose => "prose-condition",
        })
    }
}

/// Something that is wrong with a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that it breaks.
    pub rule: Rule,
    /// The element, variable or function.
    pub element: String,
    /// Its position: the activity, and the enclosing elements.
    pub place: String,
    /// The problem.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rule,
            element,
            place,
            reason,
        } = self;
        write!(f, "{rule}: \"{element}\" of \"{place}\": {reason}")
    }
}

/// All problems of a model, independent of the system it runs on; empty for a sound one.
///
/// # Arguments
/// * `models` - fitted models that its costs may name
pub fn check(model: &Model, models: &ModelSet) -> Vec<Finding> {
    let mut lowering = Lowering::new(model, models, System::any_of(model), true);
    lowering.globals();
    lowering.functions();
    lowering.main();
    let reached: BTreeSet<String> = lowering.reached.clone();
    for name in model
        .activities
        .keys()
        .filter(|name| !reached.contains(*name))
    {
        lowering.find(
            Rule::UnreachableActivity,
            name,
            &model.name,
            format!("nothing leads to it from \"{}\"", model.main),
        );
        lowering.activity(name, name);
    }
    lowering.unmatched();
    let mut findings = lowering.findings;
    // An activity that is used twice is checked once per use.
    let mut seen = BTreeSet::new();
    findings.retain(|finding| seen.insert(finding.to_string()));
    findings
}

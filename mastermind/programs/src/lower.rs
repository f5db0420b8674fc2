//! The human form to the machine form: globals, cost functions, locals, elements, their flow.
//!
//! Activities are inlined at their uses (none contains itself), decisions and loops become jumps,
//! collectives the point-to-point messages they are built from.
//!
//! # Source
//! S. Pllana et al., "Towards an Environment for Performance Modeling", Figure 5 (the order of the
//! transformation); the result is a list of operations where the paper's is C++.

use std::collections::{BTreeMap, BTreeSet};

use mastermind_models::ModelSet;

use crate::check::{Finding, Rule};
use crate::collectives::Collectives;
use crate::expression::{
    Assignment, Binary, Compiled, Expression, ExpressionError, Kind, Resolver, Scope, Symbol, Typed,
};
use crate::flow::{GROUP_FIRST, GROUP_SIZE, GROUP_STRIDE};
use crate::model::{Model, Variable};
use crate::operation::{ElementInfo, Operation, Program, STRUCTURE};
use crate::symbols::System;

/// Most operations of a machine form.
const LARGEST: usize = 200_000;

/// A model that has no machine form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot transform model \"{model}\": {}{}", .findings[0], more(.findings.len() - 1))]
pub struct LowerError {
    /// The model.
    pub model: String,
    /// The problems with it, never empty.
    pub findings: Vec<Finding>,
}

fn more(n: usize) -> String {
    if n == 0 {
        String::new()
    } else {
        format!("; {n} more findings, see check")
    }
}

/// The machine form of a model for one system.
///
/// # Arguments
/// * `models` - fitted models that its costs may name
///
/// # Errors
/// [`LowerError`] with the findings of the checker.
pub fn lower(model: &Model, models: &ModelSet, system: System) -> Result<Program, LowerError> {
    lower_with(model, models, system, Collectives::default(), 0)
}

/// As [`lower`], with the collectives of a library, and another sample of random numbers.
///
/// # Arguments
/// * `seed` - of the draws of `chance` and of the spread of fitted models; [`lower`] has 0
///
/// # Errors
/// As [`lower`].
pub fn lower_with(
    model: &Model,
    models: &ModelSet,
    system: System,
    collectives: Collectives,
    seed: u32,
) -> Result<Program, LowerError> {
    let mut lowering = Lowering::new(model, models, system, false);
    lowering.collectives = collectives;
    lowering.ranks();
    lowering.seed(seed);
    lowering.globals();
    lowering.main();
    if !lowering.findings.is_empty() {
        return Err(LowerError {
            model: model.name.clone(),
            findings: lowering.findings,
        });
    }
    Ok(Program {
        name: model.name.clone(),
        system,
        operations: lowering.operations,
        starts: Vec::new(),
        slots: lowering.most_slots,
        locks: lowering.locks.len() as u32,
        elements: lowering.elements,
        structures: lowering.structures,
    })
}

/// State of a lowering; it continues after a finding, so that all are found.
pub(crate) struct Lowering<'a> {
    pub(crate) model: &'a Model,
    models: &'a ModelSet,
    pub(crate) system: System,
    /// Values that another system or `--set` would change are not treated as constant.
    pub(crate) every_system: bool,
    global_scope: Scope,
    assigned: BTreeSet<&'a str>,
    pub(crate) operations: Vec<Operation>,
    elements: Vec<ElementInfo>,
    structures: Vec<ElementInfo>,
    element_index: BTreeMap<(String, String, bool), u32>,
    pub(crate) locks: BTreeMap<String, u32>,
    pub(crate) slots: u32,
    most_slots: u32,
    /// Variables of `chance`, the first ones, and how many of them are given out.
    pub(crate) chances: u32,
    pub(crate) n_drawn: u32,
    /// The activities, each called by the one before, that contain the present place of the lowering.
    pub(crate) inside: Vec<String>,
    pub(crate) reached: BTreeSet<String>,
    pub(crate) in_parallel: bool,
    /// The element that a collective's messages are counted under.
    pub(crate) collective: Option<u32>,
    /// Library whose algorithms collectives use.
    pub(crate) collectives: Collectives,
    pub(crate) tags: Tags,
    pub(crate) findings: Vec<Finding>,
}

/// Tags that are sent and received: tag to one of its places. `None` if one is not constant.
#[derive(Default)]
pub(crate) struct Tags {
    pub(crate) sent: BTreeMap<i64, (String, String)>,
    pub(crate) received: BTreeMap<i64, (String, String)>,
    pub(crate) unknown_sent: bool,
    pub(crate) unknown_received: bool,
}

impl<'a> Lowering<'a> {
    pub(crate) fn new(
        model: &'a Model,
        models: &'a ModelSet,
        system: System,
        every_system: bool,
    ) -> Self {
        let chances = crate::chance::places(model) as u32;
        let mut assigned = BTreeSet::new();
        for activity in model.activities.values() {
            crate::flow::assigned(&activity.flow, &mut assigned);
        }
        Self {
            model,
            models,
            system,
            every_system,
            global_scope: system.scope(every_system),
            assigned,
            operations: Vec::new(),
            elements: Vec::new(),
            structures: Vec::new(),
            element_index: BTreeMap::new(),
            locks: BTreeMap::new(),
            slots: chances,
            most_slots: chances,
            chances,
            n_drawn: 0,
            inside: Vec::new(),
            reached: BTreeSet::new(),
            in_parallel: false,
            collective: None,
            collectives: Collectives::default(),
            tags: Tags::default(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn find(&mut self, rule: Rule, element: &str, place: &str, reason: String) {
        let (element, place) = (element.to_owned(), place.to_owned());
        self.findings.push(Finding {
            rule,
            element,
            place,
            reason,
        });
    }

    /// Adds an operation and gives its index.
    pub(crate) fn push(&mut self, operation: Operation) -> usize {
        if self.operations.len() < LARGEST {
            self.operations.push(operation);
        } else if !self.findings.iter().any(|f| f.rule == Rule::TooLarge) {
            let reason = format!("more than {LARGEST} operations, expected at most so many");
            let name = self.model.name.clone();
            self.find(Rule::TooLarge, &name, &name, reason);
        }
        self.operations.len() - 1
    }

    /// Whether the size is still in bounds.
    pub(crate) fn is_bounded(&self) -> bool {
        self.operations.len() < LARGEST
    }

    /// Places of variables that the operations use.
    pub(crate) fn slots_used(&self) -> u32 {
        self.most_slots
    }

    pub(crate) fn here(&self) -> u32 {
        self.operations.len() as u32
    }

    pub(crate) fn slot(&mut self) -> u32 {
        self.slots += 1;
        self.most_slots = self.most_slots.max(self.slots);
        self.slots - 1
    }

    pub(crate) fn element(&mut self, name: &str, place: &str, kind: &'static str) -> u32 {
        if let Some(element) = self.collective {
            return element;
        }
        let is_structure = matches!(kind, "loop" | "decision");
        let (infos, first) = if is_structure {
            (&mut self.structures, STRUCTURE)
        } else {
            (&mut self.elements, 0)
        };
        let next = first + infos.len() as u32;
        let key = (place.to_owned(), name.to_owned(), is_structure);
        let index = *self.element_index.entry(key).or_insert(next);
        if index == next {
            infos.push(ElementInfo {
                name: name.into(),
                place: place.into(),
                kind,
            });
        }
        index
    }

    fn resolve(&self, text: &Expression, scope: &Scope) -> Result<Typed, ExpressionError> {
        let none = BTreeMap::new();
        let functions = match self.collective {
            Some(_) => &none,
            None => &self.model.functions,
        };
        let resolver = Resolver {
            globals: &self.global_scope,
            functions,
            models: self.models,
        };
        resolver.compile(text, scope)
    }

    /// Compiles an expression of one type; a finding and a constant 1 if that fails.
    pub(crate) fn compile(
        &mut self,
        kind: Kind,
        text: &Expression,
        scope: &Scope,
        (element, place): (&str, &str),
    ) -> Compiled {
        let error = match self.resolve(text, scope) {
            Ok(typed) if typed.kind == kind => return typed.code,
            Ok(typed) => ExpressionError::Kind {
                part: text.to_string(),
                found: typed.kind,
                expected: kind,
            },
            Err(error) => error,
        };
        self.find(Rule::Expression, element, place, error.to_string());
        Compiled::Constant(1.0)
    }

    /// Gives variables their places and initial values, in any order.
    pub(crate) fn variables(&mut self, variables: &[Variable], scope: &mut Scope, place: &str) {
        let mut left: Vec<&Variable> = variables.iter().collect();
        for variable in variables {
            if scope.contains_key(&variable.name) {
                let reason = "its name stands for something else already".to_owned();
                self.find(Rule::Variable, &variable.name, place, reason);
                left.retain(|other| other.name != variable.name);
            }
        }
        loop {
            let before = left.len();
            let mut error = None;
            left.retain(|variable| {
                if place == self.model.name {
                    // Cost functions in a first value see the globals that are known by now.
                    self.global_scope.clone_from(scope);
                }
                match self.resolve(&variable.value, scope) {
                    Ok(typed) => {
                        let symbol = self.variable(&variable.name, typed);
                        scope.insert(variable.name.clone(), symbol);
                        false
                    }
                    Err(wrong) => {
                        error.get_or_insert((variable.name.clone(), wrong));
                        true
                    }
                }
            });
            let Some((name, error)) = error else { return };
            if left.len() == before {
                self.find(Rule::Expression, &name, place, error.to_string());
                scope.insert(name.clone(), Symbol::Value(1.0, Kind::Number));
                left.retain(|variable| variable.name != name);
            }
        }
    }

    fn variable(&mut self, name: &str, typed: Typed) -> Symbol {
        let changes =
            self.collective.is_some() || self.every_system || self.assigned.contains(name);
        match typed.code.constant() {
            Some(value) if !changes => Symbol::Value(value, typed.kind),
            _ => {
                let slot = self.slot();
                self.push(Operation::Assign {
                    slot,
                    value: typed.code,
                });
                Symbol::Slot(slot, typed.kind)
            }
        }
    }

    pub(crate) fn assign(
        &mut self,
        assignment: &Assignment,
        scope: &Scope,
        (element, place): (&str, &str),
    ) {
        if let Some((slot, kind)) = self.variable_of(&assignment.name, scope, (element, place)) {
            let value = self.compile(kind, &assignment.value, scope, (element, place));
            self.push(Operation::Assign { slot, value });
        }
    }

    /// Place and type of a variable that an element assigns; a finding if the name is not a
    /// variable.
    pub(crate) fn variable_of(
        &mut self,
        name: &str,
        scope: &Scope,
        (element, place): (&str, &str),
    ) -> Option<(u32, Kind)> {
        let what = match scope.get(name) {
            Some(Symbol::Slot(slot, kind)) => return Some((*slot, *kind)),
            Some(Symbol::Property(_) | Symbol::Value(..)) => "a property of the system",
            Some(Symbol::Argument(_)) => "an argument",
            None => "an unknown name",
        };
        let error = ExpressionError::NotAssignable {
            name: name.to_owned(),
            found: what,
        };
        self.find(Rule::Variable, element, place, error.to_string());
        None
    }

    /// Refuses a number of processes that a model of recorded runs is not known for.
    fn ranks(&mut self) {
        let found = self.system.processes;
        if let Some(ranks) = self.model.ranks.as_ref().filter(|ranks| !ranks.has(found)) {
            let reason = match ranks.recorded[..] {
                [run] => format!(
                    "{found} ranks, expected {run}: costs and partners are those of a run recorded on {run} ranks"
                ),
                _ => format!(
                    "{found} ranks, expected {ranks}: for others its patterns or costs are not known"
                ),
            };
            self.find(Rule::RecordedRanks, "ranks", &self.model.name, reason);
        }
    }

    pub(crate) fn globals(&mut self) {
        let mut scope = self.global_scope.clone();
        let place = self.model.name.clone();
        self.variables(&self.model.globals, &mut scope, &place);
        self.global_scope = scope;
    }

    /// Checks all cost functions, even unused ones; their arguments are treated as numbers.
    pub(crate) fn functions(&mut self) {
        for (name, function) in &self.model.functions {
            let mut scope = self.global_scope.clone();
            for parameter in &function.parameters {
                scope.insert(parameter.clone(), Symbol::Slot(0, Kind::Number));
            }
            if let Err(error) = self.resolve(&function.value, &scope) {
                self.find(Rule::Expression, name, "functions", error.to_string());
            }
        }
    }

    pub(crate) fn main(&mut self) {
        let main = self.model.main.clone();
        let place = self.model.name.clone();
        self.activity(&main, &place);
        self.push(Operation::End);
    }

    /// Inserts an activity of the model; `user` is the element that leads to it.
    pub(crate) fn activity(&mut self, name: &str, user: &str) {
        let Some(activity) = self.model.activities.get(name) else {
            let known: Vec<_> = self.model.activities.keys().map(String::as_str).collect();
            let reason = format!("there is no such activity, expected {}", known.join(", "));
            self.find(Rule::UnknownActivity, name, user, reason);
            return;
        };
        if self.inside.iter().any(|outer| outer == name) {
            let circle = format!("{} -> {name}", self.inside.join(" -> "));
            self.find(Rule::Recursion, name, user, circle);
            return;
        }
        self.reached.insert(name.into());
        self.inside.push(name.into());
        let slots = self.slots;
        let mut scope = self.global_scope.clone();
        self.variables(&activity.locals, &mut scope, name);
        self.flow(&activity.flow, &mut scope, name);
        self.slots = slots;
        self.inside.pop();
    }

    /// Inserts a collective, given the values of its arguments.
    pub(crate) fn collective(&mut self, name: &str, arguments: &[(&str, Compiled)], element: u32) {
        let Some(activity) = crate::collectives::activity(name) else {
            return;
        };
        let slots = self.slots;
        let mut scope = self.system.scope(false);
        for (name, value) in arguments {
            let symbol = match value.constant() {
                Some(value) => Symbol::Value(value, Kind::Number),
                None => {
                    let (slot, value) = (self.slot(), value.clone());
                    self.push(Operation::Assign { slot, value });
                    Symbol::Slot(slot, Kind::Number)
                }
            };
            scope.insert((*name).to_owned(), symbol);
        }
        self.collective = Some(element);
        self.group(&mut scope, name);
        self.variables(&activity.locals, &mut scope, name);
        self.flow(&activity.flow, &mut scope, name);
        self.collective = None;
        self.slots = slots;
    }

    /// Sets `process`, `processes` and `rounds` to those of the group of a collective.
    fn group(&mut self, scope: &mut Scope, place: &str) {
        let at = (place, place);
        let name = |name: &str| Expression::Name(name.to_owned());
        let binary = |operator, a, b| Expression::Binary(operator, Box::new(a), Box::new(b));
        let mut processes = None;
        if let Some(size) = scope.get(GROUP_SIZE).cloned() {
            let behind = binary(Binary::Subtract, name("process"), name(GROUP_FIRST));
            let number = binary(Binary::Divide, behind, name(GROUP_STRIDE));
            let value = self.compile(Kind::Number, &number, scope, at);
            let slot = self.slot();
            self.push(Operation::Assign { slot, value });
            scope.insert("process".into(), Symbol::Slot(slot, Kind::Number));
            processes = Some(name(GROUP_SIZE));
            scope.insert("processes".into(), size);
        }
        let rounds = match processes {
            None => {
                let rounds = 1_u64 << self.system.processes.max(1).ilog2();
                Symbol::Value(rounds as f64, Kind::Number)
            }
            Some(size) => {
                // 2 to the whole part of the logarithm.
                let call = |name: &str, argument| Expression::Call(name.to_owned(), vec![argument]);
                let log2 = call("floor", call("log2", size));
                let ln = Expression::Number(std::f64::consts::LN_2);
                let rounds = call("round", call("exp", binary(Binary::Multiply, log2, ln)));
                let value = self.compile(Kind::Number, &rounds, scope, at);
                match value.constant() {
                    Some(value) => Symbol::Value(value, Kind::Number),
                    None => {
                        let slot = self.slot();
                        self.push(Operation::Assign { slot, value });
                        Symbol::Slot(slot, Kind::Number)
                    }
                }
            }
        };
        scope.insert("rounds".into(), rounds);
    }

    pub(crate) fn unmatched(&mut self) {
        let Tags {
            sent,
            received,
            unknown_sent,
            unknown_received,
        } = std::mem::take(&mut self.tags);
        for (tag, (element, place)) in &sent {
            if !unknown_received && !received.contains_key(tag) {
                let reason = format!("nothing receives tag {tag}");
                self.find(Rule::UnmatchedSend, element, place, reason);
            }
        }
        for (tag, (element, place)) in &received {
            if !unknown_sent && !sent.contains_key(tag) {
                let reason = format!("nothing sends tag {tag}");
                self.find(Rule::UnmatchedReceive, element, place, reason);
            }
        }
    }
}

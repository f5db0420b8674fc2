//! The flow of elements as operations.
//!
//! A program model is a tree of elements; a simulated process runs a list of operations with jumps.
//! This file lowers one into the other, once for all processes: what differs between them (ranks,
//! sizes, conditions) stays an expression. Jumps forward are pushed with target 0 and get their
//! target when the place is reached (`land`).
//!
//! ```text
//! loop n { send }                           decision { a: x, else: y }
//!   k: LoopStart count = n, exit = ─┐         JumpUnless a ─┐
//!   k+1: Send                       │         x             │
//!   LoopNext start = k+1            │         Jump ─────────┼─┐
//!   ◀───────────────────────────────┘         y ◀───────────┘ │
//!                                             ◀───────────────┘
//! ```
//!
//! A collective is not an operation. It is replaced by the point-to-point messages of the algorithm
//! that the MPI library would choose (`put_in`, `choose`); those messages have a negative tag, so
//! that they never match the program's own. If the size is an expression, all algorithms are inserted
//! and the choice is made at run time.

use std::collections::BTreeSet;

use crate::chance::chance_calls;
use crate::check::Rule;
use crate::collectives::Choice;
use crate::expression::{Binary, Compiled, Expression, Kind, Scope, Symbol};
use crate::lower::Lowering;
use crate::model::{Branch, Collective, Element, ElementKind, Group};
use crate::operation::{Mode, Operation, Region};
use crate::symbols::ANY;

/// Tag of the messages of collectives; those of programs are ≥ 0.
const COLLECTIVE_TAG: f64 = -3.0;

/// Names in the scope of a collective of a group; no expression of a file can name them.
pub(crate) const GROUP_FIRST: &str = "first of the group";
pub(crate) const GROUP_SIZE: &str = "size of the group";
pub(crate) const GROUP_STRIDE: &str = "stride of the group";

/// The rank of the one in a group that has a number in it, or `none`.
fn in_group(number: &Expression) -> Expression {
    let name = |name: &str| Expression::Name(name.to_owned());
    let binary = |operator, a, b| Expression::Binary(operator, Box::new(a), Box::new(b));
    let further = binary(Binary::Multiply, name(GROUP_STRIDE), number.clone());
    Expression::Choice(Box::new([
        binary(Binary::Equal, number.clone(), name("none")),
        name("none"),
        binary(Binary::Add, name(GROUP_FIRST), further),
    ]))
}

/// Adds the names that code of a flow assigns.
pub(crate) fn assigned<'a>(flow: &'a [Element], names: &mut BTreeSet<&'a str>) {
    for element in flow {
        match &element.kind {
            ElementKind::Action { code, .. } => {
                names.extend(code.iter().map(|assignment| assignment.name.as_str()));
            }
            ElementKind::Receive { sender, .. } | ElementKind::WaitAny { sender } => {
                names.extend(sender.as_deref());
            }
            ElementKind::Decision { branches } => {
                branches.iter().for_each(|b| assigned(&b.flow, names));
            }
            ElementKind::Loop { flow, .. }
            | ElementKind::While { flow, .. }
            | ElementKind::Parallel { flow, .. }
            | ElementKind::Critical { flow, .. } => assigned(flow, names),
            _ => {}
        }
    }
}

/// Words of a message element.
struct Message<'a> {
    peer: &'a Expression,
    tag: &'a Expression,
    bytes: Option<&'a Expression>,
    blocking: bool,
    /// The variable that gets its sender.
    sender: Option<&'a str>,
}

impl Lowering<'_> {
    pub(crate) fn flow(&mut self, flow: &[Element], scope: &mut Scope, place: &str) {
        for element in flow {
            if !self.is_bounded() {
                return;
            }
            self.one(element, scope, place);
        }
    }

    fn one(&mut self, element: &Element, scope: &mut Scope, place: &str) {
        let name = element.name.as_str();
        let at = (name, place);
        let inner = format!("{place}/{name}");
        match &element.kind {
            ElementKind::Action { cost, code } => {
                for assignment in code {
                    self.assign(assignment, scope, at);
                }
                if let Some(cost) = cost {
                    self.action(cost, scope, at);
                }
            }
            ElementKind::Activity { activity } => self.activity(activity, &inner),
            ElementKind::Decision { branches } => self.decision(branches, scope, at, &inner),
            ElementKind::Loop {
                count,
                variable,
                flow,
            } => {
                let count = self.compile(Kind::Number, count, scope, at);
                self.rounds(count, variable.as_deref(), flow, scope, at);
            }
            ElementKind::While { condition, flow } => {
                let start = self.here();
                let condition = self.condition(condition, scope, at);
                self.dead(&condition, false, at, "its condition never holds");
                let exit = self.push(Operation::JumpUnless {
                    condition,
                    target: 0,
                });
                self.flow(flow, scope, &inner);
                self.push(Operation::Jump { target: start });
                self.land(exit);
            }
            ElementKind::Parallel { threads, flow } => self.parallel(threads, flow, scope, at),
            ElementKind::Critical { lock, flow } => self.critical(lock, flow, scope, at),
            ElementKind::Send {
                to,
                bytes,
                tag,
                blocking,
            } => self.message(
                &Message {
                    peer: to,
                    tag,
                    bytes: Some(bytes),
                    blocking: *blocking,
                    sender: None,
                },
                scope,
                at,
            ),
            ElementKind::Receive {
                from,
                tag,
                blocking,
                sender,
            } => self.message(
                &Message {
                    peer: from,
                    tag,
                    bytes: None,
                    blocking: *blocking,
                    sender: sender.as_deref(),
                },
                scope,
                at,
            ),
            ElementKind::Wait => {
                self.outside_parallel(at);
                let mode = match self.collective {
                    Some(_) => Mode::Internal,
                    None => Mode::Nonblocking,
                };
                let element = self.element(name, place, "wait");
                self.push(Operation::Wait { mode, element });
            }
            ElementKind::WaitAny { sender } => {
                self.outside_parallel(at);
                let sender = self.sender(sender.as_deref(), scope, at);
                let element = self.element(name, place, "waitany");
                self.push(Operation::WaitAny { sender, element });
            }
            ElementKind::Collective(collective) => self.all(collective, scope, at),
        }
    }

    fn action(&mut self, cost: &Expression, scope: &Scope, at: (&str, &str)) {
        let cost = self.compile(Kind::Number, cost, scope, at);
        if let Some(value) = cost
            .constant()
            .filter(|value| value.is_nan() || *value < 0.0)
        {
            let reason = format!("its cost is {value} s, expected at least 0");
            self.find(Rule::NegativeCost, at.0, at.1, reason);
        }
        let element = self.element(at.0, at.1, "action");
        self.push(Operation::Compute { cost, element });
    }

    /// A finding where a condition is always `value`.
    fn dead(&mut self, condition: &Compiled, value: bool, at: (&str, &str), reason: &str) {
        let always = condition.constant().is_some_and(|c| (c != 0.0) == value);
        if always && self.every_system {
            self.find(Rule::UnreachableElement, at.0, at.1, reason.to_owned());
        }
    }

    /// Sets the target of an earlier jump to this place.
    fn land(&mut self, jump: usize) {
        let here = self.here();
        match &mut self.operations[jump] {
            Operation::Jump { target }
            | Operation::JumpUnless { target, .. }
            | Operation::LoopStart { exit: target, .. } => *target = here,
            _ => {}
        }
    }

    fn decision(&mut self, branches: &[Branch], scope: &mut Scope, at: (&str, &str), inner: &str) {
        let mut ends = Vec::new();
        let mut otherwise = false;
        for (i, branch) in branches.iter().enumerate() {
            if otherwise {
                let reason = format!("branch {} comes after the one for all else", i + 1);
                self.find(Rule::UnreachableElement, at.0, at.1, reason);
            }
            // A guard that was tested before cannot hold here, unless it is drawn anew.
            let same = |other: &Branch| other.guard.is_some() && other.guard == branch.guard;
            let is_drawn = branch
                .guard
                .as_ref()
                .is_some_and(|guard| chance_calls(guard) > 0);
            if !is_drawn && branches[..i].iter().any(same) {
                let reason = format!("branch {} has the guard of one before", i + 1);
                self.find(Rule::OverlappingGuards, at.0, at.1, reason);
            }
            let skip = branch.guard.as_ref().map(|guard| {
                let condition = self.condition(guard, scope, at);
                self.dead(&condition, false, at, "a guard never holds");
                self.push(Operation::JumpUnless {
                    condition,
                    target: 0,
                })
            });
            otherwise |= skip.is_none();
            self.flow(&branch.flow, scope, inner);
            ends.push(self.push(Operation::Jump { target: 0 }));
            if let Some(skip) = skip {
                self.land(skip);
            }
        }
        // No branch may hold: an error of the run, at the element.
        if !otherwise {
            let element = self.element(at.0, at.1, "decision");
            self.push(Operation::NoBranch { element });
        }
        ends.into_iter().for_each(|end| self.land(end));
    }

    fn rounds(
        &mut self,
        count: Compiled,
        variable: Option<&str>,
        flow: &[Element],
        scope: &mut Scope,
        at: (&str, &str),
    ) {
        let inner = format!("{}/{}", at.1, at.0);
        // Counter and limit are free again behind the loop: loops one after the other share their
        // places.
        let slots = self.slots;
        let (counter, limit) = (self.slot(), self.slot());
        let element = self.element(at.0, at.1, "loop");
        let start = self.push(Operation::LoopStart {
            count,
            counter,
            limit,
            exit: 0,
            element,
        });
        // The loop's variable is known in its body only.
        let mut body = scope.clone();
        if let Some(variable) = variable {
            let symbol = Symbol::Slot(counter, Kind::Number);
            if body.insert(variable.to_owned(), symbol).is_some() {
                let reason = format!("its variable \"{variable}\" stands for something else");
                self.find(Rule::Variable, at.0, at.1, reason);
            }
        }
        let first = self.here();
        self.flow(flow, &mut body, &inner);
        self.push(Operation::LoopNext {
            counter,
            limit,
            start: first,
        });
        self.land(start);
        self.slots = slots;
    }

    fn outside_parallel(&mut self, at: (&str, &str)) {
        if self.in_parallel && self.collective.is_none() {
            let reason = "it lies in a parallel region, expected actions, decisions, loops and \
                          critical sections alone"
                .to_owned();
            self.find(Rule::ParallelBody, at.0, at.1, reason);
        }
    }

    fn parallel(
        &mut self,
        threads: &Expression,
        flow: &[Element],
        scope: &mut Scope,
        at: (&str, &str),
    ) {
        self.outside_parallel(at);
        let threads = self.compile(Kind::Number, threads, scope, at);
        let element = self.element(at.0, at.1, "parallel");
        // A region has a list of its own, with jumps within it alone: each thread runs it from the
        // start.
        let outer = std::mem::take(&mut self.operations);
        let was = std::mem::replace(&mut self.in_parallel, true);
        self.flow(flow, scope, &format!("{}/{}", at.1, at.0));
        self.push(Operation::End);
        self.in_parallel = was;
        let operations = std::mem::replace(&mut self.operations, outer);
        self.push(Operation::Parallel(Box::new(Region {
            threads,
            operations,
            element,
        })));
    }

    fn critical(&mut self, lock: &str, flow: &[Element], scope: &mut Scope, at: (&str, &str)) {
        if !self.in_parallel {
            let reason = "it lies outside of any parallel region".to_owned();
            self.find(Rule::CriticalOutside, at.0, at.1, reason);
        }
        // Critical sections of one name share a lock, wherever they are.
        let next = self.locks.len() as u32;
        let lock = *self.locks.entry(lock.into()).or_insert(next);
        self.push(Operation::Lock { lock });
        self.flow(flow, scope, &format!("{}/{}", at.1, at.0));
        self.push(Operation::Unlock { lock });
    }

    fn message(&mut self, message: &Message<'_>, scope: &Scope, at: (&str, &str)) {
        self.outside_parallel(at);
        let peer = if self.collective.is_some() && scope.contains_key(GROUP_FIRST) {
            self.compile(Kind::Number, &in_group(message.peer), scope, at)
        } else {
            self.compile(Kind::Number, message.peer, scope, at)
        };
        let tag = match self.collective {
            Some(_) => Compiled::Constant(COLLECTIVE_TAG),
            None => self.compile(Kind::Number, message.tag, scope, at),
        };
        // Requests of a collective are apart from the program's: its wait must not wait for theirs.
        let mode = match (message.blocking, self.collective) {
            (true, _) => Mode::Blocking,
            (false, Some(_)) => Mode::Internal,
            (false, None) => Mode::Nonblocking,
        };
        if self.collective.is_none() {
            self.note_tag(&tag, message.bytes.is_some(), at);
        }
        let kind = match (message.bytes.is_some(), message.blocking) {
            (true, true) => "send",
            (true, false) => "isend",
            (false, true) => "recv",
            (false, false) => "irecv",
        };
        let element = self.element(at.0, at.1, kind);
        let collective = self.collective.is_some();
        let operation = match message.bytes {
            Some(bytes) => Operation::Send {
                to: peer,
                bytes: self.compile(Kind::Number, bytes, scope, at),
                tag,
                mode,
                collective,
                element,
            },
            None => Operation::Receive {
                from: peer,
                tag,
                mode,
                collective,
                element,
                sender: self.sender(message.sender, scope, at),
            },
        };
        self.push(operation);
    }

    /// The place of the variable that gets the sender of a message.
    fn sender(&mut self, name: Option<&str>, scope: &Scope, at: (&str, &str)) -> Option<u32> {
        let (slot, kind) = self.variable_of(name?, scope, at)?;
        if kind != Kind::Number {
            let reason = format!(
                "its sender \"{}\" is a truth value, expected a number",
                name?
            );
            self.find(Rule::Variable, at.0, at.1, reason);
        }
        Some(slot)
    }

    fn note_tag(&mut self, tag: &Compiled, sent: bool, at: (&str, &str)) {
        let place = (at.0.to_owned(), at.1.to_owned());
        let constant = tag.constant().filter(|tag| *tag != ANY);
        match (constant, sent) {
            (Some(tag), true) => drop(self.tags.sent.entry(tag as i64).or_insert(place)),
            (Some(tag), false) => drop(self.tags.received.entry(tag as i64).or_insert(place)),
            (None, true) => self.tags.unknown_sent = true,
            (None, false) => self.tags.unknown_received = true,
        }
    }

    fn all(&mut self, collective: &Collective, scope: &Scope, at: (&str, &str)) {
        self.outside_parallel(at);
        let Collective {
            kind,
            root,
            bytes,
            group,
        } = collective;
        let element = self.element(at.0, at.1, kind.name());
        let mut number = |text: &Expression| self.compile(Kind::Number, text, scope, at);
        let mut arguments = vec![("root", number(root)), ("bytes", number(bytes))];
        if let Some(Group {
            first,
            size,
            stride,
        }) = group
        {
            let size = number(size);
            arguments.extend([
                (GROUP_FIRST, number(first)),
                (GROUP_SIZE, size),
                (GROUP_STRIDE, number(stride)),
            ]);
        }
        // Of pipelines.
        arguments.push(("segment", Compiled::Constant(65_536.0)));
        self.put_in(kind.name(), &arguments, element);
    }

    /// Inserts a collective and counts it, given the values of its arguments, unless the process is in no group.
    pub(crate) fn put_in(
        &mut self,
        kind: &'static str,
        arguments: &[(&str, Compiled)],
        element: u32,
    ) {
        let size = arguments.iter().find(|(name, _)| *name == GROUP_SIZE);
        // A process outside of every group has size 0, and takes no part.
        let skip = size.map(|(_, size)| {
            let zero = Compiled::Constant(0.0);
            let condition = Compiled::Binary(Binary::Greater, Box::new([size.clone(), zero]));
            self.push(Operation::JumpUnless {
                condition,
                target: 0,
            })
        });
        self.push(Operation::Count { element });
        self.choose(kind, arguments, element);
        if let Some(skip) = skip {
            self.land(skip);
        }
    }

    /// Inserts the algorithm that the library chooses; if the size is known only at run time, so is the choice.
    fn choose(&mut self, kind: &'static str, arguments: &[(&str, Compiled)], element: u32) {
        let size = arguments.iter().find(|(name, _)| *name == GROUP_SIZE);
        let size = size.and_then(|(_, size)| size.constant());
        // The library's choice for a group of another size is not known before the run.
        let processes = size.map_or(self.system.processes, |size| size as u32);
        let choices = self.collectives.choices(kind, processes);
        let bytes = arguments.iter().find(|(name, _)| *name == "bytes");
        let constant = bytes.map_or(Some(0.0), |(_, bytes)| bytes.constant());
        if let Some(size) = constant {
            let fits =
                |choice: &&Choice| size <= choice.most_bytes || choice.most_bytes.is_infinite();
            if let Some(choice) = choices.iter().find(fits) {
                self.collective(choice.activity, arguments, element);
            }
            return;
        }
        let mut ends = Vec::new();
        for choice in &choices {
            let skip = bytes
                .filter(|_| choice.most_bytes.is_finite())
                .map(|(_, bytes)| {
                    let most = Compiled::Constant(choice.most_bytes);
                    let condition =
                        Compiled::Binary(Binary::AtMost, Box::new([bytes.clone(), most]));
                    self.push(Operation::JumpUnless {
                        condition,
                        target: 0,
                    })
                });
            self.collective(choice.activity, arguments, element);
            ends.push(self.push(Operation::Jump { target: 0 }));
            if let Some(skip) = skip {
                self.land(skip);
            }
        }
        ends.into_iter().for_each(|end| self.land(end));
    }
}

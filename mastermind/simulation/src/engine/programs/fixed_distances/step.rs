//! Operations in the form of this engine: values that are the same for all processes are computed
//! ahead.

use crate::machine::Machine;
use mastermind_programs::expression::Compiled;
use mastermind_programs::{ANY, Mode, NOBODY, Operation, Program};

use crate::engine::limits::{MAX_COST_S, nanoseconds};
use crate::engine::programs::costs::Costs;

/// A number that a step needs.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(super) enum Operand<'a> {
    Constant(f64),
    Slot(u32),
    Code(&'a Compiled),
}

impl<'a> Operand<'a> {
    fn of(code: &'a Compiled) -> Self {
        match code {
            Compiled::Constant(value) => Self::Constant(*value),
            Compiled::Slot(slot) => Self::Slot(*slot),
            code => Self::Code(code),
        }
    }
}

/// An operation; see [`Operation`].
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(super) enum Step<'a> {
    Work {
        time_ns: u64,
        element: u32,
    },
    Compute {
        cost: Operand<'a>,
        element: u32,
    },
    Assign {
        slot: u32,
        value: Operand<'a>,
        /// Whether it may change the receivers of messages.
        redirects: bool,
    },
    Jump {
        target: u32,
    },
    JumpUnless {
        condition: Operand<'a>,
        target: u32,
    },
    LoopStart {
        count: Operand<'a>,
        counter: u32,
        limit: u32,
        exit: u32,
    },
    LoopNext {
        counter: u32,
        limit: u32,
        start: u32,
    },
    Count {
        element: u32,
    },
    Send {
        to: Operand<'a>,
        tag: i32,
        element: u32,
        calls: u32,
        /// In a node, between nodes.
        costs: [Costs; 2],
    },
    Receive {
        from: Operand<'a>,
        tag: i32,
        element: u32,
        calls: u32,
    },
    End,
}

/// The operations of a program, if this engine supports all of them.
pub(super) fn steps<'a>(
    program: &'a Program,
    machine: &Machine,
    directs: &[bool],
) -> Option<Vec<Step<'a>>> {
    let steps = program.operations.iter();
    steps
        .map(|operation| step(operation, machine, directs))
        .collect()
}

fn step<'a>(operation: &'a Operation, machine: &Machine, directs: &[bool]) -> Option<Step<'a>> {
    Some(match operation {
        Operation::Compute { cost, element } => match cost.constant() {
            Some(cost) if !(0.0..=MAX_COST_S).contains(&cost) => return None,
            Some(cost) => Step::Work {
                time_ns: nanoseconds(cost),
                element: *element,
            },
            None => Step::Compute {
                cost: Operand::of(cost),
                element: *element,
            },
        },
        Operation::Assign { slot, value } => Step::Assign {
            slot: *slot,
            value: Operand::of(value),
            redirects: directs[*slot as usize],
        },
        Operation::Jump { target } => Step::Jump { target: *target },
        Operation::JumpUnless { condition, target } => Step::JumpUnless {
            condition: Operand::of(condition),
            target: *target,
        },
        Operation::LoopStart {
            count,
            counter,
            limit,
            exit,
            ..
        } => Step::LoopStart {
            count: Operand::of(count),
            counter: *counter,
            limit: *limit,
            exit: *exit,
        },
        Operation::LoopNext {
            counter,
            limit,
            start,
        } => Step::LoopNext {
            counter: *counter,
            limit: *limit,
            start: *start,
        },
        Operation::Count { element } => Step::Count { element: *element },
        Operation::Send {
            to,
            bytes,
            tag,
            mode: Mode::Blocking,
            collective,
            element,
        } => Step::Send {
            to: Operand::of(to),
            tag: constant_tag(tag, *collective)?,
            element: *element,
            calls: u32::from(!collective),
            costs: Costs::of_both(bytes.constant()?, machine)?,
        },
        Operation::Receive {
            from,
            tag,
            mode: Mode::Blocking,
            collective,
            element,
            sender: None,
        } if from.constant() != Some(ANY) => Step::Receive {
            from: Operand::of(from),
            tag: constant_tag(tag, *collective)?,
            element: *element,
            calls: u32::from(!collective),
        },
        Operation::End => Step::End,
        _ => return None,
    })
}

fn constant_tag(tag: &Compiled, collective: bool) -> Option<i32> {
    let value = tag.constant()?;
    let whole = value as i32;
    (collective || (f64::from(whole) == value && whole >= 0)).then_some(whole)
}

/// A rank that a step names: a process, or none; `None` if it is neither.
#[inline]
pub(super) fn rank(value: f64, processes: u32) -> Option<Option<u32>> {
    let whole = value as u32;
    if f64::from(whole) == value && whole < processes {
        return Some(Some(whole));
    }
    (value == NOBODY && value != ANY).then_some(None)
}

//! The program as the engine for eager messages runs it: one list of small steps, their operands resolved to places.
//!
//! A place holds a variable, the rank of the visited process, an intermediate value of one operation, or a constant. So
//! an expression costs a step for each of its functions, and a condition is one with its jump. `{ send = "s", to =
//! "(process + 1) % processes" }` is two steps: the neighbour's rank, and the send.

use std::collections::HashMap;

use crate::engine::limits::{MAX_COST_S, nanoseconds};
use crate::engine::programs::costs::Costs;
use crate::machine::Machine;
use mastermind_models::expression::Binary;
use mastermind_programs::expression::{Builtin, Compiled};
use mastermind_programs::{ANY, Mode, Operation, Program};

/// Where a number is: its index in a [`Scratch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScratchIndex(u16);

/// Most numbers of a scratch; a power of two.
const MAX_PLACES: usize = 2048;

/// Places for intermediate values of one operation.
const MAX_TEMPORARIES: usize = 255;

impl ScratchIndex {
    /// Nowhere.
    pub(super) const NONE: Self = Self(u16::MAX);

    fn of(at: usize) -> Option<Self> {
        (at < MAX_PLACES).then_some(Self(at as u16))
    }
}

/// The numbers that steps work with: the variables of the process that is visited, its rank, temporaries, constants.
#[derive(Debug, Clone)]
pub(super) struct Scratch([f64; MAX_PLACES]);

impl Scratch {
    /// The number of a place.
    #[inline(always)]
    pub(super) fn get(&self, place: ScratchIndex) -> f64 {
        self.0[usize::from(place.0) % MAX_PLACES]
    }

    /// Gives a place another.
    #[inline(always)]
    pub(super) fn set(&mut self, place: ScratchIndex, value: f64) {
        self.0[usize::from(place.0) % MAX_PLACES] = value;
    }

    /// Takes the variables and the rank of a process in.
    #[inline(always)]
    pub(super) fn enter(&mut self, slots: &[f64], process: u32) {
        self.0[..slots.len()].copy_from_slice(slots);
        self.0[slots.len()] = f64::from(process);
    }

    /// The first so many: the variables.
    #[inline(always)]
    pub(super) fn slots(&self, width: usize) -> &[f64] {
        &self.0[..width]
    }
}

/// An operator whose value is a truth, and its operands.
type Condition = (Binary, [ScratchIndex; 2]);

/// A step. Targets are indices of steps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// Takes the processor for a known time.
    Work {
        element: u32,
        time_ns: u64,
    },
    /// Takes the processor for the time that an expression gives.
    Compute {
        element: u32,
        cost: u32,
    },
    /// Puts `a + b`, `a - b` or `a * b` into a place, or `a * b + c`.
    Add([ScratchIndex; 2], ScratchIndex),
    Subtract([ScratchIndex; 2], ScratchIndex),
    Multiply([ScratchIndex; 2], ScratchIndex),
    MultiplyAdd([ScratchIndex; 3], ScratchIndex),
    /// Puts `(a + b) % n` there, or `(a - b) % n`: the rank of a neighbour.
    Neighbour([ScratchIndex; 3], ScratchIndex),
    NeighbourBack([ScratchIndex; 3], ScratchIndex),
    /// Puts the value of another operator, or of a built-in function, there.
    Binary(Binary, [ScratchIndex; 2], ScratchIndex),
    Builtin(Builtin, [ScratchIndex; 2], ScratchIndex),
    /// Puts the first of two values there if a condition holds, the second otherwise.
    Select(Condition, [ScratchIndex; 2], ScratchIndex),
    Copy(ScratchIndex, ScratchIndex),
    Jump {
        target: u32,
    },
    /// Goes to a step unless a condition holds.
    JumpUnless(Condition, u32),
    /// Goes back to a step if a condition holds.
    Repeat(Condition, u32),
    LoopStart {
        count: ScratchIndex,
        counter: ScratchIndex,
        limit: ScratchIndex,
        exit: u32,
    },
    LoopNext {
        counter: ScratchIndex,
        limit: ScratchIndex,
        start: u32,
    },
    Count {
        element: u32,
    },
    /// Puts the value of an expression that needs more than functions into a place.
    Evaluate {
        expression: u32,
        to: ScratchIndex,
    },
    /// The receivers of messages may have changed.
    Redirect,
    Send {
        to: ScratchIndex,
        tag: Tag,
        /// Whether it is counted, and is no part of a collective.
        is_call: bool,
        element: u32,
        size: Size,
    },
    Receive {
        from: ScratchIndex,
        tag: Tag,
        /// Place for the sender's rank, or [`ScratchIndex::NONE`].
        sender: ScratchIndex,
        mode: Mode,
        /// Whether it is counted, and is no part of a collective.
        is_call: bool,
        element: u32,
    },
    Wait {
        mode: Mode,
        element: u32,
    },
    WaitAny {
        sender: ScratchIndex,
        element: u32,
    },
    End,
    /// An error, which the engine for all programs reports.
    Fail,
}

impl Step {
    /// Whether [`Code::compute`] runs it.
    #[inline(always)]
    pub(super) fn is_timeless(&self) -> bool {
        !matches!(
            self,
            Self::Work { .. }
                | Self::Compute { .. }
                | Self::Evaluate { .. }
                | Self::Redirect
                | Self::Send { .. }
                | Self::Receive { .. }
                | Self::Wait { .. }
                | Self::WaitAny { .. }
                | Self::End
                | Self::Fail
        )
    }
}

/// How large a message is: an index of [`Code::costs`], or of [`Code::expressions`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Size(u32);

impl Size {
    const VARIES: u32 = 1 << 31;

    /// The index of its costs, or that of the expression of its bytes.
    #[inline(always)]
    pub(super) fn costs(self) -> Result<usize, usize> {
        if self.0 & Self::VARIES == 0 {
            Ok(self.0 as usize)
        } else {
            Err((self.0 & !Self::VARIES) as usize)
        }
    }
}

/// The tag of a message: a whole number, or, less than all of these, the place that it is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tag(i32);

impl Tag {
    /// A number as a tag; `None` for an invalid one. Tags of collectives, which are constants, differ from all others.
    #[inline]
    fn whole(tag: f64, is_call: bool, is_receive: bool) -> Option<i32> {
        let whole = tag as i32;
        let is_any = is_receive && tag == ANY;
        (!is_call || is_any || (f64::from(whole) == tag && whole >= 0)).then_some(whole)
    }

    /// Its number, [`ANY_TAG`](crate::events::messages::ANY_TAG) for any; `None` for an invalid
    /// one.
    #[inline(always)]
    pub(super) fn number(self, scratch: &Scratch, is_call: bool, is_receive: bool) -> Option<i32> {
        let place = self.0.wrapping_sub(i32::MIN) as u32;
        if place as usize >= MAX_PLACES {
            return Some(self.0);
        }
        Self::whole(scratch.get(ScratchIndex(place as u16)), is_call, is_receive)
    }
}

/// A program in steps.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) steps: Vec<Step>,
    /// Initial state of a visit, except for the state of its process.
    pub(super) scratch: Scratch,
    n_places: usize,
    /// Variables of a process.
    width: usize,
    pub(super) expressions: Vec<Compiled>,
    /// Of the messages of known size: in a node, between nodes.
    pub(super) costs: Vec<[Costs; 2]>,
    /// Receivers of the messages.
    pub(super) receivers: Vec<Compiled>,
    /// By operation: its first step.
    pub(super) begins: Vec<u32>,
    constants: HashMap<u64, ScratchIndex>,
    n_temporaries: usize,
    /// Whether collectives have receives that do not block.
    has_internal: bool,
}

impl Code {
    /// The steps of a program; `None` if it has operations that this engine does not support.
    ///
    /// # Arguments
    /// * `directs` - by variable: whether it determines the receiver of a message
    pub(super) fn of(program: &Program, machine: &Machine, directs: &[bool]) -> Option<Self> {
        let width = program.slots as usize;
        let mut code = Self {
            steps: Vec::new(),
            scratch: Scratch([0.0; MAX_PLACES]),
            n_places: width + 1 + MAX_TEMPORARIES,
            width,
            expressions: Vec::new(),
            costs: Vec::new(),
            receivers: Vec::new(),
            begins: Vec::new(),
            constants: HashMap::new(),
            n_temporaries: 0,
            has_internal: program.operations.iter().any(|operation| {
                matches!(operation, Operation::Receive { mode, .. } if *mode == Mode::Internal)
            }),
        };
        ScratchIndex::of(code.n_places)?;
        let operations = &program.operations;
        for operation in operations {
            code.begins.push(code.steps.len() as u32);
            code.n_temporaries = 0;
            match operation {
                Operation::Jump { target } => code.jump(operations, *target)?,
                _ => code.add(operation, machine, directs)?,
            }
        }
        let begins = &code.begins;
        for step in &mut code.steps {
            if let Step::Jump { target }
            | Step::JumpUnless(_, target)
            | Step::Repeat(_, target)
            | Step::LoopStart { exit: target, .. }
            | Step::LoopNext { start: target, .. } = step
            {
                *target = *begins.get(*target as usize)?;
            }
        }
        Some(code)
    }

    /// Something for each operation, by step.
    pub(super) fn by_step<T: Copy>(&self, by_operation: &[T]) -> Vec<T> {
        let ends = self.begins.iter().skip(1).copied();
        let ends = ends.chain([self.steps.len() as u32]);
        let lengths = self.begins.iter().zip(ends).map(|(begin, end)| end - begin);
        let repeated = by_operation.iter().zip(lengths);
        repeated
            .flat_map(|(one, n)| std::iter::repeat_n(*one, n as usize))
            .collect()
    }

    /// Adds the steps of an operation; targets are indices of operations yet.
    fn add(&mut self, operation: &Operation, machine: &Machine, directs: &[bool]) -> Option<()> {
        let step = match operation {
            Operation::Compute { cost, element } => match cost.constant() {
                Some(cost) if !(0.0..=MAX_COST_S).contains(&cost) => Step::Fail,
                Some(cost) => Step::Work {
                    time_ns: nanoseconds(cost),
                    element: *element,
                },
                None => Step::Compute {
                    cost: self.expression(cost),
                    element: *element,
                },
            },
            Operation::Assign { slot, value } => {
                self.assign(ScratchIndex::of(*slot as usize)?, value)?;
                if !directs[*slot as usize] {
                    return Some(());
                }
                Step::Redirect
            }
            Operation::Jump { target } => Step::Jump { target: *target },
            Operation::JumpUnless { condition, target } => {
                let step = self.jump_unless(condition, *target)?;
                self.steps.push(step);
                return Some(());
            }
            Operation::LoopStart {
                count,
                counter,
                limit,
                exit,
                ..
            } => Step::LoopStart {
                count: self.place(count)?,
                counter: ScratchIndex::of(*counter as usize)?,
                limit: ScratchIndex::of(*limit as usize)?,
                exit: *exit,
            },
            Operation::LoopNext {
                counter,
                limit,
                start,
            } => Step::LoopNext {
                counter: ScratchIndex::of(*counter as usize)?,
                limit: ScratchIndex::of(*limit as usize)?,
                start: *start,
            },
            Operation::Count { element } => Step::Count { element: *element },
            Operation::Send {
                to,
                bytes,
                tag,
                collective,
                element,
                ..
            } => {
                self.receivers.push(to.clone());
                Step::Send {
                    to: self.place(to)?,
                    tag: self.tag(tag, !collective, false)?,
                    is_call: !collective,
                    element: *element,
                    size: self.size(bytes, machine)?,
                }
            }
            Operation::Receive {
                from,
                tag,
                mode,
                collective,
                element,
                sender,
            } => Step::Receive {
                from: self.place(from)?,
                tag: self.tag(tag, !collective, true)?,
                sender: sender.map_or(Some(ScratchIndex::NONE), |slot| {
                    ScratchIndex::of(slot as usize)
                })?,
                mode: *mode,
                is_call: !collective,
                element: *element,
            },
            // Eager sends are complete at once.
            Operation::Wait { mode, .. } if *mode == Mode::Internal && !self.has_internal => {
                return Some(());
            }
            Operation::Wait { mode, element } => Step::Wait {
                mode: *mode,
                element: *element,
            },
            Operation::WaitAny { sender, element } => Step::WaitAny {
                sender: sender.map_or(Some(ScratchIndex::NONE), |slot| {
                    ScratchIndex::of(slot as usize)
                })?,
                element: *element,
            },
            Operation::NoBranch { .. } => Step::Fail,
            Operation::Lock { .. } | Operation::Unlock { .. } => return Some(()),
            Operation::End => Step::End,
            Operation::Parallel(_) => return None,
        };
        self.steps.push(step);
        Some(())
    }

    fn tag(&mut self, tag: &Compiled, is_call: bool, is_receive: bool) -> Option<Tag> {
        let known = tag.constant();
        match known.and_then(|tag| Tag::whole(tag, is_call, is_receive)) {
            Some(known) => Some(Tag(known)),
            None => Some(Tag(i32::MIN + i32::from(self.place(tag)?.0))),
        }
    }

    fn size(&mut self, bytes: &Compiled, machine: &Machine) -> Option<Size> {
        let Some(bytes) = bytes.constant() else {
            return Some(Size(self.expression(bytes) | Size::VARIES));
        };
        let costs = Costs::of_both(bytes, machine)?;
        let known = self.costs.iter().position(|known| *known == costs);
        let at = known.unwrap_or_else(|| {
            self.costs.push(costs);
            self.costs.len() - 1
        });
        Some(Size(at as u32))
    }

    fn expression(&mut self, tree: &Compiled) -> u32 {
        let mut expression = tree.clone();
        expression.flatten();
        self.expressions.push(expression);
        self.expressions.len() as u32 - 1
    }

    /// Adds a jump. One that ends the body of a loop goes back if the loop's condition holds, which costs a step less.
    fn jump(&mut self, operations: &[Operation], target: u32) -> Option<()> {
        let after = self.begins.len() as u32;
        if target == after {
            return Some(());
        }
        let step = match operations.get(target as usize)? {
            Operation::JumpUnless {
                condition,
                target: exit,
            } if *exit == after => match self.jump_unless(condition, *exit)? {
                Step::JumpUnless(condition, _) => Step::Repeat(condition, target + 1),
                other => other,
            },
            _ => Step::Jump { target },
        };
        self.steps.push(step);
        Some(())
    }

    /// The last step of those that jump unless a condition holds, which has the others added; each side of `&&` has a jump of its own.
    fn jump_unless(&mut self, condition: &Compiled, target: u32) -> Option<Step> {
        if let Compiled::Binary(Binary::And, sides) = condition {
            let first = self.jump_unless(&sides[0], target)?;
            self.steps.push(first);
            return self.jump_unless(&sides[1], target);
        }
        Some(Step::JumpUnless(self.truth(condition)?, target))
    }

    /// The operator of a condition, and its operands.
    fn truth(&mut self, condition: &Compiled) -> Option<Condition> {
        Some(match condition {
            Compiled::Binary(function, sides) => {
                (*function, [self.place(&sides[0])?, self.place(&sides[1])?])
            }
            value => (Binary::Unequal, [self.place(value)?, self.constant(0.0)?]),
        })
    }

    /// Where the value of a tree is, after the steps that this adds.
    fn place(&mut self, tree: &Compiled) -> Option<ScratchIndex> {
        match tree {
            Compiled::Constant(number) => self.constant(*number),
            Compiled::Process => ScratchIndex::of(self.width),
            Compiled::Slot(slot) => ScratchIndex::of(*slot as usize),
            _ => {
                self.n_temporaries += 1;
                if self.n_temporaries > MAX_TEMPORARIES {
                    return None;
                }
                let to = ScratchIndex::of(self.width + self.n_temporaries)?;
                self.assign(to, tree)?;
                Some(to)
            }
        }
    }

    fn constant(&mut self, number: f64) -> Option<ScratchIndex> {
        if let Some(known) = self.constants.get(&number.to_bits()) {
            return Some(*known);
        }
        let place = ScratchIndex::of(self.n_places)?;
        self.n_places += 1;
        self.scratch.set(place, number);
        self.constants.insert(number.to_bits(), place);
        Some(place)
    }

    /// Adds the steps that put the value of a tree into a place.
    fn assign(&mut self, to: ScratchIndex, tree: &Compiled) -> Option<()> {
        let step = match tree {
            Compiled::Constant(_) | Compiled::Process | Compiled::Slot(_) => {
                Step::Copy(self.place(tree)?, to)
            }
            Compiled::Choice(parts) => {
                let condition = self.truth(&parts[0])?;
                Step::Select(condition, self.places([&parts[1], &parts[2]])?, to)
            }
            Compiled::Binary(outer, sides) => match (*outer, &**sides) {
                (Binary::Modulo, [Compiled::Binary(Binary::Add, inner), n]) => {
                    Step::Neighbour(self.places([&inner[0], &inner[1], n])?, to)
                }
                (Binary::Modulo, [Compiled::Binary(Binary::Subtract, inner), n]) => {
                    Step::NeighbourBack(self.places([&inner[0], &inner[1], n])?, to)
                }
                (Binary::Add, [Compiled::Binary(Binary::Multiply, inner), c]) => {
                    Step::MultiplyAdd(self.places([&inner[0], &inner[1], c])?, to)
                }
                (Binary::Add, sides) => Step::Add(self.places(sides.each_ref())?, to),
                (Binary::Subtract, sides) => Step::Subtract(self.places(sides.each_ref())?, to),
                (Binary::Multiply, sides) => Step::Multiply(self.places(sides.each_ref())?, to),
                (operator, sides) => Step::Binary(operator, self.places(sides.each_ref())?, to),
            },
            Compiled::Minus(x) => Step::Multiply([self.place(x)?, self.constant(-1.0)?], to),
            Compiled::Not(x) => {
                Step::Binary(Binary::Equal, [self.place(x)?, self.constant(0.0)?], to)
            }
            Compiled::One(builtin, x) => Step::Builtin(*builtin, [self.place(x)?; 2], to),
            Compiled::Two(builtin, x) => Step::Builtin(*builtin, self.places(x.each_ref())?, to),
            _ => Step::Evaluate {
                expression: self.expression(tree),
                to,
            },
        };
        self.steps.push(step);
        Some(())
    }

    /// Where the values of some trees are, after the steps that this adds.
    fn places<const N: usize>(&mut self, trees: [&Compiled; N]) -> Option<[ScratchIndex; N]> {
        let mut places = [ScratchIndex::NONE; N];
        for (place, tree) in places.iter_mut().zip(trees) {
            *place = self.place(tree)?;
        }
        Some(places)
    }
}

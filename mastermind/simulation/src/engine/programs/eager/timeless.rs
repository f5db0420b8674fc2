//! The steps that take no time: arithmetic, jumps, loops. Their loop is a function of its own, so that it has all registers.

use crate::engine::limits::{MAX_TIMELESS_STEPS, rounds_of};
use crate::engine::outcome::Count;
use crate::engine::programs::eager::code::{Code, Scratch, Step};
use mastermind_models::expression::Binary;
use mastermind_programs::expression::{Builtin, modulo};

impl Code {
    /// Runs the steps from `at` on that only compute, and returns the first that does more. `None` if they do not end,
    /// or a loop has an invalid number of rounds.
    ///
    /// # Arguments
    /// * `counts` - by element, of the process
    /// * `n_jumps` - jumps since time passed
    #[inline(never)]
    pub(super) fn compute(
        &self,
        scratch: &mut Scratch,
        counts: &mut [Count],
        mut at: usize,
        n_jumps: &mut u64,
    ) -> Option<usize> {
        macro_rules! get {
            ($place:expr) => {
                scratch.get($place)
            };
        }
        macro_rules! set {
            ($place:expr, $value:expr) => {{
                let value = $value;
                scratch.set($place, value);
            }};
        }
        // Without these there is no cycle.
        macro_rules! jump_back {
            ($target:expr) => {{
                at = $target as usize;
                *n_jumps += 1;
                if *n_jumps > MAX_TIMELESS_STEPS {
                    return None;
                }
            }};
        }
        loop {
            let step = &self.steps[at];
            at += 1;
            match *step {
                Step::Add([a, b], to) => set!(to, get!(a) + get!(b)),
                Step::Subtract([a, b], to) => set!(to, get!(a) - get!(b)),
                Step::Multiply([a, b], to) => set!(to, get!(a) * get!(b)),
                // Rounded twice, like the expression.
                Step::MultiplyAdd([a, b, c], to) => set!(to, get!(a) * get!(b) + get!(c)),
                Step::Neighbour([a, b, n], to) => set!(to, modulo(get!(a) + get!(b), get!(n))),
                Step::NeighbourBack([a, b, n], to) => set!(to, modulo(get!(a) - get!(b), get!(n))),
                Step::Binary(Binary::Modulo, [a, b], to) => set!(to, modulo(get!(a), get!(b))),
                Step::Binary(Binary::Divide, [a, b], to) => set!(to, get!(a) / get!(b)),
                Step::Binary(operator, [a, b], to) => {
                    set!(to, operator_of(operator, get!(a), get!(b)))
                }
                Step::Builtin(function, [a, b], to) => {
                    let (a, b) = (get!(a), get!(b));
                    let value = match function {
                        // The two of trees and cubes of processes, in line.
                        Builtin::Bits => Builtin::Bits.apply(a, b),
                        Builtin::Xor => Builtin::Xor.apply(a, b),
                        _ => builtin_of(function, a, b),
                    };
                    set!(to, value)
                }
                Step::Select((operator, [a, b]), [first, second], to) => {
                    let from = match holds(operator, get!(a), get!(b)) {
                        true => first,
                        false => second,
                    };
                    set!(to, get!(from))
                }
                Step::Copy(from, to) => set!(to, get!(from)),
                Step::JumpUnless((operator, [a, b]), target) => {
                    if !holds(operator, get!(a), get!(b)) {
                        at = target as usize;
                    }
                }
                Step::Repeat((operator, [a, b]), target) => {
                    if holds(operator, get!(a), get!(b)) {
                        jump_back!(target);
                    }
                }
                Step::Jump { target } => jump_back!(target),
                Step::LoopStart {
                    count,
                    counter,
                    limit,
                    exit,
                } => {
                    let rounds = rounds_of(get!(count))?;
                    scratch.set(counter, 0.0);
                    scratch.set(limit, rounds);
                    if rounds == 0.0 {
                        at = exit as usize;
                    }
                }
                Step::LoopNext {
                    counter,
                    limit,
                    start,
                } => {
                    let next = get!(counter) + 1.0;
                    scratch.set(counter, next);
                    if next < get!(limit) {
                        jump_back!(start);
                    }
                }
                Step::Count { element } => counts[element as usize].add(1, 0),
                _ => return Some(at - 1),
            }
        }
    }
}

/// Whether an operator's value is true.
#[inline(always)]
fn holds(function: Binary, a: f64, b: f64) -> bool {
    match function {
        Binary::Less => a < b,
        Binary::AtLeast => a >= b,
        Binary::Equal => a == b,
        _ => operator_of(function, a, b) != 0.0,
    }
}

/// The value of an operator; apart from the loop, as the next, since it may call functions of the mathematical library.
#[inline(never)]
fn operator_of(operator: Binary, a: f64, b: f64) -> f64 {
    operator.apply(a, b)
}

/// The value of a built-in function.
#[inline(never)]
fn builtin_of(builtin: Builtin, a: f64, b: f64) -> f64 {
    builtin.apply(a, b)
}

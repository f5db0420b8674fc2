//! The form in which expressions are evaluated: names are places, calls are inlined, constants
//! folded.
//!
//! Evaluation takes a [`Context`], the values of one process at one moment, and returns a number.
//! It cannot fail: an undefined value is NaN and passes on, and truth values are 0 and 1. The most
//! frequent forms (constants, variables, the rank, flattened expressions) are evaluated inline, the
//! others by a recursive function; `flatten` turns a tree into a list of steps for a run.
//!
//! ```text
//! (process + 1) % processes   ->   Binary(Modulo, [Binary(Add, [Process, Constant(1)]), Constant(4)])
//! with process = 3            ->   0
//! ```
//!
//! # Random times
//!
//! A fitted model with a spread draws each call's time. The draw is a hash of the process, the
//! thread and all variables, so it needs no state: the same call has the same time in each run and
//! under each order of events, and rounds of a loop differ by their counter.

use std::sync::Arc;

use mastermind_models::{Formula, HeldUp, Predictor};

use super::builtin::{Builtin, floor};
use super::contention::Contention;
use super::flat::FlatExpression;
use mastermind_models::expression::Binary;

/// State of the process that an evaluation can use.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Values of the variables, by place; a truth value is 0 or 1.
    pub slots: &'a [f64],
    /// Rank of the process.
    pub process: f64,
    /// Index of the thread in its parallel region, 0 outside of one.
    pub thread: f64,
    /// Threads of the parallel region, 1 outside of one.
    pub threads: f64,
    /// Index of the node that the process runs on.
    pub node: f64,
}

/// Predictions of a fitted model, and the names of its parameters, in order.
#[derive(Debug, Clone, PartialEq)]
pub struct Fitted {
    /// Mean time of a call, seconds, as `predict` has it.
    pub mean: Predictor,
    /// Names of the arguments.
    pub parameters: Vec<String>,
    /// Ratio of the total of the recorded calls to that of the formula: a simulation sums over calls, so outliers
    /// that the fit left out belong to it.
    pub total_ratio: f64,
    /// Calls that the machine delayed: each call takes their average addition.
    pub held_up: Option<HeldUp>,
    /// Standard deviation of a call, seconds: each is drawn about its mean; `None` where all take the mean.
    pub sigma: Option<Formula>,
}

impl Fitted {
    /// The time, seconds: 0 where the formula is negative, as a prediction has it.
    fn evaluate(&self, arguments: &[Compiled], context: &Context<'_>) -> f64 {
        let number = |name: &str| {
            let at = self.parameters.iter().position(|known| known == name)?;
            Some(arguments[at].evaluate(context))
        };
        // A missing parameter was refused when the expression was compiled.
        self.mean.evaluate(number).map_or(f64::NAN, |value| {
            // Not `max`: that would make 0 of NaN.
            if value < 0.0 {
                return 0.0;
            }
            // Delays come on top of the formula: the machine, not the spread of the calls, causes
            // them.
            let delays_s = self.held_up.as_ref();
            let delays_s = delays_s.map_or(0.0, |held_up| held_up.expected_s(value));
            let sigma = self.sigma.as_ref().map(|sigma| sigma.evaluate(number));
            match sigma {
                // As far below the mean as above it, so that the mean stays.
                Some(Ok(sigma)) if sigma > 0.0 => {
                    let off = (sigma * normal(context)).clamp(-value, value);
                    (value + off) * self.total_ratio + delays_s
                }
                _ => value * self.total_ratio + delays_s,
            }
        })
    }
}

/// A number from the standard normal distribution (Box and Muller's method), the same for the same process with the
/// same values of its variables: loop counters give each call its own number, and every run the same ones.
fn normal(context: &Context<'_>) -> f64 {
    // The seed of a model is one of its variables' values, so it takes part as well.
    let own = [context.process, context.thread];
    let seed = own.iter().chain(context.slots);
    let seed = seed.fold(0, |seed, value| mixed(seed ^ value.to_bits()));
    let uniform = |bits: u64| ((bits >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let (radius, angle) = (uniform(seed), uniform(mixed(seed)));
    (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
}

/// Bits that each depend on all of the given ones: SplitMix64's step.
///
/// # Source
/// G. Steele et al., "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014 (the constants recalled).
#[inline]
pub fn mixed(bits: u64) -> u64 {
    let mut z = bits.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// An expression ready to be evaluated: a tree in which no name is left to look up and constant
/// parts are numbers.
#[derive(Debug, Clone, PartialEq)]
pub enum Compiled {
    /// A number; a truth value is 0 or 1.
    Constant(f64),
    /// A variable.
    Slot(u32),
    /// Rank of the process.
    Process,
    /// Index of the thread.
    Thread,
    /// Threads of the parallel region.
    Threads,
    /// Index of the node.
    Node,
    /// `-x`.
    Minus(Box<Compiled>),
    /// `!x`.
    Not(Box<Compiled>),
    /// An operator and its operands.
    Binary(Binary, Box<[Compiled; 2]>),
    /// Condition, then, otherwise.
    Choice(Box<[Compiled; 3]>),
    /// A function of one number.
    One(Builtin, Box<Compiled>),
    /// A function of two.
    Two(Builtin, Box<[Compiled; 2]>),
    /// A formula of contention.
    Contention(Contention, Box<[Compiled; 4]>),
    /// A fitted model and its arguments.
    Fitted(Arc<Fitted>, Vec<Compiled>),
    /// The same as a list of steps: a run converts the other forms to it; only its value can be queried.
    Flat(FlatExpression),
}

impl Compiled {
    /// The value: a number, NaN if it is undefined; 0 or 1 for a truth value.
    #[inline]
    pub fn evaluate(&self, context: &Context<'_>) -> f64 {
        match self {
            Self::Constant(number) => *number,
            Self::Slot(slot) => context.slots[*slot as usize],
            Self::Process => context.process,
            Self::Flat(flat) => flat.evaluate(context.slots, context.process),
            _ => self.evaluate_further(context),
        }
    }

    fn evaluate_further(&self, context: &Context<'_>) -> f64 {
        match self {
            Self::Constant(number) => *number,
            Self::Slot(slot) => context.slots[*slot as usize],
            Self::Process => context.process,
            Self::Thread => context.thread,
            Self::Threads => context.threads,
            Self::Node => context.node,
            Self::Minus(x) => -x.evaluate(context),
            Self::Not(x) => truth(x.evaluate(context) == 0.0),
            Self::Binary(Binary::And, operands) => {
                truth(operands[0].is_true(context) && operands[1].is_true(context))
            }
            Self::Binary(Binary::Or, operands) => {
                truth(operands[0].is_true(context) || operands[1].is_true(context))
            }
            Self::Binary(Binary::Modulo, operands) => {
                let (a, b) = (operands[0].evaluate(context), operands[1].evaluate(context));
                modulo(a, b)
            }
            Self::Binary(operator, operands) => {
                let (a, b) = (operands[0].evaluate(context), operands[1].evaluate(context));
                match operator {
                    Binary::Add => a + b,
                    Binary::Subtract => a - b,
                    _ => operator.apply(a, b),
                }
            }
            Self::Choice(parts) => {
                let chosen = if parts[0].is_true(context) { 1 } else { 2 };
                parts[chosen].evaluate(context)
            }
            Self::One(function, x) => function.apply(x.evaluate(context), 0.0),
            Self::Two(function, operands) => {
                function.apply(operands[0].evaluate(context), operands[1].evaluate(context))
            }
            Self::Contention(function, operands) => {
                function.apply([0, 1, 2, 3].map(|at| operands[at].evaluate(context)))
            }
            Self::Fitted(fitted, arguments) => fitted.evaluate(arguments, context),
            Self::Flat(flat) => flat.evaluate(context.slots, context.process),
        }
    }

    /// Becomes a list of steps if possible.
    pub fn flatten(&mut self) {
        if let Some(flat) = FlatExpression::of(self) {
            *self = Self::Flat(flat);
        }
    }

    /// Whether a condition holds.
    #[inline]
    pub fn is_true(&self, context: &Context<'_>) -> bool {
        self.evaluate(context) != 0.0
    }

    /// Calls `seen` with the place of each variable that the expression contains.
    pub fn each_slot(&self, seen: &mut impl FnMut(u32)) {
        let parts: &[Self] = match self {
            Self::Slot(slot) => return seen(*slot),
            Self::Minus(x) | Self::Not(x) | Self::One(_, x) => std::slice::from_ref(&**x),
            Self::Binary(_, operands) | Self::Two(_, operands) => &operands[..],
            Self::Choice(parts) => &parts[..],
            Self::Contention(_, operands) => &operands[..],
            Self::Fitted(_, arguments) => arguments,
            _ => &[],
        };
        parts.iter().for_each(|part| part.each_slot(seen));
    }

    /// The value, if it is the same everywhere and always.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(number) => Some(*number),
            _ => None,
        }
    }

    /// The expression with its value in its place where all that it is made of is constant.
    pub(super) fn folded(self) -> Self {
        let constant = match &self {
            Self::Minus(x) | Self::Not(x) | Self::One(_, x) => x.constant().is_some(),
            Self::Binary(_, operands) | Self::Two(_, operands) => {
                operands.iter().all(|x| x.constant().is_some())
            }
            Self::Contention(_, operands) => operands.iter().all(|x| x.constant().is_some()),
            Self::Choice(parts) => match parts[0].constant() {
                Some(condition) => return parts[if condition != 0.0 { 1 } else { 2 }].clone(),
                None => false,
            },
            Self::Fitted(fitted, arguments) => {
                // A spread is drawn at each evaluation.
                fitted.sigma.is_none() && arguments.iter().all(|x| x.constant().is_some())
            }
            _ => false,
        };
        if !constant {
            return self;
        }
        let nowhere = Context {
            slots: &[],
            process: 0.0,
            thread: 0.0,
            threads: 1.0,
            node: 0.0,
        };
        Self::Constant(self.evaluate(&nowhere))
    }
}

/// `a - b floor(a / b)`. A neighbour's number is mostly less than twice the processes, where the quotient rounds to no other whole
/// number and nothing need be divided.
#[inline]
pub fn modulo(a: f64, b: f64) -> f64 {
    if a >= 0.0 && a < b && b < f64::INFINITY {
        a
    } else if a >= b && a - b < b && b > 0.0 {
        a - b
    } else {
        a - b * floor(a / b)
    }
}

fn truth(truth: bool) -> f64 {
    f64::from(u8::from(truth))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_remainder_is_what_the_quotient_leaves(a in any::<f64>(), b in any::<f64>(), near in -3.0..3.0_f64, whole in (-40..40_i32, -20..20_i32)) {
            let edges = [0.0, -0.0, 1.0, f64::MIN_POSITIVE, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let pairs = edges.iter().flat_map(|a| edges.map(|b| (*a, b)));
            let [m, n] = [whole.0, whole.1].map(f64::from);
            let near_multiples = [b.next_down(), b.next_up(), 2.0 * b, (2.0 * b).next_down()].map(|a| (a, b));
            for (a, b) in pairs.chain(near_multiples).chain([(a, b), (near * b, b), (m, n)]) {
                let (remainder, expected) = (modulo(a, b), a - b * floor(a / b));
                prop_assert!(remainder == expected || remainder.is_nan() && expected.is_nan(), "{a} % {b}: {remainder}, {expected}");
            }
        }
    }
}

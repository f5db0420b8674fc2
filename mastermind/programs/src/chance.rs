//! Conditions that hold with a probability: `chance(0.3)`.
//!
//! Each place in a model has a sequence of its own, which is the same for all processes: they decide equally the first
//! time they come to it, the second time, and so on, so that processes that meet in a collective do not diverge before
//! it. A run is the same every time. `chance` is in the condition of a branch or of a loop, alone or within a larger
//! one.
//!
//! # Source
//! The sequence is a linear congruential generator of full period (D. E. Knuth, "The Art of Computer Programming" 2,
//! 3.2.1.2, theorem A): multiplier 1 modulo 4, odd increment, modulus 2³⁰; every product is exact in an `f64`.

use crate::check::Rule;
use crate::expression::{Binary, Compiled, Expression, Kind, Scope, Symbol, Unary, mixed};
use crate::lower::Lowering;
use crate::model::{Element, ElementKind, Model};
use crate::operation::Operation;

/// The name of the function of probability, [`chance_calls`] counts its calls.
pub const CHANCE: &str = "chance";

const MULTIPLIER: f64 = 1_664_525.0;
const MODULUS: f64 = 1_073_741_824.0;

/// Most places of a model.
const MAX_PLACES: usize = 10_000;

/// How many calls of [`CHANCE`] an expression has.
pub fn chance_calls(condition: &Expression) -> usize {
    match condition {
        Expression::Call(name, arguments) => {
            usize::from(name == CHANCE) + arguments.iter().map(chance_calls).sum::<usize>()
        }
        Expression::Unary(_, x) => chance_calls(x),
        Expression::Binary(_, a, b) => chance_calls(a) + chance_calls(b),
        Expression::Choice(parts) => parts.iter().map(chance_calls).sum(),
        _ => 0,
    }
}

/// How often the conditions of a model ask.
pub(crate) fn places(model: &Model) -> usize {
    fn of(flow: &[Element]) -> usize {
        let each = |element: &Element| match &element.kind {
            ElementKind::Decision { branches } => {
                let one = |branch: &crate::Branch| {
                    branch.guard.as_ref().map_or(0, chance_calls) + of(&branch.flow)
                };
                branches.iter().map(one).sum()
            }
            ElementKind::While { condition, flow } => chance_calls(condition) + of(flow),
            ElementKind::Loop { flow, .. }
            | ElementKind::Parallel { flow, .. }
            | ElementKind::Critical { flow, .. } => of(flow),
            _ => 0,
        };
        flow.iter().map(each).sum()
    }
    let activities = model.activities.values().map(|activity| of(&activity.flow));
    activities.sum::<usize>().min(MAX_PLACES)
}

impl Model {
    /// Whether its flow depends on draws of `chance`: one simulation of it is one sample.
    pub fn has_chance(&self) -> bool {
        places(self) > 0
    }
}

impl Lowering<'_> {
    /// Starts the sequences of all places at another point. A variable with the seed also changes the spread of fitted
    /// models, which is drawn by the values of the variables. Seed 0 adds nothing.
    pub(crate) fn seed(&mut self, seed: u32) {
        if seed == 0 {
            return;
        }
        for slot in 0..self.chances {
            let first = mixed(u64::from(seed) << 32 | u64::from(slot)) % MODULUS as u64;
            let value = Compiled::Constant(first as f64);
            self.push(Operation::Assign { slot, value });
        }
        let slot = self.slot();
        let value = Compiled::Constant(f64::from(seed));
        self.push(Operation::Assign { slot, value });
    }

    /// A condition as code; the values of its calls of [`CHANCE`] are drawn before it.
    pub(crate) fn condition(
        &mut self,
        condition: &Expression,
        scope: &Scope,
        at: (&str, &str),
    ) -> Compiled {
        if chance_calls(condition) == 0 {
            return self.compile(Kind::Truth, condition, scope, at);
        }
        let mut scope = scope.clone();
        let drawn = self.drawn(condition, &mut scope, at);
        self.compile(Kind::Truth, &drawn, &scope, at)
    }

    /// The condition with a comparison in place of each chance, whose draw becomes an operation.
    fn drawn(&mut self, condition: &Expression, scope: &mut Scope, at: (&str, &str)) -> Expression {
        let mut boxed = |x: &Expression| Box::new(self.drawn(x, scope, at));
        match condition {
            Expression::Unary(operator, x) => Expression::Unary(*operator, boxed(x)),
            Expression::Binary(operator, a, b) => {
                let (a, b) = (boxed(a), boxed(b));
                Expression::Binary(*operator, a, b)
            }
            Expression::Choice(parts) => {
                Expression::Choice(Box::new([0, 1, 2].map(|i| *boxed(&parts[i]))))
            }
            Expression::Call(name, arguments) if name == CHANCE => {
                let is_share = |share: &f64| (0.0..=1.0).contains(share);
                let is_right = match &arguments[..] {
                    [Expression::Number(share)] => is_share(share),
                    [other] => !matches!(other, Expression::Unary(Unary::Minus, _)),
                    _ => false,
                };
                if !is_right {
                    let reason = format!("{condition}, expected chance(p) with p from 0 to 1");
                    self.find(Rule::Expression, at.0, at.1, reason);
                    return Expression::Truth(true);
                }
                let slot = self.draw();
                // No name that a user can write.
                let name = format!("chance {slot}");
                scope.insert(name.clone(), Symbol::Slot(slot, Kind::Number));
                let probability = Box::new(arguments[0].clone());
                let limit = Expression::Binary(
                    Binary::Multiply,
                    probability,
                    Box::new(Expression::Number(MODULUS)),
                );
                Expression::Binary(
                    Binary::Less,
                    Box::new(Expression::Name(name)),
                    Box::new(limit),
                )
            }
            other => other.clone(),
        }
    }

    /// Draws the next number of a place, from 0 to the modulus: the variable that has it.
    fn draw(&mut self) -> u32 {
        let slot = self.n_drawn.min(self.chances.saturating_sub(1));
        self.n_drawn += 1;
        let binary = |operator, a, b| Compiled::Binary(operator, Box::new([a, b]));
        // Spread over the range by the golden ratio, odd.
        let increment = ((u64::from(slot) + 1).wrapping_mul(663_608_941) % (MODULUS as u64)) | 1;
        let product = binary(
            Binary::Multiply,
            Compiled::Slot(slot),
            Compiled::Constant(MULTIPLIER),
        );
        let sum = binary(Binary::Add, product, Compiled::Constant(increment as f64));
        let value = binary(Binary::Modulo, sum, Compiled::Constant(MODULUS));
        self.push(Operation::Assign { slot, value });
        slot
    }
}

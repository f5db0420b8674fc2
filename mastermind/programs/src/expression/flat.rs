//! An expression as a list of steps, for expressions that are evaluated millions of times.
//!
//! Each step applies one function to available values: constants, variables, the process's rank, and results of earlier
//! steps. Evaluation has no effect and does not fail, so both sides of a choice are evaluated and one is used.
//! `(process + 1) % 8` is two steps: the sum of the rank and 1, then the remainder of that and 8.

use super::builtin::Builtin;
use super::evaluate::{Compiled, modulo};
use mastermind_models::expression::Binary;

/// Registers: the process's rank, the constants, and the results of steps. Expressions that need more stay
/// trees.
const REGISTERS: usize = 16;

/// The register of the rank.
const RANK: u8 = 0;

/// Marks the place of a variable among operands; all others are registers.
const SLOT: u8 = 0x80;

/// Function of one step of an expression.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Function {
    Binary(Binary),
    Builtin(Builtin),
    Minus,
    Not,
    Choice,
}

/// A function and its operands; those that it does not take are the rank.
type Step = (Function, [u8; 3]);

/// An expression as steps.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatExpression(Form);

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// `(process + by) % processes`, as most ranks are given: two steps in one.
    Neighbour { by: f64, processes: f64 },
    /// Steps, the last of which computes the value.
    Steps(Box<Steps>),
}

#[derive(Debug, Clone, PartialEq, Default)]
struct Steps {
    steps: Vec<Step>,
    /// The first register of the steps; those before it hold the rank and the constants.
    first: usize,
    registers: [f64; REGISTERS],
}

impl FlatExpression {
    /// The steps of a tree; `None` if it is a leaf, too large, or uses other values than the process's own.
    pub fn of(tree: &Compiled) -> Option<Self> {
        if let Compiled::Binary(Binary::Modulo, operands) = tree
            && let [Compiled::Binary(sum, inner), Compiled::Constant(processes)] = &**operands
            && let [Compiled::Process, Compiled::Constant(by)] = &**inner
            && let Binary::Add | Binary::Subtract = sum
        {
            let (by, processes) = (if *sum == Binary::Add { *by } else { -by }, *processes);
            return Some(Self(Form::Neighbour { by, processes }));
        }
        let mut steps = Steps {
            first: 1,
            ..Steps::default()
        };
        steps.add_constants(tree)?;
        steps.add(tree)?;
        (!steps.steps.is_empty()).then(|| Self(Form::Steps(steps.into())))
    }

    /// The value, given the variables and the rank of a process.
    #[inline]
    pub fn evaluate(&self, slots: &[f64], process: f64) -> f64 {
        match &self.0 {
            Form::Neighbour { by, processes } => modulo(process + by, *processes),
            Form::Steps(steps) => steps.evaluate(slots, process),
        }
    }
}

impl Function {
    /// The value, where `operand` gives the operand of a place.
    #[inline]
    fn apply(self, operand: impl Fn(usize) -> f64) -> f64 {
        let (a, b) = (operand(0), operand(1));
        match self {
            Self::Binary(Binary::Add) => a + b,
            Self::Binary(Binary::Subtract) => a - b,
            Self::Binary(Binary::Modulo) => modulo(a, b),
            Self::Binary(operator) => operator.apply(a, b),
            Self::Builtin(builtin) => builtin.apply(a, b),
            Self::Minus => -a,
            Self::Not => f64::from(u8::from(a == 0.0)),
            Self::Choice if a != 0.0 => b,
            Self::Choice => operand(2),
        }
    }
}

#[inline]
fn value(registers: &[f64; REGISTERS], slots: &[f64], operand: u8) -> f64 {
    if operand & SLOT == 0 {
        registers[usize::from(operand) % REGISTERS]
    } else {
        slots[usize::from(operand & !SLOT)]
    }
}

impl Steps {
    fn evaluate(&self, slots: &[f64], process: f64) -> f64 {
        if let [(function, operands)] = self.steps[..] {
            return function.apply(|place| match operands[place] {
                RANK => process,
                operand => value(&self.registers, slots, operand),
            });
        }
        let mut registers = self.registers;
        registers[usize::from(RANK)] = process;
        let mut last = 0.0;
        for ((function, operands), place) in self.steps.iter().zip(self.first..) {
            last = function.apply(|place| value(&registers, slots, operands[place]));
            registers[place % REGISTERS] = last;
        }
        last
    }

    /// Gives each constant of a tree a register.
    fn add_constants(&mut self, tree: &Compiled) -> Option<()> {
        if let Compiled::Constant(number) = tree
            && self.constant(*number).is_none()
        {
            *self.registers.get_mut(self.first)? = *number;
            self.first += 1;
        }
        let (_, parts) = function_of(tree).unwrap_or((Function::Minus, &[]));
        parts.iter().try_for_each(|part| self.add_constants(part))
    }

    fn constant(&self, number: f64) -> Option<u8> {
        let known = (1..self.first).find(|at| self.registers[*at].to_bits() == number.to_bits());
        known.map(|at| at as u8)
    }

    /// Adds the steps of a tree: where its value is after them.
    fn add(&mut self, tree: &Compiled) -> Option<u8> {
        match tree {
            Compiled::Process => return Some(RANK),
            Compiled::Constant(number) => return self.constant(*number),
            Compiled::Slot(slot) => return (*slot < u32::from(SLOT)).then_some(*slot as u8 | SLOT),
            _ => {}
        }
        let (function, parts) = function_of(tree)?;
        let mut operands = [RANK; 3];
        for (operand, part) in operands.iter_mut().zip(parts) {
            *operand = self.add(part)?;
        }
        let register = self.first + self.steps.len();
        self.steps.push((function, operands));
        (register < REGISTERS).then_some(register as u8)
    }
}

/// The function of a tree's root, and its arguments; `None` for a leaf, or if it uses values other than the process's
/// own.
fn function_of(tree: &Compiled) -> Option<(Function, &[Compiled])> {
    use std::slice::from_ref;
    Some(match tree {
        Compiled::Minus(x) => (Function::Minus, from_ref(&**x)),
        Compiled::Not(x) => (Function::Not, from_ref(&**x)),
        Compiled::One(builtin, x) => (Function::Builtin(*builtin), from_ref(&**x)),
        Compiled::Two(builtin, x) => (Function::Builtin(*builtin), &x[..]),
        Compiled::Binary(operator, x) => (Function::Binary(*operator), &x[..]),
        Compiled::Choice(x) => (Function::Choice, &x[..]),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::{Context, Resolver, Scope, Symbol, SystemProperty};
    use mastermind_models::ModelSet;
    use std::collections::BTreeMap;

    #[test]
    fn steps_give_what_the_tree_gives() {
        let kind = crate::expression::Kind::Number;
        let scope: Scope = [
            ("x".to_owned(), Symbol::Slot(0, kind)),
            ("y".to_owned(), Symbol::Slot(1, kind)),
            (
                "process".to_owned(),
                Symbol::Property(SystemProperty::Process),
            ),
        ]
        .into();
        let resolver = Resolver {
            globals: &scope,
            functions: &BTreeMap::new(),
            models: &ModelSet::default(),
        };
        for text in [
            "(process + 3) % 8",
            "(process - x) % 8",
            "(process - 3) % 8",
            "x * 2",
            "process < y",
            "-x * y + 2",
            "x < y && !(y >= 3) || x == 4 ? xor(process, 5) : -1",
            "x + y < 8 ? (process + y) % 8 : x != 2 ? min(x, y) / 2 : max(x, y)",
            "bits(process, 2) <= 1 ? floor(x / 3) : abs(-y)",
        ] {
            let parsed = crate::expression::parse(text).expect("an expression");
            let tree = resolver.compile(&parsed, &scope).expect("its tree").code;
            let flat = FlatExpression::of(&tree).expect("its steps");
            for place in 0..1000 {
                let [x, y, process] = [place % 10, place / 10 % 10, place / 100].map(f64::from);
                let context = Context {
                    slots: &[x, y],
                    process,
                    thread: 0.0,
                    threads: 1.0,
                    node: 0.0,
                };
                let expected = tree.evaluate(&context);
                assert_eq!(
                    flat.evaluate(&[x, y], process),
                    expected,
                    "{text}: {context:?}"
                );
            }
        }
        let leaf = Compiled::Process;
        let thread = Compiled::Minus(Box::new(Compiled::Thread));
        assert_eq!(
            [leaf, thread].map(|tree| FlatExpression::of(&tree)),
            [None, None]
        );
        let large = |_: u32| "(x + ";
        let text = (0..17).map(large).collect::<String>() + "1" + &")".repeat(17);
        let parsed = crate::expression::parse(&text).expect("an expression");
        let tree = resolver.compile(&parsed, &scope).expect("its tree").code;
        assert_eq!(FlatExpression::of(&tree), None);
    }
}

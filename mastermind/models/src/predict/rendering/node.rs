//! Formulas as trees of arithmetic, independent of the language that they are written in.

use std::collections::BTreeSet;

use crate::formula::arithmetic::{FUNCTIONS, Node as Part, Operator};
use crate::formula::exponent::Exponent;
use crate::formula::sum::{Factor, Formula, Regime, Term};
use crate::formula::written::Written;

/// Arithmetic over parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Node {
    Number(f64),
    /// A parameter, by its name.
    Param(String),
    /// The first plus the others, from left to right.
    Sum(Vec<Node>),
    /// The first times the others, from left to right.
    Product(Vec<Node>),
    Minus(Box<Node>),
    Difference(Box<[Node; 2]>),
    Quotient(Box<[Node; 2]>),
    /// A whole power.
    Powi(Box<Node>, i32),
    Power(Box<Node>, Exponent),
    /// A power with any exponent.
    Raised(Box<[Node; 2]>),
    /// A function of one or two numbers, by its name in expressions.
    Call(&'static str, Vec<Node>),
    /// The node within a regime, 0 outside.
    Within(Regime, Box<Node>),
}

impl Node {
    /// A formula in its order of evaluation, so that rounding is the same.
    pub(super) fn of(formula: &Formula) -> Self {
        let mut parts = Vec::with_capacity(formula.terms.len() + 1);
        let others = formula.terms.len() + usize::from(formula.written.is_some());
        if formula.constant != 0.0 || others == 0 {
            parts.push(Node::Number(formula.constant));
        }
        parts.extend(formula.written.iter().map(written));
        parts.extend(formula.terms.iter().map(term));
        one_or(parts, Node::Sum)
    }

    /// The parameters in it.
    pub(super) fn params(&self) -> BTreeSet<&str> {
        match self {
            Self::Number(_) => BTreeSet::new(),
            Self::Param(name) => [name.as_str()].into_iter().collect(),
            Self::Sum(parts) | Self::Product(parts) | Self::Call(_, parts) => {
                parts.iter().flat_map(Self::params).collect()
            }
            Self::Minus(inner) | Self::Powi(inner, _) | Self::Power(inner, _) => inner.params(),
            Self::Difference(pair) | Self::Quotient(pair) | Self::Raised(pair) => {
                pair.iter().flat_map(Self::params).collect()
            }
            Self::Within(regime, inner) => {
                let mut params = inner.params();
                params.insert(&regime.param);
                params
            }
        }
    }
}

fn one_or(mut parts: Vec<Node>, many: fn(Vec<Node>) -> Node) -> Node {
    if parts.len() == 1 {
        parts.remove(0)
    } else {
        many(parts)
    }
}

fn term(term: &Term) -> Node {
    let factors: Vec<Node> = term.factors.iter().flat_map(factor).collect();
    let coefficient = Node::Number(term.coefficient);
    let product = if factors.is_empty() {
        coefficient
    } else {
        Node::Product(vec![coefficient, one_or(factors, Node::Product)])
    };
    match &term.regime {
        Some(regime) => Node::Within(regime.clone(), Box::new(product)),
        None => product,
    }
}

fn factor(factor: &Factor) -> Vec<Node> {
    let x = || {
        let x = Node::Param(factor.param.to_string());
        let quotient = |a, b| Node::Quotient(Box::new([a, b]));
        match (factor.step, factor.half) {
            (Some(step), _) => Node::Call("ceil", vec![quotient(x, Node::Number(step))]),
            (_, Some(half)) => quotient(x.clone(), Node::Sum(vec![x, Node::Number(half)])),
            _ => x,
        }
    };
    let mut parts = Vec::new();
    match factor.exponent {
        Exponent::Fraction(0, _) => {}
        Exponent::Fraction(1, 1) => parts.push(x()),
        Exponent::Fraction(power, 1) => parts.push(Node::Powi(Box::new(x()), power)),
        exponent => parts.push(Node::Power(Box::new(x()), exponent)),
    }
    if let Some(rate) = factor.rate {
        let grown = Node::Product(vec![Node::Number(rate), x()]);
        parts.push(Node::Call("exp", vec![grown]));
    }
    let logarithm = || Node::Call("log2", vec![x()]);
    match i32::try_from(factor.log_exponent).unwrap_or(i32::MAX) {
        0 => {}
        1 => parts.push(logarithm()),
        power => parts.push(Node::Powi(Box::new(logarithm()), power)),
    }
    if parts.is_empty() {
        parts.push(Node::Number(1.0));
    }
    parts
}

fn written(written: &Written) -> Node {
    part(written.expression().root(), written)
}

/// A part of a user's formula, with the fitted numbers.
fn part(node: &Part, written: &Written) -> Node {
    let own = |node: &Part| part(node, written);
    match node {
        Part::Number(value) => Node::Number(*value),
        Part::Name(name) => match written.values().get(name) {
            Some(value) => Node::Number(*value),
            None => Node::Param(name.clone()),
        },
        Part::Minus(x) => Node::Minus(Box::new(own(x))),
        Part::Binary(operator, operands) => {
            let [a, b] = [own(&operands[0]), own(&operands[1])];
            match operator {
                Operator::Add => Node::Sum(vec![a, b]),
                Operator::Subtract => Node::Difference(Box::new([a, b])),
                Operator::Multiply => Node::Product(vec![a, b]),
                Operator::Divide => Node::Quotient(Box::new([a, b])),
                Operator::Power => Node::Raised(Box::new([a, b])),
            }
        }
        Part::Call(function, arguments) => {
            Node::Call(FUNCTIONS[*function].0, arguments.iter().map(own).collect())
        }
    }
}

//! Formulas as trees of arithmetic, for whichever language they are written in.

use std::collections::BTreeSet;

use crate::formula::{Exponent, Factor, Formula, Term};

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
    /// A whole power.
    Powi(Box<Node>, i32),
    Power(Box<Node>, Exponent),
    Log2(Box<Node>),
}

impl Node {
    /// A formula in the order in which it is evaluated, so that rounding is the same.
    pub(super) fn of(formula: &Formula) -> Self {
        let mut parts = Vec::with_capacity(formula.terms.len() + 1);
        if formula.constant != 0.0 || formula.terms.is_empty() {
            parts.push(Node::Number(formula.constant));
        }
        parts.extend(formula.terms.iter().map(term));
        one_or(parts, Node::Sum)
    }

    /// The parameters in it.
    pub(super) fn params(&self) -> BTreeSet<&str> {
        match self {
            Self::Number(_) => BTreeSet::new(),
            Self::Param(name) => [name.as_str()].into_iter().collect(),
            Self::Sum(parts) | Self::Product(parts) => {
                parts.iter().flat_map(Self::params).collect()
            }
            Self::Powi(inner, _) | Self::Power(inner, _) | Self::Log2(inner) => inner.params(),
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
    if factors.is_empty() {
        return coefficient;
    }
    Node::Product(vec![coefficient, one_or(factors, Node::Product)])
}

fn factor(factor: &Factor) -> Vec<Node> {
    let x = || Box::new(Node::Param(factor.param.clone()));
    let mut parts = Vec::new();
    match factor.exponent {
        Exponent::Fraction(0, _) => {}
        Exponent::Fraction(1, 1) => parts.push(*x()),
        Exponent::Fraction(power, 1) => parts.push(Node::Powi(x(), power)),
        exponent => parts.push(Node::Power(x(), exponent)),
    }
    match i32::try_from(factor.log_exponent).unwrap_or(i32::MAX) {
        0 => {}
        1 => parts.push(Node::Log2(x())),
        power => parts.push(Node::Powi(Box::new(Node::Log2(x())), power)),
    }
    if parts.is_empty() {
        parts.push(Node::Number(1.0));
    }
    parts
}

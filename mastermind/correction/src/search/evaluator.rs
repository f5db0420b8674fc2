//! Trees over columns: values at all points at once, and the range of values over a box of inputs.
//!
//! The search judges every tree at the same points. A tree is therefore evaluated node by node,
//! each node as one loop over a column, instead of point by point through the tree. Trees are
//! stored with operators before their operands; read from the end they become instructions of a
//! stack machine. Numbers and inputs stay references on that stack, and only results of operators
//! take a slot of memory: that of their place in the stack.
//!
//! ```text
//! tree      Multiply  Input(0)  Power  Input(1)  Number(0.5)           x0 * |x1|^0.5, read from the end
//!
//! stack     0.5
//!           0.5   x1
//!           slot 0 = |x1|^0.5                the result takes the place of both operands
//!           slot 0   x0
//!           slot 0 = x0 * slot 0
//! ```
//!
//! [`range_over`] evaluates the same trees by interval arithmetic. A tree that fits all points may
//! have a pole between them; over a box of inputs, such a tree has no bounded range and is
//! rejected.

use super::tree::{MAX_NODES, Node};
use crate::fast_math;

/// Magnitude that no part of a tree may reach over the box of inputs.
const LARGEST: f64 = 1e12;

/// Values of trees at the points of a table; keeps its columns between calls.
#[derive(Debug, Clone)]
pub struct Evaluator {
    n_points: usize,
    slots: Vec<f64>,
    stack: Vec<Operand>,
}

#[derive(Debug, Clone, Copy)]
enum Operand {
    Scalar(f64),
    Input(usize),
    /// Place in the stack whose slot contains it.
    Slot(usize),
}

impl Evaluator {
    /// For tables of `n_points`.
    pub fn new(n_points: usize) -> Self {
        Self {
            n_points,
            slots: Vec::new(),
            stack: Vec::new(),
        }
    }

    /// Values of a tree at all points; not finite where an operator has no value.
    ///
    /// # Arguments
    /// * `inputs` - columns, shape `[n_inputs][n_points]`
    /// * `out` - shape `[n_points]`
    pub fn evaluate(&mut self, tree: &[Node], inputs: &[&[f64]], out: &mut [f64]) {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has the only feature that the function needs.
            return unsafe { self.evaluate_by_fours(tree, inputs, out) };
        }
        self.evaluate_columns(tree, inputs, out);
    }

    /// The same with four values in a register; no multiplication is fused with an addition, so the bits are the same.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn evaluate_by_fours(&mut self, tree: &[Node], inputs: &[&[f64]], out: &mut [f64]) {
        self.evaluate_columns(tree, inputs, out);
    }

    #[inline(always)]
    fn evaluate_columns(&mut self, tree: &[Node], inputs: &[&[f64]], out: &mut [f64]) {
        let n = self.n_points;
        self.slots.resize((tree.len() + 1) * n, 0.0);
        self.stack.clear();
        for node in tree.iter().rev() {
            let operand = match *node {
                Node::Number(value) => Operand::Scalar(value),
                Node::Input(place) => Operand::Input(usize::from(place)),
                Node::Log => self.unary(inputs, fast_math::ln_abs),
                Node::Exp => self.unary(inputs, fast_math::exp),
                Node::Ramp => self.unary(inputs, ramp),
                Node::Add => self.binary(inputs, |a, b| a + b),
                Node::Subtract => self.binary(inputs, |a, b| a - b),
                Node::Multiply => self.binary(inputs, |a, b| a * b),
                Node::Divide => self.binary(inputs, |a, b| a / b),
                Node::Power => self.binary(inputs, power),
            };
            self.stack.push(operand);
        }
        match self.stack.pop() {
            Some(Operand::Scalar(value)) => out.fill(value),
            Some(Operand::Input(place)) => out.copy_from_slice(inputs[place]),
            Some(Operand::Slot(slot)) => out.copy_from_slice(&self.slots[slot * n..][..n]),
            None => out.fill(f64::NAN),
        }
    }

    #[inline(always)]
    fn unary(&mut self, inputs: &[&[f64]], f: impl Fn(f64) -> f64) -> Operand {
        let n = self.n_points;
        let Some(a) = self.stack.pop() else {
            return Operand::Scalar(f64::NAN);
        };
        let to = self.stack.len();
        let out = &mut self.slots[to * n..][..n];
        match a {
            Operand::Scalar(value) => return Operand::Scalar(f(value)),
            Operand::Input(place) => map(out, inputs[place], |_, x| f(x)),
            // The top of the stack is in the slot of its place.
            Operand::Slot(_) => update(out, f),
        }
        Operand::Slot(to)
    }

    /// The left operand is on top of the stack, since trees are read from their end.
    #[inline(always)]
    fn binary(&mut self, inputs: &[&[f64]], f: impl Fn(f64, f64) -> f64) -> Operand {
        let n = self.n_points;
        let (Some(a), Some(b)) = (self.stack.pop(), self.stack.pop()) else {
            return Operand::Scalar(f64::NAN);
        };
        let to = self.stack.len();
        // The right operand `b`, if computed, is in slot `to`, the left one above it; the result
        // replaces `b`.
        let (low, high) = self.slots[to * n..].split_at_mut(n);
        let low = &mut low[..n];
        match (a, b) {
            (Operand::Scalar(a), Operand::Scalar(b)) => return Operand::Scalar(f(a, b)),
            (Operand::Slot(_), Operand::Slot(_)) => map(low, &high[..n], |b, a| f(a, b)),
            (Operand::Slot(_), Operand::Scalar(b)) => map(low, &high[..n], |_, a| f(a, b)),
            (Operand::Slot(_), Operand::Input(b)) => map_both(low, &high[..n], inputs[b], f),
            (Operand::Scalar(a), Operand::Slot(_)) => update(low, |b| f(a, b)),
            (Operand::Input(a), Operand::Slot(_)) => map(low, inputs[a], |b, a| f(a, b)),
            (Operand::Scalar(a), Operand::Input(b)) => map(low, inputs[b], |_, b| f(a, b)),
            (Operand::Input(a), Operand::Scalar(b)) => map(low, inputs[a], |_, a| f(a, b)),
            (Operand::Input(a), Operand::Input(b)) => map_both(low, inputs[a], inputs[b], f),
        }
        Operand::Slot(to)
    }
}

// Plain loops: one in a closure of the iterator is compiled on its own, without the wider registers of the caller.

#[inline(always)]
fn update(out: &mut [f64], f: impl Fn(f64) -> f64) {
    for x in out {
        *x = f(*x);
    }
}

#[inline(always)]
fn map(out: &mut [f64], a: &[f64], f: impl Fn(f64, f64) -> f64) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = f(*out, *a);
    }
}

#[inline(always)]
fn map_both(out: &mut [f64], a: &[f64], b: &[f64], f: impl Fn(f64, f64) -> f64) {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = f(*a, *b);
    }
}

/// `|a| ^ b`, the power protected from negative bases; 0 of 0 with a power above 0.
#[inline(always)]
pub fn power(a: f64, b: f64) -> f64 {
    let power = fast_math::exp(b * fast_math::ln_abs(a));
    if a == 0.0 && b > 0.0 { 0.0 } else { power }
}

/// `max(0, a)`; not a number where `a` is not.
#[inline(always)]
pub fn ramp(a: f64) -> f64 {
    if a < 0.0 { 0.0 } else { a }
}

/// Range of a tree over a box of inputs.
///
/// # Arguments
/// * `inputs` - least and greatest value of each, shape `[n_inputs]`
///
/// # Returns
/// `None` if a divisor, the argument of a logarithm or the base of a power may be 0 in the box, or a part of the tree
/// may be larger than any time: such a tree has a pole between or beyond the points. The base of a power above 0 may be
/// 0 if it is never negative, like a [`Node::Ramp`].
///
/// # Source
/// M. Keijzer, EuroGP 2003, LNCS 2610, 70: interval arithmetic and linear scaling (from memory, not
/// checked).
pub fn range_over(tree: &[Node], inputs: &[[f64; 2]]) -> Option<[f64; 2]> {
    let mut stack = [[0.0; 2]; MAX_NODES + 1];
    let mut top = 0;
    for node in tree.iter().rev() {
        let n = node.arity();
        let (a, b) = match n {
            0 => ([0.0; 2], [0.0; 2]),
            1 => (stack[top - 1], [0.0; 2]),
            _ => (stack[top - 1], stack[top - 2]),
        };
        let range = range_of(*node, a, b, inputs)?;
        let is_bounded = range[0] >= -LARGEST && range[1] <= LARGEST;
        if !is_bounded {
            return None;
        }
        top -= n;
        stack[top] = range;
        top += 1;
    }
    Some(stack[0])
}

fn range_of(node: Node, a: [f64; 2], b: [f64; 2], inputs: &[[f64; 2]]) -> Option<[f64; 2]> {
    // Product, quotient without 0 in the divisor, and power of a positive base are monotone in each
    // argument, so their extremes are at corners of the box.
    let corners = |f: fn(f64, f64) -> f64, a: [f64; 2], b: [f64; 2]| {
        let all = [f(a[0], b[0]), f(a[0], b[1]), f(a[1], b[0]), f(a[1], b[1])];
        [
            all.into_iter().fold(f64::INFINITY, f64::min),
            all.into_iter().fold(f64::NEG_INFINITY, f64::max),
        ]
    };
    let without_zero = |x: [f64; 2]| (x[0] > 1e-9 || x[1] < -1e-9).then_some(x);
    let magnitude = |x: [f64; 2]| if x[0] > 0.0 { x } else { [-x[1], -x[0]] };
    Some(match node {
        Node::Number(value) => [value; 2],
        Node::Input(place) => inputs[usize::from(place)],
        Node::Add => [a[0] + b[0], a[1] + b[1]],
        Node::Subtract => [a[0] - b[1], a[1] - b[0]],
        Node::Multiply => corners(|a, b| a * b, a, b),
        Node::Divide => corners(|a, b| a / b, a, without_zero(b)?),
        Node::Power => {
            let starts_at_zero = a[0] >= 0.0 && b[0] > 0.0;
            let base = match starts_at_zero {
                true => a,
                false => magnitude(without_zero(a)?),
            };
            corners(power, base, b)
        }
        Node::Log => magnitude(without_zero(a)?).map(fast_math::ln_abs),
        Node::Exp => a.map(fast_math::exp),
        Node::Ramp => a.map(ramp),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tree::Gardener;
    use super::*;

    /// Value at one point, by definition.
    fn value(tree: &mut dyn Iterator<Item = Node>, x: &[f64]) -> f64 {
        let node = tree.next().unwrap();
        let mut next = || value(tree, x);
        match node {
            Node::Number(v) => v,
            Node::Input(place) => x[usize::from(place)],
            Node::Add => next() + next(),
            Node::Subtract => next() - next(),
            Node::Multiply => next() * next(),
            Node::Divide => next() / next(),
            Node::Power => power(next(), next()),
            Node::Log => fast_math::ln_abs(next()),
            Node::Exp => fast_math::exp(next()),
            Node::Ramp => ramp(next()),
        }
    }

    #[test]
    fn columns_agree_with_points_and_stay_in_the_range() {
        let gardener = Gardener {
            n_inputs: 2,
            max_depth: 7,
        };
        let mut rng = fastrand::Rng::with_seed(3);
        let inputs = [[0.5, 1.0, 2.0, 3.7, 0.9], [0.2, 4.0, 1.1, 2.9, 0.7]];
        let mut evaluator = Evaluator::new(5);
        let (mut out, mut n_bounded) = (vec![0.0; 5], 0);
        for place in 0..3000 {
            let mut tree = gardener.initial(place, &mut rng);
            (0..place % 3).for_each(|_| tree = gardener.mutated(&tree, &mut rng));
            evaluator.evaluate(&tree, &[&inputs[0], &inputs[1]], &mut out);
            let range = range_over(&tree, &[[0.2, 4.0]; 2]);
            n_bounded += usize::from(range.is_some());
            for (i, y) in out.iter().enumerate() {
                let x = [inputs[0][i], inputs[1][i]];
                let exact = value(&mut tree.iter().copied(), &x);
                assert!(
                    y.to_bits() == exact.to_bits() || (y.is_nan() && exact.is_nan()),
                    "{tree:?}: {y} {exact}"
                );
                if let Some([low, high]) = range {
                    let room = 1e-9 * low.abs().max(high.abs());
                    assert!(
                        (low - room..=high + room).contains(y),
                        "{tree:?}: {y} of {low} to {high}"
                    );
                }
            }
        }
        assert!(n_bounded > 300, "{n_bounded}");
    }
}

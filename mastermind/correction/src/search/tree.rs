//! Trees of the genetic programming: made at random, crossed and mutated.
//!
//! A tree is a flat list of nodes, each operator in front of its operands. The number of operands
//! of each node fixes where a subtree ends, so a subtree is a contiguous range: crossover replaces
//! one range by another, and a tree is copied with one allocation.
//!
//! ```text
//! x0 + 2*ln(x1)      Add  Input(0)  Multiply  Number(2.0)  Log  Input(1)
//!                     0      1          2          3        4      5
//!                                   end_of(tree, 2) = 6
//! ```
//!
//! Every operation keeps two properties that the evaluator relies on: a list is exactly one
//! complete tree, and it has at most [`MAX_NODES`] nodes, for which the stacks of interval
//! arithmetic have room. Whether a tree fits the data is not known here; see `problem.rs`. New
//! trees have no [`Node::Ramp`]: thresholds come from the forms that the search begins with, and
//! from mutations of `Exp`.

use fastrand::Rng;

/// An operator, an input or a constant of a tree. Powers and logarithms take the magnitude of their
/// argument, so that negative ones have a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Node {
    /// A constant.
    Number(f64),
    /// Input of this place.
    Input(u8),
    /// `a + b`.
    Add,
    /// `a - b`.
    Subtract,
    /// `a * b`.
    Multiply,
    /// `a / b`.
    Divide,
    /// `|a| ^ b`.
    Power,
    /// `ln |a|`.
    Log,
    /// `exp(a)`.
    Exp,
    /// `max(0, a)`: a threshold.
    Ramp,
}

impl Node {
    /// Operands that it takes.
    pub fn arity(self) -> usize {
        match self {
            Self::Number(_) | Self::Input(_) => 0,
            Self::Log | Self::Exp | Self::Ramp => 1,
            _ => 2,
        }
    }
}

/// Most nodes of a tree.
pub const MAX_NODES: usize = 31;

/// A tree in prefix order: each operator precedes its operands.
pub type Tree = Vec<Node>;

/// Where the subtree that begins at `start` ends.
pub fn end_of(tree: &[Node], start: usize) -> usize {
    // Operands that are still missing: each node supplies one, and opens as many as it takes.
    let mut open = 1;
    let mut at = start;
    while open > 0 {
        open += tree[at].arity();
        open -= 1;
        at += 1;
    }
    at
}

/// The same tree with a constant in front of each term but the last of its sum, for least squares to find;
/// `None` if there is nothing to add, or no room.
pub fn with_weights(tree: &[Node]) -> Option<Tree> {
    let mut weighted = Tree::with_capacity(tree.len() + 4);
    let mut at = 0;
    // Down the right operands: `a + (b + c)`. The last term has the factor of the whole tree.
    while matches!(tree[at], Node::Add | Node::Subtract) {
        weighted.push(tree[at]);
        at += 1;
        let end = end_of(tree, at);
        let has_weight = match tree[at] {
            Node::Number(_) => true,
            Node::Multiply => matches!(tree[at + 1], Node::Number(_)),
            _ => false,
        };
        if !has_weight {
            weighted.extend([Node::Multiply, Node::Number(1.0)]);
        }
        weighted.extend_from_slice(&tree[at..end]);
        at = end;
    }
    weighted.extend_from_slice(&tree[at..]);
    (weighted.len() > tree.len() && weighted.len() <= MAX_NODES).then_some(weighted)
}

/// Makes trees for a number of inputs: at random, from two parents, or by a mutation. None has more
/// than [`MAX_NODES`] nodes.
#[derive(Debug, Clone)]
pub struct Gardener {
    /// Inputs of the trees.
    pub n_inputs: u8,
    /// Greatest depth of a new tree.
    pub max_depth: usize,
}

impl Gardener {
    /// A tree for the first population: half of them full, half grown, of all depths from 2.
    pub fn initial(&self, place: usize, rng: &mut Rng) -> Tree {
        let depths = self.max_depth.max(2) - 1;
        let depth = 2 + place / 2 % depths;
        self.sprout(depth, place.is_multiple_of(2), rng)
    }

    /// A product of powers of the inputs, or the logarithm of one times powers: the usual form of costs.
    pub fn product(&self, rng: &mut Rng) -> Tree {
        let mut tree = Tree::new();
        let n_factors = 1 + rng.usize(0..usize::from(self.n_inputs).min(3));
        for factor in 0..n_factors {
            if factor + 1 < n_factors {
                tree.push(Node::Multiply);
            }
            let input = Node::Input(rng.u8(0..self.n_inputs));
            match rng.u8(0..5) {
                0 => tree.extend([Node::Log, input]),
                1 => tree.push(input),
                _ => tree.extend([Node::Power, input, Node::Number(4.0 * rng.f64() - 1.5)]),
            }
        }
        tree
    }

    /// A tree of at most [`MAX_NODES`].
    ///
    /// A tree that grows beyond is tried again less deep: a full one of depth 7 would have some hundred nodes.
    fn sprout(&self, mut depth: usize, is_full: bool, rng: &mut Rng) -> Tree {
        loop {
            let mut tree = Tree::new();
            self.grow(depth, is_full, rng, &mut tree);
            if tree.len() <= MAX_NODES {
                return tree;
            }
            depth = depth.saturating_sub(1);
        }
    }

    fn grow(&self, depth: usize, is_full: bool, rng: &mut Rng, tree: &mut Tree) {
        if tree.len() > MAX_NODES {
            return;
        }
        let is_leaf = depth == 0 || (!is_full && rng.f64() < 0.3);
        let node = if is_leaf {
            self.leaf(rng)
        } else {
            operator(rng)
        };
        tree.push(node);
        for _ in 0..node.arity() {
            self.grow(depth.saturating_sub(1), is_full, rng, tree);
        }
    }

    fn leaf(&self, rng: &mut Rng) -> Node {
        if rng.f64() < 0.65 {
            Node::Input(rng.u8(0..self.n_inputs))
        } else {
            Node::Number(constant(rng))
        }
    }

    /// A child with a part of `b` in the place of a part of `a`.
    pub fn crossed(&self, a: &[Node], b: &[Node], rng: &mut Rng) -> Tree {
        let from = inner(a, rng);
        let until = end_of(a, from);
        let start = inner(b, rng);
        let end = end_of(b, start);
        // Too large a child is a copy of the parent.
        if a.len() - (until - from) + (end - start) > MAX_NODES {
            return a.to_vec();
        }
        spliced(a, from, until, &b[start..end])
    }

    /// A changed child: a new part, a part in place of the whole, another operator, or another constant.
    pub fn mutated(&self, a: &[Node], rng: &mut Rng) -> Tree {
        let at = rng.usize(0..a.len());
        match rng.u8(0..4) {
            0 => {
                let new = self.sprout(2, false, rng);
                let end = end_of(a, at);
                if a.len() - (end - at) + new.len() > MAX_NODES {
                    return new;
                }
                spliced(a, at, end, &new)
            }
            1 => a[at..end_of(a, at)].to_vec(),
            2 => self.with_other_node(a, at, rng),
            _ => with_other_constants(a, rng),
        }
    }

    fn with_other_node(&self, a: &[Node], at: usize, rng: &mut Rng) -> Tree {
        let mut tree = a.to_vec();
        tree[at] = match tree[at].arity() {
            0 => self.leaf(rng),
            1 => match tree[at] {
                Node::Log => Node::Exp,
                Node::Exp => Node::Ramp,
                _ => Node::Log,
            },
            _ => loop {
                let node = operator(rng);
                if node.arity() == 2 {
                    break node;
                }
            },
        };
        tree
    }
}

/// An operator nine times in ten if there is one, since most nodes are leaves.
fn inner(tree: &[Node], rng: &mut Rng) -> usize {
    let at = rng.usize(0..tree.len());
    if tree[at].arity() > 0 || rng.f64() < 0.1 {
        return at;
    }
    rng.usize(0..tree.len())
}

fn spliced(a: &[Node], from: usize, until: usize, part: &[Node]) -> Tree {
    let mut tree = Tree::with_capacity(a.len() - (until - from) + part.len());
    tree.extend_from_slice(&a[..from]);
    tree.extend_from_slice(part);
    tree.extend_from_slice(&a[until..]);
    tree
}

fn with_other_constants(a: &[Node], rng: &mut Rng) -> Tree {
    let mut tree = a.to_vec();
    for node in &mut tree {
        if let Node::Number(value) = node {
            *value = *value * (1.0 + 0.3 * normal(rng)) + 0.05 * normal(rng);
        }
    }
    tree
}

fn operator(rng: &mut Rng) -> Node {
    match rng.u8(0..12) {
        0 | 1 => Node::Add,
        2 => Node::Subtract,
        3..=5 => Node::Multiply,
        6 | 7 => Node::Divide,
        8 | 9 => Node::Power,
        10 => Node::Log,
        _ => Node::Exp,
    }
}

/// Of the order of one, as the scaled inputs are; a half small fractions.
fn constant(rng: &mut Rng) -> f64 {
    if rng.bool() {
        f64::from(rng.i8(-4..=8)) / 2.0
    } else {
        1.5 * normal(rng)
    }
}

/// Nearly normal, of mean 0 and variance 1: the sum of four uniform numbers, shifted and scaled.
pub fn normal(rng: &mut Rng) -> f64 {
    (0..4).map(|_| rng.f64()).sum::<f64>() * 3f64.sqrt() - 2.0 * 3f64.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether operators and operands match.
    fn is_whole(tree: &[Node]) -> bool {
        !tree.is_empty() && end_of(tree, 0) == tree.len()
    }

    #[test]
    fn each_term_but_the_last_gets_a_weight() {
        use Node::{Add, Input, Log, Multiply, Number, Subtract};
        let (x, y) = (Input(0), Input(1));
        let sum = [Add, x, Subtract, Log, y, x];
        let weighted = [
            &[Add, Multiply, Number(1.0), x, Subtract][..],
            &[Multiply, Number(1.0), Log, y, x],
        ];
        assert_eq!(with_weights(&sum), Some(weighted.concat()));
        assert_eq!(with_weights(&weighted.concat()), None);
        assert_eq!(with_weights(&[Multiply, x, y]), None);
    }

    #[test]
    fn trees_stay_whole() {
        let gardener = Gardener {
            n_inputs: 3,
            max_depth: 7,
        };
        let mut rng = Rng::with_seed(1);
        let mut trees: Vec<Tree> = (0..200).map(|i| gardener.initial(i, &mut rng)).collect();
        trees.extend((0..50).map(|_| gardener.product(&mut rng)));
        for _ in 0..5000 {
            let (a, b) = (rng.usize(0..trees.len()), rng.usize(0..trees.len()));
            let child = if rng.bool() {
                gardener.crossed(&trees[a], &trees[b], &mut rng)
            } else {
                gardener.mutated(&trees[a], &mut rng)
            };
            assert!(is_whole(&child) && child.len() <= MAX_NODES, "{child:?}");
            trees[a] = child;
        }
    }
}

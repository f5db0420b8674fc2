//! Judges trees: the least squares of the corrected model at the points.
//!
//! A tree `g` gives only the form of a correction. Its constants `a`, `c` and `d` (see [`Problem`])
//! are linear in the model, so their best values follow from least squares, and the search need not
//! look for them. To do this for every tree of every generation, the columns that all trees share
//! are made orthonormal once; a tree is then one more column, of which the part along the others is
//! subtracted.
//!
//! ```text
//! columns    s·√w      b·√w (case 1)      g·s·√w           one row for each point, w its weight
//!            once for each Parameters     once for each tree
//! squares    |rest|² − (rest · ĝ)²        rest: times less their part in the first columns
//!                                         (and less the base, where it has no factor)
//!                                         ĝ: the tree's column, orthogonal to them and of length 1
//! ```
//!
//! The squares need no constants; these are recovered by back substitution ([`Problem::linear`])
//! only where they are used. Judging is the only task of this file: making trees is that of
//! `tree.rs`, and constants within a tree that of `refine.rs`.

use std::rc::Rc;

use super::evaluator::Evaluator;
use super::tree::{MAX_NODES, Node, Tree, end_of};
use crate::case::Case;
use crate::column_formula::ColumnFormula;

/// Share of the squares below which the rest is rounding.
const ROUNDING: f64 = 1e-20;

/// Cost of an input in an exponent in addition to the operator, in nodes.
const EXPONENTIAL: f64 = 3.0;

/// Additional cost of the base as an input, in nodes, if its parameters are searched: it is then a whole formula that
/// changes with them.
const SEARCHED_BASE: f64 = 3.0;

/// No tree is more complex, not even one with only the most expensive nodes.
pub const MAX_COMPLEXITY: usize = MAX_NODES * (1 + EXPONENTIAL as usize);

/// Most inputs of a tree.
pub const MAX_INPUTS: usize = 32;

/// Points, base formula and case of a search.
///
/// With `s` the scale and `g` the tree, the corrected time is `d·b + s·(a + c·g)` in case 1 and `b + s·(a + c·g)` in the others;
/// `a`, `c` and `d` have their least-squares values for every tree. Case 3 has no `d`: the searched unknowns set the
/// size of the base, and the points cannot distinguish the two.
#[derive(Debug, Clone)]
pub struct Problem<'a> {
    /// Which of the four cases.
    pub case: Case,
    /// Base formula over the points.
    pub base: &'a ColumnFormula,
    /// Values of the unknowns as fitted.
    pub fitted: Vec<f64>,
    /// How far each may go, shape `[n_unknowns][2]`.
    pub ranges: Vec<[f64; 2]>,
    /// Inputs of trees, at most [`MAX_INPUTS`]; of an integrated term the last is the base over the scale.
    pub inputs: Vec<Vec<f64>>,
    /// Number of inputs that are the formula's own; they come first, then the slopes of the base by its
    /// unknowns.
    pub n_plain: usize,
    /// Box of the inputs that trees must be bounded on.
    pub limits: Vec<[f64; 2]>,
    /// Divisor of the base over the scale, as an input.
    pub base_unit: f64,
    /// Points that a tree can distinguish; the others repeat them, and are no evidence of another
    /// form.
    pub n_distinct: f64,
    /// Factor of the time that is divided out, shape `[n_points]`.
    pub scale: Vec<f64>,
    /// Observed times, seconds.
    pub observed: Vec<f64>,
    /// Roots of the weights: the reciprocal of the time under relative residuals.
    pub roots: Vec<f64>,
    /// Mean square that is put down to noise: nothing is gained below it.
    pub noise_squares: f64,
}

/// A candidate: a tree and, if parameters are searched, their positions in their ranges.
#[derive(Debug, Clone)]
pub struct Genome {
    /// The term without its factor and constant.
    pub tree: Tree,
    /// Shared by candidates that have the same.
    pub parameters: Rc<Parameters>,
}

/// The base with its parameters at a place in their ranges, and the columns that follow from it.
#[derive(Debug)]
pub struct Parameters {
    /// From -1 to 1; empty where parameters are kept.
    pub genes: Vec<f64>,
    /// The base, seconds.
    base: Vec<f64>,
    /// The base over the scale as an input of trees; empty for a term that is added.
    input: Vec<f64>,
    /// Weighted base, if it has a factor of its own (case 1), orthogonal to the constant and of length one.
    of_base: Vec<f64>,
    /// Weighted times without the constant (and the base).
    rest: Vec<f64>,
    /// Its square.
    rest_squares: f64,
}

/// The linear constants of a corrected model, at their least-squares values for one tree and one
/// place of the parameters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear {
    /// Times the scale, `a`.
    pub constant: f64,
    /// Times the tree and the scale, `c`.
    pub factor: f64,
    /// Times the base, `d`; 1 in all cases but the first.
    pub of_base: f64,
}

/// Buffers with which a thread judges candidates: columns that each tree would otherwise allocate
/// anew.
#[derive(Debug, Clone)]
pub struct Workspace {
    evaluator: Evaluator,
    tree: Vec<f64>,
    /// Roots of the weights times the scale.
    weights: Vec<f64>,
    /// The same of length one: the weighted constant.
    constant: Vec<f64>,
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    // Four sums, so that additions do not wait for each other.
    let mut sums = [0.0; 4];
    let (a4, b4) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest = a4.remainder().iter().zip(b4.remainder());
    let tail: f64 = rest.map(|(a, b)| a * b).sum();
    for (a, b) in a4.zip(b4) {
        let triples = sums.iter_mut().zip(a).zip(b);
        triples.for_each(|((sum, a), b)| *sum += a * b);
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + tail
}

/// Takes the part along a unit column away from another; gives how much it was.
fn deflate(column: &mut [f64], unit: &[f64]) -> f64 {
    let along = dot(column, unit);
    let pairs = column.iter_mut().zip(unit);
    pairs.for_each(|(x, u)| *x -= along * u);
    along
}

/// Makes a column a unit one; `false` if its length is negligible.
fn normalise(column: &mut [f64], length_before: f64) -> bool {
    let squared = dot(column, column);
    let is_column = squared > 1e-18 * length_before && squared.is_finite();
    let inverse = if is_column {
        squared.sqrt().recip()
    } else {
        0.0
    };
    column.iter_mut().for_each(|x| *x *= inverse);
    is_column
}

/// The column of length one.
fn unit(column: &[f64]) -> Vec<f64> {
    let mut unit = column.to_vec();
    normalise(&mut unit, dot(column, column));
    unit
}

impl Problem<'_> {
    /// Cost of a tree: its nodes, logarithms twice, and more for an input in an exponent and for a base that is
    /// searched.
    ///
    /// Costs are seldom exponential: such a tree follows a few points as well as a power does, and runs away between and beyond
    /// them.
    pub fn complexity(&self, tree: &[Node]) -> f64 {
        let is_dear = self.case.is_integrated() && self.case.searches_parameters();
        let base = is_dear.then(|| self.inputs.len() - 1);
        let cost = |(place, node): (usize, &Node)| match node {
            Node::Log => 2.0,
            Node::Input(input) if Some(usize::from(*input)) == base => 1.0 + SEARCHED_BASE,
            Node::Exp => 1.0 + EXPONENTIAL,
            Node::Power if is_open(tree, end_of(tree, place + 1)) => 1.0 + EXPONENTIAL,
            _ => 1.0,
        };
        tree.iter().enumerate().map(cost).sum()
    }

    /// Points.
    pub fn n_points(&self) -> usize {
        self.observed.len()
    }

    /// A fresh workspace.
    pub fn workspace(&self) -> Workspace {
        let n = self.n_points();
        let weights: Vec<f64> = (0..n).map(|i| self.scale[i] * self.roots[i]).collect();
        Workspace {
            evaluator: Evaluator::new(n),
            tree: vec![0.0; n],
            constant: unit(&weights),
            weights,
        }
    }

    /// Values of the unknowns that genes encode.
    pub fn unknowns(&self, genes: &[f64]) -> Vec<f64> {
        if genes.is_empty() {
            return self.fitted.clone();
        }
        let triples = self.fitted.iter().zip(&self.ranges).zip(genes);
        let value = |((fitted, [low, high]), gene): ((&f64, &[f64; 2]), &f64)| {
            // Gene 0 is the fitted value, -1 and 1 are the ends, which need not be equally far.
            let room = if *gene < 0.0 {
                fitted - low
            } else {
                high - fitted
            };
            (fitted + gene * room).clamp(*low, *high)
        };
        triples.map(value).collect()
    }

    /// The base at a place in the ranges of its parameters.
    pub fn parameters(&self, genes: Vec<f64>, workspace: &Workspace) -> Parameters {
        let mut base = Vec::new();
        self.base.evaluate(&self.unknowns(&genes), &mut base);
        let weighted = |values: &[f64]| -> Vec<f64> {
            let pairs = values.iter().zip(&self.roots);
            pairs.map(|(value, root)| value * root).collect()
        };
        let mut of_base = weighted(&base);
        let mut rest = weighted(&self.observed);
        let mut input = Vec::new();
        if self.case.is_integrated() {
            let triples = base.iter().zip(&self.scale);
            input.extend(triples.map(|(b, s)| b / s / self.base_unit));
        }
        if self.case.scales_base() {
            // Gram and Schmidt: constant, base, times, each without its part along those before.
            let length = dot(&of_base, &of_base);
            deflate(&mut of_base, &workspace.constant);
            normalise(&mut of_base, length);
            deflate(&mut rest, &workspace.constant);
            deflate(&mut rest, &of_base);
        } else {
            rest.iter_mut().zip(&of_base).for_each(|(r, b)| *r -= b);
            deflate(&mut rest, &workspace.constant);
        }
        Parameters {
            genes,
            base,
            input,
            of_base,
            rest_squares: dot(&rest, &rest),
            rest,
        }
    }

    /// Weighted residuals with the linear constants at their best, into `out`; `false` where a value is not finite.
    pub fn residuals(
        &self,
        tree: &[Node],
        parameters: &Parameters,
        workspace: &mut Workspace,
        out: &mut Vec<f64>,
    ) -> bool {
        let unit = self.unit_of_tree(tree, parameters, workspace);
        out.clear();
        out.extend_from_slice(&parameters.rest);
        if unit == Some(true) {
            deflate(out, &workspace.tree);
        }
        unit.is_some() && out.iter().all(|r| r.is_finite())
    }

    /// Weighted sum of squares with the linear constants at their best; infinite where a value is not finite.
    pub fn squares(
        &self,
        tree: &[Node],
        parameters: &Parameters,
        workspace: &mut Workspace,
    ) -> f64 {
        let rest = parameters.rest_squares;
        match self.unit_of_tree(tree, parameters, workspace) {
            None => f64::INFINITY,
            Some(false) => rest,
            Some(true) => {
                let along = dot(&parameters.rest, &workspace.tree);
                // The difference may become negative by rounding.
                (rest - along * along).max(ROUNDING * rest)
            }
        }
    }

    /// Deviance of the base as fitted, without a term.
    pub fn fitness_of_base(&self) -> f64 {
        let mut base = Vec::new();
        self.base.evaluate(&self.fitted, &mut base);
        let residuals = self.observed.iter().zip(&base).zip(&self.roots);
        let squares = residuals.map(|((y, b), root)| ((y - b) * root).powi(2));
        self.deviance(squares.sum())
    }

    /// `n ln` of the mean square and the noise, with `n` the points that a tree can distinguish.
    pub fn deviance(&self, squares: f64) -> f64 {
        self.n_distinct * (squares / self.n_points() as f64 + self.noise_squares).ln()
    }

    /// Leaves the weighted tree in the workspace, made orthogonal to the other columns and of length one; `Some(false)`
    /// if it follows from them, `None` if it is not finite.
    fn unit_of_tree(
        &self,
        tree: &[Node],
        parameters: &Parameters,
        workspace: &mut Workspace,
    ) -> Option<bool> {
        self.evaluate(tree, parameters, workspace);
        let column = &mut workspace.tree;
        let pairs = column.iter_mut().zip(&workspace.weights);
        pairs.for_each(|(g, w)| *g *= w);
        let length = dot(column, column);
        if !(length.is_finite() && length < 1e24) {
            return None;
        }
        deflate(column, &workspace.constant);
        if self.case.scales_base() {
            deflate(column, &parameters.of_base);
        }
        // A tree of which less than a millionth of the length is left follows from the other
        // columns.
        Some(normalise(column, length * 1e6))
    }

    /// Values of a tree into the workspace.
    fn evaluate(&self, tree: &[Node], parameters: &Parameters, workspace: &mut Workspace) {
        let mut inputs: [&[f64]; MAX_INPUTS] = [&[]; MAX_INPUTS];
        // The last input of an integrated term is the base, whose column depends on the parameters.
        let n_inputs = self.inputs.len() - usize::from(self.case.is_integrated());
        let columns = self.inputs.iter().take(n_inputs);
        let slots = inputs.iter_mut().zip(columns);
        slots.for_each(|(slot, column)| *slot = column);
        if self.case.is_integrated() {
            inputs[n_inputs] = &parameters.input;
        }
        let Workspace {
            evaluator,
            tree: out,
            ..
        } = workspace;
        evaluator.evaluate(tree, &inputs, out);
    }

    /// How far the parts of a corrected time cancel: mean logarithm of the sum of their magnitudes by the time; 0 where
    /// all are positive, as costs are.
    pub fn cancellation(
        &self,
        tree: &[Node],
        parameters: &Parameters,
        workspace: &mut Workspace,
    ) -> Option<f64> {
        let linear = self.linear(tree, parameters, workspace)?;
        self.evaluate(tree, parameters, workspace);
        let logarithm = |i: usize| {
            let parts = [
                linear.of_base * parameters.base[i],
                self.scale[i] * linear.constant,
                self.scale[i] * linear.factor * workspace.tree[i],
            ];
            let magnitudes: f64 = parts.iter().map(|part| part.abs()).sum();
            let time: f64 = parts.iter().sum();
            (magnitudes / time.abs()).ln()
        };
        let n = self.n_points();
        Some((0..n).map(logarithm).sum::<f64>() / n as f64)
    }

    /// The linear constants at their least squares; `None` where a value is not finite.
    pub fn linear(
        &self,
        tree: &[Node],
        parameters: &Parameters,
        workspace: &mut Workspace,
    ) -> Option<Linear> {
        let is_own = self.unit_of_tree(tree, parameters, workspace)?;
        let unit_of_tree = workspace.tree.clone();
        self.evaluate(tree, parameters, workspace);
        let product =
            |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a * b).collect() };
        let weighted = product(&workspace.tree, &workspace.weights);
        let base = product(&parameters.base, &self.roots);
        let observed = product(&self.observed, &self.roots);
        // Back substitution by the orthonormal columns: the tree first, then the base, then the constant.
        let factor = if is_own {
            dot(&parameters.rest, &unit_of_tree) / dot(&weighted, &unit_of_tree)
        } else {
            0.0
        };
        let left = |of_base: f64| -> Vec<f64> {
            let at = |i: usize| observed[i] - factor * weighted[i] - of_base * base[i];
            (0..observed.len()).map(at).collect()
        };
        let along = dot(&base, &parameters.of_base);
        let of_base = if self.case.scales_base() && along != 0.0 {
            dot(&left(0.0), &parameters.of_base) / along
        } else {
            1.0
        };
        let of_constant = dot(&workspace.weights, &workspace.constant);
        let constant = dot(&left(of_base), &workspace.constant) / of_constant;
        let linear = Linear {
            constant,
            factor,
            of_base,
        };
        [constant, factor, of_base]
            .iter()
            .all(|x| x.is_finite())
            .then_some(linear)
    }
}

/// Whether the part of a tree that begins at a place has an input.
fn is_open(tree: &[Node], start: usize) -> bool {
    let part = &tree[start..end_of(tree, start)];
    part.iter().any(|node| matches!(node, Node::Input(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::Specification;
    use crate::table::Table;

    /// Times `a·n + n²/2`, `a` = 3 fitted as 2.
    fn with_problem<T>(case: Case, ask: impl FnOnce(&Problem<'_>) -> T) -> T {
        let text = "name = \"x\"\nobservation = \"t\"\ninputs = [\"n\"]\nformula = \"a*n\"\n\
                    [unknowns]\na = { lower = 0.1, upper = 9 }";
        let specification = Specification::from_toml(text).unwrap();
        let points: Vec<f64> = (1..9).map(f64::from).collect();
        let observed: Vec<f64> = points.iter().map(|n| 3.0 * n + 0.5 * n * n).collect();
        let table = Table {
            weights: vec![1.0; points.len()],
            is_train: vec![true; points.len()],
            lines: (2..points.len() + 2).collect(),
            inputs: vec![points.clone()],
            observed: observed.clone(),
        };
        let formula = specification.over(&table).unwrap();
        let mut inputs = vec![points.clone()];
        if case.is_integrated() {
            inputs.push(points.iter().map(|n| 2.0 * n).collect());
        }
        ask(&Problem {
            case,
            base: &formula,
            fitted: vec![2.0],
            ranges: vec![[1.0, 3.0]],
            limits: inputs.iter().map(|_| [0.5, 32.0]).collect(),
            inputs,
            n_plain: 1,
            base_unit: 1.0,
            n_distinct: 8.0,
            scale: vec![1.0; points.len()],
            roots: observed.iter().map(|y| y.recip()).collect(),
            observed,
            noise_squares: 1e-6,
        })
    }

    /// The factor of the base and the squares for the tree `n²`.
    fn judged(case: Case, genes: Vec<f64>) -> (f64, f64) {
        with_problem(case, |problem| {
            let mut workspace = problem.workspace();
            let parameters = problem.parameters(genes, &workspace);
            let tree = [Node::Power, Node::Input(0), Node::Number(2.0)];
            let linear = problem.linear(&tree, &parameters, &mut workspace);
            let squares = problem.squares(&tree, &parameters, &mut workspace);
            (linear.unwrap().of_base, squares)
        })
    }

    /// The base is a whole formula there, not one node.
    #[test]
    fn a_base_that_is_searched_costs_more_than_an_input() {
        let tree = |input| [Node::Log, Node::Input(input)];
        let costs = |case| with_problem(case, |p| [0, 1].map(|input| p.complexity(&tree(input))));
        assert_eq!(costs(Case::One), [3.0, 3.0]);
        assert_eq!(costs(Case::Three), [3.0, 6.0]);
    }

    #[test]
    fn searched_unknowns_alone_say_how_large_the_base_is() {
        let (factor, squares) = judged(Case::One, Vec::new());
        assert!(
            (factor - 1.5).abs() < 1e-9 && squares < 1e-12,
            "{factor} {squares}"
        );
        let (factor, squares) = judged(Case::Three, vec![0.0]);
        assert!(factor == 1.0 && squares > 1e-3, "{factor} {squares}");
        let (factor, squares) = judged(Case::Three, vec![1.0]);
        assert!(factor == 1.0 && squares < 1e-12, "{factor} {squares}");
    }
}

//! What a tree is judged by: the least squares of the corrected model at the points.

use super::evaluator::Evaluator;
use super::tree::{Node, Tree};
use crate::case::Case;
use crate::column_formula::ColumnFormula;

/// Share of the squares below which what is left is rounding.
const ROUNDING: f64 = 1e-20;

/// Points, base formula and case of a search.
///
/// With `s` the scale, the corrected time is `s·(a + c·g) + b` for a term that is added, and
/// `d·b + s·(a + c·g)` for one that is integrated, where `g` is the tree; `a`, `c` and `d` are at their least
/// squares for every tree.
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
    /// Inputs of trees; of an integrated term the last is the base over the scale.
    pub inputs: Vec<Vec<f64>>,
    /// Box of the inputs that trees must be bounded on.
    pub limits: Vec<[f64; 2]>,
    /// What the base over the scale is divided by as an input.
    pub base_unit: f64,
    /// Points that a tree can tell apart; the others repeat them, and are no evidence of another form.
    pub n_distinct: f64,
    /// Factor of the time that is taken out, shape `[n_points]`.
    pub scale: Vec<f64>,
    /// Observed times, seconds.
    pub observed: Vec<f64>,
    /// Roots of the weights: the reciprocal of the time under relative residuals.
    pub roots: Vec<f64>,
}

/// A candidate: a tree and, where parameters are searched, where each lies in its range.
#[derive(Debug, Clone, PartialEq)]
pub struct Genome {
    /// The term but for its factor and constant.
    pub tree: Tree,
    /// From -1 to 1; empty where parameters are kept.
    pub genes: Vec<f64>,
}

/// The linear constants of a corrected model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Linear {
    /// Times the scale, `a`.
    pub constant: f64,
    /// Times the tree and the scale, `c`.
    pub factor: f64,
    /// Times the base, `d`; 1 for a term that is added.
    pub of_base: f64,
}

/// What a thread needs to judge candidates.
#[derive(Debug, Clone)]
pub struct Workspace {
    evaluator: Evaluator,
    inputs: Vec<Vec<f64>>,
    base: Vec<f64>,
    tree: Vec<f64>,
    /// Weighted orthonormal columns: the constant, the base.
    constant: Vec<f64>,
    of_base: Vec<f64>,
    /// What the constant (and the base) leave of the weighted times.
    rest: Vec<f64>,
    is_prepared: bool,
    genes: Vec<f64>,
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

/// Makes a column a unit one; `false` where it has no length to speak of.
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

impl Problem<'_> {
    /// Points.
    pub fn n_points(&self) -> usize {
        self.observed.len()
    }

    /// A fresh workspace.
    pub fn workspace(&self) -> Workspace {
        let n = self.n_points();
        let mut workspace = Workspace {
            evaluator: Evaluator::new(n),
            inputs: self.inputs.clone(),
            base: vec![0.0; n],
            tree: vec![0.0; n],
            constant: vec![0.0; n],
            of_base: vec![0.0; n],
            rest: vec![0.0; n],
            is_prepared: false,
            genes: Vec::new(),
        };
        let triples = workspace.constant.iter_mut().zip(&self.scale);
        let triples = triples.zip(&self.roots);
        triples.for_each(|((out, s), w)| *out = s * w);
        let length = dot(&workspace.constant, &workspace.constant);
        normalise(&mut workspace.constant, length);
        workspace
    }

    /// Values of the unknowns that genes stand for.
    pub fn unknowns(&self, genes: &[f64]) -> Vec<f64> {
        if genes.is_empty() {
            return self.fitted.clone();
        }
        let triples = self.fitted.iter().zip(&self.ranges).zip(genes);
        let value = |((fitted, [low, high]), gene): ((&f64, &[f64; 2]), &f64)| {
            let room = if *gene < 0.0 {
                fitted - low
            } else {
                high - fitted
            };
            (fitted + gene * room).clamp(*low, *high)
        };
        triples.map(value).collect()
    }

    /// Brings the columns that depend on the genes up to date.
    fn prepare(&self, genes: &[f64], workspace: &mut Workspace) {
        if workspace.is_prepared && workspace.genes == genes {
            return;
        }
        let Workspace {
            inputs,
            base,
            constant,
            of_base,
            rest,
            ..
        } = workspace;
        self.base.evaluate(&self.unknowns(genes), base);
        if self.case.is_integrated()
            && let Some(input) = inputs.last_mut()
        {
            for ((x, b), s) in input.iter_mut().zip(&*base).zip(&self.scale) {
                *x = b / s / self.base_unit;
            }
        }
        let weighted = |column: &mut [f64], values: &[f64]| {
            let triples = column.iter_mut().zip(&self.roots).zip(values);
            triples.for_each(|((out, root), value)| *out = root * value);
        };
        weighted(of_base, base);
        weighted(rest, &self.observed);
        if self.case.is_integrated() {
            let length = dot(of_base, of_base);
            deflate(of_base, constant);
            normalise(of_base, length);
            deflate(rest, constant);
            deflate(rest, of_base);
        } else {
            rest.iter_mut().zip(&*of_base).for_each(|(r, b)| *r -= b);
            deflate(rest, constant);
        }
        workspace.is_prepared = true;
        workspace.genes.clear();
        workspace.genes.extend_from_slice(genes);
    }

    /// Weighted residuals with the linear constants at their best, into `out`; `false` where a value is not finite.
    pub fn residuals(
        &self,
        genome: &Genome,
        workspace: &mut Workspace,
        out: &mut Vec<f64>,
    ) -> bool {
        self.prepare(&genome.genes, workspace);
        let unit = self.unit_of_tree(&genome.tree, workspace);
        out.clear();
        out.extend_from_slice(&workspace.rest);
        if unit == Some(true) {
            deflate(out, &workspace.tree);
        }
        unit.is_some() && out.iter().all(|r| r.is_finite())
    }

    /// Weighted sum of squares with the linear constants at their best; infinite where a value is not finite.
    pub fn squares(&self, genome: &Genome, workspace: &mut Workspace) -> f64 {
        self.prepare(&genome.genes, workspace);
        let rest = dot(&workspace.rest, &workspace.rest);
        match self.unit_of_tree(&genome.tree, workspace) {
            None => f64::INFINITY,
            Some(false) => rest,
            Some(true) => {
                let along = dot(&workspace.rest, &workspace.tree);
                (rest - along * along).max(ROUNDING * rest)
            }
        }
    }

    /// Leaves the weighted tree in the workspace, made orthogonal to the other columns and of length one; `Some(false)`
    /// where it follows from them, `None` where it is not finite.
    fn unit_of_tree(&self, tree: &[Node], workspace: &mut Workspace) -> Option<bool> {
        let Workspace {
            evaluator,
            inputs,
            tree: column,
            constant,
            of_base,
            ..
        } = workspace;
        evaluator.evaluate(tree, inputs, column);
        for ((g, s), w) in column.iter_mut().zip(&self.scale).zip(&self.roots) {
            *g *= s * w;
        }
        let length = dot(column, column);
        if !(length.is_finite() && length < 1e24) {
            return None;
        }
        deflate(column, constant);
        if self.case.is_integrated() {
            deflate(column, of_base);
        }
        Some(normalise(column, length * 1e6))
    }

    /// The linear constants at their least squares; `None` where a value is not finite.
    pub fn linear(&self, genome: &Genome, workspace: &mut Workspace) -> Option<Linear> {
        self.prepare(&genome.genes, workspace);
        let is_own = self.unit_of_tree(&genome.tree, workspace)?;
        let n = self.n_points();
        let weights: Vec<f64> = (0..n).map(|i| self.scale[i] * self.roots[i]).collect();
        let base: Vec<f64> = (0..n).map(|i| workspace.base[i] * self.roots[i]).collect();
        let mut tree = vec![0.0; n];
        workspace
            .evaluator
            .evaluate(&genome.tree, &workspace.inputs, &mut tree);
        let weighted: Vec<f64> = tree.iter().zip(&weights).map(|(g, w)| g * w).collect();
        let observed: Vec<f64> = (0..n).map(|i| self.observed[i] * self.roots[i]).collect();
        // Back substitution by the orthonormal columns: the tree first, then the base, then the constant.
        let factor = if is_own {
            dot(&workspace.rest, &workspace.tree) / dot(&weighted, &workspace.tree)
        } else {
            0.0
        };
        let left = |i: usize, of_base: f64| observed[i] - factor * weighted[i] - of_base * base[i];
        let of_base = if self.case.is_integrated() {
            let left: Vec<f64> = (0..n).map(|i| left(i, 0.0)).collect();
            let along = dot(&base, &workspace.of_base);
            if along == 0.0 {
                1.0
            } else {
                dot(&left, &workspace.of_base) / along
            }
        } else {
            1.0
        };
        let left: Vec<f64> = (0..n).map(|i| left(i, of_base)).collect();
        let constant = dot(&left, &workspace.constant) / dot(&weights, &workspace.constant);
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

/// What a tree costs: its nodes, logarithms and exponentials twice.
pub fn complexity(tree: &[Node]) -> f64 {
    let cost = |node: &Node| match node {
        Node::Log | Node::Exp => 2.0,
        _ => 1.0,
    };
    tree.iter().map(cost).sum()
}

//! The constants of a tree, and the parameters searched, by least squares.

use std::rc::Rc;

use nalgebra::{DMatrix, DVector};

use super::problem::{Genome, Parameters, Problem, Workspace};
use super::tree::{Node, Tree};

/// Relative step of the differences.
const STEP: f64 = 1e-6;

/// Moves the constants of a tree and its genes towards the least squares; the linear constants follow.
///
/// Levenberg–Marquardt on the residuals with the linear constants projected out (Golub and Pereyra's variable
/// projection), derivatives by differences. The price of genes keeps them near 0.
///
/// # Arguments
/// * `gene_price` - price of a gene of 1 in units of the mean square times the points, so that it is a residual like others
///
/// # Returns
/// The weighted sum of squares reached.
pub fn refine(
    problem: &Problem<'_>,
    genome: &mut Genome,
    workspace: &mut Workspace,
    n_steps: usize,
    gene_price: f64,
) -> f64 {
    let mut fit = Fit {
        problem,
        tree: genome.tree.clone(),
        parameters: Rc::clone(&genome.parameters),
        workspace,
        gene_weight: 0.0,
    };
    let least = fit
        .problem
        .squares(&fit.tree, &fit.parameters, fit.workspace);
    if fit.values().is_empty() || !least.is_finite() {
        return least;
    }
    let mean = least / problem.n_points() as f64 + problem.noise_squares;
    fit.gene_weight = (gene_price * mean * problem.n_points() as f64 / problem.n_distinct).sqrt();
    fit.descend(n_steps);
    genome.tree = fit.tree;
    genome.parameters = fit.parameters;
    problem.squares(&genome.tree, &genome.parameters, fit.workspace)
}

struct Fit<'a, 'p> {
    problem: &'a Problem<'p>,
    tree: Tree,
    parameters: Rc<Parameters>,
    workspace: &'a mut Workspace,
    /// Root of the summand of a gene of 1 in the sum of squares.
    gene_weight: f64,
}

impl Fit<'_, '_> {
    fn descend(&mut self, n_steps: usize) {
        let mut values = self.values();
        let (mut here, mut there) = (Vec::new(), Vec::new());
        if !self.residuals(&mut here) {
            return;
        }
        let mut least = squares_of(&here);
        let mut damping = 1e-2;
        for _ in 0..n_steps {
            let mut slopes = DMatrix::zeros(here.len(), values.len());
            let kept = Rc::clone(&self.parameters);
            for (j, value) in values.iter().enumerate() {
                let step = STEP * value.abs().max(0.1);
                let step = if self.is_gene(j, &values) && *value > 0.5 {
                    -step
                } else {
                    step
                };
                self.set(j, value + step, &values);
                let is_finite = self.residuals(&mut there);
                self.set(j, *value, &values);
                self.parameters = Rc::clone(&kept);
                if !is_finite {
                    return;
                }
                for (i, (there, here)) in there.iter().zip(&here).enumerate() {
                    slopes[(i, j)] = (there - here) / step;
                }
            }
            let before = least;
            let normal = slopes.tr_mul(&slopes);
            let gradient = slopes.tr_mul(&DVector::from_column_slice(&here));
            for _ in 0..4 {
                let mut damped = normal.clone();
                for j in 0..values.len() {
                    damped[(j, j)] += damping * normal[(j, j)].max(1e-12);
                }
                let Some(step) = damped.cholesky().map(|c| c.solve(&gradient)) else {
                    damping *= 10.0;
                    continue;
                };
                let moved: Vec<f64> = values
                    .iter()
                    .zip(&step)
                    .map(|(v, s)| limited(v - s))
                    .collect();
                self.set_all(&moved);
                if self.residuals(&mut there) && squares_of(&there) < least {
                    least = squares_of(&there);
                    std::mem::swap(&mut here, &mut there);
                    values = self.values();
                    damping = (damping * 0.2).max(1e-9);
                    break;
                }
                self.set_all(&values);
                self.parameters = Rc::clone(&kept);
                damping *= 10.0;
            }
            if before - least <= 1e-6 * before {
                break;
            }
        }
    }

    /// Residuals of the points, then those of the genes.
    fn residuals(&mut self, out: &mut Vec<f64>) -> bool {
        let is_finite = self
            .problem
            .residuals(&self.tree, &self.parameters, self.workspace, out);
        let genes = self.parameters.genes.iter();
        out.extend(genes.map(|gene| gene * self.gene_weight));
        is_finite
    }

    /// The constants of the tree, then the genes.
    fn values(&self) -> Vec<f64> {
        let numbers = self.tree.iter().filter_map(|node| match node {
            Node::Number(value) => Some(*value),
            _ => None,
        });
        numbers
            .chain(self.parameters.genes.iter().copied())
            .collect()
    }

    fn is_gene(&self, place: usize, values: &[f64]) -> bool {
        place + self.parameters.genes.len() >= values.len()
    }

    /// Sets one value, the others as they are.
    fn set(&mut self, place: usize, value: f64, values: &[f64]) {
        if self.is_gene(place, values) {
            let mut genes = self.parameters.genes.clone();
            let gene = place + genes.len() - values.len();
            genes[gene] = value.clamp(-1.0, 1.0);
            self.parameters = Rc::new(self.problem.parameters(genes, self.workspace));
            return;
        }
        let numbers = self.tree.iter_mut().filter_map(|node| match node {
            Node::Number(number) => Some(number),
            _ => None,
        });
        if let Some(number) = numbers.into_iter().nth(place) {
            *number = value;
        }
    }

    fn set_all(&mut self, values: &[f64]) {
        let n_numbers = values.len() - self.parameters.genes.len();
        let mut left = values.iter();
        for node in &mut self.tree {
            if let (Node::Number(number), Some(value)) = (&mut *node, left.as_slice().first()) {
                *number = *value;
                left.next();
            }
        }
        if n_numbers < values.len() {
            let genes = values[n_numbers..].iter().map(|gene| gene.clamp(-1.0, 1.0));
            self.parameters = Rc::new(self.problem.parameters(genes.collect(), self.workspace));
        }
    }
}

fn squares_of(residuals: &[f64]) -> f64 {
    residuals.iter().map(|r| r * r).sum()
}

/// The value within the limits for exponents and coefficients of scaled inputs.
fn limited(value: f64) -> f64 {
    value.clamp(-1e4, 1e4)
}

//! The constants of a tree, and the parameters searched, by least squares.

use nalgebra::{DMatrix, DVector};

use super::problem::{Genome, Problem, Workspace};
use super::tree::Node;

/// Relative step of the differences.
const STEP: f64 = 1e-6;

/// Moves the constants of a tree and its genes towards the least squares; the linear constants follow.
///
/// Levenberg–Marquardt on the residuals with the linear constants projected out (Golub and Pereyra's variable
/// projection), derivatives by differences.
///
/// # Returns
/// The weighted sum of squares reached.
pub fn refine(
    problem: &Problem<'_>,
    genome: &mut Genome,
    workspace: &mut Workspace,
    n_steps: usize,
) -> f64 {
    let mut least = problem.squares(genome, workspace);
    let mut values = constants(genome);
    if values.is_empty() || !least.is_finite() {
        return least;
    }
    let mut damping = 1e-2;
    let (mut here, mut there) = (Vec::new(), Vec::new());
    for _ in 0..n_steps {
        if !problem.residuals(genome, workspace, &mut here) {
            break;
        }
        let n = here.len();
        let mut slopes = DMatrix::zeros(n, values.len());
        for (j, value) in values.iter().enumerate() {
            let step = STEP * value.abs().max(0.1);
            set_constant(genome, j, value + step);
            let is_finite = problem.residuals(genome, workspace, &mut there);
            set_constant(genome, j, *value);
            if !is_finite {
                return least;
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
            for (j, value) in values.iter().enumerate() {
                set_constant(genome, j, limited(value - step[j]));
            }
            let squares = problem.squares(genome, workspace);
            if squares < least {
                least = squares;
                values = constants(genome);
                damping = (damping * 0.2).max(1e-9);
                break;
            }
            for (j, value) in values.iter().enumerate() {
                set_constant(genome, j, *value);
            }
            damping *= 10.0;
        }
        if before - least <= 1e-6 * before {
            break;
        }
    }
    least
}

/// Within what any exponent or coefficient of scaled inputs may be.
fn limited(value: f64) -> f64 {
    value.clamp(-1e4, 1e4)
}

/// The constants of the tree, then the genes.
fn constants(genome: &Genome) -> Vec<f64> {
    let numbers = genome.tree.iter().filter_map(|node| match node {
        Node::Number(value) => Some(*value),
        _ => None,
    });
    numbers.chain(genome.genes.iter().copied()).collect()
}

fn set_constant(genome: &mut Genome, place: usize, value: f64) {
    let numbers = genome.tree.iter_mut().filter_map(|node| match node {
        Node::Number(number) => Some(number),
        _ => None,
    });
    let mut n_numbers = 0;
    for (i, number) in numbers.enumerate() {
        n_numbers += 1;
        if i == place {
            *number = value;
            return;
        }
    }
    genome.genes[place - n_numbers] = value.clamp(-1.0, 1.0);
}

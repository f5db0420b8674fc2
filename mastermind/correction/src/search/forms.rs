//! Forms that contention is known to take: the first candidates of a search.
//!
//! Each is a function of the number of processes that share a resource, times a power of another input. Which input is
//! which is not known, so all are tried. A fit without the contention has put some of it into the unknowns of the base,
//! so each form is also combined with each slope that can take it back. The constants are refined before the search
//! begins, and crossover takes the forms apart.

use super::problem::Problem;
use super::tree::{Node, Tree};

/// Thresholds that are tried: between the least values of an input.
const MAX_THRESHOLDS: usize = 3;

/// All forms for the inputs of a problem.
pub fn forms(problem: &Problem<'_>) -> Vec<Tree> {
    use Node::{Add, Input, Multiply, Number, Power};
    let n_inputs = problem.inputs.len();
    let after_slopes = n_inputs - usize::from(problem.case.is_integrated());
    let slopes = problem.n_plain..after_slopes;
    let others = (0..n_inputs).filter(|other| !slopes.contains(other));
    let others: Vec<usize> = others.collect();
    let mut all = Vec::new();
    for crowd in 0..problem.n_plain {
        for form in of_crowd(crowd, &problem.inputs[crowd]) {
            for other in others.iter().filter(|other| **other != crowd) {
                let power = [Power, Input(*other as u8), Number(0.5)];
                all.push([&[Multiply], &form[..], &power].concat());
            }
            all.push(form);
        }
    }
    let with_slope = |slope: usize| {
        let slope = [Add, Multiply, Number(0.0), Input(slope as u8)];
        all.iter().map(move |form| [&slope, &form[..]].concat())
    };
    let sums: Vec<Tree> = slopes.flat_map(with_slope).collect();
    all.extend(sums);
    all
}

/// Dependence of contention on the number of processes that share a resource.
///
/// # Arguments
/// * `column` - the number at the points, shape `[n_points]`
fn of_crowd(input: usize, column: &[f64]) -> Vec<Tree> {
    use Node::{Add, Divide, Input, Log, Multiply, Number, Power, Ramp, Subtract};
    let x = Input(input as u8);
    let mut levels = column.to_vec();
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    let (least, middle) = (levels[0], levels[levels.len() / 2]);
    let mut forms = vec![vec![Power, x, Number(0.6)], vec![Power, x, Number(1.4)]];
    if least > 0.0 {
        let steps = [Log, Multiply, Number(2.0 / least), x];
        let filling = [
            Divide,
            Number(1.0),
            Add,
            Number(1.0 / middle),
            Power,
            x,
            Number(-1.0),
        ];
        // Steps of a tree, to a power too, and a queue that fills up.
        forms.push(steps.to_vec());
        forms.push([&[Power], &steps[..], &[Number(2.0)]].concat());
        forms.push(filling.to_vec());
    }
    for pair in levels.windows(2).take(MAX_THRESHOLDS) {
        let threshold = match least > 0.0 {
            true => (pair[0] * pair[1]).sqrt(),
            false => 0.5 * (pair[0] + pair[1]),
        };
        forms.push(vec![
            Power,
            Ramp,
            Subtract,
            x,
            Number(threshold),
            Number(0.8),
        ]);
    }
    forms
}

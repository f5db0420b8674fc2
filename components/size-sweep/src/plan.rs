//! Which array sizes, in which order.

use hydro_ports::{GHOST, NVAR, Shape};

use crate::Random;

/// Interior cells on a side of the smallest patch.
const MIN_CELLS: f64 = 2.0;

/// Array sizes from `smallest` to `largest`, about evenly spread on a logarithmic scale: one somewhere in each step.
///
/// # Arguments
/// * `smallest`, `largest` - doubles, `0 < smallest <= largest`
/// * `n` - how many
///
/// # Returns
/// Shape `[n]`, doubles, ascending; the ends are among them if there are two or more.
pub fn sizes(smallest: f64, largest: f64, n: usize, random: &mut Random) -> Vec<f64> {
    let step = |at: f64| smallest * (largest / smallest).powf(at / (n.max(2) - 1) as f64);
    let size = |i: usize| match i {
        0 => smallest,
        _ if i + 1 == n => largest,
        _ => step(i as f64 + random.unit() - 0.5),
    };
    (0..n).map(size).collect()
}

/// A patch whose array holds about `size` doubles: as many rows as columns, to a tenth.
pub fn shape(size: f64, random: &mut Random) -> Shape {
    let cells = size / NVAR as f64;
    let ratio = 0.9 + 0.2 * random.unit();
    let side = |length: f64| (length - 2.0 * GHOST as f64).round().max(MIN_CELLS) as usize;
    let nx = side((cells * ratio).sqrt());
    let rows = cells / (nx + 2 * GHOST) as f64;
    Shape {
        nx,
        ny: side(rows),
        ghost: GHOST,
    }
}

/// The numbers below `n` in some order.
pub fn shuffled(n: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..n).collect();
    for i in (1..n).rev() {
        order.swap(i, random.below(i + 1));
    }
    order
}

//! `matrixmultiply::dgemm`: products of dense matrices.

use std::error::Error;

use crate::random::Random;
use crate::table::{self, Kernel, Plan};

/// Number of measured shapes.
const SHAPES: usize = 160;

/// Range of a side.
const SIDES: [f64; 2] = [8.0, 400.0];

/// `c = a b`.
struct Product {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

impl Kernel for Product {
    /// `m`, `k` and `n`: `a` is m × k, `b` is k × n.
    type Case = [usize; 3];

    /// The three sides; multiplications and additions; doubles read and written.
    const COLUMNS: &[&str] = &["m", "k", "n", "flops", "moved [double]"];

    fn columns(&[m, k, n]: &Self::Case) -> Vec<String> {
        [m, k, n, 2 * m * k * n, m * k + k * n + m * n]
            .map(|number| number.to_string())
            .into()
    }

    fn prepare(&mut self, _: &Self::Case) {}

    fn call(&mut self, &[m, k, n]: &Self::Case) {
        let (row_a, row_b, row_c) = (k as isize, n as isize, n as isize);
        // SAFETY: each array has the square of the longest side, so at least m × k, k × n and m × n values, in row-major order
        // as the strides state; `c` is borrowed separately from `a` and `b`.
        unsafe {
            matrixmultiply::dgemm(
                m,
                k,
                n,
                1.0,
                self.a.as_ptr(),
                row_a,
                1,
                self.b.as_ptr(),
                row_b,
                1,
                0.0,
                self.c.as_mut_ptr(),
                row_c,
                1,
            );
        }
    }
}

/// Measures products.
pub fn measure(plan: &Plan, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let [shortest, longest] = SIDES;
    let mut fill = || -> Vec<f64> {
        let n = longest as usize * longest as usize;
        (0..n).map(|_| random.unit()).collect()
    };
    let (a, b, c) = (fill(), fill(), fill());
    let mut product = Product { a, b, c };
    let mut shape = |_| std::array::from_fn(|_| random.size(shortest, longest));
    let mut cases = || (0..SHAPES).map(&mut shape).collect();
    let cases = [cases(), cases()];
    Ok(table::measure(plan, &mut product, &cases, &mut random)?)
}

//! `matrixmultiply::dgemm`: products of dense matrices.

use std::error::Error;
use std::path::Path;

use crate::random::Random;
use crate::table::Table;

/// Shapes measured.
const SHAPES: usize = 110;

/// The factors and the product of one shape.
struct Matrices {
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
}

/// Measures `c = a b`, `a` of m × k and `b` of k × n.
pub fn measure(path: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let mut table = Table::new(path, &["m", "k", "n"])?;
    for _ in 0..SHAPES {
        let [m, k, n] = std::array::from_fn(|_| random.size(8.0, 400.0));
        let mut fill = |length: usize| (0..length).map(|_| random.unit()).collect::<Vec<f64>>();
        let mut matrices = Matrices {
            a: fill(m * k),
            b: fill(k * n),
            c: vec![0.0; m * n],
        };
        let columns = [m, k, n].map(|size| size.to_string());
        table.measure(
            &columns,
            &mut matrices,
            |_| {},
            |Matrices { a, b, c }| {
                let (row_a, row_b, row_c) = (k as isize, n as isize, n as isize);
                // SAFETY: the slices hold m × k, k × n and m × n values, rows one after the other, as the strides say; `c` is
                // borrowed apart from `a` and `b`.
                unsafe {
                    matrixmultiply::dgemm(
                        m,
                        k,
                        n,
                        1.0,
                        a.as_ptr(),
                        row_a,
                        1,
                        b.as_ptr(),
                        row_b,
                        1,
                        0.0,
                        c.as_mut_ptr(),
                        row_c,
                        1,
                    );
                }
            },
        )?;
    }
    Ok(table.end()?)
}

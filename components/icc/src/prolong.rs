//! Fine cells from coarse ones.

use hydro_ports::{CellBox, GAMMA, NVAR, Patch, primitive};

use crate::{RegionError, check};

/// How values vary inside a coarse cell.
pub trait Profile {
    /// Coarse cells on each side that the slope of a cell depends on.
    const REACH: i64;

    /// The slope along one axis, in units of the variable per coarse cell.
    ///
    /// # Arguments
    /// * `lower`, `value`, `upper` - the variable in the cell before, in the cell, and in the one after
    fn slope(lower: f64, value: f64, upper: f64) -> f64;
}

/// Linear, with monotonized central slopes: exact for linear data, no new extrema along either axis.
///
/// # Source
/// Case study, section 5; the limiter comes from section 4.1.
#[derive(Clone, Copy, Debug)]
pub struct Linear;

impl Profile for Linear {
    const REACH: i64 = 1;

    #[inline(always)]
    fn slope(lower: f64, value: f64, upper: f64) -> f64 {
        let (a, b) = (value - lower, upper - value);
        if a * b > 0.0 {
            let one_sided = 2.0 * a.abs().min(b.abs());
            one_sided.min(0.5 * (a + b).abs()).copysign(a)
        } else {
            0.0
        }
    }
}

/// Constant: cheaper, first order.
#[derive(Clone, Copy, Debug)]
pub struct Constant;

impl Profile for Constant {
    const REACH: i64 = 0;

    #[inline(always)]
    fn slope(_: f64, _: f64, _: f64) -> f64 {
        0.0
    }
}

/// Fills a region of a fine patch from a coarse one.
///
/// A coarse cell whose linear profile would leave a child without positive density or pressure gives all its children
/// its own value.
///
/// # Arguments
/// * `coarse` - patch and array, shape `[NVAR][ny + 2g][nx + 2g]`, conserved variables
/// * `fine` - patch and array, likewise
/// * `region` - box of the fine level, even in place and size
///
/// # Returns
/// Number of coarse cells whose profile was given up.
///
/// # Errors
/// [`RegionError`] if a part of the region, or a neighbour that the slopes need, is in no array.
///
/// # Panics
/// If an array is shorter than its patch requires.
pub fn prolong<P: Profile>(
    (coarse_patch, coarse): (Patch, &[f64]),
    (fine_patch, fine): (Patch, &mut [f64]),
    region: CellBox,
) -> Result<u64, RegionError> {
    let parents = region.coarsen();
    if parents.refine() != region {
        return Err(RegionError::Odd { region });
    }
    check(fine_patch, region)?;
    check(coarse_patch, parents)?;
    // The corners of the grown box are not read.
    check(
        coarse_patch,
        CellBox {
            i: parents.i - P::REACH,
            nx: parents.nx + 2 * P::REACH,
            ..parents
        },
    )?;
    check(
        coarse_patch,
        CellBox {
            j: parents.j - P::REACH,
            ny: parents.ny + 2 * P::REACH,
            ..parents
        },
    )?;
    let (plane, row) = (coarse_patch.shape.plane(), coarse_patch.shape.row());
    let (fine_plane, fine_row) = (fine_patch.shape.plane(), fine_patch.shape.row());
    let mut given_up = 0;
    for j in parents.j..parents.j_end() {
        for i in parents.i..parents.i_end() {
            let k = coarse_patch.offset(i, j);
            let first = fine_patch.offset(2 * i, 2 * j);
            let mut children = children::<P>(coarse, plane, row, k);
            if P::REACH > 0 && !children.iter().all(is_physical) {
                given_up += 1;
                children = [std::array::from_fn(|v| coarse[v * plane + k]); 4];
            }
            let places = [first, first + 1, first + fine_row, first + fine_row + 1];
            for (place, child) in places.into_iter().zip(children) {
                for (variable, value) in child.into_iter().enumerate() {
                    fine[variable * fine_plane + place] = value;
                }
            }
        }
    }
    Ok(given_up)
}

/// The four children of the coarse cell at `k`, row by row.
#[inline(always)]
fn children<P: Profile>(coarse: &[f64], plane: usize, row: usize, k: usize) -> [[f64; NVAR]; 4] {
    let fours: [[f64; 4]; NVAR] = std::array::from_fn(|variable| {
        let at = variable * plane + k;
        let value = coarse[at];
        if P::REACH == 0 {
            return [value; 4];
        }
        let x = 0.25 * P::slope(coarse[at - 1], value, coarse[at + 1]);
        let y = 0.25 * P::slope(coarse[at - row], value, coarse[at + row]);
        [
            value - (x + y),
            value + (x - y),
            value - (x - y),
            value + (x + y),
        ]
    });
    std::array::from_fn(|child| fours.map(|four| four[child]))
}

fn is_physical(state: &[f64; NVAR]) -> bool {
    let [rho, _, _, p, _] = primitive(GAMMA, *state);
    rho > 0.0 && p > 0.0
}

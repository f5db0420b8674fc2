//! Coarse cells from fine ones.

use hydro_ports::{CellBox, NVAR, Patch};

use crate::{RegionError, check};

/// Gives each coarse cell of a region the arithmetic mean of its four children.
///
/// # Arguments
/// * `fine` - patch and array, shape `[NVAR][ny + 2g][nx + 2g]`
/// * `coarse` - patch and array, likewise; cells outside the region stay
/// * `region` - box of the coarse level
///
/// # Errors
/// [`RegionError`] if a part of the region is in no array.
///
/// # Panics
/// If an array is shorter than its patch requires.
///
/// # Source
/// Case study, section 5.
pub fn restrict(
    (fine_patch, fine): (Patch, &[f64]),
    (coarse_patch, coarse): (Patch, &mut [f64]),
    region: CellBox,
) -> Result<(), RegionError> {
    check(fine_patch, region.refine())?;
    check(coarse_patch, region)?;
    let (plane, fine_plane) = (coarse_patch.shape.plane(), fine_patch.shape.plane());
    let fine_row = fine_patch.shape.row();
    for variable in 0..NVAR {
        let (coarse, fine) = (
            &mut coarse[variable * plane..],
            &fine[variable * fine_plane..],
        );
        for j in region.j..region.j_end() {
            let first = coarse_patch.offset(region.i, j);
            let children = fine_patch.offset(2 * region.i, 2 * j);
            let (lower, upper) = (&fine[children..], &fine[children + fine_row..]);
            for (k, coarse) in coarse[first..][..region.nx.max(0) as usize]
                .iter_mut()
                .enumerate()
            {
                let (lower, upper) = (&lower[2 * k..2 * k + 2], &upper[2 * k..2 * k + 2]);
                *coarse = 0.25 * ((lower[0] + lower[1]) + (upper[0] + upper[1]));
            }
        }
    }
    Ok(())
}

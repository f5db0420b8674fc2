//! Positions of the patches of each level, and their ranks.
//!
//! A level is a set of boxes in cells of its own: level `l` divides each cell of the domain in
//! `2^l` along each axis. The boxes of a level do not overlap, and each has room in the next
//! coarser level: ghost cells of a fine patch are interpolated from coarse cells, and the slopes
//! there need one neighbour more. [`check`] verifies this for boxes from any source. The functions
//! here are pure arithmetic on boxes; all ranks call them with the same arguments and get the same
//! layout, without a message.
//!
//! ```text
//! a coarse patch  ┌─────────────────┐
//!                 │    NESTING      │   a fine patch, coarsened and grown by NESTING coarse cells, is covered
//!                 │   ┌─────────┐   │   by coarse patches, or ends at the domain's border
//!                 │   │ a fine  │   │
//!                 │   └─────────┘   │
//!                 └─────────────────┘
//! ```

use hydro_ports::{CellBox, Domain, GHOST, Patch, Shape, Sides};
use thiserror::Error;

/// Coarse cells around a finer level that the coarser one must have too: one for the finer level's ghost cells, one for
/// the slopes in it.
pub const NESTING: i64 = 2;

/// The patches of one level, of all ranks. It is equal on every rank, so that the plans made from it
/// agree without a message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Cells of each patch.
    pub boxes: Vec<CellBox>,
    /// Rank of each patch.
    pub ranks: Vec<usize>,
}

/// Patches that make no mesh, or ranks that do not exist. The error names the level and the cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LayoutError {
    /// The domain is narrower than its ghost cells.
    #[error(
        "cannot make mesh \"{nx} x {ny}\": too small, expected at least {GHOST} cells along each axis"
    )]
    TooSmall {
        /// Cells of the domain along x.
        nx: usize,
        /// Cells of the domain along y.
        ny: usize,
    },
    /// A patch has no cell, or some outside the domain.
    #[error(
        "cannot use patch \"{patch}\" of level \"{level}\": outside the domain, expected cells inside {domain}"
    )]
    Outside {
        /// Level of the patch.
        level: usize,
        /// The patch.
        patch: CellBox,
        /// All cells of the level.
        domain: CellBox,
    },
    /// Two patches have a cell in common.
    #[error(
        "cannot use patch \"{patch}\" of level \"{level}\": overlaps patch \"{other}\", expected none to"
    )]
    Overlap {
        /// Level of the patches.
        level: usize,
        /// A patch.
        patch: CellBox,
        /// Another.
        other: CellBox,
    },
    /// A patch is too near the border of the next coarser level.
    #[error(
        "cannot use patch \"{patch}\" of level \"{level}\": not nested, expected {NESTING} cells of the next coarser \
         level around it"
    )]
    NotNested {
        /// Level of the patch.
        level: usize,
        /// The patch.
        patch: CellBox,
    },
    /// The balancer named no rank, or one that does not exist.
    #[error("cannot share patches: {found:?} for patch \"{index}\", expected a rank below {ranks}")]
    Rank {
        /// Number of the patch, over all levels.
        index: usize,
        /// The rank named.
        found: Option<u32>,
        /// Number of ranks.
        ranks: usize,
    },
}

/// All cells of a level.
pub fn level_cells(domain: &Domain, level: usize) -> CellBox {
    CellBox {
        i: 0,
        j: 0,
        nx: (domain.nx << level) as i64,
        ny: (domain.ny << level) as i64,
    }
}

/// A patch of a level with `GHOST` ghost cells.
///
/// # Arguments
/// * `cells` - its interior, inside the domain
pub fn patch(domain: &Domain, level: usize, id: u64, cells: &CellBox) -> Patch {
    let all = level_cells(domain, level);
    let dx = (domain.x_upper - domain.x_lower) / all.nx as f64;
    let dy = (domain.y_upper - domain.y_lower) / all.ny as f64;
    Patch {
        id,
        level: level as u32,
        shape: Shape {
            nx: cells.nx as usize,
            ny: cells.ny as usize,
            ghost: GHOST,
        },
        i0: cells.i as usize,
        j0: cells.j as usize,
        x_lower: domain.x_lower + cells.i as f64 * dx,
        y_lower: domain.y_lower + cells.j as f64 * dy,
        dx,
        dy,
        boundary: Sides {
            left: cells.i == 0,
            right: cells.i_end() == all.nx,
            bottom: cells.j == 0,
            top: cells.j_end() == all.ny,
        },
    }
}

/// Cuts the coarsest level into as few patches as keep every side at or below `max_side`, alike to one cell, but none
/// narrower than its ghost cells.
///
/// # Errors
/// [`LayoutError::TooSmall`]
pub fn base_boxes(domain: &Domain, max_side: usize) -> Result<Vec<CellBox>, LayoutError> {
    let Domain { nx, ny, .. } = *domain;
    if nx < GHOST || ny < GHOST {
        return Err(LayoutError::TooSmall { nx, ny });
    }
    let edges = |n: usize| {
        // A patch narrower than its neighbour's ghost cells could not fill them alone.
        let parts = n.div_ceil(max_side.max(1)).min(n / GHOST);
        (0..parts).map(move |k| ((k * n / parts) as i64, ((k + 1) * n / parts) as i64))
    };
    let rows = edges(ny).flat_map(|(j, j_end)| {
        edges(nx).map(move |(i, i_end)| CellBox::between((i, j), (i_end, j_end)))
    });
    Ok(rows.collect())
}

/// Checks the patches of a level: inside the domain, without common cells, nested in the next coarser level.
///
/// # Arguments
/// * `coarser` - patches of the next coarser level, checked already; none for level 0
///
/// # Errors
/// The first patch that is not.
pub fn check(
    domain: &Domain,
    level: usize,
    boxes: &[CellBox],
    coarser: Option<&[CellBox]>,
) -> Result<(), LayoutError> {
    let all = level_cells(domain, level);
    for (index, patch) in boxes.iter().enumerate() {
        let patch = *patch;
        if patch.is_empty() || !all.contains(&patch) {
            let domain = all;
            return Err(LayoutError::Outside {
                level,
                patch,
                domain,
            });
        }
        let overlaps = |other: &&CellBox| other.intersect(&patch).is_some();
        if let Some(other) = boxes[..index].iter().find(overlaps) {
            let other = *other;
            return Err(LayoutError::Overlap {
                level,
                patch,
                other,
            });
        }
        let Some(coarser) = coarser else { continue };
        // Ghost cells beyond the domain come from the boundary conditions and need no coarse cells.
        let around = patch.coarsen().grow(NESTING);
        let around = around.intersect(&level_cells(domain, level - 1));
        let rest = around.map(|around| around.minus_all(coarser));
        if rest.is_some_and(|rest| !rest.is_empty()) {
            return Err(LayoutError::NotNested { level, patch });
        }
    }
    Ok(())
}

/// Gives each new patch to the rank that has most of its cells already, on its own level, else on the next coarser one.
///
/// # Arguments
/// * `old` - the former level
/// * `coarser` - the next coarser level of the new mesh
pub fn inherit(boxes: &[CellBox], old: Option<&Layout>, coarser: &Layout) -> Vec<usize> {
    let most = |cells: &CellBox, layout: &Layout| {
        let mut shares = std::collections::BTreeMap::<usize, usize>::new();
        for (other, rank) in layout.boxes.iter().zip(&layout.ranks) {
            if let Some(common) = other.intersect(cells) {
                *shares.entry(*rank).or_default() += common.cells();
            }
        }
        // Of equal shares, the lower rank's.
        let best = shares.into_iter().rev().max_by_key(|(_, cells)| *cells);
        best.map(|(rank, _)| rank)
    };
    let rank = |cells: &CellBox| {
        let own = old.and_then(|old| most(cells, old));
        own.or_else(|| most(&cells.coarsen(), coarser)).unwrap_or(0)
    };
    boxes.iter().map(rank).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOMAIN: Domain = Domain {
        nx: 12,
        ny: 8,
        x_lower: 0.0,
        x_upper: 3.0,
        y_lower: -1.0,
        y_upper: 1.0,
    };

    #[test]
    fn a_patch_lies_where_its_cells_are() {
        let patch = patch(&DOMAIN, 1, 7, &CellBox::between((8, 0), (24, 6)));
        assert_eq!((patch.x_lower, patch.y_lower), (1.0, -1.0));
        assert_eq!((patch.dx, patch.dy), (0.125, 0.125));
        let Sides {
            left,
            right,
            bottom,
            top,
        } = patch.boundary;
        assert_eq!([left, right, bottom, top], [false, true, true, false]);
    }

    #[test]
    fn the_coarsest_level_is_cut_evenly() {
        let boxes = base_boxes(&DOMAIN, 5).expect("boxes");
        assert_eq!(boxes.len(), 6);
        assert_eq!(check(&DOMAIN, 0, &boxes, None), Ok(()));
        assert_eq!(boxes.iter().map(CellBox::cells).sum::<usize>(), 96);
        assert_eq!(
            base_boxes(&DOMAIN, 1).map(|boxes| boxes.len()),
            Ok(24),
            "2 x 2 each"
        );
        let small = Domain { nx: 1, ..DOMAIN };
        let error = base_boxes(&small, 5).expect_err("too small");
        assert_eq!(
            error.to_string(),
            "cannot make mesh \"1 x 8\": too small, expected at least 2 cells along each axis"
        );
    }

    #[test]
    fn patches_that_make_no_mesh_are_named() {
        let coarse = [CellBox::between((0, 0), (6, 8))];
        let check = |boxes: &[CellBox]| check(&DOMAIN, 1, boxes, Some(&coarse));
        let good = CellBox::between((0, 0), (8, 16));
        assert_eq!(check(&[good]), Ok(()));
        let domain = CellBox::between((0, 0), (24, 16));
        let patch = CellBox::between((0, 0), (8, 18));
        assert_eq!(
            check(&[patch]),
            Err(LayoutError::Outside {
                level: 1,
                patch,
                domain
            })
        );
        let patch = CellBox::default();
        assert_eq!(
            check(&[patch]),
            Err(LayoutError::Outside {
                level: 1,
                patch,
                domain
            })
        );
        let patch = CellBox::between((6, 14), (8, 16));
        let overlap = LayoutError::Overlap {
            level: 1,
            patch,
            other: good,
        };
        assert_eq!(check(&[good, patch]), Err(overlap));
        let patch = CellBox::between((0, 0), (10, 16));
        assert_eq!(
            check(&[patch]),
            Err(LayoutError::NotNested { level: 1, patch })
        );
    }

    #[test]
    fn new_patches_stay_with_their_data() {
        let halves = Layout {
            boxes: vec![
                CellBox::between((0, 0), (6, 8)),
                CellBox::between((6, 0), (12, 8)),
            ],
            ranks: vec![0, 1],
        };
        let old = Layout {
            boxes: vec![CellBox::between((0, 0), (8, 8))],
            ranks: vec![2],
        };
        let new = [
            CellBox::between((6, 0), (16, 8)),
            CellBox::between((14, 0), (18, 8)),
        ];
        assert_eq!(inherit(&new, Some(&old), &halves), [2, 1]);
        assert_eq!(inherit(&new, None, &halves), [0, 1]);
    }
}

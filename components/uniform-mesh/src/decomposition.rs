//! Cutting the mesh into patches and assigning them to ranks.
//!
//! A cut is a grid of columns and rows of patches, numbered row by row from the lower left. Each
//! rank gets consecutive patches of that sequence with about an equal share of the cells. The
//! result depends on the parameters alone, so every rank computes it for itself, and patch numbers
//! mean the same everywhere. No patch is narrower than the ghost cells of its neighbour, since
//! ghost cells are filled from adjacent patches only.
//!
//! ```text
//! 12 x 8 cells, Splitting::Grid(3, 2), two ranks
//! ┌───┬───┬───┐
//! │ 3 │ 4 │ 5 │  rank 1
//! ├───┼───┼───┤
//! │ 0 │ 1 │ 2 │  rank 0
//! └───┴───┴───┘
//! ```
//!
//! [`Sizes::Uneven`] serves measurements: a performance model needs calls with several array sizes,
//! and one run with uneven patches has them (96 x 32 cells in `Grid(4, 2)`: widths 10, 19, 29 and
//! 38, heights 11 and 21).

use hydro_ports::{GHOST, Shape};
use thiserror::Error;

/// A rectangle of cells of the mesh, owned by one rank. Its place in the list of all blocks is the
/// identifier of the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// First column, counted in the mesh.
    pub i: usize,
    /// First row, counted in the mesh.
    pub j: usize,
    /// Columns.
    pub nx: usize,
    /// Rows.
    pub ny: usize,
    /// The rank that holds it.
    pub rank: usize,
}

impl Block {
    /// Number of cells, without ghost cells.
    pub fn cells(&self) -> usize {
        self.nx * self.ny
    }

    /// Extent of the patch's array, with [`GHOST`] ghost cells.
    pub fn shape(&self) -> Shape {
        Shape {
            nx: self.nx,
            ny: self.ny,
            ghost: GHOST,
        }
    }
}

/// How many patches to cut: a given grid, a number for each rank, or as few as a largest side
/// permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Splitting {
    /// This many columns and rows of patches, whatever the number of ranks.
    Grid(usize, usize),
    /// This many patches for each rank, as square as possible.
    PatchesPerRank(usize),
    /// As few patches as keep every side at or below this many cells.
    MaxSide(usize),
}

/// How long the sides of the patches are: equal, or of many lengths, as measurements need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All alike, to one cell.
    Even,
    /// In the ratio 1, 2, 3, … from the lower left, to one cell: patches of many sizes in one mesh.
    Uneven,
}

impl Sizes {
    /// Where `n` cells are cut for the `k`th of `parts` patches.
    fn cut(self, k: usize, parts: usize, n: usize) -> usize {
        match self {
            Sizes::Even => k * n / parts,
            Sizes::Uneven => {
                // n · triangle(k) / triangle(parts), rounded to the nearest cell.
                let triangle = |k: usize| k * (k + 1);
                (2 * n * triangle(k) + triangle(parts)) / (2 * triangle(parts))
            }
        }
    }

    /// The fewest patches that keep `n` cells at or below `side` each; the last is the longest.
    fn parts(self, n: usize, side: usize) -> usize {
        let last = |parts: usize| n - self.cut(parts - 1, parts, n);
        let fits = |parts: &usize| last(*parts) <= side;
        // Uneven sides need more patches than `n / side`: the first number that fits.
        (n.div_ceil(side)..n).find(fits).unwrap_or(n)
    }
}

/// A mesh that cannot be cut as requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum MeshError {
    /// There are fewer patches than ranks.
    #[error(
        "cannot split mesh \"{nx} x {ny}\": {patches} patches for {ranks} ranks, expected at least \
         one a rank; use smaller patches or fewer ranks"
    )]
    TooFewPatches {
        /// Columns of the mesh.
        nx: usize,
        /// Rows of the mesh.
        ny: usize,
        /// Patches that the splitting gives.
        patches: usize,
        /// Ranks to serve.
        ranks: usize,
    },
    /// No cut gives that many patches with sides that hold a neighbour's ghost cells.
    #[error(
        "cannot split mesh \"{nx} x {ny}\": no cut into {patches} patches, expected sides of at \
         least {GHOST} cells; use a larger mesh or fewer patches"
    )]
    TooSmall {
        /// Columns of the mesh.
        nx: usize,
        /// Rows of the mesh.
        ny: usize,
        /// Requested number of patches.
        patches: usize,
    },
    /// A count is zero.
    #[error("cannot split mesh \"{nx} x {ny}\": {name} 0, expected at least 1")]
    Zero {
        /// Columns of the mesh.
        nx: usize,
        /// Rows of the mesh.
        ny: usize,
        /// Name of the count.
        name: &'static str,
    },
}

/// Cuts a mesh of `nx × ny` cells into patches and assigns them to ranks.
///
/// # Arguments
/// * `ranks` - number of ranks, >= 1
///
/// # Returns
/// The patches row by row from the lower left. The patches of a rank are consecutive, every rank
/// has at least one, and the cells are balanced.
///
/// # Errors
/// [`MeshError`] if a count is zero, there are more ranks than patches, or the patches would be
/// narrower than the ghost cells of a neighbour.
pub fn decompose(
    nx: usize,
    ny: usize,
    ranks: usize,
    splitting: Splitting,
    sizes: Sizes,
) -> Result<Vec<Block>, MeshError> {
    let (name, count) = match splitting {
        Splitting::Grid(columns, rows) => ("patches", columns * rows),
        Splitting::PatchesPerRank(count) => ("patches per rank", count),
        Splitting::MaxSide(count) => ("maximum patch side", count),
    };
    for (name, value) in [
        ("columns", nx),
        ("rows", ny),
        ("ranks", ranks),
        (name, count),
    ] {
        if value == 0 {
            return Err(MeshError::Zero { nx, ny, name });
        }
    }
    let (columns, rows) = match splitting {
        Splitting::Grid(columns, rows) => (columns, rows),
        Splitting::PatchesPerRank(count) => squarest_cut(nx, ny, count * ranks)?,
        Splitting::MaxSide(side) => (sizes.parts(nx, side), sizes.parts(ny, side)),
    };
    let patches = columns * rows;
    if patches < ranks {
        return Err(MeshError::TooFewPatches {
            nx,
            ny,
            patches,
            ranks,
        });
    }
    let too_small = MeshError::TooSmall { nx, ny, patches };
    if nx / columns < GHOST || ny / rows < GHOST {
        return Err(too_small);
    }
    let mut blocks = cut(nx, ny, columns, rows, sizes);
    if blocks.iter().any(|block| block.nx.min(block.ny) < GHOST) {
        return Err(too_small);
    }
    assign(&mut blocks, ranks);
    Ok(blocks)
}

/// The numbers of columns and rows of patches, with the given product, whose patches are squarest.
fn squarest_cut(nx: usize, ny: usize, patches: usize) -> Result<(usize, usize), MeshError> {
    let fits = |&(columns, rows): &(usize, usize)| nx / columns >= GHOST && ny / rows >= GHOST;
    // Length of all cuts: the cells that ghost cells must be copied from.
    let cuts = |&(columns, rows): &(usize, usize)| (columns - 1) * ny + (rows - 1) * nx;
    let divisors = (1..=patches).filter(|columns| patches.is_multiple_of(*columns));
    let candidates = divisors
        .map(|columns| (columns, patches / columns))
        .filter(fits);
    candidates
        .min_by_key(cuts)
        .ok_or(MeshError::TooSmall { nx, ny, patches })
}

fn cut(nx: usize, ny: usize, columns: usize, rows: usize, sizes: Sizes) -> Vec<Block> {
    let bounds = |k: usize, parts: usize, n: usize| {
        let end = sizes.cut(k + 1, parts, n);
        (sizes.cut(k, parts, n), end)
    };
    let patch = |k: usize| {
        let ((i, i_end), (j, j_end)) = (
            bounds(k % columns, columns, nx),
            bounds(k / columns, rows, ny),
        );
        Block {
            i,
            j,
            nx: i_end - i,
            ny: j_end - j,
            rank: 0,
        }
    };
    (0..columns * rows).map(patch).collect()
}

/// Cuts the sequence of patches at equal shares of the cells, each patch going by its middle; needs
/// at least one patch a rank, and gives each rank at least one.
fn assign(patches: &mut [Block], ranks: usize) {
    let total: usize = patches.iter().map(Block::cells).sum();
    let share = total as f64 / ranks as f64;
    let (mut before, mut next) = (0, 0);
    for rank in 0..ranks {
        let first = next;
        // Enough patches must remain for each later rank to get one.
        let last_start = patches.len() - (ranks - rank);
        while next < patches.len() {
            let cells = patches[next].cells();
            let middle = before as f64 + 0.5 * cells as f64;
            let beyond = middle >= share * (rank + 1) as f64;
            if next > first && (next > last_start || beyond) {
                break;
            }
            patches[next].rank = rank;
            (before, next) = (before + cells, next + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cut_is_as_square_as_possible() {
        let patches =
            decompose(96, 32, 3, Splitting::PatchesPerRank(1), Sizes::Even).expect("a mesh");
        assert!(patches.iter().all(|patch| (patch.nx, patch.ny) == (32, 32)));
        assert_eq!(
            patches.iter().map(|patch| patch.rank).collect::<Vec<_>>(),
            [0, 1, 2]
        );
    }

    /// Performance models need several array sizes from one run.
    #[test]
    fn uneven_patches_have_many_sizes() {
        let patches = decompose(96, 32, 1, Splitting::Grid(4, 2), Sizes::Uneven).expect("a mesh");
        let sides: Vec<_> = patches.iter().map(|block| (block.nx, block.ny)).collect();
        let expected = [10, 19, 29, 38].map(|nx| (nx, 11));
        assert_eq!(sides[..4], expected);
        assert_eq!(sides[4..], expected.map(|(nx, _)| (nx, 21)));
        let sides: Vec<_> = decompose(60, 2, 1, Splitting::MaxSide(25), Sizes::Uneven)
            .expect("a mesh")
            .iter()
            .map(|block| block.nx)
            .collect();
        assert_eq!(sides, [6, 12, 18, 24]);
        let error = decompose(6, 6, 1, Splitting::Grid(3, 1), Sizes::Uneven);
        assert!(matches!(error, Err(MeshError::TooSmall { patches: 3, .. })));
    }

    #[test]
    fn uneven_sides_differ_by_one_cell() {
        let patches = decompose(101, 7, 1, Splitting::MaxSide(33), Sizes::Even).expect("a mesh");
        let sides: Vec<_> = patches
            .iter()
            .map(|patch| (patch.i, patch.nx, patch.ny))
            .collect();
        assert_eq!(sides, [(0, 25, 7), (25, 25, 7), (50, 25, 7), (75, 26, 7)]);
    }

    #[test]
    fn more_ranks_than_patches_is_an_error() {
        let error = decompose(64, 64, 5, Splitting::MaxSide(32), Sizes::Even).expect_err("too few");
        assert_eq!(
            error.to_string(),
            "cannot split mesh \"64 x 64\": 4 patches for 5 ranks, expected at least one a rank; \
             use smaller patches or fewer ranks"
        );
    }

    #[test]
    fn a_mesh_can_be_too_small() {
        let error = decompose(6, 6, 10, Splitting::PatchesPerRank(1), Sizes::Even);
        assert_eq!(
            error,
            Err(MeshError::TooSmall {
                nx: 6,
                ny: 6,
                patches: 10
            })
        );
        let error = decompose(6, 6, 1, Splitting::MaxSide(1), Sizes::Even);
        assert_eq!(
            error,
            Err(MeshError::TooSmall {
                nx: 6,
                ny: 6,
                patches: 36
            })
        );
        assert!(decompose(6, 6, 9, Splitting::PatchesPerRank(1), Sizes::Even).is_ok());
    }

    #[test]
    fn a_zero_is_named() {
        let error = decompose(6, 6, 1, Splitting::MaxSide(0), Sizes::Even).expect_err("zero");
        assert_eq!(
            error.to_string(),
            "cannot split mesh \"6 x 6\": maximum patch side 0, expected at least 1"
        );
    }
}

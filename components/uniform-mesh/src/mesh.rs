//! One rank's part of a mesh: its patches and their arrays.
//!
//! Components that compute own no arrays. They take one out of the mesh, work on it and put it
//! back; the values move as a pointer, nothing is copied. While an array is out, the mesh has no
//! second copy that could become stale: taking it again, or an exchange of ghost cells that needs
//! it, is an error.
//!
//! ```text
//! take(7, State)          patch 7: [None, Some(stage)]      the caller has the values
//! take(7, State)          StorageError::Taken
//! put(7, State, values)   patch 7: [Some(state), Some(stage)]
//! ```
//!
//! Numbers of patches count over the whole mesh. Those of a rank are consecutive, so a patch is
//! found by its distance from the rank's first one. The exchange itself is in `exchange.rs`, ports
//! and parameters in `component.rs`.

use cca_ports::RVec;
use hydro_ports::{ArrayName, Domain, Patch, Sides};
use thiserror::Error;

use crate::{Block, Exchange, Field, ghost_plan};

/// Errors of operations on a patch's arrays: the patch is on another rank, or its array is taken, not
/// taken, or of another length.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The mesh is not there yet.
    #[error("cannot use mesh: not created, expected a call of create before")]
    NotCreated,
    /// There is no such level.
    #[error("cannot find level \"{level}\": unknown, expected 0")]
    NoLevel {
        /// The requested level.
        level: u32,
    },
    /// This rank has no such patch.
    #[error("cannot find patch \"{patch}\": not on this rank, expected {first} to {last}")]
    NoPatch {
        /// The requested patch.
        patch: u64,
        /// First patch of this rank.
        first: u64,
        /// Last patch of this rank.
        last: u64,
    },
    /// The array is out.
    #[error(
        "cannot take array \"{array:?}\" of patch \"{patch}\": taken already, expected it put back"
    )]
    Taken {
        /// The patch.
        patch: u64,
        /// The array.
        array: ArrayName,
    },
    /// The array is not out.
    #[error("cannot put array \"{array:?}\" of patch \"{patch}\": not taken, expected it taken")]
    NotTaken {
        /// The patch.
        patch: u64,
        /// The array.
        array: ArrayName,
    },
    /// The array put back is another.
    #[error(
        "cannot put array \"{array:?}\" of patch \"{patch}\": {found} doubles, expected {expected}"
    )]
    Length {
        /// The patch.
        patch: u64,
        /// The array.
        array: ArrayName,
        /// Doubles that were put.
        found: usize,
        /// Doubles of the patch's arrays.
        expected: usize,
    },
}

/// One rank's part of a uniform mesh: its patches with their arrays, and the exchange of their ghost
/// cells with other patches.
#[derive(Debug)]
pub struct Mesh {
    /// The domain.
    pub domain: Domain,
    /// Copies, sends and receives.
    pub exchange: Exchange,
    first: u64,
    patches: Vec<Stored>,
}

#[derive(Debug)]
struct Stored {
    patch: Patch,
    /// By [`ArrayName`]; `None` while taken.
    arrays: [Option<RVec<f64>>; 2],
}

impl Mesh {
    /// The part of `rank`, its arrays all 0.
    ///
    /// # Arguments
    /// * `blocks` - the patches of the whole mesh; a rank's patches are consecutive
    pub fn new(domain: Domain, blocks: &[Block], rank: usize) -> Self {
        let first = blocks.iter().position(|block| block.rank == rank);
        let first = first.unwrap_or(blocks.len());
        let own = blocks.iter().enumerate();
        let own = own.filter(|(_, block)| block.rank == rank);
        let patches = own.map(|(id, block)| {
            let patch = patch(&domain, id as u64, block);
            let zeros = || Some(RVec::from(vec![0.0; patch.shape.len()]));
            let arrays = [zeros(), zeros()];
            Stored { patch, arrays }
        });
        Mesh {
            domain,
            exchange: Exchange::new(&ghost_plan(blocks), rank, first),
            first: first as u64,
            patches: patches.collect(),
        }
    }

    /// This rank's patches.
    pub fn patches(&self) -> impl Iterator<Item = Patch> {
        self.patches.iter().map(|stored| stored.patch)
    }

    /// Takes an array.
    ///
    /// # Errors
    /// [`StorageError::NoPatch`], [`StorageError::Taken`].
    pub fn take(&mut self, patch: u64, array: ArrayName) -> Result<RVec<f64>, StorageError> {
        let taken = self.stored(patch)?.arrays[array as usize].take();
        taken.ok_or(StorageError::Taken { patch, array })
    }

    /// Puts an array back.
    ///
    /// # Errors
    /// [`StorageError::NoPatch`], [`StorageError::NotTaken`], [`StorageError::Length`]; the array is then dropped.
    pub fn put(
        &mut self,
        patch: u64,
        array: ArrayName,
        values: RVec<f64>,
    ) -> Result<(), StorageError> {
        let stored = self.stored(patch)?;
        let (found, expected) = (values.len(), stored.patch.shape.len());
        if stored.arrays[array as usize].is_some() {
            return Err(StorageError::NotTaken { patch, array });
        }
        if found != expected {
            return Err(StorageError::Length {
                patch,
                array,
                found,
                expected,
            });
        }
        stored.arrays[array as usize] = Some(values);
        Ok(())
    }

    /// Checks that this rank has a patch.
    ///
    /// # Errors
    /// [`StorageError::NoPatch`].
    pub fn has(&mut self, patch: u64) -> Result<(), StorageError> {
        self.stored(patch).map(|_| ())
    }

    /// Takes one array of every patch.
    ///
    /// # Errors
    /// [`StorageError::Taken`] if one is out; then none is taken.
    pub fn take_all(&mut self, array: ArrayName) -> Result<Vec<Field>, StorageError> {
        let is_out = |stored: &&Stored| stored.arrays[array as usize].is_none();
        // Checked before the first is taken, so that an error leaves all arrays in place.
        if let Some(stored) = self.patches.iter().find(is_out) {
            let patch = stored.patch.id;
            return Err(StorageError::Taken { patch, array });
        }
        let fields = self.patches.iter_mut().filter_map(|stored| {
            let (patch, values) = (stored.patch, stored.arrays[array as usize].take()?);
            Some(Field { patch, values })
        });
        Ok(fields.collect())
    }

    /// Puts back the fields of [`Mesh::take_all`].
    pub fn put_all(&mut self, array: ArrayName, fields: Vec<Field>) {
        for (stored, field) in self.patches.iter_mut().zip(fields) {
            stored.arrays[array as usize] = Some(field.values);
        }
    }

    fn stored(&mut self, patch: u64) -> Result<&mut Stored, StorageError> {
        let first = self.first;
        let last = (first + self.patches.len() as u64).saturating_sub(1);
        let index = patch.checked_sub(first).map(|index| index as usize);
        let stored = index.and_then(|index| self.patches.get_mut(index));
        stored.ok_or(StorageError::NoPatch { patch, first, last })
    }
}

fn patch(domain: &Domain, id: u64, block: &Block) -> Patch {
    let dx = (domain.x_upper - domain.x_lower) / domain.nx as f64;
    let dy = (domain.y_upper - domain.y_lower) / domain.ny as f64;
    Patch {
        id,
        level: 0,
        shape: block.shape(),
        i0: block.i,
        j0: block.j,
        x_lower: domain.x_lower + block.i as f64 * dx,
        y_lower: domain.y_lower + block.j as f64 * dy,
        dx,
        dy,
        boundary: Sides {
            left: block.i == 0,
            right: block.i + block.nx == domain.nx,
            bottom: block.j == 0,
            top: block.j + block.ny == domain.ny,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Sizes, Splitting, decompose};

    const DOMAIN: Domain = Domain {
        nx: 12,
        ny: 4,
        x_lower: 0.0,
        x_upper: 3.0,
        y_lower: -1.0,
        y_upper: 1.0,
    };

    fn mesh(rank: usize) -> Mesh {
        let blocks = decompose(12, 4, 2, Splitting::Grid(3, 1), Sizes::Even).expect("a mesh");
        Mesh::new(DOMAIN, &blocks, rank)
    }

    #[test]
    fn patches_lie_where_their_cells_are() {
        let patches: Vec<_> = (0..2)
            .flat_map(|rank| mesh(rank).patches().collect::<Vec<_>>())
            .collect();
        assert_eq!(
            patches.iter().map(|patch| patch.id).collect::<Vec<_>>(),
            [0, 1, 2]
        );
        let middle = patches[1];
        assert_eq!((middle.x_lower, middle.dx, middle.dy), (1.0, 0.25, 0.5));
        let Sides {
            left,
            right,
            bottom,
            top,
        } = middle.boundary;
        assert_eq!([left, right, bottom, top], [false, false, true, true]);
        assert!(patches[0].boundary.left && patches[2].boundary.right);
        assert_eq!(middle.centre(0, 0), (1.125, -0.75));
    }

    #[test]
    fn an_array_is_in_one_place_at_a_time() {
        let mut mesh = mesh(0);
        let (patch, array) = (0, ArrayName::Stage);
        let values = mesh.take(patch, array).expect("an array");
        assert_eq!(
            mesh.take(patch, array),
            Err(StorageError::Taken { patch, array })
        );
        assert_eq!(
            mesh.take_all(array).map(|_| ()),
            Err(StorageError::Taken { patch, array })
        );
        assert!(mesh.take(patch, ArrayName::State).is_ok(), "another array");
        assert_eq!(mesh.put(patch, array, values), Ok(()));
        let again = mesh.put(patch, array, RVec::new());
        assert_eq!(again, Err(StorageError::NotTaken { patch, array }));
    }

    #[test]
    fn another_array_and_another_ranks_patch_are_refused() {
        let mut mesh = mesh(1);
        let last = 2;
        mesh.take(last, ArrayName::State).expect("an array");
        let short = mesh.put(last, ArrayName::State, vec![0.0; 3].into());
        assert_eq!(
            short.expect_err("short").to_string(),
            "cannot put array \"State\" of patch \"2\": 3 doubles, expected 320"
        );
        let error = mesh.take(0, ArrayName::State).expect_err("another rank's");
        assert!(
            error
                .to_string()
                .starts_with("cannot find patch \"0\": not on this rank")
        );
        assert!(mesh.take(3, ArrayName::State).is_err());
    }
}

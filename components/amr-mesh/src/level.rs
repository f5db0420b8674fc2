//! One rank's part of a level: its patches and their arrays.

use cca_ports::RVec;
use hydro_ports::{ArrayName, CellBox, Domain, Patch};
use thiserror::Error;

use crate::layout::{Layout, level_cells, patch};
use crate::{Border, Prolongation, Transfer};

/// Errors of operations on a patch's arrays.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StorageError {
    /// The mesh is not there yet.
    #[error("cannot use mesh: not created, expected a call of create before")]
    NotCreated,
    /// There is no such level.
    #[error("cannot find level \"{level}\": unknown, expected below {levels}")]
    NoLevel {
        /// The requested level.
        level: u32,
        /// Number of levels.
        levels: usize,
    },
    /// This rank has no such patch.
    #[error(
        "cannot find patch \"{patch}\": not on this rank, expected one of its own since the last regrid"
    )]
    NoPatch {
        /// The requested patch.
        patch: u64,
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
    /// An array that was given is another than the patch's.
    #[error("cannot use array of patch \"{patch}\": {found} doubles, expected {expected}")]
    Length {
        /// The patch.
        patch: u64,
        /// Doubles that were given.
        found: usize,
        /// Doubles of the patch's arrays.
        expected: usize,
    },
}

/// A patch of this rank.
#[derive(Debug)]
pub struct Stored {
    /// The patch.
    pub patch: Patch,
    /// Number of the patch on its level.
    pub index: usize,
    /// By [`ArrayName`]; `None` while taken.
    pub arrays: [Option<RVec<f64>>; 2],
    /// The state at the beginning of the level's step, while a finer level follows; else empty.
    pub old: Vec<f64>,
    /// Fluxes × time across x and y since then, likewise.
    pub fluxes: [Vec<f64>; 2],
    /// Fluxes × time through the sides since the beginning of the coarser level's step.
    pub border: Border,
    /// The patch's cells and those around it on the coarser level; on every level but the first.
    pub image: Option<Image>,
}

/// Coarse cells of a fine patch and around it, from which the fine ones are interpolated.
#[derive(Debug)]
pub struct Image {
    /// The cells as a patch of the coarser level: those inside the domain are its interior.
    pub patch: Patch,
    /// Conserved variables, shape `[NVAR][ny + 2g][nx + 2g]`; set where they are needed.
    pub values: Vec<f64>,
}

impl Stored {
    fn new(domain: &Domain, level: usize, id: u64, index: usize, cells: &CellBox) -> Self {
        let patch_of = |level, cells: &CellBox| patch(domain, level, id, cells);
        let own = patch_of(level, cells);
        let zeros = || Some(RVec::from(vec![0.0; own.shape.len()]));
        let image = level.checked_sub(1).map(|coarser| {
            let around = cells.coarsen().grow(crate::layout::NESTING);
            let inside = around.intersect(&level_cells(domain, coarser));
            let patch = patch_of(coarser, &inside.unwrap_or_default());
            let values = vec![0.0; patch.shape.len()];
            Image { patch, values }
        });
        Stored {
            patch: own,
            index,
            arrays: [zeros(), zeros()],
            old: Vec::new(),
            fluxes: [Vec::new(), Vec::new()],
            border: Border::default(),
            image,
        }
    }

    /// An array that is in the mesh; empty while it is out.
    pub fn array(&self, array: ArrayName) -> &[f64] {
        self.arrays[array as usize].as_deref().unwrap_or(&[])
    }

    /// An array that is in the mesh, to be changed; empty while it is out.
    pub fn array_mut(&mut self, array: ArrayName) -> &mut [f64] {
        self.arrays[array as usize]
            .as_deref_mut()
            .unwrap_or(&mut [])
    }
}

/// One rank's part of a level.
#[derive(Debug, Default)]
pub struct Level {
    /// The patches of all ranks.
    pub layout: Layout,
    /// Identifier of the level's first patch; the others follow.
    pub first_id: u64,
    /// This rank's patches.
    pub stored: Vec<Stored>,
    /// By number of the patch: its place in `stored`, if it is there.
    slots: Vec<Option<usize>>,
    /// Begin and size of the step in progress.
    pub step: Option<(f64, f64)>,
    /// How ghost cells are filled.
    pub ghosts: Transfer,
    /// This rank's part of the interpolation for them.
    pub prolongations: Vec<Prolongation>,
    /// Data that the level gives to the coarser one.
    pub to_coarser: Transfer,
}

impl Level {
    /// The part of `rank`, its arrays all 0, without plans.
    pub fn new(domain: &Domain, level: usize, first_id: u64, layout: Layout, rank: usize) -> Self {
        let mut stored = Vec::new();
        let mut slots = Vec::with_capacity(layout.boxes.len());
        for (index, (cells, owner)) in layout.boxes.iter().zip(&layout.ranks).enumerate() {
            slots.push((*owner == rank).then_some(stored.len()));
            if *owner == rank {
                let id = first_id + index as u64;
                stored.push(Stored::new(domain, level, id, index, cells));
            }
        }
        Level {
            layout,
            first_id,
            stored,
            slots,
            ..Level::default()
        }
    }

    /// Numbers the patches anew.
    pub fn renumber(&mut self, first_id: u64) {
        self.first_id = first_id;
        for stored in &mut self.stored {
            let id = first_id + stored.index as u64;
            stored.patch.id = id;
            if let Some(image) = &mut stored.image {
                image.patch.id = id;
            }
        }
    }

    /// Place in `stored` of a patch by its number.
    pub fn slot(&self, index: usize) -> Option<usize> {
        self.slots.get(index).copied().flatten()
    }

    /// A patch by its number.
    ///
    /// # Panics
    /// If it is not on this rank: plans name only patches that are.
    pub fn patch(&self, index: usize) -> &Stored {
        match self.slot(index) {
            Some(slot) => &self.stored[slot],
            None => panic!("patch {index} is on another rank"),
        }
    }

    /// A patch by its number, to be changed.
    ///
    /// # Panics
    /// As [`Level::patch`].
    pub fn patch_mut(&mut self, index: usize) -> &mut Stored {
        match self.slot(index) {
            Some(slot) => &mut self.stored[slot],
            None => panic!("patch {index} is on another rank"),
        }
    }

    /// Checks that no array is out.
    ///
    /// # Errors
    /// [`StorageError::Taken`]
    pub fn check_whole(&self) -> Result<(), StorageError> {
        for stored in &self.stored {
            for array in [ArrayName::State, ArrayName::Stage] {
                if stored.arrays[array as usize].is_none() {
                    let patch = stored.patch.id;
                    return Err(StorageError::Taken { patch, array });
                }
            }
        }
        Ok(())
    }
}

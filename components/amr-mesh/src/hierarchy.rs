//! All levels of one rank, and the operations on them.
//!
//! Each rank knows the layout of every level, that is the boxes and ranks of all patches, but has
//! the arrays of its own patches only. From the layouts all ranks derive the same plans of copies
//! in the same order, so a message needs no description of its contents. `Hierarchy` is the only
//! owner of levels: it keeps the plans in step with the layouts, and delegates the filling of cells
//! to `fill`, the messages to `transfer` and the fluxes to `flux`.
//!
//! A step of a level encloses the steps of the next finer one:
//!
//! ```text
//! begin_step(0)                    level 0 keeps its old state, its flux sums become 0
//!   … add_fluxes(0), one a stage   level 0 is advanced to t + dt
//!   begin_step(1) … end_step(1)    ghost cells of level 1: interpolated in time between the old and the new
//!   begin_step(1) … end_step(1)    state of level 0, where no patch of level 1 has them
//! end_step(0)                      level 0 gets the means of level 1, and the coarse cells around it
//!                                  its fluxes in place of their own
//! ```
//!
//! Every collective operation first checks that no array of its level is taken. `remake` replaces
//! the levels only when all new ones are filled, so a regrid that fails leaves the old mesh.

use cca_ports::{CommPort, PortError, RVec};
use hydro_ports::{
    ArrayName, Axis, BoundaryPort, Domain, InterLevelPort, Patch, Sides, States, StatesMut,
};

use crate::fill::{Ports, Sources, fill};
use crate::flux::correct;
use crate::layout::{Layout, LayoutError, check, level_cells};
use crate::level::{Image, Level, StorageError, Stored};
use crate::plan::{Coarser, to_coarser};
use crate::region::{read, write};
use crate::{Arrays, Fill, Kind, Messages, Side, Step, Transfer};

/// One rank's part of an adaptive mesh: the layouts of all levels, the arrays of its own patches, and
/// the plans of copies within and between the levels.
#[derive(Debug)]
pub struct Hierarchy {
    domain: Domain,
    rank: usize,
    /// Whether coarse cells next to a finer level are corrected by its fluxes.
    reflux: bool,
    levels: Vec<Level>,
}

impl Hierarchy {
    /// A mesh of the coarsest level alone, its arrays all 0.
    ///
    /// # Errors
    /// [`LayoutError`] if the patches make no level.
    pub fn new(
        domain: Domain,
        base: Layout,
        rank: usize,
        reflux: bool,
    ) -> Result<Self, LayoutError> {
        check(&domain, 0, &base.boxes, None)?;
        let levels = vec![Level::new(&domain, 0, 0, base, rank)];
        let mut hierarchy = Hierarchy {
            domain,
            rank,
            reflux,
            levels,
        };
        hierarchy.plan();
        Ok(hierarchy)
    }

    /// The domain.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The levels, from the coarsest.
    pub fn levels(&self) -> &[Level] {
        &self.levels
    }

    /// The patches of each level, of all ranks.
    pub fn layouts(&self) -> Vec<Layout> {
        self.levels
            .iter()
            .map(|level| level.layout.clone())
            .collect()
    }

    /// This rank's patches of a level.
    ///
    /// # Errors
    /// [`StorageError::NoLevel`]
    pub fn patches(&self, level: u32) -> Result<impl Iterator<Item = Patch>, StorageError> {
        let level = self.level(level)?;
        Ok(self.levels[level].stored.iter().map(|stored| stored.patch))
    }

    /// Takes an array of a patch.
    ///
    /// # Errors
    /// [`StorageError::NoPatch`], [`StorageError::Taken`]
    pub fn take(&mut self, patch: u64, array: ArrayName) -> Result<RVec<f64>, StorageError> {
        let (_, stored) = self.find(patch)?;
        stored.arrays[array as usize]
            .take()
            .ok_or(StorageError::Taken { patch, array })
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
        let (_, stored) = self.find(patch)?;
        if stored.arrays[array as usize].is_some() {
            return Err(StorageError::NotTaken { patch, array });
        }
        check_length(stored, values.len())?;
        stored.arrays[array as usize] = Some(values);
        Ok(())
    }

    /// A step of a level begins: keeps its state, from which the next finer level interpolates, and forgets the fluxes.
    ///
    /// # Errors
    /// [`StorageError::NoLevel`], [`StorageError::Taken`]
    pub fn begin_step(&mut self, level: u32, time: f64, dt: f64) -> Result<(), StorageError> {
        let at = self.level(level)?;
        self.levels[at].check_whole()?;
        if at + 1 == self.levels.len() {
            return Ok(());
        }
        self.levels[at].step = Some((time, dt));
        for stored in &mut self.levels[at].stored {
            // Taken out, so that the copy reuses its memory while `stored` is borrowed for the
            // state.
            let mut old = std::mem::take(&mut stored.old);
            old.clear();
            old.extend_from_slice(stored.array(ArrayName::State));
            stored.old = old;
            for fluxes in &mut stored.fluxes {
                fluxes.clear();
                fluxes.resize(stored.patch.shape.len(), 0.0);
            }
        }
        for stored in &mut self.levels[at + 1].stored {
            stored.border.reset(stored.patch.shape);
        }
        Ok(())
    }

    /// Adds the fluxes of one stage to the sums that the levels above and below will compare.
    ///
    /// # Errors
    /// [`StorageError::NoPatch`], [`StorageError::Length`]
    pub fn add_fluxes(
        &mut self,
        patch: u64,
        weight: f64,
        fluxes: [&[f64]; 2],
    ) -> Result<(), StorageError> {
        let (_, stored) = self.find(patch)?;
        for flux in fluxes {
            check_length(stored, flux.len())?;
        }
        for (sums, flux) in stored.fluxes.iter_mut().zip(fluxes) {
            for (sum, flux) in sums.iter_mut().zip(flux) {
                *sum += weight * flux;
            }
        }
        stored.border.add(stored.patch.shape, weight, fluxes);
        Ok(())
    }

    /// Fills the ghost cells of a level. Collective.
    ///
    /// # Errors
    /// [`StorageError`]; the components'.
    pub fn fill_ghosts<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
        &mut self,
        ports: &Ports<'_, C, B, I>,
        level: u32,
        array: ArrayName,
        time: f64,
    ) -> Result<Messages, PortError> {
        let at = self.level(level).map_err(PortError::failed)?;
        self.levels[at].check_whole().map_err(PortError::failed)?;
        let (coarser, level) = self.levels.split_at_mut(at);
        let (coarser, level) = (coarser.last(), &mut level[0]);
        // The plan is moved out for the time of the fill, which needs the level mutably.
        let plan = (
            std::mem::take(&mut level.ghosts),
            std::mem::take(&mut level.prolongations),
        );
        let sources = Sources {
            old: None,
            coarser,
            time,
        };
        let filled = fill(ports, level, array, sources, (&plan.0, &plan.1));
        (level.ghosts, level.prolongations) = plan;
        let messages = filled?;
        for stored in &mut level.stored {
            let patch = stored.patch;
            if patch.boundary != Sides::default() {
                ports
                    .bc
                    .fill(patch, StatesMut::new(patch.shape, stored.array_mut(array))?)?;
            }
        }
        Ok(messages)
    }

    /// Ends a step of a level and of the finer steps that fill it: gives the level the means of the finer cells, and
    /// the cells next to them the finer fluxes. Collective.
    ///
    /// # Returns
    /// The messages that it took.
    ///
    /// # Errors
    /// [`StorageError`]; the components'.
    pub fn end_step<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
        &mut self,
        ports: &Ports<'_, C, B, I>,
        level: u32,
    ) -> Result<Messages, PortError> {
        let at = self.level(level).map_err(PortError::failed)?;
        self.levels[at].check_whole().map_err(PortError::failed)?;
        // Without `begin_step` there are no flux sums: the means are copied, and no flux is
        // corrected.
        let is_step = self.levels[at].step.take().is_some();
        let (coarse, fine) = self.levels.split_at_mut(at + 1);
        let (Some(coarse), Some(fine)) = (coarse.last_mut(), fine.first_mut()) else {
            return Ok(Messages::default());
        };
        fine.check_whole().map_err(PortError::failed)?;
        for stored in &mut fine.stored {
            let Stored {
                patch,
                arrays,
                image,
                ..
            } = stored;
            let (Some(image), Some(values)) = (image, &arrays[ArrayName::State as usize]) else {
                continue;
            };
            let shape = image.patch.shape;
            ports.icc.restrict(
                *patch,
                States::new(patch.shape, values)?,
                image.patch,
                StatesMut::new(shape, &mut image.values)?,
                patch.cells().coarsen(),
            )?;
        }
        let mut upward = Upward {
            coarse,
            fine,
            is_step,
        };
        fine.to_coarser.run(ports.comm, &mut upward)
    }

    /// Replaces the old patches by new ones, with the same solution: from old patches of the level, else interpolated.
    /// The contents of the stage arrays are lost. Collective.
    ///
    /// # Arguments
    /// * `layouts` - the patches of every level, at least the coarsest, which covers the domain
    ///
    /// # Returns
    /// The messages that it took.
    ///
    /// # Errors
    /// [`LayoutError`] if they make no mesh; [`StorageError::Taken`]; the components'. This rank's part then stays
    /// unchanged.
    pub fn remake<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
        &mut self,
        ports: &Ports<'_, C, B, I>,
        layouts: Vec<Layout>,
    ) -> Result<Messages, PortError> {
        // Before the first message: layouts are equal on all ranks, so all find the same error.
        for (level, layout) in layouts.iter().enumerate() {
            let coarser = level
                .checked_sub(1)
                .map(|coarser| &layouts[coarser].boxes[..]);
            check(&self.domain, level, &layout.boxes, coarser).map_err(PortError::failed)?;
        }
        for level in &self.levels {
            level.check_whole().map_err(PortError::failed)?;
        }
        // Behind an empty level all are empty, since patches are nested.
        let has_patches = |layout: &Layout| !layout.boxes.is_empty();
        let layouts = layouts.into_iter().take_while(has_patches);
        let (made, messages) = self.make(ports, layouts)?;
        let mut old = std::mem::take(&mut self.levels).into_iter();
        let mut first_id = 0;
        for made in made {
            let old = old.next();
            let mut level = made.or(old).unwrap_or_default();
            level.renumber(first_id);
            first_id += level.layout.boxes.len() as u64;
            self.levels.push(level);
        }
        self.plan();
        Ok(messages)
    }

    /// The levels of new layouts, filled; `None` for one that stays. The mesh changes only when all are complete.
    fn make<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
        &self,
        ports: &Ports<'_, C, B, I>,
        layouts: impl Iterator<Item = Layout>,
    ) -> Result<(Vec<Option<Level>>, Messages), PortError> {
        let (mut made, mut first_id) = (Vec::<Option<Level>>::new(), 0);
        let mut messages = Messages::default();
        for (at, layout) in layouts.enumerate() {
            let patches = layout.boxes.len() as u64;
            let old = self.levels.get(at);
            // A level with the same patches keeps its arrays, even if the coarser one is new.
            let stays = old.is_some_and(|old| old.layout == layout);
            made.push(if stays {
                None
            } else {
                let coarser = at
                    .checked_sub(1)
                    .and_then(|coarser| made[coarser].as_ref().or(self.levels.get(coarser)));
                let new = Level::new(&self.domain, at, first_id, layout, self.rank);
                let (level, own) = self.fill_interiors(ports, at, new, old, coarser)?;
                messages.append(own);
                Some(level)
            });
            first_id += patches;
        }
        Ok((made, messages))
    }

    fn fill_interiors<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
        &self,
        ports: &Ports<'_, C, B, I>,
        at: usize,
        mut level: Level,
        old: Option<&Level>,
        coarser: Option<&Level>,
    ) -> Result<(Level, Messages), PortError> {
        let nothing = Level::default();
        let old = old.unwrap_or(&nothing);
        let plan = Fill::interiors(
            &level.layout.boxes,
            &old.layout.boxes,
            coarser.map(|coarser| self.coarser(coarser, at)),
        );
        let transfer = Transfer::new(&plan.steps, self.rank, |step| {
            let sources = match (step.kind, coarser) {
                (Kind::Same, _) | (_, None) => old,
                (_, Some(coarser)) => coarser,
            };
            (sources.layout.ranks[step.from], level.layout.ranks[step.to])
        });
        let mut prolongations = plan.prolongations;
        prolongations.retain(|prolongation| level.slot(prolongation.to).is_some());
        let (old, time) = (Some(old), 0.0);
        let sources = Sources { old, coarser, time };
        let messages = fill(
            ports,
            &mut level,
            ArrayName::State,
            sources,
            (&transfer, &prolongations),
        )?;
        Ok((level, messages))
    }

    fn coarser<'a>(&self, coarser: &'a Level, level: usize) -> Coarser<'a> {
        Coarser {
            boxes: &coarser.layout.boxes,
            domain: level_cells(&self.domain, level.saturating_sub(1)),
        }
    }

    /// Makes the plans of all levels for the present patches.
    fn plan(&mut self) {
        for at in 0..self.levels.len() {
            let (coarser, level) = self.levels.split_at(at);
            let (coarser, level) = (coarser.last(), &level[0]);
            let plan = Fill::ghosts(
                &level.layout.boxes,
                &level_cells(&self.domain, at),
                coarser.map(|coarser| self.coarser(coarser, at)),
            );
            let own = &level.layout.ranks;
            let coarse = coarser.map_or(own, |coarser| &coarser.layout.ranks);
            let ghosts = Transfer::new(&plan.steps, self.rank, |step| {
                let from = if step.kind == Kind::Same { own } else { coarse };
                (from[step.from], own[step.to])
            });
            let upward = coarser.map_or_else(Vec::new, |coarser| {
                to_coarser(&level.layout.boxes, &coarser.layout.boxes, self.reflux)
            });
            let upward =
                Transfer::new(&upward, self.rank, |step| (own[step.from], coarse[step.to]));
            let mut prolongations = plan.prolongations;
            prolongations.retain(|prolongation| level.slot(prolongation.to).is_some());
            let level = &mut self.levels[at];
            (level.ghosts, level.prolongations, level.to_coarser) = (ghosts, prolongations, upward);
            level.step = None;
            for stored in &mut level.stored {
                // Old state and fluxes are of the former patches.
                // Grown again by the next step, if it needs them.
                (stored.old, stored.fluxes) = Default::default();
            }
        }
    }

    fn level(&self, level: u32) -> Result<usize, StorageError> {
        let levels = self.levels.len();
        let found = (level as usize) < levels;
        found
            .then_some(level as usize)
            .ok_or(StorageError::NoLevel { level, levels })
    }

    fn find(&mut self, patch: u64) -> Result<(usize, &mut Stored), StorageError> {
        let level = self
            .levels
            .iter()
            .rposition(|level| level.first_id <= patch);
        let place = level.and_then(|at| {
            let level = &self.levels[at];
            Some((at, level.slot((patch - level.first_id) as usize)?))
        });
        let (level, slot) = place.ok_or(StorageError::NoPatch { patch })?;
        Ok((level, &mut self.levels[level].stored[slot]))
    }
}

fn check_length(stored: &Stored, found: usize) -> Result<(), StorageError> {
    let (patch, expected) = (stored.patch.id, stored.patch.shape.len());
    if found == expected {
        return Ok(());
    }
    Err(StorageError::Length {
        patch,
        found,
        expected,
    })
}

/// Data that goes from a level to the next coarser one.
struct Upward<'a> {
    coarse: &'a mut Level,
    fine: &'a Level,
    /// Whether there are fluxes: not if the levels were filled otherwise than by a step.
    is_step: bool,
}

impl Arrays for Upward<'_> {
    fn read(&self, step: &Step, message: &mut RVec<f64>) {
        let source = self.fine.patch(step.from);
        if let Kind::Flux(side) = step.kind {
            if !self.is_step {
                message.extend(std::iter::repeat_n(0.0, step.region.doubles()));
                return;
            }
            let cells = source.patch.cells().coarsen();
            source.border.read(side, &cells, &step.region, message);
        } else if let Some(Image { patch, values }) = &source.image {
            read(patch, values, &step.region, message);
        }
    }

    fn write(&mut self, step: &Step, values: &[f64]) {
        let Stored {
            patch,
            arrays,
            fluxes,
            ..
        } = self.coarse.patch_mut(step.to);
        let Some(state) = &mut arrays[ArrayName::State as usize] else {
            return;
        };
        let Kind::Flux(side) = step.kind else {
            return write(patch, state, &step.region, values);
        };
        if !self.is_step {
            return;
        }
        let axis = match side {
            Side::Left | Side::Right => Axis::X,
            Side::Bottom | Side::Top => Axis::Y,
        };
        correct(
            patch,
            (side, &step.region),
            values,
            &fluxes[axis as usize],
            state,
        );
    }
}

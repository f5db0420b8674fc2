//! Filling cells of a level from itself, from an older self, and from the next coarser level.

use cca_ports::{CommPort, PortError, RSlice, RVec};
use hydro_ports::{ArrayName, BoundaryPort, InterLevelPort, Sides, States, StatesMut};

use crate::level::{Level, Stored};
use crate::region::{read, read_between, write};
use crate::{Arrays, Kind, Messages, Prolongation, Step, Transfer};

/// The components that a mesh works with.
#[derive(Debug)]
pub struct Ports<'a, C, B, I> {
    /// Messages.
    pub comm: &'a C,
    /// Cells beyond the domain.
    pub bc: &'a B,
    /// Values between the levels.
    pub icc: &'a I,
}

/// Sources of the cells of a level.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The former level, or `None` if it cannot be filled from itself.
    pub old: Option<&'a Level>,
    /// The next coarser level.
    pub coarser: Option<&'a Level>,
    /// The time of the values wanted.
    pub time: f64,
}

/// Fills an array of a level's patches: copies, then interpolates cells that no patch of the level
/// has.
///
/// # Arguments
/// * `transfer`, `prolongations` - this rank's part of a [`Fill`](crate::Fill)
///
/// # Returns
/// The messages that it took.
///
/// # Errors
/// The components'.
pub fn fill<C: CommPort, B: BoundaryPort, I: InterLevelPort>(
    ports: &Ports<'_, C, B, I>,
    level: &mut Level,
    array: ArrayName,
    sources: Sources<'_>,
    (transfer, prolongations): (&Transfer, &[Prolongation]),
) -> Result<Messages, PortError> {
    let part = sources
        .coarser
        .and_then(|coarser| part(coarser, sources.time));
    let mut filling = Filling {
        level,
        array,
        sources,
        part,
    };
    let messages = transfer.run(ports.comm, &mut filling)?;
    let mut last = None;
    for Prolongation { to, regions } in prolongations {
        let Stored {
            patch,
            arrays,
            image,
            ..
        } = level.patch_mut(*to);
        let (Some(image), Some(values)) = (image.as_mut(), arrays[array as usize].as_mut()) else {
            continue;
        };
        let shape = image.patch.shape;
        if last != Some(*to) && image.patch.boundary != Sides::default() {
            ports
                .bc
                .fill(image.patch, StatesMut::new(shape, &mut image.values)?)?;
        }
        last = Some(*to);
        ports.icc.prolong(
            image.patch,
            States::new(shape, &image.values)?,
            *patch,
            StatesMut::new(patch.shape, values)?,
            RSlice::from_slice(regions),
        )?;
    }
    Ok(messages)
}

/// Position of `time` in the step of a level, 0 at its beginning and 1 at its end; `None` between steps.
fn part(level: &Level, time: f64) -> Option<f64> {
    let (begin, dt) = level.step?;
    Some(((time - begin) / dt).clamp(0.0, 1.0))
}

struct Filling<'a> {
    level: &'a mut Level,
    array: ArrayName,
    sources: Sources<'a>,
    part: Option<f64>,
}

impl Arrays for Filling<'_> {
    fn read(&self, step: &Step, message: &mut RVec<f64>) {
        let Step { from, region, .. } = step;
        if step.kind == Kind::Same {
            let source = self.sources.old.unwrap_or(self.level).patch(*from);
            return read(&source.patch, source.array(self.array), region, message);
        }
        // A plan with coarse cells has a level of them.
        let Some(coarser) = self.sources.coarser else {
            return;
        };
        let source = coarser.patch(*from);
        let new = source.array(ArrayName::State);
        match self.part {
            Some(part) if part < 1.0 => {
                let between = (&source.old[..], new);
                read_between(&source.patch, between, part, region, message);
            }
            _ => read(&source.patch, new, region, message),
        }
    }

    fn write(&mut self, step: &Step, values: &[f64]) {
        let array = self.array;
        let target = self.level.patch_mut(step.to);
        let patch = target.patch;
        if step.kind == Kind::Same {
            write(&patch, target.array_mut(array), &step.region, values);
        } else if let Some(image) = &mut target.image {
            write(&image.patch, &mut image.values, &step.region, values);
        }
    }
}

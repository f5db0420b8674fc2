//! New patches for a solution: marks of all ranks, boxes around them, and their ranks.

use cca_ports::{CommPort, PortError, RSlice, RSliceMut, Reduction};
use hydro_ports::{BalancerPort, CellBox, Domain, Load, Patch, RegridderPort};

use crate::layout::{Layout, LayoutError, NESTING, level_cells};

/// Marks that one double carries; a sum of numbers below 2^32 is exact.
const BITS: usize = 32;

/// Marked cells of a level, one bit each.
#[derive(Clone, Debug, PartialEq)]
pub struct Marks {
    columns: usize,
    cells: usize,
    words: Vec<f64>,
}

impl Marks {
    /// No mark on any of a level's cells.
    pub fn new(all: &CellBox) -> Self {
        let cells = all.cells();
        Marks {
            columns: all.nx as usize,
            cells,
            words: vec![0.0; cells.div_ceil(BITS)],
        }
    }

    /// Marks cells of a patch; each patch once.
    ///
    /// # Arguments
    /// * `flags` - of its interior cells, shape `[ny][nx]`
    ///
    /// # Errors
    /// Another number of flags than cells.
    pub fn add(&mut self, patch: &Patch, flags: &[bool]) -> Result<(), PortError> {
        let (nx, cells) = (patch.shape.nx, patch.shape.nx * patch.shape.ny);
        if flags.len() != cells {
            return Err(PortError::failed(format_args!(
                "cannot mark cells: {} flags, expected {cells}",
                flags.len()
            ))
            .context(patch));
        }
        for (k, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
            let cell = (patch.j0 + k / nx) * self.columns + patch.i0 + k % nx;
            self.words[cell / BITS] += ((cell % BITS) as f64).exp2();
        }
        Ok(())
    }

    /// Doubles that all ranks add up for it.
    pub fn doubles(&self) -> usize {
        self.words.len()
    }

    /// The marks of all ranks, shape `[ny][nx]`. Collective.
    ///
    /// # Errors
    /// The communicator's.
    pub fn gather<C: CommPort>(mut self, comm: &C) -> Result<Vec<bool>, PortError> {
        // A cell is marked by one rank at most, so that no bit is carried to the next.
        comm.all_reduce(Reduction::Sum, RSliceMut::from_mut_slice(&mut self.words))?;
        let is_marked = |k: usize| (self.words[k / BITS] as u64 >> (k % BITS)) & 1 == 1;
        Ok((0..self.cells).map(is_marked).collect())
    }
}

/// The boxes of level 1 and finer ones, each nested in the coarser.
///
/// # Arguments
/// * `marks` - of level 0 and finer ones, shape `[ny][nx]` each
///
/// # Returns
/// One list for each of `marks`, for the next finer level; lists may be empty.
///
/// # Errors
/// The regridder's.
pub fn new_boxes<R: RegridderPort>(
    regridder: &R,
    domain: &Domain,
    marks: &[Vec<bool>],
) -> Result<Vec<Vec<CellBox>>, PortError> {
    let mut boxes = vec![Vec::new(); marks.len()];
    // From the finest, so that each level can cover the finer ones.
    for level in (0..marks.len()).rev() {
        let finer: &[CellBox] = boxes.get(level + 1).map_or(&[], |boxes| boxes);
        let middle = level_cells(domain, level + 1);
        let required = finer.iter().filter_map(|cells| {
            let around = cells.coarsen().grow(NESTING).intersect(&middle);
            around.map(|around| around.coarsen())
        });
        let required: Vec<CellBox> = required.collect();
        let all = level_cells(domain, level);
        let coarse = regridder.cluster(
            level as u32,
            all.nx as usize,
            all.ny as usize,
            RSlice::from_slice(&marks[level]),
            RSlice::from_slice(&required),
        )?;
        boxes[level] = coarse.iter().map(CellBox::refine).collect();
    }
    Ok(boxes)
}

/// Shares the patches of all levels among the ranks.
///
/// # Returns
/// The levels with the ranks of their patches.
///
/// # Errors
/// The balancer's; [`LayoutError::Rank`] if it names no rank.
///
/// # Source
/// Case study, section 5: work is cells × 2^level.
pub fn share<B: BalancerPort>(
    balancer: &B,
    levels: Vec<Vec<CellBox>>,
    ranks: usize,
) -> Result<Vec<Layout>, PortError> {
    let loads = levels.iter().zip(0u32..).flat_map(|(boxes, level)| {
        boxes.iter().map(move |cells| Load {
            cells: *cells,
            level,
            weight: cells.cells() as f64 * f64::from(level).exp2(),
        })
    });
    let loads: Vec<Load> = loads.collect();
    let assigned = balancer.assign(RSlice::from_slice(&loads), ranks as u32)?;
    let rank = |index: usize| {
        let found = assigned.get(index).copied();
        let rank = found.filter(|rank| (*rank as usize) < ranks);
        rank.map(|rank| rank as usize).ok_or(LayoutError::Rank {
            index,
            found,
            ranks,
        })
    };
    let (mut next, mut layouts) = (0, Vec::new());
    for boxes in levels {
        let of_level = (next..next + boxes.len())
            .map(rank)
            .collect::<Result<_, _>>();
        next += boxes.len();
        let ranks = of_level.map_err(PortError::failed)?;
        layouts.push(Layout { boxes, ranks });
    }
    Ok(layouts)
}

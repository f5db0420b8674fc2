//! Which cells fill which: the copies between patches, of all ranks, in one order.

use hydro_ports::{CellBox, GHOST};

/// A side of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Of smallest x.
    Left,
    /// Of largest x.
    Right,
    /// Of smallest y.
    Bottom,
    /// Of largest y.
    Top,
}

impl Side {
    /// All sides, each at its own index.
    pub const ALL: [Side; 4] = [Side::Left, Side::Right, Side::Bottom, Side::Top];

    /// The cells that touch this side of a box from outside.
    pub fn strip(self, cells: &CellBox) -> CellBox {
        let CellBox { i, j, nx, ny } = *cells;
        let (left, low) = (i - 1, j - 1);
        match self {
            Side::Left => CellBox {
                i: left,
                j,
                nx: 1,
                ny,
            },
            Side::Right => CellBox {
                i: i + nx,
                j,
                nx: 1,
                ny,
            },
            Side::Bottom => CellBox {
                i,
                j: low,
                nx,
                ny: 1,
            },
            Side::Top => CellBox {
                i,
                j: j + ny,
                nx,
                ny: 1,
            },
        }
    }
}

/// Content of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Cells of the same level.
    Same,
    /// Cells of the next coarser level, for the patch's image on that level.
    Coarse,
    /// The means of fine cells, for the coarse cells that they cover.
    Mean,
    /// The fluxes through a side of a fine patch, for the coarse cells next to it.
    Flux(Side),
}

/// One copy, of `NVAR` doubles a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Content of the copy.
    pub kind: Kind,
    /// Number of the patch that is read, on its level.
    pub from: usize,
    /// Number of the patch that is written, on its level.
    pub to: usize,
    /// The cells; on the coarser level for all variants but [`Kind::Same`].
    pub region: CellBox,
}

/// Cells of a patch that are interpolated from one coarse patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prolongation {
    /// Number of the fine patch.
    pub to: usize,
    /// The cells, on the fine level.
    pub regions: Vec<CellBox>,
}

/// How cells of a level are filled.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fill {
    /// The copies, by patch written.
    pub steps: Vec<Step>,
    /// Interpolations after the copies; one for each pair of a fine patch and a coarse one that it overlaps.
    pub prolongations: Vec<Prolongation>,
}

/// The next coarser level.
#[derive(Clone, Copy, Debug)]
pub struct Coarser<'a> {
    /// Its patches.
    pub boxes: &'a [CellBox],
    /// All its cells.
    pub domain: CellBox,
}

impl Fill {
    /// Plans to fill the ghost cells inside the domain: from the level's other patches, the rest from the coarser level.
    ///
    /// # Arguments
    /// * `boxes` - patches of the level, nested in `coarser`
    /// * `domain` - all cells of the level
    pub fn ghosts(boxes: &[CellBox], domain: &CellBox, coarser: Option<Coarser<'_>>) -> Self {
        let mut fill = Fill::default();
        for (to, cells) in boxes.iter().enumerate() {
            let inside = cells.grow(GHOST as i64).intersect(domain);
            let wanted = inside.map_or_else(Vec::new, |inside| inside.minus(cells));
            fill.add(to, wanted, boxes, coarser);
        }
        fill
    }

    /// Plans to fill the interiors of new patches: from the level's old patches, the rest from the coarser level.
    pub fn interiors(new: &[CellBox], old: &[CellBox], coarser: Option<Coarser<'_>>) -> Self {
        let mut fill = Fill::default();
        for (to, cells) in new.iter().enumerate() {
            fill.add(to, vec![*cells], old, coarser);
        }
        fill
    }

    /// # Arguments
    /// * `wanted` - cells of the patch `to`, none of them its own in `sources`
    fn add(
        &mut self,
        to: usize,
        wanted: Vec<CellBox>,
        sources: &[CellBox],
        coarser: Option<Coarser<'_>>,
    ) {
        let copy = |kind, from, region| Step {
            kind,
            from,
            to,
            region,
        };
        for part in &wanted {
            let overlaps = sources.iter().enumerate();
            let overlaps =
                overlaps.filter_map(|(from, source)| Some((from, source.intersect(part)?)));
            self.steps
                .extend(overlaps.map(|(from, region)| copy(Kind::Same, from, region)));
        }
        let Some(Coarser { boxes, domain }) = coarser else {
            return;
        };
        let rest = wanted.iter().flat_map(|part| part.minus_all(sources));
        let rest: Vec<CellBox> = rest.collect();
        let mut needed = Vec::<CellBox>::new();
        for part in &rest {
            // One cell more for the slopes.
            let around = part.coarsen().grow(1).intersect(&domain);
            let parts = around.map_or_else(Vec::new, |around| around.minus_all(&needed));
            needed.extend(parts);
        }
        for (from, source) in boxes.iter().enumerate() {
            let read = needed.iter().filter_map(|part| part.intersect(source));
            self.steps
                .extend(read.map(|region| copy(Kind::Coarse, from, region)));
            let fine = source.refine();
            let regions: Vec<_> = rest
                .iter()
                .filter_map(|part| part.intersect(&fine))
                .collect();
            if !regions.is_empty() {
                self.prolongations.push(Prolongation { to, regions });
            }
        }
    }
}

/// Plans the data that a level gives the next coarser one at the end of its step: means and, if
/// wanted, fluxes.
///
/// # Arguments
/// * `fine` - patches of the level, in its cells
/// * `coarse` - patches of the coarser level, which cover `fine`
/// * `with_fluxes` - whether the coarse cells next to the level are corrected
pub fn to_coarser(fine: &[CellBox], coarse: &[CellBox], with_fluxes: bool) -> Vec<Step> {
    let covered: Vec<CellBox> = fine.iter().map(CellBox::coarsen).collect();
    let mut steps = Vec::new();
    for (to, target) in coarse.iter().enumerate() {
        for (from, cells) in covered.iter().enumerate() {
            let step = |kind, region| Step {
                kind,
                from,
                to,
                region,
            };
            steps.extend(
                cells
                    .intersect(target)
                    .map(|region| step(Kind::Mean, region)),
            );
            if !with_fluxes {
                continue;
            }
            for side in Side::ALL {
                let Some(strip) = side.strip(cells).intersect(target) else {
                    continue;
                };
                let open = strip.minus_all(&covered);
                steps.extend(
                    open.into_iter()
                        .map(|region| step(Kind::Flux(side), region)),
                );
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests;

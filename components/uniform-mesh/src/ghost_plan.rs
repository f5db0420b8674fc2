//! Which interior cells fill which ghost cells.

use std::collections::BTreeMap;

use hydro_ports::GHOST;

use crate::{Block, Region};

/// One copy from the interior of a patch to ghost cells of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GhostCopy {
    /// Number of the patch that is read.
    pub from: usize,
    /// The cells that are read, in the array of `from`.
    pub source: Region,
    /// Number of the patch whose ghost cells are written.
    pub to: usize,
    /// The cells that are written, in the array of `to`; as large as `source`.
    pub target: Region,
}

/// All copies of a mesh, in one order on every rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GhostPlan {
    copies: Vec<GhostCopy>,
    /// Rank of each patch.
    ranks: Vec<usize>,
}

impl GhostPlan {
    /// Every copy, by receiving patch, then by sending patch.
    pub fn copies(&self) -> &[GhostCopy] {
        &self.copies
    }

    /// The copies between two patches of this rank.
    pub fn local(&self, rank: usize) -> Vec<GhostCopy> {
        self.select(|from, to| from == rank && to == rank).collect()
    }

    /// The copies that this rank sends, by receiving rank; a message holds them in this order.
    pub fn sends(&self, rank: usize) -> BTreeMap<usize, Vec<GhostCopy>> {
        let sent = self.select(|from, to| from == rank && to != rank);
        by_rank(sent.map(|copy| (self.ranks[copy.to], copy)))
    }

    /// The copies that this rank receives, by sending rank; a message holds them in this order.
    pub fn receives(&self, rank: usize) -> BTreeMap<usize, Vec<GhostCopy>> {
        let received = self.select(|from, to| from != rank && to == rank);
        by_rank(received.map(|copy| (self.ranks[copy.from], copy)))
    }

    fn select(&self, wanted: impl Fn(usize, usize) -> bool) -> impl Iterator<Item = GhostCopy> {
        let copies = self.copies.iter().copied();
        copies.filter(move |copy| wanted(self.ranks[copy.from], self.ranks[copy.to]))
    }
}

fn by_rank(copies: impl Iterator<Item = (usize, GhostCopy)>) -> BTreeMap<usize, Vec<GhostCopy>> {
    let mut grouped = BTreeMap::<usize, Vec<GhostCopy>>::new();
    for (rank, copy) in copies {
        grouped.entry(rank).or_default().push(copy);
    }
    grouped
}

/// Plans how the ghost cells inside the mesh, corners included, are filled from their owners.
///
/// # Arguments
/// * `patches` - the patches of the whole mesh, which do not overlap
pub fn ghost_plan(patches: &[Block]) -> GhostPlan {
    let pairs = patches.iter().enumerate().flat_map(|(to, target)| {
        let sources = patches
            .iter()
            .enumerate()
            .filter(move |(from, _)| *from != to);
        sources.filter_map(move |(from, source)| {
            let (i, nx) = overlap((target.i, target.nx), (source.i, source.nx))?;
            let (j, ny) = overlap((target.j, target.ny), (source.j, source.ny))?;
            let in_array = |patch: &Block| Region {
                i: i + GHOST - patch.i,
                j: j + GHOST - patch.j,
                nx,
                ny,
            };
            Some(GhostCopy {
                from,
                source: in_array(source),
                to,
                target: in_array(target),
            })
        })
    });
    let copies = pairs.collect();
    GhostPlan {
        copies,
        ranks: patches.iter().map(|patch| patch.rank).collect(),
    }
}

/// First cell and number of cells that a range with its ghost cells shares with another range.
fn overlap(
    (start, cells): (usize, usize),
    (other, other_cells): (usize, usize),
) -> Option<(usize, usize)> {
    let first = start.saturating_sub(GHOST).max(other);
    let end = (start + cells + GHOST).min(other + other_cells);
    (first < end).then(|| (first, end - first))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_by_two() -> Vec<Block> {
        let patch = |i, j, rank| Block {
            i,
            j,
            nx: 8,
            ny: 4,
            rank,
        };
        vec![
            patch(0, 0, 0),
            patch(8, 0, 0),
            patch(0, 4, 1),
            patch(8, 4, 2),
        ]
    }

    #[test]
    fn sides_and_corners_of_one_patch() {
        let plan = ghost_plan(&two_by_two());
        assert_eq!(plan.copies().len(), 12);
        let region = |i, j, nx, ny| Region { i, j, nx, ny };
        let to_first: Vec<_> = plan
            .copies()
            .iter()
            .filter(|copy| copy.to == 0)
            .copied()
            .collect();
        assert_eq!(
            to_first,
            [
                GhostCopy {
                    from: 1,
                    source: region(2, 2, 2, 4),
                    to: 0,
                    target: region(10, 2, 2, 4)
                },
                GhostCopy {
                    from: 2,
                    source: region(2, 2, 8, 2),
                    to: 0,
                    target: region(2, 6, 8, 2)
                },
                GhostCopy {
                    from: 3,
                    source: region(2, 2, 2, 2),
                    to: 0,
                    target: region(10, 6, 2, 2)
                },
            ]
        );
    }

    #[test]
    fn a_rank_sends_what_another_receives() {
        let plan = ghost_plan(&two_by_two());
        assert_eq!(plan.local(0).len(), 2);
        assert!(plan.local(1).is_empty());
        for from in 0..3 {
            for (to, sent) in plan.sends(from) {
                assert_eq!(Some(&sent), plan.receives(to).get(&from));
            }
        }
        let counts: Vec<_> = plan
            .sends(0)
            .into_iter()
            .map(|(to, sent)| (to, sent.len()))
            .collect();
        assert_eq!(counts, [(1, 2), (2, 2)]);
    }
}

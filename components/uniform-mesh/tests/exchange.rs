//! Executing the plan gives every ghost cell inside the mesh the value of its owner.

use std::collections::{BTreeMap, BTreeSet};

use cca_ports::RVec;
use hydro_ports::{GHOST, NVAR};
use hydro_uniform_mesh::{
    Block, GhostPlan, MeshError, Sizes, Splitting, copy, decompose, ghost_plan, pack, unpack,
};
use proptest::prelude::*;

/// Content of a cell of the mesh.
fn value(variable: usize, i: usize, j: usize) -> f64 {
    (variable * 1_000_000 + j * 1_000 + i) as f64
}

/// Interior set, ghost cells NaN.
fn array(patch: &Block) -> Vec<f64> {
    let shape = patch.shape();
    let mut array = vec![f64::NAN; shape.len()];
    for k in 0..NVAR * patch.cells() {
        let (variable, cell) = (k / patch.cells(), k % patch.cells());
        let (i, j) = (cell % patch.nx, cell / patch.nx);
        let index = variable * shape.plane() + (j + GHOST) * shape.row() + i + GHOST;
        array[index] = value(variable, patch.i + i, patch.j + j);
    }
    array
}

/// Runs all ranks one after the other, messages kept by (sender, receiver).
fn exchange(patches: &[Block], plan: &GhostPlan, ranks: usize, arrays: &mut [Vec<f64>]) {
    let mut messages = BTreeMap::new();
    for rank in 0..ranks {
        for (to, copies) in plan.sends(rank) {
            let mut message = RVec::new();
            for c in copies {
                pack(
                    patches[c.from].shape(),
                    &arrays[c.from],
                    c.source,
                    &mut message,
                );
            }
            messages.insert((rank, to), message);
        }
    }
    for rank in 0..ranks {
        for c in plan.local(rank) {
            let from = arrays[c.from].clone();
            let source = (patches[c.from].shape(), &from[..], c.source);
            copy(source, (patches[c.to].shape(), &mut arrays[c.to], c.target));
        }
        for (from, copies) in plan.receives(rank) {
            let message = messages.remove(&(from, rank)).expect("a message");
            let mut rest = &message[..];
            for c in copies {
                rest = unpack(patches[c.to].shape(), rest, c.target, &mut arrays[c.to]);
            }
            assert!(rest.is_empty(), "{} doubles too many", rest.len());
        }
    }
    assert!(messages.is_empty(), "a message was not received");
}

fn check_ghosts((nx, ny): (usize, usize), patch: &Block, array: &[f64]) {
    let shape = patch.shape();
    for (k, found) in array.iter().enumerate() {
        let (variable, row) = (k / shape.plane(), k % shape.plane() / shape.row());
        let i = (patch.i + k % shape.row())
            .checked_sub(GHOST)
            .filter(|i| *i < nx);
        let j = (patch.j + row).checked_sub(GHOST).filter(|j| *j < ny);
        match i.zip(j) {
            Some((i, j)) => assert_eq!(*found, value(variable, i, j)),
            None => assert!(found.is_nan(), "a cell outside the mesh was written"),
        }
    }
}

fn check_assignment(patches: &[Block], ranks: usize) {
    assert!(patches.windows(2).all(|pair| pair[0].rank <= pair[1].rank));
    let used: BTreeSet<_> = patches.iter().map(|patch| patch.rank).collect();
    assert_eq!(used, (0..ranks).collect());
    let load = |rank| {
        patches
            .iter()
            .filter(|patch| patch.rank == rank)
            .map(Block::cells)
            .sum::<usize>() as f64
    };
    let mean = (0..ranks).map(load).sum::<f64>() / ranks as f64;
    let largest = patches.iter().map(Block::cells).max().unwrap_or(0) as f64;
    for rank in 0..ranks {
        assert!(
            (load(rank) - mean).abs() <= largest,
            "{}, mean {mean}",
            load(rank)
        );
    }
}

fn splitting() -> impl Strategy<Value = Splitting> {
    prop_oneof![
        (1..5usize).prop_map(Splitting::PatchesPerRank),
        (2..20usize).prop_map(Splitting::MaxSide),
        (1..4usize, 1..4usize).prop_map(|(columns, rows)| Splitting::Grid(columns, rows)),
    ]
}

proptest! {
    #[test]
    fn ghost_cells_hold_the_field(
        nx in 12..60usize,
        ny in 12..40usize,
        ranks in 1..8usize,
        splitting in splitting(),
        sizes in prop_oneof![Just(Sizes::Even), Just(Sizes::Uneven)],
    ) {
        match decompose(nx, ny, ranks, splitting, sizes) {
            Ok(patches) => {
                check_assignment(&patches, ranks);
                prop_assert_eq!(patches.iter().map(Block::cells).sum::<usize>(), nx * ny);
                let mut arrays: Vec<_> = patches.iter().map(array).collect();
                exchange(&patches, &ghost_plan(&patches), ranks, &mut arrays);
                for (patch, array) in patches.iter().zip(&arrays) {
                    check_ghosts((nx, ny), patch, array);
                }
            }
            Err(MeshError::TooFewPatches { patches, ranks, .. }) => prop_assert!(patches < ranks),
            Err(MeshError::TooSmall { .. }) => prop_assume!(false),
            Err(error) => prop_assert!(false, "{error}"),
        }
    }
}

//! The result of a run does not depend on how the mesh is divided or on how many ranks share it (case study, section 5,
//! test e).

use cca_core::Assembly;
use hydro_ports::Statistics;
use mastermind_tests::{Application, Cells, RankComm, example, on_ranks};

fn shock(changes: &[&str]) -> Assembly {
    let steps = ["driver.max_steps=40"];
    example("shock/shock.toml", &[&steps, changes].concat())
}

fn alone(changes: &[&str]) -> (Cells, Statistics) {
    let application = Application::run(&shock(changes), RankComm::alone());
    (application.cells(), application.statistics())
}

/// Bit for bit the same cells; the same statistics to rounding.
#[track_caller]
fn assert_same(
    (cells, statistics): &(Cells, Statistics),
    (other, other_statistics): &(Cells, Statistics),
) {
    assert_eq!(cells.len(), 96 * 32);
    let differ = cells
        .iter()
        .filter(|(place, w)| other.get(place) != Some(w));
    assert_eq!(differ.count(), 0, "cells that differ");
    let values = |s: &Statistics| {
        [
            s.mass,
            s.energy,
            s.tracer,
            s.circulation,
            s.negative_circulation,
        ]
    };
    for (a, b) in values(statistics).into_iter().zip(values(other_statistics)) {
        assert!((a - b).abs() <= 1e-12 * a.abs(), "{a}, expected {b}");
    }
    assert_eq!(statistics.max_density, other_statistics.max_density);
    assert_eq!(statistics.max_pressure, other_statistics.max_pressure);
}

#[test]
fn one_patch_or_many() {
    let whole = alone(&["mesh.patches_x=1", "mesh.patches_y=1"]);
    assert_same(&whole, &alone(&[]));
    assert_same(
        &whole,
        &alone(&[
            "mesh.split=max_side",
            "mesh.max_side=9",
            "mesh.patch_sizes=even",
        ]),
    );
}

#[test]
fn one_two_or_three_ranks() {
    let one = alone(&[]);
    for n in [2, 3] {
        let ranks = on_ranks(n, |comm| {
            let application = Application::run(&shock(&[]), comm);
            (application.cells(), application.statistics())
        });
        let statistics = ranks[0].1;
        assert!(
            ranks
                .iter()
                .all(|(cells, s)| !cells.is_empty() && *s == statistics)
        );
        let cells = ranks.into_iter().flat_map(|(cells, _)| cells).collect();
        assert_same(&one, &(cells, statistics));
    }
}

#[test]
fn a_split_by_ranks_gives_each_as_many_patches() {
    let changes = [
        "mesh.split=per_rank",
        "mesh.patches_per_rank=2",
        "driver.max_steps=1",
    ];
    let patches = on_ranks(3, |comm| {
        let application = Application::run(&shock(&changes), comm);
        application.cells().len()
    });
    assert_eq!(patches.iter().sum::<usize>(), 96 * 32);
}

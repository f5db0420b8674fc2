//! Particle transport under MPI: the source does not depend on the ranks, nor on blocks and groups. The driver itself ends
//! a run in which particles are lost.

use mastermind_tests::{Application, Scratch, bin_dir, example, mpis, on_ranks};

const SMALL: [&str; 2] = ["driver.cells=13", "driver.iterations=4"];

/// The table that a run of `ranks` threads writes.
fn run(ranks: usize, changes: &[&str], scratch: &Scratch) -> String {
    let output = format!("driver.output={}", scratch.text("source.csv"));
    let changes = [&SMALL[..], changes, &[&output]].concat();
    on_ranks(ranks, |comm| {
        Application::run(&example("transport/transport.toml", &changes), comm);
    });
    scratch.read("source.csv")
}

#[test]
fn the_source_has_the_symmetry_of_the_cube() {
    let scratch = Scratch::new();
    let table = run(1, &[], &scratch);
    let rows: Vec<Vec<f64>> = table
        .lines()
        .map(|line| {
            line.split(',')
                .map(|text| text.parse().expect("a number"))
                .collect()
        })
        .collect();
    let n = 13;
    assert_eq!(rows.len(), n * n);
    let at = |i: usize, j: usize, k: usize| rows[k * n + j][i];
    for (i, j, k) in [(0, 1, 2), (3, 6, 12), (5, 11, 7)] {
        let value = at(i, j, k);
        for other in [
            at(n - 1 - i, j, k),
            at(i, n - 1 - j, k),
            at(i, j, n - 1 - k),
            at(j, k, i),
            at(k, i, j),
        ] {
            assert!((other / value - 1.0).abs() < 1e-12, "{other} {value}");
        }
    }
    // Half of the collisions scatter: without leaks the source would tend to 2, and it is largest in the middle.
    let middle = at(6, 6, 6);
    assert!(
        middle > 1.5 && middle < 2.0 && at(0, 0, 0) < 0.85 * middle,
        "{middle}"
    );
}

#[test]
fn any_ranks_blocks_and_groups_give_the_same_source() {
    let scratch = Scratch::new();
    let alone = run(1, &[], &scratch);
    for (ranks, columns) in [(2, 0), (2, 2), (4, 0), (6, 3)] {
        let columns = format!("driver.columns={columns}");
        assert_eq!(
            run(ranks, &[&columns], &scratch),
            alone,
            "{ranks} ranks, {columns}"
        );
    }
    let blocks = ["driver.k_block=5", "driver.angle_group=4"];
    assert_eq!(run(4, &blocks, &scratch), alone);
}

#[test]
fn and_so_under_each_mpi() {
    let scratch = Scratch::new();
    let alone = run(1, &[], &scratch);
    let libraries = [bin_dir().join("libparticle_transport.so")];
    let assembly = scratch.example("transport/transport.toml", &[&libraries[0]], &[]);
    for mpi in mpis() {
        for ranks in ["2", "4"] {
            let mut arguments = vec!["--ranks", ranks, "--mpi", mpi.kind.name()];
            arguments.extend(SMALL.iter().flat_map(|set| ["--set", set]));
            arguments.extend(["--set", "driver.output=mpi.csv"]);
            scratch.verb("run", &assembly, &arguments).well();
            assert_eq!(
                scratch.read("mpi.csv"),
                alone,
                "{ranks} ranks of {}",
                mpi.kind
            );
        }
    }
}

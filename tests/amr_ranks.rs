//! The solution does not depend on the ranks that share the patches (case study, section 5, test e): with threads as
//! ranks, and under each MPI with a back end.

use std::path::Path;
use std::process::Command;

use mastermind_tests::{Application, Cells, RankComm, bin_dir, example, mpis, on_ranks, root};

const STEPS: &str = "driver.max_steps=18";

fn levels(comm: RankComm, changes: &[&str]) -> Vec<Cells> {
    let assembly = example("shock-amr/shock-amr.toml", &[&[STEPS], changes].concat());
    Application::run(&assembly, comm).levels()
}

/// The cells are the same bit for bit on every level, on few ranks and on more than there are patches of level 0.
#[test]
fn one_two_three_or_seven_ranks() {
    let alone = levels(RankComm::alone(), &[]);
    assert_eq!(alone.len(), 3);
    for n in [2, 3, 7] {
        let ranks = on_ranks(n, |comm| levels(comm, &[]));
        check(&alone, ranks);
    }
}

/// Another method to share the patches, and a mesh that is never shared again.
#[test]
fn any_balancer() {
    let alone = levels(RankComm::alone(), &[]);
    for change in ["balancer=hydro.MortonBalancer", "driver.balance_at=0"] {
        let ranks = on_ranks(3, |comm| levels(comm, &[change]));
        check(&alone, ranks);
    }
}

fn check(alone: &[Cells], ranks: Vec<Vec<Cells>>) {
    for (level, wanted) in alone.iter().enumerate() {
        let mut found = Cells::new();
        for rank in &ranks {
            found.extend(rank[level].iter().map(|(place, state)| (*place, *state)));
        }
        let shared: usize = ranks.iter().map(|rank| rank[level].len()).sum();
        assert_eq!(shared, wanted.len(), "each cell on one rank");
        assert!(
            found == *wanted,
            "cells of level {level} differ on {} ranks",
            ranks.len()
        );
    }
}

/// The field that a run under the launcher wrote, one row for each cell.
fn under(mpi: &str, ranks: usize, folder: &Path) -> Vec<Vec<f64>> {
    let text = std::fs::read_to_string(root().join("examples/shock-amr/shock-amr.toml"));
    let libraries = bin_dir();
    let text = text
        .expect("an assembly")
        .replace("../../target/release", &libraries.to_string_lossy());
    let (assembly, table) = (
        folder.join("shock-amr.toml"),
        folder.join(format!("{mpi}-{ranks}.csv")),
    );
    std::fs::write(&assembly, text).expect("written");
    let output = format!("output.csv={}", table.display());
    let run = Command::new(libraries.join("mastermind"))
        .arg("run")
        .arg(&assembly)
        .args([
            "--ranks",
            &ranks.to_string(),
            "--mpi",
            mpi,
            "--set",
            STEPS,
            "--set",
            &output,
        ])
        .output()
        .expect("a run");
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let table = std::fs::read_to_string(table).expect("a table");
    let row = |line: &str| {
        line.split(',')
            .map(|value| value.parse().expect("a number"))
            .collect()
    };
    table.lines().skip(1).map(row).collect()
}

#[test]
fn under_mpi() {
    for mpi in mpis().iter().map(|mpi| mpi.kind.name()) {
        let folder = tempfile::tempdir().expect("a folder");
        let alone = under(mpi, 1, folder.path());
        assert_eq!(alone.len(), 384 * 128);
        // Five ranks are more than the cores of a small machine, and than the patches of level 0.
        for ranks in [2, 3, 5] {
            let found = under(mpi, ranks, folder.path());
            let pairs = alone.iter().flatten().zip(found.iter().flatten());
            let worst = pairs
                .map(|(a, b)| (a - b).abs() / a.abs().max(1.0))
                .fold(0.0, f64::max);
            println!("{mpi}, {ranks} ranks: differs by {worst:e}");
            assert_eq!(found.len(), alone.len());
            assert!(worst <= 1e-12, "{worst:e}");
        }
    }
}

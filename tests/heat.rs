//! Heat conduction under MPI: the heat is conserved, and the temperatures do not depend on the ranks.

use mastermind_tests::{Application, Scratch, bin_dir, example, mpis, on_ranks};

const SMALL: [&str; 3] = ["driver.nx=45", "driver.ny=38", "driver.steps=60"];

/// The table that a run of `ranks` threads writes.
fn run(ranks: usize, columns: u32, scratch: &Scratch) -> String {
    let output = scratch.text("field.csv");
    let (columns, output) = (
        format!("driver.columns={columns}"),
        format!("driver.output={output}"),
    );
    let changes = [&SMALL[..], &[&columns, &output]].concat();
    on_ranks(ranks, |comm| {
        Application::run(&example("heat/heat.toml", &changes), comm);
    });
    scratch.read("field.csv")
}

fn numbers(table: &str) -> Vec<f64> {
    let numbers = table.split([',', '\n']).filter(|text| !text.is_empty());
    numbers
        .map(|text| text.parse().expect("a number"))
        .collect()
}

#[test]
fn heat_stays_and_spreads() {
    let scratch = Scratch::new();
    let after = numbers(&run(1, 0, &scratch));
    // The same, but for one step, as it begins.
    let output = format!("driver.output={}", scratch.text("begin.csv"));
    let changes = [&SMALL[..2], &["driver.steps=1", &output]].concat();
    on_ranks(1, |comm| {
        Application::run(&example("heat/heat.toml", &changes), comm);
    });
    let begin = numbers(&scratch.read("begin.csv"));
    let (sum, largest) = (
        |u: &[f64]| u.iter().sum::<f64>(),
        |u: &[f64]| u.iter().copied().fold(0.0, f64::max),
    );
    assert_eq!(after.len(), 45 * 38);
    assert!((sum(&after) / sum(&begin) - 1.0).abs() < 1e-13);
    assert!(largest(&after) < 0.9 * largest(&begin));
    assert!(after.iter().all(|u| *u >= 1.0));
}

#[test]
fn any_ranks_give_the_same_temperatures() {
    let scratch = Scratch::new();
    let alone = run(1, 0, &scratch);
    for (ranks, columns) in [(2, 0), (2, 2), (4, 0), (4, 4), (6, 3)] {
        assert_eq!(
            run(ranks, columns, &scratch),
            alone,
            "{ranks} ranks in {columns} columns"
        );
    }
}

#[test]
fn and_so_under_each_mpi() {
    let scratch = Scratch::new();
    let alone = run(1, 0, &scratch);
    let libraries = [bin_dir().join("libheat_conduction.so")];
    let assembly = scratch.example("heat/heat.toml", &[&libraries[0]], &[]);
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

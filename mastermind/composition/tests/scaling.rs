//! Workloads of settings that were not run.

use mastermind_composition::{Call, Error, Settings, SizedRun, Workload, scale_workload};
use mastermind_models::{Coordinate, Metric};

fn settings(nx: f64, ny: f64, ranks: f64) -> Settings {
    [("mesh.nx", nx), ("mesh.ny", ny), ("ranks", ranks)]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
}

fn call(instance: &str, coordinate: Coordinate, count: u64, measured_s: f64) -> Call {
    Call {
        instance: instance.into(),
        class: "C".into(),
        port_method: "p.m".into(),
        coordinate,
        count,
        measured_s,
        processor_s: 0.5 * measured_s,
        computation_s: 0.5 * measured_s,
        mpi_s: 0.0,
    }
}

/// A stencil code: `2 nx` steps, 8 patches of uneven sizes on each rank, two axes; the mesh is set up once.
fn run(nx: f64, ny: f64, ranks: f64) -> SizedRun {
    let mut calls = vec![call(
        "mesh",
        Coordinate::new(),
        ranks as u64,
        1e-9 * nx * ny,
    )];
    for axis in ["x", "y"] {
        for patch in 1..=8 {
            let q = f64::from(patch) / 36.0 * nx * ny / ranks;
            let at = Coordinate::new()
                .with("axis", axis)
                .with("q", q)
                .with("level", 0.0);
            calls.push(call("flux", at, (2.0 * nx * ranks) as u64, 0.0));
        }
    }
    SizedRun {
        settings: settings(nx, ny, ranks),
        workload: Workload {
            metric: Metric::Wall,
            calls,
        },
        processors: None,
    }
}

/// What a linear cost `a + b q` and a convex one make of a workload.
fn costs(workload: &Workload) -> [f64; 2] {
    let flux = workload.calls.iter().filter(|call| call.instance == "flux");
    let mut sums = [0.0; 2];
    for call in flux {
        let q = call.coordinate.number("q").unwrap();
        sums[0] += call.count as f64 * (10.0 + q);
        sums[1] += call.count as f64 * q.powf(1.5);
    }
    sums
}

fn close(found: &Workload, expected: &Workload, tolerance: f64) {
    for (found, expected) in costs(found).iter().zip(costs(expected)) {
        assert!(
            (found / expected - 1.0).abs() < tolerance,
            "{found}, expected {expected}"
        );
    }
}

#[test]
fn a_larger_mesh_and_more_ranks_are_told_from_smaller_runs() {
    let mut runs = Vec::new();
    for (nx, ranks) in [
        (48.0, 1.0),
        (96.0, 1.0),
        (144.0, 1.0),
        (48.0, 2.0),
        (96.0, 3.0),
    ] {
        runs.push(run(nx, nx / 3.0, ranks));
        runs.push(run(nx, nx / 3.0, ranks));
    }
    let wanted = settings(288.0, 96.0, 4.0);
    let scaled = scale_workload(&runs, &wanted).unwrap();
    assert_eq!(scaled.by, ["mesh.nx", "ranks"]);
    assert!(
        scaled.misfit < 1e-9 && scaled.unscaled.is_empty(),
        "{scaled:?}"
    );
    close(&scaled.workload, &run(288.0, 96.0, 4.0).workload, 0.01);
    let mesh = scaled
        .workload
        .calls
        .iter()
        .find(|call| call.instance == "mesh")
        .unwrap();
    assert_eq!(mesh.count, 4);
    assert!((mesh.measured_s / (1e-9 * 288.0 * 96.0) - 1.0).abs() < 1e-9);
    // Where it was run it is what was run.
    let known = scale_workload(&runs, &settings(96.0, 32.0, 1.0)).unwrap();
    close(&known.workload, &runs[2].workload, 0.01);
}

/// Patches with two rows of ghost cells are no power of the mesh: by one they would be told 13 % too small at twice the largest.
#[test]
fn patches_with_ghost_cells_are_told_exactly() {
    let run = |nx: f64| {
        let q = (nx / 4.0 + 4.0) * (nx / 6.0 + 4.0);
        let at = Coordinate::new().with("q", q);
        SizedRun {
            settings: settings(nx, nx / 3.0, 1.0),
            workload: Workload {
                metric: Metric::Wall,
                calls: vec![call("flux", at, (2.0 * nx) as u64, 0.0)],
            },
            processors: None,
        }
    };
    let runs = [48.0, 72.0, 96.0].map(run);
    let wanted = run(192.0);
    let scaled = scale_workload(&runs, &wanted.settings).unwrap();
    close(&scaled.workload, &wanted.workload, 1e-6);
    // Patches of two sizes, rounded one way or the other: each by itself is told wrongly, all together are not.
    let rounded = |nx: f64| {
        let mut run = run(nx);
        let q = run.workload.calls[0].coordinate.number("q").unwrap();
        let off = if nx == 72.0 { 0.1 * q } else { 0.0 };
        let calls = [0.5 * q - off, 1.5 * q + off].map(|q| {
            let at = Coordinate::new().with("q", q);
            call("flux", at, (2.0 * nx) as u64, 0.0)
        });
        run.workload.calls = calls.into();
        run
    };
    let scaled = scale_workload(&[48.0, 72.0, 96.0].map(rounded), &wanted.settings).unwrap();
    let [found, expected] = [&scaled.workload, &rounded(192.0).workload].map(|w| costs(w)[0]);
    assert!(
        (found / expected - 1.0).abs() < 1e-3,
        "{found}, expected {expected}"
    );
    // What falls, and what varies by chance, is a power as before.
    let falling = |nx: f64| {
        let mut run = run(nx);
        let q = 1e6 / nx + 3.0 * (nx / 24.0 % 2.0);
        run.workload.calls[0].coordinate = Coordinate::new().with("q", q);
        run
    };
    let runs = [48.0, 72.0, 96.0].map(falling);
    let scaled = scale_workload(&runs, &wanted.settings).unwrap();
    let q = scaled.workload.calls[0].coordinate.number("q").unwrap();
    assert!((q / (1e6 / 192.0) - 1.0).abs() < 0.01, "{q}");
}

/// Work in a volume beside work along its sides: a power through both falls 9 % short of twice the largest size.
#[test]
fn times_that_grow_with_two_powers_are_told_exactly() {
    let timed = |of: fn(f64) -> f64| {
        move |nx: f64| SizedRun {
            settings: settings(nx, 64.0, 1.0),
            workload: Workload {
                metric: Metric::Wall,
                calls: vec![call("mesh", Coordinate::new(), 8, of(nx))],
            },
            processors: None,
        }
    };
    let told_by = |sizes: &[f64], of: fn(f64) -> f64| {
        let runs: Vec<SizedRun> = sizes.iter().copied().map(timed(of)).collect();
        let scaled = scale_workload(&runs, &settings(192.0, 64.0, 1.0)).unwrap();
        let calls = scaled.workload.calls.iter();
        calls.map(|call| call.measured_s).sum::<f64>() / of(192.0)
    };
    let told = |of| told_by(&[48.0, 72.0, 96.0], of);
    let volume_and_sides = |nx: f64| 1e-6 * nx.powi(3) + 3e-5 * nx.powi(2);
    let volume_and_start = |nx: f64| 1e-6 * nx.powi(3) + 0.1;
    for of in [volume_and_sides, volume_and_start] {
        assert!((told(of) - 1.0).abs() < 1e-6, "{}", told(of));
    }
    // What is a power stays one, and so does what falls.
    for of in [|nx: f64| nx.powf(2.5), |nx: f64| 1.0 / nx] {
        assert!((told(of) - 1.0).abs() < 1e-6, "{}", told(of));
        // Of two sizes too, which each sum of two powers goes through but for rounding.
        for smallest in 40..60 {
            let by_two = told_by(&[f64::from(smallest), 96.0], of);
            assert!((by_two - 1.0).abs() < 1e-6, "{by_two}");
        }
    }
}

#[test]
fn what_the_runs_do_not_tell_is_an_error() {
    let sizes = [48.0, 96.0, 144.0];
    let runs: Vec<SizedRun> = sizes.iter().map(|nx| run(*nx, nx / 3.0, 1.0)).collect();
    let error = |wanted: &Settings| scale_workload(&runs, wanted).unwrap_err().to_string();
    assert_eq!(
        error(&settings(288.0, 96.0, 4.0)),
        "cannot scale the workload to ranks = 4: all runs have 1, expected runs with several values of it"
    );
    let message = error(&settings(288.0, 288.0, 1.0));
    assert!(
        message.starts_with("cannot scale the workload to mesh.ny = 288: it goes with mesh.nx in the runs, expected 9"),
        "{message}"
    );
    let mut wanted = settings(288.0, 96.0, 1.0);
    wanted.insert("mesh.nz".into(), 3.0);
    assert_eq!(
        error(&wanted),
        "cannot scale the workload by mesh.nz: 3, expected a number above 0 that all runs have"
    );
    let found = scale_workload(&runs[..1], &settings(96.0, 32.0, 1.0));
    assert!(matches!(found, Err(Error::NotVaried { .. })), "{found:?}");
    let two = scale_workload(&runs[..2], &settings(288.0, 96.0, 1.0));
    assert!(
        matches!(
            two,
            Err(Error::TooFewSizes {
                found: 2,
                expected: 3
            })
        ),
        "{two:?}"
    );
}

/// The finer level appears only in the larger runs: its calls are those of the nearest one, and it is said.
#[test]
fn what_only_some_runs_call_is_said() {
    let mut runs: Vec<SizedRun> = [48.0, 96.0, 144.0]
        .iter()
        .map(|nx| run(*nx, 16.0, 1.0))
        .collect();
    runs[2]
        .workload
        .calls
        .push(call("icc", Coordinate::new().with("n", 8.0), 5, 0.1));
    let scaled = scale_workload(&runs, &settings(192.0, 16.0, 1.0)).unwrap();
    assert_eq!(scaled.unscaled, ["icc.p.m"]);
    let calls = scaled
        .workload
        .calls
        .iter()
        .filter(|call| call.instance == "icc");
    assert_eq!(calls.map(|call| call.count).sum::<u64>(), 5);
}

/// A number of calls that becomes level, as slices of a fixed number do; one that begins so; and one that a power would let explode.
#[test]
fn what_saturates_stays_and_nothing_explodes() {
    let told = |of: fn(f64) -> f64| {
        let run = |nx: f64| SizedRun {
            settings: settings(nx, 64.0, 1.0),
            workload: Workload {
                metric: Metric::Wall,
                calls: vec![call("mesh", Coordinate::new(), of(nx) as u64, 1.0)],
            },
            processors: None,
        };
        let runs: Vec<SizedRun> = [16.0, 32.0, 64.0, 128.0, 256.0].map(run).into();
        let scaled = scale_workload(&runs, &settings(1024.0, 64.0, 1.0)).unwrap();
        scaled.workload.calls[0].count as f64 / of(1024.0)
    };
    let near = |ratio: f64| (ratio - 1.0).abs() < 0.01;
    let level = told(|nx| nx.min(64.0) * 10.0);
    assert!(near(level), "{level}");
    let from_there = told(|nx| nx.max(64.0) * 10.0);
    assert!(near(from_there), "{from_there}");
    // 100, 100, 100, 100, 1600 calls: a fourth power at most, and no less than was seen.
    let sudden = told(|nx| if nx > 200.0 { 1600.0 } else { 100.0 });
    assert!((1.0..=256.0).contains(&sudden), "{sudden}");
}

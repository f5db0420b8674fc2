//! Formulas fitted to data made from them: unknowns are recovered, bounds hold, and errors are
//! reported.

use mastermind_correction::{End, Error, Finding, Residuals, SemiEmpirical, Specification, Table};

const EVH1: &str = include_str!("../../../examples/semi-empirical/evh1.toml");
const GYRO: &str = include_str!("../../../examples/semi-empirical/gyro.toml");

/// A table at these points whose times are the formula's with relative noise.
fn made(
    specification: &Specification,
    points: &[Vec<f64>],
    unknowns: &[f64],
    noise: f64,
    seed: u64,
) -> Table {
    let n = points.len();
    let columns = (0..specification.inputs.len()).map(|j| points.iter().map(|p| p[j]).collect());
    let mut table = Table {
        inputs: columns.collect(),
        observed: vec![1.0; n],
        weights: vec![1.0; n],
        is_train: vec![true; n],
        lines: (2..n + 2).collect(),
    };
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut normal = || (0..12).map(|_| rng.f64()).sum::<f64>() - 6.0;
    let times = specification.evaluate(&table, unknowns);
    table.observed = times.iter().map(|t| t * (1.0 + noise * normal())).collect();
    table
}

fn evh1_points() -> Vec<Vec<f64>> {
    let sizes = [256.0, 512.0, 1024.0, 2048.0];
    let counts = [1.0, 4.0, 16.0, 64.0, 256.0];
    let pairs = sizes.iter().flat_map(|nx| counts.map(|np| (*nx, np)));
    pairs
        .flat_map(|(nx, np)| [0.5, 1.0].map(|t| vec![nx, np, t]))
        .collect()
}

fn gyro_points() -> Vec<Vec<f64>> {
    let grids = [
        [8.0, 8.0, 8.0, 8.0, 16.0, 140.0],
        [8.0, 12.0, 8.0, 8.0, 8.0, 192.0],
        [8.0, 8.0, 8.0, 8.0, 64.0, 400.0],
    ];
    let counts = [16.0, 64.0, 128.0, 512.0, 2048.0, 8192.0];
    let point = |np: f64, grid: &[f64; 6]| [np, 100.0].iter().chain(grid).copied().collect();
    grids
        .iter()
        .flat_map(|grid| counts.map(|np| point(np, grid)))
        .collect()
}

/// Fits many noisy tables; the true values are within two standard errors about as often as they should.
fn comes_back(text: &str, points: &[Vec<f64>], truth: &[f64]) {
    let specification = Specification::from_toml(text).unwrap();
    let exact = made(&specification, points, truth, 0.0, 0);
    for residuals in [Residuals::Squared, Residuals::Relative] {
        let fit = SemiEmpirical::fit(&specification, &exact, residuals).unwrap();
        for (value, truth) in fit.values.iter().zip(truth) {
            assert!(
                (value / truth - 1.0).abs() < 1e-4,
                "{residuals:?}: {:?} of {truth}",
                fit.values
            );
        }
    }
    let (mut n_inside, mut n) = (0, 0);
    for seed in 1..=25 {
        let table = made(&specification, points, truth, 0.02, seed);
        let fit = SemiEmpirical::fit(&specification, &table, Residuals::Relative).unwrap();
        for ((value, error), truth) in fit.values.iter().zip(&fit.std_errors).zip(truth) {
            let error = error.expect("a standard error");
            n_inside += usize::from((value - truth).abs() <= 2.0 * error);
            n += 1;
        }
        let bounds = specification.unknowns.values();
        let inside = fit.values.iter().zip(bounds);
        assert!(
            inside
                .into_iter()
                .all(|(x, u)| (u.lower..=u.upper).contains(x))
        );
    }
    let share = n_inside as f64 / n as f64;
    assert!(
        (0.85..=1.0).contains(&share),
        "{share} of the values within two standard errors"
    );
}

#[test]
fn evh1_comes_back_within_its_standard_errors() {
    // g, h, i, j near the paper's Table 3.
    comes_back(EVH1, &evh1_points(), &[2.45e-8, 1.13, 1.69e-5, 1.62e-7]);
}

#[test]
fn gyro_comes_back_within_its_standard_errors() {
    // bw, e, tl.
    comes_back(GYRO, &gyro_points(), &[8e5, 0.3, 1e-3]);
}

#[test]
fn bounds_are_respected_and_the_active_ones_reported() {
    let text = EVH1.replace("lower = 1.0,  upper = 1.5", "lower = 1.2,  upper = 1.5");
    let specification = Specification::from_toml(&text).unwrap();
    let table = made(
        &specification,
        &evh1_points(),
        &[2.45e-8, 1.0, 1.69e-5, 1.62e-7],
        0.01,
        3,
    );
    let fit = SemiEmpirical::fit(&specification, &table, Residuals::Relative).unwrap();
    assert_eq!((fit.at_bound[1], fit.values[1]), (Some(End::Lower), 1.2));
    assert_eq!(fit.std_errors[1], None);
}

#[test]
fn what_the_points_do_not_determine_is_reported() {
    let of = |formula: &str| {
        let text = format!(
            "name = \"x\"\nobservation = \"t\"\ninputs = [\"n\"]\nformula = \"{formula}\"\n[unknowns]\n\
             a = {{ lower = 0.1, upper = 9 }}\nb = {{ lower = 0.1, upper = 9 }}"
        );
        let specification = Specification::from_toml(&text).unwrap();
        let points: Vec<Vec<f64>> = (1..9).map(|n| vec![f64::from(n)]).collect();
        let table = made(&specification, &points, &[1.0, 2.0], 0.01, 1);
        SemiEmpirical::fit(&specification, &table, Residuals::Relative)
            .unwrap()
            .findings
    };
    let unknown = "b".to_owned();
    assert_eq!(of("a*n + 0*b"), [Finding::NoEffect { unknown }]);
    assert_eq!(of("a*b*n"), [Finding::Undetermined]);
    assert_eq!(of("a + b*n"), []);
}

fn refused(text: &str, rows: &str, residuals: Residuals) -> String {
    let tried = Specification::from_toml(text).and_then(|specification| {
        let table = Table::from_csv(rows.as_bytes(), &specification)?;
        SemiEmpirical::fit(&specification, &table, residuals)
    });
    let error: Error = tried.expect_err("an error");
    let source = std::error::Error::source(&error).map(|s| format!(": {s}"));
    format!("{error}{}", source.unwrap_or_default())
}

#[test]
fn bad_input_has_an_error_of_its_own() {
    let spec = |formula: &str, bounds: &str| {
        format!(
            "name = \"x\"\nobservation = \"t\"\ninputs = [\"n\"]\nformula = \"{formula}\"\n[unknowns]\na = {{ {bounds} }}"
        )
    };
    let (good, rows) = ("lower = 0, upper = 1", "n,t\n1,1\n2,2\n");
    let squared = |text: &str, rows: &str| refused(text, rows, Residuals::Squared);
    let cases = [
        (
            squared(&spec("a*(n", good), rows),
            "nothing fits at character 5",
        ),
        (
            squared(&spec("a*m", good), rows),
            "\"m\" is unknown, expected an input (n)",
        ),
        (squared(&spec("2*n", good), rows), "\"a\" is not in it"),
        (
            squared(&spec("a*n", "lower = 2, upper = 1"), rows),
            "bounds from 2 to 1, expected finite ones",
        ),
        (
            squared(&spec("a*n", good), "n,t\n"),
            "0 points to train with, expected at least 1",
        ),
        (
            squared(&spec("a*n", good), "n,t\n1,x\n"),
            "\"x\" in column \"t\" of line 2, expected a finite number",
        ),
        (
            squared(&spec("a*n", good), "n,t\n1,nan\n"),
            "\"nan\" in column \"t\" of line 2",
        ),
        (
            squared(&spec("a*n", good), "n,u\n1,1\n"),
            "no column \"t\", expected one in addition to n, u",
        ),
        (
            squared(&spec("a*n", good), "n,t,train\n1,1,2\n"),
            "\"2\" in column \"train\" of line 2, expected 1 or 0",
        ),
        (
            squared(&spec("a*ln(n-2)", good), rows),
            "no finite value at n = 1",
        ),
        (
            refused(&spec("a*n", good), "n,t\n1,1\n2,0\n", Residuals::Relative),
            "an observation of 0 in line 3, expected more than 0",
        ),
        (
            refused(&spec("a*n", good), "n,t\n1,-1\n2,1\n", Residuals::Relative),
            "an observation of -1 in line 2, expected more than 0",
        ),
    ];
    for (message, part) in cases {
        assert!(message.contains(part), "{message}\nlacks {part}");
    }
}

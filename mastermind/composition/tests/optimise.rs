//! The optimiser beside every assembly tried one by one.

use mastermind_composition::optimise::{
    Problem, ProblemError, SearchOptions, cfn, compare_assemblies, insignificant, optimise,
    pareto_front,
};
use proptest::prelude::*;

#[path = "../benches/optimiser/problems.rs"]
mod problems;

use problems::{Numbers, PairCosts, brute_force, k_tree, small};

/// All assemblies that are allowed with their costs, cheapest first.
fn all(problem: &Problem) -> Vec<(f64, Vec<usize>)> {
    let mut choices = vec![Vec::new()];
    for site in problem.sites() {
        choices = choices
            .into_iter()
            .flat_map(|c: Vec<usize>| {
                (0..site.costs.len()).map(move |v| [c.clone(), vec![v]].concat())
            })
            .collect();
    }
    let mut found: Vec<_> = choices
        .into_iter()
        .map(|choice| (problem.cost(&choice), choice))
        .filter(|(cost, _)| cost.is_finite())
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found
}

fn options(n_best: usize) -> SearchOptions {
    SearchOptions {
        n_best,
        ..SearchOptions::default()
    }
}

/// Costs of another objective for the same sites.
fn other(problem: &Problem, seed: u64) -> Problem {
    let mut numbers = Numbers(seed);
    let mut costs = Vec::new();
    for site in problem.sites() {
        costs.push(
            site.costs
                .iter()
                .map(|_| (20.0 * numbers.uniform()).floor())
                .collect(),
        );
    }
    problem.with_costs(&costs).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn the_best_few_are_those_of_brute_force(seed in any::<u64>(), k in 1_usize..6) {
        let problem = small(seed, 3000);
        let expected = all(&problem);
        let found = optimise(&problem, &options(k)).unwrap();
        prop_assert!(found.proved());
        prop_assert_eq!(found.best.len(), k.min(expected.len()));
        for (found, expected) in found.best.iter().zip(&expected) {
            prop_assert!((found.cost - expected.0).abs() < 1e-9, "{} {}", found.cost, expected.0);
            prop_assert_eq!(found.cost, problem.cost(&found.choice));
        }
        let mut choices: Vec<_> = found.best.iter().map(|f| f.choice.clone()).collect();
        choices.sort();
        choices.dedup();
        prop_assert_eq!(choices.len(), found.best.len());
    }

    #[test]
    fn weak_pairs_lose_no_optimum(seed in any::<u64>(), close in any::<bool>()) {
        let costs = if close { PairCosts::Close } else { PairCosts::Weak };
        let problem = k_tree(seed, 8, 4, 4, costs);
        let found = optimise(&problem, &options(1)).unwrap();
        prop_assert!((found.best[0].cost - brute_force(&problem).0).abs() < 1e-9);
    }

    #[test]
    fn a_search_cut_short_states_a_gap_that_holds(seed in any::<u64>()) {
        let problem = k_tree(seed, 16, 6, 7, PairCosts::Any);
        let cut = optimise(&problem, &SearchOptions { max_work: 0, ..options(1) }).unwrap();
        prop_assert!(!cut.proved() && cut.gap() > 0.0);
        let whole = optimise(&problem, &options(1)).unwrap();
        prop_assert!(whole.proved() && whole.gap() == 0.0);
        prop_assert!(cut.lower_bound <= whole.best[0].cost && whole.best[0].cost <= cut.best[0].cost);
    }

    #[test]
    fn the_front_is_that_of_brute_force(seed in any::<u64>(), n in 2_usize..4) {
        let first = small(seed, 1000);
        let mut objectives = vec![first];
        for i in 1..n {
            objectives.push(other(&objectives[0], seed ^ i as u64));
        }
        let costs = |choice: &[usize]| -> Vec<f64> {
            objectives.iter().map(|o| o.cost(choice)).collect()
        };
        let points: Vec<Vec<f64>> = all(&objectives[0]).iter().map(|(_, c)| costs(c)).collect();
        let beats = |a: &[f64], b: &[f64]| {
            a.iter().zip(b).all(|(a, b)| *a <= *b + 1e-9) && a.iter().zip(b).any(|(a, b)| *a < *b - 1e-9)
        };
        let mut expected: Vec<_> =
            points.iter().filter(|p| !points.iter().any(|q| beats(q, p))).cloned().collect();
        expected.sort_by(|a, b| a.partial_cmp(b).unwrap());
        expected.dedup_by(|a, b| a.iter().zip(b.iter()).all(|(a, b)| (a - b).abs() < 1e-9));
        let found = pareto_front(&objectives).unwrap();
        prop_assert!(found.iter().all(|p| p.costs == costs(&p.choice)));
        let mut found: Vec<_> = found.into_iter().map(|p| p.costs).collect();
        found.sort_by(|a, b| a.partial_cmp(b).unwrap());
        prop_assert_eq!(found.len(), expected.len(), "{:?} {:?}", found, expected);
        for (found, expected) in found.iter().zip(&expected) {
            prop_assert!(found.iter().zip(expected).all(|(f, e)| (f - e).abs() < 1e-9));
        }
    }

    #[test]
    fn what_is_insignificant_costs_no_more_than_its_bound(seed in any::<u64>(), tolerance in 0.0..4.0) {
        let problem = small(seed, 2000);
        let dropped = insignificant(&problem, tolerance);
        let sum: f64 = dropped.iter().map(|d| d.bound).sum();
        prop_assert!(sum <= tolerance);
        let least = all(&problem)[0].0;
        let kept = all(&problem).into_iter().find(|(_, choice)| {
            dropped.iter().all(|d| choice[d.site] == d.alternative)
        });
        prop_assert!(kept.unwrap().0 <= least + sum + 1e-9);
    }
}

#[test]
fn a_problem_without_an_allowed_assembly_is_an_error() {
    let mut problem = Problem::new();
    let a = problem.add_site("a", &["x", "y"], &[1.0, 2.0]).unwrap();
    let b = problem.add_site("b", &["x"], &[1.0]).unwrap();
    problem.add_pair(a, b, &[f64::INFINITY; 2]).unwrap();
    let error = optimise(&problem, &options(1)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot choose an assembly: none of them is allowed, expected one; take back a requirement, or add an alternative \
         that meets it"
    );
    let error = pareto_front(&[problem.clone(), problem]).unwrap_err();
    assert!(matches!(error, ProblemError::Infeasible { .. }));
}

#[test]
fn wrong_shapes_and_costs_are_errors() {
    let mut problem = Problem::new();
    let none: [&str; 0] = [];
    for (names, costs) in [(&["x", "y"][..], &[1.0][..]), (&none[..], &[][..])] {
        let error = problem.add_site("a", names, costs).unwrap_err();
        assert!(matches!(error, ProblemError::Shape { .. }), "{error}");
    }
    let error = problem.add_site("a", &["x"], &[f64::NAN]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot add costs of \"a\": NaN, expected a number or infinity"
    );
    let a = problem.add_site("a", &["x"], &[1.0]).unwrap();
    let error = problem.add_pair(a, a, &[0.0]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot add pair costs: sites 0 and 0, expected two different ones of 1"
    );
    let start = Some(vec![1]);
    let error = optimise(
        &problem,
        &SearchOptions {
            start,
            ..options(1)
        },
    )
    .unwrap_err();
    assert!(matches!(error, ProblemError::Shape { .. }));
}

/// Pairs of the same two sites, given in either order, are one.
#[test]
fn pairs_of_the_same_sites_add_up() {
    let mut problem = Problem::new();
    let a = problem.add_site("a", &["x", "y"], &[0.0, 0.0]).unwrap();
    let b = problem
        .add_site("b", &["u", "v", "w"], &[0.0, 0.0, 0.0])
        .unwrap();
    let ab = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0];
    problem.add_pair(a, b, &ab).unwrap();
    problem
        .add_pair(b, a, &[9.0, 8.0, 7.0, 6.0, 5.0, -9.0])
        .unwrap();
    let found = optimise(&problem, &options(1)).unwrap();
    assert_eq!(
        (found.best[0].choice.clone(), found.best[0].cost),
        (vec![1, 2], -4.0)
    );
}

#[test]
fn a_problem_is_written_for_other_solvers() {
    let mut problem = Problem::new();
    let a = problem
        .add_site("flux", &["hydro.God", "2nd"], &[1.5, f64::INFINITY])
        .unwrap();
    let b = problem.add_site("flux", &["x"], &[0.000_000_4]).unwrap();
    problem.add_pair(a, b, &[0.25, -1.0]).unwrap();
    let text = cfn(&problem, "a \"b\"", 6);
    assert_eq!(
        text,
        "{\"problem\":{\"name\":\"a \\\"b\\\"\",\"mustbe\":\"<7.000000\"},\n\
         \"variables\":{\"flux_0\":[\"hydro.God\",\"v2nd\"],\"flux_1\":[\"x\"]},\n\
         \"functions\":{\"cost_0\":{\"scope\":[\"flux_0\"],\"costs\":[1.500000,7.000000]},\n\
         \"cost_1\":{\"scope\":[\"flux_1\"],\"costs\":[0.000000]},\n\
         \"pair_0\":{\"scope\":[\"flux_0\",\"flux_1\"],\"costs\":[0.250000,-1.000000]}}}\n"
    );
}

/// E max(0, −D) for D of mean 1 and deviation 2, by the trapezoidal rule.
#[test]
fn regret_is_that_of_the_distribution() {
    let regret = |density: fn(f64) -> f64| -> f64 {
        let step = 1e-4;
        let at = (0..2_000_000).map(|i| f64::from(i) * step);
        at.map(|d| d * density((-d - 1.0) / 2.0) / 2.0 * step).sum()
    };
    let normal = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // Student's t of five degrees of freedom.
    let student = |z: f64| 0.379_606_689_822_494 * (1.0 + z * z / 5.0).powi(-3);
    for (freedom, density) in [(f64::INFINITY, normal as fn(f64) -> f64), (5.0, student)] {
        let found = compare_assemblies(1.0, 2.0, freedom);
        let expected = regret(density);
        let off = (found.regret - expected).abs();
        assert!(off < 1e-5, "{} {expected}", found.regret);
    }
    let found = compare_assemblies(1.0, 2.0, f64::INFINITY);
    assert!((found.reversed - 0.308_537_5).abs() < 1e-6);
    assert!(!found.is_told(0.95));
    assert!(compare_assemblies(5.0, 2.0, f64::INFINITY).is_told(0.95));
    assert!(!compare_assemblies(5.0, 2.0, 5.0).is_told(0.95));
    let unknown = compare_assemblies(5.0, f64::INFINITY, f64::INFINITY);
    assert!(!unknown.is_told(0.95) && unknown.regret == f64::INFINITY);
}

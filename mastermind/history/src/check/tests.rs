//! Checks of simulated programs: which components are reported as slower, and which are not.
//!
//! Of a measured program nobody knows which changes are real, so errors of a check can only be
//! counted on runs that were made. `Simulated` makes them: five components, which take 400 to 5 ns
//! a unit of size, each of which suffers from a busy machine in its own way.
//!
//! ```text
//! ns of a call = ns · size · factor(component, size) · exp(machine · loading + 0.8 % of the run + 0.4 % of the cell)
//!
//! alarms   none in 60 equal runs, with each of 20 seeds
//! finds    5 % slower in the last five of 35 runs, with 38 of 40 seeds
//! ```
//!
//! Findings are counted over many seeds, since a single random series may hide a change.

use super::generator::Generator;
use super::*;
use crate::Cell;

/// A program of five components, the last of which takes 0.5 % of the time.
struct Simulated {
    random: Generator,
    runs: Vec<RunSums>,
}

const NAMES: [(&str, f64); 5] = [
    ("flux.compute", 400.0),
    ("states.compute", 300.0),
    ("rk2.advance", 200.0),
    ("mesh.ghosts", 95.0),
    ("log.write", 5.0),
];

const LOADINGS: [f64; 5] = [0.2, 1.0, 1.5, 0.8, 2.5];

impl Simulated {
    fn new(seed: u64) -> Self {
        Self {
            random: Generator::new(seed),
            runs: Vec::new(),
        }
    }

    /// Adds a run.
    ///
    /// # Arguments
    /// * `machine` - how much slower everything is
    /// * `factor` - how much slower a component is at a size
    /// * `sizes` - of the calls, and how many of each
    fn add(&mut self, machine: f64, factor: impl Fn(&str, f64) -> f64, sizes: &[(f64, u64)]) {
        let mut cells = Vec::new();
        for (place, (name, ns)) in NAMES.into_iter().enumerate() {
            // Not all suffer alike, nor in each run.
            let suffers = LOADINGS[place] * (1.0 + 0.2 * self.random.normal());
            let own = machine * suffers + 0.008 * self.random.normal();
            for (size, calls) in sizes {
                let noise = own + 0.004 * self.random.normal();
                let ns = ns * size * factor(name, *size) * noise.exp();
                cells.push(Cell {
                    method: name.into(),
                    parameters: format!("{{\"n\":{size}}}"),
                    bits: -1,
                    calls: *calls,
                    total_ns: ns * *calls as f64,
                    quantiles_ns: [ns; 5],
                    segments_ns: [f64::NAN; 3],
                    ..Cell::default()
                });
            }
        }
        let mut run = RunSums {
            cells,
            ..RunSums::default()
        };
        run.circumstances.started_unix_ns = self.runs.len() as u64;
        run.circumstances.commit = Some(format!("c{}", self.runs.len()));
        self.runs.push(run);
    }

    fn equal(&mut self, n: usize) {
        (0..n).for_each(|_| self.add(0.0, |_, _| 1.0, SIZES));
    }

    fn check(&self) -> ProgramReport {
        let ids: Vec<String> = (0..self.runs.len()).map(|n| n.to_string()).collect();
        let runs: Vec<_> = ids.iter().map(String::as_str).zip(&self.runs).collect();
        check(&runs, &Options::default())
    }

    /// Names of the changed components.
    fn changed(&self) -> Vec<(String, Verdict)> {
        let components = self.check().components.into_iter();
        let changed = components.filter(|of| of.verdict != Verdict::Same);
        changed.map(|of| (of.name, of.verdict)).collect()
    }
}

const SIZES: &[(f64, u64)] = &[(10.0, 100), (100.0, 50), (1000.0, 20), (10_000.0, 5)];

#[test]
fn equal_runs_make_no_alarm() {
    for seed in 0..20 {
        let mut runs = Simulated::new(seed);
        runs.equal(60);
        assert_eq!(runs.changed(), [], "{seed}");
    }
}

#[test]
fn a_component_that_is_five_percent_slower_is_found_within_five_runs() {
    for component in ["flux.compute", "log.write"] {
        let mut n_found = 0;
        for seed in 0..40 {
            let mut runs = Simulated::new(100 + seed);
            runs.equal(30);
            let slower = |name: &str, _| if name == component { 1.05 } else { 1.0 };
            (0..5).for_each(|_| runs.add(0.0, slower, SIZES));
            n_found += usize::from(runs.changed() == [(component.into(), Verdict::Slower)]);
        }
        assert!(n_found >= 38, "{component}: {n_found}");
    }
}

#[test]
fn a_component_that_is_slower_only_for_large_sizes_is_found() {
    let mut n_found = 0;
    for seed in 0..40 {
        let mut runs = Simulated::new(200 + seed);
        runs.equal(30);
        let slower = |name: &str, n: f64| {
            if name == "rk2.advance" && n > 5000.0 {
                1.05
            } else {
                1.0
            }
        };
        (0..5).for_each(|_| runs.add(0.0, slower, SIZES));
        let report = runs.check();
        let found = &report.components[0];
        let is_right = found.name == "rk2.advance" && found.verdict == Verdict::Slower;
        n_found += usize::from(is_right && found.calls_of_ns.is_some_and(|(_, high)| high > 1e6));
    }
    assert!(n_found >= 38, "{n_found}");
}

#[test]
fn more_work_is_no_slower_component() {
    let mut runs = Simulated::new(3);
    runs.equal(30);
    let more: Vec<_> = SIZES.iter().map(|(n, calls)| (*n, 2 * calls)).collect();
    (0..8).for_each(|_| runs.add(0.0, |_, _| 1.0, &more));
    let larger = [(1000.0, 20), (10_000.0, 5), (100_000.0, 3)];
    (0..8).for_each(|_| runs.add(0.0, |_, _| 1.0, &larger));
    let report = runs.check();
    assert!(
        report
            .components
            .iter()
            .all(|of| of.verdict == Verdict::Same)
    );
    // The interval leaves out no change that would not have been seen.
    for of in &report.components {
        assert_eq!(of.upper_percent, of.resolution_percent, "{}", of.name);
    }
    let time = report.components[0].time_percent;
    assert!(time.is_some_and(|percent| percent > 100.0), "{time:?}");
}

#[test]
fn an_outlier_and_a_busy_afternoon_make_no_alarm() {
    for seed in 0..20 {
        let mut runs = Simulated::new(300 + seed);
        runs.equal(30);
        runs.add(
            0.0,
            |name, _| if name == "mesh.ghosts" { 1.5 } else { 1.0 },
            SIZES,
        );
        assert_eq!(runs.changed(), [], "outlier {seed}");
        runs.equal(10);
        for _ in 0..15 {
            runs.add(0.4, |_, _| 1.0, SIZES);
            assert_eq!(runs.changed(), [], "busy {seed}");
        }
        let slower = runs.check().machine_percent;
        assert!(
            slower.is_some_and(|percent| (25.0..65.0).contains(&percent)),
            "{slower:?}"
        );
        runs.equal(10);
        assert_eq!(runs.changed(), [], "after {seed}");
    }
}

#[test]
fn three_runs_say_nothing() {
    let mut runs = Simulated::new(4);
    runs.equal(3);
    let report = runs.check();
    assert!(
        report
            .components
            .iter()
            .all(|of| of.verdict == Verdict::Unknown)
    );
    let reason = report.components[0].reason.as_deref();
    assert_eq!(reason, Some("3 runs, expected at least 8"));
    assert_eq!(report.machine_percent, None);
}

#[test]
fn a_change_together_with_a_setting_is_no_alarm() {
    let mut runs = Simulated::new(5);
    runs.equal(30);
    (0..6).for_each(|_| {
        runs.add(
            0.0,
            |name, _| if name == "flux.compute" { 1.2 } else { 1.0 },
            SIZES,
        )
    });
    for (place, run) in runs.runs.iter_mut().enumerate() {
        let ranks = if place < 30 { "2" } else { "4" };
        run.circumstances
            .settings
            .insert("ranks".into(), ranks.into());
        // Another in each run: no cause.
        run.circumstances
            .settings
            .insert("seed".into(), place.to_string());
    }
    let report = runs.check();
    let flux = report
        .components
        .iter()
        .find(|of| of.name == "flux.compute");
    let flux = flux.expect("a component");
    assert_eq!(flux.verdict, Verdict::WithSettings);
    assert_eq!(flux.with, ["ranks"]);
}

#[test]
fn a_reference_is_the_level_before() {
    let mut runs = Simulated::new(6);
    runs.equal(20);
    let slower = |name: &str, _: f64| if name == "flux.compute" { 1.1 } else { 1.0 };
    (0..20).for_each(|_| runs.add(0.0, slower, SIZES));
    assert_eq!(runs.changed(), [("flux.compute".into(), Verdict::Slower)]);
    let ids: Vec<String> = (0..runs.runs.len()).map(|n| n.to_string()).collect();
    let all: Vec<_> = ids.iter().map(String::as_str).zip(&runs.runs).collect();
    let report = check(&all, &Options { since: Some(30) });
    assert!(
        report
            .components
            .iter()
            .all(|of| of.verdict == Verdict::Same)
    );
    assert_eq!(report.since.as_deref(), Some("30"));
}

#[test]
fn a_slower_component_is_found_after_a_setting_changed() {
    let mut runs = Simulated::new(7);
    runs.equal(20);
    let with =
        |factor: f64| move |name: &str, _: f64| if name == "flux.compute" { factor } else { 1.0 };
    (0..20).for_each(|_| runs.add(0.0, with(0.8), SIZES));
    (0..6).for_each(|_| runs.add(0.0, with(0.88), SIZES));
    for (place, run) in runs.runs.iter_mut().enumerate() {
        let ranks = if place < 20 { "2" } else { "4" };
        run.circumstances
            .settings
            .insert("ranks".into(), ranks.into());
    }
    assert_eq!(runs.changed(), [("flux.compute".into(), Verdict::Slower)]);
    let percent = runs.check().components[0].percent;
    assert!(
        percent.is_some_and(|percent| (7.0..13.0).contains(&percent)),
        "{percent:?}"
    );
}

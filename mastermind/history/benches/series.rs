//! How often `history check` calls equal runs slower, and how soon it finds a component that is: over series of real runs that
//! `benches/history/record.py` made, with changes put into the sums of the runs.
//!
//! ```text
//! series FOLDER [FOLDER/others.json]
//! ```
//!
//! FOLDER has a store a program. The same series, as totals by component as other tools see them, go into the second argument.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use mastermind_history::{Options, ProgramReport, RunSums, Store, Verdict, check};
use must_reach::{Figures, judge};
use serde_json::{Value, json};

/// Fewest runs before the first check that counts, and before a change.
const FIRST: usize = 10;
const BEFORE: usize = 50;

/// Distance between two places where a change is tried, runs.
const APART: usize = 7;

/// Number of runs after a change within which it must be found.
const WITHIN: usize = 5;

/// Runs of a busy afternoon.
const AFTERNOON: usize = 15;

/// Share of the program from which a component counts.
const SHARE: f64 = 0.005;

/// A program's runs.
struct Series {
    program: String,
    ids: Vec<String>,
    runs: Vec<RunSums>,
}

impl Series {
    fn check(&self, runs: &[RunSums]) -> ProgramReport {
        let runs: Vec<_> = self.ids.iter().map(String::as_str).zip(runs).collect();
        check(&runs, &Options::default())
    }

    /// Runs up to `end`, those from `at` on changed.
    fn changed(&self, at: usize, end: usize, change: impl Fn(usize, &mut RunSums)) -> Vec<RunSums> {
        let mut runs = self.runs[..end.min(self.runs.len())].to_vec();
        for (place, run) in runs.iter_mut().enumerate().skip(at) {
            change(place, run);
        }
        runs
    }

    fn places(&self) -> impl Iterator<Item = usize> {
        (BEFORE..self.runs.len().saturating_sub(WITHIN)).step_by(APART)
    }

    /// Alarms in an afternoon with the runs that got least of the processor, first after those that got most, then
    /// before them.
    fn busy_afternoon(&self) -> usize {
        let mut runs = self.runs.clone();
        let share = |run: &RunSums| run.circumstances.processor_share.unwrap_or(1.0);
        runs.sort_by(|a, b| share(b).total_cmp(&share(a)));
        let afternoon = runs.split_off(runs.len() - AFTERNOON);
        let after = runs.split_off(2 * runs.len() / 3);
        let n_before = runs.len();
        runs.extend(afternoon);
        runs.extend(after);
        let ends = (n_before + 1)..=(n_before + 2 * AFTERNOON).min(runs.len());
        let alarms = ends.flat_map(|end| self.called(&self.check(&runs[..end])));
        let is_of_it = |(_, at): &(String, usize)| *at + WITHIN >= n_before;
        let names = alarms.filter(is_of_it).map(|(name, _)| name);
        names.collect::<BTreeSet<_>>().len()
    }

    /// Alarms of all prefixes, each once: component and first run of the change.
    fn alarms(&self) -> BTreeMap<String, Vec<usize>> {
        let mut alarms = BTreeMap::<String, Vec<usize>>::new();
        for end in FIRST..=self.runs.len() {
            for (name, at) in self.called(&self.check(&self.runs[..end])) {
                let known = alarms.entry(name).or_default();
                if known.iter().all(|known| known.abs_diff(at) > WITHIN) {
                    known.push(at);
                }
            }
        }
        alarms
    }

    /// Components that are called slower or faster, and since which run.
    fn called(&self, report: &ProgramReport) -> Vec<(String, usize)> {
        let changed = report
            .components
            .iter()
            .filter(|of| matches!(of.verdict, Verdict::Slower | Verdict::Faster));
        let at = |run: &String| self.ids.iter().position(|id| id == run);
        let since = changed.map(|of| {
            let last = of.changes.last().and_then(|change| at(&change.run));
            (of.name.clone(), last.unwrap_or(0))
        });
        since.collect()
    }
}

/// Multiplies the times of a method's calls.
fn slow_down(run: &mut RunSums, method: Option<&str>, factor: f64, from_ns: f64) {
    for cell in &mut run.cells {
        let is_of = method.is_none_or(|method| cell.method == method);
        if is_of && (from_ns <= 0.0 || cell.quantiles_ns[2] >= from_ns) {
            cell.total_ns *= factor;
            cell.mean_log += factor.ln();
            cell.quantiles_ns = cell.quantiles_ns.map(|ns| ns * factor);
            cell.segments_ns = cell.segments_ns.map(|ns| ns * factor);
        }
    }
}

/// Half of the cells of a method are this long or longer.
fn upper_half_ns(run: &RunSums, method: &str) -> Option<f64> {
    let cells = run.cells.iter().filter(|cell| cell.method == method);
    let mut medians: Vec<f64> = cells.map(|cell| cell.quantiles_ns[2]).collect();
    medians.retain(|ns| ns.is_finite());
    medians.sort_by(f64::total_cmp);
    (medians.len() >= 4).then(|| medians[medians.len() / 2])
}

fn stores(folder: &Path) -> Vec<Series> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    folders.sort();
    let mut all = Vec::new();
    for folder in folders.iter().filter(|path| path.is_dir()) {
        let Ok((runs, _)) = Store::new(folder).read(|_| true) else {
            continue;
        };
        if runs.len() > BEFORE {
            let name = folder.file_name().unwrap_or_default();
            let (ids, runs) = runs.into_iter().map(|run| (run.id, run.sums)).unzip();
            all.push(Series {
                program: name.to_string_lossy().into_owned(),
                ids,
                runs,
            });
        }
    }
    all
}

/// Number of changes found, and of changes to find.
#[derive(Default)]
struct DetectionCount {
    n: usize,
    of: usize,
}

impl DetectionCount {
    fn add(&mut self, is_found: bool) {
        self.n += usize::from(is_found);
        self.of += 1;
    }

    fn percent(&self) -> f64 {
        100.0 * self.n as f64 / self.of.max(1) as f64
    }
}

/// Findings about a component, over all places.
#[derive(Default)]
struct OfComponent {
    share: f64,
    resolutions: Vec<f64>,
    every: DetectionCount,
    visible: DetectionCount,
    large: DetectionCount,
    /// Sum over the places of the probability with which any test could find the change.
    possible: f64,
}

impl OfComponent {
    fn line(&mut self, name: &str) -> String {
        self.resolutions.sort_by(f64::total_cmp);
        format!(
            "  {name}: {:.1} % of the program, seen from {:.1} %; found {} of {}, possible {:.1}, where said to be seen {} of {}, only the longer calls {} of {}",
            100.0 * self.share,
            self.resolutions[self.resolutions.len() / 2],
            self.every.n,
            self.every.of,
            self.possible,
            self.visible.n,
            self.visible.of,
            self.large.n,
            self.large.of,
        )
    }
}

/// Probability with which the most powerful test of normal noise finds a change of 5 % at a known place, from the runs
/// before and [`WITHIN`] after, at one alarm in 100 runs over all components.
///
/// # Source
/// Neyman, Pearson, *On the problem of the most efficient tests of statistical hypotheses*, Phil. Trans. A 231 (1933): the difference of the means.
fn possible(noise_percent: Option<f64>, n_components: usize, n_before: usize) -> f64 {
    let Some(noise) = noise_percent.map(|percent| (percent / 100.0).ln_1p()) else {
        return 0.0;
    };
    let error = noise * (1.0 / WITHIN as f64 + 1.0 / n_before as f64).sqrt();
    let alarms = 0.01 / n_components.max(1) as f64;
    let (mut low, mut high) = (0.0, 10.0);
    while high - low > 1e-6 {
        let middle = 0.5 * (low + high);
        match beyond(middle) > alarms {
            true => low = middle,
            false => high = middle,
        }
    }
    beyond(low - 1.05_f64.ln() / error)
}

/// Probability that a standard normal number is larger.
///
/// # Source
/// Abramowitz, Stegun, *Handbook of Mathematical Functions*, 26.2.17: off by less than 7.5e-8.
fn beyond(x: f64) -> f64 {
    if x < 0.0 {
        return 1.0 - beyond(-x);
    }
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let powers = [
        0.319_381_530,
        -0.356_563_782,
        1.781_477_937,
        -1.821_255_978,
        1.330_274_429,
    ];
    let sum = powers.iter().rev().fold(0.0, |sum, b| (sum + b) * t);
    sum * (-0.5 * x * x).exp() / std::f64::consts::TAU.sqrt()
}

/// Whether a method is a function of MPI, whose time is mostly waiting for others, or the process outside MPI.
fn is_mpi(name: &str) -> bool {
    name.ends_with("()")
}

fn measure(all: &[Series], figures: &mut Figures) {
    let (mut n_alarms, mut n_runs) = (0, 0);
    let (mut every, mut functions, mut visible, mut large) = <(
        DetectionCount,
        DetectionCount,
        DetectionCount,
        DetectionCount,
    )>::default();
    let mut quiet = BTreeMap::<&str, usize>::new();
    let mut all_possible = 0.0;
    for series in all {
        let alarms = series.alarms();
        let n: usize = alarms.values().map(Vec::len).sum();
        println!(
            "{}: {} runs, {n} alarms over equal runs {alarms:?}",
            series.program,
            series.runs.len()
        );
        n_alarms += n;
        n_runs += series.runs.len() - FIRST;
        let mut of_components = BTreeMap::<String, OfComponent>::new();
        for at in series.places() {
            let before = series.check(&series.runs[..at]);
            let names: Vec<_> = before
                .components
                .iter()
                .filter(|of| of.share >= SHARE)
                .collect();
            for component in names {
                let name = &*component.name;
                let is_found = |from_ns: f64| {
                    let runs = series.changed(at, at + WITHIN, |_, run| {
                        slow_down(run, Some(name), 1.05, from_ns)
                    });
                    let report = series.check(&runs);
                    let mut components = report.components.iter();
                    components.any(|of| of.name == name && of.verdict == Verdict::Slower)
                };
                let is_here = is_found(0.0);
                let of_component = of_components.entry(name.to_owned()).or_default();
                of_component.share = component.share;
                of_component.every.add(is_here);
                match is_mpi(name) {
                    true => functions.add(is_here),
                    false => every.add(is_here),
                }
                let n_components = before.components.iter().filter(|of| of.runs > BEFORE / 2);
                let possible = possible(component.noise_percent, n_components.count(), at);
                of_component.possible += possible;
                if !is_mpi(name) {
                    all_possible += possible;
                }
                let resolution = component.resolution_percent.unwrap_or(100.0);
                of_component.resolutions.push(resolution);
                if resolution <= 5.0 {
                    of_component.visible.add(is_here);
                    visible.add(is_here);
                    let longer = upper_half_ns(&series.runs[at], name);
                    if let Some(from_ns) = longer.filter(|_| !is_mpi(name)) {
                        let is_here = is_found(from_ns);
                        of_component.large.add(is_here);
                        large.add(is_here);
                    }
                }
            }
            // Alarms that are no change of a component: those that the same runs do not have
            // without it.
            let base: Vec<String> = alarms.keys().cloned().collect();
            let mut count = |what: &'static str, runs: Vec<RunSums>| {
                let called = series.called(&series.check(&runs));
                let new = called
                    .iter()
                    .filter(|(name, _)| !base.contains(name))
                    .count();
                *quiet.entry(what).or_default() += new;
            };
            let end = at + 12;
            let twice = |_, run: &mut RunSums| {
                run.cells.iter_mut().for_each(|cell| {
                    cell.calls *= 2;
                    cell.total_ns *= 2.0;
                })
            };
            count("workload doubled", series.changed(at, end, twice));
            let ranks = |_, run: &mut RunSums| {
                run.circumstances
                    .settings
                    .insert("ranks".into(), "64".into());
                for (place, cell) in run.cells.iter_mut().enumerate() {
                    let factor = 1.1 + 0.1 * (place % 4) as f64;
                    cell.quantiles_ns = cell.quantiles_ns.map(|ns| ns * factor);
                    cell.segments_ns = cell.segments_ns.map(|ns| ns * factor);
                    cell.total_ns *= factor;
                }
            };
            count(
                "other ranks, each component slower by another factor",
                series.changed(at, end, ranks),
            );
            let largest = before
                .components
                .iter()
                .max_by(|a, b| a.share.total_cmp(&b.share));
            let largest = largest.map(|of| of.name.clone());
            let outlier = |place, run: &mut RunSums| {
                if place == at {
                    slow_down(run, largest.as_deref(), 1.5, 0.0)
                }
            };
            count(
                "one run with one component 1.5 times as long",
                series.changed(at, end, outlier),
            );
            // A slower processor affects all calls, and no component shows it if there is only one.
            let slow_processor = |place, run: &mut RunSums| {
                for cell in run.cells.iter_mut().filter(|_| place < at + 10) {
                    let own = cell.method.bytes().map(f64::from).sum::<f64>() % 7.0;
                    let slower = 1.15 + 0.03 * own;
                    cell.quantiles_ns = cell.quantiles_ns.map(|ns| ns * slower);
                    cell.segments_ns = cell.segments_ns.map(|ns| ns * slower);
                    cell.total_ns *= slower;
                }
            };
            for end in [at + 5, at + 10, at + 15] {
                if before.machine_percent.is_some() {
                    let what = "a processor that is slower for an afternoon, in programs of 3 components and more";
                    count(what, series.changed(at, end, slow_processor));
                }
            }
        }
        *quiet.entry("a busy afternoon").or_default() += series.busy_afternoon();
        println!("{}: 5 % slower within {WITHIN} runs:", series.program);
        for (name, mut of_component) in of_components {
            println!("{}", of_component.line(&name));
        }
    }
    let per_hundred = 100.0 * n_alarms as f64 / n_runs.max(1) as f64;
    figures.fact("alarms in 100 equal runs", per_hundred, ..=1.0, "");
    figures.fact(
        "5 % slower, where such a change is said to be seen, within 5 runs",
        visible.percent(),
        95.0..,
        "%",
    );
    figures.fact(
        "5 % slower for long calls alone, where a change of all is said to be seen, within 5 runs",
        large.percent(),
        95.0..,
        "%",
    );
    println!(
        "5 % slower: {} components and places, {} of them where such a change is said to be seen",
        every.of, visible.of
    );
    println!(
        "a Neyman-Pearson test that knows when it changed would find {:.1} % at this noise",
        100.0 * all_possible / every.of.max(1) as f64
    );
    println!(
        "functions of MPI, which mostly wait for others: {} of {}",
        functions.n, functions.of
    );
    figures.fact(
        "5 % slower, all components from 0.5 % of the program on, within 5 runs",
        every.percent(),
        95.0..,
        "%",
    );
    for (what, n) in quiet {
        figures.fact(&format!("new alarms: {what}"), n as f64, ..=0.0, "");
    }
}

/// Whether the solver that was compiled without optimisation is called slower, and nothing else: 1 or 0.
fn slower_library(folder: &Path) -> Option<f64> {
    let (runs, _) = Store::new(&folder.join("slower")).read(|_| true).ok()?;
    let runs: Vec<_> = runs.iter().map(|run| (&*run.id, &run.sums)).collect();
    let report = check(&runs, &Options::default());
    let slower = report
        .components
        .iter()
        .filter(|of| of.verdict == Verdict::Slower);
    let slower: Vec<_> = slower.map(|of| (&*of.name, of.percent)).collect();
    println!("a slower build of the solver: {slower:?}");
    let is_it = matches!(slower[..], [("solver.solve", _)]);
    Some(if is_it { 1.0 } else { 0.0 })
}

/// Components that are called slower or faster when a program takes twice the steps.
fn doubled_workload(folder: &Path) -> Option<f64> {
    let (runs, _) = Store::new(&folder.join("doubled")).read(|_| true).ok()?;
    let runs: Vec<_> = runs.iter().map(|run| (&*run.id, &run.sums)).collect();
    let report = check(&runs, &Options::default());
    let changed = report
        .components
        .iter()
        .filter(|of| matches!(of.verdict, Verdict::Slower | Verdict::Faster));
    let changed: Vec<_> = changed.map(|of| (&*of.name, of.percent)).collect();
    println!("twice the steps: {changed:?}");
    (!runs.is_empty()).then_some(changed.len() as f64)
}

/// 1,000 runs from the longest series, in a store, with the calls of 10⁸.
fn time_of_a_thousand(all: &[Series], folder: &Path) -> Option<f64> {
    let series = all.iter().max_by_key(|series| series.runs[0].cells.len())?;
    let store = Store::new(&folder.join("thousand"));
    for n in 0..1000_u64 {
        let mut run = series.runs[n as usize % series.runs.len()].clone();
        run.circumstances.started_unix_ns += n * 1_000_000_000_000;
        store.add(&run).ok()?;
    }
    let start = Instant::now();
    let (runs, _) = store.read(|_| true).ok()?;
    println!("read in {:.2} s", start.elapsed().as_secs_f64());
    let runs: Vec<_> = runs.iter().map(|run| (&*run.id, &run.sums)).collect();
    let report = check(&runs, &Options::default());
    println!(
        "{} runs of {} cells: {} components",
        runs.len(),
        series.runs[0].cells.len(),
        report.components.len()
    );
    Some(start.elapsed().as_secs_f64())
}

/// The series as other tools see them: totals by component, in runs of equal work.
fn others(all: &[Series]) -> Value {
    let mut series = Vec::new();
    for of in all {
        let report = of.check(&of.runs);
        for component in report.components.iter().filter(|of| of.share >= SHARE) {
            let total = |run: &RunSums| -> f64 {
                let cells = run
                    .cells
                    .iter()
                    .filter(|cell| cell.method == component.name);
                cells.map(|cell| cell.total_ns).sum()
            };
            let values: Vec<f64> = of.runs.iter().map(total).collect();
            let places: Vec<usize> = of.places().collect();
            series.push(json!({ "program": of.program, "component": component.name, "values": values, "places": places }));
        }
    }
    json!(series)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| word != "--bench")
        .collect();
    let Some(folder) = words.first().map(PathBuf::from) else {
        eprintln!("usage: series FOLDER [OTHERS.json]");
        return ExitCode::from(2);
    };
    let all = stores(&folder);
    if let Some(path) = words.get(1)
        && let Err(error) = std::fs::write(path, others(&all).to_string())
    {
        eprintln!("cannot write \"{path}\": {error}");
        return ExitCode::FAILURE;
    }
    let scratch = tempfile::tempdir();
    judge(|figures| {
        measure(&all, figures);
        match slower_library(&folder) {
            Some(found) => figures.fact("a slower build of a library is found", found, 1.0.., ""),
            None => figures.unknown("a slower build of a library is found", "not recorded"),
        }
        match doubled_workload(&folder) {
            Some(n) => figures.fact("alarms when twice the steps are run", n, ..=0.0, ""),
            None => figures.unknown("alarms when twice the steps are run", "not recorded"),
        }
        if let Ok(scratch) = &scratch
            && let Some(seconds) = time_of_a_thousand(&all, scratch.path())
        {
            figures.time("check of 1,000 runs", seconds, ..=1.0, "s");
        }
    })
}

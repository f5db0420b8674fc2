//! How long does the optimal assembly take, and is it the optimum? Problems of 30 sites with 10 alternatives each (10³⁰
//! assemblies) whose pairs form k-trees of a given width, the best few, the Pareto front, 1000 small problems beside every
//! assembly tried one by one, and 200 problems beside toulbar2, where that is installed. Processor seconds, one thread.
//!
//! Without `--bench` (as `cargo test` calls it) problems are small and toulbar2 is left out.

use std::hint::black_box;
use std::path::Path;
use std::process::{Command, ExitCode};

use mastermind_composition::optimise::{
    Optimum, Problem, SearchOptions, cfn, optimise, pareto_front,
};
use must_reach::Figures;

#[path = "optimiser/problems.rs"]
mod problems;

use problems::{Numbers, PairCosts, brute_force, k_tree, small};

fn main() -> ExitCode {
    let full = std::env::args().any(|argument| argument == "--bench");
    must_reach::judge(|figures| {
        widths(full, figures);
        several(full, figures);
        equal_to_brute_force(if full { 1000 } else { 30 }, figures);
        evaluation(figures);
        if full {
            beside_toulbar2(200, figures);
        }
    })
}

/// Processor time of this process, seconds.
fn processor_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}

fn timed<T>(f: impl FnOnce() -> T) -> (T, f64) {
    let start = processor_s();
    let value = f();
    (value, processor_s() - start)
}

fn best(problem: &Problem, n_best: usize) -> Optimum {
    let options = SearchOptions {
        n_best,
        ..SearchOptions::default()
    };
    optimise(problem, &options).expect("an assembly is allowed")
}

/// Exact optimum by treewidth.
fn widths(full: bool, figures: &mut Figures) {
    let (sites, alternatives) = if full { (30, 10) } else { (14, 4) };
    for (width, n_problems, limit_s) in [(2, 10, 0.1), (4, 10, 0.1), (6, 5, 2.0)] {
        let mut worst: f64 = 0.0;
        let mut proved = true;
        for seed in 0..n_problems {
            let problem = k_tree(seed, sites, alternatives, width, PairCosts::Any);
            let (found, seconds) = timed(|| best(&problem, 1));
            proved &= found.proved();
            worst = worst.max(seconds);
        }
        println!(
            "width {width}, pair costs as large as sites': slowest of {n_problems} {worst:.3} s, all proved: {proved}"
        );
        let limit_s = if proved { limit_s } else { f64::NEG_INFINITY };
        let what =
            format!("proved optimum of 10^30 assemblies, width {width}, slowest of {n_problems}");
        figures.time(&what, worst, ..=limit_s, " s");
    }
    for (costs, what) in [
        (PairCosts::Weak, "those of sites from 0 to 1"),
        (PairCosts::Close, "those of sites from 1 to 2"),
    ] {
        let mut worst: f64 = 0.0;
        let mut proved = true;
        for seed in 0..5 {
            let problem = k_tree(seed, sites, alternatives, 8, costs);
            let (found, seconds) = timed(|| best(&problem, 1));
            let gap = 100.0 * found.gap();
            println!(
                "width 8, {what}: {seconds:.3} s, {} values, gap {gap:.2} %",
                found.work
            );
            proved &= found.proved();
            worst = worst.max(seconds);
        }
        let limit_s = if proved { 10.0 } else { f64::NEG_INFINITY };
        let what = format!(
            "proved optimum, width 8, pair costs at most 30 % of the cheaper site, {what}, slowest of 5"
        );
        figures.time(&what, worst, ..=limit_s, " s");
    }
    let problem = k_tree(1, sites, alternatives, 8, PairCosts::Any);
    let (found, seconds) = timed(|| best(&problem, 1));
    println!(
        "width 8, pair costs as large as sites': {seconds:.2} s, proved: {}, gap {:.2} %",
        found.proved(),
        100.0 * found.gap()
    );
}

/// The best few, and the Pareto front.
fn several(full: bool, figures: &mut Figures) {
    let (sites, alternatives) = if full { (30, 10) } else { (14, 4) };
    let mut worst: f64 = 0.0;
    for seed in 0..3 {
        let problem = k_tree(seed, sites, alternatives, 6, PairCosts::Any);
        let (found, seconds) = timed(|| best(&problem, 10));
        assert!(found.proved() && found.best.len() == 10);
        worst = worst.max(seconds);
    }
    figures.time("10 best, width 6, slowest of 3", worst, ..=1.0, " s");
    for (integers, what) in [(true, "whole numbers to 100"), (false, "any numbers")] {
        let mut worst: f64 = 0.0;
        for seed in 0..3 {
            let time = k_tree(seed, sites, alternatives, 4, PairCosts::Any);
            let mut numbers = Numbers(seed + 100);
            let costs: Vec<Vec<f64>> = (0..sites)
                .map(|_| {
                    let cost = |numbers: &mut Numbers| match integers {
                        true => (100.0 * numbers.uniform()).floor(),
                        false => numbers.uniform(),
                    };
                    (0..alternatives).map(|_| cost(&mut numbers)).collect()
                })
                .collect();
            let memory = time.with_costs(&costs).expect("costs of the same shape");
            let (front, seconds) = timed(|| pareto_front(&[time, memory]).expect("a front"));
            println!(
                "Pareto front of time and memory ({what}), width 4: {} points, {seconds:.3} s",
                front.len()
            );
            worst = worst.max(seconds);
        }
        let what = format!("exact Pareto front, width 4, second objective {what}, slowest of 3");
        figures.time(&what, worst, ..=2.0, " s");
    }
}

/// Small problems beside every assembly tried one by one: the best three and the front.
fn equal_to_brute_force(n_problems: u64, figures: &mut Figures) {
    let mut equal = 0;
    let mut largest = 0.0_f64;
    for seed in 0..n_problems {
        let problem = small(seed, 1_000_000);
        let (least, assemblies) = brute_force(&problem);
        largest = largest.max(assemblies);
        let found = best(&problem, 1);
        let cost = found.best[0].cost;
        let same = (cost - least).abs() <= 1e-12 * least.abs().max(1.0);
        equal += u32::from(same && found.proved());
    }
    println!("largest of {n_problems} problems tried one by one: {largest} assemblies");
    let share = 100.0 * f64::from(equal) / n_problems as f64;
    figures.fact(
        "small problems whose optimum every assembly tried one by one has",
        share,
        100.0..,
        " %",
    );
}

/// One assembly's cost.
fn evaluation(figures: &mut Figures) {
    const N: usize = 100_000;
    let problem = k_tree(1, 100, 10, 4, PairCosts::Any);
    let mut choice = vec![0; 100];
    let (_, seconds) = timed(|| {
        for i in 0..N {
            choice[i % 100] = i % 10;
            black_box(problem.cost(black_box(&choice)));
        }
    });
    figures.time(
        "one assembly of 100 vertices and 390 pairs",
        1e6 * seconds / N as f64,
        ..=10.0,
        " us",
    );
}

/// Figures that need toulbar2.
const AS_TOULBAR2: &str = "exported problems with the same optimum as toulbar2";
const TIMES_TOULBAR2: &str = "processor seconds of these, times toulbar2's";

/// The same problems through toulbar2.
fn beside_toulbar2(n_problems: u64, figures: &mut Figures) {
    if Command::new("toulbar2").arg("--help").output().is_err() {
        for what in [AS_TOULBAR2, TIMES_TOULBAR2] {
            figures.unknown(what, "toulbar2 is not installed");
        }
        return;
    }
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let file = folder.path().join("problem.cfn");
    let (mut ours_s, mut theirs_s, mut equal) = (0.0, 0.0, 0);
    for seed in 0..n_problems {
        let width = 2 + (seed % 4) as usize;
        let costs = if seed % 8 < 4 {
            PairCosts::Any
        } else {
            PairCosts::Weak
        };
        let problem = k_tree(1000 + seed, 30, 10, width, costs);
        let (found, seconds) = timed(|| best(&problem, 1));
        ours_s += seconds;
        std::fs::write(&file, cfn(&problem, "bench", 6)).expect("the problem can be written");
        let (theirs, seconds) = toulbar2(&file);
        theirs_s += seconds;
        // Each of its costs is rounded to 6 digits.
        let exact = 5e-7 * (problem.sites().len() + problem.pairs().len()) as f64;
        let same = (theirs - found.best[0].cost).abs() <= exact;
        equal += u32::from(same && found.proved());
    }
    println!(
        "{n_problems} problems: ours {ours_s:.2} s, toulbar2 {theirs_s:.2} s by its own account"
    );
    let share = 100.0 * f64::from(equal) / n_problems as f64;
    figures.fact(AS_TOULBAR2, share, 100.0.., " %");
    figures.time(TIMES_TOULBAR2, ours_s / theirs_s, ..=2.0, "");
}

/// The optimum, and the seconds it says that it took.
fn toulbar2(file: &Path) -> (f64, f64) {
    let output = Command::new("toulbar2")
        .arg(file)
        .output()
        .expect("toulbar2 runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = text
        .lines()
        .find(|line| line.starts_with("Optimum: "))
        .expect("toulbar2 says its optimum");
    let words: Vec<&str> = line.split_whitespace().collect();
    let seconds = words.iter().position(|w| w.starts_with("seconds"));
    let number = |at: usize| words[at].parse::<f64>().expect("a number");
    (number(1), number(seconds.expect("its seconds") - 1))
}

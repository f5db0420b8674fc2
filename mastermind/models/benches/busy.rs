//! How far fits are off the function behind the calls where a busy machine held some of them up, by design and disturbance.
//!
//! Prints for each the median of the largest error at the sizes, of that at four times the largest, and the share of problems that are
//! wrecked: 25 % off at a size or 50 % beyond. Clean calls come first: what is wrecked there is what few sizes do not tell.

#[path = "busy/kernels.rs"]
mod busy_kernels;

use busy_kernels::{Design, Disturbed, errors, median};
use mastermind_models::Statistic;

/// Problems of each row, of seeds that nothing was chosen on.
const PROBLEMS: u64 = 100;
const FIRST_SEED: u64 = 4000;

const DESIGNS: [Design; 5] = [(6, 5), (6, 3), (12, 1), (25, 1), (25, 10)];

const DISTURBED: [Disturbed; 9] = [
    Disturbed::Nothing,
    Disturbed::Share(0.1),
    Disturbed::Share(0.15),
    Disturbed::Share(0.3),
    Disturbed::Share(0.5),
    Disturbed::OneSize,
    Disturbed::Spikes,
    Disturbed::TwoSpeeds,
    Disturbed::ClockStep,
];

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let statistic = match arguments.next().as_deref() {
        Some("mean") => Statistic::Mean,
        Some("median") => Statistic::Median,
        Some("min") => Statistic::Minimum,
        _ => Statistic::Clean,
    };
    let problems = arguments
        .next()
        .and_then(|n| n.parse().ok())
        .unwrap_or(PROBLEMS);
    println!("{:24} sizes %  beyond %  wrecked %  held up", "");
    for design in DESIGNS {
        for disturbed in DISTURBED {
            let all: Vec<_> = (FIRST_SEED..FIRST_SEED + problems)
                .map(|seed| errors(seed, design, disturbed, statistic))
                .collect();
            let of = |f: &dyn Fn(&busy_kernels::Errors) -> f64| median(all.iter().map(f).collect());
            let n_wrecked = all.iter().filter(|errors| errors.is_wrecked()).count();
            let n_held = all.iter().filter(|errors| errors.held_up > 0.0).count();
            let name = format!("{}x{} {disturbed:?}", design.0, design.1);
            println!(
                "{name:24} {:7.2} {:9.2} {:10.0} {:8.0}",
                100.0 * of(&|errors| errors.at_sizes),
                100.0 * of(&|errors| errors.beyond),
                100.0 * n_wrecked as f64 / all.len() as f64,
                100.0 * n_held as f64 / all.len() as f64,
            );
        }
    }
}

//! How many closed networks are solved in a second of a processor? The recorded ones of the tests: 2 to 20 stations, 1 to 4 classes.
//!
//! Without `--bench` (as `cargo test` calls it) each is solved once.

use std::hint::black_box;
use std::process::ExitCode;
use std::time::Instant;

use mastermind_queueing::{Network, NetworkError, Solution, bard_schweitzer, exact, linearizer};
use must_reach::Figures;

#[path = "../tests/recorded.rs"]
mod recorded;

use recorded::{RECORDED, recorded};

/// A solution method.
type Method = fn(&Network) -> Result<Solution, NetworkError>;

fn main() -> ExitCode {
    let full = std::env::args().any(|argument| argument == "--bench");
    let networks: Vec<Network> = RECORDED.lines().map(|line| recorded(line).0).collect();
    let rounds = if full { 20 } else { 1 };
    must_reach::judge(|figures| {
        let methods: [(&str, Method, f64); 3] = [
            ("Bard-Schweitzer", bard_schweitzer, 10_000.0),
            ("Linearizer", linearizer, 10_000.0),
            ("exact", exact, 0.0),
        ];
        for (name, method, least) in methods {
            let rate = rate(figures, &networks, method, rounds);
            println!("{name}: {rate:.0} networks/s");
            if full && least > 0.0 {
                figures.time(&format!("{name}, networks/s"), rate, least.., "");
            }
        }
        figures.fact("networks", networks.len() as f64, 100.0.., "");
    })
}

/// Networks a second, the best of some rounds.
fn rate(figures: &mut Figures, networks: &[Network], method: Method, rounds: usize) -> f64 {
    let mut best: f64 = 0.0;
    for _ in 0..rounds {
        let start = Instant::now();
        figures.round(|| {
            for network in networks {
                black_box(method(black_box(network)).ok());
            }
        });
        best = best.max(networks.len() as f64 / start.elapsed().as_secs_f64());
    }
    best
}

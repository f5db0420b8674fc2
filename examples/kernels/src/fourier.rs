//! `rustfft` over lengths of mixed factor structure.

use std::error::Error;
use std::path::Path;

use rustfft::FftPlanner;
use rustfft::num_complex::Complex;

use crate::random::Random;
use crate::table::Table;

/// Lengths measured, of each kind.
const LENGTHS: usize = 70;

/// Largest factor of p - 1 up to which `rustfft` takes Rader's algorithm for a prime p.
const RADER: usize = 23;

/// Largest length.
const LARGEST: f64 = 1e6;

/// What the cost of a transform depends on besides its length: which factors it has.
fn kind(length: usize) -> &'static str {
    let largest = largest_factor(length);
    match largest {
        1 | 2 => "power of 2",
        3..=7 => "small factors",
        8..=31 => "medium factors",
        _ if largest_factor(largest - 1) <= RADER => "Rader",
        _ => "Bluestein",
    }
}

/// The length that is calculated in place of one with a large prime factor: Bluestein's algorithm takes the next power of 2,
/// or three quarters of it, that holds the factor twice.
fn inner(length: usize) -> usize {
    if kind(length) != "Bluestein" {
        return length;
    }
    let largest = largest_factor(length);
    let power = (2 * largest - 1).next_power_of_two();
    let padded = if power / 4 * 3 >= 2 * largest - 1 {
        power / 4 * 3
    } else {
        power
    };
    length / largest * padded
}

/// The largest prime factor.
fn largest_factor(mut n: usize) -> usize {
    let (mut largest, mut factor) = (1, 2);
    while factor * factor <= n {
        while n.is_multiple_of(factor) {
            largest = largest.max(factor);
            n /= factor;
        }
        factor += 1;
    }
    largest.max(n)
}

/// Lengths of every kind, in an order of their own.
fn lengths(random: &mut Random) -> Vec<usize> {
    let mut lengths: Vec<usize> = (1..20).map(|power| 1 << power).collect();
    for wanted in ["small factors", "medium factors", "Rader", "Bluestein"] {
        let mut found = Vec::new();
        while found.len() < LENGTHS {
            let base = random.size(2.0, LARGEST);
            // Numbers of few small factors are rare: the next one is taken.
            let mut near = (base..).take_while(|n| *n as f64 <= LARGEST);
            if let Some(length) = near.find(|n| kind(*n) == wanted) {
                found.push(length);
            }
        }
        lengths.extend(found);
    }
    random.shuffle(&mut lengths);
    lengths
}

/// Measures transforms of complex doubles, planned before.
pub fn measure(path: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let mut table = Table::new(path, &["n [point]", "inner [point]", "kind"])?;
    let mut planner = FftPlanner::<f64>::new();
    for length in lengths(&mut random) {
        let plan = planner.plan_fft_forward(length);
        let filled = (0..length).map(|_| Complex::new(random.unit(), random.unit()));
        let mut values: Vec<Complex<f64>> = filled.collect();
        let mut scratch = vec![Complex::default(); plan.get_inplace_scratch_len()];
        let columns = [
            length.to_string(),
            inner(length).to_string(),
            kind(length).to_owned(),
        ];
        table.measure(
            &columns,
            &mut values,
            |_| {},
            |values| {
                plan.process_with_scratch(values, &mut scratch);
            },
        )?;
    }
    Ok(table.end()?)
}

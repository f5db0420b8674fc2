//! `rustfft` over lengths of mixed factor structure.

use std::error::Error;
use std::sync::Arc;

use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use crate::random::Random;
use crate::structure::{Kind, Structure};
use crate::table::{self, Kernel, Plan};

/// Number of measured lengths of each algorithm.
const LENGTHS: usize = 90;

/// Largest length.
const LARGEST: f64 = 1e6;

/// A planned transform of complex doubles.
struct Transform {
    input: Vec<Complex<f64>>,
    values: Vec<Complex<f64>>,
    scratch: Vec<Complex<f64>>,
}

impl Kernel for Transform {
    type Case = (Structure, Arc<dyn Fft<f64>>);

    const COLUMNS: &[&str] = &["n [point]", "work", "kind"];

    fn columns((structure, _): &Self::Case) -> Vec<String> {
        let Structure { n, kind, work } = structure;
        vec![n.to_string(), work.to_string(), kind.name().into()]
    }

    fn prepare(&mut self, (structure, _): &Self::Case) {
        let n = structure.n;
        self.values[..n].copy_from_slice(&self.input[..n]);
    }

    fn call(&mut self, (structure, plan): &Self::Case) {
        let scratch = &mut self.scratch[..plan.get_inplace_scratch_len()];
        plan.process_with_scratch(&mut self.values[..structure.n], scratch);
    }
}

/// Lengths for every algorithm; powers of 2 belong to the small steps.
fn lengths(random: &mut Random) -> Vec<usize> {
    let mut lengths = Vec::new();
    for wanted in Kind::ALL {
        let mut found = Vec::new();
        while found.len() < LENGTHS {
            let base = random.size(2.0, LARGEST);
            // Lengths for some algorithms are rare, so take the next one.
            let mut near = (base..).take_while(|n| *n as f64 <= LARGEST);
            if let Some(length) = near.find(|n| Structure::of(*n).kind == wanted) {
                found.push(length);
            }
        }
        lengths.extend(found);
    }
    lengths
}

/// Measures transforms.
pub fn measure(plan: &Plan, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let mut planner = FftPlanner::<f64>::new();
    let mut case = |n| (Structure::of(n), planner.plan_fft_forward(n));
    let mut cases = || -> Vec<_> { lengths(&mut random).into_iter().map(&mut case).collect() };
    let cases = [cases(), cases()];
    let all = || cases.iter().flatten();
    let longest = all().map(|(structure, _)| structure.n).max();
    let scratch = all().map(|(_, plan)| plan.get_inplace_scratch_len());
    let mut number = |_| Complex::new(random.unit(), random.unit());
    let input: Vec<_> = (0..longest.unwrap_or(0)).map(&mut number).collect();
    let mut transform = Transform {
        values: input.clone(),
        input,
        scratch: vec![Complex::default(); scratch.max().unwrap_or(0)],
    };
    Ok(table::measure(plan, &mut transform, &cases, &mut random)?)
}

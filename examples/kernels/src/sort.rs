//! `slice::sort_unstable` over sizes and three orders of the input.

use std::error::Error;

use crate::random::Random;
use crate::table::{self, Kernel, Plan};

/// Number of measured sizes.
const SIZES: usize = 100;

/// Largest size.
const LARGEST: usize = 2_000_000;

const ORDERS: [&str; 3] = ["random", "sorted", "reversed"];

/// A sort of 64-bit numbers.
struct Sort {
    /// Numbers in each order; every prefix has the same order.
    inputs: [Vec<u64>; 3],
    values: Vec<u64>,
}

impl Kernel for Sort {
    /// Size and order.
    type Case = (usize, usize);

    const COLUMNS: &[&str] = &["n [element]", "order"];

    fn columns(&(n, order): &Self::Case) -> Vec<String> {
        vec![n.to_string(), ORDERS[order].into()]
    }

    fn prepare(&mut self, &(n, order): &Self::Case) {
        self.values[..n].copy_from_slice(&self.inputs[order][..n]);
    }

    fn call(&mut self, &(n, _): &Self::Case) {
        self.values[..n].sort_unstable();
    }
}

/// Measures sorts.
pub fn measure(plan: &Plan, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let numbers: Vec<u64> = (0..LARGEST).map(|_| random.next()).collect();
    let mut sorted = numbers.clone();
    sorted.sort_unstable();
    let reversed = sorted.iter().rev().copied().collect();
    let mut sort = Sort {
        values: numbers.clone(),
        inputs: [numbers, sorted, reversed],
    };
    let mut cases = || -> Vec<(usize, usize)> {
        let sizes = (0..SIZES).map(|_| random.size(10.0, LARGEST as f64));
        sizes
            .flat_map(|n| (0..ORDERS.len()).map(move |order| (n, order)))
            .collect()
    };
    let cases = [cases(), cases()];
    Ok(table::measure(plan, &mut sort, &cases, &mut random)?)
}

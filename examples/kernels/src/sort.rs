//! `slice::sort_unstable` over sizes and three orders of the input.

use std::error::Error;
use std::path::Path;

use crate::random::Random;
use crate::table::Table;

/// Sizes measured.
const SIZES: usize = 60;

/// Measures sorts of 64-bit numbers.
pub fn measure(path: &Path, seed: u64) -> Result<(), Box<dyn Error>> {
    let mut random = Random(seed);
    let mut table = Table::new(path, &["n [element]", "order"])?;
    for _ in 0..SIZES {
        let n = random.size(10.0, 2e6);
        let mut values: Vec<u64> = (0..n).map(|_| random.next()).collect();
        for order in ["random", "sorted", "reversed"] {
            match order {
                "random" => random.shuffle(&mut values),
                "sorted" => values.sort_unstable(),
                _ => values.reverse(),
            }
            let columns = [n.to_string(), order.to_owned()];
            let mut copy = values.clone();
            table.measure(
                &columns,
                &mut copy,
                |copy| copy.copy_from_slice(&values),
                |copy| copy.sort_unstable(),
            )?;
        }
    }
    Ok(table.end()?)
}

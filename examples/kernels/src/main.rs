//! Times three kernels of other crates over sizes, with a table for each: a Fourier transform, a sort, a matrix product.
//!
//! The driver decides which parameters besides the size a row contains: it knows on what the cost depends, and the fit finds how.

mod fourier;
mod product;
mod random;
mod sort;
mod structure;
mod table;

use std::error::Error;

use table::Plan;

/// Default number of calls for a row, which records the shortest of them.
const TRIES: usize = 14;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folders, seed, tries) = match &arguments[..] {
        [fit, check] => ([fit, check], 1, TRIES),
        [fit, check, seed] => ([fit, check], seed.parse()?, TRIES),
        [fit, check, seed, tries] => ([fit, check], seed.parse()?, tries.parse()?),
        _ => {
            return Err("expected FOLDER FOLDER [SEED [TRIES]]: where the tables to fit and those to check go, \
                        which sizes, calls a row"
                .into());
        }
    };
    folders.iter().try_for_each(std::fs::create_dir_all)?;
    let plan = |name: &str| Plan {
        paths: folders.map(|folder| std::path::Path::new(folder).join(name)),
        tries,
    };
    fourier::measure(&plan("fft.csv"), seed)?;
    sort::measure(&plan("sort.csv"), seed)?;
    product::measure(&plan("product.csv"), seed)?;
    Ok(())
}

//! Times three kernels of other crates over sizes, a table each: a Fourier transform, a sort, a matrix product.
//!
//! What a row tells besides the size is this driver's choice: it knows what the cost depends on, the fit finds how.

mod fourier;
mod product;
mod random;
mod sort;
mod table;

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, seed) = match &arguments[..] {
        [folder] => (folder, 1),
        [folder, seed] => (folder, seed.parse()?),
        _ => return Err("expected FOLDER [SEED]: where the tables go, and which sizes".into()),
    };
    std::fs::create_dir_all(folder)?;
    let path = |name: &str| std::path::Path::new(folder).join(name);
    fourier::measure(&path("fft.csv"), seed)?;
    sort::measure(&path("sort.csv"), seed)?;
    product::measure(&path("product.csv"), seed)?;
    Ok(())
}

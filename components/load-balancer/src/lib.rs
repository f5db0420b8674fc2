//! Sharing boxes among ranks.
//!
//! [`knapsack`] balances best; [`morton`] keeps neighbouring boxes of all levels on one rank, which saves messages.
//! Both depend only on their arguments, so every rank computes the same result alone.

mod component;
mod knapsack;
mod morton;

pub use knapsack::knapsack;
pub use morton::morton;

use hydro_ports::{CellBox, Load};
use thiserror::Error;

/// Boxes that cannot be shared.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum BalanceError {
    /// There are no ranks to share among.
    #[error("cannot share boxes: 0 ranks, expected at least 1")]
    NoRank,
    /// A weight is no weight.
    #[error("cannot share box \"{cells}\": weight {weight}, expected a finite number >= 0")]
    Weight {
        /// The box.
        cells: CellBox,
        /// Its weight.
        weight: f64,
    },
}

fn check(loads: &[Load], ranks: u32) -> Result<(), BalanceError> {
    if ranks == 0 {
        return Err(BalanceError::NoRank);
    }
    match loads
        .iter()
        .find(|load| !(load.weight >= 0.0 && load.weight.is_finite()))
    {
        Some(Load { cells, weight, .. }) => Err(BalanceError::Weight {
            cells: *cells,
            weight: *weight,
        }),
        None => Ok(()),
    }
}

//! The extension module of the Python package `mastermind`: records as Arrow, models, the choice.
//!
//! It converts arguments and results; what is computed is that of the crates it calls, so numbers are those of the command line.
//! Nothing is printed: what a run lacks is told by [`run::Run`]'s `missing`, which the package turns into a warning.

mod choice;
mod convert;
mod fitting;
mod model;
mod run;
mod table;
mod tree;

/// Records, models, choice.
#[pyo3::pymodule]
mod _mastermind {
    #[pymodule_export]
    use crate::choice::choose;
    #[pymodule_export]
    use crate::model::{Model, Models};
    #[pymodule_export]
    use crate::run::{Records, Run};
    #[pymodule_export]
    use crate::table::Table;
}

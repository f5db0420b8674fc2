//! The extension module of the Python package `mastermind`: records as Arrow, models, the choice.
//!
//! It converts arguments and results; the crates it calls do the computing, so numbers equal those of the command line.
//! Nothing is printed: [`run::Run`]'s `missing` lists the missing parts of a run, which the package turns into a
//! warning.

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

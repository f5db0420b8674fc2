//! In place of verbs whose feature of the build is off, as in the first build of the demonstration: they say so.

use std::ffi::OsString;
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;

/// Not in this build; `cargo xtask build` makes one that has it.
#[derive(Args)]
pub struct LeftOut {
    /// Whatever the verb takes
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    _arguments: Vec<OsString>,
}

impl LeftOut {
    /// Does nothing.
    ///
    /// # Errors
    /// Always.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        bail!(
            "cannot run this verb: built without it, expected a build with it, as `cargo xtask build` makes it"
        )
    }
}

/// In place of `calibrate.rs`.
#[cfg(not(feature = "simulation"))]
pub mod calibrate {
    pub use super::LeftOut as Calibrate;
}

/// In place of `correct.rs`.
#[cfg(not(feature = "correction"))]
pub mod correct {
    pub use super::LeftOut as Correct;
}

/// In place of `simulate.rs`.
#[cfg(not(feature = "simulation"))]
pub mod simulate {
    pub use super::LeftOut as Simulate;
}

/// In place of `transform.rs`.
#[cfg(not(feature = "simulation"))]
pub mod transform {
    pub use super::LeftOut as Transform;
}

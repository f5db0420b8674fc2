//! In place of `model.rs` where the feature `simulation` is off.

use std::process::ExitCode;

use super::Check;
use crate::session::model;

impl Check {
    /// Checks nothing.
    pub fn model(&self) -> anyhow::Result<ExitCode> {
        let _ = (&self.main, &self.models);
        Err(model::left_out(&self.assembly))
    }
}

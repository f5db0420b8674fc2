//! `mastermind fit`.
use std::process::ExitCode;
/// Fit.
#[derive(clap::Args)]
pub struct Fit {}
impl Fit {
    /// Executes.
    ///
    /// # Errors
    /// None.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}

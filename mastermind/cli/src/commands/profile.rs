//! `mastermind profile`.
use std::process::ExitCode;
/// Profile.
#[derive(clap::Args)]
pub struct Profile {}
impl Profile {
    /// Executes.
    ///
    /// # Errors
    /// None.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}

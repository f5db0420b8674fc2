//! `mastermind export`.
use std::process::ExitCode;
/// Export.
#[derive(clap::Args)]
pub struct Export {}
impl Export {
    /// Executes.
    ///
    /// # Errors
    /// None.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}

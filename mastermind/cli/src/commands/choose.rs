//! `mastermind choose`.
use std::process::ExitCode;
/// Choose.
#[derive(clap::Args)]
pub struct Choose {}
impl Choose {
    /// Executes.
    ///
    /// # Errors
    /// None.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        Ok(ExitCode::SUCCESS)
    }
}

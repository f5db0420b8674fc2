//! `mastermind completions`: what a shell completes.

use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::output;

/// Print completions for a shell
#[derive(Args)]
#[command(
    after_help = "Example: mastermind completions bash > ~/.local/share/bash-completion/completions/mastermind\n         \
                        mastermind completions zsh > ~/.zfunc/_mastermind\n         \
                        mastermind completions fish > ~/.config/fish/completions/mastermind.fish"
)]
pub struct Completions {
    /// The shell
    pub shell: Shell,
}

impl Completions {
    /// Prints the script.
    ///
    /// # Errors
    /// None.
    pub fn execute(self, mut command: Command) -> anyhow::Result<ExitCode> {
        let mut text = Vec::new();
        clap_complete::generate(self.shell, &mut command, "mastermind", &mut text);
        output::line(String::from_utf8_lossy(&text).trim_end());
        Ok(ExitCode::SUCCESS)
    }
}

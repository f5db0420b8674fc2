//! `mastermind completions`: the script by which a shell asks this program for completions (`completing.rs`).

use std::process::ExitCode;

use clap::Args;
use clap_complete::Shell;

use crate::{completing, output};

/// zsh runs a file `_mastermind` of its function path as the function of that name, when it first completes: this completes that time too.
const ZSH_AUTOLOADED: &str = "\nif [ \"${funcstack[1]}\" = _mastermind ]; then _clap_dynamic_completer_mastermind \"$@\"; fi\n";

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
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let mut text = completing::script(&self.shell.to_string())?;
        if self.shell == Shell::Zsh {
            text += ZSH_AUTOLOADED;
        }
        output::line(text.trim_end());
        Ok(ExitCode::SUCCESS)
    }
}

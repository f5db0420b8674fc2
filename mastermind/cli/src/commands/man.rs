//! `mastermind man`: a manual page for each verb.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, Command};
use clap_mangen::Man as Page;

use crate::destination::Force;
use crate::output;

/// Write manual pages
#[derive(Args)]
#[command(after_help = "Example: mastermind man ~/.local/share/man/man1")]
pub struct Man {
    /// The folder for the pages, mastermind.1 and mastermind-VERB.1
    folder: PathBuf,
    #[command(flatten)]
    force: Force,
}

impl Man {
    /// Writes the pages.
    ///
    /// # Errors
    /// One is there already; one cannot be written.
    pub fn execute(self, command: Command) -> anyhow::Result<ExitCode> {
        let act = || format!("cannot make folder \"{}\"", self.folder.display());
        std::fs::create_dir_all(&self.folder).with_context(act)?;
        // Usage lines name the verb with the program.
        let mut command = command.disable_help_subcommand(true);
        command.build();
        let verbs: Vec<Command> = command.get_subcommands().cloned().collect();
        self.write("mastermind", command)?;
        for verb in verbs {
            let name = format!("mastermind-{}", verb.get_name());
            self.write(&name, verb)?;
        }
        output::line(self.folder.display().to_string());
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, name: &str, command: Command) -> anyhow::Result<()> {
        let mut text = Vec::new();
        let page = Page::new(command.display_name(name.to_owned()));
        page.render(&mut text)
            .with_context(|| format!("cannot write manual page \"{name}\""))?;
        let path = self.folder.join(format!("{name}.1"));
        self.force.write("manual page", &path, text)
    }
}

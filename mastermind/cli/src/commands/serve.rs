//! `mastermind serve`: a page that runs the verbs and shows their answers in a browser on this machine.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::Context;
use clap::Args;
use mastermind_serve::{Options, Server};
use tokio::signal::unix::{SignalKind, signal};

use crate::output;

/// Show assemblies, runs, models and diagrams in a page, and work with them there
#[derive(Args)]
#[command(
    after_help = "Example: mastermind serve examples/shock/shock.toml\n\nThe page answers on this machine alone (127.0.0.1), to who has the token of \
                        the printed address. It writes to its folder alone, and runs nothing without a click. From another machine: ssh \
                        -L 8080:127.0.0.1:8080 HOST mastermind serve --port 8080"
)]
pub struct Serve {
    /// The folder to show, or an assembly, record directory or model of it to begin with
    #[arg(value_name = "ASSEMBLY|DIR|MODEL", default_value = ".")]
    path: PathBuf,
    /// The port; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Write nothing and run nothing
    #[arg(long)]
    read_only: bool,
    /// Open the page in the browser
    #[arg(long)]
    open: bool,
}

impl Serve {
    /// Serves the page until it is interrupted.
    ///
    /// # Errors
    /// The path cannot be read, or the port is taken.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let (folder, start) = shown(&self.path)?;
        let options = Options {
            program: env::current_exe().context("cannot find the program itself")?,
            folder,
            start,
            read_only: self.read_only,
            port: self.port,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("cannot serve the page")?;
        runtime.block_on(async {
            let mut ends = [
                signal(SignalKind::interrupt())?,
                signal(SignalKind::terminate())?,
                signal(SignalKind::hangup())?,
            ];
            let server = Server::bind(options).await?;
            let url = server.url();
            output::line(&url);
            output::message("Open this address in a browser on this machine; Ctrl-C ends the page and what it started");
            if self.open {
                open(&url);
            }
            let until = async move {
                let [interrupt, terminate, hangup] = &mut ends;
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hangup.recv() => {}
                }
            };
            server.run(until).await?;
            anyhow::Ok(ExitCode::SUCCESS)
        })
    }
}

/// The folder to serve for a path, and the entry to open first. A record directory is shown in the folder that contains
/// it.
fn shown(path: &Path) -> anyhow::Result<(PathBuf, Option<PathBuf>)> {
    let whole = path
        .canonicalize()
        .with_context(|| format!("cannot open \"{}\"", path.display()))?;
    let records = || {
        let mut entries = whole.read_dir().into_iter().flatten().flatten();
        entries.any(|entry| mastermind_records::holds_records(&entry.path()))
    };
    if whole.is_dir() && !records() {
        return Ok((whole, None));
    }
    let name = whole.file_name().map(PathBuf::from);
    let folder = whole.parent().unwrap_or(Path::new("/"));
    Ok((folder.to_owned(), name))
}

/// Opens the address in the desktop's browser; without one the address stands in the terminal.
fn open(url: &str) {
    let mut command = Command::new("xdg-open");
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null());
    if let Err(error) = command.stderr(Stdio::null()).spawn() {
        output::message(&format!("warning: cannot open a browser: {error}"));
    }
}

//! `mastermind use`: another library for an interface, in a program that is running.

use std::io::{BufRead, BufReader, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::Args;
use mastermind_component::control_name;

use crate::errors::WrongUse;
use crate::output;

/// Send the calls of an interface to another library, in a wrapped program that is running.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind wrap --proxy libblas_proxy.so -- ./solver & mastermind use $! blas=/opt/libopenblas.so"
)]
pub struct Use {
    /// The program, by the number of its process; or that of `mastermind wrap`
    #[arg(value_name = "PID")]
    process: u32,
    /// The interface of a proxy, and the library that its calls are to go to
    #[arg(value_name = "INTERFACE=LIB")]
    library: String,
}

impl Use {
    /// Asks the program.
    ///
    /// # Errors
    /// No such program; a library that does not fit.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let Some((interface, path)) = self.library.split_once('=') else {
            return Err(WrongUse("no interface and library, expected INTERFACE=LIB").into());
        };
        let act = || format!("cannot open library \"{path}\"");
        let path: PathBuf = Path::new(path).canonicalize().with_context(act)?;
        if path.to_string_lossy().contains('\n') {
            bail!("{}: a new line in its name, expected none", act());
        }
        let mut stream = self.connect()?;
        let act = || format!("cannot ask process {}", self.process);
        writeln!(stream, "{interface}={}", path.display()).with_context(act)?;
        let mut answer = String::new();
        BufReader::new(stream)
            .read_line(&mut answer)
            .with_context(act)?;
        match answer.trim_end().split_once(' ') {
            None if answer.trim_end() == "used" => {
                output::line(format!("{interface}: {}", path.display()))
            }
            Some(("used", missing)) => {
                output::line(format!(
                    "{interface}: {}, without {missing}; a call of one ends the program",
                    path.display()
                ));
            }
            Some(("error", text)) => bail!("{text}"),
            _ => bail!("{}: no answer, expected one", act()),
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Connects to the process, or to one that it started.
    fn connect(&self) -> anyhow::Result<UnixStream> {
        let mut processes = vec![self.process];
        let mut at = 0;
        while let Some(process) = processes.get(at).copied() {
            let address = SocketAddr::from_abstract_name(control_name(process));
            if let Ok(stream) = address.and_then(|address| UnixStream::connect_addr(&address)) {
                return Ok(stream);
            }
            processes.extend(children(process));
            at += 1;
        }
        bail!(
            "cannot ask process {}: it does not listen, expected a program under wrap --proxy that has called a proxied function",
            self.process
        )
    }
}

/// The processes that a process has started and that run.
fn children(process: u32) -> Vec<u32> {
    let path = format!("/proc/{process}/task/{process}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect()
}

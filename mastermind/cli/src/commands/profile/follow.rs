//! `profile --follow`: the profile of a run in progress, repeated as its records grow.
//!
//! It ends when the run has ended, or when no program writes its logs any more. Ctrl-C ends it like any program.

use std::io::{IsTerminal, stdout};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use mastermind_records::{Profile as Table, Run, is_being_written};

use super::{Profile, mpi, selected};
use crate::output;

/// Seconds between two updates. Arbitrary: a person reads no faster.
pub const DEFAULT_EVERY_S: f64 = 2.0;

/// Seconds of `--every`.
///
/// # Errors
/// A text with the expected form.
pub fn every(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if (0.05..=86_400.0).contains(&seconds) => Ok(seconds),
        _ => Err("expected seconds from 0.05 to 86400".into()),
    }
}

impl Profile {
    /// Shows the profile each time that the records have grown, until the run ends.
    ///
    /// # Errors
    /// As for a single profile; there are no records yet.
    pub(super) fn show_again(&self) -> anyhow::Result<ExitCode> {
        let (folder, _) = selected(&self.records);
        let mut before = None;
        loop {
            let (goes_on, sums) = look(folder)?;
            if before.as_ref() != Some(&sums) || !goes_on {
                self.clear(before.is_none());
                let code = self.show()?;
                if !goes_on {
                    return Ok(code);
                }
                before = Some(sums);
            }
            std::thread::sleep(Duration::from_secs_f64(self.every));
        }
    }

    /// Clears a terminal; a blank line between two tables elsewhere.
    fn clear(&self, is_first: bool) {
        if self.json {
            return;
        }
        if stdout().is_terminal() {
            // ECMA-48: cursor to the upper left (CUP), erase the display (ED).
            output::control("\x1b[H\x1b[2J");
        } else if !is_first {
            output::line("");
        }
    }
}

/// Whether a program still writes logs of a folder, and sums that change when the logs grow.
fn look(folder: &Path) -> anyhow::Result<(bool, String)> {
    let run = Run::open(folder)?;
    // Checked before the logs are read to their end, so that the last table has all of them.
    let goes_on = run.logs().iter().any(|log| is_being_written(log.path()));
    let sums = (Table::new(&run, false), mpi::rows(run.mpi_ranks()));
    Ok((goes_on, serde_json::to_string(&sums)?))
}

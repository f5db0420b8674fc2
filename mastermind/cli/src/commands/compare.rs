//! `mastermind compare`: two runs side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use mastermind_records::{Compared, Side, Verdict, compare};

use crate::commands::profile::tell_missing_records;
use crate::output;

/// Compare two runs, method by method.
#[derive(Args)]
#[command(after_help = "Example: mastermind compare godunov efm")]
pub struct Compare {
    /// Records of the first run
    first: PathBuf,
    /// Records of the second run
    second: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Compare {
    /// Reads both and shows the table.
    ///
    /// # Errors
    /// There are no records in one of them; they cannot be read.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let first = super::profile::open(&self.first)?;
        let second = super::profile::open(&self.second)?;
        let compared = compare(&first, &second);
        for run in [&first, &second] {
            tell_missing_records(
                run,
                "their times are in the sums and means, the noise is that of the others",
            );
        }
        if self.json {
            output::json(&serde_json::json!({ "methods": compared }))?;
            return Ok(ExitCode::SUCCESS);
        }
        let header = [
            "CALLS",
            "",
            "EXCLUSIVE ms",
            "",
            "MPI ms",
            "",
            "us/CALL",
            "",
            "DIFFERENCE",
            "NAME",
            "VERDICT",
        ];
        let numbers: Vec<usize> = (0..9).collect();
        output::line(output::table(&header, &numbers, compared.iter().map(cells)));
        output::line(format!(
            "first {}, second {}; times without measured calls made from a method, calls and sums mean over the ranks; \
             same: within 3 standard errors",
            self.first.display(),
            self.second.display()
        ));
        Ok(ExitCode::SUCCESS)
    }
}

fn cells(compared: &Compared) -> Vec<String> {
    let Compared { first, second, .. } = compared;
    let mut cells = Vec::new();
    let mut both = |cell: &dyn Fn(&Side) -> String| {
        cells.extend([first, second].map(|side| {
            if side.calls > 0.0 {
                cell(side)
            } else {
                String::new()
            }
        }));
    };
    both(&|side| match side.calls {
        calls if calls.fract() == 0.0 => format!("{calls}"),
        calls => format!("{calls:.2}"),
    });
    both(&|side| format!("{:.3}", side.exclusive_ns * 1e-6));
    both(&|side| {
        side.mpi_ns
            .map_or_else(String::new, |ns| format!("{:.3}", ns * 1e-6))
    });
    both(&|side| format!("{:.3}", side.mean_ns * 1e-3));
    let percent = compared.difference_percent;
    cells.push(percent.map_or_else(String::new, |percent| format!("{percent:+.1} %")));
    cells.push(compared.name.clone());
    cells.push(verdict(compared));
    cells
}

/// Share of a method's calls that has no record, in the run that lacks more.
fn without_record(compared: &Compared) -> f64 {
    let (first, second) = (&compared.first, &compared.second);
    first.without_record.max(second.without_record)
}

fn verdict(compared: &Compared) -> String {
    match compared.verdict {
        Verdict::Faster => "faster",
        Verdict::Slower => "slower",
        Verdict::Unknown if compared.first.calls == 0.0 => "only in second",
        Verdict::Unknown if compared.second.calls == 0.0 => "only in first",
        Verdict::Unknown if without_record(compared) > 0.0 => {
            let percent = 100.0 * without_record(compared);
            return format!("cannot tell: {percent:.0} % of the calls have no record");
        }
        Verdict::Unknown => "too few calls",
        _ => "same",
    }
    .into()
}

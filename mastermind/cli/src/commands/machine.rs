//! `mastermind machine`: the cost of instructions, loads and faults on the processor of this machine, as a table of a
//! machine file.
//!
//! `mastermind-machine` measures; this module spreads the passes over time and keeps the rest of the file, which
//! `calibrate` may have written.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use mastermind_machine::processor::{Number, Pass, Processor, identify, measure};
use mastermind_simulation::machine::read_machine;
use toml_edit::DocumentMut;

use crate::destination::{Force, is_standard_output};
use crate::machine_file::TABLE;
use crate::output;

/// Parts of the progress.
const STEPS: u64 = 1000;

/// Measure the processor: clock, instructions, caches, memory.
///
/// Times of instructions that wait for each other and of those that do not, of a branch predicted wrongly and of the first use of a page; the time
/// of a load and the bytes read a nanosecond over the size of what is read. Everything is measured in several passes: what differs between
/// them by 15 % or more is marked as unstable, as the larger caches and the memory of a shared machine are. Nothing else should run
/// meanwhile.
#[derive(Args)]
#[command(after_help = "Example: mastermind machine -o machine.toml\n\
                  Example: mastermind calibrate -o machine.toml && mastermind machine -o machine.toml")]
pub struct Machine {
    /// The machine file that gets a table [processor]; what else is in it stays
    #[arg(short, long, value_name = "M.toml")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// How often everything is measured
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    passes: u32,
    /// Seconds from the beginning of the first pass to that of the last
    #[arg(long, value_name = "SECONDS", default_value_t = 40, value_parser = clap::value_parser!(u64).range(..=86_400))]
    spread: u64,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Machine {
    /// Measures, shows, writes.
    ///
    /// # Errors
    /// The processor is of another family; the file has such a table already, or is no machine file.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let document = match &self.output {
            Some(path) => Some(self.document(path)?),
            None => None,
        };
        let passes = self.measure()?;
        let processor = Processor::of(identify(), &passes)
            .context("cannot measure processor: no pass, expected at least one")?;
        if let (Some(path), Some(document)) = (&self.output, document) {
            write(path, document, &processor)?;
        }
        if self.json {
            output::json(&processor)?;
        } else if self
            .output
            .as_deref()
            .is_none_or(|path| !is_standard_output(path))
        {
            output::line(text(&processor));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The file as it is, or an empty one.
    fn document(&self, path: &Path) -> anyhow::Result<DocumentMut> {
        if is_standard_output(path) {
            self.force.check([Some(path)], self.json)?;
            return Ok(DocumentMut::new());
        }
        // Checked first, so that nobody waits for a result that cannot be kept.
        let folder = path.parent().filter(|folder| *folder != Path::new(""));
        if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
            bail!(
                "cannot write machine \"{}\": no folder \"{}\", expected one",
                path.display(),
                folder.display()
            );
        }
        let act = || format!("cannot read machine \"{}\"", path.display());
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.with_context(act)?,
        };
        read_machine(&text).with_context(act)?;
        let document: DocumentMut = text.parse().with_context(act)?;
        if document.contains_key(TABLE) && !self.force.force {
            bail!(
                "cannot write machine \"{}\": it has a table [{TABLE}], expected none; --force replaces it",
                path.display()
            );
        }
        Ok(document)
    }

    /// All passes.
    fn measure(&self) -> anyhow::Result<Vec<Pass>> {
        let bar = ProgressBar::new(STEPS * u64::from(self.passes));
        if let Ok(style) = ProgressStyle::with_template("[{elapsed_precise}] {bar:40} {percent}%") {
            bar.set_style(style);
        }
        let began = Instant::now();
        let apart = Duration::from_secs(self.spread) / (self.passes - 1).max(1);
        let pass = |number: u32| {
            sleep((apart * number).saturating_sub(began.elapsed()));
            let before = STEPS * u64::from(number);
            Ok(measure(|part| {
                bar.set_position(before + (part * STEPS as f64) as u64);
            })?)
        };
        let passes = (0..self.passes).map(pass).collect();
        bar.finish_and_clear();
        passes
    }
}

/// Puts the table into the file.
fn write(path: &Path, mut document: DocumentMut, processor: &Processor) -> anyhow::Result<()> {
    let table = toml::to_string(&BTreeMap::from([(TABLE, processor)]))?;
    let table: DocumentMut = table.parse()?;
    let is_first = document.is_empty();
    document.insert(TABLE, table[TABLE].clone());
    if let (false, Some(table)) = (is_first, document[TABLE].as_table_mut()) {
        table.decor_mut().set_prefix("\n");
    }
    let text = document.to_string();
    // The rest of the file was read before, and stays.
    Force { force: true }.write("machine", path, text)
}

/// A table row for a number.
fn row(what: String, number: &Number, unit: &str) -> Vec<String> {
    let note = if number.unstable { "unstable" } else { "" };
    vec![
        what,
        significant(number.best),
        significant(number.quartile),
        unit.into(),
        note.into(),
    ]
}

/// Three digits.
fn significant(number: f64) -> String {
    let before = number.abs().max(1e-9).log10().floor() as i32;
    let after = (2 - before).clamp(0, 9) as usize;
    format!("{number:.after$}")
}

fn text(processor: &Processor) -> String {
    let named = |numbers: &BTreeMap<String, Number>, what: &str| {
        let rows = numbers
            .iter()
            .map(|(name, number)| row(format!("{what}{name}"), number, "ns"));
        Vec::from_iter(rows)
    };
    let clock = &processor.clock_hz;
    let ghz = Number {
        best: clock.best * 1e-9,
        quartile: clock.quartile * 1e-9,
        ..clock.clone()
    };
    let mut rows = vec![row("clock".into(), &ghz, "GHz")];
    rows.extend(named(&processor.latency_ns, "after one another: "));
    rows.extend(named(&processor.throughput_ns, "among others: "));
    rows.extend(named(&processor.penalty_ns, ""));
    for of in &processor.load {
        let pages = if of.huge_pages { ", huge pages" } else { "" };
        rows.push(row(
            format!("load from {}{pages}", size(of.bytes)),
            &of.ns,
            "ns",
        ));
    }
    for of in &processor.read {
        let threads = match of.threads {
            1 => String::new(),
            n => format!(" a thread, {n} threads"),
        };
        let what = format!("read {}{threads}", size(of.bytes));
        rows.push(row(what, &of.bytes_per_ns, "GB/s"));
    }
    let header = ["WHAT", "BEST", "QUARTILE", "UNIT", "NOTE"];
    output::table(&header, &[1, 2], rows)
}

/// Bytes as a whole number of KiB or MiB.
fn size(bytes: u64) -> String {
    match bytes {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n => format!("{} KiB", n >> 10),
    }
}

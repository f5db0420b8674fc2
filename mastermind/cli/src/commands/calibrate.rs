//! `mastermind calibrate`: the parameters of this machine, as `simulate` takes them.
//!
//! A machine file holds LogGP parameters, and they are properties of the MPI and the node as much
//! as of the network, so they are measured through the port that components send by. The
//! measurement needs ranks, which the program usually does not have. Without a launcher it
//! therefore starts itself again, once for each part (`--part`, hidden), and reads the measurements
//! from a file that the first rank writes; under a launcher it is already one of the ranks and
//! measures at once.
//!
//! ```text
//! mastermind calibrate -o machine.toml
//! ├─ 2 ranks:                  messages.rs  round trips, rows of messages, rendezvous
//! ├─ 2 ranks per processor:    crowd.rs     time slices, blocking or spinning waits
//! ├─ fit_link:                 L, o, g, G and pieces from the times
//! └─ machine.rs:               the machine file
//! ```
//!
//! Measuring is in `messages.rs` and `crowd.rs`, fitting in the simulation crate; this file decides
//! the order and prints the result.

mod crowd;
mod machine;
mod messages;
mod ranks;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use cca_comm::MpiKind;
use clap::Args;
use mastermind_simulation::calibration::{FittedLink, fit_link};
use mastermind_simulation::machine::{Link, Rendezvous};
use serde::Serialize;

use crate::destination::Force;
use crate::output;
use crate::session::back_end::{self, MpiName};
use machine::Calibrated;
use ranks::{Measured, Part};

/// Measure the parameters of this machine's messages and processors, for simulate.
///
/// Messages go back and forth between two ranks, of sizes from 8 bytes to 4 MiB, through the same port that components
/// send through: what is measured is what they see. Where the ranks are on several nodes, messages between those are
/// measured too. Large messages are also asked for while their sender does something else, to see who moves the bytes.
/// Then there are twice as many ranks as processors, to see how long a turn with a processor is, how often one is out of
/// step, and what a rank does that waits. Nothing else should run meanwhile.
#[derive(Args)]
#[command(
    after_help = "Example: mastermind calibrate -o machine.toml --mpi openmpi\n\
                  Example: srun -N 2 -n 4 mastermind calibrate -o cluster.toml"
)]
pub struct Calibrate {
    /// Where the machine file goes
    #[arg(short, long, value_name = "M.toml")]
    output: Option<PathBuf>,
    #[command(flatten)]
    force: Force,
    /// Ranks that are started to measure messages
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=4096))]
    ranks: u32,
    /// Which MPI, where both are
    #[arg(long, value_name = "NAME")]
    mpi: Option<MpiName>,
    /// How often each size is measured
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: u32,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// What the ranks that this command starts have to measure
    #[arg(long, value_enum, hide = true, requires = "measured")]
    part: Option<Part>,
    /// Where they write it
    #[arg(long, hide = true)]
    measured: Option<PathBuf>,
    /// Processors of the node: ranks that are bound see theirs alone
    #[arg(long, hide = true)]
    processors: Option<u32>,
}

#[derive(Serialize)]
struct Report<'a> {
    mpi: &'a str,
    processors: u32,
    nodes: u32,
    links: Vec<LinkRow>,
    waiting: Option<&'static str>,
    turn_ns: Option<u64>,
    regroup_turns: Option<u32>,
    not_measured: Vec<String>,
    file: Option<String>,
}

#[derive(Serialize)]
struct LinkRow {
    class: &'static str,
    latency_ns: u64,
    send_overhead_ns: u64,
    receive_overhead_ns: u64,
    gap_ns: u64,
    gap_per_byte_ns: f64,
    overhead_per_byte_ns: f64,
    rendezvous_bytes: u64,
    rendezvous: &'static str,
    pieces: usize,
    median_error_percent: f64,
    largest_error_percent: f64,
}

impl Calibrate {
    /// Measures, fits, writes.
    ///
    /// # Errors
    /// There is no MPI, or one rank; a measurement fails; the file cannot be written.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        self.force.check([self.output.as_deref()], self.json)?;
        let launched = back_end::launcher()?;
        let mpi = self.mpi.map(MpiKind::from);
        // Under a launcher this process is a rank: of the user's launch, or of our own
        // (`start_and_measure`).
        if let (Some(launched), part) = (&launched, self.part) {
            let wanted = ranks::Wanted {
                part,
                rounds: self.rounds,
                processors: self.processors,
            };
            let measured = ranks::measure(launched, mpi, &wanted)?;
            return match (measured, &self.measured) {
                // Only the first rank has it.
                (None, _) => Ok(ExitCode::SUCCESS),
                (Some(measured), Some(path)) => {
                    fs::write(path, serde_json::to_string(&measured)?)
                        .with_context(|| format!("cannot write \"{}\"", path.display()))?;
                    Ok(ExitCode::SUCCESS)
                }
                (Some(measured), None) => self.show(&measured),
            };
        }
        if self.part.is_some() {
            bail!(
                "cannot measure: no launcher started this, expected it to be one of several ranks"
            );
        }
        let measured = ranks::start_and_measure(self.ranks, mpi, self.rounds)?;
        self.show(&measured)
    }

    fn show(&self, measured: &Measured) -> anyhow::Result<ExitCode> {
        let calibrated = Calibrated::of(measured, fit_all(measured)?);
        if let Some(path) = &self.output {
            self.force.write("machine", path, calibrated.text())?;
        }
        let report = report(measured, &calibrated, self.output.as_deref());
        if self.json {
            output::json(&report)?;
        } else {
            print(&report);
            if self.output.is_none() {
                output::line(format!("\n{}", calibrated.text().trim_end()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The fitted links, within a node and between nodes, as far as they were measured.
fn fit_all(measured: &Measured) -> anyhow::Result<[Option<FittedLink>; 2]> {
    let mut fitted = [None, None];
    for (class, link) in fitted.iter_mut().zip(&measured.links) {
        if let Some(link) = link {
            let mut fitted = fit_link(&link.times, link.rendezvous_bytes)?;
            if link.is_fetched {
                fitted.link.rendezvous = Rendezvous::Fetched;
            }
            *class = Some(fitted);
        }
    }
    Ok(fitted)
}

fn report<'a>(measured: &'a Measured, calibrated: &Calibrated, file: Option<&Path>) -> Report<'a> {
    let classes = ["in a node", "between nodes"];
    let links = classes.into_iter().zip(calibrated.links);
    let row = |(class, fitted): (&'static str, Option<FittedLink>)| {
        let FittedLink {
            link,
            median_error_percent,
            largest_error_percent,
        } = fitted?;
        let Link {
            latency_ns,
            send_overhead_ns,
            receive_overhead_ns,
            gap_ns,
            gap_per_byte_ns,
            overhead_per_byte_ns,
            rendezvous_bytes,
            rendezvous,
            pieces,
        } = link;
        Some(LinkRow {
            class,
            latency_ns,
            send_overhead_ns,
            receive_overhead_ns,
            gap_ns,
            gap_per_byte_ns,
            overhead_per_byte_ns,
            rendezvous_bytes,
            rendezvous: rendezvous.name(),
            pieces: pieces.as_slice().len(),
            median_error_percent,
            largest_error_percent,
        })
    };
    let crowd = measured.crowd.as_ref();
    Report {
        mpi: &measured.mpi,
        processors: measured.processors,
        nodes: measured.nodes,
        links: links.filter_map(row).collect(),
        waiting: crowd.map(|crowd| crowd.waiting().name()),
        turn_ns: crowd.and_then(|crowd| crowd.turn_ns),
        regroup_turns: calibrated.regroup_turns(),
        not_measured: calibrated.not_measured.clone(),
        file: file.map(|path| path.display().to_string()),
    }
}

fn print(report: &Report<'_>) {
    let rows = report.links.iter().map(|link| {
        vec![
            link.class.to_owned(),
            link.latency_ns.to_string(),
            link.send_overhead_ns.to_string(),
            link.receive_overhead_ns.to_string(),
            link.gap_ns.to_string(),
            format!("{:.4}", link.gap_per_byte_ns),
            link.rendezvous_bytes.to_string(),
            link.rendezvous.to_owned(),
            link.pieces.to_string(),
            format!("{:.1}", link.median_error_percent),
            format!("{:.1}", link.largest_error_percent),
        ]
    });
    let header = [
        "LINKS",
        "L ns",
        "o send ns",
        "o receive ns",
        "g ns",
        "G ns/B",
        "S B",
        "ABOVE S",
        "PIECES",
        "MEDIAN ERROR %",
        "LARGEST %",
    ];
    let numbers: Vec<usize> = (1..header.len())
        .filter(|at| header[*at] != "ABOVE S")
        .collect();
    output::line(output::table(&header, &numbers, rows));
    if let Some(waiting) = report.waiting {
        let turn = report.turn_ns.map_or_else(
            || "turns not seen".into(),
            |ns| format!("turns of {:.3} ms", ns as f64 / 1e6),
        );
        let regroup = report.regroup_turns.map_or_else(String::new, |turns| {
            format!(", of {turns} one is out of step")
        });
        output::line(format!(
            "{}, {} processors: a rank that waits {waiting}; {turn}{regroup}",
            report.mpi, report.processors
        ));
    }
    for what in &report.not_measured {
        output::line(format!("not measured: {what}"));
    }
}

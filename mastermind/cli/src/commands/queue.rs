//! `mastermind queue`: throughput and waiting of a closed queueing network, by formula.
//!
//! Resources that ranks share (writers, a file system, licences) form a closed queueing network: a
//! fixed number of customers compute for a while and then visit stations, where they may have to
//! wait. Its throughput follows from mean value analysis, which is exact but grows with the product
//! of the numbers of customers of all classes; two approximations do not. The solvers are in the
//! crate `mastermind-queueing`; this file reads the network, chooses a method that fits into
//! memory, and prints residence times and waiting.
//!
//! ```text
//! [[classes]]                          CLASS    CUSTOMERS  ROUNDS/s  ROUND ms  WAITING ms  %
//! name = "compute"                     compute         64       ..        ..          ..  ..
//! customers = 64
//! think_s = 2.0                        STATION  CLASS  DEMAND ms  RESIDENCE ms  CUSTOMERS  BUSY %
//! [[stations]]                         writers  compute  40.0           ..          ..      ..
//! name = "writers"
//! servers = 2
//! demand_s = { compute = 0.04 }
//! ```
//!
//! `--cross-check` solves by all three and prints by how much their throughputs differ.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use clap::{Args, ValueEnum};
use mastermind_queueing::{
    Kind, Network, NetworkError, Solution, bard_schweitzer, exact, linearizer, read_network,
};
use serde::Serialize;

use crate::output;

/// Solve a closed queueing network: how long users of shared resources wait.
#[derive(Args)]
#[command(after_help = "Example: mastermind queue examples/queueing/io-nodes.toml --cross-check")]
pub struct Queue {
    /// The network: TOML with [[classes]] of customers and [[stations]]
    #[arg(value_name = "NETWORK.toml")]
    network: PathBuf,
    /// How it is solved; exact where that fits into memory, else linearizer, unless one is named
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Solve it by all methods, and show by how much their throughputs differ
    #[arg(long)]
    cross_check: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Method {
    /// Mean value analysis
    Exact,
    /// Its approximation by Chandy and Neuse
    Linearizer,
    /// Its approximation by Bard and Schweitzer
    BardSchweitzer,
}

impl Method {
    const ALL: [Self; 3] = [Self::Exact, Self::Linearizer, Self::BardSchweitzer];

    fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Linearizer => "linearizer",
            Self::BardSchweitzer => "bard-schweitzer",
        }
    }

    fn solve(self, network: &Network) -> Result<Solution, NetworkError> {
        match self {
            Self::Exact => exact(network),
            Self::Linearizer => linearizer(network),
            Self::BardSchweitzer => bard_schweitzer(network),
        }
    }
}

#[derive(Serialize)]
struct Report {
    method: &'static str,
    classes: Vec<ClassRow>,
    stations: Vec<StationRow>,
    /// Throughputs by the other methods, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    others: Vec<Other>,
}

#[derive(Serialize)]
struct ClassRow {
    class: String,
    customers: u32,
    /// Rounds a second of all customers together.
    throughput: f64,
    cycle_s: f64,
    think_s: f64,
    /// Time of a round in which a customer waits for others.
    waiting_s: f64,
}

#[derive(Serialize)]
struct StationRow {
    station: String,
    class: String,
    demand_s: f64,
    /// Waiting included.
    residence_s: f64,
    /// Customers there.
    queue: f64,
    /// Over all classes: the busy fraction of the servers, 0 to 1; none for a delay.
    utilisation: Option<f64>,
}

#[derive(Serialize)]
struct Other {
    method: &'static str,
    /// By class; none if the network is too large for the method.
    throughput: Option<Vec<f64>>,
    /// The greatest difference from the shown throughputs, percent.
    difference_percent: Option<f64>,
}

impl Queue {
    /// Solves the network.
    ///
    /// # Errors
    /// The file cannot be read, or is no network; the method has no solution.
    pub fn execute(self) -> anyhow::Result<ExitCode> {
        let shown = self.network.display();
        let text = fs::read_to_string(&self.network)
            .with_context(|| format!("cannot read network \"{shown}\""))?;
        let network = read_network(&text).with_context(|| format!("cannot use \"{shown}\""))?;
        let (method, solution) = match self.method {
            Some(method) => (method, method.solve(&network)?),
            None => match exact(&network) {
                Err(NetworkError::TooLarge { .. }) => (Method::Linearizer, linearizer(&network)?),
                solution => (Method::Exact, solution?),
            },
        };
        let mut report = report(&network, method, &solution);
        if self.cross_check {
            let others = Method::ALL.into_iter().filter(|other| *other != method);
            report.others = others
                .map(|other| compared(&network, other, &solution))
                .collect::<Result<_, _>>()?;
        }
        match self.json {
            true => output::json(&report)?,
            false => print(&report),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The throughputs of another method, and by how much they differ.
fn compared(network: &Network, method: Method, solution: &Solution) -> Result<Other, NetworkError> {
    let found = match method.solve(network) {
        Err(NetworkError::TooLarge { .. }) => None,
        found => Some(found?.throughput),
    };
    let difference = |found: &Vec<f64>| {
        let pairs = found
            .iter()
            .zip(&solution.throughput)
            .filter(|(_, shown)| **shown > 0.0);
        pairs
            .map(|(a, b)| 100.0 * (a / b - 1.0).abs())
            .fold(0.0, f64::max)
    };
    Ok(Other {
        method: method.name(),
        difference_percent: found.as_ref().map(difference),
        throughput: found,
    })
}

fn report(network: &Network, method: Method, solution: &Solution) -> Report {
    let classes = network.classes.iter().enumerate().map(|(r, class)| {
        let demand_s: f64 = network
            .stations
            .iter()
            .map(|station| station.demand_s[r])
            .sum();
        let cycle_s = solution.cycle_s(r);
        ClassRow {
            class: class.name.clone(),
            customers: class.customers,
            throughput: solution.throughput[r],
            cycle_s,
            think_s: class.think_s,
            // A cycle is thinking, service and waiting; the rest may be negative by rounding.
            waiting_s: (cycle_s - class.think_s - demand_s).max(0.0),
        }
    });
    let stations = network
        .stations
        .iter()
        .enumerate()
        .flat_map(|(i, station)| {
            let classes = network.classes.iter().enumerate();
            classes.map(move |(r, class)| StationRow {
                station: station.name.clone(),
                class: class.name.clone(),
                demand_s: station.demand_s[r],
                residence_s: solution.residence_s[i][r],
                queue: solution.queue[i][r],
                utilisation: (station.kind != Kind::Delay).then(|| solution.utilisation[i]),
            })
        });
    Report {
        method: method.name(),
        classes: classes.collect(),
        stations: stations.collect(),
        others: Vec::new(),
    }
}

fn print(report: &Report) {
    let ms = |seconds: f64| format!("{:.6}", 1e3 * seconds);
    let rows = report.stations.iter().map(|row| {
        vec![
            row.station.clone(),
            row.class.clone(),
            ms(row.demand_s),
            ms(row.residence_s),
            format!("{:.3}", row.queue),
            row.utilisation
                .map_or(String::new(), |busy| format!("{:.1}", 100.0 * busy)),
        ]
    });
    let header = [
        "STATION",
        "CLASS",
        "DEMAND ms",
        "RESIDENCE ms",
        "CUSTOMERS",
        "BUSY %",
    ];
    output::line(output::table(&header, &[2, 3, 4, 5], rows));
    let rows = report.classes.iter().map(|row| {
        vec![
            row.class.clone(),
            row.customers.to_string(),
            format!("{:.6}", row.throughput),
            ms(row.cycle_s),
            ms(row.waiting_s),
            format!("{:.1}", 100.0 * row.waiting_s / row.cycle_s),
        ]
    });
    let header = [
        "CLASS",
        "CUSTOMERS",
        "ROUNDS/s",
        "ROUND ms",
        "WAITING ms",
        "%",
    ];
    output::line(output::table(&header, &[1, 2, 3, 4, 5], rows));
    output::line(format!("solved by: {}", report.method));
    for other in &report.others {
        output::line(match other.difference_percent {
            Some(percent) => {
                format!(
                    "{}: throughputs differ by {percent:.3} % at most",
                    other.method
                )
            }
            None => format!("{}: the network is too large", other.method),
        });
    }
}

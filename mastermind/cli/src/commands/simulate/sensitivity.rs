//! `simulate --sensitivity`: the parameters that the simulated time depends on, by its longest path, and how much
//! latency may grow.

use mastermind_programs::ElementInfo;
use mastermind_simulation::engine::SimulationError;
use mastermind_simulation::machine::{LinkClass, Machine, Parameter};
use mastermind_simulation::sensitivity::{LongestPath, MAX_GROWTH, TimedPath, latency_tolerance};
use serde::Serialize;

use crate::output;

/// Slow-downs whose tolerances are shown. Arbitrary: each result depends only on its own.
const SLOWDOWNS: [f64; 3] = [0.01, 0.05, 0.1];

/// Most ranks that a line names.
const MAX_NAMED: usize = 5;

/// Sensitivities of a simulated time.
#[derive(Serialize)]
pub(super) struct Sensitivities {
    /// Without noise of the machine.
    makespan_ns: u64,
    /// Parameters of links and elements of work on the longest path, the longest time first.
    rows: Vec<Row>,
    /// By rank.
    ranks_ns: Vec<u64>,
    /// How often the path goes from one rank to another.
    crossings: u64,
    /// Empty if all latencies of the machine are 0.
    tolerance: Vec<Tolerated>,
}

/// A parameter of a class of links, or an element.
#[derive(Serialize)]
struct Row {
    /// "work", or the name of a parameter in a machine file.
    parameter: &'static str,
    /// The element, or the class of links.
    of: String,
    place: String,
    /// How often it occurs on the path; for a parameter of links this is the derivative of the time.
    count: u64,
    /// The counted unit.
    counts: &'static str,
    /// Time on the path that is proportional to it.
    time_ns: u64,
    /// Relative to the time of the run: its growth if the parameter is doubled and the path stays.
    percent: f64,
}

#[derive(Serialize)]
struct Tolerated {
    slowdown_percent: f64,
    /// By how much all latencies may grow, percent; none if the time does not depend on them.
    growth_percent: Option<f64>,
    /// Whether a simulation with these latencies took that much longer; otherwise the growth is an upper bound.
    confirmed: bool,
}

impl Sensitivities {
    /// Follows the longest path of a simulation, and simulates again with longer latencies.
    ///
    /// # Arguments
    /// * `elements` - of the work of the path
    /// * `simulate` - returns the time and the path on a machine
    ///
    /// # Errors
    /// Those of the simulation.
    pub(super) fn of(
        machine: &Machine,
        elements: &[ElementInfo],
        simulate: &mut dyn FnMut(&Machine) -> TimedPath,
    ) -> Result<Self, SimulationError> {
        if machine.noise.is_some() {
            output::complain!("note: sensitivities are those of the machine without its noise");
        }
        let machine = Machine {
            noise: None,
            ..*machine
        };
        let (makespan_ns, path) = simulate(&machine)?;
        let mut with_latency = |factor: f64| {
            let mut scaled = machine;
            scaled.scale_latency(factor);
            simulate(&scaled)
        };
        let mut tolerance = Vec::new();
        // Latencies of 0 stay 0, whatever the factor.
        let mut links = LinkClass::ALL
            .into_iter()
            .map(|class| machine.link_of(class));
        let has_latency = links.any(|link| link.latency_ns > 0);
        for slowdown in SLOWDOWNS.into_iter().filter(|_| has_latency) {
            let found = latency_tolerance((makespan_ns, &path), slowdown, &mut with_latency)?;
            tolerance.push(Tolerated {
                slowdown_percent: 100.0 * slowdown,
                growth_percent: found.growth.map(|growth| 100.0 * growth),
                confirmed: found.confirmed,
            });
        }
        Ok(Self {
            makespan_ns,
            rows: rows(&path, makespan_ns, elements),
            ranks_ns: path.ranks_ns,
            crossings: path.crossings,
            tolerance,
        })
    }

    /// Prints it.
    pub(super) fn print(&self) {
        let rows = self.rows.iter().filter(|row| row.time_ns > 0);
        let rows = rows.map(|row| {
            vec![
                row.parameter.to_owned(),
                row.of.clone(),
                row.place.clone(),
                format!("{} {}", row.count, row.counts),
                format!("{:.6}", row.time_ns as f64 / 1e6),
                format!("{:.1}", row.percent),
            ]
        });
        let header = ["PARAMETER", "OF", "PLACE", "ON THE PATH", "TIME ms", "%"];
        output::line("\nThe longest path, by what its time is proportional to:\n");
        output::line(output::table(&header, &[3, 4, 5], rows));
        let mut ranks: Vec<_> = self.ranks_ns.iter().enumerate().collect();
        ranks.retain(|(_, ns)| **ns > 0);
        ranks.sort_by_key(|(rank, ns)| (std::cmp::Reverse(**ns), *rank));
        let share = |ns: u64| 100.0 * ns as f64 / self.makespan_ns.max(1) as f64;
        let named = ranks.iter().take(MAX_NAMED);
        let named: Vec<_> = named
            .map(|(rank, ns)| format!("{rank} ({:.0} %)", share(**ns)))
            .collect();
        output::line(format!(
            "the path is on {} of {} ranks and goes from one to another {} times; longest on rank {}",
            ranks.len(),
            self.ranks_ns.len(),
            self.crossings,
            named.join(", "),
        ));
        if self.tolerance.is_empty() {
            output::line(
                "all latencies of the machine are 0: how much of them is tolerated is unknown",
            );
        }
        for one in &self.tolerance {
            let longer = |percent: f64| match percent < 200.0 {
                true => format!("{percent:.1} % longer"),
                false => format!("{:.1} times as long", 1.0 + percent / 100.0),
            };
            let limit = match (one.growth_percent, one.confirmed) {
                (None, _) => format!("{MAX_GROWTH} times as long: they are hidden"),
                (Some(growth), true) => longer(growth),
                (Some(growth), false) => format!("at most {}", longer(growth)),
            };
            output::line(format!(
                "for a run that takes {:.0} % longer, all latencies may be {limit}",
                one.slowdown_percent
            ));
        }
    }
}

/// All that is on the path, the longest time first.
fn rows(path: &LongestPath, makespan_ns: u64, elements: &[ElementInfo]) -> Vec<Row> {
    let percent = |time_ns: u64| 100.0 * time_ns as f64 / makespan_ns.max(1) as f64;
    let work = elements.iter().zip(&path.work).map(|(element, found)| Row {
        parameter: "work",
        of: element.name.clone(),
        place: element.place.clone(),
        count: found.count,
        counts: "times",
        time_ns: found.time_ns,
        percent: percent(found.time_ns),
    });
    let classes = LinkClass::ALL.into_iter();
    let parameters = classes.flat_map(|class| Parameter::ALL.map(|one| (class, one)));
    let links = parameters.map(|(class, parameter)| {
        let found = path.of(class, parameter);
        Row {
            parameter: parameter.name(),
            of: class.name().to_owned(),
            place: String::new(),
            count: found.count,
            counts: parameter.counts(),
            time_ns: found.time_ns,
            percent: percent(found.time_ns),
        }
    });
    let mut rows: Vec<Row> = work.chain(links).filter(|row| row.count > 0).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.time_ns));
    rows
}

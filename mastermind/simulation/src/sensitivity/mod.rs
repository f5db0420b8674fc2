//! Which parameters a simulated time depends on, and how much latency may grow: from the longest path of one
//! simulation.
//!
//! A simulated time is the greatest of many sums, one for each chain of stages that wait for each other. The greatest of them is the
//! longest path. While it stays the longest, a change of a parameter changes the time by as much as the parameter occurs on the path:
//! the derivative is a count of messages or bytes, and the parameter times its count is the part of the time that is
//! proportional to it. Where the path changes the time grows faster, never slower, as the maximum of linear functions is convex.
//!
//! ```
//! use mastermind_programs::goal::read_goal;
//! use mastermind_simulation::engine::{Limits, schedule_path};
//! use mastermind_simulation::machine::{LinkClass, Machine, Parameter};
//!
//! let schedule = "num_ranks 2
//!     rank 0 {
//!     a: calc 1000
//!     b: send 8b to 1
//!     b requires a
//!     }
//!     rank 1 {
//!     recv 8b from 0
//!     }";
//! let (outcome, path) =
//!     schedule_path(read_goal(schedule.as_bytes())?, &Machine::default(), Limits::default(), &mut |_| ())?;
//! // Work, o + L on the way, o + 7 G at the receiver.
//! assert_eq!(outcome.makespan_ns, 1000 + 1500 + 2500 + 1500 + 7);
//! assert_eq!(path.work[0].time_ns, 1000);
//! let latency = path.of(LinkClass::Inter, Parameter::Latency);
//! assert_eq!((latency.count, latency.time_ns), (1, 2500));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Source
//! S. Shen et al., "LLAMP: Assessing Network Latency Tolerance of HPC Applications with Linear Programming", SC 2024, sections II
//! and IV (latency sensitivity and tolerance). There the convex function is followed by a linear program; here by simulations
//! at the points where tangents meet the wanted time.

pub(crate) mod recorder;

use crate::engine::SimulationError;
use crate::machine::{LinkClass, Machine, Parameter};
use recorder::{Node, Recorder, Step};

/// A parameter that a simulated time depends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sensitivity {
    /// How often it occurs on the longest path: messages, bytes behind the first of each message, or pieces of work. Of a parameter
    /// of a link this is the derivative of the time.
    pub count: u64,
    /// Its time on the longest path, nanoseconds: the derivative times the value.
    pub time_ns: u64,
}

impl Sensitivity {
    fn add(&mut self, count: u64, time_ns: u64) {
        self.count += count;
        self.time_ns += time_ns;
    }
}

/// The longest path of a simulation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongestPath {
    /// By class of links and parameter, in the orders of [`LinkClass::ALL`] and [`Parameter::ALL`].
    links: [[Sensitivity; 6]; 4],
    /// By element: of a program its elements, of a schedule one for all calculations.
    pub work: Vec<Sensitivity>,
    /// By rank: its time on the path, nanoseconds. The flight of a message counts for its receiver.
    pub ranks_ns: Vec<u64>,
    /// How often the path goes from one rank to another.
    pub crossings: u64,
    /// Time on the path that no parameter and no work explains, nanoseconds.
    pub other_ns: u64,
}

impl LongestPath {
    /// The sensitivity to a parameter of a class of links.
    pub fn of(&self, class: LinkClass, parameter: Parameter) -> Sensitivity {
        self.links[class as usize][parameter as usize]
    }

    /// The time on the path that grows with the latencies, nanoseconds.
    pub fn latency_ns(&self) -> u64 {
        let classes = LinkClass::ALL.into_iter();
        let latencies = classes.map(|class| self.of(class, Parameter::Latency).time_ns);
        latencies.sum()
    }

    /// The time that follows for latencies that are `factor` times as long, while the path stays the longest, nanoseconds.
    pub fn time_ns(&self, makespan_ns: u64, factor: f64) -> f64 {
        makespan_ns as f64 + self.latency_ns() as f64 * (factor - 1.0)
    }

    /// # Arguments
    /// * `class_of` - the class of the link between two ranks
    /// * `n_elements`, `n_ranks` - elements of work, ranks
    pub(crate) fn new(
        recorder: &Recorder,
        machine: &Machine,
        class_of: impl Fn(u32, u32) -> LinkClass,
        (n_elements, n_ranks): (usize, usize),
    ) -> Self {
        let mut path = Self {
            links: Default::default(),
            work: vec![Sensitivity::default(); n_elements],
            ranks_ns: vec![0; n_ranks],
            crossings: 0,
            other_ns: 0,
        };
        let mut later_rank = None;
        for (Node { at, rank, step, .. }, began) in recorder.longest_path() {
            let time_ns = at - began;
            path.ranks_ns[rank as usize] += time_ns;
            path.crossings += u64::from(later_rank.is_some_and(|later| later != rank));
            later_rank = Some(rank);
            match step {
                Step::Other => path.other_ns += time_ns,
                Step::Work { element } => path.work[element as usize].add(1, time_ns),
                Step::Message { stage, peer, bytes } => {
                    let class = class_of(rank, peer);
                    for (parameter, count, ns) in stage.terms(machine.link_of(class), bytes) {
                        path.links[class as usize][parameter as usize].add(count, ns);
                    }
                }
            }
        }
        path
    }
}

/// Why the longest path of a simulation is not followed, in words that continue "cannot follow the longest path: ";
/// `None` if it is.
pub(crate) fn obstacle(machine: &Machine, is_oversubscribed: bool) -> Option<&'static str> {
    if is_oversubscribed {
        Some("nodes have more processes than processors, expected one for each")
    } else if machine.has_shared_links() {
        Some("the machine counts \"uplinks\", which messages wait for, expected none")
    } else if machine.noise.is_some() {
        Some("the machine has [noise], expected none")
    } else {
        None
    }
}

/// The time of a simulation, nanoseconds, and its longest path.
pub type TimedPath = Result<(u64, LongestPath), SimulationError>;

/// Factor by which all latencies may grow until a run takes a given part longer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerance {
    /// How much longer: 0.01 for one per cent.
    pub slowdown: f64,
    /// By how much the latencies grow: 0.5 for half as much again. `None` where the time does not depend on them
    /// up to [`MAX_GROWTH`].
    pub growth: Option<f64>,
    /// Whether a simulation with these latencies took the wanted time; otherwise the growth is an upper bound.
    pub confirmed: bool,
}

/// Growth of latencies at which nothing more is tried: 10,000 times as much, from the memory of a node to another continent.
pub const MAX_GROWTH: f64 = 1e4;

/// Simulations for one tolerance. Each goes to where another path becomes the longest; LLAMP's applications had up to about ten such
/// points within 100 µs.
const MAX_SIMULATIONS: usize = 16;

/// How exactly a wanted slow-down is met, as a part of it.
const PRECISION: f64 = 0.01;

/// Finds the factor by which all latencies may grow until a run takes a part longer: Newton's method from above, which
/// on a convex, piecewise linear function reaches the solution in at most as many steps as there are pieces in between.
///
/// # Arguments
/// * `base` - time in nanoseconds and longest path with the present latencies
/// * `slowdown` - how much longer, 0.01 for one per cent
/// * `simulate` - gives both for latencies multiplied by a factor
///
/// # Errors
/// The errors of `simulate`.
pub fn latency_tolerance(
    base: (u64, &LongestPath),
    slowdown: f64,
    simulate: &mut dyn FnMut(f64) -> TimedPath,
) -> Result<Tolerance, SimulationError> {
    let (base_ns, wanted_ns) = (base.0 as f64, base.0 as f64 * (1.0 + slowdown));
    let tolerance = |growth: Option<f64>, confirmed| Tolerance {
        slowdown,
        growth,
        confirmed,
    };
    // The tangent at `factor` of a time.
    let (mut factor, mut time_ns, mut latency_ns) = (1.0, base_ns, base.1.latency_ns() as f64);
    for _ in 0..MAX_SIMULATIONS {
        let slope = latency_ns / factor;
        // Without a slope the next piece is searched at the end of the range.
        let next = match slope > 0.0 {
            true => factor + (wanted_ns - time_ns) / slope,
            false => MAX_GROWTH,
        };
        let next = next.min(MAX_GROWTH);
        let (makespan_ns, path) = simulate(next)?;
        (factor, time_ns, latency_ns) = (next, makespan_ns as f64, path.latency_ns() as f64);
        if (time_ns - wanted_ns).abs() <= PRECISION * slowdown * base_ns {
            return Ok(tolerance(Some(factor - 1.0), true));
        }
        if factor == MAX_GROWTH && time_ns < wanted_ns {
            return Ok(tolerance(None, true));
        }
    }
    Ok(tolerance(Some(factor - 1.0), false))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path with so much time that is proportional to the latencies.
    fn path(latency_ns: u64) -> LongestPath {
        let mut links = [[Sensitivity::default(); 6]; 4];
        links[LinkClass::Inter as usize][Parameter::Latency as usize].time_ns = latency_ns;
        LongestPath {
            links,
            work: Vec::new(),
            ranks_ns: Vec::new(),
            crossings: 0,
            other_ns: 0,
        }
    }

    /// The greatest of 1, 0.9 + 0.05 f and 0.2 + 0.3 f seconds.
    fn pieces(factor: f64) -> TimedPath {
        let lines = [(1e9, 0.0), (0.9e9, 0.05e9), (0.2e9, 0.3e9)];
        let lines = lines.map(|(constant, slope)| (constant + slope * factor, slope * factor));
        let longest = lines.into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        let (time_ns, latency_ns) = longest.expect("three");
        Ok((time_ns as u64, path(latency_ns as u64)))
    }

    #[test]
    fn a_tolerance_lies_on_the_piece_that_holds_there() {
        let (base_ns, base) = pieces(1.0).expect("a time");
        // The second line is the highest from 2 on, the third from 2.8 on.
        for (slowdown, expected) in [(0.01, 2.2), (0.05, 8.5 / 3.0), (0.5, 13.0 / 3.0)] {
            let found = latency_tolerance((base_ns, &base), slowdown, &mut pieces);
            let found = found.expect("a tolerance");
            let growth = found.growth.expect("bounded");
            assert!(found.confirmed);
            assert!(
                (growth + 1.0 - expected).abs() < 0.011,
                "{slowdown}: {growth}"
            );
        }
    }

    #[test]
    fn a_time_without_latency_tolerates_any() {
        let constant = |_: f64| Ok((1000, path(0)));
        let found = latency_tolerance((1000, &path(0)), 0.01, &mut { constant });
        let found = found.expect("a tolerance");
        assert_eq!((found.growth, found.confirmed), (None, true));
    }
}

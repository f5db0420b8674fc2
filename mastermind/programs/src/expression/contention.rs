//! Functions of expressions that give times under contention, by formula.

use mastermind_queueing::{Class, Kind, Lopc, Network, Station};

/// A function of four numbers that takes contention into account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contention {
    /// `closed_queue(customers, think, service, servers)`.
    ClosedQueue,
    /// `lopc(work, latency, handler, variation)`.
    Lopc,
}

impl Contention {
    /// Each with its name.
    pub const ALL: [(&'static str, Self); 2] =
        [("closed_queue", Self::ClosedQueue), ("lopc", Self::Lopc)];

    /// Numbers that each takes.
    pub const ARGUMENTS: usize = 4;

    /// The function of that name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, function)| *function)
    }

    /// The value; NaN if it is undefined.
    pub fn apply(self, [a, b, c, d]: [f64; 4]) -> f64 {
        match self {
            Self::ClosedQueue => closed_queue(a, b, c, d),
            Self::Lopc => lopc(a, b, c, d),
        }
    }
}

/// Most customers of [`closed_queue`]: the analysis takes a step for each.
const MAX_CUSTOMERS: f64 = 1e6;

/// The mean time of a round of customers that each compute for a while and then need one of some servers, by exact mean value analysis.
///
/// # Arguments
/// * `customers`, `servers` - rounded to whole numbers; at least 1, at most 10⁶ and 10³
/// * `think` - time of a round without the servers, seconds, ≥ 0
/// * `service` - mean time at a server, seconds, ≥ 0; exponential
///
/// # Returns
/// Seconds; NaN if an argument is invalid.
pub fn closed_queue(customers: f64, think: f64, service: f64, servers: f64) -> f64 {
    let (customers, servers) = (customers.round(), servers.round());
    if !((1.0..=MAX_CUSTOMERS).contains(&customers) && (1.0..=1e3).contains(&servers)) {
        return f64::NAN;
    }
    let network = Network {
        stations: vec![Station {
            name: String::new(),
            kind: Kind::Queue {
                servers: servers as u32,
            },
            demand_s: vec![service],
        }],
        classes: vec![Class {
            name: String::new(),
            customers: customers as u32,
            think_s: think,
        }],
    };
    mastermind_queueing::exact(&network).map_or(f64::NAN, |solution| solution.cycle_s(0))
}

/// The mean time of a round of requests and replies, where a thread on each processor computes and handles the messages of the others
/// ([`mastermind_queueing::lopc`]).
///
/// # Arguments
/// * `work`, `latency`, `handler` - W, L and o, seconds, ≥ 0
/// * `variation` - squared coefficient of variation of the handling times, ≥ 0
///
/// # Returns
/// Seconds; NaN if an argument is invalid.
pub fn lopc(work: f64, latency: f64, handler: f64, variation: f64) -> f64 {
    let it = Lopc {
        work_s: work,
        latency_s: latency,
        handler_s: handler,
        variation,
    };
    mastermind_queueing::lopc(&it).map_or(f64::NAN, |times| times.round_s)
}

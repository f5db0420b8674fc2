//! Contention by formula: how long things take that share processors, network interfaces and links, without simulating them.
//!
//! A closed network has stations and classes of customers, which go round among the stations for ever: the ranks of a program
//! between their own work and what they share. Exact mean value analysis takes time that grows with the product of the numbers of
//! customers; the approximations take none that depends on them. LoPC is one round of requests and replies among threads whose messages
//! interrupt each other.
//!
//! | function | is | error |
//! |---|---|---|
//! | [`exact`] | mean value analysis | none, for networks with a product form |
//! | [`linearizer`] | its approximation that estimates how queue shares change with the population | about 0.2 % of the throughput |
//! | [`bard_schweitzer`] | its approximation that takes queue shares as constant | about 3 % |
//! | [`lopc`] | a thread on each processor, requests and replies | about 1 % |
//!
//! The errors are medians, on random networks and by an event simulation (`cargo bench -p mastermind-queueing`, `tests/lopc.rs`). Pure
//! functions: nothing here prints or reads a file.
//!
//! ```
//! use mastermind_queueing::{Class, Kind, Network, Station, exact};
//!
//! // Four ranks compute for 10 ms, and then need a link for 2 ms.
//! let network = Network {
//!     stations: vec![Station { name: "link".into(), kind: Kind::Queue { servers: 1 }, demand_s: vec![2e-3] }],
//!     classes: vec![Class { name: "ranks".into(), customers: 4, think_s: 10e-3 }],
//! };
//! let solved = exact(&network)?;
//! // Each waits for the others now and then.
//! assert!(solved.cycle_s(0) > 12e-3 && solved.cycle_s(0) < 14e-3);
//! # Ok::<(), mastermind_queueing::NetworkError>(())
//! ```
//!
//! # Source
//! M. Reiser, S. S. Lavenberg, "Mean-Value Analysis of Closed Multichain Queuing Networks", J. ACM 27(2), 1980 (exact, with several
//! servers); P. J. Schweitzer 1979 and Y. Bard 1979; K. M. Chandy, D. Neuse, "Linearizer", Comm. ACM 25(2), 1982; A. Seidmann, P. J.
//! Schweitzer, S. Shalev-Oren 1987 (several servers); M. I. Frank, A. Agarwal, M. K. Vernon, "LoPC", PPoPP 1997.

mod approximate;
mod exact;
mod lopc;
mod network;
mod read;

pub use approximate::{bard_schweitzer, linearizer};
pub use exact::exact;
pub use lopc::{Lopc, LopcTimes, lopc};
pub use network::{Class, Kind, Network, NetworkError, Solution, Station};
pub use read::read_network;

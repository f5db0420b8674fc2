//! The simulation itself: discrete events, one program for all processes.
//!
//! Each process is a place in the program, its variables, and three clocks (processor, sending and
//! receiving interface). A message needs at least `o + L` from its send to its arrival, so all that
//! happens in a window of that length at one process depends on nothing that happens in it at
//! another: the windows are taken in order, the processes of one in any. Where the program alone tells
//! who may send to a process, it runs on until one of those may send again. Memory is that of the
//! processes and of the messages on their way.
//!
//! A send at `t` occupies the processor `o + (s-1) O` and the sending interface `g + (s-1) G`; it
//! arrives at `t + o + L`, waits there for the processor and the receiving interface, and occupies
//! them `o + max((s-1) O, (s-1) G)` and `g + (s-1) G`, also where no receive waits for it. A receive
//! is free. A message of more than S bytes asks first: request and answer take an `o` at both ends and
//! an `L` on the way, and no interface.
//!
//! Events of one process that fall on the same nanosecond are taken in the order of the times at which
//! they were settled, then of the times at which what settled them was, seven times over;
//! [`Outcome::undecided`] counts those that this does not tell apart.
//!
//! # Source
//! T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010 (the rules); V. Adve et al., "POEMS",
//! IEEE TSE 2000, Eq. 1 to 3 (messages that ask first).

mod advance;
mod ahead;
mod busy;
mod calendar;
mod chain;
mod crowd;
mod deliver;
mod eager;
mod error;
mod finish;
mod heap;
mod lists;
mod messages;
mod neighbours;
mod outcome;
mod pages;
mod process;
mod region;
mod ring;
mod run;
mod warm;

pub use error::{Blocked, SimulationError};
pub use outcome::{ElementResult, Outcome, ProcessResult, Progress, Slice};
pub use run::{simulate, simulate_traced, simulate_with};

pub(crate) use pages::reserve;
pub(crate) use ring::Filled;
pub(crate) use warm::fetch;

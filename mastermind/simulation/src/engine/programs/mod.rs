//! The engine for programs: one program, run by all processes, each with variables and clocks of its own.
//!
//! A process is a place in the program, its variables, and three clocks (processor, sending and receiving interface). A
//! message needs at least `o + L` from its send to its arrival, so events in a window of that length at one process do
//! not depend on events in it at another: the windows are taken in order, the processes of one in any. Messages that
//! share links pass them at the end of the window in which they left (`shared_links`). Memory is proportional to the
//! processes and the messages in flight.
//!
//! If all messages are eager, `eager` runs the program: a process is visited when it may send next, then takes the
//! messages that came in between, and runs ahead if the program determines until when no rank sends to it (`horizon`,
//! `neighbours`). If they also block and go to ranks at fixed distances, `fixed_distances` does so with less state.
//! Both have the processes of `ranks` and the loop of `visits`. All other programs, oversubscribed nodes, links of
//! several classes and traces use the engine of `run`.
//!
//! A visit (`run`) takes the events of a process in order: its own operation (`advance`), or a message that arrives
//! (`deliver`). Costs come from `loggp`, the order of events from `events`; where nodes have more
//! processes than processors, `scheduler` takes the visits over.

pub(crate) mod advance;
mod costs;
mod deliver;
mod eager;
mod finish;
mod fixed_distances;
mod horizon;
mod neighbours;
mod prefetch;
pub(crate) mod process;
mod ranks;
pub(crate) mod run;
mod shared_links;
mod visits;

//! Communicators: the serial back end and the launcher's view of the ranks.
//!
//! * [`SerialCommunicator`] is the communicator of one rank without MPI: every operation that a
//!   [`Communicator`] has, on a message box in memory. The MPI back end is `cca-comm-mpi`.
//! * [`launched`] reads from the environment whether a launcher started this process, as which rank
//!   of how many; [`compare_sizes`] compares that with MPI's own number.
//! * [`Launch`] names the launch that it belongs to, the same for all its ranks;
//! * [`launch_command`] gives the line that starts ranks under a launcher.
//!
//! ```
//! use cca_comm::{Communicator, Reduction, SerialCommunicator};
//!
//! let comm = SerialCommunicator::new();
//! let receive = comm.receive(0, 7, 2)?;
//! let send = comm.send(0, 7, vec![1.0, 2.0].into())?;
//! let mut requests = [send, receive];
//! let done = comm.wait_some(&mut requests)?;
//! assert_eq!(requests, [0, 0]);
//! assert_eq!(done[1].data.as_slice(), [1.0, 2.0]);
//!
//! let mut dt = [0.25];
//! comm.all_reduce(Reduction::Min, &mut dt)?;
//! # Ok::<(), cca_comm::CommError>(())
//! ```

mod command;
mod communicator;
mod environment;
mod error;
mod launch;
mod message;
mod serial;
mod sizes;

pub use cca_ports::{Completion, Reduction};
pub use command::{MpiKind, find_launcher, launch_command, version_of};
pub use communicator::{Communicator, Provided};
pub use environment::{LaunchError, Launched, Launcher, launched};
pub use error::CommError;
pub use launch::{Launch, is_started_by_rank};
pub use message::{MAX_VALUES, check_length, check_rank, check_tag};
pub use serial::SerialCommunicator;
pub use sizes::{MpiSize, SizeError, compare_sizes};

//! A plan carried out by one rank: messages to and from the others.

use std::collections::BTreeSet;

use cca_ports::{CommPort, PortError, RSliceMut, RVec};
use hydro_ports::Traffic;

use crate::Step;

/// Tag of the messages; those of one transfer are finished before the next begins.
const TAG: i32 = 2;

/// Arrays that the steps of a plan read and write.
pub trait Arrays {
    /// Appends the values that a step copies, [`CellBox::doubles`](hydro_ports::CellBox::doubles) of its region.
    fn read(&self, step: &Step, message: &mut RVec<f64>);

    /// Writes the values that a step copied.
    fn write(&mut self, step: &Step, values: &[f64]);
}

/// Messages of one rank, of one transfer or of several.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Messages {
    doubles: usize,
    n: usize,
    peers: BTreeSet<usize>,
}

impl Messages {
    /// One more, to or from a rank, of some doubles.
    pub fn add(&mut self, peer: usize, doubles: usize) {
        self.doubles += doubles;
        self.n += 1;
        self.peers.insert(peer);
    }

    /// A reduction of some doubles over all ranks; a single rank sends nothing.
    pub fn add_reduction(&mut self, ranks: usize, doubles: usize) {
        if ranks > 1 {
            self.doubles += doubles;
            self.n += 1;
        }
    }

    /// Adds the messages of another transfer.
    pub fn append(&mut self, other: Messages) {
        self.doubles += other.doubles;
        self.n += other.n;
        self.peers.extend(other.peers);
    }

    /// Number of bytes, messages and ranks.
    pub fn traffic(&self) -> Traffic {
        Traffic {
            bytes: (self.doubles * size_of::<f64>()) as u64,
            messages: self.n as u64,
            neighbours: self.peers.len() as u64,
        }
    }
}

/// The part of a plan that concerns one rank; at most one message to each other rank.
#[derive(Debug, Default)]
pub struct Transfer {
    /// Steps that write on this rank, in the plan's order: the step, and its message unless the data is read here
    /// too.
    incoming: Vec<(Step, Option<usize>)>,
    receives: Vec<(usize, usize)>,
    sends: Vec<(usize, Vec<Step>)>,
}

impl Transfer {
    /// The part of `rank`.
    ///
    /// # Arguments
    /// * `steps` - the plan, in the same order on every rank
    /// * `ranks_of` - the ranks of the patches that a step reads and writes
    pub fn new(steps: &[Step], rank: usize, ranks_of: impl Fn(&Step) -> (usize, usize)) -> Self {
        let mut transfer = Transfer::default();
        let Transfer {
            incoming,
            receives,
            sends,
        } = &mut transfer;
        for step in steps {
            let (from, to) = ranks_of(step);
            if to == rank && from == rank {
                incoming.push((*step, None));
            } else if to == rank {
                let known = receives.iter().position(|(peer, _)| *peer == from);
                let message = known.unwrap_or_else(|| {
                    receives.push((from, 0));
                    receives.len() - 1
                });
                receives[message].1 += step.region.doubles();
                incoming.push((*step, Some(message)));
            } else if from == rank {
                match sends.iter_mut().find(|(peer, _)| *peer == to) {
                    Some((_, steps)) => steps.push(*step),
                    None => sends.push((to, vec![*step])),
                }
            }
        }
        transfer
    }

    /// The messages of one run.
    pub fn messages(&self) -> Messages {
        let mut messages = Messages::default();
        for (peer, doubles) in &self.receives {
            messages.add(*peer, *doubles);
        }
        for (peer, steps) in &self.sends {
            messages.add(*peer, steps.iter().map(|step| step.region.doubles()).sum());
        }
        messages
    }

    /// Copies, sends and receives. Data is written in the plan's order, whatever the order of arrival, so that sums do
    /// not depend on the number of ranks.
    ///
    /// # Returns
    /// The messages that it took.
    ///
    /// # Errors
    /// The communicator's.
    pub fn run<C: CommPort>(
        &self,
        comm: &C,
        arrays: &mut impl Arrays,
    ) -> Result<Messages, PortError> {
        let mut requests = Vec::with_capacity(self.receives.len() + self.sends.len());
        for (peer, length) in &self.receives {
            requests.push(comm.receive(*peer as i32, TAG, *length)?);
        }
        for (peer, steps) in &self.sends {
            let mut message = RVec::new();
            steps
                .iter()
                .for_each(|step| arrays.read(step, &mut message));
            requests.push(comm.send(*peer as i32, TAG, message)?);
        }
        let received = self.wait(comm, &mut requests)?;
        let mut rest: Vec<&[f64]> = received.iter().map(|message| &message[..]).collect();
        let mut copied = RVec::new();
        for (step, message) in &self.incoming {
            let Some(message) = message else {
                copied.clear();
                arrays.read(step, &mut copied);
                arrays.write(step, &copied);
                continue;
            };
            let (values, after) = rest[*message].split_at(step.region.doubles());
            rest[*message] = after;
            arrays.write(step, values);
        }
        Ok(self.messages())
    }

    /// Waits for all requests; the messages received, in the order of `receives`.
    fn wait<C: CommPort>(
        &self,
        comm: &C,
        requests: &mut [u64],
    ) -> Result<Vec<RVec<f64>>, PortError> {
        let mut received: Vec<RVec<f64>> = self.receives.iter().map(|_| RVec::new()).collect();
        while requests.iter().any(|request| *request != 0) {
            let finished = comm.wait_some(RSliceMut::from_mut_slice(requests))?;
            if finished.is_empty() {
                return Err(PortError::failed(
                    "cannot exchange cells: no request finished, expected at least 1",
                ));
            }
            for completion in finished {
                if let Some(message) = received.get_mut(completion.index) {
                    *message = completion.data;
                }
            }
        }
        for ((peer, length), message) in self.receives.iter().zip(&received) {
            if message.len() != *length {
                return Err(PortError::failed(format_args!(
                    "cannot exchange cells with rank {peer}: {} doubles, expected {length}",
                    message.len()
                )));
            }
        }
        Ok(received)
    }
}

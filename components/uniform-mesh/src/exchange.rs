//! The ghost plan carried out by messages.

use std::collections::BTreeSet;
use std::mem;

use cca_ports::{CommPort, PortError, RSliceMut, RVec};
use hydro_ports::{Patch, Traffic};

use crate::{GhostCopy, GhostPlan, copy, pack, unpack};

/// Tag of the messages; a rank has at most one in flight to another.
const TAG: i32 = 1;

/// A patch of this rank with one of its arrays.
#[derive(Clone, Debug)]
pub struct Field {
    /// The patch.
    pub patch: Patch,
    /// Its array, shape `[NVAR][ny + 2g][nx + 2g]`.
    pub values: RVec<f64>,
}

/// Copies, sends and receives of one rank; one message for each other rank.
#[derive(Debug)]
pub struct Exchange {
    /// Number of the first patch of this rank.
    first: usize,
    local: Vec<GhostCopy>,
    sends: Vec<Message>,
    receives: Vec<Message>,
    /// Buffers of earlier messages, to be sent again.
    spare: Vec<RVec<f64>>,
}

#[derive(Debug)]
struct Message {
    peer: i32,
    copies: Vec<GhostCopy>,
    length: usize,
}

impl Message {
    fn new((peer, copies): (usize, Vec<GhostCopy>)) -> Self {
        let length = copies.iter().map(|copy| copy.source.len()).sum();
        Message {
            peer: peer as i32,
            copies,
            length,
        }
    }
}

impl Exchange {
    /// The part of a plan that concerns `rank`, whose patches have the numbers from `first`.
    pub fn new(plan: &GhostPlan, rank: usize, first: usize) -> Self {
        Exchange {
            first,
            local: plan.local(rank),
            sends: plan.sends(rank).into_iter().map(Message::new).collect(),
            receives: plan.receives(rank).into_iter().map(Message::new).collect(),
            spare: Vec::new(),
        }
    }

    /// Fills the ghost cells that lie in other patches. Collective; local copies are made while messages travel.
    ///
    /// # Arguments
    /// * `fields` - this rank's patches, in their order
    ///
    /// # Returns
    /// This rank's messages.
    ///
    /// # Errors
    /// The communicator's.
    pub fn run<C: CommPort>(
        &mut self,
        comm: &C,
        fields: &mut [Field],
    ) -> Result<Traffic, PortError> {
        let mut requests = Vec::with_capacity(self.receives.len() + self.sends.len());
        for message in &self.receives {
            requests.push(comm.receive(message.peer, TAG, message.length)?);
        }
        for message in &self.sends {
            let mut buffer = self.spare.pop().unwrap_or_default();
            buffer.clear();
            for copy in &message.copies {
                let Field { patch, values } = &fields[copy.from - self.first];
                pack(patch.shape, values, copy.source, &mut buffer);
            }
            requests.push(comm.send(message.peer, TAG, buffer)?);
        }
        self.copy_local(fields);
        while requests.iter().any(|request| *request != 0) {
            let finished = comm.wait_some(RSliceMut::from_mut_slice(&mut requests))?;
            if finished.is_empty() {
                return Err(PortError::failed(
                    "cannot fill ghost cells: no request finished, expected at least 1",
                ));
            }
            for completion in finished {
                if let Some(message) = self.receives.get(completion.index) {
                    self.deliver(message, &completion.data, fields);
                }
                if self.spare.len() < self.sends.len() {
                    self.spare.push(completion.data);
                }
            }
        }
        Ok(self.traffic())
    }

    /// The messages of one run.
    pub fn traffic(&self) -> Traffic {
        let all = || self.sends.iter().chain(&self.receives);
        let doubles: usize = all().map(|message| message.length).sum();
        let peers: BTreeSet<i32> = all().map(|message| message.peer).collect();
        Traffic {
            bytes: (doubles * size_of::<f64>()) as u64,
            messages: all().count() as u64,
            neighbours: peers.len() as u64,
        }
    }

    fn copy_local(&self, fields: &mut [Field]) {
        for step in &self.local {
            let (from, to) = (step.from - self.first, step.to - self.first);
            // No patch is copied to itself, so that the target can be lifted out for the copy.
            let mut target = mem::take(&mut fields[to].values);
            copy(
                (fields[from].patch.shape, &fields[from].values, step.source),
                (fields[to].patch.shape, &mut target, step.target),
            );
            fields[to].values = target;
        }
    }

    fn deliver(&self, message: &Message, data: &[f64], fields: &mut [Field]) {
        let mut rest = data;
        for copy in &message.copies {
            let Field { patch, values } = &mut fields[copy.to - self.first];
            rest = unpack(patch.shape, rest, copy.target, values);
        }
    }
}

//! The communicator of one rank, without MPI.
//!
//! A component that uses the communicator port runs unchanged in a single process: collective
//! operations return their own input, and the rank may send to itself. Matching follows MPI, so
//! that a program behaves as it would on one rank there: a message goes to the oldest open receive
//! with its tag, or waits in a queue of unexpected messages. The one difference is a wait that
//! nothing can end. MPI would hang; here it is [`CommError::NeverSent`], because no other rank
//! exists that might still send.
//!
//! ```text
//! send(tag 7)  ─▶ an open receive(7)?  yes: the message is in it
//!                                      no:  unexpected = [.., (7, data)]
//! receive(7)   ─▶ the oldest (7, data) of unexpected, or an open receive
//! ```

use std::collections::{BTreeMap, VecDeque};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use cca_abi::RVec;

use crate::{CommError, Communicator, Completion, Reduction, check_length, check_rank, check_tag};

/// One rank that can send to itself. Messages match receives by tag, in the order both were
/// posted, as MPI does it; where MPI would wait for ever, there is an error.
#[derive(Debug, Default)]
pub struct SerialCommunicator {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The request given out last; 0 is never given out.
    last: u64,
    requests: BTreeMap<u64, Request>,
    /// Messages no receive was posted for yet, oldest first.
    unexpected: VecDeque<(i32, RVec<f64>)>,
}

#[derive(Debug)]
enum Request {
    /// A send ends at once, with its own data.
    Send { data: RVec<f64> },
    /// A receive ends when there is a message.
    Receive {
        tag: i32,
        length: usize,
        message: Option<RVec<f64>>,
    },
}

impl SerialCommunicator {
    /// A communicator with no open request.
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Communicator for SerialCommunicator {
    fn rank(&self) -> i32 {
        0
    }

    fn size(&self) -> i32 {
        1
    }

    fn fortran_handle(&self) -> i32 {
        0
    }

    fn barrier(&self) -> Result<(), CommError> {
        Ok(())
    }

    fn all_reduce(&self, _: Reduction, values: &mut [f64]) -> Result<(), CommError> {
        check_length("all_reduce", values.len()).map(|_| ())
    }

    fn broadcast(&self, root: i32, values: &mut [f64]) -> Result<(), CommError> {
        check_rank("broadcast", root, 1)?;
        check_length("broadcast", values.len()).map(|_| ())
    }

    fn gather(&self, root: i32, values: &[f64]) -> Result<Vec<Vec<f64>>, CommError> {
        check_rank("gather", root, 1)?;
        check_length("gather", values.len())?;
        Ok(vec![values.to_vec()])
    }

    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, CommError> {
        check_rank("send", to, 1)?;
        check_tag("send", tag)?;
        check_length("send", data.len())?;
        let mut state = self.lock();
        state.deliver(tag, data.clone());
        Ok(state.open(Request::Send { data }))
    }

    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, CommError> {
        check_rank("receive", from, 1)?;
        check_tag("receive", tag)?;
        check_length("receive", length)?;
        let mut state = self.lock();
        let found = state.unexpected.iter().position(|(sent, _)| *sent == tag);
        let message = found
            .and_then(|at| state.unexpected.remove(at))
            .map(|(_, data)| data);
        Ok(state.open(Request::Receive {
            tag,
            length,
            message,
        }))
    }

    fn wait_some(&self, requests: &mut [u64]) -> Result<Vec<Completion>, CommError> {
        let mut state = self.lock();
        if let Some(&request) = requests
            .iter()
            .find(|r| **r != 0 && !state.requests.contains_key(*r))
        {
            return Err(CommError::UnknownRequest { request });
        }
        // Before any other request is closed: an error must leave all the others open.
        state.refuse_truncated(requests)?;
        let mut completions = Vec::new();
        for (index, slot) in requests.iter_mut().enumerate() {
            if let Some(data) = state.close_if_ended(*slot) {
                completions.push(Completion {
                    request: *slot,
                    index,
                    data,
                });
                *slot = 0;
            }
        }
        match state.first_waiting(requests) {
            Some(tag) if completions.is_empty() => Err(CommError::NeverSent { tag }),
            _ => Ok(completions),
        }
    }

    fn abort(&self, code: i32) -> ! {
        process::exit(code)
    }
}

impl State {
    fn open(&mut self, request: Request) -> u64 {
        self.last += 1;
        self.requests.insert(self.last, request);
        self.last
    }

    /// Gives a message to the receive with this tag posted first, or keeps it for a later one.
    fn deliver(&mut self, tag: i32, data: RVec<f64>) {
        let waiting = self
            .requests
            .values_mut()
            .find_map(|request| match request {
                Request::Receive {
                    tag: wanted,
                    message,
                    ..
                } if *wanted == tag && message.is_none() => Some(message),
                _ => None,
            });
        match waiting {
            Some(message) => *message = Some(data),
            None => self.unexpected.push_back((tag, data)),
        }
    }

    /// Closes the first receive whose message is too long.
    fn refuse_truncated(&mut self, requests: &mut [u64]) -> Result<(), CommError> {
        for slot in requests {
            let Some(Request::Receive {
                tag,
                length,
                message: Some(data),
            }) = self.requests.get(slot)
            else {
                continue;
            };
            if data.len() > *length {
                let error = CommError::Truncated {
                    from: 0,
                    tag: *tag,
                    wanted: *length,
                    detail: format!(": it has {}", data.len()),
                };
                self.requests.remove(slot);
                *slot = 0;
                return Err(error);
            }
        }
        Ok(())
    }

    fn close_if_ended(&mut self, request: u64) -> Option<RVec<f64>> {
        match self.requests.remove(&request)? {
            Request::Send { data }
            | Request::Receive {
                message: Some(data),
                ..
            } => Some(data),
            waiting => {
                self.requests.insert(request, waiting);
                None
            }
        }
    }

    /// The tag of the first of `requests` that still waits for a message.
    fn first_waiting(&self, requests: &[u64]) -> Option<i32> {
        requests
            .iter()
            .find_map(|request| match self.requests.get(request) {
                Some(Request::Receive { tag, .. }) => Some(*tag),
                _ => None,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completions(comm: &SerialCommunicator, requests: &mut [u64]) -> Vec<(usize, Vec<f64>)> {
        let done = comm.wait_some(requests).expect("completions");
        done.into_iter()
            .map(|c| (c.index, c.data.to_vec()))
            .collect()
    }

    #[test]
    fn messages_to_itself_match_by_tag_in_order() {
        let comm = SerialCommunicator::new();
        let early = comm.receive(0, 1, 4).expect("receive");
        let sends: Vec<u64> = [(1, 10.0), (2, 20.0), (1, 11.0)]
            .map(|(tag, value)| comm.send(0, tag, vec![value].into()).expect("send"))
            .into();
        let late = comm.receive(0, 1, 4).expect("receive");
        let other = comm.receive(0, 2, 4).expect("receive");
        let mut requests = [other, late, early, 0];
        let done = completions(&comm, &mut requests);
        assert_eq!(done, [(0, vec![20.0]), (1, vec![11.0]), (2, vec![10.0])]);
        assert_eq!(requests, [0; 4]);
        let mut requests = [sends[0], sends[1], sends[2]];
        assert_eq!(completions(&comm, &mut requests).len(), 3);
        assert_eq!(completions(&comm, &mut requests), []);
    }

    #[test]
    fn empty_and_short_messages_arrive_as_they_are() {
        let comm = SerialCommunicator::new();
        let mut requests = [
            comm.send(0, 0, RVec::new()).expect("send"),
            comm.receive(0, 0, 0).expect("receive"),
            comm.send(0, 0, vec![1.0].into()).expect("send"),
            comm.receive(0, 0, 3).expect("receive"),
        ];
        let done = completions(&comm, &mut requests);
        assert_eq!(
            done,
            [(0, vec![]), (1, vec![]), (2, vec![1.0]), (3, vec![1.0])]
        );
    }

    #[test]
    fn a_long_message_is_an_error_and_loses_nothing_else() {
        let comm = SerialCommunicator::new();
        let mut requests = [
            comm.send(0, 3, vec![1.0, 2.0].into()).expect("send"),
            comm.receive(0, 3, 1).expect("receive"),
        ];
        let error = comm.wait_some(&mut requests).expect_err("too long");
        assert_eq!(
            error.to_string(),
            "cannot receive message from rank 0 with tag 3: it has more values than the 1 \
             expected: it has 2"
        );
        assert_eq!(requests[1], 0);
        assert_eq!(completions(&comm, &mut requests), [(0, vec![1.0, 2.0])]);
    }

    #[test]
    fn waiting_for_what_nobody_sends_is_an_error() {
        let comm = SerialCommunicator::new();
        let mut requests = [comm.receive(0, 5, 1).expect("receive")];
        assert_eq!(
            comm.wait_some(&mut requests),
            Err(CommError::NeverSent { tag: 5 })
        );
        comm.send(0, 5, vec![1.0].into()).expect("send");
        assert_eq!(completions(&comm, &mut requests), [(0, vec![1.0])]);
    }

    #[test]
    fn arguments_are_checked() {
        let comm = SerialCommunicator::new();
        let rank = |operation, found| CommError::Rank {
            operation,
            found,
            last: 0,
        };
        assert_eq!(comm.send(1, 0, RVec::new()), Err(rank("send", 1)));
        assert_eq!(comm.receive(-1, 0, 0), Err(rank("receive", -1)));
        assert_eq!(comm.broadcast(2, &mut []), Err(rank("broadcast", 2)));
        assert_eq!(comm.gather(1, &[]), Err(rank("gather", 1)));
        let tag = CommError::Tag {
            operation: "send",
            found: -1,
        };
        assert_eq!(comm.send(0, -1, RVec::new()), Err(tag));
        let mut unknown = [0, 99];
        let error = CommError::UnknownRequest { request: 99 };
        assert_eq!(comm.wait_some(&mut unknown), Err(error));
    }

    #[test]
    fn collective_operations_are_the_identity() {
        let comm = SerialCommunicator::new();
        let mut values = [3.0, -1.0];
        for reduction in [Reduction::Min, Reduction::Max, Reduction::Sum] {
            comm.all_reduce(reduction, &mut values).expect("all_reduce");
        }
        comm.broadcast(0, &mut values).expect("broadcast");
        comm.barrier().expect("barrier");
        assert_eq!(comm.gather(0, &values), Ok(vec![vec![3.0, -1.0]]));
        assert_eq!((comm.rank(), comm.size(), comm.fortran_handle()), (0, 1, 0));
    }
}

//! Ranks as threads of this process: several frameworks that share nothing except their communicator.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

use cca_ports::{CommPort, Completion, PortError, RSlice, RSliceMut, RVec, Reduction};

/// Time after which a rank that waits gives up: another one has failed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The shared state of the ranks.
#[derive(Default)]
struct World {
    size: usize,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Messages on their way, by (sender, receiver, tag).
    messages: BTreeMap<(usize, usize, i32), VecDeque<Vec<f64>>>,
    /// The values that each rank has contributed to the collective operation in progress.
    brought: BTreeMap<usize, Vec<f64>>,
    /// Collective operations done, and the result of the last.
    done: u64,
    result: Arc<Vec<Vec<f64>>>,
}

/// The communicator of one rank.
pub struct RankComm {
    rank: usize,
    world: Arc<World>,
    requests: Mutex<(u64, BTreeMap<u64, Request>)>,
}

enum Request {
    Send(RVec<f64>),
    Receive {
        from: usize,
        tag: i32,
        length: usize,
    },
}

/// Runs `work` on each of `n` ranks.
///
/// # Returns
/// The results of the ranks, in rank order.
///
/// # Panics
/// If a rank panics.
pub fn on_ranks<T: Send>(n: usize, work: impl Fn(RankComm) -> T + Sync) -> Vec<T> {
    let world = Arc::new(World {
        size: n,
        ..World::default()
    });
    let comm = |rank| RankComm {
        rank,
        world: Arc::clone(&world),
        requests: Mutex::default(),
    };
    let comms: Vec<_> = (0..n).map(comm).collect();
    thread::scope(|scope| {
        let work = &work;
        let ranks: Vec<_> = comms
            .into_iter()
            .map(|comm| scope.spawn(move || work(comm)))
            .collect();
        ranks
            .into_iter()
            .map(|rank| rank.join().expect("a rank"))
            .collect()
    })
}

impl RankComm {
    /// The only rank.
    pub fn alone() -> Self {
        RankComm {
            rank: 0,
            world: Arc::new(World {
                size: 1,
                ..World::default()
            }),
            requests: Mutex::default(),
        }
    }

    /// Waits until `ready` returns a value.
    fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, PortError> {
        loop {
            if let Some(value) = ready(&mut state) {
                return Ok(value);
            }
            let (next, timeout) = self
                .world
                .changed
                .wait_timeout(state, PATIENCE)
                .expect("no panic");
            if timeout.timed_out() {
                return Err(PortError::failed("no word from the other ranks"));
            }
            state = next;
        }
    }

    /// The values that all ranks contributed, in rank order.
    fn all_gather(&self, values: &[f64]) -> Result<Arc<Vec<Vec<f64>>>, PortError> {
        let mut state = self.world.state.lock().expect("no panic");
        let before = state.done;
        state.brought.insert(self.rank, values.to_vec());
        if state.brought.len() == self.world.size {
            let brought = std::mem::take(&mut state.brought);
            state.result = Arc::new(brought.into_values().collect());
            state.done += 1;
            self.world.changed.notify_all();
        }
        self.wait(state, |state| {
            (state.done > before).then(|| Arc::clone(&state.result))
        })
    }

    fn open(&self, request: Request) -> u64 {
        let mut requests = self.requests.lock().expect("no panic");
        requests.0 += 1;
        let number = requests.0;
        requests.1.insert(number, request);
        number
    }

    /// The data of a request that has ended.
    fn close(&self, state: &mut State, request: u64) -> Option<RVec<f64>> {
        let mut requests = self.requests.lock().expect("no panic");
        if let Request::Receive { from, tag, length } = requests.1[&request] {
            let message = state
                .messages
                .get_mut(&(from, self.rank, tag))?
                .pop_front()?;
            assert_eq!(message.len(), length, "length of a message from {from}");
            requests.1.remove(&request);
            return Some(message.into());
        }
        match requests.1.remove(&request) {
            Some(Request::Send(data)) => Some(data),
            _ => None,
        }
    }
}

impl CommPort for RankComm {
    fn rank(&self) -> Result<i32, PortError> {
        Ok(self.rank as i32)
    }

    fn size(&self) -> Result<i32, PortError> {
        Ok(self.world.size as i32)
    }

    fn fortran_handle(&self) -> Result<i32, PortError> {
        Ok(0)
    }

    fn barrier(&self) -> Result<(), PortError> {
        self.all_gather(&[]).map(|_| ())
    }

    fn all_reduce(
        &self,
        reduction: Reduction,
        mut values: RSliceMut<'_, f64>,
    ) -> Result<(), PortError> {
        let all = self.all_gather(&values)?;
        for (k, value) in values.iter_mut().enumerate() {
            let column = all.iter().map(|brought| brought[k]);
            let combined = match reduction {
                Reduction::Min => column.reduce(f64::min),
                Reduction::Max => column.reduce(f64::max),
                Reduction::Sum => Some(column.sum()),
            };
            *value = combined.expect("a rank");
        }
        Ok(())
    }

    fn broadcast(&self, root: i32, mut values: RSliceMut<'_, f64>) -> Result<(), PortError> {
        let all = self.all_gather(&values)?;
        values.copy_from_slice(&all[root as usize]);
        Ok(())
    }

    fn gather(&self, root: i32, values: RSlice<'_, f64>) -> Result<RVec<RVec<f64>>, PortError> {
        let all = self.all_gather(&values)?;
        if root as usize != self.rank {
            return Ok(RVec::new());
        }
        Ok(all.iter().map(|values| RVec::from(&values[..])).collect())
    }

    fn send(&self, to: i32, tag: i32, data: RVec<f64>) -> Result<u64, PortError> {
        let mut state = self.world.state.lock().expect("no panic");
        let queue = state
            .messages
            .entry((self.rank, to as usize, tag))
            .or_default();
        queue.push_back(data.to_vec());
        self.world.changed.notify_all();
        Ok(self.open(Request::Send(data)))
    }

    fn receive(&self, from: i32, tag: i32, length: usize) -> Result<u64, PortError> {
        let from = from as usize;
        Ok(self.open(Request::Receive { from, tag, length }))
    }

    fn wait_some(&self, mut requests: RSliceMut<'_, u64>) -> Result<RVec<Completion>, PortError> {
        if requests.iter().all(|request| *request == 0) {
            return Ok(RVec::new());
        }
        let state = self.world.state.lock().expect("no panic");
        self.wait(state, |state| {
            let mut completions = RVec::new();
            for (index, slot) in requests
                .iter_mut()
                .enumerate()
                .filter(|(_, slot)| **slot != 0)
            {
                if let Some(data) = self.close(state, *slot) {
                    let request = std::mem::take(slot);
                    completions.push(Completion {
                        request,
                        index,
                        data,
                    });
                }
            }
            (!completions.is_empty()).then_some(completions)
        })
    }

    fn abort(&self, code: i32) -> Result<(), PortError> {
        Err(PortError::failed(format_args!("aborted with {code}")))
    }
}

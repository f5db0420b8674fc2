//! `PerfParam`: the records of a method so far, read from this rank's logs while they grow.
//!
//! Each record is read once, at the first question after it, and added to its method's totals. Only the places of the
//! invocations are kept: a method's invocations lie in stretches of at most [`STRETCH`] records, which are read again
//! when they are asked for.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex};

use cca_ports::{
    Invocation, MethodTotals, PerfParamPort, PortError, RStr, RString, RVec, Services,
};
use mastermind_records::{Exclusive, Record, RecordsError, RunFollower, Stretch};

use crate::mastermind::locked;

/// Maximum number of records of a stretch, which is read again as a whole for one invocation.
const STRETCH: u64 = 1024;

/// Provides `cca.PerfParam`; it answers once it follows a run.
#[derive(Default)]
pub struct PerfParam {
    followed: Mutex<Option<Followed>>,
}

/// The logs of a rank, with the reading position.
struct Followed {
    run: RunFollower,
    stretches: Vec<Stretch>,
    methods: Vec<Method>,
    by_name: BTreeMap<String, usize>,
    /// By log and id in the log.
    by_id: HashMap<(usize, u32), usize>,
    /// Number of records read, including those read again.
    n_read: u64,
}

/// The records of a method that have been read.
#[derive(Default)]
struct Method {
    totals: MethodTotals,
    /// The places of its invocations: the number of invocations before, and the stretch.
    places: Vec<(u64, usize)>,
}

impl PerfParam {
    /// Name of the provides port.
    pub const PORT: &'static str = "perf_param";

    /// Joins a framework through the services of an instance of its own.
    ///
    /// # Errors
    /// Errors of the framework.
    pub fn add(services: &Services) -> Result<Arc<Self>, PortError> {
        let perf_param = Arc::new(Self::default());
        services.add_provides_port::<dyn PerfParamPort, _>(Self::PORT, &perf_param)?;
        Ok(perf_param)
    }

    /// Answers queries from the logs of a rank from now on.
    pub fn follow(&self, directory: &Path, rank: u32) {
        *locked(&self.followed) = Some(Followed {
            run: RunFollower::new(directory, Some(rank)),
            stretches: Vec::new(),
            methods: Vec::new(),
            by_name: BTreeMap::new(),
            by_id: HashMap::new(),
            n_read: 0,
        });
    }

    /// Number of records read so far, including those read again: the cost of the questions.
    pub fn n_read(&self) -> u64 {
        let followed = locked(&self.followed);
        followed.as_ref().map_or(0, |followed| followed.n_read)
    }

    /// An answer from the records so far.
    fn answer<T>(&self, work: impl FnOnce(&mut Followed) -> T) -> Result<T, PortError> {
        let mut followed = locked(&self.followed);
        let Some(followed) = followed.as_mut() else {
            return Err(PortError::failed(
                "cannot read records: nothing is recorded, expected a recorded run",
            ));
        };
        followed.read_new().map_err(PortError::failed)?;
        Ok(work(followed))
    }
}

impl Followed {
    fn read_new(&mut self) -> Result<(), RecordsError> {
        self.run.refresh()?;
        while let Some(log) = self.run.next_log() {
            // A stretch in which the last reading ended is continued, so that frequent questions do not make many.
            let n_stretches = self.stretches.len();
            let last = self.stretches.last_mut();
            let open = last.filter(|last| last.log == log && last.n_records < STRETCH);
            let most = STRETCH - open.as_ref().map_or(0, |open| open.n_records);
            let index = n_stretches - usize::from(open.is_some());
            let (methods, by_name, by_id) = (&mut self.methods, &mut self.by_name, &mut self.by_id);
            let stretch = self.run.read_on(most, |record, own| {
                let known = by_id.entry((log, record.method.id));
                let method = *known.or_insert_with(|| method_of(record, methods, by_name));
                methods[method].add(record, own, index);
            });
            let Some(stretch) = stretch else { break };
            self.n_read += stretch.n_records;
            match open {
                Some(open) => open.n_records += stretch.n_records,
                None => self.stretches.push(stretch),
            }
        }
        Ok(())
    }

    /// The invocations `first..first + most` of a method.
    fn invocations(&mut self, name: &str, first: u64, most: usize) -> RVec<Invocation> {
        let mut invocations = RVec::new();
        let Some(&wanted) = self.by_name.get(name) else {
            return invocations;
        };
        let method = &self.methods[wanted];
        let begin = method
            .places
            .partition_point(|(before, _)| *before <= first);
        let places = &method.places[begin.saturating_sub(1)..];
        for (before, stretch) in places {
            let (mut number, stretch) = (*before, &self.stretches[*stretch]);
            for (record, own) in self.run.read_again(stretch) {
                if invocations.len() >= most {
                    return invocations;
                }
                self.n_read += 1;
                if self.by_id.get(&(stretch.log, record.method.id)) != Some(&wanted) {
                    continue;
                }
                if number >= first {
                    invocations.push(invocation(&record, own));
                }
                number += 1;
            }
        }
        invocations
    }
}

/// The index of a method in `methods`, found by its name.
fn method_of(
    record: &Record<'_>,
    methods: &mut Vec<Method>,
    by_name: &mut BTreeMap<String, usize>,
) -> usize {
    *by_name.entry(record.method.name()).or_insert_with(|| {
        let names = record.method.parameters.iter();
        let names = names.map(|parameter| RString::from(parameter.name.as_str()));
        methods.push(Method {
            totals: MethodTotals {
                parameters: names.collect(),
                ..MethodTotals::default()
            },
            places: Vec::new(),
        });
        methods.len() - 1
    })
}

impl Method {
    fn add(&mut self, record: &Record<'_>, own: Exclusive, stretch: usize) {
        if self.places.last().is_none_or(|(_, last)| *last != stretch) {
            self.places.push((self.totals.calls, stretch));
        }
        self.totals.calls += 1;
        self.totals.inclusive_ns += record.wall_ns;
        self.totals.exclusive_ns += own.wall_ns;
        self.totals.mpi_ns += record.mpi_ns.unwrap_or(0);
    }
}

impl PerfParamPort for PerfParam {
    fn methods(&self) -> Result<RVec<RString>, PortError> {
        self.answer(|followed| {
            // A method is defined in a log when it is called there.
            let called = followed.run.logs();
            let called = called.flat_map(|log| log.definitions().methods());
            let mut names: Vec<_> = called.map(|method| method.name()).collect();
            names.sort_unstable();
            names.dedup();
            names.into_iter().map(RString::from).collect()
        })
    }

    fn totals(&self, method: RStr<'_>) -> Result<MethodTotals, PortError> {
        self.answer(|followed| {
            let index = followed.by_name.get(&*method);
            index.map_or_else(MethodTotals::default, |index| {
                followed.methods[*index].totals.clone()
            })
        })
    }

    fn invocations(
        &self,
        method: RStr<'_>,
        first: u64,
        most: usize,
    ) -> Result<RVec<Invocation>, PortError> {
        self.answer(|followed| followed.invocations(&method, first, most))
    }
}

fn invocation(record: &Record<'_>, own: Exclusive) -> Invocation {
    Invocation {
        start_ns: record.start_ns,
        wall_ns: record.wall_ns,
        exclusive_ns: own.wall_ns,
        mpi_ns: record.mpi_ns.unwrap_or(0),
        has_mpi: record.mpi_ns.is_some(),
        failed: record.failed,
        parameters: record.parameters().map(|value| value.as_f64()).collect(),
    }
}

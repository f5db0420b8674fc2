//! The definitions of a log, grouped by subject.
//!
//! A log explains itself: between its records lie definitions, JSON entries that name the methods, the call paths, the
//! clock and the run (`definition`). A scan passes each of them to `Definitions::add_entry`, and readers then ask for
//! the method or the name of a record's call path. Ranks of a run mostly define the same things, so logs that are
//! opened together share methods and call paths in memory (`CommonDefinitions`).
//!
//! ```text
//! entry in the log                               question                    answer
//! Method 7    = flux.compute(n_cells)            method_of(3)                Method 7
//! Method 2    = driver.go                        call_path_name(3)           driver.go->flux.compute
//! CallPath 1  = (parent 0, method 2)             shape(3)                    head and 1 parameter
//! CallPath 3  = (parent 1, method 7)
//! ```

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use cca_abi::recording::word;

use crate::definition::{
    AtomicEventsDefinition, CallPathDefinition, CircumstancesDefinition, ClockDefinition,
    CostDefinition, Definition, EndDefinition, LossDefinition, MethodDefinition,
    MpiCallSumDefinition, MpiCommunicatorDefinition, MpiPhaseDefinition, MpiRoutinesDefinition,
    MpiSwitchDefinition, MpiTotalsDefinition, OpenMpSumsDefinition, RunDefinition, StopDefinition,
    SwapDefinition, UnmonitoredDefinition, UnrecordedDefinition,
};
use crate::scan::definition;

/// All definitions of a log, by what they define; later ones of the same subject replace or extend earlier ones.
#[derive(Clone, Debug, Default)]
pub struct Definitions {
    /// The run.
    pub run: RunDefinition,
    /// How the process was started; `None` in a log of an earlier version.
    pub circumstances: Option<Arc<CircumstancesDefinition>>,
    /// The end of the recording; `None` if it has not ended, or in a log of an earlier version.
    pub end: Option<EndDefinition>,
    /// The clock, unless its definition is lost.
    pub clock: Option<ClockDefinition>,
    /// Cost of a measurement.
    pub cost: Option<CostDefinition>,
    /// Components replaced during the run.
    pub swaps: Vec<SwapDefinition>,
    /// Totals of calls that could not be recorded.
    pub unrecorded: Vec<UnrecordedDefinition>,
    /// Since when, and why, calls have no record; `None` if all have one.
    pub stop: Option<StopDefinition>,
    /// Why individual calls have no record.
    pub losses: Vec<LossDefinition>,
    /// Time that the rank spent in MPI; `None` if it was not measured, or if the run has not ended.
    pub mpi_routines: Option<MpiRoutinesDefinition>,
    /// Values that components reported; `None` if the run has not ended.
    pub events: Option<AtomicEventsDefinition>,
    /// Intervals in which time in MPI was not measured although it could be, clock ticks.
    mpi_off: Vec<(u64, u64)>,
    /// Where the log keeps its thread's totals of MPI functions.
    pub mpi_totals: Option<MpiTotalsDefinition>,
    /// The phases that the program announced, in order.
    pub mpi_phases: Vec<MpiPhaseDefinition>,
    /// The communicators to which records refer.
    pub mpi_communicators: Vec<MpiCommunicatorDefinition>,
    /// Connections that should be recorded and are not.
    pub unmonitored: Vec<UnmonitoredDefinition>,
    /// Sums of MPI calls that have no individual record; empty for a run that has not ended.
    pub mpi_call_sums: Vec<MpiCallSumDefinition>,
    /// Sums of OpenMP constructs; `None` if they were not requested, or if the run has not ended.
    pub openmp: Option<OpenMpSumsDefinition>,
    calls: Arc<CallDefinitions>,
    /// Largest plausible id of a call path; larger ids are ignored.
    most_paths: usize,
    /// Whether a call path was defined again.
    redefines_path: bool,
    /// Definitions that the logs of a run share.
    common: Option<Arc<CommonDefinitions>>,
}

/// Methods and call paths.
#[derive(Clone, Debug, Default)]
struct CallDefinitions {
    methods: BTreeMap<u32, Arc<MethodDefinition>>,
    /// Index: call path.
    paths: Vec<Option<CallPathDefinition>>,
    /// Index: call path.
    shapes: Vec<Shape>,
    /// Index: call path; the called method, once the shape of its records is known.
    path_methods: Vec<Option<Arc<MethodDefinition>>>,
}

impl CallDefinitions {
    /// Whether another log has the same paths, and shares its methods in memory.
    fn is_same(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.methods.values(), other.methods.values());
        self.paths == other.paths
            && ours.len() == theirs.len()
            && ours
                .zip(theirs)
                .all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    }
}

/// Shape of a call path's records; its lengths are 0 if the path or its method is not defined.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shape {
    pub(crate) parent: u32,
    /// Words without counters.
    shortest: u32,
    /// Words with counters.
    longest: u32,
}

impl Shape {
    /// Whether a record of this length has the shape.
    #[inline]
    pub(crate) fn fits(self, n_words: usize) -> bool {
        n_words as u32 == self.shortest || n_words as u32 == self.longest
    }
}

/// Definitions of the logs of a run, by the words of their entries. Ranks define the same things; this keeps one copy
/// in memory.
#[derive(Debug, Default)]
pub(crate) struct CommonDefinitions {
    entries: Mutex<HashMap<Vec<u64>, CommonDefinition>>,
    calls: Mutex<Vec<Arc<CallDefinitions>>>,
}

/// A definition that does not depend on the rank.
#[derive(Clone, Debug)]
enum CommonDefinition {
    Method(Arc<MethodDefinition>),
    Circumstances(Arc<CircumstancesDefinition>),
}

/// Maximum number of shared definitions. Arbitrary: a run has some hundreds, but damaged logs may each differ.
const MAX_COMMON: usize = 10_000;

/// Maximum number of shared sets of call paths. Arbitrary: the first and the last rank, ranks at borders and ranks
/// within have other paths.
const MAX_COMMON_CALLS: usize = 32;

impl CommonDefinitions {
    fn get(&self, whole: &[u64]) -> Option<CommonDefinition> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(whole).cloned()
    }

    /// # Returns
    /// The same definition of another log, if there is one, otherwise `definition`.
    fn add(&self, whole: &[u64], definition: CommonDefinition) -> CommonDefinition {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have added the same definition since this one searched.
        if let Some(first) = entries.get(whole) {
            return first.clone();
        }
        if entries.len() < MAX_COMMON {
            entries.insert(whole.into(), definition.clone());
        }
        definition
    }

    /// # Returns
    /// The same calls of another log, if there are any, otherwise `calls`.
    fn add_calls(&self, calls: &Arc<CallDefinitions>) -> Arc<CallDefinitions> {
        let mut all = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(first) = all.iter().find(|first| first.is_same(calls)) {
            return Arc::clone(first);
        }
        if all.len() < MAX_COMMON_CALLS {
            all.push(Arc::clone(calls));
        }
        Arc::clone(calls)
    }
}

impl Definitions {
    /// The methods in the order of their ids, without ids whose definition is lost.
    pub fn methods(&self) -> impl Iterator<Item = &Arc<MethodDefinition>> {
        self.calls.methods.values()
    }

    /// The call paths in the order of their ids, without ids whose definition is lost.
    pub fn call_paths(&self) -> impl Iterator<Item = CallPathDefinition> {
        self.calls.paths.iter().flatten().copied()
    }

    /// The call path with an id; `None` if its definition is lost.
    pub fn call_path(&self, id: u32) -> Option<CallPathDefinition> {
        self.calls.paths.get(id as usize).copied().flatten()
    }

    /// The method with an id; `None` if its definition is lost.
    pub fn method(&self, id: u32) -> Option<&Arc<MethodDefinition>> {
        self.calls.methods.get(&id)
    }

    /// The method that a call path ends in; `None` if either definition is lost.
    pub fn method_of(&self, call_path: u32) -> Option<&Arc<MethodDefinition>> {
        self.method(self.call_path(call_path)?.method)
    }

    /// `driver.go->flux.compute`, as Extra-P writes call paths; `?` for undefined parts.
    pub fn call_path_name(&self, call_path: u32) -> String {
        let mut names = Vec::new();
        let mut next = call_path;
        while next != 0 {
            names.push(
                self.method_of(next)
                    .map_or_else(|| "?".into(), |method| method.name()),
            );
            // Parents have lower ids; damage cannot make a cycle.
            next = self
                .call_path(next)
                .map_or(0, |path| if path.parent < next { path.parent } else { 0 });
        }
        names.reverse();
        names.join("->")
    }
}

impl Definitions {
    /// No definitions; accepts ids of call paths up to `n`, so that a damaged id does not take memory.
    pub(crate) fn of_at_most(n: usize) -> Self {
        Self {
            most_paths: n,
            ..Self::default()
        }
    }

    /// Accepts ids of call paths up to `n` from now on.
    pub(crate) fn believe_at_most(&mut self, n: usize) {
        self.most_paths = self.most_paths.max(n);
    }

    /// The shape of a call path's records.
    #[inline]
    pub(crate) fn shape(&self, call_path: u32) -> Shape {
        self.calls
            .shapes
            .get(call_path as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The method of a call path's records.
    #[inline]
    pub(crate) fn recorded_method(&self, call_path: u32) -> Option<&MethodDefinition> {
        let methods = &self.calls.path_methods;
        methods.get(call_path as usize)?.as_deref()
    }

    /// Whether a definition may change how the records before it are read.
    pub(crate) fn revise_records(&self) -> bool {
        self.redefines_path || !self.mpi_off.is_empty()
    }

    fn switch_mpi(&mut self, switch: MpiSwitchDefinition) {
        match (switch.measured, self.mpi_off.last_mut()) {
            (true, Some((_, end))) => *end = (*end).min(switch.ticks),
            (true, None) => {}
            (false, _) => self.mpi_off.push((switch.ticks, u64::MAX)),
        }
    }

    /// Whether time in MPI was measured from `start` for `length` ticks, in a log that measures it at all.
    #[inline]
    pub(crate) fn mpi_is_whole(&self, start: u64, length: u64) -> bool {
        self.mpi_off.is_empty()
            || self
                .mpi_off
                .iter()
                .all(|(from, to)| start.saturating_add(length) < *from || *to <= start)
    }

    /// Stores the shape of a call path, once it and its method are defined.
    fn add_shape(&mut self, call_path: u32) {
        let Some(path) = self.call_path(call_path) else {
            return;
        };
        let Some(method) = self.method(path.method).cloned() else {
            return;
        };
        let shortest = word::HEAD_WORDS + method.parameters.len();
        let counters = method
            .counters
            .iter()
            .filter(|counter| counter.unavailable.is_none())
            .count();
        let shape = Shape {
            // Parents come before their children; a damaged parent must not make a cycle.
            parent: if path.parent < call_path {
                path.parent
            } else {
                0
            },
            shortest: shortest as u32,
            longest: (shortest + counters) as u32,
        };
        let index = call_path as usize;
        let calls = Arc::make_mut(&mut self.calls);
        if calls.shapes.len() <= index {
            calls.shapes.resize(index + 1, Shape::default());
            calls.path_methods.resize(index + 1, None);
        }
        calls.shapes[index] = shape;
        calls.path_methods[index] = Some(method);
    }

    fn add_call_path(&mut self, path: CallPathDefinition) {
        let index = path.id as usize;
        if index == 0 || index > self.most_paths {
            return;
        }
        let paths = &mut Arc::make_mut(&mut self.calls).paths;
        if paths.len() <= index {
            paths.resize(index + 1, None);
        }
        self.redefines_path |= paths[index].is_some();
        paths[index] = Some(path);
        self.add_shape(path.id);
    }

    /// Shares definitions with other logs of the run from now on.
    pub(crate) fn share(&mut self, common: &Arc<CommonDefinitions>) {
        self.common = Some(Arc::clone(common));
    }

    /// Shares the call paths and methods known so far with the other logs of the run.
    pub(crate) fn share_calls(&mut self) {
        if let Some(common) = &self.common {
            self.calls = common.add_calls(&self.calls);
        }
    }

    /// Adds the definition of an entry.
    ///
    /// # Returns
    /// `None` if the entry is not a definition, or is damaged.
    pub(crate) fn add_entry(&mut self, whole: &[u64]) -> Option<()> {
        let Some(common) = &self.common else {
            self.add(definition(whole)?);
            return Some(());
        };
        let found = match common.get(whole) {
            Some(found) => found,
            None => {
                let own = match definition(whole)? {
                    Definition::Method(method) => CommonDefinition::Method(Arc::new(method)),
                    Definition::Circumstances(found) => {
                        CommonDefinition::Circumstances(Arc::new(found))
                    }
                    other => {
                        self.add(other);
                        return Some(());
                    }
                };
                common.add(whole, own)
            }
        };
        match found {
            CommonDefinition::Method(method) => self.add_method(method),
            CommonDefinition::Circumstances(found) => self.circumstances = Some(found),
        }
        Some(())
    }

    fn add_method(&mut self, method: Arc<MethodDefinition>) {
        let methods = &mut Arc::make_mut(&mut self.calls).methods;
        methods.insert(method.id, method);
    }

    pub(crate) fn add(&mut self, definition: Definition) {
        match definition {
            Definition::Run(run) => self.run = run,
            Definition::Circumstances(found) => self.circumstances = Some(Arc::new(found)),
            Definition::End(end) => self.end = Some(end),
            Definition::Clock(clock) => self.clock = Some(clock),
            Definition::Cost(cost) => self.cost = Some(cost),
            Definition::Method(method) => self.add_method(Arc::new(method)),
            Definition::CallPath(path) => self.add_call_path(path),
            Definition::Swap(swap) => push_new(&mut self.swaps, swap),
            Definition::Unrecorded(lost) => push_new(&mut self.unrecorded, lost),
            Definition::Stop(stop) => self.stop = Some(stop),
            Definition::Loss(loss) => push_new(&mut self.losses, loss),
            Definition::MpiRoutines(routines) => self.mpi_routines = Some(routines),
            Definition::AtomicEvents(events) => self.events = Some(events),
            Definition::MpiSwitch(switch) => self.switch_mpi(switch),
            Definition::MpiTotals(totals) => self.mpi_totals = Some(totals),
            Definition::MpiPhase(phase) => push_new(&mut self.mpi_phases, phase),
            Definition::MpiCommunicator(communicator) => {
                push_new(&mut self.mpi_communicators, communicator)
            }
            Definition::Unmonitored(connection) => push_new(&mut self.unmonitored, connection),
            Definition::MpiCallSums(of_rank) => {
                let sums = of_rank.sums.into_iter();
                sums.for_each(|sum| push_new(&mut self.mpi_call_sums, sum));
            }
            Definition::OpenMpSums(of_rank) => match &mut self.openmp {
                None => self.openmp = Some(of_rank),
                Some(known) => {
                    let sums = of_rank.sums.into_iter();
                    sums.for_each(|sum| push_new(&mut known.sums, sum));
                }
            },
            Definition::Unknown => {}
        }
    }
}

fn push_new<T: PartialEq>(list: &mut Vec<T>, value: T) {
    if !list.contains(&value) {
        list.push(value);
    }
}

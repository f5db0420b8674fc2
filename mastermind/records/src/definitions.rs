//! The definitions of a log, by what they define.

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

/// What the definitions of a log say.
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
    /// What a measurement costs.
    pub cost: Option<CostDefinition>,
    /// Components replaced during the run.
    pub swaps: Vec<SwapDefinition>,
    /// Totals of calls that could not be recorded.
    pub unrecorded: Vec<UnrecordedDefinition>,
    /// From when on, and why, calls have no record; `None` if all have.
    pub stop: Option<StopDefinition>,
    /// Why single calls have no record.
    pub losses: Vec<LossDefinition>,
    /// What the rank spent in MPI; `None` if it was not measured, or the run has not ended.
    pub mpi_routines: Option<MpiRoutinesDefinition>,
    /// What components told; `None` if the run has not ended.
    pub events: Option<AtomicEventsDefinition>,
    /// From when to when time in MPI was not measured though it could be, clock ticks.
    mpi_off: Vec<(u64, u64)>,
    /// Where the log keeps what its thread spends in MPI.
    pub mpi_totals: Option<MpiTotalsDefinition>,
    /// The phases that the program told of, in their order.
    pub mpi_phases: Vec<MpiPhaseDefinition>,
    /// The communicators that recorded calls name.
    pub mpi_communicators: Vec<MpiCommunicatorDefinition>,
    /// Connections that were to be recorded and are not.
    pub unmonitored: Vec<UnmonitoredDefinition>,
    /// What calls of MPI come to that have no record each; none of a run that has not ended.
    pub mpi_call_sums: Vec<MpiCallSumDefinition>,
    /// What constructs of OpenMP come to; `None` where that was not asked for, and of a run that has not ended.
    pub openmp: Option<OpenMpSumsDefinition>,
    calls: Arc<CallDefinitions>,
    /// Largest id of a call path that is believed.
    most_paths: usize,
    /// Where the logs of a run share definitions.
    common: Option<Arc<CommonDefinitions>>,
}

/// What is called, and from where.
#[derive(Clone, Debug, Default)]
struct CallDefinitions {
    methods: BTreeMap<u32, Arc<MethodDefinition>>,
    /// Index: call path.
    paths: Vec<Option<CallPathDefinition>>,
    /// Index: call path.
    shapes: Vec<Shape>,
    /// Index: call path; the method that it ends in, once its records have a shape.
    path_methods: Vec<Option<Arc<MethodDefinition>>>,
}

impl CallDefinitions {
    /// Whether another log has the same paths, and methods that are in memory once.
    fn is_same(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.methods.values(), other.methods.values());
        self.paths == other.paths
            && ours.len() == theirs.len()
            && ours
                .zip(theirs)
                .all(|(ours, theirs)| Arc::ptr_eq(ours, theirs))
    }
}

/// What a record of a call path looks like; of no length at all where the path or its method is not defined.
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

/// Definitions of the logs of a run, by the words of their entries: ranks define the same ones, and each is in memory once.
#[derive(Debug, Default)]
pub(crate) struct CommonDefinitions {
    entries: Mutex<HashMap<Vec<u64>, CommonDefinition>>,
    calls: Mutex<Vec<Arc<CallDefinitions>>>,
}

/// A definition that has nothing of one rank alone.
#[derive(Clone, Debug)]
enum CommonDefinition {
    Method(Arc<MethodDefinition>),
    Circumstances(Arc<CircumstancesDefinition>),
}

/// Most definitions that are kept. Arbitrary: a run has some hundreds, and its logs may be damaged in as many ways as there are.
const MAX_COMMON: usize = 10_000;

/// Most sets of call paths that are kept. Arbitrary: the first and the last rank, those at borders and those within call other methods.
const MAX_COMMON_CALLS: usize = 32;

impl CommonDefinitions {
    fn get(&self, whole: &[u64]) -> Option<CommonDefinition> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.get(whole).cloned()
    }

    /// # Returns
    /// The same of another log, if it is there.
    fn add(&self, whole: &[u64], definition: CommonDefinition) -> CommonDefinition {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read the same one since this one looked.
        if let Some(first) = entries.get(whole) {
            return first.clone();
        }
        if entries.len() < MAX_COMMON {
            entries.insert(whole.into(), definition.clone());
        }
        definition
    }

    /// # Returns
    /// The same calls of another log, if they are there.
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
    /// The methods, by id.
    pub fn methods(&self) -> impl Iterator<Item = &Arc<MethodDefinition>> {
        self.calls.methods.values()
    }

    /// The call paths, by id.
    pub fn call_paths(&self) -> impl Iterator<Item = CallPathDefinition> {
        self.calls.paths.iter().flatten().copied()
    }

    /// A call path.
    pub fn call_path(&self, id: u32) -> Option<CallPathDefinition> {
        self.calls.paths.get(id as usize).copied().flatten()
    }

    /// A method.
    pub fn method(&self, id: u32) -> Option<&Arc<MethodDefinition>> {
        self.calls.methods.get(&id)
    }

    /// The method that a call path ends in.
    pub fn method_of(&self, call_path: u32) -> Option<&Arc<MethodDefinition>> {
        self.method(self.call_path(call_path)?.method)
    }

    /// `driver.go->flux.compute`, as Extra-P writes call paths; `?` for what is not defined.
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
    /// None yet; of call paths, ids up to `n` will be believed, so that a damaged one does not cost memory.
    pub(crate) fn of_at_most(n: usize) -> Self {
        Self {
            most_paths: n,
            ..Self::default()
        }
    }

    /// Ids of call paths up to `n` will be believed from now on.
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

    fn switch_mpi(&mut self, switch: MpiSwitchDefinition) {
        match (switch.measured, self.mpi_off.last_mut()) {
            (true, Some((_, end))) => *end = (*end).min(switch.ticks),
            (true, None) => {}
            (false, _) => self.mpi_off.push((switch.ticks, u64::MAX)),
        }
    }

    /// Whether time in MPI was measured from `start` for `length` ticks, where it is measured at all.
    #[inline]
    pub(crate) fn mpi_is_whole(&self, start: u64, length: u64) -> bool {
        self.mpi_off.is_empty()
            || self
                .mpi_off
                .iter()
                .all(|(from, to)| start.saturating_add(length) < *from || *to <= start)
    }

    /// Takes note of the shape of a call path, once it and its method are defined.
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
            // Parents come before their children; what damage says otherwise must not make a cycle.
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
        paths[index] = Some(path);
        self.add_shape(path.id);
    }

    /// Definitions that other logs of the run have too are taken from there, and given there, from now on.
    pub(crate) fn share(&mut self, common: &Arc<CommonDefinitions>) {
        self.common = Some(Arc::clone(common));
    }

    /// Takes the calls from where the logs of the run share them: all that are known so far are there.
    pub(crate) fn share_calls(&mut self) {
        if let Some(common) = &self.common {
            self.calls = common.add_calls(&self.calls);
        }
    }

    /// Takes the definition of an entry.
    ///
    /// # Returns
    /// `None` if it is none, or damaged.
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
            Definition::MpiCommunicator(told) => push_new(&mut self.mpi_communicators, told),
            Definition::Unmonitored(connection) => push_new(&mut self.unmonitored, connection),
            Definition::MpiCallSums(told) => {
                let sums = told.sums.into_iter();
                sums.for_each(|sum| push_new(&mut self.mpi_call_sums, sum));
            }
            Definition::OpenMpSums(told) => match &mut self.openmp {
                None => self.openmp = Some(told),
                Some(known) => {
                    let sums = told.sums.into_iter();
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

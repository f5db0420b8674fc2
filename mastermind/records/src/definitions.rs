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
    pub circumstances: Option<CircumstancesDefinition>,
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
    methods: BTreeMap<u32, Arc<MethodDefinition>>,
    /// Index: call path.
    paths: Vec<Option<CallPathDefinition>>,
    /// Largest id of a call path that is believed.
    most_paths: usize,
    /// Index: call path.
    shapes: Vec<Shape>,
    /// Where the logs of a run share methods.
    known: Option<Arc<KnownMethods>>,
    /// Index: call path; the method that it ends in, once its records have a shape.
    path_methods: Vec<Option<Arc<MethodDefinition>>>,
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

/// Methods of the logs of a run, by the words of their entries: ranks define the same ones, and each is in memory once.
#[derive(Debug, Default)]
pub(crate) struct KnownMethods(Mutex<HashMap<Vec<u64>, Arc<MethodDefinition>>>);

/// Most methods that are kept. Arbitrary: a run has some hundreds, and its logs may be damaged in as many ways as there are.
const MAX_KNOWN: usize = 10_000;

impl KnownMethods {
    fn get(&self, whole: &[u64]) -> Option<Arc<MethodDefinition>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(whole).cloned()
    }

    fn add(&self, whole: &[u64], method: MethodDefinition) -> Arc<MethodDefinition> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // Another thread may have read the same one since this one looked.
        if let Some(first) = known.get(whole) {
            return Arc::clone(first);
        }
        let method = Arc::new(method);
        if known.len() < MAX_KNOWN {
            known.insert(whole.into(), Arc::clone(&method));
        }
        method
    }
}

impl Definitions {
    /// The methods, by id.
    pub fn methods(&self) -> impl Iterator<Item = &Arc<MethodDefinition>> {
        self.methods.values()
    }

    /// The call paths, by id.
    pub fn call_paths(&self) -> impl Iterator<Item = CallPathDefinition> {
        self.paths.iter().flatten().copied()
    }

    /// A call path.
    pub fn call_path(&self, id: u32) -> Option<CallPathDefinition> {
        self.paths.get(id as usize).copied().flatten()
    }

    /// A method.
    pub fn method(&self, id: u32) -> Option<&Arc<MethodDefinition>> {
        self.methods.get(&id)
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
        self.shapes
            .get(call_path as usize)
            .copied()
            .unwrap_or_default()
    }

    /// The method of a call path's records.
    #[inline]
    pub(crate) fn recorded_method(&self, call_path: u32) -> Option<&MethodDefinition> {
        self.path_methods.get(call_path as usize)?.as_deref()
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
        if self.shapes.len() <= index {
            self.shapes.resize(index + 1, Shape::default());
            self.path_methods.resize(index + 1, None);
        }
        self.shapes[index] = shape;
        self.path_methods[index] = Some(method);
    }

    fn add_call_path(&mut self, path: CallPathDefinition) {
        let index = path.id as usize;
        if index == 0 || index > self.most_paths {
            return;
        }
        if self.paths.len() <= index {
            self.paths.resize(index + 1, None);
        }
        self.paths[index] = Some(path);
        self.add_shape(path.id);
    }

    /// Methods that other logs of the run have too are taken from there, and given there, from now on.
    pub(crate) fn share(&mut self, known: &Arc<KnownMethods>) {
        self.known = Some(Arc::clone(known));
    }

    /// Takes the definition of an entry.
    ///
    /// # Returns
    /// `None` if it is none, or damaged.
    pub(crate) fn add_entry(&mut self, whole: &[u64]) -> Option<()> {
        let known = self.known.as_ref().and_then(|known| known.get(whole));
        if let Some(method) = known {
            self.methods.insert(method.id, method);
            return Some(());
        }
        match (definition(whole)?, &self.known) {
            (Definition::Method(method), Some(known)) => {
                let method = known.add(whole, method);
                self.methods.insert(method.id, method);
            }
            (definition, _) => self.add(definition),
        }
        Some(())
    }

    pub(crate) fn add(&mut self, definition: Definition) {
        match definition {
            Definition::Run(run) => self.run = run,
            Definition::Circumstances(found) => self.circumstances = Some(found),
            Definition::End(end) => self.end = Some(end),
            Definition::Clock(clock) => self.clock = Some(clock),
            Definition::Cost(cost) => self.cost = Some(cost),
            Definition::Method(method) => drop(self.methods.insert(method.id, Arc::new(method))),
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

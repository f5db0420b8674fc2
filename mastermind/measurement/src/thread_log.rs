//! The log of one thread: its definitions so far, and its lost calls.
//!
//! A record is fixed-size words; everything else that a reader needs to understand it (the method,
//! the call path, the parameters' names) is a definition that must stand in the log before the
//! first record that uses it. `ThreadLog` keeps track of the definitions that its log has, and
//! writes missing ones when a call path is met for the first time. It also counts, per call path,
//! the calls that got no record, so that the sums of a profile are complete even where records are
//! lost.
//!
//! ```text
//! log:  … | Method 7 | CallPath 3 = (parent 1, method 7) | record 3 | record 3 | record 1 | …
//!         written once, by define_call_path              every call refers to path 3
//! end:  | Unrecorded { call_path 3, calls 12, wall_ticks … } | Loss { reason } | totals |
//! ```
//!
//! A call may also be left without its end: a `longjmp` passes over it, or its thread ends. Such a
//! call is counted as lost at once, and kept in a short list, because a coroutine may still come
//! back and end it; then the count is undone (`return_to`).

use std::collections::{HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use cca_abi::recording::{LeftCall, MAX_COUNTERS, MpiTotal, RecordingContext};
use mastermind_records::definition::{
    CallPathDefinition, LossDefinition, MethodDefinition, MpiTotalsDefinition, UnrecordedDefinition,
};
use mastermind_records::{
    Calibration, Definition, LogTotals, LogWriter, RecordsError, RunningSums,
};
use memmap2::MmapMut;

use crate::counters::{CounterPlan, ThreadCounters};
use crate::recorder::MpiFunctions;
use crate::shared::RegisteredMethod;

/// Maximum number of calls that were left and may still end, as those of coroutines do; beyond it, the oldest are
/// forgotten. Arbitrary.
const MAX_LEFT_CALLS: usize = 256;

/// Maximum number of call paths in a log; calls of deeper recursions are dropped and counted.
const MAX_CALL_PATHS: usize = 1 << 16;

/// The log that one thread at a time has a lease of.
#[derive(Debug)]
pub(crate) struct ThreadLog {
    writer: LogWriter,
    /// Index: method id; whether the log has its definition.
    methods: Vec<bool>,
    call_paths: HashMap<(u32, u32), u32>,
    /// Index: call path − 1.
    lost: Vec<UnrecordedDefinition>,
    /// Ids of methods with calls that were lost because of their parameters; the log names them.
    without_parameters: Vec<u32>,
    /// Number of the recorder's announcements that the log has.
    announced: AtomicUsize,
    /// Index: call path − 1; plan of its counters.
    plans: Vec<Option<Arc<CounterPlan>>>,
    counters: ThreadCounters,
    /// Index: call path − 1; the method's id.
    path_methods: Vec<u32>,
    /// Index: call path − 1; the call path of the caller, 0 for none.
    path_callers: Vec<u32>,
    /// Calls that were left without their end and counted, the latest at the end.
    left: VecDeque<LeftCall>,
    /// Ids of methods with calls that were left; the log names them.
    left_methods: Vec<u32>,
    /// The latest method with a left call that the log does not name yet.
    left_method: Option<u32>,
    /// Whether a signal handler called while a call was being recorded.
    was_interrupted: AtomicBool,
}

impl ThreadLog {
    pub(crate) fn new(writer: LogWriter) -> Self {
        Self {
            writer,
            methods: Vec::new(),
            call_paths: HashMap::new(),
            lost: Vec::new(),
            without_parameters: Vec::new(),
            announced: AtomicUsize::new(0),
            plans: Vec::new(),
            counters: ThreadCounters::default(),
            // Room from the start: a call may be left while no memory can be allocated.
            left: VecDeque::with_capacity(MAX_LEFT_CALLS),
            path_methods: Vec::new(),
            path_callers: Vec::new(),
            left_methods: Vec::new(),
            left_method: None,
            was_interrupted: AtomicBool::new(false),
        }
    }

    pub(crate) fn context(&self) -> *mut RecordingContext {
        self.writer.context()
    }

    pub(crate) fn define(&mut self, definition: &Definition) -> Result<(), RecordsError> {
        self.writer.define(definition)
    }

    /// Reserves words in the log for the totals of MPI functions, to which the proxy of MPI adds.
    ///
    /// # Arguments
    /// * `is_first` - whether to write totals from before the recording as well
    pub(crate) fn keep_mpi_totals(
        &mut self,
        mpi: &MpiFunctions,
        is_first: bool,
    ) -> Result<(), RecordsError> {
        if mpi.names.is_empty() {
            return Ok(());
        }
        let n_functions = mpi.names.len();
        let n_words = n_functions * size_of::<MpiTotal>() / size_of::<u64>();
        let kept = self.writer.keep(n_words + n_functions)?;
        let before = if is_first { &mpi.before[..] } else { &[] };
        self.writer
            .define(&Definition::MpiTotals(MpiTotalsDefinition {
                word: kept.word,
                functions: mpi.names.clone(),
                before: before.to_vec(),
                failed: Some(kept.word + n_words as u64),
            }))?;
        // SAFETY: the log is not used by any other yet.
        let context = unsafe { &mut *self.context() };
        context.mpi_totals = kept.start.cast();
        context.n_mpi_totals = n_functions as u64;
        // SAFETY: the words after the totals were reserved as well.
        context.mpi_failed = unsafe { kept.start.add(n_words) }.cast();
        Ok(())
    }

    /// The total of an MPI function.
    pub(crate) fn mpi_total(&self, place: usize) -> Option<&MpiTotal> {
        // SAFETY: the context is mapped as long as the log is; these two never change.
        let (totals, n) = unsafe {
            let context = self.context();
            ((*context).mpi_totals, (*context).n_mpi_totals)
        };
        let there = !totals.is_null() && (place as u64) < n;
        // SAFETY: there are `n`, mapped as long as the log is.
        there.then(|| unsafe { &*totals.add(place) })
    }

    /// Number of failed calls of an MPI function.
    pub(crate) fn mpi_failed(&self, place: usize) -> u64 {
        // SAFETY: the context is mapped as long as the log is; these two never change.
        let (failed, n) = unsafe {
            let context = self.context();
            ((*context).mpi_failed, (*context).n_mpi_totals)
        };
        if failed.is_null() || place as u64 >= n {
            return 0;
        }
        // SAFETY: there are `n`, mapped as long as the log is.
        unsafe { &*failed.add(place) }.load(Ordering::Relaxed)
    }

    /// File of the log.
    pub(crate) fn path(&self) -> &Path {
        self.writer.path()
    }

    /// File of the log, and the sums of its full chunks.
    pub(crate) fn running_sums(&self) -> (PathBuf, RunningSums) {
        (self.writer.path().into(), self.writer.running_sums())
    }

    /// The counter of calls without a record; mapped until the log is finished.
    pub(crate) fn lost(&self) -> &AtomicU64 {
        self.writer.lost()
    }

    /// Counts calls that are in no log.
    pub(crate) fn count_dropped(&self, calls: u64) {
        self.writer.count_dropped(calls);
    }

    /// Ends the log while its thread may continue to append.
    ///
    /// # Errors
    /// As [`LogWriter::finish_in_use`].
    pub(crate) fn finish_in_use(
        &self,
        end: Calibration,
        announcements: &[Definition],
    ) -> Result<LogTotals, RecordsError> {
        let announced = self.announced.load(Ordering::Relaxed);
        let missing = announcements.get(announced..).unwrap_or_default();
        self.writer.finish_in_use(end, missing)
    }

    /// Appends the announcements that the log lacks.
    pub(crate) fn catch_up(&mut self, announcements: &[Definition]) -> Result<(), RecordsError> {
        let announced = *self.announced.get_mut();
        for definition in &announcements[announced..] {
            self.writer.define(definition)?;
            *self.announced.get_mut() += 1;
        }
        Ok(())
    }

    /// Makes room for a record, and calibrates on this occasion.
    pub(crate) fn roll_over(
        &mut self,
        words: usize,
        calibration: impl FnOnce() -> Calibration,
    ) -> bool {
        if !self.writer.is_closed() {
            self.writer.calibrate(calibration());
        }
        self.writer.make_room(words)
    }

    /// The call path, if it is already defined.
    pub(crate) fn known_call_path(&self, parent: u32, method: u32) -> Option<u32> {
        self.call_paths.get(&(parent, method)).copied()
    }

    /// Defines a call path, and its method on first use in this log.
    ///
    /// # Returns
    /// `None` if there is no room for the definitions, or too many paths.
    pub(crate) fn define_call_path(
        &mut self,
        parent: u32,
        method: &RegisteredMethod,
    ) -> Option<u32> {
        let counters = &method.counters;
        let method = &method.definition;
        if self.call_paths.len() >= MAX_CALL_PATHS {
            return None;
        }
        let index = method.id as usize;
        if self.methods.len() <= index {
            self.methods.resize(index + 1, false);
        }
        if !self.methods[index] {
            self.writer
                .define(&Definition::Method(MethodDefinition::clone(method)))
                .ok()?;
            self.methods[index] = true;
        }
        let id = self.call_paths.len() as u32 + 1;
        let path = CallPathDefinition {
            id,
            parent,
            method: method.id,
        };
        self.writer.define(&Definition::CallPath(path)).ok()?;
        self.call_paths.insert((parent, method.id), id);
        self.plans.push(counters.clone());
        self.path_methods.push(method.id);
        self.path_callers.push(parent);
        self.lost.push(UnrecordedDefinition {
            call_path: id,
            ..UnrecordedDefinition::default()
        });
        Some(id)
    }

    fn plan(&self, path: u32) -> Option<&Arc<CounterPlan>> {
        let index = (path as usize).checked_sub(1)?;
        self.plans.get(index)?.as_ref()
    }

    /// Whether reading the counters at the start of a call opens none and allocates no memory.
    pub(crate) fn has_counters_open(&self, path: u32) -> bool {
        let plan = self.plan(path);
        self.counters.has_room() && plan.is_none_or(|plan| self.counters.has_open(plan))
    }

    /// Reads the counters at the start of a call.
    ///
    /// # Arguments
    /// * `depth` - number of open calls around it
    pub(crate) fn begin_counters(&mut self, path: u32, depth: usize) {
        match self.plan(path).cloned() {
            Some(plan) => self.counters.begin(&plan, depth),
            None => self.counters.begin_without(depth),
        }
    }

    /// The same for a call whose counters cannot be read.
    pub(crate) fn begin_without_counters(&mut self, depth: usize) {
        self.counters.begin_without(depth);
    }

    /// Forgets the readings at the start of calls that were left: all but the outermost `depth` ones.
    pub(crate) fn forget_counters(&mut self, depth: usize) {
        self.counters.forget(depth);
    }

    /// Reads the counters at the end of the call that began last.
    pub(crate) fn end_counters(&mut self) -> ([u64; MAX_COUNTERS], usize) {
        self.counters.end()
    }

    /// Continues in a log of a forked child's own, with the same call paths: calls that began before the fork end
    /// there.
    ///
    /// # Arguments
    /// * `create` - makes the log, which is appended to through the given context, with the common
    ///   definitions
    /// * `methods` - by their ids
    pub(crate) fn fork(
        &mut self,
        create: impl FnOnce(&mut Option<MmapMut>) -> Result<Self, RecordsError>,
        methods: &[RegisteredMethod],
    ) -> Result<(), RecordsError> {
        let mut context = Some(self.writer.take_context()?);
        let page: *mut RecordingContext = match &mut context {
            Some(context) => context.as_mut_ptr().cast(),
            None => std::ptr::null_mut(),
        };
        let own = create(&mut context).inspect_err(|_| {
            // The thread continues to read it: it stays mapped, in the state in which a child finds
            // it. SAFETY: the page is a context, zeros are a valid one, and no other thread uses
            // it.
            unsafe { page.write_bytes(0, 1) };
            std::mem::forget(context.take());
        })?;
        let parents = std::mem::replace(self, own);
        let paths = parents.call_paths.iter();
        let mut paths: Vec<_> = paths.map(|(key, id)| (*id, *key)).collect();
        // The thread that prepares its chunks does not exist in this process.
        std::mem::forget(parents);
        paths.sort_unstable();
        for (_, (parent, method)) in paths {
            let place = (method as usize).checked_sub(1);
            if let Some(method) = place.and_then(|place| methods.get(place)) {
                self.define_call_path(parent, method);
            }
        }
        Ok(())
    }

    /// Whether the log is in memory of the process, which is written to its file from time to time.
    pub(crate) fn is_in_memory(&self) -> bool {
        self.writer.is_in_memory()
    }

    /// Prepares the log for another thread than before.
    pub(crate) fn pass_on(&mut self) {
        self.counters.close();
        let context = self.context();
        // SAFETY: no thread records through the context: its thread is gone.
        unsafe { (*context).leave_all_calls(|call| self.lose_left(call)) };
        self.left.clear();
    }

    /// Counts a call that is not recorded.
    pub(crate) fn lose(&mut self, path: u32, wall: u64, mpi: u64) {
        self.writer.count_dropped(1);
        let known = (path as usize)
            .checked_sub(1)
            .and_then(|index| self.lost.get_mut(index));
        if let Some(lost) = known {
            lost.calls += 1;
            lost.wall_ticks = lost.wall_ticks.saturating_add(wall);
            lost.mpi_ticks = lost.mpi_ticks.saturating_add(mpi);
        }
    }

    /// Counts a call that was left, and those that were left with it.
    fn lose_left(&mut self, call: LeftCall) {
        let mut path = call.path;
        for _ in 0..=call.n_callers {
            self.lose(path, 0, 0);
            let index = (path as usize).checked_sub(1);
            let caller = index.and_then(|index| self.path_callers.get(index));
            path = caller.copied().unwrap_or_default();
        }
    }

    /// Counts a call that was left without its end. How long it took is not known.
    pub(crate) fn leave(&mut self, call: LeftCall) {
        self.lose_left(call);
        let index = (call.path as usize).checked_sub(1);
        let method = index.and_then(|index| self.path_methods.get(index));
        let unsaid = method.filter(|method| !self.left_methods.contains(method));
        self.left_method = unsaid.copied().or(self.left_method);
        if self.left.len() == MAX_LEFT_CALLS {
            self.left.pop_front();
        }
        self.left.push_back(call);
    }

    /// A method whose call was left, if the log does not name it yet.
    pub(crate) fn left_method(&self) -> Option<u32> {
        self.left_method
    }

    /// Defines that a call of a method was left.
    pub(crate) fn say_left(&mut self, method: u32, name: Option<String>) {
        self.left_method = None;
        self.left_methods.push(method);
        let name = name.unwrap_or_default();
        // In a log that takes no more entries, the count has to suffice.
        let _ = self.define(&Definition::Loss(LossDefinition {
            reason: format!(
                "{name}: a call was left under way, by a jump (longjmp), by the end of its thread, or since it ended in another thread (as of a \
                 coroutine): it is counted, and has no record"
            ),
        }));
    }

    /// Counts a call of a signal handler that came while another one was being recorded.
    pub(crate) fn interrupt(&self) {
        self.writer.count_dropped(1);
        self.was_interrupted.store(true, Ordering::Relaxed);
    }

    /// Undoes the counting of a call that was treated as left and ends after all.
    pub(crate) fn return_to(&mut self, call: LeftCall) {
        let Some(place) = self.left.iter().rposition(|left| left.is(&call)) else {
            return;
        };
        self.left.remove(place);
        self.writer.uncount_dropped();
        let lost = (call.path as usize).checked_sub(1);
        if let Some(lost) = lost.and_then(|index| self.lost.get_mut(index)) {
            lost.calls = lost.calls.saturating_sub(1);
        }
    }

    /// Whether the log contains the reason why calls of a method have no parameters.
    pub(crate) fn has_said_why(&self, method: u32) -> bool {
        self.without_parameters.contains(&method)
    }

    /// Defines that calls of a method are not recorded since their parameters could not be
    /// computed.
    pub(crate) fn say_why(&mut self, method: u32, name: Option<String>) {
        self.without_parameters.push(method);
        let name = name.unwrap_or_default();
        // In a log that takes no more entries, the count has to suffice.
        let _ = self.define(&Definition::Loss(LossDefinition {
            reason: format!(
                "an expression of the mark-up of {name} divides by zero, reads a null pointer or panics"
            ),
        }));
    }

    /// Ends the log, with the totals of calls that it could not record.
    ///
    /// # Arguments
    /// * `keep_context` - whether the context stays mapped, for other threads to read
    pub(crate) fn finish(
        mut self,
        end: Calibration,
        keep_context: bool,
    ) -> Result<LogTotals, RecordsError> {
        for lost in self.lost.iter().filter(|lost| lost.calls > 0) {
            // On a full disk, the count in the header has to suffice.
            if self.writer.define(&Definition::Unrecorded(*lost)).is_err() {
                break;
            }
        }
        if self.was_interrupted.load(Ordering::Relaxed) {
            let _ = self.writer.define(&Definition::Loss(LossDefinition {
                reason: "calls of signal handlers came while another call was being recorded: they are counted, and have no record"
                    .into(),
            }));
        }
        if keep_context {
            self.writer.keep_context();
        }
        self.writer.finish(end)
    }
}

//! The component that proxies record through.
//!
//! The generated proxy of each connection asks this component, through `cca.Monitor`, for the recorder and for a
//! number for each of its methods. After that a call costs one record: the proxy writes it to the recorder directly.
//! The component also attaches the proxy of MPI to the recorder, switches groups of measurements on and off, and
//! registers swaps of classes. At the end it sums up the records of all ranks.
//!
//! ```text
//! Mastermind::add ─▶ proxies: register_instance, register_method ─▶ calls write records ─▶ summarise (collective) ─▶ finish
//! ```

use std::collections::{BTreeSet, HashMap};
use std::ffi::c_void;
use std::fs::File;
use std::io::{self, Read};
use std::panic::catch_unwind;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use cca_abi::recording::{MethodPointer, MpiEventOptions, ProxyMethod, Recorder};
use cca_abi::{MethodDescriptor, RSlice};
use cca_core::KeptWays;
use cca_loader::{AttachedMpi, MpiCommunicator, MpiProxy, MpiRoutine, mpi_library_version};
use cca_ports::{
    CommPort, MPI_GROUP, MonitorPort, MonitoredInstance, MonitoredMethod, PerfParamPort, PortError,
    RecorderPointer, Services,
};
use mastermind_composition::adapt::Limits;
use mastermind_measurement::{RunRecorder, RunTotals, circumstances, end};
use mastermind_records::definition::{
    AtomicEventsDefinition, ClassDefinition, CounterDefinition, MethodDefinition,
    MpiRoutineDefinition, MpiRoutinesDefinition, MpiSwitchDefinition, ParameterDefinition,
    SwapDefinition, TIMER_CLASS, UnmonitoredDefinition,
};
use mastermind_records::{Definition, RecordsError};

use crate::adaptation::AdmittedCalls;
use crate::communicators::{MAX_COMMUNICATORS, communicator_definition};
use crate::measurement::Measurement;
use crate::record_objects::PerfParam;
use crate::summary;

/// Provides `cca.Monitor` and `cca.PerfParam` on a run's recorder.
///
/// The program that holds the framework makes it ([`Mastermind::add`]) and, when the framework is gone and nothing can
/// record any more, ends the recording ([`Mastermind::finish`]).
pub struct Mastermind {
    // Dropped before the recorder that it leads to.
    attached: Mutex<Option<AttachedMpi>>,
    mpi: Option<MpiProxy>,
    recorder: RunRecorder,
    counters: Mutex<Vec<CounterChoice>>,
    /// Groups that are not measured.
    disabled: Mutex<Disabled>,
    measurement: OnceLock<Arc<Measurement>>,
    /// Time in MPI up to the summary, whose own messages are not the application's.
    summarised: OnceLock<MpiRoutinesDefinition>,
    /// The methods that calls of MPI are recorded as, if they are.
    mpi_events: OnceLock<(Vec<u32>, MpiEventOptions)>,
    /// Number of communicators that it has recorded.
    n_communicators: AtomicUsize,
    known: Mutex<Announcements>,
    perf_param: Arc<PerfParam>,
}

/// Instances and methods that proxies have announced so far.
#[derive(Default)]
struct Announcements {
    /// By the name of the instance, its present class.
    instances: HashMap<String, ClassDefinition>,
    /// The recorder keeps a share of each.
    methods: HashMap<MethodKey, AnnouncedMethod>,
}

/// A method that is monitored.
struct AnnouncedMethod {
    switched: Arc<ProxyMethod>,
    parameters: Vec<ParameterDefinition>,
}

/// Instance, class, provides port, interface and method.
type MethodKey = [String; 5];

/// The function of MPI that comes after all messages.
const LAST_ROUTINE: &str = "MPI_Finalize";

#[derive(Default)]
struct Disabled {
    groups: BTreeSet<String>,
    /// Whether groups that are not known yet are disabled as well.
    new: bool,
}

/// Counters to read in the calls of a method, or of all methods without a choice of their own.
#[derive(Clone, Debug)]
pub struct CounterChoice {
    /// `instance.method`; `None` for all methods.
    pub method: Option<String>,
    /// As [`mastermind_measurement::probe_counters`] defines them.
    pub counters: Vec<CounterDefinition>,
}

impl Mastermind {
    /// Name of the provides port.
    pub const PORT: &'static str = "monitor";
    /// Name of the provides port for queries of the records so far.
    pub const PERF_PARAM_PORT: &'static str = "perf_param";

    /// Joins a framework through the services of an instance of its own.
    ///
    /// # Arguments
    /// * `mpi` - the proxy of MPI that measures time in MPI, if it is measured
    ///
    /// # Errors
    /// Errors of the framework, or a proxy of MPI of another version.
    pub fn add(
        recorder: RunRecorder,
        mpi: Option<&MpiProxy>,
        services: &Services,
    ) -> Result<Arc<Self>, PortError> {
        let mastermind = Arc::new(Mastermind {
            attached: Mutex::default(),
            mpi: mpi.cloned(),
            recorder,
            counters: Mutex::default(),
            disabled: Mutex::default(),
            measurement: OnceLock::new(),
            summarised: OnceLock::new(),
            mpi_events: OnceLock::new(),
            n_communicators: AtomicUsize::new(0),
            known: Mutex::default(),
            perf_param: Arc::default(),
        });
        let mpi_library = mpi.and_then(|_| mpi_library_version());
        let circumstances = Definition::Circumstances(circumstances(|_| None, mpi_library));
        mastermind.recorder.announce(circumstances);
        mastermind.know_classes_of_run();
        mastermind.attach_mpi()?;
        services.add_provides_port::<dyn MonitorPort, _>(Self::PORT, &mastermind)?;
        mastermind.answer_through(&mastermind.perf_param);
        let perf_param = &mastermind.perf_param;
        services.add_provides_port::<dyn PerfParamPort, _>(Self::PERF_PARAM_PORT, perf_param)?;
        Ok(mastermind)
    }

    /// Enters the classes that the run begins with, as having replaced no other.
    fn know_classes_of_run(&self) {
        let classes = self.recorder.run().map(|run| run.classes.iter());
        let by_instance = classes
            .into_iter()
            .flatten()
            .map(|class| (class.instance.clone(), class.clone()));
        locked(&self.known).instances.extend(by_instance);
    }

    fn attach_mpi(&self) -> Result<(), PortError> {
        let Some(mpi) = &self.mpi else { return Ok(()) };
        // SAFETY: the recorder's address stays (it is boxed), and it is dropped after what is attached to it. When it
        // ends, nothing records any more (`Mastermind::finish`), so no call of MPI is made by a component either.
        let attached = unsafe { mpi.attach(self.recorder.recorder()) };
        let attached = attached.map_err(PortError::failed)?;
        if let Some(events) = self.mpi_events.get() {
            self.record_events(&attached, events);
        }
        *locked(&self.attached) = Some(attached);
        Ok(())
    }

    /// Records calls of MPI as these methods, and defines the communicators that they name.
    fn record_events(
        &self,
        mpi: &AttachedMpi,
        (ids, options): &(Vec<u32>, MpiEventOptions),
    ) -> bool {
        let context = ptr::from_ref(self).cast_mut().cast();
        // SAFETY: this is within the `Arc` that `add` made, which lives longer than what is attached (`finish`).
        unsafe { mpi.on_communicator(context, know_communicator) };
        mpi.record_events(ids, *options)
    }

    /// Records each call of MPI from now on with its bytes, its peer and its number of ranks.
    ///
    /// # Arguments
    /// * `processor_time` - whether to record the processor time before it
    ///
    /// # Errors
    /// MPI is not measured.
    pub fn record_mpi_events(&self, processor_time: bool) -> Result<(), PortError> {
        let options = MpiEventOptions {
            call_depth: 0,
            processor_time,
        };
        let events = self
            .mpi_events
            .get_or_init(|| (self.recorder.register_mpi(options), options));
        match &*locked(&self.attached) {
            Some(mpi) if self.record_events(mpi, events) => Ok(()),
            _ => Err(PortError::failed("MPI is not measured, expected it to be")),
        }
    }

    /// Runs `work` without recording calls of MPI, for calls that are not the application's, such as those that sum a
    /// run up.
    pub fn without_mpi_events<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.mpi_events.get().is_some()
            && let Some(mpi) = &*locked(&self.attached)
        {
            mpi.record_events(&[], MpiEventOptions::default());
        }
        let done = work();
        if let (Some(events), Some(mpi)) = (self.mpi_events.get(), &*locked(&self.attached)) {
            self.record_events(mpi, events);
        }
        done
    }

    /// Records the timers of a measurement component too, and lets it control the groups of the monitored methods.
    pub fn measure(self: &Arc<Self>, measurement: &Arc<Measurement>) {
        if self.measurement.set(Arc::clone(measurement)).is_ok() {
            measurement.record_into(self);
        }
    }

    /// Writes to the logs that the calls through a connection are not recorded although they were selected.
    pub fn note_unmonitored(&self, connection: UnmonitoredDefinition) {
        self.recorder.announce(Definition::Unmonitored(connection));
    }

    /// Sets the counters to read in the calls of methods that are monitored from now on.
    pub fn count(&self, choices: Vec<CounterChoice>) {
        *locked(&self.counters) = choices;
    }

    fn counters_of(&self, method: &str) -> Vec<CounterDefinition> {
        let choices = locked(&self.counters);
        let named = |choice: &&CounterChoice| choice.method.as_deref() == Some(method);
        let all = |choice: &&CounterChoice| choice.method.is_none();
        let choice = choices.iter().find(named);
        let choice = choice.or_else(|| choices.iter().find(all));
        choice.map_or_else(Vec::new, |choice| choice.counters.clone())
    }

    /// Reads the clock of the records, in ticks.
    pub(crate) fn now(&self) -> u64 {
        self.recorder.now()
    }

    pub(crate) fn recorder(&self) -> &Recorder {
        self.recorder.recorder()
    }

    /// Time of the calling thread in MPI so far, nanoseconds; `None` if it is not measured.
    pub(crate) fn thread_mpi_ns(&self) -> Option<u64> {
        let measured = locked(&self.attached).is_some();
        measured.then(|| self.recorder.thread_mpi_ns()).flatten()
    }

    /// Makes another port answer queries of the records too.
    pub fn answer_through(&self, perf_param: &PerfParam) {
        if let Some(directory) = self.recorder.directory() {
            perf_param.follow(directory, self.rank());
        }
    }

    /// Has the previous instance answer calls that fail in an instance of a class, or ends that.
    ///
    /// # Safety
    /// The ports in `before` are kept until the recording has ended.
    pub(crate) unsafe fn guard(&self, instance: &str, class: &str, before: Option<&KeptWays>) {
        for (key, method) in &locked(&self.known).methods {
            let [of, its_class, port, ..] = key;
            if of != instance || its_class != class {
                continue;
            }
            let way = before.and_then(|before| before.ports().find(|(name, _)| name == port));
            // SAFETY: replacing checks that the port of the same name is of the same interface; the caller keeps it.
            unsafe { method.switched.guard(way.map(|(_, way)| way)) };
        }
    }

    /// Limits the calls that an instance of a class gets to the admitted ones, and has the previous instance answer the
    /// others; or ends that.
    ///
    /// # Returns
    /// Objects to keep until the recording has ended.
    ///
    /// # Safety
    /// The returned objects and the ports in `before` are kept until then.
    #[must_use]
    pub(crate) unsafe fn limit(
        &self,
        instance: &str,
        class: &str,
        limits: Option<(&Limits, &KeptWays)>,
    ) -> Vec<Arc<AdmittedCalls>> {
        let mut kept = Vec::new();
        for (key, method) in &locked(&self.known).methods {
            let [of, its_class, port, _, name] = key;
            if of != instance || its_class != class {
                continue;
            }
            let admitted = limits.and_then(|(limits, before)| {
                let (_, instead) = before.ports().find(|(name, _)| name == port)?;
                let of_method = limits.methods.get(&format!("{port}.{name}"));
                let parameters = &method.parameters;
                AdmittedCalls::new(of_method, &limits.class, parameters, instead).map(Arc::new)
            });
            let seen = admitted.as_ref().map(|admitted| admitted.seen());
            // SAFETY: replacing checks that the port of the same name is of the same interface; the caller keeps both.
            unsafe { method.switched.admit(seen) };
            kept.extend(admitted);
        }
        kept
    }

    fn rank(&self) -> u32 {
        self.recorder.rank().unwrap_or(0)
    }

    /// The method that the calls of a timer are recorded under, as proxies see it.
    pub(crate) fn timer_method(&self, name: &str, group: &str) -> Option<Arc<ProxyMethod>> {
        let id = self.recorder.register(MethodDefinition {
            instance: group.into(),
            class: TIMER_CLASS.into(),
            method: name.into(),
            ..MethodDefinition::default()
        });
        self.recorder.method(id)
    }

    /// The interfaces of the monitored methods, and MPI where it is measured, each with whether it is enabled.
    pub(crate) fn groups(&self) -> Vec<(String, bool)> {
        let disabled = locked(&self.disabled);
        let mut names = self.recorder.interfaces();
        names.extend(self.mpi.as_ref().map(|_| MPI_GROUP.to_string()));
        let enabled = |name: &String| !disabled.groups.contains(name);
        names
            .into_iter()
            .map(|name| (name.clone(), enabled(&name)))
            .collect()
    }

    /// Switches the measurement of a group on or off.
    ///
    /// # Returns
    /// Whether there is such a group.
    pub(crate) fn set_group_enabled(&self, group: &str, enabled: bool) -> Result<bool, PortError> {
        let is_mpi = group == MPI_GROUP && self.mpi.is_some();
        let switched = self
            .recorder
            .switch(enabled, |method| method.interface == group);
        if switched == 0 && !is_mpi {
            return Ok(false);
        }
        let mut disabled = locked(&self.disabled);
        let changed = if enabled {
            disabled.groups.remove(group)
        } else {
            disabled.groups.insert(group.into())
        };
        if is_mpi && changed {
            self.switch_mpi(enabled)?;
        }
        Ok(true)
    }

    /// Sets whether groups that are not known yet are enabled.
    pub(crate) fn set_new_enabled(&self, enabled: bool) {
        locked(&self.disabled).new = !enabled;
    }

    /// The records give the time from which their time in MPI is unknown, instead of 0.
    fn switch_mpi(&self, measured: bool) -> Result<(), PortError> {
        if measured {
            self.attach_mpi()?;
        } else {
            *locked(&self.attached) = None;
        }
        let ticks = self.recorder.now();
        let switch = MpiSwitchDefinition { ticks, measured };
        self.recorder.announce(Definition::MpiSwitch(switch));
        Ok(())
    }

    /// Writes the totals to each log at the end: functions of MPI, events of components.
    fn announce_totals(&self) {
        if let Some(mpi) = &self.mpi {
            let now = mpi_routines(mpi.routines(), self.recorder.mpi_routines());
            let mut routines = self.summarised.get_or_init(|| now.clone()).clone();
            let is_new = |routine: &MpiRoutineDefinition| {
                routine.name == LAST_ROUTINE && !routines.routines.contains(routine)
            };
            let last = now.routines.into_iter().find(is_new);
            routines.routines.extend(last);
            self.recorder.announce(Definition::MpiRoutines(routines));
        }
        let events = self.measurement.get().map(|measurement| measurement.sums());
        if let Some(events) = events.filter(|events| !events.is_empty()) {
            let events = AtomicEventsDefinition { events };
            self.recorder.announce(Definition::AtomicEvents(events));
        }
    }

    /// Sums up the records of all ranks, and writes the summary to the directory of the first rank's logs. Collective.
    /// The time that the ranks spend on ending MPI afterwards is not included.
    ///
    /// # Errors
    /// Errors of the communicator; the logs cannot be read, or the summary cannot be written.
    pub fn summarise(&self, comm: &impl CommPort) -> Result<(), PortError> {
        self.announce_totals();
        let own = self.recorder.sums();
        let all = summary::gather(own.as_ref().ok(), comm)?;
        own.map_err(PortError::failed)?;
        if let (Some(all), Some(directory)) = (all, self.recorder.directory()) {
            all.write(directory).map_err(PortError::failed)?;
        }
        Ok(())
    }

    /// Ends the recording. If a component, or a thread that it left behind, still holds a reference to the recorder,
    /// calls through it are no longer recorded.
    ///
    /// # Errors
    /// The logs cannot be written.
    pub fn finish(self: Arc<Self>) -> Result<RunTotals, RecordsError> {
        self.announce_totals();
        self.recorder.announce(Definition::End(end()));
        let attached = locked(&self.attached).take();
        drop(attached);
        match Arc::try_unwrap(self) {
            Ok(mastermind) => mastermind.recorder.finish(),
            Err(shared) => shared.recorder.finish_in_use(),
        }
    }
}

/// Records a communicator that recorded calls name from now on.
///
/// # Safety
/// The context is a [`Mastermind`], and the communicator has as many ranks as it says.
unsafe extern "C" fn know_communicator(
    mastermind: *mut c_void,
    communicator: *const MpiCommunicator,
) {
    // No panic may reach the component that calls MPI.
    let _ = catch_unwind(|| {
        // SAFETY: required of the caller.
        let mastermind = unsafe { &*mastermind.cast::<Mastermind>() };
        let n_before = mastermind.n_communicators.fetch_add(1, Ordering::Relaxed);
        if n_before < MAX_COMMUNICATORS {
            // SAFETY: required of the caller.
            let definition = unsafe { communicator_definition(&*communicator) };
            mastermind.recorder.announce(definition);
        }
    });
}

/// The counts of the MPI proxy itself, as definitions.
pub fn routine_definitions(routines: Vec<MpiRoutine>) -> Vec<MpiRoutineDefinition> {
    let definition = |routine: MpiRoutine| MpiRoutineDefinition {
        name: routine.name,
        calls: routine.calls,
        ticks: routine.ticks,
        failed: 0,
    };
    routines.into_iter().map(definition).collect()
}

/// All time in MPI: the counts of the proxy itself and the totals kept with the logs.
pub fn mpi_routines(
    counted: Vec<MpiRoutine>,
    kept: Vec<MpiRoutineDefinition>,
) -> MpiRoutinesDefinition {
    let mut routines = kept;
    for counted in routine_definitions(counted) {
        match routines.iter_mut().find(|r| r.name == counted.name) {
            Some(routine) => {
                routine.calls += counted.calls;
                routine.ticks += counted.ticks;
            }
            None => routines.push(counted),
        }
    }
    MpiRoutinesDefinition { routines }
}

impl MonitorPort for Mastermind {
    fn recorder(&self) -> Result<RecorderPointer, PortError> {
        Ok(RecorderPointer(self.recorder.recorder()))
    }

    fn register_instance(&self, instance: MonitoredInstance<'_>) -> Result<(), PortError> {
        let path = Path::new(instance.library.as_str());
        let file = path.file_name();
        let now = ClassDefinition {
            instance: instance.instance.to_string(),
            class: instance.class.to_string(),
            version: instance.version.to_string(),
            library: file.map_or_else(String::new, |name| name.to_string_lossy().into()),
            library_hash: String::new(),
        };
        let mut known = locked(&self.known);
        let before = known.instances.get(&now.instance);
        let is_same = |before: &ClassDefinition| {
            (&before.class, &before.version, &before.library)
                == (&now.class, &now.version, &now.library)
        };
        if before.is_some_and(is_same) {
            return Ok(());
        }
        let from = before.map_or_else(String::new, |before| before.class.clone());
        let same_file = known.instances.values();
        let mut same_file = same_file.filter(|known| known.library == now.library);
        let hash = same_file.next().map(|known| known.library_hash.clone());
        let hash = hash.unwrap_or_else(|| library_hash(path).unwrap_or_default());
        let to = ClassDefinition {
            library_hash: hash,
            ..now
        };
        known.instances.insert(to.instance.clone(), to.clone());
        drop(known);
        let ticks = self.recorder.now();
        self.recorder
            .announce(Definition::Swap(SwapDefinition { ticks, from, to }));
        Ok(())
    }

    fn register_method(&self, method: MonitoredMethod<'_>) -> Result<MethodPointer, PortError> {
        let interface = method.interface.get();
        let interface = interface.ok_or_else(|| PortError::failed("no interface, expected one"))?;
        let descriptor = interface.methods().get(method.index as usize);
        let descriptor = descriptor.ok_or_else(|| {
            PortError::failed(format_args!(
                "method {} of \"{}\", expected one of {}",
                method.index,
                interface.name,
                interface.methods().len()
            ))
        })?;
        let key = [
            method.instance.to_string(),
            method.class.to_string(),
            method.port.to_string(),
            interface.name.to_string(),
            descriptor.name.to_string(),
        ];
        let mut known = locked(&self.known);
        if let Some(method) = known.methods.get(&key) {
            return Ok(MethodPointer(Arc::as_ptr(&method.switched)));
        }
        let [instance, class, port, of_interface, name] = key.clone();
        let definition = MethodDefinition {
            instance,
            class,
            port,
            interface: of_interface,
            method: name,
            parameters: parameters(descriptor),
            ..MethodDefinition::default()
        };
        let counters = self.counters_of(&definition.name());
        let parameters = definition.parameters.clone();
        let mut disabled = locked(&self.disabled);
        let group = &definition.interface;
        if disabled.new && !self.recorder.interfaces().contains(group) {
            disabled.groups.insert(group.clone());
        }
        let is_disabled = disabled.groups.contains(group);
        drop(disabled);
        let id = self.recorder.register(MethodDefinition {
            counters,
            ..definition
        });
        let method = self.recorder.method(id);
        if let (Some(method), true) = (&method, is_disabled) {
            method.set_enabled(false);
        }
        let method = method.ok_or_else(|| PortError::failed("the recording has ended"))?;
        let pointer = MethodPointer(Arc::as_ptr(&method));
        let switched = method;
        let method = AnnouncedMethod {
            switched,
            parameters,
        };
        known.methods.insert(key, method);
        Ok(pointer)
    }
}

/// Bytes of a library that are hashed at once.
const HASHED_BYTES: usize = 1 << 16;

/// Identifies the build of a library: CRC-32 of its content, hexadecimal.
///
/// # Errors
/// It cannot be read.
pub fn library_hash(library: &Path) -> io::Result<String> {
    let mut file = File::open(library)?;
    let (mut hasher, mut piece) = (crc32fast::Hasher::new(), vec![0; HASHED_BYTES]);
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(format!("{:08x}", hasher.finalize())),
            Ok(n) => hasher.update(&piece[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn parameters(method: &'static MethodDescriptor) -> Vec<ParameterDefinition> {
    let texts = |texts: &RSlice<'static, cca_abi::RStr<'static>>| {
        texts.iter().map(ToString::to_string).collect()
    };
    let definition = |parameter: &cca_abi::PerfDescriptor| ParameterDefinition {
        name: parameter.name.to_string(),
        kind: parameter.kind.into(),
        unit: parameter.unit.to_string(),
        labels: texts(&parameter.labels),
    };
    method.parameters.iter().map(definition).collect()
}

pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The component that provides `cca.Measurement`: timers, events, their control and their values.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::{Arc, Mutex, Weak};

use cca_abi::recording::{ProxyMethod, Recorder, Recording};
use cca_ports::{
    EventValues, MeasurementPort, MetricValue, PortError, RSlice, RStr, RString, RVec, Services,
    TimerGroup, TimerValues,
};
use mastermind_measurement::{
    AtomicEvents, TimerError, Timers, current_counter, process_virtual_ns,
};
use mastermind_records::definition::AtomicEventDefinition;

use crate::mastermind::{Mastermind, locked};

/// Provides `cca.Measurement`. In a recorded run each start and stop of a timer is a record as well.
#[derive(Default)]
pub struct Measurement {
    timers: Timers,
    events: AtomicEvents,
    recording: Mutex<Weak<Mastermind>>,
    /// By timer, the method of its records.
    methods: Mutex<Vec<Option<Arc<ProxyMethod>>>>,
}

/// A timer that runs and is recorded, of the measurement at this address.
struct Started {
    measurement: *const Measurement,
    recording: Option<ManuallyDrop<Recording<'static, 0>>>,
}

thread_local! {
    static STARTED: RefCell<Vec<Started>> = const { RefCell::new(Vec::new()) };
}

impl Measurement {
    /// Name of the provides port.
    pub const PORT: &'static str = "measurement";

    /// Joins a framework through the services of an instance of its own.
    ///
    /// # Errors
    /// Errors of the framework.
    pub fn add(services: &Services) -> Result<Arc<Self>, PortError> {
        let measurement = Arc::<Self>::default();
        services.add_provides_port::<dyn MeasurementPort, _>(Self::PORT, &measurement)?;
        Ok(measurement)
    }

    pub(crate) fn record_into(&self, mastermind: &Arc<Mastermind>) {
        *locked(&self.recording) = Arc::downgrade(mastermind);
    }

    /// The atomic events so far.
    pub(crate) fn sums(&self) -> Vec<AtomicEventDefinition> {
        self.events.sums()
    }

    fn mastermind(&self) -> Option<Arc<Mastermind>> {
        locked(&self.recording).upgrade()
    }

    /// Begins the record of a timer.
    fn begin(&self, timer: u32) -> Option<ManuallyDrop<Recording<'static, 0>>> {
        let mastermind = self.mastermind()?;
        let method = self.method(timer, &mastermind)?;
        // SAFETY: the recording is ended only while the Mastermind that owns the recorder exists (`end`); otherwise it
        // is not touched.
        let recorder: &'static Recorder = unsafe { &*ptr::from_ref(mastermind.recorder()) };
        // It ends in another function than the one it begins in.
        Recording::begin_anywhere(recorder, &method, []).map(ManuallyDrop::new)
    }

    fn end(&self, recording: Option<ManuallyDrop<Recording<'static, 0>>>) {
        if let (Some(recording), Some(_mastermind)) = (recording, self.mastermind()) {
            ManuallyDrop::into_inner(recording).end(false);
        }
    }

    fn method(&self, timer: u32, mastermind: &Mastermind) -> Option<Arc<ProxyMethod>> {
        let mut methods = locked(&self.methods);
        let place = timer as usize;
        if methods.len() <= place {
            methods.resize(place + 1, None);
        }
        if methods[place].is_none() {
            let (name, group) = self.timers.name(timer).ok()?;
            methods[place] = mastermind.timer_method(&name, &group);
        }
        methods[place].clone()
    }

    /// A renamed timer is another method.
    fn forget_method(&self, timer: u32) {
        if let Some(method) = locked(&self.methods).get_mut(timer as usize) {
            *method = None;
        }
    }

    fn metric(&self, name: &str) -> Result<MetricValue, PortError> {
        let (unit, value) = match name {
            "wall" => ("ns", Some(self.timers.wall_ns())),
            "process_virtual" => ("ns", Some(process_virtual_ns())),
            "mpi" => ("ns", self.mastermind().and_then(|m| m.thread_mpi_ns())),
            counter => current_counter(counter).map_err(PortError::failed)?,
        };
        Ok(MetricValue {
            name: name.into(),
            unit: unit.into(),
            is_available: value.is_some(),
            value: value.unwrap_or(0),
        })
    }
}

impl MeasurementPort for Measurement {
    fn create_timer(&self, name: RStr<'_>, group: RStr<'_>) -> Result<u32, PortError> {
        self.timers.create(&name, &group).map_err(PortError::failed)
    }

    fn rename_timer(&self, timer: u32, name: RStr<'_>) -> Result<(), PortError> {
        let renamed = self.timers.rename(timer, Some(&name), None);
        renamed.map_err(PortError::failed)?;
        self.forget_method(timer);
        Ok(())
    }

    fn regroup_timer(&self, timer: u32, group: RStr<'_>) -> Result<(), PortError> {
        let regrouped = self.timers.rename(timer, None, Some(&group));
        regrouped.map_err(PortError::failed)?;
        self.forget_method(timer);
        Ok(())
    }

    fn start(&self, timer: u32) -> Result<(), PortError> {
        let is_measured = self.timers.start(timer).map_err(PortError::failed)?;
        let recording = if is_measured { self.begin(timer) } else { None };
        STARTED.with(|started| {
            started.borrow_mut().push(Started {
                measurement: self,
                recording,
            });
        });
        Ok(())
    }

    fn stop(&self, timer: u32) -> Result<(), PortError> {
        self.timers.stop(timer).map_err(PortError::failed)?;
        let last = STARTED.with(|started| {
            let mut started = started.borrow_mut();
            let place = started
                .iter()
                .rposition(|started| ptr::eq(started.measurement, self));
            place.map(|place| started.remove(place))
        });
        self.end(last.and_then(|last| last.recording));
        Ok(())
    }

    fn create_event(&self, name: RStr<'_>) -> Result<u32, PortError> {
        self.events.create(&name).map_err(PortError::failed)
    }

    fn trigger(&self, event: u32, value: f64) -> Result<(), PortError> {
        self.events.trigger(event, value).map_err(PortError::failed)
    }

    fn set_group_enabled(&self, group: RStr<'_>, is_enabled: bool) -> Result<(), PortError> {
        let of_methods = match self.mastermind() {
            Some(mastermind) => mastermind.set_group_enabled(&group, is_enabled)?,
            None => false,
        };
        match self.timers.set_group_enabled(&group, is_enabled) {
            Err(TimerError::UnknownGroup { .. }) if of_methods => Ok(()),
            of_timers => of_timers.map_err(PortError::failed),
        }
    }

    fn set_all_enabled(&self, is_enabled: bool) -> Result<(), PortError> {
        self.timers.set_all_enabled(is_enabled);
        if let Some(mastermind) = self.mastermind() {
            mastermind.set_new_enabled(is_enabled);
            for (group, _) in mastermind.groups() {
                mastermind.set_group_enabled(&group, is_enabled)?;
            }
        }
        Ok(())
    }

    fn groups(&self) -> Result<RVec<TimerGroup>, PortError> {
        let mut groups = self.timers.groups();
        if let Some(mastermind) = self.mastermind() {
            groups.extend(mastermind.groups());
        }
        let group = |(name, is_enabled): (String, bool)| TimerGroup {
            name: name.into(),
            is_enabled,
        };
        Ok(groups.into_iter().map(group).collect())
    }

    fn metrics(&self, names: RSlice<'_, RString>) -> Result<RVec<MetricValue>, PortError> {
        if names.is_empty() {
            let all = ["wall", "process_virtual", "mpi"];
            return all.into_iter().map(|name| self.metric(name)).collect();
        }
        names.iter().map(|name| self.metric(name)).collect()
    }

    fn timers(&self) -> Result<RVec<TimerValues>, PortError> {
        let sums = self.timers.sums().into_iter();
        let values = sums.map(|sums| TimerValues {
            name: sums.name.into(),
            group: sums.group.into(),
            calls: sums.calls,
            subcalls: sums.subcalls,
            inclusive_ns: sums.inclusive_ns,
            exclusive_ns: sums.exclusive_ns,
            virtual_inclusive_ns: sums.virtual_inclusive_ns,
            virtual_exclusive_ns: sums.virtual_exclusive_ns,
        });
        Ok(values.collect())
    }

    fn events(&self) -> Result<RVec<EventValues>, PortError> {
        let values = self.sums().into_iter().map(|sums| {
            let or_nan = |value: f64| if sums.count == 0 { f64::NAN } else { value };
            EventValues {
                count: sums.count,
                min: or_nan(sums.min),
                max: or_nan(sums.max),
                mean: or_nan(sums.mean),
                std_deviation: sums.std_deviation(),
                name: sums.name.into(),
            }
        });
        Ok(values.collect())
    }
}

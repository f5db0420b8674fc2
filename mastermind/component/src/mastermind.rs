//! The component that proxies record through.

use std::sync::Arc;

use cca_abi::{MethodDescriptor, RSlice};
use cca_loader::{AttachedMpi, MpiProxy, MpiRoutine};
use cca_ports::{MonitorPort, MonitoredMethod, PortError, RecorderPointer, Services};
use mastermind_measurement::{RunRecorder, RunTotals};
use mastermind_records::definition::{
    MethodDefinition, MpiRoutineDefinition, MpiRoutinesDefinition, ParameterDefinition,
};
use mastermind_records::{Definition, RecordsError};

/// Provides `cca.Monitor` on a run's recorder.
///
/// The program that holds the framework makes it ([`Mastermind::add`]) and, when the framework is gone and nothing can
/// record any more, ends the recording ([`Mastermind::finish`]).
pub struct Mastermind {
    // Dropped before the recorder that it leads to.
    mpi: Option<AttachedMpi>,
    recorder: RunRecorder,
}

impl Mastermind {
    /// Name of the provides port.
    pub const PORT: &'static str = "monitor";

    /// Takes part in a framework, by the services of an instance of its own.
    ///
    /// # Arguments
    /// * `mpi` - where MPI time comes from, if it is measured
    ///
    /// # Errors
    /// The framework's; a proxy of MPI of another version.
    pub fn add(
        recorder: RunRecorder,
        mpi: Option<&MpiProxy>,
        services: &Services,
    ) -> Result<Arc<Self>, PortError> {
        // SAFETY: the recorder's address stays, and it is dropped after what is attached to it. When it ends, nothing
        // records any more (`Mastermind::finish`), so no call of MPI is made by a component either.
        let mpi = mpi.map(|mpi| unsafe { mpi.attach(recorder.recorder()) });
        let mpi = mpi.transpose().map_err(PortError::failed)?;
        let mastermind = Arc::new(Mastermind { mpi, recorder });
        services.add_provides_port::<dyn MonitorPort, _>(Self::PORT, &mastermind)?;
        Ok(mastermind)
    }

    /// Records each call of MPI from now on with its bytes, its peer and its number of ranks.
    ///
    /// # Errors
    /// MPI is not measured.
    pub fn record_mpi_events(&self) -> Result<(), PortError> {
        let ids = self.recorder.register_mpi();
        match &self.mpi {
            Some(mpi) if mpi.record_events(&ids) => Ok(()),
            _ => Err(PortError::failed("MPI is not measured, expected it to be")),
        }
    }

    /// Ends the recording.
    ///
    /// # Returns
    /// What was recorded; `None` if a component still holds a way to the recorder, whose logs then stay as a killed run's
    /// would: complete, but not marked as finished.
    ///
    /// # Errors
    /// The logs cannot be written.
    pub fn finish(self: Arc<Self>) -> Result<Option<RunTotals>, RecordsError> {
        match Arc::try_unwrap(self) {
            Ok(Mastermind { mpi, recorder }) => {
                if let Some(mpi) = mpi {
                    let routines = mpi_routines(mpi.routines(), recorder.mpi_routines());
                    recorder.announce(Definition::MpiRoutines(routines));
                }
                recorder.finish().map(Some)
            }
            Err(_) => Ok(None),
        }
    }
}

/// What the proxy of MPI has counted by itself, as definitions.
pub fn routine_definitions(routines: Vec<MpiRoutine>) -> Vec<MpiRoutineDefinition> {
    let definition = |routine: MpiRoutine| MpiRoutineDefinition {
        name: routine.name,
        calls: routine.calls,
        ticks: routine.ticks,
    };
    routines.into_iter().map(definition).collect()
}

/// All that was spent in MPI: what the proxy has counted by itself and what the logs have kept.
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

    fn register_method(&self, method: MonitoredMethod<'_>) -> Result<u32, PortError> {
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
        Ok(self.recorder.register(MethodDefinition {
            instance: method.instance.to_string(),
            class: method.class.to_string(),
            port: method.port.to_string(),
            interface: interface.name.to_string(),
            method: descriptor.name.to_string(),
            parameters: parameters(descriptor),
            ..MethodDefinition::default()
        }))
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

//! Logs with calls that a test chose.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use mastermind_records::definition::{
    CallPathDefinition, ClockDefinition, MethodDefinition, ParameterDefinition,
};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, LogIdentity, LogWriter, RecordWords,
};

/// Writes records of one method as a run leaves them, one call after the other.
///
/// `directory` must not exist yet; `method` is given its number and its only parameter, `parameter`; `calls` are the parameter and
/// the nanoseconds of each call. The time of a function of MPI is time in MPI.
///
/// # Panics
/// If the log cannot be written.
pub fn write_calls(
    directory: &Path,
    method: MethodDefinition,
    parameter: &str,
    calls: impl IntoIterator<Item = (u64, u64)>,
) {
    fs::create_dir(directory).expect("a folder");
    let preparer = Arc::new(ChunkPreparer::start(None).expect("a thread"));
    let start = Calibration { ticks: 0, ns: 0 };
    let identity = LogIdentity { rank: 0, thread: 0 };
    let chunks = ChunkSizes::default();
    let log = LogWriter::create(directory, identity, start, chunks, &preparer);
    let mut log = log.expect("a log");
    let is_mpi = method.is_mpi();
    let parameter = ParameterDefinition {
        name: parameter.into(),
        ..ParameterDefinition::default()
    };
    let definitions = [
        Definition::Clock(ClockDefinition {
            name: "test".into(),
            ticks_per_second: 1e9,
            step_ticks: 1.0,
        }),
        Definition::Method(MethodDefinition {
            id: 1,
            parameters: vec![parameter],
            ..method
        }),
        Definition::CallPath(CallPathDefinition {
            id: 1,
            parent: 0,
            method: 1,
        }),
    ];
    for definition in &definitions {
        log.define(definition).expect("a definition");
    }
    let mut now = 0;
    for (value, wall) in calls {
        let record = RecordWords {
            path: 1,
            start: now,
            wall,
            mpi: is_mpi.then_some(wall),
            failed: false,
            values: &[value],
        };
        assert!(log.append(record));
        now += wall;
    }
    log.finish(Calibration {
        ticks: now,
        ns: now,
    })
    .expect("the end");
}

//! Tests of a log's MPI totals while it is written.

use std::sync::Arc;

use super::*;
use crate::definition::{Definition, MpiRoutinesDefinition, MpiTotalsDefinition};
use crate::preparer::ChunkPreparer;
use crate::writer::{ChunkSizes, LogWriter};

#[test]
fn totals_that_are_defined_while_a_log_is_opened_count() {
    let directory = tempfile::tempdir().unwrap();
    let identity = LogIdentity { rank: 0, thread: 0 };
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let (start, sizes) = (Calibration::default(), ChunkSizes::default());
    let writer = LogWriter::create(directory.path(), identity, start, sizes, &preparer);
    let mut writer = writer.unwrap();
    let kept = writer.keep(2).unwrap();
    let totals = MpiTotalsDefinition {
        word: kept.word,
        functions: vec!["MPI_Allgather".into()],
        before: Vec::new(),
        failed: None,
    };
    writer.define(&Definition::MpiTotals(totals)).unwrap();
    let routine = |calls| MpiRoutineDefinition {
        name: "MPI_Allgather".into(),
        calls,
        ticks: 7,
        failed: 0,
    };
    let call = |calls| {
        // SAFETY: two words are reserved, and nobody else writes them.
        unsafe { std::slice::from_raw_parts_mut(kept.start, 2) }.copy_from_slice(&[calls, 7]);
    };
    call(2);
    let file = File::open(writer.path()).unwrap();
    let mut log = Log::open(writer.path()).unwrap();
    assert_eq!(log.mpi_totals(), [routine(2)]);
    // As by a log that is being opened, whose entries have been read.
    let routines = vec![routine(2)];
    let defined = MpiRoutinesDefinition { routines };
    let definition = Definition::MpiRoutines(defined.clone());
    writer.define(&definition).unwrap();
    call(4);
    log.read_mpi_totals(&mut Source::File(Arc::new(file)));
    assert_eq!(log.definitions().mpi_routines, Some(defined));
    assert_eq!(log.mpi_totals(), [routine(2)]);
}

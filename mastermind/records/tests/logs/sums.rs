//! Sums over the records of long logs are the same however they are computed.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::common::{HEADER, method};
use mastermind_records::definition::{CallPathDefinition, MpiSwitchDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, Log, LogIdentity, LogWriter, PackOptions,
    PathTimes, RecordWords, Run, pack,
};

/// Records of a log. They take several windows of a reader, and several blocks of a container.
const N_RECORDS: u64 = 20_000;

/// Calls of methods with 1 and 3 parameters, and of one with a counter; some of them measure time in MPI.
fn write(directory: &Path, rank: u32, has_counter: bool, switches_mpi: bool) {
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let identity = LogIdentity { rank, thread: 0 };
    let chunks = ChunkSizes {
        first_bytes: 1 << 21,
        largest_bytes: 1 << 21,
    };
    let start = Calibration::default();
    let mut writer = LogWriter::create(directory, identity, start, chunks, &preparer).unwrap();
    for (id, parent) in [(2, 0), (4, 2), (5, 2)] {
        writer.define(&Definition::Method(method(id))).unwrap();
        let path = CallPathDefinition {
            id,
            parent,
            method: id,
        };
        writer.define(&Definition::CallPath(path)).unwrap();
    }
    for call in 0..N_RECORDS {
        if switches_mpi && [N_RECORDS / 2, N_RECORDS * 3 / 4].contains(&call) {
            let switch = MpiSwitchDefinition {
                ticks: call * 100,
                measured: call > N_RECORDS / 2,
            };
            writer.define(&Definition::MpiSwitch(switch)).unwrap();
        }
        let path = match call % 64 {
            0 => 2,
            33 if has_counter => 5,
            _ => 4,
        };
        let values = [call % 7, 2, 3, 4, call % 5];
        let record = RecordWords {
            path,
            start: call * 100,
            wall: 40 + call % 17,
            mpi: (call / 100 % 2 == 0).then_some(call % 11),
            failed: call % 1000 == 7,
            values: &values[..path as usize - usize::from(path < 5)],
        };
        assert!(writer.append(record));
    }
    let end = Calibration {
        ticks: N_RECORDS * 100,
        ns: N_RECORDS * 50,
    };
    writer.finish(end).unwrap();
}

fn sums(run: &Run) -> Vec<Vec<PathTimes>> {
    let logs = run.logs().iter();
    logs.map(|log| log.path_times(false)).collect()
}

#[test]
fn one_reading_finds_the_sums_of_two_and_those_of_packed_logs() {
    let directory = tempfile::tempdir().unwrap();
    let logs = [(false, false), (true, false), (false, true), (true, true)];
    for (rank, (has_counter, switches_mpi)) in (0..).zip(logs) {
        write(directory.path(), rank, has_counter, switches_mpi);
    }
    let expected = sums(&Run::open(directory.path()).unwrap());
    let calls: u64 = expected.iter().flatten().map(|path| path.calls).sum();
    assert_eq!(calls, 4 * N_RECORDS);
    let with_mpi = expected
        .iter()
        .flatten()
        .filter(|path| path.mpi_ns.is_some());
    assert_eq!(with_mpi.count(), 10);
    assert_eq!(
        sums(&Run::open_for_sums(directory.path()).unwrap()),
        expected
    );
    let options = PackOptions {
        keep: false,
        ranks: None,
    };
    pack(directory.path(), &options).unwrap();
    for packed in [Run::open, Run::open_for_sums] {
        assert_eq!(sums(&packed(directory.path()).unwrap()), expected);
    }
}

#[test]
fn damage_changes_the_sums_of_one_reading_as_those_of_two() {
    for at in [HEADER + 3000, HEADER + 401_004] {
        let directory = tempfile::tempdir().unwrap();
        write(directory.path(), 0, false, false);
        let path = Run::open(directory.path()).unwrap().logs()[0]
            .path()
            .to_path_buf();
        let mut bytes = fs::read(&path).unwrap();
        bytes[at as usize] ^= 0x10;
        fs::write(&path, bytes).unwrap();
        let log = Log::open(&path).unwrap();
        assert_eq!((log.damage().len(), log.n_records()), (1, N_RECORDS - 1));
        let run = Run::open_for_sums(directory.path()).unwrap();
        assert_eq!(sums(&run), [log.path_times(false)]);
    }
}

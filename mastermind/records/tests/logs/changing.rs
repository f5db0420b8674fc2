//! Logs that change while they are read.

use std::fs::OpenOptions;
use std::path::Path;
use std::sync::Arc;

use mastermind_records::definition::{CallPathDefinition, MethodDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, Log, LogIdentity, LogWriter, RecordWords,
};

const IDENTITY: LogIdentity = LogIdentity { rank: 0, thread: 0 };

fn writer(directory: &Path) -> LogWriter {
    limited_writer(directory, None)
}

fn limited_writer(directory: &Path, limit_bytes: Option<u64>) -> LogWriter {
    let preparer = Arc::new(ChunkPreparer::start(limit_bytes).unwrap());
    let start = Calibration::default();
    let sizes = ChunkSizes::default();
    let mut writer = LogWriter::create(directory, IDENTITY, start, sizes, &preparer).unwrap();
    let method = MethodDefinition {
        id: 1,
        ..MethodDefinition::default()
    };
    writer.define(&Definition::Method(method)).unwrap();
    define_path(&mut writer, 1);
    writer
}

fn define_path(writer: &mut LogWriter, id: u32) {
    let path = CallPathDefinition {
        id,
        parent: 0,
        method: 1,
    };
    writer.define(&Definition::CallPath(path)).unwrap();
}

fn append(writer: &mut LogWriter, calls: std::ops::Range<u64>) {
    for call in calls {
        let record = RecordWords {
            path: 1,
            start: call * 10,
            wall: 5,
            ..RecordWords::default()
        };
        assert!(writer.append(record));
    }
}

/// On the code before, which read mapped files, the process was killed by SIGBUS.
#[test]
fn a_log_that_is_cut_while_it_is_read_ends_there_and_says_so() {
    const N: u64 = 200_000;
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    append(&mut writer, 0..N);
    let path = writer.path().to_path_buf();
    writer.finish(Calibration { ticks: 1, ns: 1 }).unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!((log.n_records(), log.was_cut()), (N, false));
    let mut records = log.records();
    let first = records.next().unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    file.set_len(file.metadata().unwrap().len() / 2).unwrap();
    let n_read = 1 + records.count() as u64;
    assert!(N / 4 < n_read && n_read < N, "{n_read}");
    assert!(log.was_cut());
    assert_eq!(first.wall_ns, 5);
    // Gone altogether, or replaced by another of its name.
    std::fs::remove_file(&path).unwrap();
    assert_eq!(log.records().count(), 0);
    std::fs::write(&path, [0; 100_000]).unwrap();
    assert_eq!(log.records().count(), 0);
}

/// What a program writes behind the committed count is not believed as long as it runs, however much it is.
#[test]
fn what_a_living_program_has_not_committed_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    append(&mut writer, 0..1000);
    let path = writer.path().to_path_buf();
    // The count as it was some records ago: what lies behind is whole, as where a program writes several at once.
    let count = writer.committed_bytes() - 32 * 500;
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &count.to_ne_bytes(), 256).unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!((log.n_records(), log.damage().len()), (500, 0));
    drop(writer);
    // Of a program that is gone they are what it had recorded.
    let log = Log::open(&path).unwrap();
    assert_eq!((log.n_records(), log.damage().len()), (1000, 1));
}

/// A program that is killed after its records have stopped leaves the sums of all calls, those of the last moment included.
#[test]
fn a_killed_program_has_the_sums_of_calls_without_a_record() {
    for n in [3_000, 5_000, 5_001] {
        let directory = tempfile::tempdir().unwrap();
        let mut writer = limited_writer(directory.path(), Some(4096));
        for call in 0..n {
            let record = RecordWords {
                path: 1,
                start: call * 10,
                wall: 5,
                ..RecordWords::default()
            };
            writer.append(record);
        }
        // As one that is killed: nothing is ended.
        let log = Log::open(writer.path()).unwrap();
        assert_eq!(log.damage(), []);
        assert_eq!(log.n_records() + log.dropped(), n);
        assert!(log.n_records() > 60 && log.dropped() > 2_000);
        let sums = log.unrecorded().iter();
        let (calls, wall) = sums.fold((0, 0), |(calls, wall), sum| {
            (calls + sum.calls, wall + sum.wall_ticks)
        });
        assert_eq!((calls, wall), (log.dropped(), 5 * log.dropped()));
        // The calls here are outermost ones, of which the first are kept.
        assert_eq!(log.records().count() as u64, log.n_records());
        std::mem::forget(writer);
    }
}

/// Each opening sees all records that were committed before it, and no fewer than one before; all are whole.
#[test]
fn a_log_that_grows_rolls_over_and_ends_is_read_as_committed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    let path = writer.path().to_path_buf();
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| {
            for round in 0..200 {
                append(&mut writer, round * 2_000..(round + 1) * 2_000);
            }
            writer.finish(Calibration { ticks: 1, ns: 1 }).unwrap();
        });
        let mut before = 0;
        loop {
            let has_ended = recording.is_finished();
            let log = Log::open(&path).unwrap();
            assert_eq!(log.damage(), []);
            assert!(log.n_records() >= before);
            before = log.n_records();
            let walls = log.records().map(|record| record.wall_ns);
            assert_eq!(walls.sum::<u64>(), 5 * before);
            assert!(!log.was_cut());
            if has_ended {
                break;
            }
        }
        assert_eq!(before, 400_000);
    });
}

/// Memory follows the size of the file: the code before made room for all ids below this one, 399 MB.
#[test]
fn an_id_beyond_what_the_file_can_define_is_not_believed() {
    let directory = tempfile::tempdir().unwrap();
    let mut writer = writer(directory.path());
    define_path(&mut writer, 1 << 24);
    define_path(&mut writer, 7);
    let path = writer.path().to_path_buf();
    writer.finish(Calibration::default()).unwrap();
    let log = Log::open(&path).unwrap();
    assert!(log.definitions().call_path(1 << 24).is_none());
    assert!(log.definitions().call_path(7).is_some());
}

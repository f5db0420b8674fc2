//! Logs followed while they grow: each record once, and the same as in the finished log.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use mastermind_records::definition::{CallPathDefinition, MethodDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, Exclusive, ExclusiveTimes, Log,
    LogIdentity, LogWriter, Record, RecordWords, Run, RunFollower,
};

/// Calls of the outer method.
const N_OUTER: u64 = 300;

fn writer(directory: &Path, thread: u32) -> LogWriter {
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let identity = LogIdentity { rank: 0, thread };
    let start = Calibration::default();
    let sizes = ChunkSizes::default();
    LogWriter::create(directory, identity, start, sizes, &preparer).unwrap()
}

/// Path 1 is the outer method's, 2 and 3 are called from there; the method of 3 comes when it is called first.
fn define(writer: &mut LogWriter, id: u32) {
    let method = MethodDefinition {
        id,
        instance: "x".into(),
        method: format!("m{id}"),
        ..MethodDefinition::default()
    };
    writer.define(&Definition::Method(method)).unwrap();
    let path = CallPathDefinition {
        id,
        parent: u32::from(id > 1),
        method: id,
    };
    writer.define(&Definition::CallPath(path)).unwrap();
}

fn append(writer: &mut LogWriter, path: u32, start: u64, wall: u64) {
    let record = RecordWords {
        path,
        start,
        wall,
        ..RecordWords::default()
    };
    assert!(writer.append(record));
}

/// What a reader learns of a record.
type RecordFacts = (u64, Option<u64>, String, u64, u64);

fn seen(record: &Record<'_>, own: Exclusive) -> RecordFacts {
    let name = record.method.name();
    (
        record.seq,
        record.parent_seq,
        name,
        record.start_ns,
        own.wall_ns,
    )
}

/// Reads what is new, in stretches of at most `most`, each read again at once.
fn follow(follower: &mut RunFollower, most: u64, read: &mut [Vec<RecordFacts>]) {
    follower.refresh().unwrap();
    let mut new = Vec::new();
    while let Some(stretch) = follower.read_on(most, |record, own| new.push(seen(record, own))) {
        let again = follower.read_again(&stretch);
        let again: Vec<_> = again.map(|(record, own)| seen(&record, own)).collect();
        assert_eq!(again, new);
        assert_eq!(stretch.n_records, new.len() as u64);
        read[stretch.log].append(&mut new);
    }
}

#[test]
fn every_record_is_read_once_as_it_comes() {
    let directory = tempfile::tempdir().unwrap();
    let mut follower = RunFollower::new(directory.path(), Some(0));
    follower.refresh().unwrap();
    let mut read = [Vec::new(), Vec::new()];
    let mut first = writer(directory.path(), 0);
    let mut second = None;
    define(&mut first, 1);
    define(&mut first, 2);
    for outer in 0..N_OUTER {
        let start = outer * 100;
        for inner in 0..outer % 7 {
            append(&mut first, 2, start + 10 * inner + 1, 5);
            // The outer call is open while its inner ones are read.
            if (outer + inner) % 5 == 0 {
                follow(&mut follower, 1 + outer % 11, &mut read);
            }
        }
        if outer == N_OUTER / 2 {
            define(&mut first, 3);
            let mut late = writer(directory.path(), 1);
            define(&mut late, 1);
            second = Some(late);
        }
        if let Some(second) = &mut second {
            append(&mut first, 3, start + 80, 7);
            append(second, 1, start, 9);
        }
        append(&mut first, 1, start, 90);
    }
    let end = Calibration { ticks: 1, ns: 1 };
    for writer in [first, second.unwrap()] {
        writer.finish(end).unwrap();
    }
    follow(&mut follower, 4096, &mut read);
    assert!(follower.logs().all(|log| log.is_finished()));
    let run = Run::open(directory.path()).unwrap();
    for (log, read) in run.logs().iter().zip(&read) {
        let mut times = ExclusiveTimes::new(log);
        let whole = std::iter::from_fn(|| times.next_record());
        let whole: Vec<_> = whole.map(|(record, own)| seen(&record, own)).collect();
        assert!(!whole.is_empty());
        assert_eq!(*read, whole);
    }
}

/// A directory that has not changed for long is not listed again; a log that comes into it is found all the same.
#[test]
fn a_log_that_comes_late_is_found() {
    let directory = tempfile::tempdir().unwrap();
    let mut old = writer(directory.path(), 0);
    define(&mut old, 1);
    let long_ago = SystemTime::now() - Duration::from_secs(3600);
    let opened = std::fs::File::open(directory.path()).unwrap();
    opened.set_modified(long_ago).unwrap();
    let mut follower = RunFollower::new(directory.path(), None);
    for n_records in 1..4_u64 {
        append(&mut old, 1, 10 * n_records, 1);
        follower.refresh().unwrap();
        let found: Vec<_> = follower.logs().map(Log::n_records).collect();
        assert_eq!(found, [n_records]);
    }
    let mut late = writer(directory.path(), 1);
    define(&mut late, 1);
    append(&mut late, 1, 50, 1);
    follower.refresh().unwrap();
    let found: Vec<_> = follower.logs().map(Log::n_records).collect();
    assert_eq!(found, [3, 1]);
}

/// A log that another run's has taken the name of is not read on as if it were the same.
#[test]
fn another_log_of_the_same_name_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut old = writer(directory.path(), 0);
    define(&mut old, 1);
    append(&mut old, 1, 0, 1);
    let mut follower = RunFollower::new(directory.path(), None);
    follower.refresh().unwrap();
    let path = old.path().to_path_buf();
    // The old file lives on as long as it is open, so that its number is not given to the new one.
    std::fs::remove_file(&path).unwrap();
    assert!(follower.refresh().is_err());
    let _new = writer(directory.path(), 0);
    let error = follower.refresh().unwrap_err().to_string();
    assert!(error.contains("cannot follow record log"), "{error}");
    drop(old);
}

/// What is not read is left out chunk by chunk. A call that has lost calls made from it would have too much time of its own: it is left
/// out too, also where it began in a chunk before. What was defined there is known.
#[test]
fn what_comes_too_fast_is_left_out() {
    const INNER: u64 = 7;
    let directory = tempfile::tempdir().unwrap();
    let mut follower = RunFollower::new(directory.path(), Some(0));
    let mut log = writer(directory.path(), 0);
    define(&mut log, 1);
    define(&mut log, 2);
    let mut n_written = 0;
    let mut outer = |log: &mut LogWriter, path: u32| {
        let start = 100 * (n_written / (INNER + 1));
        for inner in 0..INNER {
            append(log, path, start + 10 * inner + 1, 5);
        }
        append(log, 1, start, 90);
        n_written += INNER + 1;
        n_written
    };
    outer(&mut log, 2);
    follower.refresh().unwrap();
    let (mut own, mut names) = (Vec::new(), Vec::new());
    let mut read = |follower: &mut RunFollower| {
        let mut n_read = 0;
        while let Some(stretch) = follower.read_on(100, |record, exclusive| {
            names.push(record.method.name());
            if record.call_path == 1 {
                own.push(exclusive.wall_ns);
            }
        }) {
            n_read += stretch.n_records;
        }
        n_read
    };
    let mut n_read = read(&mut follower);
    // The first chunk is full after some 26,000 records.
    while outer(&mut log, 2) < 20_000 {}
    define(&mut log, 3);
    let mut n_whole = outer(&mut log, 3);
    let left = follower.refresh_within(4096).unwrap();
    assert!(left > 0);
    n_read += read(&mut follower);
    assert!(n_read < n_whole, "{n_read}");
    let identity = LogIdentity { rank: 0, thread: 0 };
    let mut n_skipped = 0;
    while n_skipped == 0 {
        // As long as the thread that sums up full chunks takes for it.
        n_whole = outer(&mut log, 3);
        n_skipped = follower.skip(BTreeMap::from([(identity, log.running_sums())]));
    }
    assert_eq!(follower.refresh_within(u64::MAX).unwrap(), 0);
    n_read += read(&mut follower);
    assert_eq!(n_read + n_skipped, n_whole);
    assert!(own.iter().all(|ns| *ns == 90 - 5 * INNER), "{own:?}");
    assert!(
        names.iter().any(|name| name == "x.m3"),
        "{}",
        names[names.len() - 1]
    );
}

//! Packed records are read as the logs that they were; a damaged container is an error.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{Call, Expected, calls, read, write};
use mastermind_records::layout::EXTENSION;
use mastermind_records::packed::PACKED_EXTENSION;
use mastermind_records::{
    Log, LogIdentity, PackOptions, RecordsError, Run, is_being_written, pack, packed_ranks,
};
use proptest::prelude::*;

const REMOVE: PackOptions = PackOptions {
    keep: false,
    ranks: None,
};
const KEEP: PackOptions = PackOptions {
    keep: true,
    ranks: None,
};

/// What is known of a log, as text, and its records.
type LogFacts = (String, Vec<Expected>);

fn seen(directory: &Path) -> Vec<LogFacts> {
    let run = Run::open(directory).unwrap();
    let of_log = |log: &Log| {
        let definitions = log.definitions();
        // How many call paths would be believed depends on who reads.
        let text = format!(
            "{:?} {:?} {} {} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            log.path(),
            log.identity(),
            log.is_finished(),
            log.n_records(),
            log.damage(),
            log.dropped(),
            log.unrecorded(),
            log.open_calls(),
            log.time(),
            definitions.methods().collect::<Vec<_>>(),
            definitions.call_paths().collect::<Vec<_>>(),
            log.path_times(false),
        );
        (text, read(log))
    };
    run.logs().iter().map(of_log).collect()
}

fn files(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let paths = fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> = paths
        .filter(|path| path.extension().unwrap() == extension)
        .collect();
    paths.sort();
    paths
}

fn identity(thread: u32) -> LogIdentity {
    LogIdentity { rank: 3, thread }
}

fn packed(forests: &[Vec<Call>]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    for (thread, calls) in forests.iter().enumerate() {
        write(directory.path(), calls, None, identity(thread as u32));
    }
    let done = pack(directory.path(), &REMOVE).unwrap();
    let container = done.containers[0].clone();
    (directory, container)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whole, cut and flipped logs, with and without records behind a limit.
    #[test]
    fn what_is_packed_is_read_as_before(
        forests in prop::collection::vec(calls(), 1..4),
        limit in prop_oneof![Just(None), (4096..30_000_u64).prop_map(Some)],
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in prop_oneof![2 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut paths = Vec::new();
        for (thread, calls) in forests.iter().enumerate() {
            paths.push(write(directory.path(), calls, limit, identity(thread as u32)).path);
        }
        let mut bytes = fs::read(&paths[0]).unwrap();
        for (at, flip) in flips {
            let at = 24 + at.index(bytes.len() - 24);
            bytes[at] ^= flip;
        }
        if let Some(cut) = cut {
            bytes.truncate(4096 + cut.index(bytes.len() - 4096));
        }
        fs::write(&paths[0], &bytes).unwrap();
        let before = seen(directory.path());
        let done = pack(directory.path(), &REMOVE).unwrap();
        prop_assert_eq!(done.n_logs, paths.len());
        prop_assert_eq!(files(directory.path(), EXTENSION), Vec::<PathBuf>::new());
        prop_assert_eq!(seen(directory.path()), before);
    }

    /// No byte of a container can be another one, and none can be missing, without an error that names it.
    #[test]
    fn damage_is_an_error(
        forests in prop::collection::vec(calls(), 1..3),
        at in any::<prop::sample::Index>(),
        flip in 1_u8..,
        is_cut in any::<bool>(),
    ) {
        let (directory, container) = packed(&forests);
        let before = seen(directory.path());
        let mut bytes = fs::read(&container).unwrap();
        let at = at.index(bytes.len());
        match is_cut {
            true => bytes.truncate(at),
            false => bytes[at] ^= flip,
        }
        fs::write(&container, &bytes).unwrap();
        match Run::open(directory.path()) {
            Err(error) => prop_assert!(error.to_string().contains("pack-rank0003.mmp"), "{error}"),
            Ok(run) => {
                // Four bytes of the head mean nothing yet; else another log is damaged.
                let is_unused = !is_cut && (12..16).contains(&at);
                prop_assert!(is_unused || !run.unreadable().is_empty());
                for error in run.unreadable() {
                    prop_assert!(error.to_string().contains("pack-rank0003.mmp"), "{error}");
                }
                for log in seen(directory.path()) {
                    prop_assert!(before.contains(&log));
                }
            }
        }
    }
}

fn a_call() -> Call {
    Call {
        method: 2,
        values: [7; 5],
        mpi: Some(3),
        failed: false,
        children: Vec::new(),
    }
}

#[test]
fn logs_may_be_loose_and_packed_and_both() {
    let directory = tempfile::tempdir().unwrap();
    let forest = vec![a_call(); 50];
    write(directory.path(), &forest, None, identity(0));
    let one = seen(directory.path());
    let done = pack(directory.path(), &KEEP).unwrap();
    assert_eq!((done.n_logs, done.n_records), (1, 50));
    assert_eq!(seen(directory.path()), one, "both");
    write(directory.path(), &forest, None, identity(1));
    let two = seen(directory.path());
    assert_eq!(two.len(), 2);
    let done = pack(directory.path(), &REMOVE).unwrap();
    assert_eq!((done.n_logs, done.n_packed_before), (1, 1));
    assert_eq!(
        done.containers,
        [directory.path().join("pack-rank0003-2.mmp")]
    );
    assert_eq!(files(directory.path(), EXTENSION), Vec::<PathBuf>::new());
    assert_eq!(files(directory.path(), PACKED_EXTENSION).len(), 2);
    assert_eq!(seen(directory.path()), two);
    let rank = Run::open_rank(directory.path(), 3).unwrap();
    assert_eq!(rank.logs().len(), 2);
    assert!(Run::open_rank(directory.path(), 4).is_err());
    // Again there is nothing to do.
    assert_eq!(pack(directory.path(), &REMOVE).unwrap().n_logs, 0);
}

#[test]
fn who_has_opened_logs_reads_on_where_they_were_packed() {
    let directory = tempfile::tempdir().unwrap();
    for thread in 0..3 {
        write(
            directory.path(),
            &vec![a_call(); 50],
            None,
            identity(thread),
        );
    }
    let expected: Vec<_> = seen(directory.path())
        .into_iter()
        .map(|(_, records)| records)
        .collect();
    let run = Run::open(directory.path()).unwrap();
    pack(directory.path(), &REMOVE).unwrap();
    assert_eq!(files(directory.path(), EXTENSION), Vec::<PathBuf>::new());
    let found: Vec<_> = run.logs().iter().map(read).collect();
    assert_eq!(found, expected);
    assert_eq!(run.cut_logs().count(), 0);
}

#[test]
fn the_logs_of_some_ranks_are_packed_while_others_are_written() {
    let directory = tempfile::tempdir().unwrap();
    let of_rank = |rank| LogIdentity { rank, thread: 0 };
    for rank in 0..3 {
        write(directory.path(), &[a_call()], None, of_rank(rank));
    }
    let live = fs::File::open(of_rank(1).path(directory.path())).unwrap();
    rustix::fs::flock(&live, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    let options = PackOptions {
        ranks: Some([0, 2].into()),
        ..REMOVE
    };
    assert_eq!(pack(directory.path(), &options).unwrap().n_logs, 2);
    assert_eq!(
        files(directory.path(), EXTENSION),
        [of_rank(1).path(directory.path())]
    );
    assert_eq!(packed_ranks(directory.path()), [0, 2].into());
    assert_eq!(seen(directory.path()).len(), 3);
}

#[test]
fn methods_of_several_logs_are_in_memory_once() {
    let directory = tempfile::tempdir().unwrap();
    for thread in 0..3 {
        write(directory.path(), &[a_call()], None, identity(thread));
    }
    for is_packed in [false, true] {
        if is_packed {
            pack(directory.path(), &REMOVE).unwrap();
        }
        let run = Run::open(directory.path()).unwrap();
        let methods = run
            .logs()
            .iter()
            .map(|log| log.definitions().method(2).unwrap());
        let methods: Vec<_> = methods.collect();
        assert_eq!(methods.len(), 3);
        let first = methods[0];
        assert!(
            methods
                .iter()
                .all(|method| std::sync::Arc::ptr_eq(method, first))
        );
    }
}

#[test]
fn a_log_that_is_not_what_was_packed_stays() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[a_call()], None, identity(0));
    pack(directory.path(), &KEEP).unwrap();
    let log = files(directory.path(), EXTENSION).remove(0);
    fs::remove_file(&log).unwrap();
    write(directory.path(), &[a_call(), a_call()], None, identity(0));
    let error = pack(directory.path(), &REMOVE).unwrap_err();
    assert!(
        matches!(error, RecordsError::PackedUnlike { .. }),
        "{error}"
    );
    assert_eq!(seen(directory.path())[0].1.len(), 2);
}

#[test]
fn what_is_still_written_is_not_packed() {
    let directory = tempfile::tempdir().unwrap();
    let log = write(directory.path(), &[a_call()], None, identity(0)).path;
    let writer = fs::File::open(&log).unwrap();
    rustix::fs::flock(
        &writer,
        rustix::fs::FlockOperation::NonBlockingLockExclusive,
    )
    .unwrap();
    assert!(is_being_written(&log));
    let error = pack(directory.path(), &REMOVE).unwrap_err();
    assert!(
        matches!(error, RecordsError::StillWritten { n_live: 1, .. }),
        "{error}"
    );
    assert_eq!(
        files(directory.path(), PACKED_EXTENSION),
        Vec::<PathBuf>::new()
    );
}

#[test]
fn another_version_is_named() {
    let (directory, container) = packed(&[vec![a_call()]]);
    let mut bytes = fs::read(&container).unwrap();
    bytes[8] = 9;
    fs::write(&container, &bytes).unwrap();
    let error = Run::open(directory.path()).unwrap_err();
    assert!(
        matches!(error, RecordsError::PackedVersion { found: 9, .. }),
        "{error}"
    );
}

#[test]
fn what_is_no_log_stays() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[a_call()], None, identity(0));
    let foreign = directory.path().join("rank0009-thread00.mmr");
    fs::write(&foreign, vec![b'x'; 9000]).unwrap();
    let done = pack(directory.path(), &REMOVE).unwrap();
    assert_eq!((done.n_logs, done.unreadable.len()), (1, 1));
    assert_eq!(files(directory.path(), EXTENSION), [foreign]);
}

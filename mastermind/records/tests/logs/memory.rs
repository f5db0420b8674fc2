//! Logs that are in memory first, since their file system could refuse a block at a store; and how large a log is.

use std::fs::OpenOptions;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mastermind_records::definition::{CallPathDefinition, MethodDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, Log, LogIdentity, LogWriter, RecordWords,
};
use proptest::prelude::*;

use crate::common::{calls, read, write_with};

const IDENTITY: LogIdentity = LogIdentity { rank: 0, thread: 0 };
/// Bytes of one unit of `st_blocks`; `stat(2)`.
const BLOCK: u64 = 512;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_record_comes_back_from_memory(calls in calls()) {
        let directory = tempfile::tempdir().unwrap();
        let preparer = ChunkPreparer::start_in_memory(None).unwrap();
        let written = write_with(preparer, directory.path(), &calls, IDENTITY);
        let log = Log::open(&written.path).unwrap();
        prop_assert_eq!(log.damage(), &[]);
        prop_assert!(log.is_finished() && log.open_calls().is_empty());
        prop_assert_eq!(read(&log), written.expected.clone());
        prop_assert_eq!(written.totals.records, log.n_records());
        prop_assert_eq!(written.totals.bytes, std::fs::metadata(&written.path).unwrap().len());
    }
}

fn writer(directory: &Path, preparer: &Arc<ChunkPreparer>) -> LogWriter {
    writer_of(ChunkSizes::default(), directory, preparer)
}

fn writer_of(sizes: ChunkSizes, directory: &Path, preparer: &Arc<ChunkPreparer>) -> LogWriter {
    let start = Calibration::default();
    let mut writer = LogWriter::create(directory, IDENTITY, start, sizes, preparer).unwrap();
    let method = MethodDefinition {
        id: 1,
        ..MethodDefinition::default()
    };
    writer.define(&Definition::Method(method)).unwrap();
    let path = CallPathDefinition {
        id: 1,
        parent: 0,
        method: 1,
    };
    writer.define(&Definition::CallPath(path)).unwrap();
    writer
}

fn append(writer: &mut LogWriter, calls: std::ops::Range<u64>) -> u64 {
    let record = |call| RecordWords {
        path: 1,
        start: call * 10,
        wall: 5,
        ..RecordWords::default()
    };
    calls.filter(|call| writer.append(record(*call))).count() as u64
}

#[test]
fn who_reads_a_log_in_memory_finds_what_was_written_out() {
    const N: u64 = 30_000;
    let directory = tempfile::tempdir().unwrap();
    let preparer = Arc::new(ChunkPreparer::start_in_memory(None).unwrap());
    let mut writer = writer(directory.path(), &preparer);
    for last in 1..=3 {
        append(&mut writer, (last - 1) * N..last * N);
        preparer.write_out();
        let log = Log::open(writer.path()).unwrap();
        assert_eq!(log.damage(), &[]);
        assert_eq!(log.n_records(), last * N);
        assert!(!log.is_finished());
    }
    writer.finish(Calibration::default()).unwrap();
}

/// On the code before, a store to a page of a file that copies on write ended the process by SIGBUS.
#[test]
fn a_full_disk_that_copies_on_write_is_an_error() {
    let image = tempfile::tempdir().unwrap();
    let Some(disk) = Disk::mount(image.path()) else {
        eprintln!("skipped: no btrfs can be mounted here");
        return;
    };
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    // Few blocks are allocated when the disk is full: btrfs is slow to write even those then.
    let sizes = ChunkSizes {
        first_bytes: 64 << 10,
        largest_bytes: 128 << 10,
    };
    let mut writer = writer_of(sizes, &disk.0, &preparer);
    let before = append(&mut writer, 0..100_000);
    disk.fill();
    let after = append(&mut writer, 100_000..3_000_000);
    let path = writer.path().to_path_buf();
    let totals = writer.finish(Calibration::default()).unwrap();
    let log = Log::open(&path).unwrap();
    assert_eq!(log.damage(), &[]);
    assert_eq!(before, 100_000);
    // Of the calls behind the end of the records the outermost are kept.
    assert!(log.n_records() >= before, "{totals:?}, {after} taken");
    assert_eq!(log.n_records() + log.dropped(), 3_000_000, "{totals:?}");
    assert!(log.dropped() > 0 && totals.refusal.is_some(), "{totals:?}");
}

/// A file system in a file, mounted as long as this lives.
struct Disk(std::path::PathBuf);

impl Disk {
    fn mount(folder: &Path) -> Option<Self> {
        /// The smallest that `mkfs.btrfs` takes is 109 MiB.
        const BYTES: u64 = 128 << 20;
        let (image, place) = (folder.join("image"), folder.join("disk"));
        let file = OpenOptions::new().write(true).create_new(true).open(&image);
        file.and_then(|file| file.set_len(BYTES)).ok()?;
        std::fs::create_dir(&place).ok()?;
        let runs = |command: &mut Command| command.output().is_ok_and(|out| out.status.success());
        let is_made = runs(Command::new("mkfs.btrfs").arg("-q").arg(&image));
        let is_mounted = is_made
            && runs(
                Command::new("mount")
                    .args(["-o", "loop"])
                    .args([&image, &place]),
            );
        is_mounted.then_some(Self(place))
    }

    /// Takes all the room that is left.
    fn fill(&self) {
        use std::io::Write;
        let mut file = std::fs::File::create(self.0.join("rest")).unwrap();
        let bytes: Vec<u8> = (0..1 << 20).map(|byte: u32| byte as u8).collect();
        while file.write_all(&bytes).is_ok() {}
        let _ = file.sync_all();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_log_takes_no_more_room_than_what_it_holds() {
    let directory = tempfile::tempdir().unwrap();
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let mut writer = writer(directory.path(), &preparer);
    append(&mut writer, 0..10);
    let path = writer.path().to_path_buf();
    let room = || std::fs::metadata(&path).unwrap().blocks() * BLOCK;
    // Its header and the first chunk; what a process that is killed now leaves.
    assert!(room() <= 160 << 10, "{} bytes", room());
    writer.finish(Calibration::default()).unwrap();
    assert!(room() <= 12 << 10, "{} bytes", room());
    assert_eq!(Log::open(&path).unwrap().n_records(), 10);
}

/// On the code before, the log of a thread that lives on was not cut; cut, its stores would have ended the process by SIGBUS.
#[test]
fn a_log_in_use_is_cut_and_its_thread_goes_on() {
    for preparer in [
        ChunkPreparer::start(None),
        ChunkPreparer::start_in_memory(None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let preparer = Arc::new(preparer.unwrap());
        let mut writer = writer(directory.path(), &preparer);
        append(&mut writer, 0..1000);
        let path = writer.path().to_path_buf();
        let (begun, is_cut) = (AtomicBool::new(false), AtomicBool::new(false));
        let shared = Shared(&raw mut writer);
        std::thread::scope(|scope| {
            let (begun, is_cut) = (&begun, &is_cut);
            scope.spawn(move || {
                let shared = shared;
                // SAFETY: the other thread uses what may be used meanwhile, as the recorder's end does.
                let writer = unsafe { &mut *shared.0 };
                let (mut at, mut n_after) = (1000, 0);
                while n_after < 200_000 {
                    append(writer, at..at + 100);
                    at += 100;
                    n_after += 100 * u64::from(is_cut.load(Ordering::Acquire));
                    begun.store(true, Ordering::Release);
                }
            });
            while !begun.load(Ordering::Acquire) {
                std::thread::yield_now();
            }
            let definitions = [Definition::Method(MethodDefinition {
                id: 2,
                ..MethodDefinition::default()
            })];
            // SAFETY: as above.
            let totals = unsafe { &*shared.0 }
                .finish_in_use(Calibration::default(), &definitions)
                .unwrap();
            let log = Log::open(&path).unwrap();
            assert!(log.definitions().method(2).is_some());
            is_cut.store(true, Ordering::Release);
            assert!(log.is_finished());
            assert_eq!(log.damage(), &[]);
            assert!(log.n_records() >= 1100 && log.n_records() == totals.records);
            assert_eq!(totals.bytes, std::fs::metadata(&path).unwrap().len());
        });
        let log = Log::open(&path).unwrap();
        assert_eq!(log.damage(), &[]);
        // What a thread that lives on keeps is given back with the process.
        std::mem::forget(writer);
    }
}

#[derive(Clone, Copy)]
struct Shared(*mut LogWriter);

// SAFETY: the test says what each thread uses.
unsafe impl Send for Shared {}

#[test]
fn a_link_in_the_place_of_a_log_is_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    std::fs::write(&other, "a file of the user").unwrap();
    std::os::unix::fs::symlink(&other, IDENTITY.path(directory.path())).unwrap();
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let (start, sizes) = (Calibration::default(), ChunkSizes::default());
    let made = LogWriter::create(directory.path(), IDENTITY, start, sizes, &preparer);
    assert!(made.is_err());
    assert_eq!(
        std::fs::read_to_string(&other).unwrap(),
        "a file of the user"
    );
}

/// On the code before, the next chunk was written to whatever had the name of the log by then.
#[test]
fn a_file_that_takes_the_place_of_a_log_is_not_written() {
    let directory = tempfile::tempdir().unwrap();
    let preparer = Arc::new(ChunkPreparer::start(None).unwrap());
    let mut writer = writer(directory.path(), &preparer);
    let other = writer.path().to_path_buf();
    std::fs::rename(&other, directory.path().join("moved")).unwrap();
    std::fs::write(&other, "a file of the user").unwrap();
    append(&mut writer, 0..100_000);
    let _ = writer.finish(Calibration::default());
    assert_eq!(
        std::fs::read_to_string(&other).unwrap(),
        "a file of the user"
    );
}

//! How fast a log is checked, and its records are read and summed.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use mastermind_records::definition::{CallPathDefinition, MethodDefinition, ParameterDefinition};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, Log, LogIdentity, LogWriter, RecordWords,
};

const N_RECORDS: u64 = 2_000_000;

fn write(directory: &Path) -> std::path::PathBuf {
    let preparer = Arc::new(ChunkPreparer::start(None).expect("a thread can be started"));
    let identity = LogIdentity { rank: 0, thread: 0 };
    let start = Calibration::default();
    let mut writer =
        LogWriter::create(directory, identity, start, ChunkSizes::default(), &preparer)
            .expect("a log");
    for id in 1..=4 {
        let parameter = |name: &str| ParameterDefinition {
            name: name.into(),
            ..ParameterDefinition::default()
        };
        let parameters = vec![parameter("q"), parameter("mode")];
        let method = MethodDefinition {
            id,
            method: format!("m{id}"),
            parameters,
            ..MethodDefinition::default()
        };
        writer.define(&Definition::Method(method)).expect("room");
        let path = CallPathDefinition {
            id,
            parent: if id == 1 { 0 } else { 1 },
            method: id,
        };
        writer.define(&Definition::CallPath(path)).expect("room");
    }
    for call in 0..N_RECORDS {
        // Three children, then their parent.
        let path = [2, 3, 4, 1][call as usize % 4];
        let record = RecordWords {
            path,
            start: call * 100,
            wall: 90,
            mpi: Some(7),
            failed: false,
            values: &[call, 2],
        };
        assert!(writer.append(record));
    }
    let path = writer.path().to_path_buf();
    writer
        .finish(Calibration {
            ticks: N_RECORDS * 100,
            ns: N_RECORDS * 50,
        })
        .expect("the log can be ended");
    path
}

fn read(criterion: &mut Criterion) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = write(directory.path());
    let mut group = criterion.benchmark_group("read");
    group
        .throughput(Throughput::Elements(N_RECORDS))
        .sample_size(20);
    group.bench_function("open and check", |bencher| {
        bencher.iter(|| Log::open(&path).map(|log| log.n_records()))
    });
    let log = Log::open(&path).expect("the log was just written");
    group.bench_function("iterate", |bencher| {
        bencher.iter(|| {
            log.records()
                .fold(0, |sum, record| sum + record.wall_ns + record.seq)
        });
    });
    group.bench_function("profile", |bencher| {
        bencher.iter(|| {
            let log = Log::open(&path).expect("the log was just written");
            let mut profile = vec![(0, 0, 0); log.definitions().call_paths().count() + 1];
            for record in log.records() {
                let row = &mut profile[record.call_path as usize];
                row.0 += 1;
                row.1 += record.wall_ns;
                row.2 += record.mpi_ns.unwrap_or(0);
            }
            black_box(profile)
        });
    });
    group.finish();
}

criterion_group!(benches, read);
criterion_main!(benches);

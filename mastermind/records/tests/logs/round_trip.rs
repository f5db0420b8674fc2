//! What is written is read.

use crate::common::{CHUNKS, Call, by_one_and_in_series, calls, read, thrice, write};
use mastermind_records::{Log, LogIdentity, Record, Value, open_run, write_csv};
use proptest::prelude::*;

const IDENTITY: LogIdentity = LogIdentity { rank: 0, thread: 0 };

fn n_calls(call: &Call) -> u64 {
    1 + call.children.iter().map(n_calls).sum::<u64>()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_record_comes_back(calls in calls()) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, None, IDENTITY);
        let log = Log::open(&written.path).unwrap();
        prop_assert_eq!(log.damage(), &[]);
        prop_assert!(log.is_finished() && log.open_calls().is_empty());
        prop_assert_eq!(read(&log), written.expected.clone());
        prop_assert_eq!(log.n_records(), written.expected.len() as u64);
        prop_assert_eq!(written.totals.records, log.n_records());
        prop_assert_eq!(written.totals.bytes, std::fs::metadata(&written.path).unwrap().len());
    }

    /// Records that are alike come together as they come one by one.
    #[test]
    fn series_are_the_records(calls in calls()) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &thrice(&calls), None, IDENTITY);
        let log = Log::open(&written.path).unwrap();
        for of_components in [false, true] {
            let [by_one, in_series] = by_one_and_in_series(&log, of_components);
            prop_assert_eq!(by_one, in_series);
        }
    }

    /// Past the limit calls are counted and summed, but for the outermost, which are kept; definitions are as well.
    #[test]
    fn the_limit_holds(calls in calls(), pages in 0u64..4) {
        let directory = tempfile::tempdir().unwrap();
        let written = write(directory.path(), &calls, Some(pages * 4096), IDENTITY);
        let log = Log::open(&written.path).unwrap();
        prop_assert_eq!(log.damage(), &[]);
        prop_assert_eq!(log.n_records(), written.totals.records);
        prop_assert_eq!(log.dropped(), written.totals.dropped);
        let n = written.expected.len();
        let bytes = |record: Record<'_>| 8 * (4 + record.values.len() as u64);
        prop_assert!(log.records().take(n).map(bytes).sum::<u64>() <= pages * 4096);
        prop_assert!(log.records().skip(n).all(|record| record.parent_seq.is_none()));
        if pages == 0 {
            prop_assert_eq!(n, 0);
        }
        let all: u64 = calls.iter().map(n_calls).sum();
        prop_assert_eq!(log.n_records() + log.dropped(), all);
        let summed = log.unrecorded().iter().map(|sum| sum.calls);
        prop_assert_eq!(summed.sum::<u64>(), log.dropped());
        let profiled = log.path_times(false).iter().map(|path| path.calls).sum::<u64>();
        prop_assert_eq!(profiled, all);
    }

    /// Every value of the CSV files is a record's.
    #[test]
    fn csv_gives_back_every_value(first in calls(), second in calls()) {
        let directory = tempfile::tempdir().unwrap();
        let logs = [first, second].map(|calls| calls).into_iter().enumerate().map(|(thread, calls)| {
            write(directory.path(), &calls, None, LogIdentity { rank: 3, thread: thread as u32 })
        });
        let written: Vec<_> = logs.collect();
        let run = open_run(directory.path()).unwrap();
        let out = directory.path().join("csv");
        let mut rows = 0;
        let mut seqs = std::collections::BTreeSet::new();
        for path in write_csv(&run, &out).unwrap() {
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let method: u32 = name[1..2].parse().unwrap();
            prop_assert_eq!(name, format!("i{method}.port.m.rank0003.csv"));
            let mut reader = csv::Reader::from_path(&path).unwrap();
            let header = reader.headers().unwrap().iter().collect::<Vec<_>>().join(",");
            let parameters = ["", "p0,", "p0,p1,", "p0,p1,p2,", "p0,p1,p2,p3,faults,misses,"][method as usize - 1];
            prop_assert_eq!(header, format!("seq,start_ns,wall_ns,mpi_ns,compute_ns,{parameters}callpath,parent_seq"));
            for row in reader.records() {
                let row = row.unwrap();
                rows += 1;
                prop_assert!(seqs.insert(row[0].parse::<u64>().unwrap()), "seq is unique in the rank");
                let number = |column: usize| row[column].parse::<u64>().unwrap();
                if row[3].is_empty() {
                    prop_assert!(row[4].is_empty());
                } else {
                    prop_assert_eq!(number(3) + number(4), number(2));
                }
                if method == 5 {
                    prop_assert!(row[9].parse::<u64>().is_ok() && row[10].is_empty());
                }
            }
        }
        prop_assert_eq!(rows, written.iter().map(|log| log.expected.len()).sum::<usize>());
    }
}

#[test]
fn values_have_their_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let call = Call {
        method: 4,
        values: [u64::MAX, 0.5f64.to_bits(), 1, 0, 0],
        mpi: None,
        failed: false,
        children: Vec::new(),
    };
    let written = write(directory.path(), &[call], None, IDENTITY);
    let log = Log::open(&written.path).unwrap();
    let record = log.records().next().unwrap();
    // The fourth value is not among the parameters of a method with three.
    assert_eq!(record.values.len(), 3);
    let values: Vec<_> = record.parameters().collect();
    assert_eq!(
        values,
        [
            Value::Integer(-1),
            Value::Real(0.5),
            Value::Label(1, Some("one"))
        ]
    );
}

#[test]
fn a_directory_with_records_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    write(directory.path(), &[], None, IDENTITY);
    let preparer = std::sync::Arc::new(mastermind_records::ChunkPreparer::start(None).unwrap());
    let start = mastermind_records::Calibration::default();
    let again =
        mastermind_records::LogWriter::create(directory.path(), IDENTITY, start, CHUNKS, &preparer);
    assert!(
        again
            .unwrap_err()
            .to_string()
            .contains("it exists; choose another directory")
    );
}

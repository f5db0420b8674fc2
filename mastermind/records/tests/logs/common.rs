//! Logs of made-up calls, and what should be read from them.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mastermind_records::definition::{
    CallPathDefinition, ClockDefinition, CounterDefinition, MethodDefinition, ParameterDefinition,
    ParameterKind,
};
use mastermind_records::{
    Calibration, ChunkPreparer, ChunkSizes, Definition, ExclusiveTimes, Log, LogIdentity,
    LogTotals, LogWriter, RecordWords,
};
use proptest::prelude::*;

/// Number of methods; method `i` has `i` parameters.
pub const N_METHODS: u32 = 5;

/// Bytes before the entries.
pub const HEADER: u64 = mastermind_records::layout::HEADER_BYTES as u64;

/// Small chunks, so that logs have several.
pub const CHUNKS: ChunkSizes = ChunkSizes {
    first_bytes: 4096,
    largest_bytes: 8192,
};

/// A call and the calls made from it.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: u32,
    pub values: [u64; N_METHODS as usize],
    pub mpi: Option<u64>,
    pub failed: bool,
    pub children: Vec<Call>,
}

/// What should be read from one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    pub seq: u64,
    pub parent_seq: Option<u64>,
    pub method: u32,
    pub start_ns: u64,
    pub wall_ns: u64,
    pub mpi_ns: Option<u64>,
    pub failed: bool,
    pub values: Vec<u64>,
}

/// Any forest of calls.
pub fn calls() -> impl Strategy<Value = Vec<Call>> {
    let call = |children| {
        (
            1..=N_METHODS,
            any::<[u64; N_METHODS as usize]>(),
            any::<Option<u64>>(),
            any::<bool>(),
            children,
        )
            .prop_map(|(method, values, mpi, failed, children)| Call {
                method,
                values,
                mpi,
                failed,
                children,
            })
    };
    let leaf = call(Just(Vec::new()).boxed());
    let tree = leaf.prop_recursive(5, 60, 5, move |inner| {
        call(prop::collection::vec(inner, 0..5).boxed())
    });
    prop::collection::vec(tree, 0..12)
}

pub fn method(id: u32) -> MethodDefinition {
    let kinds = [
        ParameterKind::Integer,
        ParameterKind::Real,
        ParameterKind::Enumeration,
    ];
    let parameter = |place: u32| ParameterDefinition {
        name: format!("p{place}"),
        kind: kinds[place as usize % 3],
        labels: vec!["zero".into(), "one".into()],
        ..ParameterDefinition::default()
    };
    let counter = |name: &str, unavailable: Option<&str>| CounterDefinition {
        name: name.into(),
        unavailable: unavailable.map(Into::into),
        ..CounterDefinition::default()
    };
    let counters = vec![
        counter("faults", None),
        counter("misses", Some("No such file or directory")),
    ];
    MethodDefinition {
        id,
        instance: format!("i{id}"),
        port: "port".into(),
        method: "m".into(),
        parameters: (0..id - 1).map(parameter).collect(),
        counters: if id == 5 { counters } else { Vec::new() },
        ..MethodDefinition::default()
    }
}

pub struct Written {
    pub path: PathBuf,
    pub expected: Vec<Expected>,
    pub totals: LogTotals,
    /// File length up to which each expected record reaches.
    pub ends: Vec<u64>,
}

struct Maker {
    writer: LogWriter,
    paths: HashMap<(u32, u32), u32>,
    known: Vec<u32>,
    now: u64,
    next_seq: u64,
    expected: Vec<Expected>,
    ends: Vec<u64>,
}

impl Maker {
    fn call(&mut self, call: &Call, parent: u32, parent_seq: Option<u64>) {
        let path = self.path(parent, call.method);
        let (seq, start) = (self.next_seq, self.now);
        self.next_seq += 1;
        self.now += 1;
        for child in &call.children {
            self.call(child, path, Some(seq));
        }
        self.now += 1 + call.values[0] % 1000;
        let wall = self.now - start;
        let mpi = call.mpi.map(|mpi| mpi % (wall + 1));
        let values = &call.values[..call.method as usize - usize::from(call.method < 5)];
        let record = RecordWords {
            path,
            start,
            wall,
            mpi,
            failed: call.failed,
            values,
        };
        if self.writer.append(record) {
            self.ends.push(HEADER + self.writer.committed_bytes());
            self.expected.push(Expected {
                seq,
                parent_seq,
                method: call.method,
                start_ns: start - 1_000,
                wall_ns: wall,
                mpi_ns: mpi,
                failed: call.failed,
                values: values.to_vec(),
            });
        }
    }

    fn path(&mut self, parent: u32, method_id: u32) -> u32 {
        if let Some(path) = self.paths.get(&(parent, method_id)) {
            return *path;
        }
        if !self.known.contains(&method_id) {
            self.known.push(method_id);
            self.writer
                .define(&Definition::Method(method(method_id)))
                .unwrap();
        }
        let id = self.paths.len() as u32 + 1;
        let path = CallPathDefinition {
            id,
            parent,
            method: method_id,
        };
        self.writer.define(&Definition::CallPath(path)).unwrap();
        self.paths.insert((parent, method_id), id);
        id
    }
}

/// Writes a log of the calls; the clock ticks nanoseconds from 1000 on.
pub fn write(
    directory: &Path,
    calls: &[Call],
    limit_bytes: Option<u64>,
    identity: LogIdentity,
) -> Written {
    let preparer = ChunkPreparer::start(limit_bytes).unwrap();
    write_with(preparer, directory, calls, identity)
}

/// As [`write`], through chunks that this thread prepares.
pub fn write_with(
    preparer: ChunkPreparer,
    directory: &Path,
    calls: &[Call],
    identity: LogIdentity,
) -> Written {
    let preparer = Arc::new(preparer);
    let start = Calibration {
        ticks: 1_000,
        ns: 5,
    };
    let mut writer = LogWriter::create(directory, identity, start, CHUNKS, &preparer).unwrap();
    let clock = ClockDefinition {
        name: "test".into(),
        ticks_per_second: 1e9,
        step_ticks: 1.0,
    };
    writer.define(&Definition::Clock(clock)).unwrap();
    let path = writer.path().to_path_buf();
    let mut maker = Maker {
        writer,
        paths: HashMap::new(),
        known: Vec::new(),
        now: 1_000,
        next_seq: 0,
        expected: Vec::new(),
        ends: Vec::new(),
    };
    for call in calls {
        maker.call(call, 0, None);
    }
    let totals = maker
        .writer
        .finish(Calibration {
            ticks: maker.now,
            ns: 5 + maker.now - 1_000,
        })
        .unwrap();
    Written {
        path,
        expected: maker.expected,
        totals,
        ends: maker.ends,
    }
}

/// Reads a log as [`Expected`] has it.
pub fn read(log: &Log) -> Vec<Expected> {
    log.records()
        .map(|record| Expected {
            seq: record.seq,
            parent_seq: record.parent_seq,
            method: record.method.id,
            start_ns: record.start_ns,
            wall_ns: record.wall_ns,
            mpi_ns: record.mpi_ns,
            failed: record.failed,
            values: record.values.to_vec(),
        })
        .collect()
}

/// Each call three times, so that records are alike that follow one another.
pub fn thrice(calls: &[Call]) -> Vec<Call> {
    let three = calls.iter().flat_map(|call| std::iter::repeat_n(call, 3));
    let with_children = |call: &Call| Call {
        children: thrice(&call.children),
        ..call.clone()
    };
    three.map(with_children).collect()
}

/// The records with their own times, one by one and as series.
pub fn by_one_and_in_series(log: &Log, of_components: bool) -> [Vec<String>; 2] {
    let times = || match of_components {
        true => ExclusiveTimes::of_components(log),
        false => ExclusiveTimes::new(log),
    };
    let mut records = times();
    let by_one = std::iter::from_fn(|| Some(format!("{:?}", records.next_record()?)));
    let by_one = by_one.collect();
    let (mut records, mut in_series) = (times(), Vec::new());
    while let Some(series) = records.next_series() {
        let found: Vec<_> = series.records_with_own().collect();
        let own = found.iter().map(|(_, own)| own.wall_ns);
        assert!(series.own_walls_ns().eq(own), "{found:?}");
        for place in 0..series.method().parameters.len() {
            let words = found.iter().map(|(record, _)| record.values[place]);
            assert!(series.parameter_words(place).eq(words), "{found:?}");
        }
        in_series.extend(found.iter().map(|found| format!("{found:?}")));
    }
    [by_one, in_series]
}

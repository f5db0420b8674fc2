//! Counters in the calls of methods that opted in.

use std::hint::black_box;
use std::path::Path;

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{
    Clock, CounterError, RecorderConfig, RunRecorder, counter_names, probe_counters,
};
use mastermind_records::definition::{CounterDefinition, MethodDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Profile, Run};

fn start(directory: &Path) -> RunRecorder {
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: Default::default(),
        run: RunDefinition::default(),
    });
    run.unwrap()
}

fn method(run: &RunRecorder, name: &str, counters: &[CounterDefinition]) -> impl Fn(&dyn Fn()) {
    let id = run.register(MethodDefinition {
        instance: "i".into(),
        method: name.into(),
        counters: counters.into(),
        ..MethodDefinition::default()
    });
    let method = run.method(id).unwrap();
    move |body| call(run, &method, body)
}

#[inline(never)]
fn call(run: &RunRecorder, method: &ProxyMethod, body: &dyn Fn()) {
    let recording = Recording::begin(run.recorder(), method, || [0; 0]);
    body();
    if let Some(recording) = recording {
        recording.end(false);
    }
}

/// Touches this number of pages for the first time.
fn touch(pages: usize) {
    let mut map = memmap2::MmapMut::map_anon(pages * 4096).unwrap();
    // One fault a page, not one for many.
    map.advise(memmap2::Advice::NoHugePage).unwrap();
    for page in map.chunks_mut(4096) {
        black_box(page)[0] = 1;
    }
}

/// The counters of every record, by method, in the order in which the calls ended.
fn counted(directory: &Path) -> Vec<(String, Vec<Option<u64>>)> {
    let run = Run::open(directory).unwrap();
    assert_eq!(run.damage().count(), 0);
    let records = run.logs().iter().flat_map(|log| log.records());
    let counted = records.map(|record| (record.method.method.clone(), record.counters().collect()));
    counted.collect()
}

#[test]
fn what_the_system_counts_is_in_the_records() {
    // Of the kernel and `getrusage`: every Linux has the second, and most the first.
    let counters = probe_counters(["ru_minflt", "page-faults", "task-clock"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let (outer, inner) = (
        method(&run, "outer", &counters),
        method(&run, "inner", &counters),
    );
    let bare = method(&run, "bare", &[]);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                outer(&|| {
                    touch(100);
                    bare(&|| inner(&|| touch(50)));
                });
            });
        }
    });
    drop((outer, inner, bare));
    run.finish().unwrap();
    let records = counted(directory.path());
    assert_eq!(records.len(), 6);
    for (name, counted) in records {
        let least = match name.as_str() {
            "outer" => 150,
            "inner" => 50,
            _ => {
                assert!(counted.is_empty());
                continue;
            }
        };
        for (definition, value) in counters.iter().zip(&counted) {
            assert_eq!(
                value.is_some(),
                definition.unavailable.is_none(),
                "{definition:?}"
            );
            let Some(value) = *value else { continue };
            let is_clock = definition.unit == "ns";
            assert!(
                is_clock || (value >= least && value < 10 * least),
                "{name}: {definition:?} {value}"
            );
            assert!(value > 0, "{name}: {definition:?}");
        }
        assert!(counted[0].is_some(), "getrusage is everywhere");
    }
}

#[test]
fn what_does_not_open_says_why_and_has_no_value() {
    let names: Vec<_> = counter_names().collect();
    for names in names.chunks(8) {
        let counters = probe_counters(names.iter().copied()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let run = start(directory.path());
        let one = method(&run, "one", &counters);
        (0..3).for_each(|_| one(&|| touch(1)));
        drop(one);
        run.finish().unwrap();
        for (_, counted) in counted(directory.path()) {
            assert_eq!(counted.len(), counters.len());
            for (definition, value) in counters.iter().zip(counted) {
                match &definition.unavailable {
                    Some(why) => {
                        assert_eq!(value, None, "{definition:?}");
                        assert!(why.contains("(errno "), "{why}");
                    }
                    // An event that the processor had no time to count has no value either.
                    None => assert!(value.is_some() || definition.multiplexed, "{definition:?}"),
                }
            }
        }
        let run = Run::open(directory.path()).unwrap();
        let definitions = run.logs()[0].definitions();
        let method = definitions.methods().next().unwrap();
        assert_eq!(method.counters, counters, "the reasons are in the log");
    }
}

#[test]
fn a_log_that_passes_to_another_thread_counts_that_thread() {
    let counters = probe_counters(["page-faults", "ru_minflt"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let one = method(&run, "one", &counters);
    for _ in 0..20 {
        std::thread::scope(|scope| {
            scope.spawn(|| one(&|| touch(30)));
        });
    }
    drop(one);
    assert!(run.finish().unwrap().logs < 20);
    let records = counted(directory.path());
    assert_eq!(records.len(), 20);
    for (_, counted) in records {
        for value in counted.into_iter().flatten() {
            assert!(value >= 30, "{value}");
        }
    }
}

#[test]
fn wrong_names_are_errors() {
    let error = probe_counters(["cycels"]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot count \"cycels\": unknown, expected one of cycles, ")
    );
    let all: Vec<_> = counter_names().collect();
    let error = probe_counters(all.iter().copied()).unwrap_err();
    assert_eq!(
        error,
        CounterError::TooMany {
            n: all.len(),
            most: 14
        }
    );
    let twice = probe_counters(["ru_utime", "ru_utime"]).unwrap();
    assert_eq!(twice.len(), 1);
}

#[test]
fn what_their_readings_cost_is_in_the_measurements_own_cost() {
    let counters = probe_counters(["page-faults", "ru_minflt"]).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let (one, two) = (method(&run, "one", &counters), method(&run, "two", &[]));
    for _ in 0..10 {
        one(&|| two(&|| ()));
    }
    drop((one, two));
    run.finish().unwrap();
    let run = Run::open(directory.path()).unwrap();
    let definitions = run.logs()[0].definitions();
    let of = |name: &str| {
        let mut methods = definitions.methods();
        methods
            .find(|method| method.method == name)
            .unwrap()
            .counters_ns
    };
    // Two system calls.
    assert!(of("one") > 0, "{}", of("one"));
    assert_eq!(of("two"), 0);
    let record_ns = definitions.cost.unwrap().record_ns;
    let expected = 20.0 * record_ns + 10.0 * of("one") as f64;
    let self_cost_ns = Profile::new(&run, false).self_cost_ns.unwrap();
    assert!(
        (self_cost_ns - expected).abs() < 1e-6 * expected,
        "{self_cost_ns} {expected}"
    );
}

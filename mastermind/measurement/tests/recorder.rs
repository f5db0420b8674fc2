//! The recorder, through the same code as a proxy.

use std::path::Path;

use cca_abi::recording::{ProxyMethod, Recorder, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{
    MethodDefinition, MpiRoutineDefinition, ParameterDefinition, RunDefinition, SwapDefinition,
};
use mastermind_records::{ChunkSizes, Definition, Profile, Run};

fn config(directory: &Path) -> RecorderConfig {
    RecorderConfig {
        directory: directory.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes {
            first_bytes: 4096,
            largest_bytes: 16384,
        },
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition {
            assembly: "test".into(),
            mpi: Some("test".into()),
            ..RunDefinition::default()
        },
    }
}

fn method(run: &RunRecorder, name: &str) -> ProxyMethod {
    let parameter = |name: &str| ParameterDefinition {
        name: name.into(),
        ..ParameterDefinition::default()
    };
    let method = ProxyMethod::new();
    method.register(run.register(MethodDefinition {
        instance: "i".into(),
        method: name.into(),
        parameters: vec![parameter("q"), parameter("mode")],
        ..MethodDefinition::default()
    }));
    method
}

/// A call in a frame of its own.
#[inline(never)]
fn call(run: &RunRecorder, method: &ProxyMethod, q: u64, inner: impl FnOnce()) {
    let recording = Recording::begin(run.recorder(), method, || [q, 2]);
    inner();
    if let Some(recording) = recording {
        recording.end(q % 10 == 3);
    }
}

#[test]
fn nested_calls_of_several_threads() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(config(directory.path())).unwrap();
    let (outer, inner) = (method(&run, "outer"), method(&run, "inner"));
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                for q in 0..1000 {
                    call(&run, &outer, q, || {
                        call(&run, &inner, q, || {});
                        call(&run, &inner, q + 1, || {});
                    });
                }
            });
        }
    });
    let totals = run.finish().unwrap();
    assert_eq!((totals.records, totals.dropped), (9000, 0));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    assert!(run.is_finished());
    assert_eq!(run.n_records(), 9000);
    for log in run.logs().iter().filter(|log| log.n_records() > 0) {
        let mut records: Vec<_> = log.records().collect();
        records.sort_by_key(|record| record.seq);
        for (place, record) in records.iter().enumerate() {
            assert_eq!(record.seq, place as u64);
            let depth = place % 3;
            assert_eq!(
                record.parent_seq,
                (depth > 0).then(|| (place - depth) as u64)
            );
            assert_eq!(
                record.method.method,
                if depth == 0 { "outer" } else { "inner" }
            );
            assert_eq!(record.failed, record.values[0] % 10 == 3);
            assert_eq!(record.mpi_ns, Some(0));
        }
        for family in records.chunks(3) {
            assert!(family[1].wall_ns + family[2].wall_ns <= family[0].wall_ns);
            assert!(
                family[0].start_ns <= family[1].start_ns
                    && family[1].start_ns <= family[2].start_ns
            );
        }
        let names: Vec<_> = log
            .definitions()
            .call_paths()
            .map(|path| log.definitions().call_path_name(path.id))
            .collect();
        assert_eq!(names, ["i.outer", "i.outer->i.inner"]);
    }
}

#[test]
fn logs_of_ended_threads_are_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(config(directory.path())).unwrap();
    let one = method(&run, "one");
    for q in 0..50 {
        std::thread::scope(|scope| {
            scope.spawn(|| call(&run, &one, q, || {}));
        });
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    let totals = run.finish().unwrap();
    assert_eq!(totals.records, 50);
    assert!(totals.logs < 25, "{} logs", totals.logs);
}

/// Deeper than the header's stack of open calls, and deeper than there are call paths.
#[test]
fn a_recursion_is_recorded_as_deep_as_there_are_call_paths() {
    let directory = tempfile::tempdir().unwrap();
    // The first of them has room for all of the shallower one.
    let config = RecorderConfig {
        chunks: ChunkSizes::default(),
        ..config(directory.path())
    };
    let run = RunRecorder::start(config).unwrap();
    let one = method(&run, "one");
    let (deep, deepest) = (200, (1 << 16) + 50);
    for depth in [deep, deepest] {
        // All in one frame, where each call within another would show that this one was left.
        let begin = |level| Recording::begin_anywhere(run.recorder(), &one, [level, 0]);
        let mut open: Vec<_> = (0..depth).map(begin).collect();
        while let Some(recording) = open.pop() {
            if let Some(recording) = recording {
                recording.end(false);
            }
        }
    }
    let totals = run.finish().unwrap();
    assert_eq!(totals.records + totals.dropped, deep + deepest);
    assert!(totals.dropped >= 50, "{totals:?}");
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    assert!(run.logs()[0].open_calls().is_empty());
    let mut records: Vec<_> = run.logs()[0].records().take(deep as usize).collect();
    records.sort_by_key(|record| record.seq);
    for (level, pair) in records.windows(2).enumerate() {
        let [outer, inner] = pair else {
            panic!("{pair:?}")
        };
        assert_eq!(
            (outer.values[0], inner.values[0]),
            (level as u64, level as u64 + 1)
        );
        assert_eq!(inner.parent_seq, Some(outer.seq));
        assert!(inner.wall_ns <= outer.wall_ns);
    }
}

#[test]
fn a_panic_in_the_parameters_costs_the_record_only() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(config(directory.path())).unwrap();
    let one = method(&run, "one");
    let empty: &[u64] = std::hint::black_box(&[]);
    assert!(Recording::begin(run.recorder(), &one, || [empty[0], 0]).is_none());
    one.set_enabled(false);
    assert!(Recording::begin(run.recorder(), &one, || [1, 1]).is_none());
    one.set_enabled(true);
    call(&run, &one, 1, || {});
    drop(Recording::begin(run.recorder(), &one, || [5, 1]));
    let totals = run.finish().unwrap();
    assert_eq!((totals.records, totals.dropped), (2, 1));
    let run = Run::open(directory.path()).unwrap();
    let failed: Vec<_> = run.logs()[0]
        .records()
        .map(|record| record.failed)
        .collect();
    assert_eq!(
        failed,
        [false, true],
        "a recording that is dropped has failed"
    );
}

#[test]
fn past_the_limit_calls_are_counted_and_summed() {
    let directory = tempfile::tempdir().unwrap();
    let config = RecorderConfig {
        limit_bytes: Some(64 << 10),
        ..config(directory.path())
    };
    let run = RunRecorder::start(config).unwrap();
    let (one, late) = (method(&run, "one"), method(&run, "late"));
    for q in 0..10_000 {
        call(&run, &one, q, || {});
    }
    for q in 0..7 {
        call(&run, &late, q, || {});
    }
    let totals = run.finish().unwrap();
    assert!(totals.records > 1000 && totals.records < 1400, "{totals:?}");
    assert_eq!(totals.records + totals.dropped, 10_007);
    // In addition to the records: the header, and definitions that may go beyond the limit.
    assert!(totals.bytes < (64 + 64 + 16) << 10, "{totals:?}");
    let run = Run::open(directory.path()).unwrap();
    let log = &run.logs()[0];
    assert_eq!(log.dropped(), totals.dropped);
    let calls_of = |name: &str| -> u64 {
        let is_of = |path| log.definitions().call_path_name(path) == name;
        let sums = log.unrecorded().iter().filter(|sum| is_of(sum.call_path));
        sums.map(|sum| sum.calls).sum()
    };
    let records_of = |name: &str| {
        let methods = log.records().map(|record| record.method.name());
        methods.filter(|method| method == name).count() as u64
    };
    for (name, n) in [("i.one", 10_000), ("i.late", 7)] {
        assert_eq!(calls_of(name) + records_of(name), n, "{name}");
    }
    let stop = log.definitions().stop.as_ref().unwrap();
    assert_eq!(stop.reason, "the limit of the records is reached");
    // The number of calls of each size is known: three parameter values of each power of two, and whether they
    // failed.
    let sums = log.unrecorded().iter().filter(|sum| !sum.failed);
    let sizes: Vec<_> = sums.map(|sum| sum.means.as_ref().unwrap()[0]).collect();
    assert!(sizes.len() > 5, "{sizes:?}");
    assert!(
        sizes.iter().all(|size| (0.0..10_000.0).contains(size)),
        "{sizes:?}"
    );
    assert_eq!(run.damage().count(), 0);
}

/// Totals continue when records stop, and the calls that end last, which enclose all others, are
/// kept.
#[test]
fn past_the_limit_totals_are_those_of_all_calls() {
    let profile = |limit_bytes| {
        let directory = tempfile::tempdir().unwrap();
        let config = RecorderConfig {
            limit_bytes,
            clock: Clock::monotonic(),
            ..config(directory.path())
        };
        let run = RunRecorder::start(config).unwrap();
        let (outer, inner) = (method(&run, "outer"), method(&run, "inner"));
        let mut inner_ns = 0;
        call(&run, &outer, 1, || {
            for q in 0..20_000 {
                let begin = run.now();
                call(&run, &inner, q % 4, || {});
                inner_ns += run.now() - begin;
            }
        });
        let sums = Profile::of_sums(&run.sums().unwrap());
        run.finish().unwrap();
        let run = Run::open(directory.path()).unwrap();
        let profile = Profile::new(&run, false);
        assert_eq!(profile.rows, sums.rows);
        let outer = run.logs()[0].records().last().unwrap();
        assert_eq!(outer.method.method, "outer");
        let row = |name: &str| {
            profile
                .rows
                .iter()
                .find(|row| row.name == name)
                .unwrap()
                .clone()
        };
        let (outer_row, inner_row) = (row("i.outer"), row("i.inner"));
        assert_eq!((outer_row.calls, inner_row.calls), (1.0, 20_000.0));
        assert_eq!(outer_row.inclusive_ns, outer.wall_ns as f64);
        assert!(inner_row.inclusive_ns <= inner_ns as f64);
        let sum = outer_row.exclusive_ns + inner_row.exclusive_ns;
        assert_eq!(sum, outer_row.inclusive_ns, "each nanosecond is in one row");
        let cost = run.logs()[0].definitions().cost.unwrap();
        assert_eq!(profile.self_cost_ns, Some(cost.record_ns * 20_001.0));
        (profile.records, profile.lost_records)
    };
    assert_eq!(profile(None), (20_001, 0));
    let (records, lost) = profile(Some(64 << 10));
    assert!(
        records > 1000 && records + lost == 20_001,
        "{records} + {lost}"
    );
}

#[test]
fn announcements_reach_every_log() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(config(directory.path())).unwrap();
    let one = method(&run, "one");
    std::thread::scope(|scope| {
        scope.spawn(|| call(&run, &one, 1, || {}));
    });
    let swap = SwapDefinition {
        ticks: run.now(),
        from: "Godunov".into(),
        to: Default::default(),
    };
    run.announce(Definition::Swap(swap.clone()));
    run.finish().unwrap();
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.logs().len(), 2);
    for log in run.logs() {
        assert_eq!(log.definitions().swaps, std::slice::from_ref(&swap));
        assert_eq!(log.definitions().run.assembly, "test");
        assert!(
            log.definitions()
                .cost
                .is_some_and(|cost| cost.record_ns > 0.0)
        );
    }
}

#[test]
fn two_recorders_in_one_thread() {
    let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let runs = directories
        .each_ref()
        .map(|directory| RunRecorder::start(config(directory.path())).unwrap());
    let methods = runs.each_ref().map(|run| method(run, "one"));
    for q in 0..100 {
        call(&runs[0], &methods[0], q, || {
            call(&runs[1], &methods[1], q, || {})
        });
    }
    for run in runs {
        assert_eq!(run.finish().unwrap().records, 100);
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_an_error() {
    let error = RunRecorder::start(config(Path::new("/proc/no-such"))).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot create record log \"/proc/no-such/rank0000-thread00.mmr\"")
    );
}

unsafe extern "C" {
    fn fork() -> i32;
    fn waitpid(process: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(status: i32) -> !;
}

/// The child ends the call that the parent was in as well, and makes calls of its own.
#[test]
fn a_forked_child_has_a_log_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(config(directory.path())).unwrap();
    let (one, other) = (method(&run, "one"), method(&run, "other"));
    call(&run, &one, 1, || {});
    let mut child = -1;
    call(&run, &one, 2, || {
        // SAFETY: the child uses its recorder like any forked program.
        child = unsafe { fork() };
        if child == 0 {
            for q in 10..2000 {
                call(&run, &other, q, || call(&run, &one, q, || {}));
            }
        }
    });
    if child == 0 {
        // SAFETY: the child must not continue as a second test.
        unsafe { _exit(0) };
    }
    let mut status = -1;
    // SAFETY: `status` is there.
    unsafe { waitpid(child, &raw mut status, 0) };
    assert_eq!(status, 0);
    std::thread::scope(|scope| {
        // A log that the parent makes after the fork, of the next number but one.
        scope.spawn(|| call(&run, &one, 3, || {}));
    });
    let totals = run.finish().unwrap();
    assert_eq!((totals.records, totals.dropped), (3, 0));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    assert!(run.is_finished(), "a child's log need not be");
    let (children, parents): (Vec<_>, Vec<_>) = run
        .logs()
        .iter()
        .partition(|log| log.definitions().run.forked_from.is_some());
    let values = |log: &mastermind_records::Log| -> Vec<u64> {
        log.records().map(|record| record.values[0]).collect()
    };
    assert_eq!(values(parents[0]), [1, 2]);
    assert_eq!(values(parents[1]), [3]);
    let [child] = children[..] else {
        panic!("{} children", children.len())
    };
    let expected = (10..2000).flat_map(|q| [q, q]).chain([2]);
    assert_eq!(values(child), expected.collect::<Vec<_>>());
    let last = child.records().last().unwrap();
    assert_eq!(
        (last.method.method.as_str(), last.parent_seq),
        ("one", None)
    );
    assert!(child.open_calls().is_empty());
}

/// Calls and ticks of functions of MPI, added to the totals that the calling thread's log keeps, as the proxy of MPI does.
fn spend(run: &RunRecorder, spent: &[(usize, u64)]) {
    // SAFETY: the context is the calling thread's own; its totals are mapped as long as the recorder lives.
    unsafe {
        let context = run.recorder().thread_context();
        assert_eq!((*context).n_mpi_totals, 3);
        for (function, ticks) in spent {
            (*(*context).mpi_totals.add(*function)).add(*ticks);
        }
    }
}

fn with_mpi(directory: &Path) -> RecorderConfig {
    let routine = |name: &str, calls, ticks| MpiRoutineDefinition {
        name: name.into(),
        calls,
        ticks,
        failed: 0,
    };
    RecorderConfig {
        clock: Clock::monotonic(),
        mpi: MpiFunctions {
            names: ["MPI_Init", "MPI_Send", "MPI_Recv"].map(Into::into).into(),
            before: vec![routine("MPI_Init", 1, 500)],
        },
        ..config(directory)
    }
}

#[test]
fn logs_keep_what_is_spent_in_mpi_while_the_run_goes_on() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(with_mpi(directory.path())).unwrap();
    let method = method(&run, "outer");
    spend(&run, &[(1, 10), (1, 20)]);
    // Far beyond the first chunk: kept chunks stay mapped.
    (0..2_000).for_each(|q| call(&run, &method, q, || ()));
    spend(&run, &[(1, 30)]);
    std::thread::scope(|scope| {
        scope.spawn(|| spend(&run, &[(1, 5), (2, 7)]));
    });
    let kept = run.mpi_routines();
    let kept: Vec<_> = kept.iter().map(|r| (&*r.name, r.calls, r.ticks)).collect();
    assert_eq!(kept, [("MPI_Send", 4, 65), ("MPI_Recv", 1, 7)]);
    // As a killed program leaves them.
    let read = Run::open(directory.path()).unwrap();
    assert_eq!(read.damage().cloned().collect::<Vec<_>>(), []);
    // Later time belongs to a later recording.
    spend(&run, &[(1, 1)]);
    let read = read.mpi_routines(0);
    let read: Vec<_> = read.iter().map(|r| (&*r.name, r.calls, r.ns)).collect();
    let expected = [
        ("MPI_Init", 1, 500),
        ("MPI_Recv", 1, 7),
        ("MPI_Send", 4, 65),
    ];
    assert_eq!(read, expected);
    run.finish().unwrap();
}

#[test]
fn a_process_that_ends_leaves_the_logs_of_its_other_threads_to_them() {
    let directory = tempfile::tempdir().unwrap();
    let run = RunRecorder::start(with_mpi(directory.path())).unwrap();
    let method = method(&run, "outer");
    call(&run, &method, 1, || ());
    let (has_context, context_exists) = std::sync::mpsc::channel();
    let (ended, ending) = std::sync::mpsc::channel();
    // SAFETY: the recorder's address stays, and `finish_at_exit` keeps the memory that other threads may
    // still use.
    let recorder: &'static Recorder = unsafe { &*std::ptr::from_ref(run.recorder()) };
    let other = std::thread::spawn(move || {
        let context = recorder.thread_context();
        has_context.send(()).unwrap();
        ending.recv().unwrap();
        // SAFETY: the context is this thread's own.
        unsafe { (*(*context).mpi_totals.add(1)).add(6) };
    });
    context_exists.recv().unwrap();
    assert_eq!(run.finish().unwrap().records, 1);
    ended.send(()).unwrap();
    other.join().unwrap();
    let read = Run::open(directory.path()).unwrap();
    assert!(read.is_finished());
    assert_eq!(read.damage().cloned().collect::<Vec<_>>(), []);
    let routines = read.mpi_routines(0);
    let routines: Vec<_> = routines.iter().map(|r| (&*r.name, r.calls)).collect();
    assert_eq!(routines, [("MPI_Init", 1), ("MPI_Send", 1)]);
}

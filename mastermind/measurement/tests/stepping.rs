//! A run recorded by a simulated clock that steps, as those of some machines do: single times have an error of up to a
//! step, sums do not.

use std::cell::Cell;
use std::path::Path;

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Damage, Profile, Run};

/// The clock's step, ticks of a 2.6 GHz counter: a little less than 10 ns.
const STEP: u64 = 26;
const TICKS_PER_SECOND: f64 = 2.6e9;

thread_local! {
    /// The true time, ticks.
    static TIME: Cell<u64> = const { Cell::new(1_000_003) };
}

extern "C" fn stepped() -> u64 {
    TIME.get() / STEP * STEP
}

fn pass(ticks: u64) {
    TIME.set(TIME.get() + ticks);
}

fn start(directory: &Path) -> RunRecorder {
    let config = RecorderConfig {
        directory: directory.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::simulated("stepped", TICKS_PER_SECOND, STEP as f64, stepped),
        mpi: MpiFunctions::default(),
        run: RunDefinition {
            mpi: Some("test".into()),
            ..RunDefinition::default()
        },
    };
    RunRecorder::start(config).unwrap()
}

fn method(run: &RunRecorder, name: &str) -> ProxyMethod {
    ProxyMethod::registered(run.register(MethodDefinition {
        instance: "i".into(),
        method: name.into(),
        ..MethodDefinition::default()
    }))
}

/// A call during which `work` passes time.
#[inline(never)]
fn call(run: &RunRecorder, method: &ProxyMethod, work: impl FnOnce()) {
    let recording = Recording::begin(run.recorder(), method, || []);
    work();
    recording.unwrap().end(false);
}

#[test]
fn sums_of_calls_shorter_than_a_step_are_unbiased() {
    const N: u64 = 20_000;
    const INNER_TICKS: u64 = 9;
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let (outer, inner) = (method(&run, "outer"), method(&run, "inner"));
    let mut outer_ticks = 0;
    for n in 0..N {
        call(&run, &outer, || {
            let begin = TIME.get();
            pass(40);
            call(&run, &inner, || pass(INNER_TICKS));
            pass(17 + n % 7);
            outer_ticks += TIME.get() - begin;
        });
        pass(101 + n % 3);
    }
    run.finish().unwrap();
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    let records = || run.logs().iter().flat_map(|log| log.records());
    let walls = |name: &'static str| {
        let named = records().filter(move |record| record.method.method == name);
        named.map(|record| record.wall_ns)
    };
    assert!(walls("inner").any(|ns| ns == 0) && walls("inner").all(|ns| ns <= 10));
    let ns = |ticks: u64| ticks as f64 / TICKS_PER_SECOND * 1e9;
    let profile = Profile::new(&run, false);
    let row = |name: &str| profile.rows.iter().find(|row| row.name == name).unwrap();
    // The clock itself is off by 0.5 % here; each time rounded down to nanoseconds would take 10 % more.
    let expected = [("i.inner", N * INNER_TICKS), ("i.outer", outer_ticks)];
    for (name, ticks) in expected {
        let found = row(name).inclusive_ns;
        assert!(
            (found / ns(ticks) - 1.0).abs() < 0.01,
            "{name}: {found} of {}",
            ns(ticks)
        );
    }
    let parts = row("i.outer").exclusive_ns + row("i.inner").inclusive_ns;
    assert_eq!(parts, row("i.outer").inclusive_ns);
    assert!((profile.clock_step_ns.unwrap() - 10.0).abs() < 1e-6);
}

#[test]
fn more_time_in_mpi_than_the_call_took_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let method = method(&run, "one");
    let spend = |ticks: u64| {
        pass(2 * STEP);
        // SAFETY: the context is this thread's own.
        unsafe { (*run.recorder().thread_context()).mpi_ticks += ticks };
    };
    call(&run, &method, || spend(2 * STEP));
    call(&run, &method, || spend(4 * STEP));
    run.finish().unwrap();
    let run = Run::open(directory.path()).unwrap();
    let damage: Vec<_> = run.damage().cloned().collect();
    let log = run.logs()[0].path().to_path_buf();
    assert_eq!(damage, [Damage::Excess { log, records: 1 }]);
    let records: Vec<_> = run.logs()[0].records().collect();
    let ticks = |at: usize| (records[at].wall_ticks, records[at].mpi_ticks);
    assert_eq!(ticks(0), (2 * STEP, Some(2 * STEP)));
    assert_eq!(ticks(1), (2 * STEP, Some(4 * STEP)));
    assert_eq!(records[0].compute_ns(), Some(0));
    assert_eq!(records[1].compute_ns(), None);
}

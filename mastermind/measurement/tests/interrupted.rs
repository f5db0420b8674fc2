//! Calls at any moment: from signal handlers, and after calls that were left without their end.

use std::cell::Cell;
use std::hint::black_box;
use std::path::Path;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use cca_abi::recording::{ProxyMethod, Recording};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Run};

fn start(directory: &Path) -> RunRecorder {
    let config = RecorderConfig {
        directory: directory.into(),
        rank: 0,
        limit_bytes: None,
        // Full after a few hundred calls, so that handlers come while chunks change too.
        chunks: ChunkSizes {
            first_bytes: 64 << 10,
            largest_bytes: 64 << 10,
        },
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    };
    RunRecorder::start(config).unwrap()
}

fn method(run: &RunRecorder, name: &str) -> ProxyMethod {
    ProxyMethod::registered(run.register(MethodDefinition {
        method: name.into(),
        ..MethodDefinition::default()
    }))
}

#[inline(never)]
fn call(run: &RunRecorder, method: &ProxyMethod, work: impl FnOnce()) {
    let recording = Recording::begin(run.recorder(), method, || []);
    work();
    if let Some(recording) = recording {
        recording.end(false);
    }
}

/// The recorder that the handler calls; null before and after.
static RUN: AtomicPtr<RunRecorder> = AtomicPtr::new(std::ptr::null_mut());
static METHOD: AtomicPtr<ProxyMethod> = AtomicPtr::new(std::ptr::null_mut());
static HANDLED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static IS_INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

const OF_HANDLER: u64 = 3000;

extern "C" fn handle(_: libc::c_int) {
    // Other threads of the tests are not concerned.
    if !IS_INTERRUPTED.get() || HANDLED.load(Ordering::Relaxed) == OF_HANDLER {
        return;
    }
    HANDLED.fetch_add(1, Ordering::Relaxed);
    // SAFETY: both live as long as the thread is interrupted.
    unsafe {
        let run = &*RUN.load(Ordering::Relaxed);
        call(run, &*METHOD.load(Ordering::Relaxed), || ());
    }
}

/// Every 50 µs a signal for the calling thread.
fn interrupt_often() -> libc::timer_t {
    // SAFETY: zeros are valid for all of them; the timer is ended by the caller.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        libc::sigaction(libc::SIGUSR2, &raw const action, std::ptr::null_mut());
        let mut event: libc::sigevent = std::mem::zeroed();
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = libc::SIGUSR2;
        event.sigev_notify_thread_id = libc::gettid();
        let mut timer = std::mem::zeroed();
        let made = libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer);
        assert_eq!(made, 0);
        let often = libc::timespec {
            tv_sec: 0,
            tv_nsec: 50_000,
        };
        let times = libc::itimerspec {
            it_interval: often,
            it_value: often,
        };
        libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut());
        timer
    }
}

#[test]
fn each_call_is_recorded_or_counted_where_handlers_call_at_any_instruction() {
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let (outer, inner) = (method(&run, "outer"), method(&run, "inner"));
    RUN.store(std::ptr::from_ref(&run).cast_mut(), Ordering::Relaxed);
    METHOD.store(std::ptr::from_ref(&inner).cast_mut(), Ordering::Relaxed);
    IS_INTERRUPTED.set(true);
    let timer = interrupt_often();
    let mut made = 0;
    while made < 200_000 || HANDLED.load(Ordering::Relaxed) < OF_HANDLER {
        call(&run, &outer, || call(&run, &inner, || ()));
        made += 2;
    }
    IS_INTERRUPTED.set(false);
    // SAFETY: the timer of above.
    unsafe { libc::timer_delete(timer) };
    made += HANDLED.load(Ordering::Relaxed);
    let totals = run.finish().unwrap();
    assert_eq!(totals.records + totals.dropped, made, "{totals:?}");
    assert!(totals.dropped <= OF_HANDLER, "{totals:?}");
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    let log = &run.logs()[0];
    assert!(log.open_calls().is_empty());
    // No call is recorded within one that did not make it.
    assert!(log.definitions().call_paths().count() <= 6);
}

/// Begins a call and goes away.
#[inline(never)]
fn leave(run: &RunRecorder, method: &ProxyMethod) {
    std::mem::forget(Recording::<0>::begin(run.recorder(), method, || []));
}

#[test]
fn calls_that_were_left_are_closed_by_the_next_and_counted() {
    const N: u64 = 100_000;
    let directory = tempfile::tempdir().unwrap();
    let run = start(directory.path());
    let (outer, inner) = (method(&run, "outer"), method(&run, "inner"));
    let jumps = || {
        // The next calls begin further up the stack, by more than their own functions use.
        black_box([0_u8; 4096]);
        for _ in 0..N {
            call(&run, &outer, || leave(&run, &inner));
            leave(&run, &inner);
        }
    };
    black_box::<&dyn Fn()>(&jumps)();
    call(&run, &outer, || ());
    let totals = run.finish().unwrap();
    assert_eq!((totals.records, totals.dropped), (N + 1, 2 * N));
    let run = Run::open(directory.path()).unwrap();
    assert_eq!(run.damage().count(), 0);
    let log = &run.logs()[0];
    assert!(log.open_calls().is_empty());
    // Which function's frame is larger decides whether the next call counts as one within the call that was left.
    let unrecorded = log.unrecorded().iter().map(|lost| lost.calls);
    assert_eq!(unrecorded.sum::<u64>(), 2 * N);
    assert!(
        log.loss_reasons()
            .any(|reason| reason.contains("left under way"))
    );
}

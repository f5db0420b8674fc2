//! Eight threads call through a recorded connection while it is switched back and forth: no torn call, no lost record.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use cca_core::{ConnectionId, Framework};
use cca_ports::{PortError, UsesPort, port};
use mastermind_component::Mastermind;
use mastermind_measurement::{Clock, RecorderConfig, RunRecorder};
use mastermind_records::{ChunkSizes, Run};

const N_THREADS: u64 = 8;
/// Providers to which the connection is switched in turn.
const PROVIDERS: [&str; 3] = ["red", "green", "blue"];
/// A thread makes one call for this many swaps, so that a million swaps do not leave gigabytes of records.
const SWAPS_A_CALL: u64 = 5;

/// Something to call.
#[port(name = "test.Sum", version = "1.0")]
pub trait SumPort {
    /// The sum, and who made it: `a + b + c`, times 4, plus the provider's number.
    #[perf(a = a)]
    fn sum(&self, a: u64, b: u64, c: u64) -> Result<u64, PortError>;
}

struct Provider {
    number: u64,
    calls: AtomicU64,
}

impl SumPort for Provider {
    fn sum(&self, a: u64, b: u64, c: u64) -> Result<u64, PortError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Ok(4 * (a + b + c) + self.number)
    }
}

fn connection(provider: &str) -> ConnectionId {
    ConnectionId {
        user: "main".into(),
        uses: "sum".into(),
        provider: provider.into(),
        provides: "sum".into(),
    }
}

/// Calls until `n_swaps` are made; some with the port got for each call, some with the port got once.
fn call(uses: &UsesPort<dyn SumPort>, thread: u64, swaps: &AtomicU64, n_swaps: u64) -> u64 {
    let held = thread
        .is_multiple_of(2)
        .then(|| uses.get().expect("connected"));
    let mut n_calls = 0;
    loop {
        let now = swaps.load(Ordering::Acquire);
        if now == n_swaps {
            return n_calls;
        }
        if now < n_calls * SWAPS_A_CALL {
            thread::yield_now();
            continue;
        }
        let (a, b, c) = (n_calls, thread << 40, 1 << 50);
        let found = match &held {
            Some(port) => port.sum(a, b, c),
            None => uses.get().expect("connected").sum(a, b, c),
        };
        let found = found.expect("a sum");
        assert_eq!(found / 4, a + b + c);
        assert!(found % 4 < PROVIDERS.len() as u64);
        n_calls += 1;
    }
}

fn swap(n_swaps: u64, records: &Path) {
    let recorder = RunRecorder::start(RecorderConfig {
        directory: records.into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: Default::default(),
        run: Default::default(),
    });
    let framework = Framework::new();
    let services = |name: &str| framework.services(name, "test.Own", "1.0").expect("a name");
    let recorder = recorder.expect("records");
    let mastermind = Mastermind::add(recorder, None, &services("mastermind")).expect("ports");
    framework
        .start_monitoring(("mastermind", Mastermind::PORT), |_, _| true)
        .expect("a monitor");
    let providers = [0, 1, 2].map(|number| {
        let provider = Arc::new(Provider {
            number,
            calls: AtomicU64::new(0),
        });
        services(PROVIDERS[number as usize])
            .add_provides_port::<dyn SumPort, _>("sum", &provider)
            .expect("a port");
        provider
    });
    let uses = services("main").register_uses_port::<dyn SumPort>("sum");
    let uses = uses.expect("a port");
    framework
        .connect(&connection("red"))
        .expect("ends that fit");
    let swaps = AtomicU64::new(0);
    let n_calls: u64 = thread::scope(|scope| {
        let (uses, swaps) = (&uses, &swaps);
        let callers = (0..N_THREADS).map(|k| scope.spawn(move || call(uses, k, swaps, n_swaps)));
        let callers: Vec<_> = callers.collect();
        for n in 1..=n_swaps {
            let provider = PROVIDERS[n as usize % PROVIDERS.len()];
            framework.reconnect(&connection(provider)).expect("a swap");
            swaps.store(n, Ordering::Release);
        }
        let callers = callers.into_iter();
        callers.map(|caller| caller.join().expect("no panic")).sum()
    });
    drop(uses);
    drop(framework);
    let totals = mastermind.finish().expect("logs");
    assert_eq!((totals.records, totals.dropped), (n_calls, 0));
    assert!(n_calls >= n_swaps / SWAPS_A_CALL);
    let run = Run::open(records).expect("records");
    assert_eq!((run.damage().count(), run.dropped()), (0, 0));
    for (name, provider) in PROVIDERS.iter().zip(&providers) {
        let records = run.logs().iter().flat_map(|log| log.records());
        let recorded = records.filter(|record| record.method.instance == *name);
        assert_eq!(
            recorded.count() as u64,
            provider.calls.load(Ordering::SeqCst),
            "{name}"
        );
    }
    // A method is defined once for each instance, however often the connection returned to it.
    let methods = run
        .logs()
        .iter()
        .map(|log| log.definitions().methods().count());
    assert!(methods.max() <= Some(PROVIDERS.len()));
}

#[test]
fn no_call_is_torn_and_no_record_lost() {
    let folder = tempfile::tempdir().expect("a folder");
    swap(20_000, folder.path());
}

#[test]
#[ignore = "takes a minute; the same with a million swaps"]
fn nor_with_a_million_swaps() {
    let folder = tempfile::tempdir().expect("a folder");
    swap(1_000_000, folder.path());
}

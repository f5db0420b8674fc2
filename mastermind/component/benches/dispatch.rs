//! Cost of a call that a dispatcher sends to one of two providers by one parameter, relative to an empty call through a
//! bare table.
//!
//! Three workloads, whose rounds are interleaved: one size repeatedly, 64 sizes around the bound in a cycle, and as
//! many in an order that does not repeat, where the processor cannot predict which provider is called next. The bare
//! table is called with the same sizes. The figure is the median of all rounds, including disturbed ones. The cost of a
//! further question is also printed, from a tree that asks ten about each call, with sizes in no order. Needs the
//! example `probe`.

use std::hint::black_box;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use cca_abi::{OwnedPort, RawPort};
use cca_core::{ConnectionId, DecisionEnd, DecisionStep, DecisionTable, Framework};
use cca_loader::Library;
use cca_ports::{PortRef, UsesPort};
use must_reach::Figures;

#[path = "probe_port.rs"]
mod probe_port;

use probe_port::{ProbePort, ProbePortVtable};

const N_CALLS: usize = 8_192;
const N_ROUNDS: usize = 301;
/// Sizes of a workload that repeats.
const N_SIZES: usize = 64;
/// From this size on the second provider is called.
const BOUND: u64 = 1_000;

/// Questions of each call in the deep tree.
const DEPTH: usize = 10;

const PROVIDERS: [&str; 2] = ["small", "large"];

const WORKLOADS: [&str; 3] = ["one size", "64 sizes over and over", "sizes in no order"];

fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let release = program
        .parent()
        .and_then(|deps| deps.parent())
        .expect("target/release/deps");
    release.join("examples/libprobe.so")
}

/// A bare port on a probe.
fn bare_port() -> OwnedPort {
    let mut port = MaybeUninit::uninit();
    // SAFETY: our own library; the function has this signature, and writes a port.
    unsafe {
        let library = libloading::Library::new(library()).expect("run through `cargo xtask bench`");
        let make = *library
            .get::<unsafe extern "C" fn(*mut OwnedPort)>(b"bench_probe_port")
            .expect("the probe's port");
        std::mem::forget(library);
        make(port.as_mut_ptr());
        port.assume_init()
    }
}

/// Two probes, and a uses port connected to them through a dispatcher called `name`.
fn dispatched(
    framework: &Framework,
    name: &str,
    steps: Vec<DecisionStep>,
) -> UsesPort<dyn ProbePort> {
    let library = Library::open(&library()).expect("run through `cargo xtask bench`");
    let providers = PROVIDERS.map(|provider| format!("{name}-{provider}"));
    for provider in &providers {
        let made = framework.create_instance(provider, &library.classes()[0]);
        made.expect("the probe is made");
    }
    let named = |end: DecisionEnd| match end {
        DecisionEnd::Provider(provider) => DecisionEnd::Provider(format!("{name}-{provider}")),
        step => step,
    };
    let steps = steps.into_iter().map(|step| DecisionStep {
        next: step.next.into_iter().map(named).collect(),
        ..step
    });
    let table = DecisionTable {
        port: "probe".into(),
        methods: [("add_one".to_owned(), steps.collect())].into(),
        providers: providers.into(),
    };
    let made = framework.create_dispatcher(name, &table);
    made.expect("a table of the probe's method");
    let user = format!("bench-{name}");
    let services = framework
        .services(&user, "bench.Bench", "1.0")
        .expect("a new name");
    let uses = services
        .register_uses_port::<dyn ProbePort>("probe")
        .expect("a new name");
    let connection = ConnectionId {
        user: user.as_str().into(),
        uses: "probe".into(),
        provider: name.into(),
        provides: "probe".into(),
    };
    framework.connect(&connection).expect("the ends fit");
    uses
}

/// Whether a size is below one bound.
fn question(bound: f64, next: [DecisionEnd; 2]) -> DecisionStep {
    DecisionStep {
        parameter: "q".into(),
        bounds: vec![bound],
        labels: Vec::new(),
        next: next.into(),
    }
}

fn one_question() -> Vec<DecisionStep> {
    let ends = PROVIDERS.map(|name| DecisionEnd::Provider(name.into()));
    vec![question(BOUND as f64, ends)]
}

/// A tree that halves the sizes [`DEPTH`] times; the two providers alternate.
fn many_questions() -> Vec<DecisionStep> {
    let mut steps = Vec::new();
    for depth in 0..DEPTH {
        let first_below = (1 << (depth + 1)) - 1;
        let n = 1 << depth;
        for place in 0..n {
            let end = |side: usize| match depth + 1 == DEPTH {
                true => DecisionEnd::Provider(PROVIDERS[side].into()),
                false => DecisionEnd::Step(first_below + 2 * place + side),
            };
            let middle = (place as f64 + 0.5) / f64::from(n as u32);
            steps.push(question(2.0 * BOUND as f64 * middle, [end(0), end(1)]));
        }
    }
    steps
}

#[inline(never)]
fn bare(port: &RawPort, sizes: &[u64]) {
    let port = black_box(*port);
    for size in sizes {
        let (q, mode) = (black_box(*size), black_box(1));
        // SAFETY: the port is one on a probe.
        let _ = black_box(unsafe {
            let add_one = (*port.vtable.cast::<ProbePortVtable>()).add_one;
            cca_abi::call(|out, error| add_one(port.object, q, mode, out, error))
        });
    }
}

#[inline(never)]
fn through_dispatcher(port: &PortRef<'_, dyn ProbePort>, sizes: &[u64]) {
    for size in sizes {
        let (q, mode) = (black_box(*size), black_box(1));
        let _ = black_box(port.add_one(q, mode));
    }
}

/// The sizes of each workload, half of them below the bound.
fn workloads() -> [Vec<u64>; 3] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut size = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % (2 * BOUND)
    };
    let some: Vec<u64> = (0..N_SIZES).map(|_| size()).collect();
    [
        vec![BOUND / 2; N_CALLS],
        some.iter().copied().cycle().take(N_CALLS).collect(),
        (0..N_CALLS).map(|_| size()).collect(),
    ]
}

/// Nanoseconds a call.
fn timed(body: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    body();
    begin.elapsed().as_nanos() as f64 / N_CALLS as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn compare(
    port: &PortRef<'_, dyn ProbePort>,
    deep: &PortRef<'_, dyn ProbePort>,
    table: &RawPort,
    figures: &mut Figures,
) {
    let workloads = workloads();
    let in_no_order = &workloads[2];
    let mut further_ns = Vec::new();
    let mut bare_ns: [Vec<f64>; 3] = Default::default();
    let mut dispatched_ns: [Vec<f64>; 3] = Default::default();
    for _ in 0..N_ROUNDS {
        for (place, sizes) in workloads.iter().enumerate() {
            bare_ns[place].push(timed(|| bare(table, sizes)));
            dispatched_ns[place].push(timed(|| through_dispatcher(port, sizes)));
        }
        let deep_ns = timed(|| through_dispatcher(deep, in_no_order));
        let one_ns = timed(|| through_dispatcher(port, in_no_order));
        further_ns.push((deep_ns - one_ns) / (DEPTH - 1) as f64);
    }
    for (place, name) in WORKLOADS.into_iter().enumerate() {
        let (bare_ns, ns) = (
            median(&mut bare_ns[place]),
            median(&mut dispatched_ns[place]),
        );
        println!("{name}: bare table {bare_ns:.2} ns a call, dispatched {ns:.2} ns");
        figures.time(
            &format!("call dispatched by one parameter, {name}"),
            ns,
            ..20.0,
            " ns",
        );
        let what = format!("dispatched / empty call through a table, {name}");
        figures.time(&what, ns / bare_ns, ..=5.0, "");
    }
    let further_ns = median(&mut further_ns);
    figures.time("each further question", further_ns, ..10.0, " ns");
}

fn main() -> ExitCode {
    let framework = Framework::new();
    let uses = dispatched(&framework, "one", one_question());
    let port = uses.get().expect("it is connected");
    let deep_uses = dispatched(&framework, "deep", many_questions());
    let deep = deep_uses.get().expect("it is connected");
    let table = bare_port();
    must_reach::judge(|figures| compare(&port, &deep, &table.port, figures))
}

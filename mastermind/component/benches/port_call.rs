//! Cost of a call through a connected uses port compared with a raw C function pointer into the same library, and the
//! cost of recording compared with a floor: two time-stamp reads and a 40-byte append. The plain floor writes to memory
//! that is reused. The fair floor does so in a function between the caller and the callee, to pages that another thread
//! has just made, as a log's are.
//!
//! Rounds of all rows are interleaved, and each row's figure is the median of its rounds, so that a change of the
//! machine's speed affects all alike. Each type of call has call sites of its own and holds its target as its caller
//! would, got once before a loop: a call site shared by several targets would measure how the processor predicts its
//! target. Needs the example `probe` built (`cargo xtask bench` does so).
//!
//! On a virtual machine another tenant may have the other hardware thread of the core for a while. Plain instructions
//! then take half as long again, but the two time-stamp reads that make up most of the floor do not, so a ratio of the
//! two would show how busy the neighbour is. Such rounds are detected by the call of the plain C function, which does
//! not depend on recording, at their begin, before the recorded calls and at their end, and set aside. The result of
//! all rounds together is printed as well.

use std::ffi::c_void;
use std::hint::black_box;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cca_abi::{ErrorBuffer, Interface, OwnedPort, RawPort};
use cca_core::{ConnectionId, Framework};
use cca_loader::Library;
use cca_ports::{MeasurementPort, PortRef, UsesPort};
use mastermind_component::{Mastermind, Measurement};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::ChunkSizes;
use mastermind_records::definition::RunDefinition;
use must_reach::{Figures, medians, undisturbed};

#[path = "probe_port.rs"]
mod probe_port;

use probe_port::{ProbePort, ProbePortVtable};

const N_CALLS: u64 = 5_000;
const N_ROUNDS: usize = 301;
/// Rounds are added until enough are undisturbed, up to this multiple.
const PATIENCE: usize = 8;

type AddOne = unsafe extern "C" fn(q: u64, mode: u32) -> u64;
type AddOneAsMethod =
    unsafe extern "C-unwind" fn(*const c_void, u64, u32, *mut u64, *mut ErrorBuffer) -> i32;

fn library() -> PathBuf {
    let program = std::env::current_exe().expect("this program has a path");
    let release = program
        .parent()
        .and_then(|deps| deps.parent())
        .expect("target/release/deps");
    release.join("examples/libprobe.so")
}

/// The plain function of the probe's library, the one with a method's signature, and a bare port on a probe.
fn raw_functions() -> (AddOne, AddOneAsMethod, OwnedPort) {
    let mut port = MaybeUninit::uninit();
    // SAFETY: our own library; its functions have these signatures, and the second writes a port.
    unsafe {
        let library = libloading::Library::new(library()).expect("run through `cargo xtask bench`");
        let function = *library
            .get::<AddOne>(b"bench_add_one")
            .expect("the probe's function");
        let as_method = *library
            .get::<AddOneAsMethod>(b"bench_add_one_as_method")
            .expect("the probe's function");
        let make = *library
            .get::<unsafe extern "C" fn(*mut OwnedPort)>(b"bench_probe_port")
            .expect("the probe's port");
        std::mem::forget(library);
        make(port.as_mut_ptr());
        (function, as_method, port.assume_init())
    }
}

/// A framework with one probe, and a uses port connected to it.
fn connected(framework: &Framework) -> UsesPort<dyn ProbePort> {
    let library = Library::open(&library()).expect("run through `cargo xtask bench`");
    framework
        .create_instance("probe", &library.classes()[0])
        .expect("the probe is made");
    let services = framework
        .services("bench", "bench.Bench", "1.0")
        .expect("a new name");
    let uses = services
        .register_uses_port::<dyn ProbePort>("probe")
        .expect("a new name");
    let connection = ConnectionId {
        user: "bench".into(),
        uses: "probe".into(),
        provider: "probe".into(),
        provides: "probe".into(),
    };
    framework.connect(&connection).expect("the ends fit");
    uses
}

fn monitor(framework: &Framework, directory: &std::path::Path) -> Arc<Mastermind> {
    std::fs::create_dir(directory).expect("a temporary directory can be written");
    let recorder = RunRecorder::start(RecorderConfig {
        directory: directory.to_path_buf(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    });
    let services = framework
        .services("mastermind", "mastermind.Mastermind", "1.0")
        .expect("a new name");
    let mastermind = Mastermind::add(
        recorder.expect("a temporary directory can be written"),
        None,
        &services,
    )
    .expect("a new port");
    framework
        .monitor("bench", "probe", ("mastermind", Mastermind::PORT))
        .expect("the probe has a proxy");
    mastermind
}

/// Switches the monitoring of the probe's interface off; its proxy stays in place.
fn switch_off(framework: &Framework, mastermind: &Arc<Mastermind>) {
    let services = framework
        .services("measurement", "mastermind.Measurement", "1.0")
        .expect("a new name");
    let measurement = Measurement::add(&services).expect("a new port");
    mastermind.measure(&measurement);
    let group = <dyn ProbePort as Interface>::descriptor().name;
    measurement
        .set_group_enabled(group, false)
        .expect("the interface is monitored");
}

/// The same eight times over, each at its own address: a loop around a single call takes a cycle more or less depending
/// on the alignment of its code.
macro_rules! eight {
    ($body:expr) => {
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
        $body;
    };
}

#[inline(never)]
fn raw(function: AddOne) {
    let function = black_box(function);
    for i in 0..N_CALLS / 8 {
        eight!({
            // SAFETY: the probe's function.
            black_box(unsafe { function(black_box(i), black_box(1)) })
        });
    }
}

#[inline(never)]
fn raw_as_method(function: AddOneAsMethod) {
    let function = black_box(function);
    for i in 0..N_CALLS / 8 {
        eight!({
            let (q, mode) = (black_box(i), black_box(1));
            // SAFETY: the probe's function.
            let _ = black_box(unsafe {
                cca_abi::call(|out, error| function(std::ptr::null(), q, mode, out, error))
            });
        });
    }
}

#[inline(never)]
fn bare_table(port: &RawPort) {
    let port = black_box(*port);
    for i in 0..N_CALLS / 8 {
        eight!({
            let (q, mode) = (black_box(i), black_box(1));
            // SAFETY: the port is one on a probe.
            let _ = black_box(unsafe {
                let add_one = (*port.vtable.cast::<ProbePortVtable>()).add_one;
                cca_abi::call(|out, error| add_one(port.object, q, mode, out, error))
            });
        });
    }
}

/// Identifies the target of a port: [`through_port`] has a copy for each.
const STRAIGHT: u8 = 0;
const RECORDED: u8 = 1;
const SWITCHED_OFF: u8 = 2;

#[inline(never)]
fn through_port<const WAY: u8>(port: &PortRef<'_, dyn ProbePort>) {
    // The compiler would merge identical copies.
    black_box(WAY);
    for i in 0..N_CALLS / 8 {
        eight!({
            let (q, mode) = (black_box(i), black_box(1));
            let _ = black_box(port.add_one(q, mode));
        });
    }
}

#[inline(never)]
fn floor(port: &PortRef<'_, dyn ProbePort>, words: &mut [u64]) {
    let mut at = 0;
    for i in 0..N_CALLS / 8 {
        eight!({
            let (q, mode) = (black_box(i), black_box(1));
            // SAFETY: the instruction touches no memory.
            let start = unsafe { std::arch::x86_64::_rdtsc() };
            let _ = black_box(port.add_one(q, mode));
            // SAFETY: as above.
            let stop = unsafe { std::arch::x86_64::_rdtsc() };
            if at + 5 > words.len() {
                at = 0;
            }
            words[at..at + 5].copy_from_slice(&[1, start, stop - start, q, u64::from(mode)]);
            at += 5;
        });
    }
    black_box(words.as_ptr());
}

/// The minimum that a proxy does: a function of its own that calls on, and notes when.
#[inline(never)]
fn second(port: &PortRef<'_, dyn ProbePort>, q: u64, mode: u32, words: &mut [u64; 5]) -> u64 {
    // SAFETY: the instruction touches no memory.
    let start = unsafe { std::arch::x86_64::_rdtsc() };
    let result = port.add_one(q, mode);
    // SAFETY: as above.
    let stop = unsafe { std::arch::x86_64::_rdtsc() };
    *words = [1, start, stop - start, q, u64::from(mode)];
    result.unwrap_or_default()
}

#[inline(never)]
fn fair_floor(port: &PortRef<'_, dyn ProbePort>, pages: &mut [[u64; 5]]) {
    for (i, eight) in (0..).zip(pages.chunks_exact_mut(8)) {
        let mut next = eight.iter_mut();
        eight!({
            if let Some(words) = next.next() {
                black_box(second(port, black_box(i), black_box(1), words));
            }
        });
    }
}

/// Memory for a round's calls that another thread has just made.
fn new_pages() -> Vec<[u64; 5]> {
    let made = std::thread::spawn(|| vec![[1; 5]; N_CALLS as usize]);
    made.join().expect("memory")
}

/// Nanoseconds a call.
fn timed(body: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    body();
    begin.elapsed().as_nanos() as f64 / N_CALLS as f64
}

/// The eight figures of a round, and two more of the plain C call, from between them and from the end.
type Round = [f64; 10];

/// Its rows of the plain C call.
const PLAIN: [usize; 3] = [0, 8, 9];

/// Cost that recording adds to a call, relative to the cost that its plain floor adds, and its fair one.
fn added(&[_, _, _, port_ns, floor_ns, fair_ns, recorded_ns, ..]: &Round) -> [f64; 2] {
    [floor_ns, fair_ns].map(|floor_ns| (recorded_ns - port_ns) / (floor_ns - port_ns))
}

fn main() -> ExitCode {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (plain, monitored, off) = (Framework::new(), Framework::new(), Framework::new());
    let [bare, recorded, silent] = [&plain, &monitored, &off].map(connected);
    monitor(&monitored, &directory.path().join("recorded"));
    let mastermind = monitor(&off, &directory.path().join("off"));
    switch_off(&off, &mastermind);
    let bare = bare.get().expect("it is connected");
    let recorded = recorded.get().expect("it is connected");
    let silent = silent.get().expect("it is connected");
    let (function, as_method, port) = raw_functions();
    let mut words = vec![1_u64; 8 << 20];
    must_reach::judge(|figures| {
        let calls = Calls {
            function,
            as_method,
            table: &port.port,
            bare: &bare,
            recorded: &recorded,
            silent: &silent,
        };
        calls.compare(figures, &mut words)
    })
}

/// The functions, tables and ports through which the probe is called.
struct Calls<'a> {
    function: AddOne,
    as_method: AddOneAsMethod,
    table: &'a RawPort,
    bare: &'a PortRef<'a, dyn ProbePort>,
    recorded: &'a PortRef<'a, dyn ProbePort>,
    silent: &'a PortRef<'a, dyn ProbePort>,
}

impl Calls<'_> {
    /// One try: rounds of all rows, until enough are undisturbed.
    fn compare(&self, figures: &mut Figures, words: &mut [u64]) {
        let mut rounds: Vec<Round> = Vec::new();
        let mut quiet = Vec::new();
        while rounds.len() < N_ROUNDS
            || quiet.len() < N_ROUNDS / 2 && rounds.len() < PATIENCE * N_ROUNDS
        {
            let mut pages = new_pages();
            let raw_ns = timed(|| raw(self.function));
            let method_ns = timed(|| raw_as_method(self.as_method));
            let table_ns = timed(|| bare_table(self.table));
            let port_ns = timed(|| through_port::<STRAIGHT>(self.bare));
            let floor_ns = timed(|| floor(self.bare, words));
            let fair_ns = timed(|| fair_floor(self.bare, &mut pages));
            let between_ns = timed(|| raw(self.function));
            let recorded_ns = timed(|| through_port::<RECORDED>(self.recorded));
            let off_ns = timed(|| through_port::<SWITCHED_OFF>(self.silent));
            let last_ns = timed(|| raw(self.function));
            rounds.push([
                raw_ns,
                method_ns,
                table_ns,
                port_ns,
                floor_ns,
                fair_ns,
                recorded_ns,
                off_ns,
                between_ns,
                last_ns,
            ]);
            quiet = undisturbed(&rounds, &[&PLAIN]);
            // Time for the next chunk, so that rounds of empty calls do not outrun its preparation.
            std::thread::sleep(Duration::from_micros(300));
        }
        figures.rounds(rounds.len(), rounds.len() - quiet.len());
        if quiet.len() < N_ROUNDS / 2 {
            for what in FIGURES {
                figures.unknown(what, "too few undisturbed rounds");
            }
            return;
        }
        report(figures, &rounds, &quiet);
    }
}

/// The figures that are to be reached.
const FIGURES: [&str; 5] = [
    "unmonitored call / raw C call of its signature",
    "unmonitored call / bare table call",
    "a proxy in place, switched off",
    "recorded call / (two rdtsc + append)",
    "recorded call / (second function + two rdtsc + append to new pages)",
];

fn report(figures: &mut Figures, rounds: &[Round], quiet: &[Round]) {
    let (all, quiet_medians) = (medians(rounds), medians(quiet));
    let [
        raw_ns,
        method_ns,
        table_ns,
        port_ns,
        floor_ns,
        fair_ns,
        recorded_ns,
        off_ns,
        ..,
    ] = quiet_medians;
    println!(
        "undisturbed rounds                {} of {}",
        quiet.len(),
        rounds.len()
    );
    println!("raw C function pointer            {raw_ns:7.2} ns a call");
    println!("  with a method's signature       {method_ns:7.2} ns a call");
    println!("bare table of functions           {table_ns:7.2} ns a call");
    println!("connected uses port               {port_ns:7.2} ns a call");
    let (floor_adds, recording_adds) = (floor_ns - port_ns, recorded_ns - port_ns);
    println!("  two rdtsc + 40-byte append add  {floor_adds:7.2} ns");
    println!(
        "  in a second function, new pages {:7.2} ns",
        fair_ns - port_ns
    );
    println!("  recording adds                  {recording_adds:7.2} ns");
    println!(
        "  a proxy that is off adds        {:7.2} ns",
        off_ns - port_ns
    );
    let [all_plain, all_fair] = added(&all);
    println!(
        "  recorded call / floor over all rounds, disturbed ones too: {all_plain:.2}, fair {all_fair:.2}"
    );
    let [to_raw, to_table, off, to_floor, to_fair_floor] = FIGURES;
    figures.time(to_raw, port_ns / method_ns, ..=1.6, "");
    figures.time(to_table, port_ns / table_ns, ..=1.1, "");
    figures.time(off, off_ns - port_ns, ..=3.0, " ns");
    let [plain, fair] = added(&quiet_medians);
    figures.time(to_floor, plain, ..=1.35, "");
    figures.time(to_fair_floor, fair, ..=1.15, "");
}

//! A C library that is swapped a million times while eight threads call it: is any call torn, and does each record name
//! the implementation that ran?
//!
//! Two libraries have the same function; by the mark-up, the second's result counts as a failure. So a record of the
//! first with a failure, or of the second without one, is of a call whose function and name belong to different
//! implementations. Calls beyond the limit of bytes for records are checked by the sums that replace them. Needs a C
//! compiler.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{env, fs, thread};

use cca_abi::recording::ProxyMethod;
use cca_loader::LibraryProxy;
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use mastermind_measurement::{Clock, MpiFunctions, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, RunDefinition};
use mastermind_records::{ChunkSizes, Run};
use must_reach::Figures;
use proxy_generate::{Header, Markup, generate};

const N_THREADS: u64 = 8;
const N_SWAPS: u64 = 1_000_000;
const LIMIT_BYTES: u64 = 256 << 20;
const DECLARATION: &str = "int which(int n);\n";
const CLASSES: [&str; 2] = ["one", "two"];

type Which = unsafe extern "C" fn(n: i32) -> i32;

fn main() -> ExitCode {
    must_reach::judge(|figures| {
        let folder = tempfile::tempdir().expect("a temporary directory");
        build(folder.path());
        fire(folder.path(), figures);
    })
}

/// Builds both libraries and their proxy.
fn build(folder: &Path) {
    let header = folder.join("which.h");
    fs::write(&header, DECLARATION).expect("a header");
    for (number, class) in (1..).zip(CLASSES) {
        let source = format!("int which(int n) {{ return n == n ? {number} : 0; }}\n");
        compile(folder, class, &source);
    }
    let file = header.display().to_string();
    let header = Header {
        include: "which.h",
        before: &[],
        parts: &[],
        file: &file,
        preprocessed: &format!("# 1 \"{file}\"\n{DECLARATION}"),
        macros: &BTreeSet::new(),
    };
    let markup = "[functions.which]\nparameters = { n = \"n\" }\nfailed = \"result == 2\"\n";
    let markup = Markup::read(markup).expect("a mark-up");
    let (_, source) = generate(&header, &markup).expect("a proxy");
    compile(folder, "proxy", &source);
}

fn library(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("lib{name}.so"))
}

fn compile(folder: &Path, name: &str, text: &str) {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, text).expect("a source");
    let headers = concat!(env!("CARGO_MANIFEST_DIR"), "/../../framework/abi/include");
    let mut cc = Command::new("cc");
    cc.args(["-O2", "-w", "-shared", "-fPIC", "-I", headers, "-I"])
        .arg(folder);
    cc.arg("-o").arg(library(folder, name)).arg(source);
    let status = cc.arg("-ldl").status().expect("a C compiler");
    assert!(status.success(), "{cc:?}");
}

/// One try: all threads call while the implementation is swapped; afterwards their records are checked.
fn fire(folder: &Path, figures: &mut Figures) {
    let records = folder.join("records");
    fs::create_dir(&records).expect("a directory");
    let recorder = Box::leak(Box::new(recorder(&records)));
    let proxy = LibraryProxy::open(&library(folder, "proxy")).expect("the proxy");
    let targets = CLASSES.map(|class| proxy.alternative(&library(folder, class)).expect(class));
    let methods = CLASSES.map(|class| [method(recorder, class)]);
    let swap = |at: usize| {
        // SAFETY: recorder and methods are never freed, and only this thread swaps.
        let is_done = unsafe {
            proxy.use_functions(Some(&targets[at]), &methods[at], recorder.recorder(), false)
        };
        assert!(is_done);
    };
    swap(0);
    let which = which(&library(folder, "proxy"));
    let is_over = AtomicBool::new(false);
    let mut n_calls = 0;
    thread::scope(|scope| {
        let threads: Vec<_> = (0..N_THREADS)
            .map(|_| scope.spawn(|| call(which, &is_over)))
            .collect();
        (0..N_SWAPS).for_each(|nth| swap(nth as usize % 2));
        is_over.store(true, Ordering::Release);
        for thread in threads {
            n_calls += thread.join().expect("every result is of one of both");
        }
    });
    recorder.finish_in_use().expect("the logs end");
    let run = Run::open(&records).expect("the logs");
    let (checked, torn) = torn(&run);
    println!(
        "{n_calls} calls by {N_THREADS} threads during {N_SWAPS} swaps, {} with a record",
        run.n_records()
    );
    figures.fact(
        "records of another implementation than ran",
        torn as f64,
        ..=0.0,
        "",
    );
    figures.fact(
        "calls that neither records nor sums name",
        (n_calls - checked) as f64,
        ..=0.0,
        "",
    );
}

fn recorder(directory: &Path) -> RunRecorder {
    let run = RunRecorder::start(RecorderConfig {
        directory: directory.into(),
        rank: 0,
        limit_bytes: Some(LIMIT_BYTES),
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: MpiFunctions::default(),
        run: RunDefinition::default(),
    });
    run.expect("a temporary directory can be written")
}

fn method(recorder: &RunRecorder, class: &str) -> *const ProxyMethod {
    let id = recorder.register(MethodDefinition {
        instance: "which".into(),
        class: class.into(),
        port: "which".into(),
        interface: "which".into(),
        method: "which".into(),
        parameters: vec![Default::default()],
        ..MethodDefinition::default()
    });
    Arc::into_raw(recorder.method(id).expect("the method"))
}

fn which(proxy: &Path) -> Which {
    // SAFETY: our own library, which is never closed; the function has this signature.
    unsafe {
        let library = Library::open(Some(proxy), RTLD_NOW | RTLD_LOCAL).expect("the proxy");
        let which = *library.get::<Which>(b"which").expect("its function");
        std::mem::forget(library);
        which
    }
}

/// Calls until it is over; returns the number of calls.
fn call(which: Which, is_over: &AtomicBool) -> u64 {
    let mut n_calls = 0;
    while !is_over.load(Ordering::Acquire) {
        // SAFETY: the function takes any number.
        let result = unsafe { which(n_calls as i32) };
        assert!(matches!(result, 1 | 2), "a call came back with {result}");
        n_calls += 1;
    }
    n_calls
}

/// The number of calls in records and sums, and how many of them name another implementation than the one that ran.
fn torn(run: &Run) -> (u64, u64) {
    let (mut checked, mut torn) = (0, 0);
    for log in run.logs() {
        for record in log.records() {
            checked += 1;
            torn += u64::from(record.failed != (record.method.class == CLASSES[1]));
        }
        for sum in log.unrecorded() {
            let method = log.definitions().method_of(sum.call_path);
            let is_second = method.map(|method| method.class == CLASSES[1]);
            checked += sum.calls;
            torn += if is_second == Some(sum.failed) {
                0
            } else {
                sum.calls
            };
        }
    }
    (checked, torn)
}

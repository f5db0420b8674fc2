//! A component in C++ that throws out of a call: a component that can catch it does, monitored or not. Otherwise the
//! process ends with a clear message, and the records up to that point are there.

use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

use cca_abi::recording::MethodPointer;
use cca_abi::{ConnectedPort, ErrorBuffer, Interface, OwnedPort, RSlice, RawPort, Slot};
use hydro_ports::FluxPort;
use mastermind_measurement::{Clock, RecorderConfig, RunRecorder};
use mastermind_records::definition::{MethodDefinition, ParameterDefinition};
use mastermind_records::{ChunkSizes, Run};
use mastermind_tests::{Scratch, cpp_library};

/// Sod's tube with a flux that throws in its third call, behind one that catches if `catches`.
fn assembly(scratch: &Scratch, definitions: &[&str], catches: bool) -> Option<PathBuf> {
    let definitions = [&["THROWS_AT=3"], definitions].concat();
    let library = cpp_library(scratch, "throwing", "throwing", &definitions)?;
    let instances = if catches {
        "test.CatchingFlux\"\ninner = \"test.ThrowingFlux\"\nbc"
    } else {
        "test.ThrowingFlux\"\nbc"
    };
    let connections = if catches {
        "\"rhs.flux\" = \"flux.flux\"\n\"flux.inner\" = \"inner.flux\""
    } else {
        "\"rhs.flux\" = \"flux.flux\""
    };
    let edits = [
        ("hydro.GodunovFlux\"\nbc", instances),
        ("\"rhs.flux\" = \"flux.flux\"", connections),
    ];
    Some(scratch.example("sod/sod.toml", &[&library], &edits))
}

/// Calls of a method in the profile of `records`.
fn calls(scratch: &Scratch, name: &str) -> f64 {
    let profile = scratch.mastermind(&["profile", "records", "--json"]).well();
    let profile: serde_json::Value = serde_json::from_str(&profile).expect("JSON");
    assert_eq!(profile["lost_records"], 0, "{profile}");
    let rows = profile["rows"].as_array().expect("rows");
    let row = rows.iter().find(|row| row["name"] == name);
    row.map_or(0.0, |row| row["calls"].as_f64().expect("a number"))
}

#[test]
fn a_caller_in_cpp_catches_it() {
    let scratch = Scratch::new();
    let Some(assembly) = assembly(&scratch, &[], true) else {
        return;
    };
    let plain = scratch.verb("run", &assembly, &[]).error();
    assert!(
        plain.starts_with("caught: no root in the bracket\n"),
        "{plain}"
    );
    let monitored = ["--records", "records", "--monitor", "rhs.flux"];
    let monitored = scratch.verb("run", &assembly, &monitored);
    assert_eq!(monitored.error(), plain);
    // The call that threw is among them.
    assert_eq!(calls(&scratch, "flux.compute"), 3.0);
}

#[test]
fn a_guarded_body_gives_an_error() {
    let scratch = Scratch::new();
    let Some(assembly) = assembly(&scratch, &["GUARDED"], false) else {
        return;
    };
    let error = scratch.verb("run", &assembly, &["--records", "records"]);
    let error = error.error();
    assert!(error.contains("no root in the bracket"), "{error}");
    assert_eq!(calls(&scratch, "flux.compute"), 3.0);
}

#[test]
fn where_nobody_can_catch_it_the_records_are_kept() {
    let scratch = Scratch::new();
    let Some(assembly) = assembly(&scratch, &[], false) else {
        return;
    };
    for arguments in [&[][..], &["--records", "records"]] {
        let ended = scratch.verb("run", &assembly, arguments);
        assert_eq!(ended.code, None, "an abort: {ended:#?}");
        let message =
            "cannot return from a component's method: it threw an exception, expected a status";
        assert!(ended.stderr.contains(message), "{ended:#?}");
    }
    assert_eq!(calls(&scratch, "flux.compute"), 3.0);
}

/// Caller and provider in C++, and the proxy in Rust between them.
#[test]
fn it_passes_through_a_proxy() {
    let scratch = Scratch::new();
    let Some(library) = cpp_library(&scratch, "throwing", "throwing", &["THROWS_AT=2"]) else {
        return;
    };
    let records = tempfile::tempdir().expect("a folder");
    let run = RunRecorder::start(RecorderConfig {
        directory: records.path().into(),
        rank: 0,
        limit_bytes: None,
        chunks: ChunkSizes::default(),
        clock: Clock::detect(),
        mpi: Default::default(),
        run: Default::default(),
    });
    let run = run.expect("a folder that can be written");
    let parameter = |name: &str| ParameterDefinition {
        name: name.into(),
        ..ParameterDefinition::default()
    };
    let method = run.method(run.register(MethodDefinition {
        method: "compute".into(),
        parameters: ["q", "axis"].map(parameter).into(),
        ..MethodDefinition::default()
    }));
    let method = method.expect("it was just registered");
    let methods = [MethodPointer(Arc::as_ptr(&method))];
    let (slot, mut port) = (Slot::unconnected(), MaybeUninit::<RawPort>::uninit());
    let (mut proxy, mut error) = (MaybeUninit::<OwnedPort>::uninit(), ErrorBuffer::empty());
    let descriptor = <dyn FluxPort as Interface>::descriptor();
    let new_proxy = descriptor.new_proxy.expect("an interface of Rust");
    // SAFETY: the library's functions have these types; slot, pair, recorder and method outlive the proxy.
    let ended = unsafe {
        let library = libloading::Library::new(library).expect("it was just made");
        let provide: unsafe extern "C" fn(*mut RawPort) =
            *library.get(b"test_throwing_port").expect("a function");
        let catches: unsafe extern "C" fn(*const RawPort) -> i32 =
            *library.get(b"test_catches").expect("a function");
        // Never closed, as by the loader.
        std::mem::forget(library);
        provide(port.as_mut_ptr());
        let mut connected = ConnectedPort::unnamed(port.assume_init());
        slot.replace(&raw mut connected);
        let methods = RSlice::from_slice(&methods);
        let recorder = run.recorder();
        let (out, words) = (proxy.as_mut_ptr(), error.as_mut_ptr());
        assert_eq!(new_proxy(&raw const slot, recorder, methods, out, words), 0);
        let proxy = proxy.assume_init();
        [
            catches(&raw const proxy.port),
            catches(&raw const proxy.port),
        ]
    };
    assert_eq!(ended, [0, -1]);
    drop(method);
    run.finish().expect("the log can be ended");
    let run = Run::open(records.path()).expect("a log");
    let [log] = run.logs() else {
        panic!("{} logs", run.logs().len());
    };
    let failed: Vec<_> = log.records().map(|record| record.failed).collect();
    assert_eq!(failed, [false, true]);
    assert_eq!((run.damage().count(), log.dropped()), (0, 0));
}

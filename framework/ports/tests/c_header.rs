//! `cca-abi/include/cca.h` agrees with the Rust types: sizes and offsets, compared by a compiled C program.

use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use cca_abi::recording::{
    LogCells, MAX_COUNTERS, OpenCall, ProxyMethod, RECORDING_VERSION, Recorder, RecordingContext,
    word,
};
use cca_abi::{
    ABI_VERSION, ClassDescriptor, ComponentVtable, ErrorBuffer, ErrorCode, Interface,
    InterfaceDescriptor, LibraryDescriptor, OwnedPort, RStr, RawComponent, RawPort, Slot,
    VtableHeader,
};
use cca_ports::{
    CommPort, CommPortVtable, GoPort, GoPortVtable, ParameterListenerPort,
    ParameterListenerPortVtable, PerfModelPort, PerfModelPortVtable, PlainParameter, PlainValue,
    PredictedTime, ProgressPort, ProgressPortVtable, Reduction, ReplacementServicePort,
    ReplacementServicePortVtable, ServicesPortVtable, plain_kind,
};

/// A C expression and Rust's value for it.
fn rows() -> Vec<(&'static str, usize)> {
    macro_rules! offsets {
        ($($c:literal: $type:ty { $($field:ident),* }),* $(,)?) => {
            vec![$($((concat!("offsetof(", $c, ", ", stringify!($field), ")"), offset_of!($type, $field)),)*)*]
        };
    }
    let mut rows = offsets! {
        "cca_vtable_header": VtableHeader { size, interface, version, hash },
        "cca_port": RawPort { object, vtable },
        "cca_interface": InterfaceDescriptor { name, version, hash, vtable_size, methods, layouts, new_proxy, new_dispatcher },
        "cca_owned_port": OwnedPort { port, release, interface },
        "cca_services": ServicesPortVtable {
            header, add_provides_port, remove_provides_port, register_uses_port, unregister_uses_port,
            get_port, release_port, instance_name, get_port_nonblocking, create_type_map,
            get_port_properties, set_port_properties, get_component_id, register_for_release,
            component_name, component_serial, port_property, set_port_property, port_property_key,
            add_parameter_port, add_parameter, parameter, set_parameter, set_parameter_title,
            begin_parameter_group, set_parameter_prompt, add_parameter_listener
        },
        "cca_value": PlainValue<'_> { kind, integer, real, text },
        "cca_parameter_listener": ParameterListenerPortVtable {
            header, updated_parameter_value, update_parameter_port
        },
        "cca_go_vtable": GoPortVtable { header, go },
        "cca_comm_vtable": CommPortVtable {
            header, rank, size, fortran_handle, barrier, all_reduce, broadcast, gather, send, receive,
            wait_some, abort
        },
        "cca_replacement_service": ReplacementServicePortVtable { header, reconnect, replace_instance },
        "cca_perf_model": PerfModelPortVtable { header, predict, total, best },
        "cca_progress": ProgressPortVtable { header, report },
        "cca_predicted_time": PredictedTime { value_s, lower_s, upper_s, extrapolated },
        "cca_component_vtable": ComponentVtable { size, set_services, release_services, destroy },
        "cca_component": RawComponent { object, vtable },
        "cca_class": ClassDescriptor { version, doc, create },
        "cca_library": LibraryDescriptor { abi_version, n_classes, classes, layout_abi },
    };
    rows.extend([
        ("CCA_ABI_VERSION", ABI_VERSION as usize),
        ("CCA_BAD_PARAMETER", ErrorCode::BadParameter as usize),
        (
            "CCA_PORT_NOT_CONNECTED",
            ErrorCode::PortNotConnected as usize,
        ),
        ("CCA_NETWORK_ERROR", ErrorCode::NetworkError as usize),
        (
            "offsetof(cca_parameter, default_value)",
            offset_of!(PlainParameter<'_>, default),
        ),
        (
            "offsetof(cca_parameter, choices)",
            offset_of!(PlainParameter<'_>, choices),
        ),
        (
            "offsetof(cca_parameter, help)",
            offset_of!(PlainParameter<'_>, help),
        ),
        ("sizeof(cca_parameter)", size_of::<PlainParameter<'_>>()),
        ("sizeof(cca_value)", size_of::<PlainValue<'_>>()),
        ("sizeof(cca_comm_vtable)", size_of::<CommPortVtable>()),
        ("sizeof(cca_go_vtable)", size_of::<GoPortVtable>()),
        ("CCA_STRING", plain_kind::TEXT as usize),
        ("CCA_NONE", plain_kind::NONE as usize),
        ("CCA_SUM", Reduction::Sum as usize),
        ("sizeof(cca_text)", size_of::<RStr<'_>>()),
        ("sizeof(cca_error)", size_of::<ErrorBuffer>()),
        ("sizeof(cca_interface)", size_of::<InterfaceDescriptor>()),
        ("sizeof(cca_owned_port)", size_of::<OwnedPort>()),
        ("sizeof(cca_slot)", size_of::<Slot>()),
        ("sizeof(cca_services)", size_of::<ServicesPortVtable>()),
        (
            "sizeof(cca_replacement_service)",
            size_of::<ReplacementServicePortVtable>(),
        ),
        (
            "CCA_REPLACEMENT_SERVICE_HASH",
            <dyn ReplacementServicePort>::descriptor().hash as usize,
        ),
        ("sizeof(cca_predicted_time)", size_of::<PredictedTime>()),
        (
            "CCA_PERF_MODEL_HASH",
            <dyn PerfModelPort>::descriptor().hash as usize,
        ),
        ("sizeof(cca_class)", size_of::<ClassDescriptor>()),
        ("sizeof(cca_library)", size_of::<LibraryDescriptor>()),
    ]);
    rows
}

#[test]
fn the_header_has_the_hashes_of_the_rust_interfaces() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi/include/cca.h");
    let header = std::fs::read_to_string(path).unwrap();
    for (name, interface) in [
        ("GO", <dyn GoPort>::descriptor()),
        ("COMM", <dyn CommPort>::descriptor()),
        ("PROGRESS", <dyn ProgressPort>::descriptor()),
        (
            "PARAMETER_LISTENER",
            <dyn ParameterListenerPort>::descriptor(),
        ),
    ] {
        let line = format!(
            "#define CCA_{name}_HASH UINT64_C(0x{:016x})",
            interface.hash
        );
        assert!(header.contains(&line), "expected in cca.h: {line}");
    }
}

#[test]
fn the_header_has_the_layouts_of_the_rust_types() {
    compare(&rows(), "cca.h", &["-std=c99", "-pedantic"]);
}

/// Compares the output of a compiled C program that includes a header with the rows.
fn compare(rows: &[(&str, usize)], header: &str, options: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("print.c"), folder.path().join("print"));
    let lines: Vec<_> = rows
        .iter()
        .map(|(expression, _)| format!("printf(\"{expression} %zu\\n\", (size_t)({expression}));"))
        .collect();
    let text = format!(
        "#include <stdio.h>\n#include \"{header}\"\nint main(void) {{\n{}\nreturn 0;\n}}\n",
        lines.join("\n")
    );
    std::fs::write(&source, text).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi/include");
    let mut compiler = Command::new("cc");
    compiler
        .args(options)
        .args(["-Wall", "-Wextra", "-Werror", "-I"])
        .arg(include);
    assert!(
        compiler
            .arg("-o")
            .arg(&program)
            .arg(&source)
            .status()
            .expect("a C compiler")
            .success()
    );
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let expected: Vec<_> = rows
        .iter()
        .map(|(expression, n)| format!("{expression} {n}"))
        .collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
}

/// The layouts that code in C appends records through.
fn recording_rows() -> Vec<(&'static str, usize)> {
    macro_rules! offsets {
        ($($c:literal: $type:ty { $($field:ident),* }),* $(,)?) => {
            vec![$($((concat!("offsetof(", $c, ", ", stringify!($field), ")"), offset_of!($type, $field)),)*)*]
        };
    }
    let mut rows = offsets! {
        "cca_recording_context": RecordingContext {
            cursor, end, origin, cells, mpi_ticks, recorder, thread, owner, mpi_totals, n_mpi_totals, mpi_failed, reserved
        },
        "cca_log_cells": LogCells { committed, depth, dropped, mpi_latest, mpi_function, mpi_start, reserved, open },
        "cca_open_call": OpenCall { path, start },
    };
    rows.extend([
        ("CCA_RECORDING_VERSION", RECORDING_VERSION as usize),
        ("CCA_MAX_COUNTERS", MAX_COUNTERS),
        ("CCA_HEAD_WORDS", word::HEAD_WORDS),
        ("CCA_MAX_RECORD_WORDS", word::MAX_RECORD_WORDS),
        ("CCA_WORD_FAILED", word::FAILED as usize),
        ("CCA_WORD_MPI_MEASURED", word::MPI_MEASURED as usize),
        (
            "sizeof(cca_recording_context)",
            size_of::<RecordingContext>(),
        ),
        ("sizeof(cca_log_cells)", size_of::<LogCells>()),
        ("sizeof(cca_proxy_method)", size_of::<ProxyMethod>()),
        ("sizeof(cca_recorder)", size_of::<Recorder>()),
    ]);
    rows
}

#[test]
fn the_header_of_recording_has_the_layouts_of_the_rust_types() {
    compare(&recording_rows(), "cca_recording.h", &["-std=gnu11"]);
}

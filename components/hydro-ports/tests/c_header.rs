//! `include/hydro.h` agrees with `FluxPort`: hash and layouts.

use std::mem::{offset_of, size_of};
use std::path::Path;
use std::process::Command;

use cca_abi::{Interface, RSlice};
use hydro_ports::{FluxPort, FluxPortVtable, Shape, States, StatesMut};

fn header() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/hydro.h");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_hash_is_the_interface_s() {
    let hash = <dyn FluxPort>::descriptor().hash;
    let line = format!("#define HYDRO_FLUX_HASH UINT64_C(0x{hash:016x})");
    assert!(header().contains(&line), "expected in hydro.h: {line}");
}

#[test]
fn the_layouts_are_the_interface_s() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("print.c");
    let program = "#include <stdio.h>\n#include \"hydro.h\"\nint main(void) {\n\
        printf(\"%zu %zu %zu %zu %zu %zu\", sizeof(hydro_shape), sizeof(hydro_states), sizeof(hydro_states_mut),\n\
        offsetof(hydro_states, data), sizeof(hydro_flux_vtable), offsetof(hydro_flux_vtable, compute));\n\
        return 0; }\n";
    std::fs::write(&source, program).unwrap();
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = folder.path().join("print");
    let mut compiler = Command::new("cc");
    compiler
        .arg("-I")
        .arg(here.join("include"))
        .arg("-I")
        .arg(here.join("../../framework/abi/include"));
    let compiled = compiler.arg("-o").arg(&output).arg(&source).status();
    assert!(compiled.expect("a C compiler").success());
    let printed = Command::new(&output).output().unwrap().stdout;
    let sizes = [
        size_of::<Shape>(),
        size_of::<States<'_>>(),
        size_of::<StatesMut<'_>>(),
        size_of::<States<'_>>() - size_of::<RSlice<'_, f64>>(),
        size_of::<FluxPortVtable>(),
        offset_of!(FluxPortVtable, compute),
    ];
    let expected: Vec<_> = sizes.iter().map(ToString::to_string).collect();
    assert_eq!(String::from_utf8(printed).unwrap(), expected.join(" "));
}

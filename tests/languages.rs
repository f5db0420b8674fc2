//! Components in C, C++ and Fortran: the output of `new component` takes part with a parameter. The header that
//! `describe --format c` generates from an interface written in Rust is all that a provider in C needs. Communicator
//! and properties are available.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mastermind_records::Run;
use mastermind_tests::{
    Scratch, bin_dir, c_library, cpp_library, mastermind, mpis, root, skip, succeeds,
};

fn make(folder: &Path, arguments: &[&str]) {
    let c = "CFLAGS=-O2 -std=c11 -Wall -Wextra -Werror -pedantic -fPIC";
    let cpp = "CXXFLAGS=-O2 -std=c++17 -Wall -Wextra -Werror -pedantic -fPIC";
    let fortran = "FFLAGS=-O2 -std=f2008 -Wall -Wextra -Werror -fPIC";
    succeeds(
        Command::new("make")
            .args([c, cpp, fortran])
            .args(arguments)
            .current_dir(folder),
    );
}

#[test]
fn a_component_of_each_language_has_a_parameter() {
    let folder = tempfile::tempdir().expect("a folder");
    for language in ["c", "cpp", "fortran"] {
        let name = format!("demo.In-{language}");
        mastermind(
            &["new", "component", &name, "--language", language],
            folder.path(),
        );
        let made = folder.path().join(format!("demo_in_{language}"));
        make(&made, &["test"]);
        make(&made, &[]);
        mastermind(&["check", "assembly.toml"], &made);
        mastermind(&["run", "assembly.toml", "--set", "x.steps=5"], &made);
        let library = format!("libdemo_in_{language}.so");
        let shown = mastermind(&["describe", &format!("./{library}")], &made);
        let parameter = "parameter steps = 3 (integer, 0 to 1000000): Steps to take";
        assert!(shown.contains(parameter), "{shown}");
        let scratch = Scratch::new();
        let assembly = made.join("assembly.toml");
        let wrong = scratch
            .verb("run", &assembly, &["--set", "x.steps=-1"])
            .error();
        assert!(
            wrong.contains("cannot set parameter") && wrong.contains("steps"),
            "{wrong}"
        );
    }
}

/// Recorded calls, by `INSTANCE.METHOD`, and connections without a record.
fn recorded(scratch: &Scratch, records: &str) -> (BTreeMap<String, usize>, usize) {
    let run = Run::open(&scratch.path(records)).expect("records");
    let mut calls = BTreeMap::new();
    for record in run.logs().iter().flat_map(|log| log.records()) {
        *calls.entry(record.method.name()).or_default() += 1;
    }
    (calls, run.unmonitored().len())
}

#[test]
fn a_component_of_each_language_assembles_others() {
    let scratch = Scratch::new();
    for language in ["c", "cpp", "fortran"] {
        let name = format!("demo.Builds-{language}");
        let arguments = ["new", "assembler", &name, "--language", language];
        mastermind(&arguments, &scratch.path("."));
        let made = scratch.path(&format!("demo_builds_{language}"));
        make(&made, &[]);
        mastermind(&["check", "assembly.toml"], &made);
        let assembly = made.join("assembly.toml");
        scratch
            .verb("run", &assembly, &["--records", language])
            .well();
        // Between components in C too, and of instances that come while it runs.
        let once = ["x.go", "starter.go", "worker.go"].map(|name| (name.to_string(), 1));
        assert_eq!(
            recorded(&scratch, language),
            (BTreeMap::from(once), 0),
            "{language}"
        );
    }
}

#[test]
fn cpp_has_all_of_the_framework() {
    let scratch = Scratch::new();
    let Some(library) = cpp_library(&scratch, "assembling", "assembling", &[]) else {
        return;
    };
    let text = format!(
        "[assembly]\nname = \"assembling\"\npath = [{library:?}]\n[instances]\nx = \"test.Assembling\"\n[go]\nport = \"x.go\"\n"
    );
    let assembly = scratch.write("assembling.toml", text);
    scratch.verb("check", &assembly, &[]).well();
    scratch.verb("run", &assembly, &[]).well();
    scratch
        .verb("run", &assembly, &["--records", "records"])
        .well();
}

/// A service that is provided and used, events, and the end of the instance, in Fortran alone.
#[test]
fn fortran_has_the_registry_and_hears_of_connections_and_of_the_end() {
    if Command::new("gfortran").arg("--version").output().is_err() {
        skip("gfortran", "it cannot be started");
        return;
    }
    let scratch = Scratch::new();
    let library = fortran_library(&scratch, "registering");
    let text = format!(
        "[assembly]\nname = \"registering\"\npath = [{library:?}]\n[instances]\nx = \"test.Registering\"\n[go]\nport = \"x.go\"\n"
    );
    let assembly = scratch.write("registering.toml", text);
    scratch.verb("check", &assembly, &[]).well();
    let output = scratch.verb("run", &assembly, &[]).well();
    assert_eq!(output.matches("released 1").count(), 1, "{output}");
}

/// `tests/fixtures/NAME.f90` as a library.
fn fortran_library(scratch: &Scratch, name: &str) -> PathBuf {
    let include = root().join("framework/abi/include");
    let library = scratch.path(&format!("lib{name}.so"));
    let options = "-std=f2018 -Wall -Wextra -Werror -fPIC -shared";
    let mut compiler = Command::new("gfortran");
    compiler
        .args(options.split(' '))
        .arg("-J")
        .arg(scratch.path("."));
    compiler.arg("-o").arg(&library);
    compiler.args(["cca.f90", "cca_framework.f90"].map(|module| include.join(module)));
    succeeds(compiler.arg(root().join(format!("tests/fixtures/{name}.f90"))));
    library
}

/// A component with groups, a title, a prompt and listeners of its parameters, which sets one itself.
fn has_whole_parameters(scratch: &Scratch, library: &Path) {
    let text = format!(
        "[assembly]\nname = \"parametrised\"\npath = [{library:?}]\n[instances]\nx = \"test.Parametrised\"\n[go]\nport = \"x.go\"\n"
    );
    let assembly = scratch.write("parametrised.toml", text);
    scratch.verb("check", &assembly, &[]).well();
    let set = ["--set", "x.n=40", "--set", "x.m=2", "--set", "x.late=8"];
    let output = scratch.verb("run", &assembly, &set).well();
    assert!(output.contains("2 updates, total 42"), "{output}");
    let described = mastermind(
        &["describe", &library.display().to_string(), "--json"],
        &scratch.path("."),
    );
    let described: serde_json::Value = serde_json::from_str(&described).expect("JSON");
    let parameters = described[0]["parameters"].as_array().expect("parameters");
    let of = |key: &str| {
        let found = parameters.iter().find(|parameter| parameter["key"] == key);
        found.unwrap_or_else(|| panic!("no {key} in {described}"))
    };
    assert_eq!(of("n")["prompt"], "Number of rows");
    assert_eq!(of("n")["title"], "What to add up");
    assert_eq!(
        (&of("m")["group"], &of("total")["group"]),
        (&"sizes".into(), &"results".into())
    );
    assert_eq!(of("late")["default"], "7");
}

#[test]
fn parameters_have_groups_and_listeners_in_each_language() {
    let scratch = Scratch::new();
    if let Some(library) = c_library(&scratch, "parametrised_c", "parametrised", &[]) {
        has_whole_parameters(&scratch, &library);
    }
    if let Some(library) = cpp_library(&scratch, "parametrised_cpp", "parametrised", &[]) {
        has_whole_parameters(&scratch, &library);
    }
    if Command::new("gfortran").arg("--version").output().is_err() {
        skip("gfortran", "it cannot be started");
        return;
    }
    has_whole_parameters(&scratch, &fortran_library(&scratch, "parametrised"));
}

/// Compiles a component in C against headers in a folder.
fn c_component(scratch: &Scratch, name: &str, source: &str) -> PathBuf {
    let source = scratch.write(&format!("{name}.c"), source);
    let library = scratch.path(&format!("lib{name}.so"));
    let mut compiler = Command::new("cc");
    compiler
        .args([
            "-std=c11",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-pedantic",
            "-fPIC",
            "-shared",
            "-I",
        ])
        .arg(root().join("framework/abi/include"))
        .arg("-I")
        .arg(scratch.path("."))
        .arg("-o")
        .arg(&library)
        .arg(source);
    succeeds(&mut compiler);
    library
}

const FLUX: &str = r#"
#include "flux.h"

static int32_t compute(const void *object, hydro_flux_axis axis, hydro_flux_states left, hydro_flux_states right,
                       hydro_flux_states_mut flux, cca_error *error) {
    (void)object;
    if (axis != HYDRO_FLUX_AXIS_X && axis != HYDRO_FLUX_AXIS_Y) return cca_fail(error, "axis unknown, expected 0 or 1");
    if (left.data.length != right.data.length || left.shape.nx == 0) return cca_fail(error, "shapes differ");
    for (size_t i = 0; i < flux.data.length; ++i) flux.data.data[i] = 0.0;
    return cca_fail(error, "seen by C");
}

static const hydro_flux_vtable FLUX = {
    {sizeof FLUX, CCA_TEXT(HYDRO_FLUX_NAME), CCA_TEXT(HYDRO_FLUX_VERSION), HYDRO_FLUX_HASH}, compute};
static const cca_interface INTERFACE = {.name = CCA_TEXT(HYDRO_FLUX_NAME), .version = CCA_TEXT(HYDRO_FLUX_VERSION),
                                        .hash = HYDRO_FLUX_HASH, .vtable_size = sizeof(hydro_flux_vtable)};

static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    const cca_owned_port port = {{object, &FLUX.header}, NULL, &INTERFACE};
    return cca_services_table(services)->add_provides_port(services.object, cca_text_of("flux"), port, error);
}
"#;

/// The end of every component in C.
const END: &str = r#"
static int32_t release_services(const void *object, cca_error *error) {
    (void)object;
    (void)error;
    return CCA_OK;
}
static void destroy(const void *object) { (void)object; }
static const cca_component_vtable COMPONENT = {sizeof COMPONENT, set_services, release_services, destroy};
static int32_t create(cca_component *component, cca_error *error) {
    (void)error;
    component->object = &COMPONENT;
    component->vtable = &COMPONENT;
    return CCA_OK;
}
static const cca_class CLASSES[] = {{CCA_TEXT("test.InC"), CCA_TEXT("1.0"), CCA_TEXT("In C."), create}};
static const cca_library LIBRARY = {CCA_ABI_VERSION, 1, CLASSES, {NULL, 0}};
const cca_library *cca_component_v2(void);
const cca_library *cca_component_v2(void) { return &LIBRARY; }
"#;

#[test]
fn a_header_made_from_rust_is_all_that_c_needs() {
    let scratch = Scratch::new();
    let bin = bin_dir().display().to_string();
    let describe = [
        "describe",
        "hydro.GodunovFlux",
        "--path",
        &bin,
        "--format",
        "c",
    ];
    let header = scratch.mastermind(&describe).well();
    fs::write(scratch.path("flux.h"), &header).expect("a header");
    // As the header that was written by hand.
    let by_hand = root().join("components/hydro-ports/include/hydro.h");
    let by_hand = fs::read_to_string(by_hand).expect("a header");
    let hash = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.contains("HYDRO_FLUX_HASH"))
            .map(String::from);
        line.unwrap_or_else(|| panic!("no hash in {text}"))
    };
    assert_eq!(hash(&header), hash(&by_hand));
    let library = c_component(&scratch, "inc", &format!("{FLUX}{END}"));
    let flux = ("hydro.GodunovFlux\"\nbc", "test.InC\"\nbc");
    let assembly = scratch.example("sod/sod.toml", &[&library], &[flux]);
    scratch.verb("check", &assembly, &[]).well();
    let error = scratch.verb("run", &assembly, &[]).error();
    assert!(error.contains("seen by C"), "{error}");
    // All headers of an application are valid C and C++, including those with methods that C cannot call.
    for class in ["hydro.ShockDriver", "hydro.UniformMesh", "hydro.RK2"] {
        let describe = ["describe", class, "--path", &bin, "--format", "c"];
        let header = scratch.write("all.h", scratch.mastermind(&describe).well());
        for (compiler, language) in [("cc", "c"), ("c++", "c++")] {
            let mut command = Command::new(compiler);
            command.args([
                "-x",
                language,
                "-Wall",
                "-Wextra",
                "-Werror",
                "-fsyntax-only",
                "-I",
            ]);
            command
                .arg(root().join("framework/abi/include"))
                .arg(&header);
            succeeds(&mut command);
        }
    }
}

const SERVICES: &str = r#"
#include <stdio.h>
#include "cca.h"

static cca_port given;
static const cca_text COMM = CCA_TEXT("comm"), GO_PORT = CCA_TEXT("go"), KEY = CCA_TEXT("colour");

static int32_t go(const void *object, cca_error *error) {
    (void)object;
    const cca_services *services = cca_services_table(given);
    const cca_slot *slot;
    int32_t status = services->get_port(given.object, COMM, &slot, error), rank, size;
    if (status != CCA_OK) return status;
    const cca_port target = cca_target(slot);
    const cca_comm_vtable *comm = (const cca_comm_vtable *)(const void *)target.vtable;
    double sum = 1.0;
    cca_text name, key;
    uint64_t serial;
    cca_value value = {.kind = CCA_STRING, .text = CCA_TEXT("dark red")}, none, read;
    const cca_doubles_mut one = {&sum, 1};
    if ((status = comm->rank(target.object, &rank, error)) != CCA_OK) return status;
    if ((status = comm->size(target.object, &size, error)) != CCA_OK) return status;
    if ((status = comm->all_reduce(target.object, CCA_SUM, one, error)) != CCA_OK) return status;
    if ((status = services->component_name(given.object, &name, error)) != CCA_OK) return status;
    if ((status = services->component_serial(given.object, &serial, error)) != CCA_OK) return status;
    if ((status = services->set_port_property(given.object, COMM, KEY, value, error)) != CCA_OK) return status;
    if ((status = services->port_property(given.object, COMM, KEY, &read, error)) != CCA_OK) return status;
    if ((status = services->port_property(given.object, GO_PORT, KEY, &none, error)) != CCA_OK) return status;
    if ((status = services->port_property_key(given.object, COMM, 0, &key, error)) != CCA_OK) return status;
    if (rank == 0) {
        printf("%.*s of %d: sum %g, %.*s = %.*s, %s, %s\n", (int)name.length, name.data, (int)size, sum,
               (int)key.length, key.data, (int)read.text.length, read.text.data, none.kind == CCA_NONE ? "none" : "some",
               serial > 0 ? "numbered" : "not numbered");
        fflush(stdout);
    }
    /* What makes no sense is an error, not a crash. */
    value.kind = 77;
    cca_error unused = {0, ""};
    if (services->set_port_property(given.object, COMM, KEY, value, &unused) == CCA_OK) return cca_fail(error, "kind 77");
    if (services->parameter(given.object, COMM, KEY, &read, &unused) == CCA_OK) return cca_fail(error, "no set");
    if (BAD_REDUCTION) return comm->all_reduce(target.object, 77, one, error);
    return services->release_port(given.object, COMM, error);
}

static const cca_go_vtable GO = {{sizeof GO, CCA_TEXT(CCA_GO_NAME), CCA_TEXT(CCA_GO_VERSION), CCA_GO_HASH}, go};
static const cca_interface GO_INTERFACE = {.name = CCA_TEXT(CCA_GO_NAME), .version = CCA_TEXT(CCA_GO_VERSION),
                                           .hash = CCA_GO_HASH, .vtable_size = sizeof(cca_go_vtable)};
static const cca_interface COMM_INTERFACE = {.name = CCA_TEXT(CCA_COMM_NAME), .version = CCA_TEXT(CCA_COMM_VERSION),
                                             .hash = CCA_COMM_HASH, .vtable_size = sizeof(cca_comm_vtable)};

static int32_t set_services(const void *object, cca_port services, cca_error *error) {
    given = services;
    const cca_owned_port port = {{object, &GO.header}, NULL, &GO_INTERFACE};
    const int32_t status = cca_services_table(services)->register_uses_port(services.object, COMM, &COMM_INTERFACE, error);
    return status == CCA_OK ? cca_services_table(services)->add_provides_port(services.object, GO_PORT, port, error)
                            : status;
}
"#;

/// An assembly of the component alone.
fn alone(scratch: &Scratch, library: &Path) -> PathBuf {
    scratch.write(
        "alone.toml",
        format!(
            "[assembly]\nname = \"alone\"\npath = [{library:?}]\n[instances]\nx = \"test.InC\"\n[go]\nport = \"x.go\"\n"
        ),
    )
}

#[test]
fn c_has_the_communicator_and_the_properties() {
    let scratch = Scratch::new();
    let source = format!("#define BAD_REDUCTION 0\n{SERVICES}{END}");
    let library = c_component(&scratch, "services", &source);
    let assembly = alone(&scratch, &library);
    let shown = scratch.verb("run", &assembly, &[]).well();
    let line =
        |size: usize| format!("x of {size}: sum {size}, colour = dark red, none, numbered\n");
    assert!(shown.contains(&line(1)), "{shown}");
    // An enumeration that C passes a wrong number for.
    let source = format!("#define BAD_REDUCTION 1\n{SERVICES}{END}");
    let library = c_component(&scratch, "wrong", &source);
    let error = scratch.verb("run", &alone(&scratch, &library), &[]).error();
    assert!(
        error.contains("cannot take argument \"reduction\": 77, expected 0 to 2"),
        "{error}"
    );
    for mpi in mpis() {
        let assembly = alone(&scratch, &scratch.path("libservices.so"));
        let ranks = ["--ranks", "2", "--mpi", mpi.kind.name()];
        let shown = scratch.verb("run", &assembly, &ranks).well();
        assert!(shown.contains(&line(2)), "{shown}");
    }
}

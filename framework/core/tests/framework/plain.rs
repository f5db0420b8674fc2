//! `cca_framework.h` and `cca_framework.f90` are of the interfaces in Rust.

use std::path::Path;

use cca_abi::{Interface, InterfaceDescriptor};
use cca_core::{PlainFrameworkPort, PlainListenerPort};
use cca_ports::{ComponentReleasePort, ServiceProviderPort, ServiceRegistryPort};

fn include(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../abi/include");
    std::fs::read_to_string(path.join(name)).unwrap()
}

#[test]
fn the_headers_have_the_hashes_and_functions_of_the_rust_interfaces() {
    let header = include("cca_framework.h");
    let interfaces: [(&str, &str, &InterfaceDescriptor); 5] = [
        (
            "FRAMEWORK",
            "cca_framework",
            <dyn PlainFrameworkPort>::descriptor(),
        ),
        (
            "LISTENER",
            "cca_listener",
            <dyn PlainListenerPort>::descriptor(),
        ),
        (
            "COMPONENT_RELEASE",
            "cca_component_release",
            <dyn ComponentReleasePort>::descriptor(),
        ),
        (
            "SERVICE_PROVIDER",
            "cca_service_provider",
            <dyn ServiceProviderPort>::descriptor(),
        ),
        (
            "SERVICE_REGISTRY",
            "cca_service_registry",
            <dyn ServiceRegistryPort>::descriptor(),
        ),
    ];
    for (name, table, interface) in interfaces {
        let hash = format!(
            "#define CCA_{name}_HASH UINT64_C(0x{:016x})",
            interface.hash
        );
        assert!(
            header.contains(&hash),
            "expected in cca_framework.h: {hash}"
        );
        let (before, _) = header.split_once(&format!("}} {table};")).unwrap();
        let (_, members) = before.rsplit_once("typedef struct {").unwrap();
        let functions = members.lines().filter_map(|line| line.split_once("(*"));
        let functions: Vec<_> = functions
            .filter_map(|(_, rest)| Some(rest.split_once(')')?.0))
            .collect();
        let methods: Vec<_> = interface
            .methods()
            .iter()
            .map(|m| m.name.as_str())
            .collect();
        assert_eq!(functions, methods);
    }
    let module = include("cca_framework.f90");
    let hash = <dyn PlainFrameworkPort>::descriptor().hash;
    assert!(module.contains(&format!("int(z'{hash:016x}', c_int64_t)")));
    let (_, members) = module
        .split_once("type, bind(c) :: framework_table")
        .unwrap();
    let (members, _) = members.split_once("end type").unwrap();
    let functions = members
        .lines()
        .filter_map(|line| line.trim().strip_prefix("type(c_funptr) :: "));
    let methods = <dyn PlainFrameworkPort>::descriptor().methods().iter();
    assert!(functions.eq(methods.map(|method| method.name.as_str())));
}

//! The layers: which crate may use which. The table is section 3 of the design, and any other edge
//! fails. Dev-dependencies are no edges: nothing that is built for others has them.

use std::collections::BTreeSet;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, TargetKind};

/// Each crate of the framework may use those before it.
const FRAMEWORK: [&str; 6] = [
    "cca-abi",
    "cca-port-macro",
    "cca-ports",
    "cca-loader",
    "cca-core",
    "cca-comm",
];

/// The framework crates that a component, a proxy or an interface crate may depend on.
const FOR_COMPONENTS: [&str; 3] = ["cca-abi", "cca-port-macro", "cca-ports"];

/// The crates of `mastermind/` and what each may use, `cca-*` aside.
const MASTERMIND: [(&str, &[&str]); 20] = [
    ("mastermind-records", &[]),
    ("mastermind-export", &["mastermind-records"]),
    (
        "mastermind-history",
        &["mastermind-records", "mastermind-export"],
    ),
    ("mastermind-measurement", &["mastermind-records"]),
    ("mastermind-models", &["mastermind-records"]),
    ("mastermind-composition", &["mastermind-models"]),
    ("mastermind-correction", &["mastermind-models"]),
    ("mastermind-queueing", &[]),
    ("mastermind-recommend", &[]),
    ("mastermind-machine", &[]),
    ("mastermind-serve", &["mastermind-diagrams"]),
    (
        "mastermind-programs",
        &["mastermind-models", "mastermind-queueing"],
    ),
    (
        "mastermind-system",
        &["mastermind-programs", "mastermind-queueing"],
    ),
    (
        "mastermind-simulation",
        &["mastermind-models", "mastermind-programs"],
    ),
    ("mastermind-diagrams", &["mastermind-programs"]),
    (
        "mastermind-replay",
        &["mastermind-models", "mastermind-programs"],
    ),
    (
        "mastermind-component",
        &[
            "mastermind-measurement",
            "mastermind-records",
            "mastermind-models",
            "mastermind-composition",
        ],
    ),
    ("mastermind-preload", &["mastermind-component"]),
    (
        "mastermind-python",
        &[
            "mastermind-export",
            "mastermind-records",
            "mastermind-models",
            "mastermind-composition",
            "mastermind-component",
        ],
    ),
    (
        "mastermind-cli",
        &[
            "mastermind-measurement",
            "mastermind-export",
            "mastermind-history",
            "mastermind-records",
            "mastermind-models",
            "mastermind-composition",
            "mastermind-correction",
            "mastermind-programs",
            "mastermind-queueing",
            "mastermind-recommend",
            "mastermind-machine",
            "mastermind-serve",
            "mastermind-system",
            "mastermind-simulation",
            "mastermind-diagrams",
            "mastermind-replay",
            "mastermind-component",
            "proxy-generate",
            "proxy-reach",
        ],
    ),
];

/// Crates of others that have one home here.
const HOMES: [(&str, &str); 6] = [
    ("abi_stable", "cca-abi"),
    ("anyhow", "mastermind-cli"),
    ("libloading", "cca-loader"),
    ("mpi", "cca-comm-mpi"),
    ("parquet", "mastermind-export"),
    ("pyo3", "mastermind-python"),
];

fn metadata() -> Metadata {
    MetadataCommand::new()
        .manifest_path(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml"))
        .no_deps()
        .exec()
        .expect("cargo metadata")
}

/// The top folder of a package: `framework`, `mastermind`, `components`, …
fn room(metadata: &Metadata, package: &Package) -> String {
    let path = package
        .manifest_path
        .strip_prefix(&metadata.workspace_root)
        .expect("a member");
    path.components().next().expect("a folder").to_string()
}

/// Names of interface crates end so.
fn is_interface(name: &str) -> bool {
    name.ends_with("-ports")
}

/// Whether `user`, in the top folder `room`, may use the workspace's crate `used`.
fn may_use(room: &str, user: &str, used: &str) -> bool {
    match room {
        "framework" => {
            let place = |name| FRAMEWORK.iter().position(|n| *n == name);
            match (place(user), place(used)) {
                (Some(user), Some(used)) => used < user,
                (None, Some(_)) => user == "cca-comm-mpi",
                _ => false,
            }
        }
        "mastermind" => {
            let framework = match user {
                "mastermind-component" | "mastermind-cli" => FRAMEWORK.contains(&used),
                "mastermind-python" => used == "cca-core",
                "mastermind-preload" => matches!(used, "cca-abi" | "cca-loader" | "cca-comm"),
                "mastermind-measurement" | "mastermind-records" => used == "cca-abi",
                _ => false,
            };
            framework
                || MASTERMIND
                    .iter()
                    .any(|(name, uses)| *name == user && uses.contains(&used))
        }
        "components" | "proxies" => FOR_COMPONENTS.contains(&used) || is_interface(used),
        "tests" => true,
        "xtask" => used == "must-reach",
        _ => false,
    }
}

#[test]
fn dependencies_go_one_way() {
    let metadata = metadata();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    let mut wrong = Vec::new();
    for package in &metadata.packages {
        let room = room(&metadata, package);
        for dependency in &package.dependencies {
            let (user, used) = (package.name.as_str(), dependency.name.as_str());
            let is_edge = dependency.kind != DependencyKind::Development && members.contains(used);
            if is_edge && !may_use(&room, user, used) {
                wrong.push(format!("{user} -> {used}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "edges that the layers do not have: {wrong:#?}"
    );
}

#[test]
fn crates_with_one_home_are_used_there_alone() {
    let mut wrong = Vec::new();
    for package in &metadata().packages {
        for dependency in &package.dependencies {
            let home = HOMES.iter().find(|(name, _)| *name == dependency.name);
            let is_edge = dependency.kind != DependencyKind::Development;
            if is_edge && home.is_some_and(|(_, home)| *home != package.name.as_str()) {
                wrong.push(format!("{} -> {}", package.name, dependency.name));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "crates used outside their home: {wrong:#?}"
    );
}

#[test]
fn crates_are_named_after_their_room() {
    let metadata = metadata();
    for package in &metadata.packages {
        let name = package.name.as_str();
        let expected = match room(&metadata, package).as_str() {
            "framework" => name.starts_with("cca-"),
            "mastermind" => name.starts_with("mastermind-"),
            "proxies" => name.starts_with("proxy-"),
            "components" => !name.starts_with("cca-") && !name.starts_with("mastermind-"),
            "tests" => name == "mastermind-tests",
            "xtask" => name == "xtask",
            "benches" => name == "must-reach",
            _ => false,
        };
        assert!(expected, "{name} in {}", package.manifest_path);
    }
}

#[test]
fn all_but_the_mpi_back_end_is_built_by_default() {
    let metadata = metadata();
    let default = metadata.workspace_default_packages();
    let left_out: Vec<&str> = metadata
        .packages
        .iter()
        .filter(|package| !default.iter().any(|d| d.id == package.id))
        .map(|package| package.name.as_str())
        .collect();
    assert_eq!(left_out, ["cca-comm-mpi"]);
}

#[test]
fn a_component_folder_holds_one_dynamic_library() {
    let metadata = metadata();
    for package in metadata
        .packages
        .iter()
        .filter(|p| room(&metadata, p) == "components")
    {
        let is_dynamic = |kinds: &[TargetKind]| kinds.contains(&TargetKind::CDyLib);
        let libraries = package
            .targets
            .iter()
            .filter(|target| is_dynamic(&target.kind))
            .count();
        let expected = if is_interface(&package.name) { 0 } else { 1 };
        assert_eq!(libraries, expected, "dynamic libraries of {}", package.name);
    }
}

#[test]
fn the_table_refuses_what_the_design_does() {
    for (room, user, used) in [
        ("framework", "cca-abi", "cca-ports"),
        ("framework", "cca-core", "cca-comm-mpi"),
        ("framework", "cca-core", "mastermind-records"),
        ("mastermind", "mastermind-models", "cca-abi"),
        (
            "mastermind",
            "mastermind-composition",
            "mastermind-simulation",
        ),
        ("mastermind", "mastermind-simulation", "mastermind-diagrams"),
        ("mastermind", "mastermind-programs", "mastermind-simulation"),
        ("mastermind", "mastermind-diagrams", "mastermind-simulation"),
        ("mastermind", "mastermind-cli", "cca-comm-mpi"),
        ("components", "rk2", "cca-core"),
        ("components", "rk2", "efm-flux"),
        ("proxies", "proxy-mpi", "mastermind-records"),
        ("xtask", "xtask", "cca-comm"),
    ] {
        assert!(!may_use(room, user, used), "{user} -> {used}");
    }
    for (room, user, used) in [
        ("framework", "cca-comm-mpi", "cca-comm"),
        ("framework", "cca-core", "cca-loader"),
        ("components", "rk2", "hydro-ports"),
        ("mastermind", "mastermind-component", "cca-core"),
    ] {
        assert!(may_use(room, user, used), "{user} -> {used}");
    }
}

//! `fit` of a function of MPI uses the median by default, since a call lasts as long as the other rank is late.

use std::fs;
use std::path::Path;

use mastermind_records::MPI_CLASS;
use mastermind_records::definition::MethodDefinition;
use mastermind_tests::{Scratch, root, write_calls};
use serde_json::Value;

/// `MPI_Send` of a ping-pong under Open MPI 4.1.4, two ranks on a busy machine with two processors: in each line the bytes, and how long 15
/// sends of either rank took, nanoseconds. Open MPI sends up to 4096 bytes at once, its own header included.
const PING_PONG: &str = "tests/fixtures/recorded/ping-pong.csv";

/// Writes the calls as `wrap --mpi-events` records them.
fn record(directory: &Path, method: &str) {
    let text = fs::read_to_string(root().join(PING_PONG)).expect("the times");
    let calls = text.lines().flat_map(|line| {
        let mut words = line.split(',').map(|word| word.parse().expect("a number"));
        let bytes: u64 = words.next().expect("the bytes");
        words.map(move |wall| (bytes, wall))
    });
    let method = MethodDefinition {
        instance: MPI_CLASS.into(),
        class: MPI_CLASS.into(),
        port: MPI_CLASS.into(),
        interface: MPI_CLASS.into(),
        method: method.into(),
        ..MethodDefinition::default()
    };
    write_calls(directory, method, "bytes", calls);
}

/// Family and R² of the model, and where its regimes end.
fn fitted(scratch: &Scratch, options: &[&str]) -> (String, f64, Vec<f64>) {
    let arguments = [&["fit", "records", "--json"], options].concat();
    let document: Value =
        serde_json::from_str(&scratch.mastermind(&arguments).well()).expect("JSON");
    let model = &document["models"][0];
    let terms = model["terms"].as_array().into_iter().flatten();
    let ends = terms.filter_map(|term| term["where"]["to"].as_f64());
    let family = model["family"].as_str().expect("a family");
    (
        family.into(),
        model["r2"].as_f64().expect("R²"),
        ends.collect(),
    )
}

#[test]
fn the_regimes_of_a_ping_pong_are_found_by_default() {
    let scratch = Scratch::new();
    record(&scratch.path("records"), "MPI_Send");
    let (family, r2, ends) = fitted(&scratch, &[]);
    assert_eq!(family, "regimes");
    assert!(r2 > 0.9, "{r2}");
    // The largest message that is sent at once lies between the sizes on either side of 4096 bytes.
    let is_eager_limit = |bytes: &f64| (3000.0..6000.0).contains(bytes);
    assert!(ends.iter().any(is_eager_limit), "{ends:?}");
    assert_eq!(
        fitted(&scratch, &["--statistic", "median"]),
        (family, r2, ends)
    );

    // The few calls that waited for the other rank make up most of a mean.
    let (family, r2_of_means, _) = fitted(&scratch, &["--statistic", "mean"]);
    assert_ne!(family, "regimes");
    assert!(r2_of_means < r2, "{r2_of_means}");
}

#[test]
fn a_size_that_did_not_vary_is_no_range_and_none_is_not_reported() {
    let scratch = Scratch::new();
    let of_one_size = |method: &str, parameter: &str, size: u64| {
        let definition = MethodDefinition {
            instance: MPI_CLASS.into(),
            class: MPI_CLASS.into(),
            port: MPI_CLASS.into(),
            interface: MPI_CLASS.into(),
            method: method.into(),
            ..MethodDefinition::default()
        };
        let calls = (1..=5).map(|call| (size, 1000 + call));
        write_calls(&scratch.path(method), definition, parameter, calls);
        scratch.mastermind(&["fit", method]).well()
    };
    let reduced = of_one_size("MPI_Allreduce", "bytes", 8);
    assert!(reduced.contains(" s for bytes 8\n"), "{reduced}");
    let finalized = of_one_size("MPI_Finalize", "ranks", 0);
    assert!(finalized.contains(" s\n"), "{finalized}");
    assert!(!finalized.contains("ranks 0"), "{finalized}");
}

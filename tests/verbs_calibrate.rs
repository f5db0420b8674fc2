//! `mastermind calibrate`: the machine file from the started ranks, and its requirements.

use std::thread::available_parallelism;

use mastermind_tests::{Scratch, mpis, root};
use serde_json::Value;

#[test]
fn two_ranks_measure_a_machine_that_simulate_takes() {
    let scratch = Scratch::new();
    let model = root()
        .join("examples/sweep3d/sweep3d.toml")
        .display()
        .to_string();
    for mpi in mpis() {
        let name = mpi.kind.name();
        let calibrate = [
            "calibrate",
            "-o",
            "m.toml",
            "--force",
            "--mpi",
            name,
            "--rounds",
            "2",
            "--json",
        ];
        let report = scratch.mastermind(&calibrate).well();
        let report: Value = serde_json::from_str(&report).expect("one JSON document");
        assert_eq!(
            (&report["mpi"], &report["file"]),
            (&name.into(), &"m.toml".into())
        );
        let processors = available_parallelism().map_or(1, usize::from);
        assert_eq!(report["processors"], processors);
        let links = report["links"].as_array().expect("links");
        assert_eq!(links.len(), 1, "{links:?}");
        // Between 1 ns and 1 s for a message, and a time for its bytes: anything else is no measurement.
        for (key, most) in [
            ("latency_ns", 1e9),
            ("send_overhead_ns", 1e9),
            ("gap_ns", 1e9),
        ] {
            let value = links[0][key].as_f64().expect("a number");
            assert!((1.0..most).contains(&value), "{key}: {value}");
        }
        let threshold = links[0]["rendezvous_bytes"].as_f64().expect("a number");
        assert!((8.0..=4_194_304.0).contains(&threshold), "{threshold}");
        let rendezvous = links[0]["rendezvous"]
            .as_str()
            .expect("who moves the bytes");
        assert!(["sent", "fetched"].contains(&rendezvous), "{rendezvous}");
        let waiting = report["waiting"]
            .as_str()
            .expect("what a rank does that waits");
        assert!(["blocks", "yields", "spins"].contains(&waiting));
        let file = scratch.read("m.toml");
        assert!(file.contains("Not measured: links between nodes"), "{file}");
        assert!(file.contains(&format!("library = \"{name}\"")), "{file}");
        let simulate = [
            "simulate",
            &model,
            "--machine",
            "m.toml",
            "--ranks",
            "20",
            "--json",
        ];
        let simulated = scratch.mastermind(&simulate).well();
        let simulated: Value = serde_json::from_str(&simulated).expect("one JSON document");
        // 8 octants of 20 blocks of 1 ms, on so many processors at most.
        let least = 20.0 * 160e6 / processors as f64;
        assert!(
            simulated["makespan_ns"].as_f64() >= Some(least),
            "{simulated}"
        );
    }
}

#[test]
fn one_rank_measures_nothing() {
    let scratch = Scratch::new();
    let ended = scratch.mastermind(&["calibrate", "--ranks", "1"]);
    assert_eq!(ended.code, Some(2));
    for mpi in mpis() {
        let mut command = mpi.launch(1);
        command.arg(mastermind_tests::bin_dir().join("mastermind"));
        let ended = scratch.run(command.args(["calibrate", "-o", "m.toml"]));
        assert_ne!(ended.code, Some(0));
        let expected =
            "cannot calibrate with 1 rank: messages need a receiver, expected at least 2 ranks";
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
        assert!(!scratch.path("m.toml").exists());
    }
    if mpis().is_empty() {
        let ended = scratch.mastermind(&["calibrate", "-o", "m.toml"]);
        assert_eq!(ended.code, Some(1));
        let expected = "expected an MPI with its back end; run mastermind doctor";
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

//! A store keeps runs whole, even after crashes and damage.

use std::fs;

use mastermind_history::{Cell, HistoryError, RunSums, Store};
use proptest::prelude::*;

fn run(program: &str, started: u64, cells: Vec<Cell>) -> RunSums {
    let mut run = RunSums {
        cells,
        ..RunSums::default()
    };
    run.circumstances.program = program.into();
    run.circumstances.machine = "host/../x, 8".into();
    run.circumstances.started_unix_ns = started;
    run.circumstances.commit = Some("abc".into());
    run
}

fn cell(method: &str, calls: u64, ns: f64) -> Cell {
    Cell {
        method: method.into(),
        class: "C".into(),
        parameters: "{\"n\":1}".into(),
        bits: -1,
        means: "{\"n\":1}".into(),
        calls,
        failed: 0,
        total_ns: ns * calls as f64,
        mean_log: 1.0,
        deviation_log: 0.1,
        quantiles_ns: [ns; 5],
        segments_ns: [ns, ns + 1.0, ns + 2.0],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn a_run_is_read_as_it_was_added(
        program in "\\PC*",
        cells in proptest::collection::vec(("\\PC*", 0..u64::MAX / 2, 1.0..1e12), 0..20),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(&folder.path().join("new/store"));
        let cells = cells.iter().map(|(method, calls, ns)| cell(method, *calls, *ns)).collect();
        let run = run(&program, 17, cells);
        let added = store.add(&run).unwrap();
        prop_assert!(added.is_new);
        prop_assert!(!store.add(&run).unwrap().is_new);
        let (runs, unread) = store.read(|_| true).unwrap();
        prop_assert!(unread.is_empty(), "{unread:?}");
        prop_assert_eq!(runs.len(), 1);
        prop_assert_eq!(&runs[0].sums, &run);
        prop_assert_eq!(&runs[0].id, &added.id);
    }

    #[test]
    fn a_damaged_run_is_left_out(place in 0.0..1.0, byte in 1..=255_u8, is_cut: bool) {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.add(&run("p", 1, vec![cell("a.b", 3, 100.0); 5])).unwrap();
        let added = store.add(&run("p", 2, vec![cell("a.b", 3, 100.0)])).unwrap();
        let mut bytes = fs::read(&added.path).unwrap();
        let place = (place * bytes.len() as f64) as usize;
        match is_cut {
            true => bytes.truncate(place),
            false => bytes[place] ^= byte,
        }
        fs::write(&added.path, bytes).unwrap();
        let (runs, unread) = store.read(|_| true).unwrap();
        prop_assert!(!runs.is_empty());
        prop_assert!(!is_cut || (runs.len() == 1 && unread.len() == 1));
    }
}

#[test]
fn concurrent_writers_leave_whole_runs() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    std::thread::scope(|scope| {
        for writer in 0..4_u64 {
            let store = &store;
            scope.spawn(move || {
                for n in 0..10 {
                    // Each run is added by two.
                    store
                        .add(&run("p", n + 10 * (writer / 2), vec![cell("m", n, 5.0)]))
                        .unwrap();
                    store.read(|_| true).unwrap();
                }
            });
        }
    });
    let (runs, unread) = store.read(|_| true).unwrap();
    assert_eq!((runs.len(), unread.len()), (20, 0));
    let left = fs::read_dir(runs[0].path.parent().unwrap())
        .unwrap()
        .count();
    assert_eq!(left, 1, "nothing unfinished");
}

#[test]
fn a_run_of_another_version_is_left_out_and_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(folder.path());
    let added = store.add(&run("p", 1, vec![])).unwrap();
    let mut table = mastermind_export::PlainTable::read(&added.path).unwrap();
    for (key, value) in &mut table.metadata {
        if key == "mastermind.history" {
            *value = "99".into();
        }
    }
    table
        .write(&added.path, fs::File::create(&added.path).unwrap())
        .unwrap();
    let (runs, unread) = store.read(|_| true).unwrap();
    assert!(runs.is_empty());
    let error = unread[0].to_string();
    assert!(
        error.contains("version \"99\" of the schema, expected at most 1"),
        "{error}"
    );
}

#[test]
fn a_dropped_run_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::new(&folder.path().join("store"));
    store.add(&run("p", 1, vec![])).unwrap();
    store.add(&run("q", 2, vec![])).unwrap();
    let (runs, _) = store.read(|_| true).unwrap();
    let found = store.find(&runs, &runs[1].id).unwrap();
    store.drop_run(found).unwrap();
    let error = store.find(&runs, "1999").unwrap_err();
    assert!(matches!(error, HistoryError::NoSuchRun { .. }), "{error}");
    let (left, _) = store.read(|_| true).unwrap();
    assert_eq!(left.len(), 1);
    assert_eq!(fs::read_dir(store.path()).unwrap().count(), 1);
}

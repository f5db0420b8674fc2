//! The times of every call path of the case study fit together: inclusive is exclusive plus children, wall is at least
//! the time in MPI.

use std::collections::BTreeMap;

use mastermind_records::{ExclusiveTimes, Log, Run};
use mastermind_tests::{Scratch, mpis};

/// Sums over the calls of a path, nanoseconds.
#[derive(Default)]
struct Path {
    parent: u32,
    calls: u64,
    inclusive_ns: u64,
    exclusive_ns: u64,
    mpi_ns: u64,
}

/// A call, and what was seen of its children.
#[derive(Default)]
struct Family {
    children_wall_ns: u64,
    children_mpi_ns: u64,
    first_start_ns: Option<u64>,
}

/// Checks each record against its children, and each call path against those below it.
fn check(log: &Log, has_mpi: bool) -> u64 {
    let mut paths = BTreeMap::<u32, Path>::new();
    let mut families = BTreeMap::<u64, Family>::new();
    let mut records = ExclusiveTimes::new(log);
    let mut n_records = 0;
    while let Some((record, own)) = records.next_record() {
        n_records += 1;
        let mpi_ns = record.mpi_ns.unwrap_or(0);
        assert_eq!(record.mpi_ns.is_some(), has_mpi, "{record:?}");
        assert!(record.wall_ns > 0 && mpi_ns <= record.wall_ns, "{record:?}");
        let family = families.remove(&record.seq).unwrap_or_default();
        assert!(family.children_wall_ns <= record.wall_ns, "{record:?}");
        assert!(family.children_mpi_ns <= mpi_ns, "{record:?}");
        let first = family.first_start_ns.unwrap_or(record.start_ns);
        assert!(record.start_ns <= first, "{record:?}");
        if let Some(parent) = record.parent_seq {
            let parent = families.entry(parent).or_default();
            parent.children_wall_ns += record.wall_ns;
            parent.children_mpi_ns += mpi_ns;
            parent.first_start_ns.get_or_insert(record.start_ns);
        }
        let path = paths.entry(record.call_path).or_default();
        let definition = log.definitions().call_path(record.call_path);
        path.parent = definition.expect("a definition").parent;
        path.calls += 1;
        path.inclusive_ns += record.wall_ns;
        path.exclusive_ns += own.wall_ns;
        path.mpi_ns += mpi_ns;
    }
    assert!(families.is_empty(), "children of calls that never ended");
    for (id, path) in &paths {
        let children = paths.values().filter(|child| child.parent == *id);
        let (below_ns, below_mpi_ns) = children.fold((0, 0), |(wall, mpi), child| {
            (wall + child.inclusive_ns, mpi + child.mpi_ns)
        });
        let name = log.definitions().call_path_name(*id);
        assert_eq!(path.inclusive_ns, path.exclusive_ns + below_ns, "{name}");
        assert!(below_mpi_ns <= path.mpi_ns, "{name}");
        assert!(path.parent == 0 || paths[&path.parent].calls > 0, "{name}");
    }
    n_records
}

fn check_run(scratch: &Scratch, records: &str, ranks: usize) {
    let run = Run::open(&scratch.path(records)).expect("records");
    assert!(run.is_finished() && run.damage().count() == 0);
    assert_eq!(run.ranks().len(), ranks);
    let checked: u64 = run.logs().iter().map(|log| check(log, ranks > 1)).sum();
    assert_eq!(checked, run.n_records());
    assert!(checked > 1000, "{checked} records");
    let mpi_ns = |log: &Log| -> u64 { log.records().filter_map(|record| record.mpi_ns).sum() };
    let with_mpi = run.logs().iter().filter(|log| mpi_ns(log) > 0).count();
    assert_eq!(with_mpi, if ranks > 1 { ranks } else { 0 });
}

#[test]
fn inclusive_is_exclusive_plus_children_and_wall_is_at_least_mpi() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 11");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    scratch
        .verb("run", &assembly, &["--records", "alone"])
        .well();
    check_run(&scratch, "alone", 1);
    for mpi in mpis() {
        let name = mpi.kind.name();
        let arguments = ["--ranks", "3", "--mpi", name, "--records", name];
        scratch.verb("run", &assembly, &arguments).well();
        check_run(&scratch, name, 3);
    }
}

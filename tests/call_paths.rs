//! The times of every call path of the case study are consistent: inclusive is exclusive plus children, and wall is at
//! least the time in MPI. This holds for any clock, even one so coarse that most calls lie within one step of it.

use std::collections::BTreeMap;

use mastermind_records::{ExclusiveTimes, Log, Run};
use mastermind_tests::{Scratch, mpis};
use serde_json::Value;

/// Sums over the calls of a path, nanoseconds.
#[derive(Default)]
struct Path {
    parent: u32,
    calls: u64,
    inclusive_ns: u64,
    exclusive_ns: u64,
    mpi_ticks: u64,
}

/// A call, with sums over its children.
#[derive(Default)]
struct Family {
    children_wall_ns: u64,
    children_mpi_ticks: u64,
    first_start_ns: Option<u64>,
}

/// Checks each record against its children, and each call path against those below it. Times in MPI are checked as
/// recorded, in clock ticks.
///
/// # Returns
/// The number of records, and the number of records of 0 ticks.
fn check(log: &Log, has_mpi: bool) -> [u64; 2] {
    let mut paths = BTreeMap::<u32, Path>::new();
    let mut families = BTreeMap::<u64, Family>::new();
    let mut records = ExclusiveTimes::new(log);
    let (mut n_records, mut n_within_step) = (0, 0);
    while let Some((record, own)) = records.next_record() {
        n_records += 1;
        n_within_step += u64::from(record.wall_ticks == 0);
        let mpi_ticks = record.mpi_ticks.unwrap_or(0);
        assert_eq!(record.mpi_ns.is_some(), has_mpi, "{record:?}");
        assert!(mpi_ticks <= record.wall_ticks, "{record:?}");
        assert!(record.mpi_ns <= Some(record.wall_ns), "{record:?}");
        let family = families.remove(&record.seq).unwrap_or_default();
        assert!(family.children_wall_ns <= record.wall_ns, "{record:?}");
        assert!(family.children_mpi_ticks <= mpi_ticks, "{record:?}");
        let first = family.first_start_ns.unwrap_or(record.start_ns);
        assert!(record.start_ns <= first, "{record:?}");
        if let Some(parent) = record.parent_seq {
            let parent = families.entry(parent).or_default();
            parent.children_wall_ns += record.wall_ns;
            parent.children_mpi_ticks += mpi_ticks;
            parent.first_start_ns.get_or_insert(record.start_ns);
        }
        let path = paths.entry(record.call_path).or_default();
        let definition = log.definitions().call_path(record.call_path);
        path.parent = definition.expect("a definition").parent;
        path.calls += 1;
        path.inclusive_ns += record.wall_ns;
        path.exclusive_ns += own.wall_ns;
        path.mpi_ticks += mpi_ticks;
    }
    assert!(families.is_empty(), "children of calls that never ended");
    for (id, path) in &paths {
        let children = paths.values().filter(|child| child.parent == *id);
        let (below_ns, below_mpi_ticks) = children.fold((0, 0), |(wall, mpi), child| {
            (wall + child.inclusive_ns, mpi + child.mpi_ticks)
        });
        let name = log.definitions().call_path_name(*id);
        assert_eq!(path.inclusive_ns, path.exclusive_ns + below_ns, "{name}");
        assert!(below_mpi_ticks <= path.mpi_ticks, "{name}");
        assert!(path.parent == 0 || paths[&path.parent].calls > 0, "{name}");
    }
    [n_records, n_within_step]
}

/// # Returns
/// The number of calls that took no tick.
fn check_run(scratch: &Scratch, records: &str, ranks: usize) -> u64 {
    let run = Run::open(&scratch.path(records)).expect("records");
    assert!(run.is_finished() && run.damage().count() == 0);
    assert_eq!(run.ranks().len(), ranks);
    let checked = run.logs().iter().map(|log| check(log, ranks > 1));
    let [checked, n_within_step] = checked.fold([0; 2], |[a, b], [c, d]| [a + c, b + d]);
    assert_eq!(checked, run.n_records());
    assert!(checked > 1000, "{checked} records");
    let mpi_ns = |log: &Log| -> u64 { log.records().filter_map(|record| record.mpi_ns).sum() };
    let with_mpi = run.logs().iter().filter(|log| mpi_ns(log) > 0).count();
    assert_eq!(with_mpi, if ranks > 1 { ranks } else { 0 });
    assert!(run.clock_step_ns().is_some_and(|ns| ns > 0.0));
    n_within_step
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

/// The profile of a run: its wall time, and the own times of its call paths.
fn profile(scratch: &Scratch, records: &str) -> Value {
    let printed = scratch.mastermind(&["profile", records, "--json"]).well();
    serde_json::from_str(&printed).expect("JSON")
}

#[test]
fn a_coarse_clock_gives_the_same_sums() {
    let scratch = Scratch::new();
    let edit = ("cfl = 0.4", "cfl = 0.4\nmax_steps = 11");
    let assembly = scratch.example("shock/shock.toml", &[], &[edit]);
    let mut runs = vec![(String::from("alone"), 1)];
    runs.extend(mpis().iter().map(|mpi| (mpi.kind.name().to_string(), 3)));
    for (name, ranks) in runs {
        let count = ranks.to_string();
        let arguments = ["--records", &name, "--clock", "coarse-1us"];
        let launch = ["--ranks", &count, "--mpi", &name];
        let launch = if ranks > 1 { &launch[..] } else { &[] };
        let run = [&arguments[..], launch].concat();
        scratch.verb("run", &assembly, &run).well();
        let n_within_step = check_run(&scratch, &name, ranks);
        assert!(n_within_step > 0, "no call was as short as a step");
        let table = profile(&scratch, &name);
        assert_eq!(table["clock_step_ns"], 1000.0, "{table}");
        let info = scratch.mastermind(&["info", &name, "--json"]).well();
        let info: Value = serde_json::from_str(&info).expect("JSON");
        assert_eq!(info["clocks"][0]["name"], "coarse-1us", "{info}");
        assert_eq!(info["clocks"][0]["step_ns"], 1000.0, "{info}");
        assert_eq!(info["ranks"], ranks, "{info}");
        let models = format!("{name}.json");
        scratch.mastermind(&["fit", &name, "-o", &models]).well();
    }
}

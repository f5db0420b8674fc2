//! What happened when, from an overview of a run and from its logs.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;

use crate::common::{Call, Expected, Written, calls, method, write};
use mastermind_records::{LogIdentity, OVERVIEW_FILE, Overview, PackOptions, RowSlices, Run, pack};
use proptest::prelude::*;

/// The method of the innermost call at each nanosecond.
fn innermost(records: &[Expected]) -> Vec<Option<u32>> {
    let end = records.iter().map(|one| one.start_ns + one.wall_ns).max();
    let mut owners = vec![None; end.unwrap_or(0) as usize];
    let mut by_entry: Vec<_> = records.iter().collect();
    by_entry.sort_by_key(|one| one.seq);
    for one in by_entry {
        let span = one.start_ns as usize..(one.start_ns + one.wall_ns) as usize;
        owners[span].fill(Some(one.method));
    }
    owners
}

/// The same from slices.
fn painted(row: &RowSlices, names: &[String], window: &Range<u64>) -> Vec<Option<u32>> {
    let mut owners = vec![None; (window.end - window.start) as usize];
    let mut last_ns = window.start;
    for slice in &row.slices {
        assert!(last_ns <= slice.begin_ns && slice.begin_ns < slice.end_ns);
        last_ns = slice.end_ns;
        let id = (1..=5).find(|id| method(*id).name() == names[slice.method as usize]);
        let span = (slice.begin_ns - window.start) as usize..(slice.end_ns - window.start) as usize;
        owners[span].fill(id);
    }
    owners
}

/// Nanoseconds of each method in a view.
fn sums(overview: &Overview, n_columns: usize) -> BTreeMap<String, f64> {
    let view = overview.view(0..overview.span_ns(), n_columns, 10);
    assert!(view.n_columns <= n_columns);
    let mut sums = BTreeMap::new();
    for part in view.rows.iter().flat_map(|row| &row.parts) {
        let end = (u64::from(part.column) + 1) * view.column_ns;
        let width = view.column_ns - end.saturating_sub(view.window_ns.end);
        let name = view.names[part.method as usize].clone();
        *sums.entry(name).or_default() += f64::from(part.share) * width as f64;
    }
    sums
}

fn write_first(directory: &Path, calls: &[Call]) -> Written {
    write(directory, calls, None, LogIdentity { rank: 0, thread: 0 })
}

fn check(directory: &Path, records: &[Expected], windows: &[(u64, u64)]) {
    let run = Run::open(directory).unwrap();
    let overview = Overview::of(&run);
    let owners = innermost(records);
    assert_eq!(overview.span_ns(), owners.len().max(1) as u64);
    let mut expected: BTreeMap<String, f64> = BTreeMap::new();
    for owner in owners.iter().flatten() {
        *expected.entry(method(*owner).name()).or_default() += 1.0;
    }
    for n_columns in [1, 7, 10_000] {
        let found = sums(&overview, n_columns);
        assert!(found.keys().eq(expected.keys()));
        for (name, ns) in &found {
            assert!((ns - expected[name]).abs() <= 1e-4 * ns, "{name} {ns}");
        }
    }
    let names = overview.names().to_vec();
    for (begin, length) in windows {
        let begin = begin % owners.len().max(1) as u64;
        let window = begin..(begin + 1 + length).min(owners.len() as u64);
        let rows = overview
            .calls(directory, &window, u64::MAX)
            .unwrap()
            .unwrap();
        let expected = &owners[window.start as usize..window.end as usize];
        assert_eq!(painted(&rows[0], &names, &window), expected);
        let view = overview.view_of_calls(&rows, window.clone(), 13, 10);
        assert!(view.n_columns <= 13);
        let mut shares: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        for (ns, owner) in expected.iter().enumerate() {
            let column = ns as u64 / view.column_ns;
            let end = ((column + 1) * view.column_ns).min(expected.len() as u64);
            let width = (end - column * view.column_ns) as f64;
            if let Some(id) = owner {
                *shares.entry((column as usize, *id)).or_default() += 1.0 / width;
            }
        }
        let id = |name: &str| (1..=5).find(|id| method(*id).name() == name).unwrap();
        let parts = view.rows[0].parts.iter();
        let found: BTreeMap<_, _> = parts
            .map(|part| {
                (
                    (part.column as usize, id(&names[part.method as usize])),
                    part.share,
                )
            })
            .collect();
        assert!(found.keys().eq(shares.keys()));
        for (key, share) in shares {
            assert!((f64::from(found[&key]) - share).abs() < 1e-5);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Both are those of the innermost calls, from loose and from packed logs.
    #[test]
    fn each_moment_belongs_to_the_innermost_call(
        forest in calls(),
        windows in prop::collection::vec((any::<u64>(), 0..5000_u64), 1..5),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let written = write_first(folder.path(), &forest);
        prop_assume!(!written.expected.is_empty());
        check(folder.path(), &written.expected, &windows);
        pack(folder.path(), &PackOptions::default()).unwrap();
        check(folder.path(), &written.expected, &windows);
    }
}

/// Calls of many lengths, two levels deep.
fn forest() -> Vec<Call> {
    let call = |method, length, children| Call {
        method,
        values: [length; 5],
        mpi: None,
        failed: false,
        children,
    };
    let inner = |n: u64| (0..n).map(|i| call(2 + (i % 2) as u32, i * 7 % 90, Vec::new()));
    (0..40).map(|n| call(1, n, inner(n).collect())).collect()
}

#[test]
fn the_file_is_the_overview_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    write_first(folder.path(), &forest());
    let overview = Overview::of(&Run::open(folder.path()).unwrap());
    let path = overview.keep(folder.path()).unwrap();
    assert_eq!(path.file_name().unwrap(), OVERVIEW_FILE);
    assert_eq!(Overview::kept(folder.path()).as_ref(), Some(&overview));
    let window = 100..900;
    let calls = |overview: &Overview| overview.calls(folder.path(), &window, 1000).unwrap();
    let of_kept = calls(&Overview::kept(folder.path()).unwrap());
    assert!(of_kept.is_some() && of_kept == calls(&overview));
    assert_eq!(overview.calls(folder.path(), &window, 3).unwrap(), None);
    let bytes = fs::read(&path).unwrap();
    for place in (0..bytes.len()).step_by(bytes.len() / 97) {
        let mut damaged = bytes.clone();
        damaged[place] ^= 4;
        fs::write(&path, &damaged).unwrap();
        assert_eq!(Overview::kept(folder.path()), None, "byte {place}");
        fs::write(&path, &bytes[..place]).unwrap();
        assert_eq!(Overview::kept(folder.path()), None, "{place} bytes");
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(Overview::kept(folder.path()).as_ref(), Some(&overview));
    // Of other logs.
    let identity = LogIdentity { rank: 1, thread: 0 };
    write(folder.path(), &forest(), None, identity);
    assert_eq!(Overview::kept(folder.path()), None);
}

#[test]
fn many_ranks_share_rows() {
    let folder = tempfile::tempdir().unwrap();
    let n_ranks = 700;
    for rank in 0..n_ranks {
        let identity = LogIdentity { rank, thread: 0 };
        write(folder.path(), &forest()[..2], None, identity);
    }
    let run = Run::open(folder.path()).unwrap();
    let overview = Overview::of(&run);
    let view = overview.view(0..overview.span_ns(), 10, 1000);
    let names: Vec<String> = view.rows.iter().map(|row| row.name.to_string()).collect();
    assert_eq!(
        (names.len(), &*names[0], &*names[349]),
        (350, "0-1", "698-699")
    );
    let few = overview.view(0..overview.span_ns(), 10, 7);
    assert_eq!(
        (few.rows.len(), &*few.rows[6].name.to_string()),
        (7, "600-699")
    );
    // The shares of equal ranks are those of each of them.
    assert_eq!(few.rows[0].parts, view.rows[0].parts);
    assert_eq!(
        overview.calls(folder.path(), &(0..10), 1_000_000).unwrap(),
        None
    );
}

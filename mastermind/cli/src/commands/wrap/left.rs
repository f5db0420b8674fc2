//! Calls of proxied functions that never ended, though the program did: a jump (`longjmp`) went past them, or their thread or process
//! ended meanwhile. No code of the proxy runs then, so the call has no record, and what its thread calls next counts as called from it.

use std::collections::{BTreeSet, HashMap};

use mastermind_records::{Log, Run};

use super::round_about::Interface;

/// A line for each function some call of which never ended.
pub(super) fn lines(run: &Run, interfaces: &[Interface]) -> Vec<String> {
    let left: BTreeSet<_> = run
        .logs()
        .iter()
        .flat_map(|log| left(log, interfaces))
        .collect();
    let line = |function: String| {
        format!(
            "{function}: a call was left under way, by a jump (longjmp) or by the end of its thread or process: it has no record, \
             and calls after it count as made from it"
        )
    };
    left.into_iter().map(line).collect()
}

/// A call ends after those that were made from it: where the last of these has a record and itself has none after it, it was left.
fn left(log: &Log, interfaces: &[Interface]) -> BTreeSet<String> {
    // Of a killed program, and where calls have no record, this tells nothing.
    if !log.is_finished() || log.dropped() > 0 {
        return BTreeSet::new();
    }
    let mut ends = HashMap::<u32, u64>::new();
    for record in log.records() {
        let end = ends.entry(record.call_path).or_default();
        *end = (*end).max(record.start_ticks + record.wall_ticks);
    }
    let definitions = log.definitions();
    let caller = |(path, end): (&u32, &u64)| {
        let caller = definitions.call_path(*path)?.parent;
        let method = definitions.method_of(caller)?;
        let is_proxied = interfaces
            .iter()
            .any(|interface| interface.name == method.interface);
        let has_ended = ends.get(&caller).is_some_and(|last| last >= end);
        (is_proxied && !has_ended).then(|| method.name())
    };
    ends.iter().filter_map(caller).collect()
}

//! Calls of proxied functions that never ended, although the program did: a jump (`longjmp`) left them, or their thread
//! or process ended in the meantime. No code of the proxy runs then, so the call has no record. The thread's next call
//! reveals it and is noted in the log; if there is none, the call is open in a log that has ended.

use std::collections::BTreeSet;

use mastermind_records::{Log, Run};

use super::round_about::Interface;

/// A line for each function with calls that never ended, and for the other calls without a record in the logs.
pub(super) fn lines(run: &Run, interfaces: &[Interface]) -> Vec<String> {
    let logs = || run.logs().iter();
    let left: BTreeSet<_> = logs().flat_map(|log| left(log, interfaces)).collect();
    let line = |function: String| {
        format!(
            "{function}: a call was left under way, by a jump (longjmp) or by the end of its thread or process: it has no record"
        )
    };
    let losses = logs().filter(|log| log.dropped() > 0);
    let losses = losses.flat_map(|log| &log.definitions().losses);
    let losses: BTreeSet<_> = losses.map(|loss| loss.reason.clone()).collect();
    left.into_iter().map(line).chain(losses).collect()
}

/// The functions whose calls are open in a log that has ended.
fn left(log: &Log, interfaces: &[Interface]) -> BTreeSet<String> {
    let definitions = log.definitions();
    let open = log.open_calls().iter().filter(|_| log.is_finished());
    let methods = open.filter_map(|call| definitions.method_of(call.call_path));
    let is_proxied = |interface: &str| interfaces.iter().any(|known| known.name == interface);
    let proxied = methods.filter(|method| is_proxied(&method.interface));
    proxied.map(|method| method.name()).collect()
}

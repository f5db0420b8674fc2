//! A recorded call of MPI, and the action of its function.
//!
//! A replay must know, for every function of MPI, whether it moves data, waits, does both later (a
//! request), or only asks. `action` is that table, by name; a function that it does not know as
//! communication counts as computation, and functions that communicate in a form that a schedule
//! cannot express are `Unknown` and become a note.
//!
//! [`RecordedCall`] is one record; `Progress` turns the times between the calls of a thread into
//! computation:
//!
//! ```text
//! thread      | Send |~~~~~~| Iprobe, nothing |~| Iprobe |~~~~| Recv |
//! counts as          5 ms              waiting            2 ms
//!                    work     up to 1 µs between polls    work
//! ```
//!
//! With recorded processor time a gap counts as long as the thread ran; without it, as long as the
//! gap lasts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use super::{POLL_GAP_NS, RecordedRank};
use mastermind_programs::CollectiveKind;

/// A recorded call of MPI; of the parts of a call that have records of their own, a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// Name in C, or the name of a part of a call (`MPI_Start_send`).
    pub function: Arc<str>,
    /// When it began, nanoseconds.
    pub start_ns: u64,
    /// When it ended, nanoseconds.
    pub end_ns: u64,
    /// Processor time of its thread since its previous call, nanoseconds; `None` if it was not recorded.
    pub cpu_before_ns: Option<u64>,
    /// Bytes that it moved.
    pub bytes: u64,
    /// The other rank, or the root, in the communicator; `None` for none.
    pub peer: Option<u32>,
    /// The same in `MPI_COMM_WORLD`.
    pub world_peer: Option<u32>,
    /// Number of the communicator in its rank.
    pub communicator: Option<i64>,
    /// Tag; `None` for any, and without a tag.
    pub tag: Option<u32>,
    /// The first of the consecutive requests that it began or completed.
    pub request: Option<u64>,
    /// How many these are.
    pub requests: u64,
}

/// The action of a function of MPI, as far as it matters to a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    /// Starts MPI, or ends it.
    StartOrEnd,
    /// Sends a message, and waits for its end or not.
    Send { waits: bool },
    /// Receives one.
    Receive { waits: bool },
    /// Sends a message and receives one, which is a record of its own.
    Exchange,
    /// That one.
    Exchanged,
    /// Completes requests other than those in its parts.
    Completes,
    /// One of them.
    Completed,
    /// Takes time until a message is there that another call receives.
    Probe,
    /// A collective.
    Collective { kind: CollectiveKind, waits: bool },
    /// Nothing that takes the time of others.
    Local,
    /// Communicates in a form that a schedule cannot express.
    Unknown,
}

/// Whether records of a function contain information that a replay needs, or lacks.
pub fn is_communication(function: &str) -> bool {
    action(function) != Action::Local
}

/// Action of a function, by its name in C; the form with large counts has the same.
pub(super) fn action(function: &str) -> Action {
    let name = function.strip_prefix("MPI_").unwrap_or(function);
    let name = name.strip_suffix("_c").unwrap_or(name);
    match name {
        "Init" | "Init_thread" | "Finalize" => Action::StartOrEnd,
        "Send" | "Ssend" | "Rsend" => Action::Send { waits: true },
        // A buffered send returns when its data are copied.
        "Bsend" | "Isend" | "Issend" | "Irsend" | "Ibsend" | "Start_send" => {
            Action::Send { waits: false }
        }
        "Recv" | "Mrecv" => Action::Receive { waits: true },
        "Irecv" | "Imrecv" | "Start_recv" => Action::Receive { waits: false },
        "Sendrecv" | "Sendrecv_replace" => Action::Exchange,
        "Sendrecv_recv" => Action::Exchanged,
        "Wait" | "Waitall" | "Waitany" | "Waitsome" | "Test" | "Testall" | "Testany"
        | "Testsome" => Action::Completes,
        "Completed" => Action::Completed,
        "Probe" | "Mprobe" | "Iprobe" | "Improbe" => Action::Probe,
        _ => collective(name).unwrap_or_else(|| other(name)),
    }
}

/// Whether a call ends MPI.
pub(super) fn ends(call: &RecordedCall) -> bool {
    &*call.function == "MPI_Finalize"
}

/// Functions that make communicators are barriers, since none returns before all have come.
fn collective(name: &str) -> Option<Action> {
    let (name, waits) = match name.strip_prefix('I') {
        // `Ibcast`; other names with an I, such as `Info_create`, match no kind below.
        Some(rest) if rest.starts_with(char::is_lowercase) => (rest, false),
        _ => (name, true),
    };
    let kind = match name.to_lowercase().as_str() {
        "barrier" => CollectiveKind::Barrier,
        "bcast" => CollectiveKind::Broadcast,
        "reduce" => CollectiveKind::Reduce,
        "allreduce" => CollectiveKind::AllReduce,
        "alltoall" | "alltoallv" => CollectiveKind::AllToAll,
        "gather" | "gatherv" => CollectiveKind::Gather,
        "scatter" | "scatterv" => CollectiveKind::Scatter,
        "allgather" | "allgatherv" => CollectiveKind::AllGather,
        "reduce_scatter" | "reduce_scatter_block" => CollectiveKind::ReduceScatter,
        "scan" | "exscan" => CollectiveKind::Scan,
        "comm_dup" | "comm_dup_with_info" | "comm_create" | "comm_split" | "comm_split_type"
        | "cart_create" => CollectiveKind::Barrier,
        _ => return None,
    };
    Some(Action::Collective { kind, waits })
}

/// Functions with these prefixes communicate in forms whose parts have no records.
fn other(name: &str) -> Action {
    const UNKNOWN: [&str; 26] = [
        "Put",
        "Get",
        "Accumulate",
        "Rput",
        "Rget",
        "Raccumulate",
        "Fetch_and_op",
        "Compare_and_swap",
        "Win_",
        "File_",
        "Neighbor_",
        "Ineighbor_",
        "Alltoallw",
        "Ialltoallw",
        "Isendrecv",
        "Comm_spawn",
        "Comm_accept",
        "Comm_connect",
        "Comm_join",
        "Intercomm_",
        "Graph_create",
        "Dist_graph_create",
        "Cart_sub",
        "Comm_create_group",
        "Comm_idup",
        "Psend_init",
    ];
    // Functions that only query.
    const ASKS: [&str; 8] = [
        "Get_address",
        "Get_count",
        "Get_elements",
        "Get_library_version",
        "Get_processor_name",
        "Get_version",
        "File_get_",
        "Win_get_",
    ];
    let begins = |names: &[&str]| names.iter().any(|begin| name.starts_with(begin));
    // Persistent collectives and partitioned sends: their starts have no records of parts.
    let is_persistent = name.ends_with("_init") && !name.starts_with("Send") && {
        let begun = name.trim_end_matches("_init");
        !matches!(begun, "Bsend" | "Ssend" | "Rsend" | "Recv")
    };
    match (begins(&ASKS), begins(&UNKNOWN) || is_persistent) {
        (false, true) => Action::Unknown,
        _ => Action::Local,
    }
}

/// How far a thread has come: the end of its latest communication, and its computation since the
/// latest one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// When its latest communication ended, nanoseconds.
    now_ns: u64,
    /// Whether that was a poll that found nothing.
    has_polled: bool,
    /// Computation that no communication has followed yet, nanoseconds.
    computed_ns: u64,
}

impl Progress {
    /// # Arguments
    /// * `start_ns` - when the thread begins
    pub(super) fn new(start_ns: u64) -> Self {
        Self {
            now_ns: start_ns,
            has_polled: false,
            computed_ns: 0,
        }
    }

    /// A call begins, and the thread has computed until then: for its processor time if that is recorded, else all the
    /// time. Between two polls it waits.
    pub(super) fn come_to(&mut self, call: &RecordedCall) {
        let gap_ns = call.start_ns.saturating_sub(self.now_ns);
        let computed_ns = call.cpu_before_ns.unwrap_or(gap_ns);
        if !(self.has_polled && computed_ns <= POLL_GAP_NS) {
            self.computed_ns += computed_ns;
        }
        self.now_ns = self.now_ns.max(call.start_ns);
    }

    /// A call that is computation itself.
    pub(super) fn compute_through(&mut self, call: &RecordedCall) {
        // Without processor times, the next call counts all of it.
        if call.cpu_before_ns.is_some() {
            self.come_to(call);
            self.computed_ns += call.end_ns.saturating_sub(call.start_ns);
            self.go_on_after(call, false);
        }
    }

    /// It ended.
    pub(super) fn go_on_after(&mut self, call: &RecordedCall, has_polled: bool) {
        self.now_ns = self.now_ns.max(call.end_ns);
        self.has_polled = has_polled;
    }

    /// The thread has computed until its end, which no call shows.
    pub(super) fn come_to_end(&mut self, end_ns: u64) {
        self.computed_ns += end_ns.saturating_sub(self.now_ns);
        self.now_ns = self.now_ns.max(end_ns);
    }

    /// Its computation since the last call of this function, nanoseconds.
    pub(super) fn take_computed_ns(&mut self) -> u64 {
        std::mem::take(&mut self.computed_ns)
    }
}

/// A number of things.
pub(super) fn counted(n: u64, thing: &str, things: &str) -> String {
    format!("{n} {}", if n == 1 { thing } else { things })
}

/// Share of a run in which its ranks may be off their processors without a note.
const MAX_OFF_PROCESSOR: f64 = 0.01;

/// Notes that time between calls in which no rank ran is left out, if it is more than [`MAX_OFF_PROCESSOR`] of the
/// run.
fn note_off_processor(ranks: &[RecordedRank]) -> Option<String> {
    let sum = |of: &dyn Fn(&RecordedRank) -> Option<u64>| ranks.iter().map(of).sum::<Option<u64>>();
    let off_ns = sum(&|rank| rank.off_processor_ns)? as f64;
    let elapsed_ns = sum(&|rank| Some(rank.elapsed_ns()))? as f64;
    if off_ns <= MAX_OFF_PROCESSOR * elapsed_ns {
        return None;
    }
    let mut note = format!(
        "computation is processor time: for {:.3} s of {:.3} s, added up, the ranks did not run between their calls, since they waited for a \
         processor, slept or waited for files, and that is left out",
        off_ns * 1e-9,
        elapsed_ns * 1e-9
    );
    let asleep_ns = off_ns - sum(&|rank| rank.waiting_ns).unwrap_or(0) as f64;
    if asleep_ns > MAX_OFF_PROCESSOR * elapsed_ns {
        let _ = write!(
            note,
            "; for {:.3} s or more they slept or waited for files, which another machine may not spare them",
            asleep_ns * 1e-9
        );
    }
    Some(note)
}

/// Notes on records of a run that a schedule cannot express.
pub(super) fn notes(ranks: &[RecordedRank]) -> Vec<String> {
    let mut notes = Vec::new();
    let calls_of = |n| counted(n, "call", "calls");
    let cut = ranks.iter().enumerate().filter(|(_, rank)| rank.is_cut);
    let cut: Vec<_> = cut.map(|(rank, _)| rank.to_string()).collect();
    if !cut.is_empty() {
        notes.push(format!(
            "the run was killed or is still going on: the records of rank {} end before the program does",
            cut.join(", ")
        ));
    }
    notes.extend(note_off_processor(ranks));
    for (rank, recorded) in ranks.iter().enumerate().filter(|(_, rank)| rank.lost > 0) {
        notes.push(format!(
            "no record: {} of rank {rank}",
            calls_of(recorded.lost)
        ));
    }
    let mut unknown = BTreeMap::<&str, (u64, u64)>::new();
    let mut n_synchronous = 0;
    for call in ranks.iter().flat_map(|rank| rank.threads.iter().flatten()) {
        if action(&call.function) == Action::Unknown {
            let sum = unknown.entry(&call.function).or_default();
            sum.0 += 1;
            sum.1 += call.end_ns.saturating_sub(call.start_ns);
        }
        n_synchronous += u64::from(matches!(&*call.function, "MPI_Ssend" | "MPI_Issend"));
    }
    for (function, (calls, ns)) in unknown {
        let seconds = ns as f64 / 1e9;
        notes.push(format!(
            "computation in place of communication: {} of {function}, {seconds:.6} s over all ranks",
            calls_of(calls)
        ));
    }
    if n_synchronous > 0 {
        notes.push(format!(
            "not waited for the receive up to the machine's rendezvous_bytes: {} of MPI_Ssend and MPI_Issend",
            calls_of(n_synchronous)
        ));
    }
    notes
}

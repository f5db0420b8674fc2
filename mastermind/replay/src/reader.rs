//! Recorded calls as the calls of a program model.
//!
//! A schedule may have any graph of waits (`rank.rs`); a program model has only what a person would
//! write: blocking calls, nonblocking calls, a wait for all, a wait for the next. So requests lose
//! their identity here. A completion that leaves no request open is `Wait`; one that leaves some
//! open is one `WaitAny` for each completed receive. Waits in a row that end with `Wait` are one,
//! because how many requests each of them completed depends on timing and would differ from round
//! to round, so that the loop around them could not be folded.
//!
//! ```text
//! Irecv a, Irecv b, Isend c        irecv, irecv, isend
//! Waitany -> b                     waitany        ─┐ one:
//! Waitall -> a, c                  wait           ─┘ wait
//! ```
//!
//! Everything that is changed by this is counted, and the counts become notes of the model.

use std::collections::HashMap;

use super::RecordedRank;
use super::call::{Action, Progress, RecordedCall, action, counted, ends};
use super::collectives::{Groups, in_order};
use super::folding::{Call, Key, Kind, Peer};
use super::rank::Spaces;

/// State of the conversion of recorded calls to those of a program.
pub(super) struct Reader {
    pub(super) groups: Groups,
    /// KnownRanks of each group of a collective.
    pub(super) members: Vec<Vec<u32>>,
    /// Numbers of tags: a message of another communicator has another one.
    pub(super) tags: HashMap<(u32, u32), u32>,
    /// Whether waits in a row are one: how they end differs from round to round.
    pub(super) joins_waits: bool,
    /// Waits for certain requests while others are open.
    pub(super) n_certain: u64,
    /// Exchanges while requests are open.
    pub(super) n_pending: u64,
    /// Collectives that were begun, and ended later.
    pub(super) n_begun: u64,
    /// Waits that a later one right after them replaces, with computation between them.
    pub(super) n_in_a_row: u64,
}

/// In place of a number of a tag: any.
pub(super) const ANY_TAG: u32 = u32::MAX;

impl Reader {
    pub(super) fn calls(&mut self, rank: u32, recorded: &RecordedRank) -> Vec<Call> {
        let spaces = Spaces::of(recorded);
        let mut calls: Vec<Call> = Vec::new();
        // Whether a request is a receive's.
        let mut open = HashMap::<u64, bool>::new();
        let mut called = HashMap::<u32, u32>::new();
        let (mut progress, mut gap_ns) = (Progress::new(recorded.span_ns.0), 0);
        for call in in_order(recorded) {
            let action = action(&call.function);
            match action {
                Action::StartOrEnd if ends(call) => {
                    progress.come_to(call);
                    continue;
                }
                Action::StartOrEnd => continue,
                Action::Local | Action::Unknown => {
                    progress.compute_through(call);
                    continue;
                }
                Action::Exchanged | Action::Completed => {}
                _ => {
                    progress.come_to(call);
                    gap_ns += progress.take_computed_ns();
                }
            }
            let polls = action == Action::Probe || call.function.contains("Test");
            progress.go_on_after(call, call.requests == 0 && polls);
            let made = match action {
                Action::Send { waits } => {
                    open.extend(call.request.map(|request| (request, false)));
                    Some(self.message(Kind::Send { waits }, call, &spaces))
                }
                Action::Receive { waits } => {
                    open.extend(call.request.map(|request| (request, true)));
                    Some(self.message(Kind::Receive { waits }, call, &spaces))
                }
                Action::Exchange => {
                    self.n_pending += u64::from(!open.is_empty());
                    Some(self.message(Kind::Exchange, call, &spaces))
                }
                Action::Exchanged => {
                    let received = self.message(Kind::Receive { waits: true }, call, &spaces);
                    if let Some(last) = calls
                        .last_mut()
                        .filter(|last| last.key.kind == Kind::Exchange)
                    {
                        last.key.from = received.key.from;
                        last.tags = last
                            .tags
                            .zip(received.tags)
                            .map(|([sent, _], [_, from])| [sent, from]);
                    }
                    None
                }
                Action::Completes | Action::Completed => {
                    self.complete(call, &mut open, &mut calls, &mut gap_ns);
                    None
                }
                Action::Collective { waits, .. } => {
                    self.n_begun += u64::from(!waits);
                    self.collective(rank, call, recorded, &mut called)
                }
                _ => None,
            };
            if let Some(made) = made {
                let compute_ns = std::mem::take(&mut gap_ns);
                calls.push(Call { compute_ns, ..made });
            }
        }
        progress.come_to_end(recorded.span_ns.1);
        let compute_ns = gap_ns + progress.take_computed_ns();
        calls.push(Call {
            compute_ns,
            ..plain(Kind::End)
        });
        calls
    }

    fn message(&mut self, kind: Kind, call: &RecordedCall, spaces: &Spaces) -> Call {
        // A receive from any rank has no partner, a message from nobody moves nothing.
        let other = match call.world_peer {
            Some(rank) => Peer::Rank(rank),
            None if matches!(kind, Kind::Receive { .. }) && call.bytes > 0 => Peer::Any,
            None => Peer::Nobody,
        };
        let next = self.tags.len() as u32;
        let tag = match call.tag {
            Some(tag) => *self.tags.entry((spaces.number(call), tag)).or_insert(next),
            None => ANY_TAG,
        };
        let mut made = plain(kind);
        // A message of 0 bytes is a message: its cost is that of one byte.
        (made.bytes, made.tags) = (call.bytes.max(1), Some([tag, tag]));
        match kind {
            Kind::Receive { .. } => (made.key.from, made.bytes) = (other, 0),
            _ => made.key.to = other,
        }
        made
    }

    /// Requests are complete: a wait for all if none is left open, else for as many of the receives.
    fn complete(
        &mut self,
        call: &RecordedCall,
        open: &mut HashMap<u64, bool>,
        calls: &mut Vec<Call>,
        gap_ns: &mut u64,
    ) {
        let Some(first) = call.request else { return };
        let range = first..first.saturating_add(call.requests);
        let ended: Vec<u64> = open
            .keys()
            .copied()
            .filter(|request| range.contains(request))
            .collect();
        if ended.is_empty() {
            return;
        }
        let receives = ended
            .iter()
            .filter_map(|request| open.remove(request))
            .filter(|is_receive| *is_receive);
        let n_receives = receives.count();
        // `waitany` waits for receives alone, so completed sends have no element while others are
        // open.
        let waits = if open.is_empty() { 1 } else { n_receives };
        let kind = if open.is_empty() {
            Kind::Wait
        } else {
            Kind::WaitAny
        };
        let is_certain = !call.function.contains("any") && !call.function.contains("some");
        self.n_certain += u64::from(
            !open.is_empty() && is_certain && action(&call.function) == Action::Completes,
        );
        // Those right before it wait for some of the same.
        let mut after_ns = 0;
        while open.is_empty()
            && (self.joins_waits || *gap_ns == 0)
            && calls
                .last()
                .is_some_and(|last| last.key.kind == Kind::WaitAny)
        {
            self.n_in_a_row += u64::from(*gap_ns > 0);
            after_ns += std::mem::take(gap_ns);
            // Computation before the removed wait stays before the remaining one; the rest follows
            // it.
            *gap_ns = calls.pop().map_or(0, |last| last.compute_ns);
        }
        for _ in 0..waits {
            let compute_ns = std::mem::take(gap_ns);
            calls.push(Call {
                compute_ns,
                ..plain(kind)
            });
        }
        *gap_ns += after_ns;
    }

    fn collective(
        &mut self,
        rank: u32,
        call: &RecordedCall,
        recorded: &RecordedRank,
        called: &mut HashMap<u32, u32>,
    ) -> Option<Call> {
        let members = recorded.communicators.get(&call.communicator?)?;
        let group = self.groups.find(members)?;
        let nth = called.entry(group).or_default();
        *nth += 1;
        let group_call = self.groups.call(group, *nth - 1)?;
        members.contains(&rank).then_some(())?;
        let at = self.members.iter().position(|known| known == members);
        let at = at.unwrap_or_else(|| {
            self.members.push(members.clone());
            self.members.len() - 1
        });
        let mut made = plain(Kind::Collective(group_call.kind));
        made.key.group = at as u32;
        made.key.to = Peer::Rank(group_call.root);
        made.bytes = group_call.bytes.max(1);
        Some(made)
    }

    pub(super) fn note(&self, notes: &mut Vec<String>) {
        let mut add = |n: u64, what: &str| {
            if n > 0 {
                notes.push(format!("{}: {what}", counted(n, "call", "calls")));
            }
        };
        add(
            self.n_certain,
            "waits for the next receives to be complete in place of certain ones",
        );
        add(
            self.n_pending,
            "waits for requests that were open at the same time",
        );
        add(
            self.n_in_a_row,
            "waits in a row, of which the last stands for all; what is computed between them follows it",
        );
        add(
            self.n_begun,
            "a nonblocking collective that takes place where it was begun",
        );
    }
}

fn plain(kind: Kind) -> Call {
    Call {
        key: Key {
            kind,
            to: Peer::Nobody,
            from: Peer::Nobody,
            group: 0,
            column: 0,
        },
        tags: Some([0, 0]),
        n: 1,
        bytes: 0,
        compute_ns: 0,
        is_constant: true,
        role: 0,
    }
}

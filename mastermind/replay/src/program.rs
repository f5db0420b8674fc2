//! A recorded run as a program model: what all ranks do as one flow, with the costs that the run had.
//!
//! The calls of each rank become loops where they are repeated (`folding.rs`), and the flows of all ranks one flow whose order is that
//! of each of them. Whom a rank sends to, and what a step costs, are expressions of `process` (`rank_expressions.rs`): a
//! pattern holds for runs of other sizes too, a table of ranks does not. A cost is the mean over the rounds of a loop, and over
//! the ranks where these differ by little.
//!
//! Repeated calls are folded shortest bodies first; the joined flow is a shortest common supersequence. What waits for certain requests, and
//! sizes that differ without a pattern, are notes.
//!
//! # Source
//! V. Adve et al., "POEMS: End-to-End Performance Design of Large Parallel Adaptive Computational Systems", 2000 (static task
//! graphs, there made by a compiler).

use std::collections::HashMap;
use std::fmt::Write as _;

use super::call::{Action, Progress, RecordedCall, action, counted, ends};
use super::collectives::{Groups, in_order};
use super::folding::{Call, Key, Kind, Peer, Place, aligned, folded, number_columns};
use super::rank::Spaces;
use super::rank_expressions::{condition, number, other_rank};
use super::{RecordedRank, ReplayError, call};
use mastermind_programs::CollectiveKind;

/// Most elements of a flow that tells calls of different sizes apart, and of any.
const MAX_EXACT: usize = 500;
pub(super) const MAX_ELEMENTS: usize = 20_000;

/// Longest text of an element: what has no pattern is a list of ranks.
const MAX_LINE: usize = 10_000;

/// Costs of ranks that differ by no more of their mean than this are one cost.
const SAME_COST: f64 = 0.02;

/// A recorded run as a program model.
#[derive(Debug, Clone)]
pub struct RecordedProgram {
    /// The model, for [`mastermind_programs::read_toml`].
    pub toml: String,
    /// Its elements, loops aside.
    pub elements: usize,
    /// What is not in the model, or not as it was.
    pub notes: Vec<String>,
}

/// The program model that does what a run did.
///
/// # Arguments
/// * `name` - of the model
/// * `ranks` - what each rank did, shape `[n_ranks]`
///
/// # Errors
/// As [`super::replay`]; [`ReplayError::Threads`], [`ReplayError::NoPattern`] and [`ReplayError::TooManyElements`] where what the ranks
/// do is no single program.
pub fn program(name: &str, ranks: &[RecordedRank]) -> Result<RecordedProgram, ReplayError> {
    super::all_have_calls(ranks)?;
    if let Some(rank) = ranks.iter().position(|rank| rank.threads.len() > 1) {
        let threads = ranks[rank].threads.len();
        return Err(ReplayError::Threads { rank, threads });
    }
    let mut notes = call::notes(ranks);
    let mut reader = Reader {
        groups: Groups::of(ranks, &mut notes)?,
        members: Vec::new(),
        tags: HashMap::new(),
        n_certain: 0,
        n_pending: 0,
        n_begun: 0,
    };
    let all: Vec<_> = (0..ranks.len() as u32)
        .map(|rank| reader.calls(rank, &ranks[rank as usize]))
        .collect();
    reader.note(&mut notes);
    let exact = flow(&all, true, MAX_EXACT).ok();
    let places = exact.map_or_else(|| flow(&all, false, MAX_ELEMENTS), Ok);
    let places = places.map_err(|elements| ReplayError::TooManyElements { elements })?;
    let elements = count(&places);
    let mut writer = Writer {
        ranks: ranks.len(),
        members: &reader.members,
        has_tags: places.iter().all(has_one_tag),
        n_means: 0,
        n_sizes: 0,
        n: 0,
        longest: 0,
        text: format!(
            "# What a recorded run of {n} ranks did, with the costs that it had.\n\n[model]\nname = {name:?}\nmain = \"Main\"\n\
             ranks = {n}\n\n[activities.Main]\nflow = [\n",
            n = ranks.len()
        ),
    };
    writer.flow(&places, 1)?;
    writer.text += "]\n";
    if writer.longest > MAX_LINE {
        return Err(writer.no_pattern("flow"));
    }
    writer.note(&mut notes);
    let toml = writer.text;
    Ok(RecordedProgram {
        toml,
        elements,
        notes,
    })
}

/// The flow of all ranks.
///
/// # Errors
/// It has more elements than `most`: how many are known by then.
fn flow(all: &[Vec<Call>], is_exact: bool, most: usize) -> Result<Vec<Place>, usize> {
    let mut places = Vec::new();
    let mut all = all.to_vec();
    number_columns(&mut all, is_exact);
    let ranks = all.len();
    for (rank, calls) in all.into_iter().enumerate() {
        let nodes = folded(calls, is_exact);
        // What one rank alone has, all have together.
        if nodes.len() > most {
            return Err(nodes.len());
        }
        places = aligned(places, nodes, rank, ranks);
        let elements = count(&places);
        if elements > most {
            return Err(elements);
        }
    }
    Ok(places)
}

/// Calls in a flow.
fn count(places: &[Place]) -> usize {
    let each = places.iter().map(|place| match place {
        Place::Call(..) => 1,
        Place::Loop(_, _, body) => count(body),
    });
    each.sum()
}

/// The tags of what the ranks send at a place, or receive; `None` for a rank whose tags differ from round to round.
fn tags_of(calls: &[Option<Call>], is_sent: bool) -> impl Iterator<Item = Option<u32>> {
    let of_message = move |call: &&Call| match is_sent {
        true => call.key.to != Peer::Nobody,
        false => call.key.from != Peer::Nobody,
    };
    let messages = calls.iter().flatten().filter(of_message);
    messages.map(move |call| {
        call.tags
            .map(|[sent, received]| if is_sent { sent } else { received })
    })
}

/// Whether the messages of each place have one tag.
fn has_one_tag(place: &Place) -> bool {
    match place {
        Place::Call(_, calls) => [true, false].into_iter().all(|is_sent| {
            let mut tags = tags_of(calls, is_sent);
            let first = tags.next().unwrap_or(Some(0));
            first.is_some() && tags.all(|tag| tag == first)
        }),
        Place::Loop(_, _, body) => body.iter().all(has_one_tag),
    }
}

/// Recorded calls becoming those of a program.
struct Reader {
    groups: Groups,
    /// Ranks of each group of a collective.
    members: Vec<Vec<u32>>,
    /// Numbers of tags: a message of another communicator has another one.
    tags: HashMap<(u32, u32), u32>,
    /// Waits for certain requests while others are open.
    n_certain: u64,
    /// Exchanges while requests are open.
    n_pending: u64,
    /// Collectives that were begun, and ended later.
    n_begun: u64,
}

/// In place of a number of a tag: any.
const ANY_TAG: u32 = u32::MAX;

impl Reader {
    fn calls(&mut self, rank: u32, recorded: &RecordedRank) -> Vec<Call> {
        let spaces = Spaces::of(recorded);
        let mut calls: Vec<Call> = Vec::new();
        // Whether a request is that of a receive.
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
        // A receive from any rank has none, one from nobody moves nothing.
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
        (made.bytes, made.tags) = (call.bytes.max(1), Some([tag, tag]));
        match kind {
            Kind::Receive { .. } => (made.key.from, made.bytes) = (other, 0),
            _ => made.key.to = other,
        }
        made
    }

    /// Requests are complete: a wait for all where none is left open, else for so many of the receives.
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
        while open.is_empty()
            && *gap_ns == 0
            && calls
                .last()
                .is_some_and(|last| last.key.kind == Kind::WaitAny)
        {
            *gap_ns = calls.pop().map_or(0, |last| last.compute_ns);
        }
        for _ in 0..waits {
            let compute_ns = std::mem::take(gap_ns);
            calls.push(Call {
                compute_ns,
                ..plain(kind)
            });
        }
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
        let joined = self.groups.call(group, *nth - 1)?;
        members.contains(&rank).then_some(())?;
        let at = self.members.iter().position(|known| known == members);
        let at = at.unwrap_or_else(|| {
            self.members.push(members.clone());
            self.members.len() - 1
        });
        let mut made = plain(Kind::Collective(joined.kind));
        made.key.group = at as u32;
        made.key.to = Peer::Rank(joined.root);
        made.bytes = joined.bytes.max(1);
        Some(made)
    }

    fn note(&self, notes: &mut Vec<String>) {
        let mut tell = |n: u64, what: &str| {
            if n > 0 {
                notes.push(format!("{}: {what}", counted(n, "call", "calls")));
            }
        };
        tell(
            self.n_certain,
            "waits for the next receives to be complete in place of certain ones",
        );
        tell(
            self.n_pending,
            "waits for requests that were open beside it",
        );
        tell(
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
    }
}

/// A flow becoming text.
struct Writer<'a> {
    ranks: usize,
    members: &'a [Vec<u32>],
    has_tags: bool,
    /// Costs that are means over ranks which differ, since there are too many for a table.
    n_means: u64,
    /// Calls whose sizes are means.
    n_sizes: u64,
    /// Elements so far, of which each has a number in its name.
    n: usize,
    /// Length of the longest line.
    longest: usize,
    text: String,
}

/// What each rank does at a place.
type Calls = [Option<Call>];

impl Writer<'_> {
    fn flow(&mut self, places: &[Place], depth: usize) -> Result<(), ReplayError> {
        for place in places {
            match place {
                Place::Call(kind, calls) => self.call(*kind, calls, depth)?,
                Place::Loop(rounds, is_in, body) => {
                    let count = condition(is_in).map_or(rounds.to_string(), |is_in| {
                        format!("\"{is_in} ? {rounds} : 0\"")
                    });
                    self.n += 1;
                    let open = format!("{{ loop = \"loop {}\", count = {count}, body = [", self.n);
                    self.line(depth, &open);
                    self.flow(body, depth + 1)?;
                    self.line(depth, "] },");
                }
            }
        }
        Ok(())
    }

    fn line(&mut self, depth: usize, line: &str) {
        self.longest = self.longest.max(line.len());
        let _ = writeln!(self.text, "{:1$}{line}", "", 4 * depth);
    }

    fn call(&mut self, kind: Kind, calls: &Calls, depth: usize) -> Result<(), ReplayError> {
        self.cost(calls, depth);
        let is_in: Vec<bool> = calls.iter().map(Option::is_some).collect();
        let [sent, received] = self.tags(calls);
        let (to, from) = (|call: &Call| call.key.to, |call: &Call| call.key.from);
        let mut elements = Vec::new();
        match kind {
            Kind::End => return Ok(()),
            Kind::Send { waits } => {
                let word = if waits { "send" } else { "isend" };
                elements.push(self.send(word, calls, &sent, to)?);
            }
            Kind::Receive { waits } => {
                let word = if waits { "recv" } else { "irecv" };
                elements.push(self.receive(word, calls, &received, from)?);
            }
            Kind::Exchange => {
                elements.push(self.send("isend", calls, &sent, to)?);
                elements.push(self.receive("irecv", calls, &received, from)?);
                elements.push(self.element("wait", ""));
            }
            Kind::Wait => elements.push(self.element("wait", "")),
            Kind::WaitAny => elements.push(self.element("waitany", "")),
            Kind::Collective(kind) => elements.push(self.collective(kind, calls)?),
        }
        // Messages name whom they are for; the others have to be left out by those that do not come to them.
        let names_ranks = matches!(
            kind,
            Kind::Send { .. } | Kind::Receive { .. } | Kind::Exchange
        );
        let guard = condition(&is_in).filter(|_| !names_ranks);
        if let Some(guard) = &guard {
            self.n += 1;
            let open = format!(
                "{{ decision = \"who {}\", branches = [{{ guard = \"{guard}\", body = [",
                self.n
            );
            self.line(depth, &open);
        }
        for element in elements {
            self.line(depth + usize::from(guard.is_some()), &element);
        }
        if guard.is_some() {
            self.line(depth, "] }, { body = [] }] },");
        }
        Ok(())
    }

    fn element(&mut self, word: &str, rest: &str) -> String {
        self.n += 1;
        format!("{{ {word} = \"{word} {}\"{rest} }},", self.n)
    }

    /// The computation before a call, where there is any.
    fn cost(&mut self, calls: &Calls, depth: usize) {
        let mean = |call: &Call| (call.compute_ns as f64 / call.n as f64).round();
        let costs: Vec<Option<f64>> = calls.iter().map(|call| call.as_ref().map(mean)).collect();
        let known: Vec<f64> = costs.iter().flatten().copied().collect();
        let (least, most) = known
            .iter()
            .fold((f64::MAX, 0.0_f64), |(least, most), cost| {
                (least.min(*cost), most.max(*cost))
            });
        if most == 0.0 {
            return;
        }
        let average = known.iter().sum::<f64>() / known.len() as f64;
        let same: Vec<Option<f64>> = costs
            .iter()
            .map(|cost| cost.map(|_| average.round()))
            .collect();
        let is_same = most - least <= SAME_COST * average;
        let cost = if is_same { None } else { number(&costs, "0") };
        let cost = cost.unwrap_or_else(|| {
            self.n_means += u64::from(!is_same);
            // One number has room, unless which ranks take part has no pattern.
            number(&same, "0").unwrap_or_else(|| average.round().to_string())
        });
        let element = self.element("action", &format!(", cost = \"ns({cost})\""));
        self.line(depth, &element);
    }

    fn tags(&self, calls: &Calls) -> [String; 2] {
        [true, false].map(|is_sent| {
            let tag = tags_of(calls, is_sent).next().flatten();
            match tag.filter(|_| self.has_tags) {
                None | Some(0) => String::new(),
                Some(ANY_TAG) => ", tag = \"any\"".into(),
                Some(tag) => format!(", tag = {tag}"),
            }
        })
    }

    fn send(
        &mut self,
        word: &str,
        calls: &Calls,
        tag: &str,
        to: fn(&Call) -> Peer,
    ) -> Result<String, ReplayError> {
        let to = self.peer(word, calls, to)?;
        let bytes = self.bytes(word, calls)?;
        Ok(self.element(word, &format!(", to = \"{to}\", bytes = \"{bytes}\"{tag}")))
    }

    fn receive(
        &mut self,
        word: &str,
        calls: &Calls,
        tag: &str,
        from: fn(&Call) -> Peer,
    ) -> Result<String, ReplayError> {
        let from = self.peer(word, calls, from)?;
        Ok(self.element(word, &format!(", from = \"{from}\"{tag}")))
    }

    /// The other rank of a message.
    fn peer(
        &self,
        word: &str,
        calls: &Calls,
        of: fn(&Call) -> Peer,
    ) -> Result<String, ReplayError> {
        let peers: Vec<Peer> = calls
            .iter()
            .map(|call| call.as_ref().map_or(Peer::Nobody, of))
            .collect();
        let is_any: Vec<bool> = peers.iter().map(|peer| *peer == Peer::Any).collect();
        let ranks: Vec<Option<u32>> = peers
            .iter()
            .map(|peer| match peer {
                Peer::Rank(rank) => Some(*rank),
                _ => None,
            })
            .collect();
        let ranks = other_rank(&ranks).ok_or_else(|| self.no_pattern(word))?;
        if !is_any.contains(&true) {
            return Ok(ranks);
        }
        Ok(match condition(&is_any) {
            None => "any".into(),
            Some(is_any) => format!("{is_any} ? any : {ranks}"),
        })
    }

    fn bytes(&mut self, word: &str, calls: &Calls) -> Result<String, ReplayError> {
        let mean = |call: &Call| (call.bytes as f64 / call.n as f64).round();
        // What goes to nobody has no size.
        let known = |call: &Option<Call>| {
            call.as_ref()
                .filter(|call| call.key.to != Peer::Nobody)
                .map(mean)
        };
        let bytes: Vec<Option<f64>> = calls.iter().map(known).collect();
        self.n_sizes += calls
            .iter()
            .flatten()
            .filter(|call| !call.is_constant)
            .map(|call| call.n)
            .sum::<u64>();
        let known = bytes.iter().flatten().next().copied();
        if bytes.iter().flatten().all(|bytes| Some(*bytes) == known) {
            // Who sends nothing names nobody.
            return Ok(known.unwrap_or(1.0).to_string());
        }
        number(&bytes, "1").ok_or_else(|| self.no_pattern(word))
    }

    fn collective(&mut self, kind: CollectiveKind, calls: &Calls) -> Result<String, ReplayError> {
        let word = kind.name();
        let mut rest = String::new();
        if kind.has_root() {
            let root = |call: &Call| match call.key.to {
                Peer::Rank(root) => f64::from(root),
                _ => 0.0,
            };
            let roots: Vec<_> = calls.iter().map(|call| call.as_ref().map(root)).collect();
            let root = number(&roots, "0").ok_or_else(|| self.no_pattern(word))?;
            let _ = write!(rest, ", root = \"{root}\"");
        }
        if kind.has_bytes() {
            let bytes = self.bytes(word, calls)?;
            let _ = write!(rest, ", bytes = \"{bytes}\"");
        }
        let group = |call: &Option<Call>| Some(&self.members[call.as_ref()?.key.group as usize]);
        let groups: Vec<Option<&Vec<u32>>> = calls.iter().map(group).collect();
        let is_world = |members: &&Vec<u32>| members.iter().copied().eq(0..self.ranks as u32);
        if !groups.iter().flatten().all(is_world) {
            // Negative where the ranks are in the reverse order, as keys of `MPI_Comm_split` may have them.
            let distance = |a: u32, b: u32| i64::from(b) - i64::from(a);
            let stride = |members: &Vec<u32>| match members[..] {
                [first, second, ..] => distance(first, second),
                _ => 1,
            };
            let is_regular = |members: &&Vec<u32>| {
                let mut pairs = members.windows(2);
                stride(members) != 0
                    && pairs.all(|pair| distance(pair[0], pair[1]) == stride(members))
            };
            if !groups.iter().flatten().all(is_regular) {
                return Err(ReplayError::IrregularGroup {
                    element: word.to_owned(),
                });
            }
            let firsts: Vec<_> = groups
                .iter()
                .map(|group| group.map(|members| members[0]))
                .collect();
            let firsts = other_rank(&firsts);
            let numbers = |value: &dyn Fn(&Vec<u32>) -> f64| {
                let values: Vec<_> = groups.iter().map(|members| members.map(value)).collect();
                number(&values, "1")
            };
            let sizes = numbers(&|members| members.len() as f64);
            let strides = numbers(&|members| stride(members) as f64);
            let (Some(first), Some(size), Some(stride)) = (firsts, sizes, strides) else {
                return Err(self.no_pattern(word));
            };
            let _ = write!(
                rest,
                ", group_first = \"{first}\", group_size = \"{size}\", group_stride = \"{stride}\""
            );
        }
        Ok(self.element(word, &rest))
    }

    fn no_pattern(&self, word: &str) -> ReplayError {
        ReplayError::NoPattern {
            element: word.to_owned(),
            ranks: self.ranks,
        }
    }

    fn note(&self, notes: &mut Vec<String>) {
        if !self.has_tags {
            notes.push("tags differ from round to round: messages of a pair of ranks are told apart by their order".into());
        }
        if self.n_means > 0 {
            let n = counted(self.n_means, "cost", "costs");
            notes.push(format!(
                "{n}: a mean over ranks that differ, too many for a table"
            ));
        }
        if self.n_sizes > 0 {
            let n = counted(self.n_sizes, "call", "calls");
            notes.push(format!(
                "{n}: the mean of sizes that differ from round to round"
            ));
        }
    }
}

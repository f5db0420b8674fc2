//! A flow as the text of a program model.
//!
//! The merged flow knows what every rank of every recorded run does at every place (a *point* is a
//! rank of a run). The writer has to express that for any rank: destinations, sizes, counts and
//! costs become expressions of `process` and `processes` that agree with all points. Finding such
//! an expression is `Patterns` (`rank_expressions.rs`); the writer asks for them, writes TOML, and
//! keeps account of how far each may be trusted.
//!
//! ```text
//! points of a place                          text
//! rank 0 -> 1, 1 -> 2, 2 -> 3, 3 -> nobody   { send = …, to = "process + 1 < processes ? process + 1 : none" }
//! costs 2.00, 2.01, 1.99 ms                  { action = "action 3", cost = "ns(2000000)" }
//! ```
//!
//! A pattern is known beyond the runs, assumed (others agree as well), or valid for the recorded
//! numbers only. Together with the error at which the smaller runs predict the largest one, that
//! decides the numbers of ranks that the model is offered for (`ranks`); anything doubtful is a
//! note, never silently a number.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::call::counted;
use super::folding::{Call, Kind, Peer, SharedNode};
use super::rank_expressions::{Pattern, Patterns, Reach};
use super::reader::ANY_TAG;
use super::{ReplayError, costs};
use mastermind_programs::{CollectiveKind, KnownRanks};

/// Costs of ranks that differ by no more of their mean than this are one cost.
const SAME_COST: f64 = 0.02;

/// Maximum number of elements that a note names.
const MAX_NAMED: usize = 5;

/// Share of the costs of a run from which on one without a pattern matters.
const MIN_SHARE: f64 = 0.01;

/// The tags of the ranks' sends at a place, or of their receives; `None` for a rank whose tags differ from round to
/// round.
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
fn has_one_tag(place: &SharedNode) -> bool {
    match place {
        SharedNode::Call(_, calls) => [true, false].into_iter().all(|is_sent| {
            let mut tags = tags_of(calls, is_sent);
            let first = tags.next().unwrap_or(Some(0));
            first.is_some() && tags.all(|tag| tag == first)
        }),
        SharedNode::Loop(_, body) => body.iter().all(has_one_tag),
        SharedNode::Compute(_) => true,
    }
}

/// Writes a flow as text, and keeps account of the parts that are means, assumed, or known for the
/// recorded runs only.
pub(super) struct Writer<'a> {
    patterns: &'a Patterns,
    members: &'a [Vec<u32>],
    has_tags: bool,
    /// Costs that are means over ranks which differ, since there are too many for a table.
    n_means: u64,
    /// Calls whose sizes are means.
    n_sizes: u64,
    /// Parts that are known for the recorded ranks only.
    pub(super) unknown: BTreeSet<String>,
    /// Sizes that are means over the number of ranks, by element, and how far off the others predict the largest run, relative.
    fitted: BTreeMap<String, f64>,
    /// Patterns that are assumed, and their alternatives.
    assumed: BTreeMap<String, String>,
    /// Of the largest run: costs of a rank on average, and those that the other runs predict, nanoseconds.
    held_out_ns: (f64, f64),
    /// Costs for which the other runs have no prediction, by element.
    not_held_out: Vec<(String, f64)>,
    /// Computation of a rank of the largest run on average, nanoseconds.
    total_ns: f64,
    /// The points that come to the flow that is being written.
    comes: Vec<bool>,
    /// By run: computation, and its value by the formulas, nanoseconds.
    work_ns: Vec<(f64, f64)>,
    /// Whether costs are those of each run, without formulas.
    is_tabled: bool,
    /// Number of elements so far; an element's name contains its number.
    n: usize,
    /// Length of the longest line.
    pub(super) longest: usize,
    pub(super) text: String,
}

/// Computation of a rank of the largest run on average, nanoseconds.
fn computed_ns(patterns: &Patterns, places: &[SharedNode]) -> f64 {
    let largest = patterns.n_runs() - 1;
    let each = places.iter().map(|place| match place {
        SharedNode::Compute(computed) => {
            let of_run = computed
                .iter()
                .enumerate()
                .filter(|(point, _)| patterns.run_of(*point) == largest);
            let ns = of_run.filter_map(|(_, computed)| computed.map(|(ns, _)| ns as f64));
            ns.sum::<f64>() / patterns.ranks_of(largest) as f64
        }
        SharedNode::Loop(_, body) => computed_ns(patterns, body),
        SharedNode::Call(..) => 0.0,
    });
    each.sum()
}

/// Call of each point at a place.
type Calls = [Option<Call>];

impl<'a> Writer<'a> {
    pub(super) fn new(
        patterns: &'a Patterns,
        members: &'a [Vec<u32>],
        places: &[SharedNode],
    ) -> Self {
        Self {
            patterns,
            members,
            has_tags: places.iter().all(has_one_tag),
            n_means: 0,
            n_sizes: 0,
            unknown: BTreeSet::new(),
            fitted: BTreeMap::new(),
            assumed: BTreeMap::new(),
            held_out_ns: (0.0, 0.0),
            not_held_out: Vec::new(),
            total_ns: computed_ns(patterns, places),
            work_ns: vec![(0.0, 0.0); patterns.n_runs()],
            is_tabled: false,
            comes: vec![true; patterns.n_points()],
            n: 0,
            longest: 0,
            text: String::new(),
        }
    }

    pub(super) fn flow(&mut self, places: &[SharedNode], depth: usize) -> Result<(), ReplayError> {
        for place in places {
            match place {
                SharedNode::Call(kind, calls) => self.call(*kind, calls, depth)?,
                SharedNode::Compute(computed) => {
                    if computed.iter().flatten().any(|(ns, _)| *ns > 0) {
                        let line = self.cost_of_runs(computed);
                        self.line(depth, &line);
                    }
                }
                SharedNode::Loop(rounds, body) => {
                    self.n += 1;
                    let name = format!("loop {}", self.n);
                    let rounds: Vec<_> = rounds
                        .iter()
                        .map(|rounds| rounds.map(|n| n as f64))
                        .collect();
                    let count = self
                        .patterns
                        .number(&rounds, "0")
                        .ok_or_else(|| self.no_pattern("loop"))?;
                    let count = self.used(count, &name, "rounds");
                    let count = match count.parse::<u64>() {
                        Ok(count) => count.to_string(),
                        Err(_) => format!("\"{count}\""),
                    };
                    let open = format!("{{ loop = \"{name}\", count = {count}, body = [");
                    self.line(depth, &open);
                    let comes = rounds
                        .iter()
                        .map(|rounds| *rounds != Some(0.0) && rounds.is_some());
                    // Ranks that do no round of the loop cannot compute in it.
                    let before = std::mem::replace(&mut self.comes, comes.collect());
                    self.flow(body, depth + 1)?;
                    self.comes = before;
                    self.line(depth, "] },");
                }
            }
        }
        Ok(())
    }

    /// The text of a pattern of the next element, or of one of that name; notes how far it is known.
    fn used(&mut self, pattern: Pattern, name: &str, what: &str) -> String {
        match pattern.reach {
            Reach::Known => {}
            Reach::Assumed(other) => {
                self.assumed.entry(pattern.text.clone()).or_insert(other);
            }
            Reach::Recorded => {
                self.unknown.insert(format!("{what} of {name}"));
            }
        }
        pattern.text
    }

    /// A writer of the same flow whose costs are those of each run, if the formulas add up to other work than a run
    /// had; else itself.
    pub(super) fn or_tabled(self, places: &[SharedNode]) -> Result<Self, ReplayError> {
        let is_off = |(measured, fitted): &(f64, f64)| {
            (fitted - measured).abs() > costs::MAX_ERROR * measured.max(1.0)
        };
        if !self.work_ns.iter().any(is_off) {
            return Ok(self);
        }
        let mut writer = Self::new(self.patterns, self.members, places);
        writer.is_tabled = true;
        writer.flow(places, 1)?;
        Ok(writer)
    }

    /// Name of the next element.
    fn next_name(&self, word: &str) -> String {
        format!("{word} {}", self.n + 1)
    }

    /// The numbers of ranks that the model is known for; other numbers are a note.
    pub(super) fn ranks(
        &self,
        recorded: &[u32],
        is_grid: bool,
        notes: &mut Vec<String>,
    ) -> KnownRanks {
        let largest = recorded.last().copied().unwrap_or(1);
        let mut ranks = KnownRanks {
            recorded: recorded.to_vec(),
            most: None,
            powers_of_two: ["side", "xor(", "log2("]
                .iter()
                .any(|word| self.text.contains(word)),
        };
        if !self.unknown.is_empty() {
            let mut names: Vec<_> = self.unknown.iter().map(String::as_str).collect();
            // In the order of the program: by the number of the element.
            names.sort_by_key(|name| name.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok()));
            let more = match names.len().saturating_sub(MAX_NAMED) {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            names.truncate(MAX_NAMED);
            notes.push(format!(
                "known for the recorded numbers of ranks only, since no pattern agrees with the runs, or several that differ beyond them: {}{more}",
                names.join(", ")
            ));
            return ranks;
        }
        if recorded.len() < 3 && (is_grid || !self.assumed.is_empty()) {
            notes.push(
                "known for the recorded numbers of ranks only, since two runs do not decide between the patterns that agree with them; record a run on a third number of ranks"
                    .to_owned(),
            );
            return ranks;
        }
        let (measured_ns, predicted_ns) = self.held_out_ns;
        let unpredicted_ns: f64 = self.not_held_out.iter().map(|(_, ns)| ns).sum();
        if unpredicted_ns > MIN_SHARE * (measured_ns + unpredicted_ns) {
            let mut dearest = self.not_held_out.clone();
            dearest.sort_by(|a, b| b.1.total_cmp(&a.1));
            let names: Vec<_> = dearest
                .iter()
                .take(3)
                .map(|(name, _)| name.as_str())
                .collect();
            notes.push(format!(
                "known for the recorded numbers of ranks only, since costs of two runs do not say how they go on ({}); record a run on another number of ranks",
                names.join(", ")
            ));
            return ranks;
        }
        let off = (predicted_ns - measured_ns) / measured_ns.max(1.0);
        let error = off.abs();
        // The error is expected to grow by itself with each doubling of the ranks.
        let doublings = (1..=costs::MAX_FACTOR.ilog2()).rev();
        let most = doublings
            .into_iter()
            .find(|n| error * f64::from(*n) <= costs::MAX_ERROR);
        let others: Vec<_> = recorded[..recorded.len() - 1]
            .iter()
            .map(u32::to_string)
            .collect();
        notes.push(format!(
            "the costs of {largest} ranks are predicted from the other runs ({}) at {:+.1} %: {}",
            others.join(", "),
            100.0 * off,
            match most {
                Some(n) => format!(
                    "up to {} ranks an error of at most {:.0} % is expected",
                    largest << n,
                    100.0 * costs::MAX_ERROR
                ),
                None => "known for the recorded numbers of ranks only".to_owned(),
            }
        ));
        ranks.most = most.map(|n| largest << n);
        ranks
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
        // Messages name their destinations; ranks that do not come to other calls have to leave them out.
        let names_ranks = matches!(
            kind,
            Kind::Send { .. } | Kind::Receive { .. } | Kind::Exchange
        );
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
        let guard = self.patterns.condition(&is_in).filter(|_| !names_ranks);
        let is_guarded = guard.is_some();
        if let Some(guard) = guard {
            self.n += 1;
            let name = format!("who {}", self.n);
            let guard = self.used(guard, &name, "ranks");
            let open =
                format!("{{ decision = \"{name}\", branches = [{{ guard = \"{guard}\", body = [");
            self.line(depth, &open);
        }
        for element in elements {
            self.line(depth + usize::from(is_guarded), &element);
        }
        if is_guarded {
            self.line(depth, "] }, { body = [] }] },");
        }
        Ok(())
    }

    fn element(&mut self, word: &str, rest: &str) -> String {
        self.n += 1;
        format!("{{ {word} = \"{word} {}\"{rest} }},", self.n)
    }

    /// The computation before a call, if there is any.
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
        let number = |costs: &[Option<f64>]| Some(self.patterns.number(costs, "0")?.text);
        let cost = if is_same { None } else { number(&costs) };
        let is_mean = cost.is_none() && !is_same;
        // One number has room, unless which ranks take part has no pattern.
        let cost =
            cost.unwrap_or_else(|| number(&same).unwrap_or_else(|| average.round().to_string()));
        self.n_means += u64::from(is_mean);
        let element = self.element("action", &format!(", cost = \"ns({cost})\""));
        self.line(depth, &element);
    }

    /// A cost over the number of ranks: each run's is the mean over its ranks.
    fn cost_of_runs(&mut self, computed: &[Option<(u64, u64)>]) -> String {
        let mut by_ranks = BTreeMap::<u32, Vec<f64>>::new();
        let largest = self.patterns.n_runs() - 1;
        let mut total_ns = 0.0;
        let mut of_runs = vec![(0.0, 0.0); largest + 1];
        let is_in: Vec<bool> = computed.iter().map(Option::is_some).collect();
        let guard = self.patterns.condition(&is_in);
        // If there is no pattern for the ranks that compute in a run, all compute, on average as
        // long.
        let is_split = |run: usize| {
            let of_run = is_in
                .iter()
                .enumerate()
                .filter(|(point, _)| self.patterns.run_of(*point) == run);
            let n = of_run.filter(|(_, is_in)| **is_in).count() as i64;
            n != 0 && n != self.patterns.ranks_of(run)
        };
        let has_pattern = guard
            .as_ref()
            .is_none_or(|guard| guard.reach != Reach::Recorded)
            || !(0..=largest).any(is_split);
        let rounds = computed.iter().flatten().map(|(_, n)| *n).max();
        let otherwise = (!has_pattern).then_some((0, rounds.unwrap_or(1)));
        for (point, computed) in computed.iter().enumerate() {
            let run = self.patterns.run_of(point);
            let otherwise = otherwise.filter(|_| self.comes[point]);
            if let Some((ns, n)) = computed.or(otherwise) {
                let ranks = self.patterns.ranks_of(run) as u32;
                let (ns, n) = (ns as f64, n as f64);
                by_ranks.entry(ranks).or_default().push(ns / n);
                total_ns += if run == largest { ns } else { 0.0 };
                of_runs[run].0 += ns;
                of_runs[run].1 += n;
            }
        }
        // Per rank of the run.
        total_ns /= self.patterns.ranks_of(largest) as f64;
        let mut cost = costs::fitted(&by_ranks);
        let name = self.next_name("action");
        for (run, (measured_ns, rounds)) in of_runs.iter().enumerate() {
            let mean_ns = cost.fitted.get(&(self.patterns.ranks_of(run) as u32));
            self.work_ns[run].0 += measured_ns;
            self.work_ns[run].1 += mean_ns.unwrap_or(&0.0) * rounds;
        }
        if self.is_tabled || cost.off * total_ns > costs::MAX_ERROR * self.total_ns {
            let each = by_ranks.iter().map(|(ranks, costs)| {
                let mean = costs.iter().sum::<f64>() / costs.len() as f64;
                format!("processes == {ranks} ? {} : ", costs::digits(mean))
            });
            cost.text = each.collect::<String>() + "0";
            self.unknown.insert(format!("cost of {name}"));
        }
        let text = match guard.filter(|_| has_pattern) {
            None => cost.text,
            Some(guard) => format!("{} ? {} : 0", self.used(guard, &name, "ranks"), cost.text),
        };
        let last = by_ranks
            .last_key_value()
            .map(|(ranks, costs)| (i64::from(*ranks), costs));
        let of_largest = last.filter(|(ranks, _)| *ranks == self.patterns.ranks_of(largest));
        let note = match (of_largest, cost.held_out) {
            (Some((_, costs)), Some(ns)) => {
                let mean_ns = costs.iter().sum::<f64>() / costs.len() as f64;
                let ratio = ns / mean_ns.max(1.0);
                self.held_out_ns.0 += total_ns;
                self.held_out_ns.1 += total_ns * ratio;
                format!(" # held out {:+.0} %", 100.0 * (ratio - 1.0))
            }
            (Some(_), None) => {
                self.not_held_out.push((name, total_ns));
                " # not held out".to_owned()
            }
            (None, _) => String::new(),
        };
        self.element("action", &format!(", cost = \"ns({text})\"")) + &note
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
        let to = self.peer(word, calls, (to, "receiver"))?;
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
        let from = self.peer(word, calls, (from, "sender"))?;
        Ok(self.element(word, &format!(", from = \"{from}\"{tag}")))
    }

    /// The other rank of a message.
    fn peer(
        &mut self,
        word: &str,
        calls: &Calls,
        (of, what): (fn(&Call) -> Peer, &str),
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
        let ranks = self
            .patterns
            .other_rank(&ranks)
            .ok_or_else(|| self.no_pattern(word))?;
        let name = self.next_name(word);
        let ranks = self.used(ranks, &name, what);
        if !is_any.contains(&true) {
            return Ok(ranks);
        }
        Ok(match self.patterns.condition(&is_any) {
            None => "any".into(),
            Some(is_any) => format!("{} ? any : {ranks}", self.used(is_any, &name, what)),
        })
    }

    fn bytes(&mut self, word: &str, calls: &Calls) -> Result<String, ReplayError> {
        let mean = |call: &Call| (call.bytes as f64 / call.n as f64).round();
        // A message to nobody has no size.
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
        if bytes.iter().all(Option::is_none) {
            return Ok("1".into());
        }
        // A rank that sends nothing names no partner.
        let found = self.patterns.by_run(&bytes);
        let name = self.next_name(word);
        if let Some(found) = found.filter(|found| found.reach != Reach::Recorded) {
            return Ok(self.used(found, &name, "bytes"));
        }
        if self.patterns.n_runs() > 1
            && let Some(text) = self.fitted_bytes(&bytes, &name)
        {
            return Ok(text);
        }
        let found = self.patterns.number(&bytes, "1");
        let found = found.ok_or_else(|| self.no_pattern(word))?;
        Ok(self.used(found, &name, "bytes"))
    }

    /// Sizes without a pattern as the means of the runs over the number of ranks, where the others predict the largest run.
    fn fitted_bytes(&mut self, bytes: &[Option<f64>], name: &str) -> Option<String> {
        let mut by_ranks = BTreeMap::<u32, Vec<f64>>::new();
        for (point, bytes) in bytes.iter().enumerate() {
            let ranks = self.patterns.ranks_of(self.patterns.run_of(point)) as u32;
            by_ranks.entry(ranks).or_default().extend(*bytes);
        }
        let of_largest = by_ranks.last_entry()?.get().clone();
        let mean = of_largest.iter().sum::<f64>() / of_largest.len() as f64;
        let fitted = costs::fitted(&by_ranks);
        let error = (fitted.held_out? / mean - 1.0).abs();
        if error > costs::MAX_ERROR {
            return None;
        }
        self.fitted.insert(name.to_owned(), error);
        Some(format!("max(1, round({}))", fitted.text))
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
            let root = self
                .patterns
                .number(&roots, "0")
                .ok_or_else(|| self.no_pattern(word))?;
            let name = self.next_name(word);
            let root = self.used(root, &name, "root");
            let _ = write!(rest, ", root = \"{root}\"");
        }
        if kind.has_bytes() {
            let bytes = self.bytes(word, calls)?;
            let _ = write!(rest, ", bytes = \"{bytes}\"");
        }
        let group = |call: &Option<Call>| Some(&self.members[call.as_ref()?.key.group as usize]);
        let groups: Vec<Option<&Vec<u32>>> = calls.iter().map(group).collect();
        let is_world = |(point, members): (usize, &Option<&Vec<u32>>)| {
            let ranks = self.patterns.ranks_of(self.patterns.run_of(point)) as u32;
            members.is_none_or(|members| members.iter().copied().eq(0..ranks))
        };
        if !groups.iter().enumerate().all(is_world) {
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
            let firsts = self.patterns.other_rank(&firsts);
            let numbers = |value: &dyn Fn(&Vec<u32>) -> f64| {
                let values: Vec<_> = groups.iter().map(|members| members.map(value)).collect();
                self.patterns.number(&values, "1")
            };
            let sizes = numbers(&|members| members.len() as f64);
            let strides = numbers(&|members| stride(members) as f64);
            let (Some(first), Some(size), Some(stride)) = (firsts, sizes, strides) else {
                return Err(self.no_pattern(word));
            };
            let name = self.next_name(word);
            let [first, size, stride] =
                [first, size, stride].map(|pattern| self.used(pattern, &name, "group"));
            let _ = write!(
                rest,
                ", group_first = \"{first}\", group_size = \"{size}\", group_stride = \"{stride}\""
            );
        }
        Ok(self.element(word, &rest))
    }

    pub(super) fn no_pattern(&self, word: &str) -> ReplayError {
        ReplayError::NoPattern {
            element: word.to_owned(),
            ranks: self.patterns.n_points(),
        }
    }

    pub(super) fn note(&self, notes: &mut Vec<String>) {
        if !self.has_tags {
            notes.push("tags differ from round to round: messages of a pair of ranks are distinguished by their order".into());
        }
        if !self.fitted.is_empty() {
            let each = self
                .fitted
                .iter()
                .map(|(name, error)| format!("{name} ({:.1} %)", 100.0 * error));
            notes.push(format!(
                "bytes without a pattern, fitted as means over the number of ranks, and how far off they are predicted for the largest run: {}",
                each.collect::<Vec<_>>().join(", ")
            ));
        }
        for (text, other) in &self.assumed {
            notes.push(format!(
                "assumed: \"{text}\"; the runs agree with \"{other}\" too, which differs on more ranks: a run on more ranks decides"
            ));
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

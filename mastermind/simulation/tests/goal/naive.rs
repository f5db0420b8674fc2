//! The stated rules of schedules once more, without any of the engine's data structures: one list of events, searched for the
//! first each time, and lists of receives and messages, searched from their begin. 1,000 random schedules have the same
//! result in both.
//!
//! The rules: an operation begins when the operations it waits for have ended (`requires`) or begun (`irequires`), and
//! its processor is free; a send needs its interface too. An operation that finds them busy returns when they are free,
//! in its old order. Of two events of one nanosecond the one that was scheduled first is first. A message takes the
//! processor and interface of its receive, the first ones if none is posted. A calculation is lengthened by the
//! interruptions that begin in it. Shared links are those of `network`. Costs are those of the table in `loggp`, as
//! numbers written out here.

use mastermind_simulation::machine::{Link, Machine, NearLink, Rendezvous};

use crate::network::{self, Leaving, SharedLinks};
use crate::noise;
use crate::paths;

/// Pseudorandom numbers, the same each time (a linear congruential generator with Knuth's constants).
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum What {
    Calc,
    Send,
    Receive,
}

#[derive(Debug, Clone)]
struct Operation {
    what: What,
    /// Nanoseconds or bytes.
    size: u64,
    peer: Option<usize>,
    tag: Option<u64>,
    cpu: usize,
    nic: usize,
    /// Operation of the rank, and whether its begin is enough.
    waits: Vec<(usize, bool)>,
}

/// By rank.
type Ranks = Vec<Vec<Operation>>;

/// Messages between random ranks, some taken by receives from any rank or of any tag; calculations; waits for earlier
/// operations.
fn random_schedule(random: &mut Random) -> Ranks {
    let n = 2 + random.below(5) as usize;
    let (cpus, nics) = if random.one_in(3) { (2, 2) } else { (1, 1) };
    let most_ns = if random.one_in(2) { 200_000 } else { 5000 };
    let mut ranks: Ranks = vec![Vec::new(); n];
    let mut add = |rank: usize, what, size, peer, tag, random: &mut Random| {
        let (cpu, nic) = (random.below(cpus) as usize, random.below(nics) as usize);
        // A calculation names no interface.
        let nic = if what == What::Calc { 0 } else { nic };
        let above = ranks[rank].len();
        let mut waits = Vec::new();
        for other in above.saturating_sub(3)..above {
            if random.below(3) < 2 {
                waits.push((other, random.one_in(4)));
            }
        }
        ranks[rank].push(Operation {
            what,
            size,
            peer,
            tag,
            cpu,
            nic,
            waits,
        });
    };
    for _ in 0..5 + random.below(40) {
        let (a, b) = (
            random.below(n as u64) as usize,
            random.below(n as u64) as usize,
        );
        if random.one_in(3) || a == b {
            let ns = random.below(most_ns);
            add(a, What::Calc, ns, None, None, random);
            continue;
        }
        let (bytes, tag) = (random.below(40_000), random.below(3));
        let from = (!random.one_in(8)).then_some(a);
        let of = (!random.one_in(8)).then_some(tag);
        add(a, What::Send, bytes, Some(b), Some(tag), random);
        add(b, What::Receive, bytes, from, of, random);
    }
    ranks
}

fn text(ranks: &Ranks) -> String {
    let mut text = format!("num_ranks {}\n", ranks.len());
    let any = |number: Option<String>| number.unwrap_or_else(|| "-1".into());
    for (rank, operations) in ranks.iter().enumerate() {
        text += &format!("rank {rank} {{\n");
        for (i, it) in operations.iter().enumerate() {
            let (size, peer) = (it.size, any(it.peer.map(|peer| peer.to_string())));
            let tag = any(it.tag.map(|tag| tag.to_string()));
            text += &match it.what {
                What::Calc => format!("l{i}: calc {size} cpu {}\n", it.cpu),
                What::Send => format!(
                    "l{i}: send {size}b to {peer} tag {tag} cpu {} nic {}\n",
                    it.cpu, it.nic
                ),
                What::Receive => format!(
                    "l{i}: recv {size}b from {peer} tag {tag} cpu {} nic {}\n",
                    it.cpu, it.nic
                ),
            };
            for (on, begins) in &it.waits {
                text += &format!(
                    "l{i} {} l{on}\n",
                    if *begins { "irequires" } else { "requires" }
                );
            }
        }
        text += "}\n";
    }
    text
}

/// o 700 and 900, g 400, O 0.25, and L, G and S as given.
fn machine(random: &mut Random) -> Machine {
    let link = |latency_ns, gap_per_byte_ns, rendezvous| Link {
        latency_ns,
        send_overhead_ns: 700,
        receive_overhead_ns: 900,
        gap_ns: 400,
        gap_per_byte_ns,
        overhead_per_byte_ns: 0.25,
        rendezvous_bytes: 20_000,
        rendezvous,
        ..Link::default()
    };
    let rendezvous = if random.one_in(2) {
        Rendezvous::Sent
    } else {
        Rendezvous::Fetched
    };
    Machine {
        processors: 1 + random.below(3) as u32,
        intra: link(500, 0.5, rendezvous),
        inter: link(2500, 1.5, rendezvous),
        noise: random.one_in(3).then(|| {
            let every_ns = 1 + random.below(300_000);
            let (share, seed) = (random.below(50), random.below(9));
            noise::noise(every_ns, share, seed, random.below(6))
        }),
        switch: random.one_in(2).then(|| NearLink {
            nodes: 1 + random.below(2) as u32,
            link: link(900, 1.25, rendezvous),
            uplinks: (!random.one_in(3)).then(|| 1 + random.below(2) as u32),
        }),
        group: random.one_in(2).then(|| NearLink {
            nodes: 2 * (1 + random.below(2) as u32),
            link: link(1700, 1.0, rendezvous),
            uplinks: (!random.one_in(3)).then(|| 1 + random.below(2) as u32),
        }),
        ..Machine::default()
    }
}

/// An event at a rank.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Event {
    Begin(usize),
    End(usize),
    /// The bytes, or a request to send: sender and its operation.
    Message(usize, usize, bool),
    /// Sender of the answer, own send, receive.
    ClearToSend(usize, usize, usize),
    /// Sender, its operation, own receive.
    Data(usize, usize, usize),
    /// The receiver has the bytes of this send.
    Fetched(usize),
}

#[derive(Default)]
struct State {
    cpus: [u64; 2],
    sending: [u64; 2],
    receiving: [u64; 2],
    posted: Vec<usize>,
    unexpected: Vec<(usize, usize, bool)>,
    /// For each operation: the number of operations it still waits for, and whether it has ended.
    left: Vec<usize>,
    has_ended: Vec<bool>,
    /// With one processor and one interface, operations that wait for an operation are scheduled
    /// when it begins.
    is_single: bool,
}

/// Time, number, rank.
type Scheduled = (u64, u64, usize, Event);

struct Naive<'a> {
    ranks: &'a Ranks,
    machine: &'a Machine,
    states: Vec<State>,
    events: Vec<Scheduled>,
    n_scheduled: u64,
    shared: SharedLinks<Scheduled>,
    /// Operations that wait for nothing any more: time, rank and operation.
    ready: Vec<(u64, usize, usize)>,
}

impl<'a> Naive<'a> {
    /// When each rank has ended; nothing where an operation never does, or a message is never received.
    fn finishes(ranks: &'a Ranks, machine: &'a Machine) -> Option<Vec<u64>> {
        let state = |operations: &Vec<Operation>| State {
            left: operations.iter().map(|it| it.waits.len()).collect(),
            has_ended: vec![false; operations.len()],
            is_single: operations.iter().all(|it| it.cpu == 0 && it.nic == 0),
            ..State::default()
        };
        let mut naive = Self {
            ranks,
            machine,
            states: ranks.iter().map(state).collect(),
            events: Vec::new(),
            n_scheduled: 0,
            shared: SharedLinks::default(),
            ready: Vec::new(),
        };
        for (rank, operations) in ranks.iter().enumerate() {
            let free = operations
                .iter()
                .enumerate()
                .filter(|(_, it)| it.waits.is_empty());
            naive.ready.extend(free.map(|(op, _)| (0, rank, op)));
            naive.begin_ready();
        }
        let key = |(at, number, ..): &Scheduled| (*at, *number);
        loop {
            let first = (0..naive.events.len()).min_by_key(|i| key(&naive.events[*i]));
            let next = first.map_or(u64::MAX, |first| naive.events[first].0);
            if naive.shared.next_ns() < next {
                if let Some((waited, (at, number, rank, event))) = naive.shared.step() {
                    naive.events.push((at + waited, number, rank, event));
                }
                continue;
            }
            let Some(first) = first else { break };
            let (at, number, rank, event) = naive.events.swap_remove(first);
            match naive.event(at, rank, event) {
                Ok(()) => naive.begin_ready(),
                Err(free) => naive.events.push((free, number, rank, event)),
            }
        }
        let is_done = |state: &State| {
            state.has_ended.iter().all(|ended| *ended) && state.unexpected.is_empty()
        };
        let finish = |state: &State| state.cpus.into_iter().max().unwrap_or(0);
        naive
            .states
            .iter()
            .all(is_done)
            .then(|| naive.states.iter().map(finish).collect())
    }

    fn schedule(&mut self, at: u64, rank: usize, event: Event) {
        let scheduled = (at, self.n_scheduled, rank, event);
        self.n_scheduled += 1;
        let (peer, bytes) = match event {
            Event::Begin(_) | Event::End(_) => {
                self.events.push(scheduled);
                return;
            }
            Event::Message(peer, op, false) | Event::Data(peer, op, _) => {
                (peer, self.ranks[peer][op].size)
            }
            Event::Message(peer, _, true) | Event::ClearToSend(peer, ..) => (peer, 0),
            Event::Fetched(op) => (self.ranks[rank][op].peer.unwrap_or(0), 0),
        };
        let ranks = [peer as u32, rank as u32];
        let leaving = Leaving {
            at: at - 700 - self.link(rank, peer).latency_ns,
            keeps_ns: self.gap(rank, peer, bytes),
            ranks,
            nodes: ranks.map(|rank| rank / self.per_node() as u32),
            is_data: matches!(event, Event::Data(..)),
        };
        let left = self.shared.leave(self.machine, leaving, scheduled);
        self.events.extend(left);
    }

    fn per_node(&self) -> usize {
        let n = self.ranks.len();
        n.div_ceil(n.div_ceil(self.machine.processors as usize))
    }

    fn link(&self, a: usize, b: usize) -> &'a Link {
        let per_node = self.per_node();
        if a / per_node == b / per_node {
            &self.machine.intra
        } else {
            network::between(self.machine, [a, b].map(|rank| (rank / per_node) as u32))
        }
    }

    /// # Errors
    /// Something is busy: when it is free.
    fn event(&mut self, at: u64, rank: usize, event: Event) -> Result<(), u64> {
        match event {
            Event::Begin(op) => self.begin(at, rank, op),
            Event::End(op) => {
                self.release(at, rank, op, false);
                Ok(())
            }
            Event::Message(peer, op, is_request) => self.arrive(at, rank, (peer, op, is_request)),
            Event::ClearToSend(peer, op, receive) => self.send_bytes(at, rank, (peer, op, receive)),
            Event::Data(peer, op, receive) => {
                let (bytes, it) = (self.ranks[peer][op].size, &self.ranks[rank][receive]);
                let end = self.take_bytes(at, rank, (peer, bytes), (it.cpu, it.nic))?;
                let link = self.link(rank, peer);
                if link.rendezvous == Rendezvous::Fetched {
                    self.schedule(end + 700 + link.latency_ns, peer, Event::Fetched(op));
                }
                self.end(end, rank, receive);
                Ok(())
            }
            Event::Fetched(op) => {
                let end = self.occupy(at, rank, self.ranks[rank][op].cpu, 900)?;
                self.end(end, rank, op);
                Ok(())
            }
        }
    }

    /// Takes a processor from now on; returns when it is released.
    fn occupy(&mut self, at: u64, rank: usize, cpu: usize, ns: u64) -> Result<u64, u64> {
        let free = self.states[rank].cpus[cpu];
        if free > at {
            return Err(free);
        }
        self.states[rank].cpus[cpu] = at + ns;
        Ok(at + ns)
    }

    /// The bytes of a message arrive: they take a processor and an interface.
    fn take_bytes(
        &mut self,
        at: u64,
        rank: usize,
        (peer, bytes): (usize, u64),
        (cpu, nic): (usize, usize),
    ) -> Result<u64, u64> {
        let free = self.states[rank].cpus[cpu].max(self.states[rank].receiving[nic]);
        if free > at {
            return Err(free);
        }
        let gap = self.gap(rank, peer, bytes);
        self.states[rank].receiving[nic] = at + 400 + gap;
        self.occupy(at, rank, cpu, 900 + gap.max(per_byte(0.25, bytes)))
    }

    /// (s - 1) G.
    fn gap(&self, a: usize, b: usize, bytes: u64) -> u64 {
        per_byte(self.link(a, b).gap_per_byte_ns, bytes)
    }

    fn begin(&mut self, at: u64, rank: usize, op: usize) -> Result<(), u64> {
        let it = self.ranks[rank][op].clone();
        let is_eager = it.size.max(1) <= 20_000;
        let end = match it.what {
            What::Receive => {
                self.post(at, rank, op);
                return Ok(());
            }
            What::Calc => {
                let processor = (rank as u32, it.cpu as u32);
                let end = noise::end_ns(self.machine, processor, at, it.size);
                self.occupy(at, rank, it.cpu, end - at)?
            }
            What::Send => {
                let free = self.states[rank].sending[it.nic];
                if free > at {
                    return Err(free.max(self.states[rank].cpus[it.cpu]));
                }
                let bytes = if is_eager { per_byte(0.25, it.size) } else { 0 };
                self.occupy(at, rank, it.cpu, 700 + bytes)?
            }
        };
        self.release(at, rank, op, true);
        let peer = it.peer.unwrap_or(0);
        if it.what == What::Send {
            let arrival = at + 700 + self.link(rank, peer).latency_ns;
            if is_eager {
                self.states[rank].sending[it.nic] = at + 400 + self.gap(rank, peer, it.size);
            }
            self.schedule(arrival, peer, Event::Message(rank, op, !is_eager));
        }
        if it.what == What::Calc || is_eager {
            self.end(end, rank, op);
        }
        Ok(())
    }

    /// Whether a receive is for a message.
    fn fits(&self, rank: usize, receive: usize, (peer, op): (usize, usize)) -> bool {
        let (receive, send) = (&self.ranks[rank][receive], &self.ranks[peer][op]);
        receive.peer.is_none_or(|from| from == peer)
            && receive.tag.is_none_or(|tag| send.tag == Some(tag))
    }

    /// A receive is posted.
    fn post(&mut self, at: u64, rank: usize, op: usize) {
        self.release(at, rank, op, true);
        let unexpected = &self.states[rank].unexpected;
        let Some(first) = unexpected
            .iter()
            .position(|(peer, send, _)| self.fits(rank, op, (*peer, *send)))
        else {
            self.states[rank].posted.push(op);
            return;
        };
        let (peer, send, is_request) = self.states[rank].unexpected.remove(first);
        if is_request {
            self.answer(at, rank, (peer, send, op));
        } else {
            self.end(at, rank, op);
        }
    }

    /// A message or a request to send arrives.
    fn arrive(
        &mut self,
        at: u64,
        rank: usize,
        (peer, op, is_request): (usize, usize, bool),
    ) -> Result<(), u64> {
        let first = self.states[rank]
            .posted
            .iter()
            .position(|receive| self.fits(rank, *receive, (peer, op)));
        let receive = first.map(|first| self.states[rank].posted[first]);
        let (cpu, nic) = receive.map_or((0, 0), |receive| {
            (self.ranks[rank][receive].cpu, self.ranks[rank][receive].nic)
        });
        let end = match is_request {
            true => self.occupy(at, rank, cpu, 900)?,
            false => self.take_bytes(at, rank, (peer, self.ranks[peer][op].size), (cpu, nic))?,
        };
        match (first, receive) {
            (Some(first), Some(receive)) => {
                self.states[rank].posted.remove(first);
                if is_request {
                    self.answer(at, rank, (peer, op, receive));
                } else {
                    self.end(end, rank, receive);
                }
            }
            _ => self.states[rank].unexpected.push((peer, op, is_request)),
        }
        Ok(())
    }

    /// A request to send has its receive: the sender may send, or the receiver fetches the bytes.
    fn answer(&mut self, at: u64, rank: usize, (peer, op, receive): (usize, usize, usize)) {
        let link = self.link(rank, peer);
        let processor = &mut self.states[rank].cpus[self.ranks[rank][receive].cpu];
        let begin = at.max(*processor);
        *processor = begin + 700;
        let way = 700 + link.latency_ns;
        match link.rendezvous {
            Rendezvous::Sent => {
                self.schedule(begin + way, peer, Event::ClearToSend(rank, op, receive))
            }
            Rendezvous::Fetched => {
                self.schedule(begin + 2 * way, rank, Event::Data(peer, op, receive))
            }
        }
    }

    fn send_bytes(
        &mut self,
        at: u64,
        rank: usize,
        (peer, op, receive): (usize, usize, usize),
    ) -> Result<(), u64> {
        let it = self.ranks[rank][op].clone();
        let end = self.occupy(at, rank, it.cpu, 700 + per_byte(0.25, it.size))?;
        let begin = self.states[rank].sending[it.nic].max(at);
        self.states[rank].sending[it.nic] = begin + 400 + self.gap(rank, peer, it.size);
        let arrival = begin + 700 + self.link(rank, peer).latency_ns;
        self.schedule(arrival, peer, Event::Data(rank, op, receive));
        self.end(end, rank, op);
        Ok(())
    }

    /// An operation ends, now or later.
    fn end(&mut self, at: u64, rank: usize, op: usize) {
        let state = &mut self.states[rank];
        state.has_ended[op] = true;
        if state.is_single {
            self.release(at, rank, op, false);
        } else {
            self.schedule(at, rank, Event::End(op));
        }
    }

    /// Operations that waited for an operation, or for its begin, wait for one less.
    fn release(&mut self, at: u64, rank: usize, op: usize, begins: bool) {
        for later in op + 1..self.ranks[rank].len() {
            if self.ranks[rank][later].waits.contains(&(op, begins)) {
                self.states[rank].left[later] -= 1;
                if self.states[rank].left[later] == 0 {
                    self.ready.push((at, rank, later));
                }
            }
        }
    }

    /// Schedules operations that wait for nothing any more; a receive is posted at once if nothing can come before
    /// it.
    fn begin_ready(&mut self) {
        while !self.ready.is_empty() {
            let (at, rank, op) = self.ready.remove(0);
            let is_receive = self.ranks[rank][op].what == What::Receive;
            if is_receive && (self.states[rank].is_single || at == 0) {
                self.post(at, rank, op);
            } else {
                self.schedule(at, rank, Event::Begin(op));
            }
        }
    }
}

/// (s - 1) times something, half up; a message without bytes has one.
fn per_byte(ns: f64, bytes: u64) -> u64 {
    (ns * (bytes.max(1) - 1) as f64 + 0.5) as u64
}

#[test]
fn random_schedules_end_as_the_stated_rules_say() {
    let mut random = Random(18);
    let (mut ended, mut messages, mut delayed) = (0, 0, 0);
    let mut derivatives = [0; 2];
    for round in 0..1000 {
        let (ranks, machine) = (random_schedule(&mut random), machine(&mut random));
        let text = text(&ranks);
        let expected = Naive::finishes(&ranks, &machine);
        let outcome = super::run_on(&text, &machine);
        let outcome = outcome.ok().filter(|outcome| outcome.unreceived == 0);
        messages += outcome.as_ref().map_or(0, |outcome| outcome.messages);
        let found = outcome.map(|outcome| {
            outcome
                .processes
                .iter()
                .map(|rank| rank.finish_ns)
                .collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "round {round}: {machine:?}\n{text}");
        ended += usize::from(expected.is_some());
        if expected.is_some() {
            let run = paths::of_schedule(&text);
            let found = paths::check(&paths::without_obstacles(machine), &run);
            for (sum, found) in derivatives.iter_mut().zip(found) {
                *sum += found;
            }
        }
        let free = network::without_uplinks(machine);
        delayed += usize::from(expected != Naive::finishes(&ranks, &free));
    }
    assert!(
        ended > 500 && messages > 5000 && delayed > 50,
        "{ended} ended, {messages} messages, {delayed} delayed by others"
    );
    let [same, other] = derivatives;
    assert!(
        same > 5000 && other < same / 20,
        "{same} derivatives, {other} where the path changes"
    );
}

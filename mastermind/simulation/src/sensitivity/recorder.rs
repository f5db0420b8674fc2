//! Keeps for each clock of an engine, and for each message in flight, the chain of stages that led to its time.
//!
//! A node is the end of a stage: its time, its stage, and the node that it began at. The begin of a stage is the latest
//! of the resources it needs (processor, interface, arrival), whose node is its parent. So the nodes form a tree whose
//! root is the begin of the run, and the path from the last clock to the root is the longest path. Nodes that no clock
//! and no message can reach any more are dropped when their number has doubled, so memory grows with the messages in
//! flight and the open branches, not with the events of the run.

use std::collections::HashMap;

use crate::loggp::{MessagePart, Protocol, Stage};
use crate::machine::Link;

/// The place of a node in the list of all.
pub(crate) type NodeId = u32;

/// The begin of the run.
const ROOT: NodeId = 0;

/// Nodes from which on unreachable ones are dropped: 32 MB of them, arbitrary.
const MIN_DROPPED: usize = 1 << 20;

/// Stage that takes the time of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Work of an element on the rank.
    Work {
        /// The element.
        element: u32,
    },
    /// A stage of a message, with its bytes, between the rank and another one.
    Message {
        /// The stage.
        stage: Stage,
        /// The other rank.
        peer: u32,
        /// Bytes of the message.
        bytes: u64,
    },
    /// Time that no stage explains.
    Other,
}

/// The end of a step.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Node {
    pub(crate) at: u64,
    parent: NodeId,
    pub(crate) rank: u32,
    pub(crate) step: Step,
}

/// A clock of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// A processor, by number.
    Processor(u8),
    /// The sending half of an interface, by number.
    Sending(u8),
    /// The receiving half of an interface, by number.
    Receiving(u8),
}

/// Where a stage of a message takes place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    rank: u32,
    /// The rank at the other end.
    peer: u32,
    /// Processor and interface of the rank, by number.
    processor: u8,
    interface: u8,
    link: &'a Link,
    /// Of the message.
    bytes: u64,
}

impl<'a> Site<'a> {
    /// # Arguments
    /// * `ranks` - the rank, and the other end
    /// * `numbers` - of the processor and the interface of the rank
    pub(crate) fn new(
        (rank, peer): (u32, u32),
        (processor, interface): (u8, u8),
        link: &'a Link,
        bytes: u64,
    ) -> Self {
        Self {
            rank,
            peer,
            processor,
            interface,
            link,
            bytes,
        }
    }
}

/// The nodes of a run, and which of them each clock and message has. An engine calls one method for each thing that
/// happens, before or after it moves its own clocks.
pub(crate) struct Recorder {
    nodes: Vec<Node>,
    /// The arrival of the message that was sent last, until it is scheduled.
    leaving: NodeId,
    /// Begin of the current event, and the end of its use of the processor.
    begun: NodeId,
    ended: NodeId,
    /// By rank: the place of its first clock, and its number of processors.
    ranks: Vec<(u32, u32)>,
    clocks: Vec<NodeId>,
    /// Events that are scheduled, by a key of the engine.
    scheduled: HashMap<u64, NodeId>,
    drop_at: usize,
}

impl Recorder {
    /// # Arguments
    /// * `ranks` - processors and interfaces of each rank
    pub(crate) fn new(ranks: impl Iterator<Item = (u16, u16)>) -> Self {
        let mut n_clocks = 0_u32;
        let ranks = ranks.map(|(processors, interfaces)| {
            let first = n_clocks;
            n_clocks += u32::from(processors) + 2 * u32::from(interfaces);
            (first, u32::from(processors))
        });
        let ranks = ranks.collect();
        Self {
            nodes: vec![Node {
                at: 0,
                parent: ROOT,
                rank: 0,
                step: Step::Other,
            }],
            leaving: ROOT,
            begun: ROOT,
            ended: ROOT,
            ranks,
            clocks: vec![ROOT; n_clocks as usize],
            scheduled: HashMap::new(),
            drop_at: MIN_DROPPED,
        }
    }

    fn place(&self, rank: u32, clock: Clock) -> usize {
        let (first, processors) = self.ranks[rank as usize];
        let offset = match clock {
            Clock::Processor(number) => u32::from(number),
            Clock::Sending(number) => processors + 2 * u32::from(number),
            Clock::Receiving(number) => processors + 2 * u32::from(number) + 1,
        };
        (first + offset) as usize
    }

    fn clock(&self, rank: u32, clock: Clock) -> NodeId {
        self.clocks[self.place(rank, clock)]
    }

    fn set_clock(&mut self, rank: u32, clock: Clock, node: NodeId) {
        let place = self.place(rank, clock);
        self.clocks[place] = node;
    }

    /// An engine has scheduled the message that was sent last.
    pub(crate) fn schedule_message(&mut self, key: u64) {
        self.scheduled.insert(key, self.leaving);
    }

    /// An engine has scheduled events that follow from the end of the current event.
    pub(crate) fn schedule_end(&mut self, key: u64) {
        self.scheduled.insert(key, self.ended);
    }

    /// An engine has scheduled events that follow from the begin of the current event.
    pub(crate) fn schedule_begin(&mut self, key: u64) {
        self.scheduled.insert(key, self.begun);
    }

    /// A scheduled event found a clock of its rank busy until `at`, and is tried again then: from now on it follows from that clock,
    /// which may be another one than it takes in the end.
    pub(crate) fn defer(&mut self, key: u64, rank: u32, at: u64) {
        let first = self.ranks[rank as usize].0 as usize;
        let end = self
            .ranks
            .get(rank as usize + 1)
            .map(|next| next.0 as usize);
        let clocks = &self.clocks[first..end.unwrap_or(self.clocks.len())];
        let is_busy = |node: &&NodeId| self.nodes[**node as usize].at == at;
        if let Some(node) = clocks.iter().find(is_busy) {
            self.scheduled.insert(key, *node);
        }
    }

    /// A scheduled event is due that takes no time; events that follow from it begin now.
    pub(crate) fn pass(&mut self, key: u64) {
        self.begun = self.scheduled.remove(&key).unwrap_or(ROOT);
        self.ended = self.begun;
    }

    /// A rank continues by itself when its first processor is free.
    pub(crate) fn resume(&mut self, rank: u32) {
        self.begun = self.clock(rank, Clock::Processor(0));
        self.ended = self.begun;
    }

    /// Work from `at` to `end_ns`.
    ///
    /// # Arguments
    /// * `key` - of the event, if it was scheduled with one
    pub(crate) fn work(
        &mut self,
        (rank, processor): (u32, u8),
        key: Option<u64>,
        (at, end_ns): (u64, u64),
        element: u32,
    ) {
        let clock = Clock::Processor(processor);
        self.begin(rank, at, &[self.clock(rank, clock)], key);
        self.ended = self.add(self.begun, (rank, end_ns), Step::Work { element });
        self.set_clock(rank, clock, self.ended);
    }

    /// A send begins at `at`.
    pub(crate) fn send(&mut self, site: &Site<'_>, key: Option<u64>, at: u64, protocol: Protocol) {
        let processor = Clock::Processor(site.processor);
        let sending = Clock::Sending(site.interface);
        // A request needs a free interface too, though it does not occupy it.
        let needed = [processor, sending].map(|clock| self.clock(site.rank, clock));
        let stage = match protocol {
            Protocol::Eager => Stage::SendEager,
            Protocol::Rendezvous => Stage::SendControl,
        };
        self.begin(site.rank, at, &needed, key);
        self.ended = self.stage(self.begun, site, stage);
        self.set_clock(site.rank, processor, self.ended);
        if protocol == Protocol::Eager {
            let sent = self.stage(self.begun, site, Stage::Interface);
            self.set_clock(site.rank, sending, sent);
        }
        self.leaving = self.flight(self.begun, site, Stage::Flight);
    }

    /// A part of a message is received at `at`; its rank is the receiver.
    pub(crate) fn arrive(&mut self, site: &Site<'_>, key: u64, at: u64, part: MessagePart) {
        let processor = Clock::Processor(site.processor);
        let receiving = Clock::Receiving(site.interface);
        let mut needed = vec![self.clock(site.rank, processor)];
        if part.has_bytes() {
            needed.push(self.clock(site.rank, receiving));
        }
        self.begin(site.rank, at, &needed, Some(key));
        self.ended = self.stage(self.begun, site, Stage::Arrival(part));
        self.set_clock(site.rank, processor, self.ended);
        if part.has_bytes() {
            let received = self.stage(self.begun, site, Stage::Interface);
            self.set_clock(site.rank, receiving, received);
        }
    }

    /// The receiver answers a request at `at`.
    ///
    /// # Arguments
    /// * `is_fetched` - whether the answer brings the bytes, not a clear to send
    pub(crate) fn answer(&mut self, site: &Site<'_>, at: u64, is_fetched: bool) {
        let processor = Clock::Processor(site.processor);
        let needed = [self.clock(site.rank, processor), self.ended];
        let begin = self.latest(site.rank, at, &needed);
        let end = self.stage(begin, site, Stage::SendControl);
        self.set_clock(site.rank, processor, end);
        self.leaving = match is_fetched {
            true => self.stage(begin, site, Stage::Fetch),
            false => self.flight(begin, site, Stage::Flight),
        };
    }

    /// The bytes of a rendezvous leave: the clear to send began to arrive, or the interface is free only later.
    pub(crate) fn send_data(&mut self, site: &Site<'_>, at: u64) {
        let sending = Clock::Sending(site.interface);
        let needed = [self.clock(site.rank, sending), self.begun];
        let begin = self.latest(site.rank, at, &needed);
        let sent = self.stage(begin, site, Stage::Interface);
        self.set_clock(site.rank, sending, sent);
        self.leaving = self.flight(begin, site, Stage::Flight);
    }

    /// A receiver that has fetched the bytes informs the sender.
    pub(crate) fn send_fetched(&mut self, site: &Site<'_>) {
        self.leaving = self.flight(self.ended, site, Stage::Flight);
    }

    /// Begins an event at `at`, the latest of the nodes it needs.
    fn begin(&mut self, rank: u32, at: u64, needed: &[NodeId], key: Option<u64>) {
        let scheduled = key.and_then(|key| self.scheduled.remove(&key));
        let needed: Vec<NodeId> = needed.iter().copied().chain(scheduled).collect();
        self.begun = self.latest(rank, at, &needed);
    }

    /// Adds a stage that begins at `parent` and ends on the rank of the site.
    fn stage(&mut self, parent: NodeId, site: &Site<'_>, stage: Stage) -> NodeId {
        self.add_stage(parent, site, (site.rank, site.peer), stage)
    }

    /// Adds a stage that ends at the other rank.
    fn flight(&mut self, parent: NodeId, site: &Site<'_>, stage: Stage) -> NodeId {
        self.add_stage(parent, site, (site.peer, site.rank), stage)
    }

    fn add_stage(
        &mut self,
        parent: NodeId,
        site: &Site<'_>,
        (rank, peer): (u32, u32),
        stage: Stage,
    ) -> NodeId {
        let bytes = site.bytes;
        let terms = stage.terms(site.link, bytes).into_iter();
        let takes_ns: u64 = terms.map(|(.., ns)| ns).sum();
        let at = self.nodes[parent as usize].at.saturating_add(takes_ns);
        let step = Step::Message { stage, peer, bytes };
        self.add(parent, (rank, at), step)
    }

    /// The latest of several nodes, as the begin of a stage at `at`; of equal ones the last.
    fn latest(&mut self, rank: u32, at: u64, needed: &[NodeId]) -> NodeId {
        let mut latest = ROOT;
        for node in needed {
            if self.nodes[*node as usize].at >= self.nodes[latest as usize].at {
                latest = *node;
            }
        }
        if self.nodes[latest as usize].at == at {
            latest
        } else {
            self.add(latest, (rank, at), Step::Other)
        }
    }

    /// Adds the end of a step that began at `parent`.
    ///
    /// # Arguments
    /// * `end` - the rank, and when the step ends, nanoseconds
    fn add(&mut self, parent: NodeId, end: (u32, u64), step: Step) -> NodeId {
        let (rank, at) = end;
        self.nodes.push(Node {
            at,
            parent,
            rank,
            step,
        });
        (self.nodes.len() - 1) as NodeId
    }

    /// Drops nodes that nothing can reach, if there are many.
    pub(crate) fn drop_unreachable(&mut self) {
        if self.nodes.len() < self.drop_at {
            return;
        }
        let mut is_kept = vec![false; self.nodes.len()];
        is_kept[ROOT as usize] = true;
        let current = [&self.begun, &self.ended, &self.leaving];
        for node in self
            .clocks
            .iter()
            .chain(self.scheduled.values())
            .chain(current)
        {
            is_kept[*node as usize] = true;
        }
        // A parent comes before its children.
        for at in (0..self.nodes.len()).rev() {
            if is_kept[at] {
                is_kept[self.nodes[at].parent as usize] = true;
            }
        }
        let mut moved = vec![ROOT; self.nodes.len()];
        let mut n_kept = 0;
        for at in 0..self.nodes.len() {
            if is_kept[at] {
                let node = self.nodes[at];
                moved[at] = n_kept;
                self.nodes[n_kept as usize] = Node {
                    parent: moved[node.parent as usize],
                    ..node
                };
                n_kept += 1;
            }
        }
        self.nodes.truncate(n_kept as usize);
        let nodes = self.clocks.iter_mut().chain(self.scheduled.values_mut());
        let current = [&mut self.begun, &mut self.ended, &mut self.leaving];
        let nodes = nodes.chain(current);
        nodes.for_each(|node| *node = moved[*node as usize]);
        self.drop_at = (2 * self.nodes.len()).max(MIN_DROPPED);
    }

    /// The longest path, from its end to the begin of the run: each node with the time at which its step began.
    pub(crate) fn longest_path(&self) -> impl Iterator<Item = (Node, u64)> + '_ {
        // A run ends when its last processor is free, even if an interface is not.
        let processors = self.ranks.iter().flat_map(|(first, n)| *first..first + n);
        let latest = processors.map(|clock| self.clocks[clock as usize]);
        let latest = latest.max_by_key(|node| self.nodes[*node as usize].at);
        let before = |node: NodeId| (node != ROOT).then_some(node);
        let parent = move |node: &NodeId| before(self.nodes[*node as usize].parent);
        let nodes = std::iter::successors(latest.and_then(before), parent);
        nodes.map(|node| {
            let node = self.nodes[node as usize];
            (node, self.nodes[node.parent as usize].at)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(element: u32) -> Step {
        Step::Work { element }
    }

    #[test]
    fn the_way_to_the_last_clock_is_the_longest_path() {
        let link = Link::default();
        let mut recorder = Recorder::new([(1, 1), (2, 1)].into_iter());
        let site = |rank, processor| Site::new((rank, 1 - rank), (processor, 0), &link, 11);
        recorder.work((0, 0), None, (0, 100), 7);
        recorder.send(&site(0, 0), None, 100, Protocol::Eager);
        recorder.schedule_message(9);
        recorder.work((1, 1), None, (0, 20), 1);
        // The message comes after o + L, and is received 30 ns later.
        let at = 100 + link.lookahead_ns() + 30;
        recorder.arrive(&site(1, 1), 9, at, MessagePart::Eager);
        recorder.work((1, 1), None, (at + link.receive_ns(11), at + 5000), 2);
        let path = recorder.longest_path();
        let path: Vec<_> = path
            .map(|(node, began)| (node.step, node.at - began))
            .collect();
        let message = |stage, peer| Step::Message {
            stage,
            peer,
            bytes: 11,
        };
        let expected = [
            (work(2), 5000 - link.receive_ns(11)),
            (
                message(Stage::Arrival(MessagePart::Eager), 0),
                link.receive_ns(11),
            ),
            (Step::Other, 30),
            (message(Stage::Flight, 0), link.lookahead_ns()),
            (work(7), 100),
        ];
        assert_eq!(path, expected);
    }

    /// Two ranks work in turns: of a million nodes a few are left, and the path is whole.
    #[test]
    fn nodes_that_nothing_reaches_are_dropped() {
        let mut recorder = Recorder::new([(1, 1), (1, 1)].into_iter());
        let n = MIN_DROPPED as u64 * 3;
        for i in 0..n {
            // Rank 1 waits for rank 0 at each hundredth step.
            let rank = u32::from(i % 2 == 1);
            let own = recorder.clock(rank, Clock::Processor(0));
            let other = recorder.clock(0, Clock::Processor(0));
            let parent = match i % 200 == 199 {
                true => other,
                false => own,
            };
            let at = recorder.nodes[parent as usize].at + 1;
            let node = recorder.add(parent, (rank, at), work(0));
            recorder.set_clock(rank, Clock::Processor(0), node);
            recorder.drop_unreachable();
        }
        let last = recorder.longest_path().map(|(node, _)| node.at).next();
        assert!(last >= Some(n / 2));
        let time: u64 = recorder
            .longest_path()
            .map(|(node, began)| node.at - began)
            .sum();
        assert_eq!(Some(time), last);
        assert!(recorder.nodes.len() < 2 * MIN_DROPPED);
    }
}

//! What happens to a message.

use super::chain::Chain;
use super::error::Stop;
use super::heap::Order;
use super::messages::{Message, NIL, Part};
use super::process::Waits;
use super::run::Engine;
use crate::machine::Rendezvous;
use crate::program::{Mode, Operation};

impl Engine<'_> {
    /// The message that a process takes next: when it can, when that was settled, and which.
    #[inline]
    pub(super) fn next_message(&mut self, process: u32) -> Option<(u64, Chain, u32)> {
        let p = &mut self.processes[process as usize];
        // What is there before it can be taken waits, in the order in which it was settled.
        while p.arrivals != NIL {
            let message = self.pool.get(p.arrivals);
            let has_bytes = message.load.part().has_bytes();
            if message.at >= p.free(has_bytes) {
                break;
            }
            let index = p.arrivals;
            p.arrivals = self.pool.pop(index, Order::Arrival);
            let heap = &mut p.waiting[usize::from(!has_bytes)];
            *heap = self.pool.push(*heap, index, Order::Settled);
        }
        let [bytes, plain] = p.waiting;
        let waiting = [(bytes, p.free(true)), (plain, p.free(false))];
        let mut first = None;
        if p.arrivals != NIL {
            let message = self.pool.get(p.arrivals);
            first = Some((message.at, message.made, message.peer, p.arrivals));
        }
        for (index, at) in waiting {
            if index == NIL {
                continue;
            }
            let message = self.pool.get(index);
            let found = (at, message.made, message.peer, index);
            let comes_before = |first: (u64, Chain, u32, u32)| {
                let (key, other) = ((found.0, found.1, found.2), (first.0, first.1, first.2));
                key < other || (key == other && self.pool.is_older(index, first.3))
            };
            if first.is_none_or(comes_before) {
                first = Some(found);
            }
        }
        first.map(|(at, made, _, index)| (at, made, index))
    }

    /// Receives the message that [`Engine::next_message`] gave.
    #[inline]
    pub(super) fn look(&mut self, process: u32, index: u32) -> Result<(), Stop> {
        let message = *self.pool.get(index);
        let (part, bytes) = (message.load.part(), message.load.bytes());
        let link = self.link(process, message.peer);
        let has_bytes = part.has_bytes();
        let p = &mut self.processes[process as usize];
        let mut now = message.at;
        if index == p.arrivals {
            p.arrivals = self.pool.pop(index, Order::Arrival);
        } else {
            now = p.free(has_bytes);
            let heap = &mut p.waiting[usize::from(!has_bytes)];
            *heap = self.pool.pop(index, Order::Settled);
            self.pool.get_mut(index).at = now;
        }
        if let Some((at, made, other)) = self.next_message(process)
            && (at, made) == (now, message.made)
            // Those of one sender are in the order in which it sent them.
            && self.pool.get(other).peer != message.peer
        {
            self.undecided += 1;
        }
        let p = &mut self.processes[process as usize];
        let mut occupied = link.receive_overhead_ns;
        if has_bytes {
            occupied = link.receive_ns(bytes);
            p.receiving = now + link.gap_ns + link.bytes_gap_ns(bytes);
        } else if part == Part::Acknowledge {
            occupied = link.send_overhead_ns + link.bytes_overhead_ns(bytes);
        }
        p.processor = now + occupied;
        p.overhead += occupied;
        let message = Message { at: now, ..message };
        match part {
            Part::Data => {
                self.pool.release(index);
                if link.rendezvous == Rendezvous::Fetched {
                    self.tell_sender(process, &message);
                }
                self.received(process, message.load.receiver(), now, message.made)
            }
            Part::Fetched => {
                self.pool.release(index);
                self.received(process, message.load.sender(), now, message.made)
            }
            Part::Acknowledge => {
                self.pool.release(index);
                self.send_data(process, &message)
            }
            Part::Eager | Part::Request => self.matched(process, index),
        }
    }

    /// A message of a program is there: gives it to the receive that waits for it, or keeps it.
    fn matched(&mut self, process: u32, index: u32) -> Result<(), Stop> {
        let message = *self.pool.get(index);
        let p = &mut self.processes[process as usize];
        let mut receive = NIL;
        if p.posted != NIL {
            let long = &mut self.long_posted;
            receive = long.receive(&self.pool, process, p.posted, index);
            if receive != NIL {
                long.remove(&mut self.pool, process, &mut p.posted, receive);
            }
        }
        let mode = if receive != NIL {
            let mode = self.pool.get(receive).load.receiver();
            self.pool.release(receive);
            mode
        } else if p.waits == Waits::Receive && fits((p.peer, p.tag), &message) {
            p.waits = Waits::Bytes;
            Mode::Blocking
        } else {
            let last = &mut p.early;
            self.long_early.append(&mut self.pool, process, last, index);
            return Ok(());
        };
        self.pool.release(index);
        if message.load.part() == Part::Request {
            self.acknowledge(process, &message, mode, message.at, message.made);
            return Ok(());
        }
        self.received(process, mode, message.at, message.made)
    }

    /// Answers a request: the receive that it is for is there.
    pub(super) fn acknowledge(
        &mut self,
        process: u32,
        request: &Message,
        mode: Mode,
        now: u64,
        made: Chain,
    ) {
        let link = self.link(process, request.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.processor.max(now);
        p.processor = begin + link.send_overhead_ns;
        p.overhead += link.send_overhead_ns;
        if link.rendezvous == Rendezvous::Fetched {
            // Nothing that the sender does decides when the bytes come.
            let bytes = Message {
                at: begin + link.fetch_ns(),
                made: made.then(now),
                load: request.load.part_of_it(Part::Data).received_by(mode),
                ..*request
            };
            self.post(process, bytes);
            return;
        }
        let answer = Message {
            at: begin + link.lookahead_ns(),
            made: made.then(now),
            peer: process,
            load: request.load.part_of_it(Part::Acknowledge).received_by(mode),
            ..*request
        };
        self.post(request.peer, answer);
    }

    /// Tells the sender of a message whose bytes have been fetched.
    fn tell_sender(&mut self, process: u32, fetched: &Message) {
        let link = self.link(process, fetched.peer);
        let told = Message {
            at: self.processes[process as usize].processor + link.lookahead_ns(),
            made: fetched.made.then(fetched.at),
            peer: process,
            load: fetched.load.part_of_it(Part::Fetched),
            ..*fetched
        };
        self.post(fetched.peer, told);
    }

    /// Sends the bytes of a message whose request was answered.
    fn send_data(&mut self, process: u32, answer: &Message) -> Result<(), Stop> {
        let link = self.link(process, answer.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.sending.max(answer.at);
        p.sending = begin + link.gap_ns + link.bytes_gap_ns(answer.load.bytes());
        let data = Message {
            at: begin + link.lookahead_ns(),
            made: answer.made.then(answer.at),
            peer: process,
            load: answer.load.part_of_it(Part::Data),
            ..*answer
        };
        self.post(answer.peer, data);
        match answer.load.sender() {
            Mode::Blocking => self.resume(process, answer.at, answer.made),
            mode => self.complete(process, mode, answer.at, answer.made),
        }
    }

    /// A message of a process is over.
    fn received(&mut self, process: u32, mode: Mode, now: u64, made: Chain) -> Result<(), Stop> {
        match mode {
            Mode::Blocking => self.resume(process, now, made),
            mode => self.complete(process, mode, now, made),
        }
    }

    /// A nonblocking operation is complete.
    fn complete(&mut self, process: u32, mode: Mode, now: u64, made: Chain) -> Result<(), Stop> {
        let p = &mut self.processes[process as usize];
        let which = usize::from(mode == Mode::Internal);
        p.pending[which] -= 1;
        let waited = matches!(
            &self.operations[p.at as usize],
            Operation::Wait { mode: waited, .. } if *waited == mode
        );
        if p.waits == Waits::Rest && p.pending[which] == 0 && waited {
            return self.resume(process, now, made);
        }
        Ok(())
    }

    /// What a process waited for has happened.
    #[inline]
    fn resume(&mut self, process: u32, now: u64, made: Chain) -> Result<(), Stop> {
        let p = &self.processes[process as usize];
        let elapsed = p.processor - p.since;
        if let Operation::Send { element, .. }
        | Operation::Receive { element, .. }
        | Operation::Wait { element, .. } = &self.operations[p.at as usize]
        {
            self.count(process, *element, 0, elapsed);
        }
        let p = &mut self.processes[process as usize];
        p.waits = Waits::No;
        p.at += 1;
        self.advance(process, now, made)
    }
}

/// Whether a receive of this peer and tag takes a message.
#[inline]
pub(super) fn fits((peer, tag): (u32, i32), message: &Message) -> bool {
    use super::advance::{ANY_TAG, ANYBODY};
    (peer == message.peer || peer == ANYBODY)
        && (tag == message.tag || (tag == ANY_TAG && message.tag >= 0))
}

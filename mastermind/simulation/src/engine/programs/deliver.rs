//! Arrival of a message: it takes the processor, then a posted receive, or waits as unexpected.
//!
//! A message that was sent lies in the receiver's heap `arrivals` until the receiver is visited. It
//! is taken when the processor is free, and the receiving interface too if it has bytes; those that
//! come earlier wait, and are taken in the order of their tie-break keys. Taking a message occupies
//! the processor whether or not a receive is posted for it; only then is it matched.
//!
//! A rendezvous is several messages, and each of its parts goes through here:
//!
//! ```text
//! Rendezvous::Sent                                   Rendezvous::Fetched
//! sender                      receiver               sender                      receiver
//! RequestToSend ────────────▶ match_message          RequestToSend ────────────▶ match_message
//! send_data ◀──────────────── ClearToSend                                        Data, from itself
//! Data ─────────────────────▶ received               complete ◀───────────────── Fetched
//! ```
//!
//! The request is answered when its receive is posted, here if that was before, otherwise in
//! `advance`. With `Fetched`, the receiver gets the bytes whatever the sender does meanwhile; the
//! sender only learns that they are gone. Costs come from `loggp`, lists of receives and messages
//! from `events`.

use crate::engine::error::BoxedError;
use crate::engine::programs::process::WaitState;
use crate::engine::programs::run::Engine;
use crate::events::heap::{Order, PairingHeaps};
use crate::events::lists::fits;
use crate::events::messages::{Message, NIL};
use crate::events::tie_break::TieBreak;
use crate::loggp::MessagePart;
use crate::machine::Rendezvous;
use crate::sensitivity::recorder::Site;
use mastermind_programs::{Mode, Operation};

impl Engine<'_> {
    /// Sends a message to a process.
    #[inline]
    pub(crate) fn post(&mut self, to: u32, message: Message) {
        let part = message.load.part();
        let is_first = matches!(part, MessagePart::Eager | MessagePart::RequestToSend);
        // A rendezvous is one message, whatever its parts.
        self.messages += u64::from(is_first);
        self.report_flight(to, &message);
        if self.shared_links.is_some() {
            self.want_shared_links(to, message);
        } else {
            self.post_passed(to, message);
        }
    }

    /// The same, past the links that it shares.
    #[inline]
    pub(crate) fn post_passed(&mut self, to: u32, message: Message) {
        let index = self.pool.add(message);
        if let Some(recorder) = &mut self.recorder {
            recorder.schedule_message(u64::from(index));
        }
        let p = &mut self.processes[to as usize];
        p.arrivals = self.pool.push(p.arrivals, index, Order::Arrival);
        // Only a message that is now the first to arrive can bring the visit forward.
        let at = message.at.max(p.processor);
        if p.arrivals == index {
            if self.is_oversubscribed {
                self.calendar.visit(self.node(to), at);
            } else if at < p.due {
                self.calendar.visit(to, at);
            }
        }
    }

    /// The message that a process takes next: when it can, and which.
    #[inline]
    pub(crate) fn next_message(&mut self, process: u32) -> Option<(u64, u32)> {
        let p = &self.processes[process as usize];
        if p.waiting != [NIL; 2] {
            return self.next_of_waiting(process);
        }
        if p.arrivals == NIL {
            return None;
        }
        let message = self.pool.get(p.arrivals);
        // The common case has no waiting message, and is decided by the first arrival alone.
        if message.at < p.free(message.load.part().has_bytes()) {
            return self.next_of_waiting(process);
        }
        Some((message.at, p.arrivals))
    }

    /// The same, if one came before it can be taken.
    #[inline(never)]
    fn next_of_waiting(&mut self, process: u32) -> Option<(u64, u32)> {
        let p = &mut self.processes[process as usize];
        // Messages that arrive before they can be taken wait, in the order of the tie-break keys.
        while p.arrivals != NIL {
            let message = self.pool.get(p.arrivals);
            let has_bytes = message.load.part().has_bytes();
            if message.at >= p.free(has_bytes) {
                break;
            }
            let index = p.arrivals;
            p.arrivals = self.pool.pop(index, Order::Arrival);
            let heap = &mut p.waiting[usize::from(!has_bytes)];
            *heap = self.pool.push(*heap, index, Order::TieBreak);
        }
        let [bytes, plain] = p.waiting;
        let mut first = None;
        if p.arrivals != NIL {
            first = Some((self.pool.get(p.arrivals).at, p.arrivals));
        }
        for (index, at) in [(bytes, p.free(true)), (plain, p.free(false))] {
            let comes_before = |first: (u64, u32)| {
                at < first.0
                    || (at == first.0 && self.pool.is_before(index, first.1, Order::TieBreak))
            };
            if index != NIL && first.is_none_or(comes_before) {
                first = Some((at, index));
            }
        }
        first
    }

    /// Whether another message could be taken at `now` as well as the one that the process takes.
    #[inline]
    fn has_tie(&self, process: u32, now: u64, message: &Message) -> bool {
        let p = &self.processes[process as usize];
        let [bytes, plain] = p.waiting;
        let mut peer = None;
        for (index, at) in [
            (bytes, p.free(true)),
            (plain, p.free(false)),
            (p.arrivals, 0),
        ] {
            if index == NIL {
                continue;
            }
            let other = self.pool.get(index);
            let at = if index == p.arrivals { other.at } else { at };
            if at == now && other.tie_break == message.tie_break {
                peer = Some(peer.map_or(other.peer, |peer: u32| peer.min(other.peer)));
            }
        }
        // Messages of one sender are in the order in which it sent them.
        peer.is_some_and(|peer| peer != message.peer)
    }

    /// Receives the message that [`Engine::next_message`] gave.
    #[inline]
    pub(crate) fn handle_arrival(&mut self, process: u32, index: u32) -> Result<(), BoxedError> {
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
            *heap = self.pool.pop(index, Order::TieBreak);
            self.pool.get_mut(index).at = now;
        }
        self.ties += u64::from(self.has_tie(process, now, &message));
        let p = &mut self.processes[process as usize];
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((process, message.peer), (0, 0), link, bytes);
            recorder.arrive(&site, u64::from(index), now, part);
        }
        let occupied = link.arrival_ns(part, bytes);
        if has_bytes {
            p.receiving = now + link.interface_ns(bytes);
        }
        p.processor = now + occupied;
        p.overhead += occupied;
        let message = Message { at: now, ..message };
        match part {
            MessagePart::Data => {
                self.pool.release(index);
                if link.rendezvous == Rendezvous::Fetched {
                    self.send_fetched(process, &message);
                }
                self.received(process, message.load.receiver(), &message)
            }
            MessagePart::Fetched => {
                self.pool.release(index);
                self.complete(process, message.load.sender(), now, message.tie_break)
            }
            MessagePart::ClearToSend => {
                self.pool.release(index);
                self.send_data(process, &message)
            }
            MessagePart::Eager | MessagePart::RequestToSend => {
                self.match_message(process, index, &message)
            }
        }
    }

    /// An eager message or a request to send has arrived: gives it to its posted receive, or keeps it as unexpected.
    fn match_message(
        &mut self,
        process: u32,
        index: u32,
        message: &Message,
    ) -> Result<(), BoxedError> {
        let p = &mut self.processes[process as usize];
        // In the order of posting: the line has the oldest receives, the list those behind, and a
        // blocking receive, which is the operation of the process itself, is the latest.
        let mut receive = NIL;
        let lines = &mut self.posted_lines;
        let in_line = lines
            .get_mut(process as usize)
            .and_then(|line| line.take(message));
        if in_line.is_none() && p.posted != NIL {
            let long = &mut self.posted_index;
            receive = long.receive(&self.pool, process, p.posted, index);
            if receive != NIL {
                long.remove(&mut self.pool, process, &mut p.posted, receive);
            }
        }
        let mode = if let Some(mode) = in_line {
            mode
        } else if receive != NIL {
            let mode = self.pool.get(receive).load.receiver();
            self.pool.release(receive);
            mode
        } else if p.wait_state == WaitState::Receive && fits((p.peer, p.tag), message) {
            p.wait_state = WaitState::Data;
            Mode::Blocking
        } else {
            let last = &mut p.unexpected;
            self.unexpected_index
                .append(&mut self.pool, process, last, index);
            return Ok(());
        };
        self.pool.release(index);
        if message.load.part() == MessagePart::RequestToSend {
            self.answer_request(process, message, mode, message.at, message.tie_break);
            return Ok(());
        }
        self.received(process, mode, message)
    }

    /// Answers a request to send: its receive is posted.
    pub(crate) fn answer_request(
        &mut self,
        process: u32,
        request: &Message,
        mode: Mode,
        now: u64,
        tie_break: TieBreak,
    ) {
        let link = self.link(process, request.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.processor.max(now);
        let answer = link.answer();
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((process, request.peer), (0, 0), link, request.load.bytes());
            recorder.answer(&site, begin, answer.part == MessagePart::Data);
        }
        p.processor = begin + answer.processor_ns;
        p.overhead += answer.processor_ns;
        let (to, peer) = match answer.part {
            MessagePart::ClearToSend => (request.peer, process),
            _ => (process, request.peer),
        };
        let next = Message {
            at: begin + answer.travel_ns,
            tie_break: tie_break.then(now),
            peer,
            load: request.load.part_of_it(answer.part).received_by(mode),
            ..*request
        };
        self.post(to, next);
    }

    /// Notifies the sender of a rendezvous that its bytes have been fetched.
    fn send_fetched(&mut self, process: u32, fetched: &Message) {
        let link = self.link(process, fetched.peer);
        if let Some(recorder) = &mut self.recorder {
            recorder.send_fetched(&Site::new((process, fetched.peer), (0, 0), link, 0));
        }
        let notification = Message {
            at: self.processes[process as usize].processor + link.lookahead_ns(),
            tie_break: fetched.tie_break.then(fetched.at),
            peer: process,
            load: fetched.load.part_of_it(MessagePart::Fetched),
            ..*fetched
        };
        self.post(fetched.peer, notification);
    }

    /// Sends the data of a rendezvous: its clear to send has arrived.
    fn send_data(&mut self, process: u32, answer: &Message) -> Result<(), BoxedError> {
        let link = self.link(process, answer.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.sending.max(answer.at);
        if let Some(recorder) = &mut self.recorder {
            let site = Site::new((process, answer.peer), (0, 0), link, answer.load.bytes());
            recorder.send_data(&site, begin);
        }
        p.sending = begin + link.interface_ns(answer.load.bytes());
        let data = Message {
            at: begin + link.lookahead_ns(),
            tie_break: answer.tie_break.then(answer.at),
            peer: process,
            load: answer.load.part_of_it(MessagePart::Data),
            ..*answer
        };
        self.post(answer.peer, data);
        self.complete(process, answer.load.sender(), answer.at, answer.tie_break)
    }

    /// A message has arrived for a receive that waits in this mode.
    fn received(&mut self, process: u32, mode: Mode, message: &Message) -> Result<(), BoxedError> {
        let operations = self.operations;
        let p = &self.processes[process as usize];
        let (operation, wait_state) = (&operations[p.at as usize], p.wait_state);
        if let (Mode::Blocking, Operation::Receive { sender, .. }) = (mode, operation) {
            self.set_sender(process, *sender, f64::from(message.peer));
        }
        if let Some(completions) = self.completions_of(process, mode) {
            // Also for a receive that no wait has reached yet: a later wait for any takes it from
            // the queue.
            completions.n_open -= 1;
            completions.senders.push_back(message.peer);
            if let (WaitState::Pending, Operation::WaitAny { sender, .. }) = (wait_state, operation)
            {
                completions.senders.pop_front();
                self.set_sender(process, *sender, f64::from(message.peer));
                self.processes[process as usize].pending[0] -= 1;
                return self.resume(process, message.at, message.tie_break);
            }
        }
        self.complete(process, mode, message.at, message.tie_break)
    }

    /// An operation that may have been waited for is complete.
    fn complete(
        &mut self,
        process: u32,
        mode: Mode,
        now: u64,
        tie_break: TieBreak,
    ) -> Result<(), BoxedError> {
        if mode == Mode::Blocking {
            return self.resume(process, now, tie_break);
        }
        let p = &mut self.processes[process as usize];
        let which = usize::from(mode == Mode::Internal);
        p.pending[which] -= 1;
        // Operations of a collective and those of the program are waited for separately.
        let waited = matches!(
            &self.operations[p.at as usize],
            Operation::Wait { mode: waited, .. } if *waited == mode
        );
        if p.wait_state == WaitState::Pending && p.pending[which] == 0 && waited {
            if let Some(completions) = self.completions_of(process, mode) {
                completions.senders.clear();
            }
            return self.resume(process, now, tie_break);
        }
        Ok(())
    }

    /// Continues a process: the event it waited for has happened.
    #[inline]
    fn resume(&mut self, process: u32, now: u64, tie_break: TieBreak) -> Result<(), BoxedError> {
        let p = &self.processes[process as usize];
        let elapsed = p.processor - p.since;
        if let Operation::Send { element, .. }
        | Operation::Receive { element, .. }
        | Operation::Wait { element, .. }
        | Operation::WaitAny { element, .. } = &self.operations[p.at as usize]
        {
            self.count(process, *element, 0, elapsed);
        }
        let p = &mut self.processes[process as usize];
        p.wait_state = WaitState::Ready;
        p.at += 1;
        self.advance(process, now, tie_break)
    }
}

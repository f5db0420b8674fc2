//! What happens to a message.

use super::chain::Chain;
use super::error::Stop;
use super::messages::{Message, NIL, Part};
use super::process::Waits;
use super::run::Engine;
use crate::machine::Rendezvous;
use crate::program::{Mode, Operation};

impl Engine<'_> {
    /// Looks at the first message that has come to a process.
    #[inline]
    pub(super) fn look(&mut self, process: u32, index: u32) -> Result<(), Stop> {
        let message = *self.pool.get(index);
        let link = self.link(process, message.peer);
        let p = &mut self.processes[process as usize];
        p.arrivals = message.next;
        let now = message.at;
        let has_bytes = matches!(message.part, Part::Eager | Part::Data);
        let mut free = p.processor;
        if has_bytes {
            free = free.max(p.receiving);
        }
        if free > now {
            // It keeps its place among those that wait: by when it was sent.
            self.events -= 1;
            self.pool.get_mut(index).at = free;
            let head = p.arrivals;
            p.arrivals = self.pool.arrive(head, index, &mut self.undecided);
            return Ok(());
        }
        let mut occupied = link.receive_overhead_ns;
        if has_bytes {
            occupied = link.receive_ns(message.bytes);
            p.receiving = now + link.gap_ns + link.bytes_gap_ns(message.bytes);
        } else if message.part == Part::Acknowledge {
            occupied = link.send_overhead_ns + link.bytes_overhead_ns(message.bytes);
        }
        p.processor = now + occupied;
        p.overhead += occupied;
        match message.part {
            Part::Data => {
                self.pool.release(index);
                if link.rendezvous == Rendezvous::Fetched {
                    self.tell_sender(process, &message);
                }
                self.received(process, message.receiver, now, message.made)
            }
            Part::Fetched => {
                self.pool.release(index);
                self.received(process, message.sender, now, message.made)
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
        let p = &self.processes[process as usize];
        let mut receive = NIL;
        if p.posted != NIL {
            let fit = |posted: &Message| fits((posted.peer, posted.tag), &message);
            let head;
            (head, receive) = self.pool.take(p.posted, fit);
            self.processes[process as usize].posted = head;
        }
        let p = &mut self.processes[process as usize];
        let mode = if receive != NIL {
            let mode = self.pool.get(receive).receiver;
            self.pool.release(receive);
            mode
        } else if p.waits == Waits::Receive && fits((p.peer, p.tag), &message) {
            p.waits = Waits::Bytes;
            Mode::Blocking
        } else {
            let early = p.early;
            self.processes[process as usize].early = self.pool.append(early, index);
            return Ok(());
        };
        self.pool.release(index);
        if message.part == Part::Request {
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
                part: Part::Data,
                receiver: mode,
                ..*request
            };
            self.post(process, bytes);
            return;
        }
        let answer = Message {
            at: begin + link.lookahead_ns(),
            made: made.then(now),
            peer: process,
            part: Part::Acknowledge,
            receiver: mode,
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
            part: Part::Fetched,
            ..*fetched
        };
        self.post(fetched.peer, told);
    }

    /// Sends the bytes of a message whose request was answered.
    fn send_data(&mut self, process: u32, answer: &Message) -> Result<(), Stop> {
        let link = self.link(process, answer.peer);
        let p = &mut self.processes[process as usize];
        let begin = p.sending.max(answer.at);
        p.sending = begin + link.gap_ns + link.bytes_gap_ns(answer.bytes);
        let data = Message {
            at: begin + link.lookahead_ns(),
            made: answer.made.then(answer.at),
            peer: process,
            part: Part::Data,
            ..*answer
        };
        self.post(answer.peer, data);
        match answer.sender {
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

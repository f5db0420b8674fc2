//! Messages of a schedule at links that they share.

use crate::engine::schedules::{DATA, EAGER, LARGE, Run, STEP};
use crate::events::NEVER;
use crate::events::queue::{Event, ORDER_BITS};
use crate::events::shared_links::Passage;
use crate::loggp::{MessagePart, bytes_on_the_wire};

/// The order of an event without a rank, the last of its nanosecond: messages have their turns at shared links. The
/// greatest number is the queue's own.
pub(super) const TURNS: u64 = (1 << ORDER_BITS) - 2;

impl Run<'_, '_> {
    /// Sends a part of a message.
    #[inline]
    pub(super) fn post(&mut self, what: u64, part: Event) {
        if self.shared_links.is_some() {
            self.want_shared_links(what, part);
        } else {
            self.push(what, part);
        }
    }

    /// Has a part of a message wait for its turn at the links that it shares; it has its place in the order from now on.
    #[cold]
    #[inline(never)]
    fn want_shared_links(&mut self, what: u64, part: Event) {
        self.order += STEP;
        let order = self.order | what;
        let link = self.link(part.rank, part.peer);
        let bytes = match what {
            EAGER => u64::from(part.other),
            LARGE | DATA => bytes_on_the_wire(self.op(part.peer, part.op).size),
            _ => 0,
        };
        let kind = MessagePart::of_number(what).unwrap_or(MessagePart::Eager);
        let ranks = [part.peer, part.rank];
        let leaves_ns = part.at - link.lookahead_ns();
        let passage = Passage {
            leaves_ns,
            keeps_ns: link.passing_ns(kind, bytes),
            ranks,
            nodes: ranks.map(|rank| rank / self.per_node),
            is_data: what == DATA,
            message: Event { order, ..part },
        };
        let links = self.shared_links.as_mut();
        match links.and_then(|links| links.want(passage)) {
            Some(event) => self.queue.push(event),
            None => self.turns_at(leaves_ns),
        }
    }

    /// Has messages take their turns at the end of this nanosecond, or of an earlier one first.
    fn turns_at(&mut self, at: u64) {
        if at >= self.turns_ns {
            return;
        }
        self.turns_ns = at;
        self.queue.push(Event {
            at,
            order: TURNS,
            ..Event::default()
        });
    }

    /// Delivers the messages that pass their shared links by the end of this nanosecond.
    #[cold]
    #[inline(never)]
    pub(super) fn pass_shared_links(&mut self, now: u64) {
        let Some(links) = &mut self.shared_links else {
            return;
        };
        if now != self.turns_ns {
            return;
        }
        self.turns_ns = NEVER;
        while let Some((waited_ns, event)) = links.pass(now.saturating_add(1)) {
            let at = event.at.saturating_add(waited_ns);
            self.queue.push(Event { at, ..event });
        }
        if let Some(next_ns) = links.next_ns() {
            self.turns_at(next_ns);
        }
    }
}

//! Messages of a program at shared links: those that leave in a window pass the links before it ends.

use crate::engine::programs::run::Engine;
use crate::events::messages::Message;
use crate::events::shared_links::Passage;
use crate::loggp::MessagePart;

impl Engine<'_> {
    /// Has a part of a message wait for its turn at the links that it shares.
    #[cold]
    #[inline(never)]
    pub(crate) fn want_shared_links(&mut self, to: u32, message: Message) {
        let link = self.link(message.peer, to);
        let (part, bytes) = (message.load.part(), message.load.bytes());
        let ranks = [message.peer, to];
        let passage = Passage {
            leaves_ns: message.at - link.lookahead_ns(),
            keeps_ns: link.passing_ns(part, bytes),
            ranks,
            nodes: ranks.map(|rank| self.node(rank)),
            is_data: part == MessagePart::Data,
            message: (to, message),
        };
        let links = self.shared_links.as_mut();
        if let Some((to, message)) = links.and_then(|links| links.want(passage)) {
            self.post_passed(to, message);
        }
    }

    /// Delivers the messages that have passed their shared links in the present window, and returns the earliest time
    /// at which another one needs a link.
    #[inline]
    pub(crate) fn pass_shared_links(&mut self) -> Option<u64> {
        let end_ns = self.calendar.end_ns();
        while let Some((waited_ns, (to, message))) = self.shared_links.as_mut()?.pass(end_ns) {
            let at = message.at.saturating_add(waited_ns);
            self.post_passed(to, Message { at, ..message });
        }
        self.shared_links.as_ref()?.next_ns()
    }
}

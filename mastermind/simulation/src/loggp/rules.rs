//! Costs of the parts of a message.

use super::link::{Link, Rendezvous};

/// Part of a message: the whole of an eager message, or a part of a rendezvous.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum MessagePart {
    /// The bytes, sent at once.
    Eager = 1,
    /// From the sender of a rendezvous: requests to send the bytes.
    RequestToSend = 2,
    /// From the receiver of a rendezvous: grants the request.
    ClearToSend = 3,
    /// The bytes of a rendezvous.
    Data = 4,
    /// From a receiver that has fetched the bytes itself: reports the end.
    Fetched = 5,
}

impl MessagePart {
    /// All, by their numbers.
    pub(crate) const ALL: [Self; 5] = [
        Self::Eager,
        Self::RequestToSend,
        Self::ClearToSend,
        Self::Data,
        Self::Fetched,
    ];

    /// The part of a number from 1 to 5.
    #[inline]
    pub(crate) fn of_number(number: u64) -> Option<Self> {
        Self::ALL.get((number as usize).wrapping_sub(1)).copied()
    }

    /// Whether it carries the bytes of the message, and so occupies the receiving interface.
    #[inline]
    pub(crate) fn has_bytes(self) -> bool {
        matches!(self, Self::Eager | Self::Data)
    }
}

/// How a message of some size is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// The bytes go at once and wait at the receiver.
    Eager,
    /// The bytes wait at the sender until a receive is posted for them.
    Rendezvous,
}

/// Time that sending occupies, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SendTime {
    /// Of the processor.
    pub(crate) processor_ns: u64,
    /// Of the sending interface; `None` if it is not used.
    pub(crate) interface_ns: Option<u64>,
}

/// Answer of a posted receive to a request to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Processor time of the receiver, nanoseconds.
    pub(crate) processor_ns: u64,
    /// Resulting part: the clear to send, which goes to the sender, or the data, which come to the receiver.
    pub(crate) part: MessagePart,
    /// From the begin of the answer to the arrival of that part, nanoseconds.
    pub(crate) travel_ns: u64,
}

/// Bytes that the rules count: a message without bytes takes as long as one byte.
#[inline]
pub(crate) fn bytes_on_the_wire(bytes: u64) -> u64 {
    bytes.max(1)
}

impl Protocol {
    /// The part that a send puts in flight.
    #[inline]
    pub(crate) fn first_part(self) -> MessagePart {
        match self {
            Self::Eager => MessagePart::Eager,
            Self::Rendezvous => MessagePart::RequestToSend,
        }
    }
}

impl Link {
    /// Protocol of a message of this number of bytes: S decides.
    #[inline]
    pub(crate) fn protocol(&self, bytes: u64) -> Protocol {
        if bytes <= self.rendezvous_bytes {
            Protocol::Eager
        } else {
            Protocol::Rendezvous
        }
    }

    /// Resources of a send when it begins: an eager message as a whole, a rendezvous for its request to send.
    #[inline]
    pub(crate) fn send_time(&self, bytes: u64, protocol: Protocol) -> SendTime {
        match protocol {
            Protocol::Eager => SendTime {
                processor_ns: self.send_overhead_ns + self.bytes_overhead_ns(bytes),
                interface_ns: Some(self.interface_ns(bytes)),
            },
            Protocol::Rendezvous => SendTime {
                processor_ns: self.send_overhead_ns,
                interface_ns: None,
            },
        }
    }

    /// Time that the bytes of a message occupy an interface, at either end.
    #[inline]
    pub(crate) fn interface_ns(&self, bytes: u64) -> u64 {
        self.gap_ns + self.bytes_gap_ns(bytes)
    }

    /// Time for which a part of a message of `bytes` bytes occupies a shared link.
    pub(crate) fn passing_ns(&self, part: MessagePart, bytes: u64) -> u64 {
        if part.has_bytes() {
            self.bytes_gap_ns(bytes)
        } else {
            0
        }
    }

    /// Processor time at the process where a part of a message of this number of bytes arrives.
    #[inline(always)]
    pub(crate) fn arrival_ns(&self, part: MessagePart, bytes: u64) -> u64 {
        match part {
            MessagePart::Eager | MessagePart::Data => self.receive_ns(bytes),
            // The sender begins to send the bytes.
            MessagePart::ClearToSend => self.send_overhead_ns + self.bytes_overhead_ns(bytes),
            MessagePart::RequestToSend | MessagePart::Fetched => self.receive_overhead_ns,
        }
    }

    /// Answer of a receive to a request to send: allows the bytes to come, or fetches them.
    #[inline]
    pub(crate) fn answer(&self) -> Answer {
        let (part, travel_ns) = match self.rendezvous {
            Rendezvous::Sent => (MessagePart::ClearToSend, self.lookahead_ns()),
            // Nothing that the sender does decides when the bytes come.
            Rendezvous::Fetched => (MessagePart::Data, self.fetch_ns()),
        };
        Answer {
            processor_ns: self.send_overhead_ns,
            part,
            travel_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// L 1000, o 100 and 200, g 50, G 2, O 3, S 10.
    fn link(rendezvous: Rendezvous) -> Link {
        Link {
            latency_ns: 1000,
            send_overhead_ns: 100,
            receive_overhead_ns: 200,
            gap_ns: 50,
            gap_per_byte_ns: 2.0,
            overhead_per_byte_ns: 3.0,
            rendezvous_bytes: 10,
            rendezvous,
            ..Link::default()
        }
    }

    #[test]
    fn each_part_costs_what_the_table_says() {
        let link = link(Rendezvous::Sent);
        assert_eq!(
            [10, 11].map(|bytes| link.protocol(bytes)),
            [Protocol::Eager, Protocol::Rendezvous]
        );
        let eager = link.send_time(10, Protocol::Eager);
        assert_eq!((eager.processor_ns, eager.interface_ns), (127, Some(68)));
        let request = link.send_time(11, Protocol::Rendezvous);
        assert_eq!((request.processor_ns, request.interface_ns), (100, None));
        use MessagePart::{ClearToSend, Data, Eager, Fetched, RequestToSend};
        let arrivals = [Eager, Data, RequestToSend, ClearToSend, Fetched];
        assert_eq!(
            arrivals.map(|part| link.arrival_ns(part, 11)),
            [230, 230, 200, 130, 200]
        );
        assert_eq!(
            arrivals.map(MessagePart::has_bytes),
            [true, true, false, false, false]
        );
    }

    #[test]
    fn a_receive_lets_the_sender_send_or_fetches_the_bytes() {
        let [sent, fetched] = [Rendezvous::Sent, Rendezvous::Fetched].map(|who| link(who).answer());
        assert_eq!(
            (sent.part, sent.travel_ns),
            (MessagePart::ClearToSend, 1100)
        );
        assert_eq!((fetched.part, fetched.travel_ns), (MessagePart::Data, 2200));
        assert_eq!([sent, fetched].map(|answer| answer.processor_ns), [100; 2]);
    }
}

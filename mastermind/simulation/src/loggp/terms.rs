//! Which parameters a stage of a message consists of: the derivatives of the rules in `rules`.

use super::link::Link;
use super::rules::MessagePart;

/// A LogGP parameter of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter {
    /// L.
    Latency,
    /// o of the sender.
    SendOverhead,
    /// o of the receiver.
    ReceiveOverhead,
    /// g.
    Gap,
    /// G; of a link with pieces the time of the bytes by the piece of their size.
    GapPerByte,
    /// O.
    OverheadPerByte,
}

impl Parameter {
    /// All, in the order of a machine file.
    pub const ALL: [Self; 6] = [
        Self::Latency,
        Self::SendOverhead,
        Self::ReceiveOverhead,
        Self::Gap,
        Self::GapPerByte,
        Self::OverheadPerByte,
    ];

    /// The name of the parameter in a machine file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Latency => "latency_ns",
            Self::SendOverhead => "send_overhead_ns",
            Self::ReceiveOverhead => "receive_overhead_ns",
            Self::Gap => "gap_ns",
            Self::GapPerByte => "gap_per_byte_ns",
            Self::OverheadPerByte => "overhead_per_byte_ns",
        }
    }

    /// Unit that the derivative with respect to the parameter counts.
    pub fn counts(self) -> &'static str {
        match self {
            Self::GapPerByte | Self::OverheadPerByte => "bytes",
            Self::Latency | Self::SendOverhead | Self::ReceiveOverhead | Self::Gap => "messages",
        }
    }
}

/// A stage of a message, whose time the rules give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The sender's processor sends an eager message.
    SendEager,
    /// The sender's processor sends a request, or the receiver's an answer.
    SendControl,
    /// From a send to its arrival.
    Flight,
    /// From the answer of a receiver that fetches the bytes itself to their arrival.
    Fetch,
    /// The processor at which a part arrives.
    Arrival(MessagePart),
    /// An interface at either end.
    Interface,
}

impl Stage {
    /// The time of the stage by parameter.
    ///
    /// # Returns
    /// Parameter, its count (messages, or bytes behind the first one), and its time in nanoseconds. The times add up to
    /// the result of the rules.
    pub(crate) fn terms(self, link: &Link, bytes: u64) -> Vec<(Parameter, u64, u64)> {
        use Parameter::{Gap, GapPerByte, Latency, OverheadPerByte, ReceiveOverhead, SendOverhead};
        let behind_first = bytes.saturating_sub(1);
        let send = |n: u64| (SendOverhead, n, n * link.send_overhead_ns);
        let receive = (ReceiveOverhead, 1, link.receive_overhead_ns);
        let latency = |n: u64| (Latency, n, n * link.latency_ns);
        let (gap_ns, overhead_ns) = (link.bytes_gap_ns(bytes), link.bytes_overhead_ns(bytes));
        let gap_of_bytes = (GapPerByte, behind_first, gap_ns);
        let overhead_of_bytes = (OverheadPerByte, behind_first, overhead_ns);
        match self {
            Self::SendEager => vec![send(1), overhead_of_bytes],
            Self::SendControl => vec![send(1)],
            Self::Flight => vec![send(1), latency(1)],
            Self::Fetch => vec![send(2), latency(2)],
            Self::Arrival(MessagePart::Eager | MessagePart::Data) => {
                let longer = match gap_ns >= overhead_ns {
                    true => gap_of_bytes,
                    false => overhead_of_bytes,
                };
                vec![receive, longer]
            }
            Self::Arrival(MessagePart::ClearToSend) => vec![send(1), overhead_of_bytes],
            Self::Arrival(MessagePart::RequestToSend | MessagePart::Fetched) => vec![receive],
            Self::Interface => vec![(Gap, 1, link.gap_ns), gap_of_bytes],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::loggp::{Protocol, Rendezvous};

    /// The terms of each stage add up to the time that the engines take for it.
    #[test]
    fn terms_add_up_to_the_rules() {
        for (gap_per_byte_ns, overhead_per_byte_ns) in [(2.0, 3.0), (0.7, 0.3), (1.5, 0.0)] {
            let link = Link {
                gap_per_byte_ns,
                overhead_per_byte_ns,
                receive_overhead_ns: 77,
                rendezvous: Rendezvous::Fetched,
                ..Link::default()
            };
            for bytes in [1, 2, 1000, 123_457] {
                let sum = |stage: Stage| -> u64 {
                    let terms = stage.terms(&link, bytes);
                    terms.iter().map(|(.., ns)| ns).sum()
                };
                let send = link.send_time(bytes, Protocol::Eager);
                assert_eq!(sum(Stage::SendEager), send.processor_ns);
                assert_eq!(Some(sum(Stage::Interface)), send.interface_ns);
                assert_eq!(sum(Stage::SendControl), link.answer().processor_ns);
                assert_eq!(sum(Stage::Flight), link.lookahead_ns());
                assert_eq!(sum(Stage::Fetch), link.answer().travel_ns);
                for part in MessagePart::ALL {
                    assert_eq!(sum(Stage::Arrival(part)), link.arrival_ns(part, bytes));
                }
            }
        }
    }
}

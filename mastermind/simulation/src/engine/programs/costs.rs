//! Cost of an eager message, computed once for all messages of its size, in the two engines that visit a process
//! instead of each event (`eager`, `fixed_distances`).

use crate::loggp::{Protocol, bytes_on_the_wire};
use crate::machine::{Link, Machine};

/// Cost of a message of one size on one class of links, nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Costs {
    /// Of the sender's processor.
    pub(super) send_ns: u64,
    /// From the send to the arrival.
    pub(super) flight_ns: u64,
    /// Of the receiver's processor.
    pub(super) receive_ns: u32,
    /// Of either interface.
    pub(super) gap_ns: u32,
}

impl Costs {
    /// Costs of a message of `bytes` bytes; `None` if the message is not eager, or its times do not fit.
    pub(super) fn of(bytes: f64, link: &Link) -> Option<Self> {
        if !(0.0..=1e15).contains(&bytes) {
            return None;
        }
        let bytes = bytes_on_the_wire((bytes + 0.5) as u64);
        if link.protocol(bytes) != Protocol::Eager {
            return None;
        }
        Some(Self {
            send_ns: link.send_time(bytes, Protocol::Eager).processor_ns,
            flight_ns: link.lookahead_ns(),
            receive_ns: u32::try_from(link.receive_ns(bytes)).ok()?,
            gap_ns: u32::try_from(link.interface_ns(bytes)).ok()?,
        })
    }

    /// Costs of a message of `bytes` bytes in a node, and between nodes.
    pub(super) fn of_both(bytes: f64, machine: &Machine) -> Option<[Self; 2]> {
        Some([
            Self::of(bytes, &machine.intra)?,
            Self::of(bytes, &machine.inter)?,
        ])
    }
}

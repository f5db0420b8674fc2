//! A class of links and its LogGP parameters.

/// Which side moves the data of a rendezvous.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rendezvous {
    /// The sender, once it has the answer and its processor is free.
    #[default]
    Sent,
    /// The receiver, from the sender's memory: whatever the sender does meanwhile, it is only notified of
    /// the end.
    Fetched,
}

impl Rendezvous {
    /// Each with its name in a machine file.
    pub const ALL: [(&'static str, Self); 2] = [("sent", Self::Sent), ("fetched", Self::Fetched)];

    /// Its name in a machine file.
    pub fn name(self) -> &'static str {
        Self::ALL
            .into_iter()
            .find(|(_, rendezvous)| *rendezvous == self)
            .map_or("", |(name, _)| name)
    }
}

/// LogGP parameters of one class of links.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// L, nanoseconds.
    pub latency_ns: u64,
    /// o of the sender, nanoseconds.
    pub send_overhead_ns: u64,
    /// o of the receiver, nanoseconds.
    pub receive_overhead_ns: u64,
    /// g, nanoseconds.
    pub gap_ns: u64,
    /// G, nanoseconds a byte; it may be below 1.
    pub gap_per_byte_ns: f64,
    /// O, nanoseconds a byte.
    pub overhead_per_byte_ns: f64,
    /// S: messages of more bytes wait for their receiver.
    pub rendezvous_bytes: u64,
    /// Which side moves the bytes of those.
    pub rendezvous: Rendezvous,
    /// Sizes from which on the bytes take another time.
    pub pieces: Pieces,
}

/// Longest time of the bytes of a message, nanoseconds: longer than a run may take, and no clock overflows.
const MAX_BYTES_NS: f64 = 2.4e18;

/// Most pieces of a link.
pub const MOST_PIECES: usize = 6;

/// Messages of more than a number of bytes: `(s - 1) G` becomes `added_ns + (s - 1) G` with another G, not below 0.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Piece {
    /// Bytes; messages of more take this time, up to the next piece.
    pub above_bytes: u64,
    /// Nanoseconds; below 0 where a line through large sizes begins there.
    pub added_ns: f64,
    /// G, nanoseconds a byte.
    pub gap_per_byte_ns: f64,
}

/// Pieces in order of their sizes.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Pieces {
    n: usize,
    pieces: [Piece; MOST_PIECES],
}

impl Pieces {
    /// Pieces, sorted; `None` if there are more than [`MOST_PIECES`].
    pub fn new(pieces: &[Piece]) -> Option<Self> {
        let mut sorted = Self {
            n: pieces.len(),
            pieces: [Piece::default(); MOST_PIECES],
        };
        sorted
            .pieces
            .get_mut(..pieces.len())?
            .copy_from_slice(pieces);
        sorted.pieces[..pieces.len()].sort_by_key(|piece| piece.above_bytes);
        Some(sorted)
    }

    /// All, in order.
    pub fn as_slice(&self) -> &[Piece] {
        &self.pieces[..self.n]
    }

    /// `(s - 1) G` of the piece that holds `bytes`, if one does.
    fn bytes_gap_ns(&self, bytes: u64) -> Option<u64> {
        let pieces = self.as_slice().iter().rev();
        let piece = pieces.clone().find(|piece| bytes > piece.above_bytes)?;
        let ns = piece.added_ns + piece.gap_per_byte_ns * bytes.saturating_sub(1) as f64;
        // Half up; below 0 it is 0.
        Some((ns + 0.5).min(MAX_BYTES_NS) as u64)
    }
}

impl Default for Link {
    fn default() -> Self {
        Self {
            latency_ns: 2500,
            send_overhead_ns: 1500,
            receive_overhead_ns: 1500,
            gap_ns: 1000,
            gap_per_byte_ns: 1.0,
            overhead_per_byte_ns: 0.0,
            rendezvous_bytes: 65535,
            rendezvous: Rendezvous::default(),
            pieces: Pieces::default(),
        }
    }
}

impl Link {
    /// `(s - 1) G` in whole nanoseconds.
    #[inline]
    pub(crate) fn bytes_gap_ns(&self, bytes: u64) -> u64 {
        if self.pieces.n > 0
            && let Some(ns) = self.pieces.bytes_gap_ns(bytes)
        {
            return ns;
        }
        per_byte(self.gap_per_byte_ns, bytes)
    }

    /// `(s - 1) O` in whole nanoseconds.
    #[inline]
    pub(crate) fn bytes_overhead_ns(&self, bytes: u64) -> u64 {
        if self.overhead_per_byte_ns == 0.0 {
            0
        } else {
            per_byte(self.overhead_per_byte_ns, bytes)
        }
    }

    /// Processor time of receiving a message of this number of bytes.
    #[inline]
    pub fn receive_ns(&self, bytes: u64) -> u64 {
        self.receive_overhead_ns + self.bytes_gap_ns(bytes).max(self.bytes_overhead_ns(bytes))
    }

    /// Time from the begin of a send to the end of its receive, both processes free and no other message about.
    pub fn one_way_ns(&self, bytes: u64) -> u64 {
        let handshake = match bytes > self.rendezvous_bytes {
            true => 2 * self.lookahead_ns() + self.receive_overhead_ns,
            false => 0,
        };
        handshake + self.lookahead_ns() + self.receive_ns(bytes)
    }

    /// Time from the begin of the answer to a request to send to the arrival of the data, for either form of
    /// rendezvous.
    pub(crate) fn fetch_ns(&self) -> u64 {
        2 * self.lookahead_ns()
    }

    /// Least time from a send to its arrival.
    pub(crate) fn lookahead_ns(&self) -> u64 {
        self.send_overhead_ns + self.latency_ns
    }
}

#[inline]
fn per_byte(ns: f64, bytes: u64) -> u64 {
    // Half up; both fit into signed words, which are converted faster.
    let after_first = bytes.saturating_sub(1) as i64 as f64;
    (ns * after_first + 0.5).clamp(0.0, MAX_BYTES_NS) as i64 as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_of_a_message_take_the_time_of_its_piece() {
        let piece = |above_bytes, added_ns, gap_per_byte_ns| Piece {
            above_bytes,
            added_ns,
            gap_per_byte_ns,
        };
        let pieces = [piece(1000, -50.0, 0.5), piece(100, 20.0, 2.0)];
        let link = Link {
            pieces: Pieces::new(&pieces).expect("two"),
            ..Link::default()
        };
        let found = [1, 100, 101, 1000, 1001].map(|bytes| link.bytes_gap_ns(bytes));
        assert_eq!(found, [0, 99, 220, 2018, 450]);
        let below = Pieces::new(&[piece(0, -50.0, 0.5)]).expect("one");
        assert_eq!(
            Link {
                pieces: below,
                ..link
            }
            .bytes_gap_ns(11),
            0
        );
        assert_eq!(Pieces::new(&[piece(0, 0.0, 0.0); 7]), None);
    }
}

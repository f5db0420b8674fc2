//! The rules of time, once for both engines: the cost of each part of a message at either end, and its time of travel.
//!
//! [`Link`] contains the LogGP parameters of one class of links; `rules.rs` derives costs from them. All of it is pure
//! and inlined. An engine keeps the clocks (processor, sending and receiving interface) and decides the order; it never
//! computes a cost by itself. `terms.rs` splits each cost by parameter, for sensitivities.
//!
//! | part of a message | travels | sender's processor | sender's interface | receiver's processor | receiver's interface |
//! |---|---|---|---|---|---|
//! | eager message of s bytes | o + L | o + (s-1) O | g + (s-1) G | o + max((s-1) O, (s-1) G) | g + (s-1) G |
//! | request to send | o + L | o | | o | |
//! | clear to send | o + L | o | | o + (s-1) O | |
//! | data of a rendezvous | o + L | | g + (s-1) G | o + max((s-1) O, (s-1) G) | g + (s-1) G |
//! | data that the receiver fetches | 2 (o + L) | | | o + max((s-1) O, (s-1) G) | g + (s-1) G |
//! | note that they are fetched | o + L | | | o | |
//!
//! "Sender" and "receiver" refer to the part: the clear to send goes back from the receiver of the message. A message
//! without bytes takes as long as one byte.
//!
//! # Source
//! A. Alexandrov et al., "LogGP", SPAA 1995; T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim", HPDC 2010 (O and S); V. Adve
//! et al., "POEMS", IEEE TSE 2000, Eq. 1 to 3 (the rendezvous).

mod link;
mod rules;
mod terms;

pub use link::{Link, MOST_PIECES, Piece, Pieces, Rendezvous};
pub(crate) use rules::{MessagePart, Protocol, bytes_on_the_wire};
pub use terms::Parameter;
pub(crate) use terms::Stage;

//! ICMP of both versions: messages, and the errors that a router sends.

mod error_reply;
mod neighbour;
mod router_advertisement;
mod v4;
mod v6;

pub use error_reply::{IcmpError, NoReply, Unreachable, error_reply, may_reply};
pub use neighbour::{NeighbourAdvertisement, NeighbourSolicitation};
pub use router_advertisement::{RouterAdvertisement, is_router_solicitation};
pub use v4::{Icmpv4, Icmpv4Message};
pub use v6::{Icmpv6, Icmpv6Message};

/// An echo, request or reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo<'a> {
    /// Distinguishes senders on one host.
    pub identifier: u16,
    /// Distinguishes requests of one sender.
    pub sequence: u16,
    /// The data that the reply repeats.
    pub data: &'a [u8],
}

impl<'a> Echo<'a> {
    fn read(second_word: [u8; 4], data: &'a [u8]) -> Self {
        let [i0, i1, s0, s1] = second_word;
        Self { identifier: u16::from_be_bytes([i0, i1]), sequence: u16::from_be_bytes([s0, s1]), data }
    }

    const fn second_word(&self) -> [u8; 4] {
        let [i0, i1] = self.identifier.to_be_bytes();
        let [s0, s1] = self.sequence.to_be_bytes();
        [i0, i1, s0, s1]
    }
}

//! What a session has of its own beside others that were asked for in the same words.

use std::net::Ipv4Addr;

use causeway_types::Teid;

/// How many tunnels of each kind a session can have beside others, at most.
pub(super) const MOST: usize = 2;

/// The values that a session does not share with those that were asked for in the same words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Own {
    /// The IPv4 address of the UE, in all PDIs the same.
    pub ue: Option<Ipv4Addr>,
    /// The TEIDs that the UPF chose for its tunnels, in the order in which it did.
    pub tunnels: [Option<Teid>; MOST],
    /// The TEIDs of the tunnels that FARs lead into, in the order of the message that told of them.
    pub remotes: [Option<Teid>; MOST],
}

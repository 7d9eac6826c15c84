//! What a session has of its own beside others that were asked for in the same words.

use std::net::Ipv4Addr;

use causeway_types::{DualIp, FTeid, Teid};

use crate::LocalEndpoints;

/// How many tunnels of each kind a session can have beside others, at most.
pub(super) const MAX_TUNNELS: usize = 2;

/// The values that a session does not share with those that were asked for in the same words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SessionParams {
    /// The IPv4 address of the UE, in all PDIs the same.
    pub ue: Option<Ipv4Addr>,
    /// The TEIDs of the tunnels that end here: those that the UPF chose, in the order in which it did, or those that the SMF
    /// chose, in the order of the request.
    pub tunnels: [Option<Teid>; MAX_TUNNELS],
    /// The tunnels that FARs lead into, in the order in which the template has those.
    pub remotes: [Option<Remote>; MAX_TUNNELS],
}

impl SessionParams {
    /// UE and peers may have these addresses; whether that is so, validation asked of those that were met first alone.
    pub(super) fn has_valid_addresses(&self, endpoints: &LocalEndpoints) -> bool {
        self.ue.is_none_or(|ue| endpoints.is_usual(ue) && !ue.is_loopback() && !endpoints.has_local(ue))
            && self.has_remote_peers(endpoints)
    }

    /// The same of the peers alone.
    #[inline]
    pub(super) fn has_remote_peers(&self, endpoints: &LocalEndpoints) -> bool {
        self.remotes.iter().flatten().all(|remote| endpoints.is_usual(remote.addr))
    }
}

/// The far end of a tunnel over IPv4, as small as it can be kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Remote {
    /// The TEID there.
    pub teid: Teid,
    /// The peer.
    pub addr: Ipv4Addr,
}

impl Remote {
    /// `None`: it has an address of IPv6, or none.
    pub fn of(tunnel: FTeid) -> Option<Self> {
        let DualIp { v4, v6: None } = tunnel.addr else { return None };
        Some(Self { teid: tunnel.teid, addr: v4? })
    }
}

impl From<Remote> for FTeid {
    fn from(Remote { teid, addr }: Remote) -> Self {
        Self { teid, addr: addr.into() }
    }
}

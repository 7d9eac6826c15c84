//! The values that distinguish sessions of one profile.

use std::net::Ipv4Addr;

use causeway_types::{FTeidV4, Teid};

use crate::LocalEndpoints;

/// Maximum number of tunnels of each kind in the parameters.
pub const MAX_TUNNELS: usize = 2;

/// The session parameters: the values that differ among sessions of one profile.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct SessionParams {
    /// The IPv4 address of the UE, the same in all PDIs.
    pub ue: Option<Ipv4Addr>,
    /// The TEIDs of local tunnels: those that the UPF chose, in the order of choice, or those that the SMF
    /// assigned, in the order of the request.
    pub tunnels: [Option<Teid>; MAX_TUNNELS],
    /// The remote tunnels of FARs, in the order of the profile.
    pub remotes: [Option<FTeidV4>; MAX_TUNNELS],
}

impl SessionParams {
    /// The UE and the peers may have these addresses. Validation checked only those of the first session of the
    /// profile.
    pub fn has_valid_addresses(&self, endpoints: &LocalEndpoints) -> bool {
        self.ue.is_none_or(|ue| endpoints.is_usual(ue) && !ue.is_loopback() && !endpoints.has_local(ue))
            && self.has_remote_peers(endpoints)
    }

    /// The peers may have these addresses.
    #[inline]
    pub fn has_remote_peers(&self, endpoints: &LocalEndpoints) -> bool {
        self.remotes.iter().flatten().all(|remote| endpoints.is_usual(remote.addr))
    }
}

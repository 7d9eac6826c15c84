//! Tunnels whose TEIDs are in no slot.

use std::num::NonZeroU16;

use causeway_collections::PartitionedMap;
use causeway_types::{FTeid, Seid, Teid};

use super::Claim;
use super::addresses::NumberedAddresses;

/// One tunnel of each TEID that is not in a slot. An SMF may choose the TEIDs of all sessions: a tunnel has 16 octets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct OutsideSlots {
    held: PartitionedMap<Teid, Holder>,
    addrs: NumberedAddresses,
}

/// What has a TEID: the session, and the number of the tunnel's address. Without padding, which would be a third of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(Rust, packed(4))]
struct Holder {
    session: Seid,
    addr: NonZeroU16,
}

const _: () = assert!(size_of::<(Teid, Holder)>() == 16);

impl OutsideSlots {
    /// The number of tunnels.
    pub(super) const fn len(&self) -> usize {
        self.held.len()
    }

    /// A tunnel has this TEID.
    pub(super) fn has(&self, teid: Teid) -> bool {
        !self.held.is_empty() && self.held.contains_key(&teid)
    }

    /// The tunnel of a TEID.
    pub(super) fn claimed(&self, teid: Teid) -> Option<Claim> {
        if self.held.is_empty() {
            return None;
        }
        let Holder { session, addr } = *self.held.get(&teid)?;
        Some(Claim { session, tunnel: FTeid { teid, addr: self.addrs.get(addr)? } })
    }

    /// Records a tunnel. `false`: its TEID has another one, or there are too many addresses.
    pub(super) fn claim(&mut self, claim: &Claim) -> bool {
        let FTeid { teid, addr } = claim.tunnel;
        if self.has(teid) {
            return false;
        }
        let Some(addr) = self.addrs.number_of(addr) else { return false };
        self.held.insert(teid, Holder { session: claim.session, addr });
        true
    }

    /// Removes a recorded tunnel. `false`: it was not recorded.
    pub(super) fn undo_claim(&mut self, claim: &Claim) -> bool {
        let is_held = self.claimed(claim.tunnel.teid) == Some(*claim);
        if is_held {
            self.held.remove(&claim.tunnel.teid);
        }
        is_held
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use causeway_types::DualIp;

    use super::*;

    // Input:  the tunnel of a TEID, of the largest session number; another one of the TEID; their removal, in the wrong order.
    // Output: the first alone is recorded, and only it can be removed.
    #[test]
    fn a_teid_has_one_tunnel() {
        let mut outside = OutsideSlots::default();
        let claim = |session: u64, ip: [u8; 4]| Claim {
            session: Seid(session),
            tunnel: FTeid { teid: Teid::new(7).unwrap(), addr: DualIp::from(Ipv4Addr::from(ip)) },
        };
        let (first, other) = (claim(u64::MAX, [192, 0, 2, 1]), claim(u64::MAX, [192, 0, 2, 2]));
        assert!(!outside.undo_claim(&first) && !outside.has(first.tunnel.teid));
        assert!(outside.claim(&first) && !outside.claim(&other) && outside.has(first.tunnel.teid));
        assert_eq!((outside.claimed(first.tunnel.teid), outside.len()), (Some(first), 1));
        assert!(!outside.undo_claim(&other) && !outside.undo_claim(&claim(1, [192, 0, 2, 1])));
        assert!(outside.undo_claim(&first) && outside.claim(&other));
        assert_eq!((outside.claimed(first.tunnel.teid), outside.len()), (Some(other), 1));
    }
}

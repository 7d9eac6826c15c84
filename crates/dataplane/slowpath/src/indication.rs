//! The rate limit of Error Indications.

use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;

use causeway_types::{Span, Teid, Time};

/// The minimum time between two Error Indications about the same local tunnel to the same peer. A gNB releases the PDU
/// session at the first one; further ones only disturb a session that is being set up anew.
const INTERVAL: Span = Span::from_secs(1);

/// The number of tracked tunnels; beyond it no Error Indication is sent until entries expire.
const MAX_TRACKED: usize = 4096;

/// A local address, a TEID there, and a peer.
type Key = (IpAddr, Teid, IpAddr);

/// The Error Indications that were recently sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Indications {
    recent: BTreeSet<Key>,
    in_order: VecDeque<(Time, Key)>,
}

impl Indications {
    /// An Error Indication may be sent now; it then counts as sent.
    pub(crate) fn may_send(&mut self, local: IpAddr, teid: Teid, peer: IpAddr, now: Time) -> bool {
        let tunnel = (local, teid, peer);
        while let Some((_, key)) =
            self.in_order.front().filter(|(allowed, _)| now.since(*allowed) >= INTERVAL).copied()
        {
            self.in_order.pop_front();
            self.recent.remove(&key);
        }
        if self.recent.len() >= MAX_TRACKED || !self.recent.insert(tunnel) {
            return false;
        }
        self.in_order.push_back((now, tunnel));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 11));

    fn teid(raw: u32) -> Teid {
        Teid::new(raw).unwrap()
    }

    // Input: packets to an unknown tunnel, ten in half a second and one after a second.
    // Output: two Error Indications.
    #[test]
    fn a_peer_gets_one_error_indication_a_second() {
        let mut indications = Indications::default();
        let allowed = (0..10)
            .map(|n| Time::from_nanos(n * 50_000_000))
            .chain([Time::from_secs(1)])
            .filter(|now| indications.may_send(LOCAL, teid(7), PEER, *now))
            .count();
        assert_eq!(allowed, 2);
    }

    // Input: a flood of random tunnels.
    // Output: memory is bounded; after a second Error Indications are sent again.
    #[test]
    fn a_flood_is_bounded() {
        let mut indications = Indications::default();
        let allowed =
            (1..100_000).filter(|raw| indications.may_send(LOCAL, teid(*raw), PEER, Time::default())).count();
        assert_eq!((allowed, indications.recent.len()), (MAX_TRACKED, MAX_TRACKED));
        assert!(indications.may_send(LOCAL, teid(1), PEER, Time::from_secs(1)));
        assert_eq!((indications.recent.len(), indications.in_order.len()), (1, 1));
    }
}

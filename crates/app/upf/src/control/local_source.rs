//! From which address of N4 a peer is answered: the one that the peer has written to.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError, RwLock};

use super::sockets::Sockets;

/// Maximum number of peers whose local source is stored. A new one evicts the oldest that is no SMF's. Other peers use the first
/// socket of their IP version.
const MAX_PEERS: usize = 4096;

/// The most SMFs that are passed over in search of a peer to evict.
const MAX_PASSED: usize = 64;

/// Where a datagram was received, and where the answer to it is sent from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum LocalSource {
    /// The socket of this index.
    Socket(usize),
    /// The port of this index, at this address. Threads without the port send from a socket of the address.
    Port(usize, IpAddr),
}

/// Where the last datagram of each peer was received: a response has the address to which the request was sent as its source. A thread may answer what
/// another one has received, so all threads have these in common.
#[derive(Debug)]
pub(super) struct SourceByPeer {
    known: Arc<RwLock<KnownSources>>,
    /// Whether there is a choice for peers with IPv4, and with IPv6.
    is_choice: [bool; 2],
}

#[derive(Debug, Default)]
struct KnownSources {
    received: BTreeMap<IpAddr, LocalSource>,
    /// The peers in `received`, those first that are evicted first.
    order: VecDeque<IpAddr>,
    /// The peer of the last datagram.
    last: Option<(IpAddr, LocalSource)>,
}

impl SourceByPeer {
    /// No peer has written to these sockets yet.
    pub(super) fn new(sockets: &Sockets) -> Self {
        let is_choice = [true, false].map(|is_v4| sockets.has_choice(is_v4));
        Self { known: Arc::default(), is_choice }
    }

    /// The same peers, at the sockets of another thread.
    pub(super) fn beside(&self, sockets: &Sockets) -> Self {
        Self { known: Arc::clone(&self.known), ..Self::new(sockets) }
    }

    fn is_choice_for(&self, peer: IpAddr) -> bool {
        let [v4, v6] = self.is_choice;
        if peer.is_ipv4() { v4 } else { v6 }
    }

    /// A datagram of this peer was received here. It may evict a peer that is not at an address of an SMF.
    pub(super) fn note(&self, peer: IpAddr, source: LocalSource, is_smf: impl Fn(IpAddr) -> bool) {
        if self.is_choice_for(peer) && self.of(peer) != Some(source) {
            // A panic while it was locked ends the process.
            self.known.write().unwrap_or_else(PoisonError::into_inner).note(peer, source, is_smf);
        }
    }

    /// Where this peer is answered from, if there is a choice.
    pub(super) fn of(&self, peer: IpAddr) -> Option<LocalSource> {
        let is_choice = self.is_choice_for(peer);
        is_choice.then(|| self.known.read().unwrap_or_else(PoisonError::into_inner).of(peer))?
    }
}

impl KnownSources {
    fn note(&mut self, peer: IpAddr, source: LocalSource, is_smf: impl Fn(IpAddr) -> bool) {
        self.last = Some((peer, source));
        if let Some(known) = self.received.get_mut(&peer) {
            *known = source;
        } else if self.received.len() < MAX_PEERS || self.evict(is_smf) {
            self.received.insert(peer, source);
            self.order.push_back(peer);
        }
    }

    /// Evicts the oldest peer that is no SMF's. False: there are only SMFs among the first ones, which are the last then.
    fn evict(&mut self, is_smf: impl Fn(IpAddr) -> bool) -> bool {
        for _ in 0..MAX_PASSED {
            let Some(oldest) = self.order.pop_front() else { return false };
            if !is_smf(oldest) {
                self.received.remove(&oldest);
                return true;
            }
            self.order.push_back(oldest);
        }
        false
    }

    fn of(&self, peer: IpAddr) -> Option<LocalSource> {
        let last = self.last.filter(|(last, _)| *last == peer).map(|(_, source)| source);
        last.or_else(|| self.received.get(&peer).copied())
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    /// Two sockets of IPv4, and no peer that has written to them.
    fn of_two_sockets() -> SourceByPeer {
        let sockets = [(); 2].map(|()| UdpSocket::bind("127.0.0.1:0").unwrap());
        SourceByPeer::new(&Sockets::new(sockets.into(), true).unwrap())
    }

    // Input:  a datagram of an SMF to the second of two addresses, 5,000 datagrams from other sources to the first one, and
    //         one of another SMF to the second.
    // Output: both SMFs are answered from the second address; no more peers are stored than the limit.
    #[test]
    fn invented_sources_take_no_place_from_an_smf() {
        let sources = of_two_sockets();
        let [smf, other] = [1, 2].map(|last| IpAddr::from([192, 0, 2, last]));
        let is_smf = |ip| ip == smf;
        sources.note(smf, LocalSource::Socket(1), is_smf);
        let invented = |number: u16| IpAddr::from([10, 0, (number >> 8) as u8, number as u8]);
        (0..5000).for_each(|number| sources.note(invented(number), LocalSource::Socket(0), is_smf));
        assert_eq!(sources.of(smf), Some(LocalSource::Socket(1)));
        sources.note(other, LocalSource::Socket(1), is_smf);
        sources.note(invented(1), LocalSource::Socket(0), is_smf);
        assert_eq!([smf, other].map(|peer| sources.of(peer)), [Some(LocalSource::Socket(1)); 2]);
        let known = sources.known.read().unwrap();
        assert_eq!((known.received.len(), known.order.len()), (MAX_PEERS, MAX_PEERS));
    }

    // Input:  as many SMFs as peers are stored, and a datagram of another source.
    // Output: it is answered from where it was sent to, and evicts none of them.
    #[test]
    fn no_smf_is_evicted() {
        let sources = of_two_sockets();
        let smf = |number: usize| IpAddr::from([10, 0, (number >> 8) as u8, number as u8]);
        (0..MAX_PEERS).for_each(|number| sources.note(smf(number), LocalSource::Socket(1), |_| true));
        let other = IpAddr::from([192, 0, 2, 1]);
        sources.note(other, LocalSource::Socket(0), |ip| ip != other);
        assert_eq!(sources.of(other), Some(LocalSource::Socket(0)));
        assert!((0..MAX_PEERS).all(|number| sources.of(smf(number)) == Some(LocalSource::Socket(1))));
    }
}

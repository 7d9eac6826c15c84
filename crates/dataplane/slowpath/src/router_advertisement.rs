//! Router Advertisements: the answers to Router Solicitations of UEs, and those that follow before their lifetime ends.

use std::net::{IpAddr, Ipv6Addr};

use causeway_model::Pdr;
use causeway_packet::UserPacket;
use causeway_packet::icmp::{RouterAdvertisement, is_router_solicitation};
use causeway_types::{Direction, Interface, Ipv6Net, NetworkInstance, Seid, Span, Time};

use crate::engine::SlowPath;
use crate::session::Session;
use crate::timers::Timer;

/// The local address on the link of every UE. The SMF gives UEs other interface identifiers.
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
/// The group of all nodes of a link.
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);

/// How long after an advertisement the next one follows, at the latest: a third of the Router Lifetime, 65,535 s, so that two of three may be lost.
const INTERVAL: Span = Span::from_secs(21_845);
/// It follows by less than this earlier, different for each session, so that UEs that attach together do not stay together.
const JITTER: u64 = 2048;

/// The UE has solicited the UPF, which advertises itself again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Advertised {
    /// At this time, to which the timer is set.
    Again(Time),
    /// As soon as the rules forward to the UE.
    Owed,
}

impl Advertised {
    /// The timer in the queue.
    pub(crate) const fn timer_set(self) -> Option<Time> {
        match self {
            Self::Again(at) => Some(at),
            Self::Owed => None,
        }
    }
}

impl SlowPath {
    /// Answers a Router Solicitation with the prefix of the UE, if the operator has enabled that.
    pub(crate) fn answer_solicitation(&mut self, now: Time, seid: Seid, pdr: &Pdr, packet: &[u8]) -> bool {
        let Ok(user) = UserPacket::parse(packet) else { return false };
        let (IpAddr::V6(src), true, Interface::Access) =
            (user.flow.src, is_router_solicitation(&user), pdr.pdi.source)
        else {
            return false;
        };
        // All nodes, while the UE has no address yet (RFC 4861 clause 6.2.6).
        let to = if src.is_unspecified() { ALL_NODES } else { src };
        let network = pdr.pdi.network_instance.as_ref();
        let Some(advertisement) = self.advertisement(seid, network, to) else { return false };
        let Some(prefix) = self.sessions.get(&seid).and_then(|session| ipv6_prefix(session)) else {
            return false;
        };
        // Other UEs may have the same source, which is unspecified or local to the link: the prefix is the UE's own.
        let sends = self.icmp_limit.may_send(prefix.addr().into(), now)
            && self.send_against(now, seid, Direction::Uplink, &advertisement).is_some();
        if sends {
            self.advertise_again(now, seid);
        }
        sends
    }

    /// The timer of an advertisement has expired.
    pub(crate) fn advertise_by_timer(&mut self, at: Time, seid: Seid) {
        let advertises = self.topology.routing.router_advertisement;
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        if session.advertised == Some(Advertised::Again(at)) {
            session.advertised = advertises.then_some(Advertised::Owed);
            self.advertise_owed(at, seid);
        }
    }

    /// Sends the advertisement that is due, if the rules forward it.
    pub(crate) fn advertise_owed(&mut self, now: Time, seid: Seid) {
        if self.sessions.get(&seid).is_none_or(|session| session.advertised != Some(Advertised::Owed)) {
            return;
        }
        let Some(advertisement) = self.advertisement(seid, None, ALL_NODES) else { return };
        if self.send_against(now, seid, Direction::Uplink, &advertisement).is_some() {
            self.advertise_again(now, seid);
        }
    }

    /// Sets the time of the next advertisement.
    fn advertise_again(&mut self, now: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let next = now + (INTERVAL - Span::from_secs(seid.0 % JITTER));
        let before = session.advertised.replace(Advertised::Again(next));
        if let Some(at) = before.and_then(Advertised::timer_set) {
            self.timers.remove(at, seid, Timer::Advertisement);
        }
        self.timers.set(next, seid, Timer::Advertisement);
    }

    /// The advertisement of the UE's prefix, with the MTU of this network or else of the prefix. `None`: none is to be sent.
    fn advertisement(&self, seid: Seid, network: Option<&NetworkInstance>, to: Ipv6Addr) -> Option<Vec<u8>> {
        let prefix = self.sessions.get(&seid).and_then(|session| ipv6_prefix(session))?;
        let network = self.network(network, prefix.addr().into());
        let mtu = network.map(|network| network.mtu).filter(|mtu| *mtu < u32::from(u16::MAX));
        let mut packet = Vec::new();
        RouterAdvertisement { prefix, mtu }.write(LINK_LOCAL, to, &mut packet).ok()?;
        Some(packet).filter(|_| self.topology.routing.router_advertisement)
    }
}

/// The prefix of the session's UE.
fn ipv6_prefix(session: &Session) -> Option<Ipv6Net> {
    session.rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v6)
}

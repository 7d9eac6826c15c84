//! ICMP messages that the UPF sends to the senders of packets, as their router.

use std::net::{IpAddr, Ipv6Addr};

use causeway_dataplane::{Disposition, DropReason, Egress, Network};
use causeway_model::{ApplyAction, Pdr, UeSide};
use causeway_packet::UserPacket;
use causeway_packet::icmp::{IcmpError, RouterAdvertisement, error_reply, is_router_solicitation};
use causeway_types::{Interface, NetworkInstance, Seid, Time};

use crate::application_detection::Detection;
use crate::apply_far::qfi_marking;
use crate::egress::EgressRoute;
use crate::engine::SlowPath;
use crate::marks::Marks;
use crate::matching::find_pdr_back;
use crate::qos::check_gates;
use crate::route::{DropWithError, fit};
use crate::session::{Session, direction_of};

/// The local address on the link of every UE. The SMF gives UEs other interface identifiers.
const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);

impl SlowPath {
    /// Drops a packet that a PDR matched, and sends an ICMP error where one is due.
    pub(crate) fn drop_and_notify(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        network: Option<&NetworkInstance>,
        packet: &[u8],
        drop: DropWithError,
    ) -> Disposition {
        if drop.reason == DropReason::LinkLocal && self.send_router_advertisement(now, seid, pdr, packet) {
            return Disposition::Consumed;
        }
        if let Some(error) = drop.error {
            self.send_error(now, seid, pdr, network, packet, error);
        }
        Disposition::Dropped(drop.reason)
    }

    fn send_error(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        network: Option<&NetworkInstance>,
        packet: &[u8],
        error: IcmpError,
    ) -> Option<()> {
        let flow = UserPacket::parse(packet).ok()?.flow;
        let came_by_tunnel = pdr.pdi.tunnel.is_some();
        let ue = if pdr.pdi.ue_side() == UeSide::Source { flow.src } else { flow.dst };
        let network = self.network(network.or(pdr.pdi.network_instance.as_ref()), ue)?;
        let (from, instance) = (network.gateway_of(ue)?, network.instance.clone());
        let mut reply = Vec::new();
        error_reply(error, from, packet, &mut reply).ok()?;
        if !self.icmp_limit.may_send(flow.src, now) {
            return None;
        }
        if came_by_tunnel {
            self.send_to_source(now, seid, pdr, &reply)
        } else {
            self.send(Egress::Ip { network: instance }, reply);
            Some(())
        }
    }

    /// The network of that name, else that of the UE's pool, else the first.
    fn network(&self, name: Option<&NetworkInstance>, ue: IpAddr) -> Option<&Network> {
        let networks = &self.topology.networks;
        let named = name.and_then(|name| networks.iter().find(|network| network.instance == *name));
        let of_pool = || networks.iter().find(|network| network.pools.iter().any(|pool| pool.contains(&ue)));
        named.or_else(of_pool).or_else(|| networks.first())
    }

    /// Answers a Router Solicitation with the prefix of the UE, if the operator has enabled that.
    fn send_router_advertisement(&mut self, now: Time, seid: Seid, pdr: &Pdr, packet: &[u8]) -> bool {
        if !self.topology.routing.router_advertisement || pdr.pdi.source != Interface::Access {
            return false;
        }
        let Ok(user) = UserPacket::parse(packet) else { return false };
        let prefix = self.sessions.get(&seid).and_then(|session| ipv6_prefix(session));
        let (IpAddr::V6(src), Some(prefix), true) = (user.flow.src, prefix, is_router_solicitation(&user))
        else {
            return false;
        };
        let network = self.network(pdr.pdi.network_instance.as_ref(), prefix.addr().into());
        let mtu = network.map(|network| network.mtu).filter(|mtu| *mtu < u32::from(u16::MAX));
        // All nodes, while the UE has no address yet (RFC 4861 clause 6.2.6).
        let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
        let to = if src.is_unspecified() { all_nodes } else { src };
        let mut reply = Vec::new();
        let advertisement = RouterAdvertisement { prefix, mtu };
        if advertisement.write(LINK_LOCAL, to, &mut reply).is_err()
            || !self.icmp_limit.may_send(src.into(), now)
        {
            return false;
        }
        self.send_to_source(now, seid, pdr, &reply).is_some()
    }

    /// Sends a packet of the UPF against the direction of the PDR: by the first rule of the other direction that
    /// matches it. It is no user traffic: it is neither metered nor counted. A closed gate drops it.
    fn send_to_source(&mut self, now: Time, seid: Seid, pdr: &Pdr, reply: &[u8]) -> Option<()> {
        let session = self.sessions.get(&seid)?;
        let user = UserPacket::parse(reply).ok()?;
        let (applications, wall) = (&*self.applications, self.shared.wall.at(now));
        let seen = session.detector.seen(&user.flow);
        let detection = Detection { applications, seen, class: session.class.verdict };
        let back = find_pdr_back(session, pdr, user, &detection, wall)?;
        let far = session.far_of(back.id).filter(|far| far.action == ApplyAction::Forward)?;
        let forwarding = far.forwarding.as_ref()?;
        check_gates(session, back, direction_of(back)).ok()?;
        let route = EgressRoute::of(forwarding, back.pdi.network_instance.as_ref(), &self.topology).ok()?;
        let route = route.carrying(direction_of(back));
        let marks = Marks { qfi: qfi_marking(session, back), ..Marks::default() };
        let (egress, pieces) = fit(&route, reply, &marks, &self.topology).ok()?;
        self.send_all(&egress, pieces);
        Some(())
    }
}

/// The prefix of the session's UE.
fn ipv6_prefix(session: &Session) -> Option<causeway_types::Ipv6Net> {
    session.rules.pdrs.values().find_map(|pdr| pdr.pdi.ue?.v6)
}

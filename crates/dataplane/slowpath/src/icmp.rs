//! ICMP messages that the UPF sends to the senders of packets, as their router.

use std::net::IpAddr;

use causeway_dataplane::{Disposition, DropReason, Egress, Network};
use causeway_model::{ApplyAction, Pdr, UeSide};
use causeway_packet::UserPacket;
use causeway_packet::icmp::{IcmpError, error_reply};
use causeway_types::{Direction, NetworkInstance, Seid, Time};

use crate::application_detection::Detection;
use crate::apply_far::qfi_marking;
use crate::egress::EgressRoute;
use crate::engine::SlowPath;
use crate::marks::Marks;
use crate::matching::find_pdr_back;
use crate::qos::check_gates;
use crate::route::{DropWithError, fit};
use crate::session::direction_of;

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
        if drop.reason == DropReason::LinkLocal && self.answer_solicitation(now, seid, pdr, packet) {
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
            self.send_against(now, seid, direction_of(pdr), &reply)
        } else {
            self.send(Egress::Ip { network: instance }, reply);
            Some(())
        }
    }

    /// The network of that name, else that of the UE's pool, else the first.
    pub(crate) fn network(&self, name: Option<&NetworkInstance>, ue: IpAddr) -> Option<&Network> {
        let networks = &self.topology.networks;
        let named = name.and_then(|name| networks.iter().find(|network| network.instance == *name));
        let of_pool = || networks.iter().find(|network| network.pools.iter().any(|pool| pool.contains(&ue)));
        named.or_else(of_pool).or_else(|| networks.first())
    }

    /// Sends a packet of the UPF against the direction of another one: by the first rule of the other direction that
    /// matches it. It is no user traffic: it is neither metered nor counted. A closed gate drops it.
    pub(crate) fn send_against(
        &mut self,
        now: Time,
        seid: Seid,
        against: Direction,
        reply: &[u8],
    ) -> Option<()> {
        let session = self.sessions.get(&seid)?;
        let user = UserPacket::parse(reply).ok()?;
        let (applications, wall) = (&*self.applications, self.shared.wall.at(now));
        let seen = session.detector.seen(&user.flow);
        let detection = Detection { applications, seen, class: session.class.verdict };
        let back = find_pdr_back(session, against, user, &detection, wall)?;
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

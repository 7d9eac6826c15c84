//! User packets: PDR matching, then the FAR.

use std::net::IpAddr;

use causeway_dataplane::{Disposition, DropReason};
use causeway_model::{HeaderRemoval, Pdr, RemovedHeader};
use causeway_packet::UserPacket;
use causeway_types::{NetworkInstance, Seid, Time};

use crate::application_detection::Detection;
use crate::apply_far::{Decided, FarDecision, Matched, apply_far};
use crate::buffer::dscp_of;
use crate::duplicate::copies;
use crate::ecn;
use crate::engine::SlowPath;
use crate::matching::find_pdr;
use crate::n6;
use crate::received::{PacketOrigin, ReceivedPacket};
use crate::route::DropWithError;

impl SlowPath {
    /// Handles one packet from a data network: for a user, or for the local end of a tunnel.
    pub(crate) fn receive_ip(&mut self, now: Time, network: &NetworkInstance, bytes: &[u8]) -> Disposition {
        let Ok(user) = UserPacket::parse(bytes) else { return Disposition::Dropped(DropReason::MalformedIp) };
        let origin = PacketOrigin { network: Some(network.clone()), ..PacketOrigin::default() };
        let inner = match n6::decapsulate(&user, network, &self.topology) {
            Ok(inner) => inner,
            Err(reason) => return Disposition::Dropped(reason),
        };
        let Some((n6, inner)) = inner else {
            return self.receive_user(now, &self.index.sessions_of_ue(user.flow.dst), origin, bytes);
        };
        let Ok(inside) = UserPacket::parse(inner) else {
            return Disposition::Dropped(DropReason::MalformedIp);
        };
        let origin = PacketOrigin { n6: Some(n6), ..origin };
        match ecn::decapsulate(user.flow.tos, inside.flow.tos, inner) {
            Ok(inner) => self.receive_user(now, &self.index.sessions_of_ue(inside.flow.dst), origin, &inner),
            Err(reason) => Disposition::Dropped(reason),
        }
    }

    /// Handles one user packet for the first of these sessions with a matching PDR, if the firewall lets it pass.
    pub(crate) fn receive_user(
        &mut self,
        now: Time,
        candidates: &[Seid],
        origin: PacketOrigin,
        bytes: &[u8],
    ) -> Disposition {
        let Ok(user) = UserPacket::parse(bytes) else { return Disposition::Dropped(DropReason::MalformedIp) };
        let octets = user.bytes();
        let arrival = ReceivedPacket { origin, user };
        let firewall = self.topology.firewall.as_deref().filter(|_| !candidates.is_empty());
        if let Some(reason) = firewall.and_then(|firewall| {
            firewall.drop_reason(arrival.origin.firewall_direction(), &arrival.user.flow)
        }) {
            return Disposition::Dropped(reason);
        }
        let mut reason = DropReason::UnknownUe;
        for seid in candidates {
            let Some(session) = self.sessions.get_mut(seid) else { continue };
            let applications = &*self.applications;
            let seen = match session.needs_dpi(applications) {
                true => session.detector.observe(&arrival.user).cloned(),
                false => None,
            };
            let detection = Detection { applications, seen: seen.as_ref(), class: session.class.verdict };
            match find_pdr(session, &arrival, &detection, self.shared.wall.at(now)) {
                Ok(pdr) => {
                    let Some(pdr) = session.rules.pdrs.get_shared(&pdr.id).cloned() else { continue };
                    let network = arrival.origin.network.clone();
                    return self
                        .receive_matched(now, *seid, &pdr, &arrival.origin, octets, false)
                        .unwrap_or_else(|drop| {
                            self.drop_and_notify(now, *seid, &pdr, network.as_ref(), octets, drop)
                        });
                }
                Err(why) => reason = why,
            }
        }
        Disposition::Dropped(reason)
    }

    /// Applies the rules of a session to a packet that its PDR matches. `is_answered`: a request that the UPF answers in place of the
    /// one that it is for. The rules apply as if it were forwarded, and the FAR transmits nothing.
    pub(crate) fn receive_matched(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        origin: &PacketOrigin,
        packet: &[u8],
        is_answered: bool,
    ) -> Result<Disposition, DropWithError> {
        self.record_activity_of(now, seid);
        let removal = check_removal(pdr, origin)?;
        let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
        let qfi = origin.tunnel.and_then(|tunnel| tunnel.qfi);
        let qfi = qfi.filter(|_| !removal.is_some_and(|removal| removal.deletes_container));
        let mut extensions = origin.extensions.clone();
        extensions.container = extensions.container.filter(|_| qfi.is_some());
        let from_tunnel = origin.tunnel.is_some();
        let matched = Matched { pdr, qfi, extensions: &extensions, packet, from_tunnel, was_buffered: false };
        let mut reports = Vec::new();
        let Decided { decision, far } =
            apply_far(session, &mut self.shared, &matched, &self.topology, now, &mut reports);
        let copies = copies(session, &matched, far.as_deref(), &decision, &self.topology);
        self.report(seid, reports);
        if let (Err(DropWithError { reason: DropReason::FarDrop, .. }), Some(far)) = (&decision, &far) {
            self.notify_discarded(seid, pdr, far, qfi, || dscp_of(packet));
        }
        let disposition = match decision {
            Ok(FarDecision::Send(..)) if is_answered => Ok(Disposition::Consumed),
            Ok(FarDecision::Send(egress, pieces)) => {
                self.send_all(&egress, pieces);
                self.observe_forwarded(now, seid, pdr, packet);
                Ok(Disposition::Forwarded)
            }
            Ok(FarDecision::Buffer) => match &far {
                Some(far) => self.buffer(now, seid, &matched, far).map_err(DropWithError::from),
                None => Err(DropReason::FarDrop.into()),
            },
            Ok(FarDecision::Respond(answer)) => {
                self.send_answer(now, seid, pdr.id, qfi, answer).map_err(DropWithError::from)
            }
            Err(drop) => Err(drop),
        };
        for copy in copies {
            match copy {
                Ok((egress, pieces)) => self.send_all(&egress, pieces),
                Err(reason) => {
                    self.counters.copies += 1;
                    self.counters.count_drop(reason);
                }
            }
        }
        if disposition.is_err() {
            self.count_dropped(now, seid, pdr.id, packet.len());
        }
        self.schedule_usage(now, seid);
        disposition
    }
}

/// The outer header is the one that the PDR removes. A packet from a tunnel must lose it.
fn check_removal(pdr: &Pdr, origin: &PacketOrigin) -> Result<Option<HeaderRemoval>, DropReason> {
    let requested = pdr.removal.map(|removal| removal.header);
    let fits = match (origin.tunnel.map(|tunnel| tunnel.local), origin.n6) {
        (Some(IpAddr::V4(_)), _) => matches!(requested, Some(RemovedHeader::Gtpu | RemovedHeader::GtpuIpv4)),
        (Some(IpAddr::V6(_)), _) => matches!(requested, Some(RemovedHeader::Gtpu | RemovedHeader::GtpuIpv6)),
        (None, found) => requested == found,
    };
    if fits { Ok(pdr.removal) } else { Err(DropReason::OuterHeaderMismatch) }
}

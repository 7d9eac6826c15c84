//! User packets: find the PDR, act, or wait.

use std::net::IpAddr;

use causeway_dataplane::{DropReason, Event, Fate};
use causeway_packet::UserPacket;
use causeway_rules::{ApplyAction, HeaderRemoval, Pdr, RemovedHeader};
use causeway_types::{NetworkInstance, Qfi, Seid, Span, Time};

use crate::act::{Decision, Matched, act, marking};
use crate::arrival::{Arrival, Origin};
use crate::buffer::Waiting;
use crate::duplicate::copies;
use crate::engine::Reference;
use crate::matching::find_pdr;
use crate::n6;
use crate::session::Paging;
use crate::timers::Timer;

impl Reference {
    /// Handles one packet from a data network: a user's, or one that is for our end of a tunnel.
    pub(crate) fn receive_ip(&mut self, now: Time, network: &NetworkInstance, bytes: &[u8]) -> Fate {
        let Ok(user) = UserPacket::parse(bytes) else { return Fate::Dropped(DropReason::MalformedIp) };
        let origin = Origin { network: Some(network.clone()), ..Origin::default() };
        let inner = match n6::decapsulate(&user, network, &self.topology) {
            Ok(inner) => inner,
            Err(reason) => return Fate::Dropped(reason),
        };
        let Some((n6, inner)) = inner else {
            return self.receive_user(now, &self.index.by_ue(user.flow.dst), origin, bytes);
        };
        let Ok(user) = UserPacket::parse(inner) else { return Fate::Dropped(DropReason::MalformedIp) };
        let origin = Origin { n6: Some(n6), ..origin };
        self.receive_user(now, &self.index.by_ue(user.flow.dst), origin, inner)
    }

    /// Handles one user packet for the first of these sessions that has a PDR for it.
    pub(crate) fn receive_user(
        &mut self,
        now: Time,
        candidates: &[Seid],
        origin: Origin,
        bytes: &[u8],
    ) -> Fate {
        let Ok(user) = UserPacket::parse(bytes) else { return Fate::Dropped(DropReason::MalformedIp) };
        let octets = user.bytes();
        let arrival = Arrival { origin, user };
        let mut reason = DropReason::UnknownUe;
        for seid in candidates {
            let Some(session) = self.sessions.get(seid) else { continue };
            match find_pdr(session, &arrival, now) {
                Ok(pdr) => {
                    let pdr = pdr.clone();
                    return self
                        .receive_matched(now, *seid, &pdr, &arrival.origin, octets)
                        .unwrap_or_else(Fate::Dropped);
                }
                Err(why) => reason = why,
            }
        }
        Fate::Dropped(reason)
    }

    fn receive_matched(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        origin: &Origin,
        packet: &[u8],
    ) -> Result<Fate, DropReason> {
        let removal = check_removal(pdr, origin)?;
        let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
        let qfi = origin.tunnel.and_then(|tunnel| tunnel.qfi);
        let qfi = qfi.filter(|_| !removal.is_some_and(|removal| removal.deletes_container));
        let matched = Matched { pdr, qfi, packet, has_waited: false };
        let mut reports = Vec::new();
        let decision = act(session, &matched, &self.topology, now, &mut reports);
        let copies = copies(session, &matched, &decision, &self.topology);
        self.report(seid, reports);
        let fate = match decision {
            Ok(Decision::Send(egress, packet)) => {
                self.send(egress, packet);
                Ok(Fate::Forwarded)
            }
            Ok(Decision::Wait) => self.buffer(now, seid, pdr, qfi, packet),
            Err(reason) => Err(reason),
        };
        copies.into_iter().for_each(|(egress, copy)| self.send(egress, copy));
        fate
    }

    /// Puts a packet into the session's buffer, and tells the SMF of the first one.
    fn buffer(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        qfi: Option<Qfi>,
        packet: &[u8],
    ) -> Result<Fate, DropReason> {
        let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
        let far = session.far_of(pdr.id).ok_or(DropReason::FarDrop)?.clone();
        let bar = far.bar.and_then(|id| session.rules.bars.get(&id)).cloned();
        let suggested = bar.as_ref().and_then(|bar| bar.suggested_packets).map_or(usize::MAX, usize::from);
        let waiting_for_far = session.buffer.count(|id| session.far_of(id).is_some_and(|f| f.id == far.id));
        if waiting_for_far >= suggested || session.buffer.len() >= self.limits.buffer_packets_per_session {
            return Err(DropReason::BufferFull);
        }
        if self.buffered_octets + packet.len() > self.limits.buffer_octets {
            return Err(DropReason::BufferMemoryFull);
        }
        let report_qfi = marking(session, pdr).or(qfi);
        session.buffer.push(Waiting { pdr: pdr.id, qfi, packet: packet.to_vec() });
        self.buffered_octets += packet.len();
        if far.action == (ApplyAction::Buffer { notify: true }) {
            let delay = bar.map_or(Span::ZERO, |bar| bar.notification_delay);
            self.page(now, seid, pdr, report_qfi, delay);
        }
        Ok(Fate::Buffered)
    }

    fn page(&mut self, now: Time, seid: Seid, pdr: &Pdr, qfi: Option<Qfi>, delay: Span) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        if session.paging.contains_key(&pdr.id) {
            return;
        }
        if delay.is_zero() {
            session.paging.insert(pdr.id, Paging::Told);
            self.events.push_back(Event::DownlinkData { session: seid, pdr: pdr.id, qfi });
        } else {
            let at = now + delay;
            session.paging.insert(pdr.id, Paging::Due { at, qfi });
            self.timers.set(at, seid, Timer::Notification(pdr.id));
        }
    }
}

/// The outer header is the one that the PDR removes. A packet out of a tunnel must lose it.
fn check_removal(pdr: &Pdr, origin: &Origin) -> Result<Option<HeaderRemoval>, DropReason> {
    let asked = pdr.removal.map(|removal| removal.header);
    let fits = match (origin.tunnel.map(|tunnel| tunnel.local), origin.n6) {
        (Some(IpAddr::V4(_)), _) => matches!(asked, Some(RemovedHeader::Gtpu | RemovedHeader::GtpuIpv4)),
        (Some(IpAddr::V6(_)), _) => matches!(asked, Some(RemovedHeader::Gtpu | RemovedHeader::GtpuIpv6)),
        (None, found) => asked == found,
    };
    if fits { Ok(pdr.removal) } else { Err(DropReason::OuterHeaderMismatch) }
}

//! User packets: find the PDR, act, or wait.

use std::net::IpAddr;

use causeway_dataplane::{DropReason, Event, Fate};
use causeway_packet::UserPacket;
use causeway_rules::{ApplyAction, GtpuRemoval, Pdr};
use causeway_types::{NetworkInstance, Qfi, Seid, Span, Time};

use crate::act::{Decision, Matched, act, marking};
use crate::arrival::{Arrival, Tunnelled};
use crate::buffer::Waiting;
use crate::engine::Reference;
use crate::matching::find_pdr;
use crate::session::Paging;
use crate::timers::Timer;

impl Reference {
    /// Handles one packet from a data network.
    pub(crate) fn receive_ip(&mut self, now: Time, network: &NetworkInstance, bytes: &[u8]) -> Fate {
        let Ok(user) = UserPacket::parse(bytes) else { return Fate::Dropped(DropReason::MalformedIp) };
        let candidates = self.index.by_ue(user.flow.dst);
        self.receive_user(now, &candidates, None, Some(network.clone()), bytes)
    }

    /// Handles one user packet for the first of these sessions that has a PDR for it.
    pub(crate) fn receive_user(
        &mut self,
        now: Time,
        candidates: &[Seid],
        tunnel: Option<Tunnelled>,
        network: Option<NetworkInstance>,
        bytes: &[u8],
    ) -> Fate {
        let Ok(user) = UserPacket::parse(bytes) else { return Fate::Dropped(DropReason::MalformedIp) };
        let octets = user.bytes();
        let arrival = Arrival { tunnel, network, user };
        let mut reason = DropReason::UnknownUe;
        for seid in candidates {
            let Some(session) = self.sessions.get(seid) else { continue };
            match find_pdr(session, &arrival) {
                Ok(pdr) => {
                    let pdr = pdr.clone();
                    return self
                        .receive_matched(now, *seid, &pdr, tunnel, octets)
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
        tunnel: Option<Tunnelled>,
        packet: &[u8],
    ) -> Result<Fate, DropReason> {
        check_removal(pdr, tunnel)?;
        let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
        let qfi = tunnel.and_then(|tunnel| tunnel.qfi);
        let matched = Matched { pdr, qfi, packet, has_waited: false };
        let mut reports = Vec::new();
        let decision = act(session, &matched, &self.topology, now, &mut reports);
        self.report(seid, reports);
        let fate = match decision {
            Ok(Decision::Send(egress, packet)) => {
                self.send(egress, packet);
                Ok(Fate::Forwarded)
            }
            Ok(Decision::Wait) => self.buffer(now, seid, pdr, qfi, packet),
            Err(reason) => Err(reason),
        };
        if fate.is_err() {
            self.count_dropped(now, seid, pdr.id, packet.len());
        }
        self.schedule_usage(now, seid);
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
fn check_removal(pdr: &Pdr, tunnel: Option<Tunnelled>) -> Result<(), DropReason> {
    let fits = match tunnel.map(|tunnel| tunnel.local) {
        None => true,
        Some(IpAddr::V4(_)) => matches!(pdr.removal, Some(GtpuRemoval::Any | GtpuRemoval::Ipv4)),
        Some(IpAddr::V6(_)) => matches!(pdr.removal, Some(GtpuRemoval::Any | GtpuRemoval::Ipv6)),
    };
    if fits { Ok(()) } else { Err(DropReason::OuterHeaderMismatch) }
}

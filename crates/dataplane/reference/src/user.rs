//! User packets: find the PDR, act, or wait.

use std::net::IpAddr;

use causeway_dataplane::{DropReason, Fate};
use causeway_packet::UserPacket;
use causeway_rules::{GtpuRemoval, Pdr};
use causeway_types::{NetworkInstance, Seid, Time};

use crate::act::{Decision, Matched, act};
use crate::arrival::{Arrival, Tunnelled};
use crate::engine::Reference;
use crate::matching::find_pdr;

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
            match find_pdr(session, &arrival, now) {
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
        self.note_activity(now, seid);
        check_removal(pdr, tunnel)?;
        let session = self.sessions.get_mut(&seid).ok_or(DropReason::UnknownUe)?;
        let qfi = tunnel.and_then(|tunnel| tunnel.qfi);
        let matched = Matched { pdr, qfi, packet, has_waited: false };
        let mut reports = Vec::new();
        let decision = act(session, &matched, &self.topology, now, &mut reports);
        self.report(seid, reports);
        if let Err(DropReason::FarDrop) = &decision {
            self.tell_of_discarded(seid, pdr, qfi, packet);
        }
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

//! Frames from tunnels and from data networks.

use std::collections::BTreeSet;

use causeway_dataplane::{Disposition, DropReason, Egress};
use causeway_model::{ApplyAction, Pdr};
use causeway_types::{Interface, NetworkInstance, Seid, Time};

use super::Frame;
use super::matching::{ReceivedFrame, find_pdr};
use super::stations::{Station, StationLimits};
use super::vlan::{remove_tags, set_tags};
use crate::egress::EgressRoute;
use crate::engine::SlowPath;
use crate::received::PacketOrigin;
use crate::route::DropWithError;

impl SlowPath {
    /// Handles one frame from a tunnel of an Ethernet session.
    pub(crate) fn receive_frame_of(
        &mut self,
        now: Time,
        seid: Seid,
        origin: PacketOrigin,
        bytes: &[u8],
    ) -> Disposition {
        let PacketOrigin { tunnel, network, extensions, .. } = origin;
        let handle = || {
            let frame = Frame::parse(bytes)?;
            let session = self.sessions.get(&seid).ok_or(DropReason::UnknownTeid)?;
            let arrived = ReceivedFrame { tunnel, network, is_session_wide: true, frame: &frame };
            let pdr = find_pdr(session, &arrived, self.shared.wall.at(now))?.clone();
            let learnt = self.learn(now, seid, &pdr, &frame)?;
            let outside = match &learnt {
                Some((network, bytes)) => Some((network, Frame::parse(bytes)?)),
                None => None,
            };
            let answer = outside
                .as_ref()
                .and_then(|(network, outside)| self.response_to_ue(now, seid, &pdr, network, outside));
            let origin = PacketOrigin { tunnel, extensions, ..PacketOrigin::default() };
            let disposition = self.receive_matched(now, seid, &pdr, &origin, bytes, answer.is_some())?;
            if let Some((network, outside)) = &outside
                && matches!(disposition, Disposition::Forwarded | Disposition::Consumed)
            {
                answer.into_iter().for_each(|answer| self.respond_to_ue(now, seid, network, &answer));
                self.learn_neighbour(now, network, outside, Some(seid));
            }
            Ok::<_, DropWithError>(disposition)
        };
        handle().unwrap_or_else(|refusal| Disposition::Dropped(refusal.reason))
    }

    /// Records the session of the source of an uplink frame, if the frame is forwarded to a data network. Returns
    /// that network, and the frame as the network sees it.
    fn learn(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        frame: &Frame<'_>,
    ) -> Result<Option<(NetworkInstance, Vec<u8>)>, DropReason> {
        let Some((network, outside)) = self.way_to_network(seid, pdr, frame)? else { return Ok(None) };
        let vlans = Frame::parse(&outside)?.vlans();
        let station = Station { network: network.clone(), vlans, mac: frame.ethernet.src };
        let destination = Station { mac: frame.ethernet.dst, ..station.clone() };
        let limits = StationLimits { of_session: self.limits.macs_per_session, in_all: self.limits.macs };
        let learnt = self.stations.learn(station, frame.as_source(), seid, now, limits)?;
        if learnt.is_new {
            learnt.from.into_iter().for_each(|from| self.report_macs(now, from));
            self.report_macs(now, seid);
        }
        match self.stations.owner(&destination) == Some(seid) {
            true => Err(DropReason::SameSide),
            false => Ok(Some((network, outside))),
        }
    }

    /// The data network that an uplink frame is forwarded to, and the frame as the network sees it. `None` without
    /// one.
    pub(super) fn way_to_network(
        &self,
        seid: Seid,
        pdr: &Pdr,
        frame: &Frame<'_>,
    ) -> Result<Option<(NetworkInstance, Vec<u8>)>, DropReason> {
        let far = self.sessions.get(&seid).and_then(|session| session.far_of(pdr.id));
        let Some(far) = far.filter(|far| far.action == ApplyAction::Forward) else { return Ok(None) };
        let n6 = far.forwarding.as_ref().filter(|forwarding| forwarding.is_n6());
        let Some(forwarding) = n6.filter(|_| pdr.pdi.source == Interface::Access) else { return Ok(None) };
        let route = EgressRoute::of_frame(forwarding, pdr.pdi.network_instance.as_ref(), &self.topology)?;
        let Egress::Ethernet { network } = route.egress().clone() else { return Ok(None) };
        let outside = match forwarding.vlan {
            Some(tags) => set_tags(frame.bytes, tags)?,
            None => frame.bytes.to_vec(),
        };
        Ok(Some((network, outside)))
    }

    /// Handles one frame from an Ethernet data network: a copy for each session that it is for.
    pub(crate) fn receive_frame(
        &mut self,
        now: Time,
        network: &NetworkInstance,
        bytes: &[u8],
    ) -> Disposition {
        let frame = match Frame::parse(bytes) {
            Ok(frame) => frame,
            Err(reason) => return Disposition::Dropped(reason),
        };
        let targets = match self.targets(network, &frame) {
            Ok(targets) => targets,
            Err(reason) => return Disposition::Dropped(reason),
        };
        if targets.sender.is_none() {
            self.learn_neighbour(now, network, &frame, None);
        }
        let (mut dispositions, mut answered) = (Vec::new(), false);
        let mut reason = DropReason::UnknownMac;
        for seid in targets.sessions {
            match self.match_frame(now, seid, network, targets.is_session_wide, &frame) {
                Ok(pdr) => {
                    let is_answered =
                        self.respond_to_network(now, seid, &pdr, network, &frame, &mut answered);
                    dispositions.push(match is_answered {
                        true => Disposition::Consumed,
                        false => self
                            .deliver(now, seid, &pdr, &frame)
                            .unwrap_or_else(|refusal| Disposition::Dropped(refusal.reason)),
                    });
                    if targets.only_one {
                        break;
                    }
                }
                Err(why) if targets.is_session_wide => reason = why,
                Err(_) => {}
            }
        }
        self.settle_copies(dispositions).unwrap_or(Disposition::Dropped(reason))
    }

    /// The sessions that a frame from a network may be for.
    pub(super) fn targets(
        &self,
        network: &NetworkInstance,
        frame: &Frame<'_>,
    ) -> Result<Targets, DropReason> {
        let vlans = frame.vlans();
        let station = |mac| Station { network: network.clone(), vlans, mac };
        let sender = self.stations.owner(&station(frame.ethernet.src));
        let owner = self.stations.owner(&station(frame.ethernet.dst));
        let others = |sessions: BTreeSet<Seid>| {
            sessions.into_iter().filter(|seid| Some(*seid) != sender).collect::<Vec<_>>()
        };
        let all = || others(self.index.by_ethernet_network(network));
        if frame.ethernet.dst.is_multicast() {
            return Ok(Targets { sender, sessions: all(), is_session_wide: true, only_one: false });
        }
        match owner {
            Some(_) if owner == sender => Err(DropReason::SameSide),
            Some(owner) => {
                Ok(Targets { sender, sessions: vec![owner], is_session_wide: true, only_one: true })
            }
            None => {
                let floods = self.topology.ethernet.iter().any(|n| n.instance == *network && n.flood_unknown);
                let sessions = match floods {
                    true => all(),
                    false => others(self.index.by_unknown_station(network, frame.ethernet.dst)),
                };
                Ok(Targets { sender, sessions, is_session_wide: floods, only_one: !floods })
            }
        }
    }

    pub(super) fn match_frame(
        &self,
        now: Time,
        seid: Seid,
        network: &NetworkInstance,
        belongs: bool,
        frame: &Frame<'_>,
    ) -> Result<Pdr, DropReason> {
        let session = self.sessions.get(&seid).ok_or(DropReason::UnknownMac)?;
        let arrived =
            ReceivedFrame { tunnel: None, network: Some(network.clone()), is_session_wide: belongs, frame };
        find_pdr(session, &arrived, self.shared.wall.at(now)).cloned()
    }

    pub(super) fn deliver(
        &mut self,
        now: Time,
        seid: Seid,
        pdr: &Pdr,
        frame: &Frame<'_>,
    ) -> Result<Disposition, DropWithError> {
        match pdr.vlan_removal {
            Some(removal) => {
                let inside = remove_tags(frame, removal)?;
                self.receive_matched(now, seid, pdr, &PacketOrigin::default(), &inside, false)
            }
            None => self.receive_matched(now, seid, pdr, &PacketOrigin::default(), frame.bytes, false),
        }
    }

    /// The best disposition counts for the frame; the others count for its copies.
    fn settle_copies(&mut self, mut dispositions: Vec<Disposition>) -> Option<Disposition> {
        let rank = |disposition: &Disposition| match disposition {
            Disposition::Forwarded => 0,
            Disposition::Buffered => 1,
            Disposition::Consumed => 2,
            Disposition::Dropped(_) => 3,
        };
        let best = (0..dispositions.len()).min_by_key(|at| dispositions.get(*at).map(rank))?;
        let best = dispositions.swap_remove(best);
        self.counters.copies += dispositions.len() as u64;
        dispositions.into_iter().for_each(|disposition| self.count_disposition(disposition));
        Some(best)
    }
}

/// The sessions that a frame from a network may be for.
pub(super) struct Targets {
    /// The session that sent it, when the network returned the frame.
    sender: Option<Seid>,
    pub(super) sessions: Vec<Seid>,
    /// It is for the sessions as a whole, not only where a filter names it.
    pub(super) is_session_wide: bool,
    /// Only the first session that matches receives it.
    only_one: bool,
}

//! What would become of a packet, and why.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use causeway_dataplane::{
    Explanation, FirewallAction, FirewallExplanation, Ingress, MatchedRules, PdrMismatch, QerVerdict,
    RateVerdict, SessionKey, SessionTrial, UrrVerdict,
};
use causeway_model::{PduSessionType, RuleSet};
use causeway_packet::UserPacket;
use causeway_packet::gtpu::{self, PduSession};
use causeway_types::{PdrId, Seid, Time, UrrId, Volume};

use crate::application_class::ClassPairs;
use crate::application_detection::Detection;
use crate::drops::Drops;
use crate::enforcer::QerState;
use crate::engine::SlowPath;
use crate::ethernet::{Neighbours, Stations};
use crate::index::Index;
use crate::lease::Destination;
use crate::matching::mismatch;
use crate::meter::Colour;
use crate::n6;
use crate::paths::Paths;
use crate::received::{PacketOrigin, ReceivedPacket, TunnelSource};
use crate::session::direction_of;
use crate::timers::Timers;

/// Buffered packets that one packet may displace; of a larger one, the explanation says that the buffers are full.
const DISPLACED: usize = 16;

/// The sessions of a packet that is explained, at most: each is copied.
const MAX_SESSIONS: usize = 64;

/// The PDRs that were compared with a packet, and the one that matches, with its session.
pub(crate) type PdrTrials = (Vec<SessionTrial>, Option<(Seid, PdrId)>);

impl SlowPath {
    /// Processes the packet in a copy of the state that concerns it, so that this state stays as it is. `None`: it concerns
    /// too many sessions.
    pub(crate) fn explanation(&self, now: Time, ingress: &Ingress, packet: &[u8]) -> Option<Explanation> {
        let candidates = match ingress {
            Ingress::Ethernet { network } => self.sessions_for_frame(network, packet),
            _ => self.sessions_for_packet(ingress, packet),
        };
        if candidates.len() > MAX_SESSIONS {
            return None;
        }
        let is_frame = matches!(ingress, Ingress::Ethernet { .. })
            || candidates.iter().any(|seid| self.is_ethernet(*seid));
        let mut copy = self.with_sessions(&candidates);
        let key = self.session_key(ingress, packet);
        let firewall =
            self.firewall_explanation(ingress, packet).filter(|_| !is_frame && !candidates.is_empty());
        let is_denied = firewall.as_ref().is_some_and(|it| it.action == FirewallAction::Deny);
        let trials = if is_frame {
            (copy.stations, copy.neighbours) = self.ethernet_part(ingress, packet, &candidates);
            copy.try_frame_pdrs(now, ingress, packet, &candidates)
        } else {
            copy.try_pdrs(now, ingress, packet, if is_denied { &[] } else { &candidates })
        };
        let (sessions, matched) = trials.unwrap_or_default();
        let mut rules = matched.and_then(|(seid, pdr)| copy.matched_rules(now, seid, pdr));
        let disposition = copy.receive(now, ingress, packet);
        if let Some(rules) = &mut rules {
            for urr in &mut rules.urrs {
                urr.after = copy.volume_of(now, rules.session, urr.id);
            }
        }
        let sent = copy.transmit_queue.drain(..).map(|(egress, packet)| (egress, packet.len())).collect();
        let firewall = firewall.map(Box::new);
        Some(Explanation { key, firewall, sessions, rules, disposition, sent })
    }

    fn is_ethernet(&self, seid: Seid) -> bool {
        self.sessions.get(&seid).is_some_and(|session| session.rules.pdu_type == PduSessionType::Ethernet)
    }

    /// A copy with these sessions only, and with the limits that all sessions share.
    fn with_sessions(&self, seids: &[Seid]) -> Self {
        let mut index = Index::default();
        let mut sessions = causeway_collections::PartitionedMap::default();
        for seid in seids {
            if let Some(session) = self.sessions.get(seid) {
                index.update(*seid, &RuleSet::default(), &session.rules);
                sessions.insert(*seid, session.clone());
            }
        }
        // A packet that is buffered may displace the oldest packets of other sessions.
        for owner in self.buffered_order.values().take(DISPLACED) {
            if let Some(session) = self.sessions.get(owner).filter(|_| !sessions.contains_key(owner)) {
                sessions.insert(*owner, session.clone());
            }
        }
        Self {
            topology: self.topology.clone(),
            limits: self.limits,
            sessions,
            index,
            indications: self.indications.clone(),
            icmp_limit: self.icmp_limit.clone(),
            signalling_limit: self.signalling_limit.clone(),
            paths: Paths::new(self.topology.routing.echo),
            shared: self.shared.clone(),
            stations: Stations::default(),
            reported_macs: BTreeMap::new(),
            neighbours: Neighbours::default(),
            counters: self.counters.clone(),
            drops: Drops::default(),
            buffered_octets: self.buffered_octets,
            buffered_order: self.buffered_order.clone(),
            buffered_total: self.buffered_total,
            discarded_elsewhere: Vec::new(),
            timers: Timers::default(),
            events: VecDeque::new(),
            applications: Arc::clone(&self.applications),
            class_pairs: ClassPairs::default(),
            transmit_queue: VecDeque::new(),
            heavy_hitters: None,
            leaves_timers: self.leaves_timers,
            has_late_timers: false,
        }
    }

    fn session_key(&self, ingress: &Ingress, packet: &[u8]) -> Option<SessionKey> {
        if let Ingress::Ethernet { network } = ingress {
            return Self::mac_key(network, packet);
        }
        match (ingress, self.destination_of(ingress, packet)?) {
            (Ingress::Gtpu { .. }, Destination::Tunnel(teid, local)) => {
                let qfi =
                    gtpu::Packet::parse(packet).ok()?.extensions.pdu_session().as_ref().map(PduSession::qfi);
                Some(SessionKey::Tunnel { teid, local, qfi })
            }
            (Ingress::Ip { network }, Destination::Ue(address)) => {
                Some(SessionKey::UeAddress { network: network.clone(), address })
            }
            _ => None,
        }
    }

    /// Compares the packet with the PDRs of these sessions, as [`SlowPath::receive`] does. `None`: it is not a user
    /// packet.
    fn try_pdrs(
        &self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        candidates: &[Seid],
    ) -> Option<PdrTrials> {
        let (origin, user) = self.user_packet(ingress, packet)?;
        let arrival = ReceivedPacket { origin, user: UserPacket::parse(user).ok()? };
        let (wall, mut trials) = (self.shared.wall.at(now), Vec::new());
        for seid in candidates {
            let Some(session) = self.sessions.get(seid) else { continue };
            let mut detector = session.detector.clone();
            let seen = match session.needs_dpi(&self.applications) {
                true => detector.observe(&arrival.user).cloned(),
                false => None,
            };
            let detection = Detection {
                applications: &self.applications,
                seen: seen.as_ref(),
                class: session.class.verdict,
            };
            let mut pdrs: Vec<(PdrId, Option<PdrMismatch>)> = Vec::new();
            for pdr in session.pdrs_in_order() {
                pdrs.push((pdr.id, mismatch(pdr, &arrival, &detection, wall)));
                if let Some((matching, None)) = pdrs.last().copied() {
                    trials.push(SessionTrial { session: *seid, pdrs });
                    return Some((trials, Some((*seid, matching))));
                }
            }
            trials.push(SessionTrial { session: *seid, pdrs });
        }
        Some((trials, None))
    }

    /// What the firewall decides on a packet; `None`: there is none, or it is not a user packet.
    fn firewall_explanation(&self, ingress: &Ingress, packet: &[u8]) -> Option<FirewallExplanation> {
        let firewall = self.topology.firewall.as_deref()?;
        let (origin, user) = self.user_packet(ingress, packet)?;
        let (direction, flow) = (origin.firewall_direction(), UserPacket::parse(user).ok()?.flow);
        let verdict = firewall.verdict(direction, &flow);
        let rule = verdict.rule.and_then(|number| Some((number + 1, firewall.rules().get(number)?.clone())));
        Some(FirewallExplanation { direction, action: verdict.action, rule })
    }

    /// The user packet within a packet, and its origin.
    pub(crate) fn user_packet<'p>(
        &self,
        ingress: &Ingress,
        packet: &'p [u8],
    ) -> Option<(PacketOrigin, &'p [u8])> {
        match ingress {
            Ingress::Gtpu { local, .. } => {
                let packet = gtpu::Packet::parse(packet).ok()?;
                let gtpu::Message::GPdu(user) = packet.message else { return None };
                let qfi = packet.extensions.pdu_session().as_ref().map(PduSession::qfi);
                let tunnel = Some(TunnelSource { teid: packet.header.teid?, local: *local, qfi });
                let network = self.instance_of(*local);
                Some((PacketOrigin { tunnel, network, ..PacketOrigin::default() }, user))
            }
            Ingress::Ip { network } => {
                let user = UserPacket::parse(packet).ok()?;
                let origin = PacketOrigin { network: Some(network.clone()), ..PacketOrigin::default() };
                match n6::decapsulate(&user, network, &self.topology).ok()? {
                    None => Some((origin, packet)),
                    Some((n6, inner)) => Some((PacketOrigin { n6: Some(n6), ..origin }, inner)),
                }
            }
            Ingress::Ethernet { .. } => None,
        }
    }

    /// The rules of a PDR, in their present state.
    fn matched_rules(&self, now: Time, seid: Seid, pdr: PdrId) -> Option<MatchedRules> {
        let session = self.sessions.get(&seid)?;
        let (far, pdr) = (session.far_of(pdr)?, session.rules.pdrs.get(&pdr)?);
        let direction = direction_of(pdr);
        let colour = |state: &QerState| state.direction(direction).meter.clone().colour(now);
        let qers = session.qers_of(pdr).map(|qer| QerVerdict {
            id: qer.id,
            gate: qer.gate(direction),
            rate: (qer.mbr.is_some() || qer.guaranteed(direction).is_some())
                .then(|| self.shared.inspect(session, qer, colour).map(verdict))
                .flatten(),
        });
        let exhausted =
            |id| session.look_at_urr(id, |measurement, _| measurement.is_exhausted()).unwrap_or(false);
        let urrs = pdr.urrs.iter().map(|id| {
            let before = self.volume_of(now, seid, *id);
            UrrVerdict { id: *id, is_exhausted: exhausted(*id), before, after: before }
        });
        Some(MatchedRules {
            session: seid,
            pdr: pdr.id,
            direction,
            far: far.id,
            action: far.action,
            qers: qers.collect(),
            urrs: urrs.collect(),
        })
    }
}

impl SlowPath {
    /// The volume that a URR has measured since it was created; zero if it is not there.
    fn volume_of(&self, now: Time, seid: Seid, id: UrrId) -> Volume {
        let volume = self.sessions.get(&seid).and_then(|session| {
            session.look_at_urr(id, |measurement, urr| measurement.state(urr, now).total.volume)
        });
        volume.unwrap_or_default()
    }
}

const fn verdict(colour: Colour) -> RateVerdict {
    match colour {
        Colour::Green => RateVerdict::Guaranteed,
        Colour::Yellow => RateVerdict::Allowed,
        Colour::Red => RateVerdict::Exceeded,
    }
}

//! What packets of a session do as long as nothing but ordinary packets happens to it: for a faster data plane that
//! decides them by itself and settles later.
//!
//! [`OffloadSpec`] says which packets find the session and what its rules make of them; it holds until the next plan.
//! [`Grant`] says how much of that may happen before anybody but the reference has to be asked: octets until a threshold
//! or quota, how long a silence, what is in the token buckets. [`Reference::settle`] folds in what happened;
//! afterwards the session is exactly as if the reference had handled those packets itself.

mod dormancy;
mod external_rules;
mod grant;
mod handover;
mod lookup;
mod measured_state;
mod offload_spec;
mod profile;
mod rule_action;
mod settle;

pub use external_rules::{CounterReading, PacketCount, PlanPreview};
pub use grant::{Grant, MeterGrant};
pub use lookup::{LookupEntry, LookupKey, UeMatch};
pub use measured_state::MeasuredState;
pub use offload_spec::{GrantKey, OffloadMeter, OffloadRule, OffloadSpec};
pub use profile::{ProfileParams, ProfileRules};
pub use rule_action::{RuleAction, SendAction};
pub use settle::{ForwardedUsage, MeterState, RuleUsage};

pub use crate::session::direction_of;

use std::net::IpAddr;

use causeway_dataplane::{Ingress, N6Endpoint};
use causeway_packet::{UserPacket, gtpu};
use causeway_types::{Seid, Teid, Time};

use crate::engine::Reference;
use crate::index::local_tunnels;
use crate::n6;

/// Whom a packet is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The session that the tunnel with this TEID at this address of ours ends in.
    Tunnel(Teid, IpAddr),
    /// The sessions of a UE address.
    Ue(IpAddr),
    /// The sessions that send into the tunnel with this TEID at this address of a peer.
    Remote(Teid, IpAddr),
}

impl Reference {
    /// Whose timer expires next, if it is due.
    pub fn expired_session(&self, now: Time) -> Option<Seid> {
        self.timers.first_due(now, self.shared.wall)
    }

    /// The sessions whose rules a packet may be measured against.
    pub fn sessions_for_packet(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        match self.destination_of(ingress, packet) {
            Some(Destination::Tunnel(teid, local)) => {
                self.index.session_of_tunnel(teid, local).into_iter().collect()
            }
            Some(Destination::Ue(ip)) => self.index.sessions_of_ue(ip),
            Some(Destination::Remote(..)) | None => Vec::new(),
        }
    }

    /// Whom a packet is for. `None`: for no session by its address.
    pub fn destination_of(&self, ingress: &Ingress, packet: &[u8]) -> Option<Destination> {
        match ingress {
            Ingress::Gtpu { local, .. } => {
                let packet = gtpu::Packet::parse(packet).ok()?;
                if let gtpu::Message::ErrorIndication(indication) = packet.message {
                    return Some(Destination::Remote(indication.teid?, indication.peer));
                }
                Some(Destination::Tunnel(packet.header.teid?, *local))
            }
            Ingress::Ip { network } => {
                let user = UserPacket::parse(packet).ok()?;
                match n6::decapsulate(&user, network, &self.topology).ok()? {
                    None => Some(Destination::Ue(user.flow.dst)),
                    Some((_, inner)) => {
                        UserPacket::parse(inner).ok().map(|user| Destination::Ue(user.flow.dst))
                    }
                }
            }
            Ingress::Ethernet { .. } => None,
        }
    }

    /// A packet from a data network for this address is for some session, or for our end of a tunnel.
    pub fn has_destination(&self, address: IpAddr) -> bool {
        let is_end = |end: &N6Endpoint| end.addr.contains(address);
        self.index.has_ue(address) || self.topology.n6_tunnels.iter().any(is_end)
    }

    /// The sessions that share a UE address with this one, or have one that lies in a prefix of the other.
    pub fn overlapping_sessions(&self, seid: Seid) -> Vec<Seid> {
        let Some(session) = self.sessions.get(&seid) else { return Vec::new() };
        self.index.overlapping_sessions(seid, &session.rules)
    }

    /// The tunnels that end here for a session.
    pub fn tunnels(&self, seid: Seid) -> Vec<(Teid, IpAddr)> {
        self.sessions.get(&seid).map_or_else(Vec::new, |session| local_tunnels(&session.rules).collect())
    }

    /// The peer may be told now of a tunnel or an extension header that is unknown: else its packet is dropped without a word.
    pub fn may_send_signalling(&mut self, peer: IpAddr, now: Time) -> bool {
        self.signalling_limit.is_available(peer, now) && self.is_another_host(peer)
    }

    /// The peer may be told of neither before that time. `None`: [`Reference::may_send_signalling`].
    pub fn suppressed_until(&mut self, peer: IpAddr, now: Time) -> Option<Time> {
        self.signalling_limit.suppressed_until(peer, now)
    }

    /// The sender of a packet may be told now that it cannot be forwarded: else it is dropped without a word.
    pub fn may_send_icmp_error(&mut self, sender: IpAddr, now: Time) -> bool {
        self.icmp_limit.is_available(sender, now)
    }
}

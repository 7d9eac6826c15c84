//! Leases of sessions to a faster data plane, which handles the common case itself and settles later.
//!
//! [`OffloadSpec`] describes which packets belong to the session and what its rules do with them; it holds until the
//! next plan. [`Grant`] limits how much traffic may pass before the slow path must be consulted: octets until a
//! threshold or quota, the longest silence, the levels of token buckets. [`SlowPath::settle`] adds the usage since;
//! afterwards the session is exactly as if the slow path had handled those packets itself.

mod buffered_octets;
mod dormancy;
mod external_rules;
mod grant;
mod handover;
mod lookup;
mod measured_state;
mod offload_spec;
mod profile;
mod record;
mod rule_action;
mod settle;
mod usage_snapshot;

pub use external_rules::{CounterReading, PacketCount, PlanPreview, Software};
pub use grant::{Grant, MeterGrant};
pub use lookup::{LookupEntry, LookupKey, UeMatch, may_change_lookup};
pub use measured_state::{Kept, MeasuredState};
pub use offload_spec::{GrantKey, OffloadMeter, OffloadRule, OffloadSpec};
pub use profile::{ProfileParams, ProfileRules};
pub use record::BadRecord;
pub(crate) use record::{RecordReader, RecordWriter};
pub use rule_action::{RuleAction, SendAction};
pub use settle::{ForwardedUsage, MeterState, RuleUsage};

use causeway_types::{Seid, Teid, Time};

use causeway_dataplane::{Ingress, N6Endpoint};

pub use crate::session::direction_of;

use std::net::IpAddr;

use causeway_packet::{UserPacket, gtpu};

use crate::engine::SlowPath;
use crate::index::local_tunnels;
use crate::n6;

/// The destination of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Destination {
    /// The session of the local tunnel with this TEID and address.
    Tunnel(Teid, IpAddr),
    /// The sessions of a UE address.
    Ue(IpAddr),
    /// The sessions that send into the remote tunnel with this TEID and address.
    Remote(Teid, IpAddr),
}

impl SlowPath {
    /// The session whose timer expires next, if it is due.
    pub fn expired_session(&self, now: Time) -> Option<Seid> {
        self.timers.first_due(now, self.shared.wall)
    }

    /// The sessions whose rules a packet or an Ethernet frame may concern.
    pub fn sessions_for_any(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        match ingress {
            Ingress::Ethernet { network } => self.sessions_for_frame(network, packet),
            _ => self.sessions_for_packet(ingress, packet),
        }
    }

    /// The sessions whose rules a packet may concern.
    pub fn sessions_for_packet(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        self.destination_of(ingress, packet).map_or_else(Vec::new, |to| self.sessions_of(&to))
    }

    /// The sessions whose rules packets to a destination concern.
    pub fn sessions_of(&self, destination: &Destination) -> Vec<Seid> {
        match destination {
            Destination::Tunnel(teid, local) => {
                self.index.session_of_tunnel(*teid, *local).into_iter().collect()
            }
            Destination::Ue(ip) => self.index.sessions_of_ue(*ip),
            Destination::Remote(..) => Vec::new(),
        }
    }

    /// The destination of a packet. `None`: its address belongs to no session.
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

    /// A packet from a data network for this address is for a session, or for the local end of a tunnel.
    pub fn has_destination(&self, address: IpAddr) -> bool {
        let is_end = |end: &N6Endpoint| end.addr.contains(address);
        self.index.has_ue(address) || self.topology.n6_tunnels.iter().any(is_end)
    }

    /// The other sessions with a UE address that overlaps one of this session.
    pub fn overlapping_sessions(&self, seid: Seid) -> Vec<Seid> {
        let Some(session) = self.sessions.get(&seid) else { return Vec::new() };
        self.index.overlapping_sessions(seid, &session.rules)
    }

    /// The local tunnels of a session.
    pub fn tunnels(&self, seid: Seid) -> Vec<(Teid, IpAddr)> {
        self.sessions.get(&seid).map_or_else(Vec::new, |session| local_tunnels(&session.rules).collect())
    }

    /// A message about an unknown tunnel or extension header may be sent to the peer now: otherwise its packet is
    /// dropped silently.
    pub fn may_send_signalling(&mut self, peer: IpAddr, now: Time) -> bool {
        self.signalling_limit.is_available(peer, now) && self.is_another_host(peer)
    }

    /// Until when no such message may be sent to the peer. `None`: see [`SlowPath::may_send_signalling`].
    pub fn suppressed_until(&mut self, peer: IpAddr, now: Time) -> Option<Time> {
        self.signalling_limit.suppressed_until(peer, now)
    }

    /// An ICMP error may be sent to the sender of a packet now: otherwise the packet is dropped silently.
    pub fn may_send_icmp_error(&mut self, sender: IpAddr, now: Time) -> bool {
        self.icmp_limit.is_available(sender, now)
    }
}

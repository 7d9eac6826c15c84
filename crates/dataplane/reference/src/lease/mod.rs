//! What packets of a session do as long as nothing but ordinary packets happens to it: for a faster data plane that
//! decides them by itself and settles later.
//!
//! [`Shape`] says which packets find the session and what its rules make of them; it holds until the next plan.
//! [`Grant`] says how much of that may happen before anybody but the reference has to be asked: octets until a threshold
//! or quota, how long a silence, what is in the token buckets. [`Reference::settle`] folds in what happened;
//! afterwards the session is exactly as if the reference had handled those packets itself.

mod act;
mod door;
mod grant;
mod lead;
mod outside;
mod own;
mod rest;
mod settle;
mod shape;
mod trace;

pub use act::{Act, Send};
pub use door::{Door, DoorKey, UeShape};
pub use grant::{Grant, MeterGrant};
pub use outside::{Counted, Outcome, Reading};
pub use own::{Likeness, Own};
pub use settle::{MeterSpent, Passed, Spent};
pub use shape::{MeterShape, RuleKey, RuleShape, Shape};
pub use trace::Traces;

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
pub enum Addressee {
    /// The session that the tunnel with this TEID at this address of ours ends in.
    Tunnel(Teid, IpAddr),
    /// The sessions of a UE address.
    Ue(IpAddr),
    /// The sessions that send into the tunnel with this TEID at this address of a peer.
    Senders(Teid, IpAddr),
}

impl Reference {
    /// Whose timer expires next, if it is due.
    pub fn due(&self, now: Time) -> Option<Seid> {
        self.timers.first_due(now, self.shared.wall)
    }

    /// The sessions whose rules a packet may be measured against.
    pub fn concerned(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        match self.addressee(ingress, packet) {
            Some(Addressee::Tunnel(teid, local)) => self.index.by_tunnel(teid, local).into_iter().collect(),
            Some(Addressee::Ue(ip)) => self.index.by_ue(ip),
            Some(Addressee::Senders(..)) | None => Vec::new(),
        }
    }

    /// Whom a packet is for. `None`: for no session by its address.
    pub fn addressee(&self, ingress: &Ingress, packet: &[u8]) -> Option<Addressee> {
        match ingress {
            Ingress::Gtpu { local, .. } => {
                let packet = gtpu::Packet::parse(packet).ok()?;
                if let gtpu::Message::ErrorIndication(indication) = packet.message {
                    return Some(Addressee::Senders(indication.teid?, indication.peer));
                }
                Some(Addressee::Tunnel(packet.header.teid?, *local))
            }
            Ingress::Ip { network } => {
                let user = UserPacket::parse(packet).ok()?;
                match n6::decapsulate(&user, network, &self.topology).ok()? {
                    None => Some(Addressee::Ue(user.flow.dst)),
                    Some((_, inner)) => {
                        UserPacket::parse(inner).ok().map(|user| Addressee::Ue(user.flow.dst))
                    }
                }
            }
            Ingress::Ethernet { .. } => None,
        }
    }

    /// A packet from a data network for this address is for some session, or for our end of a tunnel.
    pub fn knows(&self, address: IpAddr) -> bool {
        let is_end = |end: &N6Endpoint| end.addr.contains(address);
        self.index.has_ue(address) || self.topology.n6_tunnels.iter().any(is_end)
    }

    /// The sessions that share a UE address with this one, or have one that lies in a prefix of the other.
    pub fn rivals(&self, seid: Seid) -> Vec<Seid> {
        let Some(session) = self.sessions.get(&seid) else { return Vec::new() };
        self.index.rivals(seid, &session.rules)
    }

    /// The tunnels that end here for a session.
    pub fn tunnels(&self, seid: Seid) -> Vec<(Teid, IpAddr)> {
        self.sessions.get(&seid).map_or_else(Vec::new, |session| local_tunnels(&session.rules).collect())
    }

    /// The peer may be told now of a tunnel or an extension header that is unknown: else its packet is dropped without a word.
    pub fn may_signal(&mut self, peer: IpAddr, now: Time) -> bool {
        self.signalling.has_some(peer, now) && self.is_another_host(peer)
    }

    /// The peer may be told of neither before that time. `None`: [`Reference::may_signal`].
    pub fn silent_until(&mut self, peer: IpAddr, now: Time) -> Option<Time> {
        self.signalling.silent_until(peer, now)
    }

    /// The sender of a packet may be told now that it cannot be forwarded: else it is dropped without a word.
    pub fn may_tell_sender(&mut self, sender: IpAddr, now: Time) -> bool {
        self.icmp.has_some(sender, now)
    }
}

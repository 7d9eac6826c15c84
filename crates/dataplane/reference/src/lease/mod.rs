//! What packets of a session do as long as nothing but ordinary packets happens to it: for a faster data plane that
//! decides them by itself and settles later.
//!
//! [`Shape`] says which packets find the session and what its rules make of them; it holds until the next plan.
//! [`Grant`] says how much of that may happen before anybody but the reference has to be asked: octets until a threshold
//! or quota, how long a silence, what is in the token buckets. [`Reference::settle`] folds in what happened;
//! afterwards the session is exactly as if the reference had handled those packets itself.

mod act;
mod grant;
mod own;
mod settle;
mod shape;

pub use act::{Act, Send};
pub use grant::{Grant, MeterGrant};
pub use own::{Likeness, Own};
pub use settle::{MeterSpent, Passed, Spent};
pub use shape::{Door, DoorKey, MeterShape, RuleKey, RuleShape, Shape, UeShape};

use std::net::IpAddr;

use causeway_dataplane::{Ingress, N6Endpoint};
use causeway_packet::{UserPacket, gtpu};
use causeway_types::{Seid, Teid, Time};

use crate::engine::Reference;
use crate::index::local_tunnels;
use crate::n6;

impl Reference {
    /// Whose timer expires next, if it is due.
    pub fn due(&self, now: Time) -> Option<Seid> {
        self.timers.first_due(now)
    }

    /// The sessions whose rules a packet may be measured against.
    pub fn concerned(&self, ingress: &Ingress, packet: &[u8]) -> Vec<Seid> {
        match ingress {
            Ingress::Gtpu { local, .. } => {
                let teid = gtpu::Packet::parse(packet).ok().and_then(|packet| packet.header.teid);
                teid.and_then(|teid| self.index.by_tunnel(teid, *local)).into_iter().collect()
            }
            Ingress::Ip { network } => {
                let Ok(user) = UserPacket::parse(packet) else { return Vec::new() };
                match n6::decapsulate(&user, network, &self.topology) {
                    Ok(None) => self.index.by_ue(user.flow.dst),
                    Ok(Some((_, inner))) => UserPacket::parse(inner)
                        .map_or_else(|_| Vec::new(), |user| self.index.by_ue(user.flow.dst)),
                    Err(_) => Vec::new(),
                }
            }
            Ingress::Ethernet { .. } => Vec::new(),
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

    /// The peer may be told now of a tunnel that is unknown: else its packet is dropped without a word.
    pub fn may_signal(&mut self, peer: IpAddr, now: Time) -> bool {
        self.signalling.has_some(peer, now)
    }
}

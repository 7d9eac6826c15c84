//! What rules do with packets, as records in external memory.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU8;
use std::ops::Range;

use causeway_dataplane::{DropReason, Egress, Topology};
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_slowpath::lease::{RuleAction, SendAction};

use crate::key::address;
use crate::octets::{Reader, Writer};

/// Octets of an action in external memory.
pub(crate) const ACTION: usize = 72;
/// Octets of the longest header in front of a user packet.
const MAX_HEADER: usize = 32;

/// The action of a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// The slow path decides.
    SlowPath,
    /// Drop, after counting before QoS enforcement.
    Drop(DropReason),
    /// Forward.
    Send(Send),
}

/// The forwarding of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Send {
    route: Route,
    /// The largest user packet, octets.
    pub(crate) max_payload: u32,
    is_routed: bool,
    /// A gate is closed.
    pub(crate) is_gated: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Route {
    /// The number of the data network in the topology.
    Network(u16),
    Tunnel {
        /// The number of the local address in the topology.
        local: u8,
        peer: SocketAddr,
        header: [u8; MAX_HEADER],
        header_len: u8,
        /// The outer type of service without ECN.
        tos: u8,
    },
}

const ROUTED: u8 = 1;
const GATED: u8 = 2;

impl Action {
    /// The action of a rule; what a record cannot express is for the slow path.
    pub fn new(action: &RuleAction, topology: &Topology) -> Self {
        match action {
            RuleAction::SlowPath => Self::SlowPath,
            RuleAction::Drop(reason) => Self::Drop(*reason),
            RuleAction::Send(send) => Send::new(send, topology).map_or(Self::SlowPath, Self::Send),
        }
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Writer::of_size(ACTION);
        match self {
            Self::SlowPath => {}
            Self::Drop(reason) => {
                out.u8(1).u8(*reason as u8);
            }
            Self::Send(Send { route, max_payload, is_routed, is_gated }) => {
                let flags = (u8::from(*is_routed) * ROUTED) | (u8::from(*is_gated) * GATED);
                match route {
                    Route::Network(network) => {
                        out.u8(2).u8(flags).u32(*max_payload).u16(*network);
                    }
                    Route::Tunnel { local, peer, header, header_len, tos } => {
                        out.u8(3).u8(flags).u32(*max_payload).u8(*local).u8(*tos);
                        out.u8(u8::from(peer.is_ipv6())).bytes(&address(peer.ip())).u16(peer.port());
                        out.u8(*header_len).bytes(header);
                    }
                }
            }
        }
        out.finish(ACTION)
    }

    /// `None`: these are not the octets of an action.
    pub(crate) fn decode(octets: &[u8]) -> Option<Self> {
        let mut input = Reader::new(octets);
        let kind = input.u8()?;
        match kind {
            0 => return Some(Self::SlowPath),
            1 => return DropReason::ALL.get(usize::from(input.u8()?)).copied().map(Self::Drop),
            _ => {}
        }
        let (flags, max_payload) = (input.u8()?, input.u32()?);
        let route = match kind {
            2 => Route::Network(input.u16()?),
            3 => {
                let (local, tos, is_ipv6) = (input.u8()?, input.u8()?, input.u8()? != 0);
                let ip = Ipv6Addr::from(input.array::<16>()?);
                let ip = if is_ipv6 { ip.into() } else { IpAddr::V4(ip.to_ipv4_mapped()?) };
                let peer = SocketAddr::new(ip, input.u16()?);
                let header_len = input.u8().filter(|length| usize::from(*length) <= MAX_HEADER)?;
                Route::Tunnel { local, peer, header: input.array()?, header_len, tos }
            }
            _ => return None,
        };
        let (is_routed, is_gated) = (flags & ROUTED != 0, flags & GATED != 0);
        Some(Self::Send(Send { route, max_payload, is_routed, is_gated }))
    }
}

impl Send {
    fn new(send: &SendAction, topology: &Topology) -> Option<Self> {
        let route = match &send.egress {
            Egress::Ip { network } if send.header.is_empty() => {
                let number = topology.networks.iter().position(|known| known.instance == *network)?;
                Route::Network(u16::try_from(number).ok()?)
            }
            Egress::Gtpu { local, peer, .. } if send.header.len() >= 8 => {
                let locals = topology.local_addresses();
                let local = locals.iter().position(|known| known == local)?;
                let mut header = [0; MAX_HEADER];
                header.get_mut(..send.header.len())?.copy_from_slice(&send.header);
                Route::Tunnel {
                    local: u8::try_from(local).ok()?,
                    peer: *peer,
                    header,
                    header_len: u8::try_from(send.header.len()).ok()?,
                    tos: send.marking.map_or(0, |marking| marking.apply(0)),
                }
            }
            _ => return None,
        };
        let max_payload = u32::try_from(send.max_payload).unwrap_or(u32::MAX);
        Some(Self { route, max_payload, is_routed: send.is_routed, is_gated: send.is_gated })
    }

    /// The packet as it is sent, in the memory of the frame that it came in: `user` is the user packet there. `hops`: those of the outer header that it came
    /// with. `locals`: the local GTP-U addresses of the topology. `None`: it cannot be sent.
    pub(crate) fn wrap(
        &self,
        (frame, user): (&mut Vec<u8>, Range<usize>),
        tos: u8,
        hops: Option<NonZeroU8>,
        (topology, locals): (&Topology, &[IpAddr]),
    ) -> Option<Egress> {
        let packet = frame.get_mut(user.clone())?;
        if self.is_routed && topology.routing.decrement_ttl {
            decrement_hop_limit(packet).ok()?;
        }
        let length = packet.len();
        Some(match self.route {
            Route::Network(network) => {
                let network = topology.networks.get(usize::from(network))?.instance.clone();
                frame.truncate(user.end);
                frame.drain(..user.start);
                Egress::Ip { network }
            }
            Route::Tunnel { local, peer, mut header, header_len, tos: outer } => {
                let hops = causeway_dataplane::hops_of_relayed(hops).ok()?;
                let local = *locals.get(usize::from(local))?;
                let front = header.get_mut(..usize::from(header_len))?;
                let length = u16::try_from(front.len().checked_sub(8)? + length).ok()?;
                front.get_mut(2..4)?.copy_from_slice(&length.to_be_bytes());
                frame.truncate(user.end);
                drop(frame.splice(..user.start, front.iter().copied()));
                Egress::Gtpu { local, peer, tos: outer | tos & 0x03, hops }
            }
        })
    }
}

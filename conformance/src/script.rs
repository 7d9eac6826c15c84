//! The inputs of a UPF, as plain data that can be changed at random, to fuzz whole sessions.
//!
//! The octets of a script are steps of a kind, a length of 16 bits in network byte order, and that many octets:
//!
//! | kind | content |
//! |---|---|
//! | 0 | the last octet of the sender's address in 192.0.2.0/24, and its PFCP datagram |
//! | 1 | the last octet of the sender's address in 192.0.2.0/24, and its GTP-U datagram |
//! | 2 | an IP packet of the data network |
//! | 3 | the milliseconds that pass, 32 bits in network byte order; an hour at most |
//! | 4 | 0 for the Ethernet network `lan`, any other octet for `wire`, and a frame from there |
//! | 5 | the seconds by which the wall clock is set forward; back, if negative: signed 32 bits in network byte order |

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::{Ingress, PacketEngine};
use causeway_types::{NetworkInstance, Span};

use crate::runner::{GTPU_PORT, LAN, PFCP_PORT, START_TIME, UPF, WIRE, internet, topology};
use crate::setup::Setup;
use crate::upf::Upf;

/// One thing that happens to a UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Input {
    /// A datagram arrives on N4.
    Pfcp {
        /// From where; the port is 8805.
        from: IpAddr,
        /// Its payload.
        octets: Vec<u8>,
    },
    /// A packet arrives.
    Packet {
        /// Where and how.
        ingress: Ingress,
        /// From the GTP-U or IP header, or the frame's destination address on.
        octets: Vec<u8>,
    },
    /// Time passes.
    Wait(Span),
    /// The wall clock is set forward by so many seconds; back, if it is less than zero.
    SetWallClock(i32),
}

const MAX_WAIT: Span = Span::from_secs(3600);

impl Input {
    /// Appends the step, if the octets of a script can say it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let (kind, content) = match self {
            Self::Pfcp { from: IpAddr::V4(from), octets } => (0, after(from.octets()[3], octets)),
            Self::Packet { ingress: Ingress::Gtpu { peer, .. }, octets } => match peer.ip() {
                IpAddr::V4(ip) => (1, after(ip.octets()[3], octets)),
                IpAddr::V6(_) => return,
            },
            Self::Packet { ingress: Ingress::Ip { .. }, octets } => (2, octets.clone()),
            Self::Packet { ingress: Ingress::Ethernet { network }, octets } => {
                (4, after(u8::from(network.as_str() != LAN), octets))
            }
            Self::Wait(span) => {
                (3, u32::try_from(span.as_millis()).unwrap_or(u32::MAX).to_be_bytes().to_vec())
            }
            Self::SetWallClock(seconds) => (5, seconds.to_be_bytes().to_vec()),
            Self::Pfcp { .. } => return,
        };
        let Ok(length) = u16::try_from(content.len()) else { return };
        out.push(kind);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&content);
    }

    /// The steps of a script. What cannot be read ends it; any octets are a script.
    pub fn read_all(mut octets: &[u8]) -> Vec<Self> {
        let mut inputs = Vec::new();
        while let Some((&[kind, high, low], rest)) = octets.split_first_chunk::<3>() {
            let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
            let (content, rest) = rest.split_at(length);
            inputs.extend(Self::of(kind, content));
            octets = rest;
        }
        inputs
    }

    fn of(kind: u8, content: &[u8]) -> Option<Self> {
        let host = |octet: u8| IpAddr::V4(Ipv4Addr::new(192, 0, 2, octet));
        let network = || Ingress::Ip { network: internet() };
        Some(match (kind % 6, content) {
            (0, [from, octets @ ..]) => Self::Pfcp { from: host(*from), octets: octets.to_vec() },
            (1, [from, octets @ ..]) => {
                let peer = SocketAddr::new(host(*from), GTPU_PORT);
                Self::Packet {
                    ingress: Ingress::Gtpu { local: UPF.into(), peer, tos: 0, hops: None },
                    octets: octets.to_vec(),
                }
            }
            (2, octets) => Self::Packet { ingress: network(), octets: octets.to_vec() },
            (3, octets) => {
                let millis = u64::from(u32::from_be_bytes(*octets.first_chunk()?));
                Self::Wait(Span::from_millis(millis).min(MAX_WAIT))
            }
            (4, [link, octets @ ..]) => {
                let network = NetworkInstance::new(if *link == 0 { LAN } else { WIRE });
                Self::Packet { ingress: Ingress::Ethernet { network }, octets: octets.to_vec() }
            }
            (5, octets) => Self::SetWallClock(i32::from_be_bytes(*octets.first_chunk()?)),
            _ => return None,
        })
    }
}

fn after(octet: u8, octets: &[u8]) -> Vec<u8> {
    std::iter::once(octet).chain(octets.iter().copied()).collect()
}

/// Lets everything happen to a fresh UPF, and then releases all associations.
///
/// # Errors
/// What does not hold, whatever happened: every packet received is in exactly one counter, and after the
/// release nothing is left of any session.
pub fn replay(inputs: &[Input], engine: Box<dyn PacketEngine>) -> Result<(), String> {
    let mut upf = Upf::new(engine, &topology(), &Setup::default(), START_TIME);
    for input in inputs {
        match input {
            Input::Pfcp { from, octets } => upf.pfcp(SocketAddr::new(*from, PFCP_PORT), octets),
            Input::Packet { ingress, octets } => upf.packet(ingress, octets),
            Input::Wait(span) => upf.wait(*span),
            Input::SetWallClock(seconds) => upf.set_wall_clock(*seconds),
        }
        upf.check_conservation()?;
        upf.clear_sent();
    }
    upf.release_all();
    upf.wait(MAX_WAIT);
    upf.check_conservation()?;
    upf.check_empty()
}

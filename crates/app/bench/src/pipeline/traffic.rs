//! Packets of random sessions, made before the clock runs.

use std::net::{IpAddr, SocketAddr};

use causeway_dataplane::Ingress;
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_types::{Qfi, Teid};

use super::options::{Size, Way};
use super::shape;
use crate::BenchError;

/// Packets that are measured at once.
pub(super) const CHUNK: usize = 1024;

/// From one packet to the next: no power of two, so that packets do not share cache sets.
const STRIDE: usize = 2112;

/// The UE's port.
const UE_PORT: u16 = 40_000;

/// A chunk of packets.
pub(super) struct Chunk {
    octets: Vec<u8>,
    packets: Vec<Packet>,
}

/// One packet of a [`Chunk`].
struct Packet {
    session: u32,
    way: Way,
    length: usize,
}

/// What packets are made for.
#[derive(Clone, Copy)]
pub(super) struct Mix {
    pub(super) way: Way,
    pub(super) size: Size,
    /// PDRs of each direction.
    pub(super) pdrs: u16,
}

impl Chunk {
    pub(super) fn new() -> Self {
        Self { octets: vec![0; CHUNK * STRIDE], packets: Vec::with_capacity(CHUNK) }
    }

    /// Makes new packets.
    pub(super) fn fill(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        random: &mut fastrand::Rng,
    ) -> Result<(), BenchError> {
        self.packets.clear();
        let sizes = mix.size.octets();
        for (index, room) in self.octets.chunks_exact_mut(STRIDE).enumerate() {
            let session = random.usize(..teids.len());
            let uplink = match mix.way {
                Way::Uplink => true,
                Way::Downlink => false,
                Way::Both => index % 2 == 0,
            };
            let port = shape::FIRST_PORT + random.u16(..mix.pdrs);
            let size = sizes[index % sizes.len()];
            let length = if uplink {
                uplink_packet(room, session as u32, teids[session], port, size)?
            } else {
                downlink_packet(room, session as u32, port, size)?
            };
            let way = if uplink { Way::Uplink } else { Way::Downlink };
            self.packets.push(Packet { session: session as u32, way, length });
        }
        Ok(())
    }

    /// The packets with their sessions, where they come in, and their octets.
    pub(super) fn iter<'a>(
        &'a self,
        ingress: &'a Ingresses,
    ) -> impl Iterator<Item = (u32, &'a Ingress, &'a [u8])> {
        self.packets.iter().zip(self.octets.chunks_exact(STRIDE)).map(|(packet, room)| {
            let from = if packet.way == Way::Uplink { &ingress.n3 } else { &ingress.n6 };
            (packet.session, from, &room[..packet.length])
        })
    }
}

/// Where packets come in.
pub(super) struct Ingresses {
    n3: Ingress,
    n6: Ingress,
}

impl Ingresses {
    pub(super) fn new() -> Self {
        let peer = SocketAddr::from((shape::gnb(0), 2152));
        Self {
            n3: Ingress::Gtpu { local: IpAddr::V4(shape::UPF), peer, tos: 0 },
            n6: Ingress::Ip { network: shape::dnn() },
        }
    }
}

fn uplink_packet(
    room: &mut [u8],
    session: u32,
    teid: Teid,
    port: u16,
    size: usize,
) -> Result<usize, BenchError> {
    let qfi = Qfi::new(shape::QFI).unwrap_or_else(|| unreachable!("a constant below 64"));
    let header = prefix::uplink(teid, qfi, size)?;
    let (front, user) = room.split_at_mut(header.len());
    front.copy_from_slice(&header);
    let ip = Ipv4Repr::new(shape::ue(session), shape::SERVER, IpProtocol::UDP);
    user_packet(user, ip, UdpRepr { src_port: UE_PORT, dst_port: port }, size)?;
    Ok(header.len() + size)
}

fn downlink_packet(room: &mut [u8], session: u32, port: u16, size: usize) -> Result<usize, BenchError> {
    let ip = Ipv4Repr::new(shape::SERVER, shape::ue(session), IpProtocol::UDP);
    user_packet(room, ip, UdpRepr { src_port: port, dst_port: UE_PORT }, size)?;
    Ok(size)
}

/// Headers in front of whatever is there; UDP over IPv4 needs no checksum.
fn user_packet(room: &mut [u8], ip: Ipv4Repr, udp: UdpRepr, size: usize) -> Result<(), BenchError> {
    let ip = ip.header(size - 20)?;
    let udp = udp.header_without_checksum(size - 28)?;
    room[..20].copy_from_slice(&ip);
    room[20..28].copy_from_slice(&udp);
    Ok(())
}

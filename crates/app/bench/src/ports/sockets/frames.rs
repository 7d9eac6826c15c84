//! The packets that are sent.

use std::net::Ipv4Addr;

use causeway_packet::gtpu::prefix::uplink;
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_types::{Qfi, Teid};

use super::place::{SERVER, UE, server, ue};
use crate::BenchError;

/// Packets of one chunk.
pub(super) const CHUNK: usize = 256;

/// The tunnel of the UE.
const TEID: Teid = match Teid::new(1) {
    Some(teid) => teid,
    None => unreachable!(),
};

/// The QoS flow of its packets.
const QFI: Qfi = match Qfi::new(9) {
    Some(qfi) => qfi,
    None => unreachable!(),
};

/// Octets of a GTP-U header with a PDU Session Container.
pub(in crate::ports) const GTPU: usize = 16;

/// Octets of the IPv4 and UDP headers of the user.
pub(super) const USER: usize = 28;

/// A chunk of G-PDUs with packets of `size` octets from the UE to the server.
pub(super) fn gtpu(number: u8, size: usize) -> Result<Vec<Vec<u8>>, BenchError> {
    (0..CHUNK).map(|index| packet(index, size, ue(number), server(number))).collect()
}

fn packet(index: usize, size: usize, src: Ipv4Addr, dst: Ipv4Addr) -> Result<Vec<u8>, BenchError> {
    let payload = vec![index as u8; size - USER];
    let mut udp = Vec::new();
    UdpRepr { src_port: UE, dst_port: SERVER }.write(src.into(), dst.into(), &payload, &mut udp)?;
    let identification = index as u16;
    let mut packet = header(size)?.to_vec();
    Ipv4Repr { identification, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) }.write(&[], &udp, &mut packet)?;
    Ok(packet)
}

/// The GTP-U header before a packet of `size` octets.
pub(super) fn header(size: usize) -> Result<[u8; GTPU], BenchError> {
    Ok(uplink(TEID, QFI, size)?)
}

/// Turns a packet round: addresses and ports are exchanged, which leaves all checksums as they are.
pub(super) fn turn_round(packet: &mut [u8]) {
    if let Some(packet) = packet.first_chunk_mut::<24>() {
        let [.., _, _, _, _, s0, s1, s2, s3, d0, d1, d2, d3, p0, p1, q0, q1] = packet;
        for (a, b) in [(s0, d0), (s1, d1), (s2, d2), (s3, d3), (p0, q0), (p1, q1)] {
            std::mem::swap(a, b);
        }
    }
}

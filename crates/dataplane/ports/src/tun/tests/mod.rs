//! Segmentation and coalescing, against packets that are built one by one, and against contradictory headers.

use std::net::IpAddr;

use super::coalesce::{CoalescedRuns, GsoKinds, Packet};
use super::segment::{Segment, Segmenter};
use super::virtio::{Gso, PartialChecksum, VirtioHeader};
use causeway_packet::{Ip, IpProtocol, IpRepr, TcpFlags, TcpRepr, UdpRepr};

mod cases;
mod properties;

const ALL: GsoKinds = GsoKinds { tcp: true, udp: true };

/// The common part of the packets of a flow.
#[derive(Clone, Debug)]
struct Flow {
    v6: bool,
    udp: bool,
    host: u8,
    port: u16,
    options: Vec<u8>,
    sequence: u32,
    identification: u16,
}

impl Flow {
    fn tcp4() -> Self {
        let options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
        Self { v6: false, udp: false, host: 2, port: 80, options, sequence: 7, identification: 65_530 }
    }

    fn ends(&self) -> (IpAddr, IpAddr) {
        match self.v6 {
            true => (
                [0x2001, 0xdb8, 0, 0, 0, 0, 0, self.host.into()].into(),
                [0x2001, 0xdb8, 1, 0, 0, 0, 0, 1].into(),
            ),
            false => ([10, 45, 0, self.host].into(), [192, 0, 2, 1].into()),
        }
    }

    /// The packet at index `index`, which begins `offset` octets into the flow.
    fn packet(&self, index: usize, offset: usize, flags: TcpFlags, payload: &[u8]) -> Vec<u8> {
        let (src, dst) = self.ends();
        let mut above = Vec::new();
        if self.udp {
            UdpRepr { src_port: self.port, dst_port: 443 }.write(src, dst, payload, &mut above).unwrap();
        } else {
            let sequence = self.sequence.wrapping_add(offset as u32);
            let (src_port, dst_port) = (self.port, 443);
            TcpRepr { src_port, dst_port, sequence, acknowledgment: 9, flags, window: 1000, urgent: 0 }
                .write(src, dst, &self.options, payload, &mut above)
                .unwrap();
        }
        let protocol = if self.udp { IpProtocol::UDP } else { IpProtocol::TCP };
        let mut ip = IpRepr::new(src, dst, protocol).unwrap().with_tos(0x2a);
        if let IpRepr::V4(v4) = &mut ip {
            v4.identification = self.identification.wrapping_add(index as u16);
        }
        let mut packet = Vec::new();
        ip.write(&above, &mut packet).unwrap();
        packet
    }

    fn header(&self, segment: u16) -> VirtioHeader {
        let kind = match (self.udp, self.v6) {
            (true, _) => Gso::Udp,
            (false, false) => Gso::Tcp4,
            (false, true) => Gso::Tcp6,
        };
        let start = if self.v6 { 40 } else { 20 };
        let partial = Some(PartialChecksum { start, field: if self.udp { 6 } else { 16 } });
        VirtioHeader { gso: Some((kind, segment)), hdr_len: start, partial }
    }
}

/// The segments of a packet; `None` where it is rejected. Segments above `frame_size` octets are left out.
fn segments_of(packet: &[u8], header: &VirtioHeader, frame_size: usize) -> Option<Vec<Vec<u8>>> {
    let mut cutter = Segmenter::new(packet, header)?;
    let (mut pieces, mut out) = (Vec::new(), vec![0; frame_size]);
    while let Some(piece) = cutter.next(packet, &mut out) {
        if let Segment::Packet(len) = piece {
            pieces.push(out[..len].to_vec());
        }
    }
    Some(pieces)
}

/// The written packets after segmentation by the kernel's rules: the packets of each run.
fn joined(packets: &[Vec<u8>], kinds: GsoKinds) -> Vec<Vec<Vec<u8>>> {
    let parsed: Vec<_> = packets.iter().map(|data| Packet::new(data, &Ip::parse(data).unwrap())).collect();
    let runs = CoalescedRuns::of(&parsed, kinds);
    let written = runs.iter().map(|run| {
        if run.len() == 1 {
            return runs.packets(run).map(|packet| packet.data.to_vec()).collect();
        }
        let (header, mut whole) =
            runs.headers(run).map(|(header, octets)| (header, octets.to_vec())).unwrap();
        runs.payloads(run).for_each(|payload| whole.extend_from_slice(payload));
        segments_of(&whole, &header, 3000).unwrap()
    });
    written.collect()
}

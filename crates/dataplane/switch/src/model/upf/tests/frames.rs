//! Frames, written octet by octet.

use causeway_packet::checksum::checksum;

pub(super) const UE: [u8; 4] = [10, 45, 0, 7];
pub(super) const SERVER: [u8; 4] = [198, 51, 100, 1];
pub(super) const GNB: [u8; 4] = [192, 0, 2, 30];
pub(super) const PEER: [u8; 4] = [192, 0, 2, 90];
pub(super) const UPF_N3: [u8; 4] = [192, 0, 2, 3];
pub(super) const UPF_N9: [u8; 4] = [192, 0, 2, 9];
/// Of the UE: it ends as its address does.
pub(super) const TEID: u32 = 0x0001_0007;

/// An IPv4 packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct V4 {
    pub(super) tos: u8,
    pub(super) fragment: u16,
    pub(super) ttl: u8,
    pub(super) protocol: u8,
    pub(super) src: [u8; 4],
    pub(super) dst: [u8; 4],
    pub(super) options: Vec<u8>,
    pub(super) payload: Vec<u8>,
}

impl V4 {
    pub(super) fn udp(src: [u8; 4], dst: [u8; 4], ports: (u16, u16), data: &[u8]) -> Self {
        let length = 8 + data.len() as u16;
        let mut payload = Vec::new();
        [ports.0, ports.1, length, 0].iter().for_each(|field| payload.extend(field.to_be_bytes()));
        payload.extend(data);
        Self { tos: 0, fragment: 0, ttl: 64, protocol: 17, src, dst, options: vec![], payload }
    }

    pub(super) fn octets(&self) -> Vec<u8> {
        let header = 20 + self.options.len();
        let mut octets = vec![0x40 | (header / 4) as u8, self.tos];
        octets.extend(((header + self.payload.len()) as u16).to_be_bytes());
        octets.extend([0, 0]);
        octets.extend(self.fragment.to_be_bytes());
        octets.extend([self.ttl, self.protocol, 0, 0]);
        octets.extend(self.src.iter().chain(&self.dst).chain(&self.options));
        let sum = checksum(&octets);
        octets[10..12].copy_from_slice(&sum.to_be_bytes());
        octets.extend(&self.payload);
        octets
    }

    /// One hop further.
    pub(super) fn hop(&self) -> Self {
        Self { ttl: self.ttl - 1, ..self.clone() }
    }
}

/// What the UE asks.
pub(super) fn request() -> V4 {
    V4::udp(UE, SERVER, (5000, 53), b"question")
}

/// What it is answered.
pub(super) fn reply() -> V4 {
    V4::udp(SERVER, UE, (53, 5000), b"answer")
}

/// An IPv6 packet with UDP inside.
pub(super) fn v6(src: [u8; 16], dst: [u8; 16], hops: u8) -> Vec<u8> {
    let mut octets = vec![0x60, 0, 0, 0, 0, 12, 17, hops];
    octets.extend(src.iter().chain(&dst));
    octets.extend([0x13, 0x88, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4]);
    octets
}

/// A GTP-U message with whatever stands between its header and its payload.
pub(super) fn gtpu(flags: u8, kind: u8, teid: u32, between: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![flags, kind];
    octets.extend(((between.len() + payload.len()) as u16).to_be_bytes());
    octets.extend(teid.to_be_bytes());
    octets.extend(between.iter().chain(payload));
    octets
}

/// The optional fields and a PDU Session Container of four octets.
pub(super) fn container(pdu_type: u8, qfi: u8) -> [u8; 8] {
    [0, 0, 0, 0x85, 1, pdu_type << 4, qfi, 0]
}

/// A packet in a tunnel.
pub(super) fn tunnelled(src: [u8; 4], dst: [u8; 4], teid: u32, pdu_type: u8, qfi: u8, packet: &[u8]) -> V4 {
    let message = gtpu(0x34, 255, teid, &container(pdu_type, qfi), packet);
    V4::udp(src, dst, (2152, 2152), &message)
}

/// A frame to the UPF.
pub(super) fn frame(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    octets.extend(ether_type.to_be_bytes());
    octets.extend(packet);
    octets
}

/// A frame with an IP packet.
pub(super) fn ip(packet: &[u8]) -> Vec<u8> {
    frame(if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 }, packet)
}

/// What the UE sends, in its tunnel.
pub(super) fn from_gnb(packet: &V4, qfi: u8) -> Vec<u8> {
    ip(&tunnelled(GNB, UPF_N3, TEID, 1, qfi, &packet.octets()).octets())
}

/// A command of the controller.
pub(super) fn command(code: u8, port: u16, queue: u8, packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![code, 0];
    octets.extend(port.to_be_bytes());
    octets.extend([queue, 0, 0, 0, 8, 0]);
    octets.extend(packet);
    frame(0x88b5, &octets)
}

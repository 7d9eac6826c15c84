//! Frames as octets, written here once more, so that they do not lean on what is tested.

use std::net::Ipv6Addr;

/// The UPF's addresses, and those at the other ends.
pub(crate) const UPF_N3: [u8; 4] = [172, 16, 3, 1];
pub(crate) const GNB: [u8; 4] = [172, 16, 3, 100];
pub(crate) const UPF_N9: [u8; 4] = [172, 16, 9, 1];
/// Of the UPF under VXLAN segments.
pub(crate) const UNDERLAY: [u8; 4] = [192, 0, 2, 1];
pub(crate) const PEER: [u8; 4] = [172, 16, 9, 2];
pub(crate) const UE: [u8; 4] = [10, 45, 0, 7];
pub(crate) const SERVER: [u8; 4] = [198, 51, 100, 9];
/// The same UE and server by IPv6.
pub(crate) const UE_IPV6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0x45, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1];
pub(crate) const SERVER_IPV6: [u8; 16] = [0x20, 1, 0x0d, 0xb8, 0, 0x99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9];
/// The TEID that the UE's address asks for.
pub(crate) const TEID: u32 = 0x2d_0007;
/// A TEID without a UE's address.
pub(crate) const N9_TEID: u32 = 0x03_0001;

/// The address of a host of the underlay that has this one by IPv4: our network, and that of the others.
pub(crate) fn underlay_ipv6(host: [u8; 4]) -> Ipv6Addr {
    let network = if host == UNDERLAY { 9 } else { 8 };
    let low = u32::from_be_bytes(host);
    Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, (low >> 16) as u16, low as u16)
}

/// What every frame that is routed has in front: neighbour and own address.
pub(crate) const ROUTED: [u8; 12] = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];

/// An IPv4 packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct V4 {
    pub(crate) tos: u8,
    /// Flags and fragment offset.
    pub(crate) fragment: u16,
    pub(crate) ttl: u8,
    pub(crate) protocol: u8,
    pub(crate) src: [u8; 4],
    pub(crate) dst: [u8; 4],
    pub(crate) options: Vec<u8>,
    pub(crate) payload: Vec<u8>,
}

impl V4 {
    pub(crate) fn udp(src: [u8; 4], dst: [u8; 4], ports: (u16, u16), data: &[u8]) -> Self {
        let payload = udp(ports, data);
        Self { tos: 0, fragment: 0, ttl: 64, protocol: 17, src, dst, options: vec![], payload }
    }

    pub(crate) fn octets(&self) -> Vec<u8> {
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

    /// The packet after a router.
    pub(crate) fn hop(&self) -> Self {
        Self { ttl: self.ttl - 1, ..self.clone() }
    }
}

/// UDP without a checksum.
pub(crate) fn udp(ports: (u16, u16), data: &[u8]) -> Vec<u8> {
    let length = 8 + data.len() as u16;
    let mut octets = Vec::new();
    [ports.0, ports.1, length, 0].iter().for_each(|field| octets.extend(field.to_be_bytes()));
    octets.extend(data);
    octets
}

/// The Internet checksum; zero over a header that holds it.
pub(crate) fn checksum(octets: &[u8]) -> u16 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    let mut sum: u32 = octets.chunks(2).map(word).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What the UE asks.
pub(crate) fn request() -> V4 {
    V4::udp(UE, SERVER, (5000, 53), b"question")
}

/// What it is answered.
pub(crate) fn reply() -> V4 {
    V4::udp(SERVER, UE, (53, 5000), b"answer")
}

/// An IPv6 packet with UDP inside; the traffic class is zero.
pub(crate) fn v6(src: [u8; 16], dst: [u8; 16], hops: u8, ports: (u16, u16)) -> Vec<u8> {
    v6_with(src, dst, hops, &udp(ports, b"ask"))
}

/// An IPv6 packet with this datagram.
pub(crate) fn v6_with(src: [u8; 16], dst: [u8; 16], hops: u8, datagram: &[u8]) -> Vec<u8> {
    let mut octets = vec![0x60, 0, 0, 0];
    octets.extend((datagram.len() as u16).to_be_bytes());
    octets.extend([17, hops]);
    octets.extend(src.iter().chain(&dst).chain(datagram));
    octets
}

/// An IPv6 packet with this traffic class.
pub(crate) fn with_class(mut packet: Vec<u8>, class: u8) -> Vec<u8> {
    packet[0] = 0x60 | class >> 4;
    packet[1] = class << 4;
    packet
}

/// GTP-U: flags, message type, TEID, what lies between the first eight octets and the payload, and the payload.
pub(crate) fn gtpu(flags: u8, kind: u8, teid: u32, between: &[u8], payload: &[u8]) -> Vec<u8> {
    let mut octets = vec![flags, kind];
    octets.extend(((between.len() + payload.len()) as u16).to_be_bytes());
    octets.extend(teid.to_be_bytes());
    octets.extend(between.iter().chain(payload));
    octets
}

/// The optional fields and a PDU Session Container of four octets.
pub(crate) fn container(pdu_type: u8, qfi: u8) -> [u8; 8] {
    [0, 0, 0, 0x85, 1, pdu_type << 4, qfi, 0]
}

/// A packet in a tunnel.
pub(crate) fn tunnelled(src: [u8; 4], dst: [u8; 4], teid: u32, kind: (u8, u8), packet: &[u8]) -> V4 {
    V4::udp(src, dst, (2152, 2152), &gtpu(0x34, 255, teid, &container(kind.0, kind.1), packet))
}

/// A packet in a tunnel of ours: PDU type and QFI, and DSCP and ECN of the outer header.
pub(crate) fn ours(src: [u8; 4], dst: [u8; 4], teid: u32, kind: (u8, u8), tos: u8, packet: &[u8]) -> Vec<u8> {
    V4 { fragment: 0x4000, tos, ..tunnelled(src, dst, teid, kind, packet) }.octets()
}

/// A packet in our tunnel to the gNB, of QFI 9.
pub(crate) fn to_gnb_tunnel(teid: u32, packet: &[u8]) -> Vec<u8> {
    ours(UPF_N3, GNB, teid, (0, 9), 0, packet)
}

/// A frame to the UPF.
pub(crate) fn frame(ether_type: u16, packet: &[u8]) -> Vec<u8> {
    let mut octets = vec![2, 0, 0, 0, 0, 9, 2, 0, 0, 0, 0, 8];
    octets.extend(ether_type.to_be_bytes());
    octets.extend(packet);
    octets
}

/// A frame with an IP packet.
pub(crate) fn ip(packet: &[u8]) -> Vec<u8> {
    frame(if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 }, packet)
}

/// What the UE sends, in its tunnel.
pub(crate) fn from_gnb(packet: &V4, qfi: u8) -> Vec<u8> {
    in_tunnel(TEID, qfi, &packet.octets())
}

/// What comes from the gNB in a tunnel.
pub(crate) fn in_tunnel(teid: u32, qfi: u8, packet: &[u8]) -> Vec<u8> {
    ip(&tunnelled(GNB, UPF_N3, teid, (1, qfi), packet).octets())
}

/// A message to the UPF's GTP-U port.
pub(crate) fn to_upf(message: &[u8]) -> Vec<u8> {
    ip(&V4::udp(GNB, UPF_N3, (2152, 2152), message).octets())
}

/// A command of the controller: code, port, queue, and what follows.
pub(crate) fn command(code: u8, port: u16, queue: u8, packet: &[u8]) -> Vec<u8> {
    let ether_type = if packet[0] >> 4 == 6 { 0x86dd } else { 0x0800 };
    command_of(code, port, queue, ether_type, packet)
}

/// The same for any EtherType.
pub(crate) fn command_of(code: u8, port: u16, queue: u8, ether_type: u16, rest: &[u8]) -> Vec<u8> {
    let mut octets = vec![code, 0];
    octets.extend(port.to_be_bytes());
    octets.extend([queue, 0, 0, 0]);
    octets.extend(ether_type.to_be_bytes());
    octets.extend(rest);
    frame(0x88b5, &octets)
}

/// What a frame on the CPU port says.
#[derive(PartialEq, Eq, Debug)]
pub(crate) struct Said<'a> {
    pub(crate) code: u8,
    pub(crate) flags: u8,
    pub(crate) port: u16,
    pub(crate) rule: u32,
    pub(crate) ether_type: u16,
    pub(crate) rest: &'a [u8],
}

/// Reads a frame that left by the CPU port, whose packet came without a segment.
pub(crate) fn said(frame: &[u8]) -> Said<'_> {
    said_of_tenant(0, frame)
}

/// Reads a frame that left by the CPU port, whose packet is this tenant's.
pub(crate) fn said_of_tenant(tenant: u8, frame: &[u8]) -> Said<'_> {
    assert_eq!((&frame[12..14], frame[18]), (&[0x88, 0xb5][..], tenant), "{frame:02x?}");
    Said {
        code: frame[14],
        flags: frame[15],
        port: u16::from_be_bytes([frame[16], frame[17]]),
        rule: u32::from_be_bytes([0, frame[19], frame[20], frame[21]]),
        ether_type: u16::from_be_bytes([frame[22], frame[23]]),
        rest: &frame[24..],
    }
}

/// A frame without its Ethernet header, which must be as routes say.
pub(crate) fn routed(frame: &[u8]) -> &[u8] {
    assert_eq!(frame[..12], ROUTED, "neighbour and own address");
    let ether_type = if frame[14] >> 4 == 6 { [0x86, 0xdd] } else { [8, 0] };
    assert_eq!(frame[12..14], ether_type);
    &frame[14..]
}

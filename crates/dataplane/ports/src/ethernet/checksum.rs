//! Completing checksums that a sender left to hardware.

use causeway_packet::checksum::Checksum;
use causeway_packet::{Ip, IpProtocol};

/// Recomputes the TCP or UDP checksum of an IP packet. Other packets and fragments are unchanged.
pub(super) fn complete(packet: &mut [u8]) {
    let Some((place, sum)) = computed(packet) else { return };
    if let Some(field) = packet.get_mut(place..).and_then(|rest| rest.first_chunk_mut()) {
        *field = sum.to_be_bytes();
    }
}

/// The TCP or UDP checksum contains what a sender leaves for hardware to complete: the sum of the pseudo header.
///
/// One of 65536 complete checksums looks the same; recomputing it changes nothing.
pub(super) fn is_incomplete(ip: &Ip<'_>) -> bool {
    let pseudo = || {
        let (protocol, transport, field) = summed(ip)?;
        let found =
            transport.get(field..).and_then(|rest| rest.first_chunk().copied()).map(u16::from_be_bytes)?;
        // Most GTP-U has none, which is detected without computing the sum.
        if found == 0 && protocol == IpProtocol::UDP {
            return None;
        }
        let sum = Checksum::new().pseudo(ip.src(), ip.dst(), protocol, transport.len())?;
        Some(found == !sum.finish())
    };
    pseudo().unwrap_or(false)
}

/// The offset and the value of the checksum field.
fn computed(packet: &[u8]) -> Option<(usize, u16)> {
    let ip = Ip::parse(packet).ok()?;
    let (protocol, transport, field) = summed(&ip)?;
    let (before, after) = (transport.get(..field)?, transport.get(field + 2..)?);
    let sum = Checksum::new().pseudo(ip.src(), ip.dst(), protocol, transport.len())?.with(before).with(after);
    let sum = if protocol == IpProtocol::UDP { sum.finish_udp() } else { sum.finish() };
    Some((ip.total_len() - transport.len() + field, sum))
}

/// The TCP or UDP of a packet that is no fragment, and the offset of its checksum field.
fn summed<'a>(ip: &Ip<'a>) -> Option<(IpProtocol, &'a [u8], usize)> {
    let (protocol, transport, fragment) = match ip {
        Ip::V4(v4) => (v4.protocol(), v4.payload(), v4.is_fragment()),
        Ip::V6(v6) => {
            let chain = v6.chain().ok()?;
            (chain.protocol, chain.payload, chain.fragment.is_some_and(|fragment| !fragment.is_atomic()))
        }
    };
    let field = match protocol {
        _ if fragment => return None,
        IpProtocol::TCP => 16,
        IpProtocol::UDP => 6,
        _ => return None,
    };
    Some((protocol, transport, field))
}

#[cfg(test)]
mod tests {
    use causeway_packet::{IpRepr, Tcp, Udp, UdpChecksum};

    use super::*;

    fn packet(protocol: IpProtocol, family: usize, transport: &[u8]) -> Vec<u8> {
        let (src, dst) = [("192.0.2.1", "192.0.2.2"), ("2001:db8::1", "2001:db8::2")][family];
        let mut packet = Vec::new();
        let ip = IpRepr::new(src.parse().unwrap(), dst.parse().unwrap(), protocol).unwrap();
        ip.write(transport, &mut packet).unwrap();
        packet
    }

    // Input:  UDP and TCP over both families with a partial sum, as senders leave it to hardware.
    // Output: the right sum.
    #[test]
    fn sums_are_completed() {
        for family in [0, 1] {
            let mut udp = packet(IpProtocol::UDP, family, &[0, 1, 0, 2, 0, 11, 0xab, 0xcd, 1, 2, 3]);
            complete(&mut udp);
            let ip = Ip::parse(&udp).unwrap();
            let view = Udp::parse(&udp[udp.len() - 11..]).unwrap();
            assert_eq!(view.checksum(ip.src(), ip.dst()), UdpChecksum::Valid);
            let mut segment = [0; 23];
            segment[12] = 0x50;
            let mut tcp = packet(IpProtocol::TCP, family, &segment);
            complete(&mut tcp);
            let ip = Ip::parse(&tcp).unwrap();
            assert!(Tcp::parse(&tcp[tcp.len() - 23..]).unwrap().checksum_is_valid(ip.src(), ip.dst()));
        }
    }

    // Input:  ICMP, and octets that are no packet.
    // Output: unchanged.
    #[test]
    fn other_packets_stay_as_they_are() {
        let icmp = packet(IpProtocol::ICMP, 0, &[8, 0, 1, 2, 3, 4]);
        for original in [icmp, vec![0x45; 12], Vec::new(), packet(IpProtocol::TCP, 0, &[1; 10])] {
            let mut completed = original.clone();
            complete(&mut completed);
            assert_eq!(completed, original);
        }
    }
}

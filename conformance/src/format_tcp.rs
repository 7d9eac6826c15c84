//! TCP fields beyond the flow, and wrong checksums.

use std::fmt::Write;

use causeway_packet::{Fragment, IpProtocol, Tcp, Udp, UdpChecksum, UserPacket};

/// The control bits and numbers of a TCP segment, and its octets if they are text.
pub(crate) fn details(packet: &UserPacket<'_>) -> String {
    let is_tcp = packet.flow.protocol == IpProtocol::TCP && packet.flow.fragment != Fragment::Later;
    let Some(tcp) = is_tcp.then(|| Tcp::parse(packet.transport()).ok()).flatten() else {
        return String::new();
    };
    let flags: Vec<_> = tcp.flags().iter_names().map(|(name, _)| name).collect();
    let mut text = format!(", {} seq {} ack {}", flags.join("|"), tcp.sequence(), tcp.acknowledgment());
    if let Some(octets) = std::str::from_utf8(tcp.payload()).ok().filter(|text| !text.is_empty()) {
        let _ = write!(text, " {octets:?}");
    }
    text
}

/// A TCP or UDP checksum of a whole packet that is wrong.
pub(crate) fn wrong_checksum(packet: &UserPacket<'_>) -> &'static str {
    let flow = &packet.flow;
    let transport = packet.transport();
    let is_wrong = match flow.protocol {
        _ if flow.is_fragment() => false,
        IpProtocol::TCP => Tcp::parse(transport).is_ok_and(|tcp| !tcp.checksum_is_valid(flow.src, flow.dst)),
        IpProtocol::UDP => {
            Udp::parse(transport).is_ok_and(|udp| udp.checksum(flow.src, flow.dst) == UdpChecksum::Invalid)
        }
        _ => false,
    };
    if is_wrong { ", payload checksum wrong" } else { "" }
}

//! The packets of a session.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_dataplane::ReceiveSource;
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, Ipv4Repr, Meta};
use causeway_types::{Qfi, Teid};

/// Where GTP-U ends.
pub(super) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

/// A UDP datagram without payload.
const UDP: [u8; 8] = [0x30, 0x39, 0, 53, 0, 8, 0, 0];

/// Where a packet comes from.
pub(super) const fn source(is_uplink: bool) -> ReceiveSource {
    if is_uplink { ReceiveSource::Gtpu } else { ReceiveSource::Network(0) }
}

fn user(from: Ipv4Addr, to: Ipv4Addr) -> Vec<u8> {
    let mut packet = Vec::with_capacity(64);
    // The lengths are legal.
    let _ = Ipv4Repr::new(from, to, IpProtocol::UDP).write(&[], &UDP, &mut packet);
    packet
}

/// Appends a packet from a UE to its batch.
pub(super) fn uplink(batch: &mut Batch, teid: Teid, ue: Ipv4Addr) {
    let user = user(ue, SERVER);
    let prefix = prefix::uplink(teid, Qfi::from_low_bits(9), user.len()).unwrap_or_default();
    let packet = [&prefix[..], &user].concat();
    let meta = Meta::Gtpu { local: IpAddr::V4(UPF), peer: SocketAddr::from((GNB, 2152)), tos: 0, hops: None };
    // A packet that does not fit is one that is not forwarded, which is noticed.
    let _ = batch.push(Frame { meta, data: &packet });
}

/// Appends a packet for a UE to its batch.
pub(super) fn downlink(batch: &mut Batch, ue: Ipv4Addr) {
    // A packet that does not fit is one that is not forwarded, which is noticed.
    let _ = batch.push(Frame { meta: Meta::Ip, data: &user(SERVER, ue) });
}

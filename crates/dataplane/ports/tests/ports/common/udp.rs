//! GTP-U sockets.

use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU8;

use causeway_packet::Meta;
use causeway_ports::udp::{UdpOptions, UdpPort};

/// With the offloads of the kernel.
pub(crate) fn bind(address: &str) -> UdpPort {
    UdpPort::bind("n3", address.parse().unwrap(), &UdpOptions::default()).unwrap()
}

pub(crate) fn gtpu(local: IpAddr, peer: SocketAddr, tos: u8) -> Meta {
    Meta::Gtpu { local, peer, tos, hops: NonZeroU8::new(64) }
}

/// Without offloads.
pub(crate) fn bind_plain(address: &str) -> UdpPort {
    let options = UdpOptions { offload: false, ..UdpOptions::default() };
    UdpPort::bind("n3", address.parse().unwrap(), &options).unwrap()
}

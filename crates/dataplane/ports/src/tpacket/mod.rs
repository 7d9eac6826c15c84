//! Ports on an Ethernet interface below IP, by a packet socket with a receive ring (TPACKET_V3).
//!
//! The port does Ethernet, IP and UDP; ARP, neighbour discovery and routing stay the kernel's, and are followed by
//! netlink. It takes `CAP_NET_RAW`, and `CAP_NET_ADMIN` to ask the kernel for neighbours. Received frames are
//! handed over in blocks, some milliseconds late; for the lowest delay use the UDP and TUN ports.
//!
//! The kernel sees every frame too. On N3 a socket that refuses everything keeps it from answering "port
//! unreachable"; on N6 it must not forward. Frames that were joined by offloads before they came here (on veth, by
//! TSO of the other end) are longer than a buffer and count as truncated.

mod accept;
mod checksum;
mod egress;
mod gtpu;
mod ip;
mod line;
mod waiting;

pub use gtpu::EthernetGtpu;
pub use ip::EthernetIp;

/// Which interface, and how it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetOptions {
    /// Name of the Ethernet interface.
    pub interface: String,
    /// Octets of the receive ring.
    pub ring: usize,
    /// Sends past the queueing discipline of the interface: faster, but a full queue drops.
    pub bypass_queue: bool,
    /// N6: works although the kernel forwards packets of the interface too.
    pub allow_kernel_forwarding: bool,
}

impl EthernetOptions {
    /// A ring of 8 MiB on the interface, and nothing unusual.
    pub fn on(interface: &str) -> Self {
        let interface = interface.to_owned();
        Self { interface, ring: 8 << 20, bypass_queue: false, allow_kernel_forwarding: false }
    }
}

//! Ports on an Ethernet interface below IP, by a packet socket with a receive ring (TPACKET_V3).
//!
//! The port implements Ethernet, IP and UDP. ARP, neighbour discovery and routing remain in the kernel, and the port
//! follows them by netlink. It needs `CAP_NET_RAW`, and `CAP_NET_ADMIN` to make the kernel resolve neighbours.
//! Received frames are delivered in blocks, some milliseconds late; for the lowest delay use the UDP and TUN ports.
//!
//! The kernel receives every frame too. On N3 a socket that discards everything keeps it from sending "port
//! unreachable"; on N6 it must not forward. Frames that offloads joined before reception (on veth, by TSO of the
//! other end) are longer than a buffer and count as truncated.
//!
//! [`LinkMonitor`] reads frames for a capture, beside whatever carries them.

mod device;
mod monitor;

use std::net::IpAddr;
use std::os::fd::OwnedFd;

use crate::PortError;
use crate::ethernet::{Egress, EthernetInterface, Gtpu, IpPackets, Kernel};
use crate::sys::ethtool::GroDisabled;
use device::PacketRing;
pub use monitor::{LinkMonitor, MonitoredFrame};

/// A GTP-U port on packet rings. Outer fragments are dropped and counted.
pub type EthernetGtpu = Gtpu<PacketRing>;

/// An N6 port on a packet ring.
///
/// Switches generic receive offload of the interface off, which would join packets beyond the MTU, and back on when
/// it is closed.
pub type EthernetIp = IpPackets<PacketRing>;

/// The interface, and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EthernetOptions {
    /// Name of the Ethernet interface.
    pub interface: String,
    /// Octets of the receive ring.
    pub ring: usize,
    /// Bypasses the queueing discipline of the interface: faster, but a full queue drops.
    pub bypass_queue: bool,
    /// N6: works although the kernel forwards packets of the interface too.
    pub allow_kernel_forwarding: bool,
}

impl EthernetOptions {
    /// A ring of 8 MiB on the interface, otherwise the defaults.
    pub fn on(interface: &str) -> Self {
        let interface = interface.to_owned();
        Self { interface, ring: 8 << 20, bypass_queue: false, allow_kernel_forwarding: false }
    }
}

/// The ring receives every frame: no other socket has to be watched.
const NO_DESCRIPTORS: &[OwnedFd] = &[];

fn line(name: &str, options: &EthernetOptions) -> Result<EthernetInterface<PacketRing>, PortError> {
    let egress = Egress::open(&options.interface)?;
    let device = PacketRing::open(&egress, options)?;
    EthernetInterface::new(name, egress, device, NO_DESCRIPTORS)
}

impl EthernetGtpu {
    /// Opens the interface for GTP-U to these addresses.
    ///
    /// # Errors
    /// [`PortError::InterfaceMissing`], [`PortError::NotEthernet`], [`PortError::AddressInUse`],
    /// [`PortError::AddressMissing`], [`PortError::Permission`], or [`PortError::System`].
    pub fn open(name: &str, addresses: &[IpAddr], options: &EthernetOptions) -> Result<Self, PortError> {
        let kernel = Kernel::refusing(addresses)?;
        Ok(Self::new(line(name, options)?, addresses, kernel))
    }
}

impl EthernetIp {
    /// Opens the interface.
    ///
    /// # Errors
    /// [`PortError::InterfaceMissing`], [`PortError::NotEthernet`], [`PortError::KernelForwards`],
    /// [`PortError::Permission`], or [`PortError::System`].
    pub fn open(name: &str, options: &EthernetOptions) -> Result<Self, PortError> {
        let line = line(name, options)?;
        if !options.allow_kernel_forwarding {
            require_no_forwarding(&options.interface)?;
        }
        // A driver that cannot switch it off counts long packets as truncated.
        let joining = GroDisabled::on(&options.interface);
        Ok(Self::new(line, joining))
    }
}

fn require_no_forwarding(interface: &str) -> Result<(), PortError> {
    for family in ["ipv4", "ipv6"] {
        let setting = format!("/proc/sys/net/{family}/conf/{interface}/forwarding");
        if std::fs::read_to_string(setting).is_ok_and(|value| value.trim() != "0") {
            return Err(PortError::KernelForwards { name: interface.to_owned(), family });
        }
    }
    Ok(())
}

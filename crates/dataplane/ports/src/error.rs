//! Errors that a person has to resolve, each with its remedy.

use std::io;
use std::net::SocketAddr;

use causeway_types::IpNet;
use rustix::io::Errno;

/// Why a port could not be opened, or can no longer be used.
///
/// A transient condition is never an error but a [`crate::Counter`].
#[derive(Debug, thiserror::Error)]
pub enum PortError {
    /// Another socket holds the address.
    #[error(
        "cannot bind {address}: address in use: is another GTP-U process running? \
         see `ss -ulnp sport = :{}`", .address.port()
    )]
    AddressInUse {
        /// The requested address.
        address: SocketAddr,
    },
    /// No interface of this host has the address.
    #[error(
        "cannot bind {address}: no interface here has that address: add it with \
         `ip address add`, or correct the address in the configuration"
    )]
    AddressMissing {
        /// The requested address.
        address: SocketAddr,
    },
    /// No such interface in this network namespace.
    #[error("interface {name} does not exist: create it, or correct its name in the configuration")]
    InterfaceMissing {
        /// The requested name.
        name: String,
    },
    /// Not an Ethernet interface.
    #[error("interface {name} is not Ethernet: use a port above IP (udp or tun) on it")]
    NotEthernet {
        /// The interface.
        name: String,
    },
    /// An interface on which nothing can be announced.
    #[error("interface {name} has no MAC address, so that no ARP leaves there: give an Ethernet interface")]
    NoMac {
        /// The interface.
        name: String,
    },
    /// An illegal interface name.
    #[error("`{name}` cannot be the name of an interface: 1 to 15 characters without `/` and blanks")]
    BadName {
        /// The requested name.
        name: String,
    },
    /// The kernel lacks the TUN driver, or the container lacks its device.
    #[error(
        "/dev/net/tun is missing: load the driver with `modprobe tun`, or pass the device to the \
         container (--device /dev/net/tun)"
    )]
    TunMissing,
    /// Another process holds the TUN device.
    #[error(
        "TUN device {name} is in use: stop the process that holds it, or choose another upf.session[].dev"
    )]
    TunBusy {
        /// The device.
        name: String,
    },
    /// The TUN device exists with a single queue, but several ports are to share it.
    #[error(
        "TUN device {name} exists with one queue: remove it, create it with `ip tuntap add dev {name} mode tun multi_queue`, \
         or set upf.workers.count to 1"
    )]
    TunOneQueue {
        /// The device.
        name: String,
    },
    /// The interface has fewer receive queues than ports that share them.
    #[error(
        "{ports} packet threads need as many receive queues, and {name} has {queues}: configure more with `ethtool -L {name} combined {ports}`, \
         or set upf.workers.count to {queues} at most"
    )]
    XdpQueues {
        /// The interface.
        name: String,
        /// Its receive queues.
        queues: usize,
        /// Ports that share them.
        ports: usize,
    },
    /// An interface of that name exists and is no TUN device.
    #[error("interface {name} exists and is not a TUN device: remove it or choose another upf.session[].dev")]
    NotTun {
        /// The interface.
        name: String,
    },
    /// Another process holds the TAP device.
    #[error(
        "TAP device {name} is in use: stop the process that holds it, or choose another upf.ethernet[].dev"
    )]
    TapBusy {
        /// The device.
        name: String,
    },
    /// An interface of that name exists and is no TAP device.
    #[error(
        "interface {name} exists and is not a TAP device: remove it or choose another upf.ethernet[].dev"
    )]
    NotTap {
        /// The interface.
        name: String,
    },
    /// The bridge does not exist.
    #[error("bridge {name} does not exist: create it with `ip link add {name} type bridge`")]
    BridgeMissing {
        /// The bridge.
        name: String,
    },
    /// The host routes the prefix elsewhere.
    #[error(
        "{net} is routed {route} already: choose another prefix, or remove that route: `ip route del {net}`"
    )]
    RouteTaken {
        /// The prefix.
        net: IpNet,
        /// Where the route leads.
        route: String,
    },
    /// IPv6 is switched off on the device.
    #[error(
        "{net} cannot be on {name}, where IPv6 is switched off: `sysctl -w net.ipv6.conf.{name}.disable_ipv6=0`"
    )]
    Ipv6Off {
        /// The prefix.
        net: IpNet,
        /// The device.
        name: String,
    },
    /// The process lacks a privilege.
    #[error("permission denied {operation}: run as root or give {capability}")]
    Permission {
        /// The operation.
        operation: String,
        /// The capability that allows it.
        capability: &'static str,
    },
    /// The kernel would forward the same packets a second time.
    #[error(
        "the kernel forwards packets of {name} too, so that each would be sent twice: \
         set net.{family}.conf.{name}.forwarding=0"
    )]
    KernelForwards {
        /// The interface.
        name: String,
        /// `ipv4` or `ipv6`.
        family: &'static str,
    },
    /// The kernel has no AF_XDP, or does not let this process use it.
    #[error(
        "this kernel has no AF_XDP, or a service manager denies it: it needs Linux 5.9 with CONFIG_XDP_SOCKETS, and under systemd \
         causeway.service.d/af_xdp.conf; or use mode udp instead"
    )]
    XdpMissing,
    /// The kernel has no packet sockets, or does not let this process use them.
    #[error(
        "this kernel has no packet sockets, or a service manager denies them: mode tpacket needs CONFIG_PACKET, and under systemd \
         causeway.service.d/tpacket.conf; or use mode udp instead"
    )]
    PacketMissing,
    /// The process may not send ARP.
    #[error(
        "announcing addresses needs a packet socket, and this process may not have one: give CAP_NET_RAW, under systemd with the drop-in \
         causeway.service.d/chain.conf"
    )]
    AnnounceDenied,
    /// The interface runs another XDP program.
    #[error(
        "{name} runs another XDP program: stop the process that holds it, or detach it with \
         `ip link set dev {name} xdp off`"
    )]
    XdpBusy {
        /// The interface.
        name: String,
    },
    /// A receive queue has another AF_XDP socket.
    #[error("queue {queue} of {name} has another AF_XDP socket: stop the process that holds it")]
    XdpQueueBusy {
        /// The interface.
        name: String,
        /// The receive queue.
        queue: u32,
    },
    /// The kernel rejects the XDP program.
    #[error("the kernel refuses the XDP program: {reason}")]
    XdpProgram {
        /// The message of its verifier.
        reason: String,
    },
    /// Frames of the interface do not fit into a chunk of AF_XDP memory.
    #[error(
        "{name} has MTU {mtu}, and AF_XDP supports up to {most}: `ip link set {name} mtu {most}`, or use mode udp"
    )]
    XdpMtu {
        /// The interface.
        name: String,
        /// Its MTU, in octets.
        mtu: u32,
        /// The largest possible MTU.
        most: u32,
    },
    /// The process may not lock the memory that it shares with the kernel.
    #[error(
        "cannot lock {octets} octets of memory for AF_XDP: raise the limit with `ulimit -l unlimited` \
         (LimitMEMLOCK=infinity for systemd), or give CAP_IPC_LOCK"
    )]
    LockedMemory {
        /// Octets for one receive queue.
        octets: usize,
    },
    /// A capture file cannot be used.
    #[error("capture file {path}: {reason}")]
    Capture {
        /// The file.
        path: String,
        /// The error.
        reason: String,
    },
    /// The kernel refused for another reason.
    #[error("{operation}: {source}")]
    System {
        /// The operation.
        operation: String,
        /// The error of the kernel.
        source: io::Error,
    },
    /// The port was open and can no longer be used.
    #[error("port {port} is lost ({source}): was its interface removed?")]
    Lost {
        /// The name of the port.
        port: String,
        /// The error of the kernel.
        source: io::Error,
    },
}

impl PortError {
    /// A system error with its operation; a missing privilege becomes [`PortError::Permission`].
    pub(crate) fn system(operation: impl Into<String>, errno: Errno, capability: &'static str) -> Self {
        let operation = operation.into();
        match errno {
            Errno::PERM | Errno::ACCESS => Self::Permission { operation, capability },
            _ => Self::System { operation, source: errno.into() },
        }
    }

    /// The interface was removed or went down.
    pub fn is_link_error(&self) -> bool {
        let Self::System { source, .. } = self else { return false };
        matches!(source.raw_os_error(), Some(libc::ENODEV | libc::ENETDOWN))
    }

    /// The port is lost.
    pub(crate) fn lost(port: &str, errno: Errno) -> Self {
        Self::Lost { port: port.to_owned(), source: errno.into() }
    }
}

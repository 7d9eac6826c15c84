//! Ports on an Ethernet interface below IP, by AF_XDP sockets: the fastest ports that need no driver of their own.
//!
//! A small XDP program, assembled here, delivers selected frames to one socket for each receive queue: on N3 GTP-U to
//! local addresses, on N6 packets to UEs. All others pass to the kernel, which keeps the addresses, ARP, neighbour
//! discovery and routing: ping and SSH work as before. GTP-U that the program does not parse also passes: fragments,
//! IP options, extension headers. The kernel reassembles it, and the port receives it by a UDP socket.
//!
//! The program runs in the driver where it supports that, else in the stack; the driver writes into the socket's
//! memory where it can (zero copy), else the kernel copies. The program is detached when the port is dropped and when
//! the process ends. It needs `CAP_NET_RAW`, `CAP_NET_ADMIN` and `CAP_BPF`, Linux 5.9, and locked memory: for each
//! queue 16 MiB, or less where there are more than eight queues, and for each packet thread 16 MiB more.
//!
//! Frames that arrive while the thread is not running wait in the receive ring. It is long enough for some time
//! slices of the scheduler without the core: 8,192 frames are 25 ms at 330,000 a second.
//!
//! Chunks have 2048 or 4096 octets, aligned, since every driver supports these also for zero copy; other sizes would
//! need huge pages. Frames to send begin at different offsets of their chunks instead, so that their headers do not
//! compete for the same sets of a cache.
//!
//! Its cost, compared with the other ports: `cargo run --release -p causeway-ports --example echo`.
//!
//! A driver that removes VLAN tags before the program runs hides them: switch that off with `ethtool -K <interface>
//! rxvlan off` where tagged and untagged frames share an interface.

mod asm;
mod attach;
mod device;
mod program;

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use causeway_types::IpNet;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::PortError;
use crate::ethernet::{Egress, EthernetInterface, Gtpu, IpPackets, Kernel};
use crate::netlink::Link;
use crate::outer::GTPU_PORT;
use crate::sys::bpf::Mode;
use crate::sys::ethtool::{GroDisabled, receive_queues};
use crate::sys::xsk::{HEADROOM, Sizes, Socket};
use attach::Attachment;
use device::Queues;
use program::Wanted;

/// A GTP-U port on AF_XDP sockets.
pub type XdpGtpu = Gtpu<Queues>;

/// An N6 port on AF_XDP sockets.
pub type XdpIp = IpPackets<Queues>;

/// On N6 no other socket has to be watched.
const NO_DESCRIPTORS: &[OwnedFd] = &[];
/// Octets of an Ethernet header.
const ETHERNET: usize = 14;
/// Octets of the largest chunk: the smallest page size.
const MAX_CHUNK: usize = 4096;
/// The largest MTU whose frames fit into a chunk.
pub const MAX_MTU: u32 = (MAX_CHUNK - HEADROOM - ETHERNET) as u32;

/// The capacity of all queues of an interface together, in frames; each queue has at least 2,048 and at most 8,192.
pub const WAITING: u32 = 1 << 16;

/// The maximum number of frames in a send ring. They wait there only while the interface accepts no more: behind a
/// slower peer, or one whose core is busy.
const SEND: u32 = 8192;

/// Frames in the send ring of a queue that does not transmit.
const UNUSED: u32 = 64;

/// The interface, and its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpOptions {
    /// Name of the Ethernet interface.
    pub interface: String,
    /// The capacity of the receive ring of each queue, in frames, a power of two up to 2^15.
    pub ring: u32,
    /// Lets the driver run the program and use zero copy, where it can.
    pub native: bool,
}

impl XdpOptions {
    /// The interface in its fastest mode, with a capacity of [`WAITING`] frames at all its queues together.
    pub fn on(interface: &str) -> Self {
        Self { interface: interface.to_owned(), ring: ring(queues(interface)), native: true }
    }
}

impl XdpGtpu {
    /// Receives GTP-U to these addresses on the interface.
    ///
    /// # Errors
    /// [`PortError::InterfaceMissing`], [`PortError::NotEthernet`], [`PortError::AddressInUse`],
    /// [`PortError::AddressMissing`], one of the `Xdp` errors, [`PortError::Permission`], or [`PortError::System`].
    pub fn open(name: &str, addresses: &[IpAddr], options: &XdpOptions) -> Result<Self, PortError> {
        let kernel = Kernel::receiving(name, addresses)?;
        let egress = Egress::open(&options.interface)?;
        let queues = open(&egress, &gtpu(addresses), options, 1)?;
        Ok(Self::new(EthernetInterface::new(name, egress, queues, kernel.ports())?, addresses, kernel))
    }

    /// As [`XdpGtpu::open`], with a port for each name, each for its own thread. The receive queues are distributed
    /// among them: a socket is bound to one queue, so the frames of the queue arrive at that port. The first port
    /// also receives the packets that pass through the kernel.
    ///
    /// # Errors
    /// Those of [`XdpGtpu::open`], and [`PortError::XdpQueues`].
    pub fn open_each(
        names: &[String],
        addresses: &[IpAddr],
        options: &XdpOptions,
    ) -> Result<Vec<Self>, PortError> {
        let name = names.first().map_or("", String::as_str);
        let mut kernel = Some(Kernel::receiving(name, addresses)?);
        let queues = open_parts(names.len(), &gtpu(addresses), options)?;
        let port = |(name, queues): (&String, Queues)| {
            let (egress, kernel) = (Egress::open(&options.interface)?, kernel.take().unwrap_or_default());
            Ok(Self::new(EthernetInterface::new(name, egress, queues, kernel.ports())?, addresses, kernel))
        };
        names.iter().zip(queues).map(port).collect()
    }

    /// Receives datagrams to a UDP port of these addresses, of another protocol than GTP-U: for example PFCP. The caller has bound a
    /// socket of the kernel to each, which receives what the program does not parse.
    ///
    /// # Errors
    /// Those of [`XdpGtpu::open`].
    pub fn open_on_port(
        name: &str,
        addresses: &[IpAddr],
        port: u16,
        options: &XdpOptions,
    ) -> Result<Self, PortError> {
        let egress = Egress::open(&options.interface)?;
        let wanted = Wanted::Udp { port, addresses: addresses.to_vec() };
        let queues = open(&egress, &wanted, options, 1)?;
        Ok(Self::of_port(EthernetInterface::new(name, egress, queues, NO_DESCRIPTORS)?, addresses, port))
    }

    /// The mode of the port, as text: queues, mode, and why none that is faster.
    pub fn description(&self) -> String {
        describe(self.device())
    }
}

/// GTP-U to these addresses.
fn gtpu(addresses: &[IpAddr]) -> Wanted {
    Wanted::Udp { port: GTPU_PORT, addresses: addresses.to_vec() }
}

impl XdpIp {
    /// Receives packets to these prefixes on the interface, except those to addresses that this host has now.
    ///
    /// Where the program cannot run in the driver, generic receive offload of the interface is switched off, which
    /// would join packets beyond the MTU, and back on when the port is closed.
    ///
    /// # Errors
    /// [`PortError::InterfaceMissing`], [`PortError::NotEthernet`], one of the `Xdp` errors,
    /// [`PortError::Permission`], or [`PortError::System`].
    pub fn open(name: &str, pools: &[IpNet], options: &XdpOptions) -> Result<Self, PortError> {
        let egress = Egress::open(&options.interface)?;
        let queues = open(&egress, &without_local(&egress, pools), options, 1)?;
        let joining = disable_gro(&queues, options);
        Ok(Self::new(EthernetInterface::new(name, egress, queues, NO_DESCRIPTORS)?, joining))
    }

    /// As [`XdpIp::open`], with a port for each name, each for its own thread, with the receive queues distributed
    /// among them.
    ///
    /// # Errors
    /// Those of [`XdpIp::open`], and [`PortError::XdpQueues`].
    pub fn open_each(
        names: &[String],
        pools: &[IpNet],
        options: &XdpOptions,
    ) -> Result<Vec<Self>, PortError> {
        let wanted = without_local(&Egress::open(&options.interface)?, pools);
        let queues = open_parts(names.len(), &wanted, options)?;
        // The first port that is closed re-enables joining; the others are closed soon after.
        let mut joining = queues.first().and_then(|queues| disable_gro(queues, options));
        let port = |(name, queues): (&String, Queues)| {
            let egress = Egress::open(&options.interface)?;
            Ok(Self::new(EthernetInterface::new(name, egress, queues, NO_DESCRIPTORS)?, joining.take()))
        };
        names.iter().zip(queues).map(port).collect()
    }

    /// The mode of the port, as text: queues, mode, and why none that is faster.
    pub fn description(&self) -> String {
        describe(self.device())
    }
}

/// Packets to these prefixes, except those to addresses of this host.
fn without_local(egress: &Egress, pools: &[IpNet]) -> Wanted {
    let except = egress.table().addresses.iter().map(|(_, net)| net.addr()).collect();
    Wanted::Prefixes { pools: pools.to_vec(), except }
}

/// Where the program cannot run in the driver, the kernel would join packets beyond the MTU before the program runs.
fn disable_gro(queues: &Queues, options: &XdpOptions) -> Option<GroDisabled> {
    (queues.attachment.mode == Mode::Generic).then(|| GroDisabled::on(&options.interface)).flatten()
}

/// The number of receive queues of an interface: 1 where it does not report one.
pub fn queues(interface: &str) -> usize {
    receive_queues(interface).map_or(1, |queues| queues.max(1) as usize)
}

/// Opens a socket on every receive queue, distributed among `parts` parts.
fn open_parts(parts: usize, wanted: &Wanted, options: &XdpOptions) -> Result<Vec<Queues>, PortError> {
    let egress = Egress::open(&options.interface)?;
    let queues = queues(&options.interface);
    if queues < parts {
        return Err(PortError::XdpQueues { name: options.interface.clone(), queues, ports: parts });
    }
    Ok(open(&egress, wanted, options, parts)?.split(parts).collect())
}

/// Opens a socket on every receive queue and adds it to the program. The first `parts` of them can send.
fn open(egress: &Egress, wanted: &Wanted, options: &XdpOptions, parts: usize) -> Result<Queues, PortError> {
    raise_locked_memory();
    let link = egress.link();
    let sizes = sizes(&link.name, link.mtu, options.ring)?;
    let first = socket(sizes)?;
    let queues = receive_queues(&link.name).unwrap_or(1).max(1);
    let attachment = Attachment::new(link, wanted, queues, options.native)?;
    let mut zero_copy = attachment.mode == Mode::Native;
    let mut sockets = vec![first];
    while sockets.len() < queues as usize {
        let send = if sockets.len() < parts { sizes.send } else { UNUSED };
        sockets.push(socket(Sizes { send, ..sizes })?);
    }
    for (queue, socket) in (0..).zip(&sockets) {
        zero_copy = zero_copy && bind(socket, link, queue, true).is_ok();
        if !zero_copy {
            bind(socket, link, queue, false)?;
        }
        attachment.add(queue, socket)?;
    }
    Ok(Queues::new(Arc::new(attachment), sockets, zero_copy))
}

/// Binds a socket to a queue. The kernel frees the queue of a socket that was just closed with a delay, which is long on a
/// busy machine.
fn bind(socket: &Socket, link: &Link, queue: u32, zero_copy: bool) -> Result<(), PortError> {
    let end = Instant::now() + Duration::from_secs(5);
    loop {
        match socket.bind(link.index, queue, zero_copy) {
            Err(Errno::BUSY) if Instant::now() < end => std::thread::sleep(Duration::from_millis(5)),
            Err(Errno::BUSY) => return Err(PortError::XdpQueueBusy { name: link.name.clone(), queue }),
            bound => {
                let operation = || format!("binding queue {queue} of {}", link.name);
                return bound.map_err(|errno| PortError::system(operation(), errno, "CAP_NET_RAW"));
            }
        }
    }
}

fn socket(sizes: Sizes) -> Result<Socket, PortError> {
    Socket::open(sizes).map_err(|errno| match errno {
        Errno::AFNOSUPPORT => PortError::XdpMissing,
        Errno::NOBUFS => {
            let octets = sizes.chunk * (sizes.receive + sizes.send) as usize;
            PortError::LockedMemory { octets }
        }
        errno => PortError::system("opening an AF_XDP socket", errno, "CAP_NET_RAW"),
    })
}

/// Chunks that hold every frame of the interface.
fn sizes(name: &str, mtu: u32, ring: u32) -> Result<Sizes, PortError> {
    if mtu > MAX_MTU {
        return Err(PortError::XdpMtu { name: name.to_owned(), mtu, most: MAX_MTU });
    }
    let chunk = (mtu as usize + HEADROOM + ETHERNET).next_power_of_two().max(2048);
    let ring = ring.next_power_of_two().clamp(64, 1 << 15);
    Ok(Sizes { chunk, receive: ring, send: ring.min(SEND) })
}

/// The receive ring of each of `queues` queues, in frames.
fn ring(queues: usize) -> u32 {
    let each = WAITING as usize / queues.max(1);
    (each as u32).clamp(2048, 8192).next_power_of_two()
}

/// Raises the limit as far as the system permits. Otherwise the current limit may suffice.
fn raise_locked_memory() {
    let unlimited = Rlimit { current: None, maximum: None };
    if setrlimit(Resource::Memlock, unlimited).is_err() {
        let maximum = getrlimit(Resource::Memlock).maximum;
        let _ = setrlimit(Resource::Memlock, Rlimit { current: maximum, maximum });
    }
}

fn describe(queues: &Queues) -> String {
    let (count, many) = (queues.count(), if queues.count() == 1 { "queue" } else { "queues" });
    let how = match (queues.attachment.mode, queues.attachment.refused, queues.zero_copy) {
        (Mode::Native, _, true) => "native, zero copy".to_owned(),
        (Mode::Native, _, false) => "native, copy mode: the driver has no zero copy".to_owned(),
        (Mode::Generic, Some(errno), _) => {
            format!("generic, copy mode: the driver runs no XDP program ({errno})")
        }
        (Mode::Generic, None, _) => "generic, copy mode, as configured".to_owned(),
    };
    format!("{count} {many}, {how}")
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  MTUs around the limits of both chunks.
    // Output: chunks that hold a frame with the kernel's headroom; an error that names the largest.
    #[test]
    fn frames_of_the_mtu_fit_into_a_chunk() {
        let chunk = |mtu| sizes("n3", mtu, 2048).map(|sizes| sizes.chunk).map_err(|error| error.to_string());
        assert_eq!((chunk(1500), chunk(1778), chunk(1779)), (Ok(2048), Ok(2048), Ok(4096)));
        assert_eq!(chunk(MAX_MTU), Ok(4096));
        assert!(chunk(9000).unwrap_err().contains("ip link set n3 mtu 3826"));
        assert_eq!(sizes("n3", 1500, 1000).unwrap().receive, 1024);
    }

    // Input:  interfaces with ever more queues.
    // Output: rings that hold the frames of a pause; the memory for many queues is bounded.
    #[test]
    fn rings_are_distributed_to_queues() {
        assert_eq!([0, 1, 8, 9, 16, 32, 1000].map(ring), [8192, 8192, 8192, 8192, 4096, 2048, 2048]);
        let sizes = sizes("n3", 1500, 8192).unwrap();
        assert_eq!((sizes.receive, sizes.send), (8192, 8192));
    }
}

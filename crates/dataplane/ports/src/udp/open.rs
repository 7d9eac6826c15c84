//! Opening and configuring the socket.

use std::net::{IpAddr, SocketAddr};
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::sockopt as option;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, getsockname, socket_with};

use super::gro::GroReceiver;
use super::message::MessageParser;
use super::send::Sender;
use super::{ReceiveMode, UdpOffload, UdpPort};
use crate::netlink::Netlink;
use crate::sys::{mmsg, sockopt};
use crate::{Counters, PortError, PortSharing};

/// How a GTP-U socket behaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UdpOptions {
    /// Octets of receive buffer to request. Above the limit of the system this needs `CAP_NET_ADMIN`.
    pub receive_buffer: usize,
    /// Octets of send buffer to request.
    pub send_buffer: usize,
    /// Sets DF on outer packets: longer ones are dropped and counted instead of fragmented.
    pub dont_fragment: bool,
    /// Lets the kernel join and segment datagrams of one flow, where it can.
    pub offload: bool,
    /// Whether the port is one of several at its address, which then belong to one user. The kernel spreads peers
    /// over them: the datagrams of a peer arrive at one port, in order.
    pub share: PortSharing,
    /// The IPv4 address may be that of another host for now: the socket receives when this host gets it.
    pub may_be_elsewhere: bool,
}

impl Default for UdpOptions {
    fn default() -> Self {
        Self {
            receive_buffer: 8 << 20,
            send_buffer: 4 << 20,
            dont_fragment: false,
            offload: true,
            share: PortSharing::Exclusive,
            may_be_elsewhere: false,
        }
    }
}

/// The MTU where the socket is not bound to the address of one interface.
const DEFAULT_MTU: u32 = 1500;

impl UdpPort {
    /// Binds a socket that only sends to the first port of these at the address that is free: the kernel discards what arrives.
    ///
    /// # Errors
    /// As for [`UdpPort::bind`]; [`PortError::AddressInUse`] names the last port when none is free.
    pub fn bind_sender(
        name: &str,
        address: IpAddr,
        ports: RangeInclusive<u16>,
        options: &UdpOptions,
    ) -> Result<Self, PortError> {
        let options = UdpOptions { receive_buffer: 0, share: PortSharing::Exclusive, ..options.clone() };
        let mut error = PortError::AddressInUse { address: SocketAddr::new(address, *ports.end()) };
        for port in ports {
            match Self::bind(name, SocketAddr::new(address, port), &options) {
                Err(in_use @ PortError::AddressInUse { .. }) => error = in_use,
                Err(other) => return Err(other),
                Ok(bound) => {
                    let failed = |errno| {
                        PortError::system(format!("opening UDP socket {}", bound.local), errno, "CAP_NET_RAW")
                    };
                    sockopt::refuse_all(&bound.socket).map_err(failed)?;
                    return Ok(bound);
                }
            }
        }
        Err(error)
    }

    /// Binds a socket to `address`, in most cases port 2152 (TS 29.281 clause 4.4.2.3).
    ///
    /// # Errors
    /// [`PortError::AddressInUse`], [`PortError::AddressMissing`], [`PortError::Permission`], or
    /// [`PortError::System`].
    pub fn bind(name: &str, address: SocketAddr, options: &UdpOptions) -> Result<Self, PortError> {
        let failed = |errno| PortError::system(format!("opening UDP socket {address}"), errno, "CAP_NET_RAW");
        let socket = open(address, options).map_err(failed)?;
        if options.may_be_elsewhere && address.is_ipv4() {
            option::set_ip_freebind(&socket, true).map_err(failed)?;
        }
        if options.share == PortSharing::Further {
            sockopt::share_address(&socket).map_err(failed)?;
        }
        bind(&socket, &address).map_err(|errno| bind_error(address, errno))?;
        if options.share == PortSharing::First {
            // Only now: earlier, another process that shares the address would have gone unnoticed.
            sockopt::share_address(&socket).map_err(failed)?;
        }
        let local = getsockname(&socket).ok().and_then(|bound| SocketAddr::try_from(bound).ok());
        let local = local.unwrap_or(address);
        let mtu = mtu(address.ip());
        let offload = if options.offload { UdpOffload::ask(&socket) } else { UdpOffload::default() };
        Ok(Self {
            name: name.to_owned(),
            receive_buffer: option::socket_recv_buffer_size(&socket).unwrap_or(0),
            socket,
            local,
            mtu,
            offload,
            counters: Arc::new(Counters::default()),
            reader: MessageParser::new(local),
            intake: match offload.gro {
                true => ReceiveMode::Joined(GroReceiver::new()),
                false => ReceiveMode::Single(mmsg::message_metas()),
            },
            sender: Sender::new(local, longest_datagram(local.ip(), mtu), offload.gso),
        })
    }
}

/// Octets of the largest datagram that the interface with the address sends unfragmented. Where the interface is
/// unknown the kernel reports each excess.
fn longest_datagram(local: IpAddr, mtu: u32) -> usize {
    let headers = if local.is_ipv4() { 20 + 8 } else { 40 + 8 };
    match local.is_unspecified() {
        true => usize::from(u16::MAX),
        false => (mtu as usize).saturating_sub(headers),
    }
}

/// Binds a socket that discards everything: the kernel treats the port as served, and no other process can bind it.
pub(crate) fn bind_refusing(address: SocketAddr) -> Result<OwnedFd, PortError> {
    let options = UdpOptions { receive_buffer: 0, send_buffer: 0, offload: false, ..UdpOptions::default() };
    let socket = open(address, &options)
        .and_then(|socket| sockopt::refuse_all(&socket).map(|()| socket))
        .map_err(|errno| PortError::system(format!("reserving {address}"), errno, "CAP_NET_RAW"))?;
    bind(&socket, &address).map_err(|errno| bind_error(address, errno))?;
    Ok(socket)
}

fn bind_error(address: SocketAddr, errno: Errno) -> PortError {
    match errno {
        Errno::ADDRINUSE => PortError::AddressInUse { address },
        Errno::ADDRNOTAVAIL => PortError::AddressMissing { address },
        _ => PortError::system(format!("binding {address}"), errno, "CAP_NET_BIND_SERVICE"),
    }
}

fn open(address: SocketAddr, options: &UdpOptions) -> Result<OwnedFd, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC | SocketFlags::NONBLOCK, None)?;
    if option::set_socket_recv_buffer_size_force(&socket, options.receive_buffer).is_err() {
        option::set_socket_recv_buffer_size(&socket, options.receive_buffer)?;
    }
    option::set_socket_send_buffer_size(&socket, options.send_buffer)?;
    sockopt::set(&socket, libc::SOL_SOCKET, libc::SO_RXQ_OVFL, 1)?;
    let discover = options.dont_fragment;
    if address.is_ipv4() {
        let discover = if discover { libc::IP_PMTUDISC_DO } else { libc::IP_PMTUDISC_DONT };
        sockopt::set(&socket, libc::IPPROTO_IP, libc::IP_PKTINFO, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IP, libc::IP_RECVTOS, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discover)?;
    } else {
        let discover = if discover { libc::IPV6_PMTUDISC_DO } else { libc::IPV6_PMTUDISC_DONT };
        sockopt::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1)?;
        sockopt::set(&socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, discover)?;
    }
    Ok(socket)
}

/// The MTU of the interface that has the address.
fn mtu(ip: IpAddr) -> u32 {
    let link = Netlink::open().ok().and_then(|mut netlink| netlink.link_of(ip).ok().flatten());
    link.map_or(DEFAULT_MTU, |link| link.mtu)
}

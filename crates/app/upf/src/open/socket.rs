//! Sockets of N4.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use rustix::net::sockopt::{set_ip_freebind, set_socket_recv_buffer_size};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::n4_addresses;
use crate::config::Upf;
use crate::error::{StartError, Transport};

/// Size of the receive buffer of an N4 socket, in octets.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Opens a socket for every N4 address.
///
/// # Errors
/// The first that cannot be opened, with its key and the remedy.
pub(crate) fn n4_sockets(upf: &Upf) -> Result<Vec<UdpSocket>, StartError> {
    let open = |(key, address): (String, SocketAddr)| {
        let opened = bind(address, upf.chain.has(address.ip())).and_then(|socket| {
            socket.set_nonblocking(true)?;
            // As far as the system permits; SMFs repeat lost requests.
            let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
            Ok(socket)
        });
        opened.map_err(|source| StartError::Socket { key, address, transport: Transport::Udp, source })
    };
    n4_addresses(&upf.pfcp)?.into_iter().map(open).collect()
}

/// Binds a socket. `may_be_elsewhere`: another host may have the address for now.
fn bind(address: SocketAddr, may_be_elsewhere: bool) -> io::Result<UdpSocket> {
    if !may_be_elsewhere {
        return UdpSocket::bind(address);
    }
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    set_ip_freebind(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket.into())
}

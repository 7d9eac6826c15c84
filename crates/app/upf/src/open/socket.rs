//! Sockets of N4.

use std::io;
use std::net::{SocketAddr, UdpSocket};

use causeway_ports::udp::select_pfcp_socket;
use rustix::net::sockopt::{
    set_ip_freebind, set_socket_recv_buffer_size, set_socket_recv_buffer_size_force, set_socket_reuseport,
};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use super::n4_addresses;
use crate::config::Upf;
use crate::error::{StartError, Transport};

/// Size of the receive buffer of an N4 socket, in octets.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Opens sockets for every N4 address, one for each of so many threads. The kernel gives a datagram to the thread that has its session.
///
/// # Errors
/// The first that cannot be opened, with its key and the remedy.
pub(crate) fn n4_sockets(upf: &Upf, threads: usize) -> Result<Vec<Vec<UdpSocket>>, StartError> {
    let mut of_threads: Vec<Vec<UdpSocket>> = (0..threads).map(|_| Vec::new()).collect();
    for (key, address) in n4_addresses(&upf.pfcp)? {
        let opened = open_all(address, upf.chain.has(address.ip()), threads);
        let sockets = opened.map_err(|source| StartError::Socket {
            key,
            address,
            transport: Transport::Udp,
            source,
        })?;
        of_threads.iter_mut().zip(sockets).for_each(|(own, socket)| own.push(socket));
    }
    Ok(of_threads)
}

/// Opens so many sockets of an address. `may_be_elsewhere`: another host may have the address for now.
fn open_all(address: SocketAddr, may_be_elsewhere: bool, count: usize) -> io::Result<Vec<UdpSocket>> {
    let first = bind(address, may_be_elsewhere)?;
    // The kernel may have chosen the port.
    let address = first.local_addr()?;
    let mut sockets = Vec::new();
    if count > 1 {
        // Only now: another process that shares the address would have gone unnoticed.
        set_socket_reuseport(&first, true)?;
        let further = (1..count).map(|_| bind_beside(address));
        sockets = further.collect::<io::Result<_>>()?;
        select_pfcp_socket(&first, count.try_into().unwrap_or(u32::MAX)).map_err(io::Error::other)?;
    }
    sockets.insert(0, first);
    for socket in &sockets {
        socket.set_nonblocking(true)?;
        // With CAP_NET_ADMIN whatever net.core.rmem_max is, otherwise as far as that permits; SMFs repeat lost requests.
        let _ = set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER)
            .or_else(|_| set_socket_recv_buffer_size(socket, RECEIVE_BUFFER));
    }
    Ok(sockets)
}

/// Binds a further socket of an address.
fn bind_beside(address: SocketAddr) -> io::Result<UdpSocket> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let socket = socket_with(family, SocketType::DGRAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseport(&socket, true)?;
    rustix::net::bind(&socket, &address)?;
    Ok(socket.into())
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

#[cfg(test)]
mod tests {
    use rustix::net::sockopt::socket_recv_buffer_size;

    use super::*;

    // Input:  three sockets of an N4 address, and a socket of any other kind.
    // Output: with the right to exceed net.core.rmem_max each buffer holds 4 MiB, without it as much as that permits.
    #[test]
    fn bursts_of_requests_fit_into_the_buffers() {
        let other = UdpSocket::bind("127.0.0.1:0").unwrap();
        let is_permitted = set_socket_recv_buffer_size_force(&other, RECEIVE_BUFFER).is_ok();
        if !is_permitted {
            set_socket_recv_buffer_size(&other, RECEIVE_BUFFER).unwrap();
        }
        let expected = socket_recv_buffer_size(&other).unwrap();
        // Without a limit the kernel counts its overhead in, so it doubles.
        assert!(!is_permitted || expected >= RECEIVE_BUFFER);
        for socket in open_all("127.0.0.1:0".parse().unwrap(), false, 3).unwrap() {
            assert_eq!(socket_recv_buffer_size(&socket).unwrap(), expected);
        }
    }
}

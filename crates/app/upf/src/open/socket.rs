//! Sockets of N4.

use std::net::{SocketAddr, UdpSocket};

use rustix::net::sockopt::set_socket_recv_buffer_size;

use super::n4_addresses;
use crate::config::Pfcp;
use crate::error::{StartError, Transport};

/// Size of the receive buffer of an N4 socket, in octets.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Opens a socket for every N4 address.
///
/// # Errors
/// The first that cannot be opened, with its key and the remedy.
pub(crate) fn n4_sockets(pfcp: &Pfcp) -> Result<Vec<UdpSocket>, StartError> {
    let open = |(key, address): (String, SocketAddr)| {
        let opened = UdpSocket::bind(address).and_then(|socket| {
            socket.set_nonblocking(true)?;
            // As far as the system permits; SMFs repeat lost requests.
            let _ = set_socket_recv_buffer_size(&socket, RECEIVE_BUFFER);
            Ok(socket)
        });
        opened.map_err(|source| StartError::Socket { key, address, transport: Transport::Udp, source })
    };
    n4_addresses(pfcp)?.into_iter().map(open).collect()
}

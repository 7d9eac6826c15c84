//! Datagrams of sockets that do not block.

use std::io::ErrorKind;
use std::net::UdpSocket;

use crate::BenchError;

/// Sends a datagram. What the kernel has no space for is lost like on a wire.
///
/// # Errors
/// [`BenchError::Io`] for every other error.
pub(crate) fn send(socket: &UdpSocket, octets: &[u8]) -> Result<(), BenchError> {
    match socket.send(octets) {
        Err(error) if error.kind() != ErrorKind::WouldBlock => Err(BenchError::io("send")(error)),
        _ => Ok(()),
    }
}

/// The next datagram. `None`: none has arrived.
///
/// # Errors
/// [`BenchError::Io`] for every other error.
pub(crate) fn receive(socket: &UdpSocket, buffer: &mut [u8]) -> Result<Option<usize>, BenchError> {
    match socket.recv(buffer) {
        Ok(len) => Ok(Some(len)),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(BenchError::io("receive")(error)),
    }
}

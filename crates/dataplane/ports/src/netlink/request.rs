//! Requests to the kernel and its answers.

use std::io;

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkDeserializable, NetlinkMessage, NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use rustix::io::Errno;

use crate::PortError;

/// A connection to the kernel's routing tables. Blocks for the time that the kernel takes to answer.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    /// Connects.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open() -> Result<Self, PortError> {
        let socket = connect().map_err(|error| failure("opening a netlink socket", &error))?;
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends a request and waits until the kernel has done it.
    pub(super) fn change(
        &mut self,
        doing: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), PortError> {
        self.exchange(message, flags | NLM_F_ACK, |_| {}).map_err(|error| failure(doing, &error))
    }

    /// Asks for all entries of a kind.
    pub(super) fn dump(
        &mut self,
        doing: &str,
        message: RouteNetlinkMessage,
        each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<(), PortError> {
        self.exchange(message, NLM_F_DUMP, each).map_err(|error| failure(doing, &error))
    }

    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> io::Result<()> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut octets = vec![0; request.buffer_len()];
        request.serialize(&mut octets);
        self.socket.send(&octets, 0)?;
        loop {
            let (answer, _) = self.socket.recv_from_full()?;
            for message in Messages(&answer).flatten() {
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    _ => {}
                }
            }
        }
    }
}

fn connect() -> io::Result<Socket> {
    let mut socket = Socket::new(NETLINK_ROUTE)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

fn failure(doing: &str, error: &io::Error) -> PortError {
    PortError::system(doing, Errno::from_io_error(error).unwrap_or(Errno::IO), "CAP_NET_ADMIN")
}

/// The messages in one datagram of the kernel. A message that cannot be understood is `None`.
pub(super) struct Messages<'a>(pub(super) &'a [u8]);

impl Iterator for Messages<'_> {
    type Item = Option<NetlinkMessage<RouteNetlinkMessage>>;

    fn next(&mut self) -> Option<Self::Item> {
        let len = u32::from_ne_bytes(*self.0.first_chunk()?) as usize;
        let octets = self.0.get(..len).filter(|octets| octets.len() >= 16)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(parse(octets))
    }
}

fn parse<M: NetlinkDeserializable>(octets: &[u8]) -> Option<NetlinkMessage<M>> {
    NetlinkMessage::deserialize(octets).ok()
}

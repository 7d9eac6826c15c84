//! Requests to the kernel and its responses.

use std::os::fd::OwnedFd;

use netlink_packet_core::{NLM_F_ACK, NLM_F_DUMP, NLM_F_REQUEST, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::RouteNetlinkMessage;
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, recv, send, socket_with,
};

use crate::PortError;

/// A connection to the kernel's routing tables. Blocks until the kernel responds.
pub struct Netlink {
    socket: OwnedFd,
    sequence: u32,
    answer: Box<[u8]>,
}

/// Octets of the largest datagram that the kernel sends, with a margin.
pub(super) const DATAGRAM: usize = 1 << 16;

impl Netlink {
    /// Connects.
    ///
    /// # Errors
    /// [`PortError::System`].
    pub fn open() -> Result<Self, PortError> {
        let socket = connect(0, SocketFlags::CLOEXEC)?;
        Ok(Self { socket, sequence: 0, answer: vec![0; DATAGRAM].into() })
    }

    /// Makes the kernel filter dumps by the fields of the request, where it can.
    pub(super) fn set_strict(&self, is_strict: bool) {
        // Without it the response is longer, and otherwise equal.
        let _ = crate::sys::sockopt::set(
            &self.socket,
            libc::SOL_NETLINK,
            libc::NETLINK_GET_STRICT_CHK,
            i32::from(is_strict),
        );
    }

    /// Sends a request and waits until the kernel has executed it.
    pub(super) fn change(
        &mut self,
        operation: &str,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> Result<(), PortError> {
        self.exchange(message, flags | NLM_F_ACK, |_| {}).map_err(|errno| failure(operation, errno))
    }

    /// Sends many requests as one message and waits until the kernel has executed each. Returns the result of each.
    ///
    /// # Errors
    /// The kernel cannot be reached, or does not respond to all.
    pub(super) fn change_all(
        &mut self,
        operation: &str,
        messages: impl IntoIterator<Item = (RouteNetlinkMessage, u16)>,
    ) -> Result<Vec<Result<(), Errno>>, PortError> {
        let first = self.sequence.wrapping_add(1);
        let mut octets = Vec::new();
        let mut count = 0;
        for (message, flags) in messages {
            self.sequence = self.sequence.wrapping_add(1);
            count += 1;
            let mut request = NetlinkMessage::from(message);
            request.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
            request.header.sequence_number = self.sequence;
            request.finalize();
            let start = octets.len();
            octets.resize(start + request.buffer_len().next_multiple_of(4), 0);
            request.serialize(octets.get_mut(start..).unwrap_or_default());
        }
        self.answers(first, count, &octets).map_err(|errno| failure(operation, errno))
    }

    /// The kernel responds to each request, in order.
    fn answers(&mut self, first: u32, count: usize, octets: &[u8]) -> Result<Vec<Result<(), Errno>>, Errno> {
        let mut answered = Vec::with_capacity(count);
        if count > 0 {
            send(&self.socket, octets, SendFlags::empty())?;
        }
        while answered.len() < count {
            let (len, _) = recv(&self.socket, &mut *self.answer, RecvFlags::empty())?;
            for message in Messages(self.answer.get(..len).unwrap_or_default()).flatten() {
                let NetlinkPayload::Error(error) = message.payload else { continue };
                if message.header.sequence_number.wrapping_sub(first) as usize == answered.len() {
                    let errno = || Errno::from_io_error(&error.to_io()).unwrap_or(Errno::IO);
                    answered.push(if error.code.is_none() { Ok(()) } else { Err(errno()) });
                }
            }
        }
        Ok(answered)
    }

    /// Requests all entries of a kind.
    pub(super) fn dump(
        &mut self,
        operation: &str,
        message: RouteNetlinkMessage,
        each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<(), PortError> {
        self.exchange(message, NLM_F_DUMP, each).map_err(|errno| failure(operation, errno))
    }

    /// Requests one entry, which may not exist.
    pub(super) fn ask(
        &mut self,
        operation: &str,
        message: RouteNetlinkMessage,
        each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<(), PortError> {
        match self.exchange(message, NLM_F_ACK, each) {
            Err(Errno::NODEV) => Ok(()),
            done => done.map_err(|errno| failure(operation, errno)),
        }
    }

    fn exchange(
        &mut self,
        message: RouteNetlinkMessage,
        flags: u16,
        mut each: impl FnMut(RouteNetlinkMessage),
    ) -> Result<(), Errno> {
        self.sequence = self.sequence.wrapping_add(1);
        let mut request = NetlinkMessage::from(message);
        request.header.flags = NLM_F_REQUEST | flags;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut octets = vec![0; request.buffer_len()];
        request.serialize(&mut octets);
        send(&self.socket, &octets, SendFlags::empty())?;
        loop {
            let (len, _) = recv(&self.socket, &mut *self.answer, RecvFlags::empty())?;
            for message in Messages(self.answer.get(..len).unwrap_or_default()).flatten() {
                if message.header.sequence_number != self.sequence {
                    continue;
                }
                match message.payload {
                    NetlinkPayload::Done(_) => return Ok(()),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(()),
                    NetlinkPayload::Error(error) => {
                        return Err(Errno::from_io_error(&error.to_io()).unwrap_or(Errno::IO));
                    }
                    NetlinkPayload::InnerMessage(inner) => each(inner),
                    _ => {}
                }
            }
        }
    }
}

/// A socket that receives the multicast groups of the mask.
pub(super) fn connect(groups: u32, flags: SocketFlags) -> Result<OwnedFd, PortError> {
    let open = || {
        // The default protocol of the family is NETLINK_ROUTE.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, flags, None)?;
        bind(&socket, &SocketAddrNetlink::new(0, groups)).map(|()| socket)
    };
    open().map_err(|errno| failure("opening a netlink socket", errno))
}

fn failure(operation: &str, errno: Errno) -> PortError {
    PortError::system(operation, errno, "CAP_NET_ADMIN")
}

/// The messages in one datagram of the kernel. A message that cannot be parsed is `None`.
pub(super) struct Messages<'a>(pub(super) &'a [u8]);

impl Iterator for Messages<'_> {
    type Item = Option<NetlinkMessage<RouteNetlinkMessage>>;

    fn next(&mut self) -> Option<Self::Item> {
        let len = u32::from_ne_bytes(*self.0.first_chunk()?) as usize;
        let octets = self.0.get(..len).filter(|octets| octets.len() >= 16)?;
        self.0 = self.0.get(len.next_multiple_of(4)..).unwrap_or_default();
        Some(NetlinkMessage::deserialize(octets).ok())
    }
}

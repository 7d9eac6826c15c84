//! Whole datagrams in and out of a UDP socket of any protocol, many in one system call.

use std::io::{self, IoSlice};
use std::net::SocketAddr;
use std::os::fd::AsFd;

use arrayvec::ArrayVec;

use super::address::{self, SocketName};
use crate::BATCH;
use crate::sys::mmsg::{self, Envelope, Message, SEND};

/// Octets of the longest datagram.
const LONGEST: usize = 65_535;

/// Datagrams that have come, and are taken one by one.
pub struct Inbox {
    envelopes: Box<[Envelope; BATCH]>,
    buffers: Box<[u8]>,
    /// How many were received, and how many of them were taken.
    received: usize,
    taken: usize,
}

impl Default for Inbox {
    fn default() -> Self {
        let buffers = vec![0; BATCH * LONGEST].into();
        Self { envelopes: mmsg::envelopes(), buffers, received: 0, taken: 0 }
    }
}

impl Inbox {
    /// Receives what has come at a socket, at most [`BATCH`] datagrams. Those that were not taken yet are lost.
    ///
    /// # Errors
    /// What the kernel says; [`io::ErrorKind::WouldBlock`] when nothing has come.
    pub fn fill(&mut self, socket: impl AsFd) -> io::Result<()> {
        (self.received, self.taken) = (0, 0);
        let buffers = self.buffers.chunks_exact_mut(LONGEST);
        self.received = mmsg::receive(socket, &mut self.envelopes, buffers)?;
        Ok(())
    }

    /// Not all that was received has been taken.
    pub const fn has_more(&self) -> bool {
        self.taken < self.received
    }

    /// The next datagram and who sent it.
    pub fn take(&mut self) -> Option<(SocketAddr, &[u8])> {
        loop {
            let at = self.taken;
            let envelope = self.envelopes.get(at).filter(|_| at < self.received)?;
            self.taken += 1;
            if let Some(from) = address::parse(envelope.name()) {
                let buffer = self.buffers.get(at * LONGEST..)?;
                return Some((from, buffer.get(..envelope.len)?));
            }
        }
    }
}

/// Datagrams that wait to be sent.
#[derive(Default)]
pub struct Outbox(Vec<(SocketAddr, Vec<u8>)>);

impl Outbox {
    /// Lets a datagram wait.
    pub fn put(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        self.0.push((to, datagram));
    }

    /// Sends all that wait, in order, at once or not at all. Says of each that is lost why.
    pub fn send(&mut self, socket: impl AsFd, mut lost: impl FnMut(SocketAddr, io::Error)) {
        let mut rest = self.0.as_slice();
        while let Some(((to, _), after)) = rest.split_first() {
            match send(&socket, rest) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    rest.iter().for_each(|(to, _)| lost(*to, io::ErrorKind::WouldBlock.into()));
                    break;
                }
                Err(error) => {
                    lost(*to, error);
                    rest = after;
                }
            }
        }
        self.0.clear();
    }
}

/// Sends the first of them; returns how many.
fn send(socket: impl AsFd, datagrams: &[(SocketAddr, Vec<u8>)]) -> io::Result<usize> {
    let parts: ArrayVec<_, SEND> = datagrams
        .iter()
        .take(SEND)
        .map(|(to, datagram)| (SocketName::new(*to), [IoSlice::new(datagram)]))
        .collect();
    let messages: ArrayVec<_, SEND> =
        parts.iter().map(|(name, parts)| Message { name: name.octets(), control: &[], parts }).collect();
    Ok(mmsg::send_messages(socket, &messages)?)
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    fn socket(at: &str) -> (UdpSocket, SocketAddr) {
        let socket = UdpSocket::bind(at).unwrap();
        socket.set_nonblocking(true).unwrap();
        let local = socket.local_addr().unwrap();
        (socket, local)
    }

    // Input:  a hundred datagrams of growing length over the loopback, from one outbox, by IPv4 and by IPv6.
    // Output: all of them, in order, and who sent them; then nothing.
    #[test]
    fn datagrams_keep_their_order() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let ((from, sender), (to, receiver)) = (socket(at), socket(at));
            let mut outbox = Outbox::default();
            (0..100_u8).for_each(|length| outbox.put(receiver, vec![length; length.into()]));
            outbox.send(&from, |to, error| panic!("{to}: {error}"));
            let (mut inbox, mut expected) = (Inbox::default(), 0..100_u8);
            while inbox.fill(&to).is_ok() {
                while let Some((who, datagram)) = inbox.take() {
                    let length = expected.next().unwrap();
                    assert_eq!((who, datagram), (sender, &vec![length; length.into()][..]));
                }
            }
            assert_eq!((expected.next(), inbox.take()), (None, None));
            assert_eq!(inbox.fill(&to).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
    }

    // Input:  three datagrams, of which the second is longer than a datagram can be.
    // Output: it is lost by name; the others arrive.
    #[test]
    fn what_cannot_be_sent_does_not_hold_up_the_rest() {
        let ((from, _), (to, receiver)) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let mut outbox = Outbox::default();
        for length in [1, 70_000, 2] {
            outbox.put(receiver, vec![0; length]);
        }
        let mut lost = Vec::new();
        outbox.send(&from, |to, error| lost.push((to, error.raw_os_error())));
        assert_eq!(lost, [(receiver, Some(libc::EMSGSIZE))]);
        let mut inbox = Inbox::default();
        inbox.fill(&to).unwrap();
        assert_eq!((inbox.take().unwrap().1.len(), inbox.take().unwrap().1.len()), (1, 2));
    }
}

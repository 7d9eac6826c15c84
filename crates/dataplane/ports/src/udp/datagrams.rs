//! Whole datagrams received and sent on a UDP socket of any protocol, many in one system call.

use std::io::{self, IoSlice};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;

use arrayvec::ArrayVec;
use causeway_packet::{BATCH, Frame, Meta};

use super::address::{self, SocketName};
use super::ancillary::Ancillary;
use super::gso::{self, GsoMessage};
use crate::sys::mmsg::{self, Message, MessageMeta, SEND};
use crate::sys::sockopt;

/// Octets from one buffer to the next: the longest datagram fits. An odd number of cache lines, so that the short datagrams of a batch do not compete for the same
/// sets of a cache.
const STRIDE: usize = (1 << 16) + 33 * 64;

/// Octets of the longest datagram in a GSO message: below the MTU of any path, so that no device has to fragment it.
const MAX_GSO_SEGMENT: usize = 1200;

/// Fewer datagrams are sent singly, so that a capture at the sender shows them as they are under low load.
const MIN_GSO_DATAGRAMS: usize = 8;

/// Calls of [`DatagramSender::send`] without GSO after the kernel has rejected a GSO message, for lack of a device
/// that segments.
const GSO_BACKOFF_CALLS: u32 = 1024;

/// The number of datagrams that the kernel has dropped at a socket because its receive buffer was full. It wraps.
///
/// # Errors
/// The error of the kernel.
pub fn overruns(socket: impl AsFd) -> io::Result<u32> {
    Ok(sockopt::drops(socket)?)
}

/// Octets of kernel memory that the received datagrams of a socket have, with their overhead.
///
/// # Errors
/// [`io::ErrorKind::Unsupported`]: the kernel does not say it.
pub fn queued_octets(socket: impl AsFd) -> io::Result<u32> {
    let memory = sockopt::memory(socket).ok_or(io::ErrorKind::Unsupported)?;
    Ok(memory.used)
}

/// Received datagrams, which are taken one by one.
pub struct DatagramReceiver {
    metas: Box<[MessageMeta; BATCH]>,
    buffers: Box<[u8]>,
    /// How many were received, and how many of them were taken.
    received: usize,
    taken: usize,
}

impl Default for DatagramReceiver {
    fn default() -> Self {
        let buffers = vec![0; BATCH * STRIDE].into();
        Self { metas: mmsg::message_metas(), buffers, received: 0, taken: 0 }
    }
}

impl DatagramReceiver {
    /// Receives datagrams of a socket, at most [`BATCH`]. Those that were not taken yet are lost.
    ///
    /// # Errors
    /// The error of the kernel; [`io::ErrorKind::WouldBlock`] when there is no datagram.
    pub fn fill(&mut self, socket: impl AsFd) -> io::Result<()> {
        (self.received, self.taken) = (0, 0);
        let buffers = self.buffers.chunks_exact_mut(STRIDE);
        self.received = mmsg::receive(socket, &mut self.metas, buffers)?;
        Ok(())
    }

    /// Some received datagrams have not been taken.
    pub const fn has_more(&self) -> bool {
        self.taken < self.received
    }

    /// The last call received all datagrams that had arrived by then.
    pub const fn is_drained(&self) -> bool {
        self.received < BATCH
    }

    /// The octets of the datagram after the next one, if it has been received already.
    pub fn peek_next(&self) -> Option<&[u8]> {
        let at = self.taken + 1;
        let message_meta = self.metas.get(at).filter(|_| at < self.received)?;
        self.buffers.get(at * STRIDE..)?.get(..message_meta.len)
    }

    /// The next datagram and its sender.
    pub fn take(&mut self) -> Option<(SocketAddr, &[u8])> {
        loop {
            let at = self.taken;
            let message_meta = self.metas.get(at).filter(|_| at < self.received)?;
            self.taken += 1;
            if let Some(from) = address::parse(message_meta.name()) {
                let buffer = self.buffers.get(at * STRIDE..)?;
                return Some((from, buffer.get(..message_meta.len)?));
            }
        }
    }
}

/// Datagrams to send.
pub struct DatagramSender {
    waiting: Vec<(SocketAddr, Vec<u8>)>,
    /// Many may be sent in one GSO message.
    coalesces: bool,
    /// Remaining calls of [`DatagramSender::send`] without GSO.
    backoff_calls: u32,
}

impl DatagramSender {
    /// Without datagrams. `joins`: datagrams of one length to one address are passed to the kernel together, if there
    /// are many, and are transmitted singly.
    pub const fn new(joins: bool) -> Self {
        Self { waiting: Vec::new(), coalesces: joins, backoff_calls: 0 }
    }

    /// Queues a datagram.
    pub fn put(&mut self, to: SocketAddr, datagram: Vec<u8>) {
        self.waiting.push((to, datagram));
    }

    /// Sends all queued datagrams, in order, without blocking. Calls `lost` with the error of each lost one.
    pub fn send(&mut self, socket: impl AsFd, lost: impl FnMut(SocketAddr, io::Error)) {
        self.send_off(socket, lost);
        self.waiting.clear();
    }

    /// The same, and returns the memory of each.
    pub fn send_and_recycle(
        &mut self,
        socket: impl AsFd,
        lost: impl FnMut(SocketAddr, io::Error),
        give_back: impl FnMut(Vec<u8>),
    ) {
        self.send_off(socket, lost);
        self.waiting.drain(..).map(|(_, datagram)| datagram).for_each(give_back);
    }

    fn send_off(&mut self, socket: impl AsFd, mut lost: impl FnMut(SocketAddr, io::Error)) {
        self.backoff_calls = self.backoff_calls.saturating_sub(1);
        let has_gso = self.coalesces && self.backoff_calls == 0 && self.waiting.len() >= MIN_GSO_DATAGRAMS;
        let mut longest = if has_gso { MAX_GSO_SEGMENT } else { 0 };
        let mut rest = self.waiting.as_slice();
        while let Some(((to, _), after)) = rest.split_first() {
            match send(&socket, rest, longest) {
                Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    rest.iter().for_each(|(to, _)| lost(*to, io::ErrorKind::WouldBlock.into()));
                    break;
                }
                // The GSO message may be the cause: each datagram is sent singly.
                Err(error) if longest > 0 => {
                    longest = 0;
                    if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)) {
                        self.backoff_calls = GSO_BACKOFF_CALLS;
                    }
                }
                Err(error) => {
                    lost(*to, error);
                    rest = after;
                }
            }
        }
    }
}

/// Sends the first of them, those up to `longest` octets in GSO messages; returns how many.
fn send(socket: impl AsFd, datagrams: &[(SocketAddr, Vec<u8>)], longest: usize) -> io::Result<usize> {
    let frames: ArrayVec<_, SEND> =
        datagrams.iter().take(SEND).map(|(to, data)| Frame { meta: gso_meta(*to), data }).collect();
    let parts: ArrayVec<_, SEND> = frames.iter().map(|frame| IoSlice::new(frame.data)).collect();
    let gso_messages = gso::group(&frames, longest);
    let addressed: ArrayVec<_, SEND> = gso_messages
        .iter()
        .filter_map(|gso_message| datagrams.get(gso_message.frames.start).map(|(to, _)| (gso_message, *to)))
        .map(|(gso_message, to)| {
            let ancillary = Ancillary { segment: gso_message.segment(), ..Ancillary::default() };
            (SocketName::new(to), ancillary.emit(to.is_ipv4()))
        })
        .collect();
    let messages: ArrayVec<_, SEND> = gso_messages
        .iter()
        .zip(&addressed)
        .map(|(gso_message, (name, control))| Message {
            name: name.octets(),
            control,
            parts: parts.get(gso_message.frames.clone()).unwrap_or_default(),
        })
        .collect();
    let sent = mmsg::send_messages(socket, &messages)?;
    Ok(gso_messages.iter().take(sent).map(GsoMessage::len).sum())
}

/// The metadata that separates GSO messages: here only the address.
fn gso_meta(to: SocketAddr) -> Meta {
    Meta::Gtpu { local: Ipv4Addr::UNSPECIFIED.into(), peer: to, tos: 0, hops: None }
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

    // Input:  a hundred datagrams of growing length over the loopback, from one sender, by IPv4 and by IPv6.
    // Output: all of them, in order, with their sender; then nothing. The memory of each is returned.
    #[test]
    fn datagrams_keep_their_order() {
        for at in ["127.0.0.1:0", "[::1]:0"] {
            let ((from, sender), (to, receiver)) = (socket(at), socket(at));
            let (mut outbox, mut given_back) = (DatagramSender::new(true), 0);
            (0..100_u8).for_each(|length| outbox.put(receiver, vec![length; length.into()]));
            let give_back = |_| given_back += 1;
            outbox.send_and_recycle(&from, |to, error| panic!("{to}: {error}"), give_back);
            assert_eq!(given_back, 100);
            let (mut inbox, mut expected) = (DatagramReceiver::default(), 0..100_u8);
            while inbox.fill(&to).is_ok() {
                while inbox.has_more() {
                    let following = inbox.peek_next().map(<[u8]>::to_vec);
                    let (who, datagram) = inbox.take().unwrap();
                    let length = expected.next().unwrap();
                    assert_eq!((who, datagram), (sender, &vec![length; length.into()][..]));
                    assert_eq!(following, inbox.has_more().then(|| vec![length + 1; (length + 1).into()]));
                }
            }
            assert_eq!((expected.next(), inbox.take()), (None, None));
            assert_eq!(inbox.fill(&to).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        }
    }

    // Input:  datagrams of a few lengths to two addresses in turns, more than one call sends.
    // Output: each address receives its own, singly, in order and whole.
    #[test]
    fn datagrams_of_one_length_are_sent_together_and_arrive_singly() {
        let ((from, _), places) = (socket("127.0.0.1:0"), [socket("127.0.0.1:0"), socket("127.0.0.1:0")]);
        let (mut outbox, mut expected) = (DatagramSender::new(true), [const { Vec::new() }; 2]);
        for number in 0..150_u8 {
            let place = usize::from(number) / 13 % 2;
            let datagram = vec![number; [90, 90, 90, 90, 40, 1300][usize::from(number) / 5 % 6]];
            outbox.put(places[place].1, datagram.clone());
            expected[place].push(datagram);
        }
        outbox.send(&from, |to, error| panic!("{to}: {error}"));
        for ((to, _), expected) in places.iter().zip(expected) {
            let (mut inbox, mut seen) = (DatagramReceiver::default(), Vec::new());
            while inbox.fill(to).is_ok() {
                while let Some((_, datagram)) = inbox.take() {
                    seen.push(datagram.to_vec());
                }
            }
            assert!(seen == expected, "{} of {}", seen.len(), expected.len());
        }
    }

    // Input:  three datagrams, of which the second is longer than a datagram can be.
    // Output: it is reported as lost; the others arrive.
    #[test]
    fn an_unsendable_datagram_does_not_block_the_rest() {
        let ((from, _), (to, receiver)) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let mut outbox = DatagramSender::new(true);
        for length in [1, 70_000, 2] {
            outbox.put(receiver, vec![0; length]);
        }
        let mut lost = Vec::new();
        outbox.send(&from, |to, error| lost.push((to, error.raw_os_error())));
        assert_eq!(lost, [(receiver, Some(libc::EMSGSIZE))]);
        let mut inbox = DatagramReceiver::default();
        inbox.fill(&to).unwrap();
        assert_eq!((inbox.take().unwrap().1.len(), inbox.take().unwrap().1.len()), (1, 2));
    }
}

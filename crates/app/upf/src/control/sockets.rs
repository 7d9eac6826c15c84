//! The N4 sockets: several addresses, IPv4 and IPv6, as one.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::task::{Context, Poll};

use tokio::io::ReadBuf;
use tokio::net::UdpSocket;

/// Octets of the longest datagram.
const DATAGRAM: usize = 65_535;

/// Peers whose socket is remembered, at most. Beyond it the first socket of the IP version serves.
const REMEMBERED: usize = 4096;

/// The sockets of N4. A peer is answered from the address that it wrote to.
pub(super) struct Sockets {
    sockets: Vec<(SocketAddr, UdpSocket)>,
    /// By which socket a peer was heard last, where its IP version has more than one.
    heard: BTreeMap<IpAddr, usize>,
    /// The socket to look at first, so that a busy one does not starve the others.
    first: usize,
    buffer: Box<[u8]>,
}

impl Sockets {
    /// Takes sockets that do not block.
    ///
    /// # Errors
    /// What the kernel says.
    pub(super) async fn new(sockets: Vec<std::net::UdpSocket>) -> io::Result<Self> {
        let adopt = |socket: std::net::UdpSocket| Ok((socket.local_addr()?, UdpSocket::from_std(socket)?));
        let sockets: Vec<_> = sockets.into_iter().map(adopt).collect::<io::Result<_>>()?;
        for (_, socket) in &sockets {
            // Until the runtime has seen that it can, a socket refuses to send.
            socket.writable().await?;
        }
        Ok(Self { sockets, heard: BTreeMap::new(), first: 0, buffer: vec![0; DATAGRAM].into() })
    }

    /// The next datagram and who sent it.
    ///
    /// # Errors
    /// What the kernel says; the next call may succeed.
    pub(super) async fn receive(&mut self) -> io::Result<(SocketAddr, &[u8])> {
        let (from, len) = poll_fn(|context| self.poll(context)).await?;
        Ok((from, self.buffer.get(..len).unwrap_or_default()))
    }

    /// The next datagram, if it has come already; an error is left to [`Sockets::receive`].
    pub(super) fn receive_now(&mut self) -> Option<(SocketAddr, &[u8])> {
        let count = self.sockets.len();
        for index in (self.first..count).chain(0..self.first) {
            let Some((_, socket)) = self.sockets.get(index) else { continue };
            if let Ok((len, from)) = socket.try_recv_from(&mut self.buffer) {
                self.first = if index + 1 < count { index + 1 } else { 0 };
                self.remember(from, index);
                return Some((from, self.buffer.get(..len).unwrap_or_default()));
            }
        }
        None
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<io::Result<(SocketAddr, usize)>> {
        let count = self.sockets.len();
        for index in (self.first..count).chain(0..self.first) {
            let Some((_, socket)) = self.sockets.get(index) else { continue };
            let mut buffer = ReadBuf::new(&mut self.buffer);
            if let Poll::Ready(received) = socket.poll_recv_from(context, &mut buffer) {
                let len = buffer.filled().len();
                self.first = if index + 1 < count { index + 1 } else { 0 };
                return Poll::Ready(received.map(|from| {
                    self.remember(from, index);
                    (from, len)
                }));
            }
        }
        Poll::Pending
    }

    /// Sends a datagram, at once or not at all: PFCP repeats what is lost.
    ///
    /// # Errors
    /// No socket has the IP version, or what the kernel says.
    pub(super) fn send(&self, to: SocketAddr, datagram: &[u8]) -> io::Result<()> {
        let heard = self.heard.get(&to.ip()).and_then(|index| self.sockets.get(*index));
        let same_version = || self.sockets.iter().find(|(local, _)| local.is_ipv4() == to.is_ipv4());
        let (_, socket) = heard.or_else(same_version).ok_or(io::ErrorKind::AddrNotAvailable)?;
        socket.try_send_to(datagram, to).map(drop)
    }

    fn remember(&mut self, from: SocketAddr, index: usize) {
        let same_version = self.sockets.iter().filter(|(local, _)| local.is_ipv4() == from.is_ipv4()).count();
        if same_version > 1 && (self.heard.len() < REMEMBERED || self.heard.contains_key(&from.ip())) {
            self.heard.insert(from.ip(), index);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket as Std;
    use std::time::Duration;

    use super::*;

    fn socket(at: &str) -> Std {
        let socket = Std::bind(at).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    }

    // Input:  a datagram to the second of two addresses, then an answer.
    // Output: the answer comes from the second address.
    #[tokio::test]
    async fn a_peer_is_answered_from_the_address_it_wrote_to() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let second = b.local_addr().unwrap();
        let mut sockets = Sockets::new(vec![a, b]).await.unwrap();
        let peer = Std::bind("127.0.0.1:0").unwrap();
        peer.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        peer.send_to(b"request", second).unwrap();
        let (from, datagram) = sockets.receive().await.unwrap();
        assert_eq!((from, datagram), (peer.local_addr().unwrap(), &b"request"[..]));
        sockets.send(from, b"answer").unwrap();
        let mut buffer = [0; 16];
        let (len, answered) = peer.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], answered), (&b"answer"[..], second));
    }

    // Input:  two sockets that both have datagrams waiting.
    // Output: they are heard in turn.
    #[tokio::test]
    async fn a_busy_address_does_not_starve_the_other() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let (first, second) = (a.local_addr().unwrap(), b.local_addr().unwrap());
        let mut sockets = Sockets::new(vec![a, b]).await.unwrap();
        let peer = Std::bind("127.0.0.1:0").unwrap();
        for (to, text) in [(first, b"1"), (first, b"2"), (second, b"3")] {
            peer.send_to(text, to).unwrap();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        let mut heard = Vec::new();
        for _ in 0..3 {
            heard.push(sockets.receive().await.unwrap().1[0]);
        }
        assert!(heard == *b"132" || heard == *b"312", "{heard:?}");
    }

    // Input:  two datagrams at one of two addresses, taken without waiting once the first was waited for.
    // Output: the second, then nothing.
    #[tokio::test]
    async fn what_has_come_is_taken_at_once() {
        let (a, b) = (socket("127.0.0.1:0"), socket("127.0.0.1:0"));
        let to = b.local_addr().unwrap();
        let mut sockets = Sockets::new(vec![a, b]).await.unwrap();
        let peer = Std::bind("127.0.0.1:0").unwrap();
        peer.send_to(b"1", to).unwrap();
        peer.send_to(b"2", to).unwrap();
        assert_eq!(sockets.receive().await.unwrap().1, b"1");
        assert_eq!(sockets.receive_now(), Some((peer.local_addr().unwrap(), &b"2"[..])));
        assert_eq!(sockets.receive_now(), None);
    }

    #[tokio::test]
    async fn there_is_no_way_to_the_other_ip_version() {
        let sockets = Sockets::new(vec![socket("127.0.0.1:0")]).await.unwrap();
        let error = sockets.send("[::1]:8805".parse().unwrap(), b"x").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
    }
}

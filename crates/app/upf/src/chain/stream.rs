//! Frames over TCP.

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use causeway_chain::Frame;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, connect, socket_with, sockopt};

use super::limit::LineLimit;

/// A sender with nothing else to say says that it is there so many times in the silence after which it counts as failed.
const BEATS: u32 = 5;

/// How often a sender says that it is there. `silence`: after so long without an octet it counts as failed.
pub(super) fn beat(silence: Duration) -> Duration {
    silence / BEATS
}

/// The limit of a connection setup, and the pause after one that failed.
const CONNECT: Duration = Duration::from_millis(300);
const PAUSE: Duration = Duration::from_millis(50);

/// Octets that are written at once, at most.
const BATCH: usize = 256 << 10;

/// Reads frames.
pub(super) struct FrameReader {
    stream: TcpStream,
    octets: Vec<u8>,
    /// Octets before this one have been read.
    start: usize,
}

impl FrameReader {
    /// Reads from a stream, which counts as failed after this time without an octet.
    pub(super) fn new(stream: TcpStream, silence: Duration) -> io::Result<Self> {
        stream.set_read_timeout(Some(silence))?;
        Ok(Self { stream, octets: Vec::new(), start: 0 })
    }

    /// The next frame.
    ///
    /// # Errors
    /// The stream has ended, is silent, or has octets that are no frame.
    pub(super) fn next(&mut self) -> io::Result<Frame> {
        let mut chunk = [0; 16 << 10];
        loop {
            let unread = self.octets.get(self.start..).unwrap_or_default();
            let decoded = Frame::decode(unread);
            if let Some((frame, len)) =
                decoded.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?
            {
                self.start += len;
                return Ok(frame);
            }
            self.octets.drain(..self.start);
            self.start = 0;
            match self.stream.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(len) => self.octets.extend(chunk.iter().take(len)),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// Where a stream goes.
#[derive(Clone, Debug)]
pub(super) struct Destination {
    pub(super) address: SocketAddr,
    /// The address that the other end sees.
    pub(super) own: Option<IpAddr>,
    /// The configuration key of the address.
    pub(super) key: &'static str,
    /// Says that it cannot be reached.
    pub(super) lines: Arc<LineLimit>,
}

impl Destination {
    fn connect(&self) -> io::Result<TcpStream> {
        connected_to(self.address, self.own)
    }

    /// Nothing has been reached there for `silence`, and lately for this reason.
    fn warn(&self, silence: Duration, error: &io::Error) {
        let line = format_args!("no connection to {} {} for {silence:?}: {error}", self.key, self.address);
        self.lines.warn("addresses that were not reached", self.address.ip(), &line);
    }
}

/// Writes frames in a thread of its own; dropping it ends the stream.
#[derive(Debug)]
pub(super) struct FrameSender(Sender<Frame>);

impl FrameSender {
    /// Queues a frame.
    pub(super) fn send(&self, frame: Frame) {
        // Without the thread there is no stream.
        let _ = self.0.send(frame);
    }

    /// Writes to this stream, until it fails.
    pub(super) fn on(stream: TcpStream, silence: Duration) -> Self {
        let (sender, frames) = mpsc::channel();
        thread::spawn(move || drop(write(&stream, &frames, silence)));
        Self(sender)
    }

    /// Writes to a stream that is set up again whenever it fails. The first frame of each is `hello`. What is sent while there is none is lost.
    /// `connected` gets each stream. One line says it if there is none for `silence`.
    pub(super) fn to(
        to: Destination,
        hello: Frame,
        silence: Duration,
        connected: impl Fn(&TcpStream) + Send + 'static,
    ) -> Self {
        let (sender, frames) = mpsc::channel();
        thread::spawn(move || {
            // Since when there is no stream, until that was said.
            let mut missing_since = Some(Instant::now());
            loop {
                let greeted = to.connect().and_then(|stream| {
                    (&stream).write_all(&encoded(&hello)?)?;
                    Ok(stream)
                });
                match greeted {
                    Ok(stream) => {
                        while frames.try_recv().is_ok() {}
                        connected(&stream);
                        if write(&stream, &frames, silence).is_ok() {
                            return;
                        }
                        missing_since = Some(Instant::now());
                    }
                    Err(error) if missing_since.is_some_and(|since| since.elapsed() >= silence) => {
                        to.warn(silence, &error);
                        missing_since = None;
                    }
                    Err(_) => {}
                }
                thread::sleep(PAUSE);
                loop {
                    match frames.try_recv() {
                        Ok(_) => {}
                        Err(mpsc::TryRecvError::Empty) => break,
                        Err(mpsc::TryRecvError::Disconnected) => return,
                    }
                }
            }
        });
        Self(sender)
    }
}

/// Sets up a connection, from this address, if it is one of a host and of the same IP version.
fn connected_to(address: SocketAddr, own: Option<IpAddr>) -> io::Result<TcpStream> {
    let own = own.filter(|ip| !ip.is_unspecified() && ip.is_ipv4() == address.is_ipv4());
    let Some(own) = own else { return TcpStream::connect_timeout(&address, CONNECT) };
    let family = if own.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    bind(&socket, &SocketAddr::new(own, 0))?;
    match connect(&socket, &address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS) => {
            let limit = Timespec::try_from(CONNECT).map_err(io::Error::other)?;
            if poll(&mut [PollFd::new(&socket, PollFlags::OUT)], Some(&limit))? == 0 {
                return Err(io::ErrorKind::TimedOut.into());
            }
            sockopt::socket_error(&socket)??;
        }
        Err(error) => return Err(error.into()),
    }
    let stream = TcpStream::from(socket);
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn encoded(frame: &Frame) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    encode(frame, &mut octets)?;
    Ok(octets)
}

fn encode(frame: &Frame, octets: &mut Vec<u8>) -> io::Result<()> {
    frame.encode(octets).map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// Writes what comes, many frames at once. `Ok`: nothing will come any more.
fn write(stream: &TcpStream, frames: &Receiver<Frame>, silence: Duration) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(silence))?;
    let mut octets = Vec::new();
    loop {
        match frames.recv_timeout(beat(silence)) {
            Ok(frame) => encode(&frame, &mut octets)?,
            Err(RecvTimeoutError::Timeout) => encode(&Frame::Alive, &mut octets)?,
            Err(RecvTimeoutError::Disconnected) => {
                // The other end need not wait until it is silent.
                let _ = stream.shutdown(std::net::Shutdown::Both);
                return Ok(());
            }
        }
        while octets.len() < BATCH
            && let Ok(frame) = frames.try_recv()
        {
            encode(&frame, &mut octets)?;
        }
        let mut writer = stream;
        writer.write_all(&octets)?;
        octets.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    // Input:  a host with several addresses, of which the kernel would choose another one; a port on which nobody listens; no address of a host.
    // Output: the other end sees the given address; an error; a connection from any address.
    #[test]
    fn a_member_connects_from_its_own_address() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let own = IpAddr::from([127, 0, 0, 2]);
        let mut stream = connected_to(address, Some(own)).unwrap();
        let (mut other, from) = listener.accept().unwrap();
        assert_eq!(from.ip(), own);
        stream.write_all(b"octets").unwrap();
        let mut octets = [0; 6];
        other.read_exact(&mut octets).unwrap();
        assert_eq!(&octets, b"octets");
        let any = connected_to(address, Some(IpAddr::from([0, 0, 0, 0]))).unwrap();
        assert_eq!(any.peer_addr().unwrap(), address);
        drop(listener);
        assert!(connected_to(address, Some(own)).is_err());
    }
}

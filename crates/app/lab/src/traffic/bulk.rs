//! Bulk TCP transfers: a server in the data network, a client at the UE.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use causeway_types::Direction;
use rustix::net::sockopt::set_tcp_congestion;
use socket2::{Domain, Protocol, Socket, Type};

use crate::LabError;
use crate::netns::Namespace;
use crate::patience::{Patience, SLICE};

/// No octet for so long ends a transfer. It is counted in short waits, so that a pause of the machine ends none.
const STALL: Duration = Duration::from_secs(20);
/// How long the kernel tries to connect: five retransmissions of the SYN.
const CONNECT: Duration = Duration::from_secs(60);
/// The congestion control of both ends (RFC 5681), whatever the host prefers: it resends what is lost from three
/// duplicate acknowledgements on, and sends at the pace of the acknowledgements, without a timer of its own.
const CONGESTION_CONTROL: &str = "reno";
const CHUNK: usize = 64 * 1024;
/// Receive buffer of both ends, in octets: the most that is in flight. It fits the socket buffers of
/// everything in between even where the kernel grants no more than its default, so that nothing is lost there
/// and what the gNB and the UPF have counted can be compared.
const WINDOW: usize = 96 * 1024;
const UPLINK: u8 = b'U';
const DOWNLINK: u8 = b'D';

/// A server that takes or gives as many octets as the client asks for, until it is dropped.
pub struct Server {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Listens in the namespace on `at`.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when the port is in use.
    pub fn start(namespace: &Namespace, at: SocketAddrV4) -> Result<Self, LabError> {
        let listener = namespace.enter(|| listen(at).map_err(LabError::io(format!("listen on {at}"))))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                match listener.accept() {
                    Ok((stream, _)) => drop(thread::spawn(|| serve(stream))),
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            }
        });
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}

fn listen(at: SocketAddrV4) -> std::io::Result<TcpListener> {
    let socket = tcp_socket()?;
    socket.bind(&at.into())?;
    socket.listen(8)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

/// A socket with the congestion control and the window of a transfer, which accepted connections inherit.
fn tcp_socket() -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    socket.set_recv_buffer_size(WINDOW)?;
    // Every Linux kernel has it built in; a user namespace may be denied another one than the host's.
    let _ = set_tcp_congestion(&socket, CONGESTION_CONTROL);
    Ok(socket)
}

fn serve(stream: TcpStream) {
    // The client sees a broken transfer by its own count, and says so.
    let _ = serve_one(stream);
}

fn serve_one(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    set_timeouts(&stream)?;
    let mut request = [0; 9];
    read_all(&mut stream, &mut request)?;
    let [direction, limit @ ..] = request;
    if direction == UPLINK {
        let received = drain(&mut stream, &Limit::NONE)?;
        return write_all(&mut stream, &received.to_be_bytes());
    }
    pour(&mut stream, &Limit { octets: u64::from_be_bytes(limit), ..Limit::NONE }).map(drop)
}

/// A finished transfer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Transfer {
    /// Octets of payload that the receiving end counted.
    pub octets: u64,
    /// From the first octet to the receiver's last.
    pub elapsed: Duration,
}

impl Transfer {
    /// Payload rate in bit/s.
    pub fn bits_per_second(&self) -> f64 {
        self.octets as f64 * 8.0 / self.elapsed.as_secs_f64().max(1e-6)
    }
}

/// How much a client transfers: it ends at whichever comes first, the most octets or the time.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// The most octets of payload.
    pub octets: u64,
    /// Time, which is extended until [`Limit::at_least`].
    pub time: Duration,
    /// Octets of payload that are transferred in any case, on a busy machine too.
    pub at_least: u64,
}

impl Limit {
    /// What a server does: the client ends the transfer.
    const NONE: Self = Self { octets: u64::MAX, time: Duration::MAX, at_least: 0 };

    fn is_reached(&self, octets: u64, start: Instant) -> bool {
        octets >= self.octets || (start.elapsed() >= self.time && octets >= self.at_least)
    }
}

/// Transfers over the UE's device to or from a [`Server`].
///
/// # Errors
/// [`LabError::Io`] when there is no connection or it breaks; [`LabError::Peer`] when the two ends counted
/// differently.
pub fn transfer(
    namespace: &Namespace,
    device: &str,
    server: SocketAddrV4,
    direction: Direction,
    limit: Limit,
) -> Result<Transfer, LabError> {
    let stream = namespace.enter(|| {
        connect_over(device, server).map_err(LabError::io(format!("connect to {server} over {device}")))
    })?;
    match direction {
        Direction::Uplink => upload(stream, limit),
        Direction::Downlink => download(stream, limit).map_err(LabError::io("download")),
    }
}

fn connect_over(device: &str, server: SocketAddrV4) -> std::io::Result<TcpStream> {
    let socket = tcp_socket()?;
    socket.bind_device(Some(device.as_bytes()))?;
    socket.connect_timeout(&server.into(), CONNECT)?;
    let stream = TcpStream::from(socket);
    set_timeouts(&stream)?;
    Ok(stream)
}

fn upload(mut stream: TcpStream, limit: Limit) -> Result<Transfer, LabError> {
    let io = || LabError::io("upload");
    let start = Instant::now();
    request(&mut stream, UPLINK, limit).map_err(io())?;
    let sent = pour(&mut stream, &limit).map_err(io())?;
    stream.shutdown(Shutdown::Write).map_err(io())?;
    let mut answer = [0; 8];
    read_all(&mut stream, &mut answer).map_err(io())?;
    let octets = u64::from_be_bytes(answer);
    if octets != sent {
        return Err(LabError::Peer(format!("{sent} octets went up, but the server counted {octets}")));
    }
    Ok(Transfer { octets, elapsed: start.elapsed() })
}

fn download(mut stream: TcpStream, limit: Limit) -> std::io::Result<Transfer> {
    let start = Instant::now();
    request(&mut stream, DOWNLINK, limit)?;
    let octets = drain(&mut stream, &limit)?;
    Ok(Transfer { octets, elapsed: start.elapsed() })
}

fn request(stream: &mut TcpStream, direction: u8, limit: Limit) -> std::io::Result<()> {
    let mut request = vec![direction];
    request.extend(limit.octets.to_be_bytes());
    write_all(stream, &request)
}

/// Writes until the limit. Returns the octets.
fn pour(stream: &mut TcpStream, limit: &Limit) -> std::io::Result<u64> {
    let chunk = [b'.'; CHUNK];
    let start = Instant::now();
    let mut sent = 0;
    while !limit.is_reached(sent, start) {
        let left = usize::try_from(limit.octets - sent).unwrap_or(CHUNK).min(CHUNK);
        write_all(stream, chunk.get(..left).unwrap_or(&chunk))?;
        sent += left as u64;
    }
    Ok(sent)
}

/// Reads until the limit or the end. Returns the octets.
fn drain(stream: &mut TcpStream, limit: &Limit) -> std::io::Result<u64> {
    let mut chunk = vec![0; CHUNK];
    let start = Instant::now();
    let mut received = 0;
    while !limit.is_reached(received, start) {
        match patiently(|| stream.read(&mut chunk))? {
            0 => break,
            length => received += length as u64,
        }
    }
    Ok(received)
}

fn read_all(stream: &mut TcpStream, mut octets: &mut [u8]) -> std::io::Result<()> {
    while !octets.is_empty() {
        match patiently(|| stream.read(octets))? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            length => octets = octets.get_mut(length..).unwrap_or_default(),
        }
    }
    Ok(())
}

fn write_all(stream: &mut TcpStream, mut octets: &[u8]) -> std::io::Result<()> {
    while !octets.is_empty() {
        let length = patiently(|| stream.write(octets))?;
        octets = octets.get(length..).unwrap_or_default();
    }
    Ok(())
}

/// Repeats a call whose waits have the length of [`set_timeouts`], until it succeeds or has waited for [`STALL`].
fn patiently(mut call: impl FnMut() -> std::io::Result<usize>) -> std::io::Result<usize> {
    let mut patience = Patience::new(STALL);
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                if patience.next_wait().is_none() {
                    let message = format!("TCP moved no octet within {} s", STALL.as_secs());
                    return Err(std::io::Error::new(ErrorKind::TimedOut, message));
                }
            }
            result => return result,
        }
    }
}

fn set_timeouts(stream: &TcpStream) -> std::io::Result<()> {
    stream.set_read_timeout(Some(SLICE))?;
    stream.set_write_timeout(Some(SLICE))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A client and the server's side of one connection, on the loopback.
    fn pair() -> (TcpStream, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        (client, thread::spawn(|| serve(server)))
    }

    const LIMIT: Limit = Limit { octets: 300_001, time: Duration::from_secs(10), at_least: 0 };

    // Input:  a transfer of an odd number of octets in each direction.
    // Output: exactly so many are counted at the receiving end.
    #[test]
    fn each_direction_moves_what_was_asked_for() {
        let (client, server) = pair();
        assert_eq!(upload(client, LIMIT).unwrap().octets, LIMIT.octets);
        server.join().unwrap();
        let (client, server) = pair();
        assert_eq!(download(client, LIMIT).unwrap().octets, LIMIT.octets);
        server.join().unwrap();
    }

    // Input:  a download that would last for hours, with 50 ms of time.
    // Output: it ends after that time with what there was, one octet at least.
    #[test]
    fn time_ends_a_transfer() {
        let (client, server) = pair();
        let limit = Limit { octets: u64::MAX, time: Duration::from_millis(50), at_least: 1 };
        let done = download(client, limit).unwrap();
        assert!(done.octets > 0 && done.elapsed >= limit.time);
        assert!(done.bits_per_second() > 0.0);
        server.join().unwrap();
    }
}

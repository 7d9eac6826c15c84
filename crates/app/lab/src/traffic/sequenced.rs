//! UDP packets that carry numbers, of exactly known size.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{SocketAddrV4, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use causeway_ports::udp::overruns;
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;
use socket2::{Domain, Protocol, Socket, Type};

use crate::LabError;
use crate::netns::Namespace;
use crate::patience::wait_while_changing;

/// Octets of the IPv4 and UDP headers in front of the payload.
const HEADERS: u16 = 28;

/// The smallest IP packet that has room for a number, in octets.
pub const MIN_IP_LENGTH: u16 = HEADERS + 8;

/// Octets of the socket buffers: a thousand packets fit, with what the kernel adds to each.
const BUFFER: usize = 8 << 20;

/// How often a packet is tried for which the kernel has no room, and the wait after each try.
const TRIES: u32 = 1000;
const FULL: Duration = Duration::from_millis(2);

/// Sends packets numbered 0, 1, 2 and so on to one address.
pub struct Sender {
    socket: UdpSocket,
    next: u64,
}

impl Sender {
    /// Opens a socket in the namespace, towards `to`, over a certain device where the route alone does not say.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when there is no route.
    pub fn open(namespace: &Namespace, device: Option<&str>, to: SocketAddrV4) -> Result<Self, LabError> {
        let connect = || {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            socket.set_send_buffer_size(BUFFER)?;
            socket.bind_device(device.map(str::as_bytes))?;
            socket.connect(&to.into())?;
            Ok::<_, std::io::Error>(socket.into())
        };
        let socket = namespace.enter(|| connect().map_err(LabError::io(format!("route to {to}"))))?;
        Ok(Self { socket, next: 0 })
    }

    /// Sends `count` packets of `ip_length` octets each (IP header included, at least [`MIN_IP_LENGTH`]), one
    /// every `pace`. While the kernel has no room it waits, up to two seconds for each. Returns the number of the
    /// first and of the one after the last.
    ///
    /// # Errors
    /// [`LabError::Io`] when the kernel does not take one.
    pub fn send(&mut self, count: u64, ip_length: u16, pace: Duration) -> Result<(u64, u64), LabError> {
        let first = self.next;
        let mut payload = vec![0; usize::from(ip_length.max(MIN_IP_LENGTH) - HEADERS)];
        let start = Instant::now();
        for sent in 0..count {
            // Paced against the start, so that a late wake-up does not slow down the whole run.
            let due = pace.saturating_mul(u32::try_from(sent).unwrap_or(u32::MAX));
            thread::sleep(due.saturating_sub(start.elapsed()));
            if let Some(number) = payload.first_chunk_mut() {
                *number = self.next.to_be_bytes();
            }
            send_one(&self.socket, &payload).map_err(LabError::io("send a packet"))?;
            self.next += 1;
        }
        Ok((first, self.next))
    }

    /// How many were sent so far.
    pub fn sent(&self) -> u64 {
        self.next
    }
}

fn send_one(socket: &UdpSocket, payload: &[u8]) -> std::io::Result<()> {
    let mut tries = 0;
    loop {
        let Err(error) = socket.send(payload).map(drop) else { return Ok(()) };
        let no_room = error.kind() == ErrorKind::WouldBlock
            || error.raw_os_error() == Some(Errno::NOBUFS.raw_os_error());
        tries += 1;
        if error.kind() != ErrorKind::Interrupted && (!no_room || tries >= TRIES) {
            return Err(error);
        }
        thread::sleep(FULL);
    }
}

/// Receives numbered packets and remembers the numbers in order of arrival.
pub struct Sink {
    socket: Arc<UdpSocket>,
    seen: Arc<Mutex<Vec<u64>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Sink {
    /// Listens in the namespace on `at`.
    ///
    /// # Errors
    /// [`LabError::Io`], for example when the address is not there or in use.
    pub fn open(namespace: &Namespace, at: SocketAddrV4) -> Result<Self, LabError> {
        let socket = namespace.enter(|| listen(at).map_err(LabError::io(format!("listen on {at}"))))?;
        let socket = Arc::new(socket);
        let (seen, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (sink, done, receiver) = (seen.clone(), stop.clone(), socket.clone());
        let thread = thread::spawn(move || {
            let mut buffer = [0; 2048];
            while !done.load(Ordering::Relaxed) {
                let Ok(length) = receiver.recv(&mut buffer) else { continue };
                if let Some(number) = buffer.get(..length).and_then(<[u8]>::first_chunk) {
                    sink.lock().unwrap_or_else(PoisonError::into_inner).push(u64::from_be_bytes(*number));
                }
            }
        });
        Ok(Self { socket, seen, stop, thread: Some(thread) })
    }

    /// The numbers so far, in order of arrival.
    pub fn seen(&self) -> Vec<u64> {
        self.lock().clone()
    }

    /// Waits until `count` packets have arrived, or none has for `quiet`. Returns the numbers so far.
    pub fn wait_for(&self, count: u64, quiet: Duration) -> Vec<u64> {
        let arrived = || Ok::<_, Infallible>(self.lock().len() as u64);
        // It only waits: what has arrived is read below.
        let _ = wait_while_changing(quiet, arrived, |arrived| *arrived >= count);
        self.seen()
    }

    /// Packets that the kernel has dropped because the buffer of the socket was full.
    pub fn dropped(&self) -> u64 {
        // A kernel that cannot tell counts none.
        overruns(&*self.socket).unwrap_or(0).into()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<u64>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Sink {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It has nothing to return; a panic there has been printed.
            let _ = thread.join();
        }
    }
}

fn listen(at: SocketAddrV4) -> std::io::Result<UdpSocket> {
    let socket = UdpSocket::bind(at)?;
    if set_socket_recv_buffer_size_force(&socket, BUFFER).is_err() {
        // In a user namespace the limit of the system applies.
        Socket::from(socket.try_clone()?).set_recv_buffer_size(BUFFER)?;
    }
    socket.set_read_timeout(Some(Duration::from_millis(50)))?;
    Ok(socket)
}

//! A memory server on a UDP socket of the loopback interface, in a thread of its own.

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_memory::{
    Description, Incarnation, Region, Regions, Rights, Rkey, Server, ServerConfig, ServerCounters,
};
use causeway_types::Time;

/// The longest read.
const LONGEST: u32 = 4096;

/// The server.
pub(crate) struct Service {
    pub(crate) address: SocketAddr,
    is_stopped: Arc<AtomicBool>,
    swept: Arc<AtomicU64>,
    thread: JoinHandle<ServerCounters>,
}

impl Service {
    /// Another run of the server at the same address has another number, and an empty memory.
    pub(crate) fn start(address: SocketAddr, run: u64, rkey: Rkey, size: usize) -> Self {
        let socket = UdpSocket::bind(address).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(5))).unwrap();
        let address = socket.local_addr().unwrap();
        let rights = Rights::all();
        let mut regions = Regions::new();
        regions.insert(rkey, Region::new(0, size, rights).unwrap());
        let (incarnation, length) = (Incarnation(run), size as u64);
        let description = Description { incarnation, rkey, rights, base: 0, length, max_length: LONGEST };
        let mut server = Server::new(ServerConfig::new(address, description), regions);
        let is_stopped = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_stopped);
        let swept = Arc::new(AtomicU64::new(0));
        let sweeps = Arc::clone(&swept);
        let thread = std::thread::spawn(move || {
            let (begin, mut octets, mut out) = (Instant::now(), vec![0; 9000], Vec::new());
            while !stop.load(Ordering::Relaxed) {
                let received = socket.recv_from(&mut octets);
                let now = Time::from_nanos(begin.elapsed().as_nanos() as u64);
                server.sweep(now);
                sweeps.store(server.counters().swept, Ordering::Relaxed);
                let Ok((length, from)) = received else { continue };
                server.receive(now, from, &octets[..length]);
                while let Some(to) = server.poll_transmit(&mut out) {
                    socket.send_to(&out, to).unwrap();
                    out.clear();
                }
            }
            server.counters()
        });
        Self { address, is_stopped, swept, thread }
    }

    /// Rows of tables that it has swept.
    #[allow(dead_code, reason = "other programs that include this module do not look at it")]
    pub(crate) fn swept(&self) -> u64 {
        self.swept.load(Ordering::Relaxed)
    }

    /// Ends it; returns what it did.
    pub(crate) fn stop(self) -> ServerCounters {
        self.is_stopped.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

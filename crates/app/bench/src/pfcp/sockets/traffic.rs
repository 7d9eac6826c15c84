//! Packets of UEs while requests are measured: a gNB in a separate thread, which sends some each millisecond.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_types::{Qfi, Teid};

use super::super::requests::ue;
use crate::BenchError;
use crate::upf::{Field, GNB, SERVER, UPF_N3};

/// Sessions that have packets, at most.
pub(super) const SESSIONS: usize = 10_000;

/// Octets of the user's packets, and of their IPv4 and UDP headers.
const SIZE: usize = 128;
const HEADERS: usize = 28;

const GTPU_PORT: u16 = 2152;
const QFI: u8 = 9;

/// Between two bursts.
const PAUSE: Duration = Duration::from_millis(1);

/// Traffic that goes on. It ends when this is dropped.
pub(super) struct Traffic {
    is_over: Arc<AtomicBool>,
    sent: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

/// The gNB's socket. There is one for all spans: while another thread of this process starts a program, the system may hold an
/// address for a moment after its socket is closed.
pub(super) fn gnb(field: &Field) -> Result<UdpSocket, BenchError> {
    let open = || {
        let socket = UdpSocket::bind((GNB, GTPU_PORT))?;
        socket.connect((UPF_N3, GTPU_PORT))?;
        Ok(socket)
    };
    field.gnb.enter(|| Ok(open().map_err(BenchError::io("open the socket of the gNB"))))?
}

impl Traffic {
    /// Begins to send so many packets in a second by the tunnels of the first sessions, in turn.
    pub(super) fn begin(gnb: &UdpSocket, tunnels: &[Teid], rate: u64) -> Result<Self, BenchError> {
        let (is_over, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let packets = packets(tunnels)?;
        if rate == 0 || packets.is_empty() {
            return Ok(Self { is_over, sent, thread: None });
        }
        let socket = gnb.try_clone().map_err(BenchError::io("share the socket of the gNB"))?;
        let (over, counted) = (Arc::clone(&is_over), Arc::clone(&sent));
        let send = move || {
            let mut turn = packets.iter().cycle();
            let start = Instant::now();
            let mut due = 0;
            loop {
                let now = start.elapsed().as_micros() as u64 * rate / 1_000_000 + 1;
                for packet in turn.by_ref().take(now.saturating_sub(due) as usize) {
                    // What does not fit into the kernel's buffer is lost, as on a cable.
                    counted.fetch_add(u64::from(socket.send(packet).is_ok()), Ordering::Relaxed);
                }
                due = now;
                if over.load(Ordering::Relaxed) {
                    break;
                }
                std::thread::sleep(PAUSE);
            }
        };
        let thread = std::thread::Builder::new().name("gnb".to_owned()).spawn(send);
        Ok(Self { is_over, sent, thread: Some(thread.map_err(BenchError::io("start a thread"))?) })
    }

    /// Ends it; how many packets went in a second of this span.
    pub(super) fn end(mut self, span: Duration) -> u64 {
        self.stop();
        let sent = self.sent.load(Ordering::Relaxed);
        (sent as f64 / span.as_secs_f64()) as u64
    }

    fn stop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic there has been written to standard error already.
            let _ = thread.join();
        }
    }
}

impl Drop for Traffic {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A packet of each of these tunnels, which are those of the first sessions.
pub(super) fn packets(tunnels: &[Teid]) -> Result<Vec<Vec<u8>>, BenchError> {
    tunnels.iter().zip(0..).map(packet).collect()
}

/// A G-PDU with a packet of a session's UE to the server.
fn packet((teid, number): (&Teid, u32)) -> Result<Vec<u8>, BenchError> {
    let mut data = prefix::uplink(*teid, Qfi::from_low_bits(QFI), SIZE)?.to_vec();
    let ip = IpRepr::V4(Ipv4Repr::new(ue(number + 1), SERVER, IpProtocol::UDP));
    let ports = UdpRepr { src_port: 40_000, dst_port: 7000 };
    ip.write_udp(ports, true, &[&[0; SIZE - HEADERS]], &mut data)?;
    Ok(data)
}

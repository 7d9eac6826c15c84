//! The packets of both UEs, from one thread that neither waits for them nor sleeps.

use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_lab::smf::Session;
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, Ipv4Repr, UdpRepr};
use causeway_types::{Qfi, Teid};

use crate::BenchError;
use crate::kit::{Samples, receive, send};
use crate::upf::{Field, GNB, SERVER, UPF_N3, ue};

/// The ports of the server: for the flood, and for the UE beside.
const FLOOD_PORT: u16 = 7000;
const BESIDE_PORT: u16 = 7001;

/// Octets of the IPv4 and UDP headers of the user.
const USER: usize = 28;

/// Packets of the flood that are sent before the thread looks at anything else.
const BURST: u64 = 8;

/// How long packets may take at the end.
const PATIENCE: Duration = Duration::from_millis(200);

/// Packets a second.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Of the UE that is observed.
    pub(super) flood: f64,
    /// Of the one beside.
    pub(super) beside: f64,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    /// Packets of the UE beside that were sent.
    pub(super) sent: u64,
    /// Microseconds of each that arrived.
    pub(super) times: Samples,
    /// Packets of the flood.
    pub(super) flood_sent: u64,
    /// Those that arrived.
    pub(super) flood_arrived: u64,
}

impl Outcome {
    /// Adds another round.
    pub(super) fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.times.append(other.times);
        self.flood_sent += other.flood_sent;
        self.flood_arrived += other.flood_arrived;
    }
}

/// A gNB and a server.
pub(super) struct Packets {
    gnb: UdpSocket,
    flooded: UdpSocket,
    server: UdpSocket,
    flood: Vec<u8>,
    beside: Teid,
    number: u64,
}

impl Packets {
    /// Opens the sockets; the first session floods, the second one is beside.
    pub(super) fn open(field: &Field, sessions: &[Session]) -> Result<Self, BenchError> {
        let bind = |address: SocketAddr| -> Result<UdpSocket, LabError> {
            let open = || -> std::io::Result<UdpSocket> {
                let socket = UdpSocket::bind(address)?;
                socket.set_nonblocking(true)?;
                rustix::net::sockopt::set_socket_recv_buffer_size(&socket, 8 << 20)?;
                Ok(socket)
            };
            open().map_err(LabError::io("open a socket"))
        };
        let gnb = field.gnb.enter(|| {
            let socket = bind((GNB, 2152).into())?;
            socket.connect((UPF_N3, 2152)).map_err(LabError::io("open a socket"))?;
            Ok(socket)
        })?;
        let flooded = field.dn.enter(|| bind((SERVER, FLOOD_PORT).into()))?;
        let server = field.dn.enter(|| bind((SERVER, BESIDE_PORT).into()))?;
        let [flood, beside] = [0, 1].map(|at| sessions.get(at).map(|session| session.uplink.teid));
        let (Some(flood), Some(beside)) = (flood, beside) else {
            return Err(BenchError::NotAccepted { what: "establish sessions".into(), accepted: 0, of: 2 });
        };
        let flood = message(flood, 0, FLOOD_PORT, &[0; 64])?;
        Ok(Self { gnb, flooded, server, flood, beside, number: 0 })
    }

    /// Sends for this time, and waits for what is under way.
    pub(super) fn run(&mut self, load: Load, span: Duration) -> Result<Outcome, BenchError> {
        let owed = |rate: f64, elapsed: Duration| (rate * elapsed.as_secs_f64()) as u64;
        let (mut outcome, mut under_way) = (Outcome::default(), VecDeque::new());
        let (start, mut due) = (Instant::now(), 0);
        loop {
            let elapsed = start.elapsed();
            if elapsed >= span + PATIENCE || (elapsed >= span && under_way.is_empty()) {
                break;
            }
            if elapsed < span {
                if owed(load.beside, elapsed) > due {
                    // What was missed is not made up for in one burst.
                    due = owed(load.beside, elapsed);
                    self.number += 1;
                    let packet = message(self.beside, 1, BESIDE_PORT, &self.number.to_be_bytes())?;
                    under_way.push_back((self.number, Instant::now()));
                    send(&self.gnb, &packet)?;
                    outcome.sent += 1;
                }
                let missing = owed(load.flood, elapsed).saturating_sub(outcome.flood_sent).min(BURST);
                for _ in 0..missing {
                    send(&self.gnb, &self.flood)?;
                }
                outcome.flood_sent += missing;
            }
            self.receive(&mut under_way, &mut outcome)?;
            // The kernel and the other threads of this core have it until something is due.
            std::thread::yield_now();
        }
        Ok(outcome)
    }

    fn receive(
        &self,
        under_way: &mut VecDeque<(u64, Instant)>,
        outcome: &mut Outcome,
    ) -> Result<(), BenchError> {
        let mut buffer = [0; 256];
        while let Some(len) = receive(&self.server, &mut buffer)? {
            let number = buffer.get(..len).and_then(|packet| packet.first_chunk()).copied();
            let number = number.map_or(0, u64::from_be_bytes);
            if let Some(at) = under_way.iter().position(|(known, _)| *known == number)
                && let Some((_, when)) = under_way.remove(at)
            {
                outcome.times.add(when.elapsed().as_secs_f64() * 1e6);
            }
        }
        for _ in 0..4 * BURST {
            if receive(&self.flooded, &mut buffer)?.is_none() {
                break;
            }
            outcome.flood_arrived += 1;
        }
        Ok(())
    }
}

/// A G-PDU with a packet of a UE to the server.
fn message(teid: Teid, number: u32, port: u16, payload: &[u8]) -> Result<Vec<u8>, BenchError> {
    let mut data = prefix::uplink(teid, Qfi::from_low_bits(9), payload.len() + USER)?.to_vec();
    let (src, dst) = (ue(number), SERVER);
    let mut udp = Vec::new();
    UdpRepr { src_port: 40_000, dst_port: port }.write(src.into(), dst.into(), payload, &mut udp)?;
    Ipv4Repr::new(src, dst, IpProtocol::UDP).write(&[], &udp, &mut data)?;
    Ok(data)
}

//! The ends of N3 and N6 that are not the UPF: a gNB and a server, as sockets of their namespaces.

use std::net::SocketAddr;

use causeway_lab::LabError;
use causeway_packet::gtpu::prefix;
use causeway_packet::{Batch, Frame, IpProtocol, Ipv4Repr, Meta, UdpRepr};
use causeway_ports::Port;
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_types::{Qfi, Teid};

use super::field::{Field, GNB, SERVER, UPF_N3, ue};
use super::options::Direction;
use crate::BenchError;

/// The port of the server.
const SERVER_PORT: u16 = 7000;
/// The port of a UE.
const UE_PORT: u16 = 40_000;
const GTPU_PORT: u16 = 2152;
/// Octets of the IPv4 and UDP headers of the user.
const USER: usize = 28;
/// Frames that are given to a socket at once.
const MOST_FRAMES: usize = 64;

/// A gNB and a server.
pub struct Ends {
    gnb: UdpPort,
    server: UdpPort,
    batch: Batch,
}

/// The packets of one direction and size: for each session some in a row, as a sender that gives the kernel many at once has them:
/// with checksums, and with Identifications that count on.
pub struct Stream {
    direction: Direction,
    size: usize,
    tunnels: Vec<Teid>,
    frames: Vec<(Meta, Vec<u8>)>,
    /// Packets of one session in a row.
    run: usize,
    next: usize,
}

impl Ends {
    /// Opens the sockets.
    ///
    /// # Errors
    /// [`BenchError::Lab`] with what cannot be opened.
    pub fn open(field: &Field) -> Result<Self, BenchError> {
        let bind = |address: SocketAddr| -> Result<UdpPort, LabError> {
            Ok(UdpPort::bind("bench", address, &UdpOptions::default())?)
        };
        let gnb = field.gnb.enter(|| bind((GNB, GTPU_PORT).into()))?;
        let server = field.dn.enter(|| bind((SERVER, SERVER_PORT).into()))?;
        Ok(Self { gnb, server, batch: Batch::new() })
    }

    /// Sends so many of the stream's packets. Returns how many the kernel took.
    ///
    /// # Errors
    /// [`BenchError::Port`] when a socket is of no use any more.
    pub fn send(&mut self, stream: &mut Stream, count: usize) -> Result<usize, BenchError> {
        let mut sent = 0;
        let mut left = count;
        while left > 0 {
            let now = left.min(MOST_FRAMES);
            let frames: Vec<_> = (0..now).filter_map(|index| stream.frame(index)).collect();
            sent += self.from(stream.direction).send(&frames)?;
            stream.advance(now);
            left -= now;
        }
        Ok(sent)
    }

    /// Sends the stream's next packet with a mark in it.
    ///
    /// # Errors
    /// As [`Ends::send`].
    pub fn send_marked(&mut self, stream: &mut Stream, mark: u64) -> Result<usize, BenchError> {
        stream.mark(mark)?;
        let frames: Vec<_> = stream.frame(0).into_iter().collect();
        let sent = self.from(stream.direction).send(&frames)?;
        stream.advance(1);
        Ok(sent)
    }

    /// Takes what has arrived at the far end, and tells the mark of each packet.
    ///
    /// # Errors
    /// As [`Ends::send`].
    pub fn receive(&mut self, stream: &Stream, mut arrived: impl FnMut(u64)) -> Result<usize, BenchError> {
        let port = match stream.direction {
            Direction::Uplink => &mut self.server,
            Direction::Downlink => &mut self.gnb,
        };
        port.receive(&mut self.batch)?;
        for frame in self.batch.frames() {
            // The outer headers differ in length, what the user sends does not.
            let payload = frame.data.len().checked_sub(stream.size - USER);
            let mark = payload.and_then(|at| frame.data.get(at..)?.first_chunk());
            arrived(mark.map_or(0, |mark| u64::from_be_bytes(*mark)));
        }
        Ok(self.batch.len())
    }

    fn from(&mut self, direction: Direction) -> &mut UdpPort {
        match direction {
            Direction::Uplink => &mut self.gnb,
            Direction::Downlink => &mut self.server,
        }
    }
}

impl Stream {
    /// Packets of `size` octets for each of these tunnels of the UPF, or the UEs behind them.
    ///
    /// # Errors
    /// [`BenchError::Packet`] when one cannot be built.
    pub fn new(direction: Direction, size: usize, tunnels: &[Teid], run: usize) -> Result<Self, BenchError> {
        let (tunnels, count) = (tunnels.to_vec(), tunnels.len() * run);
        let mut stream = Self { direction, size, tunnels, frames: Vec::with_capacity(count), run, next: 0 };
        for index in 0..count {
            let frame = stream.packet(index, 0)?;
            stream.frames.push(frame);
        }
        Ok(stream)
    }

    /// Packets of one session only.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn of_one(
        direction: Direction,
        size: usize,
        tunnels: &[Teid],
        session: usize,
    ) -> Result<Self, BenchError> {
        let tunnels = tunnels.to_vec();
        let mut stream = Self { direction, size, tunnels, frames: Vec::new(), run: 1, next: 0 };
        let frame = stream.packet(session, 0)?;
        stream.frames.push(frame);
        Ok(stream)
    }

    /// One of the packets, with a mark in its payload.
    fn packet(&self, index: usize, mark: u64) -> Result<(Meta, Vec<u8>), BenchError> {
        let (session, place) = (index / self.run, index % self.run);
        let mut payload = vec![0; self.size - USER];
        if let Some(first) = payload.first_chunk_mut() {
            *first = mark.to_be_bytes();
        }
        match (self.direction, self.tunnels.get(session)) {
            (Direction::Uplink, Some(teid)) => uplink(*teid, session as u32, place as u16 + 1, &payload),
            _ => Ok(downlink(session as u32, payload)),
        }
    }

    /// The packet that is so many after the next one.
    pub(crate) fn frame(&self, index: usize) -> Option<Frame<'_>> {
        let frame = self.frames.get((self.next + index) % self.frames.len());
        frame.map(|(meta, data)| Frame { meta: *meta, data })
    }

    /// The next packets are behind us.
    pub(crate) fn advance(&mut self, count: usize) {
        self.next = (self.next + count) % self.frames.len();
    }

    /// Writes into the payload of the next packet.
    fn mark(&mut self, mark: u64) -> Result<(), BenchError> {
        let marked = self.packet(self.next, mark)?;
        if let Some(frame) = self.frames.get_mut(self.next) {
            *frame = marked;
        }
        Ok(())
    }
}

/// A G-PDU with a packet from the UE to the server.
fn uplink(teid: Teid, number: u32, id: u16, payload: &[u8]) -> Result<(Meta, Vec<u8>), BenchError> {
    let qfi = Qfi::from_low_bits(super::field::QFI);
    let mut data = prefix::uplink(teid, qfi, payload.len() + USER)?.to_vec();
    let (src, dst) = (ue(number), SERVER);
    let mut udp = Vec::new();
    let ports = UdpRepr { src_port: UE_PORT, dst_port: SERVER_PORT };
    ports.write(src.into(), dst.into(), payload, &mut udp)?;
    let header = Ipv4Repr { identification: id, ..Ipv4Repr::new(src, dst, IpProtocol::UDP) };
    header.write(&[], &udp, &mut data)?;
    let meta = Meta::Gtpu { local: GNB.into(), peer: (UPF_N3, GTPU_PORT).into(), tos: 0, hops: None };
    Ok((meta, data))
}

/// What the server gives its socket for the UE.
fn downlink(number: u32, payload: Vec<u8>) -> (Meta, Vec<u8>) {
    let meta = Meta::Gtpu { local: SERVER.into(), peer: (ue(number), UE_PORT).into(), tos: 0, hops: None };
    (meta, payload)
}

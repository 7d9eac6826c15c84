//! Packets of random sessions, created while the clock is stopped.

use std::net::IpAddr;

use causeway_packet::gtpu::prefix;
use causeway_packet::{BATCH, Batch, Frame, IpProtocol, Ipv4Repr, Meta, UdpRepr};
use causeway_types::{Qfi, Teid};

use super::options::{Direction, Size};
use crate::BenchError;
use crate::world::shape;

/// Packets that are measured at once.
pub(super) const CHUNK: usize = 1024;

/// The UE's port.
const UE_PORT: u16 = 40_000;
/// The longest packet with its GTP-U header.
const LONGEST: usize = 1500;

/// A chunk of packets, in batches of one direction each.
pub(super) struct Chunk {
    batches: Vec<Batch>,
    room: [u8; LONGEST],
    /// A packet that may be changed.
    frame: Vec<u8>,
}

/// What packets are made for.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    pub(crate) way: Direction,
    pub(crate) size: Size,
    /// PDRs of each direction.
    pub(crate) pdrs: u16,
}

impl Chunk {
    pub(super) fn new() -> Self {
        Self {
            batches: (0..CHUNK / BATCH).map(|_| Batch::new()).collect(),
            room: [0; LONGEST],
            frame: Vec::new(),
        }
    }

    /// Makes new packets.
    pub(super) fn fill(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        random: &mut fastrand::Rng,
    ) -> Result<(), BenchError> {
        let last = teids.len();
        self.fill_for(mix, teids, random, |random| random.usize(..last), |_, _| {})
    }

    /// Makes one packet for each of the sessions from `first` on.
    pub(super) fn fill_in_turn(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        first: usize,
        random: &mut fastrand::Rng,
    ) -> Result<(), BenchError> {
        let mut next = first..;
        self.fill_for(mix, teids, random, |_| next.next().unwrap_or(0) % teids.len(), |_, _| {})
    }

    /// Makes new packets, of which each is changed before it is taken in.
    pub(super) fn fill_with(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        random: &mut fastrand::Rng,
        mut change: impl FnMut((&mut Meta, &mut Vec<u8>), &mut fastrand::Rng),
    ) -> Result<(), BenchError> {
        let last = teids.len();
        self.fill_for(
            mix,
            teids,
            random,
            |random| random.usize(..last),
            |frame, random| change(frame, random),
        )
    }

    fn fill_for(
        &mut self,
        mix: Mix,
        teids: &[Teid],
        random: &mut fastrand::Rng,
        mut choose: impl FnMut(&mut fastrand::Rng) -> usize,
        mut change: impl FnMut((&mut Meta, &mut Vec<u8>), &mut fastrand::Rng),
    ) -> Result<(), BenchError> {
        let mut sizes = mix.size.octets().iter().cycle();
        for (number, batch) in self.batches.iter_mut().enumerate() {
            batch.clear();
            let uplink = mix.way == Direction::Uplink || (mix.way == Direction::Both && number % 2 == 0);
            for size in sizes.by_ref().take(BATCH) {
                let session = choose(random);
                let port = shape::FIRST_PORT + random.u16(..mix.pdrs);
                let (mut meta, length) = if uplink {
                    uplink_packet(&mut self.room, session as u32, teids[session], port, *size)?
                } else {
                    downlink_packet(&mut self.room, session as u32, port, *size)?
                };
                self.frame.clear();
                self.frame.extend_from_slice(&self.room[..length]);
                change((&mut meta, &mut self.frame), random);
                let fits = batch.push(Frame { meta, data: &self.frame });
                debug_assert!(fits, "a batch holds {BATCH} packets of {LONGEST} octets");
            }
        }
        Ok(())
    }

    pub(super) fn batches(&mut self) -> &mut [Batch] {
        &mut self.batches
    }
}

fn uplink_packet(
    room: &mut [u8],
    session: u32,
    teid: Teid,
    port: u16,
    size: usize,
) -> Result<(Meta, usize), BenchError> {
    let qfi = Qfi::new(shape::QFI).unwrap_or_else(|| unreachable!("a constant below 64"));
    let header = prefix::uplink(teid, qfi, size)?;
    let (front, user) = room.split_at_mut(header.len());
    front.copy_from_slice(&header);
    let ip = Ipv4Repr::new(shape::ue(session), shape::SERVER, IpProtocol::UDP);
    user_packet(user, ip, UdpRepr { src_port: UE_PORT, dst_port: port }, size)?;
    let peer = (shape::gnb(session), 2152).into();
    Ok((Meta::Gtpu { local: IpAddr::V4(shape::UPF), peer, tos: 0, hops: None }, header.len() + size))
}

fn downlink_packet(
    room: &mut [u8],
    session: u32,
    port: u16,
    size: usize,
) -> Result<(Meta, usize), BenchError> {
    let ip = Ipv4Repr::new(shape::SERVER, shape::ue(session), IpProtocol::UDP);
    user_packet(room, ip, UdpRepr { src_port: port, dst_port: UE_PORT }, size)?;
    Ok((Meta::Ip, size))
}

/// Headers in front of whatever is there; UDP over IPv4 needs no checksum.
fn user_packet(room: &mut [u8], ip: Ipv4Repr, udp: UdpRepr, size: usize) -> Result<(), BenchError> {
    let ip = ip.header(size - 20)?;
    let udp = udp.header_without_checksum(size - 28)?;
    room[..20].copy_from_slice(&ip);
    room[20..28].copy_from_slice(&udp);
    Ok(())
}

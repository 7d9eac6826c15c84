//! The packets of idle UEs, in paging rings in external memory.
//!
//! What the slow path buffers enters the ring of its session. A release makes all packets of a ring leave, in order, with several reads in
//! flight: the response to a read makes the next read, and no packet from outside is needed. A hold ends it, at any time; what has not
//! left by then stays.
//!
//! A packet is kept here, too, until its write is acknowledged: a memory that fails takes only packets that it had.

use std::collections::VecDeque;

use causeway_memory::{ExternalMemory, Operation};
use causeway_types::Time;

use crate::layout::{Layout, MAX_PACKET, TAG};
use crate::paging::{Full, Left, Position, Ring, RingConfig, RingRead};
use crate::pipeline::{Pipeline, Purpose};

/// A packet that has left a paging ring.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Paged {
    /// The ring.
    pub ring: usize,
    /// The number with which it entered.
    pub number: u64,
    /// Its octets. `None`: the memory lost it.
    pub packet: Option<Vec<u8>>,
}

/// A packet in a ring.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Waiting {
    number: u64,
    length: usize,
    /// Its octets, until the memory has them.
    copy: Option<Vec<u8>>,
}

/// A ring with what is known here of its packets.
#[derive(Clone, PartialEq, Eq, Debug)]
struct IdleRing {
    ring: Ring<(Position, Vec<u8>)>,
    /// The position of the first of `packets`; no packet before it is in the ring.
    first: Position,
    /// `None`: it has left or was removed.
    packets: VecDeque<Option<Waiting>>,
}

impl IdleRing {
    fn waiting(&mut self, position: Position) -> Option<&mut Option<Waiting>> {
        self.packets.get_mut(usize::try_from(position.checked_sub(self.first)?).ok()?)
    }

    fn take(&mut self, position: Position) -> Option<Waiting> {
        let waiting = self.waiting(position)?.take();
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
        waiting
    }

    fn position_of(&self, number: u64) -> Option<Position> {
        let is = |it: &Option<Waiting>| it.as_ref().is_some_and(|it| it.number == number);
        self.packets.iter().position(is).map(|place| self.first + place as u64)
    }

    /// The packets that leave.
    fn paged(&mut self, number: usize, left: Vec<Left<(Position, Vec<u8>)>>) -> Vec<Paged> {
        let mut paged = Vec::new();
        for left in left {
            let (position, packet) = match left {
                Left::Packet((position, packet)) => (position, Some(packet)),
                Left::Lost(position) => (position, None),
            };
            if let Some(waiting) = self.take(position) {
                let packet = packet.or(waiting.copy);
                paged.push(Paged { ring: number, number: waiting.number, packet });
            }
        }
        paged
    }
}

/// All paging rings.
#[derive(Clone, Debug)]
pub(crate) struct IdleRings {
    rings: Vec<IdleRing>,
    left: VecDeque<Paged>,
}

impl IdleRings {
    pub(crate) fn new(rings: u32, capacity: u32) -> Self {
        let ring = || Ring::new(RingConfig { capacity: capacity.max(1), ..RingConfig::DEFAULT });
        let idle = || IdleRing { ring: ring(), first: 0, packets: VecDeque::new() };
        Self { rings: std::iter::repeat_with(idle).take(rings as usize).collect(), left: VecDeque::new() }
    }

    pub(crate) fn next_left(&mut self) -> Option<Paged> {
        self.left.pop_front()
    }

    /// A packet was written.
    pub(crate) fn written(&mut self, ring: usize, position: Position) {
        let ring = self.rings.get_mut(ring);
        if let Some(Some(waiting)) = ring.and_then(|ring| ring.waiting(position)) {
            waiting.copy = None;
        }
    }

    /// A read has ended, with the octets at the place.
    pub(crate) fn read(&mut self, number: usize, read: RingRead, octets: &[u8]) {
        let Some(ring) = self.rings.get_mut(number) else { return };
        let tag = ring.waiting(read.position).and_then(|it| it.as_ref()).map(|it| it.number.to_be_bytes());
        let packet = octets.split_at_checked(TAG).filter(|(it, _)| tag.is_some_and(|tag| **it == tag));
        let packet = packet.map(|(_, packet)| (read.position, packet.to_vec()));
        let left = ring.ring.read(read, packet);
        self.left.extend(ring.paged(number, left));
    }

    fn next_read(&mut self, layout: &Layout, number: usize) -> Option<(RingRead, Operation)> {
        let ring = self.rings.get_mut(number)?;
        let read = ring.ring.next_read()?;
        let length = ring.waiting(read.position)?.as_ref()?.length;
        let place = layout.paging_packet(number, read.position);
        Some((read, Operation::read(place, (TAG + length) as u32)))
    }
}

/// The rings of idle UEs. Each has a number below [`Sizes::paging_rings`](crate::Sizes::paging_rings); its owner is known to the caller.
impl<M: ExternalMemory> Pipeline<M> {
    /// A packet of at most 2,048 octets enters a ring. `number` comes back with it; no other packet has it.
    ///
    /// # Errors
    /// [`Full`]: the ring is full, or there is no such ring, or the packet is too long. It is not counted.
    pub fn page(&mut self, now: Time, ring: usize, number: u64, packet: Vec<u8>) -> Result<(), Full> {
        let idle = self.idle.rings.get_mut(ring).filter(|_| packet.len() <= MAX_PACKET).ok_or(Full)?;
        let position = idle.ring.enter()?;
        if idle.packets.is_empty() {
            idle.first = position;
        }
        let octets = [&number.to_be_bytes()[..], &packet].concat();
        idle.packets.push_back(Some(Waiting { number, length: packet.len(), copy: Some(packet) }));
        let write = Operation::write(self.layout.paging_packet(ring, position), octets);
        self.submit_idle(now, ring, write, Purpose::Page { ring, position });
        self.read_idle(now, ring);
        Ok(())
    }

    /// Packets that the ring still takes.
    pub fn free_paging_places(&self, ring: usize) -> usize {
        let free =
            |idle: &IdleRing| (self.layout.sizes().paging_ring as usize).saturating_sub(idle.ring.len());
        self.idle.rings.get(ring).map_or(0, free)
    }

    /// Packets in a ring.
    pub fn paged_packets(&self, ring: usize) -> usize {
        self.idle.rings.get(ring).map_or(0, |idle| idle.packets.iter().flatten().count())
    }

    /// The packets of a ring leave from now on, and those that enter it behind them: see [`Self::poll_paged`].
    pub fn release_paged(&mut self, now: Time, ring: usize) {
        self.notify_idle(ring, true);
        self.read_idle(now, ring);
    }

    /// The packets of a ring wait from now on.
    pub fn hold_paged(&mut self, ring: usize) {
        self.notify_idle(ring, false);
    }

    /// A packet is no longer of use: it leaves the ring without a word. No effect if it is not there.
    pub fn forget_paged(&mut self, now: Time, ring: usize, number: u64) {
        let Some(idle) = self.idle.rings.get_mut(ring) else { return };
        let Some(position) = idle.position_of(number) else { return };
        idle.take(position);
        let left = idle.ring.remove(position);
        self.idle.left.extend(idle.paged(ring, left));
        self.read_idle(now, ring);
    }

    /// The owner of a ring is deleted: its packets are forgotten, and the ring is as at first. Returns how many there were.
    pub fn clear_paged(&mut self, ring: usize) -> usize {
        let count = self.paged_packets(ring);
        if let Some(idle) = self.idle.rings.get_mut(ring) {
            idle.ring.clear();
            idle.packets.clear();
        }
        self.hold_paged(ring);
        count
    }

    /// The next packet that has left a ring, those of a ring in order.
    pub fn poll_paged(&mut self) -> Option<Paged> {
        self.idle.next_left()
    }

    /// After a failure, when nothing is under way: packets leave whose write was not acknowledged, and, unless the memory `has_rest`, all
    /// others as lost. All rings hold.
    pub fn recover_paged(&mut self, now: Time, has_rest: bool) {
        for ring in 0..self.idle.rings.len() {
            self.hold_paged(ring);
            let Some(idle) = self.idle.rings.get_mut(ring) else { continue };
            let leaves = |it: &&Waiting| it.copy.is_some() || !has_rest;
            let leaving: Vec<Waiting> = idle.packets.iter().flatten().filter(leaves).cloned().collect();
            for Waiting { number, copy, .. } in leaving {
                self.forget_paged(now, ring, number);
                self.idle.left.push_back(Paged { ring, number, packet: copy });
            }
        }
    }

    fn notify_idle(&mut self, ring: usize, is_released: bool) {
        if let Some(IdleRing { ring, .. }) = self.idle.rings.get_mut(ring) {
            ring.notify(ring.acknowledged() + 1, is_released);
        }
    }

    fn read_idle(&mut self, now: Time, ring: usize) {
        while let Some((read, operation)) = self.idle.next_read(&self.layout, ring) {
            self.submit_idle(now, ring, operation, Purpose::PageRead { ring, read });
        }
    }

    /// A paging read has ended.
    pub(crate) fn idle_read(&mut self, now: Time, ring: usize, read: RingRead, octets: &[u8]) {
        self.idle.read(ring, read, octets);
        self.read_idle(now, ring);
    }

    /// All operations of a ring go over one queue pair.
    fn submit_idle(&mut self, now: Time, ring: usize, operation: Operation, purpose: Purpose) {
        self.submit_to(now, ring % self.pairs(), operation, purpose);
    }
}

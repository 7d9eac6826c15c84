//! Rings of packets in external memory (X-PLANE section 5.3): packets of an idle UE, and of a flow whose rule is being looked up, wait
//! here in order, and leave in order.
//!
//! A ring holds positions; the packets are in memory. While it is not empty, new packets enter it, whatever the state of the UE, so
//! that none passes another. The response to a read makes the next read: no packet from outside is needed. The paper reads one packet
//! at a time, 4 to 5 us each; here up to [`RingConfig::reads`] are in flight, and a packet that was read leaves when all before it have
//! left.
//!
//! # Invariants
//!
//! - Packets leave in the order in which they entered, across any number of idle and connected periods.
//! - Each packet that entered leaves, or is counted as dropped, once.
//! - A change of state has a number, and takes effect once: a notification that comes twice, or late, changes nothing. One that is lost
//!   is sent again until [`Ring::acknowledged`] has its number.
//! - When the UE becomes idle while packets leave, what was read but has not left stays in the ring, and is read again.
//! - Reads belong to a life of the ring: after [`Ring::clear`] the responses to earlier reads are of no effect. That to the read of a packet
//!   that was removed ([`Ring::remove`]) is of none either.
//!
//! Writes and reads of a ring go over one queue pair, which executes them in order.

use std::collections::VecDeque;

/// The attributes of a ring.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RingConfig {
    /// Packets that the ring holds; at least one.
    pub capacity: u32,
    /// Reads in flight; at least one.
    pub reads: u32,
}

impl RingConfig {
    /// 128 packets (X-PLANE section 7.7), 8 reads in flight.
    pub const DEFAULT: Self = Self { capacity: 128, reads: 8 };
}

/// The position of a packet: it is in the place of this number modulo the capacity.
pub type Position = u64;

/// A read of the ring.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RingRead {
    /// The packet.
    pub position: Position,
    life: u64,
}

/// The ring is full, or holds as many packets as the limit allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Full;

/// What became of packets that were read, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Left<P> {
    /// It leaves.
    Packet(P),
    /// Its read failed: it is lost.
    Lost(Position),
}

/// A packet between the read and its turn.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Place<P> {
    /// In memory.
    There,
    /// Being read.
    Reading,
    /// Read.
    Here(P),
    /// Its read failed.
    Lost,
    /// It was removed.
    Removed,
}

/// A ring. `P` is a packet that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ring<P> {
    config: RingConfig,
    /// At most so many packets wait while the UE is idle: the capacity, or that of a BAR if it is less.
    limit: u32,
    /// The first packet that has not left; the places of it and of those behind it.
    head: Position,
    places: VecDeque<Place<P>>,
    /// Reads in flight.
    reading: u32,
    is_released: bool,
    change: u64,
    life: u64,
    dropped: u64,
}

impl<P> Ring<P> {
    /// An empty ring whose packets wait.
    pub const fn new(config: RingConfig) -> Self {
        Self {
            limit: config.capacity,
            config,
            head: 0,
            places: VecDeque::new(),
            reading: 0,
            is_released: false,
            change: 0,
            life: 0,
            dropped: 0,
        }
    }

    /// Places that are taken: from the first packet that has not left to the last.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// New packets need not enter it.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Packets leave it.
    pub const fn is_released(&self) -> bool {
        self.is_released
    }

    /// The number of the last change of state that took effect.
    pub const fn acknowledged(&self) -> u64 {
        self.change
    }

    /// Packets that were dropped: the ring was full or cleared, or they were removed or lost.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Sets how many packets may wait, at least one. Packets that are there stay.
    pub fn set_limit(&mut self, packets: u32) {
        self.limit = packets.clamp(1, self.config.capacity);
    }

    /// A packet enters. The owner writes it to the place of the position.
    ///
    /// # Errors
    /// [`Full`]: it is dropped, and counted.
    pub fn enter(&mut self) -> Result<Position, Full> {
        // Those behind a release are not buffered for the UE: the memory alone limits them.
        let limit = if self.is_released { self.config.capacity } else { self.limit };
        if self.places.len() >= limit as usize {
            self.dropped += 1;
            return Err(Full);
        }
        let position = self.head + self.places.len() as u64;
        self.places.push_back(Place::There);
        Ok(position)
    }

    /// A notification: packets leave from now on (`true`), or wait. A number that is not above the last one changes nothing.
    pub fn notify(&mut self, change: u64, is_released: bool) {
        if change <= self.change {
            return;
        }
        (self.change, self.is_released) = (change, is_released);
        if !is_released {
            // What was read is still in memory, at its place.
            self.life += 1;
            self.reading = 0;
            let here = self.places.iter_mut().filter(|place| !matches!(place, Place::Removed));
            here.for_each(|place| *place = Place::There);
        }
    }

    /// The next read that is to be done now, until `None`.
    pub fn next_read(&mut self) -> Option<RingRead> {
        // What was read counts as well: nothing is read far ahead of a packet that is late.
        let ahead = self.config.reads.max(1) as usize;
        if !self.is_released || self.reading as usize >= ahead {
            return None;
        }
        let next = self.places.iter().take(ahead).position(|place| matches!(place, Place::There))?;
        *self.places.get_mut(next)? = Place::Reading;
        self.reading += 1;
        Some(RingRead { position: self.head + next as u64, life: self.life })
    }

    /// A read has ended, with the packet or without. Returns the packets that leave now, in order; then [`Self::next_read`] has more.
    pub fn read(&mut self, read: RingRead, packet: Option<P>) -> Vec<Left<P>> {
        let mut left = Vec::new();
        if read.life != self.life {
            return left;
        }
        // Also that of a packet that was removed meanwhile.
        self.reading = self.reading.saturating_sub(1);
        let place = read.position.checked_sub(self.head);
        let Some(place) = place.and_then(|place| self.places.get_mut(place as usize)) else { return left };
        if !matches!(place, Place::Reading) {
            return left;
        }
        *place = packet.map_or(Place::Lost, Place::Here);
        self.leave(&mut left);
        left
    }

    /// A packet is taken out of the middle. Returns those that waited for it alone, which leave now. No effect if it is not in the ring.
    pub fn remove(&mut self, position: Position) -> Vec<Left<P>> {
        let mut left = Vec::new();
        let place = position.checked_sub(self.head).and_then(|place| self.places.get_mut(place as usize));
        match place {
            None | Some(Place::Removed) => return left,
            Some(place) => {
                *place = Place::Removed;
                self.dropped += 1;
            }
        }
        self.leave(&mut left);
        left
    }

    /// Those at the head leave whose turn it is.
    fn leave(&mut self, left: &mut Vec<Left<P>>) {
        while let Some(Place::Here(_) | Place::Lost | Place::Removed) = self.places.front() {
            let position = self.head;
            self.head += 1;
            match self.places.pop_front() {
                Some(Place::Here(packet)) => left.push(Left::Packet(packet)),
                Some(Place::Lost) => {
                    self.dropped += 1;
                    left.push(Left::Lost(position));
                }
                _ => {}
            }
        }
    }

    /// The UE is deleted, or its packets are to be dropped. Returns how many are.
    pub fn clear(&mut self) -> u64 {
        let count = self.places.iter().filter(|place| !matches!(place, Place::Removed)).count() as u64;
        self.head += self.places.len() as u64;
        self.places.clear();
        self.reading = 0;
        self.life += 1;
        self.dropped += count;
        count
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ring(capacity: u32, reads: u32) -> Ring<u64> {
        Ring::new(RingConfig { capacity, reads })
    }

    fn packets(left: Vec<Left<u64>>) -> Vec<u64> {
        let packet = |left| match left {
            Left::Packet(packet) => packet,
            Left::Lost(position) => panic!("{position} is lost"),
        };
        left.into_iter().map(packet).collect()
    }

    // Input:  ten packets wait; then the UE is connected, and reads end in reverse order.
    // Output: eight reads at a time; packets leave in order.
    #[test]
    fn eight_reads_are_in_flight_and_the_order_is_kept() {
        let mut ring = ring(128, 8);
        (0..10).for_each(|number| assert_eq!(ring.enter(), Ok(number)));
        assert_eq!(ring.next_read(), None);
        ring.notify(1, true);
        let mut reads: Vec<_> = std::iter::from_fn(|| ring.next_read()).collect();
        assert_eq!(reads.len(), 8);
        let first = reads.remove(0);
        reads.into_iter().rev().for_each(|read| assert_eq!(ring.read(read, Some(read.position)), []));
        assert_eq!(packets(ring.read(first, Some(0))), (0..8).collect::<Vec<_>>());
        assert_eq!(std::iter::from_fn(|| ring.next_read()).count(), 2);
    }

    // Input:  a BAR of two packets in a ring of four; five packets; then release, and five more at once.
    // Output: two wait; behind the release the ring holds four; the rest are counted.
    #[test]
    fn a_limit_below_the_ring_holds_while_the_ue_is_idle() {
        let mut ring = ring(4, 8);
        ring.set_limit(2);
        assert_eq!((0..5).filter(|_| ring.enter().is_ok()).count(), 2);
        ring.notify(1, true);
        assert_eq!((0..5).filter(|_| ring.enter().is_ok()).count(), 2);
        assert_eq!((ring.len(), ring.dropped()), (4, 6));
    }

    // Input:  the UE is deleted while two reads are in flight, and its ring is used anew.
    // Output: the packets are counted; the late responses give nothing to the new owner.
    #[test]
    fn a_deleted_ue_leaves_nothing_to_the_next() {
        let mut ring = ring(4, 8);
        assert_eq!((0..3).filter(|_| ring.enter().is_ok()).count(), 3);
        ring.notify(1, true);
        let reads: Vec<_> = std::iter::from_fn(|| ring.next_read()).collect();
        assert_eq!(ring.clear(), 3);
        assert_eq!(ring.enter(), Ok(3));
        for read in reads {
            assert_eq!(ring.read(read, Some(read.position)), []);
        }
        assert_eq!((ring.len(), ring.dropped()), (1, 3));
    }

    // Input:  idle, connected, idle; the notification "connected" comes twice, the second time late.
    // Output: packets wait.
    #[test]
    fn a_doubled_notification_changes_nothing() {
        let mut ring = ring(4, 8);
        ring.notify(1, true);
        ring.notify(2, false);
        ring.notify(1, true);
        assert_eq!((ring.is_released(), ring.acknowledged()), (false, 2));
    }

    #[derive(Clone, Debug)]
    enum Step {
        Enter,
        /// Idle or connected; the notification is lost at first, and comes twice.
        Change {
            released: bool,
            lost: bool,
            doubled: bool,
        },
        /// The read in flight with this index ends.
        End {
            index: usize,
            fails: bool,
        },
        Clear,
        /// The packet of this index in the ring is taken out.
        Remove(usize),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let change = (any::<bool>(), any::<bool>(), any::<bool>())
            .prop_map(|(released, lost, doubled)| Step::Change { released, lost, doubled });
        let end =
            (0..8_usize, prop::bool::weighted(0.05)).prop_map(|(index, fails)| Step::End { index, fails });
        proptest::collection::vec(
            prop_oneof![
                8 => Just(Step::Enter),
                2 => change,
                10 => end,
                1 => Just(Step::Clear),
                1 => (0..20_usize).prop_map(Step::Remove),
            ],
            0..300,
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        // Input:  packets, idle and connected periods in any order, notifications lost and doubled, reads that end in any order and
        //         fail, deletion at any time, packets that are taken out of the middle.
        // Output: what leaves is in order, each packet once; at the end each has left, is in the ring, or is counted as dropped; and
        //         without a packet from outside all leave when the UE is connected.
        #[test]
        fn first_in_first_out_across_idle_and_connected(capacity in 1..20_u32, reads in 1..9_u32, steps in steps()) {
            let mut ring = ring(capacity, reads);
            let (mut in_flight, mut left, mut lost) = (Vec::new(), Vec::new(), 0);
            let (mut entered, mut change, mut told) = (0, 0, (0, false));
            let mut memory = vec![u64::MAX; capacity as usize];
            for step in steps {
                match step {
                    Step::Enter => {
                        entered += 1;
                        if let Ok(position) = ring.enter() {
                            memory[(position % u64::from(capacity)) as usize] = entered;
                        }
                    }
                    Step::Change { released, lost, doubled } => {
                        change += 1;
                        let late = told;
                        told = (change, released);
                        if !lost {
                            ring.notify(told.0, told.1);
                        }
                        // The sender repeats what is not acknowledged.
                        if ring.acknowledged() < told.0 {
                            ring.notify(told.0, told.1);
                        }
                        if doubled {
                            ring.notify(late.0, late.1);
                        }
                        prop_assert_eq!(ring.is_released(), released);
                    }
                    Step::End { index, fails } => {
                        if !in_flight.is_empty() {
                            let read: RingRead = in_flight.remove(index % in_flight.len());
                            let packet = memory[(read.position % u64::from(capacity)) as usize];
                            for packet in ring.read(read, (!fails).then_some(packet)) {
                                match packet {
                                    Left::Packet(packet) => left.push(packet),
                                    Left::Lost(_) => lost += 1,
                                }
                            }
                        }
                    }
                    Step::Clear => drop(ring.clear()),
                    Step::Remove(index) => {
                        for packet in ring.remove(ring.head + index as u64) {
                            match packet {
                                Left::Packet(packet) => left.push(packet),
                                Left::Lost(_) => lost += 1,
                            }
                        }
                    }
                }
                while let Some(read) = ring.next_read() {
                    in_flight.push(read);
                }
                prop_assert!(in_flight.iter().filter(|read| read.life == ring.life).count() <= reads as usize);
            }
            ring.notify(change + 1, true);
            loop {
                while let Some(read) = ring.next_read() {
                    in_flight.push(read);
                }
                let Some(read) = in_flight.pop() else { break };
                let packet = memory[(read.position % u64::from(capacity)) as usize];
                for packet in ring.read(read, Some(packet)) {
                    match packet {
                        Left::Packet(packet) => left.push(packet),
                        Left::Lost(_) => lost += 1,
                    }
                }
            }
            prop_assert!(ring.is_empty());
            prop_assert!(left.is_sorted_by(|one, next| one < next), "{left:?}");
            prop_assert_eq!(left.len() as u64 + ring.dropped(), entered);
            prop_assert!(lost <= ring.dropped());
        }
    }
}

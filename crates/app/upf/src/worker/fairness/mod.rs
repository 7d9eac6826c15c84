//! Fair shares of the packets of one port, while the port receives more than the packet thread can process.
//!
//! If a thread is too slow, the kernel's buffer in front of a port fills up. The kernel then drops each further
//! packet, so that a UE that floods displaces the packets of others. Therefore, when a port has been full for some
//! milliseconds, the thread identifies the gNB and the UE of each packet. It drops packets beyond a fair share before
//! the data plane sees them. This costs so little that the thread catches up with the port, and the kernel drops
//! nothing.
//!
//! The shares are max-min fair in two steps. First the capacity is divided among gNBs: a gNB with a demand below an
//! equal part gets its demand, and the others get equal parts of the rest. Then the part of a gNB with a higher demand
//! is divided among its UEs in the same manner. Packets of the data network have no gNB: all UEs form one group there.
//!
//! The capacity is the number of packets admitted in the previous interval: less an eighth if the port was full, two
//! eighths if it was full for two intervals, and so on up to a half, unless the buffer is emptying already; plus a
//! sixteenth if the port was not full. With equal demands shares help no UE. Then the packets beyond the capacity are
//! left to the kernel, which drops them at no cost to this thread.
//!
//! UEs and gNBs are distinguished by hashes. Two UEs with the same hash have one share for an interval; then the hash
//! function changes.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use causeway_dataplane::ReceiveSource;
use causeway_packet::{Frame, Meta};
use causeway_types::Time;

/// How long a port is full without a break before packets are attributed to UEs and gNBs.
const TIMEOUT: Duration = Duration::from_millis(2);

/// The same if the fill level of the kernel's buffer is unknown.
const TIMEOUT_WITHOUT_FILL: Duration = Duration::from_millis(8);

/// Up to this percentage the fill level of the kernel's buffer is normal. (A UDP socket reports up to a quarter of its
/// capacity too much.)
const FULL_PERCENT: u8 = 40;

/// The thread has caught up when the fill level is known and not above this percentage.
const LOW: u8 = 10;

/// The interval for which a share is valid.
const INTERVAL: Duration = Duration::from_millis(4);

/// Packets of a UE in an interval that are always admitted.
const MIN_SHARE: u32 = 4;

/// This number of packets of a UE or gNB is admitted, too, if another UE of that gNB, or another gNB, has sent
/// [`RATIO`] times as many: when the thread catches up, one interval contains the packets of several.
const MIN_UNFAIR: u32 = 64;
const RATIO: u32 = 8;

/// Consecutive intervals without drops and without a full port after which the attribution ends.
const IDLE_INTERVALS: u32 = 64;

/// Shares help a UE or gNB whose demand is at most this part of a share.
const SMALL: u32 = 4;

/// Number of hash values of UEs.
const USERS: usize = 4096;

/// Number of hash values of gNBs.
const GROUPS: usize = 256;

/// Octets of a GTP-U header up to the end of the TEID.
const GTPU: usize = 8;

/// The GTP-U message type of a user packet (G-PDU).
const G_PDU: u8 = 255;

/// The owner of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// A hash of the gNB, or of the data network.
    group: u64,
    /// A hash of the UE.
    user: u64,
}

/// The number of packets that a turn found at the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchFill {
    /// As many packets as a turn receives; more may be waiting.
    Full,
    /// Fewer.
    Part,
    /// Hardly any: the thread has processed all arrivals.
    Drained,
}

/// Counts of turns, by their result.
#[derive(Clone, Copy, Default)]
struct FillCounts {
    all: u32,
    full: u32,
    drained: u32,
}

impl FillCounts {
    fn count(&mut self, turn: BatchFill) {
        self.all += 1;
        self.full += u32::from(turn == BatchFill::Full);
        self.drained += u32::from(turn == BatchFill::Drained);
    }

    /// The thread did not keep up with the port.
    fn are_full(self) -> bool {
        self.drained == 0 && self.full > 0 && self.full * 2 >= self.all
    }
}

/// The demands on one port.
pub(super) struct Fairness {
    /// The start of the present interval, or the last time at which the port was not full.
    since: Option<Time>,
    turns: FillCounts,
    /// The fill level of the kernel's buffer at the end of the previous interval, percent.
    filled: Option<u8>,
    /// `None` while packets are not attributed.
    watch: Option<IntervalState>,
    /// The memory of the last attribution, for reuse.
    spare: Option<IntervalState>,
}

#[derive(Clone, Copy, Default)]
struct UserShare {
    wanted: u32,
    group: u8,
}

#[derive(Clone, Copy)]
struct PeerShare {
    wanted: u32,
    admitted: u32,
    /// The largest demand of a UE.
    largest: u32,
    /// The share of the whole group.
    most: u32,
    /// The share of each UE.
    each: u32,
}

impl PeerShare {
    const FREE: Self = Self { wanted: 0, admitted: 0, largest: 0, most: u32::MAX, each: u32::MAX };
}

/// The demands and shares of one interval.
struct IntervalState {
    /// The secret of the hashes of gNBs, which stays.
    seed: u64,
    /// The secret of the hashes of UEs, which changes in each interval.
    salt: u64,
    users: Box<[UserShare]>,
    /// The groups that sent packets.
    seen: Vec<u16>,
    groups: Box<[PeerShare]>,
    /// The largest demand of a gNB.
    largest: u32,
    admitted: u32,
    dropped: u32,
    capacity: u32,
    /// The lower limit of the capacity: an eighth of the packets processed before the first drop.
    floor: u32,
    /// Consecutive intervals in which the port was full.
    full: u32,
    /// Consecutive idle intervals.
    idle_intervals: u32,
    /// Shares are enforced: from a full port until the thread has caught up. Packets that arrived in a pause of the
    /// thread are all admitted.
    holds: bool,
    /// Intervals since shares last helped a UE or gNB.
    unhelpful: u32,
    /// Scratch memory for sorting.
    scratch: Vec<u32>,
}

impl Owner {
    /// The owner of a received packet. `None` for packets that are not shared out: frames of Ethernet networks.
    pub(super) fn of(source: ReceiveSource, frame: &Frame<'_>) -> Option<Self> {
        match (source, frame.meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { peer, .. }) => {
                let group = of_address(peer.ip());
                let teid = match frame.data.first_chunk::<GTPU>() {
                    Some([_, G_PDU, _, _, teid @ ..]) => Some(u32::from_be_bytes(*teid)),
                    _ => None,
                };
                // Packets outside tunnels count as one user of each peer.
                Some(Self { group, user: teid.map_or(!group, u64::from) })
            }
            (ReceiveSource::Network(_), _) => {
                let user = match frame.data.first()? >> 4 {
                    4 => u64::from(u32::from_be_bytes(*frame.data.get(16..)?.first_chunk()?)),
                    _ => u64::from_be_bytes(*frame.data.get(24..)?.first_chunk()?),
                };
                Some(Self { group: 0, user })
            }
            _ => None,
        }
    }
}

/// The part of an address that identifies a host and that it cannot choose freely: of IPv6 the /64 prefix.
fn of_address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
    }
}

/// An index below `count`, a power of two.
fn place(value: u64, salt: u64, count: usize) -> usize {
    let mixed = (value ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (count - 1)
}

/// Whether so few packets are admitted beside so many of another sender.
fn is_small(wanted: u32, largest: u32) -> bool {
    wanted <= MIN_UNFAIR && wanted * RATIO <= largest
}

/// The largest share with which the sum of all stays within `capacity`: a demand below the share is met, and the others
/// get equal parts of the rest. [`u32::MAX`] if the capacity suffices for all.
fn share(wanted: &mut [u32], capacity: u32) -> u32 {
    wanted.sort_unstable();
    let (mut left, mut others) = (capacity, wanted.len() as u32);
    for wants in wanted {
        let equal = left / others.max(1);
        if *wants > equal {
            return equal;
        }
        left -= *wants;
        others -= 1;
    }
    u32::MAX
}

impl Fairness {
    /// The initial state: packets are not attributed.
    pub(super) fn new() -> Self {
        Self { since: None, turns: FillCounts::default(), filled: None, watch: None, spare: None }
    }

    /// Whether [`Fairness::admit`] is to be called.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// Whether every turn is to be reported, not only full ones.
    pub(super) fn needs_every_turn(&self) -> bool {
        self.since.is_some()
    }

    /// Counts a packet, and returns whether it is within the share of its owner.
    pub(super) fn admit(&mut self, owner: Option<Owner>) -> bool {
        match (&mut self.watch, owner) {
            (Some(watch), Some(owner)) => watch.admit(owner),
            _ => true,
        }
    }

    /// Ends a turn. `filled`: the fill level of the kernel's buffer in percent, if known.
    pub(super) fn end_turn(&mut self, now: Time, turn: BatchFill, filled: impl FnOnce() -> Option<u8>) {
        let is_over = match &self.watch {
            None if turn == BatchFill::Drained => {
                (self.since, self.turns) = (None, FillCounts::default());
                return;
            }
            // Only a full turn starts the attribution.
            None if self.since.is_none() && turn != BatchFill::Full => return,
            None => TIMEOUT,
            Some(_) => INTERVAL,
        };
        self.turns.count(turn);
        let since = *self.since.get_or_insert(now);
        if now.since(since) < is_over {
            return;
        }
        let filled = filled();
        if self.watch.is_none() && filled.is_none() && now.since(since) < TIMEOUT_WITHOUT_FILL {
            return;
        }
        let is_full = self.turns.are_full() && filled.is_none_or(|filled| filled >= FULL_PERCENT);
        (self.turns, self.since) = (FillCounts::default(), Some(now));
        let known = std::mem::replace(&mut self.filled, filled);
        match &mut self.watch {
            None if is_full => self.watch = Some(self.spare.take().unwrap_or_else(IntervalState::new)),
            None => self.since = None,
            Some(watch) => {
                let is_falling = filled.zip(known).is_some_and(|(now, before)| now < before);
                let is_low = filled.is_some_and(|filled| filled <= LOW);
                watch.holds = is_full || watch.holds && !is_low;
                watch.end_interval(is_full, is_falling);
                if watch.idle_intervals >= IDLE_INTERVALS {
                    self.since = None;
                    self.spare = self.watch.take();
                }
            }
        }
    }
}

impl IntervalState {
    fn new() -> Self {
        let random = RandomState::new();
        Self {
            seed: random.hash_one(0),
            salt: random.hash_one(1),
            users: vec![UserShare::default(); USERS].into(),
            seen: Vec::with_capacity(USERS),
            groups: vec![PeerShare::FREE; GROUPS].into(),
            largest: 0,
            admitted: 0,
            dropped: 0,
            capacity: u32::MAX,
            floor: 1,
            full: 0,
            idle_intervals: 0,
            holds: false,
            unhelpful: IDLE_INTERVALS,
            scratch: Vec::with_capacity(USERS),
        }
    }

    fn admit(&mut self, owner: Owner) -> bool {
        let (at, of) =
            (place(owner.user ^ owner.group, self.salt, USERS), place(owner.group, self.seed, GROUPS));
        let (Some(user), Some(group)) = (self.users.get_mut(at), self.groups.get_mut(of)) else {
            return true;
        };
        if user.wanted == 0 {
            self.seen.push(at as u16);
            user.group = of as u8;
        }
        user.wanted += 1;
        group.wanted += 1;
        group.largest = group.largest.max(user.wanted);
        self.largest = self.largest.max(group.wanted);
        let admits = is_small(group.wanted, self.largest)
            || group.admitted < group.most
                && (is_small(user.wanted, group.largest) || user.wanted <= group.each.max(MIN_SHARE));
        group.admitted += u32::from(admits);
        self.admitted += u32::from(admits);
        self.dropped += u32::from(!admits);
        admits
    }

    /// Assigns the shares of the next interval by the demands of this one.
    fn end_interval(&mut self, is_full: bool, is_falling: bool) {
        let has_limit = self.capacity != u32::MAX;
        self.full = if is_full && !is_falling { self.full + 1 } else { 0 };
        if is_full {
            if !has_limit {
                self.floor = (self.admitted / 8).max(1);
            }
            self.capacity = (self.admitted - self.admitted / 8 * self.full.min(4)).max(self.floor);
        } else if has_limit {
            let grown = self.capacity.max(self.admitted);
            self.capacity = grown.saturating_add(grown / 16 + 1);
        }
        if !is_full && self.dropped == 0 {
            self.idle_intervals += 1;
            if self.idle_intervals >= IDLE_INTERVALS {
                self.capacity = u32::MAX;
            }
        } else {
            self.idle_intervals = 0;
        }
        self.assign_shares();
        for at in self.seen.drain(..) {
            if let Some(user) = self.users.get_mut(usize::from(at)) {
                *user = UserShare::default();
            }
        }
        self.groups.iter_mut().for_each(|group| (group.wanted, group.admitted, group.largest) = (0, 0, 0));
        (self.admitted, self.dropped, self.largest) = (0, 0, 0);
        self.salt = self.salt.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    }

    fn assign_shares(&mut self) {
        let mut wanted = std::mem::take(&mut self.scratch);
        wanted.clear();
        wanted.extend(self.groups.iter().map(|group| group.wanted).filter(|wanted| *wanted > 0));
        let (are_many, mut helps) = (wanted.len() > 1, false);
        let of_group = share(&mut wanted, self.capacity);
        helps |= of_group != u32::MAX
            && wanted.first().is_some_and(|least| least.saturating_mul(SMALL) <= of_group);
        for number in 0..GROUPS {
            let Some(group) = self.groups.get(number).filter(|group| group.wanted > of_group) else {
                continue;
            };
            let most = if are_many { of_group } else { u32::MAX };
            let group = PeerShare { most, ..*group };
            wanted.clear();
            let users = self.seen.iter().filter_map(|at| self.users.get(usize::from(*at)));
            wanted.extend(users.filter(|user| usize::from(user.group) == number).map(|user| user.wanted));
            let each = share(&mut wanted, of_group);
            helps |= wanted.first().is_some_and(|least| least.saturating_mul(SMALL) <= each);
            if let Some(place) = self.groups.get_mut(number) {
                *place = PeerShare { each, ..group };
            }
        }
        // A UE that shares help may pause for an interval, and must not find the buffer full afterwards.
        self.unhelpful = if helps { 0 } else { self.unhelpful.saturating_add(1) };
        for group in &mut self.groups {
            if !self.holds || self.unhelpful >= IDLE_INTERVALS || group.wanted <= of_group {
                (group.most, group.each) = (u32::MAX, u32::MAX);
            }
        }
        self.scratch = wanted;
    }
}

#[cfg(test)]
mod tests;

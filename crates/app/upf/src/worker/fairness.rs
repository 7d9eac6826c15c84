//! Fair shares of what one port brings, while it brings more than the packet thread can handle.
//!
//! Packets that nobody takes in time fill the kernel's buffer in front of a port, and then the kernel drops whatever comes next: a UE
//! that floods takes the others' packets away. So when a port has been full for some milliseconds on end, the thread looks who its
//! packets are of: of which gNB, and of which UE. It drops what is beyond a fair share before the data plane sees it, which costs so
//! little that the thread catches up with the port, and the kernel has nothing to drop.
//!
//! The shares are max-min fair in two steps. The capacity is dealt out to gNBs: whoever wants less than an equal part has all that it
//! wants, and the others have equal parts of the rest. The part of a gNB that wants more is dealt out to its UEs likewise. Packets of
//! the data network have no gNB: there all UEs are one group.
//!
//! Capacity is what was let through in the interval before: an eighth less if the port was full, two eighths if it was so for two
//! intervals, and so on up to a half, unless it empties already; a sixteenth more if the port was not full. Where all want about the same nobody is helped by it, and the packets beyond capacity are left to the kernel, which drops
//! them at no cost of this thread.
//!
//! UEs and gNBs are told apart by hashes. Two UEs of one hash share a share for an interval; then the hashes are others.

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::time::Duration;

use causeway_fastpath::ReceiveSource;
use causeway_ports::{Frame, Meta};
use causeway_types::Time;

/// How long a port is full on end before anybody looks whose packets they are.
const TIMEOUT: Duration = Duration::from_millis(2);

/// The same where nobody knows how full the kernel's buffer is.
const TIMEOUT_WITHOUT_FILL: Duration = Duration::from_millis(8);

/// Up to this percentage the kernel's buffer is there to be used. (A UDP socket says up to a quarter of its room more than is in use.)
const FULL_PERCENT: u8 = 40;

/// Where it is known and no more than this, the thread has caught up.
const LOW: u8 = 10;

/// How long a share holds.
const INTERVAL: Duration = Duration::from_millis(4);

/// Packets of a UE in an interval that are never too many.
const MIN_SHARE: u32 = 4;

/// Nor are so many of a UE, or of a gNB, where another UE of that gNB, or another gNB, has sent [`RATIO`] times as many: when the thread
/// catches up, an interval brings what came in many.
const MIN_UNFAIR: u32 = 64;
const RATIO: u32 = 8;

/// Intervals in which nothing was dropped, and the port was not full, after which nobody looks any more.
const IDLE_INTERVALS: u32 = 64;

/// Whoever wants this part of a share, or less, is helped by there being shares.
const SMALL: u32 = 4;

/// Hashes of UEs.
const USERS: usize = 4096;

/// Hashes of gNBs.
const GROUPS: usize = 256;

/// Octets of a GTP-U header up to the end of the TEID.
const GTPU: usize = 8;

/// The GTP-U message that carries a packet.
const G_PDU: u8 = 255;

/// Whose a packet is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Owner {
    /// Stands for the gNB, or the data network.
    group: u64,
    /// Stands for the UE.
    user: u64,
}

/// What a turn found at the port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BatchFill {
    /// As many packets as a turn takes, and there may be more.
    Full,
    /// Fewer.
    Part,
    /// Next to none: what came has been handled.
    Drained,
}

/// The turns of some time.
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

/// Who wants what of one port.
pub(super) struct Fairness {
    /// When the present interval began, or the port was not full last.
    since: Option<Time>,
    turns: FillCounts,
    /// The percentage of the kernel's buffer that was in use at the end of the interval before.
    filled: Option<u8>,
    /// None while nobody looks.
    watch: Option<IntervalState>,
    /// The memory of a watch that is over.
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
    /// What the UE wanted that wanted most.
    largest: u32,
    /// What all of it may have.
    most: u32,
    /// What each of its UEs may have.
    each: u32,
}

impl PeerShare {
    const FREE: Self = Self { wanted: 0, admitted: 0, largest: 0, most: u32::MAX, each: u32::MAX };
}

/// What is known of an interval, and the shares that hold in it.
struct IntervalState {
    /// Of the hashes of gNBs, which stay.
    seed: u64,
    /// Of the hashes of UEs, which are others in each interval.
    salt: u64,
    users: Box<[UserShare]>,
    /// Those of whom anything came.
    seen: Vec<u16>,
    groups: Box<[PeerShare]>,
    /// What the gNB wanted that wanted most.
    largest: u32,
    admitted: u32,
    dropped: u32,
    capacity: u32,
    /// What capacity does not fall below: an eighth of what was handled when nothing was dropped yet.
    floor: u32,
    /// Intervals in a row in which the port was full.
    full: u32,
    /// Intervals without anything to do.
    idle_intervals: u32,
    /// Shares hold: from a full port on, until the thread has caught up. What came in a pause of the thread may all pass.
    holds: bool,
    /// Intervals since somebody was there whom shares help.
    unhelpful: u32,
    /// Room to sort in.
    scratch: Vec<u32>,
}

impl Owner {
    /// Whose packet came in there. `None` for what is not shared out: frames of Ethernet networks.
    pub(super) fn of(source: ReceiveSource, frame: &Frame<'_>) -> Option<Self> {
        match (source, frame.meta) {
            (ReceiveSource::Gtpu, Meta::Gtpu { peer, .. }) => {
                let group = of_address(peer.ip());
                let teid = match frame.data.first_chunk::<GTPU>() {
                    Some([_, G_PDU, _, _, teid @ ..]) => Some(u32::from_be_bytes(*teid)),
                    _ => None,
                };
                // What is in no tunnel is one user of each peer.
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

/// Of an IPv6 address what tells hosts apart as far as nobody can choose it freely: a /64.
fn of_address(address: IpAddr) -> u64 {
    match address {
        IpAddr::V4(v4) => u64::from(v4.to_bits()),
        IpAddr::V6(v6) => (v6.to_bits() >> 64) as u64,
    }
}

/// One of `count` places, a power of two.
fn place(value: u64, salt: u64, count: usize) -> usize {
    let mixed = (value ^ salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (mixed >> 40) as usize & (count - 1)
}

/// So few are never too many beside so many of another.
fn is_small(wanted: u32, largest: u32) -> bool {
    wanted <= MIN_UNFAIR && wanted * RATIO <= largest
}

/// The most that each may have, so that all together have no more than `capacity`: whoever wants less has what it wants, and the
/// others have equal parts of the rest. [`u32::MAX`] where there is enough for all.
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
    /// Nobody looks.
    pub(super) fn new() -> Self {
        Self { since: None, turns: FillCounts::default(), filled: None, watch: None, spare: None }
    }

    /// [`Fairness::admit`] has something to say.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// It wants to hear of every turn, not only of full ones.
    pub(super) fn needs_every_turn(&self) -> bool {
        self.since.is_some()
    }

    /// Whether a packet is within the share of its owner. It counts as if it had come.
    pub(super) fn admit(&mut self, owner: Option<Owner>) -> bool {
        match (&mut self.watch, owner) {
            (Some(watch), Some(owner)) => watch.admit(owner),
            _ => true,
        }
    }

    /// Hears what a turn found at the port. `filled`: the percentage of the kernel's buffer that is in use, where that is known.
    pub(super) fn end_turn(&mut self, now: Time, turn: BatchFill, filled: impl FnOnce() -> Option<u8>) {
        let is_over = match &self.watch {
            None if turn == BatchFill::Drained => {
                (self.since, self.turns) = (None, FillCounts::default());
                return;
            }
            // Only a full turn begins it.
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

    /// Deals the capacity out anew, by what was wanted.
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
        // Whoever is helped may send nothing for an interval, and must not find the buffer full then.
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

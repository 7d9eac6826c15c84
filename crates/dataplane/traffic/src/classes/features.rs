//! What is measured of the packets of a rule pair in a window.

use causeway_types::{Direction, Span, Time};

/// Sizes and gaps are in parts of 2 to this power.
pub const FRACTION_BITS: u32 = 4;

/// One number of a [`Vector`].
///
/// The order decides between splits that are equally good: counts need no division, so they come first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Feature {
    /// Packets from the UE in the window.
    UplinkPackets,
    /// Packets to the UE in the window.
    DownlinkPackets,
    /// Mean size of the IP packets from the UE, in sixteenths of an octet.
    UplinkSize,
    /// Mean size of the IP packets to the UE, in sixteenths of an octet.
    DownlinkSize,
    /// Mean gap between packets from the UE, in sixteenths of a microsecond.
    UplinkGap,
    /// Mean gap between packets to the UE, in sixteenths of a microsecond.
    DownlinkGap,
}

impl Feature {
    /// All of them, in their order in a vector.
    pub const ALL: [Self; 6] = [
        Self::UplinkPackets,
        Self::DownlinkPackets,
        Self::UplinkSize,
        Self::DownlinkSize,
        Self::UplinkGap,
        Self::DownlinkGap,
    ];

    /// The name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::UplinkPackets => "uplink_packets",
            Self::DownlinkPackets => "downlink_packets",
            Self::UplinkSize => "uplink_size",
            Self::DownlinkSize => "downlink_size",
            Self::UplinkGap => "uplink_gap",
            Self::DownlinkGap => "downlink_gap",
        }
    }

    /// The feature of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|feature| feature.name() == name)
    }

    /// The unit of whole numbers.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::UplinkPackets | Self::DownlinkPackets => "packets",
            Self::UplinkSize | Self::DownlinkSize => "octets",
            Self::UplinkGap | Self::DownlinkGap => "us",
        }
    }

    /// Bits of its values. Greater values are stored as the greatest.
    pub const fn bits(self) -> u32 {
        match self {
            Self::UplinkPackets | Self::DownlinkPackets | Self::UplinkSize | Self::DownlinkSize => 16,
            Self::UplinkGap | Self::DownlinkGap => 24,
        }
    }

    /// The greatest value.
    pub const fn most(self) -> u32 {
        (1 << self.bits()) - 1
    }

    /// How many of its values make one whole unit.
    pub const fn parts(self) -> u32 {
        match self {
            Self::UplinkPackets | Self::DownlinkPackets => 1,
            _ => 1 << FRACTION_BITS,
        }
    }
}

/// The features of a window; none is above [`Feature::most`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Vector([u32; 6]);

impl Vector {
    /// A vector of these values, in the order of [`Feature::ALL`], each limited to [`Feature::most`].
    pub fn new(values: [u32; 6]) -> Self {
        let mut vector = Self(values);
        for (value, feature) in vector.0.iter_mut().zip(Feature::ALL) {
            *value = (*value).min(feature.most());
        }
        vector
    }

    /// One value.
    pub const fn get(&self, feature: Feature) -> u32 {
        self.0[feature as usize]
    }

    /// All values, in the order of [`Feature::ALL`].
    pub const fn values(&self) -> [u32; 6] {
        self.0
    }

    /// Whether both directions have at least so many packets.
    pub const fn has_packets(&self, least: u16) -> bool {
        self.get(Feature::UplinkPackets) >= least as u32 && self.get(Feature::DownlinkPackets) >= least as u32
    }
}

/// A window that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Closed {
    /// Its features.
    pub vector: Vector,
    /// Windows without any packet between it and the packet that closed it.
    pub empty: u32,
}

/// The packets of a rule pair in the current window. It has 56 octets.
///
/// A window ends with the first packet after it, in whichever direction, or with [`expire`](Self::expire); it ends for both. Windows of a
/// pair follow each other without a pause, from its first packet on.
///
/// The mean gap is over all gaps that end in the window; one that began in the window before counts in full. Without a gap it is
/// the greatest value. The means are exact but for the last of [`FRACTION_BITS`]. A direction counts 65,535 packets; the means of a
/// window with more are inexact.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PairWindow {
    begin: Time,
    /// By direction: the packet with which the first gap began, and the last packet.
    first: [Time; 2],
    last: [Time; 2],
    octets: [u32; 2],
    packets: [u16; 2],
    seen: [Seen; 2],
    has_begun: bool,
}

/// Where the first gap of a direction begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Seen {
    /// There was no packet.
    #[default]
    Nothing,
    /// In this window.
    Here,
    /// In the window before.
    Before,
}

/// Nanoseconds of a span, without the division that a [`Span`] from nanoseconds would cost for each packet.
fn nanos(span: Span) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}

/// Nanoseconds after `earlier`; zero if it is not after.
const fn nanos_since(now: Time, earlier: Time) -> u64 {
    now.as_nanos().saturating_sub(earlier.as_nanos())
}

fn limited(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

impl PairWindow {
    /// Counts a packet: octets of the IP packet. Gives the window before, if this packet is the first after it.
    ///
    /// `length` is the length of windows; zero is taken for a nanosecond. A packet earlier than the one before counts as at its
    /// time.
    pub fn observe(&mut self, direction: Direction, octets: u32, now: Time, length: Span) -> Option<Closed> {
        if !self.has_begun {
            (self.begin, self.has_begun) = (now, true);
        }
        let closed = self.expire(now, length);
        let way = direction as usize;
        self.packets[way] = self.packets[way].saturating_add(1);
        self.octets[way] = self.octets[way].saturating_add(octets);
        if self.seen[way] == Seen::Nothing {
            self.seen[way] = Seen::Here;
            (self.first[way], self.last[way]) = (now, now);
        } else {
            self.last[way] = self.last[way].max(now);
        }
        closed
    }

    /// Adds packets of this window that were counted elsewhere: how many, their octets, and the time of the last one. There must have been
    /// a packet of the direction since the last pause ([`has_seen`](Self::has_seen)); otherwise the first gap is taken to begin with `last`.
    pub fn add(&mut self, direction: Direction, packets: u64, octets: u64, last: Time) {
        let way = direction as usize;
        let number = u16::try_from(packets).unwrap_or(u16::MAX);
        self.packets[way] = self.packets[way].saturating_add(number);
        self.octets[way] = self.octets[way].saturating_add(limited(octets));
        if self.seen[way] == Seen::Nothing {
            (self.seen[way], self.first[way]) = (Seen::Here, last);
        }
        self.last[way] = self.last[way].max(last);
    }

    /// Whether it is known where the first gap of a direction begins: further packets may be counted elsewhere.
    pub fn has_seen(&self, direction: Direction) -> bool {
        self.seen[direction as usize] != Seen::Nothing
    }

    /// Ends the window if its time is over, without a packet: for timers.
    pub fn expire(&mut self, now: Time, length: Span) -> Option<Closed> {
        let (age, length) = (nanos_since(now, self.begin), nanos(length));
        (age >= length && self.has_begun).then(|| self.close(age, length))
    }

    /// Whether there was a packet.
    pub const fn has_begun(&self) -> bool {
        self.has_begun
    }

    /// Whether the window has packets so far.
    pub const fn has_packets(&self) -> bool {
        self.packets[0] > 0 || self.packets[1] > 0
    }

    /// The features so far.
    pub fn vector(&self) -> Vector {
        let [up, down] = self.packets.map(u32::from);
        Vector::new([up, down, self.size(0), self.size(1), self.gap(0), self.gap(1)])
    }

    fn size(&self, way: usize) -> u32 {
        let parts = u64::from(self.octets[way]) << FRACTION_BITS;
        limited(parts.checked_div(self.packets[way].into()).unwrap_or(0))
    }

    fn gap(&self, way: usize) -> u32 {
        let gaps = self.packets[way].saturating_sub(u16::from(self.seen[way] == Seen::Here));
        let nanos = nanos_since(self.last[way], self.first[way]).min(u64::MAX >> FRACTION_BITS);
        let parts = (nanos << FRACTION_BITS) / 1000;
        limited(parts.checked_div(gaps.into()).unwrap_or(u64::MAX))
    }

    /// Ends the window; the next one is that of `age`.
    #[cold]
    fn close(&mut self, age: u64, length: u64) -> Closed {
        let vector = self.vector();
        let windows = age / length.max(1);
        let empty = u32::try_from(windows.saturating_sub(1)).unwrap_or(u32::MAX);
        // At most the age, so that it is no later than now.
        let begin = Time::from_nanos(self.begin.as_nanos().saturating_add(windows.saturating_mul(length)));
        // After a pause of a window the gap to the last packet means nothing.
        let is_pause = empty > 0 || self.packets == [0; 2];
        *self = if is_pause {
            Self { begin, has_begun: true, ..Self::default() }
        } else {
            // The gap from the last packet is the first one of the next window.
            let seen = self.seen.map(|seen| if seen == Seen::Nothing { seen } else { Seen::Before });
            Self { begin, first: self.last, seen, octets: [0; 2], packets: [0; 2], ..*self }
        };
        Closed { vector, empty }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Span = Span::from_secs(1);

    fn at(millis: u64) -> Time {
        Time::from_secs(7) + Span::from_millis(millis)
    }

    // Input:  a packet of 100 and one of 101 octets 300 ms apart, in a window of a second; then the other direction after its
    //         end, and then a pause of three windows.
    // Output: means with fractions; the other direction closes the window; the pause is counted, and its gap is not.
    #[test]
    fn either_direction_ends_a_window() {
        let mut pair = PairWindow::default();
        assert_eq!(pair.observe(Direction::Uplink, 100, at(0), SECOND), None);
        assert_eq!(pair.observe(Direction::Uplink, 101, at(300), SECOND), None);
        let closed = pair.observe(Direction::Downlink, 1400, at(1000), SECOND).unwrap();
        let gap = Feature::UplinkGap.most().min(300_000 * 16);
        assert_eq!(closed.vector.values(), [2, 0, 1608, 0, gap, Feature::DownlinkGap.most()]);
        assert_eq!(closed.empty, 0);
        // The gap of the next uplink packet began in the window before.
        assert_eq!(pair.observe(Direction::Uplink, 100, at(1100), SECOND), None);
        assert_eq!(pair.vector().get(Feature::UplinkGap), 800_000 * 16);
        let closed = pair.observe(Direction::Uplink, 100, at(5100), SECOND).unwrap();
        assert_eq!((closed.vector.get(Feature::UplinkPackets), closed.empty), (1, 3));
        assert_eq!(pair.vector().get(Feature::UplinkGap), Feature::UplinkGap.most());
    }

    // Input:  a packet at the last nanosecond of a window, and one at the first of the next; one that is earlier.
    // Output: only the second ends the window; the earlier one counts.
    #[test]
    fn windows_end_to_the_nanosecond() {
        let mut pair = PairWindow::default();
        pair.observe(Direction::Uplink, 40, at(0), SECOND);
        assert_eq!(pair.observe(Direction::Uplink, 40, at(1000) - Span::from_nanos(1), SECOND), None);
        assert!(pair.observe(Direction::Uplink, 40, at(1000), SECOND).is_some());
        assert_eq!(pair.observe(Direction::Uplink, 40, at(500), SECOND), None);
        assert_eq!(pair.vector().get(Feature::UplinkPackets), 2);
    }

    // Input:  sizes, counts and gaps above their limits, and windows of no length.
    // Output: the limits; no panic.
    #[test]
    fn values_stop_at_their_limits() {
        let mut pair = PairWindow::default();
        for packet in 0..70_000_u64 {
            pair.observe(Direction::Downlink, 65_535, at(packet * 20), Span::from_secs(1_000_000));
        }
        let vector = pair.vector();
        assert_eq!(vector.get(Feature::DownlinkPackets), Feature::DownlinkPackets.most());
        assert_eq!(vector.get(Feature::DownlinkSize), Feature::DownlinkSize.most());
        assert!(
            Feature::ALL.iter().all(|feature| Vector::new([u32::MAX; 6]).get(*feature) == feature.most())
        );
        pair.observe(Direction::Uplink, u32::MAX, Time::from_nanos(u64::MAX), Span::ZERO);
        pair.observe(Direction::Uplink, u32::MAX, Time::from_nanos(0), Span::ZERO);
        assert_eq!(size_of::<PairWindow>(), 56);
    }

    // Input:  packets of both directions over three windows with a pause, of which all but the first of a direction after a pause are
    //         counted elsewhere and added before the window ends.
    // Output: the windows are those of packets that come one by one.
    #[test]
    fn packets_may_be_counted_elsewhere() {
        let (mut one, mut other) = (PairWindow::default(), PairWindow::default());
        let packets = |from: u64| (0..30).map(move |packet| (from + 31 * packet, 60 + packet as u32));
        for (window, from) in [0, 1000, 5000].into_iter().enumerate() {
            let now = at(from) + SECOND;
            for direction in [Direction::Uplink, Direction::Downlink] {
                let mut elsewhere = (0, 0, at(0));
                for (millis, octets) in packets(from) {
                    one.observe(direction, octets, at(millis), SECOND);
                    if other.has_seen(direction) {
                        elsewhere = (elsewhere.0 + 1, elsewhere.1 + u64::from(octets), at(millis));
                    } else {
                        other.observe(direction, octets, at(millis), SECOND);
                    }
                }
                let (number, octets, last) = elsewhere;
                assert_eq!(number, if window == 1 { 30 } else { 29 });
                other.add(direction, number, octets, last);
            }
            let closed = one.expire(now, SECOND);
            assert!(closed.is_some() && closed == other.expire(now, SECOND) && one == other);
            if window == 1 {
                assert!(
                    [&mut one, &mut other]
                        .map(|pair| pair.expire(at(3000), SECOND))
                        .iter()
                        .all(Option::is_some)
                );
                assert!(!other.has_seen(Direction::Uplink) && !other.has_seen(Direction::Downlink));
            }
        }
        other.add(Direction::Uplink, u64::MAX, u64::MAX, at(9000));
        assert_eq!(other.vector().get(Feature::UplinkPackets), Feature::UplinkPackets.most());
    }

    // Input:  one packet, and timers at the end of each of four windows.
    // Output: one window with the packet, and three without; nothing before the first packet and before the end of a window.
    #[test]
    fn timers_end_windows() {
        let mut pair = PairWindow::default();
        assert_eq!(pair.expire(at(9000), SECOND), None);
        pair.observe(Direction::Uplink, 40, at(0), SECOND);
        assert_eq!(pair.expire(at(999), SECOND), None);
        let counts = [1000, 2000, 3000, 4000].map(|millis| pair.expire(at(millis), SECOND).unwrap());
        assert_eq!(counts.map(|closed| closed.vector.get(Feature::UplinkPackets)), [1, 0, 0, 0]);
        assert!(counts.iter().all(|closed| closed.empty == 0));
    }
}

//! Traffic of UEs, as packets at known times that are not created individually.

use causeway_switch::Count;
use causeway_types::Time;

/// The traffic of UEs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Load {
    /// One packet of 200 to 1,200 octets every 100 ms with a probability of 85 %, in each direction: the released
    /// emulator of HiP4-UPF.
    Emulator,
    /// Uplink only; each UE has a rate of its own, in kbit/s from the first to the second, and packets of one size from
    /// 200 to 1,200 octets. Its rate varies from zero to twice the mean, every half second anew.
    Rates(u32, u32),
}

/// A packet flow: its packets in a time slot depend only on the flow and the slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flow {
    key: u64,
    slot: u64,
    /// The mean number of packets of a slot, in thousandths; and its variation.
    mean: u64,
    size: u64,
    is_single: bool,
}

const NANOS: u64 = 1_000_000_000;

impl Flow {
    pub(super) fn new(load: Load, seed: u64, ue: u32, is_uplink: bool) -> Option<Self> {
        let key = mixed(seed ^ mixed(u64::from(ue) * 2 + u64::from(is_uplink)));
        match load {
            Load::Emulator => Some(Self { key, slot: NANOS / 10, mean: 0, size: 0, is_single: true }),
            Load::Rates(..) if !is_uplink => None,
            Load::Rates(low, high) => {
                let drawn = mixed(key ^ 0x5172_e000);
                let rate = u64::from(low) + drawn % u64::from(high.saturating_sub(low).max(1));
                let size = 200 + (drawn >> 32) % 1001;
                // kbit/s are 125 octets a second.
                let mean = rate * 125 * 1000 / 2 / size;
                Some(Self { key, slot: NANOS / 2, mean, size, is_single: false })
            }
        }
    }

    /// All packets after one time, up to another.
    pub(super) fn between(&self, from: Time, to: Time) -> Count {
        let (from, to) = (from.as_nanos(), to.as_nanos());
        let mut count = Count::ZERO;
        if to <= from {
            return count;
        }
        for slot in from / self.slot..=to / self.slot {
            let (packets, size) = self.packets(slot);
            let sent = self.sent(packets, slot, to) - self.sent(packets, slot, from);
            count += Count { octets: sent * size, packets: sent };
        }
        count
    }

    /// The time of the packet after which at most `excess` octets were sent up to `to`: the packet that reached a
    /// threshold which is exceeded by that many octets at `to`.
    pub(super) fn reached(&self, to: Time, excess: u64) -> Time {
        let mut excess = excess;
        let mut slot = to.as_nanos() / self.slot;
        loop {
            let (packets, size) = self.packets(slot);
            let sent = self.sent(packets, slot, to.as_nanos());
            if sent * size > excess {
                let packet = sent - excess / size;
                return Time::from_nanos(slot * self.slot + self.offset(packets, packet));
            }
            excess -= sent * size;
            match slot.checked_sub(1) {
                Some(before) => slot = before,
                None => return Time::default(),
            }
        }
    }

    /// Packets of a slot, and the size of each.
    fn packets(&self, slot: u64) -> (u64, u64) {
        let drawn = mixed(self.key ^ mixed(slot));
        if self.is_single {
            return (u64::from(drawn % 100 < 85), 200 + (drawn >> 32) % 1001);
        }
        let thousandths = drawn % (2 * self.mean + 1);
        let more = (drawn >> 40) % 1000 < thousandths % 1000;
        (thousandths / 1000 + u64::from(more), self.size)
    }

    /// The number of packets of a slot that were sent by a time.
    fn sent(&self, packets: u64, slot: u64, by: u64) -> u64 {
        let Some(passed) = by.checked_sub(slot * self.slot) else { return 0 };
        let passed = passed.min(self.slot - 1);
        if self.is_single {
            return if passed >= self.offset(packets, 1) { packets } else { 0 };
        }
        ((passed + 1) * (packets + 1) - 1) / self.slot
    }

    /// The time of the nth packet of a slot, counted from one, after the slot's start.
    fn offset(&self, packets: u64, nth: u64) -> u64 {
        if self.is_single { self.key % self.slot } else { nth * self.slot / (packets + 1) }
    }
}

/// Pseudo-random bits (splitmix64).
const fn mixed(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    // Input:  flows of all kinds over ten seconds, as a whole and in unequal pieces.
    // Output: the same packets; the rate of one is near the given rate.
    #[test]
    fn pieces_add_up() {
        for load in [Load::Emulator, Load::Rates(100, 600)] {
            let mut all = Count::ZERO;
            for ue in 0..200 {
                let flow = Flow::new(load, 1234, ue, true).unwrap();
                let whole = flow.between(at(7), at(10 * NANOS + 7));
                let ends = (0..=7).map(|piece| 7 + piece * 10 * NANOS / 7).collect::<Vec<_>>();
                let mut pieces = Count::ZERO;
                ends.windows(2).for_each(|ends| pieces += flow.between(at(ends[0]), at(ends[1])));
                pieces += flow.between(at(ends[7]), at(10 * NANOS + 7));
                assert_eq!(whole, pieces, "{load:?} of {ue}");
                all += whole;
            }
            let kbits = all.octets as f64 * 8.0 / 10.0 / 200.0 / 1000.0;
            let expected = if load == Load::Emulator { 0.85 * 10.0 * 700.0 * 8.0 / 1000.0 } else { 350.0 };
            assert!((kbits / expected - 1.0).abs() < 0.1, "{load:?}: {kbits} kbit/s");
        }
        assert!(Flow::new(Load::Rates(100, 600), 1, 1, false).is_none());
    }

    // Input:  thresholds that some packet of a flow reaches, found from the later excess.
    // Output: the time of that packet: less than the threshold was sent before it, and at least the threshold with it.
    #[test]
    fn the_packet_that_reaches_a_threshold_is_found() {
        for (load, ue) in [(Load::Emulator, 1), (Load::Rates(100, 600), 2), (Load::Rates(600, 601), 3)] {
            let flow = Flow::new(load, 99, ue, true).unwrap();
            for millis in (3000..9000).step_by(133) {
                let to = at(millis * 1_000_000);
                let sent = flow.between(at(0), to).octets;
                for excess in [0, 1, 900, 5000, 12_000] {
                    let moment = flow.reached(to, excess);
                    let before = flow.between(at(0), at(moment.as_nanos() - 1)).octets;
                    let with = flow.between(at(0), moment).octets;
                    assert!(before < sent - excess && sent - excess <= with, "{load:?} {millis} {excess}");
                }
            }
        }
    }
}

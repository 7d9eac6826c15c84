//! HK-IPG as it was released beside the thesis: its simulator, and its P4 program. Both differ from Algorithm 1
//! ([`causeway_traffic::PublishedHkIpg`]), and from each other.
//!
//! | question | simulator | P4 program |
//! |---|---|---|
//! | a flow is replaced when its average is above the limit | after the packet's own addition | before it, and adds all the same |
//! | gap of two packets with equal time stamps | 0 | 0 |
//! | gaps longer than a timeslot | modulo the timeslot; the number of the timeslot grows by one with a packet | modulo 4,096 units of 1,024 ns |
//! | a timeslot ends | when a time stamp is less than the last one | the same |
//! | tau of an average above the limit | as for any other | nothing |
//! | average for tau | before the packet's gap | the same |
//! | report | when tau reaches its threshold, after adding | with the packet that finds it above the threshold, which adds nothing |
//! | average | exact | less a 16th of itself when it is above the gap, else more a 16th of the gap |

use causeway_traffic::Key;
use causeway_types::Time;

/// Microseconds of a timeslot of the simulator.
const TIMESLOT: u64 = 20_000;

/// The released simulator.
#[derive(Clone, Debug)]
pub struct Simulator {
    slots: Box<[Option<Exact>]>,
    alpha: f64,
    /// The mean gap at the threshold, and what a packet of another flow adds, in microseconds.
    limit: f64,
    collision: f64,
    /// Timeslots at the threshold's rate until a report, by the average.
    packets: f64,
    /// The number of the timeslot; none before the first packet.
    timeslot: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Exact {
    flow: u32,
    average: f64,
    stamp: u64,
    /// In parts of its threshold.
    tau: f64,
}

impl Simulator {
    /// With so many slots, for flows of so many packets in a second. `share`: what a packet of another flow adds, as a share of
    /// the mean gap at the threshold.
    pub fn new(slots: usize, threshold: u64, alpha: f64, share: f64) -> Self {
        let limit = 1e6 / threshold.max(1) as f64;
        Self {
            slots: vec![None; slots.max(1)].into(),
            alpha,
            limit,
            collision: limit * share,
            packets: threshold as f64,
            timeslot: None,
        }
    }

    /// Counts a packet; true if its flow is reported.
    pub fn observe(&mut self, key: Key, now: Time) -> bool {
        let micros = now.as_nanos() / 1000;
        let timeslot = self.timeslot.get_or_insert(micros / TIMESLOT);
        if micros > (*timeslot + 1) * TIMESLOT {
            *timeslot += 1;
        }
        let (flow, now) = ((key.0 >> 32) as u32, micros.saturating_sub(*timeslot * TIMESLOT));
        let place = key.place(0, self.slots.len());
        let Some(entry) = self.slots.get_mut(place) else { return false };
        let new = Exact { flow, average: self.limit, stamp: now, tau: 0.0 };
        let Some(slot) = entry else {
            *entry = Some(new);
            return false;
        };
        if slot.flow != flow {
            slot.average += self.collision;
            if slot.average > self.limit {
                *slot = new;
            }
            return false;
        }
        let ends = slot.stamp > now;
        let gap = if ends { (TIMESLOT + now).saturating_sub(slot.stamp) } else { now - slot.stamp };
        if ends {
            let timeslots = self.packets * slot.average / TIMESLOT as f64;
            slot.tau += 1.0 / if timeslots > 0.0 { timeslots } else { 2.0 };
        }
        slot.average = self.alpha * slot.average + (1.0 - self.alpha) * gap as f64;
        slot.stamp = now;
        // As many parts are less than one by rounding alone.
        let is_report = slot.tau >= 1.0 - 1e-9;
        if is_report {
            slot.tau = 0.0;
        }
        is_report
    }
}

/// The released P4 program. Times are in units of 1,024 ns.
#[derive(Clone, Debug)]
pub struct Program {
    slots: Box<[Option<Registers>]>,
    /// The mean gap at the threshold, and what a packet of another flow adds.
    limit: u16,
    collision: u16,
    threshold: u64,
}

#[derive(Clone, Copy, Debug)]
struct Registers {
    flow: u32,
    average: u16,
    /// 12 bits.
    stamp: u16,
    tau: u16,
}

/// Units of a timeslot, after which time stamps begin again.
const WRAP: u16 = 4096;

impl Program {
    /// Bits of a slot: flow, average, time stamp, tau, and whether it is in use.
    pub const SLOT_BITS: usize = 32 + 16 + 16 + 16 + 1;

    /// Tau from which on a flow is reported: the greatest that the thesis has.
    const TAU: u64 = 1850;

    /// As [`Simulator::new`]. The program has one weight of a gap, a 16th.
    pub fn new(slots: usize, threshold: u64, share: f64) -> Self {
        let limit = 1e9 / 1024.0 / threshold.max(1) as f64;
        Self {
            slots: vec![None; slots.max(1)].into(),
            limit: limit as u16,
            collision: (limit * share).ceil() as u16,
            threshold: threshold.max(1),
        }
    }

    /// Counts a packet; true if its flow is reported.
    pub fn observe(&mut self, key: Key, now: Time) -> bool {
        let (flow, now) = ((key.0 >> 32) as u32, (now.as_nanos() >> 10) as u16 % WRAP);
        let place = key.place(0, self.slots.len());
        let Some(entry) = self.slots.get_mut(place) else { return false };
        let new = Registers { flow, average: self.limit, stamp: now, tau: 0 };
        let Some(slot) = entry else {
            *entry = Some(new);
            return false;
        };
        if slot.flow != flow {
            let is_replaced = slot.average > self.limit;
            slot.average = slot.average.wrapping_add(self.collision);
            if is_replaced {
                *slot = new;
            }
            return false;
        }
        let ends = slot.stamp > now;
        let gap = if ends { WRAP - slot.stamp + now } else { now - slot.stamp };
        let before = slot.average;
        slot.average = if before > gap { before - before / 16 } else { before.wrapping_add(gap / 16) };
        slot.stamp = now;
        if u64::from(slot.tau) > Self::TAU {
            slot.tau = 0;
            return true;
        }
        // The table has the averages from 1 to the limit.
        if ends && (1..=self.limit).contains(&before) {
            let part = Self::TAU * u64::from(WRAP) / (self.threshold * u64::from(before));
            slot.tau = slot.tau.saturating_add(part.min(u16::MAX.into()) as u16);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use causeway_traffic::FlowKeys;
    use causeway_types::Span;

    use super::*;

    /// Packets of one flow at these microseconds: how many are reported by the simulator, and by the program.
    fn reports(micros: impl Iterator<Item = u64> + Clone) -> [usize; 2] {
        let (mut simulator, mut program) =
            (Simulator::new(16, 125, 0.99, 0.001), Program::new(16, 125, 0.0125));
        let key = FlowKeys::with_seed(3).rule_pair(1, 0);
        let at = |micros| Time::from_secs(50) + Span::from_micros(micros);
        [
            micros.clone().filter(|micros| simulator.observe(key, at(*micros))).count(),
            micros.filter(|micros| program.observe(key, at(*micros))).count(),
        ]
    }

    // Input:  single flows for 20 s, of packets of 1000 octets where 1 Mbit/s is heavy: paced with 0.2, 0.5 and 2 Mbit/s.
    // Output: reports of flows below the threshold, too: of 0.5 Mbit/s by the simulator, whose tau counts averages above the limit, and of 0.2 Mbit/s
    //         by the program, whose time stamps begin again each 4.2 ms.
    #[test]
    fn slow_flows_are_reported() {
        let paced = |gap: u64| (0..20_000_000 / gap).map(move |packet| packet * gap);
        let [slow, half, fast] = [40_000, 16_000, 4000].map(|gap| reports(paced(gap)));
        assert_eq!((half[0], slow[1]), (10, 3), "{slow:?} {half:?} {fast:?}");
        assert!(fast[0] > 20, "{fast:?}");
    }

    // Input:  two flows in one slot: one of 1 packet a ms, then one of 10,000 a second without the former.
    // Output: the latter takes the slot after as many packets as the average needs to exceed the limit, in the simulator with the packet that
    //         exceeds it, in the program with the one after.
    #[test]
    fn a_slot_is_taken_when_the_average_is_above_the_limit() {
        let (mut simulator, mut program) = (Simulator::new(1, 125, 0.99, 0.1), Program::new(1, 125, 0.1));
        let keys = FlowKeys::with_seed(3);
        let [one, other] = [1, 2].map(|flow| keys.rule_pair(flow, 0));
        let at = |micros| Time::from_secs(50) + Span::from_micros(micros);
        assert!(!simulator.observe(one, at(0)) && !program.observe(one, at(0)));
        // Its average is that of the limit: one addition exceeds it.
        simulator.observe(other, at(100));
        assert_eq!(simulator.slots[0].unwrap().flow, (other.0 >> 32) as u32);
        program.observe(other, at(100));
        assert_eq!(program.slots[0].unwrap().flow, (one.0 >> 32) as u32);
        program.observe(other, at(200));
        assert_eq!(program.slots[0].unwrap().flow, (other.0 >> 32) as u32);
    }
}

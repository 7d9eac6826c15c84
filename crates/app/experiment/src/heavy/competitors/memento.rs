//! Memento: R. Ben Basat, G. Einziger, I. Keslassy, A. Orda, S. Vargaftik, E. Waisbard, "Memento: Making Sliding Windows Efficient for
//! Heavy Hitters", CoNEXT 2018.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use causeway_traffic::Key;
use causeway_types::Time;

use super::space_saving::{KeyHasher, SpaceSaving};
use super::{Counter, entries};
use crate::heavy::truth::WINDOW;

/// Space-Saving over a frame, which is a window long, in as many blocks as there are entries. Each time that a flow's count has grown by the
/// packets of a block, that is noted until the block has left the window. The estimate is what is noted of the flow, and the rest of
/// its count.
///
/// Two things are other than in the paper. The window is a second instead of a number of packets, and a block has as many packets as those
/// of the last frame say. Every packet is counted: the paper's tau is 1, with which it errs least.
#[derive(Clone, Debug)]
pub struct Memento {
    entries: usize,
    /// Blocks that are added to each estimate.
    added: u32,
    recent: SpaceSaving,
    /// What was noted: the block in which, the flow, and the packets.
    notes: VecDeque<(u64, Key, u32)>,
    /// The packets that are noted of a flow.
    noted: HashMap<u64, u32, BuildHasherDefault<KeyHasher>>,
    /// Packets of a block; none in the first frame, whose packets are not known.
    block: Option<u32>,
    frame: u64,
    /// Packets of this frame.
    packets: u32,
}

/// An entry of Space-Saving; a note of a flow's identity for each block; identity and packets of what is noted.
const ENTRY_BITS: usize = 128 + 32 + 48;

impl Memento {
    /// The paper adds two blocks, so that no estimate is too low; none makes it nearest on average. Counts are those of Space-Saving, or what
    /// is guaranteed of them.
    pub fn new(octets: usize, added: u8, is_guaranteed: bool) -> Self {
        let entries = entries(octets, ENTRY_BITS);
        Self {
            entries,
            added: added.into(),
            recent: SpaceSaving::with_entries(entries, is_guaranteed),
            notes: VecDeque::new(),
            noted: HashMap::default(),
            block: None,
            frame: 0,
            packets: 0,
        }
    }

    /// Counts a packet of a flow, and estimates its packets in the last second. Times must not run back.
    pub fn count(&mut self, key: Key, now: Time) -> u32 {
        let frame = now.as_nanos() / WINDOW.as_nanos() as u64;
        if frame != self.frame {
            self.frame = frame;
            self.recent.reset();
            // A frame has a packet, unless it is the first.
            if self.packets > 0 {
                self.block = Some((self.packets / self.entries as u32).max(1));
            }
            self.packets = 0;
        }
        let in_window = self.entries as u64;
        let length = (WINDOW.as_nanos() as u64 / in_window).max(1);
        let current = now.as_nanos() / length;
        while let Some((block, key, packets)) = self.notes.front().copied() {
            if block + in_window >= current {
                break;
            }
            self.notes.pop_front();
            if let Some(noted) = self.noted.get_mut(&key.0) {
                *noted -= packets;
                if *noted == 0 {
                    self.noted.remove(&key.0);
                }
            }
        }
        self.packets += 1;
        let count = self.recent.count(key);
        let Some(block) = self.block else { return count };
        let rest = count % block;
        if rest == 0 {
            self.notes.push_back((current, key, block));
            *self.noted.entry(key.0).or_default() += block;
        }
        self.noted.get(&key.0).copied().unwrap_or(0) + rest + self.added * block
    }
}

#[cfg(test)]
mod tests {
    use causeway_traffic::FlowKeys;
    use causeway_types::Span;

    use super::*;

    // Input:  flows of 2, 20 and 200 packets in each tenth of a second for four seconds, then ten seconds of the first alone; memory for a note of each packet,
    //         and for blocks of 20 packets.
    // Output: from the third second on each estimate is the packets of the last second: to a packet or two; to two blocks. What has left the window is
    //         forgotten.
    #[test]
    fn estimates_are_of_the_last_second() {
        let keys = FlowKeys::with_seed(5);
        for (entries, error) in [(4000, 2), (111, 40)] {
            let mut memento = Memento::new(entries * ENTRY_BITS / 8, 0, false);
            assert_eq!(memento.entries, entries);
            for tenth in 0..140_u64 {
                let mut packets: Vec<(u64, u32)> = [2_u32, 20, 200]
                    .into_iter()
                    .filter(|rate| tenth < 40 || *rate == 2)
                    .flat_map(|rate| {
                        (0..rate).map(move |packet| (u64::from(packet * (100_000_000 / rate)), rate))
                    })
                    .collect();
                packets.sort_unstable();
                for (nanos, rate) in packets {
                    let now = Time::from_nanos(tenth * 100_000_000 + nanos);
                    let estimate = memento.count(keys.rule_pair(rate.into(), 0), now);
                    if tenth >= 20 {
                        assert!(
                            estimate.abs_diff(rate * 10) <= error,
                            "{entries} {tenth} {rate}: {estimate}"
                        );
                    }
                }
            }
            assert!(memento.noted.len() <= 1 && memento.notes.len() <= 21, "{:?}", memento.notes.len());
        }
    }

    // Input:  a flow of ten packets in a second, four seconds; none, one and two blocks added.
    // Output: estimates of none, one and two packets more.
    #[test]
    fn blocks_are_added() {
        let key = FlowKeys::with_seed(5).rule_pair(1, 0);
        let last = |added| {
            let mut memento = Memento::new(4000, added, true);
            let times = (0..40).map(|packet| Time::default() + Span::from_millis(100) * packet);
            times.map(|now| memento.count(key, now)).last().unwrap()
        };
        let none = last(0);
        assert_eq!([last(1), last(2)], [none + 1, none + 2]);
    }

    // Input:  memory of an octet; packets of seven flows in turns, with pauses of up to twenty seconds.
    // Output: once pauses are longer than two seconds, each estimate is the packet itself and two blocks of one packet that are added.
    #[test]
    fn the_least_memory_will_do() {
        let mut memento = Memento::new(1, 2, false);
        let keys = FlowKeys::with_seed(5);
        for packet in 0..1000_u64 {
            let now = Time::from_nanos(packet * packet * 10_000_000);
            let estimate = memento.count(keys.rule_pair(packet % 7, 0), now);
            assert!(estimate == 3 || packet <= 101 && estimate > 0, "{packet}: {estimate}");
        }
    }
}

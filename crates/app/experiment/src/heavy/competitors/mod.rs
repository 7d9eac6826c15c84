//! Detectors of others, from the descriptions in their papers.
//!
//! All of them but Memento and HK-IPG count packets in disjoint seconds: they are emptied at the beginning of each. A flow is reported when its estimate
//! reaches the threshold, at that packet, so that its key need not be stored and no memory is needed for a list of flows. Identities are
//! hashes of 16 or 32 bits, counts have 16 bits: less than in the papers' programs, so that no competitor loses by its coding.

pub mod elastic;
pub mod hash_pipe;
pub mod heavy_keeper;
pub mod memento;
pub mod precision;
pub mod released;
pub mod salsa;
pub mod space_saving;
pub mod waving;

use causeway_traffic::Key;

/// Counts packets of flows.
pub trait Counter {
    /// Counts a packet of a flow, and estimates its packets since the last reset.
    fn count(&mut self, key: Key) -> u32;

    /// Forgets all packets.
    fn reset(&mut self);
}

/// A flow's identity and its packets, as several of them have it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Entry {
    identity: u32,
    count: u32,
}

/// Bits of an entry with an identity of so many bits.
const fn entry_bits(identity_bits: u32) -> usize {
    identity_bits as usize + 16
}

/// The identity of a flow: the low bits of its key, none of them zero in all, since that is an empty entry's.
const fn identity(key: Key, bits: u32) -> u32 {
    let low = (key.0 & ((1_u64 << bits) - 1)) as u32;
    if low == 0 { 1 } else { low }
}

/// How many entries of so many bits a memory has; at least one.
const fn entries(octets: usize, bits: usize) -> usize {
    let entries = octets * 8 / bits;
    if entries == 0 { 1 } else { entries }
}

#[cfg(test)]
mod tests {
    use causeway_traffic::FlowKeys;

    use super::*;

    fn all(octets: usize) -> Vec<(&'static str, Box<dyn Counter>)> {
        vec![
            ("HeavyKeeper", Box::new(heavy_keeper::HeavyKeeper::new(octets, 2, 1.08, 7))),
            ("Elastic Sketch", Box::new(elastic::ElasticSketch::new(octets, 50))),
            ("PRECISION", Box::new(precision::Precision::new(octets, 2, 32, 7))),
            ("HashPipe", Box::new(hash_pipe::HashPipe::new(octets, 4))),
            ("Space-Saving", Box::new(space_saving::SpaceSaving::new(octets, false))),
            ("WavingSketch", Box::new(waving::WavingSketch::new(octets, 8, 32))),
            ("SALSA", Box::new(salsa::Salsa::new(octets, 3, false))),
        ]
    }

    fn key(flow: u64) -> Key {
        FlowKeys::with_seed(5).rule_pair(flow, 0)
    }

    // Input:  twenty flows of 100 to 2,000 packets in turns, with much memory; the same once more after a reset.
    // Output: every estimate is exact, each time.
    #[test]
    fn few_flows_are_counted_exactly() {
        for (name, mut counter) in all(64 << 10) {
            for _ in 0..2 {
                for packet in 1..=2000_u32 {
                    for flow in (1..=20_u32).filter(|flow| packet <= flow * 100) {
                        assert_eq!(counter.count(key(flow.into())), packet, "{name}");
                    }
                }
                counter.reset();
            }
        }
    }

    // Input:  a flow of 1,000 packets among 20,000 of three packets each, in little memory.
    // Output: the heavy flow's estimate is near its count in all of them; each estimate is at least one packet or none.
    #[test]
    fn a_heavy_flow_stands_out() {
        for (name, mut counter) in all(8 << 10) {
            let mut estimate = 0;
            for packet in 0..61_000_u64 {
                match packet % 61 {
                    0 => estimate = counter.count(key(0)),
                    _ => {
                        counter.count(key(1 + packet * 2_654_435_761 % 20_000));
                    }
                }
            }
            assert!((500..1800).contains(&estimate), "{name}: {estimate}");
        }
    }

    // Input:  memories of one octet; two hundred packets of one flow, then a thousand of seven flows.
    // Output: the flow is counted exactly while it is alone; no estimate is above the number of all packets.
    #[test]
    fn the_least_memory_will_do() {
        for (name, mut counter) in all(1) {
            for packet in 1..=200 {
                assert_eq!(counter.count(key(0)), packet, "{name}");
            }
            for packet in 201..=1200 {
                let estimate = counter.count(key(u64::from(packet) % 7));
                assert!(estimate <= packet, "{name} {packet}: {estimate}");
            }
        }
    }
}

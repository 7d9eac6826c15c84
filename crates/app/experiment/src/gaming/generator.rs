//! Synthetic flows of games.

use causeway_traffic::Random;
use causeway_types::{Direction, Span, Time};

/// One direction of a game: frames of packets.
#[derive(Clone, Copy, Debug)]
struct Side {
    /// Mean octets of an IP packet.
    size: f64,
    /// Mean packets of a frame.
    packets: f64,
    /// Mean microseconds between the first packets of two frames.
    gap: f64,
}

/// A game, as measured over Xbox Cloud Gaming: medians of 13 flows of the Leris Lab, with sizes less the Ethernet header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Game {
    /// Its name, which says that it is synthetic.
    pub(super) name: &'static str,
    uplink: Side,
    downlink: Side,
}

/// The games.
pub(super) const GAMES: [Game; 3] = [
    Game {
        name: "synthetic, as Fortnite",
        uplink: Side { size: 121.7, packets: 1.39, gap: 11_950.0 },
        downlink: Side { size: 1038.7, packets: 3.1408, gap: 4200.0 },
    },
    Game {
        name: "synthetic, as Forza Horizon 5",
        uplink: Side { size: 121.7, packets: 1.29, gap: 12_050.0 },
        downlink: Side { size: 1028.5, packets: 3.39, gap: 4710.0 },
    },
    Game {
        name: "synthetic, as Mortal Kombat 11",
        uplink: Side { size: 122.4, packets: 1.67, gap: 21_220.0 },
        downlink: Side { size: 1067.1, packets: 3.47, gap: 4420.0 },
    },
];

/// Nanoseconds between the packets of a frame.
const WITHIN_FRAME: u64 = 60_000;

/// A packet of a synthetic flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Packet {
    pub(super) time: Time,
    pub(super) direction: Direction,
    pub(super) octets: u32,
}

impl Game {
    /// The packets of a flow of this length, from a time that the seed gives. Frame gaps vary by half of their mean, sizes by 15 %, and
    /// packets of a frame from one to twice their mean less one.
    pub(super) fn flow(&self, seed: u64, length: Span) -> Vec<Packet> {
        let mut random = Random::with_seed(seed);
        let mut packets = Vec::new();
        for (direction, side) in [(Direction::Uplink, self.uplink), (Direction::Downlink, self.downlink)] {
            let begin = Time::from_secs(100) + Span::from_micros(random.bits().into());
            let mut frame = begin;
            while frame.since(begin) < length {
                let count = 1 + (share(&mut random) * (2.0 * side.packets - 1.0)) as u64;
                for packet in 0..count {
                    let octets = (side.size * (0.85 + 0.3 * share(&mut random))).round() as u32;
                    let time = frame + Span::from_nanos(packet * WITHIN_FRAME);
                    packets.push(Packet { time, direction, octets });
                }
                let micros = side.gap * (0.5 + share(&mut random));
                frame = frame + Span::from_nanos((micros * 1e3) as u64);
            }
        }
        packets.sort_by_key(|packet| packet.time);
        packets
    }
}

/// From zero to one.
fn share(random: &mut Random) -> f64 {
    f64::from(random.bits()) / 65_536.0
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a minute of each game.
    // Output: rates and sizes within a tenth of those measured: 750 to 810 packets to the UE in a second, 78 to 117 from it.
    #[test]
    fn flows_are_as_measured() {
        for game in GAMES {
            let packets = game.flow(3, Span::from_secs(60));
            assert!(packets.is_sorted_by_key(|packet| packet.time), "{game:?}");
            for (wanted, side) in [(Direction::Uplink, game.uplink), (Direction::Downlink, game.downlink)] {
                let of: Vec<_> = packets.iter().filter(|packet| packet.direction == wanted).collect();
                let rate = of.len() as f64 / 60.0;
                let size = of.iter().map(|packet| f64::from(packet.octets)).sum::<f64>() / of.len() as f64;
                let expected = side.packets * 1e6 / side.gap;
                assert!(
                    (rate / expected - 1.0).abs() < 0.1 && (size / side.size - 1.0).abs() < 0.01,
                    "{game:?} {rate}"
                );
            }
        }
    }
}

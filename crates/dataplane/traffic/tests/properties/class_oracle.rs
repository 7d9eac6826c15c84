//! The features of a window in floating point, from all of its packets.

use causeway_traffic::classes::Feature;
use causeway_types::{Direction, Span, Time};

/// The packets of a rule pair since its first one.
#[derive(Clone, Debug, Default)]
pub(crate) struct WindowOracle {
    packets: Vec<(Direction, f64, Time)>,
    /// Packets before this one do not begin a gap.
    since: usize,
}

impl WindowOracle {
    /// Adds a packet. Times must not run back.
    pub(crate) fn observe(&mut self, direction: Direction, octets: u32, now: Time) {
        self.packets.push((direction, octets.into(), now));
    }

    /// Gaps begin anew with the next packet.
    pub(crate) const fn pause(&mut self) {
        self.since = self.packets.len();
    }

    /// The features of the window with this number, of this length, in whole units; a mean of nothing is not a number.
    pub(crate) fn features(&self, window: u32, length: Span) -> [f64; 6] {
        let begin = self.packets.first().map_or(Time::default(), |(_, _, time)| *time);
        let number = |time: Time| time.since(begin).as_nanos() / length.as_nanos();
        let of = |wanted: Direction| {
            let all: Vec<_> = self.packets.iter().filter(|(direction, ..)| *direction == wanted).collect();
            let inside = |time: &Time| number(*time) == u128::from(window);
            let sizes: Vec<f64> =
                all.iter().filter(|(_, _, time)| inside(time)).map(|(_, size, _)| *size).collect();
            let since = self.packets.get(self.since).map_or(begin, |(_, _, time)| *time);
            let gaps: Vec<f64> = all
                .windows(2)
                .filter(|pair| inside(&pair[1].2) && pair[0].2 >= since)
                .map(|pair| pair[1].2.since(pair[0].2).as_secs_f64() * 1e6)
                .collect();
            let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
            (sizes.len() as f64, mean(&sizes), mean(&gaps))
        };
        let (up, down) = (of(Direction::Uplink), of(Direction::Downlink));
        [up.0, down.0, up.1, down.1, up.2, down.2]
    }
}

/// The features in whole units.
pub(crate) fn in_units(values: [u32; 6]) -> [f64; 6] {
    let mut units = [0.0; 6];
    for (place, feature) in Feature::ALL.into_iter().enumerate() {
        units[place] = f64::from(values[place]) / f64::from(feature.parts());
    }
    units
}

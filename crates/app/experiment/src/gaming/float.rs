//! Windows and trees in floating point, for comparison.

use causeway_traffic::classes::{Closed, Feature, Node, PairWindow, Tree};
use causeway_types::{Direction, Span, Time};

/// The packets of a direction in a window.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: f64,
    octets: f64,
    gaps: f64,
    seconds: f64,
    last: Option<Time>,
}

/// A window measured in both ways at once: the integers say when it ends.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Both {
    window: PairWindow,
    sums: [Sums; 2],
}

impl Both {
    /// Takes a packet. Gives the window before in integers, and in floating point in the units of integers.
    pub(super) fn observe(
        &mut self,
        direction: Direction,
        octets: u32,
        now: Time,
        length: Span,
    ) -> Option<(Closed, [f64; 6])> {
        let closed = self.window.observe(direction, octets, now, length);
        let both = closed.map(|closed| (closed, self.features()));
        if let Some((closed, _)) = both {
            for sums in &mut self.sums {
                let last = sums.last.filter(|_| closed.empty == 0);
                *sums = Sums { last, ..Sums::default() };
            }
        }
        let sums = &mut self.sums[usize::from(direction == Direction::Downlink)];
        sums.packets += 1.0;
        sums.octets += f64::from(octets);
        if let Some(last) = sums.last {
            sums.gaps += 1.0;
            sums.seconds += now.since(last).as_secs_f64();
        }
        sums.last = sums.last.max(Some(now));
        both
    }

    fn features(&self) -> [f64; 6] {
        let [up, down] = self.sums;
        let size = |sums: Sums| {
            let parts = f64::from(Feature::UplinkSize.parts());
            if sums.packets > 0.0 { sums.octets / sums.packets * parts } else { 0.0 }
        };
        let gap = |sums: Sums| {
            let parts = 1e6 * f64::from(Feature::UplinkGap.parts());
            if sums.gaps > 0.0 { sums.seconds / sums.gaps * parts } else { f64::INFINITY }
        };
        [up.packets, down.packets, size(up), size(down), gap(up), gap(down)]
    }
}

/// The class by comparing floating-point features with the thresholds. Between a threshold and the next integer the middle decides.
pub(super) fn classify(tree: &Tree, features: &[f64; 6]) -> u8 {
    let mut place = 0_usize;
    while let Some(node) = tree.nodes().get(place) {
        match *node {
            Node::Leaf { class } => return class,
            Node::Split { feature, threshold, below, above } => {
                let value = features[feature as usize];
                place = usize::from(if value < f64::from(threshold) + 0.5 { below } else { above });
            }
        }
    }
    0
}

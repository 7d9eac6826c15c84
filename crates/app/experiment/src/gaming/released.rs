//! The decision tree that was released with the thesis, in the units of this project.
//!
//! Its thresholds are those of the simulator in intrig-unicamp/cg-classifier (Apache-2.0): packets from the UE in a second, gaps in
//! microseconds, sizes in octets of Ethernet frames.

use causeway_traffic::classes::{Feature, Node, Tree, TreeError};

/// Octets of an Ethernet header, which its sizes have.
const ETHERNET: u32 = 14;

/// A tree to be.
enum Way {
    Class(u8),
    Split(Feature, u32, Box<Way>, Box<Way>),
}

const OTHER: Way = Way::Class(0);
const GAME: Way = Way::Class(1);

/// Values up to the threshold go the first way.
fn split(feature: Feature, threshold: u32, below: Way, above: Way) -> Way {
    let threshold = match feature {
        Feature::UplinkSize | Feature::DownlinkSize => (threshold - ETHERNET) * feature.parts(),
        _ => threshold * feature.parts(),
    };
    Way::Split(feature, threshold, Box::new(below), Box::new(above))
}

impl Way {
    /// Adds the nodes of this way; gives the first.
    fn write(&self, nodes: &mut Vec<Node>) -> u16 {
        let place = nodes.len();
        match self {
            Self::Class(class) => nodes.push(Node::Leaf { class: *class }),
            Self::Split(feature, threshold, one, two) => {
                nodes.push(Node::Leaf { class: 0 });
                let (below, above) = (one.write(nodes), two.write(nodes));
                let node = Node::Split { feature: *feature, threshold: *threshold, below, above };
                nodes.get_mut(place).into_iter().for_each(|known| *known = node);
            }
        }
        u16::try_from(place).unwrap_or(u16::MAX)
    }
}

/// The tree for windows of this length; it was made for a second, and the count of packets is scaled.
///
/// # Errors
/// [`TreeError`], which does not occur.
pub fn tree(window_millis: u32) -> Result<Tree, TreeError> {
    use Feature::{DownlinkGap, DownlinkSize, UplinkGap, UplinkPackets, UplinkSize};
    // At most 61.5 packets in a second.
    let packets = 615 * window_millis / 10_000;
    let slow = split(
        DownlinkGap,
        2180,
        split(UplinkSize, 178, split(DownlinkSize, 909, GAME, OTHER), split(UplinkGap, 172_066, GAME, OTHER)),
        split(UplinkSize, 64, split(DownlinkSize, 812, GAME, OTHER), OTHER),
    );
    let large = split(DownlinkGap, 1288, split(UplinkSize, 100, OTHER, GAME), OTHER);
    let frequent =
        split(DownlinkGap, 9361, split(UplinkSize, 63, OTHER, split(DownlinkSize, 1150, GAME, large)), OTHER);
    let fast = split(
        UplinkSize,
        418,
        split(UplinkGap, 17_416, frequent, split(DownlinkGap, 3198, GAME, OTHER)),
        OTHER,
    );
    let mut nodes = Vec::new();
    split(UplinkPackets, packets, slow, fast).write(&mut nodes);
    Tree::new(nodes, 2)
}

#[cfg(test)]
mod tests {
    use causeway_traffic::classes::{TableLimits, Tables, Vector};

    use super::*;

    fn class(values: [u32; 6]) -> u8 {
        let [up, down, up_size, down_size, up_gap, down_gap] = values;
        let vector = [up, down, (up_size - 14) * 16, (down_size - 14) * 16, up_gap * 16, down_gap * 16];
        tree(1000).unwrap().classify(&Vector::new(vector))
    }

    // Input:  windows that the released simulator calls gaming, and ones that it does not, one for each way.
    // Output: the same classes; the tables have 20 ranges, one more than with gaps that stop at 67 ms.
    #[test]
    fn its_ways_are_those_of_the_simulator() {
        for gaming in [
            [61, 500, 178, 909, 16_000, 2180],
            [61, 500, 179, 1400, 172_066, 2180],
            [61, 400, 64, 812, 16_000, 2181],
            [62, 400, 64, 1150, 17_416, 9361],
            [62, 800, 101, 1151, 17_416, 1288],
            [62, 800, 418, 1400, 17_417, 3198],
        ] {
            assert_eq!(class(gaming), 1, "{gaming:?}");
        }
        for other in [
            [61, 500, 178, 910, 16_000, 2180],
            [61, 500, 179, 1400, 172_067, 2180],
            [61, 400, 64, 813, 16_000, 2181],
            [61, 400, 65, 812, 16_000, 2181],
            [62, 400, 63, 1150, 17_416, 9361],
            [62, 800, 100, 1151, 17_416, 1288],
            [62, 800, 101, 1151, 17_416, 1289],
            [62, 800, 418, 1400, 17_417, 3199],
            [62, 800, 419, 1400, 17_417, 3198],
            [62, 100, 200, 1000, 17_416, 9362],
        ] {
            assert_eq!(class(other), 0, "{other:?}");
        }
        let tree = tree(1000).unwrap();
        let tables = Tables::new(&tree, &TableLimits::default()).unwrap();
        assert_eq!((tables.range_rows().0, tables.cells(), tree.leaves()), (20, 720, 16));
    }
}

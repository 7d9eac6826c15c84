//! Application classes: features against floating point, tables against their tree, verdicts against a count.

use causeway_traffic::Random;
use causeway_traffic::classes::{
    Classifier, Feature, Model, Node, PairClass, PairWindow, Sample, TableError, TableLimits, Tables,
    Training, Tree, Vector, Verdict,
};
use causeway_types::{Direction, Span, Time};
use proptest::prelude::*;

use super::class_oracle::{WindowOracle, in_units};

const WINDOWS: [Span; 3] = [Span::from_millis(300), Span::from_millis(500), Span::from_secs(1)];

/// How packets follow each other.
#[derive(Clone, Copy, Debug)]
enum Process {
    Constant,
    /// 30 % around the mean.
    Paced,
    Exponential,
    /// Packets of video frames at 60 Hz, close behind each other.
    Frames(u32),
    /// Player input: every 8 ms, or every 32 ms.
    Input,
}

const PROCESSES: [Process; 6] = [
    Process::Constant,
    Process::Paced,
    Process::Exponential,
    Process::Frames(15),
    Process::Frames(5),
    Process::Input,
];

impl Process {
    /// The gap before packet `number`, in nanoseconds.
    fn gap(self, number: u32, random: &mut Random) -> u64 {
        let share = f64::from(random.bits()) / 65536.0;
        let nanos = match self {
            Self::Constant => 1_100_000.0,
            Self::Paced => 1_100_000.0 * (0.7 + 0.6 * share),
            Self::Exponential => -1_100_000.0 * (1.0 - share).ln(),
            Self::Frames(packets) if number.is_multiple_of(packets) => {
                16_666_667.0 - f64::from(packets - 1) * 60_000.0
            }
            Self::Frames(_) => 60_000.0 * (0.5 + share),
            Self::Input if share < 0.8 => 8_000_000.0,
            Self::Input => 32_000_000.0,
        };
        nanos as u64
    }
}

// Input:  each of the six processes with each length of windows, for 20 s; packets of 60 to 1,500 octets.
// Output: in every window the mean gap and the mean size differ from those in floating point by less than 2 %, and the counts do
//         not differ; the greatest difference is in truth a sixteenth of a microsecond or octet.
#[test]
fn means_are_those_of_floating_point() {
    for (place, process) in PROCESSES.into_iter().enumerate() {
        for length in WINDOWS {
            let mut random = Random::with_seed(place as u64);
            let (mut pair, mut oracle) = (PairWindow::default(), WindowOracle::default());
            let (mut now, mut windows) = (Time::from_secs(3), 0);
            for number in 0_u32.. {
                now = now + Span::from_nanos(process.gap(number, &mut random));
                let octets = 60 + u32::from(random.bits() % 1441);
                let closed = pair.observe(Direction::Downlink, octets, now, length);
                if let Some(closed) = closed {
                    let (found, exact) = (in_units(closed.vector.values()), oracle.features(windows, length));
                    assert_eq!(found[1], exact[1], "{process:?}");
                    for feature in [3, 5] {
                        let error = (found[feature] - exact[feature]).abs();
                        assert!(error <= 0.02 * exact[feature], "{process:?} {found:?} {exact:?}");
                        assert!(error <= 1.0 / 16.0, "{process:?} {found:?} {exact:?}");
                    }
                    windows += 1;
                }
                oracle.observe(Direction::Downlink, octets, now);
                if now > Time::from_secs(23) {
                    break;
                }
            }
            assert!(windows >= 19, "{process:?} {windows}");
        }
    }
}

/// A value of a feature: anywhere, or small.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0..2000_u32]
}

fn vector() -> impl Strategy<Value = Vector> {
    prop::array::uniform6(value()).prop_map(Vector::new)
}

fn samples(classes: u8) -> impl Strategy<Value = Vec<Sample>> {
    let sample = (vector(), 0..classes).prop_map(|(vector, class)| Sample { vector, class });
    prop::collection::vec(sample, 2..200)
}

/// A tree: leaves are split one after the other.
fn tree() -> impl Strategy<Value = Tree> {
    let split = (any::<prop::sample::Index>(), 0..6_usize, value(), 0..3_u8, 0..3_u8);
    prop::collection::vec(split, 0..16).prop_map(|splits| {
        let mut nodes = vec![Node::Leaf { class: 0 }];
        let mut depths = vec![0];
        for (leaf, feature, threshold, one, two) in splits {
            let is_open = |place: &usize| matches!(nodes[*place], Node::Leaf { .. }) && depths[*place] < 12;
            let open: Vec<usize> = (0..nodes.len()).filter(is_open).collect();
            let place = *leaf.get(&open);
            let feature = Feature::ALL[feature];
            let threshold = threshold.min(feature.most() - 1);
            let below = nodes.len() as u16;
            nodes[place] = Node::Split { feature, threshold, below, above: below + 1 };
            nodes.extend([Node::Leaf { class: one }, Node::Leaf { class: two }]);
            depths.extend([depths[place] + 1; 2]);
        }
        Tree::new(nodes, 3).unwrap()
    })
}

/// The vectors on both sides of all thresholds, with the other values of `base`.
fn edges(tree: &Tree, base: &Vector) -> Vec<Vector> {
    let mut edges = Vec::new();
    for (place, feature) in Feature::ALL.into_iter().enumerate() {
        for threshold in tree.thresholds(feature) {
            for value in [threshold.saturating_sub(1), threshold, threshold + 1] {
                let mut values = base.values();
                values[place] = value;
                edges.push(Vector::new(values));
            }
        }
    }
    edges
}

fn model(tree: Tree) -> Model {
    let classes = ["other", "cloud-gaming", "ar"].map(String::from).into();
    Model::new(classes, 300, 2, tree).unwrap()
}

/// A vector of values of any magnitude.
fn random_vector(random: &mut Random) -> Vector {
    let mut values = [0; 6];
    for value in &mut values {
        let shift = random.bits() % 24;
        *value = (u32::from(random.bits()) << 8 | u32::from(random.bits() >> 8)) >> shift;
    }
    Vector::new(values)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    // Input:  any tree of up to 16 splits.
    // Output: its tables give the same class in every cell, on both sides of each threshold, and for a thousand vectors; so
    //         a million vectors in all.
    #[test]
    fn tables_are_equal_to_their_tree(
        tree in tree(),
        bases in prop::collection::vec(vector(), 10),
        seed: u64,
    ) {
        let tables = match Tables::new(&tree, &TableLimits::default()) {
            Ok(tables) => tables,
            Err(TableError::TooManyCodeBits { bits, .. }) => {
                prop_assert!(bits > 16);
                return Ok(());
            }
            Err(error) => panic!("{error}"),
        };
        prop_assert_eq!(tables.corners().count(), tables.cells());
        let mut random = Random::with_seed(seed);
        let random: Vec<Vector> = (0..1000).map(|_| random_vector(&mut random)).collect();
        let edges = bases.iter().flat_map(|base| edges(&tree, base));
        for vector in tables.corners().chain(edges).chain(random) {
            prop_assert_eq!(tables.classify(&vector), tree.classify(&vector), "{:?}", vector);
        }
    }

    // Input:  samples in two orders.
    // Output: the same tree, no deeper than permitted, with the permitted features only; its file is read as it was written.
    #[test]
    fn training_does_not_depend_on_order(
        samples in samples(3),
        rotation in any::<prop::sample::Index>(),
        max_depth in 1..6_usize,
        min_leaf in 1..20_usize,
        is_balanced: bool,
        feature in 0..6_usize,
    ) {
        let features = Feature::ALL[feature..].to_vec();
        let training = Training { max_depth, min_leaf, is_balanced, features: features.clone() };
        let tree = training.train(&samples, 3).unwrap();
        let mut others = samples.clone();
        others.rotate_left(rotation.index(samples.len()));
        others.reverse();
        prop_assert_eq!(&training.train(&others, 3).unwrap(), &tree);
        prop_assert!(tree.depth() <= max_depth);
        for feature in Feature::ALL {
            prop_assert!(features.contains(&feature) || tree.thresholds(feature).is_empty());
        }
    }

    // Input:  any classes of windows.
    // Output: the class is what at least two of the last three windows were, if there is such a class, else the one before.
    #[test]
    fn verdicts_are_majorities_of_three(windows in prop::collection::vec(0..4_u8, 1..60)) {
        let mut verdict = Verdict::default();
        let all: Vec<u8> = [0, 0].into_iter().chain(windows).collect();
        let mut expected = 0;
        for last in all.windows(3) {
            let majority = (0..4).find(|class| last.iter().filter(|window| *window == class).count() >= 2);
            let before = expected;
            expected = majority.unwrap_or(before);
            let change = verdict.observe(last[2]);
            prop_assert_eq!(verdict.class(), expected);
            prop_assert_eq!(change.map(|change| (change.from, change.to)), (before != expected).then_some((before, expected)));
        }
    }

    // Input:  packets in both directions with pauses of up to three windows.
    // Output: the features of every window are those of floating point, to a sixteenth; windows without packets are counted.
    #[test]
    fn windows_are_those_of_floating_point(
        packets in prop::collection::vec((any::<bool>(), 20..1500_u32, 0..900_000_000_u64), 2..200),
    ) {
        let length = WINDOWS[0];
        let (mut pair, mut oracle) = (PairWindow::default(), WindowOracle::default());
        let (mut now, mut window) = (Time::from_secs(1), 0);
        for (is_uplink, octets, gap) in packets {
            now = now + Span::from_nanos(if gap % 30 == 0 { gap } else { gap / 100 });
            let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
            if let Some(closed) = pair.observe(direction, octets, now, length) {
                let (found, exact) = (in_units(closed.vector.values()), oracle.features(window, length));
                for (place, feature) in Feature::ALL.into_iter().enumerate() {
                    let most = f64::from(feature.most()) / f64::from(feature.parts());
                    let expected = if exact[place].is_nan() { if place < 4 { 0.0 } else { most } } else { exact[place].min(most) };
                    prop_assert!((found[place] - expected).abs() <= 1.0 / 16.0, "{:?} {:?}", found, exact);
                }
                window += closed.empty + 1;
                if closed.empty > 0 {
                    oracle.pause();
                }
            }
            oracle.observe(direction, octets, now);
        }
    }

    // Input:  packets with pauses; the same with timers at any times between them.
    // Output: the same windows with packets, and as many windows in all.
    #[test]
    fn timers_change_no_window(
        packets in prop::collection::vec((any::<bool>(), 20..1500_u32, 0..900_000_000_u64, any::<prop::sample::Index>()), 2..200),
    ) {
        let length = WINDOWS[0];
        let (mut plain, mut timed) = (PairWindow::default(), PairWindow::default());
        let (mut windows, mut timed_windows) = (Vec::new(), Vec::new());
        let mut counts = [0_u32; 2];
        let mut now = Time::from_secs(1);
        for (is_uplink, octets, gap, timer) in packets {
            let gap = if gap % 10 == 0 { gap } else { gap / 50 };
            let between = now + Span::from_nanos(timer.index(gap as usize + 1) as u64);
            now = now + Span::from_nanos(gap);
            let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
            let by_timer = timed.expire(between, length);
            let by_packet = timed.observe(direction, octets, now, length);
            for closed in by_timer.into_iter().chain(by_packet) {
                counts[1] += closed.empty + 1;
                timed_windows.push(closed.vector);
            }
            if let Some(closed) = plain.observe(direction, octets, now, length) {
                counts[0] += closed.empty + 1;
                windows.push(closed.vector);
            }
        }
        timed_windows.retain(|vector| vector.has_packets(1) || vector.values()[..2] != [0, 0]);
        prop_assert_eq!(windows, timed_windows);
        prop_assert_eq!(counts[0], counts[1]);
    }

    // Input:  any packets at any times, also earlier ones.
    // Output: no panic; the class changes only to others.
    #[test]
    fn no_packet_panics(
        tree in tree(),
        packets in prop::collection::vec((any::<bool>(), any::<u32>(), any::<u64>()), 300),
    ) {
        let Ok(classifier) = Classifier::new(&model(tree), &TableLimits::default()) else { return Ok(()) };
        let mut pair = PairClass::default();
        for (is_uplink, octets, now) in packets {
            let direction = if is_uplink { Direction::Uplink } else { Direction::Downlink };
            let before = pair.class();
            let now = Time::from_nanos(now);
            let change = classifier.observe(&mut pair, direction, octets, now);
            prop_assert_eq!(change.is_some(), before != pair.class());
            classifier.expire(&mut pair, now + Span::from_nanos(octets.into()));
        }
    }
}

/// A tree with one split: more than 200 packets to the UE in 300 ms are class 1.
fn fast() -> Tree {
    let split = Node::Split { feature: Feature::DownlinkPackets, threshold: 200, below: 1, above: 2 };
    Tree::new(vec![split, Node::Leaf { class: 0 }, Node::Leaf { class: 1 }], 3).unwrap()
}

// Input:  a million vectors, and a tree that was trained on three clouds of them.
// Output: the tables of the tree give each the class that the tree does.
#[test]
fn a_trained_tree_equals_its_tables_on_a_million_vectors() {
    let mut random = Random::with_seed(5);
    let mut vector = |shift: u32| {
        let mut values = [0; 6];
        values
            .iter_mut()
            .for_each(|value| *value = u32::from(random.bits()) >> (random.bits() % 12) >> shift);
        Vector::new(values)
    };
    let samples: Vec<Sample> =
        (0..3000).map(|place| Sample { vector: vector(place % 3), class: (place % 3) as u8 }).collect();
    let training = Training { max_depth: 5, ..Training::default() };
    let tree = training.train(&samples, 3).unwrap();
    let tables = Tables::new(&tree, &TableLimits::default()).unwrap();
    assert!(tree.leaves() > 4, "{tree:?}");
    let mut seen = [0; 3];
    for _ in 0..1_000_000 {
        let vector = random_vector(&mut random);
        let class = tree.classify(&vector);
        assert_eq!(tables.classify(&vector), class, "{vector:?}");
        seen[usize::from(class)] += 1;
    }
    assert!(seen.iter().all(|count| *count > 1000), "{seen:?}");
}

// Input:  a game for 1.5 s, and then silence but for one packet after a second.
// Output: the class changes within 0.7 s of the first packet, and back with the packet after the silence.
#[test]
fn a_verdict_comes_within_a_second() {
    let classifier = Classifier::new(&model(fast()), &TableLimits::default()).unwrap();
    let mut pair = PairClass::default();
    let begin = Time::from_secs(9);
    let mut changes = Vec::new();
    for millis in 0..1500 {
        let now = begin + Span::from_millis(millis);
        let direction = if millis % 10 == 5 { Direction::Uplink } else { Direction::Downlink };
        if let Some(change) = classifier.observe(&mut pair, direction, 1000, now) {
            changes.push((millis, change.to));
        }
    }
    let late = begin + Span::from_millis(2900);
    let change = classifier.observe(&mut pair, Direction::Uplink, 100, late).unwrap();
    assert_eq!((changes, change.to), (vec![(600, 1)], 0));
    assert_eq!(size_of::<PairClass>(), 64);
}

// Input:  a game for 0.7 s, with a timer each 10 ms after it.
// Output: the timer ends its class 0.6 s after the window with its last packet begins.
#[test]
fn a_timer_notices_the_end_of_a_game() {
    let classifier = Classifier::new(&model(fast()), &TableLimits::default()).unwrap();
    let mut pair = PairClass::default();
    let at = |millis: u64| Time::from_secs(9) + Span::from_millis(millis);
    for millis in 0..700 {
        let direction = if millis % 10 == 5 { Direction::Uplink } else { Direction::Downlink };
        classifier.observe(&mut pair, direction, 1000, at(millis));
    }
    assert_eq!(pair.class(), 1);
    let ends = (700..3000).step_by(10).filter(|millis| classifier.expire(&mut pair, at(*millis)).is_some());
    assert_eq!((ends.collect::<Vec<_>>(), pair.class()), (vec![1200], 0));
}

// Input:  a hundred thousand packets of many rule pairs.
// Output: no allocation.
#[test]
fn packets_allocate_nothing() {
    let classifier = Classifier::new(&model(fast()), &TableLimits::default()).unwrap();
    let mut pairs = vec![PairClass::default(); 64];
    let tree = fast();
    let allocated = allocation_counter::measure(|| {
        for packet in 0..100_000_u64 {
            let pair = &mut pairs[(packet % 64) as usize];
            let direction = if packet % 5 == 0 { Direction::Uplink } else { Direction::Downlink };
            classifier.observe(pair, direction, 1000, Time::from_nanos(packet * 20_000));
            assert!(tree.classify(&Vector::new([packet as u32; 6])) < 2);
        }
    });
    assert_eq!(allocated.count_total, 0);
}

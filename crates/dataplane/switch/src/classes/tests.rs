//! The switch against the classifier of software, packet by packet.

use causeway_class_model::ModelFile;
use causeway_p4::profiles;
use causeway_traffic::classes::{Classifier, Feature, Model, Node, PairClass, TableLimits, Tree};
use causeway_types::{Direction, Span, Time};

use super::{
    ACTIONS, Classes, MOST_CLASSES, ModelRefused, PLACES, are_in, entries, member, window_length, window_of,
};
use crate::driver::{Program, Update};
use crate::model::State;
use crate::model::register::Side;

const WINDOW: u32 = 268;
const SESSIONS: u32 = 6;

fn program() -> Program {
    Program::default().with_application_classes()
}

const fn split(feature: Feature, threshold: u32, below: u16, above: u16) -> Node {
    Node::Split { feature, threshold, below, above }
}

const fn leaf(class: u8) -> Node {
    Node::Leaf { class }
}

fn model(nodes: Vec<Node>, classes: usize, least: u16) -> Model {
    let names = (0..classes).map(|class| format!("class-{class}")).collect();
    Model::new(names, WINDOW, least, Tree::new(nodes, classes).unwrap()).unwrap()
}

/// A tree whose splits are of counts, and of two thresholds of each mean size.
fn random_model(random: &mut fastrand::Rng) -> Model {
    let classes = random.usize(2..=5);
    let mut sizes = || [random.u32(600..23_000), random.u32(600..23_000)];
    let (up, down) = (sizes(), sizes());
    let mut nodes = vec![None];
    let mut next = 0;
    while next < nodes.len() {
        // Nodes in the order of their depth: those of the first three levels split.
        let node = if next < 7 && nodes.len() < 60 {
            let (feature, threshold) = match random.u8(0..4) {
                0 => (Feature::UplinkPackets, random.u32(0..30)),
                1 => (Feature::DownlinkPackets, random.u32(0..30)),
                2 => (Feature::UplinkSize, up[random.usize(0..2)]),
                _ => (Feature::DownlinkSize, down[random.usize(0..2)]),
            };
            let below = nodes.len() as u16;
            nodes.extend([None, None]);
            split(feature, threshold, below, below + 1)
        } else {
            leaf(random.usize(0..classes) as u8)
        };
        nodes[next] = Some(node);
        next += 1;
    }
    model(nodes.into_iter().flatten().collect(), classes, random.u16(1..6))
}

/// A session's place on the switch, for tests of several.
const fn place(session: u32) -> u32 {
    PLACES as u32 - 1 - 100 * session
}

const fn rule(session: u32, direction: Direction) -> u32 {
    1000 + 2 * session + direction as u32
}

/// The switch and the software; what the packets of the current window of each session were.
struct World {
    state: State,
    classes: Classes,
    classifier: Classifier,
    pairs: Vec<PairClass>,
    changes: usize,
}

impl World {
    fn new(model: &Model) -> Self {
        let program = program();
        let classes = Classes::of(&program).unwrap().unwrap();
        let mut updates = entries(&program, model).unwrap();
        for session in 0..SESSIONS {
            for direction in [Direction::Uplink, Direction::Downlink] {
                let entry = member(&program, rule(session, direction), direction, place(session));
                updates.extend(entry.map(Update::Insert));
            }
        }
        let mut state = State::new(program);
        state.write(Time::default(), &updates).unwrap();
        let classifier = Classifier::new(model, &TableLimits::default()).unwrap();
        Self { state, classes, classifier, pairs: vec![PairClass::default(); SESSIONS as usize], changes: 0 }
    }

    fn packet(&mut self, window: u64, session: u32, direction: Direction, octets: u16) -> Option<u8> {
        let now = Time::from_nanos(window * self.classifier.window().as_nanos() as u64);
        let pair = &mut self.pairs[session as usize];
        let expected = self.classifier.observe(pair, direction, octets.into(), now);
        let class = pair.class();
        self.state.begin_pass(Side::Egress);
        let rule = rule(session, direction);
        let found = self.classes.observe(&mut self.state, window as u16, rule, octets).unwrap();
        assert_eq!(found, expected.map(|change| change.to), "window {window}, session {session}");
        assert_eq!(self.register("class_of_sessions", session), u32::from(class));
        self.changes += usize::from(found.is_some());
        found
    }

    fn register(&self, name: &str, session: u32) -> u32 {
        let register = self.state.program().register_named(name).unwrap().id;
        self.state.register(register, place(session)).unwrap()[0]
    }
}

// Input:  200 random trees of up to five classes; six sessions with packets at random, in both directions, whose rates and sizes change, with windows
//         without packets, and beyond the number of windows that 16 bits hold.
// Output: after each packet the class of its session on the switch is that of the classifier, and so is each change.
#[test]
fn the_switch_says_the_same_as_software() {
    let mut random = fastrand::Rng::with_seed(21);
    let mut changes = 0;
    for _ in 0..200 {
        let mut world = World::new(&random_model(&mut random));
        let mut window = u64::from(u16::MAX) - random.u64(0..60);
        let mut sizes = [[0_u16; 2]; SESSIONS as usize].map(|of| of.map(|_| 100 * random.u16(1..14)));
        for _ in 0..80 {
            window += if random.u8(0..4) == 0 { random.u64(1..6) } else { 1 };
            for _ in 0..random.u32(1..150) {
                let session = random.u32(0..SESSIONS);
                let direction = if random.bool() { Direction::Uplink } else { Direction::Downlink };
                let size = sizes[session as usize][direction as usize];
                world.packet(window, session, direction, size + random.u16(0..100));
            }
            if random.u8(0..3) == 0 {
                sizes[random.usize(0..SESSIONS as usize)] = [random.u16(40..1400), random.u16(40..1400)];
            }
        }
        changes += world.changes;
    }
    assert!(changes > 1000, "{changes}");
}

// Input:  windows of packets whose mean size is just up to a threshold, and a sixteenth of an octet above it; packets of 65,535 octets, more than a sum holds.
// Output: the class of the threshold; the sum stays at its highest value, and the class is that of great sizes.
#[test]
fn means_are_compared_to_a_sixteenth() {
    let nodes = vec![split(Feature::DownlinkSize, 16 * 500 + 1, 1, 2), leaf(1), leaf(2)];
    let mut world = World::new(&model(nodes, 3, 1));
    let mut windows = |from: u64, sizes: &[u16]| {
        for window in from..from + 4 {
            world.packet(window, 0, Direction::Uplink, 60);
            for size in sizes {
                world.packet(window, 0, Direction::Downlink, *size);
            }
        }
        world.register("class_of_sessions", 0)
    };
    // 16 packets: 8,000 octets and 1 or 2 more.
    let with = |more: u16| [[500; 15].as_slice(), &[500 + more]].concat();
    assert_eq!(windows(10, &with(1)), 1);
    assert_eq!(windows(20, &with(2)), 2);
    assert_eq!(windows(30, &[u16::MAX; 2100]), 2);
    assert_eq!(world.register("class_sums_down_0", 0), i32::MAX as u32);
}

// Input:  packets of a rule that is nobody's; of a session without a model.
// Output: no register is written; no class.
#[test]
fn what_is_not_measured_costs_nothing() {
    let mut world = World::new(&model(vec![leaf(1)], 2, 1));
    world.state.begin_pass(Side::Egress);
    assert_eq!(world.classes.observe(&mut world.state, 7, 1, 100), Ok(None));
    assert_eq!(world.register("class_closings", 0), 0);

    let program = program();
    let classes = Classes::of(&program).unwrap().unwrap();
    let entry = member(&program, 1, Direction::Uplink, 3).map(Update::Insert);
    let mut state = State::new(program);
    state.write(Time::default(), &Vec::from_iter(entry)).unwrap();
    assert_eq!(classes.window(&mut state, Time::from_secs(1000)), 0);
    for window in 1..9 {
        state.begin_pass(Side::Egress);
        assert_eq!(classes.observe(&mut state, window, 1, 100), Ok(None));
    }
    assert!(Classes::of(&Program::default()).unwrap().is_none());
    assert_eq!(member(&Program::default(), 1, Direction::Uplink, 3), None);
}

// Input:  models with each length of windows.
// Output: windows of 2^28, 2^29 and 2^30 ns.
#[test]
fn windows_are_bits_of_the_time() {
    let now = Time::from_secs(100) + Span::from_millis(1);
    for (length, millis) in super::WINDOW_MILLIS.into_iter().enumerate() {
        let names = vec!["other".to_owned(), "video".to_owned()];
        let model = Model::new(names, millis, 1, Tree::new(vec![leaf(1)], 2).unwrap()).unwrap();
        let program = program();
        let classes = Classes::of(&program).unwrap().unwrap();
        let updates = entries(&program, &model).unwrap();
        let mut state = State::new(program);
        state.write(Time::default(), &updates).unwrap();
        let window = classes.window(&mut state, now);
        assert_eq!(u128::from(window), now.as_nanos() as u128 / window_length(length).as_nanos());
        assert_eq!(window, window_of(now, length));
        let error = window_length(length).as_nanos().abs_diff(u128::from(millis) * 1_000_000);
        assert!(error < 500_000, "{error}");
    }
}

/// A model file of the experiments: cloud gaming in windows of a second.
const GAMING: &str = include_str!("../../../../app/experiment/src/gaming/models/1000.json");

// Input:  a model file, whose windows have 1,000 ms; its tree with windows of 1,074 ms.
// Output: an error that says how to train it; the rows of the tree: the length of windows, limits, both packet counts, the one cell with a class, and what windows
//         agree about.
#[test]
fn a_model_file_fills_the_tables() {
    let model = ModelFile::decode(GAMING.as_bytes()).unwrap().into_model();
    assert_eq!(entries(&program(), &model), Err(ModelRefused::Window(1000)));
    let least = model.least_packets();
    let model = Model::new(model.classes().to_vec(), 1074, least, model.tree().clone()).unwrap();
    let program = program();
    let entries = entries(&program, &model).unwrap();
    let of = |name: &str| {
        let table = program.table_named(name).unwrap().id;
        let of_it = |update: &&Update| matches!(update, Update::Insert(it) if it.key.table == table);
        entries.iter().filter(of_it).count()
    };
    let names = ["class_windows", "class_limits", "class_cells", "class_members"];
    assert_eq!(names.map(of), [1, 1, 1, 0]);
    // 5 to 65,535 uplink; 5 to 322 and from 323 on downlink.
    assert_eq!((of("class_ranges_up"), of("class_ranges_down")), (15, 23));
    assert_eq!(of("class_verdicts"), 2 * (2 + 8 + 8));
}

// Input:  models that the switch cannot decide by, each for another reason.
// Output: the error that names it and says what to do.
#[test]
fn models_that_do_not_fit_are_refused() {
    let refused = |model: &Model| entries(&program(), model).unwrap_err();
    let names = || vec!["other".to_owned(), "video".to_owned()];
    let tree = Tree::new(vec![leaf(1)], 2).unwrap();
    let long = Model::new(names(), 1000, 1, tree).unwrap();
    assert_eq!(refused(&long), ModelRefused::Window(1000));
    assert!(refused(&long).to_string().contains("--window"));
    let gap = vec![split(Feature::UplinkGap, 9, 1, 2), leaf(0), leaf(1)];
    assert_eq!(refused(&model(gap, 2, 1)), ModelRefused::Gap(Feature::UplinkGap));
    let splits = |feature, number: u16, apart: u32| {
        let splits = (0..number)
            .flat_map(|at| [split(feature, apart * u32::from(at + 1), 2 * at + 1, 2 * at + 2), leaf(0)]);
        splits.chain([leaf(1)]).collect::<Vec<_>>()
    };
    let feature = Feature::UplinkSize;
    assert_eq!(refused(&model(splits(feature, 3, 99), 2, 1)), ModelRefused::Sizes { feature, thresholds: 3 });
    assert!(entries(&program(), &model(splits(feature, 2, 99), 2, 1)).is_ok());
    assert_eq!(refused(&model(vec![leaf(1)], 2, 0)), ModelRefused::LeastPackets);
    let many = MOST_CLASSES + 1;
    assert_eq!(refused(&model(vec![leaf(1)], many, 1)), ModelRefused::Classes(many));
    // Each range takes several rows.
    let error = refused(&model(splits(Feature::UplinkPackets, 12, 4999), 2, 1));
    assert!(matches!(error, ModelRefused::Rows { table: "class_ranges_up", size: 128, .. }), "{error}");
    // As many classes as there may be.
    assert!(entries(&program(), &model(vec![leaf(7)], MOST_CLASSES, 1)).is_ok());
}

// Input:  a model of three classes, for each compiled program with application classes, and for the one of the model of the
//         switch; then programs of which one action has another name.
// Output: as many entries for each as the model has rows. The others have no application classes.
#[test]
fn compiled_programs_have_every_table_and_action() {
    let nodes = vec![
        split(Feature::DownlinkPackets, 9, 1, 2),
        leaf(0),
        split(Feature::UplinkSize, 9600, 3, 4),
        leaf(1),
        leaf(2),
    ];
    let model = model(nodes, 3, 2);
    let rows = entries(&program(), &model).unwrap().len();
    assert!(rows > 10, "{rows}");
    for contract in [&profiles::HIP4_CLASSES, &profiles::DIRECT_CLASSES] {
        let compiled = Program::from(contract);
        assert!(are_in(&compiled), "{}", contract.profile);
        assert_eq!(entries(&compiled, &model).unwrap().len(), rows, "{}", contract.profile);
        for name in ACTIONS.map(|(name, ..)| name) {
            let mut other = compiled.clone();
            let actions = other.actions.iter_mut().filter(|action| action.name == name);
            actions.for_each(|action| action.name = format!("classes.{name}"));
            assert!(!are_in(&other), "{name}");
        }
    }
}

//! The detector of the switch against the one of software, packet by packet and slot by slot.

use causeway_p4::profiles;
use causeway_traffic::heavy::Threshold;
use causeway_traffic::{FlowKeys, Key, Outcome, Random, SlidingConfig, SwitchSliding, Unit};
use causeway_types::{Span, Time};

use super::{
    ACTIONS, Detector, Finding, PLACES, Packet, ThresholdRefused, WAYS, are_in, config, entries,
    with_threshold,
};
use crate::driver::{Program, Register, Request, SwitchDriver};
use crate::model::register::Side;
use crate::model::{Bounds, Config, DIGEST_OCTETS, Model, Output, Pipeline, QueuedPacket, State, Timing};

const EVENT: u32 = 1;

/// A program that has nothing else: a frame names its flow and its length, and leaves by port 1.
struct OnlyHeavyHitters {
    detector: Detector,
    config: SlidingConfig,
    random: Random,
}

impl Pipeline for OnlyHeavyHitters {
    type Packet = Vec<u8>;

    fn ingress(
        &mut self,
        state: &mut State,
        now: Time,
        _: u16,
        frame: &[u8],
        out: &mut Output<Self::Packet>,
    ) {
        let (key, octets) = frame.split_first_chunk::<8>().unwrap();
        let octets = u32::from_be_bytes(octets.try_into().unwrap());
        let key = Key(u64::from_be_bytes(*key));
        let packet = match out.pass().resubmissions {
            0 => Packet::of(&self.config, key, self.config.unit.draw(octets, &mut self.random)),
            _ => {
                let [way, weight, ..] = out.pass().data.to_be_bytes();
                Packet { takes: Some(way.into()), ..Packet::of(&self.config, key, weight) }
            }
        };
        let random = || self.random.bits();
        match self.detector.observe(state, now, &packet, random).unwrap() {
            Finding::Nothing => {}
            Finding::Report { units } => {
                out.digest(EVENT, [&frame[..8], &units.to_be_bytes()].concat());
            }
            Finding::Takes { way } => {
                out.resubmit(u64::from_be_bytes([way as u8, packet.weight, 0, 0, 0, 0, 0, 0]));
            }
        }
        let packet = frame.to_vec();
        out.push(QueuedPacket { port: 1, queue: 0, octets: packet.len() as u64, packet });
    }

    fn egress(&mut self, _: &mut State, _: Time, _: u16, packet: Vec<u8>) -> Option<Vec<u8>> {
        Some(packet)
    }
}

/// Both detectors, and the packets so far.
struct World {
    model: Model<OnlyHeavyHitters>,
    software: SwitchSliding,
    detector: Detector,
    takes: u64,
    packets: u64,
}

impl World {
    fn new(config: SlidingConfig) -> Self {
        let program = Program::default().with_heavy_hitters();
        let detector = Detector::of(&program).unwrap().unwrap();
        let updates = entries(&program, &config).unwrap();
        let random = Random::with_seed(config.seed);
        let pipeline = OnlyHeavyHitters { detector: detector.clone(), config: config.clone(), random };
        let switch = Config { timing: Timing::INSTANT, cpu_port: 64, port_rate: None, queue_room: 1_000_000 };
        let bounds = Bounds {
            resubmissions: 1,
            digest_octets: DIGEST_OCTETS,
            digests_waiting: 16,
            ..Bounds::default()
        };
        let mut model = Model::new(program, pipeline, switch).with_bounds(bounds);
        model.submit(Time::default(), Request::Write(updates));
        assert!(model.poll(Time::default()).unwrap().1.is_ok());
        let software = SwitchSliding::new(&config).unwrap();
        Self { model, software, detector, takes: 0, packets: 0 }
    }

    /// A packet through both: what software says of it.
    fn packet(&mut self, now: Time, key: Key, octets: u32) -> Outcome {
        let before = self.model.passes();
        self.model.receive(now, 0, &[&key.0.to_be_bytes()[..], &octets.to_be_bytes()].concat());
        let outcome = self.software.observe(key, octets, now);
        let event = self.model.poll_digest().map(|digest| (digest.id, digest.data));
        let expected = match outcome {
            Outcome::Report { measured } => {
                let units = u16::try_from(measured).unwrap().to_be_bytes();
                Some((EVENT, [&key.0.to_be_bytes()[..], &units].concat()))
            }
            _ => None,
        };
        assert_eq!(event, expected, "at {now:?}");
        assert_eq!(self.model.poll_sent().map(|(_, port, _)| port), Some(1));
        self.packets += 1;
        self.takes += self.model.passes().resubmitted - before.resubmitted;
        for way in 0..WAYS {
            self.same_slot(way, key.place(way, PLACES));
        }
        outcome
    }

    fn same_slot(&self, way: usize, place: usize) {
        let here = self.detector.slot(self.model.state(), way, place);
        assert_eq!(here, self.software.slot(way, place), "way {way}, place {place}");
    }

    /// Compares all places; the packets, second passes and reports so far.
    fn end(&self) -> (u64, u64, u64) {
        (0..WAYS).flat_map(|way| (0..PLACES).map(move |place| (way, place))).for_each(|(way, place)| {
            self.same_slot(way, place);
        });
        assert_eq!(self.model.refused(), None);
        assert_eq!(self.detector.slot(self.model.state(), 0, PLACES), None);
        (self.packets, self.takes, self.software.statistics().reports)
    }
}

/// A time that is no multiple of a sub-window.
fn start() -> Time {
    Time::from_secs(5000)
}

// Input:  60,000 packets of 12,000 flows, of which some have many packets, in 6 s; then as many that begin after a pause; each a packet,
//         or of 40 to 1,500 octets in units of 1,024; three seeds.
// Output: each event, each place of a packet's flow after it, and all places at the end are those of the software.
#[test]
fn the_switch_says_the_same_as_software() {
    for (seed, unit, threshold) in
        [(1, Unit::Packets(0), 60), (2, Unit::KIBI_OCTETS, 50_000), (3, Unit::Packets(0), 1)]
    {
        let config = SlidingConfig { seed, unit, threshold, ..config() };
        let mut world = World::new(config);
        let keys = FlowKeys::with_seed(seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut now = start();
        for step in 0..120_000_u64 {
            if step == 60_000 {
                now = now + Span::from_secs(3);
            }
            now = now + Span::from_micros(random.u64(0..200));
            // Few flows have many packets.
            let flow = (12_000.0 * random.f64().powi(5)) as u64;
            world.packet(now, keys.rule_pair(flow, 0), random.u32(40..=1500));
        }
        let (packets, takes, reports) = world.end();
        assert_eq!(packets, 120_000);
        assert!(takes > 1000 && reports > 10, "{takes} {reports}");
    }
}

// Input:  a flow of 1,000 packets a second for two seconds, then of 55 for two, then of 1,000 again, with a threshold of 100 in a window
//         of 805 ms: 124 a second.
// Output: one event within the first second, none while it is above half of the threshold; after less than that, one more.
#[test]
fn an_event_once_until_below_half() {
    let mut world = World::new(SlidingConfig { threshold: 100, ..config() });
    let key = FlowKeys::with_seed(9).rule_pair(1, 1);
    let mut now = start();
    let mut reports = |gap: Span, number: u32| -> u64 {
        (0..number)
            .filter(|_| {
                now = now + gap;
                world.packet(now, key, 1000).is_report()
            })
            .count() as u64
    };
    assert_eq!(reports(Span::from_millis(1), 2000), 1);
    assert_eq!(reports(Span::from_millis(10), 300), 0, "80 in a window");
    assert_eq!(reports(Span::from_millis(18), 110), 0);
    assert_eq!(reports(Span::from_millis(1), 2000), 1);
    assert_eq!(world.end(), (4410, 1, 2));
}

// Input:  a packet of no units, one of more units than there are chances for, one of a unit; then twenty of 93 units.
// Output: the first two take no place; the third does; the count stops at 255, as in software.
#[test]
fn counts_stop_at_their_limit() {
    let unit = Unit::Octets(4);
    let mut world = World::new(SlidingConfig { unit, threshold: 1000, ..config() });
    let key = FlowKeys::with_seed(9).rule_pair(1, 1);
    let heavy = Packet::of(&config(), key, 93);
    let pipeline = world.model.pipeline_mut().detector.clone();
    let mut state = world.model.state().clone();
    state.begin_pass(Side::Ingress);
    assert_eq!(pipeline.observe(&mut state, start(), &heavy, || 0), Ok(Finding::Nothing));
    assert_eq!(world.packet(start(), key, 0), Outcome::Untracked);
    assert_eq!(world.packet(start(), key, 16), Outcome::Light);
    (0..20).for_each(|_| _ = world.packet(start(), key, 1488));
    assert_eq!(world.software.measured(key), Some(255));
    assert_eq!(world.end().1, 1);
}

// Input:  a program without heavy hitters; one whose controller has written nothing; a configuration that is none.
// Output: no detector; no event, no second pass, registers untouched; an error that names the value.
#[test]
fn without_entries_nothing_is_counted() {
    assert!(Detector::of(&Program::default()).unwrap().is_none());
    let program = Program::default().with_heavy_hitters();
    let detector = Detector::of(&program).unwrap().unwrap();
    let mut state = State::new(program.clone());
    let packet = Packet::of(&config(), Key(77), 1);
    let found = detector.observe(&mut state, start(), &packet, || 0);
    assert_eq!(found, Ok(Finding::Nothing));
    let empty = SwitchSliding::new(&config()).unwrap().slot(0, 0);
    assert_eq!(detector.slot(&state, 0, packet.places[0] as usize), empty);
    let wrong = entries(&program, &SlidingConfig { threshold: 0, ..config() }).unwrap_err();
    assert!(wrong.to_string().starts_with("units of the threshold"), "{wrong}");
}

// Input:  a threshold for each compiled program with heavy hitters, and for the one of the model of the switch; then programs of which one action has another name.
// Output: as many entries for each, and registers of the same words. The others find no heavy hitters.
#[test]
fn compiled_programs_have_every_table_action_and_register() {
    let own = Program::default().with_heavy_hitters();
    let config = with_threshold(Threshold::PacketsPerSecond(100)).unwrap();
    let rows = entries(&own, &config).unwrap().len();
    assert!(rows > 1000, "{rows}");
    for contract in [&profiles::HIP4_HEAVY_HITTERS, &profiles::DIRECT_HEAVY_HITTERS] {
        let compiled = Program::from(contract);
        assert!(are_in(&compiled), "{}", contract.profile);
        assert_eq!(entries(&compiled, &config).unwrap().len(), rows, "{}", contract.profile);
        assert!(Detector::of(&compiled).unwrap().is_some());
        for register in &own.registers {
            let same = compiled.register_named(&register.name).unwrap();
            let words = |it: &Register| (it.size, it.first, it.second);
            assert_eq!(words(same), words(register), "{}", register.name);
        }
        for name in ACTIONS.map(|(_, action)| action) {
            let mut other = compiled.clone();
            let actions = other.actions.iter_mut().filter(|action| action.name == name);
            actions.for_each(|action| action.name = format!("heavy.{name}"));
            assert!(!are_in(&other), "{name}");
        }
    }
}

// Input:  thresholds from none to more than a place counts, in packets and in bits.
// Output: packets in a window of 805 ms, rounded up; of a program that has the block, rows for each; else an error that says the range.
#[test]
fn thresholds_are_those_of_the_window() {
    let units = |packets| with_threshold(Threshold::PacketsPerSecond(packets)).map(|it| it.heavy_units());
    assert_eq!([1, 2, 100, 949].map(units), [Ok(1), Ok(2), Ok(81), Ok(765)]);
    assert_eq!([0, 950, u64::MAX].map(units), [Err(ThresholdRefused); 3]);
    assert_eq!(with_threshold(Threshold::BitsPerSecond(8000)).err(), Some(ThresholdRefused));
    assert!(ThresholdRefused.to_string().contains("1pps to 949pps"));
    let program = Program::default().with_heavy_hitters();
    assert!(are_in(&program) && !are_in(&Program::default()));
    assert!(entries(&program, &with_threshold(Threshold::PacketsPerSecond(949)).unwrap()).is_ok());
}

// Input:  rules whose numbers have the same last 16 bits, and any first eight.
// Output: each has a place of its own in each way: places and identity tell all rules of 24 bits apart.
#[test]
fn rules_are_told_apart() {
    for last in [0, 1, 0xa5a5, 0xffff] {
        let packets: Vec<_> = (0..256).map(|first| Packet::of_rule(first << 16 | last)).collect();
        assert!(packets.iter().all(|packet| u32::from(packet.identity) == last));
        for way in 0..WAYS {
            let places: std::collections::BTreeSet<_> =
                packets.iter().map(|packet| packet.places[way]).collect();
            assert_eq!(places.len(), 256, "way {way}");
        }
    }
}

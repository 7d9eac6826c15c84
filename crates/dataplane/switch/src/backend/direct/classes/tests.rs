//! Sessions with filters that change in any order, compared with a matcher that tries rules in sequence.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use causeway_types::Seid;

use super::{Classes, Filters, MAX_NEW, MAX_SESSIONS, Task};
use crate::backend::direct::filter::{ClassTable, Filter};
use crate::backend::pattern::{Bits, Pattern};

const UPLINK: ClassTable = ClassTable { is_tunnel: true, is_ipv6: false };

fn filter(net: (u32, u8), protocol: Option<u8>, port: Option<u16>) -> Filter {
    let exact =
        |value: Option<u16>, width| value.map_or(Bits::ANY, |value| Bits::exactly(value.into(), width));
    let pattern = Pattern {
        destination: Bits::prefix(net.0.into(), net.1, 32),
        protocol: exact(protocol.map(u16::from), 8),
        destination_port: exact(port, 16),
        has_ports: port.is_some(),
        ..Pattern::default()
    };
    Filter { way: UPLINK, pattern }
}

fn net(last: u8, prefix: u8) -> Filter {
    filter((0x0a00_0000 | u32::from(last), prefix), None, None)
}

/// A filter of a few addresses, protocols and ports, or exactly one packet of these.
fn random_filter(random: &mut fastrand::Rng, is_packet: bool) -> Filter {
    let last = random.u32(0..8) << 5;
    let prefix = if is_packet { 32 } else { [0, 25, 26, 27][random.usize(0..4)] };
    let protocol = (is_packet || random.bool()).then(|| [6, 17][random.usize(0..2)]);
    let port = (is_packet || random.bool()).then(|| random.u16(80..83));
    filter((0x0a00_0000 | last, prefix), protocol, port)
}

/// A session's rules by precedence, each with its filters.
type Rules = Vec<Filters>;

/// A change that is computed and not written: the rules, the entries if they are on the switch, and the version of the
/// classes.
struct Begun {
    rules: Rules,
    rows: Option<BTreeMap<u16, usize>>,
    filters: Filters,
    version: u64,
}

#[derive(Default)]
struct Session {
    /// The rules requested by the control plane.
    asked: Rules,
    /// The rules on the switch.
    rules: Rules,
    rows: Option<BTreeMap<u16, usize>>,
    filters: Filters,
    enqueued: usize,
    begun: Option<Begun>,
}

struct Simulation {
    random: fastrand::Rng,
    classes: Classes,
    sessions: BTreeMap<Seid, Session>,
    table: BTreeMap<Filter, u16>,
    /// Background batches, each update by update: an entry with a class, or a removal.
    background_writes: VecDeque<VecDeque<(Filter, Option<u16>)>>,
    enqueued: u64,
    written: u64,
    /// A part of the first batch is done.
    is_begun: bool,
    on_switch: usize,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        Self {
            random: fastrand::Rng::with_seed(seed),
            classes: Classes::with_sizes(|_| 60),
            sessions: (1..6).map(|seid| (Seid(seid), Session::default())).collect(),
            table: BTreeMap::new(),
            background_writes: VecDeque::new(),
            enqueued: 0,
            written: 0,
            is_begun: false,
            on_switch: 0,
        }
    }

    fn ask(&mut self, seid: Seid) {
        let rules = if self.random.u8(0..4) == 0 { 0 } else { self.random.usize(1..4) };
        let asked = (0..rules).map(|_| {
            let filters = self.random.usize(1..3);
            (0..filters).map(|_| random_filter(&mut self.random, false)).collect()
        });
        let asked = asked.collect();
        let session = self.sessions.get_mut(&seid).unwrap();
        session.asked = asked;
        session.enqueued += 1;
    }

    /// Begins a change as the backend does: on the switch if all its filters have classes.
    fn begin(&mut self, seid: Seid) {
        let session = self.sessions.get_mut(&seid).unwrap();
        if session.begun.is_some() || session.enqueued == 0 {
            return;
        }
        session.enqueued -= 1;
        let promised = self.classes.begin(seid);
        let rules = session.asked.clone();
        let filters: Filters = rules.iter().flatten().cloned().collect();
        let version = self.classes.version();
        let has = self.classes.has(&filters);
        if has {
            self.classes.hold(seid, &filters);
        } else {
            self.classes.request_classes(seid, filters.clone());
        }
        let winner = |class: &Filter| {
            rules.iter().position(|filters| filters.iter().any(|filter| filter.contains(class)))
        };
        let rows = self.classes.all().filter_map(|(class, number)| Some((number, winner(class)?)));
        let rows = has.then(|| rows.collect());
        let filters = if has { filters } else { Filters::new() };
        session.begun = Some(Begun { rules, rows, filters, version });
        self.classes.leave(seid, &promised);
    }

    fn write(&mut self, seid: Seid) {
        let session = self.sessions.get_mut(&seid).unwrap();
        let Some(begun) = session.begun.take() else { return };
        (session.rules, session.rows) = (begun.rules, begun.rows);
        self.classes.written(seid, begun.version, !begun.filters.is_empty());
        let remaining = std::mem::replace(&mut session.filters, begun.filters);
        self.classes.leave(seid, &remaining);
    }

    /// One update of a batch; sometimes the switch refuses new classes.
    fn write_background(&mut self) {
        let Some(write) = self.background_writes.front_mut() else { return };
        let is_refused = self.random.u8(0..100) == 0 && self.classes.inserts_by(self.written + 1);
        if is_refused && !self.is_begun {
            self.background_writes.pop_front();
            self.written += 1;
            let task = self.classes.refused().unwrap();
            return self.carry_out(task);
        }
        match write.pop_front() {
            Some((filter, Some(class))) => assert_eq!(self.table.insert(filter, class), None),
            Some((filter, None)) => assert!(self.table.remove(&filter).is_some()),
            None => {
                self.background_writes.pop_front();
                self.written += 1;
                self.is_begun = false;
                return;
            }
        }
        self.is_begun = true;
    }

    fn poll(&mut self) {
        let written = self.written;
        if let Some(task) = self.classes.poll(|write| write <= written) {
            self.carry_out(task);
        }
    }

    fn carry_out(&mut self, task: Task) {
        let write = match task {
            Task::Rewrite(sessions) => {
                let of = |seid| self.sessions.get_mut(&seid).unwrap().enqueued += 1;
                return sessions.into_iter().for_each(of);
            }
            Task::Insert(rows) => rows.into_iter().map(|(filter, class)| (filter, Some(class))).collect(),
            Task::Delete(rows) => rows.into_iter().map(|filter| (filter, None)).collect(),
        };
        self.background_writes.push_back(write);
        self.enqueued += 1;
        self.classes.enqueued(self.enqueued);
    }

    /// Packets of sessions on the switch match the same rule as with a sequential matcher.
    fn check(&mut self) {
        let packet = random_filter(&mut self.random, true);
        let rows = self.table.iter().filter(|(filter, _)| filter.contains(&packet));
        let class = rows.max_by_key(|(filter, _)| filter.priority()).map(|(_, class)| *class);
        for (seid, session) in &self.sessions {
            let Some(rows) = &session.rows else { continue };
            let fits = |filters: &Filters| filters.iter().any(|filter| filter.contains(&packet));
            let expected = session.rules.iter().position(fits);
            let found = class.and_then(|class| rows.get(&class).copied());
            assert_eq!(found, expected, "{seid:?} {packet:?}\n{:?}", self.table);
            self.on_switch += usize::from(expected.is_some());
        }
    }

    fn step(&mut self) {
        let seid = Seid(self.random.u64(1..6));
        match self.random.u8(0..24) {
            0 => self.ask(seid),
            1..=5 => self.begin(seid),
            6..=10 => self.write(seid),
            11..=17 => self.write_background(),
            _ => self.poll(),
        }
        self.check();
    }

    /// All sessions end: no state remains. Returns how often a packet matched a rule with filters on the switch.
    fn end(mut self) -> usize {
        let seids: Vec<Seid> = self.sessions.keys().copied().collect();
        for session in self.sessions.values_mut() {
            session.asked.clear();
            session.enqueued += 1;
        }
        for _ in 0..1000 {
            for seid in &seids {
                self.begin(*seid);
                self.write(*seid);
            }
            self.write_background();
            self.poll();
            self.check();
        }
        let Classes { held: state, known, wishes, promises, step, .. } = &self.classes;
        let remaining = (state.len(), known.len(), wishes.len(), promises.len(), step, self.table.len());
        assert_eq!(remaining, (0, 0, 0, 0, &None, 0));
        self.on_switch
    }
}

// Input:  five sessions with random rules of overlapping filters, which change at random; each change, each update of a
//         batch and each step of the classes happens at any time after its prerequisites; some entries are refused.
// Output: after each of them every packet matches its rule on the switch by class and entry; in the end no state
//         remains.
#[test]
fn a_packet_finds_its_rule_at_any_moment() {
    let mut found = 0;
    for seed in 0..60 {
        let mut simulation = Simulation::new(seed);
        (0..1500).for_each(|_| simulation.step());
        found += simulation.end();
    }
    assert!(found > 10_000, "{found} packets found a rule");
}

fn is_announced(classes: &mut Classes, seid: u64, filters: &[Filter]) -> bool {
    let filters: Filters = filters.iter().cloned().collect();
    classes.request_classes(Seid(seid), filters.clone());
    let _task = classes.poll(|_| true);
    filters.iter().all(|filter| classes.known.contains_key(filter))
}

/// Sessions with a filter whose class exists.
fn with_holders(filter: &Filter, sessions: usize) -> Classes {
    let mut classes = Classes::with_sizes(|_| 512);
    assert!(is_announced(&mut classes, 0, std::slice::from_ref(filter)));
    for _ in 0..2 {
        let _task = classes.poll(|_| true);
    }
    let filters = Filters::from([filter.clone()]);
    assert!(classes.has(&filters));
    (1..=sessions).for_each(|seid| classes.hold(Seid(seid as u64), &filters));
    let promised = classes.begin(Seid(0));
    classes.leave(Seid(0), &promised);
    classes
}

// Input:  a filter of the most sessions that may be written again, or one more; then one that overlaps it, one that
//         contains it, and a disjoint one.
// Output: the overlapping one has a class only if not too many sessions would be written; the others have one in any
//         case, and concern no session.
#[test]
fn a_filter_that_concerns_too_many_sessions_has_no_class() {
    let (common, wide, apart) = (net(0, 25), net(0, 24), net(128, 25));
    let part = filter((0, 0), Some(17), None);
    for (sessions, is_told) in [(MAX_SESSIONS, true), (MAX_SESSIONS + 1, false)] {
        let mut classes = with_holders(&common, sessions);
        assert_eq!(is_announced(&mut classes, 1000, std::slice::from_ref(&part)), is_told);
        for other in [&wide, &apart] {
            let mut classes = with_holders(&common, sessions);
            classes.request_classes(Seid(1000), Filters::from([other.clone()]));
            assert_eq!(classes.poll(|_| true), Some(Task::Rewrite(BTreeSet::new())));
        }
    }
}

// Input:  the most disjoint filters of one change, and one that overlaps them all; then tables without space.
// Output: that one has no class, since there would be too many intersections; without space there is none for any.
#[test]
fn a_filter_that_needs_too_many_classes_has_none() {
    let ports: Vec<Filter> =
        (0..MAX_NEW as u16).map(|port| filter((0, 0), None, Some(1000 + port))).collect();
    let mut classes = Classes::with_sizes(|_| 512);
    assert!(is_announced(&mut classes, 1, &ports));
    for _ in 0..2 {
        let _task = classes.poll(|_| true);
    }
    assert!(!is_announced(&mut classes, 2, &[filter((0, 0), Some(17), None)]));
    assert!(is_announced(&mut classes, 3, &[filter((0, 0), None, Some(80))]));
    assert!(!is_announced(&mut Classes::with_sizes(|_| 1), 4, &ports[..2]));
}

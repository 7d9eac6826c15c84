//! Profile `xplane` with XPLANE_WALK on BMv2: flows without an entry are looked up by the switch in the UE table, and its entries are those that the crate
//! would write. Every frame between switch and memory server is compared octet by octet.

use std::net::Ipv4Addr;

use causeway_dataplane::DropReason;
use causeway_model::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, TrafficClass, UeSide};
use causeway_slowpath::lease::{RuleAction, UeMatch};
use causeway_types::{Direction, IpNet, Qfi, QfiSet, Span};
use causeway_xplane::flows::FlowEntry;
use causeway_xplane::state::{Account, UeState};
use causeway_xplane::ue_table::{RuleRef, Target, UeHeader, UeRecord, compile, match_block};
use causeway_xplane::{Action, Pipeline};

use crate::bmv2::{is_inside, run_inside};
use crate::frames::{UE, V4};
use crate::xplane::{
    COLLISION, DOWNLINK, FORWARDED, Form, GAP, GENERATION, MEMORY, MISS, Memory, OLD, RING_BITS, SIZES,
    STALE, TEID, UPLINK, Ue, WALK_BITS, World, downward, entry, ethernet, fields, g_pdu, to_gnb, to_network,
    topology, upward,
};
use crate::{N3, N6};

const RULE: i32 = 11;
pub(crate) const FULL: i32 = 21;
/// What is added to the switch's time, in nanoseconds.
pub(crate) const TIME: u64 = 0x12_3456_789a;
/// Octets from the start of a UE's bucket to the actions of its first record, and to its blocks.
const ACTIONS: u64 = 1328;
const BLOCKS: u64 = ACTIONS + 288;
const BLOCK: usize = 140;

/// The walks: their flows, and how many of their packets have not left.
const OWNERS: &str = "XPlaneIngressMain.xplane.walks.owners";

/// The words of an account that packets change, from the start of the record on, and the registers that they are loaded into. The control plane of simple_switch reads
/// none of the others: they may be larger than its numbers.
const COUNTED_WORDS: [(u64, &[&str]); 3] =
    [(72, &["budgets"]), (88, &["packets", "octets"]), (120, &["last_arrivals", "last_passes"])];

/// No limit in practice, as a number that the control plane of simple_switch reads.
const BUDGET: u64 = 1 << 62;

/// A rule of the UE's record: its filters, and where they lead.
pub(crate) type Rule = (QfiSet, Vec<SdfFilter>, Target);

/// The first one forwards and is counted by the switch; the second one drops, which the switch leaves to the software.
pub(crate) fn target(number: u8) -> Target {
    let rule =
        RuleRef { account: number, meters: 0, action: number, reports_drops: false, counts_drops: false };
    Target::Rule(rule)
}

/// A filter of a range of remote ports.
fn of_ports(ports: std::ops::RangeInclusive<u16>) -> Vec<SdfFilter> {
    let remote = FlowEnd { address: FlowAddress::Any, ports: vec![ports] };
    vec![SdfFilter::from(FlowDescription { remote, ..FlowDescription::ANY })]
}

pub(crate) struct Walks {
    pub(crate) world: World,
    /// Writes records as the crate does.
    pipeline: Pipeline<Memory>,
    /// What the memory has counted of the UE.
    pub(crate) counted: (u64, u64),
    /// The switch loads the state of the UE.
    pub(crate) is_loaded: bool,
    /// The entry of the table of generations.
    pub(crate) generation: i32,
}

impl Walks {
    /// A switch, and the record of a UE with these rules as the crate writes it.
    pub(crate) fn start(ue: Ue, rules: &[Rule]) -> Self {
        let mut world = World::start_with(Form::Walks);
        world.set_time(TIME);
        let generation = world.set_generation(ue, GENERATION);
        let pipeline = world.pipeline();
        let mut walks = Self { world, pipeline, counted: (0, 0), is_loaded: true, generation };
        walks.install(ue, rules);
        walks
    }

    /// Writes a record that has counted nothing.
    pub(crate) fn install(&mut self, ue: Ue, rules: &[Rule]) {
        self.install_of(ue, rules, GENERATION);
    }

    /// The same of a generation.
    pub(crate) fn install_of(&mut self, ue: Ue, rules: &[Rule], generation: u64) {
        let account = Account { budget: BUDGET, idle_limit: Span::MAX, ..Account::default() };
        self.install_account(ue, rules, generation, account);
        assert_eq!(self.world.counted(ue), (0, 0));
    }

    /// A record with this account.
    pub(crate) fn install_account(&mut self, ue: Ue, rules: &[Rule], generation: u64, account: Account) {
        let named =
            UeMatch { side: UeSide::Source, is_named: true, v4: Some(UE.into()), v6: None, has_more: false };
        let direction = if ue.kind == 1 { Direction::Uplink } else { Direction::Downlink };
        let rules = rules.iter().map(|(qfis, filters, target)| (*qfis, filters.as_slice(), *target));
        let pdrs = compile(rules, &named);
        let record = UeRecord {
            header: UeHeader::new(ue.key(), generation, pdrs.len() as u8, direction, &named),
            actions: actions(ue),
            pdrs,
            state: UeState { accounts: vec![account, account], meters: vec![] },
        };
        self.pipeline.write_record(self.world.now, 0, &record);
        self.pipeline.advance(self.world.now);
        assert!(self.pipeline.is_empty());
    }

    /// Where the bucket of a UE begins.
    fn bucket(ue: Ue) -> u64 {
        SIZES.record(ue.bucket().into(), 0)
    }

    /// What the crate finds for a packet, and how many blocks it reads.
    fn expected(&self, ue: Ue, packet: &V4, qfi: u8) -> (Option<RuleRef>, u64) {
        let direction = if ue.kind == 1 { Direction::Uplink } else { Direction::Downlink };
        let fields = fields(packet, Some(qfi));
        for number in 0..8 {
            let block = self.world.octets(Self::bucket(ue) + BLOCKS + number * BLOCK as u64, BLOCK);
            match match_block(&block, 5, &fields, direction) {
                None => {}
                Some(Target::SlowPath) => return (None, number + 1),
                Some(Target::Rule(rule)) => return (Some(rule), number + 1),
            }
        }
        (None, 8)
    }

    /// The first packet of a flow without an entry, up to the response with its fields.
    fn begin(&mut self, ue: Ue, packet: &V4, qfi: u8) {
        let (port, frame) = frame(ue, packet, qfi);
        self.world.first_packet(ue, port, &frame, packet, qfi);
        let end = self.end(ue);
        self.enter(ue, packet, qfi, 0);
        let fields =
            self.world.ring_read(ue.walk(packet, qfi), World::ring_place(ue.walk(packet, qfi), 0), 32);
        self.world.answer(&end);
        self.world.wait_for_end(ue);
        self.world.answer(&[fields]);
    }

    /// The packet goes into the ring of its walk, which the server executes.
    fn enter(&mut self, ue: Ue, packet: &V4, qfi: u8, position: u64) {
        let stored = [ue.tag(qfi), packet.octets()].concat();
        let walk = ue.walk(packet, qfi);
        let queue = self.world.ring_write(walk, World::ring_place(walk, position), &stored);
        self.world.answer(&[queue]);
    }

    /// The requests at the end of a busy period: the state is written if it was loaded.
    pub(crate) fn end(&mut self, ue: Ue) -> Vec<Vec<u8>> {
        let (packets, octets) = self.counted;
        let mut requests = if self.is_loaded { vec![self.world.save(ue, packets, octets)] } else { vec![] };
        requests.push(self.world.close(ue));
        requests
    }

    /// A later packet of the flow, which enters the ring at this position.
    fn join(&mut self, ue: Ue, packet: &V4, qfi: u8, position: u64) {
        let (port, frame) = frame(ue, packet, qfi);
        self.world.first_packet(ue, port, &frame, packet, qfi);
        let end = self.end(ue);
        self.enter(ue, packet, qfi, position);
        self.world.answer(&end);
        self.world.wait_for_end(ue);
    }

    /// The walk of a flow from the response with its fields on, until its rule is known. Returns the request that writes the entry, if there is one.
    pub(crate) fn walk(&mut self, ue: Ue, packet: &V4, qfi: u8, place: u64) -> Option<Vec<u8>> {
        let record = self.record(ue, packet, qfi);
        self.world.answer(&[record]);
        self.walk_on(ue, packet, qfi, place)
    }

    /// The READ of the record's header.
    pub(crate) fn record(&mut self, ue: Ue, packet: &V4, qfi: u8) -> Vec<u8> {
        self.world.walk_read(ue.walk(packet, qfi), Self::bucket(ue), 64)
    }

    /// The rest of the walk.
    pub(crate) fn walk_on(&mut self, ue: Ue, packet: &V4, qfi: u8, place: u64) -> Option<Vec<u8>> {
        let walk = ue.walk(packet, qfi);
        let (rule, blocks) = self.expected(ue, packet, qfi);
        for number in 0..blocks {
            let block = self.world.walk_read(walk, Self::bucket(ue) + BLOCKS + number * BLOCK as u64, BLOCK);
            self.world.answer(&[block]);
        }
        let rule = rule?;
        let action = self.world.walk_read(walk, Self::bucket(ue) + ACTIONS + u64::from(rule.action) * 72, 72);
        self.world.answer(&[action]);
        Some(self.entry(ue, packet, qfi, place))
    }

    /// The WRITE of the entry.
    fn entry(&mut self, ue: Ue, packet: &V4, qfi: u8, place: u64) -> Vec<u8> {
        let rule = self.expected(ue, packet, qfi).0.unwrap();
        let used = self.world.time_in_request(72);
        let entry = FlowEntry {
            ue: ue.key(),
            flow: fields(packet, Some(qfi)).key(),
            generation: GENERATION,
            used,
            rule: Some((rule, actions(ue)[usize::from(rule.action)])),
        };
        let offset = SIZES.entries(ue.flow_bucket(packet, qfi)) + place * 160;
        self.world.ring_write(ue.walk(packet, qfi), offset, &entry.encode())
    }

    /// The READ of a packet of the ring.
    fn drain(&mut self, ue: Ue, packet: &V4, qfi: u8, position: u64) -> Vec<u8> {
        let walk = ue.walk(packet, qfi);
        self.world.ring_read(walk, World::ring_place(walk, position), 8 + packet.octets().len())
    }

    /// A packet of the ring is looked up again.
    fn again(&mut self, ue: Ue, packet: &V4, qfi: u8, is_first: bool) -> Vec<Vec<u8>> {
        let mut requests = if is_first { vec![self.world.load(ue)] } else { vec![] };
        let mut tag = ue.tag(qfi);
        tag[3] = 1;
        requests.extend(self.world.store_and_fetch_tagged(ue, packet, qfi, tag));
        requests
    }

    /// The whole walk of a flow of one packet, which is then forwarded, or for the software by its rule, or without one.
    fn look_up(&mut self, ue: Ue, packet: &V4, qfi: u8) -> Option<RuleRef> {
        let rule = self.expected(ue, packet, qfi).0;
        self.begin(ue, packet, qfi);
        let mut requests: Vec<Vec<u8>> = self.walk(ue, packet, qfi, 0).into_iter().collect();
        requests.push(self.drain(ue, packet, qfi, 0));
        self.world.answer(&requests);
        let requests = self.again(ue, packet, qfi, true);
        self.world.answer(&requests);
        match rule {
            Some(RuleRef { action: 0, .. }) => self.forwarded(ue, packet),
            Some(_) => assert_eq!(self.world.left(RULE), [ue.tag(qfi), packet.octets()].concat()),
            None => assert_eq!(self.world.left(MISS), [ue.tag(qfi), packet.octets()].concat()),
        }
        self.close(ue);
        rule
    }

    /// The packet leaves, and is counted.
    pub(crate) fn forwarded(&mut self, ue: Ue, packet: &V4) {
        let user = packet.hop().octets();
        if ue.kind == 1 {
            assert_eq!(self.world.next(N6), ethernet(&user));
        } else {
            let frame = self.world.next(N3);
            assert_eq!(frame[frame.len() - user.len()..], user);
        }
        self.counted.0 += 1;
        self.counted.1 += user.len() as u64;
    }

    /// The end of a busy period.
    pub(crate) fn close(&mut self, ue: Ue) {
        let end = self.end(ue);
        self.world.answer(&end);
        self.world.wait_for_end(ue);
        assert_eq!(self.world.counted(ue), self.counted);
    }

    /// The control plane has seen the same count of packets in flight for long: it writes what the switch has counted, and ends the entry.
    pub(crate) fn end_by_control_plane(&mut self, ue: Ue) {
        for (offset, names) in COUNTED_WORDS {
            let words = names.iter().flat_map(|name| {
                let register = format!("XPlaneIngressMain.xplane.walks.local_state.{name}");
                self.world.register(&register, ue.bucket()).to_be_bytes()
            });
            let words = words.collect();
            self.world.write(SIZES.record(ue.bucket().into(), 0) + offset, words);
        }
        self.world.end_entry(ue);
        assert_eq!(self.world.counted(ue), self.counted);
    }

    /// The flow has no entry any more.
    pub(crate) fn forget(&mut self, ue: Ue, packet: &V4, qfi: u8) {
        self.world.write(SIZES.entries(ue.flow_bucket(packet, qfi)), vec![0; 320]);
    }
}

fn actions(ue: Ue) -> Vec<Action> {
    let send = if ue.kind == 1 { to_network() } else { to_gnb() };
    vec![Action::new(&RuleAction::Send(send), &topology()), Action::Drop(DropReason::GateClosed)]
}

/// A packet as it comes, and its port.
pub(crate) fn frame(ue: Ue, packet: &V4, qfi: u8) -> (u16, Vec<u8>) {
    if ue.kind == 1 { (N3, g_pdu(packet, TEID, qfi)) } else { (N6, ethernet(&packet.octets())) }
}

// Input:  a UE with twelve rules for a port each, of which the twelfth alone forwards; a packet of that one, then another; a packet of the eleventh rule; one that
//         no rule matches. Then a downlink packet of a UE with one rule for all.
// Output: the packet is written into the ring, and its fields, the header of the record, three blocks and the action are read one after the other; the
//         switch writes the entry that the crate would, and the packet leaves by it, and so does the next one, without a walk. The third is for the software by its
//         entry, the fourth without one. All are counted in the record.
#[test]
fn a_flow_without_an_entry_is_looked_up() {
    if !is_inside() {
        return run_inside("xplane_walk::a_flow_without_an_entry_is_looked_up");
    }
    let rules: Vec<Rule> =
        (1..=12).map(|port| (QfiSet::EMPTY, of_ports(port..=port), target(u8::from(port < 12)))).collect();
    let mut walks = Walks::start(UPLINK, &rules);
    let packet = upward((1000, 12), b"hello to the server");
    assert!(walks.look_up(UPLINK, &packet, 9).is_some_and(|rule| rule.action == 0));
    let (port, frame) = frame(UPLINK, &packet, 9);
    walks.world.first_packet(UPLINK, port, &frame, &packet, 9);
    walks.forwarded(UPLINK, &packet);
    walks.close(UPLINK);
    assert!(walks.look_up(UPLINK, &upward((1000, 11), b"dropped"), 9).is_some_and(|rule| rule.action == 1));
    assert_eq!(walks.look_up(UPLINK, &upward((1000, 13), b"no rule"), 9), None);
    assert_eq!(walks.world.outcomes(FORWARDED), 2);

    let mut walks = Walks::start(DOWNLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    assert!(walks.look_up(DOWNLINK, &downward((2000, 1000), b"0123456789"), 255).is_some());
}

// Input:  100 records of up to 40 PDRs with random filters: prefixes of both ends, ranges of ports, protocols, QFIs, classes, IPv6; for each a packet, with
//         ports and without.
// Output: the switch reads as many blocks as the crate, and writes its entry, or none where the crate finds no rule.
#[test]
fn a_walk_finds_what_the_crate_finds() {
    if !is_inside() {
        return run_inside("xplane_walk::a_walk_finds_what_the_crate_finds");
    }
    let mut random = fastrand::Rng::with_seed(7);
    let mut walks = Walks::start(UPLINK, &[]);
    let (mut found, mut blocks) = (0, 0);
    for _ in 0..100 {
        let rules: Vec<Rule> = (0..random.usize(1..41)).map(|_| random_rule(&mut random)).collect();
        walks.install(UPLINK, &rules);
        walks.counted = (0, 0);
        let mut packet = upward((random.u16(1..4), random.u16(1..4)), b"any packet");
        packet.dst = [198, 51, 100, random.u8(..4)];
        packet.tos = random.u8(..4) << 6 | random.u8(..4);
        if random.u8(..4) == 0 {
            packet.protocol = 1;
        }
        let qfi = random.u8(1..4);
        blocks += walks.expected(UPLINK, &packet, qfi).1;
        found += u32::from(walks.look_up(UPLINK, &packet, qfi).is_some());
        walks.forget(UPLINK, &packet, qfi);
    }
    assert!(found > 30 && found < 70 && blocks > 150, "{found} of 100 found, in {blocks} blocks");
}

/// A rule that few packets match.
fn random_rule(random: &mut fastrand::Rng) -> Rule {
    let mut end = |network: [u8; 4]| {
        let net = (Ipv4Addr::from(network), random.u8(30..33));
        let address = match random.u8(..8) {
            0 => FlowAddress::Any,
            1 | 2 => FlowAddress::Net("2001:db8::/32".parse::<IpNet>().unwrap()),
            _ => FlowAddress::Net(
                format!("{}/{}", Ipv4Addr::from(u32::from(net.0) & u32::MAX << (32 - net.1)), net.1)
                    .parse()
                    .unwrap(),
            ),
        };
        let first = random.u16(..4);
        FlowEnd { address, ports: if random.bool() { vec![first..=random.u16(first..5)] } else { vec![] } }
    };
    let remote = end([198, 51, 100, 3]);
    let local = end(UE);
    let flow = FlowDescription { protocol: random.bool().then_some(17), remote, local };
    let class = random.bool().then(|| TrafficClass { value: random.u8(..4) << 6, mask: 0xc0 });
    let filter = SdfFilter { traffic_class: class, ..SdfFilter::from(flow) };
    let qfis = if random.bool() { Qfi::new(random.u8(1..4)).into_iter().collect() } else { QfiSet::EMPTY };
    let target = if random.u8(..16) == 0 { Target::SlowPath } else { target(random.u8(..2)) };
    (qfis, vec![filter], target)
}

// Input:  three packets of a flow without an entry, the second and third while the first is looked up; a fourth when the entry is there and they are still in
//         the ring; a fifth when all have left.
// Output: each enters the ring behind the others, also the fourth, whose response has the entry; four READs are in flight; the four leave in
//         order, counted once each; the fifth leaves at once.
#[test]
fn later_packets_of_the_flow_stay_behind() {
    if !is_inside() {
        return run_inside("xplane_walk::later_packets_of_the_flow_stay_behind");
    }
    let mut walks = Walks::start(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    let of = |number: u8| upward((1000, 2000), &[number; 30]);
    walks.begin(UPLINK, &of(0), 9);
    let record = walks.record(UPLINK, &of(0), 9);
    (1..3).for_each(|number| walks.join(UPLINK, &of(number), 9, number.into()));
    walks.world.answer(&[record]);
    let entry = walks.walk_on(UPLINK, &of(0), 9, 0).unwrap();
    let drains: Vec<_> = (0..3).map(|number| walks.drain(UPLINK, &of(number), 9, number.into())).collect();
    walks.world.answer(&[entry]);
    // The server reads them in the order of their requests; its responses are on their way for long.
    let mut responses = walks.world.serve(&drains);

    let (port, arrived) = frame(UPLINK, &of(3), 9);
    walks.world.first_packet(UPLINK, port, &arrived, &of(3), 9);
    let end = walks.end(UPLINK);
    walks.enter(UPLINK, &of(3), 9, 3);
    let drain = walks.drain(UPLINK, &of(3), 9, 3);
    responses.extend(walks.world.serve(&[drain]));
    walks.world.answer(&end);
    walks.world.wait_for_end(UPLINK);

    responses.iter().for_each(|response| walks.world.put(MEMORY, response));
    let lookups: Vec<_> =
        (0..4).flat_map(|number| walks.again(UPLINK, &of(number), 9, number == 0)).collect();
    walks.world.answer(&lookups);
    (0..4).for_each(|number| walks.forwarded(UPLINK, &of(number)));
    walks.close(UPLINK);

    let (port, arrived) = frame(UPLINK, &of(4), 9);
    walks.world.first_packet(UPLINK, port, &arrived, &of(4), 9);
    walks.forwarded(UPLINK, &of(4));
    walks.close(UPLINK);
}

// Input:  nine packets of a flow without an entry, while the first is looked up; a ring has places for eight.
// Output: the ninth is dropped under that name; with each packet that comes back the next one is read, four in flight; the eight leave in order.
#[test]
fn a_ring_that_is_full_drops() {
    if !is_inside() {
        return run_inside("xplane_walk::a_ring_that_is_full_drops");
    }
    let mut walks = Walks::start(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    let of = |number: u8| upward((1000, 2000), &[number; 30]);
    let places = 1 << RING_BITS;
    walks.begin(UPLINK, &of(0), 9);
    let record = walks.record(UPLINK, &of(0), 9);
    (1..places).for_each(|number| walks.join(UPLINK, &of(number), 9, number.into()));
    let (port, arrived) = frame(UPLINK, &of(places), 9);
    walks.world.first_packet(UPLINK, port, &arrived, &of(places), 9);
    walks.close(UPLINK);
    assert_eq!(walks.world.outcomes(FULL), 1);

    walks.world.answer(&[record]);
    let entry = walks.walk_on(UPLINK, &of(0), 9, 0).unwrap();
    let drains: Vec<_> = (0..4).map(|number| walks.drain(UPLINK, &of(number), 9, number.into())).collect();
    walks.world.answer(&[&[entry][..], &drains].concat());
    let (mut lookups, mut drains) = (Vec::new(), Vec::new());
    for number in 0..4 {
        lookups.extend(walks.again(UPLINK, &of(number), 9, number == 0));
        drains.push(walks.drain(UPLINK, &of(number + 4), 9, u64::from(number) + 4));
    }
    walks.world.answer(&drains);
    (4..8).for_each(|number| lookups.extend(walks.again(UPLINK, &of(number), 9, false)));
    walks.world.answer(&lookups);
    (0..8).for_each(|number| walks.forwarded(UPLINK, &of(number)));
    walks.close(UPLINK);
    assert_eq!(walks.world.outcomes(FORWARDED), 8);
}

// Input:  a rule of the UE changes while a walk is under way; then a record of a generation before; another flow while the walk that it would take is
//         taken; a flow whose bucket has two entries of others.
// Output: the entry is written with the generation of before, and is none for the packet that waited: it is for the software under that name. So is the packet
//         of a UE without a record of its generation, without an entry, and so are the others.
#[test]
fn what_a_walk_does_not_find_is_for_the_software() {
    if !is_inside() {
        return run_inside("xplane_walk::what_a_walk_does_not_find_is_for_the_software");
    }
    let mut walks = Walks::start(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    let packet = upward((1000, 2000), b"hello to the server");
    let left = |packet: &V4| [UPLINK.tag(9), packet.octets()].concat();
    walks.begin(UPLINK, &packet, 9);
    let record = walks.record(UPLINK, &packet, 9);
    walks.world.answer(&[record]);
    // The switch has the header of the record, and reads the first block.
    walks.world.fence();
    let generation = walks.generation;
    walks.world.change_generation(generation, GENERATION + 1);
    let entry = walks.walk_on(UPLINK, &packet, 9, 0).unwrap();
    let drain = walks.drain(UPLINK, &packet, 9, 0);
    walks.world.answer(&[entry, drain]);
    let lookup = walks.again(UPLINK, &packet, 9, true);
    walks.world.answer(&lookup);
    assert_eq!(walks.world.left(STALE), left(&packet));
    walks.is_loaded = false;
    walks.close(UPLINK);

    // The record is of before, now.
    walks.forget(UPLINK, &packet, 9);
    walks.begin(UPLINK, &packet, 9);
    let record = walks.record(UPLINK, &packet, 9);
    walks.world.answer(&[record]);
    let drain = walks.drain(UPLINK, &packet, 9, 0);
    walks.world.answer(&[drain]);
    let lookup = walks.again(UPLINK, &packet, 9, true);
    walks.world.answer(&lookup);
    assert_eq!(walks.world.left(MISS), left(&packet));
    walks.close(UPLINK);
    walks.world.change_generation(generation, GENERATION);
    walks.is_loaded = true;

    // Another flow has the walk.
    walks.begin(UPLINK, &packet, 9);
    let record = walks.record(UPLINK, &packet, 9);
    let walk = UPLINK.walk(&packet, 9);
    let others = (2001..).map(|port| upward((1000, port), b"hello"));
    let other = others.into_iter().find(|other| UPLINK.walk(other, 9) == walk).unwrap();
    let (port, arrived) = frame(UPLINK, &other, 9);
    walks.world.first_packet(UPLINK, port, &arrived, &other, 9);
    assert_eq!(walks.world.left(MISS), left(&other));
    walks.close(UPLINK);
    walks.world.answer(&[record]);
    let entry = walks.walk_on(UPLINK, &packet, 9, 0).unwrap();
    let drain = walks.drain(UPLINK, &packet, 9, 0);
    walks.world.answer(&[entry, drain]);
    let lookup = walks.again(UPLINK, &packet, 9, true);
    walks.world.answer(&lookup);
    walks.forwarded(UPLINK, &packet);
    walks.close(UPLINK);

    // The second place is free for the flow that comes next; a third one finds none.
    let bucket = UPLINK.flow_bucket(&packet, 9);
    let in_bucket = |other: &V4| UPLINK.flow_bucket(other, 9) == bucket;
    let mut others = (2001..u16::MAX).map(|port| upward((1000, port), b"hello")).filter(in_bucket);
    let (second, third) = (others.next().unwrap(), others.next().unwrap());
    walks.begin(UPLINK, &second, 9);
    let entry = walks.walk(UPLINK, &second, 9, 1).unwrap();
    let drain = walks.drain(UPLINK, &second, 9, 0);
    walks.world.answer(&[entry, drain]);
    let lookup = walks.again(UPLINK, &second, 9, true);
    walks.world.answer(&lookup);
    walks.forwarded(UPLINK, &second);
    walks.close(UPLINK);
    let (port, arrived) = frame(UPLINK, &third, 9);
    walks.world.first_packet(UPLINK, port, &arrived, &third, 9);
    assert_eq!(walks.world.left(MISS), left(&third));
    walks.close(UPLINK);
}

// Input:  a packet comes back from the ring while another UE has its place in the local state table; one whose response comes behind one that is lost.
// Output: both are for the software, with their reason, and end their walk: the next packet leaves at once by the entry.
#[test]
fn what_leaves_a_ring_for_the_software_ends_its_walk() {
    if !is_inside() {
        return run_inside("xplane_walk::what_leaves_a_ring_for_the_software_ends_its_walk");
    }
    let mut walks = Walks::start(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    let packet = upward((1000, 2000), b"hello to the server");
    let left = |ue: Ue, packet: &V4| [ue.tag(9), packet.octets()].concat();
    let hit = |walks: &mut Walks| {
        let (port, arrived) = frame(UPLINK, &packet, 9);
        walks.world.first_packet(UPLINK, port, &arrived, &packet, 9);
        walks.forwarded(UPLINK, &packet);
        walks.close(UPLINK);
    };
    walks.begin(UPLINK, &packet, 9);
    let written = walks.walk(UPLINK, &packet, 9, 0).unwrap();
    let drain = walks.drain(UPLINK, &packet, 9, 0);
    // Both places of the other UE's flow are taken, so that it takes no walk.
    let teid = (TEID + 1..).find(|teid| Ue { word: *teid, ..UPLINK }.bucket() == UPLINK.bucket()).unwrap();
    let other = Ue { word: teid, ..UPLINK };
    let entries =
        [1, 2].map(|port| entry(other, &upward((port, port), b""), Some(9), GENERATION, to_network()));
    walks.world.write(SIZES.entries(other.flow_bucket(&packet, 9)), entries.concat());
    walks.world.put(N3, &g_pdu(&packet, teid, 9));
    let load = walks.world.load(other);
    let requests = walks.world.store_and_fetch(other, &packet, 9);
    walks.world.answer(&[written, drain]);
    assert_eq!(walks.world.left(COLLISION), left(UPLINK, &packet));
    walks.world.answer(&[&[load][..], &requests].concat());
    assert_eq!(walks.world.left(MISS), left(other, &packet));
    // The record is not the other UE's: the control plane ends its entry.
    let end = walks.end(UPLINK);
    walks.world.answer(&end);
    walks.world.fence();
    walks.world.end_entry(UPLINK);
    hit(&mut walks);

    walks.forget(UPLINK, &packet, 9);
    walks.begin(UPLINK, &packet, 9);
    let written = walks.walk(UPLINK, &packet, 9, 0).unwrap();
    let drain = walks.drain(UPLINK, &packet, 9, 0);
    walks.world.answer(&[written, drain]);
    let lookup = walks.again(UPLINK, &packet, 9, true);
    let responses = walks.world.serve(&lookup);
    // That of the record is lost.
    walks.world.put(MEMORY, &responses[1]);
    assert_eq!(walks.world.left(GAP), left(UPLINK, &packet));
    walks.world.close_unsaved(UPLINK);
    hit(&mut walks);
}

// Input:  a flow whose walk stands, as a response is lost: that with the fields, the record, a block, the action, the packet of the ring; later packets of the flow, which
//         wait behind the first. The control plane sees the same count twice, and ends the walk. Then the next packet of the flow, or of another flow with the
//         same walk; and what was lost comes late.
// Output: none of those that waited is forwarded. The next packet begins a walk of its own, and leaves by its entry, or at once if the entry was written; what is late is
//         dropped as old.
#[test]
fn a_walk_whose_response_is_lost_is_ended() {
    if !is_inside() {
        return run_inside("xplane_walk::a_walk_whose_response_is_lost_is_ended");
    }
    let mut walks = Walks::start(UPLINK, &[(QfiSet::EMPTY, vec![], target(0))]);
    // The control plane of simple_switch reads no number of 64 bits whose first one is set: so is none of the flow's.
    let port =
        (2000..).find(|port| UPLINK.walk(&upward((1000, *port), b""), 9) < 1 << (WALK_BITS - 1)).unwrap();
    let of = |number: u8| upward((1000, port), &[number; 30]);
    let walk = UPLINK.walk(&of(0), 9);
    let other =
        (2001..).map(|port| upward((1000, port), b"hello")).find(|other| UPLINK.walk(other, 9) == walk);
    let bucket = Walks::bucket(UPLINK);
    for lost in 0..5 {
        let (port, arrived) = frame(UPLINK, &of(0), 9);
        walks.world.first_packet(UPLINK, port, &arrived, &of(0), 9);
        let end = walks.end(UPLINK);
        walks.enter(UPLINK, &of(0), 9, 0);
        let mut requests = vec![walks.world.ring_read(walk, World::ring_place(walk, 0), 32)];
        walks.world.answer(&end);
        walks.world.wait_for_end(UPLINK);
        for step in 0..lost {
            walks.world.answer(&requests);
            requests = match step {
                0 => vec![walks.record(UPLINK, &of(0), 9)],
                1 => vec![walks.world.walk_read(walk, bucket + BLOCKS, BLOCK)],
                2 => vec![walks.world.walk_read(walk, bucket + ACTIONS, 72)],
                _ => vec![walks.entry(UPLINK, &of(0), 9, 0), walks.drain(UPLINK, &of(0), 9, 0)],
            };
        }
        let late = walks.world.serve(&requests);
        let waiting = if lost < 4 { 3 } else { 1 };
        (1..waiting).for_each(|number| walks.join(UPLINK, &of(number), 9, number.into()));
        for _ in 0..2 {
            let owner = walks.world.register(OWNERS, walk);
            assert_eq!(owner as u32, u32::from(waiting));
        }
        walks.world.set_register(OWNERS, walk, 0);
        let next = if lost == 2 { other.clone().unwrap() } else { of(3) };
        if lost == 4 {
            let (port, arrived) = frame(UPLINK, &next, 9);
            walks.world.first_packet(UPLINK, port, &arrived, &next, 9);
            walks.forwarded(UPLINK, &next);
            walks.close(UPLINK);
        } else {
            assert!(walks.look_up(UPLINK, &next, 9).is_some());
            late.iter().for_each(|response| walks.world.put(MEMORY, response));
            walks.world.fence();
        }
        walks.forget(UPLINK, &next, 9);
        assert_eq!(walks.world.register(OWNERS, walk) as u32, 0);
        assert_eq!((walks.world.outcomes(FORWARDED), walks.world.outcomes(OLD)), (lost + 1, 4.min(lost + 1)));
    }
}

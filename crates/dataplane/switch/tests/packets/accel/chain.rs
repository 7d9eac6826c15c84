//! Two switches that are a chain: what an SMF was told of survives the primary.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::Ipv4Addr;

use causeway_accel::switch::parse;
use causeway_switch::accel::{
    Entry, Op, Passage, Record, Recording, Replicated, Role, SessionChange, Sessions, Tables, Verdict,
};
use causeway_switch::driver::{Program, Update};
use causeway_switch::model::State;
use causeway_types::Time;
use fastrand::Rng;

use super::frames::{ie, message};
use super::switch::{Outcome, Switch};
use super::{
    FROM, PEERS, POOLS, SMF, UE, UPF, creation, establishment, seid_of, start_of_chain, teid_of, tunnel,
};
use crate::bmv2::{is_inside, run_inside};
use crate::{N3, N6};

/// UEs, and the index of the first one.
const UES: u32 = 12;
const FIRST: u32 = POOLS[0].1;

/// A switch of the chain.
#[derive(Clone)]
struct Member {
    model: Sessions,
    state: State,
}

/// A message that is answered by the switch, or that its software answers.
#[derive(Clone, Debug)]
enum First {
    Answered(Vec<u8>),
    Recorded(Recording),
    Entry(Entry),
}

/// Without what an older session of the index has left of a downlink that is not there.
fn without_rests(entry: Entry) -> Entry {
    let downlink_action = if entry.downlink_policy == 0 { 0 } else { entry.downlink_action };
    Entry { downlink_action, ..entry }
}

impl Member {
    fn new(tables: &Tables, role: Role) -> Self {
        let program = Program::default().with_sessions();
        let mut model = Sessions::new(&program, tables.clone()).unwrap();
        model.role = role;
        Self { model, state: State::new(program) }
    }

    /// A message, and its second pass if the software gets it.
    fn message(&mut self, octets: &[u8]) -> First {
        match self.model.message(&mut self.state, FROM, octets).unwrap() {
            Verdict::Answered(answer) => First::Answered(answer),
            Verdict::Recorded(recording) => First::Recorded(recording),
            Verdict::Second(second) => {
                let entry = self.model.second(&mut self.state, second).unwrap();
                let alone = || panic!("{octets:02x?} goes to the software alone");
                First::Entry(without_rests(entry.unwrap_or_else(alone)))
            }
            Verdict::Dropped => panic!("a standby gets {octets:02x?}"),
        }
    }

    fn read(&self, index: u32) -> Entry {
        without_rests(self.model.read(&self.state, index).unwrap())
    }

    fn write(&mut self, index: u32, value: [u32; 2]) {
        let update = Update::SetRegister { register: self.model.states(), index, value };
        self.state.write(Time::from_secs(1), &[update]).unwrap();
    }

    /// The software has the index.
    fn mark(&mut self, index: u32) {
        self.write(index, [0x7fff_0000, 0]);
    }

    fn all(&self) -> Vec<Entry> {
        (FIRST..FIRST + UES).map(|index| self.read(index)).collect()
    }
}

/// What an SMF knows of the session of a UE. It sends the next request when the last one is answered.
#[derive(Clone, Default, Debug)]
struct Ue {
    /// SEID and TEID.
    session: Option<(u64, u32)>,
    has_qer: bool,
    has_downlink: bool,
    open: Option<Vec<u8>>,
    /// The request that established the session, and the last one that was answered, with their answers.
    origin: Option<(Vec<u8>, Vec<u8>)>,
    last: Option<(Vec<u8>, Vec<u8>)>,
    /// The software has it.
    is_of_software: bool,
}

#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    answered: u32,
    lost: u32,
    takeovers: u32,
    joined: u32,
    /// Records that changed nothing, as they were of another epoch; or whose session was the software's; messages whose session had changed.
    other_epoch: u32,
    of_software: u32,
    not_recorded: u32,
    handed_over: u32,
    forgotten: u32,
    forwarded: u32,
}

/// A frame on the link: a record, and the message behind it.
type Frame = (Record, Option<Vec<u8>>);

struct World {
    random: Rng,
    tables: Tables,
    primary: Member,
    standby: Option<Member>,
    /// Indexes that the standby may lack.
    missing: BTreeSet<u32>,
    epoch: u32,
    passing: VecDeque<(Recording, Vec<u8>)>,
    link: VecDeque<Frame>,
    /// The primary of the epoch before, which may not know that it is none.
    former: Option<Member>,
    /// A switch that got each message that was answered, once and in this order.
    oracle: Member,
    ues: Vec<Ue>,
    sequence: u32,
    /// Sessions on their way to the software, which has not answered yet.
    handing: BTreeMap<u32, (Entry, Vec<u8>)>,
    counts: Counts,
}

fn ue(index: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 46, 0, 0)) + index - FIRST)
}

/// FAR IDs of a UE.
const fn fars(index: u32) -> [u32; 2] {
    [2 * (index - FIRST) + 1, 2 * (index - FIRST) + 2]
}

fn qer() -> Vec<u8> {
    [ie(109, [0, 0, 0, 1]), ie(25, [0])].concat()
}

fn establish(index: u32, sequence: u32, has_qer: bool) -> Vec<u8> {
    let qer = if has_qer { qer() } else { vec![] };
    let mut octets = establishment(ue(index), sequence, fars(index)[0], &qer);
    // The SMF's SEID: of each UE another.
    octets[34..38].copy_from_slice(&(index + 1).to_be_bytes());
    octets
}

fn create(index: u32, seid: u64, sequence: u32, has_qer: bool) -> Vec<u8> {
    let qer = if has_qer { ie(109, [0, 0, 0, 1]) } else { vec![] };
    let mut octets = creation(seid, sequence, ue(index), fars(index)[1], &qer);
    octets[25..29].copy_from_slice(&(index + 1).to_be_bytes());
    octets
}

/// The downlink's FAR has another action, or another tunnel.
fn update(index: u32, seid: u64, sequence: u32, action: Option<u8>, teid: Option<u8>) -> Vec<u8> {
    let id = ie(108, fars(index)[1].to_be_bytes());
    let action = action.map_or_else(Vec::new, |action| ie(44, [action]));
    let tunnel = teid.map_or_else(Vec::new, |teid| ie(11, tunnel(teid)));
    message(52, seid, sequence, &ie(10, [id, action, tunnel].concat()))
}

/// All that these messages need.
fn tables() -> Tables {
    let mut tables = Tables::new([UPF; 3]);
    POOLS.iter().for_each(|(net, first)| tables.add_pool(net.parse().unwrap(), *first));
    tables.add_peers(PEERS.parse().unwrap());
    tables.set_smf(SMF, SMF, 7);
    let mut admit =
        |octets: &[u8], op| tables.admit(octets[1], octets[3], &parse(&octets[16..]).fields, op).unwrap();
    admit(&message(54, 0, 1, &[]), Op::Delete);
    let updates = [
        (admit(&update(FIRST, 0, 1, None, Some(1)), Op::Update), 0),
        (admit(&update(FIRST, 0, 1, Some(2), None), Op::Update), 1),
        (admit(&update(FIRST, 0, 1, Some(1), None), Op::Update), 2),
        (admit(&update(FIRST, 0, 1, Some(2), Some(1)), Op::Update), 1),
    ];
    let of = [false, true].map(|has_qer| {
        let uplink = admit(&establish(FIRST, 1, has_qer), Op::Establish);
        (uplink, admit(&create(FIRST, 0, 1, has_qer), Op::Create))
    });
    for (uplink, downlink) in of {
        tables.admit_change(uplink, 0, downlink, SessionChange { downlink_action: 1 });
        for (policy, downlink_action) in updates {
            tables.admit_change(uplink, downlink, policy, SessionChange { downlink_action });
        }
        tables.open_uplink(uplink, None, 0);
        tables.open_downlink(uplink, downlink, 9, 0);
    }
    tables
}

impl World {
    fn new(seed: u64) -> Self {
        let tables = tables();
        let mut world = Self {
            random: Rng::with_seed(seed),
            primary: Member::new(&tables, Role::Alone),
            oracle: Member::new(&tables, Role::Alone),
            tables,
            standby: None,
            missing: BTreeSet::new(),
            epoch: 1,
            passing: VecDeque::new(),
            link: VecDeque::new(),
            former: None,
            ues: vec![Ue::default(); UES as usize],
            sequence: 0x00ff_ff00,
            handing: BTreeMap::new(),
            counts: Counts::default(),
        };
        world.join();
        world
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(..count) == 0
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        self.sequence
    }

    /// A standby without sessions. The control plane writes what the software has; all else is asked for.
    fn join(&mut self) {
        self.epoch += 1;
        self.former = None;
        self.primary.model.role = Role::Primary { epoch: self.epoch };
        let mut standby = Member::new(&self.tables, Role::Standby { epoch: self.epoch });
        self.missing = (FIRST..FIRST + UES).collect();
        for index in FIRST..FIRST + UES {
            if self.ues[(index - FIRST) as usize].is_of_software {
                standby.mark(index);
            }
        }
        self.standby = Some(standby);
    }

    fn step(&mut self) {
        match self.random.u8(..100) {
            0..25 => self.next_request(),
            25..33 => self.repeat(),
            33..60 => self.second_pass(),
            60..86 => self.deliver(),
            86..94 => self.transfer(),
            94 => self.software_answers(),
            95 => self.software_ends(),
            96 => self.former_goes_on(),
            97 => {
                if self.missing.is_empty() && self.one_in(2) {
                    self.take_over();
                }
            }
            98 => {
                if self.one_in(6) {
                    self.standby_fails();
                }
            }
            _ => {
                if self.standby.is_none() && self.one_in(2) {
                    self.join();
                }
            }
        }
    }

    /// The next request of an SMF about a UE.
    fn next_request(&mut self) {
        let index = FIRST + self.random.u32(..UES);
        let at = (index - FIRST) as usize;
        if self.ues[at].open.is_some() || self.ues[at].is_of_software {
            return;
        }
        let sequence = self.next_sequence();
        let octets = match self.ues[at].session {
            None => {
                self.ues[at].has_qer = self.random.bool();
                establish(index, sequence, self.ues[at].has_qer)
            }
            Some((seid, _)) => match self.random.u8(..80) {
                0..8 => message(54, seid, sequence, &[]),
                // What the switch does not parse.
                8..10 => message(52, seid, sequence, &ie(6, [])),
                _ if !self.ues[at].has_downlink => create(index, seid, sequence, self.ues[at].has_qer),
                10..24 => update(index, seid, sequence, Some(1), None),
                24..40 => update(index, seid, sequence, Some(2), None),
                40..55 => update(index, seid, sequence, Some(2), Some(self.random.u8(1..200))),
                _ => update(index, seid, sequence, None, Some(self.random.u8(1..200))),
            },
        };
        self.ues[at].open = Some(octets.clone());
        self.request(index, &octets);
    }

    /// An SMF repeats an open request, or one that was answered.
    fn repeat(&mut self) {
        let index = FIRST + self.random.u32(..UES);
        let ue = &self.ues[(index - FIRST) as usize];
        let again = match (&ue.open, &ue.last, ue.is_of_software) {
            (Some(open), ..) => open.clone(),
            (None, Some((request, _)), false) => request.clone(),
            _ => return,
        };
        self.request(index, &again);
    }

    fn request(&mut self, index: u32, octets: &[u8]) {
        if self.handing.contains_key(&index) {
            // It reaches the software behind its session, and waits there.
            return;
        }
        match self.primary.message(octets) {
            First::Answered(answer) => self.answered(index, octets, &answer),
            First::Recorded(recording) => self.passing.push_back((recording, octets.to_vec())),
            First::Entry(entry) => {
                self.handing.insert(index, (entry, octets.to_vec()));
                if self.standby.is_none() || self.random.bool() {
                    self.software_has(index);
                }
            }
        }
    }

    /// Of the first message that has passed, or of the next one if both are of different sessions.
    fn second_pass(&mut self) {
        let Some((recording, octets)) = self.passing.pop_front() else { return };
        match self.primary.model.record(&mut self.primary.state, recording).unwrap() {
            Some(record) => self.link.push_back((record, Some(octets))),
            None => self.counts.not_recorded += 1,
        }
    }

    /// The next frame reaches the standby, or does not.
    fn deliver(&mut self) {
        let Some((record, octets)) = self.link.pop_front() else { return };
        if self.one_in(4)
            || (self.standby.is_none() && self.primary.model.role == Role::Alone && self.random.bool())
        {
            self.counts.lost += 1;
            return;
        }
        let Some(standby) = &mut self.standby else {
            // Behind a take-over, in the epoch before.
            return self.refused(&record, octets.as_deref());
        };
        let before = standby.all();
        match standby.model.replicate(&mut standby.state, &record, octets.as_deref()).unwrap() {
            Replicated::Answered(answer) => {
                // The answer may be lost.
                if !self.one_in(5) {
                    let octets = octets.unwrap();
                    self.answered(record.index, &octets, &answer);
                }
            }
            Replicated::Written => assert_eq!(octets, None),
            Replicated::OfSoftware => {
                let index = record.index;
                assert_eq!(standby.read(index).state, 0x7fff_0000);
                self.counts.of_software += 1;
            }
            Replicated::OtherEpoch => {
                assert_ne!(record.epoch, self.epoch);
                assert_eq!(standby.all(), before);
                self.counts.other_epoch += 1;
            }
        }
    }

    /// A record of another epoch at the switch that is alone.
    fn refused(&mut self, record: &Record, octets: Option<&[u8]>) {
        let before = self.primary.all();
        let primary = &mut self.primary;
        let found = primary.model.replicate(&mut primary.state, record, octets).unwrap();
        assert_eq!((found, primary.all()), (Replicated::OtherEpoch, before));
        self.counts.other_epoch += 1;
    }

    /// The control plane compares an index, and asks for it again as long as both differ.
    fn transfer(&mut self) {
        let Some(index) = self.missing.first().copied() else { return };
        let Some(standby) = &self.standby else { return };
        if standby.read(index) == self.primary.read(index)
            || self.ues[(index - FIRST) as usize].is_of_software
        {
            self.missing.remove(&index);
            self.counts.joined += u32::from(self.missing.is_empty());
        } else if let Some(record) = self.primary.model.transfer(&mut self.primary.state, index).unwrap() {
            self.link.push_back((record, None));
        }
    }

    /// An SMF gets an answer.
    fn answered(&mut self, index: u32, octets: &[u8], answer: &[u8]) {
        let First::Answered(expected) = self.oracle.message(octets) else {
            panic!("a switch alone does not answer {octets:02x?}")
        };
        assert_eq!(answer, expected, "to {octets:02x?}");
        let ue = &mut self.ues[(index - FIRST) as usize];
        if let Some((_, before)) = ue.last.as_ref().filter(|(last, _)| last == octets) {
            assert_eq!(before, answer);
        }
        if ue.open.as_deref() != Some(octets) {
            return;
        }
        self.counts.answered += 1;
        (ue.open, ue.last) = (None, Some((octets.to_vec(), answer.to_vec())));
        match octets[1] {
            50 => {
                ue.session = Some((seid_of(answer), teid_of(answer)));
                ue.origin.clone_from(&ue.last);
            }
            54 => (ue.session, ue.has_downlink, ue.origin) = (None, false, None),
            _ => ue.has_downlink = true,
        }
    }

    /// The software has the session: the control plane has written it to both switches before the SMF gets an answer.
    fn software_has(&mut self, index: u32) {
        let Some((entry, octets)) = self.handing.remove(&index) else { return };
        if let Some(standby) = &mut self.standby {
            standby.mark(index);
        }
        let First::Entry(expected) = self.oracle.message(&octets) else { panic!() };
        assert_eq!(entry, expected);
        let ue = &mut self.ues[(index - FIRST) as usize];
        (ue.open, ue.is_of_software) = (None, true);
        self.counts.handed_over += 1;
    }

    fn software_answers(&mut self) {
        if let Some(index) = self.handing.keys().next().copied() {
            self.software_has(index);
        }
    }

    /// A session has ended at the software, long ago: the standby is the first that may have another one.
    fn software_ends(&mut self) {
        let Some(at) = self.ues.iter().position(|ue| ue.is_of_software) else { return };
        let index = FIRST + at as u32;
        let is_under_way = self.link.iter().any(|(record, _)| record.index == index);
        if is_under_way || !self.passing.is_empty() {
            return;
        }
        let generation = (self.ues[at].session.unwrap().0 >> 48) as u16 & 0x7fff;
        let value = self.oracle.model.release(generation);
        let members = self.standby.iter_mut().chain([&mut self.primary, &mut self.oracle]);
        members.for_each(|member| member.write(index, value));
        self.ues[at] = Ue::default();
    }

    /// The primary of before has not failed, and gets a message: what it sends changes nothing.
    fn former_goes_on(&mut self) {
        let Some(mut former) = self.former.take() else { return };
        let index = FIRST + self.random.u32(..UES);
        let sequence = self.next_sequence();
        let octets = establish(index, sequence, false);
        let first = former.model.message(&mut former.state, FROM, &octets).unwrap();
        if let Verdict::Recorded(recording) = first
            && let Some(record) = former.model.record(&mut former.state, recording).unwrap()
        {
            self.refused(&record, Some(&octets));
        }
        self.former = Some(former);
    }

    /// The standby goes on alone; what is on the link may still come, before or after that.
    fn take_over(&mut self) {
        if self.standby.is_none() {
            return;
        }
        for _ in 0..self.random.usize(..4) {
            self.deliver();
        }
        // The software goes on, and says what it has, or fails as well.
        for index in self.handing.keys().copied().collect::<Vec<_>>() {
            if self.random.bool() {
                self.software_has(index);
            } else {
                self.handing.remove(&index);
                self.counts.forgotten += 1;
            }
        }
        let Some(mut survivor) = self.standby.take() else { return };
        survivor.model.role = Role::Alone;
        self.former = Some(std::mem::replace(&mut self.primary, survivor));
        self.epoch += 1;
        self.passing.clear();
        self.counts.takeovers += 1;
        // Requests that were not answered come again.
        for index in FIRST..FIRST + UES {
            let at = (index - FIRST) as usize;
            if self.ues[at].open.is_none() {
                self.check(index);
            }
            if let Some(open) = self.ues[at].open.clone() {
                self.request(index, &open);
                assert_eq!(self.ues[at].open, None);
                self.check(index);
            }
        }
    }

    /// The survivor has what a switch has that had each message that was answered.
    fn check(&mut self, index: u32) {
        let ue_of = self.ues[(index - FIRST) as usize].clone();
        let (found, expected) = (self.primary.read(index), self.oracle.read(index));
        if ue_of.last.is_some() && !ue_of.is_of_software {
            assert_eq!(found, expected);
        } else {
            assert_eq!(found.state, expected.state);
        }
        let teid = ue_of.session.map_or(1 << 17 | index, |(_, teid)| teid);
        let pass = |member: &mut Member| {
            let Member { model, state } = member;
            [
                model.uplink(state, teid, 9, ue(index)).unwrap(),
                model.uplink(state, teid ^ 1 << 17, 9, ue(index)).unwrap(),
                model.downlink(state, ue(index)).unwrap(),
            ]
        };
        let passages = pass(&mut self.primary);
        assert_eq!(passages, pass(&mut self.oracle));
        let is_forwarded =
            |passage: &&Passage| matches!(passage, Passage::Decapsulated(_) | Passage::Encapsulated(..));
        self.counts.forwarded += passages.iter().filter(is_forwarded).count() as u32;
        if ue_of.is_of_software {
            assert!(passages.iter().all(|passage| *passage == Passage::ToSoftware));
            return;
        }
        let before = self.primary.read(index);
        for (request, answer) in ue_of.last.into_iter().chain(ue_of.origin) {
            let First::Answered(again) = self.primary.message(&request) else { panic!("{request:02x?}") };
            assert_eq!(again, answer);
        }
        assert_eq!(self.primary.read(index), before);
    }

    fn standby_fails(&mut self) {
        if self.standby.take().is_some() {
            self.epoch += 1;
            self.primary.model.role = Role::Alone;
            // What had passed once finds no chain.
            while let Some((recording, _)) = self.passing.pop_front() {
                let Member { model, state } = &mut self.primary;
                assert_eq!(model.record(state, recording).unwrap(), None);
            }
            self.link.clear();
            self.software_answers();
        }
    }
}

// Input:  20,000 steps of the sessions of twelve UEs, eight times: requests, each after the answer to the one before, and their repetitions; second
//         passes late; a quarter of the records and a fifth of the answers of the standby lost; handovers to a software that may be late, and
//         fail with the primary; primaries that fail, or go on without the chain; standbys that fail; and standbys that join without
//         sessions.
// Output: each answer is that of a switch that gets each answered request once, in the same order. After each take-over the survivor has
//         that switch's sessions, forwards its packets, and answers the last request and the establishment with the same octets. Records of
//         another epoch change nothing.
#[test]
fn what_an_smf_was_told_survives_the_primary() {
    let mut all = Counts::default();
    for seed in 0..8 {
        let mut world = World::new(seed);
        for _ in 0..20_000 {
            world.step();
        }
        let counts = world.counts;
        all.answered += counts.answered;
        all.lost += counts.lost;
        all.takeovers += counts.takeovers;
        all.joined += counts.joined;
        all.other_epoch += counts.other_epoch;
        all.of_software += counts.of_software;
        all.not_recorded += counts.not_recorded;
        all.handed_over += counts.handed_over;
        all.forgotten += counts.forgotten;
        all.forwarded += counts.forwarded;
    }
    assert!(all.answered > 10_000 && all.lost > 3_000 && all.takeovers > 100 && all.joined > 100, "{all:?}");
    assert!(all.other_epoch > 50 && all.of_software > 5 && all.not_recorded > 5, "{all:?}");
    assert!(all.handed_over > 100 && all.forgotten > 0 && all.forwarded > 500, "{all:?}");
}

/// A switch on BMv2, with the rows that both have.
fn switch() -> Switch {
    let mut switch = start_of_chain();
    let index = FIRST;
    let uplink = switch.admit(&establish(index, 1, false), Op::Establish);
    let downlink = switch.admit(&create(index, 0, 1, false), Op::Create);
    let tunnel = switch.admit(&update(index, 0, 1, None, Some(1)), Op::Update);
    let drops = switch.admit(&update(index, 0, 1, Some(1), None), Op::Update);
    switch.admit(&message(54, 0, 1, &[]), Op::Delete);
    switch.admit_change([uplink, 0, downlink], 1);
    switch.admit_change([uplink, downlink, tunnel], 0);
    switch.admit_change([uplink, downlink, drops], 2);
    switch.open_uplink(uplink, None, 0);
    switch.open_downlink(uplink, downlink, 9, 0);
    switch
}

fn answered(found: Replicated) -> Vec<u8> {
    let Replicated::Answered(answer) = found else { panic!("{found:?}") };
    answer
}

// Input:  two switches. A session is established, gets its downlink and another tunnel; a record is lost, a request comes twice. Records of another
//         epoch, by another port, cut short. A second session goes to the software, while a record of it is on its way; a third one ends. Then the
//         primary fails, and a third switch joins without sessions, which takes over as well.
// Output: the primary answers nothing: what leaves are the model's records, octet by octet, and the standby sends the model's answers. It takes
//         neither messages nor user packets. After each take-over the same requests get the same octets, and user packets pass; records of the
//         epoch before are dropped. Each reason is counted.
#[test]
fn a_chain_of_two_switches() {
    if !is_inside() {
        return run_inside("accel::chain::a_chain_of_two_switches");
    }
    let (mut first, mut second) = (switch(), switch());
    first.set_role(Role::Primary { epoch: 1 });
    second.set_role(Role::Standby { epoch: 1 });
    let index = u32::from(UE) - u32::from(ue(FIRST)) + FIRST;

    let establishment = establish(index, 1, false);
    let record = first.recorded(FROM, &establishment);
    let established = answered(second.replicate(&record));
    let again = first.recorded(FROM, &establishment);
    assert_eq!(answered(second.replicate(&again)), established);
    let (seid, teid) = (seid_of(&established), teid_of(&established));
    let creation = create(index, seid, 2, false);
    // This record is lost.
    first.recorded(FROM, &creation);
    let record = first.recorded(FROM, &creation);
    answered(second.replicate(&record));
    let moved = update(index, seid, 3, None, Some(6));
    let last = first.recorded(FROM, &moved);
    let answer = answered(second.replicate(&last));

    // What a standby does not take.
    assert_eq!(first.uplink(teid, 9, UE), Passage::Decapsulated(0));
    assert!(matches!(first.downlink(UE), Passage::Encapsulated(6, ..)));
    assert_eq!(second.uplink(teid, 9, UE), Passage::Dropped);
    assert_eq!(second.downlink(UE), Passage::Dropped);
    second.dropped(FROM, &moved);
    assert!(second.dropped_for(25).is_none_or(|count| count == 3));
    let mut other = last.clone();
    other[17] = 2;
    assert_eq!(second.replicate(&other), Replicated::OtherEpoch);
    second.drops(N3, &last);
    second.drops(N6, &last);
    first.drops(N6, &last);
    assert!(second.dropped_for(26).is_none_or(|count| count == 3));
    second.drops(N6, &last[..30]);

    // Another session: the software has it before a record of it arrives.
    let handed = index + 1;
    let record = first.recorded(FROM, &establish(handed, 4, false));
    let of_other = seid_of(&answered(second.replicate(&record)));
    let late = first.recorded(FROM, &create(handed, of_other, 5, false));
    let complex = message(52, of_other, 6, &ie(6, []));
    let Outcome::ToSoftware(Some(entry)) = first.message(FROM, &complex) else { panic!() };
    assert_eq!(entry.index, handed);
    second.write_state(handed, [0x7fff_0000, 0]);
    assert_eq!(second.replicate(&late), Replicated::OfSoftware);
    assert!(second.dropped_for(27).is_none_or(|count| count == 1));

    // A third one ends.
    let ended = index + 2;
    let record = first.recorded(FROM, &establish(ended, 7, false));
    let of_ended = seid_of(&answered(second.replicate(&record)));
    let deletion = message(54, of_ended, 8, &[]);
    let record = first.recorded(FROM, &deletion);
    let deleted = answered(second.replicate(&record));
    let again = first.recorded(FROM, &deletion);
    assert_eq!(answered(second.replicate(&again)), deleted);

    // The primary fails with a request that nobody was told of.
    let open = first.recorded(FROM, &update(index, seid, 9, Some(1), None));
    second.set_role(Role::Alone);
    assert_eq!(second.replicate(&open), Replicated::OtherEpoch);
    let check = |switch: &mut Switch| {
        assert_eq!(switch.message(FROM, &establishment), Outcome::Answered(established.clone()));
        assert_eq!(switch.message(FROM, &deletion), Outcome::Answered(deleted.clone()));
        assert_eq!(switch.uplink(teid, 9, UE), Passage::Decapsulated(0));
        assert_eq!(switch.uplink(teid, 9, ue(handed)), Passage::ToSoftware);
        assert_eq!(switch.downlink(ue(ended)), Passage::Dropped);
    };
    check(&mut second);
    assert_eq!(second.message(FROM, &moved), Outcome::Answered(answer));
    assert!(matches!(second.downlink(UE), Passage::Encapsulated(6, ..)));
    let again = update(index, seid, 9, Some(1), None);
    let Outcome::Answered(closed) = second.message(FROM, &again) else { panic!() };
    assert_eq!(second.downlink(UE), Passage::Dropped);

    // A standby without sessions.
    let mut third = switch();
    second.set_role(Role::Primary { epoch: 3 });
    third.set_role(Role::Standby { epoch: 3 });
    third.write_state(handed, [0x7fff_0000, 0]);
    for index in [index, ended] {
        let record = second.transferred(index);
        assert_eq!(third.replicate(&record), Replicated::Written);
    }
    let record = second.recorded(FROM, &again);
    assert_eq!(answered(third.replicate(&record)), closed);
    third.set_role(Role::Alone);
    check(&mut third);
    assert_eq!(third.message(FROM, &again), Outcome::Answered(closed));
    assert_eq!(third.downlink(UE), Passage::Dropped);
}

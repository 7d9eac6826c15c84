//! The switch against the data plane of `causeway-accel`: each message that the switch answers has the answer of that crate, octet by
//! octet, and leaves what user packets find there. BMv2 does the same as the model. N4 and a slow path adopt what the switch hands over.

use std::collections::{BTreeMap, VecDeque};
use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::switch::{Fields, parse};
use causeway_accel::{Accel, Action, Class, Config, MAX_ANSWER, Reservation, Verdict as Expected};
use causeway_model::{Adopted, Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_types::{NetworkInstance, NodeId, Seid, Teid, Time};
use fastrand::Rng;

use causeway_switch::accel::{Entry, Fallback, HandoverError, Op, Passage, Punted, SESSIONS, Verdict};
use causeway_switch::driver::Program;

use super::frames::{cpu_frame, ethernet, ie, ipv4, message, udp};
use super::software::{Software, complex, ues_named};
use super::switch::{Outcome, Own, Switch};
use crate::bmv2::{is_inside, run_inside};

pub(super) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(super) const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 100);
const NOW: Time = Time::from_secs(1_700_000_000);
/// The control plane, for its claims.
pub(super) const OWN: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 30);
pub(super) const OWN_NUMBER: u16 = 0xffff;
/// The last index, so that both ends of the arrays are in use.
const LAST: u32 = SESSIONS as u32 - 1;

pub(super) const fn smf(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 20 + number)
}

/// A session that the switch has.
#[derive(Clone, Debug)]
pub(super) struct Live {
    pub(super) smf: u8,
    pub(super) seid: u64,
    /// In the crate: SEID and index.
    pub(super) of_crate: (u64, u32),
    pub(super) cp: u64,
    pub(super) ue: Ipv4Addr,
    pub(super) teid: u32,
    pub(super) has_qer: bool,
    pub(super) has_downlink: bool,
    /// The IDs of the FARs of both directions.
    pub(super) fars: [u32; 2],
    /// The message that established it, and the last one.
    pub(super) origin: Vec<u8>,
    pub(super) last: Vec<u8>,
}

pub(super) fn far_id(fields: &Fields) -> u32 {
    (fields.get("far_high") as u32) << 16 | fields.get("far_id") as u32
}

/// What happened.
#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    messages: u32,
    answered: [u32; 3],
    repeated: u32,
    /// The crate answers, the switch does not.
    less: u32,
    to_software: u32,
    adopted: u32,
    forwarded: [u32; 2],
}

impl Counts {
    /// Of so many messages, 2,500 of each world.
    fn of(messages: u32, on_bmv2: bool) -> Self {
        let mut all = Self::default();
        for seed in 0..messages.div_ceil(2500) {
            let mut world = World::new(seed.into(), on_bmv2);
            world.run((messages - seed * 2500).min(2500), on_bmv2);
            let counts = world.counts;
            all.messages += counts.messages;
            all.less += counts.less;
            all.to_software += counts.to_software;
            all.adopted += counts.adopted;
            all.repeated += counts.repeated;
            for (sum, more) in all.answered.iter_mut().zip(counts.answered) {
                *sum += more;
            }
            for (sum, more) in all.forwarded.iter_mut().zip(counts.forwarded) {
                *sum += more;
            }
        }
        all
    }
}

pub(super) fn endpoints() -> LocalEndpoints {
    LocalEndpoints {
        gtpu: vec![LocalEndpoint { addr: N3.into(), network_instance: None }],
        networks: ["internet", "ims"].map(NetworkInstance::new).into(),
        own: vec![UPF.into()],
        ..LocalEndpoints::default()
    }
}

pub(super) fn capabilities() -> Capabilities {
    Capabilities { outer_ipv6: false, ..Capabilities::all(100_000, 16) }
}

struct World {
    random: Rng,
    oracle: Accel,
    switch: Switch,
    /// The software behind it.
    fallback: Fallback,
    live: BTreeMap<u32, Live>,
    /// N4 and a slow path; `None`: nothing is done with what goes there.
    software: Option<Box<Software>>,
    /// Sessions of the software by index, with the crate's SEID.
    of_software: BTreeMap<u32, (Seid, Live)>,
    /// Sessions that were deleted, by index: the deletion, and the establishment.
    gone: BTreeMap<u32, (Live, Vec<u8>)>,
    sequence: u32,
    next_cp: u64,
    numbers: [u16; 2],
    counts: Counts,
}

impl World {
    fn new(seed: u64, on_bmv2: bool) -> Self {
        let config = Config::new(&NodeId::Ip(UPF.into()), UPF.into(), &endpoints(), &capabilities()).unwrap();
        let mut config = config.with_class(Class::PUBLISHED);
        (config.sessions, config.keys, config.first_slot) = (256, 512, 0x0080_0000);
        let mut fallback = Fallback::new(config.clone()).unwrap();
        let mut oracle = Accel::new(config).unwrap();
        let pools = [("10.45.0.0/24", 0), ("10.46.0.0/26", LAST - 63)];
        let mut switch = Switch::new(Own { n4: UPF, n3: N3 }, &pools, "192.0.2.8/29", on_bmv2);
        for number in 0..2 {
            oracle.associate(smf(number), smf(number)).unwrap();
            switch.set_smf(smf(number), u16::from(number) + 1);
            fallback.set_smf(smf(number), smf(number), u16::from(number) + 1);
        }
        Self {
            random: Rng::with_seed(seed),
            software: None,
            oracle,
            switch,
            fallback,
            live: BTreeMap::new(),
            of_software: BTreeMap::new(),
            gone: BTreeMap::new(),
            sequence: 0x00ff_f000,
            next_cp: 1,
            numbers: [1, 2],
            counts: Counts::default(),
        }
    }

    /// With N4 and a slow path behind the switch.
    fn with_software(seed: u64) -> Self {
        let mut world = Self::new(seed, false);
        let software = Software::new(NOW, &endpoints(), &capabilities());
        world.software = Some(Box::new(software));
        world.switch.set_smf(OWN, OWN_NUMBER);
        world.fallback.set_own(OWN, OWN_NUMBER);
        let read = world.switch.model.read(&world.switch.state, 0).unwrap();
        let (_, claim) = world.fallback.claim(&world.switch.model.tables, &read).unwrap();
        world.switch.admit(&claim, Op::Establish);
        world
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(..count) == 0
    }

    fn choice<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())].clone()
    }

    fn next_sequence(&mut self) -> u32 {
        // Numbers of an SMF wrap at 24 bits.
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        if self.one_in(60) {
            self.sequence.wrapping_sub(self.random.u32(1..50)) & 0x00ff_ffff
        } else {
            self.sequence
        }
    }

    fn any_ue(&mut self) -> Ipv4Addr {
        match self.random.u8(..40) {
            0 => Ipv4Addr::new(10, 47, 0, 1),
            1..12 => Ipv4Addr::new(10, 46, 0, self.random.u8(..64)),
            _ => Ipv4Addr::new(10, 45, 0, self.random.u8(..)),
        }
    }

    fn cp_f_seid(cp: u64, host: Ipv4Addr) -> Vec<u8> {
        ie(57, [&[2][..], &cp.to_be_bytes(), &host.octets()].concat())
    }

    fn establishment(&mut self, number: u8) -> Vec<u8> {
        let cp = self.next_cp;
        self.next_cp += if self.one_in(50) { 1 << 32 } else { 1 };
        let host = if self.one_in(60) { smf(5) } else { smf(number) };
        let node = if self.one_in(60) { smf(6) } else { smf(number) };
        let ue = self.any_ue();
        let labels = [&[8][..], b"internet"].concat();
        let other = if self.one_in(20) { ie(22, "ims") } else { ie(22, "internet") };
        let network = [vec![], ie(22, "internet"), ie(22, labels), other];
        let assigned = [&[1, 0, 0, 0, 9][..], &N3.octets()].concat();
        let rare_tunnel = self.one_in(40);
        let tunnel =
            if rare_tunnel { assigned } else { self.choice(&[vec![5], vec![4], vec![13, 42], vec![13, 7]]) };
        let has_ue = !self.one_in(40);
        let pdi = [
            ie(20, [0]),
            ie(21, tunnel),
            self.choice(&network),
            if has_ue { ie(93, [&[2][..], &ue.octets()].concat()) } else { vec![] },
            self.choice(&[vec![], vec![], ie(124, [9])]),
            self.choice(&[vec![], ie(160, [1])]),
        ];
        let has_qer = self.random.bool();
        let far = self.any_far();
        let other = if self.one_in(60) { self.any_far() } else { far };
        let qer_of_pdr = if has_qer { ie(109, [0, 0, 0, 1]) } else { vec![] };
        let pdr = [
            ie(56, [0, 1]),
            ie(29, self.choice(&[255_u32, 32]).to_be_bytes()),
            ie(2, pdi.concat()),
            ie(95, self.choice(&[vec![0], vec![6], vec![0, 0]])),
            ie(108, other.to_be_bytes()),
            qer_of_pdr,
        ];
        let rare_action = self.one_in(40);
        let action =
            if rare_action { vec![12] } else { self.choice(&[vec![2], vec![2], vec![2, 0], vec![1]]) };
        let parameters = [ie(42, [1]), self.choice(&network), self.choice(&[vec![], ie(160, [2])])].concat();
        let far = [ie(108, far.to_be_bytes()), ie(44, action), ie(4, parameters)].concat();
        let qer = [
            ie(109, [0, 0, 0, 1]),
            ie(25, [self.choice(&[0, 0, 0, 1, 4, 5])]),
            self.choice(&[vec![], ie(26, [0, 0, 0, 0, 9, 0, 0, 0, 0, 99])]),
            self.choice(&[vec![], ie(124, [9])]),
        ];
        let tail =
            self.choice(&[vec![], ie(113, [1]), [ie(113, [1]), ie(159, "internet")].concat(), ie(113, [2])]);
        let ies = [
            ie(60, [&[0][..], &node.octets()].concat()),
            Self::cp_f_seid(cp, host),
            ie(1, pdr.concat()),
            ie(3, far),
            if has_qer { ie(7, qer.concat()) } else { vec![] },
            tail,
        ];
        message(50, 0, self.next_sequence(), &ies.concat())
    }

    /// SMFs number FARs for all sessions.
    fn any_far(&mut self) -> u32 {
        let last = if self.one_in(80) { 0 } else { self.random.u32(1..1 << 16) };
        self.choice(&[0, 0, 1, 7]) << 16 | last
    }

    /// A change of a session, or its end.
    fn change(&mut self, live: &Live) -> Vec<u8> {
        let other = self.one_in(50);
        let cp = match self.random.u8(..3) {
            0 => Self::cp_f_seid(live.cp + u64::from(other), smf(live.smf)),
            _ => vec![],
        };
        let (teid, gnb) = (self.random.u32(1..9), self.choice(&[11, 12]));
        let peer = match self.random.u8(..40) {
            0 => [&[1, 0][..], &0_u32.to_be_bytes(), &[192, 0, 2, gnb]].concat(),
            1 => [&[1, 0][..], &teid.to_be_bytes(), &[10, 0, 0, 1]].concat(),
            _ => [&[1, 0][..], &teid.to_be_bytes(), &[192, 0, 2, gnb]].concat(),
        };
        let has_peer = !self.one_in(10);
        let creation = if has_peer { ie(84, peer) } else { vec![] };
        let network = self.choice(&[vec![], ie(22, "internet")]);
        let action = self.choice(&[vec![2], vec![2], vec![1]]);
        let ue = if self.one_in(30) { self.any_ue() } else { live.ue };
        let expects_downlink = live.has_downlink ^ self.one_in(20);
        let far = if self.one_in(30) { live.fars[0] } else { live.fars[1] };
        let new_far =
            if self.one_in(30) { live.fars[0] ^ self.choice(&[0, 1 << 16]) } else { self.any_far() };
        let ies = match self.random.u8(..60) {
            0 => return message(54, live.seid, self.next_sequence(), &cp),
            1..5 => return message(54, live.seid, self.next_sequence(), &[]),
            // Nothing, or something of another release.
            5 => self.choice(&[vec![], ie(12, [])]),
            _ if !expects_downlink => {
                let pdi = [
                    ie(20, [1]),
                    network,
                    ie(93, [&[6][..], &ue.octets()].concat()),
                    self.choice(&[vec![], ie(160, [2])]),
                ];
                let id = if live.has_qer ^ self.one_in(30) { 1 } else { 0 };
                let qer = if id == 1 && self.random.bool() { ie(109, [0, 0, 0, 1]) } else { vec![] };
                let pdr = [
                    ie(56, [0, 2]),
                    ie(29, [0, 0, 0, 255]),
                    ie(2, pdi.concat()),
                    ie(108, new_far.to_be_bytes()),
                    qer,
                ];
                let parameters = [ie(42, [0]), creation].concat();
                let far = [ie(108, new_far.to_be_bytes()), ie(44, action), ie(4, parameters)];
                [ie(1, pdr.concat()), ie(3, far.concat())].concat()
            }
            _ => {
                let id = ie(108, far.to_be_bytes());
                let parameters = [self.choice(&[vec![], ie(42, [0])]), creation].concat();
                let action = self.choice(&[vec![], ie(44, action)]);
                ie(10, [id, action, ie(11, parameters)].concat())
            }
        };
        let mut octets = message(52, live.seid, self.next_sequence(), &[cp, ies].concat());
        if self.one_in(80) {
            let at = self.random.usize(16..octets.len().max(17)).min(octets.len() - 1);
            octets[at] ^= 1 << self.random.u8(..8);
        }
        octets
    }

    /// The session of the switch that a message is about: by its SEID.
    fn named(&self, octets: &[u8]) -> Option<u32> {
        let seid = u64::from_be_bytes(octets.get(4..12)?.try_into().ok()?);
        self.live.iter().find(|(_, live)| live.seid == seid).map(|(index, _)| *index)
    }

    fn admit(&mut self, octets: &[u8], fields: &Fields, op: Op) -> u16 {
        assert_eq!(fields.encode(), octets[16..], "the fields are the message");
        let policy = self.switch.admit(octets, op);
        self.fallback.admitted(policy, fields);
        policy
    }

    /// The software admits what the crate has found to be right. Whether the switch has to answer it.
    fn learn(&mut self, octets: &[u8], before: &Accel) -> bool {
        let parsed = parse(&octets[16..]);
        let (kind, fields) = (octets[1], &parsed.fields);
        if parsed.is_misfit || octets[2] != 0 {
            return false;
        }
        let peer = Ipv4Addr::from(fields.get("peer") as u32);
        if fields.form("form_peer") != 0 && !self.switch.model.tables.is_peer(peer) {
            return false;
        }
        if kind == 50 {
            let Some(index) = self.switch.model.tables.place(fields.get("ue") as u32) else { return false };
            if let Some(live) = self.live.get(&index) {
                return live.origin == octets;
            }
            let is_repeated = self.gone.get(&index).is_some_and(|(live, _)| live.origin == octets);
            if is_repeated || self.fallback.has(index) {
                return false;
            }
            let policy = self.admit(octets, fields, Op::Establish);
            self.open_uplink(policy, fields);
            return true;
        }
        let Some(index) = self.named(octets) else {
            // Of what has ended, the deletion is known, where the software has not claimed the index.
            let is_it = |(index, (live, end)): (&u32, &(Live, Vec<u8>))| {
                live.seid.to_be_bytes() == octets[4..12] && *end == octets && !self.fallback.has(*index)
            };
            return self.gone.iter().any(is_it);
        };
        let live = &self.live[&index];
        if kind == 52 && live.last == octets {
            return true;
        }
        let number = |octets: &[u8]| u32::from_be_bytes([octets[12], octets[13], octets[14], 0]);
        let distance = number(octets).wrapping_sub(number(&live.last));
        let is_later = distance != 0 && distance < 1 << 31;
        let (_, rules) = before.session(live.of_crate.1).unwrap();
        let has_peer = fields.form("form_peer") != 0;
        let action = match fields.get("apply_action") {
            2 => 1,
            1 => 2,
            _ => 0,
        };
        let [uplink, downlink] = self.policies(index);
        let op = match (kind, fields.form("form_pdr"), fields.form("form_far"), fields.form("form_qer")) {
            (54, 0, 0, 0) => {
                let is_plain = octets.len() == 16;
                if is_plain {
                    self.admit(octets, fields, Op::Delete);
                }
                return is_plain;
            }
            // The switch tells the FARs of a session apart by the last halves of their IDs.
            (52, 1, 1, 0)
                if (has_peer || action != 1) && rules.uplink.far.0 as u16 != far_id(fields) as u16 =>
            {
                Op::Create
            }
            (52, 0, 2, 0) if rules.downlink.is_some_and(|it| it.far.0 == far_id(fields)) => Op::Update,
            _ => return false,
        };
        let policy = self.admit(octets, fields, op);
        self.switch.admit_change([uplink, downlink, policy], action);
        if op == Op::Create {
            let qer = fields.form("form_pdr_qer") != 0;
            let qer = rules.qers.iter().flatten().next().filter(|_| qer);
            if qer.is_none_or(|qer| qer.downlink_open) {
                let qfi = qer.and_then(|qer| qer.qfi).map_or(0, causeway_types::Qfi::value);
                self.switch.open_downlink(uplink, policy, qfi, 0);
            }
        }
        let knows_peer = has_peer || rules.downlink.is_some_and(|downlink| downlink.peer().is_some());
        is_later && (op == Op::Create || action != 1 || knows_peer)
    }

    fn open_uplink(&mut self, policy: u16, fields: &Fields) {
        let is_open = fields.form("form_qer") == 0 || fields.get("gates") & 0x0c == 0;
        if is_open && fields.get("apply_action") == 2 {
            let qfi = Some(fields.get("pdi_qfi") as u8).filter(|_| fields.form("form_pdi_qfi") != 0);
            self.switch.open_uplink(policy, qfi, 0);
        }
    }

    fn policies(&self, index: u32) -> [u16; 2] {
        let of = |name| {
            let register = Program::default().with_sessions().register_named(name).unwrap().id;
            self.switch.state.register(register, index).unwrap()[0] as u16
        };
        [of("uplink_sessions"), of("downlink_sessions")]
    }

    /// A message to both.
    fn step(&mut self, from: SocketAddrV4, octets: &[u8]) {
        self.counts.messages += 1;
        let before = self.oracle.clone();
        let mut translated = octets.to_vec();
        let named = self.named(octets);
        let gone = || {
            self.gone
                .values()
                .find(|(live, _)| live.seid.to_be_bytes() == octets[4..12])
                .map(|(live, _)| live)
        };
        if let Some(live) = named.and_then(|index| self.live.get(&index)).or_else(gone) {
            translated[4..12].copy_from_slice(&live.of_crate.0.to_be_bytes());
        }
        let mut buffer = [0; MAX_ANSWER];
        let expected = self.oracle.message(NOW, from, &translated, &mut buffer);
        let is_answered = matches!(expected, Expected::Answered { .. });
        let has_to = is_answered && self.learn(octets, &before);
        match self.switch.message(from, octets) {
            Outcome::Answered(answer) => {
                let Expected::Answered { len, .. } = expected else { panic!("{octets:02x?}: {expected:?}") };
                self.answered(octets, from, &answer, &buffer[..len]);
                if let Some(software) = &mut self.software {
                    software.answered_by_switch(from, octets, &answer);
                }
            }
            Outcome::ToSoftware(entry) => {
                assert!(!has_to, "the switch does not answer {octets:02x?}");
                self.counts.to_software += 1;
                if is_answered {
                    self.counts.less += 1;
                    self.oracle = before;
                }
                if let (Expected::ToN4 { adopt: Some(index), .. }, None) = (expected, &entry) {
                    let is_there = self.live.values().any(|live| live.of_crate.1 == index);
                    assert!(
                        !is_there,
                        "the crate gives session {index} up, the switch keeps it: {octets:02x?}"
                    );
                }
                let taken = self.punted(from, octets, entry.as_ref());
                if let Some(entry) = entry {
                    self.adopted(&entry, octets, taken.session.as_deref());
                }
                if self.software.is_some() {
                    self.take_places(octets);
                    if let Some(software) = &mut self.software {
                        software.request(from, octets, taken.answer);
                    }
                    self.release_places();
                }
            }
        }
    }

    /// An answer of both.
    fn answered(&mut self, octets: &[u8], from: SocketAddrV4, answer: &[u8], expected: &[u8]) {
        let mut answer = answer.to_vec();
        let number = |at: usize, octets: &[u8]| u64::from_be_bytes(octets[at..at + 8].try_into().unwrap());
        let kind = octets[1];
        self.counts.answered[usize::from(kind - 50) / 2] += 1;
        if kind == 50 {
            let (seid, teid) = (number(35, &answer), u32::from_be_bytes(answer[62..66].try_into().unwrap()));
            let of_crate = number(35, expected);
            answer[35..43].copy_from_slice(&expected[35..43]);
            answer[62..66].copy_from_slice(&expected[62..66]);
            assert_eq!(answer, expected, "{octets:02x?}");
            let fields = parse(&octets[16..]).fields;
            let ue = Ipv4Addr::from(fields.get("ue") as u32);
            let index = self.switch.model.tables.place(ue.into()).unwrap();
            if let Some(live) = self.live.get(&index) {
                assert_eq!((live.seid, live.teid), (seid, teid), "a repeated request gets the same numbers");
                self.counts.repeated += 1;
                return;
            }
            let cp = (fields.get("cp_high") as u64) << 32 | fields.get("cp_low") as u64;
            let index_of_crate = self.oracle.index_of(Seid(of_crate)).unwrap();
            let live = Live {
                smf: from.ip().octets()[3] - 20,
                seid,
                of_crate: (of_crate, index_of_crate),
                cp,
                ue,
                teid,
                has_qer: fields.form("form_qer") != 0,
                has_downlink: false,
                fars: [far_id(&fields), 0],
                origin: octets.to_vec(),
                last: octets.to_vec(),
            };
            self.gone.remove(&index);
            self.live.insert(index, live);
            return;
        }
        assert_eq!(answer, expected, "{octets:02x?}");
        let Some(index) = self.named(octets) else {
            self.counts.repeated += 1;
            return;
        };
        if kind == 54 {
            let live = self.live.remove(&index).unwrap();
            self.gone.insert(index, (live, octets.to_vec()));
        } else if let Some(live) = self.live.get_mut(&index) {
            self.counts.repeated += u32::from(live.last == octets);
            let fields = parse(&octets[16..]).fields;
            if fields.form("form_pdr") != 0 {
                live.has_downlink = true;
                live.fars[1] = far_id(&fields);
            }
            live.last = octets.to_vec();
        }
    }

    /// The software takes the frame: the session that comes with it has the rules that the crate says, and comes once.
    fn punted(&mut self, from: SocketAddrV4, octets: &[u8], entry: Option<&Entry>) -> Punted {
        let frame = ethernet(&ipv4(*from.ip(), UPF, 17, &udp(from.port(), 8805, octets)));
        let punted = cpu_frame(&frame, entry);
        let tables = &self.switch.model.tables;
        let taken = self.fallback.punted(tables, &punted).unwrap();
        assert_eq!((taken.port, &taken.frame), (crate::N3, &frame));
        let Some(entry) = entry else {
            assert_eq!((&taken.session, taken.void), (&None, None));
            return taken;
        };
        let again = self.fallback.punted(tables, &punted);
        assert_eq!(again, Err(HandoverError::SecondOwner { index: entry.index }));
        assert_eq!(taken.void.is_some(), !self.live.contains_key(&entry.index));
        taken
    }

    /// The session has the rules, the numbers and the first answer of the crate's.
    fn check(&self, adopted: &Adopted, live: &Live) {
        let mut rules = self.oracle.rule_set(live.of_crate.1).unwrap();
        for tunnel in rules.pdrs.values_mut().filter_map(|pdr| pdr.pdi.tunnel.as_mut()) {
            tunnel.teid = Teid::new(live.teid).unwrap();
        }
        assert_eq!(adopted.rules, rules, "{live:?}");
        assert_eq!((adopted.seid.0, adopted.cp.seid.0), (live.seid, live.cp));
        assert_eq!(
            adopted.answered[0].digest,
            causeway_pfcp::request_digest(Some(Seid(0)), &live.origin[16..])
        );
    }

    /// The software takes a session over, with all that the switch knows of it; the crate does the same.
    fn adopted(&mut self, entry: &Entry, octets: &[u8], adopted: Option<&Adopted>) {
        self.counts.adopted += 1;
        let Some(live) = self.live.remove(&entry.index) else {
            // It was begun by a request that was late; the software ends it.
            let is_late = self.gone.get(&entry.index).is_some_and(|(live, _)| live.origin == octets);
            assert!(is_late, "{octets:02x?}: {entry:?}");
            self.release(entry.index);
            // The deletion is no longer the last request.
            self.gone.entry(entry.index).and_modify(|(_, end)| end.clear());
            return;
        };
        let (_, rules) = self.oracle.session(live.of_crate.1).unwrap();
        assert_eq!(entry.cp, live.cp);
        assert_eq!(
            entry.origin >> 8,
            u32::from_be_bytes([0, live.origin[12], live.origin[13], live.origin[14]])
        );
        if !entry.is_noted {
            assert_eq!(entry.last >> 8, u32::from_be_bytes([0, live.last[12], live.last[13], live.last[14]]));
        }
        assert_eq!(entry.fars[0], rules.uplink.far.0 as u16);
        if let Some(downlink) = rules.downlink {
            assert_eq!(entry.fars[1], downlink.far.0 as u16);
            let peer = downlink.peer().map(|peer| (peer.teid.value(), peer.addr));
            assert_eq!(entry.peer, peer);
            assert_eq!(entry.downlink_action == 1, downlink.action == Action::Forward);
        }
        let adopted = adopted.expect("a session that is there");
        self.check(adopted, &live);
        if let Some(software) = &mut self.software {
            software.adopt(adopted, &live, octets.is_empty());
        }
        let of_crate = self.oracle.adopt(live.of_crate.1).unwrap();
        self.of_software.insert(entry.index, (of_crate.seid, live.clone()));
        // No packet finds it any more, and its messages are the software's.
        let uplink = self.switch.uplink(live.teid, 9, live.ue);
        let downlink = self.switch.downlink(live.ue);
        assert_eq!((uplink, downlink), (Passage::ToSoftware, Passage::ToSoftware));
    }

    /// The software gives an index back.
    fn release(&mut self, index: u32) {
        let value = self.fallback.ended(index).expect("an index of the software");
        self.switch.write_state(index, value);
    }

    /// The control plane takes the indexes of UEs that a message names from the switch, with the sessions that are there.
    fn take_places(&mut self, octets: &[u8]) {
        for ue in ues_named(octets) {
            let place = self.switch.model.tables.place(ue.into());
            let Some(index) = place.filter(|index| !self.fallback.has(*index)) else { continue };
            let read = self.switch.model.read(&self.switch.state, index).unwrap();
            let (from, claim) = self.fallback.claim(&self.switch.model.tables, &read).unwrap();
            match self.switch.message(from, &claim) {
                Outcome::Answered(answer) => {
                    let value = self.fallback.claimed(&read, &answer).unwrap();
                    self.switch.write_state(index, value);
                    // Nobody else gets it.
                    assert_eq!(self.switch.message(from, &claim), Outcome::ToSoftware(None));
                }
                Outcome::ToSoftware(Some(entry)) => {
                    assert!(read.is_live());
                    let taken = self.punted(from, &claim, Some(&entry));
                    assert!(taken.is_claim && taken.answer.is_none());
                    self.adopted(&entry, &[], taken.session.as_deref());
                }
                Outcome::ToSoftware(None) => panic!("nothing has changed since {read:?} was read"),
            }
            // Whatever N4 does with it.
            self.software.iter_mut().for_each(|it| it.rests(ue));
        }
    }

    /// The switch gets the indexes of UEs again that no session of the software has, nor had lately.
    fn release_places(&mut self) {
        while let Some(ue) = self.software.as_mut().and_then(|it| it.next_free()) {
            let place = self.switch.model.tables.place(ue.into());
            let Some(index) = place.filter(|index| self.fallback.has(*index)) else { continue };
            match self.of_software.contains_key(&index) {
                true => self.end(index),
                false => self.release(index),
            }
        }
    }

    /// The software ends one of its sessions.
    fn end_one(&mut self) {
        if let Some(index) = self.of_software.keys().next().copied() {
            self.end(index);
        }
    }

    fn end(&mut self, index: u32) {
        let (seid, live) = self.of_software.remove(&index).unwrap();
        self.release(index);
        self.oracle.give_back(seid);
        for key in [Reservation::Cp(smf(live.smf), Seid(live.cp)), Reservation::Ue(live.ue)] {
            self.oracle.unreserve(key);
        }
        self.gone.insert(index, (live, Vec::new()));
    }

    /// User packets of a session, or of a former one.
    fn packets(&mut self) {
        let all: Vec<_> = self.live.keys().copied().collect();
        if all.is_empty() {
            return;
        }
        let index = self.choice(&all);
        let live = self.live[&index].clone();
        let (_, rules) = self.oracle.session(live.of_crate.1).unwrap();
        let qer = rules.qers.iter().flatten().next().copied();
        let applies = |ids: [Option<_>; 3]| qer.filter(|qer| ids.contains(&Some(qer.id)));
        let qfi = self.random.u8(8..11);
        let opens = applies(rules.uplink.qers).is_none_or(|qer| qer.uplink_open)
            && rules.uplink.qfi.is_none_or(|only| only.value() == qfi)
            && rules.uplink.action == Action::Forward;
        let expected = if opens { Passage::Decapsulated(0) } else { Passage::Dropped };
        assert_eq!(self.switch.uplink(live.teid, qfi, live.ue), expected);
        self.software.iter_mut().for_each(|it| it.uplink_by_switch(&live, qfi, opens));
        self.counts.forwarded[0] += u32::from(opens);
        let strange = Ipv4Addr::from(u32::from(live.ue) ^ 1);
        assert_ne!(self.switch.uplink(live.teid, qfi, strange), Passage::Decapsulated(0));
        let older = live.teid ^ 1 << 20;
        assert_ne!(self.switch.uplink(older, qfi, live.ue), Passage::Decapsulated(0));
        let downlink = rules.downlink.filter(|it| it.action == Action::Forward);
        let qer = downlink.and_then(|downlink| applies(downlink.qers));
        let peer = downlink.filter(|_| qer.is_none_or(|qer| qer.downlink_open)).and_then(|it| it.peer());
        let expected = peer.map_or(Passage::Dropped, |peer| {
            let qfi = qer.and_then(|qer| qer.qfi).map_or(0, causeway_types::Qfi::value);
            Passage::Encapsulated(Teid::value(peer.teid), peer.addr, qfi, 0)
        });
        assert_eq!(self.switch.downlink(live.ue), expected);
        self.software.iter_mut().for_each(|it| it.downlink_by_switch(live.ue, peer.is_some()));
        self.counts.forwarded[1] += u32::from(peer.is_some());
    }

    /// User packets of a session of the software.
    fn packets_of_software(&mut self) {
        let Some(software) = &self.software else { return };
        let all: Vec<_> = software.sessions.values().cloned().collect();
        if all.is_empty() {
            return;
        }
        let (live, qfi) = (self.choice(&all), self.random.u8(8..11));
        let has_place = self.switch.model.tables.place(live.ue.into()).is_some();
        if !has_place || !self.software.as_ref().is_some_and(|it| it.names_ue(&live)) {
            return;
        }
        let passages = (self.switch.uplink(live.teid, qfi, live.ue), self.switch.downlink(live.ue));
        assert_eq!(passages, (Passage::ToSoftware, Passage::ToSoftware), "{live:?}");
        if let Some(software) = &mut self.software {
            software.uplink_by_software(&live, qfi);
            software.downlink_by_software(live.ue);
        }
    }

    fn run(&mut self, messages: u32, on_bmv2: bool) {
        let mut late: Vec<(SocketAddrV4, Vec<u8>)> = Vec::new();
        for _ in 0..messages {
            let number = self.random.u8(..2);
            let all: Vec<_> = self.live.keys().copied().collect();
            let (from, octets) = match self.random.u8(..20) {
                0..2 if !late.is_empty() => self.choice(&late),
                2..18 if !all.is_empty() => {
                    let index = self.choice(&all);
                    let live = self.live[&index].clone();
                    let number = if self.one_in(60) { 1 - live.smf } else { live.smf };
                    (SocketAddrV4::new(smf(number), 8805), self.change(&live))
                }
                _ => (SocketAddrV4::new(smf(number), 8805), self.establishment(number)),
            };
            self.step(from, &octets);
            late.push((from, octets));
            late.drain(..late.len().saturating_sub(12));
            // A packet takes BMv2 as long as a message.
            self.switch.are_packets_modelled = !self.counts.messages.is_multiple_of(8);
            self.packets();
            self.switch.are_packets_modelled = false;
            if on_bmv2 && self.counts.messages.is_multiple_of(100) {
                eprintln!("{} messages: {:?}", self.counts.messages, self.counts);
            }
            if self.of_software.len() > 40 && self.software.is_none() {
                self.end_one();
            }
            if self.one_in(1500) {
                self.restart(number);
            }
        }
    }

    /// An SMF restarts: its sessions are unknown at once. The software removes them, as it reads the states.
    fn restart(&mut self, number: u8) {
        let at = usize::from(number);
        self.software.iter_mut().for_each(|it| it.restart(number));
        self.numbers[at] += 2;
        self.switch.set_smf(smf(number), self.numbers[at]);
        self.fallback.set_smf(smf(number), smf(number), self.numbers[at]);
        self.oracle.restart(smf(number));
        let ended: Vec<_> =
            self.live.iter().filter(|(_, live)| live.smf == number).map(|(index, _)| *index).collect();
        for index in ended {
            let live = self.live.remove(&index).unwrap();
            let value = self.switch.model.release((live.seid >> 48) as u16);
            self.switch.write_state(index, value);
        }
        self.gone.retain(|_, (live, _)| live.smf != number);
        self.oracle.sweep(256, |_| {});
    }
}

// Input:  10,000 random messages of two SMFs: establishments, downlinks, changes, deletions; repeated, late, of other sessions, with wrong
//         values and octets; restarts of SMFs.
// Output: what the switch answers has the octets of the crate's answer, but for the numbers that each chooses; what the software has
//         admitted is answered; what is not answered leaves all as it was, or hands its session over, once; user packets find what
//         the rules of the crate's session say.
#[test]
fn answers_are_those_of_the_crate() {
    let all = Counts::of(10_000, false);
    assert_eq!(all.messages, 10_000);
    // docs/accel.md has these.
    assert_eq!((all.answered.iter().sum::<u32>(), all.less), (6638, 1198), "{all:?}");
    assert!(all.answered.iter().all(|count| *count > 100), "{all:?}");
    assert!(all.answered.iter().sum::<u32>() > 3_000, "{all:?}");
    assert!(
        all.repeated > 100 && all.adopted > 100 && all.forwarded.iter().all(|count| *count > 500),
        "{all:?}"
    );
}

// Input:  the same messages, 200 of them unless CAUSEWAY_ACCEL_MESSAGES says how many (`scripts/p4 random`), and packets after each eighth, through BMv2.
// Output: the frames that leave are those that the model says, octet by octet: answers, messages for the software behind the entries of their
//         sessions, user packets. What it says is dropped does not leave.
#[test]
fn bmv2_does_the_same() {
    if !is_inside() {
        return run_inside("accel::random::bmv2_does_the_same");
    }
    let messages = std::env::var("CAUSEWAY_ACCEL_MESSAGES").map_or(200, |count| count.parse().unwrap());
    let all = Counts::of(messages, true);
    eprintln!("{all:?}");
    assert_eq!(all.messages, messages);
    assert!(all.answered.iter().sum::<u32>() > messages / 3, "{all:?}");
    assert!(all.adopted > 0 && all.to_software > 0 && all.repeated > 0, "{all:?}");
}

impl World {
    fn run_with_software(&mut self, messages: u32) {
        let mut late: VecDeque<(SocketAddrV4, Vec<u8>)> = VecDeque::new();
        for _ in 0..messages {
            let number = self.random.u8(..2);
            let of_switch: Vec<_> = self.live.values().cloned().collect();
            let of_software: Vec<_> =
                self.software.iter().flat_map(|it| it.sessions.values().cloned()).collect();
            let (from, octets) = match self.random.u8(..20) {
                0..2 if !late.is_empty() => self.choice(late.make_contiguous()),
                2..9 if !of_switch.is_empty() => {
                    let live = self.choice(&of_switch);
                    let number = if self.one_in(60) { 1 - live.smf } else { live.smf };
                    (SocketAddrV4::new(smf(number), 8805), self.change(&live))
                }
                kind @ 9..17 if !of_software.is_empty() || !of_switch.is_empty() => {
                    let all = if kind == 9 && !of_switch.is_empty() || of_software.is_empty() {
                        of_switch
                    } else {
                        of_software
                    };
                    let (live, sequence) = (self.choice(&all), self.next_sequence());
                    let is_simple = self.random.bool();
                    let octets = if is_simple {
                        self.change(&live)
                    } else {
                        complex(&mut self.random, &live, sequence)
                    };
                    (SocketAddrV4::new(smf(live.smf), 8805), octets)
                }
                _ => (SocketAddrV4::new(smf(number), 8805), self.establishment(number)),
            };
            self.step(from, &octets);
            late.push_back((from, octets));
            late.drain(..late.len().saturating_sub(12));
            self.packets();
            self.packets_of_software();
            self.software.iter_mut().for_each(|it| it.pass());
            self.release_places();
            if self.one_in(700) {
                self.restart(number);
            }
        }
    }
}

// Input:  10,000 random messages of two SMFs, as above and more complex ones, to a switch with N4 and a slow path at its CPU port, and to N4 and a slow
//         path alone; packets in both directions of a session of each after each message. Repeated and late requests, restarts of SMFs.
// Output: each request that the switch gives to the software gets the answer of N4 that had the session from the beginning, octet by octet but for the
//         numbers that each chooses; what was answered before gets the same octets again. N4 takes each session once, with the rules that
//         the other N4 has. Each packet is forwarded, buffered or dropped by the owner of its session alone, as by the slow path that has them all, and
//         buffered ones leave in the same order.
#[test]
fn n4_goes_on_with_what_the_switch_hands_over() {
    let mut all = [0; 6];
    for seed in 0..4 {
        let mut world = World::with_software(seed);
        world.run_with_software(2500);
        let (counts, switch) = (world.software.as_ref().unwrap().counts, world.counts);
        eprintln!("{counts:?} {switch:?}");
        let [up, down] = counts.forwarded;
        let here =
            [counts.adopted, counts.accepted, counts.ended, up.min(down), counts.buffered, counts.repeated];
        all.iter_mut().zip(here).for_each(|(sum, more)| *sum += more);
    }
    assert!(all.iter().zip([500, 1000, 300, 500, 50, 5]).all(|(count, least)| *count > least), "{all:?}");
}

/// A world with a session whose downlink has FAR 2 and tunnel 5 to a gNB, with its SMF.
fn with_both_directions() -> (World, SocketAddrV4, Live) {
    let mut world = World::new(1, false);
    let (host, ue) = (SocketAddrV4::new(smf(0), 8805), Ipv4Addr::new(10, 46, 0, 63));
    let pdi = [ie(20, [0]), ie(21, [5]), ie(93, [&[2][..], &ue.octets()].concat())];
    let id = ie(108, [0, 0, 0, 1]);
    let pdr = [ie(56, [0, 1]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), ie(95, [0]), id.clone()];
    let far = [id, ie(44, [2]), ie(4, ie(42, [1]))];
    let cp = (7 << 32) | 9;
    let ies = [
        ie(60, [&[0][..], &smf(0).octets()].concat()),
        World::cp_f_seid(cp, smf(0)),
        ie(1, pdr.concat()),
        ie(3, far.concat()),
    ];
    world.step(host, &message(50, 0, 1000, &ies.concat()));
    let live = world.live[&LAST].clone();
    let pdi = [ie(20, [1]), ie(93, [&[6][..], &ue.octets()].concat())];
    let id = ie(108, [0, 0, 0, 2]);
    let pdr = [ie(56, [0, 2]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), id.clone()];
    let tunnel = [&[1, 0, 0, 0, 0, 5][..], &[192, 0, 2, 11]].concat();
    let far = [id, ie(44, [2]), ie(4, [ie(42, [0]), ie(84, tunnel)].concat())];
    world.step(host, &message(52, live.seid, 1001, &[ie(1, pdr.concat()), ie(3, far.concat())].concat()));
    (world, host, live)
}

// Input:  a change of the tunnel that is noted, for its row is missing still, and names what the session has: the FAR, or another one whose ID has
//         the same last half; the row of the first one; a message that takes the session along; the change once more.
// Output: the software answers the first one as accepted, for it is made; the other one is N4's.
#[test]
fn a_change_that_is_noted_is_answered_if_it_is_made() {
    for (far, is_made) in [(2, true), (0x1_0002, false)] {
        let (mut world, host, live) = with_both_directions();
        let tunnel = ie(11, ie(84, [1, 0, 0, 0, 0, 5, 192, 0, 2, 11]));
        let change =
            message(52, live.seid, 1002, &ie(10, [&ie(108, u32::to_be_bytes(far)), &tunnel[..]].concat()));
        let policy = world.switch.admit(&change, Op::Update);
        let verdict = world.switch.model.message(&mut world.switch.state, host, &change).unwrap();
        assert!(matches!(verdict, Verdict::Second(second) if second.is_noted()));
        if is_made {
            world.switch.admit_change([1, 2, policy], 0);
        }
        let other = message(52, live.seid, 1003, &ie(6, []));
        let Outcome::ToSoftware(Some(entry)) = world.switch.message(host, &other) else { panic!() };
        assert!(world.punted(host, &other, Some(&entry)).session.is_some());
        assert_eq!(world.switch.message(host, &change), Outcome::ToSoftware(None));
        assert_eq!(world.punted(host, &change, None).answer.is_some(), is_made);
    }
}

// Input:  a session with both directions; then a modification with an IE that the switch does not parse; packets of the UE; the same
//         modification again, and a later one of the class.
// Output: the message goes to the software with all that the switch knows of the session, at once; from then on packets and messages are the
//         software's, and the session is handed over only once.
#[test]
fn a_message_for_the_software_takes_its_session_along() {
    let (mut world, host, live) = with_both_directions();
    let (ue, cp, gnb) = (live.ue, live.cp, Ipv4Addr::new(192, 0, 2, 11));
    assert_eq!(world.switch.downlink(ue), Passage::Encapsulated(5, gnb, 0, 0));
    assert_eq!(world.switch.uplink(live.teid, 9, ue), Passage::Decapsulated(0));

    let complex = message(52, live.seid, 1002, &ie(6, []));
    let Outcome::ToSoftware(Some(entry)) = world.switch.message(host, &complex) else { panic!() };
    assert_eq!((entry.index, entry.cp, entry.peer), (LAST, cp, Some((5, gnb))));
    assert_eq!((entry.origin >> 8, entry.last >> 8, entry.is_noted), (1000, 1001, false));
    assert_eq!((entry.uplink_policy, entry.downlink_policy, entry.downlink_action), (1, 2, 1));
    assert_eq!(entry.fars, [1, 2]);
    assert_eq!(world.switch.downlink(ue), Passage::ToSoftware);
    assert_eq!(world.switch.uplink(live.teid, 9, ue), Passage::ToSoftware);
    let deletion = message(54, live.seid, 1003, &[]);
    for octets in [complex, deletion] {
        assert_eq!(world.switch.message(host, &octets), Outcome::ToSoftware(None));
    }
}

// Input:  a session that the software takes; frames cut short at each octet, of another EtherType, with another code; entries with an SMF, a
//         place, a policy that there is not, with a policy of another message, and with a downlink's policy where the session's own should be;
//         the session as another SMF's; entries with random bits changed.
// Output: each is refused by its name, and the software has no session of it. The other SMF's is taken after that. The whole one is taken, and
//         its index can be used again when it has ended. What is taken of the random ones is one session.
#[test]
fn what_the_software_cannot_take_has_a_name() {
    let mut world = World::new(1, false);
    let (host, ue) = (SocketAddrV4::new(smf(0), 8805), Ipv4Addr::new(10, 46, 0, 63));
    let (id, pdi) =
        (ie(108, [0, 0, 0, 1]), [ie(20, [0]), ie(21, [5]), ie(93, [&[2][..], &ue.octets()].concat())]);
    let pdr = [ie(56, [0, 1]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), ie(95, [0]), id.clone()];
    let far = [id, ie(44, [2]), ie(4, ie(42, [1]))];
    let node = ie(60, [&[0][..], &smf(0).octets()].concat());
    let ies = [node, World::cp_f_seid(9, smf(0)), ie(1, pdr.concat()), ie(3, far.concat())].concat();
    world.step(host, &message(50, 0, 1000, &ies));
    let deletion = message(54, world.live[&LAST].seid, 1001, &World::cp_f_seid(9, smf(0)));
    let Outcome::ToSoftware(Some(entry)) = world.switch.message(host, &deletion) else { panic!() };
    let frame = ethernet(&ipv4(smf(0), UPF, 17, &udp(8805, 8805, &deletion)));
    let punted = cpu_frame(&frame, Some(&entry));
    let mut fallback = world.fallback;
    let tables = &world.switch.model.tables;
    // A policy that is none of an establishment.
    fallback.admitted(97, &parse(&deletion[16..]).fields);
    let mut refuses = |frame: &[u8], error: HandoverError| {
        assert_eq!(fallback.punted(tables, frame), Err(error), "{frame:02x?}");
        assert!(fallback.is_empty());
    };
    for length in 0..24 + Entry::LEN {
        refuses(&punted[..length], HandoverError::Frame);
    }
    for at in [12, 14] {
        let mut other = punted.clone();
        other[at] ^= 1;
        refuses(&other, HandoverError::Frame);
    }
    let other = |change: &dyn Fn(&mut Entry)| {
        let mut entry = entry;
        change(&mut entry);
        cpu_frame(&frame, Some(&entry))
    };
    let (index, far) = (entry.index, 100_000);
    refuses(&other(&|entry| entry.state ^= 0x10), HandoverError::Smf { index, number: 0x11 });
    refuses(&other(&|entry| entry.index = far), HandoverError::Place { index: far });
    refuses(&other(&|entry| entry.uplink_policy = 99), HandoverError::Policy { index, policy: 99 });
    let with_downlink = |policy| other(&|entry| (entry.downlink_policy, entry.downlink_action) = (policy, 1));
    refuses(&with_downlink(98), HandoverError::Policy { index, policy: 98 });
    refuses(&with_downlink(entry.uplink_policy), HandoverError::Rules { index });
    refuses(&other(&|entry| entry.uplink_policy = 97), HandoverError::Rules { index });
    let of_other = fallback.punted(tables, &other(&|entry| entry.state += 1)).unwrap().session.unwrap();
    assert!(of_other.cp.addr.contains(smf(1).into()));
    assert_eq!(fallback.ended(index), Some([entry.state & 0x7fff_0000, 0]));
    let taken = fallback.punted(tables, &punted).unwrap();
    assert_eq!((taken.session.map(|session| session.seid.0 as u32), fallback.has(index)), (Some(LAST), true));
    assert_eq!(fallback.ended(index), Some([entry.state & 0x7fff_0000, 0]));
    assert!(fallback.is_empty());
    let mut taken = 0;
    for _ in 0..2000 {
        let mut other = punted.clone();
        for _ in 0..world.random.usize(1..4) {
            let at = world.random.usize(12..24 + Entry::LEN);
            other[at] ^= 1 << world.random.u8(..8);
        }
        if let Ok(punted) = fallback.punted(tables, &other) {
            let index = punted.session.map(|session| session.seid.0 as u32).or(punted.void);
            assert!(index.is_none_or(|index| fallback.ended(index).is_some()));
            taken += u32::from(index.is_some());
        }
        assert!(fallback.is_empty(), "{other:02x?}");
    }
    assert!((100..1900).contains(&taken), "{taken}");
}

//! Answers and state are those of N4.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::path::Path;

use causeway_accel::{Action, Class, Kind, Order, Reason, Request, TunnelRequest, fits};
use causeway_pfcp::{Header, RawIes};
use fastrand::Rng;

use crate::both::{Both, SMF_TEIDS, numbers, read_script};
use crate::world::*;

/// Random messages of two SMFs: most of the class, some nearly so.
struct Smfs {
    random: Rng,
    sequence: u32,
    /// The sessions that were accepted: SMF, UPF's SEID, what was asked, and the last messages.
    sessions: Vec<(u8, u64, Asked, Vec<Vec<u8>>)>,
    /// Requests about sessions that have ended.
    late: Vec<(u8, Vec<u8>)>,
}

/// Sessions at a time, at most.
const SESSIONS: usize = 24;

impl Smfs {
    fn new(seed: u64) -> Self {
        Self { random: Rng::with_seed(seed), sequence: 0, sessions: Vec::new(), late: Vec::new() }
    }

    fn one_in(&mut self, count: u32) -> bool {
        self.random.u32(..count) == 0
    }

    fn choice<T: Clone>(&mut self, all: &[T]) -> T {
        all[self.random.usize(..all.len())].clone()
    }

    fn asked(&mut self) -> Asked {
        let number = self.random.u8(..2);
        let teid = if self.one_in(4) { self.random.u32(1..9) } else { self.random.u32(9..SMF_TEIDS) };
        let assigned = |address: Ipv4Addr| [&[1][..], &teid.to_be_bytes(), &address.octets()].concat();
        let tunnels = [vec![5], vec![4], vec![13, 42], vec![7], vec![15, 5], assigned(N3), assigned(N3)];
        let labels = |name: &str| [&[name.len() as u8][..], name.as_bytes()].concat();
        let network = [None, Some(b"internet".to_vec()), Some(labels("internet")), Some(b"ims".to_vec())];
        let (rare, rare_cp, rare_action) = (self.one_in(30), self.one_in(6), self.one_in(40));
        let ordinary = match self.one_in(6) {
            true => Ipv4Addr::new(10, 45, 0, self.random.u8(2..9)),
            false => Ipv4Addr::new(10, 45, self.random.u8(1..9), self.random.u8(..)),
        };
        let strange =
            [[10, 0, 0, 1], [192, 0, 2, 100], [192, 0, 2, 1], [127, 0, 0, 1], [0, 0, 0, 0], [224, 0, 0, 1]];
        let peer = (self.random.u32(1..5), self.choice(&[GNB, Ipv4Addr::new(192, 0, 2, 12)]));
        let strange_peer = (self.random.u32(..2), self.choice(&strange).into());
        Asked {
            smf: number,
            cp: if rare_cp { self.random.u64(1..10) } else { self.random.u64(10..10_000) },
            f_teid: if rare { assigned(GNB) } else { self.choice(&tunnels) },
            uplink_ue: self.random.bool(),
            ue: if self.one_in(40) { self.choice(&strange).into() } else { ordinary },
            destination: self.random.bool(),
            uplink_qfi: self.choice(&[None, Some(1), Some(9), Some(63)]),
            removal: self.choice(&[vec![0], vec![6], vec![0, 0], vec![6, 0]]),
            network: if self.one_in(40) { Some(b"elsewhere".to_vec()) } else { self.choice(&network) },
            core: self.choice(&[1, 1, 2]),
            downlink: !self.one_in(3),
            downlink_first: self.random.bool(),
            fars_reversed: self.random.bool(),
            peer: if self.one_in(40) { Some(strange_peer) } else { self.choice(&[None, Some(peer)]) },
            action: if rare_action {
                vec![12]
            } else {
                self.choice(&[vec![2], vec![2, 0], vec![1], vec![1, 0]])
            },
            parameters: !self.one_in(30),
            qers: {
                let count = if self.one_in(40) { 4 } else { self.choice(&[0, 1, 1, 2, 2, 3]) };
                let all = [(0, true, Some(9)), (5, false, None), (15, true, Some(0))];
                (0..count).map(|_| self.choice(&all)).collect()
            },
            qers_reversed: self.random.bool(),
            interface_types: self.random.bool(),
            tail: self.choice(&[vec![], ie(113, [1]), [ie(113, [1]), ie(159, "internet")].concat()]),
        }
    }

    fn modification(&mut self, asked: &Asked) -> Vec<u8> {
        let teid = self.random.u32(1..9);
        let mut ies = Vec::new();
        if self.one_in(3) {
            let other = Asked { cp: asked.cp + u64::from(self.one_in(40)), ..asked.clone() };
            ies.push(other.cp_f_seid());
        }
        let id = if self.one_in(30) { 3 } else { self.choice(&[UPLINK, DOWNLINK]) };
        let (rare_action, rare_flags) = (self.one_in(10), self.one_in(10));
        let far = |value: &[u8]| ie(10, [&ie(108, u32::from(id).to_be_bytes()), value].concat());
        // Most modifications are those of real SMFs.
        match if self.one_in(2) { 12 } else { self.random.u8(..13) } {
            0 if !asked.downlink => ies.extend(self.downlink(asked)),
            0 | 1 if rare_action => ies.push(far(&ie(44, [self.choice(&[3, 8, 16])]))),
            0 | 1 => ies.push(far(&ie(44, self.choice(&[vec![1], vec![2], vec![2, 0]])))),
            2 => ies.push(far(&ie(11, ie(22, "ims")))),
            3 => ies.push(far(&[ie(44, [2]), ie(11, [ie(42, [1]), ie(22, "internet")].concat())].concat())),
            4 => {}
            5 => ies.extend([to_gnb(teid, None), far(&ie(44, [2]))]),
            // An idle UE.
            7 => ies.push(far(&ie(44, self.choice(&[vec![12], vec![12, 0], vec![4], vec![4, 0]])))),
            8..=10 => {
                ies.push(self.pdr_update(asked));
                if self.one_in(2) {
                    ies.push(to_gnb(teid, None));
                }
                if self.one_in(6) {
                    ies.push(self.pdr_update(asked));
                }
            }
            11 => {
                let id = asked.qers.len() as u32 + u32::from(!self.one_in(5));
                ies.push(create_qer(id, 0, true, Some(9)));
            }
            6 => ies.push(to_gnb(teid, Some(if rare_flags { 3 } else { self.choice(&[0, 2]) }))),
            _ => ies.push(to_gnb(teid, None)),
        }
        ies.concat()
    }

    /// The downlink of a session that has none yet, in one of eight with the QERs that are there.
    fn downlink(&mut self, asked: &Asked) -> Vec<Vec<u8>> {
        let mut ies = vec![asked.downlink_pdr(), asked.downlink_far()];
        if self.one_in(8) {
            ies.extend(asked.create_qers());
        }
        ies
    }

    /// An Update PDR that repeats most of the PDR, as SMFs send it, or part of it.
    fn pdr_update(&mut self, asked: &Asked) -> Vec<u8> {
        let count = if self.one_in(30) { 4 } else { asked.qers.len() };
        let asked = Asked {
            ue: if self.one_in(20) { Ipv4Addr::new(10, 45, 0, 200) } else { asked.ue },
            uplink_ue: self.random.bool(),
            uplink_qfi: self.choice(&[None, Some(1), Some(9)]),
            network: self.choice(&[None, Some(b"internet".to_vec()), Some(b"ims".to_vec())]),
            destination: self.random.bool(),
            core: self.choice(&[1, 1, 2]),
            removal: self.choice(&[vec![0], vec![6], vec![0, 0]]),
            f_teid: if self.one_in(4) { vec![5] } else { asked.f_teid.clone() },
            qers: vec![(0, true, None); self.random.usize(..=count)],
            qers_reversed: self.random.bool(),
            ..asked.clone()
        };
        let is_uplink = self.one_in(3) || !(asked.downlink || self.one_in(10));
        let mut parts =
            if is_uplink { asked.in_uplink_pdr().to_vec() } else { asked.in_downlink_pdr().to_vec() };
        if self.one_in(3) {
            let at = self.random.usize(1..parts.len());
            parts.remove(at);
        }
        if self.one_in(30) {
            parts.push(ie(109, self.random.u32(1..4).to_be_bytes()));
        }
        ie(9, parts.concat())
    }

    /// The same IEs in another order, in one of three messages. Two of the same type change their places as well.
    fn ordered(&mut self, octets: Vec<u8>) -> Vec<u8> {
        match octets.split_first_chunk::<16>() {
            Some((head, body)) if self.one_in(3) => [&head[..], &self.shuffled(body)].concat(),
            _ => octets,
        }
    }

    fn shuffled(&mut self, octets: &[u8]) -> Vec<u8> {
        const GROUPS: [u16; 9] = [1, 2, 3, 4, 7, 9, 10, 11, 14];
        let read = RawIes::new(octets).map(|ie| ie.expect("well-formed IEs"));
        let mut ies: Vec<(u16, Vec<u8>)> = read.map(|ie| (ie.ie_type, ie.value.to_vec())).collect();
        for (ie_type, value) in &mut ies {
            if GROUPS.contains(ie_type) {
                *value = self.shuffled(value);
            }
        }
        self.random.shuffle(&mut ies);
        ies.into_iter().flat_map(|(ie_type, value)| ie(ie_type, value)).collect()
    }

    /// The next message, and which session it is about.
    fn next(&mut self) -> (u8, Vec<u8>, Option<usize>) {
        self.sequence = (self.sequence + 1) & 0xff_ffff;
        let sequence = self.sequence;
        let mut about = (!self.sessions.is_empty()).then(|| self.random.usize(..self.sessions.len()));
        // More often one that the data plane established.
        for _ in 0..3 {
            let is_of_n4 = |at: &mut usize| self.sessions.get(*at).is_some_and(|it| it.1 >> 48 != 0xacce);
            if about.as_mut().is_some_and(is_of_n4) {
                about = Some(self.random.usize(..self.sessions.len()));
            }
        }
        let (number, octets) = match (self.random.u8(..20), about) {
            (0..=4, _) | (_, None) if self.sessions.len() < SESSIONS => {
                let asked = self.asked();
                let request = self.ordered(asked.request(sequence));
                return (asked.smf, self.nearly(request), None);
            }
            (5, Some(at)) => {
                // Another host, another SMF.
                let (number, seid, ..) = self.sessions[at];
                (self.choice(&[1 - number, 2]), datagram(DELETION, seid, sequence, &[]))
            }
            (6, _) if !self.late.is_empty() => {
                let (number, octets) = self.choice(&self.late.clone());
                return (number, octets, None);
            }
            (7, _) => {
                let asked = Asked { smf: 2, ..self.asked() };
                return (2, asked.request(sequence), None);
            }
            (8..=10, Some(at)) => {
                // Again.
                let (number, _, _, last) = &self.sessions[at];
                let (number, octets) = (*number, last[self.random.usize(..last.len())].clone());
                return (number, octets, None);
            }
            (11..=12, Some(at)) => {
                let (number, seid, asked, _) = self.sessions[at].clone();
                let asked = Asked { cp: asked.cp + u64::from(self.one_in(10)), ..asked };
                let body = if self.one_in(3) { asked.cp_f_seid() } else { Vec::new() };
                (number, datagram(DELETION, seid, sequence, &body))
            }
            (_, Some(at)) => {
                let (number, seid, asked, _) = self.sessions[at].clone();
                let body = self.modification(&asked);
                (number, self.ordered(datagram(MODIFICATION, seid, sequence, &body)))
            }
            (_, None) => (0, datagram(DELETION, 0, sequence, &[])),
        };
        let octets = self.nearly(octets);
        (number, octets, about)
    }

    /// One in twenty is changed: an octet, its end, an IE of another release in between, a flag of the header.
    fn nearly(&mut self, mut octets: Vec<u8>) -> Vec<u8> {
        if !self.one_in(20) {
            return octets;
        }
        match self.random.u8(..5) {
            0 => {
                let at = self.random.usize(..octets.len());
                octets[at] ^= 1 << self.random.u8(..8);
            }
            1 => octets.truncate(self.random.usize(..=octets.len())),
            2 => {
                octets.extend(self.choice(&[ie(400, "new"), ie(141, [1, 1, 9]), ie(113, [1]), ie(49, [0])]));
                let length = (octets.len() - 4) as u16;
                octets[2..4].copy_from_slice(&length.to_be_bytes());
            }
            3 => octets[0] |= self.choice(&[2, 4, 8]),
            _ => {
                let at = self.random.usize(..octets.len());
                octets.insert(at, self.random.u8(..));
            }
        }
        octets
    }

    /// What became of it.
    fn learn(&mut self, number: u8, octets: &[u8], about: Option<usize>, answer: Option<&[u8]>) {
        let accepted = answer.is_some_and(is_accepted);
        match octets.get(1) {
            Some(&ESTABLISHMENT) if accepted => {
                let (Some(seid), _) = numbers(answer.unwrap_or_default()) else { return };
                // A replaced session stays in the list: its messages find nothing.
                if self.sessions.iter().all(|session| session.1 != seid) {
                    let asked = asked_of(octets);
                    self.sessions.push((number, seid, asked, vec![octets.to_vec()]));
                }
            }
            Some(&MODIFICATION) => {
                let Some(session) = about.and_then(|at| self.sessions.get_mut(at)) else { return };
                session.3.push(octets.to_vec());
                // Repeated ones are among the last of the session.
                if session.3.len() > 4 {
                    session.3.remove(1);
                }
            }
            Some(&DELETION) => {
                let Some(at) = about.filter(|at| *at < self.sessions.len()) else { return };
                let (number, seid, _, last) = self.sessions[at].clone();
                if octets.get(4..12) == Some(&seid.to_be_bytes()[..]) && accepted {
                    self.sessions.swap_remove(at);
                    self.late.extend(last.into_iter().map(|octets| (number, octets)));
                    self.late.push((number, octets.to_vec()));
                    let excess = self.late.len().saturating_sub(12);
                    self.late.drain(..excess);
                }
            }
            _ => {}
        }
    }
}

fn is_accepted(answer: &[u8]) -> bool {
    let Ok((_, body, _)) = Header::decode(answer) else { return false };
    RawIes::new(body).flatten().any(|ie| ie.ie_type == 19 && ie.value == [1])
}

/// What a modification needs to know of an establishment.
fn asked_of(octets: &[u8]) -> Asked {
    let Ok(Request { kind: Kind::Establish(it), .. }) = fits(&Class::SMFS, octets) else {
        return Asked::default();
    };
    let number = it.cp.addr.octets()[3] - smf(0).octets()[3];
    let ue = it.downlink.and_then(|downlink| downlink.pdr.pdi.ue).or(it.uplink.pdr.pdi.ue);
    Asked {
        smf: number,
        cp: it.cp.seid.0,
        downlink: it.downlink.is_some(),
        ue: ue.unwrap_or(Ipv4Addr::new(10, 45, 0, 2)),
        qers: it.qers.iter().flatten().map(|_| (0, true, Some(9))).collect(),
        f_teid: match it.uplink.pdr.pdi.tunnel {
            Some(TunnelRequest::Assigned(teid, addr)) => {
                [&[1][..], &teid.value().to_be_bytes(), &addr.octets()].concat()
            }
            _ => vec![5],
        },
        ..Asked::default()
    }
}

/// Parts of messages that are compared often enough.
const PARTS: [&str; 6] =
    ["several QERs", "Update PDR", "buffering", "another order", "deletion with CP F-SEID", "End Marker"];

/// Those of a message of the class.
fn parts_of(octets: &[u8]) -> impl Iterator<Item = &'static str> {
    let standard = Class { order: Order::Standard, ..Class::SMFS };
    let mut has = [false; PARTS.len()];
    has[3] = fits(&standard, octets).is_err();
    let buffers = |action| matches!(action, Action::Buffer { .. });
    let request = fits(&Class::SMFS, octets).expect("of the class");
    match request.kind {
        Kind::Establish(it) => {
            has[0] = it.qers[1].is_some();
            has[2] = it.downlink.is_some_and(|downlink| buffers(downlink.far.action));
        }
        Kind::Modify(it) => {
            has[1] = it.pdrs[0].is_some();
            has[2] = it.fars.iter().flatten().any(|far| far.action.is_some_and(buffers));
            has[5] = it.fars.iter().flatten().any(|far| far.end_marker);
        }
        Kind::Delete { cp } => has[4] = cp.is_some(),
    }
    PARTS.into_iter().zip(has).filter_map(|(part, has)| has.then_some(part))
}

/// Sends this many messages in worlds of a few hundred.
#[expect(clippy::print_stdout, reason = "how many messages were compared")]
fn compare(messages: u64, seed: u64) {
    const OF_WORLD: u64 = 250;
    let (mut answered, mut reasons) = (0, BTreeMap::<String, u64>::new());
    let mut parts = BTreeMap::<&str, u64>::new();
    for world in 0..messages.div_ceil(OF_WORLD) {
        let mut both = Both::new();
        let mut smfs = Smfs::new(seed + world);
        for _ in 0..OF_WORLD.min(messages - world * OF_WORLD) {
            let (number, octets, about) = smfs.next();
            let before = both.answered;
            let answer = both.send(number, &octets);
            if both.answered > before {
                parts_of(&octets).for_each(|part| *parts.entry(part).or_default() += 1);
            }
            smfs.learn(number, &octets, about, answer.as_deref());
        }
        answered += both.answered;
        for (reason, count) in both.reasons {
            *reasons.entry(reason).or_default() += count;
        }
    }
    println!(
        "{messages} messages: {answered} answered by the data plane; by N4: {reasons:?}; with {parts:?}"
    );
    for part in PARTS {
        let count = parts.get(part).copied().unwrap_or_default();
        assert!(count * 1000 > messages, "few answered messages with {part}: {parts:?}");
    }
    assert!(answered * 2 > messages, "half of the messages are of the class: {answered}");
    for reason in
        [Reason::AtN4, Reason::InUse, Reason::Address, Reason::Network, Reason::Session, Reason::Rules]
    {
        assert!(reasons.contains_key(&reason.to_string()), "no message met {reason}: {reasons:?}");
    }
}

// Input:  20,000 random messages of three SMFs, one of them not associated, to the data plane and to N4: establishments,
//         modifications, deletions, repeated ones, with the same keys, malformed, of other kinds.
// Output: what the data plane answers, N4 answers with the same octets; both have the same rules afterwards. What it does
//         not answer changes nothing in it.
#[test]
fn answers_are_those_of_n4() {
    compare(20_000, 1);
}

// As above, with as many messages as `CAUSEWAY_ACCEL_MESSAGES` says, a million without it.
#[test]
#[ignore = "takes minutes"]
fn a_million_answers_are_those_of_n4() {
    let count = std::env::var("CAUSEWAY_ACCEL_MESSAGES").ok().and_then(|count| count.parse().ok());
    compare(count.unwrap_or(1_000_000), 1_000_000);
}

/// Scripts of random messages, the first ones of the fuzz target `accel_messages`.
fn script(seed: u64) -> Vec<u8> {
    let (mut both, mut smfs, mut octets) = (Both::new(), Smfs::new(seed), Vec::new());
    for _ in 0..12 {
        let (number, datagram, about) = smfs.next();
        let answer = both.send(number, &datagram);
        smfs.learn(number, &datagram, about, answer.as_deref());
        octets.push(number);
        octets.extend((datagram.len() as u16).to_be_bytes());
        octets.extend(datagram);
    }
    octets
}

// Input:  the seeds of the fuzz target, as `CAUSEWAY_RECORD=1` writes them.
// Output: they are there; the data plane answers some of their messages, and as N4 does.
#[test]
fn seeds_of_the_fuzz_target_are_scripts() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../fuzz/seeds/accel_messages");
    if std::env::var_os("CAUSEWAY_RECORD").is_some() {
        std::fs::create_dir_all(&folder).expect("a folder");
        for seed in 1..=8 {
            std::fs::write(folder.join(format!("script-{seed}")), script(seed)).expect("a file");
        }
    }
    let entries: Vec<_> = std::fs::read_dir(&folder).expect("fuzz/seeds/accel_messages").flatten().collect();
    assert!(entries.len() >= 8);
    for entry in entries {
        let octets = std::fs::read(entry.path()).expect("a file");
        let mut both = Both::new();
        read_script(&octets).into_iter().for_each(|(number, datagram)| drop(both.send(number, datagram)));
        assert!(both.answered > 0, "{}", entry.path().display());
    }
}

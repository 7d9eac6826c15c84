//! Requests of the worlds: few forms, so that the switch answers those that were admitted.

use std::net::Ipv4Addr;

use causeway_accel::switch::parse;
use causeway_switch::accel::{Op, SessionChange, Tables};
use fastrand::Rng;

use super::super::frames::{GNB, ie, message};
use super::super::random::{Live, smf};
use super::super::software::complex;

/// Forms of establishments: plain, with a QER, and with an uplink that drops.
pub(super) const ESTABLISHMENTS: u8 = 3;
/// Forms of the message that adds the downlink: it forwards, it drops, it forwards with the QER, it drops and has no tunnel.
const CREATIONS: u8 = 4;
/// Forms of its changes: another tunnel, it drops, it forwards, both, another tunnel with the CP F-SEID.
const UPDATES: u8 = 5;

/// What a request is for the switch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Establishment,
    Modification,
    Deletion,
    /// Nothing that the switch could answer.
    Other,
}

fn ue_address(flags: u8, ue: Ipv4Addr) -> Vec<u8> {
    ie(93, [&[flags][..], &ue.octets()].concat())
}

fn cp_f_seid(cp: u64, host: Ipv4Addr) -> Vec<u8> {
    ie(57, [&[2][..], &cp.to_be_bytes(), &host.octets()].concat())
}

fn tunnel(teid: u8) -> Vec<u8> {
    ie(84, [&[1, 0, 0, 0, 0, teid][..], &GNB.octets()].concat())
}

pub(super) fn establishment(form: u8, number: u8, cp: u64, ue: Ipv4Addr, far: u32, sequence: u32) -> Vec<u8> {
    let id = ie(108, far.to_be_bytes());
    let pdi = [ie(20, [0]), ie(21, [5]), ie(22, "internet"), ue_address(2, ue)];
    let qer = if form == 1 { ie(109, [0, 0, 0, 1]) } else { vec![] };
    let pdr =
        [ie(56, [0, 1]), ie(29, [0, 0, 0, 32]), ie(2, pdi.concat()), ie(95, [0]), id.clone(), qer.clone()];
    let far = [id, ie(44, [if form == 2 { 1 } else { 2 }]), ie(4, ie(42, [1]))];
    let qer = if form == 1 { ie(7, [qer, ie(25, [0]), ie(124, [9])].concat()) } else { vec![] };
    let node = ie(60, [&[0][..], &smf(number).octets()].concat());
    let ies = [node, cp_f_seid(cp, smf(number)), ie(1, pdr.concat()), ie(3, far.concat()), qer];
    message(50, 0, sequence, &ies.concat())
}

fn creation(form: u8, live: &Live, cp: u64, far: u32, teid: u8, sequence: u32) -> Vec<u8> {
    let id = ie(108, far.to_be_bytes());
    let pdi = [ie(20, [1]), ue_address(6, live.ue)];
    let qer = if form == 2 { ie(109, [0, 0, 0, 1]) } else { vec![] };
    let pdr = [ie(56, [0, 2]), ie(29, [0, 0, 0, 255]), ie(2, pdi.concat()), id.clone(), qer];
    let creation = if form == 3 { vec![] } else { tunnel(teid) };
    let action = ie(44, [if form % 2 == 1 { 1 } else { 2 }]);
    let far = [id, action, ie(4, [ie(42, [0]), creation].concat())];
    let cp = if form == 0 { cp_f_seid(cp, smf(live.smf)) } else { vec![] };
    message(52, live.seid, sequence, &[cp, ie(1, pdr.concat()), ie(3, far.concat())].concat())
}

fn update(form: u8, live: &Live, cp: u64, far: u32, teid: u8, sequence: u32) -> Vec<u8> {
    let action = match form {
        1 => ie(44, [1]),
        2 | 3 => ie(44, [2]),
        _ => vec![],
    };
    let parameters = if matches!(form, 1 | 2) { vec![] } else { ie(11, tunnel(teid)) };
    let cp = if form == 4 { cp_f_seid(cp, smf(live.smf)) } else { vec![] };
    let far = ie(10, [ie(108, far.to_be_bytes()), action, parameters].concat());
    message(52, live.seid, sequence, &[cp, far].concat())
}

/// A request of an SMF about its session.
pub(super) fn change(
    random: &mut Rng,
    live: &Live,
    ues: &[Ipv4Addr],
    sequence: u32,
    next_cp: u64,
) -> (Kind, Vec<u8>) {
    let (teid, far) = (random.u8(1..200), random.u32(1..0x1_0000));
    let other_cp = random.u8(..20) == 0;
    let cp = if other_cp { next_cp } else { live.cp };
    let simple = |octets| (Kind::Modification, octets);
    match random.u8(..30) {
        0..3 => (Kind::Deletion, message(54, live.seid, sequence, &[])),
        3 => {
            let octets = complex(random, live, sequence);
            // Some are like those of the class.
            let is_parsed = octets[1] == 52 && !parse(&octets[16..]).is_misfit;
            (if is_parsed { Kind::Modification } else { Kind::Other }, octets)
        }
        4 => {
            // A second uplink, of another UE.
            let pdi = [ie(20, [0]), ie(21, [5]), ue_address(2, ues[random.usize(..ues.len())])].concat();
            let pdr = [ie(56, [0, 5]), ie(29, [0, 0, 0, 9]), ie(2, pdi), ie(95, [0])].concat();
            let pdr = [pdr, ie(108, live.fars[0].to_be_bytes())].concat();
            (Kind::Other, message(52, live.seid, sequence, &ie(1, pdr)))
        }
        kind if live.has_downlink == (kind != 5) => {
            let far = if random.u8(..20) == 0 { far } else { live.fars[1] };
            simple(update(random.u8(..UPDATES), live, cp, far, teid, sequence))
        }
        _ => {
            let forms: &[u8] = if live.has_qer { &[0, 1, 2, 3] } else { &[0, 1, 3] };
            let far = if random.u8(..20) == 0 { live.fars[0] } else { far };
            simple(creation(forms[random.usize(..forms.len())], live, cp, far, teid, sequence))
        }
    }
}

/// A row, or rows, that the control plane writes at once.
#[derive(Clone, Debug)]
pub(super) enum Rows {
    /// A policy with this number.
    Message(Op, Vec<u8>, u16),
    Change([u16; 3], u8),
}

impl Rows {
    pub(super) fn write(&self, tables: &mut Tables) {
        match self {
            Self::Message(op, octets, _) => _ = admit(tables, *op, octets),
            Self::Change([uplink, downlink, policy], downlink_action) => {
                let change = SessionChange { downlink_action: *downlink_action };
                tables.admit_change(*uplink, *downlink, *policy, change);
            }
        }
    }
}

fn admit(tables: &mut Tables, op: Op, octets: &[u8]) -> u16 {
    tables.admit(octets[1], octets[3], &parse(&octets[16..]).fields, op).unwrap()
}

/// All that the control plane admits, in an order by chance. `tables` get all of it; `at_first` what has to be there before it.
pub(super) fn rows(random: &mut Rng, tables: &mut Tables, at_first: &mut Tables) -> Vec<Rows> {
    let ue = Ipv4Addr::new(10, 45, 0, 0);
    let live = Live {
        smf: 0,
        seid: 1,
        of_crate: (0, 0),
        cp: 1,
        ue,
        teid: 1,
        has_qer: true,
        has_downlink: true,
        fars: [1, 2],
        origin: Vec::new(),
        last: Vec::new(),
    };
    let of_session = |form| (Op::Establish, form, establishment(form, 0, 1, ue, 1, 1));
    let of_downlink = |form| (Op::Create, form, creation(form, &live, 1, 2, 1, 1));
    let of_change = |form| (Op::Update, form, update(form, &live, 1, 2, 1, 1));
    let deletion = (Op::Delete, 0, message(54, 1, 1, &[]));
    let mut messages: Vec<_> = (0..ESTABLISHMENTS).map(of_session).chain([deletion]).collect();
    messages.extend((0..CREATIONS).map(of_downlink).chain((0..UPDATES).map(of_change)));
    random.shuffle(&mut messages);
    let (mut rows, mut numbers) = (Vec::new(), [[0; 5]; 3]);
    for (op, form, octets) in messages {
        let number = admit(tables, op, &octets);
        match op {
            Op::Establish => numbers[0][usize::from(form)] = number,
            Op::Create => numbers[1][usize::from(form)] = number,
            Op::Update => numbers[2][usize::from(form)] = number,
            Op::Delete => {}
        }
        rows.push(Rows::Message(op, octets, number));
    }
    let [uplinks, downlinks, updates] = numbers;
    for (form, uplink) in uplinks.into_iter().enumerate().take(ESTABLISHMENTS.into()) {
        if form != 2 {
            at_first.open_uplink(uplink, None, 0);
        }
        for (of_downlink, downlink) in downlinks.into_iter().enumerate().take(CREATIONS.into()) {
            if of_downlink == 2 && form != 1 {
                continue;
            }
            at_first.open_downlink(uplink, downlink, if of_downlink == 2 { 9 } else { 0 }, 0);
            let action = if of_downlink % 2 == 1 { 2 } else { 1 };
            let mut add = |change: Rows| {
                change.write(tables);
                rows.insert(random.usize(..=rows.len()), change);
            };
            add(Rows::Change([uplink, 0, downlink], action));
            for (update, action) in updates.into_iter().zip([0, 2, 1, 1, 0]) {
                add(Rows::Change([uplink, downlink, update], action));
            }
        }
    }
    rows
}

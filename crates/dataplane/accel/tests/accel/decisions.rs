//! The decisions that the paper leaves open (docs/accel.md has them as a table).

use std::net::Ipv4Addr;

use causeway_accel::{Accel, Action, Class, Effect, Misfit, Reason, Reservation, Unavailable, Verdict, fits};
use causeway_pfcp::RawIes;
use causeway_types::{PdrId, Precedence, QerId, Seid, Teid};

use crate::world::*;

/// The session that an answered establishment has made: its index and SEID.
#[track_caller]
fn established(accel: &mut Accel, asked: &Asked, sequence: u32) -> (u32, u64) {
    let (_, verdict) = message(accel, smf_port(asked.smf), &asked.request(sequence));
    let Verdict::Answered { effect: Effect::Install { session, .. }, .. } = verdict else {
        panic!("{verdict:?}")
    };
    (session, accel.session(session).expect("a live session").0.0)
}

#[track_caller]
fn reason(accel: &mut Accel, number: u8, octets: &[u8]) -> Reason {
    let (_, verdict) = message(accel, smf_port(number), octets);
    let Verdict::ToN4 { reason, .. } = verdict else { panic!("{verdict:?}") };
    reason
}

fn is_answered(accel: &mut Accel, number: u8, octets: &[u8]) -> Option<(Vec<u8>, Effect)> {
    let (answer, verdict) = message(accel, smf_port(number), octets);
    if let Verdict::Answered { effect, .. } = verdict { Some((answer, effect)) } else { None }
}

fn another(asked: &Asked) -> Asked {
    let [a, b, c, d] = asked.ue.octets();
    Asked { cp: asked.cp + 1, ue: Ipv4Addr::new(a, b, c, d + 1), ..asked.clone() }
}

// Input:  two SMFs establish a session with the same SEID.
// Output: two sessions; each SMF reaches its own, and not the other's.
#[test]
fn identity_is_the_smf_and_its_seid() {
    let mut accel = accel();
    let one = Asked::default();
    let other = Asked { smf: 1, ue: Ipv4Addr::new(10, 45, 0, 3), ..one.clone() };
    let (first, second) = (established(&mut accel, &one, 1), established(&mut accel, &other, 1));
    assert_ne!(first, second);
    let deletion = datagram(DELETION, second.1, 2, &[]);
    assert_eq!(reason(&mut accel, 0, &deletion), Reason::Session);
    assert!(is_answered(&mut accel, 1, &deletion).is_some());
    assert_eq!(accel.len(), 1);
}

// Input:  a session is deleted, and its index used again.
// Output: another SEID and another TEID; the old SEID is unknown. 64 indexes are used in turn.
#[test]
fn numbers_are_index_and_generation() {
    let mut accel = accel();
    let asked = Asked::default();
    let numbers = |accel: &mut Accel, sequence| {
        let (index, seid) = established(accel, &asked, sequence);
        let teid = accel.session(index).and_then(|(_, rules)| rules.uplink.teid()).expect("a TEID");
        assert!(is_answered(accel, 0, &datagram(DELETION, seid, sequence + 1, &[])).is_some());
        (index, seid, teid)
    };
    let first = numbers(&mut accel, 2);
    for round in 1..64 {
        assert_eq!(numbers(&mut accel, 2 + 2 * round).0, round);
    }
    let again = numbers(&mut accel, 200);
    assert_eq!(first.0, again.0);
    assert!(first.1 != again.1 && first.2 != again.2, "{first:?} {again:?}");
    assert_eq!(reason(&mut accel, 0, &datagram(DELETION, first.1, 300, &[])), Reason::Session);
}

// Input:  a request, repeated at once, after the session has changed four times, after its end.
// Output: the same octets each time, and no effect. Of five modifications the oldest is no longer known.
#[test]
fn a_repeated_request_gets_the_same_octets() {
    let mut accel = accel();
    let asked = Asked::default();
    let establishment = asked.request(1);
    let (answer, effect) = is_answered(&mut accel, 0, &establishment).expect("of the class");
    let Effect::Install { session, .. } = effect else { panic!("{effect:?}") };
    let seid = accel.session(session).expect("a session").0.0;
    let modification = |number: u32| datagram(MODIFICATION, seid, number, &to_gnb(0x2000 + number, None));
    let answers: Vec<_> = (2..7)
        .map(|number| is_answered(&mut accel, 0, &modification(number)).expect("of the class").0)
        .collect();
    let teid = |accel: &Accel| accel.session(session)?.1.downlink?.peer().map(|peer| peer.teid);
    for number in 3..7 {
        let again = (answers[number as usize - 2].clone(), Effect::Nothing);
        assert_eq!(is_answered(&mut accel, 0, &modification(number)), Some(again));
    }
    assert_eq!(teid(&accel), Teid::new(0x2006));
    assert_eq!(is_answered(&mut accel, 0, &establishment), Some((answer.clone(), Effect::Nothing)));
    // With the number of another request, but other octets, it is another request.
    let other = datagram(MODIFICATION, seid, 6, &to_gnb(0x3000, None));
    assert!(matches!(is_answered(&mut accel, 0, &other), Some((_, Effect::Change { .. }))));
    // The window is over: the first one changes the session again.
    is_answered(&mut accel, 0, &modification(2)).expect("of the class");
    assert_eq!(teid(&accel), Teid::new(0x2002));

    let deletion = datagram(DELETION, seid, 9, &[]);
    let (end, effect) = is_answered(&mut accel, 0, &deletion).expect("of the class");
    assert_eq!(effect, Effect::Remove { session });
    assert_eq!(is_answered(&mut accel, 0, &deletion), Some((end, Effect::Nothing)));
    assert_eq!(is_answered(&mut accel, 0, &establishment), Some((answer, Effect::Nothing)));
    assert_eq!(reason(&mut accel, 0, &datagram(DELETION, seid, 10, &[])), Reason::Session);
    assert!(accel.is_empty());
}

// Input:  an establishment of an SMF without association; the same while N4 has associations that the table lacks.
// Output: cause 72 with SEID 0; to N4. A deletion goes to N4 either way: it may be of a session whose CP F-SEID has the
//         address.
#[test]
fn only_associated_smfs_establish_sessions() {
    let mut accel = accel();
    let request = Asked { smf: 2, ..Asked::default() }.request(5);
    let (answer, effect) = is_answered(&mut accel, 2, &request).expect("a refusal");
    assert_eq!((effect, &answer[4..16]), (Effect::Nothing, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0][..]));
    assert_eq!(answer[16..], [ie(60, [0, 192, 0, 2, 1]), ie(19, [72])].concat());
    accel.set_others(true);
    assert_eq!(reason(&mut accel, 2, &request), Reason::Smf);
    assert_eq!(reason(&mut accel, 2, &datagram(DELETION, 1, 6, &[])), Reason::Session);
    assert_eq!((accel.counters().not_associated, accel.len()), (1, 0));
}

// Input:  an SMF restarts; another one has its association released.
// Output: their sessions are unknown at once; a new one with the same CP F-SEID, UE address and TEID takes the place of
//         the old one, which is reported; sweeping removes the rest, and leaves other sessions alone.
#[test]
fn a_restart_ends_the_sessions_of_that_smf() {
    let mut accel = accel();
    let assigned = [&[1][..], &7_u32.to_be_bytes(), &N3.octets()].concat();
    let asked = Asked { f_teid: assigned, ..Asked::default() };
    let old = established(&mut accel, &asked, 1);
    let left = established(&mut accel, &Asked { f_teid: vec![5], ..another(&asked) }, 2);
    let other = Asked { smf: 1, ue: Ipv4Addr::new(10, 45, 1, 1), ..Asked::default() };
    let others = established(&mut accel, &other, 1);
    accel.restart(smf(0));
    assert_eq!(reason(&mut accel, 0, &datagram(DELETION, old.1, 3, &[])), Reason::Session);
    assert_eq!(accel.owner(Reservation::Ue(asked.ue)), None);
    // The same octets as before: a request of the restarted SMF.
    let (_, effect) = is_answered(&mut accel, 0, &asked.request(1)).expect("of the class");
    let Effect::Install { expired, .. } = effect else { panic!("{effect:?}") };
    assert!(expired.contains(&Some(old.0)), "{effect:?}");
    let mut removed = Vec::new();
    accel.sweep(1000, |session| removed.push(session));
    assert_eq!((removed, accel.len()), (vec![left.0], 2));
    accel.release(smf(1));
    assert_eq!(accel.index_of(Seid(others.1)), None);
    accel.sweep(1000, |session| assert_eq!(session, others.0));
    assert_eq!((accel.len(), accel.counters().expired), (1, 3));
}

/// The establishment of the class with one thing changed.
fn with(change: impl Fn(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut ies = Asked::default().ies();
    change(&mut ies);
    datagram(ESTABLISHMENT, 0, 1, &ies.concat())
}

/// A grouped IE with another one at its end.
fn append(group: &mut Vec<u8>, inner: &[u8]) {
    let length = (group.len() - 4 + inner.len()) as u16;
    group.extend_from_slice(inner);
    group[2..4].copy_from_slice(&length.to_be_bytes());
}

// Input:  establishments of the class with one IE more, or with one other value: each that the class excludes.
// Output: each goes to N4 for that IE; nothing has changed. The one without a change is of the class.
#[test]
fn what_is_excluded_goes_to_n4() {
    const UPLINK_PDR: usize = 2;
    const DOWNLINK_FAR: usize = 5;
    let asked = Asked::default;
    let last = |inner: Vec<u8>| with(|ies| ies.push(inner.clone()));
    let in_pdr = |inner: Vec<u8>| with(|ies| append(&mut ies[UPLINK_PDR], &inner));
    let value = |asked: Asked| asked.request(1);
    let cases = [
        (
            "Create URR",
            with(|ies| ies.insert(6, ie(6, [ie(81, [0, 0, 0, 1]), ie(62, [2]), ie(37, [2, 0])].concat()))),
            Misfit::Excluded(6),
        ),
        ("URR ID", in_pdr(ie(81, [0, 0, 0, 1])), Misfit::Excluded(81)),
        ("DUPL", value(Asked { action: vec![18], ..asked() }), Misfit::Value(44)),
        ("NOCP without BUFF", value(Asked { action: vec![8], ..asked() }), Misfit::Value(44)),
        (
            "BUFF of the uplink",
            with(|ies| ies[4] = ie(3, [ie(108, [0, 0, 0, 1]), ie(44, [12])].concat())),
            Misfit::References,
        ),
        ("Create BAR", with(|ies| ies.insert(7, ie(85, ie(88, [1])))), Misfit::Excluded(85)),
        ("a QER twice in a PDR", in_pdr(ie(109, [0, 0, 0, 1])), Misfit::References),
        ("an unknown QER", in_pdr(ie(109, [0, 0, 0, 2])), Misfit::References),
        ("a QER twice", with(|ies| ies.insert(7, ies[6].clone())), Misfit::References),
        ("four QERs", value(Asked { qers: vec![(0, true, None); 4], ..asked() }), Misfit::Order(7)),
        (
            "four QERs in a PDR",
            in_pdr((2_u8..5).flat_map(|id| ie(109, [0, 0, 0, id])).collect()),
            Misfit::Order(109),
        ),
        ("Activation Time", in_pdr(ie(121, [0; 4])), Misfit::Excluded(121)),
        ("Ethernet", value(Asked { tail: ie(113, [5]), ..asked() }), Misfit::Value(113)),
        ("IPv6", value(Asked { tail: ie(113, [2]), ..asked() }), Misfit::Value(113)),
        ("tunnel over IPv6", value(Asked { f_teid: vec![6], ..asked() }), Misfit::Value(21)),
        (
            "TEID 0",
            value(Asked { f_teid: vec![1, 0, 0, 0, 0, 192, 0, 2, 100], ..asked() }),
            Misfit::Value(21),
        ),
        ("unknown gNB", value(Asked { peer: Some((0, GNB)), ..asked() }), Misfit::Value(84)),
        ("User ID", last(ie(141, [1, 1, 9])), Misfit::Excluded(141)),
        ("S-NSSAI", last(ie(257, [1, 0, 0, 1])), Misfit::Excluded(257)),
        ("User Plane Inactivity Timer", last(ie(117, [0, 0, 0, 9])), Misfit::Excluded(117)),
        ("an IE of a vendor", last(ie(0x8001, [0, 1, 2, 3])), Misfit::Excluded(0x8001)),
        ("an IE of a later release", last(ie(999, [1])), Misfit::Excluded(999)),
        ("three PDRs", with(|ies| ies.insert(4, ies[3].clone())), Misfit::Order(1)),
        ("forwarding without parameters", value(Asked { parameters: false, ..asked() }), Misfit::Missing(4)),
        ("two uplink PDRs", with(|ies| ies[3] = ies[2].clone()), Misfit::References),
        ("a FAR without PDR", with(|ies| drop(ies.remove(3))), Misfit::References),
        (
            "End Marker of a new FAR",
            with(|ies| append(&mut ies[DOWNLINK_FAR], &ie(49, [2]))),
            Misfit::Excluded(49),
        ),
    ];
    assert!(fits(&Class::SMFS, &with(|_| {})).is_ok());
    let mut accel = accel();
    for (what, octets, misfit) in cases {
        assert_eq!(reason(&mut accel, 0, &octets), Reason::Misfit(misfit), "{what}");
    }
    // Inside of a PDI, and what depends on the topology.
    let pdi = |inner: Vec<u8>| {
        with(|ies| {
            let pdr = Asked { uplink_qfi: None, ..asked() }.uplink_pdr();
            let at = pdr.windows(2).position(|type_of| type_of == [0, 22]).expect("a Network Instance");
            let (head, tail) = pdr.split_at(at + 12);
            let mut changed = [head, &inner, tail].concat();
            let grown = inner.len() as u16;
            for length in [2, 4 + 6 + 8 + 2] {
                let octets = u16::from_be_bytes([changed[length], changed[length + 1]]) + grown;
                changed[length..length + 2].copy_from_slice(&octets.to_be_bytes());
            }
            ies[UPLINK_PDR] = changed;
        })
    };
    assert!(fits(&Class::SMFS, &pdi(Vec::new())).is_ok());
    for (what, inner, misfit) in [
        ("SDF Filter", ie(23, [1, 0, 0, 1, b'x']), Misfit::Excluded(23)),
        ("several QFIs", [ie(124, [1]), ie(124, [2])].concat(), Misfit::Order(124)),
        ("Framed-Route", ie(153, "10.0.0.0/24"), Misfit::Excluded(153)),
        ("Traffic Endpoint ID", ie(131, [1]), Misfit::Excluded(131)),
        ("IPv6 of the UE", ie(93, [&[1][..], &[0; 16]].concat()), Misfit::Value(93)),
        ("a UE address that the UPF chooses", ie(93, [0x10]), Misfit::Value(93)),
    ] {
        assert_eq!(reason(&mut accel, 0, &pdi(inner)), Reason::Misfit(misfit), "{what}");
    }
    for (what, asked, expected) in [
        ("unknown network", Asked { network: Some(b"elsewhere".to_vec()), ..asked() }, Reason::Network),
        ("address of the UPF", Asked { ue: N3, ..asked() }, Reason::Address),
        ("loopback", Asked { ue: Ipv4Addr::LOCALHOST, ..asked() }, Reason::Address),
        ("tunnel to itself", Asked { peer: Some((1, N3)), ..asked() }, Reason::Peer),
        ("tunnel elsewhere", Asked { f_teid: vec![1, 0, 0, 0, 1, 192, 0, 2, 7], ..asked() }, Reason::Tunnel),
    ] {
        assert_eq!(reason(&mut accel, 0, &asked.request(1)), expected, "{what}");
    }
    // An uplink FAR with a tunnel is N9.
    let n9 = with(|ies| {
        let to = [ie(42, [1]), outer_header((1, GNB))].concat();
        ies[4] = ie(3, [ie(108, [0, 0, 0, 1]), ie(44, [2]), ie(4, to)].concat());
    });
    assert_eq!(reason(&mut accel, 0, &n9), Reason::Peer);
    assert_eq!((accel.len(), accel.counters().answered()), (0, 0));
}

// Input:  two messages in one datagram; a datagram that is longer or shorter than its length says; no SEID; another
//         version; a SEID in an establishment.
// Output: each goes to N4.
#[test]
fn a_datagram_is_one_message() {
    let mut accel = accel();
    let request = Asked::default().request(1);
    let mut changed = request.clone();
    changed[0] |= 4;
    assert_eq!(reason(&mut accel, 0, &[changed, request.clone()].concat()), Reason::Misfit(Misfit::Header));
    assert_eq!(reason(&mut accel, 0, &[&request[..], &[0]].concat()), Reason::Misfit(Misfit::Length));
    for len in 0..request.len() {
        assert!(matches!(
            reason(&mut accel, 0, &request[..len]),
            Reason::Misfit(Misfit::Header | Misfit::Length)
        ));
    }
    for (at, octet) in [(0, 0x20), (0, 0x41), (11, 1)] {
        let mut changed = request.clone();
        changed[at] = octet;
        assert_eq!(reason(&mut accel, 0, &changed), Reason::Misfit(Misfit::Header));
    }
    // Message priority is permitted.
    let mut changed = request;
    changed[0] |= 2;
    assert!(is_answered(&mut accel, 0, &changed).is_some());
}

// Input:  every length field of an establishment, one more and one less.
// Output: each goes to N4.
#[test]
fn wrong_lengths_go_to_n4() {
    fn lengths(octets: &[u8], from: usize, found: &mut Vec<usize>) {
        let mut at = from;
        while let Some(&[t1, t0, l1, l0]) = octets.get(at..).and_then(|rest| rest.first_chunk()) {
            found.push(at + 2);
            let length = usize::from(u16::from_be_bytes([l1, l0]));
            if matches!(u16::from_be_bytes([t1, t0]), 1..=4 | 7) {
                lengths(&octets[..at + 4 + length], at + 4, found);
            }
            at += 4 + length;
        }
    }
    let request = Asked { peer: Some((1, GNB)), uplink_ue: true, ..Asked::default() }.request(1);
    let mut places = vec![2];
    lengths(&request, 16, &mut places);
    assert!(places.len() > 30, "{}", places.len());
    let mut accel = accel();
    for at in places {
        for change in [1, u16::MAX, 0x100] {
            let mut changed = request.clone();
            let length = u16::from_be_bytes([changed[at], changed[at + 1]]).wrapping_add(change);
            changed[at..at + 2].copy_from_slice(&length.to_be_bytes());
            assert!(matches!(reason(&mut accel, 0, &changed), Reason::Misfit(_)), "at {at}");
        }
    }
    assert!(is_answered(&mut accel, 0, &request).is_some());
}

// Input:  the call flow of the paper (figure 2): the uplink by an establishment, the downlink by a modification; the same
//         in one message; both to the class as published.
// Output: the first is of it, the second is not.
#[test]
fn the_published_class_has_one_pair_a_message() {
    let mut config = config();
    config.class = Class::PUBLISHED;
    let mut accel = accel_with(config);
    let both = Asked { network: None, qers: Vec::new(), ..Asked::default() };
    assert!(fits(&Class::SMFS, &both.request(1)).is_ok());
    assert_eq!(reason(&mut accel, 0, &both.request(1)), Reason::Misfit(Misfit::Order(1)));
    let (index, seid) = established(&mut accel, &Asked { downlink: false, ..both.clone() }, 2);
    let body = [both.downlink_pdr(), both.downlink_far()].concat();
    let (_, effect) =
        is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 3, &body)).expect("of the class");
    let Effect::Change { session, end_marker: None, expired: None, instructed: [None, None], .. } = effect
    else {
        panic!("{effect:?}")
    };
    assert_eq!(session, index);
    assert_eq!(accel.owner(Reservation::Ue(both.ue)), Some(index));
    let marker = datagram(MODIFICATION, seid, 4, &to_gnb(1, Some(2)));
    assert!(matches!(reason(&mut accel, 0, &marker), Reason::Misfit(Misfit::Value(49))));
}

// Input:  a handover with SNDEM to a session without a gNB, to another gNB, to the same gNB.
// Output: an End Marker to the first one, once.
#[test]
fn the_previous_gnb_gets_the_end_marker() {
    let mut accel = accel();
    let (_, seid) = established(&mut accel, &Asked::default(), 1);
    let mut handover = |sequence, teid| {
        let octets = datagram(MODIFICATION, seid, sequence, &to_gnb(teid, Some(2)));
        match is_answered(&mut accel, 0, &octets) {
            Some((_, Effect::Change { end_marker, .. })) => end_marker.map(|peer| peer.teid.value()),
            Some((_, Effect::Nothing)) => None,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((handover(2, 10), handover(3, 11), handover(4, 11)), (None, Some(10), None));
}

// Input:  N4 takes a session over for a modification that is not of the class, then the session ends there.
// Output: all of it with its requests, once; its messages and keys are N4's; its index comes back with another SEID.
#[test]
fn each_session_has_one_owner() {
    let mut accel = accel();
    let asked = Asked { f_teid: vec![13, 42], ..Asked::default() };
    let (index, seid) = established(&mut accel, &asked, 1);
    is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 2, &to_gnb(9, None))).expect("of the class");
    let rules = accel.rule_set(index).expect("rules");
    let copies = ie(10, [ie(108, [0, 0, 0, 2]), ie(44, [18])].concat());
    let (_, verdict) = message(&mut accel, smf_port(0), &datagram(MODIFICATION, seid, 3, &copies));
    let Verdict::ToN4 { adopt: Some(needed), .. } = verdict else { panic!("{verdict:?}") };
    let adopted = accel.adopt(needed).expect("a session");
    let sequences: Vec<_> = adopted.answered.iter().map(|request| request.sequence).collect();
    assert_eq!((adopted.seid, adopted.choose_id, sequences), (Seid(seid), Some(42), vec![1, 2]));
    assert_eq!((adopted.rules, adopted.cp.seid, adopted.since), (rules, Seid(asked.cp), NOW));
    assert_eq!(accel.adopt(index), None);
    // Even the deletion of the class, and another session with the same keys.
    assert_eq!(reason(&mut accel, 0, &datagram(DELETION, seid, 4, &[])), Reason::Session);
    assert_eq!(reason(&mut accel, 0, &asked.request(5)), Reason::AtN4);
    assert_eq!(reason(&mut accel, 0, &Asked { cp: 8, ..asked.clone() }.request(6)), Reason::AtN4);
    assert_eq!(reason(&mut accel, 0, &asked.request(1)), Reason::AtN4);
    accel.unreserve(Reservation::Ue(asked.ue));
    accel.unreserve(Reservation::Cp(smf(0), Seid(asked.cp)));
    accel.give_back(Seid(seid));
    let occupancy = accel.occupancy();
    assert_eq!((occupancy.free, occupancy.adopted, occupancy.keys), (64, 0, [0; 3]));
    let again = (0..64).map(|round| {
        let asked = Asked { cp: 100 + round, ue: Ipv4Addr::new(10, 45, 2, round as u8), ..asked.clone() };
        established(&mut accel, &asked, 10)
    });
    let again = again.last().expect("the last index");
    assert!(again.0 == index && again.1 != seid, "{again:?}");
}

// Input:  a session here, and one of N4 that wants its UE address, its TEID or its CP F-SEID.
// Output: N4 is told to adopt it first. Keys of N4 that find no place stop establishments with keys of their places until they are released.
#[test]
fn keys_have_one_owner() {
    let mut config = config();
    // Two buckets of four entries.
    config.keys = 4;
    let mut accel = accel_with(config);
    let asked = Asked { f_teid: vec![1, 0, 0, 0, 7, 192, 0, 2, 100], ..Asked::default() };
    let (index, _) = established(&mut accel, &asked, 1);
    let teid = Teid::new(7).expect("not zero");
    for key in [Reservation::Ue(asked.ue), Reservation::Teid(teid), Reservation::Cp(smf(0), Seid(asked.cp))] {
        assert_eq!(accel.reserve(key), Err(Unavailable::Session(index)));
    }
    let ues: Vec<_> = (1..=16).map(|last| Reservation::Ue(Ipv4Addr::new(10, 46, 0, last))).collect();
    ues.iter().for_each(|key| assert_eq!(accel.reserve(*key), Ok(None)));
    let next = Asked { f_teid: vec![5], ..another(&asked) };
    assert_eq!(reason(&mut accel, 0, &next.request(2)), Reason::KeysMissing);
    ues.iter().for_each(|key| accel.unreserve(*key));
    established(&mut accel, &next, 3);
}

// Input:  64 sessions where there are 64, and one more; a session whose UE address finds no place.
// Output: both go to N4 with the reason, which is counted; there is no cause for the SMF, and all others are as before.
#[test]
fn full_goes_to_n4() {
    let mut accel = accel();
    let mut asked = Asked::default();
    for sequence in 1..=64 {
        established(&mut accel, &asked, sequence);
        asked = another(&asked);
    }
    let before = accel.occupancy();
    assert_eq!(reason(&mut accel, 0, &asked.request(65)), Reason::Full);
    assert_eq!((accel.counters().to_n4[Reason::Full.index()], accel.occupancy()), (1, before));

    let mut config = config();
    config.keys = 4;
    let mut accel = accel_with(config);
    let mut asked = Asked::default();
    let mut answered = 0;
    for sequence in 1..=20 {
        let before = accel.occupancy();
        match message(&mut accel, smf_port(0), &asked.request(sequence)).1 {
            Verdict::Answered { .. } => answered += 1,
            Verdict::ToN4 { reason, .. } => {
                assert_eq!((reason, accel.occupancy()), (Reason::Collision, before));
            }
        }
        asked = another(&asked);
    }
    assert!((4..=8).contains(&answered), "{answered}");
    assert_eq!(accel.len(), answered);
}

// Input:  an SMF may not establish sessions for now.
// Output: its establishments go to N4, which has the cause; its sessions go on.
#[test]
fn a_closed_smf_keeps_its_sessions() {
    let mut accel = accel();
    let (_, seid) = established(&mut accel, &Asked::default(), 1);
    accel.set_open(smf(0), false);
    assert_eq!(reason(&mut accel, 0, &another(&Asked::default()).request(2)), Reason::Closed);
    assert!(is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 3, &to_gnb(1, None))).is_some());
    accel.set_open(smf(0), true);
    assert!(is_answered(&mut accel, 0, &another(&Asked::default()).request(4)).is_some());
}

// Input:  an establishment and a modification whose IEs and groups are in the order of TS 29.244, and the same from the
//         last to the first.
// Output: the same rules. The published class has the order of TS 29.244 alone.
#[test]
fn ies_may_be_in_any_order() {
    fn reversed(octets: &[u8]) -> Vec<u8> {
        let mut ies: Vec<_> = RawIes::new(octets).map(|ie| ie.expect("well-formed IEs")).collect();
        ies.reverse();
        let group = |ie_type| matches!(ie_type, 1..=4 | 7 | 9..=11);
        let inner = |value: &[u8], is_group| if is_group { reversed(value) } else { value.to_vec() };
        ies.iter().flat_map(|it| ie(it.ie_type, inner(it.value, group(it.ie_type)))).collect()
    }
    let asked = Asked { peer: Some((1, GNB)), uplink_ue: true, interface_types: true, ..Asked::default() };
    let update = [ie(9, asked.in_downlink_pdr().concat()), to_gnb(2, Some(0))].concat();
    let rules = [false, true].map(|is_reversed| {
        let order = |octets: Vec<u8>| if is_reversed { reversed(&octets) } else { octets };
        let mut accel = accel();
        let request = datagram(ESTABLISHMENT, 0, 1, &order(asked.ies().concat()));
        let (_, effect) = is_answered(&mut accel, 0, &request).expect("of the class");
        let Effect::Install { session, .. } = effect else { panic!("{effect:?}") };
        let seid = accel.session(session).expect("a session").0.0;
        let handover = datagram(MODIFICATION, seid, 2, &order(update.clone()));
        is_answered(&mut accel, 0, &handover).expect("of the class");
        accel.rule_set(session)
    });
    assert_eq!(rules[0], rules[1]);
    let one_pair = Asked { downlink: false, ..asked };
    let in_order = one_pair.request(1);
    let other = datagram(ESTABLISHMENT, 0, 1, &reversed(&one_pair.ies().concat()));
    assert!(fits(&Class::PUBLISHED, &in_order).is_ok());
    assert!(matches!(fits(&Class::PUBLISHED, &other), Err(Misfit::Order(_))));
}

// Input:  PDRs with three QERs, named from the last to the first; one more QER than a session can have.
// Output: the PDRs have them in the order of the message; the fourth QER goes to N4.
#[test]
fn a_pdr_has_up_to_three_qers() {
    let mut accel = accel();
    let qers = vec![(0, true, Some(9)), (0, false, Some(9)), (5, true, None)];
    let (index, seid) = established(&mut accel, &Asked { qers, qers_reversed: true, ..Asked::default() }, 1);
    let rules = accel.rule_set(index).expect("rules");
    assert_eq!(rules.qers.len(), 3);
    for pdr in rules.pdrs.values() {
        assert_eq!(pdr.qers, [QerId(3), QerId(2), QerId(1)]);
    }
    let another = datagram(MODIFICATION, seid, 2, &create_qer(4, 0, true, None));
    assert_eq!(reason(&mut accel, 0, &another), Reason::Rules);
}

// Input:  an Update PDR that repeats the PDR, beside an Update FAR, as SMFs send it; one that changes precedence, network
//         and QERs; one with another UE address, another FAR, another tunnel, a QER that is not there.
// Output: the first two are answered, and the second changes just these; the others go to N4.
#[test]
fn an_update_keeps_tunnel_ue_and_far_of_a_pdr() {
    let mut accel = accel();
    let asked = Asked { qers: vec![(0, true, Some(9)); 2], ..Asked::default() };
    let (index, seid) = established(&mut accel, &asked, 1);
    let update = |inner: &[Vec<u8>]| ie(9, inner.concat());
    let repeated = [update(&asked.in_downlink_pdr()), to_gnb(1, None)].concat();
    is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 2, &repeated)).expect("of the class");
    let before = accel.rule_set(index).expect("rules");
    let mut changed = Asked { network: None, qers_reversed: true, ..asked.clone() }.in_downlink_pdr();
    changed[1] = ie(29, [0, 0, 0, 7]);
    is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 3, &update(&changed))).expect("of the class");
    let mut expected = before;
    let mut pdr = expected.pdrs.get(&PdrId(2)).expect("the downlink").clone();
    (pdr.precedence, pdr.pdi.network_instance, pdr.qers) = (Precedence(7), None, vec![QerId(2), QerId(1)]);
    expected.pdrs.insert(pdr.id, pdr);
    assert_eq!(accel.rule_set(index), Some(expected));

    let other_ue = Asked { ue: Ipv4Addr::new(10, 45, 0, 9), ..asked.clone() };
    let other_tunnel = Asked { f_teid: vec![1, 0, 0, 0, 7, 192, 0, 2, 100], ..asked.clone() };
    let three = Asked { qers: vec![(0, true, None); 3], ..asked.clone() };
    let far = update(&[ie(56, [0, DOWNLINK]), ie(108, u32::from(UPLINK).to_be_bytes())]);
    let unknown = update(&[ie(56, [0, 9])]);
    for (what, octets, expected) in [
        ("UE address", update(&other_ue.in_downlink_pdr()), Reason::Rules),
        ("tunnel", update(&other_tunnel.in_uplink_pdr()), Reason::Tunnel),
        ("QER", update(&three.in_downlink_pdr()), Reason::Rules),
        ("FAR", far, Reason::Rules),
        ("no such PDR", unknown, Reason::Rules),
    ] {
        assert_eq!(reason(&mut accel, 0, &datagram(MODIFICATION, seid, 4, &octets)), expected, "{what}");
    }
}

// Input:  an idle UE: the downlink FAR buffers, with and without NOCP, then forwards; the same to a data plane that does
//         not buffer, and for the uplink.
// Output: the first are answered, the others are N4's.
#[test]
fn the_downlink_of_an_idle_ue_buffers() {
    let mut accel = accel();
    let (index, seid) = established(&mut accel, &Asked { action: vec![4], ..Asked::default() }, 1);
    let action = |accel: &Accel| accel.session(index).and_then(|it| it.1.downlink).map(|it| it.action);
    assert_eq!(action(&accel), Some(Action::Buffer { notify: false }));
    let idle = |id: u8| ie(10, [ie(108, [0, 0, 0, id]), ie(44, [12])].concat());
    is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 2, &idle(DOWNLINK))).expect("of the class");
    assert_eq!(action(&accel), Some(Action::Buffer { notify: true }));
    is_answered(&mut accel, 0, &datagram(MODIFICATION, seid, 3, &to_gnb(1, None))).expect("of the class");
    assert_eq!(action(&accel), Some(Action::Forward));
    assert_eq!(reason(&mut accel, 0, &datagram(MODIFICATION, seid, 4, &idle(UPLINK))), Reason::Rules);

    let mut config = config();
    config.class.buffering = false;
    let mut accel = accel_with(config);
    let (_, seid) = established(&mut accel, &Asked::default(), 1);
    let octets = datagram(MODIFICATION, seid, 2, &idle(DOWNLINK));
    assert_eq!(reason(&mut accel, 0, &octets), Reason::Misfit(Misfit::Value(44)));
}

// Input:  a deletion with the CP F-SEID of the session; with another one.
// Output: the first is answered, the other is N4's.
#[test]
fn a_deletion_may_name_the_cp_f_seid() {
    let mut accel = accel();
    let asked = Asked::default();
    let (index, seid) = established(&mut accel, &asked, 1);
    let other = Asked { cp: asked.cp + 1, ..asked.clone() };
    assert_eq!(reason(&mut accel, 0, &datagram(DELETION, seid, 2, &other.cp_f_seid())), Reason::Smf);
    let (_, effect) =
        is_answered(&mut accel, 0, &datagram(DELETION, seid, 3, &asked.cp_f_seid())).expect("of the class");
    assert_eq!(effect, Effect::Remove { session: index });
}

// Input:  an SMF with a session here says that it belongs to a set. N4 adopts its session, then takes it out of the table. Requests of it and of another SMF
//         of the set about that session, and for new ones; another SMF of the table.
// Output: all requests of the set go to N4, which may give the session to any SMF of the set; nothing of it is left here. The other SMF is answered.
#[test]
fn smfs_of_a_set_are_n4s() {
    let mut accel = accel();
    let asked = Asked::default();
    let (index, seid) = established(&mut accel, &asked, 1);
    accel.set_open(smf(0), false);
    assert_eq!(accel.adopt(index).map(|adopted| adopted.seid), Some(Seid(seid)));
    accel.release(smf(0));
    accel.set_others(true);
    for number in [0, 2] {
        let new = Asked { smf: number, ..another(&asked) };
        assert_eq!(reason(&mut accel, number, &new.request(2)), Reason::Smf);
        for (sequence, kind, body) in [(3, MODIFICATION, to_gnb(9, None)), (4, DELETION, Vec::new())] {
            let request = datagram(kind, seid, sequence, &body);
            assert_eq!(reason(&mut accel, number, &request), Reason::Session);
        }
    }
    assert!(accel.is_empty());
    established(&mut accel, &Asked { smf: 1, ..another(&asked) }, 5);
}

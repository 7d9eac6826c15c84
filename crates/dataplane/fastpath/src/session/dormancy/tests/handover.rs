use super::*;

/// A session whose packets are measured, changed by a plan without a known message template.
fn established(plane: &mut FastPath, ue: u8) -> RuleSet {
    let rules = rules(ue);
    let plan = Plan::install(Seid(ue.into()), rules.clone());
    plane.apply(at(ue.into()), &plan).unwrap();
    rules
}

/// Forwards the downlink into another tunnel, with an End Marker into the old one.
fn hand_over(plane: &mut FastPath, ue: u8, rules: &mut RuleSet, to: FTeid, now: Time) {
    let mut new = rules.clone();
    let forwarding = new.fars.get_mut(&FarId(2)).and_then(|far| far.forwarding.as_mut()).unwrap();
    let old = forwarding.tunnel().unwrap();
    forwarding.outer = Some(OuterHeader::Gtpu(to));
    let extras = PlanOptions { end_markers: vec![(FarId(2), old)], ..PlanOptions::default() };
    assert!(plane.hand_over(now, &plan_modification(Seid(ue.into()), rules, &new, &extras)));
    *rules = new;
}

/// Peer, message type and TEID of what was sent.
fn sent(sent: &[(Egress, Vec<u8>)]) -> Vec<(Ipv4Addr, u8, u32)> {
    let say = |(egress, packet): &(Egress, Vec<u8>)| {
        let Egress::Gtpu { peer, .. } = egress else { panic!("{egress:?}") };
        let IpAddr::V4(peer) = peer.ip() else { panic!("{peer}") };
        (peer, packet[1], u32::from_be_bytes(packet[4..8].try_into().unwrap()))
    };
    sent.iter().map(say).collect()
}

// Input:  two sessions with the same rules; the first moves to a tunnel of its gNB, to another gNB, and back, with a
//         packet after each; the second follows it to the other gNB, as the second session there.
// Output: each packet is sent into the current tunnel, after the End Marker into the previous one, and the slow path
//         sees only the first packet of each session; at the end all octets are reported, with the time of the first
//         and the last packet.
#[test]
fn a_handover_needs_no_slow_path() {
    const G_PDU: u8 = 255;
    const END_MARKER: u8 = 254;
    let mut plane = plane();
    let mut first = established(&mut plane, 1);
    let mut second = established(&mut plane, 2);
    assert_eq!(downlink(&mut plane, 1, at(10)), Disposition::Forwarded);
    assert_eq!(downlink(&mut plane, 2, at(10)), Disposition::Forwarded);
    let slow = plane.slow_path_packets();
    let targets = [tunnel(0x201, GNB), tunnel(0x202, OTHER_GNB), tunnel(0x101, GNB)];
    let mut before = (GNB, 0x101);
    for (turn, target) in (0..).zip(targets) {
        let (mut out, to) = (Vec::new(), (target.addr.v4.unwrap(), target.teid.value()));
        hand_over(&mut plane, 1, &mut first, target, at(11 + turn));
        plane.flush(&mut out);
        assert_eq!(downlink_to(&mut plane, 1, at(11 + turn), &mut out), Disposition::Forwarded);
        assert_eq!(sent(&out), [(before.0, END_MARKER, before.1), (to.0, G_PDU, to.1)]);
        before = to;
    }
    let mut out = Vec::new();
    hand_over(&mut plane, 2, &mut second, tunnel(0x303, OTHER_GNB), at(20));
    plane.flush(&mut out);
    assert_eq!(downlink_to(&mut plane, 2, at(20), &mut out), Disposition::Forwarded);
    assert_eq!(sent(&out), [(GNB, END_MARKER, 0x102), (OTHER_GNB, G_PDU, 0x303)]);
    assert_eq!(plane.slow_path_packets(), slow);
    let ends = [1, 2].map(|seid| plane.apply(at(30), &Plan::removal(Seid(seid))).unwrap().usage);
    let measured = ends.map(|usage| {
        let [usage] = &usage[..] else { panic!("{usage:?}") };
        (usage.first_packet, usage.last_packet, usage.volume.unwrap().downlink)
    });
    assert_eq!(measured, [(Some(at(10)), Some(at(13)), 4 * 28), (Some(at(10)), Some(at(20)), 2 * 28)]);
}

// Input:  an Error Indication about the tunnel before a handover, then one about the tunnel after it.
// Output: only the second is reported, for its session.
#[test]
fn error_indications_follow_a_handover() {
    let mut plane = plane();
    let mut rules = established(&mut plane, 1);
    hand_over(&mut plane, 1, &mut rules, tunnel(0x202, OTHER_GNB), at(5));
    let mut indicate = |teid, gnb: Ipv4Addr| {
        let indication = Repr::error_indication(Teid::new(teid), gnb.into(), &[]).to_vec().unwrap();
        let ingress = Ingress::Gtpu { local: UPF.into(), peer: (gnb, 2152).into(), tos: 0, hops: None };
        plane.process(at(6), &ingress, &indication, &mut Vec::new());
        plane.poll_event()
    };
    assert_eq!(indicate(0x101, GNB), None);
    let event = indicate(0x202, OTHER_GNB);
    assert!(matches!(event, Some(Event::ErrorIndication { session: Seid(1), .. })), "{event:?}");
}

// Input:  plans that change more than tunnels: another action, a buffered packet, two FARs into one tunnel, another
//         session with the UE's address.
// Output: they are not applied as handovers, and nothing has changed.
#[test]
fn larger_changes_take_the_slow_path() {
    let elsewhere = |rules: &RuleSet| {
        let mut new = rules.clone();
        let forwarding = new.fars.get_mut(&FarId(2)).and_then(|far| far.forwarding.as_mut()).unwrap();
        forwarding.outer = Some(OuterHeader::Gtpu(tunnel(0x202, OTHER_GNB)));
        new
    };
    let mut plane = plane();
    let alone = established(&mut plane, 1);
    let modified = |ue: u8, old: &RuleSet, new: &RuleSet| {
        plan_modification(Seid(ue.into()), old, new, &PlanOptions::default())
    };

    let mut waiting = alone.clone();
    waiting.fars.get_mut(&FarId(2)).unwrap().action = ApplyAction::Buffer { notify: false };
    assert!(!plane.hand_over(at(5), &modified(1, &alone, &waiting)));
    plane.apply(at(5), &modified(1, &alone, &waiting)).unwrap();
    assert_eq!(downlink(&mut plane, 1, at(6)), Disposition::Buffered);
    assert!(!plane.hand_over(at(7), &modified(1, &waiting, &elsewhere(&waiting))));

    let mut twice = rules(2);
    let far = Far { id: FarId(3), ..twice.fars.get(&FarId(2)).unwrap().clone() };
    twice.fars.extend([(FarId(3), far)]);
    let plan = Plan::install(Seid(2), twice.clone());
    plane.apply(at(8), &plan).unwrap();
    assert!(!plane.hand_over(at(9), &modified(2, &twice, &elsewhere(&twice))));

    let mut other = rules(3);
    for pdr in other.pdrs.values_mut() {
        pdr.pdi.ue = pdr.pdi.ue.map(|ue| UeAddress { v4: Some(Ipv4Addr::new(10, 0, 0, 2)), ..ue });
    }
    plane.apply(at(11), &Plan::install(Seid(3), other.clone())).unwrap();
    assert!(!plane.hand_over(at(12), &modified(3, &other, &elsewhere(&other))));
}

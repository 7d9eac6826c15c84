//! Scenarios of a session, step by step.

use std::collections::BTreeSet;
use std::sync::Arc;

use causeway_dataplane::{ApplyError, Dataplane, Disposition, Egress, Event, Op, PacketEngine, Plan};
use causeway_model::{
    FlowDescription, FlowEnd, Gate, Pdi, PlanOptions, Qer, SdfFilter, Urr, plan_modification,
};
use causeway_types::{FarId, Interface, PdrId, QerId, Qfi, ReportingTriggers, Seid, Span, WallTime};

use super::fixture::{
    START, buffering, events, from_gnb, from_network, gnb, hip4, n3, reply, request, session, to_gnb, volume,
};
use crate::backend::InProcess;

fn sent_to(out: &[(Egress, Vec<u8>)]) -> Vec<String> {
    let to = |egress: &Egress| match egress {
        Egress::Gtpu { peer, .. } => peer.ip().to_string(),
        Egress::Ip { network } => network.as_str().to_owned(),
        Egress::Ethernet { .. } => "a link".to_owned(),
    };
    out.iter().map(|(egress, _)| to(egress)).collect()
}

// Input:  a session; a packet in each direction; its deletion.
// Output: both are forwarded; the last report has their octets, and no state is left on the switch.
#[test]
fn a_session_counts_to_its_end() {
    let mut upf = hip4();
    upf.apply(START, &Plan::install(Seid(1), session(0).clone())).unwrap();
    let mut out = Vec::new();
    assert_eq!(upf.process(START, &from_gnb(), &request(0, 100), &mut out), Disposition::Forwarded);
    assert_eq!(upf.process(START, &from_network(), &reply(0, 300), &mut out), Disposition::Forwarded);
    assert_eq!(sent_to(&out), ["internet", "192.0.2.11"]);
    let applied = upf.apply(START, &Plan::removal(Seid(1))).unwrap();
    let volume = applied.usage[0].volume.unwrap();
    assert_eq!((volume.uplink, volume.downlink), (128, 328));
    assert!(upf.switch().is_empty());
    assert_eq!(upf.process(START, &from_gnb(), &request(0, 100), &mut out).dropped(), Some("unknown_teid"));
}

trait Dropped {
    fn dropped(self) -> Option<&'static str>;
}

impl Dropped for Disposition {
    fn dropped(self) -> Option<&'static str> {
        match self {
            Self::Dropped(reason) => Some(reason.label()),
            _ => None,
        }
    }
}

// Input:  packets before and after each of ten handovers; then a query.
// Output: each is sent to the gNB at that time; the report has all of them, though the rule had eleven numbers.
#[test]
fn handovers_lose_no_octet() {
    let mut upf = hip4();
    let mut rules = session(0);
    upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
    let mut out = Vec::new();
    for handover in 0..10 {
        upf.process(START, &from_network(), &reply(0, 72), &mut out);
        let mut new = rules.clone();
        new.fars.insert(FarId(2), to_gnb(gnb(1 - handover % 2, 0)));
        upf.apply(START, &plan_modification(Seid(1), &rules, &new, &PlanOptions::default())).unwrap();
        rules = new;
    }
    upf.process(START, &from_network(), &reply(0, 72), &mut out);
    let expected: Vec<&str> = (0..11).map(|handover| ["192.0.2.11", "192.0.2.12"][handover % 2]).collect();
    assert_eq!(sent_to(&out), expected);
    let extras = PlanOptions { queries: [causeway_types::UrrId(1)].into(), ..PlanOptions::default() };
    let applied = upf.apply(START, &plan_modification(Seid(1), &rules, &rules, &extras)).unwrap();
    assert_eq!(applied.usage[0].volume.unwrap().downlink, 1100);
}

// Input:  three downlink packets for an idle UE; then its FAR forwards to another gNB; one more packet.
// Output: the SMF is notified of the first; the three are transmitted in order before the fourth, and all four are
//         counted.
#[test]
fn waiting_packets_leave_first() {
    let mut upf = hip4();
    let mut rules = session(0);
    rules.fars.insert(FarId(2), buffering(gnb(0, 0)));
    upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
    let mut out = Vec::new();
    for octets in [10, 20, 30] {
        assert_eq!(upf.process(START, &from_network(), &reply(0, octets), &mut out), Disposition::Buffered);
    }
    assert!(matches!(events(&mut upf)[..], [Event::DownlinkData { session: Seid(1), .. }]));
    assert!(out.is_empty());
    let mut new = rules.clone();
    new.fars.insert(FarId(2), to_gnb(gnb(1, 0)));
    upf.apply(START, &plan_modification(Seid(1), &rules, &new, &PlanOptions::default())).unwrap();
    upf.process(START, &from_network(), &reply(0, 40), &mut out);
    let sizes: Vec<usize> = out.iter().map(|(_, packet)| packet.len() - 16 - 28).collect();
    assert_eq!((sizes, sent_to(&out)), (vec![10, 20, 30, 40], vec!["192.0.2.12".to_owned(); 4]));
    let applied = upf.apply(START, &Plan::removal(Seid(1))).unwrap();
    assert_eq!(applied.usage[0].volume.unwrap().downlink, 4 * 28 + 100);
}

// Input:  a FAR that changes its tunnel, with an End Marker for the old one.
// Output: the End Marker is sent to the old gNB.
#[test]
fn the_old_tunnel_gets_an_end_marker() {
    let mut upf = hip4();
    upf.apply(START, &Plan::install(Seid(1), session(0).clone())).unwrap();
    let put = Op::PutFar(Arc::new(to_gnb(gnb(1, 0))));
    let marker = Op::SendEndMarker { far: FarId(2), tunnel: gnb(0, 0) };
    upf.apply(START, &Plan::update(Seid(1), vec![put, marker])).unwrap();
    let mut out = Vec::new();
    upf.flush(&mut out);
    assert_eq!((sent_to(&out), out[0].1[1]), (vec!["192.0.2.11".to_owned()], 254));
}

// Input:  an Echo Request of a gNB, and an Error Indication for a tunnel to which a session sends.
// Output: it is answered; the SMF is notified of the tunnel.
#[test]
fn signalling_reaches_the_software() {
    let mut upf = hip4();
    upf.apply(START, &Plan::install(Seid(1), session(0).clone())).unwrap();
    let mut out = Vec::new();
    let echo = [0x32, 1, 0, 4, 0, 0, 0, 0, 0, 7, 0, 0];
    assert_eq!(upf.process(START, &from_gnb(), &echo, &mut out), Disposition::Consumed);
    assert_eq!((sent_to(&out), out[0].1[1]), (vec!["192.0.2.11".to_owned()], 2));
    let unknown = [0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0x20, 0, 133, 0, 4, 192, 0, 2, 11];
    assert_eq!(upf.process(START, &from_gnb(), &unknown, &mut out), Disposition::Consumed);
    assert!(matches!(events(&mut upf)[..], [Event::ErrorIndication { session: Seid(1), .. }]));
}

// Input:  sessions that the switch does not support: packets by application, framed routes, a PDR that ends, five
//         thousand ports at both ends of a filter, a tunnel of another session.
// Output: each is refused with the reason, and no state of it is left.
#[test]
fn inexpressible_rules_are_refused() {
    let mut upf = hip4();
    upf.apply(START, &Plan::install(Seid(1), session(0).clone())).unwrap();
    let mut with_application = session(1);
    let mut pdr = with_application.pdrs[&PdrId(1)].clone();
    pdr.pdi.application = Some(causeway_model::ApplicationId::new(b"video"));
    with_application.pdrs.insert(PdrId(1), pdr);
    let mut with_route = session(1);
    let mut pdr = with_route.pdrs[&PdrId(2)].clone();
    pdr.pdi.routes = vec!["10.99.0.0/24".parse().unwrap()];
    with_route.pdrs.insert(PdrId(2), pdr);
    let mut with_end = session(1);
    let mut pdr = with_end.pdrs[&PdrId(2)].clone();
    (pdr.active_from, pdr.active_until) =
        (Some(WallTime::default()), Some(WallTime::from_nanos(START.as_nanos())));
    with_end.pdrs.insert(PdrId(2), pdr);
    let mut with_ports = session(1);
    let mut pdr = with_ports.pdrs[&PdrId(2)].clone();
    let end = FlowEnd { ports: (0..5000).map(|port| 2 * port..=2 * port).collect(), ..FlowEnd::ANY };
    let flow = FlowDescription { protocol: Some(17), remote: end.clone(), local: end };
    pdr.pdi.filters = vec![SdfFilter::from(flow)];
    with_ports.pdrs.insert(PdrId(2), pdr);
    for (rules, reason) in [
        (with_application, "predefined rules and applications"),
        (with_route, "framed routes, and UEs with several addresses"),
        (with_end, "a PDR with an Activation or Deactivation Time"),
        (with_ports, "a PDR whose filters take more than 64 rows"),
    ] {
        let refused = upf.apply(START, &Plan::install(Seid(2), rules.clone()));
        assert_eq!(refused, Err(ApplyError::Unsupported(reason)));
    }
    let refused = upf.apply(START, &Plan::install(Seid(2), session(0).clone()));
    assert_eq!(refused, Err(ApplyError::TunnelInUse(n3(0))));
    assert_eq!(upf.switch().len(), (1, 2));
}

// Input:  a PDI whose UE's downlink rule leads to a gNB without a QFI, and one of a rate of two QERs.
// Output: the software behind the switch forwards and counts their packets.
#[test]
fn what_the_switch_cannot_do_is_done_by_software() {
    let mut upf = hip4();
    let mut rules = session(0);
    rules.qers.insert(QerId(1), Qer { downlink: Gate::Open, qfi: None, ..Qer::new(QerId(1)) });
    upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
    let mut out = Vec::new();
    assert_eq!(upf.process(START, &from_network(), &reply(0, 100), &mut out), Disposition::Forwarded);
    assert_eq!(sent_to(&out), ["192.0.2.11"]);
    let applied = upf.apply(START, &Plan::removal(Seid(1))).unwrap();
    assert_eq!(applied.usage[0].volume.unwrap().downlink, 128);
}

// Input:  a rule for QFI 8 before one for any QFI, both without filters; packets of QFI 8, 9 and none.
// Output: each matches the rule that the precedence determines.
#[test]
fn precedence_is_that_of_pfcp() {
    let mut upf = hip4();
    let mut rules = session(0);
    let mut narrow = rules.pdrs[&PdrId(1)].clone();
    narrow.id = PdrId(3);
    narrow.precedence = causeway_types::Precedence(1);
    narrow.pdi = Pdi { source: Interface::Access, ..narrow.pdi };
    narrow.pdi.qfis.insert(Qfi::new(8).unwrap());
    narrow.far = FarId(3);
    rules.fars.insert(FarId(3), causeway_model::Far::new(FarId(3), causeway_model::ApplyAction::Drop));
    rules.pdrs.insert(PdrId(3), narrow);
    upf.apply(START, &Plan::install(Seid(1), rules.clone())).unwrap();
    let user = super::fixture::udp((super::fixture::ue(0), 1), (super::fixture::SERVERS[0], 2), 10);
    let mut out = Vec::new();
    let fates = [Some(8), Some(9), None].map(|qfi| {
        upf.process(START, &from_gnb(), &super::fixture::tunnelled(0, qfi, &user), &mut out).dropped()
    });
    assert_eq!(fates, [Some("far_drop"), None, None]);
}

// Input:  two hundred sessions whose reports are due at the same time; a plan for one of the last of them after the first
//         call.
// Output: each call makes 64 reports at most, and the next call is due at once; the plan comes behind the report of its
//         session.
#[test]
fn timers_that_many_sessions_share_expire_some_at_a_time() {
    let mut upf = hip4();
    let period = Span::from_secs(86_400);
    for number in 0..200 {
        let mut rules = session(number);
        let urr = Urr { period: Some(period), triggers: ReportingTriggers::PERIO, ..volume(1, None) };
        rules.urrs.insert(urr.id, urr);
        upf.apply(START, &Plan::install(Seid(u64::from(number) + 1), rules)).unwrap();
    }
    let due = START + period;
    let reported = |upf: &mut InProcess| {
        let sessions = events(upf).into_iter().map(|event| match event {
            Event::Usage { session, .. } => session.0,
            other => panic!("{other:?}"),
        });
        sessions.collect::<BTreeSet<_>>()
    };
    let mut steps = Vec::new();
    while upf.next_deadline().is_some_and(|next| next <= due) {
        upf.advance(due);
        let now = reported(&mut upf);
        if !now.is_empty() {
            steps.push(now);
        }
        if steps.len() == 1 {
            let applied = upf.apply(due, &Plan::removal(Seid(190))).unwrap();
            assert!(applied.usage.iter().all(|usage| usage.start == due), "{applied:?}");
            assert!(reported(&mut upf).contains(&190));
        }
    }
    assert!(steps.iter().all(|step| step.len() <= 64), "{steps:?}");
}

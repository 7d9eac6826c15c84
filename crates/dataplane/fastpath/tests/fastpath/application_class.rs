//! Application classes: traffic that looks like a game gets rules of its own, and the SMF is told.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, Egress, Event, GtpuEndpoint, Ingress, Network, PacketEngine, SessionClasses,
    Topology,
};
use causeway_fastpath::FastPath;
use causeway_model::{
    ApplicationId, Applications, Far, Forwarding, HeaderRemoval, MeasurementMethod, Pdi, Pdr, Plan, Qer,
    RuleSet, TrafficClasses, UeAddress, UeSide, Urr,
};
use causeway_packet::gtpu::{Message, Packet, prefix};
use causeway_packet::{IpProtocol, IpRepr, UdpRepr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_traffic::classes::{Feature, Model, Node, Tree};
use causeway_types::{
    FTeid, FarId, Interface, NetworkInstance, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, Span,
    Teid, Time, UrrId, UsageReportTrigger,
};

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
const GAME: u8 = 9;

/// A game has more than twenty downlink packets of more than 600 octets on average in 300 ms.
fn game() -> Arc<Applications> {
    let split = |feature, threshold, below| Node::Split { feature, threshold, below, above: below + 1 };
    let nodes = vec![
        split(Feature::DownlinkPackets, 20, 1),
        Node::Leaf { class: 0 },
        split(Feature::DownlinkSize, 600 * 16, 3),
        Node::Leaf { class: 0 },
        Node::Leaf { class: 1 },
    ];
    let classes = vec!["other".into(), "game".into()];
    let model = Model::new(classes, 300, 2, Tree::new(nodes, 2).unwrap()).unwrap();
    let classes = TrafficClasses::new(&model).unwrap();
    Arc::new(Applications::default().with_classes(Some(Arc::new(classes))))
}

fn topology() -> Topology {
    Topology {
        gtpu: vec![GtpuEndpoint::new(UPF.into())],
        networks: vec![Network::new(NetworkInstance::new("internet"), vec!["10.45.0.0/16".parse().unwrap()])],
        ..Topology::default()
    }
}

/// A session that forwards both ways. Downlink packets of a game match a PDR of their own, with a QFI, and, with `reports`, a URR
/// that reports start and stop.
fn session(reports: bool) -> Plan {
    Plan::install(Seid(1), rules(UE, 0x1000, reports))
}

fn rules(ue: Ipv4Addr, teid: u32, reports: bool) -> RuleSet {
    let ue = |side| Some(UeAddress { v4: Some(ue), v6: None, side });
    let tunnel = Some(FTeid { teid: Teid::new(teid).unwrap(), addr: UPF.into() });
    let uplink = Pdi { tunnel, ue: ue(UeSide::Source), ..Pdi::new(Interface::Access) };
    let downlink = Pdi { ue: ue(UeSide::Destination), ..Pdi::new(Interface::Core) };
    let of_game = Pdi { application: Some(ApplicationId::from("game")), ..downlink.clone() };
    let to = FTeid { teid: Teid::new(0x2000).unwrap(), addr: GNB.into() };
    let mut rules = RuleSet::default();
    let removal = Some(HeaderRemoval::GTPU_IPV4);
    rules.pdrs.insert(PdrId(1), Pdr { removal, ..Pdr::new(PdrId(1), uplink, FarId(1)) });
    let plain = Pdr { precedence: Precedence(255), ..Pdr::new(PdrId(2), downlink, FarId(2)) };
    rules.pdrs.insert(PdrId(2), plain);
    let game = Pdr {
        precedence: Precedence(100),
        qers: vec![QerId(1)],
        urrs: reports.then_some(UrrId(1)).into_iter().collect(),
        ..Pdr::new(PdrId(3), of_game, FarId(2))
    };
    rules.pdrs.insert(PdrId(3), game);
    rules.fars.insert(FarId(1), Far::forward(FarId(1), Forwarding::to(Interface::Core)));
    rules.fars.insert(FarId(2), Far::forward(FarId(2), Forwarding::into_tunnel(Interface::Access, to)));
    rules.qers.insert(QerId(1), Qer { qfi: Qfi::new(GAME), ..Qer::new(QerId(1)) });
    let method = MeasurementMethod { volume: true, ..MeasurementMethod::default() };
    let urr = Urr {
        triggers: ReportingTriggers::START | ReportingTriggers::STOPT,
        inactivity_detection: Some(Span::from_secs(1)),
        ..Urr::new(UrrId(1), method)
    };
    if reports {
        rules.urrs.insert(UrrId(1), urr);
    }
    rules
}

fn from_gnb() -> Ingress {
    Ingress::Gtpu { local: UPF.into(), peer: (GNB, 2152).into(), tos: 0, hops: None }
}

/// A small packet of a UE in its tunnel.
fn uplink(teid: u32, ue: Ipv4Addr) -> Vec<u8> {
    let packet = user(ue, SERVER, 100);
    let header = prefix::without_extensions(Teid::new(teid).unwrap(), packet.len()).unwrap();
    [&header[..], &packet].concat()
}

fn user(src: Ipv4Addr, dst: Ipv4Addr, octets: usize) -> Vec<u8> {
    let mut user = Vec::new();
    let ip = IpRepr::new(src.into(), dst.into(), IpProtocol::UDP).unwrap();
    ip.write_udp(UdpRepr { src_port: 5000, dst_port: 5001 }, true, &[&vec![0; octets - 28]], &mut user)
        .unwrap();
    user
}

/// What a data plane did: the QFI of each downlink packet with its time, the reports, and the changes of the class.
#[derive(PartialEq, Debug, Default)]
struct Seen {
    sent: Vec<(u64, Option<u8>)>,
    events: Vec<(u64, String)>,
    changes: Vec<(u64, [String; 2])>,
}

/// Two seconds of a game, two of silence; then a second of a game again, with other applications in between.
fn play(plane: &mut dyn PacketEngine, reports: bool) -> Seen {
    let start = Time::from_secs(1_700_000_000);
    plane.set_applications(&game());
    plane.apply(start, &session(reports)).unwrap();
    let mut seen = Seen::default();
    for millis in 0..6000_u64 {
        let now = start + Span::from_millis(millis);
        plane.advance(now);
        if millis == 5500 {
            plane.set_applications(&Arc::default());
        }
        let plays = !(2000..4000).contains(&millis);
        let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
        if plays && millis % 5 == 0 {
            let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
            let disposition = plane.process(now, &ingress, &user(SERVER, UE, 1000), &mut sent);
            assert_eq!(disposition, Disposition::Forwarded);
            let Message::GPdu(_) = Packet::parse(&sent[0].1).unwrap().message else {
                panic!("no user packet")
            };
            let container = Packet::parse(&sent[0].1).unwrap().extensions.pdu_session();
            seen.sent.push((millis, container.map(|container| container.qfi().value())));
        }
        if plays && millis % 20 == 0 {
            sent.clear();
            plane.process(now, &from_gnb(), &uplink(0x1000, UE), &mut sent);
        }
        while let Some(event) = plane.poll_event() {
            if let Event::ClassChange { session, change } = &event {
                assert_eq!((*session, change.ue), (Seid(1), Some(IpAddr::V4(UE).into())));
                seen.changes.push((millis, [&change.from, &change.to].map(ToString::to_string)));
                continue;
            }
            seen.events.push((millis, format!("{event:?}")));
            let Event::Usage { session, usage } = event else { panic!("{event:?}") };
            assert_eq!(session, Seid(1));
            let [usage] = usage.as_slice() else { panic!("{usage:?}") };
            let detected = usage.detected.as_ref().unwrap();
            assert_eq!((detected.application.to_string().as_str(), detected.pdr), ("game", PdrId(3)));
            let is_start = usage.triggers.contains(UsageReportTrigger::START);
            assert_ne!(is_start, usage.triggers.contains(UsageReportTrigger::STOPT));
        }
        let class = (1..5500).contains(&millis).then(|| plane.application_class(Seid(1)).unwrap());
        let changed = seen.changes.last().map_or("other", |(_, [_, to])| to.as_str());
        assert!(class.is_none_or(|class| class.to_string() == changed), "{millis}: {:?}", seen.changes);
        if millis == 1000 {
            let sessions = vec![("other".into(), 0), ("game".into(), 1)];
            assert_eq!(plane.session_classes(), SessionClasses { sessions, changes: 1, unsaid: 0 });
        }
    }
    let classes = SessionClasses { sessions: Vec::new(), changes: 4, unsaid: 0 };
    assert_eq!((plane.session_classes(), plane.application_class(Seid(1))), (classes, None));
    seen
}

// Input:  a session with a PDR of the class `game`; two seconds of 200 downlink packets of 1000 octets a second, two of
//         silence, and the same again, until the model is taken away.
// Output: fast path and slow path do the same. After two windows of 300 ms the packets match the PDR of the class and carry its QFI; the
//         SMF is told its start, with the Application ID, and its stop after the silence; the next start needs two windows again;
//         without a model no packet matches the PDR. Operators are told the four changes of the class, and what it is.
#[test]
fn a_game_gets_its_own_rules() {
    let mut fast = FastPath::new(topology(), Limits { max_sessions: 64, ..Limits::default() }).unwrap();
    let mut slow = SlowPath::new(topology(), Limits::default());
    let (one, other) = (play(&mut fast, true), play(&mut slow, true));
    assert_eq!(one, other);
    let marked: Vec<u64> = one.sent.iter().filter(|(_, qfi)| *qfi == Some(GAME)).map(|(at, _)| *at).collect();
    let first = marked.iter().position(|at| *at >= 4000).unwrap();
    assert_eq!((marked[0], marked[first - 1]), (600, 1995), "{marked:?}");
    assert_eq!((marked[first], marked.last().copied()), (4600, Some(5495)), "{marked:?}");
    let times: Vec<u64> = one.events.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [600, 2995, 4600], "{:?}", one.events);
    let (game, over) = (["other", "game"].map(str::to_owned), ["game", "other"].map(str::to_owned));
    assert_eq!(one.changes, [(600, game.clone()), (2700, over.clone()), (4600, game), (5500, over)]);
    // The flow entries handle all packets while there is a model, but those two whose start is reported, and the first one of each
    // direction at the beginning and after the silence.
    assert_eq!(fast.fast_path_packets() + 125 + 2 + 4, slow.counters().forwarded);
}

// Input:  the same without the URR: no reports.
// Output: the same packets carry the QFI, and the flow entries handle all packets, of both classes, while there is a model, but the first
//         of a direction after a pause.
#[test]
fn the_flow_table_follows_the_class() {
    let mut fast = FastPath::new(topology(), Limits { max_sessions: 64, ..Limits::default() }).unwrap();
    let mut slow = SlowPath::new(topology(), Limits::default());
    let (one, other) = (play(&mut fast, false), play(&mut slow, false));
    assert_eq!(one, other);
    let marked = |from, to| {
        one.sent.iter().filter(|(at, _)| (from..to).contains(at)).all(|(_, qfi)| *qfi == Some(GAME))
    };
    assert!(marked(600, 2000) && marked(4600, 5500) && !marked(0, 600) && !marked(5500, 6000));
    // An application that is not known is for the slow path: the last half second, 100 packets to the UE and 25 from it. So is the first
    // packet of each direction at the beginning and after the silence.
    assert_eq!(fast.fast_path_packets() + 125 + 4, slow.counters().forwarded);
}

// Input:  300 sessions of one UE each, whose traffic becomes that of a game in one window; then they end.
// Output: all have the class, 256 of the changes are said and the others counted; a session that ends says nothing, and none is left.
#[test]
fn operators_are_told_so_many_changes_in_a_second() {
    let start = Time::from_secs(1_700_000_000);
    let mut fast = FastPath::new(topology(), Limits { max_sessions: 512, ..Limits::default() }).unwrap();
    let mut slow = SlowPath::new(topology(), Limits::default());
    let planes: [&mut dyn PacketEngine; 2] = [&mut fast, &mut slow];
    for plane in planes {
        plane.set_applications(&game());
        let all = || (1..=300_u32).map(|number| (Seid(number.into()), u32::from(UE) + number));
        for (seid, ue) in all() {
            plane
                .apply(start, &Plan::install(seid, rules(ue.into(), 0x1000 + seid.0 as u32, false)))
                .unwrap();
        }
        for millis in (0..700).step_by(10) {
            let now = start + Span::from_millis(millis);
            plane.advance(now);
            let mut sent: Vec<(Egress, Vec<u8>)> = Vec::new();
            for (seid, ue) in all() {
                let ingress = Ingress::Ip { network: NetworkInstance::new("internet") };
                plane.process(now, &ingress, &user(SERVER, ue.into(), 1000), &mut sent);
                if millis % 100 == 0 {
                    plane.process(now, &from_gnb(), &uplink(0x1000 + seid.0 as u32, ue.into()), &mut sent);
                }
            }
        }
        let said = std::iter::from_fn(|| plane.poll_event()).count();
        let of = |other, game| vec![("other".into(), other), ("game".into(), game)];
        let classes = SessionClasses { sessions: of(0, 300), changes: 300, unsaid: 44 };
        assert_eq!((said, plane.session_classes()), (256, classes));
        for (seid, _) in all() {
            plane.apply(start + Span::from_millis(695), &Plan::removal(seid)).unwrap();
        }
        let classes = SessionClasses { sessions: of(0, 0), changes: 300, unsaid: 44 };
        assert_eq!((plane.poll_event(), plane.session_classes()), (None, classes));
    }
}

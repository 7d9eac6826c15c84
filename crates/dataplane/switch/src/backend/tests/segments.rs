//! VXLAN segments: the rows of a configuration, and packets between them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use causeway_dataplane::{Dataplane, GtpuEndpoint, Topology};
use causeway_model::{Far, Forwarding, Pdi, Pdr, Plan, RuleSet};
use causeway_p4::{Contract, profiles};
use causeway_packet::Arp;
use causeway_packet::gtpu::prefix;
use causeway_slowpath::Limits;
use causeway_types::{FarId, Interface, MacAddr, NetworkInstance, PdrId, Qfi, Seid, Span};

use super::fixture::{GNBS, SERVERS, START, UPF, n3, session, teid, tenant_topology, ue};
use crate::backend::config::{Config, Hop, Route};
use crate::backend::cpu_port::{in_udp, plain_frame};
use crate::backend::layout::{Layout, UnknownLayout};
use crate::backend::segments::{Segment, SegmentError, SegmentOf, check};
use crate::backend::underlay::{frame_to_segment, from_segment, inside};
use crate::backend::{StartError, Switch};
use crate::driver::Program;
use crate::model::upf::Upf;
use crate::model::{self, Model, Timing};

const CPU: u16 = 510;
const PORT: u16 = 7;

// Input:  profile `thesis`, whose rules are tenants', and those with segments as an option.
// Output: the former is refused by name; the others are filled, with what comes without a segment.
#[test]
fn programs_with_segments_as_an_option_are_filled() {
    let thesis = Layout::new(&Program::from(&profiles::THESIS)).unwrap_err();
    assert_eq!(thesis, UnknownLayout::Missing("table ul_to_n6_simple or ul_simple"));
    for contract in [&profiles::HIP4_VXLAN, &profiles::DIRECT_VXLAN, &profiles::HIP4_HYBRID_VXLAN] {
        assert!(Layout::new(&Program::from(contract)).is_ok(), "{}", contract.profile);
    }
}

/// The program with an underlay of IPv6, as UNDERLAY_IPV6 makes it.
fn over_ipv6(contract: &Contract) -> Program {
    let mut program = Program::from(contract);
    let arrivals = program.tables.iter_mut().find(|table| table.name == "vxlan_arrivals").unwrap();
    arrivals.keys.iter_mut().filter(|key| key.name == "remote").for_each(|key| key.width = 128);
    let enter = program.actions.iter_mut().find(|action| action.name == "enter_segment").unwrap();
    let ends = enter.parameters.iter_mut().filter(|it| ["local", "remote"].contains(&it.name.as_str()));
    ends.for_each(|parameter| parameter.width = 128);
    program
}

/// The ends in the underlay of each IP version: ours, and the other one.
fn ends(is_ipv6: bool) -> [IpAddr; 2] {
    let v6 = |host| IpAddr::from(Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, host));
    if is_ipv6 { [v6(1), v6(9)] } else { [1, 9].map(|host| Ipv4Addr::new(203, 0, 113, host).into()) }
}

fn segment(of: SegmentOf, vni: u32, is_ipv6: bool) -> Segment {
    let [local, remote] = ends(is_ipv6);
    let hop = Hop { port: PORT, source: [2, 0, 0, 9, 0, 1], neighbour: [2, 0, 0, 9, 0, 2] };
    let (mac, next_hop) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 1, vni as u8]);
    Segment { of, vni, local, remote, mac, address: None, next_hop, hop, mtu: 1450 }
}

fn network(name: &str) -> NetworkInstance {
    NetworkInstance::new(name)
}

/// The configuration of a switch that takes no time.
fn instant(topology: Topology) -> Config {
    let (drain, retry) = (Span::ZERO, Span::ZERO);
    Config { drain, retry, pace: None, drop_read_interval: None, ..Config::new(topology, Limits::default()) }
}

/// Both data networks and N3 in segments.
fn config(is_ipv6: bool) -> Config {
    let of = |(vni, of): (u32, SegmentOf)| segment(of, vni, is_ipv6);
    let networks = ["internet", "tenant-b"].map(|name| SegmentOf::Network(network(name)));
    let segments = (5..).zip(networks).chain([(3, SegmentOf::Access)]).map(of).collect();
    Config { segments, ..instant(tenant_topology()) }
}

fn switch(program: &Program, config: Config) -> Switch<Model<Upf>> {
    let mut pipeline = Upf::new(program, CPU, vec![UPF]).unwrap();
    pipeline.set_underlay(config.segments.iter().map(|segment| segment.local).collect());
    let model =
        model::Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1 << 20 };
    Switch::new(Model::new(program.clone(), pipeline, model), program, config).unwrap()
}

/// The session of a UE in a data network, whose tunnels have this number.
pub(super) fn session_in(name: &str, number: u8) -> RuleSet {
    let mut rules = session(number);
    rules.pdrs.replace(|pdr| {
        let mut pdr = Pdr::clone(&pdr);
        pdr.pdi.ue.as_mut().unwrap().v4 = Some(ue(0));
        pdr.pdi.network_instance = pdr.pdi.network_instance.map(|_| network(name));
        pdr.into()
    });
    let to = Forwarding { network_instance: Some(network(name)), ..Forwarding::to(Interface::Core) };
    rules.fars.insert(FarId(1), Far::forward(FarId(1), to));
    rules
}

/// The frame of a packet that comes in a segment.
fn arriving(segment: &Segment, packet: &[u8]) -> Vec<u8> {
    plain_frame(&from_segment(segment, packet).unwrap())
}

/// Sends a frame into the switch; what leaves: VNI and packet.
fn passed(switch: &mut Switch<Model<Upf>>, frame: &[u8]) -> Option<(u32, Vec<u8>)> {
    passed_frame(switch, frame).map(|(vni, frame)| (vni, frame[14..].to_vec()))
}

/// The same with the frame in the segment.
fn passed_frame(switch: &mut Switch<Model<Upf>>, frame: &[u8]) -> Option<(u32, Vec<u8>)> {
    switch.driver().receive(START, PORT, frame);
    switch.run(START);
    let (_, port, sent) = switch.driver().poll_sent()?;
    assert_eq!((port, &sent[..12]), (PORT, &[2, 0, 0, 9, 0, 2, 2, 0, 0, 9, 0, 1][..]));
    let inside = inside(&sent[14..]).unwrap();
    Some((inside.vni, inside.frame.to_vec()))
}

// Input:  two sessions of one UE address in two data networks, in an underlay of IPv4 and in one of IPv6, N3 in a segment, too; packets both ways; then their usage.
// Output: each packet leaves to the segment of its data network, or to that of N3 in its own tunnel; usage has no octets of the headers around, in whatever underlay.
#[test]
fn segments_are_of_either_ip_version() {
    for (program, is_ipv6) in
        [(Program::from(&profiles::HIP4_VXLAN), false), (over_ipv6(&profiles::HIP4_VXLAN), true)]
    {
        let config = config(is_ipv6);
        let segments = config.segments.clone();
        let mut switch = switch(&program, config);
        for (number, name) in [(0, "internet"), (1, "tenant-b")] {
            switch.apply(START, &Plan::install(Seid(number.into()), session_in(name, number))).unwrap();
        }
        for number in [0, 1] {
            let of = &segments[usize::from(number)];
            let user = super::fixture::udp((ue(0), 40_000), (SERVERS[0], 53), 72);
            let header = prefix::uplink(n3(number).teid, Qfi::from_low_bits(9), user.len()).unwrap();
            let message = [&header[..], &user].concat();
            let outer = in_udp((GNBS[0], 2152), (UPF, 2152), (0, None), &message).unwrap();
            let (vni, packet) = passed(&mut switch, &arriving(&segments[2], &outer)).unwrap();
            assert_eq!((vni, &packet[12..], packet[8]), (of.vni, &user[12..], 63));
            let reply = super::fixture::udp((SERVERS[0], 53), (ue(0), 40_000), 172);
            let (vni, packet) = passed(&mut switch, &arriving(of, &reply)).unwrap();
            assert_eq!(vni, 3);
            assert_eq!(packet[32..36], teid(0x2000 + u32::from(number)).value().to_be_bytes());
            assert_eq!(passed(&mut switch, &arriving(&Segment { vni: 77, ..of.clone() }, &reply)), None);
        }
        for number in [0, 1] {
            let usage = switch.apply(START, &Plan::removal(Seid(number))).unwrap().usage;
            let volumes: Vec<_> = usage.iter().filter_map(|usage| usage.volume).collect();
            let of = |take: fn(&_) -> u64| volumes.iter().map(take).sum::<u64>();
            assert_eq!((of(|it| it.uplink), of(|it| it.downlink)), (100, 200), "IPv6: {is_ipv6}");
        }
    }
}

// Input:  more segments than a program has numbers for, one of another IP version than its underlay, and one for a program without VXLAN.
// Output: each is refused by what is wrong; none of a configuration without segments is.
#[test]
fn segments_that_do_not_fit_are_refused() {
    let layout = |contract: &Contract| Layout::new(&Program::from(contract)).unwrap();
    let with = layout(&profiles::HIP4_VXLAN);
    let many = vec![segment(SegmentOf::Access, 1, false); 255];
    assert_eq!(check(&with, &many), Err(SegmentError::TooMany { needed: 255, available: 253 }));
    let asked = Segment { address: Some(ADDRESS), ..segment(SegmentOf::Access, 1, false) };
    assert_eq!(check(&with, &vec![asked.clone(); 128]), Ok(()));
    let many = vec![asked; 129];
    assert_eq!(check(&with, &many), Err(SegmentError::TooMany { needed: 258, available: 256 }));
    let [_, remote] = ends(true);
    let other = [segment(SegmentOf::Access, 8, true)];
    assert_eq!(check(&with, &other), Err(SegmentError::Underlay { vni: 8, remote }));
    assert_eq!(check(&layout(&profiles::HIP4), &config(false).segments), Err(SegmentError::NoTables));
    assert_eq!(check(&layout(&profiles::HIP4), &[]), Ok(()));
    let program = Program::from(&profiles::HIP4);
    let pipeline = Upf::new(&program, CPU, vec![UPF]).unwrap();
    let model =
        model::Config { timing: Timing::INSTANT, cpu_port: CPU, port_rate: None, queue_room: 1 << 20 };
    let refused =
        Switch::new(Model::new(program.clone(), pipeline, model), &program, config(false)).unwrap_err();
    assert_eq!(refused, StartError::Segments(SegmentError::NoTables));
}

/// The address of the switch in a segment.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(172, 16, 5, 1);

// Input:  segments of a data network and of N3 with an address, and one of a data network without; each is asked for that address and for another one, by
//         frames for all and for the MAC address of the switch. Packets to a UE and of a UE in frames for all.
// Output: the address is answered in its segment alone, with all headers; no packet of a frame for all leaves, in an underlay of either IP version.
#[test]
fn the_address_of_a_segment_is_answered() {
    for (program, is_ipv6) in
        [(Program::from(&profiles::HIP4_VXLAN), false), (over_ipv6(&profiles::DIRECT_VXLAN), true)]
    {
        let mut config = config(is_ipv6);
        for number in [0, 2] {
            config.segments[number].address = Some(ADDRESS);
        }
        let segments = config.segments.clone();
        let mut switch = switch(&program, config);
        switch.apply(START, &Plan::install(Seid(0), session_in("internet", 0))).unwrap();
        let everybody = [0xff; 6];
        for segment in &segments {
            let (mac, router) = (MacAddr(segment.mac), MacAddr(segment.next_hop));
            let asker = (router, Ipv4Addr::new(172, 16, 5, 9));
            let there = Segment { local: segment.remote, remote: segment.local, ..segment.clone() };
            let mut asked = |to: [u8; 6], target: Ipv4Addr| {
                let mut frame = [&to[..], &router.0, &[8, 6]].concat();
                Arp { is_request: true, sender: asker, target: (MacAddr([0; 6]), target) }.write(&mut frame);
                passed_frame(&mut switch, &plain_frame(&frame_to_segment(&there, &frame).unwrap()))
            };
            for to in [everybody, segment.mac] {
                let answer = asked(to, ADDRESS);
                assert_eq!(answer.is_some(), segment.address.is_some(), "{segment:?}");
                if let Some((vni, frame)) = answer {
                    assert_eq!(
                        (vni, &frame[..14]),
                        (segment.vni, &[&router.0[..], &mac.0, &[8, 6]].concat()[..])
                    );
                    let reply = Arp { is_request: false, sender: (mac, ADDRESS), target: asker };
                    assert_eq!(Arp::parse(&frame[14..]), Ok(Some(reply)));
                }
                assert_eq!(asked(to, asker.1), None);
            }
        }
        let to_ue = super::fixture::udp((SERVERS[0], 53), (ue(0), 40_000), 172);
        let user = super::fixture::udp((ue(0), 40_000), (SERVERS[0], 53), 72);
        let header = prefix::uplink(n3(0).teid, Qfi::from_low_bits(9), user.len()).unwrap();
        let of_ue = in_udp((GNBS[0], 2152), (UPF, 2152), (0, None), &[&header[..], &user].concat()).unwrap();
        for (segment, packet) in [(&segments[0], &to_ue), (&segments[0], &of_ue), (&segments[2], &of_ue)] {
            let for_all = Segment { mac: everybody, ..segment.clone() };
            assert_eq!(passed(&mut switch, &arriving(&for_all, packet)), None);
        }
        assert!(passed(&mut switch, &arriving(&segments[0], &to_ue)).is_some());
        assert!(passed(&mut switch, &arriving(&segments[2], &of_ue)).is_some());
    }
}

// Input:  two data networks without segments on a switch with ports of its own, and one behind them that is in a segment; sessions in each.
// Output: the first and the one in the segment are served; the session in the second is refused, and says why.
#[test]
fn one_data_network_is_without_a_segment() {
    let mut topology: Topology = tenant_topology();
    topology
        .networks
        .push(causeway_dataplane::Network { instance: network("third"), ..topology.networks[0].clone() });
    topology.gtpu = vec![GtpuEndpoint::new(UPF.into())];
    let own = segment(SegmentOf::Network(network("third")), 5, false);
    let hop = Hop { port: 2, ..own.hop };
    let routes = vec![
        Route::Network { to: "0.0.0.0/0".parse().unwrap(), hop },
        Route::Tunnel { to: "0.0.0.0/0".parse().unwrap(), hop, local: UPF },
    ];
    let config = Config { segments: vec![own], routes, ..instant(topology) };
    let mut switch = switch(&Program::from(&profiles::HIP4_VXLAN), config);
    let mut established = |number: u8, name: &str| {
        switch.apply(START, &Plan::install(Seid(number.into()), session_in(name, number))).map(drop)
    };
    assert_eq!(established(0, "internet"), Ok(()));
    let refused = established(1, "tenant-b").unwrap_err().to_string();
    assert!(refused.contains("without a VXLAN segment"), "{refused}");
    assert_eq!(established(2, "third"), Ok(()));
}

// Input:  a session whose uplink PDRs of one tunnel lead to two data networks; one that sends from one data network to the other.
// Output: the switch leaves the later PDR and the transit to the software, which sends to the right segment.
#[test]
fn packets_that_the_switch_cannot_direct_are_for_the_software() {
    let config = config(false);
    let segments = config.segments.clone();
    let mut switch = switch(&Program::from(&profiles::HIP4_VXLAN), config);
    let mut rules = session_in("internet", 0);
    let mut other = rules.pdrs.get(&PdrId(1)).unwrap().clone();
    (other.id, other.far) = (PdrId(3), FarId(5));
    other.precedence.0 -= 1;
    other.pdi.filters = vec![super::filters::filter(None, Some(53))];
    rules.pdrs.insert(PdrId(3), other);
    let to = Forwarding { network_instance: Some(network("tenant-b")), ..Forwarding::to(Interface::Core) };
    rules.fars.insert(FarId(5), Far::forward(FarId(5), to));
    let mut transit = rules.pdrs.get(&PdrId(2)).unwrap().clone();
    let pdi = Pdi { network_instance: Some(network("tenant-b")), ..transit.pdi.clone() };
    (transit.id, transit.far, transit.pdi) = (PdrId(4), FarId(1), pdi);
    rules.pdrs.insert(PdrId(4), transit);
    switch.apply(START, &Plan::install(Seid(1), rules)).unwrap();
    let mut up = |port: u16| {
        let user = super::fixture::udp((ue(0), 40_000), (SERVERS[0], port), 72);
        let header = prefix::uplink(n3(0).teid, Qfi::from_low_bits(9), user.len()).unwrap();
        let outer = in_udp((GNBS[0], 2152), (UPF, 2152), (0, None), &[&header[..], &user].concat()).unwrap();
        passed(&mut switch, &arriving(&segments[2], &outer)).map(|(vni, _)| vni)
    };
    assert_eq!((up(53), up(80)), (Some(6), Some(5)));
    let reply = super::fixture::udp((SERVERS[0], 53), (ue(0), 40_000), 172);
    let (vni, packet) = passed(&mut switch, &arriving(&segments[1], &reply)).unwrap();
    assert_eq!((vni, &packet[12..]), (5, &reply[12..]));
    assert_eq!(passed(&mut switch, &arriving(&segments[0], &reply)).unwrap().0, 3);
}

//! Addresses that UEs must not reach, on the switch and in the slow path.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, HostReachability, Network, PacketEngine, Topology,
};
use causeway_model::Plan;
use causeway_p4::{Contract, profiles};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{IpNet, Seid, Span};

use super::fixture::{START, from_gnb, session, tenant_topology, topology, tunnelled, ue};
use super::segments::session_in;
use crate::backend::notice::Notice;
use crate::backend::{InProcess, InProcessError, StartError};
use crate::driver::Program;

const PROFILES: [&Contract; 5] =
    [&profiles::HIP4, &profiles::DIRECT, &profiles::RED_SPT, &profiles::RED, &profiles::BASELINE];

fn host(addresses: &[&str], open: &[&str]) -> HostReachability {
    let nets = |texts: &[&str]| texts.iter().map(|text| text.parse::<IpNet>().unwrap()).collect();
    HostReachability { addresses: nets(addresses), reachable: nets(open) }
}

/// This many addresses of which no two are in one prefix.
fn apart(count: u32) -> HostReachability {
    let net = |place: u32| IpNet::from(std::net::IpAddr::from(Ipv4Addr::from_bits(0x0b00_0000 + 2 * place)));
    HostReachability { addresses: (0..count).map(net).collect(), reachable: Vec::new() }
}

fn with(host: HostReachability) -> Topology {
    let base = topology();
    let network = Network { gateways: vec!["10.45.0.1".parse().unwrap()], ..base.networks[0].clone() };
    Topology { networks: vec![network], host, ..base }
}

/// The switch and the slow path with one session each.
fn both(contract: &Contract, host: HostReachability) -> (InProcess, SlowPath) {
    let mut switch = InProcess::new(&Program::from(contract), with(host.clone()), Limits::default()).unwrap();
    let mut oracle = SlowPath::new(with(host), Limits::default());
    let plan = Plan::install(Seid(1), session(0).clone());
    switch.apply(START, &plan).unwrap();
    oracle.apply(START, &plan).unwrap();
    (switch, oracle)
}

fn uplink(protocol: IpProtocol, to: &str) -> Vec<u8> {
    let mut packet = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(ue(0), to.parse().unwrap(), protocol));
    // An echo request, and as a datagram one of 8 octets.
    ip.write(&[8, 0, 0, 9, 0, 8, 0, 0], &mut packet).unwrap();
    tunnelled(0, Some(9), &packet)
}

/// The fates of datagrams and pings to addresses of all kinds, on both.
fn fates(switch: &mut InProcess, oracle: &mut SlowPath, now: causeway_types::Time) -> Vec<Disposition> {
    let own = ["192.0.2.1", "192.0.2.7", "10.45.0.1", "203.0.113.3", "203.0.113.4", "203.0.113.7"];
    let others = ["192.0.2.0", "192.0.2.8", "10.45.0.9", "203.0.113.8", "198.51.100.9", "128.0.0.0"];
    let nobody = ["127.0.0.1", "0.1.2.3", "224.0.0.1", "239.255.255.255", "255.255.255.255", "169.254.1.1"];
    let mut fates = Vec::new();
    for to in own.into_iter().chain(others).chain(nobody) {
        for protocol in [IpProtocol::UDP, IpProtocol::ICMP] {
            let packet = uplink(protocol, to);
            let fate = switch.process(now, &from_gnb(), &packet, &mut Vec::new());
            assert_eq!(fate, oracle.process(now, &from_gnb(), &packet, &mut Vec::new()), "{to} {protocol:?}");
            fates.push(fate);
        }
    }
    fates
}

fn count(fates: &[Disposition], reason: DropReason) -> usize {
    fates.iter().filter(|fate| **fate == Disposition::Dropped(reason)).count()
}

// Input:  in each profile, a UE that sends datagrams and pings to addresses of the UPF, of its host, of no host and of
//         others; then the host has other addresses, of which some are open; then the switch restarts empty.
// Output: each time the switch does the same as the slow path, and counts the drops under the same names.
#[test]
fn own_addresses_are_those_of_the_slow_path() {
    for contract in PROFILES {
        let (mut switch, mut oracle) = both(contract, host(&["192.0.2.7/32", "203.0.113.0/29"], &[]));
        let first = fates(&mut switch, &mut oracle, START);
        // Pings to the gateway of the UE's network are forwarded.
        assert_eq!(count(&first, DropReason::LocalAddress), 11, "{}", contract.profile);
        assert_eq!(count(&first, DropReason::Unroutable), 10, "{}", contract.profile);
        assert_eq!(count(&first, DropReason::LinkLocal), 2, "{}", contract.profile);
        let changed = Arc::new(host(&["203.0.113.4/30"], &["203.0.113.7/32", "10.45.0.1/32", "224.0.0.0/4"]));
        switch.set_host_reachability(&changed);
        oracle.set_host_reachability(&changed);
        let second = fates(&mut switch, &mut oracle, START);
        assert_eq!(count(&second, DropReason::LocalAddress), 4, "{}", contract.profile);
        assert_eq!(count(&second, DropReason::Unroutable), 6, "{}", contract.profile);
        let later = START + Span::from_secs(1);
        switch.switch().driver().restart(later);
        switch.advance(later);
        assert_eq!(fates(&mut switch, &mut oracle, later), second, "{}", contract.profile);
        let told = |plane: &dyn Dataplane, reason| plane.counters().dropped(reason);
        for reason in [DropReason::LocalAddress, DropReason::Unroutable, DropReason::LinkLocal] {
            assert_eq!(told(&switch, reason), told(&oracle, reason), "{} {reason}", contract.profile);
        }
    }
}

// Input:  a host with more addresses than the program has entries for, at the start and later; then one with fewer.
// Output: the start fails with the name of the table; later the operator is notified, and the earlier closed addresses
//         stay until there is space.
#[test]
fn there_is_room_for_so_many_addresses() {
    let program = Program::from(&profiles::HIP4);
    let refused = InProcess::new(&program, with(apart(300)), Limits::default()).unwrap_err();
    let InProcessError::Start(StartError::Closed { needed, room }) = refused else { panic!("{refused}") };
    assert!(needed > 300 && room == 256, "{needed} {room}");
    let (mut switch, mut oracle) = both(&profiles::HIP4, host(&["192.0.2.7/32"], &[]));
    let closed = fates(&mut switch, &mut oracle, START);
    switch.set_host_reachability(&Arc::new(apart(300)));
    let notice = switch.switch().poll_notice();
    assert!(matches!(notice, Some(Notice::Closed { room: 256, .. })), "{notice:?}");
    assert_eq!(fates(&mut switch, &mut oracle, START), closed);
    let changed = Arc::new(apart(200));
    switch.set_host_reachability(&changed);
    oracle.set_host_reachability(&changed);
    assert_ne!(fates(&mut switch, &mut oracle, START), closed);
    assert_eq!(switch.switch().poll_notice(), None);
}

// Input:  the host gets an address while the switch is unreachable; it comes back with its earlier state.
// Output: the address is closed once it is back.
#[test]
fn an_address_that_came_while_the_switch_was_away_is_closed() {
    let (mut switch, mut oracle) = both(&profiles::HIP4, HostReachability::default());
    let changed = Arc::new(host(&["203.0.113.3/32"], &[]));
    let later = START + Span::from_secs(1);
    switch.switch().driver().restart(later);
    switch.set_host_reachability(&changed);
    oracle.set_host_reachability(&changed);
    switch.advance(later);
    let after = fates(&mut switch, &mut oracle, later);
    assert_eq!(count(&after, DropReason::LocalAddress), 2 + 1 + 2);
}

// Input:  two data networks in segments, each with a gateway and one that both have; a UE of each that pings all of them, and sends datagrams to them.
// Output: pings to the gateways of its own data network pass as in the slow path, and no datagram does. Pings to that of the other pass, too: the tables
//         do not know the data network.
#[test]
fn gateways_of_all_data_networks_are_pinged() {
    let gateways = |texts: [&str; 2]| texts.map(|text| text.parse().unwrap()).to_vec();
    let mut topology = tenant_topology();
    topology.networks[0].gateways = gateways(["10.45.0.1", "10.99.0.1"]);
    topology.networks[1].gateways = gateways(["10.46.0.1", "10.99.0.1"]);
    for contract in [&profiles::HIP4_VXLAN, &profiles::DIRECT_VXLAN] {
        let mut switch =
            InProcess::new(&Program::from(contract), topology.clone(), Limits::default()).unwrap();
        let mut oracle = SlowPath::new(topology.clone(), Limits::default());
        for (number, name) in [(0, "internet"), (1, "tenant-b")] {
            let plan = Plan::install(Seid(number.into()), session_in(name, number));
            switch.apply(START, &plan).unwrap();
            oracle.apply(START, &plan).unwrap();
        }
        let (pass, drop) = (Disposition::Forwarded, Disposition::Dropped(DropReason::LocalAddress));
        for (number, own, other) in [(0, "10.45.0.1", "10.46.0.1"), (1, "10.46.0.1", "10.45.0.1")] {
            let mut fates = |protocol: IpProtocol, to: &str| {
                let mut packet = Vec::new();
                let ip = IpRepr::V4(Ipv4Repr::new(ue(0), to.parse().unwrap(), protocol));
                ip.write(&[8, 0, 0, 9, 0, 8, 0, 0], &mut packet).unwrap();
                let packet = tunnelled(number, Some(9), &packet);
                let ours = switch.process(START, &from_gnb(), &packet, &mut Vec::new());
                (ours, oracle.process(START, &from_gnb(), &packet, &mut Vec::new()))
            };
            for to in [own, "10.99.0.1"] {
                assert_eq!(fates(IpProtocol::ICMP, to), (pass, pass), "{} {to}", contract.profile);
            }
            for to in [own, other, "10.99.0.1"] {
                assert_eq!(fates(IpProtocol::UDP, to), (drop, drop), "{} {to}", contract.profile);
            }
            assert_eq!(fates(IpProtocol::ICMP, other), (pass, drop), "{}", contract.profile);
        }
    }
}

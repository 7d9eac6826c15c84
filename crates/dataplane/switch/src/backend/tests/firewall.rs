//! The operator's firewall on the switch, and in the slow path.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, Firewall, FirewallAction, FirewallRule, PacketEngine, Topology,
};
use causeway_model::Plan;
use causeway_p4::{Contract, profiles};
use causeway_packet::{Flow, Fragment, IpProtocol, IpRepr, Ipv4Repr, Ports};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{Direction, Seid, Span};
use fastrand::Rng;

use super::fixture::{
    SERVERS, START, from_gnb, from_network, reply, request, session, topology, tunnelled, ue,
};
use crate::backend::firewall::{FirewallError, check_firewall, entries, replacement};
use crate::backend::layout::Layout;
use crate::backend::local_model::parts;
use crate::backend::notice::Notice;
use crate::backend::{InProcess, InProcessError, StartError, Switch};
use crate::driver::{Entry, EntryKey, FieldMatch, Link, Program, Update};

const PROFILES: [&Contract; 2] = [&profiles::HIP4_VXLAN, &profiles::DIRECT_VXLAN];

fn layout(contract: &Contract) -> Layout {
    Layout::new(&Program::from(contract)).unwrap()
}

fn firewall(rules: &str, uplink: FirewallAction, downlink: FirewallAction) -> Arc<Firewall> {
    let rules = rules.lines().map(|rule| rule.parse().unwrap()).collect();
    Arc::new(Firewall::new(rules, uplink, downlink).unwrap())
}

fn permitting(rules: &str) -> Arc<Firewall> {
    firewall(rules, FirewallAction::Permit, FirewallAction::Permit)
}

fn with(firewall: Option<&Arc<Firewall>>) -> Topology {
    Topology { firewall: firewall.cloned(), ..topology() }
}

/// The switch and the slow path with one session each.
fn both(contract: &Contract, firewall: Option<&Arc<Firewall>>) -> (InProcess, SlowPath) {
    let mut switch = InProcess::new(&Program::from(contract), with(firewall), Limits::default()).unwrap();
    let mut oracle = SlowPath::new(with(firewall), Limits::default());
    let plan = Plan::install(Seid(1), session(0).clone());
    switch.apply(START, &plan).unwrap();
    oracle.apply(START, &plan).unwrap();
    (switch, oracle)
}

fn one_of<T: Clone>(random: &mut Rng, all: &[T]) -> T {
    all[random.usize(..all.len())].clone()
}

/// Rules over few addresses and ports, so that they overlap.
fn random_firewall(random: &mut Rng) -> Arc<Firewall> {
    let action = |random: &mut Rng| one_of(random, &[FirewallAction::Permit, FirewallAction::Deny]);
    let rule = |random: &mut Rng| -> FirewallRule {
        let is_ipv6 = random.bool();
        let ends: &[&str] = match is_ipv6 {
            false => &["any", "10.45.0.2", "10.45.0.0/24", "198.51.100.9", "198.51.100.8/30", "192.0.0.0/2"],
            true => &["any", "2001:db8:45::2", "2001:db8:45::/48", "2001:db8:9::9", "2001:db8::/32"],
        };
        let protocol = one_of(random, &["ip", "tcp", "udp", "132", "1", "58", "44", "60"]);
        let ports = [" 53", " 40000", " 50-60,40000-40100", " 1-1023", ""];
        let words = (one_of(random, &["permit", "deny"]), one_of(random, &["in", "out"]), protocol);
        let (from, to) = (one_of(random, ends), one_of(random, ends));
        let mut ports = || if random.u8(..4) == 0 { one_of(random, &ports) } else { "" };
        let (from_ports, to_ports) = (ports(), ports());
        format!("{} {} {} from {from}{from_ports} to {to}{to_ports}", words.0, words.1, words.2)
            .parse()
            .unwrap()
    };
    let rules = (0..random.usize(..12)).map(|_| rule(random)).collect();
    let (uplink, downlink) = (action(random), action(random));
    Arc::new(Firewall::new(rules, uplink, downlink).unwrap())
}

/// An IPv4 packet of the UE, or to it: of any protocol, or a fragment.
fn random_packet(random: &mut Rng, direction: Direction) -> Vec<u8> {
    let (source, destination) = match direction {
        Direction::Uplink => (ue(0), one_of(random, &SERVERS)),
        Direction::Downlink => (one_of(random, &SERVERS), ue(0)),
    };
    let protocol = one_of(random, &[1, 6, 17, 33, 132, 136, 50, 44]);
    let mut packet = Vec::new();
    let mut port = || one_of(random, &[53_u16, 55, 40_000, 40_050, 1023, 9]).to_be_bytes();
    let payload = [&port()[..], &port(), &[0, 12, 0, 0, 1, 2, 3, 4]].concat();
    IpRepr::V4(Ipv4Repr::new(source, destination, IpProtocol(protocol)))
        .write(&payload, &mut packet)
        .unwrap();
    if random.u8(..5) == 0 {
        // A later fragment shows no ports.
        (packet[6], packet[7]) = (0, 3);
        (packet[10], packet[11]) = (0, 0);
        let sum =
            packet[..20].chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).sum::<u32>();
        let sum = !((sum >> 16) + (sum & 0xffff)) as u16;
        packet[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    packet
}

/// The fates of random packets on both.
fn compare(random: &mut Rng, (switch, oracle): &mut (InProcess, SlowPath), said: &str) -> [usize; 2] {
    let mut fates = [0; 2];
    for _ in 0..60 {
        let direction = one_of(random, &[Direction::Uplink, Direction::Downlink]);
        let packet = random_packet(random, direction);
        let (ingress, packet) = match direction {
            Direction::Uplink => (from_gnb(), tunnelled(0, Some(9), &packet)),
            Direction::Downlink => (from_network(), packet),
        };
        let fate = switch.process(START, &ingress, &packet, &mut Vec::new());
        let expected = oracle.process(START, &ingress, &packet, &mut Vec::new());
        assert_eq!(fate, expected, "{said}: {packet:02x?}");
        let denied = [DropReason::FirewallUplink, DropReason::FirewallDownlink].map(Disposition::Dropped);
        fates[usize::from(denied.contains(&fate))] += 1;
    }
    fates
}

// Input:  random firewalls, each in place of the one before, in both profiles; random packets of each direction; a switch that restarts
//         empty.
// Output: the switch does with each packet what the slow path does, and counts the drops under the same names.
#[test]
fn the_switch_denies_what_software_denies() {
    for contract in PROFILES {
        let mut seen = [0; 2];
        for seed in 0..8 {
            let mut random = Rng::with_seed(seed);
            let mut planes = both(contract, Some(&random_firewall(&mut random)));
            for round in 0..6 {
                let fates =
                    compare(&mut random, &mut planes, &format!("{} {seed} {round}", contract.profile));
                (seen[0], seen[1]) = (seen[0] + fates[0], seen[1] + fates[1]);
                let next = (random.u8(..5) > 0).then(|| random_firewall(&mut random));
                let settings = Arc::new(with(next.as_ref()).settings());
                planes.0.reconfigure(START, &settings);
                planes.1.reconfigure(START, &settings);
                if random.u8(..4) == 0 {
                    planes.0.switch().driver().restart(START);
                    planes.0.advance(START);
                }
            }
            let counted = |plane: &dyn Dataplane| {
                [DropReason::FirewallUplink, DropReason::FirewallDownlink]
                    .map(|reason| plane.counters().dropped(reason))
            };
            assert_eq!(counted(&planes.0), counted(&planes.1), "{} {seed}", contract.profile);
        }
        assert!(seen.iter().all(|count| *count > 500), "{}: {seen:?}", contract.profile);
    }
}

/// What the rows of a table do with a packet: the action of the first that matches.
fn decide<'a>(layout: &Layout, rows: impl IntoIterator<Item = &'a Entry>, packet: &Shown) -> String {
    let Shown { direction, flow, next_header } = packet;
    let name = match (direction, flow.src) {
        (Direction::Uplink, IpAddr::V4(_)) => "firewall_uplink",
        (Direction::Uplink, IpAddr::V6(_)) => "firewall_uplink_ipv6",
        (Direction::Downlink, IpAddr::V4(_)) => "firewall_downlink",
        (Direction::Downlink, IpAddr::V6(_)) => "firewall_downlink_ipv6",
    };
    let table = layout.table(name).unwrap();
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    };
    // What is behind an extension header is not seen.
    let ports = flow.ports.filter(|_| *next_header == flow.protocol.0);
    let value = |key: &str| match key {
        "source_address" => number(flow.src),
        "destination_address" => number(flow.dst),
        "protocol" => (*next_header).into(),
        "source_port" => ports.map_or(0, |ports| ports.src.into()),
        "destination_port" => ports.map_or(0, |ports| ports.dst.into()),
        "has_ports" => ports.is_some().into(),
        other => panic!("{other}"),
    };
    let is_match = |row: &&Entry| {
        let mut fields = table.keys.iter().zip(&row.key.fields);
        row.key.table == table.id
            && fields.all(|(key, field)| {
                let FieldMatch::Ternary { value: wanted, mask } = *field else { panic!("{field:?}") };
                value(&key.name) & mask == wanted
            })
    };
    let row = rows.into_iter().filter(is_match).max_by_key(|row| row.key.priority);
    // Without rows all packets pass.
    row.map_or("permit", |row| &layout.program.action(row.action).unwrap().name).to_owned()
}

/// A packet as the switch sees it.
#[derive(Debug)]
struct Shown {
    direction: Direction,
    flow: Flow,
    /// Behind the IP header: other than the protocol where there are extension headers.
    next_header: u8,
}

fn random_flow(random: &mut Rng) -> Shown {
    let direction = one_of(random, &[Direction::Uplink, Direction::Downlink]);
    let protocol = one_of(random, &[1, 6, 17, 58, 132]);
    let ports = matches!(protocol, 6 | 17 | 132).then(|| {
        let mut port = || one_of(random, &[53, 55, 1023, 1024, 40_000, 40_101]);
        Ports { src: port(), dst: port() }
    });
    let ends: [IpAddr; 2] = match random.bool() {
        false => {
            [ue(0).into(), one_of(random, &["198.51.100.9", "198.51.100.12", "203.0.113.4"]).parse().unwrap()]
        }
        true => {
            let remotes =
                ["2001:db8:9::9", "2001:db8:8::1", "2a00::1", "fe80::1", "ff02::2", "ff12::5", "ff05::1"];
            ["2001:db8:45::2".parse().unwrap(), one_of(random, &remotes).parse().unwrap()]
        }
    };
    let (src, dst) = if direction == Direction::Uplink { (ends[0], ends[1]) } else { (ends[1], ends[0]) };
    let has_extension = src.is_ipv6() && random.u8(..3) == 0;
    let next_header = if has_extension { one_of(random, &[0, 43, 44, 60]) } else { protocol };
    Shown {
        direction,
        flow: Flow {
            src,
            dst,
            protocol: IpProtocol(protocol),
            ports,
            tos: 0,
            flow_label: None,
            fragment: Fragment::Whole,
            spi: None,
        },
        next_header,
    }
}

const fn said(action: FirewallAction) -> &'static str {
    match action {
        FirewallAction::Permit => "permit",
        FirewallAction::Deny => "deny",
    }
}

// Input:  random firewalls and packets of both IP versions, some with extension headers, for the program by itself and the one in front
//         of software.
// Output: the rows decide as the software. Where an extension header hides the protocol, nothing passes that the software denies, and
//         with software behind the switch nothing is decided that it decides otherwise.
#[test]
fn rows_decide_as_the_software() {
    let alone = layout(&profiles::HIP4_VXLAN);
    let in_front = layout(&profiles::HIP4_HYBRID_FIREWALL);
    let mut random = Rng::with_seed(3);
    let (mut denied, mut asked) = (0, 0);
    for _ in 0..300 {
        let firewall = random_firewall(&mut random);
        let rows = entries(&alone, Some(&firewall)).unwrap();
        let rows_in_front = entries(&in_front, Some(&firewall)).unwrap();
        for _ in 0..40 {
            let packet = random_flow(&mut random);
            let expected = said(firewall.verdict(packet.direction, &packet.flow).action);
            let (by_rows, in_front) =
                (decide(&alone, &rows, &packet), decide(&in_front, &rows_in_front, &packet));
            let is_hidden = packet.next_header != packet.flow.protocol.0;
            if in_front == "ask_software" {
                assert!(is_hidden, "{packet:?}");
                asked += 1;
            } else {
                assert_eq!(in_front, expected, "{packet:?} {:?}", firewall.rules());
            }
            if is_hidden {
                assert!(by_rows == "deny" || expected == "permit", "{packet:?} {:?}", firewall.rules());
            } else {
                assert_eq!(by_rows, expected, "{packet:?} {:?}", firewall.rules());
            }
            denied += usize::from(expected == "deny");
        }
    }
    assert!(denied > 2000 && asked > 100, "{denied} {asked}");
}

/// A firewall with a row for each of these ports, some of which are denied.
fn of_ports(random: &mut Rng, count: usize) -> Arc<Firewall> {
    let rule = |_| {
        let action = one_of(random, &["permit", "deny"]);
        format!("{action} in tcp from 10.45.0.0/16 to any {}", random.u16(1..1000)).parse().unwrap()
    };
    let rules = (0..count).map(rule).collect();
    Arc::new(
        Firewall::new(
            rules,
            one_of(random, &[FirewallAction::Permit, FirewallAction::Deny]),
            FirewallAction::Deny,
        )
        .unwrap(),
    )
}

/// Carries out updates one by one, in rows that may not exceed the tables.
fn carry_out(layout: &Layout, rows: &mut Vec<Entry>, updates: &[Update], each: &mut dyn FnMut(&[Entry])) {
    for update in updates {
        let at = |rows: &[Entry], key: &EntryKey| rows.iter().position(|row| row.key == *key);
        match update {
            Update::Insert(entry) => {
                assert_eq!(at(rows, &entry.key), None);
                rows.push(entry.clone());
                let table = layout.program.table(entry.key.table).unwrap();
                let count = rows.iter().filter(|row| row.key.table == table.id).count();
                assert!(count <= table.size, "{count} rows of {}", table.name);
            }
            Update::Modify(entry) => {
                let place = at(rows, &entry.key).unwrap();
                rows[place] = entry.clone();
            }
            Update::Delete(key) => drop(rows.remove(at(rows, key).unwrap())),
            other => panic!("{other:?}"),
        }
        each(rows);
    }
}

// Input:  firewalls that replace each other, of few rules and of as many as there can be; after each single update of a row, random
//         packets; some replacements are interrupted by the next one.
// Output: each packet meets the verdict of one of the firewalls that are being replaced or of the new one, so none passes that all of
//         them deny; at the end it is the new one's.
#[test]
fn no_denied_packet_passes_during_a_replacement() {
    let layout = layout(&profiles::HIP4_VXLAN);
    let mut interrupted = 0;
    for seed in 0..40 {
        let mut random = Rng::with_seed(seed);
        let is_large = seed % 8 == 0;
        let next = |random: &mut Rng| match (random.u8(..6), is_large) {
            (0, _) => None,
            (_, true) => Some(of_ports(random, 511)),
            (_, false) => Some(random_firewall(random)),
        };
        let mut rows = Vec::new();
        let mut present: Vec<Option<Arc<Firewall>>> = vec![None];
        for _ in 0..6 {
            let new = next(&mut random);
            let wanted = entries(&layout, new.as_deref()).unwrap();
            let mut updates = replacement(&layout, &rows, &wanted);
            present.push(new.clone());
            let is_interrupted = random.u8(..3) == 0;
            if is_interrupted {
                updates.truncate(random.usize(..=updates.len()));
                interrupted += 1;
            }
            let packets: Vec<Shown> =
                (0..if is_large { 4 } else { 30 }).map(|_| random_flow(&mut random)).collect();
            let by = |firewall: &Option<Arc<Firewall>>, packet: &Shown| {
                let rows = entries(&layout, firewall.as_deref()).unwrap();
                decide(&layout, &rows, packet)
            };
            let verdicts: Vec<Vec<String>> =
                packets.iter().map(|packet| present.iter().map(|it| by(it, packet)).collect()).collect();
            // Where more than two were to fit, what does not is denied meanwhile.
            let may_deny = present.len() > 2;
            carry_out(&layout, &mut rows, &updates, &mut |rows| {
                for (packet, allowed) in packets.iter().zip(&verdicts) {
                    let verdict = decide(&layout, rows, packet);
                    assert!(
                        allowed.contains(&verdict) || may_deny && verdict == "deny",
                        "{seed}: {packet:?}"
                    );
                }
            });
            if !is_interrupted {
                for (packet, allowed) in packets.iter().zip(&verdicts) {
                    assert_eq!(Some(&decide(&layout, &rows, packet)), allowed.last(), "{seed}: {packet:?}");
                }
                assert_eq!(rows.len(), wanted.len());
                present = vec![new];
            }
        }
    }
    assert!(interrupted > 20, "{interrupted}");
}

/// This many rules of the uplink.
fn rules(count: usize) -> Arc<Firewall> {
    let rule = |port| format!("deny in udp from 10.45.0.0/16 to any {port}");
    permitting(&(1..=count).map(rule).collect::<Vec<_>>().join("\n"))
}

// Input:  a firewall with more rows than the switch has for one, at the start and as a replacement; a range of ports that takes 30 rows;
//         a program without a firewall.
// Output: the start is refused with the rule, the table and its size; the replacement is refused with a notice, and the former one stays on the
//         switch and in the software behind it; so is one for a program that has none.
#[test]
fn too_many_rows_are_refused() {
    let program = Program::from(&profiles::HIP4_VXLAN);
    assert_eq!(check_firewall(&program, &rules(511)), Ok(()));
    let refused = InProcess::new(&program, with(Some(&rules(512))), Limits::default()).unwrap_err();
    let InProcessError::Start(StartError::Firewall(error)) = refused else { panic!("{refused}") };
    let said = error.to_string();
    assert!(
        said.contains(
            "`deny in 17 from 10.45.0.0/16 to any 512` needs row 513 of table firewall_uplink, which has 1024"
        ),
        "{said}"
    );
    let ranges = permitting("deny in tcp from 10.45.0.0/16 1-65534 to any 1-65534");
    let error = check_firewall(&program, &ranges).unwrap_err();
    assert!(matches!(error, FirewallError::TooManyRows { row: 901, room: 512, .. }), "{error}");

    let denied = permitting("deny in udp from any to any 53");
    let (mut switch, mut oracle) = both(&profiles::HIP4_VXLAN, Some(&denied));
    let fate = |switch: &mut InProcess, port| {
        let packet = super::fixture::udp((ue(0), 40_000), (SERVERS[0], port), 8);
        switch.process(START, &from_gnb(), &tunnelled(0, Some(9), &packet), &mut Vec::new())
    };
    switch.reconfigure(START, &Arc::new(with(Some(&rules(600))).settings()));
    let notice = switch.switch().poll_notice();
    assert!(matches!(&notice, Some(Notice::Firewall(FirewallError::TooManyRows { .. }))), "{notice:?}");
    assert!(notice.unwrap().to_string().ends_with("the firewall of before stays in force"));
    assert_eq!(fate(&mut switch, 53), Disposition::Dropped(DropReason::FirewallUplink));
    assert_eq!(fate(&mut switch, 54), Disposition::Forwarded);
    assert_eq!(switch.switch().topology().firewall, Some(denied));
    // The next one is put into force.
    let next = Arc::new(with(Some(&permitting("deny in udp from any to any 54"))).settings());
    switch.reconfigure(START, &next);
    oracle.reconfigure(START, &next);
    assert_eq!(fate(&mut switch, 53), Disposition::Forwarded);
    assert_eq!(fate(&mut switch, 54), Disposition::Dropped(DropReason::FirewallUplink));
    assert_eq!(switch.switch().poll_notice(), None);

    let without = Program::from(&profiles::HIP4);
    let refused = InProcess::new(&without, with(Some(&rules(1))), Limits::default()).unwrap_err();
    assert_eq!(refused, InProcessError::Start(StartError::Firewall(FirewallError::NoTables)));
    let mut switch = InProcess::new(&without, with(None), Limits::default()).unwrap();
    switch.reconfigure(START, &next);
    assert_eq!(switch.switch().poll_notice(), Some(Notice::Firewall(FirewallError::NoTables)));
    assert_eq!(switch.switch().topology().firewall, None);
}

// Input:  a session with a rule that the software behind the switch handles; the firewall denies a part of its packets.
// Output: the switch drops them before they reach the software; nothing is counted for the session.
#[test]
fn a_denied_packet_is_no_usage() {
    let denied = firewall("deny out udp from any 53 to any", FirewallAction::Deny, FirewallAction::Permit);
    for contract in PROFILES {
        let (mut switch, mut oracle) = both(contract, Some(&denied));
        for plane in [&mut switch as &mut dyn PacketEngine, &mut oracle] {
            for (ingress, packet, reason) in [
                (from_gnb(), request(0, 72), DropReason::FirewallUplink),
                (from_network(), reply(0, 72), DropReason::FirewallDownlink),
            ] {
                let fate = plane.process(START, &ingress, &packet, &mut Vec::new());
                assert_eq!(fate, Disposition::Dropped(reason), "{}", contract.profile);
            }
            let removed = plane.apply(START + Span::from_secs(1), &Plan::removal(Seid(1))).unwrap();
            let volume = removed.usage[0].volume.unwrap();
            assert_eq!((volume.uplink, volume.downlink), (0, 0), "{}", contract.profile);
        }
    }
}

// Input:  a switch that runs with the firewall of a former controller, of whose rows one is missing; a new one with another firewall.
// Output: the new one's rows are there, and none of the former; a packet that both deny is denied all the time.
#[test]
fn a_controller_replaces_the_firewall_of_a_former_one() {
    let start = |firewall: &Arc<Firewall>| {
        let program = Program::from(&profiles::HIP4_VXLAN);
        let (model, program, config) = parts(&program, with(Some(firewall)), Limits::default()).unwrap();
        Switch::new(model, &program, config).unwrap()
    };
    let former =
        "deny in udp from any to any 53\ndeny in udp from any to any 54\ndeny out tcp from any to any";
    let mut old = start(&permitting(former));
    old.run(START);
    let later = permitting(
        "permit in udp from any to any 54\ndeny in udp from any to any 53\ndeny out tcp from any to any",
    );
    let mut new = start(&later);
    std::mem::swap(old.driver(), new.driver());
    new.handle_link(START, Link::Up { emptied: false });
    new.run(START);
    let wanted = entries(&layout(&profiles::HIP4_VXLAN), Some(&later)).unwrap();
    for entry in &wanted {
        let state = new.driver().state();
        assert!(state.entries(entry.key.table).unwrap().any(|row| row == entry), "{entry:?}");
    }
    let Some(Notice::Reconciled(result)) = new.poll_notice() else { panic!() };
    // Both have two rows in the same places, with another action or other ports; the rest is the same.
    assert!(result.removed >= 1 && result.written >= 1, "{result:?}");
    let present: usize = ["firewall_uplink", "firewall_downlink"]
        .into_iter()
        .map(|name| {
            let id = new.driver().state().program().table_named(name).unwrap().id;
            new.driver().state().entries(id).unwrap().count()
        })
        .sum();
    let of_ipv4 = wanted.iter().filter(|entry| entry.key.table & 0xff < 6).count();
    assert_eq!(present, of_ipv4);
}

// Input:  a switch that has less space for the firewall than its P4Info says; a session.
// Output: the switch refuses the firewall, so the session is refused: it would be without one.
#[test]
fn no_session_is_without_the_firewall() {
    let program = Program::from(&profiles::HIP4_VXLAN);
    let mut small = program.clone();
    small.tables.iter_mut().filter(|table| table.name == "firewall_uplink").for_each(|table| table.size = 2);
    let topology = with(Some(&rules(4)));
    let (model, ..) = parts(&small, topology.clone(), Limits::default()).unwrap();
    let (_, program, config) = parts(&program, topology, Limits::default()).unwrap();
    let mut switch = Switch::new(model, &program, config).unwrap();
    let refused = switch.apply(START, &Plan::install(Seid(1), session(0).clone())).unwrap_err();
    assert!(refused.to_string().contains("firewall_uplink"), "{refused}");
}

/// An IPv6 packet of the UE, or to it; some have extension headers, and some are for the link.
fn random_ipv6_packet(random: &mut Rng, direction: Direction) -> (Vec<u8>, bool) {
    let ue: std::net::Ipv6Addr = "2001:db8:45::2".parse().unwrap();
    let remotes = ["2001:db8:9::9", "2001:db8:8::1", "2a00::1", "fe80::1", "ff02::2"];
    let remotes = if direction == Direction::Uplink { &remotes[..] } else { &remotes[..3] };
    let remote = one_of(random, remotes).parse().unwrap();
    let (source, destination) = if direction == Direction::Uplink { (ue, remote) } else { (remote, ue) };
    let protocol = one_of(random, &[6_u8, 17, 58, 132]);
    let extension = (random.u8(..3) == 0).then(|| one_of(random, &[0_u8, 43, 60]));
    let mut payload = Vec::new();
    if extension.is_some() {
        payload.extend([protocol, 0, 1, 4, 0, 0, 0, 0]);
    }
    for _ in 0..2 {
        payload.extend(one_of(random, &[53_u16, 55, 40_000, 40_050, 1023]).to_be_bytes());
    }
    payload.extend([0, 12, 0, 0, 1, 2, 3, 4]);
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, extension.unwrap_or(protocol), 64];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    (packet, extension.is_some())
}

// Input:  a UE with an IPv6 prefix and random firewalls, in both profiles; random packets of it and to it, to the link and with extension headers, too.
// Output: the switch does what the slow path does; of packets with extension headers it passes none that the slow path denies.
#[test]
fn ipv6_packets_are_denied_as_in_software() {
    for contract in PROFILES {
        let (mut denied, mut hidden, mut more) = (0, 0, 0);
        for seed in 0..6 {
            let mut random = Rng::with_seed(seed);
            let firewall = random_firewall(&mut random);
            let mut switch =
                InProcess::new(&Program::from(contract), with(Some(&firewall)), Limits::default()).unwrap();
            let mut oracle = SlowPath::new(with(Some(&firewall)), Limits::default());
            let mut rules = session(0);
            for pdr in rules.pdrs.values_mut() {
                let ue = pdr.pdi.ue.as_mut().unwrap();
                (ue.v4, ue.v6) = (None, Some("2001:db8:45::/64".parse().unwrap()));
            }
            let plan = Plan::install(Seid(1), rules);
            switch.apply(START, &plan).unwrap();
            oracle.apply(START, &plan).unwrap();
            for _ in 0..80 {
                let direction = one_of(&mut random, &[Direction::Uplink, Direction::Downlink]);
                let (packet, is_hidden) = random_ipv6_packet(&mut random, direction);
                let (ingress, packet) = match direction {
                    Direction::Uplink => (from_gnb(), tunnelled(0, Some(9), &packet)),
                    Direction::Downlink => (from_network(), packet),
                };
                let fate = switch.process(START, &ingress, &packet, &mut Vec::new());
                let expected = oracle.process(START, &ingress, &packet, &mut Vec::new());
                let is_denied = [DropReason::FirewallUplink, DropReason::FirewallDownlink]
                    .map(Disposition::Dropped)
                    .contains(&fate);
                denied += usize::from(is_denied);
                if is_hidden && is_denied {
                    // Also what the software would pass.
                    hidden += 1;
                    more += usize::from(fate != expected);
                } else {
                    assert_eq!(fate, expected, "{} {seed}: {packet:02x?}", contract.profile);
                }
            }
        }
        assert!(denied > 50 && hidden > more && more > 0, "{}: {denied} {hidden} {more}", contract.profile);
    }
}

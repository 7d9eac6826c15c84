//! The firewall on both sides: a packet meets the same rules wherever its rule is.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use causeway_dataplane::{
    Dataplane, Disposition, DropReason, Firewall, FirewallAction, Ingress, PacketEngine, Topology,
};
use causeway_hybrid::{Config, Wish};
use causeway_model::Plan;
use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr, UserPacket};
use causeway_switch::driver::FaultRates;
use causeway_switch::model::Timing;
use causeway_types::{Direction, Qfi, Span};
use fastrand::Rng;

use crate::world::{GNBS, SERVER, UPF, World, internet, n3, rule, seid, session, strict, topology, ue};

const SESSIONS: u8 = 3;
const DIRECTIONS: [Direction; 2] = [Direction::Uplink, Direction::Downlink];
const PORTS: [u16; 4] = [53, 80, 443, 4000];

fn random_firewall(random: &mut Rng) -> Option<Arc<Firewall>> {
    let mut rules = Vec::new();
    for _ in 0..random.usize(..5) {
        let word = ["permit", "deny"][random.usize(..2)];
        let port = PORTS[random.usize(..PORTS.len())];
        let ue = ue(random.u8(..SESSIONS));
        rules.push(match random.u8(..4) {
            0 => format!("{word} in udp from any to any {port}"),
            1 => format!("{word} out udp from any {port} to any"),
            2 => format!("{word} in ip from {ue} to any"),
            _ => format!("{word} out udp from any 50-100 to {ue}"),
        });
    }
    let default =
        |random: &mut Rng| [FirewallAction::Permit, FirewallAction::Deny][usize::from(random.u8(..4) == 0)];
    let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    let made = Firewall::new(rules, default(random), default(random)).unwrap();
    (random.u8(..5) > 0).then(|| Arc::new(made))
}

/// A packet of a UE, or to it: its direction, itself without a tunnel, and as it comes.
fn packet(random: &mut Rng, number: u8) -> (Direction, Vec<u8>, Ingress, Vec<u8>) {
    let direction = DIRECTIONS[random.usize(..2)];
    let port = PORTS[random.usize(..PORTS.len())];
    let (from, to) = match direction {
        Direction::Uplink => ((ue(number), 40_000), (SERVER, port)),
        Direction::Downlink => ((SERVER, port), (ue(number), 40_000)),
    };
    let mut user = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(from.0, to.0, IpProtocol::UDP));
    let data = vec![7; random.usize(..500)];
    ip.write_udp(UdpRepr { src_port: from.1, dst_port: to.1 }, true, &[&data], &mut user).unwrap();
    match direction {
        Direction::Uplink => {
            let header = prefix::uplink(n3(number).teid, Qfi::new(9).unwrap(), user.len()).unwrap();
            let peer = SocketAddr::new(IpAddr::V4(GNBS[0]), 2152);
            let ingress = Ingress::Gtpu { local: IpAddr::V4(UPF), peer, tos: 0, hops: None };
            let packet = [&header[..], &user].concat();
            (direction, user, ingress, packet)
        }
        Direction::Downlink => (direction, user.clone(), Ingress::Ip { network: internet() }, user),
    }
}

/// Random firewalls under random moves. Returns how many packets the switch has forwarded and denied, and how many the software has denied.
fn check(timing: Timing, chances: FaultRates, seed: u64) -> [u64; 3] {
    let has_faults = chances != FaultRates::default();
    let mut random = Rng::with_seed(seed);
    let config = Config { longest_stay: Span::from_micros(1), ..strict() };
    let mut world = World::build(config, timing, chances, seed, None, true);
    (0..SESSIONS).for_each(|number| world.establish(number, session(number, None)));
    // Those that may be in force.
    let mut present: Vec<Option<Arc<Firewall>>> = vec![None];
    let mut forwarded: BTreeMap<u8, [u64; 2]> = BTreeMap::new();
    for _ in 0..1500 {
        match random.u8(..60) {
            0..6 => {
                let which = rule(random.u8(..SESSIONS), DIRECTIONS[random.usize(..2)]);
                let is_there = world.upf.moves().is_on_switch(which) && random.u8(..3) == 0;
                world.wish(if is_there { Wish::Demote(which) } else { Wish::Promote(which) });
                world.pass(Span::from_millis(random.u64(..20)));
            }
            6..8 => {
                let next = random_firewall(&mut random);
                let settings = Topology { firewall: next.clone(), ..topology() }.settings();
                world.upf.reconfigure(world.now, &Arc::new(settings));
                present.push(next);
            }
            8 if has_faults => {
                let now = world.now;
                world.upf.switch().driver().inner().restart(now);
            }
            8..10 => {
                // Longer than any request and its repetitions.
                world.pass(Span::from_secs(20));
                present.drain(..present.len() - 1);
            }
            _ => {
                if !has_faults && timing == Timing::INSTANT {
                    present.drain(..present.len() - 1);
                }
                let number = random.u8(..SESSIONS);
                let (direction, user, ingress, packet) = packet(&mut random, number);
                let flow = UserPacket::parse(&user).unwrap().flow;
                let verdicts: Vec<Option<DropReason>> = present
                    .iter()
                    .map(|firewall| firewall.as_ref().and_then(|it| it.drop_reason(direction, &flow)))
                    .collect();
                let fate = world.upf.process(world.now, &ingress, &packet, &mut Vec::new());
                let seen = match fate {
                    Disposition::Forwarded => None,
                    Disposition::Dropped(reason) => Some(reason),
                    other => panic!("{seed}: {other:?}"),
                };
                assert!(verdicts.contains(&seen), "{seed}: {seen:?}, not {verdicts:?}");
                if seen.is_none() {
                    let side = usize::from(direction == Direction::Downlink);
                    forwarded.entry(number).or_default()[side] += user.len() as u64;
                }
                world.pass(Span::from_micros(random.u64(..500)));
            }
        }
    }
    let of_firewall = |plane: &dyn Dataplane| {
        let counters = plane.counters();
        counters.dropped(DropReason::FirewallUplink) + counters.dropped(DropReason::FirewallDownlink)
    };
    let both = of_firewall(&world.upf);
    let software = of_firewall(world.upf.switch().software_ref());
    let by_switch = world.upf.rule_placement(world.now).unwrap().switch.packets;
    if !has_faults {
        for number in 0..SESSIONS {
            world.apply(&Plan::removal(seid(number)));
            let reported = world.reported.get(&number).copied().unwrap_or_default();
            assert_eq!(Some(&reported), forwarded.get(&number), "{seed}: session {number}");
        }
    }
    [by_switch, both - software, software]
}

// Input:  random firewalls that replace each other while random rules move between the switch and the software; on a driver that takes no time, one that
//         does, and one whose requests fail, and whose switch restarts.
// Output: each packet meets the verdict of the firewall, or while it is being replaced of that or the former one, on whichever side it is decided; usage is that of
//         the packets that left, to the octet. Both sides deny.
#[test]
fn both_sides_deny_the_same() {
    let faults = FaultRates { unavailable: 50, unanswered: 50, half: 50, late: 50, restart: 0 };
    let worlds = [
        (Timing::INSTANT, FaultRates::default()),
        (Timing::PAPER_ALL_DRIVER, FaultRates::default()),
        (Timing::PAPER_ALL_DRIVER, faults),
    ];
    for (timing, chances) in worlds {
        let mut sums = [0; 3];
        for seed in 0..4 {
            let counts = check(timing, chances, seed);
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count);
        }
        assert!(sums.iter().all(|sum| *sum > 100), "{timing:?}: {sums:?}");
    }
}

//! A switch over P4Runtime in front of the daemon's own ports: N3 is a TAP device with the UPF's address, N6 another one behind the
//! TUN device and the kernel's routes. The other ends of both are ports of the switch.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_p4runtime::server::ModelSwitch;
use causeway_packet::gtpu::{Message, Packet};
use causeway_packet::{Batch, Frame, Ipv4, Meta, Udp};
use causeway_pfcp::Cause;
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_ports::{Port, wait};
use causeway_types::{Bitrate, MacAddr, Span, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{Config, HybridKeys, SwitchLink, WorkerCount};
use causeway_upf::management::views::{PlacementView, SwitchView};

use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{Session, Smf};
use crate::common::{PATIENCE, UE, fetch, loopback, metric, one_hop_on, packet, until};
use crate::switch::firewall::{drops, reload, with};
use crate::switch::{
    DataPlane, GNB, N3, N3_ROUTER, N6, N6_ROUTER, QFI, Served, UPF, configuration_for, in_tunnel,
};

/// The ports that the UPF's interfaces are connected to.
const SOFTWARE_N3: u16 = 3;
const SOFTWARE_N6: u16 = 4;

const HOST: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 20);

/// The MAC addresses of both interfaces: those of the switch's ports, which nobody can tell apart.
pub(super) const OWN: [MacAddr; 2] = [MacAddr([2, 0, 0x5e, 0, 0x53, 1]), MacAddr([2, 0, 0x5e, 0, 0x53, 2])];
const OTHERS: [MacAddr; 2] = [N3_ROUTER, N6_ROUTER];

const HOPS: u8 = 64;

/// The cables between the switch and the UPF's interfaces, and what leaves by the other ports.
pub(super) struct Cables {
    pub(super) switch: ModelSwitch,
    left: Receiver<(u16, Vec<u8>)>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Cables {
    pub(super) fn lay(switch: ModelSwitch) -> Self {
        let open = |port: u16, device: &str| {
            let options = TapOptions { device: device.to_owned(), bridge: None, mtu: Some(1500) };
            (port, TapPort::open(device, &options).unwrap())
        };
        let mut taps = [open(SOFTWARE_N3, "n3"), open(SOFTWARE_N6, "n6")];
        for ((device, address, other), (own, others)) in
            [("n3", "192.0.2.1/24", GNB), ("n6", "198.51.100.1/24", HOST)]
                .into_iter()
                .zip(OWN.into_iter().zip(OTHERS))
        {
            ip(&format!("link set {device} address {own}"));
            ip(&format!("address add {address} dev {device}"));
            ip(&format!("neighbour add {other} lladdr {others} dev {device} nud permanent"));
        }
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        let (sender, left) = channel();
        let ended: Arc<AtomicBool> = Arc::default();
        let (model, is_over) = (switch.clone(), Arc::clone(&ended));
        let thread = std::thread::spawn(move || {
            let mut batch = Batch::new();
            while !is_over.load(Ordering::Relaxed) {
                let ports: Vec<&dyn Port> = taps.iter().map(|(_, tap)| tap as &dyn Port).collect();
                wait(ports, None, Some(Duration::from_millis(1))).unwrap();
                for (number, tap) in &mut taps {
                    tap.receive(&mut batch).unwrap();
                    batch.frames().for_each(|frame| model.receive(*number, frame.data));
                }
                while let Some((port, frame)) = model.poll_sent() {
                    match taps.iter_mut().find(|(number, _)| *number == port) {
                        Some((_, tap)) => {
                            tap.send(&[Frame { meta: Meta::Ethernet, data: &frame }]).unwrap();
                        }
                        // The test may have ended.
                        None => drop(sender.send((port, frame))),
                    }
                }
            }
        });
        Self { switch, left, ended, thread: Some(thread) }
    }

    /// The next IPv4 packet that leaves by this port; neither port has anything else for long.
    pub(super) fn next(&self, by: u16) -> Vec<u8> {
        let end = Instant::now() + PATIENCE;
        loop {
            match self.left.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok((port, frame)) if port == by && frame.get(12..14) == Some(&[8, 0]) => {
                    return frame[14..].to_vec();
                }
                // IPv6 of the kernel.
                Ok((_, frame)) => assert_ne!(frame.get(12..14), Some(&[8, 0][..]), "{frame:02x?}"),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    panic!("nothing leaves by port {by}")
                }
            }
        }
    }

    /// IPv4 packets that leave although nobody asked for them.
    fn rest(&self) -> Vec<(u16, Vec<u8>)> {
        self.left.try_iter().filter(|(_, frame)| frame.get(12..14) == Some(&[8, 0])).collect()
    }
}

impl Drop for Cables {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        // A test that failed says so itself.
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// The hybrid UPF of this switch. Rules move at the lowest rate, and back when a UE has been silent.
pub(super) fn hybrid(switch: &Served) -> Config {
    let mut config = configuration_for(switch.address);
    config.upf.dataplane = DataPlane::Hybrid;
    config.upf.hybrid = HybridKeys {
        promote_at: Bitrate::from_kbps(1).unwrap(),
        demote_after: Span::from_millis(100),
        longest_stay: Span::from_millis(2),
        read_interval: Span::from_millis(20),
        strict: true,
        ..HybridKeys::default()
    };
    let p4info = config.upf.switch.p4info.as_ref().unwrap().with_file_name("hip4-hybrid.bmv2.txtpb");
    config.upf.switch.p4info = Some(p4info);
    let hops = config.upf.switch.route.iter_mut().zip(OWN.into_iter().zip(OTHERS));
    for (route, (own, other)) in hops {
        (route.mac, route.next_hop) = (own, other);
    }
    let link = |port, software| SwitchLink { port, software };
    config.upf.switch.link = vec![link(N3, SOFTWARE_N3), link(N6, SOFTWARE_N6)];
    config
}

/// A UPF behind a switch, and UEs with numbered packets, of which one is under way at a time.
struct World {
    daemon: Daemon,
    smf: Smf,
    cables: Cables,
    /// Of each UE.
    sessions: Vec<Session>,
    sent: u32,
    /// Packets to servers that no UE reaches.
    denied: u32,
}

fn ue(number: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(UE) + number as u32)
}

/// The first and the second tunnel to a UE.
fn tunnels(number: usize) -> [Teid; 2] {
    [0x2001, 0x3001].map(|teid| Teid::new(teid + number as u32).unwrap())
}

impl World {
    /// One UE, and one packet thread.
    fn new(switch: &Served) -> Self {
        Self::with_threads(switch, 1, 1)
    }

    /// So many packet threads, with UEs. Sessions are given to the threads by turns.
    fn with_threads(switch: &Served, threads: usize, ues: usize) -> Self {
        let mut config = hybrid(switch);
        config.upf.workers.count = WorkerCount::Exactly(threads);
        Self::of(switch, &config, ues)
    }

    fn of(switch: &Served, config: &Config, ues: usize) -> Self {
        let cables = Cables::lay(switch.switch.clone());
        let daemon = Daemon::start(config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let sessions = (0..ues).map(|number| smf.establish_flow(ue(number), QFI)).collect();
        Self { daemon, smf, cables, sessions, sent: 0, denied: 0 }
    }

    fn payload(&self) -> Vec<u8> {
        [&self.sent.to_be_bytes()[..], &[3; 200]].concat()
    }

    /// A packet of a UE passes; returns the hops that it has left.
    fn up(&mut self, number: usize) -> u8 {
        self.sent += 1;
        let user = packet(ue(number), HOST, &self.payload());
        let frame = in_tunnel(self.sessions[number].uplink.teid, &user);
        self.cables.switch.receive(N3, &[&OWN[0].0[..], &frame[6..]].concat());
        let left = self.cables.next(N6);
        let ip = Ipv4::parse(&left).unwrap();
        assert_eq!((ip.src(), ip.dst()), (ue(number), HOST));
        assert_eq!(Udp::parse(ip.payload()).unwrap().payload(), self.payload());
        ip.ttl()
    }

    /// A UE sends to a server that it does not reach.
    fn denied(&mut self, number: usize, server: Ipv4Addr) {
        let frame = in_tunnel(self.sessions[number].uplink.teid, &packet(ue(number), server, b"denied"));
        self.cables.switch.receive(N3, &[&OWN[0].0[..], &frame[6..]].concat());
        self.denied += 1;
    }

    /// A packet for a UE arrives at the gNB in this tunnel; returns the hops that it has left.
    fn down(&mut self, number: usize, teid: Teid) -> u8 {
        self.sent += 1;
        let user = packet(HOST, ue(number), &self.payload());
        let frame = [&OWN[1].0[..], &[0; 6], &[8, 0], &user].concat();
        self.cables.switch.receive(N6, &frame);
        let left = self.cables.next(N3);
        let ip = Ipv4::parse(&left).unwrap();
        assert_eq!((ip.src(), ip.dst()), (UPF, GNB));
        let udp = Udp::parse(ip.payload()).unwrap();
        let message = Packet::parse(udp.payload()).unwrap();
        assert_eq!(message.header.teid, Some(teid));
        let Message::GPdu(user) = message.message else { panic!("{left:02x?}") };
        let user = Ipv4::parse(user).unwrap();
        assert_eq!(user.dst(), ue(number));
        assert_eq!(Udp::parse(user.payload()).unwrap().payload(), self.payload());
        user.ttl()
    }

    /// A packet each way of each UE, in its first tunnel, until the switch forwards all of a round; returns how many rounds.
    fn move_to_switch(&mut self) -> u64 {
        let (start, mut packets) = (Instant::now(), 0);
        loop {
            packets += 1;
            if self.round() {
                return packets;
            }
            assert!(start.elapsed() < PATIENCE, "{:?}", self.placement());
            // A gap as long as the longest stay, in which the rules take over.
            std::thread::sleep(Duration::from_millis(4));
        }
    }

    /// A packet each way of each UE, in its first tunnel. Returns whether the switch has forwarded all.
    fn round(&mut self) -> bool {
        let mut are_there = true;
        for number in 0..self.sessions.len() {
            are_there &= [self.up(number), self.down(number, tunnels(number)[0])] == [HOPS - 1; 2];
        }
        are_there
    }

    fn placement(&self) -> PlacementView {
        serde_json::from_str(&fetch(&self.daemon, "/api/v1/placement").1).unwrap()
    }
}

// Input:  a UE with packets both ways through a switch in front of the UPF, one at a time; a handover while the switch has its rules;
//         silence, and packets again.
// Output: the first packets come through the UPF, two hops older; then the switch forwards them, one hop older. After the handover they
//         are in the new tunnel. In silence the rules move back. Each packet arrives once, and usage is exact to the octet. The
//         state of the switch and the placement tell of both.
#[test]
fn rules_move_to_a_switch_in_front() {
    in_namespace("switch::in_front::rules_move_to_a_switch_in_front", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let mut world = World::new(&switch);
        let [first, second] = tunnels(0);
        world.smf.forward(world.sessions[0], first, GNB);
        // The switch passes frames once it has its tables.
        until("the switch is filled", || {
            let view: SwitchView = serde_json::from_str(&fetch(&world.daemon, "/api/v1/switch").1).unwrap();
            let state = view.switch.expect("there is a switch");
            assert_eq!(state.address, Some(switch.address.to_string()));
            switch.switch.entries() >= 6
        });
        assert_eq!([world.up(0), world.down(0, first)], [HOPS - 2; 2]);
        let packets = 1 + world.move_to_switch();
        let octets = packet(UE, HOST, &world.payload()).len() as u64;
        assert_eq!(world.smf.query(world.sessions[0]), (packets * octets, packets * octets));

        world.smf.forward(world.sessions[0], second, GNB);
        world.down(0, second);
        world.up(0);
        let seen = world.placement();
        assert!(seen.switch.packets > 0 && seen.software.packets > 0, "{seen:?}");
        until("silent rules move back", || world.placement().rules.software == 2);
        assert_eq!([world.up(0), world.down(0, second)], [HOPS - 2; 2]);
        assert_eq!(world.smf.delete(world.sessions[0]), Some((2 * octets, 2 * octets)));
        assert_eq!(world.cables.rest(), []);
    });
}

// Input:  a UE whose rules the switch has; the P4Runtime server of the switch ends, while its ports go on; a second UE; the server is
//         back, and a handover of the first UE.
// Output: without the server the switch forwards as before, and the second UE has a session and packets, in the software. Once the
//         server is back, the handover is done on the switch. Usage is exact to the octet.
#[test]
fn a_switch_in_front_without_its_server() {
    in_namespace("switch::in_front::a_switch_in_front_without_its_server", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let (model, address) = (switch.switch.clone(), switch.address);
        let mut world = World::new(&switch);
        let [first, second] = tunnels(0);
        world.smf.forward(world.sessions[0], first, GNB);
        until("the switch is filled", || model.entries() >= 6);
        let packets = world.move_to_switch();
        let octets = packet(UE, HOST, &world.payload()).len() as u64;
        assert_eq!(world.smf.query(world.sessions[0]), (packets * octets, packets * octets));

        drop(switch);
        assert_eq!([world.up(0), world.down(0, first)], [HOPS - 1; 2]);
        let other = Ipv4Addr::new(10, 45, 0, 9);
        let session = world.smf.establish_flow(other, QFI);
        let sent = packet(other, HOST, b"through the software");
        let frame = in_tunnel(session.uplink.teid, &sent);
        model.receive(N3, &[&OWN[0].0[..], &frame[6..]].concat());
        assert_eq!(Ipv4::parse(&world.cables.next(N6)).unwrap().ttl(), HOPS - 2);

        let _server = Served::serving(model, address);
        until("the switch is driven again", || world.smf.try_forward(world.sessions[0], second, GNB));
        world.down(0, second);
        world.up(0);
        assert_eq!(world.smf.delete(world.sessions[0]), Some((2 * octets, 2 * octets)));
        assert_eq!(world.cables.rest(), []);
    });
}

// Input:  a UE whose rules the switch has; the P4Runtime server of the switch ends, while its ports go on; a query, a handover and a
//         deletion; the server is back; a query and a deletion.
// Output: without the server each request is answered, with cause 77, and none is carried out later: the session is there, and its packets
//         are in the former tunnel. Once the server is back, usage is exact to the octet, and the switch has nothing of the session in
//         the end.
#[test]
fn requests_are_refused_while_a_switch_in_front_is_away() {
    in_namespace("switch::in_front::requests_are_refused_while_a_switch_in_front_is_away", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let (model, address) = (switch.switch.clone(), switch.address);
        let mut world = World::new(&switch);
        let [first, second] = tunnels(0);
        world.smf.forward(world.sessions[0], first, GNB);
        until("the switch is filled", || {
            let view: SwitchView = serde_json::from_str(&fetch(&world.daemon, "/api/v1/switch").1).unwrap();
            model.entries() >= 6 && !view.switch.expect("there is a switch").is_reconciling
        });
        let before = model.entries();
        let packets = world.move_to_switch() + 1;
        let octets = packet(UE, HOST, &world.payload()).len() as u64;

        drop(switch);
        assert_eq!(world.smf.try_query(world.sessions[0]), Err(Cause::SystemFailure));
        assert!(!world.smf.try_forward(world.sessions[0], second, GNB));
        assert_eq!(world.smf.try_delete(world.sessions[0]), Err(Cause::SystemFailure));
        assert_eq!([world.up(0), world.down(0, first)], [HOPS - 1; 2]);

        let _server = Served::serving(model.clone(), address);
        let mut counted = Err(Cause::SystemFailure);
        until("the switch is driven again", || {
            counted = world.smf.try_query(world.sessions[0]);
            counted.is_ok()
        });
        assert_eq!(counted, Ok((packets * octets, packets * octets)));
        world.down(0, first);
        world.up(0);
        assert_eq!(world.smf.delete(world.sessions[0]), Some((octets, octets)));
        until("the switch has nothing of the session", || model.entries() == before);
        assert_eq!(world.cables.rest(), []);
    });
}

// Input:  four UEs, two in each of two packet threads, with packets both ways through a switch in front of the UPF; handovers while the
//         switch has their rules; silence, and packets again.
// Output: as with one thread: all rules move to the one switch, whose tables have those of both threads, and back. Each packet arrives
//         once, in its tunnel, and usage is exact to the octet.
#[test]
fn two_threads_drive_a_switch_in_front() {
    in_namespace("switch::in_front::two_threads_drive_a_switch_in_front", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let mut world = World::with_threads(&switch, 2, 4);
        let all = 0..world.sessions.len();
        for thread in ["0", "1"] {
            let series = format!("causeway_worker_sessions{{worker=\"{thread}\"}}");
            assert_eq!(metric(&world.daemon, &series), 2.0);
        }
        for number in all.clone() {
            world.smf.forward(world.sessions[number], tunnels(number)[0], GNB);
        }
        until("the switch is filled", || switch.switch.entries() >= 6);
        let mut packets = world.move_to_switch();
        let octets = packet(UE, HOST, &world.payload()).len() as u64;
        let start = Instant::now();
        // The tables have the rules of both threads, and the routes once.
        let entries = |world: &World| {
            let view: SwitchView = serde_json::from_str(&fetch(&world.daemon, "/api/v1/switch").1).unwrap();
            let tables = view.switch.expect("there is a switch").tables;
            ["dl_from_n6_simple", "network_lpm"]
                .map(|name| tables.iter().find(|table| table.name == name).map_or(0, |table| table.entries))
        };
        while entries(&world) != [4, 1] || world.placement().moves.flipped < 8 {
            packets += 1;
            world.round();
            assert!(start.elapsed() < PATIENCE, "{:?} {:?}", entries(&world), world.placement());
        }
        assert_eq!(world.placement().moves.flipped_early, 0);
        for number in all.clone() {
            assert_eq!(
                world.smf.query(world.sessions[number]),
                (packets * octets, packets * octets),
                "{number}"
            );
        }

        for number in all.clone() {
            world.smf.forward(world.sessions[number], tunnels(number)[1], GNB);
            world.down(number, tunnels(number)[1]);
            world.up(number);
        }
        until("silent rules move back", || world.placement().rules.software == 8);
        for number in all {
            assert_eq!([world.up(number), world.down(number, tunnels(number)[1])], [HOPS - 2; 2]);
            assert_eq!(world.smf.delete(world.sessions[number]), Some((2 * octets, 2 * octets)), "{number}");
        }
        assert_eq!(world.cables.rest(), []);
    });
}

// Input:  four UEs, two in each of two packet threads, behind a switch in front of the UPF and a firewall that denies two servers; packets to
//         and from a permitted one, and to a denied one; under traffic a reload with other rules, of which one denies that server, too; then
//         one without a firewall.
// Output: the switch has the rows of one firewall, once for both threads: those of the first, then those of the second, then none. It drops
//         what is denied, also while it goes from one firewall to the other; each packet is counted once. All others arrive.
#[test]
fn two_threads_share_the_rows_of_a_firewall() {
    in_namespace("switch::in_front::two_threads_share_the_rows_of_a_firewall", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let mut config = hybrid(&switch);
        config.upf.workers.count = WorkerCount::Exactly(2);
        let of_firewall = config.upf.switch.p4info.as_ref().unwrap();
        config.upf.switch.p4info = Some(of_firewall.with_file_name("hip4-hybrid-firewall.bmv2.txtpb"));
        let without = config.upf.clone();
        let [first, second, both] = [66, 67, 68].map(|host| Ipv4Addr::new(198, 51, 100, host));
        let denying = |server: Ipv4Addr| {
            let rules = format!("deny in ip from any to {server}\n      deny in ip from any to {both}\n");
            with(&without, &format!("    rules: |\n      {rules}"))
        };
        config.upf = denying(first);
        let mut world = World::of(&switch, &config, 4);
        let all = 0..world.sessions.len();
        for number in all.clone() {
            world.smf.forward(world.sessions[number], tunnels(number)[0], GNB);
        }
        let rows = || {
            ["uplink", "uplink_ipv6", "downlink", "downlink_ipv6"]
                .map(|table| switch.switch.entries_of(&format!("firewall_{table}")))
        };
        // Both rules and the default; the two rows of the link, and the default; the defaults.
        let of_one = [3, 3, 1, 1];
        until("the switch has the firewall", || rows() == of_one);
        world.move_to_switch();
        for number in all.clone() {
            world.denied(number, first);
            world.up(number);
        }
        until("the switch tells of the drops", || drops(&world.daemon, "firewall_uplink") == 4.0);

        reload(&world.daemon, denying(second));
        let (begin, mut rounds) = (Instant::now(), 0);
        // Some rounds more: a thread that comes late would bring rows of the first one back.
        while rounds < 20 {
            for number in all.clone() {
                world.denied(number, both);
                world.up(number);
                world.down(number, tunnels(number)[0]);
            }
            rounds += u32::from(rows() == of_one);
            assert!(begin.elapsed() < PATIENCE, "{:?}", rows());
        }
        for number in all.clone() {
            world.denied(number, second);
            world.up(number);
        }
        let denied = f64::from(world.denied);
        until("each drop is counted", || drops(&world.daemon, "firewall_uplink") == denied);

        reload(&world.daemon, without);
        until("the firewall is gone", || rows() == [0; 4]);
        let from = ue(0);
        let teid = world.sessions[0].uplink.teid;
        world.move_to_switch();
        for server in [first, second, both] {
            let user = packet(from, server, b"permitted");
            let frame = in_tunnel(teid, &user);
            switch.switch.receive(N3, &[&OWN[0].0[..], &frame[6..]].concat());
            assert_eq!(world.cables.next(N6), one_hop_on(user));
        }
        assert_eq!(drops(&world.daemon, "firewall_uplink"), denied);
        assert_eq!(world.cables.rest(), []);
    });
}

// Input:  a UPF with two packet threads, whose UEs have rules on the switch, ends without a word; another one with one thread, with none
//         of these sessions, comes to the same switch.
// Output: the switch has what it had before the first UE; a UE of the new one moves to it.
#[test]
fn rules_of_former_threads_are_removed() {
    in_namespace("switch::in_front::rules_of_former_threads_are_removed", || {
        let switch = Served::at("127.0.0.1:0".parse().unwrap());
        let model = switch.switch.clone();
        let mut world = World::with_threads(&switch, 2, 2);
        until("the switch is filled", || {
            let view: SwitchView = serde_json::from_str(&fetch(&world.daemon, "/api/v1/switch").1).unwrap();
            model.entries() >= 6 && !view.switch.expect("there is a switch").is_reconciling
        });
        let before = model.entries();
        (0..2).for_each(|number| world.smf.forward(world.sessions[number], tunnels(number)[0], GNB));
        world.move_to_switch();
        assert!(model.entries() >= before + 4);
        drop(world);

        let mut world = World::new(&switch);
        until("the former rules are gone", || model.entries() == before);
        world.smf.forward(world.sessions[0], tunnels(0)[0], GNB);
        world.move_to_switch();
    });
}

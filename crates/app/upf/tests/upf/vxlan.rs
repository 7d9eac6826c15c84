//! The daemon with data networks in VXLAN segments; the kernel's VXLAN devices, in another network namespace, are the routers of
//! two tenants. The firewall of all sessions.

use std::net::{Ipv4Addr, UdpSocket};

use causeway_types::{Bitrate, MacAddr, Qfi, Span, Teid};
use causeway_upf::config::{Config, DataPlane, N6Mode, Overrides, Session, Upf, VxlanSegment};
use causeway_upf::management::views::PlacementView;
use causeway_upf::{Daemon, open};

use crate::common::far::far_ends;
use crate::common::namespace::in_namespace;
use crate::common::smf::{self, Smf};
use crate::common::{UE, config, fetch, loopback, metric, packet, until};

const GNB: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 9);
const TENANTS: [(&str, u32, Ipv4Addr); 2] =
    [("tenant-a", 5, Ipv4Addr::new(172, 16, 5, 9)), ("tenant-b", 6, Ipv4Addr::new(172, 16, 6, 9))];

/// Two routers with the same route to the UEs, each in its table: each tenant has the whole pool.
const ROUTERS: &[&str] = &[
    "address add 192.0.2.9/24 dev far",
    "link set far up",
    "link add vx5 address 02:00:00:00:00:05 type vxlan id 5 dstport 4789 local 192.0.2.9 remote 192.0.2.1",
    "link add vx6 address 02:00:00:00:00:06 type vxlan id 6 dstport 4789 local 192.0.2.9 remote 192.0.2.1",
    "address add 172.16.5.9/24 dev vx5",
    "address add 172.16.6.9/24 dev vx6",
    "link set vx5 up",
    "link set vx6 up",
    "route add 10.45.0.0/16 via 172.16.5.1 table 5",
    "route add 10.45.0.0/16 via 172.16.6.1 table 6",
    "rule add from 172.16.5.9 table 5",
    "rule add from 172.16.6.9 table 6",
];

fn segments() -> Vec<VxlanSegment> {
    let segment = |(name, vni, router): (&str, u32, Ipv4Addr)| {
        let [.., net, _] = router.octets();
        VxlanSegment {
            name: name.into(),
            vni: vni.to_string().parse().unwrap(),
            local: [192, 0, 2, 1].into(),
            remote: [192, 0, 2, 9].into(),
            mac: MacAddr([2, 0, 0, 0, 0, 1]),
            next_hop: MacAddr([2, 0, 0, 0, 0, vni as u8]),
            address: Some([172, 16, net, 1].into()),
            address6: None,
        }
    };
    TENANTS.map(segment).into()
}

/// Both tenants in one UPF, with the same UE addresses.
fn tenants(workers: usize) -> Config {
    let mut config = config(loopback());
    config.upf.vxlan = segments();
    let session = |(name, ..): (&str, u32, Ipv4Addr)| Session {
        mode: N6Mode::Vxlan,
        gateway: None,
        dnn: name.into(),
        dev: name.into(),
        ..Session::default()
    };
    config.upf.session = TENANTS.map(session).into();
    config.upf.workers.count = causeway_upf::config::WorkerCount::Exactly(workers);
    config
}

struct World {
    daemon: Daemon,
    smf: Smf,
    sessions: Vec<smf::Session>,
    gnb: UdpSocket,
    servers: Vec<UdpSocket>,
    n3: Ipv4Addr,
}

fn world(config: &Config) -> World {
    let servers = far_ends("under", "192.0.2.1/24", ROUTERS, TENANTS.map(|(.., at)| (at, 2)).into());
    let gnb = UdpSocket::bind((GNB, 2152)).unwrap();
    gnb.set_read_timeout(Some(crate::common::PATIENCE)).unwrap();
    let daemon = Daemon::start(config).unwrap();
    let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
    smf.associate();
    let session = |(n, (name, ..)): (usize, (&str, u32, Ipv4Addr))| {
        let session = smf.establish_flow_in(UE, name, Qfi::from_low_bits(9));
        smf.forward(session, Teid::new(7 + n as u32).unwrap(), GNB);
        session
    };
    let sessions = TENANTS.into_iter().enumerate().map(session).collect();
    let Some(std::net::IpAddr::V4(n3)) = config.upf.gtpu.server[0].address else { panic!("no N3 address") };
    World { daemon, smf, sessions, gnb, servers, n3 }
}

impl World {
    fn uplink(&self, tenant: usize, to: Ipv4Addr, payload: &[u8]) {
        let user = packet(UE, to, payload);
        let teid = self.sessions[tenant].uplink.teid;
        let header = causeway_packet::gtpu::prefix::without_extensions(teid, user.len()).unwrap();
        self.gnb.send_to(&[&header[..], &user].concat(), (self.n3, 2152)).unwrap();
    }

    /// Both UEs send to the router of their tenant, and it answers.
    fn round(&self, round: u8) {
        let mut buffer = [0; 200];
        for (tenant, (.., router)) in TENANTS.into_iter().enumerate() {
            let payload = [tenant as u8, round, 9];
            self.uplink(tenant, router, &payload);
            let (len, from) = self.servers[tenant].recv_from(&mut buffer).unwrap();
            assert_eq!((&buffer[..len], from.ip()), (&payload[..], UE.into()));
            self.servers[tenant].send_to(&payload, from).unwrap();
            let len = self.gnb.recv(&mut buffer).unwrap();
            assert!(buffer[..len].ends_with(&payload), "{:02x?}", &buffer[..len]);
            assert_eq!(buffer[7], 7 + tenant as u8, "the tunnel of the other tenant");
        }
    }

    /// No server has got a packet of the other tenant.
    fn nothing_else(&self) {
        for server in &self.servers {
            server.set_nonblocking(true).unwrap();
            assert!(server.recv_from(&mut [0; 200]).is_err(), "a packet of the other tenant");
            server.set_nonblocking(false).unwrap();
        }
    }
}

/// Both UEs send to the router of their tenant in turns, and it answers.
fn both_tenants_talk(config: &Config) -> World {
    let mut world = world(config);
    (0..20).for_each(|round| world.round(round));
    for session in world.sessions.clone() {
        assert_eq!(world.smf.query(session), (20 * 31, 20 * 31));
    }
    world.nothing_else();
    world
}

// Input:  one UE address in two tenants, whose data networks are VXLAN segments of one endpoint; packets in both
//         directions, in turns.
// Output: each packet arrives at its own tenant, each answer in the tunnel of its own session; usage is that of each session.
#[test]
fn tenants_with_the_same_addresses_never_meet() {
    in_namespace("vxlan::tenants_with_the_same_addresses_never_meet", || {
        drop(both_tenants_talk(&tenants(1)));
    });
}

// Input:  the same with two packet threads.
// Output: the same.
#[test]
fn tenants_never_meet_on_two_packet_threads() {
    in_namespace("vxlan::tenants_never_meet_on_two_packet_threads", || drop(both_tenants_talk(&tenants(2))));
}

// Input:  the same on the model of a switch, between the ports of both segments.
// Output: the same.
#[test]
fn tenants_never_meet_on_a_switch_in_process() {
    in_namespace("vxlan::tenants_never_meet_on_a_switch_in_process", || {
        let mut config = tenants(1);
        config.upf.dataplane = DataPlane::Switch;
        drop(both_tenants_talk(&config));
    });
}

// Input:  the same on a hybrid UPF, whose rules move to the switch at the lowest rate; both UEs go on until all four rules are there.
// Output: the same, whichever side forwards a packet: the switch tells the tenants apart, and each answer is in the tunnel of its own session.
#[test]
fn tenants_never_meet_on_a_hybrid_upf() {
    in_namespace("vxlan::tenants_never_meet_on_a_hybrid_upf", || {
        let mut config = tenants(1);
        config.upf.dataplane = DataPlane::Hybrid;
        config.upf.hybrid.promote_at = Bitrate::from_kbps(1).unwrap();
        config.upf.hybrid.demote_after = Span::from_secs(60);
        let world = both_tenants_talk(&config);
        let placement = || -> PlacementView {
            serde_json::from_str(&fetch(&world.daemon, "/api/v1/placement").1).unwrap()
        };
        let mut round = 0_u8;
        until("the rules of both UEs are on the switch", || {
            round = round.wrapping_add(1);
            world.round(round);
            placement().rules.switch == 4
        });
        let before = placement().switch.packets;
        (0..5).for_each(|more| world.round(more));
        assert_eq!(placement().switch.packets - before, 20);
        world.nothing_else();
    });
}

// Input:  a firewall that denies the router of the first tenant its answers, put into force by a reload; then one that denies the
//         uplink by default; then none.
// Output: what is denied is counted under its direction and is no usage; the other tenant goes on; after the last reload all passes.
#[test]
fn the_firewall_follows_a_reload() {
    const NAME: &str = "vxlan::the_firewall_follows_a_reload";
    in_namespace(NAME, || {
        let config = tenants(1);
        let mut world = world(&config);
        let with = |firewall: &str| -> Upf {
            let text = format!("upf:\n  firewall:\n{firewall}");
            let read = Config::parse(None, &text, &Overrides::default()).unwrap();
            Upf { firewall: read.upf.firewall, ..config.upf.clone() }
        };
        let reload = |world: &mut World, next: Upf| {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let reloaded = runtime.block_on(world.daemon.reload(next)).unwrap();
            assert!(reloaded.at_restart.is_empty() && !reloaded.applied.is_empty(), "{reloaded:?}");
            // A packet thread executes what it is told in order: now it has the firewall.
            world.smf.query(world.sessions[1]);
        };
        let drops = |daemon: &Daemon, reason: &str| {
            metric(daemon, &format!("causeway_drop_total{{reason=\"{reason}\"}}"))
        };
        reload(&mut world, with("    rules: |\n      deny out udp from 172.16.5.9 2 to any\n"));
        let mut buffer = [0; 200];
        for (tenant, (.., router)) in TENANTS.into_iter().enumerate() {
            world.uplink(tenant, router, b"question");
            let (_, from) = world.servers[tenant].recv_from(&mut buffer).unwrap();
            world.servers[tenant].send_to(b"answer", from).unwrap();
        }
        let len = world.gnb.recv(&mut buffer).unwrap();
        assert!(buffer[..len].ends_with(b"answer") && buffer[7] == 8, "{:02x?}", &buffer[..len]);
        until("the answer is denied", || drops(&world.daemon, "firewall_downlink") == 1.0);
        let first = world.sessions[0];
        assert_eq!(world.smf.query(first), (36, 0));
        reload(&mut world, with("    uplink: deny\n"));
        world.uplink(1, TENANTS[1].2, b"question");
        until("the question is denied", || drops(&world.daemon, "firewall_uplink") == 1.0);
        reload(&mut world, config.upf.clone());
        world.uplink(0, TENANTS[0].2, b"again");
        let (len, from) = world.servers[0].recv_from(&mut buffer).unwrap();
        assert_eq!(&buffer[..len], b"again");
        world.servers[0].send_to(b"answer", from).unwrap();
        assert_eq!(world.gnb.recv(&mut buffer).map(|_| buffer[7]).unwrap(), 7);
    });
}

// Input:  a segment whose local address this host does not have; segments that a data network does not find, of two IP versions,
//         and with one VNI twice.
// Output: errors that name the key.
#[test]
fn errors_name_the_segment() {
    let mut config = tenants(1);
    config.upf.vxlan[0].local = [192, 0, 2, 77].into();
    let error = open::ports(&config).err().unwrap().to_string();
    assert!(error.contains("upf.session[0].dev") && error.contains("192.0.2.77"), "{error}");
    let text = "{upf: {vxlan: [{name: a, vni: 5, local: 192.0.2.1, remote: '2001:db8::9', mac: 02:00:00:00:00:01, \
                next_hop: 02:00:00:00:00:02}, {name: b, vni: 5, local: 192.0.2.1, remote: 192.0.2.9, \
                mac: 02:00:00:00:00:01, next_hop: 02:00:00:00:00:02}], \
                session: [{subnet: 10.45.0.0/16, mode: vxlan, dev: c}]}}";
    let error = Config::parse(None, text, &Overrides::default()).unwrap_err().to_string();
    for part in [
        "upf.vxlan[0].remote",
        "VNI 5 at 192.0.2.1 is already that of upf.vxlan[0].vni",
        "no item of upf.vxlan has the name c",
    ] {
        assert!(error.contains(part), "{error}");
    }
}

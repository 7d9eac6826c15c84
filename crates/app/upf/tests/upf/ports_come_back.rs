//! Interfaces and addresses that go while the daemon runs, in a network namespace of its own: the ports come back with them, and
//! the others go on.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use causeway_pfcp::Cause;
use causeway_types::Teid;
use causeway_upf::config::{Config, EthernetNetwork, GtpuMode, GtpuServer, N6Mode, Session, WorkerCount};
use causeway_upf::{Daemon, open};

use crate::common::namespace::{in_namespace, in_namespace_of_root, ip};
use crate::common::smf::{Session as Established, Smf};
use crate::common::{Gnb, UE, config, loopback, metric, until};

/// The gateway and a UE of the second network.
const SECOND: (Ipv4Addr, Ipv4Addr) = (Ipv4Addr::new(10, 46, 0, 1), Ipv4Addr::new(10, 46, 0, 2));
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// A daemon with a network behind a device that stays, and what the test is about.
struct Environment {
    daemon: Daemon,
    smf: Smf,
    gnb: Gnb,
    second: Established,
}

impl Environment {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        Self::with(Gnb::new(), change)
    }

    fn with(gnb: Gnb, change: impl FnOnce(&mut Config)) -> Self {
        let mut config = with_second();
        change(&mut config);
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let second = smf.establish_counting(SECOND.1);
        smf.forward(second, Teid::new(8).unwrap(), gnb.address);
        Self { daemon, smf, gnb, second }
    }

    /// The daemon answers, and the second network carries packets to the gNB.
    fn others_go_on(&mut self) {
        self.smf.heartbeat();
        let host = UdpSocket::bind((SECOND.0, 0)).unwrap();
        host.send_to(b"to the second", (SECOND.1, 9)).unwrap();
        let datagram = self.gnb.receive();
        assert!(datagram.ends_with(b"to the second"), "{datagram:02x?}");
    }

    fn times(&self, port: &str, event: &str) -> f64 {
        metric(&self.daemon, &format!("causeway_port_events_total{{port=\"{port}\",event=\"{event}\"}}"))
    }

    fn until_times(&self, port: &str, event: &str, times: f64) {
        until(&format!("{port} {event}"), || self.times(port, event) == times);
    }
}

fn with_second() -> Config {
    let mut config = config(loopback());
    let framed_routes = vec!["172.16.0.0/12".parse().unwrap()];
    let first = Session { dev: "n6first".into(), framed_routes, ..Session::default() };
    let second = Session {
        subnet: "10.46.0.0/16".parse().unwrap(),
        gateway: Some(SECOND.0.into()),
        dnn: "second".into(),
        dev: "n6second".into(),
        ..Session::default()
    };
    config.upf.session = vec![first, second];
    config
}

fn shown(words: &str) -> String {
    let output = Command::new("ip").args(words.split(' ')).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// A link with an address, up at both ends.
fn connect(name: &str, address: &str) {
    ip(&format!("link add {name} type veth peer name {name}-peer"));
    ip(&format!("link set {name} up"));
    ip(&format!("link set {name}-peer up"));
    ip(&format!("address add {address} dev {name}"));
}

// Input:  two networks, a session in each, a framed route in the first; the first one's TUN device is deleted, with one packet
//         thread and with two.
// Output: the daemon answers and the second network goes on; the device is made again with its address, and packets to the UE
//         and to its framed route reach the gNB as before; loss and return are counted.
#[test]
fn a_tun_device_that_is_deleted_comes_back() {
    in_namespace("ports_come_back::a_tun_device_that_is_deleted_comes_back", || {
        for workers in [1, 2] {
            let mut environment =
                Environment::new(|config| config.upf.workers.count = WorkerCount::Exactly(workers));
            let session = environment.smf.establish();
            environment.smf.forward(session, Teid::new(7).unwrap(), environment.gnb.address);
            environment.smf.add_framed_route(session, "172.16.5.0/24");
            let reaches = |environment: &Environment, to: Ipv4Addr| {
                let host = UdpSocket::bind((FIRST, 0)).unwrap();
                host.send_to(b"to the first", (to, 9)).unwrap();
                assert!(environment.gnb.receive().ends_with(b"to the first"));
            };
            reaches(&environment, UE);
            ip("link del n6first");
            environment.others_go_on();
            environment.until_times("n6-n6first", "lost", 1.0);
            environment.until_times("n6-n6first", "reopened", 1.0);
            environment.others_go_on();
            until("the address is there", || shown("address show dev n6first").contains("10.45.0.1/16"));
            until("the route is there", || shown("route show table 8805").contains("172.16.5.0/24"));
            reaches(&environment, UE);
            reaches(&environment, Ipv4Addr::new(172, 16, 5, 9));
            assert!(environment.smf.delete(environment.second).is_some());
        }
    });
}

// Input:  a TUN device with an IPv6 address and a route to a pool without a gateway goes down and comes up, which makes the kernel
//         forget both.
// Output: they are there again.
#[test]
fn addresses_and_routes_come_back_with_a_tun_device() {
    in_namespace("ports_come_back::addresses_and_routes_come_back_with_a_tun_device", || {
        let mut environment = Environment::new(|config| {
            let first = config.upf.session[0].clone();
            let more = |subnet: &str, gateway: Option<&str>| Session {
                subnet: subnet.parse().unwrap(),
                gateway: gateway.map(|ip| ip.parse().unwrap()),
                framed_routes: Vec::new(),
                ..first.clone()
            };
            config.upf.session.push(more("2001:db8:45::/48", Some("2001:db8:45::1")));
            config.upf.session.push(more("10.47.0.0/16", None));
        });
        let is_whole = || {
            shown("-6 address show dev n6first").contains("2001:db8:45::1/48")
                && shown("route show").contains("10.47.0.0/16 dev n6first")
        };
        assert!(is_whole());
        ip("link set n6first down");
        assert!(!is_whole());
        environment.others_go_on();
        ip("link set n6first up");
        until("addresses and routes are there", is_whole);
        assert_eq!(environment.times("n6-n6first", "lost"), 0.0);
    });
}

// Input:  the TAP device of an Ethernet network is deleted.
// Output: the daemon and the others go on, and it is made again.
#[test]
fn a_tap_device_that_is_deleted_comes_back() {
    in_namespace("ports_come_back::a_tap_device_that_is_deleted_comes_back", || {
        let lan = EthernetNetwork { dev: "n6tap".into(), ..EthernetNetwork::new("lan") };
        let mut environment = Environment::new(|config| config.upf.ethernet = vec![lan]);
        ip("link del n6tap");
        environment.others_go_on();
        environment.until_times("n6-n6tap", "reopened", 1.0);
        until("the device is up", || shown("link show dev n6tap").contains("UP"));
        assert_eq!(environment.times("n6-n6tap", "lost"), 1.0);
        environment.others_go_on();
    });
}

// Input:  N3 on packet rings, whose interface is deleted, and made anew some time later.
// Output: N4 goes on, sessions too; the port comes back with the interface.
#[test]
fn packet_rings_come_back_with_their_interface() {
    in_namespace("ports_come_back::packet_rings_come_back_with_their_interface", || {
        connect("n3", "192.0.2.1/24");
        let mut config = with_second();
        config.upf.gtpu.mode = GtpuMode::Tpacket;
        config.upf.gtpu.server = vec![GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() }];
        let daemon = Daemon::start(&config).unwrap();
        let times = |event: &str| {
            metric(&daemon, &format!("causeway_port_events_total{{port=\"n3-n3\",event=\"{event}\"}}"))
        };
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let session = smf.establish();
        ip("link del n3");
        until("it is lost", || times("lost") == 1.0);
        smf.heartbeat();
        connect("n3", "192.0.2.1/24");
        until("it is back", || times("reopened") == 1.0);
        smf.forward(session, Teid::new(7).unwrap(), Ipv4Addr::new(192, 0, 2, 9));
        smf.heartbeat();
    });
}

// Input:  N6 on AF_XDP sockets, whose interface is deleted, and made anew.
// Output: N4 goes on; the port comes back with the interface.
#[test]
fn af_xdp_sockets_come_back_with_their_interface() {
    const NAME: &str = "ports_come_back::af_xdp_sockets_come_back_with_their_interface";
    in_namespace_of_root(NAME, || {
        connect("n6x", "198.51.100.2/24");
        let mut config = config(loopback());
        let dev = "n6x".to_owned();
        config.upf.session = vec![Session { mode: N6Mode::AfXdp, gateway: None, dev, ..Session::default() }];
        let error = open::ports(&config).err().map(|error| error.to_string()).unwrap_or_default();
        if error.contains("permission denied") || error.contains("has no AF_XDP") {
            eprintln!("SKIPPED {NAME}: needs root (AF_XDP: {error})");
            return;
        }
        let daemon = Daemon::start(&config).unwrap();
        let times = |event: &str| {
            metric(&daemon, &format!("causeway_port_events_total{{port=\"n6-n6x\",event=\"{event}\"}}"))
        };
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        ip("link del n6x");
        until("it is lost", || times("lost") == 1.0);
        smf.heartbeat();
        connect("n6x", "198.51.100.2/24");
        until("it is back", || times("reopened") == 1.0);
        assert_eq!(smf.try_establish(UE), Cause::RequestAccepted);
    });
}

// Input:  N3 on a UDP socket, whose address vanishes from its interface and comes back.
// Output: N4 goes on; packets for the gNB are counted as lost meanwhile, and reach it afterwards.
#[test]
fn a_udp_socket_serves_again_when_its_address_is_back() {
    in_namespace("ports_come_back::a_udp_socket_serves_again_when_its_address_is_back", || {
        ip("address add 192.0.2.1/32 dev lo");
        // A UPF whose address is not of loopback has no peers there.
        connect("gnb", "198.51.100.2/24");
        let gnb = Gnb::at(Ipv4Addr::new(198, 51, 100, 2));
        let address = Some(Ipv4Addr::new(192, 0, 2, 1).into());
        let server = GtpuServer { address, ..GtpuServer::default() };
        let mut environment = Environment::with(gnb, |config| config.upf.gtpu.server = vec![server]);
        environment.others_go_on();
        ip("address del 192.0.2.1/32 dev lo");
        let host = UdpSocket::bind((SECOND.0, 0)).unwrap();
        host.send_to(b"lost", (SECOND.1, 9)).unwrap();
        let failed = || {
            let of = |event: &str| {
                let port = "n3-192.0.2.1";
                metric(
                    &environment.daemon,
                    &format!("causeway_port_packets_total{{port=\"{port}\",event=\"{event}\"}}"),
                )
            };
            of("tx_bad_source") + of("tx_no_route") + of("tx_error")
        };
        until("the packet is counted", || failed() > 0.0);
        environment.smf.heartbeat();
        ip("address add 192.0.2.1/32 dev lo");
        environment.others_go_on();
    });
}

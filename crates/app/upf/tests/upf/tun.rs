//! The daemon with a real TUN device, in a network namespace of its own.
//!
//! Each test runs itself again inside `unshare`. Where that is not permitted it says by name that it is skipped.

use std::net::{Ipv4Addr, UdpSocket};
use std::process::Command;

use causeway_ports::netlink::Netlink;
use causeway_ports::tun::{TunOptions, TunPort};
use causeway_types::Teid;
use causeway_upf::config::{Config, Firewall, GtpuMode, GtpuServer, Overrides, Session};
use causeway_upf::{Daemon, StartError, open};

use crate::common::far::far_end;
use crate::common::namespace::{in_namespace, in_namespace_of_root, ip};
use crate::common::smf::Smf;
use crate::common::{Gnb, PATIENCE, UE, config, loopback, metric, packet, until};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const DEVICE: &str = "n6test";

fn device() -> Option<causeway_ports::netlink::Link> {
    Netlink::open().unwrap().link(DEVICE).unwrap()
}

fn sessions() -> Vec<Session> {
    let v4 = Session { dev: DEVICE.into(), mtu: 1380, ..Session::default() };
    let v6 = Session {
        subnet: "2001:db8:cafe::/48".parse().unwrap(),
        gateway: "2001:db8:cafe::1".parse().ok(),
        ..v4.clone()
    };
    vec![v4, v6]
}

// Input:  an IPv4 and an IPv6 pool on a device that does not exist; a UE that talks to the gateway.
// Output: the device comes up with both addresses and its MTU, packets cross both ways, and it goes with
//         the daemon.
#[test]
fn user_traffic_crosses_a_tun_device_that_comes_and_goes() {
    in_namespace("tun::user_traffic_crosses_a_tun_device_that_comes_and_goes", || {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.session = sessions();
        let daemon = Daemon::start(&config).unwrap();
        let link = device().expect("the device exists");
        assert!(link.up);
        assert_eq!(link.mtu, 1380);
        let addresses = Netlink::open().unwrap().addresses().unwrap();
        let ours: Vec<String> = addresses
            .iter()
            .filter(|(index, _)| *index == link.index)
            .map(|(_, net)| net.to_string())
            .collect();
        for expected in ["10.45.0.1/16", "2001:db8:cafe::1/48"] {
            assert!(ours.iter().any(|address| address == expected), "{expected} is not in {ours:?}");
        }

        let server = UdpSocket::bind((GATEWAY, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = smf.establish();
        smf.forward(session, Teid::new(7).unwrap(), gnb.address);
        gnb.send(upf, session.uplink.teid, &packet(UE, GATEWAY, b"question"));
        let mut buffer = [0; 64];
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip(), from.port()), (&b"question"[..], UE.into(), 1));
        server.send_to(b"reply", from).unwrap();
        let datagram = gnb.receive();
        assert!(datagram.ends_with(b"reply"), "{datagram:02x?}");

        drop(daemon);
        assert_eq!(device(), None);
    });
}

// Input:  a TUN device that another daemon holds, and a name that an interface of another kind has.
// Output: one line each that says so and what to do.
#[test]
fn a_device_that_cannot_be_had_is_named_with_the_cure() {
    in_namespace("tun::a_device_that_cannot_be_had_is_named_with_the_cure", || {
        let start = |dev: &str| -> Result<Daemon, StartError> {
            let mut config = config(loopback());
            config.upf.session = vec![Session { dev: dev.into(), ..Session::default() }];
            Daemon::start(&config)
        };
        let first = start(DEVICE).unwrap();
        let error = start(DEVICE).unwrap_err().to_string();
        assert!(
            error.starts_with("upf.session[0].dev: TUN device n6test is in use: stop the process"),
            "{error}"
        );
        assert!(device().is_some());
        drop(first);
        let error = start("lo").unwrap_err().to_string();
        assert!(
            error.starts_with("upf.session[0].dev: interface lo exists and is not a TUN device"),
            "{error}"
        );
    });
}

/// The routes of the main table, both IP versions.
fn main_routes() -> String {
    let of = |version| Command::new("ip").args([version, "route"]).output().unwrap().stdout;
    String::from_utf8([of("-4"), of("-6")].concat()).unwrap()
}

// Input:  a host with routes to a pool, of both IP versions and at several metrics; pools around, in and equal to the network of
//         an interface; the same pools in a reload. Then a device that the operator made, which a UPF leaves with its routes.
// Output: one line with the key, the pool, what it would take and what to do; no route of the host has changed, and the reload leaves
//         the configuration as it was. The device that was left serves the next UPF.
#[test]
fn pools_take_nothing_from_the_host() {
    in_namespace("tun::pools_take_nothing_from_the_host", || {
        ip("link add up0 type veth peer name up1");
        ip("address add 192.0.2.9/24 dev up0");
        ip("link set up0 up");
        ip("route add 10.45.0.0/16 via 192.0.2.1");
        ip("route add 10.46.0.0/16 dev up0 metric 50");
        ip("route add 2001:db8:45::/48 dev up0");
        let route = |net: &str, leads: &str| {
            let remedy = format!("choose another subnet, or remove that route: `ip route del {net}`");
            format!("{net} is routed {leads} already: {remedy}")
        };
        let network = |net: &str| {
            format!(
                "{net} overlaps 192.0.2.9/24 of up0: choose a subnet that no interface of this host uses; if up0"
            )
        };
        let cases = [
            ("10.45.0.0/16", route("10.45.0.0/16", "via 192.0.2.1 on up0")),
            ("10.46.0.0/16", route("10.46.0.0/16", "on up0")),
            ("2001:db8:45::/48", route("2001:db8:45::/48", "on up0")),
            ("192.0.0.0/16", network("192.0.0.0/16")),
            ("192.0.2.0/24", network("192.0.2.0/24")),
            ("192.0.2.128/25", network("192.0.2.128/25")),
        ];
        let with = |subnets: &[&str]| {
            let pool = |subnet: &&str| Session {
                subnet: subnet.parse().unwrap(),
                gateway: None,
                dev: DEVICE.into(),
                ..Session::default()
            };
            let mut config = config(loopback());
            config.upf.session = subnets.iter().map(pool).collect();
            config
        };
        let before = main_routes();
        for (subnet, why) in &cases {
            let error = Daemon::start(&with(&["10.99.0.0/16", subnet])).unwrap_err().to_string();
            assert!(error.starts_with(&format!("upf.session[1].subnet: {why}")), "{error}");
            assert_eq!((main_routes(), device()), (before.clone(), None));
        }
        let daemon = Daemon::start(&with(&["10.99.0.0/16"])).unwrap();
        let before = main_routes();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (subnet, why) in &cases {
            let next = with(&["10.98.0.0/16", subnet, "10.99.0.0/16"]).upf;
            let error = runtime.block_on(daemon.reload(next)).unwrap_err().to_string();
            assert!(error.starts_with(&format!("upf.session[1].subnet: {why}")), "{error}");
            assert_eq!(main_routes(), before);
        }
        let next = with(&["10.98.0.0/16", "10.99.0.0/16"]).upf;
        assert_eq!(
            runtime.block_on(daemon.reload(next)).unwrap().applied,
            ["upf.session: 10.98.0.0/16 added"]
        );
        drop(daemon);
        ip(&format!("tuntap add dev {DEVICE} mode tun"));
        for _ in 0..2 {
            drop(Daemon::start(&with(&["10.99.0.0/16"])).unwrap());
            assert!(main_routes().contains(&format!("10.99.0.0/16 dev {DEVICE}")), "{}", main_routes());
        }
    });
}

// Input:  IPv6 switched off in the kernel: an IPv4 and an IPv6 pool, on a device that does not exist and on one that does; the
//         latter loses IPv6 while a port is open.
// Output: the error names the IPv6 pool and the setting, the doctor finds both; a device that is restored says the same.
#[test]
fn ipv6_that_is_switched_off_is_named() {
    in_namespace("tun::ipv6_that_is_switched_off_is_named", || {
        let set = |of: &str, value| {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{of}/disable_ipv6"), value).unwrap();
        };
        let mut config = config(loopback());
        config.upf.session = sessions();
        set("all", "1");
        let state = "2001:db8:cafe::/48 needs IPv6, which the kernel has switched off (net.ipv6.conf.all.disable_ipv6 is 1)";
        let remedy = "`sysctl -w net.ipv6.conf.all.disable_ipv6=0`, and a file in /etc/sysctl.d to keep it; or remove the pool";
        for gateway in ["2001:db8:cafe::1".parse().ok(), None] {
            config.upf.session[1].gateway = gateway;
            let error = Daemon::start(&config).unwrap_err().to_string();
            assert_eq!(error, format!("upf.session[1].subnet: {state}: {remedy}"));
            let findings = causeway_upf::doctor::examine(&config.upf);
            let found = findings.iter().find(|finding| finding.subject == "upf.session[1].subnet").unwrap();
            assert_eq!((&*found.state, found.remedy.as_deref()), (state, Some(remedy)));
            ip(&format!("tuntap add dev {DEVICE} mode tun"));
            assert_eq!(Daemon::start(&config).unwrap_err().to_string(), error);
            ip(&format!("link delete {DEVICE}"));
        }
        set("all", "0");
        let options = TunOptions {
            device: DEVICE.into(),
            addresses: vec!["2001:db8:cafe::1/48".parse().unwrap()],
            ..TunOptions::default()
        };
        let _port = TunPort::open("n6", &options).unwrap();
        set(DEVICE, "1");
        assert_eq!(
            TunPort::restore(&options).unwrap_err().to_string(),
            "2001:db8:cafe::1/48 cannot be on n6test, where IPv6 is switched off: `sysctl -w net.ipv6.conf.n6test.disable_ipv6=0`"
        );
    });
}

// Input:  mode tpacket on an Ethernet interface with an IPv4 and an IPv6 address, and on one of another kind.
// Output: GTP-U has both addresses there; the other is named with the cure.
#[test]
fn gtpu_can_run_on_packet_rings() {
    in_namespace("tun::gtpu_can_run_on_packet_rings", || {
        for args in [
            &["link", "add", "n3a", "type", "veth", "peer", "name", "n3b"][..],
            &["address", "add", "192.0.2.1/24", "dev", "n3a"],
            &["address", "add", "2001:db8::1/64", "dev", "n3a", "nodad"],
            &["link", "set", "n3a", "up"],
            &["link", "set", "n3b", "up"],
        ] {
            assert!(Command::new("ip").args(args).status().unwrap().success(), "{args:?}");
        }
        let mut config = config(loopback());
        config.upf.gtpu.mode = GtpuMode::Tpacket;
        let on = |dev: &str| GtpuServer { dev: Some(dev.into()), ..GtpuServer::default() };
        config.upf.gtpu.server = vec![on("n3a")];
        let topology = open::gtpu_ports(&config).unwrap().topology();
        let shown: Vec<String> = topology.gtpu.iter().map(|endpoint| endpoint.addr.to_string()).collect();
        assert_eq!(shown, ["192.0.2.1/2001:db8::1"]);
        config.upf.gtpu.server = vec![on("lo")];
        let error = open::gtpu_ports(&config).err().unwrap().to_string();
        assert_eq!(
            error,
            "upf.gtpu.server[0]: interface lo is not Ethernet: use a port above IP (udp or tun) on it"
        );
    });
}

// Input:  a session whose downlink PDR gets a framed route; a packet from this host to an address on it; then the
//         session ends.
// Output: the kernel routes the prefix to the device and the packet arrives at the gNB in the UE's tunnel; the route
//         goes soon after the session.
#[test]
fn a_framed_route_leads_through_the_kernel() {
    in_namespace("tun::a_framed_route_leads_through_the_kernel", || {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.session = sessions();
        config.upf.session[0].framed_routes = vec!["172.16.0.0/12".parse().unwrap()];
        let daemon = Daemon::start(&config).unwrap();
        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = smf.establish();
        smf.forward(session, Teid::new(7).unwrap(), gnb.address);
        assert!(!routes().contains("172.16.5.0/24"));
        smf.add_framed_route(session, "172.16.5.0/24 0.0.0.0 1");
        let line = routes().lines().find(|line| line.starts_with("172.16.5.0/24")).map(str::to_owned);
        assert!(line.is_some_and(|line| line.contains(DEVICE)), "{}", routes());
        let host = UdpSocket::bind((GATEWAY, 0)).unwrap();
        host.send_to(b"behind the UE", (Ipv4Addr::new(172, 16, 5, 77), 9)).unwrap();
        let datagram = gnb.receive();
        assert!(datagram.ends_with(b"behind the UE"), "{datagram:02x?}");
        smf.delete(session);
        until("the route goes with the session", || !routes().contains("172.16.5.0/24"));
    });
}

fn routes() -> String {
    let listed = Command::new("ip").args(["route", "show", "table", "8805"]).output().unwrap();
    String::from_utf8(listed.stdout).unwrap()
}

/// The tables of nftables; `None`: there is no `nft`.
pub(super) fn nat_tables() -> Option<String> {
    let output = Command::new("nft").args(["list", "tables"]).output().ok()?;
    Some(String::from_utf8(output.stdout).unwrap())
}

// Input:  a pool with `nat: true`, with the table of a killed UPF; a UE that sends to a server without a route to the pool; a
//         pool of mode af_xdp with `nat: true`.
// Output: the server sees the address of the UPF's interface, and its response reaches the UE; the table goes with the daemon;
//         an error that names the key.
#[test]
fn addresses_of_ues_are_translated() {
    const TEST: &str = "tun::addresses_of_ues_are_translated";
    in_namespace_of_root(TEST, || {
        if nat_tables().is_none() {
            return eprintln!("SKIPPED {TEST}: needs nft (not on PATH)");
        }
        let on_server = &["link set far up", "address add 198.51.100.1/24 dev far"];
        let server = far_end("n6", "198.51.100.9/24", on_server, (Ipv4Addr::new(198, 51, 100, 1), 2));
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").unwrap();
        let left = Command::new("nft").args(["add", "table", "ip", "causeway-n6test-0"]).status().unwrap();
        assert!(left.success());
        let upf = loopback();
        let mut config = config(upf);
        config.upf.session = vec![Session { dev: DEVICE.into(), nat: true, ..Session::default() }];
        let daemon = Daemon::start(&config).unwrap();
        assert_eq!(nat_tables().unwrap(), "table ip causeway-n6test-0\n");

        let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
        smf.associate();
        let session = smf.establish();
        smf.forward(session, Teid::new(7).unwrap(), gnb.address);
        gnb.send(upf, session.uplink.teid, &packet(UE, Ipv4Addr::new(198, 51, 100, 1), b"question"));
        let mut buffer = [0; 64];
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip()), (&b"question"[..], Ipv4Addr::new(198, 51, 100, 9).into()));
        server.send_to(b"reply", from).unwrap();
        let datagram = gnb.receive();
        assert!(datagram.ends_with(b"reply"), "{datagram:02x?}");

        drop(daemon);
        assert_eq!(nat_tables().unwrap(), "");
    });
}

/// The firewall that docs/security.md shows against packets between UEs.
fn firewall_of_the_page() -> Firewall {
    let page = include_str!("../../../../../docs/security.md");
    let text =
        page.split("```yaml\n").find(|block| block.contains("deny in ip from any to 10.45.0.0/16")).unwrap();
    let text = text.split("```").next().unwrap();
    Config::parse(None, text, &Overrides::default()).unwrap().upf.firewall
}

// Input:  a UE that sends to another UE of its pool and then to the gateway, which sends to that UE: while the kernel forwards;
//         the same with the firewall of docs/security.md; then without the firewall, and the kernel does not forward.
// Output: the other UE gets the first UE's packet before that of the gateway; then only that of the gateway, and one packet is
//         counted as denied; then only that of the gateway, and none is counted.
#[test]
fn ues_reach_each_other_unless_a_rule_denies_it() {
    const TEST: &str = "tun::ues_reach_each_other_unless_a_rule_denies_it";
    const OTHER: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
    in_namespace_of_root(TEST, || {
        let got = |forward: &str, firewall: Firewall| -> (Vec<&'static str>, f64) {
            std::fs::write("/proc/sys/net/ipv4/ip_forward", forward).unwrap();
            let upf = loopback();
            let mut config = config(upf);
            config.upf.session = vec![Session { dev: DEVICE.into(), ..Session::default() }];
            config.upf.firewall = firewall;
            let daemon = Daemon::start(&config).unwrap();
            let gateway = UdpSocket::bind((GATEWAY, 2)).unwrap();
            gateway.set_read_timeout(Some(PATIENCE)).unwrap();
            let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
            smf.associate();
            let [session, other] = [UE, OTHER].map(|ue| smf.establish_counting(ue));
            smf.forward(session, Teid::new(7).unwrap(), gnb.address);
            smf.forward(other, Teid::new(8).unwrap(), gnb.address);
            gnb.send(upf, session.uplink.teid, &packet(UE, OTHER, b"from a UE"));
            gnb.send(upf, session.uplink.teid, &packet(UE, GATEWAY, b"question"));
            let mut buffer = [0; 64];
            assert_eq!(gateway.recv(&mut buffer).unwrap(), b"question".len());
            gateway.send_to(b"from the gateway", (OTHER, 1)).unwrap();
            let mut texts = Vec::new();
            while texts.last() != Some(&"from the gateway") {
                let datagram = gnb.receive();
                // The kernel may send the first UE an ICMP redirect, which quotes its packet.
                let is_to_other = datagram[4..8] == [0, 0, 0, 8];
                let known = ["from a UE", "from the gateway"];
                texts.extend(
                    known.into_iter().filter(|text| is_to_other && datagram.ends_with(text.as_bytes())),
                );
            }
            (texts, metric(&daemon, "causeway_drop_total{reason=\"firewall_uplink\"}"))
        };
        assert_eq!(got("1", Firewall::default()), (vec!["from a UE", "from the gateway"], 0.0));
        assert_eq!(got("1", firewall_of_the_page()), (vec!["from the gateway"], 1.0));
        assert_eq!(got("0", Firewall::default()), (vec!["from the gateway"], 0.0));
    });
}

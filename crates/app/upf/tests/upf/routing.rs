//! The daemon as a router: ICMP leaves by real sockets and TUN devices, and the keys of routing are read.

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::os::fd::AsFd;

use causeway_packet::gtpu;
use causeway_packet::icmp::{Icmpv4, Icmpv4Message};
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_packet::{IpProtocol, Ipv4, Ipv4Repr};
use causeway_pfcp::NodeReportType;
use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{Config, EchoConfig, Session};
use rustix::net::sockopt::{Ipv4PathMtuDiscovery, set_ip_mtu_discover};

use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::Smf;
use crate::common::{Gnb, PATIENCE, SERVER, UE, config, loopback, packet};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);

/// A daemon with a TUN device and a session of the UE, and where its uplink goes.
struct Network {
    _daemon: Daemon,
    upf: Ipv4Addr,
    gnb: Gnb,
    uplink: Teid,
    smf: Smf,
}

fn start(change: impl FnOnce(&mut Config)) -> Network {
    let upf = loopback();
    let mut config = config(upf);
    config.upf.session = vec![Session { dev: "n6test".into(), mtu: 1400, ..Session::default() }];
    change(&mut config);
    let daemon = Daemon::start(&config).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), daemon.pfcp_addresses()[0]), Gnb::new());
    smf.associate();
    let session = smf.establish();
    smf.forward(session, Teid::new(7).unwrap(), gnb.address);
    Network { _daemon: daemon, upf, gnb, uplink: session.uplink.teid, smf }
}

impl Network {
    /// The user packet that arrives at the gNB next, in a tunnel without container.
    fn at_gnb(&self) -> Vec<u8> {
        self.gnb.receive()[8..].to_vec()
    }
}

/// A UDP packet of so many octets in all.
fn of_size(src: Ipv4Addr, octets: usize, df: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = Ipv4Repr { dont_fragment: df, ..Ipv4Repr::new(src, SERVER, IpProtocol::UDP) };
    let mut segment = vec![0; octets - 20];
    segment[..6].copy_from_slice(&[0, 1, 0, 2, ((octets - 20) >> 8) as u8, (octets - 20) as u8]);
    header.write(&[], &segment, &mut bytes).unwrap();
    bytes
}

// Input:  a UE's packet with TTL 1, one with DF above the MTU of N6, and one above it without DF, to a host of this machine.
// Output: ICMP from the gateway address in the UE's tunnel, twice; the third reaches the host, reassembled by the kernel.
#[test]
fn a_ue_receives_router_advertisements() {
    in_namespace("routing::a_ue_receives_router_advertisements", || {
        ip(&format!("address add {SERVER}/32 dev lo"));
        let server = UdpSocket::bind((SERVER, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        let network = start(|_| {});
        let mut last_hop = packet(UE, SERVER, b"far");
        while decrement_hop_limit(&mut last_hop).is_ok() {}
        network.gnb.send(network.upf, network.uplink, &last_hop);
        let told = network.at_gnb();
        let told = Ipv4::parse(&told).unwrap();
        assert_eq!((told.src(), told.dst()), (GATEWAY, UE));
        let icmp = Icmpv4::parse(told.payload()).unwrap();
        assert_eq!(icmp.message, Icmpv4Message::TimeExceeded { code: 0, original: &last_hop });

        network.gnb.send(network.upf, network.uplink, &of_size(UE, 1401, true));
        let told = network.at_gnb();
        let icmp = Icmpv4::parse(Ipv4::parse(&told).unwrap().payload()).unwrap();
        assert!(matches!(icmp.message, Icmpv4Message::FragmentationNeeded { mtu: 1400, .. }), "{icmp:?}");

        network.gnb.send(network.upf, network.uplink, &of_size(UE, 1500, false));
        let (len, from) = server.recv_from(&mut [0; 2000]).unwrap();
        assert_eq!((len, from.ip()), (1500 - 28, IpAddr::V4(UE)));
    });
}

// Input:  an N3 of 1348 octets; a host behind the TUN device sends the UE more than fits, without leave to fragment.
// Output: the ICMP leaves by the TUN device and reaches the host's kernel: its next packet of that size is refused at once;
//         what fits arrives with one hop less.
#[test]
fn a_host_learns_the_mtu_of_n3() {
    in_namespace("routing::a_host_learns_the_mtu_of_n3", || {
        ip(&format!("address add {SERVER}/32 dev lo"));
        let network = start(|config| config.upf.gtpu.server[0].mtu = Some(1348));
        let room = 1348 - 20 - 8 - 8 - 28;
        let server = UdpSocket::bind((SERVER, 2)).unwrap();
        set_ip_mtu_discover(server.as_fd(), Ipv4PathMtuDiscovery::DO).unwrap();
        server.send_to(&vec![0; room + 1], (UE, 1)).unwrap();
        let start = std::time::Instant::now();
        while server.send_to(&vec![0; room + 1], (UE, 1)).is_ok() {
            assert!(start.elapsed() < PATIENCE, "no ICMP came");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        server.send_to(&vec![0; room], (UE, 1)).unwrap();
        let seen = network.at_gnb();
        assert_eq!((seen.len(), Ipv4::parse(&seen).unwrap().ttl()), (room + 28, 63));
    });
}

// Input:  a gNB that answers no Echo Request, and later does.
// Output: it is asked over UDP, twice; the SMF hears of the failure, and then of the recovery.
#[test]
fn a_silent_gnb_is_reported() {
    in_namespace("routing::a_silent_gnb_is_reported", || {
        let network = start(|config| {
            let second = std::time::Duration::from_secs(1);
            config.upf.gtpu.echo = EchoConfig { interval: second, timeout: second / 10, retries: 1 };
        });
        for _ in 0..2 {
            let asked = network.gnb.receive();
            assert!(matches!(gtpu::Packet::parse(&asked).unwrap().message, gtpu::Message::EchoRequest));
        }
        assert_eq!(network.smf.accept_node_report(), NodeReportType::UPFR);
        let asked = network.gnb.receive();
        let sequence = gtpu::Packet::parse(&asked).unwrap().header.sequence.unwrap();
        network.gnb.send_raw(network.upf, &gtpu::Repr::echo_response(sequence).to_vec().unwrap());
        assert_eq!(network.smf.accept_node_report(), NodeReportType::UPRR);
    });
}

// Input:  `decrement_ttl: false`.
// Output: a packet keeps its hop limit.
#[test]
fn hops_are_not_counted_where_the_operator_says_so() {
    in_namespace("routing::hops_are_not_counted_where_the_operator_says_so", || {
        ip(&format!("address add {SERVER}/32 dev lo"));
        let network = start(|config| config.upf.routing.decrement_ttl = false);
        let server = UdpSocket::bind((SERVER, 2)).unwrap();
        server.send_to(b"near", (UE, 1)).unwrap();
        assert_eq!(Ipv4::parse(&network.at_gnb()).unwrap().ttl(), 64);
    });
}

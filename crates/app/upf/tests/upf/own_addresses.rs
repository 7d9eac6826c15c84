//! Who reaches the machine that the UPF runs on: neither UEs through their sessions nor hosts of the data network. SMF, gNB and the
//! data network are in network namespaces of their own, each behind an interface of the UPF.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use causeway_packet::gtpu::{Repr, prefix};
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_types::{IpNet, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{AcceptFrom, Config, DataPlane, PfcpServer};

use crate::common::far::far_end;
use crate::common::namespace::{in_namespace, ip};
use crate::common::smf::{Session, Smf};
use crate::common::{PATIENCE, UE, config, metric, until};

const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 33);
const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const OTHER_UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
/// A service of the machine that UEs may reach.
const SERVICE: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 9);

/// A UPF with a session of each of two UEs.
struct Environment {
    daemon: Daemon,
    smf: Smf,
    gnb: UdpSocket,
    /// A host of the data network.
    outside: UdpSocket,
    service: UdpSocket,
    sessions: [Session; 2],
}

impl Environment {
    fn new(change: impl FnOnce(&mut Config)) -> Self {
        let smf = far_end(
            "n4",
            "192.0.2.33/28",
            &["address add 192.0.2.34/28 dev far", "link set far up"],
            ([192, 0, 2, 34].into(), 0),
        );
        let gnb = far_end(
            "n3",
            "192.0.2.1/28",
            &["address add 192.0.2.9/28 dev far", "link set far up"],
            (GNB, 2152),
        );
        let commands = &[
            "address add 198.51.100.9/24 dev far",
            "link set far up",
            "route add 192.0.2.0/24 via 198.51.100.1",
        ];
        let outside = far_end("n6", "198.51.100.1/24", commands, ([198, 51, 100, 9].into(), 0));
        ip(&format!("address add {SERVICE}/32 dev lo"));
        let service = UdpSocket::bind((SERVICE, 7)).unwrap();
        service.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut config = config(N3);
        config.upf.metrics.server[0].address = Ipv4Addr::LOCALHOST.into();
        config.upf.pfcp.server = vec![PfcpServer::at(N4.into(), 0)];
        config.upf.host.reachable = vec![IpNet::from(std::net::IpAddr::V4(SERVICE))];
        change(&mut config);
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::over(smf, daemon.pfcp_addresses()[0]);
        smf.associate();
        let sessions = [UE, OTHER_UE].map(|ue| smf.establish_counting(ue));
        Self { daemon, smf, gnb, outside, service, sessions }
    }

    fn n4(&self) -> SocketAddr {
        self.daemon.pfcp_addresses()[0]
    }

    /// Sends a packet of the first UE in its tunnel.
    fn ue_sends(&self, user: &[u8]) {
        self.gnb.send_to(&in_tunnel(self.sessions[0].uplink.teid, user), (N3, 2152)).unwrap();
    }

    fn dropped(&self) -> f64 {
        metric(&self.daemon, r#"causeway_drop_total{reason="local_address"}"#)
    }

    /// Waits until so many packets of UEs were dropped for their destination.
    fn wait_for_drops(&self, count: f64) {
        let start = Instant::now();
        while self.dropped() < count {
            assert!(start.elapsed() < PATIENCE, "{} of {count} packets were dropped", self.dropped());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What the service hears next, and from whom.
    fn next_at_service(&self) -> (Vec<u8>, Ipv4Addr) {
        let mut buffer = [0; 64];
        let (len, from) = self.service.recv_from(&mut buffer).unwrap();
        let std::net::IpAddr::V4(from) = from.ip() else { panic!("{from}") };
        (buffer[..len].to_vec(), from)
    }
}

fn in_tunnel(teid: Teid, user: &[u8]) -> Vec<u8> {
    [&prefix::without_extensions(teid, user.len()).unwrap()[..], user].concat()
}

fn udp(src: Ipv4Addr, dst: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst.0, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 8805, dst_port: dst.1 }, true, &[payload], &mut octets).unwrap();
    octets
}

// Input:  a UE sends an Association Setup Request to the N4 address through its tunnel, in the name of the SMF that owns its session,
//         which it says has restarted; on each software data plane.
// Output: the packet is dropped under its name, and the sessions of the SMF are there as before.
#[test]
fn a_ue_cannot_speak_for_its_smf() {
    in_namespace("own_addresses::a_ue_cannot_speak_for_its_smf", || {
        ue_speaks_for_its_smf(DataPlane::FastPath);
    });
}

#[test]
fn a_ue_cannot_speak_for_its_smf_on_the_slow_path() {
    let name = "own_addresses::a_ue_cannot_speak_for_its_smf_on_the_slow_path";
    in_namespace(name, || ue_speaks_for_its_smf(DataPlane::SlowPath));
}

fn ue_speaks_for_its_smf(dataplane: DataPlane) {
    let mut environment = Environment::new(|config| config.upf.dataplane = dataplane);
    let request = environment.smf.association(true);
    environment.ue_sends(&udp(UE, (N4, environment.n4().port()), &request));
    environment.ue_sends(&udp(UE, (SERVICE, 7), b"after it"));
    assert_eq!(environment.next_at_service(), (b"after it".to_vec(), UE));
    environment.smf.heartbeat();
    for session in environment.sessions {
        environment.smf.query(session);
    }
    assert_eq!(environment.dropped(), 1.0);
}

// Input:  a UE sends GTP-U to the N3 address through its tunnel: a packet of another UE in that one's tunnel, and an Error Indication
//         in the name of the gNB; then packets of its own.
// Output: neither is carried out: only the UE's own packets leave, and no SMF hears of an error.
#[test]
fn gtpu_in_a_tunnel_is_not_carried_out() {
    in_namespace("own_addresses::gtpu_in_a_tunnel_is_not_carried_out", || {
        let mut environment = Environment::new(|_| {});
        environment.smf.forward(environment.sessions[1], Teid::new(7).unwrap(), GNB);
        let stolen =
            in_tunnel(environment.sessions[1].uplink.teid, &udp(OTHER_UE, (SERVICE, 7), b"in its name"));
        environment.ue_sends(&udp(UE, (N3, 2152), &stolen));
        let error = Repr::error_indication(Teid::new(7), GNB.into(), &[]).to_vec().unwrap();
        environment.ue_sends(&udp(UE, (N3, 2152), &error));
        // What the kernel brought back would have been carried out between the two.
        for own in [b"first", b"later"] {
            environment.ue_sends(&udp(UE, (SERVICE, 7), own));
            assert_eq!(environment.next_at_service(), (own.to_vec(), UE));
        }
        environment.wait_for_drops(2.0);
        environment.smf.hears_nothing();
    });
}

// Input:  a host of the data network sends a heartbeat to the N4 address and an Echo Request to the N3 address, by whose interfaces it
//         does not come; then the SMF and the gNB do.
// Output: only the SMF and the gNB are answered. The other two datagrams are counted as refused, and not as lost for lack of space.
#[test]
fn the_data_network_does_not_reach_n4_and_n3() {
    in_namespace("own_addresses::the_data_network_does_not_reach_n4_and_n3", || {
        assert_eq!(answers_to_the_data_network(&AcceptFrom::Auto), 0);
    });
}

// Input:  the same where the operator accepts any interface, and where N6 is named.
// Output: the host of the data network is answered as well.
#[test]
fn the_operator_says_which_interfaces_are_heard() {
    in_namespace("own_addresses::the_operator_says_which_interfaces_are_heard", || {
        assert_eq!(answers_to_the_data_network(&AcceptFrom::Any), 2);
    });
}

#[test]
fn configured_interfaces_are_accepted() {
    in_namespace("own_addresses::configured_interfaces_are_accepted", || {
        let named = ["n6", "n4", "n3"].map(str::to_owned).to_vec();
        assert_eq!(answers_to_the_data_network(&AcceptFrom::Only(named)), 2);
    });
}

fn answers_to_the_data_network(accept: &AcceptFrom) -> usize {
    let mut environment = Environment::new(|config| {
        (config.upf.pfcp.accept_from, config.upf.gtpu.accept_from) = (accept.clone(), accept.clone());
    });
    let echo = Repr::echo_request(7).to_vec().unwrap();
    environment.outside.send_to(&heartbeat(), environment.n4()).unwrap();
    environment.outside.send_to(&echo, (N3, 2152)).unwrap();
    environment.smf.heartbeat();
    environment.gnb.send_to(&echo, (N3, 2152)).unwrap();
    environment.gnb.recv(&mut [0; 64]).unwrap();
    environment.outside.set_nonblocking(true).unwrap();
    let mut answers = 0;
    let answers = loop {
        match environment.outside.recv(&mut [0; 64]) {
            Ok(_) => answers += 1,
            Err(error) if error.kind() == ErrorKind::WouldBlock => break answers,
            Err(error) => panic!("{error}"),
        }
    };
    let value = |name: &str| metric(&environment.daemon, name);
    let refused = if *accept == AcceptFrom::Auto { 1.0 } else { 0.0 };
    for interface in ["n4", "n3"] {
        let name = format!("causeway_refused_datagrams_total{{interface=\"{interface}\"}}");
        until("the datagrams are counted", || value(&name) == refused);
    }
    assert_eq!(value("causeway_n4_lost_datagrams_total"), 0.0);
    let overrun = format!("causeway_port_packets_total{{port=\"n3-{N3}\",event=\"rx_overrun\"}}");
    assert_eq!(value(&overrun), 0.0);
    answers
}

fn heartbeat() -> Vec<u8> {
    let mut octets = Vec::new();
    let stamp = causeway_pfcp::RecoveryTimeStamp(causeway_types::NtpSeconds(0xe000_0000));
    let request = causeway_pfcp::Message::from(causeway_pfcp::HeartbeatRequest::new(stamp));
    request.encode(None, 5, &mut octets).unwrap();
    octets
}

// Input:  the machine gets another address while the UPF runs; a UE sends to it again and again. An interface is made anew with the N4
//         address on it.
// Output: soon the packets are dropped; N4 is heard by the new interface.
#[test]
fn local_addresses_of_the_kernel_are_followed() {
    in_namespace("own_addresses::local_addresses_of_the_kernel_are_followed", || {
        let environment = Environment::new(|_| {});
        ip("address add 203.0.113.77/32 dev lo");
        let start = Instant::now();
        while environment.dropped() == 0.0 {
            assert!(start.elapsed() < PATIENCE, "the new address is not closed");
            environment.ue_sends(&udp(UE, ([203, 0, 113, 77].into(), 7), b"hello"));
            std::thread::sleep(Duration::from_millis(10));
        }
        ip("link delete n4");
        let commands = &["address add 192.0.2.35/28 dev far", "link set far up"];
        let smf = far_end("n4", "192.0.2.33/28", commands, ([192, 0, 2, 35].into(), 0));
        smf.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        let start = Instant::now();
        loop {
            smf.send_to(&heartbeat(), environment.n4()).unwrap();
            if smf.recv(&mut [0; 64]).is_ok() {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "N4 is not heard by the new interface");
        }
    });
}

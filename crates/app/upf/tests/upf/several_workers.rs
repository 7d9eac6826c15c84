//! The daemon with two packet threads, on UDP sockets and a TUN device in a network namespace of its own.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

use causeway_packet::gtpu::Repr;
use causeway_types::{PdrId, Span, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::WorkerCount;

use crate::common::namespace::in_namespace;
use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, PATIENCE, config, fetch, loopback, metric, packet, until};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const UES: u32 = 8;

/// Octets of IPv4 and UDP headers.
const HEADERS: u64 = 28;

fn ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a2d_0002 + n)
}

fn downlink(n: u32) -> Teid {
    Teid::new(0x7000 + n).unwrap()
}

/// A daemon with two workers, and all around it.
struct Environment {
    upf: Ipv4Addr,
    daemon: Daemon,
    smf: Smf,
    gnbs: [Gnb; 2],
    server: UdpSocket,
    sessions: Vec<Session>,
}

impl Environment {
    /// Sessions of eight UEs, whose downlink waits. Two are at the first gNB, the next two at the other.
    fn new() -> Self {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.workers.count = WorkerCount::Exactly(2);
        // Sessions are given to the threads by turns.
        config.upf.pfcp.accelerate = false;
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let sessions = (0..UES).map(|n| smf.establish_counting(ue(n))).collect();
        let server = UdpSocket::bind((GATEWAY, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { upf, daemon, smf, gnbs: [Gnb::new(), Gnb::new()], server, sessions }
    }

    fn gnb(&self, n: u32) -> &Gnb {
        &self.gnbs[n as usize / 2 % 2]
    }

    fn forward(&mut self, n: u32) {
        let (session, gnb) = (self.sessions[n as usize], self.gnb(n).address);
        self.smf.forward(session, downlink(n), gnb);
    }

    fn send_up(&self, n: u32, payload: &[u8]) {
        let uplink = self.sessions[n as usize].uplink.teid;
        self.gnb(n).send(self.upf, uplink, &packet(ue(n), GATEWAY, payload));
    }

    /// The next packet at the server: its sender and payload.
    fn at_server(&self) -> (SocketAddr, Vec<u8>) {
        let mut buffer = [0; 2048];
        let (len, from) = self.server.recv_from(&mut buffer).expect("a packet in time");
        (from, buffer[..len].to_vec())
    }

    /// The sum of a metric that each worker has.
    fn of_both(&self, name: &str) -> f64 {
        [0, 1].map(|n| metric(&self.daemon, &format!("{name}{{worker=\"{n}\"}}"))).iter().sum()
    }
}

/// The last octet of each packet, by sender.
fn by_ue(packets: impl IntoIterator<Item = (Ipv4Addr, u8)>) -> BTreeMap<Ipv4Addr, Vec<u8>> {
    let mut seen = BTreeMap::<Ipv4Addr, Vec<u8>>::new();
    packets.into_iter().for_each(|(ue, last)| seen.entry(ue).or_default().push(last));
    seen
}

// Input:  eight UEs at two gNBs; each sends twelve packets to the network, and the network sends twelve back to each.
// Output: half of the sessions are each worker's; though a gNB is one flow for the kernel, every packet arrives, in the order of
//         its UE; the usage in a query and in the deletions is exact.
#[test]
fn everything_arrives_wherever_it_came_in() {
    in_namespace("several_workers::everything_arrives_wherever_it_came_in", || {
        let mut environment = Environment::new();
        (0..UES).for_each(|n| environment.forward(n));
        for worker in ["0", "1"] {
            let series = format!("causeway_worker_sessions{{worker=\"{worker}\"}}");
            assert_eq!(metric(&environment.daemon, &series), 4.0);
        }
        for round in 0..12 {
            (0..UES).for_each(|n| environment.send_up(n, &vec![round; n as usize + 1]));
        }
        let up: Vec<(SocketAddr, Vec<u8>)> = (0..12 * UES).map(|_| environment.at_server()).collect();
        let in_order: Vec<u8> = (0..12).collect();
        let seen = by_ue(up.iter().map(|(from, payload)| match from {
            SocketAddr::V4(from) => (*from.ip(), *payload.last().unwrap()),
            SocketAddr::V6(_) => panic!("{from}"),
        }));
        assert_eq!(seen, (0..UES).map(|n| (ue(n), in_order.clone())).collect());

        for (from, payload) in &up {
            environment.server.send_to(payload, from).unwrap();
        }
        for gnb in 0..2 {
            let down: Vec<Vec<u8>> = (0..6 * UES).map(|_| environment.gnbs[gnb].receive()).collect();
            let seen = by_ue(down.iter().map(|datagram| {
                let ue = u32::from_be_bytes(*datagram[8 + 16..].first_chunk().unwrap());
                assert_eq!(datagram[4..8], downlink(ue - u32::from(self::ue(0))).value().to_be_bytes());
                (ue.into(), *datagram.last().unwrap())
            }));
            let at_gnb = (0..UES).filter(|n| *n as usize / 2 % 2 == gnb);
            assert_eq!(seen, at_gnb.map(|n| (ue(n), in_order.clone())).collect());
        }

        // Each gNB has UEs of both workers: half of what it sends comes in at the wrong one.
        assert!(environment.of_both("causeway_worker_handed_packets_total") >= 48.0);
        assert_eq!(environment.of_both("causeway_worker_packets_total"), 192.0);
        assert_eq!(metric(&environment.daemon, "causeway_drop_total{reason=\"worker_busy\"}"), 0.0);
        assert_eq!(metric(&environment.daemon, "causeway_forwarded_packets_total"), 192.0);
        let each = |n: u32| 12 * (HEADERS + u64::from(n) + 1);
        assert_eq!(environment.smf.query(environment.sessions[0]), (each(0), each(0)));
        assert_eq!(environment.smf.delete(environment.sessions[0]), Some((0, 0)));
        for n in 1..UES {
            assert_eq!(environment.smf.delete(environment.sessions[n as usize]), Some((each(n), each(n))));
        }
        assert_eq!(environment.of_both("causeway_worker_sessions"), 0.0);
    });
}

// Input:  packets for an idle UE of each worker; then each UE is connected, and moves to the other gNB.
// Output: one report each; what waited leaves in order; the old gNB gets an End Marker after the last packet in its tunnel.
#[test]
fn waiting_packets_and_end_markers_leave_from_every_worker() {
    in_namespace("several_workers::waiting_packets_and_end_markers_leave_from_every_worker", || {
        let mut environment = Environment::new();
        // Sessions are given to the workers by turns.
        for n in [0, 1] {
            for payload in 0..3 {
                environment.server.send_to(&[payload], (ue(n), 1)).unwrap();
            }
            assert_eq!(environment.smf.accept_downlink_data(environment.sessions[n as usize]), PdrId(2));
        }
        assert_eq!(metric(&environment.daemon, "causeway_buffered_packets"), 6.0);
        for n in [0, 1] {
            environment.forward(n);
            for payload in 0..3 {
                let datagram = environment.gnb(n).receive();
                assert_eq!(
                    (&datagram[4..8], datagram.last()),
                    (&downlink(n).value().to_be_bytes()[..], Some(&payload))
                );
            }
            let (session, new) = (environment.sessions[n as usize], Teid::new(0x8000 + n).unwrap());
            let to = environment.gnb(n + 2).address;
            environment.smf.hand_over(session, new, to);
            let marker = environment.gnb(n).receive();
            assert_eq!((marker[1], &marker[4..8]), (254, &downlink(n).value().to_be_bytes()[..]));
            environment.server.send_to(b"moved", (ue(n), 1)).unwrap();
            let datagram = environment.gnb(n + 2).receive();
            assert!(datagram.ends_with(b"moved") && datagram[4..8] == new.value().to_be_bytes());
        }
    });
}

// Input:  Echo Requests of both gNBs; a second daemon with two workers on the address of the first.
// Output: an Echo Response each; the second daemon says that the address is in use.
#[test]
fn workers_answer_echoes_and_share_their_address_with_nobody() {
    in_namespace("several_workers::workers_answer_echoes_and_share_their_address_with_nobody", || {
        let environment = Environment::new();
        for gnb in &environment.gnbs {
            gnb.send_raw(environment.upf, &Repr::echo_request(7).to_vec().unwrap());
            let response = gnb.receive();
            assert_eq!((response[1], &response[8..10]), (2, &7_u16.to_be_bytes()[..]));
        }
        let mut config = config(environment.upf);
        config.upf.workers.count = WorkerCount::Exactly(2);
        let error = Daemon::start(&config).unwrap_err().to_string();
        let says = format!("upf.gtpu.server[0]: cannot bind {}:2152: address in use", environment.upf);
        assert!(error.starts_with(&says), "{error}");
        let elsewhere = loopback();
        config.upf.gtpu.server[0].address = Some(elsewhere.into());
        let error = Daemon::start(&config).unwrap_err().to_string();
        assert!(error.starts_with("upf.session[0].dev: TUN device causeway0 is in use"), "{error}");
    });
}

// Input:  sessions of eight UEs at two gNBs, on two packet threads, without supervision of paths; Echo Requests each minute
//         are switched on; half of the sessions end; they are switched off.
// Output: each gNB gets one request at once; the API shows two paths with all sessions, then with half of them, then none.
#[test]
fn paths_of_all_threads_are_supervised_from_a_reload_on() {
    in_namespace("several_workers::paths_of_all_threads_are_supervised_from_a_reload_on", || {
        let mut environment = Environment::new();
        (0..UES).for_each(|n| environment.forward(n));
        let users = |environment: &Environment| -> Vec<u64> {
            let peers = fetch(&environment.daemon, "/api/v1/peers").1;
            let peers: serde_json::Value = serde_json::from_str(&peers).unwrap();
            peers["peers"].as_array().unwrap().iter().map(|peer| peer["fars"].as_u64().unwrap()).collect()
        };
        assert!(users(&environment).is_empty());
        let set = |environment: &Environment, seconds: u64| {
            let mut next = config(environment.upf).upf;
            next.workers.count = WorkerCount::Exactly(2);
            next.gtpu.echo.interval = Span::from_secs(seconds);
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let reloaded = runtime.block_on(environment.daemon.reload(next)).unwrap();
            assert_eq!(reloaded.applied, ["upf.gtpu.echo.interval"]);
        };
        set(&environment, 60);
        until("all sessions are counted", || users(&environment) == [4, 4]);
        environment.gnbs.iter().for_each(|gnb| assert_eq!(gnb.receive()[1], 1));
        for n in [0, 1, 2, 3] {
            let session = environment.sessions[n];
            environment.smf.delete(session);
        }
        until("half of them are counted", || users(&environment) == [2, 2]);
        set(&environment, 0);
        until("none is counted", || users(&environment).is_empty());
    });
}

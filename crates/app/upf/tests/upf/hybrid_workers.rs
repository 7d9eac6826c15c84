//! The switch in front of two packet threads, on UDP sockets and a TUN device in a network namespace of its own.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Instant;

use causeway_types::{Bitrate, Qfi, Span, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{DataPlane, HybridKeys, WorkerCount};
use causeway_upf::management::views::PlacementView;

use crate::common::namespace::in_namespace;
use crate::common::smf::{Session, Smf};
use crate::common::{Gnb, PATIENCE, config, fetch, loopback, metric, packet, until};

const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 1);
const UES: u32 = 4;

/// Packets of a burst in one direction.
const BURST: u32 = 8;

/// Octets of the payload of each packet, and of its IPv4 and UDP headers.
const PAYLOAD: usize = 400;
const HEADERS: u64 = 28;

/// Octets before the IP packet of a downlink datagram: GTP-U with a PDU Session Container.
const TUNNEL: usize = 16;

fn ue(n: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a2d_0002 + n)
}

fn downlink(n: u32) -> Teid {
    Teid::new(0x7000 + n).unwrap()
}

fn payload(number: u32) -> Vec<u8> {
    let mut payload = vec![7; PAYLOAD];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    payload
}

fn number_of(payload: &[u8]) -> u32 {
    u32::from_be_bytes(*payload.first_chunk().unwrap())
}

/// Two packet threads behind one switch; UEs at two gNBs, whose packets are numbered in both directions. Each must arrive once, and
/// in the order of its UE.
struct Environment {
    upf: Ipv4Addr,
    daemon: Daemon,
    smf: Smf,
    gnbs: [Gnb; 2],
    server: UdpSocket,
    sessions: Vec<Session>,
    sent: [u32; UES as usize],
}

impl Environment {
    fn new(keys: HybridKeys) -> Self {
        let upf = loopback();
        let mut config = config(upf);
        config.upf.workers.count = WorkerCount::Exactly(2);
        // Sessions are given to the threads by turns.
        config.upf.pfcp.accelerate = false;
        config.upf.dataplane = DataPlane::Hybrid;
        config.upf.hybrid = HybridKeys {
            promote_at: Bitrate::from_kbps(16).unwrap(),
            // All packets of a session are in one thread, with its part of the switch.
            longest_stay: Span::from_micros(1),
            strict: true,
            ..keys
        };
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let gnbs = [Gnb::new(), Gnb::new()];
        let mut sessions = Vec::new();
        for n in 0..UES {
            let session = smf.establish_flow(ue(n), Qfi::new(9).unwrap());
            smf.forward(session, downlink(n), gnbs[n as usize / 2].address);
            sessions.push(session);
        }
        let server = UdpSocket::bind((GATEWAY, 2)).unwrap();
        server.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { upf, daemon, smf, gnbs, server, sessions, sent: [0; UES as usize] }
    }

    /// So many bursts each way of each of these UEs, by turns. All have arrived on return.
    ///
    /// Two bursts of a direction follow each other: armed rules of a thread may share a cell of the switch, where one waits for the gap
    /// of the other.
    fn bursts(&mut self, ues: &[(u32, u32)]) {
        let half = |n: &u32, bursts: &u32, numbers: &[u32]| {
            let (first, packets) = (numbers[*n as usize], bursts * BURST / 2);
            first..first + packets
        };
        let (mut up, mut down) = (self.sent, self.sent);
        for _ in 0..2 {
            let before = up;
            for (n, bursts) in ues {
                for number in half(n, bursts, &before) {
                    let packet = packet(ue(*n), GATEWAY, &payload(number));
                    let teid = self.sessions[*n as usize].uplink.teid;
                    self.gnbs[*n as usize / 2].send(self.upf, teid, &packet);
                }
                self.sent[*n as usize] = half(n, bursts, &before).end;
            }
            self.receive_up(&mut up);
        }
        for _ in 0..2 {
            let (before, mut wanted) = (down, down);
            for (n, bursts) in ues {
                for number in half(n, bursts, &before) {
                    self.server.send_to(&payload(number), (ue(*n), 1)).unwrap();
                }
                wanted[*n as usize] = half(n, bursts, &before).end;
            }
            self.receive_down(&mut down, &wanted);
        }
    }

    /// All packets that were sent in the uplink arrive, each after the one before.
    fn receive_up(&self, up: &mut [u32; UES as usize]) {
        let mut buffer = [0; 2048];
        while *up != self.sent {
            let Ok((length, from)) = self.server.recv_from(&mut buffer) else {
                panic!("uplink packets are missing: {up:?} of {:?}; {}", self.sent, self.losses());
            };
            let SocketAddr::V4(from) = from else { panic!("{from}") };
            let n = (from.ip().to_bits() - ue(0).to_bits()) as usize;
            assert_eq!((length, number_of(&buffer)), (PAYLOAD, up[n]), "uplink of UE {n}");
            up[n] += 1;
        }
    }

    /// Packets up to these numbers arrive in the downlink, each after the one before.
    fn receive_down(&self, down: &mut [u32; UES as usize], wanted: &[u32; UES as usize]) {
        for (at, gnb) in self.gnbs.iter().enumerate() {
            let of_gnb = [2 * at, 2 * at + 1];
            while of_gnb.iter().any(|n| down[*n] != wanted[*n]) {
                let datagram = gnb.receive();
                let n = u32::from_be_bytes(*datagram[TUNNEL + 16..].first_chunk().unwrap()) - ue(0).to_bits();
                assert_eq!(datagram[4..8], downlink(n).value().to_be_bytes());
                let n = n as usize;
                assert_eq!(number_of(&datagram[TUNNEL + HEADERS as usize..]), down[n], "downlink of UE {n}");
                down[n] += 1;
            }
        }
    }

    /// The UPF's counters of packets that are not zero, and where its rules are.
    fn losses(&self) -> String {
        let (_, metrics) = fetch(&self.daemon, "/metrics");
        let is_counted = |line: &&str| {
            (line.contains("packets") || line.contains("drop"))
                && !line.starts_with('#')
                && !line.ends_with(" 0")
        };
        let counted: Vec<&str> = metrics.lines().filter(|line| is_counted(line)).collect();
        format!("{}\n{:?}", counted.join("\n"), self.placement(""))
    }

    fn placement(&self, query: &str) -> PlacementView {
        let (head, body) = fetch(&self.daemon, &format!("/api/v1/placement{query}"));
        assert!(head.contains("200 OK"), "{head}\n{body}");
        serde_json::from_str(&body).unwrap()
    }

    /// Octets of a UE in either direction.
    fn octets(&self, n: u32) -> u64 {
        u64::from(self.sent[n as usize]) * (HEADERS + PAYLOAD as u64)
    }

    fn is_on_switch(&self, n: u32) -> bool {
        let listed = self.placement(&format!("?seid={}", self.sessions[n as usize].up_seid)).listed;
        assert_eq!(listed.len(), 2, "{listed:?}");
        listed.iter().any(|rule| rule.place == "switch")
    }
}

// Input:  four UEs at two gNBs, two of them in each packet thread, with bursts in both directions until all their rules are on the
//         switch; then silence, and bursts again.
// Output: every packet arrives once and in the order of its UE, also those that a gNB sends to the other thread; the placement adds
//         up both threads, and all rules move back; usage is exact to the octet.
#[test]
fn rules_of_two_threads_move_and_lose_nothing() {
    in_namespace("hybrid_workers::rules_of_two_threads_move_and_lose_nothing", || {
        let mut environment = Environment::new(HybridKeys::default());
        for worker in ["0", "1"] {
            let series = format!("causeway_worker_sessions{{worker=\"{worker}\"}}");
            assert_eq!(metric(&environment.daemon, &series), 2.0);
        }
        let all = [0, 1, 2, 3].map(|n| (n, 1));
        let start = Instant::now();
        let there = loop {
            // Of each thread one, at one gNB.
            environment.bursts(&[(0, 1), (1, 1)]);
            environment.bursts(&[(2, 1), (3, 1)]);
            let seen = environment.placement("");
            if seen.rules.switch == 8 && seen.switch.packets >= 500 {
                break seen;
            }
            assert!(start.elapsed() < PATIENCE, "{seen:?}");
        };
        assert_eq!((there.total, there.rules.software, there.listed.len()), (8, 0, 8), "{there:?}");
        assert!((0..UES).all(|n| environment.is_on_switch(n)));
        assert!(there.moves.promoted >= 8 && there.waits.count == there.moves.flipped, "{there:?}");
        for n in 0..UES {
            let octets = environment.octets(n);
            assert_eq!(environment.smf.query(environment.sessions[n as usize]), (octets, octets), "{n}");
        }
        let asked = environment.sent;
        (0..8).for_each(|_| environment.bursts(&all));
        let handed = |worker| {
            metric(
                &environment.daemon,
                &format!("causeway_worker_handed_packets_total{{worker=\"{worker}\"}}"),
            )
        };
        assert!(handed(0) + handed(1) > 0.0);

        until("slow rules move back", || environment.placement("").rules.software == 8);
        environment.bursts(&all);
        let both = f64::from(2 * environment.sent.iter().sum::<u32>());
        assert_eq!(metric(&environment.daemon, "causeway_forwarded_packets_total"), both);
        let by = |side: &str| {
            metric(&environment.daemon, &format!("causeway_hybrid_packets_total{{side=\"{side}\"}}"))
        };
        assert_eq!(by("switch") + by("software"), both);
        assert_eq!(metric(&environment.daemon, "causeway_drop_total{reason=\"worker_busy\"}"), 0.0);
        assert_eq!(environment.placement("").moves.flipped_early, 0);
        for (n, asked) in (0..UES).zip(asked) {
            let octets = environment.octets(n) - u64::from(asked) * (HEADERS + PAYLOAD as u64);
            let session = environment.sessions[n as usize];
            assert_eq!(environment.smf.delete(session), Some((octets, octets)), "{n}");
        }
    });
}

// Input:  a switch for two rules; bursts of a UE in the first packet thread; then a UE in the second one has several times its rate.
// Output: the first UE has the entries, then the faster one, though in the other thread. Nothing is lost, and usage is exact.
#[test]
fn the_fastest_of_all_threads_is_on_the_switch() {
    in_namespace("hybrid_workers::the_fastest_of_all_threads_is_on_the_switch", || {
        let mut environment = Environment::new(HybridKeys { capacity: 2, ..HybridKeys::default() });
        let start = Instant::now();
        while !environment.is_on_switch(0) {
            environment.bursts(&[(0, 1)]);
            assert!(start.elapsed() < PATIENCE, "{:?}", environment.placement(""));
        }
        // Sessions are given to the threads by turns.
        while environment.is_on_switch(0) || !environment.is_on_switch(1) {
            environment.bursts(&[(0, 1), (1, 8)]);
            assert!(start.elapsed() < 2 * PATIENCE, "{:?}", environment.placement(""));
        }
        for n in [0, 1] {
            let octets = environment.octets(n);
            assert_eq!(environment.smf.query(environment.sessions[n as usize]), (octets, octets), "{n}");
        }
    });
}

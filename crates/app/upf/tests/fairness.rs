//! What a UE gets while another one sends far more than the UPF can handle. The daemon is in a network namespace of its own, with a UDP
//! socket on N3 and a TUN device on N6, and so are two gNBs and a server.
//!
//! The packets of the UE that floods cost much: its session has many PDRs, which the slow path tries one after the other. So too
//! much for the UPF is little for the generator. How much that is is measured first, as it depends on machine, build and load. The bound is
//! far from both outcomes: without fair shares the quiet UE loses as much as the other one.
//!
//! A program of its own, so that other tests take no core from what is measured: `scripts/test` runs it alone.

#[path = "upf/common/mod.rs"]
mod common;

use std::io::ErrorKind;
use std::net::{Ipv4Addr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use causeway_packet::gtpu::prefix;
use causeway_types::Teid;
use causeway_upf::Daemon;
use causeway_upf::config::{DataPlane, Session};
use common::namespace::{in_namespace, ip};
use common::smf::Smf;
use common::{PATIENCE, UE, config, loopback, metric, packet};

/// The UE that is quiet.
const QUIET: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 3);
/// The server, on the same machine.
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// Where the flood goes to and comes from, and where the quiet UE's packets do.
const FLOODED: u16 = 2;
const HEARD: u16 = 3;
/// Packets of which the time is taken: fewer than any buffer holds.
const PROBE: u32 = 300;
/// PDRs of the costly session, in each direction, that fit no packet.
const PDRS: u16 = 100;
/// The flood, in terms of what the UPF can handle.
const TIMES: f64 = 3.0;
/// The quiet UE's packets are so far apart.
const DISTANCE: Duration = Duration::from_millis(2);
const SPAN: Duration = Duration::from_secs(3);

/// The daemon with two sessions, each at a gNB of its own.
struct Environment {
    daemon: Daemon,
    upf: Ipv4Addr,
    gnbs: [UdpSocket; 2],
    /// A packet of each UE to the server, in its tunnel.
    uplink: [Vec<u8>; 2],
    servers: [UdpSocket; 2],
}

impl Environment {
    fn new() -> Self {
        ip("address add 198.51.100.1/32 dev lo");
        let upf = loopback();
        let mut config = config(upf);
        config.upf.dataplane = DataPlane::SlowPath;
        config.upf.max_pdrs_per_session = 1024;
        config.upf.session = vec![Session { dev: "n6test".into(), ..Session::default() }];
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let addresses = [loopback(), loopback()];
        let mut number = 6;
        let uplink = [(UE, addresses[0], FLOODED), (QUIET, addresses[1], HEARD)].map(|(ue, gnb, port)| {
            number += 1;
            let teid = Teid::new(number).unwrap();
            let session = match port {
                FLOODED => smf.establish_costly(ue, teid, gnb, PDRS),
                _ => smf.establish_forwarding(ue, teid, gnb),
            };
            let mut user = packet(ue, SERVER, b"0123456789abcdef");
            user[22..24].copy_from_slice(&port.to_be_bytes());
            // Nobody checks a sum of zero.
            user[26..28].copy_from_slice(&[0, 0]);
            [&prefix::without_extensions(session.uplink.teid, user.len()).unwrap()[..], &user].concat()
        });
        let bind = |at: (Ipv4Addr, u16)| {
            let socket = UdpSocket::bind(at).unwrap();
            socket.set_read_timeout(Some(Duration::from_millis(500))).unwrap();
            socket
        };
        Self {
            daemon,
            upf,
            gnbs: addresses.map(|address| bind((address, 2152))),
            uplink,
            servers: [FLOODED, HEARD].map(|port| bind((SERVER, port))),
        }
    }

    /// Sends one packet of a UE to the server.
    fn up(&self, which: usize) {
        self.gnbs[which].send_to(&self.uplink[which], (self.upf, 2152)).unwrap();
    }

    /// Sends one packet of the server to a UE.
    fn down(&self, which: usize) {
        let ue = [UE, QUIET][which];
        self.servers[which].send_to(b"0123456789abcdef", (ue, 1)).unwrap();
    }

    /// What left by a port.
    fn sent(&self, port: &str) -> u32 {
        metric(&self.daemon, &format!("causeway_port_packets_total{{port=\"{port}\",event=\"tx\"}}")) as u32
    }

    /// Floods with one UE's packets beside those of the quiet one. Returns how many of these were sent, and how many arrived.
    fn flood(&self, send: impl Fn(&Self, usize) + Sync, way_out: &str, far_end: &UdpSocket) -> (u32, u32) {
        let before = self.sent(way_out);
        let start = Instant::now();
        (0..PROBE).for_each(|_| send(self, 0));
        while self.sent(way_out) < before + PROBE {
            assert!(start.elapsed() < PATIENCE * 4, "{} of {PROBE}", self.sent(way_out) - before);
        }
        let handled = f64::from(PROBE) / start.elapsed().as_secs_f64();
        let rate = handled * TIMES;
        eprintln!("{handled:.0} packets a second are handled");
        let (sent, arrived, is_over) = (AtomicU32::new(0), AtomicU32::new(0), AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut buffer = [0; 2048];
                loop {
                    match far_end.recv(&mut buffer) {
                        Ok(_) => drop(arrived.fetch_add(1, Ordering::Relaxed)),
                        Err(error) if error.kind() == ErrorKind::WouldBlock => {
                            if is_over.load(Ordering::Relaxed) {
                                break;
                            }
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            });
            let quiet = scope.spawn(|| {
                let start = Instant::now();
                while start.elapsed() < SPAN {
                    send(self, 1);
                    sent.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(DISTANCE);
                }
            });
            let (start, mut done) = (Instant::now(), 0_u64);
            while start.elapsed() < SPAN {
                let due = (start.elapsed().as_secs_f64() * rate) as u64;
                let now = due.saturating_sub(done).min(64);
                (0..now).for_each(|_| send(self, 0));
                done += now;
                std::hint::spin_loop();
            }
            quiet.join().unwrap();
            is_over.store(true, Ordering::Relaxed);
        });
        (sent.into_inner(), arrived.into_inner())
    }

    fn check(&self, (sent, arrived): (u32, u32)) {
        let lost = 1.0 - f64::from(arrived) / f64::from(sent);
        let unfair = metric(&self.daemon, "causeway_drop_total{reason=\"fair_share\"}");
        let lost_percent = lost * 100.0;
        eprintln!(
            "the quiet UE lost {lost_percent:.1} % of {sent} packets; {unfair} of the other's were dropped"
        );
        let overrun = |port: &str| {
            metric(
                &self.daemon,
                &format!("causeway_port_packets_total{{port=\"{port}\",event=\"rx_overrun\"}}"),
            )
        };
        eprintln!(
            "lost by the kernel: {} and {}",
            overrun(&format!("n3-{}", self.upf)),
            overrun("n6-n6test")
        );
        assert!(lost < 0.2, "{arrived} of {sent} packets of the quiet UE arrived");
        assert!(unfair > 0.0);
    }
}

// Input:  a UE that sends three times what the UPF can handle, up to a server, and one with 500 packets a second.
// Output: the quiet one's arrive; what is dropped of the other's is counted as beyond its fair share.
#[test]
fn an_uplink_flood_takes_nothing_from_another_ue() {
    in_namespace("an_uplink_flood_takes_nothing_from_another_ue", || {
        let environment = Environment::new();
        environment.check(environment.flood(Environment::up, "n6-n6test", &environment.servers[1]));
    });
}

// Input:  the same down from a server.
// Output: the same.
#[test]
fn a_downlink_flood_takes_nothing_from_another_ue() {
    in_namespace("a_downlink_flood_takes_nothing_from_another_ue", || {
        let environment = Environment::new();
        let out = format!("n3-{}", environment.upf);
        environment.check(environment.flood(Environment::down, &out, &environment.gnbs[1]));
    });
}

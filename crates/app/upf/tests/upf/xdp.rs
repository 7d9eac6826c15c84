//! The daemon with AF_XDP sockets on N3 and N6, in a network namespace of its own; the gNB and the data network are in
//! two more.
//!
//! XDP programs take root in the first user namespace. Where they are not permitted the tests say by name that they are
//! skipped.

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use causeway_types::Teid;
use causeway_upf::config::{Config, GtpuMode, GtpuServer, N4Mode, N6Mode, PfcpServer, Session, WorkerCount};
use causeway_upf::{Daemon, open};

use crate::common::far::far_end;
use crate::common::namespace::{in_namespace_of_root, ip};
use crate::common::smf::Smf;
use crate::common::{PATIENCE, UE, config, loopback, metric, packet, until};

const N3: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);

/// What makes the data network know the way to UEs.
const ROUTED: &[&str] =
    &["address add 198.51.100.9/24 dev far", "link set far up", "route add 10.45.0.0/16 via 198.51.100.1"];

fn gnb() -> UdpSocket {
    far_end("n3", "192.0.2.1/24", &["address add 192.0.2.9/24 dev far", "link set far up"], (GNB, 2152))
}

/// `mode: af_xdp` on n3 and n6, with so many packet threads.
fn on_both(workers: usize) -> Config {
    let mut config = config(loopback());
    config.upf.gtpu.mode = GtpuMode::AfXdp;
    config.upf.gtpu.server = vec![GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() }];
    let session = Session { mode: N6Mode::AfXdp, gateway: None, dev: "n6".into(), ..Session::default() };
    config.upf.session = vec![session];
    config.upf.workers.count = WorkerCount::Exactly(workers);
    // Sessions are given to the threads by turns.
    config.upf.pfcp.accelerate = false;
    config
}

/// AF_XDP cannot be had here, which was said.
fn lacks_xdp(test: &str, config: &Config) -> bool {
    let error = open::ports(config).err().map(|error| error.to_string()).unwrap_or_default();
    let lacks = error.contains("permission denied") || error.contains("has no AF_XDP");
    if lacks {
        eprintln!("SKIPPED {test}: needs root (AF_XDP: {error})");
    }
    lacks
}

// Input:  `mode: af_xdp` on N3 and on N6; a session over N4 on the loopback; a packet of a UE, its answer, a ping.
// Output: the packet reaches the data network and the answer the gNB, in its tunnel; the kernel answers the ping.
#[test]
fn user_traffic_crosses_af_xdp_sockets() {
    const NAME: &str = "xdp::user_traffic_crosses_af_xdp_sockets";
    in_namespace_of_root(NAME, || {
        let gnb = gnb();
        let server = far_end("n6", "198.51.100.1/24", ROUTED, (SERVER, 2));
        let config = on_both(1);
        if lacks_xdp(NAME, &config) {
            return;
        }
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let session = smf.establish();
        smf.forward(session, Teid::new(7).unwrap(), GNB);
        let user = packet(UE, SERVER, b"question");
        let header =
            causeway_packet::gtpu::prefix::without_extensions(session.uplink.teid, user.len()).unwrap();
        gnb.send_to(&[&header[..], &user].concat(), (N3, 2152)).unwrap();
        let mut buffer = [0; 128];
        let (len, from) = server.recv_from(&mut buffer).unwrap();
        assert_eq!((&buffer[..len], from.ip(), from.port()), (&b"question"[..], UE.into(), 1));
        server.send_to(b"answer", from).unwrap();
        let len = gnb.recv(&mut buffer).unwrap();
        assert!(buffer[..len].ends_with(b"answer"), "{:02x?}", &buffer[..len]);
        assert_eq!(buffer[4..8], [0, 0, 0, 7]);
        let ping =
            std::process::Command::new("ping").args(["-c", "1", "-W", "2", "192.0.2.9"]).output().unwrap();
        assert!(ping.status.success(), "{ping:?}");
    });
}

// Input:  N4 in the packet thread, by AF_XDP on an interface: sessions that are established and deleted; a heartbeat that is longer than the
//         MTU, so that it comes in fragments; then the interface is deleted.
// Output: the requests pass the AF_XDP port, and the packet thread handles them; the heartbeat passes the kernel's socket, and gets its
//         response; the daemon goes on.
#[test]
fn n4_crosses_af_xdp_sockets() {
    const NAME: &str = "xdp::n4_crosses_af_xdp_sockets";
    in_namespace_of_root(NAME, || {
        const SMF: &[&str] = &["address add 203.0.113.9/24 dev far", "link set far up"];
        let socket = far_end("n4", "203.0.113.1/24", SMF, (Ipv4Addr::new(203, 0, 113, 9), 8805));
        let mut config = config(loopback());
        let address = Some(Ipv4Addr::new(203, 0, 113, 1).into());
        config.upf.pfcp.server =
            vec![PfcpServer { address, dev: Some("n4".into()), port: 8805, advertise: Vec::new() }];
        (config.upf.pfcp.accelerate, config.upf.pfcp.mode) = (true, N4Mode::AfXdp);
        config.upf.gtpu.mode = GtpuMode::Udp;
        let daemon = match Daemon::start(&config) {
            Err(error)
                if error.to_string().contains("permission denied")
                    || error.to_string().contains("has no AF_XDP") =>
            {
                return eprintln!("SKIPPED {NAME}: needs root (AF_XDP: {error})");
            }
            started => started.unwrap(),
        };
        let responses = socket.try_clone().unwrap();
        let mut smf = Smf::over(socket, daemon.pfcp_addresses()[0]);
        smf.associate();
        let sessions: Vec<_> =
            (0..40).map(|n: u8| smf.establish_counting(Ipv4Addr::new(10, 45, 0, 2 + n))).collect();
        for session in sessions {
            smf.delete(session);
        }
        let received = || metric(&daemon, "causeway_port_packets_total{port=\"n4-n4\",event=\"rx\"}");
        assert!(received() >= 81.0, "{}", received());
        until("the packet thread handles requests", || {
            metric(&daemon, "causeway_n4_accelerated_datagrams_total") > 0.0
        });
        let before = received();
        let mut heartbeat = vec![0x20, 1, 0, 0, 0, 9, 9, 0, 0, 96, 0, 4, 0xe0, 0, 0, 0];
        heartbeat.extend([0x7f, 0xff, 7, 208]);
        heartbeat.extend([0; 2000]);
        let length = (heartbeat.len() - 4) as u16;
        heartbeat[2..4].copy_from_slice(&length.to_be_bytes());
        smf.send_raw(&heartbeat);
        let mut buffer = [0; 128];
        let len = responses.recv(&mut buffer).unwrap();
        assert_eq!((buffer[1], &buffer[4..7]), (2, &[0, 9, 9][..]), "{:02x?}", &buffer[..len]);
        assert_eq!(received(), before);
        ip("link delete n4");
        until("the daemon goes on", || metric(&daemon, "fivegs_upffunction_upf_sessionnbr") == 0.0);
    });
}

// Input:  two packet threads on N3 and N6 interfaces with two receive queues each; four UEs of one gNB send, and get an answer
//         each time.
// Output: all of it arrives, though the gNB's packets all come in at one thread; with three packet threads the error says what to
//         do.
#[test]
fn each_packet_thread_has_a_share_of_the_queues() {
    const NAME: &str = "xdp::each_packet_thread_has_a_share_of_the_queues";
    in_namespace_of_root(NAME, || {
        let gnb = gnb();
        let server = far_end("n6", "198.51.100.1/24", ROUTED, (SERVER, 2));
        let mut config = on_both(2);
        if lacks_xdp(NAME, &config) {
            return;
        }
        config.upf.workers.count = WorkerCount::Exactly(3);
        let error = open::ports(&config).err().unwrap().to_string();
        assert!(error.contains("3 packet threads need as many receive queues, and n3 has 2"), "{error}");
        config.upf.workers.count = WorkerCount::Exactly(2);
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let ue = |n: u8| Ipv4Addr::new(10, 45, 0, 2 + n);
        let mut buffer = [0; 128];
        for n in 0..4 {
            let session = smf.establish_counting(ue(n));
            smf.forward(session, Teid::new(7 + u32::from(n)).unwrap(), GNB);
            for _ in 0..20 {
                let user = packet(ue(n), SERVER, b"question");
                let header =
                    causeway_packet::gtpu::prefix::without_extensions(session.uplink.teid, user.len())
                        .unwrap();
                gnb.send_to(&[&header[..], &user].concat(), (N3, 2152)).unwrap();
                let (_, from) = server.recv_from(&mut buffer).unwrap();
                server.send_to(b"answer", from).unwrap();
                let len = gnb.recv(&mut buffer).unwrap();
                assert!(buffer[..len].ends_with(b"answer") && buffer[7] == 7 + n, "{:02x?}", &buffer[..len]);
            }
            assert_eq!(smf.query(session), (20 * 36, 20 * 34));
        }
        for worker in ["0", "1"] {
            let series = format!("causeway_worker_packets_total{{worker=\"{worker}\"}}");
            assert_eq!(metric(&daemon, &series), 80.0);
        }
        assert_eq!(metric(&daemon, "causeway_drop_total{reason=\"worker_busy\"}"), 0.0);
    });
}

// Input:  two packet threads; four UEs of one gNB have 16 packets under way at a time, first up, then down: as many as
//         there are batches on the way from one thread to the other, if each is handed over by itself.
// Output: none is lost, in whichever thread it came in; those of each UE are in order; both threads had half of them.
#[test]
fn bursts_find_their_packet_threads() {
    const NAME: &str = "xdp::bursts_find_their_packet_threads";
    in_namespace_of_root(NAME, || {
        let (gnb, server) = (gnb(), far_end("n6", "198.51.100.1/24", ROUTED, (SERVER, 2)));
        let config = on_both(2);
        if lacks_xdp(NAME, &config) {
            return;
        }
        let daemon = Daemon::start(&config).unwrap();
        let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
        smf.associate();
        let ue = |n: usize| Ipv4Addr::new(10, 45, 0, 2 + n as u8);
        let sessions: Vec<_> = (0..4).map(|n| smf.establish_counting(ue(n))).collect();
        for (n, session) in sessions.iter().enumerate() {
            smf.forward(*session, Teid::new(7 + n as u32).unwrap(), GNB);
        }
        let mut buffer = [0; 128];
        for round in 0..200_u16 {
            let numbers = round * 4..round * 4 + 4;
            for (number, n) in numbers.clone().flat_map(|number| (0..4).map(move |n| (number, n))) {
                let user = packet(ue(n), SERVER, &number.to_be_bytes());
                let header =
                    causeway_packet::gtpu::prefix::without_extensions(sessions[n].uplink.teid, user.len())
                        .unwrap();
                gnb.send_to(&[&header[..], &user].concat(), (N3, 2152)).unwrap();
            }
            let mut seen = vec![Vec::new(); 4];
            for _ in 0..16 {
                let (len, from) = server.recv_from(&mut buffer).expect("no packet is lost");
                let std::net::IpAddr::V4(from) = from.ip() else { panic!("{from}") };
                seen[usize::from(from.octets()[3]) - 2]
                    .push(u16::from_be_bytes([buffer[len - 2], buffer[len - 1]]));
            }
            assert!(seen.iter().all(|seen| seen.iter().copied().eq(numbers.clone())), "{seen:?}");
            for (number, n) in numbers.clone().flat_map(|number| (0..4).map(move |n| (number, n))) {
                server.send_to(&number.to_be_bytes(), (ue(n), 1)).unwrap();
            }
            let mut seen = vec![Vec::new(); 4];
            for _ in 0..16 {
                let len = gnb.recv(&mut buffer).expect("no packet is lost");
                seen[usize::from(buffer[7]) - 7].push(u16::from_be_bytes([buffer[len - 2], buffer[len - 1]]));
            }
            assert!(seen.iter().all(|seen| seen.iter().copied().eq(numbers.clone())), "{seen:?}");
        }
        for worker in ["0", "1"] {
            let series = format!("causeway_worker_packets_total{{worker=\"{worker}\"}}");
            assert_eq!(metric(&daemon, &series), 3200.0);
        }
    });
}

// Input:  the MTU of N3 is raised while the daemon runs; three datagrams come that are longer than the memory for a frame, and nothing
//         else.
// Output: the metrics have them.
#[test]
fn what_no_frame_has_room_for_shows_in_the_metrics() {
    const NAME: &str = "xdp::what_no_frame_has_room_for_shows_in_the_metrics";
    in_namespace_of_root(NAME, || {
        let gnb = far_end(
            "n3",
            "192.0.2.1/24",
            &["address add 192.0.2.9/24 dev far", "link set far up mtu 3000"],
            (GNB, 2152),
        );
        let _server = far_end("n6", "198.51.100.1/24", ROUTED, (SERVER, 2));
        let config = on_both(1);
        if lacks_xdp(NAME, &config) {
            return;
        }
        let daemon = Daemon::start(&config).unwrap();
        ip("link set n3 mtu 3000");
        for _ in 0..3 {
            gnb.send_to(&[1; 2500], (N3, 2152)).unwrap();
        }
        let overrun = "causeway_port_packets_total{port=\"n3-n3\",event=\"rx_overrun\"}";
        let end = std::time::Instant::now() + PATIENCE;
        while metric(&daemon, overrun) < 3.0 {
            assert!(std::time::Instant::now() < end, "{}", metric(&daemon, overrun));
        }
    });
}

// Input:  an interface that does not exist, the loopback, and one that runs the program of another daemon.
// Output: errors that name the key and say what to do.
#[test]
fn what_cannot_be_had_names_the_key_and_the_cure() {
    const NAME: &str = "xdp::what_cannot_be_had_names_the_key_and_the_cure";
    in_namespace_of_root(NAME, || {
        let _gnb = gnb();
        let mut config = config(loopback());
        config.upf.gtpu.mode = GtpuMode::AfXdp;
        let on = |dev: &str| {
            vec![GtpuServer { dev: Some(dev.into()), address: Some(N3.into()), ..GtpuServer::default() }]
        };
        config.upf.gtpu.server = on("n3");
        if lacks_xdp(NAME, &config) {
            return;
        }
        config.upf.session =
            vec![Session { mode: N6Mode::AfXdp, gateway: None, dev: "n3".into(), ..Session::default() }];
        let error = open::ports(&config).err().unwrap().to_string();
        assert!(error.starts_with("upf.session[0].dev: n3 runs another XDP program: stop"), "{error}");
        config.upf.gtpu.server = on("lo");
        let error = open::ports(&config).err().unwrap().to_string();
        assert!(error.starts_with("upf.gtpu.server[0]: interface lo is not Ethernet"), "{error}");
        config.upf.gtpu.server = on("nowhere0");
        let error = open::ports(&config).err().unwrap().to_string();
        assert!(
            error.starts_with("upf.gtpu.server[0]: interface nowhere0 does not exist: create it"),
            "{error}"
        );
    });
}

/// Dropped, also by a failed test, it says that it is over.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Numbers that arrive at the gNB, in their order, until there are no more.
fn numbers(gnb: &UdpSocket, until: impl Fn(&[u32]) -> bool) -> Vec<u32> {
    let (mut seen, mut buffer) = (Vec::new(), [0; 128]);
    while !until(&seen) {
        let Ok(len) = gnb.recv(&mut buffer) else { break };
        if let Some(number) = buffer[..len].last_chunk() {
            seen.push(u32::from_be_bytes(*number));
        }
    }
    seen
}

// Input:  a server sends to a UE without pause, 2,000 packets a second, before the UPF starts, while it starts, and afterwards; as soon as the
//         SMF has the answer that the session is there, 5,000 packets more at once, as many as come in 15 ms at 330,000 a second. All of
//         it eight times, each with a daemon that has just started.
// Output: from that answer on every packet arrives, once and in order, and no port has lost any.
#[test]
fn from_the_start_on_nothing_is_lost() {
    const NAME: &str = "xdp::from_the_start_on_nothing_is_lost";
    const BURST: u32 = 5000;
    in_namespace_of_root(NAME, || {
        let (gnb, server) = (gnb(), far_end("n6", "198.51.100.1/24", ROUTED, (SERVER, 2)));
        let config = on_both(1);
        if lacks_xdp(NAME, &config) {
            return;
        }
        rustix::net::sockopt::set_socket_recv_buffer_size_force(&gnb, 64 << 20).unwrap();
        // A few packets under way between the ends of the veth pair, where more would be lost that the UPF has never seen.
        rustix::net::sockopt::set_socket_send_buffer_size(&server, 0).unwrap();
        for _ in 0..8 {
            let (next, is_over, end) = (Mutex::new(0_u32), AtomicBool::new(false), AtomicU32::new(u32::MAX));
            let send = || {
                let mut next = next.lock().unwrap();
                // While no route leads to the UE the kernel may say so.
                if server.send_to(&next.to_be_bytes(), (UE, 1)).is_ok() {
                    *next += 1;
                }
                *next
            };
            std::thread::scope(|scope| {
                let _ends = End(&is_over);
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        send();
                        std::thread::sleep(Duration::from_micros(500));
                    }
                });
                let daemon = Daemon::start(&config).unwrap();
                let mut smf = Smf::new(loopback().into(), daemon.pfcp_addresses()[0]);
                smf.associate();
                smf.establish_forwarding(UE, Teid::new(7).unwrap(), GNB);
                let first = *next.lock().unwrap();
                let arrived = scope.spawn(|| {
                    let is_last = |seen: &[u32]| {
                        seen.last().is_some_and(|last| last + 1 >= end.load(Ordering::Relaxed))
                    };
                    numbers(&gnb, is_last)
                });
                for _ in 0..BURST {
                    send();
                }
                std::thread::sleep(Duration::from_millis(100));
                is_over.store(true, Ordering::Relaxed);
                // One more, so that the last one is waited for with its number known.
                end.store(send(), Ordering::Relaxed);
                let mut arrived = arrived.join().unwrap();
                let sent = first..end.load(Ordering::Relaxed);
                arrived.retain(|number| sent.contains(number));
                let events = ["rx_overrun", "neighbour_unresolved", "tx_would_block", "tx_error"];
                for (port, event) in
                    ["n3-n3", "n6-n6"].into_iter().flat_map(|port| events.map(|event| (port, event)))
                {
                    let series = format!("causeway_port_packets_total{{port=\"{port}\",event=\"{event}\"}}");
                    assert_eq!(metric(&daemon, &series), 0.0, "{series}");
                }
                let missing: Vec<u32> = sent.clone().filter(|number| !arrived.contains(number)).collect();
                assert!(
                    arrived.iter().copied().eq(sent.clone()),
                    "{} of {} are missing, the first {:?}",
                    missing.len(),
                    sent.len(),
                    missing.first()
                );
            });
        }
    });
}

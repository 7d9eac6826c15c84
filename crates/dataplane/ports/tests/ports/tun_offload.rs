//! Bulk traffic through TUN devices with offloads: two namespaces, a device in each, and between the two ports a
//! relay that sends whole packets singly into the other device.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::tun::{TunOffload, TunOptions, TunPort};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::{Counter, Counters, Port, Waker, wait};

use crate::common::{Remote, in_namespace};

/// Octets of bulk traffic in each direction.
const BULK: usize = 6 << 20;

/// The addresses here and there, IPv4 and IPv6, with their networks.
const HERE: [&str; 2] = ["10.45.0.1/16", "2001:db8:45::1/64"];
const THERE: [&str; 2] = ["10.46.0.1/16", "2001:db8:46::1/64"];

fn open(own: [&str; 2], other: [&str; 2], offload: bool) -> TunPort {
    let nets = |texts: [&str; 2]| texts.map(|text| text.parse().unwrap()).to_vec();
    let networks = other.map(|text: &str| text.replace("0.1/", "0.0/").replace("::1/", "::/"));
    let options = TunOptions {
        device: "n6".into(),
        addresses: nets(own),
        mtu: Some(1400),
        routes: networks.iter().map(|text| text.parse().unwrap()).collect(),
        offload,
        ..TunOptions::default()
    };
    TunPort::open("n6", &options).unwrap()
}

fn ip(text: &str) -> IpAddr {
    text.split('/').next().unwrap().parse().unwrap()
}

/// Two devices, connected until this is dropped.
struct Path {
    remote: Remote,
    offload: TunOffload,
    counters: [Arc<Counters>; 2],
    stop: Arc<AtomicBool>,
    waker: Waker,
    relay: Option<JoinHandle<()>>,
}

impl Path {
    fn new(offload_here: bool, offload_there: bool) -> Self {
        let remote = Remote::new();
        let here = open(HERE, THERE, offload_here);
        let there = remote.run(move || open(THERE, HERE, offload_there));
        let offload = here.offload();
        let counters = [Arc::clone(here.counters()), Arc::clone(there.counters())];
        let (stop, waker) = (Arc::new(AtomicBool::new(false)), Waker::new().unwrap());
        let (stopped, woken) = (Arc::clone(&stop), waker.try_clone().unwrap());
        let relay = Some(std::thread::spawn(move || carry([here, there], &stopped, &woken)));
        Self { remote, offload, counters, stop, waker, relay }
    }

    fn value(&self, place: usize, counter: Counter) -> u64 {
        self.counters[place].value(counter)
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Release);
        self.waker.wake();
        let _ = self.relay.take().map(JoinHandle::join);
    }
}

/// Carries packets in both directions, and checks each: none is longer than the MTU, each is whole.
fn carry([mut here, mut there]: [TunPort; 2], stop: &AtomicBool, waker: &Waker) {
    let mut batch = Batch::new();
    while !stop.load(Ordering::Acquire) {
        let ready = wait([&here as &dyn Port, &there], Some(waker), None).unwrap();
        if ready.port(0) {
            pass(&mut here, &mut there, &mut batch);
        }
        if ready.port(1) {
            pass(&mut there, &mut here, &mut batch);
        }
    }
}

fn pass(from: &mut TunPort, to: &mut TunPort, batch: &mut Batch) {
    from.receive(batch).unwrap();
    assert!(batch.frames().all(|frame| frame.data.len() <= 1400));
    to.send(&batch.as_frames()).unwrap();
}

/// Pseudo-random octets.
fn pattern(seed: u64) -> Vec<u8> {
    let mut octets = vec![0; BULK];
    fastrand::Rng::with_seed(seed).fill(&mut octets);
    octets
}

/// Sends one pattern and receives another at the same time.
fn exchange(mut stream: TcpStream, sent: u64, expected: u64) {
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut outgoing = stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || outgoing.write_all(&pattern(sent)).unwrap());
    let mut received = vec![0; BULK];
    stream.read_exact(&mut received).unwrap();
    assert!(received == pattern(expected));
    writer.join().unwrap();
}

fn tcp_both_ways(path: &Path, place: usize) {
    let address = ip(THERE[place]);
    let listener = path.remote.run(move || TcpListener::bind((address, 0)).unwrap());
    let server = listener.local_addr().unwrap();
    let accepting = std::thread::spawn(move || exchange(listener.accept().unwrap().0, 1, 2));
    exchange(TcpStream::connect(server).unwrap(), 2, 1);
    accepting.join().unwrap();
}

// Input:  TCP bulk traffic in both directions at the same time, over IPv4 and over IPv6.
// Output: all octets arrive; far fewer system calls than packets in both directions; no packet was rejected.
#[test]
fn tcp_bulk_crosses_coalesced() {
    in_namespace("tcp_bulk_crosses_coalesced", || {
        let path = Path::new(true, true);
        tcp_both_ways(&path, 0);
        tcp_both_ways(&path, 1);
        for place in [0, 1] {
            assert!(path.value(place, Counter::RxCalls) * 2 < path.value(place, Counter::Rx));
            assert!(path.value(place, Counter::TxCalls) * 2 < path.value(place, Counter::Tx));
            for refused in
                [Counter::RxMalformed, Counter::RxTruncated, Counter::TxWrongKind, Counter::TxError]
            {
                assert_eq!(path.value(place, refused), 0, "{refused:?}");
            }
        }
    });
}

// Input:  the same, with a device without offloads, at either end.
// Output: all octets arrive.
#[test]
fn tcp_bulk_crosses_between_devices_with_different_offloads() {
    in_namespace("tcp_bulk_crosses_between_devices_with_different_offloads", || {
        tcp_both_ways(&Path::new(true, false), 0);
    });
    in_namespace("tcp_bulk_crosses_between_devices_with_different_offloads", || {
        tcp_both_ways(&Path::new(false, true), 1);
    });
}

fn bind(address: SocketAddr) -> UdpPort {
    UdpPort::bind("n3", address, &UdpOptions::default()).unwrap()
}

// Input:  a GSO message of UDP datagrams, the last shorter, over IPv4 and over IPv6.
// Output: each arrives, in order. Where the kernel has USO, the port receives all of them in one packet, and few
//         packets transmit them.
#[test]
fn a_gso_message_arrives_as_datagrams() {
    in_namespace("a_gso_message_arrives_as_datagrams", || {
        let path = Path::new(true, true);
        let payloads: Vec<Vec<u8>> = (0..50).map(|n| vec![n; if n < 49 { 1200 } else { 100 }]).collect();
        for place in [0, 1] {
            let there = SocketAddr::new(ip(THERE[place]), 2152);
            let (mut near, mut far) =
                (bind(SocketAddr::new(ip(HERE[place]), 2152)), path.remote.run(move || bind(there)));
            let meta = Meta::Gtpu { local: ip(HERE[place]), peer: there, tos: 0, hops: None };
            let frames: Vec<_> = payloads.iter().map(|data| Frame { meta, data }).collect();
            assert_eq!(near.send(&frames).unwrap(), 50);
            let (mut seen, mut batch, start) = (Vec::new(), Batch::new(), Instant::now());
            while seen.len() < 50 && start.elapsed() < Duration::from_secs(5) {
                wait([&far as &dyn Port], None, Some(Duration::from_millis(100))).unwrap();
                far.receive(&mut batch).unwrap();
                seen.extend(batch.frames().map(|frame| frame.data.to_vec()));
            }
            assert!(seen == payloads);
        }
        if path.offload.uso {
            assert!(path.value(0, Counter::RxCalls) * 10 < path.value(0, Counter::Rx));
            assert!(path.value(1, Counter::TxCalls) * 10 < path.value(1, Counter::Tx));
        } else {
            eprintln!("SKIPPED a_gso_message_arrives_as_datagrams in part: needs USO");
        }
    });
}

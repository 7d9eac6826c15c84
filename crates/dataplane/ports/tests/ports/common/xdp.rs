//! AF_XDP ports on one end of a veth pair, n3; the other end, gnb, is in a namespace of its own.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroU8;
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::xdp::{XdpGtpu, XdpOptions};
use causeway_ports::{Counter, Port, wait};

use super::{Remote, in_namespace, ip, receive};

pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 9);
pub(crate) fn gtpu(local: IpAddr, peer: SocketAddr) -> Meta {
    Meta::Gtpu { local, peer, tos: 0xb8, hops: NonZeroU8::new(64) }
}

pub(crate) fn connected_remote() -> Remote {
    let remote = Remote::new();
    remote.connect(("n3", &["192.0.2.1/24", "2001:db8::1/64"]), ("gnb", &["192.0.2.9/24", "2001:db8::9/64"]));
    remote
}

pub(crate) fn addresses() -> [IpAddr; 2] {
    [UPF.into(), "2001:db8::1".parse().unwrap()]
}

pub(crate) fn n3(options: &XdpOptions) -> XdpGtpu {
    XdpGtpu::open("n3", &addresses(), options).unwrap()
}

pub(crate) fn native() -> XdpOptions {
    XdpOptions::on("n3")
}

pub(crate) fn generic() -> XdpOptions {
    XdpOptions { native: false, ..native() }
}

/// One test at a time: a process that is being started holds all files of this one until exec, so what a test has
/// closed would stay bound or attached until then.
static ALONE: Mutex<()> = Mutex::new(());

/// Runs the test in a namespace if AF_XDP sockets and programs are available.
pub(crate) fn with_xdp(name: &'static str, test: impl FnOnce() + Send + 'static) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    in_namespace(name, move || {
        let _remote = connected_remote();
        match XdpGtpu::open("n3", &addresses(), &native()) {
            Ok(port) => drop(port),
            Err(error) => return eprintln!("SKIPPED {name}: needs AF_XDP: {error}"),
        }
        ip("link delete n3");
        test();
    });
}

/// Runs the port until the counter has the value, or for six seconds.
pub(crate) fn until(port: &mut dyn Port, counter: Counter, value: u64) {
    let end = Instant::now() + Duration::from_secs(6);
    while port.counters().value(counter) < value {
        assert!(Instant::now() < end, "{}: {:?}", counter.name(), port.counters());
        wait([&*port], None, Some(Duration::from_millis(50))).unwrap();
        port.receive(&mut Batch::new()).unwrap();
    }
}

/// Exchanges a datagram each way between the port and a GTP-U socket of the kernel at the other end.
pub(crate) fn exchange(upf: &mut XdpGtpu, remote: &Remote, ours: IpAddr, theirs: SocketAddr) {
    let mut gnb = remote.run(move || UdpPort::bind("gnb", theirs, &UdpOptions::default()).unwrap());
    let ours = SocketAddr::new(ours, 2152);
    let before = upf.counters().value(Counter::Tx);
    let down = Frame { meta: gtpu(ours.ip(), theirs), data: b"downlink" };
    assert_eq!(upf.send(&[down]).unwrap(), 1);
    until(upf, Counter::Tx, before + 1);
    assert_eq!(receive(&mut gnb, 1), [(gtpu(theirs.ip(), ours), b"downlink".to_vec())]);
    let up = Frame { meta: gtpu(theirs.ip(), ours), data: b"uplink" };
    assert_eq!(gnb.send(&[up]).unwrap(), 1);
    assert_eq!(receive(upf, 1), [(gtpu(ours.ip(), theirs), b"uplink".to_vec())]);
}

/// An XDP program is on the interface n3.
pub(crate) fn attached() -> bool {
    let output = Command::new("ip").args(["link", "show", "dev", "n3"]).output().unwrap();
    String::from_utf8_lossy(&output.stdout).contains("xdp")
}

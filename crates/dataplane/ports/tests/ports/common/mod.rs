//! The common part of the tests of this crate: network namespaces, and small packets.
#![allow(dead_code)] // Each test binary uses its own part.

pub(crate) mod udp;
pub(crate) mod xdp;

use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use causeway_packet::{Batch, Meta};
use causeway_ports::netlink::Netlink;
use causeway_ports::{Port, PortError, wait};
use rustix::net::SocketType;

/// Runs `test` in a thread with an empty network namespace, whose loopback is up.
///
/// Without the privilege it prints that the test is skipped; `unshare -Urn cargo test` gives it to any user.
pub(crate) fn in_namespace(name: &str, test: impl FnOnce() + Send + 'static) {
    let name = name.to_owned();
    let thread = std::thread::spawn(move || match enter_namespace() {
        Ok(()) => test(),
        Err(errno) => eprintln!("SKIPPED {name}: needs CAP_NET_ADMIN: {errno}"),
    });
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn enter_namespace() -> Result<(), rustix::io::Errno> {
    // SAFETY: only the network namespace of this thread changes; no descriptor table is split.
    #[allow(unsafe_code)]
    let entered = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) };
    entered.inspect(|()| ip("link set lo up"))
}

type Job = Box<dyn FnOnce() + Send>;

/// Another network namespace, until this is dropped.
pub(crate) struct Remote {
    jobs: Sender<Job>,
    thread: i32,
}

impl Remote {
    /// A new namespace, empty but for its loopback.
    pub(crate) fn new() -> Self {
        let (jobs, queue) = channel::<Job>();
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            enter_namespace().unwrap();
            sender.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            queue.into_iter().for_each(|job| job());
        });
        Self { jobs, thread: receiver.recv().unwrap() }
    }

    /// The thread there, by which ip(8) finds the namespace.
    pub(crate) fn thread(&self) -> i32 {
        self.thread
    }

    /// Runs a closure there. Sockets that it opens stay there.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = channel();
        self.jobs.send(Box::new(move || sender.send(job()).unwrap())).unwrap();
        receiver.recv().unwrap()
    }

    /// Connects both namespaces by Ethernet: `here`, with an address, and `there`, with the addresses, both up.
    pub(crate) fn connect(&self, here: (&str, &[&str]), there: (&str, &[&str])) {
        let thread = self.thread;
        ip(&format!("link add {} type veth peer name {}", here.0, there.0));
        ip(&format!("link set {} netns {thread}", there.0));
        set_up(here.0, here.1);
        let (name, addresses) = (there.0.to_owned(), there.1.join(" "));
        self.run(move || {
            set_up(&name, &addresses.split_whitespace().collect::<Vec<_>>());
            wait_up(&name);
        });
        wait_up(here.0);
    }
}

/// Sets an interface up with these addresses.
pub(crate) fn set_up(name: &str, addresses: &[&str]) {
    ip(&format!("link set {name} up"));
    for address in addresses {
        let nodad = if address.contains(':') { "nodad" } else { "" };
        ip(&format!("address add {address} dev {name} {nodad}"));
    }
}

/// Waits until the kernel has detected the carrier of an interface, for at most six seconds: earlier packets are
/// dropped.
pub(crate) fn wait_up(name: &str) {
    let end = Instant::now() + Duration::from_secs(6);
    while !run("ip", &format!("-o link show dev {name}")).contains("state UP") {
        assert!(Instant::now() < end, "{name} is not up");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A socket that sends raw frames on an interface.
pub(crate) struct RawSocket(OwnedFd);

impl RawSocket {
    pub(crate) fn open(interface: &str) -> Self {
        let index = Netlink::open().unwrap().link(interface).unwrap().unwrap().index as i32;
        let socket = rustix::net::socket(rustix::net::AddressFamily::PACKET, SocketType::RAW, None).unwrap();
        // SAFETY: all-zero is a legal value of this C structure.
        #[allow(unsafe_code)]
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        (address.sll_family, address.sll_ifindex) = (libc::AF_PACKET as u16, index);
        let len = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the kernel reads `len` octets of `address`.
        #[allow(unsafe_code)]
        let bound = unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), len) };
        assert_eq!(bound, 0);
        Self(socket)
    }

    pub(crate) fn send(&self, frame: &[u8]) {
        rustix::net::send(&self.0, frame, rustix::net::SendFlags::empty()).unwrap();
    }
}

/// Runs ip(8) with the words of `command`.
pub(crate) fn ip(command: &str) {
    run("ip", command);
}

/// Runs a program with the words of `arguments` in the namespace of this thread, and returns its output.
pub(crate) fn run(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {arguments}: {error}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Receives until there are `count` frames, or for two seconds.
pub(crate) fn receive(port: &mut dyn Port, count: usize) -> Vec<(Meta, Vec<u8>)> {
    receive_while(port, count, |_| true)
}

/// Receives until there are `count` frames that `wanted` accepts, or for two seconds.
pub(crate) fn receive_while(
    port: &mut dyn Port,
    count: usize,
    wanted: impl Fn(&[u8]) -> bool,
) -> Vec<(Meta, Vec<u8>)> {
    let (mut batch, mut seen) = (Batch::new(), Vec::new());
    let end = Instant::now() + Duration::from_secs(2);
    while seen.len() < count && Instant::now() < end {
        wait([&*port], None, Some(Duration::from_millis(50))).unwrap();
        port.receive(&mut batch).unwrap();
        seen.extend(batch.frames().filter(|f| wanted(f.data)).map(|f| (f.meta, f.data.to_vec())));
    }
    seen
}

/// The message of an error.
pub(crate) fn message<T>(result: Result<T, PortError>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

/// Opens a port once its device is free: a process that another test has just started may briefly hold a descriptor
/// that is closed here.
pub(crate) fn once_free<P>(open: impl Fn() -> Result<P, PortError>) -> P {
    let end = Instant::now() + Duration::from_secs(2);
    loop {
        match open() {
            Err(PortError::TunBusy { .. }) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened.unwrap(),
        }
    }
}

/// The Internet checksum of RFC 1071.
pub(crate) fn checksum(parts: &[&[u8]]) -> u16 {
    let octets: Vec<u8> = parts.concat();
    let sum: u32 =
        octets.chunks(2).map(|c| u32::from(c[0]) << 8 | c.get(1).map_or(0, |b| u32::from(*b))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

/// An IPv4 packet with a UDP datagram, checksums correct.
pub(crate) fn udp4(src: (Ipv4Addr, u16), dst: (Ipv4Addr, u16), payload: &[u8]) -> Vec<u8> {
    let udp_len = (8 + payload.len()) as u16;
    let mut udp = [src.1.to_be_bytes(), dst.1.to_be_bytes(), udp_len.to_be_bytes(), [0, 0]].concat();
    udp.extend(payload);
    let addresses = [src.0.octets(), dst.0.octets()].concat();
    let sum = checksum(&[&addresses, &[0, 17], &udp_len.to_be_bytes(), &udp]);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut header = vec![0x45, 0, 0, 0, 0, 1, 0, 0, 64, 17, 0, 0];
    header[2..4].copy_from_slice(&(20 + udp_len).to_be_bytes());
    header.extend(addresses);
    let sum = checksum(&[&header]);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    [header, udp].concat()
}

/// An IPv6 packet with a UDP datagram, checksum correct.
pub(crate) fn udp6(src: (Ipv6Addr, u16), dst: (Ipv6Addr, u16), payload: &[u8]) -> Vec<u8> {
    let udp_len = (8 + payload.len()) as u16;
    let mut udp = [src.1.to_be_bytes(), dst.1.to_be_bytes(), udp_len.to_be_bytes(), [0, 0]].concat();
    udp.extend(payload);
    let addresses = [src.0.octets(), dst.0.octets()].concat();
    let sum = checksum(&[&addresses, &[0, 17], &udp_len.to_be_bytes(), &udp]);
    udp[6..8].copy_from_slice(&sum.to_be_bytes());
    let mut header = vec![0x60, 0, 0, 0, 0, 0, 17, 64];
    header[4..6].copy_from_slice(&udp_len.to_be_bytes());
    header.extend(addresses);
    [header, udp].concat()
}

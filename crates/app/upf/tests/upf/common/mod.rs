//! A daemon on loopback addresses of its own, with an SMF and a gNB that speak to it over real sockets.
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

pub mod far;
pub mod namespace;
pub mod smf;

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::{Duration, Instant};

use causeway_dataplane::Network;
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::decrement_hop_limit;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_ports::memory::{MemoryPort, pair};
use causeway_types::{IpNet, NetworkInstance, Teid, WallTime};
use causeway_upf::config::{
    Config, GtpuServer, Metrics, MetricsServer, Overrides, PfcpServer, RequestPort, Upf,
};
use causeway_upf::worker::PortSet;
use causeway_upf::{Daemon, StartError, open};

pub const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);
pub const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
/// How long a test waits for what must come. On a busy machine much comes late.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// With this variable, packet threads answer simple session requests in all tests that do not say otherwise.
pub const ACCELERATE: &str = "CAUSEWAY_ACCELERATE";

/// A loopback address that no other test, in this process or another, uses at the same time.
pub fn loopback() -> Ipv4Addr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., a, b] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 64 | (a & 63), b, NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A configuration on that address with ports that the kernel chooses, except GTP-U's. The machine plays the data network, too:
/// UEs reach its server and its gateway.
pub fn config(at: Ipv4Addr) -> Config {
    let at = IpAddr::V4(at);
    let mut config = Config::parse(None, "", &Overrides::default()).unwrap();
    config.upf = Upf {
        gtpu: causeway_upf::config::Gtpu {
            server: vec![GtpuServer { address: Some(at), ..GtpuServer::default() }],
            ..Default::default()
        },
        metrics: Metrics { server: vec![MetricsServer { address: at, port: 0 }], ..Metrics::default() },
        ..Upf::default()
    };
    config.upf.host.reachable =
        vec![IpNet::from(IpAddr::V4(SERVER)), IpNet::from(IpAddr::from([10, 45, 0, 1]))];
    let pfcp = &mut config.upf.pfcp;
    pfcp.server = vec![PfcpServer::at(at, 0)];
    pfcp.request_port = RequestPort::Learnt;
    pfcp.retransmission.timeout = Duration::from_millis(200);
    // The same tests with packet threads that answer simple session requests themselves.
    pfcp.accelerate = std::env::var_os(ACCELERATE).is_some();
    config
}

/// A running daemon with the far end of its data network.
pub struct Running {
    pub daemon: Daemon,
    pub upf: Ipv4Addr,
    pub server: MemoryPort,
}

/// The ports, and the far end of the data network.
fn ports(config: &Config) -> Result<(PortSet, MemoryPort), StartError> {
    let mut ports = open::gtpu_ports(config)?;
    let (n6, server) = pair("n6", "server").unwrap();
    let pools = config.upf.session.iter().map(|session| session.subnet).collect();
    ports.add_network(Network::new(NetworkInstance::new("internet"), pools), Box::new(n6));
    Ok((ports, server))
}

/// Runs a daemon whose data network is a memory port.
pub fn run(config: &Config, upf: Ipv4Addr) -> Result<Running, StartError> {
    let (ports, server) = ports(config)?;
    Ok(Running { daemon: Daemon::start_with(config, vec![ports])?, upf, server })
}

/// The same by a wall clock that a test sets.
pub fn run_by(
    config: &Config,
    upf: Ipv4Addr,
    wall: impl Fn() -> WallTime + Send + 'static,
) -> Result<Running, StartError> {
    let (ports, server) = ports(config)?;
    Ok(Running { daemon: Daemon::start_by(config, vec![ports], wall)?, upf, server })
}

impl Running {
    pub fn n4(&self) -> SocketAddr {
        self.daemon.pfcp_addresses()[0]
    }

    /// Fetches a page of the management server: the status line and headers, and the body.
    pub fn fetch(&self, path: &str) -> (String, String) {
        fetch(&self.daemon, path)
    }

    /// One value of `/metrics`.
    pub fn metric(&self, series: &str) -> f64 {
        metric(&self.daemon, series)
    }

    /// Listens to events from now on.
    pub fn events(&self) -> EventStream {
        EventStream::of(&self.daemon)
    }
}

/// The stream of events.
pub struct EventStream {
    stream: TcpStream,
    told: String,
}

impl EventStream {
    pub fn of(daemon: &Daemon) -> Self {
        let at = daemon.management_addresses()[0];
        let mut stream = TcpStream::connect(at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        write!(stream, "GET /api/v1/events HTTP/1.1\r\nHost: {at}\r\n\r\n").unwrap();
        let mut events = Self { stream, told: String::new() };
        events.read_until("200 OK");
        events
    }

    /// Waits until this was told; all that was told so far.
    pub fn read_until(&mut self, what: &str) -> String {
        let mut part = [0; 4096];
        while !self.told.contains(what) {
            let octets = self.stream.read(&mut part).unwrap();
            assert!(octets > 0, "{}", self.told);
            self.told.push_str(&String::from_utf8_lossy(&part[..octets]));
        }
        self.told.clone()
    }
}

/// Fetches a page of the management server: the status line and headers, and the body.
pub fn fetch(daemon: &Daemon, path: &str) -> (String, String) {
    let at = daemon.management_addresses()[0];
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// One value of `/metrics`.
pub fn metric(daemon: &Daemon, series: &str) -> f64 {
    let (_, body) = fetch(daemon, "/metrics");
    let line = body.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("{series} is not in\n{body}")).parse().unwrap()
}

/// Waits until something is so; `what` is said when it never is.
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The next packet that leaves to the data network.
pub fn next(port: &mut MemoryPort) -> Vec<u8> {
    let start = Instant::now();
    loop {
        if let Some((_, packet)) = port.pop() {
            return packet;
        }
        assert!(start.elapsed() < PATIENCE, "no packet in time");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// A gNB: a socket at port 2152.
pub struct Gnb {
    pub address: Ipv4Addr,
    socket: UdpSocket,
}

impl Gnb {
    pub fn new() -> Self {
        Self::at(loopback())
    }

    pub fn at(address: Ipv4Addr) -> Self {
        let socket = UdpSocket::bind((address, 2152)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        Self { address, socket }
    }

    /// Sends a user packet in a tunnel.
    pub fn send(&self, upf: Ipv4Addr, teid: Teid, user: &[u8]) {
        let header = prefix::without_extensions(teid, user.len()).unwrap();
        self.socket.send_to(&[&header[..], user].concat(), (upf, 2152)).unwrap();
    }

    /// Sends a datagram as it stands.
    pub fn send_raw(&self, upf: Ipv4Addr, datagram: &[u8]) {
        self.socket.send_to(datagram, (upf, 2152)).unwrap();
    }

    /// What has arrived already, without waiting.
    pub fn receive_waiting(&self) -> Vec<Vec<u8>> {
        self.socket.set_nonblocking(true).unwrap();
        let mut buffer = [0; 2048];
        let next = || self.socket.recv(&mut buffer).ok().map(|len| buffer[..len].to_vec());
        let waiting = std::iter::from_fn(next).collect();
        self.socket.set_nonblocking(false).unwrap();
        waiting
    }

    /// The next datagram.
    pub fn receive(&self) -> Vec<u8> {
        let mut buffer = [0; 2048];
        let len = self.socket.recv(&mut buffer).expect("a datagram in time");
        buffer[..len].to_vec()
    }
}

/// A UDP packet of a user.
pub fn packet(src: Ipv4Addr, dst: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut octets = Vec::new();
    let ip = IpRepr::V4(Ipv4Repr::new(src, dst, IpProtocol::UDP));
    ip.write_udp(UdpRepr { src_port: 1, dst_port: 2 }, true, &[payload], &mut octets).unwrap();
    octets
}

/// The packet after it passed the UPF.
pub fn one_hop_on(mut packet: Vec<u8>) -> Vec<u8> {
    decrement_hop_limit(&mut packet).unwrap();
    packet
}

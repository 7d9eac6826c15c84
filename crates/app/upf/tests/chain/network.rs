//! The network of a chain: a bridge with this namespace, where SMF, gNB, server and coordinator are, and a namespace for each member.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use tempfile::TempDir;

use crate::common::namespace::ip;
use crate::common::smf::Smf;
use crate::common::{PATIENCE, until};
use crate::process::{COORDINATOR, MEMBER, SILENCE};

/// The service address, of N4, N3 and N6.
pub(crate) const SERVICE: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 10);
pub(crate) const SMF: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const GNB: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// In the data network.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// Octets of the headers of IPv4 and UDP.
const HEADERS: u64 = 28;

/// A process, killed when it is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The namespaces and processes.
pub(crate) struct Network {
    folder: TempDir,
    /// Seconds of silence after which a process has failed.
    silence: u64,
    /// Processes that hold the namespaces of the members.
    holders: BTreeMap<u8, Process>,
    members: BTreeMap<u8, Process>,
    coordinator: Option<Process>,
}

impl Network {
    /// With members that only count as failed when they are killed: on a busy machine one that works may be silent for long.
    pub(crate) fn new() -> Self {
        Self::with_silence(20)
    }

    /// With members that count as failed after so many seconds without a word.
    pub(crate) fn with_silence(silence: u64) -> Self {
        ip("link add br0 type bridge");
        ip("addr add 10.0.0.1/24 dev br0");
        ip("addr add 10.0.0.2/24 dev br0");
        ip("link set br0 up");
        ip("addr add 198.51.100.1/32 dev lo");
        let folder = tempfile::tempdir().unwrap();
        let mut network =
            Self { folder, silence, holders: BTreeMap::new(), members: BTreeMap::new(), coordinator: None };
        for node in [1, 2] {
            network.add_namespace(node);
        }
        ip("route add 10.45.0.0/16 via 10.0.0.10");
        network.restart_coordinator();
        network
    }

    fn add_namespace(&mut self, node: u8) {
        let holder = Command::new("unshare").args(["--net", "sleep", "3600"]).spawn().unwrap();
        let pid = holder.id();
        self.holders.insert(node, Process(holder));
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        until("a namespace", || {
            let of_holder = fs::read_link(format!("/proc/{pid}/ns/net"));
            of_holder.is_ok_and(|of_holder| of_holder != own)
        });
        ip(&format!("link add m{node} type veth peer name eth0 netns {pid}"));
        ip(&format!("link set m{node} master br0 up"));
        for words in [
            "link set lo up".to_owned(),
            format!("addr add 10.0.0.{}/24 dev eth0", 10 + node),
            "link set eth0 up".to_owned(),
            "route add 198.51.100.1 via 10.0.0.1".to_owned(),
        ] {
            let status = self.inside(node, "ip").args(words.split(' ')).status().unwrap();
            assert!(status.success(), "ip {words}");
        }
        self.set_forwarding(node, true);
    }

    /// Has the kernel of a member forward IPv4, or not.
    pub(crate) fn set_forwarding(&self, node: u8, is_on: bool) {
        let setting = format!("net.ipv4.ip_forward={}", u8::from(is_on));
        let status = self.inside(node, "sysctl").args(["-qw", &setting]).status().unwrap();
        assert!(status.success(), "forwarding");
    }

    /// A command in the namespace of a member.
    fn inside(&self, node: u8, program: &str) -> Command {
        let pid = self.holders[&node].0.id();
        let mut command = Command::new("nsenter");
        command.arg(format!("--net=/proc/{pid}/ns/net")).arg(program);
        command
    }

    fn log_file(&self, node: u8) -> PathBuf {
        self.folder.path().join(format!("member-{node}.log"))
    }

    /// What a member has logged.
    pub(crate) fn log(&self, node: u8) -> String {
        fs::read_to_string(self.log_file(node)).unwrap_or_default()
    }

    fn notify_socket(&self, node: u8) -> PathBuf {
        self.folder.path().join(format!("member-{node}.notify"))
    }

    /// What a service manager hears of a member that is started later. It wants to hear every half second that the member is alive.
    pub(crate) fn manager(&self, node: u8) -> Receiver<String> {
        let manager = UnixDatagram::bind(self.notify_socket(node)).unwrap();
        let (told, heard) = channel();
        // All the time: a member does not wait for a socket that is full.
        thread::spawn(move || {
            let mut octets = [0; 64];
            while let Ok(len) = manager.recv(&mut octets)
                && told.send(String::from_utf8(octets[..len].to_vec()).unwrap()).is_ok()
            {}
        });
        heard
    }

    pub(crate) fn start_member(&mut self, node: u8) {
        self.start_member_with(node, "");
    }

    /// Writes the configuration file of a member, with further keys of `upf`.
    pub(crate) fn configure(&self, node: u8, keys: &str) -> PathBuf {
        let file = self.folder.path().join(format!("member-{node}.yaml"));
        let (own, other) = (10 + node, 13 - node);
        let text = format!(
            "upf:\n  pfcp: {{server: [{{address: {SERVICE}}}], request_port: learnt}}\n  \
             gtpu: {{server: [{{address: {SERVICE}}}]}}\n  \
             session: [{{subnet: 10.45.0.0/16, gateway: 10.45.0.1}}]\n  \
             metrics: {{server: [{{address: 10.0.0.{own}}}]}}\n  \
             chain: {{member: {node}, listen: 10.0.0.{own}, peer: 10.0.0.{other}, coordinator: 10.0.0.1, \
             address: {SERVICE}, dev: eth0, timeout: {}s, usage_interval: 100ms}}\n  {keys}\n",
            self.silence
        );
        fs::write(&file, text).unwrap();
        file
    }

    /// Has a running member read this configuration.
    pub(crate) fn reload(&self, node: u8, keys: &str) {
        self.configure(node, keys);
        let pid = self.members[&node].0.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        until("the reload in the log", || self.log(node).contains("configuration reloaded"));
    }

    pub(crate) fn start_member_with(&mut self, node: u8, keys: &str) {
        let file = self.configure(node, keys);
        let log = File::options().create(true).append(true).open(self.log_file(node)).unwrap();
        let mut command = self.inside(node, std::env::current_exe().unwrap().to_str().unwrap());
        command.args(["--exact", "process", "--nocapture"]).env(MEMBER, file);
        if self.notify_socket(node).exists() {
            command.env("NOTIFY_SOCKET", self.notify_socket(node)).env("WATCHDOG_USEC", "500000");
        }
        let child = command.stdout(Stdio::null()).stderr(log).spawn().unwrap();
        self.members.insert(node, Process(child));
    }

    /// Sends octets to a member from the host of the other one. They are those of `printf`.
    pub(crate) fn send_to_member(&self, node: u8, octets: &str) {
        let script = format!("printf '{octets}' > /dev/tcp/10.0.0.{}/8806", 10 + node);
        let status = self.inside(3 - node, "bash").args(["-c", &script]).status().unwrap();
        assert!(status.success(), "{script}");
    }

    pub(crate) fn restart_coordinator(&mut self) {
        self.coordinator = None;
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.path().join("coordinator.log"))
            .unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process", "--nocapture"])
            .env(COORDINATOR, self.folder.path().join("chain"))
            .env(SILENCE, self.silence.to_string())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        self.coordinator = Some(Process(child));
    }

    /// The members of the chain, the primary first; and whether one is joining.
    fn chain(&self) -> (Vec<u8>, bool) {
        let text = fs::read_to_string(self.folder.path().join("chain")).unwrap_or_default();
        let Some(line) = text.lines().nth(1) else { return (Vec::new(), false) };
        let fields: Vec<&str> = line.split(' ').collect();
        let node = |text: &str| text.split('#').next().and_then(|node| node.parse().ok());
        (fields[2].split(',').filter_map(node).collect(), fields[3] != "-")
    }

    pub(crate) fn has_primary(&self) -> bool {
        !self.chain().0.is_empty()
    }

    pub(crate) fn has_standby(&self) -> bool {
        self.chain().0.len() == 2
    }

    /// Waits until both members are in the chain.
    pub(crate) fn await_standby(&self) {
        until("a standby", || self.has_standby());
    }

    /// The number of the primary.
    pub(crate) fn primary(&self) -> u8 {
        self.chain().0[0]
    }

    /// Cuts a member off from all others, or connects it again.
    pub(crate) fn set_connected(&self, node: u8, is_connected: bool) {
        ip(&format!("link set m{node} {}", if is_connected { "up" } else { "down" }));
    }

    /// Cuts a member off from the coordinator alone, or connects it again.
    pub(crate) fn set_coordinated(&self, node: u8, is_connected: bool) {
        let verb = if is_connected { "del" } else { "add" };
        let rule = ["rule", verb, "to", "10.0.0.1", "ipproto", "tcp", "blackhole"];
        let status = self.inside(node, "ip").args(rule).status().unwrap();
        assert!(status.success(), "{rule:?}");
    }

    /// A member has the service addresses.
    pub(crate) fn has_addresses(&self, node: u8) -> bool {
        let device = ["link", "show", "dev", "causeway-chain"];
        self.inside(node, "ip")
            .args(device)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    }

    /// A value of the metrics of a member; `None`: it serves none.
    pub(crate) fn metric(&self, node: u8, name: &str) -> Option<String> {
        let mut stream = TcpStream::connect((format!("10.0.0.{}", 10 + node).as_str(), 9098)).ok()?;
        stream.set_read_timeout(Some(PATIENCE)).ok()?;
        write!(stream, "GET /metrics HTTP/1.1\r\nHost: upf\r\nConnection: close\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        answer.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).map(str::to_owned)
    }

    /// Kills the process of a member.
    pub(crate) fn kill(&mut self, node: u8) -> u8 {
        assert!(self.members.remove(&node).is_some(), "member {node} runs");
        node
    }

    pub(crate) fn kill_primary(&mut self) -> u8 {
        let primary = self.chain().0[0];
        self.kill(primary)
    }

    pub(crate) fn kill_standby(&mut self) -> u8 {
        let standby = self.chain().0[1];
        self.kill(standby)
    }

    /// Waits until a primary answers.
    pub(crate) fn await_primary(&self) {
        let n4 = SocketAddr::from((SERVICE, 8805));
        until("a primary that answers", || {
            let socket = UdpSocket::bind((SMF, 0)).unwrap();
            socket.set_read_timeout(Some(std::time::Duration::from_millis(200))).unwrap();
            // A Heartbeat Request.
            let heartbeat = [0x20, 1, 0, 12, 0, 0, 9, 0, 0, 96, 0, 4, 0xe0, 0, 0, 0];
            socket.send_to(&heartbeat, n4).is_ok() && socket.recv(&mut [0; 1500]).is_ok()
        });
    }

    /// An SMF that the primary answers.
    pub(crate) fn smf(&self) -> Smf {
        self.await_primary();
        Smf::new(SMF.into(), SocketAddr::from((SERVICE, 8805)))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        if thread::panicking() {
            for name in ["coordinator.log", "member-1.log", "member-2.log"] {
                let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
                let lines: Vec<&str> = text.lines().collect();
                let last = lines.len().saturating_sub(60);
                eprintln!("-- {name}\n{}", lines[last..].join("\n"));
            }
        }
        self.members.clear();
    }
}

/// A host of the data network.
pub(crate) struct Server {
    socket: UdpSocket,
    /// Octets of the IP packets that have arrived.
    octets: Cell<u64>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let socket = UdpSocket::bind((SERVER, 2)).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { socket, octets: Cell::new(0) }
    }

    /// Sends back what has arrived.
    pub(crate) fn reply(&self) {
        let mut buffer = [0; 1500];
        while let Ok((len, from)) = self.socket.recv_from(&mut buffer) {
            let _ = self.socket.send_to(&buffer[..len], from);
        }
    }

    /// Sends a datagram to a UE.
    pub(crate) fn send(&self, ue: Ipv4Addr, payload: &[u8]) {
        let _ = self.socket.send_to(payload, (ue, 2000));
    }

    /// Octets of all IP packets that have arrived, with their headers.
    pub(crate) fn received(&self) -> u64 {
        let mut buffer = [0; 1500];
        while let Ok(len) = self.socket.recv(&mut buffer) {
            self.octets.set(self.octets.get() + HEADERS + len as u64);
        }
        self.octets.get()
    }
}

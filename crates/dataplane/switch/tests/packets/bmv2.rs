//! BMv2's simple_switch in a network namespace, with a TAP device on each port.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use causeway_p4::Reason;
use causeway_packet::{Batch, Frame, Meta};
use causeway_ports::tap::{TapOptions, TapPort};
use causeway_ports::{Port, wait};
use causeway_switch::FIRST_SESSION;
use causeway_switch::driver::Program;

use crate::frames::{UNDERLAY, UPF_N3, UPF_N9, frame, underlay_ipv6};
use crate::profiles::{Profile, compile};
use crate::runtime::Runtime;
use crate::thrift::{PATIENCE, Thrift};
use crate::{CPU, N3, N6, N9, SOFTWARE};

const PORTS: [u16; 5] = [N3, N6, N9, SOFTWARE, CPU];
const TOOLS: [&str; 2] = ["p4c-bm2-ss", "simple_switch"];
const INSIDE: &str = "CAUSEWAY_TEST_INSIDE";
static THRIFT: AtomicU16 = AtomicU16::new(9090);

/// This process has a network namespace of its own.
pub(crate) fn is_inside() -> bool {
    std::env::var_os(INSIDE).is_some()
}

/// What is missing is said once by a process: it holds for all its tests.
static SKIPPED: Once = Once::new();

/// Runs the test again in a network namespace, with BMv2; says so where that cannot be.
pub(crate) fn run_inside(test: &str) {
    let skip = |needs: &str| SKIPPED.call_once(|| eprintln!("SKIPPED packets_on_bmv2: needs {needs}"));
    if let Some(tool) = TOOLS.iter().find(|tool| !is_on_path(tool)) {
        return skip(&format!(
            "{tool} (not on PATH: packets went through the model alone, where it runs the program)"
        ));
    }
    let namespace = ["--user", "--map-root-user", "--net", "--"];
    let permitted = Command::new("unshare").args(namespace).args(["ip", "link"]).output();
    if !permitted.is_ok_and(|output| output.status.success()) || !Path::new("/dev/net/tun").exists() {
        return skip(
            "netns (no network namespaces or TAP devices: packets went through the model alone, where it runs the program)",
        );
    }
    let again = Command::new("unshare")
        .args(namespace)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&again.stdout) + String::from_utf8_lossy(&again.stderr);
    assert!(again.status.success() && said.contains("1 passed"), "on BMv2:\n{said}");
}

fn is_on_path(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(tool).is_file())
}

/// simple_switch with a TAP device on each port. It ends with this value.
pub(crate) struct SimpleSwitch {
    taps: Vec<(u16, TapPort)>,
    /// Frames that have left and were not asked for yet.
    seen: VecDeque<(u16, Vec<u8>)>,
    process: Child,
    log: PathBuf,
    _folder: tempfile::TempDir,
}

impl SimpleSwitch {
    /// Starts one with a compiled program, and its control plane.
    pub(crate) fn start(compiled: &Path, ports: &[u16]) -> (Self, Thrift) {
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        let folder = tempfile::tempdir().unwrap();
        // A port of its own for each: the last one's may still linger.
        let thrift = THRIFT.fetch_add(1, Ordering::Relaxed);
        let device = |port: u16| format!("s{thrift}p{port}");
        let taps = ports.iter().map(|port| (*port, open(device(*port)))).collect();
        let interfaces = ports.iter().flat_map(|port| ["-i".to_owned(), format!("{port}@{}", device(*port))]);
        let log = folder.path().join("switch.log");
        let file = std::fs::File::create(&log).unwrap();
        let mut process = Command::new("simple_switch")
            .args(interfaces)
            .args(["--thrift-port", &thrift.to_string(), "--log-console", "--log-level", "warn"])
            .args(notifications(folder.path()))
            .arg(compiled)
            .args(["--", "--priority-queues", "8"])
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        let thrift = Thrift::connect(thrift, || matches!(process.try_wait(), Ok(None)));
        (Self { taps, seen: VecDeque::new(), process, log, _folder: folder }, thrift)
    }

    /// Sends a frame into a port.
    pub(crate) fn put(&mut self, port: u16, octets: &[u8]) {
        let (_, tap) = self.taps.iter_mut().find(|(number, _)| *number == port).unwrap();
        assert_eq!(tap.send(&[Frame { meta: Meta::Ethernet, data: octets }]).unwrap(), 1);
    }

    /// The next frame that leaves by any port.
    pub(crate) fn next(&mut self) -> Option<(u16, Vec<u8>)> {
        let end = Instant::now() + PATIENCE;
        let mut batch = Batch::new();
        while self.seen.is_empty() && Instant::now() < end {
            let ports: Vec<&dyn Port> = self.taps.iter().map(|(_, tap)| tap as &dyn Port).collect();
            wait(ports, None, Some(Duration::from_secs(1))).unwrap();
            for (number, tap) in &mut self.taps {
                tap.receive(&mut batch).unwrap();
                let frames = batch.metas_and_data().filter_map(|(_, data)| data);
                self.seen.extend(frames.map(|octets| (*number, octets.to_vec())));
            }
        }
        self.seen.pop_front()
    }

    /// What it has said.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }
}

impl Drop for SimpleSwitch {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A switch with the program of a profile.
pub(crate) struct Bmv2 {
    pub(crate) runtime: Runtime,
    reasons: &'static [Reason],
    /// Packets dropped for each reason, when that was read last.
    dropped: Vec<u64>,
    fences: u16,
    switch: SimpleSwitch,
}

impl Bmv2 {
    /// Starts one with the program of a profile, empty but for the addresses of the UPF and the CPU port's mirroring session.
    pub(crate) fn start(profile: &Profile, program: &Program) -> Self {
        let compiled = compile(profile);
        let (switch, thrift) = SimpleSwitch::start(&compiled, &PORTS);
        let mut runtime = Runtime::new(thrift, program, &compiled);
        for local in [UPF_N3, UPF_N9] {
            runtime.add_to_value_set("UpfParser.local_ipv4", u32::from_be_bytes(local));
        }
        if profile.has_ipv6_underlay {
            let network = (u128::from(underlay_ipv6(UNDERLAY)) >> 64) as u64;
            runtime.add_to_value_set("UpfParser.local_underlay_high", (network >> 32) as u32);
            runtime.add_to_value_set("UpfParser.local_underlay_low", network as u32);
        } else if profile.has_segments() {
            runtime.add_to_value_set("UpfParser.local_underlay", u32::from_be_bytes(UNDERLAY));
        }
        runtime.add_mirroring(1, CPU);
        if profile.has_software {
            PORTS.iter().for_each(|port| runtime.add_mirroring((FIRST_SESSION + port).into(), *port));
        }
        let reasons = profile.drop_reasons();
        Self {
            runtime,
            reasons: reasons.get(1..).unwrap_or_default(),
            dropped: vec![0; reasons.len().saturating_sub(1)],
            fences: 0,
            switch,
        }
    }

    /// Packets dropped so far, for the reasons of which there are any.
    pub(crate) fn drops(&self) -> Vec<(&'static str, u64)> {
        let counted = self.reasons.iter().zip(&self.dropped).map(|(reason, packets)| (reason.name, *packets));
        counted.filter(|(_, packets)| *packets != 0).collect()
    }

    /// Reads the counters of drops; true if they have changed.
    fn has_dropped(&mut self) -> bool {
        let cells: Vec<u32> = self.reasons.iter().map(|reason| reason.value.into()).collect();
        let now = self.runtime.indexed("drops", &cells).into_iter().map(|count| count.packets).collect();
        let before = std::mem::replace(&mut self.dropped, now);
        self.dropped != before
    }

    /// Sends a frame into a port; returns all that leaves, by which ports.
    ///
    /// A frame with ARP follows it by the same port. It goes to the CPU port through the same queues, so once it is there, the first
    /// one is dropped and counted, or on its way; and copies for the CPU port have left.
    pub(crate) fn send(&mut self, port: u16, octets: &[u8]) -> Vec<(u16, Vec<u8>)> {
        self.fences += 1;
        let fence = frame(0x0806, &self.fences.to_be_bytes().repeat(14));
        self.put(port, octets);
        self.put(port, &fence);
        let mut left = Vec::new();
        loop {
            let (by, octets) = self.next();
            if by == CPU && octets.get(24..) == fence.get(14..) || octets == fence {
                break;
            }
            left.push((by, octets));
        }
        let is_copy = |(by, octets): &(u16, Vec<u8>)| *by == CPU && octets.get(15) == Some(&1);
        if !self.has_dropped() {
            while left.iter().all(is_copy) {
                let next = self.next();
                left.push(next);
            }
        }
        left
    }

    pub(crate) fn put(&mut self, port: u16, octets: &[u8]) {
        self.switch.put(port, octets);
    }

    /// The next frame that leaves by any port.
    pub(crate) fn next(&mut self) -> (u16, Vec<u8>) {
        self.switch.next().unwrap_or_else(|| {
            panic!("nothing leaves; dropped: {:?}; the switch says: {}", self.drops(), self.switch.log())
        })
    }
}

/// An address for notifications, which is else the same for all on the machine. A simple_switch without nanomsg has neither them nor this option.
fn notifications(folder: &Path) -> Vec<String> {
    let option = "--notifications-addr";
    let help = Command::new("simple_switch").arg("--help").output().unwrap().stdout;
    if !String::from_utf8_lossy(&help).contains(option) {
        return vec![];
    }
    vec![option.to_owned(), format!("ipc://{}", folder.join("notifications.ipc").display())]
}

fn open(device: String) -> TapPort {
    let options = TapOptions { device, bridge: None, mtu: Some(2000) };
    TapPort::open(&options.device, &options).unwrap()
}

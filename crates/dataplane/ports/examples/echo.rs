//! GTP-U through each kind of port and back, over veth: what getting packets in and out costs.
//!
//! ```sh
//! cargo run --release -p causeway-ports --example echo -- --json echo.json 72 1408
//! ```
//!
//! Needs root: it makes network namespaces `causeway-echo-*` and deletes them. One thread plays both ends: it sends a
//! burst as a gNB, then receives and sends back what the port under test gives it, so that the kernel's work for both is
//! done in its own CPU time. What it costs to send the burst to an interface that drops it is measured in the same run,
//! in turns with the others, and taken off. What comes back is dropped at the gNB's interface.

use std::error::Error;
use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::process::Command;
use std::time::{Duration, Instant};

use causeway_ports::tpacket::{EthernetGtpu, EthernetOptions};
use causeway_ports::udp::{UdpOptions, UdpPort};
use causeway_ports::xdp::{XdpGtpu, XdpOptions};
use causeway_ports::{BATCH, Batch, Frame, Meta, Port, wait};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::{ClockId, clock_gettime};

/// Batches in a burst: fewer frames than any ring or socket buffer holds.
const BURST: usize = 8;
/// Bursts of each side for each size, and those that do not count.
const ROUNDS: usize = 400;
const WARM_UP: usize = 20;
/// Where iproute2 keeps namespaces, and what ours are called.
const RUN: &str = "/run/netns";
const PREFIX: &str = "causeway-echo";
/// The Ethernet address of nobody: interfaces drop frames to it.
const NOBODY: &str = "02:00:00:00:ff:ff";

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Deletes the namespaces at the end.
struct Namespaces(Vec<String>);

impl Namespaces {
    fn add(&mut self, role: &str) -> Result<String> {
        let name = format!("{PREFIX}-{}-{role}", std::process::id());
        ip(&format!("netns add {name}"))?;
        self.0.push(name.clone());
        Ok(name)
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        for name in &self.0 {
            // Nothing more can be done about one that will not go.
            let _ = ip(&format!("netns delete {name}"));
        }
    }
}

fn ip(words: &str) -> Result<()> {
    let output = Command::new("ip").args(words.split(' ')).output()?;
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr)).into()),
    }
}

/// Opens something in a namespace, to which it belongs from then on.
fn inside<T>(namespace: &str, open: impl FnOnce() -> Result<T>) -> Result<T> {
    let enter = |path: &str| -> Result<()> {
        Ok(move_into_link_name_space(File::open(path)?.as_fd(), Some(LinkNameSpaceType::Network))?)
    };
    let home = format!("/proc/{}/ns/net", std::process::id());
    let here = File::open(home)?;
    enter(&format!("{RUN}/{namespace}"))?;
    let opened = open();
    move_into_link_name_space(here.as_fd(), Some(LinkNameSpaceType::Network))?;
    opened
}

type Opened = (Box<dyn Port>, String);

/// A kind of port: its name, and how to open it on an interface with an address.
type Kind = (&'static str, fn(&str, Ipv4Addr) -> Result<Opened>);

fn udp(address: Ipv4Addr, offload: bool) -> Result<Opened> {
    let options = UdpOptions { offload, ..UdpOptions::default() };
    let port = UdpPort::bind("upf", (address, 2152).into(), &options)?;
    let how = port.offload().to_string();
    Ok((Box::new(port), how))
}

fn tpacket(dev: &str, address: Ipv4Addr) -> Result<Opened> {
    let options = EthernetOptions::on(dev);
    Ok((Box::new(EthernetGtpu::open("upf", &[address.into()], &options)?), "packet rings".into()))
}

fn xdp(dev: &str, address: Ipv4Addr, native: bool) -> Result<Opened> {
    let options = XdpOptions { native, ..XdpOptions::on(dev) };
    let port = XdpGtpu::open("upf", &[address.into()], &options)?;
    let how = port.description();
    Ok((Box::new(port), how))
}

/// The gNB's port: frames one by one, past the queueing discipline. Its own ring is the smallest and never read.
fn gnb(address: Ipv4Addr) -> Result<Box<dyn Port>> {
    let options = EthernetOptions { ring: 0, bypass_queue: true, ..EthernetOptions::on("n3") };
    Ok(Box::new(EthernetGtpu::open("gnb", &[address.into()], &options)?))
}

const KINDS: &[Kind] = &[
    ("udp", |_, address| udp(address, false)),
    ("tpacket", tpacket),
    ("af_xdp", |dev, address| xdp(dev, address, true)),
    ("af_xdp, generic", |dev, address| xdp(dev, address, false)),
];

/// A port under test with the gNB that sends to it. Without a port what the gNB sends is dropped.
struct Side {
    name: &'static str,
    how: String,
    gnb: Box<dyn Port>,
    port: Option<Box<dyn Port>>,
    meta: Meta,
    batch: Batch,
    samples: Vec<f64>,
    lost: usize,
}

impl Side {
    fn open(kind: Option<&Kind>, number: u8, namespaces: &mut Namespaces) -> Result<Self> {
        let upf = namespaces.add(&format!("upf{number}"))?;
        let far = namespaces.add(&format!("gnb{number}"))?;
        ip(&format!("link add n3 netns {upf} address 02:00:00:00:00:01 type veth peer name n3 netns {far}"))?;
        let [near, remote, nobody] = [1, 9, 77].map(|host| Ipv4Addr::new(192, 0, 2, host));
        for (namespace, address) in [(&upf, near), (&far, remote)] {
            ip(&format!("-n {namespace} address add {address}/24 dev n3"))?;
            ip(&format!("-n {namespace} link set n3 up"))?;
        }
        let fixed = |namespace, address, mac| {
            ip(&format!("-n {namespace} neighbour replace {address} lladdr {mac} dev n3 nud permanent"))
        };
        fixed(&upf, remote, NOBODY)?;
        fixed(&far, near, "02:00:00:00:00:01")?;
        fixed(&far, nobody, NOBODY)?;
        let gnb = inside(&far, || gnb(remote))?;
        let (port, how) = match kind {
            Some((_, open)) => inside(&upf, || open("n3", near)).map(|(port, how)| (Some(port), how))?,
            None => (None, String::new()),
        };
        let to = if port.is_some() { near } else { nobody };
        Ok(Self {
            name: kind.map_or("none", |(name, _)| name),
            how,
            gnb,
            port,
            meta: Meta::Gtpu { local: remote.into(), peer: SocketAddr::from((to, 2152)), tos: 0 },
            batch: Batch::new(),
            samples: Vec::new(),
            lost: 0,
        })
    }

    /// One burst there and back.
    fn step(&mut self, octets: usize) -> Result<()> {
        let data = vec![0x30; octets];
        let frames = [Frame { meta: self.meta, data: &data }; BATCH];
        let start = cpu_time();
        let mut sent = 0;
        for _ in 0..BURST {
            sent += self.gnb.send(&frames)?;
        }
        let mut back = 0;
        let end = Instant::now() + Duration::from_millis(200);
        while let Some(port) = self.port.as_mut().filter(|_| back < sent && Instant::now() < end) {
            wait([&**port], None, Some(Duration::from_millis(20)))?;
            if port.receive(&mut self.batch)? > 0 {
                back += port.send(&self.batch.as_frames())?;
            }
        }
        self.samples.push((cpu_time() - start).as_nanos() as f64 / sent.max(1) as f64);
        self.lost += if self.port.is_some() { BURST * BATCH - back } else { 0 };
        Ok(())
    }

    /// The values below which a tenth, half and nine tenths are.
    fn summary(&mut self) -> [f64; 3] {
        let mut counted = std::mem::take(&mut self.samples).split_off(WARM_UP);
        counted.sort_by(f64::total_cmp);
        [1, 5, 9].map(|tenths| counted.get(counted.len() * tenths / 10).copied().unwrap_or_default())
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
}

fn main() -> Result<()> {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let json = arguments.iter().position(|argument| argument == "--json").and_then(|at| {
        let mut both = arguments.drain(at..arguments.len().min(at + 2));
        both.nth(1)
    });
    let mut sizes =
        arguments.iter().map(|octets| octets.parse()).collect::<std::result::Result<Vec<_>, _>>()?;
    if sizes.is_empty() {
        sizes = vec![72, 1408];
    }
    let mut namespaces = Namespaces(Vec::new());
    let mut sides = vec![Side::open(None, 0, &mut namespaces)?];
    let mut out = std::io::stdout();
    for (number, kind) in (1..).zip(KINDS) {
        match Side::open(Some(kind), number, &mut namespaces) {
            Ok(side) => sides.push(side),
            Err(error) => writeln!(out, "SKIPPED {}: {error}", kind.0)?,
        }
    }
    writeln!(
        out,
        "{:16} {:>6} {:>8} {:>8} {:>8} {:>6} {:>6}  how",
        "port", "octets", "p10 ns", "median", "p90", "Mpps", "lost"
    )?;
    let mut rows = Vec::new();
    for octets in sizes {
        for _ in 0..ROUNDS {
            sides.iter_mut().try_for_each(|side| side.step(octets))?;
        }
        let mut idle = 0.0;
        for side in &mut sides {
            let gross = side.summary();
            if side.port.is_none() {
                idle = gross[1];
                continue;
            }
            let [p10, median, p90] = gross.map(|gross| gross - idle);
            let (name, how, lost) = (side.name, &side.how, std::mem::take(&mut side.lost));
            let rate = 1000.0 / median;
            writeln!(
                out,
                "{name:16} {octets:6} {p10:8.0} {median:8.0} {p90:8.0} {rate:6.2} {lost:6}  {how}"
            )?;
            let mut row = String::new();
            write!(row, r#"{{"port":"{name}","octets":{octets},"p10_ns":{p10:.0},"median_ns":{median:.0},"#)?;
            write!(row, r#""p90_ns":{p90:.0},"mpps":{rate:.3},"lost":{lost},"how":"{how}"}}"#)?;
            rows.push(row);
        }
    }
    if let Some(path) = json {
        std::fs::write(path, format!("[{}]\n", rows.join(",\n")))?;
    }
    Ok(())
}

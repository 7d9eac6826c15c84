//! Causeway's daemon in a namespace, with pinned threads.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use causeway_packet::MacAddr;
use causeway_packet::vxlan::Vni;
use causeway_ports::Counters;
use causeway_upf::config::{
    Capture, Config, Firewall, Gtpu, GtpuMode, GtpuServer, Metrics, MetricsServer, N6Mode, Overrides,
    PfcpServer, Session, Upf, VxlanSegment,
};
use causeway_upf::{Daemon, open};

use super::field::{Field, GATEWAY, POOL, ROUTER_MAC, SEGMENT_ADDRESS, SERVER, UPF_N3, UPF_N4, UPF_N6, VNI};
use super::options::Ports;
use crate::BenchError;
use crate::kit::{Threads, pin_to_any};

/// The management server of a UPF that is observed.
pub(crate) const MANAGEMENT: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, causeway_upf::config::METRICS_PORT);

/// A running UPF whose threads are known.
pub struct Running {
    /// What handles packets.
    pub packets: Threads,
    /// All threads: those of the control plane, too.
    pub all: Threads,
    /// What crossed its packet ports, in the order of the configuration, N3 first.
    pub counters: Vec<Arc<Counters>>,
    /// Dropped, it stops.
    _daemon: Daemon,
}

/// Where its threads run.
#[derive(Clone, Copy, Debug)]
pub struct Cores {
    /// The packet thread's.
    pub packets: usize,
    /// That of everything else, the load generator included.
    pub others: usize,
}

/// What of the daemon differs from its default.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The ports of N3 and N6.
    pub ports: Ports,
    /// Sessions there is room for.
    pub sessions: u32,
    /// The packet thread never sleeps.
    pub busy_poll: bool,
    /// The packet thread answers PFCP (`upf.pfcp.accelerate`).
    pub accelerate: bool,
}

impl Running {
    /// Starts the daemon in the UPF's namespace.
    ///
    /// # Errors
    /// [`BenchError::Daemon`] with what it cannot open.
    pub fn start(field: &Field, setting: Setting, cores: Cores) -> Result<Self, BenchError> {
        Self::start_with(field, setting, cores, config(setting, cores))
    }

    /// The same with a management server on the loopback of that namespace, which shows packets to everyone.
    ///
    /// # Errors
    /// As for [`Running::start`].
    pub(crate) fn start_observable(
        field: &Field,
        setting: Setting,
        cores: Cores,
    ) -> Result<Self, BenchError> {
        let mut config = config(setting, cores);
        let (address, port) = MANAGEMENT;
        config.upf.metrics.server = vec![MetricsServer { address: address.into(), port }];
        config.upf.management.capture = Capture::Everyone;
        Self::start_with(field, setting, cores, config)
    }

    fn start_with(field: &Field, setting: Setting, cores: Cores, config: Config) -> Result<Self, BenchError> {
        if setting.ports == Ports::Tpacket {
            // A packet ring has no room for what the gNB's kernel has joined.
            field.gnb.ip("link set n3 gso_max_segs 1")?;
        }
        if setting.ports == Ports::Vxlan {
            field.join_segment()?;
        }
        Self::start_config(field, cores, &config)
    }

    /// Starts the daemon of this configuration in the UPF's namespace.
    ///
    /// # Errors
    /// As for [`Running::start`].
    pub(crate) fn start_config(field: &Field, cores: Cores, config: &Config) -> Result<Self, BenchError> {
        let mut counters = Vec::new();
        let mut open = || {
            let ports = open::ports(config)?;
            let slots = ports.iter().flat_map(|set| set.slots());
            counters = slots.map(|slot| Arc::clone(slot.port.counters())).collect();
            Daemon::start_with(config, ports)
        };
        let running = Self::begin(cores, || {
            // The daemon looks for the cores of its packet threads among those of the thread that starts it.
            pin_to_any(&[&[cores.others], &*config.upf.workers.pin].concat())?;
            field.upf.enter(|| Ok(open()))?.map_err(BenchError::from)
        })?;
        Ok(Self { counters, ..running })
    }

    /// Runs `start` where the daemon may put its packet thread on its core, and everything else of it on the other one.
    ///
    /// # Errors
    /// Those of `start`.
    pub(crate) fn begin(
        cores: Cores,
        start: impl FnOnce() -> Result<Daemon, BenchError> + Send,
    ) -> Result<Self, BenchError> {
        // One at a time: what is new in the process meanwhile is taken for the daemon's.
        static STARTING: Mutex<()> = Mutex::new(());
        let _starting = STARTING.lock().unwrap_or_else(PoisonError::into_inner);
        let before = Threads::of_this_process()?;
        let there = || {
            // The daemon looks for the core of its packet thread among those of the thread that starts it.
            pin_to_any(&[cores.packets, cores.others])?;
            start()
        };
        let started = std::thread::scope(|scope| scope.spawn(there).join());
        let daemon = started.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        let all = Threads::of_this_process()?.without(&before);
        let packets = all.named("packets");
        all.clone().without(&packets).pin(cores.others)?;
        Ok(Self { packets, all, counters: Vec::new(), _daemon: daemon })
    }
}

fn config(setting: Setting, cores: Cores) -> Config {
    let Setting { ports, sessions, busy_poll, accelerate } = setting;
    let on_device = GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() };
    let (mode, n3) = match ports {
        Ports::Udp | Ports::Vxlan => {
            (GtpuMode::Udp, GtpuServer { address: Some(UPF_N3.into()), ..GtpuServer::default() })
        }
        Ports::AfXdp | Ports::AfXdpTun => (GtpuMode::AfXdp, on_device),
        Ports::Tpacket => (GtpuMode::Tpacket, on_device),
    };
    let n6 = match ports {
        Ports::AfXdp => Session { mode: N6Mode::AfXdp, gateway: None, dev: "n6".into(), ..pool() },
        Ports::Vxlan => Session { mode: N6Mode::Vxlan, gateway: None, dev: SEGMENT.into(), ..pool() },
        Ports::Udp | Ports::AfXdpTun | Ports::Tpacket => Session { gateway: Some(GATEWAY.into()), ..pool() },
    };
    let mut upf = Upf {
        max_sessions: sessions,
        gtpu: Gtpu { mode, server: vec![n3], ..Gtpu::default() },
        session: vec![n6],
        metrics: Metrics { server: Vec::new(), ..Metrics::default() },
        ..Upf::default()
    };
    if ports == Ports::Vxlan {
        upf.vxlan = vec![segment()];
        upf.firewall = firewall();
    }
    upf.workers.pin = vec![cores.packets];
    upf.workers.busy_poll = busy_poll;
    upf.pfcp.server = vec![n4(UPF_N4)];
    upf.pfcp.accelerate = accelerate;
    Config { upf, ..Config::default() }
}

/// The name of the segment.
const SEGMENT: &str = "tenant";

/// The segment whose other end [`Field::join_segment`] makes.
fn segment() -> VxlanSegment {
    VxlanSegment {
        name: SEGMENT.into(),
        vni: Vni::new(VNI).unwrap_or_default(),
        local: UPF_N6.into(),
        remote: SERVER.into(),
        mac: MacAddr([2, 0, 0, 0, 0, 1]),
        next_hop: MacAddr(ROUTER_MAC),
        address: Some(SEGMENT_ADDRESS),
        address6: None,
    }
}

/// 1000 addresses of each direction, none of which occurs.
fn firewall() -> Firewall {
    let rule = |n: u32| {
        let address = Ipv4Addr::from_bits(0x0808_0000 ^ n.wrapping_mul(0x9e37_79b1));
        format!("      deny in ip from any to {address}\n      deny out ip from {address} to any\n")
    };
    let rules: String = (1..=1000).map(rule).collect();
    let text = format!("upf:\n  firewall:\n    rules: |\n{rules}");
    Config::parse(None, &text, &Overrides::default()).map(|config| config.upf.firewall).unwrap_or_default()
}

fn n4(address: Ipv4Addr) -> PfcpServer {
    PfcpServer::at(address.into(), causeway_upf::config::PFCP_PORT)
}

fn pool() -> Session {
    let default = Session::default();
    Session { subnet: POOL.parse().unwrap_or(default.subnet), ..default }
}

//! Causeway's daemon in a namespace, with pinned threads.

use std::net::Ipv4Addr;
use std::sync::Arc;

use causeway_ports::Counters;
use causeway_upf::config::{Config, Gtpu, GtpuMode, GtpuServer, Metrics, N6Mode, PfcpServer, Session, Upf};
use causeway_upf::{Daemon, open};

use super::field::{Field, GATEWAY, POOL, UPF_N3, UPF_N4};
use super::options::Ports;
use crate::BenchError;
use crate::kit::{Threads, pin_to_any};

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
}

impl Running {
    /// Starts the daemon in the UPF's namespace.
    ///
    /// # Errors
    /// [`BenchError::Daemon`] with what it cannot open.
    pub fn start(field: &Field, setting: Setting, cores: Cores) -> Result<Self, BenchError> {
        let config = config(setting, cores);
        if setting.ports == Ports::Tpacket {
            // A packet ring has no room for what the gNB's kernel has joined.
            field.gnb.ip("link set n3 gso_max_segs 1")?;
        }
        let mut counters = Vec::new();
        let mut open = || {
            let ports = open::ports(&config)?;
            let slots = ports.iter().flat_map(|set| set.slots());
            counters = slots.map(|slot| Arc::clone(slot.port.counters())).collect();
            Daemon::start_with(&config, ports)
        };
        let running = Self::begin(cores, || field.upf.enter(|| Ok(open()))?.map_err(BenchError::from))?;
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
    let Setting { ports, sessions, busy_poll } = setting;
    let on_device = GtpuServer { dev: Some("n3".into()), ..GtpuServer::default() };
    let (mode, n3) = match ports {
        Ports::Udp => (GtpuMode::Udp, GtpuServer { address: Some(UPF_N3.into()), ..GtpuServer::default() }),
        Ports::AfXdp | Ports::AfXdpTun => (GtpuMode::AfXdp, on_device),
        Ports::Tpacket => (GtpuMode::Tpacket, on_device),
    };
    let n6 = match ports {
        Ports::AfXdp => Session { mode: N6Mode::AfXdp, gateway: None, dev: "n6".into(), ..pool() },
        Ports::Udp | Ports::AfXdpTun | Ports::Tpacket => Session { gateway: Some(GATEWAY.into()), ..pool() },
    };
    let mut upf = Upf {
        max_sessions: sessions,
        gtpu: Gtpu { mode, server: vec![n3], ..Gtpu::default() },
        session: vec![n6],
        metrics: Metrics { server: Vec::new() },
        ..Upf::default()
    };
    upf.workers.pin = vec![cores.packets];
    upf.workers.busy_poll = busy_poll;
    upf.pfcp.server = vec![n4(UPF_N4)];
    Config { upf, ..Config::default() }
}

fn n4(address: Ipv4Addr) -> PfcpServer {
    PfcpServer::at(address.into(), causeway_upf::config::PFCP_PORT)
}

fn pool() -> Session {
    let default = Session::default();
    Session { subnet: POOL.parse().unwrap_or(default.subnet), ..default }
}

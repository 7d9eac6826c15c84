//! PFCP requests to the daemon, over its sockets.
//!
//! The daemon runs in a network namespace of this process, all of its threads except the packet thread on a separate core. The
//! generator is on the core of the packet thread: it has its requests ready, keeps so many in flight, and sends the next one when a
//! response has arrived.

pub(crate) mod smf;
mod traffic;

use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use causeway_types::{NodeId, Seid, Teid};
use causeway_upf::Daemon;
use causeway_upf::config::{
    Config, Gtpu, GtpuServer, KnownSmf, Metrics, PFCP_PORT, PfcpServer, Session, Upf,
};

use super::options::Options;
use super::requests::Establishments;
use super::{Operation, RequestVariant, STRIDE, requests, simple, up_seid, uplink_teid};
use crate::kit::{Count, Progress, available_memory, in_own_thread, pin};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Field, Running, UPF_N3, UPF_N4, choose_cores};
use crate::{BenchError, Common};
use smf::{Exchange, Smf};
use traffic::Traffic;

/// Requests in flight during operations that are not measured.
const FILLING: usize = 64;

/// The subnet of the UEs.
pub(crate) const UES: &str = "10.0.0.0/8";

/// Measures all combinations.
///
/// # Errors
/// [`BenchError::Needs`] without the right to make network namespaces, [`BenchError::NotAccepted`] when a request is
/// refused.
pub(super) fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let nets = BenchNamespaces::acquire()?;
    in_own_thread(|| measure(options, common, &nets)).map(|report| vec![report])
}

fn measure(options: &Options, common: &Common, nets: &BenchNamespaces) -> Result<Report, BenchError> {
    let cores = choose_cores(common)?;
    pin(cores.packets)?;
    let Cores { packets, others } = cores;
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("control plane on core {others}; packet thread and generator on core {packets}"))
        .with("network", "the loopback of a namespace, one UDP socket on each side")
        .with("requests", if options.simple { SIMPLE } else { "2 PDRs, 2 FARs, 1 QER, 1 URR, 1 SDF filter" });
    let mut report =
        Report::new("pfcp-sockets", "PFCP: requests to the daemon over sockets", conditions, columns());
    let mut progress = Progress::new();
    let kinds: Vec<Kind> = match options.simple {
        true => [false, true].map(|is_accelerated| Kind::Simple { is_accelerated }).into(),
        false => options.variant.iter().copied().map(Kind::Variant).collect(),
    };
    let all = options.sessions.iter().flat_map(|sessions| kinds.iter().map(move |kind| (sessions, *kind)));
    for (sessions, kind) in all {
        progress.stage(format!("pfcp: {sessions} sessions, {}, over sockets", kind.name()));
        if available_memory().is_some_and(|octets| octets < sessions.0 * super::SESSION) {
            report.skip(format_args!("{sessions} sessions"), "too little memory");
            continue;
        }
        // The options are checked: it is below 2^32.
        let mut side = UpfSide::open(sessions.0 as u32, kind, options, cores, nets)?;
        side.run(options, &mut progress, &mut report)?;
    }
    report.note("CPU: of the threads of the control plane, and of the packet thread, including the kernel.");
    report.note("packets: of 128 octets from UEs of 10000 sessions; the packet CPU includes them.");
    report.note("latency: from the request to its response, with so many in flight.");
    Ok(report)
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("sessions"),
        Column::new("variant"),
        Column::new("requests"),
        Column::new("in flight"),
        Column::of("packets", "1/s"),
        Column::of("rate", "k/s"),
        Column::of("control CPU", "ns"),
        Column::of("packet CPU", "ns"),
        Column::of("p50", "us"),
        Column::of("p99", "us"),
        Column::new("repeated"),
    ]
}

/// The requests of [`Kind::Simple`].
const SIMPLE: &str = "2 PDRs, 2 FARs, 1 QER, no URR, no SDF filter; the UPF chooses the TEID";

/// The requests, and who answers them.
#[derive(Clone, Copy)]
enum Kind {
    /// Any, the control thread.
    Variant(RequestVariant),
    /// Simple ones: the control thread, or the packet thread.
    Simple { is_accelerated: bool },
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Variant(variant) => variant.to_string(),
            Self::Simple { is_accelerated: false } => "simple, control thread".to_owned(),
            Self::Simple { is_accelerated: true } => "simple, packet thread".to_owned(),
        }
    }

    /// The Node ID of the SMF. One whose requests a packet thread answers sends them from there.
    const fn smf(self) -> Ipv4Addr {
        match self {
            Self::Variant(_) => requests::SMF,
            Self::Simple { .. } => SMF_SOCKET,
        }
    }

    fn establishment(self, number: u32, sequence: u32) -> Vec<u8> {
        match self {
            Self::Variant(variant) => Establishments { variant, n3: UPF_N3 }.request(number, sequence),
            Self::Simple { .. } => simple::establishment(SMF_SOCKET, number, sequence),
        }
    }
}

/// A UPF, and its SMF.
struct UpfSide {
    sessions: u32,
    kind: Kind,
    /// Requests that are measured as one.
    measured: u32,
    smf: Smf,
    running: Running,
    seids: Vec<Seid>,
    /// The tunnels of the first sessions.
    tunnels: Vec<Teid>,
    gnb: UdpSocket,
    _field: Field,
}

/// What goes on while requests are measured.
#[derive(Clone, Copy)]
struct Load {
    /// Requests in flight.
    window: usize,
    /// Packets in a second.
    packets: u64,
}

impl UpfSide {
    fn open(
        sessions: u32,
        kind: Kind,
        options: &Options,
        cores: Cores,
        nets: &BenchNamespaces,
    ) -> Result<Self, BenchError> {
        let field = Field::build(nets, cores.others)?;
        let mut config = config(sessions, &[(kind.smf(), SMF_SOCKET)]);
        config.upf.pfcp.accelerate = matches!(kind, Kind::Simple { is_accelerated: true });
        let start = || field.upf.enter(|| Ok(Daemon::start(&config)))?.map_err(BenchError::from);
        let running = Running::begin(cores, start)?;
        let mut smf =
            field.upf.enter(|| Ok(Smf::open(kind.smf(), SMF_SOCKET, (UPF_N4, PFCP_PORT).into())))??;
        smf.associate()?;
        let most = sessions / (2 * (options.window.len() * options.traffic.len()).max(1) as u32);
        let measured = u32::try_from(options.requests.0).unwrap_or(u32::MAX).min(most).max(1);
        let (seids, tunnels) = (Vec::new(), Vec::new());
        let gnb = traffic::gnb(&field)?;
        Ok(Self { sessions, kind, measured, smf, running, seids, tunnels, gnb, _field: field })
    }

    fn run(
        &mut self,
        options: &Options,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let of_windows = |packets: u64| {
            options.window.iter().map(move |window| Load { window: window.0 as usize, packets })
        };
        let loads: Vec<_> = options.traffic.iter().flat_map(|packets| of_windows(packets.0)).collect();
        let measured = self.measured * loads.len() as u32;
        self.fill(self.sessions.saturating_sub(measured), progress)?;
        for load in &loads {
            self.trial(Operation::Establish, 0, *load, options, report)?;
        }
        for operation in [Operation::Activate, Operation::Handover, Operation::Delete] {
            for (turn, load) in loads.iter().enumerate() {
                self.trial(operation, turn as u32, *load, options, report)?;
            }
        }
        Ok(())
    }

    /// Sessions that are there before anything is measured.
    fn fill(&mut self, sessions: u32, progress: &mut Progress) -> Result<(), BenchError> {
        const CHUNK: u32 = 4096;
        while (self.seids.len() as u32) < sessions {
            let there = self.seids.len() as u32;
            progress.set_progress(there.into(), sessions.into());
            self.establish(CHUNK.min(sessions - there), FILLING)?;
        }
        Ok(())
    }

    fn establish(&mut self, count: u32, window: usize) -> Result<Exchange, BenchError> {
        let first = self.seids.len() as u32 + 1;
        let kind = self.kind;
        let requests =
            (first..first + count).map(|number| move |sequence| kind.establishment(number, sequence));
        let exchange = self.smf.ask(Operation::Establish, requests, window)?;
        self.seids.extend(exchange.answers.iter().filter_map(|answer| up_seid(answer)));
        let free = traffic::SESSIONS.saturating_sub(self.tunnels.len());
        match kind {
            Kind::Variant(RequestVariant::SmfTeids) => {
                self.tunnels.extend(
                    (first..)
                        .take(free.min(count as usize))
                        .filter_map(|number| Teid::new(requests::smf_teid(number))),
                );
            }
            _ => {
                let tunnels = exchange.answers.iter().take(free).filter_map(|answer| uplink_teid(answer));
                self.tunnels.extend(tunnels);
            }
        }
        Ok(exchange)
    }

    fn trial(
        &mut self,
        operation: Operation,
        turn: u32,
        load: Load,
        options: &Options,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let traffic = Traffic::begin(&self.gnb, &self.tunnels, load.packets)?;
        let control = self.running.all.clone().without(&self.running.packets);
        let before = (control.cpu_time()?, self.running.packets.cpu_time()?);
        let exchange = match operation {
            Operation::Establish => self.establish(self.measured, load.window)?,
            _ => {
                let there = self.seids.len() as u64;
                let numbers = (turn * self.measured..(turn + 1) * self.measured)
                    .map(|at| (u64::from(at) * STRIDE % there) as u32);
                let seids = &self.seids;
                let requests = numbers.map(|number| {
                    let seid = seids.get(number as usize).copied().unwrap_or(Seid(0));
                    move |sequence| match operation {
                        Operation::Delete => requests::deletion(seid, sequence),
                        Operation::Handover => requests::handover(seid, number, 1, sequence),
                        Operation::Activate | Operation::Establish => {
                            requests::handover(seid, number, 0, sequence)
                        }
                    }
                });
                self.smf.ask(operation, requests, load.window)?
            }
        };
        let packets = traffic.end(exchange.wall);
        let each = |after: Duration, before: Duration| {
            Cell::nanos(after.saturating_sub(before).as_secs_f64() * 1e9 / f64::from(self.measured))
        };
        if options.operation.contains(&operation) {
            let latency = exchange.latency.percentiles([500, 990]);
            let micros = |index: usize| -> Cell {
                latency.and_then(|all| all.get(index).copied()).map(|micros| Cell::Number(micros, 1)).into()
            };
            let rate = f64::from(self.measured) / exchange.wall.as_secs_f64() / 1e3;
            report.row([
                Count(self.sessions.into()).into(),
                self.kind.name().into(),
                operation.to_string().into(),
                Cell::Count(load.window as u64),
                Cell::Count(packets),
                Cell::Number(rate, 1),
                each(control.cpu_time()?, before.0),
                each(self.running.packets.cpu_time()?, before.1),
                micros(0),
                micros(1),
                Cell::Count(exchange.repeated),
            ]);
        }
        Ok(())
    }
}

/// A daemon for so many sessions, on UDP and TUN, that knows SMFs by the addresses of their Node IDs and of their
/// sockets.
pub(crate) fn config(sessions: u32, smfs: &[(Ipv4Addr, Ipv4Addr)]) -> Config {
    let n3 = GtpuServer { address: Some(UPF_N3.into()), ..GtpuServer::default() };
    let n4 = PfcpServer::at(IpAddr::V4(UPF_N4), PFCP_PORT);
    let default = Session::default();
    let session = Session { subnet: UES.parse().unwrap_or(default.subnet), gateway: None, ..default };
    let mut upf = Upf {
        max_sessions: sessions,
        gtpu: Gtpu { server: vec![n3], ..Gtpu::default() },
        session: vec![session],
        metrics: Metrics { server: Vec::new(), ..Metrics::default() },
        ..Upf::default()
    };
    upf.pfcp.server = vec![n4];
    let known = |&(node, socket): &(Ipv4Addr, Ipv4Addr)| KnownSmf {
        node_id: NodeId::Ip(node.into()),
        address: [node, socket].map(|ip| IpAddr::V4(ip).into()).into(),
        set: None,
    };
    upf.pfcp.smf = smfs.iter().map(known).collect();
    Config { upf, ..Config::default() }
}

/// Where the SMF's socket is.
pub(crate) const SMF_SOCKET: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 4);

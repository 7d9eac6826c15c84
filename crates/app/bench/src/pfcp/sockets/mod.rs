//! PFCP requests to the daemon, over its sockets.
//!
//! The daemon runs in a network namespace of this process, all of its threads except the packet thread on a separate core. The
//! generator is on the core of the packet thread: it has its requests ready, keeps so many in flight, and sends the next ones when
//! responses have arrived. At a rate, or beside a packet thread that never sleeps, it is on the other core. With requests that are queued it runs by turns with the UPF. With several packet threads it has a core of its own
//! if there is one.

pub(crate) mod smf;
mod traffic;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, UdpSocket};
use std::time::Duration;

use causeway_lab::netns::Namespace;
use causeway_ports::Counter;
use causeway_types::{NodeId, Seid, Teid};
use causeway_upf::config::{
    Config, Gtpu, GtpuServer, KnownSmf, Metrics, N4Mode, PFCP_PORT, PfcpServer, Session, Upf, WorkerCount,
};

use super::options::{MIXES, N4Way, Options};
use super::requests::Establishments;
use super::{Operation, RequestVariant, STRIDE, requests, simple, up_seid, uplink_teid};
use crate::kit::{
    Count, HeldCores, Progress, available_memory, come_first, cores_beside, in_own_thread, pin,
};
use crate::namespaces::BenchNamespaces;
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Field, Running, SMF_VETH, UPF_N3, UPF_N4, UPF_N4_VETH, choose_cores};
use crate::{BenchError, Common};
use smf::{Exchange, PacketsBeside, Smf};
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
    let placement = Placement::new(cores, &cores_beside(&[cores.packets, cores.others])?, options)?;
    let conditions = Conditions::here(IoCost::Gross)
        .with(
            "UPF",
            format!("control plane on core {}; packet threads on {:?}", cores.others, placement.workers),
        )
        .with("generator", format!("on core {}", placement.generator))
        .with("packet thread", if options.busy_poll { "never sleeps" } else { "sleeps without work" })
        .with("requests", if options.simple { SIMPLE } else { "2 PDRs, 2 FARs, 1 QER, 1 URR, 1 SDF filter" });
    let mut report =
        Report::new("pfcp-sockets", "PFCP: requests to the daemon over sockets", conditions, columns());
    let mut progress = Progress::new();
    let kinds: Vec<Kind> = match options.simple {
        true => {
            let of = |n4: N4Way, workers: usize| {
                [false, true].map(|is_accelerated| Kind::Simple { is_accelerated, n4, workers })
            };
            let both = |n4: &N4Way| {
                let n4 = *n4;
                options.workers.iter().flat_map(move |workers| of(n4, workers.0 as usize)).collect::<Vec<_>>()
            };
            let is_possible =
                |kind: &Kind| !matches!(kind, Kind::Simple { is_accelerated: false, n4: N4Way::AfXdp, .. });
            options.n4.iter().flat_map(both).filter(is_possible).collect()
        }
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
        let mut side = UpfSide::open(sessions.0 as u32, kind, options, &placement, nets)?;
        side.run(options, &mut progress, &mut report)?;
    }
    report.note("CPU: of the threads of the control plane, and of the packet threads, including the kernel.");
    report.note("packets: of 128 octets from UEs of 10000 sessions; the packet CPU includes them.");
    report.note("forwarded: of the packets sent, those that the UPF has sent on N6.");
    match options.is_open_loop() {
        true => {
            report.note("measured: from the first request to the last one; longer than asked for where the generator was too slow, shorter where --sessions are too few.");
            report.note("latency: from the time at which the request is due to its response.");
        }
        false if !options.queued.is_empty() => {
            report.note("measured: from the time at which the packet threads may run to the last response of a round, of all rounds together.");
        }
        false => {
            report.note("measured: from the first request to the last response.");
            report.note("latency: from the request to its response, with so many in flight.");
        }
    }
    Ok(report)
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("sessions"),
        Column::new("variant"),
        Column::new("requests"),
        Column::new("in flight"),
        Column::of("offered", "k/s"),
        Column::of("packets", "1/s"),
        Column::of("forwarded", "%"),
        Column::of("measured", "s"),
        Column::of("rate", "k/s"),
        Column::of("control CPU", "ns"),
        Column::of("packet CPU", "ns"),
        Column::of("p50", "us"),
        Column::of("p99", "us"),
        Column::of("p99.9", "us"),
        Column::new("repeated"),
        Column::new("lost"),
    ]
}

/// Where threads run.
struct Placement {
    cores: Cores,
    /// The packet threads, of which a row has the first ones.
    workers: Vec<usize>,
    generator: usize,
}

impl Placement {
    /// The first packet thread has its core, others the cores beside, and that of the control plane where these are too few.
    ///
    /// # Errors
    /// [`BenchError::Needs`] with fewer cores than packet threads.
    fn new(cores: Cores, beside: &[usize], options: &Options) -> Result<Self, BenchError> {
        let most = match options.simple {
            true => options.workers.iter().map(|workers| workers.0 as usize).max().unwrap_or(1),
            false => 1,
        };
        let mut workers = vec![cores.packets];
        workers.extend(beside);
        workers.extend(Some(cores.others).filter(|others| *others != cores.packets));
        let there = workers.len();
        workers.truncate(most);
        if there < most {
            return Err(BenchError::Needs(format!(
                "--workers {most} needs as many cores, and this process may run on {there}"
            )));
        }
        let spare = beside.get(most - 1).filter(|_| most > 1);
        let shared = if options.is_apart() { cores.others } else { cores.packets };
        Ok(Self { cores, workers, generator: spare.copied().unwrap_or(shared) })
    }
}

/// The requests of [`Kind::Simple`].
const SIMPLE: &str = "2 PDRs, 2 FARs, 1 QER, no URR, no SDF filter; the UPF chooses the TEID";

/// The requests, and who answers them.
#[derive(Clone, Copy)]
enum Kind {
    /// Any, the control thread.
    Variant(RequestVariant),
    /// Simple ones: the control thread, or so many packet threads.
    Simple { is_accelerated: bool, n4: N4Way, workers: usize },
}

impl Kind {
    fn name(self) -> String {
        match self {
            Self::Variant(variant) => variant.to_string(),
            Self::Simple { is_accelerated: false, n4, workers: 1 } => format!("control thread, {n4}"),
            Self::Simple { is_accelerated: true, n4, workers: 1 } => format!("packet thread, {n4}"),
            Self::Simple { is_accelerated: false, n4, workers } => {
                format!("control thread, {workers} packet threads, {n4}")
            }
            Self::Simple { is_accelerated: true, n4, workers } => format!("{workers} packet threads, {n4}"),
        }
    }

    /// N4 is on a cable.
    const fn is_cabled(self) -> bool {
        matches!(self, Self::Simple { n4: N4Way::Veth | N4Way::AfXdp, .. })
    }

    /// Where the SMF sends from, and to.
    const fn ends(self) -> (Ipv4Addr, Ipv4Addr) {
        if self.is_cabled() { (SMF_VETH, UPF_N4_VETH) } else { (SMF_SOCKET, UPF_N4) }
    }

    /// The Node ID of the SMF. One whose requests a packet thread answers sends them from there.
    const fn smf(self) -> Ipv4Addr {
        match self {
            Self::Variant(_) => requests::SMF,
            Self::Simple { .. } => self.ends().0,
        }
    }

    fn establishment(self, number: u32, sequence: u32) -> Vec<u8> {
        match self {
            Self::Variant(variant) => {
                Establishments { variant, n3: UPF_N3, is_limited: true }.request(number, sequence)
            }
            Self::Simple { .. } => simple::establishment(self.smf(), number, sequence),
        }
    }
}

/// A UPF, and its SMF.
struct UpfSide {
    sessions: u32,
    kind: Kind,
    smf: Smf,
    running: Running,
    seids: Vec<Seid>,
    /// The tunnels of the first sessions.
    tunnels: Vec<Teid>,
    gnb: UdpSocket,
    /// UE addresses that were used.
    used: u32,
    /// Those of the UPF's threads but that of the generator.
    cores: HeldCores,
    _field: Field,
    _smf_side: Option<Namespace>,
}

/// How requests are sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pace {
    /// So many in flight.
    InFlight(usize),
    /// So many in a second.
    Rate(u64),
    /// So many at the sockets before the packet threads run.
    Queued(usize),
}

/// What goes on while requests are measured.
#[derive(Clone, Copy)]
struct Load {
    pace: Pace,
    /// Packets in a second.
    packets: u64,
}

impl Options {
    /// Requests are sent at a rate.
    fn is_open_loop(&self) -> bool {
        self.mix || !self.rate.is_empty()
    }

    /// The generator has another core than the packet thread.
    fn is_apart(&self) -> bool {
        self.busy_poll || self.is_open_loop()
    }

    fn loads(&self) -> Vec<Load> {
        let paces = |packets: u64| -> Vec<Pace> {
            if self.mix {
                let of_mix =
                    |(_, share): &(&str, u64)| Pace::Rate((packets * share / (100_000 - share)).max(1));
                return MIXES.iter().map(of_mix).collect();
            }
            if self.is_open_loop() {
                return self.rate.iter().map(|rate| Pace::Rate(rate.0)).collect();
            }
            if !self.queued.is_empty() {
                return self.queued.iter().map(|queued| Pace::Queued(queued.0 as usize)).collect();
            }
            self.window.iter().map(|window| Pace::InFlight(window.0 as usize)).collect()
        };
        let of = |packets: u64| paces(packets).into_iter().map(move |pace| Load { pace, packets });
        // A mix has packets; while packet threads do not run there are none.
        let traffic = self.traffic.iter().filter(|packets| !self.mix || packets.0 > 0);
        let traffic = traffic.filter(|packets| self.queued.is_empty() || packets.0 == 0);
        traffic.flat_map(|packets| of(packets.0)).collect()
    }
}

impl UpfSide {
    fn open(
        sessions: u32,
        kind: Kind,
        options: &Options,
        placement: &Placement,
        nets: &BenchNamespaces,
    ) -> Result<Self, BenchError> {
        let others = placement.cores.others;
        let field = Field::build(nets, others)?;
        let smf_side = kind.is_cabled().then(|| field.connect_smf(nets, others)).transpose()?;
        let (socket, upf) = kind.ends();
        // A session whose establishment has no answer stays until its UE address comes again.
        let unanswered = if options.is_open_loop() { sessions / 8 } else { 0 };
        let mut config = config(sessions + unanswered, &[(kind.smf(), socket)]);
        config.upf.pfcp.accelerate = matches!(kind, Kind::Simple { is_accelerated: true, .. });
        config.upf.pfcp.server = vec![PfcpServer::at(upf.into(), PFCP_PORT)];
        if matches!(kind, Kind::Simple { n4: N4Way::AfXdp, .. }) {
            config.upf.pfcp.mode = N4Mode::AfXdp;
            config.upf.pfcp.server.iter_mut().for_each(|server| server.dev = Some("n4".into()));
        }
        let workers = if let Kind::Simple { workers, .. } = kind { workers } else { 1 };
        config.upf.workers.pin = placement.workers.iter().take(workers).copied().collect();
        config.upf.workers.count = WorkerCount::Auto;
        config.upf.workers.busy_poll = options.busy_poll;
        let running = Running::start_config(&field, placement.cores, &config)?;
        let open = || Ok(Smf::open(kind.smf(), socket, (upf, PFCP_PORT).into()));
        let mut smf = smf_side.as_ref().unwrap_or(&field.upf).enter(open)??;
        pin(placement.generator)?;
        smf.associate()?;
        let (seids, tunnels) = (Vec::new(), Vec::new());
        let gnb = traffic::gnb(&field)?;
        let cores = placement.workers.iter().take(workers).copied().chain([placement.cores.others]);
        let cores: BTreeSet<usize> = cores.filter(|core| *core != placement.generator).collect();
        let cores = HeldCores::new(cores.into_iter().filter(|_| !options.queued.is_empty()))?;
        if !options.queued.is_empty() {
            come_first()?;
        }
        let (used, _field, _smf_side) = (0, field, smf_side);
        Ok(Self { sessions, kind, smf, running, seids, tunnels, gnb, used, cores, _field, _smf_side })
    }

    fn run(
        &mut self,
        options: &Options,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let loads = options.loads();
        match options.is_open_loop() {
            true => self.at_rates(&loads, options, progress, report),
            false => self.in_flight(&loads, options, progress, report),
        }
    }

    /// So many requests a row.
    fn in_flight(
        &mut self,
        loads: &[Load],
        options: &Options,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let most = self.sessions / (2 * loads.len().max(1) as u32);
        let count = u32::try_from(options.requests.0).unwrap_or(u32::MAX).min(most).max(1);
        self.fill(self.sessions.saturating_sub(count * loads.len() as u32), progress)?;
        for operation in [Operation::Establish, Operation::Activate, Operation::Handover, Operation::Delete] {
            for (turn, load) in loads.iter().enumerate() {
                self.trial(operation, (turn as u32 * count, count), *load, options, report)?;
            }
        }
        Ok(())
    }

    /// So many milliseconds a row, as far as there are sessions. What is not measured is done as fast as it can be.
    fn at_rates(
        &mut self,
        loads: &[Load],
        options: &Options,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let (all, rows) = (self.sessions, loads.len().max(1) as u32);
        let count = |load: &Load, most: u32| {
            let rate = if let Pace::Rate(rate) = load.pace { rate } else { 0 };
            most.min((rate * options.time / 1000) as u32).max(1)
        };
        let measured = |operation| match options.operation.contains(&operation) {
            true => loads,
            false => &[],
        };
        for load in measured(Operation::Establish) {
            let count = count(load, all / 2);
            self.fill(all - count, progress)?;
            self.delete_beyond(all - count)?;
            self.trial(Operation::Establish, (0, count), *load, options, report)?;
            self.delete_beyond(all - count)?;
        }
        self.fill(all, progress)?;
        let mut taken = 0;
        for load in measured(Operation::Activate) {
            let count = count(load, all / rows);
            self.trial(Operation::Activate, (taken, count), *load, options, report)?;
            taken += count;
        }
        let others = self.requests(Operation::Activate, taken, all - taken);
        self.smf.ask(Operation::Activate, others.into_iter(), FILLING)?;
        let mut taken = 0;
        for load in measured(Operation::Handover) {
            let count = count(load, u32::MAX);
            self.trial(Operation::Handover, (taken, count), *load, options, report)?;
            taken += count;
        }
        let mut taken = 0;
        for load in measured(Operation::Delete) {
            let count = count(load, all / (2 * rows));
            self.trial(Operation::Delete, (taken, count), *load, options, report)?;
            taken += count;
        }
        Ok(())
    }

    /// Deletes all sessions but the first ones. Their numbers are used again.
    fn delete_beyond(&mut self, sessions: u32) -> Result<(), BenchError> {
        let seids = self.seids.split_off(self.seids.len().min(sessions as usize));
        let requests = seids.into_iter().map(|seid| move |sequence| requests::deletion(seid, sequence));
        self.smf.ask(Operation::Delete, requests, FILLING)?;
        self.tunnels.truncate(sessions as usize);
        self.used = self.used.min(sessions);
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
        let first = self.used + 1;
        let kind = self.kind;
        let requests =
            (first..first + count).map(|number| move |sequence| kind.establishment(number, sequence));
        let exchange = self.smf.ask(Operation::Establish, requests, window)?;
        self.established(first, count, &exchange);
        Ok(exchange)
    }

    /// Sessions of so many UE addresses were asked for.
    fn established(&mut self, first: u32, count: u32, exchange: &Exchange) {
        self.used = first + count - 1;
        let kind = self.kind;
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
    }

    /// Packets that the UPF has sent on N6.
    fn forwarded(&self) -> u64 {
        self.running.counters.iter().skip(1).map(|counters| counters.value(Counter::Tx)).sum()
    }

    fn trial(
        &mut self,
        operation: Operation,
        (from, count): (u32, u32),
        load: Load,
        options: &Options,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let control = self.running.all.clone().without(&self.running.packets);
        let before = (control.cpu_time()?, self.running.packets.cpu_time()?);
        let forwarded_before = self.forwarded();
        let (exchange, sent) = match load.pace {
            Pace::InFlight(window) => {
                let traffic = Traffic::begin(&self.gnb, &self.tunnels, load.packets)?;
                let exchange = match operation {
                    Operation::Establish => self.establish(count, window)?,
                    _ => {
                        let requests = self.requests(operation, from, count);
                        self.smf.ask(operation, requests.into_iter(), window)?
                    }
                };
                let packets = traffic.end(exchange.wall);
                (exchange, packets as f64)
            }
            Pace::Queued(round) => {
                let requests = self.requests(operation, from, count);
                let exchange = self.smf.ask_queued(operation, requests.into_iter(), round, &self.cores)?;
                if operation == Operation::Establish {
                    self.established(self.used + 1, count, &exchange);
                }
                (exchange, 0.0)
            }
            Pace::Rate(rate) => {
                let packets = traffic::packets(&self.tunnels)?;
                let beside = PacketsBeside { socket: &self.gnb, packets: &packets, rate: load.packets };
                let requests = self.requests(operation, from, count);
                let span = Duration::from_secs_f64(f64::from(count) / rate as f64);
                let pace = (rate, span);
                let (exchange, sent) = self.smf.ask_at(operation, requests.into_iter(), pace, &beside)?;
                if operation == Operation::Establish {
                    self.established(self.used + 1, count, &exchange);
                }
                let wall = exchange.wall.as_secs_f64();
                (exchange, sent as f64 / wall)
            }
        };
        let packets = sent as u64;
        let forwarded = (self.forwarded() - forwarded_before) as f64 / exchange.wall.as_secs_f64();
        let answered = u64::from(count) - exchange.lost;
        let each = |after: Duration, before: Duration| {
            Cell::nanos(after.saturating_sub(before).as_secs_f64() * 1e9 / answered.max(1) as f64)
        };
        if options.operation.contains(&operation) {
            let latency = exchange.latency.percentiles([500, 990, 999]);
            let micros = |index: usize| -> Cell {
                latency.and_then(|all| all.get(index).copied()).map(|micros| Cell::Number(micros, 1)).into()
            };
            let rate = answered as f64 / exchange.wall.as_secs_f64() / 1e3;
            let (in_flight, offered) = match load.pace {
                Pace::InFlight(window) => (Cell::Count(window as u64), Cell::Missing),
                Pace::Rate(rate) => (Cell::Missing, Cell::Number(rate as f64 / 1e3, 1)),
                Pace::Queued(_) => (Cell::Missing, Cell::Missing),
            };
            let kept = if packets == 0 { Cell::Missing } else { Cell::Number(100.0 * forwarded / sent, 1) };
            report.row([
                Count(self.sessions.into()).into(),
                self.kind.name().into(),
                operation.to_string().into(),
                in_flight,
                offered,
                Cell::Count(packets),
                kept,
                Cell::Number(exchange.wall.as_secs_f64(), 3),
                Cell::Number(rate, 1),
                each(control.cpu_time()?, before.0),
                each(self.running.packets.cpu_time()?, before.1),
                micros(0),
                micros(1),
                micros(2),
                Cell::Count(exchange.repeated),
                Cell::Count(exchange.lost),
            ]);
        }
        Ok(())
    }

    /// Requests of an operation about sessions all over the table, from one of them on and again in turn, or about new ones.
    fn requests(
        &self,
        operation: Operation,
        from: u32,
        count: u32,
    ) -> Vec<impl FnOnce(u32) -> Vec<u8> + use<>> {
        let (kind, used, there) = (self.kind, self.used, self.seids.len().max(1) as u64);
        let of = |at: u32| {
            let turn = u64::from(from) + u64::from(at);
            let place = (turn * STRIDE % there) as u32;
            // Each handover of a session is to the other gNB.
            let round = 1 + (turn / there) as usize;
            let seid = self.seids.get(place as usize).copied().unwrap_or(Seid(0));
            move |sequence| match operation {
                Operation::Establish => kind.establishment(used + 1 + at, sequence),
                Operation::Delete => requests::deletion(seid, sequence),
                Operation::Handover => requests::handover(seid, place, round, sequence),
                Operation::Activate => requests::handover(seid, place, 0, sequence),
            }
        };
        (0..count).map(of).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kit::count;

    // Input:  one to three packet threads on cores 3 and 0, and on up to three others.
    // Output: the first one has core 3, the next ones those others, and the last one core 0, if there is no other; the generator beside several of them has an
    //         other core that is left. Three on two cores are refused.
    #[test]
    fn each_packet_thread_has_a_core_of_its_own() {
        let place = |workers: &[u64], beside: &[usize]| {
            let workers = workers.iter().map(|workers| count(*workers)).collect();
            let options = Options { simple: true, workers, ..Options::default() };
            Placement::new(Cores { packets: 3, others: 0 }, beside, &options)
                .map(|placement| (placement.workers, placement.generator))
                .map_err(|error| error.to_string())
        };
        assert_eq!(place(&[1], &[1, 2]), Ok((vec![3], 3)));
        assert_eq!(place(&[1, 2], &[]), Ok((vec![3, 0], 3)));
        assert_eq!(place(&[1, 3], &[1]), Ok((vec![3, 1, 0], 3)));
        assert_eq!(place(&[3], &[1, 2]), Ok((vec![3, 1, 2], 3)));
        assert_eq!(place(&[2, 3], &[1, 2, 4]), Ok((vec![3, 1, 2], 4)));
        let refusal = "--workers 3 needs as many cores, and this process may run on 2";
        assert_eq!(place(&[3], &[]), Err(refusal.to_owned()));
    }
}

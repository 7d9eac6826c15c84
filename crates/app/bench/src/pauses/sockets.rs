//! The same in the daemon, over its sockets: end-to-end times of requests and packets of others, while sessions are established,
//! and while all of one SMF end together.
//!
//! Two SMFs own the sessions; one of them releases its association, sets it up again, and restarts. The third one and its UEs are
//! those beside. Requests and packets pass sockets and namespaces, so the figures include the kernel and other work of the host.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use causeway_lab::LabError;
use causeway_upf::config::{Config, MetricsServer, PFCP_PORT};
use causeway_upf::{Daemon, config};

use super::beside::{Beside, Others};
use super::{OTHER_UES, Options, SECOND_SMF, SECOND_SMF_SESSIONS, packet};
use crate::kit::{Count, Progress, Samples, cores_beside, in_own_thread, pin};
use crate::namespaces::BenchNamespaces;
use crate::pfcp::requests::{self, SMF};
use crate::pfcp::sockets::smf::Smf;
use crate::pfcp::sockets::{SMF_SOCKET, UES, config as daemon};
use crate::pfcp::{Operation, up_seid, uplink_teid};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::upf::{Cores, Field, GNB, Running, SERVER, UPF_N3, UPF_N4, choose_cores};
use crate::{BenchError, Common};

/// Requests in flight of the SMFs whose sessions are established.
const WINDOW: usize = 32;

/// Requests that are made ready at once.
const CHUNK: u32 = 4096;

/// How long nothing else happens, to compare with.
const CALM: Duration = Duration::from_secs(2);

/// How long sessions may take to go.
const TIMEOUT: Duration = Duration::from_secs(120);

/// The second SMF of the sessions that come, and the sockets of both others.
const SECOND: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 23);
const SECOND_SOCKET: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 5);
const OTHER_SOCKET: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 6);

/// The UPF's own address among those of the UEs.
const GATEWAY: Ipv4Addr = Ipv4Addr::new(10, 255, 255, 254);

/// Where the daemon tells how many sessions there are.
const METRICS: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, config::METRICS_PORT);

pub(super) fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let nets = BenchNamespaces::acquire()?;
    in_own_thread(|| measure(options, common, &nets)).map(|report| vec![report])
}

/// Who runs where.
#[derive(Clone, Copy)]
struct Places {
    cores: Cores,
    /// The core of the SMFs whose sessions come and go.
    smfs: usize,
    /// The core of those beside.
    beside: usize,
}

fn measure(options: &Options, common: &Common, nets: &BenchNamespaces) -> Result<Report, BenchError> {
    let cores = choose_cores(common)?;
    let mut free = cores_beside(&[cores.packets, cores.others])?;
    let beside = free.pop().unwrap_or(cores.others);
    let places = Places { cores, smfs: free.pop().unwrap_or(beside), beside };
    pin(places.smfs)?;
    let Cores { packets, others } = cores;
    let conditions = Conditions::here(IoCost::Gross)
        .with("UPF", format!("control plane on core {others}, packet thread on core {packets}; UDP and TUN"))
        .with("beside", format!("an SMF with {SECOND_SMF_SESSIONS} sessions on core {beside}: 2,000 requests and 10,000 uplink packets a second"))
        .with("SMFs", format!("on core {}, {WINDOW} requests in flight", places.smfs))
        .with("time", "wall time, end to end");
    let title =
        "Pauses: times of requests and packets of others while sessions are created and end, over sockets";
    let mut report = Report::new("pauses-sockets", title, conditions, columns());
    let mut progress = Progress::new();
    for sessions in &options.sessions {
        progress.stage(format!("pauses: {sessions} sessions, over sockets"));
        // The options are checked: both are below 2^32.
        let (sessions, ending) = (sessions.0 as u32, options.ending.0 as u32);
        BenchSetup::open(sessions, places, nets)?.run(ending, &mut progress, &mut report)?;
    }
    report.note("waited: time for which runnable threads of the UPF waited for a core, in total; own: the longest time in which the measuring thread did not run.");
    report.note("lost: requests and packets beside without arrival within five seconds.");
    Ok(report)
}

fn columns() -> Vec<Column> {
    let figures = ["p50", "p99", "p99.9", "most"].map(|name| Column::of(name, "us"));
    let mut columns = vec![Column::new("phase"), Column::new("sessions"), Column::of("took", "s")];
    columns.push(Column::new("requests"));
    columns.extend(figures.clone());
    columns.push(Column::new("packets"));
    columns.extend(figures);
    columns.extend([Column::new("lost"), Column::of("waited", "ms"), Column::of("own", "us")]);
    columns
}

struct BenchSetup {
    sessions: u32,
    /// The one that stays, and the one that goes.
    smfs: [Smf; 2],
    beside: Beside,
    running: Running,
    field: Field,
    start: Instant,
    waited: Duration,
}

impl BenchSetup {
    fn open(sessions: u32, places: Places, nets: &BenchNamespaces) -> Result<Self, BenchError> {
        let field = Field::build(nets, places.beside)?;
        field.dn.ip(format!("route add {UES} via 198.51.100.1"))?;
        let nodes = [(SECOND, SECOND_SOCKET), (SMF, SMF_SOCKET), (SECOND_SMF, OTHER_SOCKET)];
        let config = with_metrics(daemon(sessions + SECOND_SMF_SESSIONS, &nodes));
        let start = || field.upf.enter(|| Ok(Daemon::start(&config)))?.map_err(BenchError::from);
        let running = Running::begin(places.cores, start)?;
        let smf =
            |(node, socket)| field.upf.enter(|| Ok(Smf::open(node, socket, (UPF_N4, PFCP_PORT).into())));
        let [first, second, other] = nodes.map(smf);
        let (mut first, mut second, mut other) = (first??, second??, other??);
        for smf in [&mut first, &mut second, &mut other] {
            smf.associate()?;
        }
        let beside = Beside::begin(others(other, &field)?, places.beside)?;
        let waited = running.all.waited()?;
        Ok(Self { sessions, smfs: [first, second], beside, running, field, start: Instant::now(), waited })
    }

    fn run(mut self, ending: u32, progress: &mut Progress, report: &mut Report) -> Result<(), BenchError> {
        self.calm(report)?;
        let staying = self.sessions - ending;
        self.establish_next(0, 0..staying, progress)?;
        self.report("created", self.sessions - ending, report)?;
        self.establish_next(1, staying..self.sessions, progress)?;
        self.report("created", self.sessions, report)?;
        self.calm(report)?;
        self.smfs[1].release()?;
        self.gone(staying)?;
        self.report("association released", staying, report)?;
        self.smfs[1].associate()?;
        self.establish_next(1, staying..self.sessions, progress)?;
        self.report("created again", self.sessions, report)?;
        self.smfs[1].restart()?;
        self.gone(staying)?;
        self.report("SMF restarted", staying, report)
    }

    /// Nothing but those beside.
    fn calm(&mut self, report: &mut Report) -> Result<(), BenchError> {
        std::thread::sleep(CALM);
        let sessions = self.there()?.saturating_sub(u64::from(SECOND_SMF_SESSIONS)) as u32;
        self.report("idle", sessions, report)
    }

    fn establish_next(
        &mut self,
        smf: usize,
        numbers: std::ops::Range<u32>,
        progress: &mut Progress,
    ) -> Result<(), BenchError> {
        let node = if smf == 0 { SECOND } else { SMF };
        let mut first = numbers.start;
        while first < numbers.end {
            progress.set_progress(first.into(), self.sessions.into());
            let end = numbers.end.min(first + CHUNK);
            let requests = (first..end)
                .map(|number| move |sequence| requests::establishment_from(node, number, None, sequence));
            if let Some(smf) = self.smfs.get_mut(smf) {
                smf.ask(Operation::Establish, requests, WINDOW)?;
            }
            first = end;
        }
        Ok(())
    }

    /// Waits until no more than so many are there, and those beside.
    fn gone(&mut self, sessions: u32) -> Result<(), BenchError> {
        let (start, left) = (Instant::now(), u64::from(sessions + SECOND_SMF_SESSIONS));
        while self.there()? > left {
            if start.elapsed() > TIMEOUT {
                return Err(BenchError::NotAccepted { what: "end sessions".to_owned(), accepted: 0, of: 1 });
            }
            // The UPF asks an SMF that says it has restarted.
            for smf in &mut self.smfs {
                smf.answer_for(Duration::from_millis(10))?;
            }
        }
        Ok(())
    }

    /// How many sessions there are, in N4 or the data plane.
    fn there(&self) -> Result<u64, BenchError> {
        let page = || -> std::io::Result<String> {
            let mut stream = TcpStream::connect(METRICS)?;
            write!(stream, "GET /metrics HTTP/1.1\r\nHost: upf\r\nConnection: close\r\n\r\n")?;
            let mut page = String::new();
            stream.read_to_string(&mut page)?;
            Ok(page)
        };
        let page = self.field.upf.enter(|| page().map_err(LabError::io("read the metrics")))?;
        let value = |name: &str| -> Option<u64> {
            page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.parse().ok()
        };
        let both = ["pfcp_sessions", "fivegs_upffunction_upf_sessionnbr"].map(value);
        let missing = || BenchError::io("read the metrics")(std::io::ErrorKind::InvalidData.into());
        both.into_iter().try_fold(0, |most, value| Some(value?.max(most))).ok_or_else(missing)
    }

    fn report(&mut self, phase: &str, sessions: u32, report: &mut Report) -> Result<(), BenchError> {
        let heard = self.beside.heard()?;
        let waited = self.running.all.waited()?;
        let figures = |samples: &Samples| -> Vec<Cell> {
            let all = samples.percentiles([500, 990, 999, 1000]);
            let micros = (0..4).map(|at| all.and_then(|all| all.get(at).copied()));
            let micros = micros.map(|micros| micros.map(|micros| Cell::Number(micros, 0)).into());
            std::iter::once(Cell::Count(samples.len() as u64)).chain(micros).collect()
        };
        let took = Cell::Number(self.start.elapsed().as_secs_f64(), 1);
        let mut row = vec![phase.into(), Count(sessions.into()).into(), took];
        row.extend(figures(&heard.requests));
        row.extend(figures(&heard.packets));
        let waiting = waited.saturating_sub(self.waited).as_secs_f64() * 1e3;
        row.extend([Cell::Count(heard.lost), Cell::Number(waiting, 1), Cell::Number(heard.own, 0)]);
        report.row(row);
        (self.start, self.waited) = (Instant::now(), waited);
        Ok(())
    }
}

/// With addresses of the UEs that the kernel knows, and metrics.
fn with_metrics(mut config: Config) -> Config {
    let (address, port) = METRICS;
    config.upf.metrics.server = vec![MetricsServer { address: address.into(), port }];
    for session in &mut config.upf.session {
        session.gateway = Some(GATEWAY.into());
    }
    config
}

/// The sessions of those beside, and the sockets of their SMF, gNB and server.
fn others(mut smf: Smf, field: &Field) -> Result<Others, BenchError> {
    let numbers = OTHER_UES..OTHER_UES + SECOND_SMF_SESSIONS;
    let requests = numbers
        .clone()
        .map(|number| move |sequence| requests::establishment_from(SECOND_SMF, number, None, sequence));
    let exchange = smf.ask(Operation::Establish, requests, WINDOW)?;
    let mut sessions = Vec::new();
    for (answer, number) in exchange.answers.iter().zip(numbers) {
        if let (Some(seid), Some(teid)) = (up_seid(answer), uplink_teid(answer)) {
            sessions.push((seid, packet(teid, number, SERVER)?));
        }
    }
    let bind = |address: SocketAddr, peer: Option<SocketAddr>| -> std::io::Result<UdpSocket> {
        let socket = UdpSocket::bind(address)?;
        peer.map_or(Ok(()), |peer| socket.connect(peer))?;
        Ok(socket)
    };
    let failed = || LabError::io("open a socket");
    let n3 = Some((UPF_N3, 2152).into());
    let gnb = field.gnb.enter(|| bind((GNB, 2152).into(), n3).map_err(failed()))?;
    let server = field.dn.enter(|| bind((SERVER, 7000).into(), None).map_err(failed()))?;
    Ok(Others { smf: smf.socket, gnb, server, sessions })
}

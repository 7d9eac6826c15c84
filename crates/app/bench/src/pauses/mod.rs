//! Pauses of N4 and of packets while sessions are created and end.
//!
//! Sessions of one SMF are established one by one up to the number given, half of them are deleted one by one, and the other half
//! ends together when its association is released. A second SMF has few sessions; it sends requests and its UEs send packets all
//! the time. Each step in which nothing else can be served is timed separately: one call of N4, one turn of the packet thread. The
//! time is CPU time of this thread, including the kernel, so that other work of the host does not count.

mod beside;
mod environment;
mod sockets;

use std::net::Ipv4Addr;

use causeway_packet::gtpu::prefix;
use causeway_packet::{IpProtocol, IpRepr, Ipv4Repr, UdpRepr};
use causeway_types::{Qfi, Seid, Teid};
use clap::{Args, ValueEnum};

use crate::kit::{Count, Progress, Samples, count, within};
use crate::pfcp::requests::{self, SMF};
use crate::pfcp::{is_accepted, up_seid, uplink_teid};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::world::Backend;
use crate::{BenchError, Common, separate_process};
use environment::{Environment, Pauses, UPF_N3};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Data planes
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().backend)]
    pub backend: Vec<Backend>,
    /// Who chooses the TEIDs of N3
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().teids)]
    pub teids: Vec<Teids>,
    /// Sessions that come and go
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Ask the daemon over its sockets instead, in network namespaces: what others' requests and packets take meanwhile
    #[arg(long)]
    pub sockets: bool,
    /// With `--sockets`: sessions of the SMF whose association ends, of those that come
    #[arg(long, value_name = "N", default_value_t = Options::default().ending)]
    pub ending: Count,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: vec![Backend::Fastpath],
            teids: vec![Teids::Upf, Teids::Smf],
            sessions: vec![count(1_000_000)],
            sockets: false,
            ending: count(400_000),
        }
    }
}

/// Who chooses TEIDs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Teids {
    /// The UPF
    Upf,
    /// The SMF, all over the 32 bits
    Smf,
}

crate::world::displayed!(Teids);

/// The second SMF, and how many sessions it has.
const SECOND_SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 22);
const SECOND_SMF_SESSIONS: u32 = 256;

/// The first UE of the second SMF's sessions.
const OTHER_UES: u32 = 8_000_000;

/// Between two requests, and two packets, of the second SMF's sessions: so many steps of the first one.
const SECOND_SMF_INTERVAL: u32 = 8;

/// UE addresses are of 10.0.0.0/8.
const MAX_SESSIONS: u64 = 4_000_000;

/// Sessions at which tables that double at seven eighths of a power of two double: a span ends shortly after each.
const SPANS: [u32; 9] = [1000, 8192, 32_768, 65_536, 131_072, 262_144, 524_288, 1_048_576, u32::MAX];

/// Measures all combinations, each in a process of its own if there are several.
///
/// # Errors
/// [`BenchError`], for example when a request is not accepted.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        (options.sessions, options.ending) = (vec![count(2000)], count(800));
    }
    within("--sessions", options.sessions.iter().map(|sessions| sessions.0), 1000..=MAX_SESSIONS)?;
    if options.sockets {
        let fewest = options.sessions.iter().map(|sessions| sessions.0).min().unwrap_or(0);
        within("--ending", [options.ending.0], 1..=fewest)?;
        return sockets::run(&options, common);
    }
    let conditions = Conditions::here(IoCost::Net)
        .with("time", "CPU time of each step of N4, and of each turn of the packet thread, by itself")
        .with(
            "beside",
            format!("a second SMF with {SECOND_SMF_SESSIONS} sessions, their requests and packets"),
        );
    let title = "Pauses: the longest steps of N4 and of packets while sessions are created and end";
    let mut report = Report::new("pauses", title, conditions, columns());
    let mut progress = Progress::new();
    let several = options.backend.len() * options.teids.len() * options.sessions.len() > 1;
    for backend in &options.backend {
        for teids in &options.teids {
            for sessions in &options.sessions {
                progress.stage(format!("pauses: {sessions} sessions, TEIDs by the {teids}, {backend}"));
                if several && !common.quick {
                    let flags = [
                        ("--backend", backend.to_string()),
                        ("--teids", teids.to_string()),
                        ("--sessions", sessions.to_string()),
                    ];
                    separate_process::measure("pauses", &flags, common, &mut report)?;
                    continue;
                }
                // The options are checked: it is below 2^32.
                match BenchSetup::new(*backend, *teids, sessions.0 as u32) {
                    Ok(bench) => bench?.run(&mut progress, &mut report)?,
                    Err(error) => report.skip(format_args!("{sessions} sessions in {backend}"), error),
                }
            }
        }
    }
    report.note("beside: the steps include requests and packets of the second SMF's sessions.");
    report.note("a packet step is one packet, or one turn in which plans are applied.");
    Ok(vec![report])
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("backend"),
        Column::new("TEIDs"),
        Column::new("phase"),
        Column::new("sessions"),
        Column::of("N4 p50", "us"),
        Column::of("p99.9", "us"),
        Column::of("most", "us"),
        Column::of("packets p50", "us"),
        Column::of("p99.9", "us"),
        Column::of("most", "us"),
        Column::of("CPU", "us/session"),
    ]
}

struct BenchSetup {
    backend: Backend,
    teids: Teids,
    sessions: u32,
    world: Environment,
    seids: Vec<Seid>,
    sequence: u32,
    steps: u32,
    /// Of the second SMF.
    others: Vec<(Seid, Vec<u8>)>,
}

impl BenchSetup {
    fn new(backend: Backend, teids: Teids, sessions: u32) -> Result<Result<Self, BenchError>, BenchError> {
        let world = Environment::new(sessions + SECOND_SMF_SESSIONS, backend)?;
        let seids = Vec::with_capacity(sessions as usize);
        let mut bench =
            Self { backend, teids, sessions, world, seids, sequence: 0, steps: 0, others: Vec::new() };
        Ok(bench.begin().map(|()| bench))
    }

    /// Both associations, and the sessions of the second SMF.
    fn begin(&mut self) -> Result<(), BenchError> {
        for smf in [SMF, SECOND_SMF] {
            let sequence = self.next_sequence();
            self.world.request(smf, &requests::association_of(smf, requests::SINCE, sequence));
        }
        for number in OTHER_UES..OTHER_UES + SECOND_SMF_SESSIONS {
            let request = requests::establishment_from(SECOND_SMF, number, None, self.next_sequence());
            self.world.answers.clear();
            self.world.request(SECOND_SMF, &request);
            self.world.run_turn();
            let answer = self.world.answers.first().map_or(&[][..], Vec::as_slice);
            let (Some(seid), Some(teid)) = (up_seid(answer), uplink_teid(answer)) else {
                return Err(BenchError::NotAccepted { what: "establish".to_owned(), accepted: 0, of: 1 });
            };
            self.others.push((seid, packet(teid, number, Ipv4Addr::new(203, 0, 113, 1))?));
        }
        self.world.pauses = Pauses::default();
        Ok(())
    }

    fn run(mut self, progress: &mut Progress, report: &mut Report) -> Result<(), BenchError> {
        let mut first = 0;
        for end in SPANS {
            let end = end.min(self.sessions);
            for number in first..end {
                progress.set_progress(number.into(), self.sessions.into());
                self.establish_next(number)?;
            }
            if end > first {
                self.report("created", end, end - first, report);
            }
            first = end;
        }
        let half = self.sessions / 2;
        for number in half..self.sessions {
            self.delete_next(number)?;
        }
        self.report("deleted", half, self.sessions - half, report);
        let request = requests::release_of(SMF, self.next_sequence());
        self.world.request(SMF, &request);
        while self.world.sessions() > SECOND_SMF_SESSIONS as usize {
            // So many turns, since it is not for nothing to ask how many sessions there are.
            for _ in 0..64 {
                self.world.run_turn();
                self.serve_second_smf()?;
            }
        }
        self.report("released", 0, half, report);
        Ok(())
    }

    fn establish_next(&mut self, number: u32) -> Result<(), BenchError> {
        // Odd, so that no two are the same.
        let teid = (number + 1).wrapping_mul(0x9e37_79b1);
        let tunnel = (self.teids == Teids::Smf).then_some((teid, UPF_N3));
        let request = requests::establishment_from(SMF, number, tunnel, self.next_sequence());
        let answer = self.ask(SMF, &request, "establish")?;
        self.seids.extend(up_seid(&answer));
        self.serve_second_smf()
    }

    fn delete_next(&mut self, number: u32) -> Result<(), BenchError> {
        let seid = self.seids.get(number as usize).copied().unwrap_or(Seid(0));
        let request = requests::deletion(seid, self.next_sequence());
        self.ask(SMF, &request, "delete")?;
        self.serve_second_smf()
    }

    /// What the second SMF and its UEs want meanwhile.
    fn serve_second_smf(&mut self) -> Result<(), BenchError> {
        self.steps = self.steps.wrapping_add(1);
        if !self.steps.is_multiple_of(SECOND_SMF_INTERVAL) {
            return Ok(());
        }
        let at = (self.steps / SECOND_SMF_INTERVAL) as usize % self.others.len().max(1);
        let round = (self.steps / SECOND_SMF_INTERVAL) as usize / self.others.len().max(1);
        let sequence = self.next_sequence();
        let Some((seid, packet)) = self.others.get(at) else { return Ok(()) };
        let request = requests::handover(*seid, at as u32, round, sequence);
        self.world.packet(packet);
        self.ask(SECOND_SMF, &request, "handover").map(drop)
    }

    /// A request, and turns until it is answered.
    fn ask(&mut self, from: Ipv4Addr, request: &[u8], what: &str) -> Result<Vec<u8>, BenchError> {
        self.world.answers.clear();
        self.world.request(from, request);
        while self.world.answers.is_empty() && self.world.run_turn() {}
        let answer = self.world.answers.pop().unwrap_or_default();
        if !is_accepted(&answer) {
            return Err(BenchError::NotAccepted { what: what.to_owned(), accepted: 0, of: 1 });
        }
        Ok(answer)
    }

    fn report(&mut self, phase: &str, sessions: u32, moved: u32, report: &mut Report) {
        let Pauses { n4, packets } = std::mem::take(&mut self.world.pauses);
        let total = n4.total() + packets.total();
        let [n4, packets] = [n4, packets].map(|samples: Samples| samples.percentiles([500, 999, 1000]));
        let cell = |all: Option<[f64; 3]>, at: usize| -> Cell {
            all.and_then(|all| all.get(at).copied()).map(|micros| Cell::Number(micros, 1)).into()
        };
        report.row([
            self.backend.to_string().into(),
            self.teids.to_string().into(),
            phase.into(),
            Count(sessions.into()).into(),
            cell(n4, 0),
            cell(n4, 1),
            cell(n4, 2),
            cell(packets, 0),
            cell(packets, 1),
            cell(packets, 2),
            Cell::Number(total / f64::from(moved.max(1)), 2),
        ]);
    }

    const fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & 0x00ff_ffff;
        self.sequence
    }
}

/// A G-PDU with a packet of a UE to a server.
fn packet(teid: Teid, number: u32, server: Ipv4Addr) -> Result<Vec<u8>, BenchError> {
    const SIZE: usize = 128;
    const HEADERS: usize = 28;
    let mut data = prefix::uplink(teid, Qfi::from_low_bits(9), SIZE)?.to_vec();
    let ip = IpRepr::V4(Ipv4Repr::new(requests::ue(number), server, IpProtocol::UDP));
    let ports = UdpRepr { src_port: 40_000, dst_port: 7000 };
    ip.write_udp(ports, true, &[&[0; SIZE - HEADERS]], &mut data)?;
    Ok(data)
}

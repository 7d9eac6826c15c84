//! Simple requests, which a data plane can answer itself (`docs/accel.md`): N4 beside the data plane's own answers, in memory.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Barrier;
use std::time::Duration;

use causeway_accel::{Accel, Config, MAX_ANSWER, NotPossible, Reason, Verdict};
use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, DestinationInterface, Dnn, FTeid, ForwardingParameters,
    GateStatus, Mbr, NetworkInstance, NodeId, OuterHeaderRemoval, Pdi, PdnType, RemovedHeader,
    SessionEstablishmentRequest, SourceInterface, UeIpAddress,
};
use causeway_types::{
    Bitrate, DualIp, FSeid, FarId, NetworkInstance as Network, PdrId, Precedence, QerId, Qfi, Seid, Time,
};

use super::environment::{Environment, capabilities, topology};
use super::options::{Operation, Options, Plane};
use super::requests::{self, SMF, encode, ue};
use super::{CHUNK, STRIDE, is_accepted, up_seid};
use crate::kit::{self, Count, CpuTimer, Progress, Samples};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};

/// Measures N4 with a data plane that accepts everything, N4 with the fast path, and the data plane's own answers in one thread and in as
/// many as asked for.
///
/// # Errors
/// [`BenchError`], when a request is not accepted.
pub(super) fn run(options: &Options, common: &Common, progress: &mut Progress) -> Result<Report, BenchError> {
    let requests = "2 PDRs, 2 FARs, 1 QER, no URR, no SDF filter; the UPF chooses the TEID";
    let conditions = Conditions::here(IoCost::Net).with("requests", requests);
    let columns = vec![
        Column::new("answered by"),
        Column::new("sessions"),
        Column::new("requests"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
        Column::of("rate of all threads", "k/s"),
        Column::of("times N4", "ratio"),
    ];
    let title = "PFCP: simple requests, answered by N4 and by the data plane itself";
    let mut report = Report::new("pfcp-simple", title, conditions, columns);
    let sessions = options.sessions.iter().map(|sessions| sessions.0).min().unwrap_or(512) as u32;
    let measured = u32::try_from(options.requests.0).unwrap_or(u32::MAX).min(sessions);
    let mut of_n4: Vec<(Operation, f64)> = Vec::new();
    let threads = options.workers.iter().map(|threads| By::DataPlane { threads: threads.0 as usize });
    for by in [By::N4(Plane::Accepting), By::N4(Plane::Fastpath)].into_iter().chain(threads) {
        progress.stage(format!("pfcp: {sessions} simple sessions, {}", by.name()));
        let new = || {
            let server = by.server(sessions)?;
            Ok(Bench::new(server, (sessions, measured), common.seed as u32))
        };
        let found = match by {
            By::DataPlane { threads: threads @ 2.. } => {
                cores(threads).and_then(|cores| in_threads(&cores, &new))
            }
            _ => new().map(|mut bench| bench.run()),
        };
        let found = match found {
            Ok(found) => found?,
            Err(why) => {
                report.skip(by.name(), why);
                continue;
            }
        };
        let Found { all, without_place } = found;
        if without_place > 0 {
            let of = u64::from(sessions) * by.threads() as u64;
            report.note(format!(
                "{}: {} of {} sessions have a key that finds no place in its table, and are N4's; the times are without them.",
                by.name(),
                Count(without_place),
                Count(of),
            ));
        }
        for (operation, samples) in all {
            let Some(summary) = samples.summary() else { continue };
            if by == By::N4(Plane::Accepting) {
                of_n4.push((operation, summary.median));
            }
            let n4 = of_n4.iter().find(|(of, _)| *of == operation).map(|(_, median)| *median);
            report.row([
                by.name().into(),
                Count(sessions.into()).into(),
                operation.to_string().into(),
                Cell::nanos(summary.p10),
                Cell::nanos(summary.median),
                Cell::nanos(summary.p90),
                Cell::Number(by.threads() as f64 * 1e6 / summary.median, 1),
                n4.map(|n4| Cell::Number(n4 / summary.median, 1)).into(),
            ]);
        }
    }
    report.note(
        "The paper's switch answers 4,389 k/s (AccelUPF table 1). Rows of the data plane write answers and state of sessions, and install \
         nothing into a packet path; compare them with accepting. Each of several threads has a core, and as many sessions of its own as \
         the table says; their rate is their number divided by the median, which is of one thread, as is the ratio to N4.",
    );
    Ok(report)
}

/// What was measured.
#[derive(Default)]
struct Found {
    all: Vec<(Operation, Samples)>,
    /// Sessions that the data plane does not establish itself: a key of theirs finds no place.
    without_place: u64,
}

/// So many cores.
fn cores(threads: usize) -> Result<Vec<usize>, String> {
    let mut cores = kit::cores_beside(&[]).map_err(|error| error.to_string())?;
    if cores.len() < threads {
        return Err(format!("needs {threads} cores, has {}", cores.len()));
    }
    cores.truncate(threads);
    Ok(cores)
}

/// The same in several threads at once, each on one of these cores with sessions of its own: what they cost each other is memory.
fn in_threads(
    cores: &[usize],
    new: &(impl Fn() -> Result<Bench, String> + Sync),
) -> Result<Result<Found, BenchError>, String> {
    let begin = Barrier::new(cores.len());
    let work = |core: usize| {
        // The other threads wait for this one, also if it panics.
        let prepared = catch_unwind(AssertUnwindSafe(|| {
            kit::pin(core).map_err(|error| error.to_string()).and_then(|()| new())
        }));
        begin.wait();
        let bench = prepared.unwrap_or_else(|panic| resume_unwind(panic));
        bench.map(|mut bench| bench.run())
    };
    std::thread::scope(|scope| {
        let started: Vec<_> = cores.iter().map(|core| scope.spawn(|| work(*core))).collect();
        let mut sum = Found::default();
        for thread in started {
            let found = match thread.join().unwrap_or_else(|panic| resume_unwind(panic))? {
                Ok(found) => found,
                Err(error) => return Ok(Err(error)),
            };
            sum.without_place += found.without_place;
            for (operation, samples) in found.all {
                match sum.all.iter_mut().find(|(of, _)| *of == operation) {
                    Some((_, before)) => before.append(samples),
                    None => sum.all.push((operation, samples)),
                }
            }
        }
        Ok(Ok(sum))
    })
}

/// Who answers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// N4, with this data plane.
    N4(Plane),
    /// The data plane itself, in so many threads.
    DataPlane { threads: usize },
}

impl By {
    fn name(self) -> String {
        match self {
            Self::N4(plane) => format!("N4, {plane}"),
            Self::DataPlane { threads: 1 } => "data plane".to_owned(),
            Self::DataPlane { threads } => format!("data plane, {threads} threads"),
        }
    }

    const fn threads(self) -> usize {
        match self {
            Self::N4(_) => 1,
            Self::DataPlane { threads } => threads,
        }
    }

    fn server(self, sessions: u32) -> Result<Server, String> {
        match self {
            Self::N4(plane) => {
                let environment = Environment::new(sessions, plane).map_err(|error| error.to_string())?;
                Ok(Server::N4(Box::new(environment)))
            }
            Self::DataPlane { .. } => {
                let accel = accel(sessions, sessions).map_err(|error| error.to_string())?;
                Ok(Server::DataPlane { accel: Box::new(accel), answers: Vec::new(), without_place: 0 })
            }
        }
    }
}

/// With tables for so many sessions and keys.
fn accel(sessions: u32, keys: u32) -> Result<Accel, NotPossible> {
    let upf = Ipv4Addr::new(192, 0, 2, 1);
    let node = causeway_types::NodeId::Ip(upf.into());
    let mut config = Config::new(&node, DualIp::from(upf), &topology().endpoints(), &capabilities(sessions))?;
    (config.sessions, config.keys) = (sessions, keys);
    let mut accel = Accel::new(config)?;
    // One SMF has its place.
    let _ = accel.associate(SMF, SMF);
    Ok(accel)
}

enum Server {
    N4(Box<Environment>),
    /// With the number of requests of the last call for which a key found no place.
    DataPlane {
        accel: Box<Accel>,
        answers: Vec<([u8; MAX_ANSWER], usize)>,
        without_place: usize,
    },
}

impl Server {
    /// Serves the requests; CPU time.
    fn serve(&mut self, requests: &[Vec<u8>]) -> Duration {
        match self {
            Self::N4(environment) => environment.serve(requests).total(),
            Self::DataPlane { accel, answers, without_place } => {
                *without_place = 0;
                answers.resize(requests.len(), ([0; MAX_ANSWER], 0));
                let (now, from) = (Time::from_secs(1_700_000_000), SocketAddrV4::new(SMF, 8805));
                let timer = CpuTimer::start();
                for (request, (octets, answer)) in requests.iter().zip(answers.iter_mut()) {
                    *answer = match accel.message(now, from, request, octets) {
                        Verdict::Answered { len, .. } => len,
                        Verdict::ToN4 { reason, .. } => {
                            *without_place += usize::from(reason == Reason::Collision);
                            0
                        }
                    };
                }
                timer.elapsed()
            }
        }
    }

    /// How many of the last requests the data plane leaves to N4, since a key of theirs finds no place.
    const fn without_place(&self) -> usize {
        match self {
            Self::N4(_) => 0,
            Self::DataPlane { without_place, .. } => *without_place,
        }
    }

    fn answers(&self) -> Vec<&[u8]> {
        match self {
            Self::N4(environment) => environment.answers.iter().map(Vec::as_slice).collect(),
            Self::DataPlane { answers, .. } => {
                answers.iter().map(|(octets, len)| octets.get(..*len).unwrap_or_default()).collect()
            }
        }
    }
}

struct Bench {
    server: Server,
    sessions: u32,
    measured: u32,
    /// The UPF's SEID of each session; `None`: the session is not there.
    seids: Vec<Option<Seid>>,
    without_place: u64,
    sequence: u32,
}

impl Bench {
    /// So many sessions, of which so many are measured.
    const fn new(server: Server, (sessions, measured): (u32, u32), sequence: u32) -> Self {
        Self { server, sessions, measured, seids: Vec::new(), without_place: 0, sequence }
    }

    /// All sessions, of which the last ones are measured; then requests about sessions all over the table.
    fn run(&mut self) -> Result<Found, BenchError> {
        let mut established = Samples::default();
        for first in (0..self.sessions).step_by(CHUNK as usize) {
            let numbers = first..self.sessions.min(first + CHUNK);
            let requests: Vec<_> =
                numbers.map(|number| establishment(SMF, number, self.next_sequence())).collect();
            let spent = self.serve(Operation::Establish, &requests)?;
            let seids: Vec<_> = self.server.answers().into_iter().map(up_seid).collect();
            self.seids.extend(seids);
            let is_measured = first >= self.sessions - self.measured && requests.len() == CHUNK as usize;
            if let Some(spent) = spent.filter(|_| is_measured) {
                established.add(spent.as_secs_f64() * 1e9 / f64::from(CHUNK));
            }
        }
        let mut all = vec![(Operation::Establish, established)];
        for operation in [Operation::Activate, Operation::Handover, Operation::Delete] {
            let share = if operation == Operation::Delete { 2 } else { 1 };
            let mut samples = Samples::default();
            for chunk in 0..(self.measured.min(self.sessions / share) / CHUNK).max(1) {
                let requests: Vec<_> =
                    (0..CHUNK).filter_map(|at| self.request(operation, chunk * CHUNK + at)).collect();
                if let Some(spent) = self.serve(operation, &requests)? {
                    samples.add(spent.as_secs_f64() * 1e9 / requests.len() as f64);
                }
            }
            all.push((operation, samples));
        }
        Ok(Found { all, without_place: self.without_place })
    }

    /// `None`: the session of this turn is not there.
    fn request(&mut self, operation: Operation, turn: u32) -> Option<Vec<u8>> {
        let number = (u64::from(turn) * STRIDE % u64::from(self.sessions)) as u32;
        let seid = self.seids.get(number as usize).copied().flatten()?;
        let sequence = self.next_sequence();
        Some(match operation {
            Operation::Establish => establishment(SMF, number, sequence),
            Operation::Activate => requests::handover(seid, number, 0, sequence),
            Operation::Handover => requests::handover(seid, number, 1, sequence),
            Operation::Delete => requests::deletion(seid, sequence),
        })
    }

    /// Serves the requests; CPU time. `None`: it is not that of these requests, since the data plane leaves some to N4, or there are none.
    fn serve(&mut self, operation: Operation, requests: &[Vec<u8>]) -> Result<Option<Duration>, BenchError> {
        let spent = self.server.serve(requests);
        let accepted = self.server.answers().into_iter().filter(|answer| is_accepted(answer)).count();
        let without_place = self.server.without_place();
        if accepted + without_place == requests.len() {
            self.without_place += without_place as u64;
            return Ok((accepted > 0 && without_place == 0).then_some(spent));
        }
        Err(BenchError::NotAccepted { what: operation.to_string(), accepted, of: requests.len() })
    }

    const fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & 0x00ff_ffff;
        self.sequence
    }
}

/// 2 PDRs, 2 FARs, 1 QER of a session of this SMF; the tunnel of the gNB comes later.
pub(super) fn establishment(smf: Ipv4Addr, number: u32, sequence: u32) -> Vec<u8> {
    let dnn = Network::new("internet");
    let network = || Some(NetworkInstance::from(&dnn));
    let ue = |destination| UeIpAddress { ipv4: Some(ue(number)), destination, ..UeIpAddress::default() };
    let qfi = Qfi::from_low_bits(9);
    let uplink = Pdi {
        local_f_teid: Some(FTeid::Choose { v4: true, v6: false, choose_id: None }),
        network_instance: network(),
        ue_ip_addresses: [ue(false)].into(),
        qfis: [qfi].into(),
        ..Pdi::new(SourceInterface::Access)
    };
    let downlink = Pdi {
        network_instance: network(),
        ue_ip_addresses: [ue(true)].into(),
        ..Pdi::new(SourceInterface::Core)
    };
    let pdr = |id: u16, pdi| CreatePdr {
        far_id: Some(FarId(id.into())),
        qer_ids: [QerId(1)].into(),
        ..CreatePdr::new(PdrId(id), Precedence(255), pdi)
    };
    let removal = Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4));
    let pdrs = [CreatePdr { outer_header_removal: removal, ..pdr(1, uplink) }, pdr(2, downlink)];
    let to_network = ForwardingParameters {
        network_instance: network(),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    let far = |id, parameters| CreateFar {
        forwarding_parameters: Some(parameters),
        ..CreateFar::new(FarId(id), ApplyAction::FORW)
    };
    let fars = [far(1, to_network), far(2, ForwardingParameters::new(DestinationInterface::Access))];
    let rate = Bitrate::from_kbps(100_000).unwrap_or_default();
    let mbr = Some(Mbr { uplink: rate, downlink: rate });
    let qer = CreateQer { mbr, qfi: Some(qfi), ..CreateQer::new(QerId(1), GateStatus::OPEN) };
    let cp = FSeid { seid: Seid(u64::from(number) + 1), addr: DualIp::from(smf) };
    let request = SessionEstablishmentRequest {
        create_qers: [qer].into(),
        pdn_type: Some(PdnType::Ipv4),
        dnn: Some(Dnn::from(&dnn)),
        ..SessionEstablishmentRequest::new(NodeId::Ip(smf.into()), cp, pdrs, fars)
    };
    encode(request.into(), Some(Seid(0)), sequence)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    // Input:  a bench in two threads; preparing it panics, or fails, in one of them.
    // Output: the panic, or the failure, instead of an endless wait of the other thread.
    #[test]
    fn threads_end_if_one_of_them_is_not_prepared() {
        let core = kit::cores_beside(&[]).unwrap()[0];
        let small = || Ok(Bench::new(By::DataPlane { threads: 2 }.server(2048)?, (2048, 2048), 1));
        let in_one = |refuse: fn() -> Result<Bench, String>| {
            let is_first = AtomicBool::new(true);
            let new = || if is_first.swap(false, Relaxed) { refuse() } else { small() };
            catch_unwind(|| in_threads(&[core, core], &new).map(drop))
        };
        let panic = in_one(|| panic!("no memory")).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no memory"));
        assert_eq!(in_one(|| Err("no memory".to_owned())).unwrap(), Err("no memory".to_owned()));
    }

    // Input:  2,048 sessions for a data plane whose tables of keys are made for 1,024.
    // Output: sessions without a place are counted, and do not end the run; each operation has times, of the others.
    #[test]
    fn sessions_without_a_place_are_left_out() {
        let accel = Box::new(accel(2_048, 1_024).unwrap());
        let server = Server::DataPlane { accel, answers: Vec::new(), without_place: 0 };
        let Found { all, without_place } = Bench::new(server, (2_048, 2_048), 1).run().unwrap();
        assert!((1..2_048).contains(&without_place), "{without_place}");
        assert_eq!(all.len(), 4);
        for (operation, samples) in all.iter().skip(1) {
            assert!(samples.summary().is_some(), "{operation}");
        }
    }
}

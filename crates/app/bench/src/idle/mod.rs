//! Idle sessions at scale: N4 and the data plane with so many sessions, each with a flow in both directions, all state in memory or that of
//! idle sessions in a file. Memory, the rate of the few that are active, and the first packet of the others.

mod packets;

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use causeway_cold::ColdFile;
use causeway_dataplane::{PacketEngine, RulePlace, TransmitQueue};
use causeway_fastpath::FastPath;
use causeway_hybrid::{ByRate, Config, Hybrid, Thresholds};
use causeway_packet::{BATCH, Batch};
use causeway_slowpath::Limits;
use causeway_switch::backend::LocalSwitch;
use causeway_switch::model::Timing;
use causeway_types::{Seid, Span, Teid};
use clap::{Args, ValueEnum};
use fastrand::Rng;

use crate::kit::{Count, CpuTimer, Progress, Samples, available_memory, count, resident_memory};
use crate::pfcp::environment::{Environment, topology};
use crate::pfcp::{RequestVariant, requests, up_seid, uplink_teid};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common, separate_process};
use packets::{downlink, uplink};

/// Where the state of idle sessions is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Storage {
    /// In memory.
    Memory,
    /// In a file.
    Cold,
}

/// The data plane.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum IdlePlane {
    /// The fast path.
    Fastpath,
    /// The fast path behind the model of a switch.
    Hybrid,
}

/// Every storage is measured in a process of its own.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Where the state of idle sessions is
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().storage)]
    pub storage: Vec<Storage>,
    /// Sessions, each with a packet in both directions
    #[arg(long, default_value_t = Options::default().sessions)]
    pub sessions: Count,
    /// Sessions without any packet, in addition
    #[arg(long, default_value_t = Options::default().dormant)]
    pub dormant: Count,
    /// Sessions that have the traffic whose rate is measured
    #[arg(long, default_value_t = Options::default().active)]
    pub active: Count,
    /// Idle sessions whose first packet is measured
    #[arg(long, default_value_t = Options::default().first)]
    pub first: Count,
    /// Data plane; with hybrid the rules of all sessions with packets are moved to the switch, and measured there
    #[arg(long, value_enum, default_value_t = IdlePlane::Fastpath)]
    pub plane: IdlePlane,
    /// Folder of the file; it should be on a disk
    #[arg(long, default_value = "/var/tmp")]
    pub folder: PathBuf,
    /// Take the file out of the page cache before the first packets, so that each is read from the disk
    #[arg(long, value_name = "BOOL", num_args = 0..=1, default_value_t, default_missing_value = "true")]
    pub uncached: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            storage: vec![Storage::Memory, Storage::Cold],
            sessions: count(100_000),
            dormant: Count(0),
            active: count(10_000),
            first: count(10_000),
            plane: IdlePlane::Fastpath,
            folder: "/var/tmp".into(),
            uncached: false,
        }
    }
}

/// A session is idle after this time of the data plane's clock.
const IDLE: Span = Span::from_secs(60);

/// Sessions that are established, and get their packets, before the next ones.
const GROUP: u32 = 2048;

/// Packets of active sessions that are measured together.
const CHUNK: usize = 16 * BATCH;

/// Octets of a session with packets in memory, at least: to see whether there is enough.
const IN_MEMORY: u64 = 1700;

/// Between two packets of a rule that is moved to the switch: longer than a packet stays in the software.
const GAP: Span = Span::from_millis(2);

/// The interval between readings of the switch's counters.
const READING: Span = Span::from_millis(500);

/// Measures each storage.
///
/// # Errors
/// [`BenchError`], for example when the folder cannot be used or packets are not forwarded.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    let mut options = options.clone();
    if common.quick {
        options = Options {
            sessions: Count(2000),
            dormant: Count(100),
            active: Count(100),
            first: Count(100),
            ..options
        };
    }
    let conditions = Conditions::here(IoCost::Net)
        .with("sessions", sessions_are(options.plane))
        .with("memory", "growth of the resident memory of the process, N4 and data plane; files in the page cache are not in it")
        .with("first packet", "a batch of one packet for a random session that was idle since its first packets, until it is sent; time of the wall")
        .with("stall", "the longest time within it that the packet thread handles nothing else");
    let title = "Idle: memory of idle sessions, rate of active ones, first packet";
    let mut report = Report::new("idle", title, conditions, columns());
    let mut progress = Progress::new();
    for storage in &options.storage {
        progress.stage(format!("idle: {} sessions, state in {storage:?}", options.sessions));
        if common.quick || options.storage.len() == 1 {
            World::measure(*storage, &options, common, &mut progress, &mut report)?;
        } else {
            separate_process::measure("idle", &options.flags(*storage), common, &mut report)?;
        }
    }
    Ok(vec![report])
}

const fn sessions_are(plane: IdlePlane) -> &'static str {
    match plane {
        IdlePlane::Fastpath => {
            "of one profile, with an MBR and a volume threshold, established and connected by PFCP, in memory"
        }
        // A switch has fewer meters than rules, and TEIDs of 24 bits.
        IdlePlane::Hybrid => {
            "of one profile, with a volume threshold, without an MBR, with TEIDs of the SMF, established and connected by PFCP, in memory"
        }
    }
}

impl Options {
    fn flags(&self, storage: Storage) -> Vec<(&'static str, String)> {
        let word = |value: Option<clap::builder::PossibleValue>| {
            value.map(|it| it.get_name().to_owned()).unwrap_or_default()
        };
        vec![
            ("--storage", word(storage.to_possible_value())),
            ("--plane", word(self.plane.to_possible_value())),
            ("--sessions", self.sessions.0.to_string()),
            ("--dormant", self.dormant.0.to_string()),
            ("--active", self.active.0.to_string()),
            ("--first", self.first.0.to_string()),
            ("--folder", self.folder.display().to_string()),
            ("--uncached", self.uncached.to_string()),
        ]
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("state"),
        Column::new("plane"),
        Column::new("sessions"),
        Column::new("dormant"),
        Column::new("in storage"),
        Column::of("established", "B/session"),
        Column::of("with flows", "B/session"),
        Column::of("memory", "GB"),
        Column::of("packet", "ns"),
        Column::of("first p50", "us"),
        Column::of("first p99", "us"),
        Column::of("first max", "us"),
        Column::of("stall p99", "us"),
        Column::of("stall max", "us"),
        Column::of("first, CPU", "us"),
        Column::new("on the switch"),
    ]
}

/// What first packets took.
#[derive(Default)]
struct FirstPackets {
    times: Vec<Duration>,
    /// For how long the packet thread did nothing else.
    stalls: Vec<Duration>,
    cpu: Duration,
}

/// The time that so many of a thousand do not exceed, nanoseconds.
fn share(times: &[Duration], of_thousand: usize) -> Option<f64> {
    let place = (times.len() * of_thousand / 1000).min(times.len().saturating_sub(1));
    times.get(place).map(|time| time.as_nanos() as f64)
}

/// Takes the files of this process in a folder, which have no name, out of the page cache.
fn drop_cached(folder: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        if std::fs::read_link(&path).is_ok_and(|target| target.starts_with(folder)) {
            let file = File::options().read(true).write(true).open(path)?;
            file.sync_all()?;
            rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed)?;
        }
    }
    Ok(())
}

/// N4 and a data plane with sessions.
struct World {
    environment: Environment,
    plane: IdlePlane,
    teids: Vec<Teid>,
    sequence: u32,
    batch: Batch,
    queue: TransmitQueue,
}

impl World {
    fn measure(
        storage: Storage,
        options: &Options,
        common: &Common,
        progress: &mut Progress,
        report: &mut Report,
    ) -> Result<(), BenchError> {
        let (sessions, dormant) = (options.sessions.0 as u32, options.dormant.0 as u32);
        let needed = options.sessions.0 * IN_MEMORY;
        if storage == Storage::Memory
            && let Some(available) = available_memory().filter(|available| *available < needed)
        {
            let gib = |octets: u64| octets as f64 / f64::from(1 << 30);
            let why = format!("it needs {:.0} GiB, of which {:.0} are there", gib(needed), gib(available));
            report.skip(format_args!("{sessions} sessions in memory"), why);
            return Ok(());
        }
        let before = resident_memory();
        let mut world = Self::new(storage, options, sessions + dormant)?;
        world.establish(sessions, dormant, progress)?;
        let memory = || resident_memory().zip(before).map(|(now, before)| now.saturating_sub(before));
        let established = memory();
        world.first_packets(sessions, progress)?;
        world.settle();
        let with_flows = memory();
        let mut random = Rng::with_seed(common.seed);
        let now = world.environment.now;
        let placement = world.plane().rule_placement(now);
        let on_switch = placement.map(|placement| placement.rules_at(RulePlace::Switch));
        let in_storage = world.plane().cold_storage().map(|state| state.cold);
        if options.uncached {
            drop_cached(&options.folder).map_err(BenchError::io("take files out of the page cache"))?;
        }
        progress.stage("idle: first packets");
        let FirstPackets { times, stalls, cpu } =
            world.later_packets(sessions, options.first.0 as usize, &mut random)?;
        progress.stage("idle: active sessions");
        let packet = world.active(sessions, options.active.0 as u32, &mut random)?;
        if let Some(state) = world
            .plane()
            .cold_storage()
            .filter(|state| state.lost + state.read_errors + state.write_errors > 0)
        {
            report.note(format!("Errors of the storage: {state:?}"));
        }
        let all = u64::from(sessions + dormant);
        let each = |octets: Option<u64>| octets.map(|octets| Cell::Count(octets / all)).into();
        let micros = |nanos: Option<f64>| nanos.map(|nanos| Cell::Number(nanos / 1000.0, 1)).into();
        report.row([
            format!("{storage:?}").to_lowercase().into(),
            format!("{:?}", options.plane).to_lowercase().into(),
            options.sessions.into(),
            options.dormant.into(),
            in_storage.map(Cell::Count).into(),
            each(established),
            each(with_flows),
            with_flows.map(|octets| Cell::Number(octets as f64 / 1e9, 2)).into(),
            packet.map(Cell::nanos).into(),
            micros(share(&times, 500)),
            micros(share(&times, 990)),
            micros(share(&times, 1000)),
            micros(share(&stalls, 990)),
            micros(share(&stalls, 1000)),
            micros(Some(cpu.as_nanos() as f64 / times.len().max(1) as f64)),
            on_switch.map(Cell::Count).into(),
        ]);
        Ok(())
    }

    fn new(storage: Storage, options: &Options, sessions: u32) -> Result<Self, BenchError> {
        let limits = Limits { max_sessions: sessions, ..Limits::default() };
        let mut software = FastPath::new(topology(), limits)?;
        if storage == Storage::Cold {
            let file = ColdFile::create(&options.folder, |_| {})
                .map_err(BenchError::io("create a file for idle sessions"))?;
            software = software.with_cold_storage(Box::new(file), IDLE, |_| {});
        }
        let plane: Box<dyn PacketEngine> = match options.plane {
            IdlePlane::Fastpath => Box::new(software),
            IdlePlane::Hybrid => behind_switch(software, limits, 2 * options.sessions.0 as usize)?,
        };
        let environment = Environment::with_plane(sessions, Some(plane));
        Ok(Self {
            environment,
            plane: options.plane,
            teids: Vec::with_capacity(sessions as usize),
            sequence: 0,
            batch: Batch::new(),
            queue: TransmitQueue::default(),
        })
    }

    fn plane(&mut self) -> &mut dyn PacketEngine {
        match &mut self.environment.plane {
            Some(plane) => &mut **plane,
            None => unreachable!("it was given one"),
        }
    }

    fn next_sequence(&mut self) -> u32 {
        self.sequence = self.sequence.wrapping_add(1) & 0x00ff_ffff;
        self.sequence
    }

    /// Establishes all sessions, and connects them to a gNB.
    fn establish(&mut self, sessions: u32, dormant: u32, progress: &mut Progress) -> Result<(), BenchError> {
        let all = sessions + dormant;
        let variant = match self.plane {
            IdlePlane::Fastpath => RequestVariant::UpfTeids,
            IdlePlane::Hybrid => RequestVariant::SmfTeids,
        };
        let is_limited = self.plane == IdlePlane::Fastpath;
        let how = requests::Establishments { variant, n3: packets::UPF, is_limited };
        for first in (0..all).step_by(GROUP as usize) {
            progress.set_progress(first.into(), all.into());
            let numbers = first..all.min(first + GROUP);
            let group: Vec<_> =
                numbers.clone().map(|number| how.request(number, self.next_sequence())).collect();
            self.environment.prepare(&group);
            let answers = &self.environment.answers;
            let seids: Vec<Seid> = answers.iter().filter_map(|answer| up_seid(answer)).collect();
            match variant {
                RequestVariant::SmfTeids => {
                    self.teids
                        .extend(numbers.clone().filter_map(|number| Teid::new(requests::smf_teid(number))));
                }
                _ => self.teids.extend(answers.iter().filter_map(|answer| uplink_teid(answer))),
            }
            let connect: Vec<_> = numbers
                .zip(&seids)
                .map(|(number, seid)| requests::handover(*seid, number, 0, self.next_sequence()))
                .collect();
            self.environment.prepare(&connect);
            let accepted =
                self.environment.answers.iter().filter(|answer| crate::pfcp::is_accepted(answer)).count();
            if accepted != group.len() {
                return Err(BenchError::NotAccepted { what: "sessions".into(), accepted, of: group.len() });
            }
        }
        Ok(())
    }

    /// The first packets of all sessions, in both directions. Between the groups the time passes, so that earlier ones are idle. With a
    /// switch the first packet moves its rule there, the second one begins the gap, and the third one is forwarded there.
    fn first_packets(&mut self, sessions: u32, progress: &mut Progress) -> Result<(), BenchError> {
        progress.stage("idle: a flow of each session");
        // Half as many rules as may be armed at a time, so that those that find no gap at once do not keep others from the switch.
        let (rounds, group) = if self.plane == IdlePlane::Hybrid { (3, GROUP / 2) } else { (1, GROUP) };
        for first in (0..sessions).step_by(group as usize) {
            progress.set_progress(first.into(), sessions.into());
            for _ in 0..rounds {
                for number in first..sessions.min(first + group) {
                    self.one_packet(number, true)?;
                    self.one_packet(number, false)?;
                }
                self.pass(GAP);
            }
            self.pass(READING);
        }
        Ok(())
    }

    /// Lets time pass, from deadline to deadline.
    fn pass(&mut self, time: Span) {
        let until = self.environment.now + time;
        while let Some(next) = self.plane().next_deadline().filter(|next| *next <= until) {
            let now = next.max(self.environment.now);
            self.environment.now = now;
            self.plane().advance(now);
            while self.plane().poll_event().is_some() {}
        }
        self.environment.now = until;
    }

    /// Until no more sessions become idle, and the file has all of them.
    fn settle(&mut self) {
        let mut moved = None;
        loop {
            self.pass(IDLE * 2);
            let Some(state) = self.plane().cold_storage() else { return };
            if state.waiting > 0 {
                std::thread::sleep(Duration::from_millis(20));
            } else if moved.replace(state.evictions) == Some(state.evictions) {
                return;
            }
        }
    }

    /// One packet of a session, alone in its batch. It must be forwarded.
    fn one_packet(&mut self, number: u32, is_uplink: bool) -> Result<(), BenchError> {
        self.fill([(number, is_uplink)]);
        let before = self.plane().counters().forwarded;
        self.process(is_uplink);
        self.wait_for_packet();
        let forwarded = self.plane().counters().forwarded - before;
        if forwarded == 1 { Ok(()) } else { Err(BenchError::NotForwarded { sent: 1, forwarded }) }
    }

    fn fill(&mut self, of: impl IntoIterator<Item = (u32, bool)>) {
        self.batch.clear();
        for (number, is_uplink) in of {
            let teid = self.teids.get(number as usize).copied();
            match teid.filter(|_| is_uplink) {
                Some(teid) => uplink(&mut self.batch, teid, requests::ue(number)),
                None => downlink(&mut self.batch, requests::ue(number)),
            }
        }
    }

    fn process(&mut self, is_uplink: bool) {
        self.environment.now = self.environment.now + Span::from_micros(1);
        let (now, source) = (self.environment.now, packets::source(is_uplink));
        if let Some(plane) = &mut self.environment.plane {
            plane.process_batch(now, source, &mut self.batch, &mut self.queue);
        }
    }

    /// Waits until no packet waits for a disk. Returns the longest time that the data plane took for a call.
    fn wait_for_packet(&mut self) -> Duration {
        let mut longest = Duration::ZERO;
        while self.plane().cold_storage().is_some_and(|state| state.held_packets > 0) {
            let (now, start) = (self.environment.now, Instant::now());
            self.plane().advance(now);
            self.queue.clear();
            if let Some(plane) = &mut self.environment.plane {
                plane.flush(&mut self.queue);
            }
            longest = longest.max(start.elapsed());
            std::thread::yield_now();
        }
        longest
    }

    /// Times of the first downlink packets of random sessions until they are sent, the longest call of the data plane for each, both sorted, and the CPU
    /// time of all in the packet thread.
    fn later_packets(
        &mut self,
        sessions: u32,
        most: usize,
        random: &mut Rng,
    ) -> Result<FirstPackets, BenchError> {
        let mut first = FirstPackets::default();
        let before = self.plane().counters().forwarded;
        for _ in 0..most {
            self.fill([(random.u32(0..sessions), false)]);
            let (start, timer) = (Instant::now(), CpuTimer::start());
            self.process(false);
            first.cpu += timer.elapsed();
            let stall = start.elapsed();
            first.stalls.push(stall.max(self.wait_for_packet()));
            first.times.push(start.elapsed());
        }
        let forwarded = self.plane().counters().forwarded - before;
        if forwarded != most as u64 {
            return Err(BenchError::NotForwarded { sent: most as u64, forwarded });
        }
        first.times.sort_unstable();
        first.stalls.sort_unstable();
        Ok(first)
    }

    /// Nanoseconds of a packet of a few sessions, in batches, in both directions: median of the chunks.
    fn active(&mut self, sessions: u32, active: u32, random: &mut Rng) -> Result<Option<f64>, BenchError> {
        let few: Vec<u32> = (0..active).map(|_| random.u32(0..sessions)).collect();
        for number in &few {
            self.one_packet(*number, true)?;
            self.one_packet(*number, false)?;
        }
        let mut samples = Samples::default();
        for _ in 0..500 {
            let mut spent = Duration::ZERO;
            for batch in 0..CHUNK / BATCH {
                let is_uplink = batch % 2 == 0;
                let one = |random: &mut Rng| few.get(random.usize(0..few.len().max(1))).copied().unwrap_or(0);
                let numbers: Vec<_> = (0..BATCH).map(|_| (one(random), is_uplink)).collect();
                self.fill(numbers);
                let timer = CpuTimer::start();
                self.process(is_uplink);
                spent += timer.elapsed();
            }
            while self.plane().poll_event().is_some() {}
            samples.add(spent.as_nanos() as f64 / CHUNK as f64);
        }
        Ok(samples.summary().map(|summary| summary.median))
    }
}

/// The fast path behind a switch that takes each rule with traffic.
fn behind_switch(
    software: FastPath,
    limits: Limits,
    rules: usize,
) -> Result<Box<dyn PacketEngine>, BenchError> {
    let cannot = |error: &dyn std::error::Error| {
        BenchError::io("set the switch up")(io::Error::other(error.to_string()))
    };
    let config = Config {
        capacity: rules,
        changes_per_second: u32::MAX,
        read_interval: Some(READING),
        ..Config::default()
    };
    // Insertions come before deletions, and accounting alternates between two tables.
    let local = LocalSwitch::with_rules(&topology(), limits, Timing::INSTANT, 2 * rules);
    let local = local.map_err(|error| cannot(&error))?;
    let placement = Box::new(ByRate::new(Thresholds { up: 1, down: 0, ..Thresholds::at(0) }));
    let hybrid = Hybrid::with_driver(local, |model| model, Box::new(software), placement, config);
    hybrid.map(|hybrid| Box::new(hybrid) as Box<dyn PacketEngine>).map_err(|error| cannot(&error))
}

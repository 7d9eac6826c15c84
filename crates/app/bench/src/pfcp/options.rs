//! What to measure.

use std::fmt;

use clap::{Args, ValueEnum};

use crate::BenchError;
use crate::kit::{Count, count, within};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// The data plane that applies the plans
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().plane)]
    pub plane: Vec<Plane>,
    /// Operations to measure; earlier operations of a session run without measurement
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().operation)]
    pub operation: Vec<Operation>,
    /// Sessions that are established when requests are measured
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Requests of each kind that are measured, at most
    #[arg(long, value_name = "N", default_value_t = Options::default().requests)]
    pub requests: Count,
    /// Differences between the establishments of two sessions
    #[arg(long, alias = "wording", value_enum, value_delimiter = ',', default_values_t = Options::default().variant)]
    pub variant: Vec<RequestVariant>,
    /// Measure only simple requests, which a data plane can answer itself, beside N4; part of a run of several combinations. With
    /// `--sockets`: answered by the control thread, and by the packet thread (`upf.pfcp.accelerate`)
    #[arg(long)]
    pub simple: bool,
    /// Send the requests to the daemon over sockets instead, in a network namespace
    #[arg(long)]
    pub sockets: bool,
    /// With `--sockets`: requests in flight
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().window)]
    pub window: Vec<Count>,
    /// With `--sockets`: requests in a second, sent whether responses come or not, instead of so many in flight. The latency counts from the
    /// time at which a request is due, and requests without a response are counted
    #[arg(long, value_name = "N", value_delimiter = ',')]
    pub rate: Vec<Count>,
    /// With `--sockets`: the mixes A to E of AccelUPF, with 3.65 to 35.79 % requests beside the packets of `--traffic`, instead of so many
    /// requests in flight
    #[arg(long, conflicts_with = "rate")]
    pub mix: bool,
    /// With `--sockets --simple`: so many requests wait at the sockets before the packet threads run, round by round, instead of so many in
    /// flight: what packet threads answer with all of their cores. Needs chrt (util-linux)
    #[arg(long, value_name = "N", value_delimiter = ',', conflicts_with_all = ["rate", "mix", "busy_poll"], requires = "simple")]
    pub queued: Vec<Count>,
    /// With `--rate` or `--mix`: milliseconds of each row, as far as there are sessions. Half of them are established at most, all
    /// rows together activate each once and delete half of them, and they are handed over again in turn
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// With `--sockets --simple`: how N4 is received
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().n4)]
    pub n4: Vec<N4Way>,
    /// With `--sockets --simple`: packet threads, each on a core of its own, which receive N4 if it is in packet threads. The last core that there
    /// is for them is that of the control plane. With `--simple` alone: threads of data planes, each on a core of its own
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = Options::default().workers)]
    pub workers: Vec<Count>,
    /// With `--sockets`: the packet thread polls without sleeping
    #[arg(long)]
    pub busy_poll: bool,
    /// With `--sockets`: packets from UEs in a second at the same time
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = Options::default().traffic)]
    pub traffic: Vec<Count>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            plane: vec![Plane::Accepting, Plane::Slowpath, Plane::Fastpath],
            operation: Operation::value_variants().to_vec(),
            sessions: vec![count(10_000), count(150_000), count(1_000_000)],
            requests: count(100_000),
            variant: RequestVariant::value_variants().to_vec(),
            simple: false,
            sockets: false,
            window: vec![count(10), count(100)],
            rate: Vec::new(),
            mix: false,
            queued: Vec::new(),
            time: 2000,
            n4: vec![N4Way::Loopback],
            workers: vec![count(1)],
            busy_poll: false,
            traffic: vec![count(0), count(50_000)],
        }
    }
}

/// Data planes of a million sessions each take some gigabytes.
const MAX_THREADS: u64 = 64;

/// Limit: the buffers of the sockets hold this number.
const MAX_IN_FLIGHT: u64 = 1000;

/// Limit: the buffer of a socket of N4 holds this number.
const MAX_QUEUED: u64 = 5000;

/// Shares of requests among requests and packets (AccelUPF table 2), in thousandths of a percent.
pub(super) const MIXES: [(&str, u64); 5] =
    [("A", 3_650), ("B", 12_530), ("C", 19_630), ("D", 28_860), ("E", 35_790)];

/// Limit: more in a second than one thread sends.
const MAX_PACKET_RATE: u64 = 1_000_000;

/// Limit: sequence numbers of a row are different at the highest rate.
const MAX_TIME_MS: u64 = 10_000;

/// UE addresses are of 10.0.0.0/8, and chosen TEIDs have 24 bits for the session.
const MAX_SESSIONS: u64 = 4_000_000;

impl Options {
    /// Options for a short run.
    pub(super) fn quick(self) -> Self {
        Self { sessions: vec![count(1000)], requests: count(500), time: 40, ..self }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--window", self.window.iter().map(|window| window.0), 1..=MAX_IN_FLIGHT)?;
        within("--queued", self.queued.iter().map(|queued| queued.0), 1..=MAX_QUEUED)?;
        within("--workers", self.workers.iter().map(|workers| workers.0), 1..=MAX_THREADS)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)?;
        within("--rate", self.rate.iter().map(|rate| rate.0), 1..=MAX_PACKET_RATE)?;
        within("--traffic", self.traffic.iter().map(|packets| packets.0), 0..=MAX_PACKET_RATE)?;
        within("--sessions", self.sessions.iter().map(|sessions| sessions.0), 512..=MAX_SESSIONS)?;
        within("--requests", [self.requests.0], 1..=MAX_SESSIONS)
    }
}

/// The data plane that applies the plans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Plane {
    /// None: every plan succeeds and is discarded
    Accepting,
    /// The slow path
    Slowpath,
    /// The software fast path
    Fastpath,
}

/// How N4 is received.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum N4Way {
    /// By a UDP socket, on the loopback interface
    Loopback,
    /// By a UDP socket, over a cable of veth
    Veth,
    /// By AF_XDP, over a cable of veth; the packet thread only
    AfXdp,
}

/// Differences between the establishments of two sessions, except F-SEID and UE address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum RequestVariant {
    /// None: the UPF chooses the TEIDs
    UpfTeids,
    /// The TEID, which the SMF chooses
    SmfTeids,
    /// The flow description and the rate
    Filters,
}

/// The requests of an SMF, in this order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Operation {
    /// A new session
    Establish,
    /// The first gNB of a session
    Activate,
    /// Another gNB, with an End Marker for the one before
    Handover,
    /// The end of the session
    Delete,
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

impl fmt::Display for N4Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

impl fmt::Display for RequestVariant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

impl fmt::Display for Plane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.to_possible_value().as_ref().map_or("", |value| value.get_name()))
    }
}

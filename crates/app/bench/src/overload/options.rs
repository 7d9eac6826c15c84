//! What to measure.

use clap::Args;

use crate::BenchError;
use crate::kit::{Count, MAX_TIME_MS, count, within};
use crate::upf::{MAX_SESSIONS, SIZES, Ways};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Ports and directions
    #[command(flatten)]
    pub ways: Ways,
    /// Offered load, in hundredths of the saturation
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().load)]
    pub load: Vec<u32>,
    /// The load of 100, in packets a second, instead of the measured saturation
    #[arg(long, value_name = "N")]
    pub saturation: Option<Count>,
    /// The user's IP packets, in octets
    #[arg(long, default_value_t = Options::default().size)]
    pub size: u16,
    /// Sessions, which send in turns, one packet each
    #[arg(long, default_value_t = Options::default().sessions)]
    pub sessions: Count,
    /// Packets a second of one more session while a single other one sends the load
    #[arg(long, value_name = "N")]
    pub beside: Option<Count>,
    /// Threads of the generator, each on a separate core as far as cores are available
    #[arg(long, value_name = "N", default_value_t = Options::default().senders)]
    pub senders: usize,
    /// Threads that compute without pause on the packet thread's core: the packet thread gets one part in N + 1 of it, so that the
    /// generator can exceed its saturation
    #[arg(long, value_name = "N", default_value_t = Options::default().neighbours)]
    pub neighbours: usize,
    /// Send datagrams of the generator together (UDP_SEGMENT)
    #[arg(long)]
    pub joined: bool,
    /// Milliseconds of each load
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// Rounds, in which ports and loads take turns; the rows have the median
    #[arg(long, value_name = "N", default_value_t = Options::default().rounds)]
    pub rounds: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ways: Ways::default(),
            load: vec![50, 75, 100, 125, 150, 200],
            saturation: None,
            size: 64,
            sessions: count(100),
            beside: None,
            senders: 2,
            neighbours: 0,
            joined: false,
            time: 1000,
            rounds: 3,
        }
    }
}

impl Options {
    /// Options for a short run.
    pub(super) fn quick(self) -> Self {
        let (sessions, saturation) = (count(3), Some(count(2000)));
        Self { load: vec![100], saturation, sessions, time: 40, rounds: 1, ..self }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--size", [self.size.into()], SIZES)?;
        within("--sessions", [self.sessions.0], 2..=MAX_SESSIONS)?;
        within("--load", self.load.iter().map(|load| u64::from(*load)), 1..=10_000)?;
        within("--saturation", self.saturation.map(|rate| rate.0), 1..=100_000_000)?;
        within("--beside", self.beside.map(|rate| rate.0), 1..=1_000_000)?;
        within("--senders", [self.senders as u64], 1..=64)?;
        within("--neighbours", [self.neighbours as u64], 0..=64)?;
        within("--rounds", [self.rounds as u64], 1..=1000)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}

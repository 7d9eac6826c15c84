//! What to measure.

use clap::Args;

use crate::BenchError;
use crate::kit::{Count, MOST_TIME, count, within};
use crate::upf::{Direction, Ports};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Ports of N3 and N6
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().ports)]
    pub ports: Vec<Ports>,
    /// Which way packets go
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().direction)]
    pub direction: Vec<Direction>,
    /// Offered load, in hundredths of the saturation
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().load)]
    pub load: Vec<u32>,
    /// The load of 100, in packets a second, instead of the saturation that is found first
    #[arg(long, value_name = "N")]
    pub saturation: Option<Count>,
    /// The user's IP packets, in octets
    #[arg(long, default_value_t = Options::default().size)]
    pub size: u16,
    /// Sessions, whose packets come in turns, one each
    #[arg(long, default_value_t = Options::default().sessions)]
    pub sessions: Count,
    /// Packets a second of one more session while a single other one sends the load
    #[arg(long, value_name = "N")]
    pub beside: Option<Count>,
    /// Datagrams of the generator cross its socket together (UDP_SEGMENT)
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
            ports: vec![Ports::Udp, Ports::AfXdp],
            direction: vec![Direction::Uplink, Direction::Downlink],
            load: vec![50, 100, 150, 200, 300],
            saturation: None,
            size: 64,
            sessions: count(100),
            beside: None,
            joined: false,
            time: 1000,
            rounds: 3,
        }
    }
}

impl Options {
    /// The same in little time.
    pub(super) fn quick(self) -> Self {
        let (sessions, saturation) = (count(3), Some(count(2000)));
        Self { load: vec![100], saturation, sessions, time: 40, rounds: 1, ..self }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--size", [self.size.into()], 64..=1400)?;
        within("--sessions", [self.sessions.0], 2..=60_000)?;
        within("--load", self.load.iter().map(|load| u64::from(*load)), 1..=10_000)?;
        within("--saturation", self.saturation.map(|rate| rate.0), 1..=100_000_000)?;
        within("--beside", self.beside.map(|rate| rate.0), 1..=1_000_000)?;
        within("--rounds", [self.rounds as u64], 1..=1000)?;
        within("--time", [self.time], 1..=MOST_TIME)
    }
}

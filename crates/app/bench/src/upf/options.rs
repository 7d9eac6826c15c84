//! What to measure.

use std::ops::RangeInclusive;

use causeway_packet::BATCH;
use clap::{Args, ValueEnum};

use crate::BenchError;
use crate::kit::{Count, MAX_TIME_MS, count, within};
use crate::world::displayed;

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Ports and directions
    #[command(flatten)]
    pub ways: Ways,
    /// The user's IP packets, in octets
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().size)]
    pub size: Vec<u16>,
    /// Sessions, which send in turns of `--run` packets each
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// Packets of one session in a row
    #[arg(long, value_name = "N", default_value_t = Options::default().run)]
    pub run: usize,
    /// Packets in flight at most while the rate is measured: less than any buffer holds
    #[arg(long, value_name = "N", default_value_t = Options::default().window)]
    pub window: usize,
    /// Packets in a second while latency is measured, one by one
    #[arg(long, value_name = "N", default_value_t = Options::default().rate)]
    pub rate: Count,
    /// Milliseconds for each row, first for the rate and again for the latency
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// The packet thread of the UPF never sleeps: for latency; its CPU time is then meaningless
    #[arg(long)]
    pub busy_poll: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            ways: Ways::default(),
            size: vec![64, 512, 1400],
            sessions: vec![count(1), count(1000)],
            run: BATCH,
            window: 256,
            rate: count(10_000),
            time: 2000,
            busy_poll: false,
        }
    }
}

/// The paths through a UPF.
#[derive(Args, Clone, Debug)]
pub struct Ways {
    /// Ports of N3 and N6
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Ways::default().ports)]
    pub ports: Vec<Ports>,
    /// Direction of packets
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Ways::default().direction)]
    pub direction: Vec<Direction>,
}

impl Default for Ways {
    fn default() -> Self {
        let ports = Ports::value_variants().iter().copied().filter(|ports| *ports != Ports::Vxlan);
        Self { ports: ports.collect(), direction: Direction::value_variants().to_vec() }
    }
}

/// A /16 has so many UEs, gateway and network left out.
pub(crate) const MAX_SESSIONS: u64 = 60_000;

/// Octets of the user's IP packets.
pub(crate) const SIZES: RangeInclusive<u64> = 64..=1400;

impl Options {
    /// Options for a short run.
    pub(super) fn quick(self) -> Self {
        Self { size: vec![64], sessions: vec![count(3)], rate: count(500), time: 40, ..self }
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        within("--size", self.size.iter().map(|size| u64::from(*size)), SIZES)?;
        within("--sessions", self.sessions.iter().map(|sessions| sessions.0), 1..=MAX_SESSIONS)?;
        within("--run", [self.run as u64], 1..=4096)?;
        within("--window", [self.window as u64], 1..=4096)?;
        within("--rate", [self.rate.0], 1..=1_000_000)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}

/// The ports of N3 and N6.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Ports {
    /// UDP sockets with GRO and GSO, and a TUN device
    Udp,
    /// AF_XDP sockets on both
    #[value(name = "af_xdp")]
    AfXdp,
    /// AF_XDP sockets on N3, a TUN device on N6
    #[value(name = "af_xdp-tun")]
    AfXdpTun,
    /// Packet rings (TPACKET_V3) on N3, a TUN device on N6
    Tpacket,
    /// UDP sockets on N3, a VXLAN segment on N6, and 1000 firewall rules of each direction (not by default: the kernel of the data
    /// network needs its VXLAN device)
    Vxlan,
}

/// Direction of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Direction {
    /// From the gNB through N3 and N6 to the data network
    Uplink,
    /// From the data network through N6 and N3 to the gNB
    Downlink,
}

displayed!(Ports, Direction);

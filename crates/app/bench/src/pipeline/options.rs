//! What to measure.

use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::sync::Arc;

use causeway_class_model::ModelFile;
use causeway_dataplane::{Firewall, FirewallAction, FirewallRule, FlowKind, HeavyHitterSettings, Threshold};
use causeway_model::{Applications, TrafficClasses};
use causeway_types::Span;
use clap::{Args, ValueEnum};

use crate::BenchError;
use crate::kit::{Count, MAX_TIME_MS, count, within};
use crate::world::{self, Backend, Rules, displayed};

/// Every list is measured in all combinations with the others.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Data planes, interleaved
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().backend)]
    pub backend: Vec<Backend>,
    /// Sessions; each packet is of a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sessions)]
    pub sessions: Vec<Count>,
    /// PDRs of each direction, distinguished by SDF filters; each packet matches a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().pdrs)]
    pub pdrs: Vec<u16>,
    /// Rules of sessions in addition to PDRs and FARs
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().rules)]
    pub rules: Vec<Rules>,
    /// Direction of packets
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().direction)]
    pub direction: Vec<Direction>,
    /// The user's IP packets
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().size)]
    pub size: Vec<Size>,
    /// Rule changes in each second of the worker's time: handovers of random sessions
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().changes)]
    pub changes: Vec<Count>,
    /// Whether heavy hitters are looked for, and what is one flow
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().heavy_hitters)]
    pub heavy_hitters: Vec<HeavyHitters>,
    /// Application classes: whether there is a model, and sessions ask for the class of their traffic
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().classes)]
    pub classes: Vec<Classes>,
    /// Model of the classes, as `causeway train` writes it; without it that of cloud gaming with windows of 0.3 s
    #[arg(long, value_name = "FILE")]
    pub class_model: Option<PathBuf>,
    /// Rules of the firewall, 1000 in each direction, which let all packets pass
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().firewall)]
    pub firewall: Vec<FirewallRules>,
    /// VXLAN around packets: its headers are read and written, too
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = Options::default().vxlan)]
    pub vxlan: Vec<Vxlan>,
    /// Milliseconds of CPU time for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
    /// Exact number of packets for each row, rounded up to whole chunks of 1024, without a time limit
    #[arg(long, value_name = "N")]
    pub packets: Option<Count>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            backend: vec![Backend::Fastpath, Backend::Slowpath],
            sessions: vec![count(10_000), count(100_000), count(1_000_000)],
            pdrs: vec![1],
            rules: vec![Rules::Full],
            direction: vec![Direction::Uplink, Direction::Downlink],
            size: vec![Size::Small],
            changes: vec![count(0)],
            heavy_hitters: vec![HeavyHitters::Off],
            classes: vec![Classes::Off],
            class_model: None,
            firewall: vec![FirewallRules::Off],
            vxlan: vec![Vxlan::Off],
            time: 1000,
            packets: None,
        }
    }
}

impl Options {
    /// Options for a short run.
    pub(super) fn quick(mut self) -> Self {
        self.sessions = vec![count(1000)];
        self.time = 1;
        self.packets = None;
        self
    }

    /// All numbers are in range.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        world::check_sessions(&self.sessions)?;
        world::check_pdrs(&self.pdrs)?;
        within("--changes", self.changes.iter().map(|changes| changes.0), 0..=1_000_000)?;
        within("--packets", self.packets.map(|packets| packets.0), 1..=u64::MAX)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}

/// Direction of packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Direction {
    /// From the gNB to the data network
    Uplink,
    /// From the data network to the gNB
    Downlink,
    /// In turns
    Both,
}

/// Whether heavy hitters are looked for, and what is one flow. The threshold is 100 Mbit/s in a second, and the memory 1 MiB.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum HeavyHitters {
    /// They are not
    Off,
    /// All packets of a UE
    UeAddress,
    /// Packets of equal addresses, ports and protocol
    FiveTuple,
}

impl HeavyHitters {
    pub(super) fn settings(self) -> Option<HeavyHitterSettings> {
        let kind = match self {
            Self::Off => return None,
            Self::UeAddress => FlowKind::UeAddress,
            Self::FiveTuple => FlowKind::FiveTuple,
        };
        let threshold = Threshold::BitsPerSecond(100_000_000);
        Some(HeavyHitterSettings { threshold, window: Span::from_secs(1), memory: 1 << 20, kind, seed: 7 })
    }
}

/// Application classes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Classes {
    /// There is no model
    Off,
    /// There is one, and no session asks
    Unasked,
    /// Each session has a PDR of the first application of the model, before those of other traffic
    Asked,
}

/// The model of cloud gaming with windows of 0.3 s.
const GAMING: &[u8] = include_bytes!("../../../experiment/src/gaming/models/300.json");

impl Options {
    /// The applications of the model, and the name of the first; nothing where none is wanted.
    pub(super) fn applications(&self) -> Result<(Arc<Applications>, Option<String>), BenchError> {
        if self.classes.iter().all(|classes| *classes == Classes::Off) {
            return Ok((Arc::default(), None));
        }
        let of_file = |file: &PathBuf| {
            std::fs::read(file).map_err(BenchError::io(format!("--class-model: read {}", file.display())))
        };
        let octets = self.class_model.as_ref().map(of_file).transpose()?;
        let model = ModelFile::decode(octets.as_deref().unwrap_or(GAMING))?.into_model();
        let first = model.classes().get(1).cloned();
        let classes = TrafficClasses::new(&model)?;
        Ok((Arc::new(Applications::default().with_classes(Some(Arc::new(classes)))), first))
    }
}

/// Which networks are VXLAN segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Vxlan {
    /// None
    Off,
    /// The data network
    N6,
    /// The data network, and that of the gNBs
    Both,
}

/// The rules of the firewall.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum FirewallRules {
    /// There is no firewall
    Off,
    /// Single addresses, which are denied
    Addresses,
    /// Prefixes with a protocol and ports, of which one permits the packets, after all others
    FiveTuples,
}

/// The number of rules of a direction.
const RULES: u32 = 1000;

impl FirewallRules {
    /// The firewall; `None`: there is none.
    pub(super) fn firewall(self) -> Option<Arc<Firewall>> {
        let address = |n: u32| Ipv4Addr::from_bits(0x0808_0000 ^ n.wrapping_mul(0x9e37_79b1));
        let of = |n: u32| match self {
            Self::Off => Vec::new(),
            Self::Addresses => vec![
                format!("deny in ip from any to {}", address(n)),
                format!("deny out ip from {} to any", address(n)),
            ],
            Self::FiveTuples if n + 1 == RULES => {
                vec!["permit in udp from any to any".into(), "permit out udp from any to any".into()]
            }
            Self::FiveTuples => {
                let (net, port) = (address(n / 8 * 8), 1 + n);
                vec![
                    format!("deny in tcp from any to {net}/12 {port}"),
                    format!("deny out tcp from {net}/12 {port} to any"),
                ]
            }
        };
        let texts: Vec<String> = (0..RULES).flat_map(of).collect();
        if texts.is_empty() {
            return None;
        }
        let rules = texts.iter().map(|text| text.parse()).collect::<Result<Vec<FirewallRule>, _>>();
        let default = if self == Self::Addresses { FirewallAction::Permit } else { FirewallAction::Deny };
        let firewall = rules.ok().and_then(|rules| Firewall::new(rules, default, default).ok());
        Some(Arc::new(firewall.unwrap_or_else(|| unreachable!("the rules are constants"))))
    }
}

/// The user's IP packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Size {
    /// 64 octets
    #[value(name = "64")]
    Small,
    /// 7 of 64, 4 of 576 and 1 of 1400 octets
    Imix,
    /// 1400 octets
    #[value(name = "1400")]
    Large,
}

impl Size {
    /// The sizes of packets, in turns.
    pub(super) const fn octets(self) -> &'static [usize] {
        match self {
            Self::Small => &[64],
            Self::Imix => &[64, 576, 64, 64, 576, 64, 1400, 64, 576, 64, 64, 576],
            Self::Large => &[1400],
        }
    }
}

displayed!(Classes, Direction, FirewallRules, HeavyHitters, Size, Vxlan);

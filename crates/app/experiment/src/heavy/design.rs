//! All detectors, with the numbers that each may be tuned in.

use std::fmt;

use causeway_switch::heavy_hitters;
use causeway_traffic::heavy::{FlowKind, HeavyHitterSettings, Threshold};
use causeway_traffic::hk_ipg::Stamps;
use causeway_traffic::{
    HkIpg, HkIpgConfig, Key, Placement, PublishedHkIpg, Sliding, SlidingConfig, SwitchSliding, Unit,
};
use causeway_types::{Span, Time};

use super::competitors::Counter;
use super::competitors::elastic::ElasticSketch;
use super::competitors::hash_pipe::HashPipe;
use super::competitors::heavy_keeper::HeavyKeeper;
use super::competitors::memento::Memento;
use super::competitors::precision::Precision;
use super::competitors::released::{Program, Simulator};
use super::competitors::salsa::Salsa;
use super::competitors::space_saving::SpaceSaving;
use super::competitors::waving::WavingSketch;
use super::truth::{Amount, Disjoint, WINDOW};
use crate::ExperimentError;

/// A packet, as a detector sees it.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The number of its flow, for exact counts only.
    pub flow: u32,
    /// The key of its flow.
    pub key: Key,
    /// Octets.
    pub octets: u16,
    /// When it is seen.
    pub time: Time,
}

/// Finds heavy flows.
pub trait Detector {
    /// Counts a packet; true if its flow is reported.
    fn observe(&mut self, packet: &Seen) -> bool;
}

/// What is heavy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Target {
    /// What is counted.
    pub amount: Amount,
    /// How much of it in the window.
    pub threshold: u64,
    /// The window: a second, but for a switch's own.
    pub window: Span,
}

impl Target {
    /// So many Mbit/s, in packets of 1000 octets or in octets.
    pub const fn megabits(amount: Amount, megabits: u64) -> Self {
        let threshold = match amount {
            Amount::Packets => megabits * 125,
            Amount::Octets => megabits * 125_000,
        };
        Self { amount, threshold, window: WINDOW }
    }

    /// The same rate in the window of the P4 block. Only [`Method::Block`] counts in it.
    #[must_use]
    pub const fn in_block_window(self) -> Self {
        Self { threshold: self.in_window(heavy_hitters::WINDOW), window: heavy_hitters::WINDOW, ..self }
    }

    /// The threshold in another window, rounded up.
    const fn in_window(self, window: Span) -> u64 {
        let amount = self.threshold as u128 * window.as_nanos();
        amount.div_ceil(self.window.as_nanos()) as u64
    }
}

/// A method, whatever its numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Method {
    /// Exact counts in disjoint seconds.
    Exact,
    /// Algorithm 1 of the thesis.
    Published,
    /// HK-IPG's released simulator.
    Simulator,
    /// HK-IPG's released P4 program.
    Program,
    /// HK-IPG, as `causeway-traffic` settles it.
    Settled,
    /// The sliding window, general.
    Sliding,
    /// The sliding window, for a switch.
    Switch,
    /// The sliding window as the P4 block has it.
    Block,
    /// The general sliding window in units of one packet, which a running UPF does not have at high thresholds. It is not in [`Self::ALL`].
    Single,
    /// HeavyKeeper.
    HeavyKeeper,
    /// Elastic Sketch.
    Elastic,
    /// PRECISION.
    Precision,
    /// HashPipe.
    HashPipe,
    /// Space-Saving.
    SpaceSaving,
    /// WavingSketch.
    Waving,
    /// SALSA.
    Salsa,
    /// Memento.
    Memento,
}

/// A method with its numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Design {
    /// Exact counts.
    Exact,
    /// Alpha, k as a share of the mean gap at the threshold, and the threshold of tau.
    Published(f64, f64, u16),
    /// Alpha and k.
    Simulator(f64, f64),
    /// k.
    Program(f64),
    /// Alpha and k.
    Settled(f64, f64),
    /// Sub-windows in a second, ways, and where they lie.
    Sliding(u8, u8, Placement),
    /// Ways, and bits of the position, of two sub-windows in a second.
    Switch(u8, u8),
    /// The numbers of the P4 block.
    Block,
    /// Ways, and where they lie, of four sub-windows in a second, in units of one packet.
    Single(u8, Placement),
    /// Arrays and base.
    HeavyKeeper(u8, f64),
    /// Percent of the memory in the heavy part.
    Elastic(u8),
    /// Ways and bits of an identity.
    Precision(u8, u8),
    /// Stages.
    HashPipe(u8),
    /// Whether the estimate is what is guaranteed.
    SpaceSaving(bool),
    /// Entries in a bucket, and bits of an identity.
    Waving(u8, u8),
    /// Rows, and whether updates are conservative.
    Salsa(u8, bool),
    /// Blocks that are added to an estimate, and whether counts are what is guaranteed.
    Memento(u8, bool),
}

impl Method {
    /// All that are compared.
    pub const ALL: [Self; 16] = [
        Self::Exact,
        Self::Published,
        Self::Simulator,
        Self::Program,
        Self::Settled,
        Self::Sliding,
        Self::Switch,
        Self::Block,
        Self::HeavyKeeper,
        Self::Elastic,
        Self::Precision,
        Self::HashPipe,
        Self::SpaceSaving,
        Self::Waving,
        Self::Salsa,
        Self::Memento,
    ];

    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact counts, disjoint seconds",
            Self::Published => "HK-IPG, Algorithm 1",
            Self::Simulator => "HK-IPG, released simulator",
            Self::Program => "HK-IPG, released P4",
            Self::Settled => "HK-IPG, settled",
            Self::Sliding => "Causeway",
            Self::Switch => "Causeway, switch form",
            Self::Block => "Causeway, P4 block",
            Self::Single => "Causeway, units of one packet",
            Self::HeavyKeeper => "HeavyKeeper",
            Self::Elastic => "Elastic Sketch",
            Self::Precision => "PRECISION",
            Self::HashPipe => "HashPipe",
            Self::SpaceSaving => "Space-Saving",
            Self::Waving => "WavingSketch",
            Self::Salsa => "SALSA",
            Self::Memento => "Memento",
        }
    }

    /// Whether it can count octets.
    pub const fn counts_octets(self) -> bool {
        matches!(self, Self::Exact | Self::Sliding | Self::Switch)
    }

    /// All numbers that the search tries.
    pub fn designs(self) -> Vec<Design> {
        let pairs = |a: &[u8], b: &[u8], of: fn(u8, u8) -> Design| -> Vec<Design> {
            a.iter().flat_map(|a| b.iter().map(move |b| of(*a, *b))).collect()
        };
        let alphas = [0.90_f64, 0.95, 0.98, 0.99].into_iter();
        let alphas_and_shares = alphas.flat_map(|alpha| [0.001, 0.01].map(|share| (alpha, share)));
        match self {
            Self::Exact => vec![Design::Exact],
            Self::Published => alphas_and_shares
                .flat_map(|(alpha, share)| [300, 1850].map(|tau| Design::Published(alpha, share, tau)))
                .collect(),
            Self::Simulator => {
                alphas_and_shares.map(|(alpha, share)| Design::Simulator(alpha, share)).collect()
            }
            Self::Program => [0.001, 0.0125].map(Design::Program).to_vec(),
            Self::Settled => alphas_and_shares.map(|(alpha, share)| Design::Settled(alpha, share)).collect(),
            Self::Sliding => {
                let apart =
                    pairs(&[2, 4], &[2, 4, 8], |some, ways| Design::Sliding(some, ways, Placement::Apart));
                let together =
                    pairs(&[2, 4], &[8], |some, ways| Design::Sliding(some, ways, Placement::Together));
                [apart, together].concat()
            }
            Self::Switch => pairs(&[2, 3], &[4, 6, 8], Design::Switch),
            Self::Block => vec![Design::Block],
            Self::Single => vec![
                Design::Single(4, Placement::Apart),
                Design::Single(8, Placement::Apart),
                Design::Single(8, Placement::Together),
            ],
            Self::HeavyKeeper => [1, 2, 4]
                .iter()
                .flat_map(|arrays| [1.05, 1.08, 1.3].map(|base| Design::HeavyKeeper(*arrays, base)))
                .collect(),
            Self::Elastic => [25, 50, 75, 90].map(Design::Elastic).to_vec(),
            Self::Precision => pairs(&[1, 2, 4], &[16, 32], Design::Precision),
            Self::HashPipe => [2, 4, 6].map(Design::HashPipe).to_vec(),
            Self::SpaceSaving => [false, true].map(Design::SpaceSaving).to_vec(),
            Self::Waving => pairs(&[4, 8, 16], &[16, 32], Design::Waving),
            Self::Salsa => [2, 3, 4]
                .iter()
                .flat_map(|rows| [false, true].map(|conservative| Design::Salsa(*rows, conservative)))
                .collect(),
            Self::Memento => [0, 1, 2]
                .iter()
                .flat_map(|added| [false, true].map(|is_guaranteed| Design::Memento(*added, is_guaranteed)))
                .collect(),
        }
    }
}

/// Where ways lie, in words.
const fn lie(placement: Placement) -> &'static str {
    match placement {
        Placement::Apart => "apart",
        Placement::Together => "together",
    }
}

impl fmt::Display for Design {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => write!(f, "-"),
            Self::Published(alpha, share, tau) => {
                write!(f, "alpha {alpha}, k {} %, tau {tau}", share * 100.0)
            }
            Self::Settled(alpha, share) | Self::Simulator(alpha, share) => {
                write!(f, "alpha {alpha}, k {} %", share * 100.0)
            }
            Self::Program(share) => write!(f, "k {} %", share * 100.0),
            Self::Sliding(full, ways, placement) => {
                write!(f, "{full} x {} ms, {ways} ways {}", 1000 / u32::from(*full), lie(*placement))
            }
            Self::Single(ways, placement) => write!(f, "4 x 250 ms, {ways} ways {}", lie(*placement)),
            Self::Switch(ways, bits) => write!(f, "2 x 500 ms, {ways} ways, {bits} position bits"),
            Self::Block => write!(f, "3 x 268 ms, 2 ways, 4 position bits"),
            Self::HeavyKeeper(arrays, base) => write!(f, "{arrays} arrays, base {base}"),
            Self::Elastic(percent) => write!(f, "{percent} % heavy part"),
            Self::Precision(ways, bits) => write!(f, "{ways} ways, identity of {bits} bits"),
            Self::HashPipe(stages) => write!(f, "{stages} stages"),
            Self::SpaceSaving(false) => write!(f, "count"),
            Self::SpaceSaving(true) => write!(f, "count less error"),
            Self::Waving(cells, bits) => write!(f, "{cells} entries, identity of {bits} bits"),
            Self::Salsa(rows, false) => write!(f, "{rows} rows"),
            Self::Salsa(rows, true) => write!(f, "{rows} rows, conservative"),
            Self::Memento(added, false) => write!(f, "{added} blocks added"),
            Self::Memento(added, true) => write!(f, "{added} blocks added, count less error"),
        }
    }
}

impl Design {
    /// The detector in a memory of so many octets.
    ///
    /// # Errors
    /// [`ExperimentError::Detector`] when the threshold cannot be reached.
    pub fn build(
        self,
        octets: usize,
        target: Target,
        seed: u64,
    ) -> Result<Box<dyn Detector>, ExperimentError> {
        let windows = |counter: Box<dyn Counter>| -> Box<dyn Detector> {
            Box::new(InSeconds { counter, threshold: target.threshold, second: 0 })
        };
        Ok(match self {
            Self::Exact => {
                let counts = Disjoint::new(target.amount, Span::ZERO);
                Box::new(Exact { counts, threshold: target.threshold })
            }
            Self::Published(alpha, share, tau_threshold) => {
                let slots = octets * 8 / PublishedHkIpg::SLOT_BITS;
                let config = HkIpgConfig { tau_threshold, ..gaps(target, slots, alpha, share) };
                Box::new(PublishedHkIpg::new(&config)?)
            }
            Self::Simulator(alpha, share) => {
                let slots = octets * 8 / PublishedHkIpg::SLOT_BITS;
                Box::new(Simulator::new(slots, target.threshold, alpha, share))
            }
            Self::Program(share) => {
                let slots = octets * 8 / Program::SLOT_BITS;
                Box::new(Program::new(slots, target.threshold, share))
            }
            Self::Settled(alpha, share) => {
                let slots = octets * 8 / gaps(target, 1, alpha, share).slot_bits();
                Box::new(HkIpg::new(&gaps(target, slots, alpha, share))?)
            }
            Self::Sliding(sub_windows, ways, placement) => {
                let mut config = SlidingConfig { placement, ..sliding(target, sub_windows, ways, seed)? };
                config.slots = octets * 8 / config.slot_bits();
                Box::new(Sliding::new(&config)?)
            }
            Self::Single(ways, placement) => {
                let unit = Unit::Packets(0);
                let mut config = SlidingConfig { placement, unit, ..sliding(target, 4, ways, seed)? };
                config.slots = octets * 8 / config.slot_bits();
                Box::new(Sliding::new(&config)?)
            }
            Self::Switch(ways, position_bits) => {
                let mut config = SlidingConfig { position_bits, ..sliding(target, 2, ways, seed)? };
                config.slots = octets * 8 / config.switch_slot_bits();
                Box::new(SwitchSliding::new(&config)?)
            }
            Self::Block => Box::new(SwitchSliding::new(&block(octets, target, seed))?),
            Self::HeavyKeeper(arrays, base) => {
                windows(Box::new(HeavyKeeper::new(octets, arrays.into(), base, seed)))
            }
            Self::Elastic(percent) => windows(Box::new(ElasticSketch::new(octets, percent.into()))),
            Self::Precision(ways, bits) => {
                windows(Box::new(Precision::new(octets, ways.into(), bits.into(), seed)))
            }
            Self::HashPipe(stages) => windows(Box::new(HashPipe::new(octets, stages.into()))),
            Self::SpaceSaving(is_guaranteed) => windows(Box::new(SpaceSaving::new(octets, is_guaranteed))),
            Self::Waving(cells, bits) => {
                windows(Box::new(WavingSketch::new(octets, cells.into(), bits.into())))
            }
            Self::Salsa(rows, is_conservative) => {
                windows(Box::new(Salsa::new(octets, rows.into(), is_conservative)))
            }
            Self::Memento(added, is_guaranteed) => {
                let memento = Memento::new(octets, added, is_guaranteed);
                Box::new(InLastSecond { memento, threshold: target.threshold })
            }
        })
    }
}

/// The configuration of both forms of HK-IPG; `share` is k as a share of the mean gap at the threshold.
fn gaps(target: Target, slots: usize, alpha: f64, share: f64) -> HkIpgConfig {
    let limit = WINDOW.as_micros() as f64 * 256.0 / target.threshold as f64;
    HkIpgConfig {
        threshold: target.threshold as u32,
        gap_weight: ((1.0 - alpha) * 65536.0) as u16,
        collision: (limit * share) as u32,
        stamps: Stamps::Fine,
        ..HkIpgConfig::with_slots(slots)
    }
}

/// The configuration of both forms of the sliding window, without their slots, in the unit of a running UPF.
///
/// # Errors
/// [`ExperimentError::Detector`] when the threshold cannot be reached.
fn sliding(target: Target, sub_windows: u8, ways: u8, seed: u64) -> Result<SlidingConfig, ExperimentError> {
    Ok(SlidingConfig {
        ways: ways.into(),
        sub_windows,
        sub_window: WINDOW / u32::from(sub_windows),
        threshold: target.threshold,
        unit: unit(target)?,
        seed,
        ..SlidingConfig::with_slots(1)
    })
}

/// The configuration of the P4 block, which counts packets, with as many places as there is memory for. Its threshold is that of its
/// own window.
const fn block(octets: usize, target: Target, seed: u64) -> SlidingConfig {
    let config = heavy_hitters::config();
    SlidingConfig {
        slots: octets * 8 / config.switch_slot_bits(),
        threshold: target.in_window(heavy_hitters::WINDOW),
        seed,
        ..config
    }
}

/// Octets of all places of the P4 block, without their flags.
pub(super) const fn block_octets() -> usize {
    let config = heavy_hitters::config();
    config.slots * config.switch_slot_bits() / 8
}

/// The unit with which a running UPF counts: its threshold is at most 256 units.
///
/// # Errors
/// [`ExperimentError::Detector`] when the threshold cannot be reached.
pub(super) fn unit(target: Target) -> Result<Unit, ExperimentError> {
    let threshold = match target.amount {
        Amount::Packets => Threshold::PacketsPerSecond(target.threshold),
        Amount::Octets => Threshold::BitsPerSecond(8 * target.threshold),
    };
    let settings = HeavyHitterSettings {
        threshold,
        window: WINDOW,
        memory: 1 << 20,
        kind: FlowKind::default(),
        seed: 0,
    };
    Ok(settings.sliding()?.unit)
}

/// Exact counts as a detector.
struct Exact {
    counts: Disjoint,
    threshold: u64,
}

impl Detector for Exact {
    fn observe(&mut self, packet: &Seen) -> bool {
        self.counts.observe(packet.flow, packet.octets, packet.time) >= self.threshold
    }
}

/// A competitor, which is emptied each second.
struct InSeconds {
    counter: Box<dyn Counter>,
    threshold: u64,
    second: u64,
}

impl Detector for InSeconds {
    fn observe(&mut self, packet: &Seen) -> bool {
        let second = packet.time.as_nanos() / WINDOW.as_nanos() as u64;
        if second != self.second {
            self.second = second;
            self.counter.reset();
        }
        u64::from(self.counter.count(packet.key)) >= self.threshold
    }
}

/// Memento, which has a sliding window.
struct InLastSecond {
    memento: Memento,
    threshold: u64,
}

impl Detector for InLastSecond {
    fn observe(&mut self, packet: &Seen) -> bool {
        u64::from(self.memento.count(packet.key, packet.time)) >= self.threshold
    }
}

impl Detector for HkIpg {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.time).is_report()
    }
}

impl Detector for Simulator {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.time)
    }
}

impl Detector for Program {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.time)
    }
}

impl Detector for PublishedHkIpg {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.time).is_report()
    }
}

impl Detector for Sliding {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.octets.into(), packet.time).is_report()
    }
}

impl Detector for SwitchSliding {
    fn observe(&mut self, packet: &Seen) -> bool {
        Self::observe(self, packet.key, packet.octets.into(), packet.time).is_report()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  1 and 5 Mbit/s, in packets and in octets.
    // Output: the units of a running UPF: at most 256 for the threshold, and so less than 1,024 octets at 1 Mbit/s.
    #[test]
    fn units_are_those_of_a_running_upf() {
        let of = |amount, megabits| unit(Target::megabits(amount, megabits)).unwrap();
        assert_eq!((of(Amount::Packets, 1), of(Amount::Packets, 5)), (Unit::Packets(0), Unit::Packets(2)));
        assert_eq!((of(Amount::Octets, 1), of(Amount::Octets, 5)), (Unit::Octets(9), Unit::Octets(12)));
        let design = sliding(Target::megabits(Amount::Octets, 1), 4, 4, 7).unwrap();
        assert_eq!((design.unit, design.heavy_units()), (Unit::Octets(9), 245));
    }

    // Input:  1 Mbit/s in packets for the P4 block, in its 80 KiB.
    // Output: the configuration of the model of the switch at 125 packets a second: 101 packets in 805 ms, with 8,192 places; the same
    //         for the target of that window.
    #[test]
    fn the_block_is_that_of_the_switch() {
        let target = Target::megabits(Amount::Packets, 1);
        let expected = heavy_hitters::with_threshold(Threshold::PacketsPerSecond(125)).unwrap();
        assert_eq!((block_octets(), expected.heavy_units(), expected.slots), (80 << 10, 101, 8192));
        for target in [target, target.in_block_window()] {
            assert_eq!(block(block_octets(), target, 0), expected);
        }
        assert_eq!(target.in_block_window(), target.in_block_window().in_block_window());
    }
}

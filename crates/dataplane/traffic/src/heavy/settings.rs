//! What an operator asks for, and the detector that follows from it.

use causeway_types::{Direction, Span};

use crate::config::{ConfigError, in_range};
use crate::unit::MOST_SHIFT;
use crate::{FiveTuple, FlowKeys, Key, Placement, SlidingConfig, Unit};

/// Units of a threshold, at most: enough that a threshold is met to a few percent, and few enough that a count of 8 bits
/// holds a burst of a sub-window.
const THRESHOLD_UNITS: u64 = 256;

/// Sub-windows in a window.
const SUB_WINDOWS: u32 = 4;

/// Octets of a slot.
const SLOT: usize = 8;

/// Seed of the other direction's keys.
const DOWNLINK: u64 = 0x6a09_e667_f3bc_c908;
/// Seed of units.
const UNITS: u64 = 0xbb67_ae85_84ca_a73b;

/// What counts as one flow. Uplink and downlink are flows of their own.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum FlowKind {
    /// All packets of a UE: an IPv4 address, or an IPv6 prefix of 64 bits.
    #[default]
    UeAddress,
    /// Packets of equal addresses, ports and protocol.
    FiveTuple,
}

/// From which rate on a flow is heavy.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Threshold {
    /// Bits of IP packets in a second.
    BitsPerSecond(u64),
    /// IP packets in a second.
    PacketsPerSecond(u64),
}

/// How heavy hitters are looked for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct HeavyHitterSettings {
    /// From which rate on, over a window, a flow is heavy.
    pub threshold: Threshold,
    /// The window, 4 ms to 240 s.
    pub window: Span,
    /// Octets for the counts of one detector; rounded down to sets of eight slots of 8 octets.
    pub memory: usize,
    /// What is one flow.
    pub kind: FlowKind,
    /// Seed of keys and of random decisions. Senders must not know it.
    pub seed: u64,
}

impl HeavyHitterSettings {
    /// The configuration of the detector. Its unit is the smallest in which the threshold is at most 256 units.
    ///
    /// # Errors
    /// [`ConfigError`] when the memory is less than 64 octets, or the window or the threshold is out of range. Most of
    /// a threshold are 256 units of 2^24 octets or packets in a window.
    pub fn sliding(&self) -> Result<SlidingConfig, ConfigError> {
        let millis = u64::try_from(self.window.as_millis()).unwrap_or(u64::MAX);
        in_range("milliseconds of the window", millis, 4, 240_000)?;
        let amount = match self.threshold {
            Threshold::BitsPerSecond(bits) => u128::from(bits.div_ceil(8)),
            Threshold::PacketsPerSecond(packets) => packets.into(),
        };
        let amount = u64::try_from((amount * u128::from(millis)).div_ceil(1000)).unwrap_or(u64::MAX);
        let fits = |shift: &u8| amount.div_ceil(1 << shift) <= THRESHOLD_UNITS;
        let shift = (0..MOST_SHIFT).find(fits).unwrap_or(MOST_SHIFT);
        let (unit, what) = match self.threshold {
            Threshold::BitsPerSecond(_) => (Unit::Octets(shift), "octets of the threshold in a window"),
            Threshold::PacketsPerSecond(_) => (Unit::Packets(shift), "packets of the threshold in a window"),
        };
        in_range(what, amount, 1, THRESHOLD_UNITS << MOST_SHIFT)?;
        let slots = self.memory / SLOT;
        in_range("octets of memory", self.memory as u64, 64, (SLOT as u64) << 26)?;
        Ok(SlidingConfig {
            ways: 8,
            placement: Placement::Together,
            sub_window: self.window / SUB_WINDOWS,
            threshold: amount,
            unit,
            seed: self.seed,
            ..SlidingConfig::with_slots(slots)
        })
    }

    /// The seed of the random bits by which packets get units. Those of the detector have [`seed`](Self::seed).
    pub const fn units_seed(&self) -> u64 {
        self.seed ^ UNITS
    }

    /// The keys of flows.
    pub const fn keys(&self) -> HeavyHitterKeys {
        let Self { kind, seed, .. } = *self;
        HeavyHitterKeys {
            kind,
            uplink: FlowKeys::with_seed(seed),
            downlink: FlowKeys::with_seed(seed ^ DOWNLINK),
        }
    }
}

/// Makes the keys of packets.
#[derive(Clone, Copy, Debug)]
pub struct HeavyHitterKeys {
    kind: FlowKind,
    uplink: FlowKeys,
    downlink: FlowKeys,
}

impl HeavyHitterKeys {
    /// What is one flow.
    pub const fn kind(&self) -> FlowKind {
        self.kind
    }

    /// The key of a packet's flow. The packet of this direction has these addresses, ports and protocol.
    #[inline]
    pub const fn key(&self, direction: Direction, packet: &FiveTuple) -> Key {
        let keys = match direction {
            Direction::Uplink => self.uplink,
            Direction::Downlink => self.downlink,
        };
        match self.kind {
            FlowKind::UeAddress => keys.ue_address(packet.ue(direction)),
            FlowKind::FiveTuple => keys.five_tuple(packet),
        }
    }
}

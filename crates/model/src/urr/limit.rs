//! Thresholds and quotas.

use causeway_types::{Span, Volume};

/// Thresholds, or quotas, of one URR; reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct UsageLimits {
    /// Octets.
    pub volume: Option<DirectionalLimit>,
    /// Time of use, in whole seconds.
    pub time: Option<Span>,
    /// Events.
    pub events: Option<u32>,
}

impl UsageLimits {
    /// These limits if there are any, otherwise `held`.
    pub fn or(self, held: Self) -> Self {
        Self {
            volume: self.volume.or(held.volume),
            time: self.time.or(held.time),
            events: self.events.or(held.events),
        }
    }
}

/// Octet limits per direction (TS 29.244 clause 8.2.13). Reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DirectionalLimit {
    /// Octets of both directions together.
    pub total: Option<u64>,
    /// Octets from the UE.
    pub uplink: Option<u64>,
    /// Octets to the UE.
    pub downlink: Option<u64>,
}

impl DirectionalLimit {
    /// The volume has reached one of the limits.
    pub fn is_reached_by(&self, volume: &Volume) -> bool {
        self.any(volume, |limit, octets| octets >= limit)
    }

    /// The volume exceeds one of the limits.
    pub fn is_exceeded_by(&self, volume: &Volume) -> bool {
        self.any(volume, |limit, octets| octets > limit)
    }

    fn any(&self, volume: &Volume, holds: impl Fn(u64, u64) -> bool) -> bool {
        let holds = |limit: Option<u64>, octets: u64| limit.is_some_and(|limit| holds(limit, octets));
        holds(self.total, volume.total())
            || holds(self.uplink, volume.uplink)
            || holds(self.downlink, volume.downlink)
    }
}

/// Limits of dropped downlink traffic (TS 29.244 clause 8.2.49). Reaching any present one suffices.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct DroppedLimit {
    /// Packets.
    pub packets: Option<u64>,
    /// Octets.
    pub octets: Option<u64>,
}

impl DroppedLimit {
    /// This number of dropped packets, with this number of octets, has reached one of the limits.
    pub fn is_reached_by(&self, packets: u64, octets: u64) -> bool {
        self.packets.is_some_and(|limit| packets >= limit) || self.octets.is_some_and(|limit| octets >= limit)
    }
}

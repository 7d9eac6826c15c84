//! Totals of a measurement, and differences between them.

use causeway_model::{DirectionalLimit, UsageLimits};
use causeway_types::{Direction, Span, Volume};

use crate::lease::{BadRecord, RecordReader, RecordWriter};

/// Everything measured since the URR was created. It only grows; the usage of a report, a threshold or a quota is the
/// difference to the totals at its start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Totals {
    pub(super) volume: Volume,
    pub(super) time: Span,
    pub(super) events: u64,
}

impl Totals {
    /// The usage since `start`.
    pub(super) fn since(&self, start: &Self) -> Self {
        Self {
            volume: difference(&self.volume, &start.volume),
            time: self.time.saturating_sub(start.time),
            events: self.events.saturating_sub(start.events),
        }
    }

    /// Appends the totals to a record.
    pub(super) fn write(&self, out: &mut RecordWriter<'_>) {
        out.volume(&self.volume);
        out.span(self.time);
        out.number(self.events);
    }

    /// Reads totals from a record.
    pub(super) fn read(octets: &mut RecordReader<'_>) -> Result<Self, BadRecord> {
        Ok(Self { volume: octets.volume()?, time: octets.span()?, events: octets.number()? })
    }

    /// Nothing was measured.
    pub(super) fn is_null(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn difference(later: &Volume, earlier: &Volume) -> Volume {
    Volume {
        uplink: later.uplink.saturating_sub(earlier.uplink),
        downlink: later.downlink.saturating_sub(earlier.downlink),
        uplink_packets: later.uplink_packets.saturating_sub(earlier.uplink_packets),
        downlink_packets: later.downlink_packets.saturating_sub(earlier.downlink_packets),
    }
}

/// The limits that are reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct ReachedLimits {
    pub(super) volume: bool,
    pub(super) time: bool,
    pub(super) events: bool,
}

impl ReachedLimits {
    pub(super) fn of(limits: &UsageLimits, used: &Totals) -> Self {
        Self {
            volume: limits.volume.is_some_and(|limit| limit.is_reached_by(&used.volume)),
            time: limits.time.is_some_and(|limit| used.time >= limit),
            events: limits.events.is_some_and(|limit| used.events >= u64::from(limit)),
        }
    }
}

/// One more packet would exceed the limit.
pub(super) fn exceeds(limit: &DirectionalLimit, used: &Volume, direction: Direction, octets: usize) -> bool {
    let mut volume = *used;
    volume.count(direction, octets as u64);
    limit.is_exceeded_by(&volume)
}

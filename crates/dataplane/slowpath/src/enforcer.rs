//! The state of one QER: its remaining rates, in both directions.

use causeway_model::{PacketRateStatus, PacketRates, Qer};
use causeway_types::{Direction, Span, Time, WallClock};

use crate::meter::Meter;
use crate::packet_rate::PacketMeter;

/// The state of one QER, or of all QERs of one correlation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct QerState {
    uplink: DirectionState,
    downlink: DirectionState,
    packet_rate: Option<PacketRates>,
}

/// One direction of a QER.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct DirectionState {
    pub(crate) meter: Meter,
    pub(crate) packets: Option<PacketMeter>,
}

impl QerState {
    /// The state of a new QER: no packet has passed, except as its packet rate status states. `burst` applies to
    /// those without an averaging window.
    pub(crate) fn new(qer: &Qer, burst: Span, now: Time) -> Self {
        let one_way = |direction| DirectionState {
            meter: Meter::new(peak(qer, direction), committed(qer, direction), window(qer, burst), now),
            packets: packets(qer, direction, qer.packet_rate_status, now),
        };
        Self {
            uplink: one_way(Direction::Uplink),
            downlink: one_way(Direction::Downlink),
            packet_rate: qer.packet_rate,
        }
    }

    /// The QER has changed. Bit rates continue with their state; another packet rate starts anew.
    pub(crate) fn update(&mut self, qer: &Qer, burst: Span, now: Time) {
        for direction in [Direction::Uplink, Direction::Downlink] {
            let state = self.direction_mut(direction);
            state.meter.set(peak(qer, direction), committed(qer, direction), window(qer, burst), now);
        }
        if self.packet_rate != qer.packet_rate {
            self.packet_rate = qer.packet_rate;
            for direction in [Direction::Uplink, Direction::Downlink] {
                self.direction_mut(direction).packets = packets(qer, direction, None, now);
            }
        }
    }

    /// The state of one direction.
    pub(crate) const fn direction(&self, direction: Direction) -> &DirectionState {
        match direction {
            Direction::Uplink => &self.uplink,
            Direction::Downlink => &self.downlink,
        }
    }

    /// The state of one direction, mutable.
    pub(crate) fn direction_mut(&mut self, direction: Direction) -> &mut DirectionState {
        match direction {
            Direction::Uplink => &mut self.uplink,
            Direction::Downlink => &mut self.downlink,
        }
    }

    /// The remaining packet rate; `None` where it is not limited.
    pub(crate) fn packet_rate_status(&self, now: Time, wall: WallClock) -> Option<PacketRateStatus> {
        let left = |state: &DirectionState| state.packets.as_ref().map(|packets| packets.left(now, wall));
        let (uplink, downlink) = (left(&self.uplink), left(&self.downlink));
        let valid_until = uplink.iter().chain(&downlink).map(|(_, until)| *until).max()?;
        Some(PacketRateStatus {
            uplink: uplink.map(|(left, _)| left),
            downlink: downlink.map(|(left, _)| left),
            valid_until,
        })
    }
}

fn peak(qer: &Qer, direction: Direction) -> Option<causeway_types::Bitrate> {
    qer.mbr.map(|mbr| mbr.rate(direction))
}

fn committed(qer: &Qer, direction: Direction) -> Option<causeway_types::Bitrate> {
    qer.guaranteed(direction)
}

/// What may pass together after a pause, as time at the full rate.
pub(crate) fn window(qer: &Qer, otherwise: Span) -> Span {
    qer.averaging_window.unwrap_or(otherwise)
}

fn packets(
    qer: &Qer,
    direction: Direction,
    status: Option<PacketRateStatus>,
    now: Time,
) -> Option<PacketMeter> {
    let rate = qer.packet_rate?.rate(direction)?;
    let left = status.and_then(|status| Some((status.remaining(direction)?, status.valid_until)));
    Some(PacketMeter::new(rate, left, now))
}

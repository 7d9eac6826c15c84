//! The state that packets have created in a measurement, in compact form.

use causeway_model::Urr;
use causeway_types::{PdrId, Time, Volume};

use super::Measurement;
use super::clock::UsageTimer;
use super::totals::Totals;

/// The difference between a measurement and a new one of the same URR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UrrState {
    volume: Volume,
    clock: UsageTimer,
    first_packet: Option<Time>,
    last_packet: Option<Time>,
    /// The last received packet, passed or not, and its PDR.
    arrived: Option<(Time, PdrId)>,
    /// Most sessions have not reported yet.
    reported: Option<Box<Reported>>,
}

/// The state that reports have created.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Reported {
    totals: Totals,
    armed: Totals,
    granted: Totals,
    start: Time,
    reports_left: Option<u16>,
    dropped: (u64, u64),
}

impl Reported {
    fn of(measurement: &Measurement) -> Self {
        Self {
            totals: measurement.reported,
            armed: measurement.armed,
            granted: measurement.granted,
            start: measurement.running.start,
            reports_left: measurement.reports_left,
            dropped: measurement.dropped,
        }
    }
}

impl Measurement {
    /// The state from which [`Measurement::restored`] creates exactly this measurement. `None`: there is more state.
    pub(crate) fn measured_state(&self, urr: &Urr, begin: Time) -> Option<UrrState> {
        let reported = Reported::of(self);
        let is_new = reported == Reported::of(&Self::new(urr, begin));
        let state = UrrState {
            volume: self.volume,
            clock: self.clock,
            first_packet: self.running.first_packet,
            last_packet: self.running.last_packet,
            arrived: self.traffic.unnamed(),
            reported: (!is_new).then(|| Box::new(reported)),
        };
        (Self::restored(urr, begin, &state) == *self).then_some(state)
    }

    /// The measurement with this state.
    pub(crate) fn restored(urr: &Urr, begin: Time, state: &UrrState) -> Self {
        let mut measurement = Self::new(urr, begin);
        (measurement.volume, measurement.clock) = (state.volume, state.clock);
        if let Some(reported) = &state.reported {
            measurement.running = super::UsagePart::beginning(reported.start);
            (measurement.reported, measurement.armed) = (reported.totals, reported.armed);
            (measurement.granted, measurement.reports_left) = (reported.granted, reported.reports_left);
            measurement.dropped = reported.dropped;
        }
        let running = &mut measurement.running;
        (running.first_packet, running.last_packet) = (state.first_packet, state.last_packet);
        if let Some((at, pdr)) = state.arrived {
            measurement.traffic.start_unnamed(at, pdr);
            measurement.last_packet = Some(at);
        }
        measurement
    }
}

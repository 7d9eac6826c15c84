//! What packets have made of a measurement: as little as it can be made of again.

use causeway_rules::Urr;
use causeway_types::{PdrId, Time, Volume};

use super::Measurement;
use super::clock::UsageTimer;
use super::totals::Totals;

/// All that tells a measurement from a new one of the same URR.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UrrState {
    volume: Volume,
    clock: UsageTimer,
    first_packet: Option<Time>,
    last_packet: Option<Time>,
    /// The last packet that came, passed or not, and its PDR.
    arrived: Option<(Time, PdrId)>,
    /// Most sessions have not reported yet.
    reported: Option<Box<Reported>>,
}

/// What reports have made of it.
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
    /// The trace from which [`Measurement::restored`] makes exactly this one. `None`: there is more to it.
    pub(crate) fn measured_state(&self, urr: &Urr, begin: Time) -> Option<UrrState> {
        let reported = Reported::of(self);
        let is_new = reported == Reported::of(&Self::new(urr, begin));
        let trace = UrrState {
            volume: self.volume,
            clock: self.clock,
            first_packet: self.running.first_packet,
            last_packet: self.running.last_packet,
            arrived: self.traffic.unnamed(),
            reported: (!is_new).then(|| Box::new(reported)),
        };
        (Self::restored(urr, begin, &trace) == *self).then_some(trace)
    }

    /// As it was when it left this trace.
    pub(crate) fn restored(urr: &Urr, begin: Time, trace: &UrrState) -> Self {
        let mut measurement = Self::new(urr, begin);
        (measurement.volume, measurement.clock) = (trace.volume, trace.clock);
        if let Some(reported) = &trace.reported {
            measurement.running = super::UsagePart::beginning(reported.start);
            (measurement.reported, measurement.armed) = (reported.totals, reported.armed);
            (measurement.granted, measurement.reports_left) = (reported.granted, reported.reports_left);
            measurement.dropped = reported.dropped;
        }
        let running = &mut measurement.running;
        (running.first_packet, running.last_packet) = (trace.first_packet, trace.last_packet);
        if let Some((at, pdr)) = trace.arrived {
            measurement.traffic.start_unnamed(at, pdr);
            measurement.last_packet = Some(at);
        }
        measurement
    }
}

//! The state that packets have created in a measurement, in compact form.

use causeway_model::Urr;
use causeway_types::{PdrId, Time, Volume};

use super::Measurement;
use super::clock::UsageTimer;
use super::totals::Totals;
use crate::lease::{BadRecord, RecordReader, RecordWriter};

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

/// The state that reports and changes of the URR have created.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Reported {
    totals: Totals,
    armed: Totals,
    granted: Totals,
    start: Time,
    reports_left: Option<u16>,
    dropped: (u64, u64),
    holding_from: Option<Time>,
    active_from: Option<Time>,
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
            holding_from: measurement.timers.holding_from,
            active_from: measurement.timers.active_from,
        }
    }
}

impl Reported {
    fn write(&self, out: &mut RecordWriter<'_>) {
        [&self.totals, &self.armed, &self.granted].into_iter().for_each(|totals| totals.write(out));
        out.time(self.start);
        out.option(self.reports_left, RecordWriter::number);
        out.number(self.dropped.0);
        out.number(self.dropped.1);
        out.option(self.holding_from, RecordWriter::time);
        out.option(self.active_from, RecordWriter::time);
    }

    fn read(octets: &mut RecordReader<'_>) -> Result<Self, BadRecord> {
        Ok(Self {
            totals: Totals::read(octets)?,
            armed: Totals::read(octets)?,
            granted: Totals::read(octets)?,
            start: octets.time()?,
            reports_left: octets.option(RecordReader::number)?,
            dropped: (octets.number()?, octets.number()?),
            holding_from: octets.option(RecordReader::time)?,
            active_from: octets.option(RecordReader::time)?,
        })
    }
}

impl UrrState {
    /// Appends the state to a record.
    pub(crate) fn write(&self, out: &mut RecordWriter<'_>) {
        out.volume(&self.volume);
        self.clock.write(out);
        out.option(self.first_packet, RecordWriter::time);
        out.option(self.last_packet, RecordWriter::time);
        out.option(self.arrived, |out, (at, pdr)| {
            out.time(at);
            out.number(pdr.0);
        });
        out.option(self.reported.as_deref(), |out, reported| reported.write(out));
    }

    /// Reads the state from a record.
    pub(crate) fn read(octets: &mut RecordReader<'_>) -> Result<Self, BadRecord> {
        Ok(Self {
            volume: octets.volume()?,
            clock: UsageTimer::read(octets)?,
            first_packet: octets.option(RecordReader::time)?,
            last_packet: octets.option(RecordReader::time)?,
            arrived: octets.option(|octets| Ok((octets.time()?, PdrId(octets.number()?))))?,
            reported: octets.option(Reported::read)?.map(Box::new),
        })
    }

    /// When the last packet arrived, passed or not.
    pub(crate) fn last_arrival(&self) -> Option<Time> {
        self.arrived.map(|(at, _)| at).max(self.last_packet)
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
            measurement.timers.holding_from = reported.holding_from;
            measurement.timers.active_from = reported.active_from;
        }
        let running = &mut measurement.running;
        (running.first_packet, running.last_packet) = (state.first_packet, state.last_packet);
        if let Some((at, pdr)) = state.arrived {
            measurement.traffic.resume(None, at, pdr);
            measurement.last_packet = Some(at);
        }
        measurement
    }
}

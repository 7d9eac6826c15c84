//! The state that packets have created in a measurement, in compact form.

use causeway_model::{DirectionalLimit, Urr, UsageLimits};
use causeway_types::{PdrId, Time, Volume, WallTime};

use super::Measurement;
use super::clock::UsageTimer;
use super::limits::Exhausted;
use super::report::UsagePart;
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

/// The state of timers, events, limits that monitoring times have changed, and exhausted quotas.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Timed {
    last_packet: Option<Time>,
    resumes: bool,
    thresholds: UsageLimits,
    quotas: UsageLimits,
    exhausted: Exhausted,
    events: u64,
    /// When the events for the next report were.
    event_times: Vec<Time>,
    closed: Vec<UsagePart>,
    next_period: Option<Time>,
    valid_until: Option<Time>,
    monitored: Option<WallTime>,
    monitoring_report: Option<Time>,
    set: Option<Time>,
    set_monitoring: Option<WallTime>,
}

impl Timed {
    fn of(measurement: &Measurement) -> Self {
        let timers = &measurement.timers;
        Self {
            last_packet: measurement.last_packet,
            resumes: measurement.resumes,
            thresholds: measurement.thresholds,
            quotas: measurement.quotas,
            exhausted: measurement.exhausted,
            events: measurement.events,
            event_times: measurement.running.events.clone(),
            closed: measurement.closed.clone(),
            next_period: timers.next_period,
            valid_until: timers.valid_until,
            monitored: timers.monitored,
            monitoring_report: timers.monitoring_report,
            set: timers.set,
            set_monitoring: timers.set_monitoring,
        }
    }

    fn restore(&self, measurement: &mut Measurement) {
        measurement.last_packet = self.last_packet;
        measurement.resumes = self.resumes;
        (measurement.thresholds, measurement.quotas) = (self.thresholds, self.quotas);
        measurement.exhausted = self.exhausted;
        measurement.events = self.events;
        measurement.running.events.clone_from(&self.event_times);
        measurement.closed.clone_from(&self.closed);
        let timers = &mut measurement.timers;
        (timers.next_period, timers.valid_until) = (self.next_period, self.valid_until);
        (timers.monitored, timers.monitoring_report) = (self.monitored, self.monitoring_report);
        (timers.set, timers.set_monitoring) = (self.set, self.set_monitoring);
    }

    fn write(&self, out: &mut RecordWriter<'_>) {
        out.option(self.last_packet, RecordWriter::time);
        out.number(self.resumes);
        write_limits(&self.thresholds, out);
        write_limits(&self.quotas, out);
        let Exhausted { volume, time, events, expired } = self.exhausted;
        [volume, time, events, expired].into_iter().for_each(|it| out.number(it));
        out.number(self.events);
        write_times(&self.event_times, out);
        out.number(self.closed.len() as u64);
        self.closed.iter().for_each(|part| write_part(part, out));
        let times = [self.next_period, self.valid_until, self.monitoring_report, self.set];
        times.into_iter().for_each(|at| out.option(at, RecordWriter::time));
        let wall_times = [self.monitored, self.set_monitoring];
        wall_times.into_iter().for_each(|at| out.option(at, |out, at| out.number(at.as_nanos())));
    }

    fn read(octets: &mut RecordReader<'_>) -> Result<Self, BadRecord> {
        let last_packet = octets.option(RecordReader::time)?;
        let resumes = octets.flag()?;
        let (thresholds, quotas) = (read_limits(octets)?, read_limits(octets)?);
        let exhausted = Exhausted {
            volume: octets.flag()?,
            time: octets.flag()?,
            events: octets.flag()?,
            expired: octets.flag()?,
        };
        let (events, event_times) = (octets.number()?, read_times(octets)?);
        let mut closed = Vec::new();
        for _ in 0..octets.number::<u32>()? {
            closed.push(read_part(octets)?);
        }
        let mut time = || octets.option(RecordReader::time);
        let [next_period, valid_until, monitoring_report, set] = [time()?, time()?, time()?, time()?];
        let mut wall_time = || Ok(octets.option(RecordReader::number)?.map(WallTime::from_nanos));
        let [monitored, set_monitoring] = [wall_time()?, wall_time()?];
        Ok(Self {
            last_packet,
            resumes,
            thresholds,
            quotas,
            exhausted,
            events,
            event_times,
            closed,
            next_period,
            valid_until,
            monitored,
            monitoring_report,
            set,
            set_monitoring,
        })
    }
}

fn write_limits(limits: &UsageLimits, out: &mut RecordWriter<'_>) {
    let UsageLimits { volume, time, events } = *limits;
    out.option(volume, |out, DirectionalLimit { total, uplink, downlink }| {
        [total, uplink, downlink].into_iter().for_each(|limit| out.option(limit, RecordWriter::number));
    });
    out.option(time, RecordWriter::span);
    out.option(events, RecordWriter::number);
}

fn read_limits(octets: &mut RecordReader<'_>) -> Result<UsageLimits, BadRecord> {
    let volume = octets.option(|octets| {
        let mut limit = || octets.option(RecordReader::number);
        Ok(DirectionalLimit { total: limit()?, uplink: limit()?, downlink: limit()? })
    })?;
    Ok(UsageLimits {
        volume,
        time: octets.option(RecordReader::span)?,
        events: octets.option(RecordReader::number)?,
    })
}

fn write_times(times: &[Time], out: &mut RecordWriter<'_>) {
    out.number(times.len() as u64);
    times.iter().for_each(|at| out.time(*at));
}

fn read_times(octets: &mut RecordReader<'_>) -> Result<Vec<Time>, BadRecord> {
    let mut times = Vec::new();
    for _ in 0..octets.number::<u32>()? {
        times.push(octets.time()?);
    }
    Ok(times)
}

fn write_part(part: &UsagePart, out: &mut RecordWriter<'_>) {
    out.time(part.start);
    out.time(part.end);
    out.volume(&part.volume);
    out.span(part.time);
    out.option(part.first_packet, RecordWriter::time);
    out.option(part.last_packet, RecordWriter::time);
    write_times(&part.events, out);
}

fn read_part(octets: &mut RecordReader<'_>) -> Result<UsagePart, BadRecord> {
    Ok(UsagePart {
        start: octets.time()?,
        end: octets.time()?,
        volume: octets.volume()?,
        time: octets.span()?,
        first_packet: octets.option(RecordReader::time)?,
        last_packet: octets.option(RecordReader::time)?,
        events: read_times(octets)?,
    })
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
    /// Most URRs have no timer, and count no events.
    timed: Option<Box<Timed>>,
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
            timed: None,
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
        out.option(self.timed.as_deref(), |out, timed| timed.write(out));
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
            timed: octets.option(Timed::read)?.map(Box::new),
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
        let timed = self.timed().and_then(|timed| timed.last_packet);
        self.arrived.map(|(at, _)| at).max(self.last_packet).max(timed)
    }

    fn timed(&self) -> Option<&Timed> {
        self.reported.as_ref()?.timed.as_deref()
    }

    /// There is state of timers, events, changed limits or exhausted quotas.
    pub(crate) fn is_timed(&self) -> bool {
        self.timed().is_some()
    }

    /// The timers that are set.
    pub(crate) fn timers_set(&self) -> (Option<Time>, Option<WallTime>) {
        self.timed().map_or((None, None), |timed| (timed.set, timed.set_monitoring))
    }
}

impl Measurement {
    /// The state from which [`Measurement::restored`] creates exactly this measurement. `None`: there is more state.
    pub(crate) fn measured_state(&self, urr: &Urr, begin: Time) -> Option<UrrState> {
        let reported = Reported::of(self);
        let is_new = reported == Reported::of(&Self::new(urr, begin));
        let mut state = UrrState {
            volume: self.volume,
            clock: self.clock,
            first_packet: self.running.first_packet,
            last_packet: self.running.last_packet,
            arrived: self.traffic.unnamed(),
            reported: (!is_new).then(|| Box::new(reported.clone())),
        };
        if Self::restored(urr, begin, &state) == *self {
            return Some(state);
        }
        state.reported = Some(Box::new(Reported { timed: Some(Box::new(Timed::of(self))), ..reported }));
        (Self::restored(urr, begin, &state) == *self).then_some(state)
    }

    /// The measurement with this state.
    pub(crate) fn restored(urr: &Urr, begin: Time, state: &UrrState) -> Self {
        let mut measurement = Self::new(urr, begin);
        (measurement.volume, measurement.clock) = (state.volume, state.clock);
        if let Some(reported) = &state.reported {
            measurement.running = UsagePart::beginning(reported.start);
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
        if let Some(timed) = state.timed() {
            timed.restore(&mut measurement);
        }
        measurement
    }
}

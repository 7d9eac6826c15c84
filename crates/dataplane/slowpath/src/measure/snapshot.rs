//! A whole measurement as octets, for the data plane of another host that goes on with it.
//!
//! Timers, and the time that a clock measures, stand still from the snapshot to its restoration: no packet passes in between. Times that an SMF is told
//! stay as they were, as far as they are not later than the restoration.

use causeway_dataplane::{RestoredUrr, UsageTotals};
use causeway_model::{ApplicationId, DirectionalLimit, Urr, UrrPart, UsageLimits};
use causeway_types::{PdrId, Span, Time, Volume, WallTime};

use super::Measurement;
use super::clock::{TimeMeasurement, UsageTimer};
use super::limits::Exhausted;
use super::report::UsagePart;
use super::totals::Totals;
use super::traffic::Traffic;
use crate::lease::{BadRecord, RecordReader, RecordWriter};

/// List items in one measurement, at most.
const MOST: usize = 1 << 12;

/// Counts and durations in a snapshot, at most: their sums fit their types.
const MOST_COUNTED: u64 = 1 << 61;
const LONGEST: Span = Span::from_secs(1 << 40);

/// What an SMF gives with thresholds, and with quotas.
const THRESHOLDS: [UrrPart; 3] = [UrrPart::VolumeThreshold, UrrPart::TimeThreshold, UrrPart::EventThreshold];
const QUOTAS: [UrrPart; 6] = [
    UrrPart::VolumeQuota,
    UrrPart::TimeQuota,
    UrrPart::EventQuota,
    UrrPart::HoldingTime,
    UrrPart::ValidityTime,
    UrrPart::NumberOfReports,
];

/// Reads the measurements of a snapshot.
#[derive(Debug)]
pub(crate) struct SnapshotReader<'r> {
    octets: RecordReader<'r>,
    /// When the snapshot was taken, by the clock of the other host, and when it is restored.
    taken: Time,
    now: Time,
}

impl<'r> SnapshotReader<'r> {
    /// Begins to read a snapshot that is restored now.
    pub(crate) fn new(octets: &'r [u8], now: Time) -> Result<Self, BadRecord> {
        let mut octets = RecordReader::new(octets, now);
        let taken = Time::from_nanos(octets.number()?);
        Ok(Self { octets, taken, now })
    }

    /// A number that fits its type.
    pub(crate) fn number<T: TryFrom<u64>>(&mut self) -> Result<T, BadRecord> {
        self.octets.number()
    }

    /// No octet is left.
    pub(crate) const fn end(&self) -> Result<(), BadRecord> {
        self.octets.end()
    }

    /// A time that moves with the restoration.
    fn time(&mut self) -> Result<Time, BadRecord> {
        let time = self.octets.time()?;
        let apart = time.since(self.now).max(self.now.since(time));
        if apart <= LONGEST { Ok(time) } else { Err(BadRecord) }
    }

    /// A time that stays as it was.
    fn moment(&mut self) -> Result<Time, BadRecord> {
        let moved = self.time()?;
        let time = if moved > self.now {
            self.taken + moved.since(self.now)
        } else {
            self.taken - self.now.since(moved)
        };
        Ok(time.min(self.now))
    }

    fn count(&mut self) -> Result<u64, BadRecord> {
        self.octets.number().ok().filter(|count| *count <= MOST_COUNTED).ok_or(BadRecord)
    }

    fn span(&mut self) -> Result<Span, BadRecord> {
        self.octets.span().ok().filter(|span| *span <= LONGEST).ok_or(BadRecord)
    }

    fn volume(&mut self) -> Result<Volume, BadRecord> {
        let [uplink, downlink] = [self.count()?, self.count()?];
        let [uplink_packets, downlink_packets] = [self.count()?, self.count()?];
        Ok(Volume { uplink, downlink, uplink_packets, downlink_packets })
    }

    fn totals(&mut self) -> Result<Totals, BadRecord> {
        Ok(Totals { volume: self.volume()?, time: self.span()?, events: self.count()? })
    }

    fn flag(&mut self) -> Result<bool, BadRecord> {
        let raw: u8 = self.octets.number()?;
        if raw < 2 { Ok(raw == 1) } else { Err(BadRecord) }
    }

    fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, BadRecord>,
    ) -> Result<Option<T>, BadRecord> {
        if self.flag()? { read(self).map(Some) } else { Ok(None) }
    }

    fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, BadRecord>,
    ) -> Result<Vec<T>, BadRecord> {
        let count: usize = self.octets.number()?;
        if count > MOST { Err(BadRecord) } else { (0..count).map(|_| read(self)).collect() }
    }

    fn limits(&mut self) -> Result<UsageLimits, BadRecord> {
        let volume = self.option(|octets| {
            let [total, uplink, downlink] =
                [octets.option(Self::number)?, octets.option(Self::number)?, octets.option(Self::number)?];
            Ok(DirectionalLimit { total, uplink, downlink })
        })?;
        Ok(UsageLimits { volume, time: self.option(Self::span)?, events: self.option(Self::number)? })
    }

    fn part(&mut self) -> Result<UsagePart, BadRecord> {
        Ok(UsagePart {
            start: self.moment()?,
            end: self.moment()?,
            volume: self.volume()?,
            time: self.span()?,
            first_packet: self.option(Self::moment)?,
            last_packet: self.option(Self::moment)?,
            events: self.list(Self::moment)?,
        })
    }

    fn traffic(&mut self) -> Result<Traffic, BadRecord> {
        let mut traffic = Traffic::default();
        for (application, last, pdr) in self.list(|octets| {
            let named = octets.option(|octets| octets.list(Self::number::<u8>))?;
            Ok((
                named.map(|octets| ApplicationId::new(&octets)),
                octets.time()?,
                PdrId(octets.octets.number()?),
            ))
        })? {
            traffic.resume(application, last, pdr);
        }
        Ok(traffic)
    }
}

/// Begins a snapshot that is taken now.
pub(crate) fn begin_snapshot(out: &mut Vec<u8>, now: Time) -> RecordWriter<'_> {
    let mut out = RecordWriter::new(out, now);
    out.number(now.as_nanos());
    out
}

fn write_limits(out: &mut RecordWriter<'_>, limits: &UsageLimits) {
    out.option(limits.volume, |out, DirectionalLimit { total, uplink, downlink }| {
        [total, uplink, downlink].into_iter().for_each(|limit| out.option(limit, RecordWriter::number));
    });
    out.option(limits.time, RecordWriter::span);
    out.option(limits.events, RecordWriter::number);
}

fn write_times(out: &mut RecordWriter<'_>, times: &[Time]) {
    let times = times.get(..times.len().min(MOST)).unwrap_or_default();
    out.number(times.len() as u64);
    times.iter().for_each(|time| out.time(*time));
}

fn write_part(out: &mut RecordWriter<'_>, part: &UsagePart) {
    let UsagePart { start, end, volume, time, first_packet, last_packet, events } = part;
    out.time(*start);
    out.time(*end);
    out.volume(volume);
    out.span(*time);
    out.option(*first_packet, RecordWriter::time);
    out.option(*last_packet, RecordWriter::time);
    write_times(out, events);
}

impl Measurement {
    /// Appends all of it but pending triggers and the timers that are set.
    pub(crate) fn write_snapshot(&self, urr: &Urr, out: &mut RecordWriter<'_>) {
        out.volume(&self.volume);
        out.number(self.events);
        self.clock.write(out);
        let Exhausted { volume, time, events, expired } = self.exhausted;
        let flags = [self.resumes, volume, time, events, expired];
        flags.into_iter().for_each(|flag| out.number(u8::from(flag)));
        let follows = (self.thresholds, self.quotas) != (urr.thresholds, urr.quotas);
        out.option(follows.then_some(()), |out, ()| {
            write_limits(out, &self.thresholds);
            write_limits(out, &self.quotas);
        });
        [&self.reported, &self.armed, &self.granted].into_iter().for_each(|totals| totals.write(out));
        write_part(out, &self.running);
        let closed = self.closed.get(..self.closed.len().min(MOST)).unwrap_or_default();
        out.number(closed.len() as u64);
        closed.iter().for_each(|part| write_part(out, part));
        out.number(self.dropped.0);
        out.number(self.dropped.1);
        out.option(self.last_packet, RecordWriter::time);
        out.number(self.traffic.runs().len() as u64);
        for (application, last, pdr) in self.traffic.runs() {
            out.option(application, |out, application| {
                out.number(application.octets().len() as u64);
                application.octets().iter().for_each(|octet| out.number(*octet));
            });
            out.time(last);
            out.number(pdr.0);
        }
        let timers = &self.timers;
        for timer in [
            timers.next_period,
            timers.holding_from,
            timers.valid_until,
            timers.active_from,
            timers.monitoring_report,
        ] {
            out.option(timer, RecordWriter::time);
        }
        out.option(timers.monitored.map(WallTime::as_nanos), RecordWriter::number);
        out.option(self.reports_left, RecordWriter::number);
    }

    /// Reads a measurement of a URR that began at `begin` here. Limits that its SMF has given since the snapshot count from the last report, and no such quota is
    /// exhausted before it is reached.
    pub(crate) fn read_snapshot(
        urr: &Urr,
        begin: Time,
        octets: &mut SnapshotReader<'_>,
        restored: &RestoredUrr,
    ) -> Result<Self, BadRecord> {
        let now = octets.now;
        let fresh = Self::new(urr, begin);
        let mut read = fresh.clone();
        (read.volume, read.events) = (octets.volume()?, octets.count()?);
        read.clock = octets.clock()?;
        read.resumes = octets.flag()?;
        read.exhausted = Exhausted {
            volume: octets.flag()?,
            time: octets.flag()?,
            events: octets.flag()?,
            expired: octets.flag()?,
        };
        if let Some(limits) = octets.option(|octets| Ok((octets.limits()?, octets.limits()?)))? {
            (read.thresholds, read.quotas) = limits;
        }
        (read.reported, read.armed, read.granted) = (octets.totals()?, octets.totals()?, octets.totals()?);
        read.running = octets.part()?;
        read.closed = octets.list(SnapshotReader::part)?;
        read.dropped = (octets.count()?, octets.count()?);
        read.last_packet = octets.option(SnapshotReader::time)?;
        read.traffic = octets.traffic()?;
        read.timers.next_period = octets.option(SnapshotReader::time)?;
        read.timers.holding_from = octets.option(SnapshotReader::time)?;
        read.timers.valid_until = octets.option(SnapshotReader::time)?;
        read.timers.active_from = octets.option(SnapshotReader::time)?;
        read.timers.monitoring_report = octets.option(SnapshotReader::time)?;
        read.timers.monitored = octets.option(SnapshotReader::number)?.map(WallTime::from_nanos);
        read.reports_left = octets.option(SnapshotReader::number)?;
        if let Some(reported) = &restored.reported {
            read.were_reported(urr, reported, now);
        }
        if restored.has_new_thresholds {
            read.renew(urr, &THRESHOLDS.into(), now);
        }
        if restored.has_new_quotas {
            read.exhausted = Exhausted::default();
            read.renew(urr, &QUOTAS.into(), now);
        }
        // Timers that the URR does not have are as those of a new one.
        if urr.holding_time.is_none() && read.timers.holding_from.is_some() {
            read.timers.holding_from = fresh.timers.holding_from;
        }
        if urr.inactivity_timer.is_none() {
            read.timers.active_from = fresh.timers.active_from;
        }
        // An SMF may have added or removed these since.
        read.timers.next_period = read.timers.next_period.or(fresh.timers.next_period);
        read.reports_left = fresh.reports_left.map(|fresh| read.reports_left.unwrap_or(fresh));
        Ok(read)
    }
}

impl Measurement {
    /// This was reported since the snapshot, in which there may be less: all of the snapshot was.
    fn were_reported(&mut self, urr: &Urr, reported: &UsageTotals, now: Time) {
        let measurement = TimeMeasurement::of(urr);
        self.reported.volume += reported.volume;
        self.reported.time = self.reported.time.saturating_add(reported.time).min(LONGEST);
        self.reported.events = self.reported.events.saturating_add(reported.events);
        let Totals { volume, time, events } = self.reported;
        self.volume = Volume {
            uplink: self.volume.uplink.max(volume.uplink),
            downlink: self.volume.downlink.max(volume.downlink),
            uplink_packets: self.volume.uplink_packets.max(volume.uplink_packets),
            downlink_packets: self.volume.downlink_packets.max(volume.downlink_packets),
        };
        self.events = self.events.max(events);
        self.clock.reach(time, now, measurement);
        // What the snapshot has beyond the reports would be part of them.
        self.reported.volume = self.volume;
        self.reported.events = self.events;
        (self.running, self.closed) = (UsagePart::beginning(now), Vec::new());
        self.timers.monitoring_report = None;
        // A quota that they exhausted was reported with them.
        let _ = self.check(urr, now);
    }
}

impl SnapshotReader<'_> {
    fn clock(&mut self) -> Result<UsageTimer, BadRecord> {
        let clock = UsageTimer::read(&mut self.octets)?;
        if clock.is_plausible(self.now, LONGEST) { Ok(clock) } else { Err(BadRecord) }
    }
}

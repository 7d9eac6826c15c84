//! Measurement of a URR elsewhere, added later.

use causeway_model::{DirectionalLimit, Pdr, Urr};
use causeway_types::{Direction, ReportingTriggers as Asked, Time, UsageReportTrigger, Volume};

use super::clock::TimeMeasurement;
use super::totals::difference;
use super::{Measurement, stopped_after};
use crate::lease::{CounterReading, PacketCount, RuleUsage};
use crate::session::direction_of;

impl Measurement {
    /// The next packets of the PDR only add up: none starts or stops anything. Returns since when there was no
    /// packet, which must not last for [`stopped_after`]. `None`: the next packet has further effects.
    pub(crate) fn may_offload(&self, urr: &Urr, pdr: &Pdr, now: Time) -> Option<Time> {
        let measurement = TimeMeasurement::of(urr);
        let pause = stopped_after(urr);
        let clock_runs =
            !urr.method.duration || self.clock.is_running(now, measurement) && measurement.is_additive();
        let is_awaited = urr.inactivity_timer.is_some() && self.timers.active_from.is_none();
        let runs = !urr.method.events
            && self.is_active(urr)
            && !self.is_exhausted()
            && self.running.first_packet.is_some()
            && self.detected.is_empty()
            && clock_runs
            && !is_awaited
            && self.traffic.is_continued(pdr, now, pause);
        let since = self.traffic.last(pdr)?;
        let since =
            self.clock.last_packet().filter(|_| urr.method.duration).map_or(since, |at| at.min(since));
        runs.then_some(since)
    }

    /// Octets that may pass in this direction without reaching a threshold or a quota.
    pub(crate) fn remaining(&self, urr: &Urr, direction: Direction) -> u64 {
        if !urr.method.volume {
            return u64::MAX;
        }
        let threshold = self.thresholds.volume.filter(|_| urr.triggers.contains(Asked::VOLTH));
        let armed = difference(&self.volume, &self.armed.volume);
        let granted = difference(&self.volume, &self.granted.volume);
        let limits = [(threshold, armed), (self.quotas.volume, granted)];
        let rooms = limits.into_iter().filter_map(|(limit, used)| left(&limit?, &used, direction));
        rooms.min().map_or(u64::MAX, |left| left.saturating_sub(1))
    }

    /// Adds what was measured elsewhere.
    pub(crate) fn settle(&mut self, urr: &Urr, pdr: &Pdr, direction: Direction, spent: &RuleUsage) {
        self.traffic.extend(pdr, spent.last_arrival);
        self.last_packet = self.last_packet.max(Some(spent.last_arrival));
        let (mut packets, mut octets) = spent.passed.map_or((0, 0), |passed| (passed.packets, passed.octets));
        let mut last = spent.passed.map(|passed| passed.last);
        if urr.before_qos && spent.dropped_packets > 0 {
            (packets, octets) = (packets + spent.dropped_packets, octets + spent.dropped_octets);
            last = Some(spent.last_arrival);
        }
        let Some(last) = last else { return };
        if urr.method.volume {
            add(&mut self.volume, direction, packets, octets);
        }
        if urr.method.duration {
            self.clock.extend_to(last);
        }
        self.running.last_packet = self.running.last_packet.max(Some(last));
    }

    /// Counters are read now and show received packets: start reports are made before any of the packets counts as
    /// passed, as with the first of these packets.
    pub(crate) fn read_arrived(
        &mut self,
        urr: &Urr,
        now: Time,
        pdr: &Pdr,
        reading: &CounterReading<'_>,
    ) -> UsageReportTrigger {
        let arrived = reading.arrived;
        let is_active = self.is_active(urr);
        if arrived.packets == 0 && reading.passed.packets == 0 {
            return UsageReportTrigger::empty();
        }
        let goes_on = self.traffic.is_continued(pdr, now, stopped_after(urr));
        self.traffic.extend(pdr, now);
        self.last_packet = Some(now);
        self.timers.active_from.get_or_insert(now);
        if is_active && !goes_on { self.traffic_of(pdr, urr, now) } else { UsageReportTrigger::empty() }
    }

    /// All received packets count before QoS enforcement. All passed packets count, including those that passed
    /// before an exhausted quota could stop them, but not those that were forwarded by the FAR of an exhausted quota.
    pub(crate) fn read_passed(
        &mut self,
        urr: &Urr,
        now: Time,
        pdr: &Pdr,
        reading: &CounterReading<'_>,
    ) -> UsageReportTrigger {
        if !self.is_active(urr) {
            return UsageReportTrigger::empty();
        }
        let counted = if urr.before_qos { reading.arrived } else { reading.passed };
        let passed = if reading.uncounted.contains(&urr.id) { PacketCount::default() } else { counted };
        if urr.method.volume {
            add(&mut self.volume, direction_of(pdr), passed.packets, passed.octets);
        }
        if passed.packets > 0 {
            if urr.method.duration && !self.is_exhausted() {
                self.clock.packet(now, TimeMeasurement::of(urr));
            }
            self.running.first_packet.get_or_insert(now);
            self.running.last_packet = Some(now);
        }
        self.check(urr, now)
    }
}

fn add(volume: &mut Volume, direction: Direction, packets: u64, octets: u64) {
    let (counted, sum) = match direction {
        Direction::Uplink => (&mut volume.uplink_packets, &mut volume.uplink),
        Direction::Downlink => (&mut volume.downlink_packets, &mut volume.downlink),
    };
    *counted = counted.saturating_add(packets);
    *sum = sum.saturating_add(octets);
}

/// The remainder of a limit for packets of one direction.
fn left(limit: &DirectionalLimit, used: &Volume, direction: Direction) -> Option<u64> {
    let (own, passed) = match direction {
        Direction::Uplink => (limit.uplink, used.uplink),
        Direction::Downlink => (limit.downlink, used.downlink),
    };
    let total = limit.total.map(|total| total.saturating_sub(used.total()));
    let own = own.map(|own| own.saturating_sub(passed));
    total.into_iter().chain(own).min()
}

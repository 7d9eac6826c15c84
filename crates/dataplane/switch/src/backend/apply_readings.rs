//! Transfers usage from readings to the software data plane, and its effects back to the switch.

use causeway_slowpath::lease::{CounterReading, PacketCount};
use causeway_types::{Seid, Time};

use super::switch::Switch;
use crate::driver::SwitchDriver;
use crate::pendulum;
use crate::{Count, SwitchPdr};

/// User packets counted for a number on a side.
pub(super) type AppliedCount = (SwitchPdr, usize, Count);

impl<D: SwitchDriver> Switch<D> {
    /// A pass of a side has read these counters.
    pub(super) fn take_usage(&mut self, now: Time, side: usize, readings: &[pendulum::Reading]) {
        let mut counted = Vec::new();
        for reading in readings {
            counted.extend(self.take_reading(now, side, reading));
        }
        self.fold(now, &counted);
    }

    /// The part of a reading that the software counts now.
    fn take_reading(&mut self, now: Time, side: usize, reading: &pendulum::Reading) -> Option<AppliedCount> {
        let rule = self.rules.get_mut(&reading.number)?;
        rule.last[side] += reading.usage;
        rule.is_final[side] |= reading.is_last;
        let as_counted = if self.config.counts_as_received { 0 } else { side };
        let usage = rule.to_user_count(as_counted, reading.usage);
        let fresh = rule.fresh;
        let ours = pendulum::Reading { usage, ..*reading };
        let _reports_are_the_softwares = self.pulling.readings(now, &[ours]);
        if usage == Count::ZERO {
            return None;
        }
        let counted = (reading.number, side, usage);
        match fresh.and_then(|operation| self.operations.get_mut(&operation)).filter(|it| it.led.is_none()) {
            Some(pending) => {
                pending.usage.push(counted);
                None
            }
            None => Some(counted),
        }
    }

    /// The software counts usage: all readings of a session together, so that the reports of its first packet do not
    /// depend on the order of the counters.
    pub(super) fn fold(&mut self, now: Time, counted: &[AppliedCount]) {
        let session_of = |number: &SwitchPdr| self.rules.get(number).map(|rule| rule.session);
        let mut counted: Vec<(Seid, AppliedCount)> =
            counted.iter().filter_map(|counted| Some((session_of(&counted.0)?, *counted))).collect();
        counted.sort_by_key(|(seid, _)| *seid);
        for of_one in counted.chunk_by(|one, other| one.0 == other.0) {
            self.fold_session(now, of_one);
        }
    }

    fn fold_session(&mut self, now: Time, counted: &[(Seid, AppliedCount)]) {
        let Some((seid, _)) = counted.first() else { return };
        let mut readings = Vec::new();
        for (_, (number, side, count)) in counted {
            let Some(rule) = self.rules.get(number) else { continue };
            let count = PacketCount { packets: count.packets, octets: count.octets };
            let (arrived, passed) = match (side, rule.content.before_qos) {
                // Its PDR may have got URRs since, which do not count earlier packets.
                _ if rule.content.urrs.is_empty() => continue,
                (0, true) => (count, PacketCount::default()),
                (0, false) => continue,
                _ => (PacketCount::default(), count),
            };
            readings.push(CounterReading {
                pdr: rule.pdr,
                arrived,
                passed,
                uncounted: &rule.content.uncounted,
            });
        }
        if readings.len() < counted.len() {
            self.software.record_activity(now, *seid);
        }
        if !readings.is_empty() {
            self.software.add_usage(now, *seid, &readings);
            self.update_for_quota(*seid);
        }
    }
}

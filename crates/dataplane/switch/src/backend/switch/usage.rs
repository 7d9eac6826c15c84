//! Passes usage from the reader to the software, and its effects back to the switch.

use causeway_slowpath::SESSIONS_AT_A_TIME;
use causeway_slowpath::lease::{CounterReading, PacketCount};
use causeway_types::{Seid, Time};

use super::Switch;
use crate::SwitchPdr;
use crate::backend::reader::{AppliedCount, Waiter};
use crate::backend::requests::Retry;
use crate::driver::{DriverError, Outcome, SwitchDriver};

impl<D: SwitchDriver> Switch<D> {
    /// The counters of a pass, or the error of its reading.
    pub(super) fn pass_ended(&mut self, now: Time, side: usize, outcome: Outcome) {
        let is_reconciling = self.recovery.is_in_progress();
        let (sessions, requests) = (&self.sessions, &mut self.requests);
        let end = self.reader.pass_ended(now, side, outcome, sessions, is_reconciling, requests);
        let Some(end) = end else { return };
        if end.has_lost {
            self.recovery.suspect(now);
        }
        self.record_placed(side, &end.readings);
        let counted = self.reader.record(now, side, &end.readings, &mut self.sessions);
        self.count_heavy(side, &counted);
        let mut applied = Vec::new();
        for (counted, fresh) in counted {
            match fresh.filter(|operation| self.operations.holds_packets(*operation)) {
                Some(operation) => self.operations.hold_usage(operation, counted),
                None => applied.push(counted),
            }
        }
        self.count_usage(now, &applied);
        let served = self.reader.served(side, &end.readings, &self.sessions);
        let is_reconciling = self.recovery.is_in_progress();
        let removed = self.reader.remove_entries(now, side, end, is_reconciling, &mut self.requests);
        if let Some(removed) = removed {
            self.removal_ended(now, side, &removed);
        }
        served.into_iter().for_each(|waiter| self.serve(now, waiter));
    }

    /// One request of a pass was answered; the last one ends the pass.
    pub(super) fn part_ended(&mut self, now: Time, side: usize, places: &[usize], outcome: Outcome) {
        let Some((outcome, is_repeated)) = self.reader.part_ended(side, places, outcome) else { return };
        self.pass_ended(now, side, outcome);
        if is_repeated {
            self.reader.retry_pass(now, side, &mut self.requests);
        }
    }

    /// Entries were removed: numbers that are removed on both sides can be reused.
    pub(super) fn removal_ended(&mut self, now: Time, side: usize, removed: &[SwitchPdr]) {
        for (number, served) in self.reader.removed(now, side, removed) {
            self.allocator.release(number, self.writer.background());
            if let Some(seid) = self.sessions.remove_number(number) {
                self.forget_if_over(seid);
            }
            served.into_iter().for_each(|waiter| self.serve(now, waiter));
        }
        self.reader.restart_pass(side);
    }

    fn serve(&mut self, now: Time, waiter: Waiter) {
        match waiter {
            Waiter::Operation(operation) => self.commit(now, operation),
            Waiter::Timer(seid) => self.expire_timers(now, seid),
            Waiter::Flow(seid, direction) => self.heavy_flow_read(now, (seid, direction)),
        }
    }

    /// Initial counter values were read, or the reading failed: operations that waited continue.
    pub(super) fn bases_ended(&mut self, now: Time, side: usize, numbers: &[SwitchPdr], outcome: Outcome) {
        let (waiting, is_read) = self.reader.bases_ended(side, numbers, outcome);
        for operation in waiting {
            if self.recovery.is_in_progress() {
                self.requests.retry(now, Retry::Write(operation));
            } else if is_read {
                self.write_remaining(now, operation);
            } else {
                self.writer.count_attempt(operation);
                self.write_ended(now, operation, Err(DriverError::Unavailable));
            }
        }
    }

    /// Reads the counters of sessions with a due timer first: of the first [`SESSIONS_AT_A_TIME`] sessions, whether they wait
    /// already or not, and of as many at most in one call. Many sessions may have one at the same time.
    pub(super) fn expire_due_timers(&mut self, now: Time) -> bool {
        if self.timers_left == 0 || self.software.next_session_timer().is_none_or(|at| at > now) {
            return false;
        }
        let mut any = false;
        for seid in self.software.due_sessions(now, SESSIONS_AT_A_TIME) {
            let Some(waits) = self.reader.wait_for_timer(seid, &self.sessions) else { continue };
            any = true;
            if !waits {
                self.expire_timers(now, seid);
            }
            self.timers_left -= 1;
            if self.timers_left == 0 {
                break;
            }
        }
        any
    }

    /// Expires the timers of a session before a plan of it, if calls have left those of some sessions.
    pub fn expire_late_timers(&mut self, now: Time, seid: Seid) {
        if self.timers_left > 0 {
            return;
        }
        match self.reader.wait_for_timer(seid, &self.sessions) {
            Some(true) => self.run_further(now),
            Some(false) => self.expire_timers(now, seid),
            None => {}
        }
    }

    fn expire_timers(&mut self, now: Time, seid: Seid) {
        self.reader.end_timer(seid);
        if !self.software.expire_session(now, seid) {
            return;
        }
        self.send_from_software(now);
        self.update_for_quota(now, seid);
    }

    /// The software counts usage: all readings of a session together, so that the reports of its first packet do not
    /// depend on the order of the counters.
    pub(super) fn count_usage(&mut self, now: Time, counted: &[AppliedCount]) {
        let session_of = |number: SwitchPdr| self.sessions.rule(number).map(|rule| rule.session);
        let mut counted: Vec<(Seid, AppliedCount)> =
            counted.iter().filter_map(|counted| Some((session_of(counted.0)?, *counted))).collect();
        counted.sort_by_key(|(seid, _)| *seid);
        for of_one in counted.chunk_by(|one, other| one.0 == other.0) {
            self.count_usage_of_session(now, of_one);
        }
    }

    fn count_usage_of_session(&mut self, now: Time, counted: &[(Seid, AppliedCount)]) {
        let Some((seid, _)) = counted.first() else { return };
        let mut readings = Vec::new();
        for (_, (number, side, count)) in counted {
            let Some(rule) = self.sessions.rule(*number) else { continue };
            let count = PacketCount { packets: count.packets, octets: count.octets };
            let (arrived, passed) = match (side, rule.content.before_qos) {
                // Its PDR may have got URRs since, which do not count earlier packets.
                _ if rule.content.urrs.is_empty() => continue,
                (0, true) => (count, PacketCount::default()),
                (0, false) => continue,
                _ => (PacketCount::default(), count),
            };
            let uncounted = &rule.content.uncounted;
            readings.push(CounterReading { pdr: rule.pdr, arrived, passed, uncounted });
        }
        if readings.len() < counted.len() {
            self.software.record_activity(now, *seid);
        }
        if !readings.is_empty() {
            self.software.add_usage(now, *seid, &readings);
            self.update_for_quota(now, *seid);
        }
    }
}

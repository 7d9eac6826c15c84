//! Passes over the accounting tables, and the timers that wait for them.

use causeway_types::{Seid, Time};

use super::counter_waits::Waiter;
use super::outcomes::{InFlight, Retry};
use super::switch::Switch;
use crate::driver::{DriverError, EntryKey, Outcome, Reply, Request, SwitchDriver, Update};
use crate::pendulum::{Sample, Side};
use crate::{Count, SwitchPdr};

/// State of a side's reader.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reader {
    /// Passes begun.
    pub(super) passes: u64,
    /// When the last one began.
    pub(super) started: Time,
    /// It reads or removes, or waits for a retry.
    pub(super) is_reading: bool,
    /// Requested passes.
    pub(super) demand: u8,
    /// Consecutive polls without work, while nothing else happened.
    pub(super) idle: u8,
}

/// After this many polls without work it is not polled until an event occurs.
const IDLE: u8 = 2;

impl<D: SwitchDriver> Switch<D> {
    pub(super) const fn passes(&self) -> [u64; 2] {
        [self.readers[0].passes, self.readers[1].passes]
    }

    /// Begins a pass, if one is needed.
    pub(super) fn start_passes(&mut self, now: Time) -> bool {
        let mut any = false;
        for side in Side::ALL {
            any |= self.start_pass(now, side);
        }
        any
    }

    fn start_pass(&mut self, now: Time, side: Side) -> bool {
        let place = side as usize;
        let reader = self.readers[place];
        let is_awaited = self.waits.of_side(place).next().is_some();
        let is_paced = self
            .config
            .pace
            .is_some_and(|pace| now >= reader.started + pace && (now > reader.started || reader.passes == 0));
        let retires = self.config.pace.is_none() && self.access.has_retirable(now, side);
        let is_wanted = is_awaited || is_paced || reader.demand > 0 || retires;
        if reader.is_reading || reader.idle > IDLE || !is_wanted {
            return false;
        }
        let awaited: Vec<SwitchPdr> = self.waits.of_side(place).collect();
        let express = if awaited.is_empty() { usize::MAX } else { self.config.express };
        // A request for all counters reads all; otherwise a pass has the counters that are needed soon, but at least
        // `express`.
        let least = if reader.demand > 0 { usize::MAX } else { self.config.express };
        let pulling = &mut self.pulling;
        let pass = self.access.poll_pass(now, side, |partition, _, budget| {
            let mut picked = awaited;
            let more = budget.saturating_sub(picked.len()).min(express);
            picked.extend(pulling.pick_at_least(now, side, partition, least, more));
            picked
        });
        let pass = pass.map(|pass| (pass.partition, pass.numbers.clone()));
        let reader = &mut self.readers[place];
        reader.started = now;
        let Some((partition, numbers)) = pass else {
            // The roles may have been swapped; the next call finds out.
            reader.idle = reader.idle.saturating_add(1);
            let goes_on = reader.idle <= IDLE;
            if !goes_on {
                reader.demand = 0;
            }
            return goes_on && (is_awaited || retires || reader.demand > 0);
        };
        reader.demand = reader.demand.saturating_sub(1);
        reader.passes += 1;
        reader.is_reading = true;
        self.reading_of[place] = usize::from(partition.0);
        if self.layout.cells.is_some() {
            self.read_cells(now, place, &numbers);
        } else {
            let key =
                |number: &SwitchPdr| self.layout.accounting_key(place, usize::from(partition.0), number.0);
            let keys: Vec<EntryKey> = numbers.iter().filter_map(key).collect();
            self.send_request(now, Request::ReadDirect(keys), InFlight::Pass(place));
        }
        self.reading[place] = numbers;
        true
    }

    /// The counters of a pass, or the error of its reading.
    pub(super) fn pass_ended(&mut self, now: Time, side: usize, outcome: Outcome) {
        let numbers = std::mem::take(&mut self.reading[side]);
        let counts = match outcome {
            Ok(Reply::Counts(counts)) => counts,
            outcome => {
                let _nothing = self.access.read(of(side), &[]);
                let _nothing = self.access.removed(now, of(side), &[]);
                let is_refused = matches!(outcome, Err(DriverError::Rejected(_)));
                self.statistics.lost_counters += u64::from(is_refused);
                return self.retry(now, Retry::Pass(side));
            }
        };
        let pass = self.readers[side].passes;
        let lost = self.statistics.lost_counters;
        let (samples, gone) = self.samples(side, &numbers, &counts);
        if self.statistics.lost_counters > lost {
            self.check_suspicion(now);
        }
        let (readings, leaving) = self.access.read(of(side), &samples);
        self.take_usage(now, side, &readings);
        let mut served = Vec::new();
        for reading in &readings {
            let needs_last = self.rules.get(&reading.number).is_some_and(|rule| rule.is_expired);
            if !needs_last || reading.is_last {
                served.extend(self.waits.read((reading.number, side), pass));
            }
        }
        self.remove_entries(now, side, leaving, &gone);
        served.into_iter().for_each(|waiter| self.serve(now, waiter));
    }

    /// The values of the counters, and those of them that were already removed after their last reading.
    fn samples(
        &mut self,
        side: usize,
        numbers: &[SwitchPdr],
        counts: &[Option<Count>],
    ) -> (Vec<Sample>, Vec<SwitchPdr>) {
        let (mut samples, mut gone) = (Vec::with_capacity(numbers.len()), Vec::new());
        for (number, count) in numbers.iter().zip(counts) {
            let known = self.rules.get(number).map(|rule| (rule.last[side], rule.is_final[side]));
            match (count, known) {
                (Some(count), _) => samples.push(Sample { number: *number, count: *count }),
                // It was removed, and the response of the switch was lost.
                (None, Some((last, true))) => {
                    samples.push(Sample { number: *number, count: last });
                    gone.push(*number);
                }
                (None, Some((last, false))) => {
                    self.statistics.lost_counters += u64::from(self.reconcile.is_none());
                    samples.push(Sample { number: *number, count: last });
                    gone.push(*number);
                }
                (None, None) => {}
            }
        }
        (samples, gone)
    }

    fn remove_entries(&mut self, now: Time, side: usize, leaving: Vec<SwitchPdr>, gone: &[SwitchPdr]) {
        let partition = self.reading_of[side];
        let is_there = |number: &&SwitchPdr| !gone.contains(number);
        let key = |number: &SwitchPdr| self.layout.accounting_key(side, partition, number.0);
        let keys: Vec<EntryKey> = leaving.iter().filter(is_there).filter_map(key).collect();
        if keys.is_empty() {
            return self.removal_ended(now, side, &leaving);
        }
        if self.reconcile.is_some() {
            // They are read again, and then removed.
            return self.removal_ended(now, side, &[]);
        }
        let updates = keys.into_iter().map(Update::Delete).collect();
        self.send_request(now, Request::Write(updates), InFlight::Removal(side, leaving));
    }

    /// Entries were removed: numbers that are removed on both sides can be reused.
    pub(super) fn removal_ended(&mut self, now: Time, side: usize, removed: &[SwitchPdr]) {
        for number in self.access.removed(now, of(side), removed) {
            self.pulling.retire(number);
            self.release(number);
            let served: Vec<Waiter> = (0..2).flat_map(|side| self.waits.gone((number, side))).collect();
            if let Some(rule) = self.rules.remove(&number) {
                self.forget_number(rule.session, number);
            }
            served.into_iter().for_each(|waiter| self.serve(now, waiter));
        }
        self.readers[side].is_reading = false;
    }

    fn forget_number(&mut self, seid: Seid, number: SwitchPdr) {
        let Some(state) = self.sessions.get_mut(&seid) else { return };
        state.numbers.remove(&number);
        self.forget_if_over(seid);
    }

    fn serve(&mut self, now: Time, waiter: Waiter) {
        match waiter {
            Waiter::Operation(operation) => self.commit(now, operation),
            Waiter::Timer(seid) => self.expire_timers(now, seid),
        }
    }

    /// Reads the counters of sessions with a due timer first.
    pub(super) fn expire_due_timers(&mut self, now: Time) -> bool {
        if self.software.next_session_timer().is_none_or(|at| at > now) {
            return false;
        }
        let mut any = false;
        for seid in self.software.due_sessions(now) {
            if !self.timing.insert(seid) {
                continue;
            }
            any = true;
            let counters = self.counters_of(seid);
            let passes = self.passes();
            if !self.waits.add(Waiter::Timer(seid), &counters, passes) {
                self.expire_timers(now, seid);
            }
        }
        any
    }

    fn expire_timers(&mut self, now: Time, seid: Seid) {
        self.timing.remove(&seid);
        self.software.expire_session(now, seid);
        self.send_from_software(now);
        self.update_for_quota(seid);
    }

    /// The counters of a session's URRs, or of its inactivity timer.
    fn counters_of(&self, seid: Seid) -> Vec<(SwitchPdr, usize)> {
        let Some(state) = self.sessions.get(&seid) else { return Vec::new() };
        let mut counters = Vec::new();
        for number in &state.numbers {
            let Some(rule) = self.rules.get(number) else { continue };
            let is_live = rule.content.is_counted && rule.fresh.is_none();
            let sides = [rule.content.before_qos || state.watches_activity, !rule.content.urrs.is_empty()];
            let open = (0..2).filter(|side| is_live && sides[*side] && !rule.is_final[*side]);
            counters.extend(open.map(|side| (*number, side)));
        }
        counters
    }
}

const fn of(side: usize) -> Side {
    Side::ALL[side]
}

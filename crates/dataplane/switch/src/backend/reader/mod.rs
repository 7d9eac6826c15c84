//! What is read from the switch: passes over the accounting tables, initial values of counters, and drops.
//!
//! It decides which counters are read when, and who waits for them; usage that was read is returned to be counted.

mod counter_bases;
mod counter_waits;
mod drop_counters;
mod indexed_pass;
mod usage_keys;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use causeway_dataplane::Counters;
use causeway_types::{Direction, Seid, Span, Time};
use foldhash::fast::RandomState;

use super::config::Config;
use super::layout::Layout;
use super::operation::Operation;
use super::requests::{InFlight, Requests, Retry, TICK};
use super::sessions::Sessions;
use crate::driver::{DriverError, Entry, EntryKey, Link, Outcome, Reply, Request, SwitchDriver, Update};
use crate::pendulum::{self, Command, Invalid, Partition, Reading, Sample, Side, TableAccess, WriterTurn};
use crate::pulling::Pulling;
use crate::{Count, SwitchPdr};
use counter_bases::CounterBases;
use counter_waits::CounterWaits;
use drop_counters::DropCounters;
use indexed_pass::IndexedPass;
use usage_keys::{Measure, Measurement};

pub(super) use counter_waits::Waiter;

/// User packets counted for a number on a side.
pub(super) type AppliedCount = (SwitchPdr, usize, Count);

/// The side of counters after QoS enforcement.
const EGRESS: usize = Side::Egress as usize;

/// After this many polls without work a side is not polled until an event occurs.
const IDLE: u8 = 2;

/// Reads counters.
#[derive(Debug)]
pub(super) struct Reader {
    layout: Arc<Layout>,
    access: TableAccess<Operation>,
    pulling: Pulling<Measure>,
    measured: HashMap<Seid, Measurement, RandomState>,
    waits: CounterWaits,
    /// Sessions with a due timer that waits for counters.
    timing: BTreeSet<Seid>,
    sides: [SideReader; 2],
    bases: CounterBases,
    drops: DropCounters,
    /// As in [`Config`].
    pace: Option<Span>,
    drain: Span,
    express: usize,
    counts_as_received: bool,
    lost_counters: u64,
}

/// The passes of a side.
#[derive(Debug, Default)]
struct SideReader {
    /// Passes begun.
    passes: u64,
    /// When the last one began.
    started: Time,
    /// It reads or removes, or waits for a retry.
    is_reading: bool,
    /// Requested passes.
    demand: u8,
    /// Consecutive polls without work, while nothing else happened.
    idle: u8,
    /// The numbers that its pass reads, and their partition.
    numbers: Vec<SwitchPdr>,
    partition: usize,
    /// The readings so far, where a pass takes several requests.
    indexed: IndexedPass,
}

/// What a pass has read.
#[derive(Debug)]
pub(super) struct PassEnd {
    pub(super) readings: Vec<Reading>,
    /// Counters of rules in use were missing.
    pub(super) has_lost: bool,
    /// Numbers whose entries are to be removed, and those without entries.
    leaving: Vec<SwitchPdr>,
    gone: Vec<SwitchPdr>,
}

/// Usage of a number, and the operation that added the number if the software has not applied it.
pub(super) type FreshCount = (AppliedCount, Option<Operation>);

impl Reader {
    /// Reads the counters of a switch with this layout.
    pub(super) fn new(layout: &Arc<Layout>, config: &Config, access: pendulum::Config) -> Self {
        Self {
            access: TableAccess::new(access),
            pulling: Pulling::new(config.pulling),
            measured: HashMap::default(),
            waits: CounterWaits::default(),
            timing: BTreeSet::new(),
            sides: [SideReader::default(), SideReader::default()],
            bases: CounterBases::default(),
            drops: DropCounters::new(layout.drops, config.drop_read_interval),
            pace: config.pace,
            drain: config.drain,
            express: config.express,
            counts_as_received: config.counts_as_received,
            lost_counters: 0,
            layout: Arc::clone(layout),
        }
    }

    /// The minimum time between two passes, as in [`Config`].
    pub(super) const fn set_pace(&mut self, pace: Option<Span>) {
        self.pace = pace;
    }

    /// Octets after QoS enforcement are those of received frames, as in [`Config`].
    pub(super) const fn set_counts_as_received(&mut self) {
        self.counts_as_received = true;
    }

    /// The longest time of a packet in the switch, as in [`Config`].
    #[cfg(test)]
    pub(super) const fn set_drain(&mut self, drain: Span) {
        self.drain = drain;
    }

    /// Counters of rules in use that were missing.
    pub(super) const fn lost_counters(&self) -> u64 {
        self.lost_counters
    }

    /// The access to the accounting tables.
    pub(super) const fn access(&self) -> &TableAccess<Operation> {
        &self.access
    }

    /// Passes begun on a side.
    pub(super) const fn passes(&self, side: Side) -> u64 {
        self.sides[side as usize].passes
    }

    /// The drops of the switch.
    pub(super) const fn drops(&self) -> &Counters {
        self.drops.counters()
    }

    /// Handles a change of the connection to the switch.
    pub(super) fn handle_link(&mut self, link: Link) {
        self.drops.handle_link(link);
        self.bases.handle_link(link);
    }

    /// An event occurred: there may be work.
    pub(super) fn wake(&mut self) {
        self.sides.iter_mut().for_each(|side| side.idle = 0);
    }

    /// Reads all present counters as soon as possible.
    pub(super) fn read_all(&mut self) {
        self.sides.iter_mut().for_each(|side| side.demand = 2);
    }

    /// When the next reading is due.
    pub(super) fn next_deadline(&self, has_numbers: bool) -> Option<Time> {
        let paced = self.pace.filter(|_| has_numbers);
        let pass = |(side, reader): (usize, &SideReader)| {
            let retires = self.access.has_expired(Side::ALL[side]);
            let is_awaited = retires || self.waits.of_side(side).next().is_some();
            let pace = paced.or(is_awaited.then_some(self.drain))?;
            (!reader.is_reading).then(|| reader.started + pace.max(TICK))
        };
        let passes = self.sides.iter().enumerate().filter_map(pass);
        let own =
            [self.pulling.next_deadline(), self.access.next_deadline(Time::default()), self.drops.next()];
        own.into_iter().flatten().chain(passes).min()
    }

    /// Queues a write for its turn at the accounting tables.
    ///
    /// # Errors
    /// A number cannot be added or cannot expire.
    pub(super) fn queue_write(&mut self, now: Time, command: Command<Operation>) -> Result<(), Invalid> {
        self.access.submit(now, command).map(drop)
    }

    /// The next write whose turn it is.
    pub(super) fn poll_write(&mut self, now: Time) -> Option<WriterTurn<Operation>> {
        self.access.poll_write(now)
    }

    /// The write has ended: all of it was made, or nothing.
    pub(super) fn write_ended(&mut self, now: Time, is_made: bool) {
        self.access.written(now, is_made);
    }

    /// No packet has the number any more.
    pub(super) fn expire(&mut self, number: SwitchPdr) {
        self.pulling.expire(number);
    }

    /// A waiter needs these counters, read by passes that begin from now on. `false`: it needs none.
    pub(super) fn wait(&mut self, waiter: Waiter, counters: &[(SwitchPdr, usize)]) -> bool {
        let passes = [0, 1].map(|side| self.sides[side].passes);
        self.waits.add(waiter, counters, passes)
    }

    /// Whether due timers wait for counters.
    pub(super) fn has_waiting_timers(&self) -> bool {
        !self.timing.is_empty()
    }

    /// A timer of the session is due, and waits for its counters. `None`: it waits already; `Some(false)`: it needs
    /// none.
    pub(super) fn wait_for_timer(&mut self, seid: Seid, sessions: &Sessions) -> Option<bool> {
        if !self.timing.insert(seid) {
            return None;
        }
        let counters = self.counters_of(seid, sessions);
        Some(self.wait(Waiter::Timer(seid), &counters))
    }

    /// The timers of the session expire now.
    pub(super) fn end_timer(&mut self, seid: Seid) {
        self.timing.remove(&seid);
    }

    /// The counters of a session's URRs, or of its inactivity timer.
    fn counters_of(&self, seid: Seid, sessions: &Sessions) -> Vec<(SwitchPdr, usize)> {
        let Some(state) = sessions.get(seid) else { return Vec::new() };
        let watches_activity = self.measured.get(&seid).is_some_and(|measured| measured.watches_activity);
        let mut counters = Vec::new();
        for number in &state.numbers {
            let Some(rule) = sessions.rule(*number) else { continue };
            let is_live = rule.content.is_counted && rule.fresh.is_none();
            let sides = [rule.content.before_qos || watches_activity, !rule.content.urrs.is_empty()];
            let open = (0..2).filter(|side| is_live && sides[*side] && !rule.is_final[*side]);
            counters.extend(open.map(|side| (*number, side)));
        }
        counters
    }

    /// The rate of a session's packets in a direction waits for the counters of what is forwarded. `false`: there are none.
    pub(super) fn wait_for_flow(&mut self, seid: Seid, direction: Direction, sessions: &Sessions) -> bool {
        let numbers = sessions.get(seid).into_iter().flat_map(|state| &state.numbers);
        let is_asked = |number: &&SwitchPdr| {
            sessions.rule(**number).is_some_and(|rule| {
                let is_live = rule.content.is_counted && rule.fresh.is_none();
                is_live && rule.direction() == direction && !rule.is_final[EGRESS]
            })
        };
        let counters: Vec<_> = numbers.filter(is_asked).map(|number| (*number, EGRESS)).collect();
        self.wait(Waiter::Flow(seid, direction), &counters)
    }

    /// Begins passes that are needed; `false`: there are none.
    pub(super) fn start_passes<D: SwitchDriver>(&mut self, now: Time, requests: &mut Requests<D>) -> bool {
        let mut any = false;
        for side in Side::ALL {
            any |= self.start_pass(now, side, requests);
        }
        any
    }

    fn start_pass<D: SwitchDriver>(&mut self, now: Time, side: Side, requests: &mut Requests<D>) -> bool {
        let place = side as usize;
        let reader = &self.sides[place];
        let is_awaited = self.waits.of_side(place).next().is_some();
        let is_due =
            |pace: Span| now >= reader.started + pace && (now > reader.started || reader.passes == 0);
        let retires = self.pace.is_none() && self.access.has_retirable(now, side);
        let is_wanted = is_awaited || self.pace.is_some_and(is_due) || reader.demand > 0 || retires;
        if reader.is_reading || reader.idle > IDLE || !is_wanted {
            return false;
        }
        let pass = self.next_pass(now, side);
        let reader = &mut self.sides[place];
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
        reader.partition = usize::from(partition.0);
        if let Some(cells) = &self.layout.cells {
            reader.indexed = IndexedPass::start(now, place, &numbers, cells, requests);
        } else {
            let key =
                |number: &SwitchPdr| self.layout.accounting_key(place, usize::from(partition.0), number.0);
            let keys: Vec<EntryKey> = numbers.iter().filter_map(key).collect();
            requests.send(now, Request::ReadDirect(keys), InFlight::Pass(place));
        }
        reader.numbers = numbers;
        true
    }

    /// The numbers of the next pass, and their partition; `None` if none is possible.
    fn next_pass(&mut self, now: Time, side: Side) -> Option<(Partition, Vec<SwitchPdr>)> {
        let awaited: Vec<SwitchPdr> = self.waits.of_side(side as usize).collect();
        let express = if awaited.is_empty() { usize::MAX } else { self.express };
        // A request for all counters reads all; otherwise a pass has the counters that are needed soon, but at least
        // `express`.
        let least = if self.sides[side as usize].demand > 0 { usize::MAX } else { self.express };
        let pulling = &mut self.pulling;
        let pass = self.access.poll_pass(now, side, |partition, _, budget| {
            let mut picked = awaited;
            let more = budget.saturating_sub(picked.len()).min(express);
            picked.extend(pulling.pick_at_least(now, side, partition, least, more));
            picked
        });
        pass.map(|pass| (pass.partition, pass.numbers.clone()))
    }

    /// The retry of a pass is due.
    pub(super) const fn restart_pass(&mut self, side: usize) {
        self.sides[side].is_reading = false;
    }

    /// A request of a pass over counters by index was answered. The last one ends the pass: with the counters that were
    /// read, or else with an error; `true`: the pass is repeated, as other counters were not read.
    pub(super) fn part_ended(
        &mut self,
        side: usize,
        places: &[usize],
        outcome: Outcome,
    ) -> Option<(Outcome, bool)> {
        let reader = &mut self.sides[side];
        let (counts, failed) = reader.indexed.ended(places, outcome)?;
        let Some(failed) = failed else { return Some((Ok(Reply::Counts(counts)), false)) };
        let numbers = std::mem::take(&mut reader.numbers).into_iter().zip(counts);
        let (numbers, counts): (Vec<_>, Vec<_>) = numbers.filter(|(_, count)| count.is_some()).unzip();
        if numbers.is_empty() {
            return Some((failed, false));
        }
        // The switch may lose these values before they are requested again, so they are kept as read.
        reader.numbers = numbers;
        Some((Ok(Reply::Counts(counts)), true))
    }

    /// The pass is repeated after a delay.
    pub(super) fn retry_pass<D>(&mut self, now: Time, side: usize, requests: &mut Requests<D>) {
        self.sides[side].is_reading = true;
        requests.retry(now, Retry::Pass(side));
    }

    /// The counters of a pass were read. `None`: they were not, and the pass is repeated.
    pub(super) fn pass_ended<D>(
        &mut self,
        now: Time,
        side: usize,
        outcome: Outcome,
        sessions: &Sessions,
        is_reconciling: bool,
        requests: &mut Requests<D>,
    ) -> Option<PassEnd> {
        let numbers = std::mem::take(&mut self.sides[side].numbers);
        let counts = match outcome {
            Ok(Reply::Counts(counts)) => counts,
            outcome => {
                let _nothing = self.access.read(Side::ALL[side], &[]);
                let _nothing = self.access.removed(now, Side::ALL[side], &[]);
                let is_refused = matches!(outcome, Err(DriverError::Rejected(_)));
                self.lost_counters += u64::from(is_refused);
                requests.retry(now, Retry::Pass(side));
                return None;
            }
        };
        let lost = self.lost_counters;
        let (samples, gone) = self.samples(side, &numbers, &counts, sessions, is_reconciling);
        let (readings, leaving) = self.access.read(Side::ALL[side], &samples);
        Some(PassEnd { readings, has_lost: self.lost_counters > lost, leaving, gone })
    }

    /// The values of the counters, and those of them that were already removed after their last reading.
    fn samples(
        &mut self,
        side: usize,
        numbers: &[SwitchPdr],
        counts: &[Option<Count>],
        sessions: &Sessions,
        is_reconciling: bool,
    ) -> (Vec<Sample>, Vec<SwitchPdr>) {
        let (mut samples, mut gone) = (Vec::with_capacity(numbers.len()), Vec::new());
        for (number, count) in numbers.iter().zip(counts) {
            let known = sessions.rule(*number).map(|rule| (rule.last[side], rule.is_final[side]));
            match (count, known) {
                (Some(count), _) => samples.push(Sample { number: *number, count: *count }),
                // It was removed, and the response of the switch was lost.
                (None, Some((last, true))) => {
                    samples.push(Sample { number: *number, count: last });
                    gone.push(*number);
                }
                (None, Some((last, false))) => {
                    self.lost_counters += u64::from(!is_reconciling);
                    samples.push(Sample { number: *number, count: last });
                    gone.push(*number);
                }
                (None, None) => {}
            }
        }
        (samples, gone)
    }

    /// Records the readings of a pass. Returns the user packets that they have counted.
    pub(super) fn record(
        &mut self,
        now: Time,
        side: usize,
        readings: &[Reading],
        sessions: &mut Sessions,
    ) -> Vec<FreshCount> {
        let mut counted = Vec::new();
        for reading in readings {
            let Some(rule) = sessions.record_reading(reading.number, side, reading.usage, reading.is_last)
            else {
                continue;
            };
            let as_counted = if self.counts_as_received { 0 } else { side };
            let usage = rule.to_user_count(as_counted, reading.usage);
            let ours = Reading { usage, ..*reading };
            let _reports_are_the_softwares = self.pulling.readings(now, &[ours]);
            if usage != Count::ZERO {
                counted.push(((reading.number, side, usage), rule.fresh));
            }
        }
        counted
    }

    /// The waiters that have all their counters with these readings.
    pub(super) fn served(&mut self, side: usize, readings: &[Reading], sessions: &Sessions) -> Vec<Waiter> {
        let pass = self.sides[side].passes;
        let mut served = Vec::new();
        for reading in readings {
            let needs_last = sessions.rule(reading.number).is_some_and(|rule| rule.is_expired);
            if !needs_last || reading.is_last {
                served.extend(self.waits.read((reading.number, side), pass));
            }
        }
        served
    }

    /// Removes the entries that a pass has read for the last time. Returns the numbers that have none already: their
    /// removal has ended. `None`: it is in flight.
    pub(super) fn remove_entries<D: SwitchDriver>(
        &mut self,
        now: Time,
        side: usize,
        end: PassEnd,
        is_reconciling: bool,
        requests: &mut Requests<D>,
    ) -> Option<Vec<SwitchPdr>> {
        let PassEnd { leaving, gone, .. } = end;
        let partition = self.sides[side].partition;
        let is_there = |number: &&SwitchPdr| !gone.contains(number);
        let key = |number: &SwitchPdr| self.layout.accounting_key(side, partition, number.0);
        let keys: Vec<EntryKey> = leaving.iter().filter(is_there).filter_map(key).collect();
        if keys.is_empty() {
            return Some(leaving);
        }
        if is_reconciling {
            // They are read again, and then removed.
            return Some(Vec::new());
        }
        let updates = keys.into_iter().map(Update::Delete).collect();
        requests.send(now, Request::Write(updates), InFlight::Removal(side, leaving));
        None
    }

    /// Entries were removed: returns the numbers that are removed on both sides, each with those that waited for its
    /// counters. The pass ends when [`Reader::restart_pass`] is called.
    pub(super) fn removed(
        &mut self,
        now: Time,
        side: usize,
        removed: &[SwitchPdr],
    ) -> Vec<(SwitchPdr, Vec<Waiter>)> {
        let retired = self.access.removed(now, Side::ALL[side], removed);
        let mut ended = Vec::new();
        for number in retired {
            self.pulling.retire(number);
            ended.push((number, (0..2).flat_map(|side| self.waits.gone((number, side))).collect()));
        }
        ended
    }

    /// Reads the values that the counters of new numbers have before their first use, if they are unknown.
    pub(super) fn read_bases<D: SwitchDriver>(
        &mut self,
        now: Time,
        numbers: &[SwitchPdr],
        requests: &mut Requests<D>,
    ) {
        let _is_known = self.bases.read(now, self.layout.cells.as_ref(), numbers, requests);
    }

    /// Whether the counters of an operation's new numbers are known. Otherwise it continues when they are.
    pub(super) fn has_bases<D: SwitchDriver>(
        &mut self,
        now: Time,
        operation: Operation,
        numbers: &[SwitchPdr],
        requests: &mut Requests<D>,
    ) -> bool {
        if !self.bases.is_unknown() {
            return true;
        }
        let is_known = self.bases.read(now, self.layout.cells.as_ref(), numbers, requests);
        if is_known {
            self.bases.is_ready(operation);
        } else {
            self.bases.wait(now, operation, requests);
        }
        is_known
    }

    /// Initial values were read, or the reading failed. Returns the operations that waited, and whether they were read.
    pub(super) fn bases_ended(
        &mut self,
        side: usize,
        numbers: &[SwitchPdr],
        outcome: Outcome,
    ) -> (BTreeSet<Operation>, bool) {
        let is_read = matches!(outcome, Ok(Reply::Counts(_)));
        if let Ok(Reply::Counts(counts)) = outcome {
            for (number, count) in numbers.iter().zip(counts) {
                self.access.set_base(Side::ALL[side], *number, count.unwrap_or_default());
            }
        }
        (self.bases.ended(side, numbers, is_read), is_read)
    }

    /// Whether counts of another controller may remain on a switch that never held our entries.
    pub(super) const fn has_unknown_bases(&self) -> bool {
        self.bases.is_new()
    }

    /// The switch was reconciled: its drained packets are counted some time from now.
    pub(super) fn reconciled(&mut self, now: Time) {
        self.bases.reconciled(now + self.drain);
    }

    /// All counters by index start from zero.
    pub(super) fn restart_counters(&mut self) {
        self.access.all_restarted();
        self.bases.reset();
    }

    /// The counter of a number starts from zero.
    pub(super) fn restart_counter(&mut self, side: Side, number: SwitchPdr) {
        self.access.restarted(side, number);
    }

    /// The entries in which a number is counted, by side.
    pub(super) fn entries_of(&self, number: SwitchPdr) -> Vec<(Side, Entry)> {
        let mut entries = Vec::new();
        for (side, place) in Side::ALL.into_iter().zip(self.access.partitions_of(number)) {
            let Some(Partition(partition)) = place else { continue };
            let entry = self.layout.accounting_entry(side as usize, partition.into(), number.0);
            entries.extend(entry.map(|entry| (side, entry)));
        }
        entries
    }

    /// Reads the drops if that is due: after waiting changes, unless these do not end.
    pub(super) fn start_drop_read<D: SwitchDriver>(
        &mut self,
        now: Time,
        has_writes: bool,
        requests: &mut Requests<D>,
    ) -> bool {
        self.drops.start(now, has_writes, requests)
    }

    /// The drops were read, or the reading failed.
    pub(super) fn drop_read_ended(&mut self, outcome: Outcome) {
        self.drops.ended(outcome);
    }

    /// The drops were read during a reconciliation: they are read again.
    pub(super) const fn repeat_drop_read(&mut self) {
        self.drops.read_failed();
    }

    /// The switch counts drops from zero again.
    pub(super) const fn restart_drops(&mut self) {
        self.drops.reset();
    }
}

//! Passes: what is read next, and the results.

use std::collections::HashSet;

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::mode::Mode;
use super::pass::{Pass, Reading, Sample};
use super::side::{Partition, Reader, Side};
use super::table_access::{Place, TableAccess};
use crate::SwitchPdr;

impl<W> TableAccess<W> {
    /// The next pass of a side; `None` while its reader reads, removes or sleeps, has nothing to read, or must wait for
    /// the writer.
    ///
    /// Expired numbers come first. The rest of the pass is picked from all entries of the partition: by urgency, in
    /// turn, or all ([`super::everything`]). Other numbers that `pick` returns are not read.
    pub fn poll_pass(
        &mut self,
        now: Time,
        side: Side,
        pick: impl FnOnce(Partition, &[SwitchPdr], usize) -> Vec<SwitchPdr>,
    ) -> Option<&Pass> {
        if !self.may_read(now, side) {
            return None;
        }
        self.skip_empty_partition(side);
        if self.tables[side as usize].swap_due {
            return None;
        }
        let partition = self.tables[side as usize].readable();
        let numbers = self.chosen(now, side, partition, pick);
        if numbers.is_empty() {
            if !self.members(side, partition).is_empty() || self.config.mode.is_shared() {
                self.ended(now, now, side);
            }
            return None;
        }
        self.events += 1;
        self.statistics.passes += 1;
        let pass = Pass { side, partition, numbers, started: now, event: self.events };
        self.tables[side as usize].reader = Reader::Reading(pass);
        match &self.tables[side as usize].reader {
            Reader::Reading(pass) => Some(pass),
            Reader::Idle | Reader::Removing(..) => None,
        }
    }

    /// The pass of a side has ended, and these counters were read. Returns the usage, and the entries of the same
    /// partition that the reader must remove next; it then calls [`TableAccess::removed`], even if there are none.
    pub fn read(&mut self, side: Side, samples: &[Sample]) -> (Vec<Reading>, Vec<SwitchPdr>) {
        let table = &mut self.tables[side as usize];
        let reader = std::mem::replace(&mut table.reader, Reader::Idle);
        let Reader::Reading(pass) = reader else {
            table.reader = reader;
            return (Vec::new(), Vec::new());
        };
        let readings: Vec<Reading> =
            samples.iter().filter_map(|sample| self.reading(&pass, sample)).collect();
        let last = readings.iter().filter(|reading| reading.is_last);
        let leaving: Vec<SwitchPdr> = last.map(|reading| reading.number).collect();
        self.tables[side as usize].reader = Reader::Removing(pass, leaving.clone());
        (readings, leaving)
    }

    /// These entries were removed; the others will be tried again. Returns the numbers that are free now, as the other
    /// side has retired them before.
    pub fn removed(&mut self, now: Time, side: Side, removed: &[SwitchPdr]) -> Vec<SwitchPdr> {
        let table = &mut self.tables[side as usize];
        let reader = std::mem::replace(&mut table.reader, Reader::Idle);
        let Reader::Removing(pass, leaving) = reader else {
            table.reader = reader;
            return Vec::new();
        };
        let removed: HashSet<SwitchPdr, RandomState> = removed.iter().copied().collect();
        let (gone, kept): (Vec<_>, Vec<_>) = leaving.into_iter().partition(|number| removed.contains(number));
        let expired = &mut self.tables[side as usize].entries_mut(pass.partition).expired;
        let gone_here: HashSet<SwitchPdr, RandomState> = gone.iter().copied().collect();
        expired.retain(|number| !gone_here.contains(number));
        debug_assert!(kept.iter().all(|number| expired.contains(number)));

        let free = gone.into_iter().filter(|number| self.remove_number(side, *number)).collect::<Vec<_>>();
        self.statistics.retired += free.len() as u64;
        self.ended(pass.started, now, side);
        free
    }

    /// When a sleeping reader has work again; `None` if none sleeps.
    pub fn next_deadline(&self, now: Time) -> Option<Time> {
        (self.rests_until > now).then_some(self.rests_until)
    }

    /// Whether the side has expired numbers that its next pass would retire if it began now.
    pub fn has_retirable(&self, now: Time, side: Side) -> bool {
        self.expired(side).any(|number| self.is_retirable(now, number))
    }

    /// Whether the side has expired numbers that have not retired.
    pub fn has_expired(&self, side: Side) -> bool {
        self.expired(side).next().is_some()
    }

    /// The oldest number of each partition that has expired.
    fn expired(&self, side: Side) -> impl Iterator<Item = SwitchPdr> {
        let partitions = self.tables[side as usize].partitions.iter();
        partitions.filter_map(|entries| entries.expired.front().copied())
    }

    fn may_read(&self, now: Time, side: Side) -> bool {
        let table = &self.tables[side as usize];
        if !table.is_idle() {
            return false;
        }
        if !self.config.mode.is_shared() {
            return !table.swap_due;
        }
        let other = &self.tables[side.other() as usize];
        let writer_first = match self.config.mode {
            Mode::SingleThread { .. } => !self.queue.is_empty(),
            _ => self.queue.front().is_some_and(|queued| queued.token.0 < self.owed),
        };
        self.writing.is_empty()
            && other.is_idle()
            && self.turn == side
            && now >= self.rests_until
            && !writer_first
    }

    /// A partition without entries needs no pass if the other one has entries. A writer that always has work must not
    /// keep its partition for that reason: the roles swap between two of its batches.
    fn skip_empty_partition(&mut self, side: Side) {
        let table = &self.tables[side as usize];
        let is_empty = |partition: Partition| table.entries(partition).members.is_empty();
        if is_empty(table.readable()) && !is_empty(table.writable()) {
            self.tables[side as usize].swap_due = self.config.mode.is_pendulum();
            self.swap_if_due(side);
        }
    }

    fn chosen(
        &self,
        now: Time,
        side: Side,
        partition: Partition,
        pick: impl FnOnce(Partition, &[SwitchPdr], usize) -> Vec<SwitchPdr>,
    ) -> Vec<SwitchPdr> {
        let budget = self.config.mode.budget();
        let entries = self.tables[side as usize].entries(partition);
        let is_retirable = |number: &&SwitchPdr| self.is_retirable(now, **number);
        let mut chosen: Vec<SwitchPdr> =
            entries.expired.iter().take(budget).take_while(is_retirable).copied().collect();
        let first: HashSet<SwitchPdr, RandomState> = chosen.iter().copied().collect();
        let picked = pick(partition, &entries.members, budget - chosen.len());
        let is_there =
            |number: &SwitchPdr| self.place(side, *number).is_some_and(|at| at.partition == partition);
        let picked = picked.into_iter().filter(|number| !first.contains(number) && is_there(number));
        chosen.extend(picked.take(budget - first.len()));
        chosen
    }

    /// Whether a pass that starts now would retire the number.
    fn is_retirable(&self, now: Time, number: SwitchPdr) -> bool {
        let expired = self.rules.get(&number).and_then(|rule| rule.expired);
        expired.is_some_and(|expired| now >= expired.at + self.config.drain)
    }

    fn place(&self, side: Side, number: SwitchPdr) -> Option<Place> {
        self.rules.get(&number)?.places[side as usize]
    }

    fn reading(&mut self, pass: &Pass, sample: &Sample) -> Option<Reading> {
        let (number, side) = (sample.number, pass.side);
        let index = self.place(side, number)?;
        if index.partition != pass.partition {
            return None;
        }
        let rule = self.rules.get_mut(&number)?;
        let last = &mut rule.last[side as usize];
        let usage = sample.count.since(*last).unwrap_or_else(|| {
            self.statistics.lost += 1;
            sample.count
        });
        *last = sample.count;
        let is_last = rule.expired.is_some_and(|expired| {
            expired.event < pass.event && pass.started >= expired.at + self.config.drain
        });
        Some(Reading { number, side, usage, is_last })
    }

    /// The entry of a number was removed; true if the other side's was removed, too.
    fn remove_number(&mut self, side: Side, number: SwitchPdr) -> bool {
        let Some(rule) = self.rules.get_mut(&number) else { return false };
        let Some(index) = rule.places[side as usize].take() else { return false };
        let is_over = rule.places.iter().all(Option::is_none);
        if let Some(rule) = self.rules.get(&number).filter(|_| is_over) {
            if !self.config.mode.is_keyed() {
                self.bases.insert(number, rule.last);
            }
            self.rules.remove(&number);
        }
        let members = &mut self.tables[side as usize].entries_mut(index.partition).members;
        members.swap_remove(index.member);
        if let Some(moved) = members.get(index.member).copied()
            && let Some(moved) =
                self.rules.get_mut(&moved).and_then(|rule| rule.places[side as usize].as_mut())
        {
            moved.member = index.member;
        }
        is_over
    }

    /// The reader has finished its pass; the roles swap, or it sleeps.
    fn ended(&mut self, started: Time, now: Time, side: Side) {
        if self.config.mode.is_pendulum() {
            self.tables[side as usize].swap_due = true;
            self.swap_if_due(side);
            return;
        }
        if !self.config.mode.is_shared() {
            return;
        }
        self.busy += now.since(started);
        self.turn = side.other();
        self.owed = self.commands;
        if side == Side::Egress {
            self.rests_until = now + self.config.mode.sleep_after(self.busy);
            self.busy = Span::ZERO;
        }
    }
}

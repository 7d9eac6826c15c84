//! Access of readers and the writer, and the state of each number.

use std::collections::{HashMap, HashSet, VecDeque};

use causeway_types::{Span, Time};
use foldhash::fast::RandomState;

use super::command::{Batch, Command, Full, Insertion, Invalid, Queued, Token, WriterTurn};
use super::mode::Mode;
use super::side::{Entries, Expired, Partition, Side, Statistics, Table};
use crate::{Count, SwitchPdr};

/// Configuration of the accounting tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Config {
    /// The access mode.
    pub mode: Mode,
    /// Entries of one partition of the ingress and of the egress table.
    pub capacity: [usize; 2],
    /// The longest time of a packet between the lookup of its PDR and the egress accounting, mostly in queues. A number
    /// is retired by a pass that starts at least this long after it expired.
    pub drain: Span,
}

/// Access to the accounting tables of a switch, without clocks, threads or I/O.
///
/// One writer requests its next turn and reports the result; the readers do the same with passes. Each may take any
/// time: until the result is reported, only work that can run concurrently is handed out. The other writes of a
/// command, of type `W`, are opaque.
#[derive(Clone, Debug)]
pub struct TableAccess<W> {
    pub(super) config: Config,
    pub(super) tables: [Table; 2],
    pub(super) rules: HashMap<SwitchPdr, Rule, RandomState>,
    pub(super) queue: VecDeque<Queued<W>>,
    /// Numbers that unwritten commands will add.
    pub(super) coming: HashSet<SwitchPdr, RandomState>,
    /// The commands that the writer is writing, in one request.
    pub(super) writing: Vec<Command<()>>,
    /// The last counter values of numbers without a rule, if counters are not cleared.
    pub(super) bases: HashMap<SwitchPdr, [Count; 2], RandomState>,
    pub(super) commands: u64,
    /// Number of events so far: it orders events within one tick of the clock.
    pub(super) events: u64,
    /// The next side, if one reader serves both sides.
    pub(super) turn: Side,
    /// How long that reader has read since it last slept, and until when it sleeps.
    pub(super) busy: Span,
    pub(super) rests_until: Time,
    /// Commands before this one take precedence over that reader.
    pub(super) owed: u64,
    pub(super) statistics: Statistics,
}

/// The state of a number.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// For each side: the place of its entry, or `None` once it was removed.
    pub(super) places: [Option<Place>; 2],
    /// The value of each counter at its last reading.
    pub(super) last: [Count; 2],
    pub(super) expired: Option<Expired>,
    /// A command that makes it expire is waiting or being written.
    pub(super) leaving: bool,
}

/// The place of an entry among those of its side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) partition: Partition,
    pub(super) member: usize,
}

/// How a partition of an accounting table is used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartitionUse {
    /// Its entries.
    pub entries: usize,
    /// The largest number of entries.
    pub capacity: usize,
    /// The reader reads it, or removes entries from it.
    pub is_read: bool,
    /// New entries are written to it.
    pub takes_entries: bool,
}

impl<W> TableAccess<W> {
    /// Tables without entries.
    pub fn new(config: Config) -> Self {
        let table = |capacity| Table::new(config.mode.partitions(), capacity);
        Self {
            config,
            tables: config.capacity.map(table),
            rules: HashMap::default(),
            queue: VecDeque::new(),
            coming: HashSet::default(),
            writing: Vec::new(),
            bases: HashMap::default(),
            commands: 0,
            events: 0,
            turn: Side::Ingress,
            busy: Span::ZERO,
            owed: 0,
            rests_until: Time::default(),
            statistics: Statistics::default(),
        }
    }

    /// Event counters since the start.
    pub const fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Whether the number is in use, or has not retired on both sides.
    pub fn is_known(&self, number: SwitchPdr) -> bool {
        self.rules.contains_key(&number)
    }

    /// The partitions of a side, in their order.
    pub fn partitions(&self, side: Side) -> Vec<PartitionUse> {
        let table = &self.tables[side as usize];
        let state = |(place, entries): (u8, &Entries)| PartitionUse {
            entries: entries.members.len(),
            capacity: table.capacity,
            is_read: !table.is_idle() && table.readable() == Partition(place),
            takes_entries: table.writable() == Partition(place),
        };
        (0..).zip(&table.partitions).map(state).collect()
    }

    /// The entries of a partition, in no order; none if there is no such partition.
    pub fn members(&self, side: Side, partition: Partition) -> &[SwitchPdr] {
        let partitions = &self.tables[side as usize].partitions;
        partitions.get(usize::from(partition.0)).map_or(&[], |entries| &entries.members)
    }

    /// Queues a command for the writer. Commands that need no space may overtake others.
    ///
    /// # Errors
    /// A number cannot be added or cannot expire.
    pub fn submit(&mut self, now: Time, command: Command<W>) -> Result<Token, Invalid> {
        self.check(&command)?;
        self.set_leaving(&command.expire, true);
        self.coming.extend(command.add.iter().copied());
        let token = Token(self.commands);
        self.commands += 1;
        self.queue.push_back(Queued { token, command, submitted: now, waited: false });
        Ok(token)
    }

    /// The next turn of the writer; `None` while it has a batch, has no work, or must wait for a reader.
    pub fn poll_write(&mut self, now: Time) -> Option<WriterTurn<W>> {
        let shared = self.config.mode.is_shared();
        if !self.writing.is_empty() || (shared && self.tables.iter().any(|table| !table.is_idle())) {
            return None;
        }
        let adding = self.queue.iter().position(|queued| !queued.command.add.is_empty());
        let free = self.queue.iter().position(|queued| queued.command.add.is_empty());
        match (adding, free) {
            (Some(adding), Some(free)) if free < adding => self.start(now, free),
            (Some(adding), free) => self.try_adding(now, adding, free),
            (None, free) => self.start(now, free?),
        }
    }

    /// One more batch for the request that the writer is about to make: many commands in one request take less time
    /// than one by one, and each is still all or nothing, as the request is. `None` if the writer has no batch yet, or
    /// no other fits.
    pub fn poll_more(&mut self, now: Time) -> Option<Batch<W>> {
        if self.writing.is_empty() {
            return None;
        }
        let pending: usize = self.writing.iter().map(|command| command.add.len()).sum();
        let fits = |queued: &Queued<W>| {
            let needed = queued.command.add.len();
            let mut tables = self.tables.iter();
            needed == 0 || tables.all(|table| table.has_room(table.writable(), needed + pending))
        };
        let adding = self.queue.iter().position(|queued| !queued.command.add.is_empty());
        let free = self.queue.iter().position(|queued| queued.command.add.is_empty());
        let first = [adding, free].into_iter().flatten();
        let index = first.filter(|index| self.queue.get(*index).is_some_and(fits)).min()?;
        match self.start(now, index)? {
            WriterTurn::Write(batch) => Some(batch),
            WriterTurn::Refuse { .. } => None,
        }
    }

    /// The request was made, with all batches that were handed out for it; or none of it was.
    pub fn written(&mut self, now: Time, all: bool) {
        let commands = std::mem::take(&mut self.writing);
        if commands.is_empty() {
            return;
        }
        self.events += 1;
        for command in commands {
            self.forget(&command);
            if all {
                command.add.iter().for_each(|number| self.insert_number(*number));
                command.expire.iter().for_each(|number| self.expire(*number, now));
            }
        }
        Side::ALL.into_iter().for_each(|side| self.swap_if_due(side));
    }

    /// Swaps the roles of a side, if its reader has finished and no write is in flight, unless a command that waits for
    /// the other side has space here now.
    pub(super) fn swap_if_due(&mut self, side: Side) {
        if self.tables[side as usize].swap_due && self.writing.is_empty() && !self.waits_for_other_side(side)
        {
            self.swap(side);
        }
    }

    pub(super) fn swap(&mut self, side: Side) {
        self.tables[side as usize].swap();
        self.statistics.swaps += 1;
    }

    /// Hands out the command that needs space, if there is one; otherwise one that needs none.
    fn try_adding(&mut self, now: Time, adding: usize, free: Option<usize>) -> Option<WriterTurn<W>> {
        let needed = self.queue.get(adding)?.command.add.len();
        match Side::ALL.into_iter().find_map(|side| self.capacity_error(side, needed)) {
            Some(full) => self.refuse(adding, full),
            None if Side::ALL.into_iter().all(|side| self.make_room(side, needed)) => self.start(now, adding),
            None => {
                let queued = self.queue.get_mut(adding)?;
                self.statistics.waits += u64::from(!queued.waited);
                queued.waited = true;
                self.start(now, free?)
            }
        }
    }

    /// The error if neither partition has space for this many entries.
    fn capacity_error(&self, side: Side, needed: usize) -> Option<Full> {
        let table = &self.tables[side as usize];
        let free = [table.free(table.writable()), table.free(table.readable())];
        free.into_iter().all(|free| free < needed).then_some(Full { side, needed, free })
    }

    /// Whether the partition for writes has space, if necessary after a role swap that is possible now.
    fn make_room(&mut self, side: Side, needed: usize) -> bool {
        let table = &self.tables[side as usize];
        if !table.has_room(table.writable(), needed) && table.is_idle() {
            self.swap(side);
        }
        let table = &self.tables[side as usize];
        table.has_room(table.writable(), needed)
    }

    /// Whether the first command that needs space waits for the other side only: after a swap of this side it would
    /// wait for this side next.
    pub(super) fn waits_for_other_side(&self, side: Side) -> bool {
        let waiting = self.queue.iter().find(|queued| !queued.command.add.is_empty());
        waiting.filter(|queued| queued.waited).is_some_and(|queued| {
            let (table, needed) = (&self.tables[side as usize], queued.command.add.len());
            table.has_room(table.writable(), needed) && !table.has_room(table.readable(), needed)
        })
    }

    fn start(&mut self, now: Time, index: usize) -> Option<WriterTurn<W>> {
        let Queued { token, command, submitted, waited } = self.queue.remove(index)?;
        if waited {
            let longest = &mut self.statistics.longest_wait;
            *longest = (*longest).max(now.since(submitted));
        }
        let insertion = |side: Side| Insertion {
            side,
            partition: self.tables[side as usize].writable(),
            numbers: command.add.clone(),
        };
        let has_entries = self.config.mode.is_keyed() && !command.add.is_empty();
        let insertions = Side::ALL.into_iter().filter(|_| has_entries).map(insertion).collect();
        let Command { add, expire, writes } = command;
        self.writing.push(Command { add, expire, writes: () });
        Some(WriterTurn::Write(Batch { token, insertions, writes }))
    }

    fn refuse(&mut self, index: usize, full: Full) -> Option<WriterTurn<W>> {
        let Queued { token, command, .. } = self.queue.remove(index)?;
        let Command { add, expire, writes } = command;
        self.forget(&Command { add, expire, writes: () });
        self.statistics.refused += 1;
        Some(WriterTurn::Refuse { token, writes, full })
    }

    /// Removes a command that has ended.
    fn forget(&mut self, command: &Command<()>) {
        self.set_leaving(&command.expire, false);
        for number in &command.add {
            self.coming.remove(number);
        }
    }

    fn set_leaving(&mut self, numbers: &[SwitchPdr], leaving: bool) {
        for number in numbers {
            if let Some(rule) = self.rules.get_mut(number) {
                rule.leaving = leaving;
            }
        }
    }

    fn insert_number(&mut self, number: SwitchPdr) {
        let places = Side::ALL.map(|side| {
            let table = &mut self.tables[side as usize];
            let partition = table.writable();
            let members = &mut table.entries_mut(partition).members;
            members.push(number);
            Some(Place { partition, member: members.len() - 1 })
        });
        let last = self.bases.remove(&number).unwrap_or_default();
        let rule = Rule { places, last, expired: None, leaving: false };
        self.rules.insert(number, rule);
    }

    fn expire(&mut self, number: SwitchPdr, at: Time) {
        let Some(rule) = self.rules.get_mut(&number) else { return };
        rule.expired = Some(Expired { event: self.events, at });
        for (table, index) in self.tables.iter_mut().zip(rule.places) {
            if let Some(index) = index {
                table.entries_mut(index.partition).expired.push_back(number);
            }
        }
    }

    /// Checks that its numbers can be added, and can expire.
    fn check(&self, command: &Command<W>) -> Result<(), Invalid> {
        for (index, number) in command.add.iter().enumerate() {
            let again = command.add.iter().take(index).any(|other| other == number);
            if again || self.rules.contains_key(number) || self.coming.contains(number) {
                return Err(Invalid::InUse(*number));
            }
        }
        for (index, number) in command.expire.iter().enumerate() {
            let again = command.expire.iter().take(index).any(|other| other == number);
            let lives = |rule: &Rule| !rule.leaving && rule.expired.is_none();
            if again || !self.rules.get(number).is_some_and(lives) {
                return Err(Invalid::NotInUse(*number));
            }
        }
        Ok(())
    }

    /// The partitions of a number's entries on each side; `None` where there is none.
    pub fn partitions_of(&self, number: SwitchPdr) -> [Option<Partition>; 2] {
        let places = self.rules.get(&number).map(|rule| rule.places);
        places.unwrap_or_default().map(|index| index.map(|index| index.partition))
    }

    /// The counter value of a number without a rule: its next rule counts from there.
    pub fn set_base(&mut self, side: Side, number: SwitchPdr, count: Count) {
        if !self.rules.contains_key(&number) {
            self.bases.entry(number).or_default()[side as usize] = count;
        }
    }

    /// All counters start from zero, including those of numbers without a rule. Only while no pass is in flight.
    pub fn all_restarted(&mut self) {
        self.bases.clear();
        self.rules.values_mut().for_each(|rule| rule.last = [Count::ZERO; 2]);
    }

    /// The switch had lost the entry of a number, and has it again: its counter starts from zero. Only while no pass of
    /// the side is in flight.
    pub fn restarted(&mut self, side: Side, number: SwitchPdr) {
        if let Some(rule) = self.rules.get_mut(&number) {
            rule.last[side as usize] = Count::ZERO;
        }
    }
}

//! Snapshots of usage: what the data plane has measured since the last reports, for a standby that takes over.
//!
//! Sessions are asked for in rounds, each of which lasts an interval: a few at a time, so that many sessions are no burst. A record has the snapshots of
//! the sessions of one block of indices ([`UsageSnapshot`]).

use causeway_chain::Octets;
use causeway_n4::{N4, UsageSnapshot};
use causeway_types::{Seid, Span, Time, Transfer, put_list};

use crate::worker::RestoredUsage;

/// Sessions in one record, by their indices.
const BLOCK: u32 = 16;

/// The shortest time between two steps of a round.
const STEP: Span = Span::from_millis(10);

/// Blocks in one step, at most: a packet thread looks at one session for less than a microsecond.
const BLOCKS_PER_STEP: u32 = 64;

/// Changes that the standby has not acknowledged, above which no usage is asked for.
const MAX_UNACKNOWLEDGED: u64 = 4096;

/// A changed record: its block, and the snapshots; `None`: there are none any more.
pub(super) type ChangedBlock = (u32, Option<Octets>);

/// The sessions of one record.
#[derive(Clone, Debug, Default)]
struct Block {
    record: Option<Octets>,
    /// When they were asked for last: packets from then on are in no snapshot yet.
    asked: Time,
    /// Sessions that N4 has changed since, one bit each: they need a snapshot whether packets came or not.
    changed: u16,
}

/// The snapshots of all sessions.
#[derive(Debug)]
pub(crate) struct UsageSnapshots {
    /// A round; zero: there are none.
    interval: Span,
    blocks: Vec<Block>,
    /// Where the round is, how many blocks a step has, and how long it lasts. Behind all blocks the next round begins.
    next_block: u32,
    per_step: u32,
    step: Span,
    next_step: Time,
    /// When the round began, and how long the last one took.
    began: Time,
    last_round: Span,
    rounds: u64,
    /// Answers of packet threads that are under way.
    awaited: usize,
}

impl UsageSnapshots {
    /// None yet.
    pub(super) fn new(interval: Span) -> Self {
        Self {
            interval,
            blocks: Vec::new(),
            next_block: u32::MAX,
            per_step: 0,
            step: interval,
            next_step: Time::default(),
            began: Time::default(),
            last_round: Span::ZERO,
            rounds: 0,
            awaited: 0,
        }
    }

    fn block_mut(&mut self, block: u32) -> Option<&mut Block> {
        let place = block as usize;
        if self.blocks.len() <= place {
            self.blocks.resize(place + 1, Block::default());
        }
        self.blocks.get_mut(place)
    }

    /// The session with this index has changed in N4, or ended.
    pub(super) fn changed(&mut self, index: u32) {
        if !self.interval.is_zero()
            && let Some(block) = self.block_mut(index / BLOCK)
        {
            block.changed |= 1 << (index % BLOCK);
        }
    }

    /// When the next step is due; `None`: there is none, or answers are awaited.
    pub(super) fn next_step(&self) -> Option<Time> {
        (!self.interval.is_zero() && self.awaited == 0).then_some(self.next_step)
    }

    /// How long the last round through all sessions took.
    pub(super) const fn last_round(&self) -> Span {
        self.last_round
    }

    /// The number of rounds that have ended.
    pub(super) const fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The number of records.
    pub(super) fn records(&self) -> usize {
        self.blocks.iter().filter(|block| block.record.is_some()).count()
    }

    /// The sessions to ask for now, each with the time of its last snapshot, and records from which sessions have gone.
    pub(super) fn ask(
        &mut self,
        now: Time,
        n4: &N4,
        unacknowledged: u64,
    ) -> (Vec<(Seid, Time)>, Vec<ChangedBlock>) {
        let (mut sessions, mut gone) = (Vec::new(), Vec::new());
        if self.next_step().is_none_or(|at| at > now) {
            return (sessions, gone);
        }
        self.next_step = (self.next_step + self.step).max(now);
        if unacknowledged > MAX_UNACKNOWLEDGED {
            return (sessions, gone);
        }
        let blocks = n4.session_index_end().div_ceil(BLOCK).max(self.blocks.len() as u32);
        if self.next_block >= blocks {
            self.begin_round(now, blocks);
        }
        let end = self.next_block.saturating_add(self.per_step).min(blocks);
        for number in self.next_block..end {
            let Some(block) = self.block_mut(number) else { continue };
            let (since, changed) = (block.asked, std::mem::take(&mut block.changed));
            block.asked = now;
            for place in 0..BLOCK {
                if let Some(seid) = n4.established_session(number * BLOCK + place) {
                    let has_changed = changed & 1 << place != 0;
                    sessions.push((seid, if has_changed { Time::default() } else { since }));
                }
            }
            let held = records_of(block.record.as_ref()).filter(|_| changed != 0);
            if let Some(mut records) = held {
                let before = records.len();
                records.retain(|record| is_in_block(n4, record.session, number));
                if records.len() != before {
                    block.record = record_of(&records);
                    gone.push((number, block.record.clone()));
                }
            }
        }
        self.next_block = end;
        (sessions, gone)
    }

    fn begin_round(&mut self, now: Time, blocks: u32) {
        if self.began > Time::default() {
            self.last_round = now.since(self.began);
            self.rounds += 1;
        }
        (self.began, self.next_block) = (now, 0);
        let most = (self.interval.as_nanos() / STEP.as_nanos()).clamp(1, u128::from(u32::MAX)) as u32;
        let steps = most.min(blocks).max(1);
        self.per_step = blocks.div_ceil(steps).clamp(1, BLOCKS_PER_STEP);
        self.step = self.interval / steps;
        self.next_step = now + self.step;
    }

    /// So many packet threads were asked.
    pub(super) const fn asked(&mut self, threads: usize) {
        self.awaited += threads;
    }

    /// A packet thread has answered with these snapshots; N4 has handled all events before. Returns the records that have changed.
    pub(super) fn answered(&mut self, n4: &N4, mut snapshots: Vec<(Seid, Vec<u8>)>) -> Vec<ChangedBlock> {
        self.awaited = self.awaited.saturating_sub(1);
        let mut changed = Vec::new();
        // Those of a block follow each other, as they were asked for.
        let mut open: Option<(u32, Vec<UsageSnapshot>)> = None;
        for (session, snapshot) in snapshots.drain(..) {
            let Some(number) = n4.session_index(session).map(|index| index / BLOCK) else { continue };
            let Some(snapshot) = n4.usage_snapshot(session, snapshot) else { continue };
            if open.as_ref().is_none_or(|(block, _)| *block != number) {
                changed.extend(self.close(open.take()));
                let held =
                    self.blocks.get(number as usize).and_then(|block| records_of(block.record.as_ref()));
                open = Some((number, held.unwrap_or_default()));
            }
            let Some((_, records)) = &mut open else { continue };
            records.retain(|record| record.session != session && is_in_block(n4, record.session, number));
            records.push(snapshot);
        }
        changed.extend(self.close(open));
        changed
    }

    fn close(&mut self, open: Option<(u32, Vec<UsageSnapshot>)>) -> Option<ChangedBlock> {
        let (number, records) = open?;
        let block = self.block_mut(number)?;
        block.record = record_of(&records);
        Some((number, block.record.clone()))
    }

    /// Goes on with a record of an earlier primary, whose sessions N4 has restored. Returns what the data plane is to go on with.
    pub(super) fn restore(&mut self, now: Time, n4: &N4, number: u32, record: &Octets) -> Vec<RestoredUsage> {
        let Some(records) = records_of(Some(record)) else { return Vec::new() };
        let restored = |record: UsageSnapshot| {
            let urrs = n4.restored_urrs(&record);
            let UsageSnapshot { session, octets: snapshot, .. } = record;
            (!urrs.is_empty()).then_some(RestoredUsage { session, snapshot, urrs })
        };
        if (number as usize) < n4.session_index_end().div_ceil(BLOCK) as usize
            && let Some(block) = self.block_mut(number)
        {
            // What was not restored, or is gone, is looked at in the first round.
            *block = Block { record: Some(record.clone()), asked: now, changed: u16::MAX };
        }
        records.into_iter().filter_map(restored).collect()
    }
}

fn is_in_block(n4: &N4, session: Seid, number: u32) -> bool {
    n4.session_index(session).is_some_and(|index| index / BLOCK == number)
}

fn records_of(record: Option<&Octets>) -> Option<Vec<UsageSnapshot>> {
    Vec::from_octets(record?)
}

fn record_of(records: &[UsageSnapshot]) -> Option<Octets> {
    if records.is_empty() {
        return None;
    }
    let mut octets = Vec::new();
    put_list(records.iter(), &mut octets);
    Some(octets.into())
}

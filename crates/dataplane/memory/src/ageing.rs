//! Rows of tables in external memory that end when they were not used for a while.
//!
//! Whoever has a table in the region describes it there ([`AgedTable`]), in the directory at the end of the region, and writes its own time into the
//! description from time to time. The server looks at the table's buckets one after the other ([`Sweeper`]), and sets rows to zero whose last use is too
//! long ago by that time.
//!
//! # Invariants
//!
//! - Nothing but a row of a described table becomes zero, and only one whose number is of the writer of the description: what stands in the memory of
//!   another run, or of another table that was there before, is not touched.
//! - A row is not touched while packets use its bucket. It is looked at twice, [`SETTLE`] apart, and must be the same both times, and so must the octets
//!   of the bucket that each packet changes before it reads the row. A packet takes less time than that, with all its repetitions, or has failed.
//! - Rows age by the time of their writer alone. One that is gone, and writes no time, has rows that do not age.
//! - The work of a step is bounded, whatever the description says.

use std::collections::VecDeque;

use causeway_types::{Span, Time};

/// Descriptions in a region.
pub const TABLES: u64 = 64;
/// Octets of a description.
const DESCRIPTION: u64 = 128;
/// Octets of all descriptions: the last ones of a region.
pub const DIRECTORY: u64 = TABLES * DESCRIPTION;
/// Between both looks at a row.
pub const SETTLE: Span = Span::from_secs(1);
/// Between two steps.
const STEP: Span = Span::from_millis(10);
/// Buckets of a table that a step looks at, at most.
const MOST_BUCKETS: u64 = 4096;
/// Rows between both looks, at most: each table has its share. For one table more than two rows of each bucket that it looks at during [`SETTLE`].
const MOST_CANDIDATES: usize = 1 << 20;
/// A table without any keeps the memory of so many.
const KEPT_CANDIDATES: usize = MOST_CANDIDATES / TABLES as usize;
/// The start of a description: its name and version.
const MAGIC: [u8; 8] = *b"CWYAGED\x01";

/// A table whose rows age.
///
/// Rows stand at the start of their bucket. A row begins with a number of eight octets in network byte order, zero in an empty row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AgedTable {
    /// Octets from the start of the region to the first bucket.
    pub first: u64,
    /// Buckets.
    pub buckets: u64,
    /// Octets of a bucket.
    pub bucket: u32,
    /// Rows of a bucket.
    pub rows: u32,
    /// Octets of a row.
    pub row: u32,
    /// Octets in a row in front of the time of its last use: eight octets in network byte order, nanoseconds of the writer's time.
    pub used: u32,
    /// Octets in a bucket in front of those eight that each packet of it changes before it reads its rows.
    pub changed: u32,
    /// The numbers of rows are this one, or less than 2^32 above it.
    pub first_number: u64,
    /// Rows that were not used for so long are swept.
    pub age: Span,
    /// The writer's time.
    pub now: Time,
}

impl AgedTable {
    /// Where the description with a number is, as octets from the start of a region of this length. `None`: there are no so many, or the region is
    /// shorter.
    pub fn place(length: u64, number: u64) -> Option<u64> {
        let directory = length.checked_sub(DIRECTORY)?;
        (number < TABLES).then(|| directory + number * DESCRIPTION)
    }

    /// The description as it is in memory.
    pub fn encode(&self) -> Vec<u8> {
        let Self { first, buckets, bucket, rows, row, used, changed, first_number, age, now } = self;
        let age = u64::try_from(age.as_nanos()).unwrap_or(u64::MAX);
        let mut out = MAGIC.to_vec();
        [first, buckets].into_iter().for_each(|value| out.extend(value.to_be_bytes()));
        [bucket, rows, row, used, changed, &0].into_iter().for_each(|value| out.extend(value.to_be_bytes()));
        [first_number, &age, &now.as_nanos()].into_iter().for_each(|value| out.extend(value.to_be_bytes()));
        out.resize(DESCRIPTION as usize, 0);
        out
    }

    /// A description from a region of this length. `None`: there is none, or it is of no table of the region.
    fn decode(octets: &[u8], length: u64) -> Option<Self> {
        let rest = octets.strip_prefix(&MAGIC)?;
        let long = |at: usize| Some(u64::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        let short = |at: usize| Some(u32::from_be_bytes(*rest.get(at..)?.first_chunk()?));
        let table = Self {
            first: long(0)?,
            buckets: long(8)?,
            bucket: short(16)?,
            rows: short(20)?,
            row: short(24)?,
            used: short(28)?,
            changed: short(32)?,
            first_number: long(40)?,
            age: Span::from_nanos(long(48)?),
            now: Time::from_nanos(long(56)?),
        };
        let end = table.buckets.checked_mul(table.bucket.into())?.checked_add(table.first)?;
        let is_sound = end <= length.checked_sub(DIRECTORY)?
            && table.rows.checked_mul(table.row).is_some_and(|rows| rows <= table.bucket)
            && table.used.checked_add(8).is_some_and(|used| used <= table.row)
            && table.changed.checked_add(8).is_some_and(|changed| changed <= table.bucket)
            && table.age > Span::default();
        is_sound.then_some(table)
    }

    /// The same table, at any time.
    fn is_same(&self, other: &Self) -> bool {
        Self { now: other.now, ..*self } == *other
    }

    /// What a row is judged by, if it was not used for too long.
    fn aged(&self, octets: &[u8], bucket: u64, row: u32) -> Option<Candidate> {
        let start = usize::try_from(self.first + bucket * u64::from(self.bucket)).ok()?;
        let long = |at: u32| Some(u64::from_be_bytes(*octets.get(start + at as usize..)?.first_chunk()?));
        let place = row * self.row;
        let (number, used) = (long(place)?, long(place + self.used)?);
        let is_own = number != 0 && number.wrapping_sub(self.first_number) < 1 << 32;
        let is_aged = self.now.since(Time::from_nanos(used)) >= self.age;
        (is_own && is_aged).then_some(Candidate { bucket, row, number, used, changed: long(self.changed)? })
    }
}

/// A row at the first look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Candidate {
    bucket: u64,
    row: u32,
    number: u64,
    used: u64,
    changed: u64,
}

/// How far a table is swept.
#[derive(Clone, Debug)]
struct Progress {
    table: AgedTable,
    next: u64,
    /// Rows that were aged at the first look, and when the second is due.
    candidates: VecDeque<(Time, Candidate)>,
}

/// What sweeps the tables of a region.
#[derive(Clone, Debug)]
pub struct Sweeper {
    settle: Span,
    step: Span,
    due: Time,
    tables: Vec<Option<Progress>>,
    swept: u64,
}

impl Default for Sweeper {
    /// One that waits for [`SETTLE`], with a step each 10 ms.
    fn default() -> Self {
        Self::new(SETTLE, STEP)
    }
}

impl Sweeper {
    /// One that waits so long between both looks at a row, longer than a packet takes, and between two steps, at least a nanosecond.
    pub const fn new(settle: Span, step: Span) -> Self {
        Self { settle, step, due: Time::from_nanos(0), tables: Vec::new(), swept: 0 }
    }

    /// Rows that were set to zero.
    pub const fn swept(&self) -> u64 {
        self.swept
    }

    /// Tables that are described.
    pub fn tables(&self) -> usize {
        self.tables.iter().flatten().count()
    }

    /// Does what is due in the octets of a region: a part of each table, so that a round takes a quarter of its age limit, or more if that would be
    /// more than 4,096 buckets in a step, or more rows between both looks than there may be. Cheap if nothing is due.
    pub fn advance(&mut self, now: Time, octets: &mut [u8]) {
        if now < self.due {
            return;
        }
        self.due = now + self.step;
        let length = octets.len() as u64;
        let described = (0..TABLES).map(|number| {
            let place = usize::try_from(AgedTable::place(length, number)?).ok()?;
            AgedTable::decode(octets.get(place..place + DESCRIPTION as usize)?, length)
        });
        let described: Vec<Option<AgedTable>> = described.collect();
        let most = MOST_CANDIDATES / described.iter().flatten().count().max(1);
        self.tables.resize_with(TABLES as usize, || None);
        for (table, progress) in described.into_iter().zip(&mut self.tables) {
            let Some(table) = table else {
                *progress = None;
                continue;
            };
            let known = progress.take().filter(|known| known.table.is_same(&table));
            let known = known.unwrap_or_else(|| Progress { table, next: 0, candidates: VecDeque::new() });
            let known = progress.insert(Progress { table, ..known });
            self.swept += known.clear(now, octets);
            known.look(now + self.settle, self.step, most, octets);
        }
    }
}

impl Progress {
    /// The second look at rows for which it is due. Returns how many become zero.
    fn clear(&mut self, now: Time, octets: &mut [u8]) -> u64 {
        let mut cleared = 0;
        while let Some((_, candidate)) = self.candidates.front().copied().filter(|(due, _)| *due <= now) {
            self.candidates.pop_front();
            let Candidate { bucket, row, .. } = candidate;
            if self.table.aged(octets, bucket, row) != Some(candidate) {
                continue;
            }
            let AgedTable { first, bucket: size, row: length, .. } = self.table;
            let start = first + bucket * u64::from(size) + u64::from(row * length);
            let place =
                usize::try_from(start).ok().and_then(|start| octets.get_mut(start..start + length as usize));
            if let Some(place) = place {
                place.fill(0);
                cleared += 1;
            }
        }
        if self.candidates.is_empty() {
            self.candidates.shrink_to(KEPT_CANDIDATES);
        }
        cleared
    }

    /// The first look at the next buckets, until there are so many candidates.
    fn look(&mut self, second: Time, step: Span, most: usize, octets: &[u8]) {
        let AgedTable { buckets, age, rows, .. } = self.table;
        let steps = (age.as_nanos() / 4 / step.as_nanos().max(1)).max(1);
        let share = u128::from(buckets).div_ceil(steps);
        for _ in 0..u64::try_from(share).unwrap_or(u64::MAX).min(MOST_BUCKETS) {
            for row in 0..rows {
                if self.candidates.len() >= most {
                    return;
                }
                if let Some(candidate) = self.table.aged(octets, self.next, row) {
                    self.candidates.push_back((second, candidate));
                }
            }
            self.next = (self.next + 1) % buckets.max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TABLE: AgedTable = AgedTable {
        first: 64,
        buckets: 8,
        bucket: 128,
        rows: 2,
        row: 48,
        used: 16,
        changed: 96,
        first_number: u64::MAX - 3,
        age: Span::from_secs(4),
        now: Time::from_nanos(0),
    };
    const LENGTH: usize = 64 + 8 * 128 + 32 + DIRECTORY as usize;

    fn row(bucket: usize, row: usize) -> usize {
        64 + bucket * 128 + row * 48
    }

    fn put(octets: &mut [u8], at: usize, number: u64, used: Time) {
        octets[at..at + 48].fill(7);
        octets[at..at + 8].copy_from_slice(&number.to_be_bytes());
        octets[at + 16..at + 24].copy_from_slice(&used.as_nanos().to_be_bytes());
    }

    fn describe(octets: &mut [u8], table: &AgedTable) {
        let place = AgedTable::place(LENGTH as u64, 5).unwrap() as usize;
        octets[place..place + DESCRIPTION as usize].copy_from_slice(&table.encode());
    }

    /// A round and more, from this time of the server on. Returns the time at its end.
    fn run(sweeper: &mut Sweeper, from: Time, octets: &mut [u8]) -> Time {
        let steps = (0..400).map(|step| from + Span::from_millis(10 * step));
        steps.inspect(|now| sweeper.advance(*now, octets)).last().unwrap()
    }

    // Input:  rows of the writer's numbers and of others, used 3, 4 and 9 s ago and in the future; octets in front of the table and behind it.
    // Output: those of its numbers that were used 4 and 9 s ago are zero, and counted; every other octet is as before. Without a newer time of the
    //         writer nothing more happens, however late it is at the server.
    #[test]
    fn rows_of_the_writer_end_after_their_age() {
        let (mut octets, mut sweeper) = (vec![9; LENGTH], Sweeper::default());
        octets[LENGTH - DIRECTORY as usize..].fill(0);
        let at = |seconds| Time::from_secs(seconds);
        let rows = [
            (u64::MAX - 3, 6, true),
            (1, 1, true),
            (u64::MAX - 3, 7, false),
            (u64::MAX - 4, 1, false),
            (0, 1, false),
            (5, 12, false),
        ];
        for (place, (number, used, _)) in rows.into_iter().enumerate() {
            put(&mut octets, row(place, place % 2), number, at(used));
        }
        describe(&mut octets, &AgedTable { now: at(10), ..TABLE });
        let mut expected = octets.clone();
        for (place, _) in rows.iter().enumerate().filter(|(_, row)| row.2) {
            expected[row(place, place % 2)..][..48].fill(0);
        }
        let mut now = run(&mut sweeper, at(500), &mut octets);
        assert!(octets == expected, "other octets have changed");
        assert_eq!((sweeper.swept(), sweeper.tables()), (2, 1));
        now = run(&mut sweeper, now + Span::from_secs(60), &mut octets);
        assert_eq!(sweeper.swept(), 2);
        describe(&mut octets, &AgedTable { now: at(12), ..TABLE });
        run(&mut sweeper, now, &mut octets);
        assert_eq!(sweeper.swept(), 3);
    }

    // Input:  four aged rows; between both looks one is used, the bucket of one gets a packet, and one is written anew with the same number.
    // Output: the fourth alone is zero.
    #[test]
    fn a_row_in_use_is_not_touched() {
        let (mut octets, mut sweeper) = (vec![0; LENGTH], Sweeper::default());
        describe(&mut octets, &AgedTable { now: Time::from_secs(10), ..TABLE });
        (0..4).for_each(|bucket| put(&mut octets, row(bucket, 0), 1, Time::from_secs(1)));
        let start = Time::from_secs(3);
        // Half of the first round: buckets 0 to 3 and more were looked at once.
        (0..90).for_each(|step| sweeper.advance(start + Span::from_millis(10 * step), &mut octets));
        put(&mut octets, row(0, 0), 1, Time::from_secs(9));
        octets[row(1, 0) + 96] = 1;
        put(&mut octets, row(2, 0), 1, Time::from_secs(2));
        let later = start + Span::from_millis(900);
        (0..50).for_each(|step| sweeper.advance(later + Span::from_millis(10 * step), &mut octets));
        let is_there = |bucket| octets[row(bucket, 0)..][..8] != [0; 8];
        assert_eq!([0, 1, 2, 3].map(is_there), [true, true, true, false]);
        assert_eq!(sweeper.swept(), 1);
    }

    // Input:  a table of 2^20 buckets, then three of 2^18, with two rows in each, all of them aged; an age limit of which a quarter is too short for a round.
    // Output: nothing in the first second. In the second one the rows of 4,096 buckets a step, 819,200; of three tables as many as may be between both looks.
    //         In the end all rows are gone, and the memory of those between both looks, too.
    #[test]
    fn rows_of_a_full_table_end_at_a_known_rate() {
        for (tables, buckets, rate) in
            [(1_u64, 1_u64 << 20, 819_200), (3, 1 << 18, MOST_CANDIDATES as u64 / 3 * 3)]
        {
            let table = AgedTable {
                first: 0,
                buckets,
                bucket: 64,
                row: 24,
                changed: 48,
                used: 8,
                first_number: 1,
                age: Span::from_secs(1),
                now: Time::from_secs(10),
                ..TABLE
            };
            let length = (tables * buckets * 64 + DIRECTORY) as usize;
            let mut octets = vec![0; length];
            for number in 0..tables {
                let first = number * buckets * 64;
                let place = AgedTable::place(length as u64, number).unwrap() as usize;
                octets[place..place + DESCRIPTION as usize]
                    .copy_from_slice(&AgedTable { first, ..table }.encode());
            }
            for bucket in octets[..length - DIRECTORY as usize].chunks_exact_mut(64) {
                (bucket[7], bucket[31]) = (1, 1);
            }
            let mut sweeper = Sweeper::default();
            let mut seconds = Vec::new();
            for step in 0..500 {
                if step % 100 == 0 {
                    seconds.push(sweeper.swept());
                }
                sweeper.advance(Time::from_secs(1) + Span::from_millis(10 * step), &mut octets);
            }
            assert_eq!((seconds[1], seconds[2]), (0, rate), "{seconds:?}");
            assert_eq!(sweeper.swept(), tables * buckets * 2);
            let held = sweeper.tables.iter().flatten().map(|known| known.candidates.capacity()).max();
            assert!(held.unwrap() <= KEPT_CANDIDATES, "{held:?}");
        }
    }

    // Input:  descriptions that lie: buckets beyond the region, rows beyond their bucket, no age, sums that overflow; a region shorter than a directory.
    // Output: there is no such table.
    #[test]
    fn a_description_of_no_table_is_none() {
        let sound = AgedTable { now: Time::from_secs(10), ..TABLE };
        let lies = [
            AgedTable { buckets: 9, ..sound },
            AgedTable { first: u64::MAX, ..sound },
            AgedTable { buckets: u64::MAX, bucket: u32::MAX, ..sound },
            AgedTable { rows: 3, ..sound },
            AgedTable { rows: u32::MAX, ..sound },
            AgedTable { used: 41, ..sound },
            AgedTable { used: u32::MAX, ..sound },
            AgedTable { changed: 121, ..sound },
            AgedTable { age: Span::default(), ..sound },
        ];
        for (table, count) in lies.into_iter().zip([0; 9]).chain([(sound, 1)]) {
            let (mut octets, mut sweeper) = (vec![0; LENGTH], Sweeper::default());
            describe(&mut octets, &table);
            run(&mut sweeper, Time::from_secs(1), &mut octets);
            assert_eq!(sweeper.tables(), count, "{table:?}");
        }
        let mut sweeper = Sweeper::default();
        run(&mut sweeper, Time::from_secs(1), &mut [0; 100]);
        assert_eq!(
            (AgedTable::place(100, 0), AgedTable::place(1 << 20, TABLES), sweeper.tables()),
            (None, None, 0)
        );
    }

    proptest! {
        // Input:  any octets, half of them behind the start of a description, as a table and its own description.
        // Output: nothing but the table may change.
        #[test]
        fn any_octets_are_swept(octets in proptest::collection::vec(any::<u8>(), 0..600), is_described in any::<bool>()) {
            let mut octets = octets;
            if is_described {
                octets.splice(..0, MAGIC);
            }
            let mut region = octets.clone();
            region.resize(octets.len() + DIRECTORY as usize, 0);
            let place = AgedTable::place(region.len() as u64, 0).unwrap() as usize;
            let described = octets.len().min(DESCRIPTION as usize);
            region[place..place + described].copy_from_slice(&octets[..described]);
            let directory = region[place..].to_vec();
            let mut sweeper = Sweeper::new(Span::from_nanos(1), Span::from_nanos(1));
            (0..4).for_each(|step| sweeper.advance(Time::from_nanos(step), &mut region));
            prop_assert_eq!(&region[place..], &directory[..]);
        }
    }
}

//! Idle sessions whose state is in a file instead of in memory: what a data plane tells of them.

use causeway_types::Span;

/// Powers of two of a microsecond, up to half a second: the bounds of [`LoadTimes`].
const BOUNDS: usize = 20;

/// The sessions of a data plane by where their state is, and what has moved since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ColdStorageState {
    /// Sessions with state in memory: active ones, dormant ones that have been active, and dormant ones without any
    /// packet, whose parameters are all their state.
    pub in_memory: u64,
    /// Sessions in cold storage.
    pub cold: u64,
    /// Sessions that moved to cold storage.
    pub evictions: u64,
    /// Sessions that were loaded by a packet or a plan.
    pub loads: u64,
    /// Records that are not written yet: they are in memory, too.
    pub waiting: u64,
    /// Attempts to write that failed. Nothing is lost by them.
    pub write_errors: u64,
    /// Attempts to read that failed.
    pub read_errors: u64,
    /// Sessions whose measured state is lost, since their record was damaged or could not be read for too long.
    pub lost: u64,
    /// The time of each load, from the request to the record.
    pub load_times: LoadTimes,
    /// Packets that wait for the state of their session.
    pub held_packets: u64,
}

impl ColdStorageState {
    /// The sums of both.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            in_memory: self.in_memory + other.in_memory,
            cold: self.cold + other.cold,
            evictions: self.evictions + other.evictions,
            loads: self.loads + other.loads,
            waiting: self.waiting + other.waiting,
            write_errors: self.write_errors + other.write_errors,
            read_errors: self.read_errors + other.read_errors,
            lost: self.lost + other.lost,
            load_times: self.load_times.with(&other.load_times),
            held_packets: self.held_packets + other.held_packets,
        }
    }
}

/// Times of loads, counted by powers of two of a microsecond.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LoadTimes {
    /// Up to each bound; the last one above all of them.
    counts: [u64; BOUNDS + 1],
    sum: Span,
}

impl LoadTimes {
    /// Counts a time.
    pub fn add(&mut self, time: Span) {
        let micros = u64::try_from(time.as_nanos().div_ceil(1000)).unwrap_or(u64::MAX);
        let place = micros.max(1).checked_next_power_of_two().map_or(BOUNDS, |bound| bound.ilog2() as usize);
        if let Some(count) = self.counts.get_mut(place.min(BOUNDS)) {
            *count += 1;
        }
        self.sum += time;
    }

    /// The times of both.
    #[must_use]
    pub fn with(mut self, other: &Self) -> Self {
        self.counts.iter_mut().zip(other.counts).for_each(|(sum, more)| *sum += more);
        self.sum += other.sum;
        self
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The sum of all times.
    pub const fn sum(&self) -> Span {
        self.sum
    }

    /// The number of times up to each bound, and above the one before, with the bound in seconds; the last one is
    /// infinity.
    pub fn by_bound(&self) -> impl Iterator<Item = (f64, u64)> {
        let bound = |number: usize| {
            if number == BOUNDS { f64::INFINITY } else { (1_u64 << number) as f64 / 1e6 }
        };
        self.counts.into_iter().enumerate().map(move |(number, count)| (bound(number), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  times of none, a nanosecond, 1 us, 1.001 us, 500 us, and an hour.
    // Output: each is below the first bound that it does not exceed, the hour above all; their sum.
    #[test]
    fn times_are_counted_by_length() {
        let mut times = LoadTimes::default();
        let hour = Span::from_secs(3600);
        for nanos in [0, 1, 1000, 1001, 500_000] {
            times.add(Span::from_nanos(nanos));
        }
        times.add(hour);
        let found: Vec<_> = times.by_bound().filter(|(_, count)| *count > 0).collect();
        assert_eq!(found, [(1e-6, 3), (2e-6, 1), (512e-6, 1), (f64::INFINITY, 1)]);
        assert_eq!((times.count(), times.sum()), (6, hour + Span::from_nanos(502_002)));
        assert_eq!(times.with(&times).count(), 12);
    }
}

//! The request times of a switch driver.

use causeway_types::Span;

use crate::driver::{Request, Update};

/// The cost of requests, in model time.
///
/// # Sources of the figures of [`Timing::PAPER`]
///
/// *Reading an entry*, from figure 6 of HiP4-UPF. With the baseline a reader goes over both accounting tables in a time
/// T, and reads for a fraction beta of all time. A threshold is reached at any moment of the cycle of T / beta; it is
/// noticed half a cycle later, and reported when the pass over its table ends, T / 4 later: T (1 / (2 beta) + 1/4). The
/// means of 3.9 s at 25 % and 1.9 s at 75 % give 1.7 s and 2.1 s. The figure does not state the number of rules; with
/// the most that the baseline holds, 84,000 UEs with two rules each in both tables, 1.9 s are 5.7 us for each entry.
///
/// *A call that reads*, from figure 12. The single thread reads 100 entries, of each table, before it checks for
/// handovers; the median wait of these is half of that, 8 ms more than the 1 ms without readers. 16 ms for two calls of
/// 100 entries are 8 ms each, of which the entries are 0.6 ms. The rest is the cost of the call, independent of its
/// entries.
///
/// *Writing.* The figures give only bounds: the 1 ms of a handover in figure 12, and the 2,713 handovers per second of
/// table 4, are those of both controllers, their sockets and the driver together. So there are two sets.
/// [`Timing::PAPER`] takes the time of an entry to be the same in both directions, with 0.1 ms for a batch.
/// [`Timing::PAPER_ALL_DRIVER`] attributes all of table 4 to the driver: a deregistration deletes two entries in 0.367
/// ms, a registration inserts six in 0.931 ms; so a batch is 0.085 ms and an entry 0.141 ms, and the handover of one
/// modification and two insertions leaves 0.01 ms for a modification.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Timing {
    /// Each call that reads.
    pub read_call: Span,
    /// Each entry, counter or cell of a register that is read.
    pub read_entry: Span,
    /// Each batch that is written.
    pub write_call: Span,
    /// Each entry that is inserted or deleted, and each meter or cell of a register that is set.
    pub write_entry: Span,
    /// Each entry that is modified.
    pub modify_entry: Span,
}

impl Timing {
    /// The driver of the paper, as far as its figures determine it.
    pub const PAPER: Self = Self {
        read_call: Span::from_micros(7400),
        read_entry: Span::from_nanos(5700),
        write_call: Span::from_micros(100),
        write_entry: Span::from_nanos(5700),
        modify_entry: Span::from_nanos(5700),
    };

    /// The same, with the slowest writes that are consistent with the paper.
    pub const PAPER_ALL_DRIVER: Self = Self {
        write_call: Span::from_micros(85),
        write_entry: Span::from_micros(141),
        modify_entry: Span::from_micros(10),
        ..Self::PAPER
    };

    /// All requests take no time.
    pub const INSTANT: Self = Self {
        read_call: Span::ZERO,
        read_entry: Span::ZERO,
        write_call: Span::ZERO,
        write_entry: Span::ZERO,
        modify_entry: Span::ZERO,
    };

    /// The duration of a request once it has its tables; `entries` is the number of entries of a table that is read as
    /// a whole.
    pub(super) fn of(&self, request: &Request, entries: usize) -> Span {
        match request {
            Request::Write(updates) => {
                self.write_call + updates.iter().map(|update| self.update(update)).sum()
            }
            Request::ReadDirect(keys) => self.until_read(keys.len()),
            Request::ReadIndexed { indices, .. } | Request::ReadRegister { indices, .. } => {
                self.until_read(indices.len())
            }
            Request::ReadEntries { .. } => self.until_read(entries),
            Request::PacketOut(_) => Span::ZERO,
        }
    }

    /// The time after the start of a call at which it has read this many entries.
    pub(super) fn until_read(&self, entries: usize) -> Span {
        self.read_call + self.read_entry.saturating_mul(u32::try_from(entries).unwrap_or(u32::MAX))
    }

    const fn update(&self, update: &Update) -> Span {
        match update {
            Update::Modify(_) => self.modify_entry,
            Update::Insert(_) | Update::Delete(_) | Update::SetMeter { .. } | Update::SetRegister { .. } => {
                self.write_entry
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the workloads from which the figures are derived.
    // Output: the values of the paper: the means of figure 6, the wait of figure 12, the rates of table 4.
    #[test]
    fn the_figures_of_the_paper_follow() {
        let near = |ours: f64, paper: f64, percent: f64| (ours / paper - 1.0).abs() * 100.0 < percent;
        let both_tables = 2.0 * Timing::PAPER.until_read(168_000).as_secs_f64();
        let report = |beta: f64| both_tables * (0.5 / beta + 0.25);
        assert!(
            near(report(0.25), 3.9, 15.0) && near(report(0.75), 1.9, 15.0),
            "{} {}",
            report(0.25),
            report(0.75)
        );

        let chunk = 2.0 * Timing::PAPER.until_read(100).as_secs_f64();
        assert!(near(1e-3 + chunk / 2.0, 9e-3, 5.0), "{chunk}");

        let Timing { write_call, write_entry, modify_entry, .. } = Timing::PAPER_ALL_DRIVER;
        let rate = |written: u32, modified: u32| {
            1.0 / (write_call + write_entry * written + modify_entry * modified).as_secs_f64()
        };
        assert!(
            near(rate(6, 0), 1074.0, 3.0) && near(rate(2, 0), 2725.0, 3.0) && near(rate(2, 1), 2713.0, 3.0)
        );
    }
}

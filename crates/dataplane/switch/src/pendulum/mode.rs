//! How readers and the writer share the tables.

use causeway_types::Span;

/// The access mode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Mode {
    /// Two partitions on each side, a reader for each side, and a writer: each waits for a swap of roles at most. A
    /// pass reads a limited number of entries.
    Pendulum {
        /// Entries of one pass; the paper has 10,000.
        batch: usize,
    },
    /// One partition, one reader for both sides, and a writer: a pass reads a whole table, and writes wait for it. Then
    /// the reader sleeps, so that it reads for this fraction of the time (above 0, at most 1): beta in section 3.2.
    Baseline {
        /// Fraction of the time spent reading.
        beta: f64,
    },
    /// One partition and one thread: it carries out writes while there are any, and otherwise reads a few entries.
    SingleThread {
        /// Entries that are read between two checks for writes; the paper has 100.
        chunk: usize,
    },
    /// Counters by index instead of entries, a reader for each side, and a writer: there are no insertions, so neither
    /// side waits. A rule keeps its number when it is modified, and a counter continues from its value when its number
    /// gets another rule.
    Indexed {
        /// Counters of one pass, at most.
        batch: usize,
    },
}

impl Mode {
    /// The mode of the paper, with its batch.
    pub const PENDULUM: Self = Self::Pendulum { batch: 10_000 };

    /// Whether reads and writes run concurrently, in different partitions.
    pub(super) const fn is_pendulum(self) -> bool {
        matches!(self, Self::Pendulum { .. })
    }

    /// Entries of one pass of a reader that reads while the writer writes; otherwise the paper's value.
    pub(crate) const fn batch(self) -> usize {
        match self {
            Self::Pendulum { batch } | Self::Indexed { batch } => batch,
            Self::Baseline { .. } | Self::SingleThread { .. } => 10_000,
        }
    }

    /// Numbers are keys of entries; otherwise they are indices.
    pub(super) const fn is_keyed(self) -> bool {
        !matches!(self, Self::Indexed { .. })
    }

    /// Readers and the writer take turns.
    pub(super) const fn is_shared(self) -> bool {
        matches!(self, Self::Baseline { .. } | Self::SingleThread { .. })
    }

    /// Partitions of each side.
    pub(super) const fn partitions(self) -> usize {
        if self.is_pendulum() { 2 } else { 1 }
    }

    /// The most entries that one pass reads.
    pub(super) const fn budget(self) -> usize {
        match self {
            Self::Pendulum { batch } | Self::Indexed { batch } => batch,
            Self::Baseline { .. } => usize::MAX,
            Self::SingleThread { chunk } => chunk,
        }
    }

    /// How long the reader sleeps after a pass of this duration.
    pub(super) fn sleep_after(self, busy: Span) -> Span {
        match self {
            Self::Baseline { beta } if beta > 0.0 && beta < 1.0 => busy.mul_f64((1.0 - beta) / beta),
            _ => Span::ZERO,
        }
    }
}

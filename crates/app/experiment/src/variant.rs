//! Ways to reach the accounting tables that are compared.

use causeway_switch::pendulum::Mode;
use causeway_switch::pulling;

/// Which counters a pass reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Choice {
    /// All of the partition.
    Everything,
    /// One after the other.
    InTurns,
    /// The most urgent ones, as many as may be: the paper's selective pulling.
    Urgent,
    /// Those that are needed soon: a pass is short, so the next one comes soon.
    Needed(pulling::Config),
}

/// A way to reach the accounting tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variant {
    /// Its name in tables and charts.
    pub name: &'static str,
    /// Who waits for whom.
    pub mode: Mode,
    /// Which counters a pass reads.
    pub choice: Choice,
    /// Commands that one request writes, at most.
    pub joined: usize,
    /// Counters of a bank, where they are read by index: each bank is read by itself, beside the others.
    pub bank: u32,
}

impl Variant {
    /// The paper's HiP4-UPF: pendulum access, the 10,000 most urgent counters, one command at a time.
    pub const HIP4: Self =
        Self { name: "HiP4-UPF", mode: Mode::PENDULUM, choice: Choice::Urgent, joined: 1, bank: u32::MAX };

    /// HiP4-UPF without selective pulling: a pass reads a whole partition.
    pub const UNSELECTIVE: Self = Self {
        name: "HiP4-UPF, no selective pulling",
        mode: Mode::Pendulum { batch: usize::MAX },
        choice: Choice::Everything,
        joined: 1,
        bank: u32::MAX,
    };

    /// The paper's single thread.
    pub const SINGLE: Self = Self {
        name: "single thread",
        mode: Mode::SingleThread { chunk: 100 },
        choice: Choice::InTurns,
        joined: 1,
        bank: u32::MAX,
    };

    /// Ours with accounting tables as in the paper: passes are as short as what is urgent, and commands that wait are written together.
    pub const OURS: Self = Self {
        name: "Causeway, keyed",
        mode: Mode::PENDULUM,
        choice: Choice::Needed(pulling::Config::CAREFUL),
        joined: JOINED,
        bank: u32::MAX,
    };

    /// Ours with counters by index: nothing is inserted, so there are no partitions to take turns.
    pub const INDEXED: Self = Self {
        name: "Causeway, indexed",
        mode: Mode::Indexed { batch: 10_000 },
        choice: Choice::Needed(pulling::Config::CAREFUL),
        joined: JOINED,
        bank: u32::MAX,
    };

    /// The same in banks, as profile `direct` has them: a pass reads all banks at the same time.
    pub const BANKED: Self = Self { name: "Causeway, indexed in banks", bank: 1 << 15, ..Self::INDEXED };

    /// The paper's baseline: two threads, the reader reads for this fraction of the time.
    pub const fn baseline(name: &'static str, beta: f64) -> Self {
        Self { name, mode: Mode::Baseline { beta }, choice: Choice::Everything, joined: 1, bank: u32::MAX }
    }

    /// Numbers are indices of counters, not keys of entries.
    pub const fn is_indexed(&self) -> bool {
        matches!(self.mode, Mode::Indexed { .. })
    }

    /// Each side has two partitions.
    pub const fn has_partitions(&self) -> bool {
        matches!(self.mode, Mode::Pendulum { .. })
    }
}

/// Commands that one request writes, at most.
const JOINED: usize = 16;

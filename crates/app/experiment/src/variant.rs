//! The compared modes of access to the accounting tables.

use causeway_switch::pendulum::Mode;
use causeway_switch::pulling;

/// The counters that a pass reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CounterSelection {
    /// All of the partition.
    All,
    /// In turn.
    RoundRobin,
    /// The most urgent ones, up to the size of a pass: the paper's selective pulling.
    Urgent,
    /// Those that are needed soon: a pass is short, so the next one comes soon.
    Needed(pulling::Config),
}

/// A mode of access to the accounting tables.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Variant {
    /// Its name in tables and charts.
    pub name: &'static str,
    /// How readers and the writer share the tables.
    pub mode: Mode,
    /// The counters that a pass reads.
    pub choice: CounterSelection,
    /// Commands that one request writes, at most.
    pub joined: usize,
    /// Counters of a bank, if they are read by index: banks are read concurrently.
    pub bank: u32,
}

impl Variant {
    /// The paper's HiP4-UPF: pendulum access, the 10,000 most urgent counters, one command at a time.
    pub const HIP4: Self = Self {
        name: "HiP4-UPF",
        mode: Mode::PENDULUM,
        choice: CounterSelection::Urgent,
        joined: 1,
        bank: u32::MAX,
    };

    /// HiP4-UPF without selective pulling: a pass reads a whole partition.
    pub const UNSELECTIVE: Self = Self {
        name: "HiP4-UPF, no selective pulling",
        mode: Mode::Pendulum { batch: usize::MAX },
        choice: CounterSelection::All,
        joined: 1,
        bank: u32::MAX,
    };

    /// The paper's single thread.
    pub const SINGLE: Self = Self {
        name: "single thread",
        mode: Mode::SingleThread { chunk: 100 },
        choice: CounterSelection::RoundRobin,
        joined: 1,
        bank: u32::MAX,
    };

    /// Causeway with accounting tables as in the paper: passes are limited to urgent counters, and waiting commands are
    /// written together.
    pub const CAUSEWAY: Self = Self {
        name: "Causeway, keyed",
        mode: Mode::PENDULUM,
        choice: CounterSelection::Needed(pulling::Config::CAREFUL),
        joined: JOINED,
        bank: u32::MAX,
    };

    /// Causeway with counters by index: there are no insertions, so no partitions that swap roles.
    pub const INDEXED: Self = Self {
        name: "Causeway, indexed",
        mode: Mode::Indexed { batch: 10_000 },
        choice: CounterSelection::Needed(pulling::Config::CAREFUL),
        joined: JOINED,
        bank: u32::MAX,
    };

    /// The same in banks, as in profile `direct`: a pass reads all banks concurrently.
    pub const BANKED: Self = Self { name: "Causeway, indexed in banks", bank: 1 << 15, ..Self::INDEXED };

    /// The paper's baseline: two threads, the reader reads for this fraction of the time.
    pub const fn baseline(name: &'static str, beta: f64) -> Self {
        Self { name, mode: Mode::Baseline { beta }, choice: CounterSelection::All, joined: 1, bank: u32::MAX }
    }

    /// Numbers are indices of counters, not keys of entries.
    pub const fn is_indexed(&self) -> bool {
        matches!(self.mode, Mode::Indexed { .. })
    }

    /// Whether each side has two partitions.
    pub const fn has_partitions(&self) -> bool {
        matches!(self.mode, Mode::Pendulum { .. })
    }
}

/// The meaning of a name in a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GlossaryEntry {
    /// The name.
    pub name: &'static str,
    /// Its meaning.
    pub about: &'static str,
}

/// All names of variants.
pub(crate) const GLOSSARY: [GlossaryEntry; 7] = [
    GlossaryEntry {
        name: "baseline, beta",
        about: "The paper's baseline: a reader and a writer take turns at one table on each side; beta is the fraction of time that it is read. \
                A pass reads all entries.",
    },
    GlossaryEntry {
        name: Variant::SINGLE.name,
        about: "The paper's: one thread carries out waiting writes, then reads 100 entries of each table, in turn.",
    },
    GlossaryEntry {
        name: Variant::UNSELECTIVE.name,
        about: "Pendulum access: each side has two partitions, and one is read while the other takes entries. A pass reads all of a partition.",
    },
    GlossaryEntry {
        name: Variant::HIP4.name,
        about: "Pendulum access and selective pulling: a pass reads the 10,000 entries that are needed first. One command is written at a time.",
    },
    GlossaryEntry {
        name: Variant::CAUSEWAY.name,
        about: "Causeway with the paper's tables: a pass reads the entries that are needed soon, at most 10,000. Up to 16 waiting commands are written \
                together.",
    },
    GlossaryEntry {
        name: Variant::INDEXED.name,
        about: "Causeway with one array of counters on each side, by rule number: there are no insertions for counting, and no partitions.",
    },
    GlossaryEntry {
        name: Variant::BANKED.name,
        about: "The same in banks of 32,768 counters for each direction, as profile direct has them; a pass reads all of its banks concurrently.",
    },
];

/// Commands that one request writes, at most.
const JOINED: usize = 16;

//! A table of a switch program, by what matters for its place: keys, action data, counters, meters.

use std::fmt;

/// The half of the pipeline that a table runs in. Both share the stages and their memories.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
pub enum Gress {
    /// Before the traffic manager.
    Ingress,
    /// After it.
    Egress,
}

impl fmt::Display for Gress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        })
    }
}

/// One field of a key. Tables of a stage that match the same field share its place on the crossbar.
#[derive(Clone, Debug, Eq, PartialEq, Hash)]
pub struct Field {
    /// Its name in the program.
    pub name: &'static str,
    /// Its width in bits, 1 to 128.
    pub bits: u32,
}

impl Field {
    /// The octets that it takes up on the crossbar.
    pub const fn octets(&self) -> u32 {
        self.bits.div_ceil(8)
    }
}

/// How a table finds its entry.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Match {
    /// By a hash of the key, which is stored with the entry: SRAM.
    Exact(Vec<Field>),
    /// By value and mask: TCAM.
    Ternary(Vec<Field>),
    /// By the key itself as an address (hash-action): nothing is stored but action data and counters. It has one
    /// action, 2^(key bits) entries, and cannot be spread over stages.
    Index(Vec<Field>),
    /// Without a key.
    Always,
}

impl Match {
    /// The fields of the key.
    pub fn fields(&self) -> &[Field] {
        match self {
            Self::Exact(fields) | Self::Ternary(fields) | Self::Index(fields) => fields,
            Self::Always => &[],
        }
    }

    /// The width of the key in bits.
    pub fn bits(&self) -> u32 {
        self.fields().iter().map(|field| field.bits).sum()
    }

    /// The width of the key in octets of the crossbar.
    pub fn octets(&self) -> u32 {
        self.fields().iter().map(Field::octets).sum()
    }

    /// Whether the table may be spread over stages.
    pub const fn splits(&self) -> bool {
        matches!(self, Self::Exact(_) | Self::Ternary(_))
    }
}

/// A counter of packets and octets for each entry, two in a word (28 and 36 bits).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Counter;

impl Counter {
    /// Counters in one word.
    pub const PER_WORD: u32 = 2;
}

/// A two-rate three-colour meter for each entry, one in a word.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Meter;

impl Meter {
    /// Meters whose colours one word of a map RAM keeps.
    pub const COLORS_PER_WORD: u32 = 4;
}

/// A condition around a table: which, and the way that leads to the table. Tables that stand on different ways of one
/// condition exclude each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Branch {
    /// The condition.
    pub on: &'static str,
    /// The way.
    pub way: u16,
}

/// A table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// Name, unique in the pipeline.
    pub name: String,
    /// Where it runs.
    pub gress: Gress,
    /// How an entry is found.
    pub matching: Match,
    /// Entries that it must hold.
    pub entries: u32,
    /// The operands of each action that an entry may name, in bits, as wide as their containers: 8, 16, 32 or a
    /// multiple of 8 for what several containers get (constants that are too long for an instruction).
    pub actions: Vec<Vec<u32>>,
    /// Counters, one for each entry.
    pub counter: Option<Counter>,
    /// Meters, one for each entry.
    pub meter: Option<Meter>,
    /// The conditions around it.
    pub path: Vec<Branch>,
    /// The stage that the program asks for: not before it, and there before tables without one.
    pub stage: Option<usize>,
}

impl Table {
    /// A table without actions that have operands, counters, meters or conditions.
    pub fn new(name: impl Into<String>, gress: Gress, matching: Match, entries: u32) -> Self {
        Self {
            name: name.into(),
            gress,
            matching,
            entries,
            actions: vec![Vec::new()],
            counter: None,
            meter: None,
            path: Vec::new(),
            stage: None,
        }
    }

    /// With these actions.
    #[must_use]
    pub fn actions(mut self, actions: &[&[u32]]) -> Self {
        self.actions = actions.iter().map(|action| action.to_vec()).collect();
        self
    }

    /// With a counter for each entry.
    #[must_use]
    pub fn counted(mut self) -> Self {
        self.counter = Some(Counter);
        self
    }

    /// With a meter for each entry.
    #[must_use]
    pub fn metered(mut self) -> Self {
        self.meter = Some(Meter);
        self
    }

    /// Under one more condition.
    #[must_use]
    pub fn when(mut self, on: &'static str, way: u16) -> Self {
        self.path.push(Branch { on, way });
        self
    }

    /// With a stage that the program asks for.
    #[must_use]
    pub fn at_stage(mut self, stage: Option<usize>) -> Self {
        self.stage = stage;
        self
    }

    /// Whether no packet runs through both: they are in different halves, or on different ways of one condition.
    pub fn excludes(&self, other: &Self) -> bool {
        let apart = |a: &Branch| other.path.iter().any(|b| a.on == b.on && a.way != b.way);
        self.gress != other.gress || self.path.iter().any(apart)
    }
}

//! A table of a switch program, with the properties that determine its placement: keys, action data, counters, meters.

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

/// The match kind of a table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Match {
    /// By a hash of the key, which is stored with the entry: SRAM.
    Exact(Vec<Field>),
    /// By value and mask: TCAM.
    Ternary(Vec<Field>),
    /// By the key itself as an address (hash-action): only action data and counters are stored. It has one action,
    /// 2^(key bits) entries, and cannot be spread over stages.
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
    /// Meters whose colours fit into one word of a map RAM.
    pub const COLORS_PER_WORD: u32 = 4;
}

/// A condition around a table: its name, and the branch of the table. Tables on different branches of one condition
/// exclude each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Branch {
    /// The condition.
    pub on: &'static str,
    /// The branch.
    pub way: u16,
}

/// A table.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Table {
    /// Name, unique in the pipeline.
    pub name: String,
    /// Its half of the pipeline.
    pub gress: Gress,
    /// Its match kind.
    pub matching: Match,
    /// Its size in entries.
    pub entries: u32,
    /// The operands of each action of an entry, in bits, as wide as their containers: 8, 16, 32 or a multiple of 8 for
    /// values in several containers (constants that are too long for an instruction). One that shares its container with
    /// nothing may have its own width.
    pub actions: Vec<Vec<u32>>,
    /// Counters, one for each entry.
    pub counter: Option<Counter>,
    /// Meters, one for each entry.
    pub meter: Option<Meter>,
    /// The conditions around it.
    pub path: Vec<Branch>,
    /// The stage that the program requests: the table is not placed before it, and in it before tables without a
    /// request.
    pub stage: Option<usize>,
}

impl Table {
    /// A table without operands, counters, meters or conditions.
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

    /// With a stage that the program requests.
    #[must_use]
    pub fn at_stage(mut self, stage: Option<usize>) -> Self {
        self.stage = stage;
        self
    }

    /// Whether no packet executes both: they are in different halves, or on different branches of one condition.
    pub fn excludes(&self, other: &Self) -> bool {
        let apart = |a: &Branch| other.path.iter().any(|b| a.on == b.on && a.way != b.way);
        self.gress != other.gress || self.path.iter().any(apart)
    }
}

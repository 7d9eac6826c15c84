//! The interface of a P4 program to its controller.

/// One profile of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contract {
    /// As in `p4/README.md`, such as `hip4` or `hip4-vxlan`.
    pub profile: &'static str,
    /// In the order of their ids.
    pub tables: &'static [Table],
    /// Each action once, in the order of their ids.
    pub actions: &'static [Action],
    /// Counters addressed by index, and those of tables' entries.
    pub counters: &'static [Counter],
    /// Meters addressed by index.
    pub meters: &'static [Meter],
    /// Registers, which packets read and write.
    pub registers: &'static [Register],
    /// Indices of the counter `drops`.
    pub drop_reasons: &'static [Reason],
    /// Reasons in the CPU port's header from the switch.
    pub punt_reasons: &'static [Reason],
    /// Commands in the CPU port's header to the switch.
    pub cpu_commands: &'static [Reason],
}

/// A match-action table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Table {
    /// P4Runtime id: the type in the upper eight bits.
    pub id: u32,
    /// Unique in the program, without the names of the controls around it.
    pub name: &'static str,
    /// Entries, with the sizes for which the P4Info was compiled.
    pub size: u64,
    /// In the order of the program.
    pub keys: &'static [Key],
    /// Ids of the actions that an entry may have.
    pub actions: &'static [u32],
    /// Its entries are part of the program.
    pub is_const: bool,
}

/// A key of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Key {
    /// Unique in its table.
    pub id: u32,
    /// Unique in its table.
    pub name: &'static str,
    /// In bits.
    pub width: u32,
    /// How entries match it.
    pub kind: MatchKind,
}

/// How a key is matched.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MatchKind {
    /// Every bit.
    Exact,
    /// The first bits.
    Lpm,
    /// The bits of a mask.
    Ternary,
}

/// An action, with its parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Action {
    /// P4Runtime id.
    pub id: u32,
    /// Unique in the program.
    pub name: &'static str,
    /// In the order of the program.
    pub params: &'static [Field],
}

/// A parameter of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// Unique in its action.
    pub id: u32,
    /// Unique in its action.
    pub name: &'static str,
    /// In bits.
    pub width: u32,
}

/// Counters of packets, octets, or both.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counter {
    /// P4Runtime id.
    pub id: u32,
    /// Unique in the program.
    pub name: &'static str,
    /// What is counted.
    pub unit: Unit,
    /// The number of counters; that of the table's entries for counters of entries.
    pub size: u64,
    /// The table whose entries are counted.
    pub table: Option<u32>,
}

/// What a counter counts or a meter measures.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Octets of frames.
    Bytes,
    /// Both.
    Both,
}

/// trTCM meters (RFC 2698) addressed by index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Meter {
    /// P4Runtime id.
    pub id: u32,
    /// Unique in the program.
    pub name: &'static str,
    /// What is measured.
    pub unit: Unit,
    /// The number of meters; index 0 is unused.
    pub size: u64,
}

/// An array of cells that packets read and write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Register {
    /// P4Runtime id.
    pub id: u32,
    /// Unique in the program.
    pub name: &'static str,
    /// The number of cells.
    pub size: u64,
    /// The widths of a cell's words in bits: one or two words of at most 32.
    pub words: &'static [u32],
}

/// A number with a name in the contract.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Reason {
    /// In small letters, as a label of metrics.
    pub name: &'static str,
    /// The number.
    pub value: u8,
}

impl Contract {
    /// The table of that name.
    pub fn table(&self, name: &str) -> Option<&'static Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The action of that name.
    pub fn action(&self, name: &str) -> Option<&'static Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// The name of an index of the counter `drops`; `None` for zero, which is no reason, and for indices without a
    /// name.
    pub fn drop_reason(&self, value: u8) -> Option<&'static str> {
        let named = |reason: &&Reason| reason.value == value && value != 0;
        self.drop_reasons.iter().find(named).map(|reason| reason.name)
    }
}

//! What a P4 program has, as its P4Info says it.

/// Tables, actions, counters and meters, each found by its P4Runtime id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// All tables.
    pub tables: Vec<Table>,
    /// All actions.
    pub actions: Vec<Action>,
    /// Counters that are addressed by index, and those of tables' entries.
    pub counters: Vec<Counter>,
    /// Meters, addressed by index.
    pub meters: Vec<Meter>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// The most entries that it holds.
    pub size: usize,
    /// In the order of the program; together at most 256 bits.
    pub keys: Vec<Key>,
    /// Ids of the actions that entries may have.
    pub actions: Vec<u32>,
    /// Its entries are part of the program.
    pub is_const: bool,
}

/// A key of a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Key {
    /// Unique in its table.
    pub name: String,
    /// In bits, at most 128.
    pub width: u8,
    /// How entries match it.
    pub kind: MatchKind,
}

/// How a key is matched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MatchKind {
    /// All bits.
    Exact,
    /// The bits of a mask.
    Ternary,
    /// The first bits; the longest match wins. At most one key of a table.
    Lpm,
}

/// An action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// In the order of the program.
    pub parameters: Vec<Parameter>,
}

/// A parameter of an action.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parameter {
    /// Unique in its action.
    pub name: String,
    /// In bits, at most 128.
    pub width: u8,
}

/// Packet-and-byte counters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counter {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// How many there are, if they are addressed by index.
    pub size: usize,
    /// The table whose entries have one each.
    pub table: Option<u32>,
}

/// Two-rate three-colour meters of octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// How many there are.
    pub size: usize,
}

impl Program {
    /// The table of an id.
    pub fn table(&self, id: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The table of a name.
    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The action of an id.
    pub fn action(&self, id: u32) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }

    /// The entries of the table have counters.
    pub fn has_counters(&self, table: u32) -> bool {
        self.counters.iter().any(|counter| counter.table == Some(table))
    }
}

impl Table {
    /// Entries have a priority: one of the keys is ternary.
    pub fn has_priority(&self) -> bool {
        self.keys.iter().any(|key| key.kind == MatchKind::Ternary)
    }
}

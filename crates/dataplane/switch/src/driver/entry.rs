//! Entries of tables.

/// An entry of a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// What it matches.
    pub key: EntryKey,
    /// P4Runtime id of its action.
    pub action: u32,
    /// The action's parameters, in the order of the program.
    pub parameters: Vec<u128>,
}

/// What names an entry in its table, and says which packets match it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EntryKey {
    /// P4Runtime id of the table.
    pub table: u32,
    /// For each key of the table, in the order of the program.
    pub fields: Vec<FieldMatch>,
    /// Above zero in tables with ternary keys, where the highest wins; zero in others.
    pub priority: i32,
}

/// What a key must be.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldMatch {
    /// This.
    Exact(u128),
    /// This in the bits of the mask; no other bits are set.
    Ternary {
        /// The bits.
        value: u128,
        /// Which bits count.
        mask: u128,
    },
    /// This in the first bits; no other bits are set.
    Lpm {
        /// The bits.
        value: u128,
        /// How many count.
        prefix: u8,
    },
}

impl FieldMatch {
    /// A ternary key that may be anything.
    pub const ANY: Self = Self::Ternary { value: 0, mask: 0 };
}

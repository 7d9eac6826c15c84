//! Entries of tables.

/// An entry of a table.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Entry {
    /// The match key.
    pub key: EntryKey,
    /// P4Runtime id of its action.
    pub action: u32,
    /// The action's parameters, in the order of the program.
    pub parameters: Vec<u128>,
}

/// The identity of an entry in its table: which packets match it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct EntryKey {
    /// P4Runtime id of the table.
    pub table: u32,
    /// One match for each key of the table, in the order of the program.
    pub fields: Vec<FieldMatch>,
    /// Above zero in tables with ternary keys, where the highest priority wins; zero in others.
    pub priority: i32,
}

/// The match of one key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldMatch {
    /// Equal to this value.
    Exact(u128),
    /// Equal in the bits of the mask; no other bits are set.
    Ternary {
        /// The bits.
        value: u128,
        /// The bits that are compared.
        mask: u128,
    },
    /// Equal in the first bits; no other bits are set.
    Lpm {
        /// The bits.
        value: u128,
        /// The number of bits that are compared.
        prefix: u8,
    },
}

impl FieldMatch {
    /// A ternary match of any value.
    pub const ANY: Self = Self::Ternary { value: 0, mask: 0 };
}

//! The contents of a P4 program, from its P4Info.

use causeway_p4::Contract;
use causeway_p4::names::{key, parameter};

/// Tables, actions, counters, meters and registers, each found by its P4Runtime id.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Program {
    /// All tables.
    pub tables: Vec<Table>,
    /// All actions.
    pub actions: Vec<Action>,
    /// Counters by index, and counters of table entries.
    pub counters: Vec<Counter>,
    /// Meters, addressed by index.
    pub meters: Vec<Meter>,
    /// Registers, which packets read and write.
    pub registers: Vec<Register>,
}

/// A table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// The largest number of entries.
    pub size: usize,
    /// In the order of the program; together at most 384 bits.
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
    /// The first bits; the longest match wins. A table has at most one such key.
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
    /// The number of counters, if they are addressed by index.
    pub size: usize,
    /// The table whose entries have a counter each.
    pub table: Option<u32>,
}

/// Two-rate three-colour meters of octets.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Meter {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// The number of meters.
    pub size: usize,
}

/// An array of cells that packets read and write.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Register {
    /// P4Runtime id.
    pub id: u32,
    /// Alias.
    pub name: String,
    /// The number of cells.
    pub size: usize,
    /// The width of a cell's first word in bits, 1 to 32.
    pub first: u8,
    /// The width of its second word in bits, 1 to 32; `None`: a cell is one word.
    pub second: Option<u8>,
}

/// The words of a register's cell. The second one is zero in a register of one word.
pub type RegisterValue = [u32; 2];

impl Register {
    /// Whether a cell can have that value.
    pub fn holds(&self, [first, second]: RegisterValue) -> bool {
        let fits = |value: u32, width: u8| u128::from(value) & !super::ones(width) == 0;
        fits(first, self.first) && fits(second, self.second.unwrap_or(0))
    }
}

impl From<&Contract> for Program {
    /// The program of a profile of `p4/`.
    fn from(contract: &Contract) -> Self {
        Self {
            tables: contract.tables.iter().map(Table::from).collect(),
            actions: contract.actions.iter().map(Action::from).collect(),
            counters: contract.counters.iter().map(Counter::from).collect(),
            meters: contract.meters.iter().map(Meter::from).collect(),
            registers: contract.registers.iter().map(Register::from).collect(),
        }
    }
}

impl From<&causeway_p4::Table> for Table {
    fn from(table: &causeway_p4::Table) -> Self {
        let key = |key: &causeway_p4::Key| Key {
            name: key.name.to_owned(),
            width: width(key.width),
            kind: key.kind.into(),
        };
        Self {
            id: table.id,
            name: table.name.to_owned(),
            size: size(table.size),
            keys: table.keys.iter().map(key).collect(),
            actions: table.actions.to_vec(),
            is_const: table.is_const,
        }
    }
}

impl From<causeway_p4::MatchKind> for MatchKind {
    fn from(kind: causeway_p4::MatchKind) -> Self {
        match kind {
            causeway_p4::MatchKind::Exact => Self::Exact,
            causeway_p4::MatchKind::Lpm => Self::Lpm,
            causeway_p4::MatchKind::Ternary => Self::Ternary,
        }
    }
}

impl From<&causeway_p4::Action> for Action {
    fn from(action: &causeway_p4::Action) -> Self {
        let parameter =
            |field: &causeway_p4::Field| Parameter { name: field.name.to_owned(), width: width(field.width) };
        let parameters = action.params.iter().map(parameter).collect();
        Self { id: action.id, name: action.name.to_owned(), parameters }
    }
}

impl From<&causeway_p4::Counter> for Counter {
    fn from(counter: &causeway_p4::Counter) -> Self {
        let (id, table) = (counter.id, counter.table);
        Self { id, name: counter.name.to_owned(), size: size(counter.size), table }
    }
}

impl From<&causeway_p4::Meter> for Meter {
    fn from(meter: &causeway_p4::Meter) -> Self {
        Self { id: meter.id, name: meter.name.to_owned(), size: size(meter.size) }
    }
}

impl From<&causeway_p4::Register> for Register {
    fn from(register: &causeway_p4::Register) -> Self {
        let word = |place: usize| register.words.get(place).copied().map(width);
        Self {
            id: register.id,
            name: register.name.to_owned(),
            size: size(register.size),
            first: word(0).unwrap_or(0),
            second: word(1),
        }
    }
}

/// No field of a program is wider than 128 bits.
fn width(bits: u32) -> u8 {
    u8::try_from(bits).unwrap_or(u8::MAX)
}

fn size(entries: u64) -> usize {
    usize::try_from(entries).unwrap_or(usize::MAX)
}

impl Program {
    /// The table with an id.
    pub fn table(&self, id: u32) -> Option<&Table> {
        self.tables.iter().find(|table| table.id == id)
    }

    /// The table with a name.
    pub fn table_named(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The action with a name.
    pub fn action_named(&self, name: &str) -> Option<&Action> {
        self.actions.iter().find(|action| action.name == name)
    }

    /// The action with an id.
    pub fn action(&self, id: u32) -> Option<&Action> {
        self.actions.iter().find(|action| action.id == id)
    }

    /// The register with a name.
    pub fn register_named(&self, name: &str) -> Option<&Register> {
        self.registers.iter().find(|register| register.name == name)
    }

    /// Whether entries of the table have the number of a rule, in their key or for their action.
    pub fn has_rules(&self, table: &Table) -> bool {
        let has_number = |action: &u32| {
            let action = self.action(*action);
            action.is_some_and(|action| action.parameters.iter().any(|it| it.name == parameter::RULE))
        };
        table.keys.iter().any(|it| it.name == key::RULE) || table.actions.iter().any(has_number)
    }

    /// Whether the entries of the table have counters.
    pub fn has_counters(&self, table: u32) -> bool {
        self.counters.iter().any(|counter| counter.table == Some(table))
    }
}

impl Table {
    /// Whether entries have a priority: one of the keys is ternary.
    pub fn has_priority(&self) -> bool {
        self.keys.iter().any(|key| key.kind == MatchKind::Ternary)
    }
}

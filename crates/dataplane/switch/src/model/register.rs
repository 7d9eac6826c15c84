//! Registers with the semantics of a stateful ALU of Tofino 1.
//!
//! A cell is one or two words of at most 32 bits. A packet accesses an array once on its way through a side of the
//! switch, and the access is one step: it makes at most two comparisons, then changes each word, with at most two
//! numbers of the packet, and returns one number. Of two words each is compared once, one word alone may be compared twice. A word has two changes where one is made on a condition and the other on
//! its opposite. [`RegisterAction::new`] refuses an action that needs more.

use thiserror::Error;

use crate::driver::{Register, RegisterValue, WriteError, ones};

/// The most actions of a register's ALU.
pub const ACTIONS: usize = 4;

/// A word of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Word {
    /// The first one.
    First,
    /// The second one.
    Second,
}

/// A number that an action uses.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Operand {
    /// Part of the action.
    Constant(u32),
    /// A number of the packet: 0 or 1.
    Input(u8),
}

/// The relation of a word to a number, both unsigned unless said.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Relation {
    /// The word is equal.
    Equal,
    /// The word is less or equal.
    AtMost,
    /// The word is greater or equal.
    AtLeast,
    /// The word, as a time that wraps, is not after the number: their difference is zero or negative, as a signed number
    /// of the word's width.
    NotAfter,
    /// The word less the number, which wraps at the word's width, is at least this.
    AheadBy(u32),
    /// It is less than this.
    NotAheadBy(u32),
}

/// A comparison of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Comparison {
    /// The word.
    pub word: Word,
    /// How it compares.
    pub relation: Relation,
    /// The number on the right.
    pub with: Operand,
}

/// When a word is changed. Where one word is compared twice, the second comparison stands for that of the second word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Condition {
    /// Always.
    Always,
    /// The comparison of this word holds.
    If(Word),
    /// The comparison of this word does not hold.
    Unless(Word),
    /// Both comparisons hold.
    IfBoth,
    /// At least one of both comparisons does not hold.
    UnlessBoth,
}

/// The change of a word.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Change {
    /// The word becomes the number.
    Set(Operand),
    /// The number is added; the word wraps at its width.
    Add(Operand),
    /// The number is added, up to the word's highest value.
    AddSaturating(Operand),
    /// The number is added, both as signed ones of the word's width, within their range.
    AddSaturatingSigned(Operand),
    /// The number is subtracted, down to zero.
    SubtractSaturating(Operand),
    /// The bits of the number are set.
    Or(Operand),
}

/// A change of a word under a condition; otherwise the word stays.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Modification {
    /// The word.
    pub word: Word,
    /// When it is changed.
    pub when: Condition,
    /// The change.
    pub change: Change,
}

/// The number that an access returns.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Returned {
    /// The word before the access.
    Before(Word),
    /// The word after it.
    After(Word),
    /// One if the condition holds, otherwise zero.
    Whether(Condition),
    /// The word before the access if the condition holds, otherwise zero.
    BeforeIf(Word, Condition),
}

/// The side of the switch that a packet passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Side {
    /// Before the queues.
    Ingress,
    /// Behind them.
    Egress,
}

/// What a register cannot do.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum RegisterError {
    /// The program has no such register.
    #[error("there is no register {0:#x}")]
    Unknown(u32),
    /// An action compares a word of two twice, or a single one three times.
    #[error(
        "register {register}: an action compares its {word:?} word once more than the ALU can, which makes two comparisons: of each of two \
         words one"
    )]
    SecondComparison {
        /// Alias of the register.
        register: String,
        /// The word.
        word: Word,
    },
    /// An action changes a word twice, and both changes may be made.
    #[error(
        "register {register}: an action changes its {word:?} word twice; the ALU changes a word once, or on a \
         condition and on its opposite"
    )]
    SecondChange {
        /// Alias of the register.
        register: String,
        /// The word.
        word: Word,
    },
    /// An action uses a third number of the packet.
    #[error("register {register}: an action uses input {input}; the ALU has inputs 0 and 1")]
    ThirdInput {
        /// Alias of the register.
        register: String,
        /// The input.
        input: u8,
    },
    /// An action uses the second word of a register whose cells are one word.
    #[error("register {register}: an action uses the second word; its cells are one word")]
    NoSecondWord {
        /// Alias of the register.
        register: String,
    },
    /// A condition on a comparison that the action does not make.
    #[error("register {register}: a condition on the {word:?} word, which the action does not compare")]
    NoComparison {
        /// Alias of the register.
        register: String,
        /// The word.
        word: Word,
    },
    /// More actions than the ALU can hold.
    #[error("register {register}: {actions} actions; the ALU holds {ACTIONS}")]
    TooManyActions {
        /// Alias of the register.
        register: String,
        /// The number of actions.
        actions: usize,
    },
    /// A packet accesses a register twice on its way through a side.
    #[error(
        "register {register}: a packet accesses it twice; an array stands in one stage, which a packet passes once"
    )]
    SecondAccess {
        /// Alias of the register.
        register: String,
    },
    /// A register is accessed on both sides.
    #[error("register {register}: it is accessed on both sides of the queues; an array stands on one")]
    BothSides {
        /// Alias of the register.
        register: String,
    },
    /// An access beyond the array.
    #[error("register {register}: index {index} of {size} cells")]
    Index {
        /// Alias of the register.
        register: String,
        /// The index.
        index: u32,
        /// The number of cells.
        size: usize,
    },
}

/// What one access does with a cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegisterAction {
    register: u32,
    widths: [u8; 2],
    comparisons: [Option<Comparison>; 2],
    /// Of each word, at most two.
    changes: [[Option<Modification>; 2]; 2],
    returned: Returned,
}

impl RegisterAction {
    /// An action of a register.
    ///
    /// # Errors
    /// The action needs more than the ALU has.
    pub fn new(
        register: &Register,
        comparisons: &[Comparison],
        changes: &[Modification],
        returned: Returned,
    ) -> Result<Self, RegisterError> {
        let name = || register.name.clone();
        let mut action = Self {
            register: register.id,
            widths: [register.first, register.second.unwrap_or(0)],
            comparisons: [None; 2],
            changes: [[None; 2]; 2],
            returned,
        };
        for comparison in comparisons {
            let word = comparison.word;
            let [of_first, of_second] = &mut action.comparisons;
            let free = match (word, &of_first, register.second) {
                (Word::First, Some(_), None) | (Word::Second, ..) => of_second,
                (Word::First, ..) => of_first,
            };
            if free.replace(*comparison).is_some() {
                return Err(RegisterError::SecondComparison { register: name(), word });
            }
        }
        for change in changes {
            let word = change.word;
            let [one, other] = &mut action.changes[word.place()];
            match (one.as_ref(), other.as_ref()) {
                (None, _) => *one = Some(*change),
                (Some(one), None) if one.when.is_opposite(change.when) => *other = Some(*change),
                _ => return Err(RegisterError::SecondChange { register: name(), word }),
            }
        }
        action.check(register)?;
        Ok(action)
    }

    fn check(&self, register: &Register) -> Result<(), RegisterError> {
        let name = || register.name.clone();
        let compared = self.comparisons.iter().flatten();
        let changed = self.changes.iter().flatten().flatten();
        let operands =
            compared.clone().map(|it| it.with).chain(changed.clone().map(|it| it.change.operand()));
        for operand in operands {
            if let Operand::Input(input @ 2..) = operand {
                return Err(RegisterError::ThirdInput { register: name(), input });
            }
        }
        let returned = match self.returned {
            Returned::Before(word) | Returned::After(word) | Returned::BeforeIf(word, _) => Some(word),
            Returned::Whether(_) => None,
        };
        let words = compared.map(|it| it.word).chain(changed.clone().map(|it| it.word)).chain(returned);
        if register.second.is_none() && words.into_iter().any(|word| word == Word::Second) {
            return Err(RegisterError::NoSecondWord { register: name() });
        }
        let whether = match self.returned {
            Returned::Whether(condition) | Returned::BeforeIf(_, condition) => Some(condition),
            Returned::Before(_) | Returned::After(_) => None,
        };
        for condition in changed.map(|it| it.when).chain(whether) {
            let words: &[Word] = match condition {
                Condition::Always => &[],
                Condition::If(Word::First) | Condition::Unless(Word::First) => &[Word::First],
                Condition::If(Word::Second) | Condition::Unless(Word::Second) => &[Word::Second],
                Condition::IfBoth | Condition::UnlessBoth => &[Word::First, Word::Second],
            };
            if let Some(word) = words.iter().find(|word| self.comparisons[word.place()].is_none()) {
                return Err(RegisterError::NoComparison { register: name(), word: *word });
            }
        }
        Ok(())
    }

    /// Checks that the ALU of each register holds all of a program's actions.
    ///
    /// # Errors
    /// A register has more than [`ACTIONS`] different ones.
    pub fn check_actions(registers: &[Register], actions: &[Self]) -> Result<(), RegisterError> {
        for register in registers {
            let mut different: Vec<&Self> = Vec::new();
            for action in actions.iter().filter(|action| action.register == register.id) {
                if !different.contains(&action) {
                    different.push(action);
                }
            }
            if different.len() > ACTIONS {
                let actions = different.len();
                return Err(RegisterError::TooManyActions { register: register.name.clone(), actions });
            }
        }
        Ok(())
    }

    /// P4Runtime id of the register.
    pub const fn register(&self) -> u32 {
        self.register
    }

    /// Executes the action on a cell: the number that it returns.
    fn execute(&self, cell: &mut RegisterValue, inputs: [u32; 2]) -> u32 {
        let before = *cell;
        let holds = [0, 1].map(|place| {
            self.comparisons[place].is_some_and(|comparison| {
                let word = comparison.word.place();
                comparison.relation.holds(before[word], comparison.with.of(inputs), self.widths[word])
            })
        });
        for place in [0, 1] {
            for change in self.changes[place].iter().flatten().filter(|change| change.when.holds(holds)) {
                cell[place] = change.change.of(before[place], inputs, self.widths[place]);
            }
        }
        match self.returned {
            Returned::Before(word) => before[word.place()],
            Returned::After(word) => cell[word.place()],
            Returned::Whether(condition) => condition.holds(holds).into(),
            Returned::BeforeIf(word, condition) if condition.holds(holds) => before[word.place()],
            Returned::BeforeIf(..) => 0,
        }
    }
}

impl Word {
    const fn place(self) -> usize {
        self as usize
    }
}

impl Operand {
    const fn of(self, inputs: [u32; 2]) -> u32 {
        match self {
            Self::Constant(value) => value,
            Self::Input(0) => inputs[0],
            Self::Input(_) => inputs[1],
        }
    }
}

impl Relation {
    fn holds(self, word: u32, number: u32, width: u8) -> bool {
        let number = number & highest(width);
        match self {
            Self::Equal => word == number,
            Self::AtMost => word <= number,
            Self::AtLeast => word >= number,
            Self::NotAfter => {
                let difference = word.wrapping_sub(number) & highest(width);
                difference == 0 || difference >> (width - 1) == 1
            }
            Self::AheadBy(least) => word.wrapping_sub(number) & highest(width) >= least,
            Self::NotAheadBy(least) => word.wrapping_sub(number) & highest(width) < least,
        }
    }
}

impl Condition {
    /// Whether exactly one of both holds, whatever the comparisons say.
    fn is_opposite(self, other: Self) -> bool {
        match (self, other) {
            (Self::If(word), Self::Unless(other)) | (Self::Unless(word), Self::If(other)) => word == other,
            (Self::IfBoth, Self::UnlessBoth) | (Self::UnlessBoth, Self::IfBoth) => true,
            _ => false,
        }
    }

    const fn holds(self, [first, second]: [bool; 2]) -> bool {
        match self {
            Self::Always => true,
            Self::If(Word::First) => first,
            Self::If(Word::Second) => second,
            Self::Unless(Word::First) => !first,
            Self::Unless(Word::Second) => !second,
            Self::IfBoth => first && second,
            Self::UnlessBoth => !(first && second),
        }
    }
}

impl Change {
    const fn operand(self) -> Operand {
        match self {
            Self::Set(operand)
            | Self::Add(operand)
            | Self::AddSaturating(operand)
            | Self::AddSaturatingSigned(operand)
            | Self::SubtractSaturating(operand)
            | Self::Or(operand) => operand,
        }
    }

    fn of(self, word: u32, inputs: [u32; 2], width: u8) -> u32 {
        let most = highest(width);
        let number = self.operand().of(inputs) & most;
        match self {
            Self::Set(_) => number,
            Self::Add(_) => word.wrapping_add(number) & most,
            Self::AddSaturating(_) => word.saturating_add(number).min(most),
            Self::AddSaturatingSigned(_) => {
                let [word, number] = [word, number].map(|it| signed(it, width));
                // Within the range of a signed number of 32 bits.
                let sum = (word + number).clamp(-(1 << (width - 1)), (1 << (width - 1)) - 1);
                sum as u32 & most
            }
            Self::SubtractSaturating(_) => word.saturating_sub(number),
            Self::Or(_) => word | number,
        }
    }
}

/// A word as a signed number.
const fn signed(word: u32, width: u8) -> i64 {
    let unused = 64 - width as u32;
    ((word as i64) << unused) >> unused
}

/// The highest value of a word.
fn highest(width: u8) -> u32 {
    ones(width.min(32)) as u32
}

/// An array, and how packets have accessed it.
#[derive(Clone, Debug)]
pub(super) struct Array {
    info: Register,
    cells: Vec<RegisterValue>,
    /// The last pass that accessed it, and its side.
    last: Option<(u64, Side)>,
}

impl Array {
    pub(super) fn new(info: Register) -> Self {
        let cells = vec![[0; 2]; info.size];
        Self { info, cells, last: None }
    }

    pub(super) fn access(
        &mut self,
        pass: (u64, Side),
        action: &RegisterAction,
        index: u32,
        inputs: [u32; 2],
    ) -> Result<u32, RegisterError> {
        let name = || self.info.name.clone();
        if self.last == Some(pass) {
            return Err(RegisterError::SecondAccess { register: name() });
        }
        if self.last.is_some_and(|(_, side)| side != pass.1) {
            return Err(RegisterError::BothSides { register: name() });
        }
        let size = self.cells.len();
        let Some(cell) = self.cells.get_mut(index as usize) else {
            return Err(RegisterError::Index { register: name(), index, size });
        };
        self.last = Some(pass);
        Ok(action.execute(cell, inputs))
    }

    pub(super) fn get(&self, index: u32) -> Option<RegisterValue> {
        self.cells.get(index as usize).copied()
    }

    /// Sets a cell; returns its value before.
    pub(super) fn set(&mut self, index: u32, value: RegisterValue) -> Result<RegisterValue, WriteError> {
        let cell = self.cells.get_mut(index as usize);
        let cell = cell.ok_or(WriteError::UnknownRegister { register: self.info.id, index })?;
        if !self.info.holds(value) {
            return Err(WriteError::RegisterValue { register: self.info.name.clone(), value });
        }
        Ok(std::mem::replace(cell, value))
    }

    pub(super) fn clear(&mut self) {
        self.cells.fill([0; 2]);
    }
}

//! Checks of entries against the program.

use super::{Entry, EntryKey, FieldMatch, MatchKind, Parameter, Program, Table, WriteError};

impl Program {
    /// Checks that an entry of an update fits the program.
    ///
    /// # Errors
    /// The first violation.
    pub fn check_entry(&self, entry: &Entry) -> Result<(), WriteError> {
        let table = self.table(entry.key.table).ok_or(WriteError::UnknownTable(entry.key.table))?;
        self.check_action(table, entry.action, &entry.parameters)?;
        table.check_key(&entry.key)
    }

    /// Checks that entries of the table may have that action, with these parameters.
    ///
    /// # Errors
    /// They may not.
    pub fn check_action(&self, table: &Table, action: u32, parameters: &[u128]) -> Result<(), WriteError> {
        let known = table.actions.contains(&action).then(|| self.action(action)).flatten();
        let known = known.ok_or_else(|| WriteError::UnknownAction { table: table.name.clone(), action })?;
        let (expected, given) = (known.parameters.len(), parameters.len());
        if expected != given {
            return Err(WriteError::Arity { table: table.name.clone(), what: "parameters", expected, given });
        }
        let mut each = known.parameters.iter().zip(parameters);
        match each.find(|(parameter, value)| **value & !ones(parameter.width) != 0) {
            None => Ok(()),
            Some((Parameter { name, width }, _)) => Err(table.misfit(name, *width)),
        }
    }
}

impl Table {
    /// Checks that the key can be that of an entry.
    ///
    /// # Errors
    /// The table's entries are part of the program, or the priority, the number of fields or a field is not legal.
    pub fn check_key(&self, key: &EntryKey) -> Result<(), WriteError> {
        if self.is_const {
            return Err(WriteError::Const(self.name.clone()));
        }
        if self.has_priority() != (key.priority > 0) || key.priority < 0 {
            return Err(WriteError::Priority { table: self.name.clone(), priority: key.priority });
        }
        let (expected, given) = (self.keys.len(), key.fields.len());
        if expected != given {
            return Err(WriteError::Arity { table: self.name.clone(), what: "keys", expected, given });
        }
        let mut each = self.keys.iter().zip(&key.fields);
        match each.find(|(key, field)| !field.fits(key.kind, key.width)) {
            None => Ok(()),
            Some((key, _)) => Err(self.misfit(&key.name, key.width)),
        }
    }

    fn misfit(&self, name: &str, width: u8) -> WriteError {
        WriteError::Field { table: self.name.clone(), name: name.to_owned(), width }
    }
}

impl FieldMatch {
    /// The value and the mask of a key of `width` bits.
    pub const fn value_and_mask(self, width: u8) -> (u128, u128) {
        match self {
            Self::Exact(value) => (value, ones(width)),
            Self::Ternary { value, mask } => (value, mask),
            Self::Lpm { value, prefix } => (value, ones(width) & !ones(width.saturating_sub(prefix))),
        }
    }

    /// The match kind is right, the value fits the width, and no bits outside the mask are set.
    pub const fn fits(self, kind: MatchKind, width: u8) -> bool {
        let is_kind = match (kind, self) {
            (MatchKind::Exact, Self::Exact(_)) | (MatchKind::Ternary, Self::Ternary { .. }) => true,
            (MatchKind::Lpm, Self::Lpm { prefix, .. }) => prefix <= width,
            _ => false,
        };
        let (value, mask) = self.value_and_mask(width);
        is_kind && value & !mask == 0 && mask & !ones(width) == 0
    }
}

/// A value with this many low bits set.
pub(crate) const fn ones(width: u8) -> u128 {
    if width >= 128 { u128::MAX } else { (1 << width) - 1 }
}

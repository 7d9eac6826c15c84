//! Selection of a table's entries by a read.

use causeway_switch::driver::{Entry, EntryKey};

use crate::convert::Refusal;
use crate::info::Schema;
use crate::wire::TableEntry;

/// The selected entries.
pub(super) struct Wanted {
    pub(super) fields: Option<EntryKey>,
    priority: i32,
    action: Option<u32>,
    /// The request has properties that no entry has.
    nothing: bool,
}

impl Wanted {
    /// The selection of a read.
    pub(super) fn of(schema: &Schema, asked: &TableEntry) -> Result<Self, Refusal> {
        let fields = if asked.matches.is_empty() { None } else { Some(schema.key_of(asked)?) };
        let action = asked.action.as_ref().and_then(|action| action.action.as_ref());
        let nothing = asked.controller_metadata != 0 || !asked.metadata.is_empty();
        let action = action.map(|action| action.action_id).filter(|action| *action != 0);
        Ok(Self { fields, priority: asked.priority, action, nothing })
    }

    pub(super) fn is(&self, entry: &Entry) -> bool {
        !self.nothing
            && self.fields.as_ref().is_none_or(|key| key.fields == entry.key.fields)
            && (self.priority == 0 || self.priority == entry.key.priority)
            && self.action.is_none_or(|action| action == entry.action)
    }
}

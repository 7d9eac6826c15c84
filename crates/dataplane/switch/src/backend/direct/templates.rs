//! Templates by number: what simple rules do.

use std::collections::{BTreeSet, HashMap};

use causeway_dataplane::ApplyError;
use foldhash::fast::RandomState;

use crate::backend::layout::{Layout, TEMPLATES};
use crate::backend::template::Template;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};
use crate::ranges;

/// Numbers of templates that drop or buffer, and of those that forward; the last number of ten bits says something else.
const IDLE: std::ops::Range<u16> = 1..16;
const FORWARDING: std::ops::Range<u16> = 16..1023;

/// Which number each template has, and how many rules have it.
#[derive(Debug)]
pub(super) struct Templates {
    held: HashMap<Template, (u16, u32), RandomState>,
    free: [BTreeSet<u16>; 2],
}

impl Templates {
    pub(super) fn new() -> Self {
        Self { held: HashMap::default(), free: [IDLE.collect(), FORWARDING.collect()] }
    }

    /// The number of a template for one rule more, and what is to be written before it is used.
    pub(super) fn take(
        &mut self,
        layout: &Layout,
        template: Template,
    ) -> Result<(u16, Option<Update>), ApplyError> {
        if let Some((number, rules)) = self.held.get_mut(&template) {
            *rules += 1;
            return Ok((*number, None));
        }
        let kind = usize::from(template.deed.forwards());
        let table = TEMPLATES.get(ranges::Template::table(&template)).copied().unwrap_or("templates");
        let full = ApplyError::Full { table, capacity: [IDLE, FORWARDING][kind].len() as u64 };
        let number = self.free[kind].pop_first().ok_or(full)?;
        self.held.insert(template, (number, 1));
        Ok((number, entry(layout, template, number).map(Update::Insert)))
    }

    /// A rule has it no longer; what is to be written if no rule has.
    pub(super) fn leave(&mut self, layout: &Layout, template: Template) -> Option<Update> {
        let (number, rules) = self.held.get_mut(&template)?;
        *rules -= 1;
        let number = *number;
        if *rules > 0 {
            return None;
        }
        self.held.remove(&template);
        self.free[usize::from(template.deed.forwards())].insert(number);
        entry(layout, template, number).map(|entry| Update::Delete(entry.key))
    }

    /// All that there are.
    pub(super) fn entries(&self, layout: &Layout) -> Vec<Entry> {
        self.held.iter().filter_map(|(template, (number, _))| entry(layout, *template, *number)).collect()
    }
}

fn entry(layout: &Layout, template: Template, number: u16) -> Option<Entry> {
    let table = layout.table(TEMPLATES.get(ranges::Template::table(&template))?)?.id;
    let (action, parameters) = template.deed.action();
    let key = EntryKey { table, fields: vec![FieldMatch::Exact(number.into())], priority: 0 };
    layout.entry(key, action, &parameters)
}

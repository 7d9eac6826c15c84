//! Templates by number: the actions of simple rules.

use causeway_p4::names::table;
use std::collections::{BTreeSet, HashMap};

use causeway_dataplane::ApplyError;
use foldhash::fast::RandomState;

use crate::backend::layout::Layout;
use crate::backend::template::Template;
use crate::driver::{Entry, EntryKey, FieldMatch, Update};

/// Numbers of templates that drop or buffer; number 15 has another meaning.
const IDLE: std::ops::Range<u16> = 1..15;

/// Numbers of those that forward: ten bits for the downlink, six for the uplink.
const FORWARDING: [std::ops::Range<u16>; 2] = [16..1024, 16..64];

/// The number of each template, and its number of rules. Both directions have numbers of their own.
#[derive(Debug)]
pub(super) struct Templates {
    held: HashMap<Template, (u16, u32), RandomState>,
    free: [BTreeSet<u16>; 4],
}

impl Templates {
    pub(super) fn new() -> Self {
        Self { held: HashMap::default(), free: std::array::from_fn(|kind| numbers(kind).collect()) }
    }

    /// Whether the template has a number, or can get one.
    pub(super) fn has_room(&self, template: &Template) -> bool {
        self.held.contains_key(template) || !self.free[kind(template)].is_empty()
    }

    /// The number of a template for one more rule, and the writes that must precede its use.
    pub(super) fn take(
        &mut self,
        layout: &Layout,
        template: Template,
    ) -> Result<(u16, Option<Update>), ApplyError> {
        if let Some((number, rules)) = self.held.get_mut(&template) {
            *rules += 1;
            return Ok((*number, None));
        }
        let kind = kind(&template);
        let full = ApplyError::Full { table: table(&template), capacity: numbers(kind).len() as u64 };
        let number = self.free[kind].pop_first().ok_or(full)?;
        self.held.insert(template, (number, 1));
        Ok((number, entry(layout, template, number).map(Update::Insert)))
    }

    /// A rule no longer uses it; the write if it was the last.
    pub(super) fn leave(&mut self, layout: &Layout, template: Template) -> Option<Update> {
        let (number, rules) = self.held.get_mut(&template)?;
        *rules -= 1;
        let number = *number;
        if *rules > 0 {
            return None;
        }
        self.held.remove(&template);
        self.free[kind(&template)].insert(number);
        entry(layout, template, number).map(|entry| Update::Delete(entry.key))
    }

    /// The entries of all templates.
    pub(super) fn entries(&self, layout: &Layout) -> Vec<Entry> {
        self.held.iter().filter_map(|(template, (number, _))| entry(layout, *template, *number)).collect()
    }
}

/// The range of numbers for a template: by its action, and by direction.
fn kind(template: &Template) -> usize {
    usize::from(template.action.forwards()) | usize::from(template.is_uplink) << 1
}

fn numbers(kind: usize) -> std::ops::Range<u16> {
    if kind & 1 == 0 { IDLE } else { FORWARDING[kind >> 1].clone() }
}

fn table(template: &Template) -> &'static str {
    if template.is_uplink { table::UL_TEMPLATE } else { table::DL_TEMPLATE }
}

fn entry(layout: &Layout, template: Template, number: u16) -> Option<Entry> {
    let table = layout.table(table(&template))?.id;
    let (action, parameters) = template.action.action();
    let key = EntryKey { table, fields: vec![FieldMatch::Exact(number.into())], priority: 0 };
    layout.entry(key, action, &parameters)
}

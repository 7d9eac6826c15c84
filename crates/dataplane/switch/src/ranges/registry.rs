//! Allocation of rule numbers by template.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use foldhash::fast::RandomState;

use super::allocator::Allocator;
use super::bootstrap::layout;
use super::entry::ordered;
use super::owners::{TemplateId, TemplateOwners};
use super::tree::{Owner, Tree};
use super::{AllocateError, Block, BootstrapError, Entry, NotInUse, Write, cover};
use crate::SwitchPdr;

/// The common properties of rules: an action with its data, in one of the template tables.
pub trait Template: Clone + Eq + Hash {
    /// The number of its table, from zero; the same for equal templates.
    fn table(&self) -> usize;
}

/// A guarantee that this many rules of the template find a number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Minimum<T> {
    /// The template.
    pub template: T,
    /// The number of rules; zero has no effect.
    pub rules: u32,
}

/// A number for a rule.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Allocation<T> {
    /// The number.
    pub number: SwitchPdr,
    /// What to write to the template tables, in order, before a packet can have the number. Empty in most cases.
    pub writes: Vec<Write<T>>,
}

/// The numbers of all rules on the switch, each in a range of its template.
///
/// Templates with a minimum come from the configuration. All others are learnt from the rules that use them, and
/// removed with their last rule. A template that needs more than its ranges takes an unowned range, else a part of
/// another template's range that has no number in use. Its own ranges are never lent below its minimum. Once all
/// numbers are released, the initial division is restored.
///
/// Allocation and release are linear in the bits of a number; when a range must be divided, linear in the ranges.
#[derive(Clone, Debug)]
pub struct Ranges<T> {
    allocator: Allocator,
    ids: HashMap<T, TemplateId, RandomState>,
    /// The templates by their index among the owners.
    names: Vec<Option<T>>,
}

impl<T: Template> Ranges<T> {
    /// The most bits that a number can have.
    pub const MAX_BITS: u8 = 24;

    /// Divides the numbers of `bits` bits among the templates of a configuration, with the fewest entries in all tables
    /// together, and returns the writes for empty tables.
    ///
    /// `limits` is the size of each template table. One entry of each is kept free.
    ///
    /// # Errors
    /// Invalid bits, a template that is present twice, minima beyond the numbers, or a table that is too small.
    pub fn bootstrap(
        bits: u8,
        limits: &[usize],
        minima: &[Minimum<T>],
    ) -> Result<(Self, Vec<Write<T>>), BootstrapError> {
        if !(1..=Self::MAX_BITS).contains(&bits) {
            return Err(BootstrapError::Bits { bits });
        }
        let mut ids: HashMap<T, TemplateId, RandomState> = HashMap::default();
        let mut owners = TemplateOwners::default();
        let mut templates = Vec::with_capacity(minima.len());
        for (second, minimum) in minima.iter().enumerate() {
            let id = owners.add(minimum.template.table(), minimum.rules);
            if let Some(first) = ids.insert(minimum.template.clone(), id) {
                return Err(BootstrapError::Twice { first: first.place(), second });
            }
            templates.push(id);
        }
        let counts: Vec<u64> = minima.iter().map(|minimum| minimum.rules.into()).collect();
        let available = (1 << bits) - 1;
        let too_many = || BootstrapError::Numbers { needed: counts.iter().sum(), available, bits };
        let cover = cover(&counts, available).ok_or_else(too_many)?;

        let tree = Tree::new(bits, layout(bits, &templates, &cover));
        let allocator = Allocator::new(tree, owners, limits);
        if let Some((table, needed, limit)) = allocator.exceeded() {
            return Err(BootstrapError::Table { table, needed, limit });
        }
        let names = minima.iter().map(|minimum| Some(minimum.template.clone())).collect();
        let ranges = Self { allocator, ids, names };
        let writes = ranges.entries().map(Write::Insert).collect();
        Ok((ranges, writes))
    }

    /// Allocates a number for a rule of this template.
    ///
    /// # Errors
    /// No number is free for it, or its table has no space for another range. Nothing has changed then.
    pub fn allocate(&mut self, template: &T) -> Result<Allocation<T>, AllocateError> {
        let id = self.learn(template);
        let allocated = self.allocator.allocate(id);
        if allocated.is_err() {
            self.forget_if_idle(id);
        }
        let (number, writes) = allocated?;
        Ok(Allocation { number: SwitchPdr(number), writes: self.named(writes) })
    }

    /// Releases the number of a rule that no packet can have any more, and returns the writes to the template tables.
    ///
    /// # Errors
    /// The number is not in use. Nothing has changed then.
    pub fn release(&mut self, number: SwitchPdr) -> Result<Vec<Write<T>>, NotInUse> {
        let (id, writes) = self.allocator.release(number.0)?;
        let writes = self.named(writes);
        self.forget_if_idle(id);
        Ok(writes)
    }

    /// The template of a number in use.
    pub fn template_of(&self, number: SwitchPdr) -> Option<&T> {
        let tree = &self.allocator.tree;
        let leaf = tree.leaf_of(number.0).filter(|_| tree.live.contains(number.0))?;
        match leaf.owner {
            Owner::Template(id) => self.names.get(id.place())?.as_ref(),
            Owner::Free | Owner::Withheld => None,
        }
    }

    /// The entries that must be in the tables now, in the order of their numbers.
    pub fn entries(&self) -> impl Iterator<Item = Entry<T>> {
        self.allocator.entries().filter_map(|entry| {
            let template = self.names.get(entry.template.place())?.clone()?;
            Some(Entry { block: entry.block, template })
        })
    }

    /// The writes that correct tables with these entries, after a switch was lost or restarted: numbers in use get
    /// their entries first, and foreign entries are removed last.
    pub fn reconcile(&self, present: &[Entry<T>]) -> Vec<Write<T>> {
        let wanted: Vec<Entry<T>> = self.entries().collect();
        let is_used = |block| self.allocator.tree.live.count(block) > 0;
        let gone = without(present, &wanted);
        let made = without(&wanted, present);
        ordered(&gone, &made, is_used, T::table)
    }

    /// Each template, and the most numbers it had at the same time since it was learnt: a minimum for a later
    /// configuration.
    pub fn observed(&self) -> impl Iterator<Item = Minimum<&T>> {
        self.ids.iter().map(|(template, id)| Minimum { template, rules: self.allocator.owners.at(*id).peak })
    }

    /// The numbers in use, and all numbers.
    pub fn in_use(&self) -> (u32, u32) {
        self.allocator.in_use()
    }

    /// The owner of a template, as a new one if it is not known.
    fn learn(&mut self, template: &T) -> TemplateId {
        if let Some(id) = self.ids.get(template) {
            return *id;
        }
        let id = self.allocator.owners.add(template.table(), 0);
        match self.names.get_mut(id.place()) {
            Some(name) => *name = Some(template.clone()),
            None => self.names.push(Some(template.clone())),
        }
        self.ids.insert(template.clone(), id);
        id
    }

    fn forget_if_idle(&mut self, id: TemplateId) {
        if !self.allocator.owners.at(id).is_idle() {
            return;
        }
        if let Some(template) = self.names.get_mut(id.place()).and_then(Option::take) {
            self.ids.remove(&template);
            self.allocator.owners.forget(id);
        }
    }

    fn named(&self, writes: Vec<Write<TemplateId>>) -> Vec<Write<T>> {
        let name = |id: &TemplateId| self.names.get(id.place()).cloned().flatten();
        writes.into_iter().filter_map(|write| write.renamed(name)).collect()
    }
}

/// The entries that are not among the others.
fn without<T: Template>(entries: &[Entry<T>], others: &[Entry<T>]) -> Vec<Entry<T>> {
    let others: HashSet<(Block, &T)> = others.iter().map(|entry| (entry.block, &entry.template)).collect();
    entries.iter().filter(|entry| !others.contains(&(entry.block, &entry.template))).cloned().collect()
}

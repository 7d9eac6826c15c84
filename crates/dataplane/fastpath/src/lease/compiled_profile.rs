//! What sessions have in common that are treated alike.

use causeway_reference::lease::{GrantKey, LookupEntry, LookupKey, OffloadRule, OffloadSpec};
use causeway_types::Direction;

use super::compile::Compiler;
use super::layout::Layout;

/// The shape of one of them, ready to be written into lines.
#[derive(Debug)]
pub(crate) struct CompiledProfile {
    shape: OffloadSpec,
    /// Of uplink and downlink.
    layouts: [Layout; 2],
    /// Of each door; none where its packets come in by nothing that is known. The pattern is a user of each.
    programs: Vec<Option<u32>>,
}

impl CompiledProfile {
    /// Of this shape. `programs` are those of its doors, in their order.
    pub(super) fn new(shape: OffloadSpec, layouts: [Layout; 2], programs: Vec<Option<u32>>) -> Self {
        Self { shape, layouts, programs }
    }

    /// The shape of the session that it was made of.
    pub(super) const fn offload_spec(&self) -> &OffloadSpec {
        &self.shape
    }

    /// The doors of a direction, with their programs.
    pub(super) fn lookups(&self, direction: Direction) -> impl Iterator<Item = (&LookupEntry, Option<u32>)> {
        let lookups = self.shape.lookups.iter().zip(self.programs.iter().copied());
        lookups.filter(move |(lookup, _)| lookup.direction == direction)
    }

    /// Which rules of a direction have an account.
    pub(super) const fn layout(&self, direction: Direction) -> &Layout {
        let [uplink, downlink] = &self.layouts;
        match direction {
            Direction::Uplink => uplink,
            Direction::Downlink => downlink,
        }
    }

    /// How many accounts the rules of both directions have.
    pub(super) fn accounts(&self) -> usize {
        self.layouts.iter().map(|layout| layout.accounts.len()).sum()
    }

    /// A rule, and its number.
    pub(super) fn rule(&self, number: usize) -> Option<(u8, &OffloadRule)> {
        Some((u8::try_from(number).ok()?, self.shape.rules.get(number)?))
    }

    /// What grants for a rule are asked by.
    pub(super) fn key(&self, rule: u8) -> Option<&GrantKey> {
        self.shape.rules.get(usize::from(rule)).map(|rule| &rule.key)
    }

    /// Rules have their accounts, and doors their programs, in the same places.
    pub(super) fn has_same_layout(&self, other: &Self) -> bool {
        let has_program = |(one, other): (&Option<u32>, &Option<u32>)| one.is_some() == other.is_some();
        self.layouts == other.layouts
            && self.programs.len() == other.programs.len()
            && self.programs.iter().zip(&other.programs).all(has_program)
    }

    /// The programs that it uses.
    pub(super) fn programs(&self) -> impl Iterator<Item = u32> {
        self.programs.iter().copied().flatten()
    }
}

impl Compiler<'_> {
    /// What sessions of a shape have in common, with the programs of its doors.
    pub(crate) fn pattern(&mut self, shape: OffloadSpec) -> CompiledProfile {
        let layouts = [Direction::Uplink, Direction::Downlink].map(|direction| {
            let first = shape.lookups.iter().find(|lookup| lookup.direction == direction);
            let has_spare_teid = first.is_some_and(|lookup| !matches!(lookup.key, LookupKey::Tunnel { .. }));
            Layout::of(&shape, direction, has_spare_teid)
        });
        let mut programs = Vec::with_capacity(shape.lookups.len());
        for lookup in &shape.lookups {
            let layout = &layouts[lookup.direction as usize];
            programs.push(self.key_of(lookup).map(|_| self.program(&shape, lookup, layout)));
        }
        CompiledProfile::new(shape, layouts, programs)
    }
}

//! The compiled form that sessions of one profile share.

use causeway_slowpath::lease::{GrantKey, LookupEntry, LookupKey, OffloadRule, OffloadSpec};
use causeway_types::Direction;

use super::compile::Compiler;
use super::layout::Layout;

/// A compiled profile, from which sessions are written into flow entries.
#[derive(Debug)]
pub(crate) struct CompiledProfile {
    spec: OffloadSpec,
    /// The layouts of uplink and downlink.
    layouts: [Layout; 2],
    /// The program of each lookup key; `None` where no receive source has the key. The profile counts as a user of
    /// each.
    programs: Vec<Option<u32>>,
}

impl CompiledProfile {
    /// Compiles this specification. `programs` are those of its lookup keys, in their order.
    pub(super) fn new(spec: OffloadSpec, layouts: [Layout; 2], programs: Vec<Option<u32>>) -> Self {
        Self { spec, layouts, programs }
    }

    /// The specification of the session that it was compiled from.
    pub(super) const fn offload_spec(&self) -> &OffloadSpec {
        &self.spec
    }

    /// The lookup keys of a direction, with their programs.
    pub(super) fn lookups(&self, direction: Direction) -> impl Iterator<Item = (&LookupEntry, Option<u32>)> {
        let lookups = self.spec.lookups.iter().zip(self.programs.iter().copied());
        lookups.filter(move |(lookup, _)| lookup.direction == direction)
    }

    /// The account layout of a direction.
    pub(super) const fn layout(&self, direction: Direction) -> &Layout {
        let [uplink, downlink] = &self.layouts;
        match direction {
            Direction::Uplink => uplink,
            Direction::Downlink => downlink,
        }
    }

    /// The number of accounts of both directions.
    pub(super) fn accounts(&self) -> usize {
        self.layouts.iter().map(|layout| layout.accounts.len()).sum()
    }

    /// The rule with this account number, and its index.
    pub(super) fn rule(&self, number: usize) -> Option<(u8, &OffloadRule)> {
        Some((u8::try_from(number).ok()?, self.spec.rules.get(number)?))
    }

    /// The key by which grants for a rule are requested.
    pub(super) fn key(&self, rule: u8) -> Option<&GrantKey> {
        self.spec.rules.get(usize::from(rule)).map(|rule| &rule.key)
    }

    /// Whether both have the same accounts and the same lookup keys with programs.
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
    /// The compiled profile of a specification, with the programs of its lookup keys.
    pub(crate) fn compile_profile(&mut self, spec: OffloadSpec) -> CompiledProfile {
        let layouts = [Direction::Uplink, Direction::Downlink].map(|direction| {
            let first = spec.lookups.iter().find(|lookup| lookup.direction == direction);
            let has_spare_teid = first.is_some_and(|lookup| !matches!(lookup.key, LookupKey::Tunnel { .. }));
            Layout::of(&spec, direction, has_spare_teid)
        });
        let mut programs = Vec::with_capacity(spec.lookups.len());
        for lookup in &spec.lookups {
            let layout = &layouts[lookup.direction as usize];
            programs.push(self.key_of(lookup).map(|_| self.program(&spec, lookup, layout)));
        }
        CompiledProfile::new(spec, layouts, programs)
    }
}

//! Numbers for rules: from ranges by template, or the indices of their UE.

use causeway_switch::SwitchPdr;
use causeway_switch::driver::Update;
use causeway_switch::ranges::{Minimum, Ranges, Template, Write};

use super::program::{BITS, DOWNLINK_NUMBERS, TEMPLATES, template};
use crate::ExperimentError;

/// The number of gNBs of the workload.
pub(super) const GNBS: u32 = 200;

/// The template of rules: one for all uplink rules, and one for the downlink rules of each gNB.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Kind {
    Uplink,
    Downlink(u32),
}

impl Template for Kind {
    fn table(&self) -> usize {
        usize::from(*self != Self::Uplink)
    }
}

/// The numbers of all rules.
#[derive(Debug)]
pub(super) struct Numbers {
    /// `None` if numbers are indices.
    ranges: Option<Ranges<Kind>>,
}

impl Numbers {
    /// For this many UEs, with a quarter of the numbers spare; returns also the entries of the template tables.
    pub(super) fn new(ues: u32, is_indexed: bool) -> Result<(Self, Vec<Update>), ExperimentError> {
        if is_indexed {
            return Ok((Self { ranges: None }, Vec::new()));
        }
        let rules = ues + ues / 4;
        let downlink = |gnb| Minimum { template: Kind::Downlink(gnb), rules: rules.div_ceil(GNBS) };
        let uplink = Minimum { template: Kind::Uplink, rules };
        let minima: Vec<_> = std::iter::once(uplink).chain((0..GNBS).map(downlink)).collect();
        let (ranges, writes) = Ranges::bootstrap(BITS, &[2048, 4096], &minima)?;
        let updates = writes.iter().map(update).collect();
        Ok((Self { ranges: Some(ranges) }, updates))
    }

    /// Whether a rule's number changes with its template.
    pub(super) const fn are_keys(&self) -> bool {
        self.ranges.is_some()
    }

    /// A number for the uplink rule of a UE, and the writes that must precede its use.
    pub(super) fn uplink(&mut self, ue: u32) -> Result<(SwitchPdr, Vec<Update>), ExperimentError> {
        self.allocate(Kind::Uplink, ue)
    }

    /// The same for its downlink rule, for a gNB.
    pub(super) fn downlink(
        &mut self,
        ue: u32,
        gnb: u32,
    ) -> Result<(SwitchPdr, Vec<Update>), ExperimentError> {
        self.allocate(Kind::Downlink(gnb), DOWNLINK_NUMBERS + ue)
    }

    /// Releases the number; returns the writes.
    pub(super) fn release(&mut self, number: SwitchPdr) -> Vec<Update> {
        let released = self.ranges.as_mut().map(|ranges| ranges.release(number).unwrap_or_default());
        released.unwrap_or_default().iter().map(update).collect()
    }

    fn allocate(&mut self, kind: Kind, index: u32) -> Result<(SwitchPdr, Vec<Update>), ExperimentError> {
        let Some(ranges) = &mut self.ranges else { return Ok((SwitchPdr(index), Vec::new())) };
        let allocation = ranges.allocate(&kind)?;
        Ok((allocation.number, allocation.writes.iter().map(update).collect()))
    }
}

fn update(write: &Write<Kind>) -> Update {
    let entry = write.entry();
    let tunnel = match entry.template {
        Kind::Uplink => 0,
        Kind::Downlink(gnb) => gnb + 1,
    };
    let table = TEMPLATES[entry.template.table()];
    let written = template(table, entry.value(), entry.mask(BITS), entry.priority(), tunnel);
    match write {
        Write::Insert(_) => Update::Insert(written),
        Write::Modify(_) => Update::Modify(written),
        Write::Delete(_) => Update::Delete(written.key),
    }
}

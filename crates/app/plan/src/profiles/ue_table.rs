//! The tables of UEs and gNBs of Singh's thesis (section 2.3.3), by themselves: `p4/skeletons/ue_gnb.p4`.

use super::fields::{OPERAND_IPV4, OPERAND_TEID, UE_ADDRESS, key};
use crate::architecture::Architecture;
use crate::error::PlanError;
use crate::pipeline::{Dependency, Pipeline};
use crate::place::place_within;
use crate::table::Gress::{Egress, Ingress};
use crate::table::{Match, Table};

/// What a UE's entry has.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Entry {
    /// Method 1: the TEID and the address of the gNB.
    Address,
    /// Method 2: the TEID and the number of the gNB, of so many bits.
    Number(u32),
    /// Method 2 as its released program has it: the number alone.
    NumberAlone(u32),
}

/// How a UE's entry is found.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Found {
    /// By the UE's address.
    ByAddress,
    /// By the UE's address and a tenant of 8 bits.
    ByTenant,
    /// By the UE's number, of 21 bits, which a table of pools has found.
    ByNumber,
    /// At the UE's number, without a key, in pieces of 65,536, 65,536 and 32,768 entries.
    ByIndex,
}

/// The tables.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct UeTable {
    /// What a UE's entry has.
    pub entry: Entry,
    /// How it is found.
    pub found: Found,
}

/// Pools of UEs' addresses.
const POOLS: u32 = 512;
/// The bits of an index of each piece of a stage: `UES_OF_STAGE` of `p4/blocks/ue_gnb.p4`.
const PIECES: [u32; 3] = [16, 16, 15];
/// The entries of the pieces of a stage.
const OF_STAGE: u32 = (1 << PIECES[0]) + (1 << PIECES[1]) + (1 << PIECES[2]);
/// The step of the search for the largest table.
const STEP: u32 = 8192;

impl UeTable {
    /// The tables for so many UEs.
    ///
    /// # Errors
    /// [`PlanError`] when there is no UE.
    pub fn pipeline(&self, ues: u32) -> Result<Pipeline, PlanError> {
        let mut pipeline = Pipeline::default();
        let operands: &[u32] = match self.entry {
            Entry::Address => &[OPERAND_TEID, OPERAND_IPV4],
            Entry::Number(bits) => &[OPERAND_TEID, bits],
            Entry::NumberAlone(bits) => &[bits],
        };
        let tenant: &[(&str, u32)] = &[("tenant", 8)];
        let number = key(&[&[("ue", 21)]]);
        let ues_by = |matching| Table::new("ue_tunnels", Ingress, matching, ues).actions(&[operands]);
        let pools =
            Table::new("ue_numbers", Ingress, Match::Ternary(key(&[UE_ADDRESS])), POOLS).actions(&[&[32]]);
        match self.found {
            Found::ByAddress => pipeline.add(ues_by(Match::Exact(key(&[UE_ADDRESS]))), &[])?,
            Found::ByTenant => pipeline.add(ues_by(Match::Exact(key(&[tenant, UE_ADDRESS]))), &[])?,
            Found::ByNumber => {
                pipeline.add(pools, &[])?;
                pipeline.add(ues_by(Match::Exact(number)), &[("ue_numbers", Dependency::Match)])?;
            }
            Found::ByIndex => {
                pipeline.add(pools, &[])?;
                for stage in 0..ues.div_ceil(OF_STAGE) {
                    for (place, bits) in PIECES.into_iter().enumerate() {
                        let index = Match::Index(key(&[&[("ue", bits)]]));
                        let name = format!("ue_{stage}_{place}");
                        let way = (stage * 3) as u16 + place as u16;
                        let piece = Table::new(name, Ingress, index, 1 << bits).actions(&[operands]);
                        pipeline.add(piece.when("piece", way), &[("ue_numbers", Dependency::Match)])?;
                    }
                }
            }
        }
        // On the egress side, so it need not stand behind the UEs.
        let (bits, of_gnb): (u32, &[u32]) = match self.entry {
            Entry::Address => return Ok(pipeline),
            Entry::Number(bits) => (bits, &[OPERAND_IPV4]),
            Entry::NumberAlone(bits) => (bits, &[OPERAND_TEID, OPERAND_IPV4]),
        };
        let gnbs = Table::new("gnb_addresses", Egress, Match::Exact(key(&[&[("gnb", bits)]])), 1 << bits);
        pipeline.add(gnbs.actions(&[of_gnb]), &[])?;
        Ok(pipeline)
    }

    /// The most UEs that fit, in steps of 8,192, or of a stage's pieces where entries have no key.
    ///
    /// # Errors
    /// As [`UeTable::pipeline`].
    pub fn largest(&self, arch: &Architecture) -> Result<u32, PlanError> {
        let step = if self.found == Found::ByIndex { OF_STAGE } else { STEP };
        // More than all blocks hold with five entries in a word.
        let (mut fit, mut over) = (0, arch.stages as u32 * arch.srams() * arch.sram_words * 5 / step);
        while fit + 1 < over {
            let middle = u32::midpoint(fit, over);
            let placed = place_within(arch, &self.pipeline(middle * step)?);
            if placed.is_some() { fit = middle } else { over = middle }
        }
        Ok(fit * step)
    }
}

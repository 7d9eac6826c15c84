//! The layouts of a table, and the blocks that each needs.

use super::companion_memory::{action_data, colors, counters, meters};
use super::operands::{Split, splits};
use super::words::packings;
use crate::architecture::Architecture;
use crate::table::{Match, Table};

/// Independent hashes of an exact table, with which nine entries of ten find a place without moving others.
const HASH_WAYS: u32 = 4;
/// Keys up to this width need no hash: the key is the address of a word.
const DIRECT_KEY_BITS: u32 = 10;

/// The storage of a table's keys.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Store {
    /// In SRAM words.
    Words {
        /// Entries that are packed together.
        entries: u32,
        /// Blocks of a packing.
        width: u32,
        /// Ways, the fewest rows of blocks of the table in a stage.
        ways: u32,
    },
    /// In TCAM blocks.
    Tcam {
        /// Adjacent blocks for the width of the key.
        width: u32,
        /// Bits that a match reads from SRAM; 0 for none.
        indirect: u32,
    },
    /// None: the key is the address, or there is no key.
    Unstored,
}

/// A layout of a table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Layout {
    /// The storage of the keys.
    pub store: Store,
    /// Bits of operands beside the match.
    pub immediate: u32,
    /// Octets of operands of each entry in separate blocks, a power of two; 0 for none.
    pub action_octets: u32,
}

/// The blocks of some entries of a table in a stage.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Demand {
    /// Capacity in entries.
    pub entries: u32,
    /// SRAM blocks for keys.
    pub match_srams: u32,
    /// SRAM blocks for action data.
    pub action_srams: u32,
    /// SRAM blocks that TCAM matches read.
    pub indirect_srams: u32,
    /// SRAM blocks, with their map RAMs, of the counter, including the spare one.
    pub counter_srams: u32,
    /// SRAM blocks, with their map RAMs, of the meter, including the spare one.
    pub meter_srams: u32,
    /// Map RAMs of the meter's colours.
    pub color_maps: u32,
    /// TCAM blocks.
    pub tcams: u32,
}

impl Demand {
    /// All SRAM blocks.
    pub const fn srams(&self) -> u32 {
        self.match_srams + self.action_srams + self.indirect_srams + self.counter_srams + self.meter_srams
    }

    /// All map RAMs.
    pub const fn map_rams(&self) -> u32 {
        self.counter_srams + self.meter_srams + self.color_maps
    }
}

/// The layouts of a table, those with fewer immediate bits first.
pub fn layouts(arch: &Architecture, table: &Table) -> Vec<Layout> {
    let number = action_bits(table.actions.len());
    splits(&table.actions).into_iter().flat_map(|split| stores(arch, table, split, number)).collect()
}

fn stores(arch: &Architecture, table: &Table, split: Split, number: u32) -> Vec<Layout> {
    let layout = |store| Layout { store, immediate: split.immediate, action_octets: split.octets };
    match &table.matching {
        Match::Exact(key) => packings(arch, key, split.immediate + number)
            .into_iter()
            .map(|packing| {
                let ways = if table.matching.bits() <= DIRECT_KEY_BITS { 1 } else { HASH_WAYS };
                layout(Store::Words { entries: packing.entries, width: packing.width, ways })
            })
            .collect(),
        Match::Ternary(_) => {
            let width = tcam_width(table.matching.octets());
            vec![layout(Store::Tcam { width, indirect: split.immediate + number })]
        }
        // There is no match to hold immediate bits.
        Match::Index(_) => (split.immediate == 0).then(|| layout(Store::Unstored)).into_iter().collect(),
        // The only action is the default action; its operands are always immediate.
        Match::Always => vec![Layout { store: Store::Unstored, immediate: 0, action_octets: 0 }],
    }
}

impl Layout {
    /// The blocks for at least `entries` entries. The capacity may be higher: blocks are filled.
    pub fn demand(&self, arch: &Architecture, table: &Table, entries: u32) -> Demand {
        let mut demand = Demand { entries, ..Demand::default() };
        match self.store {
            Store::Words { entries: together, width, ways } => {
                let rows = entries.div_ceil(together * arch.sram_words).max(ways);
                demand.entries = rows * together * arch.sram_words;
                demand.match_srams = rows * width;
            }
            Store::Tcam { width, indirect } => {
                let rows = entries.div_ceil(arch.tcam_entries);
                demand.entries = rows * arch.tcam_entries;
                demand.tcams = rows * width;
                demand.indirect_srams = indirect_srams(arch, demand.entries, indirect);
            }
            Store::Unstored => {}
        }
        demand.action_srams = action_data(arch, demand.entries, self.action_octets);
        if table.counter.is_some() {
            demand.counter_srams = counters(arch, demand.entries);
        }
        if table.meter.is_some() {
            demand.meter_srams = meters(arch, demand.entries);
            demand.color_maps = colors(arch, demand.entries);
        }
        demand
    }

    /// The increment in entries when the table is spread over stages.
    pub const fn step(&self, arch: &Architecture) -> u32 {
        match self.store {
            Store::Words { entries, .. } => entries * arch.sram_words,
            Store::Tcam { .. } | Store::Unstored => arch.tcam_entries,
        }
    }
}

/// Adjacent blocks for a key: two hold 11 octets, as they share one; the last is single if 6 octets are left.
const fn tcam_width(octets: u32) -> u32 {
    let (pairs, rest) = (octets / 11, octets % 11);
    match rest {
        0 if pairs > 0 => pairs * 2,
        0..=6 => pairs * 2 + 1,
        _ => pairs * 2 + 2,
    }
}

/// Blocks with the words that TCAM matches read: `bits` for each entry, rounded up to a power of two, 8 at least.
fn indirect_srams(arch: &Architecture, entries: u32, bits: u32) -> u32 {
    match bits {
        0 => 0,
        bits => entries.div_ceil(arch.sram_words * (arch.sram_bits / bits.next_power_of_two().max(8))),
    }
}

/// Bits of the action number for `actions` actions: an index of 8, beyond that an address of the instruction memory.
const fn action_bits(actions: usize) -> u32 {
    match actions {
        0 | 1 => 0,
        2 => 1,
        3 | 4 => 2,
        5..=8 => 3,
        _ => 6,
    }
}

#[cfg(test)]
mod tests {
    use super::{Demand, Layout, Store, layouts, tcam_width};
    use crate::architecture::Architecture;
    use crate::table::{Field, Gress, Match, Table};

    const ARCH: Architecture = Architecture::TOFINO1;

    fn id() -> Vec<Field> {
        vec![Field { name: "pdr_id", bits: 24 }]
    }

    fn least(table: &Table) -> (Layout, Demand) {
        let demand = |layout: Layout| (layout, layout.demand(&ARCH, table, table.entries));
        layouts(&ARCH, table).into_iter().map(demand).min_by_key(|(_, demand)| demand.srams()).unwrap()
    }

    // Input:  71,680 PDR_IDs with counters.
    // Output: 14 blocks of keys, five in a word; 35 of counters, two in a word, and a spare one.
    #[test]
    fn an_accounting_table_needs_keys_and_counters() {
        let table = Table::new("accounting", Gress::Egress, Match::Exact(id()), 71_680).counted();
        let (_, demand) = least(&table);
        assert_eq!((demand.match_srams, demand.counter_srams, demand.map_rams()), (14, 36, 36));
        assert_eq!((demand.srams(), demand.entries), (50, 71_680));
    }

    // Input:  an index of 16 bits with 8 octets of operands.
    // Output: two entries in a word and no keys.
    #[test]
    fn an_index_stores_no_key() {
        let key = vec![Field { name: "index", bits: 16 }];
        let table = Table::new("simple", Gress::Ingress, Match::Index(key), 65_536).actions(&[&[32, 32]]);
        let (layout, demand) = least(&table);
        assert_eq!(layout.store, Store::Unstored);
        assert_eq!((demand.match_srams, demand.action_srams), (0, 32));
    }

    // Input:  keys of the paper's tables: TEID, QFI, 5-tuple and DSCP with and without the port, and the downlink's.
    // Output: 4, 4 and 3 blocks side by side.
    #[test]
    fn two_tcam_blocks_share_an_octet() {
        assert_eq!([21, 18, 14, 11, 12, 17, 4, 1].map(tcam_width), [4, 4, 3, 2, 3, 3, 1, 1]);
    }

    // Input:  13,209 meters by a 16-bit id.
    // Output: meters with a spare block, colours of four meters in a word.
    #[test]
    fn meters_keep_their_colours_in_map_rams() {
        let key = vec![Field { name: "meter_id", bits: 16 }];
        let table = Table::new("meters", Gress::Ingress, Match::Exact(key), 13_209).metered();
        let (_, demand) = least(&table);
        assert_eq!(demand.meter_srams, demand.entries / 1024 + 1);
        assert_eq!(demand.color_maps, (demand.entries / 1024).div_ceil(4));
        assert!(demand.entries >= 13_209);
    }
}

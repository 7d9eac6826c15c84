//! Arranges lanes into blocks.

use super::block::{Block, BlockLayout, Column, LANES};
use super::lane::{Family, Lane};

/// The blocks of a set and their other columns, which the blocks refer to by position. Packets of both families share
/// the blocks if no lane has an IPv6 address and IPv6 packets do not have to visit more blocks for it. Otherwise each
/// family has blocks with the lanes that its packets can match.
pub(super) fn layout(lanes: &[Lane]) -> (Vec<Block>, Vec<Column>) {
    let of =
        |other: Family| -> Vec<&Lane> { lanes.iter().filter(|lane| lane.family != Some(other)).collect() };
    let (v4, v6) = (of(Family::V6), of(Family::V4));
    let count = |lanes: &[&Lane]| lanes.len().div_ceil(LANES) as u8;
    let is_shared = v4.len() == lanes.len() && count(&v4) == count(&v6);
    let v6_apart = if is_shared { &[][..] } else { &v6 };
    let (mut blocks, mut columns) = (Vec::new(), Vec::new());
    for lanes in v4.chunks(LANES).chain(v6_apart.chunks(LANES)) {
        let (block, others) = Block::of(lanes, columns.len() as u32);
        blocks.push(block);
        columns.extend(others);
    }
    let v6_at = if is_shared { 0 } else { count(&v4) };
    let few = match v4.len() {
        _ if blocks.iter().take(count(&v4).into()).any(|block| block.others != 0) => BlockLayout::OTHER,
        // None of them is for IPv4.
        0 => BlockLayout::OTHER,
        few @ 1..=LANES => few as u8,
        _ => BlockLayout::MANY,
    };
    if let Some(block) = blocks.first_mut() {
        block.head = BlockLayout { v4: count(&v4), v6_at, v6: count(&v6), few };
    }
    (blocks, columns)
}

#[cfg(test)]
mod tests {
    use causeway_model::SdfFilter;

    use super::super::{Compare, FilterSets, PacketKey, Rule, SetId, WithComparator};
    use super::*;

    /// Classifies packets with a set as the fast path does.
    struct Asking<'a> {
        sets: &'a FilterSets,
        set: SetId,
        key: PacketKey,
        local: u32,
        found: &'a mut Option<u8>,
    }

    impl WithComparator for Asking<'_> {
        fn run(self, fits: impl Fn(&Block, PacketKey) -> u16) {
            let Self { sets, set, key: packet_key, local, found } = self;
            *found =
                sets.first_match_in_block((set, FilterSets::block_of(set)), || packet_key, || local, &fits);
        }
    }

    /// Four filters to a rule; an open rule behind them if `is_open`.
    fn rules(filters: impl Iterator<Item = String>, is_open: bool) -> Vec<Rule> {
        let filters: Vec<SdfFilter> = filters.map(|filter| filter.parse().unwrap()).collect();
        let lists = filters.chunks(4).map(<[_]>::to_vec).chain(is_open.then(Vec::new));
        lists.map(|filters| Rule { qfis: Default::default(), filters }).collect()
    }

    const LOCAL: u32 = u32::from_be_bytes([10, 45, 0, 2]);

    // Input:  sets of 1 to 200 lanes with ports, and the same with a lane with the UE's address or for IPv6; packets by
    //         UDP, TCP and ESP, in each implementation.
    // Output: the rule that the set yields for the whole packet; no result for ESP where a lane compares fields outside
    //         the packet key.
    #[test]
    fn sets_of_any_size_are_compared_together() {
        let port = |port: usize| format!("permit out 17 from any {port} to any");
        for (compare, lanes) in Compare::available()
            .flat_map(|compare| [1, 8, 9, 16, 17, 40, 64, 65, 200].map(|lanes| (compare, lanes)))
        {
            let near = "permit out 6 from any to 10.45.0.0/24".to_owned();
            let v6 = "permit out 6 from 2001:db8::/32 to any".to_owned();
            let mut sets = FilterSets::comparing(256, compare).unwrap();
            for (extra, is_open) in [(None, true), (None, false), (Some(near), false), (Some(v6), true)] {
                let is_near = extra.as_ref().is_some_and(|extra| extra.contains("10.45"));
                let set = sets.insert(&rules((0..lanes).map(port).chain(extra), is_open)).unwrap();
                for at in 0..2 * lanes as u32 {
                    let protocol = [17, 17, 6, 50][at as usize % 4];
                    let packet_key = PacketKey::v4(1, at / 2, protocol, 0).with_ue(false, true);
                    let mut found = None;
                    compare.run(Asking {
                        sets: &sets,
                        set,
                        key: packet_key,
                        local: LOCAL,
                        found: &mut found,
                    });
                    let wanted = sets.first_match_v4(set, packet_key, LOCAL);
                    let wanted = wanted.filter(|_| !(is_near && protocol == 50));
                    assert_eq!(found, wanted, "{} {lanes} {is_near} {at}", compare.name());
                }
            }
        }
    }
}

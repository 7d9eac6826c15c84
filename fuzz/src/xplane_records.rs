//! Any octets as records of X-PLANE in external memory: what is read is written as the same record, and packets are looked up in any table. A server sweeps
//! any table by any description.

use causeway_memory::{AgedTable, DIRECTORY, Sweeper};
use causeway_types::{Direction, Span, Time};
use causeway_xplane::flows::{FlowEntry, Generations, find};
use causeway_xplane::state::UeState;
use causeway_xplane::ue_table::{UeHeader, match_block};
use causeway_xplane::{Fields, UeKey};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    if let Some(state) = UeState::decode(octets) {
        assert_eq!(UeState::decode(&state.encode()), Some(state));
    }
    if let Some(header) = UeHeader::decode(octets) {
        assert_eq!(UeHeader::decode(&header.encode()), Some(header));
    }
    if let Some(entry) = FlowEntry::decode(octets) {
        assert_eq!(FlowEntry::decode(&entry.encode()), Some(entry));
    }
    let (src, dst) = ([10, 45, 0, 2].into(), [198, 51, 100, 1].into());
    let fields = Fields { src, dst, protocol: 17, ports: None, dscp: 0, qfi: None };
    find(octets, &UeKey::of_number(1), &fields.key(), &Generations::new(4, 1), |_, _| true);
    match_block(octets, 5, &fields, Direction::Uplink);
    sweep(octets);
}

/// The octets are a table, and their start is its description. The description remains, whatever is swept.
fn sweep(octets: &[u8]) {
    let mut region = octets.to_vec();
    region.resize(octets.len() + DIRECTORY as usize, 0);
    let Some(place) = AgedTable::place(region.len() as u64, 0) else { return };
    let described = octets.len().min(128);
    region[place as usize..][..described].copy_from_slice(&octets[..described]);
    let mut sweeper = Sweeper::new(Span::from_nanos(1), Span::from_nanos(1));
    (0..4).for_each(|step| sweeper.advance(Time::from_nanos(step), &mut region));
    assert_eq!(region[place as usize..][..described], octets[..described]);
}

//! Any octets as records of X-PLANE in external memory: what is read is written as the same record, and packets are looked up in any table.

#![no_main]

use causeway_types::Direction;
use causeway_xplane::flows::{FlowEntry, Generations, find};
use causeway_xplane::state::UeState;
use causeway_xplane::ue_table::{UeHeader, match_block};
use causeway_xplane::{Fields, UeKey};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
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
    find(octets, &UeKey::of_number(1), &fields.key(), &Generations::new(4, 1), |_| true);
    match_block(octets, 5, &fields, Direction::Uplink);
});

//! Rows of profile `direct` with a filter of one session each (FILTERS_PER_SESSION).

use causeway_switch::driver::FieldMatch;

use super::filter::Filter;
use crate::bench::{Named, exactly};

/// Bits of a number that say in which partition its rows stand.
const LOW_BITS: u32 = 12;

fn halves(number: u32) -> [FieldMatch; 2] {
    [number >> LOW_BITS, number & ((1 << LOW_BITS) - 1)].map(|half| FieldMatch::Exact(half.into()))
}

/// A tunnel and QFI, and a filter.
pub(super) fn own_uplink(teid: u32, qfi: u8, filter: Filter) -> Vec<Named<FieldMatch>> {
    let [high, low] = halves(teid);
    let mut keys = filter.keys(true, "remote_address");
    keys.extend([filter.family(), ("teid_high", high), ("teid_low", low), ("qfi", exactly(qfi, 6))]);
    keys
}

/// The number of a session with bit 22, and a filter.
pub(super) fn own_downlink(number: u32, filter: Filter) -> Vec<Named<FieldMatch>> {
    let [high, low] = halves(number);
    let mut keys = filter.keys(false, "remote_address");
    keys.extend([filter.family(), ("session_high", high), ("session_low", low)]);
    keys
}

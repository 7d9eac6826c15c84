//! Programs with VXLAN segments.

use causeway_p4::profiles;

use crate::backend::layout::{Layout, UnknownLayout};
use crate::driver::Program;

// Input:  profile `thesis`, whose rules are tenants', and those with segments as an option.
// Output: the former is refused by name; the others are filled, with what comes without a segment.
#[test]
fn programs_with_segments_as_an_option_are_filled() {
    let thesis = Layout::new(&Program::from(&profiles::THESIS)).unwrap_err();
    assert_eq!(thesis, UnknownLayout::Missing("table ul_to_n6_simple or ul_simple"));
    for contract in [&profiles::HIP4_VXLAN, &profiles::DIRECT_VXLAN] {
        assert!(Layout::new(&Program::from(contract)).is_ok(), "{}", contract.profile);
    }
}

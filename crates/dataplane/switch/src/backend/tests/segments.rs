//! Programs with VXLAN segments.

use causeway_p4::profiles;

use crate::backend::layout::{Layout, UnknownLayout};
use crate::driver::Program;

// Input:  profile `thesis`, and `hip4` with a table of segments.
// Output: both are refused by name, for the backend writes no tenants.
#[test]
fn programs_with_segments_are_refused() {
    let thesis = Program::from(&profiles::THESIS);
    let mut hip4 = Program::from(&profiles::HIP4);
    hip4.tables.extend(thesis.table_named("vxlan_arrivals").cloned());
    for program in [thesis, hip4] {
        assert_eq!(Layout::new(&program).unwrap_err(), UnknownLayout::Segments);
    }
    assert!(Layout::new(&Program::from(&profiles::HIP4)).is_ok());
}

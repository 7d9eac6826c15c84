//! Uplink packets whose source no PDR names, on a switch in front of a software data plane.

use std::collections::BTreeSet;

use causeway_model::RuleSet;
use causeway_p4::profiles;
use causeway_slowpath::Limits;

use super::fixture::{session, topology};
use crate::backend::layout::Layout;
use crate::backend::local_model::local_config;
use crate::backend::pdr_treatment::unsupported;
use crate::backend::placement::{DIRECTIONS, forwarded};
use crate::driver::Program;

// Input:  a session; the same whose uplink PDRs name no UE.
// Output: the switch may forward both directions of the first, and the downlink of the second; its uplink stays in the
//         software, which looks at sources.
#[test]
fn sources_that_no_pdr_names_are_for_the_software() {
    let program = Program::from(&profiles::HIP4);
    let layout = Layout::new(&program).unwrap();
    let config = local_config(&program, topology(), Limits::default());
    let named = session(1);
    let mut unnamed = session(1);
    for pdr in unnamed.pdrs.values_mut().filter(|pdr| pdr.pdi.tunnel.is_some()) {
        pdr.pdi.ue = None;
    }
    let may = |rules: &RuleSet| {
        DIRECTIONS.map(|direction| forwarded(rules, direction, &BTreeSet::new(), &layout, &config))
    };
    assert_eq!(may(&named), [Ok(()), Ok(())]);
    let refused = unsupported("uplink packets from any source: the PDR names no UE");
    assert_eq!(may(&unnamed), [Err(refused), Ok(())]);
}

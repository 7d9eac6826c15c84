//! Which programs the packet path runs.

use causeway_p4::{Contract, profiles};

use crate::driver::Program;
use crate::model::upf::{UnknownProgram, Upf};

// Input:  the program of each profile.
// Output: all run but the one whose tunnels are of IPv6.
#[test]
fn profiles_with_tunnels_of_ipv4_run() {
    let runs = |contract: &Contract| Upf::new(&Program::from(contract), 510, vec![]).is_ok();
    let running: Vec<&str> = profiles::ALL
        .into_iter()
        .filter(|contract| runs(contract))
        .map(|contract| contract.profile)
        .collect();
    assert_eq!(running, ["baseline", "red", "red-spt", "hip4", "direct"]);
}

// Input:  a program without its drop counter, one with a key that is not known, one without counters by index, and that of a profile that is
//         not modelled.
// Output: each is refused, by name.
#[test]
fn other_programs_are_refused() {
    let refused = |change: fn(&mut Program)| {
        let mut program = Program::from(&profiles::HIP4);
        change(&mut program);
        Upf::new(&program, 510, vec![]).unwrap_err()
    };
    let without = refused(|program| program.counters.retain(|counter| counter.name != "drops"));
    assert_eq!(without, UnknownProgram::Missing("drops"));
    let key = refused(|program| program.tables[0].keys[0].name = "vlan".to_owned());
    assert_eq!(key.to_string(), "table source_guard has key vlan, which is unknown to the model");
    let uncounted = refused(|program| {
        *program = Program::from(&profiles::DIRECT);
        program.counters.retain(|counter| !counter.name.contains("_qos_"));
    });
    assert_eq!(uncounted, UnknownProgram::Missing("pre_qos_0"));
    let outer = refused(|program| *program = Program::from(&profiles::HIP4_OUTER_IPV6));
    assert_eq!(outer, UnknownProgram::OuterIpv6);
}

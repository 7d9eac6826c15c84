//! The target that `CAUSEWAY_FUZZ_TARGET` names, for libFuzzer.

#![no_main]

use std::sync::OnceLock;

use causeway_fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

fn selected() -> Target {
    let name = std::env::var("CAUSEWAY_FUZZ_TARGET").expect("CAUSEWAY_FUZZ_TARGET names the target");
    causeway_fuzz::target(&name).unwrap_or_else(|| panic!("CAUSEWAY_FUZZ_TARGET: there is no target {name}"))
}

fuzz_target!(
    init: {
        TARGET.get_or_init(selected);
    },
    |octets: &[u8]| TARGET.get_or_init(selected)(octets)
);

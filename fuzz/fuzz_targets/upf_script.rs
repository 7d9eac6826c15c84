//! A whole UPF, control and data plane: any sequence of PFCP datagrams, packets and waiting. Nothing panics,
//! every packet is in exactly one counter, and nothing is left when the associations end.

#![no_main]

use causeway_conformance::{Input, replay, topology};
use causeway_reference::{Limits, Reference};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let engine = Box::new(Reference::new(topology(), Limits::default()));
    if let Err(broken) = replay(&Input::read_all(octets), engine) {
        panic!("{broken}");
    }
});

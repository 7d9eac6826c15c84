//! Any octets as requests to the P4Runtime server of the switch model, one after the other: each is answered, and the switch still
//! says what it holds.
//!
//! A request is its method, its length in two octets, and itself.

use causeway_p4runtime::server::{Code, Method, Offline, PROFILES};

/// All entries of all tables of device 1.
const ALL_ENTRIES: [u8; 6] = [0x08, 1, 0x12, 2, 0x12, 0];

/// Registers of one word and of two, which the profiles lack.
const REGISTERS: &str = include_str!("../../crates/dataplane/p4runtime/tests/p4runtime/registers.txtpb");

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let (_, p4info) = PROFILES.last().expect("there are profiles");
    let mut server = Offline::new(&format!("{p4info}{REGISTERS}")).expect("the model runs its own profiles");
    let mut rest = octets;
    while let [method, high, low, after @ ..] = rest {
        let method = Method::ALL[usize::from(*method) % Method::ALL.len()];
        let length = usize::from(u16::from_be_bytes([*high, *low])).min(after.len());
        let (request, after) = after.split_at(length);
        let answer = server.call(method, request);
        assert!(answer != Err(Code::Internal), "{method:?} {request:x?}");
        rest = after;
    }
    server.call(Method::Read, &ALL_ENTRIES).expect("all entries can be read");
}

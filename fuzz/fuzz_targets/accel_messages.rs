//! Any datagrams of three SMFs, to the data plane that answers session messages itself and to N4: what the data plane answers,
//! N4 answers with the same octets, and both have the same rules afterwards; what it does not answer changes nothing in it.
//! What its parser reads, the codec decodes, and the parser of a switch reads as the same.

#![no_main]

use causeway_accel::{Class, fits};
use causeway_pfcp::{Header, Message};
use libfuzzer_sys::fuzz_target;

#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/both.rs"]
mod both;
#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/p4.rs"]
mod p4;
#[allow(dead_code, reason = "tests of the crate use more of it")]
#[path = "../../crates/dataplane/accel/tests/accel/world.rs"]
mod world;

fuzz_target!(|octets: &[u8]| {
    let mut both = both::Both::new();
    for (number, datagram) in both::read_script(octets) {
        let _is_taken = p4::agree(datagram);
        if fits(&Class::SMFS, datagram).is_ok() {
            let (header, body, rest) = Header::decode(datagram).expect("a header");
            assert!(rest.is_empty());
            Message::decode(&header, body).expect("a message");
        }
        both.send(number, datagram);
    }
});

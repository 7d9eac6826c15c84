//! Any datagrams of three SMFs, to the data plane that answers session messages itself and to N4: what the data plane answers,
//! N4 answers with the same octets, and both have the same rules afterwards; what it does not answer changes nothing in it.
//! What its parser reads, the codec decodes, and the parser of a switch reads as the same.

use causeway_accel::{Class, fits};
use causeway_pfcp::{Header, Message};

use crate::{both, p4};

/// Handles these octets.
pub fn run(octets: &[u8]) {
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
}

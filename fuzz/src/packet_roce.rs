//! Any UDP payload as RoCEv2, with a CRC and without: what is read, written and read again is the same, and has its CRC.

use causeway_packet::roce::management::Management;
use causeway_packet::roce::{Outer, Packet, Repr, Transport};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    if let Ok(repr) = Repr::parse_bare(octets) {
        assert!(repr.transport.payload().len() <= octets.len());
    }
    let Ok(packet) = Packet::parse(octets) else { return };
    let (v4, v6) = (("192.0.2.1:49152", "192.0.2.2:4791"), ("[2001:db8::1]:49152", "[2001:db8::2]:4791"));
    for (src, dst) in [v4, v6] {
        let outer = Outer::of_socket(src.parse().expect("an address"), dst.parse().expect("an address"));
        packet.icrc_is_valid(&outer);
        let mut written = Vec::new();
        if packet.repr().write(&outer, &mut written).is_err() {
            assert!(octets.len() > 65_000 && written.is_empty());
            return;
        }
        let again = Packet::parse(&written).expect("what was written can be read");
        assert_eq!(again.repr(), packet.repr());
        assert!(again.icrc_is_valid(&outer));
    }
    let Transport::Datagram(_, payload) = packet.transport else { return };
    if let Ok(management) = Management::parse(payload) {
        assert_eq!(Management::parse(&management.octets()), Ok(management));
    }
}

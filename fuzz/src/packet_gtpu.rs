//! Any UDP payload as GTP-U: what is read, written and read again is the same.

use causeway_packet::UserPacket;
use causeway_packet::gtpu::{Extension, Message, Packet, Repr};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let Ok(packet) = Packet::parse(octets) else { return };
    let extensions: Vec<Extension<'_>> = packet.extensions.iter().collect();
    let repr = Repr { header: packet.header, extensions: &extensions, message: packet.message };
    let written = repr.to_vec().expect("what was read can be written");
    let again = Packet::parse(&written).expect("what was written can be read");
    assert_eq!(again.header, packet.header);
    assert_eq!(again.message, packet.message);
    assert_eq!(again.extensions.iter().collect::<Vec<_>>(), extensions);
    assert_eq!(again.extensions.pdu_session(), packet.extensions.pdu_session());
    if let Message::GPdu(user) = packet.message {
        assert!(octets[packet.body_offset..].starts_with(user));
        if let Ok(user) = UserPacket::parse(user) {
            assert!(user.bytes().ends_with(user.transport()));
        }
    }
}

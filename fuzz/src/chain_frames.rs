//! Any octets as frames of a chain: each that is read is written as the same octets.

use causeway_chain::Frame;

/// Handles these octets.
pub fn run(octets: &[u8]) {
    let mut rest = octets;
    while let Ok(Some((frame, len))) = Frame::decode(rest) {
        let mut again = Vec::new();
        frame.encode(&mut again).expect("it was short enough");
        assert_eq!(again, rest[..len]);
        rest = &rest[len..];
    }
}

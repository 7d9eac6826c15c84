//! Any octets as a row of IEs, each decoded by itself: a value that decodes is the same when encoded and decoded
//! again, and is shown as the same.

use causeway_pfcp::{IeInfo, RawIes, ie_info};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    for ie in RawIes::new(octets).flatten() {
        let mut written = Vec::new();
        ie.write(&mut written);
        assert_eq!(RawIes::new(&written).next(), Some(Ok(ie)));
        if let Some(info) = ie_info(ie.ie_type) {
            again(info, ie.value);
        }
    }
}

fn again(info: &IeInfo, value: &[u8]) {
    let (mut once, mut twice) = (Vec::new(), Vec::new());
    if info.encode_again(value, &mut once).is_err() {
        assert!(info.show(value, &mut String::new()).is_err());
        return;
    }
    info.encode_again(&once, &mut twice).expect("just encoded");
    assert_eq!(once, twice, "{info:?}");
    let (mut before, mut after) = (String::new(), String::new());
    info.show(value, &mut before).expect("it decodes");
    info.show(&once, &mut after).expect("just encoded");
    assert_eq!(before, after);
}

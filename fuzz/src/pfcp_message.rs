//! Any octets as a PFCP datagram: what decodes is the same when encoded and decoded again, everything can be shown, and
//! a template reads the values that the decoder reads.

use std::fmt::Write;

use causeway_pfcp::template::{RequestTemplate, node_id, peek_cp_f_seid};
use causeway_pfcp::{Header, Message, dump::Dump};

/// Handles these octets.
pub fn run(octets: &[u8]) {
    write!(Nowhere, "{}", Dump(octets)).expect("nothing can fail");
    let mut rest = octets;
    while let Ok((header, body, after)) = Header::decode(rest) {
        if let Ok(message) = Message::decode(&header, body) {
            again(&header, &message);
            read_by_template(&message, body);
        }
        let _ = (RequestTemplate::modification(body), peek_cp_f_seid(body), node_id(body));
        if after.is_empty() {
            break;
        }
        rest = after;
    }
}

/// What a template of an establishment reads of its own body.
fn read_by_template(message: &Message<'_>, body: &[u8]) {
    let Message::SessionEstablishmentRequest(request) = message else { return };
    let Some((fixed, with_policy)) = RequestTemplate::establishment(body) else { return };
    for template in [Some(fixed), with_policy].into_iter().flatten() {
        let Some(values) = template.values(body) else { continue };
        assert_eq!(values.cp, Some(request.cp_f_seid));
        assert_eq!(values.recovery, request.recovery_time_stamp.map(|stamp| stamp.0));
        assert_eq!(peek_cp_f_seid(body), values.cp);
    }
}

fn again(header: &Header, message: &Message<'_>) {
    let mut encoded = Vec::new();
    // Short forms of IEs grow when encoded; a message of almost 64 KiB can become too long.
    if message.encode_with(header, &mut encoded).is_err() {
        return assert!(encoded.is_empty());
    }
    // Said of a message that others follow; here there is none, which is no error.
    let (again, body, rest) = Header::decode(&encoded).expect("just encoded");
    assert_eq!((again, rest), (*header, &[][..]));
    assert_eq!(Message::decode(&again, body).as_ref(), Ok(message));
}

/// Formats without keeping anything.
struct Nowhere;

impl Write for Nowhere {
    fn write_str(&mut self, _: &str) -> std::fmt::Result {
        Ok(())
    }
}

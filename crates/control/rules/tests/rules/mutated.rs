//! Requests with modified octets: never a panic, never a partial change.

use causeway_pfcp::{Header, Message};
use causeway_rules::{Context, establish, modify, validate};
use proptest::prelude::*;

use crate::common::{SESSION, Upf};

/// An encoded request, with some octets overwritten.
fn mutated(message: Message<'_>, changes: &[(prop::sample::Index, u8)]) -> (Header, Vec<u8>) {
    let mut datagram = Vec::new();
    message.encode(Some(SESSION), 1, &mut datagram).expect("short enough");
    let (header, body, _) = Header::decode(&datagram).expect("a header");
    let mut body = body.to_vec();
    for (index, octet) in changes {
        let at = index.index(body.len());
        body[at] = *octet;
    }
    (header, body)
}

fn modification() -> causeway_pfcp::SessionModificationRequest<'static> {
    let mut pdr = crate::common::update_pdr(1);
    pdr.pdi = Some(crate::common::uplink(1, 1).pdi);
    causeway_pfcp::SessionModificationRequest {
        update_pdrs: [pdr].into(),
        create_pdrs: [crate::common::downlink(3, 2)].into(),
        create_qers: [crate::common::qer(1)].into(),
        create_urrs: [crate::common::urr(1)].into(),
        ..Default::default()
    }
}

proptest! {
    // Input:  a legal establishment with up to four octets overwritten, and the same for a modification.
    // Output: not decodable, or a rejection that leaves the tunnels as they were, or legal rules.
    #[test]
    fn requests_with_wrong_octets(
        first in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        second in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut upf = Upf::with(crate::common::usual());
        let context = Context { capabilities: &upf.capabilities, endpoints: &upf.endpoints, catalogue: &causeway_rules::Catalogue::default() };
        let before = upf.resources.claims().tunnels.clone();
        let (header, body) = mutated(crate::common::usual().into(), &first);
        if let Ok(Message::SessionEstablishmentRequest(request)) = Message::decode(&header, &body) {
            match establish(&request, SESSION, &context, &mut upf.resources) {
                Ok(change) => {
                    prop_assert_eq!(validate(change.session.rules(), &context), Ok(()));
                    prop_assert!(change.plan.change.is_installation());
                    upf.resources.abandon(change.resources);
                }
                Err(rejection) => prop_assert!(!rejection.cause().is_accepted()),
            }
        }
        prop_assert_eq!(upf.resources.claims().tunnels.in_use(), before.in_use());
        prop_assert_eq!(upf.resources.claims().tunnels.available(), before.available());

        let (header, body) = mutated(modification().into(), &second);
        if let Ok(Message::SessionModificationRequest(request)) = Message::decode(&header, &body) {
            match modify(&upf.session, &request, SESSION, &context, &mut upf.resources) {
                Ok(change) => {
                    prop_assert_eq!(validate(change.session.rules(), &context), Ok(()));
                    upf.resources.commit(change.resources);
                }
                Err(_) => prop_assert_eq!(upf.resources.claims().tunnels.in_use(), before.in_use()),
            }
        }
    }
}

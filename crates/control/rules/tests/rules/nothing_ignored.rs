//! No IE of an SMF is accepted and ignored.

use std::collections::BTreeSet;

use causeway_pfcp::{Field, Header, Message, RawIe, SessionEstablishmentRequest, SessionModificationRequest};
use causeway_rules::{Claims, Context, Resources, establish, modify};

use crate::common::{SESSION, Upf};

/// IEs that have no effect on the UPF, or concern the N4 session itself.
const INFORMATION: &[&str] = &[
    "cp_f_seid",
    "destination_interface_type",
    "dnn",
    "fq_csids",
    "framed_routing",
    "group_id",
    "linked_traffic_endpoint_id",
    "node_id",
    "rat_type",
    "recovery_time_stamp",
    "source_interface_type",
    "user_id",
];

/// IEs that are checked, and have no effect by themselves.
const CHECKED: &[&str] = &["flags", "pdn_type", "query_urr_reference"];

/// Optional IEs for which [`VALUE`] is malformed, so that they count as absent (clause 7.6.8).
const ABSENT: &[&str] = &["trace_information"];

/// A value that is legal for most IEs: enough octets, one bit set in each.
const VALUE: [u8; 40] = [1; 40];

/// The IE of this type inside the groups of `path`, outermost first.
fn nested(path: &[u16], ie_type: u16) -> Vec<u8> {
    let mut value = VALUE.to_vec();
    for ie_type in std::iter::once(&ie_type).chain(path.iter().rev()) {
        let mut out = Vec::new();
        RawIe::new(*ie_type, &value).write(&mut out);
        value = out;
    }
    value
}

/// An encoded request, with more octets added to the group at `path`.
fn with_more(body: &[u8], path: &[u16], more: &[u8]) -> Vec<u8> {
    let Some((ie_type, rest)) = path.split_first() else { return [body, more].concat() };
    let mut out = Vec::new();
    let mut found = false;
    for ie in causeway_pfcp::RawIes::new(body) {
        let ie = ie.expect("a well-formed request");
        if ie.ie_type == *ie_type && !found {
            found = true;
            RawIe::new(ie.ie_type, &with_more(ie.value, rest, more)).write(&mut out);
        } else {
            ie.write(&mut out);
        }
    }
    assert!(found, "the request has no IE {ie_type}");
    out
}

fn body(message: Message<'_>) -> (Header, Vec<u8>) {
    let mut datagram = Vec::new();
    message.encode(Some(SESSION), 1, &mut datagram).expect("short enough");
    let (header, body, _) = Header::decode(&datagram).expect("a header");
    (header, body.to_vec())
}

/// The result of a request: the rules and the plan, or `None` if the codec or the UPF rejects it.
fn outcome(upf: &Upf, header: &Header, body: &[u8]) -> Option<String> {
    let context = Context {
        capabilities: &upf.capabilities,
        endpoints: &upf.endpoints,
        catalogue: &causeway_rules::Catalogue::default(),
    };
    let Claims { tunnels, addresses } = upf.resources.claims().clone();
    let mut resources = Resources::new(tunnels, addresses);
    let change = match Message::decode(header, body).ok()? {
        Message::SessionEstablishmentRequest(request) => {
            establish(&request, SESSION, &context, &mut resources).ok()?
        }
        Message::SessionModificationRequest(request) => {
            modify(&upf.session, &request, SESSION, &context, &mut resources).ok()?
        }
        other => panic!("{other:?}"),
    };
    Some(format!("{change:?}"))
}

/// The names of the fields that can be added to the group at `path` without any effect.
fn ignored(upf: &Upf, message: Message<'_>, path: &[u16], fields: &[Field]) -> BTreeSet<&'static str> {
    let (header, body) = body(message);
    let plain = outcome(upf, &header, &body).expect("a legal request");
    let without_effect = |field: &&Field| {
        let more = nested(&[], field.ie_type);
        let repeats = outcome(upf, &header, &with_more(&body, path, &more));
        repeats.as_ref() == Some(&plain)
    };
    let present = present_at(&body, path);
    let absent = fields.iter().filter(|field| !present.contains(&field.ie_type));
    absent.filter(without_effect).map(|field| field.name).collect()
}

/// The IE types that the group at `path` has already; their repetitions are ignored by rule.
fn present_at(body: &[u8], path: &[u16]) -> BTreeSet<u16> {
    let ies = || causeway_pfcp::RawIes::new(body).flatten();
    match path.split_first() {
        None => ies().map(|ie| ie.ie_type).collect(),
        Some((first, rest)) => {
            ies().find(|ie| ie.ie_type == *first).map(|ie| present_at(ie.value, rest)).unwrap_or_default()
        }
    }
}

/// The group at the end of a path, by its fields.
fn fields_at(fields: &'static [Field], path: &[u16]) -> &'static [Field] {
    path.iter().fold(fields, |fields, ie_type| {
        fields.iter().find(|field| field.ie_type == *ie_type).map_or(&[], |field| field.fields)
    })
}

fn establishment() -> SessionEstablishmentRequest<'static> {
    let mut request = crate::common::usual();
    request.create_qers = [crate::common::qer(1)].into();
    request.create_urrs = [crate::common::urr(1)].into();
    request.create_bar = Some(causeway_pfcp::CreateBar::new(causeway_types::BarId(1)));
    request.create_traffic_endpoints =
        [causeway_pfcp::CreateTrafficEndpoint::new(causeway_pfcp::TrafficEndpointId(1))].into();
    request
}

fn modification() -> SessionModificationRequest<'static> {
    let forwarding = causeway_pfcp::UpdateForwardingParameters {
        outer_header_creation: Some(crate::common::gnb(0x200)),
        ..Default::default()
    };
    let far = causeway_pfcp::UpdateFar {
        update_forwarding_parameters: Some(forwarding),
        ..crate::common::update_far(2)
    };
    SessionModificationRequest {
        update_pdrs: [crate::common::update_pdr(1)].into(),
        update_fars: [far].into(),
        update_qers: [crate::common::update_qer(1)].into(),
        update_urrs: [crate::common::update_urr(1)].into(),
        update_traffic_endpoints: [causeway_pfcp::UpdateTrafficEndpoint::new(
            causeway_pfcp::TrafficEndpointId(1),
        )]
        .into(),
        update_bar: Some(causeway_pfcp::UpdateBar::new(causeway_types::BarId(1))),
        ..Default::default()
    }
}

// Input:  each IE that Release 17 knows for a group of an establishment or modification, added to it.
// Output: the request is rejected, or its result differs, or the IE is listed as information.
#[test]
fn no_ie_is_accepted_without_effect() {
    let expected: BTreeSet<_> = INFORMATION.iter().chain(CHECKED).chain(ABSENT).copied().collect();
    let upf = Upf::with(establishment());
    for path in [&[][..], &[1], &[1, 2], &[3], &[3, 4], &[6], &[7], &[85], &[127]] {
        let fields = fields_at(SessionEstablishmentRequest::FIELDS, path);
        assert!(!fields.is_empty(), "{path:?}");
        let ignored = ignored(&Upf::new(), establishment().into(), path, fields);
        assert!(ignored.is_subset(&expected), "{path:?}: {:?}", ignored.difference(&expected));
    }
    for path in [&[][..], &[9], &[10], &[10, 11], &[13], &[14], &[86], &[129]] {
        let fields = fields_at(SessionModificationRequest::FIELDS, path);
        assert!(!fields.is_empty(), "{path:?}");
        let ignored = ignored(&upf, modification().into(), path, fields);
        assert!(ignored.is_subset(&expected), "{path:?}: {:?}", ignored.difference(&expected));
    }
}

// Input:  an unknown IE and a vendor's IE in each group.
// Output: ignored, as the specification requires.
#[test]
fn unknown_and_vendor_ies_are_ignored() {
    for path in [&[][..], &[1], &[1, 2], &[3], &[3, 4], &[6], &[7], &[85]] {
        let (header, body) = body(establishment().into());
        let plain = outcome(&Upf::new(), &header, &body);
        for ie_type in [0x7fff, 0x8001] {
            let more = with_more(&body, path, &nested(&[], ie_type));
            assert_eq!(outcome(&Upf::new(), &header, &more), plain, "{path:?} {ie_type}");
        }
    }
}

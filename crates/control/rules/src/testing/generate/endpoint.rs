//! Random traffic endpoints and changes of them.

use super::*;

pub(in crate::testing) fn any_endpoint_id() -> impl Strategy<Value = EndpointId> {
    (0..3_u8).prop_map(EndpointId)
}

pub(in crate::testing) fn any_endpoints() -> impl Strategy<Value = EndpointEdits> {
    let ue = || {
        option::of(Just(ue(UeSide::Source))).prop_map(|first| EndpointUe {
            choice: first.is_none().then(|| UeChoice {
                v4: true,
                v6: None,
                side: UeSide::Source,
                pools: vec![],
            }),
            first,
            further: Vec::new(),
        })
    };
    let draft = (any_endpoint_id(), option::of(any_request()), ue(), routes()).prop_map(
        |(id, tunnel, ue, framed)| EndpointDraft {
            id,
            tunnel,
            rest: Endpoint { ue, framed, ..Endpoint::default() },
        },
    );
    let update = (any_endpoint_id(), option::of(any_request()), setting(ue()), setting(routes())).prop_map(
        |(id, tunnel, ue, framed)| EndpointUpdate {
            id,
            tunnel,
            network_instance: Setting::Keep,
            ue,
            framed,
            qfis: Setting::Keep,
        },
    );
    (vec(any_endpoint_id(), 0..2), vec(draft, 0..2), vec(update, 0..2))
        .prop_map(|(remove, create, update)| EndpointEdits { remove, create, update })
}

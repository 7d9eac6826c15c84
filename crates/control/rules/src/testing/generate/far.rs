//! Random FARs and changes of them.

use super::*;

/// The delivery status flags that are legal with the action.
pub(in crate::testing) fn delivery_status(action: ApplyAction) -> impl Strategy<Value = DeliveryStatus> {
    any::<[bool; 2]>().prop_map(move |[buffered, discarded]| DeliveryStatus {
        buffered: buffered && matches!(action, ApplyAction::Buffer { .. }),
        discarded: discarded && action != ApplyAction::Forward,
    })
}

pub(in crate::testing) fn action() -> impl Strategy<Value = ApplyAction> {
    prop_oneof![
        Just(ApplyAction::Drop),
        Just(ApplyAction::Forward),
        any::<bool>().prop_map(|notify| ApplyAction::Buffer { notify }),
    ]
}

pub(in crate::testing) fn far(id: u32, bars: Vec<BarId>) -> impl Strategy<Value = Far> {
    let way = prop_oneof![
        Just(to_internet(id)),
        (1..9_u32).prop_map(move |teid| to_gnb(id, gnb(teid))),
        (1..9_u32).prop_map(move |teid| to_smf(id, gnb(teid))),
        Just(through_n6(id)),
    ];
    let action = action().prop_flat_map(|action| (Just(action), delivery_status(action)));
    let rest = (
        action,
        any::<bool>(),
        option::of(any::<Index>()),
        (option::of(tos_marking()), steering(), enrichment()),
    );
    (way, rest, copies()).prop_map(move |(far, (action, keep, bar, way), (duplicate, duplicates))| {
        let (marking, steering, enrichment) = way;
        let (action, delivery_status) = action;
        let needed = keep || action == ApplyAction::Forward;
        let forwarding = far.forwarding.clone().map(|forwarding| Forwarding {
            marking,
            steering: steering.clone(),
            enrichment: match forwarding.destination {
                Interface::Access => Vec::new(),
                _ => enrichment.clone(),
            },
            ..forwarding
        });
        Far {
            action,
            delivery_status,
            forwarding: forwarding.filter(|_| needed),
            duplicate: duplicate && !duplicates.is_empty(),
            duplicates: duplicates.clone(),
            bar: bar.filter(|_| !bars.is_empty()).map(|index| *index.get(&bars)),
            ..far
        }
    })
}

/// Whether copies are made, and their destinations.
pub(in crate::testing) fn copies() -> impl Strategy<Value = (bool, Vec<Duplicate>)> {
    let to_li = (1..9_u32).prop_map(|teid| Duplicate::into_tunnel(CopyTo::LiFunction, gnb(teid)));
    let to_network = Just(Duplicate {
        destination: CopyTo::Side(Interface::Core),
        outer: None,
        policy: Some(known_policy()),
    });
    (any::<bool>(), vec(prop_oneof![to_li, to_network], 0..3))
}

/// The same as to a gNB, but to the SMF.
pub(in crate::testing) fn to_smf(id: u32, tunnel: FTeid) -> Far {
    let far = to_gnb(id, tunnel);
    let forwarding = far.forwarding.map(|way| Forwarding { destination: Interface::CpFunction, ..way });
    Far { forwarding, ..far }
}

pub(in crate::testing) fn any_far() -> impl Strategy<Value = Far> {
    (0..IDS).prop_flat_map(|id| far(id, vec![BarId(0), BarId(1), BarId(2)]))
}

pub(in crate::testing) fn any_far_update() -> impl Strategy<Value = FarUpdate> {
    let duplicates = setting(vec(any_duplicate_update(), 1..3));
    (any_far(), any::<[bool; 4]>(), any::<bool>(), duplicates, any_steering_update()).prop_map(
        |(far, with, end_marker, duplicates, steering)| {
            let forwarding = far.forwarding.map(|forwarding| ForwardingUpdate {
                destination: with[0].then_some(forwarding.destination),
                network_instance: set_if(with[1], forwarding.network_instance),
                outer: set_if(with[2], forwarding.outer),
                marking: set_if(true, forwarding.marking),
                vlan: Setting::Keep,
                steering,
                enrichment: set_list_if(with[1], forwarding.enrichment),
                end_marker,
            });
            FarUpdate {
                id: far.id,
                action: with[3].then_some(far.action),
                delivery_status: with[3].then_some(far.delivery_status),
                duplicate: with[3].then_some(far.duplicate),
                duplicates,
                forwarding,
                bar: set_if(true, far.bar),
            }
        },
    )
}

pub(in crate::testing) fn any_steering_update() -> impl Strategy<Value = SteeringUpdate> {
    let policy = select(vec![known_policy(), PolicyName::new(b"unknown")]);
    (setting(redirect()), setting(replacement()), setting(policy))
        .prop_map(|(redirect, replacement, policy)| SteeringUpdate { redirect, replacement, policy })
}

pub(in crate::testing) fn redirect() -> impl Strategy<Value = Redirect> {
    let url = "[!-~]{1,20}".prop_filter_map("visible", |text| Url::new(&text)).prop_map(Redirect::Http);
    prop_oneof![url, new_end().prop_map(Redirect::Destination)]
}

pub(in crate::testing) fn new_end() -> impl Strategy<Value = NewEnd> {
    (option::of(1..9_u8), option::of(1..9_u16)).prop_map(|(last, port)| NewEnd {
        v4: last.map(|last| [203, 0, 113, last].into()),
        v6: None,
        port,
    })
}

pub(in crate::testing) fn replacement() -> impl Strategy<Value = Replacement> {
    (new_end(), new_end()).prop_map(|(source, destination)| Replacement { source, destination })
}

pub(in crate::testing) fn steering() -> impl Strategy<Value = Steering> {
    (option::of(redirect()), option::of(replacement()), option::of(Just(known_policy())))
        .prop_map(|(redirect, replacement, policy)| Steering { redirect, replacement, policy })
}

pub(in crate::testing) fn any_duplicate_update() -> impl Strategy<Value = DuplicateUpdate> {
    let outer = setting((1..9_u32).prop_map(|teid| OuterHeader::Gtpu(gnb(teid))));
    (any::<bool>(), outer).prop_map(|(with, outer)| DuplicateUpdate {
        destination: with.then_some(CopyTo::LiFunction),
        outer,
        policy: Setting::Keep,
    })
}

/// Fields for HTTP requests.
pub(in crate::testing) fn enrichment() -> impl Strategy<Value = Vec<HttpField>> {
    let field = ("[A-Za-z-]{1,9}", "[!-~]{0,9}")
        .prop_filter_map("legal", |(name, value)| HttpField::new(name.as_bytes(), value.as_bytes()));
    vec(field, 0..3)
}

/// An empty list is a removal of the existing fields.
fn set_list_if(given: bool, fields: Vec<HttpField>) -> Setting<Vec<HttpField>> {
    match (given, fields.is_empty()) {
        (false, _) => Setting::Keep,
        (true, true) => Setting::Remove,
        (true, false) => Setting::Set(fields),
    }
}

//! Which IEs a switch parses, and in which fields their values are. The types, names and order of IEs are those of the codec.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use causeway_pfcp as pfcp;
use causeway_types::{FSeid, FarId, PdrId, Precedence, QerId, Qfi};
use pfcp::Ie;

/// The part of a message that a field tells of. Policies of the switch have a table for each of the first three.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// Create PDR.
    Pdr,
    /// Create FAR or Update FAR.
    Far,
    /// Create QER.
    Qer,
    /// The IEs of the message outside of groups.
    Message,
    /// What differs from session to session: addresses, TEIDs and SEIDs.
    Session,
    /// Nothing is asked of it.
    Ignored,
}

/// A field with a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Field {
    /// The name of the field.
    pub name: &'static str,
    /// Bits.
    pub bits: u32,
    /// What it tells of.
    pub part: Part,
}

/// An IE in one of its lengths: the fields of its value, in their order.
pub(super) type Form = &'static [Field];

/// An IE, at its place.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) ie: u16,
    /// It may be absent.
    pub(super) is_optional: bool,
    pub(super) content: Content,
}

/// What an IE has.
#[derive(Debug)]
pub(super) enum Content {
    /// A value, in one of these forms. The field says which: 1 is the first one, 0 none.
    Value(Field, &'static [Form]),
    /// Other IEs. The fields: its length; and which of the types the group has, where two have one place.
    Group { length: Field, kinds: &'static [u16], kind: Field, members: &'static [Place] },
}

const fn field(name: &'static str, bits: u32, part: Part) -> Field {
    Field { name, bits, part }
}

const fn value(ie: u16, form: Field, forms: &'static [Form]) -> Place {
    Place { ie, is_optional: false, content: Content::Value(form, forms) }
}

const fn optional(place: Place) -> Place {
    Place { is_optional: true, ..place }
}

// The names of networks have eight octets as text, and nine as labels of DNS: "internet". SMFs number FARs as they like: the last half of a FAR ID
// is one of the session's values, the first half, which has few, one of a policy's.

const SESSION: Part = Part::Session;

/// The places of Create PDR.
const PDR: &[Place] = &[
    value(PdrId::TYPE, field("form_pdr_id", 1, Part::Pdr), &[&[field("pdr_id", 16, Part::Pdr)]]),
    value(Precedence::TYPE, field("form_precedence", 1, Part::Pdr), &[&[field("precedence", 32, Part::Pdr)]]),
    Place {
        ie: <pfcp::Pdi<'_> as Ie<'_>>::TYPE,
        is_optional: false,
        content: Content::Group {
            length: field("pdi_length", 16, Part::Pdr),
            kinds: &[],
            kind: field("form_pdi", 1, Part::Pdr),
            members: PDI,
        },
    },
    optional(value(
        pfcp::OuterHeaderRemoval::TYPE,
        field("form_removal", 2, Part::Pdr),
        &[
            &[field("removal", 8, Part::Pdr)],
            &[field("removal", 8, Part::Pdr), field("removal_rest", 8, Part::Pdr)],
        ],
    )),
    value(
        FarId::TYPE,
        field("form_pdr_far", 1, Part::Pdr),
        &[&[field("pdr_far_high", 16, Part::Pdr), field("pdr_far", 16, SESSION)]],
    ),
    optional(value(QerId::TYPE, field("form_pdr_qer", 1, Part::Pdr), &[&[field("pdr_qer", 32, Part::Pdr)]])),
];

/// The places of a PDI.
const PDI: &[Place] = &[
    value(
        pfcp::SourceInterface::TYPE,
        field("form_source", 1, Part::Pdr),
        &[&[field("source", 8, Part::Pdr)]],
    ),
    optional(value(
        pfcp::FTeid::TYPE,
        field("form_f_teid", 2, Part::Pdr),
        &[
            &[field("f_teid", 8, Part::Pdr)],
            &[field("f_teid", 8, Part::Pdr), field("choose_id", 8, Part::Pdr)],
        ],
    )),
    optional(value(
        <pfcp::NetworkInstance<'_> as Ie<'_>>::TYPE,
        field("form_pdi_network", 2, Part::Pdr),
        &[
            &[field("pdi_network", 64, Part::Pdr)],
            &[field("pdi_network", 64, Part::Pdr), field("pdi_network_rest", 8, Part::Pdr)],
        ],
    )),
    value(
        pfcp::UeIpAddress::TYPE,
        field("form_ue", 1, Part::Pdr),
        &[&[field("ue_flags", 8, Part::Pdr), field("ue", 32, SESSION)]],
    ),
    optional(value(Qfi::TYPE, field("form_pdi_qfi", 1, Part::Pdr), &[&[field("pdi_qfi", 8, Part::Pdr)]])),
    optional(value(
        pfcp::InterfaceType::TYPE,
        field("form_pdi_type", 1, Part::Pdr),
        &[&[field("pdi_type", 8, Part::Ignored)]],
    )),
];

/// The places of Create FAR and Update FAR.
const FAR: &[Place] = &[
    value(
        FarId::TYPE,
        field("form_far_id", 1, Part::Far),
        &[&[field("far_high", 16, Part::Far), field("far_id", 16, SESSION)]],
    ),
    optional(value(
        pfcp::ApplyAction::TYPE,
        field("form_action", 2, Part::Far),
        &[
            &[field("apply_action", 8, Part::Far)],
            &[field("apply_action", 8, Part::Far), field("apply_action_rest", 8, Part::Far)],
        ],
    )),
    Place {
        ie: <pfcp::ForwardingParameters<'_> as Ie<'_>>::TYPE,
        is_optional: true,
        content: Content::Group {
            length: field("parameters_length", 16, Part::Far),
            kinds: &[
                <pfcp::ForwardingParameters<'_> as Ie<'_>>::TYPE,
                <pfcp::UpdateForwardingParameters<'_> as Ie<'_>>::TYPE,
            ],
            kind: field("form_parameters", 2, Part::Far),
            members: PARAMETERS,
        },
    },
];

/// The places of Forwarding Parameters and of Update Forwarding Parameters.
const PARAMETERS: &[Place] = &[
    optional(value(
        pfcp::DestinationInterface::TYPE,
        field("form_destination", 1, Part::Far),
        &[&[field("destination", 8, Part::Far)]],
    )),
    optional(value(
        <pfcp::NetworkInstance<'_> as Ie<'_>>::TYPE,
        field("form_far_network", 2, Part::Far),
        &[
            &[field("far_network", 64, Part::Far)],
            &[field("far_network", 64, Part::Far), field("far_network_rest", 8, Part::Far)],
        ],
    )),
    optional(value(
        pfcp::OuterHeaderCreation::TYPE,
        field("form_peer", 1, Part::Far),
        &[&[
            field("peer_description", 16, Part::Far),
            field("peer_teid", 32, SESSION),
            field("peer", 32, SESSION),
        ]],
    )),
    optional(value(
        pfcp::InterfaceType::TYPE,
        field("form_far_type", 1, Part::Far),
        &[&[field("far_type", 8, Part::Ignored)]],
    )),
];

/// The places of Create QER.
const QER: &[Place] = &[
    value(QerId::TYPE, field("form_qer_id", 1, Part::Qer), &[&[field("qer_id", 32, Part::Qer)]]),
    value(pfcp::GateStatus::TYPE, field("form_gates", 1, Part::Qer), &[&[field("gates", 8, Part::Qer)]]),
    optional(value(
        pfcp::Mbr::TYPE,
        field("form_mbr", 1, Part::Qer),
        &[&[field("mbr_uplink", 40, Part::Qer), field("mbr_downlink", 40, Part::Qer)]],
    )),
    optional(value(Qfi::TYPE, field("form_qer_qfi", 1, Part::Qer), &[&[field("qer_qfi", 8, Part::Qer)]])),
];

/// The places of a message: those of an establishment. In a modification, Update FAR has the place of Create FAR.
pub(super) static MESSAGE: &[Place] = &[
    optional(value(
        <pfcp::NodeId<'_> as Ie<'_>>::TYPE,
        field("form_node", 1, Part::Message),
        &[&[field("node_kind", 8, Part::Message), field("node", 32, SESSION)]],
    )),
    optional(value(
        FSeid::TYPE,
        field("form_cp", 1, Part::Message),
        &[&[
            field("cp_flags", 8, Part::Message),
            field("cp_high", 32, SESSION),
            field("cp_low", 32, SESSION),
            field("cp_address", 32, SESSION),
        ]],
    )),
    Place {
        ie: <pfcp::CreatePdr<'_> as Ie<'_>>::TYPE,
        is_optional: true,
        content: Content::Group {
            length: field("pdr_length", 16, Part::Pdr),
            kinds: &[],
            kind: field("form_pdr", 1, Part::Pdr),
            members: PDR,
        },
    },
    Place {
        ie: <pfcp::CreateFar<'_> as Ie<'_>>::TYPE,
        is_optional: true,
        content: Content::Group {
            length: field("far_length", 16, Part::Far),
            kinds: &[<pfcp::CreateFar<'_> as Ie<'_>>::TYPE, <pfcp::UpdateFar<'_> as Ie<'_>>::TYPE],
            kind: field("form_far", 2, Part::Far),
            members: FAR,
        },
    },
    Place {
        ie: <pfcp::CreateQer<'_> as Ie<'_>>::TYPE,
        is_optional: true,
        content: Content::Group {
            length: field("qer_length", 16, Part::Qer),
            kinds: &[],
            kind: field("form_qer", 1, Part::Qer),
            members: QER,
        },
    },
    optional(value(
        pfcp::PdnType::TYPE,
        field("form_pdn_type", 1, Part::Message),
        &[&[field("pdn_type", 8, Part::Message)]],
    )),
    optional(value(
        <pfcp::Dnn<'_> as Ie<'_>>::TYPE,
        field("form_dnn", 2, Part::Message),
        &[
            &[field("dnn", 64, Part::Ignored)],
            &[field("dnn", 64, Part::Ignored), field("dnn_rest", 8, Part::Ignored)],
        ],
    )),
];

impl Place {
    /// The types of the IE.
    pub(super) fn types(&self) -> &[u16] {
        match &self.content {
            Content::Group { kinds, .. } if !kinds.is_empty() => kinds,
            _ => std::slice::from_ref(&self.ie),
        }
    }

    /// The field that says in which form the IE is there.
    pub(super) const fn form(&self) -> Field {
        match self.content {
            Content::Value(form, _) => form,
            Content::Group { kind, .. } => kind,
        }
    }
}

impl Content {
    const fn members(&self) -> &'static [Place] {
        match self {
            Self::Value(..) => &[],
            Self::Group { members, .. } => members,
        }
    }
}

/// What may come next: places in their order, of which the first that is there is taken; and whether the message may end.
#[derive(Clone, Default, Debug)]
pub(super) struct Next {
    pub(super) places: Vec<&'static Place>,
    pub(super) may_end: bool,
}

impl Next {
    /// Behind the last IE of a message.
    pub(super) const fn end() -> Self {
        Self { places: Vec::new(), may_end: true }
    }

    /// These places of a group, and what comes behind the group.
    pub(super) fn of(places: &'static [Place], behind: &Self) -> Self {
        let mandatory = places.iter().position(|place| !place.is_optional);
        match mandatory {
            Some(at) => Self { places: places.iter().take(at + 1).collect(), may_end: false },
            None => Self {
                places: places.iter().chain(behind.places.iter().copied()).collect(),
                may_end: behind.may_end,
            },
        }
    }
}

/// Calls `visit` with each place, what comes behind it, and what is first in it if it is a group.
pub(super) fn walk(
    places: &'static [Place],
    behind: &Next,
    visit: &mut impl FnMut(&'static Place, &Next, Option<&Next>),
) {
    for (at, place) in places.iter().enumerate() {
        let next = Next::of(places.get(at + 1..).unwrap_or_default(), behind);
        match &place.content {
            Content::Value(..) => visit(place, &next, None),
            Content::Group { members, .. } => {
                visit(place, &next, Some(&Next::of(members, &next)));
                walk(members, &next, visit);
            }
        }
    }
}

/// All fields of these places, in their order, each once.
fn collect(places: &'static [Place], into: &mut Vec<Field>) {
    let mut add = |field: Field| {
        if !into.contains(&field) {
            into.push(field);
        }
    };
    for place in places {
        add(place.form());
        match &place.content {
            Content::Value(_, forms) => {
                forms.iter().flat_map(|form| form.iter()).for_each(|field| add(*field));
            }
            Content::Group { length, .. } => add(*length),
        }
    }
    for place in places {
        collect(place.content.members(), into);
    }
}

/// The forms of IEs of a part, as bits of one word: a parser sets bits of it one after the other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forms {
    /// The name of the word.
    pub name: &'static str,
    /// Bits.
    pub bits: u32,
    /// The part.
    pub part: Part,
    /// The fields in it, and the lowest bit of each.
    pub fields: Vec<(Field, u32)>,
}

/// The words of forms.
pub fn forms() -> &'static [Forms] {
    static FORMS: LazyLock<Vec<Forms>> = LazyLock::new(make_forms);
    &FORMS
}

fn make_forms() -> Vec<Forms> {
    let mut all = Vec::new();
    collect(MESSAGE, &mut all);
    let parts = [
        ("forms_pdr", Part::Pdr),
        ("forms_far", Part::Far),
        ("forms_qer", Part::Qer),
        ("forms_message", Part::Message),
    ];
    let word = |(name, part)| {
        let mut fields = Vec::new();
        let mut bits = 0;
        for field in
            all.iter().filter(|field| field.part == part && is_form(field) && !is_implied(MESSAGE, field))
        {
            fields.push((*field, bits));
            bits += field.bits;
        }
        Forms { name, bits: bits.next_multiple_of(8), part, fields }
    };
    parts.map(word).into()
}

/// The field says in which form an IE is there.
fn is_form(field: &Field) -> bool {
    field.name.starts_with("form_")
}

/// The word of a form and its lowest bit there; `None`: it says no more than that of the group.
pub(super) fn form(field: &Field) -> Option<(&'static str, u32)> {
    let mut words = forms().iter();
    words.find_map(|word| Some((word.name, word.fields.iter().find(|(of, _)| of == field)?.1)))
}

/// All fields, in the order in which they stand in the switch's metadata: words of forms, then values.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(make_fields);
    &FIELDS
}

fn make_fields() -> Vec<Field> {
    let mut all = Vec::new();
    collect(MESSAGE, &mut all);
    // Where an IE must be there with its group, and has one form, that of the group says it.
    all.retain(|field| !is_form(field));
    let words = forms().iter().map(|Forms { name, bits, part, .. }| Field { name, bits: *bits, part: *part });
    words.chain(all).collect()
}

/// The form of an IE that is there whenever its group is, in one form.
fn is_implied(places: &'static [Place], field: &Field) -> bool {
    places.iter().any(|place| {
        let has_one_form = match &place.content {
            Content::Value(_, forms) => forms.len() == 1,
            Content::Group { kinds, .. } => kinds.len() <= 1,
        };
        (place.form() == *field && !place.is_optional && has_one_form)
            || is_implied(place.content.members(), field)
    })
}

/// Zero is a value of this field that the class may have. A SEID is zero in its other half alone, too, but no SMF counts so far; the last half
/// of a FAR ID is zero in one of 65,536.
pub(super) fn may_be_zero(field: &Field) -> bool {
    !matches!(field.name, "cp_low" | "peer_teid" | "far_id")
}

/// What comes behind a place, or first in it if it is a group.
pub(super) fn behind(of: &Place) -> Option<&'static Next> {
    // By the name of the form, which each place has for itself.
    static BEHIND: LazyLock<BTreeMap<&'static str, Next>> = LazyLock::new(|| {
        let mut all = BTreeMap::new();
        walk(MESSAGE, &Next::end(), &mut |place, next, inside| {
            all.insert(place.form().name, inside.unwrap_or(next).clone());
        });
        all
    });
    BEHIND.get(of.form().name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Groups of the codec, whose order of fields the places have.
    static ORDERS: &[(&[Place], &[pfcp::Field])] = &[
        (MESSAGE, pfcp::SessionEstablishmentRequest::FIELDS),
        (PDR, pfcp::CreatePdr::FIELDS),
        (PDI, pfcp::Pdi::FIELDS),
        (FAR, pfcp::CreateFar::FIELDS),
        (FAR, pfcp::UpdateFar::FIELDS),
        (PARAMETERS, pfcp::ForwardingParameters::FIELDS),
        (PARAMETERS, pfcp::UpdateForwardingParameters::FIELDS),
        (QER, pfcp::CreateQer::FIELDS),
    ];

    // Input:  the places of messages and groups, and the codec's fields of the same messages and groups.
    // Output: places stand in the order of the fields. A modification has its Node ID last, and is none of the class with one.
    #[test]
    fn places_have_the_order_of_the_codec() {
        for (places, fields) in ORDERS {
            let position = |ie: &u16| fields.iter().position(|field| field.ie_type == *ie);
            let positions = places.iter().filter_map(|place| place.types().iter().find_map(position));
            let order: Vec<_> = positions.collect();
            assert!(order.len() >= 3 && order.is_sorted(), "{order:?}");
        }
        let [_, of_modification @ ..] = MESSAGE else { panic!() };
        let fields = pfcp::SessionModificationRequest::FIELDS;
        let position = |ie: &u16| fields.iter().position(|field| field.ie_type == *ie);
        let order: Vec<_> = of_modification.iter().filter_map(|place| position(&place.ie)).collect();
        assert!(order.len() == 4 && order.is_sorted(), "{order:?}");
    }
}

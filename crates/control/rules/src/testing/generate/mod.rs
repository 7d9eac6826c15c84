//! Random rules: legal ones, and changes of any kind.

mod bar;
mod endpoint;
mod far;
mod pdr;
mod qer;
mod urr;

use bar::*;
use endpoint::*;
use far::*;
use pdr::*;
use qer::*;
use urr::*;

use causeway_types::{
    BarId, Bitrate, FTeid, FarId, Interface, IpNet, PdrId, Ppi, Precedence, QerId, Qfi, QfiSet, SNssai, Span,
    Teid, UrrId, WallTime,
};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use crate::edits::{
    BarUpdate, DuplicateUpdate, Edits, Endpoint, EndpointDraft, EndpointEdits, EndpointId, EndpointUe,
    EndpointUpdate, FarUpdate, FilterDraft, ForwardingUpdate, PdiDraft, PdrDraft, PdrUpdate, QerUpdate,
    RequestedChanges, Setting, SteeringUpdate, TunnelRequest, UeChoice,
};
use causeway_model::{
    Allowance, ApplyAction, Bar, BufferingDuration, CopyTo, Correlation, DeliveryStatus, Duplicate,
    ExtendedBuffering, Far, FlowMarking, Forwarding, Gate, HeaderRemoval, HttpField, NewEnd, OuterHeader,
    PacketRate, PacketRates, PagingPolicy, Pdi, Pdr, PolicyName, Qer, RateLimit, Redirect, Replacement,
    RuleSet, SdfFilter, Steering, TosMarking, TrafficClass, UeSide, Url, Urr,
};

use super::{downlink_pdr, gnb, internet, known_policy, through_n6, to_gnb, to_internet, ue, uplink_pdr};

/// Keeps, removes or sets.
pub(super) fn setting<T: Clone + std::fmt::Debug>(
    value: impl Strategy<Value = T>,
) -> impl Strategy<Value = Setting<T>> {
    (0..3_u8, value).prop_map(|(choice, value)| match choice {
        0 => Setting::Keep,
        1 => Setting::Remove,
        _ => Setting::Set(value),
    })
}

/// The value, if `with`.
fn set_if<T>(with: bool, value: Option<T>) -> Setting<T> {
    value.filter(|_| with).map_or(Setting::Keep, Setting::Set)
}

/// The number of ids of each kind; small, so that changes often concern existing rules.
pub(super) const IDS: u32 = 5;

/// Any legal rule set with at least one PDR, of the UE 10.45.0.2. Its local tunnels have the TEIDs 1 to 5, its
/// times lie within minutes of zero.
pub fn rule_set() -> impl Strategy<Value = RuleSet> {
    let simple = (
        btree_set(0..IDS as u8, 0..3).prop_flat_map(|ids| ids.into_iter().map(bar).collect::<Vec<_>>()),
        btree_set(0..IDS, 0..4).prop_flat_map(|ids| ids.into_iter().map(urr).collect::<Vec<_>>()),
        btree_set(0..IDS, 0..4).prop_flat_map(|ids| ids.into_iter().map(qer).collect::<Vec<_>>()),
    );
    simple.prop_flat_map(|(bars, urrs, qers)| {
        let bar_ids: Vec<_> = bars.iter().map(|bar: &Bar| bar.id).collect();
        let fars = btree_set(0..IDS, 1..4)
            .prop_flat_map(move |ids| ids.into_iter().map(|id| far(id, bar_ids.clone())).collect::<Vec<_>>());
        (Just((bars, urrs, qers)), fars).prop_flat_map(|((bars, urrs, qers), fars)| {
            let far_ids: Vec<_> = fars.iter().map(|far: &Far| far.id).collect();
            let qer_ids: Vec<_> = qers.iter().map(|qer: &Qer| qer.id).collect();
            let urr_ids: Vec<_> = urrs.iter().map(|urr: &Urr| urr.id).collect();
            let pdrs = btree_set(0..IDS as u16, 1..5).prop_flat_map(move |ids| {
                let one = |id| pdr(id, far_ids.clone(), qer_ids.clone(), urr_ids.clone());
                ids.into_iter().map(one).collect::<Vec<_>>()
            });
            let of_session = (option::of(slice()), vec(paging_policy(), 0..2), option::of(inactivity()));
            (pdrs, of_session).prop_map(move |(pdrs, (slice, paging, inactivity_timer))| RuleSet {
                slice,
                paging,
                pdrs: pdrs.into_iter().map(|pdr| (pdr.id, pdr)).collect(),
                fars: fars.iter().map(|far| (far.id, far.clone())).collect(),
                qers: qers.iter().map(|qer| (qer.id, qer.clone())).collect(),
                urrs: linked(&urrs, &fars),
                bars: bars.iter().map(|bar| (bar.id, bar.clone())).collect(),
                inactivity_timer,
                ..RuleSet::default()
            })
        })
    })
}

fn inactivity() -> impl Strategy<Value = Span> {
    (1..4_u64).prop_map(Span::from_secs)
}

fn qfi() -> impl Strategy<Value = Qfi> {
    (0..=Qfi::MAX).prop_filter_map("6 bits", Qfi::new)
}

fn paging_policy() -> impl Strategy<Value = PagingPolicy> {
    (vec(qfi(), 0..2), btree_map(0..64_u8, ppi(), 1..4))
        .prop_map(|(qfis, ppis)| PagingPolicy { qfis: QfiSet::from_iter(qfis), ppis })
}

fn slice() -> impl Strategy<Value = SNssai> {
    (1..3_u8).prop_map(|sst| SNssai { sst, sd: SNssai::NO_SD })
}

/// Any change: of rules that may exist or not, legal or not.
pub(crate) fn changes() -> impl Strategy<Value = RequestedChanges> {
    let pdrs = edits(0..IDS as u16, any_pdr(), any_pdr_update());
    let fars = edits(0..IDS, any_far(), any_far_update());
    let qers = edits(0..IDS, (0..IDS).prop_flat_map(qer), any_qer_update());
    let urrs = edits(0..IDS, any_urr(), any_urr_update());
    let bars = edits(0..IDS as u8, (0..IDS as u8).prop_flat_map(bar), any_bar_update());
    let query =
        (btree_set((0..IDS).prop_map(UrrId), 0..2), any::<bool>(), btree_set((0..IDS).prop_map(QerId), 0..2));
    let whole = (any::<bool>(), vec(extended(), 0..2), setting(inactivity()));
    let marks = (option::of(slice()), option::of(vec(paging_policy(), 0..2)));
    let rules = (pdrs, fars, qers, urrs, bars, any_endpoints());
    (rules, query, whole, marks).prop_map(
        |(
            rules,
            (query, query_all, query_packet_rates),
            (drop_buffered, extended, timer),
            (slice, paging),
        )| {
            let (pdrs, fars, qers, urrs, bars, endpoints) = rules;
            let session = RequestedChanges {
                drop_buffered,
                extended,
                inactivity_timer: timer,
                ..RequestedChanges::default()
            };
            let session = RequestedChanges { query_packet_rates, slice, paging, ..session };
            RequestedChanges { pdrs, fars, qers, urrs, bars, query, query_all, endpoints, ..session }
        },
    )
}

fn edits<R: Copy + std::fmt::Debug, I: From<R> + std::fmt::Debug, C: std::fmt::Debug, U: std::fmt::Debug>(
    ids: impl Strategy<Value = R>,
    create: impl Strategy<Value = C>,
    update: impl Strategy<Value = U>,
) -> impl Strategy<Value = Edits<I, C, U>> {
    (vec(ids, 0..2), vec(create, 0..3), vec(update, 0..2)).prop_map(|(remove, create, update)| Edits {
        remove: remove.into_iter().map(I::from).collect(),
        create,
        update,
    })
}

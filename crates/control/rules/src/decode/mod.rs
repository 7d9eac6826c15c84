//! Decodes session requests into typed changes: values are checked, references not yet.

mod bar;
mod duplicate;
mod endpoint;
mod ethernet;
mod far;
mod flow;
mod framed;
mod ie_support;
mod marking;
pub(crate) mod packet_rate;
mod pdr;
mod qer;
mod redirect;
mod tunnel;
mod ue;
mod urr;
mod urr_limits;

use causeway_model::{PagingPolicy, RuleId};
use causeway_pfcp::{
    DscpToPpiControlInformation, Ie, Many, Others, SessionEstablishmentFlags, SessionEstablishmentRequest,
    SessionModificationFlags, SessionModificationRequest, SessionReportResponse, SessionReportResponseFlags,
    UserPlaneInactivityTimer,
};

use causeway_types::Span;

use crate::edits::{RequestedChanges, Setting};
use crate::rejection::refuse_if;
use crate::ue_mac;
use crate::{Reason, Rejection, ie};
use ie_support::CheckSupport;

/// Bit 32 of the ID of a FAR, QER or URR: the rule is predefined in the UPF (clauses 8.2.54, 8.2.74, 8.2.75).
const PREDEFINED: u32 = 1 << 31;

/// # Errors
/// The first IE that is wrong, missing, or not supported.
pub(crate) fn establishment(
    request: &SessionEstablishmentRequest<'_>,
) -> Result<RequestedChanges, Rejection> {
    request.refuse_unsupported()?;
    let pdu_type = ethernet::session_type(request.pdn_type)?;
    let flags = request.flags.unwrap_or_default();
    let pauses = flags.contains(SessionEstablishmentFlags::SUMPC);
    refuse_if(pauses, ie::SE_REQ_FLAGS, "pausing of charging")?;
    let restoration = flags.contains(SessionEstablishmentFlags::RESTI);
    let mut changes = RequestedChanges {
        restoration,
        pdu_type,
        established_by: Some(request.node_id.to_owned()),
        slice: request.s_nssai,
        paging: Some(paging(request)?),
        ..RequestedChanges::default()
    };
    changes.inactivity_timer = inactivity_timer(request.user_plane_inactivity_timer, &request.other);
    changes.pdrs.create = each(&request.create_pdrs, |group| pdr::create(group))?;
    changes.fars.create = each(&request.create_fars, |group| far::create(group))?;
    changes.qers.create = each(&request.create_qers, |group| qer::create(group))?;
    changes.urrs.create = each(&request.create_urrs, |group| urr::create(group))?;
    changes.bars.create = request.create_bar.iter().map(bar::create).collect::<Result<_, _>>()?;
    changes.endpoints.create = endpoint::created(&request.create_traffic_endpoints)?;
    Ok(changes)
}

/// # Errors
/// The first IE that is wrong, missing, or not supported.
pub(crate) fn modification(request: &SessionModificationRequest<'_>) -> Result<RequestedChanges, Rejection> {
    request.refuse_unsupported()?;
    let flags = request.flags.unwrap_or_default();
    let done = SessionModificationFlags::QAURR | SessionModificationFlags::DROBU;
    let unsupported = flags - done;
    refuse_if(!unsupported.is_empty(), ie::SM_REQ_FLAGS, "a flag of the message other than QAURR and DROBU")?;
    let mut changes = RequestedChanges {
        query_all: flags.contains(SessionModificationFlags::QAURR),
        query: request.query_urrs.iter().map(|group| group.urr_id).collect(),
        drop_buffered: flags.contains(SessionModificationFlags::DROBU),
        inactivity_timer: inactivity_timer(request.user_plane_inactivity_timer, &request.other),
        extended: request.update_bar.iter().filter_map(bar::extended).collect(),
        query_reference: request.query_urr_reference.map(|reference| reference.0),
        query_packet_rates: request.query_packet_rate_status.iter().map(|group| group.qer_id).collect(),
        macs: request.ethernet_context_information.as_ref().map(ue_mac::given).unwrap_or_default(),
        slice: request.s_nssai,
        paging: new_paging(request)?,
        ..RequestedChanges::default()
    };
    removals(request, &mut changes);
    changes.pdrs.create = each(&request.create_pdrs, |group| pdr::create(group))?;
    changes.pdrs.update = each(&request.update_pdrs, |group| pdr::update(group))?;
    changes.fars.create = each(&request.create_fars, |group| far::create(group))?;
    changes.fars.update = each(&request.update_fars, |group| far::update(group))?;
    changes.qers.create = each(&request.create_qers, |group| qer::create(group))?;
    changes.qers.update = each(&request.update_qers, |group| qer::update(group))?;
    changes.urrs.create = each(&request.create_urrs, |group| urr::create(group))?;
    changes.urrs.update = each(&request.update_urrs, |group| urr::update(group))?;
    changes.bars.create = request.create_bar.iter().map(bar::create).collect::<Result<_, _>>()?;
    changes.bars.update = request.update_bar.iter().map(bar::update).collect::<Result<_, _>>()?;
    changes.endpoints.remove = endpoint::removed(&request.remove_traffic_endpoints);
    changes.endpoints.create = endpoint::created(&request.create_traffic_endpoints)?;
    changes.endpoints.update = endpoint::updated(&request.update_traffic_endpoints)?;
    Ok(changes)
}

fn paging(request: &SessionEstablishmentRequest<'_>) -> Result<Vec<PagingPolicy>, Reason> {
    request.dscp_to_ppi_control_information.iter().map(|group| marking::paging(&group)).collect()
}

/// Replaces the old policies as a whole.
fn new_paging(request: &SessionModificationRequest<'_>) -> Result<Option<Vec<PagingPolicy>>, Reason> {
    let given = request.dscp_to_ppi_control_information.as_ref();
    match given.map(marking::paging).transpose()? {
        Some(policy) => Ok(Some(vec![policy])),
        None => Ok(request.other.removes::<DscpToPpiControlInformation<'_>>().then(Vec::new)),
    }
}

/// The instructions of a Session Report Response (table 7.5.9.1-1).
///
/// # Errors
/// The first IE that is wrong or not supported.
pub(crate) fn report_response(response: &SessionReportResponse<'_>) -> Result<RequestedChanges, Rejection> {
    let flags = response.flags.unwrap_or_default();
    let mut changes = RequestedChanges {
        drop_buffered: flags.contains(SessionReportResponseFlags::DROBU),
        extended: response.update_bar.iter().filter_map(bar::extended).collect(),
        ..RequestedChanges::default()
    };
    changes.bars.update = response.update_bar.iter().map(bar::update).collect::<Result<_, _>>()?;
    Ok(changes)
}

/// Zero stops the timer (clause 8.2.83).
fn inactivity_timer(timer: Option<UserPlaneInactivityTimer>, others: &Others<'_>) -> Setting<Span> {
    let seconds = timer.map(|timer| Span::from_secs(timer.0.into()));
    match setting::<UserPlaneInactivityTimer, _>(seconds, others) {
        Setting::Set(Span::ZERO) => Setting::Remove,
        setting => setting,
    }
}

fn removals(request: &SessionModificationRequest<'_>, changes: &mut RequestedChanges) {
    changes.pdrs.remove = request.remove_pdrs.iter().map(|group| group.pdr_id).collect();
    changes.fars.remove = request.remove_fars.iter().map(|group| group.far_id).collect();
    changes.qers.remove = request.remove_qers.iter().map(|group| group.qer_id).collect();
    changes.urrs.remove = request.remove_urrs.iter().map(|group| group.urr_id).collect();
    changes.bars.remove = request.remove_bar.iter().map(|group| group.bar_id).collect();
}

/// Decodes each group of one type.
fn each<'a, T: Ie<'a> + Clone, R>(
    groups: &Many<'a, T>,
    decode: impl Fn(&T) -> Result<R, Rejection>,
) -> Result<Vec<R>, Rejection> {
    groups.iter().map(|group| decode(&group)).collect()
}

/// Decodes the content of a group; its rejections name this rule.
fn about<R>(rule: impl Into<RuleId>, decode: impl FnOnce() -> Result<R, Reason>) -> Result<R, Rejection> {
    decode().map_err(|reason| reason.of(rule))
}

fn not_predefined(id: u32, ie: u16) -> Result<(), Reason> {
    if id & PREDEFINED == 0 { Ok(()) } else { Err(Reason::PredefinedRule(ie)) }
}

/// A part that an update sets, removes by null length, or leaves out.
fn setting<'a, W: Ie<'a>, T>(value: Option<T>, others: &Others<'_>) -> Setting<T> {
    match value {
        Some(value) => Setting::Set(value),
        None if others.removes::<W>() => Setting::Remove,
        None => Setting::Keep,
    }
}

//! Create PDR, Update PDR and the PDI in them.

use causeway_model::{ApplicationId, RuleName};
use causeway_pfcp::{
    ActivationTime, CreatePdr, DeactivationTime, Ie, Many, Others, OuterHeaderRemoval, Pdi, UpdatePdr,
};
use causeway_types::FarId;

use super::ie_support::CheckSupport;
use super::tunnel::Removal;
use super::{about, endpoint, ethernet, flow, framed, not_predefined, setting, tunnel, ue};
use crate::edits::{PdiDraft, PdrDraft, PdrUpdate, Setting, UeChoice};
use crate::{Reason, Rejection, ie};

pub(super) fn create(group: &CreatePdr<'_>) -> Result<PdrDraft, Rejection> {
    about(group.pdr_id, || {
        group.refuse_unsupported()?;
        group.refuse_nulls()?;
        let reason = "predefined rules do not provide it";
        let far = group.far_id.ok_or(Reason::ConditionalMissing { ie: ie::FAR_ID, why: reason })?;
        not_predefined(far.0, ie::FAR_ID)?;
        let mut pdi = pdi(&group.pdi)?;
        pools(pdi.ue_choice.as_mut(), group);
        let removal = group.outer_header_removal.as_ref().map(tunnel::removal).transpose()?;
        Ok(PdrDraft {
            id: group.pdr_id,
            precedence: group.precedence,
            pdi,
            removal: removal.and_then(Removal::header),
            vlan_removal: removal.and_then(Removal::vlan),
            far,
            qers: once(&group.qer_ids, |id| id.0)?,
            urrs: once(&group.urr_ids, |id| id.0)?,
            activate: group.activate_predefined_rules.iter().map(|name| rule_name(name.0)).collect(),
            active_from: group.activation_time.map(|time| time.0.to_wall()),
            active_until: group.deactivation_time.map(|time| time.0.to_wall()),
        })
    })
}

pub(super) fn update(group: &UpdatePdr<'_>) -> Result<PdrUpdate, Rejection> {
    about(group.pdr_id, || {
        group.refuse_unsupported()?;
        if let Some(FarId(far)) = group.far_id {
            not_predefined(far, ie::FAR_ID)?;
        }
        let removal = group.outer_header_removal.as_ref().map(tunnel::removal).transpose()?;
        let removal = setting::<OuterHeaderRemoval, _>(removal, &group.other);
        Ok(PdrUpdate {
            id: group.pdr_id,
            precedence: group.precedence,
            pdi: group.pdi.as_ref().map(pdi).transpose()?,
            removal: either(&removal, Removal::header),
            vlan_removal: either(&removal, Removal::vlan),
            far: group.far_id,
            qers: list(once(&group.qer_ids, |id| id.0)?, &group.other),
            urrs: list(once(&group.urr_ids, |id| id.0)?, &group.other),
            activate: group.activate_predefined_rules.iter().map(|name| rule_name(name.0)).collect(),
            deactivate: group.deactivate_predefined_rules.iter().map(|name| rule_name(name.0)).collect(),
            active_from: setting::<ActivationTime, _>(
                group.activation_time.map(|time| time.0.to_wall()),
                &group.other,
            ),
            active_until: setting::<DeactivationTime, _>(
                group.deactivation_time.map(|time| time.0.to_wall()),
                &group.other,
            ),
        })
    })
}

fn pdi(group: &Pdi<'_>) -> Result<PdiDraft, Reason> {
    group.refuse_unsupported()?;
    group.refuse_nulls()?;
    let reason = "no release defines this interface";
    let spare = Reason::Incorrect { ie: ie::SOURCE_INTERFACE, why: reason };
    let source = group.source_interface.interface().ok_or(spare)?;
    let ue::Addresses { first, further, choice } = ue::addresses(group.ue_ip_addresses.iter(), source)?;
    let framed = framed::routes(&group.framed_routes, &group.framed_ipv6_routes)?;
    Ok(PdiDraft {
        tunnel: group.local_f_teid.as_ref().map(tunnel::request).transpose()?,
        network_instance: group.network_instance.map(|instance| instance.to_owned()),
        ue: first,
        ue_choice: choice,
        further: further.len(),
        routes: [further, framed].concat(),
        qfis: group.qfis.iter().collect(),
        filters: group.sdf_filters.iter().map(|filter| flow::draft(&filter)).collect::<Result<_, _>>()?,
        application: group.application_id.map(|id| ApplicationId::new(id.0)),
        whole_ethernet_session: ethernet::whole_session(group.ethernet_pdu_session_information)?,
        ethernet: ethernet::filters(group)?,
        endpoint: endpoint::reference(&group.traffic_endpoint_ids)?,
        ..PdiDraft::new(source)
    })
}

/// The pools for the UE address. Without CHOOSE they have no effect.
fn pools(choice: Option<&mut UeChoice>, group: &CreatePdr<'_>) {
    if let Some(choice) = choice {
        choice.pools = group.pool_identities.iter().map(|identity| identity.0.0.to_vec()).collect();
    }
}

/// The setting for one kind of header; a removal of one kind clears the other.
fn either<T>(removal: &Setting<Removal>, part: impl Fn(Removal) -> Option<T>) -> Setting<T> {
    match removal {
        Setting::Keep => Setting::Keep,
        Setting::Remove => Setting::Remove,
        Setting::Set(removal) => part(*removal).map_or(Setting::Remove, Setting::Set),
    }
}

/// Names are text; octets that are not UTF-8 match no configured name.
fn rule_name(octets: &[u8]) -> RuleName {
    RuleName::from(&*String::from_utf8_lossy(octets))
}

/// Each rule once: a duplicate must not meter or count a packet twice.
fn once<'a, T: Ie<'a> + Copy + PartialEq>(
    ids: &Many<'a, T>,
    number: impl Fn(T) -> u32,
) -> Result<Vec<T>, Reason> {
    let mut list = Vec::new();
    for id in ids.iter() {
        not_predefined(number(id), T::TYPE)?;
        if !list.contains(&id) {
            list.push(id);
        }
    }
    Ok(list)
}

/// The list that replaces the existing one: `None` if there is none, empty by one IE of null length.
fn list<T: for<'t> Ie<'t>>(ids: Vec<T>, others: &Others<'_>) -> Option<Vec<T>> {
    (!ids.is_empty() || others.removes::<T>()).then_some(ids)
}

//! Duplicating Parameters: the destinations of copies.

use causeway_model::{CopyTo, Duplicate, OuterHeader};
use causeway_pfcp::{
    DestinationInterface, DuplicatingParameters, ForwardingPolicy, Ie, Many, OuterHeaderCreation,
    OuterHeaders, UpdateDuplicatingParameters,
};

use super::far::destination;
use super::ie_support::CheckSupport;
use super::redirect::policy;
use super::{setting, tunnel};
use crate::Reason;
use crate::edits::{DuplicateUpdate, Setting};

/// Every destination of the copies, in the order of the message.
pub(super) fn all(groups: &Many<'_, DuplicatingParameters<'_>>) -> Result<Vec<Duplicate>, Reason> {
    groups.iter().map(|group| one(&group)).collect()
}

fn one(group: &DuplicatingParameters<'_>) -> Result<Duplicate, Reason> {
    group.refuse_unsupported()?;
    Ok(Duplicate {
        destination: copy_to(group.destination_interface)?,
        outer: group.outer_header_creation.as_ref().map(header).transpose()?,
        policy: group.forwarding_policy.as_ref().map(policy),
    })
}

/// Copies get no VLAN tags.
fn header(creation: &OuterHeaderCreation) -> Result<OuterHeader, Reason> {
    let tags = OuterHeaders::C_TAG | OuterHeaders::S_TAG;
    let header = tunnel::outer(creation)?.filter(|_| !creation.description.intersects(tags));
    header.ok_or(Reason::Unsupported { ie: OuterHeaderCreation::TYPE, what: "VLAN tags in copies" })
}

fn copy_to(interface: DestinationInterface) -> Result<CopyTo, Reason> {
    match interface {
        DestinationInterface::LiFunction => Ok(CopyTo::LiFunction),
        _ => destination(interface).map(CopyTo::Side),
    }
}

/// The changes to the destinations, which have no id: the first update applies to the first destination, and so on.
/// One of null length removes all (clause 5.6.3).
pub(super) fn updates(
    groups: &Many<'_, UpdateDuplicatingParameters<'_>>,
) -> Result<Setting<Vec<DuplicateUpdate>>, Reason> {
    if groups.iter().any(|group| group == UpdateDuplicatingParameters::default()) {
        return Ok(Setting::Remove);
    }
    let updates: Vec<_> = groups.iter().map(|group| update(&group)).collect::<Result<_, _>>()?;
    Ok(if updates.is_empty() { Setting::Keep } else { Setting::Set(updates) })
}

fn update(group: &UpdateDuplicatingParameters<'_>) -> Result<DuplicateUpdate, Reason> {
    group.refuse_unsupported()?;
    let outer = group.outer_header_creation.as_ref().map(header).transpose()?;
    Ok(DuplicateUpdate {
        destination: group.destination_interface.map(copy_to).transpose()?,
        outer: setting::<OuterHeaderCreation, _>(outer, &group.other),
        policy: setting::<ForwardingPolicy<'_>, _>(
            group.forwarding_policy.as_ref().map(policy),
            &group.other,
        ),
    })
}

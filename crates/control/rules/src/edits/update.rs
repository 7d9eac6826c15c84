//! Applies an update to one rule.

use causeway_collections::SortedMap;

use crate::{Reason, ie};
use causeway_model::{Bar, Duplicate, Far, Forwarding, Pdr, Qer};

use crate::catalogue::{activate, deactivate};

use super::resolve::{Resolver, matching_removal};
use super::{
    BarUpdate, DuplicateUpdate, Endpoint, EndpointId, FarUpdate, ForwardingUpdate, PdrUpdate, QerUpdate,
    Setting,
};

pub(super) fn pdr(
    pdr: &mut Pdr,
    update: PdrUpdate,
    resolver: &mut Resolver<'_, '_, '_>,
    endpoints: &SortedMap<EndpointId, Endpoint>,
) -> Result<(), Reason> {
    if let Some(pdi) = update.pdi {
        pdr.pdi = resolver.update(pdi, &pdr.pdi, endpoints)?;
    }
    deactivate(&update.deactivate, &mut pdr.predefined)?;
    activate(resolver.predefined, &update.activate, &mut pdr.predefined)?;
    update.active_from.apply(&mut pdr.active_from);
    update.active_until.apply(&mut pdr.active_until);
    pdr.precedence = update.precedence.unwrap_or(pdr.precedence);
    update.removal.apply(&mut pdr.removal);
    update.vlan_removal.apply(&mut pdr.vlan_removal);
    pdr.removal = pdr.removal.map(|removal| matching_removal(removal, pdr.pdi.tunnel));
    pdr.far = update.far.unwrap_or(pdr.far);
    if let Some(qers) = update.qers {
        pdr.qers = qers;
    }
    if let Some(urrs) = update.urrs {
        pdr.urrs = urrs;
    }
    Ok(())
}

pub(super) fn far(far: &mut Far, update: &FarUpdate) -> Result<(), Reason> {
    far.action = update.action.unwrap_or(far.action);
    far.delivery_status = update.delivery_status.unwrap_or(far.delivery_status);
    far.duplicate = update.duplicate.unwrap_or(far.duplicate);
    duplicates(&mut far.duplicates, &update.duplicates)?;
    update.bar.apply(&mut far.bar);
    match (&mut far.forwarding, &update.forwarding) {
        (_, None) => {}
        (Some(forwarding), Some(update)) => update_forwarding(forwarding, update),
        (current, Some(update)) => *current = Some(new_forwarding(update)?),
    }
    Ok(())
}

fn update_forwarding(forwarding: &mut Forwarding, update: &ForwardingUpdate) {
    forwarding.destination = update.destination.unwrap_or(forwarding.destination);
    update.outer.apply(&mut forwarding.outer);
    update.vlan.apply(&mut forwarding.vlan);
    update.steering.redirect.apply(&mut forwarding.steering.redirect);
    update.steering.replacement.apply(&mut forwarding.steering.replacement);
    update.steering.policy.apply(&mut forwarding.steering.policy);
    update.marking.apply(&mut forwarding.marking);
    update.enrichment.apply_or_default(&mut forwarding.enrichment);
    update.network_instance.apply(&mut forwarding.network_instance);
}

/// An update may contain the first forwarding parameters of a FAR.
fn new_forwarding(update: &ForwardingUpdate) -> Result<Forwarding, Reason> {
    let reason = "the FAR has no forwarding parameters yet";
    let missing = Reason::ConditionalMissing { ie: ie::DESTINATION_INTERFACE, why: reason };
    let destination = update.destination.ok_or(missing)?;
    let mut forwarding = Forwarding::to(destination);
    update_forwarding(&mut forwarding, update);
    Ok(forwarding)
}

/// The first update applies to the first destination, and so on; further updates create destinations.
fn duplicates(current: &mut Vec<Duplicate>, updates: &Setting<Vec<DuplicateUpdate>>) -> Result<(), Reason> {
    let updates = match updates {
        Setting::Keep => return Ok(()),
        Setting::Remove => {
            current.clear();
            return Ok(());
        }
        Setting::Set(updates) => updates,
    };
    for (duplicate, update) in current.iter_mut().zip(updates) {
        duplicate.destination = update.destination.unwrap_or(duplicate.destination);
        update.outer.apply(&mut duplicate.outer);
        update.policy.apply(&mut duplicate.policy);
    }
    for update in updates.iter().skip(current.len()) {
        let reason = "the copies have no destination yet";
        let missing = Reason::ConditionalMissing { ie: ie::DESTINATION_INTERFACE, why: reason };
        let mut duplicate =
            Duplicate { destination: update.destination.ok_or(missing)?, outer: None, policy: None };
        update.outer.apply(&mut duplicate.outer);
        update.policy.apply(&mut duplicate.policy);
        current.push(duplicate);
    }
    Ok(())
}

pub(super) fn qer(qer: &mut Qer, update: &QerUpdate) {
    if let Some((uplink, downlink)) = update.gates {
        (qer.uplink, qer.downlink) = (uplink, downlink);
    }
    update.correlation.apply(&mut qer.correlation);
    update.mbr.apply(&mut qer.mbr);
    update.gbr.apply(&mut qer.gbr);
    update.averaging_window.apply(&mut qer.averaging_window);
    update.packet_rate.apply(&mut qer.packet_rate);
    update.reports_packet_rate.apply_or_default(&mut qer.reports_packet_rate);
    update.qfi.apply(&mut qer.qfi);
    update.reflective.apply_or_default(&mut qer.reflective);
    update.ppi.apply(&mut qer.ppi);
    update.flow_marking.apply_or_default(&mut qer.flow_marking);
}

pub(super) fn bar(bar: &mut Bar, update: &BarUpdate) {
    bar.notification_delay = update.notification_delay.unwrap_or(bar.notification_delay);
    update.suggested_packets.apply(&mut bar.suggested_packets);
}

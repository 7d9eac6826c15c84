//! Checks that rules fit the PDU session type: Ethernet frames or IP packets, never both.

use causeway_model::{Activated, EthernetFilter, Forwarding, Pdr, PduSessionType, Proxying, SdfFilter, Urr};
use causeway_pfcp::{
    EthernetInactivityTimer, EthernetPacketFilter, EthernetPduSessionInformation, Ie, Proxying as ProxyingIe,
    SdfFilter as WireFilter,
};
use causeway_types::{Interface, NetworkInstance, ReportingTriggers};

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::{Context, require};

/// The Ethertypes of IPv4 and IPv6.
const IP: [u16; 2] = [0x0800, 0x86dd];

/// The data plane supports sessions of this type.
pub(super) fn check_type(kind: PduSessionType, context: &Context<'_>) -> Result<(), Reason> {
    let lacking = kind == PduSessionType::Ethernet && !context.capabilities.ethernet;
    refuse_if(lacking, ie::PDN_TYPE, "Ethernet sessions")
}

/// The PDR matches the packets of its session type.
pub(super) fn check_pdr(pdr: &Pdr, kind: PduSessionType, context: &Context<'_>) -> Result<(), Reason> {
    match kind {
        PduSessionType::Ip => check_ip_pdr(pdr)?,
        PduSessionType::Ethernet => check_ethernet_pdr(pdr)?,
    }
    let pdi = &pdr.pdi;
    let is_n6 = pdi.source != Interface::Access && pdi.tunnel.is_none();
    match pdi.network_instance.as_ref().filter(|_| is_n6) {
        Some(instance) => check_network(instance, kind, context),
        None => Ok(()),
    }
}

fn check_ip_pdr(pdr: &Pdr) -> Result<(), Reason> {
    let reason = "the session carries IP packets";
    forbid(pdr.pdi.whole_ethernet_session, EthernetPduSessionInformation::TYPE, reason)?;
    forbid(!pdr.pdi.ethernet.is_empty(), EthernetPacketFilter::TYPE, reason)?;
    forbid(pdr.vlan_removal.is_some(), ie::OUTER_HEADER_REMOVAL, "IP packets have no VLAN tag")
}

fn check_ethernet_pdr(pdr: &Pdr) -> Result<(), Reason> {
    let pdi = &pdr.pdi;
    forbid(pdi.names_ue(), ie::UE_IP_ADDRESS, "the session carries Ethernet frames")?;
    refuse_if(pdi.application.is_some(), ie::APPLICATION_ID, "applications in Ethernet frames")?;
    let predefined = pdr.predefined != Activated::default();
    refuse_if(predefined, ie::ACTIVATE_PREDEFINED_RULES, "predefined rules for Ethernet frames")?;
    let both = !pdi.filters.is_empty() && !pdi.ethernet.is_empty();
    forbid(both, ie::SDF_FILTER, "an SDF filter beside an Ethernet filter")?;
    let uplink = pdi.source == Interface::Access;
    let reason = "it applies to downlink frames only";
    forbid(uplink && pdi.whole_ethernet_session, EthernetPduSessionInformation::TYPE, reason)?;
    let reason = "a VLAN tag is removed from frames of the data network only";
    forbid(pdi.tunnel.is_some() && pdr.vlan_removal.is_some(), ie::OUTER_HEADER_REMOVAL, reason)?;
    let known = pdi.tunnel.is_some() || pdi.whole_ethernet_session || !pdi.ethernet.is_empty();
    let reason = "no other IE identifies the session of the frames";
    require(uplink || known, EthernetPduSessionInformation::TYPE, reason)?;
    pdi.filters.iter().try_for_each(check_flow)?;
    pdi.ethernet.iter().try_for_each(check_filter)
}

fn check_filter(filter: &EthernetFilter) -> Result<(), Reason> {
    let not_ip = filter.ether_type.is_some_and(|number| !IP.contains(&number));
    let reason = "frames of this Ethertype contain no IP packet";
    forbid(not_ip && !filter.flows.is_empty(), WireFilter::TYPE, reason)?;
    filter.flows.iter().try_for_each(check_flow)
}

/// The UPF does not know the IP address of a UE with an Ethernet session.
fn check_flow(flow: &SdfFilter) -> Result<(), Reason> {
    forbid(flow.flow.names_assigned(), WireFilter::TYPE, "no IP address is assigned to an Ethernet session")
}

/// Only Ethernet sessions have MAC addresses to report.
pub(super) fn check_urr(urr: &Urr, kind: PduSessionType) -> Result<(), Reason> {
    let reports = urr.triggers.contains(ReportingTriggers::MACAR);
    let reason = "the session carries IP packets";
    forbid(reports && kind == PduSessionType::Ip, ie::REPORTING_TRIGGERS, reason)?;
    let reason = "the timer of MAC addresses without their trigger";
    forbid(urr.mac_inactivity.is_some() && !reports, EthernetInactivityTimer::TYPE, reason)
}

/// The FAR's actions fit the session type.
pub(super) fn check_forwarding(
    forwarding: &Forwarding,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    if kind == PduSessionType::Ip {
        let reason = "IP packets have no VLAN tag";
        forbid(forwarding.vlan.is_some(), ie::OUTER_HEADER_CREATION, reason)?;
        let reason = "the session carries IP packets";
        forbid(forwarding.proxying != Proxying::default(), ProxyingIe::TYPE, reason)?;
    }
    match forwarding.network_instance.as_ref().filter(|_| forwarding.is_n6()) {
        Some(instance) => check_network(instance, kind, context),
        None => Ok(()),
    }
}

/// A data network is for either IP packets or frames. An unknown one is reported elsewhere.
fn check_network(
    instance: &NetworkInstance,
    kind: PduSessionType,
    context: &Context<'_>,
) -> Result<(), Reason> {
    let other = match kind {
        PduSessionType::Ip => context.endpoints.is_ethernet(instance),
        PduSessionType::Ethernet => context.endpoints.is_network(instance),
    };
    if other { Err(Reason::NetworkOfOtherType(instance.clone(), kind)) } else { Ok(()) }
}

fn forbid(there: bool, ie: u16, reason: &'static str) -> Result<(), Reason> {
    if there { Err(Reason::Incorrect { ie, why: reason }) } else { Ok(()) }
}

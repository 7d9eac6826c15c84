//! Checks of one PDR.

use std::net::IpAddr;

use causeway_model::{Pdi, Pdr, PduSessionType, RemovedHeader, RuleSet};
use causeway_types::{Interface, IpNet};

use crate::rejection::refuse_if;
use crate::{Reason, ie};

use super::{Context, ethernet, known, require, routes};

pub(super) fn check(pdr: &Pdr, rules: &RuleSet, context: &Context<'_>) -> Result<(), Reason> {
    check_references(pdr, rules)?;
    check_source(&pdr.pdi, rules)?;
    check_ue(&pdr.pdi, context)?;
    ethernet::check_pdr(pdr, rules.pdu_type, context)?;
    known(pdr.pdi.network_instance.as_ref(), rules.pdu_type, context)?;
    check_tunnel(&pdr.pdi, context)?;
    routes::check(&pdr.pdi, context.endpoints)?;
    check_removal(pdr, context)?;
    check_qfis(&pdr.pdi, context)?;
    check_application(&pdr.pdi, rules.pdu_type, context)?;
    let unable = !pdr.predefined.is_empty() && rules.pdu_type == PduSessionType::Ethernet;
    refuse_if(unable, ie::ACTIVATE_PREDEFINED_RULES, "predefined rules in an Ethernet session")?;
    let predefined = pdr.predefined.values().flat_map(|rules| rules.iter()).flat_map(|rule| &rule.filters);
    let assigned = pdr.pdi.filters.iter().chain(predefined).any(|filter| filter.flow.names_assigned());
    let known = pdr.pdi.names_ue() || pdr.pdi.tunnel.is_some() || session_names_ue(rules);
    require(!assigned || known, ie::UE_IP_ADDRESS, "a flow description contains 'assigned'")
}

fn check_references(pdr: &Pdr, rules: &RuleSet) -> Result<(), Reason> {
    if !rules.fars.contains_key(&pdr.far) {
        return Err(Reason::DanglingReference(pdr.far.into()));
    }
    if let Some(qer) = pdr.qers.iter().find(|qer| !rules.qers.contains_key(qer)) {
        return Err(Reason::DanglingReference((*qer).into()));
    }
    match pdr.urrs.iter().find(|urr| !rules.urrs.contains_key(urr)) {
        Some(urr) => Err(Reason::DanglingReference((*urr).into())),
        None => Ok(()),
    }
}

/// Packets of the network instance arrive at an address of the tunnel: otherwise the PDR would match none.
fn check_tunnel(pdi: &Pdi, context: &Context<'_>) -> Result<(), Reason> {
    let Some(tunnel) = pdi.tunnel else { return Ok(()) };
    let serves = |instance| tunnel.addr.iter().any(|ip| context.endpoints.is_local(ip, instance));
    match serves(None) && !serves(pdi.network_instance.as_ref()) {
        true => Err(Reason::NonLocalTunnel(tunnel)),
        false => Ok(()),
    }
}

/// A UE may have the addresses. A prefix may contain a local address.
fn check_ue(pdi: &Pdi, context: &Context<'_>) -> Result<(), Reason> {
    let v4 = pdi.ue.and_then(|ue| ue.v4).map(IpAddr::from);
    let v6 = pdi.ue.and_then(|ue| ue.v6).map(|net| net.addr().into());
    let further = pdi.further_addresses().iter().map(IpNet::addr);
    let mut addresses = v4.into_iter().chain(v6).chain(further);
    let checked = addresses.try_for_each(|ip| context.endpoints.check_ue(ip));
    checked.map_err(|reason| Reason::Incorrect { ie: ie::UE_IP_ADDRESS, why: reason })
}

/// Packets of a data network find the session by the UE address of some PDR.
fn session_names_ue(rules: &RuleSet) -> bool {
    rules.pdrs.values().any(|pdr| pdr.pdi.tunnel.is_none() && pdr.pdi.names_ue())
}

/// A packet from the access or from the SMF (clause 5.3.1) arrives in a tunnel; one from a data network is found by
/// the UE address of this PDR or another of the session.
fn check_source(pdi: &Pdi, rules: &RuleSet) -> Result<(), Reason> {
    let unsupported = pdi.source == Interface::VnInternal;
    refuse_if(unsupported, ie::SOURCE_INTERFACE, "packets from this interface")?;
    match pdi.source {
        Interface::Access => {
            require(pdi.tunnel.is_some(), ie::F_TEID, "packets from the access arrive in a tunnel")
        }
        Interface::CpFunction => {
            require(pdi.tunnel.is_some(), ie::F_TEID, "packets from the CP function arrive in a tunnel")
        }
        _ if rules.pdu_type == PduSessionType::Ethernet => Ok(()),
        _ => {
            let known = pdi.tunnel.is_some() || pdi.names_ue() || session_names_ue(rules);
            require(known, ie::UE_IP_ADDRESS, "no other IE identifies the session of the packets")
        }
    }
}

/// A tunnel requires a removal of its header, and the reverse.
fn check_removal(pdr: &Pdr, context: &Context<'_>) -> Result<(), Reason> {
    let Some(tunnel) = pdr.pdi.tunnel else { return check_n6_removal(pdr, context) };
    let there = match pdr.removal.map(|removal| removal.header) {
        Some(RemovedHeader::Gtpu) => true,
        Some(RemovedHeader::GtpuIpv4) => tunnel.addr.v4.is_some(),
        Some(RemovedHeader::GtpuIpv6) => tunnel.addr.v6.is_some(),
        Some(_) => false,
        None => return require(false, ie::OUTER_HEADER_REMOVAL, "packets of the PDR arrive in a tunnel"),
    };
    let reason = "the tunnel is not of this kind and IP version";
    if there { Ok(()) } else { Err(Reason::Incorrect { ie: ie::OUTER_HEADER_REMOVAL, why: reason }) }
}

fn check_application(pdi: &Pdi, pdu_type: PduSessionType, context: &Context<'_>) -> Result<(), Reason> {
    let Some(id) = &pdi.application else { return Ok(()) };
    let capabilities = context.capabilities;
    let by_class = capabilities.application_classes && !context.catalogue.applications.has_pfds(id);
    let able = capabilities.application_detection || by_class;
    let unable = !able || pdu_type == PduSessionType::Ethernet;
    refuse_if(unable, ie::APPLICATION_ID, "detection of applications")?;
    match context.catalogue.knows_application(id) {
        true => Ok(()),
        false => Err(Reason::UnknownApplication(id.clone())),
    }
}

/// Without an F-TEID only the header of a tunnel over N6 can be removed, and only if such tunnels end here.
fn check_n6_removal(pdr: &Pdr, context: &Context<'_>) -> Result<(), Reason> {
    let Some(header) = pdr.removal.map(|removal| removal.header) else { return Ok(()) };
    if header.is_gtpu() {
        let reason = "the PDI has no tunnel whose header could be removed";
        return Err(Reason::Incorrect { ie: ie::OUTER_HEADER_REMOVAL, why: reason });
    }
    let there = context.endpoints.has_n6_tunnel(pdr.pdi.network_instance.as_ref(), header.is_ipv6());
    refuse_if(!there, ie::OUTER_HEADER_REMOVAL, "tunnels over N6 of this IP version")
}

/// A QFI is in the PDU Session Container of a tunnelled packet.
fn check_qfis(pdi: &Pdi, context: &Context<'_>) -> Result<(), Reason> {
    if pdi.qfis.is_empty() {
        return Ok(());
    }
    refuse_if(!context.capabilities.pdu_session_container, ie::QFI, "PDU Session Containers")?;
    let reason = "packets without tunnel have no QFI";
    if pdi.tunnel.is_some() { Ok(()) } else { Err(Reason::Incorrect { ie: ie::QFI, why: reason }) }
}

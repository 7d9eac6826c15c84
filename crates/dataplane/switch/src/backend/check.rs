//! Rules that the switch backend cannot support.

use causeway_model::{Pdr, PduSessionType, RuleSet};
use causeway_types::{Interface, WallTime};

use super::config::Config;
use super::pdr_treatment::{self, Refused, unsupported};

pub(super) fn check_session(rules: &RuleSet) -> Result<(), Refused> {
    if rules.pdu_type != PduSessionType::Ip {
        return Err(unsupported("an Ethernet session"));
    }
    Ok(())
}

pub(super) fn check_pdr(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let pdi = &pdr.pdi;
    if !pdr.predefined.is_empty() || pdi.application.is_some() {
        return Err(unsupported("predefined rules and applications"));
    }
    if pdr.active_until.is_some() || pdr.active_from.is_some_and(|from| from != WallTime::default()) {
        return Err(unsupported("a PDR with an Activation or Deactivation Time"));
    }
    if !pdi.routes.is_empty() {
        return Err(unsupported("framed routes, and UEs with several addresses"));
    }
    if pdi.whole_ethernet_session || !pdi.ethernet.is_empty() || pdr.vlan_removal.is_some() {
        return Err(unsupported("Ethernet frames"));
    }
    if pdi.source == Interface::VnInternal {
        return Err(unsupported("packets of a virtual network"));
    }
    if pdi.ue.and_then(|ue| ue.v6).is_some_and(|net| net.prefix_len() != 64) {
        return Err(unsupported("a UE whose IPv6 prefix has other than 64 bits"));
    }
    pdr_treatment::check_removal(pdr)?;
    match pdi.tunnel {
        Some(_) => check_tunnel(pdr, config),
        None => Ok(pdr_treatment::serves(pdi.network_instance.as_ref(), &config.topology)?),
    }
}

fn check_tunnel(pdr: &Pdr, config: &Config) -> Result<(), Refused> {
    let Some(tunnel) = pdr.pdi.tunnel else { return Ok(()) };
    let own = tunnel.addr.v4.filter(|ip| pdr_treatment::is_own(*ip, &config.topology));
    let own = own.ok_or(unsupported("a tunnel that ends at no local IPv4 address"))?;
    if tunnel.addr.v6.is_some() {
        return Err(unsupported("a tunnel that ends at an IPv6 address"));
    }
    if tunnel.teid.value() >> 24 != 0 {
        return Err(unsupported("a TEID of more than 24 bits"));
    }
    let end = config.topology.gtpu.iter().find(|end| end.addr.v4 == Some(own));
    let instance = end.and_then(|end| end.network_instance.as_ref());
    match (instance, &pdr.pdi.network_instance) {
        (Some(instance), Some(asked)) if instance != asked => {
            Err(unsupported("a tunnel whose network differs from that of the PDI"))
        }
        _ => Ok(()),
    }
}

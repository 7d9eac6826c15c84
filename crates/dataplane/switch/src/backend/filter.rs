//! SDF filters as table entries.

use causeway_model::{FlowAddress, FlowEnd, Pdr, SdfFilter};
use causeway_slowpath::lease::direction_of;
use causeway_types::{Direction, IpNet};

use super::pattern::{Bits, Pattern, port_prefixes};
use super::pdr_treatment::{Refused, unsupported};

/// The most entries of a PDR's filters.
const MAX_ROWS: usize = 64;
const TOO_MANY: Refused = unsupported("a PDR whose filters take more than 64 rows");

/// The patterns of a PDR for packets of one IP version, each combined with a common pattern.
///
/// # Errors
/// A filter matches a field for which no table has a key.
pub(super) fn patterns(pdr: &Pdr, of_all: &Pattern, is_ipv6: bool) -> Result<Vec<Pattern>, Refused> {
    if pdr.pdi.filters.is_empty() {
        return Ok(vec![of_all.clone()]);
    }
    let mut patterns = Vec::new();
    for filter in &pdr.pdi.filters {
        patterns.extend(of_filter(pdr, filter, of_all, is_ipv6)?);
        if patterns.len() > MAX_ROWS {
            return Err(TOO_MANY);
        }
    }
    Ok(patterns)
}

fn of_filter(
    pdr: &Pdr,
    filter: &SdfFilter,
    of_all: &Pattern,
    is_ipv6: bool,
) -> Result<Vec<Pattern>, Refused> {
    if filter.spi.is_some() || filter.flow_label.is_some() {
        return Err(unsupported("a filter by Security Parameter Index or flow label"));
    }
    let flow = &filter.flow;
    let Some(remote) = remote_bits(&flow.remote, is_ipv6)? else { return Ok(Vec::new()) };
    if !local_fits(pdr, &flow.local, is_ipv6)? {
        return Ok(Vec::new());
    }
    let dscp = match filter.traffic_class {
        Some(class) if class.mask & 3 != 0 => return Err(unsupported("a filter by ECN bits")),
        Some(class) => {
            Bits { value: u128::from(class.value & class.mask) >> 2, mask: u128::from(class.mask) >> 2 }
        }
        None => Bits::ANY,
    };
    let protocol = flow.protocol.map_or(Bits::ANY, |protocol| Bits::exactly(protocol.into(), 8));
    let direction = direction_of(pdr);
    let (source, destination) = match direction {
        Direction::Uplink => (&flow.local, &flow.remote),
        Direction::Downlink => (&flow.remote, &flow.local),
    };
    let base = Pattern {
        protocol,
        dscp,
        has_ports: !(flow.local.ports.is_empty() && flow.remote.ports.is_empty()),
        ..of_all.clone()
    };
    let (source_ports, destination_ports) = (ports(source), ports(destination));
    if source_ports.len().saturating_mul(destination_ports.len()) > MAX_ROWS {
        return Err(TOO_MANY);
    }
    let mut patterns = Vec::new();
    for source_port in source_ports {
        for destination_port in destination_ports.iter().copied() {
            let mut pattern = Pattern { source_port, destination_port, ..base.clone() };
            let field = match direction {
                Direction::Uplink => &mut pattern.destination,
                Direction::Downlink => &mut pattern.source,
            };
            if field.mask != 0 && remote.mask != 0 {
                return Err(unsupported(
                    "a filter by the other end of a PDR that names its UE in that place",
                ));
            }
            if remote.mask != 0 {
                *field = remote;
            }
            patterns.push(pattern);
        }
    }
    Ok(patterns)
}

/// Any port, or the prefixes of the ranges.
fn ports(end: &FlowEnd) -> Vec<Bits> {
    if end.ports.is_empty() {
        return vec![Bits::ANY];
    }
    end.ports.iter().flat_map(|range| port_prefixes(*range.start(), *range.end())).collect()
}

/// `None`: no packet of this IP version matches.
fn remote_bits(end: &FlowEnd, is_ipv6: bool) -> Result<Option<Bits>, Refused> {
    match &end.address {
        FlowAddress::Any => Ok(Some(Bits::ANY)),
        FlowAddress::Assigned => Err(unsupported("a filter whose other end is the UE itself")),
        FlowAddress::Net(net) => Ok(bits_of(*net, is_ipv6)),
    }
}

/// The bits of a prefix; `None` if it is of the other IP version.
fn bits_of(net: IpNet, is_ipv6: bool) -> Option<Bits> {
    match net {
        IpNet::V4(net) if !is_ipv6 => Some(Bits::prefix(u32::from(net.addr()).into(), net.prefix_len(), 32)),
        IpNet::V6(net) if is_ipv6 => Some(Bits::prefix(u128::from(net.addr()), net.prefix_len(), 128)),
        _ => None,
    }
}

/// Whether the UE's end of the flow matches, which is the same for all packets of the PDR.
fn local_fits(pdr: &Pdr, end: &FlowEnd, is_ipv6: bool) -> Result<bool, Refused> {
    let net = match &end.address {
        FlowAddress::Any => return Ok(true),
        FlowAddress::Assigned if pdr.pdi.names_ue() => return Ok(true),
        FlowAddress::Assigned => {
            return Err(unsupported("a filter for the UE's address in a PDR that does not name it"));
        }
        FlowAddress::Net(net) => *net,
    };
    let ue = pdr.pdi.ue.ok_or(unsupported("a filter for a UE's address in a PDR that names none"))?;
    match (net, is_ipv6) {
        (IpNet::V4(net), false) => Ok(ue.v4.is_some_and(|ip| net.contains(&ip))),
        (IpNet::V6(net), true) => match ue.v6 {
            Some(own) if IpNet::V6(net).contains(&IpNet::V6(own)) => Ok(true),
            Some(own) if own.contains(&net.addr()) => {
                Err(unsupported("a filter for a part of the UE's IPv6 prefix"))
            }
            _ => Ok(false),
        },
        _ => Ok(false),
    }
}

//! Tunnels: their ends, and outer header creation and removal.

use std::net::{IpAddr, SocketAddr};

use causeway_model::{HeaderRemoval, OuterHeader, RemovedHeader, VlanRemoval};
use causeway_pfcp::{
    FTeid as WireFTeid, Ie, OuterHeaderCreation, OuterHeaderRemoval, OuterHeaders,
    RemovedHeader as WireRemoved,
};
use causeway_types::{DualIp, FTeid, Teid};

use crate::Reason;
use crate::edits::TunnelRequest;

/// The Local F-TEID of a PDI.
pub(super) fn request(f_teid: &WireFTeid) -> Result<TunnelRequest, Reason> {
    match *f_teid {
        WireFTeid::Choose { v4, v6, choose_id } => Ok(TunnelRequest::Choose { v4, v6, choose_id }),
        WireFTeid::Assigned { .. } => match f_teid.assigned() {
            Some(tunnel) => Ok(TunnelRequest::Assigned(tunnel)),
            None => Err(Reason::Incorrect { ie: WireFTeid::TYPE, why: "TEID 0 identifies no tunnel" }),
        },
    }
}

/// The header to create. SMFs send TEID 0 or the address 0.0.0.0 in FARs that do not forward yet. `None` if there
/// are only VLAN tags, which are not an outer header.
pub(super) fn outer(creation: &OuterHeaderCreation) -> Result<Option<OuterHeader>, Reason> {
    if creation.description.is_empty() {
        return incorrect("it contains no header");
    }
    let description = creation.description - (OuterHeaders::C_TAG | OuterHeaders::S_TAG);
    if description.is_empty() { Ok(None) } else { header(creation, description).map(Some) }
}

fn header(creation: &OuterHeaderCreation, description: OuterHeaders) -> Result<OuterHeader, Reason> {
    let gtpu = OuterHeaders::GTPU_IPV4 | OuterHeaders::GTPU_IPV6;
    if gtpu.contains(description) {
        return Ok(gtpu_end(creation));
    }
    match (description, creation.ipv4, creation.ipv6) {
        (OuterHeaders::UDP_IPV4, Some(ip), _) => udp_end(ip.into(), creation.port),
        (OuterHeaders::UDP_IPV6, _, Some(ip)) => udp_end(ip.into(), creation.port),
        (OuterHeaders::IPV4, Some(ip), _) => Ok(known(ip.into(), OuterHeader::Ip(ip.into()))),
        (OuterHeaders::IPV6, _, Some(ip)) => Ok(known(ip.into(), OuterHeader::Ip(ip.into()))),
        _ => Err(Reason::Unsupported {
            ie: OuterHeaderCreation::TYPE,
            what: "other headers than GTP-U, UDP/IP or IP, or several of them",
        }),
    }
}

fn gtpu_end(creation: &OuterHeaderCreation) -> OuterHeader {
    let addr = DualIp {
        v4: creation.ipv4.filter(|ip| !ip.is_unspecified()),
        v6: creation.ipv6.filter(|ip| !ip.is_unspecified()),
    };
    match creation.teid.and_then(Teid::new) {
        Some(teid) if !addr.is_empty() => OuterHeader::Gtpu(FTeid { teid, addr }),
        _ => OuterHeader::Unknown,
    }
}

fn udp_end(ip: IpAddr, port: Option<u16>) -> Result<OuterHeader, Reason> {
    match port.filter(|port| *port != 0) {
        Some(port) => Ok(known(ip, OuterHeader::Udp(SocketAddr::new(ip, port)))),
        None => incorrect("port 0 is not an endpoint"),
    }
}

fn known(ip: IpAddr, header: OuterHeader) -> OuterHeader {
    if ip.is_unspecified() { OuterHeader::Unknown } else { header }
}

fn incorrect<T>(reason: &'static str) -> Result<T, Reason> {
    Err(Reason::Incorrect { ie: OuterHeaderCreation::TYPE, why: reason })
}

/// The header that a PDR removes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Removal {
    /// A tunnel header.
    Header(HeaderRemoval),
    /// VLAN tags.
    Vlan(VlanRemoval),
}

impl Removal {
    pub(super) fn header(self) -> Option<HeaderRemoval> {
        if let Self::Header(removal) = self { Some(removal) } else { None }
    }

    pub(super) fn vlan(self) -> Option<VlanRemoval> {
        if let Self::Vlan(removal) = self { Some(removal) } else { None }
    }
}

/// The header to remove, and whether the PDU Session Container is removed with it.
pub(super) fn removal(removal: &OuterHeaderRemoval) -> Result<Removal, Reason> {
    let header = match removal.header {
        WireRemoved::GtpuIpv4 => RemovedHeader::GtpuIpv4,
        WireRemoved::GtpuIpv6 => RemovedHeader::GtpuIpv6,
        WireRemoved::GtpuIp => RemovedHeader::Gtpu,
        WireRemoved::UdpIpv4 => RemovedHeader::UdpIpv4,
        WireRemoved::UdpIpv6 => RemovedHeader::UdpIpv6,
        WireRemoved::Ipv4 => RemovedHeader::Ipv4,
        WireRemoved::Ipv6 => RemovedHeader::Ipv6,
        WireRemoved::Spare(_) => {
            let reason = "a header that no release defines";
            return Err(Reason::Incorrect { ie: OuterHeaderRemoval::TYPE, why: reason });
        }
        WireRemoved::VlanTag => return Ok(Removal::Vlan(VlanRemoval::Pop)),
        WireRemoved::VlanTags => return Ok(Removal::Vlan(VlanRemoval::PopPop)),
    };
    let deleted = removal.extensions.unwrap_or(0);
    let deletes_container = deleted & OuterHeaderRemoval::PDU_SESSION_CONTAINER != 0;
    Ok(Removal::Header(HeaderRemoval { header, deletes_container }))
}

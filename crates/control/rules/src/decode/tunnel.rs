//! Tunnels: their ends, and the headers that are created and removed.

use causeway_pfcp::{
    FTeid as WireFTeid, Ie, OuterHeaderCreation, OuterHeaderRemoval, OuterHeaders, RemovedHeader,
};
use causeway_types::{DualIp, FTeid, Teid};

use crate::edits::TunnelRequest;
use crate::{GtpuRemoval, Reason, VlanRemoval};

/// The Local F-TEID of a PDI.
pub(super) fn request(f_teid: &WireFTeid) -> Result<TunnelRequest, Reason> {
    match *f_teid {
        WireFTeid::Choose { v4, v6, choose_id } => Ok(TunnelRequest::Choose { v4, v6, choose_id }),
        WireFTeid::Assigned { .. } => match f_teid.assigned() {
            Some(tunnel) => Ok(TunnelRequest::Assigned(tunnel)),
            None => Err(Reason::Incorrect { ie: WireFTeid::TYPE, why: "TEID 0 names no tunnel" }),
        },
    }
}

/// The far end that GTP-U is sent to. `None` while it is not known: SMFs then send TEID 0 or the address
/// 0.0.0.0, in FARs that do not forward yet.
pub(super) fn far_end(creation: &OuterHeaderCreation) -> Result<Option<FTeid>, Reason> {
    let description = creation.description;
    let gtpu = OuterHeaders::GTPU_IPV4 | OuterHeaders::GTPU_IPV6;
    let tags = OuterHeaders::C_TAG | OuterHeaders::S_TAG;
    if description.is_empty() {
        return Err(Reason::Incorrect { ie: OuterHeaderCreation::TYPE, why: "no header is named" });
    }
    if !(gtpu | tags).contains(description) {
        return Err(Reason::Unsupported {
            ie: OuterHeaderCreation::TYPE,
            what: "a header other than GTP-U or VLAN tags",
        });
    }
    let addr = DualIp {
        v4: creation.ipv4.filter(|ip| !ip.is_unspecified()),
        v6: creation.ipv6.filter(|ip| !ip.is_unspecified()),
    };
    let teid = creation.teid.and_then(Teid::new);
    Ok(teid.filter(|_| !addr.is_empty()).map(|teid| FTeid { teid, addr }))
}

/// The header that a PDR takes off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Removal {
    /// That of a tunnel.
    Gtpu(GtpuRemoval),
    /// VLAN tags.
    Vlan(VlanRemoval),
}

impl Removal {
    pub(super) fn gtpu(self) -> Option<GtpuRemoval> {
        if let Self::Gtpu(removal) = self { Some(removal) } else { None }
    }

    pub(super) fn vlan(self) -> Option<VlanRemoval> {
        if let Self::Vlan(removal) = self { Some(removal) } else { None }
    }
}

/// The header to remove. The second octet only repeats that a PDU Session Container goes with its header.
pub(super) fn removal(removal: &OuterHeaderRemoval) -> Result<Removal, Reason> {
    match removal.header {
        RemovedHeader::GtpuIpv4 => Ok(Removal::Gtpu(GtpuRemoval::Ipv4)),
        RemovedHeader::GtpuIpv6 => Ok(Removal::Gtpu(GtpuRemoval::Ipv6)),
        RemovedHeader::GtpuIp => Ok(Removal::Gtpu(GtpuRemoval::Any)),
        RemovedHeader::VlanTag => Ok(Removal::Vlan(VlanRemoval::Pop)),
        RemovedHeader::VlanTags => Ok(Removal::Vlan(VlanRemoval::PopPop)),
        RemovedHeader::Spare(_) => {
            Err(Reason::Incorrect { ie: OuterHeaderRemoval::TYPE, why: "a header that no release names" })
        }
        _ => Err(Reason::Unsupported { ie: OuterHeaderRemoval::TYPE, what: "a header other than GTP-U" }),
    }
}

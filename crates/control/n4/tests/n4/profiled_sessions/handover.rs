//! Handovers, with other IEs that SMFs send in them.

use std::net::Ipv4Addr;

use causeway_pfcp::*;
use causeway_types::{DualIp, FSeid, FarId, PdrId, Seid};

use crate::fixture::Smf;

/// The IEs of a handover beside the tunnel to the gNB.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Beside {
    Nothing,
    /// Node ID and F-SEID of the SMF, unchanged.
    Smf,
    /// Another F-SEID of the SMF.
    OtherSmf,
    /// A Node ID that has no association.
    UnknownSmf,
    /// The PDRs with their PDIs, unchanged.
    Pdrs,
    /// A PDR with the address of another UE.
    OtherUe,
    /// A PDR with a tunnel that the session does not have.
    OtherTunnel,
}

impl Beside {
    pub(super) const ALL: [Self; 7] = [
        Self::Nothing,
        Self::Smf,
        Self::OtherSmf,
        Self::UnknownSmf,
        Self::Pdrs,
        Self::OtherUe,
        Self::OtherTunnel,
    ];
}

/// The SMF's state of a session.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) seid: Seid,
    cp: Seid,
    tunnel: FTeid,
}

impl Known {
    /// From the response to its establishment.
    pub(super) fn of(bytes: &[u8]) -> Option<Self> {
        let (header, body, _) = Header::decode(bytes).ok()?;
        match Message::decode(&header, body).ok()? {
            Message::SessionEstablishmentResponse(response) => Some(Self {
                seid: response.up_f_seid?.seid,
                cp: header.seid?,
                tunnel: response
                    .created_pdrs
                    .iter()
                    .find_map(|pdr| pdr.local_f_teid)
                    .unwrap_or(tunnel_of_smf(header.seid?)),
            }),
            _ => None,
        }
    }

    fn ue(&self, smf: &Smf, further: u8, destination: bool) -> UeIpAddress {
        let std::net::IpAddr::V4(ip) = smf.ip() else { unreachable!() };
        let [.., last] = ip.octets();
        let ipv4 =
            Some(Ipv4Addr::new(10, last, (self.cp.0 >> 8) as u8, (self.cp.0 as u8).wrapping_add(further)));
        UeIpAddress { ipv4, destination, ..UeIpAddress::default() }
    }

    fn uplink(&self, smf: &Smf, tunnel: FTeid) -> UpdatePdr<'static> {
        let pdi = Pdi {
            local_f_teid: Some(tunnel),
            ue_ip_addresses: [self.ue(smf, 0, false)].into(),
            ..Pdi::new(SourceInterface::Access)
        };
        UpdatePdr { pdi: Some(pdi), far_id: Some(FarId(1)), ..UpdatePdr::new(PdrId(1)) }
    }

    fn downlink(&self, smf: &Smf, further: u8) -> UpdatePdr<'static> {
        let pdi =
            Pdi { ue_ip_addresses: [self.ue(smf, further, true)].into(), ..Pdi::new(SourceInterface::Core) };
        UpdatePdr { pdi: Some(pdi), ..UpdatePdr::new(PdrId(2)) }
    }

    fn other_tunnel(&self) -> FTeid {
        match self.tunnel {
            FTeid::Assigned { teid, addr } => FTeid::Assigned { teid: teid ^ 1, addr },
            choose => choose,
        }
    }
}

/// The tunnel of a session whose SMF chooses it: few have the same.
pub(super) fn tunnel_of_smf(cp: Seid) -> FTeid {
    FTeid::Assigned { teid: 0x100 + cp.0 as u32 % 16, addr: DualIp::from(Ipv4Addr::new(192, 0, 2, 100)) }
}

/// To one of few tunnels, so that sessions return to an earlier one; TEID 0 is invalid and cannot be forwarded to.
pub(super) fn handover(
    (teid, gnb, end_marker): (u8, u8, bool),
    beside: Beside,
    smf: &Smf,
    known: &Known,
) -> SessionModificationRequest<'static> {
    let addr = DualIp::from(Ipv4Addr::new(192, 0, 2, 200 + gnb));
    let forwarding = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid.into(), addr)),
        flags: end_marker.then_some(SessionModificationFlags::SNDEM),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(forwarding),
        ..UpdateFar::new(FarId(2))
    };
    let request =
        SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() };
    let end = |further: u64| Some(FSeid { seid: Seid(known.cp.0 + further), addr: smf.ip().into() });
    match beside {
        Beside::Nothing => request,
        Beside::Smf => {
            SessionModificationRequest { node_id: Some(smf.node_id()), cp_f_seid: end(0), ..request }
        }
        Beside::OtherSmf => SessionModificationRequest { cp_f_seid: end(1000), ..request },
        Beside::UnknownSmf => {
            let node_id = Some(NodeId::Ip(Ipv4Addr::new(192, 0, 2, 199).into()));
            SessionModificationRequest { node_id, ..request }
        }
        Beside::Pdrs => SessionModificationRequest {
            update_pdrs: [known.uplink(smf, known.tunnel), known.downlink(smf, 0)].into(),
            ..request
        },
        Beside::OtherUe => {
            SessionModificationRequest { update_pdrs: [known.downlink(smf, 1)].into(), ..request }
        }
        Beside::OtherTunnel => SessionModificationRequest {
            update_pdrs: [known.uplink(smf, known.other_tunnel())].into(),
            ..request
        },
    }
}

//! The requests of an SMF for a PDU session, with the structure of those of Open5GS and free5GC.

use std::net::Ipv4Addr;

use causeway_pfcp::{
    ApplyAction, AssociationReleaseRequest, AssociationSetupRequest, CreateFar, CreatePdr, CreateQer,
    CreateUrr, DestinationInterface, Dnn, FTeid, ForwardingParameters, GateStatus, Mbr, MeasurementMethod,
    Message, NetworkInstance, NodeId, Octets, OuterHeaderCreation, OuterHeaderRemoval, Pdi, PdnType,
    RecoveryTimeStamp, RemovedHeader, SdfFilter, SessionDeletionRequest, SessionEstablishmentRequest,
    SessionModificationFlags, SessionModificationRequest, SourceInterface, UeIpAddress, UpdateFar,
    UpdateForwardingParameters, VolumeThreshold, Volumes,
};
use causeway_types::{
    Bitrate, DualIp, FSeid, FarId, NetworkInstance as Network, NtpSeconds, PdrId, Precedence, QerId, Qfi,
    ReportingTriggers, Seid, UrrId,
};

use super::options::RequestVariant;

/// The SMF.
pub(crate) const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 21);

/// Since when an SMF has been running, unless it has restarted.
pub(crate) const SINCE: NtpSeconds = NtpSeconds(3_900_000_000);

/// The gNBs between which UEs move.
const GNBS: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 11), Ipv4Addr::new(192, 0, 2, 12)];

/// The address of the UE of this number.
pub(crate) fn ue(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 0)) + number)
}

/// The setup of the association.
pub(crate) fn association() -> Vec<u8> {
    association_of(SMF, SINCE, 0)
}

/// The same of another SMF, which has been running since then.
pub(crate) fn association_of(smf: Ipv4Addr, since: NtpSeconds, sequence: u32) -> Vec<u8> {
    let setup = AssociationSetupRequest::new(NodeId::Ip(smf.into()), RecoveryTimeStamp(since));
    encode(setup.into(), None, sequence)
}

/// The end of the association of an SMF.
pub(crate) fn release_of(smf: Ipv4Addr, sequence: u32) -> Vec<u8> {
    encode(AssociationReleaseRequest::new(NodeId::Ip(smf.into())).into(), None, sequence)
}

/// How sessions are asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Establishments {
    /// What differs between two of them.
    pub(crate) variant: RequestVariant,
    /// Our address on N3, where the SMF chooses tunnels.
    pub(crate) n3: Ipv4Addr,
    /// Whether the session has a maximum bit rate.
    pub(crate) is_limited: bool,
}

/// The tunnel of the session of this number, where the SMF chooses it.
pub(crate) const fn smf_teid(number: u32) -> u32 {
    number + 1
}

/// As of an SMF that leaves the tunnels to the UPF, and asks for all sessions alike.
pub(crate) fn establishment(number: u32, sequence: u32) -> Vec<u8> {
    let how =
        Establishments { variant: RequestVariant::UpfTeids, n3: Ipv4Addr::UNSPECIFIED, is_limited: true };
    how.request(number, sequence)
}

impl Establishments {
    /// 2 PDRs (one with a flow description), 2 FARs, 1 QER, 1 URR; the downlink waits for a gNB.
    pub(crate) fn request(&self, number: u32, sequence: u32) -> Vec<u8> {
        let choose = FTeid::Choose { v4: true, v6: false, choose_id: Some(5) };
        let (tunnel, from, kbps) = match self.variant {
            RequestVariant::UpfTeids => (choose, "any".into(), 100_000),
            RequestVariant::SmfTeids => {
                let teid = smf_teid(number);
                (FTeid::Assigned { teid, addr: DualIp::from(self.n3) }, "any".into(), 100_000)
            }
            RequestVariant::Filters => {
                let from = Ipv4Addr::from(u32::from(Ipv4Addr::new(100, 0, 0, 0)) + number);
                (choose, from.to_string(), 10_000 + u64::from(number))
            }
        };
        let kbps = self.is_limited.then_some(kbps);
        establish(SMF, number, sequence, tunnel, &format!("permit out ip from {from} to assigned"), kbps)
    }
}

/// By another SMF, with a TEID that it has chosen for this address of the UPF if there is one.
pub(crate) fn establishment_from(
    smf: Ipv4Addr,
    number: u32,
    tunnel: Option<(u32, Ipv4Addr)>,
    sequence: u32,
) -> Vec<u8> {
    let tunnel = match tunnel {
        Some((teid, addr)) => FTeid::Assigned { teid, addr: DualIp::from(addr) },
        None => FTeid::Choose { v4: true, v6: false, choose_id: Some(5) },
    };
    establish(smf, number, sequence, tunnel, "permit out ip from any to assigned", Some(100_000))
}

fn establish(
    smf: Ipv4Addr,
    number: u32,
    sequence: u32,
    tunnel: FTeid,
    flow: &str,
    kbps: Option<u64>,
) -> Vec<u8> {
    let dnn = Network::new("internet");
    let ue = |destination| UeIpAddress { ipv4: Some(ue(number)), destination, ..UeIpAddress::default() };
    let qfi = Qfi::from_low_bits(9);
    let flow = SdfFilter { flow_description: Some(Octets(flow.as_bytes())), ..SdfFilter::default() };
    let uplink = CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(1)),
        qer_ids: [QerId(1)].into(),
        urr_ids: [UrrId(1)].into(),
        ..CreatePdr::new(
            PdrId(1),
            Precedence(255),
            Pdi {
                local_f_teid: Some(tunnel),
                network_instance: Some(NetworkInstance::from(&dnn)),
                ue_ip_addresses: [ue(false)].into(),
                qfis: [qfi].into(),
                ..Pdi::new(SourceInterface::Access)
            },
        )
    };
    let downlink = CreatePdr {
        far_id: Some(FarId(2)),
        qer_ids: [QerId(1)].into(),
        urr_ids: [UrrId(1)].into(),
        ..CreatePdr::new(
            PdrId(2),
            Precedence(255),
            Pdi {
                network_instance: Some(NetworkInstance::from(&dnn)),
                ue_ip_addresses: [ue(true)].into(),
                sdf_filters: [flow].into(),
                ..Pdi::new(SourceInterface::Core)
            },
        )
    };
    let to_network = ForwardingParameters {
        network_instance: Some(NetworkInstance::from(&dnn)),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    let to_access = ForwardingParameters::new(DestinationInterface::Access);
    let fars = [
        CreateFar { forwarding_parameters: Some(to_network), ..CreateFar::new(FarId(1), ApplyAction::FORW) },
        CreateFar {
            forwarding_parameters: Some(to_access),
            ..CreateFar::new(FarId(2), ApplyAction::BUFF | ApplyAction::NOCP)
        },
    ];
    let rate = |kbps| Bitrate::from_kbps(kbps).unwrap_or_default();
    let qer = CreateQer {
        mbr: kbps.map(|kbps| Mbr { uplink: rate(kbps), downlink: rate(kbps) }),
        qfi: Some(qfi),
        ..CreateQer::new(QerId(1), GateStatus::OPEN)
    };
    let threshold = Volumes { total: Some(100_000_000), ..Volumes::default() };
    let urr = CreateUrr {
        volume_threshold: Some(VolumeThreshold(threshold)),
        ..CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    };
    let cp = FSeid { seid: Seid(u64::from(number) + 1), addr: DualIp::from(smf) };
    let request = SessionEstablishmentRequest {
        create_qers: [qer].into(),
        create_urrs: [urr].into(),
        pdn_type: Some(PdnType::Ipv4),
        dnn: Some(Dnn::from(&dnn)),
        ..SessionEstablishmentRequest::new(NodeId::Ip(smf.into()), cp, [uplink, downlink], fars)
    };
    encode(request.into(), Some(Seid(0)), sequence)
}

/// The UE is connected, for the first time or by another gNB: the downlink goes there, and the old tunnel hears of
/// its end.
pub(crate) fn handover(seid: Seid, number: u32, round: usize, sequence: u32) -> Vec<u8> {
    let gnb = GNBS[round % GNBS.len()];
    let forwarding = UpdateForwardingParameters {
        destination_interface: Some(DestinationInterface::Access),
        outer_header_creation: Some(OuterHeaderCreation::gtpu(number + 1, DualIp::from(gnb))),
        flags: (round > 0).then_some(SessionModificationFlags::SNDEM),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar {
        apply_action: Some(ApplyAction::FORW),
        update_forwarding_parameters: Some(forwarding),
        ..UpdateFar::new(FarId(2))
    };
    let request =
        SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() };
    encode(request.into(), Some(seid), sequence)
}

/// The end of the session.
pub(crate) fn deletion(seid: Seid, sequence: u32) -> Vec<u8> {
    encode(SessionDeletionRequest::default().into(), Some(seid), sequence)
}

/// The octets of a message.
pub(crate) fn encode(message: Message<'_>, seid: Option<Seid>, sequence: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A session of a few rules is no longer than a datagram.
    let _ = message.encode(seid, sequence & 0xff_ffff, &mut bytes);
    bytes
}

//! The sessions of the benchmark, as an SMF requests them.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use causeway_dataplane::{GtpuEndpoint, Network, Topology};
use causeway_model::Applications;
use causeway_pfcp::{
    ApplicationId, ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, Mbr, MeasurementMethod, NetworkInstance, NodeId, OuterHeaderCreation,
    OuterHeaderRemoval, Pdi, PdnType, RemovedHeader, SdfFilter, SessionEstablishmentRequest, SourceInterface,
    UeIpAddress, VolumeThreshold, Volumes,
};
use causeway_types::{
    Bitrate, DualIp, FSeid, FarId, IdCipher, IpNet, Ipv4Net, NetworkInstance as Dnn, PdrId, Precedence,
    QerId, Qfi, ReportingTriggers, Seid, Teid, TeidScheme, UrrId,
};

use super::choice::Rules;

/// The UPF on N3.
pub(crate) const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
/// A server in the data network.
pub(crate) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 9);
/// The server's port that the first PDR is about, the next one the second and so on.
pub(crate) const FIRST_PORT: u16 = 8000;
/// The Precedence of the first PDR of a direction.
const FIRST_PRECEDENCE: u32 = 100;
/// The one QoS flow of a session.
pub(crate) const QFI: u8 = 9;

const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const DNN: &str = "internet";
const UPLINK_FAR: FarId = FarId(1);
pub(crate) const DOWNLINK_FAR: FarId = FarId(2);
const QER: QerId = QerId(1);
const URR: UrrId = UrrId(1);
/// gNBs that the sessions are spread over.
pub(crate) const GNBS: u32 = 64;
/// The gNBs' tunnel of the first session.
const FIRST_TEID: Teid = match Teid::new(0x4000_0000) {
    Some(teid) => teid,
    None => panic!("not zero"),
};
/// What links take: more than packets of 1500 octets in a tunnel.
const MTU: u32 = 1600;
/// So far away that no report is due.
const THRESHOLD: u64 = 1 << 50;

/// What each session is like.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pdrs: u16,
    rules: Rules,
    dnn: Dnn,
    /// UEs have IPv6 addresses, too.
    is_dual: bool,
    /// The flow description of each PDR of a direction, if it has one.
    flows: Vec<Option<String>>,
    applications: Arc<Applications>,
    /// The application of a downlink PDR before the others, if there is one.
    application: Option<String>,
}

impl Shape {
    pub(crate) fn new(pdrs: u16, rules: Rules) -> Self {
        let flow = |index: u16| {
            let port = FIRST_PORT.saturating_add(index);
            let last = index + 1 == pdrs;
            let all = || rules.sdf().then(|| "permit out ip from 198.51.100.0/24 to assigned".to_owned());
            if last { all() } else { Some(format!("permit out udp from any {port} to assigned")) }
        };
        Self {
            pdrs,
            rules,
            dnn: dnn(),
            is_dual: false,
            flows: (0..pdrs).map(flow).collect(),
            applications: Arc::default(),
            application: None,
        }
    }

    /// With a PDR of each direction that takes packets of any kind, and UEs that have IPv6 addresses, too.
    pub(crate) fn dual(rules: Rules) -> Self {
        let flow = rules.sdf().then(|| "permit out ip from any to assigned".to_owned());
        Self { is_dual: true, flows: vec![flow], ..Self::new(1, rules) }
    }

    /// With these applications. `application`: sessions have a downlink PDR with this one, too, before the others.
    pub(crate) fn with_applications(
        self,
        applications: Arc<Applications>,
        application: Option<String>,
    ) -> Self {
        Self { applications, application, ..self }
    }

    /// PDRs of one direction, but for that of an application.
    pub(crate) const fn pdrs(&self) -> u16 {
        self.pdrs
    }

    /// PDRs of a session.
    pub(crate) const fn pdrs_of_session(&self) -> u16 {
        self.pdrs.saturating_mul(2).saturating_add(self.application.is_some() as u16)
    }

    /// What PDRs may name.
    pub(crate) const fn applications(&self) -> &Arc<Applications> {
        &self.applications
    }

    /// What the SMF asks for, for one session.
    pub(crate) fn request(&self, number: u32) -> SessionEstablishmentRequest<'_> {
        let address = FSeid { seid: Seid(u64::from(number) + 1), addr: DualIp::from(SMF) };
        let uplink = (0..self.pdrs).map(|index| self.uplink(number, index));
        let downlink = (0..self.pdrs).map(|index| self.downlink(number, index));
        let pdrs: Vec<_> = uplink.chain(downlink).chain(self.of_application(number)).collect();
        let fars = vec![self.uplink_far(), downlink_far(number)];
        let session = SessionEstablishmentRequest::new(NodeId::Ip(SMF.into()), address, pdrs, fars);
        SessionEstablishmentRequest {
            create_qers: self.rules.qer().then(qer).into_iter().collect::<Vec<_>>().into(),
            create_urrs: self.rules.urr().then(urr).into_iter().collect::<Vec<_>>().into(),
            pdn_type: Some(if self.is_dual { PdnType::Ipv4v6 } else { PdnType::Ipv4 }),
            ..session
        }
    }

    fn uplink(&self, number: u32, index: u16) -> CreatePdr<'_> {
        let choose = FTeid::Choose { v4: true, v6: false, choose_id: Some(1) };
        let pdi = Pdi {
            local_f_teid: Some(choose),
            ue_ip_addresses: [self.address(number)].into(),
            ..Pdi::new(SourceInterface::Access)
        };
        let pdr = CreatePdr {
            outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
            ..self.pdr(1 + index, index, pdi)
        };
        CreatePdr { far_id: Some(UPLINK_FAR), ..pdr }
    }

    fn downlink(&self, number: u32, index: u16) -> CreatePdr<'_> {
        let pdr = self.pdr(1 + self.pdrs + index, index, self.core_pdi(number));
        CreatePdr { far_id: Some(DOWNLINK_FAR), ..pdr }
    }

    /// The downlink PDR of the application.
    fn of_application(&self, number: u32) -> Option<CreatePdr<'_>> {
        let application = self.application.as_deref()?;
        let pdi =
            Pdi { application_id: Some(ApplicationId(application.as_bytes())), ..self.core_pdi(number) };
        Some(CreatePdr {
            far_id: Some(DOWNLINK_FAR),
            ..self.plain_pdr(1 + 2 * self.pdrs, FIRST_PRECEDENCE - 1, pdi)
        })
    }

    fn core_pdi(&self, number: u32) -> Pdi<'_> {
        let address = UeIpAddress { destination: true, ..self.address(number) };
        Pdi {
            network_instance: Some(NetworkInstance::from(&self.dnn)),
            ue_ip_addresses: [address].into(),
            ..Pdi::new(SourceInterface::Core)
        }
    }

    fn address(&self, number: u32) -> UeIpAddress {
        let ipv6 = self.is_dual.then(|| ue_v6(number));
        UeIpAddress { ipv4: Some(ue(number)), ipv6, ..UeIpAddress::default() }
    }

    fn uplink_far(&self) -> CreateFar<'_> {
        let forwarding = ForwardingParameters {
            network_instance: Some(NetworkInstance::from(&self.dnn)),
            ..ForwardingParameters::new(DestinationInterface::Core)
        };
        CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(UPLINK_FAR, ApplyAction::FORW) }
    }

    /// With what both directions have in common.
    fn pdr<'a>(&'a self, id: u16, index: u16, pdi: Pdi<'a>) -> CreatePdr<'a> {
        let flow = self.flows.get(usize::from(index)).and_then(Option::as_deref);
        let filter =
            flow.map(|flow| SdfFilter { flow_description: Some(flow.into()), ..SdfFilter::default() });
        let pdi = Pdi { sdf_filters: filter.into_iter().collect::<Vec<_>>().into(), ..pdi };
        self.plain_pdr(id, FIRST_PRECEDENCE + u32::from(index), pdi)
    }

    /// With QER and URR, and without an SDF filter.
    fn plain_pdr<'a>(&'a self, id: u16, precedence: u32, pdi: Pdi<'a>) -> CreatePdr<'a> {
        CreatePdr {
            qer_ids: self.rules.qer().then_some(QER).into_iter().collect::<Vec<_>>().into(),
            urr_ids: self.rules.urr().then_some(URR).into_iter().collect::<Vec<_>>().into(),
            ..CreatePdr::new(PdrId(id), Precedence(precedence), pdi)
        }
    }
}

fn downlink_far(number: u32) -> CreateFar<'static> {
    let forwarding = ForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(gnb_teid(number).value(), gnb(number).into())),
        ..ForwardingParameters::new(DestinationInterface::Access)
    };
    CreateFar { forwarding_parameters: Some(forwarding), ..CreateFar::new(DOWNLINK_FAR, ApplyAction::FORW) }
}

fn qer() -> CreateQer<'static> {
    let qfi = Qfi::new(QFI);
    CreateQer {
        mbr: Some(Mbr { uplink: Bitrate::MAX, downlink: Bitrate::MAX }),
        qfi,
        ..CreateQer::new(QER, GateStatus::OPEN)
    }
}

fn urr() -> CreateUrr<'static> {
    let threshold = Volumes { total: Some(THRESHOLD), ..Volumes::default() };
    CreateUrr {
        volume_threshold: Some(VolumeThreshold(threshold)),
        ..CreateUrr::new(URR, MeasurementMethod::VOLUM, ReportingTriggers::VOLTH)
    }
}

/// The UE of a session.
pub(crate) fn ue(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(10, 0, 0, 2)) + number)
}

/// The IPv6 address of the UE of a session: each has a prefix of 64 bits.
pub(crate) fn ue_v6(number: u32) -> Ipv6Addr {
    let [a, b, c, d] = number.to_be_bytes().map(u16::from);
    Ipv6Addr::new(0x2001, 0xdb8, a << 8 | b, c << 8 | d, 0, 0, 0, 7)
}

/// The session of a UE.
pub(crate) fn session_of(ue: Ipv4Addr) -> u32 {
    u32::from(ue) - u32::from(Ipv4Addr::new(10, 0, 0, 2))
}

/// The gNB of a session.
pub(crate) fn gnb(number: u32) -> Ipv4Addr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(203, 0, 113, 1)) + number % GNBS)
}

/// The gNB's tunnel of a session. Never zero: `number` has 24 bits.
pub(crate) fn gnb_teid(number: u32) -> Teid {
    Teid::new(number.wrapping_add(FIRST_TEID.value())).unwrap_or(FIRST_TEID)
}

/// The data network.
pub(crate) fn dnn() -> Dnn {
    Dnn::new(DNN)
}

/// What hides slots and generations in TEIDs, as the daemon does it.
pub(crate) fn secret() -> IdCipher {
    IdCipher::new([1, 2, 3])
}

/// What surrounds the data plane.
pub(crate) fn topology() -> Topology {
    let pool = Ipv4Net::new(Ipv4Addr::new(10, 0, 0, 0), 8).map(IpNet::V4);
    let endpoint = GtpuEndpoint { mtu: MTU, ..GtpuEndpoint::new(DualIp::from(UPF)) };
    let network = Network { mtu: MTU, ..Network::new(dnn(), pool.into_iter().collect()) };
    Topology {
        gtpu: vec![endpoint],
        networks: vec![network],
        teids: TeidScheme::hidden(secret()),
        ..Topology::default()
    }
}

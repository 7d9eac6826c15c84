//! An SMF for the tests: builds requests, encodes and decodes them, and keeps the resulting session.
#![allow(dead_code)] // each test file uses a part of it

use std::net::Ipv4Addr;

use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, Header, MeasurementMethod, Message, NetworkInstance, NodeId,
    OuterHeaderCreation, OuterHeaderRemoval, Pdi, RemovedHeader, SessionEstablishmentRequest,
    SessionModificationRequest, SourceInterface, UeIpAddress, UpdateFar, UpdatePdr, UpdateQer, UpdateUrr,
};
use causeway_rules::{
    Addresses, Change, Context, Rejection, Resources, SessionRules, Tunnels, establish, modify,
};
use causeway_types::{DualIp, FSeid, FarId, PdrId, Precedence, QerId, ReportingTriggers, Seid, UrrId};

pub(crate) const SESSION: Seid = Seid(7);
pub(crate) const CHOOSE: FTeid = FTeid::Choose { v4: true, v6: false, choose_id: None };

/// A UPF at 192.0.2.1 and 2001:db8::1 with the data network `internet`, and one session.
pub(crate) struct Upf {
    pub(crate) capabilities: Capabilities,
    pub(crate) endpoints: LocalEndpoints,
    pub(crate) resources: Resources,
    pub(crate) session: SessionRules,
}

impl Upf {
    pub(crate) fn new() -> Self {
        let addr = DualIp {
            v4: Some(Ipv4Addr::new(192, 0, 2, 1)),
            v6: Some("2001:db8::1".parse().expect("an address")),
        };
        let gtpu = vec![LocalEndpoint { addr, network_instance: None }];
        let networks = vec![causeway_types::NetworkInstance::new("internet")];
        let ethernet = vec![causeway_types::NetworkInstance::new("lan")];
        Self {
            capabilities: Capabilities::all(10, 16),
            endpoints: LocalEndpoints { gtpu, networks, ethernet, ..LocalEndpoints::default() },
            resources: Resources::new(Tunnels::new(100, 0), Addresses::default()),
            session: SessionRules::default(),
        }
    }

    /// With the session of this request.
    pub(crate) fn with(request: SessionEstablishmentRequest<'_>) -> Self {
        let mut upf = Self::new();
        let change = upf.establish(request).expect("a legal session");
        upf.keep(change);
        upf
    }

    pub(crate) fn establish(
        &mut self,
        request: SessionEstablishmentRequest<'_>,
    ) -> Result<Change, Rejection> {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &causeway_rules::Catalogue::default(),
        };
        let resources = &mut self.resources;
        through_the_wire(request.into(), |message| match message {
            Message::SessionEstablishmentRequest(request) => {
                establish(&request, SESSION, &context, resources)
            }
            other => panic!("{other:?}"),
        })
    }

    pub(crate) fn modify(&mut self, request: SessionModificationRequest<'_>) -> Result<Change, Rejection> {
        let context = Context {
            capabilities: &self.capabilities,
            endpoints: &self.endpoints,
            catalogue: &causeway_rules::Catalogue::default(),
        };
        let (session, resources) = (&self.session, &mut self.resources);
        through_the_wire(request.into(), |message| match message {
            Message::SessionModificationRequest(request) => {
                modify(session, &request, SESSION, &context, resources)
            }
            other => panic!("{other:?}"),
        })
    }

    /// The data plane has applied the change.
    pub(crate) fn keep(&mut self, change: Change) {
        self.session = change.session;
        self.resources.commit(change.resources);
    }
}

/// Encodes and decodes a message that the codec accepts.
pub(crate) fn through_the_wire<R>(message: Message<'_>, then: impl FnOnce(Message<'_>) -> R) -> R {
    let mut datagram = Vec::new();
    message.encode(Some(SESSION), 1, &mut datagram).expect("short enough");
    let (header, body, _) = Header::decode(&datagram).expect("a header");
    then(Message::decode(&header, body).expect("a message"))
}

/// Cause and offending IE of a rejection.
pub(crate) fn answer(result: Result<Change, Rejection>) -> (u8, Option<u16>) {
    let rejection = result.expect_err("a rejection");
    (rejection.cause().code(), rejection.offending_ie().map(|ie| ie.0))
}

pub(crate) fn establishment<'a>(
    pdrs: Vec<CreatePdr<'a>>,
    fars: Vec<CreateFar<'a>>,
) -> SessionEstablishmentRequest<'a> {
    let smf = Ipv4Addr::new(203, 0, 113, 1);
    let f_seid = FSeid { seid: Seid(1), addr: smf.into() };
    SessionEstablishmentRequest::new(NodeId::Ip(smf.into()), f_seid, pdrs, fars)
}

/// The usual session: uplink through a chosen tunnel to the internet, downlink to a gNB.
pub(crate) fn usual() -> SessionEstablishmentRequest<'static> {
    establishment(vec![uplink(1, 1), downlink(2, 2)], vec![to_internet(1), to_gnb(2, 0x100)])
}

pub(crate) fn ue(destination: bool) -> UeIpAddress {
    UeIpAddress { ipv4: Some(Ipv4Addr::new(10, 45, 0, 2)), destination, ..UeIpAddress::default() }
}

pub(crate) fn uplink(id: u16, far: u32) -> CreatePdr<'static> {
    let pdi = Pdi {
        local_f_teid: Some(CHOOSE),
        ue_ip_addresses: [ue(false)].into(),
        ..Pdi::new(SourceInterface::Access)
    };
    CreatePdr {
        outer_header_removal: Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4)),
        far_id: Some(FarId(far)),
        ..CreatePdr::new(PdrId(id), Precedence(100), pdi)
    }
}

pub(crate) fn downlink(id: u16, far: u32) -> CreatePdr<'static> {
    let pdi = Pdi {
        network_instance: Some(NetworkInstance::text("internet")),
        ue_ip_addresses: [ue(true)].into(),
        ..Pdi::new(SourceInterface::Core)
    };
    CreatePdr { far_id: Some(FarId(far)), ..CreatePdr::new(PdrId(id), Precedence(100), pdi) }
}

pub(crate) fn to_internet(id: u32) -> CreateFar<'static> {
    let parameters = ForwardingParameters {
        network_instance: Some(NetworkInstance::text("internet")),
        ..ForwardingParameters::new(DestinationInterface::Core)
    };
    CreateFar { forwarding_parameters: Some(parameters), ..CreateFar::new(FarId(id), ApplyAction::FORW) }
}

pub(crate) fn gnb(teid: u32) -> OuterHeaderCreation {
    OuterHeaderCreation::gtpu(teid, Ipv4Addr::new(198, 51, 100, 1).into())
}

pub(crate) fn to_gnb(id: u32, teid: u32) -> CreateFar<'static> {
    let parameters = ForwardingParameters {
        outer_header_creation: Some(gnb(teid)),
        ..ForwardingParameters::new(DestinationInterface::Access)
    };
    CreateFar { forwarding_parameters: Some(parameters), ..CreateFar::new(FarId(id), ApplyAction::FORW) }
}

pub(crate) fn qer(id: u32) -> CreateQer<'static> {
    CreateQer::new(QerId(id), GateStatus::OPEN)
}

pub(crate) fn urr(id: u32) -> CreateUrr<'static> {
    CreateUrr::new(UrrId(id), MeasurementMethod::VOLUM, ReportingTriggers::empty())
}

pub(crate) fn update_far(id: u32) -> UpdateFar<'static> {
    UpdateFar::new(FarId(id))
}

pub(crate) fn update_pdr(id: u16) -> UpdatePdr<'static> {
    UpdatePdr::new(PdrId(id))
}

pub(crate) fn update_qer(id: u32) -> UpdateQer<'static> {
    UpdateQer::new(QerId(id))
}

pub(crate) fn update_urr(id: u32) -> UpdateUrr<'static> {
    UpdateUrr::new(UrrId(id))
}

//! Session messages of the class, and the data plane that answers them.

use std::net::{Ipv4Addr, SocketAddrV4};

use causeway_accel::{Accel, Config, Effect, MAX_ANSWER, Reason, Verdict};
use causeway_model::{Capabilities, LocalEndpoint, LocalEndpoints};
use causeway_pfcp::{
    ApplyAction, CreateFar, CreatePdr, CreateQer, CreateUrr, DestinationInterface, FTeid,
    ForwardingParameters, GateStatus, MeasurementMethod, Message, NodeId, OuterHeaderCreation,
    OuterHeaderRemoval, Pdi, RemovedHeader, SessionDeletionRequest, SessionEstablishmentRequest,
    SessionModificationRequest, SourceInterface, UeIpAddress, UpdateFar, UpdateForwardingParameters,
};
use causeway_types::{
    DualIp, FSeid, FarId, NetworkInstance, PdrId, Precedence, QerId, Qfi, ReportingTriggers, Seid, Time,
    UrrId,
};

use crate::ExperimentError;

const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 21);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);

/// A session as its SMF knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    /// The SMF's SEID, not zero.
    pub(super) cp: u64,
    /// The UE address.
    pub(super) ue: Ipv4Addr,
    /// The TEID, if the SMF chooses it.
    pub(super) teid: Option<u32>,
}

/// The data plane, with one SMF.
pub(super) struct DataPlane {
    accel: Accel,
    answer: [u8; MAX_ANSWER],
    sequence: u32,
    /// The index of the session that was established last.
    last: u32,
}

impl DataPlane {
    /// With capacity for so many sessions.
    ///
    /// # Errors
    /// [`ExperimentError::Accel`].
    pub(super) fn new(sessions: u32, seed: u64) -> Result<Self, ExperimentError> {
        let endpoints = LocalEndpoints {
            gtpu: vec![LocalEndpoint { addr: UPF.into(), network_instance: None }],
            networks: vec![NetworkInstance::new("internet")],
            ..LocalEndpoints::default()
        };
        let node = causeway_types::NodeId::Ip(UPF.into());
        let capabilities = Capabilities::all(sessions, 16);
        let mut config = Config::new(&node, DualIp::from(UPF), &endpoints, &capabilities)?;
        (config.sessions, config.keys, config.seed) = (sessions, sessions, seed);
        let mut accel = Accel::new(config)?;
        // One SMF has its place.
        let _ = accel.associate(SMF, SMF);
        Ok(Self { accel, answer: [0; MAX_ANSWER], sequence: 0, last: 0 })
    }

    /// Sends a message: octets of the request and of the answer, or why it goes to N4.
    pub(super) fn send(&mut self, message: Message<'_>, seid: Seid) -> Result<(usize, usize), Reason> {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        let mut octets = Vec::new();
        // A session of a few rules is no longer than a datagram.
        let _ = message.encode(Some(seid), self.sequence, &mut octets);
        let from = SocketAddrV4::new(SMF, 8805);
        match self.accel.message(Time::default(), from, &octets, &mut self.answer) {
            Verdict::Answered { len, effect } => {
                if let Effect::Install { session, .. } = effect {
                    self.last = session;
                }
                Ok((octets.len(), len))
            }
            Verdict::ToN4 { reason, .. } => Err(reason),
        }
    }

    /// Sends a message that makes a session the software's. Returns whether the software gets the rules that the data plane had.
    ///
    /// # Errors
    /// [`ExperimentError::SessionKept`]: the data plane answers it, or keeps the session.
    pub(super) fn falls_back(&mut self, message: Message<'_>, seid: Seid) -> Result<bool, ExperimentError> {
        self.sequence = (self.sequence + 1) & 0x00ff_ffff;
        let mut octets = Vec::new();
        // As above.
        let _ = message.encode(Some(seid), self.sequence, &mut octets);
        let from = SocketAddrV4::new(SMF, 8805);
        let verdict = self.accel.message(Time::default(), from, &octets, &mut self.answer);
        let Verdict::ToN4 { adopt: Some(index), .. } = verdict else {
            return Err(ExperimentError::SessionKept);
        };
        let before = self.accel.rule_set(index);
        let adopted = self.accel.adopt(index).ok_or(ExperimentError::SessionKept)?;
        Ok(adopted.seid == seid && before == Some(adopted.rules) && self.accel.rule_set(index).is_none())
    }

    /// The UPF's SEID of the session that was established last.
    pub(super) fn seid(&self) -> Seid {
        self.accel.session(self.last).map_or(Seid(0), |(seid, _)| seid)
    }

    /// Sessions.
    pub(super) fn sessions(&self) -> u32 {
        self.accel.len()
    }
}

/// 2 PDRs, 2 FARs, 1 QER.
pub(super) fn establishment(session: &Session) -> Message<'static> {
    let choose = FTeid::Choose { v4: true, v6: false, choose_id: None };
    let tunnel = session.teid.map_or(choose, |teid| FTeid::Assigned { teid, addr: UPF.into() });
    let qfi = Qfi::from_low_bits(9);
    let uplink = Pdi { local_f_teid: Some(tunnel), qfis: [qfi].into(), ..Pdi::new(SourceInterface::Access) };
    let ue = UeIpAddress { ipv4: Some(session.ue), destination: true, ..UeIpAddress::default() };
    let downlink = Pdi { ue_ip_addresses: [ue].into(), ..Pdi::new(SourceInterface::Core) };
    let pdr = |id: u16, pdi| CreatePdr {
        far_id: Some(FarId(id.into())),
        qer_ids: [QerId(1)].into(),
        ..CreatePdr::new(PdrId(id), Precedence(255), pdi)
    };
    let removal = Some(OuterHeaderRemoval::new(RemovedHeader::GtpuIpv4));
    let pdrs = [CreatePdr { outer_header_removal: removal, ..pdr(1, uplink) }, pdr(2, downlink)];
    let far = |id, destination| CreateFar {
        forwarding_parameters: Some(ForwardingParameters::new(destination)),
        ..CreateFar::new(FarId(id), ApplyAction::FORW)
    };
    let fars = [far(1, DestinationInterface::Core), far(2, DestinationInterface::Access)];
    let qer = CreateQer { qfi: Some(qfi), ..CreateQer::new(QerId(1), GateStatus::OPEN) };
    let cp = FSeid { seid: Seid(session.cp), addr: SMF.into() };
    let request = SessionEstablishmentRequest {
        create_qers: [qer].into(),
        ..SessionEstablishmentRequest::new(NodeId::Ip(SMF.into()), cp, pdrs, fars)
    };
    request.into()
}

/// The tunnel of another gNB.
pub(super) fn handover(teid: u32) -> Message<'static> {
    let forwarding = UpdateForwardingParameters {
        outer_header_creation: Some(OuterHeaderCreation::gtpu(teid, DualIp::from(GNB))),
        ..UpdateForwardingParameters::default()
    };
    let far = UpdateFar { update_forwarding_parameters: Some(forwarding), ..UpdateFar::new(FarId(2)) };
    SessionModificationRequest { update_fars: [far].into(), ..SessionModificationRequest::default() }.into()
}

/// A modification that the data plane does not answer: usage is to be measured.
pub(super) fn complex_modification() -> Message<'static> {
    let urr = CreateUrr::new(UrrId(1), MeasurementMethod::VOLUM, ReportingTriggers::VOLTH);
    SessionModificationRequest { create_urrs: [urr].into(), ..SessionModificationRequest::default() }.into()
}

/// The end of a session.
pub(super) fn deletion() -> Message<'static> {
    SessionDeletionRequest::default().into()
}

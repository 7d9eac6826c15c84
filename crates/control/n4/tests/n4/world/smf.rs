//! A scripted SMF: it sends what a test determines, and decodes what it receives.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::*;
use causeway_types::{FSeid, NodeId as Node, NtpSeconds, Seid};

/// One SMF at one address and port.
#[derive(Clone, Debug)]
pub(crate) struct Smf {
    pub(crate) addr: SocketAddr,
    pub(crate) recovery: NtpSeconds,
    pub(crate) sequence: u32,
    pub(crate) next_seid: u64,
    /// The last octets of its other addresses, which its setup names.
    pub(crate) others: Vec<u8>,
}

/// A message from the UPF.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) header: Header,
    body: Vec<u8>,
    /// The whole datagram.
    pub(crate) bytes: Vec<u8>,
}

impl Got {
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        let (header, body, rest) = Header::decode(bytes).expect("the UPF sends sound headers");
        assert!(rest.is_empty(), "one message in a datagram");
        Self { header, body: body.to_vec(), bytes: bytes.to_vec() }
    }

    pub(crate) fn message(&self) -> Message<'_> {
        Message::decode(&self.header, &self.body).expect("the UPF sends sound messages")
    }

    pub(crate) fn kind(&self) -> MessageType {
        self.message().message_type()
    }

    /// The cause, of a message that has one.
    pub(crate) fn cause(&self) -> Cause {
        match self.message() {
            Message::PfdManagementResponse(it) => it.cause,
            Message::AssociationSetupResponse(it) => it.cause,
            Message::AssociationUpdateResponse(it) => it.cause,
            Message::AssociationReleaseResponse(it) => it.cause,
            Message::NodeReportResponse(it) => it.cause,
            Message::SessionSetDeletionResponse(it) => it.cause,
            Message::SessionSetModificationResponse(it) => it.cause,
            Message::SessionEstablishmentResponse(it) => it.cause,
            Message::SessionModificationResponse(it) => it.cause,
            Message::SessionDeletionResponse(it) => it.cause,
            Message::SessionReportResponse(it) => it.cause,
            other => panic!("{:?} has no cause", other.message_type()),
        }
    }

    /// The cause and the offending IE of a session response.
    pub(crate) fn refusal(&self) -> (Cause, Option<u16>) {
        let offending = match self.message() {
            Message::PfdManagementResponse(it) => it.offending_ie,
            Message::SessionEstablishmentResponse(it) => it.offending_ie,
            Message::SessionModificationResponse(it) => it.offending_ie,
            Message::SessionDeletionResponse(it) => it.offending_ie,
            _ => None,
        };
        (self.cause(), offending.map(|ie| ie.0))
    }

    /// The UPF's SEID in an establishment response.
    pub(crate) fn up_seid(&self) -> Seid {
        let Message::SessionEstablishmentResponse(it) = self.message() else { panic!("{:?}", self.kind()) };
        it.up_f_seid.expect("an accepted session has a SEID").seid
    }

    /// URR, UR-SEQN, octets up and trigger of each usage report.
    pub(crate) fn usage(&self) -> Vec<(u32, u32, u64, UsageReportTrigger)> {
        let reports = match self.message() {
            Message::SessionModificationResponse(it) => it.usage_reports.iter().collect::<Vec<_>>(),
            Message::SessionDeletionResponse(it) => it.usage_reports.iter().collect(),
            Message::SessionReportRequest(it) => it.usage_reports.iter().collect(),
            other => panic!("{:?} reports no usage", other.message_type()),
        };
        let octets =
            |it: &UsageReport<'_>| it.volume_measurement.and_then(|it| it.octets.uplink).unwrap_or(0);
        reports.iter().map(|it| (it.urr_id.0, it.ur_seqn.0, octets(it), it.usage_report_trigger)).collect()
    }
}

impl Smf {
    pub(crate) fn new(last: u8) -> Self {
        let addr = SocketAddr::from(([192, 0, 2, last], 8805));
        Self { addr, recovery: NtpSeconds(1000), sequence: 0, next_seid: 0, others: Vec::new() }
    }

    pub(crate) fn node(&self) -> Node {
        Node::Ip(self.addr.ip())
    }

    pub(crate) fn node_id(&self) -> NodeId<'static> {
        NodeId::Ip(self.addr.ip())
    }

    /// A new CP F-SEID of this SMF.
    pub(crate) fn f_seid(&mut self) -> FSeid {
        self.next_seid += 1;
        FSeid { seid: Seid(self.next_seid), addr: self.addr.ip().into() }
    }

    /// A request with the next number.
    pub(crate) fn request<'a>(&mut self, seid: Option<Seid>, message: impl Into<Message<'a>>) -> Vec<u8> {
        self.sequence += 1;
        encode(seid, self.sequence, message)
    }

    pub(crate) fn setup(&self) -> AssociationSetupRequest<'static> {
        let address = |last: &u8| std::net::Ipv4Addr::new(192, 0, 2, *last).into();
        let other = |last| AlternativeSmfIpAddress { addr: address(last), preferred: false };
        AssociationSetupRequest {
            alternative_smf_ip_addresses: self.others.iter().map(other).collect::<Vec<_>>().into(),
            ..AssociationSetupRequest::new(self.node_id(), RecoveryTimeStamp(self.recovery))
        }
    }

    /// The response to a request of the UPF.
    pub(crate) fn answer<'a>(received: &Got, seid: Option<Seid>, message: impl Into<Message<'a>>) -> Vec<u8> {
        encode(seid, received.header.sequence, message)
    }

    pub(crate) fn heartbeat_response(&self, received: &Got) -> Vec<u8> {
        Self::answer(received, None, HeartbeatResponse::new(RecoveryTimeStamp(self.recovery)))
    }

    pub(crate) fn report_response(received: &Got, seid: Seid, cause: Cause) -> Vec<u8> {
        Self::answer(received, Some(seid), SessionReportResponse::new(cause))
    }

    pub(crate) fn ip(&self) -> IpAddr {
        self.addr.ip()
    }
}

pub(crate) fn encode<'a>(seid: Option<Seid>, sequence: u32, message: impl Into<Message<'a>>) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.into().encode(seid, sequence, &mut bytes).expect("tests send short messages");
    bytes
}

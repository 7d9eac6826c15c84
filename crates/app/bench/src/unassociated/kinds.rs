//! The kinds of datagrams.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use causeway_pfcp::{
    AssociationSetupRequest, Cause, HeartbeatRequest, NodeId, RecoveryTimeStamp, SessionReportResponse,
};
use causeway_types::{NtpSeconds, Seid};

use crate::pfcp::requests::{SMF, deletion, encode, establishment, handover};

/// Octets of the payload of a datagram that fills a packet.
const FULL: usize = 1400;

/// An IE of a vendor, without content.
const IE: [u8; 6] = [0x80, 1, 0, 2, 0xff, 0xff];

/// What is sent, and by whom.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// What an SMF sends, beside which the others stand.
    Establishment,
    SmfHeartbeat,
    SmfUnknownSession,
    Heartbeat,
    HeartbeatOfIes,
    Bundle,
    Setup,
    PeerEstablishment,
    NewPeers,
    Modification,
    Deletion,
    Response,
    Unknown,
    OtherVersion,
    Cut,
    Random,
}

impl Kind {
    /// In the order of the rows; the first is what others are compared with.
    pub(super) const ALL: [Self; 16] = [
        Self::Establishment,
        Self::SmfHeartbeat,
        Self::SmfUnknownSession,
        Self::Heartbeat,
        Self::HeartbeatOfIes,
        Self::Bundle,
        Self::Setup,
        Self::PeerEstablishment,
        Self::NewPeers,
        Self::Modification,
        Self::Deletion,
        Self::Response,
        Self::Unknown,
        Self::OtherVersion,
        Self::Cut,
        Self::Random,
    ];

    /// In words.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Establishment => "establishment of the SMF",
            Self::SmfHeartbeat => "heartbeat of the SMF",
            Self::SmfUnknownSession => "unknown session deleted by the SMF",
            Self::Heartbeat => "heartbeat",
            Self::HeartbeatOfIes => "heartbeat, full of empty IEs",
            Self::Bundle => "bundle full of heartbeats",
            Self::Setup => "association setup of new nodes",
            Self::PeerEstablishment => "establishment",
            Self::NewPeers => "establishment, of new hosts",
            Self::Modification => "modification of a session",
            Self::Deletion => "deletion of a session",
            Self::Response => "response without a request",
            Self::Unknown => "message of unknown type",
            Self::OtherVersion => "other version",
            Self::Cut => "cut message",
            Self::Random => "random octets",
        }
    }

    /// One of them. `turn` is another one each time, `seid` that of a session of the SMF.
    pub(super) fn datagram(self, turn: u32, seid: Seid) -> (SocketAddr, Vec<u8>) {
        // Beside those of the SMF, lest one be taken for another.
        let number = 0x0050_0000 + turn % 0x0010_0000;
        let octets = match self {
            Self::Establishment | Self::PeerEstablishment | Self::NewPeers => establishment(number, turn),
            Self::SmfHeartbeat | Self::Heartbeat => heartbeat(turn),
            Self::SmfUnknownSession => deletion(Seid(u64::from(turn)), turn),
            Self::HeartbeatOfIes => filled(heartbeat(turn)),
            Self::Bundle => bundle(turn),
            Self::Setup => {
                let stamp = RecoveryTimeStamp(NtpSeconds(3_900_000_000));
                encode(AssociationSetupRequest::new(NodeId::Ip(host(turn)), stamp).into(), None, turn)
            }
            Self::Modification => handover(seid, number, 1, turn),
            Self::Deletion => deletion(seid, turn),
            Self::Response => {
                encode(SessionReportResponse::new(Cause::RequestAccepted).into(), Some(seid), turn)
            }
            Self::Unknown => changed(heartbeat(turn), 1, 99),
            Self::OtherVersion => changed(heartbeat(turn), 0, 0x40),
            Self::Cut => changed(heartbeat(turn), 3, 200),
            Self::Random => random(turn),
        };
        let from = match self {
            Self::Establishment | Self::SmfHeartbeat | Self::SmfUnknownSession => IpAddr::V4(SMF),
            Self::Setup | Self::NewPeers => host(turn),
            _ => IpAddr::V4(Ipv4Addr::new(198, 51, 100, 66)),
        };
        (SocketAddr::new(from, 8805), octets)
    }
}

/// One of a million hosts.
fn host(turn: u32) -> IpAddr {
    Ipv4Addr::from(u32::from(Ipv4Addr::new(172, 16, 0, 0)) + turn % 0x0010_0000).into()
}

fn heartbeat(sequence: u32) -> Vec<u8> {
    encode(HeartbeatRequest::new(RecoveryTimeStamp(NtpSeconds(3_900_000_000))).into(), None, sequence)
}

/// The message with as many IEs behind its own as fit.
fn filled(mut message: Vec<u8>) -> Vec<u8> {
    while message.len() + IE.len() <= FULL {
        message.extend(IE);
    }
    let counted = (message.len() - 4) as u16;
    if let Some(field) = message.get_mut(2..4) {
        field.copy_from_slice(&counted.to_be_bytes());
    }
    message
}

/// Heartbeats, each of which but the last says that another one follows.
fn bundle(turn: u32) -> Vec<u8> {
    let one = heartbeat(turn);
    let follows = changed(one.clone(), 0, one.first().copied().unwrap_or(0) | 4);
    let mut all = follows.repeat(FULL / one.len() - 1);
    all.extend(one);
    all
}

fn changed(mut message: Vec<u8>, at: usize, octet: u8) -> Vec<u8> {
    message.iter_mut().skip(at).take(1).for_each(|place| *place = octet);
    message
}

/// As long as an establishment.
fn random(turn: u32) -> Vec<u8> {
    let mut state = u64::from(turn) + 1;
    let octet = |_| {
        // A linear congruential generator; its high bits are the better ones.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..400).map(octet).collect()
}

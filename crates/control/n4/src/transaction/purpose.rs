//! The purposes of the requests that the UPF sends.

use std::net::{IpAddr, SocketAddr};

use causeway_types::Seid;

use super::Aim;
use crate::association::AssociationId;
use crate::report::RequestNumber;

/// The purpose of a request sent by the UPF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Purpose {
    /// A heartbeat: checks that the peer is alive.
    Heartbeat(AssociationId),
    /// Checks a restart or move that a message announced for the peer, at this address of it.
    RecoveryCheck {
        /// The peer.
        association: AssociationId,
        /// The address that the announcement concerns.
        entity: IpAddr,
    },
    /// An association setup initiated by the UPF.
    Setup(SocketAddr),
    /// Requests that the peer releases the association.
    Release(AssociationId),
    /// Announces that the association will be released after its usage is reported.
    Announcement(AssociationId),
    /// Announces that all usage is reported, and requests the release of the association.
    GracefulRelease(AssociationId),
    /// A report of a user plane path.
    PathReport {
        /// The receiving SMF.
        association: AssociationId,
        /// The remote end of the path.
        peer: IpAddr,
    },
    /// A report of a session.
    Report {
        /// The UPF's SEID.
        session: Seid,
        /// Its association.
        association: AssociationId,
        /// The number of the request within the session.
        number: RequestNumber,
    },
}

impl Aim for Purpose {
    fn association(&self) -> Option<AssociationId> {
        match self {
            Self::Setup(_) => None,
            Self::Heartbeat(association)
            | Self::Release(association)
            | Self::Announcement(association)
            | Self::GracefulRelease(association)
            | Self::RecoveryCheck { association, .. }
            | Self::PathReport { association, .. }
            | Self::Report { association, .. } => Some(*association),
        }
    }
}

//! Read-only views of sessions and associations for metrics and management.

use std::borrow::Cow;
use std::net::SocketAddr;

use causeway_model::RuleSet;
use causeway_rules::StoredRules;
use causeway_types::{FSeid, NodeId, NtpSeconds, Seid, Time};

use crate::association::Association;
use crate::left_out::LeftOut;
use crate::session::Session;
use crate::user::UserIdentities;

/// An established session.
#[derive(Clone, Copy, Debug)]
pub struct SessionView<'a> {
    /// The UPF's SEID.
    pub seid: Seid,
    /// The CP F-SEID.
    pub cp: FSeid,
    /// The SMF.
    pub node: &'a NodeId,
    /// When it was established.
    pub since: Time,
    /// Reports that are queued.
    pub waiting_reports: usize,
    user: &'a [u8],
    rules: &'a StoredRules,
}

impl<'a> SessionView<'a> {
    /// Its rules as applied in the data plane. O(rules).
    pub fn rules(&self) -> Cow<'a, RuleSet> {
        self.rules.rules()
    }

    /// The User ID that the SMF sent when the session was established; `None`: it sent none.
    pub fn user(&self) -> Option<UserIdentities> {
        UserIdentities::decode(self.user)
    }

    pub(crate) fn of(session: &'a Session, association: &'a Association, waiting_reports: usize) -> Self {
        Self {
            seid: session.seid(),
            cp: session.cp(),
            node: association.node(),
            since: session.since(),
            rules: session.rules(),
            user: session.user(),
            waiting_reports,
        }
    }
}

/// An association.
#[derive(Clone, Copy, Debug)]
pub struct AssociationView<'a> {
    /// The SMF.
    pub node: &'a NodeId,
    /// The destination of requests to it.
    pub peer: SocketAddr,
    /// The SMF's Recovery Time Stamp, as it announced it.
    pub recovery: NtpSeconds,
    /// When the association was set up last.
    pub since: Time,
    /// Its last heartbeat was answered, or a message was received from it since.
    pub path_up: bool,
    /// The number of its sessions, including those being established.
    pub sessions: usize,
    left_out: LeftOut,
}

impl<'a> AssociationView<'a> {
    pub(crate) fn of(association: &'a Association) -> Self {
        Self {
            node: association.node(),
            peer: association.peer(),
            recovery: association.recovery(),
            since: association.since(),
            path_up: association.is_path_up(),
            sessions: association.sessions(),
            left_out: association.left_out(),
        }
    }

    /// The types of the IEs left out of messages to it, since it responded only to messages without them.
    pub fn left_out(&self) -> impl Iterator<Item = u16> + use<> {
        self.left_out.types()
    }
}

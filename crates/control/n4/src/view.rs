//! Sessions and associations as metrics and management see them.

use std::borrow::Cow;
use std::net::SocketAddr;

use causeway_rules::{RuleSet, StoredRules};
use causeway_types::{FSeid, NodeId, NtpSeconds, Seid, Time};

use crate::association::Association;
use crate::left_out::LeftOut;
use crate::session::Session;

/// An established session.
#[derive(Clone, Copy, Debug)]
pub struct SessionView<'a> {
    /// Ours.
    pub seid: Seid,
    /// The SMF's end.
    pub cp: FSeid,
    /// The SMF.
    pub node: &'a NodeId,
    /// When it was established.
    pub since: Time,
    /// Reports that wait to be sent.
    pub waiting_reports: usize,
    rules: &'a StoredRules,
}

impl<'a> SessionView<'a> {
    /// Its rules as the data plane has them. O(rules).
    pub fn rules(&self) -> Cow<'a, RuleSet> {
        self.rules.rules()
    }

    pub(crate) fn of(session: &'a Session, association: &'a Association) -> Self {
        Self {
            seid: session.seid,
            cp: session.cp,
            node: &association.node,
            since: session.since,
            rules: &session.rules,
            waiting_reports: session.reports.waiting(),
        }
    }
}

/// An association.
#[derive(Clone, Copy, Debug)]
pub struct AssociationView<'a> {
    /// The SMF.
    pub node: &'a NodeId,
    /// Where our requests go.
    pub peer: SocketAddr,
    /// When the SMF started, by its own word.
    pub recovery: NtpSeconds,
    /// When the association was set up, the last time if more than once.
    pub since: Time,
    /// Its last heartbeat was answered, or it was heard of since.
    pub path_up: bool,
    /// Its sessions, those being set up included.
    pub sessions: usize,
    left_out: LeftOut,
}

impl<'a> AssociationView<'a> {
    pub(crate) fn of(association: &'a Association) -> Self {
        Self {
            node: &association.node,
            peer: association.peer,
            recovery: association.recovery,
            since: association.since,
            path_up: association.path_up,
            sessions: association.sessions,
            left_out: association.left_out,
        }
    }

    /// The types of the IEs that it gets messages without, since it answered only such.
    pub fn left_out(&self) -> impl Iterator<Item = u16> + use<> {
        self.left_out.types()
    }
}

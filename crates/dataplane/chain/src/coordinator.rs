//! Decides who is in the chain.

use std::collections::VecDeque;

use crate::{Configuration, Epoch, Member};

/// The one that decides who is in the chain. Send [`Coordinator::configuration`] to all members after each change, and
/// periodically to members that may have missed it.
///
/// It must survive failures itself, or be replaced by one that knows the last configuration: two coordinators with
/// different configurations of one epoch make two chains.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Coordinator {
    current: Configuration,
    /// Members that join when the present one has.
    waiting: VecDeque<Member>,
}

impl Coordinator {
    /// A chain of these members without sessions, the head first.
    pub fn new(members: Vec<Member>) -> Self {
        Self { current: Configuration { epoch: Epoch(1), members, joining: None }, waiting: VecDeque::new() }
    }

    /// A coordinator that continues from a configuration.
    pub const fn from_configuration(current: Configuration) -> Self {
        Self { current, waiting: VecDeque::new() }
    }

    /// The configuration in force.
    pub const fn configuration(&self) -> &Configuration {
        &self.current
    }

    /// A node does not respond: its incarnation leaves the chain. The last member never does, since its sessions would be
    /// lost. A suspicion may be wrong: the member learns that it is out, and joins again. Returns whether there is a new
    /// configuration.
    pub fn failed(&mut self, node: u16) -> bool {
        self.waiting.retain(|member| member.node != node);
        let mut next = self.current.clone();
        next.members.retain(|member| member.node != node);
        next.joining = next.joining.filter(|member| member.node != node);
        if next.members.is_empty() || next == self.current {
            return false;
        }
        self.install(next);
        true
    }

    /// A member without sessions asks to join. Returns whether there is a new configuration; otherwise it is in the chain
    /// already, or waits for another one that joins.
    pub fn join(&mut self, member: Member) -> bool {
        let is_known = |other: &Member| other.node == member.node;
        if self.current.position(member).is_some() || self.current.joining == Some(member) {
            return false;
        }
        self.waiting.retain(|other| !is_known(other));
        // An earlier incarnation that nobody has missed yet has lost its state.
        let was_known =
            self.current.members.iter().any(is_known) || self.current.joining.as_ref().is_some_and(is_known);
        if was_known && !self.failed(member.node) {
            return false;
        }
        self.waiting.push_back(member);
        let before = self.current.epoch;
        if self.current.joining.is_none() {
            self.install(self.current.clone());
        }
        was_known || self.current.epoch != before
    }

    /// The tail of this epoch reports that the joining member has all sessions. Returns whether there is a new
    /// configuration: a report of an earlier epoch changes nothing.
    pub fn ready(&mut self, epoch: Epoch) -> bool {
        if epoch != self.current.epoch {
            return false;
        }
        let Some(member) = self.current.joining else { return false };
        let mut next = self.current.clone();
        next.members.push(member);
        next.joining = None;
        self.install(next);
        true
    }

    /// The last member of the chain has returned without its sessions: they are lost, and the chain begins again with it.
    /// Returns whether there is a new configuration: not while the chain has other members, which have the sessions.
    pub fn begin_again(&mut self, member: Member) -> bool {
        let [last] = self.current.members.as_slice() else { return false };
        if last.node != member.node || *last == member {
            return false;
        }
        self.waiting.retain(|other| other.node != member.node);
        // A member that was joining has nothing, and joins again.
        let joining = self.current.joining.filter(|other| other.node != member.node);
        self.install(Configuration { members: vec![member], joining, ..Configuration::default() });
        true
    }

    fn install(&mut self, next: Configuration) {
        let joining = next.joining.or_else(|| self.waiting.pop_front());
        self.current =
            Configuration { epoch: Epoch(self.current.epoch.0 + 1), joining, members: next.members };
    }
}

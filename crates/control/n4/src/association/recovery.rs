//! Claims about an SMF that another host may have forged: the SMF itself confirms them first.
//!
//! A heartbeat or an Association Setup Request is one datagram, whose source address anyone can forge, and the Recovery
//! Time Stamp of an SMF is no secret. So an SMF with sessions counts as restarted only after it responds with the new
//! time stamp to a Heartbeat Request of the UPF, sent to its known address.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Cause, HeartbeatRequest, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Span, Time};

use super::contact::Contact;
use super::{AssociationId, Associations};
use crate::output::Outputs;
use crate::transaction::{Purpose, RequestKey, RequestRefusal, Transactions};
use crate::{Notice, RefusalReason};

/// A later time stamp counts when the SMF sends it twice, this far apart: an SMF that sends the current time sends
/// another one.
const CONFIRMATION_INTERVAL: Span = Span::from_secs(2);

/// A claim about an SMF, until the SMF has confirmed or denied it.
#[derive(Debug)]
pub(crate) struct RecoveryClaim {
    recovery: NtpSeconds,
    /// The address that the claim concerns.
    entity: IpAddr,
    /// Requests received after the claim belong to this restart epoch.
    epoch: u32,
    /// Heartbeats have contained different time stamps since.
    has_moved: bool,
    what: ClaimKind,
}

#[derive(Debug)]
enum ClaimKind {
    /// A restart, claimed in a heartbeat or an establishment.
    Restart,
    /// A restart, claimed in a setup from a host of the SMF. The setup was already accepted.
    Setup(Box<PendingSetup>),
    /// A move to another host: a setup from there, whose response is pending.
    Moved(Box<PendingSetup>, RequestKey),
}

/// A setup that is not confirmed yet.
#[derive(Debug)]
pub(crate) struct PendingSetup {
    pub(crate) contact: Contact,
    /// The CP entities whose sessions are retained; empty: all.
    pub(crate) retained: Option<Vec<IpAddr>>,
}

/// The Recovery Time Stamp in a message whose source may be forged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SentTimeStamp {
    /// The address of the PFCP entity that it concerns.
    pub(crate) entity: IpAddr,
    /// The source of the message.
    pub(crate) from: SocketAddr,
    /// The time stamp.
    pub(crate) recovery: NtpSeconds,
}

/// What an SMF has confirmed, or has not denied in time.
#[derive(Debug)]
pub(crate) enum Confirmed {
    /// The PFCP entity at this address restarted.
    Restart {
        /// The address.
        entity: IpAddr,
        /// Its previous Recovery Time Stamp.
        before: NtpSeconds,
        /// The new one.
        after: NtpSeconds,
        /// The restart epoch that has begun.
        epoch: Option<u32>,
    },
    /// A setup, which takes effect.
    Setup {
        /// The setup.
        setup: Box<PendingSetup>,
        /// The restart epoch that has begun.
        epoch: Option<u32>,
        /// The request, if its response is pending.
        pending: Option<RequestKey>,
    },
}

/// The Recovery Time Stamps that an SMF sent.
#[derive(Debug, Default)]
pub(crate) struct RecoveryClock {
    /// A later time stamp in a response of the SMF, its time, and the restart epoch that began then.
    changed: Option<(NtpSeconds, Time, u32)>,
    /// A later time stamp in a claim that the SMF did not confirm, since it does not respond to heartbeats.
    unconfirmed: Option<NtpSeconds>,
    /// A later time stamp that is not confirmed, since a check got no response, and the restart epoch that began with
    /// it: the same time stamp begins no other.
    begun: Option<(NtpSeconds, u32)>,
    /// The SMF sends the current time instead of that of its start.
    is_broken: bool,
    /// When the SMF is checked again.
    due: Option<Time>,
}

impl RecoveryClock {
    /// Schedules the next check.
    pub(super) const fn recheck_at(&mut self, due: Time) {
        self.due = Some(due);
    }

    /// The restart epoch that began with this time stamp.
    fn epoch_of(&self, recovery: NtpSeconds) -> Option<u32> {
        self.begun.filter(|(stamp, _)| *stamp == recovery).map(|(_, epoch)| epoch)
    }

    /// When the SMF is checked again.
    pub(crate) const fn due(&self) -> Option<Time> {
        self.due
    }
}

impl RecoveryClaim {
    /// The request whose response is pending until the SMF has been checked.
    pub(super) fn held(&self) -> Option<RequestKey> {
        if let ClaimKind::Moved(_, key) = &self.what { Some(*key) } else { None }
    }
}

impl Associations {
    /// Handles the Recovery Time Stamp of the PFCP entity at this address in a message whose source may be forged.
    pub(crate) fn on_recovery_time_stamp(
        &mut self,
        now: Time,
        id: AssociationId,
        stamp: SentTimeStamp,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let SentTimeStamp { entity, from, recovery } = stamp;
        let is_news = self.is_news(id, stamp);
        let Some(association) = self.get_mut(id).filter(|_| is_news) else { return };
        let is_main = association.source.ip() == entity;
        if let Some(claim) = &mut association.claim {
            claim.has_moved = true;
            return;
        }
        if is_main && association.clock.unconfirmed.is_some_and(|before| before != recovery) {
            return self.mark_clock_unstable(id, out);
        }
        let to = if is_main { association.peer } else { SocketAddr::new(from.ip(), association.peer.port()) };
        self.record_claim(id, entity, recovery, ClaimKind::Restart, transactions);
        self.send_recovery_check(now, id, entity, to, transactions, out);
    }

    /// Whether [`Associations::on_recovery_time_stamp`] may do something.
    pub(crate) fn is_news(&self, id: AssociationId, stamp: SentTimeStamp) -> bool {
        let Some(association) = self.get(id) else { return false };
        let is_main = association.source.ip() == stamp.entity;
        let of_entity = association.entities.get(&stamp.entity).copied();
        let known = if is_main { Some(association.recovery) } else { of_entity };
        if known.is_some_and(|known| !is_later(stamp.recovery, known)) {
            return false;
        }
        match &association.claim {
            Some(claim) => {
                claim.entity == stamp.entity && claim.recovery != stamp.recovery && !claim.has_moved
            }
            None => !is_main || !association.clock.is_broken && association.clock.changed.is_none(),
        }
    }

    fn record_claim(
        &mut self,
        id: AssociationId,
        entity: IpAddr,
        recovery: NtpSeconds,
        what: ClaimKind,
        transactions: &mut Transactions,
    ) {
        let is_elsewhere = matches!(what, ClaimKind::Moved(..));
        let Some(association) = self.get_mut(id) else { return };
        // Messages received after an earlier claim belong to a later epoch than those before.
        let before = association.claim.take();
        let is_main = association.source.ip() == entity;
        let begun = association.clock.epoch_of(recovery).filter(|_| is_main && !is_elsewhere);
        let epoch = match &before {
            Some(claim) if claim.held().is_none() || is_elsewhere => claim.epoch,
            _ => begun.unwrap_or_else(|| {
                transactions.begin_epoch(if is_elsewhere { &[] } else { &association.addresses })
            }),
        };
        let association = self.get_mut(id);
        if let Some(association) = association {
            if before.is_none() && begun.is_none() {
                association.counts.restart();
            }
            association.claim = Some(RecoveryClaim { recovery, entity, epoch, has_moved: false, what });
        }
        if let Some(key) = before.and_then(|claim| claim.held()) {
            transactions.forget(&key);
        }
    }

    fn send_recovery_check(
        &self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        to: SocketAddr,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let request = HeartbeatRequest::new(RecoveryTimeStamp(self.recovery));
        let purpose = Purpose::RecoveryCheck { association: id, entity };
        if transactions.is_asked(&purpose) {
            return;
        }
        transactions.request(now, to, &request.into(), purpose, out);
    }

    /// Sends an SMF a Heartbeat Request now.
    fn send_heartbeat_now(
        &self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        if let Some((entity, to)) = self.get(id).map(|it| (it.source.ip(), it.peer)) {
            self.send_recovery_check(now, id, entity, to, transactions, out);
        }
    }

    /// Checks the SMFs again whose time stamps are not confirmed yet.
    pub(crate) fn recheck_clocks(&mut self, now: Time, transactions: &mut Transactions, out: &mut Outputs) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        let due = self.iter().filter(|it| is_due(it.clock.due));
        for id in due.map(|it| it.id).collect::<Vec<_>>() {
            if let Some(association) = self.get_mut(id) {
                association.clock.due = None;
            }
            self.send_heartbeat_now(now, id, transactions, out);
        }
    }

    /// A setup from a host of the SMF that would end sessions: they end after the check that
    /// [`Associations::check_claim`] starts
    /// when the setup gets its response.
    /// Returns the setup if it takes effect now.
    pub(crate) fn defer_setup(
        &mut self,
        id: AssociationId,
        new: PendingSetup,
        transactions: &mut Transactions,
    ) -> Option<PendingSetup> {
        let association = self.get(id)?;
        let (entity, recovery) = (association.source.ip(), new.contact.recovery);
        if association.clock.is_broken {
            // A response of the SMF would add no information.
            return Some(new);
        }
        self.record_claim(id, entity, recovery, ClaimKind::Setup(Box::new(new)), transactions);
        None
    }

    /// Sends a Heartbeat Request to the SMF if there is a claim about it.
    pub(crate) fn check_claim(
        &self,
        now: Time,
        id: AssociationId,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        if self.get(id).is_some_and(|it| it.claim.is_some()) {
            self.send_heartbeat_now(now, id, transactions, out);
        }
    }

    /// A setup from a host that does not belong to the SMF: its response is pending until the SMF has been checked at
    /// its previous address.
    pub(crate) fn defer_moved_setup(
        &mut self,
        now: Time,
        id: AssociationId,
        key: RequestKey,
        new: PendingSetup,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) {
        let Some(association) = self.get(id) else { return };
        let (entity, to, recovery) = (association.source.ip(), association.peer, new.contact.recovery);
        let (is_asked, is_rival) = match association.claim.as_ref().map(|claim| &claim.what) {
            None | Some(ClaimKind::Restart) => (false, false),
            Some(ClaimKind::Setup(_)) => (true, true),
            Some(ClaimKind::Moved(_, other)) => (true, other.from.ip() != key.from.ip()),
        };
        if is_rival {
            return refuse_moved_setup(now, key, to, transactions, out);
        }
        self.record_claim(id, entity, recovery, ClaimKind::Moved(Box::new(new), key), transactions);
        if !is_asked {
            self.send_recovery_check(now, id, entity, to, transactions, out);
        }
    }

    /// An SMF responded to the check of a claim.
    pub(crate) fn recovery_check_answered(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        recovery: NtpSeconds,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> Option<Confirmed> {
        let association = self.get_mut(id)?;
        if association.source.ip() == entity {
            return self.on_own_time_stamp(now, id, recovery, transactions, out);
        }
        let claim = association.claim.take_if(|claim| claim.entity == entity);
        match association.entities.get(&entity).copied() {
            Some(known) if !is_later(recovery, known) => {
                if claim.is_some() {
                    self.reject_claim(id, transactions, out);
                }
                None
            }
            Some(known) => {
                association.entities.insert(entity, recovery);
                let epoch = claim.map(|claim| claim.epoch);
                Some(Confirmed::Restart { entity, before: known, after: recovery, epoch })
            }
            None => {
                association.entities.insert(entity, recovery);
                None
            }
        }
    }

    /// An SMF sent its Recovery Time Stamp in a response to the UPF, which confirms or denies a claim.
    pub(super) fn on_own_time_stamp(
        &mut self,
        now: Time,
        id: AssociationId,
        recovery: NtpSeconds,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> Option<Confirmed> {
        let association = self.get_mut(id)?;
        association.is_proven = true;
        let (known, main, peer) = (association.recovery, association.source.ip(), association.peer);
        let claim = association.claim.take_if(|claim| claim.entity == main);
        let epoch = claim.as_ref().map(|claim| claim.epoch);
        let Some(RecoveryClaim { recovery: claimed, what, .. }) = claim else {
            return self.confirm_time_stamp(now, id, recovery, None, transactions, out);
        };
        match what {
            ClaimKind::Restart => self.confirm_time_stamp(now, id, recovery, epoch, transactions, out),
            ClaimKind::Setup(new) if recovery == claimed || is_later(recovery, known) => {
                Some(Confirmed::Setup { setup: new, epoch, pending: None })
            }
            ClaimKind::Setup(_) => {
                self.reject_claim(id, transactions, out);
                None
            }
            // The SMF is at both addresses, and has restarted as claimed.
            ClaimKind::Moved(mut new, key) if recovery == claimed && recovery != known => {
                new.contact.addresses.push(main);
                Some(Confirmed::Setup { setup: new, epoch, pending: Some(key) })
            }
            ClaimKind::Moved(_, key) => {
                refuse_moved_setup(now, key, peer, transactions, out);
                self.confirm_time_stamp(now, id, recovery, None, transactions, out)
            }
        }
    }

    /// A later time stamp counts when it is repeated later. One that changes with time is a clock.
    fn confirm_time_stamp(
        &mut self,
        now: Time,
        id: AssociationId,
        recovery: NtpSeconds,
        epoch: Option<u32>,
        transactions: &mut Transactions,
        out: &mut Outputs,
    ) -> Option<Confirmed> {
        let association = self.get_mut(id)?;
        if association.clock.is_broken {
            return None;
        }
        let known = association.recovery;
        if !is_later(recovery, known) {
            association.clock = RecoveryClock::default();
            if epoch.is_some() {
                self.reject_claim(id, transactions, out);
            }
            return None;
        }
        match association.clock.changed {
            None => {
                let epoch = epoch.or(association.clock.epoch_of(recovery)).unwrap_or_else(|| {
                    association.counts.restart();
                    transactions.begin_epoch(&association.addresses)
                });
                association.clock.changed = Some((recovery, now, epoch));
                association.clock.due = Some(now + CONFIRMATION_INTERVAL);
                None
            }
            Some((before, since, epoch)) if before == recovery => {
                if now < since + CONFIRMATION_INTERVAL {
                    return None;
                }
                association.clock = RecoveryClock::default();
                association.recovery = recovery;
                let entity = association.source.ip();
                Some(Confirmed::Restart { entity, before: known, after: recovery, epoch: Some(epoch) })
            }
            Some(_) => {
                self.mark_clock_unstable(id, out);
                None
            }
        }
    }

    fn mark_clock_unstable(&mut self, id: AssociationId, out: &mut Outputs) {
        let Some(association) = self.get_mut(id) else { return };
        association.clock = RecoveryClock { is_broken: true, ..RecoveryClock::default() };
        association.claim = None;
        let node = association.node.clone();
        out.notice(Notice::RecoveryClockUnstable { node });
    }

    /// The claim about an SMF is false.
    fn reject_claim(&self, id: AssociationId, transactions: &mut Transactions, out: &mut Outputs) {
        let Some(association) = self.get(id) else { return };
        let (node, peer) = (association.node.clone(), association.peer);
        transactions.cancel_epoch(&association.addresses);
        out.notice(Notice::RestartNotConfirmed { node, peer });
    }

    /// An SMF does not respond to the check of a claim: a claimed setup takes effect.
    pub(crate) fn recovery_check_unanswered(
        &mut self,
        id: AssociationId,
        entity: IpAddr,
        out: &mut Outputs,
    ) -> Option<Confirmed> {
        let association = self.get_mut(id)?;
        let is_main = association.source.ip() == entity;
        if is_main && let Some((recovery, _, epoch)) = association.clock.changed.take() {
            association.clock.begun = Some((recovery, epoch));
        }
        let claim = association.claim.take_if(|claim| claim.entity == entity)?;
        let epoch = Some(claim.epoch);
        match claim.what {
            ClaimKind::Restart if !is_main => None,
            ClaimKind::Restart if claim.has_moved => {
                self.mark_clock_unstable(id, out);
                None
            }
            ClaimKind::Restart => {
                association.clock.unconfirmed = Some(claim.recovery);
                association.clock.begun = Some((claim.recovery, claim.epoch));
                None
            }
            ClaimKind::Setup(new) => Some(Confirmed::Setup { setup: new, epoch, pending: None }),
            ClaimKind::Moved(new, key) => Some(Confirmed::Setup { setup: new, epoch, pending: Some(key) }),
        }
    }
}

/// Rejects a setup with the Node ID of an SMF that is alive elsewhere.
fn refuse_moved_setup(
    now: Time,
    key: RequestKey,
    peer: SocketAddr,
    transactions: &mut Transactions,
    out: &mut Outputs,
) {
    let reason = RefusalReason::NodeIdInUse(peer.ip());
    transactions.refuse_node(now, key, RequestRefusal::new(Cause::RequestRejected, reason), out);
}

/// A time stamp is later than another, modulo 2^32 seconds.
pub(crate) fn is_later(after: NtpSeconds, before: NtpSeconds) -> bool {
    (1..1 << 31).contains(&after.0.wrapping_sub(before.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_is_modulo_2_to_the_32() {
        assert!(is_later(NtpSeconds(2), NtpSeconds(1)));
        assert!(is_later(NtpSeconds(1), NtpSeconds(u32::MAX)));
        assert!(!is_later(NtpSeconds(1), NtpSeconds(1)));
        assert!(!is_later(NtpSeconds(1), NtpSeconds(2)));
    }
}

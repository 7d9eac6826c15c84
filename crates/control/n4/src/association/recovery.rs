//! Claims about an SMF that another host may have forged: the SMF itself confirms them first.
//!
//! A heartbeat or an Association Setup Request is one datagram, whose source address anyone can forge, and the Recovery
//! Time Stamp of an SMF is no secret. So an SMF with sessions counts as restarted only after it responds with the new
//! time stamp to a Heartbeat Request of the UPF, sent to its known address.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Cause, HeartbeatRequest, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Span, Time};

use super::AssociationId;
use super::table::Contact;
use crate::session::{PendingRequests, PurgeCount, PurgeFilter};
use crate::transaction::Purpose;
use crate::transaction::RequestKey;
use crate::transaction::RequestRefusal;
use crate::{N4, Notice};

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
pub(super) struct PendingSetup {
    pub(super) contact: Contact,
    /// The CP entities whose sessions are retained; empty: all.
    pub(super) retained: Option<Vec<IpAddr>>,
}

/// The Recovery Time Stamps that an SMF sent.
#[derive(Debug, Default)]
pub(crate) struct RecoveryClock {
    /// A later time stamp in a response of the SMF, its time, and the restart epoch that began then.
    changed: Option<(NtpSeconds, Time, u32)>,
    /// A later time stamp in a claim that the SMF did not confirm, since it does not respond to heartbeats.
    unconfirmed: Option<NtpSeconds>,
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

impl N4 {
    /// Handles the Recovery Time Stamp of the PFCP entity at this address in a message whose source may be forged.
    /// `from` is the source.
    pub(crate) fn on_recovery_time_stamp(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        from: SocketAddr,
        recovery: NtpSeconds,
    ) {
        let Some(association) = self.associations.get_mut(id) else { return };
        let is_main = association.source.ip() == entity;
        let known =
            if is_main { Some(association.recovery) } else { association.entities.get(&entity).copied() };
        if known.is_some_and(|known| !is_later(recovery, known)) {
            return;
        }
        if let Some(claim) = &mut association.claim {
            claim.has_moved |= claim.entity == entity && claim.recovery != recovery;
            return;
        }
        let clock = &association.clock;
        if is_main && (clock.is_broken || clock.changed.is_some()) {
            return;
        }
        if is_main && clock.unconfirmed.is_some_and(|before| before != recovery) {
            return self.mark_clock_unstable(id);
        }
        let to = if is_main { association.peer } else { SocketAddr::new(from.ip(), association.peer.port()) };
        self.record_claim(id, entity, recovery, ClaimKind::Restart);
        self.send_recovery_check(now, id, entity, to);
    }

    fn record_claim(&mut self, id: AssociationId, entity: IpAddr, recovery: NtpSeconds, what: ClaimKind) {
        let is_elsewhere = matches!(what, ClaimKind::Moved(..));
        let Some(association) = self.associations.get_mut(id) else { return };
        // Messages received after an earlier claim belong to a later epoch than those before.
        let before = association.claim.take();
        let epoch = match &before {
            Some(claim) if claim.held().is_none() || is_elsewhere => claim.epoch,
            _ => self.transactions.begin_epoch(if is_elsewhere { &[] } else { &association.addresses }),
        };
        let association = self.associations.get_mut(id);
        if let Some(association) = association {
            if before.is_none() {
                association.sessions_since_restart = 0;
            }
            association.claim = Some(RecoveryClaim { recovery, entity, epoch, has_moved: false, what });
        }
        if let Some(key) = before.and_then(|claim| claim.held()) {
            self.transactions.forget(&key);
        }
    }

    fn send_recovery_check(&mut self, now: Time, id: AssociationId, entity: IpAddr, to: SocketAddr) {
        let request = HeartbeatRequest::new(RecoveryTimeStamp(self.recovery));
        let purpose = Purpose::RecoveryCheck { association: id, entity };
        if self.transactions.is_asked(&purpose) {
            return;
        }
        self.transactions.request(now, to, &request.into(), purpose, &mut self.out);
    }

    /// Sends an SMF a Heartbeat Request now.
    fn send_heartbeat_now(&mut self, now: Time, id: AssociationId) {
        if let Some((entity, to)) = self.associations.get(id).map(|it| (it.source.ip(), it.peer)) {
            self.send_recovery_check(now, id, entity, to);
        }
    }

    /// Checks the SMFs again whose time stamps are not confirmed yet.
    pub(crate) fn recheck_clocks(&mut self, now: Time) {
        let is_due = |due: Option<Time>| due.is_some_and(|due| due <= now);
        let due = self.associations.iter().filter(|it| is_due(it.clock.due));
        for id in due.map(|it| it.id).collect::<Vec<_>>() {
            if let Some(association) = self.associations.get_mut(id) {
                association.clock.due = None;
            }
            self.send_heartbeat_now(now, id);
        }
    }

    /// A setup from a host of the SMF that would end sessions: they end after the check that [`N4::check_claim`] starts
    /// when the setup gets its response.
    pub(super) fn defer_setup(&mut self, now: Time, id: AssociationId, new: PendingSetup) {
        let Some(association) = self.associations.get(id) else { return };
        let (entity, recovery) = (association.source.ip(), new.contact.recovery);
        if association.clock.is_broken {
            // A response of the SMF would add no information.
            self.apply_setup(now, id, new, None);
            return;
        }
        self.record_claim(id, entity, recovery, ClaimKind::Setup(Box::new(new)));
    }

    /// Sends a Heartbeat Request to the SMF if there is a claim about it.
    pub(super) fn check_claim(&mut self, now: Time, id: AssociationId) {
        if self.associations.get(id).is_some_and(|it| it.claim.is_some()) {
            self.send_heartbeat_now(now, id);
        }
    }

    /// A setup from a host that does not belong to the SMF: its response is pending until the SMF has been checked at
    /// its previous address.
    pub(super) fn defer_moved_setup(
        &mut self,
        now: Time,
        id: AssociationId,
        key: RequestKey,
        new: PendingSetup,
    ) {
        let Some(association) = self.associations.get(id) else { return };
        let (entity, to, recovery) = (association.source.ip(), association.peer, new.contact.recovery);
        let (is_asked, is_rival) = match association.claim.as_ref().map(|claim| &claim.what) {
            None | Some(ClaimKind::Restart) => (false, false),
            Some(ClaimKind::Setup(_)) => (true, true),
            Some(ClaimKind::Moved(_, other)) => (true, other.from.ip() != key.from.ip()),
        };
        if is_rival {
            return self.refuse_moved_setup(now, key, to);
        }
        self.record_claim(id, entity, recovery, ClaimKind::Moved(Box::new(new), key));
        if !is_asked {
            self.send_recovery_check(now, id, entity, to);
        }
    }

    fn refuse_moved_setup(&mut self, now: Time, key: RequestKey, peer: SocketAddr) {
        let detail = format!("the Node ID is that of the SMF at {}, which is alive", peer.ip());
        self.transactions.refuse_node(
            now,
            key,
            RequestRefusal::new(Cause::RequestRejected, &detail),
            &mut self.out,
        );
    }

    /// An SMF responded to the check of a claim.
    pub(crate) fn recovery_check_answered(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        recovery: NtpSeconds,
    ) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if association.source.ip() == entity {
            return self.on_own_time_stamp(now, id, recovery);
        }
        let claim = association.claim.take_if(|claim| claim.entity == entity);
        match association.entities.get(&entity).copied() {
            Some(known) if !is_later(recovery, known) => self.reject_claim(id, claim),
            Some(known) => {
                association.entities.insert(entity, recovery);
                let epoch = claim.map(|claim| claim.epoch);
                self.restarted(now, id, entity, (known, recovery), epoch);
            }
            None => drop(association.entities.insert(entity, recovery)),
        }
    }

    /// An SMF sent its Recovery Time Stamp in a response to the UPF, which confirms or denies a claim.
    pub(crate) fn on_own_time_stamp(&mut self, now: Time, id: AssociationId, recovery: NtpSeconds) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.is_proven = true;
        let (known, main, peer) = (association.recovery, association.source.ip(), association.peer);
        let claim = association.claim.take_if(|claim| claim.entity == main);
        let epoch = claim.as_ref().map(|claim| claim.epoch);
        let Some(RecoveryClaim { recovery: claimed, what, .. }) = claim else {
            return self.confirm_time_stamp(now, id, recovery, None);
        };
        match what {
            ClaimKind::Restart => self.confirm_time_stamp(now, id, recovery, epoch),
            ClaimKind::Setup(new) if recovery == claimed || is_later(recovery, known) => {
                self.apply_setup(now, id, *new, epoch);
            }
            ClaimKind::Setup(_) => self.reject_claim_of(id),
            // The SMF is at both addresses, and has restarted as claimed.
            ClaimKind::Moved(mut new, key) if recovery == claimed && recovery != known => {
                new.contact.addresses.push(main);
                self.apply_setup(now, id, *new, epoch);
                self.accept_setup(now, key, false);
            }
            ClaimKind::Moved(_, key) => {
                self.refuse_moved_setup(now, key, peer);
                self.confirm_time_stamp(now, id, recovery, None);
            }
        }
    }

    /// A later time stamp counts when it is repeated later. One that changes with time is a clock.
    fn confirm_time_stamp(&mut self, now: Time, id: AssociationId, recovery: NtpSeconds, epoch: Option<u32>) {
        let Some(association) = self.associations.get_mut(id) else { return };
        if association.clock.is_broken {
            return;
        }
        let known = association.recovery;
        if !is_later(recovery, known) {
            association.clock = RecoveryClock::default();
            if epoch.is_some() {
                self.reject_claim_of(id);
            }
            return;
        }
        match association.clock.changed {
            None => {
                let epoch = epoch.unwrap_or_else(|| {
                    association.sessions_since_restart = 0;
                    self.transactions.begin_epoch(&association.addresses)
                });
                association.clock.changed = Some((recovery, now, epoch));
                association.clock.due = Some(now + CONFIRMATION_INTERVAL);
            }
            Some((before, since, epoch)) if before == recovery => {
                if now >= since + CONFIRMATION_INTERVAL {
                    association.clock = RecoveryClock::default();
                    association.recovery = recovery;
                    let main = association.source.ip();
                    self.restarted(now, id, main, (known, recovery), Some(epoch));
                }
            }
            Some(_) => self.mark_clock_unstable(id),
        }
    }

    fn mark_clock_unstable(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.clock = RecoveryClock { is_broken: true, ..RecoveryClock::default() };
        association.claim = None;
        let node = association.node.clone();
        self.out.notice(Notice::RecoveryClockUnstable { node });
    }

    fn reject_claim(&mut self, id: AssociationId, claim: Option<RecoveryClaim>) {
        if claim.is_some() {
            self.reject_claim_of(id);
        }
    }

    /// The claim about an SMF is false.
    fn reject_claim_of(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get(id) else { return };
        let (node, peer) = (association.node.clone(), association.peer);
        self.transactions.cancel_epoch(&association.addresses);
        self.out.notice(Notice::RestartNotConfirmed { node, peer });
    }

    /// An SMF does not respond to the check of a claim: a claimed setup takes effect.
    pub(crate) fn recovery_check_unanswered(&mut self, now: Time, id: AssociationId, entity: IpAddr) {
        let Some(association) = self.associations.get_mut(id) else { return };
        association.clock.changed = None;
        let Some(claim) = association.claim.take_if(|claim| claim.entity == entity) else { return };
        let epoch = Some(claim.epoch);
        match claim.what {
            ClaimKind::Restart if claim.has_moved && association.source.ip() == entity => {
                self.mark_clock_unstable(id);
            }
            ClaimKind::Restart => association.clock.unconfirmed = Some(claim.recovery),
            ClaimKind::Setup(new) => {
                self.apply_setup(now, id, *new, epoch);
            }
            ClaimKind::Moved(new, key) => {
                self.apply_setup(now, id, *new, epoch);
                self.accept_setup(now, key, false);
            }
        }
    }

    /// A setup takes effect: sessions of earlier epochs are removed, unless they are retained. Returns whether some
    /// are.
    pub(super) fn apply_setup(
        &mut self,
        now: Time,
        id: AssociationId,
        new: PendingSetup,
        epoch: Option<u32>,
    ) -> bool {
        let PendingSetup { contact, retained } = new;
        let has_new = self.associations.get(id).is_some_and(|it| it.sessions_since_restart > 0);
        let unwanted = match (epoch.filter(|_| has_new), retained) {
            (Some(epoch), kept) => Some(PurgeFilter::Before { epoch, at: None, retained: kept }),
            (None, None) => Some(PurgeFilter::All),
            (None, Some(kept)) => (!kept.is_empty()).then_some(PurgeFilter::NotAt(kept)),
        };
        self.renew(now, id, contact, epoch, unwanted)
    }

    /// The PFCP entity at this address has restarted and lost its sessions of earlier epochs, which are removed, unless
    /// another SMF of the set may control them (clause 5.22.3).
    fn restarted(
        &mut self,
        now: Time,
        id: AssociationId,
        entity: IpAddr,
        (before, after): (NtpSeconds, NtpSeconds),
        epoch: Option<u32>,
    ) {
        let Some(association) = self.associations.get(id) else { return };
        let (node, is_set) = (association.node.clone(), association.represents_set());
        let is_main = association.source.ip() == entity;
        let are_all = is_main && association.sessions_since_restart == 0;
        self.reports.forget_paths(id, &mut self.transactions);
        if is_main {
            self.hand_over_to_set(id);
        }
        let (at, epoch) = ((!is_main).then_some(entity), epoch.unwrap_or(u32::MAX));
        let forgotten = match are_all {
            true => PurgeFilter::All,
            false => PurgeFilter::Before { epoch, at, retained: None },
        };
        let purged = match is_set {
            true => PurgeCount::Counted(0),
            false => self.purge_sessions(now, vec![id], forgotten, PendingRequests::Forget),
        };
        self.wake_ready_sessions(now, id);
        self.notify_purged(purged, Notice::PeerRestarted { node, before, after, purged: 0 });
        // The SMF also lost an association that the UPF initiated, and waits for a new setup.
        if let Some(peer) = self.targets.of(id).filter(|_| is_main) {
            self.send_association_setup(now, peer);
        }
    }
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

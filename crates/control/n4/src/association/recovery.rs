//! What is said of an SMF that another host may have said: the SMF itself is asked before anything is believed.
//!
//! A heartbeat or an Association Setup Request is one datagram, whose source anybody can forge, and the Recovery Time Stamp of an SMF
//! is no secret. So an SMF with sessions has restarted once it says so in answer to a Heartbeat Request of ours, to the address that
//! it is known by.

use std::net::{IpAddr, SocketAddr};

use causeway_pfcp::{Cause, HeartbeatRequest, RecoveryTimeStamp};
use causeway_types::{NtpSeconds, Seid, Span, Time};

use super::AssociationId;
use super::table::Contact;
use crate::answer::RequestRefusal;
use crate::n4::Purpose;
use crate::session::{PendingRequests, PurgeCount, PurgeFilter};
use crate::transaction::RequestKey;
use crate::{N4, Notice};

/// A later time stamp counts when the SMF says it twice, so far apart: one that tells the time of now says another one.
const CONFIRMATION_INTERVAL: Span = Span::from_secs(2);

/// What is said of an SMF, until it has been asked.
#[derive(Debug)]
pub(crate) struct RecoveryClaim {
    recovery: NtpSeconds,
    /// The address of which it is said.
    entity: IpAddr,
    /// Requests that came later are of the life that it says has begun.
    epoch: u32,
    /// Heartbeats have said different time stamps since.
    has_moved: bool,
    what: ClaimKind,
}

#[derive(Debug)]
enum ClaimKind {
    /// It restarted, in a heartbeat or an establishment.
    Restart,
    /// The same in a setup from a host of the SMF, which has been answered.
    Setup(Box<PendingSetup>),
    /// It is at another host: a setup from there, which waits for its answer.
    Moved(Box<PendingSetup>, RequestKey),
}

/// A setup that is not believed yet.
#[derive(Debug)]
pub(super) struct PendingSetup {
    pub(super) contact: Contact,
    /// The CP entities whose sessions are to be retained; none: of all.
    pub(super) retained: Option<Vec<IpAddr>>,
}

/// What is known of the Recovery Time Stamps that an SMF says.
#[derive(Debug, Default)]
pub(crate) struct RecoveryClock {
    /// A later stamp that it said in answer to a question, when, and the life that began then.
    changed: Option<(NtpSeconds, Time, u32)>,
    /// A later stamp that was said of it, and that it did not confirm since it answers no heartbeat.
    unconfirmed: Option<NtpSeconds>,
    /// It says the time of now instead of that of its start.
    is_broken: bool,
    /// When it is asked again.
    due: Option<Time>,
}

impl RecoveryClock {
    /// The SMF is to be asked at this time.
    pub(super) const fn recheck_at(&mut self, due: Time) {
        self.due = Some(due);
    }

    /// When the SMF is asked again.
    pub(crate) const fn due(&self) -> Option<Time> {
        self.due
    }
}

impl RecoveryClaim {
    /// The request that waits for its answer until the SMF has been asked.
    pub(super) fn held(&self) -> Option<RequestKey> {
        if let ClaimKind::Moved(_, key) = &self.what { Some(*key) } else { None }
    }
}

impl N4 {
    /// A message that needs no answer of the SMF to have been sent by it says when the PFCP entity at this address started. `from` is
    /// where it came from.
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
        // What came since an earlier claim is of a later life than before that.
        let before = association.claim.take();
        let epoch = match &before {
            Some(claim) if claim.held().is_none() || is_elsewhere => claim.epoch,
            _ => self.inbound.begin_epoch(if is_elsewhere { &[] } else { &association.addresses }),
        };
        let association = self.associations.get_mut(id);
        if let Some(association) = association {
            if before.is_none() {
                association.sessions_since_restart = 0;
            }
            association.claim = Some(RecoveryClaim { recovery, entity, epoch, has_moved: false, what });
        }
        if let Some(key) = before.and_then(|claim| claim.held()) {
            self.inbound.forget(&key);
        }
    }

    fn send_recovery_check(&mut self, now: Time, id: AssociationId, entity: IpAddr, to: SocketAddr) {
        let request = HeartbeatRequest::new(RecoveryTimeStamp(self.recovery));
        let policy = self.config.heartbeat.retransmission;
        let purpose = Purpose::RecoveryCheck { association: id, entity };
        if self.outbound.is_asked(&purpose) {
            return;
        }
        self.send_request(now, policy, to, None, &request.into(), purpose);
    }

    /// Asks an SMF for a sign of life now.
    fn send_heartbeat_now(&mut self, now: Time, id: AssociationId) {
        if let Some((entity, to)) = self.associations.get(id).map(|it| (it.source.ip(), it.peer)) {
            self.send_recovery_check(now, id, entity, to);
        }
    }

    /// Asks those again whose time stamps have to settle.
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

    /// A setup from a host of the SMF that would end sessions: they end when the SMF has been asked, by [`N4::check_claim`] when the
    /// setup is answered.
    pub(super) fn defer_setup(&mut self, now: Time, id: AssociationId, new: PendingSetup) {
        let Some(association) = self.associations.get(id) else { return };
        let (entity, recovery) = (association.source.ip(), new.contact.recovery);
        if association.clock.is_broken {
            // No answer of its would say more.
            self.apply_setup(now, id, new, None);
            return;
        }
        self.record_claim(id, entity, recovery, ClaimKind::Setup(Box::new(new)));
    }

    /// Asks the SMF if something is said of it.
    pub(super) fn check_claim(&mut self, now: Time, id: AssociationId) {
        if self.associations.get(id).is_some_and(|it| it.claim.is_some()) {
            self.send_heartbeat_now(now, id);
        }
    }

    /// A setup from another host than those of the SMF: it waits until the SMF has been asked where it was.
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
        self.refuse(now, key, Seid(0), RequestRefusal::new(Cause::RequestRejected, &detail));
    }

    /// An SMF answered the question whether what is said of it is so.
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

    /// An SMF said in an answer to us when it started: what is said of it is so or not.
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
            // It is at both addresses, and has restarted as it says.
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

    /// A later stamp counts when it is said again later. One that moves on is a clock.
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
                    self.inbound.begin_epoch(&association.addresses)
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
        self.notice(Notice::RecoveryClockUnstable { node });
    }

    fn reject_claim(&mut self, id: AssociationId, claim: Option<RecoveryClaim>) {
        if claim.is_some() {
            self.reject_claim_of(id);
        }
    }

    /// What was said of an SMF is not so.
    fn reject_claim_of(&mut self, id: AssociationId) {
        let Some(association) = self.associations.get(id) else { return };
        let (node, peer) = (association.node.clone(), association.peer);
        self.inbound.cancel_epoch(&association.addresses);
        self.notice(Notice::RestartNotConfirmed { node, peer });
    }

    /// An SMF does not answer the question whether what is said of it is so: a setup is believed.
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

    /// A setup takes effect: sessions of earlier lives go, unless they are retained. Returns whether some stay.
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

    /// The PFCP entity at this address has restarted and has forgotten its sessions of earlier lives, which go, unless another SMF of
    /// the set may control them (clause 5.22.3).
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
        self.forget_reported_paths(id);
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
        // It has forgotten an association that we asked for, too, and waits to be asked.
        if let Some(peer) = self.targets.of(id).filter(|_| is_main) {
            self.send_association_setup(now, peer);
        }
    }
}

/// One time stamp is later than another, modulo 2^32 seconds.
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

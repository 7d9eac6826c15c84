//! Reports to the SMF about downlink packets for an idle UE (TS 29.244 clauses 5.2.3.1 and 5.28).

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::{DataStatus, DownlinkData, Event};
use causeway_model::{ApplyAction, Far, Pdr};
use causeway_types::{Direction, FarId, PdrId, Qfi, Seid, Span, Time};

use crate::apply_far::{Matched, qfi_marking};
use crate::buffer::dscp_of;
use crate::engine::SlowPath;
use crate::session::{Session, direction_of};
use crate::timers::Timer;

/// The reports to the SMF since each FAR began to buffer or to drop.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct NotificationState {
    /// NOCP: the QoS flows of a FAR, and the time of the report.
    flows: BTreeMap<(FarId, Option<Qfi>), Time>,
    /// BDPN: the PDRs of a FAR with a reported buffered packet.
    buffered: BTreeSet<(FarId, PdrId)>,
    /// DDPN: the PDRs of a FAR with a reported discarded packet.
    discarded: BTreeSet<(FarId, PdrId)>,
    /// The reports of FARs that are due when the notification delay of the BAR ends, in order.
    due: Vec<(Time, FarId, DownlinkData)>,
}

impl Session {
    /// A FAR has a new action: nothing has been reported for it.
    pub(crate) fn reset_notifications(&mut self, far: FarId) {
        self.reset_buffered_notifications(far);
        self.notified.discarded.retain(|(id, _)| *id != far);
    }

    /// A new buffering period of a FAR begins: nothing has been reported for it.
    pub(crate) fn reset_buffered_notifications(&mut self, far: FarId) {
        self.notified.flows.retain(|(id, _), _| *id != far);
        self.notified.buffered.retain(|(id, _)| *id != far);
        self.notified.due.retain(|(_, id, _)| *id != far);
    }

    /// A PDR was removed.
    pub(crate) fn forget_pdr(&mut self, pdr: PdrId) {
        self.notified.buffered.retain(|(_, id)| *id != pdr);
        self.notified.discarded.retain(|(_, id)| *id != pdr);
        self.notified.due.retain(|(_, _, data)| data.pdr != pdr);
    }

    /// NOCP: the first packet of a QoS flow of the FAR, or one that arrives long after the report.
    fn should_notify(&mut self, now: Time, far: &Far, qfi: Option<Qfi>, again: Option<Span>) -> bool {
        let lately = |notified: &Time| again.is_none_or(|span| now.since(*notified) < span);
        let key = (far.id, qfi);
        if far.action != (ApplyAction::Buffer { notify: true })
            || self.notified.flows.get(&key).is_some_and(lately)
        {
            return false;
        }
        self.notified.flows.insert(key, now);
        true
    }
}

impl SlowPath {
    /// Reports a packet for a FAR that buffers, immediately or after the delay of the BAR.
    pub(crate) fn notify_buffered(
        &mut self,
        now: Time,
        seid: Seid,
        matched: &Matched<'_>,
        far: &Far,
        is_stored: bool,
    ) {
        let Matched { pdr, qfi, packet, .. } = *matched;
        let again = self.limits.notify_again;
        let Some(session) = self.sessions.get_mut(&seid).filter(|_| direction_of(pdr) == Direction::Downlink)
        else {
            return;
        };
        if session.is_extended(far.bar) {
            return;
        }
        let mut data = downlink_data(session, pdr, qfi, dscp_of(packet));
        let notifies = session.should_notify(now, far, data.qfi, again);
        let reports =
            is_stored && far.delivery_status.buffered && session.notified.buffered.insert((far.id, pdr.id));
        data.status = reports.then_some(DataStatus::Buffered);
        if !notifies && !reports {
            return;
        }
        let bar = far.bar.and_then(|bar| session.rules.bars.get(&bar));
        match bar.map_or(Span::ZERO, |bar| bar.notification_delay) {
            Span::ZERO => self.events.push_back(Event::DownlinkData { session: seid, data }),
            delay => {
                session.notified.due.push((now + delay, far.id, data));
                let held = &mut session.timers.notification;
                self.timers.set_one(held, now + delay, seid, Timer::Notification);
            }
        }
    }

    /// Reports the first discarded packet of a PDR, if the SMF requested it (DDPN).
    pub(crate) fn notify_discarded(
        &mut self,
        seid: Seid,
        pdr: &Pdr,
        far: &Far,
        qfi: Option<Qfi>,
        dscp: impl FnOnce() -> Option<u8>,
    ) {
        let Some(session) = self.sessions.get_mut(&seid).filter(|_| direction_of(pdr) == Direction::Downlink)
        else {
            return;
        };
        if far.delivery_status.discarded && session.notified.discarded.insert((far.id, pdr.id)) {
            let status = Some(DataStatus::Discarded);
            let data = DownlinkData { status, ..downlink_data(session, pdr, qfi, dscp()) };
            self.events.push_back(Event::DownlinkData { session: seid, data });
        }
    }

    /// The notification delay of a BAR ends.
    pub(crate) fn send_notification(&mut self, at: Time, seid: Seid) {
        let Some(session) = self.sessions.get_mut(&seid) else { return };
        let (due, later) =
            std::mem::take(&mut session.notified.due).into_iter().partition(|(when, ..)| *when <= at);
        session.notified.due = later;
        session.timers.notification.take_if(|set| *set == at);
        if let Some(next) = session.notified.due.iter().map(|(when, ..)| *when).min() {
            self.timers.set_one(&mut session.timers.notification, next, seid, Timer::Notification);
        }
        let due: Vec<_> = due;
        self.events.extend(due.into_iter().map(|(_, _, data)| Event::DownlinkData { session: seid, data }));
    }
}

fn downlink_data(session: &Session, pdr: &Pdr, qfi: Option<Qfi>, dscp: Option<u8>) -> DownlinkData {
    DownlinkData { pdr: pdr.id, qfi: qfi_marking(session, pdr).or(qfi), dscp, status: None }
}

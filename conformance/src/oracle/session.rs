//! A session: its rules, and what becomes of its packets (TS 29.244 clause 5.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_dataplane::{Applied, DataStatus, Disposition, DownlinkData, DropReason, Event};
use causeway_model::{ApplyAction, Far, Op, Pdr, RuleSet, Urr, Usage};
use causeway_types::{Direction, FTeid, FarId, Seid, Span, Time, UrrId, UsageReportTrigger as Cause};

use super::buffering::{Buffer, Waiting};
use super::detection::{self, Subject};
use super::enforcement;
use super::forwarding;
use super::node::Node;
use super::packet::{Outer, Packet};
use super::usage::Measurement;

/// A session.
#[derive(Clone, Debug)]
pub(crate) struct Session {
    pub(crate) id: Seid,
    pub(crate) rules: RuleSet,
    measurements: BTreeMap<UrrId, Measurement>,
    /// The URRs that each URR is linked to; while a plan is carried out, as before it.
    links: BTreeMap<UrrId, BTreeSet<UrrId>>,
    /// Usage that is to be reported.
    due: Vec<Usage>,
    pub(crate) buffer: Buffer,
    /// Tunnels that were reported as unknown to their peer, by the FAR that sends to them.
    refused: BTreeSet<(FarId, FTeid)>,
    /// The end of the User Plane Inactivity Timer; `None`: it does not run, or was reported.
    inactive_at: Option<Time>,
}

/// A packet that has matched a PDR.
#[derive(Clone, Copy)]
struct Visit<'a> {
    now: Time,
    pdr: &'a Pdr,
    packet: &'a Packet,
}

/// Why a packet is not forwarded.
enum Stop {
    /// For this reason.
    Drop(DropReason),
    /// A quota of this URR is exhausted.
    Quota(UrrId),
}

impl Session {
    /// A session without rules.
    pub(crate) fn new(id: Seid) -> Self {
        Self {
            id,
            rules: RuleSet::default(),
            measurements: BTreeMap::new(),
            links: BTreeMap::new(),
            due: Vec::new(),
            buffer: Buffer::default(),
            refused: BTreeSet::new(),
            inactive_at: None,
        }
    }

    /// The PDR that a packet matches.
    ///
    /// # Errors
    /// The reason why there is none.
    pub(crate) fn detect(&self, node: &Node, now: Time, packet: &Packet) -> Result<&Pdr, DropReason> {
        let user = packet.user().ok_or(DropReason::MalformedIp)?;
        let now = node.clock.at(now);
        let (source, endpoints) = (&packet.source, node.topology.gtpu.as_slice());
        let subject = Subject { source, user: &user, endpoints, applications: &node.applications, now };
        detection::detect(&self.rules, &subject)
    }

    /// A user packet for this session: it is detected, enforced, measured, and forwarded, buffered or dropped.
    pub(crate) fn handle(&mut self, node: &mut Node, now: Time, packet: &Packet) -> Disposition {
        let pdr = match self.detect(node, now, packet) {
            Ok(pdr) => pdr.clone(),
            Err(reason) => return node.drop(reason),
        };
        self.note_activity(now);
        let visit = Visit { now, pdr: &pdr, packet };
        if let Err(reason) = forwarding::check_removal(&pdr, packet.source.outer()) {
            return self.dropped(node, visit, reason);
        }
        let disposition = self.act(node, visit);
        self.report_due(node, now);
        disposition
    }

    /// The UPF comprehends the extension headers of a packet in this tunnel, as far as it must: as the endpoint of the
    /// tunnel, unless every FAR leads on into another one.
    pub(crate) fn comprehends(&self, outer: &Outer) -> bool {
        let mut pdrs = self.rules.pdrs.values().filter(|pdr| outer.is_in(pdr.pdi.tunnel));
        let is_relayed = pdrs.all(|pdr| {
            let forwarding = self.rules.fars.get(&pdr.far).and_then(|far| far.forwarding.as_ref());
            forwarding.is_some_and(|forwarding| forwarding.tunnel().is_some())
        });
        forwarding::comprehends(outer, is_relayed)
    }

    fn note_activity(&mut self, now: Time) {
        self.inactive_at = self.rules.inactivity_timer.map(|timer| now + timer);
    }

    fn act(&mut self, node: &mut Node, visit: Visit<'_>) -> Disposition {
        let Visit { now, pdr, .. } = visit;
        for id in &pdr.urrs {
            if let Some(measurement) = self.measurements.get_mut(id) {
                measurement.note_traffic(pdr, now);
            }
        }
        let Some(far) = self.rules.fars.get(&pdr.far).cloned() else {
            return node.drop(DropReason::NoMatchingPdr);
        };
        let exhausted = self.exhausted(visit, |urr| urr.before_qos);
        // Before QoS enforcement, whatever becomes of the packet.
        self.count(visit, true);
        // What starts is reported before what comes of the packet.
        self.collect_due(now, false);
        // Without a FAR for the quota, nothing is forwarded.
        let stops = |urr: &UrrId| far.action == ApplyAction::Forward || self.quota_far(*urr).is_some();
        if let Some(urr) = exhausted.filter(stops) {
            return self.follow_quota(node, visit, urr);
        }
        self.follow(node, visit, &far, true)
    }

    /// The action of a FAR on a new packet; `needs_quota`: it is not the FAR of an exhausted quota.
    fn follow(&mut self, node: &mut Node, visit: Visit<'_>, far: &Far, needs_quota: bool) -> Disposition {
        if (far.buffers() || (far.action == ApplyAction::Drop && far.duplicate))
            && let Err(reason) = enforcement::check_gates(&self.rules, visit.pdr)
        {
            return self.dropped(node, visit, reason);
        }
        if far.action != ApplyAction::Forward {
            self.copy(node, visit, far);
        }
        match far.action {
            ApplyAction::Drop => {
                self.tell(node, visit, far, DataStatus::Discarded, false);
                self.dropped(node, visit, DropReason::FarDrop)
            }
            ApplyAction::Buffer { .. } => self.wait(node, visit, far),
            ApplyAction::Forward => match self.forward(node, visit, far, needs_quota, true) {
                Ok(()) => Disposition::Forwarded,
                Err(Stop::Drop(reason)) => self.dropped(node, visit, reason),
                Err(Stop::Quota(urr)) => self.follow_quota(node, visit, urr),
            },
        }
    }

    /// The action of the FAR of an exhausted quota; the other URRs measure it. It does not extend a second quota that is
    /// exhausted and has no FAR.
    fn follow_quota(&mut self, node: &mut Node, visit: Visit<'_>, urr: UrrId) -> Disposition {
        match self.quota_far(urr).filter(|_| !self.is_stopped(visit)) {
            Some(far) => self.follow(node, visit, &far, false),
            None => self.dropped(node, visit, DropReason::QuotaExhausted),
        }
    }

    /// An exhausted quota without a FAR stops the packet.
    fn is_stopped(&self, visit: Visit<'_>) -> bool {
        visit.pdr.urrs.iter().filter_map(|id| self.measurements.get(id)).any(|it| {
            let is_final = it.is_exhausted() && it.urr().quota_far.is_none();
            is_final && !detection::is_exempt(visit.packet, &visit.pdr.pdi, &it.urr().exempted_filters)
        })
    }

    fn quota_far(&self, urr: UrrId) -> Option<Far> {
        let id = self.rules.urrs.get(&urr)?.quota_far?;
        self.rules.fars.get(&id).cloned()
    }

    /// The first URR of the PDR that has an exhausted quota, from which the flow of the packet is not exempt. Those for
    /// which `measures` holds are asked whether the packet fits as well.
    fn exhausted(&mut self, visit: Visit<'_>, measures: impl Fn(&Urr) -> bool) -> Option<UrrId> {
        let Visit { now, pdr, packet } = visit;
        let direction = detection::direction(&pdr.pdi);
        let mut found = None;
        for id in &pdr.urrs {
            let Some(measurement) = self.measurements.get_mut(id) else { continue };
            let was_exhausted = measurement.is_exhausted();
            let octets = if measures(measurement.urr()) { packet.len() as u64 } else { 0 };
            let exceeds = measurement.exceeds_quota(direction, octets, now);
            if exceeds && !detection::is_exempt(packet, &pdr.pdi, &measurement.urr().exempted_filters) {
                found = found.or(Some(*id));
                // The first quota that the packet exceeds stops it, and no other is exhausted by it.
                if !was_exhausted {
                    break;
                }
            }
        }
        found
    }

    /// Forwards a packet: gates and rates are asked, then the quotas, then it is measured and sent. `is_new`: rates stop
    /// it. A packet that waited was let go by the SMF: it is only charged.
    fn forward(
        &mut self,
        node: &mut Node,
        visit: Visit<'_>,
        far: &Far,
        needs_quota: bool,
        is_new: bool,
    ) -> Result<(), Stop> {
        let Visit { now, pdr, packet } = visit;
        // A quota may have been exhausted since the packet came.
        if needs_quota
            && !is_new
            && let Some(urr) = self.exhausted(visit, |_| false)
        {
            return Err(Stop::Quota(urr));
        }
        let sent = node.surroundings(&self.rules).forward(pdr, far, packet).map_err(Stop::Drop)?;
        if is_new {
            node.meters.ask(self.id, &self.rules, pdr, now).map_err(Stop::Drop)?;
        } else {
            enforcement::check_gates(&self.rules, pdr).map_err(Stop::Drop)?;
        }
        // The FAR of an exhausted quota does not extend another quota.
        if let Some(urr) = self.exhausted(visit, |urr| !urr.before_qos)
            && (needs_quota
                || self.is_stopped(visit)
                || self.quota_far(urr).is_none_or(|other| other.id != far.id))
        {
            return Err(Stop::Quota(urr));
        }
        node.meters.charge(self.id, &self.rules, pdr, packet.len(), now);
        self.count(visit, false);
        node.transmit(sent);
        if is_new {
            self.copy(node, visit, far);
        }
        node.counters.forwarded += 1;
        Ok(())
    }

    /// Counts the packet in the URRs that measure before, or after, QoS enforcement.
    fn count(&mut self, Visit { now, pdr, packet }: Visit<'_>, before_qos: bool) {
        let direction = detection::direction(&pdr.pdi);
        for id in &pdr.urrs {
            let Some(measurement) = self.measurements.get_mut(id) else { continue };
            if measurement.urr().before_qos == before_qos {
                measurement.count(direction, packet.len() as u64, now);
            }
        }
    }

    /// Sends the copies of a packet, if the FAR duplicates.
    fn copy(&self, node: &mut Node, visit: Visit<'_>, far: &Far) {
        for copy in far.duplicates.iter().filter(|_| far.duplicate) {
            let sent = node.surroundings(&self.rules).copy(visit.pdr, copy, visit.packet);
            node.transmit(sent);
        }
    }

    /// Counts a packet that is dropped; one of the downlink also as dropped traffic of its URRs.
    fn dropped(&mut self, node: &mut Node, visit: Visit<'_>, reason: DropReason) -> Disposition {
        let Visit { now, pdr, packet } = visit;
        if detection::direction(&pdr.pdi) == Direction::Downlink {
            self.report_due(node, now);
            for id in &pdr.urrs {
                if let Some(measurement) = self.measurements.get_mut(id) {
                    measurement.count_dropped(packet.len() as u64, now);
                }
            }
        }
        node.drop(reason)
    }

    /// Puts a packet into the buffer. The SMF is notified of it even if the buffer is full, so that it can page.
    fn wait(&mut self, node: &mut Node, visit: Visit<'_>, far: &Far) -> Disposition {
        let Visit { now, pdr, packet } = visit;
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let most = bar.and_then(|bar| self.buffer.most_of_bar(bar.id, bar.suggested_packets));
        let mut full = None;
        if let Some(of_bar) = self.buffer.is_full(far, most, &self.rules, packet.buffered_len(), &node.limits)
        {
            let oldest = self.buffer.oldest(far.bar.filter(|_| of_bar), &self.rules);
            match oldest.filter(|_| node.limits.drops_oldest) {
                Some(oldest) => {
                    let gone = self.buffer.packets.remove(oldest);
                    self.discard(node, now, &gone, DropReason::BufferFull, true);
                }
                None => full = Some(DropReason::BufferFull),
            }
        }
        if !node.limits.drops_oldest && !node.has_room(packet.buffered_len()) {
            full = full.or(Some(DropReason::BufferMemoryFull));
        }
        if let Some(reason) = full {
            self.tell(node, visit, far, DataStatus::Discarded, true);
            return self.dropped(node, visit, reason);
        }
        self.tell(node, visit, far, DataStatus::Buffered, true);
        node.counters.buffered += 1;
        node.buffered_octets += packet.buffered_len();
        node.buffered_so_far += 1;
        let number = node.buffered_so_far;
        let waiting = Waiting { packet: packet.clone(), pdr: pdr.id, far: far.id, since: now, number };
        self.buffer.packets.push(waiting);
        Disposition::Buffered
    }

    /// Drops a packet that waited. `is_traffic`: it counts as dropped traffic, and is reported if that was asked for.
    pub(crate) fn discard(
        &mut self,
        node: &mut Node,
        now: Time,
        gone: &Waiting,
        reason: DropReason,
        is_traffic: bool,
    ) {
        node.leaves_buffer(&gone.packet);
        let Some(pdr) = self.rules.pdrs.get(&gone.pdr).cloned().filter(|_| is_traffic) else {
            node.drop(reason);
            return;
        };
        let visit = Visit { now, pdr: &pdr, packet: &gone.packet };
        if let Some(far) = self.rules.fars.get(&gone.far).cloned() {
            self.tell(node, visit, &far, DataStatus::Discarded, false);
        }
        self.dropped(node, visit, reason);
    }

    /// Tells the SMF of a downlink packet, if it is to be told. `is_new`: the UE may have to be paged for it.
    fn tell(&mut self, node: &mut Node, visit: Visit<'_>, far: &Far, status: DataStatus, is_new: bool) {
        let Visit { now, pdr, packet } = visit;
        if detection::direction(&pdr.pdi) != Direction::Downlink {
            return;
        }
        let container = packet.source.outer().and_then(|outer| outer.container);
        let qfi = node.surroundings(&self.rules).qfi(pdr).or(container.map(|container| container.qfi()));
        let dscp = packet.user().map(|user| user.flow.tos >> 2);
        let data = DownlinkData { pdr: pdr.id, qfi, dscp, status: Some(status) };
        let Some(data) = self.buffer.note(far, data, is_new, now, node.limits.notify_again) else { return };
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let delay = bar.map_or(Span::ZERO, |bar| bar.notification_delay);
        if status != DataStatus::Discarded && !delay.is_zero() {
            self.buffer.delay(now + delay, far.id, data);
        } else {
            self.report_due(node, now);
            node.events.push_back(Event::DownlinkData { session: self.id, data });
        }
    }

    /// Takes what is due to be reported, with what is linked to it. `is_last`: measurements before QoS enforcement come
    /// after the others.
    fn collect_due(&mut self, now: Time, is_last: bool) {
        let mut ids: Vec<UrrId> = self.measurements.keys().copied().collect();
        let is_later =
            |id: &UrrId| self.measurements.get(id).is_some_and(|it| is_last && it.urr().before_qos);
        ids.sort_by_key(is_later);
        ids.retain(|id| self.measurements.get(id).is_some_and(Measurement::is_due));
        let mut reported: BTreeSet<UrrId> = ids.iter().copied().collect();
        for id in ids {
            let usage = self.measurements.get_mut(&id).map(|it| it.take_due(now)).unwrap_or_default();
            self.due.extend(usage);
            let linked = self.linked(BTreeSet::from([id]), &mut reported, now);
            self.due.extend(linked);
        }
    }

    /// Reports what is due, in one event.
    fn report_due(&mut self, node: &mut Node, now: Time) {
        for measurement in self.measurements.values_mut().filter(|it| it.urr().before_qos) {
            measurement.check();
        }
        self.collect_due(now, true);
        if !self.due.is_empty() {
            let usage = std::mem::take(&mut self.due);
            node.events.push_back(Event::Usage { session: self.id, usage });
        }
    }

    /// The reports of the URRs that are linked to these, directly or not, and that are not reported anyway.
    fn linked(
        &mut self,
        mut causes: BTreeSet<UrrId>,
        reported: &mut BTreeSet<UrrId>,
        now: Time,
    ) -> Vec<Usage> {
        let mut list = Vec::new();
        loop {
            let next = self.measurements.iter().find(|(id, measurement)| {
                let mut links = self.links.get(id).into_iter().flatten();
                !reported.contains(id) && measurement.is_active() && links.any(|link| causes.contains(link))
            });
            let Some(id) = next.map(|(id, _)| *id) else { return list };
            reported.insert(id);
            causes.insert(id);
            if let Some(measurement) = self.measurements.get_mut(&id) {
                list.extend(measurement.take_linked(now));
            }
        }
    }

    /// An Error Indication about this tunnel: reported once for each FAR that sends to it.
    pub(crate) fn refuse(&mut self, node: &mut Node, tunnel: FTeid) {
        let sends = |far: &&Far| {
            let to = far.forwarding.as_ref().and_then(|forwarding| forwarding.tunnel());
            let fits =
                |to: FTeid| to.teid == tunnel.teid && tunnel.addr.iter().any(|ip| to.addr.contains(ip));
            to.is_some_and(fits)
        };
        let fars: Vec<FarId> = self.rules.fars.values().filter(sends).map(|far| far.id).collect();
        let mut is_new = false;
        for far in fars {
            is_new |= self.refused.insert((far, tunnel));
        }
        if is_new {
            node.events.push_back(Event::ErrorIndication { session: self.id, tunnel });
        }
    }

    /// An End Marker was received in this tunnel.
    pub(crate) fn end_marker(&mut self, node: &mut Node, now: Time, outer: &Outer) -> Disposition {
        let is_of = |pdr: &&&Pdr| outer.is_in(pdr.pdi.tunnel);
        let pdrs: Vec<Pdr> =
            detection::by_precedence(&self.rules).iter().filter(is_of).map(|pdr| (*pdr).clone()).collect();
        let urrs: BTreeSet<UrrId> = pdrs.iter().flat_map(|pdr| pdr.urrs.iter().copied()).collect();
        for id in urrs {
            self.measurements.get_mut(&id).into_iter().for_each(Measurement::note_end_marker);
        }
        let mut sent = Vec::new();
        let mut expired = false;
        for pdr in &pdrs {
            let Some(far) = self.rules.fars.get(&pdr.far) else { continue };
            match node.surroundings(&self.rules).relayed_end_marker(pdr, far, outer) {
                Ok(marker) => sent.extend(marker.filter(|marker| !sent.contains(marker))),
                Err(_) => expired = true,
            }
        }
        self.report_due(node, now);
        if expired && sent.is_empty() {
            return node.drop(DropReason::OuterTtlExpired);
        }
        if sent.is_empty() {
            node.counters.consumed += 1;
            return Disposition::Consumed;
        }
        node.transmit(sent);
        node.counters.forwarded += 1;
        Disposition::Forwarded
    }

    /// Carries out the writes of a plan. They were checked before.
    pub(crate) fn apply(&mut self, node: &mut Node, now: Time, ops: &[Op]) -> Applied {
        let mut applied = Applied::default();
        let of_query = |op: &Op| if let Op::QueryUrr(id) = op { Some(*id) } else { None };
        let queries: BTreeSet<UrrId> = ops.iter().filter_map(of_query).collect();
        let of_removal = |op: &Op| if let Op::RemoveUrr(id) = op { Some(*id) } else { None };
        let removed: Vec<UrrId> = ops.iter().filter_map(of_removal).collect();
        // What is removed is reported once, as it was measured before the plan.
        let mut reported: BTreeSet<UrrId> = queries.iter().chain(&removed).copied().collect();
        for id in &queries {
            if let Some(measurement) = self.measurements.get_mut(id) {
                applied.usage.extend(measurement.take(Cause::IMMER, now));
            }
        }
        applied.usage.extend(self.linked(queries, &mut reported, now));
        let mut after = self.rules.clone();
        write_rules(&mut after, ops);
        let lost: Vec<UrrId> = measured(&self.rules).difference(&measured(&after)).copied().collect();
        let lost: Vec<UrrId> = lost.into_iter().filter(|id| !removed.contains(id)).collect();
        for id in removed {
            self.terminate(id, now, &mut reported, &mut applied);
        }
        for op in ops {
            self.write(node, now, op);
        }
        for id in lost {
            self.terminate(id, now, &mut reported, &mut applied);
            if let Some(measurement) = self.measurements.get_mut(&id) {
                let urr = Arc::new(measurement.urr().clone());
                *measurement = Measurement::new(urr, now, node.clock);
            }
        }
        self.links = self.rules.urrs.values().map(|urr| (urr.id, urr.linked.clone())).collect();
        self.report_due(node, now);
        self.drain(node, now);
        applied
    }

    /// The final usage of a URR, and with it that of the URRs that are linked to it.
    fn terminate(&mut self, id: UrrId, now: Time, reported: &mut BTreeSet<UrrId>, applied: &mut Applied) {
        if let Some(measurement) = self.measurements.get_mut(&id) {
            applied.usage.extend(measurement.take(Cause::TERMR, now));
        }
        applied.usage.extend(self.linked(BTreeSet::from([id]), reported, now));
    }

    fn write(&mut self, node: &mut Node, now: Time, op: &Op) {
        match op {
            Op::SetSlice(slice) => self.rules.slice = *slice,
            Op::SetPaging(paging) => self.rules.paging.clone_from(paging),
            Op::DropBuffered => {
                for gone in self.buffer.take_of(|_| true) {
                    self.discard(node, now, &gone, DropReason::BufferDropRequested, false);
                }
            }
            Op::PutUrr(urr) => self.put_urr(node, now, urr),
            Op::RenewUrr { urr, parts } => {
                self.measurements.get_mut(urr).into_iter().for_each(|it| it.renew(parts, now));
            }
            Op::SetInactivityTimer(timer) => {
                self.rules.inactivity_timer = *timer;
                self.note_activity(now);
            }
            Op::PutQer(qer) => {
                node.meters.put(self.id, self.rules.qers.get(&qer.id), qer, now);
            }
            Op::PutFar(far) => self.put_far(far),
            Op::NotifyAgain(far) => self.buffer.begin_again(*far),
            Op::ExtendBuffering(request) => self.buffer.extend(request, now),
            Op::SendEndMarker { far, tunnel } => {
                let marker = self
                    .rules
                    .fars
                    .get(far)
                    .and_then(|far| node.surroundings(&self.rules).end_marker(far, *tunnel));
                node.transmit(marker.into_iter().collect());
            }
            Op::RemovePdr(id) => {
                self.rules.pdrs.remove(id);
                self.buffer.forget(*id);
                for gone in self.buffer.take_of(|waiting| waiting.pdr == *id) {
                    self.discard(node, now, &gone, DropReason::BufferDiscarded, false);
                }
            }
            Op::RemoveFar(id) => self.buffer.begin_again(*id),
            Op::RemoveQer(id) => {
                self.rules.qers.get(id).into_iter().for_each(|qer| node.meters.remove(self.id, qer));
            }
            Op::RemoveUrr(id) => drop(self.measurements.remove(id)),
            Op::RemoveBar(id) => self.buffer.end_extension(*id),
            _ => {}
        }
        write_rules(&mut self.rules, std::slice::from_ref(op));
    }

    fn put_urr(&mut self, node: &Node, now: Time, urr: &Arc<Urr>) {
        match self.measurements.get_mut(&urr.id) {
            Some(measurement) => measurement.replace(Arc::clone(urr), now, node.clock),
            None => {
                drop(self.measurements.insert(urr.id, Measurement::new(Arc::clone(urr), now, node.clock)));
            }
        }
    }

    fn put_far(&mut self, far: &Arc<Far>) {
        let old = self.rules.fars.get(&far.id).cloned();
        if old.as_ref().is_none_or(|old| !old.acts_like(far)) {
            self.buffer.begin_again(far.id);
        }
        if !far.buffers()
            && let Some(bar) = far.bar.or(old.and_then(|old| old.bar))
        {
            self.buffer.end_extension(bar);
        }
        self.refused.retain(|(id, _)| *id != far.id);
    }

    /// Packets that wait follow the rules as they are now, in order.
    fn drain(&mut self, node: &mut Node, now: Time) {
        for waiting in std::mem::take(&mut self.buffer.packets) {
            let pdr = self.rules.pdrs.get(&waiting.pdr).cloned();
            let far = pdr.as_ref().and_then(|pdr| self.rules.fars.get(&pdr.far).cloned());
            let (Some(pdr), Some(far)) = (pdr, far) else {
                self.discard(node, now, &waiting, DropReason::BufferDiscarded, false);
                continue;
            };
            self.drain_one(node, now, &pdr, &far, waiting, true);
            self.report_due(node, now);
        }
    }

    fn drain_one(
        &mut self,
        node: &mut Node,
        now: Time,
        pdr: &Pdr,
        far: &Far,
        waiting: Waiting,
        needs_quota: bool,
    ) {
        match far.action {
            ApplyAction::Buffer { .. } => self.buffer.packets.push(Waiting { far: far.id, ..waiting }),
            ApplyAction::Drop => self.discard(node, now, &waiting, DropReason::BufferDiscarded, false),
            ApplyAction::Forward => {
                let visit = Visit { now, pdr, packet: &waiting.packet };
                match self.forward(node, visit, far, needs_quota, false) {
                    Ok(()) => node.leaves_buffer(&waiting.packet),
                    Err(Stop::Drop(reason)) => self.discard(node, now, &waiting, reason, true),
                    Err(Stop::Quota(urr)) => match self.quota_far(urr).filter(|_| !self.is_stopped(visit)) {
                        Some(far) => self.drain_one(node, now, pdr, &far, waiting, false),
                        None => self.discard(node, now, &waiting, DropReason::QuotaExhausted, true),
                    },
                }
            }
        }
    }

    /// The session ends: the final usage of every URR.
    pub(crate) fn end(&mut self, node: &mut Node, now: Time) -> Applied {
        let mut applied = Applied::default();
        for measurement in self.measurements.values_mut() {
            applied.usage.extend(measurement.take(Cause::TERMR, now));
        }
        for gone in self.buffer.take_of(|_| true) {
            self.discard(node, now, &gone, DropReason::BufferDiscarded, false);
        }
        for qer in self.rules.qers.values() {
            node.meters.remove(self.id, qer);
        }
        applied
    }

    /// Timers that have expired.
    pub(crate) fn advance(&mut self, node: &mut Node, now: Time) {
        let expired = self.buffer.take_expired(now, &self.rules, &node.limits);
        for (gone, reason) in expired {
            self.discard(node, now, &gone, reason, true);
        }
        for data in self.buffer.take_delayed(now) {
            node.events.push_back(Event::DownlinkData { session: self.id, data });
        }
        if self.inactive_at.take_if(|at| *at <= now).is_some() {
            node.events.push_back(Event::Inactivity { session: self.id });
        }
        for id in self.measurements.keys().copied().collect::<Vec<_>>() {
            self.measurements.get_mut(&id).into_iter().for_each(|it| it.advance(now, node.clock));
            self.report_due(node, now);
        }
    }

    /// When [`Session::advance`] is due next.
    pub(crate) fn next_deadline(&self, node: &Node) -> Option<Time> {
        let usage = self.measurements.values().filter_map(|it| it.next_deadline(node.clock)).min();
        let buffer = self.buffer.next_deadline(&self.rules, &node.limits);
        [usage, buffer, self.inactive_at].into_iter().flatten().min()
    }
}

/// The URRs that a PDR refers to.
fn measured(rules: &RuleSet) -> BTreeSet<UrrId> {
    rules.pdrs.values().flat_map(|pdr| pdr.urrs.iter().copied()).collect()
}

/// The rules after these writes.
pub(crate) fn write_rules(rules: &mut RuleSet, ops: &[Op]) {
    for op in ops {
        match op {
            Op::SetPduType(pdu_type) => rules.pdu_type = *pdu_type,
            Op::PutBar(bar) => drop(rules.bars.insert(bar.id, Arc::clone(bar))),
            Op::PutUrr(urr) => drop(rules.urrs.insert(urr.id, Arc::clone(urr))),
            Op::PutQer(qer) => drop(rules.qers.insert(qer.id, Arc::clone(qer))),
            Op::PutFar(far) => drop(rules.fars.insert(far.id, Arc::clone(far))),
            Op::PutPdr(pdr) => drop(rules.pdrs.insert(pdr.id, Arc::clone(pdr))),
            Op::RemovePdr(id) => drop(rules.pdrs.remove(id)),
            Op::RemoveFar(id) => drop(rules.fars.remove(id)),
            Op::RemoveQer(id) => drop(rules.qers.remove(id)),
            Op::RemoveUrr(id) => drop(rules.urrs.remove(id)),
            Op::RemoveBar(id) => drop(rules.bars.remove(id)),
            _ => {}
        }
    }
}

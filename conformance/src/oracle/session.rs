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
        // What starts is reported before what comes of the packet.
        self.collect_due(now);
        // Before QoS enforcement, whatever becomes of the packet.
        self.exceeds(visit, |urr| urr.before_qos, false);
        self.count(visit, true);
        self.follow(node, visit)
    }

    /// The action of the FAR on a new packet: that of the PDR, or of an exhausted quota.
    fn follow(&mut self, node: &mut Node, visit: Visit<'_>) -> Disposition {
        let mut is_asked = false;
        loop {
            let far = match self.decided(visit) {
                Ok(far) => far,
                Err(reason) => return self.dropped(node, visit, reason),
            };
            if (far.buffers() || (far.action == ApplyAction::Drop && far.duplicate))
                && let Err(reason) = enforcement::check_gates(&self.rules, visit.pdr)
            {
                return self.dropped(node, visit, reason);
            }
            if far.action != ApplyAction::Forward {
                self.copy(node, visit, &far);
            }
            match far.action {
                ApplyAction::Drop => {
                    self.tell(node, visit, &far, Some(DataStatus::Discarded), false);
                    return self.dropped(node, visit, DropReason::FarDrop);
                }
                ApplyAction::Buffer { .. } => return self.wait(node, visit, &far),
                ApplyAction::Forward => match self.forward(node, visit, &far, true, is_asked) {
                    Ok(true) => return Disposition::Forwarded,
                    Ok(false) => is_asked = true,
                    Err(reason) => return self.dropped(node, visit, reason),
                },
            }
        }
    }

    /// The FAR that a packet follows: that of the PDR, or of the first of its quotas that are exhausted. A quota without a
    /// FAR ends all forwarding.
    ///
    /// # Errors
    /// [`DropReason::QuotaExhausted`]
    fn decided(&self, visit: Visit<'_>) -> Result<Far, DropReason> {
        let Visit { pdr, packet, .. } = visit;
        let is_spent = |it: &&Measurement| {
            it.is_exhausted() && !detection::is_exempt(packet, &pdr.pdi, &it.urr().exempted_filters)
        };
        let spent = pdr.urrs.iter().filter_map(|id| self.measurements.get(id)).filter(is_spent);
        let fars: Vec<Option<FarId>> = spent.map(|it| it.urr().quota_far).collect();
        let is_stopped = fars.iter().any(Option::is_none);
        let id = fars.first().copied().flatten().filter(|_| !is_stopped).unwrap_or(pdr.far);
        let far = self.rules.fars.get(&id).cloned().ok_or(DropReason::FarDrop)?;
        let forwards = far.action == ApplyAction::Forward;
        if is_stopped && forwards { Err(DropReason::QuotaExhausted) } else { Ok(far) }
    }

    /// A URR for which this holds has less quota left than the packet needs; the quota is exhausted then. `first`: the
    /// packet is not charged to others.
    fn exceeds(&mut self, visit: Visit<'_>, measures: impl Fn(&Urr) -> bool, first: bool) -> bool {
        let Visit { now, pdr, packet } = visit;
        let direction = detection::direction(&pdr.pdi);
        let mut found = false;
        for id in &pdr.urrs {
            let Some(it) = self.measurements.get_mut(id) else { continue };
            if measures(it.urr()) && !it.is_exhausted() {
                found |= it.exceeds_quota(direction, packet.len() as u64, now);
            }
            if found && first {
                break;
            }
        }
        found
    }

    /// Forwards a packet: gates and rates are asked, then the quotas, then it is measured and sent. `is_new`: rates stop
    /// it. A packet that waited was let go by the SMF: it is only charged. `is_asked`: the rates have let it pass.
    /// `false`: it exceeds a quota, and is to be decided anew.
    fn forward(
        &mut self,
        node: &mut Node,
        visit: Visit<'_>,
        far: &Far,
        is_new: bool,
        is_asked: bool,
    ) -> Result<bool, DropReason> {
        let Visit { now, pdr, packet } = visit;
        let sent = node.surroundings(&self.rules).forward(pdr, far, packet)?;
        if is_new && !is_asked {
            node.meters.ask(self.id, &self.rules, pdr, now)?;
        } else {
            enforcement::check_gates(&self.rules, pdr)?;
        }
        if self.exceeds(visit, |urr| !urr.before_qos, true) {
            return Ok(false);
        }
        node.meters.charge(self.id, &self.rules, pdr, packet.len(), now);
        self.count(visit, false);
        node.transmit(sent);
        if is_new {
            self.copy(node, visit, far);
        }
        node.counters.forwarded += 1;
        Ok(true)
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
            match node.surroundings(&self.rules).copy(visit.pdr, copy, visit.packet) {
                Ok(sent) => node.transmit(sent),
                Err(reason) => {
                    node.counters.copies += 1;
                    node.counters.count_drop(reason);
                }
            }
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
            self.report_due(node, now);
        }
        node.drop(reason)
    }

    /// Puts a packet into the buffer. The SMF is notified of it even if the buffer is full, so that it can page.
    fn wait(&mut self, node: &mut Node, visit: Visit<'_>, far: &Far) -> Disposition {
        let Visit { now, pdr, packet } = visit;
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let most = bar.and_then(|bar| self.buffer.most_of_bar(bar.id, bar.suggested_packets));
        let mut full = None;
        let octets = packet.buffered_len();
        let may_fit = octets <= node.limits.buffer_octets_per_session.min(node.limits.buffer_octets);
        // As many of the oldest go as it takes: the SMF may have lowered the limit.
        while let Some(of_bar) = self.buffer.is_full(far, most, &self.rules, octets, &node.limits) {
            let oldest = self.buffer.oldest(far.bar.filter(|_| of_bar), &self.rules);
            let Some(oldest) = oldest.filter(|_| node.limits.drops_oldest && may_fit) else {
                full = Some(DropReason::BufferFull);
                break;
            };
            let gone = self.buffer.packets.remove(oldest);
            self.discard(node, now, &gone, DropReason::BufferFull, true);
        }
        if !node.limits.drops_oldest && !node.has_space(packet.buffered_len()) {
            full = full.or(Some(DropReason::BufferMemoryFull));
        }
        if let Some(reason) = full {
            // The UE is paged for it as for one that waits; that it is discarded is told by itself.
            self.tell(node, visit, far, None, true);
            self.tell(node, visit, far, Some(DataStatus::Discarded), false);
            return self.dropped(node, visit, reason);
        }
        self.tell(node, visit, far, Some(DataStatus::Buffered), true);
        node.counters.buffered += 1;
        node.buffered_octets += packet.buffered_len();
        node.buffered_so_far += 1;
        let number = node.buffered_so_far;
        let waiting = Waiting { packet: packet.clone(), pdr: pdr.id, far: far.id, since: now, number };
        self.buffer.packets.push(waiting);
        Disposition::Buffered
    }

    /// Drops a packet that waited. `tells`: not because the SMF wants it, so it is told if it asked for that.
    pub(crate) fn discard(
        &mut self,
        node: &mut Node,
        now: Time,
        gone: &Waiting,
        reason: DropReason,
        tells: bool,
    ) {
        node.leaves_buffer(&gone.packet);
        let Some(pdr) = self.rules.pdrs.get(&gone.pdr).cloned() else {
            node.drop(reason);
            return;
        };
        let visit = Visit { now, pdr: &pdr, packet: &gone.packet };
        if let Some(far) = self.rules.fars.get(&gone.far).cloned().filter(|_| tells) {
            self.tell(node, visit, &far, Some(DataStatus::Discarded), false);
        }
        self.dropped(node, visit, reason);
    }

    /// Tells the SMF of a downlink packet, if it is to be told: of what became of it, or that it came. `is_new`: the UE may
    /// have to be paged for it.
    fn tell(
        &mut self,
        node: &mut Node,
        visit: Visit<'_>,
        far: &Far,
        status: Option<DataStatus>,
        is_new: bool,
    ) {
        let Visit { now, pdr, packet } = visit;
        if detection::direction(&pdr.pdi) != Direction::Downlink {
            return;
        }
        let container = packet.source.outer().and_then(|outer| outer.container);
        let qfi = node.surroundings(&self.rules).qfi(pdr).or(container.map(|container| container.qfi()));
        let dscp = packet.user().map(|user| user.flow.tos >> 2);
        let data = DownlinkData { pdr: pdr.id, qfi, dscp, status };
        let Some(data) = self.buffer.note(far, data, is_new, now, node.limits.notify_again) else { return };
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let delay = bar.map_or(Span::ZERO, |bar| bar.notification_delay);
        if status != Some(DataStatus::Discarded) && !delay.is_zero() {
            self.buffer.delay(now + delay, far.id, data);
        } else {
            self.report_due(node, now);
            node.events.push_back(Event::DownlinkData { session: self.id, data });
        }
    }

    /// Takes what is due to be reported, with what is linked to it.
    fn collect_due(&mut self, now: Time) {
        let is_due = |(_, measurement): &(&UrrId, &Measurement)| measurement.is_due();
        let ids: Vec<UrrId> = self.measurements.iter().filter(is_due).map(|(id, _)| *id).collect();
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
        self.collect_due(now);
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
        let wall = node.clock.at(now);
        for pdr in pdrs.iter().filter(|pdr| pdr.is_active(wall)) {
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
        let before = self.rules.clone();
        let of_query = |op: &Op| if let Op::QueryUrr(id) = op { Some(*id) } else { None };
        let queries: BTreeSet<UrrId> = ops.iter().filter_map(of_query).collect();
        let of_removal = |op: &Op| if let Op::RemoveUrr(id) = op { Some(*id) } else { None };
        let removed: Vec<UrrId> = ops.iter().filter_map(of_removal).collect();
        let mut after = self.rules.clone();
        write_rules(&mut after, ops);
        let lost: Vec<UrrId> = measured(&self.rules).difference(&measured(&after)).copied().collect();
        let lost: Vec<UrrId> = lost.into_iter().filter(|id| !removed.contains(id)).collect();
        // What is removed is reported once, as it was measured before the plan.
        let mut reported: BTreeSet<UrrId> = queries.iter().chain(&removed).chain(&lost).copied().collect();
        for id in &queries {
            if let Some(measurement) = self.measurements.get_mut(id) {
                applied.usage.extend(measurement.take(Cause::IMMER, now));
            }
        }
        applied.usage.extend(self.linked(queries, &mut reported, now));
        for id in removed {
            self.terminate(id, now, &mut reported, &mut applied);
        }
        for op in ops {
            self.write(node, now, op, &before);
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
        if ops.contains(&Op::DropBuffered) {
            for gone in self.buffer.take_of(|_| true) {
                self.discard(node, now, &gone, DropReason::BufferDropRequested, false);
            }
        }
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

    fn write(&mut self, node: &mut Node, now: Time, op: &Op, before: &RuleSet) {
        match op {
            Op::SetSlice(slice) => self.rules.slice = *slice,
            Op::SetPaging(paging) => self.rules.paging.clone_from(paging),
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
                // It follows what the FAR sent before the plan.
                let far = before.fars.get(far);
                let marker = far.and_then(|far| node.surroundings(&self.rules).end_marker(far, *tunnel));
                node.transmit(marker.into_iter().collect());
            }
            Op::RemovePdr(id) => {
                self.buffer.forget(*id);
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
            match self.rules.pdrs.get(&waiting.pdr).cloned() {
                Some(pdr) => self.drain_one(node, now, &pdr, waiting),
                None => self.discard(node, now, &waiting, DropReason::BufferDiscarded, false),
            }
            self.report_due(node, now);
        }
    }

    fn drain_one(&mut self, node: &mut Node, now: Time, pdr: &Pdr, waiting: Waiting) {
        let mut is_asked = false;
        loop {
            let visit = Visit { now, pdr, packet: &waiting.packet };
            let far = match self.decided(visit) {
                Ok(far) => far,
                Err(reason) => return self.discard(node, now, &waiting, reason, false),
            };
            match far.action {
                ApplyAction::Buffer { .. } => {
                    return self.buffer.packets.push(Waiting { far: far.id, ..waiting });
                }
                ApplyAction::Drop => {
                    return self.discard(node, now, &waiting, DropReason::BufferDiscarded, false);
                }
                ApplyAction::Forward => match self.forward(node, visit, &far, false, is_asked) {
                    Ok(true) => return node.leaves_buffer(&waiting.packet),
                    Ok(false) => is_asked = true,
                    Err(reason) => return self.discard(node, now, &waiting, reason, false),
                },
            }
        }
    }

    /// The session ends: the final usage of every URR.
    pub(crate) fn end(&mut self, node: &mut Node, now: Time) -> Applied {
        let mut applied = Applied::default();
        for measurement in self.measurements.values_mut() {
            applied.usage.extend(measurement.take(Cause::TERMR, now));
        }
        self.rules.pdrs = Default::default();
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

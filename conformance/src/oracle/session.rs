//! A session: its rules, and what becomes of its packets (TS 29.244 clause 5.2).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use causeway_dataplane::{Applied, DataStatus, Disposition, DownlinkData, DropReason, Event};
use causeway_model::{ApplyAction, Far, Op, Pdr, RuleSet, Usage};
use causeway_types::{BarId, Direction, FTeid, FarId, Seid, Span, Time, UrrId, UsageReportTrigger as Cause};

use super::buffering::{Buffer, Waiting};
use super::detection::{self, Subject};
use super::enforcement::{self, Strictness};
use super::forwarding;
use super::node::Node;
use super::packet::Packet;
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

/// What becomes of a packet, beside its disposition.
enum Verdict<'r> {
    /// This FAR applies.
    Far(&'r Far),
    /// A quota is exhausted, and no FAR applies.
    Exhausted,
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
        let subject = Subject { source: &packet.source, user: &user, applications: &node.applications, now };
        detection::detect(&self.rules, &subject)
    }

    /// A user packet for this session: it is detected, enforced, measured, and forwarded, buffered or dropped.
    pub(crate) fn handle(&mut self, node: &mut Node, now: Time, packet: &Packet) -> Disposition {
        let pdr = match self.detect(node, now, packet) {
            Ok(pdr) => pdr.clone(),
            Err(reason) => return node.drop(reason),
        };
        if let Some(outer) = packet.source.outer()
            && forwarding::is_not_comprehended(self.rules.fars.get(&pdr.far), outer)
        {
            node.notify_extensions(outer, now);
            return node.drop(DropReason::UnsupportedExtension);
        }
        self.note_activity(now);
        let disposition = self.act(node, now, &pdr, packet);
        self.report_due(node, now);
        disposition
    }

    fn note_activity(&mut self, now: Time) {
        self.inactive_at = self.rules.inactivity_timer.map(|timer| now + timer);
    }

    fn act(&mut self, node: &mut Node, now: Time, pdr: &Pdr, packet: &Packet) -> Disposition {
        for id in &pdr.urrs {
            if let Some(measurement) = self.measurements.get_mut(id) {
                measurement.note_traffic(pdr, now);
            }
        }
        // What starts is reported before the packet is measured.
        self.collect_due(now);
        let exhausted = self.exhausted(pdr, packet, now);
        let (far, is_counted) = match verdict(&self.rules, pdr, exhausted) {
            Verdict::Far(far) => (far.clone(), exhausted.is_none()),
            Verdict::Exhausted => return self.dropped(node, now, pdr, packet, DropReason::QuotaExhausted),
        };
        match far.action {
            ApplyAction::Drop => {
                if far.duplicate {
                    if let Err(reason) = enforcement::check_gates(&self.rules, pdr) {
                        return self.dropped(node, now, pdr, packet, reason);
                    }
                    self.copy(node, pdr, &far, packet);
                }
                self.tell(node, now, pdr, &far, packet, DataStatus::Discarded, false);
                self.dropped(node, now, pdr, packet, DropReason::FarDrop)
            }
            ApplyAction::Buffer { .. } => {
                if far.duplicate {
                    self.copy(node, pdr, &far, packet);
                }
                self.wait(node, now, pdr, &far, packet)
            }
            ApplyAction::Forward => {
                self.forward(node, now, pdr, &far, packet, is_counted, Strictness::Enforced)
            }
        }
    }

    /// The first URR whose quota the packet would exceed, unless its flow is exempt.
    fn exhausted(&mut self, pdr: &Pdr, packet: &Packet, now: Time) -> Option<UrrId> {
        let direction = detection::direction(&pdr.pdi);
        let mut first = None;
        for id in &pdr.urrs {
            let Some(measurement) = self.measurements.get_mut(id) else { continue };
            let exceeds = measurement.exceeds_quota(direction, packet.len() as u64, now);
            let filters = &measurement.urr().exempted_filters;
            if exceeds && first.is_none() && !detection::is_exempt(packet, &pdr.pdi, filters) {
                first = Some(*id);
            }
        }
        first
    }

    /// Forwards a packet: what would be sent comes first, then QoS enforcement, then the measurement.
    fn forward(
        &mut self,
        node: &mut Node,
        now: Time,
        pdr: &Pdr,
        far: &Far,
        packet: &Packet,
        is_counted: bool,
        strictness: Strictness,
    ) -> Disposition {
        let around = node.surroundings(&self.rules);
        let sent = around.forward(pdr, far, packet);
        let sent = match sent {
            Ok(sent) => sent,
            Err(reason) => return self.dropped(node, now, pdr, packet, reason),
        };
        self.count(pdr, packet, is_counted, true, now);
        let enforced = node.meters.enforce(self.id, &self.rules, pdr, packet.len(), now, strictness);
        if let Err(reason) = enforced {
            return self.dropped(node, now, pdr, packet, reason);
        }
        self.count(pdr, packet, is_counted, false, now);
        node.transmit(sent);
        if far.duplicate && strictness == Strictness::Enforced {
            self.copy(node, pdr, far, packet);
        }
        node.counters.forwarded += 1;
        Disposition::Forwarded
    }

    /// Counts the packet in the URRs that measure before, or after, QoS enforcement.
    fn count(&mut self, pdr: &Pdr, packet: &Packet, is_counted: bool, before_qos: bool, now: Time) {
        let direction = detection::direction(&pdr.pdi);
        for id in &pdr.urrs {
            let Some(measurement) = self.measurements.get_mut(id) else { continue };
            if is_counted && measurement.urr().before_qos == before_qos {
                measurement.count(direction, packet.len() as u64, now);
            }
        }
    }

    fn copy(&self, node: &mut Node, pdr: &Pdr, far: &Far, packet: &Packet) {
        for copy in &far.duplicates {
            let sent = node.surroundings(&self.rules).copy(pdr, copy, packet);
            node.transmit(sent);
        }
    }

    /// Counts a packet that is dropped; one of the downlink also as dropped traffic of its URRs.
    fn dropped(
        &mut self,
        node: &mut Node,
        now: Time,
        pdr: &Pdr,
        packet: &Packet,
        reason: DropReason,
    ) -> Disposition {
        if detection::direction(&pdr.pdi) == Direction::Downlink {
            for id in &pdr.urrs {
                if let Some(measurement) = self.measurements.get_mut(id) {
                    measurement.count_dropped(packet.len() as u64, now);
                }
            }
        }
        node.drop(reason)
    }

    /// Puts a packet into the buffer. The SMF is told of it even if it finds no room, so that it can page.
    fn wait(&mut self, node: &mut Node, now: Time, pdr: &Pdr, far: &Far, packet: &Packet) -> Disposition {
        let fars = self.bars();
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let most = bar.and_then(|bar| self.buffer.most_of_bar(bar.id, bar.suggested_packets));
        let mut full = None;
        if let Some(of_bar) = self.buffer.is_full(far, most, &fars, packet.buffered_len(), &node.limits) {
            let oldest = self.buffer.oldest(far.bar.filter(|_| of_bar), &fars);
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
            self.tell(node, now, pdr, far, packet, DataStatus::Discarded, true);
            return self.dropped(node, now, pdr, packet, reason);
        }
        self.tell(node, now, pdr, far, packet, DataStatus::Buffered, true);
        node.counters.buffered += 1;
        node.buffered_octets += packet.buffered_len();
        let waiting = Waiting { packet: packet.clone(), pdr: pdr.id, far: far.id, since: now };
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
        node.counters.buffered -= 1;
        node.buffered_octets -= gone.packet.buffered_len();
        let (pdr, far) = (self.rules.pdrs.get(&gone.pdr).cloned(), self.rules.fars.get(&gone.far).cloned());
        match (pdr, far) {
            (Some(pdr), Some(far)) if is_traffic => {
                self.tell(node, now, &pdr, &far, &gone.packet, DataStatus::Discarded, false);
                self.dropped(node, now, &pdr, &gone.packet, reason);
            }
            (Some(pdr), _) if is_traffic => drop(self.dropped(node, now, &pdr, &gone.packet, reason)),
            _ => drop(node.drop(reason)),
        }
    }

    /// Tells the SMF of a downlink packet, if it is to be told. `is_new`: the UE may have to be paged for it.
    fn tell(
        &mut self,
        node: &mut Node,
        now: Time,
        pdr: &Pdr,
        far: &Far,
        packet: &Packet,
        status: DataStatus,
        is_new: bool,
    ) {
        if detection::direction(&pdr.pdi) != Direction::Downlink {
            return;
        }
        let container = packet.source.outer().and_then(|outer| outer.container);
        let qfi = node.surroundings(&self.rules).qfi(pdr).or(container.map(|container| container.qfi()));
        let dscp = packet.user().map(|user| user.flow.tos >> 2);
        let data = DownlinkData { pdr: pdr.id, qfi, dscp, status: None };
        let bar = far.bar.and_then(|id| self.rules.bars.get(&id));
        let delay = bar.map_or(Span::ZERO, |bar| bar.notification_delay);
        let told = self.buffer.report(far, data, status, is_new, now, node.limits.notify_again, delay);
        if let Some(data) = told {
            node.events.push_back(Event::DownlinkData { session: self.id, data });
        }
    }

    fn bars(&self) -> BTreeMap<FarId, Option<BarId>> {
        self.rules.fars.values().map(|far| (far.id, far.bar)).collect()
    }

    /// Takes what is due to be reported, with what is linked to it.
    fn collect_due(&mut self, now: Time) {
        let ids: Vec<UrrId> = self.measurements.keys().copied().collect();
        for id in ids {
            let Some(measurement) = self.measurements.get_mut(&id) else { continue };
            let usage = measurement.take_due(now);
            if !usage.is_empty() {
                self.due.extend(usage);
                let linked = self.linked(&BTreeSet::from([id]), now);
                self.due.extend(linked);
            }
        }
    }

    /// Reports what is due, in one event.
    fn report_due(&mut self, node: &mut Node, now: Time) {
        self.collect_due(now);
        if !self.due.is_empty() {
            let usage = std::mem::take(&mut self.due);
            node.events.push_back(Event::Usage { session: self.id, usage });
        }
    }

    /// The reports of the URRs that are linked to these, directly or not.
    fn linked(&mut self, causes: &BTreeSet<UrrId>, now: Time) -> Vec<Usage> {
        let (mut reported, mut list) = (causes.clone(), Vec::new());
        loop {
            let next = self.measurements.iter().find(|(id, measurement)| {
                let links = self.links.get(id).into_iter().flatten();
                !reported.contains(id)
                    && measurement.is_active()
                    && links.clone().any(|link| reported.contains(link))
            });
            let Some(id) = next.map(|(id, _)| *id) else { return list };
            reported.insert(id);
            if let Some(measurement) = self.measurements.get_mut(&id) {
                list.extend(measurement.take(Cause::LIUSA, now));
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
    pub(crate) fn end_marker(
        &mut self,
        node: &mut Node,
        now: Time,
        outer: &super::packet::Outer,
    ) -> Disposition {
        let is_of = |pdr: &&&Pdr| {
            pdr.pdi
                .tunnel
                .is_some_and(|tunnel| tunnel.teid == outer.teid && tunnel.addr.contains(outer.local))
        };
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
        let measured_before = self.measured();
        let queries: BTreeSet<UrrId> =
            ops.iter().filter_map(|op| if let Op::QueryUrr(id) = op { Some(*id) } else { None }).collect();
        let mut queried = Vec::new();
        for id in &queries {
            if let Some(measurement) = self.measurements.get_mut(id) {
                queried.extend(measurement.take(Cause::IMMER, now));
            }
        }
        queried.extend(self.linked(&queries, now).into_iter().filter(|_| !queries.is_empty()));
        applied.usage.extend(queried);
        for op in ops {
            self.write(node, now, op, &mut applied);
        }
        for id in measured_before.difference(&self.measured()) {
            if let Some(measurement) = self.measurements.get_mut(id) {
                applied.usage.extend(measurement.take(Cause::TERMR, now));
                let urr = Arc::new(measurement.urr().clone());
                *measurement = Measurement::new(urr, now, node.clock);
            }
        }
        self.links = self.rules.urrs.values().map(|urr| (urr.id, urr.linked.clone())).collect();
        self.report_due(node, now);
        self.drain(node, now);
        applied
    }

    /// The URRs that a PDR refers to.
    fn measured(&self) -> BTreeSet<UrrId> {
        let ids = self.rules.pdrs.values().flat_map(|pdr| pdr.urrs.iter().copied());
        ids.filter(|id| self.rules.urrs.contains_key(id)).collect()
    }

    fn write(&mut self, node: &mut Node, now: Time, op: &Op, applied: &mut Applied) {
        match op {
            Op::SetPduType(pdu_type) => self.rules.pdu_type = *pdu_type,
            Op::SetSlice(slice) => self.rules.slice = *slice,
            Op::SetPaging(paging) => self.rules.paging.clone_from(paging),
            Op::DropBuffered => {
                for gone in self.buffer.take_of(|_| true) {
                    self.discard(node, now, &gone, DropReason::BufferDropRequested, true);
                }
            }
            Op::PutBar(bar) => drop(self.rules.bars.insert(bar.id, Arc::clone(bar))),
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
                self.rules.qers.insert(qer.id, Arc::clone(qer));
            }
            Op::PutFar(far) => self.put_far(far),
            Op::NotifyAgain(far) => self.buffer.begin_again(*far),
            Op::ExtendBuffering(request) => self.buffer.extend(request, now),
            Op::PutPdr(pdr) => drop(self.rules.pdrs.insert(pdr.id, Arc::clone(pdr))),
            Op::SendEndMarker { far, tunnel } => {
                let marker = self
                    .rules
                    .fars
                    .get(far)
                    .and_then(|far| node.surroundings(&self.rules).end_marker(far, *tunnel));
                node.transmit(marker.into_iter().collect());
            }
            Op::QueryUrr(_) | Op::QueryPacketRate(_) | Op::TakeMacs(_) => {}
            Op::RemovePdr(id) => {
                self.rules.pdrs.remove(id);
                for gone in self.buffer.take_of(|waiting| waiting.pdr == *id) {
                    self.discard(node, now, &gone, DropReason::BufferDiscarded, false);
                }
            }
            Op::RemoveFar(id) => drop(self.rules.fars.remove(id)),
            Op::RemoveQer(id) => {
                if let Some(qer) = self.rules.qers.remove(id) {
                    node.meters.remove(self.id, &qer);
                }
            }
            Op::RemoveUrr(id) => {
                if let Some(mut gone) = self.measurements.remove(id) {
                    applied.usage.extend(gone.take(Cause::TERMR, now));
                    applied.usage.extend(self.linked(&BTreeSet::from([*id]), now));
                }
                self.rules.urrs.remove(id);
            }
            Op::RemoveBar(id) => {
                self.rules.bars.remove(id);
                self.buffer.end_extension(*id);
            }
        }
    }

    fn put_urr(&mut self, node: &Node, now: Time, urr: &Arc<causeway_model::Urr>) {
        self.rules.urrs.insert(urr.id, Arc::clone(urr));
        match self.measurements.get_mut(&urr.id) {
            Some(measurement) => measurement.replace(Arc::clone(urr), now, node.clock),
            None => {
                drop(self.measurements.insert(urr.id, Measurement::new(Arc::clone(urr), now, node.clock)));
            }
        }
    }

    fn put_far(&mut self, far: &Arc<Far>) {
        let old = self.rules.fars.insert(far.id, Arc::clone(far));
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
            let Some(pdr) = self.rules.pdrs.get(&waiting.pdr).cloned() else {
                self.discard(node, now, &waiting, DropReason::BufferDiscarded, false);
                continue;
            };
            let exhausted = self.exhausted(&pdr, &waiting.packet, now);
            let far = match verdict(&self.rules, &pdr, exhausted) {
                Verdict::Far(far) => far.clone(),
                Verdict::Exhausted => {
                    self.discard(node, now, &waiting, DropReason::QuotaExhausted, true);
                    continue;
                }
            };
            match far.action {
                ApplyAction::Buffer { .. } => self.buffer.packets.push(Waiting { far: far.id, ..waiting }),
                ApplyAction::Drop => {
                    self.discard(node, now, &waiting, DropReason::BufferDiscarded, false);
                }
                ApplyAction::Forward => {
                    node.counters.buffered -= 1;
                    node.buffered_octets -= waiting.packet.buffered_len();
                    let is_counted = exhausted.is_none();
                    self.forward(node, now, &pdr, &far, &waiting.packet, is_counted, Strictness::Charged);
                    self.report_due(node, now);
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
        let fars = self.bars();
        let expired = self.buffer.take_expired(now, &fars, &node.limits);
        for (gone, reason) in expired {
            self.discard(node, now, &gone, reason, true);
        }
        for data in self.buffer.take_delayed(now) {
            node.events.push_back(Event::DownlinkData { session: self.id, data });
        }
        for id in self.measurements.keys().copied().collect::<Vec<_>>() {
            self.measurements.get_mut(&id).into_iter().for_each(|it| it.advance(now, node.clock));
            self.report_due(node, now);
        }
        if self.inactive_at.take_if(|at| *at <= now).is_some() {
            node.events.push_back(Event::Inactivity { session: self.id });
        }
    }

    /// When [`Session::advance`] is due next.
    pub(crate) fn next_deadline(&self, node: &Node) -> Option<Time> {
        let usage = self.measurements.values().filter_map(|it| it.next_deadline(node.clock)).min();
        let buffer = self.buffer.next_deadline(&self.bars(), &node.limits);
        [usage, buffer, self.inactive_at].into_iter().flatten().min()
    }
}

/// The FAR of the PDR, or that of the exhausted quota.
fn verdict<'r>(rules: &'r RuleSet, pdr: &Pdr, exhausted: Option<UrrId>) -> Verdict<'r> {
    let far = match exhausted.and_then(|id| rules.urrs.get(&id)) {
        Some(urr) => urr.quota_far.and_then(|id| rules.fars.get(&id)),
        None => rules.fars.get(&pdr.far),
    };
    far.map_or(Verdict::Exhausted, Verdict::Far)
}

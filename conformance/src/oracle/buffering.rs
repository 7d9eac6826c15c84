//! Buffering: packets that wait, and what the SMF is told of them (TS 29.244 clauses 5.2.3, 5.2.4 and 5.28).

use std::collections::{BTreeMap, BTreeSet};

use causeway_dataplane::{DataStatus, DownlinkData, DropReason};
use causeway_model::{ApplyAction, BufferingDuration, ExtendedBuffering, Far, RuleSet};
use causeway_types::{BarId, FarId, PdrId, Qfi, Span, Time};

use super::limits::Limits;
use super::packet::Packet;

/// A packet that waits.
#[derive(Clone, Debug)]
pub(crate) struct Waiting {
    pub(crate) packet: Packet,
    pub(crate) pdr: PdrId,
    pub(crate) far: FarId,
    /// When it was received.
    pub(crate) since: Time,
    /// Its number among all packets that waited.
    pub(crate) number: u64,
}

/// The packets that wait in one session, and what was reported of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Buffer {
    /// The oldest first.
    pub(crate) packets: Vec<Waiting>,
    /// The QoS flows of each FAR whose first packet was reported, or is to be reported, and when.
    notified: BTreeMap<(FarId, Option<Qfi>), Time>,
    /// The PDRs whose first buffered or discarded packet was reported.
    told: BTreeSet<(FarId, PdrId, bool)>,
    /// Reports that a BAR delays.
    delayed: Vec<(Time, FarId, DownlinkData)>,
    /// Extended buffering of BARs: its end, and the number of packets.
    extended: BTreeMap<BarId, (Option<Time>, Option<u16>)>,
}

impl Buffer {
    /// Octets that wait.
    pub(crate) fn octets(&self) -> usize {
        self.packets.iter().map(|waiting| waiting.packet.buffered_len()).sum()
    }

    /// The packets of all FARs of a BAR.
    fn of_bar(&self, bar: BarId, rules: &RuleSet) -> usize {
        self.packets.iter().filter(|waiting| bar_of(rules, waiting.far) == Some(bar)).count()
    }

    /// The number of packets that a BAR allows now.
    pub(crate) fn most_of_bar(&self, bar: BarId, suggested: Option<u16>) -> Option<usize> {
        let extended = self.extended.get(&bar).and_then(|(_, packets)| *packets);
        extended.or(suggested).map(usize::from)
    }

    /// The limits of the session leave no space for one more packet of this FAR: `Some(true)` if its BAR is
    /// full.
    pub(crate) fn is_full(
        &self,
        far: &Far,
        most: Option<usize>,
        rules: &RuleSet,
        octets: usize,
        limits: &Limits,
    ) -> Option<bool> {
        if let (Some(bar), Some(most)) = (far.bar, most)
            && self.of_bar(bar, rules) >= most
        {
            return Some(true);
        }
        let is_full = self.packets.len() >= limits.buffer_packets_per_session
            || self.octets() + octets > limits.buffer_octets_per_session;
        is_full.then_some(false)
    }

    /// The oldest packet; with `bar`, of its FARs alone.
    pub(crate) fn oldest(&self, bar: Option<BarId>, rules: &RuleSet) -> Option<usize> {
        let is_of = |waiting: &Waiting| bar.is_none_or(|bar| bar_of(rules, waiting.far) == Some(bar));
        self.packets.iter().position(is_of)
    }

    /// The report of a packet, if there is to be one: the first of its QoS flow, if it is new, and the first of its PDR
    /// with this status. `again`: after how long a flow is reported again.
    pub(crate) fn note(
        &mut self,
        far: &Far,
        data: DownlinkData,
        is_new: bool,
        now: Time,
        again: Option<Span>,
    ) -> Option<DownlinkData> {
        let is_extended = far.bar.is_some_and(|bar| self.extended.contains_key(&bar));
        let wanted = far.delivery_status;
        let is_discarded = data.status == Some(DataStatus::Discarded);
        let wants_status = match data.status {
            Some(DataStatus::Discarded) => wanted.discarded,
            Some(DataStatus::Buffered) => wanted.buffered && !is_extended,
            None => false,
        };
        let tells = wants_status && self.told.insert((far.id, data.pdr, is_discarded));
        let notifies = matches!(far.action, ApplyAction::Buffer { notify: true });
        let key = (far.id, data.qfi);
        let is_first = self.notified.get(&key).is_none_or(|at| again.is_some_and(|again| *at + again <= now));
        let pages = notifies && is_new && !is_extended && is_first;
        if pages {
            self.notified.insert(key, now);
        }
        (pages || tells).then_some(DownlinkData { status: data.status.filter(|_| tells), ..data })
    }

    /// Keeps a report until then.
    pub(crate) fn delay(&mut self, at: Time, far: FarId, data: DownlinkData) {
        self.delayed.push((at, far, data));
    }

    /// A new buffering period of a FAR begins.
    pub(crate) fn begin_again(&mut self, far: FarId) {
        self.notified.retain(|(id, _), _| *id != far);
        self.told.retain(|(id, ..)| *id != far);
        self.delayed.retain(|(_, id, _)| *id != far);
    }

    /// A PDR is removed: nothing more is to be reported of it.
    pub(crate) fn forget(&mut self, pdr: PdrId) {
        self.told.retain(|(_, id, _)| *id != pdr);
        self.delayed.retain(|(_, _, data)| data.pdr != pdr);
    }

    /// Extended buffering starts, or stops.
    pub(crate) fn extend(&mut self, request: &ExtendedBuffering, now: Time) {
        let held = self.extended.get(&request.bar).copied();
        let end = match request.duration {
            Some(BufferingDuration::Stopped) => {
                self.extended.remove(&request.bar);
                return;
            }
            Some(BufferingDuration::For(span)) => Some(now + span),
            Some(BufferingDuration::Unlimited) => None,
            None => match held {
                Some((end, _)) => end,
                None => return,
            },
        };
        let packets = request.packets.or(held.and_then(|(_, packets)| packets));
        self.extended.insert(request.bar, (end, packets));
    }

    /// Extended buffering of a BAR ends.
    pub(crate) fn end_extension(&mut self, bar: BarId) {
        self.extended.remove(&bar);
    }

    /// Reports whose delay has passed.
    pub(crate) fn take_delayed(&mut self, now: Time) -> Vec<DownlinkData> {
        let (due, later) = std::mem::take(&mut self.delayed).into_iter().partition(|(at, ..)| *at <= now);
        self.delayed = later;
        let due: Vec<(Time, FarId, DownlinkData)> = due;
        due.into_iter().map(|(_, _, data)| data).collect()
    }

    /// Packets that have waited for too long, with the reason.
    pub(crate) fn take_expired(
        &mut self,
        now: Time,
        rules: &RuleSet,
        limits: &Limits,
    ) -> Vec<(Waiting, DropReason)> {
        let mut gone = Vec::new();
        let is_over = |end: &Option<Time>| end.is_some_and(|end| end <= now);
        let ended = self.extended.iter().filter(|(_, (end, _))| is_over(end)).map(|(bar, _)| *bar);
        for bar in ended.collect::<Vec<BarId>>() {
            self.extended.remove(&bar);
            // A FAR that drops has no buffering period that ends.
            for far in rules.fars.values().filter(|far| far.bar == Some(bar) && far.buffers()) {
                self.begin_again(far.id);
                gone.extend(self.take_of(|waiting| waiting.far == far.id));
            }
        }
        if let Some(most) = limits.buffer_time {
            let extended: Vec<BarId> = self.extended.keys().copied().collect();
            let is_extended =
                |waiting: &Waiting| bar_of(rules, waiting.far).is_some_and(|bar| extended.contains(&bar));
            gone.extend(self.take_of(|waiting| waiting.since + most <= now && !is_extended(waiting)));
        }
        gone.into_iter().map(|waiting| (waiting, DropReason::BufferExpired)).collect()
    }

    /// Takes the packets for which this holds, the oldest first.
    pub(crate) fn take_of(&mut self, is_taken: impl Fn(&Waiting) -> bool) -> Vec<Waiting> {
        let (taken, kept) = std::mem::take(&mut self.packets).into_iter().partition(|it| is_taken(it));
        self.packets = kept;
        taken
    }

    /// When time changes something next.
    pub(crate) fn next_deadline(&self, rules: &RuleSet, limits: &Limits) -> Option<Time> {
        let delayed = self.delayed.iter().map(|(at, ..)| *at);
        let ends = self.extended.values().filter_map(|(end, _)| *end);
        let is_limited = |waiting: &&Waiting| {
            !bar_of(rules, waiting.far).is_some_and(|bar| self.extended.contains_key(&bar))
        };
        let oldest = self.packets.iter().filter(is_limited).map(|waiting| waiting.since).min();
        let expires = oldest.zip(limits.buffer_time).map(|(since, most)| since + most);
        delayed.chain(ends).chain(expires).min()
    }
}

fn bar_of(rules: &RuleSet, far: FarId) -> Option<BarId> {
    rules.fars.get(&far)?.bar
}

//! Heavy hitters: the flows that are heavy now, with the rates that their counters say.
//!
//! A flow is the packets of a session in a direction. It begins with a copy by which the switch says that one of its rules has reached the
//! threshold. From then on its counters are read once in a [`WINDOW`], and it ends when they have counted less than half of the threshold since the
//! last reading: the switch does not say that.
//!
//! A copy may be lost, and the switch does not repeat it while the flow stays heavy. So the counters of all sessions are read in turn, of up to
//! [`MOST_SWEPT`] in each window, and a flow with the threshold is listed as if a copy had come.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use causeway_dataplane::{
    Event, HeavyFlow, HeavyHitter, HeavyHitterCounts, HeavyHitterList, HeavyHitterSettings, Threshold,
};
use causeway_traffic::EventBudget;
use causeway_traffic::heavy::MAX_LISTED;
use causeway_types::{Direction, IpNet, Seid, Span, Time};

use super::sessions::Sessions;
use crate::Count;
use crate::heavy_hitters::WINDOW;

/// The most sessions whose counters are read in a window in search of heavy ones.
const MOST_SWEPT: usize = 500;

/// A session's packets in a direction.
pub(super) type FlowId = (Seid, Direction);

/// What is forwarded in a second.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Rate {
    /// Bits of IP packets.
    bits: u64,
    packets: u64,
}

/// The rate of what was counted in a time.
fn rate(count: Count, time: Span) -> Rate {
    let nanos = time.as_nanos().max(1);
    let in_second =
        |amount: u64| u64::try_from(u128::from(amount) * 1_000_000_000 / nanos).unwrap_or(u64::MAX);
    Rate { bits: in_second(count.octets.saturating_mul(8)), packets: in_second(count.packets) }
}

/// A flow whose counters are read.
#[derive(Debug, Default)]
struct Watched {
    /// Since when its packets count; `None`: its counters have not been read yet.
    from: Option<Time>,
    counted: Count,
    is_being_read: bool,
    /// `None`: it is not known to be heavy.
    listed: Option<HeavyHitter>,
}

/// The flows that are heavy, and those that may be. At most [`MAX_LISTED`] of the former and two of each swept session.
#[derive(Debug)]
pub(super) struct HeavyFlows {
    are_there: bool,
    settings: Option<HeavyHitterSettings>,
    /// Packets in a second.
    threshold: u64,
    watched: BTreeMap<FlowId, Watched>,
    /// When the counters of a flow are read next.
    due: BTreeSet<(Time, FlowId)>,
    listed: usize,
    /// When the next sessions are swept at the earliest, and the last one of before.
    next_sweep: Time,
    last_swept: Option<Seid>,
    most_swept: usize,
    changes: VecDeque<Event>,
    budget: EventBudget,
    counts: HeavyHitterCounts,
    found_by_reading: u64,
}

impl HeavyFlows {
    /// `are_there`: the program finds heavy hitters.
    pub(super) fn new(are_there: bool) -> Self {
        Self {
            are_there,
            settings: None,
            threshold: 0,
            watched: BTreeMap::new(),
            due: BTreeSet::new(),
            listed: 0,
            next_sweep: Time::default(),
            last_swept: None,
            most_swept: MOST_SWEPT,
            changes: VecDeque::new(),
            budget: EventBudget::default(),
            counts: HeavyHitterCounts::default(),
            found_by_reading: 0,
        }
    }

    /// The program finds heavy hitters.
    pub(super) const fn are_there(&self) -> bool {
        self.are_there
    }

    /// How they are looked for.
    pub(super) const fn settings(&self) -> Option<&HeavyHitterSettings> {
        self.settings.as_ref()
    }

    /// Heavy hitters whose copy was lost.
    pub(super) const fn found_by_reading(&self) -> u64 {
        self.found_by_reading
    }

    /// Looks for heavy hitters in this way from now on: flows that were heavy are over.
    pub(super) fn look_for(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        let former = std::mem::take(&mut self.watched);
        self.due.clear();
        self.listed = 0;
        for hitter in former.into_values().filter_map(|watched| watched.listed) {
            self.say(now, hitter, true);
        }
        self.settings = settings.copied();
        self.threshold = match settings.map(|settings| settings.threshold) {
            Some(Threshold::PacketsPerSecond(packets)) => packets,
            _ => 0,
        };
        (self.next_sweep, self.last_swept) = (now, None);
        (self.counts, self.found_by_reading) = (HeavyHitterCounts::default(), 0);
    }

    /// The switch has said that a flow of this UE is heavy, with so many packets in a window. Its octets are known with the next reading.
    pub(super) fn reported(&mut self, now: Time, id: FlowId, packets: u16, ue: IpNet) {
        let is_listed = |watched: &Watched| watched.listed.is_some();
        if self.settings.is_none() || self.watched.get(&id).is_some_and(is_listed) {
            return;
        }
        let rate = rate(Count { packets: packets.into(), octets: 0 }, WINDOW);
        self.list(now, id, rate, ue);
    }

    /// A reading has shown that a flow of this UE is heavy, with this rate.
    pub(super) fn found(&mut self, now: Time, id: FlowId, rate: Rate, ue: IpNet) {
        self.found_by_reading += 1;
        self.list(now, id, rate, ue);
    }

    fn list(&mut self, now: Time, id: FlowId, rate: Rate, ue: IpNet) {
        self.counts.detector.reports += 1;
        if self.listed >= MAX_LISTED {
            self.counts.unlisted += 1;
            return;
        }
        let flow = HeavyFlow { session: Some(id.0), direction: id.1, ue, transport: None };
        let Rate { bits, packets } = rate;
        let hitter = HeavyHitter { flow, since: now, bits_per_second: bits, packets_per_second: packets };
        self.watch(now, id);
        if let Some(watched) = self.watched.get_mut(&id) {
            watched.listed = Some(hitter.clone());
            self.listed += 1;
        }
        self.say(now, hitter, false);
    }

    /// The counters of a flow are read from now on.
    fn watch(&mut self, now: Time, id: FlowId) {
        if let Entry::Vacant(vacant) = self.watched.entry(id) {
            vacant.insert(Watched::default());
            self.due.insert((now, id));
        }
    }

    /// Packets of a flow were counted after QoS enforcement.
    pub(super) fn count(&mut self, id: FlowId, count: Count) {
        if let Some(watched) = self.watched.get_mut(&id) {
            watched.counted += count;
        }
    }

    /// The next flow whose counters are to be read now.
    pub(super) fn next_due(&mut self, now: Time) -> Option<FlowId> {
        let (at, id) = self.due.first().copied().filter(|(at, _)| *at <= now)?;
        self.due.remove(&(at, id));
        let watched = self.watched.get_mut(&id)?;
        watched.is_being_read = true;
        Some(id)
    }

    /// The counters of a flow were read. Returns its rate if it is heavy and not listed.
    pub(super) fn read(&mut self, now: Time, id: FlowId) -> Option<Rate> {
        let watched = self.watched.get_mut(&id).filter(|watched| watched.is_being_read)?;
        watched.is_being_read = false;
        let counted = std::mem::take(&mut watched.counted);
        // What was counted before the first reading may be old.
        let passed = watched.from.replace(now).map(|from| now.since(from));
        let Some(passed) = passed else {
            self.due.insert((now + WINDOW, id));
            return None;
        };
        let rate = rate(counted, passed);
        match &mut watched.listed {
            Some(hitter) => {
                (hitter.bits_per_second, hitter.packets_per_second) = (rate.bits, rate.packets);
                if rate.packets >= self.threshold.div_ceil(2) {
                    self.due.insert((now + WINDOW, id));
                } else {
                    let hitter = hitter.clone();
                    self.watched.remove(&id);
                    self.listed -= 1;
                    self.say(now, hitter, true);
                }
                None
            }
            None => {
                self.watched.remove(&id);
                (rate.packets >= self.threshold).then_some(rate)
            }
        }
    }

    /// When there is something to do without an event, on a switch that has rules or none.
    pub(super) fn next_deadline(&self, has_rules: bool) -> Option<Time> {
        let sweep = (has_rules && self.may_sweep()).then_some(self.next_sweep);
        self.due.first().map(|(at, _)| *at).into_iter().chain(sweep).min()
    }

    fn may_sweep(&self) -> bool {
        self.settings.is_some() && self.watched.len() == self.listed
    }

    /// Watches the next sessions, if that is due: after those of before.
    pub(super) fn sweep(&mut self, now: Time, sessions: &Sessions) -> bool {
        if !self.may_sweep() || self.next_sweep > now {
            return false;
        }
        self.next_sweep = now + WINDOW;
        let with_rules = sessions.states().filter(|(_, state)| !state.numbers.is_empty());
        let last = self.last_swept.take();
        let mut seids: Vec<Seid> =
            with_rules.map(|(seid, _)| seid).filter(|seid| last.is_none_or(|last| *seid > last)).collect();
        if seids.len() > self.most_swept {
            seids.select_nth_unstable(self.most_swept);
            seids.truncate(self.most_swept);
            self.last_swept = seids.iter().max().copied();
        }
        for seid in &seids {
            [Direction::Uplink, Direction::Downlink].into_iter().for_each(|it| self.watch(now, (*seid, it)));
        }
        !seids.is_empty()
    }

    /// Sweeps so many sessions together, at most.
    #[cfg(test)]
    pub(super) const fn set_most_swept(&mut self, most: usize) {
        self.most_swept = most;
    }

    /// The next change of the list.
    pub(super) fn poll_event(&mut self) -> Option<Event> {
        self.changes.pop_front()
    }

    /// The flows that are heavy; `None`: nobody looks for them.
    pub(super) fn list_of_flows(&self) -> Option<HeavyHitterList> {
        self.settings?;
        let flows = self.watched.values().filter_map(|watched| watched.listed.clone()).collect();
        let counts = HeavyHitterCounts { listed: self.listed as u64, ..self.counts };
        Some(HeavyHitterList { flows, counts })
    }

    fn say(&mut self, now: Time, hitter: HeavyHitter, is_over: bool) {
        if self.budget.take(now) {
            self.changes.push_back(Event::HeavyHitter { hitter: Box::new(hitter), is_over });
        } else {
            self.counts.unsaid += 1;
        }
    }
}

//! Several data planes as one: all receive every input, and their outputs must be equal.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::rc::Rc;
use std::sync::Arc;

use causeway_dataplane::{
    Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event, GtpuPath, HeavyHitterSettings,
    HostReachability, Ingress, PacketEngine, Plan, PlanId, PollApplied, Settings, Topology, Transmit,
};
use causeway_fastpath::FastPath;
use causeway_model::Applications;
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{Time, WallClock};

use crate::batched::process_together;
use crate::format;

const FAST_PATH: &str = "fast path";
const ORACLE: &str = "oracle";

/// A packet and where it came in.
pub type Arrival = (Ingress, Vec<u8>);

/// What was done differently first, if anything. Clones are the same verdict.
#[derive(Clone, Debug, Default)]
pub struct LockstepResult(Rc<OnceCell<String>>);

impl LockstepResult {
    /// What is known so far.
    ///
    /// # Errors
    /// The first difference, with what each of two did.
    pub fn check(&self) -> Result<(), String> {
        self.0.get().map_or(Ok(()), |difference| Err(difference.clone()))
    }

    fn compare<T: PartialEq + Debug>(&self, what: &str, slow_path: &T, (name, other): (&str, &T)) {
        if slow_path != other {
            self.record_difference(|| format!("{what}\n  slow path: {slow_path:?}\n  {name}: {other:?}"));
        }
    }

    fn record_difference(&self, text: impl FnOnce() -> String) {
        self.0.get_or_init(text);
    }
}

/// The slow path and other data planes in lockstep. To the caller they are the slow path.
///
/// After every call everything that can be seen of them is compared: results, what was sent, octet by octet and in
/// its order, counters, and events with all that they say. Only their deadlines may differ: the earliest one counts,
/// and time advances for all.
pub struct Lockstep {
    slow_path: Box<dyn PacketEngine>,
    fast: Box<dyn PacketEngine>,
    /// Not every comparison has it: it lacks some features.
    oracle: Option<Box<dyn PacketEngine>>,
    events: VecDeque<Event>,
    verdict: LockstepResult,
    /// Packets and events may come in any order within one call.
    is_unordered: bool,
}

impl Lockstep {
    /// The slow path and the fast path, both empty, with this topology.
    pub fn new(topology: Topology, limits: Limits) -> Self {
        let fast = FastPath::new(topology.clone(), limits).unwrap_or_else(|error| panic!("{error}"));
        let fast = Box::new(fast);
        Self::of(Box::new(SlowPath::new(topology, limits)), fast)
    }

    /// Of these two, to which nothing has happened yet.
    pub fn of(slow_path: Box<dyn PacketEngine>, fast: Box<dyn PacketEngine>) -> Self {
        let (events, verdict) = (VecDeque::new(), LockstepResult::default());
        Self { slow_path, fast, oracle: None, events, verdict, is_unordered: false }
    }

    /// The same for a data plane with several packets in flight: what one call sends is compared in any order, and so are its events.
    #[must_use]
    pub fn in_any_order(self) -> Self {
        Self { is_unordered: true, ..self }
    }

    /// The same with a third one, the oracle. What it cannot do is not offered.
    #[must_use]
    pub fn with_oracle(self, oracle: Box<dyn PacketEngine>) -> Self {
        Self { oracle: Some(oracle), ..self }
    }

    /// The data planes that the slow path is compared with, and their names.
    fn others(&mut self) -> impl Iterator<Item = (&'static str, &mut Box<dyn PacketEngine>)> {
        [(FAST_PATH, &mut self.fast)].into_iter().chain(self.oracle.as_mut().map(|oracle| (ORACLE, oracle)))
    }

    /// Whether they are equal, without regard to their owner.
    pub fn verdict(&self) -> LockstepResult {
        self.verdict.clone()
    }

    /// Handles packets that arrived together: at once in the fast path, one by one in the others.
    pub fn burst(&mut self, now: Time, arrivals: &[Arrival], out: &mut dyn Transmit) {
        let (mut expected, mut sent) = (Vec::new(), Vec::new());
        for (ingress, packet) in arrivals {
            self.slow_path.process(now, ingress, packet, &mut expected);
        }
        let what = || match arrivals {
            [(ingress, packet)] => format!("{ingress:?} {}", hex(packet)),
            arrivals => format!("a burst of {} packets", arrivals.len()),
        };
        process_together(&mut *self.fast, now, arrivals, &mut sent);
        self.same_output(what, &expected, (FAST_PATH, &sent));
        if let Some(oracle) = &mut self.oracle {
            sent.clear();
            for (ingress, packet) in arrivals {
                oracle.process(now, ingress, packet, &mut sent);
            }
            self.same_output(what, &expected, (ORACLE, &sent));
        }
        expected.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
        self.settle("packets");
    }

    /// How many packets the flow table of the faster data plane decided.
    pub fn fast_path_packets(&self) -> u64 {
        let stages = self.fast.stage_packets();
        stages.iter().find(|stage| stage.name == "flow_table").map_or(0, |stage| stage.value)
    }

    fn same_output(
        &self,
        what: impl FnOnce() -> String,
        expected: &[(Egress, Vec<u8>)],
        (name, sent): (&str, &[(Egress, Vec<u8>)]),
    ) {
        if expected == sent {
            return;
        }
        let (mut expected, mut sent) = (expected.to_vec(), sent.to_vec());
        if self.is_unordered {
            sort(&mut expected);
            sort(&mut sent);
        }
        if expected != sent {
            self.verdict.record_difference(|| differing_output(&what(), &expected, (name, &sent)));
        }
    }

    /// Compares what can be seen at any time.
    fn settle(&mut self, after: &str) {
        let counters = self.slow_path.counters();
        let mut events: Vec<Event> = std::iter::from_fn(|| self.slow_path.poll_event()).collect();
        let (verdict, is_unordered) = (self.verdict.clone(), self.is_unordered);
        if is_unordered {
            sort(&mut events);
        }
        for (name, other) in self.others() {
            let theirs = other.counters();
            if counters != theirs {
                let text =
                    || format!("counters after {after}{}", differing_counters(&counters, (name, &theirs)));
                verdict.record_difference(text);
            }
            let mut their_events: Vec<Event> = std::iter::from_fn(|| other.poll_event()).collect();
            if is_unordered {
                sort(&mut their_events);
            }
            if events != their_events {
                let at = events.iter().zip(&their_events).take_while(|(one, other)| one == other).count();
                let pair = (events.get(at), their_events.get(at));
                verdict.compare(&format!("an event after {after}"), &pair.0, (name, &pair.1));
            }
        }
        self.events.extend(events.drain(..));
    }

    /// Compares the heavy hitters, with all that was counted of them.
    pub fn compare_heavy_hitters(&self, now: Time) {
        let (one, other) = (self.slow_path.heavy_hitters(now), self.fast.heavy_hitters(now));
        self.verdict.compare("the heavy hitters", &one, (FAST_PATH, &other));
    }
}

/// Puts equal lists into the same order, whatever that is.
fn sort<T: Debug>(list: &mut [T]) {
    list.sort_by_cached_key(|it| format!("{it:?}"));
}

/// The counters that are not the same.
fn differing_counters(slow_path: &Counters, (name, other): (&str, &Counters)) -> String {
    let (mut text, pairs) = (String::new(), entries(slow_path).into_iter().zip(entries(other)));
    for ((counter, one), (_, other)) in pairs.filter(|(one, other)| one != other) {
        let _ = write!(text, "\n  {counter}: slow path {one}, {name} {other}");
    }
    text
}

fn entries(counters: &Counters) -> Vec<(&'static str, u64)> {
    let Counters { gtpu_received, ip_received, ethernet_received, gtpu_sent, ip_sent, ethernet_sent, .. } =
        counters;
    let traffic = [
        ("gtpu_received", gtpu_received),
        ("ip_received", ip_received),
        ("ethernet_received", ethernet_received),
        ("gtpu_sent", gtpu_sent),
        ("ip_sent", ip_sent),
        ("ethernet_sent", ethernet_sent),
    ];
    let mut list: Vec<_> =
        traffic.iter().flat_map(|(name, it)| [(*name, it.packets), (*name, it.octets)]).collect();
    list.push(("copies", counters.copies));
    list.push(("forwarded", counters.forwarded));
    list.push(("consumed", counters.consumed));
    list.push(("buffered", counters.buffered));
    list.push(("sessions", counters.sessions));
    list.extend(DropReason::ALL.iter().map(|reason| (reason.label(), counters.dropped(*reason))));
    list
}

/// The first packet that is not the same, and how many there are.
fn differing_output(
    what: &str,
    expected: &[(Egress, Vec<u8>)],
    (other, sent): (&str, &[(Egress, Vec<u8>)]),
) -> String {
    let most = expected.len().max(sent.len());
    let at = (0..most).find(|at| expected.get(*at) != sent.get(*at)).unwrap_or(most);
    let mut text = format!("packet {at} of what was sent after {what}");
    for (name, list) in [("slow path", expected), (other, sent)] {
        let _ = match list.get(at) {
            Some((egress, packet)) => {
                let shown = format::packet(egress, packet);
                write!(text, "\n  {name}, {} sent: {shown}\n    {}", list.len(), hex(packet))
            }
            None => write!(text, "\n  {name}, {} sent: nothing", list.len()),
        };
    }
    text
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::with_capacity(2 * octets.len()), |mut text, octet| {
        let _ = write!(text, "{octet:02x}");
        text
    })
}

impl Dataplane for Lockstep {
    fn capabilities(&self) -> Capabilities {
        let (one, other) = (self.slow_path.capabilities(), self.fast.capabilities());
        self.verdict.compare("capabilities", &one, (FAST_PATH, &other));
        self.oracle.as_ref().map_or(one, |oracle| oracle.capabilities())
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let (one, verdict) = (self.slow_path.submit(now, id, plan), self.verdict.clone());
        for (name, other) in self.others() {
            let theirs = other.submit(now, id, plan);
            if one != theirs {
                verdict.compare(&format!("what came of {plan:?}"), &one, (name, &theirs));
            }
        }
        self.settle("a plan");
        one
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.slow_path.set_applications(applications);
        self.others().for_each(|(_, other)| other.set_applications(applications));
        self.settle("new applications");
    }

    /// The oracle looks for none.
    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        self.slow_path.set_heavy_hitters(now, settings);
        self.fast.set_heavy_hitters(now, settings);
        self.settle("heavy hitters are looked for");
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.slow_path.set_host_reachability(host);
        self.others().for_each(|(_, other)| other.set_host_reachability(host));
        self.settle("new addresses of the machine");
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.slow_path.set_wall_clock(now, clock);
        self.others().for_each(|(_, other)| other.set_wall_clock(now, clock));
        self.settle("the wall clock was set");
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        self.slow_path.reconfigure(now, settings);
        self.others().for_each(|(_, other)| other.reconfigure(now, settings));
        self.settle("other settings");
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.slow_path.follow_paths(now, old, new);
        self.others().for_each(|(_, other)| other.follow_paths(now, old, new));
        self.settle("paths of another data plane");
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_deadline(&self) -> Option<Time> {
        let oracle = self.oracle.as_ref().and_then(|oracle| oracle.next_deadline());
        [self.slow_path.next_deadline(), self.fast.next_deadline(), oracle].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time) {
        self.slow_path.advance(now);
        self.others().for_each(|(_, other)| other.advance(now));
        self.settle("time passed");
    }

    fn counters(&self) -> Counters {
        self.slow_path.counters()
    }
}

impl PacketEngine for Lockstep {
    fn topology(&self) -> &Topology {
        self.slow_path.topology()
    }

    fn process(
        &mut self,
        now: Time,
        ingress: &Ingress,
        packet: &[u8],
        out: &mut dyn Transmit,
    ) -> Disposition {
        let mut expected = Vec::new();
        let fate = self.slow_path.process(now, ingress, packet, &mut expected);
        let what = || format!("{ingress:?} {}", hex(packet));
        let theirs: Vec<_> = self
            .others()
            .map(|(name, other)| {
                let mut sent = Vec::new();
                (name, other.process(now, ingress, packet, &mut sent), sent)
            })
            .collect();
        for (name, other, sent) in theirs {
            if fate != other {
                self.verdict.compare(&format!("the fate of {}", what()), &fate, (name, &other));
            }
            self.same_output(what, &expected, (name, &sent));
        }
        expected.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
        self.settle("a packet");
        fate
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        let mut expected = Vec::new();
        self.slow_path.flush(&mut expected);
        let flushed = |(name, other): (_, &mut Box<dyn PacketEngine>)| {
            let mut sent = Vec::new();
            other.flush(&mut sent);
            (name, sent)
        };
        let theirs: Vec<_> = self.others().map(flushed).collect();
        for (name, sent) in theirs {
            self.same_output(|| "a plan or a timer".to_owned(), &expected, (name, &sent));
        }
        expected.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
        self.settle("sending what was left");
    }
}

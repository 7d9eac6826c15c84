//! Two data planes as one: both receive every input, and their outputs must be equal.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::fmt::{Debug, Write};
use std::rc::Rc;
use std::sync::Arc;

use causeway_dataplane::{
    Capabilities, Counters, Dataplane, Disposition, DropReason, Egress, Event, GtpuPath, HostReachability,
    Ingress, PacketEngine, Plan, PlanId, PollApplied, Topology, Transmit,
};
use causeway_fastpath::FastPath;
use causeway_model::Applications;
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{Time, WallClock};

use crate::batched::process_together;
use crate::format;

/// A packet and where it came in.
pub type Arrival = (Ingress, Vec<u8>);

/// What twins did differently first, if anything. Clones are the same verdict.
#[derive(Clone, Debug, Default)]
pub struct LockstepResult(Rc<OnceCell<String>>);

impl LockstepResult {
    /// What is known so far.
    ///
    /// # Errors
    /// The first difference, with what each of the two did.
    pub fn check(&self) -> Result<(), String> {
        self.0.get().map_or(Ok(()), |difference| Err(difference.clone()))
    }

    fn compare<T: PartialEq + Debug>(&self, what: &str, slow_path: &T, fast: &T) {
        if slow_path != fast {
            self.record_difference(|| format!("{what}\n  slow path: {slow_path:?}\n  fast path: {fast:?}"));
        }
    }

    fn record_difference(&self, text: impl FnOnce() -> String) {
        self.0.get_or_init(text);
    }
}

/// The oracle and a faster data plane in lockstep. To the caller they are the oracle.
///
/// After every call everything that can be seen of the two is compared: results, what was sent, octet by octet and in
/// its order, counters, and events with all that they say. Only their deadlines may differ: the earlier one counts, and
/// time advances for both.
pub struct Lockstep {
    slow_path: Box<dyn PacketEngine>,
    fast: Box<dyn PacketEngine>,
    events: VecDeque<Event>,
    verdict: LockstepResult,
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
        Self { slow_path, fast, events: VecDeque::new(), verdict: LockstepResult::default() }
    }

    /// Whether they are equal, without regard to their owner.
    pub fn verdict(&self) -> LockstepResult {
        self.verdict.clone()
    }

    /// Handles packets that arrived together: one by one in the oracle, at once in the other.
    pub fn burst(&mut self, now: Time, arrivals: &[Arrival], out: &mut dyn Transmit) {
        let (mut expected, mut sent) = (Vec::new(), Vec::new());
        for (ingress, packet) in arrivals {
            self.slow_path.process(now, ingress, packet, &mut expected);
        }
        process_together(&mut *self.fast, now, arrivals, &mut sent);
        let what = || match arrivals {
            [(ingress, packet)] => format!("{ingress:?} {}", hex(packet)),
            arrivals => format!("a burst of {} packets", arrivals.len()),
        };
        self.same_output(what, &expected, &sent, out);
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
        sent: &[(Egress, Vec<u8>)],
        out: &mut dyn Transmit,
    ) {
        if expected != sent {
            self.verdict.record_difference(|| differing_output(&what(), expected, sent));
        }
        expected.iter().for_each(|(egress, packet)| out.transmit(egress, packet));
    }

    /// Compares what can be seen at any time.
    fn settle(&mut self, after: &str) {
        let (one, other) = (self.slow_path.counters(), self.fast.counters());
        if one != other {
            self.verdict
                .record_difference(|| format!("counters after {after}{}", differing_counters(&one, &other)));
        }
        loop {
            let (one, other) = (self.slow_path.poll_event(), self.fast.poll_event());
            self.verdict.compare(&format!("an event after {after}"), &one, &other);
            match one {
                Some(event) => self.events.push_back(event),
                None if other.is_none() => return,
                None => {}
            }
        }
    }
}

/// The counters that are not the same.
fn differing_counters(slow_path: &Counters, fast: &Counters) -> String {
    let (mut text, pairs) = (String::new(), entries(slow_path).into_iter().zip(entries(fast)));
    for ((name, one), (_, other)) in pairs.filter(|(one, other)| one != other) {
        let _ = write!(text, "\n  {name}: slow path {one}, fast path {other}");
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
fn differing_output(what: &str, expected: &[(Egress, Vec<u8>)], sent: &[(Egress, Vec<u8>)]) -> String {
    let most = expected.len().max(sent.len());
    let at = (0..most).find(|at| expected.get(*at) != sent.get(*at)).unwrap_or(most);
    let mut text = format!("packet {at} of what was sent after {what}");
    for (name, list) in [("slow path", expected), ("fast path", sent)] {
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
        self.verdict.compare("capabilities", &one, &other);
        one
    }

    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let (one, other) = (self.slow_path.submit(now, id, plan), self.fast.submit(now, id, plan));
        if one != other {
            self.verdict.compare(&format!("what came of {plan:?}"), &one, &other);
        }
        self.settle("a plan");
        one
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.slow_path.set_applications(applications);
        self.fast.set_applications(applications);
        self.settle("new applications");
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.slow_path.set_host_reachability(host);
        self.fast.set_host_reachability(host);
        self.settle("new addresses of the machine");
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        self.slow_path.set_wall_clock(now, clock);
        self.fast.set_wall_clock(now, clock);
        self.settle("the wall clock was set");
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        self.slow_path.follow_paths(now, old, new);
        self.fast.follow_paths(now, old, new);
        self.settle("paths of another data plane");
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn next_deadline(&self) -> Option<Time> {
        [self.slow_path.next_deadline(), self.fast.next_deadline()].into_iter().flatten().min()
    }

    fn advance(&mut self, now: Time) {
        self.slow_path.advance(now);
        self.fast.advance(now);
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
        let (mut expected, mut sent) = (Vec::new(), Vec::new());
        let fate = self.slow_path.process(now, ingress, packet, &mut expected);
        let other = self.fast.process(now, ingress, packet, &mut sent);
        if fate != other {
            self.verdict.compare(&format!("the fate of {ingress:?} {}", hex(packet)), &fate, &other);
        }
        self.same_output(|| format!("{ingress:?} {}", hex(packet)), &expected, &sent, out);
        self.settle("a packet");
        fate
    }

    fn flush(&mut self, out: &mut dyn Transmit) {
        let (mut expected, mut sent) = (Vec::new(), Vec::new());
        self.slow_path.flush(&mut expected);
        self.fast.flush(&mut sent);
        self.same_output(|| "a plan or a timer".to_owned(), &expected, &sent, out);
        self.settle("sending what was left");
    }
}

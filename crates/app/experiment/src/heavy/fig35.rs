//! Figure 35: how long delay-critical flows take while heavy hitters are in the same queue of a port, or in a lower one.
//!
//! TCP is reduced to what matters here: slow start and congestion avoidance by selective acknowledgements, one halving in a round trip, a timeout when
//! nothing comes back.

use std::collections::VecDeque;

use causeway_show::{Cell, Column, Progress, Table};
use causeway_traffic::{FlowKeys, Placement};

use super::Size;
use super::design::{Design, Detector, Seen, Target};
use super::truth::Amount;
use crate::ExperimentError;
use crate::cli::Common;
use crate::events::{EventQueue, PICOS_PER_SECOND, Picos, time};
use crate::hardware::bottleneck as hardware;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;
use crate::spread::Spread;

/// Delay-critical flows, and octets that each downloads (thesis, section 4.6.1).
const FLOWS: u32 = 20;
const DOWNLOAD: u32 = 15_000_000;
/// Heavy hitters of 80 Mbit/s each: 40 % of the port (thesis, section 4.6.1).
const HEAVY_HITTERS: u32 = 5;
const HEAVY_RATE: f64 = 80e6;
/// Octets of a packet, and of data in it.
const PACKET: u32 = 1500;
const DATA: u32 = 1448;
/// The rate from which on a flow is heavy, in Mbit/s, and the memory in KiB.
const THRESHOLD: u64 = 10;
const MEMORY: usize = 144;

/// What is done with heavy hitters.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Treatment {
    /// There are none.
    Absent,
    /// They are in the queue of all.
    SameQueue,
    /// They are in the lower queue once a detector has reported them.
    LowerQueue(&'static str, Design),
}

impl Treatment {
    const fn name(&self) -> &'static str {
        match self {
            Self::Absent => "no heavy hitters",
            Self::SameQueue => "heavy hitters in the same queue",
            Self::LowerQueue(name, _) => name,
        }
    }
}

/// The row that goals are about.
const OURS: &str = "to the lower queue: Causeway";

/// What is compared. The numbers of the competitors but HK-IPG are those that the search of `hh-fig31` finds in as much memory.
const ROWS: [Treatment; 16] = [
    Treatment::Absent,
    Treatment::SameQueue,
    Treatment::LowerQueue("to the lower queue: exact counts, disjoint seconds", Design::Exact),
    Treatment::LowerQueue("to the lower queue: HK-IPG, Algorithm 1", Design::Published(0.98, 0.01, 1850)),
    Treatment::LowerQueue(OURS, Design::Sliding(4, 4, Placement::Apart)),
    Treatment::LowerQueue("to the lower queue: Causeway, switch form", Design::Switch(2, 4)),
    Treatment::LowerQueue("to the lower queue: HK-IPG, released simulator", Design::Simulator(0.98, 0.01)),
    Treatment::LowerQueue("to the lower queue: HK-IPG, released P4", Design::Program(0.0125)),
    Treatment::LowerQueue("to the lower queue: HeavyKeeper", Design::HeavyKeeper(4, 1.3)),
    Treatment::LowerQueue("to the lower queue: Elastic Sketch", Design::Elastic(75)),
    Treatment::LowerQueue("to the lower queue: PRECISION", Design::Precision(4, 16)),
    Treatment::LowerQueue("to the lower queue: HashPipe", Design::HashPipe(6)),
    Treatment::LowerQueue("to the lower queue: Space-Saving", Design::SpaceSaving(false)),
    Treatment::LowerQueue("to the lower queue: WavingSketch", Design::Waving(16, 16)),
    Treatment::LowerQueue("to the lower queue: SALSA", Design::Salsa(4, false)),
    Treatment::LowerQueue("to the lower queue: Memento", Design::Memento(0, false)),
];

/// What one run has found.
#[derive(Clone, Debug, Default)]
struct Found {
    /// Seconds that each delay-critical flow took.
    times: Vec<f64>,
    /// Packets of these flows that the port dropped, of all sent.
    lost: f64,
    /// Seconds after which the last heavy hitter was in the lower queue; none if one never was.
    moved: Option<f64>,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or results cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let size = Size::generated(common);
    let download = if common.quick { DOWNLOAD / 4 } else { DOWNLOAD };
    let selected = common.rows_by_name(&ROWS, Treatment::name)?;
    let measured: Vec<Vec<Found>> = rows.measure(
        &selected,
        |treatment| {
            progress.stage(treatment.name().to_owned());
            size.seeds.iter().map(|seed| measure(*treatment, download, *seed)).collect()
        },
        |measured| table(&selected, measured),
    )?;
    Ok(Outcome {
        name: "hh-fig35",
        title: "Delay-critical flows beside heavy hitters (thesis, figure 35)".into(),
        conditions: vec![
            (
                "port",
                format!(
                    "{} Gbit/s, {} packets in each of two queues, one before the other; a round trip of {} ms without queues",
                    hardware::PORT.value / 1e9,
                    hardware::QUEUE.value,
                    hardware::ROUND_TRIP.value / 1e6
                ),
            ),
            ("delay-critical", format!("{FLOWS} TCP flows of {} MB, in the upper queue", f64::from(download) / 1e6)),
            ("heavy hitters", format!("{HEAVY_HITTERS} flows of 80 Mbit/s, in packets of {PACKET} octets with gaps of 10 % around the mean")),
            ("detectors", format!(
                    "{MEMORY} KiB, from {THRESHOLD} Mbit/s on; they see all packets. Ours and those of HK-IPG have fixed numbers, the others those that the search of hh-fig31 finds in as much memory"
                )),
            ("seeds", size.trace_seeds_in_words()),
        ],
        table: table(&selected, &measured),
        goals: goals(&selected, &measured),
        notes: vec![
            "Times are model time. The thesis shows a distribution without figures in its text, of TCP on hosts. Detection decides about the heavy \
             hitters alone, since delay-critical flows are known to be such; so detectors differ by the time until they report, and not by wrong reports."
                .into(),
        ],
        charts: Vec::new(),
        details: Vec::new(),
    })
}

/// The mean, and the longest, of the times of all flows, by seed.
fn times(all: &[Found]) -> [Spread; 2] {
    let mean = all.iter().map(|found| found.times.iter().sum::<f64>() / found.times.len().max(1) as f64);
    let longest = all.iter().map(|found| found.times.iter().copied().fold(0.0, f64::max));
    [mean.collect(), longest.collect()]
}

fn table(rows: &[Treatment], measured: &[Vec<Found>]) -> Table {
    let mut table = Table::new(vec![
        Column::new("heavy hitters"),
        Column::of("flow completion, mean", "s"),
        Column::of("all seeds", "s"),
        Column::of("the longest", "s"),
        Column::of("packets lost", "%"),
        Column::of("the last is in the lower queue after", "ms"),
    ]);
    for (treatment, all) in rows.iter().zip(measured) {
        let [mean, longest] = times(all);
        let lost: Spread = all.iter().map(|found| found.lost * 100.0).collect();
        let moved: Option<Vec<f64>> = all.iter().map(|found| found.moved.map(|moved| moved * 1e3)).collect();
        let moved = moved.map(|moved| moved.into_iter().collect::<Spread>());
        table.row([
            treatment.name().into(),
            mean.cell(2),
            mean.range(2),
            longest.cell(2),
            lost.cell(2),
            moved.map_or(Cell::Missing, |moved| moved.cell(0)),
        ]);
    }
    table
}

fn goals(rows: &[Treatment], measured: &[Vec<Found>]) -> Vec<Goal> {
    let mean = |wanted: fn(&Treatment) -> bool| {
        let found = rows.iter().zip(measured).find(|(treatment, _)| wanted(treatment));
        found.map(|(_, all)| times(all)[0].mean())
    };
    let ours = mean(|treatment| treatment.name() == OURS);
    let absent = mean(|treatment| matches!(treatment, Treatment::Absent));
    let same = mean(|treatment| matches!(treatment, Treatment::SameQueue));
    let mut goals = Vec::new();
    if let (Some(ours), Some(absent)) = (ours, absent) {
        let goal = "flow completion, Causeway, as a part of that without heavy hitters";
        goals.push(Goal::at_most(goal, 1.1, ours / absent, ""));
    }
    if let (Some(ours), Some(same)) = (ours, same) {
        let goal = "flow completion, Causeway, as a part of that in one queue";
        goals.push(Goal::at_most(goal, 0.8, ours / same, ""));
    }
    goals
}

/// What happens, and to whom. Packets of a flow are numbered in the order in which they are sent.
#[derive(Clone, Copy, Debug)]
enum Event {
    Begins(u32),
    /// A packet comes to the port; heavy hitters have numbers from [`FLOWS`] on.
    Arrives(Packet),
    /// The port has sent a packet.
    Sent(Packet),
    Acknowledged(Packet),
    /// Nothing has come back for long, if the flow has sent and received nothing since.
    Timeout(u32, u64),
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    flow: u32,
    number: u64,
}

/// A TCP sender.
#[derive(Clone, Debug, Default)]
struct Sender {
    begun: Picos,
    segments: u32,
    next: u32,
    /// Segments to be sent once more.
    lost: VecDeque<u32>,
    /// Packets on the way, with their segments.
    outstanding: VecDeque<(u64, u32)>,
    sent: u64,
    acknowledged: u32,
    window: f64,
    threshold: f64,
    /// Losses of packets up to this one have halved the window already.
    halved: u64,
    /// Counts what was sent and came back.
    activity: u64,
}

impl Sender {
    fn new(segments: u32, begun: Picos) -> Self {
        Self { begun, segments, window: 10.0, threshold: f64::INFINITY, ..Self::default() }
    }

    /// The next packet, if the window is not full.
    fn next(&mut self, flow: u32) -> Option<Packet> {
        if self.outstanding.len() >= self.window as usize {
            return None;
        }
        let segment = self.lost.pop_front().or_else(|| {
            let is_new = self.next < self.segments;
            self.next += u32::from(is_new);
            is_new.then(|| self.next - 1)
        })?;
        self.sent += 1;
        self.activity += 1;
        self.outstanding.push_back((self.sent, segment));
        Some(Packet { flow, number: self.sent })
    }

    /// A packet has been received. The path keeps the order: what was sent three packets before and is not acknowledged is lost.
    fn acknowledge(&mut self, number: u64) {
        self.activity += 1;
        while let Some((lost, segment)) = self.outstanding.front().copied().filter(|(it, _)| it + 3 <= number)
        {
            self.outstanding.pop_front();
            self.lost.push_back(segment);
            if lost > self.halved {
                self.threshold = (self.window / 2.0).max(2.0);
                (self.window, self.halved) = (self.threshold, self.sent);
            }
        }
        if let Some(place) = self.outstanding.iter().position(|(it, _)| *it == number) {
            self.outstanding.remove(place);
            self.acknowledged += 1;
            self.window += if self.window < self.threshold { 1.0 } else { 1.0 / self.window };
        }
    }

    /// All that is on the way is lost.
    fn give_up(&mut self) {
        self.threshold = (self.window / 2.0).max(2.0);
        (self.window, self.halved) = (1.0, self.sent);
        self.lost.extend(self.outstanding.drain(..).map(|(_, segment)| segment));
    }

    const fn is_done(&self) -> bool {
        self.acknowledged >= self.segments
    }
}

struct Run {
    events: EventQueue<Event>,
    senders: Vec<Sender>,
    /// The upper and the lower queue.
    queues: [VecDeque<Packet>; 2],
    is_sending: bool,
    detector: Option<Box<dyn Detector>>,
    keys: FlowKeys,
    /// When each heavy hitter was reported.
    reported: Vec<Option<Picos>>,
    dropped: u64,
    found: Found,
}

fn measure(treatment: Treatment, download: u32, seed: u64) -> Result<Found, ExperimentError> {
    let (octets, target) = (MEMORY * 1024, Target::megabits(Amount::Packets, THRESHOLD));
    let detector = match treatment {
        Treatment::LowerQueue(_, design) => Some(design.build(octets, target, seed)?),
        Treatment::Absent | Treatment::SameQueue => None,
    };
    let mut run = Run {
        events: EventQueue::with_seed(seed),
        senders: Vec::new(),
        queues: Default::default(),
        is_sending: false,
        detector,
        keys: FlowKeys::with_seed(seed),
        reported: vec![None; HEAVY_HITTERS as usize],
        dropped: 0,
        found: Found::default(),
    };
    for flow in 0..FLOWS {
        let begun = run.events.random().u64(..100_000_000_000);
        run.senders.push(Sender::new(download.div_ceil(DATA), begun));
        run.events.push(begun, Event::Begins(flow));
    }
    let heavy = if treatment == Treatment::Absent { 0 } else { HEAVY_HITTERS };
    for flow in FLOWS..FLOWS + heavy {
        let first = run.events.random().u64(..1_000_000_000);
        run.events.push(first, Event::Arrives(Packet { flow, number: 0 }));
    }
    Ok(run.finish())
}

const HALF: Picos = hardware::ROUND_TRIP.picos() / 2;
const SERVICE: Picos = PACKET as Picos * hardware::PORT.picos_of_octet();
const GAP: f64 = PACKET as f64 * 8.0 / HEAVY_RATE * PICOS_PER_SECOND;

impl Run {
    fn finish(mut self) -> Found {
        while self.senders.iter().any(|sender| !sender.is_done()) {
            let Some((now, event)) = self.events.pop() else { break };
            match event {
                Event::Begins(flow) => {
                    self.send(now, flow);
                    self.events.push(now + hardware::TIMEOUT.picos(), Event::Timeout(flow, 0));
                }
                Event::Arrives(packet) => self.arrive(now, packet),
                Event::Sent(packet) => {
                    if packet.flow < FLOWS {
                        self.events.push(now + HALF, Event::Acknowledged(packet));
                    }
                    self.is_sending = false;
                    self.serve(now);
                }
                Event::Acknowledged(packet) => self.acknowledge(now, packet),
                Event::Timeout(flow, activity) => self.check(now, flow, activity),
            }
        }
        let sent: u64 = self.senders.iter().map(|sender| sender.sent).sum();
        self.found.lost = self.dropped as f64 / sent.max(1) as f64;
        let last: Option<Vec<Picos>> = self.reported.iter().copied().collect();
        self.found.moved = last.and_then(|all| all.into_iter().max()).map(|at| at as f64 / PICOS_PER_SECOND);
        self.found
    }

    /// A flow sends what its window permits.
    fn send(&mut self, now: Picos, flow: u32) {
        let Some(sender) = self.senders.get_mut(flow as usize) else { return };
        while let Some(packet) = sender.next(flow) {
            self.events.push(now + HALF, Event::Arrives(packet));
        }
    }

    fn arrive(&mut self, now: Picos, packet: Packet) {
        let is_critical = packet.flow < FLOWS;
        if !is_critical {
            let gap = (GAP * (0.9 + 0.2 * self.events.random().f64())) as Picos;
            self.events.push(now + gap, Event::Arrives(packet));
        }
        let key = self.keys.rule_pair(packet.flow.into(), 0);
        let seen = Seen { flow: packet.flow, key, octets: PACKET as u16, time: time(now) };
        let is_report = self.detector.as_mut().is_some_and(|detector| detector.observe(&seen));
        let reported = packet.flow.checked_sub(FLOWS).and_then(|heavy| self.reported.get_mut(heavy as usize));
        let is_low = reported.is_some_and(|since| {
            *since = since.or(is_report.then_some(now));
            since.is_some()
        });
        let Some(queue) = self.queues.get_mut(usize::from(is_low)) else { return };
        if queue.len() < hardware::QUEUE.value as usize {
            queue.push_back(packet);
        } else {
            self.dropped += u64::from(is_critical);
        }
        self.serve(now);
    }

    /// The port sends the next packet: of the lower queue only if the upper one is empty.
    fn serve(&mut self, now: Picos) {
        if self.is_sending {
            return;
        }
        if let Some(packet) = self.queues.iter_mut().find_map(VecDeque::pop_front) {
            self.is_sending = true;
            self.events.push(now + SERVICE, Event::Sent(packet));
        }
    }

    fn acknowledge(&mut self, now: Picos, packet: Packet) {
        let Some(sender) = self.senders.get_mut(packet.flow as usize) else { return };
        let was_done = sender.is_done();
        sender.acknowledge(packet.number);
        if sender.is_done() && !was_done {
            self.found.times.push((now - sender.begun) as f64 / PICOS_PER_SECOND);
        }
        self.send(now, packet.flow);
    }

    fn check(&mut self, now: Picos, flow: u32, activity: u64) {
        let Some(sender) = self.senders.get_mut(flow as usize) else { return };
        if sender.is_done() {
            return;
        }
        if sender.activity == activity {
            sender.give_up();
            self.send(now, flow);
        }
        let activity = self.senders.get(flow as usize).map_or(0, |sender| sender.activity);
        self.events.push(now + hardware::TIMEOUT.picos(), Event::Timeout(flow, activity));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends what the window permits: the segments.
    fn segments(sender: &mut Sender) -> Vec<u32> {
        std::iter::from_fn(|| {
            sender.next(0)?;
            sender.outstanding.back().map(|(_, segment)| *segment)
        })
        .collect()
    }

    // Input:  a window of ten; of the packets 1 to 10 all but 3 and 4 are acknowledged.
    // Output: both are sent again; the window is halved once, and grows with each acknowledgement.
    #[test]
    fn a_loss_halves_the_window_once() {
        let mut sender = Sender::new(100, 0);
        let sent: Vec<Packet> = std::iter::from_fn(|| sender.next(0)).collect();
        assert_eq!(sent.len(), 10);
        [1, 2].into_iter().for_each(|number| sender.acknowledge(number));
        assert_eq!((sender.window, sender.lost.len()), (12.0, 0));
        (5..=10).for_each(|number| sender.acknowledge(number));
        assert_eq!((sender.lost.len(), sender.acknowledged), (2, 8));
        assert!(sender.window > 6.0 && sender.window < 8.0, "{}", sender.window);
        assert_eq!(segments(&mut sender)[..2], [2, 3]);
    }

    // Input:  a sender all of whose packets are lost.
    // Output: it begins again with one of them.
    #[test]
    fn after_a_timeout_all_is_sent_again() {
        let mut sender = Sender::new(4, 0);
        assert_eq!(std::iter::from_fn(|| sender.next(0)).count(), 4);
        sender.give_up();
        assert_eq!(segments(&mut sender), [0]);
        sender.acknowledge(5);
        assert_eq!((sender.acknowledged, std::iter::from_fn(|| sender.next(0)).count()), (1, 2));
    }
}

//! A trace through a switch and its software, packet by packet, in simulated time. Placement and moves are those of the
//! data plane (`causeway-hybrid`); the driver, the armed entries and the times are simulated here.

use causeway_hybrid::{Command, Config, Moves, Placement, Rule};
use causeway_types::{Direction, Seid, Span, Time};

use crate::events::{EventQueue, picos, time};
use crate::heavy::trace::{Packet, Profile, Trace};
use crate::samples::Latencies;

/// Which packets are of one rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unit {
    /// Those of one flow, as in the thesis' traces.
    Flow,
    /// Those for one host: a UE's downlink.
    Ue,
}

impl Unit {
    const fn of(self, packet: &Packet) -> u32 {
        match self {
            Self::Flow => packet.flow,
            Self::Ue => packet.destination,
        }
    }
}

/// The conditions of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conditions {
    pub(super) unit: Unit,
    pub(super) config: Config,
    /// How long a packet stays in the software.
    pub(super) stay: Span,
    /// How long the driver takes for a rule change; one after the other.
    pub(super) change: Span,
    /// The interval between readings of the switch's counters.
    pub(super) reading: Span,
    /// The placement sees each packet on the switch at once, as a detector there does.
    pub(super) sees_packets: bool,
    pub(super) seconds: u32,
    /// Seconds at the beginning that are not counted.
    pub(super) warm_up: u32,
}

/// What a run has found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    pub(super) packets: u64,
    pub(super) octets: u64,
    /// Packets and octets that the switch forwarded.
    pub(super) on_switch: u64,
    pub(super) octets_on_switch: u64,
    /// Packets of the largest rules of each second, as many as the switch held on average in that second.
    pub(super) by_oracle: u64,
    /// Packets of as many rules with most octets in that second, and with most octets in the second before.
    pub(super) by_octets: u64,
    pub(super) by_second_before: u64,
    /// Packets that the switch left to the software, since their rule was armed there.
    pub(super) while_armed: u64,
    /// The mean and the greatest number of rules on the switch.
    pub(super) mean_rules: f64,
    pub(super) most_rules: usize,
    /// Rule changes.
    pub(super) changes: u64,
    pub(super) promoted: u64,
    /// Promotions within five seconds after a demotion.
    pub(super) again: u64,
    /// Packets that left the switch before an earlier one of their rule left the software.
    pub(super) overtaken: u64,
    pub(super) gave_up: u64,
    /// From the wish to the first packet that the switch forwards.
    pub(super) waits: Vec<Span>,
    /// Seconds counted.
    pub(super) seconds: u32,
}

impl Found {
    pub(super) fn share(&self) -> f64 {
        self.on_switch as f64 / self.packets.max(1) as f64
    }

    pub(super) fn octet_share(&self) -> f64 {
        self.octets_on_switch as f64 / self.octets.max(1) as f64
    }

    /// The share of the packets that the oracle would have forwarded which the switch has forwarded.
    pub(super) fn of_oracle(&self) -> f64 {
        self.on_switch as f64 / self.by_oracle.max(1) as f64
    }

    /// The share of the packets of the oracle that rules chosen in another way have.
    pub(super) fn part_of_oracle(&self, packets: u64) -> f64 {
        packets as f64 / self.by_oracle.max(1) as f64
    }

    /// How many times as many packets as the software alone, if the software is what limits.
    pub(super) fn factor(&self) -> f64 {
        self.packets as f64 / (self.packets - self.on_switch).max(1) as f64
    }

    pub(super) fn changes_a_second(&self) -> f64 {
        self.changes as f64 / f64::from(self.seconds.max(1))
    }

    pub(super) fn again_percent(&self) -> f64 {
        self.again as f64 * 100.0 / self.promoted.max(1) as f64
    }

    pub(super) fn wait_millis(&self, percent: f64) -> f64 {
        Latencies::new(self.waits.iter().copied()).percentile(percent) * 1e3
    }
}

/// The switch's and the software's state of a rule.
#[derive(Clone, Copy, Debug, Default)]
struct OnSwitch {
    /// It has an entry; with the gap after which it flips, while it is armed.
    is_there: bool,
    armed: Option<Span>,
    last: Option<Time>,
    /// Octets that were not read.
    uncounted: u64,
    /// When its last packet leaves the software.
    leaves: Time,
    wished: Time,
}

/// A trace, its placement and its switch.
struct Run<'a> {
    conditions: &'a Conditions,
    moves: Moves,
    placement: &'a mut dyn Placement,
    rules: Vec<OnSwitch>,
    /// The changes that the driver ends.
    driver: EventQueue<Command>,
    driver_free: Time,
    next_reading: Time,
    next_decision: Time,
    /// Rules with octets that were not read.
    touched: Vec<u32>,
    found: Found,
}

/// Passes a trace through the switch and its software.
pub(super) fn run(
    profile: &Profile,
    seed: u64,
    conditions: &Conditions,
    placement: &mut dyn Placement,
    mut progress: impl FnMut(u32),
) -> Found {
    let mut trace = Trace::new(profile, seed);
    let mut run = Run {
        conditions,
        moves: Moves::new(conditions.config),
        placement,
        rules: Vec::new(),
        driver: EventQueue::with_seed(seed),
        driver_free: Time::default(),
        next_reading: Time::default(),
        next_decision: Time::default(),
        touched: Vec::new(),
        found: Found::default(),
    };
    let mut packets = Vec::new();
    let mut rules_by_second = 0.0;
    let mut before = Vec::new();
    for second in 0..conditions.seconds {
        progress(second);
        trace.advance(Span::from_secs(1), &mut packets);
        if second == conditions.warm_up {
            run.begin_to_count();
        }
        let mut sizes: Vec<Size> = Vec::new();
        let (mut sum, mut samples) = (0_usize, 0_usize);
        for (place, packet) in packets.iter().enumerate() {
            run.packet(packet);
            let rule = conditions.unit.of(packet) as usize;
            if rule >= sizes.len() {
                sizes.resize(rule + 1, Size::default());
            }
            if let Some(size) = sizes.get_mut(rule) {
                size.packets += 1;
                size.octets += u64::from(packet.octets);
            }
            if place % 1024 == 0 {
                sum += run.moves.len();
                samples += 1;
            }
        }
        let mean = sum as f64 / samples.max(1) as f64;
        rules_by_second += mean;
        run.found.choose_with_hindsight(&sizes, &before, mean.round() as usize);
        before = largest(&sizes, |size| size.octets);
    }
    let statistics = run.moves.statistics();
    let mut found = run.found;
    found.seconds = conditions.seconds - conditions.warm_up;
    found.mean_rules = rules_by_second / f64::from(conditions.seconds.max(1));
    found.changes = statistics.changes - found.changes;
    found.promoted = statistics.promoted - found.promoted;
    found.again = statistics.again - found.again;
    found.gave_up = statistics.gave_up - found.gave_up;
    found
}

/// The packets of a rule in a second.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    packets: u64,
    octets: u64,
}

/// The rules with packets, the largest first.
fn largest(sizes: &[Size], of: impl Fn(&Size) -> u64) -> Vec<usize> {
    let mut rules: Vec<usize> = (0..sizes.len()).filter(|rule| sizes[*rule].packets > 0).collect();
    rules.sort_by_key(|rule| std::cmp::Reverse(of(&sizes[*rule])));
    rules
}

impl Found {
    /// What so many rules would have carried in a second, chosen by its packets, its octets, or the octets of the second before.
    fn choose_with_hindsight(&mut self, sizes: &[Size], before: &[usize], rules: usize) {
        let packets = |chosen: &[usize]| -> u64 {
            chosen.iter().take(rules).filter_map(|rule| sizes.get(*rule)).map(|size| size.packets).sum()
        };
        self.by_oracle += packets(&largest(sizes, |size| size.packets));
        self.by_octets += packets(&largest(sizes, |size| size.octets));
        self.by_second_before += packets(before);
    }
}

const fn rule(number: u32) -> Rule {
    Rule { session: Seid(number as u64), direction: Direction::Downlink }
}

impl Run<'_> {
    /// What was counted before is of the warm-up.
    fn begin_to_count(&mut self) {
        let before = self.moves.statistics();
        self.found = Found {
            changes: before.changes,
            promoted: before.promoted,
            again: before.again,
            gave_up: before.gave_up,
            ..Found::default()
        };
    }

    fn packet(&mut self, packet: &Packet) {
        let now = packet.time;
        self.progress(now);
        let number = self.conditions.unit.of(packet);
        if number as usize >= self.rules.len() {
            self.rules.resize(number as usize + 1, OnSwitch::default());
        }
        self.found.packets += 1;
        self.found.octets += u64::from(packet.octets);
        let Some(state) = self.rules.get_mut(number as usize) else { return };
        if state.is_there {
            let has_gap = |gap: Span| state.last.is_some_and(|last| now.since(last) >= gap);
            if state.armed.is_some_and(has_gap) {
                state.armed = None;
                self.found.waits.push(now.since(state.wished));
            }
            state.last = Some(now);
            if state.armed.is_none() {
                self.found.on_switch += 1;
                self.found.octets_on_switch += u64::from(packet.octets);
                self.found.overtaken += u64::from(state.leaves > now);
                if self.conditions.sees_packets {
                    self.moves.forwarded(now, rule(number));
                    self.placement.observe(now, rule(number), packet.octets.into());
                    return self.decide(now);
                }
                if state.uncounted == 0 {
                    self.touched.push(number);
                }
                state.uncounted += u64::from(packet.octets);
                return;
            }
            self.found.while_armed += 1;
        }
        state.leaves = now + self.conditions.stay;
        self.placement.observe(now, rule(number), packet.octets.into());
        self.decide(now);
    }

    /// The driver's changes, the readings and the decisions until now.
    fn progress(&mut self, now: Time) {
        while let Some((end, command)) = self.driver.pop_until(picos(now)) {
            self.carry_out(time(end), command);
        }
        if now >= self.next_reading {
            self.next_reading = now + self.conditions.reading;
            for number in std::mem::take(&mut self.touched) {
                let Some(state) = self.rules.get_mut(number as usize) else { continue };
                let octets = std::mem::take(&mut state.uncounted);
                self.placement.observe(now, rule(number), octets);
                self.moves.forwarded(now, rule(number));
            }
        }
        while self.moves.next_due().is_some_and(|at| at <= now)
            && let Some(command) = self.moves.poll(now)
        {
            self.command(now, command);
        }
        if now >= self.next_decision {
            self.next_decision = now + Span::from_millis(1);
            self.decide(now);
        }
    }

    fn decide(&mut self, now: Time) {
        if self.placement.next_decision().is_none_or(|at| at > now) {
            return;
        }
        for wish in self.placement.decide(now, &self.moves) {
            if let Some(command) = self.moves.wish(now, wish) {
                self.command(now, command);
            }
        }
    }

    /// The driver carries out one change after the other.
    fn command(&mut self, now: Time, command: Command) {
        let (Command::Arm(Rule { session, .. }, _) | Command::Return(Rule { session, .. })) = command;
        if let (Command::Arm(..), Some(state)) = (command, self.rules.get_mut(session.0 as usize))
            && !state.is_there
        {
            state.wished = now;
        }
        self.driver_free = self.driver_free.max(now) + self.conditions.change;
        self.driver.push(picos(self.driver_free), command);
    }

    fn carry_out(&mut self, now: Time, command: Command) {
        let (Command::Arm(rule, _) | Command::Return(rule)) = command;
        if let Some(state) = self.rules.get_mut(rule.session.0 as usize) {
            match command {
                Command::Arm(_, gap) if state.is_there => state.armed = state.armed.map(|_| gap),
                Command::Arm(_, gap) => {
                    (state.is_there, state.armed, state.last) = (true, Some(gap), None);
                    if gap.is_zero() {
                        state.armed = None;
                        self.found.waits.push(now.since(state.wished));
                    }
                }
                Command::Return(_) => (state.is_there, state.armed) = (false, None),
            }
        }
        self.moves.ended(now, rule, Ok(()));
        self.found.most_rules = self.found.most_rules.max(self.moves.len());
    }
}

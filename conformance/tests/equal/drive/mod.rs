//! Lets a world happen to twins, and says where they differ first.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use causeway_conformance::oracle::Oracle;
use causeway_conformance::{Arrival, Lockstep};
use causeway_dataplane::{
    Capabilities, Dataplane, Egress, FlowKind, HeavyHitterSettings, PacketEngine, Plan, Settings, Threshold,
    Topology,
};
use causeway_model::{LocalEndpoints, PlanOptions, RuleSet, Templates, plan_modification};
use causeway_rules::Catalogue;
use causeway_slowpath::{Limits, SlowPath, WhenFull};
use causeway_types::{Seid, Span, Time, WallClock};

use crate::arrival::arrival;
use crate::change::changed;
use crate::cold::{self, Moves, Stored};
use crate::common::{is_common, simplify, simplify_topology};
use crate::genes::Genes;
use crate::place::Place;
use crate::session::{is_legal, rules};
use crate::tally::Tally;
use crate::topology::{applications, host, random_topology, settings};
use crate::usage::{seconds, wall};
use crate::wild::settled;
use crate::world::{Seed, Session, Step, World};

mod profiled;

const START: Time = Time::from_secs(1_700_000_000);

/// Timers that a pause looks at one by one; the rest of it passes at once.
const MOST_DEADLINES: usize = 64;

/// Makes the data plane that is compared with the slow path.
pub(crate) type Make<'a> = &'a dyn Fn(Topology, Limits) -> Box<dyn PacketEngine>;

/// What is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compared {
    /// Two data planes, in everything.
    Two,
    /// Two data planes, one of which finds no heavy hitters.
    WithoutHeavyHitters,
    /// The same, and it has several packets in flight: those that come at once are one flow of each session, as the order of others is not determined. Buffers
    /// are not full, since what is dropped then depends on the order of all.
    InFlight,
    /// The oracle as well, in what it has: see [`crate::common`].
    Three,
}

/// One session, whether it is there or not.
struct Held {
    place: Place,
    seid: Seid,
    rules: Option<RuleSet>,
    /// It was asked for as others were, and so was every change since.
    is_profiled: bool,
}

struct Run {
    twins: Lockstep,
    now: Time,
    capabilities: Capabilities,
    endpoints: LocalEndpoints,
    catalogue: Catalogue,
    templates: Templates,
    held: Vec<Held>,
    sent: Vec<(Egress, Vec<u8>)>,
    tally: Tally,
    compared: Compared,
    /// What has gone to cold storage and back since the last step, and what is there.
    moves: Moves,
    stored: Stored,
    /// The settings at the start.
    at_first: Settings,
}

/// Lets all of it happen.
///
/// # Errors
/// The step at which they differ, how, and the rules at that time.
pub(crate) fn happen(
    world: &World,
    make: Make<'_>,
    compared: Compared,
    moves: &Moves,
) -> Result<Tally, String> {
    let mut run = Run::new(world, make, compared, Arc::clone(moves));
    for (index, session) in world.sessions.iter().enumerate() {
        run.held.push(Held {
            place: Place::new(index as u32, &mut genes(session)),
            seid: Seid(0),
            rules: None,
            is_profiled: false,
        });
        run.begin(index, session);
        run.check(&[index], || format!("session {index} begins"))?;
    }
    for (at, step) in world.steps.iter().enumerate() {
        run.step(at as u32, step);
        run.check(&run.concerned(step), || format!("step {at}, {step:?}"))?;
    }
    for index in 0..run.held.len() {
        run.end(index);
        run.check(&[index], || format!("session {index} ends"))?;
    }
    run.twins.compare_heavy_hitters(run.now);
    run.check(&[], || "the heavy hitters at the end".to_owned())?;
    run.tally.end(&run.twins.counters(), run.twins.fast_path_packets());
    Ok(run.tally)
}

/// Half of the worlds look for heavy hitters, in so little memory that flows contend for it.
fn heavy_hitters(world: &World) -> Option<HeavyHitterSettings> {
    let [decides, bits, tuple, _] = world.topology;
    let settings = HeavyHitterSettings {
        threshold: if bits % 2 == 0 {
            Threshold::PacketsPerSecond(4)
        } else {
            Threshold::BitsPerSecond(40_000)
        },
        window: Span::from_secs(1),
        memory: 64,
        kind: if tuple % 2 == 0 { FlowKind::UeAddress } else { FlowKind::FiveTuple },
        seed: 7,
    };
    (decides % 2 == 1).then_some(settings)
}

impl Run {
    fn new(world: &World, make: Make<'_>, compared: Compared, moves: Moves) -> Self {
        // What a world left that failed is not of this one.
        moves.lock().expect("one thread").clear();
        let mut genes = Genes::new(&world.topology);
        let mut topology = random_topology(&mut genes);
        if compared == Compared::Three {
            simplify_topology(&mut topology);
        }
        let full = genes.chance(64) && compared != Compared::InFlight;
        let limits = Limits {
            buffer_packets_per_session: if full { 4 } else { 64 },
            buffer_packets: if full { 6 } else { 256 },
            when_full: if genes.chance(128) { WhenFull::DropOldest } else { WhenFull::DropNewest },
            ..Limits::default()
        };
        let slow_path = Box::new(SlowPath::new(topology.clone(), limits));
        let mut lockstep = Lockstep::of(slow_path, make(topology.clone(), limits));
        if compared == Compared::InFlight {
            lockstep = lockstep.in_any_order();
        }
        if compared == Compared::Three {
            lockstep = lockstep.with_oracle(Box::new(Oracle::new(topology.clone(), limits.into())));
        }
        // The oracle knows no classes.
        let applications = applications(true, compared != Compared::Three);
        let catalogue = Catalogue { applications: Arc::clone(&applications), ..Catalogue::default() };
        let mut run = Self {
            capabilities: lockstep.capabilities(),
            endpoints: topology.endpoints(),
            twins: lockstep,
            now: START,
            catalogue,
            templates: Templates::default(),
            held: Vec::new(),
            sent: Vec::new(),
            tally: Tally::default(),
            compared,
            moves,
            stored: Stored::default(),
            at_first: topology.settings(),
        };
        run.twins.set_applications(&applications);
        if compared == Compared::Two {
            run.twins.set_heavy_hitters(START, heavy_hitters(world).as_ref());
        }
        run
    }

    /// The sessions that a step is about.
    fn concerned(&self, step: &Step) -> Vec<usize> {
        match step {
            Step::Packets(packets) => packets.iter().map(|(session, _)| self.index(*session)).collect(),
            Step::Again { session: at, .. }
            | Step::Modify(at, _)
            | Step::Replace(at, _)
            | Step::End(at, _) => {
                vec![self.index(*at)]
            }
            Step::Wait(_) | Step::Applications(_) => (0..self.held.len()).collect(),
        }
    }

    /// Nothing has differed yet.
    fn check(&mut self, concerned: &[usize], when: impl FnOnce() -> String) -> Result<(), String> {
        while let Some(event) = self.twins.poll_event() {
            self.tally.event(&event);
        }
        self.follow_moves(false);
        self.sent.clear();
        self.twins.verdict().check().map_err(|difference| {
            let mut text = format!("{}:\n{difference}", when());
            let is_concerned = |(index, _): &(usize, &Held)| concerned.contains(index);
            for (_, held) in self.held.iter().enumerate().filter(is_concerned) {
                let _ = write!(text, "\n{:?}{}", held.seid, shown(held.rules.as_ref()));
            }
            text
        })
    }

    /// Counts the sessions that were loaded from cold storage since the last call.
    fn follow_moves(&mut self, is_by_timers: bool) {
        let rules_of = |seid| self.held.iter().find(|held| held.seid == seid)?.rules.as_ref();
        for kind in self.stored.follow(&self.moves, rules_of) {
            self.tally.count(kind);
            if is_by_timers && kind == cold::ALL {
                self.tally.count(cold::BY_TIMERS);
            }
        }
    }

    fn step(&mut self, at: u32, step: &Step) {
        match step {
            Step::Packets(packets) => {
                let mut flows = BTreeMap::new();
                let mut octets_of = |session: u8, octets| match self.compared {
                    Compared::InFlight => *flows.entry(self.index(session)).or_insert(octets),
                    _ => octets,
                };
                let arrivals: Vec<_> = packets
                    .iter()
                    .zip(at * 64..)
                    .filter_map(|((session, octets), at)| {
                        self.arrival(*session, octets_of(*session, octets), at)
                    })
                    .collect();
                match packets.first() {
                    Some((_, [.., 0..64])) => arrivals.iter().for_each(|arrival| self.alone(arrival)),
                    _ => self.burst(&arrivals),
                }
            }
            Step::Again { session, packet, times } => {
                let times = at * 256..at * 256 + u32::from(*times);
                let arrivals: Vec<_> = times.filter_map(|at| self.arrival(*session, packet, at)).collect();
                arrivals.chunks(32).for_each(|chunk| self.burst(chunk));
            }
            Step::Modify(session, seed) => self.modify(self.index(*session), seed),
            Step::Replace(at, session) => self.replace(self.index(*at), session),
            Step::End(at, session) => {
                let index = self.index(*at);
                if self.held[index].rules.is_some() {
                    return self.end(index);
                }
                self.begin(index, session);
            }
            Step::Wait(octets) => self.wait(&mut Genes::new(octets)),
            Step::Applications(all) => {
                let applications = applications(*all, self.compared != Compared::Three);
                self.twins.set_applications(&applications);
                self.twins.set_host_reachability(&host(*all));
                self.catalogue.applications = applications;
                // The oracle has no settings.
                if self.compared != Compared::Three {
                    let settings = settings(&self.at_first, *all);
                    self.twins.reconfigure(self.now, &settings);
                }
            }
        }
    }

    fn index(&self, session: u8) -> usize {
        usize::from(session) % self.held.len()
    }

    fn arrival(&self, session: u8, octets: &[u8], at: u32) -> Option<Arrival> {
        let index = self.index(session);
        let rules = self.held[index].rules.as_ref()?;
        let arrival = arrival(rules, index, at, &mut Genes::calm(octets, 128));
        Some(arrival).filter(|arrival| self.compared != Compared::Three || is_common(arrival))
    }

    /// The same rules, as far as every data plane that is compared has them.
    fn common(&self, mut rules: RuleSet) -> RuleSet {
        if self.compared == Compared::Three {
            simplify(&mut rules);
        }
        rules
    }

    fn burst(&mut self, arrivals: &[Arrival]) {
        self.tally.packets += arrivals.len() as u64;
        self.twins.burst(self.now, arrivals, &mut self.sent);
    }

    fn alone(&mut self, (ingress, packet): &Arrival) {
        self.tally.packets += 1;
        self.twins.process(self.now, ingress, packet, &mut self.sent);
    }

    fn begin(&mut self, index: usize, session: &Session) {
        let mut genes = genes(session);
        let held = &mut self.held[index];
        held.seid = Seid(held.seid.0 + 1000 + index as u64);
        held.place = Place::new(index as u32, &mut genes);
        let set = rules_of(session, &held.place, self.now, &mut genes, self.compared);
        let seid = held.seid;
        held.is_profiled = false;
        let set = self.common(set);
        if seid.0.is_multiple_of(2) && self.begin_profiled(index, &set) {
            return;
        }
        self.carry_out(index, &Plan::install(seid, set.clone()), set);
    }

    fn end(&mut self, index: usize) {
        if self.held[index].rules.take().is_some() {
            self.apply(&Plan::removal(self.held[index].seid));
        }
    }

    fn modify(&mut self, index: usize, seed: &Seed) {
        let held = &self.held[index];
        let Some(old) = &held.rules else { return };
        let (new, extras) = changed(old, &held.place, self.now, &mut Genes::new(seed));
        let new = self.common(new);
        let plan = plan_modification(held.seid, old, &new, &extras);
        if held.is_profiled && self.modify_profiled(index, &plan, &new) {
            return;
        }
        self.carry_out(index, &plan, new);
    }

    fn replace(&mut self, index: usize, session: &Session) {
        let held = &self.held[index];
        let Some(old) = &held.rules else { return };
        let new = rules_of(session, &held.place, self.now, &mut genes(session), self.compared);
        let new = self.common(RuleSet { pdu_type: old.pdu_type, ..new });
        let plan = plan_modification(held.seid, old, &new, &PlanOptions::default());
        self.carry_out(index, &plan, new);
    }

    /// Carries the plan out if an SMF could have asked for its result.
    fn carry_out(&mut self, index: usize, plan: &Plan, new: RuleSet) {
        let is_legal = is_legal(&new, &self.capabilities, &self.endpoints, &self.catalogue);
        if is_legal && self.apply(plan) {
            self.held[index].rules = Some(new);
        } else {
            self.tally.illegal += 1;
        }
    }

    fn apply(&mut self, plan: &Plan) -> bool {
        self.tally.plans += 1;
        self.twins.advance(self.now);
        let result = self.twins.apply(self.now, plan);
        self.twins.flush(&mut self.sent);
        result.is_ok()
    }

    fn wait(&mut self, genes: &mut Genes<'_>) {
        let units = [1_000, 1_000_000, 1_000_000_000, 50_000, 60_000_000_000, 30_000_000];
        let end = self.now + Span::from_nanos(genes.pick(&units) * (1 + u64::from(genes.octet())));
        if genes.chance(64) && self.compared != Compared::Three {
            // Packets and plans come first, before anybody looks at the clock. The contract excludes it.
            self.now = end;
            return;
        }
        for _ in 0..MOST_DEADLINES {
            let Some(next) = self.twins.next_deadline().filter(|next| *next <= end) else { break };
            self.now = self.now.max(next);
            self.twins.advance(self.now);
            self.twins.flush(&mut self.sent);
        }
        self.now = end;
        self.twins.advance(end);
        self.twins.flush(&mut self.sent);
        self.follow_moves(true);
        if genes.chance(24) {
            let (by, now) = (seconds(genes), wall(end));
            let says = if genes.chance(128) { now - by } else { now + by };
            self.twins.set_wall_clock(end, WallClock::reading(says, end));
        }
    }
}

/// A line for each rule.
fn shown(rules: Option<&RuleSet>) -> String {
    let Some(RuleSet { pdrs, fars, qers, urrs, bars, slice, paging, inactivity_timer, .. }) = rules else {
        return " has ended".to_owned();
    };
    let mut lines = vec![format!(" {slice:?} {paging:?} {inactivity_timer:?}")];
    lines.extend(pdrs.values().map(|rule| format!("{rule:?}")));
    lines.extend(fars.values().map(|rule| format!("{rule:?}")));
    lines.extend(qers.values().map(|rule| format!("{rule:?}")));
    lines.extend(urrs.values().map(|rule| format!("{rule:?}")));
    lines.extend(bars.values().map(|rule| format!("{rule:?}")));
    lines.join("\n  ")
}

/// Most sessions have nothing odd.
fn genes(session: &Session) -> Genes<'_> {
    Genes::calm(&session.seed, 160)
}

fn rules_of(
    session: &Session,
    place: &Place,
    now: Time,
    genes: &mut Genes<'_>,
    compared: Compared,
) -> RuleSet {
    match &session.wild {
        // Rules that no SMF sends meet what no clause determines, such as the order of reports that coincide.
        Some(wild) if compared != Compared::Three => settled(wild, place, now),
        _ => rules(place, now, genes),
    }
}

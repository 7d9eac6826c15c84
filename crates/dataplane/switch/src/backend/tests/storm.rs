//! Random sessions, changes and packets on a switch that fails, and invariants.

use std::collections::{BTreeSet, HashSet};

use causeway_dataplane::{Applied, ApplyError, Event, Plan};
use causeway_model::{
    ApplyAction, DirectionalLimit, Far, Gate, PlanOptions, Qer, RuleSet, Usage, plan_modification,
};
use causeway_p4::Contract;
use causeway_types::{FarId, PdrId, QerId, Qfi, ReportingTriggers, Seid, Span, Time, UrrId};

use super::choices::beside_others;
use super::done::Done;
use super::fixture::{GNBS, START, UPF, buffering, gnb, reply, request, session, to_gnb, to_network, volume};
use super::succession::begin;
use super::witness::{Cell, Witness, drops, is_beside};
use crate::backend::cpu_port::{in_udp, plain_frame};
use crate::backend::local_model::{N3, N6};
use crate::backend::recovery::ReadEntries;
use crate::backend::{Progress, Switch};
use crate::driver::FaultRates;

const SESSIONS: u8 = 12;

/// The least last octet of tunnels after a quota.
const BESIDE: u8 = 100;

/// Octets of headers around a user packet: on the path to a gNB, and of the controller's frames.
const TUNNEL: usize = 44;
const ETHERNET: usize = 14;
const CPU: usize = 10;

pub(super) struct Storm {
    pub(super) switch: Switch<Witness>,
    pub(super) contract: &'static Contract,
    pub(super) chances: FaultRates,
    pub(super) seed: u64,
    pub(super) now: Time,
    pub(super) random: fastrand::Rng,
    pub(super) sessions: Vec<Option<RuleSet>>,
    /// Octets of every user packet.
    pub(super) octets: usize,
    /// Octets that were reported.
    pub(super) reported: u64,
    pub(super) done: Done,
}

impl Storm {
    pub(super) fn new(contract: &'static Contract, chances: FaultRates, seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Self {
            switch: begin(contract, chances, seed),
            contract,
            chances,
            seed,
            now: START,
            octets: random.usize(100..1000),
            random,
            sessions: vec![None; usize::from(SESSIONS)],
            reported: 0,
            done: Done::default(),
        }
    }

    pub(super) fn count(&mut self, usage: &[Usage]) {
        let octets = |usage: &Usage| usage.volume.map_or(0, |volume| volume.total());
        self.reported += usage.iter().map(octets).sum::<u64>();
    }

    /// A URR that reports often, and in some sessions stops traffic in the end.
    fn urr(&mut self) -> causeway_model::Urr {
        let mut urr = volume(1, Some(self.random.u64(2..20) * 1000));
        if self.random.u8(0..3) == 0 {
            let total = Some(self.random.u64(5..50) * 1000);
            urr.quotas.volume = Some(DirectionalLimit { total, ..DirectionalLimit::default() });
            urr.triggers |= ReportingTriggers::VOLQU;
            urr.quota_far = self.random.bool().then_some(FarId(3));
        }
        urr
    }

    fn altered(&mut self, rules: &RuleSet, number: u8) -> RuleSet {
        let mut new = rules.clone();
        let tunnel = gnb(self.random.usize(0..2), number);
        match self.random.u8(0..12) {
            0..=3 => drop(new.fars.insert(FarId(2), to_gnb(tunnel))),
            4 => drop(new.fars.insert(FarId(2), buffering(tunnel))),
            5 => drop(new.fars.insert(FarId(1), Far { action: ApplyAction::Drop, ..to_network() })),
            6 => drop(new.fars.insert(FarId(1), to_network())),
            7 => {
                let uplink = if self.random.bool() { Gate::Open } else { Gate::Closed };
                new.qers.insert(QerId(1), Qer { uplink, qfi: Qfi::new(9), ..Qer::new(QerId(1)) });
            }
            8 => drop(new.urrs.insert(UrrId(1), self.urr())),
            _ => {
                let id = self.random.u16(3..5);
                if new.pdrs.remove(&PdrId(id)).is_none() {
                    new.pdrs.insert(PdrId(id), beside_others(&mut self.random, id, number));
                }
            }
        }
        new
    }

    /// A change of a session, which the switch may refuse.
    fn change(&mut self, number: u8) {
        let seid = Seid(u64::from(number) + 1);
        let place = usize::from(number);
        let (plan, after): (Plan, _) = match self.sessions[place].clone() {
            None => {
                let mut rules = session(number);
                let beside = gnb(1, BESIDE + number);
                rules.fars.insert(FarId(3), Far { id: FarId(3), ..to_gnb(beside) });
                rules.urrs.insert(UrrId(1), self.urr());
                (Plan::install(seid, rules.clone()), Some(rules))
            }
            Some(_) if self.random.u8(0..6) == 0 => (Plan::removal(seid), None),
            Some(rules) => {
                let new = self.altered(&rules, number);
                let queries = BTreeSet::from_iter(self.random.bool().then_some(UrrId(1)));
                let extras = PlanOptions { queries, ..PlanOptions::default() };
                (plan_modification(seid, &rules, &new, &extras), Some(new))
            }
        };
        self.done.changes += 1;
        match self.apply(&plan) {
            Ok(applied) => {
                self.count(&applied.usage);
                self.sessions[place] = after;
            }
            Err(_) => self.done.refused += 1,
        }
    }

    /// Waits for a change, in the time of the driver.
    pub(super) fn apply(&mut self, plan: &Plan) -> Result<Applied, ApplyError> {
        let operation = self.switch.submit(self.now, plan);
        for _ in 0..10_000 {
            match self.switch.poll(self.now) {
                Some(Progress::Done(done, result)) if done == operation => return result,
                Some(_) => {}
                None => {
                    self.now = self.now.max(self.switch.next_deadline().expect("it waits for something"));
                    self.switch.run(self.now);
                }
            }
        }
        let seed = self.seed;
        panic!("seed {seed}: a change waits for ever: {:?}", self.switch.next_deadline());
    }

    fn packet(&mut self, number: u8) {
        self.now = self.now + Span::from_micros(50);
        self.done.packets += 1;
        let (port, frame) = if self.random.bool() {
            (N6, plain_frame(&reply(number, self.octets - 28)))
        } else {
            let message = request(number, self.octets - 28);
            (N3, plain_frame(&in_udp((GNBS[0], 2152), (UPF, 2152), (0, None), &message).unwrap()))
        };
        let beside = self.beside();
        let now = self.now;
        self.switch.driver().book().set_beside(beside);
        self.switch.driver().model().receive(now, port, &frame);
    }

    /// The counters of packets that are transmitted by the FARs of exhausted quotas.
    fn beside(&self) -> HashSet<Cell> {
        let layout = self.switch.layout();
        let rules = self.switch.sessions().rules().filter(|(_, rule)| !rule.content.uncounted.is_empty());
        let cells = |number: u32| match &layout.cells {
            Some(cells) => {
                Vec::from_iter(cells.cell(1, number).map(|(bank, index)| Cell::Index(bank, index)))
            }
            None => {
                let keys = (0..2).filter_map(|partition| layout.accounting_key(1, partition, number));
                keys.map(Cell::Entry).collect()
            }
        };
        rules.flat_map(|(number, _)| cells(number.0)).collect()
    }

    /// Transmitted user packets.
    pub(super) fn collect(&mut self) {
        while let Some((_, port, frame)) = self.switch.driver().model().poll_sent() {
            let around = if port == N3 { ETHERNET + TUNNEL } else { ETHERNET };
            let is_beside = port == N3 && is_beside(&frame, ETHERNET);
            let sent = if is_beside { &mut self.done.uncounted } else { &mut self.done.sent };
            *sent += u64::from(frame.len() == around + self.octets);
        }
        while let Some(event) = self.switch.poll_event() {
            if let Event::Usage { usage, .. } = event {
                self.count(&usage);
            }
        }
    }

    pub(super) fn step(&mut self) {
        let number = self.random.u8(0..SESSIONS);
        match self.random.u8(0..4) {
            0 => self.change(number),
            _ => self.packet(number),
        }
        if self.random.u8(0..10) == 0 {
            self.switch.read_all_counters();
        }
        self.now = self.now + Span::from_millis(1);
        self.switch.run(self.now);
        self.collect();
    }

    /// On a switch that works again, all operations end; then the tables match the rules.
    pub(super) fn check(&mut self) {
        self.switch.driver().faulty().set_chances(FaultRates::default());
        for _ in 0..30 {
            self.now = self.now + Span::from_millis(20);
            self.switch.run(self.now);
        }
        self.collect();
        self.done.checks += 1;
        let filtered = self.switch.sessions().states().filter(|(_, state)| !state.filters.is_empty());
        self.done.filtered += filtered.count() as u64;
        for (place, expected) in self.sessions.iter().enumerate() {
            let state = self.switch.software().rules_of(Time::default(), Seid(place as u64 + 1));
            let parts = |rules: &RuleSet| (rules.pdrs.clone(), rules.fars.clone(), rules.qers.clone());
            assert_eq!(state.map(parts), expected.as_ref().map(parts), "seed {}: session {place}", self.seed);
        }
        let tables = self.switch.tables();
        let state = self.switch.driver().model().state();
        let entries = tables.into_iter().filter_map(|table| state.entries(table)).flatten();
        let found: ReadEntries = entries.map(|entry| (entry.key.clone(), entry.clone())).collect();
        let wrong = self.switch.differences(found);
        let wrong: Vec<_> = wrong.into_iter().filter(|unit| !unit.updates.is_empty()).collect();
        assert!(wrong.is_empty(), "seed {}: {wrong:?}", self.seed);
        let chances = self.chances;
        self.switch.driver().faulty().set_chances(chances);
    }

    /// Each drop is reported once, except for those that a restart lost.
    fn check_drops(&mut self) {
        let told = self.switch.drops().total_drops();
        let before = self.switch.driver().book().dropped;
        let all = before + drops(self.switch.driver().model().state());
        // Drops from before the last controller connected are not reported by it.
        let is_well = if before == 0 && self.done.successions == 0 { told == all } else { told <= all };
        assert!(is_well, "seed {}: {told} of {all} drops were told", self.seed);
    }

    /// Everything ends, on a switch that works again: no state is left, and every transmitted packet was reported once,
    /// except for those whose counters a restart cleared.
    pub(super) fn end(mut self) -> Done {
        self.chances = FaultRates::default();
        self.check();
        for place in 0..self.sessions.len() {
            if self.sessions[place].take().is_some() {
                let applied = self.apply(&Plan::removal(Seid(place as u64 + 1)));
                self.count(&applied.unwrap().usage);
            }
        }
        self.check();
        assert!(self.switch.is_empty(), "seed {}: {:?}", self.seed, self.switch.len());
        self.check_drops();
        let octets = self.octets;
        let frames = [ETHERNET + CPU + octets, ETHERNET + CPU + TUNNEL + octets];
        let (lost, undelivered) = {
            let book = self.switch.driver().book();
            (book.lost, book.undelivered.iter().filter(|length| frames.contains(length)).count())
        };
        let lost = u64::try_from(lost).unwrap();
        let remaining = (self.done.sent + undelivered as u64) * octets as u64;
        assert_eq!(self.reported + lost * octets as u64, remaining, "seed {}: {:?}", self.seed, self.done);
        let statistics = self.switch.statistics();
        let restarts = self.switch.driver().faulty().restarts();
        assert_eq!(statistics.lost_counters, 0, "seed {}", self.seed);
        Done {
            lost,
            restarts,
            read_back: statistics.read_back,
            reconciliations: statistics.reconciliations,
            ..self.done
        }
    }
}

//! A driver that fails: it cannot be reached, does not answer, does half of a batch, or answers late.

use causeway_dataplane::{Dataplane, Event};
use causeway_p4::profiles;
use causeway_reference::Limits;
use causeway_rules::{Extras, RuleSet, Usage, plan_deletion, plan_establishment, plan_modification};
use causeway_types::{FarId, Seid, Span, Time};

use super::world::{START, gnb, reply, session, to_gnb, topology};
use crate::backend::Switch;
use crate::backend::frames::plain_frame;
use crate::backend::in_process::{N6, parts};
use crate::driver::{Chances, Faulty, Program};
use crate::model::Model;
use crate::model::upf::Upf;

const SESSIONS: u8 = 12;

struct World {
    switch: Switch<Faulty<Model<Upf>>>,
    now: Time,
    random: fastrand::Rng,
    sessions: Vec<Option<RuleSet>>,
    /// Octets of user packets that left, and that were reported.
    sent: u64,
    reported: u64,
    refused: u64,
}

impl World {
    fn new(chances: Chances, seed: u64) -> Self {
        let (model, program, config) =
            parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
        let driver = Faulty::new(model, chances, Span::from_millis(3), seed);
        // A change is given up soon, so that some are refused.
        let config = crate::backend::Config { attempts: 2, retry: Span::from_micros(10), ..config };
        Self {
            switch: Switch::new(driver, &program, config).unwrap(),
            now: START,
            random: fastrand::Rng::with_seed(seed),
            sessions: vec![None; usize::from(SESSIONS)],
            sent: 0,
            reported: 0,
            refused: 0,
        }
    }

    fn count(&mut self, usage: &[Usage]) {
        let octets = |usage: &Usage| usage.volume.map_or(0, |volume| volume.total());
        self.reported += usage.iter().map(octets).sum::<u64>();
    }

    /// A change of a session, which the switch may refuse.
    fn change(&mut self, number: u8) {
        let seid = Seid(u64::from(number) + 1);
        let place = usize::from(number);
        let (plan, after) = match &self.sessions[place] {
            None => {
                let rules = session(number);
                (plan_establishment(seid, &rules), Some(rules))
            }
            Some(_) if self.random.u8(0..4) == 0 => (plan_deletion(seid), None),
            Some(rules) => {
                let mut new = rules.clone();
                new.fars.insert(FarId(2), to_gnb(gnb(self.random.usize(0..2), number)));
                (plan_modification(seid, rules, &new, &Extras::default()), Some(new))
            }
        };
        match self.switch.apply(self.now, &plan) {
            Ok(applied) => {
                self.count(&applied.usage);
                self.sessions[place] = after;
            }
            Err(_) => self.refused += 1,
        }
        // Its answers may have come later than they were asked for.
        self.now = self.now + Span::from_millis(10);
    }

    fn packet(&mut self, number: u8) {
        let packet = reply(number, self.random.usize(10..500));
        self.now = self.now + Span::from_micros(50);
        let model = self.switch.driver().inner();
        model.receive(self.now, N6, &plain_frame(&packet));
        while model.poll_sent().is_some() {
            self.sent += packet.len() as u64;
        }
    }

    fn step(&mut self) {
        let number = self.random.u8(0..SESSIONS);
        match self.random.u8(0..4) {
            0 => self.change(number),
            _ => self.packet(number),
        }
        if self.random.u8(0..10) == 0 {
            self.switch.look();
        }
        self.now = self.now + Span::from_millis(1);
        self.switch.go_on(self.now);
        while let Some(event) = self.switch.poll_event() {
            if let Event::Usage { usage, .. } = event {
                self.count(&usage);
            }
        }
    }

    /// Everything ends, on a switch that works again.
    fn end(&mut self) {
        self.switch.driver().set_chances(Chances::default());
        for number in 0..SESSIONS {
            if self.sessions[usize::from(number)].take().is_some() {
                let applied = self.switch.apply(self.now, &plan_deletion(Seid(u64::from(number) + 1)));
                self.count(&applied.unwrap().usage);
                self.now = self.now + Span::from_millis(10);
            }
        }
        for _ in 0..10 {
            self.now = self.now + Span::from_millis(10);
            self.switch.go_on(self.now);
        }
    }
}

fn run(chances: Chances, seeds: std::ops::Range<u64>) -> u64 {
    let mut refused = 0;
    for seed in seeds {
        let mut world = World::new(chances, seed);
        (0..400).for_each(|_| world.step());
        world.end();
        assert_eq!(world.reported, world.sent, "seed {seed}");
        assert!(world.sent > 10_000, "seed {seed}");
        assert!(world.switch.is_empty(), "seed {seed}: {:?}", world.switch.len());
        assert_eq!(world.switch.statistics().lost_counters, 0, "seed {seed}");
        assert_eq!(rows_left(&mut world), 0, "seed {seed}");
        refused += world.refused;
    }
    refused
}

/// Rows of rules and entries for accounting that are still in the tables.
fn rows_left(world: &mut World) -> usize {
    let state = world.switch.driver().inner().state();
    let names = ["simple", "complex", "pre_qos", "post_qos"];
    let tables =
        state.program().tables.iter().filter(|table| names.iter().any(|name| table.name.contains(name)));
    tables.map(|table| state.entries(table.id).map_or(0, Iterator::count)).sum()
}

// Input:  changes and packets, while one request in ten finds the switch out of reach.
// Output: some changes are refused; every octet that left was reported once, and nothing is left in the tables.
#[test]
fn out_of_reach_changes_nothing() {
    assert!(run(Chances { unavailable: 100, ..Chances::default() }, 0..10) > 0);
}

// Input:  the same, while answers are lost, batches are half done, and answers come late.
// Output: the state is read and the rest written: no change is refused, no octet is lost or counted twice.
#[test]
fn what_is_in_doubt_is_read() {
    let chances = Chances { unanswered: 60, half: 60, late: 100, ..Chances::default() };
    assert_eq!(run(chances, 20..30), 0);
}

// Input:  all of these together.
// Output: as before.
#[test]
fn all_kinds_of_trouble_at_once() {
    let chances = Chances { unavailable: 60, unanswered: 40, half: 40, late: 60 };
    run(chances, 40..50);
}

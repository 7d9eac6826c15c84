//! In which order the switch is asked for what.

use std::collections::{HashMap, VecDeque};

use causeway_dataplane::Dataplane;
use causeway_model::{Plan, PlanOptions, RuleSet, TosMarking, plan_modification};
use causeway_p4::profiles;
use causeway_slowpath::Limits;
use causeway_types::{FarId, Seid, Span, Time};

use super::fixture::{START, buffering, gnb, session, topology};
use crate::backend::Switch;
use crate::backend::layout::TEMPLATES;
use crate::backend::local_model::parts;
use crate::driver::{
    Entry, EntryKey, FieldMatch, Link, Outcome, Program, Request, SwitchDriver, Ticket, Update,
};
use crate::model::Model;
use crate::model::upf::Upf;

/// What went over a driver.
enum Step {
    Asked(Ticket, Vec<Update>),
    Answered(Ticket),
}

/// A model that answers after a while, and what it was asked.
struct Recorder {
    inner: Model<Upf>,
    answers: VecDeque<(Time, Ticket, Outcome)>,
    steps: Vec<Step>,
}

impl SwitchDriver for Recorder {
    fn submit(&mut self, now: Time, request: Request) -> Ticket {
        let updates = if let Request::Write(updates) = &request { updates.clone() } else { Vec::new() };
        let ticket = self.inner.submit(now, request);
        self.steps.push(Step::Asked(ticket, updates));
        while let Some((ticket, outcome)) = self.inner.poll(now) {
            self.answers.push_back((now + Span::from_millis(1), ticket, outcome));
        }
        ticket
    }

    fn poll(&mut self, now: Time) -> Option<(Ticket, Outcome)> {
        self.answers.front().filter(|(at, ..)| *at <= now)?;
        let (_, ticket, outcome) = self.answers.pop_front()?;
        self.steps.push(Step::Answered(ticket));
        Some((ticket, outcome))
    }

    fn next_event(&self) -> Option<Time> {
        self.answers.front().map(|(at, ..)| *at)
    }

    fn poll_packet(&mut self, now: Time) -> Option<Vec<u8>> {
        self.inner.poll_packet(now)
    }

    fn poll_link(&mut self, now: Time) -> Option<Link> {
        self.inner.poll_link(now)
    }
}

/// Templates by their entries' keys.
type Templates = HashMap<EntryKey, Entry>;

/// What the entry that a number finds among templates does, by table.
fn found(templates: &Templates, number: u128) -> Vec<(u32, u32, Vec<u128>)> {
    let is_of = |entry: &&Entry| match &entry.key.fields[..] {
        [FieldMatch::Ternary { value, mask }] => number & mask == *value,
        _ => false,
    };
    let mut entries: Vec<&Entry> = templates.values().filter(is_of).collect();
    entries.sort_by_key(|entry| (entry.key.table, std::cmp::Reverse(entry.key.priority)));
    entries.dedup_by_key(|entry| entry.key.table);
    entries.into_iter().map(|entry| (entry.key.table, entry.action, entry.parameters.clone())).collect()
}

fn carry_out(templates: &mut Templates, tables: &[u32], updates: &[Update]) {
    for update in updates {
        match update {
            Update::Insert(entry) | Update::Modify(entry) if tables.contains(&entry.key.table) => {
                templates.insert(entry.key.clone(), entry.clone());
            }
            Update::Delete(key) => drop(templates.remove(key)),
            Update::Insert(_) | Update::Modify(_) | Update::SetMeter { .. } | Update::SetRegister { .. } => {}
        }
    }
}

// Input:  in profile hip4, a session; changes of it whose rules do what none did before: other templates, in new ranges and halves of them; a switch that
//         answers after a while.
// Output: when a batch of the session is asked for, its new numbers find the right templates among those that are confirmed, so that no packet
//         finds a rule without its template.
#[test]
fn templates_come_first() {
    let (inner, program, config) =
        parts(&Program::from(&profiles::HIP4), topology(), Limits::default()).unwrap();
    let recorder = Recorder { inner, answers: VecDeque::new(), steps: Vec::new() };
    let mut switch = Switch::new(recorder, &program, config).unwrap();
    let tables = TEMPLATES.map(|name| program.table_named(name).unwrap().id);
    let accounting = ["post_qos_a", "post_qos_b"].map(|name| program.table_named(name).unwrap().id);
    let (mut confirmed, mut under_way) = (Templates::default(), HashMap::<Ticket, Vec<Update>>::new());
    let (mut numbers, mut rules) = (0, RuleSet::default());
    for step in 0..20_u8 {
        let mut new = session(0);
        if step % 5 == 4 {
            new.fars.insert(FarId(2), buffering(gnb(0, 0)));
        }
        let uplink = new.fars.get_mut(&FarId(1)).unwrap();
        uplink.forwarding.as_mut().unwrap().marking = Some(TosMarking::new((step + 1) << 2, 0xfc));
        let plan = match step {
            0 => Plan::install(Seid(1), new.clone()),
            _ => plan_modification(Seid(1), &rules, &new, &PlanOptions::default()),
        };
        switch.apply(START + Span::from_secs(step.into()), &plan).unwrap();
        rules = new;
        let state = switch.driver().inner.state();
        let entries = tables.iter().flat_map(|table| state.entries(*table).unwrap());
        let right: Templates = entries.map(|entry| (entry.key.clone(), entry.clone())).collect();
        for step in std::mem::take(&mut switch.driver().steps) {
            let (ticket, updates) = match step {
                Step::Answered(ticket) => {
                    carry_out(&mut confirmed, &tables, &under_way.remove(&ticket).unwrap_or_default());
                    continue;
                }
                Step::Asked(ticket, updates) => (ticket, updates),
            };
            for update in &updates {
                if let Update::Insert(Entry { key, .. }) = update
                    && let [FieldMatch::Exact(number)] = key.fields[..]
                    && accounting.contains(&key.table)
                {
                    numbers += 1;
                    assert_eq!(found(&confirmed, number), found(&right, number), "{number}");
                }
            }
            under_way.insert(ticket, updates);
        }
    }
    assert!(numbers > 15, "{numbers} numbers");
}

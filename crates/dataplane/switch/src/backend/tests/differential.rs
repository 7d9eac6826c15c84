//! Random sessions, changes and packets: the switch does the same as the slow path, to the octet.

use std::collections::BTreeSet;

use causeway_dataplane::{Dataplane, Disposition, Egress, PacketEngine};
use causeway_model::{Plan, PlanOptions, RuleSet, plan_modification};
use causeway_p4::{Contract, profiles};
use causeway_types::{Seid, Span, Time, UrrId};

use super::choices::Choices;
use super::fixture::{
    SERVERS, START, events, from_gnb, from_network, on_switch, slow_path, tunnelled, udp, ue,
};
use crate::backend::InProcess;

const SESSIONS: u8 = 3;

struct Pair {
    oracle: causeway_slowpath::SlowPath,
    switch: InProcess,
    now: Time,
    sessions: [Option<RuleSet>; SESSIONS as usize],
    choices: Choices,
    packets: u64,
    changes: u64,
    /// Packets of sessions that have filters on the switch, in profile `direct`.
    filtered: u64,
}

impl Pair {
    fn new(contract: &Contract, seed: u64) -> Self {
        Self {
            oracle: slow_path(),
            switch: on_switch(contract),
            now: START,
            sessions: [None, None, None],
            choices: Choices::new(seed),
            packets: 0,
            changes: 0,
            filtered: 0,
        }
    }

    fn change(&mut self, number: u8) {
        let seid = Seid(u64::from(number) + 1);
        let state = self.sessions[usize::from(number)].clone();
        let (plan, after) = match state {
            None => {
                let rules = self.choices.rules(number);
                (Plan::install(seid, rules.clone()), Some(rules))
            }
            Some(rules) if self.choices.chance(10) => (Plan::removal(seid), {
                drop(rules);
                None
            }),
            Some(rules) => {
                let new = self.choices.altered(&rules, number);
                let queries =
                    if self.choices.chance(20) { BTreeSet::from([UrrId(2)]) } else { BTreeSet::new() };
                let extras = PlanOptions { queries, ..PlanOptions::default() };
                (plan_modification(seid, &rules, &new, &extras), Some(new))
            }
        };
        self.changes += 1;
        let theirs = self.oracle.apply(self.now, &plan);
        let ours = self.switch.apply(self.now, &plan);
        assert_eq!(ours, theirs, "{plan:?}");
        self.sessions[usize::from(number)] = after;
        self.compare_sent();
        self.compare_events();
    }

    fn packet(&mut self, number: u8) {
        self.packets += 1;
        let server =
            (SERVERS[self.choices.random.usize(0..2)], [53, 80, 8080][self.choices.random.usize(0..3)]);
        let octets = self.choices.octets();
        let (ingress, packet) = if self.choices.random.bool() {
            let from = if self.choices.chance(5) { ue(number + 1) } else { ue(number) };
            let qfi = [Some(8), Some(9), None][self.choices.random.usize(0..3)];
            let mut user = udp((from, 40_000), server, octets);
            self.mark(&mut user);
            (from_gnb(), tunnelled(number, qfi, &user))
        } else {
            let mut user = udp(server, (ue(number), 40_000), octets);
            self.mark(&mut user);
            (from_network(), user)
        };
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        let expected = self.oracle.process(self.now, &ingress, &packet, &mut theirs);
        let seen = self.switch.process(self.now, &ingress, &packet, &mut ours);
        assert_eq!(kind(seen), kind(expected), "{ingress:?}\n{:?}", self.sessions[usize::from(number)]);
        assert_eq!(bare(ours), bare(theirs));
        self.compare_events();
        let state = self.switch.switch().sessions().get(Seid(u64::from(number) + 1));
        self.filtered += u64::from(state.is_some_and(|state| !state.filters.is_empty()));
    }

    /// Some packets have a DSCP.
    fn mark(&mut self, user: &mut [u8]) {
        if self.choices.random.bool() {
            user[1] = 0xb8;
            user[10..12].fill(0);
            let sum = causeway_packet::checksum::checksum(&user[..20]);
            user[10..12].copy_from_slice(&sum.to_be_bytes());
        }
    }

    fn compare_sent(&mut self) {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        self.oracle.flush(&mut theirs);
        self.switch.flush(&mut ours);
        assert_eq!(bare(ours), bare(theirs));
    }

    fn compare_events(&mut self) {
        let theirs = events(&mut self.oracle);
        assert_eq!(events(&mut self.switch), theirs);
    }

    fn step(&mut self) {
        let number = self.choices.random.u8(0..SESSIONS);
        match self.choices.random.u8(0..20) {
            0..=2 => self.change(number),
            3 => {
                self.now = self.now + Span::from_millis(self.choices.random.u64(1..2000));
                self.oracle.advance(self.now);
                self.switch.advance(self.now);
                self.compare_events();
            }
            _ => self.packet(number),
        }
    }

    /// All sessions end: no state of them is left on the switch.
    fn end(mut self) -> [u64; 3] {
        for number in 0..SESSIONS {
            if self.sessions[usize::from(number)].take().is_some() {
                let plan = Plan::removal(Seid(u64::from(number) + 1));
                let theirs = self.oracle.apply(self.now, &plan);
                assert_eq!(self.switch.apply(self.now, &plan), theirs);
            }
        }
        self.switch.advance(self.now);
        assert!(self.switch.switch().is_empty(), "{:?}", self.switch.switch().len());
        assert_eq!(self.switch.counters().buffered, 0);
        assert_eq!(self.switch.counters().received(), self.oracle.counters().received());
        [self.packets, self.changes, self.filtered]
    }
}

/// The output without Error Indications: the switch drops packets of unknown tunnels silently.
fn bare(sent: Vec<(Egress, Vec<u8>)>) -> Vec<(Egress, Vec<u8>)> {
    let is_error =
        |egress: &Egress, packet: &[u8]| matches!(egress, Egress::Gtpu { .. }) && packet.get(1) == Some(&26);
    sent.into_iter().filter(|(egress, packet)| !is_error(egress, packet)).collect()
}

/// Drop reasons differ where the switch cannot distinguish sessions from rules.
fn kind(fate: Disposition) -> &'static str {
    match fate {
        Disposition::Forwarded => "forwarded",
        Disposition::Buffered => "buffered",
        Disposition::Consumed => "consumed",
        Disposition::Dropped(_) => "dropped",
    }
}

/// Returns the number of packets for sessions that have filters on the switch.
fn compare(contract: &Contract, seeds: std::ops::Range<u64>, steps: u32) -> u64 {
    let [mut packets, mut changes, mut filtered] = [0; 3];
    for seed in seeds {
        let mut pair = Pair::new(contract, seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            (0..steps).for_each(|_| pair.step());
            pair.end()
        }));
        match outcome {
            Ok(done) => {
                [packets, changes, filtered] = [packets + done[0], changes + done[1], filtered + done[2]];
            }
            Err(panic) => {
                eprintln!("{} with seed {seed}", contract.profile);
                std::panic::resume_unwind(panic);
            }
        }
    }
    assert!(packets > 1000 && changes > 100, "{packets} packets, {changes} changes");
    filtered
}

// Input:  random sessions with filters, QFIs, gates, several URRs; changes, queries, packets of all kinds, time.
// Output: profile hip4 responds, sends, buffers, counts and reports exactly as the slow path.
#[test]
fn hip4_does_as_the_slow_path() {
    compare(&profiles::HIP4, 0..20, 200);
}

// Input:  the same, for the profile whose rules are found by index, and whose filters have classes that all sessions
//         share.
// Output: as for hip4, while many packets are for sessions that have filters on the switch.
#[test]
fn direct_does_as_the_slow_path() {
    let filtered = compare(&profiles::DIRECT, 200..240, 200);
    assert!(filtered > 1000, "{filtered} packets of sessions with filters on the switch");
}

// Input:  the same, for the profiles that store actions in rule entries or in tables by number.
// Output: as for hip4.
#[test]
fn the_other_profiles_do_as_the_slow_path() {
    for contract in [&profiles::RED_SPT, &profiles::RED, &profiles::BASELINE] {
        compare(contract, 100..107, 200);
    }
}

//! Random sessions, changes and packets: the switch does the same as the slow path, to the octet.

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use causeway_dataplane::{Dataplane, Disposition, Egress, Ingress, PacketEngine, Topology};
use causeway_model::{Far, Forwarding, Pdr, Plan, PlanOptions, RuleSet, plan_modification};
use causeway_p4::{Contract, profiles};
use causeway_slowpath::{Limits, SlowPath};
use causeway_types::{FarId, NetworkInstance, Seid, Span, Time, UrrId};

use super::choices::Choices;
use super::fixture::{
    SERVERS, START, events, from_gnb, tenant_topology, to_network, topology, tunnelled, udp, ue,
};
use crate::backend::InProcess;
use crate::driver::Program;

const SESSIONS: u8 = 3;

struct Pair {
    oracle: SlowPath,
    switch: InProcess,
    now: Time,
    sessions: [Option<RuleSet>; SESSIONS as usize],
    /// The data networks. Sessions are in them by turns, with the same addresses.
    networks: Vec<NetworkInstance>,
    choices: Choices,
    packets: u64,
    changes: u64,
    /// Packets of sessions that have filters on the switch, in profile `direct`.
    filtered: u64,
}

impl Pair {
    fn new(contract: &Contract, topology: &Topology, seed: u64) -> Self {
        let limits = Limits::default();
        Self {
            oracle: SlowPath::new(topology.clone(), limits),
            switch: InProcess::new(&Program::from(contract), topology.clone(), limits).unwrap(),
            now: START,
            sessions: [None, None, None],
            networks: topology.networks.iter().map(|network| network.instance.clone()).collect(),
            choices: Choices::new(seed),
            packets: 0,
            changes: 0,
            filtered: 0,
        }
    }

    /// The data network of a session, or another one.
    fn network(&self, number: u8) -> &NetworkInstance {
        &self.networks[usize::from(number) % self.networks.len()]
    }

    /// The address of a session's UE: in each data network there is one with it.
    fn ue(&self, number: u8) -> Ipv4Addr {
        ue(number / self.networks.len() as u8)
    }

    /// The rules as those of the session's data network. With several, some uplink packets are for another one.
    fn in_its_network(&mut self, mut rules: RuleSet, number: u8) -> RuleSet {
        if self.networks.len() == 1 {
            return rules;
        }
        let (own, other) = (self.network(number).clone(), self.network(number + 1).clone());
        let (ue, choices) = (self.ue(number), &mut self.choices);
        rules.pdrs.replace(|pdr| {
            let mut pdr = Pdr::clone(&pdr);
            pdr.pdi.ue.as_mut().unwrap().v4 = Some(ue);
            pdr.pdi.network_instance = pdr.pdi.network_instance.map(|_| own.clone());
            if pdr.pdi.tunnel.is_some() && choices.chance(5) {
                pdr.far = FarId(5);
            }
            pdr.into()
        });
        let mut leads_to = |id: u32, network: NetworkInstance| {
            let far = rules.fars.get(&FarId(id)).cloned().unwrap_or(Far { id: FarId(id), ..to_network() });
            let forwarding = far.forwarding.map(|it| Forwarding { network_instance: Some(network), ..it });
            rules.fars.insert(FarId(id), Far { forwarding, ..far });
        };
        for id in [1, 4] {
            leads_to(id, own.clone());
        }
        leads_to(5, other);
        rules
    }

    fn change(&mut self, number: u8) {
        let seid = Seid(u64::from(number) + 1);
        let state = self.sessions[usize::from(number)].clone();
        let (plan, after) = match state {
            None => {
                let rules = self.choices.rules(number);
                let rules = self.in_its_network(rules, number);
                (Plan::install(seid, rules.clone()), Some(rules))
            }
            Some(rules) if self.choices.chance(10) => (Plan::removal(seid), {
                drop(rules);
                None
            }),
            Some(rules) => {
                let new = self.choices.altered(&rules, number);
                let new = self.in_its_network(new, number);
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
            let spoofed = self.choices.chance(5).then(|| self.ue(number + self.networks.len() as u8));
            let from = spoofed.unwrap_or(self.ue(number));
            let qfi = [Some(8), Some(9), None][self.choices.random.usize(0..3)];
            let mut user = udp((from, 40_000), server, octets);
            self.mark(&mut user);
            (from_gnb(), tunnelled(number, qfi, &user))
        } else {
            let mut user = udp(server, (self.ue(number), 40_000), octets);
            self.mark(&mut user);
            let of = number + u8::from(self.choices.chance(10));
            (Ingress::Ip { network: self.network(of).clone() }, user)
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
    compare_in(contract, &topology(), seeds, steps)
}

fn compare_in(contract: &Contract, topology: &Topology, seeds: std::ops::Range<u64>, steps: u32) -> u64 {
    let [mut packets, mut changes, mut filtered] = [0; 3];
    for seed in seeds {
        let mut pair = Pair::new(contract, topology, seed);
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

// Input:  the same in two data networks, each with a session of the same UE address; some uplink packets are for the other data network, some downlink packets
//         come from it.
// Output: in both profiles with segments each packet leaves to the data network of its rule, and what comes from one reaches sessions of that one alone; all is
//         counted and reported exactly as by the slow path.
#[test]
fn tenants_are_as_in_the_slow_path() {
    compare_in(&profiles::HIP4_VXLAN, &tenant_topology(), 300..320, 200);
    compare_in(&profiles::DIRECT_VXLAN, &tenant_topology(), 320..340, 200);
}

//! Random runs of a chain of three, with an SMF that repeats its requests, until all is quiet.

use std::collections::BTreeMap;

use causeway_chain::{Coordinator, Member, Message, OPEN_REQUESTS, Output, Replica};
use proptest::prelude::*;

use crate::tokens::{Operation, Token, Tokens};

const NODES: u16 = 3;
const SESSIONS: u8 = 4;
/// Steps with failures; then everything is repaired.
const STEPS: usize = 600;

type Sent = (Member, Member, Message<u8, Token, Token>);

/// What the SMF knows of a session: its requests by sequence number, with the responses.
#[derive(Default)]
struct Requests(Vec<(Operation, Option<Token>)>);

struct World {
    random: fastrand::Rng,
    replicas: Vec<Option<Replica<Tokens>>>,
    incarnation: u32,
    coordinator: Coordinator,
    network: Vec<Sent>,
    smf: BTreeMap<u8, Requests>,
}

impl World {
    fn new(seed: u64) -> Self {
        let members: Vec<Member> = (0..NODES).map(|node| Member::new(node, 1)).collect();
        let coordinator = Coordinator::new(members.clone());
        let start = |member: &Member| {
            let mut replica = Replica::new(*member, Tokens::new(*member));
            replica.configure(coordinator.configuration());
            Some(replica)
        };
        Self {
            random: fastrand::Rng::with_seed(seed),
            replicas: members.iter().map(start).collect(),
            incarnation: 1,
            network: Vec::new(),
            smf: (0..SESSIONS).map(|session| (session, Requests::default())).collect(),
            coordinator,
        }
    }

    fn carry_out(&mut self, by: Member, outputs: Vec<Output<u8, Token, Token>>) {
        for output in outputs {
            match output {
                Output::Send { to, message } => self.network.push((by, to, message)),
                Output::Ready { epoch } => drop(self.coordinator.ready(epoch)),
                Output::Answer { key, sequence, answer } => {
                    let requests = self.smf.get_mut(&key).unwrap();
                    let (_, known) = &mut requests.0[sequence as usize];
                    assert!(known.is_none_or(|known| known == answer), "two responses to one request");
                    *known = Some(answer);
                }
            }
        }
    }

    /// The SMF sends the request that it waits for to every member, or a new one.
    fn request(&mut self, session: u8, may_be_new: bool) {
        let requests = self.smf.get_mut(&session).unwrap();
        if requests.0.last().is_none_or(|(_, answer)| answer.is_some()) {
            if !may_be_new {
                return;
            }
            let operation = if self.random.u8(..3) == 0 { Operation::Delete } else { Operation::Put };
            requests.0.push((operation, None));
        }
        // Now and then an old one, which a network repeats.
        let back = if self.random.u8(..4) == 0 { self.random.usize(..OPEN_REQUESTS) } else { 0 };
        let sequence = (requests.0.len() - 1).saturating_sub(back);
        let operation = requests.0[sequence].0;
        for node in 0..self.replicas.len() {
            let Some(replica) = &mut self.replicas[node] else { continue };
            let member = replica.member();
            if let Ok(outputs) = replica.request(&session, sequence as u32, &operation) {
                self.carry_out(member, outputs);
            }
        }
    }

    fn deliver(&mut self, index: usize, is_lossy: bool) {
        let keeps = is_lossy && self.random.u8(..8) == 0;
        let (from, to, message) =
            if keeps { self.network[index].clone() } else { self.network.swap_remove(index) };
        if is_lossy && self.random.u8(..6) == 0 {
            return;
        }
        let replica = self.replicas[usize::from(to.node)].as_mut().filter(|replica| replica.member() == to);
        if let Some(outputs) = replica.map(|replica| replica.receive(from, &message)) {
            self.carry_out(to, outputs);
        }
    }

    fn configure(&mut self, node: usize) {
        let Some(replica) = &mut self.replicas[node] else { return };
        let member = replica.member();
        let configuration = self.coordinator.configuration().clone();
        let is_out = configuration.position(member).is_none() && configuration.joining != Some(member);
        let outputs = replica.configure(&configuration);
        self.carry_out(member, outputs);
        if is_out {
            self.coordinator.join(member);
        }
    }

    fn audit(&mut self, node: usize) {
        let Some(replica) = &mut self.replicas[node] else { return };
        let (member, outputs) = (replica.member(), replica.audit());
        self.carry_out(member, outputs);
    }

    /// A member fails, if another one remains in the chain.
    fn crash(&mut self, node: usize) {
        let members = &self.coordinator.configuration().members;
        let lives = |member: &&Member| {
            let replica = self.replicas[usize::from(member.node)].as_ref();
            usize::from(member.node) != node && replica.is_some_and(|it| it.member() == **member)
        };
        if members.iter().any(|member| lives(&member)) {
            self.replicas[node] = None;
        }
    }

    fn restart(&mut self, node: usize) {
        if self.replicas[node].is_none() {
            self.incarnation += 1;
            let member = Member::new(node as u16, self.incarnation);
            self.replicas[node] = Some(Replica::new(member, Tokens::new(member)));
            self.coordinator.join(member);
        }
    }

    fn step(&mut self) {
        let node = self.random.usize(..self.replicas.len());
        match self.random.u8(..40) {
            0..=7 => {
                let session = self.random.u8(..SESSIONS);
                self.request(session, true);
            }
            8..=27 if !self.network.is_empty() => {
                let index = self.random.usize(..self.network.len());
                self.deliver(index, true);
            }
            28..=31 => self.configure(node),
            32..=34 => self.audit(node),
            35 => self.crash(node),
            36..=37 => self.restart(node),
            38 => drop(self.replicas[node].is_none() && self.coordinator.failed(node as u16)),
            _ => {}
        }
    }

    /// All members return, the network loses nothing, and the SMF repeats its requests.
    fn repair(&mut self) {
        for _ in 0..40 {
            for node in 0..self.replicas.len() {
                self.restart(node);
                self.configure(node);
                self.audit(node);
            }
            while !self.network.is_empty() {
                self.deliver(0, false);
            }
            (0..SESSIONS).for_each(|session| self.request(session, false));
        }
    }

    fn check(&self) {
        let configuration = self.coordinator.configuration();
        assert_eq!(configuration.members.len(), usize::from(NODES), "{configuration:?}");
        let mut expected = BTreeMap::new();
        for (session, requests) in &self.smf {
            for (sequence, (_, answer)) in requests.0.iter().enumerate() {
                assert!(answer.is_some(), "request {sequence} of session {session} has no response");
            }
            if let Some((Operation::Put, Some(token))) = requests.0.last() {
                expected.insert(*session, *token);
            }
        }
        for replica in self.replicas.iter().flatten() {
            let sessions: BTreeMap<u8, Token> =
                replica.sessions().map(|(key, token)| (*key, *token)).collect();
            assert_eq!(sessions, expected, "{:?}", replica.member());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    // Input:  random requests, lost, repeated and reordered messages, failures and returns; then no more of these.
    // Output: each request is answered once, however often it is repeated; all members have the sessions that the last
    //         responses imply.
    #[test]
    fn all_is_answered_and_equal_in_the_end(seed: u64) {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        world.repair();
        world.check();
    }
}

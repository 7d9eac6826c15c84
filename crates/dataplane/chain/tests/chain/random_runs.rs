//! Random runs of a chain of three, with an SMF that repeats its requests, until all is quiet.

use std::collections::BTreeMap;

use causeway_chain::{Coordinator, Member, Message, OPEN_REQUESTS, Output, Replica, Update};
use proptest::prelude::*;

use crate::tokens::{Operation, Token, Tokens};

const NODES: u16 = 3;
const SESSIONS: u8 = 4;
/// Steps with failures; then everything is repaired.
const STEPS: usize = 600;

type Sent = (Member, Member, Message<u8, Token, Token>);

/// What the SMF knows of a session: its requests by sequence number, with the responses.
#[derive(Default)]
struct Requests {
    all: Vec<(Operation, Option<Token>)>,
    /// It was deleted, and no request of it is repeated any more.
    is_over: bool,
}

struct World {
    random: fastrand::Rng,
    replicas: Vec<Option<Replica<Tokens>>>,
    incarnation: u32,
    coordinator: Coordinator,
    network: Vec<Sent>,
    smf: BTreeMap<u8, Requests>,
    /// How often the chain began again without sessions, and sessions that a member forgot.
    begun: u32,
    forgotten: u32,
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
            begun: 0,
            forgotten: 0,
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
                    let (_, known) = &mut requests.all[sequence as usize];
                    assert!(known.is_none_or(|known| known == answer), "two responses to one request");
                    *known = Some(answer);
                }
            }
        }
    }

    /// The SMF sends the request that it waits for to every member, or a new one.
    fn request(&mut self, session: u8, may_be_new: bool) {
        let requests = self.smf.get_mut(&session).unwrap();
        if requests.is_over {
            return;
        }
        if requests.all.last().is_none_or(|(_, answer)| answer.is_some()) {
            if !may_be_new {
                return;
            }
            let operation = if self.random.u8(..3) == 0 { Operation::Delete } else { Operation::Put };
            requests.all.push((operation, None));
        }
        // Now and then an old one, which a network repeats.
        let back = if self.random.u8(..4) == 0 { self.random.usize(..OPEN_REQUESTS) } else { 0 };
        let sequence = (requests.all.len() - 1).saturating_sub(back);
        let operation = requests.all[sequence].0;
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
            self.join(member);
        }
    }

    fn audit(&mut self, node: usize) {
        let Some(replica) = &mut self.replicas[node] else { return };
        let (member, outputs) = (replica.member(), replica.audit());
        self.carry_out(member, outputs);
    }

    /// A member fails, if another one remains in the chain, and rarely the last one.
    fn crash(&mut self, node: usize) {
        let members = &self.coordinator.configuration().members;
        let lives = |member: &&Member| {
            let replica = self.replicas[usize::from(member.node)].as_ref();
            usize::from(member.node) != node && replica.is_some_and(|it| it.member() == **member)
        };
        if members.iter().any(|member| lives(&member)) || self.random.u8(..8) == 0 {
            self.replicas[node] = None;
        }
    }

    fn restart(&mut self, node: usize) {
        if self.replicas[node].is_none() {
            self.incarnation += 1;
            let member = Member::new(node as u16, self.incarnation);
            self.replicas[node] = Some(Replica::new(member, Tokens::new(member)));
            self.join(member);
        }
    }

    /// A member without sessions asks to join. The last one of the chain begins again: SMFs see a restart.
    fn join(&mut self, member: Member) {
        if self.coordinator.begin_again(member) {
            self.begun += 1;
            self.smf.values_mut().for_each(|requests| *requests = Requests::default());
        } else {
            self.coordinator.join(member);
        }
    }

    /// The coordinator fails, and goes on with its file.
    fn restart_coordinator(&mut self) {
        self.coordinator = Coordinator::from_configuration(self.coordinator.configuration().clone());
    }

    /// The SMF repeats no request of a session that it has deleted; a member forgets it, when no message about it is under way.
    fn forget(&mut self, session: u8) {
        let node = self.random.usize(..self.replicas.len());
        let requests = self.smf.get_mut(&session).unwrap();
        requests.is_over |= matches!(requests.all.last(), Some((Operation::Delete, Some(_))));
        let is_about = |(.., message): &Sent| match message {
            Message::Update(Update { key, .. }) | Message::Acknowledge { key, .. } => *key == session,
            Message::Joining { .. } => false,
        };
        if requests.is_over && !self.network.iter().any(is_about) {
            let Some(replica) = &mut self.replicas[node] else { return };
            let before = replica.len();
            replica.forget(&session);
            self.forgotten += u32::from(replica.len() < before);
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
            _ if self.random.bool() => self.restart_coordinator(),
            _ => {
                let session = self.random.u8(..SESSIONS);
                self.forget(session);
            }
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
            for (sequence, (_, answer)) in requests.all.iter().enumerate() {
                assert!(answer.is_some(), "request {sequence} of session {session} has no response");
            }
            if let Some((Operation::Put, Some(token))) = requests.all.last() {
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

    // Input:  random requests, lost, repeated and reordered messages, failures and returns, also of the last member, restarts of the coordinator, deleted sessions
    //         that members forget; then no more of these.
    // Output: each request is answered once, however often it is repeated; all members have the sessions that the last
    //         responses imply. Where the last member failed, the chain begins again, without sessions.
    #[test]
    fn all_is_answered_and_equal_in_the_end(seed: u64) {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        world.repair();
        world.check();
    }
}

// Input:  400 such runs with given seeds.
// Output: the same; chains have begun again, and sessions were forgotten, in many of them.
#[test]
fn chains_begin_again_and_forget() {
    let (mut begun, mut forgotten) = (0, 0);
    for seed in 0..400 {
        let mut world = World::new(seed);
        (0..STEPS).for_each(|_| world.step());
        world.repair();
        world.check();
        (begun, forgotten) = (begun + world.begun, forgotten + world.forgotten);
    }
    assert!(begun > 40 && forgotten > 40, "{begun} {forgotten}");
}

// Input:  an SMF has three requests of a session open; their updates come in any order, or only one of them, perhaps that of a repeated older request.
// Output: the tail responds to each of the three, whatever comes first; nothing is left that an audit would have to answer.
#[test]
fn an_update_answers_all_requests_in_it() {
    let members = [Member::new(0, 1), Member::new(1, 1)];
    let coordinator = Coordinator::new(members.into());
    for (number, repeated) in [(2, None), (2, Some(0)), (1, None), (0, Some(2))] {
        let [mut head, mut tail] = members.map(|member| Replica::new(member, Tokens::new(member)));
        for replica in [&mut head, &mut tail] {
            replica.configure(coordinator.configuration());
        }
        let mut updates = Vec::new();
        for sequence in 0..3 {
            updates.push(head.request(&1, sequence, &Operation::Put).unwrap());
        }
        if let Some(sequence) = repeated {
            updates[number] = head.request(&1, sequence, &Operation::Put).unwrap();
        }
        let mut answered = std::collections::BTreeSet::new();
        let mut deliver = |outputs: Vec<Output<u8, Token, Token>>, head: &mut Replica<Tokens>| {
            for output in outputs {
                let Output::Send { message, .. } = output else { panic!("{output:?}") };
                for output in tail.receive(members[0], &message) {
                    match output {
                        Output::Answer { sequence, .. } => drop(answered.insert(sequence)),
                        Output::Send { message, .. } => {
                            assert!(head.receive(members[1], &message).is_empty());
                        }
                        Output::Ready { .. } => panic!("nobody joins"),
                    }
                }
            }
        };
        deliver(updates.swap_remove(number), &mut head);
        let again = head.audit();
        deliver(again, &mut head);
        assert_eq!(answered.into_iter().collect::<Vec<_>>(), [0, 1, 2], "update {number}, {repeated:?}");
        assert!(head.is_acknowledged(&1) && head.audit().is_empty());
    }
}

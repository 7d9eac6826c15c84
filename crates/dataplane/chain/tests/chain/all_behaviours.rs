//! Every behaviour of a chain of two or three members with two sessions and three requests: messages are lost, repeated and
//! reordered, members fail, return and are wrongly suspected, at any step. docs/chain.md lists what was explored.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use causeway_chain::{Configuration, Coordinator, Epoch, Member, Message, Output, Replica, Update, Version};
use stateright::{Checker, Model, Property};

use crate::explore::explore;
use crate::tokens::{Operation, Token, Tokens};

/// The requests: session, sequence number, operation, and the request that is answered before.
const REQUESTS: [(u8, u32, Operation, Option<usize>); 3] =
    [(1, 1, Operation::Put, None), (1, 2, Operation::Delete, Some(0)), (2, 1, Operation::Put, None)];

type Sent = (Member, Member, Message<u8, Token, Token>);

/// What may go wrong, each so many times.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Faults {
    crashes: u8,
    returns: u8,
    /// A member that works is taken for failed.
    suspicions: u8,
    /// The coordinator restarts with its file.
    restarts: u8,
}

impl Faults {
    const NONE: Self = Self { crashes: 0, returns: 0, suspicions: 0, restarts: 0 };
}

/// What members do beside that, at any step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Extent {
    /// They send again what was not acknowledged.
    audits: bool,
    /// They forget the deleted session, when nothing of it can come any more.
    forgets: bool,
    /// Each state is also left to itself, which takes most of the time.
    settles: bool,
}

impl Extent {
    const PLAIN: Self = Self { audits: false, forgets: false, settles: true };
    const ALL: Self = Self { audits: true, forgets: true, settles: true };
}

/// The responses that tails have sent, since the chain began.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
struct Answered {
    /// By request.
    tokens: BTreeSet<(usize, Token)>,
    /// By session, the latest version that a response has told.
    versions: BTreeMap<u8, Version>,
    by: BTreeSet<(Epoch, Member)>,
    /// The chain has begun again in this epoch, without sessions: responses of earlier ones count no more.
    since: Epoch,
}

impl Answered {
    fn has(&self, request: usize) -> bool {
        self.tokens.iter().any(|(answered, _)| *answered == request)
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct World {
    /// By node; `None`: it has failed.
    replicas: Vec<Option<Replica<Tokens>>>,
    incarnations: Vec<u32>,
    coordinator: Coordinator,
    /// The configurations that were sent. Each may arrive at any time, or never.
    configurations: BTreeSet<Configuration>,
    /// The messages that were sent. Each may arrive at any time, any number of times, or never.
    network: BTreeSet<Sent>,
    /// The epochs in which the tail has reported that the joining member has all sessions.
    ready: BTreeSet<Epoch>,
    answered: Answered,
    faults: Faults,
}

#[derive(Clone, PartialEq, Debug)]
enum Step {
    Request(usize, usize),
    Deliver(Sent),
    Configure(usize, Configuration),
    Crash(usize),
    Return(usize),
    Suspect(usize),
    Join(Member),
    Ready(Epoch),
    Audit(usize),
    Forget(usize),
    BeginAgain(Member),
    Restart,
}

struct Chain {
    nodes: usize,
    faults: Faults,
    extent: Extent,
}

impl World {
    fn replica(&mut self, member: Member) -> Option<&mut Replica<Tokens>> {
        self.replicas.get_mut(usize::from(member.node))?.as_mut().filter(|replica| replica.member() == member)
    }

    fn carry_out(&mut self, by: Member, outputs: Vec<Output<u8, Token, Token>>) {
        for output in outputs {
            match output {
                Output::Send { to, message } => drop(self.network.insert((by, to, message))),
                Output::Ready { epoch } => drop(self.ready.insert(epoch)),
                Output::Answer { key, sequence, answer } => {
                    let is_it =
                        |(session, number, ..): &(u8, u32, _, _)| (*session, *number) == (key, sequence);
                    let request = REQUESTS.iter().position(is_it).unwrap();
                    let replica = self.replica(by).unwrap();
                    let (version, epoch) = (replica.version(&key).unwrap(), replica.configuration().epoch);
                    if epoch >= self.answered.since {
                        self.answered.tokens.insert((request, answer));
                        let told = self.answered.versions.entry(key).or_default();
                        *told = version.max(*told);
                        self.answered.by.insert((epoch, by));
                    }
                }
            }
        }
    }

    /// Removes messages that can change nothing any more: those to a member that is gone, of an epoch that its destination has left, of
    /// a version that its destination has left, and acknowledgements of what is acknowledged.
    fn remove_late_messages(&mut self) {
        let replicas: BTreeMap<Member, &Replica<Tokens>> =
            self.replicas.iter().flatten().map(|replica| (replica.member(), replica)).collect();
        self.network.retain(|(from, to, message)| {
            let Some(replica) = replicas.get(to) else { return false };
            let configuration = replica.configuration();
            if message.epoch() != configuration.epoch {
                return message.epoch() > configuration.epoch;
            }
            match message {
                Message::Update(update) => replica.version(&update.key).is_none_or(|it| it <= update.version),
                Message::Acknowledge { key, version, .. } => {
                    let is_of_next = configuration.position(*from).is_some();
                    let is_known = is_of_next && replica.is_acknowledged(key);
                    replica.version(key) == Some(*version) && !is_known
                }
                Message::Joining { .. } => true,
            }
        });
        let epochs: Vec<Epoch> = replicas.values().map(|replica| replica.configuration().epoch).collect();
        let current = self.coordinator.configuration().epoch;
        self.ready.retain(|epoch| *epoch >= current);
        let oldest = epochs.iter().min().copied().unwrap_or_default();
        self.configurations.retain(|it| it.epoch > oldest);
    }

    /// Nothing of the first session can come any more: its deletion is answered, and nobody has to say anything about it.
    fn is_over(&self) -> bool {
        let is_about = |(.., message): &Sent| match message {
            Message::Update(Update { key, .. }) | Message::Acknowledge { key, .. } => *key == 1,
            Message::Joining { .. } => false,
        };
        self.answered.has(1) && !self.network.iter().any(is_about)
    }

    /// All that works follows the last configuration.
    fn configure_all(&mut self) {
        let configuration = self.coordinator.configuration().clone();
        for node in 0..self.replicas.len() {
            let Some(replica) = &mut self.replicas[node] else { continue };
            let (member, outputs) = (replica.member(), replica.configure(&configuration));
            self.carry_out(member, outputs);
        }
    }

    /// All that was under way is lost, and no request is repeated any more. Then members that have failed are removed, each of the others sends
    /// once again what was not acknowledged, and nothing is lost. `None`: the last member has failed.
    fn settled(&self) -> Option<Self> {
        let mut world = self.clone();
        world.network.clear();
        world.ready.clear();
        for node in 0..world.replicas.len() {
            if world.replicas[node].is_none() {
                world.coordinator.failed(node as u16);
            }
        }
        world.live_members().next()?;
        world.configure_all();
        for node in 0..world.replicas.len() {
            let Some(replica) = &mut world.replicas[node] else { continue };
            let (member, outputs) = (replica.member(), replica.audit());
            world.carry_out(member, outputs);
        }
        loop {
            let outside = |world: &Self| {
                let current = world.coordinator.configuration();
                let is_outside =
                    |it: &Member| current.position(*it).is_none() && current.joining != Some(*it);
                world.replicas.iter().flatten().map(Replica::member).find(is_outside)
            };
            if let Some((from, to, message)) = world.network.pop_first() {
                let outputs = world.replica(to).map(|replica| replica.receive(from, &message));
                world.carry_out(to, outputs.unwrap_or_default());
            } else if let Some(epoch) = world.ready.pop_first() {
                world.coordinator.ready(epoch);
                world.configure_all();
            } else if outside(&world).is_some_and(|member| world.coordinator.join(member)) {
                world.configure_all();
            } else {
                return Some(world);
            }
        }
    }

    /// What is left has been answered, and all members have it.
    fn has_settled(&self) -> bool {
        let records = |replica: &Replica<Tokens>| {
            let records = replica.records();
            let owned = records.map(|(key, state, answered)| (*key, state.copied(), answered.to_vec()));
            owned.collect::<Vec<_>>()
        };
        let all: Vec<_> = self.live_members().map(records).collect();
        let is_same = |(key, sequence): (u8, u32), request: usize| {
            (REQUESTS[request].0, REQUESTS[request].1) == (key, sequence)
        };
        let is_answered = |key: u8, (sequence, token): &(u32, Token)| {
            let mut told = self.answered.tokens.iter();
            told.any(|(request, answer)| is_same((key, *sequence), *request) && answer == token)
        };
        // A deleted session may be forgotten by one and not yet by the other.
        let kept = |records: &Vec<(u8, Option<Token>, Vec<_>)>| {
            let is_deleted = |it: &&(u8, Option<Token>, Vec<_>)| it.1.is_none() && self.answered.has(1);
            records.iter().filter(|it| !is_deleted(it)).cloned().collect::<Vec<_>>()
        };
        let has_all = all.windows(2).all(|pair| kept(&pair[0]) == kept(&pair[1]));
        let mut left = all.iter().flatten();
        has_all && left.all(|(key, _, answered)| answered.iter().all(|it| is_answered(*key, it)))
    }

    /// The members of the chain that work.
    fn live_members(&self) -> impl Iterator<Item = &Replica<Tokens>> {
        let members = &self.coordinator.configuration().members;
        self.replicas.iter().flatten().filter(|replica| members.contains(&replica.member()))
    }
}

impl Model for Chain {
    type State = World;
    type Action = Step;

    fn init_states(&self) -> Vec<World> {
        let members: Vec<Member> = (0..self.nodes).map(|node| Member::new(node as u16, 1)).collect();
        let coordinator = Coordinator::new(members.clone());
        let start = |member: &Member| {
            let mut replica = Replica::new(*member, Tokens::new(*member));
            replica.configure(coordinator.configuration());
            Some(replica)
        };
        vec![World {
            replicas: members.iter().map(start).collect(),
            incarnations: vec![1; self.nodes],
            configurations: BTreeSet::new(),
            network: BTreeSet::new(),
            ready: BTreeSet::new(),
            answered: Answered::default(),
            faults: self.faults,
            coordinator,
        }]
    }

    fn actions(&self, world: &World, steps: &mut Vec<Step>) {
        let is_over = self.extent.forgets && world.is_over();
        for (request, (key, .., after)) in REQUESTS.iter().enumerate() {
            if after.is_none_or(|it| world.answered.has(it)) && !(is_over && *key == 1) {
                steps.extend((0..self.nodes).map(|node| Step::Request(request, node)));
            }
        }
        steps.extend(world.network.iter().cloned().map(Step::Deliver));
        for (node, replica) in world.replicas.iter().enumerate() {
            match replica {
                None if world.faults.returns > 0 => steps.push(Step::Return(node)),
                None => {}
                Some(replica) => {
                    let epoch = replica.configuration().epoch;
                    let later = world.configurations.iter().filter(|it| it.epoch > epoch);
                    steps.extend(later.map(|it| Step::Configure(node, it.clone())));
                    let current = world.coordinator.configuration();
                    let member = replica.member();
                    if current.position(member).is_none() && current.joining != Some(member) {
                        let is_last = matches!(current.members[..], [last] if last.node == member.node);
                        steps.push(if is_last { Step::BeginAgain(member) } else { Step::Join(member) });
                    }
                    if self.extent.audits {
                        steps.push(Step::Audit(node));
                    }
                    if is_over && replica.version(&1).is_some() {
                        steps.push(Step::Forget(node));
                    }
                    if world.faults.crashes > 0 {
                        steps.push(Step::Crash(node));
                    }
                }
            }
            if replica.is_none() || world.faults.suspicions > 0 {
                steps.push(Step::Suspect(node));
            }
        }
        steps.extend(world.ready.iter().copied().map(Step::Ready));
        if world.faults.restarts > 0 {
            steps.push(Step::Restart);
        }
    }

    fn next_state(&self, before: &World, step: Step) -> Option<World> {
        let mut world = before.clone();
        match step {
            Step::Request(request, node) => {
                let (key, sequence, operation, _) = &REQUESTS[request];
                let replica = world.replicas[node].as_mut()?;
                let member = replica.member();
                let outputs = replica.request(key, *sequence, operation).ok()?;
                world.carry_out(member, outputs);
            }
            Step::Deliver((from, to, message)) => {
                let outputs = world.replica(to)?.receive(from, &message);
                world.carry_out(to, outputs);
            }
            Step::Configure(node, configuration) => {
                let replica = world.replicas[node].as_mut()?;
                let member = replica.member();
                let outputs = replica.configure(&configuration);
                world.carry_out(member, outputs);
            }
            Step::Crash(node) => {
                world.faults.crashes -= 1;
                world.replicas[node] = None;
            }
            Step::Return(node) => {
                world.faults.returns -= 1;
                world.incarnations[node] += 1;
                let member = Member::new(node as u16, world.incarnations[node]);
                world.replicas[node] = Some(Replica::new(member, Tokens::new(member)));
            }
            Step::Suspect(node) => {
                if world.replicas[node].is_some() {
                    world.faults.suspicions -= 1;
                }
                if !world.coordinator.failed(node as u16) {
                    return None;
                }
            }
            Step::Join(member) => drop(world.coordinator.join(member)),
            Step::Ready(epoch) => drop(world.coordinator.ready(epoch)),
            Step::Audit(node) => {
                let replica = world.replicas[node].as_mut()?;
                let (member, outputs) = (replica.member(), replica.audit());
                world.carry_out(member, outputs);
            }
            Step::Forget(node) => world.replicas[node].as_mut()?.forget(&1),
            Step::BeginAgain(member) => {
                if !world.coordinator.begin_again(member) {
                    return None;
                }
                let since = world.coordinator.configuration().epoch;
                world.answered = Answered { since, ..Answered::default() };
            }
            Step::Restart => {
                world.faults.restarts -= 1;
                let configuration = world.coordinator.configuration().clone();
                world.coordinator = Coordinator::from_configuration(configuration);
            }
        }
        world.configurations.insert(world.coordinator.configuration().clone());
        world.remove_late_messages();
        (world != *before).then_some(world)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(
                "every member of the chain has what was answered",
                |chain: &Chain, world: &World| {
                    world.answered.versions.iter().all(|(key, version)| {
                        let is_forgotten = |replica: &Replica<Tokens>| {
                            chain.extent.forgets
                                && *key == 1
                                && world.answered.has(1)
                                && replica.version(key).is_none()
                        };
                        world
                            .live_members()
                            .all(|replica| replica.version(key) >= Some(*version) || is_forgotten(replica))
                    })
                },
            ),
            Property::always("a request is executed once", |_, world: &World| {
                let tokens = &world.answered.tokens;
                let requests: BTreeSet<usize> = tokens.iter().map(|(request, _)| *request).collect();
                let different: BTreeSet<Token> = tokens.iter().map(|(_, token)| *token).collect();
                tokens.len() == requests.len() && tokens.len() == different.len()
            }),
            Property::always("one member answers in an epoch", |_, world: &World| {
                let epochs: BTreeSet<Epoch> = world.answered.by.iter().map(|(epoch, _)| *epoch).collect();
                world.answered.by.len() == epochs.len()
            }),
            Property::always(
                "one audit leaves nothing that was not answered",
                |chain: &Chain, world: &World| {
                    !chain.extent.settles || world.settled().is_none_or(|world| world.has_settled())
                },
            ),
            Property::always("a member has nothing that the previous one lacks", |_, world: &World| {
                let current = world.coordinator.configuration();
                let in_order: Vec<_> = world.live_members().collect();
                let position = |replica: &Replica<Tokens>| current.position(replica.member());
                in_order.iter().all(|one| {
                    in_order.iter().filter(|other| position(other) > position(one)).all(|other| {
                        let is_current = |it: &Replica<Tokens>| it.configuration().epoch == current.epoch;
                        let is_forgotten = |key: u8| one.version(&key).is_none() && world.answered.has(1);
                        let is_behind = |key: u8| {
                            other.version(&key) <= one.version(&key) || key == 1 && is_forgotten(key)
                        };
                        !is_current(one) || !is_current(other) || [1, 2].into_iter().all(is_behind)
                    })
                })
            }),
            Property::always("a deleted session stays deleted", |_, world: &World| {
                !world.answered.has(1)
                    || world.live_members().all(|replica| replica.sessions().all(|(key, _)| *key != 1))
            }),
            Property::sometimes("all requests are answered", |_, world: &World| {
                (0..REQUESTS.len()).all(|request| world.answered.has(request))
            }),
            Property::sometimes("a member that has joined answers", |chain: &Chain, world: &World| {
                let first = |member: Member| member.incarnation == 1;
                let has_returned = world.answered.by.iter().any(|(_, by)| !first(*by));
                has_returned || (chain.faults.returns == 0 && !world.answered.tokens.is_empty())
            }),
        ]
    }
}

fn check(nodes: usize, faults: Faults, extent: Extent) -> usize {
    let checker = Chain { nodes, faults, extent }.checker().threads(2).spawn_bfs().join();
    checker.assert_properties();
    checker.unique_state_count()
}

/// The most memory that this process has had, as Linux says it.
fn peak_memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or_else(
        || "memory unknown".to_owned(),
        |line| line.split_whitespace().skip(1).collect::<Vec<_>>().join(" "),
    )
}

// Input:  a chain of two; one member fails at any step, and returns.
// Output: the invariants hold in every reachable state.
#[test]
fn a_chain_of_two_survives_a_failure() {
    check(2, Faults { crashes: 1, returns: 1, ..Faults::NONE }, Extent::PLAIN);
}

// Input:  a chain of two; a member that works is taken for failed at any step, and joins again.
// Output: the invariants hold in every reachable state.
#[test]
fn a_chain_of_two_survives_a_wrong_suspicion() {
    check(2, Faults { suspicions: 1, ..Faults::NONE }, Extent::PLAIN);
}

// Input:  a chain of three; one member fails at any step.
// Output: the invariants hold in every reachable state.
#[test]
fn a_chain_of_three_survives_a_failure() {
    check(3, Faults { crashes: 1, ..Faults::NONE }, Extent::PLAIN);
}

// Input:  a chain of two, whose members send again what was not acknowledged, and forget the session that was deleted, at any step. One fails and
//         returns, and begins the chain again if it was the last one.
// Output: the invariants hold in every reachable state.
#[test]
fn a_chain_of_two_survives_audits_and_forgets() {
    check(2, Faults { crashes: 1, returns: 1, ..Faults::NONE }, Extent::ALL);
}

// Input:  a chain of two with a failure, explored in both ways; then a model whose states may not have what they have.
// Output: as many states; the second one ends with the name of the property.
#[test]
fn both_explorations_find_the_same_states() {
    let (nodes, extent, faults) = (2, Extent::PLAIN, Faults { crashes: 1, ..Faults::NONE });
    assert_eq!(explore(&Chain { nodes, faults, extent }, 2), check(nodes, faults, extent));
    let without_return = Chain { nodes, faults: Faults { returns: 1, ..Faults::NONE }, extent };
    let bad = std::panic::catch_unwind(|| explore(&without_return, 2)).unwrap_err();
    let why = bad.downcast_ref::<String>().map(String::as_str);
    assert_eq!(why, Some("never: a member that has joined answers"));
}

// Input:  chains of two and three, with two failures, returns, a wrong suspicion and a restart of the coordinator; or that of CAUSEWAY_CHAIN: members,
//         failures, returns, suspicions, restarts, then 1 or 0 for audits and forgetting, and for whether each state is left to itself.
// Output: the invariants hold in every reachable state. It takes ten minutes: `cargo test --release -p causeway-chain -- --ignored --nocapture`.
#[test]
#[ignore = "takes ten minutes"]
#[expect(clippy::print_stdout, reason = "the sizes are what one wants to know")]
fn more_faults() {
    let told = std::env::var("CAUSEWAY_CHAIN").ok().map(|told| {
        let numbers: Vec<u8> = told.split(',').map(|number| number.parse().unwrap()).collect();
        vec![<[u8; 7]>::try_from(numbers).unwrap()]
    });
    let all = [
        [2, 1, 1, 0, 0, 0, 1],
        [2, 0, 0, 1, 0, 0, 1],
        [3, 1, 0, 0, 0, 0, 1],
        [2, 1, 1, 0, 0, 1, 1],
        [2, 1, 1, 0, 1, 1, 1],
        [2, 1, 1, 1, 0, 0, 0],
        [2, 2, 2, 0, 0, 0, 0],
        [3, 1, 1, 0, 0, 0, 0],
        [3, 0, 0, 1, 0, 0, 0],
    ];
    for [nodes, crashes, returns, suspicions, restarts, is_all, settles] in told.unwrap_or(all.to_vec()) {
        let (faults, begin) = (Faults { crashes, returns, suspicions, restarts }, Instant::now());
        let extent =
            Extent { settles: settles == 1, ..if is_all == 1 { Extent::ALL } else { Extent::PLAIN } };
        let (states, peak) = (explore(&Chain { nodes: nodes.into(), faults, extent }, 2), peak_memory());
        println!(
            "{nodes} members, {crashes} failures, {returns} returns, {suspicions} suspicions, {restarts} restarts, {extent:?}: {states} states, {} s, {peak} so far",
            begin.elapsed().as_secs()
        );
    }
}

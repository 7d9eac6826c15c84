//! Random worlds of the pipeline: packets of a few UEs and flows at any times, over a memory whose delays are any, and that may lose
//! messages.

use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, Ipv4Addr};

use causeway_dataplane::{DropReason, Egress, Network, Topology};
use causeway_memory::{
    Completion, DIRECTORY, Effect, ExternalMemory, Failure, Model, ModelParameters, Operation,
    OperationError, OperationId, Outcome, Place, QueuePair, Regions, Request, SubmitError,
};
use causeway_model::{FlowAddress, FlowDescription, FlowEnd, SdfFilter, UeSide};
use causeway_packet::Ports;
use causeway_slowpath::lease::{RuleAction, SendAction, UeMatch};
use causeway_types::{Direction, NetworkInstance, QfiSet, Span, Time};
use causeway_xplane::local_state::LocalStateConfig;
use causeway_xplane::state::{Account, UeState};
use causeway_xplane::ue_table::{RuleRef, Target, UeHeader, UeRecord, compile};
use causeway_xplane::{
    Action, Arrival, Departure, Directory, Fields, MODEL_RKEY, Pipeline, PipelineConfig, Sizes, StatePlace,
    UeKey, Verdict, Why,
};

pub(crate) const SIZES: Sizes =
    Sizes { ue_buckets: 64, flow_buckets: 16, rings: 2, ring: 8, paging_rings: 2, paging_ring: 8 };
pub(crate) const UES: u32 = 4;
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 2);

/// A memory with queue pairs, each in order, each operation after a delay of its own; no order between queue pairs.
pub(crate) struct Jitter {
    pub(crate) octets: Vec<u8>,
    pairs: Vec<VecDeque<(u64, u64, OperationId, Operation)>>,
    last: Vec<u64>,
    random: fastrand::Rng,
    delay: u64,
    next: u64,
    /// All operations fail from now on.
    pub(crate) fails: bool,
}

impl ExternalMemory for Jitter {
    fn queue_pairs(&self) -> u16 {
        self.pairs.len() as u16
    }

    fn submit(
        &mut self,
        now: Time,
        pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        let number = usize::from(pair.0);
        // A short queue, so that it is full at times.
        if self.pairs[number].len() >= 12 {
            return Err(SubmitError::QueueFull);
        }
        let done = self.last[number].max(now.as_nanos()) + 1 + self.random.u64(..self.delay);
        self.last[number] = done;
        self.next += 1;
        self.pairs[number].push_back((done, self.next, OperationId(self.next), operation));
        Ok(OperationId(self.next))
    }

    fn has_place(&self, pair: QueuePair, _: &Operation) -> bool {
        self.pairs[usize::from(pair.0)].len() < 12
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        let due = |pair: &VecDeque<(u64, u64, OperationId, Operation)>| {
            pair.front().map(|first| (first.0, first.1))
        };
        let first = (0..self.pairs.len()).filter_map(|pair| Some((due(&self.pairs[pair])?, pair))).min()?;
        let ((time, _), pair) = first;
        if time > now.as_nanos() {
            return None;
        }
        let (.., id, operation) = self.pairs[pair].pop_front()?;
        let range = |place: Place, length: usize| place.address as usize..place.address as usize + length;
        let result = match operation.request {
            _ if self.fails => {
                Err(OperationError { failure: Failure::RetryExceeded, effect: Effect::Unknown })
            }
            Request::Read { from, length } => {
                Ok(Outcome::Read(self.octets[range(from, length as usize)].to_vec()))
            }
            Request::Write { to, data } => {
                self.octets[range(to, data.len())].copy_from_slice(&data);
                Ok(Outcome::Written)
            }
            Request::FetchAdd { .. } => unreachable!("not used"),
        };
        Some(Completion { id, queue_pair: QueuePair(pair as u16), result })
    }

    fn next_timer(&self) -> Option<Time> {
        self.pairs.iter().filter_map(|pair| pair.front()).map(|first| Time::from_nanos(first.0)).min()
    }
}

pub(crate) fn jitter(seed: u64, delay: u64, pairs: usize) -> Jitter {
    Jitter {
        octets: vec![0; (SIZES.octets() + DIRECTORY) as usize],
        pairs: vec![VecDeque::new(); pairs],
        last: vec![0; pairs],
        random: fastrand::Rng::with_seed(seed),
        delay,
        next: 0,
        fails: false,
    }
}

/// The places of the UEs in their buckets; none for the third of a bucket, which has no record.
pub(crate) fn ways<M: ExternalMemory>(pipeline: &Pipeline<M>) -> Vec<Option<usize>> {
    let bucket = |number| pipeline.ue_bucket(&ue(number));
    let before = |number| (0..number).filter(|other| bucket(*other) == bucket(number)).count();
    (0..UES).map(|number| Some(before(number)).filter(|way| *way < 2)).collect()
}

fn ue(number: u32) -> UeKey {
    UeKey::of_number(number + 1)
}

/// A UE whose rules are one for each of `pdrs` ports, from port 1, all to one account.
pub(crate) fn install<M: ExternalMemory>(
    pipeline: &mut Pipeline<M>,
    now: &mut Time,
    number: u32,
    pdrs: u16,
    way: usize,
    shared_state: Option<StatePlace>,
) {
    let rule = RuleRef { account: 0, meters: 0, action: 0, reports_drops: false, counts_drops: false };
    let port = |port: u16| {
        let remote = FlowEnd { address: FlowAddress::Any, ports: vec![port..=port] };
        let local = FlowEnd { address: FlowAddress::Any, ports: vec![] };
        vec![SdfFilter::from(FlowDescription { protocol: None, remote, local })]
    };
    let filters: Vec<_> = (1..=pdrs).map(port).collect();
    let addresses = UeMatch { side: UeSide::Source, is_named: true, v4: Some(UE), v6: None, has_more: false };
    let rules = filters.iter().map(|filters| (QfiSet::EMPTY, filters.as_slice(), Target::Rule(rule)));
    let instance = NetworkInstance::new("internet");
    let topology = Topology { networks: vec![Network::new(instance.clone(), vec![])], ..Topology::default() };
    let send = SendAction {
        egress: Egress::Ip { network: instance },
        header: vec![],
        marking: None,
        max_payload: 1500,
        is_routed: false,
        leaves_link: true,
        is_gated: false,
    };
    let account = Account { budget: u64::MAX, idle_limit: Span::MAX, ..Account::default() };
    let generation = pipeline.raise_generation(&ue(number));
    let record = UeRecord {
        header: UeHeader::new(ue(number), generation, pdrs as u8, Direction::Uplink, &addresses)
            .with_shared_state(shared_state),
        actions: vec![Action::new(&RuleAction::Send(send), &topology)],
        pdrs: compile(rules, &addresses),
        state: UeState { accounts: vec![account], meters: vec![] },
    };
    pipeline.write_record(*now, way, &record);
    run(pipeline, now, &mut Vec::new());
    while pipeline.poll_reply().is_some() {}
}

/// Lets the memory work to the end.
pub(crate) fn run<M: ExternalMemory>(pipeline: &mut Pipeline<M>, now: &mut Time, left: &mut Vec<Departure>) {
    loop {
        pipeline.advance(*now);
        left.extend(std::iter::from_fn(|| pipeline.poll()));
        if pipeline.is_empty() {
            return;
        }
        *now = pipeline.next_timer().expect("something is under way").max(*now);
    }
}

/// A packet of a flow: the number of the UE, and the port that tells flow and rule.
pub(crate) fn arrival(token: u64, at: Time, number: u32, port: u16, size: usize) -> Arrival {
    let fields = Fields {
        src: UE.into(),
        dst: IpAddr::from([198, 51, 100, 1]),
        protocol: 17,
        ports: Some(Ports { src: 1000, dst: port }),
        dscp: 0,
        qfi: None,
    };
    let mut frame = vec![0; size];
    frame[..8].copy_from_slice(&token.to_be_bytes());
    Arrival { token, at, ue: ue(number), fields, frame, start: 0, end: size, tos: 0, hops: None }
}

/// What a world did.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) packets: u64,
    joined: u64,
    pub(crate) hits: u64,
    slow: u64,
    lost: u64,
    full: u64,
    /// Packets that were counted in a state of several UEs.
    shared: u64,
}

/// Runs a world: each packet leaves once, with its own octets, those of a flow in order; the octets that were sent are counted.
///
/// With a directory the memory is told of the flow table after each packet.
pub(crate) fn check<M: ExternalMemory>(
    memory: M,
    seed: u64,
    is_lossless: bool,
    directory: Option<Directory>,
    seen: &mut Seen,
) {
    let mut random = fastrand::Rng::with_seed(seed);
    let local_state = LocalStateConfig { buckets: random.usize(1..4), age_limit: Span::from_secs(60), seed };
    let config = PipelineConfig {
        local_state,
        flow_age: Span::from_nanos(random.u64(1..1 << if directory.is_some() { 15 } else { 20 })),
        ..PipelineConfig::default()
    };
    let mut pipeline = Pipeline::new(memory, SIZES, Place { rkey: MODEL_RKEY, address: 0 }, config);
    let mut now = Time::from_nanos(1);
    let pdrs = random.u16(1..41);
    let ways = ways(&pipeline);
    let placed: Vec<(u32, usize)> =
        (0..).zip(&ways).filter_map(|(number, way)| Some((number, (*way)?))).collect();
    // In half of the worlds all UEs have one state, which is in the record of the first.
    let home = (seed % 2 == 1).then(|| StatePlace::new(pipeline.ue_bucket(&ue(0)), placed[0].1));
    for (number, way) in &placed {
        install(&mut pipeline, &mut now, *number, pdrs, *way, home);
    }
    let mut flows: BTreeMap<u64, (u32, u16, usize)> = BTreeMap::new();
    let mut left = Vec::new();
    let gap = random.u64(1..5_000);
    for token in 0..random.u64(1..60) {
        let next = now + Span::from_nanos(random.u64(..gap));
        while let Some(due) = pipeline.next_timer().filter(|due| *due <= next) {
            now = now.max(due);
            pipeline.advance(now);
            left.extend(std::iter::from_fn(|| pipeline.poll()));
        }
        now = next;
        let (number, port) = (random.u32(..UES), random.u16(1..6).min(pdrs));
        let size = random.usize(40..1500);
        flows.insert(token, (number, port, size));
        pipeline.arrive(now, arrival(token, now, number, port, size));
        directory.iter().for_each(|directory| pipeline.describe_flows(now, directory));
    }
    run(&mut pipeline, &mut now, &mut left);
    // Each packet once.
    let mut tokens: Vec<u64> = left.iter().map(|departure| departure.token).collect();
    tokens.sort_unstable();
    assert!(tokens.iter().copied().eq(flows.keys().copied()), "seed {seed}: {tokens:?}");
    let (mut last, mut sent) = (BTreeMap::new(), BTreeMap::<u32, (u64, u64)>::new());
    for Departure { token, frame, verdict, .. } in &left {
        let (number, port, size) = flows[token];
        if matches!(verdict, Verdict::Lost) {
            assert!(!is_lossless, "seed {seed}: {token} is lost");
            seen.lost += 1;
            continue;
        }
        assert_eq!(frame.len(), size, "seed {seed}: {token}");
        assert_eq!(frame[..8], token.to_be_bytes(), "seed {seed}: the octets of another packet");
        match verdict {
            // A ring was full.
            Verdict::Drop(reason) => {
                assert_eq!(*reason, DropReason::BufferFull);
                seen.full += 1;
                continue;
            }
            Verdict::Send(_) => {
                let octets = sent.entry(number).or_default();
                (octets.0, octets.1) = (octets.0 + 1, octets.1 + size as u64);
            }
            // A collision in the local state table is decided at once: nothing of the UE is in flight then.
            Verdict::SlowPath(_) => seen.slow += 1,
            Verdict::Lost => {}
        }
        let before = last.insert((number, port), *token);
        assert!(before.is_none_or(|before| before < *token), "seed {seed}: {token} was passed by {before:?}");
    }
    let counters = *pipeline.counters();
    seen.packets += left.len() as u64;
    seen.joined += counters.joined;
    seen.hits += counters.hits;
    if home.is_some() {
        let all = sent.values().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        sent = BTreeMap::from([(0, all)]);
        seen.shared += all.0;
    }
    for (number, way) in placed.into_iter().take(if home.is_some() { 1 } else { usize::MAX }) {
        pipeline.read_ue_state(now, &ue(number), way);
        run(&mut pipeline, &mut now, &mut Vec::new());
        let octets = pipeline.poll_reply().flatten().expect("a reply");
        let account = UeState::decode(&octets).expect("a state").accounts[0];
        let expected = sent.get(&number).copied().unwrap_or_default();
        assert_eq!((account.packets, account.octets), expected, "seed {seed}: UE {number}");
    }
}

// Input:  20,000 worlds: up to 60 packets of 20 flows at any gaps, UEs with a state each or one for all, walks of one to eight blocks, any delay of each operation, few rings,
//         short rings, queue pairs that are full at times.
// Output: no packet passes another of its flow, none is lost, each leaves once with its octets, and each octet that was sent is counted.
//         Packets do wait for the walk of their flow.
#[test]
fn no_packet_passes_another_of_its_flow() {
    let mut seen = Seen::default();
    for seed in 0..20_000 {
        let mut random = fastrand::Rng::with_seed(!seed);
        let memory = jitter(seed, random.u64(1..4_000), random.usize(1..5));
        check(memory, seed, true, None, &mut seen);
    }
    assert!(
        seen.joined > seen.packets / 50 && seen.hits > seen.packets / 50,
        "{} of {}",
        seen.joined,
        seen.packets
    );
    assert!(seen.slow < seen.packets * 9 / 10, "{} of {} for the slow path", seen.slow, seen.packets);
    assert!(seen.full > 0, "no ring was full");
    assert!(seen.shared > seen.packets / 20, "{} of {} in a common state", seen.shared, seen.packets);
}

// Input:  300 worlds over the model of external memory, of which half loses 2 % of all packets.
// Output: as above; packets are lost only where the network loses, and are named.
#[test]
fn a_network_that_loses_packets_loses_no_octet() {
    let mut seen = Seen::default();
    for seed in 0..300 {
        let is_lossless = seed % 2 == 0;
        let mut regions = Regions::new();
        regions.insert(MODEL_RKEY, SIZES.region().unwrap());
        let loss = if is_lossless { 0.0 } else { 0.02 };
        let parameters = ModelParameters { loss, queue_pairs: 4, ..ModelParameters::X_PLANE };
        check(Model::new(parameters, regions, seed), seed, is_lossless, None, &mut seen);
    }
    assert!(seen.hits > 0 && seen.lost * 20 < seen.packets, "{} of {} lost", seen.lost, seen.packets);
}

// Input:  a UE whose rules change, or that is deleted, at any time while packets, walks and writes of flow entries are under way.
// Output: no packet that leaves after the change does so by the rule of before, nor does one that comes later.
#[test]
fn no_rule_of_before_is_applied_after_a_change() {
    let mut late_writes = 0;
    for seed in 0..5_000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let config = PipelineConfig::default();
        let memory = jitter(seed, random.u64(1..4_000), 1);
        let mut pipeline = Pipeline::new(memory, SIZES, Place { rkey: MODEL_RKEY, address: 0 }, config);
        let mut now = Time::from_nanos(1);
        install(&mut pipeline, &mut now, 0, random.u16(1..41), 0, None);
        let count = random.u64(2..12);
        let change = random.u64(1..count);
        let mut left = Vec::new();
        for token in 0..count {
            if token == change {
                left.extend(std::iter::from_fn(|| pipeline.poll()));
                left.clear();
                pipeline.raise_generation(&ue(0));
            }
            pipeline.arrive(now, arrival(token, now, 0, 1, 100));
            now = now + Span::from_nanos(random.u64(..3_000));
            pipeline.advance(now);
        }
        run(&mut pipeline, &mut now, &mut left);
        late_writes += pipeline.counters().walks - pipeline.counters().inserted;
        let is_sent = |departure: &Departure| matches!(departure.verdict, Verdict::Send(_));
        assert!(
            !left.iter().any(is_sent),
            "seed {seed}: {:?}",
            left.iter().map(|left| left.verdict).collect::<Vec<_>>()
        );
        // Its address is given out again, with other rules.
        install(&mut pipeline, &mut now, 0, 0, 1, None);
        pipeline.arrive(now, arrival(99, now, 0, 1, 100));
        let mut left = Vec::new();
        run(&mut pipeline, &mut now, &mut left);
        assert!(
            left.iter().all(|left| left.verdict == Verdict::SlowPath(Why::Rule)),
            "seed {seed}: {:?}",
            left[0].verdict
        );
    }
    assert!(late_writes > 0, "no walk was under way at a change");
}

// Input:  a memory that fails while packets are in flight.
// Output: all leave as lost, none remains; the states that were here come back, with what was counted.
#[test]
fn a_memory_that_fails_keeps_no_packet() {
    let memory = jitter(1, 1_000, 2);
    let mut pipeline =
        Pipeline::new(memory, SIZES, Place { rkey: MODEL_RKEY, address: 0 }, PipelineConfig::default());
    let mut now = Time::from_nanos(1);
    install(&mut pipeline, &mut now, 0, 10, 0, None);
    (0..10).for_each(|token| pipeline.arrive(now, arrival(token, now, 0, 3, 100)));
    pipeline.memory_mut().fails = true;
    let mut left = Vec::new();
    run(&mut pipeline, &mut now, &mut left);
    assert_eq!((left.len(), pipeline.in_flight()), (10, 0));
    assert!(left.iter().all(|departure| departure.verdict == Verdict::Lost));
    assert_eq!(pipeline.failure(), Some(Failure::RetryExceeded));
    assert_eq!(pipeline.reset(), []);
    assert_eq!(pipeline.counters().lost, 10);
}

//! Flow entries that are not used for a while give their place: to another flow of their bucket, and to nobody when a memory server sweeps the table.

use std::collections::BTreeMap;

use causeway_memory::{
    AgedTable, Completion, DIRECTORY, ExternalMemory, Operation, OperationId, Place, QueuePair, SubmitError,
    Sweeper,
};
use causeway_types::{Span, Time};
use causeway_xplane::flows::{FlowEntry, WAYS};
use causeway_xplane::{Directory, FlowKey, MODEL_RKEY, Pipeline, PipelineConfig, UeKey, Verdict, Why};

use crate::worlds::{Jitter, SIZES, Seen, UES, arrival, check, install, jitter, run, ways};

const LENGTH: u64 = SIZES.octets() + DIRECTORY;

fn directory() -> Directory {
    let address = AgedTable::place(LENGTH, 3).unwrap();
    Directory { place: Place { rkey: MODEL_RKEY, address }, offset: 0 }
}

type Of = (UeKey, FlowKey);

/// A memory whose server sweeps.
struct Swept {
    memory: Jitter,
    sweeper: Sweeper,
    /// Flows whose entries were swept.
    taken: Vec<Of>,
}

impl Swept {
    fn new(memory: Jitter, settle: Span, step: Span) -> Self {
        Self { memory, sweeper: Sweeper::new(settle, step), taken: Vec::new() }
    }

    /// The flows that have an entry, with its bucket and place.
    fn entries(&self) -> BTreeMap<Of, (u64, usize)> {
        let mut entries = BTreeMap::new();
        for bucket in 0..SIZES.flow_buckets {
            for place in 0..WAYS {
                let start = SIZES.entries(bucket) as usize + place * 160;
                if let Some(entry) = FlowEntry::decode(&self.memory.octets[start..start + 160]) {
                    entries.insert((entry.ue, entry.flow), (bucket, place));
                }
            }
        }
        entries
    }
}

impl ExternalMemory for Swept {
    fn queue_pairs(&self) -> u16 {
        self.memory.queue_pairs()
    }

    fn submit(
        &mut self,
        now: Time,
        pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        self.memory.submit(now, pair, operation)
    }

    fn has_place(&self, pair: QueuePair, operation: &Operation) -> bool {
        self.memory.has_place(pair, operation)
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        let completion = self.memory.poll(now);
        if completion.is_none() {
            let before = self.entries();
            let swept = self.sweeper.swept();
            self.sweeper.advance(now, &mut self.memory.octets);
            if self.sweeper.swept() > swept {
                let after = self.entries();
                self.taken.extend(before.into_keys().filter(|flow| !after.contains_key(flow)));
            }
        }
        completion
    }

    fn next_timer(&self) -> Option<Time> {
        self.memory.next_timer()
    }
}

// Input:  4,000 worlds as those of `no_packet_passes_another_of_its_flow`, over a server that sweeps at any time, also while packets of the bucket are on
//         their way; flows age within 33 us, some within less than a round trip.
// Output: as there: no packet passes another of its flow, none is lost, each octet that was sent is counted.
#[test]
fn sweeps_hurt_no_packet() {
    let mut seen = Seen::default();
    let mut swept = 0;
    for seed in 0..4_000 {
        let mut random = fastrand::Rng::with_seed(!seed);
        let memory = jitter(seed, random.u64(1..4_000), random.usize(1..5));
        let (settle, step) = (random.u64(1..5_000), random.u64(1..2_000));
        let mut memory = Swept::new(memory, Span::from_nanos(settle), Span::from_nanos(step));
        check(&mut memory, seed, true, Some(directory()), &mut seen);
        swept += memory.sweeper.swept();
    }
    assert!(seen.hits > seen.packets / 50 && swept > seen.packets / 100, "{swept} of {} swept", seen.packets);
}

/// Its owner looks at it afterwards.
impl ExternalMemory for &mut Swept {
    fn queue_pairs(&self) -> u16 {
        (**self).queue_pairs()
    }

    fn submit(
        &mut self,
        now: Time,
        pair: QueuePair,
        operation: Operation,
    ) -> Result<OperationId, SubmitError> {
        (**self).submit(now, pair, operation)
    }

    fn has_place(&self, pair: QueuePair, operation: &Operation) -> bool {
        (**self).has_place(pair, operation)
    }

    fn poll(&mut self, now: Time) -> Option<Completion> {
        (**self).poll(now)
    }

    fn next_timer(&self) -> Option<Time> {
        (**self).next_timer()
    }
}

/// What worlds of flows that age did.
#[derive(Default)]
struct Aged {
    swept: u64,
    gave_way: u64,
    uses_written: u64,
    hits: u64,
    collisions: u64,
}

/// Packets of 4 UEs with 12 flows each, in a table of 32 entries, with pauses of any length up to twice the age limit; then none for long.
fn age(seed: u64, aged: &mut Aged) {
    /// Longer than any packet takes.
    const SETTLE: Span = Span::from_micros(150);
    const STEP: Span = Span::from_micros(5);
    let mut random = fastrand::Rng::with_seed(seed);
    let limit = random.u64(300_000..1_500_000);
    let config = PipelineConfig { flow_age: Span::from_nanos(limit), ..PipelineConfig::default() };
    let memory = Swept::new(jitter(seed, random.u64(1..600), random.usize(1..5)), SETTLE, STEP);
    let mut pipeline = Pipeline::new(memory, SIZES, Place { rkey: MODEL_RKEY, address: 0 }, config);
    // Not the first moment: entries would seem to be used at zero.
    let mut now = Time::from_nanos(1 << 32);
    for (number, way) in (0..UES).zip(ways(&pipeline)) {
        way.into_iter().for_each(|way| install(&mut pipeline, &mut now, number, 12, way, None));
    }
    let mut flows: BTreeMap<u64, (Of, Time)> = BTreeMap::new();
    let mut last_hit: BTreeMap<Of, Time> = BTreeMap::new();
    let mut present = pipeline.memory_mut().entries();
    let (mut described, mut token) = (now, 0);
    let active = now + Span::from_nanos(limit * random.u64(1..8));
    // A sweep begins to look at a row after a round, and ends it when that has settled; the server's time may be a sixteenth old.
    let end = active + Span::from_nanos(2 * limit) + SETTLE + STEP * 32;
    let mut next_packet = now;
    while now < end {
        if described <= now {
            pipeline.describe_flows(now, &directory());
            described = now + Span::from_nanos(limit / 16);
        }
        while next_packet <= now && now < active {
            let (number, port) = (random.u32(..UES), random.u16(1..13));
            let arrival = arrival(token, now, number, port, random.usize(40..400));
            flows.insert(token, ((arrival.ue, arrival.fields.key()), now));
            pipeline.arrive(now, arrival);
            token += 1;
            let pause = if random.u8(..20) == 0 { 2 * limit } else { 20_000 };
            next_packet = next_packet.max(now) + Span::from_nanos(random.u64(..pause));
        }
        let before = *pipeline.counters();
        pipeline.advance(now);
        let left: Vec<_> = std::iter::from_fn(|| pipeline.poll()).collect();
        let sent: Vec<Of> = left
            .iter()
            .filter(|left| matches!(left.verdict, Verdict::Send(_)))
            .map(|left| flows[&left.token].0)
            .collect();
        for left in &left {
            assert!(
                now.since(flows[&left.token].1) < SETTLE,
                "seed {seed}: a packet took too long for this test"
            );
        }
        let counters = *pipeline.counters();
        let swept = std::mem::take(&mut pipeline.memory_mut().taken);
        let entries = pipeline.memory_mut().entries();
        for flow in present.keys().filter(|flow| !entries.contains_key(flow)) {
            let Some(hit) = last_hit.get(flow) else { continue };
            let unused = now.since(*hit).as_nanos();
            // That of another flow may have been on its way when this one was used: by the time of a packet at most.
            let is_late = !swept.contains(flow) && now.since(*hit) < SETTLE;
            assert!(
                is_late || unused >= u128::from(limit) * 3 / 4,
                "seed {seed}: an entry has gone that was used {unused} ns before, the limit is {limit} ns"
            );
        }
        present = entries;
        // By their entries, if none of them waited for a walk.
        if counters.hits - before.hits == sent.len() as u64 && counters.inserted == before.inserted {
            last_hit.extend(sent.into_iter().map(|flow| (flow, now)));
        }
        now = now + Span::from_micros(2);
    }
    assert_eq!(present, BTreeMap::new(), "seed {seed}: entries that nobody uses have a place");
    run(&mut pipeline, &mut now, &mut Vec::new());
    let counters = *pipeline.counters();
    aged.swept += pipeline.memory_mut().sweeper.swept();
    aged.gave_way += counters.aged;
    aged.uses_written += counters.uses_written;
    aged.hits += counters.hits;
    aged.collisions += counters.slow[Why::FlowCollision as usize];
}

// Input:  200 worlds of packets with pauses of any length up to twice the age limit, over any delays and one to four queue pairs, in a table that has too
//         few places for all flows; a server that sweeps. Then no packets.
// Output: no entry goes that was used within three quarters of the age limit, by its last hit. In the end the table is empty. Entries were swept, gave
//         their place to others, and were kept by their use.
#[test]
fn an_unused_flow_gives_its_place_and_a_used_one_keeps_it() {
    let mut aged = Aged::default();
    (0..200).for_each(|seed| age(seed, &mut aged));
    let Aged { swept, gave_way, uses_written, hits, collisions } = aged;
    assert!(swept > 1_000 && gave_way > 100, "{swept} swept, {gave_way} gave way");
    assert!(uses_written > 500 && hits > uses_written, "{uses_written} uses written, {hits} hits");
    assert!(collisions > 0, "no bucket was full");
}

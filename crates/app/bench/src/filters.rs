//! Filter sets: the cost to find the rule of a packet among the rules of its session.

use std::hint::black_box;
use std::time::Duration;

use causeway_fastpath::filters::{Compare, FilterSets, FullPacketKey, MAX_RULES, Rule, SetId};
use causeway_model::{FlowAddress, FlowDescription, FlowEnd};
use causeway_types::{Ipv4Net, QfiSet};
use clap::Args;

use crate::kit::{Count, CpuTimer, MAX_TIME_MS, Progress, Samples, Summary, count, within};
use crate::report::{Cell, Column, Conditions, IoCost, Report};
use crate::{BenchError, Common};

/// Packets between two reads of the clock.
const CHUNK: usize = 1 << 14;

/// Packets that are matched one after the other, as in the pipeline.
const BATCH: usize = 32;

/// The UE.
const UE: u32 = u32::from_be_bytes([10, 45, 0, 2]);

/// Every list is measured in all combinations with the others, and with each comparison method that the host supports.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Rules in a set; each packet matches a random one, the last of which has no filters
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().rules)]
    pub rules: Vec<u16>,
    /// Sets of different content; each packet uses a random one
    #[arg(long, value_delimiter = ',', default_values_t = Options::default().sets)]
    pub sets: Vec<Count>,
    /// Milliseconds of CPU time for each row
    #[arg(long, value_name = "MS", default_value_t = Options::default().time)]
    pub time: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self { rules: vec![1, 5, 10, 16, 40], sets: vec![count(1), count(1000)], time: 200 }
    }
}

/// The second and third octet of an address distinguish sets.
const MAX_SETS: u64 = 1 << 16;

impl Options {
    fn check(&self) -> Result<(), BenchError> {
        within("--rules", self.rules.iter().map(|rules| u64::from(*rules)), 1..=MAX_RULES as u64)?;
        within("--sets", self.sets.iter().map(|sets| sets.0), 1..=MAX_SETS)?;
        within("--time", [self.time], 1..=MAX_TIME_MS)
    }
}

/// Measures all combinations.
///
/// # Errors
/// [`BenchError::OutOfRange`], or [`BenchError::Filters`] without memory for the sets.
pub fn run(options: &Options, common: &Common) -> Result<Vec<Report>, BenchError> {
    options.check()?;
    let time = Duration::from_millis(if common.quick { 1 } else { options.time });
    let conditions = Conditions::here(IoCost::Net)
        .with("packets", format!("IPv4, in batches of {BATCH}; each matches a random rule of its set"))
        .with("rules", "a filter on protocol, remote prefix, UE address and, every other one, ports; the last rule is open")
        .with("time", format!("{} ms of CPU time for each row, interleaved", time.as_millis()));
    let columns = vec![
        Column::new("rules"),
        Column::new("sets"),
        Column::new("compare"),
        Column::of("p10", "ns"),
        Column::of("median", "ns"),
        Column::of("p90", "ns"),
    ];
    let mut report =
        Report::new("filters", "Filter sets: the first rule that a packet matches", conditions, columns);
    let mut progress = Progress::new();
    for rules in &options.rules {
        for sets in &options.sets {
            progress.stage(format!("filters: {rules} rules, {sets} sets"));
            // The options are checked: it is at most 2^16.
            for (compare, net) in measure(*rules, sets.0 as u32, time, common.seed)? {
                report.row([
                    Cell::Count(u64::from(*rules)),
                    (*sets).into(),
                    compare.name().into(),
                    net.map(|net| Cell::nanos(net.p10)).into(),
                    net.map(|net| Cell::nanos(net.median)).into(),
                    net.map(|net| Cell::nanos(net.p90)).into(),
                ]);
            }
        }
    }
    report.note("Net of the creation of a packet's key from its fields, which is measured in the same run.");
    Ok(vec![report])
}

/// The packet fields that the fast path has.
struct Packet {
    set: usize,
    remote: u32,
    protocol: u8,
}

impl Packet {
    #[inline]
    fn key(&self) -> FullPacketKey {
        FullPacketKey::v4(self.remote, UE, self.protocol, 0).with_ports(443, 5000).with_ue(false, true)
    }
}

/// One comparison method, with separate sets.
struct Side {
    compare: Compare,
    sets: FilterSets,
    ids: Vec<SetId>,
    samples: Samples,
    used: Duration,
}

impl Side {
    fn new(compare: Compare, rules: u16, sets: u32) -> Result<Self, BenchError> {
        // One more than the rules need, where IPv6 packets have a block of their own.
        let blocks = (u32::from(rules.div_ceil(16)) + 1) * sets;
        let mut room = FilterSets::comparing(blocks, compare)?;
        let ids = (0..sets).map(|set| room.insert(&rules_of(set, rules))).collect::<Result<_, _>>()?;
        Ok(Self { compare, sets: room, ids, samples: Samples::default(), used: Duration::ZERO })
    }

    fn step(&mut self, packets: &[Packet]) {
        let timer = CpuTimer::start();
        let mut sum = 0;
        for batch in packets.chunks(BATCH) {
            let ids = batch.iter().map(|packet| self.ids.get(packet.set).copied().unwrap_or(SetId::NOTHING));
            let found = batch.iter().zip(ids).map(|(packet, set)| self.sets.first_match(set, &packet.key()));
            sum += found.map(|rule| rule.map_or(0, u32::from)).sum::<u32>();
        }
        black_box(sum);
        let elapsed = timer.elapsed();
        self.used += elapsed;
        self.samples.add(per_packet(elapsed));
    }
}

fn measure(
    rules: u16,
    sets: u32,
    time: Duration,
    seed: u64,
) -> Result<Vec<(Compare, Option<Summary>)>, BenchError> {
    let mut sides =
        Compare::available().map(|way| Side::new(way, rules, sets)).collect::<Result<Vec<_>, _>>()?;
    let packets = packets(rules, sets, seed);
    let mut baseline = Samples::default();
    while sides.iter().any(|side| side.used < time) {
        sides.iter_mut().for_each(|side| side.step(&packets));
        let timer = CpuTimer::start();
        for packet in &packets {
            black_box(&packet.key());
        }
        baseline.add(per_packet(timer.elapsed()));
    }
    let net = |side: &Side| Some(side.samples.summary()?.minus_overhead(baseline.summary()?));
    Ok(sides.iter().map(|side| (side.compare, net(side))).collect())
}

fn per_packet(elapsed: Duration) -> f64 {
    elapsed.as_nanos() as f64 / CHUNK as f64
}

/// Rule `rule` of a set matches four addresses that no other rule or set matches; the last rule matches all packets.
fn rules_of(set: u32, rules: u16) -> Vec<Rule> {
    let filters = |rule: u8| {
        let net = Ipv4Net::new_assert(remote(set, rule, 0).into(), 30);
        let ports = if rule.is_multiple_of(2) { vec![80..=443] } else { Vec::new() };
        FlowDescription {
            protocol: Some(protocol(rule)),
            remote: FlowEnd { address: FlowAddress::Net(net.into()), ports },
            local: FlowEnd { address: FlowAddress::Assigned, ports: Vec::new() },
        }
    };
    let mut list: Vec<Rule> = (0..rules as u8)
        .map(|rule| Rule { qfis: QfiSet::EMPTY, filters: vec![filters(rule).into()] })
        .collect();
    list.last_mut().into_iter().for_each(|rule| rule.filters.clear());
    list
}

/// Packets of random sets, each within the filter of a random rule.
fn packets(rules: u16, sets: u32, seed: u64) -> Vec<Packet> {
    let mut random = fastrand::Rng::with_seed(seed);
    let packet = |_| {
        let (set, rule) = (random.u32(..sets), random.u8(..rules as u8));
        Packet { set: set as usize, remote: remote(set, rule, random.u8(..4)), protocol: protocol(rule) }
    };
    (0..CHUNK).map(packet).collect()
}

fn remote(set: u32, rule: u8, host: u8) -> u32 {
    0xc600_0000 | set << 8 | u32::from(rule * 4 + host)
}

const fn protocol(rule: u8) -> u8 {
    if rule.is_multiple_of(3) { 6 } else { 17 }
}

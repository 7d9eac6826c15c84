//! The memory path: how many packets a second the links and adapters of the memory servers carry, and how long a lookup takes.

use std::collections::HashMap;

use causeway_memory::{
    ExternalMemory, Model, ModelParameters, Operation, OperationId, Place, QueuePair, Region, Regions, Rights,
};
use causeway_show::{Cell, Column, Progress, Table};
use causeway_types::{Span, Time};

use super::figures::{seeds, seeds_in_words};
use crate::ExperimentError;
use crate::cli::Common;
use crate::outcome::{Goal, Outcome};
use crate::row_writer::Rows;

/// Mean packet of the paper's traffic, octets (X 7.1).
const MEAN: u32 = 690;
/// Octets of an entry of the flow table or the UE table beside the packet: an assumption. Key 13, action, state, buffer (X 5.2).
const ENTRY: u32 = 64;
/// Octets of a block of five PDRs: the header octets that the switch parses at most (X 5.2).
const BLOCK: u32 = 160;
/// PDRs of a block (X 5.2).
const PDRS_OF_A_BLOCK: u32 = 5;
/// Octets of the state that is written back: an assumption. Counter, tokens, time.
const STATE: usize = 16;
/// Octets between two entries (X 6).
const STRIDE: u64 = 2048;
/// Entries: the model's memory is small, and no packet waits for another's entry.
const ENTRIES: u64 = 16_384;
/// Packets in flight on a queue pair: its sixteen reads are used, and the links are never idle for want of packets.
const IN_FLIGHT: u32 = 14;

/// A row of the paper.
#[derive(Clone, Copy, Debug)]
struct Row {
    name: &'static str,
    packet: u32,
    /// Part of the packets that take the slow path.
    slow: f64,
    /// PDRs that a packet of the slow path searches.
    pdrs: u32,
    /// The paper's rate, million packets or insertions a second.
    paper: f64,
}

const fn gigabits(rate: f64, packet: u32) -> f64 {
    rate * 1e3 / 8.0 / packet as f64
}

const ROWS: [Row; 9] = [
    row("690 B, 4.8 % slow, 10 PDRs (table 1)", MEAN, 0.048, 10, gigabits(490.0, MEAN)),
    row("690 B, 4.8 % slow, 40 PDRs (fig. 12a)", MEAN, 0.048, 40, gigabits(490.0 * 0.77, MEAN)),
    row("690 B, 25 % slow, 40 PDRs (fig. 12a)", MEAN, 0.25, 40, gigabits(162.0, MEAN)),
    row("64 B, 4.8 % slow, 10 PDRs (fig. 12b)", 64, 0.048, 10, gigabits(78.0, 64)),
    row("128 B, 4.8 % slow, 10 PDRs (fig. 12c)", 128, 0.048, 10, gigabits(146.0, 128)),
    row("256 B, 4.8 % slow, 10 PDRs (fig. 12d)", 256, 0.048, 10, gigabits(242.0, 256)),
    row("insertions, 10 PDRs (fig. 15)", MEAN, 1.0, 10, 29.7),
    row("insertions, 20 PDRs (fig. 15)", MEAN, 1.0, 20, 17.3),
    row("insertions, 40 PDRs (fig. 15)", MEAN, 1.0, 40, 11.2),
];

const fn row(name: &'static str, packet: u32, slow: f64, pdrs: u32, paper: f64) -> Row {
    Row { name, packet, slow, pdrs, paper }
}

/// What was measured of a row.
#[derive(Clone, Copy, Debug)]
struct Measured {
    /// Million packets a second.
    rate: f64,
    /// Use of the links to and from the servers, of 1.
    out: f64,
    back: f64,
    /// Reads for each packet.
    reads: f64,
    /// A packet of the fast path, and one of the slow path, on idle links: from the first octet to the last response.
    fast: Span,
    slow: Span,
    /// What the highest rate of several seeds is above the lowest.
    spread: f64,
}

/// Runs the experiment.
///
/// # Errors
/// [`ExperimentError`] when no row is selected, or the rows cannot be written.
pub fn run(common: &Common, rows: &Rows, progress: &mut Progress) -> Result<Outcome, ExperimentError> {
    let selected = common.rows_by_name(&ROWS, |row| row.name)?;
    let packets = if common.quick { 5_000 } else { 200_000 };
    let measured = rows.measure(
        &selected,
        |row| {
            progress.stage(row.name.to_owned());
            let runs =
                (0..seeds(common)).map(|number| measure(row, packets, common.seed.wrapping_add(number)));
            Ok(mean(&runs.collect::<Vec<_>>()))
        },
        |measured| table(&selected, measured),
    )?;
    let mut goals = Vec::new();
    for (row, measured) in selected.iter().zip(&measured) {
        let difference = (measured.rate / row.paper - 1.0).abs() * 100.0;
        goals.push(Goal::at_most(&format!("difference from the paper, {}", row.name), 10.0, difference, "%"));
    }
    let parameters = ModelParameters::X_PLANE;
    let ModelParameters { ports, link_rate, reads, writes, queue_pairs, initiator_depth, round_trip, .. } =
        parameters;
    Ok(Outcome {
        name: "xplane-memory",
        title: "Rate and latency of the memory path (X-PLANE, table 1, figures 12 and 15)".into(),
        conditions: vec![
            (
                "links",
                format!("{ports} ports of {} Gbit/s (X 7.1), round trip {} ns on idle links (X 7.3)", link_rate / 1_000_000_000, round_trip.as_nanos()),
            ),
            (
                "adapters",
                format!("{} million READs and {} million WRITE packets a second each (X 7.3)", reads / 1_000_000, writes / 1_000_000),
            ),
            ("queue pairs", format!("{queue_pairs}, each with {initiator_depth} reads outstanding (released code)")),
            (
                "fast path",
                format!("write the packet, read it with {ENTRY} octets of the flow entry, write {STATE} octets of state back (X 2.3, 5.1)"),
            ),
            (
                "slow path",
                format!("the same with the UE entry, then with each block of {PDRS_OF_A_BLOCK} PDRs in {BLOCK} octets, then write the flow entry (X 5.2, 7.1)"),
            ),
            ("packets", format!("{packets} a row, {IN_FLIGHT} in flight on each queue pair; rates of the middle half")),
            ("seeds", seeds_in_words(common)),
        ],
        table: table(&selected, &measured),
        goals,
        notes: vec![
            "Rates and times are model time: requests and responses are the packets of the requester and responder of causeway-memory over \
             links and adapters with these rates. The paper's rates were measured; its switch takes a part of its latency (17 %, X 7.3), \
             which is not in the model."
                .into(),
            "Short packets: the state comes with the entry here. The paper reads it by itself: its 156 million packets a second of 64 octets are \
             two of the 320 million READs of its adapters for each. xplane-fig12 has that READ."
                .into(),
        ],
        details: Vec::new(),
        charts: Vec::new(),
    })
}

/// A packet on its way through the tables.
#[derive(Clone, Copy, Debug)]
struct Flight {
    entry: u64,
    /// Octets of the entry of the lookup under way.
    beside: u32,
    /// Blocks of PDRs that are still to be read; `None` on the fast path.
    blocks: Option<u32>,
}

/// A UPF that keeps its tables in external memory.
struct Tables {
    memory: Model,
    row: Row,
    random: fastrand::Rng,
    now: Time,
    /// The packets by the read that they wait for.
    waiting: HashMap<OperationId, Flight>,
    finished: u64,
}

impl Tables {
    fn new(row: Row, seed: u64) -> Self {
        let length = ENTRIES * STRIDE + u64::from(MEAN + BLOCK);
        let mut regions = Regions::new();
        if let Some(region) = Region::new(0, length as usize, Rights::all()) {
            regions.insert(RKEY, region);
        }
        let memory = Model::new(ModelParameters::X_PLANE, regions, seed);
        let random = fastrand::Rng::with_seed(seed);
        Self { memory, row, random, now: Time::default(), waiting: HashMap::new(), finished: 0 }
    }

    /// A new packet on a queue pair.
    fn arrive(&mut self, queue_pair: QueuePair, is_slow: bool) {
        let blocks = is_slow.then_some(self.row.pdrs.div_ceil(PDRS_OF_A_BLOCK));
        let entry = self.random.u64(..ENTRIES) * STRIDE;
        self.look_up(queue_pair, Flight { entry, beside: ENTRY, blocks });
    }

    /// Writes the packet into an entry, and reads it back with the entry.
    fn look_up(&mut self, queue_pair: QueuePair, flight: Flight) {
        let place = Place { rkey: RKEY, address: flight.entry };
        let packet = vec![0; self.row.packet as usize];
        self.submit(queue_pair, Operation::write(place, packet));
        let read = self.submit(queue_pair, Operation::read(place, self.row.packet + flight.beside));
        if let Some(read) = read {
            self.waiting.insert(read, flight);
        }
    }

    fn submit(&mut self, queue_pair: QueuePair, operation: Operation) -> Option<OperationId> {
        // The queue is longer than what is in flight.
        self.memory.submit(self.now, queue_pair, operation).ok()
    }

    /// Lets time pass until the next outcome; a packet that has left, with its queue pair.
    fn step(&mut self) -> Option<QueuePair> {
        let completion = loop {
            if let Some(completion) = self.memory.poll(self.now) {
                break completion;
            }
            self.now = self.memory.next_timer()?;
        };
        let queue_pair = completion.queue_pair;
        let flight = self.waiting.remove(&completion.id)?;
        match flight.blocks {
            Some(left) if left > 0 => {
                self.look_up(queue_pair, Flight { beside: BLOCK, blocks: Some(left - 1), ..flight });
                None
            }
            found => {
                let place = Place { rkey: RKEY, address: flight.entry };
                if found.is_some() {
                    self.submit(queue_pair, Operation::write(place, vec![0; ENTRY as usize]));
                }
                self.submit(queue_pair, Operation::write(place, vec![0; STATE]));
                self.finished += 1;
                Some(queue_pair)
            }
        }
    }
}

const RKEY: causeway_memory::Rkey = causeway_memory::Rkey(1);

fn measure(row: &Row, packets: u64, seed: u64) -> Measured {
    let mut tables = Tables::new(*row, seed);
    let queue_pairs = tables.memory.queue_pairs();
    let is_slow = |random: &mut fastrand::Rng| random.f64() < row.slow;
    for _ in 0..IN_FLIGHT {
        for number in 0..queue_pairs {
            let slow = is_slow(&mut tables.random);
            tables.arrive(QueuePair(number), slow);
        }
    }
    let begin = (packets / 4, packets * 3 / 4);
    let mut marks = Vec::new();
    while tables.finished < packets && marks.len() < 2 {
        let before = tables.finished;
        let left = tables.step();
        if let Some(queue_pair) = left {
            let slow = is_slow(&mut tables.random);
            tables.arrive(queue_pair, slow);
        }
        if tables.finished > before && (tables.finished == begin.0 || tables.finished == begin.1) {
            marks.push((tables.now, tables.memory.counters(), tables.memory.work()));
        }
    }
    let (fast, slow) = (alone(row, false, seed), alone(row, true, seed));
    let [(start, at_start, work_at_start), (end, at_end, work_at_end)] = marks[..] else {
        return Measured { rate: 0.0, out: 0.0, back: 0.0, reads: 0.0, fast, slow, spread: 0.0 };
    };
    let (seconds, count) = (end.since(start).as_secs_f64(), (begin.1 - begin.0) as f64);
    let parameters = tables.memory.parameters();
    let capacity = parameters.link_rate as f64 * f64::from(parameters.ports) / 8.0 * seconds;
    Measured {
        rate: count / seconds / 1e6,
        out: (at_end.octets_out - at_start.octets_out) as f64 / capacity,
        back: (at_end.octets_in - at_start.octets_in) as f64 / capacity,
        reads: (work_at_end.reads - work_at_start.reads) as f64 / count,
        fast,
        slow,
        spread: 0.0,
    }
}

/// The mean of runs with several seeds. A packet alone takes the same time in each.
fn mean(runs: &[Measured]) -> Measured {
    let of = |value: fn(&Measured) -> f64| runs.iter().map(value).sum::<f64>() / runs.len().max(1) as f64;
    let rates = || runs.iter().map(|run| run.rate);
    let (fast, slow) = runs.first().map_or((Span::ZERO, Span::ZERO), |run| (run.fast, run.slow));
    Measured {
        rate: of(|run| run.rate),
        out: of(|run| run.out),
        back: of(|run| run.back),
        reads: of(|run| run.reads),
        fast,
        slow,
        spread: rates().fold(0.0, f64::max) - rates().fold(f64::MAX, f64::min),
    }
}

/// The time of one packet when there is no other.
fn alone(row: &Row, is_slow: bool, seed: u64) -> Span {
    let mut tables = Tables::new(*row, seed);
    tables.arrive(QueuePair(0), is_slow);
    while tables.finished == 0 && tables.memory.next_timer().is_some() {
        tables.step();
    }
    tables.now.since(Time::default())
}

fn table(rows: &[Row], measured: &[Measured]) -> Table {
    let mut table = Table::new(vec![
        Column::new("packets"),
        Column::of("rate", "M/s, modelled"),
        Column::of("paper, measured", "M/s"),
        Column::of("difference", "%"),
        Column::of("load", "Gbit/s, modelled"),
        Column::of("links out", "%"),
        Column::of("links back", "%"),
        Column::of("READs", "1/packet"),
        Column::of("fast", "µs, modelled"),
        Column::of("slow", "µs, modelled"),
        Column::of("spread", "M/s"),
    ]);
    for (row, measured) in rows.iter().zip(measured) {
        table.rows.push(vec![
            row.name.into(),
            Cell::Number(measured.rate, 1),
            Cell::Number(row.paper, 1),
            Cell::Number((measured.rate / row.paper - 1.0) * 100.0, 1),
            Cell::Number(measured.rate * f64::from(row.packet) * 8.0 / 1e3, 0),
            Cell::Number(measured.out * 100.0, 1),
            Cell::Number(measured.back * 100.0, 1),
            Cell::Number(measured.reads, 2),
            Cell::Number(measured.fast.as_secs_f64() * 1e6, 2),
            Cell::Number(measured.slow.as_secs_f64() * 1e6, 2),
            Cell::Number(measured.spread, 2),
        ]);
    }
    table
}

//! The memory path as a simulation of events, from parts with a name and a source each: what a packet costs on the links to the memory
//! servers and on their adapters, in the design of the paper and in ours.
//!
//! A port sends its packets one after the other in each direction; its adapter executes READs at their rate, and WRITEs at theirs, in
//! order. Each step of a packet waits for the responses of the step before.

use causeway_types::Span;
use causeway_xplane::local_state::{LocalStateConfig, LocalStateTable, Ticket, WriteTicket};

use crate::events::{EventQueue, PICOS_PER_MICRO, PICOS_PER_SECOND, Picos, time};
use crate::hardware::xplane as hardware;

/// Octets around a UDP datagram on a link: preamble and start 8, Ethernet 14, FCS 4, gap 12 (IEEE 802.3), IPv4 20, UDP 8.
const AROUND: u64 = 66;
/// BTH and ICRC of RoCEv2 (InfiniBand clauses 9.2 and 9.8).
const TRANSPORT: u64 = 12 + 4;
/// RETH: place and length of a READ or WRITE.
const RETH: u64 = 16;
/// AETH: an acknowledgement.
const AETH: u64 = 4;
/// Ports with a link and an adapter each.
pub(super) const PORTS: u64 = hardware::PORTS.value as u64;
/// Of an octet on a link.
pub(super) const PER_OCTET: Picos = hardware::LINK.picos_of_octet();
const PER_READ: Picos = hardware::READS.picos_of_one();
const PER_WRITE: Picos = hardware::WRITES.picos_of_one();
/// Half of the round trip on idle links.
pub(super) const ONE_WAY: Picos = hardware::ONE_WAY.picos();
/// A pass of the switch.
pub(super) const PASS: Picos = hardware::PASS.picos();

/// Octets of an entry beside the packet: an assumption. The paper names key (13 octets), action, state and buffer information (X 5.2), and no
/// size.
pub(super) const ENTRY: u64 = 64;
/// Octets of the state: a counter, tokens and their time, 64 bits each (X 5.1, 7.8).
pub(super) const STATE: u64 = 24;
/// Octets of a block of five PDRs: what the switch parses at most (X 5.2).
const BLOCK: u64 = 160;
/// PDRs of a block (X 5.2).
const PDRS_OF_A_BLOCK: u32 = 5;
/// Flows (X 7.1).
pub(super) const FLOWS: u32 = 10_000_000;

/// Which system.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Design {
    /// As printed: each lookup writes the packet and reads it back. The state is read by itself: 156 million packets a second of 64 octets
    /// are two of the 320 million READs of the adapters for each (X 7.3). It is written at the end of a busy period.
    Paper,
    /// The state is in the flow entry; UE, first block in one read; blocks are read without the packet; the response to the read
    /// acknowledges the write of the packet; a table on the switch has so many flows.
    Ours { on_chip: u32 },
}

/// Mean packet of the paper's traffic, octets, and its shortest and longest one (X 7.1).
pub(super) const MEAN: u64 = 690;
const SHORTEST: u64 = 64;
const LONGEST: u64 = 1518;

/// Octets of packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Size {
    /// All are of this size.
    All(u64),
    /// From the shortest to the longest of the paper with its mean: many short ones, ever fewer longer ones. The paper does not give the distribution.
    Mixed,
    /// The shortest and the longest alone, with the paper's mean: of all distributions the one that is spread most.
    Ends,
}

impl Size {
    /// The mean, octets.
    pub(super) const fn mean(self) -> u64 {
        match self {
            Self::All(octets) => octets,
            Self::Mixed | Self::Ends => MEAN,
        }
    }

    /// The size of a packet.
    pub(super) fn draw(self, random: &mut fastrand::Rng) -> u64 {
        let (least, span) = (SHORTEST as f64, (LONGEST - SHORTEST) as f64);
        let part = (MEAN - SHORTEST) as f64 / span;
        match self {
            Self::All(octets) => octets,
            // The mean of a power of a uniform number is one by the power and one.
            Self::Mixed => (least + span * random.f64().powf(1.0 / part - 1.0)).round() as u64,
            Self::Ends if random.f64() < part => LONGEST,
            Self::Ends => SHORTEST,
        }
    }
}

/// A run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Load {
    pub(super) design: Design,
    /// Octets of packets.
    pub(super) size: Size,
    /// Part of the packets that take the slow path, marked by chance (X 7.1).
    pub(super) slow: f64,
    /// PDRs that are searched.
    pub(super) pdrs: u32,
    /// Exponent of the frequencies of the flows; 0 is uniform.
    pub(super) skew: f64,
    /// `None`: as many packets as the links carry. Else so many million a second.
    pub(super) rate: Option<f64>,
    /// Writes of states are collapsed by the local state table; without, each packet writes.
    pub(super) collapses: bool,
    pub(super) packets: u64,
    pub(super) seed: u64,
}

/// What a run found.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Million packets a second, and Gbit/s.
    pub(super) rate: f64,
    pub(super) gigabits: f64,
    /// The lowest and the highest load of several seeds, Gbit/s.
    pub(super) seeds: (f64, f64),
    /// Part of the packets that the table on the switch handled.
    pub(super) on_chip: f64,
    /// Octets out and back, READs, and writes of states, a packet.
    pub(super) out: f64,
    pub(super) back: f64,
    pub(super) reads: f64,
    pub(super) writes: f64,
    /// Times of packets on the fast and on the slow path, in seconds.
    pub(super) fast: Vec<f64>,
    pub(super) slow: Vec<f64>,
    /// Most entries of the local state table.
    pub(super) entries: usize,
}

/// One operation of a step.
#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u64),
    /// With the acknowledgement of its own, or acknowledged by a later response.
    Write(u64, bool),
}

/// A port, with the times at which its parts are free.
#[derive(Clone, Copy, Default)]
struct Port {
    out: Picos,
    back: Picos,
    read: Picos,
    write: Picos,
}

/// Octets of a response on a link, with this many of the memory; an acknowledgement has none.
pub(super) const fn response(octets: u64) -> u64 {
    AROUND + TRANSPORT + AETH + octets
}

/// Links and adapters.
pub(super) struct Ports {
    ports: Vec<Port>,
    /// Octets out and back, READs.
    used: [u64; 3],
}

impl Ports {
    pub(super) fn new() -> Self {
        Self { ports: vec![Port::default(); PORTS as usize], used: [0; 3] }
    }

    /// Octets on all links from the servers.
    pub(super) const fn octets_back(&self) -> u64 {
        self.used[1]
    }

    /// When the responses to all reads among the operations are there.
    fn carry_out(&mut self, now: Picos, port: usize, operations: &[Step]) -> Picos {
        let mut done = now;
        for operation in operations {
            match *operation {
                Step::Read(octets) => done = done.max(self.read(now, port, octets)),
                Step::Write(octets, is_acknowledged) => {
                    self.write(now, port, octets, is_acknowledged);
                }
            }
        }
        done
    }

    /// When the response to a read is there.
    pub(super) fn read(&mut self, now: Picos, port: usize, octets: u64) -> Picos {
        let request = AROUND + TRANSPORT + RETH;
        let response = response(octets);
        self.used = [self.used[0] + request, self.used[1] + response, self.used[2] + 1];
        let port = &mut self.ports[port];
        port.out = port.out.max(now) + request * PER_OCTET;
        port.read = port.read.max(port.out + ONE_WAY) + PER_READ;
        port.back = port.back.max(port.read) + response * PER_OCTET;
        port.back + ONE_WAY
    }

    /// When the acknowledgement of a write is there, or would be.
    pub(super) fn write(&mut self, now: Picos, port: usize, octets: u64, is_acknowledged: bool) -> Picos {
        let request = AROUND + TRANSPORT + RETH + octets;
        let response = if is_acknowledged { response(0) } else { 0 };
        self.used = [self.used[0] + request, self.used[1] + response, self.used[2]];
        let port = &mut self.ports[port];
        port.out = port.out.max(now) + request * PER_OCTET;
        port.write = port.write.max(port.out + ONE_WAY) + PER_WRITE;
        // READs and WRITEs of a queue pair are executed in order.
        port.read = port.read.max(port.write);
        port.back = port.back.max(port.write) + response * PER_OCTET;
        port.back + ONE_WAY
    }
}

/// The steps of a packet, and the writes at its end.
fn steps(load: &Load, packet: u64, is_slow: bool) -> (Vec<Vec<Step>>, u64) {
    let Load { design, pdrs, .. } = *load;
    let blocks = pdrs.div_ceil(PDRS_OF_A_BLOCK).max(1);
    let mut steps = Vec::new();
    match design {
        Design::Paper => {
            steps.push(vec![Step::Write(packet, true), Step::Read(STATE), Step::Read(packet + ENTRY)]);
            if is_slow {
                steps.push(vec![Step::Read(ENTRY)]);
                let block = vec![Step::Write(packet, true), Step::Read(packet + BLOCK)];
                steps.extend((0..blocks).map(|_| block.clone()));
            }
        }
        Design::Ours { .. } => {
            steps.push(vec![Step::Write(packet, false), Step::Read(packet + ENTRY + STATE)]);
            for block in 0..if is_slow { blocks } else { 0 } {
                let mut step = match block {
                    0 => vec![Step::Write(packet, false), Step::Read(ENTRY + BLOCK)],
                    _ => vec![Step::Read(BLOCK)],
                };
                // The packet comes with the last block.
                step.extend((block + 1 == blocks).then_some(Step::Read(packet)));
                steps.push(step);
            }
        }
    }
    (steps, if is_slow { ENTRY + STATE } else { 0 })
}

/// A table of flows on the switch, in sets of four: a flow that misses replaces the one that was used least recently, one time in 32, so
/// that frequent flows come and stay.
struct OnChip {
    sets: Vec<[(u32, u64); 4]>,
    clock: u64,
}

impl OnChip {
    fn new(entries: u32) -> Self {
        Self { sets: vec![[(u32::MAX, 0); 4]; (entries / 4) as usize], clock: 0 }
    }

    fn has(&mut self, flow: u32, random: &mut fastrand::Rng) -> bool {
        if self.sets.is_empty() {
            return false;
        }
        self.clock += 1;
        let place = (u64::from(flow).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) as usize % self.sets.len();
        let set = &mut self.sets[place];
        if let Some(entry) = set.iter_mut().find(|entry| entry.0 == flow) {
            entry.1 = self.clock;
            return true;
        }
        if random.u8(..32) == 0
            && let Some(oldest) = set.iter_mut().min_by_key(|entry| entry.1)
        {
            *oldest = (flow, self.clock);
        }
        false
    }
}

/// A flow by Zipf's law with this exponent, by inversion of the continuous distribution.
pub(super) fn flow(random: &mut fastrand::Rng, flows: u32, skew: f64) -> u32 {
    let (many, u) = (f64::from(flows), random.f64());
    let rank = if skew == 0.0 {
        u * many
    } else if (skew - 1.0).abs() < 1e-9 {
        many.powf(u) - 1.0
    } else {
        let power = 1.0 - skew;
        ((many.powf(power) - 1.0) * u + 1.0).powf(1.0 / power) - 1.0
    };
    (rank as u32).min(flows - 1)
}

/// A packet on its way.
#[derive(Clone, Copy)]
struct Flight {
    begun: Picos,
    octets: u64,
    port: usize,
    is_slow: bool,
    step: usize,
    ticket: Option<Ticket>,
}

#[derive(Clone, Copy)]
enum Event {
    Packet(usize),
    Written(usize),
    Arrival,
}

/// Packets in flight on a port when the links are to be full.
const IN_FLIGHT: usize = 64;

/// Runs a load with one seed.
pub(super) fn run(load: &Load) -> Found {
    Run::new(load).finish()
}

/// Runs a load with so many seeds, one after the other: the means, the times of all packets, and the lowest and the highest load.
pub(super) fn run_seeds(load: &Load, seeds: u64) -> Found {
    let with = |number| run(&Load { seed: load.seed.wrapping_add(number), ..*load });
    let mut all = Found { seeds: (f64::MAX, 0.0), ..Found::default() };
    for found in (0..seeds).map(with) {
        for (sum, value) in [
            (&mut all.rate, found.rate),
            (&mut all.gigabits, found.gigabits),
            (&mut all.on_chip, found.on_chip),
            (&mut all.out, found.out),
            (&mut all.back, found.back),
            (&mut all.reads, found.reads),
            (&mut all.writes, found.writes),
        ] {
            *sum += value / seeds as f64;
        }
        all.seeds = (all.seeds.0.min(found.gigabits), all.seeds.1.max(found.gigabits));
        all.fast.extend(found.fast);
        all.slow.extend(found.slow);
        all.entries = all.entries.max(found.entries);
    }
    all
}

struct Run<'l> {
    load: &'l Load,
    ports: Ports,
    on_chip: OnChip,
    local: LocalStateTable<u32, ()>,
    flights: Vec<Flight>,
    free: Vec<usize>,
    writes: Vec<(WriteTicket, usize)>,
    events: EventQueue<Event>,
    left: u64,
    on_chip_hits: u64,
    written: u64,
    /// Octets of the packets that have left.
    octets: u64,
    found: Found,
}

impl<'l> Run<'l> {
    fn new(load: &'l Load) -> Self {
        let on_chip = match load.design {
            Design::Ours { on_chip } => on_chip,
            Design::Paper => 0,
        };
        let config = LocalStateConfig {
            age_limit: Span::from_secs(1),
            seed: load.seed,
            ..LocalStateConfig::default()
        };
        Self {
            load,
            ports: Ports::new(),
            on_chip: OnChip::new(on_chip),
            local: LocalStateTable::new(config),
            flights: Vec::new(),
            free: Vec::new(),
            writes: Vec::new(),
            events: EventQueue::with_seed(load.seed),
            left: 0,
            on_chip_hits: 0,
            written: 0,
            octets: 0,
            found: Found::default(),
        }
    }

    fn finish(mut self) -> Found {
        let Load { packets, rate, .. } = *self.load;
        // The table on the switch has seen the traffic for a while.
        if !self.on_chip.sets.is_empty() {
            for _ in 0..self.on_chip.sets.len() as u64 * 400 {
                let flow = flow(self.events.random(), FLOWS, self.load.skew);
                self.on_chip.has(flow, self.events.random());
            }
        }
        match rate {
            None => (0..IN_FLIGHT * PORTS as usize)
                .for_each(|number| self.events.push(number as Picos * 1000, Event::Arrival)),
            Some(_) => self.events.push(0, Event::Arrival),
        }
        let mut marks = Vec::new();
        while let Some((now, event)) = self.events.pop() {
            let before = self.left;
            match event {
                Event::Arrival => self.arrive(now),
                Event::Packet(number) => self.step(now, number),
                Event::Written(number) => {
                    let (ticket, port) = self.writes[number];
                    if let Some(write) = self.local.written(ticket) {
                        self.write_state(now, write.ticket, port);
                    }
                }
            }
            if self.left > before && (self.left == packets / 4 || self.left == packets * 3 / 4) {
                marks.push((now, self.ports.used, self.written, self.on_chip_hits, self.octets));
            }
            if self.left >= packets {
                break;
            }
        }
        let [first, last] = marks[..] else { return self.found };
        let count = (packets / 2) as f64;
        let share = |part: usize| (last.1[part] - first.1[part]) as f64 / count;
        let micros = (last.0 - first.0) as f64 / PICOS_PER_MICRO;
        self.found.rate = count / micros;
        self.found.gigabits = (last.4 - first.4) as f64 * 8.0 / 1e3 / micros;
        self.found.seeds = (self.found.gigabits, self.found.gigabits);
        (self.found.out, self.found.back, self.found.reads) = (share(0), share(1), share(2));
        self.found.writes = (last.2 - first.2) as f64 / count;
        self.found.on_chip = (last.3 - first.3) as f64 / count;
        self.found.entries = self.local.most_used();
        self.found
    }

    fn arrive(&mut self, now: Picos) {
        if let Some(rate) = self.load.rate {
            // Poisson arrivals.
            let gap = -(1.0 - self.events.random().f64()).ln() / rate * PICOS_PER_MICRO;
            self.events.push(now + gap as Picos, Event::Arrival);
        }
        let is_slow = self.events.random().f64() < self.load.slow;
        let flow = flow(self.events.random(), FLOWS, self.load.skew);
        let octets = self.load.size.draw(self.events.random());
        // The first packet of a flow is not on the switch.
        if !is_slow && self.on_chip.has(flow, self.events.random()) {
            self.on_chip_hits += 1;
            return self.leave(now + PASS, now, octets, false);
        }
        let port = (u64::from(flow).wrapping_mul(0xd134_2543_de82_ef95) >> 40) as usize % PORTS as usize;
        // What collides is for the CPU, and takes no part in the rest.
        let ticket = if self.load.collapses {
            match self.local.arrive(time(now), &flow) {
                Ok(arrived) => Some(arrived.ticket),
                Err(_) => return self.leave(now + PASS, now, octets, false),
            }
        } else {
            None
        };
        let flight = Flight { begun: now, octets, port, is_slow, step: 0, ticket };
        let number = match self.free.pop() {
            Some(number) => {
                self.flights[number] = flight;
                number
            }
            None => {
                self.flights.push(flight);
                self.flights.len() - 1
            }
        };
        self.step(now + PASS, number);
    }

    /// The next step of a packet, or its end.
    fn step(&mut self, now: Picos, number: usize) {
        let Flight { begun, octets, port, is_slow, step, ticket } = self.flights[number];
        let (steps, entry) = steps(self.load, octets, is_slow);
        let Some(operations) = steps.get(step) else {
            if entry > 0 {
                self.ports.write(now, port, entry, true);
            }
            match ticket {
                Some(ticket) => {
                    self.local.load(ticket, ());
                    self.local.update(ticket, |()| ());
                    if let Some(write) = self.local.leave(time(now), ticket) {
                        self.write_state(now, write.ticket, port);
                    }
                }
                None => {
                    self.written += 1;
                    self.ports.write(now, port, STATE, true);
                }
            }
            self.free.push(number);
            return self.leave(now, begun, octets, is_slow);
        };
        let done = self.ports.carry_out(now, port, operations);
        self.flights[number].step += 1;
        self.events.push(done + PASS, Event::Packet(number));
    }

    fn write_state(&mut self, now: Picos, ticket: WriteTicket, port: usize) {
        self.written += 1;
        let done = self.ports.write(now, port, STATE, true);
        self.writes.push((ticket, port));
        self.events.push(done, Event::Written(self.writes.len() - 1));
    }

    fn leave(&mut self, now: Picos, begun: Picos, octets: u64, is_slow: bool) {
        self.left += 1;
        self.octets += octets;
        let seconds = (now - begun) as f64 / PICOS_PER_SECOND;
        if is_slow {
            self.found.slow.push(seconds);
        } else {
            self.found.fast.push(seconds);
        }
        if self.load.rate.is_none() {
            self.events.push(now, Event::Arrival);
        }
    }
}

/// The time of a packet of the mean size when there is no other.
pub(super) fn alone(load: &Load, is_slow: bool) -> f64 {
    let mut ports = Ports::new();
    let mut now = PASS;
    for step in steps(load, load.size.mean(), is_slow).0 {
        now = ports.carry_out(now, 0, &step) + PASS;
    }
    now as f64 / PICOS_PER_MICRO
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  a million packets of each distribution.
    // Output: all are within the paper's sizes, and their mean is the paper's, within 1 octet of 690 (those of two sizes: within 2).
    #[test]
    fn the_mean_packet_is_the_papers() {
        for (size, within) in [(Size::Mixed, 1.0), (Size::Ends, 2.0), (Size::All(MEAN), 0.0)] {
            let mut random = fastrand::Rng::with_seed(7);
            let drawn: Vec<u64> = (0..1_000_000).map(|_| size.draw(&mut random)).collect();
            assert!(drawn.iter().all(|octets| (SHORTEST..=LONGEST).contains(octets)), "{size:?}");
            let mean = drawn.iter().sum::<u64>() as f64 / drawn.len() as f64;
            assert!((mean - MEAN as f64).abs() <= within, "{size:?}: {mean}");
            assert_eq!(size.mean(), MEAN);
        }
    }

    // Input:  a load with three seeds, and each of them alone.
    // Output: their mean, and the lowest and the highest of them; the times of all their packets.
    #[test]
    fn several_seeds_have_a_mean_and_a_spread() {
        let load = Load {
            design: Design::Paper,
            size: Size::Mixed,
            slow: 0.048,
            pdrs: 10,
            skew: 0.0,
            rate: None,
            collapses: true,
            packets: 4_000,
            seed: 5,
        };
        let alone: Vec<Found> = (5..8).map(|seed| run(&Load { seed, ..load })).collect();
        let all = run_seeds(&load, 3);
        let rates = alone.iter().map(|found| found.gigabits);
        assert!((all.gigabits - rates.clone().sum::<f64>() / 3.0).abs() < 1e-9);
        assert_eq!(all.seeds, (rates.clone().fold(f64::MAX, f64::min), rates.fold(0.0, f64::max)));
        assert!(all.seeds.0 < all.seeds.1, "{:?}", all.seeds);
        assert_eq!(all.slow.len(), alone.iter().map(|found| found.slow.len()).sum::<usize>());
    }
}

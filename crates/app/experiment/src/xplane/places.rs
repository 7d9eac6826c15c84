//! Keys that find no place: in the tables in external memory, by how full they are, and in the local state table.

use std::net::Ipv4Addr;

use causeway_packet::Ports;
use causeway_show::{Cell, Column, Table};
use causeway_slowpath::lease::LookupKey;
use causeway_types::{Span, Teid};
use causeway_xplane::local_state::{LocalStateConfig, LocalStateTable, Ticket, WriteTicket};
use causeway_xplane::{Fields, Sizes, UeKey};

use super::figures::packets_of;
use super::path::{FLOWS, MEAN, flow};
use crate::events::{EventQueue, PICOS_PER_MICRO, Picos, time};
use crate::spread::Spread;

/// Places of a bucket, in the UE table and in the flow table.
const WAYS: u64 = 2;
/// Queue pairs of the data plane.
const PAIRS: u64 = 4;
/// Flows of each UE, and source addresses and ports that they are drawn from (X 7.1).
const FLOWS_OF_A_UE: u64 = 10;
const SOURCES: u32 = 1000;
/// Places of the local state table in P4 profile `xplane`.
pub(super) const P4_PLACES: usize = 32_768;

/// The part of the keys that find all places of their bucket taken, with so many keys for each place. Keys of a bucket have Poisson's distribution.
pub(super) fn without_place(fill: f64, ways: u64) -> f64 {
    let mean = fill * ways as f64;
    let of = |keys: u64| (1..=keys).fold((-mean).exp(), |part, key| part * mean / key as f64);
    let placed = ways as f64 - (0..ways).map(|keys| (ways - keys) as f64 * of(keys)).sum::<f64>();
    1.0 - placed / mean
}

/// The part of the packets that find all places of their bucket taken, with so many other keys in use for each place.
pub(super) fn taken(fill: f64, ways: u64) -> f64 {
    let mean = fill * ways as f64;
    let of = |keys: u64| (1..=keys).fold((-mean).exp(), |part, key| part * mean / key as f64);
    1.0 - (0..ways).map(of).sum::<f64>()
}

/// Keys in buckets.
struct Buckets {
    taken: Vec<u8>,
    ways: u8,
    refused: u64,
    keys: u64,
}

impl Buckets {
    fn new(buckets: u64, ways: u64) -> Self {
        Self { taken: vec![0; buckets as usize], ways: ways as u8, refused: 0, keys: 0 }
    }

    /// The key gets a place.
    fn place(&mut self, bucket: u64) -> bool {
        let taken = &mut self.taken[bucket as usize];
        let is_placed = *taken < self.ways;
        *taken += u8::from(is_placed);
        self.refused += u64::from(!is_placed);
        self.keys += 1;
        is_placed
    }

    /// The part of the keys that got none.
    fn without_place(&self) -> f64 {
        self.refused as f64 / self.keys as f64
    }
}

/// A table and the keys that are to be in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    name: &'static str,
    /// UEs; with flows, ten of each.
    ues: u64,
    of: Keys,
    /// Places for each UE.
    places: f64,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Keys {
    /// So many lookup keys of each UE, whose address is random or the next one.
    Ues {
        each: u64,
        is_random: bool,
    },
    Flows,
}

/// The rows: what `upf.xplane` makes, X-PLANE's space (section 6), and a place for each.
pub(super) const fn filled(ues: u64) -> [Filled; 10] {
    const TWO: Keys = Keys::Ues { each: 2, is_random: true };
    const THREE: Keys = Keys::Ues { each: 3, is_random: true };
    const NEXT: Keys = Keys::Ues { each: 2, is_random: false };
    const FLOWS: Keys = Keys::Flows;
    const fn row(name: &'static str, ues: u64, of: Keys, places: f64) -> Filled {
        Filled { name, ues, of, places }
    }
    [
        row("UE table of `ues`, two keys a UE", ues, TWO, 8.0),
        row("the same, addresses and TEIDs one after the other", ues, NEXT, 8.0),
        row("UE table of `ues`, three keys a UE", ues, THREE, 8.0),
        row("UE table, 8M UEs with two keys for 1M (X 6)", ues, TWO, 16.0),
        row("UE table, a place for each key", ues, TWO, 2.0),
        row("flow table of `flows`", ues, FLOWS, 20.0),
        row("the same, half as many flows", ues / 2, FLOWS, 40.0),
        row("the same, a tenth of the flows", ues / 10, FLOWS, 200.0),
        row("flow table, 64M places for 10M flows (X 6)", ues, FLOWS, 64.0),
        row("flow table, a place for each flow", ues, FLOWS, 10.0),
    ]
}

/// The lookup keys of a UE: a tunnel, an IPv4 address, an IPv6 prefix.
fn keys(number: u64, is_random: bool, random: &mut fastrand::Rng) -> Option<[UeKey; 3]> {
    let (address, teid) = match is_random {
        true => (random.u32(..), random.u32(1..)),
        false => (0x0a00_0000 + number as u32, 1 + number as u32),
    };
    let tunnel = LookupKey::Tunnel { teid: Teid::new(teid)?, local: Ipv4Addr::new(192, 0, 2, 1).into() };
    let v4 = LookupKey::Ipv4 { network: 0, ue: address.into() };
    let v6 = LookupKey::Ipv6 { network: 0, prefix: 0x2001_0db8 << 32 | u64::from(address) };
    Some([UeKey::new(&tunnel)?, UeKey::new(&v4)?, UeKey::new(&v6)?])
}

/// A flow to a UE as X-PLANE draws it, and its bucket.
fn bucket_of_flow(sizes: &Sizes, ue: &UeKey, address: Ipv4Addr, random: &mut fastrand::Rng) -> u64 {
    let ports = Ports { src: random.u16(..SOURCES as u16), dst: random.u16(..SOURCES as u16) };
    let src = Ipv4Addr::from(0xcb00_0000 + random.u32(..SOURCES));
    let fields =
        Fields { src: src.into(), dst: address.into(), protocol: 17, ports: Some(ports), dscp: 0, qfi: None };
    sizes.flow_bucket(ue, &fields.key(), PAIRS)
}

impl Filled {
    /// Keys for each place.
    fn fill(&self) -> f64 {
        let keys = match self.of {
            Keys::Ues { each, .. } => each,
            Keys::Flows => FLOWS_OF_A_UE,
        };
        keys as f64 / self.places
    }

    /// The part of the keys that find no place by hashing, in buckets of so many places.
    fn hashed(&self, ways: u64, seed: u64) -> Option<f64> {
        let mut random = fastrand::Rng::with_seed(seed);
        let buckets = (self.ues as f64 * self.places) as u64 / ways;
        let sizes = Sizes { ue_buckets: buckets, flow_buckets: buckets, ..Sizes::default() };
        let mut table = Buckets::new(buckets, ways);
        for number in 0..self.ues {
            match self.of {
                Keys::Ues { each, is_random } => {
                    for key in keys(number, is_random, &mut random)?.iter().take(each as usize) {
                        table.place(sizes.ue_bucket(key));
                    }
                }
                Keys::Flows => {
                    let address = Ipv4Addr::from(random.u32(..));
                    let ue = UeKey::new(&LookupKey::Ipv4 { network: 0, ue: address })?;
                    for _ in 0..FLOWS_OF_A_UE {
                        table.place(bucket_of_flow(&sizes, &ue, address, &mut random));
                    }
                }
            }
        }
        Some(table.without_place())
    }
}

/// The mean of runs with so many seeds, and what the highest is above the lowest.
fn of_seeds(seeds: &[u64], run: impl Fn(u64) -> f64) -> (f64, f64) {
    let found: Spread = seeds.iter().map(|seed| run(*seed)).collect();
    (found.mean(), found.most() - found.least())
}

/// The tables in external memory, by how full they are.
pub(super) fn fill_table(rows: &[Filled], seeds: &[u64]) -> Table {
    let mut table = Table::new(vec![
        Column::new("table"),
        Column::of("keys for each place", "%"),
        Column::of("without a place, buckets of two", "% of keys, computed"),
        Column::of("", "%, hashed"),
        Column::of("places for one key", "%, computed"),
        Column::of("", "%, hashed"),
        Column::of("spread, buckets of two", "%"),
    ]);
    for row in rows {
        let hashed = |ways| of_seeds(seeds, |seed| row.hashed(ways, seed).unwrap_or(f64::NAN) * 100.0);
        let ((two, spread), (one, _)) = (hashed(WAYS), hashed(1));
        table.row([
            row.name.into(),
            Cell::Number(row.fill() * 100.0, 1),
            Cell::Number(without_place(row.fill(), WAYS) * 100.0, 2),
            Cell::Number(two, 2),
            Cell::Number(without_place(row.fill(), 1) * 100.0, 2),
            Cell::Number(one, 2),
            Cell::Number(spread, 3),
        ]);
    }
    table
}

/// The part of the packets to UEs that find no record of the UE, or no entry of their flow, with X-PLANE's space: two keys of each UE are in the UE table. All
/// flows have the same rate.
pub(super) fn packets_without_place(ues: u64, seeds: &[u64]) -> (f64, f64) {
    of_seeds(seeds, |seed| {
        let mut random = fastrand::Rng::with_seed(seed);
        let sizes = Sizes { ue_buckets: 8 * ues, flow_buckets: 32 * ues, ..Sizes::default() };
        let (mut records, mut entries) = (Buckets::new(8 * ues, WAYS), Buckets::new(32 * ues, WAYS));
        let mut refused = 0;
        for _ in 0..ues {
            let address = Ipv4Addr::from(random.u32(..));
            let tunnel = UeKey::of_number(random.u32(1..));
            let Some(ue) = UeKey::new(&LookupKey::Ipv4 { network: 0, ue: address }) else { continue };
            records.place(sizes.ue_bucket(&tunnel));
            let has_record = records.place(sizes.ue_bucket(&ue));
            for _ in 0..FLOWS_OF_A_UE {
                let bucket = bucket_of_flow(&sizes, &ue, address, &mut random);
                refused += u64::from(!has_record || !entries.place(bucket));
            }
        }
        refused as f64 / (ues * FLOWS_OF_A_UE) as f64
    })
}

/// Million packets a second at which the local state table is looked at.
fn rate() -> f64 {
    packets_of(490.0, MEAN).unwrap_or(1.0)
}

/// The mean of the entries of a local state table in use, with a round trip in microseconds: an entry is there for the packet's and for the write's.
pub(super) fn mean_entries(round_trip: f64) -> f64 {
    rate() * 2.0 * round_trip
}

/// A local state table.
trait LocalState {
    /// A packet that uses an entry.
    type Packet;
    /// A value on the way to memory.
    type Write;
    /// `None`: it collides.
    fn arrive(&mut self, at: Picos, flow: u32) -> Option<Self::Packet>;
    fn response(&mut self, at: Picos, packet: Self::Packet) -> Option<Self::Write>;
    fn written(&mut self, write: Self::Write) -> Option<Self::Write>;
}

impl LocalState for LocalStateTable<u32, ()> {
    type Packet = Ticket;
    type Write = WriteTicket;

    fn arrive(&mut self, at: Picos, flow: u32) -> Option<Ticket> {
        Self::arrive(self, time(at), &flow).ok().map(|arrived| arrived.ticket)
    }

    fn response(&mut self, at: Picos, ticket: Ticket) -> Option<WriteTicket> {
        self.load(ticket, ());
        self.update(ticket, |()| ());
        self.leave(time(at), ticket).map(|write| write.ticket)
    }

    fn written(&mut self, ticket: WriteTicket) -> Option<WriteTicket> {
        Self::written(self, ticket).map(|write| write.ticket)
    }
}

/// That of P4 profile `xplane`: one place for a key, by its CRC-32. The last response leaves the place to the write.
struct OnePlace {
    sizes: Sizes,
    /// The key, and packets in flight.
    places: Vec<(u32, u32)>,
}

impl OnePlace {
    fn new(places: usize) -> Self {
        let sizes = Sizes { ue_buckets: places as u64, ..Sizes::default() };
        Self { sizes, places: vec![(0, 0); places] }
    }
}

impl LocalState for OnePlace {
    type Packet = usize;
    type Write = usize;

    fn arrive(&mut self, _: Picos, flow: u32) -> Option<usize> {
        let place = self.sizes.ue_bucket(&UeKey::of_number(flow)) as usize;
        let cell = &mut self.places[place];
        let is_own = cell.0 == flow || cell.1 == 0;
        is_own.then(|| {
            *cell = (flow, cell.1 + 1);
            place
        })
    }

    fn response(&mut self, _: Picos, place: usize) -> Option<usize> {
        let flights = &mut self.places[place].1;
        let is_last = *flights == 1;
        *flights -= u32::from(!is_last);
        is_last.then_some(place)
    }

    fn written(&mut self, place: usize) -> Option<usize> {
        self.places[place].1 -= 1;
        None
    }
}

/// The part of the packets that collide in a local state table at 490 Gbit/s.
fn collide<L: LocalState>(table: &mut L, round_trip: f64, packets: u64, seed: u64) -> f64 {
    enum Event<P, W> {
        Response(P),
        Acknowledgement(W),
    }
    let mut events = EventQueue::with_seed(seed);
    let round_trip = (round_trip * PICOS_PER_MICRO) as Picos;
    let (mut now, mut collided) = (0_f64, 0_u64);
    for _ in 0..packets {
        now += -(1.0 - events.random().f64()).ln() / rate() * PICOS_PER_MICRO;
        let at = now as Picos;
        while let Some((due, event)) = events.pop_until(at) {
            let write = match event {
                Event::Response(packet) => table.response(due, packet),
                Event::Acknowledgement(write) => table.written(write),
            };
            if let Some(write) = write {
                events.push(due + round_trip, Event::Acknowledgement(write));
            }
        }
        let flow = flow(events.random(), FLOWS, 0.0);
        match table.arrive(at, flow) {
            Some(packet) => events.push(at + round_trip, Event::Response(packet)),
            None => collided += 1,
        }
    }
    collided as f64 / packets as f64
}

/// Collisions in a table of the crate with so many entries: the most in use, and the part of the packets with its spread.
pub(super) fn in_two(entries: usize, round_trip: f64, packets: u64, seeds: &[u64]) -> (usize, f64, f64) {
    let most = std::cell::Cell::new(0);
    let (part, spread) = of_seeds(seeds, |seed| {
        let config = LocalStateConfig { buckets: entries / 2, age_limit: Span::from_secs(1), seed };
        let mut table = LocalStateTable::<u32, ()>::new(config);
        let part = collide(&mut table, round_trip, packets, seed);
        most.set(most.get().max(table.most_used()));
        part
    });
    (most.get(), part, spread)
}

/// Collisions in a table with one place for a key.
pub(super) fn in_one(places: usize, round_trip: f64, packets: u64, seeds: &[u64]) -> (f64, f64) {
    of_seeds(seeds, |seed| collide(&mut OnePlace::new(places), round_trip, packets, seed))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Input:  the fills that docs/configuration.md and docs/xplane.md name, computed; all of them hashed for 20,000 UEs.
    // Output: the shares that are named there. What is hashed is what is computed, within a tenth and 0.2 % of the keys; addresses one after the other find places
    //         at least as often.
    #[test]
    fn hashing_is_as_computed() {
        for (fill, ways, percent) in [
            (0.5, 2, 10.36),
            (0.25, 2, 3.27),
            (0.05, 2, 0.159),
            (0.375, 2, 6.53),
            (0.125, 2, 0.92),
            (10.0 / 64.0, 2, 1.396),
            (1.0, 2, 27.07),
            (10.0 / 64.0, 1, 7.42),
        ] {
            let computed = without_place(fill, ways) * 100.0;
            assert!((computed - percent).abs() < 0.006, "{fill} {ways}: {computed}");
        }
        for row in filled(20_000) {
            for ways in [1, 2] {
                let (hashed, computed) = (row.hashed(ways, 7).unwrap(), without_place(row.fill(), ways));
                let is_random = row.of != Keys::Ues { each: 2, is_random: false };
                let differs = if is_random { (hashed - computed).abs() } else { hashed - computed };
                assert!(differs < computed / 10.0 + 0.002, "{row:?} {ways}: {hashed}, {computed}");
            }
        }
    }

    // Input:  local state tables at 490 Gbit/s and a round trip of 2.5 us, with buckets of two and with one place for a key.
    // Output: what is computed of the mean number of entries in use, within a fifth; one place is many times as bad as two.
    #[test]
    fn one_place_collides_more_often_than_two() {
        let fill = mean_entries(2.5) / 8192.0;
        let (most, two, _) = in_two(8192, 2.5, 400_000, &[1]);
        let (one, _) = in_one(8192, 2.5, 400_000, &[1]);
        for (found, computed) in [(two, taken(fill, 2)), (one, taken(fill, 1))] {
            assert!((found / computed - 1.0).abs() < 0.2, "{found} {computed}");
        }
        assert!(one > 5.0 * two && (440..700).contains(&most), "{one} {two} {most}");
    }
}

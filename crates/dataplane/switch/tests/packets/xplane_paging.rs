//! Paging rings of profile `xplane` with XPLANE_WALK on BMv2: packets for an idle UE wait in external memory, and leave in order. Every frame between
//! switch and memory server is compared octet by octet.

use std::ops::Range;

use causeway_types::QfiSet;

use crate::bmv2::{is_inside, run_inside};
use crate::frames::V4;
use crate::xplane::{
    COLLISION, DOWNLINK, FORWARDED, GAP, GENERATION, HOP_MACS, MEMORY, MISS, NAK, NUMBERS, PAGING_RING_BITS,
    SIZES, STALE, Ue, World, downward, entry, ethernet, exact, to_gnb, word,
};
use crate::xplane_walk::{FULL, Rule, Walks, target};
use crate::{CPU, N6};

// Cells of the counter `outcomes`, and codes on the CPU port: p4/blocks/xplane_headers.p4.
const IDLE: i32 = 15;
const DAMAGED: i32 = 19;
const PAGING_FULL: i32 = 22;
const NOT_NEXT: i32 = 23;

// Notifications of the control plane.
const RELEASE: u8 = 1;
const HOLD: u8 = 2;
const EMPTY: u8 = 3;

/// The paging ring of the UE.
const RING: u32 = 1;
const PLACES: u64 = 1 << PAGING_RING_BITS;
/// Packets of a ring that are read ahead.
const AHEAD: u64 = 4;
/// Bits of a packet's tag: it was in a ring of a walk, in a paging ring, and found no place in the local state table.
const QUEUED: u16 = 1;
const PAGED: u16 = 2;
const NO_PLACE: u16 = 4;

const PAGES: &str = "XPlaneIngressMain.xplane.paging.pages";
const ENDS: &str = "XPlaneIngressMain.xplane.paging.ends";

/// A switch with a UE that is idle; its ring is held.
struct Idle {
    walks: Walks,
}

impl Idle {
    fn start() -> Self {
        let mut walks = Walks::start(DOWNLINK, &[rule()]);
        let key = vec![exact(3, 8), exact(DOWNLINK.word.into(), 32), exact(0, 32)];
        walks.world.add("idle_ues", key, "set_paging_ring", vec![word(RING)]);
        Self { walks }
    }

    fn world(&mut self) -> &mut World {
        &mut self.walks.world
    }

    /// The flow of these packets has an entry.
    fn with_entry(mut self) -> Self {
        self.write_entry(GENERATION);
        self
    }

    fn write_entry(&mut self, generation: u64) {
        let packet = packet(0);
        let place = SIZES.entries(DOWNLINK.flow_bucket(&packet, 255));
        self.world().write(place, entry(DOWNLINK, &packet, None, generation, to_gnb()));
    }

    /// The control plane sends a notification, which has been handled.
    fn notify(&mut self, code: u8) {
        self.notify_ring(code, RING as u16);
    }

    fn notify_ring(&mut self, code: u8, ring: u16) {
        let [high, low] = ring.to_be_bytes();
        let header = [0x88, 0xb5, code, 0, high, low, 0, 0, 0, 0, 0x88, 0xb5];
        self.world().put(CPU, &[&HOP_MACS[..], &header].concat());
        self.world().fence_of(CPU);
    }

    /// A packet arrives that enters the ring at this position. It is in memory then.
    fn enter(&mut self, packet: &V4, position: u64) {
        let write = self.arrive(packet, position);
        self.world().answer(&[write]);
    }

    /// The same until its request has left.
    fn arrive(&mut self, packet: &V4, position: u64) -> Vec<u8> {
        self.world().put(N6, &ethernet(&packet.octets()));
        let stored = [tag(position, PAGED), packet.octets()].concat();
        self.world().paging_write(RING, position, &stored)
    }

    /// The first packet of an empty ring: the software gets a copy.
    fn enter_first(&mut self, packet: &V4, position: u64) {
        self.enter(packet, position);
        let copy = self.world().next(CPU);
        assert_eq!(copy[12..16], [0x88, 0xb5, IDLE as u8, 1], "{copy:02x?}");
        assert_eq!(copy[24..], [DOWNLINK.tag(255), packet.octets()].concat());
    }

    /// A later packet enters, and is read at once.
    fn enter_and_read(&mut self, packet: &V4, position: u64) -> Vec<u8> {
        self.enter(packet, position);
        self.read(packet, position)
    }

    fn read(&mut self, packet: &V4, position: u64) -> Vec<u8> {
        self.world().paging_read(RING, position, 8 + packet.octets().len())
    }

    fn reads(&mut self, positions: Range<u64>) -> Vec<Vec<u8>> {
        positions.map(|position| self.read(&packet(position), position)).collect()
    }

    /// The requests of a packet that is looked up, with these bits in its tag.
    fn look_up(&mut self, packet: &V4, position: u64, bits: u16, is_first: bool) -> Vec<Vec<u8>> {
        let mut requests = if is_first { vec![self.world().load(DOWNLINK)] } else { vec![] };
        requests.extend(self.world().store_and_fetch_tagged(DOWNLINK, packet, 255, tag(position, bits)));
        requests
    }

    /// Those of several packets; the first one begins a busy period of the UE.
    fn look_ups(&mut self, positions: Range<u64>) -> Vec<Vec<u8>> {
        let first = positions.start;
        let of = |position| self.look_up(&packet(position), position, PAGED, position == first);
        positions.flat_map(of).collect()
    }

    /// A packet that came back from the ring takes a walk, which finds no record of its generation, up to its second lookup.
    fn look_up_in_vain(&mut self, position: u64) {
        let packet = packet(position);
        let look_up = self.look_ups(position..position + 1);
        self.world().answer(&look_up);
        let end = self.walks.end(DOWNLINK);
        let walk = DOWNLINK.walk(&packet, 255);
        let place = World::ring_place(walk, 0);
        let stored = [tag(position, PAGED), packet.octets()].concat();
        let queue = self.world().ring_write(walk, place, &stored);
        let fields = self.world().ring_read(walk, place, 32);
        self.world().answer(&end);
        self.world().wait_for_end(DOWNLINK);
        self.world().answer(&[queue, fields]);
        let record = self.walks.record(DOWNLINK, &packet, 255);
        self.world().answer(&[record]);
        let drain = self.world().ring_read(walk, place, stored.len());
        self.world().answer(&[drain]);
        let look_up = self.look_up(&packet, position, PAGED | QUEUED, true);
        self.world().answer(&look_up);
    }

    fn forwarded(&mut self, positions: Range<u64>) {
        positions.for_each(|position| self.walks.forwarded(DOWNLINK, &packet(position)));
    }

    /// A notification releases the ring with these packets, which leave in order, all by an entry.
    fn release(&mut self, positions: Range<u64>) {
        self.notify(RELEASE);
        let ahead = |first: u64| first..positions.end.min(first + AHEAD);
        let mut first = positions.start;
        let mut reads = self.reads(ahead(first));
        while first < positions.end {
            let batch = ahead(first);
            self.world().answer(&reads);
            let look_ups = self.look_ups(batch.clone());
            self.world().answer(&look_ups);
            self.forwarded(batch.clone());
            let next = ahead(batch.end);
            reads = self.reads(next.start..next.end.min(batch.end + AHEAD - 1));
            let end = self.walks.end(DOWNLINK);
            reads.extend(self.reads(next.start + reads.len() as u64..next.end));
            self.world().answer(&end);
            self.world().wait_for_end(DOWNLINK);
            first = batch.end;
        }
        let counted = self.walks.counted;
        assert_eq!(self.world().counted(DOWNLINK), counted);
    }

    /// A packet passes without the ring, by the entry.
    fn pass(&mut self, packet: &V4) {
        self.world().first_packet(DOWNLINK, N6, &ethernet(&packet.octets()), packet, 255);
        self.walks.forwarded(DOWNLINK, packet);
        self.walks.close(DOWNLINK);
    }

    /// The positions of the first packet of the ring and behind its last one.
    fn ends(&mut self) -> (u64, u64) {
        let first = self.world().register(PAGES, RING) & 0x1fff;
        (first, self.world().register(ENDS, RING))
    }

    fn outcomes(&mut self, outcome: i32) -> u64 {
        self.world().outcomes(outcome)
    }
}

/// All packets are forwarded.
fn rule() -> Rule {
    (QfiSet::EMPTY, vec![], target(0))
}

/// A packet of the flow by its number. Each has a length of its own.
fn packet(number: u64) -> V4 {
    downward((2000, 1000), &vec![number as u8; 20 + number as usize])
}

/// What is in front of a packet of the UE in memory.
fn tag(position: u64, bits: u16) -> Vec<u8> {
    let mut tag = DOWNLINK.tag(255);
    tag[2..4].copy_from_slice(&((position as u16) << 3 | bits).to_be_bytes());
    tag
}

fn left(number: u64) -> Vec<u8> {
    [DOWNLINK.tag(255), packet(number).octets()].concat()
}

// Input:  six packets for an idle UE; the ring is released; a seventh before the first of them is back, an eighth and a ninth when four have left; a tenth when all
//         have.
// Output: each is written into the ring, and the first one copied to the software; four READs are in flight, and each lookup that ends makes the next one, also
//         together with the write of the UE's state; a packet is read as it enters if all in front of it have been. The nine leave in order, the tenth
//         at once; all are counted.
#[test]
fn packets_of_an_idle_ue_wait_and_leave_in_order() {
    if !is_inside() {
        return run_inside("xplane_paging::packets_of_an_idle_ue_wait_and_leave_in_order");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    (1..6).for_each(|number| idle.enter(&packet(number), number));
    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    let responses = idle.world().serve(&reads);
    idle.enter(&packet(6), 6);
    responses.iter().for_each(|response| idle.world().put(MEMORY, response));
    let look_ups = idle.look_ups(0..4);
    idle.world().answer(&look_ups);
    idle.forwarded(0..4);
    let reads = idle.reads(4..7);
    idle.walks.close(DOWNLINK);

    let mut responses = idle.world().serve(&reads);
    let read = idle.enter_and_read(&packet(7), 7);
    responses.extend(idle.world().serve(&[read]));
    idle.enter(&packet(8), 8);
    idle.world().put(MEMORY, &responses[0]);
    let look_up = idle.look_ups(4..5);
    idle.world().answer(&look_up);
    idle.forwarded(4..5);
    let end = idle.walks.end(DOWNLINK);
    let read = idle.reads(8..9);
    idle.world().answer(&end);
    idle.world().wait_for_end(DOWNLINK);
    responses.extend(idle.world().serve(&read));
    responses[1..].iter().for_each(|response| idle.world().put(MEMORY, response));
    let look_ups = idle.look_ups(5..9);
    idle.world().answer(&look_ups);
    idle.forwarded(5..9);
    idle.walks.close(DOWNLINK);
    idle.pass(&packet(9));
    assert_eq!((idle.outcomes(FORWARDED), idle.outcomes(IDLE), idle.ends()), (10, 1, (9, 9)));
}

// Input:  nine packets for an idle UE whose ring has eight places; a release; three more when the UE is idle again; another release. Notifications of a ring that
//         is not there, and of none of the commands; a frame like one by another port.
// Output: the ninth is dropped under that name; eight leave in order, then three from the first places of the ring. Nothing comes of the others.
#[test]
fn a_paging_ring_that_is_full_drops() {
    if !is_inside() {
        return run_inside("xplane_paging::a_paging_ring_that_is_full_drops");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    (1..PLACES).for_each(|number| idle.enter(&packet(number), number));
    idle.world().put(N6, &ethernet(&packet(PLACES).octets()));
    idle.world().fence_of(N6);
    assert_eq!((idle.outcomes(PAGING_FULL), idle.ends()), (1, (0, PLACES)));
    idle.notify_ring(RELEASE, 2);
    idle.notify_ring(RELEASE, 0x101);
    idle.notify(0);
    idle.notify(4);
    let release = [&HOP_MACS[..], &[0x88, 0xb5, RELEASE, 0, 0, RING as u8, 0, 0, 0, 0, 0x88, 0xb5]].concat();
    idle.world().put(N6, &release);
    idle.world().fence_of(N6);
    idle.release(0..PLACES);
    idle.notify(HOLD);
    idle.enter_first(&packet(8), 8);
    (9..11).for_each(|number| idle.enter(&packet(number), number));
    idle.release(8..11);
    assert_eq!((idle.outcomes(FORWARDED), idle.outcomes(PAGING_FULL), idle.outcomes(NOT_NEXT)), (11, 1, 0));
}

// Input:  six packets for an idle UE, of which the third is of another flow; neither flow has an entry; a release; a seventh packet during the walks.
// Output: the first packet takes the walk of its flow, and others join it, as they leave the paging ring. No more of the ring are read until one of those leaves the
//         walk; then the others follow, by the entry that the walk wrote. Each flow leaves in its order, and the eighth packet passes at once.
#[test]
fn a_released_packet_without_an_entry_is_looked_up() {
    if !is_inside() {
        return run_inside("xplane_paging::a_released_packet_without_an_entry_is_looked_up");
    }
    let mut idle = Idle::start();
    let walk = DOWNLINK.walk(&packet(0), 255);
    let others = (3000..).map(|port| downward((port, 1000), &[0xee; 33]));
    let bucket = DOWNLINK.flow_bucket(&packet(0), 255);
    let is_apart =
        |other: &V4| DOWNLINK.walk(other, 255) != walk && DOWNLINK.flow_bucket(other, 255) != bucket;
    let other = others.into_iter().find(is_apart).unwrap();
    let other_walk = DOWNLINK.walk(&other, 255);
    let of = |number: u64| if number == 2 { other.clone() } else { packet(number) };
    idle.enter_first(&of(0), 0);
    (1..6).for_each(|number| idle.enter(&of(number), number));
    idle.notify(RELEASE);
    let reads: Vec<_> = (0..4).map(|number| idle.read(&of(number), number)).collect();
    idle.world().answer(&reads);
    let look_ups: Vec<_> =
        (0..4).flat_map(|number| idle.look_up(&of(number), number, PAGED, number == 0)).collect();
    idle.world().answer(&look_ups);
    // Each enters the ring of its flow's walk, as the packet of this number.
    let (mut requests, mut end) = (Vec::new(), Vec::new());
    for (number, walk, position) in [(0, walk, 0), (1, walk, 1), (2, other_walk, 0), (3, walk, 2)] {
        if number == 3 {
            end = idle.walks.end(DOWNLINK);
        }
        let stored = [tag(number, PAGED), of(number).octets()].concat();
        requests.push(idle.world().ring_write(walk, World::ring_place(walk, position), &stored));
        if position == 0 {
            requests.push(idle.world().ring_read(walk, World::ring_place(walk, 0), 32));
        }
    }
    let fields = idle.world().serve(&requests);
    idle.world().answer(&end);
    idle.world().wait_for_end(DOWNLINK);
    idle.enter(&of(6), 6);

    idle.world().put(MEMORY, &fields[0]);
    let mut requests = vec![idle.walks.walk(DOWNLINK, &of(0), 255, 0).unwrap()];
    for (number, position) in [(0, 0), (1, 1), (3, 2)] {
        let length = 8 + of(number).octets().len();
        requests.push(idle.world().ring_read(walk, World::ring_place(walk, position), length));
    }
    idle.world().answer(&requests);
    let look_ups: Vec<_> = [0, 1, 3]
        .into_iter()
        .flat_map(|number| idle.look_up(&of(number), number, PAGED | QUEUED, number == 0))
        .collect();
    idle.world().answer(&look_ups);
    [0, 1, 3].into_iter().for_each(|number| idle.walks.forwarded(DOWNLINK, &of(number)));
    let mut reads = idle.reads(4..6);
    let end = idle.walks.end(DOWNLINK);
    reads.extend(idle.reads(6..7));
    idle.world().answer(&end);
    idle.world().wait_for_end(DOWNLINK);
    idle.world().answer(&reads);
    let look_ups = idle.look_ups(4..7);
    idle.world().answer(&look_ups);
    idle.forwarded(4..7);
    idle.walks.close(DOWNLINK);
    idle.pass(&packet(7));

    idle.world().put(MEMORY, &fields[1]);
    let written = idle.walks.walk(DOWNLINK, &other, 255, 0).unwrap();
    let drain =
        idle.world().ring_read(other_walk, World::ring_place(other_walk, 0), 8 + other.octets().len());
    idle.world().answer(&[written, drain]);
    let look_up = idle.look_up(&other, 2, PAGED | QUEUED, true);
    idle.world().answer(&look_up);
    idle.walks.forwarded(DOWNLINK, &other);
    idle.walks.close(DOWNLINK);
    assert_eq!((idle.outcomes(FORWARDED), idle.outcomes(FULL), idle.ends()), (8, 0, (7, 7)));
}

// Input:  six packets wait. During the release the UE becomes idle again: one has left, of one the lookup is under way, two come back from the ring. A seventh
//         packet. Then a release, and what was under way before it comes back late.
// Output: what comes back while the ring is held is dropped, and stays in the ring; the seventh enters behind the others. Then all leave in order, each once.
#[test]
fn a_ring_that_is_held_again_keeps_its_packets() {
    if !is_inside() {
        return run_inside("xplane_paging::a_ring_that_is_held_again_keeps_its_packets");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    (1..6).for_each(|number| idle.enter(&packet(number), number));
    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    let responses = idle.world().serve(&reads);
    responses[..3].iter().for_each(|response| idle.world().put(MEMORY, response));
    let look_ups = idle.look_ups(0..3);
    let found = idle.world().serve(&look_ups);
    found[..2].iter().for_each(|response| idle.world().put(MEMORY, response));
    idle.forwarded(0..1);
    let read = idle.reads(4..5);

    idle.notify(HOLD);
    idle.world().put(MEMORY, &found[2]);
    idle.world().put(MEMORY, &responses[3]);
    idle.world().answer(&read);
    idle.world().fence();
    assert_eq!((idle.outcomes(NOT_NEXT), idle.ends()), (3, (1, 6)));
    idle.enter(&packet(6), 6);

    // The third one's lookup ends behind the next release, when it is not next.
    idle.notify(RELEASE);
    let reads = idle.reads(1..5);
    idle.world().put(MEMORY, &found[3]);
    idle.walks.close(DOWNLINK);
    assert_eq!(idle.outcomes(NOT_NEXT), 4);
    idle.world().answer(&reads);
    let look_ups = idle.look_ups(1..5);
    idle.world().answer(&look_ups);
    idle.forwarded(1..5);
    let reads = idle.reads(5..7);
    idle.walks.close(DOWNLINK);
    idle.world().answer(&reads);
    let look_ups = idle.look_ups(5..7);
    idle.world().answer(&look_ups);
    idle.forwarded(5..7);
    idle.walks.close(DOWNLINK);
    idle.pass(&packet(7));
    assert_eq!((idle.outcomes(FORWARDED), idle.outcomes(IDLE)), (8, 1));
}

// Input:  a notification for a ring without packets; the UE is idle again, and five packets wait; a notification, and the same again when the first lookup is
//         under way.
// Output: the first changes nothing but that packets pass; with the third one packets are read twice, and leave once, in order.
#[test]
fn a_notification_that_comes_twice_changes_nothing() {
    if !is_inside() {
        return run_inside("xplane_paging::a_notification_that_comes_twice_changes_nothing");
    }
    let mut idle = Idle::start().with_entry();
    idle.notify(RELEASE);
    idle.pass(&packet(0));
    idle.notify(HOLD);
    idle.enter_first(&packet(0), 0);
    (1..5).for_each(|number| idle.enter(&packet(number), number));
    idle.notify(RELEASE);
    let first = idle.reads(0..4);
    let responses = idle.world().serve(&first);
    idle.world().put(MEMORY, &responses[0]);
    let first_look_up = idle.look_ups(0..1);
    idle.notify(RELEASE);
    let second = idle.reads(0..4);
    responses[1..].iter().for_each(|response| idle.world().put(MEMORY, response));
    let mut look_ups = first_look_up;
    for position in 1..4 {
        look_ups.extend(idle.look_up(&packet(position), position, PAGED, false));
    }
    idle.world().answer(&second);
    for position in 0..4 {
        look_ups.extend(idle.look_up(&packet(position), position, PAGED, false));
    }
    idle.world().answer(&look_ups);
    idle.forwarded(0..4);
    let read = idle.reads(4..5);
    idle.walks.close(DOWNLINK);
    assert_eq!(idle.outcomes(NOT_NEXT), 4);
    idle.world().answer(&read);
    let look_up = idle.look_ups(4..5);
    idle.world().answer(&look_up);
    idle.forwarded(4..5);
    idle.walks.close(DOWNLINK);
    assert_eq!((idle.outcomes(FORWARDED), idle.ends()), (6, (5, 5)));
}

// Input:  six packets wait; during their release the UE's rules are taken back: its generation is raised, the record is of before; then also the entry is gone. Then the
//         ring is emptied while lookups of it are under way, and given to another UE with the same address, whose packets wait and are released.
// Output: the packets are for the software, in order, as those of an entry of before and of none, behind the key of their UE; what was under way when the ring was emptied
//         is dropped. The other UE gets its own packets alone.
#[test]
fn a_ue_that_is_deleted_leaves_nothing_to_the_next() {
    if !is_inside() {
        return run_inside("xplane_paging::a_ue_that_is_deleted_leaves_nothing_to_the_next");
    }
    let mut idle = Idle::start().with_entry();
    let generation = idle.walks.generation;
    idle.enter_first(&packet(0), 0);
    (1..6).for_each(|number| idle.enter(&packet(number), number));
    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    let responses = idle.world().serve(&reads);
    idle.world().put(MEMORY, &responses[0]);
    let look_up = idle.look_ups(0..1);
    idle.world().answer(&look_up);
    idle.forwarded(0..1);
    let end = idle.walks.end(DOWNLINK);
    let mut reads = idle.reads(4..5);
    idle.world().answer(&end);
    idle.world().wait_for_end(DOWNLINK);

    idle.world().change_generation(generation, GENERATION + 1);
    idle.walks.is_loaded = false;
    idle.world().put(MEMORY, &responses[1]);
    idle.look_up_in_vain(1);
    assert_eq!(idle.world().left(STALE), left(1));
    let end = idle.walks.end(DOWNLINK);
    reads.extend(idle.reads(5..6));
    idle.world().answer(&end);
    idle.world().wait_for_end(DOWNLINK);

    idle.walks.forget(DOWNLINK, &packet(0), 255);
    idle.world().put(MEMORY, &responses[2]);
    idle.look_up_in_vain(2);
    assert_eq!(idle.world().left(MISS), left(2));
    idle.walks.close(DOWNLINK);

    // One lookup is under way, one READ, and one packet is in the ring.
    idle.world().put(MEMORY, &responses[3]);
    let look_up = idle.look_ups(3..4);
    idle.notify(EMPTY);
    assert_eq!(idle.ends(), (3 + PLACES, 3 + PLACES));
    idle.world().answer(&look_up);
    let end = idle.walks.end(DOWNLINK);
    idle.world().answer(&end);
    idle.world().answer(&reads[..1]);
    idle.world().wait_for_end(DOWNLINK);
    assert_eq!(idle.outcomes(NOT_NEXT), 2);
    let late = idle.world().serve(&reads[1..]);

    // Record and entry of the other UE have the new generation.
    idle.walks.install_of(DOWNLINK, &[rule()], GENERATION + 1);
    (idle.walks.counted, idle.walks.is_loaded) = ((0, 0), true);
    idle.write_entry(GENERATION + 1);
    let first = 3 + PLACES;
    idle.enter_first(&packet(first), first);
    idle.enter(&packet(first + 1), first + 1);
    idle.notify(RELEASE);
    let reads = idle.reads(first..first + 2);
    // A packet of before comes back in front of them.
    late.iter().for_each(|response| idle.world().put(MEMORY, response));
    let mut look_ups = idle.look_ups(5..6);
    idle.world().answer(&reads);
    for position in first..first + 2 {
        look_ups.extend(idle.look_up(&packet(position), position, PAGED, false));
    }
    idle.world().answer(&look_ups);
    idle.forwarded(first..first + 2);
    idle.walks.close(DOWNLINK);
    assert_eq!(
        (idle.outcomes(NOT_NEXT), idle.outcomes(FORWARDED), idle.ends()),
        (3, 3, (first + 2, first + 2))
    );
}

// Input:  five packets wait and are released. The response with the first one is lost; then one with its bucket.
// Output: what is behind it is dropped and stays in the ring. The control plane sees that the first packet does not change, and notifies again: all leave in
//         order, none is lost.
#[test]
fn a_release_whose_response_is_lost_begins_again() {
    if !is_inside() {
        return run_inside("xplane_paging::a_release_whose_response_is_lost_begins_again");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    (1..5).for_each(|number| idle.enter(&packet(number), number));
    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    let responses = idle.world().serve(&reads);
    responses[1..].iter().for_each(|response| idle.world().put(MEMORY, response));
    let look_ups = idle.look_ups(1..4);
    idle.world().answer(&look_ups);
    idle.walks.close(DOWNLINK);
    assert_eq!((idle.outcomes(NOT_NEXT), idle.ends()), (3, (0, 5)));

    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    idle.world().answer(&reads);
    let look_ups = idle.look_ups(0..4);
    let found = idle.world().serve(&look_ups);
    // The record, and the buckets of the four: that of the second one is lost.
    found[..2].iter().for_each(|response| idle.world().put(MEMORY, response));
    idle.forwarded(0..1);
    let read = idle.reads(4..5);
    found[3..].iter().for_each(|response| idle.world().put(MEMORY, response));
    idle.world().answer(&read);
    let look_up = idle.look_up(&packet(4), 4, PAGED, false);
    idle.world().answer(&look_up);
    idle.world().fence();
    assert_eq!((idle.outcomes(NOT_NEXT), idle.ends()), (6, (1, 5)));
    assert_eq!(idle.world().flights(DOWNLINK), (DOWNLINK.word, 1));
    idle.walks.end_by_control_plane(DOWNLINK);
    idle.release(1..5);
    assert_eq!((idle.outcomes(FORWARDED), idle.outcomes(GAP), idle.ends()), (5, 0, (5, 5)));
}

// Input:  three packets for an idle UE; the request with the second one is lost.
// Output: the server refuses the third one, and its NAK is for the software. The control plane sets the number that it names, and after the release, when the ring stays at
//         the second packet, its first position: both are lost, and the ring goes on behind them.
#[test]
fn a_packet_whose_request_is_lost_is_passed_over() {
    if !is_inside() {
        return run_inside("xplane_paging::a_packet_whose_request_is_lost_is_passed_over");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    let pair = World::paging_pair(RING);
    let before = idle.world().psn[&pair];
    idle.arrive(&packet(1), 1);
    let refused = idle.arrive(&packet(2), 2);
    idle.world().answer(&[refused]);
    let nak = idle.world().left(NAK);
    assert_eq!(nak[28 + 9..28 + 12], (before + 1).to_be_bytes()[1..]);
    idle.world().set_register(NUMBERS, pair, before.into());
    idle.world().psn.insert(pair, before);
    idle.enter(&packet(3), 3);

    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    idle.world().answer(&reads);
    let mut look_ups = idle.look_ups(0..1);
    look_ups.extend(idle.look_up(&packet(3), 3, PAGED, false));
    idle.world().answer(&look_ups);
    idle.forwarded(0..1);
    idle.walks.close(DOWNLINK);
    assert_eq!((idle.outcomes(DAMAGED), idle.outcomes(NOT_NEXT), idle.ends()), (2, 1, (1, 4)));
    idle.world().set_register(PAGES, RING, 3);
    idle.release(3..4);
    idle.pass(&packet(4));
    assert_eq!((idle.outcomes(FORWARDED), idle.ends()), (3, (4, 4)));
}

// Input:  three packets for an idle UE; another UE has its place in the local state table when they are released.
// Output: they are for the software under that name, in order, and the ring is empty; the next packet passes.
#[test]
fn released_packets_without_a_place_stay_in_order() {
    if !is_inside() {
        return run_inside("xplane_paging::released_packets_without_a_place_stay_in_order");
    }
    let mut idle = Idle::start().with_entry();
    idle.enter_first(&packet(0), 0);
    (1..6).for_each(|number| idle.enter(&packet(number), number));
    let address =
        (DOWNLINK.word + 1..).find(|word| Ue { word: *word, ..DOWNLINK }.bucket() == DOWNLINK.bucket());
    let other = Ue { word: address.unwrap(), ..DOWNLINK };
    // Both places of the bucket are taken, so that its packet takes no walk.
    let theirs = V4 { dst: other.word.to_be_bytes(), ..packet(0) };
    let entries = [1, 2].map(|port| {
        let packet = V4 { dst: theirs.dst, ..downward((port, port), b"") };
        entry(other, &packet, None, GENERATION, to_gnb())
    });
    idle.world().write(SIZES.entries(other.flow_bucket(&theirs, 255)), entries.concat());
    idle.world().put(N6, &ethernet(&theirs.octets()));
    let load = idle.world().load(other);
    let requests = idle.world().store_and_fetch(other, &theirs, 255);
    idle.notify(RELEASE);
    let reads = idle.reads(0..4);
    idle.world().answer(&reads);
    let of = |idle: &mut Idle, number| idle.look_up(&packet(number), number, PAGED | NO_PLACE, false);
    let look_ups: Vec<_> = (0..4).flat_map(|number| of(&mut idle, number)).collect();
    // What the other UE waits for is lost.
    idle.world().serve(&[&[load][..], &requests].concat());
    idle.world().answer(&look_ups);
    (0..4).for_each(|number| assert_eq!(idle.world().left(COLLISION), left(number)));
    let reads = idle.reads(4..6);
    idle.world().answer(&reads);
    let look_ups: Vec<_> = (4..6).flat_map(|number| of(&mut idle, number)).collect();
    idle.world().answer(&look_ups);
    (4..6).for_each(|number| assert_eq!(idle.world().left(COLLISION), left(number)));
    assert_eq!(idle.ends(), (6, 6));
    idle.world().end_entry(DOWNLINK);
    idle.pass(&packet(6));
    assert_eq!(idle.outcomes(FORWARDED), 1);
}

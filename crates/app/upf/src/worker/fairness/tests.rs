use std::collections::VecDeque;

use causeway_packet::gtpu::prefix;
use causeway_types::Teid;

use super::*;

fn owner(gnb: u64, ue: u64) -> Owner {
    Owner { group: gnb, user: ue }
}

// Input:  demands of UEs, and the capacity: enough; too little for one that floods; too little for two; none.
// Output: demands below an equal part are met, and the others get equal parts of the rest; never more than the
//         capacity.
#[test]
fn shares_are_max_min_fair() {
    assert_eq!(share(&mut [10, 20, 30], 60), u32::MAX);
    assert_eq!(share(&mut [1000, 4], 100), 96);
    assert_eq!(share(&mut [1000, 4, 500, 10], 100), 43);
    assert_eq!(share(&mut [5, 5, 5], 14), 4);
    assert_eq!(share(&mut [7, 7], 0), 0);
    assert_eq!(share(&mut [], 10), u32::MAX);
}

/// A thread with a port, in simulated time. The kernel's buffer holds a number of packets and drops further ones. The
/// thread takes 256 packets in a turn; receiving each takes time, and processing it takes more.
struct Model {
    fairness: Fairness,
    now: Time,
    buffer: VecDeque<Owner>,
    context: usize,
    receive: Duration,
    handle: Duration,
    /// The kernel reports the fill level of the buffer.
    tells: bool,
}

/// Packets of one UE.
struct Source {
    owner: Owner,
    per_second: f64,
    sent: u64,
    delivered: u64,
}

impl Model {
    /// Processes 250,000 packets per second, and receives two million.
    fn new(context: usize) -> Self {
        let (receive, handle) = (Duration::from_nanos(500), Duration::from_nanos(3500));
        let now = Time::from_nanos(1 << 40);
        // With other secrets, one pair of gNBs in 256 has one hash, and so one share.
        let known = IntervalState { seed: 1, salt: 2, ..IntervalState::new() };
        Self {
            fairness: Fairness { spare: Some(known), ..Fairness::new() },
            now,
            buffer: VecDeque::new(),
            context,
            receive,
            handle,
            tells: context > 5000,
        }
    }

    /// Runs for some time. `fair`: the thread enforces shares.
    fn run(&mut self, sources: &mut [Source], span: Duration, fair: bool) {
        let (start, before): (Time, Vec<u64>) =
            (self.now, sources.iter().map(|source| source.sent).collect());
        while self.now.since(start) < span {
            let count = self.buffer.len().min(256);
            let taken: Vec<Owner> = self.buffer.drain(..count).collect();
            let mut spent = Duration::from_micros(1);
            for owner in taken {
                spent += self.receive;
                if !fair || self.fairness.admit(Some(owner)) {
                    spent += self.handle;
                    let source = sources.iter_mut().find(|source| source.owner == owner);
                    source.unwrap().delivered += 1;
                }
            }
            self.now = self.now + spent;
            let turn = match count {
                256 => BatchFill::Full,
                0..32 => BatchFill::Drained,
                _ => BatchFill::Part,
            };
            let filled = self.tells.then_some((self.buffer.len() * 100 / self.context) as u8);
            if fair {
                self.fairness.end_turn(self.now, turn, || filled);
            }
            // The arrivals in the meantime, mixed according to the rates.
            let elapsed = self.now.since(start).as_secs_f64();
            let mut coming: Vec<(f64, usize)> = Vec::new();
            for (index, (source, before)) in sources.iter_mut().zip(&before).enumerate() {
                let due = before + (source.per_second * elapsed) as u64;
                while source.sent < due {
                    source.sent += 1;
                    coming.push(((source.sent - before) as f64 / source.per_second, index));
                }
            }
            coming.sort_by(|a, b| a.0.total_cmp(&b.0));
            for (_, index) in coming {
                if self.buffer.len() < self.context {
                    self.buffer.push_back(sources[index].owner);
                }
            }
        }
    }
}

fn source(gnb: u64, ue: u64, per_second: f64) -> Source {
    Source { owner: owner(gnb, ue), per_second, sent: 0, delivered: 0 }
}

/// The fraction of lost packets.
fn loss(source: &Source) -> f64 {
    1.0 - source.delivered as f64 / source.sent as f64
}

/// The largest fraction that packets in flight at the end have, which are not lost.
const IN_FLIGHT: f64 = 0.01;

// Input:  a UE that floods at twice to eight times what the thread can handle, beside one with 1,000 packets a second,
//         for 4 s, with the
//         buffers of a UDP socket, an AF_XDP ring and a TUN device.
// Output: without shares the quiet UE loses the same fraction as the flood; with shares nothing, and the flood gets the
//         rest.
#[test]
fn a_flood_takes_nothing_from_a_quiet_ue() {
    for context in [20_000, 8192, 4096] {
        for flood in [500e3, 750e3, 1500e3] {
            let run = |fair| {
                let mut sources = [source(1, 1, flood), source(1, 2, 1000.0)];
                Model::new(context).run(&mut sources, Duration::from_secs(4), fair);
                sources
            };
            let before = run(false);
            assert!(loss(&before[1]) > 0.3, "{context} {flood}: {}", loss(&before[1]));
            let after = run(true);
            assert!(loss(&after[1]) < IN_FLIGHT, "{context} {flood}: {}", loss(&after[1]));
            // Receiving takes a part of the thread's time; most of the rest is used.
            let left = 4.0 * (1.0 - flood * 0.5e-6) / 3.5e-6;
            let got = (after[0].delivered + after[1].delivered) as f64;
            assert!(got > 0.6 * left, "{context} {flood}: {got} of {left}");
        }
    }
}

// Input:  a gNB whose 400 UEs together send three times the capacity of the thread, each no more than the UEs of a
//         quiet gNB.
// Output: the quiet gNB's UEs lose nothing.
#[test]
fn a_gnb_takes_nothing_from_another() {
    let mut sources: Vec<Source> = (0..400).map(|ue| source(1, ue, 1900.0)).collect();
    sources.extend((0..10).map(|ue| source(2, 1000 + ue, 1900.0)));
    Model::new(20_000).run(&mut sources, Duration::from_secs(4), true);
    for quiet in &sources[400..] {
        assert!(loss(quiet) < IN_FLIGHT, "{}", loss(quiet));
    }
}

// Input:  100 UEs of one gNB with equal rates, in all three times the capacity of the thread.
// Output: shares would help no UE: no received packet is dropped, and the throughput is the capacity of the thread.
#[test]
fn equal_demands_are_not_limited() {
    let mut sources: Vec<Source> = (0..100).map(|ue| source(1, ue, 7500.0)).collect();
    let mut model = Model::new(20_000);
    model.run(&mut sources, Duration::from_secs(4), true);
    let delivered: u64 = sources.iter().map(|source| source.delivered).sum();
    assert!(delivered as f64 > 0.98 * 4.0 * 250e3, "{delivered}");
}

// Input:  a UE whose packets nearly use the thread's capacity, beside a quiet one; the thread pauses for 15 ms
//         repeatedly.
// Output: the kernel's buffer holds the packets of the pause, and nothing is dropped.
#[test]
fn a_pause_is_no_overload() {
    for context in [20_000, 8192] {
        let mut model = Model::new(context);
        let mut sources = [source(1, 1, 200e3), source(1, 2, 1000.0)];
        for _ in 0..20 {
            model.run(&mut sources, Duration::from_millis(200), true);
            let flood = owner(1, 1);
            model.buffer.extend(std::iter::repeat_n(flood, 200 * 15));
            sources[0].sent += 200 * 15;
        }
        assert!(sources.iter().all(|source| loss(source) < IN_FLIGHT), "{context} {}", loss(&sources[0]));
    }
}

// Input:  nearly the capacity of the thread; then a flood; then a low rate.
// Output: packets are not attributed; then they are; then not, and none is dropped.
#[test]
fn fairness_is_idle_while_the_thread_keeps_up() {
    let mut model = Model::new(20_000);
    let mut sources = [source(1, 1, 230e3), source(1, 2, 1000.0)];
    model.run(&mut sources, Duration::from_secs(1), true);
    assert!(!model.fairness.is_watching());
    assert!(sources.iter().all(|source| loss(source) < IN_FLIGHT));
    sources[0].per_second = 800e3;
    model.run(&mut sources, Duration::from_secs(1), true);
    assert!(model.fairness.is_watching());
    sources[0].per_second = 50e3;
    model.run(&mut sources, Duration::from_millis(900), true);
    assert!(!model.fairness.is_watching());
    (sources[0].sent, sources[0].delivered) = (0, 0);
    model.run(&mut sources, Duration::from_secs(1), true);
    assert!(loss(&sources[0]) < IN_FLIGHT);
}

// Input:  G-PDUs in two tunnels from one gNB, an Echo Request, packets of the data network to two UEs and a fragment of
//         one, a frame.
// Output: each UE and the gNB's signalling are distinguished; the fragment and the frame have no owner.
#[test]
fn packets_have_owners() {
    let meta = |last| Meta::Gtpu {
        local: [192, 0, 2, 1].into(),
        peer: ([192, 0, 2, last], 2152).into(),
        tos: 0,
        hops: None,
    };
    let gpdu = |teid| prefix::without_extensions(Teid::new(teid).unwrap(), 0).unwrap().to_vec();
    let up = |last, data: &[u8]| Owner::of(ReceiveSource::Gtpu, &Frame { meta: meta(last), data });
    let [a, b, other] = [up(9, &gpdu(1)), up(9, &gpdu(2)), up(8, &gpdu(1))].map(Option::unwrap);
    assert!(a.group == b.group && a.user != b.user && a.group != other.group && a.user == other.user);
    let echo = up(9, &[0x32, 1, 0, 4, 0, 0, 0, 0]).unwrap();
    assert!(echo.group == a.group && echo != a && echo != b);
    let down = |data: &[u8]| Owner::of(ReceiveSource::Network(0), &Frame { meta: Meta::Ip, data });
    let packet = |last: u8| {
        let mut packet = [0; 40];
        (packet[0], packet[19]) = (0x45, last);
        packet
    };
    assert_eq!(down(&packet(1)), down(&packet(1)));
    assert_ne!(down(&packet(1)), down(&packet(2)));
    let mut v6 = [0; 40];
    (v6[0], v6[31]) = (0x60, 7);
    assert_eq!(down(&v6), Some(Owner { group: 0, user: 7 }));
    assert_eq!(down(&packet(1)[..18]), None);
    assert_eq!(
        Owner::of(ReceiveSource::Ethernet(0), &Frame { meta: Meta::Ethernet, data: &packet(1) }),
        None
    );
}

use std::net::IpAddr;

use causeway_types::Direction;

use super::*;
use crate::FiveTuple;

const PACKETS: HeavyHitterSettings = HeavyHitterSettings {
    threshold: Threshold::PacketsPerSecond(100),
    window: Span::from_secs(1),
    memory: 1 << 16,
    kind: FlowKind::UeAddress,
    seed: 7,
};

fn at(millis: u64) -> Time {
    Time::from_secs(1000) + Span::from_millis(millis)
}

/// A packet from a UE.
fn packet(ue: u16, port: u16) -> FiveTuple {
    let [high, low] = ue.to_be_bytes();
    let ends = (IpAddr::from([10, 45, high, low]), IpAddr::from([198, 51, 100, 9]));
    FiveTuple { addresses: ends, ports: (port, 443), protocol: 17 }
}

/// Packets of a UE from `from` to `to`, each so many milliseconds, with the timer.
fn send(heavy: &mut HeavyHitters<u16>, ue: u16, (from, to): (u64, u64), each: usize) {
    let key = heavy.keys().key(Direction::Uplink, &packet(ue, 1));
    for millis in (from..to).step_by(each) {
        heavy.advance(at(millis));
        heavy.observe(1250, at(millis), key, || ue);
    }
}

fn changes(heavy: &mut HeavyHitters<u16>) -> Vec<(bool, u16)> {
    let said = std::iter::from_fn(|| heavy.poll_change());
    said.map(|change| match change {
        Change::Began(flow) => (true, flow.flow),
        Change::Ended(flow) => (false, flow.flow),
    })
    .collect()
}

// Input:  a UE of 200 packets a second for three seconds, one of 50 beside it; then the first sends 20 a second; then
//         nothing.
// Output: the first is listed with its exact rates, from half a second on; it ends within a window and a quarter; nothing
//         is left to look at.
#[test]
fn a_flow_is_listed_while_it_is_heavy() {
    let mut heavy = HeavyHitters::new(&PACKETS).unwrap();
    for second in 0..3 {
        for millis in (second * 1000..second * 1000 + 1000).step_by(20) {
            send(&mut heavy, 2, (millis, millis + 1), 1);
            send(&mut heavy, 1, (millis, millis + 20), 5);
        }
    }
    assert_eq!(changes(&mut heavy), [(true, 1)]);
    let listed: Vec<_> = heavy.listed(at(3000)).collect();
    let [flow] = listed.as_slice() else { panic!("{listed:?}") };
    assert!((490..=500).contains(&flow.since.since(at(0)).as_millis()), "{flow:?}");
    assert!((195..=205).contains(&flow.packets_per_second), "{flow:?}");
    assert!((1_950_000..=2_050_000).contains(&flow.bits_per_second), "{flow:?}");
    send(&mut heavy, 1, (3000, 4250), 50);
    assert_eq!(changes(&mut heavy), [(false, 1)]);
    assert_eq!((heavy.listed(at(4250)).count(), heavy.next_deadline()), (0, None));
}

// Input:  a heavy flow that stops at once; the timer alone goes on.
// Output: it ends after a window at most and a quarter, without a packet.
#[test]
fn silence_ends_a_flow() {
    let mut heavy = HeavyHitters::new(&PACKETS).unwrap();
    send(&mut heavy, 1, (0, 2000), 2);
    assert_eq!(changes(&mut heavy), [(true, 1)]);
    let ended = (2000..4000).find(|millis| {
        heavy.advance(at(*millis));
        !changes(&mut heavy).is_empty()
    });
    assert!((2500..3300).contains(&ended.unwrap()), "{ended:?}");
    send(&mut heavy, 1, (5000, 6000), 2);
    assert_eq!(changes(&mut heavy), [(true, 1)]);
}

// Input:  2,000 heavy flows within a second; then silence.
// Output: 1,024 are listed and the others counted; 256 changes are said in a second and the others counted; the list
//         is empty afterwards.
#[test]
fn lists_and_changes_are_bounded() {
    let settings = HeavyHitterSettings { memory: 1 << 20, ..PACKETS };
    let mut heavy = HeavyHitters::new(&settings).unwrap();
    for ue in 0..2000_u16 {
        let key = heavy.keys().key(Direction::Uplink, &packet(ue, 1));
        (0..150).for_each(|_| heavy.observe(100, at(u64::from(ue / 4)), key, || ue));
    }
    let counts = heavy.counts();
    assert_eq!((counts.listed, counts.detector.reports), (1024, 2000));
    assert_eq!((counts.unlisted, counts.unsaid), (976, 1024 - 256));
    assert_eq!(changes(&mut heavy).len(), 256);
    (500..3000).for_each(|millis| heavy.advance(at(millis)));
    assert_eq!((heavy.counts().listed, changes(&mut heavy).len()), (0, 256));
}

// Input:  one UE with five flows of 40 packets a second; by UE address and by 5-tuple; both directions with half each.
// Output: heavy; not heavy; not heavy, since directions are flows of their own.
#[test]
fn the_kind_says_what_one_flow_is() {
    let listed = |kind, turn: bool| {
        let mut heavy = HeavyHitters::new(&HeavyHitterSettings { kind, ..PACKETS }).unwrap();
        for millis in (0..1000).step_by(25) {
            for port in 0..5 {
                let there = packet(1, port);
                let back = FiveTuple {
                    addresses: (there.addresses.1, there.addresses.0),
                    ports: (443, port),
                    protocol: 17,
                };
                let key = match turn && port % 2 == 0 {
                    true => heavy.keys().key(Direction::Downlink, &back),
                    false => heavy.keys().key(Direction::Uplink, &there),
                };
                if !(turn && port == 4) {
                    heavy.observe(100, at(millis), key, || 0_u16);
                }
            }
        }
        heavy.counts().listed
    };
    assert_eq!(listed(FlowKind::UeAddress, false), 1);
    assert_eq!(listed(FlowKind::FiveTuple, false), 0);
    assert_eq!(listed(FlowKind::UeAddress, true), 0);
}

// Input:  two IPv6 addresses of one prefix of 64 bits, and one of the next.
// Output: the first two are one UE.
#[test]
fn a_prefix_is_one_ue() {
    let keys = PACKETS.keys();
    let key = |last: u128| {
        let ue = IpAddr::from((0x2001_0db8_u128 << 96 | last).to_be_bytes());
        let host = IpAddr::from((0x2001_0db8_ffff_u128 << 80).to_be_bytes());
        keys.key(Direction::Uplink, &FiveTuple { addresses: (ue, host), ports: (1, 2), protocol: 6 })
    };
    assert_eq!(key(1), key(2));
    assert_ne!(key(1), key(1 | 1 << 64));
}

// Input:  thresholds from 8 bit/s to beyond what counts can hold, with windows of 100 ms and 1 s; too little memory.
// Output: a unit of at most what a 256th of the threshold is, or the largest; an error that names the number.
#[test]
fn units_follow_the_threshold() {
    let unit = |threshold, millis, memory| {
        let window = Span::from_millis(millis);
        HeavyHitterSettings { threshold, window, memory, ..PACKETS }.sliding().map(|config| config.unit)
    };
    use crate::Unit::{Octets, Packets};
    let bits = Threshold::BitsPerSecond;
    assert_eq!(unit(bits(8), 1000, 64), Ok(Octets(0)));
    assert_eq!(unit(bits(2_000_000), 1000, 64), Ok(Octets(10)));
    assert_eq!(unit(bits(100_000_000), 1000, 64), Ok(Octets(16)));
    assert_eq!(unit(bits(2_000_000_000), 100, 64), Ok(Octets(17)));
    assert_eq!(unit(bits(34_000_000_000), 1000, 64), Ok(Octets(24)));
    assert_eq!(unit(Threshold::PacketsPerSecond(100), 1000, 64), Ok(Packets(0)));
    assert_eq!(unit(Threshold::PacketsPerSecond(1000), 1000, 64), Ok(Packets(2)));
    for (threshold, millis, memory, what) in [
        (bits(35_000_000_000), 1000, 64, "octets of the threshold"),
        (bits(0), 1000, 64, "octets of the threshold"),
        (Threshold::PacketsPerSecond(u64::MAX), 1000, 64, "packets of the threshold"),
        (bits(8000), 3, 64, "milliseconds of the window"),
        (bits(8000), 1000, 63, "octets of memory"),
    ] {
        let error = unit(threshold, millis, memory).unwrap_err().to_string();
        assert!(error.starts_with(what), "{error}");
    }
}

//! Packets, and what becomes of them.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use causeway_dataplane::{DropReason, Event, Op, Plan};
use causeway_model::{ApplyAction, TosMarking};
use causeway_packet::Meta;
use causeway_packet::gtpu::prefix;
use causeway_packet::rewrite::{Ecn, set_ecn};
use causeway_types::Teid;
use causeway_upf::worker::{Report, Schedule};

use crate::packet_thread::bench::{
    ENGINES, GNB, Make, SERVER, SESSION, UE, UPF, UPLINK, bench, bench_with, downlink_far, establishment,
    next, one_hop_on, packet,
};

// Input:  a downlink FAR that marks DSCP 46, and a packet with ECT(0); an uplink packet whose outer header met congestion.
// Output: the port gets the type of service of both, 0xba; the uplink packet leaves with CE.
#[tokio::test]
async fn markings_reach_the_port_and_come_from_it() {
    for make in ENGINES {
        markings_reach_the_port_and_come_from_it_with(make).await;
    }
}

async fn markings_reach_the_port_and_come_from_it_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let mut far = downlink_far(ApplyAction::Forward);
    far.forwarding.as_mut().unwrap().marking = Some(TosMarking::new(0xb8, 0xfc));
    bench.apply(Plan::update(SESSION, vec![Op::PutFar(far.into())])).await;
    let capable = |src, dst| {
        let mut packet = packet(src, dst, b"ecn");
        set_ecn(&mut packet, Ecn::Capable0).unwrap();
        packet
    };
    assert!(bench.server.push(Meta::Ip, &capable(SERVER, UE)));
    let (meta, _) = next(&mut bench.gnb);
    assert!(matches!(meta, Meta::Gtpu { tos: 0xba, .. }), "{meta:?}");
    let user = capable(UE, SERVER);
    let header = prefix::without_extensions(Teid::new(UPLINK).unwrap(), user.len()).unwrap();
    let meta = Meta::Gtpu { local: UPF.into(), peer: SocketAddr::new(GNB.into(), 2152), tos: 3, hops: None };
    assert!(bench.gnb.push(meta, &[&header[..], &user].concat()));
    let (_, left) = next(&mut bench.server);
    assert_eq!(left[1], 3);
}

// Input:  one packet of the UE, one to the UE, one in a tunnel that does not exist.
// Output: the first leaves on N6 without its tunnel, the second on N3 in one, the third is counted.
#[tokio::test]
async fn packets_cross_in_both_directions() {
    for make in ENGINES {
        packets_cross_in_both_directions_with(make).await;
    }
}

async fn packets_cross_in_both_directions_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let (up, down) = (packet(UE, SERVER, b"up"), packet(SERVER, UE, b"down"));
    bench.uplink(UPLINK, &up);
    assert_eq!(next(&mut bench.server), (Meta::Ip, one_hop_on(up.clone())));
    assert!(bench.server.push(Meta::Ip, &down));
    let (meta, frame) = next(&mut bench.gnb);
    let peer: SocketAddr = SocketAddr::new(IpAddr::V4(GNB), 2152);
    assert!(matches!(meta, Meta::Gtpu { peer: to, .. } if to == peer), "{meta:?}");
    assert_eq!(frame[8..], one_hop_on(down));
    bench.uplink(0x999, &up);
    // The Error Indication that answers it tells that it was handled.
    next(&mut bench.gnb);
    let counters = bench.snapshot().await.counters;
    assert_eq!((counters.forwarded, counters.sessions), (2, 1));
    assert_eq!(counters.dropped(DropReason::UnknownTeid), 1);
}

// Input:  forty packets each way at once, among them one of no session.
// Output: each direction keeps its order, though packets of both leave the data plane from one batch; lines decided them.
#[tokio::test]
async fn a_burst_keeps_its_order() {
    let mut bench = bench(ENGINES[0]);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    let before = bench.snapshot().await;
    for n in 0..40 {
        bench.uplink(if n == 20 { 0x999 } else { UPLINK }, &packet(UE, SERVER, &[n]));
        assert!(bench.server.push(Meta::Ip, &packet(SERVER, UE, &[n])));
    }
    let last = |frame: Vec<u8>| frame.last().copied().unwrap();
    let uplink: Vec<u8> = (0..39).map(|_| last(next(&mut bench.server).1)).collect();
    assert_eq!(uplink, (0..40).filter(|n| *n != 20).collect::<Vec<u8>>());
    // The Error Indication of the one without a session is among them.
    let downlink: Vec<Vec<u8>> = (0..41).map(|_| next(&mut bench.gnb).1).collect();
    let user = downlink.into_iter().filter(|frame| frame[1] == 255).map(last);
    assert_eq!(user.collect::<Vec<_>>(), (0..40).collect::<Vec<u8>>());
    let after = bench.snapshot().await;
    let more = before.stages.iter().zip(&after.stages).map(|(old, new)| (new.name, new.value - old.value));
    assert_eq!(more.collect::<Vec<_>>(), [("flow_table", 79), ("slow_path", 1)]);
}

// Input:  a thread that never sleeps, a session, a packet, an idle UE's packet, and the end of the session.
// Output: all is done as by one that sleeps.
#[tokio::test]
async fn busy_polling_gives_the_same_result() {
    let mut bench = bench_with(ENGINES[0], Schedule { core: None, busy_poll: true });
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, Duration::ZERO)).await;
    let (up, down) = (packet(UE, SERVER, b"up"), packet(SERVER, UE, b"down"));
    bench.uplink(UPLINK, &up);
    assert_eq!(next(&mut bench.server).1, one_hop_on(up));
    assert!(bench.server.push(Meta::Ip, &down));
    assert!(matches!(bench.report().await, Report::Event(Event::DownlinkData { .. })));
    bench.apply(Plan::removal(SESSION)).await;
    let counters = bench.snapshot().await.counters;
    assert_eq!((counters.sessions, counters.forwarded), (0, 1));
    assert_eq!(counters.dropped(DropReason::BufferDiscarded), 1);
}

// Input:  a packet for an idle UE, then a FAR that forwards.
// Output: the notification comes before the result of the plan; the packet leaves.
#[tokio::test]
async fn a_buffered_packet_is_reported_and_leaves_with_the_plan() {
    for make in ENGINES {
        a_buffered_packet_is_reported_and_leaves_with_the_plan_with(make).await;
    }
}

async fn a_buffered_packet_is_reported_and_leaves_with_the_plan_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, Duration::ZERO)).await;
    let down = packet(SERVER, UE, b"wake up");
    assert!(bench.server.push(Meta::Ip, &down));
    let report = bench.report().await;
    assert!(matches!(report, Report::Event(Event::DownlinkData { session: SESSION, .. })), "{report:?}");
    assert_eq!(bench.snapshot().await.counters.buffered, 1);
    bench.apply(Plan::update(SESSION, vec![Op::PutFar(downlink_far(ApplyAction::Forward).into())])).await;
    assert_eq!(next(&mut bench.gnb).1[8..], one_hop_on(down));
    assert_eq!(bench.snapshot().await.counters.buffered, 0);
}

// Input:  a packet for an idle UE whose BAR delays the notification by 100 ms; nothing else arrives.
// Output: the notification comes by itself, not before its time.
#[tokio::test]
async fn a_timer_of_the_data_plane_runs_without_packets() {
    for make in ENGINES {
        a_timer_of_the_data_plane_runs_without_packets_with(make).await;
    }
}

async fn a_timer_of_the_data_plane_runs_without_packets_with(make: Make) {
    let mut bench = bench(make);
    let delay = Duration::from_millis(100);
    bench.apply(establishment(ApplyAction::Buffer { notify: true }, delay)).await;
    let start = Instant::now();
    assert!(bench.server.push(Meta::Ip, &packet(SERVER, UE, b"later")));
    assert!(matches!(bench.report().await, Report::Event(Event::DownlinkData { .. })));
    assert!(start.elapsed() >= delay);
}

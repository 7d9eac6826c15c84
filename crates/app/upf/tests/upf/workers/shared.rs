//! What sessions of several workers share, and what has one owner.

use std::net::IpAddr;
use std::sync::Arc;

use causeway_dataplane::{ApplyError, EchoConfig, Event, Op, Plan, Routing, Settings};
use causeway_packet::gtpu::Repr;
use causeway_ports::memory::MemoryPort;
use causeway_types::{Span, Teid};
use causeway_upf::worker::{PlanQueue, Report};

use crate::workers::bench::{
    Bench, GNB, SLICE, UPF, bench, bench_with, downlink_teid, establishment, pdr, removal, seid, tunnel,
    uplink_teid,
};

// Input:  a tunnel that a session of another worker has; more sessions than may be.
// Output: the same errors as from one worker; afterwards all goes on.
#[tokio::test]
async fn what_is_refused_for_all_is_refused_by_each() {
    for workers in [1, 3] {
        let mut bench = bench_with(workers, Routing::default(), 4);
        for n in 0..3 {
            bench.apply(establishment(n, vec![])).await.unwrap();
        }
        let mut stolen = pdr(2, true);
        stolen.pdi.tunnel = Some(tunnel(uplink_teid(0), UPF));
        let theft = Plan::update(seid(2), vec![Op::PutPdr(stolen.into())]);
        assert_eq!(bench.apply(theft).await, Err(ApplyError::TunnelInUse(tunnel(uplink_teid(0), UPF))));
        if workers > 1 {
            bench.apply(establishment(3, vec![])).await.unwrap();
            let full = ApplyError::Full { table: "sessions", capacity: 4 };
            assert_eq!(bench.apply(establishment(4, vec![])).await, Err(full));
        }
        let unknown = bench.apply(removal(9)).await;
        assert_eq!(unknown, Err(ApplyError::UnknownSession(seid(9))));
        bench.apply(removal(0)).await.unwrap();
        bench.apply(establishment(4, vec![])).await.unwrap();
        bench.uplink(workers - 1, 4, &[0; 4]);
        assert_eq!(bench.after(1).await.counters.forwarded, 1);
    }
}

// Input:  sessions of a limited slice between others; then one of the others is to join the slice.
// Output: those of the slice are all the first worker's; the one that comes late stays out, if it is another worker's.
#[tokio::test]
async fn what_sessions_share_has_one_owner() {
    let mut bench = bench(2);
    for n in 0..6 {
        let more = if n < 3 { vec![] } else { vec![Op::SetSlice(Some(SLICE))] };
        bench.apply(establishment(n, more)).await.unwrap();
    }
    for n in 3..6 {
        bench.uplink(0, n, &[0; 4]);
    }
    let snapshot = bench.after(3).await;
    assert_eq!((snapshot.handed, snapshot.counters.forwarded), (0, 3));
    // Sessions 0 and 2 are the first worker's, 1 the second's.
    let join = |n| Plan::update(seid(n), vec![Op::SetSlice(Some(SLICE))]);
    bench.apply(join(0)).await.unwrap();
    assert!(matches!(bench.apply(join(1)).await, Err(ApplyError::Unsupported(_))));
    bench.uplink(0, 1, &[0; 4]);
    assert_eq!(bench.after(4).await.counters.forwarded, 4);
}

// Input:  an Error Indication about a tunnel of the second worker's session, which comes to the first worker.
// Output: the event of that session, once.
#[tokio::test]
async fn an_error_indication_finds_the_session_that_sends_there() {
    let mut bench = bench(2);
    for n in 0..2 {
        bench.apply(establishment(n, vec![])).await.unwrap();
    }
    let refused = Teid::new(downlink_teid(1));
    let message = Repr::error_indication(refused, GNB.into(), &[]).to_vec().unwrap();
    bench.gtpu(0, &message);
    match bench.report().await {
        Report::Event(Event::ErrorIndication { session, tunnel: at }) => {
            assert_eq!((session, at), (seid(1), tunnel(downlink_teid(1), GNB)));
        }
        other => panic!("{other:?}"),
    }
    let snapshot = bench.after(1).await;
    assert_eq!((snapshot.counters.consumed, snapshot.handed), (1, 1));
}

// Input:  two sessions of two workers that send to one gNB, which answers no Echo Request; then both go.
// Output: the first worker alone asks; the path is said to be down once each time, and forgotten with the last session.
#[tokio::test]
async fn a_path_is_supervised_once_for_all_workers() {
    let echo = EchoConfig { interval: Span::from_millis(20), timeout: Span::from_millis(5), retries: 0 };
    let mut bench = bench_with(2, Routing { echo, ..Routing::default() }, 1000);
    let (local, peer): (IpAddr, IpAddr) = (UPF.into(), GNB.into());
    // The second session alone: it is the second worker's once the first has gone.
    bench.apply(establishment(0, vec![])).await.unwrap();
    bench.apply(establishment(1, vec![])).await.unwrap();
    bench.apply(removal(0)).await.unwrap();
    while !bench.events.contains(&Event::PathDown { local, peer }) {
        if let Report::Event(event) = bench.report().await {
            bench.events.push(event);
        }
    }
    bench.apply(removal(1)).await.unwrap();
    while bench.events.last() != Some(&Event::PathUnused { local, peer }) {
        if let Report::Event(event) = bench.report().await {
            bench.events.push(event);
        }
    }
    let is_echo = |octets: Vec<u8>| octets[1] == 1;
    let asked =
        |port: &mut MemoryPort| std::iter::from_fn(|| port.pop()).filter(|(_, o)| is_echo(o.clone())).count();
    assert!(asked(&mut bench.gnbs[0]) > 0);
    assert_eq!(asked(&mut bench.gnbs[1]), 0);
}

// Input:  two sessions of two workers that send to one gNB, whose plans are in a further queue that another thread has; the first one ends; the
//         supervision of paths begins, with the paths of that queue, and the gNB answers no Echo Request; the second one ends.
// Output: the path is down, and then unused.
#[tokio::test]
async fn paths_of_sessions_of_a_further_queue_are_supervised() {
    async fn settle(bench: &mut Bench, plans: &mut PlanQueue<u64>, plan: Plan) {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert!(plans.apply(1, plan));
                plans.wake();
            });
        });
        assert!(matches!(bench.report().await, Report::Applied(1, Ok(_))));
        plans.completed(1, true);
        plans.wake();
    }
    let mut bench = bench(2);
    let (local, peer): (IpAddr, IpAddr) = (UPF.into(), GNB.into());
    let mut plans = bench.workers.another_plan_queue();
    for plan in [establishment(0, vec![]), establishment(1, vec![]), removal(0)] {
        settle(&mut bench, &mut plans, plan).await;
    }
    let echo = EchoConfig { interval: Span::from_millis(20), timeout: Span::from_millis(5), retries: 0 };
    let settings = Arc::new(Settings { echo, ..Settings::default() });
    bench.workers.set_settings(&settings, true, plans.paths_of_others());
    let event = |report| if let Report::Event(event) = report { Some(event) } else { None };
    assert_eq!(event(bench.report().await), Some(Event::PathDown { local, peer }));
    settle(&mut bench, &mut plans, removal(1)).await;
    assert_eq!(event(bench.report().await), Some(Event::PathUnused { local, peer }));
}

//! Packets that come in at any worker, and what all workers do together.

use std::collections::BTreeMap;
use std::time::Instant;

use causeway_dataplane::{DropReason, Op, Plan, Routing};
use causeway_slowpath::Limits;
use causeway_slowpath::SlowPath;
use causeway_types::{Seid, UrrId};
use causeway_upf::BoxedDataPlane;
use causeway_upf::worker::{Report, Snapshot};

use crate::workers::bench::{Bench, PATIENCE, bench, bench_of, establishment, far, removal, seid};

// Input:  eight sessions on two workers; all packets come in by the first worker, then all by the second.
// Output: each worker has half of the sessions and sends by its own ports; each UE's packets keep their order, none is lost.
#[tokio::test]
async fn packets_find_the_worker_of_their_session() {
    let mut bench = bench(2);
    for n in 0..8 {
        bench.apply(establishment(n, vec![])).await.unwrap();
    }
    for at in [0, 1] {
        let before = bench.snapshot().await;
        for round in 0..30_u32 {
            for n in 0..8 {
                bench.uplink(at, n, &round.to_be_bytes());
                bench.downlink(at, n, &round.to_be_bytes());
            }
            // No more under way than there is room for.
            bench.after((at as u64 * 30 + u64::from(round) + 1) * 16).await;
        }
        let after = bench.snapshot().await;
        assert_eq!(after.counters.forwarded - before.counters.forwarded, 480);
        assert_eq!(after.handed - before.handed, 240);
        for worker in [0, 1] {
            let in_order: Vec<u32> = (0..30).collect();
            for left in bench.left(worker) {
                assert_eq!(left.len(), 4, "worker {worker}");
                assert!(left.values().all(|payloads| *payloads == in_order));
            }
        }
    }
    assert_eq!(bench.snapshot().await.counters.sessions, 8);
}

/// Sessions that come, change and go while packets of all of them flow. Returns the usage of each session and the counters.
async fn churn(mut bench: Bench, workers: u32) -> (BTreeMap<Seid, Vec<(u64, u64)>>, Snapshot) {
    let mut usage = BTreeMap::<Seid, Vec<(u64, u64)>>::new();
    let mut sent = 0;
    for round in 0..25_u32 {
        for n in (0..20).filter(|n| (n + round) % 5 == 0) {
            bench.apply(establishment(n, vec![])).await.unwrap();
        }
        for n in 0..20 {
            let at = ((n + round) % workers) as usize;
            bench.uplink(at, n, &[0; 100]);
            bench.downlink(at, n, &vec![0; round as usize]);
            sent += 2;
        }
        // Before the rules change, all is where it belongs: the result does not hang on who is faster.
        bench.after(sent).await;
        for n in (0..20).filter(|n| (n + round) % 5 == 2) {
            let query = Plan::update(seid(n), vec![Op::QueryUrr(UrrId(1)), Op::PutFar(far(n, false).into())]);
            let applied = bench.apply(query).await;
            let volumes = applied.iter().flat_map(|applied| &applied.usage).filter_map(|usage| usage.volume);
            usage.entry(seid(n)).or_default().extend(volumes.map(|v| (v.uplink, v.downlink)));
        }
        for n in (0..20).filter(|n| (n + round) % 5 == 4) {
            let applied = bench.apply(removal(n)).await;
            let volumes = applied.iter().flat_map(|applied| &applied.usage).filter_map(|usage| usage.volume);
            usage.entry(seid(n)).or_default().extend(volumes.map(|v| (v.uplink, v.downlink)));
        }
    }
    (usage, bench.snapshot().await)
}

// Input:  twenty sessions that come and go in turn while packets flow, on one worker, on two and on three, by both data planes.
// Output: the same usage in the same reports, and the same counters.
#[tokio::test]
async fn several_workers_equal_one() {
    let (usage, one) = churn(bench(1), 1).await;
    assert!(usage.len() == 20 && usage.values().all(|reports| reports.len() > 5));
    let slow_path = |topology| -> BoxedDataPlane { Box::new(SlowPath::new(topology, Limits::default())) };
    let slow = bench_of(2, Routing::default(), 1000, slow_path);
    for (workers, bench) in [(2, bench(2)), (3, bench(3)), (2, slow)] {
        let (theirs, snapshot) = churn(bench, workers).await;
        assert_eq!(theirs, usage);
        // Answers to unknown tunnels are rationed by time; everything else is exact.
        let counts = |snapshot: &Snapshot| {
            let counters = &snapshot.counters;
            let dropped = DropReason::ALL.iter().map(|reason| counters.dropped(*reason)).collect::<Vec<_>>();
            (counters.gtpu_received, counters.ip_received, counters.ip_sent, counters.forwarded, dropped)
        };
        assert_eq!(counts(&snapshot), counts(&one));
        assert!(snapshot.handed > 0);
    }
}

// Input:  sessions set up and removed on three workers, each while packets for all of them are under way.
// Output: every packet is counted once; each that was forwarded has left once.
#[tokio::test]
async fn nothing_is_lost_or_doubled_while_sessions_come_and_go() {
    let mut bench = bench(3);
    let mut sent = 0_u64;
    for round in 0..160_u32 {
        let n = round % 16;
        let plan = if round % 32 < 16 { establishment(n, vec![]) } else { removal(n) };
        assert!(bench.workers.apply(u64::from(round), plan));
        bench.workers.wake();
        for other in 0..16 {
            // Each gNB and each flow of the data network comes in at one worker.
            bench.uplink(((other + 1) % 3) as usize, other, &round.to_be_bytes());
            bench.downlink((other % 3) as usize, other, &round.to_be_bytes());
            sent += 2;
        }
        while !matches!(bench.report().await, Report::Applied(_, Ok(_))) {}
    }
    let start = Instant::now();
    let last = loop {
        let snapshot = bench.snapshot().await;
        if snapshot.counters.received() == sent {
            break snapshot;
        }
        assert!(start.elapsed() < PATIENCE, "{sent} sent, {snapshot:?}");
    };
    let counters = &last.counters;
    assert_eq!(counters.forwarded + counters.total_drops(), sent);
    let mut left = 0;
    for at in 0..3 {
        for ways in bench.left(at) {
            for payloads in ways.values() {
                assert!(payloads.is_sorted_by(|a, b| a < b), "in order and once: {payloads:?}");
                left += payloads.len() as u64;
            }
        }
    }
    assert_eq!(left, counters.forwarded);
}

// Input:  the end.
// Output: one last report with what all have counted.
#[tokio::test]
async fn the_last_report_is_of_all_workers() {
    let mut bench = bench(3);
    for n in 0..3 {
        bench.apply(establishment(n, vec![])).await.unwrap();
        bench.uplink(0, n, &[0; 4]);
    }
    bench.after(3).await;
    assert!(bench.workers.stop());
    match bench.report().await {
        Report::Stopped(Ok(snapshot)) => assert_eq!((snapshot.counters.forwarded, snapshot.handed), (3, 2)),
        other => panic!("{other:?}"),
    }
    assert!(bench.workers.report().await.is_none());
}

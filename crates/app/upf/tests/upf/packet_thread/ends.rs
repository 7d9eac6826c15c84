//! Plans that fail, and how the thread ends.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use causeway_dataplane::Plan;
use causeway_fastpath::FastPath;
use causeway_model::ApplyAction;
use causeway_packet::{Batch, Frame};
use causeway_ports::{Counters, Port, PortError};
use causeway_slowpath::Limits;
use causeway_types::Seid;
use causeway_upf::clock::Clock;
use causeway_upf::worker::{PortSet, Report, Schedule};
use tokio::time::timeout;

use crate::packet_thread::bench::{
    ENGINES, Make, SERVER, UE, UPLINK, Worker, bench, establishment, internet, next, packet,
};

// Input:  a plan for a session that does not exist.
// Output: the error comes back with the key; the thread goes on.
#[tokio::test]
async fn a_failed_plan_is_reported() {
    for make in ENGINES {
        a_plan_that_fails_is_told_with(make).await;
    }
}

async fn a_plan_that_fails_is_told_with(make: Make) {
    let mut bench = bench(make);
    assert!(bench.worker.apply(42, Plan::update(Seid(99), Vec::new())));
    bench.worker.wake();
    assert!(matches!(bench.report().await, Report::Applied(42, Err(_))));
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
}

// Input:  the command to stop.
// Output: the last counters, then the end.
#[tokio::test]
async fn the_last_report_has_the_totals() {
    for make in ENGINES {
        the_last_report_has_the_totals_with(make).await;
    }
}

async fn the_last_report_has_the_totals_with(make: Make) {
    let mut bench = bench(make);
    bench.apply(establishment(ApplyAction::Forward, Duration::ZERO)).await;
    bench.uplink(UPLINK, &packet(UE, SERVER, b"last"));
    next(&mut bench.server);
    assert!(bench.worker.stop());
    match bench.report().await {
        Report::Stopped(Ok(snapshot)) => assert_eq!(snapshot.counters.forwarded, 1),
        other => panic!("{other:?}"),
    }
    assert!(bench.worker.report().await.is_none());
}

// Input:  more results than the control plane reads, then nobody to read them.
// Output: the thread ends.
#[tokio::test]
async fn a_control_plane_that_goes_away_does_not_hang_the_thread() {
    for make in ENGINES {
        a_control_plane_that_goes_away_does_not_hang_the_thread_with(make).await;
    }
}

async fn a_control_plane_that_goes_away_does_not_hang_the_thread_with(make: Make) {
    let mut bench = bench(make);
    for key in 0..10_000 {
        assert!(bench.worker.apply(key, Plan::update(Seid(99), Vec::new())));
    }
    bench.worker.wake();
    let (ended, end) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        drop(bench);
        let _ = ended.send(());
    });
    end.recv_timeout(Duration::from_secs(10)).expect("the thread ends");
}

/// A port whose interface has gone.
struct Gone(Arc<Counters>);

impl Gone {
    fn error() -> PortError {
        PortError::Lost { port: "n3".into(), source: std::io::ErrorKind::NotFound.into() }
    }
}

impl Port for Gone {
    fn name(&self) -> &str {
        "n3"
    }

    fn mtu(&self) -> u32 {
        1500
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.0
    }

    fn receive(&mut self, _: &mut Batch) -> Result<usize, PortError> {
        Err(Self::error())
    }

    fn send(&mut self, _: &[Frame<'_>]) -> Result<usize, PortError> {
        Err(Self::error())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    fn has_pending(&self) -> bool {
        true
    }
}

// Input:  a port that is of no use any more.
// Output: the thread ends with that error.
#[tokio::test]
async fn a_lost_port_ends_the_thread() {
    let mut set = PortSet::new();
    set.add_network(internet(), Box::new(Gone(Arc::default())));
    let engine = Box::new(FastPath::new(set.topology(), Limits::default()).unwrap());
    let mut worker = Worker::spawn(engine, set, Clock::new(), Schedule::default()).unwrap();
    match timeout(Duration::from_secs(5), worker.report()).await.expect("in time") {
        Some(Report::Stopped(Err(error))) => {
            assert!(error.to_string().starts_with("port n3 is lost"), "{error}");
        }
        other => panic!("{other:?}"),
    }
}

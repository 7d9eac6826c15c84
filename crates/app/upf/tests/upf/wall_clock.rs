//! The daemon follows its wall clock when that is set, which the tests do with one of their own.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use causeway_pfcp::Cause;
use causeway_types::{NtpSeconds, WallTime};
use causeway_upf::clock::system;

use crate::common::smf::Smf;
use crate::common::{Gnb, Running, SERVER, UE, config, loopback, packet, run_by};

const HOUR: i64 = 3600;

/// A busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(60);

/// A wall clock that says so many seconds more than that of the system.
#[derive(Clone, Default)]
struct Wall(Arc<AtomicI64>);

impl Wall {
    fn set(&self, seconds: i64) {
        self.0.store(seconds, Ordering::Relaxed);
    }

    fn says(&self) -> WallTime {
        let (seconds, now) = (self.0.load(Ordering::Relaxed), system());
        let by = Duration::from_secs(seconds.unsigned_abs());
        if seconds < 0 { now - by } else { now + by }
    }
}

/// The start of the daemon, which the metrics show by the wall clock that is known: waits until that is about this.
fn wait_for_start(running: &Running, seconds: f64) {
    let start = Instant::now();
    loop {
        let shown = running.metric("process_start_time_seconds");
        if (shown - seconds).abs() < 1.0 {
            return;
        }
        assert!(start.elapsed() < PATIENCE, "{shown} instead of {seconds}");
        sleep(Duration::from_millis(20));
    }
}

/// Seconds from one to the other.
fn between(earlier: NtpSeconds, later: NtpSeconds) -> i64 {
    i64::from(later.0) - i64::from(earlier.0)
}

// Input:  a session whose uplink is active in an hour. The wall clock is set forward by two hours, then back to an hour before the
//         start.
// Output: the uplink passes, and passes no longer; usage is told with times of the wall clock, none that ends before it starts; the
//         Recovery Time Stamp stays as it is.
#[test]
fn a_daemon_follows_its_wall_clock() {
    let (upf, wall) = (loopback(), Wall::default());
    let source = wall.clone();
    let mut running = run_by(&config(upf), upf, move || source.says()).unwrap();
    let (mut smf, gnb) = (Smf::new(loopback().into(), running.n4()), Gnb::new());
    assert_eq!(smf.associate(), Cause::RequestAccepted);
    let (recovery, began) = (smf.recovery_of_upf(), running.metric("process_start_time_seconds"));
    let in_an_hour = NtpSeconds(wall.says().to_ntp().0.wrapping_add(HOUR as u32));
    let session = smf.establish_counting_from(UE, in_an_hour);

    let up = packet(UE, SERVER, b"up");
    gnb.send(upf, session.uplink.teid, &up);
    let refused = "causeway_drop_total{reason=\"no_matching_pdr\"}";
    wait_until(|| running.metric(refused) == 1.0);
    let (_, before) = smf.query_times(session);

    wall.set(2 * HOUR);
    wait_for_start(&running, began + 2.0 * HOUR as f64);
    gnb.send(upf, session.uplink.teid, &up);
    wait_until(|| running.server.pop().is_some());
    let (start, end) = smf.query_times(session);
    assert!(
        between(before, start) >= 2 * HOUR && between(start, end) >= 0,
        "{before}, then {start} to {end}"
    );
    assert!(between(end, wall.says().to_ntp()) >= 0);

    wall.set(-HOUR);
    wait_for_start(&running, began - HOUR as f64);
    gnb.send(upf, session.uplink.teid, &up);
    wait_until(|| running.metric(refused) == 2.0);
    let (again, last) = smf.query_times(session);
    assert!(between(last, before) > 0 && between(again, last) >= 0, "{before}, then {again} to {last}");
    assert_eq!(smf.recovery_of_upf(), recovery);
    assert!(smf.delete(session).is_some());
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "it never came to be");
        sleep(Duration::from_millis(5));
    }
}

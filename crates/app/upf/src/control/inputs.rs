//! What the control thread waits for.

use std::future::{pending, ready};
use std::io;
use std::sync::Arc;

use causeway_n4::ApplyId;
use causeway_types::WallClock;
use tokio::sync::{Notify, mpsc};

use super::kernel_routes::{RouteResult, RouteResults};
use super::sockets::Arrivals;
use super::timer::WakeTimer;
use super::{Reload, Stop};
use crate::host_addresses::AddressChanges;
use crate::management::ManagementRequest;
use crate::wall::Wall;
use crate::worker::{WorkerMessage, WorkerReports};

/// What has happened.
pub(super) enum Input {
    /// The thread begins.
    Started,
    /// Datagrams arrived at N4, or the wait failed.
    Arrived(io::Result<()>),
    /// A packet thread reports; `None`: they have ended without a reason.
    Reported(Option<WorkerMessage<ApplyId>>),
    /// A timer is due.
    TimerDue,
    /// A packet thread left something of N4 to this thread.
    N4Released,
    /// The watchdog looks after the thread.
    WatchdogProbe,
    /// The management server asks.
    Asked(ManagementRequest),
    /// Addresses of the host have changed.
    HostChanged,
    /// The wall clock was set.
    ClockSet(WallClock),
    /// Kernel routes were written.
    Routed(RouteResult<ApplyId>),
    /// The standby of the chain has so many changes.
    Replicated(u64),
    /// The owner asks for a stop.
    Stop(Stop),
    /// The owner has a new configuration.
    Reload(Reload),
}

/// The sources of inputs.
pub(super) struct Inputs {
    pub(super) arrivals: Arrivals,
    pub(super) reports: WorkerReports<ApplyId>,
    pub(super) timer: WakeTimer,
    pub(super) n4_released: Arc<Notify>,
    pub(super) watchdog_probe: Arc<Notify>,
    pub(super) asks: mpsc::Receiver<ManagementRequest>,
    pub(super) changes: AddressChanges,
    pub(super) wall: Wall,
    pub(super) route_results: RouteResults<ApplyId>,
    pub(super) stops: mpsc::UnboundedReceiver<Stop>,
    pub(super) reloads: mpsc::UnboundedReceiver<Reload>,
    /// Numbers of changes that the standby of the chain has; `None`: there is no chain.
    pub(super) acknowledgements: Option<mpsc::UnboundedReceiver<u64>>,
}

impl Inputs {
    /// The next input. `has_more`: datagrams are left at N4, whose arrival is not reported again.
    pub(super) async fn next(&mut self, has_more: bool) -> Input {
        let Self { arrivals, reports, timer, n4_released, watchdog_probe, asks, .. } = self;
        let Self { changes, wall, route_results, stops, reloads, acknowledgements, .. } = self;
        loop {
            let is_set = tokio::select! {
                arrived = async { if has_more { ready(Ok(())).await } else { arrivals.wait().await } } => {
                    return Input::Arrived(arrived);
                }
                report = reports.next() => return Input::Reported(report),
                () = timer.wait() => return Input::TimerDue,
                () = n4_released.notified() => return Input::N4Released,
                () = watchdog_probe.notified() => return Input::WatchdogProbe,
                Some(ask) = asks.recv() => return Input::Asked(ask),
                () = changes.wait() => return Input::HostChanged,
                () = wall.wait() => true,
                result = route_results.next() => return Input::Routed(result),
                Some(changes) = latest(acknowledgements) => return Input::Replicated(changes),
                Some(stop) = stops.recv() => return Input::Stop(stop),
                Some(reload) = reloads.recv() => return Input::Reload(reload),
            };
            if is_set && let Some(clock) = wall.refresh() {
                return Input::ClockSet(clock);
            }
        }
    }
}

/// The last of the numbers that have come; without end, if none will.
async fn latest(numbers: &mut Option<mpsc::UnboundedReceiver<u64>>) -> Option<u64> {
    let Some(numbers) = numbers else { return pending().await };
    let mut last = numbers.recv().await?;
    while let Ok(next) = numbers.try_recv() {
        last = next;
    }
    Some(last)
}

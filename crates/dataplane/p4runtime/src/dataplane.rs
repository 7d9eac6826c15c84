//! A switch behind P4Runtime as a data plane: its ports carry the packets, P4Runtime the rules.

use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

use causeway_dataplane::{
    Applied, ApplyError, BackendError, Capabilities, Counters, Dataplane, Disposition, DropReason, Event,
    GtpuPath, HeavyHitterList, HeavyHitterSettings, HostReachability, Ingress, NamedCounter, PacketEngine,
    Plan, PlanId, PollApplied, SessionClasses, Settings, SwitchState, Topology, Transmit,
};
use causeway_model::{ApplicationId, Applications};
use causeway_switch::backend::{Config, Notice, PlansInFlight, Progress, StartError, Switch};
use causeway_types::{Seid, Span, Time, WallClock};
use tracing::{info, warn};

use crate::client::{ConnectError, Options, P4Runtime};

/// A failure to start the driver of a switch.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The files or the address cannot be used.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// The program does not support the topology.
    #[error(transparent)]
    Start(#[from] StartError),
}

/// A switch over P4Runtime. Plans of several sessions are in flight side by side.
pub struct RemoteSwitch {
    switch: Switch<P4Runtime>,
    /// Wakes the packet thread, once it runs, when a message of the switch arrives.
    waker: Arc<OnceLock<Waker>>,
    /// The latest time of a call; `None` before the first.
    now: Option<Time>,
    plans: PlansInFlight<PlanId>,
}

impl std::fmt::Debug for RemoteSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RemoteSwitch").field("sessions", &self.switch.len().0).finish_non_exhaustive()
    }
}

impl RemoteSwitch {
    /// Begins to connect. A switch that does not respond yet is no error. A plan is refused at once when the switch has
    /// been unreachable for `timeout`, and fails when it is in flight for that long; it should be shorter than the response
    /// timeout of SMFs.
    ///
    /// # Errors
    /// The files or the address are invalid, or the program does not support the topology.
    pub fn new(options: Options, config: Config, timeout: Span) -> Result<Self, OpenError> {
        let waker: Arc<OnceLock<Waker>> = Arc::default();
        let wakes = Arc::clone(&waker);
        let wake = move || {
            if let Some(waker) = wakes.get() {
                waker.wake_by_ref();
            }
        };
        let driver = P4Runtime::connect(options, Some(Box::new(wake)))?;
        let program = driver.program().clone();
        Ok(Self {
            switch: Switch::new(driver, &program, config)?,
            waker,
            now: None,
            plans: PlansInFlight::new(Some(timeout)),
        })
    }

    /// Processes messages of the switch. Returns the present time, which never goes back.
    fn poll(&mut self, now: Time) -> Time {
        if self.now.is_none() {
            // The first call: the switch was not connected yet.
            self.plans.set_away(now);
        }
        let now = self.now.map_or(now, |last| last.max(now));
        self.now = Some(now);
        self.switch.run(now);
        self.log_notices(now);
        now
    }

    /// Logs state changes of the switch.
    fn log_notices(&mut self, now: Time) {
        while let Some(notice) = self.switch.poll_notice() {
            self.plans.follow(now, &notice);
            match notice {
                Notice::Reconciled(_) => info!("{notice}"),
                Notice::Down
                | Notice::Superseded
                | Notice::Refused { .. }
                | Notice::Closed { .. }
                | Notice::Firewall(_)
                | Notice::Model { .. }
                | Notice::ClassesUnread { .. } => warn!("{notice}"),
            }
        }
    }
}

impl Dataplane for RemoteSwitch {
    fn capabilities(&self) -> Capabilities {
        self.switch.capabilities()
    }

    /// Refused at once while the switch is unreachable.
    fn submit(&mut self, now: Time, id: PlanId, plan: &Plan) -> PollApplied {
        let now = self.poll(now);
        if self.plans.are_refused(now) {
            return Poll::Ready(Err(BackendError::Unreachable.into()));
        }
        let operation = self.switch.submit(now, plan);
        self.plans.begin(now, operation, id);
        Poll::Pending
    }

    /// A plan that has completed, or has exceeded its deadline.
    fn poll_applied(&mut self, now: Time) -> Option<(PlanId, Result<Applied, ApplyError>)> {
        let now = self.poll(now);
        while let Some(progress) = self.switch.poll(now) {
            let Progress::Done(operation, result) = progress else { continue };
            // A plan that exceeded its deadline has no receiver.
            if let Some(id) = self.plans.end(operation) {
                return Some((id, result));
            }
        }
        let (operation, id) = self.plans.expire(now)?;
        self.switch.abandon(operation);
        Some((id, Err(BackendError::TimedOut.into())))
    }

    /// Waits in real time.
    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let now = self.poll(now);
        self.switch.apply(now, plan)
    }

    fn set_waker(&mut self, waker: Waker) {
        // The caller sets it once.
        let _first = self.waker.set(waker);
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.switch.set_applications(applications);
        if let Some(now) = self.now {
            let _now = self.poll(now);
        }
    }

    fn set_heavy_hitters(&mut self, now: Time, settings: Option<&HeavyHitterSettings>) {
        let now = self.poll(now);
        self.switch.set_heavy_hitters(now, settings);
    }

    fn heavy_hitters(&self, now: Time) -> Option<HeavyHitterList> {
        self.switch.heavy_hitters(now)
    }

    fn session_classes(&self) -> SessionClasses {
        self.switch.session_classes()
    }

    fn application_class(&self, session: Seid) -> Option<ApplicationId> {
        self.switch.application_class(session)
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.switch.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        let now = self.poll(now);
        self.switch.set_wall_clock(now, clock);
    }

    fn reconfigure(&mut self, now: Time, settings: &Arc<Settings>) {
        let now = self.poll(now);
        self.switch.reconfigure(now, settings);
    }

    fn follow_paths(&mut self, now: Time, old: &[GtpuPath], new: &[GtpuPath]) {
        let now = self.poll(now);
        self.switch.follow_paths(now, old, new);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.switch.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        self.switch.next_deadline().into_iter().chain(self.plans.next_deadline()).min()
    }

    fn advance(&mut self, now: Time) {
        self.poll(now);
    }

    /// The counters of the software behind the switch, and the drops of the switch.
    fn counters(&self) -> Counters {
        self.switch.counters()
    }

    fn switch_state(&self) -> Option<SwitchState> {
        let state = self.switch.state();
        Some(SwitchState { is_reconciling: state.is_reconciling || self.plans.is_away(), ..state })
    }

    fn switch_events(&self) -> Vec<NamedCounter> {
        self.switch.events()
    }
}

impl PacketEngine for RemoteSwitch {
    fn topology(&self) -> &Topology {
        self.switch.topology()
    }

    /// No packet arrives on ports of this host.
    fn process(&mut self, _: Time, _: &Ingress, _: &[u8], _: &mut dyn Transmit) -> Disposition {
        Disposition::Dropped(DropReason::NoEgress)
    }

    fn flush(&mut self, _: &mut dyn Transmit) {}
}

//! A P4 switch outside this process as the data plane: its ports carry the packets, P4Runtime the rules.

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use causeway_dataplane::{
    Applied, ApplyError, Capabilities, Counters, Dataplane, Disposition, DropReason, Event, HostReachability,
    Ingress, PacketEngine, Plan, Transmit,
};
use causeway_model::Applications;
use causeway_p4runtime::client::{Options, P4Runtime};
use causeway_ports::Waker;
use causeway_switch::backend::{Config, Notice, Operation, Progress, Switch};
use causeway_types::{Time, WallClock};
use tracing::{info, warn};

use super::{ApplyState, RemoteError, TIMEOUT};

/// A switch over P4Runtime.
pub struct Remote {
    switch: Switch<P4Runtime>,
    /// Wakes the packet thread, once it runs, when a message of the switch arrives.
    waker: Arc<OnceLock<Waker>>,
    /// The latest time of a call; `None` before the first.
    now: Option<Time>,
    /// The time since which the switch is unreachable or not ready.
    away: Option<Time>,
    /// Changes in flight, in the order of their start, with their deadlines.
    under_way: VecDeque<(Operation, Time)>,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote").field("sessions", &self.switch.len().0).finish_non_exhaustive()
    }
}

impl Remote {
    /// Begins to connect. A switch that does not respond yet is no error.
    ///
    /// # Errors
    /// The files or the address are invalid, or the program does not support the topology.
    pub fn new(options: Options, config: Config) -> Result<Self, RemoteError> {
        let waker: Arc<OnceLock<Waker>> = Arc::default();
        let wakes = Arc::clone(&waker);
        let wake = move || {
            if let Some(waker) = wakes.get() {
                waker.wake();
            }
        };
        let driver = P4Runtime::connect(options, Some(Box::new(wake)))?;
        let program = driver.program().clone();
        Ok(Self {
            switch: Switch::new(driver, &program, config)?,
            waker,
            now: None,
            away: None,
            under_way: VecDeque::new(),
        })
    }

    /// Sets the waker.
    pub(in crate::worker) fn set_waker(&self, waker: Waker) {
        // The thread is started once.
        let _first = self.waker.set(waker);
    }

    /// Begins a change. Changes of other sessions proceed in parallel; those of one session are serialized.
    pub(in crate::worker) fn begin(&mut self, now: Time, plan: &Plan) -> ApplyState {
        let now = self.poll(now);
        if self.away.is_some_and(|since| now.since(since) > TIMEOUT) {
            return ApplyState::Done(Err(ApplyError::Backend("the switch is unreachable".to_owned())));
        }
        let operation = self.switch.submit(now, plan);
        self.under_way.push_back((operation, now + TIMEOUT));
        ApplyState::UnderWay(operation)
    }

    /// A change that has completed, or has exceeded its deadline.
    pub(in crate::worker) fn poll_finished(
        &mut self,
        now: Time,
    ) -> Option<(Operation, Result<Applied, ApplyError>)> {
        let now = self.poll(now);
        while let Some(progress) = self.switch.poll(now) {
            let Progress::Done(operation, result) = progress else { continue };
            // A change that exceeded its deadline has no receiver.
            if let Some(place) = self.under_way.iter().position(|(known, _)| *known == operation) {
                self.under_way.remove(place);
                return Some((operation, result));
            }
        }
        let (operation, _) = *self.under_way.front().filter(|(_, until)| *until <= now)?;
        self.under_way.pop_front();
        self.switch.abandon(operation);
        Some((operation, Err(ApplyError::Backend("the switch did not respond".to_owned()))))
    }

    /// Processes messages of the switch. Returns the present time, which never goes back.
    fn poll(&mut self, now: Time) -> Time {
        if self.now.is_none() {
            // The first call: the switch was not connected yet.
            self.away = Some(now);
        }
        let now = self.now.map_or(now, |last| last.max(now));
        self.now = Some(now);
        self.switch.run(now);
        self.tell();
        now
    }

    /// Logs state changes of the switch.
    fn tell(&mut self) {
        while let Some(notice) = self.switch.poll_notice() {
            match notice {
                Notice::Refilled(_) => {
                    info!("{notice}");
                    self.away = None;
                }
                Notice::Down | Notice::Superseded => {
                    warn!("{notice}");
                    self.away = self.away.or(self.now);
                }
                Notice::Refused { .. } | Notice::Closed { .. } => warn!("{notice}"),
            }
        }
    }
}

impl Dataplane for Remote {
    fn capabilities(&self) -> Capabilities {
        self.switch.capabilities()
    }

    fn apply(&mut self, now: Time, plan: &Plan) -> Result<Applied, ApplyError> {
        let now = self.poll(now);
        self.switch.apply(now, plan)
    }

    fn set_applications(&mut self, applications: &Arc<Applications>) {
        self.switch.set_applications(applications);
    }

    fn set_host_reachability(&mut self, host: &Arc<HostReachability>) {
        self.switch.set_host_reachability(host);
    }

    fn set_wall_clock(&mut self, now: Time, clock: WallClock) {
        let now = self.poll(now);
        self.switch.set_wall_clock(now, clock);
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.switch.poll_event()
    }

    fn next_deadline(&self) -> Option<Time> {
        let first = self.under_way.front().map(|(_, until)| *until);
        self.switch.next_deadline().into_iter().chain(first).min()
    }

    fn advance(&mut self, now: Time) {
        self.poll(now);
    }

    /// The counters of the software behind the switch, and the drops of the switch.
    fn counters(&self) -> Counters {
        self.switch.counters()
    }
}

impl PacketEngine for Remote {
    /// No packet arrives on ports of this host.
    fn process(&mut self, _: Time, _: &Ingress, _: &[u8], _: &mut dyn Transmit) -> Disposition {
        Disposition::Dropped(DropReason::NoEgress)
    }

    fn flush(&mut self, _: &mut dyn Transmit) {}
}
